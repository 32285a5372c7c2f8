"""The strict table: what it says of each keyword, what it reads, and its widget; and the pictures of lesson 03."""

import json
import sys

import ipywidgets
import matplotlib

matplotlib.use("agg")
import pytest
from anthropic import beta_tool
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from pydantic import BaseModel, Field

from course_kit.classroom import strict_table as module
from course_kit.classroom.plots import plot_endings, plot_mask, plot_trials
from course_kit.classroom.strict_table import EXAMPLE, StrictTable, strict_table
from course_kit.contract.strict import strict_refusals
from course_kit.contract.strict_transform import to_strict
from course_kit.example_tools import get_weather


def closed(**properties):
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def cells(schema, place, keyword):
    """The three cells of one row, as they are shown without their marks."""
    [row] = [row for row in StrictTable(schema).rows if (row.place, row.keyword) == (place, keyword)]
    return tuple(" ".join(filter(None, [cell.answer, cell.then])) for cell in row.cells.values())


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


# Keyword by keyword: Anthropic, the SDK's helper, OpenAI.

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
LIST = {"type": "array", "items": TEXT}
OPEN = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
MAP = {"type": "object", "additionalProperties": NUMBER}
KEYWORDS = {
    "bound": ({"type": "integer", "minimum": 1}, "minimum", "refused moved", "moved", "taken"),
    "simple pattern": ({**TEXT, "pattern": "^A[0-9]+$"}, "pattern", "taken", "moved", "taken"),
    "lookahead": ({**TEXT, "pattern": "^(?!b)"}, "pattern", "refused moved", "moved", "refused moved"),
    "length": ({**TEXT, "maxLength": 9}, "maxLength", "unsure moved", "moved", "unsure moved"),
    "known format": ({**TEXT, "format": "date"}, "format", "taken", "kept", "taken"),
    "unknown format": ({**TEXT, "format": "phone"}, "format", "refused moved", "moved", "refused moved"),
    "uri": ({**TEXT, "format": "uri"}, "format", "taken", "kept", "refused moved"),
    "one item": ({**LIST, "minItems": 1}, "minItems", "taken", "kept", "taken"),
    "two items": ({**LIST, "minItems": 2}, "minItems", "refused moved", "moved", "taken"),
    "unlike items": ({**LIST, "uniqueItems": True}, "uniqueItems", "refused moved", "moved", "refused moved"),
    "enum": ({**TEXT, "enum": ["a"]}, "enum", "taken", "kept", "taken"),
    "type beside enum": ({**TEXT, "enum": ["a"]}, "type", "taken", "lost", "taken"),
    "nullable enum": ({"type": ["string", "null"], "enum": ["a", None]}, "enum", "refused changed", "kept", "taken"),
    "list of types": ({"type": ["string", "null"]}, "type", "taken", "raises", "taken"),
    "anyOf": ({"anyOf": [TEXT, NUMBER]}, "anyOf", "taken", "kept", "taken"),
    "oneOf": ({"oneOf": [TEXT, NUMBER]}, "oneOf", "refused changed", "changed", "refused changed"),
    "allOf": ({"allOf": [TEXT]}, "allOf", "taken changed", "kept", "refused changed"),
    "not": ({**TEXT, "not": {"const": "a"}}, "not", "refused moved", "moved", "refused moved"),
    "open object": (OPEN, "additionalProperties", "refused changed", "changed", "refused changed"),
    "map": (MAP, "additionalProperties", "refused yours", "lost", "refused yours"),
    "default": ({"type": "integer", "default": 3}, "default", "taken", "moved", "taken moved"),
    "nothing": ({}, "type", "refused yours", "raises", "refused yours"),
    "annotation": ({**TEXT, "$comment": "c"}, "$comment", "taken dropped", "moved", "taken dropped"),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_keyword(name):
    node, keyword, *expected = KEYWORDS[name]
    assert cells(closed(x=node), "x", keyword) == tuple(expected)


def test_an_optional_field_is_made_nullable_for_openai_only():
    schema = closed(a=TEXT) | {"required": []}
    assert cells(schema, "(root)", "required") == ("taken", "kept", "refused changed")
    assert cells(schema, "a", "type") == ("taken", "kept", "taken")


def test_an_optional_enum_keeps_its_values_inside_the_union():
    schema = closed(a={"enum": ["x", "y"]}) | {"required": []}
    assert cells(schema, "a", "enum") == ("taken", "kept", "taken")


def test_recursion_is_yours_to_decide_at_anthropic():
    schema = closed(top={"$ref": "#/$defs/T"})
    schema["$defs"] = {"T": closed(kids={"type": "array", "items": {"$ref": "#/$defs/T"}})}
    assert cells(schema, "top", "$ref") == ("refused yours", "kept", "taken")


def test_definitions_are_lost_by_the_helper_and_words_beside_a_reference_too():
    schema = closed(a={"$ref": "#/definitions/D", "description": "Why."}) | {"definitions": {"D": TEXT}}
    assert cells(schema, "(root)", "definitions")[1] == "lost"
    assert cells(schema, "a", "description")[1] == "lost"


def test_places_are_told_as_a_reader_would():
    schema = closed(guest=closed(ages={"type": "array", "items": {"anyOf": [NUMBER, {"type": "null"}]}}))
    places = list(dict.fromkeys(row.place for row in StrictTable(schema).rows))
    assert places == [
        "(root)",
        "guest",
        "guest.ages",
        "guest.ages.[]",
        "guest.ages.[].anyOf[0]",
        "guest.ages.[].anyOf[1]",
    ]


def test_what_is_inside_a_refused_keyword_is_not_told_apart():
    schema = closed(a={**TEXT, "not": {"minimum": 3}})
    assert [row.keyword for row in StrictTable(schema).rows if row.place.startswith("a")] == ["type", "not"]


# As a whole.

REFUND = """\
place         keyword                                       Anthropic          the SDK's helper  OpenAI
------------  --------------------------------------------  -----------------  ----------------  -------------------
(root)        required: ["order_id", "amount_cents", "rea…  ✓ taken            ✓ kept            ✗ refused → changed
order_id      pattern: "^ORD-[0-9]{8}$"                     ✓ taken            → moved           ✓ taken
amount_cents  minimum: 1                                    ✗ refused → moved  → moved           ✓ taken
reason        type: "string"                                ✓ taken            ✗ lost            ✓ taken
reason        enum: ["damaged", "not_received", "wron…      ✓ taken            ✓ kept            ✓ taken
note          maxLength: 200                                ? unsure → moved   → moved           ? unsure → moved

Anthropic: 400 as it is (minimum); taken after to_strict.
OpenAI: 400 as it is (required); taken after to_strict.
Anthropic's budget: 1 of 24 optional, 0 of 16 unions.
(root), required (OpenAI): always sent; null stands for left out
note, maxLength (Anthropic): the docs say 400; probes of 2026-07 to 09 found it accepted, and not enforced
note, maxLength (OpenAI): lists of supported keywords disagree"""


def test_the_refund_tool_is_shown_when_nothing_is_given():
    table = strict_table()
    assert table.as_text() == repr(table) == REFUND
    assert table.schemas == {provider: to_strict(EXAMPLE, provider).schema for provider in ("anthropic", "openai")}


def test_several_tools_are_named_and_their_budgets_added_up():
    optional = closed(**{f"f{n}": TEXT for n in range(13)}) | {"required": []}
    table = StrictTable([{"name": "one", "input_schema": optional}, {"name": "two", "inputSchema": optional}])
    assert {row.place.split(".")[0] for row in table.rows} == {"one", "two"}
    assert [len(schemas) for schemas in table.schemas.values()] == [2, 2]
    assert table.summary()[-2:] == [
        "Anthropic's budget: 2 of 20 strict tools, 26 of 24 optional, 0 of 16 unions.",
        "  Schemas contains too many optional parameters (26), which would make grammar compilation inefficient. "
        "Reduce the number of optional parameters in your tool schemas (limit: 24).",
    ]


def test_what_needs_a_decision_is_told_with_its_place():
    lines = StrictTable(closed(a=closed(map=MAP))).summary()
    assert lines[0] == "Anthropic: 400 as it is (additionalProperties); still not taken after to_strict."
    assert lines[1].startswith("  yours to decide, a.map: Any key is allowed here")


def test_as_html_everything_is_escaped_and_rows_have_heads():
    shown = StrictTable(closed(**{"a<b": {**TEXT, "const": "</script>"}})).as_html()
    assert "</script>" not in shown and "a&lt;b" in shown
    assert shown.count('scope="col"') == 5 and 'scope="row"' in shown


def test_a_long_schema_is_cut_in_the_table_only():
    table = StrictTable(closed(**{f"f{n}": {**TEXT, "const": "x"} for n in range(500)}))
    assert len(table.rows) > 1000
    assert "rows more" in table.as_text()


# What it reads.

WEATHER = closed(city=TEXT)


class Forecast(BaseModel):
    days: int = Field(ge=1)


def log_work(hours: int) -> str:
    """Write down hours that were worked."""
    return f"{hours} hours"


SHAPES = {
    "schema": (WEATHER, [""]),
    "anthropic": ({"name": "w", "input_schema": WEATHER}, ["w"]),
    "mcp": ({"name": "w", "inputSchema": WEATHER}, ["w"]),
    "responses": ({"type": "function", "name": "w", "parameters": WEATHER}, ["w"]),
    "chat": ({"type": "function", "function": {"name": "w", "parameters": WEATHER}}, ["w"]),
    "list": ([{"name": "w", "input_schema": WEATHER}, WEATHER], ["w", "tool 2"]),
    "request": ({"model": "m", "tools": [{"name": "w", "input_schema": WEATHER}]}, ["w"]),
    "mcp answer": ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "w", "inputSchema": WEATHER}]}}, ["w"]),
    "JSON": (json.dumps({"name": "w", "input_schema": WEATHER}), ["w"]),
    "Python": (repr({"name": "w", "input_schema": WEATHER, "strict": True}), ["w"]),
    "Tool": (get_weather, ["get_weather"]),
    "SDK's tool": (beta_tool(log_work), ["log_work"]),
    "Pydantic": (Forecast, [""]),
    "list of models": ([Forecast, get_weather], ["tool 1", "get_weather"]),
    "answer without a name": ({"tools": [{"inputSchema": WEATHER}]}, [""]),
    "properties of such names": (closed(input_schema=WEATHER, tools=TEXT), [""]),
}


@pytest.mark.parametrize(("source", "names"), SHAPES.values(), ids=SHAPES.keys())
def test_shapes(source, names):
    table = StrictTable(source)
    assert (table.problem, [name for name, _ in table._tools]) == ("", names)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("", "This cannot be read: not valid JSON at line 1, column 1"),
        ('{"type": "object" "a": 1}', "This cannot be read: not valid JSON at line 1"),
        ("{'type': open('x')}", "This cannot be read: not valid JSON"),
        ("[]", "The list is empty: give a schema, or tool definitions."),
        ("3", "A schema is an object such as {'type': 'object'}, not int: give one."),
        ([3], "A schema is an object such as {'type': 'object'}, not int: give one."),
        ("[" * 5000, "This"),
        ({"type": "objekt"}, "Not JSON Schema of draft 2020-12, at #/type"),
        ({"type": "object", "properties": {"a": {"minLength": "3"}}}, "Not JSON Schema of draft 2020-12, at #/prop"),
        (
            [{"name": name, "input_schema": {"type": type}} for name, type in (("good", "object"), ("bad", "objekt"))],
            "bad: Not JSON Schema of draft 2020-12, at #/type",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(source, sentence):
    table = StrictTable(source)
    assert table.problem.startswith(sentence) and "\n" not in table.problem
    assert table.as_text() == table.problem and table.rows == [] and table.summary() == []
    assert "<b>" in table.as_html()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type properties items anyOf oneOf enum required $ref $defs minimum description a b".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
@example({"required": None, "properties": True})
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_json_is_shown_or_told(value):
    table = StrictTable(value)
    assert table.problem or table.as_text()
    assert table.as_html()


def test_public_schemas_say_refused_where_the_linter_does(shared_data):
    for line in (shared_data / "schemas" / "schemas.jsonl").read_text(encoding="utf-8").splitlines():
        tool = json.loads(line)
        table = StrictTable(tool)
        for provider in ("anthropic", "openai"):
            said = any(row.cells[provider].answer == "refused" for row in table.rows)
            whole = [one for one in strict_refusals(tool["input_schema"], provider) if one.rule != "strict-limits"]
            assert said == bool(whole), tool["name"]


# The widget.


def test_a_pasted_schema_is_shown_at_a_click():
    table = strict_table(WEATHER)
    assert isinstance(table, ipywidgets.VBox)
    assert json.loads(table.field.value) == WEATHER
    assert "minimum" not in table.table.value
    table.field.value = json.dumps(closed(n={"type": "integer", "minimum": 3}))
    table.button.click()
    assert "minimum: 3" in table.table.value and "minimum: 3" in table.as_text()
    table.field.value = '{"type":'
    table.button.click()
    assert "This cannot be read: not valid JSON" in table.table.value


def test_several_tools_stand_in_the_field_as_definitions():
    tools = [{"name": "a", "input_schema": WEATHER}, {"name": "b", "input_schema": WEATHER}]
    table = strict_table(tools)
    table.button.click()
    assert {row.place.split(".")[0] for row in table.rows} == {"a", "b"}


def test_a_fault_in_a_click_is_shown_and_not_lost(monkeypatch):
    table = strict_table(WEATHER)
    monkeypatch.setattr(module, "definitions", lambda source: 1 / 0)
    table.button.click()
    assert "This could not be shown: division by zero" in table.table.value


def test_without_widgets_text_and_html_remain(without_widgets):
    table = strict_table()
    assert type(table) is StrictTable
    assert table._repr_mimebundle_() == {"text/plain": REFUND, "text/html": table.as_html()}


def test_with_widgets_text_and_html_stand_beside_the_view():
    bundle = strict_table()._repr_mimebundle_()
    assert bundle["text/plain"] == REFUND and bundle["text/html"].startswith("<div")


# The pictures of lesson 03.


@pytest.fixture(autouse=True)
def pictures_closed():
    yield
    pyplot.close("all")


def test_masked_tokens_lose_their_share_to_the_legal_ones():
    figure = plot_mask({"a reason": ({"broken": 0.5, "damaged": 0.3, "other": 0.1}, ["damaged", "other"])})
    [ax] = figure.axes
    assert [round(bar.get_width(), 3) for bar in ax.patches] == [0.5, 0.3, 0.1, 0, 0.75, 0.25]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["broken  ✗", "damaged", "other"]
    assert figure.get_suptitle() == "What does the mask leave? (the shares are invented)"
    assert figure.description == (
        "What does the mask leave? (the shares are invented) "
        "Pairs of bars for the next token, before and after masking. "
        "a reason: broken 50%, masked, damaged 30% to 75%, other 10% to 25%."
    )


def test_endings_are_shares_of_each_bar_told_apart_by_hatch():
    ax = plot_endings({"loose": {"asked": 1, "paid": 3}, "tight": {"paid": 2}})
    assert [(bar.get_y() + 0.35, bar.get_x(), bar.get_width()) for bar in ax.patches] == [
        (0, 0, 0.25),
        (0, 0.25, 0.75),
        (1, 0, 0),
        (1, 0, 1),
    ]
    assert len({bar.get_hatch() for bar in ax.patches[:2]}) == 2
    assert ax.description == "Bars of how requests ended. loose: asked 25%, paid 75%. tight: asked 0%, paid 100%."


def test_trials_have_a_mean_and_two_intervals():
    ax = plot_trials({"half": [[True, False], [True, False]], "none": [[False, False]]})
    assert ax.description == (
        "A point with two intervals for each setting. half: 50%, over seeds 0% to 100%, over requests 50% to 50%. "
        "none: 0%, over seeds 0% to 0%, over requests 0% to 0%."
    )
    assert len({line.get_marker() for line in ax.lines}) == 2

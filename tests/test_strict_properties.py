"""Properties of strict mode's rewriting: what a schema accepts before and after, and that nothing at all raises.

The cases by hand are in `test_strict.py`. Here schemas are drawn together with values that fit them, so that "the same
values are accepted" is asked about values of every kind, and about the real definitions of 240 tools.
"""

import copy
import json
import time
from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_kit.contract.models import DEFAULT_MODEL
from course_kit.contract.protocol import check_request
from course_kit.contract.schema import check_tool_input, conforms, schema_problem
from course_kit.contract.strict import count_strict, strict_budget, strict_refusals
from course_kit.contract.strict_transform import to_strict

PROVIDERS = ["anthropic", "openai"]
THOROUGH = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def request_with(input_schema: Any, name: str = "a_tool", strict: bool = True) -> dict[str, Any]:
    tool = {"name": name, "description": "A tool.", "input_schema": input_schema, "strict": strict}
    return {
        "model": DEFAULT_MODEL,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Go."}],
        "tools": [tool],
    }


# ── Schemas of keywords that both providers take, with values that fit them ───────────────────────────────────────────

NAMES = ["a", "b", "type", "required"]  # two of them named like keywords
WORDS = ["", "a", "abc", "b", "2026-11-30", "x@y.example"]
LEAVES = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda name: {"type": name}),
    st.sampled_from(["date", "email"]).map(lambda name: {"type": "string", "format": name}),
    st.just({"type": "string", "pattern": "^a"}),
    st.just({"type": ["string", "null"], "description": "Perhaps."}),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(lambda v: {"type": "string", "enum": v}),
    st.just({"const": "abc"}),
    st.just({"$ref": "#/$defs/Named"}),
)


@st.composite
def object_schemas(draw: st.DrawFn, inner: st.SearchStrategy, closed: bool) -> dict[str, Any]:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed or draw(st.booleans()) else schema


def tool_schemas(closed: bool) -> st.SearchStrategy:
    def grown(inner: st.SearchStrategy) -> st.SearchStrategy:
        return st.one_of(
            object_schemas(inner, closed),
            st.builds(lambda items, least: {"type": "array", "items": items, **least}, inner, LEAST),
            st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=2)),
        )

    parts = st.recursive(LEAVES, grown, max_leaves=5)
    named = object_schemas(LEAVES.filter(lambda leaf: "$ref" not in leaf), closed)
    return st.builds(lambda tool, one: {**tool, "$defs": {"Named": one}}, object_schemas(parts, closed), named)


LEAST = st.sampled_from([{}, {"minItems": 0}, {"minItems": 1}])
CLOSED, OPEN = tool_schemas(closed=True), tool_schemas(closed=False)
SAMPLES = {"string": st.sampled_from(WORDS), "integer": st.integers(-2, 2), "boolean": st.booleans()}
SAMPLES |= {"number": st.sampled_from([0, 0.5, -1.25, 2.0]), "null": st.none()}
FORMATTED = {"date": "2026-11-30", "email": "x@y.example"}


def fitting(schema: dict[str, Any], root: dict[str, Any], extra: bool = False) -> st.SearchStrategy:
    """Values that fit such a schema; with `extra`, open objects may hold a field that nobody listed."""
    if "$ref" in schema:
        return fitting(root["$defs"]["Named"], root, extra)
    if "anyOf" in schema:
        return st.one_of([fitting(branch, root, extra) for branch in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if "format" in schema:
        return st.just(FORMATTED[schema["format"]])
    if "pattern" in schema:
        return st.sampled_from(["a", "abc"])
    if schema["type"] == "array":
        return st.lists(fitting(schema["items"], root, extra), min_size=schema.get("minItems", 0), max_size=2)
    if schema["type"] == "object":
        fields = {name: fitting(inner, root, extra) for name, inner in schema["properties"].items()}
        must = {name: fields[name] for name in schema["required"]}
        may = {name: field for name, field in fields.items() if name not in must}
        if extra and "additionalProperties" not in schema:
            may["unlisted"] = st.integers(0, 9)
        return st.fixed_dictionaries(must, optional=may)
    return st.one_of(
        [SAMPLES[name] for name in ([*schema["type"]] if isinstance(schema["type"], list) else [schema["type"]])]
    )


ANY_JSON = st.recursive(
    st.one_of(st.none(), *SAMPLES.values()),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*NAMES, "unlisted"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def spoilt(value: Any, draw: Any) -> Any:
    """A value with one part of it exchanged, left out, or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        name = draw(st.sampled_from([*value]))
        rest = {key: item for key, item in value.items() if key != name}
        return draw(st.sampled_from([rest, {**value, "unlisted": 1}, {**value, name: spoilt(value[name], draw)}]))
    if isinstance(value, list) and value and draw(st.booleans()):
        return [spoilt(value[0], draw), *value[1:]]
    return draw(ANY_JSON)


def without_unlisted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_unlisted(item) for name, item in value.items() if name != "unlisted"}
    return [without_unlisted(item) for item in value] if isinstance(value, list) else value


@THOROUGH
@given(CLOSED, st.data())
def test_closed_objects_of_supported_keywords_accept_the_same_values_as_before(schema, data):
    result = to_strict(schema)
    assert (result.problems, result.moved, result.narrowed) == ([], [], [])
    value = data.draw(fitting(schema, schema))
    assert conforms(schema, value) and conforms(result.schema, value)
    assert result.restore(value) == value
    other = spoilt(value, data.draw)
    assert conforms(result.schema, other) == conforms(schema, other)


@THOROUGH
@given(OPEN, st.data())
def test_an_object_that_was_open_is_narrowed_where_it_is_said_and_nowhere_else(schema, data):
    result = to_strict(schema)
    assert (result.problems, result.moved) == ([], [])
    value = data.draw(fitting(schema, schema, extra=True))
    assert conforms(schema, value)
    if not conforms(result.schema, value):
        assert "unlisted" in json.dumps(value)
        assert {(keyword, how) for _, keyword, how in result.narrowed} == {
            ("additionalProperties", "only the listed properties can be sent")
        }
    assert conforms(result.schema, without_unlisted(value))
    other = spoilt(value, data.draw)
    assert conforms(schema, other) or not conforms(result.schema, other)


def sent_to_openai(schema: dict[str, Any], root: dict[str, Any], value: Any) -> Any:
    """A value as a model bound by OpenAI's strict mode sends it: what is left out is null."""
    if "$ref" in schema:
        return sent_to_openai(root["$defs"]["Named"], root, value)
    if "anyOf" in schema:
        branch = next(one for one in schema["anyOf"] if conforms({**one, "$defs": root["$defs"]}, value))
        return sent_to_openai(branch, root, value)
    if isinstance(value, list):
        return [sent_to_openai(schema["items"], root, item) for item in value]
    if isinstance(value, dict):
        fields = schema["properties"]
        return {n: sent_to_openai(fields[n], root, value[n]) if n in value else None for n in fields}
    return value


@THOROUGH
@given(CLOSED, st.data())
def test_openai_what_was_forced_is_named_and_taken_back(schema, data):
    before = copy.deepcopy(schema)
    result = to_strict(schema, "openai")
    assert (result.problems, result.moved) == ([], [])
    value = data.draw(fitting(schema, schema))
    sent = sent_to_openai(schema, schema, value)
    assert conforms(result.schema, sent)
    restored = result.restore(copy.deepcopy(sent))
    assert conforms(schema, restored)
    if sent != value:
        assert ("required", "always sent; null stands for left out") in {item[1:] for item in result.narrowed}
    if "anyOf" not in json.dumps(schema) and "null" not in json.dumps(schema):
        assert restored == value  # where null means nothing else, all of it comes back
    other = spoilt(sent, data.draw)
    assert not conforms(result.schema, other) or conforms(schema, result.restore(other))
    assert schema == before


@THOROUGH
@given(OPEN, st.sampled_from(PROVIDERS), st.data())
def test_bounds_are_moved_into_words_and_only_let_more_pass(schema, provider, data):
    bounded = json.loads(json.dumps(schema).replace('"integer"', '"integer", "minimum": 0, "multipleOf": 2'))
    bounded = json.loads(json.dumps(bounded).replace('"array"', '"array", "maxItems": 1, "uniqueItems": true'))
    result = to_strict(bounded, provider)
    assert result.problems == []
    refused_here = {"anthropic": {"minimum", "multipleOf", "maxItems", "uniqueItems"}, "openai": {"uniqueItems"}}[
        provider
    ]
    reached = json.dumps({name: part for name, part in bounded.items() if name != "$defs"})
    assert {keyword for _, keyword, _ in result.moved} >= {word for word in refused_here if f'"{word}"' in reached}
    assert {keyword for _, keyword, _ in result.moved} <= refused_here
    value = without_unlisted(data.draw(fitting(schema, schema)))
    if conforms(bounded, value) and provider == "anthropic":
        assert conforms(result.schema, value)
    for path, keyword, _ in result.moved:
        assert keyword not in json.dumps(_at(result.schema, path)) or "properties" in path
        assert _at(result.schema, path)["description"]


def _at(schema: Any, path: str) -> Any:
    for token in path.split("/")[1:]:
        schema = schema[int(token)] if isinstance(schema, list) else schema[token]
    return schema


# ── What is returned without problems is taken by the mock ────────────────────────────────────────────────────────────

ODD = st.sampled_from(
    [
        {"minimum": 1},
        {"type": "string", "pattern": "("},
        {"type": "string", "pattern": r"^(?=a)\w+$"},
        {"type": "string", "minLength": 2, "format": "phone"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"not": {"type": "string"}},
        {"enum": [1, "a", None, [1]]},
        {"$ref": "#"},
        {"$ref": "#/$defs/Gone"},
        {"if": {"type": "string"}, "then": {"minLength": 1}},
        {"type": "string", "nullable": True, "x-note": {"$ref": "#/nowhere"}},
        {},
        True,
        False,
    ]
)
ODD_TOOLS = st.builds(lambda tool, name, odd: _with(tool, name, odd), OPEN, st.sampled_from(NAMES), ODD)


def _with(tool: dict[str, Any], name: str, odd: Any) -> dict[str, Any]:
    return {**tool, "properties": {**tool["properties"], name: odd}}


@THOROUGH
@given(ODD_TOOLS)
def test_what_comes_back_without_problems_is_a_strict_tool_that_the_mock_takes(schema):
    result = to_strict(schema)
    if result.problems:
        assert all(problem.path.startswith("#") and problem.message.endswith(".") for problem in result.problems)
    else:
        assert check_request(request_with(result.schema)) == []


def test_the_mock_does_refuse_what_was_not_rewritten():
    refused = [
        odd for odd in ({"minimum": 1}, {"type": "object"}, {}) if check_request(request_with(_with(CLOSE, "a", odd)))
    ]
    assert refused == [{"minimum": 1}, {"type": "object"}, {}]


CLOSE = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.fixture(scope="module")
def real_tools(shared_data) -> list[dict[str, Any]]:
    lines = (shared_data / "schemas" / "schemas.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_real_definitions_are_rewritten_into_what_the_mock_takes_or_told_why_not(real_tools):
    as_written = [tool for tool in real_tools if not check_request(request_with(tool["input_schema"], tool["name"]))]
    results = [(tool, to_strict(tool["input_schema"])) for tool in real_tools]
    taken = [tool for tool, result in results if not result.problems]
    told = [result.problems for _, result in results if result.problems]
    for tool, result in results:
        if not result.problems:
            assert check_request(request_with(result.schema, tool["name"])) == [], tool["name"]
    assert (len(real_tools), len(as_written), len(taken), len(told)) == (240, 44, 225, 15)
    assert {problem.rule for problems in told for problem in problems} == {"strict-free-keys", "strict-empty-schema"}


def test_the_sdks_own_helper_beside_ours_on_the_real_definitions(real_tools):
    from anthropic import transform_schema

    raised, taken = [], []
    for tool in real_tools:
        try:
            theirs = transform_schema(copy.deepcopy(tool["input_schema"]))
        except (AssertionError, ValueError, TypeError, KeyError) as error:
            raised.append(type(error).__name__)
        else:
            taken += [tool["name"]] if not check_request(request_with(theirs, tool["name"])) else []
    ours = [tool["name"] for tool in real_tools if not to_strict(tool["input_schema"]).problems]
    print(f"\nanthropic {version('anthropic')}: transform_schema raises on {len(raised)} of {len(real_tools)} schemas,")
    print(f"{len(taken)} of its results are taken as strict tools; of ours {len(ours)}, and none raises")
    assert len(ours) >= len(taken)


def test_real_inputs_survive_the_way_through_the_strict_schema(real_tools):
    """Every input that a strict schema lets through is judged by the original, which takes it where all is told."""
    for tool in real_tools:
        schema = tool["input_schema"]
        for provider in PROVIDERS:
            result = to_strict(schema, provider)
            if not result.problems and not result.moved and "oneOf" not in {item[1] for item in result.narrowed}:
                sent = {name: None for name in result.schema["properties"]}
                if conforms(result.schema, sent):
                    assert conforms(schema, result.restore(sent)), tool["name"]


# ── Nothing raises ────────────────────────────────────────────────────────────────────────────────────────────────────

KEYWORDS = """type properties items anyOf oneOf allOf not if then else enum const $ref $defs definitions required format
pattern minItems minLength maximum additionalProperties patternProperties prefixItems description default $id $anchor
$schema dependentSchemas propertyNames contains unevaluatedProperties""".split()
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
    | st.sampled_from(["#", "#/$defs/A", "#/%", "object", "string", "http://example.com", "(", "\\", "a{9999999999}"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(KEYWORDS) | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@THOROUGH
@given(JUNK, st.sampled_from(PROVIDERS))
def test_refusals_counts_and_rewriting_never_raise(junk, provider):
    for schema in (junk, {"type": "object", "properties": junk}, {**CLOSE, "properties": {"a": junk}, "$defs": junk}):
        before = copy.deepcopy(schema)
        assert isinstance(strict_refusals(schema, provider, settings={"strict-string-length"}), list)
        assert count_strict(schema).optional >= 0
        assert isinstance(strict_budget([{"strict": True, "input_schema": schema}]), list)
        result = to_strict(schema, provider)
        assert schema == before
        if result.problems or provider == "openai":
            continue
        broken = {violation.rule for violation in check_request(request_with(result.schema))}
        assert broken <= {"property-keys"}, broken  # a name that is illegal stays so


@THOROUGH
@given(JUNK, st.sampled_from(PROVIDERS))
def test_the_linter_of_definitions_never_raises(junk, provider):
    definitions = pytest.importorskip("course_kit.contract.definitions", reason="the linter is not here yet")
    tool = {"name": "a_tool", "description": "Does something.", "input_schema": junk}
    strict = {**tool, "input_schema": {**CLOSE, "properties": {"a": junk}}, "strict": True}
    for tools in (junk, [junk], [tool], [tool, strict], [{**tool, "name": junk, "description": junk}]):
        for finding in definitions.lint_tools(tools, provider):
            assert finding.message and finding.fix and finding.rule


# ── Hostile schemas end in a sentence, soon ───────────────────────────────────────────────────────────────────────────


def nested(levels: int, around: Any) -> dict[str, Any]:
    inner: Any = {"type": "string"}
    for _ in range(levels):
        inner = around(inner)
    return {**CLOSE, "properties": {"a": inner}}


DEEP = {
    "items": lambda inner: {"type": "array", "items": inner},
    "properties": lambda inner: {"type": "object", "properties": {"a": inner}},
    "anyOf": lambda inner: {"anyOf": [inner]},
    "allOf": lambda inner: {"allOf": [inner]},
    "not": lambda inner: {"not": inner},
    "definitions": lambda inner: {"$defs": {"a": inner}},
    "additional": lambda inner: {"additionalProperties": inner},
    "list in enum": lambda inner: {"enum": [inner]},
}
TEXT = {"type": "string"}
PATTERNS = {
    "nested repeats": "^(a+)+$",
    "alternatives": "^(a|aa)+$",
    "look ahead": "^(?=a)(a|aa)+(?=b)$",
    "back reference": r"^(?:(a|a)*)\1b$",
    "powers of repeats": "((a{1000}){1000}){1000}",
    "five thousand groups": "(" * 5000 + "a" + ")" * 5000,
    "brackets never closed": "[" * 50_000,
    "a number of 5,000 digits": "a{" + "9" * 5000 + "}",
    "many classes": r"\p{L}+" * 2000,
    "not a pattern": "(",
}
REMOTE = [
    "http://example.com/schema.json",
    "https://127.0.0.1:1/x#/a",
    "file:///etc/hosts",
    "other.json",
    "//host/a",
    "urn:x:y",
]


def sentences(schema: Any) -> list[str]:
    """What is said about a schema by all who read it."""
    long = {"a": "a" * 50_000 + "!"}
    texts = [schema_problem(schema) or "", check_tool_input(schema, long).text()]
    for provider in PROVIDERS:
        strict_refusals(schema, provider)
        texts += [problem.message for problem in to_strict(schema, provider).problems]
    return [text for text in texts if text]


@pytest.mark.parametrize("name", DEEP)
def test_five_thousand_levels_end_in_a_sentence(name):
    schema = nested(5000, DEEP[name])
    start = time.perf_counter()
    told = sentences(schema)
    assert time.perf_counter() - start < 60  # about a second on an idle machine
    assert schema_problem(schema) == "a schema must be a JSON object that holds nothing but JSON"
    assert told[-2:] == ["Too large or too deep. Make it smaller."] * 2 or name == "list in enum"


@pytest.mark.parametrize("levels", [60, 120, 240, 260, 1000])
def test_every_depth_is_taken_or_told(levels):
    for around in DEEP.values():
        schema = nested(levels, around)
        result = to_strict(schema)
        if not result.problems:
            assert check_request(request_with(result.schema)) == []
        assert schema_problem(schema) is None or check_tool_input(schema, {}).problems[0].message.endswith(".")


@pytest.mark.parametrize("name", PATTERNS)
def test_regular_expressions_that_explode_end_in_a_sentence(name):
    schema = {**CLOSE, "properties": {"a": {**TEXT, "pattern": PATTERNS[name]}}}
    start = time.perf_counter()
    told = sentences(schema)
    assert time.perf_counter() - start < 30
    assert told and all(len(text) < 600 and text.isprintable() for text in " ".join(told).splitlines())
    result = to_strict(schema)
    assert result.problems or check_request(request_with(result.schema)) == []


@pytest.mark.parametrize("reference", REMOTE)
def test_references_that_lead_outside_end_in_a_sentence(reference):
    """The whole run has no network but this machine's own (see `conftest.py`): to ask for one would raise."""
    schema = {**CLOSE, "properties": {"a": {"$ref": reference}}}
    assert "points outside this schema, and nothing is ever fetched" in schema_problem(schema)
    assert reference in check_tool_input(schema, {"a": 1}).text()
    for provider in PROVIDERS:
        [problem] = to_strict(schema, provider).problems
        assert problem == (
            "#/properties/a",
            "strict-external-ref",
            f"{reference} is not in this schema. Copy it into $defs.",
        )
    assert check_request(request_with(schema))


@pytest.mark.parametrize("levels", [50, 5000])
def test_restoring_a_value_nested_without_end_leaves_it_alone(levels):
    inner = {**CLOSE, "properties": {"b": {"$ref": "#"}}}
    schema = {**CLOSE, "properties": {"a": {"anyOf": [inner, TEXT]}, "c": TEXT}}
    result = to_strict(schema, "openai")
    value: Any = {"a": "end", "c": None}
    for _ in range(levels):
        value = {"a": {"b": value}, "c": "x"}
    restored = result.restore(value)
    for _ in range(levels):
        value, restored = value["a"]["b"], restored["a"]["b"]
    assert restored == ({"a": "end"} if levels == 50 else value)


def test_a_long_chain_of_references_is_not_followed_for_ever():
    chain = {f"D{n}": {"$ref": f"#/$defs/D{n + 1}", "description": "One more."} for n in range(1000)}
    schema = {
        **CLOSE,
        "properties": {"a": {"$ref": "#/$defs/D0", "description": "It."}},
        "$defs": {**chain, "D1000": TEXT},
    }
    start = time.perf_counter()
    result = to_strict(schema)
    assert time.perf_counter() - start < 60
    assert [problem.message for problem in result.problems] == ["Too large or too deep. Make it smaller."]


def test_a_tool_that_spends_more_than_a_whole_request_may_is_told():
    optional = {**CLOSE, "properties": {f"p{n}": TEXT for n in range(25)}}
    unions = {**CLOSE, "properties": {f"p{n}": {"type": ["string", "null"]} for n in range(17)}}
    for schema, rule in ((optional, "strict-too-many-optional"), (unions, "strict-too-many-unions")):
        [problem] = to_strict(schema).problems
        assert (problem.path, problem.rule) == ("#", rule)
        assert to_strict({**schema, "properties": dict([*schema["properties"].items()][:16])}).problems == []
        assert [violation.rule for violation in check_request(request_with(schema))] == [rule]
        assert to_strict(schema, "openai").problems == []

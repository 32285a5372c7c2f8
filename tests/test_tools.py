"""A function as a tool: its definition, and one call of it."""

import asyncio
import functools
import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter
from typing_extensions import TypeAliasType

from course_kit.contract.messages import tool_use
from course_kit.errors import ToolError
from course_kit.harness.signature import convert
from course_kit.harness.tools import (
    Call,
    Outcome,
    Tool,
    definitions,
    fail,
    finish,
    prepare,
    run_call,
    run_call_async,
    run_tool,
    tool,
    toolbox,
)


class Reason(Enum):
    DAMAGED = "damaged"
    OTHER = "other"


@dataclass
class Item:
    sku: str
    title: str | None = None
    qty: Annotated[int, Field(ge=1)] = 1


class Address(TypedDict, total=False):
    city: str
    since: date


class Parcel(TypedDict):
    grams: Annotated[int, Field(ge=1)]
    day: NotRequired[date]
    stops: list[Address]


@dataclass
class Box:
    to: Address


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Order(BaseModel):
    items: list[Item]
    first: Item | None = None


class Node(BaseModel):
    value: int
    children: list["Node"] = []


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first.
    """
    return a + b


def schema(annotation: Any, default: Any = ...) -> Any:
    """The schema of an input with this annotation."""

    def function(x):
        pass

    function.__annotations__["x"] = annotation
    if default is not ...:
        function.__defaults__ = (default,)
    return tool(function).input_schema["properties"]["x"]


# The definition


def test_the_whole_definition():
    @tool(effect="irreversible", strict=True, input_examples=[{"order_id": "ORD-20260917", "amount_cents": 1999}])
    def refund_order(
        order_id: Annotated[str, Field(pattern="^ORD-[0-9]{8}$", examples=["ORD-20260917"])],
        amount_cents: Annotated[int, Field(ge=1, description="19.99 is 1999.")],
        reason: Literal["damaged", "other"] = "other",
        note: str | None = None,
    ) -> dict:
        """Give money back for a delivered order.

        Never more than was paid.

        Args:
            order_id: The order's number,
                as the user names it.
            amount_cents: Not this one: the field has its own.
            reason: Why.

        Returns:
            The refund.
        """
        return {}

    definition = refund_order.definition()
    assert list(definition) == ["name", "description", "input_schema", "strict", "input_examples"]
    assert definition == {
        "name": "refund_order",
        "description": "Give money back for a delivered order.\n\nNever more than was paid.",
        "input_schema": {
            "type": "object",
            "properties": {
                "order_id": {
                    "type": "string",
                    "description": "The order's number, as the user names it.",
                    "pattern": "^ORD-[0-9]{8}$",
                    "examples": ["ORD-20260917"],
                },
                "amount_cents": {"type": "integer", "description": "19.99 is 1999.", "minimum": 1},
                "reason": {
                    "type": "string",
                    "description": "Why.",
                    "enum": ["damaged", "other"],
                    "default": "other",
                },
                "note": {"type": "string"},
            },
            "required": ["order_id", "amount_cents"],
            "additionalProperties": False,
        },
        "strict": True,
        "input_examples": [{"order_id": "ORD-20260917", "amount_cents": 1999}],
    }
    assert list(definition["input_schema"]) == ["type", "properties", "required", "additionalProperties"]
    definition["input_schema"]["properties"].clear()
    assert "note" in refund_order.definition()["input_schema"]["properties"], "a definition is a copy"


def test_what_is_given_wins_over_what_is_read():
    made = tool(add, name="plus", description="Adds.", defer_loading=False)
    assert made.definition() == {
        "name": "plus",
        "description": "Adds.",
        "input_schema": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "The first."},
                "b": {"type": "integer", "default": 2},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
        "defer_loading": False,
    }


def test_no_docstring_and_no_input():
    def now():
        return "noon"

    assert tool(now).definition() == {
        "name": "now",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        pytest.param(str, {"type": "string"}, id="str"),
        pytest.param(float, {"type": "number"}, id="float"),
        pytest.param(list[int], {"type": "array", "items": {"type": "integer"}}, id="list"),
        pytest.param(dict, {"type": "object", "additionalProperties": True}, id="dict"),
        pytest.param(dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, id="dict_of"),
        pytest.param(Any, {}, id="any"),
        pytest.param(int | None, {"type": ["integer", "null"]}, id="nullable"),
        pytest.param(int | str, {"type": ["integer", "string"]}, id="union"),
        pytest.param(
            TypeAliasType("Count", int | None) | str,
            {"anyOf": [{"type": ["integer", "null"]}, {"type": "string"}]},
            id="union_in_a_union",
        ),
        pytest.param(Reason, {"type": "string", "enum": ["damaged", "other"]}, id="enum"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="datetime"),
        pytest.param(date, {"type": "string", "format": "date"}, id="date"),
        pytest.param(UUID, {"type": "string", "format": "uuid"}, id="uuid"),
        pytest.param(Path, {"type": "string"}, id="path"),
        pytest.param(Decimal, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}, id="decimal"),
        pytest.param(Annotated[Decimal, Field(ge=1)], {"type": "number", "minimum": 1}, id="decimal_with_bound"),
        pytest.param(
            Annotated[int, Field(ge=1, le=7, title="Day", description="Monday is 1.")],
            {"type": "integer", "description": "Monday is 1.", "minimum": 1, "maximum": 7},
            id="bounds",
        ),
        pytest.param(
            Address,
            {
                "type": "object",
                "properties": {"city": {"type": "string"}, "since": {"type": "string", "format": "date"}},
                "additionalProperties": False,
            },
            id="typed_dict",
        ),
        pytest.param(
            list[Item],
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "sku": {"type": "string"},
                        "title": {"type": "string"},
                        "qty": {"type": "integer", "default": 1, "minimum": 1},
                    },
                    "required": ["sku"],
                    "additionalProperties": False,
                },
            },
            id="dataclass_with_a_property_named_title",
        ),
        pytest.param(
            Parcel,
            {
                "type": "object",
                "properties": {
                    "grams": {"type": "integer", "minimum": 1},
                    "day": {"type": "string", "format": "date"},
                    "stops": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "city": {"type": "string"},
                                "since": {"type": "string", "format": "date"},
                            },
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["grams", "stops"],
                "additionalProperties": False,
            },
            id="typed_dict_with_some_keys_required",
        ),
        pytest.param(
            Annotated[Cat | Dog, Field(discriminator="kind")],
            {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"type": "string", "const": kind}},
                        "required": ["kind"],
                        "additionalProperties": False,
                    }
                    for kind in ("cat", "dog")
                ]
            },
            id="union_told_apart_by_a_field",
        ),
    ],
)
def test_the_schema_of_a_type(annotation, wanted):
    assert schema(annotation) == wanted


@pytest.mark.parametrize(
    ("annotation", "default", "wanted"),
    [
        pytest.param(str | None, None, {"type": "string"}, id="none_means_left_out"),
        pytest.param(str, None, {"type": "string"}, id="none_though_the_type_has_none"),
        pytest.param(Item | None, None, schema(Item), id="object_or_none"),
        pytest.param(
            Item | list[int] | None, None, {"anyOf": [schema(Item), schema(list[int])]}, id="one_of_two_or_none"
        ),
        pytest.param(Decimal | None, None, schema(Decimal), id="decimal_or_none"),
        pytest.param(int | None, 3, {"type": ["integer", "null"], "default": 3}, id="null_means_something"),
        pytest.param(Reason, Reason.OTHER, {**schema(Reason), "default": "other"}, id="enum"),
        pytest.param(list[str], [], {"type": "array", "items": {"type": "string"}, "default": []}, id="list"),
        pytest.param(float, float("nan"), {"type": "number"}, id="no_json"),
        pytest.param(int, "many", {"type": "integer", "default": "many"}, id="of_another_type"),
        pytest.param(
            Annotated[Decimal, Field(ge=0)], Decimal(2), {"type": "number", "minimum": 0, "default": 2}, id="decimal"
        ),
    ],
)
def test_an_input_with_a_default(annotation, default, wanted):
    assert schema(annotation, default) == wanted


def test_nested_types_stand_in_place():
    written = json.dumps(schema(Order))
    assert "$ref" not in written and "$defs" not in written
    assert schema(Order)["properties"] == {"items": schema(list[Item]), "first": schema(Item)}


def test_a_type_that_refers_to_itself_keeps_its_definition():
    def walk(tree: Node, first: Item):
        pass

    made = tool(walk).input_schema
    assert made["properties"] == {"tree": {"$ref": "#/$defs/Node"}, "first": schema(Item)}
    assert made["$defs"] == {
        "Node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "default": [], "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    }
    assert run_tool(tool_use("t", "walk", {"tree": {"value": 1, "children": [{}]}, "first": {"sku": "a"}}), [walk])[
        "is_error"
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Find it.\n\nArgs:\n    city (str): Where\n        to look.\n", id="google"),
        pytest.param("Find it.\n\nParameters\n----------\ncity : str\n    Where\n    to look.\n", id="numpy"),
        pytest.param("Find it.\n\n:param city: Where\n    to look.\n", id="rest"),
    ],
)
def test_docstring_styles(text):
    def find(city: str):
        pass

    find.__doc__ = text
    made = tool(find)
    assert made.description == "Find it."
    assert made.input_schema["properties"] == {"city": {"type": "string", "description": "Where to look."}}


@pytest.mark.parametrize("text", ["Find it.\n\nParameters\n----------\ncity : str\n", "Find it.\n\n:param city:\n"])
def test_an_input_that_is_named_and_not_described_has_no_description(text):
    def find(city: str):
        pass

    find.__doc__ = text
    assert tool(find).input_schema["properties"] == {"city": {"type": "string"}}


# What can be a tool


class Desk:
    def __init__(self, name: str):
        self.name = name

    def greet(self, who: str) -> str:
        """Greet."""
        return f"{self.name}: hello {who}"


async def later(a: int) -> int:
    """Add one, later."""
    return a + 1


@pytest.mark.parametrize(
    ("made", "name", "input", "content", "is_async"),
    [
        pytest.param(tool(Desk("shop").greet), "greet", {"who": "Ada"}, "shop: hello Ada", False, id="bound_method"),
        pytest.param(tool(later), "later", {"a": 1}, "2", True, id="coroutine_function"),
        pytest.param(tool(functools.partial(add, b=5)), "add", {"a": 1}, "6", False, id="partial_by_name"),
        pytest.param(tool(functools.partial(add, 5)), "add", {"b": 1}, "6", False, id="partial_by_position"),
        pytest.param(tool(functools.partial(later, 5)), "later", {}, "6", True, id="partial_coroutine"),
        pytest.param(tool(tool(add), effect="read"), "add", {"a": 1}, "3", False, id="a_tool_again"),
    ],
)
def test_what_can_be_a_tool(made, name, input, content, is_async):
    assert (made.name, made.is_async) == (name, is_async)
    assert set(made.input_schema["properties"]) >= set(input)
    assert run_tool(tool_use("t", name, input), [made]) == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": content,
    }


def test_a_preset_input_is_hidden_from_the_model():
    assert list(tool(functools.partial(add, b=5)).input_schema["properties"]) == ["a"]


def test_a_tool_is_still_the_function():
    made = tool(add)
    assert (made(1), made(1, b=1), made.__name__) == (3, 2, "add")
    assert made.__doc__.startswith("Add two numbers.")
    assert repr(made) == "Tool('add', effect='write')"
    with pytest.raises(AttributeError):
        made.name = "other"


def test_the_defaults_are_the_safe_ones():
    assert (tool(add).effect, tool(add).needs_approval, tool(add).idempotent) == ("write", False, False)
    assert tool(add, effect="irreversible").needs_approval is True
    assert tool(add, effect="irreversible", needs_approval=False).needs_approval is False
    assert tool(effect="read", tags=["math"], budget=500, timeout=2.0)(add).tags == ("math",)


def _no_type(a):
    pass


def _star(*a: int):
    pass


def _stars(**a: int):
    pass


def _by_position(a: int, /):
    pass


def _foreign(a: Desk):
    pass


def _without_schema(a: int, b: type, c: str):
    pass


def _unknown(a: "Nowhere"):  # noqa: F821
    pass


def _field(a: int = Field(1)):
    pass


def _boxed(a: Box):
    pass


class Greeter:
    def __call__(self, who: str, cls: str = "first") -> str:
        return f"Hello {who}, {cls} class."


def _étage(a: int):
    pass


def _key(étage: int):
    pass


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        pytest.param(lambda a: a, TypeError, "A lambda has neither name nor types: write", id="lambda"),
        pytest.param(Desk, TypeError, "A tool is made of a function, and this is type", id="class"),
        pytest.param(_no_type, TypeError, r"`_no_type` does not say what `a` is: write its type", id="no_type"),
        pytest.param(_star, TypeError, r"`_star` takes `\*a`.* take one list, such as `a: list", id="args"),
        pytest.param(_stars, TypeError, r"`_stars` takes `\*\*a`.* write each input", id="kwargs"),
        pytest.param(
            _by_position, TypeError, r"`_by_position` takes `a` by position .*: remove the `/`", id="position"
        ),
        pytest.param(_foreign, TypeError, r"`_foreign` takes `a: .*Desk`, which cannot .* take str", id="foreign"),
        pytest.param(_without_schema, TypeError, "takes `b: type`, which cannot be written as JSON", id="no_schema"),
        pytest.param(_unknown, TypeError, r"`_unknown` uses the type `Nowhere`.* define it", id="unknown_type"),
        pytest.param(_field, TypeError, r"`Field` as the default of `a`: write `a: Annotated", id="field_default"),
        pytest.param(Desk.greet, TypeError, r"`greet` is a method without its object", id="unbound_method"),
        pytest.param(
            functools.partial(Greeter()),
            TypeError,
            r"This partial has no name: write `tool\(\.\.\., name=",
            id="no_name",
        ),
        pytest.param(
            _boxed,
            TypeError,
            "`_boxed` takes a `TypedDict` in `a`: import it from `typing_extensions`",
            id="typed_dict_inside",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python's TypedDict will do"),
        ),
        pytest.param(functools.partial(print), (TypeError, ValueError), "`print`", id="star_args_of_a_builtin"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_in_one_sentence(function, error, says):
    with pytest.raises(error, match=says) as caught:
        tool(function)
    assert "\n" not in str(caught.value) and caught.value.__cause__ is None


def test_an_object_that_can_be_called_is_a_tool_once_it_has_a_name():
    made = tool(functools.partial(Greeter()), name="greet")
    assert list(made.input_schema["properties"]) == ["who", "cls"]
    assert run_tool(tool_use("t", "greet", {"who": "Ada"}), [made])["content"] == "Hello Ada, first class."


@pytest.mark.parametrize(
    "name", ["cal.create-event", "todo/find", "get weather", "météo", "a" * 129, "get_weather\n", ""]
)
def test_fr05_names_outside_the_set(name):
    with pytest.raises(ValueError, match="is not a valid tool name"):
        tool(add, name=name)
    assert tool(add, name="a" * 128).name == "a" * 128


@pytest.mark.parametrize("key", ["$top", "filter[id]", "étage", "a b", "", "k" * 65, "a\n"])
def test_fr05_property_keys_outside_the_set(key):
    def any_input(**values):
        pass

    def given(key):
        return {"type": "object", "properties": {key: {"type": "string"}}}

    with pytest.raises(ValueError, match="is no name for an input of tool `any_input`"):
        tool(any_input, input_schema=given(key))
    assert tool(any_input, input_schema=given("a.b-c"))
    for function in (_key, _étage):
        with pytest.raises(ValueError, match="is not a valid tool name|is no name for"):
            tool(function)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": 5}, "`budget` is 5 characters, which hold no result: give 20 or more"),
        ({"effect": "wrote"}, "`effect` is 'wrote': say 'read', 'write' or 'irreversible'"),
        ({"input_schema": []}, 'must say `"type": "object"` at its root'),
        ({"input_schema": {"properties": {}}}, 'must say `"type": "object"` at its root'),
        ({"input_schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/X"}}}}, "`add` is broken: "),
        (
            {"input_examples": [{"a": 1}, {"a": "1"}]},
            r"`input_examples\[1\]` of tool `add` breaks its schema: `a` must",
        ),
    ],
)
def test_options_that_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        tool(add, **options)


def test_a_schema_of_ones_own():
    given = {"type": "object", "properties": {"file-path": {"type": "string"}}, "required": ["file-path"]}

    @tool(input_schema=given)
    def read(**values):
        return values

    given["properties"].clear()
    assert list(read.input_schema["properties"]) == ["file-path"], "a schema is a copy"
    assert run_tool(tool_use("t", "read", {"file-path": "a"}), [read])["content"] == '{"file-path": "a"}'
    assert run_tool(tool_use("t", "read", {}), [read])["is_error"] is True


# Many tools


def named(name: str) -> Tool:
    return tool(add, name=name)


def test_fr26_the_tool_list_does_not_depend_on_the_order_of_registration():
    first = json.dumps(definitions([named("zeta"), named("alpha"), named("mu")]))
    assert first == json.dumps(definitions([named("mu"), named("zeta"), named("alpha")]))
    assert [entry["name"] for entry in json.loads(first)] == ["alpha", "mu", "zeta"]
    code = (
        "import json; from course_kit.harness.tools import definitions, tool\n"
        "def add(a: int, b: int = 2) -> int:\n"
        '    """Add two numbers.\n\n    Args:\n        a: The first.\n    """\n'
        "print(json.dumps(definitions([tool(add, name=name) for name in ('alpha', 'zeta', 'mu')])))"
    )
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert fresh.strip() == first


def test_tools_functions_and_definitions_side_by_side():
    server = {"type": "web_search_20260209", "name": "web_search", "max_uses": 3}
    toolset = {"type": "computer_toolset_20260801"}
    box = toolbox([server, add, toolset])
    assert list(box) == ["web_search", "add", "computer_toolset_20260801"]
    made = definitions([server, add, toolset])
    assert made == [tool(add).definition(), toolset, server]
    made[2]["max_uses"] = 9
    assert server["max_uses"] == 3
    assert list(toolbox({"plus": add})) == ["plus"]


@pytest.mark.parametrize("tools", [tool(add), add, 7])
def test_one_tool_is_no_list_of_tools(tools):
    with pytest.raises(TypeError, match=r"`tools` is a list of tools, not .*: write `tools=\[\.\.\.\]`"):
        definitions(tools)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="Two tools are called `add`: rename one"):
        definitions([add, {"name": "add", "input_schema": {"type": "object"}}])


# One call


def test_a_call_from_end_to_end():
    result = run_tool(tool_use("toolu_01", "add", {"a": 2, "b": 3}), [add])
    assert result == {"type": "tool_result", "tool_use_id": "toolu_01", "content": "5"}


def test_fr20_an_unknown_name_lists_the_names_that_exist():
    result = run_tool(tool_use("t", "get_wether", {}), [named("get_weather"), named("add")])
    assert result == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "There is no tool `get_wether`. Did you mean `get_weather`? The tools are: add, get_weather.",
        "is_error": True,
    }
    many = [named(f"tool_{number:04}") for number in range(300)]
    said = run_tool(tool_use("t", "xyz", {}), many)["content"]
    assert said.endswith("tool_0049 and 250 more.") and "Did you mean" not in said
    assert run_tool(tool_use("t", "Add", {}), [add])["content"].startswith(
        "There is no tool `Add`. Did you mean `add`?"
    )
    assert "no function, so nothing was run" in run_tool(tool_use("t", "a", {}), [{"name": "a"}])["content"]


def test_a_wrong_input_is_explained_and_nothing_is_run():
    ran = []

    def note(text: str, stars: Annotated[int, Field(le=5)] = 1):
        ran.append(text)

    for input, path in [({"text": 4}, "`text`"), ({"text": "a", "stars": 9}, "`stars`"), ({}, "`text`"), (None, "")]:
        result = run_tool({"type": "tool_use", "id": "t", "name": "note", "input": input}, [note])
        assert result["is_error"] is True and path in result["content"]
    assert "`more`" in run_tool(tool_use("t", "note", {"text": "a", "more": 1}), [note])["content"]
    assert ran == []
    assert run_tool(tool_use("t", "note", {"text": "a"}), [note])["content"] == "(no output)"
    assert ran == ["a"]


def test_fr08_the_check_is_against_the_schema_as_written_also_in_strict_mode():
    @tool(strict=True)
    def rate(title: Annotated[str, Field(min_length=3)], stars: Annotated[int, Field(ge=1, le=5)]):
        pass

    text = run_tool(tool_use("t", "rate", {"title": "ab", "stars": 9}), [rate])["content"]
    assert "`title`" in text and "`stars`" in text


@pytest.mark.parametrize("value", ["5", True, 1.5, None])
def test_fr16_python_types_are_not_json_types(value):
    assert run_tool(tool_use("t", "add", {"a": value}), [add])["is_error"] is True


def test_fr16_a_whole_number_arrives_as_an_integer():
    call = prepare(tool_use("t", "add", {"a": 1.0}), [add])
    assert isinstance(call, Call) and repr(call.arguments) == "{'a': 1}"


def test_the_function_gets_the_types_it_asks_for():
    got = {}

    def book(
        day: date,
        at: datetime,
        reason: Reason,
        price: Decimal,
        order: Order,
        ids: set[int],
        item: Item | None = None,
        to: Address | None = None,
        plain: dict[str, list[int]] | None = None,
    ):
        got.update(locals())

    block = tool_use(
        "t",
        "book",
        {
            "day": "2026-11-30",
            "at": "2026-11-30T09:00:00Z",
            "reason": "other",
            "price": "19.90",
            "order": {"items": [{"sku": "cup"}]},
            "ids": [3, 1],
            "item": {"sku": "pot", "qty": 2},
            "to": {"since": "2026-01-01"},
            "plain": {"a": [1]},
        },
    )
    assert run_tool(block, [book])["content"] == "(no output)"
    assert {name: value for name, value in got.items() if name != "got"} == {
        "day": date(2026, 11, 30),
        "at": datetime(2026, 11, 30, 9, tzinfo=UTC),
        "reason": Reason.OTHER,
        "price": Decimal("19.90"),
        "order": Order(items=[Item("cup")]),
        "ids": {1, 3},
        "item": Item("pot", qty=2),
        "to": {"since": date(2026, 1, 1)},
        "plain": {"a": [1]},
    }
    assert str(got["price"]) == "19.90"
    assert prepare(block, [book]).input["day"] == "2026-11-30", "a person is shown what the model sent"


@pytest.mark.parametrize(
    ("annotation", "plain"),
    [
        *((plain, True) for plain in (str, int, float, bool, list, dict, Any, None, type(None))),
        *((plain, True) for plain in (list[str], dict[str, list[int]], str | None, Literal["a", 1, True, None])),
        *((plain, True) for plain in (Annotated[str, "a note"], Annotated[int, Field(ge=1)])),
        *((other, False) for other in (date, Reason, Item, Address, set[int], list[date], dict[str, date])),
        *((other, False) for other in (date | None, Literal[Reason.OTHER], Annotated[date, Field()])),
        *((other, False) for other in (Annotated[str, AfterValidator(str.upper)], Annotated[list[date], "days"])),
    ],
    ids=str,
)
def test_only_what_is_no_plain_json_is_converted(annotation, plain):
    def function(x):
        pass

    function.__annotations__["x"] = annotation
    assert list(tool(function).converters) == ([] if plain else ["x"])


def test_a_type_with_rules_of_its_own_answers_like_the_check():
    def even(number: int) -> int:
        if number % 2:
            raise ValueError("send an even number")
        return number

    def half(n: Annotated[int, AfterValidator(even)], all: list[Annotated[int, AfterValidator(even)]] = []) -> int:  # noqa: B006
        return n // 2

    assert run_tool(tool_use("t", "half", {"n": 4}), [half])["content"] == "2"
    result = run_tool(tool_use("t", "half", {"n": 2, "all": [2, 3]}), [half])
    assert result["is_error"] is True
    assert result["content"] == (
        "The tool was not run, because its input is not valid. Correct this and call it again:\n"
        "- `all[1]`: Value error, send an even number."
    )


def test_what_a_type_refuses_is_told_with_its_place():
    adapters = {"n": TypeAdapter(int), "order": TypeAdapter(Order), "day": TypeAdapter(date)}
    given = {"n": 5, "day": "2026-11-30", "rest": "5"}
    assert convert(given, adapters) == {"n": 5, "day": date(2026, 11, 30), "rest": "5"}
    with pytest.raises(ValueError) as refused:
        convert({"n": "5", "order": {"items": [{"sku": "a", "qty": "2"}]}}, adapters)
    assert str(refused.value) == (
        "The tool was not run, because its input is not valid. Correct this and call it again:\n"
        "- `n`: Input should be a valid integer.\n"
        "- `order.items[0].qty`: Input should be a valid integer."
    )


@dataclass
class Fragile:
    code: str

    def __post_init__(self):
        raise KeyError(self.code)


def test_fr03_a_type_that_breaks_when_it_is_built_still_gives_one_result():
    def use(fragile: Fragile):
        pass

    result = run_tool(tool_use("t", "use", {"fragile": {"code": "x"}}), [use])
    assert (result["tool_use_id"], result["is_error"], result["content"]) == ("t", True, "KeyError: 'x'")


def raising(error: BaseException, effect: str = "write", **options: Any) -> Tool:
    @tool(effect=effect, **options)
    def act():
        raise error

    return act


ACT = tool_use("t", "act", {})


def test_a_tool_error_is_the_next_turns_prompt():
    result = run_tool(ACT, [raising(ToolError("NOT_FOUND", "There is no order 7.", hint="Use search_orders."))])
    assert result == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "NOT_FOUND: There is no order 7.\nHint: Use search_orders.\n"
        "Retryable: no, the same call will fail again.",
        "is_error": True,
    }


def test_fr20_an_exception_has_its_type_and_message_and_no_traceback():
    assert run_tool(ACT, [raising(KeyError("x"))]) == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "KeyError: 'x'",
        "is_error": True,
    }
    long = run_tool(ACT, [raising(ValueError(f"{__file__} {'x' * 9_000}"))])["content"]
    assert len(long) <= 500 and str(Path(__file__).parent) not in long
    assert run_tool(ACT, [raising(SystemExit(2))])["content"] == "SystemExit: 2"
    assert run_tool(ACT, [raising(ValueError())])["content"] == "ValueError"


def test_an_interrupt_is_the_persons_and_passes_through():
    with pytest.raises(KeyboardInterrupt):
        run_tool(ACT, [raising(KeyboardInterrupt())])


def test_fr03_a_tool_that_fails_while_its_output_is_read_has_one_result_the_error():
    def log():
        """Read the log."""

        def lines():
            yield "first"
            raise ConnectionError("lost")

        return lines()

    assert run_tool(tool_use("t", "log", {}), [tool(log, effect="read")]) == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": "ConnectionError: lost",
        "is_error": True,
    }


@pytest.mark.parametrize(
    ("error", "options", "warned"),
    [
        (TimeoutError("no answer"), {}, True),
        (ConnectionResetError("reset"), {"effect": "irreversible"}, True),
        (TimeoutError("no answer"), {"effect": "read"}, False),
        (TimeoutError("no answer"), {"idempotent": True}, False),
        (ValueError("no answer"), {}, False),
    ],
)
def test_fr23_a_write_that_timed_out_may_have_happened(error, options, warned):
    text = run_tool(ACT, [raising(error, **options)])["content"]
    assert text.startswith(f"{type(error).__name__}: ")
    assert text.endswith("may or may not have taken effect: look before you make it again.") is warned
    assert "try again" not in text


def test_results_are_encoded_within_the_tools_budget():
    call = prepare(tool_use("t", "add", {"a": 1}), [tool(add, budget=200)])
    outcome = finish(call, {"price": Decimal("19.90")})
    assert outcome.failure is None
    assert outcome.result == {"type": "tool_result", "tool_use_id": "t", "content": '{"price": "19.90"}'}
    assert len(finish(call, "x" * 9_000).result["content"]) <= 200
    image = [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}]
    assert finish(call, image).result["content"] == image
    assert fail(call, RuntimeError("boom")).result["content"] == "RuntimeError: boom"


def test_fr27_a_coroutine_tool_runs_with_and_without_a_running_event_loop():
    block = tool_use("t", "later", {"a": 1})

    async def cell():
        return [run_tool(block, [later]), (await run_call_async(prepare(block, [later]))).result]

    assert [result["content"] for result in [run_tool(block, [later]), *asyncio.run(cell())]] == ["2"] * 3


def test_coroutine_tools_share_one_event_loop_and_none_can_end_it():
    loops = []

    async def note(leave: bool = False):
        loops.append(asyncio.get_running_loop())
        if leave:
            raise SystemExit(3)

    results = [run_tool(tool_use("t", "note", {"leave": leave}), [note]) for leave in (False, True, False)]
    assert [result["content"] for result in results] == ["(no output)", "SystemExit: 3", "(no output)"]
    assert len(loops) == 3 and len(set(loops)) == 1


def test_a_coroutine_tool_that_forgot_await_is_told_so():
    async def outer():
        return run_tool(tool_use("t", "later", {"a": 1}), [later])["content"]

    assert "without `await`" in run_tool(tool_use("t", "outer", {}), [outer])["content"]


def test_an_awaited_call_has_one_outcome_too():
    outcome = asyncio.run(run_call_async(prepare(ACT, [raising(KeyError("x"))])))
    assert (outcome.result["content"], outcome.failure) == ("KeyError: 'x'", "EXCEPTION")
    assert asyncio.run(run_call_async(prepare(tool_use("t", "add", {"a": 1}), [add]))).result["content"] == "3"


def test_to_be_cancelled_is_no_failure_of_the_tool():
    async def slow():
        await asyncio.sleep(60)

    async def main():
        task = asyncio.ensure_future(run_call_async(prepare(tool_use("t", "slow", {}), [slow])))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


class Odd(BaseException):
    """Neither an `Exception` nor an exit."""


@pytest.mark.parametrize("error", [Odd("off"), GeneratorExit("off"), asyncio.CancelledError("off")])
def test_fr20_an_odd_exception_is_a_failure_like_any_other(error):
    async def act_later():
        raise error

    name = type(error).__name__
    assert run_tool(ACT, [raising(error)])["content"] == f"{name}: off"
    assert run_tool(tool_use("t", "act_later", {}), [act_later])["content"] == f"{name}: off"

    def lines():
        yield "first"
        raise error

    assert run_tool(tool_use("t", "log", {}), [tool(lambda: lines(), name="log", input_schema={"type": "object"})]) == {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": f"{name}: off",
        "is_error": True,
    }


# What the failure is called


@pytest.mark.parametrize(
    ("block", "code"),
    [
        pytest.param(tool_use("t", "nothing", {}), "UNKNOWN_TOOL", id="unknown_tool"),
        pytest.param(tool_use("t", "add", {"a": "1"}), "INVALID_INPUT", id="schema"),
        pytest.param(tool_use("t", "use", {"fragile": {"code": "x"}}), "EXCEPTION", id="a_type_that_breaks"),
    ],
)
def test_what_cannot_be_called_has_an_outcome_with_its_code(block, code):
    def use(fragile: Fragile):
        pass

    outcome = prepare(block, [add, use])
    assert isinstance(outcome, Outcome)
    assert (outcome.failure, outcome.result["is_error"], outcome.details) == (code, True, None)
    assert outcome.result == run_tool(block, [add, use])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ToolError("OVER_REFUND", "Too much."), "OVER_REFUND"),
        (ToolError("", "No code."), "EXCEPTION"),
        (TimeoutError("late"), "TIMEOUT"),
        (KeyError("x"), "EXCEPTION"),
        (SystemExit(2), "EXCEPTION"),
    ],
)
def test_a_failure_has_a_code(error, code):
    assert run_call(prepare(ACT, [raising(error)])).failure == code


def test_what_only_the_operator_can_mend_is_one_line_for_the_model_and_kept_for_the_trace():
    import sqlite3

    def act():
        sqlite3.connect("/nowhere/secret.sqlite3")

    outcome = run_call(prepare(ACT, [tool(act, effect="read")]))
    line = "INTERNAL: `act` is out of order, whatever is sent to it. Do not call it again; tell the user."
    assert (outcome.failure, outcome.result["content"]) == ("INTERNAL", line)
    assert outcome.details.startswith("OperationalError: unable to open database file (test_tools.py, line ")
    assert outcome.details.endswith(", in act)")
    write = run_call(prepare(ACT, [tool(act)])).result["content"]
    assert write == line + " Whether this call took effect is not known."


# Input that is no JSON object


def test_an_input_that_is_no_json_is_answered_with_the_text_and_where_it_broke():
    ran = []

    def note(text: str):
        ran.append(text)

    raw = '{"text": "hel'
    for input in (raw, raw.encode(), {"INVALID_JSON": raw}):
        outcome = prepare({"type": "tool_use", "id": "t", "name": "note", "input": input}, [note])
        assert outcome.failure == "INVALID_INPUT" and outcome.result["is_error"] is True
        assert json.loads(outcome.result["content"]) == {
            "INVALID_JSON": raw,
            "problem": 'The input is not valid JSON at line 1, column 10, near "{\\"text\\": \\"hel": the text ends '
            "before the JSON is complete. The tool was not run: send the whole input as one JSON object, with nothing "
            "around it.",
        }
    assert ran == []


def test_fragments_that_a_driver_kept_never_reach_a_tool():
    def take(**values):
        raise AssertionError("it was run")

    anything = tool(take, input_schema={"type": "object"})
    for raw in ('{"a": ', "", '{"a": 1}'):
        said = json.loads(run_tool(tool_use("t", "take", {"INVALID_JSON": raw}), [anything])["content"])
        assert said["INVALID_JSON"] == raw and "The tool was not run" in said["problem"]
    own = tool(lambda **values: "ran", name="take", input_schema={"type": "object", "properties": {"INVALID_JSON": {}}})
    assert run_tool(tool_use("t", "take", {"INVALID_JSON": "{"}), [own])["content"] == "ran"


def test_an_input_sent_as_json_text_is_read():
    block = {"type": "tool_use", "id": "t", "name": "add", "input": '{"a": 1, "b": 4}'}
    assert run_tool(block, [add])["content"] == "5"
    call = prepare(block, [add])
    assert call.input == {"a": 1, "b": 4}, "what a person is shown"
    assert run_tool({**block, "input": '["a"]'}, [add])["content"].startswith("The tool was not run, because its input")


def test_a_long_text_that_is_no_json_is_cut_and_stays_json():
    said = run_tool({"type": "tool_use", "id": "t", "name": "add", "input": '{"a": "' + "x" * 50_000}, [add])["content"]
    assert len(said) < 3_000 and set(json.loads(said)) == {"INVALID_JSON", "problem"}


def test_a_budget_of_the_run_is_for_tools_that_name_none():
    box = toolbox([add, tool(later, budget=500), {"name": "web_search"}], 200)
    assert [getattr(entry, "budget", None) for entry in box.values()] == [200, 500, None]
    assert toolbox(box) is box and toolbox(box, 300)["add"].budget == 200
    assert len(finish(Call(ACT, box["add"], {}, {}), "x" * 9_000).result["content"]) <= 200


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_that_leaves_no_time_is_refused(timeout):
    with pytest.raises(ValueError, match="give the seconds to wait, or None"):
        tool(add, timeout=timeout)


def test_loading_the_module_loads_no_engine():
    heavy = "{'pydantic', 'jsonschema_rs', 'docstring_parser', 'numpy', 'pandas'}"
    code = f"import sys, course_kit.harness.tools; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"

"""A value that fits a schema: as the definition wants it, or made up."""

import json
import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.mock.filling import as_wanted, day_of, fill, fits, glosses, options
from course_kit.mock.spans import spans

TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name", "kids"],
        }
    },
    "$ref": "#/$defs/node",
}
SCHEMAS = {
    "constant": ({"const": 7}, 7),
    "example before default": ({"type": "string", "examples": ["ORD-20260917"], "default": "x"}, "ORD-20260917"),
    "default before enum": ({"enum": ["a", "b"], "default": "b"}, "b"),
    "first of the enum": ({"enum": ["a", "b"]}, "a"),
    "a default that does not fit": ({"type": "integer", "default": "many", "minimum": 3}, 3),
    "required only": (
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
        {"a": 1},
    ),
    "minimum": ({"type": "integer", "minimum": 10}, 10),
    "exclusive minimum": ({"type": "integer", "exclusiveMinimum": 10}, 11),
    "maximum below one": ({"type": "number", "maximum": -2}, -2),
    "between": ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
    "multiple": ({"type": "integer", "multipleOf": 7, "minimum": 10}, 14),
    "lengths": ({"type": "string", "minLength": 6, "maxLength": 8}, "textxx"),
    "short": ({"type": "string", "maxLength": 2}, "te"),
    "email": ({"type": "string", "format": "email"}, "someone@example.com"),
    "two items": ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
    "unlike items": ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 2, 3]),
    "tuple": ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "minItems": 2}, [1, None]),
    "at least one": ({"type": "array", "contains": {"const": 5}}, [5]),
    "something, not null": ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
    "type list": ({"type": ["null", "boolean"]}, False),
    "all of": ({"allOf": [{"type": "integer", "minimum": 3}, {"minimum": 5, "maximum": 9}]}, 5),
    "reference": ({"$defs": {"n": {"type": "integer", "minimum": 2}}, "properties": {"a": {"$ref": "#/$defs/n"}}}, {}),
    "recursive": (TREE, {"name": "text", "kids": []}),
    "more properties": (
        {"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}},
        {"field_1": 1},
    ),
}


@pytest.mark.parametrize(("schema", "value"), SCHEMAS.values(), ids=SCHEMAS.keys())
def test_made_up(schema, value):
    assert fill(schema) == value
    assert fits(schema, value)


@pytest.mark.parametrize(
    "pattern",
    [r"^ORD-[0-9]{8}$", r"^\d{4}-\d\d$", r"^[a-z]+$", r"^\S+@\S+\.com$", r"^(?:red|green)(?:-dark)?$", r"a*b+"],
)
def test_a_pattern_is_matched(pattern):
    schema = {"type": "string", "pattern": pattern}
    assert fits(schema, fill(schema))
    assert fill(schema, seed=1) == fill(schema, seed=1)


def test_a_pattern_with_lengths():
    schema = {"type": "string", "pattern": "^[a-z]+$", "minLength": 5, "maxLength": 7}
    assert fits(schema, fill(schema))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": r"^\p{L}+$"},
        {"type": "string", "pattern": "^(?:a{9999}){9999}$"},
        {"type": "string", "pattern": "^(?!x)(?=y)z$"},
        {"type": "string", "minLength": 10**12},
        {"type": "array", "minItems": 10**12},
        {
            "$defs": {"a": {"properties": {n: {"$ref": "#/$defs/a"} for n in "bcdef"}, "required": [*"bcdef"]}},
            "$ref": "#/$defs/a",
        },
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        False,
    ],
    ids=[
        "other syntax",
        "huge",
        "contradiction",
        "endless text",
        "endless list",
        "requires itself",
        "loop",
        "lost",
        "nothing",
    ],
)
def test_what_cannot_be_filled_ends_soon(schema):
    start = time.process_time()
    json.dumps(fill(schema))
    assert time.process_time() - start < 20


def test_what_is_given_is_kept():
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^A[0-9]$"},
            "n": {"type": "integer"},
            "note": {"type": "string"},
        },
        "required": ["id", "n"],
        "additionalProperties": False,
    }
    assert fill(schema, {"id": "A7", "note": "hi"}) == {"id": "A7", "n": 1, "note": "hi"}
    filled = fill(schema, {"id": "wrong", "note": 5, "other": 1})
    assert fits(schema, filled) and filled.keys() == {"id", "n"}


def test_given_inside_an_object_is_kept():
    inner = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
        "required": ["city", "zip"],
    }
    schema = {"type": "object", "properties": {"to": inner}, "required": ["to"]}
    assert fill(schema, {"to": {"city": "Oslo"}}) == {"to": {"city": "Oslo", "zip": "text"}}


LEAVES = st.one_of(
    st.builds(
        lambda low, room: {"type": "integer", "minimum": low, "maximum": low + room},
        st.integers(-50, 50),
        st.integers(0, 9),
    ),
    st.builds(
        lambda low, room: {"type": "string", "minLength": low, "maxLength": low + room},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.sampled_from(
        [{"type": "boolean"}, {"type": "null"}, {"enum": ["a", 1]}, {"type": "string", "format": "date"}, {}]
    ),
)
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items, n: {"type": "array", "items": items, "minItems": n}, inner, st.integers(0, 3)),
        st.dictionaries(st.sampled_from("abc"), inner).map(
            lambda fields: {
                "type": "object",
                "properties": fields,
                "required": [*fields],
                "additionalProperties": False,
            }
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
    ),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(NESTED)
def test_nested_schemas_are_filled(schema):
    assert fits(schema, fill(schema))


# What was said, as the definition wants it.


def wanted(text, name="amount", type="integer", today=None, **node):
    return as_wanted(spans(text)[0], name, {"type": type, **node}, today)


@pytest.mark.parametrize(
    ("text", "node", "value"),
    [
        ("pay 19.99 back", {"name": "amount_cents"}, 1999),
        ("pay 19.99 back", {"description": "In cents."}, 1999),
        ("pay 19.99 back", {"description": "19.99 is 1999"}, 1999),
        ("pay 19.99 back", {}, 19.99),
        ("pay 20.0 back", {}, 20),
        ("pay 5 cents back", {"description": "In cents."}, 5),
        ("pay 5000 cents back", {"description": "In cents: 19.99 is 1999."}, 5000),
        ("pay 12.50 back", {"description": "48,000.00 is 4800000"}, 1250),
        ("pay 7 back", {"description": "0 is 0"}, 7),
        ("at 5%", {"type": "number", "description": "The rate as a decimal."}, 0.05),
        ("at 5%", {"type": "number", "description": "The rate in percent."}, 5),
        ("for $1,500 now", {}, 1500),
        ("about 2.5 million people", {"type": "integer"}, 2_500_000),
    ],
)
def test_units(text, node, value):
    assert wanted(text, **node) == value


WEDNESDAY = date(2026, 9, 23)


@pytest.mark.parametrize(
    ("text", "description", "today", "value"),
    [
        ("on next Wednesday", "The day.", date(2026, 9, 20), "next Wednesday"),
        ("on next Wednesday", "The day, YYYY-MM-DD.", None, "next Wednesday"),
        ("on next Wednesday", "The day, YYYY-MM-DD.", date(2026, 9, 20), "2026-09-23"),
        ("在下周三出发", "YYYY-MM-DD", date(2026, 9, 20), "2026-09-23"),
        ("on May 12, 2022 please", "MM-DD-YYYY", None, "05-12-2022"),
        ("on May 12, 2022 please", "As DD/MM/YYYY.", None, "12/05/2022"),
        ("on May 12, 2022 please", "ISO 8601 date", None, "2022-05-12"),
        ("on May 12, 2022 please", "The day.", None, "May 12, 2022"),
    ],
)
def test_dates(text, description, today, value):
    assert wanted(text, "day", "string", today, description=description) == value


def test_relative_days():
    sunday = date(2026, 9, 20)
    assert [day_of(said, sunday) for said in ("today", "tomorrow", "sunday", "周三")] == [
        sunday,
        date(2026, 9, 21),
        date(2026, 9, 27),
        WEDNESDAY,
    ]
    assert day_of("tomorrow") is None


def test_digits_take_the_prefix_of_the_pattern():
    node = {"pattern": "^ORD-[0-9]{8}$"}
    assert wanted("order 20260917 please", "order_id", "string", **node) == "ORD-20260917"
    assert wanted("order 2026 please", "order_id", "string", **node) == "2026"
    assert wanted("order 20260917 please", "order_id", "string") == "20260917"


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ({"enum": ["a", "b", None]}, ["a", "b"]),
        ({"type": "array", "items": {"enum": ["a"]}}, ["a"]),
        ({"description": "Sort order, 'asc' or 'desc'."}, ["asc", "desc"]),
        ({"description": "One reason: one of damaged, not_received or other."}, ["damaged", "not_received", "other"]),
        ({"description": "The city."}, []),
    ],
)
def test_options(node, found):
    assert options(node) == found


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("Why: a (broken or torn), b (late).", [("a", "broken"), ("a", "torn"), ("b", "late")]),
        ("'a' for apples, b: bread", [("a", "apples"), ("b", "bread")]),
        ("a 苹果，b（面包、饼干）", [("a", "苹果"), ("b", "面包"), ("b", "饼干")]),
        ("a and b are in the shop; c (other) is none", []),
        ("co-a (x), a_b (y)", []),
    ],
)
def test_glosses(description, found):
    assert list(glosses({"description": description, "enum": ["a", "b"]})) == found
    assert list(glosses({"description": description})) == []
    assert list(glosses({"description": description, "items": {"enum": ["a", "b"]}})) == found


@pytest.mark.parametrize("schema", [{"type": "object", "required": [{"a": 1}]}, {"properties": 5}, 7, None])
def test_what_is_no_schema_is_filled_with_nothing(schema):
    assert fill(schema) == {}

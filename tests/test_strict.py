"""Strict subsets: what each provider refuses, what a request may hold, and what `to_strict` does about it."""

import copy
import datetime
import json
import time
from itertools import pairwise

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_kit.contract import strict_transform
from course_kit.contract.strict import (
    STRICT_RULES,
    Refusal,
    StrictCount,
    count_strict,
    fits,
    pointer,
    recursive_refs,
    ref_path,
    strict_budget,
    strict_refusals,
    unsupported_regex,
    walk_schema,
)
from course_kit.contract.strict_transform import StrictSchema, to_strict

PROVIDERS = ["anthropic", "openai"]

REFUND = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "description": "The order", "pattern": "^ORD-[0-9]{8}$"},
        "amount_cents": {"type": "integer", "minimum": 1},
        "reason": {"type": "string", "enum": ["damaged", "not_received", "wrong_item", "other"]},
        "note": {"type": "string", "maxLength": 200},
    },
    "required": ["order_id", "amount_cents", "reason"],
    "additionalProperties": False,
}


def closed(required=None, /, **properties):
    required = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def nested(levels):
    inner = {"type": "null"} if levels < 3 else nested(levels - 2)
    return closed(a=inner if levels == 1 else {"type": "array", "items": inner})


def messages(schema, provider="anthropic", **more):
    return [refusal.message for refusal in strict_refusals(schema, provider, **more)]


# --- the linter, Anthropic ---------------------------------------------------------------------------------------

EMPTY = "Empty schema ({}) that accepts any JSON value is not supported. Please specify a concrete type."
OPEN = "For 'object' type, 'additionalProperties' must be explicitly set to false"
CIRCLE = (
    "Invalid schema: Circular reference detected in schema definitions: {}. "
    "Self-referencing or mutually-referencing definitions are not supported."
)
REGEX = "Unsupported regex feature in pattern field: "

ACCEPTED = {
    "types": {"anyOf": [{"type": t} for t in ("string", "integer", "number", "boolean", "null")]},
    "type list": {"type": ["string", "null"]},
    "enum": {"type": "string", "enum": ["a", "b"]},
    "enum without type": {"enum": ["a", 1, None]},
    "enum beside a list of one type": {"type": ["string"], "enum": ["a"]},
    "const": {"const": "a"},
    "default": {"type": "integer", "default": 3},
    "uri": {"type": "string", "format": "uri"},
    "simple pattern": {"type": "string", "pattern": r"^(?:ORD|INV)-\d{8}[a-z_.]*\.?$"},
    "length, unless the setting says no": {"type": "string", "minLength": 1, "maxLength": 9},
    "minItems 1": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "title and examples": {"type": "string", "title": "T", "examples": ["a"], "nullable": True},
    "description beside anyOf": {"description": "d", "anyOf": [{"type": "string"}, {"type": "null"}]},
    "allOf alone": {"allOf": [{"type": "string"}]},
}
REFUSED = {
    "minimum": ({"type": "integer", "minimum": 1}, "For 'integer' type, property 'minimum' is not supported"),
    "two bounds": (
        {"type": "integer", "minimum": 1, "maximum": 5},
        "For 'integer' type, properties maximum, minimum are not supported",
    ),
    "number": ({"type": "number", "multipleOf": 2}, "For 'number' type, property 'multipleOf' is not supported"),
    "bound in a type list": (
        {"type": ["null", "integer"], "minimum": 1},
        "For 'integer' type, property 'minimum' is not supported",
    ),
    "maxItems": (
        {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "For 'array' type, property 'maxItems' is not supported",
    ),
    "minItems": (
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    ),
    "prefixItems": (
        {"type": "array", "prefixItems": [{}]},
        "For 'array' type, property 'prefixItems' is not supported",
    ),
    "items list": (
        {"type": "array", "items": [{"type": "string"}]},
        "Invalid schema: Array types must be specified with a single object schema for 'items'.",
    ),
    "open object": ({"type": "object", "properties": {}}, OPEN),
    "additionalProperties true": ({"type": "object", "additionalProperties": True}, OPEN),
    "additionalProperties schema": ({"type": "object", "additionalProperties": {"minimum": 1}}, OPEN),
    "open object in a type list": ({"type": ["object", "null"]}, OPEN),
    "if": (closed() | {"if": {"minimum": 1}}, "For 'object' type, property 'if' is not supported"),
    "propertyNames": (closed() | {"propertyNames": {}}, "For 'object' type, property 'propertyNames' is not supported"),
    "not": ({"type": "string", "not": {"const": "a"}}, "Schema keyword 'not' is not supported"),
    "oneOf": ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "Schema type 'oneOf' is not supported"),
    "type beside anyOf": (
        {"type": "string", "anyOf": [{"type": "string"}]},
        "For 'anyOf', 'type' is not supported",
    ),
    "object beside allOf": (
        closed(a={"type": "string"}) | {"allOf": [{"type": "string"}]},
        "For 'anyOf', 'additionalProperties, properties, required, type' is not supported",
    ),
    "format": ({"type": "string", "format": "phone"}, "For 'string' type, format 'phone' is not supported"),
    "lookaround": ({"type": "string", "pattern": "^(?=a)"}, REGEX + "Lookaround is not supported."),
    "enum beside a type list": (
        {"type": ["string", "null"], "enum": ["low", None]},
        "Invalid schema: Enum value 'low' does not match declared type '['string', 'null']'",
    ),
    "enum of another type": (
        {"type": "string", "enum": ["a", None]},
        "Invalid schema: Enum value 'None' does not match declared type 'string'",
    ),
    "enum of lists": ({"enum": ["a", [1]]}, "Enum values of type object or array are not supported"),
    "const of an object": ({"const": {"a": 1}}, "Enum values of type object or array are not supported"),
    "no reference at all": ({"$ref": 5}, "Invalid schema: External references are not supported: 5"),
    "an anchor": ({"$ref": "#A"}, "Invalid schema: Reference to non-existent definition: #A"),
    "enum of objects": ({"enum": [{"a": 1}]}, "Enum values of type object or array are not supported"),
    "empty": ({}, EMPTY),
    "true": (True, EMPTY),
    "annotations only": ({"title": "T", "description": "d"}, EMPTY),
    "external ref": (
        {"$ref": "https://example.com/a.json"},
        "Invalid schema: External references are not supported: https://example.com/a.json",
    ),
    "missing ref": ({"$ref": "#/$defs/A"}, "Invalid schema: Reference to non-existent definition: #/$defs/A"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    assert strict_refusals(closed(x=ACCEPTED[name])) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_the_words_of_the_api(name):
    schema, message = REFUSED[name]
    assert messages(closed(x=schema)) == [message]
    assert messages(closed(x={"anyOf": [{"type": "null"}, schema]})) == [message]  # deeper, the same
    assert {r.rule for r in strict_refusals(closed(x=schema))} <= STRICT_RULES.keys()


FAULTS = {
    "unsupported-keyword": {
        "minimum": "minimum", "two bounds": "maximum, minimum", "number": "multipleOf",
        "bound in a type list": "minimum",
        "maxItems": "maxItems", "prefixItems": "prefixItems", "if": "if", "not": "not",
        "propertyNames": "propertyNames",
    },
    "min-items": {"minItems": "minItems"},
    "items-list": {"items list": "items"},
    "open-object": dict.fromkeys(
        ("open object", "additionalProperties true", "additionalProperties schema", "open object in a type list"),
        "additionalProperties",
    ),
    "one-of": {"oneOf": "oneOf"},
    "any-of-siblings": {
        "type beside anyOf": "type", "object beside allOf": "additionalProperties, properties, required, type",
    },
    "format": {"format": "format"},
    "pattern": {"lookaround": "pattern"},
    "enum-type": {"enum beside a type list": "enum", "enum of another type": "enum"},
    "enum-complex": {"enum of objects": "enum", "enum of lists": "enum", "const of an object": "const"},
    "empty-schema": {"empty": "type", "true": "type", "annotations only": "type"},
    "external-ref": {"external ref": "$ref", "no reference at all": "$ref"},
    "missing-ref": {"missing ref": "$ref", "an anchor": "$ref"},
}  # fmt: skip


def test_each_fault_has_its_rule_and_its_keyword():
    found = {name: strict_refusals(closed(x=schema)) for name, (schema, _) in REFUSED.items()}
    assert {name: [(one.path, one.rule, one.keyword) for one in refusals] for name, refusals in found.items()} == {
        name: [("#/properties/x", f"strict-{rule}", keyword)]
        for rule, faults in FAULTS.items()
        for name, keyword in faults.items()
    }


@pytest.mark.parametrize("beside", [[], [{"type": "string"}]])
def test_all_of_with_a_reference(beside):
    schema = closed(x={"allOf": [*beside, {"$ref": "#/$defs/A"}]}) | {"$defs": {"A": {"type": "string"}}}
    assert strict_refusals(schema) == [
        Refusal("#/properties/x", "allOf", "For 'allOf', '$ref' is not supported", "strict-all-of-ref")
    ]


def test_each_keyword_is_told_with_the_type_it_is_about():
    both = {"type": ["number", "array"], "minimum": 1, "maximum": 2, "maxItems": 3}
    assert messages(closed(x=both)) == [
        "For 'array' type, property 'maxItems' is not supported",
        "For 'number' type, properties maximum, minimum are not supported",
    ]
    assert messages(closed(x={"type": ["array", "number"], "minimum": 1})) == [
        "For 'number' type, property 'minimum' is not supported"
    ]
    for types in ("string", ["string", "boolean"]):
        assert messages(closed(x={"type": types, "minimum": 1})) == [
            "For 'string' type, property 'minimum' is not supported"
        ]
    assert messages(closed(x={"enum": [1], "maxLength": 1, "minimum": 1}), settings={"strict-string-length"}) == [
        "For 'integer' type, property 'minimum' is not supported",
        "For 'string' type, property 'maxLength' is not supported",
    ]


def test_all_faults_come_in_document_order_with_their_paths():
    schema = closed(**{"a/b": {"type": "integer", "minimum": 1}, "c": {"type": "array", "items": {"type": "object"}}})
    assert strict_refusals(schema) == [
        Refusal("#/properties/a~1b", "minimum", REFUSED["minimum"][1], "strict-unsupported-keyword"),
        Refusal("#/properties/c/items", "additionalProperties", OPEN, "strict-open-object"),
    ]


def test_lengths_are_refused_only_when_the_setting_says_so():
    schema = closed(note={"type": "string", "maxLength": 200})
    assert strict_refusals(schema) == []
    assert messages(schema, settings={"strict-string-length"}) == [
        "For 'string' type, property 'maxLength' is not supported"
    ]
    assert STRICT_RULES["strict-string-length"].certainty == "uncertain"


def test_names_of_properties_and_definitions_are_not_keywords():
    names = ["minimum", "oneOf", "not", "type", "$ref", "properties", "items", "if", "additionalProperties", "required"]
    schema = closed(**{name: {"type": "string"} for name in names}) | {"$defs": {"oneOf": {"type": "string"}}}
    assert strict_refusals(schema) == strict_refusals(schema, "openai") == []
    assert to_strict(schema).schema["properties"] == schema["properties"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"^ORD-[0-9]{8}$", None),
        (r"[\]({1,999}?=]+\(\?=", None),
        (r"(a)\1", "Backreferences are not supported."),
        (r"\bParis", r"\b is not supported."),
        (r"\\b", None),
        (r"(?<!a)b", "Lookaround is not supported."),
        (r"(?:a|b)?", None),
        (r"a{1,5000}", "pattern is too complex for structured output: reduce the {n,m} upper bound"),
        (r"[^\p{Cc}]", r"[^\p{Cc}] is not supported."),
        (r"a{100}", None),
        (r"a{101}", "pattern is too complex for structured output: reduce the {n,m} upper bound"),
        (r"a{3,101}", "pattern is too complex for structured output: reduce the {n,m} upper bound"),
        (r"a{x}[a{101}]{1,9}", None),
        (r"(a)\9", "Backreferences are not supported."),
        (r"\k<a>", "Backreferences are not supported."),
        *((f"a{sign}", f"{sign} is not supported.") for sign in (r"\B", r"\p", r"\P", r"\A", r"\G", r"\z", r"\Z")),
        ("[\\P{L}\n]", "[\\P{L}\n] is not supported."),
        ("a\n(?!b)", "Lookaround is not supported."),
        (r"(?i)a", "(?i is not supported."),
        (r"(?P<n>a)", "(?P is not supported."),
        (r"(?<n>a)", "(?<n is not supported."),
        (r"\d\w\s\0[a", None),
    ],
)
def test_regular_expressions(pattern, reason):
    assert unsupported_regex(pattern) == reason


def test_fr07_a_nested_object_must_be_closed_too():
    guest = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    assert strict_refusals(closed(guest=guest)) == [
        Refusal("#/properties/guest", "additionalProperties", OPEN, "strict-open-object")
    ]
    assert strict_refusals(closed(guest=guest | {"additionalProperties": False})) == []


def test_fr07_the_budget_is_summed_over_the_strict_tools_of_a_request():
    schema = closed([], **{f"p{n}": {"type": "string"} for n in range(13)})
    tools = [{"name": name, "strict": True, "input_schema": schema} for name in ("one", "two")]
    (refusal,) = strict_budget(tools)
    assert refusal.rule == "strict-too-many-optional"
    assert refusal.message == (
        "Schemas contains too many optional parameters (26), which would make grammar compilation inefficient. "
        "Reduce the number of optional parameters in your tool schemas (limit: 24)."
    )
    assert strict_budget([tools[0], tools[1] | {"strict": False}]) == []
    assert [r.message for r in strict_budget(tools[:1], output_schema=schema)] == [refusal.message]


def test_the_budget_of_tools_and_unions():
    nullable = {f"p{n}": {"type": ["string", "null"]} for n in range(16)}
    tool = {"name": "t", "strict": True, "input_schema": closed(**nullable)}
    assert strict_budget([tool]) == []
    one_more = closed(**nullable, more={"anyOf": [{"type": "string"}, {"type": "null"}]})
    assert [r.message for r in strict_budget([tool | {"input_schema": one_more}])] == [
        "Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf). This causes "
        "exponential compilation cost. Reduce the number of nullable or union-typed parameters "
        "(limit: 16 parameters with unions)."
    ]
    plain = {"strict": True, "input_schema": closed()}
    assert strict_budget([plain] * 20) == []
    assert [r.message for r in strict_budget([plain] * 21)] == [
        "Too many strict tools (21). The maximum number of strict tools supported is 20."
    ]


def test_counts_reach_every_depth():
    inner = closed(["a"], a={"type": "string"}, b={"anyOf": [{"type": "string"}, {"type": "null"}]})
    assert count_strict(REFUND) == StrictCount(optional=1, unions=0)
    schema = closed([], list={"type": "array", "items": inner}) | {"$defs": {"D": inner}}
    assert count_strict(schema) == StrictCount(optional=3, unions=2)


# --- references --------------------------------------------------------------------------------------------------


def _leading(**targets):
    """A schema whose definitions refer to one another: `a="bc"` leads from a to b and to c."""
    refs = {name: [{"$ref": f"#/$defs/{target}"} for target in to] for name, to in targets.items()}
    return {"$ref": f"#/$defs/{next(iter(targets))}", "$defs": {name: {"anyOf": to} for name, to in refs.items()}}


@pytest.mark.parametrize(
    ("schema", "circles"),
    [
        (_leading(a="b", b="c", c=""), []),
        (_leading(a="a"), ["aa"]),
        (_leading(a="b", b="ac", c="d", d=""), ["aba", "bab"]),
        (_leading(a="b", b="c", c="b"), ["bcb", "cbc"]),
        (_leading(a="bc", b="d", c="d", d=""), []),
    ],
)
def test_circles_among_definitions(schema, circles):
    found = [[name for _, name in way] for way in recursive_refs(schema).values()]
    assert found == [list(circle) for circle in circles]


def test_a_chain_of_definitions_takes_time_that_grows_with_its_length_alone():
    def seconds(length):
        names = [f"d{number}" for number in range(length)]
        definitions = {name: {"$ref": f"#/$defs/{following}"} for name, following in pairwise(names)}
        start = time.process_time()
        assert recursive_refs({"$ref": "#/$defs/d0", "$defs": {**definitions, names[-1]: {}}}) == {}
        return time.process_time() - start

    assert min(seconds(4000) for _ in range(3)) < 8 * min(seconds(1000) for _ in range(3)) + 0.02  # squared: 16 times


def test_fr09_recursion_is_one_refusal_and_never_a_recursion_error():
    root = {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
    assert messages(root) == [CIRCLE.format("# -> #")]
    node = closed(next={"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]})
    assert messages(closed(n={"$ref": "#/$defs/N"}) | {"$defs": {"N": node}}) == [CIRCLE.format("N -> N")]
    pair = {"A": closed(b={"$ref": "#/$defs/B"}), "B": closed(a={"$ref": "#/$defs/A"})}
    assert messages(closed(a={"$ref": "#/$defs/A"}) | {"$defs": pair}) == [CIRCLE.format("A -> B -> A")]
    (problem,) = to_strict(root).problems
    assert (problem.path, problem.rule) == ("#/properties/child", "strict-recursion")
    assert problem.message.endswith("Write out the levels you need.")
    assert to_strict(root, "openai").problems == []  # the other provider takes recursion


def test_fr09_the_root_reference_is_written_out_and_the_definitions_stay():
    schema = {
        "$ref": "#/$defs/T",
        "$defs": {"T": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}},
    }
    number = {"type": "integer", "description": "At least 0."}
    thing = {"type": "object", "properties": {"n": number}, "additionalProperties": False}
    result = to_strict(schema)
    assert result.schema == thing | {"$defs": {"T": thing}}
    assert result.problems == []


def test_fr09_a_missing_definition_is_named():
    for schema in ({"$ref": "#/$defs/Gone"}, {"type": "string", "items": {"$ref": "#/$defs/Gone"}}):
        (problem,) = to_strict(closed(a=schema)).problems
        assert problem.rule == "strict-missing-ref"
        assert problem.path.startswith("#/properties/a")
        assert problem.message == "#/$defs/Gone is not in this schema. Add it to $defs."


def test_a_reference_with_something_beside_it_keeps_both():
    schema = closed(a={"$ref": "#/$defs/A", "description": "Which one."}, b={"$ref": "#/$defs/A"})
    schema["$defs"] = {"A": {"type": "string", "enum": ["x"], "description": "A letter."}}
    for provider in PROVIDERS:
        result = to_strict(schema, provider)
        assert result.problems == []
        assert result.schema["properties"]["a"] == {"type": "string", "enum": ["x"], "description": "Which one."}
        assert result.schema["properties"]["b"] == {"$ref": "#/$defs/A"}


def test_definitions_are_transformed_and_unused_ones_left_out():
    bounded = {"type": "integer", "maximum": 9}
    listed = {"type": "array", "items": {"$ref": "#/definitions/B"}}
    schema = closed(a={"$ref": "#/definitions/A"}) | {"definitions": {"A": listed, "B": bounded, "Unused": {"not": {}}}}
    said = {"type": "integer", "description": "At most 9."}
    assert to_strict(schema) == StrictSchema(
        schema | {"definitions": {"A": listed, "B": said}}, moved=[("#/definitions/B", "maximum", 9)]
    )
    assert to_strict(closed() | {"$defs": {"Unused": {"not": {}}}}) == StrictSchema(closed())


@pytest.mark.parametrize("depth", [50, 1500])
def test_depth_is_no_danger(depth):
    deep = {"type": "string", "format": "phone"}
    for _ in range(depth):
        deep = {"type": "array", "items": deep}
    assert messages(deep) == ["For 'string' type, format 'phone' is not supported"]
    assert count_strict(deep) == StrictCount(0, 0)
    result = to_strict(closed(a=deep))
    assert [problem.rule for problem in result.problems] == ([] if depth == 50 else ["strict-limits"])


@pytest.mark.parametrize(
    "twice",
    [lambda ref: closed(a=ref | {"title": "a"}, b=ref | {"title": "b"}), lambda ref: {"allOf": [ref, ref]}],
    ids=["properties", "allOf"],
)
def test_a_chain_of_references_that_doubles_at_every_step_ends_with_a_problem(twice):
    chain = {f"D{n}": twice({"$ref": f"#/$defs/D{n + 1}"}) for n in range(40)}
    schema = closed(a={"$ref": "#/$defs/D0", "title": "a"}) | {"$defs": chain | {"D40": {"type": "string"}}}
    assert [problem.rule for problem in to_strict(schema).problems] == ["strict-limits"]


# --- to_strict, Anthropic ----------------------------------------------------------------------------------------


def test_the_refund_tool():
    result = to_strict(REFUND)
    properties = {
        "order_id": REFUND["properties"]["order_id"],  # the pattern stays: the API enforces it
        "amount_cents": {"type": "integer", "description": "At least 1."},
        "reason": REFUND["properties"]["reason"],  # and enum keeps its type
        "note": {"type": "string", "description": "At most 200 characters."},
    }
    assert result.schema == REFUND | {"properties": properties}
    assert result.moved == [("#/properties/amount_cents", "minimum", 1), ("#/properties/note", "maxLength", 200)]
    assert (result.narrowed, result.problems) == ([], [])
    value = {"order_id": "x", "note": None}
    assert result.restore(value) == value


def test_fr08_properties_named_like_keywords_stay_and_bounds_go_into_words():
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "title": "Title", "minLength": 3},
            "stars": {"type": "integer", "minimum": 1, "maximum": 5, "description": "rating"},
            "type": {"type": "string"},
        },
        "required": ["title", "stars"],
    }
    before = copy.deepcopy(schema)
    assert "For 'integer' type, properties maximum, minimum are not supported" in messages(schema)
    result = to_strict(schema)
    assert result.schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "title": "Title", "description": "At least 3 characters."},
            "stars": {"type": "integer", "description": "rating. At least 1. At most 5."},
            "type": {"type": "string"},
        },
        "additionalProperties": False,
        "required": ["title", "stars"],
    }
    assert result.narrowed == [("#", "additionalProperties", "only the listed properties can be sent")]
    assert schema == before
    assert len(list(jsonschema_rs.Draft202012Validator(schema).iter_errors({"title": "ab", "stars": 9}))) == 2
    assert jsonschema_rs.is_valid(result.schema, {"title": "ab", "stars": 9})  # nobody enforces what was moved


IN_WORDS = {
    "pattern": ({"type": "string", "pattern": "(?=a)"}, "Matches (?=a)."),
    "format": ({"type": "string", "format": "phone"}, "Format: phone."),
    "one item": ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, "At most 1 item."),
    "exclusive": ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}, "More than 0. A multiple of 0.5."),
    "unique": ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, "No two items are equal."),
    "not unique": ({"type": "array", "items": {"type": "null"}, "uniqueItems": False}, None),
    "not": ({"type": "string", "not": {"const": "é"}}, 'not: {"const": "é"}.'),
    "below": ({"type": "number", "exclusiveMaximum": 3}, "Less than 3."),
    "two items": ({"type": "array", "items": {"type": "null"}, "minItems": 2}, "At least 2 items."),
    "fields": (closed() | {"minProperties": 1, "maxProperties": 2}, "At least 1 field. At most 2 fields."),
    "examples": ({"type": "string", "examples": ["é"]}, 'Examples: ["é"].'),
    "dependent": (closed() | {"dependentRequired": {"a": ["b"]}}, 'dependentRequired: {"a": ["b"]}.'),
    "contains": (
        {"type": "array", "items": {"type": "null"}, "contains": {"type": "null"}, "minContains": 2},
        'contains: {"type": "null"}. minContains: 2.',
    ),
    "no force on this type": ({"type": "string", "minimum": 3}, None),
    "a union with true": (
        closed([], a={"type": "null"}) | {"anyOf": [True, {"required": ["a"]}]},
        'anyOf: [true, {"required": ["a"]}].',
    ),
    "a length beside a list of values": ({"enum": ["a", "bb", 3], "minLength": 2}, "At least 2 characters."),
    "no force on a whole number": ({"type": "integer", "maxLength": 3}, None),
    "exactly one": (
        closed([], a={"type": "null"}, b={"type": "null"}) | {"oneOf": [{"required": ["a", "b"]}, {"required": ["b"]}]},
        "Needs exactly one of: a and b; or b.",
    ),
    "either or": (closed([], a={"type": "null"}) | {"anyOf": [{"required": ["a"]}]}, "Needs at least one of: a."),
}


@pytest.mark.parametrize("name", IN_WORDS)
def test_what_is_moved_is_said_in_words(name):
    schema, words = IN_WORDS[name]
    result = to_strict(closed(x=schema, y=schema | {"description": "What it is."}))
    assert result.schema["properties"]["x"].get("description") == words
    assert result.schema["properties"]["y"]["description"] == " ".join(filter(None, ["What it is.", words]))
    assert result.problems == []


@pytest.mark.parametrize(
    ("description", "before"),
    [("What", "What."), ("What. ", "What."), ("What?", "What?"), ("What!", "What!"), ("One of:", "One of:")],
)
def test_words_are_put_behind_a_whole_sentence(description, before):
    result = to_strict(closed(x={"type": "integer", "minimum": 1, "description": description}))
    assert result.schema["properties"]["x"]["description"] == f"{before} At least 1."


def test_openai_takes_no_default_and_anthropic_does():
    schema = closed(x={"type": "string", "default": "b"})
    assert to_strict(schema).schema == schema
    result = to_strict(schema, "openai")
    assert result.schema["properties"]["x"] == {"type": "string", "description": "Default: b."}


REWRITTEN = {
    "oneOf": ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    "type beside anyOf": ({"type": "string", "anyOf": [{"const": "a"}]}, {"anyOf": [{"const": "a", "type": "string"}]}),
    "allOf of one": ({"allOf": [{"type": "string"}], "title": "T"}, {"title": "T", "type": "string"}),
    "allOf with a reference": (
        {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {"type": "null"}}, "required": ["b"]}]},
        closed(a={"type": "string"}, b={"type": "null"}),
    ),
    "a list that may be empty": (
        {"type": "array", "items": {"type": "null"}, "minItems": 0},
        {"type": "array", "items": {"type": "null"}, "minItems": 0},
    ),
    "twice the same bound": (
        {"type": "integer", "minimum": 1, "allOf": [{"minimum": 1}]},
        {"type": "integer", "description": "At least 1."},
    ),
    "one type of several": ({"type": "string", "allOf": [{"type": ["string", "null"]}]}, {"type": "string"}),
    "the types of both": (
        {"type": ["boolean", "integer", "null"], "allOf": [{"type": ["null", "integer"]}]},
        {"type": ["integer", "null"]},
    ),
    "enum beside a type list": ({"type": ["string", "null"], "enum": ["a", None]}, {"enum": ["a", None]}),
    "enum of one type": ({"type": ["string", "null"], "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
    "enum value that its type forbids": ({"type": "string", "enum": ["a", None]}, {"type": "string", "enum": ["a"]}),
    "properties of what is no object": ({"type": "string", "properties": {"a": {"minimum": 1}}}, {"type": "string"}),
    "no force": ({"type": "string", "nullable": True, "x-order": 3, "$comment": "c"}, {"type": "string"}),
    "type is clear from the keyword": ({"maxLength": 3}, {"type": "string", "description": "At most 3 characters."}),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten(name):
    schema, wanted = REWRITTEN[name]
    a = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    result = to_strict(closed(x=schema) | {"$defs": {"A": a}})
    assert (result.schema["properties"]["x"], result.problems) == (wanted, [])


FREE = (
    "Any key is allowed here, and a closed object would only take {}. List the keys as properties, or use a list of "
    "key and value."
)
ROOT_OBJECT = 'A tool needs "type": "object" at the root. Write it as one object.'
INVALID = "Not JSON Schema of draft 2020-12, at #/properties/a/{}. Correct it there."
PROBLEMS = {
    "root union": ({"anyOf": [closed(), closed()]}, "#", "strict-root-object", ROOT_OBJECT),
    "root array": ({"type": "array", "items": {"type": "string"}}, "#", "strict-root-object", ROOT_OBJECT),
    "any value": (closed(a={}), "#/properties/a", "strict-empty-schema", f"{EMPTY} Give it a type."),
    "free keys": (closed(a={"type": "object"}), "#/properties/a", "strict-free-keys", FREE),
    "free keys beside some": (
        {"type": "object", "patternProperties": {"^a": {"type": "null"}}}, "#", "strict-free-keys", FREE,
    ),
    "places in a list": (
        closed(a={"type": "array", "prefixItems": [{}]}), "#/properties/a", "strict-items-list",
        "A list with places cannot be said. Name the places as properties.",
    ),
    "a map": (closed(a={"additionalProperties": {"type": "null"}}), "#/properties/a", "strict-free-keys", FREE),
    "a map at the root": ({"type": "object", "additionalProperties": {"type": "null"}}, "#", "strict-free-keys", FREE),
    "external": (
        closed(a={"$ref": "b.json#/A"}), "#/properties/a", "strict-external-ref",
        "b.json#/A is not in this schema. Copy it into $defs.",
    ),
    "required but not listed": (
        closed(["b", "a", "c"], a={"type": "null"}), "#", "strict-required-unknown",
        "Required but no property: b, c. List it there.",
    ),
    "two closed objects": (
        closed(a={"const": 1}) | {"allOf": [closed(b={"const": 1})]}, "#", "strict-any-of-siblings",
        "allOf brings b into this object. Write both as one schema by hand.",
    ),
    "a union that brings properties": (
        closed(x=closed(a={"const": 1}) | {"anyOf": [{"properties": {n: {"const": 1}}} for n in "ba"]}),
        "#/properties/x", "strict-any-of-siblings",
        "anyOf brings b into this object. Write both as one schema by hand.",
    ),
    "a reference and its contrary": (
        closed(x={"$ref": "#/$defs/A", "type": "integer"}) | {"$defs": {"A": {"type": "string"}}},
        "#/properties/x", "strict-ref-siblings",
        "#/$defs/A and what stands beside it clash. Write both as one schema by hand.",
    ),
    "an enum that nothing fits": (
        closed(x={"type": "string", "enum": [1]}), "#/properties/x", "strict-enum-type",
        "Invalid schema: Enum value '1' does not match declared type 'string'. Leave the type out.",
    ),
    "too many unions": (
        closed(**{f"p{n}": {"type": ["string", "null"]} for n in range(17)}), "#", "strict-too-many-unions",
        "Schemas contains too many parameters with union types (17 parameters with type arrays or anyOf). This causes "
        "exponential compilation cost. Reduce the number of nullable or union-typed parameters (limit: 16 parameters "
        "with unions). Split fields or tools.",
    ),
    "not a schema": (
        {"type": "object", "properties": {"a": {"type": "text"}}}, "#", "strict-invalid",
        INVALID.format("type: \"text\" is not valid under any of the schemas listed in the 'anyOf' keyword"),
    ),
    "tuple of an old draft": (
        closed(a={"type": "array", "items": [{}]}), "#", "strict-invalid",
        INVALID.format('items: [{}] is not of types "boolean", "object"'),
    ),
    "tuple of an old draft that says so": (
        closed(a={"type": "array", "items": [{}]}) | {"$schema": "http://json-schema.org/draft-07/schema#"}, "#",
        "strict-invalid", INVALID.format('items: [{}] is not of types "boolean", "object"'),
    ),
    "no regular expression": (
        closed(a={"type": "string", "pattern": "("}), "#", "strict-invalid",
        '"(", at #/properties/a/pattern, is not a regular expression that can be checked. Correct it there.',
    ),
    "not a dict": (
        [], "#", "strict-invalid", 'A schema is a dict such as {"type": "object", "properties": {}}. Pass one.',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_say_where_and_what_to_do(name):
    schema, path, rule, message = PROBLEMS[name]
    assert to_strict(schema).problems == [(path, rule, message)]


NOT_JSON = {
    "a set as a default": {"type": "string", "default": {1}},
    "a date in an enum": {"enum": [datetime.date(2026, 11, 30)]},
    "bytes": {"const": b"x"},
    "infinity": {"type": "number", "default": float("inf")},
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", NOT_JSON)
def test_what_json_cannot_hold_is_told(name, provider):
    (problem,) = to_strict(closed(a=NOT_JSON[name]), provider).problems
    assert problem[:2] == ("#", "strict-invalid")
    assert problem.message.startswith("Not plain JSON: O")  # "Object of type set is …", "Out of range float …"
    assert problem.message.endswith(". Use what JSON can hold, and flatten what is very deep.")


def test_a_value_as_deep_as_no_engine_reads_is_told():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    (problem,) = to_strict(closed(a={"default": deep})).problems
    assert problem[:2] == ("#", "strict-invalid")


def test_openai_a_circle_with_something_beside_it():
    looped = closed(x={"$ref": "#/$defs/A"}) | {"$defs": {"A": closed(n={"$ref": "#/$defs/A", "minProperties": 1})}}
    assert to_strict(looped, "openai").problems == [
        ("#/$defs/A/properties/n", "strict-recursion", "#/$defs/A leads back to itself. Refer to it by a plain $ref.")
    ]
    described = closed(x={"$ref": "#/$defs/A", "description": "d"}) | {"$defs": {"A": closed(n={"$ref": "#/$defs/A"})}}
    assert to_strict(described, "openai").schema["properties"]["x"] == {
        "description": "d",
        "anyOf": [{"$ref": "#/$defs/A"}],
    }


NARROWED = {
    "oneOf": ({"oneOf": [{"type": "null"}]}, "oneOf", "became anyOf: a value may now fit several branches"),
    "no type": ({"maxLength": 3}, "type", "only string can be sent"),
    "no type of a number": ({"minimum": 3}, "type", "only number can be sent"),
    "open": (
        {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, "additionalProperties",
        "only the listed properties can be sent",
    ),
    "a pattern of keys": (
        closed(a={"type": "null"}) | {"patternProperties": {"^a": {"type": "null"}}}, "additionalProperties",
        "only the listed properties can be sent",
    ),
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", NARROWED)
def test_what_is_narrowed_is_said(name, provider):
    schema, keyword, how = NARROWED[name]
    result = to_strict(closed(x=schema), provider)
    assert (result.narrowed, result.problems) == ([("#/properties/x", keyword, how)], [])


def test_an_object_closed_by_its_unevaluated_properties_is_not_narrowed():
    shut = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "unevaluatedProperties": False}
    result = to_strict(closed(x=shut))
    assert (result.schema["properties"]["x"], result.narrowed) == (closed(a={"type": "null"}), [])


def test_an_open_object_without_properties_may_stand_at_the_root_alone():
    narrowed = [("#", "additionalProperties", "only the listed properties can be sent")]
    assert to_strict({"type": "object"}) == StrictSchema(
        {"type": "object", "properties": {}, "additionalProperties": False}, narrowed=narrowed
    )


def test_a_schema_is_rewritten_up_to_a_size(monkeypatch):
    monkeypatch.setattr(strict_transform, "_LARGEST", 3)
    assert to_strict(closed(a={"type": "null"}, b={"type": "null"})).problems == []
    (problem,) = to_strict(closed(a={"type": "null"}, b={"type": "null"}, c={"type": "null"})).problems
    assert problem == ("#", "strict-limits", "Too large or too deep. Make it smaller.")


def test_only_what_is_listed_stays_required():
    schema = closed(["b", "a"], a={"type": "null"})
    assert to_strict(schema).schema == schema | {"required": ["a"]}


def test_an_unknown_provider_is_told():
    for function in (to_strict, strict_refusals):
        for schema in ({}, REFUND, nested(200)):
            with pytest.raises(ValueError, match="anthropic"):
                function(schema, "other")


# --- OpenAI ------------------------------------------------------------------------------------------------------


def test_openai_the_refund_tool_and_its_null():
    (refusal,) = strict_refusals(REFUND, "openai")
    assert refusal.message == (
        "In context=(), 'required' is required to be supplied and to be an array including every key in properties. "
        "Missing 'note'."
    )
    result = to_strict(REFUND, "openai")
    note = {"type": ["string", "null"], "description": "At most 200 characters."}
    assert result.schema["properties"] == REFUND["properties"] | {"note": note}
    assert result.schema["required"] == ["order_id", "amount_cents", "reason", "note"]
    assert result.narrowed == [("#/properties/note", "required", "always sent; null stands for left out")]
    sent = {"order_id": "ORD-12345678", "amount_cents": 1, "reason": "other", "note": None}
    assert result.restore(sent) == {key: sent[key] for key in ("order_id", "amount_cents", "reason")}
    assert sent["note"] is None  # the value given is not changed
    assert result.restore(sent | {"note": "n"}) == sent | {"note": "n"}


NOT_FALSE = "'additionalProperties' is required to be supplied and to be false."
OPENAI_REFUSED = {
    "open object": ({"type": "object"}, NOT_FALSE),
    "allOf": ({"allOf": [{"type": "null"}]}, "'allOf' is not permitted."),
    "oneOf": ({"oneOf": [{"type": "null"}]}, "'oneOf' is not permitted."),
    "contains": ({"type": "array", "items": {"type": "null"}, "contains": {}}, "'contains' is not permitted."),
    "uri": ({"type": "string", "format": "uri"}, "'uri' is not a valid format."),
    "empty": ({}, "schema must have a 'type' key."),
    "missing ref": ({"$ref": "#/$defs/A"}, "reference to component '#/$defs/A' which was not found in the schema."),
    "array without items": ({"type": "array"}, "array schema missing items."),
    "beside $ref": ({"$ref": "#", "title": "T"}, "$ref cannot have keywords {'title'}."),
}
MANY = {str(number): {"type": "null"} for number in range(5001)}
ROOT = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
OPENAI_REFUSES_THE_WHOLE = {
    "root union": ({"anyOf": [closed()]}, ROOT),
    "levels": (nested(11), "Schema has 11 levels; the limit is 10."),
    "enum values": (closed(a={"enum": list(range(1001))}), "Schema has 1001 enum values; the limit is 1000."),
    "properties": (closed(**MANY), "Schema has 5001 properties; the limit is 5000."),
}


@pytest.mark.parametrize("name", OPENAI_REFUSED)
def test_openai_refuses(name):
    schema, message = OPENAI_REFUSED[name]
    assert messages(closed(a=schema), "openai") == [f"In context=('properties', 'a'), {message}"]


OPENAI_FAULTS = {
    "open object": ("open-object", "additionalProperties"),
    "allOf": ("unsupported-keyword", "allOf"),
    "oneOf": ("one-of", "oneOf"),
    "contains": ("unsupported-keyword", "contains"),
    "uri": ("format", "format"),
    "empty": ("empty-schema", "type"),
    "missing ref": ("missing-ref", "$ref"),
    "array without items": ("missing-items", "items"),
    "beside $ref": ("ref-siblings", "$ref"),
}


@pytest.mark.parametrize("name", OPENAI_REFUSED)
def test_openai_each_fault_has_its_rule_and_its_keyword(name):
    (refusal,) = strict_refusals(closed(a=OPENAI_REFUSED[name][0]), "openai")
    rule, keyword = OPENAI_FAULTS[name]
    assert (refusal.path, refusal.rule, refusal.keyword) == ("#/properties/a", f"strict-{rule}", keyword)


@pytest.mark.parametrize("pattern", ["^(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b"])
def test_openai_refuses_a_pattern_that_looks_around(pattern):
    text = "Invalid JSON schema: regex lookaround is not supported. Found at "
    item = {"type": "string", "pattern": pattern}
    schema = closed(a={"type": "array", "items": item}, b={"anyOf": [{"type": "null"}, item]})
    assert strict_refusals(schema, "openai") == [
        Refusal("#/properties/a/items", "pattern", f"{text}$.properties.a.items.pattern.", "strict-lookaround"),
        Refusal("#/properties/b/anyOf/1", "pattern", f"{text}$.properties.b.anyOf[1].pattern.", "strict-lookaround"),
    ]
    assert to_strict(schema, "openai").schema["properties"]["a"]["items"] == {
        "type": "string",
        "description": f"Matches {pattern}.",
    }


def test_openai_a_pattern_that_only_looks_as_if_is_kept():
    schema = closed(a={"type": "string", "pattern": r"[(?=]\(\?=(?:a)(?i:b)"})
    assert strict_refusals(schema, "openai") == [] and to_strict(schema, "openai").schema == schema


def test_openai_lengths_are_refused_only_when_the_setting_says_so():
    schema = closed(a={"type": "string", "minLength": 1, "maxLength": 2})
    assert strict_refusals(schema, "openai") == []
    assert strict_refusals(schema, "openai", settings={"strict-string-length"}) == [
        Refusal(
            "#/properties/a",
            name,
            f"In context=('properties', 'a'), '{name}' is not permitted.",
            "strict-string-length",
        )
        for name in ("minLength", "maxLength")
    ]


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf", "enum", "not"])
def test_openai_the_root_is_an_object_and_nothing_else(keyword):
    assert strict_refusals(closed() | {keyword: []}, "openai")[0] == Refusal("#", "type", ROOT, "strict-root-object")


def test_openai_a_root_may_be_no_reference():
    for schema in ({"$ref": "#"}, {"type": ["object"], "additionalProperties": False}, 5):
        assert messages(schema, "openai") == [ROOT]


@pytest.mark.parametrize(
    "schema",
    [
        nested(10),
        closed(a={"enum": list(range(1000))}),
        closed(**{str(number): {"type": "null"} for number in range(5000)}),
    ],
    ids=["levels", "enum values", "properties"],
)
def test_openai_takes_as_much_as_its_limits_say(schema):
    assert strict_refusals(schema, "openai") == []


@pytest.mark.parametrize("name", OPENAI_REFUSES_THE_WHOLE)
def test_openai_refuses_the_whole(name):
    schema, message = OPENAI_REFUSES_THE_WHOLE[name]
    assert messages(schema, "openai") == [message]
    assert messages(nested(10), "openai") == []


@pytest.mark.parametrize(
    ("schema", "type"),
    [
        ({"const": "x"}, "string"),
        ({"const": 1}, ["integer", "number"]),
        ({"enum": ["a", None]}, ["null", "string"]),
        ({"type": ["string", "null"], "enum": ["a", None]}, ["string", "null"]),
        ({"type": ["string", "null"], "const": "a"}, "string"),
    ],
)
def test_openai_what_is_listed_has_the_types_of_its_values(schema, type):
    assert to_strict(closed(x=schema), "openai").schema["properties"]["x"] == schema | {"type": type}


def test_openai_has_no_budget_of_unions_and_one_problem_for_a_root_that_is_no_object():
    many = closed(**{f"p{n}": {"type": ["string", "null"]} for n in range(17)})
    assert to_strict(many, "openai") == StrictSchema(many)
    text = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level. "
    listed = {"type": "array", "items": {"type": "string"}}
    problem = ("#", "strict-root-object", f"{text}Write it as one object.")
    assert to_strict(listed, "openai") == StrictSchema(listed, problems=[problem])


def test_openai_null_is_one_more_branch_of_a_union():
    branches = [{"type": "string"}, closed(b={"type": "null"})]
    result = to_strict(closed([], a={"anyOf": branches, "description": "d"}), "openai")
    wanted = {"anyOf": [*branches, {"type": "null"}], "description": "d"}
    assert (result.schema, result.problems) == (closed(a=wanted), [])
    assert result.restore({"a": None}) == {}


@pytest.mark.parametrize(
    ("own", "other"), [(True, True), (True, False), (True, {"type": "string"}), ({"type": "string"}, True)]
)
def test_a_property_that_is_no_object_joins_only_its_like(own, other):
    part = {"properties": {"a": other}}
    result = to_strict(closed(x=closed(a=own) | {"allOf": [part]}))
    words = {} if own is other else {"description": f"allOf: {json.dumps([part])}."}
    assert result.schema["properties"]["x"] == closed(a={} if own is True else own) | words


@pytest.mark.parametrize(
    ("object", "part"),
    [
        ({"patternProperties": {"^b": {"const": 1}}}, {"properties": {"b": {"const": 2}}}),
        ({}, {"properties": {"b": {"const": 2}}, "unevaluatedProperties": False}),
    ],
    ids=["a_pattern_of_keys", "closed_by_unevaluated_properties"],
)
def test_parts_of_which_one_speaks_of_the_others_keys_are_not_joined(object, part):
    whole = {"type": "object", "properties": {"a": {"const": 1}}} | object | {"allOf": [part]}
    text = "allOf brings b into this object. Write both as one schema by hand."
    assert to_strict(closed(x=whole)).problems == [("#/properties/x", "strict-any-of-siblings", text)]


@pytest.mark.parametrize("object", [closed(a={"type": "string"}), closed()], ids=["one_key", "no_key"])
def test_keys_by_a_pattern_stay_outside_a_closed_object(object):
    part = {"patternProperties": {"^a": {"maxLength": 3}}}
    result = to_strict(closed(x=object | {"allOf": [part]}))
    said = object | {"description": f"allOf: {json.dumps([part])}."}
    assert result == StrictSchema(closed(x=said), moved=[("#/properties/x", "allOf", [part])])


def test_an_object_closed_by_its_unevaluated_properties_takes_those_of_its_parts():
    shut = {"type": "object", "properties": {"a": {"type": "null"}}, "unevaluatedProperties": False}
    result = to_strict(closed(x=shut | {"allOf": [{"properties": {"b": {"type": "null"}}, "required": ["a", "b"]}]}))
    assert result == StrictSchema(closed(x=closed(a={"type": "null"}, b={"type": "null"})))


def test_what_stands_beside_a_reference_is_joined_with_all_that_the_definition_says():
    base = {"type": "object", "properties": {n: {"type": "null"} for n in "abc"}, "allOf": [{"required": ["b"]}]}
    result = to_strict(closed(x={"$ref": "#/$defs/A", "allOf": [{"required": ["a"]}]}) | {"$defs": {"A": base}})
    assert result.problems == []
    assert result.schema["properties"]["x"] == closed(["a", "b"], **base["properties"])


def test_two_bounds_that_cannot_be_one_leave_the_second_to_words():
    number = {"type": "integer", "minimum": 1, "allOf": [{"minimum": 5}]}
    result = to_strict(closed(a=number), "openai")
    said = {"type": "integer", "minimum": 1, "description": 'allOf: [{"minimum": 5}].'}
    assert (result.schema["properties"]["a"], result.problems) == (said, [])
    assert result.moved == [("#/properties/a", "allOf", [{"minimum": 5}])]


def test_openai_accepts_what_anthropic_refuses():
    schema = closed(
        n={"type": "integer", "minimum": 1, "multipleOf": 2},
        l={"type": "array", "items": {"type": "string", "pattern": r"a\b"}, "minItems": 2, "maxItems": 3},
        again={"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    )
    assert strict_refusals(schema, "openai") == []
    assert to_strict(schema, "openai").schema == schema
    assert len(strict_refusals(schema)) == 5


def test_openai_nulls_are_taken_out_only_where_the_original_does_not_allow_them():
    node = {
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "own": {"type": ["string", "null"]},
            "kind": {"enum": ["a", "b"], "description": "Which."},
            "next": {"$ref": "#/$defs/N"},
            "list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "integer"}]}},
        },
    }
    result = to_strict(closed(n={"$ref": "#/$defs/N"}) | {"$defs": {"N": node}}, "openai")
    assert result.problems == []
    properties = result.schema["$defs"]["N"]["properties"]
    assert properties["kind"] == {
        "anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}],
        "description": "Which.",
    }
    assert properties["next"] == {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}
    nothing = dict.fromkeys(properties)
    sent = {"n": nothing | {"next": nothing | {"plain": "x"}, "list": [3, nothing]}}
    assert jsonschema_rs.is_valid(result.schema, sent)
    own = {"own": None}
    assert result.restore(sent) == {"n": own | {"next": own | {"plain": "x"}, "list": [3, own]}}


STRING, MAY_BE_NULL = {"type": "string"}, {"type": ["string", "null"]}
NULLS = {
    "a type": (STRING, False),
    "a list of types": (MAY_BE_NULL, True),
    "no type": (True, True),
    "never": (False, False),
    "const": ({"const": "x"}, False),
    "const null": ({"const": None}, True),
    "enum": ({"enum": ["a"]}, False),
    "enum with null": ({"enum": ["a", None]}, True),
    "anyOf": ({"anyOf": [STRING, {"type": "integer"}]}, False),
    "anyOf with null": ({"anyOf": [STRING, {"type": "null"}]}, True),
    "oneOf": ({"oneOf": [STRING, {"type": "integer"}]}, False),
    "allOf": ({"allOf": [STRING]}, False),
    "allOf with null": ({"allOf": [MAY_BE_NULL]}, True),
    "a reference": ({"$ref": "#/$defs/S"}, False),
    "a reference to null": ({"$ref": "#/$defs/N"}, True),
    "a reference and more": ({"$ref": "#/$defs/S", "type": ["string", "null"]}, False),
    "a circle": ({"$ref": "#/$defs/C"}, True),
}


@pytest.mark.parametrize("name", NULLS)
def test_openai_a_null_that_the_original_takes_is_left_where_it_is(name):
    property, stays = NULLS[name]
    circle = {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]}
    schema = closed([], a=property) | {"$defs": {"S": STRING, "N": MAY_BE_NULL, "C": circle}}
    assert jsonschema_rs.is_valid(schema, {"a": None}) is stays
    result = to_strict(schema, "openai")
    assert result.restore({"a": None}) == ({"a": None} if stays else {})
    assert [problem.rule for problem in result.problems] == (
        ["strict-empty-schema"] if property in (True, False) else []
    )


def test_restore_follows_the_branch_that_the_value_fits():
    first = {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]}
    second = closed(kind={"const": "b"}, n={"type": ["integer", "null"]})
    result = to_strict(closed(x={"anyOf": [first, second]}), "openai")
    for sent, restored in [
        ({"kind": "a", "n": None}, {"kind": "a"}),
        ({"kind": "b", "n": None}, {"kind": "b", "n": None}),
        ({"kind": "neither", "n": None}, {"kind": "neither", "n": None}),
    ]:
        assert result.restore({"x": sent}) == {"x": restored}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_union_at_the_root_beside_an_object_can_only_be_told(provider):
    union = [{"properties": {"a": {"const": "x"}}}, {"properties": {"a": {"const": "y"}}}]
    result = to_strict(closed(a={"type": "string"}) | {"anyOf": union}, provider)
    assert result.schema == closed(a={"type": "string"}) | {"description": f"anyOf: {json.dumps(union)}."}
    assert (result.moved, result.problems) == ([("#", "anyOf", union)], [])


def test_restore_follows_the_first_branch_only():
    keeps, drops = closed(a={}, b={"type": ["string", "null"]}), closed(["a"], a={}, b={"type": "string"})
    for branches, restored in [((keeps, drops), {"a": 1, "b": None}), ((drops, keeps), {"a": 1})]:
        result = to_strict(closed(x={"anyOf": list(branches)}), "openai")
        assert result.restore({"x": {"a": 1, "b": None}}) == {"x": restored}


def test_restore_leaves_what_the_schema_does_not_say():
    result = to_strict(closed(["city"], city={"type": "string"}, tags={"type": "array", "items": {}}), "openai")
    for sent in ({"more": {"tags": None}}, {"city": ["Oslo"]}, {"city": [{"tags": None}]}, {"tags": "abc"}):
        assert result.restore({"city": "Oslo", "tags": None} | sent) == {"city": "Oslo"} | sent


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_has_no_type_by_nature_is_not_narrowed_to_one(provider):
    result = to_strict(closed(a={"description": "Anything."}), provider)
    assert (result.schema, result.narrowed) == (closed(a={"description": "Anything."}), [])


def test_a_reference_in_a_union_beside_an_object_is_told():
    union = [{"$ref": "#/$defs/A"}, {"required": ["a"]}]
    result = to_strict(closed(a={"type": "string"}) | {"anyOf": union, "$defs": {"A": closed(a={"type": "string"})}})
    assert result.problems == [
        (
            "#",
            "strict-any-of-siblings",
            "anyOf brings a reference into this object. Write both as one schema by hand.",
        )
    ]


def test_what_stands_beside_a_union_moves_into_it_though_one_branch_has_no_shape():
    string = {"type": "string"}
    union = [{"properties": {"a": {"const": "1"}}}, {"required": ["b"]}]
    beside = {"type": "object", "properties": {"a": string, "b": string}, "additionalProperties": False}
    result = to_strict(closed(x=beside | {"anyOf": union}))
    branches = [
        beside | {"properties": {"a": {"const": "1", "type": "string"}, "b": string}},
        beside | {"required": ["b"]},
    ]
    assert result.schema == closed(x={"anyOf": branches})
    assert (result.moved, result.narrowed, result.problems) == ([], [], [])


def test_restore_ends_on_a_reference_that_goes_in_a_circle():
    loop = {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}
    schema = closed(["a"], a={"$ref": "#/$defs/A"}, b={"type": "integer"}) | {"$defs": {"A": loop}}
    assert to_strict(schema, "openai").restore({"a": None, "b": None}) == {"a": None}


# --- the SDK's helper beside ours --------------------------------------------------------------------------------

EMPTY_OBJECT = {"type": "object", "properties": {}, "required": []}
AGREE = {
    "objects and arrays": closed(["a"], a={"type": "array", "items": closed([], b={"type": "string", "title": "B"})}),
    "open object": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": True},
    "format": closed(a={"type": "string", "format": "date"}),
    "minItems": closed(a={"type": "array", "items": {"type": "null"}, "minItems": 1}),
    "unions": closed(a={"oneOf": [{"type": "string"}, {"type": "null"}]}, b={"anyOf": [{"type": "null"}]}),
    "definitions": closed(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": EMPTY_OBJECT}},
    "enum without type": closed(a={"enum": ["x", 1]}, b={"const": None}),
}


@pytest.mark.parametrize("name", AGREE)
def test_where_we_agree_with_the_sdk(name):
    from anthropic import transform_schema

    assert to_strict(AGREE[name]).schema == transform_schema(AGREE[name])


def test_where_we_keep_more_than_the_sdk():
    from anthropic import transform_schema

    pattern = {"type": "string", "pattern": "^a+$"}
    assert to_strict(closed(a=pattern)).schema["properties"]["a"] == pattern
    assert transform_schema(closed(a=pattern))["properties"]["a"] == {
        "type": "string",
        "description": "{pattern: ^a+$}",
    }

    enum, default = {"type": "string", "enum": ["a"]}, {"type": "integer", "default": 3}
    ours, theirs = (f(closed(a=enum, b=default)) for f in (lambda s: to_strict(s).schema, transform_schema))
    assert ours["properties"] == {"a": enum, "b": default}
    assert theirs["properties"] == {"a": {"enum": ["a"]}, "b": {"type": "integer", "description": "{default: 3}"}}

    old = closed(a={"$ref": "#/definitions/A"}) | {"definitions": {"A": {"type": "string"}}}
    assert to_strict(old).schema == old
    assert strict_refusals(transform_schema(old))[0].rule == "strict-missing-ref"

    described = closed(a={"$ref": "#/$defs/A", "description": "Mine."}) | {"$defs": {"A": {"type": "string"}}}
    assert to_strict(described).schema["properties"]["a"] == {"type": "string", "description": "Mine."}
    assert transform_schema(described)["properties"]["a"] == {"$ref": "#/$defs/A"}

    nullable = closed(a={"type": ["string", "null"]})
    assert to_strict(nullable).schema == nullable
    with pytest.raises(AssertionError):
        transform_schema(nullable)

    recursive = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    assert [problem.rule for problem in to_strict(recursive).problems] == ["strict-recursion"]
    assert transform_schema(recursive)["properties"] == {"child": {"$ref": "#"}}  # passes through, and is then refused


# --- real schemas, and any schema --------------------------------------------------------------------------------


@pytest.mark.parametrize(("provider", "floor"), [("anthropic", 225), ("openai", 225)])
def test_real_tool_definitions(provider, floor, shared_data):
    lines = (shared_data / "schemas" / "schemas.jsonl").read_text(encoding="utf-8").splitlines()
    schemas = [json.loads(line)["input_schema"] for line in lines]
    converted = 0
    for schema in schemas:
        before = json.dumps(schema)
        result = to_strict(schema, provider)
        assert json.dumps(schema) == before
        assert result.problems or strict_refusals(result.schema, provider) == []
        converted += not result.problems
    accepted = sum(strict_refusals(schema, provider) == [] for schema in schemas)
    print(f"{provider}: {accepted} of {len(schemas)} pass as they are, {converted} after to_strict")
    assert (len(schemas), converted) >= (240, floor)


NAMES = st.sampled_from(["a", "b", "type", "minimum", "properties", "$ref", "anyOf"])
OPTIONAL_WORDS = {"description": st.just("It."), "title": st.just("T"), "default": st.none()}


def _node(keywords, **optional):
    return st.fixed_dictionaries(keywords, optional=OPTIONAL_WORDS | optional)


def _one(*values):
    return st.sampled_from(values)


LEAVES = st.one_of(
    _node({"type": _one("string")}, minLength=_one(2), pattern=_one("^a", r"\ba"), format=_one("x")),
    _node({"type": _one("integer", "number")}, minimum=_one(1), maximum=_one(3)),
    _node({"type": _one("boolean", "null", ["string", "null"], ["integer", "string"])}, maximum=_one(1)),
    _node({"enum": _one(["a"], ["a", None], [1, "abc", None])}, type=_one("string", ["string", "null"])),
    _node({"const": _one("a", 1, None)}, type=_one("string", ["integer", "null"])),
    _node({"$ref": _one("#/$defs/A", "#/$defs/B", "#/$defs/Gone", "#")}, minLength=_one(1)),
)


def _inside(children):
    several = st.lists(children, min_size=1, max_size=2)
    required = st.lists(NAMES, max_size=2, unique=True)
    only_a = st.fixed_dictionaries({"a": children})
    objects = _node(
        {"type": _one("object"), "properties": st.dictionaries(NAMES, children, max_size=3)},
        required=required,
        additionalProperties=_one(False, False, True, {"type": "string"}),
    )
    return st.one_of(
        objects,
        _node({"type": _one("array"), "items": children}, minItems=_one(1, 2), uniqueItems=st.booleans()),
        _node({}, anyOf=several, type=_one("string", "object"), properties=only_a),
        st.builds(lambda base, parts: base | {"allOf": parts}, objects, several),
        st.builds(lambda base, parts: base | {"oneOf": parts}, st.just({}) | objects, several),
        st.builds(lambda base, names: base | {"anyOf": [{"required": names}]}, objects, required),
        _node({"not": children}),
    )


SCHEMAS = st.recursive(LEAVES, _inside, max_leaves=6)
TOOLS = st.builds(lambda p, a, b: closed(p=p) | {"$defs": {"A": a, "B": b}}, SCHEMAS, SCHEMAS, SCHEMAS)
PLAIN = [None, True, 0, 1, 2, 7, 1.5, "", "a", "abc", "zz"]
PAIRS = [{"a": one, "b": other} for one in PLAIN[::2] for other in PLAIN[1::3]]
VALUES = [*PLAIN, [], ["a"], ["a", "a"], [1, None], {}, *({"a": value} for value in PLAIN), *PAIRS]
THOROUGH = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def _widened(result):
    return any(keyword == "oneOf" for _, keyword, _ in result.narrowed)


@THOROUGH
@given(TOOLS, st.sampled_from(PROVIDERS))
def test_without_problems_nothing_is_refused_and_nothing_changes_the_second_time(schema, provider):
    before = copy.deepcopy(schema)
    result = to_strict(schema, provider)
    assert schema == before
    if not result.problems:
        assert strict_refusals(result.schema, provider) == []
        again = to_strict(result.schema, provider)
        first, second = ({k: v for k, v in each.schema.items() if k != "$defs"} for each in (result, again))
        assert (second, again.moved, again.narrowed, again.problems) == (first, [], [], [])


@THOROUGH
@given(TOOLS)
def test_what_is_neither_moved_nor_narrowed_means_the_same(schema):
    result = to_strict(schema)
    if result.problems:
        return
    original, strict = (jsonschema_rs.Draft202012Validator(s) for s in (schema, result.schema))
    for value in ({"p": inner} for inner in VALUES):
        if not result.narrowed:
            assert strict.is_valid(value) or not original.is_valid(value)
        if not result.moved and not _widened(result):
            assert original.is_valid(value) or not strict.is_valid(value)


@THOROUGH
@given(TOOLS)
def test_openai_what_fits_the_strict_schema_fits_the_original_once_restored(schema):
    result = to_strict(schema, "openai")
    if result.problems or result.moved or _widened(result):
        return
    original, strict = (jsonschema_rs.Draft202012Validator(s) for s in (schema, result.schema))
    for value in ({"p": inner} for inner in VALUES):
        assert not strict.is_valid(value) or original.is_valid(result.restore(value))


KEYWORDS = "type properties items anyOf allOf enum const $ref $defs required format pattern minItems".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | _one("#", "#/$defs/A", "object", "string"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_one(*KEYWORDS), inner, max_size=4),
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.sampled_from(PROVIDERS))
def test_nonsense_is_never_an_exception(value, provider):
    strict_refusals(value, provider, settings={"strict-string-length"})
    assert count_strict(value).optional >= 0
    result = to_strict(value, provider)
    assert result.problems or strict_refusals(result.schema, provider) == []


@given(st.lists(st.text("ab/~%0 é"), max_size=4))
def test_a_path_survives_being_written_as_a_reference(path):
    from urllib.parse import quote

    assert ref_path(quote(pointer(path), safe="#/~")) == tuple(path)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (True, ["boolean"]),
        (1, ["integer", "number"]),
        (1.0, ["integer", "number"]),
        (1.5, ["number"]),
        (None, ["null"]),
        ("", ["string"]),
        ({}, ["object"]),
        ([], ["array"]),
    ],
)
def test_json_types_of_python_values(value, types):
    every = ("null", "boolean", "integer", "number", "string", "object", "array", "text")
    assert [type for type in every if fits(value, type)] == types


def test_a_schema_is_walked_as_far_as_it_is_one():
    assert [path for path, _ in walk_schema({"properties": [1], "anyOf": {"a": {}}, "$defs": None})] == [()]
    deep = {"type": "string"}
    for _ in range(3000):
        deep = {"items": deep}
    assert len(list(walk_schema(deep))) == 2001


def test_every_rule_says_where_it_is_from():
    assert {rule.certainty for rule in STRICT_RULES.values()} <= {"docs", "sdk", "recorded", "reported", "uncertain"}
    assert all(all(rule) for rule in STRICT_RULES.values())
    assert [path for path, _ in walk_schema({"items": {}, "properties": {"items": {"type": "string"}}})] == [
        (),
        ("items",),
        ("properties", "items"),
    ]

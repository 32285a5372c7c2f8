"""`course_kit.contract.schema`: which inputs pass, and what a model is told about those that do not."""

# ruff: noqa: E501 (the tables hold whole sentences)

import copy
import json
import os
import subprocess
import sys
import threading
import time
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.contract import compiled, explain, strict, words
from course_kit.contract.schema import (
    NotJSON,
    SchemaError,
    check_tool_input,
    conforms,
    invalid_json_result,
    parse_json,
    schema_problem,
)

DATA = Path(os.environ.get("COURSE_SHARED_DATA") or Path(__file__).parents[1].parent / "shared" / "data")


def short(value):
    """A test id; the one pytest makes would hold two million letters."""
    return repr(value)[:40]


def field(schema, value, **more):
    """The problems of `{"f": value}` where `f` has this schema."""
    return check_tool_input({"type": "object", "properties": {"f": schema}, **more}, {"f": value}).problems


def only(schema, value, **more):
    problems = field(schema, value, **more)
    assert len(problems) == 1, problems
    return problems[0]


def told(problems):
    return [(problem.path, problem.message) for problem in problems]


# ── Input and definition ──────────────────────────────────────────────────────────────────────────────────────────────

N = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    "definition",
    [N, {"name": "count", "description": "", "input_schema": N}, SimpleNamespace(input_schema=N), True],
    ids=["schema", "definition", "object", "true"],
)
@pytest.mark.parametrize("raw", [{"n": 1}, '{"n": 1}', b'{"n": 1}', bytearray(b' {"n": 1}\n')], ids=type)
def test_definitions_and_inputs_of_every_form(definition, raw):
    result = check_tool_input(definition, raw)
    assert (result.value, result.ok, result.problems, result.text()) == ({"n": 1}, True, (), "")
    assert result.raw is raw


@pytest.mark.parametrize("raw", ["", "  \n", b"", {}], ids=["empty", "blank", "bytes", "object"])
def test_fr10_no_text_is_a_call_without_arguments(raw):
    assert check_tool_input(N, raw).value == {}


@pytest.mark.parametrize(
    ("raw", "received"),
    [
        (None, "null"),
        ([], "an empty array"),
        ([1], "an array of 1 item"),
        (5, "the integer 5"),
        (True, "the boolean true"),
        ("null", "null"),
        ("[1, 2]", "an array of 2 items"),
        ('"x"', 'the string "x"'),
    ],
)
def test_an_input_that_is_no_object(raw, received):
    result = check_tool_input(N, raw)
    [problem] = result.problems
    assert (problem.path, problem.expected, problem.received) == ("", "an object", received)
    assert problem.message == f"The input must be an object, but {received} came; {problem.hint}."


def test_an_object_written_twice_as_text():
    [problem] = check_tool_input(N, json.dumps(json.dumps({"n": 1}))).problems
    assert "the string holds JSON: send it as JSON, without quotes around it" in problem.message


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ({"$ref": "#/$defs/X"}, "#/$defs/X"),
        ({"name": "a", "input_schema": {"type": "objekt"}}, "`type` is one of null, boolean"),
        ({"name": "a", "inputSchema": {}}, "it has no `input_schema`"),
        ({"type": "function", "function": {"name": "a", "parameters": {}}}, "it has no `input_schema`"),
        ({"type": "function", "name": "a", "parameters": {}}, "it has no `input_schema`"),
        ({"name": "a", "input_schema": None}, "a schema must be a JSON object"),
        (None, "it has no `input_schema`"),
        (object(), "it has no `input_schema`"),
    ],
)
def test_a_broken_definition_is_said_and_does_not_raise(definition, says):
    result = check_tool_input(definition, {})
    assert result.value is None
    assert [problem.path for problem in result.problems] == [""]
    assert "definition is broken" in result.text() and says in result.text()


def test_the_value_is_a_copy_and_the_input_untouched():
    raw = {"items": [{"n": 1.0}], "e": Colour.RED}
    before = copy.deepcopy(raw)
    schema = {"properties": {"items": {"items": {"properties": {"n": {"type": "integer"}}}}}}
    result = check_tool_input(schema, raw)
    result.value["items"].append("x")
    assert raw == before and isinstance(raw["items"][0]["n"], float)
    assert result.value["e"] == "red" and type(result.value["e"]) is str


class Colour(StrEnum):
    RED = "red"


# ── Text that is not JSON ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ('{"a":1', 6, "the text ends before"),
        ('{"path":"a.txt","body":"hel', 23, "the text ends before"),
        ("", 0, "the text ends before"),
        ('{"a":1} x', 8, "more text follows"),
        ('{"a":1}{"a":2}', 7, "more text follows"),
        ('{"a":NaN}', 5, "JSON has no NaN"),
        ('{"NaN":[-Infinity]}', 8, "JSON has no -Infinity"),
        ('{"a":1e999}', 5, "too large"),
        ("{'a':1}", 1, "a key in double quotes"),
        ('{"a" 1}', 5, "a colon is missing"),
        ('{"a":1 "b":2}', 7, "a comma or a closing bracket"),
        ('{"a":"x\ny"}', 7, "a line break in a string"),
        ('{"a":"\\q"}', 6, "a backslash in a string"),
        ("```json\n{}\n```", 0, "a value is missing"),
        ('{"a":1,"b":{"x":1,"x":2}}', None, 'the key "x" comes twice'),
        ("[" * 100_000, None, "nested too deeply"),
        ("9" * 5000, None, "too many digits"),
        (b'{"a":"\xff"}', None, "byte 6 is not UTF-8"),
    ],
    ids=short,
)
def test_parse_json_says_where_and_why(text, position, reason):
    with pytest.raises(NotJSON) as caught:
        parse_json(text)
    assert isinstance(caught.value, ValueError)
    assert caught.value.position == position
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_broken_text_is_one_problem_at_the_root_with_line_and_column():
    result = check_tool_input(N, '{\n  "n": 1,\n  "m": tru\n}')
    [problem] = result.problems
    assert result.value is None and problem.path == ""
    assert "line 3, column 8" in problem.message and "as one JSON object" in problem.message


def test_parse_json_reads_what_is_json():
    assert parse_json('{"a": [1, 2.5, "é\\n", null, true], "NaN": "Infinity"}') == {
        "a": [1, 2.5, "é\n", None, True],
        "NaN": "Infinity",
    }


def test_invalid_json_result_is_json_and_bounded():
    assert json.loads(invalid_json_result('{"a": "hel')) == {"INVALID_JSON": '{"a": "hel'}
    assert json.loads(invalid_json_result(b'{"a": "\xff'))["INVALID_JSON"] == '{"a": "\ufffd'
    long = json.loads(invalid_json_result("a" * 5000 + "\ud83d"))["INVALID_JSON"]
    assert long == "a" * 1_000 + "… (3,001 characters left out) …" + "a" * 999 + "\ufffd"


# ── Field reports ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_fr08_bounds_of_the_original_schema_give_two_problems():
    schema = {"properties": {"title": {"minLength": 3}, "stars": {"minimum": 1, "maximum": 5}}}
    assert told(check_tool_input(schema, {"title": "ab", "stars": 9}).problems) == [
        ("title", '`title` must be a string of at least 3 characters, but the string "ab" came.'),
        ("stars", "`stars` must be at most 5, but the integer 9 came."),
    ]


def test_fr09_definitions_behind_a_root_reference():
    schema = {"$ref": "#/$defs/T", "$defs": {"T": {"properties": {"n": {"type": "integer", "minimum": 0}}}}}
    assert check_tool_input(schema, {"n": 2.0}).value == {"n": 2}
    assert [problem.path for problem in check_tool_input(schema, {"n": -1}).problems] == ["n"]


@pytest.mark.parametrize("depth", [50, 126])
def test_fr09_recursion_is_checked_in_depth(depth):
    value, bad = {"n": 1.0}, {"n": "x"}
    for _ in range(depth):
        value, bad = {"child": value}, {"child": bad}
    schema = {"type": "object", "properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}
    checked = check_tool_input(schema, value).value
    for _ in range(depth):
        checked = checked["child"]
    assert checked == {"n": 1} and type(checked["n"]) is int
    [problem] = check_tool_input(schema, bad).problems
    assert problem.path == "child." * depth + "n" and len(problem.message) < 300


@pytest.mark.parametrize("depth", [200, 5000])
def test_fr09_deeper_is_a_problem_and_no_recursion_error(depth):
    value = {}
    for _ in range(depth):
        value = {"child": value}
    circle = {}
    circle["a"] = circle["b"] = circle
    for raw in (value, circle, '{"child":' * 400 + "{}" + "}" * 400):
        [problem] = check_tool_input({"properties": {"child": {"$ref": "#"}}}, raw).problems
        assert problem.path == "" and "at most 128 levels" in problem.message
    assert not conforms(True, circle)


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
@pytest.mark.parametrize("marked", [True, False], ids=["discriminator", "no_discriminator"])
def test_fr09_a_recursive_union_stays_fast(union, marked):
    # The engine's own report doubles with each level: 14 levels took it seconds.
    def branch(name):
        kids = {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}, "n": {"type": "integer"}}
        mark = {"kind": {"const": name}} if marked else {name: {"type": "integer"}}
        return {"type": "object", "properties": {**kids, **mark}, "required": list(mark)}

    schema = {"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": {union: [branch(n) for n in "abc"]}}}
    value = {"kind": "b", "b": 1, "n": "x"}
    for _ in range(50):
        value = {"kind": "a", "a": 1, "kids": [value]}
    start = time.perf_counter()
    problems = check_tool_input(schema, {"root": value}).problems
    assert time.perf_counter() - start < 20
    assert [problem.path for problem in problems] == ["root" + ".kids[0]" * 50 + ".n"]


def test_fr12_an_array_sent_as_text():
    problem = only({"type": "array", "items": {"type": "string"}}, '["a","b"]')
    assert problem.path == "f"
    assert problem.expected == "an array, each item a string"
    assert problem.received == r'the string "[\"a\",\"b\"]"'
    assert problem.message == (
        r'`f` must be an array, each item a string, but the string "[\"a\",\"b\"]" came; '
        "the string holds JSON: send it as JSON, without quotes around it."
    )


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        ({"type": "object"}, '{"a": 1}', "the string holds JSON"),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[1]", "the string holds JSON"),
        ({"$ref": "#/$defs/L"}, "[1]", "the string holds JSON"),
        ({"type": "array"}, '["a', "the string holds broken JSON"),
        ({"type": "array"}, '{"a": 1}', ""),
        ({"type": "array"}, "plain", ""),
        ({"type": "array"}, "[" + "1," * 500_000 + "1]", "the string holds JSON"),
        ({"type": "array"}, {"a": 1}, "send an array, also for one item"),
    ],
    ids=short,
)
def test_fr12_siblings(schema, value, hint):
    problem = only(schema, value, **{"$defs": {"L": {"type": "array"}}})
    assert hint in problem.hint and bool(hint) == bool(problem.hint) and len(problem.message) < 400


EMAIL = {
    "type": "object",
    "properties": {"kind": {"const": "email"}, "to": {"type": "string"}},
    "required": ["kind", "to"],
}
SMS = {
    "type": "object",
    "properties": {"kind": {"const": "sms"}, "phone": {"type": "string"}},
    "required": ["kind", "phone"],
}


def target(union="anyOf", nested=False, referenced=False):
    branches = [{"$ref": "#/$defs/email"}, {"$ref": "#/$defs/sms"}] if referenced else [EMAIL, SMS]
    schema = {"anyOf": [{union: branches}, {"type": "null"}]} if nested else {union: branches}
    defs = {"email": EMAIL, "sms": {"allOf": [SMS]}}
    return {"type": "object", "properties": {"target": schema}, "required": ["target"], "$defs": defs}


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
@pytest.mark.parametrize("referenced", [False, True], ids=["inline", "by_ref"])
@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        (
            {"kind": "email", "to": 42},
            "target.to",
            'must be a string, but the integer 42 came; send it in quotes: "42".',
        ),
        ({"kind": "sms", "phone": [1]}, "target.phone", "must be a string, but an array of 1 item came."),
        ({"kind": "sms"}, "target.phone", "is required but missing; send a string."),
        ({"kind": "fax"}, "target.kind", 'must be one of "email", "sms", but the string "fax" came.'),
        ({"kind": 5, "to": "a"}, "target.kind", 'must be one of "email", "sms", but the integer 5 came.'),
        ({"to": "a@b.c"}, "target.kind", 'is required but missing; send one of "email", "sms".'),
        ({}, "target.kind", 'is required but missing; send one of "email", "sms".'),
    ],
)
def test_fr14_the_branch_that_was_meant(union, nested, referenced, value, path, message):
    problems = check_tool_input(target(union, nested, referenced), {"target": value}).problems
    assert told(problems) == [(path, f"`{path}` {message}")]


BY_ID = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
BY_NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
SHAPES = "possible shapes: an object with `id` or an object with `name`"


@pytest.mark.parametrize(
    ("branches", "value", "expected"),
    [
        (
            [BY_ID, BY_NAME],
            {"name": 5},
            ("f.name", f'must be a string, but the integer 5 came; send it in quotes: "5"; {SHAPES}'),
        ),
        ([BY_ID, BY_NAME], {}, ("f.id", f"is required but missing; send an integer; {SHAPES}")),
        ([BY_ID, BY_NAME], 7, ("f", "must be an object with `id` or an object with `name`, but the integer 7 came")),
        ([BY_ID, {"type": "string"}], {"id": "x"}, ("f.id", 'must be an integer, but the string "x" came')),
        (
            [{"type": "string"}, {"type": "null"}],
            5,
            ("f", 'must be a string or null, but the integer 5 came; send it in quotes: "5"'),
        ),
        (
            [{"type": "integer"}, {"type": "null"}],
            "5",
            ("f", 'must be an integer or null, but the string "5" came; send 5 without quotes'),
        ),
        ([{"type": "integer", "minimum": 3}, {"type": "null"}], 1, ("f", "must be at least 3, but the integer 1 came")),
        ([{"enum": ["low"]}, {"const": "high"}], "hi", ("f", 'must be one of "low", "high", but the string "hi" came')),
        (
            [{"format": "date", "type": "string"}, {"const": "now"}],
            "x",
            ("f", 'must be a date such as "2026-11-30" or "now", but the string "x" came'),
        ),
    ],
)
def test_fr14_without_discriminator(branches, value, expected):
    path, sentence = expected
    assert told(field({"anyOf": branches}, value)) == [(path, f"`{path}` {sentence}.")]


def test_fr14_a_discriminator_in_two_steps_and_in_arrays():
    def shape(kind, version):
        return {
            "type": "object",
            "properties": {"kind": {"const": kind}, "version": {"enum": version}, "x": {"type": "integer"}},
            "required": ["kind", "version", "x"],
        }

    schema = {"type": "array", "items": {"oneOf": [shape("a", [1]), shape("a", [2]), shape("b", [3])]}}
    value = [
        {"kind": "a", "version": 2, "x": "1"},
        {"kind": "b", "version": 3, "x": 1},
        {"kind": "a", "version": 9, "x": 1},
    ]
    assert told(field(schema, value)) == [
        ("f[0].x", '`f[0].x` must be an integer, but the string "1" came; send 1 without quotes.'),
        ("f[2].version", "`f[2].version` must be one of 1, 2, 3, but the integer 9 came."),
    ]


def test_fr14_a_union_inside_a_union_shares_the_discriminator():
    fax = {"type": "object", "properties": {"kind": {"const": "fax"}, "pages": {"type": "integer"}}}
    schema = {"anyOf": [{"oneOf": [EMAIL, SMS]}, fax]}
    assert told(field(schema, {"kind": "fax", "pages": "2"})) == [
        ("f.pages", '`f.pages` must be an integer, but the string "2" came; send 2 without quotes.')
    ]
    assert only(schema, {"kind": "post"}).expected == 'one of "fax", "email", "sms"'


def test_fr14_a_union_that_holds_itself_ends():
    loop = {"type": "integer", "minimum": 5, "anyOf": [{"$ref": "#/$defs/T"}, {"type": "object"}]}
    schema = {"properties": {"f": {"$ref": "#/$defs/T"}}, "$defs": {"T": loop}}
    assert [problem.path for problem in check_tool_input(schema, {"f": 1}).problems] == ["f"]


def test_fr14_one_of_fits_twice():
    problem = only({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 5)
    assert "of one of these shapes, not of several: a number or an integer" in problem.message


FORMATS = {
    "date-time": ("2026-11-30T09:00:00Z", ["nope", "2026-11-30", "2026-13-01T09:00:00Z", "2026-11-30T09:00:00"]),
    "time": ("09:00:00Z", ["nope", "25:00:00Z", "09:00"]),
    "date": ("2026-02-28", ["2026-13-01", "2026-02-30", "30.11.2026"]),
    "duration": ("P1DT2H", ["nope", "1 hour", "P"]),
    "email": ("ada@example.com", ["no-at", "@b.c"]),
    "hostname": ("api.example.com", ["-a-", "a b", "a..b"]),
    "uri": ("https://example.com/a?b#c", ["::::", "/relative", "a b"]),
    "ipv4": ("192.0.2.1", ["1.2.3", "256.1.1.1", "01.2.3.4"]),
    "ipv6": ("2001:db8::1", ["nope", "1::2::3"]),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", ["1", "123e4567e89b12d3a456426614174000"]),
}


@pytest.mark.parametrize("name", FORMATS)
def test_fr15_every_format_of_strict_mode_is_checked(name):
    good, bad = FORMATS[name]
    assert field({"type": "string", "format": name}, good) == ()
    for value in bad:
        problem = only({"type": "string", "format": name}, value)
        assert problem.message == f"`f` must be {problem.expected}, but {problem.received} came."
        assert "such as" in problem.expected
    assert not conforms({"format": name}, bad[0]) and conforms({"format": name}, 5)


def test_fr15_the_ten_formats_are_explained_and_an_unknown_one_is_ignored():
    assert set(words.FORMATS) == set(FORMATS) and len(FORMATS) == 10
    assert field({"type": "string", "format": "phone"}, "x") == ()


OPTIONAL_NULL = "leave the field out if you have no value"


@pytest.mark.parametrize(
    ("schema", "value", "hint"),
    [
        ({"type": "integer"}, True, ""),
        ({"type": "number"}, True, ""),
        ({"type": "integer"}, 1.5, "send a whole number"),
        ({"type": "integer"}, "5", "send 5 without quotes"),
        ({"type": "number"}, "-1.5", "send -1.5 without quotes"),
        ({"type": "integer"}, "1.5", ""),
        ({"type": "boolean"}, "true", "send true without quotes"),
        ({"type": "boolean"}, "False", "send false without quotes"),
        ({"type": "boolean"}, 1, ""),
        ({"type": "string"}, 5, 'send it in quotes: "5"'),
        ({"type": "string"}, None, OPTIONAL_NULL),
        ({"enum": ["a"]}, None, OPTIONAL_NULL),
        ({"$ref": "#/$defs/S"}, None, OPTIONAL_NULL),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, None, OPTIONAL_NULL),
        ({"type": "number", "minimum": 0}, float("nan"), ""),
    ],
)
def test_fr16_refused(schema, value, hint):
    problem = only(schema, value, **{"$defs": {"S": {"type": "string"}}})
    assert (problem.path, problem.hint) == ("f", hint)
    assert problem.message.endswith(f"came; {hint}." if hint else "came.")


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"$ref": "#/$defs/S"}, {"anyOf": [{"$ref": "#/$defs/S"}, {"type": "integer"}]}]
)
def test_fr16_null_for_a_required_field(schema):
    more = {"required": ["f"], "$defs": {"S": {"type": "string"}}}
    assert only(schema, None, **more).hint == "the field is required, send a value"
    nested = {"type": "object", "properties": {"g": schema}, "required": ["g"]}
    defs = {"allOf": [{"$ref": "#/$defs/N"}], "$defs": {"N": {"properties": {"f": nested}}, "S": {"type": "string"}}}
    [problem] = check_tool_input(defs, {"f": {"g": None}}).problems
    assert (problem.path, problem.hint) == ("f.g", "the field is required, send a value")


@pytest.mark.parametrize(
    ("schema", "value", "handed_over"),
    [
        ({"type": "integer"}, 1.0, 1),
        ({"type": "integer"}, 1e20, 10**20),
        ({"type": ["integer", "null"]}, 2.0, 2),
        ({"type": ["string", "null"]}, None, None),
        ({"type": "number"}, 1.0, 1.0),
        ({"type": ["integer", "number"]}, 1.0, 1.0),
        ({}, 1.0, 1.0),
        ({"enum": [1, 2]}, 2.0, 2),
        ({"const": 1.0}, 1.0, 1.0),
        ({"type": "array", "items": {"type": "integer"}}, [1.0, 2, -0.0], [1, 2, 0]),
        ({"prefixItems": [{"type": "number"}], "items": {"type": "integer"}}, [1.0, 1.0], [1.0, 1]),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 3.0, 3),
        ({"oneOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, [3.0], [3]),
        ({"$ref": "#/$defs/I"}, 3.0, 3),
        ({"$ref": "#whole"}, 3.0, 3),
        ({"allOf": [{"$ref": "#/$defs/I"}, {"minimum": 1}]}, 3.0, 3),
        ({"if": {"minimum": 5}, "then": {"type": "integer"}}, 7.0, 7),
        ({"if": {"minimum": 5}, "then": {"type": "integer"}}, 3.0, 3.0),
        ({"patternProperties": {"^n": {"type": "integer"}}}, {"n1": 1.0, "m": 1.0}, {"n1": 1, "m": 1.0}),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
            {"a": 1.0, "b": 1.0},
            {"a": 1.0, "b": 1},
        ),
        (
            {"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}},
            {"a": 1.0, "b": 1.0},
            {"a": 1.0, "b": 1},
        ),
    ],
)
def test_fr16_accepted_and_handed_over(schema, value, handed_over):
    definitions = {"I": {"type": "integer"}, "W": {"$anchor": "whole", "type": "integer"}}
    result = check_tool_input({"properties": {"f": schema}, "$defs": definitions}, {"f": value})
    assert result.ok
    assert repr(result.value) == repr({"f": handed_over})  # repr: 1 and 1.0 are told apart
    assert check_tool_input({"properties": {"f": {"type": "string"}}}, {}).ok


@pytest.mark.parametrize(
    ("value", "path", "came"),
    [
        (float("inf"), "f", "Infinity"),
        ([{"a": float("nan")}], "f[0].a", "NaN"),
        ((1, 2), "f", "a value that JSON does not have"),
        ({1}, "f", "a value that JSON does not have"),
        (b"x", "f", "a value that JSON does not have"),
        (datetime(2026, 11, 30), "f", "a value that JSON does not have"),
        (Decimal("1"), "f", "a value that JSON does not have"),
        ({1: 2}, "f", "the name 1"),
        ({10**4100: [float("nan")]}, "f", "the name of more than 60 digits"),
        ({(1,): 2}, "f", "another name"),
        ("\ud800", "f", "half of a surrogate pair"),
        ({"\ud800": 1}, "f", "half of a surrogate pair"),
        (10**4100, "f", "a longer integer"),
    ],
    ids=short,
)
def test_what_is_not_json_is_refused_whatever_the_schema(value, path, came):
    result = check_tool_input(True, {"f": value})
    problem = result.problems[0]
    assert (result.value, problem.path, problem.received) == (None, path, came)
    assert not conforms(True, value)
    result.text().encode("utf-8")


# ── One sentence for every keyword ────────────────────────────────────────────────────────────────────────────────────

TICKET = {"type": "string", "pattern": r"^ORD-\d+$", "examples": ["ORD-1001"], "description": "Order\n number"}


@pytest.mark.parametrize(
    ("schema", "value", "path", "sentence"),
    [
        ({"enum": ["celsius", "kelvin"]}, "Celsius", "f", 'must be one of "celsius", "kelvin", but the string "Celsius" came; write it exactly as "celsius", with its upper and lower case'),
        ({"enum": ["celsius", "kelvin"]}, "celcius", "f", 'must be one of "celsius", "kelvin", but the string "celcius" came; you probably mean "celsius"'),
        ({"type": "integer", "enum": [1, 2]}, "1", "f", 'must be one of 1, 2, but the string "1" came; send 1 without quotes'),
        ({"type": "string", "enum": ["1", "2"]}, 1, "f", 'must be one of "1", "2", but the integer 1 came; send it in quotes: "1"'),
        ({"type": "integer", "enum": [1, 2], "minimum": 1}, 0, "f", "must be one of 1, 2, but the integer 0 came"),
        ({"pattern": r"^(a|a)*(?=b)\1$"}, "a" * 17 + "!", "f", r'must be a string matching the pattern ^(a|a)*(?=b)\1$, but the string "aaaaaaaaaaaaaaaaa!" came; it takes too long to compare them, send a shorter string'),
        ({"const": "yes"}, "no", "f", 'must be "yes", but the string "no" came'),
        (TICKET, "1001", "f", r'must be a string matching the pattern ^ORD-\d+$, for example "ORD-1001", but the string "1001" came'),
        (TICKET, "ORD-1\n", "f", r'must be a string matching the pattern ^ORD-\d+$, for example "ORD-1001", but the string "ORD-1\n" came'),
        (TICKET, "ORD-١", "f", r'must be a string matching the pattern ^ORD-\d+$, for example "ORD-1001", but the string "ORD-١" came'),
        ({"pattern": "^(?!x)"}, "x", "f", 'must be a string matching the pattern ^(?!x), but the string "x" came'),
        ({"minimum": 1}, 0, "f", "must be at least 1, but the integer 0 came"),
        ({"maximum": 1.5}, 2, "f", "must be at most 1.5, but the integer 2 came"),
        ({"exclusiveMinimum": 0}, 0, "f", "must be more than 0, but the integer 0 came"),
        ({"exclusiveMaximum": 1}, 1.0, "f", "must be less than 1, but the number 1.0 came"),
        ({"multipleOf": 0.01}, 19.999, "f", "must be a multiple of 0.01, but the number 19.999 came"),
        ({"minLength": 1}, "", "f", 'must be a string of at least 1 character, but the string "" came'),
        ({"maxLength": 2}, "abc", "f", 'must be a string of at most 2 characters, but the string "abc" came'),
        ({"minItems": 1}, [], "f", "must be an array of at least 1 item, but an empty array came"),
        ({"maxItems": 1}, [1, 2], "f", "must be an array of at most 1 item, but an array of 2 items came"),
        ({"minProperties": 1}, {}, "f", "must be an object of at least 1 field, but an empty object came"),
        ({"maxProperties": 1}, {"a": 1, "b": 2}, "f", "must be an object of at most 1 field, but an object of 2 fields came"),
        ({"uniqueItems": True}, [1, {"a": 1}, {"a": 1.0}], "f", "must be an array without equal items, but items 1 and 2 are equal"),
        ({"contains": {"type": "string"}}, [1], "f", "must be an array with at least 1 item of this kind: a string, but an array of 1 item came"),
        ({"contains": {"const": 1}, "minContains": 2}, [1], "f", "must be an array with at least 2 items of this kind: 1, but an array of 1 item came"),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], "f", "must be an array with at most 1 item of this kind: 1, but an array of 2 items came"),
        ({"not": {"type": "string"}}, "x", "f", 'must be anything else than a string, but the string "x" came'),
        ({"not": {"required": ["a"]}}, {"a": 1}, "f", "must be anything else than an object with `a`, but an object of 1 field came"),
        ({"prefixItems": [{}, {"type": "integer"}]}, [1, "b"], "f[1]", 'must be an integer, but the string "b" came'),
        ({"prefixItems": [{}], "items": False}, [1, 2], "f[1]", "must be left out, but the integer 2 came"),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "f", "must be an array without further items, but an array of 2 items came"),
        ({"properties": {"a": False}}, {"a": 1}, "f.a", "must be left out, but the integer 1 came"),
        ({"patternProperties": {"^x_": {"type": "integer"}}}, {"x_1": "a"}, "f.x_1", 'must be an integer, but the string "a" came'),
        ({"propertyNames": {"pattern": "^[a-z]+$"}}, {"A b": 1}, 'f["A b"]', "has a name that is not allowed here, where names must be a string matching the pattern ^[a-z]+$"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "f.b", "is required together with `a` but missing; send a value"),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, "f.b", "is required together with the other values sent but missing; send a value"),
        ({"properties": {"b": {"type": "integer"}}, "if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, "f.b", "is required together with the other values sent but missing; send an integer"),
        ({"if": {"required": ["a"]}, "else": False}, {}, "f", "holds values that are not allowed together"),
        ({"allOf": [{"required": ["a"]}, {"properties": {"a": {"const": 1}}}]}, {}, "f.a", "is required but missing; send 1"),
        ({"properties": {"a": TICKET}, "required": ["a"]}, {}, "f.a", r'is required but missing; send a string matching the pattern ^ORD-\d+$, for example "ORD-1001" (Order number)'),
        ({"properties": {"order_id": {}}, "required": ["order_id"]}, {"orderId": 1}, "f.order_id", 'is required but missing; you sent "orderId", send it as "order_id"'),
        ({"properties": {"city": {}, "unit": {}}, "additionalProperties": False}, {"unti": 1}, "f.unti", "is not a field of this object, allowed are `city`, `unit`; you probably mean `unit`"),
        ({"properties": {"city": {}}, "additionalProperties": False}, {"zzz": 1}, "f.zzz", "is not a field of this object, allowed are `city`; leave it out"),
        ({"allOf": [{"properties": {"city": {}}}], "unevaluatedProperties": False}, {"zzz": 1}, "f.zzz", "is not a field of this object, allowed are `city`; leave it out"),
        ({"patternProperties": {"^x_": {}}, "additionalProperties": False}, {"y": 1}, "f.y", "is not a field of this object, allowed are names like ^x_; leave it out"),
        ({"additionalProperties": False}, {"y": 1}, "f.y", "is not a field of this object, no field is allowed here; leave it out"),
        (False, 1, "f", "must be left out, but the integer 1 came"),
        ({"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer", "minimum": 1, "maximum": 7}}, 5, "f", "must be an array of 1 to 3 items, each item an integer from 1 to 7, but the integer 5 came; send an array, also for one item"),
    ],
)  # fmt: skip
def test_a_sentence_for_every_keyword(schema, value, path, sentence):
    assert told(field(schema, value)) == [(path, f"`{path}` {sentence}.")]


def test_every_keyword_the_engine_can_report_is_explained():
    from jsonschema_rs import ValidationErrorKind

    kinds = {name for name in vars(ValidationErrorKind) if name[:1].isupper()}
    # Not reported for draft 2020-12 schemas that pass `schema_problem`.
    kinds -= {"AdditionalItems", "ContentEncoding", "ContentMediaType", "FromUtf8", "Referencing", "Custom"}
    # `False` is known by its value, and a pattern that took too long by not being reported as a pattern.
    kinds -= {"FalseSchema", "BacktrackLimitExceeded", "RegexEngineFailure"}
    others = {"Constant": "const", "OneOfMultipleValid": "oneOf", "OneOfNotValid": "oneOf"}
    keywords = {others.get(kind, kind[0].lower() + kind[1:]) for kind in kinds}
    assert "minLength" in keywords and "anyOf" in keywords
    sources = [Path(module.__file__).read_text(encoding="utf-8") for module in (compiled, explain, words)]
    assert {keyword for keyword in keywords if f'"{keyword}"' not in "".join(sources)} == set()


def test_all_faults_at_once_without_python_words():
    schema = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"properties": {"qty": {"type": "integer"}}}}},
        "required": ["items", "to"],
        "additionalProperties": False,
    }
    result = check_tool_input(schema, {"items": [{}, {"qty": None}, {"qty": [1]}], "too": 1, "a.b": "x"})
    assert {problem.path for problem in result.problems} == {"items[1].qty", "items[2].qty", "to", "too", '["a.b"]'}
    lines = result.text().splitlines()
    assert len(lines) == 6 and str(result) == result.text()
    for word in ("dict", "list", "str(", "NoneType", "None", "{", "jsonschema"):
        assert word not in result.text()


def test_messages_stay_on_one_line_and_can_be_sent():
    nasty = 'a\n"b"\u2028\x1b[31m\u202e'
    result = check_tool_input({"additionalProperties": {"enum": [nasty]}}, {nasty: nasty * 50, "x" * 500: 1})
    assert len(result.text().splitlines()) == 3
    assert all(line.isprintable() and len(line) < 500 for line in result.text().splitlines())
    result.text().encode("utf-8")


def test_long_enums_and_many_problems_are_cut():
    problem = only({"enum": [f"option{number}" for number in range(500)]}, "zz")
    assert "(500 in all)" in problem.message and len(problem.message) < 400
    result = check_tool_input({"additionalProperties": {"type": "integer"}}, {f"k{n}": "x" for n in range(10_000)})
    assert len(result.problems) == 50
    assert len(result.text().splitlines()) == 22
    assert result.text().endswith("- and at least 30 more")


# ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#/$defs/X"}, '`$ref` "#/$defs/X" points to nothing in this schema'),
        ({"$defs": {"A": {"items": {"$ref": "#/$defs/X"}}}}, 'at `$defs.A.items`: `$ref` "#/$defs/X" points to nothing in this schema'),
        ({"$ref": "#name"}, '`$ref` "#name" points to nothing in this schema'),
        ({"properties": {"a": {"items": [{"type": "string"}]}}}, "at `properties.a.items`: `items` is one schema, a list of schemas is written as `prefixItems`"),
        ({"properties": {"a": {"required": True}}}, "at `properties.a.required`: `required` is a list of names and stands beside `properties`"),
        ({"properties": {"a": None}}, "at `properties.a`: this must be a schema, not null"),
        ({"properties": {"a": {"type": "text"}}}, "at `properties.a.type`: `type` is one of null, boolean, integer, number, string, array, object, or a list of them"),
        ({"exclusiveMinimum": True}, "at `exclusiveMinimum`: this must be a number, not the boolean true"),
        ({"pattern": "("}, 'at `pattern`: "(" is not a regular expression that can be checked'),
        ({"pattern": "((a{1000}){1000}){100}"}, 'at `pattern`: "((a{1000}){1000}){100}" is not a regular expression that can be checked'),
        ({"minLength": -1}, "at `minLength`: this must be what draft 2020-12 allows, not the integer -1"),
        ({"minimum": float("nan")}, "a schema must be a JSON object that holds nothing but JSON"),
        ({"const": b"x"}, "a schema must be a JSON object that holds nothing but JSON"),
        ([], "a schema must be a JSON object that holds nothing but JSON"),
        (None, "a schema must be a JSON object that holds nothing but JSON"),
        ("{}", "a schema must be a JSON object that holds nothing but JSON"),
    ],
)  # fmt: skip
def test_schema_problem_names_what_is_wrong(schema, problem):
    assert schema_problem(schema) == problem
    for use in (compiled.valid, lambda schema: conforms(schema, 1)):
        with pytest.raises(SchemaError):
            use(schema)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"properties": {"$ref": {"type": "string"}}},
        {"const": {"$ref": "http://example.com"}, "examples": [{"$ref": "#/nowhere"}], "x-note": {"$ref": "#/nowhere"}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a/b": {}}, "$ref": "#/definitions/a~1b"},
        {"$id": "https://example.com/r", "$ref": "https://example.com/r#/$defs/T", "$defs": {"T": {}}},
        {"$ref": "item.json", "$defs": {"T": {"$id": "item.json", "$ref": "#/$defs/q", "$defs": {"q": {}}}}},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
        {"pattern": r"^(?=.*\d)(?<!a)\w{3,}\p{L}$"},
        {"enum": ("a", "b")},
    ],
)  # fmt: skip
def test_schemas_without_a_problem(schema):
    assert schema_problem(schema) is None
    assert check_tool_input(schema, {"$ref": 1}).problems is not None


def test_nothing_is_ever_fetched(tmp_path, monkeypatch):
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "real.json").write_text("{}", encoding="utf-8")
    try:
        address = f"http://127.0.0.1:{server.server_port}/schema.json"
        for reference in (address, (tmp_path / "real.json").as_uri(), "real.json", f"{address}#/$defs/A", "//host/a"):
            schema = {"properties": {"a": {"$ref": reference}}}
            assert "points outside this schema, and nothing is ever fetched" in schema_problem(schema)
            assert reference in check_tool_input(schema, {"a": 1}).text()
        # The engine refuses by itself, too: without our own look at the references.
        monkeypatch.setattr(compiled, "_reference_problems", lambda schema: iter(()))
        for reference in (address, (tmp_path / "real.json").as_uri(), "real.json"):
            problem = compiled._schema_problem.__wrapped__(compiled._key({"items": {"$ref": reference}}))
            assert problem.startswith("a reference to") and "points to nothing in this schema" in problem
    finally:
        server.shutdown()
        server.server_close()
    assert asked == []


def test_a_deep_schema_is_a_problem_and_no_crash():
    deep = {}
    for _ in range(3000):
        deep = {"items": deep}
    assert schema_problem(deep) is not None


def test_an_inner_id_is_checked_and_explained_by_path():
    inner = {"$id": "item.json", "properties": {"z": {"$ref": "#/$defs/q"}}, "$defs": {"q": {"type": "string"}}}
    schema = {"properties": {"a": {"$ref": "item.json"}}, "$defs": {"T": inner}}
    assert told(check_tool_input(schema, {"a": {"z": 1}}).problems) == [("a.z", "`a.z` does not fit its schema.")]


def test_a_changed_schema_is_another_schema():
    schema = {"properties": {"n": {"type": "integer"}}}
    assert conforms(schema, {"n": 1})
    first = compiled.valid(schema)
    assert compiled.valid(copy.deepcopy(schema)) is first
    schema["properties"]["n"]["type"] = "string"
    assert not conforms(schema, {"n": 1}) and compiled.valid(schema) is not first
    assert schema_problem(schema) is None
    schema["properties"]["n"]["type"] = "x"
    assert schema_problem(schema) is not None
    assert conforms({"const": 1}, 1.0) and not conforms({"const": True}, 1) and not conforms({"const": 1}, True)
    assert compiled._compiled.cache_info().maxsize and compiled._schema_problem.cache_info().maxsize >= 10_000


def test_checks_run_in_any_thread():
    results = []
    schema = {"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}
    check_tool_input(schema, {"a": "x"})
    thread = threading.Thread(target=lambda: results.append(check_tool_input(schema, {"a": "x"}).problems[0].path))
    thread.start()
    thread.join()
    assert results == ["a"]


# ── Size and time ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "x" * 2_000_000),
        ({"maxLength": 5}, "x" * 2_000_000),
        ({"enum": ["a"]}, "x" * 2_000_000),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x" * 2_000_000),
        ({"pattern": "^(a+)+$"}, "a" * 50_000 + "!"),
        ({"pattern": "^(?=a)(a|aa)+(?=b)$"}, "a" * 50_000 + "!"),
        ({"pattern": r"^(?:(a|a)*)\1b$"}, "a" * 50_000 + "!"),
        ({"items": {"type": "integer"}}, ["x"] * 10_000),
        ({"items": {"properties": {"z": {"type": "integer"}}}}, [{"z": None}] * 10_000),
        ({"items": {"anyOf": [{"type": "integer"}, {"required": ["a"], "type": "object"}]}}, [{}] * 10_000),
        ({"uniqueItems": True}, [*range(10_000), 5]),
        ({"additionalProperties": False, "properties": {"abc": {}}}, {f"k{n}": 1 for n in range(10_000)}),
    ],
    ids=short,
)
def test_big_and_hostile_inputs_give_short_problems_soon(schema, value):
    start = time.perf_counter()
    problems = field(schema, value)
    assert time.perf_counter() - start < 20  # about 0.3 s at most on an idle machine
    assert 1 <= len(problems) <= 50
    assert all(len(problem.message) < 400 and len(problem.received) < 120 for problem in problems)


def test_importing_the_module_does_not_load_the_engine():
    code = "import sys, course_kit.contract.schema; sys.exit('jsonschema_rs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ── Against a second engine, and on real schemas ──────────────────────────────────────────────────────────────────────

names = st.sampled_from(["a", "b", "kind", "order_id"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, -2.0, 0.5, 1e20]),
    st.sampled_from(["", "a", "b", "ab", "1", "true", "[1]", "2026-11-30", "x@y.z"]),
)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(names, v, max_size=3), max_leaves=8)
types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
small = st.integers(0, 2)


def object_of(**keywords):
    return st.fixed_dictionaries({}, optional=keywords)


leaves = st.one_of(
    st.booleans(),
    st.just({"$ref": "#/$defs/T"}),
    st.just({"$ref": "#"}),
    object_of(type=types | st.lists(types, min_size=1, max_size=2, unique=True)),
    object_of(enum=st.lists(scalars, min_size=1, max_size=3), const=scalars),
    object_of(
        type=st.just("string"), minLength=small, maxLength=small, pattern=st.sampled_from(["^a", "b$", "^[0-9]+$"])
    ),
    object_of(format=st.sampled_from(["date", "ipv4", "unknown"])),
    object_of(minimum=small, exclusiveMaximum=small, multipleOf=st.sampled_from([1, 2, 0.5])),
)


def grown(schema):
    some = st.lists(schema, min_size=1, max_size=3)
    by_name = st.dictionaries(names, schema, max_size=3)
    return st.one_of(
        object_of(
            type=st.just("object"),
            properties=by_name,
            required=st.lists(names, max_size=2, unique=True),
            additionalProperties=schema,
            patternProperties=st.dictionaries(st.sampled_from(["^a", "d$"]), schema, max_size=1),
            propertyNames=schema,
            minProperties=small,
            dependentRequired=st.dictionaries(names, st.lists(names, max_size=1), max_size=1),
            dependentSchemas=st.dictionaries(names, schema, max_size=1),
            unevaluatedProperties=schema,
        ),
        object_of(items=schema, prefixItems=some, minItems=small, maxItems=small, uniqueItems=st.booleans()),
        object_of(contains=schema, minContains=small, maxContains=small, unevaluatedItems=schema),
        object_of(anyOf=some, oneOf=some, allOf=some),
        object_of(**{"not": schema, "if": schema, "then": schema, "else": schema}),
    )


schemas = st.tuples(st.recursive(leaves, grown, max_leaves=12), leaves).map(
    lambda pair: {"properties": {"f": pair[0]}, "$defs": {"T": pair[1] if pair[1] != {"$ref": "#/$defs/T"} else {}}}
)


@settings(max_examples=150, deadline=None)
@given(schema=schemas, value=values)
def test_two_engines_agree_and_every_refusal_is_explained(schema, value):
    from jsonschema import Draft202012Validator, FormatChecker

    raw = {"f": value}
    result = check_tool_input(schema, raw)
    peer = Draft202012Validator(schema, format_checker=FormatChecker(["date", "ipv4"]))
    assert result.ok == peer.is_valid(raw) == conforms(schema, raw)
    assert result.value == raw
    if result.ok:
        assert conforms(schema, result.value)
    for problem in result.problems:
        assert problem.message.endswith(".") and len(problem.message) < 900
        assert problem.path == "" or problem.path[0] == "f"
        assert "does not fit" not in problem.message and "description says" not in problem.message


junk = st.recursive(
    scalars | st.sampled_from(["object", "#/$defs/a", "#a", "http://example.com/a"]),
    lambda v: (
        st.lists(v, max_size=2)
        | st.dictionaries(
            st.sampled_from([*sorted(strict._SINGLES | strict._LISTS | strict._MAPS), "type", "enum", "const"]), v
        )
        | st.dictionaries(
            st.sampled_from(["$ref", "$id", "$anchor", "$dynamicRef", "required", "pattern", "format"]), v
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(schema=junk, value=values)
def test_no_schema_raises_anything(schema, value):
    problem = schema_problem(schema)
    assert problem is None or (problem.isprintable() and len(problem) < 500)
    result = check_tool_input({"input_schema": schema}, {"f": value})
    assert (problem is None) or not result.ok


def test_real_schemas_compile_and_every_answer_is_explained():
    file = DATA / "schemas" / "schemas.jsonl"
    if not file.exists():
        pytest.skip(f"the public schemas are not here ({file}); set COURSE_SHARED_DATA to their folder")
    tools = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(tools) == 240
    for tool in tools:
        assert schema_problem(tool["input_schema"]) is None
        fields = tool["input_schema"].get("properties", {})
        for value in (None, 5, "[1]", [{"a": 1.0}], {"type": "x"}, float("nan")):
            result = check_tool_input(tool, dict.fromkeys(fields, value))
            assert all(problem.message.endswith(".") and len(problem.message) < 900 for problem in result.problems)
        missing = {problem.path for problem in check_tool_input(tool, {}).problems}
        assert missing >= set(tool["input_schema"].get("required", ()))

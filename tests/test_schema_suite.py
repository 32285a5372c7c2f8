"""Our answers beside the JSON Schema Test Suite, draft 2020-12, and the three causes for which they differ.

Of the 1,906 cases that come with jsonschema 4.26.0, 1,837 agree. Below them stands what needs no suite: edges of the
standard, and that a schema which was edited is another schema.

The suite is not part of this repository. It stands in the source distribution of `jsonschema`, folder `json`:

    pip download --no-deps --no-binary :all: jsonschema && tar -xzf jsonschema-*.tar.gz
    JSON_SCHEMA_SUITE=jsonschema-4.26.0/json/tests/draft2020-12 pytest -n 0 -s tests/test_schema_suite.py
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from course_kit.contract import compiled
from course_kit.contract.schema import SchemaError, check_tool_input, conforms, schema_problem

VARIABLE = "JSON_SCHEMA_SUITE"
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
TAUGHT = """type enum const properties required additionalProperties patternProperties propertyNames items prefixItems
contains minItems maxItems uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength
minProperties maxProperties pattern anyOf oneOf allOf not if-then-else dependentRequired dependentSchemas default
boolean_schema infinite-loop-detection unevaluatedProperties unevaluatedItems""".split()

REMOTE = "a reference that leads outside the schema is refused: nothing is fetched"
FORMAT = "formats are checked, where the standard by default only notes them"
VOCABULARY = "a meta-schema of one's own is not asked which keywords count"


class Case(NamedTuple):
    file: str  # "required", "optional/format/date"
    schema: Any
    data: Any
    valid: bool
    about: str


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(
            f"name the suite's folder draft2020-12 in {VARIABLE}; how to get it stands in this file's first lines"
        )
    folder = Path(named)
    if not (folder / "required.json").is_file():
        pytest.skip(f"{VARIABLE} is {folder}, which holds no required.json: name the suite's folder draft2020-12")
    found = []
    for file in sorted(folder.rglob("*.json")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        for group in json.loads(file.read_text(encoding="utf-8")):
            for test in group["tests"]:
                about = f"{group['description']}: {test['description']}"
                found.append(Case(name, group["schema"], test["data"], test["valid"], about))
    return found


Answer = Callable[[Any, Any], bool]


def disagreements(cases: list[Case], answer: Answer = conforms) -> Iterator[tuple[Case, str]]:
    """Each case that is answered otherwise than the suite says, with the cause, empty where there is none."""
    for case in cases:
        try:
            if answer(case.schema, case.data) == case.valid:
                continue
            refused = ""
        except SchemaError as error:
            refused = str(error)
        yield case, cause_of(case, refused)


def cause_of(case: Case, refused: str) -> str:
    addresses = re.findall(r'"\$ref": "([^"#]+)', json.dumps(case.schema))
    if refused and re.search(r"points (?:outside|to nothing in) this schema", refused) and addresses:
        return REMOTE
    if "only an annotation by default" in case.about:
        return FORMAT
    return VOCABULARY if case.file == "vocabulary" and "no validation vocabulary" in case.about else ""


def test_every_disagreement_has_one_of_three_causes(cases):
    found = list(disagreements(cases))
    print(f"\n{len(cases) - len(found)} of {len(cases)} answers agree; the others, by cause:")
    for (file, cause), number in sorted(Counter((case.file, cause) for case, cause in found).items()):
        print(f"{number:5}  {file:24} {cause or 'NO CAUSE'}")
    assert [(case.file, case.about) for case, cause in found if not cause] == []
    assert len(cases) > 1500 and len(found) < len(cases) / 20


def test_the_keywords_taught_agree_in_every_case(cases):
    taught = [case for case in cases if case.file in TAUGHT]
    assert {case.file for case in taught} == set(TAUGHT) and len(taught) > 800
    assert list(disagreements(taught)) == []


def test_references_within_the_schema_agree_in_every_case(cases):
    inside = [case for case in cases if case.file in ("ref", "defs", "anchor", "dynamicRef")]
    assert {cause for _, cause in disagreements(inside)} <= {REMOTE}
    assert sum(schema_problem(case.schema) is None for case in inside) > 100


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_of_strict_mode_agrees_in_every_case(cases, name):
    checked = [case for case in cases if case.file == f"optional/format/{name}"]
    assert len(checked) > 10
    assert [(case.data, case.valid) for case, _ in disagreements(checked)] == []


def test_objects_that_are_refused_are_explained_and_others_pass(cases):
    as_inputs = [case for case in cases if isinstance(case.data, dict) and schema_problem(case.schema) is None]
    assert len(as_inputs) > 400
    for case in as_inputs:
        result = check_tool_input(case.schema, case.data)
        assert result.ok == conforms(case.schema, case.data), case
        assert all(problem.message.endswith(".") and len(problem.message) < 900 for problem in result.problems)


def test_two_wrong_engines_are_found_out(cases):
    def lets_all_pass(schema: Any, data: Any) -> bool:
        return True

    def takes_true_for_an_integer(schema: Any, data: Any) -> bool:
        return (schema.get("type") == "integer" and data is True) or conforms(schema, data)

    taught = [case for case in cases if case.file in TAUGHT and isinstance(case.schema, dict)]
    assert len(list(disagreements(taught, lets_all_pass))) > 400
    [(case, cause)] = disagreements(taught, takes_true_for_an_integer)
    assert (case.file, case.data, case.valid, cause) == ("type", True, False, "")


# ── Without the suite: the schema that counts is the one that stands there now ────────────────────────────────────────

TRUE, ONE = {"const": True}, {"const": 1}


@pytest.mark.parametrize(
    ("path", "keyword", "new", "value", "before", "after"),
    [
        ((), "required", ["b"], {"n": 1}, True, False),
        ((), "additionalProperties", False, {"z": 1}, True, False),
        (("properties", "n"), "type", "string", {"n": 1}, True, False),
        (("properties", "n"), "minimum", 2, {"n": 1}, True, False),
        (("properties", "n"), "maximum", 0, {"n": 1}, True, False),
        (("properties", "flag"), "const", 1, {"flag": True}, True, False),
        (("properties", "flag"), "const", 1.0, {"flag": 1}, False, True),
        (("properties", "list"), "enum", [[1], {"a": 0}], {"list": [True]}, True, False),
        (("properties", "list"), "enum", [[True], {"a": False}], {"list": {"a": 0}}, True, False),
        (("properties", "list", "enum", 0), 0, 1, {"list": [True]}, True, False),
        (("$defs", "T"), "type", "null", {"t": 1}, True, False),
    ],
)
def test_an_edit_in_place_is_noticed(path, keyword, new, value, before, after):
    schema = {
        "properties": {
            "n": {"type": "integer", "minimum": 1},
            "flag": {"const": True},
            "list": {"enum": [[True], {"a": 0}]},
            "t": {"$ref": "#/$defs/T"},
        },
        "$defs": {"T": {"type": "integer"}},
    }
    tool = {"name": "t", "input_schema": schema}
    for _ in range(3):  # from now on it is known by identity
        assert conforms(schema, value) is check_tool_input(tool, value).ok is before
    place: Any = schema
    for step in path:
        place = place[step]
    place[keyword] = new
    for _ in range(3):
        assert conforms(schema, value) is check_tool_input(tool, value).ok is after


def test_an_edit_that_breaks_the_schema_or_mends_it_is_noticed():
    schema: dict[str, Any] = {"properties": {"n": {"type": "integer"}}}
    assert conforms(schema, {"n": 1})
    schema["properties"]["n"]["type"] = "whole"
    assert "definition is broken" in check_tool_input(schema, {"n": 1}).text()
    schema["properties"]["n"]["type"] = "integer"
    schema["properties"]["self"] = schema  # no JSON can say that
    assert "definition is broken" in check_tool_input(schema, {"n": 1}).text()
    del schema["properties"]["self"]
    assert check_tool_input(schema, {"n": 1}).ok


def test_schemas_that_come_and_go_are_not_taken_for_each_other():
    for number in range(3 * compiled.MAX_SEEN):
        wanted = number % 7
        assert conforms({"const": wanted}, wanted) and not conforms({"const": wanted}, wanted + 1)
    assert len(compiled._SEEN) <= compiled.MAX_SEEN


def test_the_schema_itself_is_checked_once():
    schema = {"properties": {"n": {"type": "integer", "description": "Counted once."}}}
    before = compiled._schema_problem.cache_info().misses
    for number in range(50):
        assert check_tool_input(schema, {"n": number}).ok
        assert check_tool_input({**schema}, {"n": number}).ok
    assert compiled._schema_problem.cache_info().misses - before == 1


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, True, False),
        (ONE, 1.0, True),
        (ONE, True, False),
        (TRUE, 1, False),
        ({"enum": [[False]]}, [0], False),
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": r"^\d$"}, "٣", False),
        ({"maxLength": 1}, "😀", True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [1, True], True),
        ({"multipleOf": 0.01}, 19.99, True),
        ({"minimum": 1}, "0", True),
        ({"required": ["a"]}, [], True),
    ],
)
def test_the_edges_are_where_the_standard_has_them(schema, value, fits):
    assert conforms(schema, value) is fits

"""Check a tool's input against its `input_schema`, and say what is wrong so that a model can correct it.

Here the input is read (text becomes JSON; what is not JSON is refused) and the answer is given. The engine is in
`compiled.py`, the sentences for an input that does not fit are made in `explain.py` and `words.py`. Nothing is repaired
silently; only `1.0` for an integer is passed on as `1`. What a *strict* tool may contain is in `strict.py`.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from course_kit.errors import CourseKitError

from .compiled import SchemaError, compiled, schema_problem, valid
from .explain import MAX_PROBLEMS, explain
from .words import Path, Problem, cut, literal, problem_at, quoted

__all__ = [
    "CheckedInput",
    "NotJSON",
    "Problem",
    "SchemaError",
    "check_tool_input",
    "conforms",
    "invalid_json_result",
    "parse_json",
    "schema_problem",
]

MAX_DEPTH = 128  # levels of arrays and objects in an input, far more than a model writes
MAX_BITS = 13_000  # of an integer, nearly 4,000 digits
MAX_LINES = 20  # of the problems, shown to the model

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class NotJSON(CourseKitError, ValueError):
    """A text that is not JSON. `position` counts characters from 0; None where no single place is at fault."""

    def __init__(self, reason: str, text: str = "", position: int | None = None):
        self.reason, self.position = reason, position
        place = ""
        if position is not None:
            line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
            place = f" at line {line}, column {column}, near {quoted(text[max(0, position - 20) : position + 10])}"
        super().__init__(f"not valid JSON{place}: {reason}")


class CheckedInput(NamedTuple):
    """What `check_tool_input` found. `value` is a copy of the input, or None where it could not be read as JSON."""

    value: Any
    problems: tuple[Problem, ...]
    raw: Any

    @property
    def ok(self) -> bool:
        """Whether the input may run."""
        return not self.problems

    def text(self) -> str:
        """All problems, one a line, for the `is_error` result that the model reads; empty when there are none."""
        if self.ok:
            return ""
        lines = ["The tool was not run, because its input is not valid. Correct this and call it again:"]
        lines += [f"- {cut(problem.message, 500)}" for problem in self.problems[:MAX_LINES]]
        more = len(self.problems) - MAX_LINES
        if more > 0:
            lines.append(f"- and {'at least ' if len(self.problems) == MAX_PROBLEMS else ''}{more} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


def check_tool_input(definition_or_schema: Any, raw: Any) -> CheckedInput:
    """Read `raw` and check it against a tool's `input_schema`; a bad input is data here, never an exception.

    `definition_or_schema` is a tool definition, an object with `.input_schema`, or a bare schema. `raw` is a dict, as
    the SDK hands it over, or JSON text; an empty text is a call without arguments.

    `check_tool_input({"properties": {"n": {"type": "integer"}}}, '{"n": 2.0}').value` → `{"n": 2}`
    """
    schema, broken = _schema_of(definition_or_schema)
    tool = compiled(schema)
    if broken or tool.problem:
        message = f"This tool's definition is broken, so no input can be checked: {broken or tool.problem}."
        hint = "do not call it again"
        return CheckedInput(None, (Problem("", f"{message} Do not call it again.", hint=hint),), raw)
    value, reader = raw, _Reader()
    try:
        if not isinstance(raw, dict) and isinstance(raw, (str, bytes, bytearray)):
            value = parse_json(raw) if raw.strip() else {}
        value = reader.copy(value, ())
    except NotJSON as error:
        hint = "send the whole input as one JSON object, with nothing around it"
        message = f"The input is {error}; {hint}."
        return CheckedInput(None, (Problem("", message, "one JSON object", "text that is not JSON", hint),), raw)
    except _NotJSONValue as error:
        return CheckedInput(None, (error.problem,), raw)
    if not isinstance(value, dict) and isinstance(tool.root, dict) and "object" in tool.root.get("type", "object"):
        tool = compiled({"type": "object"})  # the first thing to say, whatever else the schema wants
    if not tool.accepts(value):
        return CheckedInput(value, tuple(explain(tool, value)), raw)
    return CheckedInput(tool.with_integers(value) if reader.whole_floats else value, (), raw)


def conforms(schema: dict[str, Any] | bool, value: Any) -> bool:
    """Whether a value is JSON and fits a schema: `conforms({"type": "integer"}, True)` → `False`."""
    known = valid(schema)
    try:
        return known.accepts(_Reader().copy(value, ()))
    except _NotJSONValue:
        return False


def _schema_of(definition: Any) -> tuple[Any, str | None]:
    """The schema of a tool, or why there is none."""
    none = "it has no `input_schema`"
    if isinstance(definition, bool):
        return definition, None
    if not isinstance(definition, (dict, Mapping)):  # `dict` first: the usual case, and faster
        return getattr(definition, "input_schema", None), None if hasattr(definition, "input_schema") else none
    if "input_schema" in definition:
        return definition["input_schema"], None
    # subtle: a schema may hold any key, so another provider's definition would let everything pass.
    is_schema = {"type", "properties", "$ref", "anyOf", "oneOf", "allOf"} & definition.keys()
    foreign = definition.get("type") == "function" or ("name" in definition and not is_schema)
    return definition, none if foreign else None


# Text.


def parse_json(text: str | bytes | bytearray) -> Any:
    """The value of a JSON text, read strictly: no NaN, no key twice in one object, nothing after the value."""
    if not isinstance(text, str):
        try:
            text = bytes(text).decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotJSON(f"byte {error.start} is not UTF-8") from None

    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJSON(_parse_reason(error), text, error.pos) from None
    except _Refused as refused:
        # The same letters may be inside a string: skip strings.
        tokens = re.finditer(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', text)
        position = next((token.start() for token in tokens if token.group() == refused.token), None)
        raise NotJSON(refused.reason, text, position) from None
    except RecursionError:
        raise NotJSON("arrays and objects are nested too deeply") from None
    except ValueError:  # Python does not read integers of thousands of digits
        raise NotJSON("an integer has too many digits") from None


def invalid_json_result(raw: str | bytes | bytearray) -> str:
    """The content of the `is_error` result for an input that does not parse: `{"INVALID_JSON": "<raw>"}`.

    As the provider's documentation advises for inputs that are streamed unchecked (`eager_input_streaming`).
    A long text keeps its beginning and its end, where it mostly breaks.
    """
    text = raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
    if len(text) > 2_000:
        text = f"{text[:1_000]}… ({len(text) - 2_000:,} characters left out) …{text[-1_000:]}"
    return json.dumps({"INVALID_JSON": _HALF_CHARACTER.sub("\ufffd", text)}, ensure_ascii=False)


class _Refused(Exception):
    """What the decoder's own grammar lets pass and JSON, or good sense, does not."""

    def __init__(self, reason: str, token: str | None = None):
        self.reason, self.token = reason, token


def _no_constant(name: str) -> None:
    raise _Refused(f"JSON has no {name}", name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Refused(f"the number {cut(digits, 30)} is too large", digits)
    return number


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counted = Counter(key for key, _ in pairs)
        twin = next(key for key, count in counted.items() if count > 1)
        raise _Refused(f"the key {quoted(twin)} comes twice in one object, send each key once")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_no_constant, parse_float=_finite)


def _parse_reason(error: json.JSONDecodeError) -> str:
    if not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated string"):
        return "the text ends before the JSON is complete"
    reasons = {
        "Extra data": "more text follows after the JSON value",
        "Expecting ',' delimiter": "a comma or a closing bracket is missing",
        "Expecting ':' delimiter": "a colon is missing after a key",
        "Expecting property name": "a key in double quotes is missing",
        "Illegal trailing comma": "no comma may come before a closing bracket",
        "Expecting value": "a value is missing, strings go in double quotes",
        "Invalid control character": "a line break in a string is written as \\n, a tab as \\t",
        "Invalid \\": "a backslash in a string is written as \\\\",
    }
    return next((reason for start, reason in reasons.items() if error.msg.startswith(start)), "no JSON starts here")


# Values.


class _NotJSONValue(Exception):
    def __init__(self, path: Path, expected: str, came: str):
        self.problem = problem_at(path, f"must be {expected}, but {came} came", expected, came)


class _Reader:
    """Copies a value; refuses what JSON cannot say."""

    whole_floats = False  # whether it has met one

    def copy(self, value: Any, path: Path) -> Any:
        kind = type(value)
        if kind is str:
            if not value.isascii() and _HALF_CHARACTER.search(value):
                raise _NotJSONValue(path, "a string of whole Unicode characters", "half of a surrogate pair")
        elif kind is int:
            if value.bit_length() > MAX_BITS:
                raise _NotJSONValue(path, "a number of less than 4,000 digits", "a longer integer")
        elif kind is float:
            if not math.isfinite(value):
                raise _NotJSONValue(path, "a number that JSON can write", "NaN" if math.isnan(value) else "Infinity")
            self.whole_floats = self.whole_floats or value.is_integer()
        elif kind is dict or kind is list or isinstance(value, (dict, list)):
            return self.copy_container(value, path)
        elif isinstance(value, str | int | float) and kind is not bool:
            # A member of an enum, a NumPy float: what is inside counts.
            plain = next(plain for plain in (str, int, float) if isinstance(value, plain))
            return self.copy(plain.__str__(value) if plain is str else plain(value), path)
        elif value is not None and kind is not bool:
            anything = "a string, a number, true, false, null, an array or an object"
            raise _NotJSONValue(path, anything, "a value that JSON does not have")
        return value

    def copy_container(self, value: dict[str, Any] | list[Any], path: Path) -> Any:
        if len(path) == MAX_DEPTH:
            raise _NotJSONValue((), f"an object of at most {MAX_DEPTH} levels", "one nested more deeply")
        if isinstance(value, list):
            return [self.copy(item, (*path, index)) for index, item in enumerate(value)]
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                came = f"the name {literal(key)}" if key is None or isinstance(key, int | float) else "another name"
                raise _NotJSONValue(path, "an object whose field names are strings", came)
            if not key.isascii() and _HALF_CHARACTER.search(key):
                raise _NotJSONValue(path, "an object whose field names are whole Unicode", "half of a surrogate pair")
            # Most fields are a short text or a number: a shortcut for them.
            kind = type(item)
            plain = (kind is str and item.isascii()) or (kind is int and item.bit_length() <= MAX_BITS)
            copy[key] = item if plain else self.copy(item, (*path, key))
        return copy

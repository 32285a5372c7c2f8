"""Check a tool's input against its `input_schema`, and say what is wrong so that a model can put it right.

Three steps: read the input (text becomes JSON; what is not JSON is refused), ask the engine (`jsonschema-rs`, one
compiled validator per schema), and only when it refuses, explain: one sentence per fault, with its path, what is
wanted and what came. Nothing is repaired on the quiet; only `1.0` for an integer is handed over as `1`.

What a *strict* tool may contain is next door, in `strict.py`; whether a definition is a good one, in `definitions.py`.
"""

import difflib
import json
import marshal
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote, urljoin

from course_kit.errors import CourseKitError

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
    "validator",
]

MAX_DEPTH = 128  # levels of arrays and objects in an input, far more than a model writes
MAX_PROBLEMS = 50  # explained for one input
MAX_LINES = 20  # of them shown to the model
MAX_BACKTRACKS = 100_000  # for a `pattern` with look-around, about 5 ms; other patterns take linear time anyway

_TEXT = (str, bytes, bytearray)
_CONTAINERS = (dict, list)

# Where something is: in a value ("items", 2, "qty"), in a schema ("properties", "items", "items").
Path = tuple[str | int, ...]


class SchemaError(CourseKitError, ValueError):
    """A schema that is not valid draft 2020-12, or refers to something that is not there."""


class NotJSON(CourseKitError, ValueError):
    """A text that is not JSON. `position` counts characters from 0; None where no single place is at fault."""

    def __init__(self, reason: str, text: str = "", position: int | None = None):
        self.reason, self.position, self.line, self.column = reason, position, None, None
        place = ""
        if position is not None:
            self.line = text.count("\n", 0, position) + 1
            self.column = position - text.rfind("\n", 0, position)
            near = _quoted(text[max(0, position - 20) : position + 10])
            place = f" at line {self.line}, column {self.column}, near {near}"
        super().__init__(f"not valid JSON{place}: {reason}")


@dataclass(frozen=True)
class Problem:
    """One fault of an input. `path` is `""` for the whole input; `message` is a full sentence and includes `hint`.

    `Problem("n", '`n` must be an integer, but the string "5" came; send 5 without quotes.', "an integer", …)`
    """

    path: str
    message: str
    expected: str = ""
    received: str = ""
    hint: str = ""


@dataclass(frozen=True)
class CheckedInput:
    """What `check_tool_input` found. `value` is a copy of the input, or None where it could not be read as JSON."""

    value: Any
    problems: tuple[Problem, ...]
    raw: Any

    @property
    def ok(self) -> bool:
        return not self.problems

    def text(self) -> str:
        """All problems, one a line, for the `is_error` result that the model reads; empty when there are none."""
        if self.ok:
            return ""
        lines = ["The tool was not run, because its input is not valid. Correct this and call it again:"]
        lines += [f"- {_cut(problem.message, 500)}" for problem in self.problems[:MAX_LINES]]
        more = len(self.problems) - MAX_LINES
        if more > 0:
            lines.append(f"- and {'at least ' if len(self.problems) == MAX_PROBLEMS else ''}{more} more")
        return "\n".join(lines)

    __str__ = text


# ── The public functions ──────────────────────────────────────────────────────────────────────────────────────────────


def check_tool_input(definition_or_schema: Any, raw: Any) -> CheckedInput:
    """Read `raw` and check it against a tool's `input_schema`; a bad input is data here, never an exception.

    `definition_or_schema` is a tool definition, an object with `.input_schema`, or a bare schema. `raw` is a dict, as
    the SDK hands it over, or JSON text; a text of nothing is a call without arguments.

    `check_tool_input({"properties": {"n": {"type": "integer"}}}, '{"n": 2.0}').value` → `{"n": 2}`
    """
    schema, broken = _schema_of(definition_or_schema)
    compiled = _compiled(_key(schema))
    broken = broken or compiled.problem
    if broken:
        message = f"This tool's definition is broken, so no input can be checked: {broken}. Do not call it again."
        return CheckedInput(None, (Problem("", message, hint="do not call it again"),), raw)
    value = raw
    if isinstance(raw, _TEXT):
        try:
            value = parse_json(raw) if raw.strip() else {}
        except NotJSON as error:
            hint = "send the whole input as one JSON object, with nothing around it"
            message = f"The input is {error}; {hint}."
            return CheckedInput(None, (Problem("", message, "one JSON object", "text that is not JSON", hint),), raw)
    reader = _Reader()
    value = reader.read(value, (), 0)
    if reader.faults:
        return CheckedInput(None, tuple(reader.faults.values())[:MAX_PROBLEMS], raw)
    if not isinstance(value, dict) and compiled.wants_object:
        hint = _type_hint(value, ["object"]) or "send the arguments as one JSON object"
        return CheckedInput(value, (_problem((), "an object", value, hint),), raw)
    if not compiled.fits((), value):
        return CheckedInput(value, tuple(_explain(compiled, value)), raw)
    return CheckedInput(_whole_numbers(compiled, [()], value) if reader.whole_floats else value, (), raw)


def conforms(schema: dict | bool, value: Any) -> bool:
    """Whether a value is JSON and fits a schema: `conforms({"type": "integer"}, True)` → `False`."""
    compiled = _valid(schema)
    reader = _Reader()
    value = reader.read(value, (), 0)
    return not reader.faults and compiled.fits((), value)


def validator(schema: dict | bool) -> Any:
    """The engine's compiled `Draft202012Validator`, from a bounded cache keyed by the schema's content."""
    return _valid(schema).engine(())


def schema_problem(schema: Any) -> str | None:
    """None for a valid draft 2020-12 schema whose references all resolve inside it, else what is wrong with it.

    `schema_problem({"$ref": "#/$defs/X"})` → ``'`$ref` "#/$defs/X" points to nothing in this schema'``
    """
    return _schema_problem(_key(schema))


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
        # The same letters may stand inside a string: step over strings.
        tokens = re.finditer(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', text)
        position = next((token.start() for token in tokens if token.group() == refused.token), None)
        raise NotJSON(refused.reason, text, position) from None
    except RecursionError:
        raise NotJSON("arrays and objects are nested too deeply") from None
    except ValueError:  # Python does not read integers of thousands of digits
        raise NotJSON("an integer has too many digits") from None


def invalid_json_result(raw: str | bytes | bytearray, limit: int = 2000) -> str:
    """The content of the `is_error` result for an input that does not parse: `{"INVALID_JSON": "<raw>"}`.

    So the provider's documentation advises for inputs that are streamed unchecked (`eager_input_streaming`).
    A long text keeps its beginning and its end, where it mostly breaks.
    """
    text = raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")
    if len(text) > limit:
        left_out = f"… ({len(text) - limit:,} characters left out) …"
        text = text[: limit // 2] + left_out + text[len(text) - (limit - limit // 2) :]
    return json.dumps({"INVALID_JSON": re.sub("[\ud800-\udfff]", "\ufffd", text)}, ensure_ascii=False)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _schema_of(definition: Any) -> tuple[Any, str | None]:
    """The schema of a tool, or why there is none."""
    none = "it has no `input_schema`"
    if isinstance(definition, bool):
        return definition, None
    if not isinstance(definition, Mapping):
        return getattr(definition, "input_schema", None), None if hasattr(definition, "input_schema") else none
    if "input_schema" in definition:
        return definition["input_schema"], None
    # subtle: a schema may hold any key. Another provider's definition would be one that lets everything pass.
    is_schema = {"type", "properties", "$ref", "anyOf", "oneOf", "allOf"} & definition.keys()
    return definition, none if "name" in definition and not is_schema else None


class _TooDeep(Exception):
    pass


class _Reader:
    """Copies a value, and notes what JSON cannot say."""

    def __init__(self) -> None:
        self.faults: dict[Path, Problem] = {}
        self.whole_floats = False

    def read(self, value: Any, path: Path, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            if not value.isascii() and not _is_unicode(value):
                self.fault(path, "a string of whole Unicode characters", "half of a surrogate pair")
        elif kind is int:
            if value.bit_length() > 13_000:
                self.fault(path, "a number of less than 4,000 digits", "a longer integer")
        elif kind is float:
            self.whole_floats = self.whole_floats or value.is_integer()
            if not math.isfinite(value):
                self.fault(path, "a number that JSON can write", "NaN" if math.isnan(value) else "Infinity")
        elif kind is dict or kind is list or isinstance(value, _CONTAINERS):
            try:
                return self.container(value, path, depth)
            except _TooDeep:
                if depth:
                    raise
                self.fault((), f"an object of at most {MAX_DEPTH} levels", "one nested more deeply")
        elif value is not None and kind is not bool:
            for plain in (str, int, float):  # a member of an enum, a NumPy float: what is inside counts
                if isinstance(value, plain):
                    return self.read(plain.__str__(value) if plain is str else plain(value), path, depth)
            self.fault(path, _MEANT.get(kind, _JSON), "a value that JSON does not have")
        return value

    def container(self, value: Any, path: Path, depth: int) -> Any:
        if depth == MAX_DEPTH:
            raise _TooDeep
        if isinstance(value, list):
            return [self.read(item, (*path, index), depth + 1) for index, item in enumerate(value)]
        copy = {}
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                self.name(key, path)
            # Most fields are plain text: a short way for them.
            plain = type(item) is str and item.isascii()
            copy[key] = item if plain else self.read(item, (*path, key if isinstance(key, str) else "?"), depth + 1)
        return copy

    def name(self, key: Any, path: Path) -> None:
        if not isinstance(key, str):
            came = f"the name {_literal(key)}" if key is None or isinstance(key, int | float) else "another name"
            self.fault(path, "an object whose field names are strings", came)
        elif not _is_unicode(key):
            self.fault(path, "an object whose field names are whole Unicode", "half of a surrogate pair")

    def fault(self, path: Path, expected: str, came: str) -> None:
        self.faults.setdefault(path, _say(path, f"must be {expected}, but {came} came", expected, came))


_JSON = "a string, a number, true, false, null, an array or an object"
_MEANT = {tuple: "an array", set: "an array", frozenset: "an array", bytes: "a string", bytearray: "a string"}


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _Refused(Exception):
    """What the decoder's own grammar lets pass and JSON, or good sense, does not."""

    def __init__(self, reason: str, token: str | None = None):
        self.reason, self.token = reason, token


def _no_constant(name: str) -> None:
    raise _Refused(f"JSON has no {name}", name)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Refused(f"the number {_cut(digits, 30)} is too large", digits)
    return number


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twin = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise _Refused(f"the key {_quoted(twin)} comes twice in one object, send each key once")
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
        "Illegal trailing comma": "no comma may stand before a closing bracket",
        "Expecting value": "a value is missing, strings stand in double quotes",
        "Invalid control character": "a line break in a string is written as \\n, a tab as \\t",
        "Invalid \\": "a backslash in a string is written as \\\\",
    }
    return next((reason for start, reason in reasons.items() if error.msg.startswith(start)), "no JSON starts here")


# ── The engine ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _key(schema: Any) -> bytes | str:
    """The cache key of a schema: its whole content, so that a dict that was changed is another schema.

    `marshal` writes it in about 1 µs, four times faster than `json`; version 2, since later ones write equal content
    in several ways. What it cannot write (subclasses of dict) goes through `json`.
    """
    try:
        return marshal.dumps(schema, 2)
    except ValueError:
        try:
            return json.dumps(schema, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return "null"


def _own_copy(key: bytes | str) -> Any:
    """The schema as it travels: tuples are arrays. None where it cannot travel, as with NaN or bytes in it."""
    try:
        return json.loads(json.dumps(marshal.loads(key), allow_nan=False) if isinstance(key, bytes) else key)
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=1024)
def _compiled(key: bytes | str) -> "_Compiled":
    return _Compiled(_own_copy(key), _schema_problem(key))


def _valid(schema: Any) -> "_Compiled":
    compiled = _compiled(_key(schema))
    if compiled.problem:
        raise SchemaError(compiled.problem)
    return compiled


# Larger than the other cache: one request may bring 10,000 tools, and every turn brings them again.
@lru_cache(maxsize=16_384)
def _schema_problem(key: bytes | str) -> str | None:
    schema = _own_copy(key)
    if not isinstance(schema, dict | bool):
        return "a schema must be a JSON object that holds nothing but JSON"
    from jsonschema_rs import Draft202012Validator

    invalid = None
    try:
        Draft202012Validator(schema, **_options())
    except ValueError as error:
        kind, invalid = type(getattr(error, "kind", None)).__name__, _why_invalid(error)
        if kind != "Referencing":
            return invalid
    return next(_reference_problems(schema), invalid)  # our own words for a reference name its place, too


def _options() -> dict[str, Any]:
    from jsonschema_rs import FancyRegexOptions

    bounded = FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
    return {"validate_formats": True, "retriever": _refuse, "pattern_options": bounded}


def _refuse(address: str) -> None:
    raise ValueError(f"{address} is not fetched")


_ONE = {"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"}
_ONE |= {"unevaluatedItems", "unevaluatedProperties"}
_LIST = {"allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}


def _subschemas(schema: Any) -> Iterator[tuple[Path, dict]]:
    """Every schema inside a schema, with its path. Data (`const`, `enum`, `examples`) is not searched."""
    waiting: list[tuple[Path, Any]] = [((), schema)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for key, value in node.items():
            if key in _ONE:
                waiting.append(((*path, key), value))
            elif key in _LIST and isinstance(value, list):
                waiting += [((*path, key, index), item) for index, item in enumerate(value)]
            elif key in _NAMED and isinstance(value, dict):
                waiting += [((*path, key, name), item) for name, item in value.items()]


def _reference_problems(schema: Any) -> Iterator[str]:
    """References that leave the schema or point to nothing, also in definitions that nobody uses."""
    nodes = list(_subschemas(schema))
    ids = [(path, node["$id"]) for path, node in nodes if isinstance(node.get("$id"), str)]
    base = next((address for path, address in ids if not path), "")
    anchors = {node.get(key) for _, node in nodes for key in ("$anchor", "$dynamicAnchor")}
    for path, node in nodes:
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.get(keyword)
            if not isinstance(reference, str):
                continue
            named = f"{_at(path)}`{keyword}` {_quoted(reference, 120)}"
            address, _, fragment = reference.partition("#")
            if address and urljoin(base, address) not in {urljoin(base, own) for _, own in ids}:
                yield f"{named} points outside this schema, and nothing is ever fetched: put it under `$defs`"
            elif not address and not any(path for path, _ in ids):  # with an inner `$id` the engine decides
                is_pointer = fragment[:1] in ("", "/")
                if (_lookup(schema, _tokens(fragment)) is _NOTHING) if is_pointer else (fragment not in anchors):
                    yield f"{named} points to nothing in this schema"


def _why_invalid(error: ValueError) -> str:
    """The engine's complaint about a schema, in one sentence."""
    kind, path = type(getattr(error, "kind", None)).__name__, tuple(getattr(error, "instance_path", ()))
    if kind == "NoneType":
        return "it is nested too deeply, or holds text that is not whole Unicode"
    if kind == "Referencing":
        name = re.search(r"'([^']*)'", error.message)
        return f"a reference to {_quoted(name.group(1) if name else '', 120)} points to nothing in this schema"
    rules = {
        "items": "`items` is one schema, a list of schemas is written as `prefixItems`",
        "required": "`required` is a list of names and stands beside `properties`",
        "type": f"`type` is one of {', '.join(_A)}, or a list of them",
        "pattern": f"{_quoted(str(error.instance))} is not a regular expression that can be checked",
    }
    wanted = " or ".join(_A[name] for name in error.kind.types) if kind == "Type" else "what draft 2020-12 allows"
    wanted = "a schema" if wanted == f"{_A['boolean']} or an object" else wanted
    return _at(path) + rules.get(path[-1] if path else "", f"this must be {wanted}, not {_received(error.instance)}")


def _at(path: Path) -> str:
    return f"at `{_cut(_path_text(path), 120)}`: " if path else ""


_ADDRESS = "tool:///schema"  # under which the engine knows the schema, to compile parts of it
_NOTHING = object()


def _lookup(value: Any, path: Iterable[str | int]) -> Any:
    """What stands at a path, or `_NOTHING`. In a list, the token `"0"` of a JSON pointer is an index, too."""
    for key in path:
        if isinstance(value, list) and str(key).isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return _NOTHING
    return value


def _tokens(pointer: str) -> Path:
    """`/properties/a~1b` → `("properties", "a/b")`."""
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in unquote(pointer).split("/")[1:])


class _Compiled:
    """One schema with the engine's validators for it and for its parts. A part is named by its path."""

    def __init__(self, schema: Any, problem: str | None):
        self.schema, self.problem = schema, problem
        if problem:
            return
        self.explainable = not any("$id" in node for path, node in _subschemas(schema) if path)
        self.wants_object = "object" in (self.node(()).get("type") or "object")
        self._engines: dict[tuple[Path, bool], Any] = {}
        self._anchors: dict[str, Path] = {}
        for path, node in _subschemas(schema):
            self._anchors |= {node[key]: path for key in ("$anchor", "$dynamicAnchor") if key in node}

    def engine(self, place: Path, explaining: bool = False) -> Any:
        if (place, explaining) not in self._engines:
            self._engines[place, explaining] = self._compile(place, explaining)
        return self._engines[place, explaining]

    def _compile(self, place: Path, explaining: bool) -> Any:
        from jsonschema_rs import Draft202012, Draft202012Validator, Registry

        if not place and not explaining:
            return Draft202012Validator(self.schema, **_options())
        compiled = self

        class Union:
            """`anyOf` and `oneOf`, saying only that no branch fits.

            The engine's own list the errors of every branch, of the unions inside the branches, and so on: twice as
            many with each level of a recursive schema. `_explain_union` looks at one level at a time.
            """

            def __init__(self, _node: dict, branches: list, path: list):
                self.places = [(*path, index) for index in range(len(branches))]

            def validate(self, value: Any) -> None:
                fitting = sum(compiled.fits(place, value) for place in self.places)
                if not fitting or (fitting > 1 and "oneOf" in self.places[0][-2:]):
                    raise ValueError

        keywords = {"anyOf": Union, "oneOf": Union} if explaining else None
        registry = Registry([(_ADDRESS, self.schema)], draft=Draft202012, retriever=_refuse)
        pointer = "".join("/" + quote(str(key).replace("~", "~0").replace("/", "~1"), safe="~") for key in place)
        return Draft202012Validator(
            {"$ref": f"{_ADDRESS}#{pointer}"}, registry=registry, keywords=keywords, **_options()
        )

    def fits(self, place: Path, value: Any) -> bool:
        return self.engine(place).is_valid(value)

    def errors(self, place: Path, value: Any) -> list[Any]:
        return list(islice(self.engine(place, explaining=True).iter_errors(value), 1000))

    # The parts of the schema, and which of them speak about a value.

    def node(self, place: Path) -> dict[str, Any]:
        """The schema at a place; an empty one where there is none, or only `true`."""
        node = _lookup(self.schema, place)
        return node if isinstance(node, dict) else {}

    def merged(self, place: Path) -> list[Path]:
        """The place, and those that `$ref` and `allOf` add to it whatever the value is."""
        places: list[Path] = []
        waiting = [place]
        while waiting:
            place = waiting.pop(0)
            if place in places:
                continue
            places.append(place)
            node = self.node(place)
            for reference in (node.get("$ref"), node.get("$dynamicRef")):
                if isinstance(reference, str) and reference[:1] == "#":
                    is_pointer = reference[1:2] in ("", "/")
                    waiting.append(_tokens(reference[1:]) if is_pointer else self._anchors.get(reference[1:], place))
            waiting += [(*place, "allOf", index) for index in range(len(node.get("allOf", ())))]
        return places

    def in_place(self, places: Iterable[Path], value: Any) -> list[Path]:
        """Every place that speaks about this value: also the branches that fit, `then` or `else`, and so on."""
        found: list[Path] = []
        waiting = list(places)
        while waiting:
            for place in self.merged(waiting.pop()):
                if place in found:
                    continue
                found.append(place)
                node = self.node(place)
                branches = [(*place, key, i) for key in ("anyOf", "oneOf") for i in range(len(node.get(key, ())))]
                waiting += [branch for branch in branches if self.fits(branch, value)]
                if "if" in node:
                    waiting.append((*place, "then" if self.fits((*place, "if"), value) else "else"))
                if isinstance(value, dict):
                    names = [name for name in node.get("dependentSchemas", ()) if name in value]
                    waiting += [(*place, "dependentSchemas", name) for name in names]
        return found

    def below(self, places: Iterable[Path], key: str | int) -> list[Path]:
        """The places that speak about one field or item of what `places` speak about."""
        found: list[Path] = []
        for place in places:
            node = self.node(place)
            if isinstance(key, int):
                is_prefix = key < len(node.get("prefixItems", ()))
                steps: list[Path] = [("prefixItems", key)] if is_prefix else [("items",)] * ("items" in node)
            else:
                steps = [("properties", key)] * (key in node.get("properties", ()))
                patterns = node.get("patternProperties", ())
                steps += [("patternProperties", pattern) for pattern in patterns if conforms({"pattern": pattern}, key)]
                if not steps and "additionalProperties" in node:
                    steps = [("additionalProperties",)]
            found += [(*place, *step) for step in steps]
        return found

    def fields(self, places: Iterable[Path]) -> list[str]:
        return list(dict.fromkeys(name for place in places for name in self.node(place).get("properties", ())))

    def required(self, places: Iterable[Path]) -> list[str]:
        return list(dict.fromkeys(name for place in places for name in self.node(place).get("required", ())))


def _whole_numbers(compiled: _Compiled, places: list[Path], value: Any) -> Any:
    """The value with `1.0` as `1` wherever the schema wants an integer; for values that fit."""
    if isinstance(value, float) and value.is_integer():
        nodes = [compiled.node(place) for place in compiled.in_place(places, value)]
        return int(value) if any(_wants_integer(node, value) for node in nodes) else value
    if not isinstance(value, dict | list):
        return value
    places = compiled.in_place(places, value)
    if isinstance(value, dict):
        return {key: _whole_numbers(compiled, compiled.below(places, key), item) for key, item in value.items()}
    return [_whole_numbers(compiled, compiled.below(places, index), item) for index, item in enumerate(value)]


def _wants_integer(node: dict[str, Any], value: float) -> bool:
    types = _named_types(node)
    return ("integer" in types and "number" not in types) or any(
        type(option) is int and option == value for option in _options_of(node)
    )


# ── Explaining ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Fault:
    """One error of the engine, and where it stands."""

    compiled: _Compiled
    error: Any
    value: Any
    path: Path  # of the value
    place: Path  # of the keyword in the schema
    required: bool  # whether the field may not be left out; only looked up for null
    more: str  # to be added to what is said about it

    @property
    def owner(self) -> Path:
        return self.place[:-1]


def _explain(compiled: _Compiled, value: Any) -> list[Problem]:
    """Every fault of a value that does not fit, as sentences; at least one."""
    if not compiled.explainable:  # paths in a schema with an inner `$id` do not start at its root
        paths = dict.fromkeys(tuple(error.instance_path) for error in compiled.engine(()).iter_errors(value))
        return [_say(path, "does not fit its schema", "", "") for path in islice(paths, MAX_PROBLEMS)]
    found: dict[tuple[str, str], Problem] = {}
    seen_unions = set()
    # Depth first and without recursion: for each union inside a union, the errors of the branch that was meant.
    stack = [_faults(compiled, (), value, (), "")]
    while stack and len(found) < MAX_PROBLEMS:
        fault = next(stack[-1], None)
        if fault is None:
            stack.pop()
            continue
        problems: list[Problem] = []
        if type(fault.error.kind).__name__ != "Custom":
            problems = list(_sentences(fault))
        elif (fault.place, fault.path) not in seen_unions:
            seen_unions.add((fault.place, fault.path))
            problems, branch = _explain_union(fault)
            if branch:
                stack.append(_faults(compiled, *branch))
        for problem in problems:
            problem = _with_hint(problem, fault.more) if fault.more else problem
            found.setdefault((problem.path, problem.message), problem)
    unexplained = _say((), "does not fit the tool's schema", "", "", "read the descriptions of its inputs again")
    return list(found.values())[:MAX_PROBLEMS] or [unexplained]


def _faults(compiled: _Compiled, start: Path, here: Any, path: Path, more: str) -> Iterator[_Fault]:
    """What is wrong with the value `here`, which stands at `path`, by the part `start` of the schema."""
    for error in _telling(compiled.errors(start, here)):
        inner = tuple(error.instance_path)
        value, required = _lookup(here, inner), False
        if value is None and inner:
            places, parent = [start], here
            for key in inner[:-1]:
                places, parent = compiled.below(compiled.in_place(places, parent), key), parent[key]
            required = inner[-1] in compiled.required(compiled.in_place(places, parent))
        yield _Fault(compiled, error, value, path + inner, tuple(error.schema_path), required, more)


# Where a value must be one of a few, that says it all: its type or length adds nothing.
_SAID_BY_ENUM = {"Type", "Pattern", "Format", "MinLength", "MaxLength", "Minimum", "Maximum"}
_SAID_BY_ENUM |= {"ExclusiveMinimum", "ExclusiveMaximum", "MultipleOf"}


def _telling(errors: list[Any]) -> Iterator[Any]:
    kinds = [(type(error.kind).__name__, tuple(error.instance_path)) for error in errors]
    listed = {path for kind, path in kinds if kind in ("Enum", "Constant")}
    for error, (kind, path) in zip(errors, kinds, strict=True):
        if not (path in listed and kind in _SAID_BY_ENUM):
            yield error


_LIMITS = {
    "Minimum": "at least {}",
    "Maximum": "at most {}",
    "ExclusiveMinimum": "more than {}",
    "ExclusiveMaximum": "less than {}",
    "MultipleOf": "a multiple of {}",
    "MinLength": "a string of at least {} characters",
    "MaxLength": "a string of at most {} characters",
    "MinItems": "an array of at least {} items",
    "MaxItems": "an array of at most {} items",
    "MinProperties": "an object of at least {} fields",
    "MaxProperties": "an object of at most {} fields",
}


def _sentences(fault: _Fault) -> Iterator[Problem]:
    """What to say about one error of the engine: mostly "must be …, but … came"."""
    compiled, kind, value, path, owner = fault.compiled, fault.error.kind, fault.value, fault.path, fault.owner
    name = type(kind).__name__
    if name in _LIMITS:
        limit = getattr(kind, "limit", None) if name != "MultipleOf" else kind.multiple_of
        expected = _LIMITS[name].format(_literal(limit))
        expected = re.sub(r"\b1 (character|item|field)s$", r"1 \1", expected)
        yield _problem(path, expected, value)
        return
    match name:
        case "Type":
            hint = _null_hint(fault) or _type_hint(value, kind.types)
            yield _problem(path, _wanted(compiled, owner), value, hint)
        case "Enum":
            yield _option_problem(path, kind.options, value, _null_hint(fault))
        case "Constant":
            yield _option_problem(path, [kind.expected_value], value, _null_hint(fault))
        case "Pattern" | "Format":
            yield _problem(path, _wanted(compiled, owner), value)
        case "BacktrackLimitExceeded" | "RegexEngineFailure":
            hint = "it takes too long to compare them, send a shorter string"
            yield _problem(path, _wanted(compiled, owner), value, hint)
        case "Required":
            yield _missing(fault, kind.property)
        case "AdditionalProperties" | "UnevaluatedProperties":
            yield from (_unknown_field(fault, field) for field in kind.unexpected[:MAX_PROBLEMS])
        case "PropertyNames":
            field, inline = str(kind.error.instance), "propertyNames" in fault.place
            expected = _wanted(compiled, fault.place[: fault.place.index("propertyNames") + 1] if inline else owner)
            sentence = f"has a name that is not allowed here, where names must be {expected}"
            yield _say((*path, field), sentence, expected, f"the name {_quoted(field)}")
        case "FalseSchema" if fault.place[-1:] == ("additionalProperties",):
            yield from (_unknown_field(fault, field) for field in islice(value, MAX_PROBLEMS))
        case "FalseSchema" if fault.place[-1:] in ((), ("then",), ("else",)):
            yield _say(path, "holds values that are not allowed together", "other values", _received(value))
        case "FalseSchema":
            yield _say(path, f"must be left out, but {_received(value)} came", "nothing", _received(value))
        case "UnevaluatedItems":
            yield _problem(path, "an array without further items", value)
        case "Contains":
            node = compiled.node(owner)
            least = fault.place[-1] != "maxContains"
            number = node.get("minContains", 1) if least else node["maxContains"]
            bound = f"at {'least' if least else 'most'} {_count(number, 'item')}"
            expected = f"an array with {bound} of this kind: {_wanted(compiled, (*owner, 'contains'))}"
            yield _problem(path, expected, value)
        case "UniqueItems":
            first, second = _equal_items(value)
            sentence = f"must be an array without equal items, but items {first} and {second} are equal"
            yield _say(path, sentence, "an array without equal items", f"equal items {first} and {second}")
        case "Not":
            yield _problem(path, f"anything else than {_wanted(compiled, fault.place)}", value)
        case _:
            yield _problem(path, "what the tool's description says", value)


def _missing(fault: _Fault, field: str) -> Problem:
    compiled, place = fault.compiled, _field_place(fault.compiled, fault.owner, field)
    expected = _wanted(compiled, place) if place else "a value"
    because = ""
    if fault.place[-1] == "dependentRequired":
        rules = compiled.node(fault.owner)["dependentRequired"].items()
        given = [f"`{_cut(key, 40)}`" for key, names in rules if field in names and key in fault.value]
        because = f" together with {_listed(given)}"
    elif {"then", "else", "dependentSchemas"} & set(fault.place):
        because = " together with the other values sent"
    known = compiled.fields(compiled.merged(place[:-2] if place else fault.owner))
    near = _near(field, [key for key in fault.value if key not in known])
    hint = f"you sent {_quoted(near)}, send it as {_quoted(field)}" if near else f"send {expected}"
    descriptions = (compiled.node(part).get("description") for part in compiled.merged(place)) if place else ()
    about = next((" ".join(text.split()) for text in descriptions if isinstance(text, str)), "")
    hint += f" ({_cut(about, 100)})" if about else ""
    return _say((*fault.path, field), f"is required{because} but missing", expected, "nothing", hint)


def _field_place(compiled: _Compiled, owner: Path, field: str) -> Path | None:
    """Where a field is described: in the schema that requires it, or in one around it about the same object."""
    other_value = _NAMED - {"dependentSchemas"} | {"items", "prefixItems", "contains", "additionalProperties"}
    while True:
        for place in compiled.merged(owner):
            if field in compiled.node(place).get("properties", ()):
                return (*place, "properties", field)
        if not owner or other_value & {owner[-1], *owner[-2:-1]}:
            return None
        owner = owner[:-1]


def _unknown_field(fault: _Fault, field: str) -> Problem:
    known = fault.compiled.fields(fault.compiled.in_place([fault.owner], fault.value))
    patterns = fault.compiled.node(fault.owner).get("patternProperties", ())
    names = [f"`{_cut(name, 40)}`" for name in known] + [f"names like {_cut(pattern, 60)}" for pattern in patterns]
    allowed = f"allowed are {_listed(names)}" if names else "no field is allowed here"
    near = _near(field, [name for name in known if name not in fault.value])
    hint = f"you probably mean `{near}`" if near else "leave it out"
    return _say((*fault.path, field), f"is not a field of this object, {allowed}", allowed, _quoted(field), hint)


def _null_hint(fault: _Fault) -> str:
    if fault.value is not None or not fault.path or isinstance(fault.path[-1], int):
        return ""
    return "the field is required, send a value" if fault.required else "leave the field out if you have no value"


def _type_hint(value: Any, types: list[str]) -> str:
    """What to send for a value whose JSON type is not among `types`; empty where nothing sure can be said."""
    if isinstance(value, str):
        text = value.strip()
        try:
            inside = parse_json(text)
        except NotJSON:
            if text.lower() in ("true", "false") and "boolean" in types:
                return f"send {text.lower()} without quotes"
            looks_like_json = text[:1] in ("[", "{") and {"array", "object"} & set(types)
            return (
                "the string holds broken JSON: mend it and send it without quotes around it" if looks_like_json else ""
            )
        if isinstance(inside, dict | list):
            holds = "the string holds JSON: send it as JSON, without quotes around it"
            return holds if _has_type(inside, types) else ""
        return (
            f"send {_cut(text, 40)} without quotes" if not isinstance(inside, str) and _has_type(inside, types) else ""
        )
    if "string" in types and isinstance(value, int | float):
        return f"send it in quotes: {_quoted(_literal(value))}"
    if "integer" in types and isinstance(value, float):
        return "send a whole number"
    return "send an array, also for one item" if list(types) == ["array"] and value is not None else ""


def _option_problem(path: Path, options: list[Any], value: Any, hint: str = "") -> Problem:
    shown = [_literal(option) for option in options]
    if not hint and isinstance(value, str) and len(value) <= 200:
        near = _near(value, [option for option in options if isinstance(option, str)])
        if value in [_literal(option) for option in options if not isinstance(option, str)]:
            hint = f"send {value} without quotes"
        elif near and near.lower() == value.strip().lower():
            hint = f"write it exactly as {_quoted(near)}, with its upper and lower case"
        elif near:
            hint = f"you probably mean {_quoted(near)}"
    elif not hint and isinstance(value, int | float) and _literal(value) in options:
        hint = f"send it in quotes: {_quoted(_literal(value))}"
    return _problem(path, shown[0] if len(shown) == 1 else f"one of {_listed(shown) or 'no values'}", value, hint)


# ── Unions ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _explain_union(fault: _Fault) -> tuple[list[Problem], tuple | None]:
    """What is wrong where no branch of a union fits: problems, or the branch that was meant, to look at next."""
    compiled, value, path = fault.compiled, fault.value, fault.path
    branches = _branches(compiled, fault.place)
    fitting = [branch for branch in branches if compiled.fits(branch, value)]
    if fitting:  # a `oneOf` that fits more than once
        expected = f"of one of these shapes, not of several: {_shapes(compiled, fitting)}"
        return [_problem(path, expected, value, "leave out what makes it fit the others")], None
    typed = [branch for branch in branches if _has_type(value, _types(compiled, branch))]
    if not typed:
        types = [name for name in _A if any(name in _types(compiled, branch) for branch in branches)]
        return [
            _problem(path, _wanted(compiled, fault.owner), value, _null_hint(fault) or _type_hint(value, types))
        ], []
    if isinstance(value, dict):
        problem, meant = _by_discriminator(compiled, typed, value, path)
        if problem:
            return [problem], None
        if len(meant) < len(typed):
            typed = meant
    if len(typed) == 1:
        return [], (typed[0], value, path, "")
    if not isinstance(value, dict | list):
        options = [_options_of(compiled.node(compiled.merged(branch)[-1])) for branch in typed]
        if all(options):
            return [_option_problem(path, [option for group in options for option in group], value)], None
        return [_problem(path, _shapes(compiled, typed), value)], None
    closest = min(typed, key=lambda branch: _distance(compiled.errors(branch, value)))
    return [], (closest, value, path, f"possible shapes: {_shapes(compiled, typed)}")


def _branches(compiled: _Compiled, place: Path) -> list[Path]:
    """The branches of a union; of a branch that is only a union itself, its branches."""
    found: list[Path] = []
    waiting, seen = [place], {place}
    while waiting:
        place = waiting.pop(0)
        for index in range(len(_lookup(compiled.schema, place))):
            last = compiled.merged((*place, index))[-1]
            node = compiled.node(last)
            inner = {(*last, key) for key in ("anyOf", "oneOf") if key in node}
            if len(inner) == 1 and not inner & seen and not {"type", "properties", "enum", "const"} & node.keys():
                seen |= inner
                waiting += inner
            else:
                found.append((*place, index))
    return found


def _by_discriminator(
    compiled: _Compiled, branches: list[Path], value: dict, path: Path
) -> tuple[Problem | None, list[Path]]:
    """The branches whose `const` and `enum` fields agree with the value, or what is wrong with such a field."""
    tags = [_tags(compiled, branch) for branch in branches]
    names = sorted({name for tag in tags for name in tag})
    # A field tells branches apart if two of them list its values, and not the same ones.
    names = [name for name in names if len({json.dumps(tag[name]) for tag in tags if name in tag}) > 1]

    def disagreement(tag: dict[str, list]) -> tuple[int, int]:
        told = [_among(value[name], tag[name]) for name in names if name in value and name in tag]
        return told.count(False), -told.count(True)

    least = min(map(disagreement, tags))
    meant = [branch for branch, tag in zip(branches, tags, strict=True) if disagreement(tag) == least]
    for name in names:
        options: list[Any] = []
        for tag in tags:
            options += [option for option in tag.get(name, ()) if not _among(option, options)]
        if not all(name in tag for tag in tags) or (name in value and _among(value[name], options)):
            continue
        if name in value:
            return _option_problem((*path, name), options, value[name]), []
        if len(meant) > 1 and all(name in compiled.required(compiled.merged(branch)) for branch in meant):
            expected = f"one of {_listed([_literal(option) for option in options])}"
            return _say((*path, name), "is required but missing", expected, "nothing", f"send {expected}"), []
    return None, meant


def _tags(compiled: _Compiled, branch: Path) -> dict[str, list[Any]]:
    """The fields of a branch that must have one of a few values: `{"kind": ["email"]}`."""
    places = [(*place, "properties", name) for place in compiled.merged(branch) for name in compiled.fields([place])]
    options = [(place[-1], _options_of(compiled.node(part))) for place in places for part in compiled.merged(place)]
    return {name: values for name, values in options if values}


def _distance(errors: list[Any]) -> int:
    """How far a value is from a branch. A missing field counts twice: it may be the mark of another branch."""
    return sum(2 if type(error.kind).__name__ == "Required" else 1 for error in errors)


def _options_of(node: Mapping[str, Any]) -> list[Any]:
    return [node["const"]] if "const" in node else node.get("enum", [])


def _among(value: Any, options: Iterable[Any]) -> bool:
    """Whether a value is one of the options, by JSON's measure: `1` is `1.0`, and `True` is neither."""
    return any(value == option and isinstance(value, bool) == isinstance(option, bool) for option in options)


def _named_types(node: Mapping[str, Any]) -> list[str]:
    types = node.get("type", [])
    return [types] if isinstance(types, str) else types


def _types(compiled: _Compiled, place: Path) -> set[str]:
    """The JSON types that a schema lets through."""
    types = set(_A)
    for part in compiled.merged(place):
        node = compiled.node(part)
        if _options_of(node):
            types &= {_type_of(option) for option in _options_of(node)}
        elif _named_types(node):
            types &= {*_named_types(node), *(["integer"] if "number" in _named_types(node) else [])}
    return types


def _type_of(value: Any) -> str:
    kinds = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def _has_type(value: Any, types: Iterable[str]) -> bool:
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return not {"integer", "number"}.isdisjoint(types)
    return _type_of(value) in types


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_A = {"null": "null", "boolean": "a boolean (true or false)", "integer": "an integer", "number": "a number"}
_A |= {"string": "a string", "array": "an array", "object": "an object"}

_FORMATS = {
    "date-time": 'a date and time such as "2026-11-30T09:00:00Z"',
    "time": 'a time with offset such as "09:00:00Z"',
    "date": 'a date such as "2026-11-30"',
    "duration": 'a duration such as "PT30M"',
    "email": 'an email address such as "ada@example.com"',
    "hostname": 'a host name such as "api.example.com"',
    "uri": 'a URI such as "https://example.com/page"',
    "ipv4": 'an IPv4 address such as "192.0.2.1"',
    "ipv6": 'an IPv6 address such as "2001:db8::1"',
    "uuid": 'a UUID such as "123e4567-e89b-12d3-a456-426614174000"',
}

# The type that a keyword speaks about, for schemas that do not name one.
_SPEAKS_OF = {"properties": "object", "required": "object", "items": "array", "prefixItems": "array"}
_SPEAKS_OF |= {"pattern": "string", "format": "string", "minLength": "string", "maxLength": "string"}
_SPEAKS_OF |= {"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number"}


def _wanted(compiled: _Compiled, place: Path, levels: int = 2) -> str:
    """A schema in words: "an integer from 1 to 7", "a string or null", "an object with `kind` "email" and `to`"."""
    node: dict[str, Any] = {}
    unions: list[Path] = []
    for part in reversed(compiled.merged(place)):
        node = {**node, **compiled.node(part)}
        unions += [(*part, key) for key in ("anyOf", "oneOf") if key in compiled.node(part)]
    options = [_literal(option) for option in _options_of(node)]
    if options:
        return options[0] if len(options) == 1 else f"one of {_listed(options)}"
    types = _named_types(node)
    if unions and not types:
        return _shapes(compiled, [(*unions[0], i) for i in range(len(node[unions[0][-1]]))], levels - 1)
    types = types or list(dict.fromkeys(kind for keyword, kind in _SPEAKS_OF.items() if keyword in node))
    return _cut(" or ".join(_wanted_type(compiled, place, name, node, levels) for name in types), 300) or "any value"


def _wanted_type(compiled: _Compiled, place: Path, name: str, node: dict[str, Any], levels: int) -> str:
    if name == "string":
        words = _FORMATS.get(node.get("format"), "a string" + ("format" in node) * f" in the form {node.get('format')}")
        words += f" matching the pattern {_cut(node['pattern'], 80)}" if "pattern" in node else ""
        words += _bounds(node, "minLength", "maxLength", " of {} characters")
        example = next((text for text in node.get("examples", ()) if isinstance(text, str)), None)
        return words + (f", for example {_quoted(example)}" if example is not None else "")
    if name in ("integer", "number"):
        words = _A[name] + _bounds(node, "minimum", "maximum", " {}")
        more = {"exclusiveMinimum": " more than {}", "exclusiveMaximum": " less than {}"}
        return words + "".join(text.format(_literal(node[key])) for key, text in more.items() if key in node)
    if name == "array":
        items = [(*part, "items") for part in compiled.merged(place) if compiled.node((*part, "items"))]
        each = f", each item {_wanted(compiled, items[0], levels - 1)}" if items and levels > 0 else ""
        return "an array" + _bounds(node, "minItems", "maxItems", " of {} items") + each
    if name == "object" and levels > 0:
        tags = _tags(compiled, place)
        marks = {field: _listed([_literal(option) for option in tags[field]], " / ", 4) for field in tags}
        required = compiled.required(compiled.merged(place))
        fields = [f"`{_cut(field, 40)}`{' ' * (field in marks)}{marks.get(field, '')}" for field in required]
        return "an object" + (f" with {_listed(fields, ' and ')}" if fields else "")
    return _A[name]


def _bounds(node: dict[str, Any], low: str, high: str, text: str) -> str:
    if low in node and high in node and node[low] != node[high]:
        return text.format(f"from {_literal(node[low])} to {_literal(node[high])}").replace("of from", "of")
    if low in node:
        return text.format(_literal(node[low]) if high in node else f"at least {_literal(node[low])}")
    return text.format(f"at most {_literal(node[high])}") if high in node else ""


def _shapes(compiled: _Compiled, branches: list[Path], levels: int = 1) -> str:
    shapes = (
        dict.fromkeys(_wanted(compiled, branch, levels) for branch in branches)
        if levels >= 0
        else ["any of several shapes"]
    )
    return _cut(_listed(list(shapes), " or ", 6), 300)


def _received(value: Any) -> str:
    """A value in a few words, however big it is: `the string "Oslo"`, `an array of 3 items`."""
    if isinstance(value, str):
        return f"the string {_quoted(value)}" + (f" ({len(value):,} characters)" if len(value) > 60 else "")
    if isinstance(value, list):
        return f"an array of {_count(len(value), 'item')}" if value else "an empty array"
    if isinstance(value, dict):
        return f"an object of {_count(len(value), 'field')}" if value else "an empty object"
    return _literal(value) if value is None else f"the {_type_of(value)} {_literal(value)}"


def _literal(value: Any) -> str:
    """A value as JSON writes it, cut to size."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "of more than 60 digits"
    return _quoted(value) if isinstance(value, str) else _cut(json.dumps(value, ensure_ascii=False, default=str), 60)


def _quoted(text: str, limit: int = 60) -> str:
    """Text in JSON's quotes, short, printable, on one line."""
    return _printable(json.dumps(text if len(text) <= limit else text[: limit - 1] + "…", ensure_ascii=False))


def _cut(text: str, limit: int) -> str:
    return _printable(text if len(text) <= limit else text[: limit - 1] + "…")


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _listed(words: list[str], joint: str = ", ", most: int = 12) -> str:
    more = f", … ({len(words)} in all)" if len(words) > most else ""
    return _cut(joint.join(words[:most]), 400) + more


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _near(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant: `Order-ID` → `order_id`."""

    def plain(text: str) -> str:
        return re.sub(r"[\W_]", "", text[:100]).lower()

    known = {plain(candidate): candidate for candidate in islice(candidates, 200)}
    close = difflib.get_close_matches(plain(word), known, n=1, cutoff=0.75)
    return known[close[0]] if close else None


def _equal_items(items: list[Any]) -> tuple[int, int]:
    """The positions of two equal items, by JSON's measure."""
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        plain = json.loads(json.dumps(item), parse_float=lambda d: int(float(d)) if float(d).is_integer() else float(d))
        first = seen.setdefault(json.dumps(plain, sort_keys=True), index)
        if first != index:
            return first, index
    return 0, len(items) - 1


def _problem(path: Path, expected: str, value: Any, hint: str = "") -> Problem:
    received = _received(value)
    return _say(path, f"must be {expected}, but {received} came", expected, received, hint)


def _say(path: Path, sentence: str, expected: str, received: str, hint: str = "") -> Problem:
    text = _path_text(path)
    where = f"`{text if len(text) <= 160 else f'{text[:80]}…{text[-70:]}'}`" if text else "The input"
    return Problem(text, f"{where} {sentence}{'; ' if hint else ''}{hint}.", expected, received, hint)


def _with_hint(problem: Problem, more: str) -> Problem:
    hint = f"{problem.hint}; {more}" if problem.hint else more
    return Problem(problem.path, f"{problem.message[:-1]}; {more}.", problem.expected, problem.received, hint)


def _path_text(path: Path) -> str:
    """`("items", 2, "qty")` → `items[2].qty`; a key that could be misread stands in brackets: `["a.b"]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"[^\W\d][\w$-]*|\$\w+", key):
            text += f".{_cut(key, 80)}" if text else _cut(key, 80)
        else:
            text += f"[{_quoted(key, 80)}]"
    return text

"""A schema, compiled once: whether values fit it or a part of it, and which parts apply to a value.

The engine is `jsonschema-rs`. A part is a schema inside the schema and is known by its identity. How an input is read
and what comes back is next door in `schema.py`, how a refusal is explained in `explain.py`.
"""

import json
import marshal
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from course_kit.errors import CourseKitError

from .strict import as_list, walk_schema
from .words import TYPES, cut, options_of, path_text, quoted, received

__all__ = ["CompiledSchema", "SchemaError", "compiled", "schema_problem", "valid"]

MAX_SEEN = 1024  # schemas known by identity
MAX_BACKTRACKS = 100_000  # for a `pattern` with look-around, about 5 ms; other patterns take linear time anyway

# What the schemas `True` and `False` say, as dicts.
ALWAYS: dict[str, Any] = {}
NEVER: dict[str, Any] = {"not": {}}
_ADDRESS = "tool:///schema"  # under which the engine knows the schema, to compile parts of it


class SchemaError(CourseKitError, ValueError):
    """A schema that is not valid draft 2020-12, or refers to something that is not there."""


def compiled(schema: Any) -> "CompiledSchema":
    """The schema compiled, from a bounded cache; look at its `problem` first."""
    seen = _SEEN.get(id(schema))
    if seen and seen[1].snapshot == schema:
        return seen[1]
    found = _compiled(_key(schema))
    if type(schema) is dict and not found.problem:
        if len(_SEEN) >= MAX_SEEN:
            _SEEN.clear()
        _SEEN[id(schema)] = schema, found
    return found


def valid(schema: Any) -> "CompiledSchema":
    """The schema compiled, or `SchemaError`."""
    found = compiled(schema)
    if found.problem:
        raise SchemaError(found.problem)
    return found


def schema_problem(schema: Any) -> str | None:
    """None for a valid draft 2020-12 schema whose references all resolve inside it, else what is wrong with it.

    `schema_problem({"$ref": "#/$defs/X"})` → ``'`$ref` "#/$defs/X" points to nothing in this schema'``
    """
    return _schema_problem(_key(schema))


# The caches are keyed by content, so that a changed dict is another schema. But serialising the content takes longer
# than checking an input. So a dict that was seen before is first compared with a copy of what it was then.

_SEEN: dict[int, tuple[dict[str, Any], "CompiledSchema"]] = {}  # a dict that is kept here keeps its id


class _Exactly:
    """Values of `const` or `enum` in such a copy: in Python `True == 1`, in JSON not; elsewhere only one is valid."""

    def __init__(self, values: Any):
        self.key = _key(values)

    def __eq__(self, other: Any) -> bool:
        return _key(other) == self.key


def _snapshot(schema: Any) -> Any:
    """A copy of a schema, to be compared with it later."""
    copy = _as_it_travels(schema)
    for _, node in walk_schema(copy):
        for keyword in node.keys() & {"const", "enum"} if isinstance(node, dict) else ():
            if not all(isinstance(value, str) for value in as_list(node[keyword])):
                node[keyword] = _Exactly(node[keyword])
    return copy


def _key(schema: Any) -> bytes:
    """`marshal` writes a schema in about 1 µs, four times faster than `json`; in version 2 always in the same way."""
    try:
        return marshal.dumps(schema, 2)
    except ValueError:  # what is not plain, such as a subclass of dict
        plain = _as_it_travels(schema)
    try:
        return marshal.dumps(plain, 2)
    except ValueError:  # thousands of levels, which `json` in Python 3.13 still writes: treated as not sendable
        return marshal.dumps(None, 2)


def _as_it_travels(schema: Any) -> Any:
    """A copy where tuples are arrays; None if it cannot be sent, as with NaN or bytes in it."""
    try:
        return json.loads(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=1024)
def _compiled(key: bytes) -> "CompiledSchema":
    return CompiledSchema(_as_it_travels(marshal.loads(key)), _schema_problem(key))


# Larger than the other cache: one request can have 10,000 tools, and every turn sends them again.
@lru_cache(maxsize=16_384)
def _schema_problem(key: bytes) -> str | None:
    schema = _as_it_travels(marshal.loads(key))
    if not isinstance(schema, dict | bool):
        return "a schema must be a JSON object that holds nothing but JSON"
    invalid = None
    try:
        _engine(schema)
    except ValueError as error:
        invalid = _why_invalid(error)
        if _kind(error) != "Referencing":
            return invalid
    return next(_reference_problems(schema), invalid)  # our own words for a reference name its place, too


def _engine(schema: Any, root: Any = None) -> Any:
    """The engine's validator; references to `_ADDRESS` lead into `root`. Nothing is ever fetched."""
    from jsonschema_rs import Draft202012, Draft202012Validator, FancyRegexOptions, Registry

    def refuse(address: str) -> None:
        raise ValueError(f"{address} is not fetched")

    limited = FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
    options: dict[str, Any] = {"pattern_options": limited, "retriever": refuse}
    if root is not None:
        options["registry"] = Registry([(_ADDRESS, root)], draft=Draft202012, retriever=refuse)
    return Draft202012Validator(schema, validate_formats=True, **options)


def _kind(error: ValueError) -> str:
    return type(getattr(error, "kind", None)).__name__


def _why_invalid(error: Any) -> str:
    """The engine's complaint about a schema, in one sentence."""
    kind, path = _kind(error), tuple(getattr(error, "instance_path", ()))
    if kind == "NoneType":
        return "it is nested too deeply, or holds text that is not whole Unicode"
    if kind == "Referencing":
        name = re.search(r"'([^']*)'", error.message)
        return f"a reference to {quoted(name.group(1) if name else '', 120)} points to nothing in this schema"
    wanted = " or ".join(TYPES[name] for name in error.kind.types) if kind == "Type" else "what draft 2020-12 allows"
    wanted = "a schema" if wanted == f"{TYPES['boolean']} or an object" else wanted
    rules = {
        "items": "`items` is one schema, a list of schemas is written as `prefixItems`",
        "required": "`required` is a list of names and stands beside `properties`",
        "type": f"`type` is one of {', '.join(TYPES)}, or a list of them",
        "pattern": f"{quoted(str(error.instance))} is not a regular expression that can be checked",
    }
    return _at(path) + rules.get(path[-1] if path else "", f"this must be {wanted}, not {received(error.instance)}")


def _reference_problems(schema: Any) -> Iterator[str]:
    """References that leave the schema or point to nothing, also in definitions that nobody uses."""
    nodes = [(path, node) for path, node in walk_schema(schema) if isinstance(node, dict)]
    if any("$id" in node for _, node in nodes):
        return  # it changes what references mean: the engine alone decides
    targets = _targets(schema)
    for path, node in nodes:
        reference = node.get("$ref")
        named = f"{_at(path)}`$ref` {quoted(str(reference), 120)}"
        if reference and not reference.startswith("#"):
            yield f"{named} points outside this schema, and nothing is ever fetched: put it under `$defs`"
        elif reference and unquote(reference) not in targets:
            yield f"{named} points to nothing in this schema"


def _targets(schema: Any) -> dict[str, Any]:
    """Whatever a reference can name: `{"#": …, "#/$defs/a": …, "#anchor": …}`."""
    targets: dict[str, Any] = {}
    waiting = [("#", schema)]
    while waiting:
        name, value = waiting.pop()
        targets[name] = value
        if isinstance(value, list):
            waiting += [(f"{name}/{index}", inner) for index, inner in enumerate(value)]
        if isinstance(value, dict):
            targets |= {f"#{value[key]}": value for key in ("$anchor", "$dynamicAnchor") if key in value}
            escaped = {key.replace("~", "~0").replace("/", "~1"): inner for key, inner in value.items()}
            waiting += [(f"{name}/{key}", inner) for key, inner in escaped.items()]
    return targets


def _at(path: Iterable[str | int]) -> str:
    text = path_text(tuple(int(key) if str(key).isdecimal() else key for key in path))
    return f"at `{cut(text, 120)}`: " if text else ""


class CompiledSchema:
    """One schema with the engine's validators for it and for its parts, each made when it is first needed."""

    def __init__(self, root: Any, problem: str | None):
        self.root, self.problem = root, problem
        self.snapshot = _snapshot(root) if isinstance(root, dict) else None
        self._engines: dict[tuple[int, str], Any] = {}
        self._merged: dict[int, list[dict[str, Any]]] = {}
        self.in_words: dict[tuple[int, int], str] = {}  # what `words.wanted` has said of its parts
        self._targets = {} if problem else _targets(root)
        self._names = {id(part): name for name, part in self._targets.items()}
        self.accepts: Any = None if problem else self.engine(root).is_valid  # whether a value fits the whole schema
        self.has_inner_id = any("$id" in part for path, part in walk_schema(root) if path and isinstance(part, dict))

    def engine(self, part: Any, keyword: str = "") -> Any:
        """The engine's validator for a part, or for one keyword of it that holds no schemas."""
        key = (id(part), keyword)
        if key not in self._engines:
            if keyword:
                self._engines[key] = _engine({keyword: part[keyword]})
            elif part is self.root or isinstance(part, bool):
                self._engines[key] = _engine(part)
            else:
                self._engines[key] = _engine({"$ref": _ADDRESS + quote(self._names[id(part)], safe="#/~")}, self.root)
        return self._engines[key]

    def fits(self, part: Any, value: Any, keyword: str = "") -> bool:
        """Whether a value fits a part, or one keyword of it."""
        engine = self._engines.get((id(part), keyword)) or self.engine(part, keyword)
        return engine.is_valid(value)

    def fits_type(self, part: Any, value: Any) -> bool:
        """Whether a value is of a type that a part lets through."""
        return all(self.fits(inner, value, "type") for inner in self.merged(part) if "type" in inner)

    def merged(self, part: Any) -> list[dict[str, Any]]:
        """The part, and those that `$ref` and `allOf` add to it whatever the value is."""
        known = self._merged.get(id(part))
        if known is None:
            known = self._merged[id(part)] = self._merge(part)
        return known

    def _merge(self, part: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        waiting = [part]
        while waiting:
            part = waiting.pop(0)
            if isinstance(part, bool):
                part = ALWAYS if part else NEVER
            if not isinstance(part, dict) or any(part is other for other in found):
                continue
            found.append(part)
            waiting += [self._targets.get(unquote(part[key])) for key in ("$ref", "$dynamicRef") if key in part]
            waiting += part.get("allOf", ())
        return found

    def in_place(self, parts: Iterable[Any], value: Any) -> list[dict[str, Any]]:
        """Every part that applies to this value: also the branches that fit, `then` or `else`, and so on."""
        found: list[dict[str, Any]] = []
        waiting = list(parts)
        while waiting:
            for part in self.merged(waiting.pop()):
                if any(part is other for other in found):
                    continue
                found.append(part)
                branches = [*part.get("anyOf", ()), *part.get("oneOf", ())]
                waiting += [branch for branch in branches if self.fits(branch, value)]
                if "if" in part:
                    waiting.append(part.get("then" if self.fits(part["if"], value) else "else"))
                if isinstance(value, dict):
                    waiting += [inner for name, inner in part.get("dependentSchemas", {}).items() if name in value]
        return found

    def below(self, parts: Iterable[dict[str, Any]], value: Any, key: str | int) -> list[Any]:
        """The parts that apply to one field or item of a value to which `parts` apply."""
        found: list[Any] = []
        for part in parts:
            inner = _directly_below(part, key)
            if not inner and isinstance(key, str) and "unevaluatedProperties" in part:
                others = self.in_place([part], value)
                inner = [part["unevaluatedProperties"]] if not any(_directly_below(o, key) for o in others) else []
            found += inner
        return found

    def with_integers(self, value: Any, parts: Iterable[Any] | None = None) -> Any:
        """The value with `1.0` as `1` wherever the schema wants an integer; for values that fit."""
        if not isinstance(value, (dict, list, float)):
            return value
        parts = self.in_place([self.root] if parts is None else parts, value)
        if isinstance(value, dict):
            return {key: self.with_integers(item, self.below(parts, value, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.with_integers(item, self.below(parts, value, i)) for i, item in enumerate(value)]
        return int(value) if value.is_integer() and any(_wants_integer(part, value) for part in parts) else value


def _directly_below(part: dict[str, Any], key: str | int) -> list[Any]:
    if isinstance(key, int):
        first = part.get("prefixItems", ())
        return [first[key]] if key < len(first) else [part["items"]] if "items" in part else []
    found = [part["properties"][key]] if key in part.get("properties", ()) else []
    for pattern, inner in part.get("patternProperties", {}).items():
        matches = compiled({"pattern": pattern})
        found += [inner] if matches.fits(matches.root, key) else []
    return found or ([part["additionalProperties"]] if "additionalProperties" in part else [])


def _wants_integer(part: dict[str, Any], value: float) -> bool:
    types = as_list(part.get("type"))
    listed = any(type(option) is int and option == value for option in options_of(part))
    return listed or ("integer" in types and "number" not in types)

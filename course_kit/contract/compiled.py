"""A schema, compiled once: whether values fit it or a part of it, and which parts speak about a value.

The engine is `jsonschema-rs`. A part is a dict inside the schema (or `True`, `False`) and is known by its identity.
How inputs are read and what comes back is next door in `schema.py`, how a refusal is explained in `explain.py`.
"""

import json
import marshal
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

from course_kit.errors import CourseKitError

from .strict import as_list, pointer, ref_path, walk_schema
from .words import TYPES, Path, cut, options_of, path_text, quoted, received

__all__ = ["CompiledSchema", "SchemaError", "compiled", "schema_problem", "valid"]

MAX_BACKTRACKS = 100_000  # for a `pattern` with look-around, about 5 ms; other patterns take linear time anyway

_ADDRESS = "tool:///schema"  # under which the engine knows the schema, to compile parts of it
_NOTHING = object()
_BOOLEANS: dict[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}  # what they say, as dicts


class SchemaError(CourseKitError, ValueError):
    """A schema that is not valid draft 2020-12, or refers to something that is not there."""


# One entry for each content of a schema.


def compiled(schema: Any) -> "CompiledSchema":
    """The schema compiled, from a bounded cache; see its `problem` before anything else."""
    return _compiled(_key(schema))


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


def _key(schema: Any) -> bytes | str:
    """The whole content, so that a dict that was changed is another schema.

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
def _compiled(key: bytes | str) -> "CompiledSchema":
    return CompiledSchema(_own_copy(key), _schema_problem(key))


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
        invalid = _why_invalid(error)
        if _kind(error) != "Referencing":
            return invalid
    return next(_reference_problems(schema), invalid)  # our own words for a reference name its place, too


def _options() -> dict[str, Any]:
    from jsonschema_rs import FancyRegexOptions

    bounded = FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
    return {"validate_formats": True, "retriever": _refuse, "pattern_options": bounded}


def _refuse(address: str) -> None:
    raise ValueError(f"{address} is not fetched")


# What is wrong with a schema.


def _why_invalid(error: ValueError) -> str:
    """The engine's complaint about a schema, in one sentence."""
    kind, path = _kind(error), tuple(getattr(error, "instance_path", ()))
    if kind == "NoneType":
        return "it is nested too deeply, or holds text that is not whole Unicode"
    if kind == "Referencing":
        name = re.search(r"'([^']*)'", error.message)
        return f"a reference to {quoted(name.group(1) if name else '', 120)} points to nothing in this schema"
    rules = {
        "items": "`items` is one schema, a list of schemas is written as `prefixItems`",
        "required": "`required` is a list of names and stands beside `properties`",
        "type": f"`type` is one of {', '.join(TYPES)}, or a list of them",
        "pattern": f"{quoted(str(error.instance))} is not a regular expression that can be checked",
    }
    types = set(error.kind.types) if kind == "Type" else set()
    schema_or = {"boolean", "object"}
    wanted = "a schema" if types == schema_or else " or ".join(TYPES[name] for name in types)
    general = f"this must be {wanted or 'what draft 2020-12 allows'}, not {received(error.instance)}"
    return _at(path) + rules.get(path[-1] if path else "", general)


def _kind(error: ValueError) -> str:
    return type(getattr(error, "kind", None)).__name__


def _reference_problems(schema: Any) -> Iterator[str]:
    """References that leave the schema or point to nothing, also in definitions that nobody uses."""
    nodes = [(path, node) for path, node in walk_schema(schema) if isinstance(node, dict)]
    ids = {path: node["$id"] for path, node in nodes if isinstance(node.get("$id"), str)}
    base = ids.get((), "")
    anchors = {node.get(key) for _, node in nodes for key in ("$anchor", "$dynamicAnchor")}
    references = [(path, key, node.get(key)) for path, node in nodes for key in ("$ref", "$dynamicRef")]
    for path, keyword, reference in references:
        if not isinstance(reference, str):
            continue
        named = f"{_at(path)}`{keyword}` {quoted(reference, 120)}"
        address, _, fragment = reference.partition("#")
        if address and urljoin(base, address) not in {urljoin(base, own) for own in ids.values()}:
            yield f"{named} points outside this schema, and nothing is ever fetched: put it under `$defs`"
        elif not address and not any(ids):  # with an inner `$id` the engine decides
            target = ref_path(f"#{fragment}")
            if fragment not in anchors if target is None else _lookup(schema, target) is _NOTHING:
                yield f"{named} points to nothing in this schema"


def _at(path: Iterable[str | int]) -> str:
    text = path_text(tuple(int(key) if str(key).isdecimal() else key for key in path))
    return f"at `{cut(text, 120)}`: " if text else ""


def _lookup(value: Any, tokens: Iterable[str]) -> Any:
    for token in tokens:
        if isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        elif isinstance(value, dict) and token in value:
            value = value[token]
        else:
            return _NOTHING
    return value


class CompiledSchema:
    """One schema with the engine's validators for it and for its parts, each made when it is first needed."""

    def __init__(self, schema: Any, problem: str | None):
        self.schema, self.problem = schema, problem
        self._engines: dict[tuple[int, str], Any] = {}
        self._places: dict[int, tuple[str, ...]] = {}
        self._anchors: dict[str, Any] = {}
        self.has_inner_id = False  # then a path in a reference does not start at the root
        if not problem:
            self._note_places((), schema)

    def _note_places(self, start: tuple[str, ...], part: Any) -> None:
        for path, node in walk_schema(part):
            if isinstance(node, dict):
                self._places[id(node)] = start + path
                self._anchors |= {node[key]: node for key in ("$anchor", "$dynamicAnchor") if key in node}
                self.has_inner_id = self.has_inner_id or ("$id" in node and path != ())

    def engine(self, part: Any, keyword: str = "") -> Any:
        """The engine's validator for a part, or for one keyword of it that holds no schemas."""
        if (id(part), keyword) not in self._engines:
            self._engines[id(part), keyword] = self._compile(part, keyword)
        return self._engines[id(part), keyword]

    def _compile(self, part: Any, keyword: str) -> Any:
        from jsonschema_rs import Draft202012, Draft202012Validator, Registry

        if keyword:
            return Draft202012Validator({keyword: part[keyword]}, **_options())
        if part is self.schema or id(part) not in self._places:
            return Draft202012Validator(part, **_options())
        registry = Registry([(_ADDRESS, self.schema)], draft=Draft202012, retriever=_refuse)
        reference = {"$ref": _ADDRESS + pointer(self._places[id(part)])}
        return Draft202012Validator(reference, registry=registry, **_options())

    def fits(self, part: Any, value: Any, keyword: str = "") -> bool:
        return self.engine(part, keyword).is_valid(value)

    # The parts that speak about a value.

    def merged(self, part: Any) -> list[dict[str, Any]]:
        """The part, and those that `$ref` and `allOf` add to it whatever the value is."""
        found: list[dict[str, Any]] = []
        waiting = [part]
        while waiting:
            part = waiting.pop(0)
            part = _BOOLEANS[part] if isinstance(part, bool) else part
            if not isinstance(part, dict) or any(part is other for other in found):
                continue
            found.append(part)
            waiting += [self._target(part[key]) for key in ("$ref", "$dynamicRef") if key in part]
            waiting += part.get("allOf", ())
        return found

    def _target(self, reference: str) -> Any:
        root = self.schema.get("$id", "") if isinstance(self.schema, dict) else ""
        reference = "#" + reference.removeprefix(root).removeprefix("#")
        path = ref_path(reference)
        if path is None:
            return self._anchors.get(reference[1:])
        target = _lookup(self.schema, path)
        if isinstance(target, dict) and id(target) not in self._places:
            self._note_places(path, target)
        return target

    def in_place(self, parts: Iterable[Any], value: Any) -> list[dict[str, Any]]:
        """Every part that speaks about this value: also the branches that fit, `then` or `else`, and so on."""
        found: list[dict[str, Any]] = []
        waiting = list(parts)
        while waiting:
            for part in self.merged(waiting.pop(0)):
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
        """The parts that speak about one field or item of a value of which `parts` speak."""
        found: list[Any] = []
        for part in parts:
            inner = self._directly_below(part, key)
            kind = "unevaluatedProperties"
            if not inner and isinstance(key, str) and kind in part:
                others = [other for other in self.in_place([part], value) if other is not part]
                inner = [] if any(self._directly_below(other, key) for other in others) else [part[kind]]
            found += inner
        return found

    def _directly_below(self, part: dict[str, Any], key: str | int) -> list[Any]:
        if isinstance(key, int):
            first = part.get("prefixItems", ())
            return [first[key]] if key < len(first) else [part["items"]] if "items" in part else []
        found = [part["properties"][key]] if key in part.get("properties", ()) else []
        patterns = part.get("patternProperties", {}).items()
        found += [inner for pattern, inner in patterns if valid({"pattern": pattern}).fits(True, key)]
        return found or [part[name] for name in ("additionalProperties",) if name in part]

    def with_integers(self, value: Any, parts: Iterable[Any] | None = None) -> Any:
        """The value with `1.0` as `1` wherever the schema wants an integer; for values that fit."""
        if not isinstance(value, dict | list | float):
            return value
        parts = self.in_place([self.schema] if parts is None else parts, value)
        if isinstance(value, float):
            return int(value) if value.is_integer() and any(_wants_integer(part, value) for part in parts) else value
        if isinstance(value, list):
            items = enumerate(value)
            return [self.with_integers(item, self.below(parts, value, index)) for index, item in items]
        return {key: self.with_integers(item, self.below(parts, value, key)) for key, item in value.items()}


def _wants_integer(part: dict[str, Any], value: float) -> bool:
    types = as_list(part.get("type"))
    listed = any(type(option) is int and option == value for option in options_of(part))
    return listed or ("integer" in types and "number" not in types)

"""Rewrite a schema so that strict mode takes it, and say what that costs.

What the grammar cannot say goes into the description in plain words: the model reads it, nobody enforces it. So an
input is always judged with the ORIGINAL schema, after `restore`. Which schemas an API refuses is next door, in
`strict.py`. Annotations without force (`$schema`, `$comment`, `nullable`, …) are left out.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import quote

from .schema import conforms, schema_problem
from .strict import (
    FORMATS,
    NATURAL_TYPE,
    STRICT_RULES,
    Path,
    as_list,
    fits,
    looks_around,
    pointer,
    recursive_refs,
    ref_path,
    strict_budget,
    strict_refusals,
    unsupported_regex,
    walk_schema,
)
from .words import quoted

__all__ = ["Moved", "Narrowed", "Problem", "StrictSchema", "to_strict"]


class Moved(NamedTuple):
    """Moved into the description: no longer enforced by the API."""

    path: str
    keyword: str
    value: Any


class Narrowed(NamedTuple):
    """Changed so that the model may send less, or in another form, than the original says."""

    path: str
    keyword: str
    how: str


class Problem(NamedTuple):
    """What cannot be rewritten without your decision; the message ends with what to do."""

    path: str
    rule: str
    message: str


@dataclass(frozen=True)
class StrictSchema:
    """The schema to send as `strict`, and what it no longer says; send it only if `problems` is empty."""

    schema: dict[str, Any]
    moved: list[Moved] = field(default_factory=list)
    narrowed: list[Narrowed] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    forced: Mapping[Path, Collection[str]] = field(default_factory=dict, repr=False)  # object → names made nullable

    def restore(self, value: Any) -> Any:
        """The value as the original schema expects it: a null that stands for "left out" is left out again.

        Only where the original does not allow null: `{"city": "Oslo", "unit": None}` → `{"city": "Oslo"}`. The value
        given is not changed. The original schema says whether it is right.
        """
        places, been, result = dict(walk_schema(self.schema)), set(), [value]
        waiting: list[tuple[Any, Any, Path]] = [(result, 0, ())] if self.forced else []
        while waiting:
            holder, key, path = waiting.pop()
            node, value = places[path], holder[key]
            if (id(holder), key, path) in been:
                continue  # a reference that goes in a circle without a step into the value
            been.add((id(holder), key, path))
            if "$ref" in node:
                waiting.append((holder, key, ref_path(node["$ref"]) or ()))
            elif "anyOf" in node:
                branches = [(*path, "anyOf", str(index)) for index in range(len(node["anyOf"]))]
                waiting += [(holder, key, branch) for branch in branches if self._valid(value, branch)][:1]
            elif isinstance(value, dict):
                out = self.forced.get(path, ())
                holder[key] = fields = {
                    name: item for name, item in value.items() if item is not None or name not in out
                }
                waiting += [(fields, n, (*path, "properties", n)) for n in fields if n in node.get("properties", ())]
            elif isinstance(value, list) and "items" in node:
                holder[key] = items = list(value)
                waiting += [(items, index, (*path, "items")) for index in range(len(items))]
        return result[0]

    def _valid(self, value: Any, path: Path) -> bool:
        place = "urn:strict" + quote(pointer(path), safe="#/~")
        return conforms({"$ref": place, "$defs": {"whole": {"$id": "urn:strict", **self.schema}}}, value)


def to_strict(schema: Mapping[str, Any], provider: str = "anthropic") -> StrictSchema:
    """The schema in a provider's strict subset, as a new dict, with everything that changed.

    `{"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}` → the object closed, `n` described as
    "At least 1.", `moved == [("#/properties/n", "minimum", 1)]`. Judge what comes back with the original schema.
    """
    strict_refusals({}, provider)  # refuses an unknown provider at once
    too_large = StrictSchema({}, problems=[Problem("#", "strict-limits", "Too large or too deep. Make it smaller.")])
    if any(len(path) > _DEEPEST for path, _ in walk_schema(schema)):
        return too_large
    if unreadable := _unreadable(schema):
        return StrictSchema({}, problems=[Problem("#", "strict-invalid", unreadable)])
    work = _Rewrite(schema, provider)
    try:
        result = work.rewrite(schema, ())
    except (RecursionError, _TooLarge):
        return too_large
    refusals = strict_refusals(result, provider)
    if provider == "anthropic":  # what one tool alone may not spend
        refusals += [replace(over, path="#") for over in strict_budget([{"strict": True, "input_schema": result}])]
    for refusal in refusals:
        if refusal.rule not in ("strict-missing-ref", "strict-external-ref"):  # reported already, and where they were
            message = f"{refusal.message.rstrip('.')}. {STRICT_RULES[refusal.rule].advice}"
            work.problems.append(Problem(refusal.path, refusal.rule, message))
    if result.get("type") != "object" and provider == "anthropic":
        work.problem((), "root-object", 'A tool needs "type": "object" at the root. Write it as one object.')
    forced = {path: work.forced[id(node)] for path, node in walk_schema(result) if id(node) in work.forced}
    return StrictSchema(result, work.moved, work.narrowed, work.problems, forced)


_LARGEST = 20_000  # schemas in the result and references followed
_DEEPEST = 250  # steps from the root; the engine reads no more either, and thousands would overflow its stack
_ANNOTATIONS = frozenset("title description default examples".split())
_SHAPES = frozenset("type $ref enum const items anyOf oneOf allOf properties".split())
_OTHERS = frozenset("$defs definitions not if then else minContains maxContains".split())
_KNOWN = NATURAL_TYPE.keys() | _ANNOTATIONS | _SHAPES | _OTHERS
_NUMBERS = frozenset(keyword for keyword, type in NATURAL_TYPE.items() if type == "number")
_KEPT = {
    "anthropic": frozenset("type title description $ref enum const default".split()),
    "openai": frozenset("type title description $ref enum const pattern minItems maxItems".split()) | _NUMBERS,
}
_OF_OBJECTS = frozenset("required additionalProperties patternProperties unevaluatedProperties".split())  # see `close`
_WORDS = {"minimum": "At least {}.", "maximum": "At most {}.", "exclusiveMinimum": "More than {}."}
_WORDS |= {"exclusiveMaximum": "Less than {}.", "multipleOf": "A multiple of {}.", "pattern": "Matches {}."}
_WORDS |= {"format": "Format: {}.", "default": "Default: {}.", "examples": "Examples: {}."}
_COUNTED = {"Length": "character", "Items": "item", "Properties": "field"}
_BY_HAND = "Write both as one schema by hand."
_TYPES = ("null", "boolean", "integer", "number", "string", "object", "array")


class _TooLarge(Exception):
    pass


class _Rewrite:
    """One pass over one schema; it fills the lists that the result carries."""

    def __init__(self, root: Mapping[str, Any], provider: str):
        self.provider, self.size = provider, 0
        self.places, self.circles = dict(walk_schema(root)), recursive_refs(root)
        self.moved: list[Moved] = []
        self.narrowed: list[Narrowed] = []
        self.problems: list[Problem] = []
        self.forced: dict[int, list[str]] = {}
        self.null_allowed: dict[Path, bool] = {}
        self.used: set[Path] = set()  # what the root reaches; other definitions would only enlarge the grammar
        for path, node in self.places.items():
            if isinstance(node, dict) and "$ref" in node and ref_path(node["$ref"]) not in self.places:
                rule = "missing-ref" if node["$ref"].startswith("#") else "external-ref"
                self.problem(path, rule, f"{node['$ref']} is not in this schema. {_advice(rule)}")
        reached: list[Any] = [root]
        for part in reached:  # grows while it is read
            for _, node in walk_schema(part, skip=("$defs", "definitions")):
                target = ref_path(node.get("$ref")) if isinstance(node, dict) else None
                if target in self.places and target not in self.used:
                    self.used.add(target)
                    reached.append(self.places[target])

    def grow(self) -> None:
        self.size += 1
        if self.size > _LARGEST:
            raise _TooLarge

    def problem(self, path: Path, rule: str, message: str) -> None:
        self.problems.append(Problem(pointer(path), f"strict-{rule}", message))

    def narrow(self, path: Path, keyword: str, how: str) -> None:
        self.narrowed.append(Narrowed(pointer(path), keyword, how))

    def rewrite(self, node: Any, path: Path) -> dict[str, Any]:
        """One schema as a new dict, everything inside it rewritten too."""
        self.grow()
        node = self.typed(self.spread(self.folded(node, path), path), path)  # `true` becomes {}: the lint names it
        types, pure_union, words = as_list(node.get("type")), not _beside_union(node), []
        out: dict[str, Any] = {}
        for keyword, value in node.items():
            inside = (*path, keyword)
            if keyword in ("$defs", "definitions"):
                used = {name: child for name, child in value.items() if (*inside, name) in self.used}
                out |= {keyword: {n: self.rewrite(child, (*inside, n)) for n, child in used.items()}} if used else {}
            elif keyword == "properties" and "object" in types:
                out[keyword] = {name: self.rewrite(child, (*inside, name)) for name, child in value.items()}
            elif keyword == "anyOf" and pure_union:
                out[keyword] = [self.rewrite(child, (*inside, str(index))) for index, child in enumerate(value)]
            elif keyword in _OF_OBJECTS or (types and not _speaks_of(keyword, types)):
                continue
            elif keyword == "items":
                out[keyword] = self.rewrite(value, inside)
            elif keyword == "prefixItems":
                self.problem(path, "items-list", f"A list with places cannot be said. {_advice('items-list')}")
            elif self.supported(keyword, value):
                out[keyword] = deepcopy(value)
            elif sentence := _in_words(keyword, value):
                words.append(sentence)
                self.moved.append(Moved(pointer(path), keyword, deepcopy(value)))
        if "object" in types:
            self.close(node, out, path)
        if words:
            before = out.get("description", "").rstrip()
            before += "." if before and before[-1] not in ".!?:" else ""
            out["description"] = " ".join([before, *words]).strip()
        return out

    def supported(self, keyword: str, value: Any) -> bool:
        if keyword == "format":
            return value in FORMATS[self.provider]
        if self.provider == "anthropic" and keyword in ("pattern", "minItems"):
            return value in (0, 1) if keyword == "minItems" else unsupported_regex(value) is None
        if keyword == "pattern" and looks_around(value):
            return False
        return keyword in _KEPT[self.provider]

    def folded(self, node: Any, path: Path, keep_ref: bool = True) -> dict[str, Any]:
        """`allOf`, and `$ref` with something beside it, as one schema; a plain `$ref` to a definition stays."""
        node = {keyword: value for keyword, value in _dict(node).items() if keyword in _KNOWN}
        seen: set[Path] = set()
        while "$ref" in node:
            self.grow()
            ref, beside = {"$ref": node["$ref"]}, {key: value for key, value in node.items() if key != "$ref"}
            target = ref_path(node["$ref"])
            if target not in self.places:
                return ref  # reported already
            named = keep_ref and (target == () or target[:-1] in (("$defs",), ("definitions",)))
            circle = target in seen or (target in self.circles and (bool(path) or not keep_ref))
            if named and path and (not beside or (circle and self.provider == "anthropic")):
                return ref
            if circle and named and beside.keys() <= _ANNOTATIONS:
                return {**beside, "anyOf": [ref]}
            if circle:  # written out, it would never end
                self.problem(path, "recursion", f"{ref['$ref']} leads back to itself. Refer to it by a plain $ref.")
                return ref
            seen.add(target)
            whole = {keyword: value for keyword, value in _dict(self.places[target]).items() if keyword in _KNOWN}
            joined = _both(beside, whole)
            if joined is None:
                self.problem(path, "ref-siblings", f"{ref['$ref']} and what stands beside it clash. {_BY_HAND}")
            node = whole if joined is None else joined
        left, items = [], node.pop("allOf", [])
        for item in items:
            item = self.folded(item, path, keep_ref=False)
            joined = _both(node, item)
            if joined is None:
                left.append(item)
                self.new_names([item], node, path, "allOf")
            else:
                node = joined
        return {**node, "allOf": [*node.get("allOf", []), *left]} if left else node

    def spread(self, node: dict[str, Any], path: Path) -> dict[str, Any]:
        """`oneOf` as `anyOf`, with what is beside a union moved into its branches."""
        keyword = "anyOf" if "anyOf" in node else "oneOf"
        if keyword not in node:
            return node
        branches = [_dict(branch) for branch in node[keyword]]
        if beside := {key: node[key] for key in _beside_union(node) - {keyword}}:
            joined = [_both(beside, branch) for branch in branches]
            if not path or None in joined or not any(branch.keys() & _SHAPES for branch in branches):
                self.new_names(branches, node, path, keyword)
                return node  # only words are left for it
            branches = joined
        if keyword == "oneOf":
            self.narrow(path, "oneOf", "became anyOf: a value may now fit several branches")
        return {key: node[key] for key in node if key not in beside and key != keyword} | {"anyOf": branches}

    def new_names(self, parts: Sequence[dict[str, Any]], node: dict[str, Any], path: Path, keyword: str) -> None:
        """What can only be said in words must not add properties: the closed object would forbid them."""
        names = {name for part in parts for name in part.get("properties", ())} - node.get("properties", {}).keys()
        if names or any("$ref" in part for part in parts):
            listed = ", ".join(sorted(names)) or "a reference"
            self.problem(path, "any-of-siblings", f"{keyword} brings {listed} into this object. {_BY_HAND}")

    def typed(self, node: dict[str, Any], path: Path) -> dict[str, Any]:
        """A type where one is missing, and one that agrees with `enum` or `const`."""
        types = as_list(node.get("type"))
        shaped = node.keys() & {"$ref", "enum", "const"} or ("anyOf" in node and not _beside_union(node))
        if not types and not shaped:
            natural = next((NATURAL_TYPE[keyword] for keyword in node if keyword in NATURAL_TYPE), None)
            if natural:
                self.narrow(path, "type", f"only {natural} can be sent")
            return {"type": natural, **node} if natural else node
        values = node["enum"] if "enum" in node else [node["const"]] if "const" in node else []
        values = [value for value in values if not types or any(fits(value, type) for type in types)]
        used = [type for type in types or _TYPES if any(fits(value, type) for value in values)]
        if not used:
            return node  # no values, or none that fits: the lint names it
        node = {**node, "enum": values} if "enum" in node else dict(node)
        if self.provider == "openai" or (types and len(used) == 1):
            node["type"] = used[0] if len(used) == 1 else used
        else:
            node.pop("type", None)
        return node

    def close(self, node: dict[str, Any], out: dict[str, Any], path: Path) -> None:
        """The object with only its listed properties; for OpenAI with all of them required."""
        properties, required = out.setdefault("properties", {}), as_list(node.get("required"))
        extra, patterns = node.get("additionalProperties", True), "patternProperties" in node
        free = patterns or (extra is not False and node.get("unevaluatedProperties") is not False)
        if free and not properties and (path or patterns or isinstance(extra, dict)):
            text = "Any key is allowed here, and a closed object would only take {}. "
            self.problem(path, "free-keys", f"{text}List the keys as properties, or use a list of key and value.")
        elif free:
            self.narrow(path, "additionalProperties", "only the listed properties can be sent")
        if unknown := [name for name in required if name not in properties]:
            self.problem(path, "required-unknown", f"Required but no property: {', '.join(unknown)}. List it there.")
        out["additionalProperties"] = False
        if self.provider == "anthropic":
            out |= {"required": [name for name in required if name in properties]} if "required" in node else {}
            return
        out["required"] = list(properties)
        for name in [name for name in properties if name not in required]:
            self.narrow((*path, "properties", name), "required", "always sent; null stands for left out")
            if not self.allows_null(node["properties"][name]):
                properties[name] = _nullable(properties[name])
                self.forced.setdefault(id(out), []).append(name)

    def allows_null(self, node: Any) -> bool:
        """Whether the original schema takes null here."""
        if not isinstance(node, dict):
            return node is not False
        target = ref_path(node.get("$ref"))
        if target in self.places and target not in self.null_allowed:
            self.null_allowed[target] = True  # for a circle: what it says of itself changes nothing
            self.null_allowed[target] = self.allows_null(self.places[target])
        return (
            (target is None or self.null_allowed.get(target, True))
            and "null" in as_list(node.get("type", "null"))
            and None in node.get("enum", [None])
            and node.get("const") is None
            and all(any(map(self.allows_null, node[union])) for union in ("anyOf", "oneOf") if union in node)
            and all(map(self.allows_null, node.get("allOf", ())))
        )


def _advice(rule: str) -> str:
    return STRICT_RULES[f"strict-{rule}"].advice


def _dict(schema: Any) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else {}


def _beside_union(node: Mapping[str, Any]) -> set[str]:
    return node.keys() - _ANNOTATIONS - {"anyOf", "$defs", "definitions"}


def _speaks_of(keyword: str, types: Collection[str]) -> bool:
    return NATURAL_TYPE.get(keyword) in {None, *types} or (keyword in _NUMBERS and "integer" in types)


def _both(one: Any, other: Any) -> Any:
    """One schema that says what both say, or None where that takes two; annotations of the first win."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one if one == other else None
    for a, b in ((one, other), (other, one)):
        closed: Any = a.get("additionalProperties", True) is not True or a.keys() & {"patternProperties"}
        closed = closed or (a is other and "unevaluatedProperties" in a)
        if closed and ("patternProperties" in b or b.get("properties", {}).keys() - a.get("properties", {}).keys()):
            return None
    result = {**other, **one}
    for keyword in one.keys() & other.keys() - _ANNOTATIONS:
        mine, theirs = one[keyword], other[keyword]
        if keyword == "required":
            result[keyword] = list(dict.fromkeys([*mine, *theirs]))
        elif keyword == "allOf":
            result[keyword] = [*mine, *theirs]
        elif keyword == "type":
            shared = [type for type in as_list(mine) if type in as_list(theirs)]
            result[keyword] = (shared if len(shared) > 1 else shared[0]) if shared else None
        elif keyword == "properties":
            same = {name: _both(mine[name], theirs[name]) for name in mine if name in theirs}
            result[keyword] = None if None in same.values() else {**mine, **theirs, **same}
        elif mine != theirs:
            return None
        if result[keyword] is None:
            return None
    return result


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    """The same dict with null allowed as well; wrapped where `type` alone does not say it."""
    if "anyOf" in node:
        node["anyOf"].append({"type": "null"})
    elif node.keys() & {"$ref", "enum", "const"}:
        said: dict[str, Any] = {key: node.pop(key) for key in ("description", "title") if key in node}
        return {"anyOf": [node, {"type": "null"}], **said}
    elif "type" in node:
        node["type"] = [*as_list(node["type"]), "null"]
    return node


def _in_words(keyword: str, value: Any) -> str:
    """`("maxLength", 200)` → `"At most 200 characters."`; what has no words is given as JSON."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if keyword == "uniqueItems":
        return "No two items are equal." if value else ""
    if keyword in _WORDS:
        return _WORDS[keyword].format(said)
    if keyword[3:] in _COUNTED:
        return f"At {keyword[:3].replace('min', 'least').replace('max', 'most')} {said} {_COUNTED[keyword[3:]]}" + (
            "." if value == 1 else "s."
        )
    if keyword in ("anyOf", "oneOf") and all(isinstance(item, dict) and item.keys() == {"required"} for item in value):
        names = "; or ".join(" and ".join(item["required"]) for item in value)
        return f"Needs {'at least' if keyword == 'anyOf' else 'exactly'} one of: {names}."
    return f"{keyword}: {said}."


def _unreadable(schema: Any) -> str | None:
    import jsonschema_rs

    if not isinstance(schema, dict):
        return 'A schema is a dict such as {"type": "object", "properties": {}}. Pass one.'
    try:
        json.dumps(schema, allow_nan=False)  # the engine looks into no value that it need not compare
        jsonschema_rs.meta.validate({keyword: value for keyword, value in schema.items() if keyword != "$schema"})
    except jsonschema_rs.ValidationError as error:
        where = pointer([str(step) for step in error.instance_path])
        return f"Not JSON Schema of draft 2020-12, at {where}: {error.message}. Correct it there."
    except (TypeError, ValueError, RecursionError) as error:
        return f"Not plain JSON: {error}. Use what JSON can hold, and flatten what is very deep."
    for path, node in walk_schema(schema):
        if isinstance(node, dict) and "pattern" in node and schema_problem({"pattern": node["pattern"]}):
            where, pattern = pointer([*path, "pattern"]), quoted(node["pattern"])
            return f"{pattern}, at {where}, is not a regular expression that can be checked. Correct it there."
    return None

"""Strict mode's subset of JSON Schema, for two providers: what they refuse, and how much one request may hold.

`strict: true` turns a schema into a grammar, and a grammar cannot say all a schema can. Here is what the APIs
answer 400 for, in their own words. Rewriting a schema so that it passes is next door, in `strict_transform.py`; what
makes a tool definition legal without `strict` is in `protocol.py`.
https://platform.claude.com/docs/en/build-with-claude/structured-outputs
https://developers.openai.com/api/docs/guides/structured-outputs
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, NamedTuple
from urllib.parse import unquote

__all__ = [
    "FORMATS",
    "NATURAL_TYPE",
    "STRICT_RULES",
    "Path",
    "Refusal",
    "Rule",
    "StrictCount",
    "as_list",
    "count_strict",
    "fits",
    "looks_around",
    "pointer",
    "recursive_refs",
    "ref_path",
    "strict_budget",
    "strict_refusals",
    "unsupported_regex",
    "walk_schema",
]

Path = tuple[str, ...]


class Rule(NamedTuple):
    """What a rule checks, where we have it from, how sure that is, and what to do when it refuses."""

    checks: str
    source: str
    certainty: str  # docs | sdk | recorded | reported | uncertain
    advice: str


_DOCS, _OPENAI = "docs: Structured outputs", "OpenAI docs: Structured outputs"
_LENGTH = "minLength, maxLength: the docs say 400; four live probes got 200, and nothing enforced"
STRICT_RULES = {
    "strict-unsupported-keyword": Rule(
        "keywords a grammar cannot say", _DOCS, "docs", "Take it out, check it yourself."
    ),
    "strict-string-length": Rule(_LENGTH, f"{_DOCS}; probes 2026-07 to 09", "uncertain", "Check the length yourself."),
    "strict-open-object": Rule("additionalProperties false on every object", _DOCS, "docs", "Close the object."),
    "strict-recursion": Rule("a definition leads back to itself", _DOCS, "docs", "Write out the levels you need."),
    "strict-empty-schema": Rule("a schema without a type", "reported 2026-09", "reported", "Give it a type."),
    "strict-one-of": Rule("oneOf", "reported 2026-08", "reported", "Use anyOf."),
    "strict-any-of-siblings": Rule(
        "beside anyOf or allOf", "reported 2026-09", "reported", "Put it into the branches."
    ),
    "strict-all-of-ref": Rule("allOf with $ref (text ours)", _DOCS, "docs", "Write both as one schema."),
    "strict-format": Rule("format outside the provider's list", _DOCS, "docs", "Take the format out."),
    "strict-pattern": Rule("regular expressions that are not simple", _DOCS, "docs", "Simplify the pattern."),
    "strict-lookaround": Rule(
        "OpenAI: a pattern that looks around", "reported 2026-05 to 09", "reported", "Rewrite it."
    ),
    "strict-enum-type": Rule("enum that its type does not fit", "reported 2026-09", "reported", "Leave the type out."),
    "strict-enum-complex": Rule("objects or lists in enum, const (text ours)", _DOCS, "docs", "List plain values."),
    "strict-min-items": Rule("minItems other than 0 or 1", _DOCS, "docs", "Say the number in the description."),
    "strict-items-list": Rule("items as a list", "reported 2026-09", "reported", "Name the places as properties."),
    "strict-external-ref": Rule("$ref to another document (text ours)", _DOCS, "docs", "Copy it into $defs."),
    "strict-missing-ref": Rule(
        "$ref to what is not there", "both APIs' texts: reported 2026", "reported", "Add it to $defs."
    ),
    "strict-too-many-tools": Rule("20 strict tools a request", _DOCS, "docs", "Strict where a wrong shape costs."),
    "strict-too-many-optional": Rule("24 optional parameters a request", _DOCS, "docs", "Require more of them."),
    "strict-too-many-unions": Rule("16 parameters with a union a request", _DOCS, "docs", "Split fields or tools."),
    "strict-root-object": Rule("OpenAI: the root is an object, no union", _OPENAI, "docs", "Write it as one object."),
    "strict-all-required": Rule("OpenAI: every property is required", _OPENAI, "docs", "Require it, nullable."),
    "strict-ref-siblings": Rule(
        "OpenAI: a keyword beside $ref", "reported 2025-08 to 2026-08", "reported", "Leave $ref alone."
    ),
    "strict-missing-items": Rule(
        "OpenAI: an array without items", "reported 2024-07 to 2025-08", "reported", "Add items."
    ),
    "strict-limits": Rule("OpenAI: 5000 properties, 10 levels, 1000 enum values", _OPENAI, "docs", "Make it smaller."),
}

FORMATS = {"anthropic": frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split())}
FORMATS["openai"] = FORMATS["anthropic"] - {"uri"}
# The type a keyword speaks about: on a value of another type it has no force.
NATURAL_TYPE = {
    **dict.fromkeys("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(), "number"),
    **dict.fromkeys("minLength maxLength pattern format".split(), "string"),
    **dict.fromkeys("items minItems maxItems uniqueItems prefixItems contains unevaluatedItems".split(), "array"),
    **dict.fromkeys("properties required additionalProperties minProperties maxProperties".split(), "object"),
    **dict.fromkeys("patternProperties propertyNames unevaluatedProperties".split(), "object"),
    **dict.fromkeys("dependentRequired dependentSchemas".split(), "object"),
}
_LENGTHS = frozenset({"minLength", "maxLength"})
_TAKEN = frozenset("properties required additionalProperties items minItems pattern format".split())
_ANTHROPIC_REFUSES = (NATURAL_TYPE.keys() | {"if"}) - _TAKEN - _LENGTHS  # oneOf, not, minItems have their own texts
_BESIDE_UNION = _ANTHROPIC_REFUSES | _TAKEN | {"type", "$ref", "$defs", "definitions", "discriminator"}
_NUMBERS = {keyword for keyword, type in NATURAL_TYPE.items() if type == "number"}
_OPENAI_REFUSES = (_ANTHROPIC_REFUSES - _NUMBERS - {"maxItems"}) | {"allOf", "oneOf", "not", "then", "else"}

_MAPS = frozenset("properties $defs definitions patternProperties dependentSchemas".split())
_LISTS = frozenset("anyOf oneOf allOf prefixItems items".split())
_SINGLES = frozenset("items additionalProperties not if then else contains propertyNames unevaluatedProperties".split())
_REFUSED_WHOLE = _SINGLES - {"items"} | {"patternProperties", "dependentSchemas", "prefixItems"}
_DEEPEST = 2000  # steps from the root: further down nothing is looked at, as no engine reads half as deep


@dataclass(frozen=True)
class Refusal:
    """One reason for a 400. `path` is written as in a `$ref`. Before `message`, Anthropic puts the place, such as
    `tools.0.custom: `, and OpenAI `Invalid schema for function 'name': `."""

    path: str
    keyword: str
    message: str
    rule: str


class StrictCount(NamedTuple):
    """What counts towards a request's budget. A definition counts once, however often it is referred to."""

    optional: int
    unions: int


def pointer(path: Sequence[str]) -> str:
    """`("properties", "a/b")` → `"#/properties/a~1b"`."""
    return "/".join(["#", *(token.replace("~", "~0").replace("/", "~1") for token in path)])


def ref_path(ref: Any) -> Path | None:
    """`"#/$defs/N"` → `("$defs", "N")`; None for anything but a pointer into the same document."""
    if ref == "#":
        return ()
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return None
    return tuple(unquote(token).replace("~1", "/").replace("~0", "~") for token in ref[2:].split("/"))


def as_list(value: Any) -> list[Any]:
    """`type` may be a word or a list: `"string"` → `["string"]`, nothing → `[]`."""
    return value if isinstance(value, list) else [] if value is None else [value]


def fits(value: Any, type: str) -> bool:
    """Whether a value is of a JSON type: `True` is not an integer, `1.0` is."""
    if isinstance(value, bool):
        return type == "boolean"
    if type == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    python = {"string": str, "number": int | float, "null": NoneType, "object": dict, "array": list}
    return type in python and isinstance(value, python[type])


def walk_schema(schema: Any, skip: Collection[str] = ()) -> Iterator[tuple[Path, Any]]:
    """Every schema inside a schema with its path, in document order; a property *named* like a keyword is not one."""
    stack: list[tuple[Path, Any]] = [((), schema)]
    while stack:  # an explicit stack, so depth is no danger
        path, node = stack.pop()
        yield path, node
        inside: list[tuple[Path, Any]] = []
        for keyword, value in node.items() if isinstance(node, dict) and len(path) < _DEEPEST else ():
            if keyword in skip:
                continue
            if keyword in _MAPS and isinstance(value, dict):
                inside += [((*path, keyword, str(name)), child) for name, child in value.items()]
            elif keyword in _LISTS and isinstance(value, list):
                inside += [((*path, keyword, str(index)), child) for index, child in enumerate(value)]
            elif keyword in _SINGLES:
                inside.append(((*path, keyword), value))
        stack += reversed(inside)


def recursive_refs(schema: Any) -> dict[Path, list[Path]]:
    """The definitions that lead back to themselves, each with one way round, such as N → N or A → B → A."""
    found = ((path, node.get("$ref")) for path, node in walk_schema(schema) if isinstance(node, dict))
    refs = [(path, target) for path, ref in found if (target := ref_path(ref)) is not None]
    leads_to: dict[Path, dict[Path, None]] = {target: {} for _, target in refs}
    for path, target in refs:
        for start in (path[:length] for length in range(len(path) + 1)):
            if start in leads_to:
                leads_to[start][target] = None
    circles = {}
    for start in _without_ends(leads_to):
        came_from: dict[Path, Path] = {}
        waiting = [start]
        while waiting and start not in came_from:
            here = waiting.pop(0)
            fresh = [target for target in leads_to[here] if target not in came_from]
            came_from |= dict.fromkeys(fresh, here)
            waiting += fresh
        if start in came_from:
            way = [start, came_from[start]]
            while way[-1] != start:
                way.append(came_from[way[-1]])
            circles[start] = way[::-1]
    return circles


def _without_ends(leads_to: Mapping[Path, Collection[Path]]) -> list[Path]:
    """Those that lead on for ever; a chain that ends is not a circle, however long it is."""
    left = {here: len(targets) for here, targets in leads_to.items()}
    comes_from: dict[Path, list[Path]] = {here: [] for here in leads_to}
    for here, targets in leads_to.items():
        for target in targets:
            comes_from[target].append(here)
    ends = [here for here, count in left.items() if not count]
    while ends:
        for before in comes_from[ends.pop()]:
            left[before] -= 1
            ends += [before] if not left[before] else []
    return [here for here, count in left.items() if count]


_REGEX_TOKEN = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|\(\?<?.|\{\d+(?:,\d*)?\}|.", re.DOTALL)
_LARGEST_REPEAT = 100  # our number: the docs only say that large {n,m} ranges are refused


def unsupported_regex(pattern: str) -> str | None:
    """What strict mode cannot compile in a `pattern`, or None: `"(?=a)"` → `"Lookaround is not supported."`."""
    for token in _REGEX_TOKEN.findall(pattern):
        if re.match(r"\\[1-9k]", token):
            return "Backreferences are not supported."
        if re.match(r"\\[bBpPAGzZ]|\[.*\\[pP]", token, re.DOTALL):
            return f"{token} is not supported."
        if token.startswith("(?") and token != "(?:":
            return "Lookaround is not supported." if token[-1] in "=!" else f"{token} is not supported."
        if token.startswith("{") and any(float(number) > _LARGEST_REPEAT for number in re.findall(r"\d+", token)):
            return "pattern is too complex for structured output: reduce the {n,m} upper bound"
    return None


def looks_around(pattern: str) -> bool:
    """Whether a pattern holds a lookahead or lookbehind: `"^(?!b)"` → True, `"[(?=]"` → False."""
    return any(token.startswith("(?") and token[-1] in "=!" for token in _REGEX_TOKEN.findall(pattern))


def strict_refusals(schema: Any, provider: str = "anthropic", *, settings: Collection[str] = ()) -> list[Refusal]:
    """What the API would answer 400 for, in document order; it reports only the first.

    `{"type": "integer", "minimum": 1}` → one refusal, "For 'integer' type, property 'minimum' is not supported".
    With `"strict-string-length"` in `settings`, `minLength` and `maxLength` are refused too (see STRICT_RULES).
    """
    if provider not in FORMATS:
        raise ValueError(f'provider is "anthropic" or "openai", not {provider!r}')
    places, told = dict(walk_schema(schema)), set()
    circles = recursive_refs(schema) if provider == "anthropic" else {}
    check = _anthropic if provider == "anthropic" else _openai
    lengths = _LENGTHS if "strict-string-length" in settings else frozenset()
    refusals = []
    for path, node in walk_schema(schema, skip=_REFUSED_WHOLE):
        node = node if isinstance(node, dict) else {}
        found = list(check(node, path, lengths))
        if "$ref" in node:
            ref, target = node["$ref"], ref_path(node["$ref"])
            if target in circles and target not in told:  # a circle is reported once, at the first reference into it
                told.update(circles[target])
                names = " -> ".join(step[-1] if step else "#" for step in circles[target])
                text = f"Invalid schema: Circular reference detected in schema definitions: {names}. "
                text += "Self-referencing or mutually-referencing definitions are not supported."
                found.append(("recursion", "$ref", text))
            elif target is None and not str(ref).startswith("#"):
                found.append(("external-ref", "$ref", f"Invalid schema: External references are not supported: {ref}"))
            elif target not in places:
                text = f"Invalid schema: Reference to non-existent definition: {ref}"
                if provider == "openai":
                    text = f"In context={path!r}, reference to component '{ref}' which was not found in the schema."
                found.append(("missing-ref", "$ref", text))
        refusals += [Refusal(pointer(path), keyword, text, f"strict-{rule}") for rule, keyword, text in found]
    return refusals + (_openai_limits(places) if provider == "openai" else [])


_Found = Iterator[tuple[str, str, str]]  # rule without its prefix, keyword, message


def _anthropic(node: Mapping[str, Any], path: Path, lengths: Collection[str]) -> _Found:
    types = [type for type in as_list(node.get("type")) if isinstance(type, str)]
    if "oneOf" in node:
        yield "one-of", "oneOf", "Schema type 'oneOf' is not supported"
    if "not" in node:
        yield "unsupported-keyword", "not", "Schema keyword 'not' is not supported"
    if any(isinstance(item, dict) and "$ref" in item for item in as_list(node.get("allOf"))):
        yield "all-of-ref", "allOf", "For 'allOf', '$ref' is not supported"
    if "anyOf" in node or "allOf" in node:
        if beside := ", ".join(sorted(_BESIDE_UNION & node.keys())):  # the text says anyOf for both
            yield "any-of-siblings", beside, f"For 'anyOf', '{beside}' is not supported"
        return
    if not node.keys() & {"type", "enum", "const", "$ref", "oneOf", "not"}:
        text = "Empty schema ({}) that accepts any JSON value is not supported. Please specify a concrete type."
        yield "empty-schema", "type", text
        return
    if "object" in types and node.get("additionalProperties") is not False:
        text = "For 'object' type, 'additionalProperties' must be explicitly set to false"
        yield "open-object", "additionalProperties", text
    for rule, refused in (("unsupported-keyword", _ANTHROPIC_REFUSES), ("string-length", lengths)):
        by_type: dict[str, list[str]] = {}
        for keyword in sorted(node.keys() & refused):
            natural = NATURAL_TYPE.get(keyword, "object")
            natural = "integer" if natural == "number" and "number" not in types else natural
            by_type.setdefault(natural if natural in types or not types else types[0], []).append(keyword)
        for type, keywords in by_type.items():
            names = ", ".join(keywords)
            what = f"properties {names} are" if len(keywords) > 1 else f"property '{names}' is"
            yield rule, names, f"For '{type}' type, {what} not supported"
    if "string" in types and str(node.get("format", "uuid")) not in FORMATS["anthropic"]:
        yield "format", "format", f"For 'string' type, format '{node['format']}' is not supported"
    if "string" in types and (feature := unsupported_regex(str(node.get("pattern", "")))):
        yield "pattern", "pattern", f"Unsupported regex feature in pattern field: {feature}"
    if node.get("minItems", 0) not in (0, 1):
        yield "min-items", "minItems", "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    if isinstance(node.get("items"), list):
        text = "Invalid schema: Array types must be specified with a single object schema for 'items'."
        yield "items-list", "items", text
    values = as_list(node.get("enum"))
    if any(isinstance(value, dict | list) for value in [*values, node.get("const")]):
        yield "enum-complex", "enum" if values else "const", "Enum values of type object or array are not supported"
    if unfit := [value for value in values if types and (len(types) > 1 or not fits(value, types[0]))]:
        text = f"Invalid schema: Enum value '{unfit[0]}' does not match declared type '{node['type']}'"
        yield "enum-type", "enum", text


def _openai(node: Mapping[str, Any], path: Path, lengths: Collection[str]) -> _Found:
    here, types = f"In context={path!r}, ", as_list(node.get("type"))
    if not path and (node.get("type") != "object" or node.keys() & {"oneOf", "anyOf", "allOf", "enum", "not"}):
        text = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
        yield "root-object", "type", text
    elif not node.keys() & ({"type", "enum", "const", "anyOf", "$ref"} | _OPENAI_REFUSES):
        yield "empty-schema", "type", f"{here}schema must have a 'type' key."
    if "$ref" in node and path and len(node) > 1:
        beside = ", ".join(repr(keyword) for keyword in sorted(node.keys() - {"$ref"}))
        yield "ref-siblings", "$ref", f"{here}$ref cannot have keywords {{{beside}}}."
    for keyword in node:
        if keyword in _OPENAI_REFUSES or keyword in lengths:
            rule = {"oneOf": "one-of"}.get(keyword, "string-length" if keyword in lengths else "unsupported-keyword")
            yield rule, keyword, f"{here}'{keyword}' is not permitted."
    if "object" in types:
        if node.get("additionalProperties") is not False:
            text = f"{here}'additionalProperties' is required to be supplied and to be false."
            yield "open-object", "additionalProperties", text
        required = as_list(node.get("required"))
        if missing := [name for name in _properties(node) if name not in required]:
            text = f"{here}'required' is required to be supplied and to be an array including every key in properties."
            yield "all-required", "required", f"{text} Missing '{missing[0]}'."
    if "array" in types and not isinstance(node.get("items"), dict):
        yield "missing-items", "items", f"{here}array schema missing items."
    if looks_around(str(node.get("pattern", ""))):
        place = re.sub(r"\.(\d+)(?=\.)", r"[\1]", ".".join(["$", *path, "pattern"]))  # as quoted in a report of 2026-09
        yield "lookaround", "pattern", f"Invalid JSON schema: regex lookaround is not supported. Found at {place}."
    if str(node.get("format", "uuid")) not in FORMATS["openai"]:
        yield "format", "format", f"{here}'{node['format']}' is not a valid format."


def _properties(node: Mapping[str, Any]) -> Mapping[str, Any]:
    return node["properties"] if isinstance(node.get("properties"), dict) else {}


def _level(path: Path) -> int:
    """How many objects and arrays lie around a place."""
    level, steps = 0, iter(path)
    for keyword in steps:
        level += keyword in ("properties", "items")
        if keyword in (_MAPS | _LISTS) - {"items"}:
            next(steps, None)  # the name or the number after it
    return level


def _openai_limits(places: Mapping[Path, Any]) -> list[Refusal]:
    nodes = [node for node in places.values() if isinstance(node, dict)]
    measured = [
        (sum(len(_properties(node)) for node in nodes), "properties", 5000),
        (max(map(_level, places)), "levels", 10),
        (sum(len(as_list(node.get("enum"))) for node in nodes), "enum values", 1000),
    ]
    text = "Schema has {} {}; the limit is {}."
    return [Refusal("#", m[1], text.format(*m), "strict-limits") for m in measured if m[0] > m[2]]


def count_strict(schema: Any) -> StrictCount:
    """How many optional parameters and unions a schema holds, at every depth and in its definitions."""
    nodes = [node for _, node in walk_schema(schema) if isinstance(node, dict)]
    optional = sum(name not in as_list(node.get("required")) for node in nodes for name in _properties(node))
    return StrictCount(optional, sum("anyOf" in node or isinstance(node.get("type"), list) for node in nodes))


def strict_budget(tools: Sequence[Mapping[str, Any]], output_schema: Any = None) -> list[Refusal]:
    """What the API refuses about all strict tools of a request and its output format together.

    Two strict tools with 13 optional parameters each → one refusal that says 26 and the limit, 24.
    """
    strict = [tool for tool in tools if tool.get("strict") is True]
    counts = [count_strict(tool.get("input_schema")) for tool in strict] + [count_strict(output_schema)]
    optional, unions = sum(count.optional for count in counts), sum(count.unions for count in counts)
    many_tools = f"Too many strict tools ({len(strict)}). The maximum number of strict tools supported is 20."
    many_optional = (
        f"Schemas contains too many optional parameters ({optional}), which would make grammar compilation "
        "inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24)."
    )
    many_unions = (
        f"Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf). "
        "This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters "
        "(limit: 16 parameters with unions)."
    )
    checks = [
        (len(strict) > 20, Refusal("tools", "strict", many_tools, "strict-too-many-tools")),
        (optional > 24, Refusal("tools", "required", many_optional, "strict-too-many-optional")),
        (unions > 16, Refusal("tools", "anyOf", many_unions, "strict-too-many-unions")),
    ]
    return [refusal for over, refusal in checks if over]

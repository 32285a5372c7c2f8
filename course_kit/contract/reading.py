"""A list of tool definitions, read without trusting it: what is missing or of the wrong type is read as empty.

Whatever shape a definition comes in, the rules of the linter see the same: its name, its description, and its inputs,
each with its `$ref` followed, and with its path in what was given.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .strict import Refusal, as_list, ref_path, strict_refusals, walk_schema
from .words import Path, path_text

__all__ = ["SHAPES", "Definition", "Input", "Tools", "entries_of", "name_words", "properties_of", "schemas_of"]
__all__ += ["types_of", "view"]

LONGEST = 20_000  # characters of a description that are read


class Shape(NamedTuple):
    """How a provider writes a definition: under which key it is, and what its schema is called."""

    says: str
    within: str | None
    schema: str


SHAPES = {
    "messages": Shape("the Messages API's shape", None, "input_schema"),
    "chat": Shape("the shape of OpenAI's Chat Completions", "function", "parameters"),
    "responses": Shape("the shape of OpenAI's Responses", None, "parameters"),
    "mcp": Shape("MCP's shape", None, "inputSchema"),
}


def entries_of(given: Any) -> list[Any] | None:
    """The definitions in what was given: a list, one definition, `{"tools": [...]}`, an MCP answer; else None.

    `entries_of({"jsonrpc": "2.0", "result": {"tools": [{"name": "add"}]}})` → `[{"name": "add"}]`
    """
    if isinstance(given, Mapping):
        for holder in (given, given.get("result")):
            if isinstance(holder, Mapping) and isinstance(holder.get("tools"), list | tuple):
                return list(holder["tools"])
        return [given] if "name" in given or isinstance(given.get("function"), Mapping) else None
    if _told(given) is not given:
        return [given]
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else None


def schemas_of(given: Any) -> list[tuple[str, dict[str, Any]]]:
    """The schemas in whatever holds some, each with its tool's name, or "" for a bare schema.

    `schemas_of([{"name": "add", "input_schema": {…}}, {"type": "string"}])` → `[("add", {…}), ("", {"type": …})]`
    """
    entries = entries_of(given)
    found = []
    for entry in [given] if entries is None else entries:
        tool = Definition(0, entry)
        if not tool.is_object:
            raise ValueError(
                f"A schema is an object such as {{'type': 'object'}}, not {type(entry).__name__}: give one."
            )
        found.append((tool.name, dict(tool.root)) if isinstance(tool.schema, dict) else ("", dict(tool.entry)))
    return found


def _told(entry: Any) -> Any:
    """A tool of ours or of the SDK as its definition, a Pydantic model as its schema; anything else as it is."""
    for method in ("model_json_schema",) if isinstance(entry, type) else ("definition", "to_dict"):
        if callable(tell := getattr(entry, method, None)):
            return tell()
    return entry


class Tools:
    """The whole list, for the rules that look at more than one tool."""

    def __init__(self, entries: Iterable[Any], provider: str = "anthropic"):
        self.provider = provider
        self.all = [Definition(index, entry, self) for index, entry in enumerate(entries)]
        self.names = frozenset(tool.name for tool in self.all if tool.name)
        self.custom = [tool for tool in self.all if tool.is_custom]
        self.loaded = [tool for tool in self.all if not tool.deferred]  # what the model sees from the first turn on


class Definition:
    """One entry of `tools`."""

    def __init__(self, index: int, entry: Any, tools: Tools | None = None):
        entry = _told(entry)
        self.is_object = isinstance(entry, Mapping)
        self.entry: Mapping[str, Any] = entry if self.is_object else {}
        self.tools = tools or Tools(())
        self.kind = _kind(self.entry)
        self.shape = SHAPES[self.kind]
        inner = self.entry.get(self.shape.within) if self.shape.within else self.entry
        self.core: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
        self.path: Path = ("tools", index, *filter(None, [self.shape.within]))
        self.schema_path: Path = (*self.path, self.shape.schema)
        self.schema = self.core.get(self.shape.schema)
        self.root: Mapping[str, Any] = self.schema if isinstance(self.schema, dict) else {}
        self.name = _text(self.core.get("name"))
        self.description = _text(self.core.get("description"))[:LONGEST]
        self.label = self.name or path_text(("tools", index))
        self.strict = self.core.get("strict") is True
        self.deferred = self.entry.get("defer_loading") is True
        self.deepest: tuple[int, Path] = (0, self.schema_path)  # how deep its inputs lie, and where; see `inputs`

    @property
    def is_custom(self) -> bool:
        """The client's own tool, not one that the provider defines (those have a `type` and no schema)."""
        return self.kind != "messages" or self.entry.get("type") in (None, "custom")

    @cached_property
    def words(self) -> list[str]:
        """The words of the name: `"search_orders"` → `["search", "orders"]`."""
        return name_words(self.name)

    @cached_property
    def mentioned(self) -> set[str]:
        """The other tools of the list that the description names."""
        return set(re.findall(r"[A-Za-z0-9_-]+", self.description)) & self.tools.names - {self.name}

    @cached_property
    def nodes(self) -> list[tuple[Path, dict[str, Any]]]:
        """Every schema inside the schema that is an object, with its path, at every depth."""
        found = ((path, node) for path, node in walk_schema(self.root) if isinstance(node, dict))
        return [((*self.schema_path, *_steps(path)), node) for path, node in found]

    @cached_property
    def refusals(self) -> list[Refusal]:
        """What strict mode would refuse in the schema."""
        return strict_refusals(self.root, self.tools.provider)

    @cached_property
    def inputs(self) -> "list[Input]":
        """Its inputs, those inside of objects too."""
        return list(_inputs(self))


def _kind(entry: Mapping[str, Any]) -> str:
    if isinstance(entry.get("function"), Mapping):
        return "chat"
    if "input_schema" in entry:
        return "messages"
    if "inputSchema" in entry:
        return "mcp"
    return "responses" if "parameters" in entry or entry.get("type") == "function" else "messages"


# Inputs.

DEEPEST = 4  # levels of properties that are read; a third one is a finding already


@dataclass
class Input:
    """One property of a tool's schema, at any depth: as it is `written`, and as a `node` with its `$ref` followed."""

    tool: Definition
    path: Path
    name: str
    written: Any
    node: Mapping[str, Any]
    required: bool
    level: int
    siblings: frozenset[str]

    @cached_property
    def words(self) -> list[str]:
        """The words of the name."""
        return name_words(self.name)

    @cached_property
    def value(self) -> Mapping[str, Any]:
        """The schema of a single value: for a list, that of its items."""
        items = self.node.get("items")
        return view(items, self.tool.root) if isinstance(items, dict) else self.node

    @cached_property
    def types(self) -> list[str]:
        """The types that a value may have, null left out."""
        return types_of(self.value)

    @cached_property
    def description(self) -> str:
        """What the schema says of the input, and of the items of a list."""
        texts = [_text(part.get("description"))[:LONGEST].strip() for part in (self.node, self.value)]
        return " ".join(filter(None, dict.fromkeys(texts)))

    @property
    def options(self) -> list[Any]:
        """The values it is limited to, if any."""
        return [self.value["const"]] if "const" in self.value else as_list(self.value.get("enum"))

    def has(self, *keywords: str) -> bool:
        """Whether the input or its items say one of these keywords, with a value that says something."""
        return any(part.get(keyword) not in (None, "", []) for part in (self.node, self.value) for keyword in keywords)


def _inputs(tool: Definition) -> Iterator[Input]:
    """Every property that can be reached from the root, references followed, each place once."""
    known: set[tuple[str, ...]] = set()
    seen: set[tuple[tuple[str, ...], int]] = set()
    waiting: deque[tuple[tuple[str, ...], Any, int]] = deque([((), tool.root, 0)])
    while waiting:
        path, node, level = waiting.popleft()
        if not isinstance(node, dict) or level > DEEPEST or (path, level) in seen:
            continue
        seen.add((path, level))
        properties, required = properties_of(node), as_list(node.get("required"))
        for name, child in properties.items():
            place = (*path, "properties", str(name))
            waiting.append((place, child, level + 1))
            full = (*tool.schema_path, *_steps(place))
            if level >= tool.deepest[0]:
                tool.deepest = (level + 1, full)
            if place not in known:
                known.add(place)
                others = frozenset(str(other) for other in properties if other != name)
                shown = view(child, tool.root)
                yield Input(tool, full, str(name), child, shown, name in required, level + 1, others)
        for keyword in ("items", "additionalProperties"):
            waiting.append(((*path, keyword), node.get(keyword), level))
        for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            branches = node[keyword] if isinstance(node.get(keyword), list) else []
            waiting.extend(((*path, keyword, str(index)), branch, level) for index, branch in enumerate(branches))
        if (target := ref_path(node.get("$ref"))) is not None:
            waiting.append((target, _look_up(tool.root, target), level))


def view(node: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with what a `$ref`, a single `allOf` or a union with null adds to it; its own keywords win."""
    for _ in range(10):
        if not isinstance(node, dict):
            return {}
        keyword, more = "$ref", None
        if "$ref" in node:
            more = _look_up(root, ref_path(node["$ref"]))
        for union in ("allOf", "anyOf", "oneOf") if "$ref" not in node else ():
            branches = node[union] if isinstance(node.get(union), list) else []
            branches = [branch for branch in branches if branch != {"type": "null"}]
            if len(branches) == 1:
                keyword, more = union, branches[0]
                break
        if not isinstance(more, dict):
            return node
        node = {**more, **{key: value for key, value in node.items() if key != keyword}}
    return node


def properties_of(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of a schema; empty where there are none."""
    return node["properties"] if isinstance(node.get("properties"), dict) else {}


def types_of(node: Mapping[str, Any]) -> list[str]:
    """The types a schema allows, null left out: `{"type": ["string", "null"]}` → `["string"]`."""
    return [name for name in as_list(node.get("type")) if isinstance(name, str) and name != "null"]


def name_words(name: str) -> list[str]:
    """The words of a name: `"maxAmountCents"`, `"max_amount_cents"` → `["max", "amount", "cents"]`."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_a-zA-Z]+", name)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _look_up(value: Any, path: Iterable[str] | None) -> Any:
    for step in path if path is not None else ("",):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and re.fullmatch("[0-9]{1,6}", step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _steps(path: tuple[str, ...]) -> Path:
    """A path as the linter writes it, where places in a list are numbers: `("anyOf", "0")` → `("anyOf", 0)`."""
    if not any(map(str.isdecimal, path)):
        return path
    steps: list[str | int] = []
    for step in path:
        in_list = bool(steps) and steps[-1] in ("anyOf", "oneOf", "allOf", "prefixItems", "items")
        is_name = len(steps) > 1 and steps[-2] in ("properties", "$defs", "definitions", "patternProperties")
        steps.append(int(step) if in_list and not is_name and re.fullmatch("[0-9]{1,6}", step) else step)
    return tuple(steps)

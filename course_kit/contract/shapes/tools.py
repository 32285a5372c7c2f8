"""One definition of a tool, and what each provider makes of it.

`Definition` says more than any provider's shape has room for: what a call does to the world, how long to wait, whether
it may be made twice. That part stays on this side, and a conversion says so. Whole requests are next door.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .common import Converted, Notes, check_keys

__all__ = ["Definition", "Effect", "FIELDS", "HINTS", "definition_from", "definition_to"]

Effect = Literal["read", "write", "irreversible"]
NO_INPUT = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Definition:
    """A tool as this course defines it. `effect`, `idempotent` and `timeout` mean what they mean in `@tool`."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(NO_INPUT))
    effect: Effect = "write"
    idempotent: bool = False
    timeout: float | None = None
    strict: bool = False
    defer_loading: bool = False
    input_examples: list[dict[str, Any]] = field(default_factory=list)
    title: str = ""
    output_schema: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.effect not in get_args(Effect):
            raise ValueError(f"`effect` is {self.effect!r}: say 'read', 'write' or 'irreversible'.")

    @classmethod
    def of(cls, tool: Any) -> "Definition":
        """The definition of a harness `Tool`, or of a dict as it goes to the Messages API."""
        if isinstance(tool, cls):
            return tool
        if isinstance(tool, Mapping):
            return definition_from("anthropic", tool).value
        given = {name: getattr(tool, name, None) for name in cls.__dataclass_fields__}
        if given["name"] is None:
            raise TypeError(f"{tool!r:.60} is no tool: give a `Tool`, a `Definition` or a dict, or use `@tool`.")
        return cls(**copy.deepcopy({name: value for name, value in given.items() if value is not None}))

    def options(self) -> dict[str, Any]:
        """The keywords that make a `Tool` of it again: `tool(function, **definition.options())`."""
        names = ("name", "description", "input_schema", "effect", "idempotent", "timeout")
        flags = {name: getattr(self, name) or None for name in ("strict", "defer_loading", "input_examples")}
        return copy.deepcopy({name: getattr(self, name) for name in names} | flags)


# Fields that a shape carries, and under which name. What is not named here is lost, and noted.
FIELDS: dict[str, dict[str, str]] = {
    "anthropic": {
        "name": "name",
        "description": "description",
        "input_schema": "input_schema",
        "strict": "strict",
        "defer_loading": "defer_loading",
        "input_examples": "input_examples",
    },
    "openai_chat": {"name": "name", "description": "description", "input_schema": "parameters", "strict": "strict"},
    "openai_responses": {
        "name": "name",
        "description": "description",
        "input_schema": "parameters",
        "strict": "strict",
        "defer_loading": "defer_loading",
        "output_schema": "output_schema",
    },
    "gemini": {"name": "name", "description": "description", "input_schema": "parametersJsonSchema"},
    "mcp": {
        "name": "name",
        "description": "description",
        "input_schema": "inputSchema",
        "title": "title",
        "output_schema": "outputSchema",
    },
}
# What an MCP server says about its tools, as far as it means something here.
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")
_WHY = {
    "effect": "what a call does to the world stays on this side",
    "idempotent": "whether a call may be made twice stays on this side",
    "timeout": "how long to wait stays on this side",
    "strict": "no tool is strict by itself there",
    "defer_loading": "every definition is loaded at once there",
    "input_examples": "there is no field for examples",
    "title": "there is no field for a title",
    "output_schema": "there is no field for the shape of a result",
}


def definition_to(shape: str, definition: Any) -> Converted:
    """A definition as one provider wants it, and what it has no room for.

    `definition_to("openai_chat", Definition("now"))` → `{"type": "function", "function": {"name": "now", ...}}`.
    For Gemini this is one of the `functionDeclarations`.
    """
    fields, definition, notes = _fields(shape), Definition.of(definition), Notes()
    entry: dict[str, Any] = {}
    blank = Definition("")
    for name in Definition.__dataclass_fields__:
        value = getattr(definition, name)
        if name in fields:
            if value or name == "input_schema":
                entry[fields[name]] = copy.deepcopy(value)
        elif value != getattr(blank, name) and not (shape == "mcp" and name in ("effect", "idempotent")):
            notes.lose(name, _WHY[name])
    if shape == "openai_chat":
        entry = {"type": "function", "function": entry}
    elif shape == "openai_responses":
        # subtle: without it the server tries strict by itself, so it is always sent.
        entry = {"type": "function", "strict": False, **entry}
    elif shape == "mcp":
        entry["annotations"] = {
            "readOnlyHint": definition.effect == "read",
            "destructiveHint": definition.effect == "irreversible",
            "idempotentHint": definition.idempotent,
        }
    return notes.converted(entry)


def definition_from(shape: str, entry: Mapping[str, Any], *, trust_annotations: bool = False) -> Converted:
    """The definition that an entry of a provider's shape holds.

    What an MCP server says about itself is a stranger's hint: it counts only with `trust_annotations`, otherwise
    the tool is a write like any other.
    """
    notes, fields, given = Notes(), _fields(shape), dict(entry)
    if shape == "openai_chat":
        given = dict(entry.get("function") or {})
    if shape == "gemini" and "parameters" in given:
        given["parametersJsonSchema"] = _lower_types(given.pop("parameters"))
    annotations = given.pop("annotations", None) or {} if shape == "mcp" else {}
    check_keys(given, {*fields.values(), "type"}, "", notes)
    values = {name: copy.deepcopy(given[other]) for name, other in fields.items() if given.get(other) is not None}
    if "name" not in values:
        raise ValueError("A definition has no `name`: give it one.")
    if annotations and trust_annotations:
        read, destroys = annotations.get("readOnlyHint", False), annotations.get("destructiveHint", True)
        values["effect"] = "read" if read else "irreversible" if destroys else "write"
        values["idempotent"] = bool(annotations.get("idempotentHint", False))
        check_keys(annotations, HINTS, "annotations", notes)
    elif annotations:
        notes.lose("annotations", "hints of the server about itself, which count only when you say so")
    return notes.converted(Definition(**values))


def _fields(shape: str) -> dict[str, str]:
    if shape not in list(FIELDS):  # a list: what is no text may be anything
        raise ValueError(f"{shape!r:.40} is no shape: give one of {', '.join(FIELDS)}.")
    return FIELDS[shape]


def _lower_types(schema: Any) -> Any:
    """The older field of Gemini writes types in capitals: `{"type": "STRING"}` → `{"type": "string"}`."""
    if isinstance(schema, list):
        return [_lower_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    lower = {key: _lower_types(value) for key, value in schema.items()}
    return lower | ({"type": lower["type"].lower()} if isinstance(lower.get("type"), str) else {})

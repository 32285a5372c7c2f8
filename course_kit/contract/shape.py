"""The shape of a request: which fields there are, of what type, in the order in which the API looks at them.

The shape is written as types and checked by pydantic, whose order (fields as declared, then unknown keys) and words
("Field required") are the API's own, recorded on 2026-08-31. What the fields mean together is checked
in `fields.py`, `tooling.py` and `protocol.py`. Fields that no lesson needs are accepted and not looked into: see `NOT_MODELLED`.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from .rules import Found, Request, Rule

__all__ = ["NOT_MODELLED", "SHAPE_RULES", "shape_of"]

CLOSED = ConfigDict(extra="forbid", strict=True)
OPEN = ConfigDict(extra="allow", strict=True)

# Accepted as they are: the mock neither checks nor acts on them.
NOT_MODELLED = {
    "fields": ("container", "inference_geo", "metadata", "service_tier", "speed", "output_format"),
    "beta fields": (
        "billing_policy",
        "compaction",
        "context_management",
        "fallback_credit_token",
        "fallbacks",
        "mcp_servers",
        "thread",
    ),
    "tools": (
        "advisor",
        "bash",
        "browser_toolset",
        "code_execution",
        "computer",
        "mcp_toolset",
        "memory",
        "text_editor",
        "web_fetch",
        "web_search",
    ),
    "blocks": (
        "advisor_tool_result",
        "bash_code_execution_tool_result",
        "code_execution_tool_result",
        "compaction",
        "container_upload",
        "fallback",
        "mcp_tool_listing",
        "mcp_tool_result",
        "mcp_tool_use",
        "text_editor_code_execution_tool_result",
        "tool_addition",
        "tool_removal",
        "web_fetch_tool_result",
        "web_search_tool_result",
    ),
}
CALLERS = Literal["direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]


def by_type(names: dict[str, Any], unmodelled: tuple[str, ...] = ()) -> Any:
    """A union told apart by `type`: known shapes are checked, the unmodelled ones are any object."""
    union: Any = Annotated[Anything, Tag("unmodelled")]  # first, so that its name can be taken out of error texts
    for name, shape in names.items():
        union = union | Annotated[shape, Tag(name)]

    def tag(value: Any) -> str | None:
        type = value.get("type") if isinstance(value, dict) else None
        return "unmodelled" if type in unmodelled else type

    return Annotated[union, Discriminator(tag)]


@with_config(OPEN)
class Anything(TypedDict):
    type: str


@with_config(CLOSED)
class CacheControl(TypedDict):
    type: Literal["ephemeral"]
    ttl: NotRequired[Literal["5m", "1h"]]


@with_config(CLOSED)
class Text(TypedDict):
    type: Literal["text"]
    text: str
    citations: NotRequired[list[Any] | None]
    cache_control: NotRequired[CacheControl | None]


@with_config(OPEN)
class Media(TypedDict):
    """An image, a document or a search result: only what they share."""

    type: str
    source: Any
    cache_control: NotRequired[CacheControl | None]


@with_config(CLOSED)
class Thinking(TypedDict):
    type: Literal["thinking"]
    thinking: str
    signature: str


@with_config(CLOSED)
class RedactedThinking(TypedDict):
    type: Literal["redacted_thinking"]
    data: str


@with_config(CLOSED)
class Caller(TypedDict):
    type: CALLERS
    tool_id: NotRequired[str]


@with_config(CLOSED)
class ToolUse(TypedDict):
    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    name: str
    input: dict[str, Any]
    caller: NotRequired[Caller | None]
    toolset_name: NotRequired[str | None]
    cache_control: NotRequired[CacheControl | None]


@with_config(CLOSED)
class ServerToolUse(TypedDict):
    type: Literal["server_tool_use"]
    id: Annotated[str, Field(pattern=r"^srvtoolu_[a-zA-Z0-9_]+$")]
    name: str
    input: dict[str, Any]
    caller: NotRequired[Caller | None]
    cache_control: NotRequired[CacheControl | None]


@with_config(CLOSED)
class ToolReference(TypedDict):
    type: Literal["tool_reference"]
    tool_name: str
    cache_control: NotRequired[CacheControl | None]


MEDIA = {"image": Media, "document": Media, "search_result": Media}
ResultBlock = by_type({"text": Text, "tool_reference": ToolReference, **MEDIA}, ("browser_state",))


def text_or_blocks(block: Any) -> Any:
    """`content` is a string or a list of blocks."""
    union = Annotated[str, Tag("text")] | Annotated[list[block], Tag("blocks")]
    return Annotated[union, Discriminator(lambda value: "text" if isinstance(value, str) else "blocks")]


@with_config(CLOSED)
class ToolResult(TypedDict):
    type: Literal["tool_result"]
    tool_use_id: str
    content: NotRequired[text_or_blocks(ResultBlock) | None]
    is_error: NotRequired[bool | None]
    toolset_name: NotRequired[str | None]
    cache_control: NotRequired[CacheControl | None]


@with_config(CLOSED)
class ToolSearchResult(TypedDict):
    type: Literal["tool_search_tool_result"]
    tool_use_id: str
    content: Anything
    cache_control: NotRequired[CacheControl | None]


MessageBlock = by_type(
    {
        "text": Text,
        **MEDIA,
        "thinking": Thinking,
        "redacted_thinking": RedactedThinking,
        "tool_use": ToolUse,
        "tool_result": ToolResult,
        "server_tool_use": ServerToolUse,
        "tool_search_tool_result": ToolSearchResult,
    },
    NOT_MODELLED["blocks"],
)


@with_config(CLOSED)
class InputMessage(TypedDict):
    role: str
    content: text_or_blocks(MessageBlock)


@with_config(OPEN)
class InputSchema(TypedDict):
    type: Literal["object"]
    properties: NotRequired[dict[str, Any] | None]


@with_config(CLOSED)
class CustomTool(TypedDict):
    name: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    input_schema: InputSchema
    description: NotRequired[str]
    type: NotRequired[Literal["custom"] | None]
    strict: NotRequired[bool | None]
    defer_loading: NotRequired[bool | None]
    cache_control: NotRequired[CacheControl | None]
    input_examples: NotRequired[list[dict[str, Any]] | None]
    eager_input_streaming: NotRequired[bool | None]
    allowed_callers: NotRequired[list[CALLERS] | None]


@with_config(CLOSED)
class SearchTool(TypedDict):
    type: str
    name: str
    strict: NotRequired[bool | None]
    defer_loading: NotRequired[bool | None]
    cache_control: NotRequired[CacheControl | None]
    allowed_callers: NotRequired[list[CALLERS] | None]


class RegexSearchTool(SearchTool):
    name: Literal["tool_search_tool_regex"]


class Bm25SearchTool(SearchTool):
    name: Literal["tool_search_tool_bm25"]


def _kind_of_tool(value: Any) -> str | None:
    type = value.get("type") if isinstance(value, dict) else None
    if type is None or type == "custom":
        return "custom"
    if isinstance(type, str) and type.startswith(NOT_MODELLED["tools"]):
        return "unmodelled"
    return type


ToolDefinition = Annotated[
    Annotated[Anything, Tag("unmodelled")]
    | Annotated[CustomTool, Tag("custom")]
    | Annotated[RegexSearchTool, Tag("tool_search_tool_regex_20251119")]
    | Annotated[RegexSearchTool, Tag("tool_search_tool_regex")]
    | Annotated[Bm25SearchTool, Tag("tool_search_tool_bm25_20251119")]
    | Annotated[Bm25SearchTool, Tag("tool_search_tool_bm25")],
    Discriminator(_kind_of_tool),
]


@with_config(CLOSED)
class AutoChoice(TypedDict):
    type: Literal["auto", "any"]
    disable_parallel_tool_use: NotRequired[bool]


@with_config(CLOSED)
class NamedChoice(TypedDict):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: NotRequired[bool]


@with_config(CLOSED)
class NoChoice(TypedDict):
    type: Literal["none"]


ToolChoice = Annotated[
    Annotated[AutoChoice, Tag("auto")]
    | Annotated[AutoChoice, Tag("any")]
    | Annotated[NamedChoice, Tag("tool")]
    | Annotated[NoChoice, Tag("none")],
    Discriminator(lambda value: value.get("type") if isinstance(value, dict) else None),
]


@with_config(CLOSED)
class ThinkingConfig(TypedDict):
    type: Literal["adaptive", "enabled", "disabled", "between_tools"]
    budget_tokens: NotRequired[Annotated[int, Field(ge=1024)]]
    display: NotRequired[Literal["summarized", "omitted"] | None]


@with_config(CLOSED)
class OutputFormat(TypedDict):
    type: Literal["json_schema"]
    schema: dict[str, Any]


@with_config(CLOSED)
class OutputConfig(TypedDict):
    effort: NotRequired[Literal["low", "medium", "high", "xhigh", "max"] | None]
    format: NotRequired[OutputFormat | None]


@with_config(CLOSED)
class CountBody(TypedDict):
    """What both endpoints take, in the order in which the API complains (recorded 2026-08-31)."""

    model: str
    tool_choice: NotRequired[ToolChoice]
    tools: NotRequired[list[ToolDefinition]]
    messages: Annotated[list[InputMessage], Field(max_length=100_000)]
    system: NotRequired[text_or_blocks(by_type({"text": Text}))]
    thinking: NotRequired[ThinkingConfig]
    output_config: NotRequired[OutputConfig]
    cache_control: NotRequired[CacheControl | None]


@with_config(CLOSED)
class CreateBody(CountBody):
    max_tokens: Annotated[int, Field(ge=0)]
    metadata: NotRequired[Any]
    stop_sequences: NotRequired[list[str] | None]
    temperature: NotRequired[float | None]
    service_tier: NotRequired[Any]
    top_k: NotRequired[int | None]
    top_p: NotRequired[float | None]
    stream: NotRequired[bool | None]
    container: NotRequired[Any]
    inference_geo: NotRequired[Any]
    speed: NotRequired[Any]
    diagnostics: NotRequired[dict[str, Any] | None]
    output_format: NotRequired[Any]


@cache
def _adapter(counting: bool) -> TypeAdapter:
    return TypeAdapter(CountBody if counting else CreateBody)


# Where pydantic's words differ from the API's.
WORDS = {
    "dict_type": "Input should be an object",
    "list_type": "Input should be a valid array",
    "too_long": "List should have at most 100000 items",
    "greater_than_equal": "must be greater than or equal to {ge}",
}
# The names of union members stand in pydantic's path; the API's path keeps those of blocks and tools only.
SILENT = {"text", "blocks", "unmodelled"}


def shape_of(request: Request) -> Iterator[tuple[str, Found]]:
    """Every fault of shape as `(rule id, found)`, in the API's order."""
    body = {key: value for key, value in request.body.items() if key not in NOT_MODELLED["beta fields"]}
    try:
        _adapter(request.counting).validator.validate_python(body)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
    else:
        return
    for fault in faults:
        location, kind = list(fault["loc"]), fault["type"]
        words = WORDS[kind].format(**fault.get("ctx", {})) if kind in WORDS else fault["msg"]
        if kind == "union_tag_invalid":
            words = re.sub(r"using \S+ does", "using 'type' does", words).replace("'unmodelled', ", "")
        if kind == "union_tag_not_found":
            kind, words = "dict_type", WORDS["dict_type"]
            if isinstance(_look_up(body, location), dict):
                kind, words, location = "missing", "Field required", [*location, "type"]
        path = _api_path(location)
        for rule_id, where, kinds in _NAMED:
            if kind in kinds and re.fullmatch(where, path):
                break
        else:
            rule_id = _GENERAL.get(kind, "field-type")
        yield rule_id, Found(path, words)


def _look_up(value: Any, location: list[Any]) -> Any:
    for step in location:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
    return value


def _api_path(location: list[Any]) -> str:
    """`("messages", 0, "content", "blocks", 1, "tool_result", "content")` → `messages.0.content.1.tool_result.content`"""
    parts = []
    for before, step in zip([None, *location], location, strict=False):
        if step == "text" and isinstance(before, int):
            parts.append("text")  # a block of text
        elif step not in SILENT or before == "text":
            parts.append(str(step))
    return re.sub(r"^(tool_choice)\.(auto|any|tool|none)\.(type)$", r"\1.\3", ".".join(parts))


def _shape(id: str, says: str, certainty: Any, source: str) -> Rule:
    return Rule(id, says, source, certainty, lambda request: (f for name, f in shape_of(request) if name == id), shape=True)


_PROBE = "request probes, 2026-08"
_BLOCK = r"messages\.\d+\.content\.\d+"
SHAPE_RULES: tuple[Rule, ...] = (
    _shape("field-required", "A required field is there.", "recorded", _PROBE),
    _shape("field-type", "A field holds a value of its type.", "recorded", _PROBE),
    _shape("field-value", "A field that takes one of a few values holds one of them.", "reported", _PROBE),
    _shape("unknown-field", "No key that the API does not know, at any depth.", "reported", _PROBE),
    _shape("max-tokens-range", "`max_tokens` is 0 or more.", "reported", _PROBE),
    _shape("thinking-budget-range", "`budget_tokens` is at least 1024.", "sdk", "types/thinking_config_enabled_param.py"),
    _shape("messages-limit", "At most 100,000 messages.", "sdk", "types/message_create_params.py"),
    _shape("tool-choice-object", "`tool_choice` is an object with a `type`.", "reported", _PROBE),
    _shape("tool-choice-type", "`tool_choice.type` is auto, any, tool or none.", "reported", _PROBE),
    _shape("tool-choice-none-alone", "`none` takes no parallel flag.", "reported", "request probes through hosts, 2026-08"),
    _shape("tool-name", "A tool's name is 1 to 128 of a-z A-Z 0-9 _ -.", "reported", "error texts, 2025-08 to 2026-09"),
    _shape("tool-input-schema", "A tool has an `input_schema`.", "reported", "error texts, 2026"),
    _shape("tool-schema-root", "The root of an `input_schema` says `\"type\": \"object\"`.", "reported", "error texts, 2026"),
    _shape("tool-unknown-field", "A tool definition has no unknown key.", "reported", "error texts, 2026"),
    _shape("search-tool-name", "A search tool bears its own fixed name.", "sdk", "types/tool_search_tool_*_param.py"),
    _shape("block-object", "A content block is an object.", "reported", _PROBE),
    _shape("block-type", "A content block has a known `type`.", "reported", _PROBE),
    _shape("tool-use-id", "A call's `id` holds only a-z A-Z 0-9 _ -.", "reported", "error texts, 2026"),
    _shape("tool-use-input", "A call's `input` is an object, never a string.", "reported", "error texts, 2026"),
    _shape("server-tool-use-id", "A server call's `id` begins with `srvtoolu_`.", "reported", "error texts, 2026"),
    _shape("tool-result-id", "A result has a `tool_use_id`.", "reported", "error texts, 2026"),
    _shape("caller-type", "`caller.type` is a known one.", "reported", "request probe, 2026-09-29"),
)
_STRING = ("string_pattern_mismatch", "string_too_short", "string_too_long", "string_type", "missing")
_NAMED = (
    ("max-tokens-range", r"max_tokens", ("greater_than_equal",)),
    ("thinking-budget-range", r"thinking\.budget_tokens", ("greater_than_equal",)),
    ("messages-limit", r"messages", ("too_long",)),
    ("tool-choice-none-alone", r"tool_choice\.none\..*", ("extra_forbidden",)),
    ("tool-choice-object", r"tool_choice(\.type)?", ("dict_type", "missing")),
    ("tool-choice-type", r"tool_choice", ("union_tag_invalid",)),
    ("tool-name", r"tools\.\d+\.custom\.name", _STRING),
    ("tool-input-schema", r"tools\.\d+\.custom\.input_schema", ("missing", "dict_type")),
    ("tool-schema-root", r"tools\.\d+\.custom\.input_schema\.type", ("missing", "literal_error")),
    ("tool-unknown-field", r"tools\.\d+\.custom\..*", ("extra_forbidden",)),
    ("search-tool-name", r"tools\.\d+\.tool_search_tool_\w+\.name", ("literal_error", "missing")),
    ("block-object", _BLOCK, ("dict_type",)),
    ("block-type", _BLOCK + r"(\.type)?", ("missing", "union_tag_invalid")),
    ("tool-use-id", _BLOCK + r"\.tool_use\.id", _STRING),
    ("tool-use-input", _BLOCK + r"\.tool_use\.input", ("dict_type",)),
    ("server-tool-use-id", _BLOCK + r"\.server_tool_use\.id", _STRING),
    ("tool-result-id", _BLOCK + r"\.tool_result\.tool_use_id", ("missing", "string_type")),
    ("caller-type", _BLOCK + r"\.(server_)?tool_use\.caller\.type", ("literal_error",)),
)
_GENERAL = {
    "missing": "field-required",
    "extra_forbidden": "unknown-field",
    "literal_error": "field-value",
    "union_tag_invalid": "field-value",
}

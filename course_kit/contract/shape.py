"""The shape of a request: which fields there are, of what type, in the order in which the API looks at them.

The shape is written as types and checked by pydantic, whose order (fields as declared, then unknown keys) and words
("Field required") are the API's own, recorded on 2026-08-31. `fields.py` gives each fault its name. Fields that no
lesson needs are accepted and not looked into: see `NOT_MODELLED`.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Discriminator, Field, Tag, with_config
from typing_extensions import TypedDict

__all__ = ["NOT_MODELLED", "CountBody", "CreateBody"]

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
    "blocks in results": ("browser_state",),
}
CALLERS = Literal["direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]


def by_type(names: dict[str, Any], unmodelled: tuple[str, ...] = ()) -> Any:
    """A union told apart by `type`: known shapes are checked, the unmodelled ones are any object."""
    union: Any = Annotated[Anything, Tag("unmodelled")]  # first, so its name can be removed from error texts
    for name, shape in names.items():
        union = union | Annotated[shape, Tag(name)]

    accepted = frozenset(unmodelled)

    def tag(value: Any) -> str | None:
        type = value.get("type") if isinstance(value, dict) else None
        return "unmodelled" if isinstance(type, str) and type in accepted else type

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
ResultBlock = by_type({"text": Text, "tool_reference": ToolReference, **MEDIA}, NOT_MODELLED["blocks in results"])


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
class FoundTools(TypedDict):
    type: Literal["tool_search_tool_search_result"]
    tool_references: list[ToolReference]


@with_config(CLOSED)
class ToolSearchResult(TypedDict):
    type: Literal["tool_search_tool_result"]
    tool_use_id: str
    content: by_type({"tool_search_tool_search_result": FoundTools}, ("tool_search_tool_result_error",))
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


@with_config(OPEN)
class OtherTool(TypedDict):
    """A tool that is not modelled; a toolset has no name."""

    type: str
    name: NotRequired[str]
    cache_control: NotRequired[CacheControl | None]


def _kind_of_tool(value: Any) -> str | None:
    type = value.get("type") if isinstance(value, dict) else None
    if type is None or type == "custom":
        return "custom"
    if isinstance(type, str) and type.startswith(NOT_MODELLED["tools"]):
        return "unmodelled"
    return type


ToolDefinition = Annotated[
    Annotated[OtherTool, Tag("unmodelled")]
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
    display: NotRequired[Literal["summarized", "omitted", "updates"] | None]
    block_binding: NotRequired[dict[str, Any] | None]


@with_config(CLOSED)
class OutputFormat(TypedDict):
    type: Literal["json_schema"]
    schema: dict[str, Any]


@with_config(CLOSED)
class OutputConfig(TypedDict):
    effort: NotRequired[Literal["low", "medium", "high", "xhigh", "max"] | None]
    format: NotRequired[OutputFormat | None]
    task_budget: NotRequired[dict[str, Any] | None]


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
    speed: NotRequired[Any]


@with_config(CLOSED)
class CreateBody(CountBody):
    """The body of a request for a message."""

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
    diagnostics: NotRequired[dict[str, Any] | None]
    output_format: NotRequired[Any]

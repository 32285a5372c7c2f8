"""What `course doctor --api` holds against what, and the differences that are meant to be, each with its reason.

How types are read is told next door, in `api_drift.py`. A topic is two functions that give names: those that the rules
and shapes of the course know, and those that the types of an SDK know. Everything is imported where it is read.
"""

import importlib
import typing
from collections.abc import Callable
from typing import Any

from course_kit.api_drift import Names, Topic, field, fields_of, hints_of, kinds_of, literals_of, shapes_in

__all__ = ["BETAS", "TOPICS", "WHY"]


def _our_kinds(union: Any) -> dict[str, Any]:
    """The tags of one of the course's own unions, each with its shape."""
    found: dict[str, Any] = {}
    for member in typing.get_args(typing.get_args(union)[0]):
        shape, *marks = typing.get_args(member)
        found |= {mark.tag: shape for mark in marks if hasattr(mark, "tag")}
    return found


def _types() -> Any:
    import anthropic.types as types
    import anthropic.types.beta  # noqa: F401

    return types


def _bodies() -> list[Any]:
    from anthropic.types import message_create_params
    from anthropic.types.beta import message_create_params as beta

    return [
        *(message_create_params.MessageCreateParamsNonStreaming, message_create_params.MessageCreateParamsStreaming),
        *(beta.MessageCreateParamsNonStreaming, beta.MessageCreateParamsStreaming),
    ]


def _known_blocks() -> Names:
    from course_kit.contract import shape

    return {*_our_kinds(shape.MessageBlock), *shape.NOT_MODELLED["blocks"]} - {"unmodelled"}


def _installed_blocks() -> Names:
    types = _types()
    beta = types.beta
    return kinds_of(types.ContentBlockParam, types.ContentBlock, beta.BetaContentBlockParam, beta.BetaContentBlock)


def _known_in_results() -> Names:
    from course_kit.contract import shape

    return {*_our_kinds(shape.ResultBlock), *shape.NOT_MODELLED["blocks in results"]} - {"unmodelled"}


def _installed_in_results() -> Names:
    types = _types()
    results = (types.ToolResultBlockParam, types.beta.BetaToolResultBlockParam)
    return kinds_of(*(hints_of(result)["content"] for result in results))


def _known_block_fields() -> Names:
    from course_kit.contract import shape

    modelled = {name: one for name, one in _our_kinds(shape.MessageBlock).items() if name not in shape.MEDIA}
    return {f"{kind}.{name}" for kind, one in modelled.items() if kind != "unmodelled" for name in fields_of(one)}


def _installed_block_fields() -> Names:
    from course_kit.contract import shape

    types = _types()
    modelled = set(_our_kinds(shape.MessageBlock)) - set(shape.MEDIA)
    found = set()
    for one in shapes_in(types.ContentBlockParam) + shapes_in(types.beta.BetaContentBlockParam):
        if not hasattr(one, "model_fields"):  # a parameter; replies as parameters are read elsewhere
            for kind in literals_of(hints_of(one)["type"]) & modelled:
                found |= {f"{kind}.{name}" for name in hints_of(one)}
    return found


def _known_tools() -> Names:
    """The kinds of tools, by what stands ahead of their dates; `custom` is the client's own."""
    from course_kit.contract import shape

    modelled = {kind.rpartition("_2")[0] or kind for kind in _our_kinds(shape.ToolDefinition)}
    return {*modelled, *shape.NOT_MODELLED["tools"]} - {"unmodelled"}


def _installed_tools() -> Names:
    types, known = _types(), sorted(_known_tools(), key=len, reverse=True)
    kinds = kinds_of(types.ToolUnionParam, types.beta.BetaToolUnionParam)
    return {next((one for one in known if kind.startswith(one)), kind) for kind in kinds}


def _known_parameters() -> Names:
    from course_kit.contract import shape

    return fields_of(shape.CreateBody) | set(shape.NOT_MODELLED["beta fields"])


def _known_errors() -> Names:
    from course_kit.contract.protocol import RULES
    from course_kit.contract.transport import TRANSPORT_RULES
    from course_kit.mock.wire import ERROR_TYPES

    return {*ERROR_TYPES.values(), *(rule.type for rule in (*RULES.values(), *TRANSPORT_RULES))}


# Codes about what a request of this course can hold; the others belong to other endpoints.
CODES_ABOUT = ("available_tools", "tool_", "thread_")


def _known_codes() -> Names:
    from course_kit.contract.protocol import RULES

    return {rule.error_code for rule in RULES.values() if rule.error_code}


def _installed_codes() -> Names:
    return {code for code in kinds_of(_types().ErrorDetails, by="error_code") if code.startswith(CODES_ABOUT)}


def _known(module: str, read: Callable[[Any], Names]) -> Callable[[], Names]:
    """Names of a module that is imported when they are asked for."""
    return lambda: read(importlib.import_module(module))


def _nested(*names: str) -> Callable[[], Names]:
    """What the SDK allows as `type` in a field of the request, such as `thinking`."""
    return lambda: {kind for body in _bodies() for kind in kinds_of(field(body, *names))}


def _inner(*names: str) -> Callable[[], Names]:
    """The fields of what stands in a field of the request, such as `output_config`."""
    return lambda: {n for body in _bodies() for n in fields_of(*shapes_in(field(body, *names)))}


def _installed_version() -> Names:
    import anthropic

    return {str(anthropic.Anthropic(api_key="not-a-key").default_headers["anthropic-version"])}


def _openai(module: str, read: Callable[[Any], Names]) -> Callable[[], Names]:
    return _known(f"openai.types.{module}", read)


_SHAPE, _SHAPES = "course_kit.contract.shape", "course_kit.contract.shapes"
TOPICS: tuple[Topic, ...] = (
    Topic(
        "anthropic",
        "stop reasons",
        _known("course_kit.contract.messages", lambda ours: ours.STOP_REASONS),
        lambda: literals_of(_types().StopReason) | literals_of(_types().beta.BetaStopReason),
    ),
    Topic(
        "anthropic",
        "models",
        _known("course_kit.contract.models", lambda ours: ours.MODELS),
        lambda: literals_of(_types().Model),
    ),
    Topic("anthropic", "blocks", _known_blocks, _installed_blocks),
    Topic("anthropic", "blocks in results", _known_in_results, _installed_in_results),
    Topic("anthropic", "fields of blocks", _known_block_fields, _installed_block_fields),
    Topic("anthropic", "tools", _known_tools, _installed_tools),
    Topic(
        "anthropic",
        "fields of a tool",
        _known(_SHAPE, lambda ours: fields_of(ours.CustomTool)),
        lambda: fields_of(_types().ToolParam, _types().beta.BetaToolParam),
    ),
    Topic(
        "anthropic",
        "callers",
        _known(_SHAPE, lambda ours: literals_of(ours.CALLERS)),
        lambda: literals_of(hints_of(_types().ToolParam)["allowed_callers"]),
    ),
    Topic("anthropic", "tool_choice", _known(_SHAPE, lambda ours: _our_kinds(ours.ToolChoice)), _nested("tool_choice")),
    Topic("anthropic", "parameters", _known_parameters, lambda: fields_of(*_bodies()) - {"betas"}),
    Topic(
        "anthropic",
        "thinking",
        _known(_SHAPE, lambda ours: literals_of(hints_of(ours.ThinkingConfig)["type"])),
        _nested("thinking"),
    ),
    Topic(
        "anthropic",
        "fields of thinking",
        _known(_SHAPE, lambda ours: fields_of(ours.ThinkingConfig)),
        _inner("thinking"),
    ),
    Topic(
        "anthropic",
        "fields of output_config",
        _known(_SHAPE, lambda ours: fields_of(ours.OutputConfig)),
        _inner("output_config"),
    ),
    Topic(
        "anthropic",
        "fields of cache_control",
        _known(_SHAPE, lambda ours: fields_of(ours.CacheControl)),
        _inner("cache_control"),
    ),
    Topic("anthropic", "error types", _known_errors, lambda: literals_of(_types().ErrorType)),
    Topic("anthropic", "error codes", _known_codes, _installed_codes),
    Topic(
        "anthropic", "versions", _known("course_kit.contract.fields", lambda ours: ours.VERSIONS), _installed_version
    ),
    Topic("anthropic", "betas", lambda: BETAS, lambda: literals_of(_types().AnthropicBetaParam)),
    Topic(
        "openai",
        "chat finish reasons",
        _known(f"{_SHAPES}.chat", lambda ours: ours.FINISH_REASONS),
        _openai("chat.chat_completion", lambda sdk: literals_of(hints_of(sdk.Choice)["finish_reason"])),
    ),
    Topic(
        "openai",
        "chat parameters",
        _known("course_kit.mock.openai_rules", lambda ours: ours.CHAT_KEYS),
        _openai("chat.completion_create_params", lambda sdk: fields_of(*shapes_in(sdk.CompletionCreateParams))),
    ),
    Topic(
        "openai",
        "responses parameters",
        _known("course_kit.mock.openai_rules", lambda ours: ours.RESPONSES_KEYS),
        _openai("responses.response_create_params", lambda sdk: fields_of(*shapes_in(sdk.ResponseCreateParams))),
    ),
    Topic(
        "openai",
        "incomplete reasons",
        _known(f"{_SHAPES}.responses_reply", lambda ours: ours.INCOMPLETE_REASONS),
        _openai("responses.response", lambda sdk: literals_of(hints_of(sdk.IncompleteDetails)["reason"])),
    ),
    Topic(
        "openai",
        "items",
        _known(f"{_SHAPES}.responses_request", lambda ours: ours.ITEMS),
        _openai("responses", lambda sdk: kinds_of(sdk.ResponseInputItemParam, sdk.ResponseOutputItem)),
    ),
    Topic(
        "openai",
        "fields of a tool",
        _known(f"{_SHAPES}.tools", lambda ours: {"type", *ours.FIELDS["openai_responses"].values()}),
        _openai("responses", lambda sdk: fields_of(sdk.FunctionToolParam)),
    ),
    Topic(
        "mcp-types",
        "error codes",
        _known(f"{_SHAPES}.results", lambda ours: map(str, ours.RPC_CODES)),
        _known(
            "mcp_types",
            lambda sdk: {str(one) for name in dir(sdk) if type(one := getattr(sdk, name)) is int and one < 0},
        ),
    ),
    Topic(
        "mcp-types",
        "content",
        _known(f"{_SHAPES}.results", lambda ours: ours.CONTENTS),
        _known("mcp_types", lambda sdk: kinds_of(hints_of(sdk.CallToolResult)["content"])),
    ),
    Topic(
        "mcp-types",
        "fields of a tool",
        _known(f"{_SHAPES}.tools", lambda ours: {"annotations", *ours.FIELDS["mcp"].values()}),
        _known("mcp_types", lambda sdk: fields_of(sdk.Tool)),
    ),
    Topic(
        "mcp-types",
        "hints",
        _known(f"{_SHAPES}.tools", lambda ours: ours.HINTS),
        _known("mcp_types", lambda sdk: fields_of(sdk.ToolAnnotations)),
    ),
)
# The betas that SDK 2.14 names. No rule reads them; they stand here so that a new one is noticed.
BETAS: frozenset[str] = frozenset(
    """
    admin-user-sign-out-2026-10-08 advisor-tool-2026-03-01 agent-memory-2026-07-22 analytics-usage-cost-2026-08-24
    cache-diagnosis-2026-04-07 ce-claude-code-managed-settings-2026-10-06 ce-plugins-2026-09-01
    ce-user-management-2026-07-13 code-execution-2025-05-22 compact-2026-01-12 compact-2026-09-04
    computer-use-2024-10-22 computer-use-2025-01-24 computer-use-2025-11-24 context-1m-2025-08-07
    context-management-2025-06-27 dev-full-thinking-2025-05-14 dreaming-2026-04-21 efs-2026-10-01
    experimental-claude-tag-2026-10-21 extended-cache-ttl-2025-04-11 fallback-credit-2026-06-01
    fallback-credit-2026-07-01 fast-mode-2026-02-01 files-api-2025-04-14 google-managed-data-controls-2026-09-01
    inline-tools-2026-09-15 interleaved-thinking-2025-05-14 managed-agents-2026-04-01 mcp-client-2025-04-04
    mcp-client-2025-11-20 mcp-client-2026-09-15 mcp-tunnels-2026-06-22 message-batches-2024-09-24
    message-threads-2026-08-12 mid-conversation-output-config-2026-07-01 mid-conversation-system-clear-at-2026-08-21
    mid-conversation-tool-changes-2026-07-01 model-context-window-exceeded-2025-08-26 output-128k-2025-02-19
    output-300k-2026-03-24 pdfs-2024-09-25 prompt-caching-2024-07-31 server-side-fallback-2026-06-01
    server-side-fallback-2026-07-01 skills-2025-10-02 spend-limit-reads-2026-09-26 structured-outputs-2025-11-13
    task-budgets-2026-03-13 telemetry-destinations-2026-08-11 thinking-binding-controls-2026-08-01
    thinking-display-updates-2026-08-18 thinking-token-count-2026-05-13 token-counting-2024-11-01
    token-efficient-tools-2025-02-19 user-profiles-2026-03-24 user-profiles-2026-08-18 user-profiles-2026-09-04
    user-profiles-billing-2026-10-01 webhooks-2026-10-07
    """.split()
)


# Differences that are meant to be, and why.


def _each(names: str, why: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), why)


WHY: dict[tuple[str, str], dict[str, str]] = {
    ("anthropic", "stop reasons"): _each("compaction", "a beta's; the loop stops at a reason that it does not know"),
    ("anthropic", "parameters"): {
        **_each("user_profile_id workspace_id", "goes as a header, not in the body"),
        **_each("temperature top_k top_p", "no parameters of SDK 2; legal in the body under version 2023-06-01"),
        "output_format": "the old name of output_config.format, which the API still takes",
    },
    ("anthropic", "error types"): {
        **_each("memory_path_conflict_error memory_precondition_failed_error", "of the endpoints for memory stores"),
        "request_too_large": "answered ahead of the API itself, by the vendor's page on errors; no type of the SDK",
    },
    ("anthropic", "error codes"): {
        **_each(
            "thread_already_continued thread_continue_in_flight thread_fingerprint_mismatch thread_not_found",
            "the mock holds no threads and answers thread_unsupported_request",
        ),
        **_each("tool_name_conflict tool_reference_unresolved", "about tool_addition blocks, which are not modelled"),
    },
    ("anthropic", "versions"): _each("2023-06-01", "the older version, which a client may still ask for"),
    ("openai", "incomplete reasons"): _each("max_messages steered", "handed on as it is: the loop stops at it"),
    ("openai", "items"): _each(
        "additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction compaction_trigger "
        "computer_call computer_call_output configuration_update custom_tool_call custom_tool_call_output "
        "file_search_call image_generation_call item_reference local_shell_call local_shell_call_output "
        "mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program program_output shell_call "
        "shell_call_output web_search_call",
        "of that provider alone: a conversion tells that it is left out",
    ),
    ("openai", "fields of a tool"): _each("allowed_callers async", "no counterpart: a conversion tells it"),
    ("mcp-types", "error codes"): _each(
        "-32020 -32021 -32022 -32042", "about the connection or the user, never about a call: PROTOCOL_ERROR"
    ),
    ("mcp-types", "content"): _each("audio", "no block of the Messages API: a text stands in its place"),
    ("mcp-types", "fields of a tool"): _each("_meta execution icons", "no counterpart: a conversion tells it"),
    ("mcp-types", "hints"): _each("openWorldHint title", "decides nothing here: a conversion tells it"),
}

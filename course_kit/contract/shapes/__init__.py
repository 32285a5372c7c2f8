"""One conversation in every provider's shape: pure conversions that say what is lost.

    definition_to / definition_from     a tool          anthropic, openai_chat, openai_responses, gemini, mcp
    request_to    / request_from        a conversation  anthropic, openai_chat, openai_responses, gemini
    reply_to      / reply_from          an answer       the same
    result_to     / result_from         a result        mcp
    result_error, api_error             a failure, as our own `ToolError`

The canonical shape is the Messages API's. Every conversion returns `Converted(value, lost, names)`; where `lost` is
empty, the way back gives the same again (`normal_form` says what counts as the same). Sending is the work
of `providers/`.
"""

from collections.abc import Mapping
from typing import Any

from ..messages import content_blocks
from . import chat, gemini, responses_reply, responses_request
from .common import Converted, Lost, Notes, foreign_thinking, legal_name, normal_form
from .results import api_error, mcp_result_from, mcp_result_to, result_error
from .tools import Definition, definition_from, definition_to

__all__ = [
    "Converted",
    "Definition",
    "Lost",
    "api_error",
    "definition_from",
    "definition_to",
    "legal_name",
    "normal_form",
    "reply_from",
    "reply_to",
    "request_from",
    "request_to",
    "result_error",
    "result_from",
    "result_to",
]


def request_to(shape: str, request: Mapping[str, Any]) -> Converted:
    """A Messages request as the body that this provider wants: `request_to("openai_chat", request).value`.

    For `"anthropic"` it is made ready to send after another provider answered it.
    """
    return _of(_REQUEST_TO, shape)(request)


def request_from(shape: str, body: Mapping[str, Any]) -> Converted:
    """A body in this provider's shape as a Messages request."""
    return _of(_REQUEST_FROM, shape)(body)


def reply_to(shape: str, message: Mapping[str, Any]) -> Converted:
    """A Messages reply as this provider would have given it."""
    return _of(_REPLY_TO, shape)(message)


def reply_from(shape: str, reply: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Converted:
    """A provider's reply as a Messages reply; `names` are those of the request's conversion."""
    return _of(_REPLY_FROM, shape)(reply, names)


def result_to(shape: str, result: Mapping[str, Any]) -> Converted:
    """A `tool_result` block by itself, for MCP; elsewhere it is part of the conversation."""
    return _of({"mcp": mcp_result_to}, shape)(result)


def result_from(shape: str, result: Mapping[str, Any], tool_use_id: str = "") -> Converted:
    """What a call returned in MCP's shape, as the `tool_result` block for that id."""
    return _of({"mcp": mcp_result_from}, shape)(result, tool_use_id)


def _to_anthropic(request: Mapping[str, Any]) -> Converted:
    """The request without what only another provider understands."""
    notes, messages = Notes(), []
    for index, message in enumerate(request["messages"]):
        if isinstance(message["content"], str):
            messages.append(message)
            continue
        content = []
        for position, block in enumerate(content_blocks(message)):
            if foreign_thinking(block):
                notes.lose(
                    f"messages.{index}.content.{position}", "another provider's thinking, which only it can read"
                )
            elif block["type"] == "tool_use" and not isinstance(block.get("input", {}), dict):
                content.append({**block, "input": {"INVALID_JSON": block["input"]}})
            else:
                content.append(block)
        if content:
            messages.append({**message, "content": content})
    return notes.converted({**request, "messages": messages})


def _unchanged(value: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Converted:
    return Converted(dict(value))


def _of(table: Mapping[str, Any], shape: str) -> Any:
    if shape not in table:
        raise ValueError(f"There is no such conversion for {shape!r}: give one of {', '.join(table)}.")
    return table[shape]


_REQUEST_TO = {
    "anthropic": _to_anthropic,
    "openai_chat": chat.chat_request_to,
    "openai_responses": responses_request.responses_request_to,
    "gemini": gemini.gemini_request_to,
}
_REQUEST_FROM = {
    "anthropic": _unchanged,
    "openai_chat": chat.chat_request_from,
    "openai_responses": responses_request.responses_request_from,
    "gemini": gemini.gemini_request_from,
}
_REPLY_TO = {
    "anthropic": _unchanged,
    "openai_chat": chat.chat_reply_to,
    "openai_responses": responses_reply.responses_reply_to,
    "gemini": gemini.gemini_reply_to,
}
_REPLY_FROM = {
    "anthropic": _unchanged,
    "openai_chat": chat.chat_reply_from,
    "openai_responses": responses_reply.responses_reply_from,
    "gemini": gemini.gemini_reply_from,
}

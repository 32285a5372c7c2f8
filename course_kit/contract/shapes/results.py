"""Results and errors: what a tool gave, in MCP's shape and back, and failures as our own `ToolError`.

A failure is read from the fields that are meant for programs (a flag, a status, a code), never from its words: those
change without notice and are there for people.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from course_kit.errors import ToolError

from ..messages import Block, content_blocks, text, text_of
from .common import Converted, Notes, check_keys, compact

__all__ = ["API_CODES", "CONTENTS", "RPC_CODES", "api_error", "mcp_result_from", "mcp_result_to", "result_error"]

# A status of HTTP, what it means here, and whether the same request may succeed later.
API_CODES: dict[int, tuple[str, bool]] = {
    400: ("INVALID_REQUEST", False),
    401: ("NOT_AUTHENTICATED", False),
    402: ("NOT_PAID", False),
    403: ("NOT_ALLOWED", False),
    404: ("NOT_FOUND", False),
    408: ("TIMEOUT", True),
    409: ("CONFLICT", True),
    413: ("TOO_LARGE", False),
    422: ("INVALID_REQUEST", False),
    429: ("RATE_LIMITED", True),
    503: ("OVERLOADED", True),
    504: ("TIMEOUT", True),
    529: ("OVERLOADED", True),
}
# Codes of JSON-RPC and of MCP's SDK (2.3).
RPC_CODES: dict[int, tuple[str, bool]] = {
    -32700: ("PARSE_ERROR", False),
    -32600: ("INVALID_REQUEST", False),
    -32601: ("NO_SUCH_METHOD", False),
    -32602: ("INVALID_INPUT", False),
    -32603: ("INTERNAL_ERROR", True),
    -32000: ("CONNECTION_CLOSED", True),
    -32001: ("TIMEOUT", True),
}

# The kinds of content of an MCP result that become blocks; any other is replaced by a text that says so.
CONTENTS = ("text", "image", "resource_link", "resource")


def api_error(shape: str, status: int, body: Any) -> ToolError:
    """A provider's error answer as a `ToolError`: its code from the status (of MCP: from the JSON-RPC code).

    `api_error("openai_chat", 429, {"error": {"message": "Slow down", "type": "requests"}})` → `RATE_LIMITED`,
    retryable, with the provider's sentence as the message.
    """
    error = body.get("error") if isinstance(body, Mapping) else None
    error = error if isinstance(error, Mapping) else {}
    said = str(error.get("message") or f"The provider answered with status {status} and no message.")
    if shape == "mcp":
        code, again = RPC_CODES.get(error.get("code", status), ("PROTOCOL_ERROR", False))
    else:
        code, again = API_CODES.get(status, ("SERVER_ERROR", True) if status >= 500 else ("INVALID_REQUEST", False))
    return ToolError(code, said, retryable=again)


_OURS = re.compile(
    r"(?P<code>[A-Z][A-Z0-9_]*): (?P<message>.*?)(?:\nHint: (?P<hint>.*?))?(?:\nRetryable: (?P<again>yes|no)\b.*)?",
    re.DOTALL,
)


def result_error(result: Mapping[str, Any]) -> ToolError | None:
    """The failure that a `tool_result` reports, or None for a success.

    Text that the course wrote itself gives back its code, hint and whether to try again; any other is `TOOL_FAILED`.
    """
    if not result.get("is_error"):
        return None
    said = text_of({"content": content_blocks(result)})
    found = _OURS.fullmatch(said)
    if not found:
        return ToolError("TOOL_FAILED", said or "The tool failed without saying why.")
    return ToolError(found["code"], found["message"], retryable=found["again"] == "yes", hint=found["hint"])


# MCP.


def mcp_result_to(result: Mapping[str, Any]) -> Converted:
    """A `tool_result` as the answer to `tools/call`; the id of the call travels outside, in JSON-RPC."""
    notes, content = Notes(), []
    for index, block in enumerate(content_blocks(result)):
        match block:
            case {"type": "text", "text": said}:
                content.append({"type": "text", "text": said})
            case {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}:
                content.append({"type": "image", "data": data, "mimeType": kind})
            case _:
                notes.lose(f"content.{index}", f"there is no such content as `{block['type']}`")
    return notes.converted({"content": content, "isError": bool(result.get("is_error"))})


def mcp_result_from(result: Mapping[str, Any], tool_use_id: str = "") -> Converted:
    """The answer to `tools/call`, in its JSON form, as a `tool_result`.

    A link to a resource becomes text that names it: it is offered, not read. Structured content is used where nothing
    else came; beside other content it is a repetition and is left out.
    """
    notes = Notes()
    failed = bool(result.get("isError"))
    read = [_mcp_block(part, f"content.{i}", notes) for i, part in enumerate(result.get("content") or ())]
    blocks = [block for block in read if block]
    structured = result.get("structuredContent")
    if structured is not None and not blocks:
        blocks = [text(compact(structured))]
    elif structured is not None and not _says(blocks, structured):
        notes.lose("structuredContent", "a second form of the content, left out")
    if failed:  # an error holds text only
        for index, block in enumerate(blocks):
            if block["type"] != "text":
                notes.lose(f"content.{index}", "an error holds text only")
        blocks = [block for block in blocks if block["type"] == "text"]
        blocks = blocks or [text("The tool failed without saying why.")]
    check_keys(result, ("content", "structuredContent", "isError", "resultType", "_meta"), "", notes)
    answer: Block = {"type": "tool_result", "tool_use_id": tool_use_id}
    content: Any = blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks
    return notes.converted(answer | ({"content": content} if content else {}) | ({"is_error": True} if failed else {}))


def _says(blocks: list[Block], structured: Any) -> bool:
    """Whether the text is the structured content itself, bare or under the name that a server wraps a value in."""
    try:
        said = json.loads(text_of({"content": blocks}))
    except ValueError:
        said = text_of({"content": blocks})
    return structured == said or structured == {"result": said}


def _mcp_block(part: Mapping[str, Any], path: str, notes: Notes) -> Block | None:
    match part:
        case {"type": "text", "text": said}:
            return text(said) if said.strip() else None
        case {"type": "image", "data": data, "mimeType": kind}:
            return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
        case {"type": "resource_link", "uri": uri}:
            about = {key: part[key] for key in ("name", "title", "description", "mimeType", "size") if part.get(key)}
            return text(compact({"resource_link": {"uri": str(uri), **about}}))
        case {"type": "resource", "resource": {"text": said, "uri": uri}}:
            return text(f"[{uri}]\n{said}")
    notes.lose(path, f"`{part.get('type')}` is not carried over")
    return text(f"(Content of type {part.get('type')} was left out here.)")

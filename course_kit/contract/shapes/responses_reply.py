"""OpenAI Responses: a reply in that shape, and back.

Nothing in it says "now run the tools": the calls among its items do. Shapes as in the types of the `openai` SDK 3.57.
"""

from collections.abc import Mapping
from typing import Any

from ..messages import Block, content_blocks
from .common import Converted, Notes, arguments_text, ending_lost, foreign_thinking, reply_of
from .openai import usage_from
from .responses_request import SHAPE, blocks_of, named_there, parts_from, with_outputs
from .search import search_items_to, searches, tools_without_search

__all__ = ["INCOMPLETE_REASONS", "responses_reply_from", "responses_reply_to"]

# Why a reply is incomplete, as the Messages API would call it. An unknown reason is passed on: the loop stops at it.
INCOMPLETE_REASONS = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


def responses_reply_to(
    message: Mapping[str, Any],
    *,
    created: int = 0,
    raw_inputs: Mapping[int, str] | None = None,
    request: Mapping[str, Any] | None = None,
) -> Converted:
    """A Messages reply as a `response`; `request` is the body it answers, of which it repeats some fields."""
    notes, request = Notes(), request or {}
    reason, output = message.get("stop_reason"), []
    cut = reason in ("max_tokens", "model_context_window_exceeded", None)
    tail = (message.get("id") or "msg_").partition("_")[2]
    blocks = content_blocks(message)
    deferred, found = tools_without_search(request.get("tools") or ()), searches(blocks, {})
    for index, block in enumerate(blocks):
        status = "incomplete" if cut and index == len(blocks) - 1 else "completed"
        match block:
            case {"type": "text", "text": said}:
                part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
                item = {"type": "message", "role": "assistant", "status": status, "content": [part]}
                output.append({"id": f"msg_{tail}{index}", **item})
            case {"type": "tool_use", "id": id, "name": name}:
                arguments = (raw_inputs or {}).get(index, arguments_text(block.get("input")))
                item = {"type": "function_call", "call_id": id, **named_there(name, deferred)}
                output.append({"id": f"fc_{tail}{index}", **item, "arguments": arguments, "status": status})
            case {"type": "server_tool_use", "id": id} if id in found:
                output += search_items_to(block, found[id], deferred)
            case {"type": "tool_search_tool_result"}:
                continue  # went with its search
            case {"type": "thinking"} if (foreign_thinking(block) or ("", 0))[0] == SHAPE:
                output.append(foreign_thinking(block)[1])  # type: ignore[index]
            case _:
                notes.lose(f"content.{index}", f"there is no such item as `{block['type']}`")
    if reason == "refusal" and (explanation := (message.get("stop_details") or {}).get("explanation")):
        item = {"type": "message", "role": "assistant", "status": "completed"}
        part = {"type": "refusal", "refusal": explanation}
        output.append({"id": f"msg_{tail}r", **item, "content": [part]})
    elif reason == "refusal":
        cut = True
    why = ("content_filter" if reason == "refusal" else "max_output_tokens") if cut else None
    ending_lost(message, ("end_turn", "tool_use", *INCOMPLETE_REASONS.values()), notes)
    usage = message.get("usage") or {}
    cached, kept = (usage.get(f"cache_{kind}_input_tokens") or 0 for kind in ("read", "creation"))
    given, written = (usage.get("input_tokens") or 0) + cached + kept, usage.get("output_tokens") or 0
    thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    response = {
        "id": f"resp_{tail}",
        "object": "response",
        "created_at": created,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "instructions": request.get("instructions"),
        "max_output_tokens": request.get("max_output_tokens"),
        "metadata": request.get("metadata") or {},
        "model": message.get("model", ""),
        "output": output,
        "parallel_tool_calls": request.get("parallel_tool_calls") is not False,
        "previous_response_id": request.get("previous_response_id"),
        "tool_choice": request.get("tool_choice") or "auto",
        "tools": request.get("tools") or [],
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": kept},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": given + written,
        },
    }
    return notes.converted(response)


def responses_reply_from(reply: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Converted:
    """A finished `response` as a Messages reply. `names` turns the names sent back into ours."""
    notes, names = Notes(), names or {}
    content: list[Block] = []
    refused = None
    deferred = tools_without_search(reply.get("tools") or ())
    for index, item, found in with_outputs(reply.get("output") or []):
        path = f"output.{index}"
        if item.get("type") == "message":
            refusals = [part["refusal"] for part in item["content"] if part.get("type") == "refusal"]
            refused = refusals[0] if refusals else refused
            shown = [part for part in item["content"] if part.get("type") != "refusal"]
            content += parts_from(shown, path, notes)
        else:
            _, blocks = blocks_of(item, path, notes, deferred, found)
            blocks = [searches([one], names).get(one.get("tool_use_id", ""), one) for one in blocks]
            for block in blocks:
                if block["type"] == "tool_use":
                    block |= {"name": names.get(block["name"], block["name"]), "caller": {"type": "direct"}}
            content += blocks
    reason: str | None = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    if reply.get("status") == "incomplete":
        why = (reply.get("incomplete_details") or {}).get("reason")
        reason = INCOMPLETE_REASONS.get(str(why), why)
    if refused is not None:
        reason = "refusal"
    details = {"type": "refusal", "category": None, "explanation": refused} if reason == "refusal" else None
    counted = usage_from(reply, "input_tokens", "output_tokens")
    id, model = reply.get("id", ""), reply.get("model", "")
    return notes.converted(reply_of(id, model, content, reason, counted, details))

"""A model's draft as the message that goes out: ids, thinking, what ends the turn, usage.

What to say is the model's business (`scripted.py`, `simulated.py`); here it becomes what the wire would carry.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from course_kit.contract import models, thinking
from course_kit.contract.messages import Block
from course_kit.contract.rules import Request

from .caching import CacheUse
from .faults import max_tokens
from .scripted import Draft
from .usage import estimate
from .wire import make_id

__all__ = ["finished"]


def finished(
    draft: Draft, body: Mapping[str, Any], cache: CacheUse, *key: object
) -> tuple[dict[str, Any], dict[int, str]]:
    """The message, and for a call that was cut the text written so far; its ids depend on `key`."""
    blocks = _thought(draft, body) + _encodable(draft.content)
    content = [_complete(block, body, *key, index) for index, block in enumerate(blocks)]
    content, sequence = _until_stop_sequence(content, body.get("stop_sequences") or ())
    calls = any(block["type"] == "tool_use" for block in content)
    # What the server found is read with the rest of the prompt, not written by the model.
    costs = [0 if block["type"] == "tool_search_tool_result" else estimate(block) for block in content]
    thought = sum(cost for cost, block in zip(costs, content, strict=True) if block["type"] == "thinking")
    usage = {
        **cache.usage(),
        "inference_geo": "global",
        # Not zero even for an empty answer; nothing at all is written where the cache is only warmed.
        "output_tokens": sum(costs) or min(1, body["max_tokens"]),
        "output_tokens_details": {"thinking_tokens": thought},
        "service_tier": "standard",
    }
    message = {
        "id": make_id("msg_01", *key),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn" if body["max_tokens"] else "max_tokens",
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    }
    message |= {**draft.fields, "usage": {**usage, **(draft.fields.get("usage") or {})}}
    if sequence:
        message |= {"stop_reason": "stop_sequence", "stop_sequence": sequence}
    return _within_max_tokens(message, costs, body["max_tokens"])


def _encodable(content: list[Block]) -> list[Block]:
    """The blocks without what UTF-8 cannot hold: half a surrogate pair becomes a question mark."""
    text = json.dumps(content)
    return json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")) if "\\ud" in text else content


def _complete(block: Block, body: Mapping[str, Any], *key: object) -> Block:
    """The block with what a draft may leave out."""
    if block["type"] == "tool_use":
        id = make_id("toolu_01", *key)
        return {"type": "tool_use", "id": id, "caller": {"type": "direct"}, **{"input": {}, **block}}
    if block["type"] == "thinking" and "signature" not in block:
        before = [(turn.role, [block for _, block in turn.blocks]) for turn in Request(body, "", frozenset()).turns]
        if before[-1:] and before[-1][0] == "assistant":  # a turn that is resumed: the block will be in it
            before.pop()
        return {**block, "signature": thinking.sign(block["thinking"], body, before)}
    return block


def _thought(draft: Draft, body: Mapping[str, Any]) -> list[Block]:
    """The thinking block of models that always think, and of a request that asks for thinking."""
    config = body.get("thinking") or {}
    facts = models.facts(body["model"])
    asked = config.get("type") in ("adaptive", "enabled")
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    own = any(block["type"] in thinking.TYPES for block in draft.content)
    # A turn never ends in thinking, so an empty answer has none; a forced turn begins with its call.
    if own or forced or not draft.content or config.get("type") == "between_tools":
        return []
    if not asked and not (facts and facts.always_thinks):
        return []
    shown = config.get("display") or ("summarized" if config.get("type") == "enabled" else "omitted")
    text = "\n".join(draft.reasons) or "The next step follows from the request."
    return [{"type": "thinking", "thinking": text if shown == "summarized" else ""}]


def _until_stop_sequence(content: list[Block], sequences: Sequence[str]) -> tuple[list[Block], str | None]:
    """The blocks up to the first of the client's stop sequences, which is not part of the answer."""
    for index, block in enumerate(content):
        text = block["text"] if block["type"] == "text" else ""
        found = [(text.find(one), one) for one in sequences if one and one in text]
        if found:
            position, sequence = min(found)
            kept = [*content[:index], *([{**block, "text": text[:position]}] if position else [])]
            while kept and kept[-1]["type"] in thinking.TYPES:
                kept.pop()
            return kept, sequence
    return content, None


def _within_max_tokens(message: dict[str, Any], costs: list[int], limit: int) -> tuple[dict[str, Any], dict[int, str]]:
    """The message cut where `max_tokens` ends it, inside a block if need be."""
    room = limit
    for index, cost in enumerate(costs):
        if cost > room:
            return _cut(message, index, room / cost, limit)
        room -= cost
    return message, {}


def _cut(message: dict[str, Any], index: int, share: float, limit: int) -> tuple[dict[str, Any], dict[int, str]]:
    """The message up to its block `index`, of which only a share was written."""
    content = message["content"]
    thought = (message["usage"]["output_tokens_details"] or {}).get("thinking_tokens", 0)
    counts = {"output_tokens": limit, "output_tokens_details": {"thinking_tokens": min(thought, limit)}}
    message = {**message, "content": content[: index + 1], "usage": {**message["usage"], **counts}}
    if share and content[index]["type"] in ("text", "tool_use"):
        return max_tokens(share).on_message(message)
    if content[index]["type"] not in thinking.TYPES:
        message["content"] = content[:index]
    return {**message, "stop_reason": "max_tokens", "stop_sequence": None}, {}

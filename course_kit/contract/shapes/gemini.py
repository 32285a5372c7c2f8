"""Gemini `generateContent`: a request and a reply in that shape, and back. Shapes only: the course runs no such client.

Turns are `contents` with the roles `user` and `model`; a call is a part with an object, its result a part of the next
turn. Field names and pairing are from recorded traffic; the modes, the reasons of refusal and the caching count are
known only from documentation and may be out of date.
"""

from collections.abc import Mapping
from typing import Any

from ..messages import Block, Message, content_blocks, text
from .common import (
    FOREIGN_THINKING,
    Converted,
    Notes,
    as_image,
    check_keys,
    compact,
    ending_lost,
    foreign_thinking,
    legal_names,
    reply_of,
    texts_only,
    usage_of,
)
from .openai import names_in
from .tools import definition_from, definition_to

__all__ = ["gemini_reply_from", "gemini_reply_to", "gemini_request_from", "gemini_request_to"]

_REFUSALS = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})
_MODES = {"auto": "AUTO", "any": "ANY", "tool": "ANY", "none": "NONE"}


def gemini_request_to(request: Mapping[str, Any]) -> Converted:
    """A Messages request as the body of `models/NAME:generateContent`; the model is in the address."""
    notes = Notes()
    names = legal_names(names_in(request), notes)
    known = ["model", "max_tokens", "messages", "system", "tools", "tool_choice", "stop_sequences", "stream"]
    check_keys(request, known, "", notes)
    if request.get("stream"):
        notes.lose("stream", "whether to stream is said in the address: streamGenerateContent")
    body: dict[str, Any] = {"model": request["model"], "contents": []}
    if request.get("system"):
        said = texts_only(content_blocks({"content": request["system"]}), "system", notes)
        body["systemInstruction"] = {"parts": [{"text": one} for one in said]}
    called: dict[str, str] = {}
    for index, message in enumerate(request["messages"]):
        for block in content_blocks(message):
            if block["type"] == "tool_use":
                called[block["id"]] = str(names.get(block["name"], block["name"]))
        parts = _parts_to(message, f"messages.{index}", called, notes)
        role = {"assistant": "model"}.get(message["role"], "user")
        if message["role"] == "system":
            notes.lose(f"messages.{index}", "there is no system turn: it became one of the user's")
        if parts and body["contents"] and body["contents"][-1]["role"] == role:
            body["contents"][-1]["parts"] += parts  # all results of a turn in one: as many as there were calls
        elif parts:
            body["contents"].append({"role": role, "parts": parts})
    config = {"maxOutputTokens": request.get("max_tokens"), "stopSequences": request.get("stop_sequences")}
    body["generationConfig"] = {key: value for key, value in config.items() if value}
    return notes.converted(body | _tools_to(request, names, notes), {b: a for a, b in names.items() if a != b})


def _tools_to(request: Mapping[str, Any], names: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    entries = []
    for index, tool in enumerate(request.get("tools") or ()):
        if tool.get("type") not in (None, "custom"):
            notes.lose(f"tools.{index}", f"`{tool['type']}` is a tool of the Messages API's server")
            continue
        canonical = definition_from("anthropic", tool)
        entry = definition_to("gemini", {**tool, "name": names.get(tool["name"], tool["name"])})
        for path, why in [*canonical.lost, *entry.lost]:
            notes.lose(f"tools.{index}.{path}", why)
        entries.append(entry.value)
    fields: dict[str, Any] = {"tools": [{"functionDeclarations": entries}]} if entries else {}
    if choice := request.get("tool_choice"):
        config: dict[str, Any] = {"mode": _MODES[choice["type"]]}
        if choice["type"] == "tool":
            config["allowedFunctionNames"] = [names.get(choice["name"], choice["name"])]
        if choice.get("disable_parallel_tool_use"):
            notes.lose("tool_choice.disable_parallel_tool_use", "several calls in a turn cannot be switched off there")
        fields["toolConfig"] = {"functionCallingConfig": config}
    return fields


def _parts_to(message: Message, path: str, called: Mapping[str, str], notes: Notes) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signature: dict[str, Any] = {}
    for index, block in enumerate(content_blocks(message)):
        where, part = f"{path}.content.{index}", None
        match block:
            case {"type": "text", "text": said}:
                check_keys(block, ("type", "text"), where, notes)
                part = {"text": said}
            case {"type": "image" | "document", "source": {"type": "base64", "media_type": kind, "data": data}}:
                part = {"inlineData": {"mimeType": kind, "data": data}}
            case {"type": "tool_use", "id": id, "name": name}:
                check_keys(block, ("type", "id", "name", "input", "caller"), where, notes)
                input = block.get("input") or {}
                if not isinstance(input, dict):
                    notes.lose(f"{where}.input", "a text that is no JSON object: sent as {}")
                    input = {}
                part = {"functionCall": {"id": id, "name": called.get(id, name), "args": input}}
            case {"type": "tool_result", "tool_use_id": id}:
                check_keys(block, ("type", "tool_use_id", "content", "is_error"), where, notes)
                said = texts_only(content_blocks(block), where, notes)
                key = "error" if block.get("is_error") else "output"
                response = {key: said[0] if len(said) == 1 else said or ""}
                part = {"functionResponse": {"id": id, "name": called.get(id, ""), "response": response}}
            case {"type": "thinking"} if (foreign_thinking(block) or ("", 0))[0] == "gemini":
                kept = foreign_thinking(block)[1]  # type: ignore[index]
                if "thoughtSignature" in kept:
                    signature = kept  # belongs to the part that follows
                    continue
                part = kept
            case _:
                notes.lose(where, f"there is no such part as `{block['type']}`")
        if part:
            parts.append(part | signature)
            signature = {}
    return parts


# Back.


def gemini_request_from(body: Mapping[str, Any]) -> Converted:
    """The body of a `generateContent` request as a Messages request. Calls without an `id` get one by their place."""
    notes = Notes()
    known = ["model", "contents", "systemInstruction", "generationConfig", "tools", "toolConfig"]
    check_keys(body, known, "", notes)
    request: dict[str, Any] = {"model": body.get("model", "")}
    config = body.get("generationConfig") or {}
    check_keys(config, ("maxOutputTokens", "stopSequences"), "generationConfig", notes)
    request |= {"max_tokens": config["maxOutputTokens"]} if config.get("maxOutputTokens") else {}
    request |= {"stop_sequences": config["stopSequences"]} if config.get("stopSequences") else {}
    if system := (body.get("systemInstruction") or {}).get("parts"):
        request["system"] = [text(part["text"]) for part in system]
    messages: list[Message] = []
    waiting: list[tuple[str, str]] = []  # (name, id) of calls whose results are still to come
    for index, content in enumerate(body.get("contents") or ()):
        blocks = _blocks_from(content["parts"], f"contents.{index}", waiting, notes)
        messages.append({"role": "assistant" if content.get("role") == "model" else "user", "content": blocks})
    tools: list[dict[str, Any]] = []
    for index, entry in enumerate(body.get("tools") or ()):
        check_keys(entry, ("functionDeclarations",), f"tools.{index}", notes)
        for place, one in enumerate(entry.get("functionDeclarations") or ()):
            converted = definition_from("gemini", one)
            for path, why in converted.lost:
                notes.lose(f"tools.{index}.functionDeclarations.{place}.{path}", why)
            tools.append(definition_to("anthropic", converted.value).value)
    request |= {"tools": tools} if tools else {}
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    if mode := calling.get("mode"):
        named = calling.get("allowedFunctionNames") or []
        type = {"ANY": "any", "NONE": "none"}.get(mode, "auto")
        request["tool_choice"] = (
            {"type": "tool", "name": named[0]} if type == "any" and len(named) == 1 else {"type": type}
        )
        if mode not in _MODES.values() or len(named) > 1:
            notes.lose("toolConfig", f"mode {mode} for {len(named)} names has no counterpart")
    return notes.converted({**request, "messages": messages})


def _blocks_from(parts: list[Any], path: str, waiting: list[tuple[str, str]], notes: Notes) -> list[Block]:
    blocks: list[Block] = []
    for index, part in enumerate(parts):
        if signature := part.get("thoughtSignature"):
            kept = FOREIGN_THINKING["gemini"] + compact({"thoughtSignature": signature})
            blocks.append({"type": "thinking", "thinking": "", "signature": kept})
        match part:
            case {"thought": True, "text": said}:
                blocks.append(
                    {"type": "thinking", "thinking": said, "signature": FOREIGN_THINKING["gemini"] + compact(part)}
                )
            case {"text": said}:
                blocks += [text(said)] if said else []
            case {"inlineData": {"mimeType": kind, "data": data}}:
                blocks.append(
                    as_image(f"data:{kind};base64,{data}", "image" if kind.startswith("image/") else "document")
                )
            case {"functionCall": call}:
                id = call.get("id") or f"call_{path.replace('.', '_')}_{index}"
                waiting.append((call["name"], id))
                blocks.append({"type": "tool_use", "id": id, "name": call["name"], "input": call.get("args") or {}})
            case {"functionResponse": answer}:
                blocks.append(_result_from(answer, waiting))
            case _:
                notes.lose(f"{path}.parts.{index}", "such a part is not carried over")
    return blocks


def _result_from(answer: Mapping[str, Any], waiting: list[tuple[str, str]]) -> Block:
    """Paired by `id` where there is one, else with the first open call of that name."""
    found = next((pair for pair in waiting if pair[1] == answer.get("id")), None)
    found = found or next((pair for pair in waiting if pair[0] == answer.get("name")), None)
    if found:
        waiting.remove(found)
    response = answer.get("response") or {}
    failed = "error" in response
    value = response.get("error" if failed else "output", "" if failed or "output" in response else response)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = [text(one) for one in value]
    elif not isinstance(value, str):
        value = compact(value)
    block: Block = {"type": "tool_result", "tool_use_id": found[1] if found else answer.get("id", "")}
    return block | ({"content": value} if value else {}) | ({"is_error": True} if failed else {})


# Replies.


def gemini_reply_to(message: Mapping[str, Any]) -> Converted:
    """A Messages reply as a `generateContent` answer."""
    notes = Notes()
    called = {block["id"]: block["name"] for block in content_blocks(message) if block["type"] == "tool_use"}
    parts = _parts_to({"role": "assistant", "content": message["content"]}, "", called, notes)
    reason = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY", None: None}.get(message.get("stop_reason"), "STOP")
    usage = message.get("usage") or {}
    cached, kept = (usage.get(f"cache_{kind}_input_tokens") or 0 for kind in ("read", "creation"))
    ending_lost(message, ("end_turn", "tool_use", "max_tokens", "refusal"), notes, explained=False)
    if kept:
        notes.lose("usage.cache_creation_input_tokens", "what was written to a cache is not counted by itself")
    given = (usage.get("input_tokens") or 0) + cached + kept
    thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    counts = {
        "promptTokenCount": given,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": (usage.get("output_tokens") or 0) - thought,
        "thoughtsTokenCount": thought,
        "totalTokenCount": given + (usage.get("output_tokens") or 0),
    }
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}
    named = {"responseId": message.get("id", ""), "modelVersion": message.get("model", "")}
    return notes.converted({"candidates": [candidate], "usageMetadata": counts, **named})


def gemini_reply_from(reply: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Converted:
    """A `generateContent` answer as a Messages reply: no finish reason means calls, the calls themselves do."""
    notes, names = Notes(), names or {}
    candidate = (reply.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    content = _blocks_from(parts, str(reply.get("responseId") or "reply"), [], notes)
    for block in content:
        if block["type"] == "tool_use":
            block |= {"name": names.get(block["name"], block["name"]), "caller": {"type": "direct"}}
    reason = candidate.get("finishReason")
    calls = any(block["type"] == "tool_use" for block in content)
    stop = {"STOP": "tool_use" if calls else "end_turn", "MAX_TOKENS": "max_tokens"}.get(reason, reason)
    stop = "refusal" if reason in _REFUSALS else stop
    usage = reply.get("usageMetadata") or {}
    thought = usage.get("thoughtsTokenCount") or 0
    written = (usage.get("candidatesTokenCount") or 0) + thought
    cached = usage.get("cachedContentTokenCount") or 0
    details = {"type": "refusal", "category": None, "explanation": None} if stop == "refusal" else None
    counted = usage_of(usage.get("promptTokenCount") or 0, written, cached, 0, thought)
    id, model = reply.get("responseId", ""), reply.get("modelVersion", "")
    return notes.converted(reply_of(id, model, content, stop, counted, details))

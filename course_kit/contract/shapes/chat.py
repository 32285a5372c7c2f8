"""OpenAI Chat Completions: a request and a reply in that shape, and back.

Calls belong to the assistant's message, each with its arguments as JSON text; each result is its own message, with
the role `tool`, after the message that holds the calls. Shapes as in the types of the `openai` SDK 3.57.
"""

from collections.abc import Mapping
from typing import Any

from ..messages import Block, Message, content_blocks, text
from .common import (
    Converted,
    Notes,
    arguments_text,
    as_image,
    check_keys,
    data_url,
    ending_lost,
    input_of,
    legal_names,
    marked,
    reply_of,
    short_id,
    texts_only,
    unmarked,
)
from .openai import format_to, names_in, tools_from, tools_to, usage_from

__all__ = ["FINISH_REASONS", "chat_reply_from", "chat_reply_to", "chat_request_from", "chat_request_to"]

# What each `finish_reason` is called in a Messages reply. An unknown one is passed on: the loop stops at it.
FINISH_REASONS = {
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_REASONS = {"tool_use": "tool_calls", "max_tokens": "length", "model_context_window_exceeded": "length"}
_REASONS |= {"refusal": "content_filter"}
_ROLE = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def chat_request_to(request: Mapping[str, Any]) -> Converted:
    """A Messages request as a body for `/v1/chat/completions`."""
    notes = Notes()
    names = legal_names(names_in(request), notes)
    body: dict[str, Any] = {"model": request["model"], "messages": []}
    known = ["model", "max_tokens", "messages", "system", "tools", "tool_choice", "stop_sequences", "stream"]
    check_keys(request, [*known, "output_config"], "", notes)
    if request.get("system"):
        body["messages"].append({"role": "system", "content": _texts_to(request["system"], "system", notes)})
    for index, message in enumerate(request["messages"]):
        body["messages"] += _message_to(message, f"messages.{index}", names, notes)
    if request.get("max_tokens") is not None:
        body["max_completion_tokens"] = request["max_tokens"]
    if request.get("stop_sequences"):
        body["stop"] = list(request["stop_sequences"])
    if request.get("stream"):
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    body |= tools_to("openai_chat", request, names, notes)
    if found := format_to(request, notes):
        body["response_format"] = {"type": "json_schema", "json_schema": found}
    return notes.converted(body, {sent: ours for ours, sent in names.items() if sent != ours})


def _message_to(message: Message, path: str, names: Mapping[str, str], notes: Notes) -> list[Message]:
    if message["role"] == "system":
        return [{"role": "system", "content": _texts_to(message["content"], path, notes)}]
    if isinstance(message["content"], str):
        return [{"role": message["role"], "content": message["content"]}]
    parts: list[Block] = []
    calls: list[Block] = []
    answers: list[Message] = []
    for index, block in enumerate(content_blocks(message)):
        where = f"{path}.content.{index}".lstrip(".")
        match block:
            case {"type": "text", "text": said}:
                check_keys(block, ("type", "text"), where, notes)
                if calls:
                    notes.lose(where, "text after a call: there, the text of a turn stands ahead of its calls")
                parts.append(text(said))
            case {"type": "image", "source": source} if message["role"] == "user" and data_url(source):
                parts.append({"type": "image_url", "image_url": {"url": data_url(source)}})
            case {"type": "tool_use", "id": id, "name": name}:
                check_keys(block, ("type", "id", "name", "input", "caller"), where, notes)
                function = {"name": names.get(name, name), "arguments": arguments_text(block.get("input"))}
                calls.append({"id": _id(id, where, notes), "type": "function", "function": function})
            case {"type": "tool_result", "tool_use_id": id}:
                check_keys(block, ("type", "tool_use_id", "content", "is_error"), where, notes)
                if parts:
                    notes.lose(where, "text ahead of a result: there, results come first")
                answers.append({"role": "tool", "tool_call_id": short_id(id), "content": _result(block, where, notes)})
            case _:
                notes.lose(where, f"there is no such block as `{block['type']}`")
    if message["role"] == "user":
        return [*answers, *([{"role": "user", "content": _joined(parts)}] if parts else [])]
    said = {"content": _joined(parts)} if parts else {"content": None}
    turn: Message = {"role": "assistant", **said, **({"tool_calls": calls} if calls else {})}
    return [turn] if parts or calls else []


def _id(id: str, path: str, notes: Notes) -> str:
    if short_id(id) != id:
        notes.lose(f"{path}.id", "an id has at most 40 characters there: sent shortened")
    return short_id(id)


def _joined(parts: list[Block]) -> str | list[Block]:
    """One text as a string, anything else as parts."""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _texts_to(content: str | list[Block], path: str, notes: Notes) -> str | list[Block]:
    if isinstance(content, str):
        return content
    return _joined([text(said) for said in texts_only(content, path, notes)])


def _result(block: Block, path: str, notes: Notes) -> str | list[Block]:
    content, failed = block.get("content") or "", bool(block.get("is_error"))
    if isinstance(content, str):
        return marked(content, failed)
    first, *rest = texts_only(content, path, notes)
    return _joined([text(marked(first, failed)), *(text(said) for said in rest)])


# Back.


def chat_request_from(body: Mapping[str, Any]) -> Converted:
    """A body of `/v1/chat/completions` as a Messages request."""
    notes, system = Notes(), []
    request: dict[str, Any] = {"model": body["model"]}
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    request |= {"max_tokens": limit} if limit is not None else {}
    known = ["model", "messages", "max_tokens", "max_completion_tokens", "stop", "stream", "stream_options", "tools"]
    check_keys(body, [*known, "tool_choice", "parallel_tool_calls", "response_format"], "", notes)
    messages: list[Message] = []
    for index, message in enumerate(body["messages"]):
        path = f"messages.{index}"
        if _ROLE.get(message["role"]) == "system" and not messages:
            system += _parts_from(message.get("content"), path, notes)
        elif message["role"] == "tool":
            if not (messages and messages[-1]["role"] == "user" and _all_results(messages[-1])):
                messages.append({"role": "user", "content": []})
            messages[-1]["content"].append(_result_from(message, path, notes))
        else:
            content = _parts_from(message.get("content"), path, notes)
            content += [text(message["refusal"])] if message.get("refusal") else []
            content += [_call_from(call, f"{path}.tool_calls", notes) for call in message.get("tool_calls") or ()]
            check_keys(message, ("role", "content", "refusal", "tool_calls"), path, notes)
            messages.append({"role": _ROLE[message["role"]], "content": content})
    request |= {"system": system} if system else {}
    stop = body.get("stop")
    request |= {"stop_sequences": [stop] if isinstance(stop, str) else list(stop)} if stop else {}
    request |= {"stream": True} if body.get("stream") else {}
    request |= tools_from("openai_chat", body, notes)
    if (body.get("response_format") or {}).get("type") == "json_schema":
        schema = body["response_format"]["json_schema"].get("schema") or {}
        request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return notes.converted({**request, "messages": messages})


def _all_results(message: Message) -> bool:
    return all(block["type"] == "tool_result" for block in message["content"])


def _parts_from(content: Any, path: str, notes: Notes) -> list[Block]:
    if content is None or isinstance(content, str):
        return [text(content)] if content else []
    blocks: list[Block] = []
    for index, part in enumerate(content):
        match part:
            case {"type": "text", "text": said} | {"type": "refusal", "refusal": said}:
                blocks.append(text(said))
            case {"type": "image_url", "image_url": {"url": url}}:
                blocks.append(as_image(url))
            case _:
                notes.lose(f"{path}.content.{index}", f"`{part.get('type')}` is not carried over")
    return blocks


def _call_from(call: Mapping[str, Any], path: str, notes: Notes) -> Block:
    function = call.get("function") or {}
    if call.get("type", "function") != "function":
        notes.lose(path, f"a call of the kind `{call['type']}` has no input object")
        function = {
            "name": (call.get("custom") or {}).get("name"),
            "arguments": (call.get("custom") or {}).get("input"),
        }
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": input_of(function["arguments"])}


def _result_from(message: Message, path: str, notes: Notes) -> Block:
    parts = _parts_from(message.get("content"), path, notes)
    failed = False
    if parts and parts[0]["type"] == "text":
        said, failed = unmarked(parts[0]["text"])
        parts[0] = text(said)
    block: Block = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
    # A single text is written as a string, as results mostly are.
    content = parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts
    return block | ({"content": content} if content else {}) | ({"is_error": True} if failed else {})


# Replies.


def chat_reply_to(
    message: Mapping[str, Any],
    *,
    created: int = 0,
    raw_inputs: Mapping[int, str] | None = None,
    request: Mapping[str, Any] | None = None,
) -> Converted:
    """A Messages reply as a `chat.completion`. `raw_inputs` holds the text of calls that were cut, by block.

    Where `request` (the body) names the function to call, a finished call ends with `stop`: according to OpenAI's staff
    (2024) and seen with gpt-4o (2025-09); for later models it is uncertain. With `auto` and `required` it is
    `tool_calls`.
    """
    notes = Notes()
    blocks = [dict(block) for block in content_blocks(message)]
    for index, raw in (raw_inputs or {}).items():
        blocks[index]["input"] = raw
    turn = _message_to({"role": "assistant", "content": blocks}, "", {}, notes)
    said = turn[0] if turn else {"role": "assistant", "content": None}
    if isinstance(said["content"], list):
        notes.lose("content", "the texts of a reply are one text there")
        said["content"] = "".join(part["text"] for part in said["content"])
    reason = message.get("stop_reason")
    refused = (message.get("stop_details") or {}).get("explanation") if reason == "refusal" else None
    usage, details = message.get("usage") or {}, {}
    cached, kept = (usage.get(f"cache_{kind}_input_tokens") or 0 for kind in ("read", "creation"))
    given, written = (usage.get("input_tokens") or 0) + cached + kept, usage.get("output_tokens") or 0
    details["prompt_tokens_details"] = {"cached_tokens": cached, "cache_write_tokens": kept}
    thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens") or 0
    details["completion_tokens_details"] = {"reasoning_tokens": thought}
    ending_lost(message, FINISH_REASONS.values(), notes)
    finish = None if reason is None else _REASONS.get(reason, "stop")
    wanted = (request or {}).get("tool_choice")
    if finish == "tool_calls" and isinstance(wanted, Mapping) and wanted.get("type") == "function":
        finish = "stop"
    choice = {"index": 0, "message": {**said, "refusal": refused}, "logprobs": None, "finish_reason": finish}
    completion = {
        "id": message.get("id", ""),
        "object": "chat.completion",
        "created": created,
        "model": message.get("model", ""),
        "choices": [choice],
        "usage": {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written, **details},
    }
    return notes.converted(completion)


def chat_reply_from(reply: Mapping[str, Any], names: Mapping[str, str] | None = None) -> Converted:
    """A `chat.completion` as a Messages reply. `names` turns the names sent back into ours."""
    notes, names = Notes(), names or {}
    choice = reply["choices"][0]
    said = choice["message"]
    if len(reply["choices"]) > 1:
        notes.lose("choices", "a Messages reply is one answer: only the first is kept")
    content = _parts_from(said.get("content"), "choices.0.message", notes)
    calls = [_call_from(call, "choices.0.message.tool_calls", notes) for call in said.get("tool_calls") or ()]
    for call in calls:
        call |= {"name": names.get(call["name"], call["name"]), "caller": {"type": "direct"}}
    reason = choice.get("finish_reason")
    reason = FINISH_REASONS.get(reason, reason)
    if reason == "end_turn" and calls:
        reason = "tool_use"  # a function called by name ends with `stop`: the calls decide, not the word
    details = None
    if said.get("refusal"):
        reason = "refusal"
    if reason == "refusal":
        details = {"type": "refusal", "category": None, "explanation": said.get("refusal")}
    counted = usage_from(reply, "prompt_tokens", "completion_tokens")
    id, model = reply.get("id", ""), reply.get("model", "")
    return notes.converted(reply_of(id, model, content + calls, reason, counted, details))

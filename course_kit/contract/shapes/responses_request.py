"""OpenAI Responses: a request in that shape, and back. Its replies are next door, in `responses_reply.py`.

A conversation is a list of items, one after another: messages, calls, outputs. A call and its output are paired by
`call_id` wherever they are. Shapes as in the types of the `openai` SDK 3.57.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..messages import Block, Message, text
from .common import (
    FOREIGN_THINKING,
    Converted,
    Notes,
    arguments_text,
    as_image,
    check_keys,
    compact,
    data_url,
    foreign_thinking,
    input_of,
    legal_names,
    marked,
    texts_only,
    unmarked,
)
from .openai import format_to, names_in, tools_from, tools_to
from .search import (
    Deferred,
    name_here,
    namespace_of,
    search_blocks_from,
    search_items_to,
    searches,
    tools_without_search,
)

__all__ = [
    "ITEMS",
    "SHAPE",
    "blocks_of",
    "named_there",
    "parts_from",
    "with_outputs",
    "responses_request_from",
    "responses_request_to",
]

SHAPE = "openai_responses"
# The items that have a counterpart; all others exist only at that provider.
ITEMS = ("message", "function_call", "function_call_output", "reasoning", "tool_search_call", "tool_search_output")


def responses_request_to(request: Mapping[str, Any]) -> Converted:
    """A Messages request as a body for `/v1/responses`, with the whole conversation in `input`."""
    notes = Notes()
    names = legal_names(names_in(request), notes)
    known = ["model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "output_config"]
    check_keys(request, known, "", notes)
    body: dict[str, Any] = {"model": request["model"], "input": []}
    tool_notes = Notes()
    tool_fields = tools_to(SHAPE, request, names, tool_notes)
    deferred = tools_without_search(tool_fields.get("tools") or ())
    if isinstance(request.get("system"), str):
        body["instructions"] = request["system"]
    elif request.get("system"):
        body["input"].append(_message("system", request["system"], "system", notes))
    for index, message in enumerate(request["messages"]):
        body["input"] += _items_to(message, f"messages.{index}", names, deferred, notes)
    if request.get("max_tokens") is not None:
        body["max_output_tokens"] = request["max_tokens"]
    if request.get("stream"):
        body["stream"] = True
    body |= tool_fields
    notes += tool_notes
    if found := format_to(request, notes):
        body["text"] = {"format": {"type": "json_schema", **found}}
    return notes.converted(body, {sent: ours for ours, sent in names.items() if sent != ours})


def _message(role: str, content: str | list[Block], path: str, notes: Notes) -> dict[str, Any]:
    if isinstance(content, str):
        return {"type": "message", "role": role, "content": content}
    parts = [{"type": "input_text", "text": said} for said in texts_only(content, path, notes)]
    return {"type": "message", "role": role, "content": parts}


def named_there(name: str, deferred: Deferred) -> dict[str, str]:
    """How a call names its tool there: without a tool search, by the name alone."""
    return namespace_of(name, deferred) if deferred.search or deferred.groups else {"name": name}


def _items_to(
    message: Message, path: str, names: Mapping[str, str], deferred: Deferred, notes: Notes
) -> list[dict[str, Any]]:
    """The items of one message; adjacent text and images of the user are one item."""
    role, content = message["role"], message["content"]
    if role == "system" or isinstance(content, str):
        return [_message(role, content, path, notes)] if content else []
    items: list[dict[str, Any]] = []
    found = searches(content, names)
    for index, block in enumerate(content):
        where = f"{path}.content.{index}"
        match block:
            case {"type": "text", "text": said} if role == "assistant":
                check_keys(block, ("type", "text"), where, notes)
                items.append({"type": "message", "role": "assistant", "content": said})
            case {"type": "tool_use", "id": id, "name": name}:
                check_keys(block, ("type", "id", "name", "input", "caller"), where, notes)
                named = named_there(names.get(name, name), deferred)
                call = {"call_id": id, **named, "arguments": arguments_text(block.get("input"))}
                items.append({"type": "function_call", **call})
            case {"type": "server_tool_use", "id": id} if id in found:
                items += search_items_to(block, found[id], deferred)
            case {"type": "tool_search_tool_result"}:
                continue  # went with its search
            case {"type": "tool_result", "tool_use_id": id}:
                check_keys(block, ("type", "tool_use_id", "content", "is_error"), where, notes)
                items.append({"type": "function_call_output", "call_id": id, "output": _output(block, where, notes)})
            case {"type": "thinking"} if (foreign_thinking(block) or ("", 0))[0] == SHAPE:
                items.append(foreign_thinking(block)[1])  # type: ignore[index]
            case _ if role == "user" and (part := _part_to(block, where, notes)):
                if not (items and items[-1]["type"] == "message"):
                    items.append({"type": "message", "role": "user", "content": []})
                items[-1]["content"].append(part)
            case _ if role != "user":
                notes.lose(where, f"there is no such item as `{block['type']}`")
    return items


def _part_to(block: Block, path: str, notes: Notes) -> dict[str, Any] | None:
    """A block of the user or of a result as a part; None where no part is like it."""
    url = data_url(block.get("source") or {})
    match block["type"]:
        case "text":
            check_keys(block, ("type", "text"), path, notes)
            return {"type": "input_text", "text": block["text"]}
        case "image" if url:
            check_keys(block, ("type", "source"), path, notes)
            return {"type": "input_image", "detail": "auto", "image_url": url}
        case "document" if url:
            check_keys(block, ("type", "source", "title"), path, notes)
            inside = {"file_url": url} if block["source"]["type"] == "url" else {"file_data": url}
            return {"type": "input_file", **inside} | ({"filename": block["title"]} if block.get("title") else {})
    notes.lose(path, f"there is no such part as `{block['type']}`")
    return None


def _output(block: Block, path: str, notes: Notes) -> str | list[dict[str, Any]]:
    content, failed = block.get("content") or "", bool(block.get("is_error"))
    if isinstance(content, str):
        return marked(content, failed)
    parts = [_part_to(part, f"{path}.content.{index}", notes) for index, part in enumerate(content)]
    kept = [part for part in parts if part]
    if kept and kept[0]["type"] == "input_text":
        kept[0]["text"] = marked(kept[0]["text"], failed)
    return kept or marked("", failed)


# Back.


def responses_request_from(body: Mapping[str, Any], earlier: list[Any] | None = None) -> Converted:
    """A body of `/v1/responses` as a Messages request; `earlier` are items that come before its own."""
    notes = Notes()
    known = ["model", "input", "instructions", "max_output_tokens", "stream", "tools", "tool_choice", "text"]
    check_keys(body, [*known, "parallel_tool_calls"], "", notes)
    request: dict[str, Any] = {"model": body["model"]}
    if body.get("max_output_tokens") is not None:
        request["max_tokens"] = body["max_output_tokens"]
    given = body.get("input") or []
    items = [*(earlier or ()), *([{"role": "user", "content": given}] if isinstance(given, str) else given)]
    system: list[Block] = [text(body["instructions"])] if body.get("instructions") else []
    messages: list[Message] = []
    deferred = tools_without_search(body.get("tools") or ())
    for index, item, output in with_outputs(items):
        path = f"input.{index}"
        role, blocks = blocks_of(item, path, notes, deferred, output)
        if role == "system" and not messages:
            system += blocks
        elif messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    for message in messages:
        if message["role"] == "user":  # results can be anywhere here, and come first there
            message["content"].sort(key=lambda block: block["type"] != "tool_result")
    request |= {"system": system} if system else {}
    request |= {"stream": True} if body.get("stream") else {}
    request |= tools_from(SHAPE, body, notes)
    wanted = (body.get("text") or {}).get("format") or {}
    if wanted.get("type") == "json_schema":
        request["output_config"] = {"format": {"type": "json_schema", "schema": wanted["schema"]}}
    return notes.converted({**request, "messages": messages})


def with_outputs(items: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any], Any]]:
    """Each item with its place; a search also has its output, which is the next item."""
    for index, item in enumerate(items):
        behind = items[index + 1] if index + 1 < len(items) else {}
        searched = item.get("type") == "tool_search_call" and item.get("execution", "server") == "server"
        output = behind if searched and behind.get("type") == "tool_search_output" else None
        before = items[index - 1] if index else {}
        if item.get("type") == "tool_search_output" and before.get("type") == "tool_search_call":
            if before.get("execution", "server") == "server":
                continue
        yield index, item, output


def blocks_of(
    item: Mapping[str, Any], path: str, notes: Notes, deferred: Deferred, output: Mapping[str, Any] | None = None
) -> tuple[str, list[Block]]:
    """The role and the blocks of one item; `output` is what a search brought, if the item is one."""
    match item.get("type", "message"):
        case "message":
            role = {"developer": "system"}.get(item["role"], item["role"])
            return role, parts_from(item.get("content"), path, notes)
        case "function_call":
            known = ("type", "id", "call_id", "name", "namespace", "arguments", "status", "caller")
            check_keys(item, known, path, notes)
            call = {"id": item["call_id"], "name": name_here(item, deferred), "input": input_of(item["arguments"])}
            return "assistant", [{"type": "tool_use", **call}]
        case "tool_search_call" if output is not None:
            return "assistant", search_blocks_from(item, output, deferred)
        case "function_call_output":
            block: Block = {"type": "tool_result", "tool_use_id": item["call_id"]}
            parts, failed = parts_from(item.get("output"), path, notes), False
            if parts and parts[0]["type"] == "text":
                said, failed = unmarked(parts[0]["text"])
                parts[0] = text(said)
            content = parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts
            return "user", [block | ({"content": content} if content else {}) | ({"is_error": True} if failed else {})]
        case "reasoning":
            return "assistant", [_thinking(item)]
        case kind:
            notes.lose(path, f"`{kind}` is an item of that provider alone")
            return "assistant", []


def _thinking(item: Mapping[str, Any]) -> Block:
    said = "\n".join(part.get("text", "") for part in item.get("summary") or ())
    return {"type": "thinking", "thinking": said, "signature": FOREIGN_THINKING[SHAPE] + compact(item)}


def parts_from(content: Any, path: str, notes: Notes) -> list[Block]:
    """The content of an item as blocks; what has no block is noted."""
    if content is None or isinstance(content, str):
        return [text(content)] if content else []
    blocks: list[Block] = []
    for index, part in enumerate(content):
        match part:
            case {"type": "input_text" | "output_text" | "text", "text": said} | {"type": "refusal", "refusal": said}:
                blocks.append(text(said))
            case {"type": "input_image", "image_url": str(url)}:
                blocks.append(as_image(url))
            case {"type": "input_file", "file_data": str(url)} | {"type": "input_file", "file_url": str(url)}:
                named = {"title": part["filename"]} if part.get("filename") else {}
                blocks.append({**as_image(url, "document"), **named})
            case _:
                notes.lose(f"{path}.content.{index}", f"`{part.get('type')}` is not carried over")
    return blocks

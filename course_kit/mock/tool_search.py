"""Tool search on the server's side: which definitions the model sees, and the searches that are run for it.

    request ─▶ model ─▶ server_tool_use ─▶ search ─▶ tool_search_tool_result ─▶ model ─▶ … ─▶ reply

A deferred tool is invisible until a `tool_reference` names it: one that the server's search found, or one that the
client put into a result. The model asks for a search by a block, the server answers it in the same reply and lets the
model go on, and the whole leaves as one message. How tools are ranked is the business of `contract/index.py`,
which the client's own search uses as well.
https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
"""

import marshal
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from course_kit.contract.messages import Block, content_blocks

from .scripted import Draft, Model
from .wire import make_id

__all__ = ["ERROR_CODES", "ROUNDS", "Reply", "loaded", "reply_with_search", "references", "search_call", "visible"]

ERROR_CODES = ("invalid_tool_input", "unavailable", "too_many_requests", "execution_time_exceeded")
ROUNDS = 10  # searches in one reply, after which the turn pauses (docs: Server tools)
REFERENCES = 5  # found by a search that sets no limit
MAX_LIMIT = 10_000


class Variant(NamedTuple):
    """One of the two search tools: what it is asked with, how long that may be, how it ranks."""

    field: str
    longest: int
    method: str


VARIANTS = {
    "tool_search_tool_regex": Variant("pattern", 200, "regex"),
    "tool_search_tool_bm25": Variant("query", 500, "bm25"),
}


# What the model sees.


def references(block: Mapping[str, Any]) -> Iterator[str]:
    """The tools that a block brings in: those of a search's result, or of a `tool_result`."""
    content = block.get("content")
    parts = content.get("tool_references") if isinstance(content, dict) else content
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_reference":
            yield str(part.get("tool_name"))


def loaded(request: Mapping[str, Any]) -> set[str]:
    """The names of the deferred tools that the conversation has brought in."""
    blocks = (block for message in request.get("messages") or () for block in content_blocks(message))
    return {name for block in blocks for name in references(block)}


def visible(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request as the model sees it: without the deferred tools that nothing has brought in."""
    tools = request.get("tools") or ()
    if not any(tool.get("defer_loading") for tool in tools):
        return request
    seen = loaded(request) | {(request.get("tool_choice") or {}).get("name")}
    return {**request, "tools": [tool for tool in tools if not tool.get("defer_loading") or tool.get("name") in seen]}


# The reply, with every search in it answered.


class Reply(NamedTuple):
    """What the model said in the end, and every prompt that it read on the way: one more for each search."""

    draft: Draft
    prompts: Sequence[Mapping[str, Any]]


def reply_with_search(model: Model, request: Mapping[str, Any], *key: object, failure: str | None = None) -> Reply:
    """Ask the model, run the searches it asks for, and ask again until it has said something else.

    Ids depend on `key`. `failure` is one of `ERROR_CODES` that every search of this reply meets.
    """
    content: list[Block] = []
    reasons: list[str] = []
    prompts = [request]
    for round in range(ROUNDS):
        draft = model.reply(visible(prompts[-1]))
        if not any(_is_open(block, draft.content) for block in draft.content):
            break
        blocks = _answered(draft.content, request.get("tools") or (), (*key, round), failure)
        if blocks[-1]["type"] != "tool_search_tool_result":  # the model, or the script, has gone on by itself
            draft = Draft(blocks, draft.reasons, draft.fields)
            break
        content += blocks
        reasons += draft.reasons
        prompts.append(_with_turn(request, content))
    else:
        draft = Draft([], [f"{ROUNDS} searches in one reply: the turn pauses"], {"stop_reason": "pause_turn"})
        prompts.pop()
    if not content:
        return Reply(draft, prompts)
    return Reply(Draft([*content, *draft.content], [*reasons, *draft.reasons], draft.fields), prompts)


def _is_open(block: Block, content: Sequence[Block]) -> bool:
    """Is this a search without its result? (A replayed reply brings its results along.)"""
    if block["type"] != "server_tool_use" or block.get("name") not in VARIANTS:
        return False
    return "id" not in block or all(block["id"] != other.get("tool_use_id") for other in content)


def _answered(
    content: Sequence[Block], tools: Sequence[Mapping[str, Any]], key: tuple[object, ...], failure: str | None
) -> list[Block]:
    """The blocks with a result after each search. Calls of the client's tools come last, as on the wire."""
    blocks: list[Block] = []
    for index, block in enumerate(content):
        if not _is_open(block, content):
            blocks.append(block)
            continue
        id = block.get("id") or make_id("srvtoolu_01", *key, index)
        asked = {"type": "server_tool_use", "id": id, "caller": {"type": "direct"}, **{"input": {}, **block}}
        found = _error(failure, f"Simulated fault: {failure}") if failure else _search(asked, tools)
        blocks += [asked, {"type": "tool_search_tool_result", "tool_use_id": id, "content": found}]
    return sorted(blocks, key=lambda block: block["type"] == "tool_use")


def _with_turn(request: Mapping[str, Any], content: Sequence[Block]) -> Mapping[str, Any]:
    """The request as the model reads it after a search: its turn so far is at the end."""
    messages = list(request["messages"])
    before = content_blocks(messages.pop()) if messages[-1]["role"] == "assistant" else []
    continued = {**request, "messages": [*messages, {"role": "assistant", "content": [*before, *content]}]}
    choice = request.get("tool_choice") or {}
    if choice.get("type") == "tool" and choice.get("name") in VARIANTS:  # what was forced is done
        continued["tool_choice"] = {"type": "auto"}
    return continued


# One search.


def _search(call: Block, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The `content` of the result. No match is an empty list; what cannot be searched for is an error inside a 200."""
    variant = VARIANTS[call["name"]]
    if not any(tool.get("name") == call["name"] for tool in tools):
        return _error("unavailable", f"{call['name']} is not among the tools of this request.")
    text, limit = call["input"].get(variant.field), call["input"].get("limit", REFERENCES)
    if problem := _problem(variant, text, limit):
        return _error("invalid_tool_input", problem)
    from course_kit.contract.index import SearchError

    deferred = [tool for tool in tools if tool.get("defer_loading") and "name" in tool]
    try:
        hits = _index(marshal.dumps(deferred, 2), variant.method).search(text, limit)
    except SearchError as error:  # not a regular expression, or a slow one
        return _error(error.error_code, str(error))
    found = [{"type": "tool_reference", "tool_name": hit.tool_name} for hit in hits]
    return {"type": "tool_search_tool_search_result", "tool_references": found}


def _problem(variant: Variant, text: Any, limit: Any) -> str | None:
    if not isinstance(text, str) or not text:
        return f"{variant.field}: a text is required."
    if len(text) > variant.longest:
        return f"{variant.field}: {len(text)} characters, at most {variant.longest} are allowed."
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LIMIT:
        return f"limit: a whole number from 1 to {MAX_LIMIT} is required."
    return None


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "tool_search_tool_result_error", "error_code": code, "error_message": message}


@lru_cache(maxsize=8)
def _index(tools: bytes, method: Any) -> Any:
    from course_kit.contract.index import ToolIndex

    return ToolIndex(marshal.loads(tools), method)


# A model that decides to search.


def search_call(request: Mapping[str, Any], text: str) -> Block | None:
    """The block by which a model looks for a tool for `text`; None without a search tool, or if that was done before.

    `{"type": "server_tool_use", "name": "tool_search_tool_bm25", "input": {"query": "refund my order"}}`
    """
    offered = (tool.get("name") for tool in request.get("tools") or ())
    name = next((name for name in offered if name in VARIANTS), None)
    if name is None:
        return None
    variant = VARIANTS[name]
    asked = _pattern(text, variant.longest) if variant.method == "regex" else text.strip()[: variant.longest]
    call: Block = {"type": "server_tool_use", "name": name, "input": {variant.field: asked}}
    blocks = (block for message in request.get("messages") or () for block in content_blocks(message))
    done = (block.get("input") for block in blocks if block.get("type") == "server_tool_use")
    return call if asked and call["input"] not in done else None


def _pattern(text: str, longest: int) -> str:
    """A pattern that finds any word of the text: `"Refund my order"` → `"refund|order"`."""
    from .spans import words

    pattern = ""
    for word in sorted(words(text), key=lambda word: (-len(word), word)):
        longer = f"{pattern}|{re.escape(word)}" if pattern else re.escape(word)
        pattern = longer if len(longer) <= longest else pattern
    return pattern

"""Shorten a conversation, or put one in order, so that it is legal to send.

`trim_messages` cuts between whole rounds: a call and its result stay together or go together. `repair_messages` is for
a history that somebody else broke: it moves what is in the wrong place, and marks a lost result as lost.
Neither makes up a result. The loop needs neither: its own history is legal at every step (`history.py`).

Both leave out thinking that comes after a place they changed: models since 5.5 refuse it in another conversation.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from course_kit.contract.messages import (
    Block,
    Message,
    content_blocks,
    merge_turns,
    tool_result,
    tool_result_blocks,
    tool_use_blocks,
    user,
)
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.contract.protocol import RULES, check_request

from .history import turn, without_open_server_calls
from .loop import check_limit
from .results import NO_OUTPUT, text_only

__all__ = ["repair_messages", "trim_messages"]

LOST = "The result of this call was lost. It may or may not have taken effect: look before you make it again."
# Whether messages are in order does not depend on the rest of the request.
IN_ORDER = {rule.id: False for rule in RULES.values() if rule.needs and {"messages"} < set(rule.needs)}
IN_ORDER["results-in-one-message"] = True
NEEDED = {"text": "text", "tool_use": "id", "server_tool_use": "id"}  # and each result its call's id
OF_A_REMINDER = ("text", "tool_addition", "tool_removal")  # what a `system` turn may hold


def trim_messages(messages: list[Message], keep: int) -> list[Message]:
    """The last `keep` messages, or a few fewer so that no round is cut in half.

    `[question, call A, result A, call B, result B, answer, question]`, `keep=3` → `[answer, question]`: the result of B
    without its call would be refused. Where no words of the user are left, as in a long run on one question, their
    last ones are put in front. More than `keep` come back only where one round needs more.
    """
    check_limit("keep", keep, 1, "keep at least one message")
    messages = _read(messages)
    starts = _starts(messages)
    near = [start for start in starts if len(messages) - start <= keep] or starts[-1:] or [0]
    tails = [_with_the_question(messages, start) for start in near[:2]]  # a question in front takes one place
    return next((tail for tail in tails if len(tail) <= keep), tails[-1])


def _read(messages: Any) -> list[Message]:
    """The messages as a list, each known to be one."""
    if not isinstance(messages, Iterable) or isinstance(messages, str | Mapping):
        raise TypeError(f"`messages` is {messages!r:.60}: give a list of messages.")
    read = list(messages)
    for place, message in enumerate(read):
        if not (isinstance(message, Mapping) and message.keys() >= {"role", "content"}):
            raise TypeError(f"messages[{place}] is {message!r:.60}: a message is a dict with `role` and `content`.")
        if isinstance(message["content"], Mapping):
            raise TypeError(f"The content of messages[{place}] is one block: put it into a list.")
        for block in content_blocks(message):
            kind = block.get("type") if isinstance(block, Mapping) else None
            if not isinstance(kind, str):
                raise TypeError(f"messages[{place}] holds {block!r:.60}: a block is a dict with a `type`.")
            needed = "tool_use_id" if kind.endswith("tool_result") else NEEDED.get(kind)
            if needed and not isinstance(block.get(needed), str):
                raise TypeError(f"messages[{place}] holds a `{kind}` block without its `{needed}`.")
    return read


def _starts(messages: list[Message]) -> list[int]:
    """Where a shorter conversation may begin: with content, and with the call of each result that follows."""
    starts: list[int] = []
    waiting: set[str] = set()  # results whose call is further ahead; server tools have them too
    for index in reversed(range(len(messages))):
        blocks = content_blocks(messages[index])
        waiting |= {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
        waiting -= {block["id"] for block in blocks if "id" in block}
        if blocks and not waiting and messages[index]["role"] != "system":
            starts.append(index)
    return starts[::-1]


def _with_the_question(messages: list[Message], start: int) -> list[Message]:
    kept = [_without_thinking(message) for message in messages[start:]] if start else list(messages)
    if any(_asks(message) for message in kept):
        return kept
    return [message for message in reversed(messages[:start]) if _asks(message)][:1] + kept


def _asks(message: Message) -> bool:
    return message["role"] == "user" and bool(content_blocks(message)) and not tool_result_blocks(message)


def _thinking(message: Message) -> list[Block]:
    return [block for block in content_blocks(message) if block["type"].endswith("thinking")]


def _without_thinking(message: Message) -> Message:
    thinking = _thinking(message)
    return {**message, "content": [b for b in content_blocks(message) if b not in thinking]} if thinking else message


def repair_messages(messages: Iterable[Message]) -> list[Message]:
    """The same conversation as the API takes it; messages that are in order already are unchanged.

    Text after a call moves before it, results move to the front of the turn after their calls, in call order; a
    second result for a call and a result without a call are dropped (of two, an error stays); a call without a result
    gets an error that says so. A `system` turn moves to the nearest place where one may stand. What was never said is
    not made up: a conversation that ends with the assistant still does.
    """
    messages = _read(messages)
    broken = _out_of_order(messages)
    if not broken:
        return messages
    turns = merge_turns(messages)
    results: dict[str, Block] = {}
    for block in (block for one in turns for block in tool_result_blocks(one)):
        if block["tool_use_id"] not in results or block.get("is_error"):
            results[block["tool_use_id"]] = block
    repaired: list[Message] = []
    reminders: list[Message] = []  # `system` turns on the way to their place
    called: set[str] = set()
    open_calls: list[Block] = []
    for one in merge_turns(_server_side_whole(turns)):
        if one["role"] == "system":
            kept = [block for block in content_blocks(one) if block["type"] in OF_A_REMINDER and _says_something(block)]
            reminders += [{**one, "content": kept}] if kept else []
        elif one["role"] == "assistant":
            repaired += _answered(open_calls, results, [])
            by_id = {call["id"]: call for call in tool_use_blocks(one) if call["id"] not in called}
            called |= by_id.keys()
            open_calls = list(by_id.values())
            if made := turn(_words_first(one, open_calls)):
                if repaired and _may_be_reminded(repaired[-1]):
                    repaired += reminders
                    reminders = []
                repaired += made
        else:
            words = [block for block in content_blocks(one) if _is_the_users(block) and _says_something(block)]
            repaired += _answered(open_calls, results, words)
            open_calls = []
    repaired += _answered(open_calls, results, [])
    repaired = _with_the_last(reminders, merge_turns(repaired))
    if repaired == turns and broken == {"results-in-one-message"}:
        return messages
    return _without_moved_thinking(repaired, turns)


def _out_of_order(messages: list[Message]) -> set[str]:
    """The rules that the messages break, read as if the user went on after the assistant."""
    spoken = messages and messages[-1]["role"] == "assistant"
    body = {"model": DEFAULT_MODEL, "max_tokens": 1, "messages": [*messages, user("…")] if spoken else messages}
    return {violation.rule for violation in check_request(body, strictness=IN_ORDER)}


def _server_side_whole(turns: list[Message]) -> list[Message]:
    """The turns without results of server tools that have no call, and calls of theirs that nothing can answer now."""
    whole: list[Message] = []
    called: set[str] = set()
    running: set[str] = set()
    for one in turns:
        kept = []
        for block in content_blocks(one):
            if block["type"] == "server_tool_use" and one["role"] == "assistant":
                if block["id"] in called:
                    continue
                called.add(block["id"])
                running.add(block["id"])
            elif block["type"].endswith("_tool_result"):
                if one["role"] != "assistant" or block["tool_use_id"] not in running:
                    continue
                running.discard(block["tool_use_id"])
            kept.append(block)
        whole.append({**one, "content": kept})
    last = max((index for index, one in enumerate(whole) if one["role"] == "assistant" and one["content"]), default=0)
    if any(block["type"] != "tool_result" for one in whole[last + 1 :] for block in one["content"]):
        return without_open_server_calls(whole)
    # Where only results may follow, a server tool may still run; a search never waits for the client.
    followed = any(tool_use_blocks(one) or tool_result_blocks(one) for one in whole[last:])
    calls = [block for one in whole[last:] for block in one["content"] if block["type"] == "server_tool_use"]
    waits = [call["id"] for call in calls if not (followed and call["name"].startswith("tool_search_tool_"))]
    return without_open_server_calls(whole, waits)


def _may_be_reminded(message: Message) -> bool:
    """Whether a `system` turn may follow: after the user's, or where a server tool has answered."""
    return message["role"] != "assistant" or message["content"][-1]["type"].endswith("_tool_result")


def _with_the_last(reminders: list[Message], repaired: list[Message]) -> list[Message]:
    """Reminders that came too late go to the last place before an assistant turn, or the end; else they are words."""
    nexts = [*(message["role"] for message in repaired[1:]), "the end"]
    places = [
        index
        for index, (message, after) in enumerate(zip(repaired, nexts, strict=False), 1)
        if _may_be_reminded(message) and after != "user"
    ]
    if reminders and not places:
        return [user([block for one in reminders for block in one["content"] if block["type"] == "text"]), *repaired]
    return [*repaired[: places[-1]], *reminders, *repaired[places[-1] :]] if reminders else repaired


def _without_moved_thinking(repaired: list[Message], turns: list[Message]) -> list[Message]:
    """Thinking stays up to the first turn that differs, and in that one if it is the same there."""
    same = 0
    while same < len(repaired) and same < len(turns) and repaired[same] == turns[same]:
        same += 1
    if same < len(repaired) and same < len(turns) and _thinking(repaired[same]) == _thinking(turns[same]):
        same += 1
    return repaired[:same] + [_without_thinking(message) for message in repaired[same:]]


def _words_first(message: Message, calls: list[Block]) -> list[Block]:
    """The blocks of a turn: words, then from the first call on the calls with the thinking between them."""
    ahead: list[Block] = []
    after: list[Block] = []
    for block in content_blocks(message):
        if block["type"] == "tool_use":
            after += [block] if block in calls and block not in after else []
        elif block["type"] != "tool_result" and _says_something(block):
            (after if after and block["type"].endswith("thinking") else ahead).append(block)
    return ahead + after


def _answered(calls: list[Block], results: dict[str, Block], words: list[Block]) -> list[Message]:
    content = [_legal(results.get(call["id"]) or tool_result(call["id"], LOST, is_error=True)) for call in calls]
    return [{"role": "user", "content": content + words}] if content or words else []


def _legal(result: Block) -> Block:
    """A result that the API takes: no empty text, references to tools alone, an error that says something, in text."""
    content = result.get("content")
    if result.get("is_error"):
        return {**result, "content": text_only(content)}
    if isinstance(content, list) and content:
        kept = [block for block in content if block["type"] == "tool_reference"]
        kept = kept or [block for block in content if _says_something(block)]
        return {**result, "content": kept or NO_OUTPUT}
    return result


def _says_something(block: Block) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())


def _is_the_users(block: Block) -> bool:
    return not block["type"].endswith(("tool_use", "tool_result", "thinking"))

"""Shorten a conversation, or put one in order, so that it is legal to send.

`trim_messages` cuts between whole rounds: a call and its result stay together or go together. `repair_messages` is for
a history that somebody else broke: it moves what is in the wrong place, and marks a lost result as lost.
Neither makes up a result. The loop needs neither: its own history is legal at every step (`history.py`).
"""

from collections.abc import Iterable

from course_kit.contract.messages import (
    Block,
    Message,
    content_blocks,
    merge_turns,
    tool_result,
    tool_result_blocks,
    tool_use_blocks,
)

from .history import turn
from .results import NO_OUTPUT, text_only

__all__ = ["repair_messages", "trim_messages"]

LOST = "The result of this call was lost. It may or may not have taken effect: look before you make it again."


def trim_messages(messages: list[Message], keep: int) -> list[Message]:
    """The last `keep` messages, or a few fewer so that no round is cut in half.

    `[question, call A, result A, call B, result B, answer, question]`, `keep=3` → `[answer, question]`: the result of B
    without its call would be refused. Where no words of the user are left, as in a long run on one question, their
    last ones are put in front. More than `keep` come back only where one round needs more.
    """
    if keep < 1:
        raise ValueError(f"keep is {keep}: keep at least one message.")
    starts = [i for i, message in enumerate(messages) if not tool_result_blocks(message)]
    tails = [_with_the_question(messages, start) for start in starts]
    return next((tail for tail in tails if len(tail) <= keep), tails[-1] if tails else list(messages))


def _with_the_question(messages: list[Message], start: int) -> list[Message]:
    asked = [i for i, message in enumerate(messages) if message["role"] == "user" and not tool_result_blocks(message)]
    before = [i for i in asked if i < start]
    if before and not any(i >= start for i in asked):
        return [messages[before[-1]], *messages[start:]]
    return messages[start:]


def repair_messages(messages: Iterable[Message]) -> list[Message]:
    """The same conversation as the API takes it; messages that are in order already are unchanged.

    Text after a call moves before it, results move to the front of the turn after their calls, in call order; a
    second result for a call and a result without a call are dropped (of two, an error stays); a call without a result
    gets an error that says so. What was never said is not made up: a conversation that ends with the assistant still
    does.
    """
    messages = list(messages)
    turns = merge_turns(messages)
    results: dict[str, Block] = {}
    for block in (block for one in turns for block in tool_result_blocks(one)):
        if block["tool_use_id"] not in results or block.get("is_error"):
            results[block["tool_use_id"]] = block
    repaired: list[Message] = []
    called: set[str] = set()
    open_calls: list[Block] = []
    for one in turns:
        if one["role"] == "assistant":
            repaired += _answered(open_calls, results, [])
            by_id = {call["id"]: call for call in tool_use_blocks(one) if call["id"] not in called}
            called |= by_id.keys()
            calls = list(by_id.values())
            repaired += turn(_in_order(one, calls))
            open_calls = calls
        else:
            words = [
                block for block in content_blocks(one) if block["type"] != "tool_result" and _says_something(block)
            ]
            repaired += _answered(open_calls, results, words)
            open_calls = []
    repaired = merge_turns([*repaired, *_answered(open_calls, results, [])])
    return messages if repaired == turns else repaired


def _in_order(message: Message, calls: list[Block]) -> list[Block]:
    """The blocks of a turn: words, then from the first call on the calls with the thinking between them."""
    ahead: list[Block] = []
    after: list[Block] = []
    for block in content_blocks(message):
        if block["type"] == "tool_use":
            after += [block] if block in calls and block not in after else []
        elif _says_something(block):
            (after if after and block["type"].endswith("thinking") else ahead).append(block)
    return ahead + after


def _answered(calls: list[Block], results: dict[str, Block], words: list[Block]) -> list[Message]:
    content = [_legal(results.get(call["id"]) or tool_result(call["id"], LOST, is_error=True)) for call in calls]
    return [{"role": "user", "content": content + words}] if content or words else []


def _legal(result: Block) -> Block:
    """A result that the API takes: no empty text, and an error that says something, in text."""
    content = result.get("content")
    if result.get("is_error"):
        return {**result, "content": text_only(content)}
    if isinstance(content, list):
        kept = [block for block in content if _says_something(block)]
        return {**result, "content": kept or NO_OUTPUT}
    return result


def _says_something(block: Block) -> bool:
    return block["type"] != "text" or bool(block["text"].strip())

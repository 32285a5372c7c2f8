"""What goes into `messages`: from a reply, and for calls that were not run.

Every function here keeps one promise: append a user turn to its result and the API takes it. Which turn is asked
for again and when a run ends is decided in `loop.py`.
"""

from collections.abc import Callable, Iterable, Mapping

from course_kit.contract.messages import Block, Message, assistant, content_blocks, text, tool_result, tool_use_blocks

__all__ = ["history_of", "is_cut", "results_for", "without_open_server_calls"]


def is_cut(message: Message) -> bool:
    """Did the turn end inside a call, or without a reason? Its calls may look complete; they must not run."""
    return message["stop_reason"] is None or (message["stop_reason"] == "max_tokens" and bool(tool_use_blocks(message)))


def history_of(message: Message) -> list[Message]:
    """What of a reply goes into the history: all of it if its calls run, else only what is legal without them.

    `[tool_use, text]` → `[text, tool_use]` when it stopped with `"tool_use"`, else `[text]`
    """
    if is_cut(message) or message["stop_reason"] == "refusal":
        return []
    ahead: list[Block] = []
    calls: list[Block] = []  # from the first call on, with the thinking between them
    for block in content_blocks(message):
        if block["type"] == "text":
            # subtle: text after a call is refused when it goes back, and accepted before the call (recorded 2026-05).
            ahead += [block] if block["text"].strip() else []
        elif calls or block["type"] == "tool_use":
            calls.append(block)
        else:
            ahead.append(block)
    return turn(ahead + calls if message["stop_reason"] == "tool_use" else ahead)


def turn(content: list[Block]) -> list[Message]:
    """An assistant turn of these blocks, made legal: not empty, no thinking at the end, never two in a row."""
    while content and content[-1]["type"].endswith("thinking"):
        content = content[:-1]
    # Two thinking blocks become neighbours when what was between them is left out (reported 2026-07).
    pairs = zip(content, [*content, None][1:], strict=True)
    kept = [block for block, after in pairs if not (after and block["type"] == after["type"] == "thinking")]
    return [assistant(kept)] if kept else []


def without_open_server_calls(messages: list[Message], running: Iterable[str] = ()) -> list[Message]:
    """The history without calls of server tools that got no result: a user turn after them would be refused.

    Those with their id in `running` may stay.
    """
    done = {block.get("tool_use_id") for message in messages for block in content_blocks(message)} | set(running)
    closed: list[Message] = []
    for message in messages:
        content = content_blocks(message)
        kept = _without_open(content, done)
        closed += [message] if kept == content else turn(kept)
    return closed


def _without_open(content: list[Block], done: set[str | None]) -> list[Block]:
    """Ahead of a call two thinking blocks may not meet, and neither may be left out: a sentence takes the place."""
    first_call = next((place for place, block in enumerate(content) if block["type"] == "tool_use"), 0)
    kept: list[Block] = []
    left_out = ""
    for place, block in enumerate(content):
        if block["type"] == "server_tool_use" and block["id"] not in done:
            left_out = block["name"]
            continue
        if left_out and place < first_call and kept and kept[-1]["type"] == block["type"] == "thinking":
            kept.append(text(f"({left_out} was not finished.)"))
        kept.append(block)
        left_out = ""
    return kept


def results_for(calls: list[Block], results: Mapping[str, Block], why: Callable[[str], str]) -> list[Block]:
    """One result for each call, in call order; a call without one gets an error that says `why`."""
    return [results.get(call["id"]) or tool_result(call["id"], why(call["id"]), is_error=True) for call in calls]

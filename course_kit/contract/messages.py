"""Read and build Messages API dicts.

Everything here is plain data: a message is `{"role": ..., "content": ...}`, content is a string or a list of
blocks, a block is a dict with a `type`. What makes a whole request legal is next door, in `protocol.py`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "Block",
    "Message",
    "STOP_REASONS",
    "assistant",
    "content_blocks",
    "merge_turns",
    "text",
    "text_of",
    "tool_result",
    "tool_result_blocks",
    "tool_use",
    "tool_use_blocks",
    "user",
]

Block = dict[str, Any]
Message = dict[str, Any]

# What a loop does when a turn ends this way.
# https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons and the SDK's types (2.14)
STOP_REASONS = {
    "tool_use": "run the calls, send back one result for each",
    "end_turn": "stop: the answer is complete",
    "stop_sequence": "stop: one of your `stop_sequences` was written",
    "max_tokens": "stop or ask again with more room: the turn was cut, its calls must not run",
    "model_context_window_exceeded": "stop: the conversation no longer fits, the turn was cut",
    "refusal": "stop: the model declined, its calls must not run",
    "pause_turn": "send the turn back unchanged: the server goes on with it",
}


def content_blocks(message: Mapping[str, Any]) -> list[Block]:
    """The content of a message as blocks: `"hi"` → `[{"type": "text", "text": "hi"}]`. The SDK's become dicts."""
    content = message.get("content")
    if isinstance(content, str):
        return [text(content)] if content else []
    return [
        block.model_dump(mode="json", exclude_unset=True) if hasattr(block, "model_dump") else block
        for block in content or []
    ]


def blocks_of_type(message: Mapping[str, Any], type: str) -> list[Block]:
    return [block for block in content_blocks(message) if block.get("type") == type]


def tool_use_blocks(message: Mapping[str, Any]) -> list[Block]:
    """The calls in a message, in order: `[text, tool_use, tool_use]` → `[tool_use, tool_use]`."""
    return blocks_of_type(message, "tool_use")


def tool_result_blocks(message: Mapping[str, Any]) -> list[Block]:
    """The results in a message, in order."""
    return blocks_of_type(message, "tool_result")


def text_of(message: Mapping[str, Any]) -> str:
    """All text of a message, its blocks joined."""
    return "".join(block.get("text") or "" for block in blocks_of_type(message, "text"))


def text(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def user(content: str | Iterable[Block]) -> Message:
    """A message of the user: a text, or blocks such as tool results."""
    return {"role": "user", "content": content if isinstance(content, str) else list(content)}


def assistant(content: str | Iterable[Block]) -> Message:
    """A message of the model: a text, or its blocks."""
    return {"role": "assistant", "content": content if isinstance(content, str) else list(content)}


def tool_use(id: str, name: str, input: dict[str, Any] | None = None) -> Block:
    """A call as the model writes it. Every call carries `caller` on the wire (seen live since April 2026)."""
    return {"type": "tool_use", "id": id, "name": name, "input": input or {}, "caller": {"type": "direct"}}


def tool_result(tool_use_id: str, content: str | list[Block] = "", *, is_error: bool = False) -> Block:
    """The answer to one call. No content is legal for a success; an error must say something."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id}
    if content:
        block["content"] = content
    if is_error:
        block["is_error"] = True
    return block


def merge_turns(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Consecutive messages of one role become one turn, as the server reads them before it checks anything.

    `[user "a", user "b", assistant "c"]` → `[user [a, b], assistant [c]]`
    """
    turns: list[Message] = []
    for message in messages:
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1]["content"] += content_blocks(message)
        else:
            turns.append({"role": message["role"], "content": content_blocks(message)})
    return turns

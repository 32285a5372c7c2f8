"""What the provider remembers of its replies: the thinking that it sent with each call.

Whether a thinking block was edited can be seen from its signature (`contract/thinking.py`). Only the sender can tell
that one was left out or moved, so this rule is here and not among those of `protocol.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from course_kit.contract import thinking
from course_kit.contract.messages import Block, content_blocks, tool_use_blocks
from course_kit.contract.rules import Found, Rule, Violation, rule

__all__ = ["MEMORY_RULES", "Memory"]


class _Replay(NamedTuple):
    """What a rule looks at: the messages of a request, and the signatures that went out with each call."""

    messages: Sequence[Mapping[str, Any]]
    sent: Mapping[str, tuple[str, ...]]


@rule("docs", "Extended thinking")
def thinking_kept(replay: _Replay) -> Iterator[Found]:
    """In the latest assistant turn the thinking that came with a call goes back with it, complete and in order."""
    index, blocks = _latest_assistant_turn(replay.messages)
    given = _signatures(blocks)
    for call in tool_use_blocks({"content": blocks}):
        rest = iter(given)
        if not all(signature in rest for signature in replay.sent.get(call["id"], ())):
            yield Found(
                f"messages.{index}",
                "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response.",
            )


MEMORY_RULES: dict[str, Rule] = {thinking_kept.id: thinking_kept}


@dataclass
class Memory:
    """The signatures of the thinking that was sent, by the ids of the calls it came with."""

    sent: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def keep(self, reply: Mapping[str, Any]) -> None:
        """Remember the thinking of a reply with calls: of the newer one, where a request was answered twice."""
        signatures = _signatures(reply["content"])
        for call in tool_use_blocks(reply):
            if signatures:
                self.sent[call["id"]] = signatures
            else:
                self.sent.pop(call["id"], None)

    def first_violation(self, body: Mapping[str, Any], strictness: str | Mapping[str, bool]) -> Violation | None:
        """What an otherwise legal request does to the thinking sent."""
        if not self.sent or strictness == "schema":
            return None
        off = {id for id, on in strictness.items() if not on} if isinstance(strictness, Mapping) else ()
        replay = _Replay(body["messages"], self.sent)
        for one in MEMORY_RULES.values():
            for found in one.find(replay) if one.id not in off else ():  # type: ignore[arg-type]
                return one.broken_by(found)
        return None


def _latest_assistant_turn(messages: Sequence[Mapping[str, Any]]) -> tuple[int, list[Block]]:
    """The last assistant messages in a row as one: where they begin, and their blocks."""
    start, blocks = 0, list[Block]()
    for index in reversed(range(len(messages))):
        if messages[index]["role"] == "assistant":
            start, blocks = index, content_blocks(messages[index]) + blocks
        elif blocks and messages[index]["role"] == "user":
            break
    return start, blocks


def _signatures(blocks: Sequence[Block]) -> tuple[str, ...]:
    """What tells thinking blocks apart, in their order."""
    return tuple(
        str(block.get("signature") or block.get("data")) for block in blocks if block["type"] in thinking.TYPES
    )

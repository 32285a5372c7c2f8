"""What a report is made of: findings, and readers for requests that may be malformed.

`report.py` judges how calls and results were handled, `report_prompt.py` what the prompt cost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_kit.contract.messages import content_blocks
from course_kit.contract.thinking import without_cache_control

if TYPE_CHECKING:
    from .provider import Exchange

__all__ = ["Finding", "blocks_of", "continued", "field_of", "messages_of"]


@dataclass(frozen=True)
class Finding:
    """One thing to fix: the number of the request, a short id, a sentence, and where it is explained."""

    request: int
    rule: str
    message: str
    lesson: str


def messages_of(one: "Exchange") -> list[Mapping[str, Any]]:
    """The messages of a request, as far as they can be read."""
    messages = field_of(one, "messages", [])
    return [m for m in messages if isinstance(m, dict) and isinstance(m.get("role"), str) and _readable(m)]


def _readable(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(b, dict) for b in content))


def field_of(one: "Exchange", name: str, default: Any) -> Any:
    """A field of the body, or the default where it is missing or of another type."""
    value = one.body.get(name)
    return value if isinstance(value, type(default)) else default


def blocks_of(one: "Exchange") -> list[Mapping[str, Any]]:
    """All content blocks of a request, in order."""
    return [block for message in messages_of(one) for block in content_blocks(message)]


def continued(exchanges: "Sequence[Exchange]") -> Iterator[tuple["Exchange", "Exchange"]]:
    """Pairs of requests, the second continuing the conversation of the first."""
    seen: list[tuple[Exchange, list[Any]]] = []
    for one in exchanges:
        messages = without_cache_control(messages_of(one))
        for before, earlier in reversed(seen):
            if len(messages) > len(earlier) and messages[: len(earlier)] == earlier:
                yield before, one
                break
        if messages and not one.violation:
            seen.append((one, messages))

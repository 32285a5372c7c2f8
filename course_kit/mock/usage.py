"""What a request costs: estimated tokens, and what the prompt cache takes over.

Tokens are estimated, not counted: a quarter of the JSON text's length, in which a Chinese character is an escape of
six. The order of size is right, the last digit is not; the real endpoint calls its own count an estimate too.

The cache works on prefixes. The prompt is read in a fixed order (tools, system, messages), each piece extends the
prefix, `cache_control` marks where a prefix is kept, and a later request reads the longest kept prefix it begins
with. So whatever changes early makes everything after it new. Expiry is not modelled (the mock has no clock), nor is
how far the API looks back from a mark.
https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

import hashlib
import json
import marshal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

from course_kit.contract import models
from course_kit.contract.messages import content_blocks
from course_kit.contract.thinking import without_cache_control

__all__ = ["CacheUse", "PromptCache", "cache_miss_reason", "count_tokens", "estimate"]

# Changes that leave tools and system cached and make the messages new (docs: Tool use with prompt caching).
_MESSAGE_SETTINGS = ("tool_choice", "thinking", "output_config")


def estimate(value: Any) -> int:
    """The estimated tokens of a text or of a JSON value."""
    text = value if isinstance(value, str) else json.dumps(value)
    extra = 0 if text.isascii() else len(json.dumps(text)) - len(text)
    return (len(text) + extra + 3) // 4


def count_tokens(body: Mapping[str, Any]) -> int:
    """The input tokens of a request: what `count_tokens` answers, and what `usage` adds up to."""
    return _measured(body)[0]


# The prompt, in the order in which it is read.


def _prompt(body: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every tool and block as `(part, role, block)`; the parts are `"tools"`, `"system"` and `"messages"`."""
    tools = body.get("tools") or ()
    deferred = {tool["name"]: tool for tool in tools if tool.get("defer_loading") and "name" in tool}
    for tool in tools:
        if not tool.get("defer_loading"):
            yield "tools", "", tool
    for block in content_blocks({"content": body.get("system")}):
        yield "system", "", block
    for message in body["messages"]:
        for block in content_blocks(message):
            # The definition of a deferred tool stands in the prompt from where it is first referred to.
            for name in _references(block) if deferred else ():
                if name in deferred:
                    yield "messages", "", deferred.pop(name)
            yield "messages", message["role"], block


def _references(block: Mapping[str, Any]) -> Iterator[str]:
    content = block.get("content")
    parts = content.get("tool_references") if isinstance(content, dict) else content
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_reference":
            yield str(part.get("tool_name"))


def _overhead(body: Mapping[str, Any]) -> int:
    """What the presence of tools costs."""
    facts = models.facts(body.get("model"))
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    return facts.tool_prompt_tokens[forced] if facts and body.get("tools") else 0


def _tokens(characters: int) -> int:
    return (characters + 3) // 4


def _measured(body: Mapping[str, Any]) -> tuple[int, bool]:
    """The tokens of the whole prompt, and whether anything in it is marked."""
    prompt = list(_prompt(body))
    tools = [block for part, _, block in prompt if part == "tools"]
    blocks = [block for _, _, block in prompt[len(tools) :]]
    # Tools are the same in every turn of a loop; `marshal` gives the quickest key for them.
    parts = [_tools_characters(marshal.dumps(tools, 2))] if tools else []
    parts += [_characters(blocks)] if blocks else []
    characters = sum(count for count, _ in parts) + len(", ") * max(0, len(parts) - 1)
    characters += sum(len(role) for _, role, _ in prompt)
    return _overhead(body) + _tokens(characters), bool(body.get("cache_control")) or any(marked for _, marked in parts)


def _characters(blocks: list[Any]) -> tuple[int, bool]:
    """The length of these blocks with `, ` between them, and whether one of them is marked."""
    text = json.dumps(blocks)
    marked = '"cache_control"' in text
    if marked:
        text = json.dumps(without_cache_control(blocks))
    return len(text) - len("[]"), marked


@lru_cache(maxsize=1024)
def _tools_characters(tools: bytes) -> tuple[int, bool]:
    return _characters(marshal.loads(tools))


class _Piece(NamedTuple):
    """The prompt up to the end of one block."""

    part: str
    text: str  # of this block alone
    tokens: int  # of everything so far
    keep: str | None = None  # the `ttl` when the prefix is to be kept


def _pieces(body: Mapping[str, Any]) -> list[_Piece]:
    pieces, characters, overhead = [], -len(", "), _overhead(body)
    for part, role, block in _prompt(body):
        text = json.dumps(without_cache_control(block))
        characters += len(", ") + len(role) + len(text)
        pieces.append(_Piece(part, role + text, overhead + _tokens(characters), _ttl(block)))
    automatic = body.get("cache_control")
    if automatic and pieces and not pieces[-1].keep:
        pieces[-1] = pieces[-1]._replace(keep=automatic.get("ttl") or "5m")
    return pieces


def _ttl(block: Mapping[str, Any]) -> str | None:
    """How long a prefix that ends with this block is kept, when it is marked."""
    parts = block.get("content")
    for marked in (block, *(parts if isinstance(parts, list) else ())):
        control = marked.get("cache_control") if isinstance(marked, dict) else None
        if isinstance(control, dict):
            return control.get("ttl") or "5m"
    return None


# The cache.


@dataclass(frozen=True)
class CacheUse:
    """How a request's input tokens split: `fresh + read + written_5m + written_1h` is what `count_tokens` says."""

    fresh: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    def usage(self) -> dict[str, Any]:
        """The input half of `usage`."""
        return {
            "cache_creation": {
                "ephemeral_1h_input_tokens": self.written_1h,
                "ephemeral_5m_input_tokens": self.written_5m,
            },
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "input_tokens": self.fresh,
        }


@dataclass
class PromptCache:
    """The prefixes that earlier requests left behind, as digests."""

    kept: set[bytes] = field(default_factory=set)

    def use(self, body: Mapping[str, Any]) -> CacheUse:
        """Read what is kept of this prompt, keep what it marks."""
        total, marked = _measured(body)
        if not marked:
            return CacheUse(total)
        pieces = _pieces(body)
        marks = [index for index, piece in enumerate(pieces) if piece.keep]
        facts = models.facts(body.get("model"))
        floor = facts.cache_floor if facts else 1024
        digests = list(_digests(body, pieces[: marks[-1] + 1] if marks else ()))
        read = max(
            (piece.tokens for piece, digest in zip(pieces, digests, strict=False) if digest in self.kept), default=0
        )
        written, done = {"5m": 0, "1h": 0}, read
        for index in marks:
            piece = pieces[index]
            if piece.tokens >= floor:
                self.kept.add(digests[index])
                written[str(piece.keep)] += max(0, piece.tokens - done)
                done = max(done, piece.tokens)
        return CacheUse(total - done, read, written["5m"], written["1h"])


def _digests(body: Mapping[str, Any], pieces: Iterable[_Piece]) -> Iterator[bytes]:
    """What tells the prefix up to each piece from any other."""
    digest = hashlib.sha256(str(body.get("model")).encode("utf-8"))
    part = None
    for piece in pieces:
        if piece.part == "messages" != part:
            digest.update(json.dumps([body.get(name) for name in _MESSAGE_SETTINGS], sort_keys=True).encode("ascii"))
        part = piece.part
        digest.update(piece.text.encode("ascii", "backslashreplace") + b"\n")
        yield digest.digest()


# What made it miss.


def cache_miss_reason(before: Mapping[str, Any] | None, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Why the prompt of `body` does not begin with that of the request `before`; None when it does.

    The two are compared part by part, whatever the cache holds: `{"type": "tools_changed",
    "cache_missed_input_tokens": 812}`. The tokens are those of `before` from the first difference on.
    https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
    """
    if before is None:
        return {"type": "previous_message_not_found"}
    old, new = _pieces(before), _pieces(body)
    shared, changed = 0, "model" if before["model"] != body["model"] else None
    for one, other in zip_longest(old, new) if changed is None else ():
        if one is None or (other is None and one.part == "messages"):
            break  # one prompt goes on where the other ends
        if other is None or (one.part, one.text) != (other.part, other.text):
            parts = (one.part, other.part if other else "messages")
            changed = next(part for part in ("tools", "system", "messages") if part in parts)
            break
        shared = one.tokens
    if changed in (None, "messages") and any(before.get(name) != body.get(name) for name in _MESSAGE_SETTINGS):
        return {"type": "unavailable"}
    missed = (old[-1].tokens if old else 0) - shared
    return {"type": f"{changed}_changed", "cache_missed_input_tokens": missed} if changed else None

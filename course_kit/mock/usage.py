"""What a request costs: estimated tokens, and what the prompt cache takes over.

Tokens are estimated, not counted: a quarter of the JSON text's length, where a Chinese character is an escape of six
letters. The order of size is right, the last digit is not; the real endpoint calls its own count an estimate too.

The cache works on prefixes. The prompt is read in a fixed order (tools, system, messages), each piece extends the
prefix, `cache_control` marks where a prefix is kept, and a later request reads the longest kept prefix it begins
with. So whatever changes early makes everything after it new. Expiry is not modelled: the mock has no clock.
https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from course_kit.contract import models
from course_kit.contract.messages import content_blocks

__all__ = ["CacheUse", "PromptCache", "count_tokens", "estimate"]

# Changes that leave tools and system cached and make the messages new (docs: Tool use with prompt caching).
_MESSAGE_SETTINGS = ("tool_choice", "thinking", "output_config")


def estimate(value: Any) -> int:
    """The estimated tokens of a text or of a JSON value."""
    text = value if isinstance(value, str) else json.dumps(value)
    extra = 0 if text.isascii() else len(json.dumps(text)) - len(text)
    return (len(text) + extra + 3) // 4


@lru_cache(maxsize=4096)
def _text_tokens(text: str) -> int:
    return estimate(text)


def count_tokens(body: Mapping[str, Any]) -> int:
    """The input tokens of a request: what `count_tokens` answers, and what `usage` adds up to."""
    return sum(piece.tokens for piece in _pieces(body))


@dataclass(frozen=True)
class _Piece:
    """A part of the prompt in the order in which it is read."""

    part: str  # "tools", "system" or "messages"
    text: str
    tokens: int
    keep: str | None = None  # the `ttl` when a prefix is to be kept up to here


def _pieces(body: Mapping[str, Any]) -> Iterator[_Piece]:
    tools = body.get("tools") or []
    discovered = _discovered(body) if any(tool.get("defer_loading") for tool in tools) else frozenset()
    choice = (body.get("tool_choice") or {}).get("type")
    if tools and choice != "none" and (facts := models.facts(body.get("model"))):
        yield _Piece("tools", "", facts.tool_prompt_tokens[choice in ("any", "tool")])
    for tool in tools:
        if not tool.get("defer_loading"):
            yield _piece("tools", tool)
    system = body.get("system") or []
    for block in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield _piece("system", block)
    yield from (_piece("messages", tool) for tool in tools if tool.get("name") in discovered)
    messages = body["messages"]
    for index, message in enumerate(messages):
        blocks = content_blocks(message)
        for position, block in enumerate(blocks):
            last = index == len(messages) - 1 and position == len(blocks) - 1
            yield _piece("messages", block, message["role"], body.get("cache_control") if last else None)


def _piece(part: str, block: Mapping[str, Any], role: str = "", automatic: Mapping[str, Any] | None = None) -> _Piece:
    control = block.get("cache_control") or automatic
    text = role + json.dumps(block if not block.get("cache_control") else {**block, "cache_control": None})
    return _Piece(part, text, _text_tokens(text), (control.get("ttl") or "5m") if control else None)


def _discovered(body: Mapping[str, Any]) -> frozenset[str]:
    """Names of deferred tools that the history refers to: their definitions stand in the prompt from there on."""
    names = set()
    for message in body["messages"]:
        for block in content_blocks(message):
            content = block.get("content")
            parts = content.get("tool_references") if isinstance(content, dict) else content
            if isinstance(parts, list):
                names |= {part["tool_name"] for part in parts if part.get("type") == "tool_reference"}
    return frozenset(names)


@dataclass(frozen=True)
class CacheUse:
    """How a request's input tokens split, and why less was read than the request before would have allowed.

    `missed` is None, or the first part that differs from the request before: `"model"`, `"tools"`, `"system"`,
    `"messages"`, or the setting that made the messages new, such as `"tool_choice"`.
    """

    fresh: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    missed: str | None = None
    missed_tokens: int = 0

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
    """The prefixes that earlier requests left behind."""

    kept: dict[bytes, int] = field(default_factory=dict)  # digest of a prefix → its tokens
    before: Mapping[str, Any] | None = None

    def use(self, body: Mapping[str, Any]) -> CacheUse:
        """Read what is kept of this prompt, keep what it marks."""
        pieces = list(_pieces(body))
        total = sum(piece.tokens for piece in pieces)
        if not any(piece.keep for piece in pieces):
            return CacheUse(total)
        facts = models.facts(body.get("model"))
        floor = facts.cache_floor if facts else 1024
        read = written_to = 0
        written = {"5m": 0, "1h": 0}
        new: dict[bytes, int] = {}
        for prefix, tokens, piece in _prefixes(body, pieces):
            if prefix in self.kept:
                read = tokens
            if piece.keep and tokens >= floor:
                new[prefix] = tokens
                if tokens > read:
                    written[piece.keep] += tokens - max(read, written_to)
                written_to = tokens
        missed = self._missed(body) if self.before is not None else None
        could = max((tokens for tokens in self.kept.values()), default=0)
        self.kept |= new
        self.before = body
        fresh = total - max(read, written_to)
        if read >= could:
            missed = None
        return CacheUse(fresh, read, written["5m"], written["1h"], missed, max(0, could - read) if missed else 0)

    def _missed(self, body: Mapping[str, Any]) -> str | None:
        before = self.before or {}
        for part in ("model", "tools", "system", *_MESSAGE_SETTINGS):
            if body.get(part) != before.get(part):
                return part
        kept = before["messages"]
        return None if _plain(body["messages"][: len(kept)]) == _plain(kept) else "messages"


def _plain(value: Any) -> Any:
    """Without breakpoints, which move from turn to turn."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if key != "cache_control"}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _prefixes(body: Mapping[str, Any], pieces: list[_Piece]) -> Iterator[tuple[bytes, int, _Piece]]:
    digest = hashlib.sha256(str(body.get("model")).encode("utf-8"))
    tokens, part = 0, None
    for piece in pieces:
        if piece.part == "messages" != part:
            digest.update(json.dumps([body.get(name) for name in _MESSAGE_SETTINGS], sort_keys=True).encode("ascii"))
        part = piece.part
        digest.update(piece.text.encode("ascii") + b"\n")
        tokens += piece.tokens
        yield digest.digest(), tokens, piece

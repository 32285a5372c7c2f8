"""The prompt cache: what a request reads from it, and what it leaves in it.

The cache works on prefixes. The prompt is read in a fixed order (tools, system, messages), each block extends the
prefix, `cache_control` marks where a prefix is kept, and a later request reads the longest kept prefix it begins
with. So an early change makes everything after it new. A kept prefix lives for five minutes or an hour from the
start of the request that wrote or read it last, and from each mark the cache looks back over 20 blocks only.
https://platform.claude.com/docs/en/build-with-claude/prompt-caching

Tokens are those of `usage.py`; what made a prompt miss is found in `prompt_changes.py`.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from course_kit.contract import models
from course_kit.contract.messages import content_blocks
from course_kit.contract.thinking import without_cache_control

from .usage import measured, overhead, prompt, tokens_of

__all__ = [
    "LOOKBACK",
    "SECONDS",
    "CacheUse",
    "Piece",
    "PromptCache",
    "message_settings",
    "pieces_of",
    "system_settings",
]

SECONDS = {"5m": 300.0, "1h": 3600.0}
LOOKBACK = 20  # positions looked at from each mark, the mark's own block being the first


class Piece(NamedTuple):
    """The prompt up to the end of one block."""

    part: str
    text: str  # of this block alone
    tokens: int  # of everything so far
    position: int  # by which the cache looks back
    keep: str | None = None  # the `ttl` when the prefix is to be kept


def pieces_of(body: Mapping[str, Any]) -> list[Piece]:
    """The whole prompt, block by block."""
    pieces, characters, extra = [], -len(", "), overhead(body)
    position, before = 0, None
    for part, role, block in prompt(body):
        said = without_cache_control(block)
        text = json.dumps(_fields_sorted(said) if role or part == "system" else said)
        characters += len(", ") + len(role) + len(text)
        # Calls in a row count as one position, so do results; a definition brought in by a result counts as none.
        kind = block.get("type")
        if not (kind == before and kind in ("tool_use", "tool_result")) and (role or part != "messages"):
            position += 1
            before = kind
        pieces.append(Piece(part, role + text, extra + tokens_of(characters), position, _ttl(block)))
    automatic = body.get("cache_control")
    if automatic and pieces and not pieces[-1].keep:
        pieces[-1] = pieces[-1]._replace(keep=automatic.get("ttl") or "5m")
    return pieces


def _fields_sorted(value: Any) -> Any:
    """A block with its own fields in one order: how a client writes them down is not part of the prompt.

    Only the order inside an `input` is the model's own, and so part of what it reads: a client that mixes it up loses
    the cache (docs: Prompt caching, Troubleshooting).
    """
    if isinstance(value, dict):
        return {name: part if name == "input" else _fields_sorted(part) for name, part in sorted(value.items())}
    return [_fields_sorted(part) for part in value] if isinstance(value, list) else value


def _ttl(block: Mapping[str, Any]) -> str | None:
    """How long a prefix that ends with this block is kept, when it is marked."""
    for marked in (block, *_parts(block)):
        if isinstance(control := marked.get("cache_control"), dict):
            return control.get("ttl") or "5m"
    return None


def _digests(body: Mapping[str, Any], pieces: Iterable[Piece]) -> Iterator[bytes]:
    """What identifies the prefix up to each piece."""
    digest = hashlib.sha256(str(body.get("model")).encode("utf-8"))
    part = "tools"
    for piece in pieces:
        if part == "tools" != piece.part:
            digest.update(json.dumps(system_settings(body), sort_keys=True).encode("ascii"))
        if part != "messages" == piece.part:
            digest.update(json.dumps(message_settings(body), sort_keys=True).encode("ascii"))
        part = piece.part
        digest.update(piece.text.encode("ascii", "backslashreplace") + b"\n")
        yield digest.digest()


# Settings that leave what comes before their part cached.
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-use-with-prompt-caching


def system_settings(body: Mapping[str, Any]) -> dict[str, Any]:
    """What makes `system` new, and all after it."""
    return {"speed": body.get("speed"), "output_config.format": (body.get("output_config") or {}).get("format")}


def message_settings(body: Mapping[str, Any]) -> dict[str, Any]:
    """What makes the messages new. `tool_choice` has a default that may be left out."""
    found = {name: body.get(name) for name in ("tool_choice", "thinking", "output_config")}
    found["tool_choice"] = found["tool_choice"] or {"type": "auto"}
    blocks = [block for message in body["messages"] for block in content_blocks(message)]
    blocks += [part for block in blocks for part in _parts(block)]
    # docs: whether there are images at all; a field measurement in 2026-08 saw no such effect.
    return {**found, "images in the conversation": any(block.get("type") == "image" for block in blocks)}


def _parts(block: Mapping[str, Any]) -> list[Any]:
    parts = block.get("content")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


# The cache.


@dataclass(frozen=True)
class CacheUse:
    """How a request's input tokens split: `fresh + read + written_5m + written_1h` is what `count_tokens` says.

    `kept` is the length of the prefix that is cached afterwards. `missed` says why a longer prefix that was written
    once could not be read: it had `"expired"`, or was beyond the `"lookback"`.
    """

    fresh: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    kept: int = field(default=0, compare=False)
    missed: Literal["expired", "lookback"] | None = field(default=None, compare=False)

    def __add__(self, later: "CacheUse") -> "CacheUse":
        """Two readings of one growing prompt, as `usage` adds them up."""
        return CacheUse(
            self.fresh + later.fresh,
            self.read + later.read,
            self.written_5m + later.written_5m,
            self.written_1h + later.written_1h,
            later.kept,
            self.missed,
        )

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


class _Entry(NamedTuple):
    seconds: float
    until: float


@dataclass
class PromptCache:
    """The prefixes that earlier requests left behind, by digest, each with its time."""

    entries: dict[bytes, _Entry] = field(default_factory=dict)

    def use(self, body: Mapping[str, Any], now: float = 0.0) -> CacheUse:
        """Read what is kept of this prompt, keep what it marks. `now` is when the request began, in seconds."""
        total, marked = measured(body)
        if not marked:
            return CacheUse(total)
        pieces = pieces_of(body)
        marks = [index for index, piece in enumerate(pieces) if piece.keep]
        digests = list(_digests(body, pieces[: marks[-1] + 1] if marks else ()))
        read, missed = self._read(pieces, marks, digests, now)
        facts = models.facts(body.get("model"))
        floor = facts.cache_floor if facts else 1024
        written, done = {"5m": 0, "1h": 0}, read
        for index in marks:
            piece = pieces[index]
            if piece.tokens >= floor:
                self._keep(digests[index], SECONDS[str(piece.keep)], now)
                written[str(piece.keep)] += max(0, piece.tokens - done)
                done = max(done, piece.tokens)
        return CacheUse(total - done, read, written["5m"], written["1h"], done, missed)

    def _read(
        self, pieces: Sequence[Piece], marks: Sequence[int], digests: Sequence[bytes], now: float
    ) -> tuple[int, Literal["expired", "lookback"] | None]:
        """The tokens of the longest prefix that may be read, and what kept a longer one from it."""
        known = [index for index, digest in enumerate(digests) if digest in self.entries]
        alive = [index for index in known if now < self.entries[digests[index]].until]
        near = [
            index
            for index in alive
            if any(index <= mark and pieces[mark].position - pieces[index].position < LOOKBACK for mark in marks)
        ]
        best = near[-1] if near else None
        if best is not None:  # being read keeps it for as long again
            self._keep(digests[best], 0.0, now)
        reason: Literal["expired", "lookback"] | None = None
        if known and known[-1] != best:
            reason = "lookback" if known[-1] in alive else "expired"
        return pieces[best].tokens if best is not None else 0, reason

    def _keep(self, digest: bytes, seconds: float, now: float) -> None:
        entry = self.entries.get(digest)
        if entry and now < entry.until:
            seconds = max(seconds, entry.seconds)
        self.entries[digest] = _Entry(seconds, now + seconds)

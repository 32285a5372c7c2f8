"""Signatures of thinking blocks, as the mock makes and recognises them.

The real API signs each thinking block and refuses one that was changed or moved to another conversation. How it does
so is not public. Here a signature holds two digests, of the visible text and of the conversation before it; a
signature made elsewhere cannot be judged and passes.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .messages import Block

__all__ = ["TYPES", "bindings", "edited", "moved", "sign", "without_cache_control"]

TYPES = ("thinking", "redacted_thinking")
_MARK = b"mock:"
_LENGTH = 16

Turns = Iterable[tuple[str, list[Block]]]  # (role, blocks)


def sign(text: str, body: Mapping[str, Any], before: Turns) -> str:
    """The signature of a thinking block that shows `text` and follows the turns `before` in the request `body`."""
    *_, binding = bindings(body, before)
    return base64.b64encode(_MARK + _digest(text) + binding).decode("ascii")


def edited(block: Block) -> bool:
    """Was the text of a block of ours changed?"""
    parts = _parts(block)
    return parts is not None and parts[0] != _digest(block["thinking"])


def moved(block: Block, binding: bytes) -> bool:
    """Is a block of ours in another conversation than the one that made it?"""
    parts = _parts(block)
    return parts is not None and parts[1] != binding


def bindings(body: Mapping[str, Any], turns: Turns) -> Iterator[bytes]:
    """What thinking is bound to: before the first turn to `system` and `tools`, after each turn to that turn too."""
    binding = _digest([body.get("system"), body.get("tools")])
    yield binding
    for role, blocks in turns:
        binding = _digest([binding.hex(), role, blocks])
        yield binding


def _parts(block: Block) -> tuple[bytes, bytes] | None:
    try:
        raw = base64.b64decode(block["signature"], validate=True)
    except ValueError:
        return None
    if not raw.startswith(_MARK) or len(raw) != len(_MARK) + 2 * _LENGTH:
        return None
    return raw[len(_MARK) : -_LENGTH], raw[-_LENGTH:]


def _digest(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True)
    if '"cache_control"' in text:  # where the breakpoints are does not matter
        text = json.dumps(without_cache_control(value), sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).digest()[:_LENGTH]


def without_cache_control(value: Any) -> Any:
    """A JSON value without cache breakpoints, which move from turn to turn."""
    if isinstance(value, dict):
        return {key: without_cache_control(part) for key, part in value.items() if key != "cache_control"}
    if isinstance(value, list | tuple):
        return [without_cache_control(part) for part in value]
    return value

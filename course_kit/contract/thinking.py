"""Signatures of thinking blocks, as the mock makes them and knows them again.

The real API signs each thinking block and refuses one that was changed or moved to another conversation. How it does
so is not public. Here a signature holds two digests, of the visible text and of the conversation before it; a
signature made elsewhere cannot be judged and passes.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["TYPES", "edited", "moved", "sign", "without_cache_control"]

TYPES = ("thinking", "redacted_thinking")
_MARK = b"mock:"
_LENGTH = 16


def sign(text: str, body: Mapping[str, Any], before: list[tuple[str, list[dict[str, Any]]]]) -> str:
    """The signature of a thinking block that shows `text` and follows the turns `before` in the request `body`."""
    return base64.b64encode(_MARK + _digest(text) + _digest(_conversation(body, before))).decode("ascii")


def edited(block: Mapping[str, Any]) -> bool:
    """Was the text of a block of ours changed?"""
    parts = _parts(block)
    return parts is not None and parts[0] != _digest(block["thinking"])


def moved(block: Mapping[str, Any], body: Mapping[str, Any], before: list[tuple[str, list[dict[str, Any]]]]) -> bool:
    """Does a block of ours stand in another conversation than the one that made it?"""
    parts = _parts(block)
    return parts is not None and parts[1] != _digest(_conversation(body, before))


def _parts(block: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    try:
        raw = base64.b64decode(block["signature"], validate=True)
    except ValueError:
        return None
    if not raw.startswith(_MARK) or len(raw) != len(_MARK) + 2 * _LENGTH:
        return None
    return raw[len(_MARK) : -_LENGTH], raw[-_LENGTH:]


def _conversation(body: Mapping[str, Any], before: list[tuple[str, list[dict[str, Any]]]]) -> list[Any]:
    """What thinking is bound to. Where the cache breakpoints stand does not matter."""
    return without_cache_control([body.get("system"), body.get("tools"), before])


def without_cache_control(value: Any) -> Any:
    """A JSON value without cache breakpoints, which move from turn to turn."""
    if isinstance(value, dict):
        return {key: without_cache_control(part) for key, part in value.items() if key != "cache_control"}
    if isinstance(value, list | tuple):
        return [without_cache_control(part) for part in value]
    return value


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).digest()[:_LENGTH]

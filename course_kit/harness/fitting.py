"""Making text and plain JSON data fit: nothing exceeds its room, and every cut is marked.

How a value becomes plain data is in `plain.py`.
"""

import unicodedata
from typing import Any

from .plain import Partial, dumps

__all__ = ["SMALLEST_BUDGET", "cut_text", "first_that_fit", "fit"]

SMALLEST_BUDGET = 20  # characters: room to say that something was cut


def cut_text(text: str, limit: int) -> str:
    """`text` within `limit` characters: its head, a marker that counts what is left out, and its tail.

    The structure of a text is at its start and the error at its end. First and last line stay whole if they fit.
    """
    if len(text) <= limit:
        return text
    room = limit - len(marker(len(text)))
    if room < 2:
        return text[: whole_character(text, limit - 1, -1)] + "…" if limit > 0 else ""
    head, tail = room // 2, room - room // 2
    first = text.find("\n", len(text) - len(text.lstrip())) + 1
    last = len(text) - text.rstrip().rfind("\n") - 1
    if 0 < first <= room - last:
        head = min(max(head, first), room - last)
        tail = room - head
        # whole lines, where that costs little
        line_end = text.rfind("\n", 0, head) + 1
        line_start = text.find("\n", len(text) - tail - 1) + 1
        head = line_end if line_end >= max(first, head * 3 // 4) else head
        tail = len(text) - line_start if len(text) - line_start >= max(last, tail * 3 // 4) else tail
    start = whole_character(text, head, -1)
    end = whole_character(text, len(text) - tail, +1)
    return text[:start] + marker(end - start) + text[end:]


def marker(left_out: int) -> str:
    return f"\n[… {left_out} characters left out …]\n"


def whole_character(text: str, position: int, step: int) -> int:
    """The nearest place to cut, going by `step`, that splits no emoji, flag or accented letter."""
    for _ in range(64):  # no script has longer clusters
        if not 0 < position < len(text) or not joined(text, position):
            break
        position += step
    return position


def joined(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    if before == "\u200d" or after == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if is_flag_half(before) and is_flag_half(after):
        start = position
        while start and is_flag_half(text[start - 1]):
            start -= 1
        return (position - start) % 2 == 1
    return unicodedata.category(after) in ("Mn", "Me", "Mc") or (before, after) == ("\r", "\n")


def is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def fit(data: Any, room: int) -> Any:
    """`data` cut so that it is at most `room` characters when written, and says what is missing."""
    if len(dumps(data)) <= room:
        return data
    if isinstance(data, str):
        return fit_string(data, room)
    if isinstance(data, list):
        return first_that_fit(Partial(data, len(data)), room)
    if isinstance(data, dict):
        names = sum(len(dumps(key)) + len(": , ") for key in data)
        if names + 80 * len(data) <= room:  # less than that is no use for a value
            return shared_out(data, room - names - 2)
        return first_that_fit(Partial(data, len(data)), room)
    if isinstance(data, Partial):
        return first_that_fit(data, room)
    return "…"


def fit_string(string: str, room: int) -> str:
    limit = room - 2
    while limit > 0:
        cut = cut_text(string, limit)
        over = len(dumps(cut)) - room
        if over <= 0:
            return cut
        limit -= max(over // 6, 1)  # one character is written as six at most
    return "…"


def first_that_fit(part: Partial, room: int) -> Any:
    """The first whole items that fit; the first one cut, if even that is too long."""
    empty = Partial(type(part.items)(), part.total)
    left = room - len(dumps(empty)) - len(str(len(part.items)))
    if left < 0:
        return {"truncated": True} if room >= SMALLEST_BUDGET else "…"
    pairs = iter(part.items.items()) if isinstance(part.items, dict) else enumerate(part.items)
    kept: list[tuple[Any, Any]] = []
    for key, item in pairs:
        name = len(dumps(key)) + len(": ") if isinstance(part.items, dict) else 0
        if len(dumps(item)) + name + len(", ") > left:
            if not kept and left - name > 80:
                kept.append((key, fit(item, left - name)))
            break
        kept.append((key, item))
        left -= len(dumps(item)) + name + len(", ")
    if isinstance(part.items, dict):
        return Partial(dict(kept), part.total)
    return Partial([item for _, item in kept], part.total)


def shared_out(data: dict[str, Any], room: int) -> dict[str, Any]:
    """Every value gets an equal share of the room, and what a short one leaves goes to the longer ones."""
    by_length = sorted(data, key=lambda key: len(dumps(data[key])))
    kept = {}
    for position, key in enumerate(by_length):
        kept[key] = fit(data[key], room // (len(by_length) - position))
        room -= len(dumps(kept[key]))
    return {key: kept[key] for key in data}

"""What changed between two prompts: where the second leaves the first, in words, and how many tokens follow.

The two are compared block by block in the order in which a model reads them, whatever the cache (`caching.py`) holds.
On the wire this is `diagnostics`; `report_prompt.py` makes sentences of it.
https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from course_kit.contract.messages import content_blocks
from course_kit.contract.thinking import without_cache_control

from .caching import message_settings, pieces_of, system_settings
from .usage import prompt

__all__ = ["Change", "cache_miss_reason", "change_between"]


@dataclass(frozen=True)
class Change:
    """The first difference between two prompts: in which part, in words, and how much of the first follows it."""

    part: Literal["model", "tools", "system", "messages", "settings"]
    words: str
    missed: int
    reordered: bool = False


def change_between(before: Mapping[str, Any], body: Mapping[str, Any]) -> Change | None:
    """Where the prompt of `body` leaves that of `before`; None when it continues that one.

    `Change("tools", "`mu` stands where `alpha` stood", 812, reordered=True)`
    """
    old, new = pieces_of(before), pieces_of(body)
    whole = old[-1].tokens if old else 0
    for name in ("model", "speed"):
        if before.get(name) != body.get(name):
            return Change("model", f"`{name}` changed from {before.get(name)} to {body.get(name)}", whole)
    shared = 0
    for one, other in zip_longest(old, new):
        if one is None or (other is None and one.part == "messages"):
            break  # one prompt goes on where the other ends
        if other is None or (one.part, one.text) != (other.part, other.text):
            parts = (one.part, other.part if other else "messages")
            if "tools" in parts:
                return _tools_change(before, body, whole - shared)
            if "system" in parts:
                return Change("system", _text_change("`system`", *map(_system, (before, body))), whole - shared)
            changed = _settings_change(before, body)
            return Change("messages", changed or _message_change(before, body), whole - shared)
        shared = one.tokens
    if words := _settings_change(before, body):
        spared = ("tools", "system") if system_settings(before) == system_settings(body) else ("tools",)
        ahead = max((piece.tokens for piece in old if piece.part in spared), default=0)
        return Change("settings", words, whole - ahead)
    return None


def cache_miss_reason(before: Mapping[str, Any] | None, body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Why the prompt of `body` does not begin with that of the request `before`, on the wire; None when it does.

    `{"type": "tools_changed", "cache_missed_input_tokens": 812}`
    """
    if before is None:
        return {"type": "previous_message_not_found"}
    change = change_between(before, body)
    if change is None:
        return None
    if change.part == "settings" or (change.part == "messages" and _settings_change(before, body)):
        return {"type": "unavailable"}
    return {"type": f"{change.part}_changed", "cache_missed_input_tokens": change.missed}


def _tools_change(before: Mapping[str, Any], body: Mapping[str, Any], missed: int) -> Change:
    old, new = ([block for part, _, block in prompt(one) if part == "tools"] for one in (before, body))
    old, new = without_cache_control(old), without_cache_control(new)
    texts = [Counter(json.dumps(tool, sort_keys=True) for tool in tools) for tools in (old, new)]
    names, names_now = ([str(tool.get("name", tool.get("type"))) for tool in tools] for tools in (old, new))
    if texts[0] == texts[1]:
        moved = next(((a, b) for a, b in zip(names, names_now, strict=True) if a != b), None)
        words = f"`{moved[1]}` stands where `{moved[0]}` stood" if moved else "the keys of a definition moved"
        return Change("tools", f"the same tools in another order: {words}", missed, True)
    parts = []
    for verb, found in (
        ("added", [name for name in names_now if name not in names]),
        ("removed", [name for name in names if name not in names_now]),
    ):
        parts += [f"{verb} {_listed(found)}"] if found else []
    if not parts:
        by_name = dict(zip(names, old, strict=True))
        edited = [name for name, tool in zip(names_now, new, strict=True) if by_name[name] != tool]
        parts = [f"the definition of {_listed(edited)} is another"]
    return Change("tools", f"other tools: {', '.join(parts)}", missed)


def _listed(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _system(body: Mapping[str, Any]) -> str:
    return "\n".join(str(block.get("text")) for block in content_blocks({"content": body.get("system")}))


def _text_change(name: str, old: str, new: str) -> str:
    """Where a text begins to differ: `"at 9"`, `"at 8"` → "`system` changed at character 3: "9" became "8""."""
    start = _first_difference(old, new)
    shown = [json.dumps(text[start : start + 20], ensure_ascii=False) for text in (old, new)]
    return f"{name} changed at character {start}: {shown[0]} became {shown[1]}"


def _first_difference(old: Sequence[Any], new: Sequence[Any]) -> int:
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _message_change(before: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    old, new = (
        [(m["role"], without_cache_control(content_blocks(m))) for m in one["messages"]] for one in (before, body)
    )
    return f"`messages.{_first_difference(old, new)}` is not what stood there before"


def _settings_change(before: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    old, new = message_settings(before), message_settings(body)
    changed = [name for name in old if old[name] != new[name]]
    shown = [f"`{name}` changed from {json.dumps(old[name])} to {json.dumps(new[name])}" for name in changed]
    return ", ".join(shown)

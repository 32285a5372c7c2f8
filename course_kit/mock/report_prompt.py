"""What a report says of prompts: what made the cache miss and what that cost, and tools that were called unseen.

    request 2  tools-reordered: the same tools in another order: `mu` stands where `alpha` stood; 812 of the 812 tokens
               that request 1 left in the cache could not be read

A changed prompt is reported whenever tools are sent again; everything else only where something was in the cache.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course_kit.contract import models
from course_kit.contract.messages import content_blocks, tool_use_blocks
from course_kit.contract.thinking import without_cache_control

from .caching import LOOKBACK, SECONDS
from .findings import Finding, blocks_of, continued, messages_of
from .prompt_changes import Change, change_between
from .tool_search import loaded, references

if TYPE_CHECKING:
    from .provider import Exchange

__all__ = ["PROMPT_JUDGES"]


# The cache.


def prompt_changed(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    """Each request beside the one before it in the same conversation: what changed, and what that cost."""
    for before, one in _same_conversation(exchanges):
        if not before.readings:
            continue
        kept, change = before.readings[-1].kept, change_between(before.body, one.body)
        lost = kept - one.readings[0].read
        if change and (lost > 0 or change.part == "tools"):
            yield Finding(one.number, _rule(change), f"{change.words}; {_cost(change, before, kept, lost)}", "07")
        elif lost > 0:
            rule, words = _why_missed(before, one)
            words += f"; {lost} of the {kept} tokens that request {before.number} left in the cache could not be read"
            yield Finding(one.number, rule, words, "07")


def _rule(change: Change) -> str:
    return "tools-reordered" if change.reordered else f"{change.part}-changed"


def _cost(change: Change, before: "Exchange", kept: int, lost: int) -> str:
    if lost > 0:
        return f"{lost} of the {kept} tokens that request {before.number} left in the cache could not be read"
    if kept:
        return "the cache holds this prompt too, from an earlier request"
    return f"nothing is kept here; with a cache, {change.missed} tokens would be read again"


def _why_missed(before: "Exchange", one: "Exchange") -> tuple[str, str]:
    """The prompt only continued, and still could not be read."""
    missed = one.readings[0].missed
    if missed == "expired":
        minutes = (one.at - before.at) / 60
        hint = "" if _lifetimes(before.body) == {"1h"} else ' (`"ttl": "1h"` keeps it for an hour)'
        return "cache-expired", f"{minutes:.0f} minutes passed, and what was kept has expired{hint}"
    if missed == "lookback":
        words = f"from its mark the cache looks back over {LOOKBACK} blocks, and what was kept ends further back"
        return "cache-lookback", f"{words}: set a second mark between"
    return "cache-unmarked", "there is no mark after what was kept, so nothing looks for it: keep a `cache_control`"


def _lifetimes(body: Any) -> set[str]:
    """Every `ttl` of a request."""
    if isinstance(body, Mapping):
        control = body.get("cache_control")
        own = {control.get("ttl") or "5m"} & SECONDS.keys() if isinstance(control, Mapping) else set()
        return own.union(*map(_lifetimes, body.values()))
    return set().union(*map(_lifetimes, body)) if isinstance(body, list) else set()


def too_short_to_keep(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    """Marks that never kept anything: reported once, at the third."""
    marked = [one for one in exchanges if one.readings and _lifetimes(one.body)]
    if len(marked) < 3 or any(reading.kept for one in marked for reading in one.readings):
        return
    one = marked[2]
    if facts := models.facts(one.body.get("model")):
        floor = f"{facts.cache_floor} (uncertain)" if "cache_floor" in facts.uncertain else facts.cache_floor
        words = f"marked for the cache, but {one.readings[-1].fresh} tokens are fewer than the {floor}"
        words += f" from which {facts.id} keeps a prompt: nothing is kept, and no error says so"
        yield Finding(one.number, "cache-too-short", words, "07")


def _same_conversation(exchanges: "Sequence[Exchange]") -> Iterator[tuple["Exchange", "Exchange"]]:
    """Each request with the one that it continues; where its history was edited, with the last that began alike."""
    found = {one.number: before for before, one in continued(exchanges)}
    begun: dict[str, list[tuple[int, Exchange]]] = {}
    for one in exchanges:
        messages = without_cache_control(messages_of(one))
        if not messages or not one.readings:
            continue
        earlier = begun.setdefault(repr(messages[0]), [])
        shorter = (before for length, before in reversed(earlier) if length < len(messages))
        if before := found.get(one.number) or next(shorter, None):
            yield before, one
        earlier.append((len(messages), one))


# Tools that were searched for.


def called_unseen(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    for one in exchanges:
        reply = one.reply or {}
        if not tool_use_blocks(reply):
            continue
        deferred = {tool.get("name") for tool in one.body.get("tools") or () if tool.get("defer_loading")}
        seen = loaded(one.body)
        for block in content_blocks(reply):
            seen |= set(references(block))
            if block["type"] == "tool_use" and block["name"] in deferred - seen:
                words = f"`{block['name']}` is deferred and was called although nothing had brought it in: a real model"
                words += " cannot see it; let it be searched for, or answer a call with a `tool_reference` to it"
                yield Finding(one.number, "deferred-call", words, "07")


def search_not_echoed(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    """A turn that goes back without its search: what was found is hidden again."""
    searched: dict[str, tuple[str, list[str]]] = {}  # a call's id → the search of its turn, and what that found
    for one in exchanges:
        blocks = blocks_of(one)
        results = {str(block.get("tool_use_id")) for block in blocks}
        for id in [str(block.get("id")) for block in blocks]:
            search, names = searched.get(id, ("", []))
            if names and search not in results:
                words = "the turn goes back without its search, so what that found is hidden again: "
                yield Finding(one.number, "search-not-echoed", words + ", ".join(f"`{name}`" for name in names), "07")
                searched = {call: found for call, found in searched.items() if found[0] != search}
        reply = one.reply or {}
        calls = [call["id"] for call in tool_use_blocks(reply)]
        searched = {id: found for id, found in searched.items() if id not in calls}  # a request answered once more
        for block in content_blocks(reply):
            if names := list(references(block)):
                searched |= dict.fromkeys(calls, (block["tool_use_id"], names))


PROMPT_JUDGES: tuple[Callable[["Sequence[Exchange]"], Iterator[Finding]], ...] = (
    prompt_changed,
    too_short_to_keep,
    called_unseen,
    search_not_echoed,
)

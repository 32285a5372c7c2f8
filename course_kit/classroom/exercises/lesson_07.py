"""Checks of lesson 07: an index that beats a bar, what is visible and what deferred, why a search missed."""

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from course_kit.catalogue import GROUPS, catalogue, catalogue_requests
from course_kit.classroom.checks import exercise
from course_kit.contract.protocol import check_request
from course_kit.errors import Incorrect

__all__ = ["ASK_USER", "BAR", "CAUSES", "MISSES", "SEARCH"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 7.1

# Of all 100 requests that name a word of the tool's name, and not of some that are drawn, by the first three found:
# there an index in which names count twice finds 79 to 87% (three halves: 78%), and one in which they count once 69 to
# 75%. By the first five of all 160 requests the same two are 69 to 76% and 66 to 71%, and cannot be told apart.
BAR = 0.76
FIRST = 3
PATIENCE = 16.0  # seconds of work for those 100; far more than a plain index needs
NAMES = [
    ("cancel leave", "hrCancelLeave", "a name in camelCase"),
    ("move page", "docs-move-page", "a name with hyphens"),
    ("Release Order", "release_order", "capitals in the query"),
]

# A small set of tools and requests that stand nowhere else: what one knows of the catalogue is of no use here.
LIBRARY = {
    "lendBook": "Give a reader a title for four weeks. Returns the day it is due.",
    "renew_loan": "Let a reader keep a title for longer. Returns the new day.",
    "take-back-book": "Note that a reader has brought a title home to the library.",
    "reserveSeat": "Keep a place in the reading room free for a reader.",
    "list_fines": "Say what a reader owes for titles that came late.",
    "waive-fine": "Cancel what a reader owes, with a reason.",
    "orderFromArchive": "Have a box of old papers fetched from the cellar.",
    "register_reader": "Sign up a new person. Returns the number of the card.",
    "block-card": "Stop a lost or stolen card from being used.",
    "findShelf": "Say on which floor and shelf a title stands.",
    "announce_closing": "Tell all readers that the house closes early.",
    "print-label": "Make a sticker for the back of a book.",
}
ASKED = [
    ("my card was stolen", "block-card"),
    ("on which floor is Moby Dick", "findShelf"),
    ("keep the loan for longer", "renew_loan"),
    ("what do I owe", "list_fines"),
    ("old papers from the cellar", "orderFromArchive"),
    ("sign up a new person", "register_reader"),
    ("a place in the reading room", "reserveSeat"),
    ("make a sticker", "print-label"),
    # Half of these words are in half of the tools: who counts every word alike does not see the one that matters.
    ("say what a reader of the titles gets for a stolen card", "block-card"),
    ("the readers of the house want a sticker for a title", "print-label"),
]


def _tools(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools of a case: the library's, or the catalogue's, for the bar with every name in another style."""
    if case["kind"] == "library":
        schema = {"type": "object", "properties": {}}
        return [{"name": name, "description": said, "input_schema": schema} for name, said in LIBRARY.items()]
    tools = catalogue()
    return [{**tool, "name": _restyled(tool["name"])} for tool in tools] if case["kind"] == "bar" else tools


def _restyled(name: str) -> str:
    """The same words, written in another way: `release_order` → `releaseOrder`, `hrCancelLeave` → `hr-cancel-leave`."""
    words = re.split(r"[_-]|(?<=[a-z0-9])(?=[A-Z])", name)
    if "_" in name:
        return words[0] + "".join(word.capitalize() for word in words[1:])
    return ("_" if "-" in name else "-").join(word.lower() for word in words)


@contextmanager
def _watched() -> Iterator[Any]:
    """Notes in the list that it gives whether the kit's own search is asked meanwhile."""
    from course_kit.contract.index import ToolIndex

    used, search = [], ToolIndex.search

    def watched(self: Any, *given: Any, **options: Any) -> Any:
        used.append(True)
        return search(self, *given, **options)

    with patch.object(ToolIndex, "search", watched):
        yield used


@exercise(
    "7.1",
    title="An index that beats a bar",
    difficulty="medium",
    importance="core",
    minutes=30,
    hints=[
        "Cut names first: `re.findall(r'[A-Z]?[a-z]+', name)` cuts `hrCancelLeave` and `docs-move-page` into words.",
        "Count how many tools contain each word. A word of two tools tells more than one of two hundred.",
        "The score of a tool: add up, over the words of the query that it has, `log(number of tools / tools with it)`.",
        "Still below 76%? A word in the name may count three times, and `orders` and `order` may be one word.",
    ],
    seconds=60.0,
)
class AnIndex:
    def cases(seed: int) -> list[dict[str, Any]]:
        cases: list[dict[str, Any]] = [
            {"kind": "name", "query": query, "meant": name, "about": about} for query, name, about in NAMES
        ]
        cases += [{"kind": "nothing", "query": query} for query in ("", "zeppelin xylophone")]
        named = catalogue_requests("named")
        cases.append({"kind": "library"})
        random.Random(f"7.1:{seed}").shuffle(named)
        cases.append(
            {
                "kind": "bar",
                "queries": [one.query for one in named],
                "gold": [[_restyled(name) for name in one.gold] for one in named],
            }
        )
        return cases

    def observe(build: Callable[..., Any], case: dict[str, Any]) -> Any:
        with _watched() as used:
            tools = _tools(case)
            find = build(tools)
            if tools != _tools(case):
                return {"changed": True}
            if not callable(find):
                return {"no function": _short(find)}
            found, until = [], time.thread_time() + PATIENCE
            for query in _queries(case):
                names = find(query)
                found.append(list(names) if isinstance(names, list | tuple) else {"other": _short(names)})
                if time.thread_time() > until:
                    return {"slow": len(found)}
        return {"found": found, "tool index": bool(used)}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if "changed" in seen:
            raise Incorrect("`build_index` changed the definitions it was given: the request still needs them whole.")
        if "no function" in seen:
            raise Incorrect(f"`build_index` must return a function of the query; it returned {seen['no function']}.")
        queries = _queries(case)
        if "slow" in seen:
            raise Incorrect(
                f"`find` is too slow: {seen['slow']} of {len(queries)} queries in {PATIENCE:g} seconds of work. "
                "Compute what does not depend on the query, such as the words of each tool, once, in `build_index`."
            )
        if seen["tool index"]:
            raise Incorrect("`find` asks `ToolIndex`. Write the search yourself: words, their weights, and a sum.")
        known = {tool["name"] for tool in _tools(case)}
        for query, names in zip(queries, seen["found"], strict=True):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise Incorrect(f"For {query!r} a list of names should come out; it was {_short(names)}.")
            if len(names) > 5:
                raise Incorrect(f"For {query!r} {len(names)} names came out: five are the most.")
            if strange := [name for name in names if name not in known]:
                raise Incorrect(
                    f"For {query!r} came {strange[0]!r}, which is not in the list that `build_index` was given."
                )
            if len(set(names)) < len(names):
                raise Incorrect(f"For {query!r} a name came twice.")
        judges = {"name": _judge_name, "nothing": _judge_nothing, "library": _judge_library, "bar": _judge_bar}
        judges[case["kind"]](case, seen["found"])


def _queries(case: dict[str, Any]) -> list[str]:
    if case["kind"] == "library":
        return [query for query, _ in ASKED]
    return case["queries"] if case["kind"] == "bar" else [case["query"]]


def _judge_name(case: dict[str, Any], found: list[list[str]]) -> None:
    if case["meant"] not in found[0]:
        raise Incorrect(
            f"For {case['query']!r} the tool `{case['meant']}` should be among the five ({case['about']}); "
            f"it was {found[0]}."
        )


def _judge_nothing(case: dict[str, Any], found: list[list[str]]) -> None:
    if found[0]:
        raise Incorrect(
            f"No tool has a word of {case['query']!r}, so the list should be empty; it was {_short(found[0])}."
        )


def _judge_library(case: dict[str, Any], found: list[list[str]]) -> None:
    for (query, meant), names in zip(ASKED, found, strict=True):
        if meant not in names[:2]:
            raise Incorrect(
                f"Among twelve tools of a library, {query!r} should find `{meant}` first or second, as its name or "
                f"description says just that; it was {names}."
            )


def _judge_bar(case: dict[str, Any], found: list[list[str]]) -> None:
    hits = [bool(set(names[:FIRST]) & set(gold)) for names, gold in zip(found, case["gold"], strict=True)]
    share = sum(hits) / len(hits)
    if share < BAR:
        at = hits.index(False)
        raise Incorrect(
            f"Recall@{FIRST} is {share:.0%} over {len(hits)} requests; the bar is {BAR:.0%}. One that was missed: "
            f"{case['queries'][at]!r} should find `{case['gold'][at][0]}`, and {found[at][:FIRST]} came first."
        )


# 7.2

SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the user one question. Use it when something that only they know is missing.",
    "input_schema": {
        "type": "object",
        "properties": {"question": {"type": "string", "description": "One question, in the user's language."}},
        "required": ["question"],
        "additionalProperties": False,
    },
}
GROUP_OF = {tool["name"]: group for group in GROUPS for tool in catalogue(group=group)}


@exercise(
    "7.2",
    title="Visible or deferred: sixty tools",
    difficulty="medium",
    importance="core",
    minutes=20,
    hints=[
        "Three kinds: of the scene (visible), of another allowed group (deferred), of no allowed group (left out).",
        "Make both lists from the tools sorted by name. `{**tool, 'defer_loading': True}` is a copy.",
        "Which tool is the last one visible? That one gets `cache_control`, again in a copy.",
    ],
)
class TwoLayers:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"7.2:{seed}")
        cases = []
        for number, scene in enumerate(draw.sample(GROUPS, 4)):
            others = [group for group in GROUPS if group != scene]
            allowed = [scene, *draw.sample(others, (1, 2, 3, 0)[number])]
            cases.append({"scene": scene, "allowed": sorted(allowed), "order": draw.randrange(10**6)})
        return cases

    def observe(tools_for: Callable[..., Any], case: dict[str, Any]) -> Any:
        answers, changed, narrowed = [], False, False
        for turn in (0, 1):
            operations = catalogue(group="operations")
            random.Random(case["order"] + turn).shuffle(operations)
            before, allowed = repr(operations), set(case["allowed"])
            answers.append(tools_for(operations, case["scene"], allowed))
            changed = changed or repr(operations) != before
            narrowed = narrowed or allowed != set(case["allowed"])
        given = [list(one) if isinstance(one, list | tuple) else None for one in answers]
        told = {"changed": changed, "narrowed": narrowed, "returned": _short(answers[0])}
        return {"tools": given[0], "again": given[1], **told}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about = f"For the scene {case['scene']} with {', '.join(case['allowed'])} allowed"
        tools = seen["tools"]
        if not isinstance(tools, list) or not all(isinstance(one, dict) and "name" in one for one in tools):
            raise Incorrect(f"{about}, a list of definitions should come out; it was {seen['returned']}.")
        if seen["changed"]:
            raise Incorrect(f"{about}, the definitions that were handed in got changed: make copies, `{{**tool, …}}`.")
        if seen["narrowed"]:
            raise Incorrect(f"{about}, the set `allowed` was changed: it is this user's, for the next request, too.")
        names = [one["name"] for one in tools]
        visible = [one["name"] for one in tools if not one.get("defer_loading")]
        for needed in (SEARCH["name"], ASK_USER["name"]):
            if needed not in visible:
                raise Incorrect(f"{about}, `{needed}` must be there, and visible.")
        for name, group in GROUP_OF.items():
            if group not in case["allowed"] and name in names:
                raise Incorrect(
                    f"{about}, `{name}` of {group} must not be in the list at all: deferred is not forbidden."
                )
            if group in case["allowed"] and name not in names:
                raise Incorrect(f"{about}, `{name}` of {group} is missing.")
            if group == case["scene"] and name not in visible:
                raise Incorrect(f"{about}, `{name}` belongs to the scene and must be visible.")
            if group in case["allowed"] and group != case["scene"] and name in visible:
                raise Incorrect(f"{about}, `{name}` of {group} should be deferred.")
        whole = {tool["name"]: _plain(tool) for tool in [*catalogue(group="operations"), SEARCH, ASK_USER]}
        if changed := [tool["name"] for tool in tools if _plain(tool) != whole.get(tool["name"], _plain(tool))]:
            raise Incorrect(
                f"{about}, `{changed[0]}` is not the definition that was handed in: take each one whole, and add only "
                "`defer_loading` or `cache_control`."
            )
        said = [{"role": "user", "content": "Hello"}]
        request = {"model": "claude-opus-5", "max_tokens": 9, "tools": tools, "messages": said}
        if refused := check_request(request):
            raise Incorrect(f"{about}, the API would refuse the list: {refused[0].message}")
        if [one["name"] for one in seen["again"] or []] != names:
            raise Incorrect(f"{about}, the same tools in another order gave another list: sort by name.")
        for layer, part in (("visible", visible), ("deferred", [name for name in names if name not in visible])):
            own = [name for name in part if name in GROUP_OF]
            if own != sorted(own):
                raise Incorrect(f"{about}, the {layer} tools are not sorted by name.")
        _judge_mark(about, tools, visible)


def _plain(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key not in ("defer_loading", "cache_control")}


def _judge_mark(about: str, tools: list[dict[str, Any]], visible: list[str]) -> None:
    marked = [one["name"] for one in tools if one.get("cache_control")]
    if not marked:
        raise Incorrect(f"{about}, nothing is marked for the cache: put `cache_control` on the last visible tool.")
    if marked[-1] != visible[-1]:
        raise Incorrect(
            f"{about}, the mark is on `{marked[-1]}`; the last visible tool is `{visible[-1]}`, and what comes "
            "after a mark is not kept."
        )


# 7.3

CAUSES = {
    "no shared word": "it shares no word with the request",
    "common words only": "all that it shares is in 40 tools or more",
    "rival has more": "it shares a rarer word, but the tools above have more of the words, or have them in their name",
}
MISSES = {
    "a": ("An intern emptied the customers table. We need yesterday's state.", "deploy_restore_database"),
    "b": ("Post a message in #warehouse that the elevator is out of order.", "chat_send_message"),
    "c": ("My hotel from September still hasn't been paid back to me. Where is it stuck?", "finance_list_expenses"),
    "d": ("What's going to run out soon?", "stock_list_low"),
}


def _facts(query: str, name: str) -> tuple[int | None, dict[str, int]]:
    """The tool's place in the whole ranking, and for each word that it shares, in how many tools it is."""
    from course_kit.contract.index import ToolIndex

    tools = catalogue()
    index = ToolIndex(tools)
    ranking = [hit.tool_name for hit in index.search(query, limit=len(tools))]
    alone = ToolIndex([tool for tool in tools if tool["name"] == name]).search(query)
    words = re.findall(r"`([^`]+)`", alone[0].because) if alone else []
    place = ranking.index(name) + 1 if name in ranking else None
    return place, {word: len(index.search(word, limit=len(tools))) for word in words}


@exercise(
    "7.3",
    title="Why a query missed",
    difficulty="easy",
    importance="useful",
    minutes=15,
    hints=[
        "Copy `shared` and `spread` from the lesson: the words that both have, and how many tools have each.",
        "The whole ranking: `[hit.tool_name for hit in index.search(query, limit=429)]`. Places count from 1.",
        "Is one of the shared words in fewer than 40 tools? Then it is not a matter of common words.",
    ],
)
class WhyMissed:
    def cases(seed: int) -> list[str]:
        return list(MISSES)

    def observe(answers: Any, case: str) -> Any:
        if not isinstance(answers, dict):
            return {"no dict": _short(answers)}
        if case not in answers:
            return {"keys": [str(key) for key in answers]}
        answer = answers[case]
        return {"answer": list(answer) if isinstance(answer, list | tuple) else answer}

    def judge(case: str, seen: dict[str, Any]) -> None:
        if "no dict" in seen:
            raise Incorrect(f"`causes` should be a dict with the keys a, b, c and d; it is {seen['no dict']}.")
        if "keys" in seen:
            given = ", ".join(seen["keys"]) or "none"
            raise Incorrect(f"`causes` has no entry for `{case}`: it needs the keys a, b, c and d, and has {given}.")
        answer = seen["answer"]
        if not (isinstance(answer, list) and len(answer) == 2):
            raise Incorrect(f'`{case}` should be a pair like ("common words only", 12); it is {_short(answer)}.')
        cause, place = answer
        if not isinstance(cause, str) or cause not in CAUSES:
            raise Incorrect(f"`{case}` gives the cause {_short(cause)}; choose one of {', '.join(CAUSES)}.")
        query, name = MISSES[case]
        true_place, words = _facts(query, name)
        right = (
            "no shared word" if not words else "common words only" if min(words.values()) >= 40 else "rival has more"
        )
        if cause != right:
            told = ", ".join(f"`{word}`, in {count} tools" for word, count in words.items())
            shared = f"it shares {told}" if words else "it shares no word at all"
            raise Incorrect(f'`{case}`: "{cause}" would mean that {CAUSES[cause]}. But {shared}.')
        if place != true_place:
            where = "is nowhere in the ranking: None" if true_place is None else "is at another place in the ranking"
            raise Incorrect(f"`{case}`: the cause is right, the place is not. `{name}` {where}; you said {place!r}.")

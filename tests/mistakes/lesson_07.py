"""Answers to the exercises of lesson 07."""

import math
import re
from collections import Counter
from typing import Any

from course_kit.catalogue import GROUPS, catalogue, catalogue_requests
from course_kit.classroom.exercises.lesson_07 import ASK_USER, SEARCH
from course_kit.contract.index import ToolIndex

GROUP_OF = {tool["name"]: group for group in GROUPS for tool in catalogue(group=group)}


def index(
    *,
    split: bool = True,
    stem: bool = True,
    weighed: bool = True,
    name_counts: float = 2,
    most: int = 5,
    always: bool = False,
    objects: bool = False,
    rare: bool = True,
):
    """An index by hand with one thing done wrong (or merely otherwise)."""

    def build(tools: list[dict[str, Any]]):
        def words(text: str) -> set[str]:
            found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", text) if split else text.split()
            return {piece.lower().rstrip("s" if stem else "") or piece.lower() for piece in found}

        texts = {tool["name"]: words(f"{tool['name']} {tool['description']}") for tool in tools}
        names = {name: words(name) for name in texts}
        using = Counter(word for found in texts.values() for word in found)

        def find(query: str) -> list[Any]:
            scores = {name: 0.0 for name in texts}
            for word in words(query):
                for name, found in texts.items():
                    times = name_counts if word in names[name] and weighed else 1
                    scores[name] += (
                        (word in found)
                        * times
                        * (math.log(len(texts) / max(1, using[word])) if weighed and rare else 1)
                    )
            ranked = sorted(scores, key=lambda name: -scores[name])[:most]
            kept = [name for name in ranked if always or scores[name] > 0]
            return [{"name": name} for name in kept] if objects else kept

        return find

    return build


def bm25(*, name_counts: int = 2, b: float = 0.75):
    """The formula in full, by hand: a word of the name counts as if it stood there several times."""

    def build(tools: list[dict[str, Any]]):
        def words(text: str) -> list[str]:
            return re.findall(r"[a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text).lower())

        texts = {
            tool["name"]: Counter(words(tool["name"]) * name_counts + words(tool["description"])) for tool in tools
        }
        using = Counter(word for found in texts.values() for word in found)
        mean = sum(map(Counter.total, texts.values())) / len(texts)

        def score(found: Counter[str], word: str) -> float:
            rare = math.log(1 + (len(texts) - using[word] + 0.5) / (using[word] + 0.5))
            return rare * found[word] * 2.2 / (found[word] + 1.2 * (1 - b + b * found.total() / mean))

        def find(query: str) -> list[str]:
            scores = {name: sum(score(found, word) for word in set(words(query))) for name, found in texts.items()}
            return [name for name in sorted(scores, key=lambda name: -scores[name]) if scores[name] > 0][:5]

        return find

    return build


def with_tool_index(method: str):
    def build(tools: list[dict[str, Any]]):
        made = ToolIndex(tools, method)
        return lambda query: [hit.tool_name for hit in made.search(query, limit=5)]

    return build


def made_before(tools: list[dict[str, Any]]):
    return lambda query: [hit.tool_name for hit in BEFORE.search(query, limit=5)]


BEFORE = ToolIndex(catalogue())
BY_HEART = {request.query: list(request.gold) for request in catalogue_requests()}


def by_heart(tools: list[dict[str, Any]]):
    """Looks the answer up among the public requests, and only elsewhere searches."""
    find = index()(tools)
    return lambda query: BY_HEART.get(query) or find(query)


def only_the_catalogue(tools: list[dict[str, Any]]):
    """Searches what it knows, not what it is given."""
    return index()(catalogue())


def twice_each(tools: list[dict[str, Any]]):
    find = index()(tools)
    return lambda query: [name for name in find(query)[:2] for _ in range(2)]


def best_last(tools: list[dict[str, Any]]):
    find = index()(tools)
    return lambda query: find(query)[::-1]


def no_function(tools: list[dict[str, Any]]):
    return [tool["name"] for tool in tools][:5]


def layers(
    *,
    forbidden: str = "absent",
    helpers: bool = True,
    ordered: bool = True,
    mark: str = "last visible",
    copies: bool = True,
    others: str = "deferred",
    mixed: bool = False,
    turned: bool = False,
):
    """The two layers with one thing done wrong (or merely otherwise)."""

    def tools_for(operations: list[dict[str, Any]], scene: str, allowed: set[str]) -> list[dict[str, Any]]:
        chosen = sorted(operations, key=lambda tool: tool["name"], reverse=turned) if ordered else operations
        made = []
        for tool in chosen:
            group = GROUP_OF[tool["name"]]
            if (group not in allowed and forbidden == "absent") or (group != scene and others == "absent"):
                continue
            hidden = group != scene and others == "deferred" or others == "all deferred"
            if not copies and hidden:
                tool["defer_loading"] = True
            made.append({**tool, "defer_loading": True} if hidden else dict(tool))
        if not mixed:
            made.sort(key=lambda tool: bool(tool.get("defer_loading")))
        shown = [tool for tool in made if not tool.get("defer_loading")]
        if mark != "none":
            (made if mark == "last of all" or not shown else shown)[-1 if mark != "first" else 0]["cache_control"] = {
                "type": "ephemeral"
            }
        return [SEARCH, *([ASK_USER] if helpers else []), *made]

    return tools_for


RIGHT = {
    "a": ("no shared word", None),
    "b": ("rival has more", 7),
    "c": ("common words only", 66),
    "d": ("rival has more", 10),
}


def empties_the_tools(tools: list[dict[str, Any]]):
    find = index()(tools)
    tools.clear()
    return find


def cut_down(operations: list[dict[str, Any]], scene: str, allowed: set[str]) -> list[dict[str, Any]]:
    """Deferred tools without their descriptions, by which a search would find them."""
    made = layers()(operations, scene, allowed)
    return [{k: v for k, v in one.items() if k != "description" or not one.get("defer_loading")} for one in made]


def narrows(operations: list[dict[str, Any]], scene: str, allowed: set[str]) -> list[dict[str, Any]]:
    made = layers()(operations, scene, allowed)
    allowed.discard(scene)
    return made


MISTAKES = {
    "7.1": {
        "the name three times, common words as much as rare ones": (
            index(rare=False, name_counts=3),
            "Among twelve tools of a library, 'say what a reader",
        ),
        "empties the tools": (empties_the_tools, "`build_index` changed the definitions it was given"),
        "names not cut": (index(split=False), "should be among the five (a name in camelCase)"),
        "every word alike": (index(weighed=False), "Among twelve tools of a library, 'say what a reader"),
        "BM25, the name once": (bm25(name_counts=1), "Recall@3 is 73% over 100 requests"),
        "too many": (index(most=10), "10 names came out: five are the most"),
        "always five": (index(always=True), "so the list should be empty"),
        "definitions": (index(objects=True), "a list of names should come out"),
        "no function": (no_function, "`build_index` must return a function of the query"),
        "ToolIndex": (with_tool_index("bm25"), "`find` asks `ToolIndex`"),
        "ToolIndex made before": (made_before, "`find` asks `ToolIndex`"),
        "by heart": (by_heart, "which is not in the list that `build_index` was given"),
        "another list": (only_the_catalogue, "which is not in the list that `build_index` was given"),
        "each name twice": (twice_each, "a name came twice"),
        "best last": (best_last, "first or second, as its name or description says just that"),
        "the name counts once": (index(name_counts=1, stem=False), "Recall@3 is 71% over 100 requests; the bar is 76%"),
        "and endings cut": (index(name_counts=1), "Recall@3 is 70% over 100 requests; the bar is 76%"),
    },
    "7.2": {
        "cut down": (cut_down, "is not the definition that was handed in: take each one whole"),
        "narrows the user's rights": (narrows, "the set `allowed` was changed"),
        "forbidden is deferred": (layers(forbidden="deferred"), "deferred is not forbidden"),
        "all visible": (layers(others="visible"), "should be deferred"),
        "the scene alone": (layers(others="absent"), "is missing"),
        "the scene deferred, too": (layers(others="all deferred"), "belongs to the scene and must be visible"),
        "from Z to A": (layers(turned=True), "the visible tools are not sorted by name"),
        "no way out": (layers(helpers=False), "`ask_user` must be there, and visible"),
        "as they come": (layers(ordered=False), "sort by name"),
        "mark on a deferred tool": (
            layers(mark="last of all"),
            "cannot have both defer_loading=true and cache_control",
        ),
        "mark on the first": (layers(mark="first"), "what comes after a mark is not kept"),
        "no mark": (layers(mark="none"), "nothing is marked for the cache"),
        "changed in place": (layers(copies=False), "got changed: make copies"),
        "nothing": (lambda operations, scene, allowed: {}, "a list of definitions should come out"),
    },
    "7.3": {
        "a cause in a list": (
            {**RIGHT, "b": (["rival has more"], 7)},
            "`b` gives the cause ['rival has more']; choose",
        ),
        "a place in quotes": ({**RIGHT, "b": ("rival has more", "7")}, "you said '7'"),
        "no dict": ([RIGHT["a"]], "`causes` should be a dict with the keys a, b, c and d"),
        "a key missing": ({key: RIGHT[key] for key in "abd"}, "`causes` has no entry for `c`: it needs the keys"),
        "no pair": ({**RIGHT, "a": "no shared word"}, '`a` should be a pair like ("common words only", 12)'),
        "another cause": ({**RIGHT, "a": ("too short", None)}, "`a` gives the cause 'too short'; choose one of"),
        "common taken for none": ({**RIGHT, "c": ("no shared word", None)}, "But it shares `back`, in 68 tools"),
        "rare taken for common": ({**RIGHT, "d": ("common words only", 10)}, "But it shares `run`, in 20 tools"),
        "none taken for rival": ({**RIGHT, "a": ("rival has more", 9)}, "But it shares no word at all"),
        "counted from 0": ({**RIGHT, "b": ("rival has more", 6)}, "the cause is right, the place is not"),
    },
}


def grouped(operations: list[dict[str, Any]], scene: str, allowed: set[str]) -> list[dict[str, Any]]:
    """Helpers behind the scene, deferred tools first: another right order."""
    ordered = sorted(operations, key=lambda tool: tool["name"])
    near = [{**tool, "defer_loading": False} for tool in ordered if GROUP_OF[tool["name"]] == scene]
    far = [{**tool, "defer_loading": True} for tool in ordered if GROUP_OF[tool["name"]] in allowed - {scene}]
    marked = {**SEARCH, "cache_control": {"type": "ephemeral"}}
    return [*far, *near, ASK_USER, marked]


VARIANTS = {
    "7.1": {
        "the name counts one and a half": index(name_counts=1.5),
        "the name counts three times": index(name_counts=3),
        "the name counts four times": index(name_counts=4),
        "BM25 in full": bm25(),
        "BM25 without lengths": bm25(b=0.0),
        "BM25, the name three times": bm25(name_counts=3),
    },
    "7.2": {
        "a tuple": lambda *given: tuple(layers()(*given)),
        "mixed by name": layers(mixed=True),
        "deferred first": grouped,
    },
    "7.3": {
        "lists": {key: list(pair) for key, pair in RIGHT.items()},
        "other order": dict(reversed(RIGHT.items())),
    },
}

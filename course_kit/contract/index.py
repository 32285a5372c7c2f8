"""A search over tool definitions: by pattern, by words, by meaning, or by several of them at once.

    ToolIndex(tools).search("create an edge") → [Hit("canvas_create_edge", 5.1, "`create`, `edge` in the name")]

    regex       Python's `re.search`, capitals ignored, over the name, description, and input names and descriptions
    bm25        words and pairs of words, weighed by BM25; a word in the name counts most
    embedding   nearness of meaning, by a model that turns texts into vectors (`embed`)
    fused       words and spelling, and meaning where `embed` is given, joined by reciprocal rank

Both the client (`harness`) and the stand-in provider (`mock`) use it. What counts as a word is next
door, in `index_words.py`; how rankings are made and kept on disk, in `index_rankings.py`; a model for meaning, in
`index_meaning.py`.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from course_kit.errors import CourseKitError

from .index_words import FIELDS, Entry, query_terms, read_tools, reason
from .words import cut, quoted

if TYPE_CHECKING:
    from .index_rankings import Rankings

__all__ = ["Embed", "Hit", "MAX_PATTERN", "MAX_QUERY", "METHODS", "Method", "SearchError", "ToolIndex"]

Method = Literal["bm25", "regex", "embedding", "fused"]
METHODS: tuple[Method, ...] = ("bm25", "regex", "embedding", "fused")
Embed = Callable[[list[str]], Any]  # texts → one row of numbers for each

MAX_PATTERN = 200  # characters of a pattern, by the documentation of the server's search
MAX_QUERY = 4_000  # characters of a query that are read
PATTERN_SECONDS = 1.0  # for one pattern over some tools; over thousands it gets more
SMOOTHING = 10  # of reciprocal rank: the higher, the less the first place leads
COUNTS = {"words": 1.0, "letters": 0.5, "meaning": 1.0}  # letters repeat the words, so they count half


class SearchError(CourseKitError, ValueError):
    """A pattern that cannot be searched with; `error_code` is the code that the server's search answers."""

    def __init__(self, message: str, error_code: str = "invalid_tool_input"):
        super().__init__(message)
        self.error_code = error_code


class Hit(NamedTuple):
    """A tool that was found. Scores compare the hits of one search, not those of two; `because` says why, in words."""

    tool_name: str
    score: float
    because: str


class ToolIndex:
    """The index of a list of tools: definitions in any provider's shape, or `Tool` objects.

    `embed` turns a list of texts into vectors, such as `index_meaning.load_model()`; `"embedding"` loads that one
    by itself. With a `cache_dir` the rankings are kept there, under the hash of the tools, for the next process.
    """

    def __init__(
        self,
        tools: Any,
        method: Method = "bm25",
        *,
        embed: Embed | None = None,
        cache_dir: str | PathLike[str] | None = None,
    ):
        if method not in METHODS:
            raise ValueError(f"method is one of {', '.join(METHODS)}, not {method!r}.")
        if method == "embedding" and embed is None:
            from .index_meaning import load_model

            embed = load_model()
        self.method = method
        self.embed = embed if method in ("embedding", "fused") else None
        self.entries = read_tools(tools)
        self._cache_dir = cache_dir

    def __repr__(self) -> str:
        return f"ToolIndex({len(self.entries)} tools, method={self.method!r})"

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def _rankings(self) -> "Rankings":
        from .index_rankings import rankings

        wanted = {"bm25": ("words",), "fused": ("words", "letters")}.get(self.method, ())
        return rankings(self.entries, wanted, self.embed, self._cache_dir)

    def search(self, query: str, limit: int = 5) -> list[Hit]:
        """The tools that fit best, best first, at most `limit`; equal ones by name. No hit is an empty list."""
        if not isinstance(query, str):
            raise TypeError(f"query is a text, not {type(query).__name__}.")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise ValueError(f"limit is a whole number from 1, not {limit!r}.")
        if not self.entries or not query.strip():
            return []
        if self.method == "regex":
            return _matching(self.entries, query, limit)
        return self._ranked(query[:MAX_QUERY], limit)

    def _ranked(self, query: str, limit: int) -> list[Hit]:
        import numpy as np

        words = query_terms(query)
        by = self._rankings.scores(query, [word.term for word in words])
        places: dict[str, Any] = {}
        if len(by) == 1:
            (total,) = by.values()
        else:
            total = np.zeros(len(self.entries))
            places = {name: _places(scores) for name, scores in by.items()}
            for name, at in places.items():
                total += np.where(by[name] > 0, COUNTS[name] / (SMOOTHING + at), 0)
        hits = []
        for index in _best(total, limit):
            entry, because = self.entries[index], list[str]()
            if "words" in by:
                because += filter(None, [reason(entry, words)])
            if "meaning" in by:
                because.append(f"meaning {by['meaning'][index]:.2f} near")
            ranked = [f"{_ordinal(at[index])} by {name}" for name, at in places.items() if by[name][index] > 0]
            hits.append(Hit(entry.name, float(total[index]), "; ".join([*because, *filter(None, [", ".join(ranked)])])))
        return hits


# Ranks.


def _best(scores: Any, limit: int) -> list[int]:
    """The places of the highest scores above 0, equal ones in their order, which is that of the names."""
    import numpy as np

    found = np.flatnonzero(scores > 0)
    if len(found) > 4 * limit:  # no need to sort what will not be shown
        found = found[scores[found] >= np.partition(scores[found], -limit)[-limit]]
    return found[np.argsort(-scores[found], kind="stable")][:limit].tolist()


def _places(scores: Any) -> Any:
    """For each score its place among all, 1 for the highest; equal scores share a place."""
    import numpy as np

    return len(scores) + 1 - np.searchsorted(np.sort(scores), scores, side="right")


def _ordinal(number: int) -> str:
    """`1` → `1st`, `12` → `12th`."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# Patterns.


def _matching(entries: Sequence[Entry], pattern: str, limit: int) -> list[Hit]:
    """The tools where a pattern matches, those first where it matches in the fields that count most."""
    search, seconds = _compiled(pattern).search, PATTERN_SECONDS * (1 + len(entries) / 5_000)
    until = time.monotonic() + seconds
    repeats = not set(pattern).isdisjoint("*+{")  # else a search is quick, and a clock would be most of its time
    hits = []
    for entry in entries:
        score, parts = 0.0, []
        for text, (field, weight) in zip(entry.texts, FIELDS.items(), strict=True):
            try:
                match = search(text, timeout=max(until - time.monotonic(), 1e-6)) if repeats else search(text)
            except TimeoutError:
                words = f"The pattern {quoted(pattern)} takes more than {seconds:.2g} s over these tools"
                raise SearchError(
                    f"{words}: write a simpler one, without a repeat inside a repeat.", "execution_time_exceeded"
                ) from None
            if match:
                score += weight
                parts.append(f"`{cut(match[0], 40)}` in {field}")
        if parts:
            hits.append(Hit(entry.name, score, f"the pattern matches {'; '.join(parts)}"))
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _compiled(pattern: str) -> Any:
    """A pattern that `re` takes, made by `regex`: the same language, and the one that can be given a time limit."""
    import re

    import regex

    if len(pattern) > MAX_PATTERN:
        raise SearchError(f"The pattern has {len(pattern):,} characters: write one of at most {MAX_PATTERN}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what a later Python may read differently
            re.compile(pattern, re.IGNORECASE)
            return regex.compile(pattern, regex.IGNORECASE | regex.VERSION0)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise SearchError(
            f"{quoted(pattern)} is not a regular expression ({error}): fix it, or put a backslash before special signs."
        ) from None

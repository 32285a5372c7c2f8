"""What a search reads of a tool, and the words there: the fields, cut into words, stemmed, in pairs, in letters.

How the words are weighed and the tools ranked is next door, in `index.py`.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from .reading import Definition, entries_of
from .similarity import STOP

__all__ = ["FIELDS", "Entry", "Word", "fragments", "index_terms", "query_terms", "read_tools", "reason", "words_of"]

# The fields, as `because` names them, and what a word counts in each: chosen from a coarse grid on the public
# catalogue, not on the lesson's; see tests/benchmarks/tool_search.py.
FIELDS = {"the name": 6, "the description": 2, "the name of an input": 2, "the description of an input": 1}
SPLIT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # camelCase, HTTPServer
_TOGETHER = "぀-ヿ㐀-䶿一-鿿"  # written without spaces: kana and Chinese characters
_PIECE = re.compile(rf"[^\W\d_{_TOGETHER}]+|\d+|[{_TOGETHER}]+")
_LONGEST_WORD = 40
# What requests are wrapped in, besides words that never say anything.
_WRAPPING = STOP | frozenset(
    """am could did doesn don give going got had hello her here hi him his how i just know let like ll m me my need now
    our out please re really s she t thank thanks tell too us ve very want we why would yes""".split()
)


class Entry(NamedTuple):
    """A tool as the search reads it: its name, and the texts of the four `FIELDS`."""

    name: str
    texts: tuple[str, str, str, str]


class Word(NamedTuple):
    """A word as it was `said` and the `term` it is searched by: `("Edges", "edg")`."""

    said: str
    term: str


def read_tools(tools: Any) -> list[Entry]:
    """The tools sorted by name, whatever shape and order they come in."""
    found = entries_of(tools)
    if found is None:
        raise TypeError(f"tools is a list of tool definitions, not {type(tools).__name__}.")
    entries = sorted(_entry(index, one) for index, one in enumerate(found))
    for one, other in zip(entries, entries[1:], strict=False):
        if one.name == other.name:
            raise ValueError(f"Two tools are called {one.name!r}: give each its own name.")
    return entries


def _entry(index: int, given: Any) -> Entry:
    tool = Definition(index, given)
    if not tool.name:
        raise ValueError(f"tools[{index}] has no name: give a definition such as {{'name': 'get_weather', …}}.")
    names = " ".join(one.name for one in tool.inputs)
    return Entry(tool.name, (tool.name, tool.description, names, " ".join(one.description for one in tool.inputs)))


def words_of(text: str) -> Iterator[Word]:
    """The words of a text; Chinese is cut into pairs of characters: `"listNodes"` → `list`, `Nodes`."""
    for piece in _pieces(text):
        if "぀" <= piece[0] <= "鿿":
            for start in range(max(1, len(piece) - 1)):
                yield Word(piece[start : start + 2], piece[start : start + 2])
        else:
            yield Word(piece, _stem(piece[:_LONGEST_WORD].lower()))


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(SPLIT.sub(" ", text if text.isascii() else unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=8192)
def _terms(text: str) -> frozenset[str]:
    return frozenset(word.term for word in words_of(text))


def index_terms(entry: Entry) -> list[str]:
    """The terms of a tool, each as often as its fields count; also the pairs of adjacent words."""
    terms: list[str] = []
    for text, weight in zip(entry.texts, FIELDS.values(), strict=True):
        found = [word.term for word in words_of(text) if text is entry.texts[0] or word.said.lower() not in _WRAPPING]
        terms += (found + _pairs(found)) * weight
    return terms


def query_terms(query: str) -> list[Word]:
    """What to look for, each term once; words that say nothing only where there is nothing else."""
    words = list(words_of(query))
    telling = [word for word in words if word.said.lower() not in _WRAPPING] or words
    pairs = [Word("", pair) for pair in _pairs([word.term for word in telling])]
    return list({word.term: word for word in [*pairs, *telling]}.values())


def _pairs(terms: list[str]) -> list[str]:
    return [f"{one} {other}" for one, other in zip(terms, terms[1:], strict=False)]


def fragments(text: str) -> list[str]:
    """Three to five letters in a row, within words and their edges: what `refunding` and `refunds` have in common."""
    found: list[str] = []
    for piece in _pieces(text):
        if "぀" <= piece[0] <= "鿿":
            found += [piece[i : i + 2] for i in range(max(1, len(piece) - 1))]
            continue
        word = f" {piece[:_LONGEST_WORD].lower()} "
        found += [word[i : i + size] for size in (3, 4, 5) for i in range(max(1, len(word) - size + 1))]
    return found


def reason(entry: Entry, words: list[Word]) -> str:
    """Where the words of a query are in a tool: "`create`, `edge` in the name; `link` in the description"."""
    parts = []
    for text, field in zip(entry.texts, FIELDS, strict=True):
        terms = _terms(text)
        said = [f"`{word.said[:_LONGEST_WORD]}`" for word in words if word.term in terms]
        if said:
            parts.append(f"{', '.join(said[:8])} in {field}")
    return "; ".join(parts)


_LOCK = threading.Lock()
_STEMMERS: list[Any] = []


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    """`"scheduled"` → `"schedul"`, by the rules of Snowball for English; its object is not thread-safe."""
    with _LOCK:
        if not _STEMMERS:
            import snowballstemmer

            _STEMMERS.append(snowballstemmer.stemmer("english"))
        return _STEMMERS[0].stemWord(word)

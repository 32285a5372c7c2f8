"""How near two descriptions are: the words they share, each weighing less the more tools of the list use it.

Wrong picks come from two tools that could both answer. What is said about others ("not for parcels, use
track_parcel") is left out first, so that a boundary never makes two tools look alike. Plain word counting: no model
is asked, and Chinese is cut into pairs of characters. `definitions.py` says what to do about a pair that is too near.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import fsum, log
from typing import Any, NamedTuple

__all__ = ["Pair", "Weighed", "content_words", "count_words", "own_part", "similarity_map"]

STOP = frozenset(
    """a about all also an and any are as at be been before but by can do does each for from has have if in into is it
    its may must no not of on one only or other out own should so some such than that the their them then there these
    they this those to tool up use used user using was were what when where which while who will with you
    your""".split()
)
_CHINESE = "一-鿿"
_PIECE = re.compile(rf"[^\W\d_{_CHINESE}]+|\d+|[{_CHINESE}]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT = re.compile(r"\b(?:not|never|don't|cannot|instead|rather than|unlike)\b|不|勿|而非", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.;!?])\s|[。；！？\n]")


class Pair(NamedTuple):
    """Two places in a list of texts, `first < second`, and how near they are: 0 shares nothing, 1 is the same."""

    first: int
    second: int
    score: float


def count_words(text: str) -> float:
    """How much a text says, in words: a Chinese character counts as half a word."""
    pieces = _PIECE.findall(text)
    return fsum(len(piece) / 2 if "一" <= piece[0] <= "鿿" else 1 for piece in pieces)


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """What a text is about: `"Finds orders of a customer"` → `{"find", "order", "customer"}`."""
    found: set[str] = set()
    for piece in _PIECE.findall(_CAMEL.sub(" ", text)):
        if "一" <= piece[0] <= "鿿":
            found.update(piece[i : i + 2] for i in range(max(1, len(piece) - 1)))
        else:
            word = piece.lower()
            word = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
            found.update({word} - STOP)
    return frozenset(found)


@lru_cache(maxsize=8192)
def own_part(description: str) -> str:
    """A description without what it says about others: every sentence ends before its first "not"."""
    return " ".join(_NOT.split(sentence, maxsplit=1)[0] for sentence in _SENTENCE.split(description))


class Weighed:
    """The words of several texts with their weights, to compare any two of the texts."""

    def __init__(self, texts: Sequence[str]):
        self.words = [content_words(own_part(text)) for text in texts]
        self.using = Counter(word for words in self.words for word in words)
        self.weight = {word: 1 / (1 + log(count)) for word, count in self.using.items()}
        self.total = [self._sum(words) for words in self.words]

    def _sum(self, words: Any) -> float:
        return fsum(self.weight[word] for word in words)

    def score(self, first: int, second: int) -> float:
        """How near two of the texts are, from 0 to 1."""
        shared = self._sum(self.words[first] & self.words[second])
        return shared / (self.total[first] + self.total[second] - shared) if shared else 0.0

    def pairs(self, least: float) -> Iterator[Pair]:
        """Every pair at least this near, without looking at all of them.

        subtle: two texts that near must share one of the rarest words that make up a share of `1 - least` of either.
        """
        holding: dict[str, list[int]] = defaultdict(list)
        for second, words in enumerate(self.words):
            near: dict[int, None] = {}
            left = self.total[second]
            for word in sorted(words, key=lambda word: (self.using[word], word)):
                if left < least * self.total[second] - 1e-9:
                    break
                near.update(dict.fromkeys(holding[word]))
                holding[word].append(second)
                left -= self.weight[word]
            for first in near:
                if (score := self.score(first, second)) >= least:
                    yield Pair(first, second, score)


def similarity_map(tools: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[float]]]:
    """The names of the tools, and how near each description is to each other one: rows and columns in that order."""
    weighed = Weighed([str(tool.get("description") or "") for tool in tools])
    names = [str(tool.get("name")) for tool in tools]
    return names, [[1.0 if i == j else weighed.score(i, j) for j in range(len(names))] for i in range(len(names))]

"""What a text holds, as the simulated model sees it: words, spans that could be values, and steps.

`words("Find my orders")` says what a text is about, `spans("Refund 19.99 for ORD-20260917")` what could be put into an
input, `clauses("Find it, then send it")` what is asked for one after another. Nothing here knows a tool: which tool
fits is decided in `simulated.py`, which span goes where in `inputs.py`.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["DATE", "GENERIC", "READ", "Span", "clauses", "spans", "tokens", "words"]

# Words that say nothing about what is wanted.
STOP = set(
    """a about after all also am an and any are as at be been before being but by can could did do does done each for
    from good had has have he hello help her here hi him his how i if in into is it its just kindly let like many
    may me more most much must my near need no not now of on one only or other our out over please provide shall she
    should show so some such tell than that the their them then there these they this those thank thanks through to
    too up us use used using very via want was we well were what when where which while who whose why will with
    within without would you your""".split()
)
STOP |= set("不没有一")  # by themselves; a pair with one of them tells something
# All its world knowledge: words that mean the same. Other words of users must be in a description.
KIN = """
damage break broke broken crack defective faulty 碎 坏 破 裂
refund reimburse 退
order purchase 订单
parcel package shipment 包裹 快递
track whereabouts 追踪 物流 哪里
product goods 商品 产品
price cost fee 价格
cancel abort 取消
weather forecast 天气 气温
film movie
picture image photo
"""


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without its ending: `"calculates"` and `"calculation"` → `"calcul"`."""
    for ending in ("ations", "ation", "ating", "ates", "ated", "ate", "ings", "ing", "ions", "ion", "ies", "ied"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    for ending in ("ers", "ed", "er", "es", "ly", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


KINDRED = {stem(word): line.split()[0] for line in KIN.strip().split("\n") for word in line.split()}
# Words that most requests and most tools share.
GENERIC = {
    stem(word)
    for word in """add base calculate calculator check compute create current data detail determine estimate execute
    fetch find function generate get give given identify information input know list look make name new number obtain
    option perform provided query request result retrieve return search set specific specified type update user
    value""".split()
}


@lru_cache(maxsize=4096)
def words(text: str) -> frozenset[str]:
    """What a text is about: `"refund_order, for the cups"` → `{"refund", "order", "cup"}`."""
    return frozenset(word for word, _, _ in tokens(text))


# What a word can be: an id whole, so that `ORD-1` is not about orders; letters; digits; Chinese between particles.
PIECE = re.compile(
    r"[A-Z]{2,}-\d[\d-]*|[^\W\d_一-鿿]+|\d+|(?:(?!怎么样?|什么|如何|多少|[的了和与在请给我你吗呢是把也])[一-鿿])+"
)


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[tuple[str, int, int], ...]:
    """The significant words, stemmed, with their places.

    Names are split at `_` and capitals. Chinese has no spaces: it is cut into characters, and pairs of them.
    `"退款额"` → 退, 退款, 款, 款额, 额.
    """
    pieces = []
    for match in PIECE.finditer(text):
        piece, at = match[0], match.start()
        if "一" <= piece[0] <= "鿿":
            pieces += [(piece[i:end], at + i) for i in range(len(piece)) for end in (i + 1, i + 2) if end <= len(piece)]
        elif "-" in piece:
            pieces.append((piece, at))
        else:
            parts = re.finditer(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+", piece)
            pieces += [(part[0], at + part.start()) for part in parts]
    known = [(stem(piece.lower()), start, start + len(piece)) for piece, start in pieces if piece.lower() not in STOP]
    return tuple((KINDRED.get(word, word), start, end) for word, start, end in known)


@dataclass(frozen=True)
class Span:
    """A piece of text that could be a value, without its quotes; a number may have a `unit`, a list has `parts`."""

    kind: str
    value: Any
    start: int
    end: int
    unit: str = ""
    parts: tuple["Span", ...] = ()


MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
TH = r"(?:st|nd|rd|th)?"
DATE = (
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\b\d{1,2}[/.]\d{1,2}[/.]\d{4}"
    rf"|\b{MONTH} \d{{1,2}}{TH},? (?:of )?\d{{4}}\b|\b\d{{1,2}}{TH} (?:of )?{MONTH},? \d{{4}}\b"
    rf"|(?i:\b(?:(?:next|this|coming) {DAY}|today|tomorrow|yesterday|{DAY})\b)"
    r"|下?(?:周|星期)[一二三四五六日天]|今天|明天|昨天"
)
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
SCALES = {"hundred": 100, "thousand": 1_000, "k": 1_000, "million": 10**6, "billion": 10**9}
SCALE = rf"(?:\s?(?:{'|'.join(SCALES)})\b)?"
READ = 4_000  # characters of a text that are searched for values
UPPER = r"(?:[A-Z][\w'’&-]*|[A-Z]\.)"

# The earliest rule wins; what it took is gone for the later ones.
KINDS = {
    "list": r"\[[^\[\]]*\]",
    "quoted": r"\"([^\"\n]+)\"|“([^”]+)”|「([^」]+)」|《([^》]+)》|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’\n]+)’(?!\w)",
    "url": r"https?://[^\s,，。)]+\w/?",
    "email": r"[\w.+-]+@[\w-]+\.[\w.-]*\w",
    "path": r"(?<![\w.])(?:[\w.-]*/)+[\w-]+\.\w+|\b[\w-]+\.(?:[a-z]{2,4}\d?)\b",
    "date": DATE,
    "time": r"\b\d{1,2}(?::\d\d)?\s?[aApP]\.?[mM]\b\.?|\b\d{1,2}:\d\d\b",
    "id": r"(?<![A-Za-z\d_.])(?!\d+[a-zA-Z]{1,3}\b)(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z\d]+(?:[-_][A-Za-z\d]+)*"
    r"(?![A-Za-z\d_])",
    "number": rf"(?<![\w.])[$€£¥]?\s?[-−]?\d+(?:,\d{{3}})*(?:\.\d+)?{SCALE}|\b(?i:{'|'.join(NUMBER_WORDS)})\b",
    "name": rf"(?:{UPPER}|\b\d+(?= [A-Z]))(?: (?:(?:of|of the|de|la|van|von) )?(?:{UPPER}|\d+\b))*",
}
MATCHERS = {kind: re.compile(pattern) for kind, pattern in KINDS.items()}
JOINT = re.compile(r"\s*,?\s*(?:\b(?:and|or)\b|&|和|、|,)?\s*(?:the )?", re.IGNORECASE)


@lru_cache(maxsize=256)
def spans(text: str) -> tuple[Span, ...]:
    """The spans of a text in their order; neighbours of one kind ("Oslo, Lima and Rome") also as one list."""
    text = shown = text[:READ]
    found = []
    for kind, pattern in MATCHERS.items():
        reached = 0
        for match in pattern.finditer(shown):
            start, end = _name(text, *match.span()) if kind == "name" else match.span()
            if reached <= start < end and end - start < len(text):
                reached = end
                found.append(_span(kind, text, start, end, match))
                shown = f"{shown[:start]}{'.' * (end - start)}{shown[end:]}"
    found.sort(key=lambda span: span.start)
    return tuple(found + _groups(text, found))


def _name(text: str, start: int, end: int) -> tuple[int, int]:
    """A capital that only opens a sentence is not a name; a state or country after a city belongs to it."""
    if (
        re.search(r"(?:\A|[.!?:\n]\s*|\A[\"'])\Z", text[max(0, start - 9) : start])
        and not text[start:end].split()[0].isupper()
    ):
        first = re.match(r"\S+\s*", text[start:end])
        start += first.end() if first else 0
    if text[start:end] == "I" or text[start:end].startswith("I'"):
        return start, start
    more = re.match(r", ?(?:[A-Z]{2}\b|(?:[A-Z][a-z]+ ?)+(?=[.?!]|$| for| on| in))", text[end:])
    return start, end + (more.end() if more and start < end else 0)


def _span(kind: str, text: str, start: int, end: int, match: re.Match[str]) -> Span:
    value: Any = text[start:end]
    unit = ""
    if kind == "quoted":
        value = next(group for group in match.groups() if group)
    elif kind == "list":
        value = _items(value)
    elif kind == "number":
        behind = re.match(r"\s?(%|°\w?|[^\W\d]+)", text[end:])
        unit = value[0] if value[0] in "$€£¥" else behind[1] if behind else ""
        value = number(value)
    elif kind == "name" and not value.endswith("Inc."):
        value = re.sub(r"['’]s$|[.,']+$", "", value)
    return Span(kind, value, start, end, unit)


def number(written: str) -> int | float:
    """`"$1,500"` → 1500, `"2.5 million"` → 2500000.0, `"three"` → 3."""
    text = written.lower().strip("$€£¥ ").replace(",", "").replace("−", "-")
    if text in NUMBER_WORDS:
        return NUMBER_WORDS.index(text)
    found = re.match(r"-?\d+(?:\.\d+)?", text)
    digits = found[0] if found else ""
    return (float(digits) if "." in digits else int(digits)) * SCALES.get(text[len(digits) :].strip(), 1)


def _items(written: str) -> list[Any]:
    try:
        return json.loads(written.replace("'", '"'))
    except ValueError:
        return [item.strip(" '\"") for item in written[1:-1].split(",") if item.strip()]


def _groups(text: str, found: list[Span]) -> list[Span]:
    groups, run = [], found[:1]
    for span in [*found[1:], Span("end", "", len(text), len(text))]:
        gap = text[run[-1].end : span.start] if run else ""
        if (
            run
            and span.kind == run[-1].kind in ("quoted", "name", "number", "id")
            and JOINT.fullmatch(gap)
            and gap.strip()
        ):
            run.append(span)
            continue
        if len(run) > 1:
            groups.append(Span("list", [part.value for part in run], run[0].start, run[-1].end, "", tuple(run)))
        run = [span]
    return groups


VERBS = (
    "add book calculate cancel check convert find generate get give refund search send tell track translate"
    " what how where who"
).replace(" ", "|")
STEP = re.compile(
    rf"[.!?;\n]\s+|[。！？；]|\b(?:and )?(?:then|also)\b|, and |\band (?=(?:{VERBS})\b)|然后|另外|还有|同时|并且"
)


def clauses(text: str) -> list[str]:
    """The steps of a request: `"Cancel it. Find a cup, then order it"` → three; no span is cut."""
    shown = text
    for span in spans(text):
        shown = shown[: span.start] + "x" * (span.end - span.start) + shown[span.end :]
    places = [0, *(match.end() for match in STEP.finditer(shown)), len(text)]
    parts = [text[start:end].strip() for start, end in zip(places, places[1:], strict=False)]
    return [part for part in parts if part]

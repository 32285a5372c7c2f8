"""What a text holds, as the simulated model sees it: words, and typed spans that could be values.

`words("Find my orders")` says what a text is about; `spans("Refund 19.99 for ORD-20260917")` says what could be put
into an input. Nothing here knows a tool: which span goes where is decided in `simulated.py`.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["DATE", "GENERIC", "Span", "clauses", "spans", "stem", "tokens", "words"]

# Words that say nothing about what is wanted.
STOP = set(
    """a about after all also am an and any are as at be been before being but by can could did do does done each
    for from had has have he hello help her here hi him his how i if in into is it its just kindly let like many may me
    more most much must my near need no not now of on one only or other our out over please provide shall she should
    show so some such tell than that the their them then there these they this those thank thanks through to too up us
    use used using very via want was we well were what when where which while who whose why will with within without
    would you your 请 我 的 了 给 吗 帮""".split()
)
VERBS = "add|book|calculate|cancel|check|convert|find|generate|get|give|refund|search|send|show|tell|track|translate|what|how|where|who"
# Words that most requests and most tools share.
GENERIC = set(
    """add base calculate calculator check compute create current data detail determine estimate execute fetch find
    function generate get give given identify information input know list look make name new number obtain option
    perform provided query request result retrieve return search set specific specified type update user value""".split()
)
# All the world knowledge there is: words that mean the same. A lesson can show what happens beyond it.
KIN = """
damage break broke broken crack defective faulty 破了 碎了 坏了 损坏 破损
refund reimburse moneyback 退款 退钱
order purchase 订单
parcel package shipment 包裹 快递
track whereabouts 追踪 物流 哪里
product goods 商品 产品
price cost fee 价格 多少
cancel abort 取消
weather temperature forecast 天气 气温
film movie
buy purchase
picture image photo
car vehicle automobile
distance far
""".strip()


def _kin() -> dict[str, str]:
    return {stem(word): line.split()[0] for line in KIN.split("\n") for word in line.split()}


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


@lru_cache(maxsize=4096)
def words(text: str) -> frozenset[str]:
    """What a text is about: `"refund_order for the cups"` → `{"refund", "order", "cup"}`, Chinese in pairs of characters."""
    return frozenset(word for word, _, _ in tokens(text))


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[tuple[str, int, int], ...]:
    """The telling words with their places, stemmed; names split at `_`, `-` and inner capitals."""
    found = []
    for match in re.finditer(r"[^\W\d_一-鿿]+|\d+|[一-鿿]+", text):
        run, start = match[0], match.start()
        if "一" <= run[0] <= "鿿":
            parts = re.finditer(r"(?:(?!怎么样?|什么|如何|多少)[^的了和与在请给我你吗呢是把也])+", run)
            pieces = [(p[0][i : i + 2], p.start() + i) for p in parts for i in range(max(1, len(p[0]) - 1))]
        else:
            pieces = [(part[0], part.start()) for part in re.finditer(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+", run)]
        for piece, offset in pieces:
            if piece.lower() not in STOP:
                word = stem(piece.lower())
                found.append((KINDRED.get(word, word), start + offset, start + offset + len(piece)))
    return tuple(found)


KINDRED = _kin()
GENERIC = {stem(word) for word in GENERIC}


@dataclass(frozen=True)
class Span:
    """A piece of text that could be a value; `value` is its number, list or inner text, `unit` the word behind it."""

    kind: str
    value: Any
    start: int
    end: int
    unit: str = ""
    parts: tuple["Span", ...] = ()


MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
SCALES = {"hundred": 100, "thousand": 1_000, "k": 1_000, "million": 10**6, "billion": 10**9}
UPPER = r"(?:[A-Z][\w'’&-]*|[A-Z]\.)"

# The earliest rule wins; what it took is gone for the later ones.
KINDS = {
    "list": r"\[[^\[\]]*\]",
    "quoted": r"\"([^\"\n]+)\"|“([^”]+)”|「([^」]+)」|《([^》]+)》|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’\n]+)’(?!\w)",
    "url": r"https?://[^\s,，。)]+\w/?",
    "email": r"[\w.+-]+@[\w-]+\.[\w.-]*\w",
    "path": r"(?<![\w.])(?:[\w.-]*/)+[\w-]+\.\w+|\b[\w-]+\.(?:[a-z]{2,4}\d?)\b(?<!\bi\.e)(?<!\be\.g)",
    "date": rf"\b\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}"
    rf"|\b{MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? (?:of )?\d{{4}}\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH},? \d{{4}}\b"
    rf"|(?i:\b(?:next|this|coming) {DAY}\b|\b(?:today|tomorrow|yesterday|{DAY})\b)|下?(?:周|星期)[一二三四五六日天]|今天|明天|昨天",
    "time": r"\b\d{1,2}(?::\d\d)?\s?[aApP]\.?[mM]\b\.?|\b\d{1,2}:\d\d\b",
    "id": r"(?<![\w.])(?!\d+(?:st|nd|rd|th|[a-zA-Z]{1,3})\b)(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z\d]+(?:[-_][A-Za-z\d]+)*(?![\w])",
    "number": rf"(?<![\w.])[$€£¥]?\s?(?:-|−)?\d+(?:,\d{{3}})*(?:\.\d+)?(?:\s?(?:{'|'.join(SCALES)})\b)?|\b(?i:{'|'.join(NUMBER_WORDS)})\b",
    "name": rf"(?:{UPPER}|\b\d+(?= [A-Z]))(?:[ ](?:(?:of|of the|de|la|van|von) )?(?:{UPPER}|\d+\b))*",
}
DATE = KINDS["date"]
MATCHERS = {kind: re.compile(pattern) for kind, pattern in KINDS.items()}
JOINT = re.compile(r"\s*(?:,|、|和|，)?\s*(?:\b(?:and|or)\b|&|和|、|,)?\s*(?:the )?", re.IGNORECASE)


@lru_cache(maxsize=256)
def spans(text: str) -> tuple[Span, ...]:
    """The typed spans of a text in their order; neighbours of one kind ("Oslo, Lima and Rome") also as one list."""
    taken = bytearray(len(text))
    found = []
    for kind, pattern in MATCHERS.items():
        for match in pattern.finditer(text):
            start, end = match.span()
            if kind == "name":
                start, end = _name(text, start, end)
            if start < end < start + len(text) and not any(taken[start:end]):
                found.append(_span(kind, text, start, end, match))
                taken[start:end] = b"1" * (end - start)
    found.sort(key=lambda span: span.start)
    return tuple(found + _groups(text, found))


def _name(text: str, start: int, end: int) -> tuple[int, int]:
    """A capital that only opens the sentence is no name; a state behind a city belongs to it."""
    if re.search(r"(?:^|[.!?:\n]\s*|^[\"'])$", text[:start]) and not text[start:end].split()[0].isupper():
        rest = re.match(r"\S+\s*", text[start:end])
        start += rest.end() if rest else 0
    if text[start:end] == "I" or text[start:end].startswith("I'"):
        return start, start
    more = re.match(r", ?(?:[A-Z]{2}\b|(?:[A-Z][a-z]+ ?)+(?=[.?!]|$| for| on| in))", text[end:])
    return start, end + (more.end() if more and start < end else 0)


def _span(kind: str, text: str, start: int, end: int, match: re.Match) -> Span:
    written = text[start:end]
    value: Any = next((group for group in match.groups() if group), written) if kind == "quoted" else written
    unit = ""
    if kind == "list":
        value = _items(written)
    if kind == "number":
        value = number(written)
        behind = re.match(r"\s?(%|°\w?|[^\W\d]+)", text[end:])
        unit = behind[1] if behind else ""
        if currency := re.match(r"[$€£¥]", written):
            unit = currency[0]
    if kind == "name":
        value = written.rstrip(".,'") if not written.endswith("Inc.") else written
        value = value.removesuffix("'s").removesuffix("’s")
    return Span(kind, value, start, end, unit)


def number(written: str) -> int | float:
    """`"$1,500"` → 1500, `"2.5 million"` → 2500000, `"three"` → 3."""
    text = written.lower().strip("$€£¥ ").replace(",", "").replace("−", "-")
    if text in NUMBER_WORDS:
        return NUMBER_WORDS.index(text)
    digits = re.match(r"-?\d+(?:\.\d+)?", text)[0]
    value = float(digits) * SCALES.get(text[len(digits) :].strip(), 1)
    return int(value) if value == int(value) and "." not in digits else value


def _items(written: str) -> list[Any]:
    try:
        return json.loads(written.replace("'", '"'))
    except ValueError:
        return [item.strip(" '\"") for item in written[1:-1].split(",") if item.strip()]


def _groups(text: str, found: list[Span]) -> list[Span]:
    groups, run = [], found[:1]
    for before, span in zip(found, found[1:] + [Span("end", "", len(text), len(text))], strict=False):
        gap = text[before.end : span.start]
        if (
            span.kind == before.kind
            and before.kind in ("quoted", "name", "number", "id")
            and gap
            and JOINT.fullmatch(gap)
        ):
            run.append(span)
            continue
        if len(run) > 1 and len(text[run[0].end : run[1].start].strip()):
            groups.append(Span("list", [part.value for part in run], run[0].start, run[-1].end, "", tuple(run)))
        run = [span]
    return groups


def clauses(text: str) -> list[str]:
    """The steps of a request: `"Cancel it. Also find a cup, then order it"` → three."""
    shielded = text
    for span in spans(text):
        if span.kind in ("quoted", "url", "email", "path", "number", "list", "name", "time"):
            shielded = shielded[: span.start] + "x" * (span.end - span.start) + shielded[span.end :]
    cuts = re.finditer(
        r"[.!?;\n]\s+|[。！？；]|\b(?:and )?(?:then|also)\b|, and |\band (?=(?:{VERBS})\b)|(?:然后|另外|还有|同时|并且|再)",
        shielded,
    )
    places = [0, *(match.end() for match in cuts), len(text)]
    return [part for start, end in zip(places, places[1:], strict=False) if (part := text[start:end].strip())]

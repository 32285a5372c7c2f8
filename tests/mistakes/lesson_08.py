"""Answers to the exercises of lesson 08."""

import base64
import json
from collections import Counter
from typing import Any

from course_kit import encode_result


def encoder(
    *,
    tail: bool = True,
    mark: bool = True,
    cut_json: bool = False,
    part_summary: bool = False,
    told: bool = True,
    one_row: bool = False,
    half_row: bool = False,
    raw_bytes: bool = False,
    empty: bool = True,
    over: int = 0,
    pops: bool = False,
    always_cut: bool = False,
    nested: bool = False,
):
    """The encoder with one thing done wrong (or merely otherwise)."""

    def encode(value: Any, budget: int) -> str:
        if isinstance(value, bytes):
            if raw_bytes:
                return json.dumps({"bytes": len(value), "base64": base64.b64encode(value).decode()[:100]})[:200] + "…"
            return json.dumps({"bytes": len(value)})
        if value is None or (isinstance(value, str) and not value.strip()):
            return "(no output)" if empty else str(value)
        if isinstance(value, str):
            if len(value) <= budget and not always_cut:
                return value
            words = "\n[… some characters left out …]\n" if mark else "\n"
            room = budget - len(words) + over
            return value[: room // 2] + words + value[len(value) - room // 2 :] if tail else value[:room] + words
        written = json.dumps(value, ensure_ascii=False)
        if len(written) <= budget:
            return written
        if cut_json:
            return written[:budget]
        items = value if pops else list(value)
        whole = len(value)
        counts = dict(Counter(row["status"] for row in value))
        while len(written) > budget or (one_row and len(items) > 1):
            items.pop()
            seen = dict(Counter(row["status"] for row in items)) if part_summary else counts
            cut = {"total": whole if told else len(items), "returned": len(items), "truncated": True}
            cut |= {"summary": {"status": seen} if nested else seen, "items": items}
            if half_row:
                cut["items"] = [*items[:-1], {"n": items[-1]["n"]}] if items else []
            written = json.dumps(cut, ensure_ascii=False)
        return written

    return encode


def with_the_kit(value: Any, budget: int) -> str:
    """The kit for everything but rows, whose summary has another form here."""
    return encoder()(value, budget) if isinstance(value, list) else encode_result(value, budget)


def collector(
    *,
    first_only: bool = False,
    short_page: bool = False,
    empty_page: bool = False,
    counts: bool = False,
    capped: bool = True,
    circles: bool = True,
    honest: bool = True,
    total_read: bool = False,
    again: bool = False,
):
    """The loop with one thing done wrong (or merely otherwise)."""

    def collect(read: Any, wanted: str, max_pages: int = 100) -> dict[str, Any]:
        page = read(None)
        pages, lines, given = 1, list(page["lines"]), set()
        size = len(page["lines"])
        while page["next_cursor"] is not None and not first_only and (pages < max_pages or not capped):
            cursor = str(len(lines)) if counts else page["next_cursor"]
            if circles and cursor in given:
                break
            given.add(cursor)
            page = read(cursor)
            pages += 1
            lines += page["lines"]
            if (short_page and len(page["lines"]) < size) or (empty_page and not page["lines"]):
                break
        if again:
            lines += page["lines"]
        return {
            "found": [line for line in lines if wanted in line],
            "lines_read": len(lines),
            "total": len(lines) if total_read else page["total"],
            "complete": page["next_cursor"] is None if honest else True,
        }

    return collect


def recursive(read, wanted, max_pages=100, cursor=None, given=()):
    page = read(cursor)
    found, count = [line for line in page["lines"] if wanted in line], len(page["lines"])
    following = page["next_cursor"]
    result = {"found": found, "lines_read": count, "total": page["total"], "complete": following is None}
    if following is None or following in given or max_pages == 1:
        return result
    rest = recursive(read, wanted, max_pages - 1, following, (*given, following))
    return {**rest, "found": found + rest["found"], "lines_read": count + rest["lines_read"]}


RIGHT = {
    "a": "page counted",
    "b": "end missing",
    "c": "holds",
    "d": "items skipped",
    "e": "holds",
    "f": "middle missing",
}

MISTAKES = {
    "8.1": {
        "returns nothing": (lambda value, budget: None, "must return a text"),
        "the head only": (encoder(tail=False), "should stand at the end"),
        "no mark": (encoder(mark=False), "a silent cut"),
        "JSON cut as text": (encoder(cut_json=True), "is no JSON"),
        "a summary of what is shown": (encoder(part_summary=True), "`summary` should count all"),
        "a total of what is shown": (encoder(told=False), "`total` should be"),
        "one row": (encoder(one_row=True), "would fit"),
        "a row in part": (encoder(half_row=True), "each of them whole"),
        "bytes as base64": (encoder(raw_bytes=True), "JSON should come out"),
        "an empty result": (encoder(empty=False), "`(no output)` should come out"),
        "the mark not counted": (encoder(over=40), "the result has"),
        "takes rows from the value": (encoder(pops=True), "the value itself was changed"),
        "cuts what fits": (encoder(always_cut=True), "should come out as it is"),
        "str of the value": (lambda value, budget: str(value)[:budget], "(no output)"),
    },
    "8.2": {
        "returns nothing": (lambda read, wanted, max_pages: None, "return a dict"),
        "the first page": (collector(first_only=True), "you stopped after 1 pages"),
        "stops at a short page": (collector(short_page=True), "you stopped after"),
        "stops at an empty page": (collector(empty_page=True), "an empty page in the middle"),
        "makes cursors": (collector(counts=True), "was never given out"),
        "no cap": (collector(capped=False), "you read 4 pages"),
        "goes in circles": (collector(circles=False), "the cursors repeat"),
        "always complete": (collector(honest=False), "`complete` should be False"),
        "a total of what was read": (collector(total_read=True), "`lines_read` and `total`"),
        "the last page twice": (collector(again=True), "lines should be found"),
    },
    "8.3": {
        "no dict": ("page counted", "Give a dict of letters"),
        "words of one's own": ({**RIGHT, "a": "wrong"}, "give one of"),
        "one left out": ({letter: said for letter, said in RIGHT.items() if letter != "d"}, "For d, give one of"),
        "all hold": (dict.fromkeys(RIGHT, "holds"), "For a, the conclusion does not hold"),
        "a mark is enough": ({**RIGHT, "f": "holds"}, "For f, the conclusion does not hold"),
        "a mark spoils all": ({**RIGHT, "e": "middle missing"}, "For e, 'middle missing' is not it"),
        "a page for the end": ({**RIGHT, "d": "page counted"}, "compare with `returned`"),
    },
}
VARIANTS = {
    "8.1": {"other words": encoder(), "the summary by field": encoder(nested=True), "the kit": with_the_kit},
    "8.2": {"a while": collector(), "recursive": recursive},
    "8.3": {
        "capitals": {letter: said.title() for letter, said in RIGHT.items()},
        "underscores": {letter: said.replace(" ", "_") for letter, said in RIGHT.items()},
    },
}

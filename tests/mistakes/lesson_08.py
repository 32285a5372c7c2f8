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
    head: float = 0.5,
    counted: int = 0,
    number: bool = True,
    filler: str = "",
    turned: bool = False,
    some_bytes: str = "",
    none_for_empty: bool = False,
    about_bytes: Any = None,
    list_only: bool = False,
    as_object: bool = False,
    counts_all: bool = False,
    truncated: bool = True,
):
    """The encoder with one thing done wrong (or merely otherwise)."""

    def encode(value: Any, budget: int) -> str:
        if isinstance(value, bytes):
            if raw_bytes:
                return json.dumps({"bytes": len(value), "base64": base64.b64encode(value).decode()[:100]})[:200] + "…"
            if about_bytes:
                return json.dumps(about_bytes(value))
            shown = {"hex": value[:10].hex(), "list": list(value[:5]), "repr": repr(value[:5])}
            return json.dumps({"bytes": len(value), **({"begins": shown[some_bytes]} if some_bytes else {})})
        if value is None or (isinstance(value, str) and not value.strip()):
            return "(no output)" if empty else str(value)
        if isinstance(value, str):
            if len(value) <= budget and not always_cut:
                return value
            room = budget - 45 + over
            front, back = value[: int(room * head)], value[len(value) - int(room * (1 - head)) :] if tail else ""
            if filler:
                front, back = value[:30] + filler * (len(front) - 30), filler * (len(back) - 30) + back[-30:]
            if turned:
                back = "\n".join([*reversed(back.split("\n")[:-1]), back.split("\n")[-1]])
            count = f"{len(value) - len(front) - len(back) + counted} " if number else "some "
            return f"{front}\n[… {count}characters left out …]\n{back}" if mark else f"{front}\n{back}"
        written = json.dumps(value, ensure_ascii=False)
        if len(written) <= budget and not (as_object and value):
            return "(no output)" if none_for_empty and not value else written
        if cut_json:
            return written[:budget]
        items = value if pops else list(value)
        whole = len(value)
        counts = dict(Counter(row["status"] for row in value))
        while len(written) > budget or (one_row and len(items) > 1) or (as_object and len(items) == whole):
            items = items if pops else items[:]
            items.pop()
            seen = dict(Counter(row["status"] for row in items)) if part_summary else counts
            returned = whole if counts_all else len(items)
            cut = {"total": whole if told else len(items), "returned": returned, "truncated": truncated}
            cut |= {"summary": {"status": seen} if nested else seen, "items": items}
            if half_row:
                cut["items"] = [*items[:-1], {"n": items[-1]["n"]}] if items else []
            written = json.dumps(items if list_only else cut, ensure_ascii=False)
        return written

    return encode


def whole_lines(value: Any, budget: int) -> str:
    """Text by lines: as many from either side as fit, and a mark that counts without the line ends."""
    if not isinstance(value, str) or len(value) <= budget:
        return encoder()(value, budget)
    lines, room = value.split("\n"), (budget - 45) // 2
    head, tail = [lines[0]], [lines[-1]]
    while len("\n".join([*head, lines[len(head)]])) <= room:
        head.append(lines[len(head)])
    while len("\n".join([lines[-len(tail) - 1], *tail])) <= room:
        tail.insert(0, lines[-len(tail) - 1])
    left_out = len("\n".join(lines[len(head) : -len(tail)]))
    return "\n".join([*head, f"[… {left_out} characters left out …]", *tail])


def sparse(value: Any, budget: int) -> str:
    """Text cut far below its budget."""
    return encoder()(value, 200 if isinstance(value, str) and len(value) > budget else budget)


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
    falsy: bool = False,
    once: bool = False,
    by_total: bool = False,
    by_end: bool = False,
    circle_ends: bool = False,
    holds: Any = lambda wanted, line: wanted in line,
    stop: Any = lambda page, lines: False,
):
    """The loop with one thing done wrong (or merely otherwise)."""

    def collect(read: Any, wanted: str, max_pages: int = 100) -> dict[str, Any]:
        page = read(None)
        pages, lines, given, closed = 1, list(page["lines"]), set(), False
        size = len(page["lines"])
        while page["next_cursor"] is not None and not first_only and (pages < max_pages or not capped):
            if stop(page, lines):
                break
            cursor = str(len(lines)) if counts else page["next_cursor"]
            if (circles and cursor in given) or (falsy and not cursor):
                closed = True
                break
            given.add(cursor)
            page = read(cursor)
            pages += 1
            lines += page["lines"]
            if (short_page and len(page["lines"]) < size) or (empty_page and not page["lines"]):
                break
        if again:
            lines += page["lines"]
        found = [line for line in lines if holds(wanted, line)]
        ended, all_read = page["next_cursor"] is None, len(lines) == page["total"]
        return {
            "found": list(dict.fromkeys(found)) if once else found,
            "lines_read": len(lines),
            "total": len(lines) if total_read else page["total"],
            "complete": not honest or (circle_ends and closed) or ((ended or by_total) and (all_read or by_end)),
        }

    return collect


def recursive(read, wanted, max_pages=100, cursor=None, given=(), before=0):
    page = read(cursor)
    found, count = [line for line in page["lines"] if wanted in line], before + len(page["lines"])
    following, total = page["next_cursor"], page["total"]
    complete = following is None and count == total
    if following is None or following in given or max_pages == 1:
        return {"found": found, "lines_read": count, "total": total, "complete": complete}
    rest = recursive(read, wanted, max_pages - 1, following, (*given, following), count)
    return {**rest, "found": found + rest["found"]}


def believes_the_counts(read, wanted, max_pages=100):
    pages = [read(None)]
    while (
        pages[-1]["next_cursor"] not in (None, *(page["next_cursor"] for page in pages[:-1])) and len(pages) < max_pages
    ):
        pages.append(read(pages[-1]["next_cursor"]))
    count = sum(page["returned"] for page in pages)
    return {
        "found": [line for page in pages for line in page["lines"] if wanted in line],
        "lines_read": count,
        "total": pages[0]["total"],
        "complete": pages[-1]["next_cursor"] is None and count == pages[0]["total"],
    }


def strips(value: Any, budget: int) -> str:
    return encoder()(value.strip() if isinstance(value, str) else value, budget)


RIGHT = {
    "a": "page counted",
    "b": "end missing",
    "c": "holds",
    "d": "items skipped",
    "e": "holds",
    "f": "middle missing",
}


def while_truncated(read, wanted, max_pages=100):
    """Believes `truncated`, whatever the cursor says."""
    pages = [read(None)]
    while pages[-1]["truncated"] and len(pages) < max_pages:
        pages.append(read(pages[-1]["next_cursor"]))
    lines = [line for page in pages for line in page["lines"]]
    return {
        "found": [line for line in lines if wanted in line],
        "lines_read": len(lines),
        "total": pages[0]["total"],
        "complete": len(lines) == pages[0]["total"],
    }


def kept_from_before(read, wanted, max_pages=100, found=[]):  # noqa: B006
    got = collector()(read, wanted, max_pages)
    found += got["found"]
    return {**got, "found": found}


def behind_the_head(value: Any, budget: int) -> str:
    return encoder()(value, budget).replace("\n[…", "[…", 1)


def in_one_go(read, wanted, max_pages=100):
    """Right, with a generator inside that gives the pages."""

    def pages():
        cursor, given = None, set()
        for _ in range(max_pages):
            page = read(cursor)
            yield page
            cursor = page["next_cursor"]
            if cursor is None or cursor in given:
                return
            given.add(cursor)

    read_pages = list(pages())
    lines = [line for page in read_pages for line in page["lines"]]
    last = read_pages[-1]
    return {
        "found": [line for line in lines if line.count(wanted)],
        "lines_read": len(lines),
        "total": last["total"],
        "complete": last["next_cursor"] is None and len(lines) == last["total"],
    }


MISTAKES = {
    "8.1": {
        "the mark behind a line of the head": (behind_the_head, "the mark should be on its own line"),
        "returns nothing": (lambda value, budget: None, "must return a text"),
        "the head only": (encoder(tail=False), "should be at the end"),
        "the tail only": (encoder(head=0.0), "should be at the start"),
        "an object for what fits": (encoder(as_object=True), "it fits and should come out whole, as JSON"),
        "the rows alone": (encoder(list_only=True), "should come out: it is not an object"),
        "`returned` counts all": (encoder(counts_all=True), "`returned` is "),
        "cut, and not said so": (encoder(truncated=False), "`truncated` should be true; it is False"),
        "the size under another name": (encoder(about_bytes=lambda value: {"size": len(value)}), "`bytes` should say"),
        "a long note about bytes": (
            encoder(about_bytes=lambda value: {"bytes": len(value), "note": "These are bytes. " * 10}),
            "a line about it is enough",
        ),
        "no mark": (encoder(mark=False), "a silent cut"),
        "a mark without a number": (encoder(number=False), "characters are left out; the mark says"),
        "a mark that counts wrong": (encoder(counted=7), "characters are left out; the mark says"),
        "both ends right, and x between": (encoder(filler="x"), "is not how the text begins"),
        "the lines of the tail turned round": (encoder(turned=True), "is not how the text ends"),
        "a head and the last line": (encoder(head=0.88), "less than a third of the other"),
        "far less than fits": (sparse, "fill at least half of the budget"),
        "ten bytes as hex": (encoder(some_bytes="hex"), "none of the bytes should come out"),
        "some bytes as a list": (encoder(some_bytes="list"), "none of the bytes should come out"),
        "some bytes as Python writes them": (encoder(some_bytes="repr"), "none of the bytes should come out"),
        "no output for no rows": (encoder(none_for_empty=True), "With no rows"),
        "JSON cut as text": (encoder(cut_json=True), "is not JSON"),
        "a summary of what is shown": (encoder(part_summary=True), "`summary` should count all"),
        "a total of what is shown": (encoder(told=False), "`total` should be"),
        "one row": (encoder(one_row=True), "would fit"),
        "a row in part": (encoder(half_row=True), "each of them whole"),
        "bytes as base64": (encoder(raw_bytes=True), "JSON should come out"),
        "an empty result": (encoder(empty=False), "`(no output)` should come out"),
        "the mark not counted": (encoder(over=40), "the result has"),
        "takes rows from the value": (encoder(pops=True), "the value itself was changed"),
        "cuts what fits": (encoder(always_cut=True), "should come out as it is"),
        "strips what fits": (
            strips,
            "With a short text with a margin and budget=200, it fits and should come out as it is",
        ),
        "str of the value": (lambda value, budget: str(value)[:budget], "(no output)"),
    },
    "8.2": {
        "stops at `truncated: false`": (
            collector(stop=lambda page, lines: not page["truncated"]),
            "With `truncated` false on every page, as none was cut, you stopped after 1 page; there are 4 to read",
        ),
        "goes on while `truncated` is true": (while_truncated, "you stopped after 1 page; there are 4 to read"),
        "stops when `total` is reached": (
            collector(stop=lambda page, lines: len(lines) >= page["total"]),
            "With an empty page at the end, you stopped after 2 pages; there are 3 to read",
        ),
        "keeps what it found for the next log": (kept_from_before, "lines should be found; yours are"),
        "returns nothing": (lambda read, wanted, max_pages: None, "return a dict"),
        "the first page": (collector(first_only=True), "you stopped after 1 page; there are 4 to read"),
        "stops at a short page": (collector(short_page=True), "you stopped after"),
        "stops at an empty page": (collector(empty_page=True), "an empty page in the middle"),
        "makes cursors": (
            collector(counts=True),
            "With four pages, `read` gave no page: the cursor '50' was never given out.",
        ),
        "a circle taken for the end": (collector(circle_ends=True), "the end was never reached"),
        "no cap": (collector(capped=False), "you read 4 pages"),
        "goes in circles": (collector(circles=False), "the cursors repeat"),
        "always complete": (collector(honest=False), "`complete` should be False"),
        "a total of what was read": (collector(total_read=True), "`lines_read` and `total`"),
        "the last page twice": (collector(again=True), "lines should be found"),
        "believes `returned`": (believes_the_counts, "177 lines came: count those, and not what `returned` says"),
        "takes 0 for the end": (collector(falsy=True), "With 0 for a cursor, you stopped after 1 page;"),
        "each line once": (collector(once=True), "a line that comes twice"),
        "whole words only": (
            collector(holds=lambda wanted, line: wanted in line.split()),
            "'ERRORS so far: 9' holds 'ERROR', and is missing.",
        ),
        "capitals do not matter": (
            collector(holds=lambda wanted, line: wanted.lower() in line.lower()),
            "'no error since 0020' does not hold 'ERROR', letter for letter.",
        ),
        "complete by the count alone": (collector(by_total=True), "`complete` should be False; it is True"),
        "complete by the end alone": (collector(by_end=True), "the log ended after 130 lines of 200"),
    },
    "8.3": {
        "True for holds": ({**RIGHT, "c": True}, "For c, give one of holds"),
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
    "8.1": {
        "other words": encoder(),
        "the summary by field": encoder(nested=True),
        "the kit": with_the_kit,
        "whole lines": whole_lines,
    },
    "8.2": {"a generator inside": in_one_go, "a while": collector(), "recursive": recursive},
    "8.3": {
        "capitals": {letter: said.title() for letter, said in RIGHT.items()},
        "underscores": {letter: said.replace(" ", "_") for letter, said in RIGHT.items()},
    },
}

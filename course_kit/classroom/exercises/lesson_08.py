"""Checks of lesson 08: four kinds of result within a budget, a log read by cursor, conclusions from cut results."""

import json
import random
import re
from collections import Counter
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.errors import Incorrect

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 8.1

STATES = ["paid", "packed", "sent", "retour", "livré"]
COUNTS = ("total", "returned", "truncated", "summary", "items")
# How the first bytes of the case, 0 1 2 3, look as hex, base64, Python's repr, a JSON text and a list.
FIRST_BYTES = ("00010203", "aaecawqf", "x00x01", "u0000u0001", "0,1,2,3", "0x00", "0x0,")


def _rows(draw: random.Random, count: int) -> list[dict[str, Any]]:
    return [{"n": n, "status": draw.choice(STATES), "name": f"Zoë {n}", "gift": n % 3 == 0} for n in range(count)]


def _text(draw: random.Random, lines: int) -> str:
    middle = [f"{n:04} INFO order took {draw.randrange(20, 900)} ms" for n in range(lines)]
    return "\n".join([f"START {draw.randrange(10**6)}", *middle, f"FATAL disk {draw.randrange(10**6)} full"])


@exercise(
    "8.1",
    title="encode_result for four kinds",
    difficulty="medium",
    importance="core",
    minutes=30,
    hints=[
        "Nothing, bytes, text, rows. Ask `isinstance(value, bytes)` first: of bytes you need only the length.",
        "Text: the mark takes room, too. Set some 60 characters aside for it and share the rest between both ends.",
        "Text: what is missing is `len(value)` minus the length of both ends. Then write the mark.",
        "Rows: cut the list, then write it. You know how long the JSON is only after writing it.",
        "`Counter(row['status'] for row in value)` counts all rows. The counts do not depend on how many are shown.",
    ],
)
class FourKinds:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"8.1:{seed}")
        rows, text = _rows(draw, draw.randint(150, 200)), _text(draw, draw.randint(150, 200))
        size = draw.randint(40_000, 60_000)
        return [
            {"about": "None", "kind": "nothing", "value": None, "budget": 200},
            {"about": "text of blanks", "kind": "nothing", "value": " \n ", "budget": 200},
            {"about": "a short text", "kind": "text", "value": "4 C, rain", "budget": 200},
            {"about": "a short text with a margin", "kind": "text", "value": "  return 4\n", "budget": 200},
            {"about": "a text of exactly the budget", "kind": "text", "value": text[:500], "budget": 500},
            {"about": "a long log", "kind": "text", "value": text, "budget": draw.randint(400, 900)},
            {"about": "a long log and a small budget", "kind": "text", "value": text, "budget": 200},
            {"about": "three rows", "kind": "rows", "value": rows[:3], "budget": 400},
            {"about": "no rows", "kind": "rows", "value": [], "budget": 200},
            {"about": "many rows", "kind": "rows", "value": rows, "budget": draw.randint(600, 1200)},
            {"about": "many rows and another budget", "kind": "rows", "value": rows, "budget": 2000},
            {"about": f"{size} bytes", "kind": "bytes", "size": size, "budget": 200},
        ]

    def observe(encode: Any, case: dict[str, Any]) -> Any:
        value = bytes(range(256)) * (case["size"] // 256 + 1) if case["kind"] == "bytes" else case["value"]
        value = value[: case["size"]] if case["kind"] == "bytes" else value
        before = None if case["kind"] == "bytes" else json.dumps(value)
        returned = encode(value, case["budget"])
        changed = before is not None and json.dumps(value) != before
        return {"returned": returned if isinstance(returned, str) else {"other": _short(returned)}, "changed": changed}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, text, budget = f"{case['about']} and budget={case['budget']}", seen["returned"], case["budget"]
        if not isinstance(text, str):
            raise Incorrect(f"With {about}, `encode` must return a text; it returned {text['other']}.")
        if seen["changed"]:
            raise Incorrect(f"With {about}, the value itself was changed: take rows from a copy, `list(value)`.")
        if len(text) > budget:
            raise Incorrect(f"With {about}, the result has {len(text)} characters.")
        {"nothing": _judge_nothing, "text": _judge_text, "rows": _judge_rows, "bytes": _judge_bytes}[case["kind"]](
            about, case, text
        )


def _judge_nothing(about: str, case: dict[str, Any], text: str) -> None:
    if text != "(no output)":
        raise Incorrect(f"With {about}, `(no output)` should come out; it was {_short(text)}.")


def _judge_text(about: str, case: dict[str, Any], text: str) -> None:
    value = case["value"]
    if len(value) <= case["budget"]:
        if text != value:
            raise Incorrect(f"With {about}, it fits and should come out as it is; it was {_short(text)}.")
        return
    first, last = value.split("\n")[0], value.split("\n")[-1]
    lines = text.rstrip().split("\n")
    marks = [number for number, line in enumerate(lines) if "left out" in line]
    if not text.startswith(first):
        raise Incorrect(f"With {about}, the first line, {first!r}, should be at the start.")
    if not text.rstrip().endswith(last):
        raise Incorrect(f"With {about}, the last line, {last!r}, should be at the end: that is where the error is.")
    if not marks:
        raise Incorrect(f"With {about}, nothing says that something was left out: a silent cut.")
    head, tail = "\n".join(lines[: marks[0]]), "\n".join(lines[marks[0] + 1 :])
    ahead = lines[marks[0]].partition("[")[0].strip()
    if ahead and value.startswith(f"{head}\n{ahead}"):
        raise Incorrect(f"With {about}, the mark should be on its own line; it stands behind {ahead!r}.")
    if not value.startswith(head):
        raise Incorrect(f"With {about}, what is before the mark is not how the text begins: take `value[:…]`.")
    if not value.endswith(tail):
        raise Incorrect(f"With {about}, what is after the mark is not how the text ends: take `value[-…:]`.")
    if 3 * min(len(head), len(tail)) < max(len(head), len(tail)) - 10:
        sizes = f"{len(head)} and {len(tail)} characters"
        raise Incorrect(f"With {about}, head and tail have {sizes}: neither should be less than a third of the other.")
    missing, told = len(value) - len(head) - len(tail), re.findall(r"\d+", lines[marks[0]])
    if len(told) != 1 or not missing - 2 <= int(told[0]) <= missing:  # the two line ends count or not
        raise Incorrect(f"With {about}, {missing} characters are left out; the mark says {lines[marks[0]]!r}.")
    if len(head) + len(tail) < case["budget"] / 2:
        used = len(head) + len(tail)
        raise Incorrect(f"With {about}, head and tail have {used} characters: fill at least half of the budget.")


def _judge_rows(about: str, case: dict[str, Any], text: str) -> None:
    rows = case["value"]
    try:
        data = json.loads(text)
    except ValueError:
        raise Incorrect(
            f"With {about}, what came out is not JSON: cut the list, then write it. {_short(text)}"
        ) from None
    if len(json.dumps(rows, ensure_ascii=False)) <= case["budget"]:
        if data != rows:
            raise Incorrect(f"With {about}, it fits and should come out whole, as JSON; it was {_short(text)}.")
        return
    if not isinstance(data, dict) or (missing := [name for name in COUNTS if name not in data]):
        lacking = f"{missing[0]!r} is missing" if isinstance(data, dict) else "it is not an object"
        raise Incorrect(f"With {about}, an object with {', '.join(COUNTS)} should come out: {lacking}.")
    items = data["items"]
    if not isinstance(items, list) or items != rows[: len(items)]:
        raise Incorrect(f"With {about}, `items` should be the first rows, each of them whole.")
    if data["total"] != len(rows):
        raise Incorrect(f"With {about}, `total` should be {len(rows)}, all rows; it is {data['total']}.")
    if data["returned"] != len(items):
        raise Incorrect(f"With {about}, `returned` is {data['returned']}, and there are {len(items)} items.")
    if data["truncated"] is not True:
        raise Incorrect(f"With {about}, `truncated` should be true; it is {_short(data['truncated'])}.")
    counts = dict(Counter(row["status"] for row in rows))
    if data["summary"] != counts and data["summary"] != {"status": counts}:
        told = _short(data["summary"])
        raise Incorrect(f"With {about}, `summary` should count all {len(rows)} rows: {counts}; it is {told}.")
    fits = len(items)
    most = case["budget"] - len(text)  # the room that is left
    for row in rows[len(items) :]:
        most -= len(json.dumps(row, ensure_ascii=False)) + 2
        fits += most >= 0
    if len(items) < fits / 2:
        raise Incorrect(f"With {about}, {len(items)} rows are shown, and about {fits} would fit.")


def _judge_bytes(about: str, case: dict[str, Any], text: str) -> None:
    try:
        data = json.loads(text)
    except ValueError:
        raise Incorrect(f"With {about}, JSON should come out; it was {_short(text)}.") from None
    if not isinstance(data, dict) or data.get("bytes") != case["size"]:
        raise Incorrect(f"With {about}, `bytes` should say {case['size']}; it was {_short(text)}.")
    if len(text) > 150:
        raise Incorrect(f"With {about}, a line about it is enough; {len(text)} characters came.")
    squeezed = re.sub(r"[\s:\\]", "", text.lower())
    if any(form in squeezed for form in FIRST_BYTES):
        raise Incorrect(f"With {about}, none of the bytes should come out, in whatever form; it was {_short(text)}.")


# 8.2


def _pages(count: int) -> str:
    return f"{count} page" if count == 1 else f"{count} pages"


@exercise(
    "8.2",
    title="Page through a log by cursor",
    difficulty="medium",
    importance="core",
    minutes=15,
    hints=[
        "Which one field tells whether there is more? Compare it with `None`: 0 and an empty text are cursors, too.",
        "Start with `cursor = None`, and read. After each page the cursor is what the page said.",
        "A `for` over `range(max_pages)` can never run too long. Leave it with `break` when the log has ended.",
        "Keep every cursor you were given in a set. When does that help?",
        "A complete reading needs two things: the log said that it ends there, and a count agrees.",
    ],
)
class PageThroughALog:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"8.2:{seed}")
        lines = [
            f"{n:04} {draw.choice(['INFO', 'INFO', 'WARN', 'ERROR'])} job {draw.randrange(99)}" for n in range(200)
        ]
        lines[20] = lines[21] = lines[150] = "again ERROR job 7"
        lines[30], lines[31] = "ERRORS so far: 9", "no error since 0020"  # a text within a word; another text
        lines[-1] = "0199 ERROR job stopped"
        cursors = [f"c-{number:x}" for number in draw.sample(range(4_096), 20)]
        base = {"lines": lines, "cursors": cursors, "wanted": "ERROR", "max_pages": 50, "says": {}}
        return [
            {**base, "about": "a log of one page", "sizes": [200]},
            {**base, "about": "four pages", "sizes": [50, 50, 50, 50]},
            {**base, "about": "pages of different lengths", "sizes": [60, 7, 90, 43]},
            {**base, "about": "an empty page in the middle", "sizes": [60, 0, 100, 40]},
            {**base, "about": "0 for a cursor", "sizes": [60, 100, 40], "cursors": [0, 7]},
            {**base, "about": "an empty text for a cursor", "sizes": [60, 100, 40], "cursors": ["", "p3"]},
            {
                **base,
                "about": "`truncated` false on every page, as none was cut",
                "sizes": [50, 50, 50, 50],
                "says": {"truncated": False},
            },
            {
                **base,
                "about": "`truncated` true on every page, the last one, too",
                "sizes": [60, 100, 40],
                "says": {"truncated": True},
            },
            {**base, "about": "an empty page at the end", "sizes": [60, 140, 0]},
            {**base, "about": "an end that comes before `total`", "sizes": [60, 70], "short": True},
            {**base, "about": "a page that was cut on its way", "sizes": [60, 100, 40], "lost": 23},
            {**base, "about": "an empty log", "sizes": [0], "lines": []},
            {**base, "about": "max_pages=2 of four pages", "sizes": [50, 50, 50, 50], "max_pages": 2},
            {**base, "about": "max_pages=4 of four pages", "sizes": [50, 50, 50, 50], "max_pages": 4},
            {**base, "about": "max_pages=2, and an empty page after them", "sizes": [50, 150, 0], "max_pages": 2},
            {**base, "about": "a service that goes in circles", "sizes": [50, 50, 50, 50], "circle": 2},
            {**base, "about": "a service that starts again at its end", "sizes": [50, 50, 50, 50], "circle": 3},
        ]

    def observe(collect: Any, case: dict[str, Any]) -> Any:
        sizes, cursors, asked = case["sizes"], case["cursors"], []
        stopped: list[str] = []  # why `read` gave no page

        def read(cursor: Any = None) -> dict[str, Any]:
            asked.append(cursor if isinstance(cursor, str | int | None) else repr(cursor))
            if len(asked) > 60:
                stopped.append("`read` was called more than 60 times")
                raise RuntimeError(stopped[-1])
            if cursor is not None and cursor not in cursors[: len(sizes) - 1]:
                stopped.append(f"the cursor {cursor!r} was never given out")
                raise ValueError(stopped[-1])
            number = 0 if cursor is None else cursors.index(cursor) + 1
            start = sum(sizes[:number])
            lines = case["lines"][start : start + sizes[number]]
            following = cursors[number] if number + 1 < len(sizes) else None
            if number == case.get("circle"):
                following = cursors[0]
            counts = {"total": len(case["lines"]), "returned": len(lines), "truncated": following is not None}
            counts |= case["says"]
            if number == 1:  # like a cutter that knows nothing about pages: the counts and the cursor stay as they were
                lines = lines[: len(lines) - case.get("lost", 0)]
            return {"lines": lines, **counts, "next_cursor": following}

        try:
            returned = collect(read, case["wanted"], case["max_pages"])
        except (RuntimeError, ValueError) as error:
            if str(error) not in stopped:
                raise
            return {"stopped": str(error), "asked": asked}
        return {"returned": returned, "asked": asked}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, got, asked = case["about"], seen.get("returned"), seen["asked"]
        if "stopped" in seen:
            raise Incorrect(f"With {about}, `read` gave no page: {seen['stopped']}.")
        parts = ("found", "lines_read", "total", "complete")
        if not isinstance(got, dict) or any(part not in got for part in parts):
            raise Incorrect(f"With {about}, return a dict with {', '.join(parts)}; it is {_short(got)}.")
        if len(asked) > case["max_pages"]:
            raise Incorrect(f"With {about}, you read {_pages(len(asked))}.")
        pages = min(len(case["sizes"]), case["max_pages"])
        circle = case.get("circle")
        if circle:
            if len(asked) > 8:
                raise Incorrect(f"With {about}, you read {_pages(len(asked))} of four: the cursors repeat.")
            if got["complete"] is not False:
                raise Incorrect(f"With {about}, `complete` should be False: the end was never reached.")
            return
        read_lines = case["lines"][: sum(case["sizes"][:pages])]
        if lost := case.get("lost", 0):
            end = sum(case["sizes"][:2])
            read_lines = read_lines[: end - lost] + read_lines[end:]
        if len(asked) < pages:
            raise Incorrect(f"With {about}, you stopped after {_pages(len(asked))}; there are {pages} to read.")
        if len(asked) > pages:
            raise Incorrect(f"With {about}, you read {_pages(len(asked))}; the log ended after {_pages(pages)}.")
        wanted = [line for line in read_lines if case["wanted"] in line]
        if got["found"] != wanted and got["found"] == list(dict.fromkeys(wanted)):
            raise Incorrect(f"With {about}, a line that comes twice was found once: it happened twice, so keep both.")
        if got["found"] != wanted:
            more = _line_of_difference(got["found"], wanted, case["wanted"])
            raise Incorrect(
                f"With {about}, {len(wanted)} lines should be found; yours are {_short(got['found'])}.{more}"
            )
        if case.get("lost") and got["lines_read"] == len(case["lines"]):
            raise Incorrect(f"With {about}, {len(read_lines)} lines came: count those, and not what `returned` says.")
        if got["lines_read"] != len(read_lines) or got["total"] != len(case["lines"]):
            told = (got["lines_read"], got["total"])
            right = (len(read_lines), len(case["lines"]))
            raise Incorrect(f"With {about}, `lines_read` and `total` should be {right}; they are {told}.")
        complete = pages == len(case["sizes"]) and len(read_lines) == len(case["lines"])
        if got["complete"] is not complete and (case.get("short") or case.get("lost")):
            counts = f"{len(read_lines)} lines of {len(case['lines'])}"
            raise Incorrect(f"With {about}, `complete` should be False: the log ended after {counts}.")
        if got["complete"] is not complete:
            raise Incorrect(f"With {about}, `complete` should be {complete}; it is {_short(got['complete'])}.")


def _line_of_difference(found: Any, wanted: list[str], text: str) -> str:
    """A sentence about the first line that is missing, or that should not be there."""
    for line in wanted if isinstance(found, list) else []:
        if line not in found:
            return f" {line!r} holds {text!r}, and is missing."
    for line in found if isinstance(found, list) else []:
        if line not in wanted:
            return f" {_short(line)} does not hold {text!r}, letter for letter."
    return ""


# 8.3

VERDICTS = ("holds", "page counted", "end missing", "middle missing", "items skipped")
CONCLUSIONS = {
    "a": ("page counted", "how many orders came back, and how many were asked for?"),
    "b": ("end missing", "how does what came back end, and does anything say why?"),
    "c": ("holds", "does the result say how many there are, and are they all there?"),
    "d": ("items skipped", "count the orders that came back, and compare with `returned` and `total`"),
    "e": ("holds", "which part was left out, and does the conclusion speak of it?"),
    "f": ("middle missing", "which part was left out, and does the conclusion speak of it?"),
}


@exercise(
    "8.3",
    title="Find the wrong conclusion",
    difficulty="easy",
    importance="core",
    minutes=10,
    hints=[
        "Read the conclusion first, and ask: what must one have seen to say this?",
        "Two of the six conclusions hold.",
        "Two results carry the same honest mark. Only one of the two conclusions stays within what was seen.",
        "Where a result counts itself, compare its counts with what is really there.",
    ],
)
class FindTheWrongConclusion:
    def cases(seed: int) -> list[dict[str, Any]]:
        return [{"letter": letter} for letter in CONCLUSIONS]

    def observe(conclusions: Any, case: dict[str, Any]) -> Any:
        if not isinstance(conclusions, dict):
            return {"other": _short(conclusions)}
        said = conclusions.get(case["letter"])
        return {"said": said if isinstance(said, str) else _short(said)}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        letter = case["letter"]
        if "other" in seen:
            raise Incorrect(f"Give a dict of letters, such as {{'a': 'holds'}}; it is {seen['other']}.")
        said = seen["said"].strip().lower().replace("_", " ")
        if said not in VERDICTS:
            raise Incorrect(f"For {letter}, give one of {', '.join(VERDICTS)}; it is {_short(seen['said'])}.")
        right, question = CONCLUSIONS[letter]
        if said != right:
            raise Incorrect(
                f"For {letter}, {said!r} is not it: {question}"
                if said != "holds"
                else f"For {letter}, the conclusion does not hold: {question}"
            )

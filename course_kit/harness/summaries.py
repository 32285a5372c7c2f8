"""What a large value holds, in a few lines: read first, it often answers the question, and nothing needs to be cut.

`summary_of_rows` counts and bounds the fields of a list of objects, `summary_of_text` says what is in a log, and
`about_bytes` is the line that replaces a picture or other binary. Where they are put is next door, in `results.py`
and `large.py`.
"""

import re
from collections import Counter
from math import fsum
from typing import Any

__all__ = ["about_bytes", "summary_of_rows", "summary_of_text"]

LONGEST_LINE = 200  # characters shown of the first and the last
MOST_VALUES = 8  # a field with more values is described by its first and last
LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b")


def summary_of_rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Each field of the rows: how often each value occurs, or their range.

    `[{"status": "paid", "cents": 5}, {"status": "paid", "cents": 7}, …]` →
    `{"status": {"paid": 2, …}, "cents": {"min": 5, "max": 7, "sum": 12}}`
    """
    names = dict.fromkeys(name for row in rows for name in row)
    told = {name: _field(name, [row[name] for row in rows if name in row], len(rows)) for name in names}
    return {name: said for name, said in told.items() if said}


def _field(name: str, values: list[Any], rows: int) -> dict[str, Any]:
    there = [value for value in values if value is not None]
    missing = {"missing": rows - len(there)} if len(there) < rows else {}
    if there and all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        total = fsum(there) if any(isinstance(value, float) for value in there) else sum(there)
        added = {} if re.search(r"(?:^|_)(?:id|number|year)$", name) else {"sum": total}
        return {"min": min(there), "max": max(there), **added, **missing}
    if not there or not all(isinstance(value, str | bool) and len(str(value)) <= 60 for value in there):
        return missing
    counts = Counter(value if isinstance(value, str) else str(value).lower() for value in there)
    if len(counts) <= MOST_VALUES:
        return {**dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))), **missing}
    return {"different": len(counts), "first": min(counts), "last": max(counts), **missing}


def summary_of_text(text: str) -> dict[str, Any]:
    """How long a text is, how many lines name a level such as ERROR, its first line and its last."""
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    levels = Counter(found[1] for line in lines if (found := LEVEL.search(line)))
    told: dict[str, Any] = {"characters": len(text), "lines": len(text.splitlines())}
    if levels:
        told["levels"] = dict(sorted(levels.items(), key=lambda pair: (-pair[1], pair[0])))
    return {**told, "first_line": _short(lines[0]), "last_line": _short(lines[-1])}


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


# How files of a kind begin, from the formats' own definitions.
SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)


def about_bytes(data: bytes) -> dict[str, Any]:
    """A line about a binary: its size, its kind where the beginning tells it, and a picture's width and height.

    `{"bytes": 18320, "kind": "image/png", "width": 640, "height": 480}`
    """
    told: dict[str, Any] = {"bytes": len(data)}
    kind = next((kind for begin, kind in SIGNATURES if data.startswith(begin)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "image/webp"
    if kind:
        told["kind"] = kind
    if kind == "image/png" and data[12:16] == b"IHDR" and len(data) >= 24:
        told |= {"width": int.from_bytes(data[16:20], "big"), "height": int.from_bytes(data[20:24], "big")}
    elif kind == "image/gif" and len(data) >= 10:
        told |= {"width": int.from_bytes(data[6:8], "little"), "height": int.from_bytes(data[8:10], "little")}
    return told

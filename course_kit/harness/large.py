"""Large objects: kept in full as files in the workspace; the model gets a reference and reads them in parts.

    run_agent(client, tools=large.behind([night_log]), messages="What went wrong last night?")

`behind` does it for tools: what goes over a tool's budget is kept, and the model reads the cut, the size and the
reference. `keep` does it for one value and returns a card. `read` and `find` give pages that always say how much there
is and how to get the rest; a page never exceeds `page` characters, so nothing cuts it again. A kept object never
changes, so a cursor stays valid. The name of a file comes from its content. A reference is not a path: it leads only
into the folder. It is not a permission either: give each customer a folder.
"""

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from course_kit.contract.messages import Block
from course_kit.errors import ToolError

from .fitting import SMALLEST_BUDGET, cut_text, fit
from .plain import Partial, dumps, plain, well_formed
from .results import DEFAULT_BUDGET, encode_result, is_blocks
from .summaries import about_bytes, summary_of_rows, summary_of_text
from .tools import Tool, tool, toolbox

__all__ = ["LargeObjects"]

REFERENCE = re.compile(r"[a-z0-9][a-z0-9-]{0,40}-[0-9a-f]{10}\.(?:txt|jsonl|bin)", re.ASCII)
LARGEST = 20_000_000  # characters or bytes
MOST_LINES = 200  # of a page
MOST_MATCHES = 50
OVERHEAD = 400  # characters of a page that are not its lines
NOTED = ("reference", "total", "characters", "lines", "levels", "rest")  # of a card, beside the cut itself
HOW = "read_part(reference, cursor) reads on; find_in(reference, text) finds the lines that hold a text"


Reference = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9-]+-[0-9a-f]{10}\.(txt|jsonl|bin)$",
        description="What a result gave as its reference, such as log-1f0c2a9b3d.txt.",
    ),
]
Cursor = Annotated[
    str | None,
    Field(
        pattern="^[0-9]{1,9}$",
        description="The next_cursor of the page before, such as 200; leave it out for the first page.",
    ),
]


class LargeObjects:
    """A folder of large objects, each under a reference such as `log-1f0c2a9b3d.txt`."""

    def __init__(self, folder: str | os.PathLike[str], page: int = 8_000):
        if page < 2 * OVERHEAD:
            raise ValueError(f"A page of {page} characters is too small: give {2 * OVERHEAD} or more.")
        self.folder = Path(folder).resolve()
        self.page = page

    def keep(self, value: Any, name: str = "object") -> dict[str, Any]:
        """Store a complete value, and return the card that the model gets instead.

        Text goes into lines, a list into one line for each item, bytes stay as they are. The same value gets the same
        reference.
        """
        if isinstance(value, bytes | bytearray | memoryview):
            data = plain(bytes(value), 0)
            kind, content = ("text", data) if isinstance(data, str) else ("binary", bytes(value))
        else:
            data = plain(value, LARGEST)
            kind = "text" if isinstance(data, str) else "list" if isinstance(data, list) else "data"
            if isinstance(data, Partial):
                raise ValueError("The value is too large or endless: keep a part of it.")
            content = _written(data, kind)
        stored = content if isinstance(content, bytes) else content.encode("utf-8")
        if len(stored) > LARGEST:
            raise ValueError(f"The value has {len(stored):,} bytes, more than {LARGEST:,}: keep a part of it.")
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "object"
        ending = {"binary": "bin", "list": "jsonl"}.get(kind, "txt")
        reference = f"{slug}-{hashlib.sha256(stored).hexdigest()[:10]}.{ending}"
        self._write(reference, stored)
        if kind == "binary":
            return {
                "reference": reference,
                **about_bytes(stored),
                "rest": "a binary file, not for reading",
            }
        if kind == "list":
            rows = data if data and all(isinstance(row, dict) for row in data) else []
            told = {"total": len(data), **({"summary": summary_of_rows(rows)} if rows else {})}
        else:
            told = summary_of_text(str(data if kind == "text" else content))
        return {
            "reference": reference,
            **fit(told, self.page - OVERHEAD),
            "returned": 0,
            "truncated": True,
            "rest": HOW,
        }

    def behind(self, tools: Iterable[Any]) -> list[Any]:
        """These tools, with results over their budget kept by `encode`; plus `read_part` and `find_in`."""

        def kept(one: Any) -> Any:
            return replace(one, encode=partial(self.encode, name=one.name)) if isinstance(one, Tool) else one

        return [*map(kept, toolbox(tools).values()), *self.tools()]

    def encode(self, value: Any, budget: int = DEFAULT_BUDGET, name: str = "result") -> str | list[Block]:
        """Like `encode_result`, but what goes over the budget is kept, and the cut gives its reference.

        Text: head and tail, then a line `{"reference": "night-log-1f0c2a9b3d.txt", "characters": 203596, "lines": 4000,
        …}`. Data: the same object, with the cut as `shown`. What cannot be kept (content blocks, endless data, a
        full disk) is cut without a reference, and so is a result whose budget has no room for one.
        """
        if is_blocks(value):
            return encode_result(value, budget)
        data = plain(value, LARGEST)
        if isinstance(data, Partial):
            return dumps(fit(data, budget))
        value = value if isinstance(data, str) else data  # what can be read only once has been read
        if len(data if isinstance(data, str) else dumps(data)) <= budget:
            return encode_result(value, budget)
        try:
            card = self.keep(data, name)
        except (OSError, ValueError):
            return encode_result(value, budget)
        note = {part: card[part] for part in NOTED if part in card}
        room = budget - len(dumps({**note, "shown": 0}))
        if room < SMALLEST_BUDGET:
            return encode_result(value, budget)
        cut = encode_result(data, room)
        return f"{cut}\n{dumps(note)}" if isinstance(data, str) else dumps({**note, "shown": json.loads(str(cut))})

    def read(self, reference: str, cursor: str | None = None) -> dict[str, Any]:
        """One page of a kept object, from where `cursor` says: `{"lines", "total", "returned", …, "next_cursor"}`."""
        lines = self._lines(reference)
        start = _start(cursor, len(lines))
        listed = reference.endswith(".jsonl")
        items = (json.loads(line) if listed else line for line in lines[start:])
        shown = self._page(items, MOST_LINES)
        return _counted("items" if listed else "lines", shown, start, len(lines), first=start + 1)

    def find(self, reference: str, text: str, cursor: str | None = None) -> dict[str, Any]:
        """The lines that contain a text, ignoring case: `{"matches": [{"line": 312, "text": …}], "total", …}`."""
        if not isinstance(text, str) or not text.strip():
            raise ToolError("BAD_INPUT", "text holds no character to find", hint="send a word, such as ERROR")
        wanted = text.casefold()
        found = [(n, line) for n, line in enumerate(self._lines(reference), 1) if wanted in line.casefold()]
        start = _start(cursor, len(found))
        matches = ({"line": number, "text": cut_text(line, 1_000)} for number, line in found[start:])
        return _counted("matches", self._page(matches, MOST_MATCHES), start, len(found))

    def tools(self) -> list[Tool]:
        """`read_part` and `find_in`, for the model to read kept objects with."""

        @tool(
            effect="read",
            budget=self.page,
            description="Read a part of a kept result, when its reference is known. Not for finding a word in it (use "
            "find_in). Returns lines (of a list: items), first, total, returned, truncated and next_cursor, which "
            "reads on. An unknown reference is the error NOT_FOUND. Changes nothing.",
        )
        def read_part(
            reference: Reference,
            cursor: Cursor = None,
        ) -> dict[str, Any]:
            return self.read(reference, cursor)

        @tool(
            effect="read",
            budget=self.page,
            description="Find the lines of a kept result that hold a text. Not for reading it in order (use "
            "read_part). Returns matches with line number and text; beside them total, returned, truncated and "
            "next_cursor, which reads on. No match is an empty list, not an error. Changes nothing.",
        )
        def find_in(
            reference: Reference,
            text: Annotated[
                str, Field(description="The text to find, letter by letter, such as ERROR or the number of an order.")
            ],
            cursor: Cursor = None,
        ) -> dict[str, Any]:
            return self.find(reference, text, cursor)

        return [read_part, find_in]

    # ---- files ----

    def _write(self, reference: str, stored: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.folder / reference
        if target.is_file() and target.stat().st_size == len(stored):
            return
        half = target.with_suffix(f".{os.getpid()}.part")  # a reader never sees half a file
        half.write_bytes(stored)
        os.replace(half, target)

    def _lines(self, reference: Any) -> list[str]:
        hint = "send a reference as a result gave it, such as log-1f0c2a9b3d.txt"
        if not isinstance(reference, str) or not REFERENCE.fullmatch(reference):
            raise ToolError("BAD_INPUT", f"{cut_text(repr(reference), 80)} is not a reference", hint=hint)
        file = self.folder / reference
        if file.is_symlink() or not file.is_file():
            known = sorted(one.name for one in self.folder.glob("*-*.*")) if self.folder.is_dir() else []
            close = difflib.get_close_matches(reference, known, n=1)
            meant = f"there is {close[0]}" if close else "call the tool again that gave it"
            raise ToolError("NOT_FOUND", f"nothing is kept under {reference}", hint=meant)
        if file.suffix == ".bin":
            raise ToolError("NOT_TEXT", f"{reference} is binary data", hint="do not try again: tell the user")
        return file.read_text(encoding="utf-8").split("\n")[:-1]

    def _page(self, items: Iterator[Any], most: int) -> list[Any]:
        """As many items as fit into a page; the first one in part, if it alone is too long."""
        shown: list[Any] = []
        left = self.page - OVERHEAD
        for item in items:
            length = len(dumps(item)) + len(", ")
            if len(shown) == most or (length > left and shown):
                break
            shown.append(item if length <= left else fit(item, left))
            left -= length
        return shown


def _written(data: Any, kind: str) -> str:
    """The content of the file: each line is ended, so an empty line counts and an empty text has none."""
    if kind == "list":
        return "".join(f"{_json(item)}\n" for item in data)
    content = data if kind == "text" else _json(data, indent=1)
    content = "\n".join(well_formed(content).splitlines())
    return f"{content}\n" if content else ""


def _json(data: Any, indent: int | None = None) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=indent, default=_whole)


def _whole(part: Any) -> Any:
    raise ValueError("A part of the value is too large or endless: keep less of it.")


def _start(cursor: Any, total: int) -> int:
    hint = "leave cursor out for the first page; else send the next_cursor of the page before"
    if cursor is None:
        return 0
    if not isinstance(cursor, str) or not re.fullmatch("[0-9]{1,9}", cursor, re.ASCII):
        raise ToolError("BAD_INPUT", f"cursor {cut_text(repr(cursor), 40)} was not given out here", hint=hint)
    if int(cursor) >= max(total, 1):
        raise ToolError("BAD_INPUT", f"cursor {cursor} is past the end: there are {total}", hint=hint)
    return int(cursor)


def _counted(kind: str, shown: list[Any], start: int, total: int, **more: Any) -> dict[str, Any]:
    end = start + len(shown)
    return {
        kind: shown,
        **more,
        "total": total,
        "returned": len(shown),
        "truncated": end < total,
        "next_cursor": str(end) if end < total else None,
    }

"""What a tool returned, as the content of a `tool_result`.

Text stays text; everything else is written as JSON that any reader can parse. Nothing grows past its budget, and what
is left out is said where it was left out: a silent cut is worse than an error. A value never makes the result fail.
Which call the content answers, and whether it is an error, is next door in `tools.py`.
"""

import base64
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from course_kit.contract.messages import Block, text
from course_kit.errors import ToolError

__all__ = ["DEFAULT_BUDGET", "NO_OUTPUT", "SMALLEST_BUDGET", "cut_text", "encode_result", "error_text", "text_only"]

DEFAULT_BUDGET = 30_000  # characters
SMALLEST_BUDGET = 20  # room to say that something was cut
NO_OUTPUT = "(no output)"
NO_MESSAGE = "The tool failed without saying why."
DEEPEST = 50
# The blocks a result may hold, and the field without which a dict of that `type` is somebody's data.
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls and the SDK's types (2.14)
RESULT_BLOCKS = {
    "text": "text",
    "image": "source",
    "document": "source",
    "search_result": "content",
    "tool_reference": "tool_name",
}


def encode_result(value: Any, budget: int = DEFAULT_BUDGET) -> str | list[Block]:
    """The content for what a tool returned, at most `budget` characters long.

    `"4 C"` → `"4 C"`, `None` → `"(no output)"`, `{"price": Decimal("19.90")}` → `'{"price": "19.90"}'`.
    Text (also as bytes) stays itself, a list of content blocks stays a list of blocks, the rest is JSON.
    Text that is too long keeps its head and its tail; a list that is too long becomes
    `{"total": 9000, "returned": 120, "truncated": true, "items": [...]}`.
    """
    if budget < SMALLEST_BUDGET:
        raise ValueError(f"A budget of {budget} cannot hold a result: give {SMALLEST_BUDGET} characters or more.")
    if value is None:
        return NO_OUTPUT
    if is_blocks(value):
        return fit_blocks([plain(block, math.inf) for block in value], budget) or NO_OUTPUT
    data = plain(value, budget)
    if isinstance(data, str) and isinstance(value, (str, bytes, bytearray, memoryview)):
        return cut_text(data, budget) if data.strip() else NO_OUTPUT
    written = dumps(data)
    return written if len(written) <= budget else dumps(fit(data, budget))


def error_text(error: BaseException | str, limit: int = 2_000) -> str:
    """What the model reads about a failure: never empty, never a traceback, no folder of this machine.

    `ToolError("NOT_FOUND", "There is no order 7.", hint="Use search_orders.")` →
    `"NOT_FOUND: There is no order 7.\\nHint: Use search_orders.\\nRetryable: no, the same call will fail again."`;
    any other exception gives its type and message: `KeyError("x")` → `"KeyError: 'x'"`.
    """
    if isinstance(error, str):
        said = error
    elif isinstance(error, ToolError):
        lines = [f"{error.code}: {error.message}"]
        if error.hint:
            lines.append(f"Hint: {error.hint}")
        again = "yes, the same call may succeed later" if error.retryable else "no, the same call will fail again"
        said = "\n".join([*lines, f"Retryable: {again}."])
    else:
        said, limit = describe(error), min(limit, 500)
    return cut_text(well_formed(said), limit) if said.strip() else NO_MESSAGE


def text_only(content: str | Iterable[Block] | None) -> str | list[Block]:
    """Content as an error may carry it: its text blocks, and always some text.

    `[image, text]` → `[text]`, `""` → `"The tool failed without saying why."`
    """
    if isinstance(content, str):
        return content if content.strip() else NO_MESSAGE
    kept = [block for block in content or () if block.get("type") == "text" and block["text"].strip()]
    return kept or NO_MESSAGE


def cut_text(text: str, limit: int) -> str:
    """`text` within `limit` characters: its head, a marker that counts what is left out, and its tail.

    The structure of a text is at its start and the error at its end. First and last line stay whole if they fit.
    """
    if len(text) <= limit:
        return text
    room = limit - len(marker(len(text)))
    if room < 2:
        return text[: whole_character(text, limit - 1, -1)] + "…" if limit > 0 else ""
    head, tail = room // 2, room - room // 2
    first = text.find("\n", len(text) - len(text.lstrip())) + 1
    last = len(text) - text.rstrip().rfind("\n") - 1
    if 0 < first <= room - last:
        head = min(max(head, first), room - last)
        tail = room - head
        # whole lines, where that costs little
        line_end = text.rfind("\n", 0, head) + 1
        line_start = text.find("\n", len(text) - tail - 1) + 1
        head = line_end if line_end >= max(first, head * 3 // 4) else head
        tail = len(text) - line_start if len(text) - line_start >= max(last, tail * 3 // 4) else tail
    start = whole_character(text, head, -1)
    end = whole_character(text, len(text) - tail, +1)
    return text[:start] + marker(end - start) + text[end:]


def marker(left_out: int) -> str:
    return f"\n[… {left_out} characters left out …]\n"


def whole_character(text: str, position: int, step: int) -> int:
    """The nearest place to cut, going by `step`, that splits no emoji, flag or accented letter."""
    for _ in range(64):  # a longer cluster is no writing
        if not 0 < position < len(text) or not joined(text, position):
            break
        position += step
    return position


def joined(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    if before == "\u200d" or after == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if is_flag_half(before) and is_flag_half(after):
        start = position
        while start and is_flag_half(text[start - 1]):
            start -= 1
        return (position - start) % 2 == 1
    return unicodedata.category(after) in ("Mn", "Me", "Mc") or (before, after) == ("\r", "\n")


def is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def well_formed(text: str) -> str:
    """`text` without lone surrogates: each becomes U+FFFD, since no request body can hold it."""
    try:
        text.encode("utf-8")
        return str(text)
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# From any value to plain JSON data


@dataclass
class Partial:
    """The first items of a list or an object; `total` is None where nobody counted."""

    items: list | dict
    total: int | None


def envelope(part: Partial) -> dict[str, Any]:
    return {"total": part.total, "returned": len(part.items), "truncated": True, "items": part.items}


def dumps(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, default=envelope)


def plain(value: Any, budget: float) -> Any:
    """`value` as dicts, lists, strings and numbers. A list is read no further than `budget` could ever show."""
    return Reader(budget).read(value, depth=0)


class Reader:
    """One reading of one value. `seen` counts characters, low: it decides only when to stop reading."""

    def __init__(self, budget: float):
        self.budget = budget
        self.seen = 0
        self.open: set[int] = set()  # the containers we are inside of

    def read(self, value: Any, depth: int) -> Any:
        if id(value) in self.open:
            return "(circular reference)"
        try:
            kind, content, total = unfold(value, self.budget)
        except Exception:  # whatever an object does when it is looked at, the call itself succeeded
            kind, content, total = "scalar", stated(value), None
        if kind == "scalar":
            self.seen += min(len(content), self.budget) + 2 if isinstance(content, str) else 1
            return content
        if depth >= DEEPEST:
            return f"(nested more than {DEEPEST} deep)"
        self.open.add(id(value))
        try:
            return self.read_items(kind, content, total, depth)
        finally:
            self.open.discard(id(value))

    def read_items(self, kind: str, content: Iterator, total: int | None, depth: int) -> Any:
        items: Any = {} if kind == "object" else []
        start, names = self.seen, 0
        for item in content:  # subtle: a generator that raises here is a failure of the tool, so it is not caught
            # an object's later values may be short, so only its names say that it is too long
            length = names if kind == "object" else self.seen - start
            if length > self.budget or self.seen > 20 * self.budget:
                return Partial(items, total)
            self.seen += 2
            if kind == "object":
                name = self.unused_name(item[0], items)
                names += len(name) + 4
                items[name] = self.read(item[1], depth + 1)
            else:
                items.append(self.read(item, depth + 1))
        return items if total is None or len(items) >= total else Partial(items, total)

    def unused_name(self, key: Any, items: dict) -> str:
        name = self.read(key, DEEPEST - 2)
        name = name if isinstance(name, str) else dumps(name)
        while name in items:  # 1 and "1" are two keys in Python and one in JSON
            name += "_"
        return name


def unfold(value: Any, budget: float) -> tuple[str, Any, int | None]:
    """One level of a value: `("scalar", data, None)`, `("list", items, total)` or `("object", pairs, total)`."""
    if isinstance(value, Enum):
        return unfold(value.value, budget)
    if value is None or isinstance(value, bool):
        return "scalar", value, None
    if isinstance(value, str):
        return "scalar", well_formed(value), None
    if isinstance(value, int):
        bits = value.bit_length()
        return "scalar", int(value) if bits < 10_000 else f"(an integer of {bits} bits)", None
    if isinstance(value, float):
        return "scalar", finite(float(value)), None
    if isinstance(value, (date, time)):
        return "scalar", value.isoformat(), None
    if isinstance(value, (Decimal, Fraction, UUID, PurePath, timedelta)):
        return "scalar", well_formed(str(value)), None
    if isinstance(value, (bytes, bytearray, memoryview)):
        return unfold_bytes(bytes(value))
    if isinstance(value, Mapping):
        return "object", iter(value.items()), len(value)
    if isinstance(value, type):
        return "scalar", stated(value), None
    if is_dataclass(value):
        pairs = [(field.name, getattr(value, field.name)) for field in fields(value) if hasattr(value, field.name)]
        return "object", iter(pairs), len(pairs)
    if isinstance(value, (set, frozenset)):
        return "list", iter(in_order(value)), len(value)
    return unfold_foreign(value, budget)


def unfold_foreign(value: Any, budget: float) -> tuple[str, Any, int | None]:
    """Objects of libraries, known by what they can do: pydantic, numpy, pandas, sqlite3 rows, named tuples."""
    kind = type(value)
    most = int(min(budget, 10**9)) + 1  # more could not be shown, were each a single character
    if hasattr(kind, "model_dump"):
        return unfold(value.model_dump(), budget)
    if hasattr(kind, "_asdict"):
        return unfold(value._asdict(), budget)
    if hasattr(kind, "dtype") and hasattr(kind, "item") and not getattr(value, "shape", ()):
        number = value.item()
        if kind.__name__ in ("datetime64", "timedelta64"):
            number = str(value)
        return unfold(float(number) if type(number) is kind else number, budget)
    if hasattr(kind, "to_dict") and hasattr(kind, "columns") and hasattr(kind, "head"):
        shown = value.head(most // (1 + 4 * len(value.columns)) + 1)
        if any(name is not None for name in value.index.names):
            shown = shown.reset_index()
        return "list", iter(shown.to_dict(orient="records")), len(value)
    if hasattr(kind, "to_dict") and hasattr(kind, "head"):
        shown = value.head(most)
        if value.index.is_unique:
            return "object", iter(shown.to_dict().items()), len(value)
        return "list", iter(shown.tolist()), len(value)
    if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):
        pairs = [(key, value[key]) for key in value.keys()]
        return "object", iter(pairs), len(pairs)
    if isinstance(value, Iterable):
        return "list", iter(value), len(value) if isinstance(value, Sized) else None
    return "scalar", stated(value), None


def unfold_bytes(value: bytes) -> tuple[str, Any, int | None]:
    try:
        text = value.decode("utf-8")
        if all(character.isprintable() or character.isspace() for character in text):
            return "scalar", text, None
    except UnicodeDecodeError:
        pass
    shown: dict[str, Any] = {"bytes": len(value)}
    if len(value) <= 3_000:
        shown["base64"] = base64.b64encode(value).decode("ascii")
    else:
        shown["left_out"] = "binary data"
    return "object", iter(shown.items()), len(shown)


def finite(number: float) -> float | str:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def in_order(values: set | frozenset) -> list:
    """The same order in every process: by value where values compare, else by what is written for them."""
    kinds = {type(value) for value in values}
    if kinds in ({int}, {str}):
        return sorted(values)
    if kinds <= {bool, int, float}:
        return sorted(values, key=lambda value: (value != value, value))
    return sorted(values, key=lambda value: dumps(plain(value, 1_000)))


def stated(value: Any) -> str:
    """An object nobody can write as JSON, in a few words: `"Widget"` or `"Socket: closed"`, never an address."""
    kind = type(value)
    said = ""
    if (kind.__str__, kind.__repr__) != (object.__str__, object.__repr__):
        try:
            said = re.sub(r" at 0x[0-9a-fA-F]+| id='\d+'", "", str(value))
        except Exception:
            said = ""
    return cut_text(well_formed(f"{kind.__name__}: {said}" if said else kind.__name__), 300)


# Making plain JSON data fit


def fit(data: Any, room: int) -> Any:
    """`data` cut so that it is at most `room` characters when written, and says itself what is missing."""
    if len(dumps(data)) <= room:
        return data
    if isinstance(data, str):
        return fit_string(data, room)
    if isinstance(data, list):
        return first_that_fit(Partial(data, len(data)), room)
    if isinstance(data, dict):
        names = sum(len(dumps(key)) + len(": , ") for key in data)
        if names + 80 * len(data) <= room:  # less than that is no use for a value
            return shared_out(data, room - names - 2)
        return first_that_fit(Partial(data, len(data)), room)
    if isinstance(data, Partial):
        return first_that_fit(data, room)
    return "…"


def fit_string(string: str, room: int) -> str:
    limit = room - 2
    while limit > 0:
        cut = cut_text(string, limit)
        over = len(dumps(cut)) - room
        if over <= 0:
            return cut
        limit -= max(over // 6, 1)  # one character is written as six at most
    return "…"


def first_that_fit(part: Partial, room: int) -> Any:
    """The first whole items that fit; the first one cut, if even that is too long."""
    empty = Partial(type(part.items)(), part.total)
    left = room - len(dumps(empty)) - len(str(len(part.items)))
    if left < 0:
        return {"truncated": True} if room >= SMALLEST_BUDGET else "…"
    pairs = iter(part.items.items()) if isinstance(part.items, dict) else enumerate(part.items)
    kept = []
    for key, item in pairs:
        name = len(dumps(key)) + len(": ") if isinstance(part.items, dict) else 0
        if len(dumps(item)) + name + len(", ") > left:
            if not kept and left - name > 80:
                kept.append((key, fit(item, left - name)))
            break
        kept.append((key, item))
        left -= len(dumps(item)) + name + len(", ")
    items = dict(kept) if isinstance(part.items, dict) else [item for _, item in kept]
    return Partial(items, part.total)


def shared_out(data: dict[str, Any], room: int) -> dict[str, Any]:
    """Every value gets an equal share of the room, and what a short one leaves goes to the longer ones."""
    by_length = sorted(data, key=lambda key: len(dumps(data[key])))
    kept = {}
    for position, key in enumerate(by_length):
        kept[key] = fit(data[key], room // (len(by_length) - position))
        room -= len(dumps(kept[key]))
    return {key: kept[key] for key in data}


# Results that are content blocks already


def is_blocks(value: Any) -> bool:
    """Whether a value is a list of content blocks, rather than data that happens to have a `type`."""
    return isinstance(value, (list, tuple)) and bool(value) and all(is_block(item) for item in value)


def is_block(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "text":
        return isinstance(value.get("text"), str)
    return value["type"] in RESULT_BLOCKS and RESULT_BLOCKS[value["type"]] in value


def fit_blocks(blocks: list[Block], budget: int) -> list[Block]:
    """The blocks without empty text, their text within the budget (images and documents are not counted).

    References to tools stand alone in a result: beside anything else the API refuses the request.
    """
    references = [block for block in blocks if block["type"] == "tool_reference"]
    if references:
        return references
    blocks = [block for block in blocks if block["type"] != "text" or str(block["text"]).strip()]
    texts = {index: block["text"] for index, block in enumerate(blocks) if block["type"] == "text"}
    if sum(len(said) for said in texts.values()) > budget:
        for position, index in enumerate(sorted(texts, key=lambda index: len(texts[index]))):
            said = cut_text(texts[index], budget // (len(texts) - position))
            blocks[index] = {**blocks[index], **text(said)}
            budget -= len(said)
    return blocks


def describe(error: BaseException) -> str:
    """`type: message` of an exception; of a group, the failures in it; folders are cut from paths."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(one) for one in error.exceptions[:3])
    try:
        said = str(error)
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            said = f"{error.strerror}: {PurePath(str(error.filename)).name!r}"
    except Exception:
        said = ""
    said = cut_text(said, 5_000)
    said = re.sub(r"(?<![\w.:/])(?:[A-Za-z]:)?(?:[\\/][^\s\\/'\":]+)+[\\/](?=[^\s\\/])", "…/", said)
    name = type(error).__name__
    return f"{name}: {said}" if said.strip() else name

"""From any value to plain JSON data.

Whatever a tool returns becomes dicts, lists, strings and numbers, and no more of it is read than could ever be
shown. No value fails here, except a generator that raises while it is read. How the data is cut to size is next door,
in `fitting.py`.
"""

import base64
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from .summaries import about_bytes

__all__ = ["Partial", "dumps", "plain", "well_formed"]

DEEPEST = 50
SHORT_BINARY = 64  # bytes: a hash or a key; of anything longer the model reads only a line about it


@dataclass
class Partial:
    """The first items of a list or an object; `total` is None where nobody counted."""

    items: list[Any] | dict[str, Any]
    total: int | None


def envelope(part: Partial) -> dict[str, Any]:
    return {"total": part.total, "returned": len(part.items), "truncated": True, "items": part.items}


def dumps(data: Any) -> str:
    """JSON as results carry it: letters as they are, no NaN."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, default=envelope)


def plain(value: Any, budget: float) -> Any:
    """`value` as dicts, lists, strings and numbers. A list is read no further than `budget` could ever show."""
    return Reader(budget).read(value, depth=0)


class Reader:
    """Reads one value once. `seen` undercounts characters: it only decides when to stop."""

    def __init__(self, budget: float):
        self.budget = budget
        self.seen: float = 0
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

    def read_items(self, kind: str, content: Iterator[Any], total: int | None, depth: int) -> Any:
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

    def unused_name(self, key: Any, items: dict[str, Any]) -> str:
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
    most = int(min(budget, 10**9)) + 1  # more could not be shown, even at one character each
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
    shown = about_bytes(value)
    if len(value) <= SHORT_BINARY:
        shown["base64"] = base64.b64encode(value).decode("ascii")
    else:
        shown["left_out"] = "binary data"
    return "object", iter(shown.items()), len(shown)


def finite(number: float) -> float | str:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def in_order(values: set[Any] | frozenset[Any]) -> list[Any]:
    """The same order in every process: by value where values compare, else by their written form."""
    kinds = {type(value) for value in values}
    if kinds in ({int}, {str}):
        return sorted(values)
    if kinds <= {bool, int, float}:
        return sorted(values, key=lambda value: (value != value, value))
    return sorted(values, key=lambda value: dumps(plain(value, 1_000)))


def stated(value: Any) -> str:
    """An object that JSON cannot hold, in a few words: `"Widget"` or `"Socket: closed"`, never an address."""
    kind = type(value)
    said = ""
    says_nothing: Any = (object.__str__, object.__repr__)
    if (kind.__str__, kind.__repr__) != says_nothing:
        try:
            said = re.sub(r" at 0x[0-9a-fA-F]+| id='\d+'", "", str(value))
        except Exception:
            said = ""
    said = well_formed(f"{kind.__name__}: {said}" if said else kind.__name__)
    return said if len(said) <= 300 else f"{said[:299]}…"


def well_formed(text: str) -> str:
    """`text` without lone surrogates: each becomes U+FFFD, since no request body can hold it."""
    try:
        text.encode("utf-8")
        return str(text)
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

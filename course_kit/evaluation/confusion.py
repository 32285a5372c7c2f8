"""The confusion matrix: which tool was meant, and which was called, with a row and a column for no call.

The column "no call" holds the calls that were missed, the row "no call" those that nobody wanted; without them both
would be invisible. The diagonal is what went right.
"""

import html
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .cases import ANY
from .results import Record

if TYPE_CHECKING:
    import pandas

__all__ = ["NO_CALL", "Confusion", "confusion"]

NO_CALL = "no call"
CORNER = "meant / called"


@dataclass(frozen=True)
class Confusion:
    """How often each tool was meant (rows) and called (columns); `labels` ends with "no call"."""

    labels: tuple[str, ...]
    counts: dict[tuple[str, str], int]

    def __getitem__(self, pair: tuple[str, str]) -> int:
        """`confusion["refund_order", "no call"]` → how often a refund was meant and nothing was called."""
        return self.counts.get(pair, 0)

    @property
    def rows(self) -> list[list[int]]:
        """The counts as a table, rows and columns in the order of `labels`."""
        return [[self[meant, called] for called in self.labels] for meant in self.labels]

    def share(self, meant: str) -> float:
        """How often a tool was called when it was meant."""
        number = sum(self[meant, called] for called in self.labels)
        return self[meant, meant] / number if number else float("nan")

    def to_frame(self) -> "pandas.DataFrame":
        """The same as a `pandas.DataFrame`."""
        import pandas

        return pandas.DataFrame(self.rows, index=list(self.labels), columns=list(self.labels)).rename_axis(
            index="meant", columns="called"
        )

    def __repr__(self) -> str:
        width = max(len(CORNER), *(len(label) for label in self.labels))
        lines = ["  ".join([f"{CORNER:<{width}}", *self.labels])]
        for label, row in zip(self.labels, self.rows, strict=True):
            cells = [f"{count or '·':>{len(name)}}" for name, count in zip(self.labels, row, strict=True)]
            lines.append("  ".join([f"{label:<{width}}", *cells]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(label)}</th>" for label in self.labels)
        body = ""
        for label, row in zip(self.labels, self.rows, strict=True):
            cells = "".join(
                f"<td style='text-align: right{'; font-weight: bold' if label == name else ''}'>{count or '·'}</td>"
                for name, count in zip(self.labels, row, strict=True)
            )
            body += f"<tr><th style='text-align: left'>{html.escape(label)}</th>{cells}</tr>"
        return f"<table><tr><th>{CORNER}</th>{head}</tr>{body}</table>"


def confusion(records: Iterable[Record]) -> Confusion:
    """Count what was meant against what was called, over all trials that say which calls they expect.

    A call that a case allows (`may_call`) is left out, and so is a failed first attempt at the right tool.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        if record.get("expected") is not None:
            counts.update(_pairs(record))
    names = sorted({name for pair in counts for name in pair} - {NO_CALL})
    return Confusion((*names, NO_CALL), dict(counts))


def _pairs(record: Record) -> list[tuple[str, str]]:
    """The tools of one trial, meant and called, in pairs: right ones first, then the rest in their order."""
    meant, may = list(record["expected"]), record.get("may_call") or ()
    calls = [call for call in record.get("calls") or () if call["tool"] in meant or not {ANY, call["tool"]} & set(may)]
    called = [call["tool"] for call in calls if not call.get("failed")]
    # A failed call counts as an attempt at its tool, unless one that succeeded already does.
    for call in calls:
        if call.get("failed") and called.count(call["tool"]) < max(1, meant.count(call["tool"])):
            called.append(call["tool"])
    found = []
    for name in list(meant):
        if name in called:
            found.append((name, name))
            meant.remove(name)
            called.remove(name)
    longest = max(len(meant), len(called))
    rest = [names + [NO_CALL] * (longest - len(names)) for names in (meant, called)]
    return found + list(zip(*rest, strict=True)) or [(NO_CALL, NO_CALL)]

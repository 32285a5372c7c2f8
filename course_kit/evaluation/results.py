"""What an evaluation found: one record for each trial, in and out as JSON lines and as a pandas table.

A record is self-contained: it holds what was expected and what happened, so that the figures of `metrics.py`,
`confusion.py` and `compare.py` need nothing but the file.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cases import CaseError
from .intervals import Interval, pass_interval
from .passk import over_tasks, pass_at_k, pass_hat_k

if TYPE_CHECKING:
    import pandas

__all__ = ["Record", "Results", "line_of", "read_records"]

# case kind risk trial seed digest label · passed problems error · expected may_call calls text stopped
# steps input_tokens output_tokens seconds refused
Record = dict[str, Any]
NEEDED = ("case", "trial", "passed")


class Results:
    """The trials of an evaluation. `planned` says how many were planned: an interrupted one has fewer."""

    def __init__(self, records: Iterable[Record], planned: int | None = None):
        self.records = list(records)
        self.planned = len(self.records) if planned is None else planned

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @property
    def missing(self) -> int:
        """How many trials are still to be run."""
        return self.planned - len(self.records)

    def counts(self) -> dict[str, tuple[int, int]]:
        """(n, c) of each case: how many trials it had and how many passed."""
        tried = Counter(record["case"] for record in self.records)
        passed = Counter(record["case"] for record in self.records if record["passed"])
        return {case: (number, passed[case]) for case, number in tried.items()}

    def pass_hat_k(self, k: int) -> float:
        """The chance that a task of this kind passes k times in a row: the mean over cases."""
        return over_tasks(self.counts(), k, pass_hat_k)

    def pass_at_k(self, k: int) -> float:
        """The chance that a task of this kind passes at least once in k trials: the mean over cases."""
        return over_tasks(self.counts(), k, pass_at_k)

    def interval(self, k: int = 1, **settings: Any) -> Interval:
        """Where pass^k on many more cases of this kind probably lies; settings as for `pass_interval`."""
        return pass_interval(self.counts(), k, **settings)

    def where(self, condition: Callable[[Record], Any] | None = None, **wanted: Any) -> "Results":
        """The trials that match: `results.where(kind="hostile")`, `results.where(lambda r: r["steps"] > 4)`."""
        return Results(
            record
            for record in self.records
            if (condition is None or condition(record)) and all(record.get(name) == v for name, v in wanted.items())
        )

    def problems(self, most: int = 20) -> str:
        """What went wrong, the most frequent first: one line for each case and problem."""
        found = Counter(
            f"{record['case']}: [{problem['layer']}] {problem['message']}"
            for record in self.records
            for problem in record.get("problems") or ()
        )
        lines = [f"{times:>4} × {said}" for said, times in found.most_common(most)]
        if len(found) > most:
            lines.append(f"       and {len(found) - most} more")
        return "\n".join(lines) or "No problems."

    def __repr__(self) -> str:
        if not self.records:
            return "No trials: none was run yet, or none matches."
        counts = self.counts()
        least = min(number for number, _ in counts.values())
        lines = [f"{len(self.records)} trials of {len(counts)} case{'' if len(counts) == 1 else 's'}"]
        lines += [
            f"pass^{k} {self.pass_hat_k(k):.2f}, on more such cases {self.interval(k)}" for k in sorted({1, least})
        ]
        errors = sum(bool(record.get("error")) for record in self.records)
        if errors:
            lines.append(f"{errors} trials raised an exception: see `results.problems()`.")
        if self.missing:
            lines.append(f"{self.missing} trials are missing: run again with the same file to go on.")
        return "\n".join(lines)

    # In and out

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write the records to a file, one a line."""
        Path(path).write_text("".join(map(line_of, self.records)), encoding="utf-8")

    @classmethod
    def from_jsonl(cls, path: str | os.PathLike[str]) -> "Results":
        """Read a file that `run_trials` or `to_jsonl` wrote, also one whose last line was cut."""
        if not Path(path).is_file():
            raise CaseError(f"{path} is no file of results: `run_trials(..., file=...)` writes one.")
        return cls(read_records(path))

    def to_frame(self) -> "pandas.DataFrame":
        """A pandas table: one row for each trial."""
        import pandas

        return pandas.DataFrame(self.records)

    @classmethod
    def from_frame(cls, frame: "pandas.DataFrame") -> "Results":
        """The results of a table that has at least the columns `case`, `trial` and `passed`."""
        if absent := [name for name in NEEDED if name not in frame.columns]:
            raise CaseError(f"The table has no column `{absent[0]}`: results need {', '.join(NEEDED)}.")
        rows = frame.to_dict(orient="records")
        return cls({str(name): value for name, value in row.items() if not _absent(value)} for row in rows)


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """The records of a file; of several for one trial the last counts. A last line that was cut is left out."""
    records: dict[tuple[str, int], Record] = {}
    lines = Path(path).read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line) if line.strip() else None
        except ValueError:
            if number == len(lines):  # no line end: the process was killed while it wrote
                continue
            raise CaseError(f"{path}, line {number}: this is not JSON; delete the line to go on without it.") from None
        if isinstance(record, dict) and "batch" in record:  # a batch that was sent, noted by `batches.py`
            continue
        if record is not None:
            if not isinstance(record, dict) or any(name not in record for name in NEEDED):
                raise CaseError(f"{path}, line {number}: a record of a trial has {', '.join(NEEDED)}.")
            records[record["case"], record["trial"]] = record
    return list(records.values())


def line_of(record: Record) -> str:
    """A record as a line of a JSONL file."""
    return json.dumps(record, ensure_ascii=False, default=str) + "\n"


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)  # NaN, pandas' word for nothing

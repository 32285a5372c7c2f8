"""The file of an evaluation while it runs: what it already holds, and one line for each trial that ends.

Only one evaluation at a time writes to a file: two would repeat each other's trials, and each would repair what
the other is writing. What a record holds and how a file is read is in `results.py`.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from .cases import Case, CaseError
from .results import Record, line_of, read_records

__all__ = ["kept_in"]

Finished = dict[tuple[str, int], Record]  # by case and trial


@contextmanager
def kept_in(
    file: str | os.PathLike[str] | None, cases: Sequence[Case], trials: int, label: str = "", retry_errors: bool = False
) -> Iterator[tuple[Finished, Callable[[Any], Any]]]:
    """The trials of these cases that are done, and a function that adds a record, whole and at once, and returns it."""
    if file is None:
        yield {}, lambda record: record
        return
    path, lock = Path(file), threading.Lock()
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path):
        mend(path)
        done = finished(path, cases, trials, label, retry_errors)
        with path.open("a", encoding="utf-8", newline="\n") as out:

            def keep(record: Any) -> Any:
                with lock:
                    out.write(line_of(record))
                    out.flush()
                return record

            yield done, keep


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a file for one evaluation.

    The lock is SQLite's, on an empty file beside it: the system releases it however the process ends.
    """
    with closing(sqlite3.connect(path.with_name(f".{path.name}.lock"), timeout=0, isolation_level=None)) as held:
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise CaseError(
                f"Another evaluation is writing to {path}: wait until it ends, or name another file."
            ) from None
        yield


def mend(path: Path) -> None:
    """Remove a half-written last line from a file, so that the next record does not continue it."""
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)


def finished(path: Path, cases: Sequence[Case], trials: int, label: str, retry_errors: bool) -> Finished:
    """The trials in the file that are of these cases and below this number."""
    if not path.exists():
        return {}
    digests, done = {case.id: case.digest for case in cases}, {}
    for record in read_records(path):
        if record["case"] not in digests:
            continue
        if record.get("label", "") != label:
            raise CaseError(f"{path} holds trials of {record.get('label')!r}, not of {label!r}: name another file.")
        if record.get("digest") != digests[record["case"]]:
            raise CaseError(f"Case {record['case']} has changed since {path} was written: name another file.")
        if record["trial"] < trials and not (retry_errors and record.get("error")):
            done[record["case"], record["trial"]] = record
    return done

"""How far a long evaluation is: a bar in a terminal and in a notebook, a line every ten seconds in a log.

The bar is tqdm's, in plain text, and appears after a second: short runs print nothing, so a notebook's output stays the
same. Everything goes to stderr.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["Progress", "progress_of"]

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BEFORE_BAR = 1.0


class Progress:
    """Counts trials: `step(passed)` for each one that is done."""

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None):
        self.total, self.done, self.failed = total, done, 0
        self.stream = stream if stream is not None else sys.stderr
        self.at_start, self.started = done, time.monotonic()
        self.last_line = self.started
        self.bar = _bar(self) if has_moving_lines(self.stream) else None

    def step(self, passed: bool) -> None:
        """Count a trial and show it."""
        self.done += 1
        self.failed += not passed
        if self.bar is not None:
            self.bar.set_postfix_str(f"{self.failed} failed", refresh=False)
            self.bar.update()
        elif (now := time.monotonic()) - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            print(self.line(now), file=self.stream, flush=True)

    def line(self, now: float) -> str:
        """`"120 of 1000 trials, 3 failed, about 88 s left"`"""
        pace = (now - self.started) / max(1, self.done - self.at_start)
        left = round(pace * (self.total - self.done))
        return f"{self.done} of {self.total} trials, {self.failed} failed, about {left} s left"

    def close(self) -> None:
        """End the bar; what it showed last stays."""
        if self.bar is not None:
            self.bar.close()


@contextmanager
def progress_of(total: int, done: int, shown: bool) -> Iterator[Any]:
    """A function to call with `passed` for each trial."""
    if not shown:
        yield lambda passed: None
        return
    progress = Progress(total, done)
    try:
        yield progress.step
    finally:
        progress.close()


def has_moving_lines(stream: Any) -> bool:
    """Whether a line can be written over: in a terminal, and in a notebook's output."""
    in_notebook = type(stream).__module__.startswith("ipykernel")
    return in_notebook or bool(getattr(stream, "isatty", lambda: False)())


def _bar(progress: Progress) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None  # lines will do
    return tqdm(
        total=progress.total,
        initial=progress.done,
        file=progress.stream,
        unit="trial",
        delay=SECONDS_BEFORE_BAR,
        mininterval=0.5,
        leave=False,
    )

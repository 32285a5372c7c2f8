"""When a part of a run began and how long it took: the two time fields of an event.

`began` is in seconds since 1970, so that spans of different processes can be put side by side; `seconds` is
measured by a clock that nobody can set back. `told_by(clock)` replaces both clocks by another, for a test or
for a page whose text must be the same every time.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["TIMES", "Watch", "clock_here", "start_watch", "told_by"]

TIMES = ("began", "seconds")  # the fields of an event that differ between two runs that are otherwise equal

_OTHER: ContextVar[Callable[[], float] | None] = ContextVar("clock", default=None)


@dataclass(frozen=True)
class Watch:
    """A watch that starts when it is made."""

    began: float
    ticks: Callable[[], float]
    first: float

    def read(self) -> dict[str, float]:
        """`{"began": 1796050000.25, "seconds": 0.1}`, for an event that ends now."""
        return {"began": round(self.began, 6), "seconds": round(self.ticks() - self.first, 6)}


def start_watch(clock: Callable[[], float] | None = None) -> Watch:
    """A watch that starts now, by this clock or the current one."""
    clock = clock or _OTHER.get()
    if clock is None:
        return Watch(time.time(), time.perf_counter, time.perf_counter())
    now = clock()
    return Watch(now, clock, now)


def clock_here() -> Callable[[], float] | None:
    """The clock of `told_by`, to be handed to another thread; None for the machine's own."""
    return _OTHER.get()


@contextmanager
def told_by(clock: Callable[[], float]) -> Iterator[None]:
    """Inside the block every run is timed by `clock`, which gives seconds since 1970."""
    token = _OTHER.set(clock)
    try:
        yield
    finally:
        _OTHER.reset(token)

"""When something of a run began and how long it took: the two fields that an event says about time.

`began` is the hour, in seconds since 1970, so that spans of different processes can be put side by side; `seconds` is
measured by a clock that nobody can set back. `told_by(clock)` puts another clock in the place of both, for a test or
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
    """A watch that runs since it was made."""

    began: float
    ticks: Callable[[], float]
    first: float

    def read(self) -> dict[str, float]:
        """`{"began": 1796050000.25, "seconds": 0.1}`, for an event that ends now."""
        return {"began": round(self.began, 6), "seconds": round(self.ticks() - self.first, 6)}


def start_watch(clock: Callable[[], float] | None = None) -> Watch:
    """A watch that begins now, by this clock or by the one that holds here."""
    clock = clock or _OTHER.get()
    if clock is None:
        return Watch(time.time(), time.perf_counter, time.perf_counter())
    now = clock()
    return Watch(now, clock, now)


def clock_here() -> Callable[[], float] | None:
    """The clock of `told_by`, to be handed to another thread; None where the machine's own holds."""
    return _OTHER.get()


@contextmanager
def told_by(clock: Callable[[], float]) -> Iterator[None]:
    """Inside the block every run is timed by `clock`, which gives seconds since 1970."""
    token = _OTHER.set(clock)
    try:
        yield
    finally:
        _OTHER.reset(token)

"""What surrounds the learner's code while a check runs it: a clock, and captured output that cannot grow.

What is checked, and whose exception it was, is decided in `checks.py`.
"""

import ctypes
import io
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

__all__ = ["Printed", "TimeIsUp", "captured", "stretched", "within"]

PRINTED = 2000  # characters of the learner's own output that are kept
MOST_STRETCHED = 5.0  # times the seconds of a quiet machine


class Printed(io.TextIOBase):
    """Keeps the first characters that are written and counts the rest."""

    def __init__(self) -> None:
        self.start, self.length = "", 0

    def write(self, text: str) -> int:
        """Take in a text; returns its length, as every stream does."""
        self.start += text[: PRINTED - len(self.start)]
        self.length += len(text)
        return len(text)

    def text(self) -> str:
        """What was kept, and how much was not."""
        left = self.length - len(self.start)
        return self.start + (f"\n… and {left:,} characters more" if left else "")


@contextmanager
def captured(printed: Printed) -> Iterator[None]:
    """Send what the learner's code prints to `printed`, and its warnings too, without their file names."""
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed), redirect_stderr(printed):
        warnings.simplefilter("always")
        try:
            yield
        finally:
            printed.write("".join(f"{each.category.__name__}: {each.message}\n" for each in caught))


class TimeIsUp(BaseException):
    """Not an `Exception`, so that a learner's `except Exception` does not swallow it."""


def stretched(seconds: float) -> float:
    """More seconds where more programs want to run than there are cores: a full hub, a room being marked."""
    try:
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # Windows does not say
        load = 1.0
    return seconds * min(max(load, 1.0), MOST_STRETCHED)


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """Call, and raise `TimeIsUp` after so many seconds: by a signal, or by a thread where there is none."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return _in_thread(seconds, call)

    def ring(signum: int, frame: Any) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # and again: a pool of threads waits in its own exit
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


def _in_thread(seconds: float, call: Callable[[], Any]) -> Any:
    box: dict[str, Any] = {}

    def run() -> None:
        try:
            box["value"] = call()
        except BaseException as error:
            box["error"] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():  # ask it to stop: a loop in Python does, a call that waits in C does not
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeIsUp))
        raise TimeIsUp
    if "error" in box:
        raise box["error"]
    return box["value"]

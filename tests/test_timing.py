"""When something began and how long it took: two clocks by default, one where it is injected."""

import itertools
import threading

import pytest

from course_kit.harness import timing
from course_kit.harness.timing import clock_here, start_watch, told_by


def test_hours_and_seconds_come_from_their_own_clocks(monkeypatch):
    """A machine's clock may be set back while a call runs; its seconds are right all the same."""
    hours = iter([1_796_050_000.1234567, 5.0])
    ticks = iter([10.0, 12.5000004])
    monkeypatch.setattr(timing.time, "time", lambda: next(hours))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))
    assert start_watch().read() == {"began": 1_796_050_000.123457, "seconds": 2.5}


def test_an_injected_clock_is_both():
    ticks = itertools.count(100.0, 0.5)
    with told_by(lambda: next(ticks)):
        assert start_watch().read() == {"began": 100.0, "seconds": 0.5}
        assert start_watch(lambda: 7.0).read() == {"began": 7.0, "seconds": 0.0}
    assert clock_here() is None


def test_it_holds_in_the_block_alone_and_not_in_other_threads():
    seen = []
    with pytest.raises(ZeroDivisionError), told_by(lambda: 1.0):
        thread = threading.Thread(target=lambda: seen.append(clock_here()))
        thread.start()
        thread.join()
        1 / 0  # noqa: B018
    assert (seen, clock_here()) == ([None], None)

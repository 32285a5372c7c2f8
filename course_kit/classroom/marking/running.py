"""One notebook through its two processes: the learner's code runs in one, the verdicts come from the other.

This side trusts nothing that the first says: it holds the clock, counts memory and bytes, ends what goes beyond, and
starts again after the cell or exercise that was running, so that one `os._exit` does not cost the whole notebook.
"""

import contextlib
import json
import os
import pickle
import queue
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from course_kit.classroom.checks import SECONDS, Verdict
from course_kit.classroom.guarded import stretched
from course_kit.classroom.marking.isolation import INSIDE, Isolation, command, environment
from course_kit.classroom.marking.observers import Observer

__all__ = ["Limits", "Ran", "Stopped", "begin", "end_all", "observe_notebook", "verdicts"]

STARTS = 4  # of one notebook: it is started again after what ended it
GRACE = 3.0  # seconds between the interruption of a cell from inside and its end from outside
JUDGE_SECONDS = 120.0
Process: TypeAlias = "subprocess.Popen[bytes]"
_running: set[Process] = set()
_stopping = threading.Event()


class Stopped(Exception):
    """The whole marking is being ended; what this notebook is worth is not known."""


@dataclass(frozen=True)
class Limits:
    """What one notebook may use: seconds in all and for one cell, memory of all its processes, and the rest.

    A check waits `patience` times as long as it does for the learner, since several notebooks run at once.
    """

    seconds: float = 120.0
    cell_seconds: float = 20.0
    memory_mb: int = 2048
    processes: int = 100
    file_mb: int = 64
    output_mb: int = 8
    patience: float = 2.0


@dataclass
class Ran:
    """What came out of a notebook's process: reports by exercise, and what became of cells that failed."""

    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    cells: dict[int, str] = field(default_factory=dict)
    ended: dict[str, tuple[str, str]] = field(default_factory=dict)  # by exercise: sentence and key
    late: str = ""  # why the rest was not reached


def observe_notebook(
    cells: list[str],
    exercises: dict[str, tuple[str, Observer | None]],
    walls: Isolation,
    limits: Limits,
    shown: tuple[str, str] = ("", ""),
) -> Ran:
    """Run the cells, isolated.

    `exercises` maps an id to the expression that the course's own notebook checks and, where the answer is code, to
    what observes it; `shown` is the name of a module of checks and the part of it that notebooks may import.
    """
    ran, until = Ran(), time.monotonic() + limits.seconds
    skip: set[tuple[str, Any]] = set()
    known = {
        id: {"id": id, "expression": expression, "source": observer.source if observer else "",
             "inputs": observer.inputs if observer else b"",
             "seconds": stretched(limits.patience * (observer.seconds if observer else SECONDS))}
        for id, (expression, observer) in exercises.items()
    }  # fmt: skip
    payload = {"cells": cells, "exercises": known, "cell_seconds": stretched(limits.cell_seconds),
               "limits": _limits(limits), "shown": shown}  # fmt: skip
    for _ in range(STARTS):
        at, reason = _start(payload | {"skip": sorted(skip, key=repr)}, walls, limits, until, ran)
        if reason is None:
            return ran
        kind, which = at
        skip.add(at)
        sentence, key = reason
        if kind == "cell":
            ran.cells.setdefault(which, sentence)  # it may have said why itself
        elif kind == "exercise" and which not in ran.reports:
            ran.ended[which] = (sentence, key)
        if time.monotonic() > until - 1 or kind == "start":
            break
    ran.late = sentence
    return ran


def _start(
    payload: dict[str, Any], walls: Isolation, limits: Limits, until: float, ran: Ran
) -> tuple[tuple[str, Any], tuple[str, str] | None]:
    """One start of the process: what was at work when it ended, and why, or None when it came to its end."""
    at: tuple[str, Any] = ("start", "")
    stepped = time.monotonic()
    with _process("learner_process", payload, walls, limits) as (process, lines):
        watch = _Memory(process.pid, limits.memory_mb)
        while True:
            try:
                line = lines.get(timeout=0.1)
            except queue.Empty:
                line = b"" if process.poll() is None or not lines.empty() else None  # a copy may keep its end open
            now = time.monotonic()
            if _stopping.is_set():
                raise Stopped
            if line is None or line is TOO_MUCH:
                if line is TOO_MUCH:
                    return at, (f"wrote more than {limits.output_mb} MB of results", "too much output")
                return at, ("ended the process that it ran in", "ended its process")
            if line:
                match _read(line):
                    case {"at": ["cell", int(number)]} if 0 < number <= len(payload["cells"]):
                        at, stepped = ("cell", number), now
                    case {"at": ["exercise", str(id)]} if id in payload["exercises"]:
                        at, stepped = ("exercise", id), now
                    case {"cell": int(number), "failed": str(told)} if 0 < number <= len(payload["cells"]):
                        ran.cells[number] = told[:400]
                    case {"exercise": str(id)} as report if id in payload["exercises"]:
                        ran.reports[id] = report
                    case {"end": True}:
                        return at, None
            allowed = payload["cell_seconds"] + GRACE
            if at[0] == "exercise":
                allowed = payload["exercises"][at[1]]["seconds"] + GRACE
            elif at[0] == "start":
                allowed = max(allowed, 60.0)  # imports, on a busy machine
            if now > until:
                return at, (f"had used up the {limits.seconds:g} seconds of its notebook", "out of time")
            if now > stepped + allowed:
                return at, (f"did not finish within {allowed - GRACE:g} seconds", "timed out")
            if watch.over(now):
                return at, (f"held more than {limits.memory_mb:,} MB of memory", "too much memory")


def verdicts(reports: dict[str, dict[str, Any]], observers: dict[str, Observer], limits: Limits) -> dict[str, Verdict]:
    """What the reports are worth, judged in a process that runs none of the learner's code."""
    if not reports:
        return {}
    judged: dict[str, Verdict] = {}
    payload = {
        "reports": [(id, json.dumps(report), observers[id].cases) for id, report in reports.items()],
        "sources": [observers[id].source for id, report in reports.items() if "plain" in report],
        "limits": _limits(limits) | {"processes": 4096},
    }
    until = time.monotonic() + JUDGE_SECONDS
    with _process("judge_process", payload, Isolation("limits", ""), limits) as (_, lines):
        while time.monotonic() < until:
            if _stopping.is_set():
                raise Stopped
            with contextlib.suppress(queue.Empty):
                line = lines.get(timeout=0.5)
                if line is None or line is TOO_MUCH:
                    break
                id, status, message, key = json.loads(line)
                judged[id] = Verdict(status, message, key)
    return judged


def begin() -> None:
    """Allow processes again, after `end_all`."""
    _stopping.clear()


def end_all() -> None:
    """End every process that was started here, and start no other: for Ctrl-C."""
    _stopping.set()
    for process in list(_running):
        _end(process, "")


def _limits(limits: Limits) -> dict[str, int]:
    seconds = int(limits.seconds) + 1
    return {"memory_mb": limits.memory_mb, "file_mb": limits.file_mb, "cpu_seconds": seconds,
            "processes": limits.processes}  # fmt: skip


TOO_MUCH = object()


@contextlib.contextmanager
def _process(
    module: str, payload: dict[str, Any], walls: Isolation, limits: Limits
) -> Iterator[tuple[Process, "queue.Queue[Any]"]]:
    """A process of ours with its lines of output as a queue; None in it means that there is no more."""
    mark = secrets.token_hex(8)
    with (
        tempfile.TemporaryDirectory(prefix="course-marking-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as sent,
    ):
        inside = INSIDE if walls.kind == "namespaces" else folder
        if walls.kind != "namespaces" and module == "learner_process":
            payload = payload | {"limits": payload["limits"] | {"processes": _tasks_now() + limits.processes}}
        sent.write(pickle.dumps(payload | {"folder": inside}))
        sent.seek(0)
        argv = [sys.executable, "-s", "-P", "-m", f"course_kit.classroom.marking.{module}"]
        process = subprocess.Popen(
            command(walls, argv, Path(folder), limits.file_mb),
            stdin=sent,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment(inside) | {"COURSE_MARKING": mark},
            start_new_session=os.name == "posix",
        )
        _running.add(process)
        lines: queue.Queue[Any] = queue.Queue()
        reader = threading.Thread(target=_read_lines, args=(process, limits.output_mb << 20, lines), daemon=True)
        reader.start()
        try:
            yield process, lines
        finally:
            _end(process, "" if walls.kind == "namespaces" else mark)
            _running.discard(process)
            reader.join(2)


def _read_lines(process: Process, most: int, lines: "queue.Queue[Any]") -> None:
    assert process.stdout is not None
    total, rest = 0, b""
    while chunk := os.read(process.stdout.fileno(), 1 << 16):
        total += len(chunk)
        if total > most:
            lines.put(TOO_MUCH)
            break
        *whole, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else [rest + chunk]
        for line in whole:
            lines.put(line)
    lines.put(None)
    process.stdout.close()


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _end(process: Process, mark: str) -> None:
    """End a process and all that it started. Without namespaces, children that left its group are known by a mark."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    if not mark:
        return
    import psutil

    for _ in range(3):
        strays = []
        for other in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if other.environ().get("COURSE_MARKING") == mark:
                    strays.append(other)
        for other in strays:
            with contextlib.suppress(psutil.Error):
                other.kill()
        if not strays:
            return


def _tasks_now() -> int:
    """How many threads this user has, since a limit on processes counts them all."""
    import psutil

    total, me = 0, psutil.Process().username()
    for other in psutil.process_iter(["username", "num_threads"]):
        if other.info["username"] == me:
            total += other.info["num_threads"] or 1
    return total


class _Memory:
    """Adds up, a few times a second, what a process and its descendants hold."""

    def __init__(self, pid: int, most_mb: int):
        import psutil

        self._psutil, self._most, self._next = psutil, most_mb << 20, 0.0
        try:
            self._process = psutil.Process(pid)
        except psutil.Error:
            self._process = None

    def over(self, now: float) -> bool:
        if self._process is None or now < self._next:
            return False
        self._next, held = now + 0.25, 0
        with contextlib.suppress(self._psutil.Error):
            for one in [self._process, *self._process.children(recursive=True)]:
                with contextlib.suppress(self._psutil.Error):
                    held += one.memory_info().rss
        return held > self._most

"""`course doctor`: what is wrong with this machine, and how to fix it.

    from course_kit.doctor import diagnose
    diagnose()          # → "All 11 checks passed." or the checks that failed, each with what to do

Each check is one function that returns what it saw, or raises `Ill` with what is wrong and how to fix it. `NOTES` are
looked at and never fail. Nothing is changed on the machine, nothing leaves it, and no key is ever shown.
"""

import contextlib
import importlib.metadata
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CHECKS", "NOTES", "Check", "Diagnosis", "Ill", "diagnose", "find_browser"]

INSTALL = 'pip install "course-kit[lab]"'
MIN_PYTHON = (3, 11)
FREE_MEGABYTES = 300
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
IMPORTS = "anthropic, ipywidgets, jsonschema, jsonschema_rs, matplotlib.pyplot, pandas, pydantic, course_kit"


class Ill(Exception):
    """A check failed: what is wrong, and what to do about it."""

    def __init__(self, wrong: str, cure: str):
        super().__init__(f"{wrong}. {cure}.")
        self.wrong = wrong
        self.cure = cure


@dataclass(frozen=True)
class Check:
    """One line of the diagnosis. `ok` is None for a note, which is shown and never fails."""

    name: str
    ok: bool | None
    seen: str
    cure: str = ""

    def line(self, width: int) -> str:
        """What was seen, after a name of this width, and what to do about it on a line below."""
        mark = {True: "ok", False: "WRONG", None: "note"}[self.ok]
        below = f"\n       {'':<{width}}  → {self.cure}" if self.cure else ""
        return f"{mark:<6} {self.name:<{width}}  {self.seen}{below}"


@dataclass(frozen=True)
class Diagnosis:
    """All checks. Printed, it is one sentence that is the same on every healthy machine; `.table()` says everything."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.ok is False)

    def table(self) -> str:
        """Every check on its own line, with the fix below each that failed."""
        width = max(len(check.name) for check in self.checks)
        return "\n".join([*(check.line(width) for check in self.checks), "", self.sentence()])

    def __repr__(self) -> str:
        return "\n".join([self.sentence(), *(f"  {check.name}: {check.seen}. {check.cure}." for check in self.failed)])

    def sentence(self) -> str:
        """How many checks passed or failed."""
        total = sum(check.ok is not None for check in self.checks)
        return f"All {total} checks passed." if self.ok else f"{len(self.failed)} of {total} checks failed."


def diagnose(workspace: Path | None = None, on_check: Callable[[Check], None] = lambda check: None) -> Diagnosis:
    """Look at everything the course needs on this machine, in about five seconds; `on_check` gets each check."""
    checks = []
    for check in _looked(workspace):
        on_check(check)
        checks.append(check)
    return Diagnosis(tuple(checks))


def _looked(folder: Path | None) -> Iterator[Check]:
    for name, look in CHECKS.items():
        try:
            if folder is None and look in NEED_WORKSPACE:
                folder = _workspace()
            yield Check(name, True, look(folder) if look in NEED_WORKSPACE else look())
        except Ill as ill:
            yield Check(name, False, ill.wrong, ill.cure)
        except Exception as problem:  # a check that cannot be made is a finding too
            yield Check(name, False, f"{type(problem).__name__}: {problem}", f"Install again: `{INSTALL}`")
    yield from (Check(name, None, look()) for name, look in NOTES.items())


def find_browser() -> str | None:
    """A Chromium or Chrome on this machine, for the browser tests."""
    return next(filter(None, (shutil.which(name) for name in BROWSERS)), None)


def python_version() -> str:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        raise Ill(f"Python {found} is too old", "Install Python 3.11 or newer and set the course up again with it")
    return found


def packages() -> str:
    """Every package the course asks for is there, in the range it asks for."""
    from packaging.requirements import Requirement

    problems, count = [], 0
    for text in importlib.metadata.requires("course-kit") or []:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": "lab"}):
            continue
        count += 1
        try:
            found = importlib.metadata.version(wanted.name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{wanted.name} is missing")
        else:
            if not wanted.specifier.contains(found, prereleases=True):
                problems.append(f"{wanted.name} is {found}; {wanted.specifier} is needed")
    if problems:
        raise Ill("; ".join(problems), f"Run `{INSTALL}`")
    return f"{count} packages, all in range"


def kernel() -> str:
    """A kernel of this Python starts, imports what the lessons import and answers."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    cure = f"Run `{INSTALL}`, and start the course with the Python it was installed for"
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    heard: list[str] = []

    def listen(message: dict[str, Any]) -> None:
        content = message["content"]
        heard.append(content.get("text") or f"{content.get('ename', '')}: {content.get('evalue', '')}")

    manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=30)
        code = f"import {IMPORTS}; print('ready')"
        client.execute_interactive(code, timeout=60, allow_stdin=False, output_hook=_only_output(listen))
    except (RuntimeError, TimeoutError) as problem:
        raise Ill(f"a notebook kernel does not answer ({problem})", cure) from None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    if "".join(heard).strip() != "ready":
        raise Ill(f"a notebook kernel cannot import what the lessons need ({' '.join(heard).strip()})", cure)
    return "starts and imports what the lessons need"


def lessons() -> str:
    """The course's own files are in this installation."""
    from course_kit.classroom.workspace import course_files
    from course_kit.errors import SetupError

    try:
        return f"in {course_files()}"
    except SetupError as problem:
        raise Ill(str(problem).rstrip("."), f"Run `{INSTALL}`") from None


def writable(workspace: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=workspace) as file:
            file.write(b"course")
    except OSError as problem:
        raise Ill(
            f"the workspace {workspace} is not writable ({problem.strerror})",
            "Choose another folder with `course lab --workspace DIR`",
        ) from None
    return str(workspace)


def space(workspace: Path) -> str:
    free = shutil.disk_usage(workspace).free // 2**20
    if free < FREE_MEGABYTES:
        raise Ill(f"only {free} MB are free at the workspace", f"Free at least {FREE_MEGABYTES} MB there")
    return f"{free:,} MB free"


def sqlite(workspace: Path) -> str:
    """SQLite is recent enough and its write-ahead log works in the workspace (it does not on network drives)."""
    if sqlite3.sqlite_version_info < (3, 35):
        raise Ill(
            f"SQLite {sqlite3.sqlite_version} is too old", "Install a current Python, which brings a newer SQLite"
        )
    with tempfile.TemporaryDirectory(dir=workspace, prefix=".doctor-", ignore_cleanup_errors=True) as folder:
        with contextlib.closing(sqlite3.connect(Path(folder) / "try.sqlite3")) as connection:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            connection.execute("CREATE TABLE tried (value TEXT)")
            connection.commit()
    if mode != "wal":
        raise Ill(
            f"SQLite cannot keep its write-ahead log in {workspace}, which is usual on a network drive",
            "Choose a folder on a local disk with `course lab --workspace DIR`",
        )
    return f"SQLite {sqlite3.sqlite_version}, write-ahead log works"


def loopback() -> str:
    """A port on 127.0.0.1 can be opened and reached: JupyterLab and `course mock` need that."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname(), timeout=5):
                return "a port opens and answers on 127.0.0.1"
    except OSError as problem:
        raise Ill(
            f"no port can be opened and reached on 127.0.0.1 ({problem.strerror or problem})",
            "Allow Python in the firewall or security software of this machine",
        ) from None


def text() -> str:
    """What the lessons print can be printed here."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "é → 中文".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        raise Ill(f"this console writes {encoding}, which cannot show all of the course", "Set PYTHONUTF8=1") from None
    return f"the console writes {encoding}"


def sdk() -> str:
    """The real SDK sends a request to the in-process mock and reads the reply."""
    from course_kit.contract.models import DEFAULT_MODEL
    from course_kit.mock.provider import MockProvider
    from course_kit.mock.scripted import Scripted

    client = MockProvider(model=Scripted(["ready"])).client()
    reply = client.messages.create(
        model=DEFAULT_MODEL, max_tokens=16, messages=[{"role": "user", "content": "Are you there?"}]
    )
    if [block.text for block in reply.content if block.type == "text"] != ["ready"]:
        raise Ill("the SDK misreads the mock's reply", f"Run `{INSTALL}`")
    return f"anthropic {importlib.metadata.version('anthropic')} talks to the mock"


def live() -> str:
    """Live is off, or it is on and has a key. The key itself is never looked at."""
    switched_on = os.environ.get("COURSE_LIVE", "").strip().lower() in {"1", "true", "yes", "on"}
    has_key = bool(os.environ.get("ANTHROPIC_API_KEY"))
    if switched_on and not has_key:
        raise Ill(
            "COURSE_LIVE is on, but there is no key", "Set ANTHROPIC_API_KEY, or unset COURSE_LIVE to use the mock"
        )
    if switched_on:
        return "ON: lessons may spend tokens of the key in ANTHROPIC_API_KEY"
    return f"off: everything runs on the mock{'; your key is not used' if has_key else ''}"


def browser() -> str:
    return find_browser() or "no Chromium or Chrome found; only the browser tests need one"


CHECKS: dict[str, Callable[..., str]] = {
    "Python": python_version,
    "packages": packages,
    "lessons": lessons,
    "kernel": kernel,
    "workspace": writable,
    "disk space": space,
    "database": sqlite,
    "loopback": loopback,
    "letters": text,
    "SDK and mock": sdk,
    "live": live,
}
NEED_WORKSPACE = (writable, space, sqlite)
NOTES: dict[str, Callable[[], str]] = {"browser": browser}


def _workspace() -> Path:
    from course_kit.classroom.workspace import workspace
    from course_kit.errors import SetupError

    try:
        return workspace()
    except SetupError as problem:
        raise Ill(str(problem).rstrip("."), "Choose another folder with `course lab --workspace DIR`") from None


def _only_output(listen: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    return lambda message: listen(message) if message["msg_type"] in ("stream", "error") else None

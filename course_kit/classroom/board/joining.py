"""The learner's side of the board: `join("http://127.0.0.1:8765", "4K7-QX2", nickname="heron")`, and `leave()`.

The board you joined is kept in the workspace (`board.json`). From then on `tell` sends the counts of `counts.py` after
each recorded answer or try, from its own thread: nothing waits for it, and a board that does not answer is left alone
for a while. The code and a random key, by which the board recognises this workspace, travel in the headers; the body
is the nickname and the counts.
"""

import atexit
import http.client
import json
import os
import random
import secrets
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from course_kit.classroom.board.counts import NOTHING, clean_nickname, read_counts
from course_kit.classroom.workspace import workspace
from course_kit.errors import CourseKitError, SetupError

__all__ = ["Joined", "Said", "drawn_nickname", "join", "joined", "leave", "tell"]

SECONDS_TO_ANSWER = 4.0
SECONDS_OF_PEACE, MOST_PEACE = 15.0, 240.0  # for a board that did not answer, doubled each time
SECONDS_AT_THE_END = 1.0  # for a post that is under way when the program ends
KINDS = "amber brave calm clever gentle lucky merry quick quiet silver sunny swift".split()
ANIMALS = "badger crane finch fox hare heron lynx magpie otter panda robin seal".split()


class Said(str):
    """What was done, in a sentence."""

    __repr__ = str.__str__


@dataclass(frozen=True)
class Joined:
    """The board this workspace tells its counts to."""

    url: str
    code: str
    nickname: str
    key: str


class NotTaken(CourseKitError):
    """The board refused the post; its own sentence says why."""


def join(url: str, code: str, nickname: str | None = None) -> Said:
    """Show your progress on the board at `url`, by default under a random nickname. Names and answers never leave."""
    name = clean_nickname(nickname) if nickname is not None else drawn_nickname()
    if name is None:
        raise CourseKitError(
            "A nickname has 1 to 24 letters, digits, spaces or . _ - and begins with a letter or digit."
        )
    if not (code.strip().isascii() and code.strip().isprintable() and 1 <= len(code.strip()) <= 40):
        raise CourseKitError("That is not a join code: it looks like 4K7-QX2 and is on your instructor's screen.")
    before = joined()
    key = before.key if before else secrets.token_urlsafe(16)
    board = Joined(_address(url), code.strip(), name, key)
    try:
        _send("POST", board, workspace())
    except NotTaken as problem:
        raise CourseKitError(str(problem)) from None
    except (OSError, http.client.HTTPException, UnicodeError) as problem:
        raise SetupError(
            f"No board answers at {board.url} ({getattr(problem, 'strerror', None) or type(problem).__name__}): "
            "check the address, and that you are on the same network as your instructor."
        ) from None
    file = _file()
    try:
        partial = file.with_suffix(".part")
        partial.write_text(json.dumps(asdict(board), indent=1), encoding="utf-8")
        partial.replace(file)
    except OSError as problem:
        raise SetupError(f"You are on the board, but {file} cannot be written ({problem.strerror}).") from None
    return Said(
        f"You are on the board as {name}. It gets counts only: where you are, what is tried or passed, how many "
        "questions are answered. `leave()` ends it."
    )


def leave() -> Said:
    """Take yourself off the board and tell it nothing more."""
    board = joined()
    _file().unlink(missing_ok=True)
    if board is None:
        return Said("You are not on a board.")
    try:
        _send("DELETE", board, workspace())
    except (NotTaken, OSError, http.client.HTTPException):
        return Said(
            "You have left: nothing more is sent. The board itself did not answer and may show you a little longer."
        )
    return Said("You have left the board: nothing more is sent.")


def joined() -> Joined | None:
    """The board this workspace has joined, or None."""
    return _kept(workspace())


def _kept(folder: Path) -> Joined | None:
    try:
        kept = json.loads((folder / "board.json").read_text(encoding="utf-8"))
        return Joined(_address(kept["url"]), *(str(kept[part]) for part in ("code", "nickname", "key")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, CourseKitError):
        return None


def drawn_nickname() -> str:
    """A nickname that says nothing about anybody: `calm otter 41`."""
    draw = random.SystemRandom()  # never the generator that a lesson has seeded
    return f"{draw.choice(KINDS)} {draw.choice(ANIMALS)} {draw.randint(10, 99)}"


def tell() -> None:
    """Send the newest counts soon, if this workspace has joined a board. Returns at once and never raises."""
    try:
        folder = workspace()
        if (folder / "board.json").exists():
            _teller.wake(folder)
    except Exception:
        pass  # whatever goes wrong here, the lesson continues


class _Teller:
    """One thread that sends the newest state; what happens while it is sending is sent once, afterwards."""

    def __init__(self) -> None:
        self.news, self.idle = threading.Event(), threading.Event()
        self.idle.set()
        self.process = 0
        self.folder = Path()  # as it was at the last event: by now the current folder may be another one
        self.quiet_until, self.peace = 0.0, SECONDS_OF_PEACE

    def wake(self, folder: Path) -> None:
        self.folder = folder
        if time.monotonic() >= self.quiet_until:
            self.idle.clear()
        self.news.set()
        if self.process != os.getpid():  # not yet, or in the parent of a forked process
            self.process = os.getpid()
            threading.Thread(target=self._run, name="course-board", daemon=True).start()
            atexit.register(self.idle.wait, SECONDS_AT_THE_END)

    def _run(self) -> None:
        while True:
            self.news.wait()
            time.sleep(max(0.0, self.quiet_until - time.monotonic()))
            self.news.clear()
            try:
                if board := _kept(self.folder):
                    _send("POST", board, self.folder)
                self.peace = SECONDS_OF_PEACE
            except (OSError, http.client.HTTPException):
                self.quiet_until = time.monotonic() + self.peace
                self.peace = min(2 * self.peace, MOST_PEACE)
                self.news.set()  # once more, when the peace is over
                self.idle.set()
            except Exception:
                pass  # refused, or the workspace is gone: the next event tries again
            if not self.news.is_set():
                self.idle.set()


_teller = _Teller()


def _send(method: str, board: Joined, folder: Path) -> None:
    """One request, straight to the board: through no proxy, following no redirection."""
    parts = urlsplit(board.url)
    counts = read_counts(folder / "progress.sqlite3") or NOTHING
    told = {"nickname": board.nickname, **(counts if method == "POST" else {})}
    kind: Any = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=SECONDS_TO_ANSWER)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {board.code}", "X-Course-Key": board.key}
    try:
        connection.request(method, f"{parts.path}/learner", json.dumps(told).encode(), headers)
        reply = connection.getresponse()
        said = reply.read(1000).decode(errors="replace")
    finally:
        connection.close()
    if reply.status == 204:
        return
    if reply.headers.get("X-Course-Board") is None:
        raise NotTaken(f"What answers at {board.url} is not a course board: check the address.")
    raise NotTaken(said)


def _address(url: str) -> str:
    parts = urlsplit(url.strip())
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1)
    except ValueError:
        good = False
    if not good:
        raise CourseKitError(
            f"{url!r} is not a board's address: it begins with http://, as on your instructor's screen."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _file() -> Path:
    return workspace() / "board.json"

"""The instructor's side of the board: who is in the room and what each has told, all of it within bounds.

    room = Room(code="4K7-QX2", workspaces="learners/*")
    room.take(address, code, key, {"nickname": "heron", …})    # a post; a `Refusal` says why not
    room.rows()                                                 # what the page shows

A nickname belongs to the key that came with it first, so nobody can post under another's. Nothing is written to disk: a
board that is started again fills itself from the next posts. HTTP is in `serving.py`, the look in `page.py`.
"""

import glob
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_kit.classroom.board.counts import NOTHING, clean_nickname, fits, read_counts
from course_kit.errors import CourseKitError

__all__ = ["Refusal", "Room", "Row", "Trouble", "new_code"]

STUCK = 3  # tries at one exercise that is not passed
MOST_LEARNERS = 200
POSTS_A_MINUTE = 60  # of one learner
WRONG_CODES_A_MINUTE = 10  # from one address
MOST_ADDRESSES = 1000  # whose counters are kept
SECONDS_BETWEEN_READINGS = 2.0
SHORTEST_CODE = 4
LETTERS = "ABCDEFGHJKLMNPQRTUVWXYZ2346789"  # none that is taken for another


class Refusal(CourseKitError):
    """A post that the room does not take; the message is sent back to the learner."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Trouble:
    """An exercise that was tried several times and is not passed."""

    exercise: str
    tries: int


@dataclass(frozen=True)
class Row:
    """One learner on the board. `counts` is None where a folder's progress cannot be read."""

    nickname: str
    counts: Mapping[str, Any] | None
    seconds_ago: float | None = None

    @property
    def stuck(self) -> tuple[Trouble, ...]:
        """The exercises tried `STUCK` times and more without passing."""
        exercises = (self.counts or NOTHING)["exercises"].items()
        return tuple(Trouble(id, one["tries"]) for id, one in exercises if not one["passed"] and one["tries"] >= STUCK)


def new_code() -> str:
    """A join code that can be read aloud: `4K7-QX2`. With ten tries a minute it is not guessed in a lifetime."""
    drawn = "".join(secrets.choice(LETTERS) for _ in range(6))
    return f"{drawn[:3]}-{drawn[3:]}"


class _Rate:
    """How often each of many did something within the last minute; who is not heard of is forgotten first."""

    def __init__(self, limit: int, clock: Callable[[], float]):
        self.limit, self.clock = limit, clock
        self.times: OrderedDict[str, list[float]] = OrderedDict()

    def full(self, who: str) -> bool:
        now = self.clock()
        recent = [at for at in self.times.get(who, ()) if now - at < 60]
        if who in self.times:
            self.times[who] = recent
        return len(recent) >= self.limit

    def count(self, who: str) -> None:
        self.times.setdefault(who, []).append(self.clock())
        self.times.move_to_end(who)
        while len(self.times) > MOST_ADDRESSES:
            self.times.popitem(last=False)


@dataclass
class _Learner:
    nickname: str
    key: str
    counts: Mapping[str, Any]
    at: float


class Room:
    """Who is in the room: those who joined with the code, and the owners of the folders named by `workspaces`."""

    def __init__(
        self,
        code: str,
        workspaces: str | None = None,
        most_learners: int = MOST_LEARNERS,
        clock: Callable[[], float] = time.monotonic,
    ):
        if len(_plain(code)) < SHORTEST_CODE:
            raise CourseKitError(f"A join code needs at least {SHORTEST_CODE} letters or digits: choose a longer one.")
        self.code, self.workspaces, self.most_learners, self.clock = code, workspaces, most_learners, clock
        self._learners: dict[str, _Learner] = {}
        self._posts, self._wrong = _Rate(POSTS_A_MINUTE, clock), _Rate(WRONG_CODES_A_MINUTE, clock)
        self._folders: list[Row] = []
        self._read_at: float | None = None

    def take(self, address: str, code: str, key: str, told: Any) -> None:
        """Keep what a learner tells, or raise a `Refusal`. `told` is the nickname and the counts."""
        name = self._who(address, code, key, told)
        counts = {part: value for part, value in told.items() if part != "nickname"}
        if not fits(counts):
            raise Refusal(400, "The board understands only counts: update course-kit on this machine.")
        if name.casefold() not in self._learners and len(self._learners) >= self.most_learners:
            raise Refusal(409, f"The board is full ({self.most_learners} learners): tell your instructor.")
        self._learners[name.casefold()] = _Learner(name, key, counts, self.clock())

    def drop(self, address: str, code: str, key: str, told: Any) -> None:
        """Take a learner off the board, at their own request."""
        self._learners.pop(self._who(address, code, key, told).casefold(), None)

    def _who(self, address: str, code: str, key: str, told: Any) -> str:
        """The nickname, once code, nickname and key are found right."""
        if self._wrong.full(address):
            raise Refusal(429, "Too many wrong join codes from this machine: wait a minute, then try again.")
        if not hmac.compare_digest(_plain(code), _plain(self.code)):
            self._wrong.count(address)
            raise Refusal(403, "This is not the join code of this board: ask your instructor for it.")
        name = clean_nickname(told.get("nickname")) if isinstance(told, dict) else None
        if name is None or not 8 <= len(key) <= 100:
            raise Refusal(400, "A nickname has 1 to 24 letters, digits or spaces: choose another.")
        owner = self._learners.get(name.casefold())
        if owner and not hmac.compare_digest(owner.key.encode(), key.encode()):
            raise Refusal(409, f"Somebody else here is called {name}: choose another nickname.")
        if self._posts.full(name.casefold()):
            raise Refusal(429, "The board takes one post a second: it will take the next one.")
        self._posts.count(name.casefold())
        return name

    def rows(self) -> list[Row]:
        """Everybody, by nickname."""
        now = self.clock()
        joined = [Row(one.nickname, one.counts, now - one.at) for one in self._learners.values()]
        names = {row.nickname.casefold() for row in joined}
        folders = [row for row in self._read_folders(now) if row.nickname.casefold() not in names]
        return sorted(joined + folders, key=lambda row: row.nickname.casefold())

    def _read_folders(self, now: float) -> list[Row]:
        if self.workspaces and (self._read_at is None or now - self._read_at >= SECONDS_BETWEEN_READINGS):
            found = sorted(Path(path) for path in glob.glob(self.workspaces) if Path(path).is_dir())
            rows = (Row(_name_of(folder), read_counts(folder / "progress.sqlite3")) for folder in found)
            self._folders = list(rows)[: self.most_learners]
            self._read_at = now
        return self._folders


def _plain(code: str) -> bytes:
    """A code as it is compared: small letters, spaces and dashes make no difference."""
    return "".join(letter for letter in code.upper() if letter.isalnum()).encode()


def _name_of(folder: Path) -> str:
    """The folder's name; for `ada/workspace` the one above it says more."""
    name = folder.parent.name if folder.name in ("workspace", "work") else folder.name
    return clean_nickname(name) or "".join(letter if letter.isalnum() else "_" for letter in name)[:24]

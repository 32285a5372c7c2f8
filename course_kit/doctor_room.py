"""`course doctor --room DIR`: which laptops of a room are broken, before the room meets.

    course doctor --json --nickname heron     each learner: writes doctor-heron.json, to be sent to the instructor
    course doctor --room DIR                  the instructor: reads a folder of them, says who needs what

A diagnosis that leaves a machine names a nickname and the system; the account's name and its folders are taken out.
The files come from elsewhere: they are read within bounds, and nothing in them reaches the terminal as it is.
"""

import getpass
import json
import platform
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_kit.classroom.board.counts import clean_nickname
from course_kit.classroom.board.joining import drawn_nickname, joined
from course_kit.classroom.visible import padded, visible
from course_kit.doctor import Diagnosis
from course_kit.errors import SetupError

__all__ = ["Machine", "RoomReport", "as_json", "read_room", "write_diagnosis"]

MOST_FILES, MOST_BYTES = 1000, 100_000
TEXT = {"type": "string", "maxLength": 2000}
SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["nickname", "system", "python", "at", "checks"],
    "properties": {
        "nickname": {"type": "string", "maxLength": 100},
        **{part: {"type": "string", "maxLength": 100} for part in ("system", "python", "course", "at")},
        "checks": {
            "type": "array",
            "maxItems": 100,
            "items": {
                "type": "object",
                "required": ["name", "ok", "seen", "cure"],
                "properties": {"name": TEXT, "ok": {"type": ["boolean", "null"]}, "seen": TEXT, "cure": TEXT},
            },
        },
    },
}


# ── On a learner's machine ───────────────────────────────────────────────────────────────────────────────────────────


def write_diagnosis(diagnosis: Diagnosis, nickname: str | None, folder: Path) -> Path:
    """Write `doctor-NICKNAME.json`; by default with the nickname on the joined board, or a random one."""
    board = joined() if nickname is None else None
    name = clean_nickname(nickname or (board.nickname if board else drawn_nickname()))
    if name is None:
        raise SetupError("A nickname has 1 to 24 letters, digits or spaces: choose another.")
    file = folder / f"doctor-{name.replace(' ', '-')}.json"
    try:
        file.write_text(json.dumps(as_json(diagnosis, name), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise SetupError(f"{file} cannot be written ({problem.strerror}): go to another folder.") from None
    return file


def as_json(diagnosis: Diagnosis, nickname: str) -> dict[str, Any]:
    """The diagnosis as it may leave this machine."""
    from course_kit import __version__

    checks = [
        {"name": one.name, "ok": one.ok, "seen": _without_account(one.seen), "cure": _without_account(one.cure)}
        for one in diagnosis.checks
    ]
    return {
        "nickname": nickname,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "course": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "checks": checks,
    }


def _without_account(text: str) -> str:
    """`/home/ada/course` → `~/course`; the account's and the machine's name become dots wherever they stand."""
    homes = {str(Path.home()), str(Path.home().resolve())}
    for home in sorted((home for home in homes if len(home) > 3), key=len, reverse=True):
        text = text.replace(home, "~").replace(home.replace("\\", "/"), "~")
    try:
        names = {getpass.getuser(), platform.node(), platform.node().split(".")[0]}
    except (OSError, KeyError, ImportError):  # no such account, as in some containers
        names = {platform.node()}
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text, flags=re.IGNORECASE)
    return text


# ── On the instructor's ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Machine:
    """One learner's machine. `wrong` lists what failed, each with its fix."""

    nickname: str
    system: str
    python: str
    at: str
    wrong: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RoomReport:
    """Which machines are broken, and the fixes. `unread` names the files that are not a diagnosis, with the reason."""

    machines: tuple[Machine, ...]
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every file was read and every machine is healthy."""
        return not self.unread and not any(machine.wrong for machine in self.machines)

    def table(self) -> str:
        """The broken machines first, each complaint with its fix; then the healthy ones, and a summary."""
        broken = [machine for machine in self.machines if machine.wrong]
        lines = []
        for machine in broken:
            lines.append(f"WRONG  {padded(machine.nickname, 24)}  {machine.system}, Python {machine.python}")
            for seen, cure in machine.wrong:
                lines += [f"         {seen}", f"         → {cure}"]
        lines += [f"UNREAD {padded(name, 24)}  {reason}" for name, reason in self.unread]
        lines += [
            f"ok     {padded(machine.nickname, 24)}  {machine.system}, Python {machine.python}"
            for machine in self.machines
            if not machine.wrong
        ]
        return "\n".join([*lines, *([""] if lines else []), self._sentence(broken)])

    def _sentence(self, broken: list[Machine]) -> str:
        total = len(self.machines)
        if not total and not self.unread:
            return "There is no diagnosis here yet: learners write one with `course doctor --json`."
        said = f"{total - len(broken)} of {total} machines are ready."
        if self.unread:
            said += f" {len(self.unread)} file{'s' if len(self.unread) > 1 else ''} could not be read."
        common = Counter(
            cure for machine in broken for cure in dict.fromkeys(cure for _, cure in machine.wrong)
        ).most_common(1)
        if common and common[0][1] > 1:
            said += f" The most common fix, for {common[0][1]} machines: {common[0][0]}."
        return said

    def __repr__(self) -> str:
        return self.table()


def read_room(folder: Path) -> RoomReport:
    """Read every `*.json` of a folder; of two diagnoses of one nickname the newer counts."""
    machines: dict[str, Machine] = {}
    unread: list[tuple[str, str]] = []
    files = sorted(file for file in folder.glob("*.json"))
    for file in files[:MOST_FILES]:
        machine = _read(file)
        if isinstance(machine, str):
            unread.append((visible(file.name)[:60], machine))
        elif (known := machines.get(machine.nickname.casefold())) is None or known.at <= machine.at:
            machines[machine.nickname.casefold()] = machine
    if len(files) > MOST_FILES:
        unread.append((f"{len(files) - MOST_FILES} more files", f"only {MOST_FILES} are read at a time"))
    return RoomReport(tuple(sorted(machines.values(), key=lambda one: one.nickname.casefold())), tuple(unread))


def _read(file: Path) -> Machine | str:
    """One machine, or why the file is not a diagnosis."""
    from course_kit.contract.schema import check_tool_input

    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            return "not a diagnosis: not a file, or too long"
        content = file.read_bytes()
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        told = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return "cannot be read: ask for the file that `course doctor --json` writes"
    if not check_tool_input(SHAPE, told).ok or (name := clean_nickname(told["nickname"])) is None:
        return "not a diagnosis from `course doctor --json`: ask for it again"
    wrong = tuple(
        (f"{_line(one['name'])}: {_line(one['seen'])}", _line(one["cure"]))
        for one in told["checks"]
        if one["ok"] is False
    )
    return Machine(name, _line(told["system"]), _line(told["python"]), told["at"], wrong)


def _line(text: str) -> str:
    """Others' text on one line: no control characters, so that it cannot steer the terminal."""
    return visible(" ".join(text.split()))[:400]

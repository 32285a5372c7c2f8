"""`course bundle DIR`: gather all that a learner's machine needs to install the course with no network.

    DIR/install.py     what learners run                 DIR/notebooks/, DIR/exercises/   to read as they are
    DIR/wheels/        the course, all it needs, pip     DIR/bundle.json                  what is in it, with checksums

uv finds out what each system needs (pip alone would look at this machine's), pip downloads it. Installing from the
bundle is `install.py`'s business.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_kit.classroom.workspace import clone
from course_kit.errors import SetupError

__all__ = ["SYSTEMS", "System", "make_bundle", "this_system"]


@dataclass(frozen=True)
class System:
    """A kind of machine: its name in uv, and the tags of wheels that fit it."""

    uv: str
    tags: tuple[str, ...]


def _linux(machine: str) -> System:
    versions = ("2_28", "2_27", "2_26", "2_24", "2_17", "2_12", "2_5")
    tags = [f"manylinux_{version}_{machine}" for version in versions]
    return System(f"{machine}-manylinux_2_28", (*tags, f"manylinux2014_{machine}"))


SYSTEMS = {
    "linux": _linux("x86_64"),
    "linux-arm": _linux("aarch64"),
    "macos": System("aarch64-apple-darwin", ("macosx_14_0_arm64", "macosx_14_0_universal2")),
    "macos-intel": System("x86_64-apple-darwin", ("macosx_14_0_x86_64", "macosx_14_0_universal2")),
    "windows": System("x86_64-pc-windows-msvc", ("win_amd64",)),
}
LETTER = """Install the course without a network.

1. Copy this whole folder to your machine.
2. In a terminal, in this folder:

       python3 install.py        (Windows: py install.py)

   It needs Python 3.11 or later, and creates the folder tool-calling-course where you are.
   For another folder: python3 install.py FOLDER
3. It prints how to start the course.

This bundle is for: {made_for}.
The notebooks beside this file are for reading; `course lab` gives you your own copies.
"""


def this_system() -> str:
    """The name of this machine's kind in `SYSTEMS`."""
    import platform

    arm = platform.machine().lower() in ("arm64", "aarch64")
    match sys.platform:
        case "win32":
            return "windows"
        case "darwin":
            return "macos" if arm else "macos-intel"
        case _:
            return "linux-arm" if arm else "linux"


def make_bundle(
    folder: Path,
    systems: Iterable[str] = (),
    pythons: Iterable[str] = (),
    say: Callable[[str], Any] = print,
) -> Path:
    """Fill `folder`; for this machine's kind and Python unless others are named. Takes a minute or two for each."""
    root = clone()
    if root is None:
        raise SetupError("A bundle is made in a clone of the course: get one, and run `course bundle` there.")
    if shutil.which("uv") is None:
        raise SetupError("Making a bundle needs uv: run `pip install uv`.")
    folder = folder.absolute()
    if folder.exists() and any(folder.iterdir()) and not (folder / "bundle.json").is_file():
        raise SetupError(f"{folder} holds other files: name an empty folder or a new one.")
    targets = [(one, version) for one in systems or [this_system()] for version in pythons or [_this_python()]]
    made_for = [f"{system}, Python {version}" for system, version in targets]
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    try:
        wheels.mkdir(parents=True)
        _tell(folder, made_for, {"it was not finished": "no digest"})  # stopped, the folder is known as ours
    except OSError as problem:
        raise SetupError(f"{folder} cannot be written ({problem.strerror}): name another folder.") from None
    say("Building the course's own wheel.")
    _run(["uv", "build", "--quiet", "--wheel", "--out-dir", str(wheels), str(root)], "the course's wheel")
    (wheels / ".gitignore").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for system, version in targets:
            say(f"Downloading what {system} with Python {version} needs.")
            _download(root, wheels, Path(scratch), system, version)
    for part in ("notebooks", "exercises"):
        shutil.rmtree(folder / part, ignore_errors=True)
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("src", ".*", "__pycache__"))
    shutil.copy(Path(__file__).with_name("install.py"), folder / "install.py")
    (folder / "READ_ME.txt").write_text(LETTER.format(made_for="; ".join(made_for)), encoding="utf-8")
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(wheels.iterdir())}
    _tell(folder, made_for, files)
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    say(f"The bundle is in {folder}: {len(files)} wheels, {megabytes:.0f} MB. Learners run `python install.py` there.")
    return folder


def _tell(folder: Path, made_for: list[str], files: dict[str, str]) -> None:
    told = {"install": "course-kit[lab]", "made_for": made_for, "files": files}
    (folder / "bundle.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def _download(root: Path, wheels: Path, scratch: Path, system: str, version: str) -> None:
    kind, needed = SYSTEMS[system], scratch / "needed.txt"
    find = ["uv", "pip", "compile", str(root / "pyproject.toml"), "--extra", "lab", "--quiet", "--no-header"]
    find += ["--no-annotate", "--no-build", "--no-emit-index-url", "--output-file", str(needed), "--upgrade"]
    _run([*find, "--python-platform", kind.uv, "--python-version", version], f"what {system} needs")
    needed.write_text(needed.read_text(encoding="utf-8") + "pip\n", encoding="utf-8")
    get = [*_pip(), "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    get += ["--dest", str(wheels), "--python-version", version, "--implementation", "cp"]
    get += [option for tag in kind.tags for option in ("--platform", tag)]
    _run([*get, "-r", str(needed)], f"the wheels for {system}")


def _pip() -> list[str]:
    """pip, from uv's store: an environment that uv made has none."""
    return ["uv", "run", "--quiet", "--no-project", "--with", "pip", "--python", sys.executable, "python", "-m", "pip"]


def _run(command: list[str], what: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", errors="replace")
    if ran.returncode != 0:
        said = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[-3:])
        raise SetupError(f"The bundle was not made: could not get {what}. Is there a network?\n{said}")


def _this_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"

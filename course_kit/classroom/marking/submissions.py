"""A folder of submissions as it comes out of a learning platform: who handed in what, and what cannot be read.

Each sub-folder is a learner, and so is each notebook outside a sub-folder. A notebook belongs to the lesson whose name
its own contains (`Ada Åberg_4711_assignsubmission_file_01_round_trip (1).ipynb`), or else to the lesson whose exercises
it checks. Whatever is odd becomes one sentence; nothing is unpacked, followed or changed.
"""

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from course_kit.classroom.checks import exercise_ids
from course_kit.classroom.marking.learner_process import checks_in
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.workspace import course_files
from course_kit.errors import CourseKitError

__all__ = ["Notebook", "Submission", "answers_as_data", "course_cells", "expressions", "one_line", "read_submissions"]

LARGEST = 20 << 20  # bytes of a notebook
PLATFORM = re.compile(r"_\d+_assignsubmission_\w*?_?(?:file|onlinetext)_?$|_assignsubmission_file_?$|_\d{3,}$")
ARCHIVES = (".zip", ".gz", ".7z", ".rar", ".tar")
SKIPPED = {".ipynb_checkpoints", "__MACOSX"}


@dataclass(frozen=True)
class Notebook:
    """One notebook that can be marked: its code cells, and a digest of exactly these."""

    lesson: str
    path: Path
    cells: tuple[str, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.cells).encode()).hexdigest()


@dataclass
class Submission:
    """What one learner handed in. `problems` are sentences."""

    learner: str
    folder: Path | None
    notebooks: dict[str, Notebook] = field(default_factory=dict)  # by lesson
    files: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_submissions(folder: Path) -> list[Submission]:
    """All submissions in a folder, by the learner's name."""
    if not folder.is_dir():
        raise CourseKitError(f"{folder} is not a folder: name the one that holds the submissions.")
    found: dict[str, Submission] = {}
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.startswith(".") or path.name in SKIPPED:
            continue
        if path.is_symlink():
            _submission(found, path.name, None).problems.append(f"{one_line(path.name)} is a link and is not followed.")
        elif path.is_dir():
            _read_folder(_submission(found, learner_of(path.name), path), path)
        elif path.suffix.lower() == ".ipynb":
            submission = _submission(found, learner_of(path.stem), None)
            submission.files.append(path)
            _add(submission, path)
        elif path.suffix.lower() in ARCHIVES:
            submission = _submission(found, learner_of(path.stem), None)
            submission.problems.append(_archive(path.name))
    if not found:
        raise CourseKitError(
            f"{folder} holds no submissions: each learner is a folder with notebooks in it, or one notebook."
        )
    for submission in found.values():
        if not submission.notebooks and not submission.problems:
            names = ", ".join(one_line(path.name, 40) for path in submission.files[:3])
            only = f", only {names}{' and more' * (len(submission.files) > 3)}" if names else ""
            submission.problems.append(f"There is no notebook in this submission{only}.")
    return sorted(found.values(), key=lambda one: one.learner.casefold())


def learner_of(name: str) -> str:
    """`"Ada Åberg_4711_assignsubmission_file_01_round_trip"` → `"Ada Åberg"`; a bare lesson's name stays."""
    name = unicodedata.normalize("NFC", name)
    for stem in _stems().values():
        at = name.lower().find(stem)
        if at > 0:
            name = name[:at].rstrip("_- ")
    return one_line(PLATFORM.sub("", name).strip("_ ") or name)


def one_line(text: str, most: int = 120) -> str:
    """Text from a stranger, fit for a terminal: no control characters, no change of direction, one line."""
    shown = "".join(" " if one.isspace() else "?" if unicodedata.category(one)[0] == "C" else one for one in text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


@cache
def expressions(lesson: str) -> dict[str, str]:
    """What the course's own notebook checks: `{"1.1": "talk", …}`, for a submission that lost the call."""
    found: dict[str, str] = {}
    for cell in course_cells(lesson):
        found |= dict(checks_in(cell["source"]))
    return {id: found.get(id, "") for id in exercise_ids() if lesson_of(id) == lesson}


@cache
def answers_as_data(lesson: str) -> frozenset[str]:
    """The exercises whose check is given no function: their answers are data, and nothing of their checks travels."""
    cells = "\n".join(cell["source"] for cell in course_cells(lesson))
    functions = set(re.findall(r"^(?:async )?(?:def|class) (\w+)", cells, re.MULTILINE))
    named = {id: set(re.findall(r"\b[A-Za-z_]\w*", text)) for id, text in expressions(lesson).items()}
    return frozenset(id for id, names in named.items() if names and not names & functions)


@cache
def course_cells(lesson: str) -> list[dict[str, Any]]:
    """The code cells of the course's own exercise notebook, each with its source and tags."""
    cells = []
    for path in sorted((course_files() / "exercises").glob(f"{lesson}_*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                cells.append({"source": "".join(cell["source"]), "tags": cell["metadata"].get("tags", [])})
    return cells


@cache
def _stems() -> dict[str, str]:
    return {path.stem[:2]: path.stem for path in sorted((course_files() / "exercises").glob("[0-9][0-9]_*.ipynb"))}


def _submission(found: dict[str, Submission], learner: str, folder: Path | None) -> Submission:
    learner = one_line(learner)
    known = found.get(learner)
    if known is None or (folder is not None and known.folder is not None):
        number = 2
        while learner in found:
            learner, number = f"{learner.rsplit(' (', 1)[0]} ({number})", number + 1
        known = found[learner] = Submission(learner, folder)
    known.folder = known.folder or folder
    return known


def _read_folder(submission: Submission, folder: Path) -> None:
    for path in sorted(folder.rglob("*"), key=lambda path: path.as_posix()):
        inside = path.relative_to(folder)
        if SKIPPED & set(inside.parts) or any(part.startswith(".ipynb") for part in inside.parts):
            continue
        if path.is_symlink():
            submission.problems.append(f"{one_line(inside.as_posix())} is a link and is not followed.")
        elif path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            submission.files.append(path)
            if path.suffix.lower() == ".ipynb":
                _add(submission, path)
            elif path.suffix.lower() in ARCHIVES:
                submission.problems.append(_archive(inside.as_posix()))


def _archive(name: str) -> str:
    return f"{one_line(name)} is an archive: unpack it, then mark again."


def _add(submission: Submission, path: Path) -> None:
    name = one_line(path.name)
    try:
        cells = _code_cells(path)
    except ValueError as problem:
        submission.problems.append(f"{name} cannot be read as a notebook: {problem}")
        return
    lesson = _lesson_of(path, cells)
    if lesson is None:
        submission.problems.append(f"{name} matches no lesson: neither its name nor its checks name one.")
        return
    one, other = Notebook(lesson, path, cells), submission.notebooks.get(lesson)
    if other is not None:
        if path.stat().st_mtime < other.path.stat().st_mtime:
            one, other = other, one
        newer, older = (_inside(submission, notebook.path) for notebook in (one, other))
        told = f"There are two notebooks for lesson {lesson}; the newer, {newer}, is marked, and {older} is not."
        if submission.folder and one.path.parent != other.path.parent:
            told += f" If their folders are learners, mark the folder {one_line(submission.folder.name)} by itself."
        submission.problems.append(told)
    submission.notebooks[lesson] = one


def _inside(submission: Submission, path: Path) -> str:
    """A file's path in the learner's folder: `"old/01_round_trip.ipynb"`."""
    folder = submission.folder
    return one_line(path.relative_to(folder).as_posix() if folder and path.is_relative_to(folder) else path.name)


def _code_cells(path: Path) -> tuple[str, ...]:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MB: clear its outputs, then mark again.")
    try:
        notebook = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError("it is damaged or was not saved completely; ask for it again.") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("it has no cells (or a format from before 2015).")
    sources = []
    for cell in notebook["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            source = "".join(map(str, source)) if isinstance(source, list) else str(source)
            sources.append(source.encode("utf-8", "replace").decode("utf-8"))
    return tuple(sources)


def _lesson_of(path: Path, cells: tuple[str, ...]) -> str | None:
    name = path.stem.lower()
    for lesson, stem in _stems().items():
        if stem in name:
            return lesson
    if (number := re.match(r"(\d\d)[ _-]", name)) and number[1] in _stems():
        return number[1]
    known = set(exercise_ids())
    checked = [lesson_of(id) for cell in cells for id, _ in checks_in(cell) if id in known]
    return max(set(checked), key=checked.count) if checked else None

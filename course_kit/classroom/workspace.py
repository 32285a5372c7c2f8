"""Where a learner's files lie, and where the course's own files lie.

The workspace belongs to the learner: copies of the lessons and exercises, progress, the shop's databases. The
course's files belong to the course and are only read. What is copied from one to the other is the command
line's business (`cli.py`); what is written into `progress.sqlite3` is `progress.py`'s.
"""

import os
from pathlib import Path

from course_kit.errors import SetupError

__all__ = ["MARKER", "clone", "course_files", "workspace"]

MARKER = ".course-workspace"  # an empty file that says "this folder is a workspace"
PACKAGE = Path(__file__).resolve().parents[1]


def workspace() -> Path:
    """The learner's folder, created when it is missing.

    The first that applies: the environment variable `COURSE_WORKSPACE`; the nearest folder at or above the current
    one that holds the file `.course-workspace`; `workspace/` in a clone; the user's data folder on this system.
    """
    named = os.environ.get("COURSE_WORKSPACE", "").strip()
    folder = Path(os.path.expanduser(named)).absolute() if named else _marked() or _default()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / MARKER).exists():
            (folder / MARKER).touch()
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise SetupError(f"The workspace {folder} is not writable: set COURSE_WORKSPACE to a folder that is.")
    return folder


def course_files() -> Path:
    """The folder that holds `notebooks/`, `exercises/` and `solutions/`: the clone, or the copy inside the package."""
    for folder in (clone(), PACKAGE / "_course"):
        if folder and folder.is_dir():
            return folder
    raise SetupError("The lessons are missing from this installation: install course-kit again.")


def clone() -> Path | None:
    """The root of the clone that `course_kit` runs from, or None when it runs from an installed wheel."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "notebooks" / "src").is_dir() else None


def _marked() -> Path | None:
    try:
        here = Path.cwd()
    except OSError:  # the current folder was deleted
        return None
    return next((folder for folder in (here, *here.parents) if (folder / MARKER).is_file()), None)


def _default() -> Path:
    root = clone()
    if root:
        return root / "workspace"
    import platformdirs

    return Path(platformdirs.user_data_dir("tool-calling-course", appauthor=False))

"""The sections of a lesson: what is between two of its headings, numbered as a reader counts them.

Section 1 begins at the first `##` heading; what comes before it (title, imports) is section 0. Read from the notebooks
that are shipped, never from a learner's copy. Running a section is `catching_up.py`'s business.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_kit.classroom.progress import lesson_of
from course_kit.classroom.workspace import course_files

__all__ = ["CodeCell", "Section", "code_cells", "lesson_file", "lesson_sections", "section_of"]

HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r"""\bquiz\(\s*["']([\w.]+)["']""")


@dataclass(frozen=True)
class CodeCell:
    """One code cell: its text and its tags."""

    source: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One section of a lesson. `items` are the tags `item-NN.M` in it, `questions` the ids of its quizzes."""

    number: int
    heading: str
    cells: tuple[CodeCell, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """The curriculum items of the section: `("item-05.2",)`."""
        return tuple(tag for cell in self.cells for tag in cell.tags if tag.startswith("item-"))

    @property
    def questions(self) -> tuple[str, ...]:
        """The ids of the quizzes asked in the section."""
        return tuple(id for cell in self.cells for id in QUESTION.findall(cell.source))


def lesson_file(lesson: str, folder: str = "notebooks") -> Path | None:
    """The shipped notebook of a lesson: `lesson_file("05")`; None where there is none."""
    found = sorted((course_files() / folder).glob(f"{lesson_of(lesson)}_*.ipynb")) if lesson.isdecimal() else []
    return found[0] if found else None


def code_cells(file: Path) -> list[CodeCell]:
    """The code cells of a notebook, in order."""
    return [cell for cell in _cells(file) if isinstance(cell, CodeCell)]


def lesson_sections(lesson: str) -> tuple[Section, ...]:
    """All sections of a lesson, section 0 first; empty where there is no such lesson."""
    file = lesson_file(lesson)
    return _sections(file) if file else ()


def section_of(id: str) -> Section | None:
    """The section that asks the quiz question `id`: `section_of("05.3")`."""
    sections = lesson_sections(lesson_of(id))
    return next((one for one in sections if any(_stands_for(shown, id) for shown in one.questions)), None)


def _stands_for(shown: str, id: str) -> bool:
    """`quiz("05.recall")` shows the questions `05.recall.1`, `05.recall.2`, …"""
    return id == shown or id.startswith(f"{shown}.")


@cache
def _sections(file: Path) -> tuple[Section, ...]:
    found: list[tuple[str, list[CodeCell]]] = [("", [])]
    for cell in _cells(file):
        if isinstance(cell, CodeCell):
            found[-1][1].append(cell)
        else:
            found += [(heading.strip(), []) for heading in HEADING.findall(FENCED.sub("", cell))]
    return tuple(Section(number, heading, tuple(cells)) for number, (heading, cells) in enumerate(found))


def _cells(file: Path) -> Iterable[CodeCell | str]:
    """Code cells as such, text cells as their text."""
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            yield CodeCell(source, tuple(cell["metadata"].get("tags", ())))
        elif cell["cell_type"] == "markdown":
            yield source

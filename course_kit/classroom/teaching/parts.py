"""The sections of a lesson as its notebook has them: heading, cells, quizzes, and which names its code needs.

A plan (`plans.py`) says what a person does with a section; this module only reads what is in the notebook. A section
begins at a `##` heading. The part before the first one, with title and set-up, counts as the first section.
"""

import builtins
import dis
import json
import re
import warnings
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

from course_kit.classroom.lessons import Lesson, lessons
from course_kit.classroom.workspace import course_files
from course_kit.errors import CourseKitError

__all__ = ["Part", "lesson", "names_needed", "parts", "runs_first"]

HEADING = re.compile(r"(?m)^#{1,2} (?P<heading>.+)$")
FENCED = re.compile(r"(?ms)^```.*?^```")
QUIZ = re.compile(r"(?m)^quiz\(\"(?P<id>[^\"]+)\"\)")


@dataclass(frozen=True)
class Part:
    """One section: its heading, and its cells as the notebook file holds them."""

    heading: str
    cells: tuple[dict[str, Any], ...]

    @property
    def code(self) -> list[str]:
        return ["".join(cell["source"]) for cell in self.cells if cell["cell_type"] == "code"]

    @property
    def quizzes(self) -> list[str]:
        """What is asked here, as the notebook asks it: `["05.1", "05.2"]`, `["05.recall"]`."""
        return [found["id"] for source in self.code for found in QUIZ.finditer(source)]


def lesson(number: str | int) -> Lesson:
    """The lesson with this number: `lesson(5)`, `lesson("05")`."""
    known = _lessons()
    wanted = str(number).zfill(2)
    if wanted not in known:
        raise CourseKitError(f"There is no lesson {number}: choose from {', '.join(known)}.")
    return known[wanted]


def parts(number: str | int) -> list[Part]:
    """The sections of a lesson, in order."""
    file = course_files() / "notebooks" / lesson(number).file
    found: list[tuple[str, list[dict[str, Any]]]] = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        for heading, piece in _cut(cell):
            if heading:
                found.append((heading, []))
            found[-1][1].append(piece)
    return [Part(heading, tuple(cells)) for heading, cells in found]


def runs_first(number: str | int, heading: str) -> dict[str, set[str]]:
    """The sections whose code must have run before this one's, with the names it takes from each.

    The first part of a notebook, with the set-up, is run in any case and not named.
    """
    known = parts(number)
    at = next(place for place, part in enumerate(known) if part.heading == heading)
    open_names, found = names_needed(known[at].code), {}
    for part in reversed(known[:at]):
        taken = open_names & _defined(part.code)
        if taken and part is not known[0]:
            found[part.heading] = taken
        open_names = (open_names - taken) | (names_needed(part.code) if taken else set())
    return dict(reversed(found.items()))


def names_needed(cells: Iterable[str]) -> set[str]:
    """The names that these cells use but do not make: `["print(total)"]` → `{"total"}`."""
    made: set[str] = set(dir(builtins))
    needed: set[str] = set()
    inside: set[str] = set()  # used in a function: it may be made further below
    for source in cells:
        for kind, name in _steps(source):
            if kind == "makes":
                made.add(name)
            elif kind == "uses" and name not in made:
                needed.add(name)
            elif kind == "uses inside":
                inside.add(name)
    return needed | (inside - made)


def _defined(cells: Iterable[str]) -> set[str]:
    return {name for source in cells for kind, name in _steps(source) if kind == "makes"}


def _steps(source: str) -> Iterator[tuple[str, str]]:
    """What the compiled cell does with names, in order: `("makes", "x")`, `("uses", "x")`, `("uses inside", "x")`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(source, "<cell>", "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    yield from _walk(code, inside=False)


def _walk(code: CodeType, *, inside: bool) -> Iterator[tuple[str, str]]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield ("uses inside" if inside else "uses"), step.argval
        elif step.opname in ("STORE_NAME", "STORE_GLOBAL") and not inside:
            yield "makes", step.argval
        elif isinstance(step.argval, CodeType):
            yield from _walk(step.argval, inside=True)


def _cut(cell: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A markdown cell, cut where a section begins; each piece with the heading it opens, or an empty one."""
    source = "".join(cell["source"])
    shown = FENCED.sub(lambda block: " " * len(block[0]), source)  # a comment in code is not a heading
    begins = [found.start() for found in HEADING.finditer(shown)] if cell["cell_type"] == "markdown" else []
    if not begins:
        yield "", cell
        return
    if source[: begins[0]].strip():
        yield "", {**cell, "source": source[: begins[0]].strip()}
    for number, (begin, end) in enumerate(zip(begins, [*begins[1:], None], strict=True)):
        piece = {**cell, "source": source[begin:end].strip()}
        if number or begins[0]:  # ids are for whole cells; a piece has its own
            piece["id"] = f"{cell.get('id', 'cell')}-{number}"[-64:]
        heading = HEADING.match(source, begin)
        yield heading["heading"] if heading else "", piece


@cache
def _lessons() -> dict[str, Lesson]:
    return {one.number: one for one in lessons()}

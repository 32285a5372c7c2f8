"""The lessons as they are: number, title, minutes and promise, read from the notebooks themselves.

`lesson_map()` shows them with what you have done; the README's table is made from the same list.
"""

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

from course_kit.classroom import progress
from course_kit.classroom.checks import exercise_ids
from course_kit.classroom.quiz import question_ids
from course_kit.classroom.workspace import course_files
from course_kit.errors import SetupError

__all__ = ["Lesson", "LessonMap", "lesson_map", "lessons"]

TITLE = re.compile(r"# (?P<number>\d\d) · (?P<title>.+)")
MINUTES = re.compile(r"About (\d+) minutes")


@dataclass(frozen=True)
class Lesson:
    """One lesson: `number` is `"01"`, `file` the notebook's name."""

    number: str
    title: str
    minutes: int
    promise: str
    file: str


def lessons(folder: Path | None = None) -> list[Lesson]:
    """All lessons of a folder, in order, as the first cell of each notebook describes them."""
    found = []
    for path in sorted((folder or course_files() / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        if title := TITLE.match(first):
            minutes = MINUTES.search(first)
            promise = " ".join(first.split("\n\n")[1].split())
            found.append(Lesson(title["number"], title["title"], int(minutes[1]) if minutes else 0, promise, path.name))
    return found


@dataclass(frozen=True)
class LessonMap:
    """The lessons, each beside what is done of it."""

    rows: tuple[tuple[Lesson, progress.LessonProgress], ...]
    note: str = ""

    def __repr__(self) -> str:
        lines = [
            f"{one.number}  {one.title:<28} {one.minutes:>3} min   quizzes {done.quizzes_done}/{done.quizzes_total}   "
            f"exercises {done.exercises_done}/{done.exercises_total}"
            for one, done in self.rows
        ]
        return "\n".join(filter(None, [*lines, self.note]))

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td>{one.number}</td><td><a href="{one.file}">{html.escape(one.title)}</a></td>'
            f"<td>{one.minutes}</td><td>{done.quizzes_done}/{done.quizzes_total}</td>"
            f"<td>{done.exercises_done}/{done.exercises_total}</td></tr>"
            for one, done in self.rows
        )
        head = "<tr><th></th><th>lesson</th><th>minutes</th><th>quizzes</th><th>exercises</th></tr>"
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f"<table>{head}{rows}</table>{note}"


def lesson_map() -> LessonMap:
    """The lessons with your progress in each."""
    known, note = lessons(), ""
    numbers = [lesson.number for lesson in known]
    try:
        done = progress.summary(question_ids(), exercise_ids(), numbers)
    except SetupError as error:
        done, note = [], f"Your progress cannot be read. {error}"
    by_number = {row.lesson: row for row in done}
    empty = progress.LessonProgress("", 0, 0, 0, 0, False, False)
    return LessonMap(tuple((lesson, by_number.get(lesson.number, empty)) for lesson in known), note)

"""The lessons: number, title, minutes, promise and goals, read from the notebooks themselves.

`lesson_map()` shows them with what you have done, what comes next and what is due again; the README's table is made
from the same list.
"""

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

from course_kit.classroom import progress
from course_kit.classroom.checks import exercise_ids
from course_kit.classroom.quiz import question_ids
from course_kit.classroom.recall import reminder
from course_kit.classroom.shown import Shown
from course_kit.classroom.workspace import course_files
from course_kit.errors import SetupError

__all__ = ["Lesson", "LessonMap", "lesson_map", "lessons", "next_lesson", "rows"]

TITLE = re.compile(r"# (?P<number>\d\d) · (?P<title>.+)")
MINUTES = re.compile(r"About (\d+) minutes")
GOAL = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
DONE, BEGUN, UNTOUCHED = ("✓", "done"), ("◐", "begun"), ("", "not begun")


@dataclass(frozen=True)
class Lesson:
    """One lesson: `number` is `"01"`, `file` the notebook's name, `goals` what you can do after it."""

    number: str
    title: str
    minutes: int
    promise: str
    file: str
    goals: tuple[str, ...] = ()


Row = tuple[Lesson, progress.LessonProgress]


def lessons(folder: Path | None = None) -> list[Lesson]:
    """All lessons of a folder, in order, as the first cell of each notebook describes them."""
    found = []
    for path in sorted((folder or course_files() / "notebooks").glob("[0-9][0-9]_*.ipynb")):
        first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        if title := TITLE.match(first):
            minutes = MINUTES.search(first)
            promise = " ".join(first.split("\n\n")[1].split())
            goals = tuple(" ".join(goal.split()).replace("**", "").rstrip(".,;") for goal in GOAL.findall(first))
            length = int(minutes[1]) if minutes else 0
            found.append(Lesson(title["number"], title["title"], length, promise, path.name, goals))
    return found


def rows() -> list[Row]:
    """Each lesson beside what is done of it."""
    known = lessons()
    done = progress.summary(question_ids(), exercise_ids(), [lesson.number for lesson in known])
    by_number = {row.lesson: row for row in done}
    return [(lesson, by_number[lesson.number]) for lesson in known]


def next_lesson(rows: list[Row], touched: list[str]) -> Row | None:
    """Where to continue: the lesson last worked in, or else the first after it not done; None when all are done."""
    latest = touched[0] if touched else ""
    behind = [row for row in rows if row[0].number < latest]
    ahead = [row for row in rows if row[0].number >= latest]
    return next((row for row in ahead + behind if row[1].left), None)


@dataclass(frozen=True, repr=False)
class LessonMap(Shown):
    """The panel: the lessons, each beside what is done of it, then what comes next and what is due again."""

    rows: tuple[Row, ...]
    next: Row | None
    sentences: tuple[str, ...]

    def as_text(self) -> str:
        width = max((len(one.title) for one, _ in self.rows), default=6)
        lines = [f"      {'lesson':<{width}}  minutes  questions  exercises"]
        for one, done in self.rows:
            lines.append(
                f"{_state(done)[0]:<1} {one.number}  {one.title:<{width}}  {one.minutes:>7}  "
                f"{_share(done.quizzes_done, done.quizzes_total):>9}  "
                f"{_share(done.exercises_done, done.exercises_total):>9}".rstrip()
            )
        return "\n".join([*lines, "", *self._advice()])

    def as_html(self) -> str:
        left, right = 'style="text-align: left"', 'style="text-align: right"'
        body = "".join(
            f'<tr><td {left}><span aria-hidden="true">{_state(done)[0]}</span> {_state(done)[1]}</td>'
            f'<th scope="row" {left}>{one.number} · <a href="{one.file}">{html.escape(one.title)}</a></th>'
            f"<td {right}>{one.minutes}</td><td {right}>{_share(done.quizzes_done, done.quizzes_total)}</td>"
            f"<td {right}>{_share(done.exercises_done, done.exercises_total)}</td></tr>"
            for one, done in self.rows
        )
        heads = [("state", left), ("lesson", left), *((name, right) for name in ("minutes", "questions", "exercises"))]
        head = "".join(f'<th scope="col" {side}>{name}</th>' for name, side in heads)
        advice = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        if self.next:
            lesson = self.next[0]
            link = f'<a href="{lesson.file}">{lesson.number} · {html.escape(lesson.title)}</a>'
            advice = f"<p><b>Next:</b> {link}, {self._left()}.</p>{advice}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{advice}"

    def _advice(self) -> list[str]:
        if self.next is None:
            return list(self.sentences)
        return [f"Next: {self.next[0].number} · {self.next[0].title}, {self._left()}.", *self.sentences]

    def _left(self) -> str:
        left = self.next[1].left if self.next else ""
        return f"{left} {'is' if left.startswith('1 ') and ' and ' not in left else 'are'} open"


def lesson_map(*, terminal: bool = False) -> LessonMap:
    """The lessons with your progress in each, what comes next, and how many questions are due again."""
    try:
        known = rows()
        following = next_lesson(known, progress.lessons_touched())
        sentences = [reminder(how="course recall" if terminal else "recall()")]
        done = sum(row.done for _, row in known)
        if done:
            page = "course progress page" if terminal else "completion_page()"
            lessons_done = "All lessons are" if following is None else f"{done} lesson{' is' if done == 1 else 's are'}"
            sentences.append(f"{lessons_done} done: {page} makes a page of it to keep.")
    except SetupError as error:
        known = [(lesson, progress.LessonProgress(lesson.number, 0, 0, 0, 0, False, False)) for lesson in lessons()]
        following, sentences = None, [f"Your progress cannot be read. {error}"]
    return LessonMap(tuple(known), following, tuple(sentences))


def _state(row: progress.LessonProgress) -> tuple[str, str]:
    return DONE if row.done else BEGUN if row.begun else UNTOUCHED


def _share(done: int, total: int) -> str:
    return f"{done} of {total}" if total else "none"

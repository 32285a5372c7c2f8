"""A page to keep, when a lesson or the whole course is done: what you can do now, in numbers from the progress file.

`completion_page("01")` for one lesson, `completion_page()` for all; `.write()` puts it into the workspace as HTML, and
`course progress page` does both in a terminal. It says what it is: your own record, which nobody has looked at. What
counts as done is `progress.py`'s business.
"""

import html
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from course_kit.classroom import progress
from course_kit.classroom.checks import exercise_ids
from course_kit.classroom.lessons import Lesson, Row, rows
from course_kit.classroom.quiz import question_ids
from course_kit.classroom.shown import Shown, to_html
from course_kit.classroom.workspace import workspace
from course_kit.errors import CourseKitError

__all__ = ["Completion", "LessonRecord", "completion_page"]

HONEST = (
    "This page was made by the course on your own machine, from your own progress file. Nobody has checked it, and "
    "it is not a certificate: it is for you."
)
STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46em; margin: 2em auto; padding: 0 1em;
  color: #1f1f1f; background: #ffffff }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; padding-bottom: 8px }
th, td { text-align: left; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid #767676 }
@media (prefers-color-scheme: dark) { body { color: #f0f0f0; background: #121212 } }
@media print { body { color: #000000; background: #ffffff; margin: 0 } section { break-inside: avoid } }
"""


@dataclass(frozen=True)
class LessonRecord:
    """One lesson in numbers. `first_right` counts the questions answered right at the first answer."""

    lesson: Lesson
    row: progress.LessonProgress
    first_right: int
    tries: int
    hints: int
    first_day: str
    last_day: str


class Completion(Shown):
    """A page about some lessons, as text and as HTML; `.page()` is the whole HTML page, `.write()` keeps it."""

    def __init__(self, records: list[LessonRecord], day: str):
        self.records, self.day = records, day

    @property
    def done(self) -> list[LessonRecord]:
        """The lessons that are done."""
        return [record for record in self.records if record.row.done]

    @property
    def title(self) -> str:
        """`"Lesson 05, Parallel calls and id pairing: done"`, or how many lessons of the course are."""
        if len(self.records) == 1:
            [record] = self.records
            return f"Lesson {record.lesson.number}, {record.lesson.title}: {'done' if self.done else 'not done yet'}"
        whole = len(self.done) == len(self.records)
        return "The course: done" if whole else f"The course: {len(self.done)} of {len(self.records)} lessons done"

    def as_text(self) -> str:
        lines = [self.title, ""]
        for record in self.done:
            lines += [f"{record.lesson.number} · {record.lesson.title}", *(f"  {line}" for line in _numbers(record))]
            lines += [f"  - {goal}" for goal in record.lesson.goals]
        lines += [f"{each.lesson.number} · {each.lesson.title}: still open, {each.row.left}" for each in self._open()]
        return "\n".join([*lines, "", f"{self.day}. {HONEST}"])

    def as_html(self) -> str:
        shown = ""
        for record in self.done:
            goals = "".join(f"<li>{to_html(goal)}</li>" for goal in record.lesson.goals)
            can = f"<p>After this lesson you can</p><ul>{goals}</ul>" if goals else ""
            numbers = html.escape("; ".join(_numbers(record)))
            name = html.escape(f"{record.lesson.number} · {record.lesson.title}")
            shown += f"<section><h2>{name}</h2><p>{numbers}.</p>{can}</section>"
        open = "".join(
            f'<tr><th scope="row">{html.escape(f"{each.lesson.number} · {each.lesson.title}")}</th>'
            f"<td>{each.row.left}</td></tr>"
            for each in self._open()
        )
        open = f"<table><caption>Still open</caption><tbody>{open}</tbody></table>" if open else ""
        return f"<h1>{html.escape(self.title)}</h1>{shown}{open}<p>{self.day}. {HONEST}</p>"

    def page(self) -> str:
        """A whole HTML page, without scripts, to open, print or mail."""
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(self.title)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
            f"<body><main>{self.as_html()}</main></body></html>\n"
        )

    def write(self, path: str | Path | None = None) -> Path:
        """Write the page, into the workspace unless a path is given; an earlier page that says something else stays."""
        name = f"done-{self.records[0].lesson.number if len(self.records) == 1 else 'course'}-{self.day}"
        numbered = (workspace() / f"{name}{extra}.html" for extra in ("", *(f"-{n}" for n in range(2, 1000))))
        text = self.page()
        file = Path(path) if path else next(each for each in numbered if not each.exists() or _says(each, text))
        file.write_text(text, encoding="utf-8", newline="\n")
        return file

    def _open(self) -> list[LessonRecord]:
        return [record for record in self.records if not record.row.done]


def completion_page(lesson: str | int | None = None, *, now: datetime | None = None) -> Completion:
    """What you have done, in one lesson or in all; its plain calls are `print(…)` and `.write()`."""
    known = [row for row in rows() if row[1].quizzes_total + row[1].exercises_total]
    wanted = None if lesson is None else progress.lesson_of(str(lesson))
    chosen = [row for row in known if wanted in (None, row[0].number)]
    if not chosen:
        numbers = ", ".join(each.number for each, _ in known)
        raise CourseKitError(f"There is no lesson {lesson!r} with questions or exercises: choose from {numbers}.")
    day = (now or datetime.now().astimezone()).date().isoformat()
    return Completion([_record(row) for row in chosen], day)


def _record(row: Row) -> LessonRecord:
    lesson, done = row
    questions = {id for id in question_ids() if progress.lesson_of(id) == lesson.number}
    exercises = [id for id in exercise_ids() if progress.lesson_of(id) == lesson.number]
    answers = [answer for answer in progress.answers() if answer.question_id in questions]
    attempts = [attempt for id in exercises for attempt in progress.attempts(id) if attempt.outcome != "not attempted"]
    first: dict[str, bool] = {}
    for answer in answers:
        first.setdefault(answer.question_id, answer.right)
    days = sorted([each.at[:10] for each in answers] + [each.at[:10] for each in attempts])
    hints = sum(len(progress.hints_opened(id)) for id in exercises)
    return LessonRecord(
        lesson,
        done,
        first_right=sum(first.values()),
        tries=len(attempts),
        hints=hints,
        first_day=days[0] if days else "",
        last_day=days[-1] if days else "",
    )


def _numbers(record: LessonRecord) -> list[str]:
    row = record.row
    when = record.first_day if record.first_day == record.last_day else f"{record.first_day} to {record.last_day}"
    return [
        f"{row.quizzes_done} of {row.quizzes_total} questions answered right, {record.first_right} of them at once",
        f"{row.exercises_done} of {row.exercises_total} exercises passed, with {record.tries} runs of their checks and "
        f"{record.hints} hint{'' if record.hints == 1 else 's'}",
        f"worked on {when}",
    ]


def _says(file: Path, text: str) -> bool:
    try:
        return file.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False

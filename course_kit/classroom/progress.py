"""What the learner has done, kept in one SQLite file in the workspace.

Rows are only ever added: every quiz answer, every attempt at an exercise, every hint opened, every lesson opened or
finished. What counts as done is worked out when it is read. Times are UTC and come from the clock in here; nothing that
a committed notebook shows is made from them. `summary` is given the ids of all questions and exercises. How the file
survives crashes, upgrades and two open notebooks is next door, in `progress_store.py`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_kit.classroom import progress_store as store
from course_kit.classroom.progress_store import progress_file
from course_kit.errors import SetupError

__all__ = [
    "Answer",
    "Attempt",
    "LessonProgress",
    "answers",
    "attempts",
    "hints_opened",
    "last_answer",
    "lesson_of",
    "lessons_touched",
    "progress_file",
    "record_answer",
    "record_attempt",
    "record_hint",
    "record_lesson",
    "reset",
    "restore",
    "summary",
]

ANSWERS = "SELECT question_id, option_ids, is_right, at FROM quiz_answers"
OUTCOMES = ("passed", "not yet", "not attempted")
LESSON_EVENTS = ("opened", "finished")


@dataclass(frozen=True)
class Answer:
    """One answer to a quiz question."""

    question_id: str
    option_ids: tuple[str, ...]
    right: bool
    at: str


@dataclass(frozen=True)
class Attempt:
    """One run of an exercise's check. `message_key` says which sentence it gave, for counting."""

    exercise_id: str
    outcome: str
    message_key: str
    at: str


@dataclass(frozen=True)
class LessonProgress:
    """One lesson's row in the summary. A quiz is done once answered right, an exercise once passed.

    `opened` is true as soon as anything in it was answered or tried.
    """

    lesson: str
    quizzes_done: int
    quizzes_total: int
    exercises_done: int
    exercises_total: int
    opened: bool
    finished: bool

    @property
    def done(self) -> bool:
        """Whether every question is answered right and every exercise passed."""
        total = self.quizzes_total + self.exercises_total
        return total > 0 and self.quizzes_done + self.exercises_done == total

    @property
    def begun(self) -> bool:
        """Whether anything of it was tried or done, or it was opened."""
        return self.opened or self.quizzes_done + self.exercises_done > 0

    @property
    def left(self) -> str:
        """What is still open: `"2 questions and 1 exercise"`, or an empty text."""
        open = [
            _count(self.quizzes_total - self.quizzes_done, "question"),
            _count(self.exercises_total - self.exercises_done, "exercise"),
        ]
        return " and ".join(filter(None, open))


def record_answer(question_id: str, option_ids: Iterable[str], right: bool) -> None:
    """Keep one answer to a quiz question."""
    _insert("quiz_answers", question_id=question_id, option_ids=json.dumps(list(option_ids)), is_right=int(right))


def last_answer(question_id: str) -> Answer | None:
    """The newest answer to this question, or None."""
    rows = _select(f"{ANSWERS} WHERE question_id = ? ORDER BY id DESC LIMIT 1", question_id)
    return next(map(_answer, rows), None)


def answers() -> list[Answer]:
    """Every answer to every question, oldest first."""
    return [_answer(row) for row in _select(f"{ANSWERS} ORDER BY id")]


def record_attempt(exercise_id: str, outcome: str, message_key: str = "") -> None:
    """Keep one attempt: `record_attempt("1.2", "not yet", "raised KeyError")`."""
    if outcome not in OUTCOMES:
        raise ValueError(f"outcome must be one of {', '.join(OUTCOMES)}, not {outcome!r}")
    _insert("exercise_attempts", exercise_id=exercise_id, outcome=outcome, message_key=message_key)


def attempts(exercise_id: str) -> list[Attempt]:
    """Every attempt at this exercise, oldest first."""
    query = "SELECT exercise_id, outcome, message_key, at FROM exercise_attempts WHERE exercise_id = ? ORDER BY id"
    return [Attempt(*row) for row in _select(query, exercise_id)]


def record_hint(exercise_id: str, number: int) -> None:
    """Keep that hint `number` (the first is 1) was opened."""
    _insert("hints_opened", exercise_id=exercise_id, number=number)


def hints_opened(exercise_id: str) -> list[int]:
    """The numbers of the hints seen so far, sorted, each once."""
    query = "SELECT DISTINCT number FROM hints_opened WHERE exercise_id = ? ORDER BY number"
    return [number for (number,) in _select(query, exercise_id)]


def record_lesson(lesson: str | int, event: str) -> None:
    """Keep that a lesson was `"opened"` or `"finished"`."""
    if event not in LESSON_EVENTS:
        raise ValueError(f"event must be one of {', '.join(LESSON_EVENTS)}, not {event!r}")
    _insert("lesson_events", lesson=lesson_of(str(lesson)), event=event)


def summary(
    question_ids: Iterable[str] = (), exercise_ids: Iterable[str] = (), lessons: Iterable[str | int] = ()
) -> list[LessonProgress]:
    """One row per lesson that has a question, an exercise or is named in `lessons`, in the order of the lessons.

    Rows kept for questions and exercises that are not passed in (from an older version of the course) do not count.
    """
    questions, exercises = set(question_ids), set(exercise_ids)
    answered = {id for (id,) in _select("SELECT DISTINCT question_id FROM quiz_answers WHERE is_right")}
    passed = {id for (id,) in _select("SELECT DISTINCT exercise_id FROM exercise_attempts WHERE outcome = 'passed'")}
    tried = _select(
        "SELECT question_id FROM quiz_answers UNION "
        "SELECT exercise_id FROM exercise_attempts WHERE outcome <> 'not attempted'"
    )
    begun = {lesson_of(id) for (id,) in tried if id in questions | exercises}  # a wrong answer is a beginning, too
    events = set(_select("SELECT DISTINCT lesson, event FROM lesson_events"))

    def count(ids: set[str], lesson: str) -> int:
        return sum(lesson_of(id) == lesson for id in ids)

    named = {lesson_of(str(lesson)) for lesson in lessons} | {lesson_of(id) for id in questions | exercises}
    return [
        LessonProgress(
            lesson,
            quizzes_done=count(questions & answered, lesson),
            quizzes_total=count(questions, lesson),
            exercises_done=count(exercises & passed, lesson),
            exercises_total=count(exercises, lesson),
            opened=(lesson, "opened") in events or lesson in begun,
            finished=(lesson, "finished") in events,
        )
        for lesson in sorted(named)
    ]


def lessons_touched() -> list[str]:
    """The lessons in which something was answered, tried or opened, the latest first."""
    rows = _select(
        "SELECT question_id, at FROM quiz_answers UNION ALL SELECT exercise_id, at FROM exercise_attempts "
        "UNION ALL SELECT lesson, at FROM lesson_events ORDER BY at"
    )
    latest = {lesson_of(id): at for id, at in rows}
    return sorted(latest, key=lambda lesson: (latest[lesson], lesson), reverse=True)


def lesson_of(id: str) -> str:
    """The lesson's two digits: `"1.2"` → `"01"`, `"01.recall.3"` → `"01"`, `"1"` → `"01"`."""
    return id.split(".")[0].zfill(2)


def reset() -> Path:
    """Start over. Returns the dated backup, or the emptied progress file when there was nothing to keep."""
    return store.begin_anew() or progress_file()


def restore(file: str | Path | None = None) -> tuple[Path, Path | None]:
    """Restore a backup, the newest unless one is named; returns it, and the backup of what was here before.

    So a second `restore()` undoes the first.
    """
    chosen = Path(file) if file is not None else store.latest_backup()
    if chosen is None:
        raise SetupError(f"There is no backup in {progress_file().parent}: name the file to restore.")
    if not chosen.is_file():
        raise SetupError(f"There is no file {chosen}: choose a progress-backup-….sqlite3.")
    return chosen, store.take_back(chosen)


def _insert(table: str, **values: str | int) -> None:
    values["at"] = _now().isoformat(timespec="seconds")
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    with store.opened() as connection:
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
    if progress_file().with_name("board.json").exists():  # she joined her instructor's board
        from course_kit.classroom.board.joining import tell

        tell()


def _select(query: str, *parameters: str) -> list[tuple[Any, ...]]:
    with store.opened() as connection:
        return connection.execute(query, parameters).fetchall()


def _answer(row: tuple[Any, ...]) -> Answer:
    id, options, right, at = row
    return Answer(id, tuple(json.loads(options)), bool(right), at)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""


def _now() -> datetime:
    return datetime.now(UTC)

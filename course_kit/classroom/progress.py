"""What the learner has done, kept in one SQLite file in the workspace.

Rows are only ever added: every quiz answer, every attempt at an exercise, every hint opened, every lesson opened or
finished. What counts as done is worked out when it is read. Times are UTC and come from the clock in here; nothing
that a committed notebook shows is made from them. Which questions and exercises exist is not known here: `summary`
takes their ids.

Two notebooks may write at once (write-ahead log, one short transaction per row), and a process that is killed loses
at most the row it was writing. A connection lives as long as one call, so nothing keeps the file open.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from course_kit.classroom.workspace import workspace
from course_kit.errors import SetupError

__all__ = [
    "Answer",
    "Attempt",
    "LessonProgress",
    "attempts",
    "hints_opened",
    "last_answer",
    "lesson_of",
    "progress_file",
    "record_answer",
    "record_attempt",
    "record_hint",
    "record_lesson",
    "reset",
    "summary",
]

# One entry per schema version; `PRAGMA user_version` counts how many a file has had. Never edit an entry: append.
MIGRATIONS: list[list[str]] = [
    [
        """CREATE TABLE quiz_answers (
            id INTEGER PRIMARY KEY, question_id TEXT NOT NULL, option_ids TEXT NOT NULL, is_right INTEGER NOT NULL,
            at TEXT NOT NULL)""",
        """CREATE TABLE exercise_attempts (
            id INTEGER PRIMARY KEY, exercise_id TEXT NOT NULL, outcome TEXT NOT NULL, message_key TEXT NOT NULL,
            at TEXT NOT NULL)""",
        """CREATE TABLE hints_opened (
            id INTEGER PRIMARY KEY, exercise_id TEXT NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL)""",
        """CREATE TABLE lesson_events (
            id INTEGER PRIMARY KEY, lesson TEXT NOT NULL, event TEXT NOT NULL, at TEXT NOT NULL)""",
        "CREATE INDEX quiz_answers_by_question ON quiz_answers (question_id)",
        "CREATE INDEX exercise_attempts_by_exercise ON exercise_attempts (exercise_id)",
    ],
]
TABLES = ("quiz_answers", "exercise_attempts", "hints_opened", "lesson_events")
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
    """One lesson's row in the summary. A quiz is done once answered right, an exercise once passed."""

    lesson: str
    quizzes_done: int
    quizzes_total: int
    exercises_done: int
    exercises_total: int
    opened: bool
    finished: bool


def progress_file() -> Path:
    """Where progress is kept: `progress.sqlite3` in the workspace."""
    return workspace() / "progress.sqlite3"


def record_answer(question_id: str, option_ids: Iterable[str], right: bool) -> None:
    """Keep one answer to a quiz question."""
    _insert("quiz_answers", question_id=question_id, option_ids=json.dumps(list(option_ids)), is_right=int(right))


def last_answer(question_id: str) -> Answer | None:
    """The newest answer to this question, or None."""
    rows = _select(
        "SELECT question_id, option_ids, is_right, at FROM quiz_answers WHERE question_id = ? ORDER BY id DESC LIMIT 1",
        question_id,
    )
    return next((Answer(id, tuple(json.loads(options)), bool(right), at) for id, options, right, at in rows), None)


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
            opened=(lesson, "opened") in events,
            finished=(lesson, "finished") in events,
        )
        for lesson in sorted(named)
    ]


def lesson_of(id: str) -> str:
    """The lesson's two digits: `"1.2"` → `"01"`, `"01.recall.3"` → `"01"`, `"1"` → `"01"`."""
    return id.split(".")[0].zfill(2)


def reset(backup: bool = True) -> Path:
    """Begin anew. Returns the dated backup, or the emptied progress file when no backup was wanted."""
    with _open() as connection:
        kept = progress_file()
        connection.execute("BEGIN IMMEDIATE")  # nobody else writes between the copy and the emptying
        if backup:
            kept = _unused_name("backup")
            with closing(sqlite3.connect(progress_file())) as source, closing(sqlite3.connect(kept)) as target:
                source.backup(target)
        for table in TABLES:
            connection.execute(f"DELETE FROM {table}")
        connection.execute("COMMIT")
    return kept


def _insert(table: str, **values: str | int) -> None:
    values["at"] = datetime.now(UTC).isoformat(timespec="seconds")
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    with _open() as connection:
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))


def _select(query: str, *parameters: str) -> list[tuple]:
    with _open() as connection:
        return connection.execute(query, parameters).fetchall()


@contextmanager
def _open() -> Iterator[sqlite3.Connection]:
    """A checked connection to the progress file; each statement is its own transaction unless one is begun."""
    file = progress_file()
    try:
        for corrupt_before in (False, True):
            with closing(_guard(file, "BEGIN")):
                try:
                    connection = _connect(file)
                except sqlite3.DatabaseError as error:
                    if corrupt_before or not _is_corrupt(error):
                        raise
                else:
                    with closing(connection):
                        yield connection
                    return
            _set_aside(file)
    except sqlite3.Error as error:
        raise SetupError(
            f"Progress in {file} cannot be used ({error}): free the file, or set COURSE_WORKSPACE to another folder."
        ) from error


def _guard(file: Path, begin: str) -> sqlite3.Connection:
    """A lock beside the progress file, shared (`BEGIN`) by all who use it, `BEGIN EXCLUSIVE` for who replaces it.

    It is itself a database, since SQLite's locks work on every system and are let go when a process is killed.
    """
    lock = sqlite3.connect(file.with_suffix(".lock"), timeout=30, isolation_level=None)
    try:
        lock.execute(begin)
        lock.execute("SELECT * FROM sqlite_master")  # the first reading takes the lock
    except BaseException:
        lock.close()
        raise
    return lock


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=30, isolation_level=None)
    try:
        _check_and_upgrade(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_and_upgrade(connection: sqlite3.Connection, file: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise SetupError(
            f"{file} was written by a newer version of the course (schema {version}, this one knows {len(MIGRATIONS)}) "
            "and is left as it is: update course-kit, or set COURSE_WORKSPACE to another folder."
        )
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("malformed")
    connection.execute("PRAGMA synchronous = NORMAL")  # with the write-ahead log: safe when a process is killed
    if version == len(MIGRATIONS):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been first
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")


def _is_corrupt(error: sqlite3.DatabaseError) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return str(error) == "malformed" or name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT"))


def _set_aside(file: Path) -> None:
    """Rename a file that is no database any more, and say so; of two processes that find it, only one does."""
    with closing(_guard(file, "BEGIN EXCLUSIVE")):
        try:
            _connect(file).close()
            return  # the other process has begun a new file
        except sqlite3.DatabaseError as error:
            if not _is_corrupt(error):
                raise
        kept = _unused_name("unreadable")
        for part in ("", "-wal", "-shm"):
            if (whole := file.with_name(file.name + part)).exists():
                whole.rename(kept.with_name(kept.name + part))
    print(f"The progress file could not be read: it is kept as {kept.name}, and a new one was begun.")


def _unused_name(reason: str) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    names = (f"progress-{reason}-{stamp}{extra}.sqlite3" for extra in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(file for file in map(progress_file().with_name, names) if not file.exists())

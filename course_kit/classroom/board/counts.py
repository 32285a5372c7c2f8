"""What a board is told about a learner: a nickname and counts, read from the progress file.

`SHAPE` is all that may be told; both sides hold to it, and a file that someone else wrote is read within bounds. Where
it goes is `joining.py`'s business, what becomes of it `room.py`'s.
"""

import contextlib
import re
import sqlite3
import time
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any

from course_kit.classroom.progress import lesson_of

__all__ = ["NOTHING", "SHAPE", "clean_nickname", "fits", "read_counts"]

LONGEST_NICKNAME = 24
MOST_EXERCISES, MOST_LESSONS = 200, 40
SECONDS_TO_READ = 1.0

COUNT = {"type": "integer", "minimum": 0, "maximum": 9999}
SHAPE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["lesson", "at", "quizzes", "exercises"],
    "properties": {
        "lesson": {"type": "string", "pattern": r"^(\d\d)?$", "description": "The lesson worked on last."},
        "at": {
            "type": "string",
            "pattern": r"^(\d{1,2}\.[\w.]{1,20})?$",
            "description": "The last question or exercise.",
        },
        "quizzes": {
            "type": "object",
            "description": "By lesson: how many questions are answered right.",
            "maxProperties": MOST_LESSONS,
            "propertyNames": {"pattern": r"^\d\d$"},
            "additionalProperties": COUNT,
        },
        "exercises": {
            "type": "object",
            "description": "By exercise: passed or not, and how often it was tried.",
            "maxProperties": MOST_EXERCISES,
            "propertyNames": {"pattern": r"^\d{1,2}\.\w{1,4}$"},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["passed", "tries"],
                "properties": {"passed": {"type": "boolean"}, "tries": COUNT},
            },
        },
    },
}
NOTHING: dict[str, Any] = {"lesson": "", "at": "", "quizzes": {}, "exercises": {}}

# The newest of everything that was kept, whatever its kind. Running an untouched exercise is not a try.
LAST = """
    SELECT id FROM (
        SELECT question_id AS id, at, 1 AS kind FROM quiz_answers
        UNION ALL SELECT exercise_id, at, 1 FROM exercise_attempts WHERE outcome != 'not attempted'
        UNION ALL SELECT lesson, at, 0 FROM lesson_events)
    ORDER BY at DESC, kind DESC LIMIT 1"""
QUIZZES = "SELECT DISTINCT question_id FROM quiz_answers WHERE is_right LIMIT 5000"
EXERCISES = f"""
    SELECT exercise_id, max(outcome = 'passed'), count(*) FROM exercise_attempts
    WHERE outcome != 'not attempted' GROUP BY exercise_id LIMIT {MOST_EXERCISES}"""


def read_counts(file: Path) -> dict[str, Any] | None:
    """The counts in a progress file, of the form `SHAPE`; None when it cannot be read. The file is left as it is."""
    if not file.is_file():
        return dict(NOTHING) if not file.exists() else None
    deadline = time.monotonic() + SECONDS_TO_READ
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            # subtle: a file from a learner's folder may hold a view that never ends in place of a table
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
            last = next((id for (id,) in connection.execute(LAST)), "")
            right = [id for (id,) in connection.execute(QUIZZES)]
            tried = connection.execute(EXERCISES).fetchall()
    except sqlite3.Error:
        return None
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        quizzes: dict[str, int] = {}
        for lesson in map(lesson_of, right):
            quizzes[lesson] = quizzes.get(lesson, 0) + 1
        exercises = {id: {"passed": bool(passed), "tries": min(tries, 9999)} for id, passed, tries in tried}
        counts = {
            "lesson": lesson_of(last) if last else "",
            "at": last if "." in last else "",
            "quizzes": quizzes,
            "exercises": exercises,
        }
        return counts if fits(counts) else None
    return None


def fits(counts: Any) -> bool:
    """Whether this is of the form `SHAPE`."""
    from course_kit.contract.schema import check_tool_input

    return check_tool_input(SHAPE, counts).ok


def clean_nickname(text: Any) -> str | None:
    """The nickname as the board shows it, or None: 1 to 24 letters, digits, spaces and `. _ -`, of any script."""
    if not isinstance(text, str) or len(text) > 4 * LONGEST_NICKNAME:
        return None
    name = " ".join(unicodedata.normalize("NFKC", text).split())
    return name if len(name) <= LONGEST_NICKNAME and re.fullmatch(r"\w[\w .-]*", name) else None

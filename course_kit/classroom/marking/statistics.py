"""What a room got wrong: which exercise, which mistake and how often; which question, and which wrong option.

Quiz answers come from `progress.sqlite3`, where a submission holds one. That file was made on another machine and may
be anything: it is opened read-only, nothing in it is run, and a query that takes long is given up.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from course_kit.classroom.checks import Verdict, find_exercise
from course_kit.classroom.quiz import Quiz, quiz

__all__ = ["Item", "Question", "first_answers", "items", "questions"]

MOST_ROWS = 20_000
MOST_STEPS = 2_000  # of 10,000 instructions each


@dataclass(frozen=True)
class Item:
    """One exercise over all submissions; `mistakes` are (how often, its sentence), the most frequent first."""

    exercise_id: str
    title: str
    statuses: Mapping[str, int]
    mistakes: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Question:
    """One quiz question over all who answered it, counting each one's first answer; `wrong` is (how often, option)."""

    question_id: str
    answered: int
    right: int
    wrong: tuple[tuple[int, str], ...]


def items(exercise_ids: Iterable[str], rows: Iterable[Mapping[str, Verdict]]) -> list[Item]:
    """The statistics of each exercise over all rows of verdicts."""
    rows = list(rows)
    found = []
    for id in exercise_ids:
        verdicts = [row[id] for row in rows if id in row]
        keys = Counter(one.key for one in verdicts if one.status == "not yet")
        often = sorted(keys.items(), key=lambda pair: (-pair[1], pair[0]))
        said: dict[str, str] = {}
        for one in verdicts:
            said.setdefault(one.key, one.message)
        mistakes = tuple((times, said[key]) for key, times in often)
        found.append(Item(id, find_exercise(id).title, Counter(one.status for one in verdicts), mistakes))
    return found


def questions(files: Iterable[Path]) -> list[Question]:
    """The statistics of each question over all progress files."""
    answers: dict[str, list[tuple[str, ...]]] = {}
    for file in files:
        for question_id, chosen in first_answers(file).items():
            answers.setdefault(question_id, []).append(chosen)
    found = []
    for question_id, given in sorted(answers.items()):
        try:
            asked = quiz(question_id)
        except Exception:  # an older version's question, or none
            continue
        if not isinstance(asked, Quiz):
            continue
        question = asked.question
        texts = {option.id: option.text for option in question.options}
        wrong = Counter(chosen for chosen in given if frozenset(chosen) != question.right_ids)
        shown = [
            (times, " + ".join(texts.get(id, "?") for id in chosen) or "nothing")
            for chosen, times in sorted(wrong.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
        found.append(Question(question_id, len(given), len(given) - sum(wrong.values()), tuple(shown)))
    return found


def first_answers(file: Path) -> dict[str, tuple[str, ...]]:
    """The first answer to each question in a progress file; none where the file is not one."""
    found: dict[str, tuple[str, ...]] = {}
    steps = iter(range(MOST_STEPS))
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(lambda: next(steps, None) is None, 10_000)
            rows = connection.execute(f"SELECT question_id, option_ids FROM quiz_answers ORDER BY id LIMIT {MOST_ROWS}")
            for question_id, options in rows:
                chosen = json.loads(options)
                if isinstance(question_id, str) and isinstance(chosen, list):
                    found.setdefault(question_id, tuple(sorted(map(str, chosen))))
    except (sqlite3.Error, ValueError, TypeError, RecursionError):
        return found
    return found

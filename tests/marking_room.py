"""Notebooks as learners hand them in, for the tests of marking."""

import json
from pathlib import Path

from course_kit.building import make, targets
from course_kit.classroom.marking.running import Limits

ROOT = Path(__file__).resolve().parents[1]
SHORT = Limits(seconds=240, cell_seconds=2, memory_mb=1024, processes=40, file_mb=8, patience=0.3)

ADD = "def add(a, b):\n    return a + b"
WRONG_ADD = "def add(a, b):\n    return a - b"
WHO = {
    "chose the tool": "model",
    "wrote the amount into the input": "model",
    "booked the refund": "program",
    "named the order first": "user",
}
CHECKS = ('check("0.1", add)', 'check("0.2", who)')
IMPORT = "from course_kit import check, hint, solution"


def notebook(*cells: str) -> str:
    """A notebook file with these code cells."""
    made = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def answers(*before: str, add: str = ADD, who: object = WHO, after: tuple[str, ...] = CHECKS) -> str:
    """A notebook of lesson 00 with right answers, or others, behind the cells in `before`."""
    return notebook(IMPORT, *before, add, f"who = {who!r}", *after)


def built(lesson: str, kind: str) -> str:
    """The course's own notebook of a lesson: its `"solution"`, or its `"exercise"` with stubs; not run."""
    [target] = [one for one in targets(ROOT, [lesson]) if one.kind == kind]
    return make(target, run=False)


def hand_in(folder: Path, learner: str, text: str, name: str = "00_start_here.ipynb") -> Path:
    """Put one notebook into a learner's folder."""
    path = folder / learner / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path

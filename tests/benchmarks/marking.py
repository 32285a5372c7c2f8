"""A hundred submissions marked: how long each takes, and what the walls around it cost.

    python tests/benchmarks/marking.py [SUBMISSIONS]

Each is a notebook of lesson 01 (one exercise in code, two in data): in turn the solution, the untouched exercise, and a
solution with a fault. No two are the same text, so each is marked. Beside it, the same notebook a few times alone, with
namespaces and without. Writes `results/marking.json`.
"""

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from course_kit.building import make, targets
from course_kit.classroom.marking.grading import Task, grade, mark
from course_kit.classroom.marking.isolation import isolation, limits_alone
from course_kit.classroom.marking.running import Limits

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results" / "marking.json"
ALONE = 5  # times
LIMITS = Limits()


def notebooks() -> list[str]:
    made = {one.kind: make(one, run=False) for one in targets(ROOT, ["01"]) if one.kind != "lesson"}
    solution = made["solution"]
    faulty = solution.replace("stop_reason", "stop_sequence")
    assert faulty != solution
    return [solution, made["exercise"], faulty]


def numbered(text: str, number: int) -> str:
    notebook = json.loads(text)
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    first["source"] = [*first["source"], f"\n# {number}"]
    return json.dumps(notebook)


def cells_of(text: str) -> tuple[str, ...]:
    return tuple("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")


def room(count: int) -> dict[str, object]:
    kinds = notebooks()
    with tempfile.TemporaryDirectory(prefix="course-benchmark-") as folder:
        for number in range(count):
            place = Path(folder) / "in" / f"learner {number:03}"
            place.mkdir(parents=True)
            text = numbered(kinds[number % len(kinds)], number)
            (place / "01_round_trip.ipynb").write_text(text, encoding="utf-8")
        before = processor_seconds()
        grades = grade(Path(folder) / "in", Path(folder) / "out", seed=1, limits=LIMITS)
        used = processor_seconds() - before
        began = time.monotonic()
        kept = grade(Path(folder) / "in", Path(folder) / "out", seed=1, limits=LIMITS, say=lambda sentence: None)
        again = time.monotonic() - began
    times = sorted(row.seconds for row in grades.rows)
    passed = [sum(row.passed for row in grades.rows[kind :: len(kinds)]) for kind in range(len(kinds))]
    return {
        "submissions": count,
        "seconds": round(grades.seconds, 1),
        "seconds_per_submission": round(grades.seconds / count, 2),
        "processor_seconds_per_submission": round(used / count, 2),
        "median_of_one": round(statistics.median(times), 2),
        "longest": times[-1],
        "passed_exercises": dict(zip(("solution", "untouched", "faulty"), passed, strict=True)),
        "seconds_when_all_is_kept": round(again, 2) if not kept.marked_now else None,  # a check changed meanwhile
    }


def processor_seconds() -> float:
    """What this process and its ended children have used; unlike the clock, it does not count others' work."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def alone() -> dict[str, float]:
    solution = cells_of(notebooks()[0])
    found = {}
    for name, walls in (("namespaces", isolation()), ("limits", limits_alone("to compare"))):
        if walls.kind == name:
            times = [mark(Task("", "01", solution, seed, LIMITS, walls)).seconds for seed in range(ALONE)]
            found[name] = statistics.median(times)
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    results = {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_average": load and round(load, 1),
        "walls": isolation().kind,
        "one_alone": alone(),
        "room": room(count),
    }
    print(json.dumps(results, indent=2))
    if count >= 100:
        RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

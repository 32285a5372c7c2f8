"""Every exercise: its stub is not attempted, its solution passes, mistakes are named, other right answers pass."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from course_kit.authoring import read_cells
from course_kit.classroom.checks import check, exercise_ids, find_exercise

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = sorted((ROOT / "solutions" / "src").glob("[0-9][0-9]_*.py"))
ANSWERS = {
    path.stem: importlib.import_module(f"mistakes.{path.stem}")
    for path in sorted((Path(__file__).parent / "mistakes").glob("lesson_*.py"))
}


def of_all(name: str) -> list[Any]:
    return [
        pytest.param(id, case, id=f"{id} {label}")
        for module in ANSWERS.values()
        for id, cases in getattr(module, name).items()
        for label, case in cases.items()
    ]


def test_every_exercise_has_answers_and_hints() -> None:
    for id in exercise_ids():
        module = ANSWERS[f"lesson_{id.split('.')[0].zfill(2)}"]
        assert len(module.MISTAKES[id]) >= 3, f"{id}: at least three mistakes"
        assert len(module.VARIANTS[id]) >= 2, f"{id}: at least two other right answers"
        exercise = find_exercise(id)
        assert exercise.hints and exercise.minutes and exercise.difficulty and exercise.importance


def test_every_exercise_stands_in_a_notebook() -> None:
    written = {cell.exercise for path in SOLUTIONS for cell in read_cells(path) if cell.exercise}
    assert written == set(exercise_ids())


@pytest.mark.parametrize(("id", "case"), of_all("MISTAKES"))
def test_mistake_is_refused_with_its_sentence(id: str, case: tuple[Any, str]) -> None:
    answer, sentence = case
    outcome = check(id, answer)
    assert outcome.status == "not yet"
    assert sentence in outcome.message


@pytest.mark.parametrize(("id", "answer"), of_all("VARIANTS"))
@pytest.mark.parametrize("seed", [0, 7, 2026])
def test_other_right_answer_is_accepted(id: str, answer: Any, seed: int) -> None:
    outcome = check(id, answer, seed=seed)
    assert outcome.ok, outcome.message


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_solution_passes_and_stub_is_not_attempted(path: Path) -> None:
    import json

    for folder, status in (("solutions", "passed"), ("exercises", "not attempted")):
        cells = json.loads((ROOT / folder / f"{path.stem}.ipynb").read_text(encoding="utf-8"))["cells"]
        outcomes = [
            "".join(output["data"]["text/plain"])
            for cell in cells
            if cell["cell_type"] == "code" and "check(" in "".join(cell["source"])
            for output in cell["outputs"]
        ]
        assert outcomes and all(f": {status}" in outcome for outcome in outcomes), outcomes


def test_fr30_a_check_does_not_depend_on_when_it_is_run() -> None:
    first, second = check("0.1", lambda a, b: a), check("0.1", lambda a, b: a + b)
    assert (first.status, second.status) == ("not yet", "passed")
    assert repr(check("0.1", lambda a, b: a)) == repr(first)

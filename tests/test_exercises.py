"""Every exercise: its stub is not attempted, its solution passes, mistakes are named, other right answers pass."""

import copy
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


# What goes wrong in any exercise


FUNCTIONS = {
    id: answer
    for module in ANSWERS.values()
    for id, answers in module.VARIANTS.items()
    if callable(answer := next(iter(answers.values())))
}
# Which of them are given something that is still needed afterwards.
GIVEN = ["3.1", "3.2", "3.3", "4.1", "5.1", "5.2", "6.1", "7.1", "7.2", "8.1", "9.3", "10.1", "10.3", "12.2", "12.3"]


@pytest.mark.parametrize("id", FUNCTIONS)
def test_a_function_that_does_not_answer_is_told_what_it_gives(id: str) -> None:
    right = FUNCTIONS[id]

    async def later(*given: Any, **named: Any) -> Any:
        return right(*given, **named)

    def one_by_one(*given: Any, **named: Any) -> Any:
        yield right(*given, **named)

    assert check(id, later).message == "`later` gave a coroutine, as an `async def` does: write a plain `def`."
    assert check(id, one_by_one).message == (
        "`one_by_one` gave a generator, as a function with a `yield` does: collect the values, and return them."
    )


@pytest.mark.parametrize("id", sorted(set(FUNCTIONS) - {"7.1"}))
def test_printing_endless_recursion_and_one_answer_for_all_are_refused(id: str) -> None:
    right, first = FUNCTIONS[id], list[Any]()

    def prints(*given: Any, **named: Any) -> None:
        print(right(*given, **named))

    def endless(*given: Any, **named: Any) -> Any:
        return endless(*given, **named)

    def always(*given: Any, **named: Any) -> Any:
        first.extend([] if first else [right(*given, **named)])
        return first[0]

    for wrong in (prints, endless, always):
        outcome = check(id, wrong)
        assert outcome.status == "not yet"
        assert "Traceback" not in outcome.message and " at 0x" not in outcome.message


@pytest.mark.parametrize("id", GIVEN)
def test_what_an_answer_was_given_is_still_there(id: str) -> None:
    right = FUNCTIONS[id]

    def empties(*given: Any, **named: Any) -> Any:
        answer = copy.deepcopy(right(*given, **named))
        for one in given:
            if isinstance(one, dict | list):
                (one[0] if isinstance(one, list) and one and isinstance(one[0], dict) else one).clear()
        return answer

    assert " changed" in check(id, empties).message


@pytest.mark.parametrize("id", ["1.1", "4.2"])
def test_an_answer_that_spoils_the_definitions_spoils_no_later_check(id: str) -> None:
    right = next(iter(ANSWERS[f"lesson_0{id[0]}"].VARIANTS[id].values()))

    def spoils(*given: Any) -> Any:
        given[-1].clear()
        raise ValueError

    check(id, spoils if callable(right) else (right[0], spoils))
    assert check(id, right).ok


@pytest.mark.parametrize("id", [id for id in exercise_ids() if id not in FUNCTIONS])
def test_odd_values_in_an_answer_are_refused_with_a_sentence(id: str) -> None:
    module = ANSWERS[f"lesson_{id.split('.')[0].zfill(2)}"]
    right = next(iter(module.VARIANTS[id].values()))
    keys = list(right) if isinstance(right, dict) else range(len(right))
    for odd in (0, True, "x", [], {}, [[], []], (["x"], {}), ({}, ["x"]), [None], 1.5, {"x": [{}]}):
        for wrong in (odd, *(_with(right, key, odd) for key in keys)):
            outcome = check(id, wrong)
            assert not outcome.ok or (id, odd) == ("2.4", "x")  # a tool may be called x
            assert "returned None" not in outcome.message


def _with(right: Any, key: Any, odd: Any) -> Any:
    if isinstance(right, dict):
        return {**right, key: odd}
    made = [*list(right)[:key], odd, *list(right)[key + 1 :]]
    return tuple(made) if isinstance(right, tuple) else made


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

"""The whole course, marked: every solution passes behind walls, every stub is not attempted."""

from pathlib import Path

import pytest

pytest.importorskip("psutil", reason="marking needs the extra `teach`")
pytest.importorskip("joblib", reason="marking needs the extra `teach`")

from marking_room import ROOT, built, hand_in  # noqa: E402

from course_kit.classroom.checks import exercise_ids  # noqa: E402
from course_kit.classroom.marking.grading import Grades, grade  # noqa: E402
from course_kit.classroom.marking.running import Limits  # noqa: E402
from course_kit.classroom.progress import lesson_of  # noqa: E402

LESSONS = sorted(path.name[:2] for path in (ROOT / "exercises").glob("[0-9][0-9]_*.ipynb"))
IDS = [id for id in exercise_ids() if lesson_of(id) in LESSONS]
UNTOUCHED = ("00", "02", "11")  # code, data, both
LONG = Limits(seconds=400, cell_seconds=60, patience=6)  # other tests run beside this one


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Grades:
    folder: Path = tmp_path_factory.mktemp("course")
    for lesson in LESSONS:
        hand_in(folder / "in", "Ada", built(lesson, "solution"), f"{lesson}_x.ipynb")
    for lesson in UNTOUCHED:
        hand_in(folder / "in", "Bo", built(lesson, "exercise"), f"{lesson}_x.ipynb")
    return grade(folder / "in", folder / "out", seed=2026, limits=LONG, jobs=2, say=lambda sentence: None)


@pytest.mark.parametrize("id", IDS)
def test_a_solution_passes(marked, id):
    ada, _ = marked.rows
    assert ada.verdicts[id].status == "passed", ada.verdicts[id].message


def test_a_stub_is_not_attempted(marked):
    _, bo = marked.rows
    assert {id: one.status for id, one in bo.verdicts.items()} == {
        id: "not attempted" if lesson_of(id) in UNTOUCHED else "no notebook" for id in IDS
    }


def test_another_seed_changes_no_verdict_on_a_solution(tmp_path):
    for lesson in ("00", "01", "09"):
        hand_in(tmp_path / "in", "Ada", built(lesson, "solution"), f"{lesson}_x.ipynb")
    grades = grade(tmp_path / "in", tmp_path / "out", seed=77, limits=LONG, jobs=2, say=lambda sentence: None)
    assert {one.status for one in grades.rows[0].verdicts.values()} == {"passed"}
    assert len(grades.exercises) == 8

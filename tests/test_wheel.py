"""The package as it is handed on: what the wheel holds, and that the course starts from it without a clone."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The wheel, built and unpacked far from the clone: what an installation puts into site-packages."""
    built = tmp_path_factory.mktemp("wheel é")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    site = built / "site packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    yield site


def names(folder: Path, ending: str) -> set[str]:
    return {file.name for file in folder.glob(f"*{ending}")}


def test_lessons_exercises_and_solutions_are_inside(installed):
    course = installed / "course_kit" / "_course"
    for folder in ("notebooks", "exercises", "solutions"):
        assert names(course / folder, ".ipynb") == names(ROOT / folder, ".ipynb") != set()
    assert names(course / "solutions" / "src", ".py") == names(ROOT / "solutions" / "src", ".py")


def test_every_file_of_the_package_is_inside(installed):
    """Data too: quizzes, plans, the catalogue, golden traces. What git does not know is not part of the package."""
    listed = subprocess.run(["git", "ls-files", "-z", "course_kit"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    missing = [name for name in listed.stdout.decode().split("\0") if name and not (installed / name).is_file()]
    assert [name for name in missing if (ROOT / name).is_file()] == []


def test_whoever_imports_it_gets_its_types(installed):
    """Without this file `mypy` knows nothing of an installed package (PEP 561)."""
    assert (installed / "course_kit" / "py.typed").is_file()


def test_nothing_of_the_learners_or_the_machines_is_inside(installed):
    strange = [
        file.relative_to(installed).as_posix()
        for file in installed.rglob("*")
        if file.suffix in (".pyc", ".sqlite3") or "workspace" in file.relative_to(installed).parts
    ]
    assert strange == []


def run(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command of the installed package, started from a folder that is no clone."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(installed),
        "COURSE_WORKSPACE": str(folder / "my work"),
        "PYTHONIOENCODING": "utf-8",
    }
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


def test_the_course_starts_from_the_wheel(installed, tmp_path):
    """What `course lab` does before it starts JupyterLab: lessons come into the learner's folder."""
    program = (
        "import course_kit; from course_kit import lab; from course_kit.classroom.workspace import *\n"
        "lab.sync(workspace(), course_files()); print(course_kit.__file__); print(lab.first_lesson(workspace()))"
    )
    done = run(installed, tmp_path, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    where, first = done.stdout.splitlines()
    assert Path(where).is_relative_to(installed)
    assert first == "notebooks/00_start_here.ipynb"
    assert names(tmp_path / "my work" / "notebooks", ".ipynb") == names(ROOT / "notebooks", ".ipynb")


def test_solutions_and_quizzes_are_found_without_a_clone(installed, tmp_path):
    program = "from course_kit import check, quiz, solution; print(solution('1.1', now=True)); print(quiz('01.1'))"
    done = run(installed, tmp_path, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert "def " in done.stdout and "tool_use" in done.stdout


def test_the_command_answers(installed, tmp_path):
    done = run(installed, tmp_path, "-c", "from course_kit.cli import main; main(['mock', '--strictness', 'none'])")
    assert done.returncode == 2 and "strictness 'none' is not known" in done.stderr
    done = run(installed, tmp_path, "-c", "from course_kit.cli import main; main(['progress'])")
    assert done.returncode == 0 and "01" in done.stdout, done.stderr

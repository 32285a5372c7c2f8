"""Where the learner's files lie, on a clone, on an installed wheel, and where nothing can be written."""

from pathlib import Path

import platformdirs
import pytest

from course_kit.classroom import workspace as module
from course_kit.classroom.workspace import MARKER, course_files, workspace
from course_kit.errors import SetupError


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_WORKSPACE", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


def lay_clone(root: Path, monkeypatch) -> Path:
    (root / "notebooks" / "src").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    monkeypatch.setattr(module, "PACKAGE", root / "course_kit")
    return root


def test_the_environment_variable_wins_and_the_folder_is_made(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "a" / "b"))
    (tmp_path / "elsewhere" / MARKER).touch()
    assert workspace() == tmp_path / "a" / "b"
    assert [file.name for file in (tmp_path / "a" / "b").iterdir()] == [MARKER]


def test_a_relative_name_is_made_absolute_and_home_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_WORKSPACE", "mine")
    assert workspace() == tmp_path / "elsewhere" / "mine"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("COURSE_WORKSPACE", "~/mine")
    assert workspace() == tmp_path / "mine"


def test_the_nearest_marked_parent_is_the_workspace(monkeypatch, tmp_path):
    (tmp_path / MARKER).touch()
    deep = tmp_path / "elsewhere" / "exercises"
    deep.mkdir()
    monkeypatch.chdir(deep)
    assert workspace() == tmp_path
    (tmp_path / "elsewhere" / MARKER).touch()
    assert workspace() == tmp_path / "elsewhere"


def test_a_clone_keeps_it_beside_the_package(monkeypatch, tmp_path):
    root = lay_clone(tmp_path / "clone", monkeypatch)
    assert workspace() == root / "workspace"
    assert (root / "workspace" / MARKER).is_file()
    assert course_files() == root


def test_an_installed_wheel_uses_the_user_data_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "site-packages" / "course_kit")
    monkeypatch.setattr(platformdirs, "user_data_dir", lambda name, appauthor: str(tmp_path / "data" / name))
    assert workspace() == tmp_path / "data" / "tool-calling-course"
    with pytest.raises(SetupError, match="^The lessons are missing from this installation: install course-kit again.$"):
        course_files()
    (tmp_path / "site-packages" / "course_kit" / "_course").mkdir(parents=True)
    assert course_files() == tmp_path / "site-packages" / "course_kit" / "_course"


def test_an_impossible_place_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path / "file" / "below"))
    with pytest.raises(SetupError) as caught:
        workspace()
    said = f"The workspace {tmp_path / 'file' / 'below'} is not writable: set COURSE_WORKSPACE to a folder that is."
    assert str(caught.value) == said


def test_a_read_only_place_says_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path))
    monkeypatch.setattr(module.os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(SetupError, match="is not writable: set COURSE_WORKSPACE"):
        workspace()


def test_a_deleted_current_folder_is_no_obstacle(monkeypatch, tmp_path):
    def deleted():
        raise FileNotFoundError

    root = lay_clone(tmp_path / "clone", monkeypatch)
    monkeypatch.setattr(module.Path, "cwd", deleted)
    assert workspace() == root / "workspace"


def test_this_repository_is_a_clone():
    assert module.clone() == Path(__file__).resolve().parents[1]

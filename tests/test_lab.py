"""`course lab`: what the learner wrote stays, what is new arrives, and JupyterLab starts on it."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from course_kit import lab
from course_kit.errors import SetupError


def notebook(*sources: str, outputs: list | None = None) -> str:
    cells = [{"cell_type": "code", "source": source, "outputs": outputs or [], "metadata": {}} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


class Course:
    """A shipped course of one lesson and one exercise, and a learner's folder."""

    lesson = "notebooks/00_start_here.ipynb"
    exercise = "exercises/00_start_here.ipynb"

    def __init__(self, folder: Path):
        self.shipped, self.mine = folder / "shipped", folder / "mine"
        self.ship(lesson="shipped 1", exercise="shipped 1")

    def ship(self, **texts: str) -> None:
        for name, text in texts.items():
            file = self.shipped / getattr(self, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(notebook(text), encoding="utf-8")

    def sync(self) -> list[str]:
        return lab.sync(self.mine, self.shipped)

    def write(self, name: str, *sources: str, outputs: list | None = None) -> None:
        (self.mine / name).write_text(notebook(*sources, outputs=outputs), encoding="utf-8")

    def read(self) -> dict[str, list[str]]:
        """Every notebook in the learner's folder with the text of its cells."""
        return {
            file.relative_to(self.mine).as_posix(): [
                "".join(cell["source"]) for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]
            ]
            for file in sorted(self.mine.rglob("*.ipynb"))
        }


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_the_first_sync_copies_lessons_and_exercises_and_no_solution(course):
    (course.shipped / "solutions").mkdir()
    (course.shipped / "solutions" / "00_start_here.ipynb").write_text(notebook("answer"), encoding="utf-8")
    (course.shipped / "notebooks" / "glossary.md").write_text("# Glossary\n", encoding="utf-8")
    (course.shipped / "notebooks" / "src").mkdir()
    (course.shipped / "notebooks" / "src" / "00_start_here.py").write_text("# %%\n", encoding="utf-8")
    assert course.sync() == []
    files = sorted(file.relative_to(course.mine).as_posix() for file in course.mine.rglob("*") if file.is_file())
    assert files == [".course/shipped.json", course.exercise, course.lesson, "notebooks/glossary.md"]


def test_a_copy_says_which_python_runs_it(course):
    """As JupyterLab would write it, or the notebook is "unsaved" as soon as its kernel runs."""
    from ipykernel.ipkernel import IPythonKernel

    course.sync()
    copied = json.loads((course.mine / course.lesson).read_text(encoding="utf-8"))
    assert copied["metadata"]["language_info"] == IPythonKernel.language_info
    assert copied["metadata"]["language_info"]["version"] == sys.version.split()[0]


def test_a_second_sync_changes_nothing(course):
    course.sync()
    before = {file: file.stat().st_mtime_ns for file in course.mine.rglob("*.ipynb")}
    assert course.sync() == []
    assert {file: file.stat().st_mtime_ns for file in course.mine.rglob("*.ipynb")} == before


def test_what_the_learner_wrote_stays_when_nothing_new_was_shipped(course):
    course.sync()
    course.write(course.exercise, "mine")
    assert course.sync() == []
    assert course.read() == {course.exercise: ["mine"], course.lesson: ["shipped 1"]}


def test_a_new_version_replaces_what_was_only_run(course):
    """Running the cells and saving changes outputs and how the text is stored, not the text."""
    course.sync()
    outputs = [{"output_type": "stream", "name": "stdout", "text": "ran"}]
    course.write(course.lesson, ["shipped", " 1"], outputs=outputs)
    course.ship(lesson="shipped 2")
    assert course.sync() == [f"{course.lesson} was updated to its new version: you had not changed it."]
    assert course.read()[course.lesson] == ["shipped 2"]


def test_outputs_stay_while_the_text_is_the_same(course):
    course.sync()
    course.write(course.lesson, "shipped 1", outputs=[{"output_type": "stream", "name": "stdout", "text": "ran"}])
    before = (course.mine / course.lesson).read_bytes()
    course.sync()
    assert (course.mine / course.lesson).read_bytes() == before


def test_both_sides_changed_keeps_the_learners_and_puts_the_new_one_beside(course):
    course.sync()
    course.write(course.exercise, "mine")
    course.ship(exercise="shipped 2")
    assert course.sync() == [
        f"{course.exercise} has a new version: yours is kept, and the new one is beside it as 00_start_here.new.ipynb."
    ]
    expected = {
        course.exercise: ["mine"],
        "exercises/00_start_here.new.ipynb": ["shipped 2"],
        course.lesson: ["shipped 1"],
    }
    assert course.read() == expected
    assert course.sync() == []  # said once
    assert course.read() == expected


def test_work_in_the_copy_beside_stays_too(course):
    course.sync()
    course.write(course.exercise, "mine")
    course.ship(exercise="shipped 2")
    course.sync()
    course.write("exercises/00_start_here.new.ipynb", "mine in 2")
    course.ship(exercise="shipped 3")
    [sentence] = course.sync()
    assert sentence.endswith("00_start_here.new2.ipynb.")
    assert course.read() == {
        course.exercise: ["mine"],
        "exercises/00_start_here.new.ipynb": ["mine in 2"],
        "exercises/00_start_here.new2.ipynb": ["shipped 3"],
        course.lesson: ["shipped 1"],
    }


def test_a_copy_that_was_deleted_comes_back(course):
    course.sync()
    (course.mine / course.lesson).unlink()
    assert course.sync() == []
    assert course.read()[course.lesson] == ["shipped 1"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": 3}'])
def test_a_notebook_that_cannot_be_read_is_kept(course, content):
    course.sync()
    (course.mine / course.exercise).write_text(content, encoding="utf-8")
    course.ship(exercise="shipped 2")
    course.sync()
    assert (course.mine / course.exercise).read_text(encoding="utf-8") == content
    assert (course.mine / "exercises" / "00_start_here.new.ipynb").exists()


@pytest.mark.parametrize("record", [None, "", "[1]"])
def test_without_a_record_every_difference_is_the_learners(course, record):
    course.sync()
    course.write(course.exercise, "mine")
    record_file = course.mine / ".course" / "shipped.json"
    record_file.unlink() if record is None else record_file.write_text(record, encoding="utf-8")
    course.sync()
    assert course.read()[course.exercise] == ["mine"]
    assert course.read()["exercises/00_start_here.new.ipynb"] == ["shipped 1"]
    assert course.sync() == []


def test_files_of_the_learners_own_and_lessons_that_left_the_course_stay(course):
    course.sync()
    course.write("exercises/my_notes.ipynb", "mine")
    (course.mine / "notebooks" / "data.csv").write_text("1,2", encoding="utf-8")
    (course.shipped / course.exercise).unlink()
    course.ship(lesson="shipped 2")
    course.sync()
    assert course.read() == {
        course.exercise: ["shipped 1"],
        "exercises/my_notes.ipynb": ["mine"],
        course.lesson: ["shipped 2"],
    }
    assert (course.mine / "notebooks" / "data.csv").read_text(encoding="utf-8") == "1,2"


def test_a_new_lesson_with_the_name_of_a_file_of_the_learners_does_not_replace_it(course):
    course.sync()
    course.write("notebooks/01_later.ipynb", "mine")
    (course.shipped / "notebooks" / "01_later.ipynb").write_text(notebook("shipped"), encoding="utf-8")
    [sentence] = course.sync()
    assert sentence.endswith("the new one is beside it as 01_later.new.ipynb.")
    assert course.read()["notebooks/01_later.ipynb"] == ["mine"]


def test_back_to_an_older_version_keeps_the_learners_edits_too(course):
    course.ship(exercise="shipped 2")
    course.sync()
    course.write(course.exercise, "mine")
    course.ship(exercise="shipped 1")
    course.sync()
    assert course.read()[course.exercise] == ["mine"]
    assert course.read()["exercises/00_start_here.new.ipynb"] == ["shipped 1"]


def test_a_disk_that_fills_up_leaves_every_file_whole(course, monkeypatch):
    course.sync()
    course.write(course.exercise, "mine")
    course.ship(lesson="shipped 2", exercise="shipped 2")
    write = Path.write_bytes

    def full(file: Path, content: bytes) -> int:
        write(file, content[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(SetupError, match="No space left on device.*free some space there"):
            course.sync()
    assert course.read() == {course.exercise: ["mine"], course.lesson: ["shipped 1"]}
    assert len(course.sync()) == 2  # and once there is room, all arrives
    assert course.read()[course.exercise] == ["mine"] and course.read()[course.lesson] == ["shipped 2"]


def test_stopped_between_copying_and_taking_note_of_it_nothing_is_overwritten_later(course, monkeypatch):
    course.sync()
    course.ship(lesson="shipped 2", exercise="shipped 2")
    replace = lab._replace

    def stopped(target: Path, content: bytes) -> None:
        if target.name == "shipped.json":
            raise KeyboardInterrupt
        replace(target, content)

    with monkeypatch.context() as patch:
        patch.setattr(lab, "_replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            course.sync()
    course.write(course.exercise, "mine in 2")
    course.sync()
    course.ship(exercise="shipped 3")
    course.sync()
    assert course.read()[course.exercise] == ["mine in 2"]


def test_outputs_and_metadata_of_an_edited_exercise_stay_to_the_byte(course):
    course.sync()
    outputs = [{"output_type": "stream", "name": "stdout", "text": "Exercise 0.1: passed."}]
    course.write(course.exercise, "mine", "and one cell more", outputs=outputs)
    before = (course.mine / course.exercise).read_bytes()
    course.ship(exercise="shipped 2")
    course.sync()
    assert (course.mine / course.exercise).read_bytes() == before


def test_a_workspace_that_cannot_be_written_is_one_sentence(course):
    course.mine.mkdir()
    (course.mine / "notebooks").write_text("a file where a folder belongs", encoding="utf-8")
    with pytest.raises(SetupError, match="choose another folder with `course lab --workspace DIR`"):
        course.sync()


def test_views_of_a_kernel_that_is_gone_are_taken_out_and_the_text_beside_them_stays(tmp_path):
    view = {"model_id": "1", "version_major": 2, "version_minor": 0}
    quiz = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    shown = [
        quiz | {"data": {lab.WIDGET_VIEW: view, "text/html": "Zoë", "text/plain": "Zoë"}},
        quiz | {"data": {lab.WIDGET_VIEW: view}},  # nothing stands beside it
    ]
    file = tmp_path / "01_a.ipynb"
    file.write_text(notebook("quiz('01.1')", outputs=shown), encoding="utf-8")
    before = json.loads(file.read_text(encoding="utf-8"))
    lab._drop_dead_widgets(file)
    after = file.read_text(encoding="utf-8")
    before["cells"][0]["outputs"][0]["data"].pop(lab.WIDGET_VIEW)
    assert json.loads(after) == before and "Zoë" in after


@pytest.mark.parametrize("content", ["no notebook " + lab.WIDGET_VIEW, f'["{lab.WIDGET_VIEW}"]', "{}"])
def test_a_file_that_is_no_notebook_is_left_as_it_is(tmp_path, content):
    file = tmp_path / "01_a.ipynb"
    file.write_text(content, encoding="utf-8")
    lab._drop_dead_widgets(file)
    assert file.read_text(encoding="utf-8") == content


def test_lab_opens_the_first_lesson_on_this_machine_only(course):
    course.ship(lesson="1")
    shutil.copytree(course.shipped / "notebooks", course.mine / "notebooks")
    (course.mine / "notebooks" / "00_start_here.new.ipynb").write_text(notebook("2"), encoding="utf-8")
    (course.mine / "notebooks" / "01_later.ipynb").write_text(notebook("2"), encoding="utf-8")
    command = lab.lab_command(course.mine, port=9000, browser=False)
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in command
    assert {"--ip=127.0.0.1", "--port=9000", "--ServerApp.port_retries=0", "--no-browser"} <= set(command)
    assert not {"--port=9000", "--no-browser"} & set(lab.lab_command(course.mine))


@pytest.mark.parametrize("able", [True, False])
def test_kernels_encrypt_only_where_they_can(course, monkeypatch, able):
    course.ship(lesson="1")
    shutil.copytree(course.shipped / "notebooks", course.mine / "notebooks")
    monkeypatch.setattr("zmq.has", lambda what: able)
    assert ("--KernelManager.transport_encryption=auto" in lab.lab_command(course.mine)) == able


def test_no_lesson_is_one_sentence(tmp_path):
    with pytest.raises(SetupError, match="There is no lesson in"):
        lab.first_lesson(tmp_path)


def test_jupyterlab_gets_the_courses_defaults_and_keeps_the_learners_own_settings(course, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "learners")
    environment = lab.environment(course.mine)
    ours, learners = environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert environment["COURSE_WORKSPACE"] == str(course.mine)
    assert learners == "learners"
    defaults = json.loads((Path(ours) / "labconfig" / "default_setting_overrides.json").read_text(encoding="utf-8"))
    assert defaults["@jupyterlab/apputils-extension:notification"] == {"fetchNews": "false", "checkForUpdates": False}
    assert defaults["@jupyterlab/notebook-extension:tracker"]["codeCellConfig"]["lineWrap"] is True
    assert environment["JUPYTER_CONFIG_DIR"] == os.environ["JUPYTER_CONFIG_DIR"]


def test_missing_jupyterlab_says_how_to_install_it(course, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r'run `pip install "course-kit\[lab\]"`'):
        lab.start(course.mine, course.shipped)
    assert not course.mine.exists()


def test_a_taken_port_is_one_sentence(course):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(SetupError, match=f"Port {port} is taken or not allowed"):
            lab.start(course.mine, course.shipped, port=port)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way here")
def test_ctrl_c_ends_jupyterlab_without_a_traceback(course, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background ignores it
        "from pathlib import Path; from course_kit import lab; "
        f"lab.start(Path({str(course.mine)!r}), Path({str(course.shipped)!r}), port={port}, browser=False)"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    with open(tmp_path / "said.txt", "w+", encoding="utf-8") as said:
        process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=said, stderr=said)
        try:
            wait_until_answered(f"http://127.0.0.1:{port}/api", process)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        text = said.read()
    assert "Traceback" not in text
    assert text.strip().splitlines()[-1] == (
        f"JupyterLab has stopped. Your work is kept in {course.mine}; `course lab` opens it again."
    )
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0  # the server went with it


def wait_until_answered(url: str, process: subprocess.Popen, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, "it ended before it answered"
            assert time.monotonic() < deadline, f"no answer in {seconds} s"
            time.sleep(0.1)

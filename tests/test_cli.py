"""The command line: what each command says and returns; the work behind it is tested with its own module."""

import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from course_kit import building, doctor, lab
from course_kit.classroom import progress
from course_kit.cli import main
from course_kit.doctor import Check, Diagnosis
from course_kit.errors import SetupError


def course(*arguments: str):
    return CliRunner().invoke(main, arguments)


def lesson(folder, source: str) -> None:
    (folder / "notebooks" / "src").mkdir(parents=True)
    (folder / "notebooks" / "src" / "00_first.py").write_text(source, encoding="utf-8")


def test_version():
    assert course("--version").output == "course, version 0.1.0\n"


def test_help_names_the_commands_and_imports_nothing_heavy():
    listed = course("--help").output.split("Commands:")[1]
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "] == [
        "build",
        "doctor",
        "lab",
        "lint",
        "mock",
        "model",
        "progress",
        "strict",
    ]
    code = "import sys, course_kit.cli; print({'anthropic', 'nbformat', 'uvicorn', 'pydantic'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@pytest.mark.parametrize(
    "arguments",
    [("no-such-command",), ("lab", "--port", "0"), ("lab", "--port", "x"), ("mock", "--port", "-1"), ("build", "--no")],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_is_exit_code_2(arguments):
    result = course(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


def test_an_error_of_the_kit_is_one_sentence_and_exit_code_1(monkeypatch):
    def start(*arguments, **options):
        raise SetupError("Port 1 cannot be used.")

    monkeypatch.setattr(lab, "start", start)
    result = course("lab")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "Port 1 cannot be used.\n")


def test_an_error_in_a_nested_command_too(monkeypatch):
    def reset():
        raise SetupError("The file is locked.")

    monkeypatch.setattr(progress, "reset", reset)
    result = course("progress", "reset")
    assert (result.exit_code, result.stderr) == (1, "The file is locked.\n")


def test_lab_passes_its_options_on(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(lab, "start", lambda *arguments, **options: calls.append((arguments[0], options)))
    monkeypatch.setenv("COURSE_WORKSPACE", "elsewhere")
    assert course("lab", "--workspace", str(tmp_path / "mine"), "--port", "9000", "--no-browser").exit_code == 0
    [(workspace, options)] = calls
    assert workspace == tmp_path / "mine"
    assert (options["port"], options["browser"]) == (9000, False)
    assert os.environ["COURSE_WORKSPACE"] == str(tmp_path / "mine")


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (False, 1)])
def test_doctor_prints_the_table_and_returns_its_verdict(monkeypatch, ok, code):
    found = Diagnosis((Check("Python", ok, "3.12.1", "" if ok else "Install another"),))
    monkeypatch.setattr(doctor, "diagnose", lambda: found)
    result = course("doctor")
    assert (result.exit_code, result.output) == (code, found.table() + "\n")


def test_progress_shows_each_lesson_and_reset_keeps_a_backup(workspace, monkeypatch):
    from course_kit.classroom import checks, quiz

    monkeypatch.setattr(quiz, "question_ids", lambda: ["00.1", "01.1", "01.2"])
    monkeypatch.setattr(checks, "exercise_ids", lambda: ["1.1"])
    progress.record_answer("01.1", ["a"], True)
    progress.record_attempt("1.1", "passed", "passed")
    progress.record_lesson("01", "opened")
    assert course("progress").output.splitlines() == [
        "lesson   questions   exercises",
        "00       0 of 1      0 of 0",
        "01       1 of 2      1 of 1      opened",
    ]
    result = course("progress", "reset")
    [backup] = workspace.glob("progress-backup-*.sqlite3")
    assert result.output == f"Progress begins anew. What was there is kept in {backup}.\n"
    assert course("progress").output.splitlines()[-1] == "01       0 of 2      0 of 1"


def test_mock_serves_a_seeded_simulated_model(monkeypatch):
    from course_kit.mock import server

    served = []
    monkeypatch.setattr(server, "serve", lambda handle, host, port: served.append((handle, host, port)))
    assert course("mock", "--port", "8123", "--seed", "7").exit_code == 0
    [(handle, host, port)] = served
    assert (handle.__self__.model.seed, host, port) == (7, "127.0.0.1", 8123)


def test_mock_refuses_an_unknown_strictness():
    result = course("mock", "--strictness", "no-such-thing")
    assert result.exit_code == 2
    assert "no-such-thing" in result.stderr


def test_build_and_check(tmp_path):
    lesson(tmp_path, "# %%\nprint('one')\n")
    root = ("--root", str(tmp_path))
    assert course("build", *root).output.splitlines()[-1] == "Changed: notebooks/00_first.ipynb."
    assert course("build", *root).output.splitlines()[-1] == "Nothing changed."
    assert course("build", "--check", *root).output.splitlines()[-1] == "Every notebook matches its text."
    (tmp_path / "notebooks" / "src" / "00_first.py").write_text("# %%\nprint('two')\n", encoding="utf-8")
    result = course("build", "--check", *root, "00")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "notebooks/00_first.ipynb is stale: cell 1: source has \"print('one')\", should have \"print('two')\"; "
        "cell 1: output has 'stdout: one', should have 'stdout: two'",
        "Run `course build` and commit what it writes.",
    ]
    assert course("build", *root, "first").stderr == "Nothing is called 'first' here; choose from 00_first.\n"


def test_build_outside_a_clone(tmp_path):
    result = course("build", "--root", str(tmp_path))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way here")
def test_ctrl_c_ends_a_build_at_once_and_keeps_what_was_there(tmp_path):
    started = tmp_path / "started"
    lesson(tmp_path, f"# %%\nimport pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(100)\n")
    product = tmp_path / "notebooks" / "00_first.ipynb"
    product.write_text("as it was", encoding="utf-8")
    command = [sys.executable, "-c", "from course_kit.cli import main; main()", "build", "--root", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + building.CELL_SECONDS / 2
        while not started.exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert "Aborted!" in stderr and "Traceback" not in stderr
    assert product.read_text(encoding="utf-8") == "as it was"

"""The command line: what each command says and returns; the work behind it is tested with its own module."""

import os
import re
import signal
import subprocess
import sys
import time

import click
import pytest
from click.testing import CliRunner

import course_kit
from course_kit import building, doctor, lab
from course_kit.classroom import progress
from course_kit.cli import main
from course_kit.errors import SetupError


def course(*arguments: str):
    return CliRunner().invoke(main, arguments)


def lesson(folder, source: str) -> None:
    (folder / "notebooks" / "src").mkdir(parents=True)
    (folder / "notebooks" / "src" / "00_first.py").write_text(source, encoding="utf-8")


def test_version():
    assert course("--version").output == f"course, version {course_kit.__version__}\n"


def test_help_names_the_commands_and_imports_nothing_heavy():
    listed = course("--help").output.split("Commands:")[1]
    assert [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "] == [
        "board",
        "build",
        "bundle",
        "doctor",
        "grade",
        "hub",
        "join",
        "lab",
        "leave",
        "lint",
        "mock",
        "model",
        "progress",
        "recall",
        "strict",
        "teach",
        "test",
        "tracks",
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
def test_doctor_prints_each_check_as_it_is_made_and_returns_the_verdict(monkeypatch, ok, code):
    def look() -> str:
        printed.append(list(lines))
        if not ok:
            raise doctor.Ill("it is broken", "Install another")
        return "3.12.1"

    lines, printed, echo = [], [], click.echo
    monkeypatch.setattr(click, "echo", lambda line: (lines.append(line), echo(line)))
    monkeypatch.setattr(doctor, "CHECKS", {"first": lambda: "there", "Python": look})
    monkeypatch.setattr(doctor, "NOTES", {})
    result = course("doctor")
    assert printed == [["ok     first   there"]]
    told = "ok     Python  3.12.1" if ok else "WRONG  Python  it is broken\n               → Install another"
    verdict = "All 2 checks passed." if ok else "1 of 2 checks failed."
    assert (result.exit_code, result.output) == (code, f"ok     first   there\n{told}\n\n{verdict}\n")


def test_progress_shows_each_lesson_and_reset_keeps_a_backup(workspace, monkeypatch):
    from course_kit.classroom import lessons

    monkeypatch.setattr(lessons, "question_ids", lambda: ["00.1", "01.1", "01.2"])
    monkeypatch.setattr(lessons, "exercise_ids", lambda: ["1.1"])
    progress.record_answer("01.1", ["a"], True)
    progress.record_attempt("1.1", "passed", "passed")
    progress.record_lesson("01", "opened")
    title = next(one.title for one in lessons.lessons() if one.number == "01")
    shown = course("progress").output
    assert re.search(rf"^◐ 01  {title} +\d+ +1 of 2 +1 of 1$", shown, re.MULTILINE)
    assert f"\nNext: 01 · {title}, 1 question is open.\n" in shown
    result = course("progress", "reset")
    [backup] = workspace.glob("progress-backup-*.sqlite3")
    assert result.output == (
        f"Progress starts over. The old progress is kept in {backup}; `course progress restore` brings it back.\n"
    )
    assert re.search(rf"^  01  {title} +\d+ +0 of 2 +0 of 1$", course("progress").output, re.MULTILINE)
    assert course("progress", "reset").output == "There was nothing to erase.\n"


def test_progress_restore_says_what_it_took_and_what_it_kept(workspace):
    progress.record_answer("01.1", ["a"], True)
    course("progress", "reset")
    [backup] = workspace.glob("progress-backup-*.sqlite3")
    assert course("progress", "restore").output == f"Progress is restored from {backup.name}.\n"
    assert progress.last_answer("01.1").right
    result = course("progress", "restore", str(backup))
    [kept] = set(workspace.glob("progress-backup-*.sqlite3")) - {backup}
    assert result.output.splitlines()[1] == f"The progress before that is kept in {kept}."
    missing = course("progress", "restore", "nothing.sqlite3")
    assert (missing.exit_code, missing.stderr.count("\n")) == (1, 1)


def test_progress_page_is_printed_and_written(workspace):
    result = course("progress", "page", "1")
    [page] = workspace.glob("done-01-*.html")
    assert result.output.startswith("Lesson 01, ") and result.output.endswith(f"\nThe same as a page: {page}\n")
    assert course("progress", "page", "77").stderr.startswith("There is no lesson '77'")


def test_recall_asks_what_is_due_and_keeps_the_answers(monkeypatch):
    from datetime import UTC, datetime

    with monkeypatch.context() as patch:
        patch.setattr(progress, "_now", lambda: datetime(2026, 1, 1, tzinfo=UTC))
        progress.record_answer("01.1", ["b"], False)
        progress.record_answer("01.2", ["b"], False)
        progress.record_answer("01.3", ["b"], False)
    result = CliRunner().invoke(main, ["recall", "--most", "2"], input="x\na\nq\n")
    assert "Question 01.1 (choose one)" in result.output and "Question 01.2" in result.output
    assert "has no option 'x'" in result.output and "01.3" not in result.output
    assert result.output.splitlines()[-1] == "1 of 1 right. 2 questions are due again: course recall asks."
    assert [(each.question_id, each.right) for each in progress.answers()[3:]] == [("01.1", True)]
    ended = CliRunner().invoke(main, ["recall"], input="")
    assert (ended.exit_code, ended.output.splitlines()[-1][:14]) == (0, "0 of 0 right. ")


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

"""What is kept of a learner's work: never lost, never mixed up, and said plainly when it cannot be kept."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from course_kit.classroom import progress
from course_kit.classroom.progress import Answer, Attempt, LessonProgress
from course_kit.errors import SetupError

PYTHON_PATH = str(Path(__file__).resolve().parents[1])


@pytest.fixture(autouse=True)
def space(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_WORKSPACE", str(tmp_path))
    return tmp_path


def user_version(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def python(code: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code], cwd=PYTHON_PATH, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> int:
    process.communicate(timeout=60)
    return process.returncode


def test_the_last_answer_is_the_newest_and_the_earlier_ones_stay(space):
    assert progress.last_answer("01.2") is None
    progress.record_answer("01.2", ["a"], False)
    progress.record_answer("01.2", ["b", "c"], True)
    progress.record_answer("01.3", ["a"], False)
    last = progress.last_answer("01.2")
    assert replace(last, at="") == Answer("01.2", ("b", "c"), True, "")
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT count(*) FROM quiz_answers").fetchone() == (3,)


def test_attempts_come_oldest_first_with_utc_times():
    progress.record_attempt("1.2", "not attempted", "untouched")
    progress.record_attempt("1.2", "not yet", "raised KeyError")
    progress.record_attempt("1.20", "passed", "passed")
    kept = progress.attempts("1.2")
    assert [replace(attempt, at="") for attempt in kept] == [
        Attempt("1.2", "not attempted", "untouched", ""),
        Attempt("1.2", "not yet", "raised KeyError", ""),
    ]
    assert all(attempt.at.endswith("+00:00") for attempt in kept)


def test_hints_are_listed_once_each():
    for number in (2, 1, 2):
        progress.record_hint("1.2", number)
    assert progress.hints_opened("1.2") == [1, 2]
    assert progress.hints_opened("1.1") == []


@pytest.mark.parametrize(
    "record", [lambda: progress.record_attempt("1.2", "failed"), lambda: progress.record_lesson("01", "read")]
)
def test_unknown_words_are_refused(record):
    with pytest.raises(ValueError, match="must be one of"):
        record()


def test_summary_has_a_row_per_lesson_and_counts_each_thing_once():
    for id, right in [("01.1", False), ("01.1", True), ("01.1", True), ("01.2", False), ("09.1", True)]:
        progress.record_answer(id, ["a"], right)
    for id, outcome in [("1.1", "passed"), ("1.1", "not yet"), ("1.2", "not attempted"), ("10.1", "passed")]:
        progress.record_attempt(id, outcome)
    progress.record_lesson(1, "opened")
    progress.record_lesson("01", "finished")
    progress.record_lesson("10", "opened")
    # 09.1 is no longer in the course, so it does not count
    assert progress.summary(["01.1", "01.2", "02.1"], ["1.1", "1.2", "10.1"], lessons=["00"]) == [
        LessonProgress("00", 0, 0, 0, 0, False, False),
        LessonProgress("01", 1, 2, 1, 2, True, True),
        LessonProgress("02", 0, 1, 0, 0, False, False),
        LessonProgress("10", 0, 0, 1, 1, True, False),
    ]


def test_two_processes_write_at_once_and_nothing_is_lost(space):
    code = (
        "from course_kit.classroom import progress\nfor n in range(200): progress.record_answer(f'01.{n}', ['a'], True)"
    )
    writers = [python(code) for _ in range(2)]  # the file does not exist yet: both begin it
    assert [finish(writer) for writer in writers] == [0, 0]
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT question_id) FROM quiz_answers").fetchone() == (
            400,
            200,
        )
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill -9")
def test_a_killed_process_loses_nothing_it_had_written(space):
    code = (
        "import itertools\n"
        "from course_kit.classroom import progress\n"
        "for n in itertools.count():\n"
        "    progress.record_answer('01.1', [str(n)], True)\n"
        "    print(n, flush=True)"
    )
    writer = python(code)
    said = [writer.stdout.readline() for _ in range(20)]
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate(timeout=30)
    assert int(progress.last_answer("01.1").option_ids[0]) >= int(said[-1])
    progress.record_answer("01.1", ["after"], True)
    assert progress.last_answer("01.1").option_ids == ("after",)


def test_an_older_file_is_upgraded_with_its_rows(monkeypatch, space):
    progress.record_answer("01.1", ["a"], True)
    assert user_version(space / "progress.sqlite3") == 1
    further = [["ALTER TABLE quiz_answers ADD COLUMN seconds REAL"], ["CREATE TABLE notes (id INTEGER PRIMARY KEY)"]]
    monkeypatch.setattr(progress, "MIGRATIONS", [*progress.MIGRATIONS, *further])
    assert progress.last_answer("01.1").option_ids == ("a",)
    assert user_version(space / "progress.sqlite3") == 3
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT option_ids, seconds FROM quiz_answers").fetchall() == [('["a"]', None)]
        assert connection.execute("SELECT * FROM notes").fetchall() == []


def test_an_upgrade_that_fails_leaves_the_old_file(monkeypatch, space):
    progress.record_answer("01.1", ["a"], True)
    with monkeypatch.context() as patch:
        patch.setattr(progress, "MIGRATIONS", [*progress.MIGRATIONS, ["CREATE TABLE half (id)", "NO SUCH STATEMENT"]])
        with pytest.raises(SetupError, match="cannot be used .*syntax error"):
            progress.last_answer("01.1")
    assert user_version(space / "progress.sqlite3") == 1
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
    assert progress.last_answer("01.1").right


def test_a_file_of_a_newer_version_is_left_alone(space):
    progress.record_answer("01.1", ["a"], True)
    file = space / "progress.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 7")
    before = file.read_bytes()
    for use in (lambda: progress.record_answer("01.1", ["b"], False), lambda: progress.summary(), progress.reset):
        with pytest.raises(SetupError) as caught:
            use()
        assert str(caught.value) == (
            f"{file} was written by a newer version of the course (schema 7, this one knows 1) and is left as it is: "
            "update course-kit, or set COURSE_WORKSPACE to another folder."
        )
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["no database at all", "a page overwritten", "cut in half"])
def test_a_corrupt_file_is_set_aside_and_a_new_one_begun(space, capsys, damage):
    file = space / "progress.sqlite3"
    for n in range(20):
        progress.record_answer(f"01.{n}", ["a"], True)
    good = file.read_bytes()
    bad = {
        "no database at all": b"hello, this is not a database" * 100,
        "a page overwritten": good[:4096] + b"\xff" * 4096 + good[8192:],
        "cut in half": good[: len(good) // 2],
    }[damage]
    file.write_bytes(bad)
    progress.record_answer("01.1", ["b"], True)
    (kept,) = space.glob("progress-unreadable-*.sqlite3")
    assert kept.read_bytes() == bad
    said = f"The progress file could not be read: it is kept as {kept.name}, and a new one was begun.\n"
    assert capsys.readouterr().out == said
    assert progress.last_answer("01.1").option_ids == ("b",)
    assert progress.last_answer("01.2") is None
    assert capsys.readouterr().out == ""


def test_two_processes_that_find_a_corrupt_file_set_it_aside_once(space):
    (space / "progress.sqlite3").write_bytes(b"not a database, not at all" * 100)
    code = "from course_kit.classroom import progress\nprogress.record_answer('01.1', ['a'], True)"
    writers = [python(code) for _ in range(3)]
    assert [finish(writer) for writer in writers] == [0, 0, 0]
    assert len(list(space.glob("progress-unreadable-*.sqlite3"))) == 1
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT count(*) FROM quiz_answers").fetchone() == (3,)


def test_a_file_that_cannot_be_written_is_one_sentence(space, monkeypatch):
    progress.record_answer("01.1", ["a"], True)
    connect = sqlite3.connect

    def read_only(file, **options):
        return connect(f"{Path(file).as_uri()}?mode=ro", uri=True, **options)

    monkeypatch.setattr(progress.sqlite3, "connect", read_only)
    with pytest.raises(SetupError, match="cannot be used .*readonly.*: free the file, or set COURSE_WORKSPACE"):
        progress.record_answer("01.1", ["b"], True)
    assert progress.last_answer("01.1").option_ids == ("a",)


def test_reset_keeps_a_dated_backup_and_begins_anew(space):
    progress.record_answer("01.1", ["a"], True)
    progress.record_attempt("1.1", "passed")
    progress.record_hint("1.1", 1)
    progress.record_lesson(1, "opened")
    first, second = progress.reset(), progress.reset()
    assert first != second and first.parent == space and first.name.startswith("progress-backup-2")
    assert progress.last_answer("01.1") is None
    assert progress.summary(["01.1"], ["1.1"]) == [LessonProgress("01", 0, 1, 0, 1, False, False)]
    with closing(sqlite3.connect(first)) as connection:
        assert connection.execute("SELECT question_id FROM quiz_answers").fetchall() == [("01.1",)]
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    first.replace(space / "progress.sqlite3")  # a backup is a progress file again
    assert progress.last_answer("01.1").right


def test_reset_without_a_backup_leaves_one_file(space):
    progress.record_hint("1.1", 1)
    assert progress.reset(backup=False) == space / "progress.sqlite3"
    assert progress.hints_opened("1.1") == []
    assert list(space.glob("progress-*")) == []

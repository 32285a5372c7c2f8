"""What is kept of a learner's work: never lost, never mixed up, and said plainly when it cannot be kept."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from course_kit.classroom import progress, progress_store
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


def test_a_wrong_answer_begins_a_lesson_and_an_exercise_left_as_it_was_does_not():
    progress.record_answer("01.1", ["b"], False)
    progress.record_attempt("2.1", "not attempted")
    progress.record_attempt("3.1", "not yet")
    rows = progress.summary(["01.1"], ["2.1", "3.1"])
    assert [(row.lesson, row.begun) for row in rows] == [("01", True), ("02", False), ("03", True)]


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
    monkeypatch.setattr(progress_store, "MIGRATIONS", [*progress_store.MIGRATIONS, *further])
    assert progress.last_answer("01.1").option_ids == ("a",)
    assert user_version(space / "progress.sqlite3") == 3
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT option_ids, seconds FROM quiz_answers").fetchall() == [('["a"]', None)]
        assert connection.execute("SELECT * FROM notes").fetchall() == []


def test_an_upgrade_that_fails_leaves_the_old_file(monkeypatch, space):
    progress.record_answer("01.1", ["a"], True)
    with monkeypatch.context() as patch:
        patch.setattr(
            progress_store, "MIGRATIONS", [*progress_store.MIGRATIONS, ["CREATE TABLE half (id)", "NO SUCH STATEMENT"]]
        )
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

    monkeypatch.setattr(progress_store.sqlite3, "connect", read_only)
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


# What the learner sees of it


def test_answers_come_oldest_first_with_the_time_of_the_clock(monkeypatch):
    times = iter(datetime(2026, 9, day, 20, tzinfo=UTC) for day in (1, 2))
    monkeypatch.setattr(progress, "_now", lambda: next(times))
    progress.record_answer("02.1", ["b"], False)
    progress.record_answer("01.1", ["a", "c"], True)
    assert progress.answers() == [
        Answer("02.1", ("b",), False, "2026-09-01T20:00:00+00:00"),
        Answer("01.1", ("a", "c"), True, "2026-09-02T20:00:00+00:00"),
    ]


def test_lessons_are_listed_by_when_they_were_last_worked_in(monkeypatch):
    times = iter(datetime(2026, 9, day, tzinfo=UTC) for day in range(1, 5))
    monkeypatch.setattr(progress, "_now", lambda: next(times))
    progress.record_answer("05.1", ["b"], True)
    progress.record_attempt("2.1", "not yet")
    progress.record_lesson(7, "opened")
    progress.record_answer("05.recall.1", ["b"], False)
    assert progress.lessons_touched() == ["05", "07", "02"]


@pytest.mark.parametrize(
    ("row", "done", "begun", "left"),
    [
        (LessonProgress("01", 0, 2, 0, 1, False, False), False, False, "2 questions and 1 exercise"),
        (LessonProgress("01", 1, 2, 0, 0, False, False), False, True, "1 question"),
        (LessonProgress("01", 2, 2, 0, 3, True, True), False, True, "3 exercises"),
        (LessonProgress("01", 2, 2, 1, 1, False, False), True, True, ""),
        (LessonProgress("90", 0, 0, 0, 0, True, True), False, True, ""),
    ],
    ids=["untouched", "begun", "said to be finished", "done", "nothing to do in it"],
)
def test_a_lesson_is_done_when_all_in_it_is(row, done, begun, left):
    assert (row.done, row.begun, row.left) == (done, begun, left)


# The way back


def test_restore_brings_back_the_newest_backup_and_undoes_itself(space):
    progress.record_answer("01.1", ["a"], True)
    first = progress.reset()
    progress.record_answer("02.2", ["b"], False)
    taken, kept = progress.restore()
    assert taken == first and kept not in (None, first)
    assert [answer.question_id for answer in progress.answers()] == ["01.1"]
    assert progress.restore() == (kept, sorted(space.glob("progress-backup-*"), key=lambda file: file.stem)[-1])
    assert [answer.question_id for answer in progress.answers()] == ["02.2"]
    assert len(list(space.glob("progress-backup-*.sqlite3"))) == 3  # nothing that was ever there is gone


def test_restore_takes_a_named_file_of_an_older_version_and_leaves_it_as_it_is(monkeypatch, space, tmp_path_factory):
    progress.record_attempt("1.1", "passed")
    elsewhere = tmp_path_factory.mktemp("stick") / "old.sqlite3"
    progress.reset().rename(elsewhere)
    before = elsewhere.read_bytes()
    further = [["ALTER TABLE quiz_answers ADD COLUMN seconds REAL"]]
    monkeypatch.setattr(progress_store, "MIGRATIONS", [*progress_store.MIGRATIONS, *further])
    assert progress.restore(elsewhere) == (elsewhere, None)  # nothing stood here, so nothing was kept
    assert [attempt.outcome for attempt in progress.attempts("1.1")] == ["passed"]
    assert elsewhere.read_bytes() == before


def foreign_database(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE sheep (id INTEGER); PRAGMA user_version = 1")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda file: None, "There is no file .*: choose a progress-backup"),
        (lambda file: file.write_bytes(b""), "is not a progress file: choose a progress-backup"),
        (lambda file: file.write_bytes(b"no database" * 500), "cannot be restored .*: choose a progress-backup"),
        (foreign_database, "cannot be restored .*: choose a progress-backup"),
    ],
    ids=["missing", "empty", "no database", "another program's"],
)
def test_restore_refuses_what_is_no_backup_and_changes_nothing(space, make, sentence):
    progress.record_answer("01.1", ["a"], True)
    make(space / "given.sqlite3")
    with pytest.raises(SetupError, match=sentence):
        progress.restore(space / "given.sqlite3")
    assert [answer.question_id for answer in progress.answers()] == ["01.1"]
    assert list(space.glob("progress-backup-*")) == []


def test_restore_of_a_newer_versions_backup_is_refused(space):
    progress.record_answer("01.1", ["a"], True)
    kept = progress.reset()
    with closing(sqlite3.connect(kept)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(SetupError, match="was written by a newer version"):
        progress.restore()


def test_restore_without_any_backup_is_one_sentence(space):
    with pytest.raises(SetupError, match="^There is no backup in .*: name the file to restore.$"):
        progress.restore()


def test_a_reset_of_nothing_leaves_no_empty_backup(space):
    assert progress.reset() == space / "progress.sqlite3"
    assert list(space.glob("progress-backup-*")) == []


# Attacked


def test_rows_of_a_broken_file_are_saved_as_far_as_they_can_be_read(space, capsys):
    with progress_store.opened() as connection:  # one transaction: 2,000 rows in a moment
        connection.execute("BEGIN")
        rows = [(f"01.{n}", '["a"]', 1, "2026-09-01T20:00:00+00:00") for n in range(2000)]
        connection.executemany(
            "INSERT INTO quiz_answers (question_id, option_ids, is_right, at) VALUES (?,?,?,?)", rows
        )
        connection.execute("COMMIT")
    progress.record_attempt("1.1", "passed")
    file = space / "progress.sqlite3"
    whole = bytearray(file.read_bytes())
    middle = len(whole) // 8192 * 4096
    whole[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(whole)
    saved = {answer.question_id for answer in progress.answers()}
    said = capsys.readouterr().out
    assert f"a new one was begun with the {len(saved) + 1} rows that could be saved." in said
    assert 1800 < len(saved) < 2000
    assert [attempt.outcome for attempt in progress.attempts("1.1")] == ["passed"]
    [kept] = space.glob("progress-unreadable-*.sqlite3")
    assert kept.read_bytes() == bytes(whole)


KILLED_BEFORE_COMMIT = """
import os, signal, sqlite3
from course_kit.classroom import progress, progress_store
connect = sqlite3.connect

class Deadly(sqlite3.Connection):
    def execute(self, statement, *more):
        if statement == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(statement, *more)

progress_store.sqlite3.connect = lambda *given, **options: connect(*given, **options, factory=Deadly)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill -9")
@pytest.mark.parametrize(
    "act",
    [
        "progress.reset()",
        "progress.restore()",
        "progress_store.MIGRATIONS.append(['CREATE TABLE half (id)']); progress.answers()",
    ],
    ids=["reset", "restore", "upgrade"],
)
def test_killed_in_the_middle_of_a_great_change_it_never_happened(space, act):
    progress.record_answer("01.1", ["a"], True)
    progress.reset()
    progress.record_answer("02.1", ["b"], True)
    assert finish(python(f"{KILLED_BEFORE_COMMIT}\n{act}")) == -signal.SIGKILL
    assert [answer.question_id for answer in progress.answers()] == ["02.1"]
    assert user_version(space / "progress.sqlite3") == 1
    with closing(sqlite3.connect(space / "progress.sqlite3")) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
    progress.record_answer("03.1", ["b"], True)  # and the file is free again
    assert len(progress.answers()) == 2


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill -9")
def test_killed_while_it_copies_no_half_backup_is_left_to_be_taken_for_one(space):
    progress.record_answer("01.1", ["a"], True)
    code = KILLED_BEFORE_COMMIT.replace("def execute", "def backup").replace('if statement == "COMMIT":', "if True:")
    assert finish(python(f"{code}\nprogress.reset()")) == -signal.SIGKILL
    assert len(progress.answers()) == 1
    with pytest.raises(SetupError, match="There is no backup"):
        progress.restore()
    kept = progress.reset()
    assert progress.restore()[0] == kept and len(progress.answers()) == 1


def test_two_notebooks_write_while_a_third_resets_and_every_row_is_somewhere(space):
    write = (
        "from course_kit.classroom import progress\nfor n in range(60): progress.record_answer(f'01.{n}', ['a'], True)"
    )
    reset = "from course_kit.classroom import progress\nfor n in range(8): progress.reset()"
    workers = [python(write), python(write), python(reset)]
    assert [finish(worker) for worker in workers] == [0, 0, 0]
    count = len(progress.answers())
    for kept in space.glob("progress-backup-*.sqlite3"):
        with closing(sqlite3.connect(kept)) as connection:
            count += connection.execute("SELECT count(*) FROM quiz_answers").fetchone()[0]
    assert count == 120


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_write_protected_file_is_one_sentence_and_is_still_read(space):
    progress.record_answer("01.1", ["a"], True)
    (space / "progress.sqlite3").chmod(0o444)
    with pytest.raises(SetupError, match="cannot be used .*readonly.*: free the file, or set COURSE_WORKSPACE"):
        progress.record_answer("01.1", ["b"], True)
    assert progress.last_answer("01.1").option_ids == ("a",)

"""The progress file itself: opened, checked, upgraded, and when it is broken, set aside with its rows saved.

Two notebooks may write at once (write-ahead log, one short transaction per row), and a process that is killed loses
at most the row it was writing. A connection lives as long as one call, so nothing keeps the file open. What the rows
mean is next door, in `progress.py`.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_kit.classroom.workspace import workspace
from course_kit.errors import SetupError

__all__ = ["MIGRATIONS", "TABLES", "back_up", "begin_anew", "latest_backup", "opened", "progress_file", "take_back"]

# One entry per schema version; `PRAGMA user_version` counts how many a file has had. Never edit an entry: append.
MIGRATIONS: list[list[str]] = [
    [
        """CREATE TABLE quiz_answers (
            id INTEGER PRIMARY KEY, question_id TEXT NOT NULL, option_ids TEXT NOT NULL, is_right INTEGER NOT NULL,
            at TEXT NOT NULL)""",
        """CREATE TABLE exercise_attempts (
            id INTEGER PRIMARY KEY, exercise_id TEXT NOT NULL, outcome TEXT NOT NULL, message_key TEXT NOT NULL,
            at TEXT NOT NULL)""",
        """CREATE TABLE hints_opened (
            id INTEGER PRIMARY KEY, exercise_id TEXT NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL)""",
        """CREATE TABLE lesson_events (
            id INTEGER PRIMARY KEY, lesson TEXT NOT NULL, event TEXT NOT NULL, at TEXT NOT NULL)""",
        "CREATE INDEX quiz_answers_by_question ON quiz_answers (question_id)",
        "CREATE INDEX exercise_attempts_by_exercise ON exercise_attempts (exercise_id)",
    ],
]
TABLES = ("quiz_answers", "exercise_attempts", "hints_opened", "lesson_events")
Rows = dict[str, list[dict[str, Any]]]


def progress_file() -> Path:
    """Where progress is kept: `progress.sqlite3` in the workspace."""
    return workspace() / "progress.sqlite3"


def back_up(connection: sqlite3.Connection) -> Path | None:
    """A dated copy of what is committed, or None while there is nothing to copy."""
    if not any(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in TABLES):
        return None
    kept = _unused_name("backup")
    unfinished = kept.with_suffix(".part")  # so that a copy that was cut short is never taken for a backup
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(progress_file())) as source, closing(sqlite3.connect(unfinished)) as target:
        source.backup(target)
    return unfinished.rename(kept)


def latest_backup() -> Path | None:
    """The newest backup in the workspace, or None."""
    return max(progress_file().parent.glob("progress-backup-*.sqlite3"), key=lambda file: file.stem, default=None)


def begin_anew() -> Path | None:
    """Empty the file; returns the backup, if there was anything to keep."""
    with opened() as connection:
        connection.execute("BEGIN IMMEDIATE")  # nobody else writes between the copy and the emptying
        kept = back_up(connection)
        for table in TABLES:
            connection.execute(f"DELETE FROM {table}")
        connection.execute("COMMIT")
    return kept


def take_back(file: Path) -> Path | None:
    """Put the rows of a backup in the place of those that are here; returns the backup of the latter, if any."""
    rows = _rows_of(file)
    with opened() as connection:
        connection.execute("BEGIN IMMEDIATE")
        kept = back_up(connection)
        for table in TABLES:
            connection.execute(f"DELETE FROM {table}")
        _add(connection, rows)
        connection.execute("COMMIT")
    return kept


def _rows_of(file: Path) -> Rows:
    """All rows of another progress file, as this version of the course holds them; the file stays as it is."""
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as source:
                source.backup(copy)
            if copy.execute("PRAGMA user_version").fetchone() == (0,):
                raise SetupError(f"{file} is not a progress file: choose a progress-backup-….sqlite3.")
            _check_and_upgrade(copy, file)
            return {table: list(_named_rows(copy, table)) for table in TABLES}
    except sqlite3.Error as error:
        raise SetupError(f"{file} cannot be restored ({error}): choose a progress-backup-….sqlite3.") from error


def _named_rows(connection: sqlite3.Connection, table: str, order: str = "ASC") -> Iterator[dict[str, Any]]:
    found = connection.execute(f"SELECT * FROM {table} ORDER BY id {order}")
    names = [column[0] for column in found.description]
    for row in found:
        yield dict(zip(names, row, strict=True))


def _add(connection: sqlite3.Connection, rows: Rows) -> None:
    for table, each in rows.items():
        for row in each:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


@contextmanager
def opened() -> Iterator[sqlite3.Connection]:
    """A checked connection to the progress file; each statement is its own transaction unless one is begun."""
    file = progress_file()
    try:
        for corrupt_before in (False, True):
            with closing(_guard(file, "BEGIN")):
                try:
                    connection = _connect(file)
                except sqlite3.DatabaseError as error:
                    if corrupt_before or not _is_corrupt(error):
                        raise
                else:
                    with closing(connection):
                        yield connection
                    return
            _set_aside(file)
    except sqlite3.Error as error:
        raise SetupError(
            f"Progress in {file} cannot be used ({error}): free the file, or set COURSE_WORKSPACE to another folder."
        ) from error


def _guard(file: Path, begin: str) -> sqlite3.Connection:
    """A lock beside the progress file, shared (`BEGIN`) by all who use it, exclusive (`BEGIN EXCLUSIVE`) to replace it.

    It is itself a database, since SQLite's locks work on every system and are let go when a process is killed.
    """
    lock = sqlite3.connect(file.with_suffix(".lock"), timeout=30, isolation_level=None)
    try:
        lock.execute(begin)
        lock.execute("SELECT * FROM sqlite_master")  # the first reading takes the lock
    except BaseException:
        lock.close()
        raise
    return lock


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=30, isolation_level=None)
    try:
        _check_and_upgrade(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_and_upgrade(connection: sqlite3.Connection, file: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise SetupError(
            f"{file} was written by a newer version of the course (schema {version}, this one knows {len(MIGRATIONS)}) "
            "and is left as it is: update course-kit, or set COURSE_WORKSPACE to another folder."
        )
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("malformed")
    connection.execute("PRAGMA synchronous = NORMAL")  # with the write-ahead log: safe when a process is killed
    if version == len(MIGRATIONS):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()  # another process may have been first
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")


def _is_corrupt(error: sqlite3.DatabaseError) -> bool:
    name = getattr(error, "sqlite_errorname", "")
    return str(error) == "malformed" or name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT"))


def _set_aside(file: Path) -> None:
    """Rename a file that is no longer a database, and say so; of two processes that find it, only one does."""
    with closing(_guard(file, "BEGIN EXCLUSIVE")):
        try:
            _connect(file).close()
            return  # the other process has begun a new file
        except sqlite3.DatabaseError as error:
            if not _is_corrupt(error):
                raise
        kept = _unused_name("unreadable")
        for part in ("", "-wal", "-shm"):
            if (whole := file.with_name(file.name + part)).exists():
                whole.rename(kept.with_name(kept.name + part))
        saved = _saved_from(kept)
        with closing(_connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            _add(connection, saved)
            connection.execute("COMMIT")
    count = sum(map(len, saved.values()))
    with_them = f" with the {count} rows that could be saved" if count else ""
    print(f"The progress file could not be read: it is kept as {kept.name}, and a new one was begun{with_them}.")


def _saved_from(broken: Path) -> Rows:
    """What can still be read of a broken file: of each table from the front until it breaks, then from the back."""
    saved: Rows = {table: [] for table in TABLES}
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{broken.as_uri()}?mode=ro", uri=True)) as source:
        for table in TABLES:
            found: dict[int, dict[str, Any]] = {}
            for order in ("ASC", "DESC"):
                with suppress(sqlite3.Error):
                    for row in _named_rows(source, table, order):
                        if row["id"] in found:
                            break  # the two readings have met
                        if _sound(row):
                            found[row["id"]] = row
            saved[table] = [found[id] for id in sorted(found)]
    return saved


def _sound(row: dict[str, Any]) -> bool:
    """Whether a row out of a broken file is one that was written: whole numbers, texts, and a time."""
    with suppress(ValueError, TypeError):
        datetime.fromisoformat(row["at"])
        json.loads(row.get("option_ids", "[]"))
        return all(isinstance(value, int | str) for value in row.values())
    return False


def _unused_name(reason: str) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    names = (f"progress-{reason}-{stamp}{extra}.sqlite3" for extra in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(file for file in map(progress_file().with_name, names) if not file.exists())

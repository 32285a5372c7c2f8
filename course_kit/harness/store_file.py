"""The SQLite file behind `store.py`: its tables, and all-or-nothing transactions.

Every call opens its own connection: threads and forked processes share nothing, and a killed process leaves at
most a journal behind that the next one rolls back. The journal is SQLite's ordinary one, not WAL: WAL needs shared
memory, which network and container file systems lack, and it keeps what is new in a second file.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from course_kit.errors import SetupError

__all__ = ["StoreFile", "dump"]

APPLICATION_ID = 0x52554E53  # "RUNS": marks the file as ours, so that no other file is ever written to
SCHEMA_VERSION = 1
ONLY_GROWS = "SELECT RAISE(ABORT, 'the log of approvals only grows: its rows are never changed'); END"
SCHEMA = (
    """CREATE TABLE runs (run_id TEXT PRIMARY KEY, began_at TEXT NOT NULL, request TEXT NOT NULL,
       settings TEXT NOT NULL)""",
    """CREATE TABLE events (run_id TEXT NOT NULL REFERENCES runs, position INTEGER NOT NULL, at TEXT NOT NULL,
       kind TEXT, event TEXT NOT NULL, PRIMARY KEY (run_id, position))""",
    """CREATE TABLE audit (number INTEGER PRIMARY KEY, at TEXT NOT NULL, event TEXT NOT NULL, step INTEGER NOT NULL,
       run_id TEXT NOT NULL REFERENCES runs, tool_use_id TEXT NOT NULL, tool TEXT NOT NULL, input TEXT NOT NULL,
       digest TEXT NOT NULL, expires_at TEXT, decision TEXT, by TEXT NOT NULL, UNIQUE (run_id, tool_use_id, step))""",
    f"CREATE TRIGGER audit_update BEFORE UPDATE ON audit BEGIN {ONLY_GROWS}",
    f"CREATE TRIGGER audit_delete BEFORE DELETE ON audit BEGIN {ONLY_GROWS}",
    # subtle: INSERT OR REPLACE deletes the old row without the trigger for DELETE
    f"""CREATE TRIGGER audit_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE number = NEW.number
        OR (run_id, tool_use_id, step) = (NEW.run_id, NEW.tool_use_id, NEW.step)) BEGIN {ONLY_GROWS}""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class StoreFile:
    """The file of a `RunStore`, made if need be; a file that is something else is refused and left as it is."""

    busy_seconds = 10.0  # how long a call waits for another one's write

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path).expanduser().absolute()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                self.path.touch()
        except OSError as error:
            raise SetupError(self._cannot(error)) from None
        if 0 < self.path.stat().st_size < 100:  # subtle: SQLite may overwrite a file shorter than its header
            raise SetupError(f"{self.path} is not a store of runs: choose another path.")
        with self.writing() as db:
            mark, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            if mark == APPLICATION_ID and version > SCHEMA_VERSION:
                raise SetupError(f"{self.path} was made by a newer version of the course: update it to read this file.")
            if mark != APPLICATION_ID:
                if mark or version or db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                    raise SetupError(f"{self.path} is not a store of runs: choose another path.")
                for statement in SCHEMA:
                    db.execute(statement)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that sees the file as it is at one moment."""
        return self._transaction("DEFERRED")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """The same with the write lock taken first, so that what is checked still holds when it is written."""
        return self._transaction("IMMEDIATE")

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A new connection, without a transaction."""
        if not self.path.exists():  # SQLite would make an empty one
            raise SetupError(f"{self.path} is gone: put it back, or open a store at another path.")
        db = sqlite3.connect(self.path, timeout=self.busy_seconds, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA synchronous = EXTRA")  # a commit is on disk, and so is the removal of its journal
            yield db
        finally:
            db.close()

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        try:
            with self.connection() as db:
                db.execute(f"BEGIN {kind}")
                yield db  # an exception here closes the connection, and nothing is written
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise SetupError(self._cannot(error)) from None

    def _cannot(self, error: Exception) -> str:
        if "locked" in str(error):
            return f"{self.path} is in use by another process: nothing was stored, try again."
        if "not a database" in str(error) or "malformed" in str(error):
            return f"{self.path} is not a store of runs, or a damaged one: choose another path."
        reason = getattr(error, "strerror", None) or error
        return f"Runs cannot be kept in {self.path} ({reason}): choose another path."


def dump(what: str, value: Any, *, sort_keys: bool = False) -> str:
    """JSON in ASCII: a model can write half a surrogate pair, which SQLite does not take as text."""
    try:
        return json.dumps(value, sort_keys=sort_keys)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"The {what} cannot be stored: it is not plain JSON data ({error}).") from None

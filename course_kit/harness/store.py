"""Runs, the approvals they wait for, and who decided what: one SQLite file that outlives every process.

A run is its request and its list of events; both are kept as they happen, so that whoever opens the file after a crash
can continue where the process died. Questions to a person, their answers and their use are rows of one log that only
grows: the queue of pending approvals is what was asked there and not yet decided, so queue and log cannot disagree.
`loop.py` explains the events; `approval.py`, who asks and who answers; `store_file.py`, how the file stays intact.
"""

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from course_kit.contract.messages import Block
from course_kit.errors import CourseKitError

from .decisions import NOBODY_ANSWERED, Decision
from .store_file import StoreFile, dump

__all__ = ["AlreadyDecided", "NotApproved", "NotFound", "Pending", "RunStore", "RunTaken", "StoredRun", "digest_of"]

_STEPS = {"asked": 1, "decided": 2, "expired": 2, "used": 3}  # a call takes each step at most once
_PENDING = """SELECT * FROM audit AS asked WHERE step = 1 AND NOT EXISTS (SELECT 1 FROM audit WHERE step = 2
              AND run_id = asked.run_id AND tool_use_id = asked.tool_use_id)"""


class RunTaken(CourseKitError):
    """Another process is continuing this run: its event has taken the position."""


class NotFound(CourseKitError):
    """There is no such run, no such question in it, or no such key."""


class AlreadyDecided(CourseKitError):
    """The question has its answer: the first decision stays."""


class NotApproved(CourseKitError):
    """This call, with this input, is not what somebody allowed."""


@dataclass(frozen=True)
class StoredRun:
    """A run as stored: its first `request` with messages, its `settings`, and every event so far."""

    run_id: str
    request: dict[str, Any]
    settings: dict[str, Any]
    events: list[dict[str, Any]]


@dataclass(frozen=True)
class Pending:
    """A call that waits for a decision; `input` is exactly what would run."""

    run_id: str
    tool_use_id: str
    tool: str
    input: dict[str, Any]
    asked_at: str
    expires_at: str | None


class RunStore:
    """Runs and approvals in one file. Safe to use from several threads and processes, and after `kill -9`.

    When a method returns, all that it stored is on disk; what it did not finish leaves no trace. The log of
    approvals refuses accidental changes; the file's owner can still change anything.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], datetime] | None = None):
        """Open the store, or create it; a file that is something else is refused. `clock` gives aware datetimes."""
        self._file = StoreFile(path)
        self._clock = clock or (lambda: datetime.now(UTC))

    def __repr__(self) -> str:
        return f"<RunStore {self._file.path.name}>"

    # ---- runs ----

    def begin(self, request: dict[str, Any], settings: dict[str, Any]) -> str:
        """Keep the request of a new run, with its messages, and return the run's id: `"run_1f0c9a62b7d4"`."""
        run_id = f"run_{secrets.token_hex(6)}"
        row = dump("request", request), dump("settings", settings)
        with self._file.writing() as db:
            db.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", (run_id, self._now(), *row))
        return run_id

    def append(self, run_id: str, position: int, event: dict[str, Any]) -> None:
        """Store the event with this number: 0, 1, 2, ... A caller that finds it taken must not continue the run.

        What a decision or the start of a call changes in queue and log is written with it, or neither is.
        """
        text = dump("event", event)
        with self._file.writing() as db:
            self._check_run(db, run_id)
            last = "SELECT MAX(position) FROM events WHERE run_id = ?"
            [found] = db.execute(last, (run_id,)).fetchone()
            expected = 0 if found is None else found + 1
            if 0 <= position < expected:
                raise RunTaken(
                    f"Another process goes on with run {run_id}: it has an event {position} already. "
                    "Leave it to that one, or load the run again once it has stopped."
                )
            if position != expected:
                raise ValueError(f"The next event of run {run_id} has the position {expected}, not {position}.")
            row = run_id, position, self._now(), event.get("event"), text
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", row)
            match event:
                case {"event": "decision"}:
                    self._log_decision(db, run_id, event)
                case {"event": "started", "tool_use_id": id} if self._row(db, run_id, id, "asked"):
                    # May be used already: a call begins again where that does no harm (`turns.py`).
                    self._use(db, run_id, id, event["input"])

    def load(self, run_id: str) -> StoredRun:
        """A run with everything stored of it: feed its events to a new `Loop` to continue."""
        with self._file.reading() as db:
            self._check_run(db, run_id)
            [run] = db.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,))
            events = db.execute("SELECT event FROM events WHERE run_id = ? ORDER BY position", (run_id,)).fetchall()
        request, settings = json.loads(run["request"]), json.loads(run["settings"])
        return StoredRun(run_id, request, settings, [json.loads(event) for (event,) in events])

    def runs(self) -> list[dict[str, Any]]:
        """All runs, newest first: `[{"run_id", "began_at", "stopped", "model_calls", "pending"}, ...]`.

        `stopped` is the reason when the last event is a stop, else None: the run goes on, or its process died.
        """
        with self._approvals() as db:
            rows = db.execute(
                f"""SELECT run_id, began_at,
                    (SELECT event FROM events WHERE run_id = runs.run_id ORDER BY position DESC LIMIT 1) AS last,
                    (SELECT COUNT(*) FROM events WHERE run_id = runs.run_id AND kind = 'reply') AS model_calls,
                    (SELECT COUNT(*) FROM ({_PENDING}) WHERE run_id = runs.run_id) AS pending
                    FROM runs ORDER BY rowid DESC"""
            ).fetchall()
        found = [dict(row) for row in rows]
        for run in found:
            last = json.loads(run.pop("last") or "{}")
            run["stopped"] = last.get("reason") if last.get("event") == "stop" else None
        return found

    # ---- approvals ----

    def ask(self, run_id: str, tool_use: Block, *, expires_at: str | None = None) -> None:
        """Put a call into the queue, with its input as it would run; asking again changes nothing.

        `expires_at` is an ISO 8601 time with a zone, after which an unanswered question counts as denied.
        """
        if expires_at is not None and datetime.fromisoformat(expires_at).tzinfo is None:
            raise ValueError(f"expires_at is {expires_at}, without a zone: write it such as {self._now()}.")
        text, digest = dump("input", tool_use["input"]), digest_of(tool_use["input"])
        with self._file.writing() as db:
            self._check_run(db, run_id)
            row = self._row(db, run_id, tool_use["id"], "asked")
            if row is None:
                call = {"run_id": run_id, "tool_use_id": tool_use["id"], "tool": tool_use["name"]}
                self._log(db, "asked", call | {"input": text, "digest": digest, "expires_at": expires_at})
            elif (row["tool"], row["digest"]) != (tool_use["name"], digest):
                raise NotApproved(
                    f"Call {tool_use['id']} of run {run_id} was put to a person with another input, and one question "
                    "has one input: give the changed call an id of its own."
                )

    def pending(self, run_id: str | None = None) -> list[Pending]:
        """The calls that wait for a decision, oldest first, without those whose time is up."""
        with self._approvals(run_id) as db:
            rows = db.execute(f"{_PENDING} AND run_id = COALESCE(?, run_id) ORDER BY number", (run_id,)).fetchall()
        fields = ("run_id", "tool_use_id", "tool", "input", "at", "expires_at")
        return [Pending(*(json.loads(row[name]) if name == "input" else row[name] for name in fields)) for row in rows]

    def decide(self, run_id: str, tool_use_id: str, decision: Decision, *, by: str = "") -> None:
        """Answer a question once and for all. An edit is about its own input, anything else about the one shown."""
        if not isinstance(decision, Decision):
            raise TypeError(f"A decision is allow(), deny(…) or edit(…), not {decision!r}.")
        if decision.verdict == "wait":
            raise ValueError("To wait is no answer: leave the question in the queue.")
        with self._approvals(run_id) as db:
            asked = self._row(db, run_id, tool_use_id, "asked")
            if asked is None:
                waiting = [row["tool_use_id"] for row in db.execute(f"{_PENDING} AND run_id = ?", (run_id,))]
                raise NotFound(
                    f"Nobody asked about a call {tool_use_id} of run {run_id}: {_listed('waiting', waiting)}."
                )
            if (first := self._row(db, run_id, tool_use_id, "decided")) is not None:
                raise AlreadyDecided(_who_decided(first))
            row = dict(asked)
            if decision.verdict == "edit":
                row |= {"input": dump("input", decision.input), "digest": digest_of(decision.input)}
            self._log(db, "decided", row | {"decision": dump("decision", decision.to_json()), "by": by})

    def decision(self, run_id: str, tool_use_id: str) -> Decision | None:
        """What was decided, or None; a question whose time is up gives `deny("nobody answered in time")`."""
        with self._approvals(run_id) as db:
            row = self._row(db, run_id, tool_use_id, "decided")
        return None if row is None else Decision.from_json(json.loads(row["decision"]))

    def use(self, run_id: str, tool_use_id: str, input: dict[str, Any]) -> bool:
        """Use up the approval, right before the call runs: True once, False ever after, in any process.

        `input` is what is about to run (for an edit, the edited one); anything not approved is refused. False
        after a crash means that the call may have taken effect: look before you make it again. The loop's `started`
        events do the same (`append`).
        """
        with self._approvals(run_id) as db:
            return self._use(db, run_id, tool_use_id, input)

    def audit(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """Everything asked, decided, used or expired, in the order it was written.

        `[{"at", "event": "decided", "run_id", "tool_use_id", "tool", "input", "decision", "by"}, ...]`; `input` is what
        the row is about: as asked, as allowed or edited, as used.
        """
        with self._approvals(run_id) as db:
            rows = db.execute(
                """SELECT at, event, run_id, tool_use_id, tool, input, decision, by FROM audit
                   WHERE run_id = COALESCE(?, run_id) ORDER BY number""",
                (run_id,),
            ).fetchall()
        return [
            dict(row) | {"input": json.loads(row["input"]), "decision": json.loads(row["decision"] or "null")}
            for row in rows
        ]

    # ---- inside ----

    def _log_decision(self, db: sqlite3.Connection, run_id: str, event: dict[str, Any]) -> None:
        """A decision to wait opens the question; one made at once is logged as asked and answered."""
        id, decision = event["tool_use_id"], Decision.from_json(event["decision"])
        call = {"run_id": run_id, "tool_use_id": id, "tool": event["name"]}
        row = call | {"input": dump("input", event["input"]), "digest": digest_of(event["input"])}
        if self._row(db, run_id, id, "asked") is None:
            self._log(db, "asked", row | {"expires_at": self._after(decision.seconds)})
        if decision.verdict != "wait" and self._row(db, run_id, id, "decided") is None:
            if decision.verdict == "edit":
                row |= {"input": dump("input", decision.input), "digest": digest_of(decision.input)}
            self._log(db, "decided", row | {"decision": dump("decision", decision.to_json()), "by": "the approver"})

    def _use(self, db: sqlite3.Connection, run_id: str, tool_use_id: str, input: dict[str, Any]) -> bool:
        row = self._row(db, run_id, tool_use_id, "decided")
        if row is None:
            raise NotApproved(f"Nobody has allowed call {tool_use_id} of run {run_id}: ask first, then wait.")
        if Decision.from_json(json.loads(row["decision"])).verdict == "deny":
            raise NotApproved(_who_decided(row))
        if row["digest"] != digest_of(input):
            raise NotApproved(
                f"Call {tool_use_id} of run {run_id} was approved with another input than the one about to run: "
                f"run {row['input']}, or ask about the new one."
            )
        if self._row(db, run_id, tool_use_id, "used") is not None:
            return False
        self._log(db, "used", dict(row) | {"decision": None, "by": ""})
        return True

    def _after(self, seconds: float | None) -> str | None:
        return None if seconds is None else (self._clock() + timedelta(seconds=seconds)).isoformat()

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat(timespec="milliseconds")

    @contextmanager
    def _approvals(self, run_id: str | None = None) -> Iterator[sqlite3.Connection]:
        """A transaction in which no question is overdue."""
        with self._file.writing() as db:
            while self._close_overdue(db):
                db.execute("COMMIT")  # separately: this stays even if what comes next is refused
                db.execute("BEGIN IMMEDIATE")
            self._check_run(db, run_id)
            yield db

    def _close_overdue(self, db: sqlite3.Connection) -> bool:
        """Deny, in nobody's name, the questions whose time is up; return whether there were any."""
        now = self._clock().astimezone(UTC)
        limited = db.execute(f"{_PENDING} AND expires_at IS NOT NULL").fetchall()
        overdue = [row for row in limited if datetime.fromisoformat(row["expires_at"]) <= now]
        for row in overdue:
            self._log(db, "expired", dict(row) | {"decision": dump("decision", NOBODY_ANSWERED.to_json())})
        return bool(overdue)

    def _check_run(self, db: sqlite3.Connection, run_id: str | None) -> None:
        known = "SELECT 1 FROM runs WHERE run_id = ?"
        if run_id is not None and db.execute(known, (run_id,)).fetchone() is None:
            newest = [id for (id,) in db.execute("SELECT run_id FROM runs ORDER BY rowid DESC LIMIT 3")]
            raise NotFound(f"There is no run {run_id!r} in {self._file.path.name}: {_listed('the newest', newest)}.")

    def _row(self, db: sqlite3.Connection, run_id: str, tool_use_id: str, step: str) -> sqlite3.Row | None:
        query = "SELECT * FROM audit WHERE (run_id, tool_use_id, step) = (?, ?, ?)"
        return db.execute(query, (run_id, tool_use_id, _STEPS[step])).fetchone()

    def _log(self, db: sqlite3.Connection, event: str, row: dict[str, Any]) -> None:
        columns = ("run_id", "tool_use_id", "tool", "input", "digest", "expires_at", "decision")
        values = self._now(), event, _STEPS[event], row.get("by", ""), *(row.get(name) for name in columns)
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO audit (at, event, step, by, {', '.join(columns)}) VALUES ({marks})", values)


def digest_of(input: Any) -> str:
    """A fingerprint of an input; the order of its keys does not count, everything else does (`1` is not `1.0`)."""
    return hashlib.sha256(dump("input", input, sort_keys=True).encode("ascii")).hexdigest()


def _who_decided(row: sqlite3.Row) -> str:
    """`"Ada denied call toolu_01 (refund_order) of run_… at 2026-…: too much. The first decision stays."`"""
    decision = Decision.from_json(json.loads(row["decision"]))
    call = f"call {row['tool_use_id']} ({row['tool']}) of run {row['run_id']}"
    if row["event"] == "expired":
        return f"Nobody answered about {call} before {row['expires_at']}, which counts as a denial and stays."
    did = {"allow": "allowed", "deny": "denied", "edit": "edited"}[decision.verdict]
    why = f" ({decision.reason})" if decision.reason else ""
    return f"{row['by'] or 'Somebody'} {did} {call} at {row['at']}{why}: the first decision stays."


def _listed(what: str, ids: list[str]) -> str:
    return f"{what} are {', '.join(ids)}" if ids else f"{what} are none"

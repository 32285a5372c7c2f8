"""The store of runs and approvals: what it keeps, whom it refuses, two processes at once, `kill -9`."""

import contextlib
import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from course_kit.contract.messages import tool_use
from course_kit.errors import SetupError
from course_kit.harness.decisions import NOBODY_ANSWERED, Decision, allow, deny, edit, wait
from course_kit.harness.store import (
    AlreadyDecided,
    NotApproved,
    NotFound,
    Pending,
    RunStore,
    RunTaken,
    StoredRun,
    digest_of,
)

REQUEST = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Refund my cup. 退款 \ud83d"}]}
SETTINGS = {"max_iterations": 10}
INPUT = {"order_id": "ORD-20260917", "amount_cents": 1999}
CALL = tool_use("toolu_01", "refund_order", INPUT)
REPLY = {"event": "reply", "message": {"stop_reason": "tool_use", "content": [CALL]}}
STOP = {"event": "stop", "reason": "awaiting_approval"}
START = "2026-09-20T09:00:00.000+00:00"


class Clock:
    def __init__(self):
        self.now = datetime.fromisoformat(START)

    def __call__(self):
        return self.now

    def tick(self, seconds):
        self.now += timedelta(seconds=seconds)
        return self.now.isoformat(timespec="milliseconds")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.sqlite3"


@pytest.fixture
def store(path, clock):
    return RunStore(path, clock=clock)


@pytest.fixture
def run_id(store):
    return store.begin(REQUEST, SETTINGS)


def refusal(kind, call, *args, **kwargs):
    """The sentence of the exception, of exactly this kind, that a call must raise."""
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    assert caught.type is kind and "\n" not in str(caught.value)
    return str(caught.value)


def raw(path, sql, *values):
    """What anybody with SQLite could do to the file."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        return db.execute(sql, values).fetchall()


# ---- decisions ----


@pytest.mark.parametrize(
    ("decision", "data"),
    [
        pytest.param(allow(), {"verdict": "allow"}, id="allow"),
        pytest.param(deny("too much"), {"verdict": "deny", "reason": "too much"}, id="deny"),
        pytest.param(edit({}, "less"), {"verdict": "edit", "reason": "less", "input": {}}, id="edit"),
        pytest.param(wait(), {"verdict": "wait"}, id="wait"),
        pytest.param(wait(2.5), {"verdict": "wait", "seconds": 2.5}, id="wait_with_an_end"),
    ],
)
def test_a_decision_is_plain_json_and_comes_back(decision, data):
    assert decision.to_json() == data
    assert Decision.from_json(json.loads(json.dumps(data))) == decision


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"verdict": "yes"}, "The verdict is 'yes': say 'allow'", id="verdict"),
        pytest.param({"verdict": "edit"}, "An edit carries the whole new input", id="edit_without_input"),
        pytest.param({"verdict": "edit", "input": [1]}, "An edit carries the whole new input", id="edit_to_a_list"),
        pytest.param({"verdict": "allow", "input": {}}, "no other decision carries one", id="allow_with_input"),
        pytest.param({"verdict": "deny", "seconds": 3}, "Only `wait` has seconds", id="deny_with_seconds"),
        pytest.param({"verdict": "wait", "seconds": 0}, "more than 0 of them", id="no_time"),
        pytest.param({"verdict": "wait", "seconds": float("nan")}, "more than 0 of them", id="not_a_number"),
        pytest.param({"verdict": "deny", "reason": None}, "A reason is text, not NoneType", id="reason"),
    ],
)
def test_what_is_no_decision_is_refused(fields, said):
    with pytest.raises((TypeError, ValueError), match=said):
        Decision(**fields)


def test_a_decision_does_not_change_with_the_dict_it_was_made_of():
    given = {"lines": [1]}
    decision = edit(given)
    given["lines"].append(2)
    decision.to_json()["input"]["lines"].append(3)
    assert decision.input == {"lines": [1]}


# ---- runs ----


def test_a_run_comes_back_as_it_was(store, path, run_id):
    store.append(run_id, 0, REPLY)
    store.append(run_id, 1, STOP)
    expected = StoredRun(run_id, REQUEST, SETTINGS, [REPLY, STOP])
    assert store.load(run_id) == RunStore(path).load(run_id) == expected
    assert len(run_id) == 16 and run_id.startswith("run_") and repr(store) == "<RunStore runs.sqlite3>"


def test_runs_are_listed_newest_first(store, clock, run_id):
    store.append(run_id, 0, REPLY)
    store.append(run_id, 1, STOP)
    store.ask(run_id, CALL)
    later = clock.tick(60)
    second = store.begin(REQUEST, SETTINGS)
    store.append(second, 0, STOP)
    store.append(second, 1, REPLY)  # taken up again: not stopped any more
    store.append(second, 2, {"event": "lost", "reason": "the connection broke"})
    assert store.runs() == [
        {"run_id": second, "began_at": later, "stopped": None, "model_calls": 1, "pending": 0},
        {"run_id": run_id, "began_at": START, "stopped": "awaiting_approval", "model_calls": 1, "pending": 1},
    ]


def test_an_event_number_is_given_once(store, run_id):
    store.append(run_id, 0, REPLY)
    assert refusal(RunTaken, store.append, run_id, 0, STOP) == (
        f"Another process goes on with run {run_id}: it has an event 0 already. Leave it to that one, or load the run "
        "again once it has stopped."
    )
    assert store.load(run_id).events == [REPLY]


@pytest.mark.parametrize("position", [2, -1])
def test_event_numbers_have_no_gap(store, run_id, position):
    store.append(run_id, 0, REPLY)
    said = refusal(ValueError, store.append, run_id, position, STOP)
    assert said == f"The next event of run {run_id} has the position 1, not {position}."
    assert store.load(run_id).events == [REPLY]


def test_the_file_itself_refuses_a_number_twice(path, store, run_id):
    store.append(run_id, 0, REPLY)
    with pytest.raises(sqlite3.IntegrityError):
        raw(path, "INSERT INTO events VALUES (?, 0, '', NULL, '{}')", run_id)


@pytest.mark.parametrize("method", ["load", "pending", "audit"])
def test_an_unknown_run_is_named_beside_the_newest(store, method):
    nothing = "There is no run 'run_x' in runs.sqlite3: the newest are none."
    assert refusal(NotFound, getattr(store, method), "run_x") == nothing
    ids = [store.begin(REQUEST, SETTINGS) for _ in range(4)]
    assert refusal(NotFound, getattr(store, method), "run_x") == (
        f"There is no run 'run_x' in runs.sqlite3: the newest are {ids[3]}, {ids[2]}, {ids[1]}."
    )


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda store: store.append("run_x", 0, STOP), id="append"),
        pytest.param(lambda store: store.ask("run_x", CALL), id="ask"),
        pytest.param(lambda store: store.decide("run_x", "toolu_01", allow()), id="decide"),
        pytest.param(lambda store: store.decision("run_x", "toolu_01"), id="decision"),
        pytest.param(lambda store: store.use("run_x", "toolu_01", INPUT), id="use"),
    ],
)
def test_nothing_is_kept_for_an_unknown_run(store, path, call):
    assert refusal(NotFound, call, store).startswith("There is no run 'run_x'")
    assert raw(path, "SELECT (SELECT COUNT(*) FROM events) + (SELECT COUNT(*) FROM audit)") == [(0,)]


def test_what_is_not_json_is_refused_and_nothing_is_kept(store, run_id):
    said = refusal(TypeError, store.append, run_id, 0, {"event": "reply", "message": object()})
    assert said.startswith("The event cannot be stored: it is not plain JSON data (")
    endless = []
    endless.append(endless)
    assert "The request cannot be stored" in refusal(TypeError, store.begin, {"messages": endless}, {})
    assert store.load(run_id).events == [] and len(store.runs()) == 1


# ---- approvals ----


def test_a_call_waits_until_it_is_decided(store, clock, run_id):
    expires = "2026-09-20T12:00:00+02:00"
    store.ask(run_id, CALL, expires_at=expires)
    assert store.pending() == [Pending(run_id, "toolu_01", "refund_order", INPUT, START, expires)]
    assert store.pending(run_id) == store.pending() and store.decision(run_id, "toolu_01") is None
    store.decide(run_id, "toolu_01", allow(), by="Ada")
    assert store.pending() == [] and store.decision(run_id, "toolu_01") == allow()


def test_the_queue_can_be_read_for_one_run(store, run_id):
    second = store.begin(REQUEST, SETTINGS)
    for run in (second, run_id):
        store.ask(run, CALL)
    assert [call.run_id for call in store.pending()] == [second, run_id]
    assert [call.run_id for call in store.pending(run_id)] == [run_id]
    store.decide(second, "toolu_01", deny())
    assert [call.run_id for call in store.pending()] == [run_id]


def test_asking_again_changes_nothing(store, clock, run_id):
    store.ask(run_id, CALL)
    clock.tick(5)
    store.ask(run_id, CALL, expires_at=clock.tick(1))
    assert store.pending() == [Pending(run_id, "toolu_01", "refund_order", INPUT, START, None)]
    store.decide(run_id, "toolu_01", deny("no"))
    store.ask(run_id, CALL)
    assert store.pending() == [] and store.decision(run_id, "toolu_01") == deny("no")
    assert [row["event"] for row in store.audit()] == ["asked", "decided"]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(CALL | {"input": INPUT | {"amount_cents": 99_999}}, id="input"),
        pytest.param(CALL | {"name": "cancel_order"}, id="tool"),
    ],
)
def test_a_question_never_changes_its_call(store, run_id, changed):
    store.ask(run_id, CALL)
    assert "was put to a person with another input" in refusal(NotApproved, store.ask, run_id, changed)
    assert store.pending()[0].input == INPUT


def test_a_time_without_a_zone_is_refused(store, run_id):
    said = refusal(ValueError, store.ask, run_id, CALL, expires_at="2026-09-20T12:00:00")
    assert said == f"expires_at is 2026-09-20T12:00:00, without a zone: write it such as {START}."
    assert store.pending() == []


def test_the_first_decision_stays(store, clock, run_id):
    store.ask(run_id, CALL)
    at = clock.tick(90)
    store.decide(run_id, "toolu_01", deny("too much"), by="Ada")
    clock.tick(1)
    assert refusal(AlreadyDecided, store.decide, run_id, "toolu_01", allow(), by="Bob") == (
        f"Ada denied call toolu_01 (refund_order) of run {run_id} at {at} (too much): the first decision stays."
    )
    assert store.decision(run_id, "toolu_01") == deny("too much")
    at = clock.tick(1)
    store.ask(run_id, {**CALL, "id": "toolu_02"})
    store.decide(run_id, "toolu_02", allow())
    assert refusal(AlreadyDecided, store.decide, run_id, "toolu_02", deny("no"), by="Bob") == (
        f"Somebody allowed call toolu_02 (refund_order) of run {run_id} at {at}: the first decision stays."
    )


def test_what_nobody_asked_cannot_be_decided(store, run_id):
    said = f"Nobody asked about a call toolu_02 of run {run_id}: waiting are "
    assert refusal(NotFound, store.decide, run_id, "toolu_02", allow()) == said + "none."
    store.ask(run_id, CALL)
    assert refusal(NotFound, store.decide, run_id, "toolu_02", allow()) == said + "toolu_01."
    assert store.decision(run_id, "toolu_02") is None


@pytest.mark.parametrize(
    ("seconds", "expires_at"),
    [(60, "2026-09-20T09:01:00+00:00"), (0.5, "2026-09-20T09:00:00.500000+00:00"), (None,) * 2],
)
def test_a_decision_to_wait_asks_and_may_have_an_end(store, clock, run_id, seconds, expires_at):
    store.append(run_id, 0, {"event": "decision"} | decided(wait(seconds)))
    asked = Pending(run_id, "toolu_01", "refund_order", INPUT, START, expires_at)
    assert (store.pending(), store.decision(run_id, "toolu_01")) == ([asked], None)
    clock.tick((seconds or 10**9) - 0.001)
    assert (store.pending(), store.decision(run_id, "toolu_01")) == ([asked], None)
    clock.tick(0.001)
    over = ([], NOBODY_ANSWERED) if seconds else ([asked], None)
    assert (store.pending(), store.decision(run_id, "toolu_01")) == over


def decided(decision):
    return {"tool_use_id": "toolu_01", "name": "refund_order", "input": INPUT, "decision": decision.to_json()}


def test_to_wait_is_no_answer(store, run_id):
    store.ask(run_id, CALL)
    assert refusal(ValueError, store.decide, run_id, "toolu_01", wait()).startswith("To wait is no answer")
    assert [call.tool_use_id for call in store.pending()] == ["toolu_01"]


def test_a_question_whose_time_is_up_is_a_denial(store, clock, run_id):
    expires = (clock.now + timedelta(seconds=60)).astimezone(timezone(timedelta(hours=2))).isoformat()
    store.ask(run_id, CALL, expires_at=expires)
    clock.tick(59.9)
    assert store.decision(run_id, "toolu_01") is None and len(store.pending()) == 1
    at = clock.tick(0.1)
    assert refusal(AlreadyDecided, store.decide, run_id, "toolu_01", allow(), by="Ada") == (
        f"Nobody answered about call toolu_01 (refund_order) of run {run_id} before {expires}, which counts as a "
        "denial and stays."
    )
    clock.tick(-3600)  # a clock set back opens nothing again
    assert store.pending() == [] and store.runs()[0]["pending"] == 0
    assert store.decision(run_id, "toolu_01") == NOBODY_ANSWERED == Decision("deny", "nobody answered in time")
    assert "which counts as a denial" in refusal(NotApproved, store.use, run_id, "toolu_01", INPUT)
    assert [(row["event"], row["at"], row["by"]) for row in store.audit()] == [
        ("asked", START, ""),
        ("expired", at, ""),
    ]


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        pytest.param(lambda store, run: store.pending(), [], id="pending"),
        pytest.param(lambda store, run: store.runs()[0]["pending"], 0, id="runs"),
        pytest.param(lambda store, run: store.decision(run, "toolu_01"), NOBODY_ANSWERED, id="decision"),
        pytest.param(lambda store, run: [row["event"] for row in store.audit()], ["asked", "expired"], id="audit"),
    ],
)
def test_whoever_looks_first_sees_that_time_is_up(store, clock, run_id, look, expected):
    store.ask(run_id, CALL, expires_at=clock().isoformat())
    assert look(store, run_id) == expected


def test_an_answer_in_time_outlives_the_question(store, clock, run_id):
    store.ask(run_id, CALL, expires_at=(clock.now + timedelta(seconds=60)).isoformat())
    store.decide(run_id, "toolu_01", allow())
    clock.tick(3600)
    assert store.use(run_id, "toolu_01", INPUT) is True


def test_an_approval_works_once(store, path, run_id):
    store.ask(run_id, CALL)
    store.decide(run_id, "toolu_01", allow(), by="Ada")
    reordered = dict(reversed(INPUT.items()))
    assert [store.use(run_id, "toolu_01", reordered), RunStore(path).use(run_id, "toolu_01", INPUT)] == [True, False]
    assert [row["event"] for row in store.audit()] == ["asked", "decided", "used"]


@pytest.mark.parametrize(
    ("decision", "input", "said"),
    [
        pytest.param(None, INPUT, "Nobody has allowed call toolu_01", id="not_decided"),
        pytest.param(deny("no"), INPUT, "Somebody denied call toolu_01 (refund_order)", id="denied"),
        pytest.param(allow(), INPUT | {"amount_cents": 1999.0}, "was approved with another input", id="other_input"),
        pytest.param(allow(), INPUT | {"note": None}, "was approved with another input", id="more_input"),
        pytest.param(edit({"amount_cents": 5}), INPUT, 'run {"amount_cents": 5}, or ask', id="edited_runs_unedited"),
    ],
)
def test_only_what_was_approved_is_used(store, run_id, decision, input, said):
    store.ask(run_id, CALL)
    if decision:
        store.decide(run_id, "toolu_01", decision)
    assert said in refusal(NotApproved, store.use, run_id, "toolu_01", input)
    assert "used" not in [row["event"] for row in store.audit()]


def test_an_edit_is_used_with_its_own_input(store, run_id):
    store.ask(run_id, CALL)
    store.decide(run_id, "toolu_01", edit({"amount_cents": 5}, "a fifth"))
    assert store.decision(run_id, "toolu_01") == edit({"amount_cents": 5}, "a fifth")
    assert store.use(run_id, "toolu_01", {"amount_cents": 5}) is True


def test_a_digest_tells_inputs_apart():
    inputs = [{}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": "1"}, {"a": None}, {"a": [1]}, {"b": 1}, {"a": "\ud83d"}]
    assert len({digest_of(input) for input in inputs}) == len(inputs)
    assert digest_of({"a": 1, "b": {"c": 2, "d": 3}}) == digest_of({"b": {"d": 3, "c": 2}, "a": 1})


def test_fr22_two_questions_of_one_turn_are_two(store, run_id):
    calls = [tool_use(f"toolu_{name}", "delete_file", {"name": name}) for name in "ab"]
    for call in calls:
        store.ask(run_id, call)
    store.decide(run_id, "toolu_a", allow())
    assert [call.tool_use_id for call in store.pending()] == ["toolu_b"]
    store.decide(run_id, "toolu_b", deny("keep it"))
    assert store.use(run_id, "toolu_a", {"name": "a"}) is True
    assert "(keep it)" in refusal(NotApproved, store.use, run_id, "toolu_b", {"name": "b"})


# ---- the log ----


def test_the_log_tells_who_did_what_and_when(store, clock, run_id):
    store.ask(run_id, CALL)
    decided = clock.tick(10)
    store.decide(run_id, "toolu_01", edit({"amount_cents": 5}, "less"), by="Ada")
    used = clock.tick(10)
    store.use(run_id, "toolu_01", {"amount_cents": 5})
    call = {"run_id": run_id, "tool_use_id": "toolu_01", "tool": "refund_order"}
    edited = {"verdict": "edit", "reason": "less", "input": {"amount_cents": 5}}
    assert store.audit() == [
        {"at": START, "event": "asked", **call, "input": INPUT, "decision": None, "by": ""},
        {"at": decided, "event": "decided", **call, "input": {"amount_cents": 5}, "decision": edited, "by": "Ada"},
        {"at": used, "event": "used", **call, "input": {"amount_cents": 5}, "decision": None, "by": ""},
    ]
    store.begin(REQUEST, SETTINGS)
    assert store.audit(run_id) == store.audit() and store.audit(store.runs()[0]["run_id"]) == []


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("UPDATE audit SET by = 'Eve'", id="update"),
        pytest.param("DELETE FROM audit", id="delete"),
        pytest.param("INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE number = 2", id="replace"),
        pytest.param(
            "INSERT OR REPLACE INTO audit SELECT 99, at, event, step, run_id, tool_use_id, tool, input, digest, "
            "expires_at, decision, 'Eve' FROM audit WHERE number = 2",
            id="replace_by_another_number",
        ),
        pytest.param(
            "INSERT OR REPLACE INTO audit SELECT 1, at, event, 9, run_id, tool_use_id, tool, input, digest, "
            "expires_at, decision, 'Eve' FROM audit WHERE number = 2",
            id="replace_by_another_step",
        ),
    ],
)
def test_the_log_only_grows(store, path, run_id, sql):
    store.ask(run_id, CALL)
    store.decide(run_id, "toolu_01", deny(), by="Ada")
    before = store.audit()
    with pytest.raises(sqlite3.IntegrityError, match="^the log of approvals only grows: its rows are never changed$"):
        raw(path, sql)
    assert store.audit() == before


def test_times_carry_their_zone_and_are_utc(path):
    here = datetime(2026, 9, 20, 11, 0, tzinfo=timezone(timedelta(hours=2)))
    store = RunStore(path, clock=lambda: here)
    store.begin(REQUEST, SETTINGS)
    assert store.runs()[0]["began_at"] == START
    now = RunStore(path)
    now.begin(REQUEST, SETTINGS)
    assert abs(datetime.fromisoformat(now.runs()[0]["began_at"]) - datetime.now(UTC)) < timedelta(minutes=1)


def test_what_is_committed_is_on_the_disk_with_the_end_of_its_journal(store):
    with store._file.connection() as db:
        assert [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")] == [3, "delete"]


# ---- files that are none of ours ----


def text_file(path):
    path.write_text("Dear diary, ..." * 99, encoding="utf-8")


def one_byte(path):
    path.write_bytes(b"x")


def another_database(path):
    raw(path, "CREATE TABLE mine (x)")


def shorter_than_a_header(path):
    path.write_bytes(b"x" * 99)


def as_long_as_a_header(path):
    path.write_bytes(b"x" * 100)


def another_database_yet_without_tables(path):
    raw(path, "PRAGMA user_version = 1")


def a_later_version_of_another_application(path):
    raw(path, "PRAGMA application_id = 7")
    raw(path, "PRAGMA user_version = 2")


def another_application(path):
    raw(path, "PRAGMA application_id = 7")


def a_newer_store(path):
    RunStore(path)
    raw(path, "PRAGMA user_version = 2")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(text_file, "is not a store of runs, or a damaged one: choose another path.", id="text"),
        pytest.param(one_byte, "is not a store of runs: choose another path.", id="one_byte"),
        pytest.param(shorter_than_a_header, "is not a store of runs: choose another path.", id="99_bytes"),
        pytest.param(as_long_as_a_header, "is not a store of runs, or a damaged one: choose another path.", id="100"),
        pytest.param(
            another_database_yet_without_tables, "is not a store of runs: choose another path.", id="without_tables"
        ),
        pytest.param(
            a_later_version_of_another_application, "is not a store of runs: choose another path.", id="others_version"
        ),
        pytest.param(another_database, "is not a store of runs: choose another path.", id="another_database"),
        pytest.param(another_application, "is not a store of runs: choose another path.", id="another_application"),
        pytest.param(
            a_newer_store, "was made by a newer version of the course: update it to read this file.", id="newer"
        ),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(path, make, said):
    make(path)
    before = path.read_bytes()
    assert refusal(SetupError, RunStore, path) == f"{path} {said}"
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store_and_folders_are_made(tmp_path):
    (tmp_path / "empty").touch()
    for path in (tmp_path / "empty", tmp_path / "new" / "folder" / "runs"):
        assert RunStore(str(path)).runs() == []


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "runs"):
        said = refusal(SetupError, RunStore, path)
        assert said.startswith(f"Runs cannot be kept in {path} (") and said.endswith("): choose another path.")
        assert "Errno" not in said


def test_a_read_only_folder_is_one_sentence(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        said = refusal(SetupError, RunStore, folder / "runs")
        assert said == f"Runs cannot be kept in {folder / 'runs'} (Permission denied): choose another path."
    finally:
        folder.chmod(0o700)


def test_a_store_that_was_taken_away_is_not_begun_anew(store, path, run_id):
    path.unlink()
    assert refusal(SetupError, store.runs) == f"{path} is gone: put it back, or open a store at another path."
    assert not path.exists()


def test_a_store_in_use_says_so(store, path, run_id, monkeypatch):
    monkeypatch.setattr("course_kit.harness.store_file.StoreFile.busy_seconds", 0.01)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        said = refusal(SetupError, store.append, run_id, 0, STOP)
    assert said == f"{path} is in use by another process: nothing was stored, try again."
    store.append(run_id, 0, STOP)
    assert store.load(run_id).events == [STOP]


# ---- several at once ----


def test_threads_share_a_store(store, run_id):
    store.ask(run_id, CALL)
    outcomes, barrier = [], threading.Barrier(8)

    def decide(name):
        barrier.wait()
        try:
            store.decide(run_id, "toolu_01", deny(name), by=name)
            outcomes.append(name)
        except AlreadyDecided:
            pass

    threads = [threading.Thread(target=decide, args=(f"person {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 1 and store.decision(run_id, "toolu_01") == deny(outcomes[0])


@pytest.mark.parametrize(
    ("call", "rival"),
    [
        pytest.param(
            lambda store, run: store.append(run, 0, STOP), lambda store, run: store.append(run, 0, REPLY), id="append"
        ),
        pytest.param(
            lambda store, run: store.decide(run, "toolu_01", allow()),
            lambda store, run: store.decide(run, "toolu_01", deny()),
            id="decide",
        ),
        pytest.param(
            lambda store, run: store.use(run, "toolu_02", INPUT),
            lambda store, run: store.use(run, "toolu_02", INPUT),
            id="use",
        ),
    ],
)
def test_nothing_comes_between_a_check_and_what_is_written(path, store, run_id, monkeypatch, call, rival):
    for id in ("toolu_01", "toolu_02"):
        store.ask(run_id, CALL | {"id": id})
    store.decide(run_id, "toolu_02", allow())
    monkeypatch.setattr("course_kit.harness.store_file.StoreFile.busy_seconds", 0.01)
    refused = []

    def clock():  # it is read in the middle of every call
        with pytest.raises(SetupError, match="in use by another process: nothing was stored"):
            rival(other, run_id)
        refused.append(True)
        return datetime.now(UTC)

    other = RunStore(path)
    call(RunStore(path, clock=clock), run_id)
    assert refused


RACER = """
    import json, sys
    from course_kit.errors import CourseKitError
    from course_kit.harness.decisions import deny
    from course_kit.harness.store import RunStore

    store, me = RunStore(sys.argv[1]), sys.argv[2]
    calls = {
        "append": lambda run_id, n: store.append(run_id, n, {"event": "result", "by": me}),
        "decide": lambda run_id, n: store.decide(run_id, f"toolu_{n}", deny(me), by=me),
        "use": lambda run_id, n: store.use(run_id, f"toolu_{n}", {"n": n}),
    }
    print("ready", flush=True)
    for line in sys.stdin:
        action, run_id, n = json.loads(line)
        try:
            print(json.dumps(calls[action](run_id, n)), flush=True)
        except CourseKitError as error:
            print(json.dumps(type(error).__name__), flush=True)
"""


@contextlib.contextmanager
def python(source, *args):
    """A Python process that talks by lines."""
    command = [sys.executable, "-c", textwrap.dedent(source), *map(str, args)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def race(path, store):
    """Two processes that make the same call at the same moment; what each of them was answered."""
    with python(RACER, path, "Ada") as ada, python(RACER, path, "Bob") as bob:
        assert [process.stdout.readline() for process in (ada, bob)] == ["ready\n"] * 2

        def run(*call):
            for process in (ada, bob):
                process.stdin.write(json.dumps(call) + "\n")
            for process in (ada, bob):
                process.stdin.flush()
            return [json.loads(process.stdout.readline()) for process in (ada, bob)]

        yield run


ROUNDS = 25


def test_of_two_processes_one_appends_and_the_other_is_told(race, store, run_id):
    for n in range(ROUNDS):
        answers = race("append", run_id, n)
        assert sorted(answers, key=str) == [None, "RunTaken"]
        winner = ["Ada", "Bob"][answers.index(None)]
        assert store.load(run_id).events[n:] == [{"event": "result", "by": winner}]


def test_of_two_processes_one_decides_and_the_other_is_told(race, store, run_id):
    for n in range(ROUNDS):
        store.ask(run_id, tool_use(f"toolu_{n}", "delete_file", {"n": n}))
        answers = race("decide", run_id, n)
        assert sorted(answers, key=str) == ["AlreadyDecided", None]
        assert store.decision(run_id, f"toolu_{n}") == deny(["Ada", "Bob"][answers.index(None)])


def test_of_two_processes_one_uses_an_approval(race, store, run_id):
    for n in range(ROUNDS):
        store.ask(run_id, tool_use(f"toolu_{n}", "delete_file", {"n": n}))
        store.decide(run_id, f"toolu_{n}", allow())
        assert sorted(race("use", run_id, n)) == [False, True]
    assert [row["event"] for row in store.audit()].count("used") == ROUNDS


def test_two_processes_may_make_the_file_at_once(tmp_path):
    for n in range(5):
        with python(RACER, tmp_path / f"{n}", "Ada") as ada, python(RACER, tmp_path / f"{n}", "Bob") as bob:
            assert [process.stdout.readline() for process in (ada, bob)] == ["ready\n"] * 2
        assert RunStore(tmp_path / f"{n}").runs() == []


# ---- kill -9 ----

WRITER = """
    import hashlib, json, os, random, sys
    from course_kit.harness.decisions import allow
    from course_kit.harness.store import RunStore

    def write(path, seed):
        'Everything a store can be told, for ever; each thing is acknowledged once its call has returned.'
        rng, say = random.Random(seed), lambda *what: os.write(1, (json.dumps(what) + "\\n").encode())
        say("pid", os.getpid())
        store = RunStore(path)
        while True:
            run_id = store.begin({"messages": []}, {})
            say("begin", run_id)
            for position in range(rng.randint(1, 3)):
                text = rng.choice("abc") * rng.randint(1, 30_000)  # up to eight pages of the file
                digest = hashlib.sha256(text.encode()).hexdigest()
                store.append(run_id, position, {"event": "reply", "text": text, "digest": digest})
                say("event", run_id, position)
            input = {"n": rng.randint(1, 9)}
            store.ask(run_id, {"id": "toolu_1", "name": "refund_order", "input": input})
            say("asked", run_id)
            store.decide(run_id, "toolu_1", allow(), by="Ada")
            say("decided", run_id)
            assert store.use(run_id, "toolu_1", input)
            say("used", run_id)

    for line in sys.stdin:  # a path and a seed
        path, seed = json.loads(line)
        if not hasattr(os, "fork"):
            write(path, seed)
        child = os.fork()
        if not child:
            write(path, seed)
        os.waitpid(child, 0)
        os.write(1, b'["dead"]\\n')
"""


def killed_writer(process, path, seed):
    """Let a writer work, kill it at a random moment; what it had acknowledged by then."""
    rng, said = random.Random(seed), []
    process.stdin.write(json.dumps([str(path), seed]) + "\n")
    process.stdin.flush()
    [_, pid] = json.loads(process.stdout.readline())
    for _ in range(rng.randint(0, 6)):
        said.append(tuple(json.loads(process.stdout.readline())))
        assert said[-1] != ("dead",), "the writer ended by itself"
    end = time.perf_counter() + rng.random() * 0.003
    while time.perf_counter() < end:
        pass
    if hasattr(os, "fork"):
        os.kill(pid, signal.SIGKILL)
    else:
        process.kill()
    while (line := process.stdout.readline()) not in ("", '["dead"]\n'):
        said.append(tuple(json.loads(line)))
    return said


def kept(path):
    """All that a file holds, in the words of the writer's acknowledgements."""
    found = {("begin", run_id) for (run_id,) in raw(path, "SELECT run_id FROM runs")}
    found |= {("event", *row) for row in raw(path, "SELECT run_id, position FROM events")}
    return found | set(raw(path, "SELECT event, run_id FROM audit"))


def damage(path, before, said):
    """What is wrong with a file after a kill, one line each; nothing, if all is well."""
    store = RunStore(path)
    found = [f"integrity: {row}" for row in raw(path, "PRAGMA integrity_check") if row != ("ok",)]
    found += [f"foreign key: {row}" for row in raw(path, "PRAGMA foreign_key_check")]
    now = kept(path)
    found += [f"acknowledged and lost: {what}" for what in (before | set(said)) - now]
    if len(now - before - set(said)) > 1:
        found.append(f"more than the one call that was under way: {now - before - set(said)}")
    for run in {row[1] for row in now if row[0] == "begin"}:
        positions = [n for (n,) in raw(path, "SELECT position FROM events WHERE run_id = ? ORDER BY 1", run)]
        if positions != list(range(len(positions))):
            found.append(f"gap: {positions}")
        for event in store.load(run).events:
            if hashlib.sha256(event["text"].encode()).hexdigest() != event["digest"]:
                found.append(f"half-written: {run}")
        steps = [row["event"] for row in store.audit(run)]
        if steps != ["asked", "decided", "used"][: len(steps)]:
            found.append(f"log: {steps}")
    return found


def test_a_hundred_kills_lose_nothing(tmp_path):
    kills, journals = 100 if hasattr(os, "fork") else 10, 0
    with contextlib.ExitStack() as processes:
        nursery = processes.enter_context(python(WRITER))
        for seed in range(kills):
            path = tmp_path / f"{seed // 5}.sqlite3"  # a new file now and then: its making is interrupted too
            before = kept(path) if path.exists() else set()
            if nursery.poll() is not None:
                nursery = processes.enter_context(python(WRITER))
            said = killed_writer(nursery, path, seed)
            journal = path.with_name(f"{path.name}-journal")
            journals += journal.exists() and journal.stat().st_size > 0
            assert damage(path, before, said) == [], f"seed {seed}"
    assert sum(len(kept(file)) for file in tmp_path.glob("*.sqlite3")) > kills
    assert journals or kills < 100, "no kill came in the middle of a transaction"


@pytest.mark.parametrize(
    ("said", "sql", "found"),
    [
        pytest.param([], "SELECT 1", "", id="sound"),
        pytest.param([("used", "run_x")], "SELECT 1", "acknowledged and lost: ('used', 'run_x')", id="lost"),
        pytest.param([], "DELETE FROM events WHERE position = 0", "acknowledged and lost: ('event', ", id="event_lost"),
        pytest.param([], "UPDATE events SET position = 7 WHERE position = 1", "gap: [0, 7]", id="gap"),
        pytest.param([], "UPDATE events SET event = replace(event, 'aa', '')", "half-written: run_", id="half_written"),
        pytest.param([], "DELETE FROM audit WHERE event = 'decided'", "log: ['asked', 'used']", id="log"),
        pytest.param([], "DELETE FROM runs", "foreign key: (", id="foreign_key"),
    ],
)
def test_the_search_for_damage_finds_it(path, store, said, sql, found):
    run_id = store.begin(REQUEST, SETTINGS)
    for position, text in enumerate(("aaaa", "bbbb")):
        digest = hashlib.sha256(text.encode()).hexdigest()
        store.append(run_id, position, {"event": "reply", "text": text, "digest": digest})
    store.ask(run_id, CALL)
    store.decide(run_id, "toolu_01", allow())
    store.use(run_id, "toolu_01", INPUT)
    before = kept(path)
    for trigger in ("audit_update", "audit_delete"):
        raw(path, f"DROP TRIGGER {trigger}")
    raw(path, sql)
    lines = damage(path, before, said)
    assert [line for line in lines if line.startswith(found)] if found else lines == []


@pytest.mark.parametrize("decision", ["yes", True, None])
def test_what_is_no_decision_is_said_and_the_question_stays(store, decision):
    run_id = store.begin(REQUEST, SETTINGS)
    store.ask(run_id, CALL)
    with pytest.raises(TypeError) as caught:
        store.decide(run_id, CALL["id"], decision)
    assert str(caught.value) == f"A decision is allow(), deny(…) or edit(…), not {decision!r}."
    assert len(store.pending()) == 1

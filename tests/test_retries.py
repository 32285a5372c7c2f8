"""Doing it again without doing it twice."""

import asyncio
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from course_kit.contract.messages import tool_use
from course_kit.errors import SetupError, ToolError
from course_kit.example_tools import desk_tools
from course_kit.harness import retries
from course_kit.harness.retries import KeyStore, idempotency_key, passes, repeated
from course_kit.harness.store import NotFound
from course_kit.harness.tools import run_tool, tool
from course_kit.shop import Shop, open_shop

# Which failures pass


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (TimeoutError(), True),
        (ConnectionResetError(), True),
        (ToolError("BUSY", "the shop is busy", retryable=True), True),
        (ToolError("NOT_FOUND", "there is no order 7"), False),
        (KeyError("x"), False),
        (OSError("disk full"), False),
        (KeyboardInterrupt(), False),
        (retries.GaveUp("TIMEOUT", "slow (3 attempts were made)", retryable=True), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_failure_passes_or_not(error, again):
    assert passes(error) is again


# The tool's level


class Flaky:
    """Fails as often as it is told, then answers; notes its calls and the pauses between them."""

    def __init__(self, *errors: BaseException):
        self.errors, self.calls, self.pauses = list(errors), [], []

    def answer(self, order_id: str) -> str:
        self.calls.append(order_id)
        if self.errors:
            raise self.errors.pop(0)
        return "delivered"

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def tool(self, form: str = "plain", **options: Any) -> Any:
        if form == "plain":

            def status(order_id: str) -> str:
                """Say how an order stands."""
                return self.answer(order_id)

        else:

            async def status(order_id: str) -> str:
                """Say how an order stands."""
                return self.answer(order_id)

        return tool(status, **{"effect": "read", **options})


def result_of(one: Any) -> dict[str, Any]:
    return run_tool(tool_use("toolu_1", one.name, {"order_id": "ORD-1"}), [one])


forms = pytest.mark.parametrize("form", ["plain", "coroutine"])


@forms
def test_a_failure_that_passes_is_tried_again(form):
    service = Flaky(TimeoutError("slow"), ConnectionResetError("gone"))
    one = repeated(service.tool(form), sleep=service.pause)
    assert result_of(one)["content"] == "delivered"
    assert service.calls == ["ORD-1"] * 3 and len(service.pauses) == 2


@forms
def test_any_other_failure_is_final(form):
    service = Flaky(ToolError("NOT_FOUND", "there is no order 7", hint="ask"))
    one = repeated(service.tool(form), sleep=service.pause)
    assert result_of(one)["content"] == (
        "NOT_FOUND: there is no order 7\nHint: ask\nRetryable: no, the same call will fail again."
    )
    assert (len(service.calls), service.pauses) == (1, [])


@forms
def test_three_attempts_are_three_and_the_model_hears_of_them(form):
    service = Flaky(*[TimeoutError("no answer within 5 s")] * 9)
    one = repeated(service.tool(form), attempts=3, sleep=service.pause)
    assert result_of(one)["content"] == (
        "TIMEOUT: TimeoutError: no answer within 5 s (3 attempts were made)\n"
        "Hint: do not call it again now: go on without it, or tell the user that it may work later\n"
        "Retryable: yes, the same call may succeed later."
    )
    assert len(service.calls) == 3


@pytest.mark.parametrize(
    ("error", "unsure"),
    [(TimeoutError("slow"), True), (ConnectionError("?"), True), (ToolError("BUSY", "later", retryable=True), False)],
)
def test_fr23_the_last_word_of_a_write_says_whether_it_may_have_taken_effect(error, unsure):
    service = Flaky(error, error)
    one = repeated(service.tool(effect="irreversible", idempotent=True), attempts=2, sleep=service.pause)
    said = result_of(one)["content"]
    assert ("may or may not have taken effect" in said) is unsure and "do not call it again now" in said


@forms
def test_a_level_above_does_not_make_the_call_again(form):
    inner = Flaky(*[TimeoutError("slow")] * 9)
    below = repeated(inner.tool(form), attempts=3, sleep=inner.pause)

    @tool(effect="read")
    async def wraps(order_id: str) -> str:
        made = below(order_id)
        return await made if form == "coroutine" else made

    assert "(3 attempts were made)" in result_of(repeated(wraps, attempts=3, sleep=inner.pause))["content"]
    assert len(inner.calls) == 3


def test_a_coded_failure_keeps_its_code_and_its_promise_of_later():
    service = Flaky(*[ToolError("BUSY", "the shop is busy", retryable=True)] * 2)
    with pytest.raises(ToolError) as caught:
        repeated(service.tool(), attempts=2, sleep=service.pause)("ORD-1")
    assert (caught.value.code, caught.value.message) == ("BUSY", "the shop is busy (2 attempts were made)")
    assert caught.value.retryable is True and isinstance(caught.value.__cause__, ToolError)


def test_one_attempt_leaves_the_failure_as_it_is():
    service = Flaky(TimeoutError("slow"))
    with pytest.raises(TimeoutError, match="^slow$"):
        repeated(service.tool(), attempts=1)("ORD-1")


def test_the_pauses_grow_up_to_a_bound_and_are_drawn():
    service = Flaky(*[TimeoutError()] * 200)
    with pytest.raises(ToolError):
        repeated(service.tool(), attempts=200, first_wait=1, longest_wait=4, sleep=service.pause)("ORD-1")
    assert max(service.pauses[:1]) <= 1 and max(service.pauses[:2]) <= 2
    assert 3 < max(service.pauses) <= 4 and len(set(service.pauses)) > 150 and min(service.pauses) < 2


def test_the_first_pause_is_a_part_of_the_first_wait_and_the_second_of_twice_as_much():
    pauses = []
    for _ in range(100):
        service = Flaky(*[TimeoutError()] * 2)
        repeated(service.tool(), attempts=3, first_wait=0.01, longest_wait=99, sleep=service.pause)("ORD-1")
        pauses.append(service.pauses)
    first, second = (max(each) for each in zip(*pauses, strict=True))
    assert 0.005 < first <= 0.01 < second <= 0.02


@pytest.mark.parametrize(("form", "clock"), [("plain", time), ("coroutine", asyncio)])
def test_without_a_sleep_of_its_own_it_sleeps_all_the_same(form, clock, monkeypatch):
    slept, service, sleep = [], Flaky(TimeoutError(), TimeoutError()), asyncio.sleep

    def noted(seconds: float) -> Any:
        slept.append(seconds)
        return sleep(0) if clock is asyncio else None

    one = repeated(service.tool(form), attempts=3, first_wait=5)
    monkeypatch.setattr(clock, "sleep", noted)
    made = one("ORD-1")
    assert (made if form == "plain" else asyncio.run(made)) == "delivered"
    assert len(slept) == 2 and 0 <= slept[0] <= 5 and 0 <= slept[1] <= 8


def test_an_interrupt_passes_through_at_once():
    service = Flaky(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        repeated(service.tool(), sleep=service.pause)("ORD-1")
    assert len(service.calls) == 1


def test_a_cancelled_coroutine_is_not_tried_again():
    service = Flaky(asyncio.CancelledError())
    one = repeated(service.tool("coroutine"), sleep=service.pause)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(one("ORD-1"))
    assert len(service.calls) == 1


def test_a_coroutine_may_be_given_a_coroutine_to_sleep_with():
    service, slept = Flaky(TimeoutError()), []

    async def pause(seconds):
        slept.append(seconds)

    assert asyncio.run(repeated(service.tool("coroutine"), sleep=pause)("ORD-1")) == "delivered"
    assert len(slept) == 1


def test_the_model_sees_the_same_tool():
    service = Flaky()
    one = service.tool(timeout=5.0, tags=["orders"])
    again = repeated(one)
    assert again.definition() == one.definition()
    assert replace(again, function=one.function).__dict__.keys() == one.__dict__.keys()
    assert (again.effect, again.timeout, again.tags, again.is_async) == ("read", 5.0, ("orders",), False)


def test_fr23_a_write_is_not_repeated():
    service = Flaky(*[TimeoutError()] * 3)
    with pytest.raises(ValueError, match="`status` writes, and made twice it takes effect twice: give its writes an"):
        repeated(service.tool(effect="write"))
    with pytest.raises(ValueError, match="`status` writes"):
        repeated(service.tool(effect="irreversible"))


def test_fr23_a_write_with_a_key_is_repeated_and_pays_once(tmp_path):
    shop = open_shop(tmp_path / "shop.sqlite3")

    class Lossy(Shop):
        answers = iter([False, False, True])

        def refund_order(self, *args: Any, **kwargs: Any) -> Any:
            receipt = super().refund_order(*args, **kwargs)
            if not next(self.answers):
                raise TimeoutError("no answer")
            return receipt

    [refund] = [one for one in desk_tools(Lossy(shop.path), task="ticket-118") if one.name == "refund_order"]
    receipt = repeated(refund, sleep=lambda seconds: None)("ORD-20260917", 1999, "damaged")
    assert [row["id"] for row in shop.ledger("ORD-20260917")] == [4] and receipt["refund_id"] == "RFD-0004"


def test_two_levels_do_not_multiply():
    with pytest.raises(ValueError, match="`status` is repeated already: two levels of 3 would multiply"):
        repeated(repeated(Flaky().tool()))


def test_what_cannot_be_repeated_says_so():
    with pytest.raises(TypeError, match="takes a tool: write `@tool"):
        repeated(lambda: 1)
    with pytest.raises(ValueError, match="attempts is 0: the first attempt counts"):
        repeated(Flaky().tool(), attempts=0)
    with pytest.raises(ValueError, match="attempts is '3': the first attempt counts"):
        repeated(Flaky().tool(), attempts="3")


# Keys


def test_a_key_is_the_same_for_the_same_operation_and_can_be_read():
    key = idempotency_key("ticket-118", "refund cup", {"order_id": "ORD-20260914", "amount_cents": 350})
    assert key == idempotency_key("ticket-118", "refund cup", {"amount_cents": 350, "order_id": "ORD-20260914"})
    assert re.fullmatch("ticket-118/refund%20cup/[0-9a-f]{16}", key)


@pytest.mark.parametrize(
    "other",
    [
        ("ticket-119", "refund", {"order_id": "ORD-20260914", "amount_cents": 350}),
        ("ticket-118", "refund 2", {"order_id": "ORD-20260914", "amount_cents": 350}),
        ("ticket-118", "refund", {"order_id": "ORD-20260914", "amount_cents": 351}),
        ("ticket-118/refund", "x", {"order_id": "ORD-20260914", "amount_cents": 350}),
    ],
    ids=["task", "step", "inputs", "a stroke in the name"],
)
def test_another_operation_has_another_key(other):
    one = ("ticket-118", "refund", {"order_id": "ORD-20260914", "amount_cents": 350})
    assert idempotency_key(*one) != idempotency_key(*other)


def test_a_stroke_in_a_name_does_not_move_the_border():
    assert idempotency_key("a/b", "c", {}) != idempotency_key("a", "b/c", {})
    assert idempotency_key("a/b", "c/d", {}).startswith("a%2Fb/c%2Fd/")


def test_a_key_is_the_same_in_every_process():
    import subprocess

    code = "from course_kit.harness.retries import idempotency_key as k; print(k('t', 's', {'b': 1, 'a': 'ü'}))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert said == {idempotency_key("t", "s", {"a": "ü", "b": 1})}


@pytest.mark.parametrize(("task", "step"), [("", "refund"), ("ticket-118", " ")])
def test_a_key_without_a_name_is_refused(task, step):
    with pytest.raises(ValueError, match="name the task and the step"):
        idempotency_key(task, step, {})


@pytest.mark.parametrize(("task", "step"), [(118, "refund"), ("ticket-118", None)])
def test_a_name_that_is_no_text_is_refused(task, step):
    with pytest.raises(ValueError) as caught:
        idempotency_key(task, step, {})
    assert str(caught.value) == (
        "A key says what it belongs to: name the task and the step, such as 'ticket-118', 'refund'."
    )


def test_inputs_of_a_key_are_a_dict():
    with pytest.raises(TypeError) as caught:
        idempotency_key("ticket-118", "refund", "ORD-20260914")
    said = "`inputs` is a dict of what tells operations apart, such as {'order_id': 'ORD-20260914'}."
    assert str(caught.value) == said


# The store of keys


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 9, 20, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Mail:
    """A service without keys: whatever reaches it takes effect."""

    def __init__(self, *errors: BaseException, before: bool = False):
        self.errors, self.before, self.sent = list(errors), before, 0

    def __call__(self) -> dict[str, Any]:
        if self.errors and self.before:
            raise self.errors.pop(0)
        self.sent += 1
        if self.errors:
            raise self.errors.pop(0)
        return {"mail": self.sent}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def keys(tmp_path, clock):
    return KeyStore(tmp_path / "keys.sqlite3", clock=clock)


INPUT = {"to": "nora@example.com", "about": "refund"}


def test_the_first_result_is_returned_ever_after(keys):
    mail = Mail()
    said = [keys.once("ticket-118/mail", INPUT, mail) for _ in range(3)]
    assert said == [{"mail": 1}] * 3 and mail.sent == 1
    turned = dict(reversed(INPUT.items()))
    assert keys.once("ticket-118/mail", turned, mail) == {"mail": 1}
    assert KeyStore(keys.path, clock=keys._clock).once("ticket-118/mail", INPUT, mail) == {"mail": 1}


def test_a_result_is_the_same_the_first_time_and_later(keys):
    assert keys.once("k", {}, lambda: {"parts": (1, 2)}) == keys.once("k", {}, lambda: None) == {"parts": [1, 2]}
    assert keys.once("nothing", {}, lambda: None) is None
    assert keys.once("nothing", {}, lambda: "again") is None


def test_another_input_under_the_same_key_is_refused(keys):
    mail = Mail()
    keys.once("ticket-118/mail", INPUT, mail)
    with pytest.raises(ToolError, match="the key ticket-118/mail belongs to a call with other inputs") as caught:
        keys.once("ticket-118/mail", {**INPUT, "to": "ben@example.com"}, mail)
    assert (caught.value.code, caught.value.retryable, mail.sent) == ("KEY_REUSED", False, 1)


@pytest.mark.parametrize(
    "error", [TimeoutError("no answer"), ConnectionResetError(), ConnectionRefusedError(), RuntimeError("?")]
)
def test_fr23_begun_and_never_reported_is_unknown(keys, error):
    mail = Mail(error)
    with pytest.raises(type(error)):
        keys.once("k", INPUT, mail)
    for _ in range(2):
        with pytest.raises(ToolError, match="k was begun and its outcome never reported: it may or may not") as caught:
            keys.once("k", INPUT, mail)
    assert (caught.value.code, caught.value.hint) == (
        "OUTCOME_UNKNOWN",
        "look for its effect before anything is written",
    )
    assert mail.sent == 1


def test_who_looked_says_what_was_found(keys):
    mail = Mail(TimeoutError())
    with pytest.raises(TimeoutError):
        keys.once("k", INPUT, mail)
    keys.settle("k", {"mail": 1})
    assert (keys.once("k", INPUT, mail), mail.sent) == ({"mail": 1}, 1)
    keys.settle("k", {"mail": 7})
    keys.forget("k")
    assert (keys.once("k", INPUT, mail), mail.sent) == ({"mail": 1}, 1), "what is there stays"

    lost = Mail(TimeoutError(), before=True)
    with pytest.raises(TimeoutError):
        keys.once("other", INPUT, lost)
    keys.forget("other")
    assert (keys.once("other", INPUT, lost), lost.sent) == ({"mail": 1}, 1)


def test_a_key_that_was_never_begun_is_neither_settled_nor_forgotten(keys):
    for look in (lambda: keys.settle("ticket-118/mial", {"mail": 1}), lambda: keys.forget("ticket-118/mial")):
        with pytest.raises(NotFound) as caught:
            look()
        said = "Nothing was begun under the key 'ticket-118/mial': write it as `once` was given it."
        assert str(caught.value) == said


def test_a_result_is_returned_even_if_the_key_was_forgotten_meanwhile(keys):
    def do():
        keys.forget("k")
        return {"mail": 1}

    assert keys.once("k", INPUT, do) == {"mail": 1}


def test_how_long_keys_are_kept_is_a_length_of_time(tmp_path):
    with pytest.raises(TypeError) as caught:
        KeyStore(tmp_path / "keys.sqlite3", keep=7)
    assert str(caught.value) == "`keep` is a length of time: write `timedelta(days=7)`."


def test_a_tool_that_says_why_has_done_nothing_and_leaves_the_key_free(keys):
    mail = Mail(ToolError("BUSY", "later", retryable=True), before=True)
    with pytest.raises(ToolError, match="later"):
        keys.once("k", INPUT, mail)
    assert keys.once("k", INPUT, mail) == {"mail": 1}


@pytest.mark.parametrize("code", sorted(retries.UNSURE))
def test_a_code_that_does_not_say_so_leaves_the_outcome_unknown(keys, code):
    mail = Mail(ToolError(code, "?"))
    with pytest.raises(ToolError, match="[?]"):
        keys.once("k", INPUT, mail)
    with pytest.raises(ToolError, match="was begun and its outcome never reported"):
        keys.once("k", INPUT, mail)
    assert mail.sent == 1


@pytest.mark.parametrize("error", [TimeoutError("slow"), ConnectionResetError("gone")])
def test_but_not_one_that_gave_up_after_several_attempts(keys, error):
    mail = Mail(error, error)

    @tool(idempotent=True)
    def send() -> dict[str, Any]:
        return mail()

    with pytest.raises(ToolError, match="2 attempts were made"):
        keys.once("k", {}, repeated(send, attempts=2, sleep=lambda seconds: None))
    with pytest.raises(ToolError, match="was begun and its outcome never reported"):
        keys.once("k", {}, send)


def test_a_result_that_is_no_json_was_done_all_the_same(keys):
    with pytest.raises(TypeError, match="The result cannot be stored: it is not plain JSON data"):
        keys.once("k", INPUT, lambda: {1, 2})
    with pytest.raises(ToolError, match="may or may not"):
        keys.once("k", INPUT, lambda: {1, 2})


def test_a_key_expires_with_its_result_and_not_without(keys, clock):
    mail, unsure = Mail(), Mail(TimeoutError())
    keys.once("k", INPUT, mail)
    with pytest.raises(TimeoutError):
        keys.once("unsure", INPUT, unsure)
    clock.now += timedelta(days=7) - timedelta(seconds=1)
    assert (keys.once("k", INPUT, mail), mail.sent) == ({"mail": 1}, 1)
    clock.now += timedelta(seconds=1)
    assert (keys.once("k", INPUT, mail), mail.sent) == ({"mail": 2}, 2)
    with pytest.raises(ToolError, match="unsure was begun"):
        keys.once("unsure", INPUT, unsure)


def test_the_folder_of_a_store_is_made_with_those_above_it(tmp_path):
    for _ in range(2):  # and one that is there stays
        keys = KeyStore(tmp_path / "a" / "b" / "keys.sqlite3")
        assert (keys.path, keys.once("k", INPUT, lambda: 1)) == (tmp_path / "a" / "b" / "keys.sqlite3", 1)


def test_how_long_a_key_is_kept_is_a_setting(tmp_path, clock):
    keys, mail = KeyStore(tmp_path / "keys.sqlite3", keep=timedelta(days=1), clock=clock), Mail()
    keys.once("k", INPUT, mail)
    clock.now += timedelta(days=1)
    keys.once("k", INPUT, mail)
    assert mail.sent == 2


def test_two_at_once_do_it_once(keys):
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert go_on.wait(5)
        return "sent"

    said: list[Any] = []
    first = threading.Thread(target=lambda: said.append(keys.once("k", INPUT, slow)))
    first.start()
    assert begun.wait(5)
    with pytest.raises(ToolError, match="was begun and its outcome never reported"):
        keys.once("k", INPUT, lambda: said.append("twice"))
    go_on.set()
    first.join()
    assert said == ["sent"]


def test_the_constraint_is_the_stores_own(keys):
    keys.once("k", INPUT, lambda: 1)
    with closing(sqlite3.connect(keys.path)) as db, pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        db.execute("INSERT INTO idempotency_keys VALUES ('k', '', '', NULL)")


def test_a_store_that_is_locked_says_busy_before_and_unknown_after(keys, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, **{**options, "timeout": 0}))
    other = connect(keys.path, isolation_level=None)
    mail = Mail()
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ToolError) as caught:
        keys.once("k", INPUT, mail)
    assert (caught.value.code, caught.value.retryable, mail.sent) == ("BUSY", True, 0)
    other.execute("ROLLBACK")

    def locks_the_store():
        other.execute("BEGIN IMMEDIATE")
        return mail()

    with pytest.raises(ToolError) as caught:
        keys.once("k", INPUT, locks_the_store)
    assert (caught.value.code, caught.value.retryable, mail.sent) == ("OUTCOME_UNKNOWN", False, 1)
    other.close()


def test_a_path_that_cannot_be_opened_is_refused(tmp_path):
    with pytest.raises(SetupError) as caught:
        KeyStore(tmp_path)
    assert (
        str(caught.value) == f"Keys cannot be kept in {tmp_path} (unable to open database file): choose another path."
    )


def test_a_file_that_is_something_else_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and longer than a header of a hundred bytes " * 3, encoding="utf-8")
    with pytest.raises(SetupError, match="Keys cannot be kept in .*: choose another path"):
        KeyStore(path)
    assert path.read_text(encoding="utf-8").startswith("not a database")


# A thousand deaths: `CRASH_RUNS=1000 pytest tests/test_retries.py -k killed`

CRASHES = int(os.environ.get("CRASH_RUNS", "100"))
ORDER, CENTS = "ORD-20260914", 350


def refund(shop: Shop, notes: Path) -> None:
    """The program that is killed: it pays, and writes down that it has paid. The key makes it safe to begin again."""
    if notes.exists():
        return
    key = idempotency_key("ticket-118", "refund", {"order_id": ORDER, "amount_cents": CENTS})
    receipt = shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)
    part = notes.with_suffix(".part")
    part.write_text(json.dumps(receipt), encoding="utf-8")
    part.replace(notes)


def with_store(shop: Shop, notes: Path) -> None:
    """The same against a till that keeps no keys: the store does, and a person looks where nobody knows."""
    keys = KeyStore(notes.with_name("keys.sqlite3"))
    inputs = {"order_id": ORDER, "amount_cents": CENTS}
    try:
        keys.once("ticket-118", inputs, lambda: shop.refund_order(ORDER, CENTS, "damaged"))
    except ToolError as error:
        assert error.code == "OUTCOME_UNKNOWN"
        rows = shop.ledger(ORDER)
        keys.settle("ticket-118", rows[0]["id"]) if rows else keys.forget("ticket-118")
        keys.once("ticket-118", inputs, lambda: shop.refund_order(ORDER, CENTS, "damaged"))


def lives(program: Any, shop: Shop, notes: Path, dies_at: int) -> tuple[bool, int]:
    """One process; it is killed (-9) before the line with this number, of its own code or of ours below it.

    Was it killed, and how many lines are there?
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code, count = 1, 0

        def trace(frame: Any, event: str, arg: Any) -> Any:
            nonlocal count
            ours = "course_kit" in frame.f_code.co_filename or frame.f_code.co_filename == __file__
            if event == "line" and ours:
                count += 1
                if count == dies_at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace if ours else None

        try:
            sys.settrace(trace)
            program(shop, notes)
            sys.settrace(None)
            os.write(write, b"%d" % count)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        counted = int(pipe.read() or 0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the program failed by itself"
    return os.WIFSIGNALED(status), counted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing here: nothing to kill")
@pytest.mark.parametrize(("program", "runs"), [(refund, CRASHES), (with_store, CRASHES // 4)])
def test_fr23_killed_anywhere_and_taken_up_again_the_money_leaves_once(tmp_path, program, runs):
    morning, here = open_shop(tmp_path / "morning.sqlite3"), tmp_path / "here"
    here.mkdir()
    shop, notes = Shop(here / "shop.sqlite3"), here / "notes"

    def clean() -> None:
        for file in here.iterdir():
            file.unlink()
        shutil.copy(morning.path, shop.path)

    clean()
    _, lines = lives(program, shop, notes, 0)
    assert lines > 40
    chance, paid, killed = random.Random(9), {0: 0, 1: 0}, 0
    for _ in range(runs):
        clean()
        for _ in range(chance.randint(1, 3)):
            killed += lives(program, shop, notes, chance.randint(chance.choice([1, lines * 2 // 3]), lines))[0]
            paid[len(shop.ledger(ORDER))] += 1
        lives(program, shop, notes, 0)
        assert [row["amount_cents"] for row in shop.ledger(ORDER)] == [CENTS]
    print(f"{runs} runs, {lines} lines, {killed} deaths, refunds in the ledger then: {paid}")  # shown with -s
    assert killed > runs * 0.8 and min(paid.values()) > runs / 10, "deaths before and after the payment"


def test_the_module_names_what_it_offers():
    assert all(hasattr(retries, name) for name in retries.__all__)


def test_nobody_else_writes_between_the_look_at_a_key_and_what_follows_from_it(tmp_path):
    keys = KeyStore(tmp_path / "keys.sqlite3")
    with keys._writing() as db, closing(sqlite3.connect(keys.path, timeout=0)) as other:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,), "what is committed is on the disk"
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")


def test_a_key_that_stands_for_another_call_says_what_to_do(tmp_path):
    keys = KeyStore(tmp_path / "keys.sqlite3")
    keys.once("k", {"a": 1}, lambda: "done")
    with pytest.raises(ToolError) as reused:
        keys.once("k", {"a": 2}, lambda: "done again")
    assert (reused.value.code, str(reused.value), reused.value.hint) == (
        "KEY_REUSED",
        "the key k belongs to a call with other inputs",
        "one key is for one operation: do not try again, look at what was done under it",
    )

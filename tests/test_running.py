"""The calls of one turn: which run together, how many at once, for how long; and what survives an interrupt.

Tools wait for each other by barriers and events, not by the clock. Where a case is run in both forms, `both` runs it
plainly and with `await`.
"""

import asyncio
import contextlib
import contextvars
import json
import subprocess
import sys
import threading
import time

import pytest

from course_kit.contract.messages import tool_use
from course_kit.errors import ToolError
from course_kit.harness.running import CallContext, current_call, run_calls, run_calls_async
from course_kit.harness.tools import Call, Tool, prepare, tool
from course_kit.harness.waiting import in_thread

LONG = 30.0  # seconds after which a test has failed; nobody waits for it otherwise


def call(made: Tool, id: str = "", /, **input) -> Call:
    prepared = prepare(tool_use(id or made.name, made.name, input), [made])
    assert isinstance(prepared, Call)
    return prepared


def plainly(calls: list[Call], **options) -> list[dict]:
    return list(run_calls(calls, **options))


def awaiting(calls: list[Call], **options) -> list[dict]:
    async def main() -> list[dict]:
        return [event async for event in run_calls_async(calls, **options)]

    return asyncio.run(main())


def in_a_cell(calls: list[Call], **options) -> list[dict]:
    """The plain form where an event loop is running already, as in a notebook."""

    async def cell() -> list[dict]:
        return plainly(calls, **options)

    return asyncio.run(cell())


both = pytest.mark.parametrize("run", [plainly, awaiting])
everywhere = pytest.mark.parametrize("run", [plainly, awaiting, in_a_cell])


def told(events: list[dict]) -> list[str]:
    """`["started a", "a: 5", "b: KeyError: 'x'!"]`; an exclamation mark is an error."""
    lines = []
    for event in events:
        if event["event"] == "started":
            lines.append(f"started {event['tool_use_id']}")
        else:
            result = event["result"]
            lines.append(f"{result['tool_use_id']}: {result['content']}{'!' if result.get('is_error') else ''}")
    return lines


def results(events: list[dict]) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in told(events) if not line.startswith("started "))


def wait(event: threading.Event) -> None:
    assert event.wait(LONG), "the other call never came"


# One call


@everywhere
@pytest.mark.parametrize("timeout", [None, LONG])
def test_the_events_of_a_call_are_plain_json(run, timeout):
    def look() -> str:
        raise ToolError("NOT_FOUND", "no such order")

    add = tool(lambda a, b: a + b, name="add", input_schema={"type": "object"}, timeout=timeout)
    events = run([call(add, a=2, b=3), call(tool(look, timeout=timeout))])
    assert json.loads(json.dumps(events)) == events
    results = [event for event in events if event["event"] == "result"]
    assert all(0 <= event.pop("seconds") < LONG for event in results)
    assert all(0 <= time.time() - event.pop("began") < LONG for event in results)
    assert events == [
        {"event": "started", "tool_use_id": "add", "input": {"a": 2, "b": 3}},
        {"event": "result", "result": {"type": "tool_result", "tool_use_id": "add", "content": "5"}},
        {"event": "started", "tool_use_id": "look", "input": {}},
        {
            "event": "result",
            "result": {
                "type": "tool_result",
                "tool_use_id": "look",
                "content": "NOT_FOUND: no such order\nRetryable: no, the same call will fail again.",
                "is_error": True,
            },
            "failure": "NOT_FOUND",
        },
    ]


@everywhere
def test_no_calls_no_events(run):
    assert run([]) == []


def test_the_details_of_the_operators_failures_are_in_the_event():
    def look() -> None:
        undefined_name  # noqa: B018, F821

    (_, event) = plainly([call(tool(look))])
    assert event["failure"] == "INTERNAL" and "NameError" not in event["result"]["content"]
    assert event["details"].startswith("NameError: name 'undefined_name' is not defined (test_running.py, line ")


@pytest.mark.parametrize("limit", [0, -1])
@both
def test_a_limit_that_lets_nothing_run_is_refused(run, limit):
    with pytest.raises(ValueError, match="let at least one call run at a time"):
        run([], limit=limit)


# Who is told when


@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_call_begins_only_when_the_event_after_its_start_is_asked_for(effect, count):
    ran = []
    act = tool(lambda n: ran.append(n), name="act", input_schema={"type": "object"}, effect=effect)
    calls = [call(act, str(n), n=n) for n in range(count)]
    events = run_calls(calls)
    ahead = count if effect == "read" else 1
    announced = [{"event": "started", "tool_use_id": str(n), "input": {"n": n}} for n in range(ahead)]
    assert [next(events) for _ in range(ahead)] == announced
    time.sleep(0.02)
    assert ran == []
    events.close()
    assert ran == []

    async def main() -> None:
        async with contextlib.aclosing(run_calls_async(calls)) as events:
            for _ in range(ahead):
                assert (await anext(events))["event"] == "started"
            await asyncio.sleep(0.02)
            assert ran == []

    asyncio.run(main())
    assert ran == []


@both
def test_a_turn_with_a_write_in_it_runs_in_call_order_one_after_another(run):
    log = []

    def act(name: str) -> str:
        log.append(f"{name} begins")
        time.sleep(0.005)
        log.append(f"{name} ends")
        return name

    look, write = tool(act, name="look", effect="read"), tool(act, name="write")
    names = {"a": look, "b": look, "c": write, "d": look}
    events = run([call(names[name], name, name=name) for name in names])
    assert told(events) == [line for name in "abcd" for line in (f"started {name}", f"{name}: {name}")]
    assert log == [line for name in "abcd" for line in (f"{name} begins", f"{name} ends")]


@pytest.mark.parametrize("effect", ["write", "irreversible"])
@both
def test_no_two_calls_run_together_unless_all_are_reads(run, effect):
    """The failing twin of the case below: a barrier for two is never reached."""
    barrier = threading.Barrier(2)

    def meet() -> str:
        barrier.wait(0.05)
        return "met"

    calls = [call(tool(meet, effect="read"), "a"), call(tool(meet, effect=effect, needs_approval=False), "b")]
    assert [line[-1] for line in results(run(calls)).values()] == ["!", "!"]


@everywhere
def test_reads_run_together(run):
    barrier = threading.Barrier(3)

    def meet() -> str:
        barrier.wait(LONG)
        return "met"

    calls = [call(tool(meet, effect="read"), id) for id in "abc"]
    events = run(calls)
    assert told(events)[:3] == ["started a", "started b", "started c"]
    assert results(events) == {"a": "met", "b": "met", "c": "met"}


@everywhere
def test_fr04_results_come_as_they_finish(run):
    done = {id: threading.Event() for id in "abc"}

    def look(id: str, after: str | None = None) -> str:
        if after:
            wait(done[after])
            time.sleep(0.01)  # until the other's result was handed over
        done[id].set()
        return id

    made = tool(look, effect="read")
    calls = [call(made, "a", id="a", after="b"), call(made, "b", id="b", after="c"), call(made, "c", id="c")]
    assert list(results(run(calls))) == ["c", "b", "a"]


class Gauge:
    """How many are inside at once."""

    def __init__(self):
        self.lock, self.inside, self.most = threading.Lock(), 0, 0

    def __enter__(self):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_):
        with self.lock:
            self.inside -= 1


@pytest.mark.parametrize("limit", [1, 2, 5])
@everywhere
def test_never_more_than_the_limit_at_once(run, limit):
    gauge = Gauge()

    def look() -> None:
        with gauge:
            time.sleep(0.005)

    async def look_later() -> None:
        with gauge:
            await asyncio.sleep(0.005)

    tools = [tool(look, effect="read"), tool(look_later, effect="read")]
    events = run([call(tools[n % 2], str(n)) for n in range(14)], limit=limit)
    assert (gauge.most, len(results(events))) == (limit, 14)


# One failure loses nothing


class Odd(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x"), "KeyError: 'x'!"),
        (SystemExit(3), "SystemExit: 3!"),
        (Odd("off"), "Odd: off!"),
        (asyncio.CancelledError(), "CancelledError!"),
        (StopIteration(1), "StopIteration: 1!"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "threads", "async", "timed"])
@everywhere
def test_fr20_one_failing_call_takes_no_other_with_it(run, kind, error, said):
    if kind == "async" and isinstance(error, StopIteration):
        said = "RuntimeError: coroutine raised StopIteration!"  # as Python has it
    ran = []
    timeout, effect = LONG if kind == "timed" else None, "read" if kind in ("threads", "async") else "write"

    def tool_of(id: str) -> Tool:
        def act() -> str:
            ran.append(id)
            if id == "b":
                raise error
            if id == "c":
                time.sleep(0.005)
            return f"did {id}"

        async def act_later() -> str:
            return act()

        return tool(act_later if kind == "async" else act, name=id, effect=effect, timeout=timeout)

    events = run([call(tool_of(id)) for id in "abc"])
    assert results(events) == {"a": "did a", "b": said, "c": "did c"}
    assert sorted(ran) == ["a", "b", "c"]
    assert [event["failure"] for event in events if "failure" in event] == ["EXCEPTION"]
    assert len(told(events)) == 6


@both
def test_fr20_later_calls_run_after_such_failures_too(run):
    """What would end an event loop ends none of ours."""

    async def leave() -> None:
        raise SystemExit(1)

    async def stay() -> str:
        return "here"

    for _ in range(2):
        leaving, staying = tool(leave, effect="read", timeout=LONG), tool(stay, effect="read", timeout=LONG)
        assert results(run([call(leaving), call(staying)])) == {"leave": "SystemExit: 1!", "stay": "here"}


def test_fr20_a_thread_that_cannot_be_started_is_a_failure(monkeypatch):
    class NoThread(threading.Thread):
        def start(self):
            if self.name.startswith("tool "):
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(threading, "Thread", NoThread)
    write = tool(lambda: "written", name="write", timeout=5, input_schema={"type": "object"})
    assert results(plainly([call(write, "a"), call(write, "b")])) == {
        "a": "RuntimeError: can't start new thread!",
        "b": "RuntimeError: can't start new thread!",
    }, "a write that never began stands in nobody's way"
    look = tool(lambda: "ran", name="look", effect="read", input_schema={"type": "object"})
    assert results(plainly([call(look, "a"), call(look, "b")])) == {
        "a": "RuntimeError: can't start new thread!",
        "b": "RuntimeError: can't start new thread!",
    }


# FR-21: real files


@both
def test_fr21_two_edits_of_one_file_are_both_in_it(run, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(map(str, range(1, 101))), encoding="utf-8")

    def replace(old: str, new: str) -> str:
        lines = file.read_text(encoding="utf-8").split("\n")
        time.sleep(0.02)
        lines[lines.index(old)] = new
        file.write_text("\n".join(lines), encoding="utf-8")
        return "replaced"

    edits = [{"old": "50", "new": "FIFTY"}, {"old": "75", "new": "SEVENTY-FIVE"}]
    events = run(
        [call(tool(replace), new, old=edit["old"], new=edit["new"]) for edit in edits for new in [edit["new"]]]
    )
    assert list(results(events).values()) == ["replaced", "replaced"]
    lines = file.read_text(encoding="utf-8").split("\n")
    assert (lines[49], lines[74], len(lines)) == ("FIFTY", "SEVENTY-FIVE", 100)


@both
def test_fr21_marked_as_reads_the_same_two_edits_lose_one(run, tmp_path):
    """The failing twin: a write that says it is a read. Both have read before either writes."""
    file, both_read = tmp_path / "lines.txt", threading.Barrier(2)
    file.write_text("a b", encoding="utf-8")

    def replace(old: str, new: str) -> str:
        text = file.read_text(encoding="utf-8")
        both_read.wait(LONG)
        file.write_text(text.replace(old, new), encoding="utf-8")
        return "replaced"

    made = tool(replace, effect="read")
    events = run([call(made, "1", old="a", new="A"), call(made, "2", old="b", new="B")])
    assert list(results(events).values()) == ["replaced", "replaced"]
    assert file.read_text(encoding="utf-8") in ("A b", "a B")


@pytest.mark.parametrize("run", [plainly, awaiting, in_a_cell])
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_fr21_three_slow_reads_take_the_time_of_one(run, kind):
    """Nobody goes on before all three are there: one after the other would end in a time-out."""
    threads, tasks = threading.Barrier(3, timeout=LONG), asyncio.Barrier(3)

    def look() -> str:
        threads.wait()
        return "met"

    async def look_later() -> str:
        async with asyncio.timeout(LONG):
            await tasks.wait()
        return "met"

    made = tool(look if kind == "plain" else look_later, effect="read")
    assert results(run([call(made, id) for id in "abc"])) == dict.fromkeys("abc", "met")


# Time-outs

LATE = "`act` gave no answer within 0.1 seconds"
GONE = "and nobody waits for it any longer. Ask for less, or go on without it."
UNSURE = "\nThe call may or may not have taken effect: look before you make it again."


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        pytest.param({"effect": "read"}, "plain", f"{LATE}, {GONE}", id="read"),
        pytest.param({"idempotent": True}, "plain", f"{LATE}, {GONE}", id="idempotent"),
        pytest.param(
            {},
            "plain",
            f"{LATE}. It may still be running, and take effect later.{UNSURE}",
            id="write",
        ),
        pytest.param({}, "async", f"{LATE}, and was stopped.{UNSURE}", id="coroutine"),
        pytest.param(
            {},
            "returned",
            f"{LATE}, and was stopped.{UNSURE}",
            id="awaitable_returned",
        ),
    ],
)
@everywhere
def test_a_call_that_takes_too_long_is_answered(run, options, kind, said):
    release = threading.Event()

    def act() -> None:
        release.wait(LONG)

    async def act_later() -> None:
        await asyncio.sleep(LONG)

    function = {"plain": act, "async": act_later, "returned": lambda: act_later()}[kind]
    begun = time.perf_counter()
    events = run([call(tool(function, name="act", timeout=0.1, **options))])
    assert time.perf_counter() - begun < LONG / 2
    assert results(events) == {"act": f"TimeoutError: {said}!"}
    assert events[1]["failure"] == "TIMEOUT" and "try again" not in said
    release.set()


@both
def test_a_thread_that_ends_soon_after_its_time_was_not_stopped(run):
    """Its effect is there: to say that it was stopped would invite a second one."""
    seen = []

    def act() -> None:
        time.sleep(0.3)
        seen.append("took effect")

    late = run([call(tool(act, timeout=0.1))])
    assert results(late) == {"act": f"TimeoutError: {LATE}. It may still be running, and take effect later.{UNSURE}!"}
    time.sleep(0.4)
    assert seen == ["took effect"]


@both
def test_a_coroutine_tool_that_took_too_long_is_cancelled_for_real(run):
    seen = []

    async def act() -> None:
        try:
            await asyncio.sleep(LONG)
            seen.append("took effect")
        finally:
            seen.append("ended")

    write = tool(lambda: seen.append("write") or "written", name="write", input_schema={"type": "object"})
    events = run([call(tool(act, timeout=0.02)), call(write)])
    assert seen == ["ended", "write"], "it was over before the next call began"
    assert results(events)["write"] == "written"


@both
def test_a_writer_that_runs_on_lets_no_later_write_begin(run):
    release, log = threading.Event(), []

    def slow() -> None:
        release.wait(LONG)
        log.append("slow")

    def act(name: str) -> str:
        log.append(name)
        return name

    calls = [
        call(tool(slow, timeout=0.02)),
        call(tool(act, name="write"), name="write"),
        call(tool(act, name="read", effect="read"), name="read"),
        call(tool(act, name="refund", effect="irreversible"), name="refund"),
    ]
    events = run(calls)
    assert log == ["read"]
    said = (
        "was not run: `slow` (`slow`) gave no answer in time and is still running, and two writes at once can undo "
        "each other. Look at what it did before you call again.!"
    )
    found = results(events)
    assert found["write"] == f"`write` {said}" and found["refund"] == f"`refund` {said}" and found["read"] == "read"
    assert [event.get("failure") for event in events if event["event"] == "result"] == [
        *("TIMEOUT", "NOT_RUN", None, "NOT_RUN")
    ]
    assert [line for line in told(events) if line.startswith("started")] == ["started slow", "started read"]
    release.set()


@both
def test_a_writer_that_ended_meanwhile_holds_nobody_up(run):
    """The other side of the rule: once the thread is over, the next write runs."""
    release, over = threading.Event(), threading.Event()

    def slow() -> None:
        release.wait(LONG)
        over.set()

    def between() -> str:
        release.set()
        wait(over)
        time.sleep(0.02)  # from the tool's last line to the end of its call
        return "between"

    write = tool(lambda: "written", name="write", input_schema={"type": "object"})
    events = run([call(tool(slow, timeout=0.02)), call(tool(between, effect="read")), call(write)])
    assert results(events)["write"] == "written"


@both
def test_a_thread_that_comes_late_counts_as_at_work(run, monkeypatch):
    release, log = threading.Event(), []

    class Late(threading.Thread):
        def run(self):
            if self.name == "tool slow":
                release.wait(LONG)
            super().run()

    monkeypatch.setattr(threading, "Thread", Late)
    slow = tool(lambda: log.append("slow"), name="slow", timeout=0.02, input_schema={"type": "object"})
    write = tool(lambda: log.append("write"), name="write", input_schema={"type": "object"})
    events = run([call(slow), call(write)])
    assert log == [] and events[-1]["failure"] == "NOT_RUN"
    release.set()


@both
def test_a_read_that_runs_on_holds_nobody_up(run):
    release = threading.Event()

    def slow() -> None:
        release.wait(LONG)

    write = tool(lambda: "written", name="write", input_schema={"type": "object"})
    events = run([call(tool(slow, effect="read", timeout=0.02)), call(write)])
    assert results(events)["write"] == "written"
    release.set()


def test_the_clock_goes_on_while_a_coroutine_tool_blocks_its_loop():
    release = threading.Event()

    async def act() -> None:
        release.wait(LONG)  # a mistake that many make

    begun = time.perf_counter()
    events = plainly(
        [call(tool(act, timeout=0.02)), call(tool(lambda: "x", name="w", input_schema={"type": "object"}))]
    )
    assert time.perf_counter() - begun < LONG / 2
    assert "may still be running" in results(events)["act"] and "was not run" in results(events)["w"]
    release.set()


@both
def test_a_slow_read_loses_only_its_own_result(run):
    release = threading.Event()

    def slow() -> None:
        release.wait(LONG)

    quick = tool(lambda: "quick", name="quick", effect="read", input_schema={"type": "object"})
    found = results(run([call(tool(slow, effect="read", timeout=0.02)), call(quick)]))
    assert found["quick"] == "quick" and found["slow"].startswith("TimeoutError: ")
    release.set()


@both
def test_the_time_of_a_call_begins_when_the_call_does(run):
    """Calls that wait for their turn lose none of their time."""
    look = tool(lambda: time.sleep(0.2), name="look", effect="read", timeout=0.5, input_schema={"type": "object"})
    assert set(results(run([call(look, str(n)) for n in range(6)], limit=2)).values()) == {"(no output)"}


# Threads, loops, contexts


@pytest.mark.parametrize(
    ("count", "effect", "timeout", "limit", "here"),
    [
        pytest.param(1, "read", None, 5, True, id="a_read_alone"),
        pytest.param(2, "write", None, 5, True, id="writes"),
        pytest.param(2, "read", None, 1, True, id="reads_one_at_a_time"),
        pytest.param(2, "read", None, 5, False, id="reads_together"),
        pytest.param(1, "write", LONG, 5, False, id="a_time_out"),
    ],
)
def test_a_call_that_runs_alone_without_a_time_out_stays_in_the_callers_thread(count, effect, timeout, limit, here):
    threads = []
    where = tool(lambda: threads.append(threading.current_thread()), name="where", input_schema={"type": "object"})
    made = tool(where, name="where", effect=effect, timeout=timeout, input_schema={"type": "object"})
    plainly([call(made, str(n)) for n in range(count)], limit=limit)
    assert len(threads) == count
    assert {thread is threading.current_thread() for thread in threads} == {here}
    assert here or all(thread.daemon for thread in threads), "they keep no script from exiting"


def test_fr27_the_await_form_never_blocks_the_callers_loop():
    ticking = threading.Event()

    def act() -> str:
        wait(ticking)
        return "did"

    async def main() -> list[dict]:
        asyncio.get_running_loop().call_later(0.01, ticking.set)
        return [event async for event in run_calls_async([call(tool(act))])]

    assert results(asyncio.run(main())) == {"act": "did"}


def test_coroutine_tools_live_in_the_lasting_loop_or_in_the_callers():
    loops = []

    async def note() -> None:
        loops.append(asyncio.get_running_loop())

    for timeout in (None, LONG):
        made = tool(note, effect="read", timeout=timeout)
        plainly([call(made, "a"), call(made, "b")])
        plainly([call(made, "c")])
    assert len(loops) == 6 and len(set(loops)) == 1
    loops.clear()

    async def main() -> None:
        callers = asyncio.get_running_loop()
        assert [event async for event in run_calls_async([call(made, "a"), call(made, "b")])]
        assert loops == [callers, callers]

    asyncio.run(main())


@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_coroutine_tool_may_run_plain_calls_and_is_told_about_await(effect):
    """Its own loop is the one that another coroutine tool would need."""

    async def inner() -> str:
        return "never"

    async def outer() -> str:
        plain = tool(lambda: "plain", name="plain", effect=effect, input_schema={"type": "object"})
        asks = tool(inner, effect=effect, timeout=0.5)
        return json.dumps(results(plainly([call(plain), call(asks, "b"), call(asks, "c")])))

    found = json.loads(results(plainly([call(tool(outer))]))["outer"])
    assert found["plain"] == "plain"
    assert all("without `await`" in found[id] for id in "bc")


def test_a_coroutine_tool_may_await_a_turn_of_its_own():
    barrier = threading.Barrier(2)

    def meet() -> str:
        barrier.wait(LONG)
        return "met"

    async def outer() -> str:
        calls = [call(tool(meet, effect="read"), id) for id in "ab"]
        return json.dumps(results([event async for event in run_calls_async(calls)]))

    assert json.loads(results(plainly([call(tool(outer))]))["outer"]) == {"a": "met", "b": "met"}


def test_a_plain_tool_may_run_a_turn_of_its_own():
    async def inner() -> str:
        return "inner"

    def outer() -> str:
        return json.dumps(results(plainly([call(tool(inner, effect="read"), id) for id in "ab"])))

    found = results(plainly([call(tool(outer, effect="read"), id) for id in "xy"]))
    assert [json.loads(said) for said in found.values()] == [{"a": "inner", "b": "inner"}] * 2


kept = contextvars.ContextVar("kept", default="nothing")


@everywhere
@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("timeout", [None, LONG])
def test_tools_have_the_callers_context_and_know_which_call_they_are(run, effect, timeout):
    def which() -> str:
        return f"{kept.get()} {current_call()}"

    async def which_later() -> str:
        return which()

    options = {"effect": effect, "timeout": timeout}
    calls = [call(tool(which, **options), "toolu_1"), call(tool(which_later, **options), "toolu_2")]
    token = kept.set("mine")
    try:
        found = results(run(calls, run_id="run_7"))
        assert found == {id: f"mine {CallContext(id, 'run_7')}" for id in ("toolu_1", "toolu_2")}
        assert set(results(run(calls))) == {"toolu_1", "toolu_2"}
        assert results(run(calls))["toolu_1"] == f"mine {CallContext('toolu_1', None)}"
    finally:
        kept.reset(token)
    assert current_call() is None


# Interrupts

SCRIPT = r"""
import asyncio, os, signal, sys, threading, time
from course_kit.contract.messages import tool_use
from course_kit.harness.running import run_calls, run_calls_async
from course_kit.harness.tools import prepare, tool

form, kind, effect, timeout = sys.argv[1:]
timeout = float(timeout) if timeout != "None" else None
def say(line):  # in one piece: two threads do
    os.write(1, f"{line}\n".encode())
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
def interrupt():
    time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
def begin():
    threading.Thread(target=interrupt, daemon=True).start()
def slow():
    begin()
    time.sleep(20)
async def slow_later():
    begin()
    try:
        await asyncio.sleep(20)
    finally:
        say("cancelled")
made = tool(slow if kind == "plain" else slow_later, name="slow", effect=effect, timeout=timeout)
quick = tool(lambda: "quick", name="quick", effect=effect, input_schema={"type": "object"})
calls = [prepare(tool_use(name, name, {}), [made, quick]) for name in ("quick", "slow")]
async def main():
    async for event in run_calls_async(calls):
        say(event["event"])
begun = time.perf_counter()
try:
    if form == "await":
        asyncio.run(main())
    else:
        for event in run_calls(calls):
            say(event["event"])
except KeyboardInterrupt:
    say(f"interrupted {time.perf_counter() - begun < 10}")
    if kind == "async":
        time.sleep(0.05)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script cannot send itself Ctrl-C there")
@pytest.mark.parametrize("timeout", [None, 15.0])
@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("form", ["plain", "await"])
def test_an_interrupt_returns_within_a_second_and_the_script_exits(form, kind, effect, timeout):
    command = [sys.executable, "-c", SCRIPT, form, kind, effect, str(timeout)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=15)
    together, apart = ["started", "started", "result"], ["started", "result", "started"]
    lines = ended.stdout.split("\n")[:-1]
    assert lines[:3] == (together if effect == "read" else apart)
    assert sorted(lines[3:]) == (["cancelled"] if kind == "async" else []) + ["interrupted True"]
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("effect", ["read", "write"])
def test_whoever_is_cancelled_leaves_at_once_and_coroutine_tools_end(kind, effect):
    began, release, seen = threading.Event(), threading.Event(), []

    def slow() -> None:
        began.set()
        release.wait(LONG)

    async def slow_later() -> None:
        began.set()
        try:
            await asyncio.sleep(LONG)
        finally:
            seen.append("ended")

    made = tool(slow if kind == "plain" else slow_later, name="slow", effect=effect)

    async def main() -> None:
        events = []

        async def turn() -> None:
            async with contextlib.aclosing(run_calls_async([call(made, "a"), call(made, "b")])) as every:
                async for event in every:
                    events.append(event["event"])

        task = asyncio.ensure_future(turn())
        while not began.is_set():
            await asyncio.sleep(0.001)
        begun = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.perf_counter() - begun < LONG / 2 and "result" not in events
        await asyncio.sleep(0.01)
        assert seen == (["ended"] * (2 if effect == "read" else 1) if kind == "async" else [])

    asyncio.run(main())
    release.set()


@pytest.mark.parametrize("run", [plainly, awaiting])
@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.filterwarnings("ignore")
def test_an_interrupt_that_reaches_the_tool_is_raised_where_somebody_waits(run, kind, effect):
    called = []

    def act() -> None:
        called.append(1)
        raise KeyboardInterrupt

    async def act_later() -> None:
        act()

    async def well() -> str:
        return "well"

    made = tool(act if kind == "plain" else act_later, effect=effect, timeout=LONG)
    with pytest.raises(KeyboardInterrupt):
        run([call(made, "a"), call(made, "b")])
    assert len(called) <= (1 if effect == "write" else 2), "no call is made a second time, nor the next write begun"
    assert results(run([call(tool(well, timeout=LONG))])) == {"well": "well"}, "the loops have survived"


def test_what_a_thread_raises_comes_out_where_it_is_awaited():
    async def main() -> None:
        assert await in_thread(lambda: 7, "seven") == 7
        with pytest.raises(ZeroDivisionError):
            await in_thread(lambda: 1 / 0, "broken")

    asyncio.run(asyncio.wait_for(main(), LONG))


def test_who_stops_reading_starts_no_more_calls():
    began, gate = [], threading.Event()

    def look(n: int) -> None:
        began.append(n)
        assert n == 0 or gate.wait(LONG)

    looks = [call(tool(look, effect="read"), str(n), n=n) for n in range(8)]
    with contextlib.closing(run_calls(looks, limit=2)) as events:
        for event in events:
            if event["event"] == "result":
                break
    gate.set()
    time.sleep(0.05)
    assert len(began) <= 3  # the one that ended, its neighbour, and one that took its place


def test_who_stops_awaiting_starts_no_more_calls_either():
    began = []

    async def look(n: int) -> None:
        began.append(n)
        await asyncio.sleep(LONG if n else 0)

    async def main() -> None:
        looks = [call(tool(look, effect="read"), str(n), n=n) for n in range(6)]
        async with contextlib.aclosing(run_calls_async(looks, limit=2)) as events:
            async for event in events:
                if event["event"] == "result":
                    break
        begun = list(began)
        await asyncio.sleep(0.05)
        assert (began, began[:2]) == (begun, [0, 1]) and len(began) <= 3

    asyncio.run(asyncio.wait_for(main(), LONG))


PRELUDE = """
import asyncio, time
from course_kit.contract.messages import tool_use
from course_kit.harness.running import run_calls, run_calls_async
from course_kit.harness.tools import prepare, tool
def look(seconds: float): time.sleep(seconds); return "looked"
async def look_later(seconds: float): await asyncio.sleep(seconds); return "looked"
tools = [tool(look, effect="read"), tool(look_later, effect="read"), tool(look, name="act")]
def turn(*names, seconds=0.0):
    return [prepare(tool_use(str(n), name, {"seconds": seconds}), tools) for n, name in enumerate(names)]
def shown(events):
    print(*(event["result"]["content"] for event in events if event["event"] == "result"))
"""
INTERRUPTED = """
begun = time.perf_counter()
print("go", flush=True)
try:
    {code}
except BaseException as error:
    print(type(error).__name__, time.perf_counter() - begun < 10)
"""


def in_a_kernel() -> None:
    import jupyter_client

    manager, client = jupyter_client.manager.start_new_kernel(startup_timeout=60)

    def execute(code: str, interrupt: bool = False) -> list[str]:
        printed: list[str] = []

        def output(message: dict) -> None:
            printed.append(message["content"].get("text", ""))
            if interrupt and "".join(printed) == "go\n":
                threading.Timer(0.1, manager.interrupt_kernel).start()

        reply = client.execute_interactive(code, output_hook=output, timeout=30)
        return [reply["content"]["status"], *"".join(printed).split("\n")[:-1]]

    try:
        assert execute(PRELUDE) == ["ok"]
        for names in ("'look', 'look_later'", "'act', 'look_later'"):
            plain, awaited = f"run_calls(turn({names}))", f"[event async for event in run_calls_async(turn({names}))]"
            assert [execute(f"shown({code})") for code in (plain, awaited)] == [["ok", "looked looked"]] * 2
        for names in ("'look', 'look_later'", "'act'", "'look_later'"):
            turn = f"turn({names}, seconds=20)"
            plain, awaited = f"list(run_calls({turn}))", f"[event async for event in run_calls_async({turn})]"
            assert execute(INTERRUPTED.format(code=plain), True) == ["ok", "go", "KeyboardInterrupt True"], plain
            assert execute(INTERRUPTED.format(code=awaited), True) == ["ok", "go", "CancelledError True"], awaited
        assert execute("shown(run_calls(turn('look', 'look_later')))") == ["ok", "looked looked"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_fr27_in_a_kernel_plain_and_awaited_and_interrupted():
    """A real notebook: both forms run, and the kernel's interrupt returns long before the calls would."""
    pytest.importorskip("ipykernel")
    # In a process of its own: the blocking client leaves event loops unclosed.
    ended = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_loading_the_module_loads_nothing_heavy():
    heavy = "{'pydantic', 'jsonschema_rs', 'anthropic', 'httpx2', 'numpy', 'sqlite3'}"
    code = f"import sys, course_kit.harness.running; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


if __name__ == "__main__":
    in_a_kernel()

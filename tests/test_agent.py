"""The loop: what runs, what is asked again, what goes into `messages`, whatever model, tools and network do."""

import asyncio
import base64
import inspect
import json
import math
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import anthropic
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from course_kit.contract.messages import STOP_REASONS, assistant, text, tool_result, tool_use, user
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.contract.protocol import check_request
from course_kit.errors import ScriptExhausted, ToolError
from course_kit.harness.agent import (
    first_request,
    resume_agent,
    resume_agent_async,
    run_agent,
    run_agent_async,
)
from course_kit.harness.approval import decide_later
from course_kit.harness.decisions import edit
from course_kit.harness.loop import LONGEST_REPLY, Loop, Run, RunCalls, Send, Stop
from course_kit.harness.sending import asker
from course_kit.harness.timing import TIMES
from course_kit.harness.tools import run_tool, tool, toolbox
from course_kit.mock import faults
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import Draft, call
from course_kit.mock.transport import Transport

QUESTION = user("Hello")
USAGE = {"input_tokens": 10, "output_tokens": 5}


def reply(*content: Any, stop_reason: str | None = "end_turn") -> dict[str, Any]:
    """A message of the model: texts and blocks."""
    blocks = [text(part) if isinstance(part, str) else part for part in content]
    return {"role": "assistant", "content": blocks, "stop_reason": stop_reason, "usage": USAGE}


class Script:
    """A model that is a function: gives its replies in order and keeps the requests."""

    def __init__(self, *replies: dict[str, Any]):
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(json.loads(json.dumps(request)))
        return self.replies[len(self.requests) - 1]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The blocks of the last request's last message."""
        return self.requests[-1]["messages"][-1]["content"]


def plain_driver(script: Script, tools: Any = (), **options: Any) -> Run:
    return run_agent(script, messages="Hello", tools=tools, **options)


def await_driver(script: Script, tools: Any = (), **options: Any) -> Run:
    async def ask(request: dict[str, Any]) -> dict[str, Any]:
        return script(request)

    return asyncio.run(run_agent_async(ask, messages="Hello", tools=tools, **options))


both_drivers = pytest.mark.parametrize("drive", [plain_driver, await_driver])


def assert_legal(run: Run) -> None:
    """A user turn after the history is what the API takes."""
    assert check_request({**run.trace.request, "messages": [*run.messages, user("And now?")]}) == []


class Notes:
    """A tool that keeps what it was called with."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def note(self, word: str) -> str:
        self.taken.append(word)
        return f"noted {word}"


@pytest.fixture
def notes() -> Notes:
    return Notes()


CALL = tool_use("toolu_1", "note", {"word": "one"})
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


# What a run is given when nobody says anything


def test_the_defaults_are_the_same_with_and_without_await():
    given = inspect.signature(run_agent).parameters
    assert inspect.signature(run_agent_async).parameters == given
    assert {name: one.default for name, one in given.items() if name not in ("client", "messages")} == {
        "tools": (),
        "model": DEFAULT_MODEL,
        "system": None,
        "max_tokens": 1024,
        "max_iterations": 10,
        "max_retries": 2,
        "stall_after": 3,
        "max_calls": None,
        "max_run_tokens": None,
        "approver": None,
        "max_parallel": 5,
        "tool_choice": None,
        "budget": None,
        "store": None,
        "on_event": None,
    }
    resumed = inspect.signature(resume_agent).parameters
    assert inspect.signature(resume_agent_async).parameters == resumed
    for name in ("tools", "approver", "max_parallel", "budget", "on_event"):
        assert resumed[name] == given[name]


def test_what_is_no_message_is_sent_as_it_is():
    sent = first_request(["Hello", {"role": "user", "content": "Hi."}], toolbox(()), "m", None, 5, None)
    assert sent == {"model": "m", "max_tokens": 5, "messages": ["Hello", {"role": "user", "content": "Hi."}]}


# Every way in which a turn can end

STOPPED_IN_WORDS = ["end_turn", "stop_sequence", "model_context_window_exceeded", "an_invention_of_2027"]


@both_drivers
def test_tool_use_runs_the_calls_and_asks_again(drive, notes):
    script = Script(reply("Let me note it.", CALL, stop_reason="tool_use"), reply("Done."))
    run = drive(script, [notes.note])
    assert notes.taken == ["one"]
    answered = [
        QUESTION,
        assistant([text("Let me note it."), CALL]),
        user([tool_result("toolu_1", "noted one")]),
    ]
    assert [request["messages"] for request in script.requests] == [[QUESTION], answered]
    assert (run.messages, run.text, run.stopped) == ([*answered, assistant([text("Done.")])], "Done.", "end_turn")


@both_drivers
@pytest.mark.parametrize("reason", STOPPED_IN_WORDS)
def test_a_turn_that_stopped_in_words_runs_nothing_and_its_calls_are_left_out(drive, notes, reason):
    script = Script(reply("Let me note it.", CALL, "Later.", stop_reason=reason))
    run = drive(script, [notes.note])
    assert (notes.taken, len(script.requests), run.stopped) == ([], 1, reason)
    assert run.messages == [QUESTION, assistant([text("Let me note it."), text("Later.")])]
    assert run.text == "Let me note it.Later."


@both_drivers
def test_a_refusal_runs_nothing_and_nothing_of_it_stays(drive, notes):
    script = Script(reply("I begin,", CALL, stop_reason="refusal"))
    run = drive(script, [notes.note])
    assert (notes.taken, len(script.requests), run.stopped) == ([], 1, "refusal")
    assert run.messages == [QUESTION]


@both_drivers
def test_fr11_a_turn_cut_inside_a_call_is_asked_once_more_with_more_room_and_without_it(drive, notes):
    cut = reply("Let me note it.", CALL, stop_reason="max_tokens")
    script = Script(cut, reply(CALL, stop_reason="tool_use"), reply("Done."))
    run = drive(script, [notes.note], max_tokens=500)
    assert notes.taken == ["one"]
    assert [request["max_tokens"] for request in script.requests] == [500, 1000, 500]
    assert [request["messages"] for request in script.requests[:2]] == [[QUESTION], [QUESTION]]
    assert run.messages[1] == assistant([CALL])
    assert (run.stopped, run.text) == ("end_turn", "Done.")


@both_drivers
def test_fr11_a_second_cut_in_a_row_ends_the_run(drive, notes):
    cut = reply("Let me note it.", CALL, stop_reason="max_tokens")
    run = drive(Script(cut, cut), [notes.note])
    assert (notes.taken, run.messages, run.stopped) == ([], [QUESTION], "max_tokens")


def test_cuts_that_do_not_follow_each_other_are_each_asked_again(notes):
    cut = reply(CALL, stop_reason="max_tokens")
    other = tool_use("toolu_2", "note", {"word": "two"})
    script = Script(cut, reply(CALL, stop_reason="tool_use"), cut, reply(other, stop_reason="tool_use"), reply("Done."))
    assert plain_driver(script, [notes.note]).stopped == "end_turn"
    assert notes.taken == ["one", "two"]
    assert [request["max_tokens"] for request in script.requests] == [1024, 2048, 1024, 2048, 1024]


def test_max_tokens_in_a_text_is_an_answer_that_is_too_short():
    run = plain_driver(Script(reply("Once upon", stop_reason="max_tokens")))
    assert (run.messages, run.stopped) == ([QUESTION, assistant([text("Once upon")])], "max_tokens")


@pytest.mark.parametrize(("given", "asked"), [(10_000, 20_000), (20_000, LONGEST_REPLY), (64_000, 64_000)])
def test_more_room_ends_where_the_sdk_demands_a_stream(given, asked):
    script = Script(reply(CALL, stop_reason="max_tokens"), reply("Done."))
    plain_driver(script, max_tokens=given)
    assert [request["max_tokens"] for request in script.requests] == [given, asked]


def test_the_longest_reply_is_the_longest_that_the_sdk_sends_for():
    client = MockProvider(["Hi.", "Hi."]).client(max_retries=0)
    client.messages.create(model=DEFAULT_MODEL, max_tokens=LONGEST_REPLY, messages=[QUESTION])
    with pytest.raises(ValueError, match="Streaming is required"):
        client.messages.create(model=DEFAULT_MODEL, max_tokens=LONGEST_REPLY + 1, messages=[QUESTION])


@both_drivers
def test_a_turn_without_a_reason_is_a_lost_one(drive, notes):
    lost = reply("Let me note it.", CALL, stop_reason=None)
    script = Script(lost, reply("Done."))
    run = drive(script, [notes.note])
    assert notes.taken == [] and script.requests[0] == script.requests[1]
    assert (run.messages, run.stopped) == ([QUESTION, assistant([text("Done.")])], "end_turn")
    run = drive(Script(lost, lost), [notes.note])
    assert (notes.taken, run.messages, run.stopped) == ([], [QUESTION], "connection_lost")


@both_drivers
def test_pause_turn_goes_back_unchanged(drive):
    paused = reply("Searching.", SEARCH, stop_reason="pause_turn")
    script = Script(paused, reply(FOUND, "Found nothing."))
    run = drive(script)
    first, second = script.requests
    assert second == {**first, "messages": [QUESTION, assistant(paused["content"])]}
    assert run.messages == [*second["messages"], assistant([FOUND, text("Found nothing.")])]
    assert run.stopped == "end_turn"


def test_a_turn_that_pauses_for_ever_ends_at_the_limit_and_its_open_call_is_left_out():
    script = Script(
        *[reply("Searching.", {**SEARCH, "id": f"s{number}"}, stop_reason="pause_turn") for number in "123"]
    )
    run = plain_driver(script, max_iterations=3)
    assert (len(script.requests), run.stopped) == (3, "max_iterations")
    assert run.messages == [QUESTION, *[assistant([text("Searching.")])] * 3]
    assert_legal(run)


def test_every_stop_reason_is_treated_above():
    treated = {"tool_use", "refusal", "max_tokens", "pause_turn", *STOPPED_IN_WORDS}
    assert treated == {*STOP_REASONS, "an_invention_of_2027"}
    assert set(inspect.getmodule(anthropic.types.Message).StopReason.__args__) == set(STOP_REASONS)


def test_a_turn_that_stopped_to_call_and_holds_no_call_ends_the_run():
    run = plain_driver(Script(reply("Well.", stop_reason="tool_use")))
    assert (run.messages, run.stopped) == ([QUESTION, assistant([text("Well.")])], "tool_use")


# What goes back

EMPTY_TURNS = [
    pytest.param([], [], id="nothing"),
    pytest.param([" \n"], [], id="blank_text"),
    pytest.param([THOUGHT], [], id="only_thinking"),
    pytest.param([THOUGHT, CALL], [], id="thinking_and_a_call_that_did_not_run"),
    pytest.param(["So.", THOUGHT, CALL], ["So."], id="text_and_thinking_before_such_a_call"),
    pytest.param([THOUGHT, CALL, THOUGHT, "So."], [THOUGHT, "So."], id="thinking_between_the_two"),
    pytest.param([SEARCH, "So."], ["So."], id="open_server_call"),
    pytest.param([SEARCH, FOUND, "So."], [SEARCH, FOUND, "So."], id="closed_server_call"),
    pytest.param([THOUGHT, SEARCH, THOUGHT, "So."], [THOUGHT, "So."], id="thinking_around_an_open_server_call"),
    pytest.param([THOUGHT, " ", THOUGHT, "So."], [THOUGHT, "So."], id="thinking_around_a_blank_text"),
]


@pytest.mark.parametrize(("content", "kept"), EMPTY_TURNS)
def test_nothing_that_would_be_refused_is_kept(content, kept):
    run = plain_driver(Script(reply(*content)))
    assert run.messages[1:] == ([assistant(reply(*kept)["content"])] if kept else [])
    assert_legal(run)


def test_fr02_text_after_a_call_moves_ahead_of_it(notes):
    second = tool_use("toolu_2", "note", {"word": "two"})
    script = Script(reply(THOUGHT, CALL, "Checking.", second, stop_reason="tool_use"), reply("Done."))
    run = plain_driver(script, [notes.note])
    assert script.requests[1]["messages"][1:] == [
        assistant([THOUGHT, text("Checking."), CALL, second]),
        user([tool_result("toolu_1", "noted one"), tool_result("toolu_2", "noted two")]),
    ]
    assert_legal(run)


def test_thinking_around_a_text_that_moves_does_not_come_to_stand_side_by_side(notes):
    second = tool_use("toolu_2", "note", {"word": "two"})
    turn = reply(THOUGHT, CALL, THOUGHT, "Checking.", THOUGHT, second, stop_reason="tool_use")
    run = plain_driver(Script(turn, reply("Done.")), [notes.note])
    assert run.messages[1] == assistant([THOUGHT, text("Checking."), CALL, THOUGHT, second])
    assert_legal(run)


def test_thinking_around_an_open_server_call_stays_whole_ahead_of_a_call(notes):
    """What ran is in the history, the provider gets both thoughts again, and they do not stand side by side."""
    turn = [THOUGHT, {**SEARCH, "id": "srvtoolu_1"}, THOUGHT, call("note", word="one")]
    provider = MockProvider([turn, "Done."])
    web_search = {"type": "web_search_20260209", "name": "web_search"}
    tools = {"tools": [notes.note, web_search], "messages": "Note one.", "model": "claude-haiku-5-5"}
    run = run_agent(provider.client(), **tools, max_iterations=1)
    assert [block["type"] for block in run.messages[1]["content"]] == ["thinking", "text", "thinking", "tool_use"]
    assert run.messages[1]["content"][1] == text("(web_search was not finished.)")
    run_agent(provider.client(), **{**tools, "messages": [*run.messages, user("And now?")]})
    assert_legal(run)


def test_thinking_goes_back_as_it_came(notes):
    provider = MockProvider([call("note", word="one"), "Done."])
    run = run_agent(provider.client(), messages="Note one.", tools=[notes.note], model="claude-opus-5-5")
    first = provider.requests[0].reply["content"]
    assert [block["type"] for block in first] == ["thinking", "tool_use"]
    assert provider.requests[1].body["messages"][1]["content"] == first
    assert provider.report() and run.stopped == "end_turn"
    assert_legal(run)


def test_the_request_is_as_it_was_asked_for(notes):
    script = Script(reply("Hi."))
    given = [user("Hello"), assistant("Yes?"), user("Go on.")]
    run_agent(
        script,
        messages=given,
        tools=[notes.note],
        model="claude-sonnet-5",
        system="Be brief.",
        max_tokens=99,
        tool_choice={"type": "none"},
    )
    assert script.requests == [
        {
            "model": "claude-sonnet-5",
            "max_tokens": 99,
            "system": "Be brief.",
            "tools": [tool(notes.note).definition()],
            "tool_choice": {"type": "none"},
            "messages": given,
        }
    ]
    assert len(given) == 3, "the caller's list is not touched"
    plain = Script(reply("Hi."))
    plain_driver(plain)
    assert plain.requests == [{"model": DEFAULT_MODEL, "max_tokens": 1024, "messages": [QUESTION]}]


# Calls and their results


def several(*names: str, **inputs: Any) -> dict[str, Any]:
    return reply(*[tool_use(f"toolu_{name}", name, inputs) for name in names], stop_reason="tool_use")


def test_fr03_a_tool_that_raises_after_it_began_has_one_result_the_error():
    @tool
    def log():
        yield "first line"
        raise OSError("disk gone")

    script = Script(several("log"), reply("Done."))
    run = plain_driver(script, [log])
    assert script.results == [tool_result("toolu_log", "OSError: disk gone", is_error=True)]
    assert_legal(run)


def test_fr04_results_stand_in_call_order_whatever_order_they_came_in():
    calls = [tool_use(f"toolu_{letter}", "note", {"word": letter}) for letter in "abc"]
    results = [tool_result(one["id"], f"noted {one['input']['word']}") for one in calls]
    loop = Loop({"model": DEFAULT_MODEL, "max_tokens": 9, "messages": [QUESTION]})
    loop.feed({"event": "reply", "message": reply(*calls, stop_reason="tool_use")})
    for position, result in ((2, results[2]), (1, results[1]), (0, results[0])):
        assert loop.next_step() == RunCalls(calls[: position + 1])
        loop.feed({"event": "result", "result": result})
    assert loop.next_step().request["messages"] == [QUESTION, assistant(calls), user(results)]


def test_a_result_for_no_open_call_is_refused():
    loop = Loop({"model": DEFAULT_MODEL, "max_tokens": 9, "messages": [QUESTION]})
    loop.feed({"event": "reply", "message": reply(CALL, stop_reason="tool_use")})
    with pytest.raises(ValueError, match="No call with the id 'toolu_x' is open: give a result for each call"):
        loop.feed({"event": "result", "result": tool_result("toolu_x", "5")})
    loop = Loop({"model": DEFAULT_MODEL, "max_tokens": 9, "messages": [QUESTION]})
    loop.feed({"event": "wind"})
    with pytest.raises(ValueError, match="does not know the event {'event': 'wind'}"):
        loop.next_step()


@both_drivers
def test_fr10_a_call_without_arguments_runs(drive):
    @tool(effect="read")
    def now() -> str:
        return "noon"

    bare = {"type": "tool_use", "id": "toolu_1", "name": "now"}
    for block in ({**bare, "input": {}}, {**bare, "input": ""}):
        script = Script(reply(block, stop_reason="tool_use"), reply("Done."))
        drive(script, [now])
        assert script.results == [tool_result("toolu_1", "noon")]


def test_fr17_a_result_is_never_an_empty_text_nor_an_error_that_says_nothing():
    @tool
    def silent() -> None:
        pass

    @tool
    def empty():
        return [text("")]

    @tool
    def mute():
        raise ToolError("", "")

    @tool
    def wordless():
        raise RuntimeError

    names = ["silent", "empty", "mute", "wordless"]
    provider = MockProvider([[call(name) for name in names], "Done."])
    run_agent(provider.client(), messages="Go.", tools=[silent, empty, mute, wordless])
    results = provider.requests[1].body["messages"][-1]["content"]
    assert [result.get("content") for result in results[:2]] == ["(no output)", "(no output)"]
    assert all(result["is_error"] and result["content"].strip() for result in results[2:])
    assert provider.report()


def test_fr18_what_is_no_json_is_a_success_that_any_reader_can_parse():
    value = {
        "when": datetime(2026, 11, 30, 9, 0, tzinfo=UTC),
        "price": Decimal("19.90"),
        "mean": float("nan"),
        "tag": b"\x00\xff",
        "ids": {3, 1},
    }

    @tool
    def measure():
        return value

    provider = MockProvider([call("measure"), "Done."])
    run_agent(provider.client(), messages="Go.", tools=[measure])
    (result,) = provider.requests[1].body["messages"][-1]["content"]
    assert "is_error" not in result and provider.report()

    def fail(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert json.loads(result["content"], parse_constant=fail) == {
        "when": "2026-11-30T09:00:00+00:00",
        "price": "19.90",
        "mean": "NaN",
        "tag": {"bytes": 2, "base64": base64.b64encode(b"\x00\xff").decode()},
        "ids": [1, 3],
    }


def plain_tools(ran: list[str]) -> list[Any]:
    def a() -> str:
        ran.append("a")
        return "from a"

    def b() -> str:
        raise KeyError("x")

    def c() -> str:
        ran.append("c")
        return "from c"

    return [a, b, c]


def coroutine_tools(ran: list[str]) -> list[Any]:
    async def a() -> str:
        ran.append("a")
        return "from a"

    async def b() -> str:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def c() -> str:
        for _ in range(5):
            await asyncio.sleep(0)
        ran.append("c")
        return "from c"

    return [a, b, c]


def threaded_tools(ran: list[str]) -> list[Any]:
    def in_a_thread(function: Any) -> Any:
        def run() -> str:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(function).result()

        return tool(run, name=function.__name__)

    return [in_a_thread(function) for function in plain_tools(ran)]


@both_drivers
@pytest.mark.parametrize("make", [plain_tools, coroutine_tools, threaded_tools])
def test_fr20_one_failing_call_takes_no_other_with_it(drive, make):
    ran: list[str] = []
    script = Script(several("a", "b", "c"), reply("Done."))
    run = drive(script, make(ran))
    assert ran == ["a", "c"]
    assert [message["role"] for message in script.requests[1]["messages"]] == ["user", "assistant", "user"]
    assert script.results == [
        tool_result("toolu_a", "from a"),
        tool_result("toolu_b", "KeyError: 'x'", is_error=True),
        tool_result("toolu_c", "from c"),
    ]
    assert run.stopped == "end_turn"


@both_drivers
def test_fr20_an_unknown_name_is_such_a_failure_and_lists_the_names(drive, notes):
    script = Script(several("notes", "note", word="one"), reply("Done."))
    drive(script, [notes.note])
    unknown, known = script.results
    assert unknown == tool_result(
        "toolu_notes", "There is no tool `notes`. Did you mean `note`? The tools are: note.", is_error=True
    )
    assert known == tool_result("toolu_note", "noted one")


def test_a_wrong_input_does_not_reach_the_tool(notes):
    script = Script(several("note", word=5), reply("Done."))
    plain_driver(script, [notes.note])
    (result,) = script.results
    assert notes.taken == [] and result["is_error"] and "`word`" in result["content"]


def test_a_tool_that_changes_its_input_changes_nothing_that_was_said():
    @tool
    def sort(items: list[int]) -> int:
        items.clear()
        return 0

    provider = MockProvider([call("sort", items=[3, 1]), "Done."])
    run = run_agent(provider.client(), messages="Sort.", tools=[sort])
    assert run.messages[1]["content"][0]["input"] == {"items": [3, 1]}
    assert provider.report()


@both_drivers
def test_fr23_a_write_that_timed_out_is_not_repeated_by_the_loop(drive):
    sent = []

    @tool
    def send_email(to: str) -> str:
        sent.append(to)
        raise TimeoutError("no answer in time")

    script = Script(several("send_email", to="ada@example.org"), reply("I will look first."))
    drive(script, [send_email])
    assert sent == ["ada@example.org"]
    (result,) = script.results
    assert result["is_error"] and "may or may not have taken effect" in result["content"]
    assert "try again" not in result["content"].lower()


@both_drivers
def test_fr23_failures_of_one_turn_are_one_try_and_the_run_ends_after_the_cap_with_the_tools_name(drive):
    @tool
    def fragile(n: int = 0):
        raise RuntimeError("no")

    def failing(turn: int, times: int) -> dict[str, Any]:
        return reply(
            *[tool_use(f"toolu_{turn}_{n}", "fragile", {"n": n}) for n in range(times)], stop_reason="tool_use"
        )

    script = Script(failing(1, 3), failing(2, 1), failing(3, 2), failing(4, 1))
    run = drive(script, [fragile], max_retries=2)
    assert (len(script.requests), run.stopped) == (3, "max_retries: fragile")
    assert [block["is_error"] for block in run.messages[-1]["content"]] == [True, True]
    assert_legal(run)
    assert drive(Script(failing(1, 3)), [fragile], max_retries=0).stopped == "max_retries: fragile"
    with pytest.raises(ValueError, match="max_retries is -1: say 0"):
        drive(Script(), max_retries=-1)


def test_fr23_a_success_starts_the_count_anew_and_no_refusal_counts():
    outcomes = iter([RuntimeError("no"), RuntimeError("no"), None, RuntimeError("no"), RuntimeError("no"), None])

    @tool
    def fragile():
        if error := next(outcomes):
            raise error

    @tool(effect="irreversible")
    def delete_file(path: str):
        raise AssertionError("nobody allowed it")

    @tool
    def refund():
        raise ToolError("OVER_REFUND", "more than was paid")

    run = plain_driver(Script(*[several("fragile")] * 6, reply("Done.")), [fragile])
    assert run.stopped == "end_turn"
    refusals = [several("delete_file", path="a"), several("refund")] * 4
    assert plain_driver(Script(*refusals, reply("Done.")), [delete_file, refund]).stopped == "end_turn"


@both_drivers
def test_a_run_may_be_given_a_number_of_calls_and_of_tokens(drive, notes):
    turns = [
        reply(*[tool_use(f"toolu_{n}_{i}", "note", {"word": f"{n}{i}"}) for i in "ab"], stop_reason="tool_use")
        for n in range(4)
    ]
    run = drive(Script(*turns), [notes.note], max_calls=5)
    assert (notes.taken, run.stopped) == (["0a", "0b", "1a", "1b"], "max_calls")
    said = "Not run: a limit of this run was reached before this call."
    assert run.messages[-1] == user([tool_result(f"toolu_2_{i}", said, is_error=True) for i in "ab"])
    assert_legal(run)
    notes.taken.clear()
    run = drive(Script(*turns), [notes.note], max_run_tokens=30)  # 15 a reply
    assert (notes.taken, run.stopped) == (["0a", "0b"], "max_run_tokens")
    assert_legal(run)


@both_drivers
@pytest.mark.parametrize(("tokens", "asked", "stopped"), [(30, 2, "max_run_tokens"), (31, 3, "end_turn")])
def test_the_tokens_count_where_no_call_runs_too(drive, tokens, asked, stopped):
    paused = [reply("Searching.", {**SEARCH, "id": f"s{n}"}, stop_reason="pause_turn") for n in "12"]  # 15 each
    script = Script(*paused, reply("Done."))
    run = drive(script, max_run_tokens=tokens)
    assert (len(script.requests), run.stopped) == (asked, stopped)
    assert_legal(run)


def test_a_loop_that_was_told_to_stop_says_why_it_stopped():
    loop = Loop({"max_tokens": 9, "messages": [QUESTION]})
    loop.feed({"event": "stop", "reason": "max_calls"})
    assert (loop.next_step(), loop.ended) == (Stop("max_calls"), True)
    assert loop.run().trace.request == {"max_tokens": 9}


@both_drivers
def test_reads_of_one_turn_run_at_the_same_time_and_writes_one_after_another(drive):
    met = threading.Barrier(3, timeout=10)

    @tool(effect="read")
    def look(n: int) -> int:
        met.wait()  # passes only when three calls are here at once
        return n

    script = Script(
        reply(*[tool_use(f"toolu_{n}", "look", {"n": n}) for n in range(3)], stop_reason="tool_use"), reply("Done.")
    )
    drive(script, [look], max_parallel=3)
    assert script.results == [tool_result(f"toolu_{n}", str(n)) for n in range(3)]

    busy = threading.Lock()

    @tool
    def change(n: int) -> int:
        assert busy.acquire(blocking=False), "another write is at work"
        busy.release()
        return n

    script = Script(
        reply(*[tool_use(f"toolu_{n}", "change", {"n": n}) for n in range(3)], stop_reason="tool_use"), reply("Done.")
    )
    drive(script, [change])
    assert script.results == [tool_result(f"toolu_{n}", str(n)) for n in range(3)]


def test_the_limit_of_model_calls(notes):
    turns = [reply(tool_use(f"toolu_{n}", "note", {"word": str(n)}), stop_reason="tool_use") for n in range(4)]
    script = Script(*turns)
    run = plain_driver(script, [notes.note], max_iterations=2)
    assert (len(script.requests), notes.taken, run.stopped) == (2, ["0"], "max_iterations")
    last = run.messages[-1]["content"]
    assert [(block["tool_use_id"], block["is_error"]) for block in last] == [("toolu_1", True)]
    assert last[0]["content"].startswith("Not run: ")
    assert_legal(run)
    with pytest.raises(ValueError, match="max_iterations is 0: allow at least one"):
        plain_driver(script, max_iterations=0)


@both_drivers
def test_the_least_that_each_limit_may_be(drive, notes):
    run = drive(Script(reply(stop_reason="end_turn")), max_iterations=1, max_retries=0, stall_after=2)
    assert (str(run).splitlines()[0], run.stopped) == ("(no text)", "end_turn")


def test_tools_may_come_from_a_generator(notes):
    script = Script(several("note", word="one"), reply("Done."))
    plain_driver(script, (function for function in [notes.note]))
    assert [definition["name"] for definition in script.requests[0]["tools"]] == ["note"]
    assert notes.taken == ["one"]


# Approval in the loop


class Files:
    def __init__(self) -> None:
        self.log: list[Any] = []

    def tools(self) -> list[Any]:
        @tool(effect="read")
        def read_file(path: str) -> str:
            self.log.append(("read", path))
            return "text"

        @tool(effect="irreversible")
        def delete_file(path: str) -> str:
            self.log.append(("delete", path))
            return "deleted"

        return [read_file, delete_file]


FILE_CALLS = [
    tool_use("toolu_r", "read_file", {"path": "r"}),
    tool_use("toolu_a", "delete_file", {"path": "a"}),
    tool_use("toolu_b", "delete_file", {"path": "b"}),
]


@both_drivers
def test_fr22_every_decision_is_taken_before_any_call_runs(drive):
    files, asked = Files(), []

    def approver(block):
        files.log.append(("asked", block["input"]["path"]))
        asked.append(block)
        return block["input"]["path"] == "a"

    script = Script(reply(*FILE_CALLS, stop_reason="tool_use"), reply("Done."))
    run = drive(script, files.tools(), approver=approver)
    assert asked == FILE_CALLS[1:]
    assert files.log == [("asked", "a"), ("asked", "b"), ("read", "r"), ("delete", "a")]
    read, allowed, denied = script.results
    assert (read, allowed) == (tool_result("toolu_r", "text"), tool_result("toolu_a", "deleted"))
    assert denied["tool_use_id"] == "toolu_b" and denied["is_error"]
    assert "person" in denied["content"] and "refused" in denied["content"] and "Nothing was done" in denied["content"]
    assert_legal(run)


def raising(block):
    raise RuntimeError("panel closed")


@both_drivers
@pytest.mark.parametrize(
    "approver",
    [None, raising, lambda block: None, lambda block: 1, lambda block: "not today"],
    ids=["nobody", "raises", "none", "one", "a_reason"],
)
def test_fr22_without_a_clear_yes_nothing_is_done(drive, approver):
    files = Files()
    script = Script(reply(*FILE_CALLS, stop_reason="tool_use"), reply("Done."))
    drive(script, files.tools(), approver=approver)
    assert files.log == [("read", "r")]
    assert [result.get("is_error", False) for result in script.results] == [False, True, True]


# The tool list


MAKE_TOOLS = """
import json, sys
from course_kit import MockProvider, call, run_agent, tool

def tools_of_turns(order):
    def make(name):
        @tool(name=name, description=f"The {name} tool.")
        def function(word: str, count: int = 1):
            pass
        return function

    provider = MockProvider([call("mu", word="a"), call("zeta", word="b"), "Done."])
    run_agent(provider.client(), messages="Go.", tools=[make(name) for name in order])
    return [json.dumps(exchange.body["tools"]) for exchange in provider.requests]
"""


def test_fr26_the_tools_are_the_same_bytes_on_every_turn_and_in_every_process():
    here: dict[str, Any] = {}
    exec(MAKE_TOOLS, here)
    code = f"{MAKE_TOOLS}\nprint(json.dumps(tools_of_turns(['mu', 'zeta', 'alpha'])))"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    turns = [*here["tools_of_turns"](["zeta", "alpha", "mu"]), *json.loads(fresh)]
    assert len(turns) == 6 and len(set(turns)) == 1
    assert [definition["name"] for definition in json.loads(turns[0])] == ["alpha", "mu", "zeta"]


# In a notebook and in a script

SETUP = """
import asyncio
from course_kit import MockProvider, call, run_agent, run_agent_async, tool

@tool
def add(a: int, b: int) -> int:
    return a + b

@tool
async def double(a: int) -> int:
    await asyncio.sleep(0)
    return 2 * a

def script():
    return MockProvider([[call("add", a=2, b=3), call("double", a=4)], "It is done."])

def said(run):
    return [block["content"] for block in run.messages[2]["content"]] + [run.text, run.stopped]
"""
PLAIN = 'print(said(run_agent(script().client(), messages="Go.", tools=[add, double])))'
AWAITED = 'print(said(await run_agent_async(script().async_client(), messages="Go.", tools=[add, double])))'
SAID = "['5', '8', 'It is done.', 'end_turn']\n"


def test_fr27_the_same_lines_run_in_a_notebook():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, PLAIN, AWAITED, PLAIN)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", shutdown_kernel="immediate").execute()
    outputs = [[(output["name"], output["text"]) for output in cell["outputs"]] for cell in cells]
    assert outputs == [[], [("stdout", SAID)], [("stdout", SAID)], [("stdout", SAID)]]


def test_fr27_the_same_lines_run_in_a_script():
    code = f"{SETUP}\n{PLAIN}\nasync def main():\n    {AWAITED}\nasyncio.run(main())\n"
    ran = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == (2 * SAID, "")


def test_coroutine_tools_of_a_run_share_one_event_loop():
    kept: dict[str, Any] = {}

    @tool
    async def put(word: str) -> str:
        kept.setdefault("queue", asyncio.Queue()).put_nowait(word)
        return "kept"

    @tool
    async def take() -> str:
        waiting = asyncio.ensure_future(kept["queue"].get())
        return await waiting

    script = Script(several("put", word="one"), several("take"), several("take"), reply("Done."))
    kept["later"] = None

    @tool
    async def put_later() -> str:
        asyncio.get_running_loop().call_soon(kept["queue"].put_nowait, "two")
        return "soon"

    script.replies.insert(2, several("put_later"))
    run = plain_driver(script, [put, take, put_later])
    answers = [message["content"][0]["content"] for message in run.messages[2::2]]
    assert answers == ["kept", "one", "soon", "two"]


# The network


def provider_with(fault: Any, *more: Any, steps: list[Any] | None = None) -> MockProvider:
    return MockProvider(steps or ["Hi é."] * 9, faults=[fault, *more])


LOST = {
    "cut_before_the_first_byte": faults.cut(0),
    "cut_in_the_body": faults.cut(0.5),
    "stall_before_the_first_byte": faults.stall(0),
    "stall_in_the_body": faults.stall(0.7),
    "too_late": faults.delay(10_000),
    **{f"ends_early_{share}": faults.end_early(share / 100) for share in (0, 10, 50, 90, 100)},
}


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
def test_a_lost_reply_is_asked_for_once_more(fault):
    provider = provider_with(fault)
    run = run_agent(provider.client(max_retries=0), messages="Hello")
    assert (len(provider.requests), run.text, run.stopped) == (2, "Hi é.", "end_turn")
    assert provider.requests[0].body == provider.requests[1].body
    assert [event["event"] for event in run.trace.events] == ["lost", "reply", "stop"]
    assert provider.report()


def test_a_lost_reply_counts_as_an_answer_of_the_model():
    loop = Loop({"max_tokens": 9, "messages": [QUESTION]}, max_iterations=1)
    loop.feed({"event": "lost", "reason": "cut"})
    assert loop.next_step() == Stop("max_iterations")
    loop = Loop({"max_tokens": 9, "messages": [QUESTION]}, max_iterations=2)
    loop.feed({"event": "lost", "reason": "cut"})
    assert loop.next_step() == Send({"max_tokens": 9, "messages": [QUESTION]})


@pytest.mark.parametrize("fault", LOST.values(), ids=LOST)
def test_two_lost_replies_end_the_run_and_run_nothing(fault, notes):
    provider = provider_with(None, fault, fault, steps=[call("note", word="one"), *[call("note", word="two")] * 9])

    async def drive():
        return await run_agent_async(provider.async_client(max_retries=0), messages="Note.", tools=[notes.note])

    run = asyncio.run(drive())
    assert (len(provider.requests), notes.taken, run.stopped) == (3, ["one"], "connection_lost")
    assert len(run.messages) == 3
    assert_legal(run)


@pytest.mark.parametrize(
    "fault", [faults.cut(0.6), faults.stall(0.6), faults.end_early(0.6)], ids=["cut", "stall", "end"]
)
def test_a_stream_that_breaks_off_is_a_lost_reply(fault, notes):
    provider = provider_with(fault, steps=[call("note", word="lost"), call("note", word="one"), "Done."])
    client = provider.client(max_retries=0)

    def ask(request):
        with client.messages.stream(**request) as stream:
            return stream.get_final_message()

    run = run_agent(ask, messages="Note.", tools=[notes.note])
    assert (len(provider.requests), notes.taken, run.stopped) == (3, ["one"], "end_turn")
    assert provider.report() and provider.requests[0].body == provider.requests[1].body


def test_a_body_that_ends_anywhere_is_a_lost_reply():
    whole = len(
        json.dumps(
            MockProvider(["é" * 40])
            .client()
            .messages.create(model=DEFAULT_MODEL, max_tokens=100, messages=[QUESTION])
            .to_dict(),
            ensure_ascii=False,
        ).encode()
    )
    for position in range(0, whole, 5):
        provider = provider_with(faults.end_early(position / whole), steps=["é" * 40, "Hi."])
        run = run_agent(CLIENT.to(provider), messages="Hello")
        assert (run.text, len(provider.requests)) == ("Hi.", 2)


@pytest.mark.parametrize(
    ("fault", "error", "requests"),
    [
        pytest.param(faults.status(400), anthropic.BadRequestError, 1, id="400"),
        pytest.param(faults.status(401), anthropic.AuthenticationError, 1, id="401"),
        pytest.param(faults.status(429, retry_after=0.001), anthropic.RateLimitError, 3, id="429"),
        pytest.param(faults.status(529, retry_after=0.001), anthropic.OverloadedError, 3, id="529"),
        pytest.param(faults.status(500, retry_after=0.001), anthropic.InternalServerError, 3, id="500"),
    ],
)
def test_a_refused_request_raises_the_sdks_own_exception_and_the_run_so_far(fault, error, requests, notes):
    provider = provider_with(None, *[fault] * 9, steps=[call("note", word="one"), "Done."])
    with pytest.raises(error) as caught:
        run_agent(provider.client(max_retries=2), messages="Note.", tools=[notes.note])
    run = caught.value.run
    assert len(provider.requests) == 1 + requests
    assert (notes.taken, run.stopped) == (["one"], "unfinished")
    assert [message["role"] for message in run.messages] == ["user", "assistant", "user"]
    assert_legal(run)


def test_a_run_that_breaks_after_a_lost_reply_is_unfinished():
    provider = provider_with(faults.cut(), faults.status(400))
    with pytest.raises(anthropic.BadRequestError) as caught:
        run_agent(provider.client(max_retries=0), messages="Hello")
    assert (caught.value.run.stopped, caught.value.run.messages) == ("unfinished", [QUESTION])


def test_an_exception_of_a_function_comes_through():
    def model(request):
        raise ScriptExhausted("over")

    with pytest.raises(ScriptExhausted) as caught:
        run_agent(model, messages="Hello")
    assert caught.value.run.messages == [QUESTION]


def test_a_history_kept_as_the_sdk_gives_it_is_stored_as_plain_data(tmp_path):
    provider = MockProvider(["Hello.", "Done."])
    client = provider.client()
    reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=99, messages=[QUESTION])
    history = [QUESTION, {"role": "assistant", "content": reply.content}, QUESTION]
    run = run_agent(client, messages=history, store=tmp_path / "runs.sqlite")
    assert run.text == "Done."
    assert provider.requests[1].body["messages"][1]["content"] == [{"type": "text", "text": "Hello."}]


@pytest.mark.parametrize(
    ("client", "says"),
    [
        pytest.param(
            "claude", r"`client` is str: give an anthropic client or a function .* message\.$", id="no_client"
        ),
        pytest.param(
            MockProvider([]), r"is MockProvider: .* message\. `provider\.client\(\)` gives one", id="provider"
        ),
        pytest.param(SimpleNamespace(chat=None), r"SimpleNamespace: .* `openai_chat\(client\)` and", id="openai"),
        pytest.param(
            anthropic.AsyncAnthropic(api_key="none"), "is to be awaited: call `await run_agent_as", id="async"
        ),
        pytest.param(lambda request: None, "reply is None: a message has `content` and `stop_reason`", id="none"),
        pytest.param(lambda request: {"content": "Hi."}, r"reply is .*`stop_reason`", id="no_stop_reason"),
        pytest.param(lambda request: "<html>", "reply is '<html>': a message has", id="text"),
    ],
)
def test_what_is_no_client_and_no_reply(client, says):
    with pytest.raises(TypeError, match=says):
        run_agent(client, messages="Hello")


def assert_broken_off_in_the_second_call(run: Run, seen: list[Any]) -> None:
    known, unknown, not_begun = run.messages[-1]["content"]
    assert known == tool_result("toolu_1", "noted one")
    assert "may or may not have taken effect" in unknown["content"] and unknown["is_error"]
    assert "before this call began" in not_begun["content"] and not_begun["is_error"]
    assert [block["tool_use_id"] for block in (unknown, not_begun)] == ["toolu_2", "toolu_3"]
    assert (run.stopped, run.trace.events) == ("unfinished", seen)
    assert_legal(run)


THREE_CALLS = [CALL, tool_use("toolu_2", "interrupted"), tool_use("toolu_3", "note", {"word": "two"})]


def test_an_interrupt_in_a_tool_leaves_a_legal_history_that_says_what_is_known(notes):
    @tool
    def interrupted():
        raise KeyboardInterrupt

    script, seen = Script(reply(*THREE_CALLS, stop_reason="tool_use")), []
    with pytest.raises(KeyboardInterrupt) as caught:
        plain_driver(script, [notes.note, interrupted], on_event=seen.append)
    assert_broken_off_in_the_second_call(caught.value.run, seen)


def test_a_run_that_is_cancelled_leaves_such_a_history(notes):
    begun = asyncio.Event()

    @tool
    async def interrupted():
        begun.set()
        await asyncio.Event().wait()

    async def ask(request):
        return reply(*THREE_CALLS, stop_reason="tool_use")

    async def main():
        run = run_agent_async(ask, messages="Hello", tools=[notes.note, interrupted], on_event=seen.append)
        task = asyncio.ensure_future(run)
        await begun.wait()
        task.cancel()
        await task

    seen: list[Any] = []
    with pytest.raises(asyncio.CancelledError) as caught:
        asyncio.run(main())
    assert_broken_off_in_the_second_call(caught.value.run, seen)


# Any script, any fault, any tool


class Client:
    """One real client for many providers, since making one takes longer than a run."""

    def __init__(self) -> None:
        transport = Transport(lambda *request: self.provider.handle(*request))
        http_client = anthropic.DefaultHttpxClient(transport=transport)
        self.client = anthropic.Anthropic(api_key="not-a-key", http_client=http_client, max_retries=0)

    def to(self, provider: MockProvider) -> anthropic.Anthropic:
        self.provider = provider
        return self.client


CLIENT = Client()
WEB_SEARCH = {"type": "web_search_20260209", "name": "web_search"}
MODELS = [DEFAULT_MODEL, "claude-opus-5-5", "claude-haiku-4-5"]


RAN: list[str] = []  # the names of the tools that ran in a scenario


def odd_tools(ran: list[str]) -> list[Any]:
    """Tools that do everything a tool should not."""

    def counted(function):
        def run():
            ran.append(function.__name__)
            return function()

        is_read = function in (fine, raises, silent, large, leaves)  # a turn of these alone runs at the same time
        return tool(run, name=function.__name__, effect="read" if is_read else "write")

    def fine():
        return {"ok": True}

    def raises():
        raise ValueError("boom\x00")

    def silent():
        return None

    def blank():
        return "  \n"

    def bytes_of():
        return b"\x00\xff"

    def moment():
        return [datetime(2026, 11, 30, tzinfo=UTC), math.nan, {1, 2}]

    def surrogate():
        return "half \ud83d"

    def picture():
        return [text(""), {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}]

    def breaks():
        def lines():
            yield "one"
            raise ConnectionError("gone")

        return lines()

    def leaves():
        raise SystemExit(2)

    def large():
        return "x" * 100_000

    def interrupts():
        raise KeyboardInterrupt

    @tool(effect="read")
    async def later():
        await asyncio.sleep(0)
        return "later"

    @tool(effect="irreversible")
    def delete(path: str):
        ran.append(f"delete {path}")

    made = [fine, raises, silent, blank, bytes_of, moment, surrogate, picture, breaks, leaves, large, interrupts]
    return [*map(counted, made), later, delete, WEB_SEARCH]


ODD = toolbox(odd_tools(RAN))
a_call = st.one_of(
    st.builds(call, st.sampled_from([*(set(ODD) - {"interrupts", "delete", "web_search"}), "no_such_tool", "fin"])),
    st.builds(call, st.just("delete"), st.sampled_from([{"path": "a"}, {"path": 1}, {}])),
    st.sampled_from([call("interrupts"), call("fine", extra=1), call("web_search", query="x")]),
)
words = st.sampled_from(["Yes.", "é ✅", " ", "A longer text, so that it can be cut."]).map(text)
some_text = st.one_of(words, st.just({"type": "text", "text": ""}))
searches = st.integers(1, 10**9).flatmap(
    lambda id: st.sampled_from(
        [
            [{**SEARCH, "id": f"srvtoolu_{id}"}, {**FOUND, "tool_use_id": f"srvtoolu_{id}"}],
            [{**SEARCH, "id": f"srvtoolu_{id}"}],
        ]
    )
)
pieces = st.lists(
    st.one_of(a_call.map(lambda one: [one]), some_text.map(lambda one: [one]), st.just([THOUGHT]), searches), max_size=5
).map(lambda parts: [block for part in parts for block in part])


@st.composite
def turns(draw) -> Draft:
    """A turn of a model: mostly what a model does, sometimes what none should."""
    content = draw(pieces)
    natural = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    odd = [None, "a_new_reason", *(reason for reason in STOP_REASONS if reason != "pause_turn")]
    reason = draw(st.one_of(st.just(natural), st.just(natural), st.sampled_from(odd), st.just("pause_turn")))
    if reason == "pause_turn":  # the server stops in its own work, so that is what the turn ends with
        content = [block for block in content if block["type"] != "tool_use"]
        content += [{**SEARCH, "id": f"srvtoolu_p{draw(st.integers(1, 10**9))}"}]
    return Draft(plausible(content), fields={"stop_reason": reason})


def plausible(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A turn whose thinking stands where a provider may put it: not side by side, not last, and from the first call on
    only ahead of a further call."""
    first = next((i for i, block in enumerate(content) if block["type"] == "tool_use"), len(content))
    if THOUGHT in content[first:]:
        content = content[:first] + [block for block in content[first:] if block["type"] in ("tool_use", "thinking")]
    kept: list[dict[str, Any]] = []
    for block in reversed(content):
        shown = [later for later in kept if later.get("text", "x").strip()]
        if block != THOUGHT or (shown and shown[0] != THOUGHT):
            kept.insert(0, block)
    return kept


some_fault = st.sampled_from(
    [
        *(faults.status(400), faults.status(429, retry_after=30), faults.status(529), faults.status(500)),
        *(faults.cut(0), faults.cut(0.4), faults.stall(), faults.end_early(0.6), faults.delay(10_000)),
        *(faults.max_tokens(0.3), faults.max_tokens(1), faults.refusal("cyber"), faults.chunks(7)),
    ]
)
approvers = st.sampled_from(
    [
        *(None, raising, lambda block: True, lambda block: "no", lambda block: False, decide_later()),
        *(lambda block: edit({"path": "z"}), lambda block: edit({"path": 1})),
    ]
)


class Stumble(Exception):
    pass


@st.composite
def scenarios(draw) -> dict[str, Any]:
    return {
        "steps": draw(st.lists(turns(), max_size=5)),
        "faults": draw(st.lists(st.one_of(st.none(), st.none(), some_fault), max_size=6)),
        "approver": draw(approvers),
        "model": draw(st.sampled_from(MODELS)),
        "max_iterations": draw(st.integers(1, 6)),
        "max_retries": draw(st.integers(0, 2)),
        "stumbles_at": draw(st.one_of(st.none(), st.none(), st.integers(1, 8))),
    }


def answer(made: Draft, messages: list[dict[str, Any]]) -> Draft:
    """A turn as it follows on these messages: the server's tools that are still at work are done first."""
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    done = {block.get("tool_use_id") for block in blocks}
    at_work = [block["id"] for block in blocks if block["type"] == "server_tool_use" and block["id"] not in done]
    return Draft([*({**FOUND, "tool_use_id": id} for id in at_work), *made.content], fields=made.fields)


def play(scenario: dict[str, Any]) -> tuple[Run, MockProvider, list[Any]]:
    """One run of a scenario: what came of it, whether it ended or broke."""
    RAN.clear()
    steps, events = iter(scenario["steps"]), []

    def model(request):
        return answer(next(steps, Draft([text("Done.")])), request["messages"])

    provider = MockProvider(model, faults=scenario["faults"])

    def on_event(happened):
        events.append(happened)
        if len(events) == scenario["stumbles_at"]:
            raise Stumble

    try:
        run = run_agent(
            CLIENT.to(provider),
            messages="Hello",
            tools=ODD,
            model=scenario["model"],
            max_tokens=4000,
            max_iterations=scenario["max_iterations"],
            max_retries=scenario["max_retries"],
            approver=scenario["approver"],
            on_event=on_event,
        )
    except (anthropic.APIStatusError, KeyboardInterrupt, Stumble) as error:
        run = error.run
        assert run.stopped == "unfinished" or isinstance(error, Stumble)
        event(f"broke: {type(error).__name__}")
    event(f"stopped: {run.stopped}")
    return run, provider, events


@settings(
    max_examples=int(os.environ.get("COURSE_RUNS", 1000)),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(scenarios())
def test_the_history_of_every_run_is_legal_and_the_mock_finds_nothing_to_mend(scenario):
    run, provider, events = play(scenario)
    assert_legal(run)
    assert provider.report(), provider.report()
    assert len(provider.requests) <= scenario["max_iterations"]
    provider.faults = None
    CLIENT.client.messages.create(**run.trace.request, messages=[*run.messages, user("And now?")])
    assert json.loads(json.dumps(events)) == events == run.trace.events
    # Every call of the history has one result, and nothing ran that is not called in a turn that stopped to call.
    turns_that_call = [
        e["message"] for e in events if e["event"] == "reply" and e["message"]["stop_reason"] == "tool_use"
    ]
    called = [
        block["name"] for message in turns_that_call for block in message["content"] if block["type"] == "tool_use"
    ]
    assert all(called.count(name) >= RAN.count(name) for name in set(RAN) if not name.startswith("delete"))
    in_history = [block for message in run.messages for block in message["content"] if isinstance(block, dict)]
    ids = [block["id"] for block in in_history if block["type"] == "tool_use"]
    assert ids == [block["tool_use_id"] for block in in_history if block["type"] == "tool_result"]
    deleted = [name for name in RAN if name.startswith("delete")]
    allowed = [e for e in events if e["event"] == "decision" and e["decision"]["verdict"] in ("allow", "edit")]
    assert len(deleted) <= len(allowed) and (not deleted or scenario["approver"](CALL) in (True, edit({"path": "z"})))
    assert (run.stopped == "awaiting_approval") == bool(run.waiting) or run.stopped == "unfinished"


def named(made: Draft, turn: int) -> dict[str, Any]:
    """A draft as a message: its calls with ids."""
    content = [
        {"id": f"toolu_{turn}_{position}", **block} if block["type"] == "tool_use" else block
        for position, block in enumerate(made.content)
    ]
    return reply(*content, stop_reason=made.fields.get("stop_reason", "end_turn"))


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_events_are_the_whole_state_of_a_run(scenario):
    """Fed to a fresh loop they lead to the same history, and after any of them the run can be taken up again."""
    first = {"model": scenario["model"], "max_tokens": 4000, "messages": [QUESTION]}
    steps, loop = iter(scenario["steps"]), Loop(first, max_iterations=scenario["max_iterations"])
    box = {name: made for name, made in ODD.items() if name != "interrupts"}
    states = [(list(loop.messages), loop.next_step())]

    def happens(step: Send | RunCalls) -> dict[str, Any]:
        if isinstance(step, RunCalls):
            return {"event": "result", "result": run_tool(step.calls[0], box)}
        made = answer(next(steps, Draft([text("Done.")])), loop.messages)
        return {"event": "reply", "message": named(made, len(loop.events))}

    while not isinstance(step := loop.next_step(), Stop):
        loop.feed(happens(step))
        states.append((list(loop.messages), loop.next_step()))
    loop.feed({"event": "stop", "reason": step.reason})
    states.append((list(loop.messages), loop.next_step()))

    stored = json.loads(json.dumps(loop.events))
    for length in range(len(stored) + 1):
        again = Loop(first, max_iterations=scenario["max_iterations"])
        for happened in stored[:length]:
            again.feed(happened)
        assert (again.messages, again.next_step()) == states[length]
        assert_legal(again.run())
    assert again.run().messages == loop.run().messages


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_both_drivers_do_the_same(scenario):
    outcomes = []
    for drive in (plain_driver, await_driver):
        made = [named(step, turn) for turn, step in enumerate(scenario["steps"])]
        made = [one for one in made if not any(block.get("name") == "interrupts" for block in one["content"])]
        RAN.clear()
        script = Script(*made, *[reply("Done.")] * 9)
        run = drive(script, ODD, max_iterations=scenario["max_iterations"], approver=scenario["approver"])
        events = [{key: value for key, value in e.items() if key not in TIMES} for e in run.trace.events]
        events.sort(key=lambda e: json.dumps(e, sort_keys=True))  # reads end in any order
        outcomes.append((run.messages, run.stopped, events, sorted(RAN), script.requests))
    assert outcomes[0] == outcomes[1]


LIMITS = [
    ({"max_parallel": 0}, "max_parallel is 0: let at least one call run at a time."),
    ({"max_parallel": "5"}, "max_parallel is '5': give a whole number."),
]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        *LIMITS,
        ({"max_iterations": "x"}, "max_iterations is 'x': give a whole number."),
        ({"max_iterations": 0}, "max_iterations is 0: allow at least one reply of the model."),
        ({"max_retries": "x"}, "max_retries is 'x': give a whole number."),
        ({"stall_after": 1}, "stall_after is 1: use at least 2, or None for no limit."),
        ({"max_calls": "x"}, "max_calls is 'x': give a whole number."),
        ({"max_run_tokens": -1}, "max_run_tokens is -1: use at least 0, or None for no limit."),
    ],
)
def test_a_limit_that_is_none_is_said_before_anything_is_asked(limits, said):
    script = Script()
    with pytest.raises((TypeError, ValueError)) as plain:
        run_agent(script, messages="Hi.", **limits)
    with pytest.raises((TypeError, ValueError)) as awaited:
        asyncio.run(run_agent_async(script, messages="Hi.", **limits))
    assert (str(plain.value), str(awaited.value), script.requests) == (said, said, [])


@pytest.mark.parametrize(("limits", "said"), LIMITS)
def test_a_limit_that_is_none_is_said_before_a_run_is_taken_up(tmp_path, limits, said):
    with pytest.raises((TypeError, ValueError)) as plain:
        resume_agent(Script(), tmp_path / "runs.sqlite3", "run_1", **limits)
    with pytest.raises((TypeError, ValueError)) as awaited:
        asyncio.run(resume_agent_async(Script(), tmp_path / "runs.sqlite3", "run_1", **limits))
    assert (str(plain.value), str(awaited.value)) == (said, said)


@both_drivers
@pytest.mark.parametrize("given", ["toolu_A", "", "a.b c", None])
def test_fr03_calls_that_share_an_id_or_have_none_get_one_each(drive, notes, given):
    """Servers that only look like the API give such ids; each call keeps its own result, the history stays legal."""
    words = ["one", "two"]
    twice = reply(*({**tool_use("a", "note", {"word": word}), "id": given} for word in words), stop_reason="tool_use")
    script = Script(twice, twice, reply("Done."))
    run = drive(script, [notes.note])
    assert (run.stopped, notes.taken) == ("end_turn", words * 2)
    blocks = [block for message in script.requests[-1]["messages"][1:] for block in message["content"]]
    called = [block["id"] for block in blocks if "id" in block]
    assert len(set(called)) == 4 and called == [block["tool_use_id"] for block in blocks if "id" not in block]
    assert_legal(run)
    assert twice["content"][0]["id"] == given, "the reply itself is not changed"


@both_drivers
@pytest.mark.parametrize("budget", [0, 1, -5])
def test_a_budget_that_holds_no_result_is_refused_before_a_tool_runs(drive, notes, budget):
    with pytest.raises(ValueError, match="which hold no result: give 20 or more"):
        drive(Script(), [notes.note], budget=budget)


@pytest.mark.parametrize("id", [None, "", {}, ["x"], 7, "with space"])
@pytest.mark.parametrize(
    "history",
    ["plain", [{"text": "no type"}], ["no dict"], None, [{"type": "tool_use", "name": "add", "input": {}, "id": {}}]],
)
def test_whatever_a_lenient_server_takes_and_gives_the_loop_gives_calls_an_id(id, history):
    call = {"type": "tool_use", "id": id, "name": "add", "input": {"a": 1, "b": 2}}
    reply = {"role": "assistant", "content": [call], "stop_reason": "tool_use"}
    event = asker(lambda request: reply)({"messages": [{"role": "user", "content": history}]})
    [called] = event["message"]["content"]
    assert isinstance(called["id"], str) and re.fullmatch("[a-zA-Z0-9_-]+", called["id"])

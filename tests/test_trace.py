"""What a run did, event by event."""

import json

from course_kit.contract.messages import text, tool_result, tool_use
from course_kit.harness.agent import run_agent
from course_kit.harness.tools import tool
from course_kit.harness.trace import Trace
from course_kit.mock import faults
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call

USAGE = {"input_tokens": 100, "cache_read_input_tokens": 400, "cache_creation_input_tokens": None, "output_tokens": 20}
EVENTS = [
    {
        "event": "reply",
        "message": {
            "content": [text("I look."), tool_use("toolu_1", "add", {"a": 1}), tool_use("toolu_2", "nothing")],
            "stop_reason": "tool_use",
            "usage": USAGE,
        },
    },
    {"event": "result", "result": tool_result("toolu_1", "KeyError: 'x'", is_error=True)},
    {"event": "result", "result": tool_result("toolu_2")},
    {"event": "lost", "reason": "ReadTimeout: timed out"},
    {"event": "reply", "message": {"content": "It is\n" + "very " * 20, "stop_reason": "end_turn", "usage": USAGE}},
    {"event": "stop", "reason": "end_turn"},
]


def test_a_trace_is_read_line_by_line():
    assert str(Trace({}, EVENTS)).splitlines() == [
        "  1  reply   tool_use  add, nothing",
        "  2  error   toolu_1  KeyError: 'x'",
        "  3  result  toolu_2  (no output)",
        "  4  lost    ReadTimeout: timed out",
        "  5  reply   end_turn  It is very very very very very very very very very very ver…",
        "  6  stop    end_turn",
    ]


def test_a_call_that_began_is_shown_until_its_result_says_it():
    events = [
        {"event": "decision", "tool_use_id": "toolu_1", "decision": {"verdict": "allow"}},
        {"event": "decision", "tool_use_id": "toolu_2", "decision": {"verdict": "deny", "reason": "not  today"}},
        {"event": "started", "tool_use_id": "toolu_1"},
        {"event": "started", "tool_use_id": "toolu_3"},
        {"event": "result", "result": tool_result("toolu_1", "a" * 60)},
        {"event": "result", "result": tool_result("toolu_4", "a" * 61)},
        {"event": "resume"},
    ]
    assert str(Trace({}, events)).splitlines() == [
        "  1  person  toolu_1  allow",
        "  2  person  toolu_2  deny  not today",
        "  3  started toolu_3",
        "  4  result  toolu_1  " + "a" * 60,
        "  5  result  toolu_4  " + "a" * 59 + "…",
        "  6  resume",
    ]


def test_what_is_written_to_the_cache_was_read_as_well():
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 4}
    trace = Trace({}, [{"event": "reply", "message": {"content": [], "stop_reason": "end_turn", "usage": usage}}])
    assert trace.summary() == "1 model call, 0 tool calls, 321 input and 4 output tokens"


def test_the_summary_counts():
    assert Trace({}, EVENTS).summary() == "2 model calls, 2 tool calls, 1000 input and 40 output tokens"
    one = Trace({}, [{"event": "reply", "message": {"content": [], "stop_reason": "end_turn"}}])
    assert one.summary() == "1 model call, 0 tool calls, 0 input and 0 output tokens"
    assert Trace({}, []).summary() == "0 model calls, 0 tool calls, 0 input and 0 output tokens"
    assert str(Trace({}, [])) == ""


def test_one_json_object_a_line():
    written = Trace({}, [*EVENTS, {"event": "stop", "reason": "café \u2028 ✅"}]).to_jsonl()
    lines = written.split("\n")
    assert lines.pop() == ""
    assert [json.loads(line) for line in lines] == [*EVENTS, {"event": "stop", "reason": "café \u2028 ✅"}]
    assert "café" in written


def test_an_event_of_a_later_version_is_shown_as_it_is():
    assert str(Trace({}, [{"event": "retry", "wait": 2}])) == '  1  {"event": "retry", "wait": 2}'


def test_the_trace_of_a_run():
    @tool(effect="read")
    def add(a: int, b: int) -> int:
        return a + b

    provider = MockProvider([call("add", a=2, b=3), "Lost.", "It is 5."], faults={2: faults.cut()})
    run = run_agent(provider.client(max_retries=0), messages="2 + 3?", tools=[add], max_tokens=100)
    assert [event["event"] for event in run.trace.events] == ["reply", "started", "result", "lost", "reply", "stop"]
    assert run.trace.request == {
        "model": provider.requests[0].body["model"],
        "max_tokens": 100,
        "tools": [add.definition()],
    }
    used = [exchange.reply["usage"] for exchange in (provider.requests[0], provider.requests[2])]
    tokens = sum(use["input_tokens"] for use in used), sum(use["output_tokens"] for use in used)
    expected = f"2 model calls, 1 tool call, {tokens[0]} input and {tokens[1]} output tokens"
    assert run.trace.summary() == expected
    assert str(run) == f"It is 5.\n[stopped: end_turn, {expected}]"
    assert [json.loads(line) for line in run.trace.to_jsonl().splitlines()] == run.trace.events

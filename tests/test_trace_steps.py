"""The rows of a trace: every field follows from the request and the events."""

from course_kit.contract.messages import text, tool_result, tool_use
from course_kit.harness.agent import run_agent
from course_kit.harness.tools import tool
from course_kit.harness.trace import Trace
from course_kit.harness.trace_steps import CallRow, Step, steps_of, tools_hash, trace_id_of
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
LOOK = {"name": "look", "description": "Look.", "input_schema": {"type": "object", "properties": {}}}
REQUEST = {"model": "m-1", "max_tokens": 100, "tools": [ADD, LOOK]}


def reply(*blocks, stop="tool_use", **more):
    usage = {"input_tokens": 10, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 5, "output_tokens": 7}
    message = {"id": "msg_1", "model": "m-1-2026", "content": list(blocks), "stop_reason": stop, "usage": usage}
    return {"event": "reply", "message": message, **more}


def result(id, content="5", **more):
    error = {"is_error": True} if more.pop("is_error", False) else {}
    return {"event": "result", "result": {**tool_result(id, content), **error}, **more}


def test_a_step_with_its_call_field_by_field():
    events = [
        reply(text("I add."), tool_use("toolu_1", "add", {"a": "2", "b": 3}), began=1796050000.25, seconds=1.5),
        {"event": "decision", "tool_use_id": "toolu_1", "decision": {"verdict": "edit"}},
        {"event": "started", "tool_use_id": "toolu_1", "input": {"a": 2, "b": 3}},
        result("toolu_1", "é", began=1796050001.75, seconds=0.2),
        {"event": "stop", "reason": "max_iterations"},
    ]
    trace = Trace({**REQUEST, "tool_choice": {"type": "tool", "name": "add"}}, events)
    assert steps_of(trace) == [
        Step(
            trace_id=trace_id_of(trace),
            step_id="1",
            provider="anthropic",
            model="m-1-2026",
            tools_hash=tools_hash([ADD, LOOK]),
            tool_count=2,
            tools=("add", "look"),
            tool_choice="tool: add",
            stop_reason="tool_use",
            input_tokens=45,
            cached_tokens=30,
            output_tokens=7,
            began=1796050000.25,
            latency=1.5,
            said="I add.",
            calls=(
                CallRow(
                    step_id="1.1",
                    tool_use_id="toolu_1",
                    tool="add",
                    raw_input={"a": "2", "b": 3},
                    input={"a": 2, "b": 3},
                    validation_error='`a` must be an integer, but the string "2" came; send 2 without quotes.',
                    failure=None,
                    retry=0,
                    starts=1,
                    results=1,
                    began=1796050001.75,
                    latency=0.2,
                    result_bytes=2,
                    truncated=False,
                    decision="edit",
                    result="é",
                ),
            ),
            stop="max_iterations",
        )
    ]


def test_retries_count_the_failing_turns_before():
    events = []
    for number, code in enumerate(["NOT_FOUND", "NOT_FOUND", None, None]):
        events += [reply(tool_use(f"t{number}", "look")), result(f"t{number}", "x", is_error=bool(code), failure=code)]
    rows = steps_of(Trace(REQUEST, [{k: v for k, v in e.items() if v is not None} for e in events]))
    assert [(one.calls[0].retry, one.calls[0].failure) for one in rows] == [
        (0, "NOT_FOUND"), (1, "NOT_FOUND"), (2, None), (0, None),
    ]  # fmt: skip


def test_what_is_not_written_down_is_not_guessed():
    [row] = steps_of(Trace({}, [{"event": "lost", "reason": "ReadTimeout"}]))
    assert (row.provider, row.model, row.tools_hash, row.latency, row.stop) == (None,) * 5
    assert (row.stop_reason, row.said, row.calls, row.tool_choice) == ("lost", "ReadTimeout", (), "auto")
    [row] = steps_of(Trace(REQUEST, [reply(tool_use("t1", "look"))]))
    assert (row.calls[0].result_bytes, row.calls[0].input, row.calls[0].starts, row.calls[0].results) == (
        None,
        None,
        0,
        0,
    )
    assert steps_of(Trace({}, [])) == []


def test_failures_truncation_and_tools_nobody_showed():
    cut = "head\n[… 812 characters left out …]\ntail"
    events = [
        reply(tool_use("t1", "look"), tool_use("t2", "gone"), tool_use("t3", "look")),
        result("t1", cut), result("t2", "no", is_error=True), result("t3", "whole", truncated=True),
    ]  # fmt: skip
    first, second, third = steps_of(Trace(REQUEST, events))[0].calls
    assert (first.truncated, second.truncated, third.truncated) == (True, False, True)
    assert (first.failure, second.failure) == (None, "ERROR")
    assert (first.validation_error, second.validation_error) == (None, "The model was shown no tool `gone`.")


def test_providers_are_read_from_the_form_of_the_id():
    def provider(id):
        event = reply(stop="end_turn")
        event["message"]["id"] = id
        return steps_of(Trace({}, [event]))[0].provider

    found = [provider(id) for id in ("msg_01", "chatcmpl-9", "resp_2", "x", None)]
    assert found == ["anthropic", "openai", "openai", None, None]


def test_tool_choice_in_a_few_words():
    def choice(value):
        return steps_of(Trace({"tool_choice": value}, [reply(stop="end_turn")]))[0].tool_choice

    assert choice({"type": "none"}) == "none"
    assert choice({"type": "auto", "disable_parallel_tool_use": True}) == "auto, one at a time"


def test_fr26_the_hash_sees_order_and_words_and_nothing_else():
    turned = {key: ADD[key] for key in reversed(ADD)}
    marked = {**LOOK, "cache_control": {"type": "ephemeral"}}
    same = tools_hash([ADD, LOOK])
    assert tools_hash([turned, marked]) == same and len(same) == 12
    assert len({same, tools_hash([LOOK, ADD]), tools_hash([{**ADD, "description": "Add."}, LOOK])}) == 3
    assert (tools_hash([]), tools_hash(None)) == (None, None)


def test_equal_runs_share_their_id_whatever_they_took():
    quick, slow = ([reply(stop="end_turn", began=1e9 + seconds, seconds=seconds)] for seconds in (0.1, 9.9))
    assert trace_id_of(Trace(REQUEST, quick)) == trace_id_of(Trace(REQUEST, slow))
    assert trace_id_of(Trace(REQUEST, quick)) != trace_id_of(Trace({**REQUEST, "model": "m-2"}, quick))
    assert len(trace_id_of(Trace(REQUEST, quick))) == 32


def test_the_rows_of_a_real_run():
    @tool(effect="read")
    def add(a: int, b: int) -> int:
        return a + b

    run = run_agent(MockProvider([call("add", a=2, b=3), "It is 5."]).client(), messages="2 + 3?", tools=[add])
    first, last = run.trace.steps()
    assert (first.provider, first.stop_reason, last.stop_reason, last.stop) == (
        "anthropic", "tool_use", "end_turn", "end_turn",
    )  # fmt: skip
    assert (first.calls[0].raw_input, first.calls[0].starts, first.calls[0].results) == ({"a": 2, "b": 3}, 1, 1)
    assert first.tools_hash == last.tools_hash == tools_hash([add.definition()])

"""A trace as spans: names and attributes without the library, and handed to a tracer where it is installed."""

import itertools
import sys
import threading
import time

import pytest

from course_kit.classroom.broken_traces import broken_traces
from course_kit.contract.messages import text, tool_result, tool_use
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.errors import SetupError
from course_kit.harness.agent import resume_agent, run_agent
from course_kit.harness.store import RunStore
from course_kit.harness.timing import told_by
from course_kit.harness.tools import tool
from course_kit.harness.trace import Trace
from course_kit.harness.trace_export import rows
from course_kit.harness.trace_spans import spans_of, to_spans
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call

MAIL = broken_traces()["T07"].trace
NAMES = [
    "chat simulated-steady-4", "execute_tool query_order", "chat simulated-steady-4", "execute_tool send_email",
    "chat simulated-steady-4",
]  # fmt: skip


def test_names_and_attributes_need_no_library():
    run = spans_of(MAIL)
    assert run["name"] == "invoke_agent"
    assert [child["name"] for child in run["children"]] == NAMES
    chat, tool = run["children"][2:4]
    assert chat["attributes"]["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert (chat["kind"], tool["kind"]) == ("CLIENT", "INTERNAL")
    assert tool["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "send_email",
        "gen_ai.tool.call.id": "toolu_b",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": '{"to": "[email 1]", "text": "Your 19.99 have been paid back."}',
        "course.step_id": "2.1",
        "course.retry": 0,
        "course.result_bytes": 5,
        "course.truncated": False,
    }
    assert run["attributes"]["gen_ai.usage.input_tokens"] == 600 + 710 + 790


def test_failures_have_a_type():
    calls = [span for span in spans_of(broken_traces()["T03"].trace)["children"] if "tool" in span["name"]]
    assert [span["error"] for span in calls] == ["INVALID_INPUT"] * 3
    [lost] = spans_of(Trace({"model": "m"}, [{"event": "lost", "reason": "cut"}]))["children"]
    assert (lost["name"], lost["attributes"]["error.type"]) == ("chat m", "lost")
    assert spans_of(Trace({}, []))["children"] == []


def test_without_the_library_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SetupError, match=r'pip install "course-kit\[otel\]"'):
        to_spans(MAIL)


# When things happened

HOUR = 1_796_050_000.0


def reply(*blocks, **times):
    stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    return {"event": "reply", "message": {"id": "msg_1", "content": list(blocks), "stop_reason": stop}, **times}


def times_of(run):
    """Every span with the seconds after HOUR at which it began and ended."""
    rows = [(one["name"], one["began"] and round(one["began"] - HOUR, 3), one["seconds"]) for one in run["children"]]
    return [("run", run["began"] and round(run["began"] - HOUR, 3), round(run["seconds"], 3)), *rows]


PARALLEL = Trace(
    {"model": "m"},
    [
        reply(tool_use("a", "slow"), tool_use("b", "quick"), began=HOUR, seconds=2.0),
        {"event": "result", "result": tool_result("b", "1"), "began": HOUR + 2.5, "seconds": 0.5},
        {"event": "result", "result": tool_result("a", "1"), "began": HOUR + 2.0, "seconds": 5.0},
        reply(text("Done."), began=HOUR + 8, seconds=1.0),
    ],
)


def test_calls_that_ran_together_overlap():
    assert times_of(spans_of(PARALLEL)) == [
        ("run", 0.0, 9.0),
        ("chat m", 0.0, 2.0),
        ("execute_tool slow", 2.0, 5.0),
        ("execute_tool quick", 2.5, 0.5),
        ("chat m", 8.0, 1.0),
    ]


def test_a_trace_that_says_no_times_lays_them_end_to_end():
    run = spans_of(MAIL)
    assert (run["began"], round(run["seconds"], 3)) == (None, 61.4)
    assert {child["began"] for child in run["children"]} == {None}


def tracer_and_spans():
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: an extra of the kit")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return provider.get_tracer("test"), kept


def exported(trace, **options):
    """Name, and begin and end in milliseconds after HOUR, of every span that a tracer was given; the run is last."""
    tracer, kept = tracer_and_spans()
    trace.to_spans(tracer, **options)
    hour = round(HOUR * 1e9)
    return [(s.name, (s.start_time - hour) / 1e6, (s.end_time - hour) / 1e6) for s in kept.get_finished_spans()]


def test_the_exported_spans_stand_where_they_were():
    assert exported(PARALLEL) == [
        ("chat m", 0, 2000),
        ("execute_tool slow", 2000, 7000),
        ("execute_tool quick", 2500, 3000),
        ("chat m", 8000, 9000),
        ("invoke_agent", 0, 9000),
    ]
    assert exported(PARALLEL, end=1) == exported(PARALLEL)  # only for a run that does not say when it was


def test_a_run_begun_by_an_older_version_ends_where_the_newer_one_begins():
    """Its first events have no hour: they are laid ahead of the first one that has."""
    old = [reply(tool_use("a", "look"), seconds=2.0), {"event": "result", "result": tool_result("a"), "seconds": 1.0}]
    new = [{"event": "resume"}, reply(text("Done."), began=HOUR, seconds=1.0)]
    assert exported(Trace({"model": "m"}, old + new)) == [
        ("chat m", -3000, -1000),
        ("execute_tool look", -1000, 0),
        ("chat m", 0, 1000),
        ("invoke_agent", -3000, 1000),
    ]


def test_a_stored_run_without_hours_still_goes_on(tmp_path):
    store = RunStore(tmp_path / "runs.sqlite3")
    limits = {"max_iterations": 10, "max_retries": 2, "stall_after": 3, "max_calls": None, "max_run_tokens": None}
    request = {"model": DEFAULT_MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Look."}]}
    run_id = store.begin(request, limits)
    old = reply(tool_use("a", "look"), seconds=2.0)
    store.append(run_id, 0, old)
    look = tool(lambda: "seen", name="look", input_schema={"type": "object"}, effect="read")
    run = resume_agent(MockProvider(["Done."]).client(), store, run_id, tools=[look])
    assert (run.text, run.trace.events[0]) == ("Done.", old)
    first, *rest = [child["began"] for child in spans_of(run.trace)["children"]]
    assert first is None and all(rest) and spans_of(run.trace)["seconds"] >= 2.0


def test_a_run_says_when_and_whoever_injects_a_clock_says_it_for_him():
    ticks = itertools.count(HOUR)
    add = tool(lambda: "5", name="add", input_schema={"type": "object"}, timeout=5)
    with told_by(lambda: next(ticks)):
        run = run_agent(MockProvider([call("add"), "Done."]).client(), tools=[add], messages="Go.")
    assert times_of(spans_of(run.trace))[1:] == [
        (f"chat {DEFAULT_MODEL}", 0.0, 1.0),
        ("execute_tool add", 2.0, 1.0),
        (f"chat {DEFAULT_MODEL}", 4.0, 1.0),
    ]
    assert run_agent(MockProvider(["Hi"]).client(), messages="Hi").trace.events[0]["began"] > HOUR - 1e9


@pytest.mark.parametrize("limit", [5, 1])
def test_real_calls_overlap_only_where_they_ran_together(limit):
    together = threading.Barrier(2 if limit > 1 else 1, timeout=5)
    wait = tool(
        lambda: [together.wait(), time.sleep(0.05)] and "5", name="wait", input_schema={"type": "object"}, effect="read"
    )
    client = MockProvider([[call("wait"), call("wait")], "Done."]).client()
    before = time.time()
    run = run_agent(client, tools=[wait], messages="Go.", max_parallel=limit)
    chat, one, two, last = spans_of(run.trace)["children"]
    first, second = sorted((one, two), key=lambda span: span["began"])
    assert before - 0.01 <= chat["began"] <= first["began"] <= second["began"] <= last["began"] <= time.time() + 0.01
    slack = 0.01  # hours and seconds come from two clocks
    assert (second["began"] < first["began"] + first["seconds"] - slack) is (limit > 1)
    assert first["began"] + first["seconds"] <= last["began"] + slack


def test_a_tracer_receives_them():
    tracer, kept = tracer_and_spans()
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    end = 1_800_000_000_000_000_000
    assert MAIL.to_spans(tracer, end=end) == 6
    *children, run = kept.get_finished_spans()
    assert [span.name for span in children] == NAMES
    assert {span.parent.span_id for span in children} == {run.context.span_id}
    assert (run.end_time, run.start_time) == (end, end - 61_400_000_000)
    assert children[3].end_time - children[3].start_time == 61_300_000_000
    assert all(one.end_time == after.start_time for one, after in itertools.pairwise(children))
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    used = {name for span in (run, *children) for name in span.attributes if name.startswith("gen_ai.")}
    assert used <= known
    kept.clear()
    broken_traces()["T03"].trace.to_spans(tracer, end=end)
    assert [span.status.status_code.name for span in kept.get_finished_spans()][1] == "ERROR"


def test_a_run_will_do_too_and_what_has_no_trace_is_said():
    run = run_agent(MockProvider(["Hello."]).client(), messages="Hi.")
    assert spans_of(run) == spans_of(run.trace) and rows(run) == rows(run.trace)
    for read in (spans_of, rows):
        with pytest.raises(TypeError) as caught:
            read([])
        assert str(caught.value) == "This takes a Run or a Trace, not list."

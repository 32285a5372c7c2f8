"""A trace as spans: names and attributes without the library, and handed to a tracer where it is installed."""

import sys

import pytest

from course_kit.classroom.broken_traces import broken_traces
from course_kit.errors import SetupError
from course_kit.harness.trace import Trace
from course_kit.harness.trace_spans import spans_of, to_spans

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
    with pytest.raises(SetupError, match="pip install opentelemetry-sdk"):
        to_spans(MAIL)


def test_a_tracer_receives_them():
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: an extra of the kit")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    end = 1_800_000_000_000_000_000
    assert MAIL.to_spans(provider.get_tracer("test"), end=end) == 6
    *children, run = kept.get_finished_spans()
    assert [span.name for span in children] == NAMES
    assert {span.parent.span_id for span in children} == {run.context.span_id}
    assert (run.end_time, run.start_time) == (end, end - 61_400_000_000)
    assert children[3].end_time - children[3].start_time == 61_300_000_000
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    used = {name for span in (run, *children) for name in span.attributes if name.startswith("gen_ai.")}
    assert used <= known
    kept.clear()
    broken_traces()["T03"].trace.to_spans(provider.get_tracer("test"), end=end)
    assert [span.status.status_code.name for span in kept.get_finished_spans()][1] == "ERROR"

"""A trace as OpenTelemetry spans, named by its conventions for generative AI.

    invoke_agent                   the run
      chat MODEL                   each question to the model
      execute_tool NAME            each call

`spans_of` gives names and attributes as plain data and needs no library; `to_spans` hands them to a tracer. The
conventions still change (their status is "development", November 2026); the names here are those of
opentelemetry-semantic-conventions 0.66b2. What they have no name for is under `course.`. A span starts where its event
says that it began, so calls that ran together overlap, and a wait for a person is a gap. Where that was not recorded,
as in older traces, a span starts at the end of the one before it.
"""

import json
import time
from typing import Any

from course_kit.errors import SetupError

from .trace import Trace, trace_of
from .trace_export import Inputs, rows

__all__ = ["spans_of", "to_spans"]

Span = dict[str, Any]  # name, kind, attributes, error, began (or None), seconds, and below a run its `children`


def spans_of(source: Any, inputs: Inputs = "masked") -> Span:
    """A run or its trace as one span with children: `{"name": "invoke_agent", "attributes": {…}, "children": […]}`."""
    trace = trace_of(source)
    steps, children = rows(trace, inputs), []
    messages = [event.get("message") or {} for event in trace.events if event["event"] in ("reply", "lost")]
    for step, message in zip(steps, messages, strict=True):
        children.append(_chat(trace, step, message))
        children += [_tool(call) for call in step["calls"] if call["starts"] or call["results"]]
    first, last = (steps[0], steps[-1]) if steps else ({}, {})
    stop = next((event["reason"] for event in reversed(trace.events) if event["event"] == "stop"), None)
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": first.get("provider") or "unknown",
        "gen_ai.request.model": trace.request.get("model"),
        "gen_ai.usage.input_tokens": sum(step["input_tokens"] for step in steps),
        "gen_ai.usage.output_tokens": sum(step["output_tokens"] for step in steps),
        "course.trace_id": first.get("trace_id"),
        "course.stop": stop or last.get("stop_reason"),
    }
    places = _places(children)
    known = any(child["began"] is not None for child in children)
    ends = [place + child["seconds"] for place, child in zip(places, children, strict=True)]
    return {"name": "invoke_agent", "kind": "INTERNAL", "attributes": _kept(about), "error": None,
            "began": min(places) if known else None, "seconds": max(ends, default=0.0) - min(places, default=0.0),
            "children": children}  # fmt: skip


def to_spans(source: Any, tracer: Any = None, *, inputs: Inputs = "masked", end: int | None = None) -> int:
    """Write the spans with an OpenTelemetry tracer, by default the program's own; return how many there are.

    `end` is when a run without recorded times ended, in nanoseconds since 1970; by default now.
    """
    try:
        from opentelemetry import trace as otel
    except ImportError:
        raise SetupError('OpenTelemetry is not installed here: run `pip install "course-kit[otel]"`.') from None
    tracer = tracer or otel.get_tracer("course_kit")
    run = spans_of(source, inputs)
    begun = run["began"]
    moved = 0.0
    if begun is None:
        begun = moved = (time.time_ns() if end is None else end) / 1e9 - run["seconds"]
    parent = _start(otel, tracer, run, begun, None)
    within = otel.set_span_in_context(parent)
    for child, place in zip(run["children"], _places(run["children"]), strict=True):
        at = place + moved
        _start(otel, tracer, child, at, within).end(end_time=_ns(at + child["seconds"]))
    parent.end(end_time=_ns(begun + run["seconds"]))
    return 1 + len(run["children"])


def _places(spans: list[Span]) -> list[float]:
    """When each span began: as recorded, else after the one before; from 0 where no span says it."""
    first = next((number for number, span in enumerate(spans) if span["began"] is not None), None)
    at, found = 0.0, []
    if first is not None:  # those before it end where it begins
        at = spans[first]["began"] - sum(span["seconds"] for span in spans[:first])
    for span in spans:
        at = at if span["began"] is None else span["began"]
        found.append(at)
        at += span["seconds"]
    return found


def _chat(trace: Trace, step: dict[str, Any], message: dict[str, Any]) -> Span:
    usage = message.get("usage") or {}
    lost = step["stop_reason"] == "lost"
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": step["provider"] or "unknown",
        "gen_ai.request.model": trace.request.get("model"),
        "gen_ai.request.max_tokens": trace.request.get("max_tokens"),
        "gen_ai.response.model": message.get("model"),
        "gen_ai.response.id": message.get("id"),
        "gen_ai.response.finish_reasons": None if lost else [step["stop_reason"]],
        "gen_ai.usage.input_tokens": step["input_tokens"],
        "gen_ai.usage.output_tokens": step["output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": usage.get("cache_read_input_tokens"),
        "gen_ai.usage.cache_creation.input_tokens": usage.get("cache_creation_input_tokens"),
        "error.type": "lost" if lost else None,
        "course.step_id": step["step_id"],
        "course.tools_hash": step["tools_hash"],
        "course.tool_count": step["tool_count"],
        "course.tool_choice": step["tool_choice"],
    }
    return {"name": f"chat {step['model'] or ''}".strip(), "kind": "CLIENT", "attributes": _kept(about),
            "error": "the reply did not arrive whole" if lost else None,
            "began": step["began"], "seconds": step["latency"] or 0.0}  # fmt: skip


def _tool(call: dict[str, Any]) -> Span:
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call["tool"],
        "gen_ai.tool.call.id": call["tool_use_id"],
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.arguments": json.dumps(call["raw_input"], ensure_ascii=False),
        "error.type": call["failure"],
        "course.step_id": call["step_id"],
        "course.validation_error": call["validation_error"],
        "course.retry": call["retry"],
        "course.result_bytes": call["result_bytes"],
        "course.truncated": call["truncated"],
        "course.decision": call["decision"],
    }
    return {"name": f"execute_tool {call['tool']}", "kind": "INTERNAL", "attributes": _kept(about),
            "error": call["failure"], "began": call["began"], "seconds": call["latency"] or 0.0}  # fmt: skip


def _kept(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _start(otel: Any, tracer: Any, span: Span, at: float, within: Any) -> Any:
    about = {"kind": otel.SpanKind[span["kind"]], "attributes": span["attributes"], "start_time": _ns(at)}
    started = tracer.start_span(span["name"], context=within, **about)
    if span["error"]:
        started.set_status(otel.Status(otel.StatusCode.ERROR, span["error"]))
    return started


def _ns(seconds: float) -> int:
    """Nanoseconds; a clock's float is no finer than microseconds, so neither is this."""
    return round(seconds * 1e6) * 1000

"""A trace as OpenTelemetry spans, named by the field's conventions for generative AI.

    invoke_agent                   the run
      chat MODEL                   each question to the model
      execute_tool NAME            each call

`spans_of` gives names and attributes as plain data and needs no library; `to_spans` hands them to a tracer. The
conventions still change (their status is "development", November 2026); the names here are those of
opentelemetry-semantic-conventions 0.66b2. What they have no name for stands under `course.`. A trace knows how long
things took, where that was written down, and not when: the spans are laid one behind the other and end now.
"""

import json
import time
from typing import Any

from course_kit.errors import SetupError

from .trace import Trace
from .trace_export import Inputs, rows

__all__ = ["spans_of", "to_spans"]

Span = dict[str, Any]  # name, kind, attributes, error, seconds, and below a run its `children`


def spans_of(trace: Trace, inputs: Inputs = "masked") -> Span:
    """The run as one span with children: `{"name": "invoke_agent", "attributes": {…}, "children": […]}`."""
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
    return {"name": "invoke_agent", "kind": "INTERNAL", "attributes": _kept(about), "error": None,
            "seconds": sum(child["seconds"] for child in children), "children": children}  # fmt: skip


def to_spans(trace: Trace, tracer: Any = None, *, inputs: Inputs = "masked", end: int | None = None) -> int:
    """Write the spans with an OpenTelemetry tracer, by default that of the program's own provider; how many there are.

    `end` is when the run ended, in nanoseconds since 1970; without it, now.
    """
    try:
        from opentelemetry import trace as otel
    except ImportError:
        raise SetupError("OpenTelemetry is not installed here: run `pip install opentelemetry-sdk`.") from None
    tracer = tracer or otel.get_tracer("course_kit")
    run = spans_of(trace, inputs)
    at = (time.time_ns() if end is None else end) - _nanoseconds(run)
    parent = _start(otel, tracer, run, at, None)
    within = otel.set_span_in_context(parent)
    for child in run["children"]:
        span = _start(otel, tracer, child, at, within)
        at += _nanoseconds(child)
        span.end(end_time=at)
    parent.end(end_time=at)
    return 1 + len(run["children"])


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
            "error": "the reply did not arrive whole" if lost else None, "seconds": step["latency"] or 0.0}  # fmt: skip


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
            "error": call["failure"], "seconds": call["latency"] or 0.0}  # fmt: skip


def _kept(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _start(otel: Any, tracer: Any, span: Span, at: int, within: Any) -> Any:
    kind = otel.SpanKind[span["kind"]]
    started = tracer.start_span(span["name"], context=within, kind=kind, attributes=span["attributes"], start_time=at)
    if span["error"]:
        started.set_status(otel.Status(otel.StatusCode.ERROR, span["error"]))
    return started


def _nanoseconds(span: Span) -> int:
    return round(span["seconds"] * 1e9)

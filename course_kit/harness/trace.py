"""What a run did, event by event, and the same as rows that answer questions.

Events are plain JSON: `reply` (a message of the model), `lost` (a reply that never arrived whole), `decision` (what a
person said about a call), `started` (a call begins), `result` (one `tool_result`), `resume` (a stored run is taken up
again), `stop` (the reason). A `Trace` shows them; `steps()` reads them (`trace_steps.py`), `to_jsonl()` and `export()`
write what may be passed on (`trace_export.py`), `to_spans()` hands them to OpenTelemetry (`trace_spans.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from course_kit.contract.messages import content_blocks, text_of, tool_use_blocks

if TYPE_CHECKING:
    from .trace_steps import Step

__all__ = ["Event", "Trace", "trace_of"]

Event = dict[str, Any]


@dataclass(frozen=True)
class Trace:
    """The events of a run, in order, and the `request` they began with (without its messages)."""

    request: dict[str, Any]
    events: list[Event]

    def summary(self) -> str:
        """`"2 model calls, 1 tool call, 913 input and 84 output tokens"`"""
        replies = [event["message"] for event in self.events if event["event"] == "reply"]
        calls = sum(event["event"] == "result" for event in self.events)
        tokens = [sum(tokens_of(message, kind) for message in replies) for kind in ("input", "output")]
        return (
            f"{_count(len(replies), 'model call')}, {_count(calls, 'tool call')}, "
            f"{tokens[0]} input and {tokens[1]} output tokens"
        )

    def __str__(self) -> str:
        """One line per event; the start of a call is left out where its result follows."""
        done = {event["result"]["tool_use_id"] for event in self.events if event["event"] == "result"}
        shown = [event for event in self.events if event["event"] != "started" or event["tool_use_id"] not in done]
        return "\n".join(f"{number:>3}  {_line(event)}" for number, event in enumerate(shown, 1))

    def steps(self) -> "list[Step]":
        """A row for each question to the model, with the calls that it led to."""
        from .trace_steps import steps_of

        return steps_of(self)

    def to_jsonl(self, *, raw: bool = False) -> str:
        """The events, one JSON object a line, with personal data and secrets masked; `raw=True` leaves them in."""
        from .trace_export import masked

        return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in masked(self.events, raw))

    def export(self, inputs: Literal["masked", "digest", "raw"] = "masked") -> str:
        """The steps for a log, one JSON object a line, inputs masked, as a digest, or raw; results only by size."""
        from .trace_export import rows

        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(self, inputs))

    def to_spans(self, tracer: Any = None, **options: Any) -> int:
        """Hand the run to OpenTelemetry; returns the number of spans. See `trace_spans.py`."""
        from .trace_spans import to_spans

        return to_spans(self, tracer, **options)


def trace_of(source: Any) -> Trace:
    """The trace of a run or of whatever else has one, or a trace itself."""
    found = source if isinstance(source, Trace) else getattr(source, "trace", None)
    if not isinstance(found, Trace):
        raise TypeError(f"This takes a Run or a Trace, not {type(source).__name__}.")
    return found


def _line(event: Event) -> str:
    match event:
        case {"event": "reply", "message": message}:
            calls = ", ".join(block["name"] for block in tool_use_blocks(message))
            return f"reply   {message['stop_reason']}  {calls or _short(text_of(message))}"
        case {"event": "result", "result": result}:
            kind = "error " if result.get("is_error") else "result"
            return f"{kind}  {result['tool_use_id']}  {_short(text_of_result(result))}"
        case {"event": "started", "tool_use_id": id}:
            return f"started {id}"
        case {"event": "decision", "tool_use_id": id, "decision": decision}:
            return f"person  {id}  {decision['verdict']}  {_short(decision.get('reason') or '')}".rstrip()
        case {"event": "resume"}:
            return "resume"
        case {"event": "stop", "reason": reason}:
            return f"stop    {reason}"
        case {"event": "lost", "reason": reason}:
            return f"lost    {_short(reason)}"
    return json.dumps(event)


def text_of_result(result: Mapping[str, Any]) -> str:
    """What a result says in text: `"(no output)"` where it says nothing."""
    return text_of({"content": content_blocks(result)}) or "(no output)"


def tokens_of(message: Mapping[str, Any], kind: str) -> int:
    """The tokens of a reply, `"input"` (including those of the cache) or `"output"`."""
    usage = message.get("usage") or {}
    if kind == "output":
        return usage.get("output_tokens") or 0
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"

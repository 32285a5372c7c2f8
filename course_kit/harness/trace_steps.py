"""A trace as rows: what the model was given, what it chose, what ran, why it stopped.

A step is one question to the model and the calls that its reply led to. Every field follows from the request and the
events, and from nothing else: the same trace gives the same rows. A field that was not recorded is None, not a guess.
`provider` is read from the form of the reply's id. `validation_error` is found here, from the raw input and the
definition that the model saw, so it is there even if the harness forgot to check.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from course_kit.contract.messages import content_blocks, tool_use_blocks
from course_kit.contract.schema import check_tool_input

from .failures import failing_turns
from .timing import TIMES
from .trace import Event, Trace, text_of_result, tokens_of

__all__ = ["CallRow", "Step", "steps_of", "tools_hash", "trace_id_of"]

PROVIDERS = {"msg_": "anthropic", "chatcmpl-": "openai", "resp_": "openai"}
LEFT_OUT = re.compile(r"… \d+ characters left out …|\"truncated\": ?true|\btruncated: true\b")


@dataclass(frozen=True)
class CallRow:
    """One call of a step.

    `raw_input`         as the model wrote it, before anything was parsed, repaired or changed by a person
    `input`             what ran, if the harness recorded it; None if nothing began
    `validation_error`  what is wrong with the raw input by the definition that was shown; None where it fits
    `failure`           the code of the failure; `"ERROR"` where only `is_error` is known
    `retry`             how many turns in a row this tool had failed before
    `starts`, `results` how often the call began and was answered: one each is right
    `began`, `latency`  when it began, in seconds since 1970, and how many seconds it took
    `decision`          what a person said: `"allow"`, `"deny"`, `"edit"` or `"wait"`
    """

    step_id: str
    tool_use_id: str
    tool: str
    raw_input: Any
    input: Any = None
    validation_error: str | None = None
    failure: str | None = None
    retry: int = 0
    starts: int = 0
    results: int = 0
    began: float | None = None
    latency: float | None = None
    result_bytes: int | None = None
    truncated: bool = False
    decision: str | None = None
    result: str | None = None


@dataclass(frozen=True)
class Step:
    """One question to the model. `stop` is set in the last step: why the run ended."""

    trace_id: str
    step_id: str
    provider: str | None
    model: str | None
    tools_hash: str | None
    tool_count: int
    tools: tuple[str, ...]
    tool_choice: str
    stop_reason: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    began: float | None = None
    latency: float | None = None
    said: str = ""
    calls: tuple[CallRow, ...] = field(default=())
    stop: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as plain JSON data."""
        return json.loads(json.dumps(asdict(self)))


def tools_hash(tools: Iterable[Mapping[str, Any]] | None) -> str | None:
    """Twelve characters that identify the definitions as the model sees them; None where there are none.

    One word of a description, or another order of the tools, gives another hash; the order of keys inside a definition
    does not. The model does not read marks for the prompt cache.
    """
    shown = [{key: value for key, value in tool.items() if key != "cache_control"} for tool in tools or ()]
    return _digest(shown)[:12] if shown else None


def trace_id_of(trace: Trace) -> str:
    """32 hexadecimal digits that follow from what happened, not from when: two equal runs share them."""
    timeless = [{key: value for key, value in event.items() if key not in TIMES} for event in trace.events]
    return _digest([trace.request, timeless])[:32]


def steps_of(trace: Trace) -> list[Step]:
    """The rows of a trace, one for each reply of the model, lost ones included."""
    trace_id = trace_id_of(trace)
    places = [place for place, event in enumerate(trace.events) if event["event"] in ("reply", "lost")]
    ends = [*places[1:], len(trace.events)]
    return [_step(trace, trace_id, number, start, trace.events[start:end])
            for number, (start, end) in enumerate(zip(places, ends, strict=False), 1)]  # fmt: skip


def _step(trace: Trace, trace_id: str, number: int, start: int, events: list[Event]) -> Step:
    asked, message = events[0], events[0].get("message") or {}
    request = {**trace.request, **(asked.get("request") or {})}  # a harness that changes its tools says so
    tools = request.get("tools") or []
    usage = message.get("usage") or {}
    before = failing_turns(trace.events[:start])
    calls = [_call(call, f"{number}.{place}", tools, events, before)
             for place, call in enumerate(tool_use_blocks(message), 1)]  # fmt: skip
    stop = next((event["reason"] for event in events if event["event"] == "stop"), None)
    return Step(
        trace_id=trace_id,
        step_id=str(number),
        provider=_provider(message),
        model=message.get("model") or request.get("model"),
        tools_hash=tools_hash(tools),
        tool_count=len(tools),
        tools=tuple(tool.get("name", "") for tool in tools),
        tool_choice=_choice(request.get("tool_choice")),
        stop_reason=message.get("stop_reason") or ("lost" if asked["event"] == "lost" else "none"),
        input_tokens=tokens_of(message, "input"),
        cached_tokens=usage.get("cache_read_input_tokens") or 0,
        output_tokens=tokens_of(message, "output"),
        began=asked.get("began"),
        latency=asked.get("seconds"),
        said="\n".join(block["text"] for block in content_blocks(message) if block.get("type") == "text")
        if message
        else asked.get("reason", ""),
        calls=tuple(calls),
        stop=stop,
    )


def _call(
    call: Mapping[str, Any],
    step_id: str,
    tools: Iterable[Mapping[str, Any]],
    events: Iterable[Event],
    before: Mapping[str, int],
) -> CallRow:
    own = [event for event in events if _about(event) == call["id"]]
    starts = [event for event in own if event["event"] == "started"]
    answers = [event for event in own if event["event"] == "result"]
    decided = [event["decision"]["verdict"] for event in own if event["event"] == "decision"]
    last = answers[-1] if answers else {}
    text = text_of_result(last["result"]) if last else None
    failure = last.get("failure") or ("ERROR" if last and last["result"].get("is_error") else None)
    return CallRow(
        step_id=step_id,
        tool_use_id=call["id"],
        tool=call["name"],
        raw_input=call.get("input"),
        input=starts[-1].get("input") if starts else None,
        validation_error=_validation_error(call, tools),
        failure=failure,
        retry=before.get(call["name"], 0),
        starts=len(starts),
        results=len(answers),
        began=last.get("began"),
        latency=last.get("seconds"),
        result_bytes=len(text.encode("utf-8", "replace")) if text is not None else None,
        truncated=bool(last.get("truncated") or (text and LEFT_OUT.search(text))),
        decision=decided[-1] if decided else None,
        result=text,
    )


def _about(event: Event) -> str | None:
    return event["result"]["tool_use_id"] if event["event"] == "result" else event.get("tool_use_id")


def _validation_error(call: Mapping[str, Any], tools: Iterable[Mapping[str, Any]]) -> str | None:
    """By the definition that the model saw; a server tool has no schema to check against."""
    found = next((tool for tool in tools if tool.get("name") == call["name"]), None)
    if found is None:
        return f"The model was shown no tool `{call['name']}`."
    if "input_schema" not in found:
        return None
    checked = check_tool_input(found, call.get("input"))
    return None if checked.ok else " ".join(problem.message for problem in checked.problems)


def _provider(message: Mapping[str, Any]) -> str | None:
    id = str(message.get("id") or "")
    return next((name for prefix, name in PROVIDERS.items() if id.startswith(prefix)), None)


def _choice(choice: Mapping[str, Any] | None) -> str:
    """`None` → `"auto"`, `{"type": "tool", "name": "add"}` → `"tool: add"`."""
    if not choice:
        return "auto"
    kind = f"{choice['type']}: {choice['name']}" if "name" in choice else str(choice["type"])
    return f"{kind}, one at a time" if choice.get("disable_parallel_tool_use") else kind


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()

"""One trial, seen from outside: which calls were made, what was said, how it ended.

`observe` reads what an agent left behind: a `Run`, a list of messages, or a text; `observe_exchanges` what a provider
received, whatever program sent it. Whether it is right is next door, in `judging.py`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_kit.contract.messages import content_blocks, text_of, tool_result_blocks, tool_use_blocks
from course_kit.contract.schema import check_tool_input

__all__ = ["Made", "Observed", "observe", "observe_exchanges"]


@dataclass(frozen=True)
class Made:
    """A call that was made. `valid` and `failed` are None where nothing is known of it: no definition, no result."""

    tool: str
    input: Any
    valid: bool | None = None
    failed: bool | None = None
    code: str | None = None  # of a failure: `NOT_FOUND`, `invalid input`, `KeyError`
    effect: str | None = None

    def __str__(self) -> str:
        inputs = ", ".join(f"{name}={value!r:.40}" for name, value in dict(self.input or {}).items())
        return f"{self.tool}({inputs})"


@dataclass(frozen=True)
class Observed:
    """What was seen of one trial."""

    calls: tuple[Made, ...] = ()
    text: str = ""
    stopped: str | None = None
    steps: int = 0  # replies of the model
    input_tokens: int = 0
    output_tokens: int = 0
    refused: tuple[int, ...] = ()  # statuses of requests that a provider refused
    seconds: float = 0.0


def observe(outcome: Any, *, tools: Iterable[Any] = (), skip: int = 0) -> Observed:
    """What an agent returned, read: a `Run` (or several, one for each turn), messages, or nothing but a text.

    `tools` gives definitions and effects; `skip` says how many messages were there before the agent began.
    """
    known = Known(tools)
    if isinstance(outcome, str):
        return Observed(text=outcome, stopped="end_turn")
    if isinstance(outcome, list | tuple) and all(isinstance(message, Mapping) for message in outcome):
        return Observed(**_read(outcome[skip:], known))
    runs = list(outcome) if isinstance(outcome, list | tuple) else [outcome]
    if not all(hasattr(run, "messages") for run in runs):
        raise TypeError(f"An agent returns a Run, a list of messages or a text, not {type(outcome).__name__}.")
    replies = [
        event["message"]
        for run in runs
        for event in getattr(getattr(run, "trace", None), "events", ())
        if event.get("event") == "reply"
    ]
    seen = _read(list(runs[-1].messages)[skip:], known)
    if replies:
        seen |= {"steps": len(replies), **_tokens(replies)}
    seen |= {"text": runs[-1].text, "stopped": runs[-1].stopped}
    return Observed(**seen)


def observe_exchanges(exchanges: Sequence[Any], tools: Iterable[Any] = ()) -> Observed:
    """The same from `provider.requests`: the calls are those of the replies, their results those that came back.

    This is how a program in another process, or in another language, is judged.
    """
    bodies = [exchange.body for exchange in exchanges]
    replies = [exchange.reply for exchange in exchanges if exchange.reply]
    known = Known(tools or [tool for body in bodies for tool in body.get("tools") or ()])
    results = {block.get("tool_use_id"): block for body in bodies for block in _results(body.get("messages") or ())}
    calls = tuple(known.made(block, results.get(block["id"])) for reply in replies for block in tool_use_blocks(reply))
    return Observed(
        calls=calls,
        text=text_of(replies[-1]) if replies else "",
        stopped=replies[-1]["stop_reason"] if replies else None,
        steps=len(replies),
        refused=tuple(exchange.status for exchange in exchanges if exchange.status >= 400),
        **_tokens(replies),
    )


class Known:
    """What is known of the tools: their definitions, and the effects of those that are `Tool` objects."""

    def __init__(self, tools: Iterable[Any]):
        entries = list(tools.values() if isinstance(tools, Mapping) else tools)
        self.definitions = {}
        self.effects = {}
        for entry in entries:
            definition = entry.definition() if hasattr(entry, "definition") else entry
            if isinstance(definition, Mapping) and {"name", "input_schema"} <= definition.keys():
                self.definitions[definition["name"]] = definition
                self.effects[definition["name"]] = getattr(entry, "effect", None)

    def made(self, block: Mapping[str, Any], result: Mapping[str, Any] | None) -> Made:
        name, definition = block["name"], self.definitions.get(block["name"])
        valid = None
        if self.definitions:
            valid = definition is not None and check_tool_input(definition, block.get("input")).ok
        failed = None if result is None else bool(result.get("is_error"))
        code = None
        if failed and self.definitions and definition is None:
            code = "unknown tool"
        elif failed:
            code = _code(text_of({"content": content_blocks(result or {})}), valid)
        return Made(name, block.get("input"), valid, failed, code, self.effects.get(name))


def _code(text: str, valid: bool | None) -> str:
    """The code an error begins with: `"NOT_FOUND: There is no order 7."` → `"NOT_FOUND"`."""
    if found := re.match(r"([A-Z][A-Z0-9_]+|\w*(?:Error|Exception|Interrupt)):", text):
        return found[1]
    return "invalid input" if valid is False else "error"


def _read(messages: Sequence[Mapping[str, Any]], known: "Known") -> dict[str, Any]:
    replies = [message for message in messages if message.get("role") == "assistant"]
    results = {block.get("tool_use_id"): block for block in _results(messages)}
    calls = tuple(known.made(block, results.get(block["id"])) for reply in replies for block in tool_use_blocks(reply))
    stopped = replies[-1].get("stop_reason") if replies else None
    said = text_of(replies[-1]) if replies else ""
    return {"calls": calls, "text": said, "stopped": stopped, "steps": len(replies), **_tokens(replies)}


def _results(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [block for message in messages if message.get("role") == "user" for block in tool_result_blocks(message)]


def _tokens(replies: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    usages = [reply.get("usage") or {} for reply in replies]
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {
        "input_tokens": sum(usage.get(name) or 0 for usage in usages for name in read),
        "output_tokens": sum(usage.get("output_tokens") or 0 for usage in usages),
    }

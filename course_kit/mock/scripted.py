"""Models for the mock: what answers when a request is legal.

A model is anything with `reply(request) -> Draft`, where `request` is the body as it came over the wire. `Scripted`
gives prepared replies; `simulated.py` derives its replies from the request.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from course_kit.contract.messages import Block
from course_kit.errors import ScriptExhausted

__all__ = ["Draft", "Model", "Scripted", "as_model", "call", "draft", "search"]


@dataclass(frozen=True)
class Draft:
    """What a model wants to say: content blocks (calls may lack an `id`) and, for `explain()`, its reasons.

    `fields` replaces fields of the finished message, such as `stop_reason`.
    """

    content: list[Block]
    reasons: list[str] = field(default_factory=list)
    fields: Mapping[str, Any] = field(default_factory=dict)


class Model(Protocol):
    """What answers behind the mock: anything with `reply`."""

    def reply(self, request: Mapping[str, Any]) -> Draft:
        """The content blocks of a reply, and why."""


def call(name: str, input: dict[str, Any] | None = None, /, **inputs: Any) -> Block:
    """A call for a script; the mock gives it an id. `call("get_weather", city="Oslo")`"""
    return {"type": "tool_use", "name": name, "input": {**(input or {}), **inputs}}


def search(query: str | None = None, /, *, pattern: str | None = None, limit: int | None = None) -> Block:
    """A tool search for a script, by words or by a regular expression: `search("weather")`, `search(pattern="get_.*")`.

    The mock runs it, and the next step of the script continues the same reply.
    """
    if (query is None) == (pattern is None):
        raise TypeError('Give a query or a pattern: search("weather") or search(pattern="get_.*").')
    kind, input = ("bm25", {"query": query}) if pattern is None else ("regex", {"pattern": pattern})
    return {
        "type": "server_tool_use",
        "name": f"tool_search_tool_{kind}",
        "input": {**input, **({} if limit is None else {"limit": limit})},
    }


def draft(step: Any) -> Draft:
    """A step of a script as a draft: a text, a block, a list of texts and blocks, or a whole message.

    Blocks and messages may be the SDK's objects, so a reply can be replayed.
    """
    if isinstance(step, Draft):
        return step
    if hasattr(step, "model_dump"):
        step = step.model_dump(mode="json", exclude_unset=True)
    if isinstance(step, str):
        return Draft([{"type": "text", "text": step}] if step else [])
    if isinstance(step, Mapping) and "content" in step and step.get("type") in (None, "message"):
        fields = {key: value for key, value in step.items() if key not in ("content", "type", "role")}
        return Draft(draft(step["content"]).content, fields=fields)
    if isinstance(step, Mapping) and "type" in step:
        return Draft([dict(step)])
    if isinstance(step, Iterable) and not isinstance(step, Mapping | bytes):
        return Draft([block for part in step for block in draft(part).content])
    raise TypeError(
        f"A script holds texts, blocks, lists of them, messages or functions of the request, not {type(step).__name__}."
    )


class Scripted:
    """A model that gives prepared replies, one for each request: `Scripted([call("add", a=2, b=3), "It is 5."])`.

    A step is a text, a call, a list of both (two calls in a list are parallel), a whole message, or a function of the
    request that gives one of these. A step that ends in a `search` is followed by the next one in the same reply. When
    the script is over, `ScriptExhausted` is raised where the mock is in process, so a loop that asks once too often is
    noticed.
    """

    def __init__(self, steps: Iterable[Any]):
        self.steps = list(steps)
        self.position = 0
        self._lock = threading.Lock()

    def reply(self, request: Mapping[str, Any]) -> Draft:
        """The next reply of the script; `ScriptExhausted` when it is over."""
        with self._lock:
            position, self.position = self.position, self.position + 1
        if position >= len(self.steps):
            raise ScriptExhausted(
                f"The client asked for reply {position + 1}, and the script ends after {len(self.steps)}. "
                "Add a step (a reply that a fault cut off or delayed is asked for again: write it twice), or look into "
                "`provider.requests` for why the client asked again."
            )
        step = self.steps[position]
        return draft(step(request) if callable(step) else step)


class _Function:
    """A model made of a function of the request."""

    def __init__(self, function: Callable[[Mapping[str, Any]], Any]):
        self.function = function

    def reply(self, request: Mapping[str, Any]) -> Draft:
        return draft(self.function(request))


def as_model(model: Any) -> Model:
    """Anything that `MockProvider(model=...)` takes, as a model."""
    if hasattr(model, "reply"):
        return model
    if callable(model):
        return _Function(model)
    if isinstance(model, list | tuple):
        return Scripted(model)
    raise TypeError(f"A model is Scripted([...]), Simulated(...), a list of replies or a function, not {model!r:.80}.")

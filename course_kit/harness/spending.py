"""What a run has spent, and whether it may go on: calls and tokens, read off its events.

A pure function of the events, as `stalls.py` and the cap of `failures.py` are: a loop asks it before it continues.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .trace import tokens_of

__all__ = ["Spent", "over_budget", "spent"]


class Spent(NamedTuple):
    """`calls` that began to run, `tokens` in and out of all replies."""

    calls: int
    tokens: int


def spent(events: Iterable[Mapping[str, Any]]) -> Spent:
    """What the events of a run have cost so far."""
    calls = tokens = 0
    for event in events:
        calls += event["event"] == "started"
        if event["event"] == "reply":
            tokens += tokens_of(event["message"], "input") + tokens_of(event["message"], "output")
    return Spent(calls, tokens)


def over_budget(
    events: Iterable[Mapping[str, Any]],
    *,
    max_calls: int | None = None,
    max_run_tokens: int | None = None,
    wanted: int = 0,
) -> str | None:
    """The name of the limit that is used up, for `run.stopped`, or None while the run may go on.

    `"max_calls"` before calls that would be too many, `"max_run_tokens"` when the tokens are spent:
    `over_budget(run.trace.events, max_run_tokens=1_000)` → `"max_run_tokens"`.

    `wanted` is how many calls are about to run. Tokens are known when a reply is there, so the last one may go over.
    """
    if max_calls is None and max_run_tokens is None:
        return None
    calls, tokens = spent(events)
    if max_calls is not None and wanted and calls + wanted > max_calls:
        return "max_calls"
    return "max_run_tokens" if max_run_tokens is not None and tokens >= max_run_tokens else None

"""Who decides whether a call may run.

An approver is a function of the call. It returns a `Decision`, or for short True, which lets the call run, or a text,
which refuses it and says why; anything else refuses it. Without an approver, a tool that asks is refused.
Which calls ask, and what a decision does to them, is next door in `turns.py`.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from course_kit.contract.messages import Block

from .decisions import Decision, allow, deny, wait

__all__ = ["Approver", "ask_at_prompt", "decide_later", "decisions_from", "verdict", "verdict_async"]

NOBODY = "nobody was there to approve it"
Answer = bool | str | Decision | None
Approver = Callable[[Block], Answer | Awaitable[Answer]]


def verdict(approver: Approver | None, question: Block) -> Decision:
    """What an approver says about a call; one that raises has refused it."""
    try:
        answer = approver(question) if approver else NOBODY
        if inspect.iscoroutine(answer):
            answer.close()
            answer = "its approver is to be awaited, and this run cannot: use run_agent_async"
        return _decision(answer)
    except Exception as error:
        return deny(f"the approval failed ({type(error).__name__})")


async def verdict_async(approver: Approver | None, question: Block) -> Decision:
    """The same for an approver that may be awaited: in a notebook, one that waits for a click."""
    try:
        answer = approver(question) if approver else NOBODY
        return _decision(await answer if inspect.isawaitable(answer) else answer)
    except Exception as error:
        return deny(f"the approval failed ({type(error).__name__})")


def _decision(answer: Any) -> Decision:
    if isinstance(answer, Decision):
        return answer
    if answer is True:
        return allow()
    if callable(answer):
        return deny("its approver gave a function and no decision: call it, as in `approver=decide_later()`")
    return deny(answer if isinstance(answer, str) else "")


# Approvers


def ask_at_prompt(question: Block) -> Decision:
    """Ask on the terminal, or in the box under a notebook's cell: `y` allows, anything else refuses, as the reason."""
    print(f"The model wants to call {question['name']} with")
    print(json.dumps(question["input"], ensure_ascii=False, indent=2))
    try:
        answer = input("Allow it? y, or why not: ").strip()
    except EOFError:
        return deny(NOBODY)
    return allow() if answer.lower() in ("y", "yes") else deny(answer)


def decisions_from(answers: Iterable[Answer]) -> Approver:
    """An approver that gives these answers in order, and then refuses: for tests and lessons."""
    left = iter(answers)
    return lambda question: next(left, "no decision was left for it")


def decide_later(seconds: float | None = None) -> Approver:
    """Make an approver that lets the run wait: `run_agent(..., approver=decide_later(), store="runs.sqlite")`.

    The run stops with `"awaiting_approval"` and continues with `resume_agent`, once `RunStore.decide` has its answer.
    After `seconds` without a decision the answer is no.
    """
    return lambda question: wait(seconds)

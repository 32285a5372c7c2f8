"""The agent: ask the model, run what it calls, answer, ask again.

`run_agent` starts a run and `resume_agent` resumes one; both leave the rest to `drive`. A `Loop` (`loop.py`) decides
what comes next and does no I/O. All the I/O is here: the model is asked, people are asked, calls run, and each event
is stored before anything follows from it. The functions ending in `_async` do the same with `await`.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from course_kit.contract.messages import Block, Message, content_blocks, user
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.errors import SetupError

from .approval import NOBODY, Approver, verdict, verdict_async
from .decisions import wait
from .loop import Loop, Run, Send, Stop, check_limit
from .sending import Ask, AskAsync, asker, async_asker
from .store import RunStore
from .tools import Tools, definitions, toolbox
from .trace import Event
from .turns import Turn, decision_event
from .waiting import wakeful

__all__ = ["resume_agent", "resume_agent_async", "run_agent", "run_agent_async"]

Store = RunStore | str | os.PathLike[str]
Listener = Callable[[Event], None]


def run_agent(
    client: Any,
    *,
    messages: str | list[Message],
    tools: Iterable[Any] = (),
    model: str = DEFAULT_MODEL,
    system: str | list[Block] | None = None,
    max_tokens: int = 1024,
    max_iterations: int = 10,
    max_retries: int = 2,
    stall_after: int | None = 3,
    max_calls: int | None = None,
    max_run_tokens: int | None = None,
    approver: Approver | None = None,
    max_parallel: int = 5,
    tool_choice: dict[str, Any] | None = None,
    budget: int | None = None,
    store: Store | None = None,
    on_event: Listener | None = None,
) -> Run:
    """Ask the model, run the tools it calls, and go on until it has answered.

    A call that fails is answered with `is_error`, and the run goes on. An exception from the provider is raised, with
    the run so far in its attribute `run`.

    What is asked, of whom:
    `client`          an `anthropic.Anthropic` client, or a function `request -> message`, both as dicts
    `messages`        the conversation so far, or the user's words
    `tools`           functions made with `@tool`, or other forms that `toolbox` knows
    `model`, `system`, `max_tokens`, `tool_choice`   fields of every request, as the API has them

    Limits:
    `max_iterations`  how often the model is asked at most
    `max_retries`     how many more turns a tool may fail in after the first; a success resets the count
    `stall_after`     how many equal rounds before the model is asked for a closing answer; None: never
    `max_calls`       how many calls may run; a turn that would exceed it is not run
    `max_run_tokens`  tokens in and out after which the run ends; the last reply may exceed it
    `max_parallel`    how many calls of one turn run at the same time, if all of them only read
    `budget`          characters allowed in a result, for tools that set no limit; `LargeObjects.behind` keeps the rest

    People and memory:
    `approver`        a function of the call that needs approval: `True`, `False`, or `allow()`, `deny("why")`,
                      `edit({…})`, `wait()`; a text is a no and its reason; without an approver they are refused
    `store`           a file that keeps the run, so that `resume_agent` can resume it after a crash or a decision
    `on_event`        called with each event of the trace as it happens
    """
    check_parallel(max_parallel)
    box = toolbox(tools, budget)
    request = first_request(messages, box, model, system, max_tokens, tool_choice)
    limits = {"max_iterations": max_iterations, "max_retries": max_retries, "stall_after": stall_after}
    limits |= {"max_calls": max_calls, "max_run_tokens": max_run_tokens}
    loop = begin(request, limits, store, on_event)
    return drive(loop, asker(client), box, approver, max_parallel)


def drive(loop: Loop, ask: Ask, tools: Tools, approver: Approver | None, max_parallel: int) -> Run:
    """Do what the loop says until it says `Stop`: this is the agent."""
    try:
        while not isinstance(step := loop.next_step(), Stop):
            if isinstance(step, Send):
                loop.feed(ask(step.request))
                continue
            turn = Turn(step, tools)
            # every decision of the turn comes before any of its calls
            for question in turn.questions:
                loop.feed(decision_event(question, verdict(approver, question)))
            for event in turn.run(max_parallel, loop.run_id):
                loop.feed(event)
        loop.feed({"event": "stop", "reason": step.reason})
    except BaseException as error:
        error.run = loop.run()  # type: ignore[attr-defined]
        raise
    return loop.run()


def resume_agent(
    client: Any,
    store: Store,
    run_id: str,
    *,
    tools: Iterable[Any] = (),
    approver: Approver | None = None,
    max_parallel: int = 5,
    budget: int | None = None,
    on_event: Listener | None = None,
) -> Run:
    """Resume a stored run after a crash, a restart, or a decision that it waited for.

    Pass the same `tools` as before; the limits come from the store. A call that had begun is made again only if it is
    a read or idempotent; for any other the model is told that the outcome is unknown. Decisions come from the store,
    then from `approver`. A run that has ended is returned as it is.
    """
    check_parallel(max_parallel)
    loop, approver = take_up(store, run_id, approver, on_event)
    return loop.run() if loop.ended else drive(loop, asker(client), toolbox(tools, budget), approver, max_parallel)


# The same with `await`


async def run_agent_async(
    client: Any,
    *,
    messages: str | list[Message],
    tools: Iterable[Any] = (),
    model: str = DEFAULT_MODEL,
    system: str | list[Block] | None = None,
    max_tokens: int = 1024,
    max_iterations: int = 10,
    max_retries: int = 2,
    stall_after: int | None = 3,
    max_calls: int | None = None,
    max_run_tokens: int | None = None,
    approver: Approver | None = None,
    max_parallel: int = 5,
    tool_choice: dict[str, Any] | None = None,
    budget: int | None = None,
    store: Store | None = None,
    on_event: Listener | None = None,
) -> Run:
    """`run_agent` with `await`: for an `anthropic.AsyncAnthropic` client or a coroutine function.

    The approver may be a coroutine function too: while a notebook cell awaits, clicks still arrive.
    """
    check_parallel(max_parallel)
    box = toolbox(tools, budget)
    request = first_request(messages, box, model, system, max_tokens, tool_choice)
    limits = {"max_iterations": max_iterations, "max_retries": max_retries, "stall_after": stall_after}
    limits |= {"max_calls": max_calls, "max_run_tokens": max_run_tokens}
    loop = begin(request, limits, store, on_event)
    return await drive_async(loop, async_asker(client), box, approver, max_parallel)


async def resume_agent_async(
    client: Any,
    store: Store,
    run_id: str,
    *,
    tools: Iterable[Any] = (),
    approver: Approver | None = None,
    max_parallel: int = 5,
    budget: int | None = None,
    on_event: Listener | None = None,
) -> Run:
    """`resume_agent` with `await`: for the client or function that `run_agent_async` takes."""
    check_parallel(max_parallel)
    loop, approver = take_up(store, run_id, approver, on_event)
    if loop.ended:
        return loop.run()
    return await drive_async(loop, async_asker(client), toolbox(tools, budget), approver, max_parallel)


async def drive_async(loop: Loop, ask: AskAsync, tools: Tools, approver: Approver | None, max_parallel: int) -> Run:
    """`drive` with `await`."""
    try:
        async with wakeful():
            while not isinstance(step := loop.next_step(), Stop):
                if isinstance(step, Send):
                    loop.feed(await ask(step.request))
                    continue
                turn = Turn(step, tools)
                for question in turn.questions:
                    loop.feed(decision_event(question, await verdict_async(approver, question)))
                async for event in turn.run_async(max_parallel, loop.run_id):
                    loop.feed(event)
        loop.feed({"event": "stop", "reason": step.reason})
    except BaseException as error:
        error.run = loop.run()  # type: ignore[attr-defined]
        raise
    return loop.run()


# How a run begins, and begins again


def check_parallel(max_parallel: int) -> None:
    """Checked before anything is asked: a turn of calls would notice too late."""
    check_limit("max_parallel", max_parallel, 1, "let at least one call run at a time")


def first_request(
    messages: str | list[Message],
    tools: Tools,
    model: str,
    system: str | list[Block] | None,
    max_tokens: int,
    tool_choice: dict[str, Any] | None,
) -> dict[str, Any]:
    """The body of the first request. What was not given is left out."""
    request: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    if system:
        request["system"] = system
    if defined := definitions(tools):
        request["tools"] = defined
    if tool_choice:
        request["tool_choice"] = tool_choice
    request["messages"] = [user(messages)] if isinstance(messages, str) else [_plain(one) for one in messages]
    return request


def _plain(message: Message) -> Message:
    """A message as JSON data, where its content is a reply's `content`: a list of the SDK's objects."""
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        return {**message, "content": content_blocks(message)}
    return message


def begin(request: dict[str, Any], limits: dict[str, Any], store: Store | None, on_event: Listener | None) -> Loop:
    """A new loop; with a store, one that writes down every event before anything follows from it."""
    loop = Loop(request, **limits, on_event=on_event)
    if store is not None:
        store = opened(store)
        loop.run_id = store.begin(request, limits)
        loop.on_event = recorder(store, loop, on_event)
    return loop


def take_up(
    store: Store, run_id: str, approver: Approver | None, on_event: Listener | None
) -> tuple[Loop, Approver | None]:
    """The loop of a stored run as it stood, and an approver that knows the decisions taken meanwhile."""
    if not isinstance(store, RunStore) and not os.path.exists(os.path.expanduser(store)):
        raise SetupError(f"There is no store of runs at {store}: give the path that the run was stored at.")
    store = opened(store)
    stored = store.load(run_id)
    loop = Loop(stored.request, **stored.settings, run_id=run_id)
    for event in stored.events:
        loop.feed(event)
    waited_for = {call["id"] for call in loop.waiting()}

    def decided(question: Block) -> Any:
        if decision := store.decision(run_id, question["id"]):
            return decision
        if approver:
            return approver(question)
        return wait() if question["id"] in waited_for else NOBODY

    if not loop.ended:
        loop.on_event = recorder(store, loop, on_event)
        loop.feed({"event": "resume"})
    return loop, decided


def opened(store: Store) -> RunStore:
    return store if isinstance(store, RunStore) else RunStore(store)


def recorder(store: RunStore, loop: Loop, on_event: Listener | None) -> Listener:
    def record(event: Event) -> None:
        store.append(str(loop.run_id), len(loop.events) - 1, event)
        if on_event:
            on_event(event)

    return record

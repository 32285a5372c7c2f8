"""The loop: ask the model, run what it calls, answer, ask again.

A `Loop` decides and does no I/O. It is fed events and says what comes next:

    Send(request)      ask the model this       → feed it the reply
    RunCalls(calls)    run these, in order      → feed it one result for each
    Stop(reason)       the run is over

`run_agent` and `run_agent_async` are its two drivers, a few lines each. All that a run knows is in its list of events,
plain JSON that only grows: it can be stored, looked at, and fed to a new `Loop` to take the run up again. What of a
reply may go into `messages` is next door, in `history.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from course_kit.contract.messages import Block, Message, text_of, tool_use_blocks, user
from course_kit.contract.models import DEFAULT_MODEL

from .approval import Approver, decide
from .history import history_of, is_cut, results_for, without_open_server_calls
from .sending import asker, async_asker
from .tools import Call, definitions, prepare, run_call, run_call_async, toolbox
from .trace import Event, Trace

__all__ = ["Loop", "Run", "RunCalls", "Send", "Stop", "run_agent", "run_agent_async"]

LONGEST_REPLY = 21_333  # tokens; the SDK sends a request for more only as a stream


def run_agent(
    client: Any,
    *,
    messages: str | list[Message],
    tools: Iterable[Any] = (),
    model: str = DEFAULT_MODEL,
    system: str | list[Block] | None = None,
    max_tokens: int = 1024,
    max_iterations: int = 10,
    tool_choice: dict[str, Any] | None = None,
    approver: Approver | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> "Run":
    """Talk to the model until it has answered, and run the tools it calls.

    `client` is an `anthropic.Anthropic` client or a function `request -> message`. Calls run one after another, in
    call order; what fails is answered with `is_error` and the run goes on. A tool that needs approval runs only if
    `approver(call)` says so. An exception of the provider comes through; its attribute `run` holds the run so far.
    """
    ask, box = asker(client), toolbox(tools)
    request = first_request(messages, box, model, system, max_tokens, tool_choice)
    loop = Loop(request, max_iterations=max_iterations, on_event=on_event)
    try:
        while not isinstance(step := loop.next_step(), Stop):
            if isinstance(step, Send):
                loop.feed(ask(step.request))
            else:
                # Every decision of the turn is taken before any of its calls runs.
                for call in decide([prepare(call, box) for call in step.calls], approver):
                    loop.feed_result(run_call(call) if isinstance(call, Call) else call)
        loop.feed({"event": "stop", "reason": step.reason})
    except BaseException as error:
        error.run = loop.run()  # type: ignore[attr-defined]
        raise
    return loop.run()


async def run_agent_async(
    client: Any,
    *,
    messages: str | list[Message],
    tools: Iterable[Any] = (),
    model: str = DEFAULT_MODEL,
    system: str | list[Block] | None = None,
    max_tokens: int = 1024,
    max_iterations: int = 10,
    tool_choice: dict[str, Any] | None = None,
    approver: Approver | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> "Run":
    """`run_agent`, to be awaited: for an `anthropic.AsyncAnthropic` client or a coroutine function."""
    ask, box = async_asker(client), toolbox(tools)
    request = first_request(messages, box, model, system, max_tokens, tool_choice)
    loop = Loop(request, max_iterations=max_iterations, on_event=on_event)
    try:
        while not isinstance(step := loop.next_step(), Stop):
            if isinstance(step, Send):
                loop.feed(await ask(step.request))
            else:
                for call in decide([prepare(call, box) for call in step.calls], approver):
                    loop.feed_result(await run_call_async(call) if isinstance(call, Call) else call)
        loop.feed({"event": "stop", "reason": step.reason})
    except BaseException as error:
        error.run = loop.run()  # type: ignore[attr-defined]
        raise
    return loop.run()


@dataclass(frozen=True)
class Send:
    """Ask the model: `request` is the body."""

    request: dict[str, Any]


@dataclass(frozen=True)
class RunCalls:
    """Run these `tool_use` blocks; those of the turn that have a result already are not among them."""

    calls: list[Block]


@dataclass(frozen=True)
class Stop:
    """The run is over."""

    reason: str


@dataclass(frozen=True)
class Run:
    """What came of a run.

    `messages` is the conversation: append a user turn and it is legal to send. `text` is what the model said last.
    `stopped` says why the run ended: the last `stop_reason`, or `"max_iterations"`, or `"connection_lost"`
    (`"unfinished"` in a run that an exception broke off). `trace` has every event.
    """

    messages: list[Message]
    text: str
    stopped: str
    trace: Trace

    def __str__(self) -> str:
        return f"{self.text or '(no text)'}\n[stopped: {self.stopped}, {self.trace.summary()}]"


class Loop:
    """The state of one run. `feed` it what happened, ask it for the `next_step`."""

    def __init__(
        self,
        request: Mapping[str, Any],
        *,
        max_iterations: int = 10,
        on_event: Callable[[Event], None] | None = None,
    ):
        if max_iterations < 1:
            raise ValueError(f"max_iterations is {max_iterations}: allow at least one reply of the model.")
        self.request = {key: value for key, value in request.items() if key != "messages"}
        self.max_iterations = max_iterations
        self.on_event = on_event
        self.events: list[Event] = []
        self.messages: list[Message] = list(request["messages"])
        self.open_calls: list[Block] = []  # calls of the last turn
        self.results: dict[str, Block] = {}  # their results so far, by tool_use_id
        self.replies = 0
        self.cut_in_a_row = 0

    def feed(self, event: Event) -> None:
        """Take in what happened: nothing else changes the state of a run."""
        self.events.append(event)
        match event:
            case {"event": "reply", "message": message}:
                self.replies += 1
                self.cut_in_a_row = self.cut_in_a_row + 1 if is_cut(message) else 0
                self.messages += history_of(message)
                if message["stop_reason"] == "tool_use":
                    self.open_calls, self.results = tool_use_blocks(message), {}
            case {"event": "lost"}:
                self.replies += 1
                self.cut_in_a_row += 1
            case {"event": "result", "result": result}:
                if (id := result["tool_use_id"]) not in [call["id"] for call in self.open_calls]:
                    raise ValueError(f"No call with the id {id!r} is open: give a result for each call of `RunCalls`.")
                self.results[id] = result
                if all(call["id"] in self.results for call in self.open_calls):
                    self._answer()
            case {"event": "stop"} if self.open_calls:
                self._answer("Not run: the limit of model calls for this run was reached before this call.")
        if self.on_event:
            self.on_event(event)

    def feed_result(self, result: Block) -> None:
        self.feed({"event": "result", "result": result})

    def _answer(self, otherwise: str = "") -> None:
        # One user turn, one result for each call, in call order, whatever order they came in.
        self.messages.append(user(results_for(self.open_calls, self.results, otherwise)))
        self.open_calls = []

    def next_step(self) -> Send | RunCalls | Stop:
        """What to do now. It follows from the events alone."""
        if self.open_calls and self.replies < self.max_iterations:
            return RunCalls([call for call in self.open_calls if call["id"] not in self.results])
        match self.events[-1] if self.events else None:
            case None | {"event": "result"}:
                return self._ask()
            case {"event": "reply", "message": {"stop_reason": "pause_turn"}}:
                return self._ask()  # the server is not done; it goes on from its own turn, sent back unchanged
            case {"event": "reply", "message": {"stop_reason": "tool_use"}} if self.open_calls:
                return Stop("max_iterations")  # nobody would read what these calls return
            case {"event": "lost"} | {"event": "reply", "message": {"stop_reason": None}}:
                return self._ask() if self.cut_in_a_row == 1 else Stop("connection_lost")
            case {"event": "reply", "message": message} if is_cut(message):
                # Cut inside a call: not the model's mistake. Once, ask again with more room.
                return self._ask(room=2) if self.cut_in_a_row == 1 else Stop("max_tokens")
            case {"event": "reply", "message": {"stop_reason": reason}}:
                # end_turn, stop_sequence, max_tokens in a text, refusal, and whatever the API comes to invent.
                return Stop(reason)
            case {"event": "stop", "reason": reason}:
                return Stop(reason)
            case other:
                raise ValueError(f"The loop does not know the event {other!r:.80}.")

    def _ask(self, room: int = 1) -> Send | Stop:
        if self.replies >= self.max_iterations:
            return Stop("max_iterations")
        given = self.request["max_tokens"]
        max_tokens = max(given, min(given * room, LONGEST_REPLY))
        return Send({**self.request, "max_tokens": max_tokens, "messages": list(self.messages)})

    def run(self) -> Run:
        """The run as it stands, with a history that is legal even when it was broken off in the middle."""
        messages, last = list(self.messages), self.events[-1] if self.events else {"event": None}
        if self.open_calls:
            unknown = "The run was broken off: this call may or may not have taken effect. Check before repeating it."
            messages.append(user(results_for(self.open_calls, self.results, unknown)))
        said = next((e["message"] for e in reversed(self.events) if e["event"] == "reply"), {})
        stopped = last["reason"] if last["event"] == "stop" else "unfinished"
        return Run(without_open_server_calls(messages), text_of(said), stopped, Trace(self.request, self.events))


def first_request(
    messages: str | list[Message],
    tools: Iterable[Any],
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
    request["messages"] = [user(messages)] if isinstance(messages, str) else messages
    return request

"""The loop's decisions: what comes next, given everything that has happened so far.

A `Loop` does no I/O. You feed it events and it says what to do:

    Send(request)      ask the model this       → feed it the reply
    RunCalls(calls)    decide and run these     → feed it the decisions, and one result for each
    Stop(reason)       the run is over, or waits for a person

Everything a run knows is in its list of events, plain JSON that only grows: it can be stored, inspected, and fed to a
new `Loop` to resume the run. `agent.py` asks the model and runs the calls; `history.py` says what part of a reply may
go into `messages`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from course_kit.contract.messages import Block, Message, text, text_of, tool_use_blocks, user

from .failures import over_cap
from .history import history_of, is_cut, results_for, without_open_server_calls
from .spending import over_budget
from .stalls import CLOSING, round_of
from .trace import Event, Trace

__all__ = ["Loop", "Run", "RunCalls", "Send", "Stop", "check_limit"]

LONGEST_REPLY = 21_333  # tokens; the SDK sends a request for more only as a stream
AWAITING = "awaiting_approval"
UNKNOWN = "The run was broken off: this call may or may not have taken effect. Check before repeating it."


@dataclass(frozen=True)
class Send:
    """Ask the model; `request` is the body."""

    request: dict[str, Any]


@dataclass(frozen=True)
class RunCalls:
    """Run these `tool_use` blocks: the calls of the turn that have no result yet.

    `decisions` holds the decision events about them so far, `started` the ids of calls that an earlier process began.
    """

    calls: list[Block]
    decisions: Mapping[str, Event] = field(default_factory=dict)
    started: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stop:
    """The run is over, or waits for a person."""

    reason: str


@dataclass(frozen=True)
class Run:
    """The outcome of a run.

    `messages` is the conversation: append a user turn and it is legal to send. `text` is what the model said last.
    `stopped` says why the run ended: the last `stop_reason`, or
        `"max_iterations"`         the model was asked as often as allowed
        `"max_retries: add"`       the tool `add` failed in more turns than allowed
        `"stalled: add"`           calls of `add` kept returning the same; `text` is the model's closing answer
        `"max_calls"`              the next turn had more calls than were left; none of them ran
        `"max_run_tokens"`         the replies have used up the tokens
        `"connection_lost"`        two replies in a row arrived incomplete
        `"awaiting_approval"`      `waiting` has the calls; `resume_agent(client, store, run.run_id)` goes on
        `"unfinished"`             an exception ended it
    `trace` has every event.
    """

    messages: list[Message]
    text: str
    stopped: str
    trace: Trace
    run_id: str | None = None
    waiting: list[Block] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.text or '(no text)'}\n[stopped: {self.stopped}, {self.trace.summary()}]"


class Loop:
    """The state of one run: `feed` it what happened, then ask for the `next_step`.

    loop = Loop(request)
    while not isinstance(step := loop.next_step(), Stop):
        for event in ...:  # what came of the step
            loop.feed(event)
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        *,
        max_iterations: int = 10,
        max_retries: int = 2,
        stall_after: int | None = 3,
        max_calls: int | None = None,
        max_run_tokens: int | None = None,
        run_id: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ):
        check_limit("max_iterations", max_iterations, 1, "allow at least one reply of the model")
        check_limit("max_retries", max_retries, 0, "say 0 to end a run at the first failing call")
        if stall_after is not None:
            check_limit("stall_after", stall_after, 2, "use at least 2, or None for no limit")
        for name, limit in (("max_calls", max_calls), ("max_run_tokens", max_run_tokens)):
            if limit is not None:
                check_limit(name, limit, 0, "use at least 0, or None for no limit")
        self.request = {key: value for key, value in request.items() if key != "messages"}
        self.max_iterations = max_iterations
        self.max_retries = max_retries
        self.stall_after = stall_after
        self.budget: dict[str, Any] = {"max_calls": max_calls, "max_run_tokens": max_run_tokens}
        self.run_id = run_id
        self.on_event = on_event
        self.events: list[Event] = []
        self.messages: list[Message] = list(request["messages"])
        self.last: Event | None = None  # the event that the next step follows from
        self.open_calls: list[Block] = []  # calls of the last turn
        self.results: dict[str, Block] = {}  # their results so far, by tool_use_id
        self.decisions: dict[str, Event] = {}  # what was decided about them
        self.started: set[str] = set()  # those that began to run
        self.replies = 0
        self.cut_in_a_row = 0
        self.last_round = ""  # what the last round of calls was and brought
        self.equal_rounds = 0
        self.stalled = ""  # the tool whose calls bring nothing new

    def feed(self, event: Event) -> None:
        """Take in one event; nothing else changes the state of a run."""
        self.events.append(event)
        match event:
            case {"event": "reply", "message": message}:
                self.replies += 1
                self.cut_in_a_row = self.cut_in_a_row + 1 if is_cut(message) else 0
                self.messages += history_of(message)
                if message["stop_reason"] == "tool_use":
                    self.open_calls = tool_use_blocks(message)
                    self.results, self.decisions, self.started = {}, {}, set()
            case {"event": "lost"}:
                self.replies += 1
                self.cut_in_a_row += 1
            case {"event": "decision", "tool_use_id": id}:
                self.decisions[id] = event
            case {"event": "started", "tool_use_id": id}:
                self.started.add(id)
            case {"event": "result", "result": result}:
                if (id := result["tool_use_id"]) not in [call["id"] for call in self.open_calls]:
                    raise ValueError(f"No call with the id {id!r} is open: give a result for each call of `RunCalls`.")
                self.results[id] = result
                if all(call["id"] in self.results for call in self.open_calls):
                    self._close_round()
            case {"event": "resume"}:
                self.decisions = {id: made for id, made in self.decisions.items() if not _waits(made)}
            case {"event": "stop", "reason": reason} if self.open_calls and reason != AWAITING:
                self._close_calls("Not run: a limit of this run was reached before this call.")
        if event["event"] not in ("decision", "started", "resume"):
            self.last = event
        if self.on_event:
            self.on_event(event)

    def _close_calls(self, not_run: str = "") -> None:
        """One user turn with one result for each call, in call order, whatever order they came in."""

        def missing(id: str) -> str:
            return UNKNOWN if id in self.started else not_run

        self.messages.append(user(results_for(self.open_calls, self.results, missing)))
        self.open_calls = []

    def _close_round(self) -> None:
        calls, this_round = self.open_calls, round_of(self.open_calls, self.results)
        self.equal_rounds = self.equal_rounds + 1 if this_round == self.last_round else 1
        self.last_round = this_round
        self._close_calls()
        if self.equal_rounds == self.stall_after and not over_cap(self.events, self.max_retries):
            self.stalled = calls[0]["name"]
            self.messages[-1]["content"].append(text(CLOSING.format(rounds=self.stall_after)))

    def next_step(self) -> Send | RunCalls | Stop:
        """What to do now; it depends on the events alone."""
        # Open calls wait, run, or end the run; at the last reply they are left to the `match` below.
        if self.open_calls and self.replies < self.max_iterations:
            if self.waiting():
                return Stop(AWAITING)
            calls = [call for call in self.open_calls if call["id"] not in self.results]
            wanted = sum(call["id"] not in self.started for call in calls)
            if over := over_budget(self.events, **self.budget, wanted=wanted):
                return Stop(over)
            return RunCalls(calls, self.decisions, frozenset(self.started))
        match self.last:
            case None:
                return self._ask()
            case {"event": "result"}:
                failing = over_cap(self.events, self.max_retries)
                return Stop(f"max_retries: {failing}") if failing else self._ask()
            case {"event": "reply", "message": {"stop_reason": "pause_turn"}}:
                return self._ask()  # the server is not done; it goes on from its own turn, sent back unchanged
            case {"event": "reply", "message": {"stop_reason": "tool_use"}} if self.open_calls:
                return Stop("max_iterations")  # nobody would read what these calls return
            case {"event": "lost"} | {"event": "reply", "message": {"stop_reason": None}}:
                return self._ask() if self.cut_in_a_row == 1 else Stop("connection_lost")
            case {"event": "reply", "message": message} if is_cut(message):
                # Cut inside a call: not the model's mistake. Once, ask again with more room.
                return self._ask(room=2) if self.cut_in_a_row == 1 else Stop("max_tokens")
            case {"event": "reply"} if self.stalled:
                return Stop(f"stalled: {self.stalled}")
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
        if over := over_budget(self.events, **self.budget):
            return Stop(over)
        given = self.request["max_tokens"]
        max_tokens = max(given, min(given * room, LONGEST_REPLY))
        closing = {"tool_choice": {"type": "none"}} if self.stalled else {}  # it is to answer in words now
        return Send({**self.request, **closing, "max_tokens": max_tokens, "messages": list(self.messages)})

    @property
    def ended(self) -> bool:
        """Whether the run is over; one that waits for a person is not."""
        return self.last is not None and self.last["event"] == "stop" and not self.open_calls

    def waiting(self) -> list[Block]:
        """The calls of the last turn that wait for a person, with the input that would run."""
        waiting = {id: made["input"] for id, made in self.decisions.items() if _waits(made)}
        return [{**call, "input": waiting[call["id"]]} for call in self.open_calls if call["id"] in waiting]

    def run(self) -> Run:
        """The run as it stands, with a history that is legal even when it was broken off in the middle."""
        messages, waiting = list(self.messages), self.waiting()
        if self.open_calls:
            messages.append(user(results_for(self.open_calls, self.results, self._not_run)))
        said: Message = next((e["message"] for e in reversed(self.events) if e["event"] == "reply"), {})
        stopped = self.last["reason"] if self.last and self.last["event"] == "stop" else "unfinished"
        trace = Trace(self.request, self.events)
        return Run(without_open_server_calls(messages), text_of(said), stopped, trace, self.run_id, waiting)

    def _not_run(self, id: str) -> str:
        if id in self.started:
            return UNKNOWN
        if self.waiting():
            return "Not run yet: a person has to decide about this turn first."
        return "Not run: the run was broken off before this call began."


def check_limit(name: str, value: Any, least: int, otherwise: str) -> None:
    """Refuse a limit that is no whole number, or too small."""
    if not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}: give a whole number.")
    if value < least:
        raise ValueError(f"{name} is {value}: {otherwise}.")


def _waits(decision: Event) -> bool:
    return decision["decision"]["verdict"] == "wait"

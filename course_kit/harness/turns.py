"""One turn of calls: what a person has to decide about them, then running them.

Every decision of a turn is made before any of its calls runs. What is shown to a person is exactly what runs: the
checked input, or the one the person put in its place. Who decides is next door, in `approval.py`; how calls run, at
the same time or one after another, in `running.py`.
"""

import json
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing

from course_kit.contract.messages import Block, content_blocks, text, tool_result

from .decisions import Decision
from .loop import RunCalls
from .running import result_event, run_calls, run_calls_async
from .tools import Call, Outcome, Tools, prepare
from .trace import Event

__all__ = ["Turn", "decision_event"]


class Turn:
    """The calls of a `RunCalls`, checked. Ask for its `questions`, feed the decisions to the loop, then `run` it."""

    def __init__(self, step: RunCalls, tools: Tools):
        self.checked = [prepare(call, tools) for call in step.calls]
        self.decisions = step.decisions
        self.started = step.started

    @property
    def questions(self) -> list[Block]:
        """The calls somebody has to decide about, with the input that would run."""
        return [shown(call) for call in self.checked if isinstance(call, Call) and self._is_open(call)]

    def run(self, limit: int, run_id: str | None = None) -> Generator[Event]:
        """The events of the turn: what must not run is answered, the rest runs. None while a decision is open."""
        answers, calls = self._settled()
        yield from answers
        with closing(run_calls(calls, limit=limit, run_id=run_id)) as events:
            for event in events:
                yield self._with_note(event)

    async def run_async(self, limit: int, run_id: str | None = None) -> AsyncGenerator[Event]:
        """The same inside an event loop."""
        answers, calls = self._settled()
        for event in answers:
            yield event
        async with aclosing(run_calls_async(calls, limit=limit, run_id=run_id)) as events:
            async for event in events:
                yield self._with_note(event)

    def _is_open(self, call: Call) -> bool:
        return asks(call) and call.tool_use["id"] not in self.started and self._decision(call) is None

    def _decision(self, call: Call) -> Decision | None:
        event = self.decisions.get(call.tool_use["id"])
        # subtle: tools may have changed while a run waited. A decision is only about the input that was shown.
        return Decision.from_json(event["decision"]) if event and event["input"] == call.input else None

    def _settled(self) -> tuple[list[Event], list[Call]]:
        """The results of calls that must not run, and the calls that may."""
        answers: list[Event] = []
        calls: list[Call] = []
        if any(event["decision"]["verdict"] == "wait" for event in self.decisions.values()):
            return answers, calls
        for checked in self.checked:
            settled = self._settle(checked) if isinstance(checked, Call) else checked
            if isinstance(settled, Call):
                calls.append(settled)
            else:
                answers.append(result_event(settled))
        return answers, calls

    def _settle(self, call: Call) -> Call | Outcome:
        if call.tool_use["id"] in self.started:
            return call if call.tool.effect == "read" or call.tool.idempotent else unknown_outcome(call)
        if not asks(call):
            return call
        decision = self._decision(call) or Decision("deny", "nobody decided about it")
        if decision.verdict == "deny":
            return refusal(call, decision.reason or "no reason was given")
        if decision.verdict != "edit":
            return call
        edited = prepare({**call.tool_use, "input": decision.input}, {call.tool.name: call.tool})
        if isinstance(edited, Call):
            return edited
        lines = str(edited.result["content"]).split("\n- ")
        return refusal(call, f"a person changed its input, and the change does not fit: {' '.join(lines[1:] or lines)}")

    def _with_note(self, event: Event) -> Event:
        """A result of an edited call says so: the model asked for one thing and another was done."""
        if event["event"] != "result":
            return event
        result = event["result"]
        decided = self.decisions.get(result["tool_use_id"], {}).get("decision", {})
        if decided.get("verdict") != "edit":
            return event
        said = f"A person changed the input before this ran, to: {json.dumps(decided['input'], ensure_ascii=False)}"
        return {**event, "result": {**result, "content": [text(said), *content_blocks(result)]}}


def asks(call: Call) -> bool:
    """Whether somebody has to decide about a call. A tool that cannot say asks."""
    needed = call.tool.needs_approval
    try:
        return bool(needed(call.input)) if callable(needed) else bool(needed)
    except Exception:
        return True


def shown(call: Call) -> Block:
    """The call as a person sees it: the checked input, not the one that was sent."""
    return {**call.tool_use, "input": call.input}


def decision_event(question: Block, decision: Decision) -> Event:
    """`decision` about a call, as an event of the run."""
    return {
        "event": "decision",
        "tool_use_id": question["id"],
        "name": question["name"],
        "input": question["input"],
        "decision": decision.to_json(),
    }


def refusal(call: Call, reason: str) -> Outcome:
    said = (
        f"A person has to approve `{call.tool.name}` and it was refused: {reason.rstrip('.')}. Nothing was done. "
        "Try another way, or ask the user."
    )
    return Outcome(tool_result(call.tool_use["id"], said, is_error=True), "DENIED")


def unknown_outcome(call: Call) -> Outcome:
    said = (
        f"The run was broken off while `{call.tool.name}` ran: it may or may not have taken effect. "
        "Look before you make the call again."
    )
    return Outcome(tool_result(call.tool_use["id"], said, is_error=True), "OUTCOME_UNKNOWN")

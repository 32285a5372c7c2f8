"""Four symptoms as decision trees, to walk through with a trace in hand: `walk("wrong tool", trace, meant="…")`.

Each question is about the trace, so each shows what the trace says about it; you answer yes or no, and the last line
says what to change. Without a mouse: `.answer("yes")`, `.back()`. The trees are data: read them, change them.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Union

from course_kit.classroom.fields import PRE, status
from course_kit.classroom.shown import Shown
from course_kit.harness.trace import trace_of
from course_kit.harness.trace_steps import Step, steps_of

__all__ = ["TREES", "Question", "Walk", "walk"]


@dataclass(frozen=True)
class Case:
    """What a question is asked of."""

    steps: list[Step]
    request: dict[str, Any]
    meant: str | None

    def description(self, name: str | None) -> str:
        tools = self.request.get("tools") or []
        return next((tool.get("description", "") for tool in tools if tool.get("name") == name), "(not shown)")

    @property
    def calls(self) -> list[Any]:
        return [call for step in self.steps for call in step.calls]


@dataclass(frozen=True)
class Question:
    """`evidence` reads from the trace what helps to answer; `yes` and `no` are the next question, or what to change."""

    ask: str
    evidence: Callable[[Case], str]
    yes: Union["Question", str]
    no: Union["Question", str]


# What a trace has to say


def _stops(case: Case) -> str:
    return ", ".join(f"step {step.step_id}: {step.stop_reason}" for step in case.steps)


def _shown(case: Case) -> str:
    last = case.steps[-1]
    more = " …" if last.tool_count > 12 else ""
    return f"{last.tool_count} tools, hash {last.tools_hash}: {', '.join(last.tools[:12])}{more}"


def _choices(case: Case) -> str:
    return ", ".join(f"step {step.step_id}: {step.tool_choice}" for step in case.steps)


def _meant(case: Case) -> str:
    return f"{case.meant}: {case.description(case.meant)}" if case.meant else "Say `meant=` to see its description."


def _both(case: Case) -> str:
    called = [call.tool for call in case.calls if call.tool != case.meant][:1]
    return "\n".join(f"{name}: {case.description(name)}" for name in [*called, case.meant] if name)


def _required(case: Case) -> str:
    tools = case.request.get("tools") or []
    schema = next((tool.get("input_schema") or {} for tool in tools if tool.get("name") == case.meant), {})
    required = ", ".join(schema.get("required") or []) or "nothing"
    return f"required: {required}; it said: {case.steps[-1].said or '(nothing)'}"


def _hashes(case: Case) -> str:
    return ", ".join(f"step {step.step_id}: {step.tools_hash}" for step in case.steps)


def _checks(case: Case) -> str:
    return _per_call(case, lambda call: call.validation_error or "fits")


def _runs(case: Case) -> str:
    return _per_call(case, lambda call: f"began {call.starts}×, answered {call.results}×")


def _raw(case: Case) -> str:
    return _per_call(case, lambda call: f"raw {call.raw_input}; ran as {call.input}")


def _results(case: Case) -> str:
    return _per_call(case, lambda call: f"{call.raw_input} → {(call.result or '(no result)')[:100]}")


def _cuts(case: Case) -> str:
    return _per_call(case, lambda call: f"{call.result_bytes} bytes{', cut' if call.truncated else ''}")


def _ends(case: Case) -> str:
    return next((f"the run: {step.stop}" for step in reversed(case.steps) if step.stop), "no end was recorded")


def _per_call(case: Case, told: Callable[[Any], str]) -> str:
    return "\n".join(f"{call.step_id} {call.tool}: {told(call)}" for call in case.calls) or "no calls"


TREES: dict[str, Question] = {
    "no call": Question(
        "Did the last reply stop for another reason than `end_turn`?",
        _stops,
        "Start there: raise `max_tokens`, reword after a `refusal`, continue after `pause_turn`.",
        Question(
            "Was the tool that you meant among those shown?",
            _shown,
            Question(
                "Did `tool_choice` allow a call?",
                _choices,
                Question(
                    "Does its description say, in the user's words, when to use it?",
                    _meant,
                    Question(
                        "Is something required that nobody has said?",
                        _required,
                        "The model asks, and is right. Make the input optional, or give it a tool that looks it up.",
                        "Change the number: show this tool alone. If it is called now, the others got in its way.",
                    ),
                    "Rewrite the description: triggers in the user's words. Measure before and after.",
                ),
                "`none` forbids every call. Look for who set it, and for which turn.",
            ),
            "The model cannot call what it does not see. Look at deferral, at the tool search, at the registration.",
        ),
    ),
    "wrong tool": Question(
        "Was the tool that you meant among those shown?",
        _shown,
        Question(
            "Has the hash of the tools changed since it last went right?",
            _hashes,
            "Put the old definitions back, and nothing else. If it goes right, compare them word by word.",
            Question(
                "Do both descriptions claim the sentence?",
                _both,
                "Draw the boundary where the wrong one ends: 'not for X (use Y)'. Change this one description.",
                "Change the number: show these two alone. If it goes right, too many are shown: search, or show fewer. "
                "If not, the right one lacks the user's words.",
            ),
        ),
        "The model took the best of what it saw. Look at deferral, at the tool search, at the registration.",
    ),
    "wrong input": Question(
        "Does every raw input fit its schema?",
        _checks,
        Question(
            "Did what ran differ from what the model wrote?",
            _raw,
            "A parser, a repair or a person changed it on the way. Each must leave a line in the log.",
            Question(
                "Was the wrong value said somewhere in the conversation, perhaps in another form?",
                _raw,
                "Unit or format: say it in the description, with an example. Repair only what is on your list.",
                "It was made up. Give the model a way out (`ask_user`, an optional input); check the business rule.",
            ),
        ),
        Question(
            "Did the call run although its input does not fit?",
            _runs,
            "The harness lacks a check: validate the raw input before anything runs.",
            "The check works. Now read its text as the model does: where, what was wanted, what came, what to try.",
        ),
    ),
    "does not stop, or skips steps": Question(
        "Is one call made again with the same result?",
        _results,
        Question(
            "Does that result say what to do instead?",
            _results,
            "Then it needs a cap on retries and a guard against stalls, and the model may be too small.",
            "Rewrite the result: a text that names nothing leads to the same call.",
        ),
        Question(
            "Has each call begun once and been answered once?",
            _runs,
            Question(
                "Was part of a result cut away?",
                _cuts,
                "Keep head and tail, and say how much was left out: the last line is often the one that matters.",
                Question(
                    "Did a limit end the run while results were still moving?",
                    _ends,
                    "The guard is too strict: only the same tool, input and result count as a repetition.",
                    "Look at the last result: does it name the next step? Then try one request per sentence.",
                ),
            ),
            "The harness loses or repeats calls: settle all, answer each by its id, repeat only what is safe.",
        ),
    ),
}


class Walk(Shown):
    """One way through a tree. `path` holds the answers so far."""

    def __init__(self, symptom: str, source: Any, meant: str | None = None):
        if symptom not in TREES:
            raise ValueError(f"There is no tree for {symptom!r}: choose from {', '.join(TREES)}.")
        trace = trace_of(source)
        self.symptom = symptom
        self.case = Case(steps_of(trace), trace.request, meant)
        if not self.case.steps:
            raise ValueError("This trace has no steps: there is nothing to walk through.")
        self.path: list[str] = []

    @property
    def at(self) -> Question | str:
        """The question that is open, or what to change."""
        found: Question | str = TREES[self.symptom]
        for said in self.path:
            found = getattr(found, said)
        return found

    def answer(self, *said: str) -> "Walk":
        """Answer the open question; several answers go on: `.answer("yes", "no")`."""
        for one in said:
            if one not in ("yes", "no"):
                raise ValueError(f'{one!r} is not an answer: say "yes" or "no".')
            if isinstance(self.at, str):
                raise ValueError("This walk is finished: `.back()` takes an answer back.")
            self.path.append(one)
        return self

    def back(self) -> "Walk":
        """Take the last answer back."""
        self.path = self.path[:-1]
        return self

    def as_text(self) -> str:
        lines, found = [f"Symptom: {self.symptom}"], TREES[self.symptom]
        for said in self.path:
            lines.append(f"  {found.ask} {said}")
            found = getattr(found, said)
        if isinstance(found, str):
            return "\n".join([*lines, f"→ {found}"])
        evidence = [f"    {line}" for line in found.evidence(self.case).split("\n")]
        return "\n".join([*lines, f"? {found.ask}", *evidence])

    def as_html(self) -> str:
        return f"{PRE}{html.escape(self.as_text())}</pre>"


def walk(symptom: str, source: Any, meant: str | None = None) -> Walk:
    """Walk through a tree with a trace; its plain calls are `.answer("yes")` and `.back()`.

    `meant` is the tool that should have been called.
    """
    return _widget()(symptom, source, meant)


@cache
def _widget() -> type[Walk]:
    try:
        import ipywidgets
    except ImportError:
        return Walk

    class WalkWidget(Walk, ipywidgets.VBox):
        """`.yes`, `.no` and `.undo` are the buttons; `.card` shows the way so far."""

        def __init__(self, *given: Any):
            Walk.__init__(self, *given)
            self.yes = ipywidgets.Button(description="Yes", tooltip="Answer yes")
            self.no = ipywidgets.Button(description="No", tooltip="Answer no")
            self.undo = ipywidgets.Button(description="Back", tooltip="Take the last answer back")
            self.card = ipywidgets.HTML()
            self.yes.on_click(lambda _: self._clicked("yes"))
            self.no.on_click(lambda _: self._clicked("no"))
            self.undo.on_click(lambda _: self.back())
            ipywidgets.VBox.__init__(self, [self.card, ipywidgets.HBox([self.yes, self.no, self.undo])])
            self.add_class("course-walk")
            self._show()

        def answer(self, *said: str) -> Walk:
            Walk.answer(self, *said)
            return self._show()

        def _clicked(self, said: str) -> None:
            if not self.yes.disabled:  # else it is the second of two quick clicks, and the walk is finished
                self.answer(said)

        def back(self) -> Walk:
            Walk.back(self)
            return self._show()

        def _show(self) -> Walk:
            self.card.value = status(self.as_html())
            self.yes.disabled = self.no.disabled = isinstance(self.at, str)
            self.undo.disabled = not self.path
            return self

    return WalkWidget

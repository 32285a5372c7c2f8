"""The approval panel's buttons and fields, for notebooks. Loaded only where ipywidgets is.

Everything can be done by keyboard, every part has its own name, and what goes wrong in a handler is shown in the
panel: an exception there leaves no trace in a notebook. What the buttons do is next door, in `approval_panel.py`.
"""

import html
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from course_kit.classroom.approval_panel import DID, ApprovalPanel, Decided, error_line
from course_kit.classroom.fields import PRE, on_press, status
from course_kit.classroom.visible import json_html, visible, visible_json
from course_kit.contract.schema import parse_json
from course_kit.errors import CourseKitError
from course_kit.harness.decisions import Decision, allow, deny, edit
from course_kit.harness.store import Pending

__all__ = ["ApprovalPanelWidget", "Card"]


def button(text: str, tooltip: str, clicked: Callable[[], None], fields: Sequence[Any] = ()) -> Any:
    made = ipywidgets.Button(description=text, tooltip=tooltip, layout={"width": "auto", "align_self": "flex-start"})
    on_press(made, fields, clicked)
    return made


class Card(ipywidgets.VBox):
    """One call: `.allow`, `.deny` with `.reason`, `.check` and `.edit` with `.input`; `.said` answers."""

    def __init__(self, panel: Any, call: Pending):
        self.panel, self.call = panel, call
        number = panel._number(call.run_id, call.tool_use_id)
        name = f"call {number}, {visible(call.tool)}"
        form = {"style": {"description_width": "11em"}, "layout": {"width": "97%"}, "continuous_update": False}
        until = f", until {call.expires_at}" if call.expires_at else ""
        asked = html.escape(f"{visible(call.tool_use_id)} of {call.run_id}, asked at {call.asked_at}{until}")
        head = ipywidgets.HTML(f"{panel._heading(call)}<p>{asked}</p>{json_html(call.input)}", layout=form["layout"])
        self.allow = button(f"Allow call {number}", f"Run {name}, as shown", lambda: self.decide(allow()))
        self.reason = ipywidgets.Text(description=f"Reason {number}", tooltip=f"Why {name} is denied", **form)
        self.deny = button(
            f"Deny call {number}",
            f"Refuse {name}",
            lambda: self.decide(deny(self.reason.value.strip())),
            fields=[self.reason],
        )
        self.input = ipywidgets.Textarea(
            value=visible_json(call.input),
            description=f"Input {number} (JSON)",
            tooltip=f"The whole input of {name}, to change",
            rows=min(visible_json(call.input).count("\n") + 2, 12),
            **form,
        )
        # subtle: what runs is what the kernel has read and shown, also where a press overtakes what was typed.
        shows = f"Show the input of {name} as it would run"
        self.check = button(f"Check input {number}", shows, self.checked, fields=[self.input])
        runs = f"Run {name} with the input checked"
        self.edit = button(f"Run call {number} as edited", runs, self.edited, fields=[self.input, self.reason])
        self.forget()
        self.input.observe(lambda _: self.forget(), "value")
        self.said = ipywidgets.HTML()
        parts = [head, self.allow, self.reason, self.deny, self.input, self.check, self.edit, self.said]
        super().__init__(parts, layout={"border": "1px solid #888", "padding": "4px 8px", "margin": "0 0 8px 0"})
        self.add_class("course-approval-call")

    def forget(self) -> None:
        """Drop an input that was checked: it has changed since."""
        self.new_input: dict[str, Any] | None = None
        self.edit.disabled = True

    def checked(self) -> None:
        """Read the new input and show it; only now may it run."""
        try:  # an exception in a handler leaves no trace in the notebook
            value = parse_json(self.input.value)
            if not isinstance(value, dict):
                raise CourseKitError('the input of a call is a JSON object, such as {"order_id": "ORD-20260917"}')
            if problems := self.panel.problems(self.call, value):
                raise CourseKitError(problems)
        except Exception as error:
            self.say(f"✗ Nothing was decided: {error_line(error)}")
            return
        self.new_input = value
        self.edit.disabled = False
        self.say("This would run; nothing is decided yet:", json_html(value))

    def edited(self) -> None:
        """Allow the call with the input that was checked."""
        if self.new_input is not None:
            self.decide(edit(self.new_input, self.reason.value.strip()))

    def decide(self, decision: Decision) -> None:
        """Answer the call, and say on the card what came of it."""
        if self.allow.disabled:
            return  # the second of two quick clicks: the first has decided
        id, run_id = self.call.tool_use_id, self.call.run_id
        self.panel.attempt(lambda: self.panel.decide(id, decision, run_id=run_id), self.say)

    def say(self, text: str, shown: str = "") -> None:
        """Show a text on the card."""
        self.said.value = status(f"{PRE}{html.escape(text)}</pre>{shown}")

    def close_call(self, decision: Decision | None) -> None:
        """Switch the card off and show what was decided, here or elsewhere."""
        if not self.allow.disabled:
            for part in (self.allow, self.reason, self.deny, self.input, self.check, self.edit):
                part.disabled = True
            if decision is None:
                self.say("This call is no longer waiting.")
                return
            why = f": {visible(decision.reason)}" if decision.reason else ""
            self.say(f"{DID[decision.verdict]}{why}.", json_html(decision.input) if decision.verdict == "edit" else "")


class ApprovalPanelWidget(ApprovalPanel, ipywidgets.VBox):
    """`.cards` has a card for each call, `.go_on_button` and `.look_button` stand below, `.result` answers."""

    def __init__(self, *args: Any, **kwargs: Any):
        ApprovalPanel.__init__(self, *args, **kwargs)
        self.cards: dict[tuple[str, str], Card] = {}
        self.title, self.result, self.list = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.VBox()
        go_on, look = "Resume the run whose questions are answered", "Show what has been asked since"
        self.go_on_button = button("Go on", go_on, lambda: self.attempt(self.go_on))
        self.look_button = button("Look again", look, lambda: self.attempt(lambda: None))
        below = ipywidgets.HBox([self.go_on_button, self.look_button])
        ipywidgets.VBox.__init__(self, [self.title, self.list, self.result, below])
        self.add_class("course-approval")
        self.show()

    def attempt(self, action: Callable[[], Any], say: Callable[[str], None] | None = None) -> None:
        """What a button does: an error is shown where it was made, in the panel."""
        before = len(self.news)
        try:
            try:
                action()
            finally:
                self.show()
        except Exception as error:
            if len(self.news) == before:  # else it has been told already
                (say or self.say)(f"✗ {error_line(error)}")

    def _working(self, text: str) -> None:
        self.show(busy=True)
        self.say(text)

    def _tell(self, news: Decided) -> Decided:
        ApprovalPanel._tell(self, news)
        self.show()
        self.result.value = status(self._news_html())
        return news

    def say(self, text: str) -> None:
        """Show a text below the cards."""
        self.result.value = status(f"{self._news_html()}{PRE}{html.escape(text)}</pre>")

    def show(self, busy: bool = False) -> None:
        """A card for each call that waits; those no longer waiting are switched off."""
        waiting = {(call.run_id, call.tool_use_id): call for call in self.pending}
        for key, call in waiting.items():
            if key not in self.cards:
                self.cards[key] = Card(self, call)
        for key, card in self.cards.items():
            if key not in waiting:
                card.close_call(self.store.decision(*key))
        self.list.children = list(self.cards.values())
        self.title.value = f"<p><b>Approval panel</b>: {self._title(list(waiting.values()))}</p>"
        self.go_on_button.disabled = busy or self._resume is None or not self.ready

"""A trace to step through: `trace_stepper(run)`; without a mouse `.step(2)` and `.look()`.

A card is one step: what the model was given, what it chose, what ran, why it stopped. `.look("track_parcel")` goes
through the trace in the order that finds most faults first. `.page("trace.html")` writes one page that can be mailed,
with personal data masked. The rows come from `harness/trace_steps.py`; nothing is judged here.
"""

import html
import json
from functools import cache
from pathlib import Path
from typing import Any

from course_kit.classroom.fields import PRE, number_field, status
from course_kit.classroom.shown import Shown
from course_kit.classroom.visible import visible
from course_kit.harness.trace import Trace, trace_of
from course_kit.harness.trace_export import masked
from course_kit.harness.trace_steps import CallRow, Step, steps_of

__all__ = ["Card", "TraceStepper", "look", "trace_stepper"]

LONGEST = 300  # characters of a value on a card


class Card(Shown):
    """A text, shown as it is in a notebook and anywhere else."""

    def __init__(self, text: str):
        self._text = text

    def as_text(self) -> str:
        return self._text

    def as_html(self) -> str:
        return f'<div style="border: 1px solid #888888; padding: 2px 8px">{PRE}{html.escape(self._text)}</pre></div>'


def look(source: Any, meant: str | None = None) -> Card:
    """The order of looking, one line after another: stop reason, tools, raw inputs, validation and retries, one change.

    `meant` is the tool that should have been called, if you know it.
    """
    steps = steps_of(trace_of(source))
    calls = [call for step in steps for call in step.calls]
    hashes = list(dict.fromkeys(step.tools_hash for step in steps))
    ends = ", ".join(f"{step.step_id} {step.stop_reason}" for step in steps) or "no reply at all"
    lines = [f"1 why it stopped    {ends}; the run: {_ended(steps)}"]
    shown = f"{steps[0].tool_count if steps else 0} shown, hash {', then '.join(str(one) for one in hashes)}"
    if meant:
        where = [step.step_id for step in steps if meant in step.tools]
        shown += f"; {meant} is shown in {_listed(where) if where else 'none of them'}"
    lines.append(f"2 seen and meant    {shown}; choice {_listed(dict.fromkeys(step.tool_choice for step in steps))}")
    lines.append("3 raw inputs" + ("" if calls else "        no calls"))
    for call in calls:
        ran = "" if call.input in (None, call.raw_input) else f"   ran as {_json(call.input)}"
        lines.append(f"    {call.step_id} {call.tool} {_json(call.raw_input)}{ran}")
    lines.append("4 contract or run" + ("" if calls else "   nothing to check"))
    lines += [f"    {call.step_id} {_contract(call)}; {_ran(call)}" for call in calls]
    lines.append("5 one variable      Which one thing would you change? Keep question, model and everything else.")
    return Card("\n".join(lines))


class TraceStepper(Shown):
    """A trace as text and HTML everywhere, as a stepper where ipywidgets is installed."""

    def __init__(self, source: Any):
        self.trace = trace_of(source)
        self.complaint = getattr(source, "complaint", "")
        self.steps = steps_of(self.trace)

    def __len__(self) -> int:
        return len(self.steps)

    def step(self, number: int) -> Card:
        """Step `number`, the first is 1; a number outside the trace gives its nearest end."""
        if not self.steps:
            return Card("An empty trace.")
        return Card(step_text(self.steps[min(max(number, 1), len(self)) - 1]))

    def look(self, meant: str | None = None) -> Card:
        """The order of looking, with this trace in hand."""
        return look(self.trace, meant)

    def as_text(self) -> str:
        said = [f'"{self.complaint}"'] if self.complaint else []
        cards = [step_text(step) for step in self.steps] or ["An empty trace."]
        return "\n\n".join([*said, *cards])

    def as_html(self) -> str:
        said = f"<p>“{html.escape(self.complaint)}”</p>" if self.complaint else ""
        return said + "".join(TraceStepper.step(self, number).as_html() for number in range(1, max(len(self), 1) + 1))

    def page(self, path: str | Path | None = None, *, raw: bool = False) -> str:
        """The trace as one HTML page without scripts, masked unless `raw`; with a `path`, it is written there."""
        events = masked([{"event": "complaint", "text": self.complaint}, *self.trace.events], raw)
        shown = TraceStepper(Trace(self.trace.request, events[1:]))
        complaint = f"<p>“{html.escape(events[0]['text'])}”</p>" if self.complaint else ""
        cards = "".join(
            f"<details open><summary>step {step.step_id}: {html.escape(step.stop_reason)}</summary>"
            f"{PRE}{html.escape(step_text(step))}</pre></details>"
            for step in shown.steps
        )
        note = "with raw inputs: do not share it" if raw else "personal data and secrets of a known form are masked"
        page = (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Trace</title>'
            "<style>body { font-family: sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em }"
            " details { border: 1px solid #888; margin: 8px 0; padding: 4px 8px } summary { font-weight: bold }"
            "</style></head><body>"
            f"<h1>Trace</h1>{complaint}<p>{html.escape(self.trace.summary())}; {note}.</p>"
            f"<h2>The order of looking</h2>{PRE}{html.escape(shown.look().as_text())}</pre>"
            f"<h2>Step by step</h2>{cards}</body></html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8", newline="\n")
        return page


def step_text(step: Step) -> str:
    """A step as lines."""
    tools = f"{step.tool_count} tools {step.tools_hash}" if step.tools_hash else "no tools"
    tokens = f"{step.input_tokens} tokens read ({step.cached_tokens} from the cache), {step.output_tokens} written"
    lines = [
        f"[step {step.step_id}] {step.stop_reason}",
        f"  was given  {step.model}, {tools}, choice {step.tool_choice}",
        f"  used       {tokens}{_seconds(step.latency)}",
    ]
    if step.said:
        lines.append(f"  said       {_cut(step.said)}")
    for call in step.calls:
        lines += [f"  call {call.step_id}   {call.tool} {_json(call.raw_input)}"]
        if call.input not in (None, call.raw_input):
            lines.append(f"    ran as   {_json(call.input)}")
        lines += [f"    check    {_contract(call)}", f"    run      {_ran(call)}{_seconds(call.latency)}"]
        if call.result is not None:
            lines.append(f"    result   {_cut(call.result)}")
    if step.stop:
        lines.append(f"  the run    {step.stop}")
    return "\n".join(lines)


def trace_stepper(source: Any) -> TraceStepper:
    """A stepper through a trace; its plain calls are `.step(2)`, `.look("track_parcel")` and `.page("trace.html")`."""
    return _widget()(source)


@cache
def _widget() -> type[TraceStepper]:
    try:
        import ipywidgets
    except ImportError:
        return TraceStepper

    class TraceStepperWidget(TraceStepper, ipywidgets.VBox):
        """`.back`, `.forward` and `.number` choose the step in `.card`; with `.order` it shows the look."""

        def __init__(self, source: Any):
            TraceStepper.__init__(self, source)
            last = max(len(self), 1)
            self.back = ipywidgets.Button(description="Previous", icon="arrow-left", tooltip="Previous step")
            self.forward = ipywidgets.Button(description="Next", icon="arrow-right", tooltip="Next step")
            self.number = number_field("Step", 1, 1, last, f"Step 1 to {last}", name_width="4em")
            self.order = ipywidgets.ToggleButton(description="Look", tooltip="The order of looking", value=False)
            self.card = ipywidgets.HTML()
            self.back.on_click(lambda _: self._go(self.number.value - 1))
            self.forward.on_click(lambda _: self._go(self.number.value + 1))
            self.number.observe(lambda change: self._go(change["new"]), "value")
            self.order.observe(lambda change: self._go(self.number.value), "value")
            said = [ipywidgets.HTML(f"<p>“{html.escape(self.complaint)}”</p>")] if self.complaint else []
            parts = [self.back, self.number, self.forward, self.order]
            row = ipywidgets.HBox(parts, layout={"flex_flow": "row wrap"})  # else a narrow page cuts their texts
            ipywidgets.VBox.__init__(self, [*said, row, self.card])
            self.add_class("course-trace-stepper")
            self._go(1)

        def step(self, number: int) -> Card:
            self._go(number)
            return TraceStepper.step(self, number)

        def _go(self, number: int) -> None:
            number = min(max(number, 1), self.number.max)
            self.number.value = number
            self.back.disabled, self.forward.disabled = number == 1, number == self.number.max
            card = self.look() if self.order.value else TraceStepper.step(self, number)
            self.card.value = status(card.as_html())

    return TraceStepperWidget


# A call in a few words


def _contract(call: CallRow) -> str:
    if call.validation_error is None:
        return "the input fits its schema"
    return "the input does not fit: " + _cut(call.validation_error.rstrip("."))


def _ran(call: CallRow) -> str:
    parts = [f"began {call.starts}×", f"answered {call.results}×"]
    if call.decision:
        parts.insert(0, f"a person said {call.decision}")
    if call.failure:
        parts.append(f"failed ({call.failure})")
    if call.retry:
        parts.append(f"retry {call.retry}")
    if call.result_bytes is not None:
        parts.append(f"{call.result_bytes} bytes{', cut' if call.truncated else ''}")
    return ", ".join(parts)


def _ended(steps: list[Step]) -> str:
    return next((step.stop for step in reversed(steps) if step.stop), "no end was recorded")


def _seconds(latency: float | None) -> str:
    """Times below a second differ from run to run and say nothing."""
    return f", {latency:.1f} s" if latency is not None and latency >= 1 else ""


def _listed(names: Any) -> str:
    return ", ".join(names)


def _json(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 90]} … {line[-80:]}"

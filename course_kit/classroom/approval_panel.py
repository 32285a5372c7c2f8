"""The approval panel: calls that wait for a person, with their true inputs, to allow, deny or edit.

`approval_panel(store)` shows it; without a mouse, `.decide("toolu_01", allow())` does the same. After the last decision
of a run, `resume(run_id)` resumes the run and its text is shown. What is decided, and that it counts once, is kept by
`harness/store.py`. An edited input is checked here against the definition that was sent, and again when the run is
resumed. The buttons are next door, in `approval_widget.py`.
"""

import html
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_kit.classroom.fields import PRE
from course_kit.classroom.shown import Shown
from course_kit.classroom.visible import json_html, visible, visible_json
from course_kit.contract.schema import check_tool_input
from course_kit.errors import CourseKitError
from course_kit.harness.decisions import Decision
from course_kit.harness.store import Pending, RunStore

__all__ = ["DID", "ApprovalPanel", "Decided", "approval_panel", "error_line"]

DID = {"allow": "Allowed", "deny": "Denied", "edit": "Edited"}
Resume = Callable[[str], Any]


@dataclass(frozen=True, repr=False)
class Decided:
    """What came of a decision: a `sentence`, and the `run` where it went on."""

    sentence: str
    run: Any = None

    def __repr__(self) -> str:
        return self.sentence if self.run is None else f"{self.sentence}\n{said_by(self.run)}"


class ApprovalPanel(Shown):
    """The pending calls of a store, or of one run in it: as text and HTML everywhere, as a widget with ipywidgets."""

    def __init__(self, store: RunStore, run_id: str | None = None, *, resume: Resume | None = None, by: str = ""):
        self.store, self.run_id, self.by = store, run_id, by
        self.news: list[Decided] = []
        self._resume: Any = resume
        self._numbers: dict[tuple[str, str], int] = {}  # a call keeps its number as long as the panel lives
        store.pending(run_id)  # an unknown run is said at once

    @property
    def pending(self) -> list[Pending]:
        """The calls that wait now, oldest first."""
        waiting = self.store.pending(self.run_id)
        for call in waiting:
            self._number(call.run_id, call.tool_use_id)
        return waiting

    @property
    def ready(self) -> list[str]:
        """The runs whose questions are all answered and that have not been resumed yet."""
        return [
            run["run_id"]
            for run in self.store.runs()
            if run["stopped"] == "awaiting_approval" and not run["pending"] and self.run_id in (None, run["run_id"])
        ]

    def decide(self, tool_use_id: str, decision: Decision, *, run_id: str | None = None) -> Decided:
        """Decide about a call; the last decision of a run resumes it.

        `run_id` is needed only where calls of two runs share an id.
        """
        run_id, tool = self._find(tool_use_id, run_id)
        self.store.decide(run_id, tool_use_id, decision, by=self.by)
        why = f": {visible(decision.reason)}" if decision.reason else ""
        sentence = f"{DID[decision.verdict]}: call {self._number(run_id, tool_use_id)}, {visible(tool)}{why}."
        left = len(self.store.pending(run_id))
        if left:
            return self._tell(Decided(f"{sentence} {left} more of this run {'waits' if left == 1 else 'wait'}."))
        if self._resume is None:
            return self._tell(Decided(f"{sentence} This run is ready: resume it with resume_agent."))
        return self._go_on(run_id, sentence)

    def problems(self, call: Pending, input: dict[str, Any]) -> str:
        """What in an input does not fit the tool's definition, as the run sent it; empty where it fits."""
        sent = self.store.load(call.run_id).request.get("tools", ())
        schemas = [tool["input_schema"] for tool in sent if tool.get("name") == call.tool and "input_schema" in tool]
        return " ".join(problem.message for schema in schemas for problem in check_tool_input(schema, input).problems)

    def go_on(self, run_id: str | None = None) -> Decided:
        """Resume a run whose questions are answered, such as after a restart; by default the newest."""
        ready = self.ready
        if self._resume is None:
            raise CourseKitError("This panel cannot resume a run: make it with resume=…, or call resume_agent.")
        if run_id is None and not ready:
            raise CourseKitError("No run is ready to go on: decide about the calls that wait.")
        return self._go_on(run_id or ready[0], "All decisions are made.")

    def _go_on(self, run_id: str, sentence: str) -> Decided:
        self._working(f"{sentence} The run goes on …")
        try:
            run = self._resume(run_id)
            if inspect.iscoroutine(run):
                run.close()
                raise CourseKitError("resume must be a plain function: give one that calls resume_agent.")
        except Exception as error:
            self._tell(Decided(f"✗ {sentence} The run could not go on: {error_line(error)}"))
            raise
        return self._tell(Decided(f"{sentence} The run went on.", run))

    def _tell(self, news: Decided) -> Decided:
        self.news.append(news)
        return news

    def _working(self, text: str) -> None:
        """Show that something takes time, where it can be shown."""

    def _find(self, tool_use_id: str, run_id: str | None) -> tuple[str, str]:
        """The run and the tool of a call: of one that waits, else of one whose decision the store will tell."""
        waiting = [(call.run_id, call.tool_use_id) for call in self.pending]
        asked = {
            (row["run_id"], row["tool"]): (row["run_id"], tool_use_id) in waiting
            for row in self.store.audit(run_id or self.run_id)
            if row["tool_use_id"] == tool_use_id
        }
        found = [call for call, waits in asked.items() if waits] or list(asked)
        if len(found) > 1:
            raise CourseKitError(f"Calls of {len(found)} runs have the id {tool_use_id}: name the run with run_id=….")
        if not found:
            ids = ", ".join(id for _, id in waiting)
            raise CourseKitError(f"There is no call {tool_use_id!r} here; waiting: {ids or 'none'}.")
        return found[0]

    def _number(self, run_id: str, tool_use_id: str) -> int:
        return self._numbers.setdefault((run_id, tool_use_id), len(self._numbers) + 1)

    # What a notebook stores holds neither ids nor times, so that it is the same in every run.

    def as_text(self) -> str:
        waiting = self.pending
        lines = [f"Approval panel: {self._title(waiting)}"]
        for call in waiting:
            lines += [f"{self._number(call.run_id, call.tool_use_id)}. {visible(call.tool)}", visible_json(call.input)]
        lines += map(repr, self.news)
        if waiting:
            lines.append("Run this cell to decide, or write: panel.decide(panel.pending[0].tool_use_id, allow())")
        return "\n".join(lines)

    def as_html(self) -> str:
        waiting = self.pending
        cards = "".join(f"{self._heading(call)}{json_html(call.input)}" for call in waiting)
        how = "<p><i>Run this cell to decide.</i></p>" if waiting else ""
        return f"<p><b>Approval panel</b>: {self._title(waiting)}</p>{cards}{self._news_html()}{how}"

    def _title(self, waiting: list[Pending]) -> str:
        if not waiting:
            return "nothing waits for a decision"
        return "1 call waits for you" if len(waiting) == 1 else f"{len(waiting)} calls wait for you"

    def _heading(self, call: Pending) -> str:
        return f"<p><b>Call {self._number(call.run_id, call.tool_use_id)}: {html.escape(visible(call.tool))}</b></p>"

    def _news_html(self) -> str:
        return "".join(f"{PRE}{html.escape(repr(news))}</pre>" for news in self.news)


def approval_panel(
    store: RunStore, run_id: str | None = None, *, resume: Resume | None = None, by: str = "the approval panel"
) -> ApprovalPanel:
    """A panel of the calls that wait; its plain calls are `.decide("toolu_01", allow())` and `.go_on()`.

    `resume` is a function `run_id -> Run`, called after the last decision of a run:
    `lambda run_id: resume_agent(client, store, run_id, tools=tools)`. `by` is the name that the log keeps.
    """
    return _widget()(store, run_id, resume=resume, by=by)


def said_by(run: Any) -> str:
    """What a run came to, without hidden characters."""
    text = "\n".join(visible(line) for line in (getattr(run, "text", "") or "(no text)").split("\n"))
    return f"{text}\n[stopped: {getattr(run, 'stopped', 'unknown')}]"


def error_line(error: Exception) -> str:
    """An error as one line for the panel: the course's own sentence, of another kind also its type."""
    said = visible(str(error)) or "no reason was given"
    return said if isinstance(error, CourseKitError) else f"{type(error).__name__}: {said}"


@cache
def _widget() -> type[ApprovalPanel]:
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        return ApprovalPanel
    from course_kit.classroom.approval_widget import ApprovalPanelWidget

    return ApprovalPanelWidget

"""The crash button: kill a process at a chosen line around a refund, start it again, and look into the ledger.

`crash_button()` shows it; without a mouse, `.kill(5)` kills the program before its line 5, `.everywhere()` before each
line in turn. The program is a text that you may change. Each life is a separate process, ended by the system at once
(`kill -9`): no `except`, no `finally`, nothing is tidied up. Only what is on the disk survives: the shop with its
ledger, and the program's notes. The processes are next door, in `crash_process.py`.
"""

import html
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_kit.classroom.crash_process import CENTS, ORDER, SECONDS
from course_kit.classroom.fields import choice_field, choice_rules, number_field, on_press, status
from course_kit.classroom.shown import Shown
from course_kit.errors import CourseKitError

__all__ = ["CENTS", "ORDER", "PROGRAMS", "Crash", "CrashButton", "crash_button", "crashes", "everywhere", "numbered"]

PROGRAMS = {
    "note afterwards": """\
def program(shop, notes):
    if "refund" not in notes:
        order = shop.query_order(ORDER)
        shop.refund_order(ORDER, CENTS, "damaged")
        notes["refund"] = "paid"
    return "done"
""",
    "note before": """\
def program(shop, notes):
    if "refund" not in notes:
        order = shop.query_order(ORDER)
        notes["refund"] = "paid"
        shop.refund_order(ORDER, CENTS, "damaged")
    return "done"
""",
    "with a key": """\
def program(shop, notes):
    if "refund" not in notes:
        key = idempotency_key("ticket-118", "refund cup", {"order_id": ORDER, "amount_cents": CENTS})
        shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)
        notes["refund"] = "paid"
    return "done"
""",
}


@dataclass(frozen=True)
class Crash:
    """What became of one program: killed before `line`, then begun again.

    `at_death` and `refunds` are how many refunds the ledger held when it died and in the end; `said` is what the second
    life returned or raised.
    """

    line: int
    code: str
    killed: bool
    at_death: int
    refunds: int
    said: str

    def __repr__(self) -> str:
        if not self.killed:
            first = f"Not killed: line {self.line} was never reached."
        else:
            first = f"Killed before line {self.line}: {self.code}"
        verdict = {0: "the money never left", 1: "the money left once"}.get(
            self.refunds, f"the money left {self.refunds} times"
        )
        return (
            f"{first}\n  the ledger when it died   {_count(self.at_death)}\n  begun again, it said      {self.said}\n"
            f"  the ledger in the end     {_count(self.refunds)}: {verdict}"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def crashes(jobs: Iterable[tuple[str | Callable[..., Any], int]]) -> list[Crash]:
    """Kill each program before its line, and begin it again: `crashes([(PROGRAMS["with a key"], 5)])`.

    A program is the text of a function `program(shop, notes)`, or such a function that needs nothing from outside.
    """
    asked = [{"program": _source(program), "line": line} for program, line in jobs]
    folder = tempfile.mkdtemp(prefix="course-crash-")
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "course_kit.classroom.crash_process", folder],
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
            timeout=(SECONDS * 2 + 5) * len(asked) + 30,
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise CourseKitError(f"The processes could not be started ({last}): restart the kernel and try again.")
    return [Crash(**one) for one in json.loads(ran.stdout)]


def everywhere(programs: Mapping[str, str | Callable[..., Any]]) -> dict[str, dict[int, int]]:
    """Each program killed before each of its lines, and its refunds then: `{"with a key": {2: 1, 3: 1, 4: 1}}`."""
    jobs = [
        (name, text, number)
        for name, text in ((name, _source(program)) for name, program in programs.items())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("def ")  # what is never reached need not be tried
    ]
    found: dict[str, dict[int, int]] = {name: {} for name in programs}
    for (name, *_), one in zip(jobs, crashes((text, number) for _, text, number in jobs), strict=True):
        if one.killed:
            found[name][one.line] = one.refunds
    return found


class CrashButton(Shown):
    """A program and what killed it so far, line by line."""

    def __init__(self, program: str | Callable[..., Any] = "with a key"):
        self.program = _source(program)
        self.last: Crash | None = None

    def kill(self, line: int, program: str | Callable[..., Any] | None = None) -> Crash:
        """Kill the program before this line, begin it again, and say what the ledger holds."""
        self.program = _source(self.program if program is None else program)
        lines = self.program.splitlines()
        if not 1 <= line <= len(lines):
            raise ValueError(f"There is no line {line}: the program has the lines 1 to {len(lines)}.")
        [self.last] = crashes([(self.program, line)])
        return self.last

    def everywhere(self, program: str | Callable[..., Any] | None = None) -> dict[int, int]:
        """The number of refunds in the end, for each line it is killed before: `{2: 1, 3: 1, 4: 1, 5: 2, 6: 1}`."""
        self.program = _source(self.program if program is None else program)
        return everywhere({"": self.program})[""]

    def as_text(self) -> str:
        news = [] if self.last is None else [repr(self.last)]
        how = "Run this cell to press it, or write: button.kill(5), button.everywhere()"
        return "\n".join(["Crash button", numbered(self.program), *news, how])

    def as_html(self) -> str:
        return f"<p><b>Crash button</b></p><pre>{html.escape(self.as_text().split(chr(10), 1)[1])}</pre>"


def crash_button(program: str | Callable[..., Any] = "with a key") -> CrashButton:
    """A crash button for one of the lesson's programs or your own; its plain calls are `.kill(5)`, `.everywhere()`."""
    return _widget()(program)


@cache
def _widget() -> type[CrashButton]:
    try:
        import ipywidgets
    except ImportError:
        return CrashButton

    class CrashButtonWidget(CrashButton, ipywidgets.VBox):
        """`.choice`, `.text`, `.line` and `.button` are the parts to use; `.result` answers."""

        def __init__(self, program: str | Callable[..., Any] = "with a key"):
            CrashButton.__init__(self, program)
            style, names = {"description_width": "7em"}, [*PROGRAMS, "my own"]
            self.choice = choice_field("Program", names, _name(self.program), "One of the lesson's programs")
            self.text = ipywidgets.Textarea(
                value=self.program,
                description="Its text",
                tooltip="The program, to be changed",
                continuous_update=False,  # a press on the button would overtake what is still being sent
                rows=9,
                layout={"width": "97%"},
                style=style,
            )
            self.line = number_field("Kill before", 5, 1, 99, "The number of the line it does not reach")
            self.code = ipywidgets.HTML()
            self.button = ipywidgets.Button(description="Kill -9", tooltip="Kill it there and begin it again")
            self.result = ipywidgets.HTML()
            self._lines()
            self.text.observe(lambda _: self._written(), "value")
            self.line.observe(lambda _: self._lines(), "value")
            self.choice.observe(lambda _: self._chosen(), "value")
            on_press(self.button, [self.text, self.line], self._pressed)
            where = ipywidgets.HBox([self.line, self.code])
            ipywidgets.VBox.__init__(self, [choice_rules(), self.choice, self.text, where, self.button, self.result])
            self.add_class("course-crash-button")

        def kill(self, line: int, program: str | Callable[..., Any] | None = None) -> Crash:
            crash = CrashButton.kill(self, line, program)
            self.text.value, self.line.value = self.program, line
            self.result.value = status(crash._repr_html_())
            return crash

        def _chosen(self) -> None:
            self.text.value = PROGRAMS.get(self.choice.value, self.text.value)

        def _written(self) -> None:
            self.choice.value = _name(self.text.value)
            self._lines()

        def _lines(self) -> None:
            self.program = self.text.value
            lines = self.program.splitlines() or [""]
            self.line.max = len(lines)  # a number beyond the end becomes the last line's
            self.code.value = f"<code>{html.escape(lines[self.line.value - 1].strip())}</code>"

        def _pressed(self) -> None:
            self.button.disabled = True
            try:  # an exception in a handler leaves no trace in the notebook
                self.kill(self.line.value)
            except Exception as error:
                self.result.value = status(f"<p>✗ This could not be run: {html.escape(str(error))}</p>")
            finally:
                self.button.disabled = False

    return CrashButtonWidget


def numbered(program: str) -> str:
    """The text of a program, by its name or itself, with its lines numbered."""
    lines = enumerate(PROGRAMS.get(program, program).splitlines(), 1)
    return "\n".join(f"  {number}  {line}" for number, line in lines)


def _name(program: str) -> str:
    return next((name for name, text in PROGRAMS.items() if text == program), "my own")


def _source(program: str | Callable[..., Any]) -> str:
    if callable(program):
        text = textwrap.dedent(inspect.getsource(program))
        return text.replace(f"def {program.__name__}(", "def program(", 1)
    text = PROGRAMS.get(program, program)
    if "def program(" not in text:
        raise ValueError(f"The text has no `def program(shop, notes):`; by name there are {', '.join(PROGRAMS)}.")
    return text


def _count(refunds: int) -> str:
    return f"{refunds} refund{'' if refunds == 1 else 's'}"

"""A test before the course and one after it: twelve questions each, one for each of the lessons 01 to 12.

`pre_test()` and `post_test()` show them, `course test before` asks in a terminal. Question 3 of both asks for the same
idea in another case, so the two can be compared line by line. An answer is final, and until both tests are done
nothing is told but how many were right: anyone who reads the reasons of the first has practised for the second.

The questions are in `quizzes/course/`; answers are kept by `progress.py` under ids such as `00.before.3`, which count
for no lesson and never come back in recall.
"""

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_kit.classroom import progress
from course_kit.classroom.fields import on_press
from course_kit.classroom.quiz import QUIZ_FOLDER, STYLE, Question, Quiz
from course_kit.classroom.shown import Shown, to_html
from course_kit.errors import CourseKitError, SetupError

__all__ = ["Compared", "Comparison", "CourseTest", "ask_one_by_one", "comparison", "post_test", "pre_test", "questions"]

NAMES = ("before", "after")
CALLS = {"before": "pre_test()", "after": "post_test()"}


def pre_test() -> "CourseTest":
    """The test before the course; without a mouse: `pre_test().answer(1, "b")`."""
    return _widget()("before")


def post_test() -> "CourseTest":
    """The test after the course; when both are done, it shows them side by side."""
    return _widget()("after")


@cache
def questions(name: str) -> tuple[Question, ...]:
    """The questions of a test, `"before"` or `"after"`."""
    if name not in NAMES:
        raise CourseKitError(f"There is no test {name!r}: choose before or after.")
    file = QUIZ_FOLDER / "course" / f"{name}.json"
    return tuple(map(Question.read, json.loads(file.read_text(encoding="utf-8"))))


class CourseTest(Shown):
    """One of the two tests: its open questions, or, when it is done, the count; as text and HTML everywhere."""

    def __init__(self, name: str):
        self.name = name
        self.questions = questions(name)

    @property
    def given(self) -> dict[str, bool]:
        """The ids that are answered, and whether rightly. For the course to count with, not to be shown."""
        known, first = {question.id for question in self.questions}, dict[str, bool]()
        for answer in progress.answers():  # oldest first: a later one changes nothing
            if answer.question_id in known:
                first.setdefault(answer.question_id, answer.right)
        return first

    @property
    def unanswered(self) -> list[Question]:
        """The questions without an answer."""
        given = self.given
        return [question for question in self.questions if question.id not in given]

    def answer(self, number: int, option: str) -> str:
        """Answer one question, once: `.answer(3, "b")`. It tells what is left and nothing else."""
        if not isinstance(number, int) or not 1 <= number <= len(self.questions):
            return f"There is no question {number}: choose from 1 to {len(self.questions)}."
        question = self.questions[number - 1]
        if question not in self.unanswered:
            return f"Question {number} is already answered: the first answer counts."
        feedback = Quiz(question).grade([option])
        if feedback.right is None:
            letters = ", ".join(each.id for each in question.options)
            return f"Question {number} has no option {option!r}: choose from {letters}."
        progress.record_answer(question.id, [option], feedback.right)
        return self.state()

    def state(self) -> str:
        """One sentence: how many questions are left, or how many were right."""
        if left := len(self.unanswered):
            return f"{left} of {len(self.questions)} questions left."
        right = sum(self.given.values())
        other = next(name for name in NAMES if name != self.name)
        more = "" if not CourseTest(other).unanswered else f" The answers are shown once the {other} test is done, too."
        return f"{right} of {len(self.questions)} right in the {self.name} test.{more}"

    def as_text(self) -> str:
        open = self.unanswered
        if not open:
            return "\n\n".join([self.state(), *([str(comparison())] if _both_done() else [])])
        asked = [
            "\n".join(
                [f"{self.number(question)}. {question.question}", *(f"  {o.id}) {o.text}" for o in question.options)]
            )
            for question in open
        ]
        call = f'Write {CALLS[self.name]}.answer({self.number(open[0])}, "a"), and so on. An answer is final.'
        return "\n\n".join([self.state(), *asked, call])

    def as_html(self) -> str:
        if not self.unanswered:
            shown = comparison().as_html() if _both_done() else ""
            return f"<p>{html.escape(self.state())}</p>{shown}"
        items = ""
        for question in self.unanswered:
            options = "".join(f"<li>{to_html(f'{o.id}) {o.text}')}</li>" for o in question.options)
            items += f'<li value="{self.number(question)}">{to_html(question.question)}<ul>{options}</ul></li>'
        return f"<p>{html.escape(self.state())}</p><ol>{items}</ol><p><i>Run this cell to answer.</i></p>"

    def number(self, question: Question) -> int:
        """The place of a question in its test, counted from 1."""
        return self.questions.index(question) + 1


@dataclass(frozen=True)
class Compared:
    """One idea in both tests."""

    idea: str
    lesson: str
    before: bool
    after: bool
    right: str  # the right option of the test after it, with its reason


class Comparison(Shown):
    """Both tests side by side, idea by idea."""

    def __init__(self, rows: tuple[Compared, ...]):
        self.rows = rows

    def sentences(self) -> list[str]:
        """What the two tests say together, and how far it can be trusted."""
        from course_kit.evaluation.intervals import sign_test

        rows, total = self.rows, len(self.rows)
        better = sum(row.after and not row.before for row in rows)
        worse = sum(row.before and not row.after for row in rows)
        said = [
            f"Before: {sum(row.before for row in rows)} of {total} right. After: {sum(row.after for row in rows)}.",
            f"{better} got better and {worse} worse; if nothing had changed, chance alone would split them at least "
            f"as unevenly in {sign_test(better, worse):.0%} of cases.",
        ]
        again = sorted({row.lesson for row in rows if not row.after})
        return [*said, f"Lessons to read again: {', '.join(again)}."] if again else said

    def as_text(self) -> str:
        wide = max(len(row.idea) for row in self.rows) + 5
        marks = {True: "right", False: "-"}
        lines = [f"{'':{wide}} before  after"]
        lines += [
            f"{row.idea} ({row.lesson})".ljust(wide) + f" {marks[row.before]:7} {marks[row.after]}" for row in self.rows
        ]
        lines += ["", *self.sentences()]
        missed = [row for row in self.rows if not row.after]
        return "\n".join([*lines, *(f"\n{row.idea}: {row.right}" for row in missed)])

    __str__ = as_text

    def as_html(self) -> str:
        marks = {True: "right", False: "not yet"}
        rows = "".join(
            f'<tr><th scope="row">{html.escape(row.idea)}</th><td>{row.lesson}</td><td>{marks[row.before]}</td>'
            f"<td>{marks[row.after]}</td></tr>"
            for row in self.rows
        )
        missed = "".join(
            f"<li>{html.escape(row.idea)}: {to_html(row.right)}</li>" for row in self.rows if not row.after
        )
        head = "".join(f'<th scope="col">{word}</th>' for word in ("idea", "lesson", "before", "after"))
        said = "".join(f"<p>{html.escape(one)}</p>" for one in self.sentences())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"{table}{said}<ul>{missed}</ul>" if missed else f"{table}{said}"


def comparison() -> Comparison:
    """Both tests side by side; before both are done there is nothing to see."""
    if open := [name for name in NAMES if CourseTest(name).unanswered]:
        raise CourseKitError(f"There is nothing to compare yet: `course test {open[0]}` is not done.")
    first, second = (CourseTest(name).given for name in NAMES)
    rows = []
    for before, after in zip(questions("before"), questions("after"), strict=True):
        idea, lesson = after.tags
        option = next(option for option in after.options if option.right)
        right = f"{after.question} {option.text}. {option.why}"
        rows.append(Compared(idea, lesson.removeprefix("lesson "), first[before.id], second[after.id], right))
    return Comparison(tuple(rows))


def ask_one_by_one(name: str, ask: Callable[[str], str], say: Callable[[str], None]) -> None:
    """The open questions of a test, in a terminal; `q` stops, and the rest is asked the next time."""
    test = CourseTest(name)
    for question in test.unanswered:
        number = test.number(question)
        say("\n".join([f"\n{number}. {question.question}", *(f"  {o.id}) {o.text}" for o in question.options)]))
        while question in test.unanswered:
            given = ask("Your answer").strip().lower()
            if given == "q":
                return say(f"{test.state()} The rest comes next time.")
            said = test.answer(number, given)
            if question in test.unanswered:
                say(said)
    say(f"\n{test.as_text()}")


def _both_done() -> bool:
    return not any(CourseTest(name).unanswered for name in NAMES)


@cache
def _widget() -> type[CourseTest]:
    """The same as an ipywidgets box, or as it is where ipywidgets is missing."""
    try:
        import ipywidgets
    except ImportError:
        return CourseTest

    class CourseTestWidget(CourseTest, ipywidgets.VBox):
        """`.choices` has a group of options for each open question; `.button` hands all of them in."""

        def __init__(self, name: str):
            CourseTest.__init__(self, name)
            self.choices: dict[int, Any] = {}
            shown: list[Any] = []
            try:
                open = self.unanswered
            except SetupError as error:
                ipywidgets.VBox.__init__(self, [ipywidgets.HTML(f"<p>{html.escape(str(error))}</p>")])
                return
            for question in open:
                number = self.number(question)
                pairs = [(f"{o.id}) {o.text}".replace("`", ""), o.id) for o in question.options]
                self.choices[number] = ipywidgets.RadioButtons(
                    options=pairs, value=None, layout={"width": "auto"}, tooltip=f"Options of question {number}"
                )
                shown += [
                    ipywidgets.HTML(f"<p><b>{number}.</b> {to_html(question.question)}</p>"),
                    self.choices[number],
                ]
            self.button = ipywidgets.Button(description="Hand in", tooltip=f"Hand in the {name} test")
            on_press(self.button, list(self.choices.values()), self._clicked)
            self.said = ipywidgets.HTML("" if open else self._outcome())
            start = [ipywidgets.HTML(STYLE)]
            ipywidgets.VBox.__init__(self, [*start, *shown, *([self.button] if open else []), self.said])
            self.add_class("course-quiz")

        def _clicked(self) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                empty = [number for number, choice in self.choices.items() if choice.value is None]
                if empty:
                    left = ", ".join(map(str, empty))
                    self._tell(f"Nothing is handed in yet. Answer these first: {left}.")
                    return
                for number, choice in self.choices.items():
                    self.answer(number, choice.value)
                    choice.disabled = True
                self.button.disabled = True
                self.said.value = self._outcome()
            except Exception as error:
                self._tell(f"This could not be kept: {error}")

        def _outcome(self) -> str:
            return f'<div role="status">{CourseTest.as_html(self)}</div>'

        def _tell(self, sentence: str) -> None:
            self.said.value = f'<p role="status">{html.escape(sentence)}</p>'

    return CourseTestWidget

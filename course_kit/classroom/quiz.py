"""Checkpoint questions: `quiz("01.2")` shows one, `quiz("01.2").answer("b")` answers it without a mouse.

Questions are in `quizzes/NN.json`; every option has its reason. An answer is scored by option ids, never by
position; the order shown is the file's. The key stays in the kernel: what a notebook stores is the question and its
options. Answers are kept by `progress.py`, and the last one is shown again in the live widget.
"""

import difflib
import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from course_kit.classroom import progress
from course_kit.classroom.fields import on_press
from course_kit.classroom.shown import Shown, to_html
from course_kit.errors import CourseKitError, SetupError

__all__ = [
    "Feedback",
    "Option",
    "Question",
    "Quiz",
    "QuizGroup",
    "question_ids",
    "quiz",
]

QUIZ_FOLDER = Path(__file__).parent / "quizzes"
# The last rule is for all printed text of a lesson: JupyterLab breaks its long lines in the middle of a word.
STYLE = """<style>
.course-quiz .widget-html-content { line-height: 1.5 }
.course-quiz .widget-radio-box label, .course-quiz .widget-checkbox label, .course-quiz .widget-label-basic {
  height: auto; white-space: normal; line-height: 1.5; margin: 2px 0; overflow: visible }
.course-quiz .widget-radio-box label {
  display: flex; flex-direction: row-reverse; justify-content: flex-end; align-items: flex-start }
.course-quiz .widget-radio-box input { flex: none; margin: 0 8px 0 1px }
.course-quiz .widget-checkbox { height: auto }
.jp-OutputArea .jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere }
</style>"""


@dataclass(frozen=True)
class Option:
    """One answer that can be chosen, and why it is right or not."""

    id: str
    text: str
    right: bool
    why: str


@dataclass(frozen=True)
class Question:
    """A question as its file holds it. `kind` is `"single"` (one option is right) or `"multiple"`."""

    id: str
    kind: str
    question: str
    options: tuple[Option, ...]
    tags: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Question":
        """`{"id": "01.2", "kind": "single", "question": …, "options": [{"id", "text", "right", "why"}, …]}`"""
        options = tuple(
            Option(
                str(option.get("id", "")), option.get("text", ""), option.get("right") is True, option.get("why", "")
            )
            for option in data.get("options", ())
        )
        tags = tuple(data.get("tags", ()))
        return cls(str(data.get("id", "")), data.get("kind", "single"), data.get("question", ""), options, tags)

    @property
    def right_ids(self) -> frozenset[str]:
        """The ids of the options that are right."""
        return frozenset(option.id for option in self.options if option.right)


@dataclass(frozen=True)
class Feedback:
    """What an answer gets back. `right` is None when nothing was graded. Shown as text or HTML."""

    right: bool | None
    sentence: str
    chosen: tuple[Option, ...] = ()
    note: str = ""

    @property
    def option_ids(self) -> tuple[str, ...]:
        """The ids of the options that were chosen."""
        return tuple(option.id for option in self.chosen)

    def __str__(self) -> str:
        lines = [self.sentence, *(f"  {o.id}) {o.text}\n     {o.why}" for o in self.chosen), self.note]
        return "\n".join(filter(None, lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        name, mark = {True: ("quiz-ok", "✓"), False: ("quiz-not-yet", "✗"), None: ("quiz-note", "·")}[self.right]
        reasons = "".join(f"<li>{to_html(f'{o.id}) {o.text}')}<br>{to_html(o.why)}</li>" for o in self.chosen)
        return (
            f'<div class="{name}" role="status"><p><b>{mark} {html.escape(self.sentence)}</b></p>'
            f"{f'<ul>{reasons}</ul>' if reasons else ''}{f'<p>{html.escape(self.note)}</p>' if self.note else ''}</div>"
        )


class Quiz(Shown):
    """One question: as text and HTML everywhere, as a widget where ipywidgets is installed."""

    def __init__(self, question: Question, *, fresh: bool = False):
        self.question = question

    def answer(self, *option_ids: str | Iterable[str]) -> Feedback:
        """Grade and keep an answer: `.answer("b")`, or `.answer("a", "c")` where several are right."""
        chosen = [id for given in option_ids for id in ([given] if isinstance(given, str) else given)]
        feedback = self.grade(chosen)
        if feedback.right is None:
            return feedback
        try:
            progress.record_answer(self.question.id, chosen, feedback.right)
        except SetupError as error:
            return replace(feedback, note=f"This answer was not kept. {error}")
        return feedback

    def grade(self, chosen: Iterable[str]) -> Feedback:
        """Grade an answer without keeping it."""
        question, options = self.question, {option.id: option for option in self.question.options}
        chosen = list(dict.fromkeys(chosen))
        strange = [id for id in chosen if id not in options]
        if strange:
            return Feedback(None, f"Question {question.id} has no option {strange[0]!r}: choose from {_list(options)}.")
        if not chosen:
            return Feedback(None, "Nothing is chosen yet: choose an option, then check.")
        if question.kind == "single" and len(chosen) > 1:
            return Feedback(None, f"Question {question.id} takes one option, but {len(chosen)} were given: choose one.")
        right = frozenset(chosen) == question.right_ids
        incomplete = frozenset(chosen) < question.right_ids
        sentence = (
            "Right." if right else "Not yet: what you chose is right, but not complete." if incomplete else "Not yet."
        )
        return Feedback(right, sentence, tuple(option for option in question.options if option.id in chosen))

    def asked(self) -> str:
        """The question and its options, as text."""
        question = self.question
        head = f"Question {question.id} ({_choose(question)})"
        return "\n".join([head, question.question, *(f"  {option.id}) {option.text}" for option in question.options)])

    def as_text(self) -> str:
        question = self.question
        ids = ", ".join(f'"{option.id}"' for option in question.options[: 1 if question.kind == "single" else 2])
        return f'{self.asked()}\nRun this cell to answer, or write: quiz("{question.id}").answer({ids})'

    def as_html(self) -> str:
        options = "".join(f"<li>{to_html(f'{option.id}) {option.text}')}</li>" for option in self.question.options)
        return f"{self._head()}<ul>{options}</ul><p><i>Run this cell to answer.</i></p>"

    def _head(self) -> str:
        question = self.question
        return f"<p><b>Question {html.escape(question.id)}</b> ({_choose(question)})</p>{to_html(question.question)}"


class QuizGroup(Shown):
    """Several questions in a row, such as `quiz("01.recall")`; each is also `quiz("01.recall.1")` by itself."""

    def __init__(self, quizzes: list[Quiz]):
        self.quizzes = quizzes

    def answer(self, question_id: str, *option_ids: str) -> Feedback:
        """Answer one of them by its whole id or its last part: `quiz("01.recall").answer("1", "b")`."""
        for each in self.quizzes:
            if question_id in (each.question.id, each.question.id.rpartition(".")[2]):
                return each.answer(*option_ids)
        ids = _list(each.question.id for each in self.quizzes)
        return Feedback(None, f"There is no question {question_id!r} here: choose from {ids}.")

    def as_text(self) -> str:
        return "\n\n".join(each.as_text() for each in self.quizzes)

    def as_html(self) -> str:
        return "<hr>".join(each.as_html() for each in self.quizzes)


@cache
def _widgets() -> tuple[type[Quiz], type[QuizGroup]]:
    """The same two classes as ipywidgets boxes, or as they are where ipywidgets is missing."""
    try:
        import ipywidgets
    except ImportError:
        return Quiz, QuizGroup

    class QuizWidget(Quiz, ipywidgets.VBox):
        """`.choices` (RadioButtons, or a box of Checkboxes), `.button` and `.feedback` are the parts to click."""

        def __init__(self, question: Question, *, fresh: bool = False):
            Quiz.__init__(self, question)
            # Labels are plain text: the marks around code would be shown as they are.
            labels = [f"{option.id}) {option.text}".replace("`", "") for option in question.options]
            wide = {"width": "auto"}
            pairs = list(zip(labels, (option.id for option in question.options), strict=True))
            name = f"Options of question {question.id}"
            if question.kind == "single":
                self.choices = ipywidgets.RadioButtons(options=pairs, value=None, layout=wide, tooltip=name)
            else:
                boxes = [ipywidgets.Checkbox(description=label, indent=False, layout=wide) for label in labels]
                self.choices = ipywidgets.VBox(boxes)  # a box with a tooltip does not draw (ipywidgets 8.1)
            self.button = ipywidgets.Button(description="Check", tooltip=f"Check question {question.id}")
            fields = [self.choices] if question.kind == "single" else self.choices.children
            on_press(self.button, fields, self._clicked)
            self.feedback = ipywidgets.HTML()
            head = ipywidgets.HTML(STYLE + self._head())
            ipywidgets.VBox.__init__(self, [head, self.choices, self.button, self.feedback])
            self.add_class("course-quiz")
            if not fresh:
                self._show_last_answer()

        @property
        def chosen(self) -> list[str]:
            if self.question.kind == "single":
                return [self.choices.value] if self.choices.value is not None else []
            return [option.id for option, box in self._boxes() if box.value]

        def _boxes(self) -> Iterable[tuple[Option, Any]]:
            return zip(self.question.options, self.choices.children, strict=True)

        def answer(self, *option_ids: str | Iterable[str]) -> Feedback:
            feedback = Quiz.answer(self, *option_ids)
            self._show(feedback)
            return feedback

        def _clicked(self) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                self.answer(self.chosen)
            except Exception as error:
                self._show(Feedback(None, f"This could not be checked: {error}"))

        def _show(self, feedback: Feedback) -> None:
            self.feedback.value = feedback._repr_html_()
            if feedback.right is None:
                return
            if self.question.kind == "single":
                self.choices.value = feedback.option_ids[0]
            else:
                for option, box in self._boxes():
                    box.value = option.id in feedback.option_ids

        def _show_last_answer(self) -> None:
            try:
                last = progress.last_answer(self.question.id)
            except SetupError:
                return  # said when an answer is given
            feedback = self.grade(last.option_ids) if last else None
            if feedback and feedback.right is not None:  # None: the question has changed since
                self._show(feedback)

    class QuizGroupWidget(QuizGroup, ipywidgets.VBox):
        def __init__(self, quizzes: list[Quiz]):
            QuizGroup.__init__(self, quizzes)
            ipywidgets.VBox.__init__(self, quizzes)

    return QuizWidget, QuizGroupWidget


def quiz(id: str, *, fresh: bool = False) -> Quiz | QuizGroup:
    """The question with this id, or all whose ids begin with it: `quiz("01.2")`, `quiz("01.recall")`.

    With `fresh` an earlier answer is not shown.
    """
    lesson, _, rest = str(id).partition(".")
    wanted = f"{lesson.zfill(2)}.{rest}"
    known = {question.id: question for question in _questions()}
    one, group = _widgets()
    if wanted in known:
        return one(known[wanted], fresh=fresh)
    found = [each for id, each in known.items() if id.startswith(f"{wanted}.")]
    if found:
        return group([one(question, fresh=fresh) for question in found])
    nearest = difflib.get_close_matches(wanted, known, n=1, cutoff=0)
    hint = f"the nearest is {nearest[0]!r}" if nearest else "no questions are installed, so install course-kit again"
    raise CourseKitError(f"There is no question {id!r}: {hint}.")


def question_ids() -> list[str]:
    """The ids of all questions, lesson by lesson, in the order of their files."""
    return [question.id for question in _questions()]


def _questions() -> list[Question]:
    questions = []
    for file in sorted(QUIZ_FOLDER.glob("*.json")):
        try:
            questions += [Question.read(item) for item in json.loads(file.read_text(encoding="utf-8"))]
        except (ValueError, AttributeError, TypeError) as error:
            raise CourseKitError(f"{file.name} is not a list of questions: {error}. Fix the file.") from error
    return questions


def _choose(question: Question) -> str:
    return "choose one" if question.kind == "single" else "choose all that are right"


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)

"""The cards of all lessons as one interview: read the question, say your answer aloud, then unfold.

`interview()` shows them; without a mouse `.ask(3)`, `.answer(3)`. The cards are read from the lessons, where each is
under "Say it in one breath": nothing is written twice.
"""

import html
import json
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from course_kit.classroom.fields import status
from course_kit.classroom.shown import Shown, to_html
from course_kit.classroom.workspace import course_files

__all__ = ["Card", "Interview", "cards", "interview"]

EMPHASIS = re.compile(r"\*+([^*]+)\*+")
HEADING = "## Say it in one breath"
CARD = re.compile(r"\*\*(?P<question>.+?)\*\*\s*(?P<answer>.+)", re.DOTALL)
WRONG = re.compile(r"\*\"(?P<said>.+?)\"\*\s*(?P<why>.+)", re.DOTALL)


@dataclass(frozen=True)
class Card:
    """A question, a good answer, and wrong answers you may hear, each with what is wrong with it."""

    lesson: str
    question: str
    answer: str
    heard: tuple[tuple[str, str], ...] = field(default=())

    def as_text(self) -> str:
        """The card as plain text."""
        lines = [f"{self.question}  (lesson {self.lesson})", "", self.answer]
        lines += [f'\nOne hears: "{said}"\n  {why}' for said, why in self.heard]
        return "\n".join(lines)

    def as_html(self) -> str:
        """The card as HTML, folded."""
        heard = "".join(f"<li><i>“{to_html(said)}”</i><br>{to_html(why)}</li>" for said, why in self.heard)
        return (
            f"<details><summary><b>{to_html(self.question)}</b> <small>lesson {self.lesson}</small></summary>"
            f"<p>{to_html(self.answer)}</p>{f'<p>One hears:</p><ul>{heard}</ul>' if heard else ''}</details>"
        )


def cards(folder: Path | None = None) -> list[Card]:
    """The cards of lessons 01 to 12, in order."""
    found: list[Card] = []
    for path in sorted((folder or course_files() / "notebooks").glob("[0-8][0-9]_*.ipynb")):
        if path.stem[:2] > "12":
            continue
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            _, heading, text = "".join(cell["source"]).partition(HEADING)
            if cell["cell_type"] == "markdown" and heading:
                found += _cards_of(path.stem[:2], text)
    return found


def _cards_of(lesson: str, text: str) -> list[Card]:
    """The cards of a section: a quoted block is a question with its answer, list items are the wrong answers."""
    made: list[Card] = []
    for block in re.split(r"\n\s*\n", re.split(r"\n## ", text)[0]):
        if block.lstrip().startswith(">"):
            plain = " ".join(line.lstrip("> ").strip() for line in block.strip().split("\n"))
            if card := CARD.match(plain):
                made.append(Card(lesson, card["question"], EMPHASIS.sub(r"\1", card["answer"])))
        elif block.lstrip().startswith("- ") and made:
            items = (" ".join(item.split()) for item in re.split(r"(?:^|\n)- ", block) if item.strip())
            heard = tuple((match["said"], match["why"]) for item in items if (match := WRONG.match(item)))
            made[-1] = Card(lesson, made[-1].question, made[-1].answer, (*made[-1].heard, *heard))
    return made


class Interview(Shown):
    """All cards. `.ask(3)` gives the third question, `.answer(3)` the card."""

    def __init__(self, asked: list[Card]):
        self.cards = asked

    def ask(self, number: int) -> str:
        """A question by its number, 1 for the first."""
        return self._card(number).question

    def answer(self, number: int) -> "Opened":
        """The whole card: the answer, and the wrong answers."""
        return Opened(self._card(number))

    def _card(self, number: int) -> Card:
        if not isinstance(number, int) or not 1 <= number <= len(self.cards):
            raise ValueError(f"There are {len(self.cards)} questions: give a number from 1 to {len(self.cards)}.")
        return self.cards[number - 1]

    def as_text(self) -> str:
        lines = [f"{number:>3}  {card.question}  (lesson {card.lesson})" for number, card in enumerate(self.cards, 1)]
        return "\n".join([*lines, "Say your answer aloud first; then interview().answer(1) shows the card."])

    def as_html(self) -> str:
        return "<ol>" + "".join(f"<li>{card.as_html()}</li>" for card in self.cards) + "</ol>"


class Opened(Shown):
    """One card, unfolded."""

    def __init__(self, card: Card):
        self.card = card

    def as_text(self) -> str:
        return self.card.as_text()

    def as_html(self) -> str:
        return self.card.as_html().replace("<details>", "<details open>", 1)


def interview() -> Interview:
    """The cards of the course, answers folded; the plain call is `.answer(3)`."""
    return _widget()(cards())


@cache
def _widget() -> type[Interview]:
    try:
        import ipywidgets
    except ImportError:
        return Interview

    class InterviewWidget(Interview, ipywidgets.VBox):
        """`.next_button`, `.show_button` and `.shown` are the parts to use."""

        def __init__(self, asked: list[Card]):
            Interview.__init__(self, asked)
            self.number, self.shown = 1, ipywidgets.HTML()
            self.next_button = ipywidgets.Button(description="Next question", tooltip="Ask the next question")
            self.show_button = ipywidgets.Button(description="Show the answer", tooltip="Unfold this card")
            self.next_button.on_click(lambda _: self._show(self.number % len(self.cards) + 1))
            self.show_button.on_click(lambda _: self._show(self.number, opened=True))
            buttons = ipywidgets.HBox([self.show_button, self.next_button])
            ipywidgets.VBox.__init__(self, [self.shown, buttons])
            self.add_class("course-interview")
            self._show(1)

        def _show(self, number: int, opened: bool = False) -> None:
            self.number = number
            head = f"<p>Question {number} of {len(self.cards)}: say your answer aloud, then unfold.</p>"
            card = self.cards[number - 1]
            question = f"<p><b>{to_html(card.question)}</b> <small>lesson {html.escape(card.lesson)}</small></p>"
            self.shown.value = status(head + (Opened(card).as_html() if opened else question))

    return InterviewWidget

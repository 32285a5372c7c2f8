"""Spaced recall: questions you have answered before come back, those you got wrong sooner.

`recall()` shows what is due, at most five at a time; without a mouse, `recall().answer("01.2", "b")`, and `course
recall` asks in a terminal. A question enters when it is first answered in its lesson, and comes back on another day.
When that is follows from your answers and the clock alone, so nothing is kept besides the answers themselves.

The days come from FSRS, the scheduler that Anki uses (`fsrs`, plain Python): an answer is "good" or "again", and chance
is switched off. Here it is only told what was answered and when. What a question looks like is `quiz.py`'s business.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache
from typing import Any

from course_kit.classroom import progress
from course_kit.classroom.quiz import Quiz, QuizGroup, question_ids, quiz

__all__ = ["MOST", "Recall", "ask_one_by_one", "due", "due_days", "recall", "reminder"]

MOST = 5  # questions at a time: a few minutes


def due_days(zone: tzinfo | None = None) -> dict[str, date]:
    """The day on which each question that was ever answered is due again, in the learner's own zone."""
    known = set(question_ids())  # not those of an older version of the course
    answered: dict[str, list[progress.Answer]] = {}
    for answer in progress.answers():
        if answer.question_id in known:
            answered.setdefault(answer.question_id, []).append(answer)
    return {id: _day_after(answers, zone) for id, answers in answered.items()}


def due(now: datetime | None = None) -> list[str]:
    """The ids of the questions due now: those got wrong last time first, then those that have waited longest."""
    now = now or datetime.now().astimezone()
    wrong = {answer.question_id: not answer.right for answer in progress.answers()}
    days = due_days(now.tzinfo)
    return sorted((id for id in days if days[id] <= now.date()), key=lambda id: (not wrong[id], days[id], id))


def reminder(now: datetime | None = None, how: str = "recall()") -> str:
    """One sentence for the panel: how many questions are due again, or when the next one will be."""
    now = now or datetime.now().astimezone()
    days = sorted(due_days(now.tzinfo).values())
    if not days:
        return "No question is due again yet: each comes back some days after you first answer it."
    waiting = sum(day <= now.date() for day in days)
    if waiting:
        return f"{waiting} question{' is' if waiting == 1 else 's are'} due again: {how} asks."
    ahead = (days[0] - now.date()).days
    return f"No question is due again before {'tomorrow' if ahead == 1 else days[0].isoformat()}."


class Recall(QuizGroup):
    """The questions due, each to be answered as in its lesson."""

    def __init__(self, quizzes: list[Quiz], otherwise: str):
        QuizGroup.__init__(self, quizzes)
        self.otherwise = otherwise

    def as_text(self) -> str:
        return QuizGroup.as_text(self) if self.quizzes else self.otherwise

    def as_html(self) -> str:
        return QuizGroup.as_html(self) if self.quizzes else f"<p>{self.otherwise}</p>"


def recall(most: int = MOST, *, now: datetime | None = None) -> Recall:
    """The questions due now, at most `most` of them; its plain call is `.answer("01.2", "b")`."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(f"most is {most!r}: give a whole number of questions, such as recall({MOST}).")
    questions: list[Any] = [quiz(id, fresh=True) for id in due(now)[:most]]
    return _widget()(questions, reminder(now))


def ask_one_by_one(ask: Callable[[str], str], say: Callable[[str], None], most: int = MOST) -> None:
    """The questions due now, in a terminal; an empty line leaves one out, `q` stops. What was answered is kept."""
    waiting = recall(most)
    if not waiting.quizzes:
        return say(waiting.otherwise)
    right = answered = 0
    for each in waiting.quizzes:
        say(f"\n{each.asked()}")
        while given := ask("Your answer").strip().lower():
            if given == "q":
                break
            feedback = each.answer(given.replace(",", " ").split())
            say(str(feedback))
            if feedback.right is not None:  # None: nothing was graded, so it is asked again
                right, answered = right + feedback.right, answered + 1
                break
        if given == "q":
            break
    say(f"\n{right} of {answered} right. {reminder(how='course recall')}")


def _day_after(answers: list[progress.Answer], zone: tzinfo | None) -> date:
    """The day on which FSRS wants a question again after these answers, which are in the order they were given."""
    from fsrs import Card, Rating, Scheduler

    # No steps of minutes: a lesson is not gone through twice in an evening. No chance: the same answers, the same day.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    latest = datetime.min.replace(tzinfo=UTC)
    card = Card(card_id=1)
    for answer in answers:
        latest = max(latest, datetime.fromisoformat(answer.at))  # a clock set back does not make time run backwards
        card, _ = scheduler.review_card(card, Rating.Good if answer.right else Rating.Again, latest)
    return max(card.due.astimezone(zone).date(), latest.astimezone(zone).date() + timedelta(days=1))


@cache
def _widget() -> type[Recall]:
    try:
        import ipywidgets
    except ImportError:
        return Recall

    class RecallWidget(Recall, ipywidgets.VBox):
        """`.quizzes` are the questions, one below the other; with none due, a sentence."""

        def __init__(self, quizzes: list[Quiz], otherwise: str):
            Recall.__init__(self, quizzes, otherwise)
            ipywidgets.VBox.__init__(self, quizzes or [ipywidgets.HTML(self.as_html())])

    return RecallWidget

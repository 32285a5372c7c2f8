"""Questions that come back: which, when, in what order, and that the clock and the answers alone decide."""

from datetime import UTC, date, datetime, timedelta, timezone

import ipywidgets
import pytest

from course_kit.classroom import progress
from course_kit.classroom import recall as module
from course_kit.classroom.quiz import quiz
from course_kit.classroom.recall import ask_one_by_one, due, due_days, recall, reminder

EVENING = datetime(2026, 9, 1, 20, tzinfo=UTC)


@pytest.fixture
def answered(monkeypatch):
    """`answered("01.2", True, days=3)`: an answer, three days after that first evening."""

    def answer(id: str, right: bool, days: float = 0) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(progress, "_now", lambda: EVENING + timedelta(days=days))
            progress.record_answer(id, ["a"], right)

    return answer


def on(days: float) -> datetime:
    return EVENING + timedelta(days=days)


def test_nothing_answered_nothing_due():
    assert due(on(100)) == [] and due_days() == {}
    shown = recall(now=on(100))
    assert repr(shown) == "No question is due again yet: each comes back some days after you first answer it."
    assert shown._repr_mimebundle_()["text/html"] == f"<p>{shown!r}</p>"


@pytest.mark.parametrize(
    ("answers", "days"),
    [
        ([True], 2),
        ([False], 1),
        ([True, True], 2 + 11),
        ([False, True], 1 + 2),
        ([True, True, True], 2 + 11 + 46),
        ([True, True, False], 2 + 11 + 2),
    ],
    ids=["right", "wrong", "right twice", "wrong, then right", "right three times", "forgotten again"],
)
def test_wrong_ones_come_back_sooner_and_right_ones_ever_later(answered, answers, days):
    for right in answers:
        answered("01.1", right, (due_days(UTC)["01.1"] - EVENING.date()).days if progress.answers() else 0)
    assert due_days(UTC) == {"01.1": EVENING.date() + timedelta(days=days)}
    assert due(on(days - 1)) == [] and due(on(days)) == ["01.1"]


def test_wrong_ones_first_then_what_has_waited_longest(answered):
    answered("01.1", True, 0)
    answered("01.2", True, 1)
    answered("02.1", False, 4)
    answered("02.2", False, 3)
    assert due(on(30)) == ["02.2", "02.1", "01.1", "01.2"]


def test_a_wrong_answer_put_right_in_the_same_minute_still_comes_back_the_next_day(answered):
    answered("01.1", False)
    answered("01.1", True, 1 / 1440)
    assert due_days(UTC) == {"01.1": date(2026, 9, 2)}


def test_the_day_is_the_learners_own(answered):
    answered("01.1", False)  # 20:00 in UTC is the next morning in Tokyo
    assert due_days(timezone(timedelta(hours=9))) == {"01.1": date(2026, 9, 3)}
    assert due(datetime(2026, 9, 2, 0, 1, tzinfo=UTC)) == ["01.1"]  # from the first minute of its day


def test_the_same_answers_and_clock_give_the_same_questions(answered):
    for number in range(1, 8):
        answered(f"02.{number}", number % 2 == 0, number)
    assert len({tuple(due(on(20))) for _ in range(5)}) == 1
    assert due(on(20)) == [quiz.question.id for quiz in recall(99, now=on(20)).quizzes]


def test_a_clock_that_was_set_back_breaks_nothing(answered):
    answered("01.1", True, 0)
    answered("01.1", True, -400)
    assert due_days(UTC)["01.1"] >= date(2026, 9, 2)


def test_a_question_that_left_the_course_is_not_asked(answered):
    answered("01.99", False)
    assert due(on(50)) == [] and "yet" in reminder(on(50))


def test_at_most_five_are_asked_and_the_number_is_checked(answered):
    for number in range(1, 9):
        answered(f"02.{number}", False)
    assert len(recall(now=on(9)).quizzes) == 5 and len(recall(2, now=on(9)).quizzes) == 2
    for wrong in (0, "3", True):
        with pytest.raises(ValueError, match="give a whole number of questions"):
            recall(wrong)


@pytest.mark.parametrize(
    ("count", "when", "sentence"),
    [
        (1, 0, "No question is due again before tomorrow."),
        (1, 1, "1 question is due again: recall() asks."),
        (3, 1, "3 questions are due again: recall() asks."),
    ],
)
def test_the_panels_sentence(answered, count, when, sentence):
    for number in range(1, count + 1):
        answered(f"02.{number}", False)
    assert reminder(on(when)) == sentence
    answered("01.1", True)
    assert reminder(on(0)) == "No question is due again before tomorrow."


def test_a_far_day_is_named(answered):
    answered("01.1", True)
    assert reminder(on(0)) == "No question is due again before 2026-09-03."


def test_the_earlier_answer_is_not_shown_and_the_new_one_is_kept(answered):
    [right] = quiz("01.1").question.right_ids
    answered("01.1", False)
    shown = recall(now=on(3))
    assert isinstance(shown, ipywidgets.VBox)
    [each] = shown.quizzes
    assert each.chosen == [] and each.feedback.value == ""
    assert shown.answer("01.1", right).right
    assert progress.last_answer("01.1").right
    assert "Right." in each.feedback.value
    assert repr(shown) == repr(quiz("01.1"))


def test_without_widgets_it_is_text(answered, monkeypatch):
    import sys

    from course_kit.classroom import quiz as quizzes

    answered("01.1", False)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for cached in (module._widget, quizzes._widgets):
        cached.cache_clear()
    try:
        assert not isinstance(recall(now=on(3)), ipywidgets.Widget)
        assert repr(recall(now=on(3))).startswith("Question 01.1 (choose one)")
    finally:
        for cached in (module._widget, quizzes._widgets):
            cached.cache_clear()


def test_in_a_terminal_a_question_can_be_left_out_and_a_slip_is_asked_again(answered):
    for id in ("01.1", "01.3", "01.4"):
        answered(id, False)
    [right] = quiz("01.3").question.right_ids
    said, given = [], iter(["", "z", right, "q"])
    ask_one_by_one(lambda text: next(given), said.append)
    assert [text.strip().split(" (")[0] for text in said if "choose" in text and "Question" in text] == [
        "Question 01.1",
        "Question 01.3",
        "Question 01.3 has no option 'z': choose from a, b, c, d.",
        "Question 01.4",
    ]
    assert said[-1] == "\n1 of 1 right. 2 questions are due again: course recall asks."


def test_in_a_terminal_with_nothing_due():
    said = []
    ask_one_by_one(lambda text: 1 / 0, said.append)
    assert said == [reminder()]

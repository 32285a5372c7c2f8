"""The test before the course and the one after it: parallel, final, and silent until both are done."""

import json

import pytest
from click.testing import CliRunner
from quiz_rules import lint_quizzes

from course_kit.classroom import before_after, progress
from course_kit.classroom.before_after import CourseTest, comparison, post_test, pre_test, questions
from course_kit.classroom.quiz import question_ids
from course_kit.cli import main
from course_kit.errors import CourseKitError

FORMS = {name: questions(name) for name in ("before", "after")}


def right(question):
    return next(option.id for option in question.options if option.right)


def wrong(question):
    return next(option.id for option in question.options if not option.right)


def take(name: str, right_ones: int) -> str:
    test = CourseTest(name)
    for number, question in enumerate(test.questions, 1):
        said = test.answer(number, right(question) if number <= right_ones else wrong(question))
    return said


# ── The questions ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", FORMS)
def test_the_questions_keep_the_rules_of_quizzes(name):
    assert lint_quizzes(FORMS[name]) == []
    assert [question.id for question in FORMS[name]] == [f"00.{name}.{number}" for number in range(1, 13)]


def test_each_question_has_its_twin():
    assert [question.tags for question in FORMS["before"]] == [question.tags for question in FORMS["after"]]
    assert [question.tags[1] for question in FORMS["before"]] == [f"lesson {number:02}" for number in range(1, 13)]
    texts = [question.question for form in FORMS.values() for question in form]
    assert len(set(texts)) == 24


@pytest.mark.parametrize("name", FORMS)
def test_nothing_gives_the_answer_away(name):
    places, longest, shortest = [], 0, 0
    for question in FORMS[name]:
        lengths = {option.id: len(option.text) for option in question.options}
        good = right(question)
        places.append(good)
        others = [length for id, length in lengths.items() if id != good]
        longest += lengths[good] > max(others)
        shortest += lengths[good] < min(others)
        assert [option.id for option in question.options] == list("abcd")
        assert max(lengths.values()) <= 2.1 * min(lengths.values())
    assert all(2 <= places.count(letter) <= 4 for letter in "abcd"), places
    assert max(longest, shortest) <= 3
    assert [first for first, second in zip(places, places[1:], strict=False) if first == second] in ([], ["b"], ["c"])


def test_twins_have_their_right_options_in_other_places_mostly():
    same = sum(right(one) == right(other) for one, other in zip(*FORMS.values(), strict=True))
    assert same <= 5


def test_the_two_tests_count_for_no_lesson():
    assert not [id for id in question_ids() if "before" in id or "after" in id]


# ── Answering ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_told_before_both_are_done():
    test = pre_test()
    assert test.answer(1, right(FORMS["before"][0])) == "11 of 12 questions left."
    assert test.answer(2, wrong(FORMS["before"][1])) == "10 of 12 questions left."
    whole = test.as_text() + test.as_html()
    assert not any(option.why in whole for question in FORMS["before"] for option in question.options)
    assert (
        take("before", 12)
        == "11 of 12 right in the before test. The answers are shown once the after test is done, too."
    )
    done = pre_test().as_text() + pre_test().as_html()
    assert not any(option.why in done or option.text in done for q in FORMS["before"] for option in q.options)
    with pytest.raises(CourseKitError, match=r"^There is nothing to compare yet: `course test after` is not done\.$"):
        comparison()


def test_the_first_answer_counts():
    test = pre_test()
    test.answer(1, wrong(FORMS["before"][0]))
    assert test.answer(1, right(FORMS["before"][0])) == "Question 1 is already answered: the first answer counts."
    progress.record_answer("00.before.1", [right(FORMS["before"][0])], True)  # another notebook, at the same moment
    assert test.given == {"00.before.1": False}


@pytest.mark.parametrize(
    ("number", "option", "said"),
    [
        (0, "a", "There is no question 0: choose from 1 to 12."),
        (13, "a", "There is no question 13: choose from 1 to 12."),
        (1, "e", "Question 1 has no option 'e': choose from a, b, c, d."),
        (1, "", "Question 1 has no option '': choose from a, b, c, d."),
    ],
)
def test_a_slip_is_told_and_not_kept(number, option, said):
    assert pre_test().answer(number, option) == said
    assert progress.answers() == []


def test_both_done_are_compared():
    take("before", 4)
    assert take("after", 10) == "10 of 12 right in the after test."
    found = comparison()
    assert [(row.lesson, row.before, row.after) for row in found.rows] == [
        (f"{number:02}", number <= 4, number <= 10) for number in range(1, 13)
    ]
    assert found.sentences() == [
        "Before: 4 of 12 right. After: 10.",
        "6 got better and 0 worse; if nothing had changed, chance alone would split them at least as unevenly "
        "in 3% of cases.",
        "Lessons to read again: 11, 12.",
    ]
    text = post_test().as_text()
    last = FORMS["after"][-1]
    assert next(option.why for option in last.options if option.right) in text
    assert FORMS["after"][0].question not in text  # what is right needs no reason any more
    assert pre_test().as_text().endswith(text.split("\n\n", 1)[1])
    assert '<th scope="row">who runs a call</th>' in post_test().as_html()


def test_a_reset_begins_anew():
    take("before", 12)
    progress.reset()
    assert len(pre_test().unanswered) == 12


# ── Widget and terminal ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_widget_hands_in_all_at_once():
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed")
    test = pre_test()
    for number, choice in test.choices.items():
        choice.value = right(FORMS["before"][number - 1]) if number != 7 else None
    test.button.click()
    assert "Answer these first: 7." in test.said.value and progress.answers() == []
    test.choices[7].value = wrong(FORMS["before"][6])
    test.button.click()
    assert "11 of 12 right in the before test." in test.said.value and 'role="status"' in test.said.value
    assert all(choice.disabled for choice in test.choices.values()) and test.button.disabled
    assert not any(option.why in test.said.value for question in FORMS["before"] for option in question.options)
    assert pre_test().choices == {}


def test_what_a_notebook_stores_holds_no_key():
    shown = json.dumps(pre_test()._repr_mimebundle_(), default=str)
    assert not any(option.why in shown for question in FORMS["before"] for option in question.options)


def test_in_a_terminal_one_by_one_and_on_another_day():
    first = CliRunner().invoke(main, ["test", "before"], input="x\na\nb\nq\n")
    assert first.exit_code == 0
    assert "Question 1 has no option 'x'" in first.output
    assert first.output.endswith("10 of 12 questions left. The rest comes next time.\n")
    second = CliRunner().invoke(main, ["test", "before"], input="c\n" * 10)
    assert second.output.lstrip().startswith("3. ")
    assert "of 12 right in the before test." in second.output
    assert len(progress.answers()) == 12
    assert "of 12 right" in CliRunner().invoke(main, ["test", "before"]).output


def test_input_that_ends_keeps_what_was_answered():
    result = CliRunner().invoke(main, ["test", "after"], input="a\n")
    assert result.exit_code == 0 and len(progress.answers()) == 1


def test_there_are_two_tests():
    assert CliRunner().invoke(main, ["test", "during"]).exit_code == 2
    with pytest.raises(CourseKitError, match=r"^There is no test 'during': choose before or after\.$"):
        before_after.questions("during")

"""The panel of lesson 00: the lessons as their notebooks tell, what is done, what comes next, what is due again."""

import json

import pytest

from course_kit.classroom import checks, progress, quiz
from course_kit.classroom import lessons as module
from course_kit.classroom.lessons import Lesson, LessonMap, lesson_map, lessons, next_lesson
from course_kit.classroom.progress import LessonProgress
from course_kit.classroom.workspace import course_files
from course_kit.errors import SetupError

FIRST = """# 01 · One & two

You will count
to two.

After this lesson you can

- **count** to `two`,
- **say** what comes
  after one.

About 30 minutes. Nothing else.
"""


def row(number: str, done: int = 0, total: int = 2) -> tuple[Lesson, LessonProgress]:
    lesson = Lesson(number, f"Title {number}", 10, "", f"{number}_x.ipynb")
    return lesson, LessonProgress(number, done, total, 0, 0, False, False)


def test_a_lesson_is_read_from_its_first_cell(tmp_path):
    for name, text in {"01_two.ipynb": FIRST, "90_words.ipynb": "# Glossary\n"}.items():
        (tmp_path / name).write_text(json.dumps({"cells": [{"source": text}]}), encoding="utf-8")
    goals = ("count to `two`", "say what comes after one")
    assert lessons(tmp_path) == [Lesson("01", "One & two", 30, "You will count to two.", "01_two.ipynb", goals)]


def test_every_lesson_of_the_course_has_goals_and_minutes():
    assert [one.number for one in lessons() if not 2 <= len(one.goals) <= 8 or not one.minutes] == []


@pytest.mark.parametrize(
    ("touched", "done", "expected"),
    [
        ([], "", "00"),
        (["02", "00"], "", "02"),
        (["01"], "01", "02"),
        (["03"], "03", "00"),
        (["07"], "", "00"),
        (["00"], "00 01 02 03", None),
    ],
    ids=["at the start", "where one was", "after a done one", "the one left out", "unknown lesson", "all done"],
)
def test_what_comes_next(touched, done, expected):
    rows = [row(number, 2 if number in done else 0) for number in ("00", "01", "02", "03")]
    found = next_lesson(rows, touched)
    assert (found and found[0].number) == expected


def test_a_lesson_with_nothing_to_do_in_it_is_never_next():
    assert next_lesson([row("00", 0, 0), row("01")], ["00"])[0].number == "01"


def test_the_panel_in_words_and_as_a_table():
    rows = (row("00", 2), row("01", 1), row("02", 0, 0))
    shown = LessonMap(rows, rows[1], ("Two questions are due.",))
    assert repr(shown) == (
        "      lesson    minutes  questions  exercises\n"
        "✓ 00  Title 00       10     2 of 2       none\n"
        "◐ 01  Title 01       10     1 of 2       none\n"
        "  02  Title 02       10       none       none\n"
        "\n"
        "Next: 01 · Title 01, 1 question is open.\n"
        "Two questions are due."
    )
    html = shown.as_html()
    assert '<span aria-hidden="true">✓</span> done</td><th scope="row"' in html  # a state in words beside its mark
    assert html.count('<th scope="col"') == 5 and "<th></th>" not in html
    assert '<p><b>Next:</b> <a href="01_x.ipynb">01 · Title 01</a>, 1 question is open.</p>' in html


def test_the_map_of_the_course_follows_the_progress_file():
    numbers = [one.number for one in lessons()]
    assert [each.number for each, _ in lesson_map().rows] == numbers
    for question in quiz._questions():
        if question.id.startswith("00."):
            progress.record_answer(question.id, question.right_ids, True)
    for id in checks.exercise_ids():
        if id.startswith("0."):
            progress.record_attempt(id, "passed")
    shown = lesson_map()
    assert shown.next[0].number == "01" and shown.rows[0][1].done
    assert shown.sentences[0].startswith("No question is due again before ")
    assert shown.sentences[1] == "1 lesson is done: completion_page() makes a page of it to keep."
    assert lesson_map(terminal=True).sentences[1] == (
        "1 lesson is done: course progress page makes a page of it to keep."
    )


def test_all_done_says_so(monkeypatch):
    monkeypatch.setattr(module, "rows", lambda: [row("00", 2), row("01", 2)])
    shown = lesson_map()
    assert shown.next is None
    assert shown.sentences[1] == "All lessons are done: completion_page() makes a page of it to keep."
    assert "Next" not in repr(shown) + shown.as_html()


def test_progress_that_cannot_be_read_is_a_sentence_below_the_map(monkeypatch):
    def broken(*given):
        raise SetupError("The disk is full: make room.")

    monkeypatch.setattr(progress, "summary", broken)
    shown = lesson_map()
    assert shown.sentences == ("Your progress cannot be read. The disk is full: make room.",)
    assert len(shown.rows) == len(lessons()) and shown.next is None


def test_every_link_of_the_map_leads_to_a_lesson():
    assert all((course_files() / "notebooks" / one.file).is_file() for one in lessons())

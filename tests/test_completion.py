"""The page to keep: numbers from the progress file and nothing else, said plainly not to be a certificate."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from course_kit.classroom import checks, progress, quiz
from course_kit.classroom.completion import HONEST, completion_page
from course_kit.errors import CourseKitError

DAY = datetime(2026, 10, 3, tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch):
    def set_to(*day: int) -> None:
        monkeypatch.setattr(progress, "_now", lambda: datetime(*day, tzinfo=UTC))

    set_to(2026, 9, 1)
    return set_to


def do(lesson: str, wrong_first: int = 0) -> None:
    for question in quiz._questions():
        if progress.lesson_of(question.id) == lesson:
            if wrong_first > 0:
                progress.record_answer(question.id, ["wrong"], False)
                wrong_first -= 1
            progress.record_answer(question.id, question.right_ids, True)
    for id in checks.exercise_ids():
        if progress.lesson_of(id) == lesson:
            progress.record_attempt(id, "passed")


def test_a_lesson_that_is_not_done_says_what_is_open(workspace):
    shown = completion_page("01", now=DAY)
    assert repr(shown).startswith(
        "Lesson 01, The request round trip: not done yet\n\n01 · The request round trip: still "
    )
    assert "can" not in shown.as_html().replace("not a certificate", "").split("Still open")[0]


def test_a_lesson_that_is_done_in_numbers(workspace, clock):
    progress.record_attempt("0.1", "not attempted")  # looking at it is no try
    progress.record_attempt("0.1", "not yet")
    progress.record_hint("0.1", 1)
    clock(2026, 9, 4)
    do("00", wrong_first=1)
    shown = completion_page(0, now=DAY)
    questions = sum(id.startswith("00.") for id in quiz.question_ids())
    exercises = sum(id.startswith("0.") for id in checks.exercise_ids())
    lines = repr(shown).splitlines()
    assert lines[:6] == [
        "Lesson 00, Start here: done",
        "",
        "00 · Start here",
        f"  {questions} of {questions} questions answered right, {questions - 1} of them at once",
        f"  {exercises} of {exercises} exercises passed, with {exercises + 1} runs of their checks and 1 hint",
        "  worked on 2026-09-01 to 2026-09-04",
    ]
    assert lines[-1] == f"2026-10-03. {HONEST}"
    for part in (*lines[3:6], *shown.records[0].lesson.goals):
        assert part.strip().replace("`", "") in re.sub("</?code>", "", shown.as_html())


def test_the_course_lists_what_is_done_and_what_is_open(workspace, clock):
    do("00")
    shown = completion_page(now=DAY)
    total = len(shown.records)
    assert shown.title == f"The course: 1 of {total} lessons done"
    assert repr(shown).count("still open") == total - 1
    for record in shown.records[1:]:
        do(record.lesson.number)
    assert completion_page(now=DAY).title == "The course: done"
    assert "still open" not in repr(completion_page(now=DAY)).lower()


def test_one_thing_left_is_not_done(workspace, clock):
    do("00")
    progress.reset()
    questions = [question for question in quiz._questions() if question.id.startswith("00.")]
    for question in questions:
        progress.record_answer(question.id, question.right_ids, True)
    progress.record_attempt("0.1", "passed")
    assert completion_page("00", now=DAY).title == "Lesson 00, Start here: not done yet"


class Tags(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def test_the_page_is_whole_has_no_script_and_loads_nothing(workspace, clock):
    do("00")
    page = completion_page(now=DAY).page()
    tags = Tags(page).tags
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">') and tags.count("h1") == tags.count("main") == 1
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert "http" not in page and 'charset="utf-8"' in page


def test_writing_never_overwrites_another_page(workspace, clock):
    do("00")
    first = completion_page(now=DAY).write()
    assert first == workspace / "done-course-2026-10-03.html"
    assert completion_page(now=DAY).write() == first  # the same page is the same file
    progress.reset()
    second = completion_page(now=DAY).write()
    assert second.name == "done-course-2026-10-03-2.html"
    assert "1 of" in first.read_text(encoding="utf-8") and "0 of" in second.read_text(encoding="utf-8")
    assert completion_page("00", now=DAY).write(workspace / "mine.html") == workspace / "mine.html"


def test_an_unknown_lesson_names_those_there_are(workspace):
    with pytest.raises(
        CourseKitError, match="^There is no lesson '77' with questions or exercises: choose from 00, 01"
    ):
        completion_page("77")

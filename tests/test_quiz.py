"""Questions: what is shown, how an answer is scored, what is kept, and what a file of questions must hold."""

import json
import re
import subprocess
import sys

import ipywidgets
import pytest
from quiz_rules import lint_quizzes

from course_kit.classroom import progress
from course_kit.classroom import quiz as module
from course_kit.classroom.quiz import QUIZ_FOLDER, Question, QuizGroup, question_ids, quiz
from course_kit.classroom.shown import to_html
from course_kit.errors import CourseKitError, SetupError


def option(id, text, right, why="because"):
    return {"id": id, "text": text, "right": right, "why": why}


WHO = {
    "id": "01.2",
    "kind": "single",
    "question": "Who runs `get_weather`?",
    "options": [
        option("a", "the model", False, "It only writes a request."),
        option("b", "your code", True, "It reads `tool_use` & runs it."),
        option("c", "the <API>", False, "It passes messages on."),
    ],
    "tags": ["round-trip"],
}
WHICH = {
    "id": "01.3",
    "kind": "multiple",
    "question": "Which are on the wire?",
    "options": [
        option("a", "`id`", True, "It pairs."),
        option("b", "`input`", True, "An object."),
        option("c", "the function", False, "It stays with you."),
    ],
}
RECALL = [WHICH | {"id": f"01.recall.{n}"} for n in (1, 2)]


@pytest.fixture(autouse=True)
def questions(tmp_path, monkeypatch):
    folder = tmp_path / "quizzes"
    folder.mkdir()
    (folder / "01.json").write_text(json.dumps([WHO, WHICH, *RECALL]), encoding="utf-8")
    monkeypatch.setattr(module, "QUIZ_FOLDER", folder)
    return folder


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widgets.cache_clear()
    yield
    module._widgets.cache_clear()


def no_progress(*arguments):
    raise SetupError("The disk is read-only.")


# Answers


def test_a_right_answer_says_so_with_its_reason_and_is_kept():
    feedback = quiz("01.2").answer("b")
    assert feedback.right is True
    assert repr(feedback) == "Right.\n  b) your code\n     It reads `tool_use` & runs it."
    last = progress.last_answer("01.2")
    assert (last.option_ids, last.right) == (("b",), True)


def test_a_wrong_answer_gives_the_reason_of_what_was_chosen_only():
    feedback = quiz("01.2").answer("c")
    assert feedback.right is False
    assert repr(feedback) == "Not yet.\n  c) the <API>\n     It passes messages on."
    assert feedback._repr_html_() == (
        '<div class="quiz-not-yet" role="status"><p><b>✗ Not yet.</b></p>'
        "<ul><li>c) the &lt;API&gt;<br>It passes messages on.</li></ul></div>"
    )
    assert progress.last_answer("01.2").right is False


@pytest.mark.parametrize(
    ("chosen", "right", "sentence"),
    [
        (["a", "b"], True, "Right."),
        (["b", "a"], True, "Right."),
        (["a"], False, "Not yet: what you chose is right, but not complete."),
        (["a", "b", "c"], False, "Not yet."),
        (["c"], False, "Not yet."),
    ],
    ids=["all", "other order", "incomplete", "too many", "wrong"],
)
def test_several_right_options_must_all_be_chosen(chosen, right, sentence):
    feedback = quiz("01.3").answer(*chosen)
    assert (feedback.right, feedback.sentence) == (right, sentence)
    assert sorted(feedback.option_ids) == sorted(chosen)
    assert quiz("01.3").answer(chosen) == feedback  # a list is as good


@pytest.mark.parametrize(
    ("id", "chosen", "sentence"),
    [
        ("01.2", ["x"], "Question 01.2 has no option 'x': choose from a, b, c."),
        ("01.2", ["a", "b"], "Question 01.2 takes one option, but 2 were given: choose one."),
        ("01.2", [], "Nothing is chosen yet: choose an option, then check."),
    ],
    ids=["unknown option", "too many", "none"],
)
def test_what_cannot_be_graded_is_one_sentence_and_not_kept(id, chosen, sentence):
    feedback = quiz(id).answer(*chosen)
    assert (feedback.right, repr(feedback)) == (None, sentence)
    assert progress.last_answer(id) is None


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(CourseKitError, match="^There is no question '01.22': the nearest is '01.2'.$"):
        quiz("01.22")


def test_no_questions_installed(questions):
    (questions / "01.json").unlink()
    with pytest.raises(CourseKitError, match="no questions are installed, so install course-kit again"):
        quiz("01.1")


def test_a_broken_file_names_itself(questions):
    (questions / "02.json").write_text("[{", encoding="utf-8")
    with pytest.raises(CourseKitError, match="^02.json is not a list of questions: .*Fix the file.$"):
        quiz("01.2")


def test_a_short_lesson_number_will_do():
    assert quiz("1.2").question.id == "01.2"


def test_progress_that_cannot_be_written_still_grades(monkeypatch):
    monkeypatch.setattr(progress, "record_answer", no_progress)
    monkeypatch.setattr(progress, "last_answer", no_progress)
    feedback = quiz("01.2").answer("b")
    assert feedback.right
    assert repr(feedback).endswith("\nThis answer was not kept. The disk is read-only.")
    assert "<p>This answer was not kept. The disk is read-only.</p>" in feedback._repr_html_()


# What is shown


def test_text_and_html_show_the_question_and_no_key():
    shown = quiz("01.2")
    assert repr(shown) == (
        "Question 01.2 (choose one)\nWho runs `get_weather`?\n  a) the model\n  b) your code\n  c) the <API>\n"
        'Run this cell to answer, or write: quiz("01.2").answer("a")'
    )
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(shown)
    assert bundle["text/html"] == (
        "<p><b>Question 01.2</b> (choose one)</p>Who runs <code>get_weather</code>?"
        "<ul><li>a) the model</li><li>b) your code</li><li>c) the &lt;API&gt;</li></ul>"
        "<p><i>Run this cell to answer.</i></p>"
    )
    assert "application/vnd.jupyter.widget-view+json" in bundle


@pytest.mark.parametrize("id", ["01.2", "01.3", "01.recall"])
def test_nothing_that_a_notebook_stores_tells_the_key(id):
    before = quiz(id)._repr_mimebundle_()
    for each in ("01.2", "01.3", "01.recall.1", "01.recall.2"):
        quiz(each).answer("b")
    after = quiz(id)._repr_mimebundle_()
    for kind in ("text/plain", "text/html"):
        assert before[kind] == after[kind]  # an earlier answer is not stored either
        assert not any(word in after[kind] for word in ("because", "It ", 'right"', "true", "<script", "Right."))


def test_widget_state_holds_no_reason_and_no_script_before_an_answer():
    state = json.dumps([widget.get_state() for widget in all_widgets(quiz("01.2"))], default=str)
    assert "It only writes" not in state and "<script" not in state


def all_widgets(box):
    return [box, *(inner for child in getattr(box, "children", ()) for inner in all_widgets(child))]


def test_without_ipywidgets_the_text_form_works(without_widgets):
    shown = quiz("01.2")
    assert not isinstance(shown, ipywidgets.Widget)
    assert set(shown._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert shown.answer("b").right
    assert repr(quiz("01.recall")).count("choose all that are right") == 2


def test_importing_the_module_loads_no_widgets():
    code = "import sys; from course_kit.classroom import checks, plots, quiz, transcript; print(*sys.modules)"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"ipywidgets", "IPython", "matplotlib", "jupytext", "anthropic", "numpy"} & set(names)


# The widget


def test_clicking_gives_the_same_feedback_as_the_plain_call():
    shown = quiz("01.2")
    assert isinstance(shown, ipywidgets.VBox) and "course-quiz" in shown._dom_classes
    assert isinstance(shown.choices, ipywidgets.RadioButtons) and shown.choices.value is None
    shown.button.click()
    assert "Nothing is chosen yet" in shown.feedback.value
    shown.choices.value = "b"
    shown.button.click()
    assert shown.feedback.value == quiz("01.2").answer("b")._repr_html_()
    assert shown.feedback.value.startswith('<div class="quiz-ok" role="status">')


def test_checkboxes_for_several_options():
    shown = quiz("01.3")
    for each, box in zip(shown.question.options, shown.choices.children, strict=True):
        assert isinstance(box, ipywidgets.Checkbox)
        box.value = each.id in ("a", "b")
    shown.button.click()
    assert "✓ Right." in shown.feedback.value


def test_a_press_counts_when_the_choices_it_overtook_have_come():
    """The front end is played here: a press, then what its fields still held back, then the copied number."""
    shown = quiz("01.3")
    boxes, press = shown.choices.children, lambda: shown.button._handle_custom_msg({"event": "click"}, [])
    press()
    assert "Nothing is chosen yet" in shown.feedback.value  # nothing was ever copied: not waited for
    for box in boxes:
        box.set_state({"press": shown.button.press})
    boxes[0].set_state({"value": True})
    press()
    boxes[0].set_state({"press": shown.button.press})
    boxes[2].set_state({"press": shown.button.press})
    assert "Nothing is chosen yet" in shown.feedback.value
    boxes[1].set_state({"value": True, "press": shown.button.press})
    assert "✓ Right." in shown.feedback.value
    press(), press()
    for box in boxes:
        box.set_state({"press": shown.button.press})
    assert [answer.option_ids for answer in progress.answers()] == [("a", "b")] * 2  # two quick presses are one


def test_the_plain_call_moves_the_widget_too():
    shown = quiz("01.2")
    shown.answer("c")
    assert shown.choices.value == "c" and "Not yet." in shown.feedback.value
    shown.answer("x")
    assert shown.choices.value == "c" and "no option" in shown.feedback.value


@pytest.mark.parametrize(("id", "chosen"), [("01.2", ["c"]), ("01.3", ["a", "b"])])
def test_an_earlier_answer_is_shown_again(id, chosen):
    said = quiz(id).answer(*chosen)
    again = quiz(id)
    assert sorted(again.chosen) == chosen
    assert again.feedback.value == said._repr_html_()


def test_an_earlier_answer_to_a_question_that_changed_is_not_shown():
    progress.record_answer("01.2", ["z"], True)
    progress.record_answer("01.3", [], False)
    assert quiz("01.2").feedback.value == "" and quiz("01.2").chosen == []
    assert quiz("01.3").feedback.value == ""


def test_an_error_in_a_handler_is_shown_where_the_learner_looks(monkeypatch):
    shown = quiz("01.2")
    shown.choices.value = "b"
    monkeypatch.setattr(progress, "record_answer", lambda *arguments: 1 / 0)
    shown.button.click()
    assert "This could not be checked: division by zero" in shown.feedback.value


def test_parts_have_names_for_assistive_technology():
    shown = quiz("01.2")
    assert shown.choices.tooltip == "Options of question 01.2"
    assert shown.button.tooltip == "Check question 01.2"
    assert quiz("01.3").choices.tooltip is None  # JupyterLab cannot draw a box that has one


# Groups


def test_a_group_shows_all_its_questions_and_answers_each():
    group = quiz("01.recall")
    assert isinstance(group, QuizGroup) and isinstance(group, ipywidgets.VBox)
    assert [each.question.id for each in group.quizzes] == ["01.recall.1", "01.recall.2"]
    assert repr(group) == repr(quiz("01.recall.1")) + "\n\n" + repr(quiz("01.recall.2"))
    assert group.answer("2", "a", "b").right and group.answer("01.recall.1", "c").right is False
    assert progress.last_answer("01.recall.2").right
    assert repr(group.answer("3", "a")) == "There is no question '3' here: choose from 01.recall.1, 01.recall.2."


def test_ids_come_in_the_order_of_the_files():
    assert question_ids() == ["01.2", "01.3", "01.recall.1", "01.recall.2"]


# Order


def test_fr30_scored_by_option_id_in_any_order(questions):
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        turned = WHO | {"options": [WHO["options"][n] for n in order]}
        (questions / "01.json").write_text(json.dumps([turned]), encoding="utf-8")
        shown = quiz("01.2")
        assert [each.id for each in shown.question.options] == ["abc"[n] for n in order]
        assert shown.answer("b").right and not shown.answer("a").right
        shown.choices.value = "b"
        shown.button.click()
        assert "Right." in shown.feedback.value


@pytest.mark.parametrize("file", sorted(QUIZ_FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_the_questions_of_the_course_are_fair(file):
    assert lint_quizzes(json.loads(file.read_text(encoding="utf-8"))) == []


# The whole course at once: what can be said of a hundred questions and not of eight.

COURSE = [
    Question.read(item) for file in sorted(QUIZ_FOLDER.glob("*.json")) for item in json.loads(file.read_text("utf-8"))
]
# Words that take a side without an exception. A learner may not be able to strike an option because one stands in it.
ABSOLUTE = ("all", "always", "any", "cannot", "every", "must", "never", "no", "none", "nothing", "only")
HEDGES = ("can", "may", "might", "often", "some", "sometimes", "usually")


def giveaways(questions: list[Question]) -> list[str]:
    """What tells right from wrong in these questions without knowing anything of the matter."""
    singles = [question for question in questions if question.kind == "single"]
    places = [[option.right for option in question.options].index(True) for question in singles]
    found = [
        f"place {place + 1} is right in {places.count(place)} of {len(places)}"
        for place in range(4)
        if not 0.15 <= places.count(place) / len(places) <= 0.35
    ]
    for name, pick in {"longest": max, "shortest": min}.items():
        lengths = [{option.id: len(option.text) for option in question.options} for question in singles]
        alone = [
            length[next(iter(question.right_ids))] == pick(length.values())
            and list(length.values()).count(pick(length.values())) == 1
            for question, length in zip(singles, lengths, strict=True)
        ]
        if sum(alone) > 0.3 * len(singles):
            found.append(f"the right option is the {name} in {sum(alone)} of {len(singles)}")
        if len(singles) > 40 and sum(alone) < 0.12 * len(singles):
            found.append(f"the right option is almost never the {name}: strike it out and guess")
    options = [option for question in questions for option in question.options]
    base = sum(option.right for option in options) / len(options)
    for word in (*ABSOLUTE, *HEDGES):
        having = [option for option in options if re.search(rf"\b{word}\b", option.text, re.IGNORECASE)]
        right = sum(option.right for option in having)
        enough = 4 if right else 6  # fewer may be chance: most options are wrong
        if len(having) >= enough and right in (0, len(having)):
            found.append(
                f"an option with {word!r} is {'never' if not right else 'always'} right ({len(having)} of them)"
            )
    having = [option for option in options if re.search(rf"\b({'|'.join(ABSOLUTE)})\b", option.text, re.IGNORECASE)]
    if having and not base / 2 <= sum(option.right for option in having) / len(having) <= base * 2:
        found.append("words without exception tell right from wrong")
    return found


def test_nothing_but_the_matter_tells_the_right_option_over_the_whole_course():
    assert len(COURSE) > 100
    assert giveaways(COURSE) == []


def made_up(text: str, right_text: str, count: int = 8) -> list[Question]:
    """Questions with the right option in each place in turn."""
    made = []
    for number in range(count):
        options = [
            option(id, right_text if id == "abcd"[number % 4] else f"{text} {id}", id == "abcd"[number % 4])
            for id in "abcd"
        ]
        made.append(Question.read({"id": f"01.{number}", "options": options}))
    return made


def test_each_kind_of_giveaway_is_found():
    assert giveaways(made_up("four", "word s")) == []
    assert giveaways(made_up("four", "some longer words")) == [
        "the right option is the longest in 8 of 8",
        "an option with 'some' is always right (8 of them)",
    ]
    assert giveaways(made_up("some longer words", "four")) == [
        "the right option is the shortest in 8 of 8",
        "an option with 'some' is never right (24 of them)",
    ]
    never = giveaways(made_up("never", "seldom s"[:7]))
    assert "an option with 'never' is never right (24 of them)" in never
    assert "words without exception tell right from wrong" in never
    assert [each for each in giveaways(made_up("four", "word s", 9)[4:9] * 2) if each.startswith("place")] == [
        "place 1 is right in 4 of 10"
    ]


def test_ids_are_unique_over_the_course_and_belong_to_their_file():
    ids = [question.id for question in COURSE]
    assert len(ids) == len(set(ids))
    for file in QUIZ_FOLDER.glob("*.json"):
        assert {item["id"].split(".")[0] for item in json.loads(file.read_text("utf-8"))} == {file.stem}


@pytest.mark.parametrize("question", COURSE, ids=lambda question: question.id)
def test_every_answer_of_the_course_can_be_given_and_has_its_reason(question):
    """Each option alone, and the right ones together, are chosen in the widget as a learner does it."""
    shown = module._widgets()[0](question)
    for chosen in [*({each.id} for each in question.options), set(question.right_ids)]:
        if question.kind == "single":
            shown.choices.value = next(iter(chosen))
        else:
            for each, box in zip(question.options, shown.choices.children, strict=True):
                box.value = each.id in chosen
        shown.button.click()
        assert ("✓ Right." in shown.feedback.value) == (chosen == question.right_ids)
        for each in question.options:
            assert (to_html(each.why) in shown.feedback.value) == (each.id in chosen)
    reasons = [each.why for each in question.options]
    assert len(set(reasons)) == len(reasons) and min(map(len, reasons)) > 15


# The linter


def test_a_sound_file_has_no_findings():
    assert lint_quizzes([WHO, WHICH, *RECALL]) == []
    assert lint_quizzes([Question.read(WHO)]) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": "1.2"}, "1.2: the id must be like 01.2"),
        ({"kind": "many"}, "01.2: the kind must be single or multiple"),
        ({"question": " "}, "01.2: the question is empty"),
        ({"options": [option("a", "x", True), option("b", "y", True)]}, "01.2: at least one option must be wrong"),
        ({"options": [option("a", "x", False), option("b", "y", False)]}, "01.2: at least one option must be right"),
        (
            {"options": [option("a", "x", True), option("b", "y", True), option("c", "z", False)]},
            "01.2: a single question must have exactly one right option",
        ),
        (
            {"options": [option("a", "x", True), option("a", "y", False)]},
            "01.2: option ids must be unique and not empty",
        ),
        ({"options": [option("a", "x", True), option("b", "x ", False)]}, "01.2: two options say the same"),
        ({"options": [option("a", "x", True), option("b", "y", False, "")]}, "01.2: option b has no reason"),
        ({"options": [option("a", "x", True), option("b", "", False)]}, "01.2: option b has no text"),
        ({"options": [option("a", "x", True), option("b", "y", False)]}, "01.2: there are fewer than three options"),
        (
            {"options": [option("a", "a long answer", True), option("b", "short", False), option("c", "brief", False)]},
            "01.2: the right option stands out by its length",
        ),
    ],
    ids=lambda value: value.split(": ")[1] if isinstance(value, str) else "",
)
def test_linter_findings(change, sentence):
    assert sentence in lint_quizzes([WHO | change])


def test_linter_repeated_id():
    assert lint_quizzes([WHO, WHO]) == ["01.2: the id is used 2 times"]


def many(texts, right):
    return [
        {
            "id": f"01.{n}",
            "kind": "single",
            "question": "?",
            "options": [option(i, t, i == r) for i, t in zip("abc", texts, strict=True)],
        }
        for n, r in enumerate(right)
    ]


def test_linter_right_option_always_longest():
    assert lint_quizzes(many(["short", "longest", "brief"], "bbbb"))[0] == (
        "the right option is the longest too often: 01.0, 01.1, 01.2, 01.3"
    )
    assert lint_quizzes(many(["short", "longest", "brief"], "bacb")) == []


def test_linter_right_option_always_in_one_place():
    found = "the right option always stands in the same place"
    assert found in lint_quizzes(many(["one", "two", "six"], "aaaa"))
    assert found not in lint_quizzes(many(["one", "two", "six"], "aaab"))
    assert "the right option stands in the same place too often" in lint_quizzes(many(["one", "two", "six"], "aaab"))
    assert lint_quizzes(many(["one", "two", "six"], "aabc")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b<c` & d", "a <code>b&lt;c</code> &amp; d"),
        ("one\n\ntwo", "one<br><br>two"),
        ('see\n```json\n{"a": 1}\n```\nend', "see\n<pre><code>{&quot;a&quot;: 1}</code></pre>\nend"),
        ("a lone ` tick", "a lone ` tick"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("said *in time*, (*not* late)", "said <em>in time</em>, (<em>not</em> late)"),
        ("2*3*4, *args and `*a* b`", "2*3*4, *args and <code>*a* b</code>"),
    ],
    ids=["span", "paragraphs", "block", "lone tick", "script", "stress", "no stress"],
)
def test_to_html(text, expected):
    assert to_html(text) == expected

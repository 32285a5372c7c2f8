"""`jump_to`: names exist as the lesson makes them, hers are never overwritten, nothing is answered in her name."""

import json

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from course_kit.classroom import catching_up, checks, progress, sections
from course_kit.classroom.catching_up import is_stub, jump_to
from course_kit.classroom.sections import CodeCell, code_cells, lesson_file, lesson_sections, section_of
from course_kit.errors import CourseKitError

LESSON = """
# 01 · A small lesson

A promise.
---
import asyncio
started = []
---
## First things

Words, and a fence:

```
## no heading
```
---
# tags: item-01.1
first = 1
print("shown")
---
# tags: quiz
started.append("quiz")
quiz("01.1")
---
## Second, with an await
---
# tags: item-01.2
async def later():
    await asyncio.sleep(0)
    return first + 1

second = await later()
---
# tags: live
started.append("live")
---
check("1.1", first)
---
## Third

Text.

## Fourth
---
fourth = second + 1
---
## Fifth
---
quiz("01.recall")
---
fifth = 5
"""
SOLUTIONS = """
# Exercises 01
---
# tags: setup
from json import dumps
---
SAMPLE = {"a": 1}
---
# tags: exercise-1.1
import math

def double(x):
    return 2 * x

def half(x):
    return x / 2
---
check("1.1", (double, half))
---
# tags: exercise-1.2
answer = double(21)
---
check("1.2", answer)
---
# tags: exercise-1.3
class Box:
    def size(self):
        return answer
---
# tags: exercise-1.4
last = Box().size()
"""


def notebook(file, text: str) -> None:
    """Cells between lines of `---`; a cell without a heading or words is code, its first line may name a tag."""
    cells = []
    for part in text.strip().split("\n---\n"):
        tag, _, rest = part.partition("\n")
        if tag.startswith("# tags: "):
            cells.append(nbformat.v4.new_code_cell(rest, metadata={"tags": [tag[8:]]}))
        elif part.startswith("#"):
            cells.append(nbformat.v4.new_markdown_cell(part))
        else:
            cells.append(nbformat.v4.new_code_cell(part))
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)


@pytest.fixture
def shell(monkeypatch):
    """A notebook's inside, without a kernel."""
    inside = InteractiveShell()
    monkeypatch.setattr(catching_up, "_shell", lambda: inside)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    yield inside
    inside.history_manager.end_session()
    inside.restore_sys_module_state()


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A course of one small lesson."""
    notebook(tmp_path / "course" / "notebooks" / "01_small.ipynb", LESSON)
    notebook(tmp_path / "course" / "solutions" / "01_small.ipynb", SOLUTIONS)
    monkeypatch.setattr(sections, "course_files", lambda: tmp_path / "course")
    for number in range(1, 5):
        made = checks.Exercise(f"1.{number}", "small", cases=lambda seed: [], observe=print, judge=print)
        monkeypatch.setitem(checks._registry, f"1.{number}", made)
    sections._sections.cache_clear()


# ── Sections ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sections_are_numbered_as_a_reader_counts_headings(small):
    found = lesson_sections("01")
    assert [(one.number, one.heading, len(one.cells)) for one in found] == [
        (0, "", 1),
        (1, "First things", 2),
        (2, "Second, with an await", 3),
        (3, "Third", 0),
        (4, "Fourth", 1),
        (5, "Fifth", 2),
    ]
    assert (found[1].items, found[1].questions) == (("item-01.1",), ("01.1",))
    assert [one.number for one in map(section_of, ("01.1", "01.recall.2"))] == [1, 5]
    assert section_of("01.7") is None and section_of("77.1") is None
    assert lesson_sections("77") == () and lesson_file("x") is None


def test_every_question_of_the_course_stands_in_a_section():
    from course_kit.classroom.quiz import question_ids

    assert [id for id in question_ids() if section_of(id) is None and lesson_file(progress.lesson_of(id))] == []


# ── In a lesson ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_comes_before_the_section_is_run_quietly(small, shell, capsys):
    said = jump_to(4, lesson=1)
    assert said == (
        "Ran 3 code cells of lesson 01 without showing their output: all before section 4, “Fourth”. Questions and "
        "live cells were left out. New names: started, first, later, second. Go on at that heading."
    )
    assert (shell.user_ns["first"], shell.user_ns["second"]) == (1, 2)
    assert "fourth" not in shell.user_ns
    assert shell.user_ns["started"] == []  # neither the quiz nor the live cell
    assert capsys.readouterr().out == ""
    assert progress.attempts("1.1") == []


def test_it_works_twice(small, shell):
    jump_to(4, lesson=1)
    shell.user_ns["first"] = "changed"
    assert "New names: fourth." in jump_to(5, lesson=1)
    assert "No name is new." in jump_to(5, lesson=1)
    assert (shell.user_ns["first"], shell.user_ns["fourth"]) == (1, 3)


@pytest.mark.parametrize("place", [2, "Second, with an await", "with an AWAIT", "item-01.2"])
def test_a_section_by_number_words_or_tag(small, shell, place):
    assert "all before section 2, “Second, with an await”" in jump_to(place, lesson=1)


def test_a_tag_names_its_lesson(small, shell):
    assert "of lesson 01" in jump_to("item-01.2")


def test_without_a_place_the_sections_are_listed_and_nothing_runs(small, shell):
    assert repr(jump_to(lesson="01")).splitlines()[1:] == [
        "  1  First things",
        "  2  Second, with an await",
        "  3  Third",
        "  4  Fourth",
        "  5  Fifth",
    ]
    assert "first" not in shell.user_ns


@pytest.mark.parametrize(
    ("place", "lesson", "sentence"),
    [
        (0, 1, "There is no section 0: choose from 1 to 5"),
        (6, 1, "There is no section 6: choose from 1 to 5"),
        ("Forth", 1, "No section is called 'Forth': the nearest is 'Fourth'"),
        (1, 77, "There is no lesson 77"),
        (1, None, "Which lesson is this\\? Say it"),
        ("1.9", None, "There is no exercise '1.9'"),
    ],
)
def test_what_is_not_there_is_one_sentence(small, shell, place, lesson, sentence):
    with pytest.raises(CourseKitError, match=sentence):
        jump_to(place, lesson=lesson)


def test_a_cell_that_fails_is_named(small, shell, tmp_path):
    notebook(tmp_path / "course" / "notebooks" / "01_small.ipynb", "# 01 · X\n---\n## Bad\n---\n1 / 0\n---\n## Next")
    sections._sections.cache_clear()
    with pytest.raises(
        CourseKitError, match="section 1, “Bad” stopped with ZeroDivisionError: division by zero. Restart"
    ):
        jump_to(2, lesson=1)


@pytest.mark.parametrize(
    "name", ["notebooks/01_small.ipynb", "/home/ada/x/01_small-copy.ipynb", r"c:\ada\01_small.ipynb"]
)
def test_the_notebook_says_which_lesson_it_is(small, shell, monkeypatch, name):
    monkeypatch.setenv("JPY_SESSION_NAME", name)
    assert "of lesson 01" in jump_to(1)


def test_another_editor_says_it_in_a_name(small, shell):
    shell.user_ns["__vsc_ipynb_file__"] = "/home/ada/notebooks/01_small.ipynb"
    assert "of lesson 01" in jump_to(1)


def test_otherwise_the_cells_that_were_run_say_it(small, shell):
    first = code_cells(lesson_file("01"))[0]
    shell.user_ns["In"] = ["", first.source + "\n", "jump_to(1)"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_kit.classroom.lessons.course_files", sections.course_files)
        assert "of lesson 01" in jump_to(1)


def test_a_number_in_an_exercise_notebook_is_told_what_to_write(small, shell, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "exercises/04_errors.ipynb")
    with pytest.raises(CourseKitError, match=r'This is an exercise notebook: write `jump_to\("4.2"\)`'):
        jump_to(2)


def test_outside_a_notebook_is_one_sentence():
    with pytest.raises(CourseKitError, match="`jump_to` works in a notebook"):
        jump_to(3, lesson=1)


# ── In an exercise notebook ──────────────────────────────────────────────────────────────────────────────────────────


def stub(*arguments):
    raise NotImplementedError("1.1: your code here")


def test_earlier_exercises_are_filled_from_the_solutions(small, shell):
    said = jump_to("1.3")
    assert said == "Filled in from the solutions: double, half, answer. Go on at exercise 1.3."
    assert (shell.user_ns["double"](4), shell.user_ns["answer"], shell.user_ns["SAMPLE"]) == (8, 42, {"a": 1})
    assert "Box" not in shell.user_ns
    assert progress.attempts("1.1") == []


def test_hers_are_never_overwritten_and_are_used(small, shell):
    def double(x):
        return x + x + 1

    shell.user_ns.update(double=double, half=stub, answer=None, SAMPLE="mine", math="mine too")
    said = jump_to("1.3")
    assert said == (
        "Filled in from the solutions: half, answer. Yours and left as they are: double. Go on at exercise 1.3."
    )
    assert shell.user_ns["double"] is double
    assert shell.user_ns["half"](8) == 4
    assert shell.user_ns["answer"] == 43  # made with her `double`
    assert (shell.user_ns["SAMPLE"], shell.user_ns["math"]) == ("mine", "mine too")


def test_filling_works_twice(small, shell):
    jump_to("1.3")
    double = shell.user_ns["double"]
    assert jump_to("1.3") == (
        "Nothing had to be filled in. Yours and left as they are: double, half, answer. Go on at exercise 1.3."
    )
    assert shell.user_ns["double"] is double


def test_a_class_of_stubs_is_a_stub(small, shell):
    class Box:
        def size(self):
            raise NotImplementedError("1.3: your code here")

    shell.user_ns["Box"] = Box
    assert "Box" in jump_to("1.4").split(".")[0]
    assert shell.user_ns["Box"]().size() == 42


def test_the_first_exercise_has_nothing_before_it(small, shell):
    assert jump_to("1.1") == "Exercise 1.1 is the first: nothing comes before it."


def partly(x):
    x = x + 1
    raise NotImplementedError("10.2: your code here")


def outer():
    def inner():
        raise NotImplementedError("1.1: your code here")

    return inner


def unfinished_of_hers(x):
    if x:
        return 1
    raise NotImplementedError("not yet")


class Hers:
    def size(self):
        return 1


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (None, True),
        (..., True),
        ([None, None], True),
        (stub, True),
        (partly, True),
        (outer, True),
        (unfinished_of_hers, False),
        (lambda x: x, False),
        (Hers, False),
        (type("Empty", (), {}), False),
        (0, False),
        ("", False),
        ([], False),
        (len, False),
    ],
)
def test_what_counts_as_a_stub(value, is_one):
    assert is_stub(value) is is_one


def test_the_names_that_a_cell_binds():
    cell = """
import os.path as path
from json import dumps
a, (b, *c) = 1, (2, 3)
d: int = 4
for e in [x for x in range(3)]:
    with open(path) as f:
        pass
def g(h): i = h
class J: k = 1
(l := 5)
await a
"""
    assert catching_up._defined(cell) == ["path", "dumps", "a", "b", "c", "d", "e", "f", "g", "J", "l"]
    assert catching_up._defined(cell, imports=False)[:3] == ["a", "b", "c"]
    assert catching_up._defined("%matplotlib inline\nx = 1") == []


# ── The course itself ────────────────────────────────────────────────────────────────────────────────────────────────

LAST = {id.split(".")[0]: id for id in checks.exercise_ids()}  # the last exercise of each lesson


@pytest.mark.parametrize("last", LAST.values())
def test_each_exercise_notebook_can_be_filled(shell, last):
    """With nothing but stubs there, all answers before the last exercise are those of the solutions, and pass."""
    file = lesson_file(progress.lesson_of(last), "exercises")
    if file is None:
        pytest.skip("the notebook of this exercise is not built yet")
    for cell in code_cells(file):
        if not catching_up._is_own_doing(cell.source):
            assert shell.run_cell(cell.source).success
    jump_to(last)
    solutions = lesson_file(progress.lesson_of(last), "solutions")
    for cell in catching_up._before(code_cells(solutions), f"exercise-{last}"):
        if any(tag.startswith("exercise-") for tag in cell.tags):
            names = catching_up._defined(cell.source, imports=False)
            assert [name for name in names if is_stub(shell.user_ns[name])] == []


def in_a_kernel(*sources: str, name: str = "") -> list[str]:
    """The last text of each cell, as a notebook shows it."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch:
        if name:
            patch.setenv("JPY_SESSION_NAME", name)
        NotebookClient(book, kernel_name="python3", timeout=120).execute()
    return [
        str(cell.outputs[-1].get("text") or cell.outputs[-1].get("data")) if cell.outputs else "" for cell in book.cells
    ]


def test_in_a_real_kernel_with_cells_that_await():
    """Lesson 05 awaits at the top level before its section 6; twice, then the next section's own cells run."""
    after = [cell.source for cell in lesson_sections("05")[6].cells if "quiz" not in cell.tags][:2]
    shown = in_a_kernel(
        "from course_kit import jump_to", "jump_to(6)", "jump_to(6)", *after, name="notebooks/05_x.ipynb"
    )
    assert "all before section 6, “When is it safe?”" in shown[1]
    assert "No name is new." in shown[2]


def test_an_error_of_the_kit_shows_no_stack_trace():
    with pytest.raises(CellExecutionError) as caught:
        in_a_kernel("from course_kit import jump_to; jump_to(99, lesson=1)")
    assert "There is no section 99" in str(caught.value) and "Traceback" not in str(caught.value)


def test_the_tags_of_code_cells(small):
    assert code_cells(lesson_file("01"))[1] == CodeCell('first = 1\nprint("shown")', ("item-01.1",))
    assert json.loads(lesson_file("01").read_text(encoding="utf-8"))["nbformat"] == 4

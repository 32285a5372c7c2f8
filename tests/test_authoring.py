"""Text → notebook: stubs, marks, mirrors and ids (`authoring.py`); running, writing, drift (`building.py`)."""

import json
import os
import re
from pathlib import Path

import nbformat
import pytest

from course_kit.authoring import AuthoringError, WrittenCell, assemble, mirrored_source, read_cells, stub
from course_kit.building import build, check, clean_environment, differences, make, targets

LESSON = """\
# %% [markdown]
# # 0 · First
#
# A promise.

# %% tags=["item-00.1"] id="numbers" alt="A line that rises"
import matplotlib.pyplot as plt

plt.plot([1, 2])
plt.show()

# %%
import sys

print("one", flush=True)
print("two")
{"c", "a", "b"}
"""

SOLUTION = '''\
# %% [markdown]
# # 0 · First: exercises

# %% tags=["exercise-0.1"]
def add(a, b):
    """Add two numbers."""
    # BEGIN SOLUTION
    total = a + b
    return total
    # END SOLUTION


# %%
try:
    print("passed" if add(1, 2) == 3 else "not yet")
except NotImplementedError as stub:
    print("not attempted:", stub)

# %% tags=["exercise-0.2"]
# BEGIN SOLUTION
limit = 5  # at most
# END SOLUTION

# %% [markdown] tags=["solution"]
# Why `+` is right.
'''


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for folder, text in (("notebooks", LESSON), ("solutions", SOLUTION)):
        source = tmp_path / "course" / folder / "src" / "00_first.py"
        source.parent.mkdir(parents=True)
        source.write_text(text, encoding="utf-8")
    return tmp_path / "course"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "src" / "07_text.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def sources(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def silent(sentence: str) -> None:
    pass


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cells_are_read_with_tags_ids_and_lines(tmp_path):
    assert read_cells(written(tmp_path, LESSON)) == [
        WrittenCell("markdown", "# 0 · First\n\nA promise.", line=1),
        WrittenCell(
            "code",
            "import matplotlib.pyplot as plt\n\nplt.plot([1, 2])\nplt.show()",
            ("item-00.1",),
            "numbers",
            "A line that rises",
            line=6,
        ),
        WrittenCell("code", 'import sys\n\nprint("one", flush=True)\nprint("two")\n{"c", "a", "b"}', line=12),
    ]


def test_the_empty_lines_that_a_formatter_puts_ahead_of_a_def_are_none_of_the_cell(tmp_path):
    text = "# %%\n\n\ndef one():\n    return 1\n\n\n# %% [markdown]\n\n# Two.\n"
    assert [cell.source for cell in read_cells(written(tmp_path, text))] == ["def one():\n    return 1", "Two."]


def test_magics_come_back_as_magics(tmp_path):
    [cell] = read_cells(written(tmp_path, "# %%\n# %xmode Minimal\nawait ready()\n"))
    assert cell.source == "%xmode Minimal\nawait ready()"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            "# %%\ndef f():\n    # BEGIN SOLUTION\n    return 1\n",
            "src/07_text.py, line 3: this solution region is never closed",
            id="unclosed_at_the_end",
        ),
        pytest.param(
            "# %%\n# BEGIN SOLUTION\na = 1\n# %%\n# END SOLUTION\n",
            "src/07_text.py, line 2: this solution region is never closed",
            id="closed_in_another_cell",
        ),
        pytest.param(
            "# %%\n# BEGIN SOLUTION\na = 1\n# BEGIN SOLUTION\n# END SOLUTION\n",
            "src/07_text.py, line 4: a solution region begins inside that of line 2",
            id="nested",
        ),
        pytest.param("# %%\na = 1\n# END SOLUTION\n", "line 3: `# END SOLUTION` closes nothing", id="end_only"),
        pytest.param("a = 1\n# %%\nb = 2\n", "text stands before the first `# %%` line", id="no_header"),
    ],
)
def test_a_text_that_is_no_notebook_is_refused_in_one_sentence(tmp_path, text, sentence):
    with pytest.raises(AuthoringError) as refusal:
        read_cells(written(tmp_path, text))
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


# ── Stubs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            "def f(x):\n    # BEGIN SOLUTION\n    y = x\n    # END SOLUTION\n    return y",
            'def f(x):\n    raise NotImplementedError("1.1: your code here")\n    return y',
            id="in_a_function_assignments_too_become_a_raise",
        ),
        pytest.param(
            "if True:\n    def f():\n        # BEGIN SOLUTION\n        return 1\n        # END SOLUTION",
            'if True:\n    def f():\n        raise NotImplementedError("1.1: your code here")',
            id="at_its_own_indentation",
        ),
        pytest.param(
            "# BEGIN SOLUTION\nfirst = 'a'\nsecond: int = 2\nfirst = 'b'\n# END SOLUTION\nprint(first)",
            "first = None  # your answer\nsecond = None  # your answer\nprint(first)",
            id="assigned_names_each_once",
        ),
        pytest.param(
            "def f():\n    # BEGIN SOLUTION none\n    y = 1\n    # END SOLUTION\n    return y",
            "def f():\n    y = None  # your answer\n    return y",
            id="none_when_said",
        ),
        pytest.param(
            "def f():\n    # BEGIN SOLUTION\n    return 1\n    # END SOLUTION\n\ndef g():\n"
            "    # BEGIN SOLUTION\n    return 2\n    # END SOLUTION",
            'def f():\n    raise NotImplementedError("1.1: your code here")\n\ndef g():\n'
            '    raise NotImplementedError("1.1: your code here")',
            id="two_regions",
        ),
        pytest.param("a = 1", "a = 1", id="nothing_marked"),
    ],
)
def test_stub(source, expected):
    assert stub(source, "1.1", "here") == expected


@pytest.mark.parametrize(
    ("source", "exercise", "sentence"),
    [
        pytest.param("# BEGIN SOLUTION\nprint(1)\n# END SOLUTION", "1.1", "stop Run All", id="at_column_0"),
        pytest.param("# BEGIN SOLUTION raise\na = 1\n# END SOLUTION", "1.1", "stop Run All", id="when_said"),
        pytest.param("# BEGIN SOLUTION none\nprint(1)\n# END SOLUTION", "1.1", "only assign", id="none_without"),
        pytest.param("# BEGIN SOLUTION maybe\na = 1\n# END SOLUTION", "1.1", "is unknown", id="unknown_word"),
        pytest.param("# BEGIN SOLUTION\na = 1\n# END SOLUTION", None, "needs its exercise", id="no_tag"),
    ],
)
def test_a_stub_that_cannot_be_is_refused(source, exercise, sentence):
    with pytest.raises(AuthoringError, match=sentence) as refusal:
        stub(source, exercise, "src/07.py, line 4")
    assert str(refusal.value).startswith("src/07.py, line 4: ")


def test_exercise_and_solution_come_from_one_text(tmp_path):
    path = written(tmp_path, SOLUTION)
    cells = read_cells(path)
    exercise, solution = assemble(cells, "exercise", path), assemble(cells, "solution", path)
    checked = ("code", cells[2].source)
    assert sources(exercise) == [
        ("markdown", "# 0 · First: exercises"),
        ("code", 'def add(a, b):\n    """Add two numbers."""\n    raise NotImplementedError("0.1: your code here")'),
        checked,
        ("code", "limit = None  # your answer"),
    ]
    assert sources(solution) == [
        ("markdown", "# 0 · First: exercises"),
        ("code", 'def add(a, b):\n    """Add two numbers."""\n    total = a + b\n    return total'),
        checked,
        ("code", "limit = 5  # at most"),
        ("markdown", "Why `+` is right."),
    ]
    assert [cell.id for cell in exercise.cells] == [cell.id for cell in solution.cells[:4]]


# ── Ids, metadata, mirrors ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_id_survives_a_cell_inserted_above(tmp_path):
    path = written(tmp_path, "")
    a, b, c = WrittenCell("code", "a"), WrittenCell("code", "b"), WrittenCell("markdown", "c")
    before = assemble([a, c, c], "lesson", path).cells
    after = assemble([b, a, c, c], "lesson", path).cells
    assert [cell.id for cell in before] == [cell.id for cell in after[1:]]
    assert len({cell.id for cell in after}) == 4


def test_a_given_id_is_kept_and_nothing_else_is_stored(tmp_path):
    path = written(tmp_path, LESSON)
    notebook = assemble(read_cells(path), "lesson", path)
    assert notebook.cells[1].id == "numbers"
    assert notebook.cells[1].metadata == {"tags": ["item-00.1"], "alt": "A line that rises"}
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


@pytest.mark.parametrize("id", ["taken", "with a space", "x" * 65])
def test_an_id_that_no_cell_may_have_is_refused(tmp_path, id):
    cells = [WrittenCell("code", "a", id="taken", line=1), WrittenCell("code", "b", id=id, line=4)]
    with pytest.raises(AuthoringError, match="src/07_text.py, line 4: .* cannot be this cell's id"):
        assemble(cells, "lesson", written(tmp_path, ""))


def test_a_mirror_shows_the_source_whatever_the_text_says(tmp_path):
    tag = "mirrors:course_kit.contract.messages.text"
    path = written(tmp_path, f'# %% tags=["{tag}"]\nold\n\n# %% [markdown] tags=["{tag}"]\n# old\n')
    source = 'def text(text: str) -> Block:\n    """A text block."""\n    return {"type": "text", "text": text}'
    assert sources(assemble(read_cells(path), "lesson", path)) == [
        ("code", source),
        ("markdown", f"```python\n{source}\n```"),
    ]


def test_a_method_is_mirrored_without_its_indentation():
    mirrored = mirrored_source("course_kit.errors.ToolError.__init__", "here")
    assert mirrored.startswith("def __init__(self, code: str,")


@pytest.mark.parametrize(
    "name", ["course_kit.no_module.name", "course_kit.errors.no_name", "json.dumps.x", "not a name"]
)
def test_a_mirror_of_nothing_is_refused(name):
    with pytest.raises(AuthoringError, match="src/01.py, line 3: nothing to mirror"):
        mirrored_source(name, "src/01.py, line 3")


# ── Running and writing ──────────────────────────────────────────────────────────────────────────────────────────────


def test_build_writes_all_three_and_is_the_same_twice(course, monkeypatch):
    said = []
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    written_files = build(course, say=said.append)
    products = [course / folder / "00_first.ipynb" for folder in ("exercises", "notebooks", "solutions")]
    assert sorted(written_files) == products
    assert sorted(line.split()[1] for line in said) == [f"{path.parent.name}/{path.name}" for path in products]
    assert [line.split()[0] for line in said] == ["[1/3]", "[2/3]", "[3/3]"]
    before = [path.read_bytes() for path in products]

    lesson = nbformat.read(course / "notebooks" / "00_first.ipynb", as_version=4)
    picture, prints = lesson.cells[1], lesson.cells[2]
    assert (picture.execution_count, prints.execution_count) == (1, 2)
    assert picture.outputs[0].metadata["image/png"]["alt"] == "A line that rises"
    assert [(output.output_type, output.get("text", output.get("data"))) for output in prints.outputs] == [
        ("stream", "one\ntwo\n"),
        ("execute_result", {"text/plain": "{'a', 'b', 'c'}"}),
    ]
    exercise = nbformat.read(course / "exercises" / "00_first.ipynb", as_version=4)
    assert exercise.cells[2].outputs[0].text == "not attempted: 0.1: your code here\n"
    solution = nbformat.read(course / "solutions" / "00_first.ipynb", as_version=4)
    assert solution.cells[2].outputs[0].text == "passed\n"

    assert build(course, say=silent) == []
    assert [path.read_bytes() for path in products] == before
    assert check(course, run=False) == []

    # Drift, of every kind that `--check` looks for.
    source = course / "solutions" / "src" / "00_first.py"
    source.write_text(SOLUTION.replace("limit = 5", "limit = 6"), encoding="utf-8")
    lesson.cells[2].outputs[0].text = "one\nthree\n"
    nbformat.write(lesson, course / "notebooks" / "00_first.ipynb")
    (course / "exercises" / "00_first.ipynb").unlink()
    (course / "exercises" / "09_gone.ipynb").write_text("{}", encoding="utf-8")
    assert check(course, say=silent) == [
        "exercises/00_first.ipynb is missing",
        "exercises/09_gone.ipynb has no text it is built from; delete it",
        "notebooks/00_first.ipynb is stale: cell 3: output has 'stdout: three', should have 'stdout: two'",
        "solutions/00_first.ipynb is stale: cell 4: source has 'limit = 5  # at most', "
        "should have 'limit = 6  # at most'",
    ]


def test_what_a_kernel_leaves_behind_is_stripped(course):
    (course / "notebooks" / "src" / "00_first.py").write_text(
        '# %%\nimport ipywidgets\n\nipywidgets.HTML("hello")\n\n# %% tags=["raises-exception"]\nint("x")\n',
        encoding="utf-8",
    )
    [target] = [target for target in targets(course) if target.kind == "lesson"]
    first, second = make(target), make(target)
    assert first == second
    notebook = nbformat.reads(first, as_version=4)
    assert list(notebook.cells[0].outputs[0].data) == ["text/plain"]
    assert "widgets" not in notebook.metadata
    assert notebook.cells[1].outputs == [
        {
            "output_type": "error",
            "ename": "ValueError",
            "evalue": "invalid literal for int() with base 10: 'x'",
            "traceback": ["ValueError: invalid literal for int() with base 10: 'x'"],
        }
    ]


def test_failures_are_told_together_by_file_line_and_cell(course):
    (course / "notebooks" / "src" / "00_first.py").write_text("# %%\na = 1\n\n# %%\na / 0\n", encoding="utf-8")
    (course / "solutions" / "src" / "00_first.py").write_text("# %%\na = = 1\n", encoding="utf-8")
    with pytest.raises(AuthoringError) as failure:
        build(course, say=silent)
    messages = str(failure.value).splitlines()
    assert messages[0] == (
        "notebooks/src/00_first.py, line 4 (cell 2 of the lesson): ZeroDivisionError: division by zero. "
        "Mend the cell, or tag it raises-exception if that is meant."
    )
    assert messages[1].startswith("solutions/src/00_first.py, line 1 (cell 1 of the exercise): SyntaxError: ")
    assert messages[2].startswith("solutions/src/00_first.py, line 1 (cell 1 of the solution): SyntaxError: ")
    assert not list(course.glob("*/*.ipynb"))


@pytest.mark.parametrize("name", ["0", "00", "00_first", "notebooks/src/00_first.py", "exercises/00_first.ipynb"])
def test_a_notebook_is_chosen_by_number_stem_or_file(course, name):
    assert [target.kind for target in targets(course, [name])] == ["lesson", "solution", "exercise"]


def test_an_unknown_name_is_refused_with_the_known_ones(course):
    with pytest.raises(AuthoringError, match="Nothing is called 'frist' here; choose from 00_first."):
        targets(course, ["frist"])


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(AuthoringError, match="run this in a clone of the course"):
        targets(tmp_path)


# ── Environment and comparison ───────────────────────────────────────────────────────────────────────────────────────


def test_no_key_and_no_switch_reaches_a_kernel(tmp_path):
    environment = {
        "PATH": os.defpath,
        "HOME": "home",
        "ANTHROPIC_API_KEY": "a",
        "ANTHROPIC_BASE_URL": "b",
        "OPENAI_API_KEY": "c",
        "SOME_AUTH_TOKEN": "d",
        "COURSE_LIVE": "1",
        "COURSE_WORKSPACE": "learners",
        "COURSE_SHARED_DATA": "data",
        "MPLBACKEND": "agg",
    }
    clean = clean_environment(tmp_path, environment)
    jupyter = {name: value for name, value in clean.items() if name.startswith(("IPYTHON", "JUPYTER"))}
    assert all(Path(value).is_relative_to(tmp_path) for value in jupyter.values())
    assert {name: value for name, value in clean.items() if name not in jupyter} == {
        "PATH": os.defpath,
        "HOME": "home",
        "COURSE_SHARED_DATA": "data",
        "COURSE_WORKSPACE": str(tmp_path / "workspace"),
        "OPENBLAS_NUM_THREADS": "1",
    }


def test_what_the_tests_read_of_the_environment_reaches_them(tmp_path):
    """A variable that is taken out is one that changes nothing: a long run would be a short one, and say nothing."""
    here = Path(__file__).resolve().parent
    texts = [file.read_text(encoding="utf-8") for file in [here.parent / ".ci/run", *here.glob("*.py")]]
    asked = set(re.findall(r"^(COURSE_\w+)=", texts[0], re.MULTILINE))
    asked |= {name for text in texts for name in re.findall(r"environ\.get\(\"(COURSE_\w+)\"", text)}
    assert {"COURSE_RUNS", "COURSE_HUB_PROXY"} <= asked
    assert asked - clean_environment(tmp_path, dict.fromkeys(asked, "x")).keys() == set()


def notebook_with(source="x", tags=(), outputs=(), id="one"):
    cell = nbformat.v4.new_code_cell(source, id=id, metadata={"tags": list(tags)} if tags else {})
    cell.outputs = [nbformat.from_dict(output) for output in outputs]
    return nbformat.v4.new_notebook(cells=[cell])


def picture(content, alt=""):
    data = {"image/png": content, "text/plain": "<Figure>", "text/html": f'<img src="data:image/png;base64,{content}">'}
    metadata = {"image/png": {"alt": alt}} if alt else {}
    return {"output_type": "display_data", "data": data, "metadata": metadata}


@pytest.mark.parametrize(
    ("built", "committed", "expected"),
    [
        pytest.param(notebook_with(id="one"), notebook_with(id="two"), [], id="ids_are_mere_names"),
        pytest.param(
            notebook_with(outputs=[picture("AAAA")]),
            notebook_with(outputs=[picture("BBBB")]),
            [],
            id="pixels_do_not_count",
        ),
        pytest.param(
            notebook_with(outputs=[picture("AAAA", "A line")]),
            notebook_with(outputs=[picture("AAAA", "A bar")]),
            ["cell 1: output has 'image/png: A bar', should have 'image/png: A line'"],
            id="descriptions_do",
        ),
        pytest.param(
            notebook_with(outputs=[picture("AAAA")]),
            notebook_with(),
            ["cell 1: output has nothing, should have 'image/png: '"],
            id="a_picture_is_missing",
        ),
        pytest.param(
            notebook_with("a\nb"), notebook_with("a\nc"), ["cell 1: source has 'c', should have 'b'"], id="source"
        ),
        pytest.param(
            notebook_with(tags=["item-01.2"]),
            notebook_with(),
            ["cell 1: tags has nothing, should have 'item-01.2'"],
            id="tags",
        ),
    ],
)
def test_differences(built, committed, expected):
    assert differences(built, committed) == expected


def test_a_missing_cell_is_told_by_counts():
    two = notebook_with()
    two.cells.append(nbformat.v4.new_markdown_cell("more"))
    assert differences(two, notebook_with()) == ["it has 1 cells, should have 2"]


def test_a_notebook_file_ends_with_one_newline_and_keeps_letters(course):
    [target] = [target for target in targets(course) if target.kind == "lesson"]
    text = make(target, run=False)
    assert text.endswith("}\n") and not text.endswith("\n\n")
    assert "0 · First" in text
    assert json.loads(text)["nbformat"] == 4


def test_a_solution_that_its_own_check_refuses_is_not_built(course):
    source = course / "solutions" / "src" / "00_first.py"
    text = "# %%\nfrom course_kit import check\n\ncheck('0.1', {answer!r})\n"
    [target] = [target for target in targets(course) if target.kind == "solution"]
    source.write_text(text.format(answer="no such day"), encoding="utf-8")
    with pytest.raises(AuthoringError, match="the solution does not pass its own check. Exercise 0.1: not yet."):
        make(target)
    source.write_text(text.format(answer=None), encoding="utf-8")
    with pytest.raises(AuthoringError, match="Exercise 0.1: not attempted."):
        make(target)

"""The committed notebooks: built from their text, complete, readable without being run, and the same on every machine.

That every cell still gives the output stored with it is nbval's part of the run; here is what nbval does not look at.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from course_kit.building import check, make, targets
from course_kit.lab import ENDINGS, FOLDERS

ROOT = Path(__file__).resolve().parents[1]

# How many items of the curriculum each lesson teaches; a cell tagged `item-01.3` teaches the third of lesson 01.
ITEMS = {
    **{"00": 3, "01": 8, "02": 9, "03": 9, "04": 9, "05": 8, "06": 7},
    **{"07": 8, "08": 7, "09": 5, "10": 7, "11": 4, "12": 6, "13": 3},
}
LONGEST_CELL = 32  # a whole tool definition
INTRODUCED = 0.8

MACHINE = re.compile(
    r"/(?:home|Users)/(?!ada\b|user\b|me\b|you\b)\w+|(?<!\w)/ro(?:ot)/|(?<!\w)/tmp/|/var/folders/|\b[A-Z]:\\"
    r"|site-packages|ipykernel_\d+|Traceback \(most recent call last\)| at 0x[0-9a-fA-F]+"
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)|href=[\"']([^\"']+)[\"']")
OUTCOME = re.compile(r"Exercise (\d+\.\d+[a-z]?): (passed|not yet|not attempted)\.")

Notebook = nbformat.NotebookNode


def notebooks(folder: str) -> list:
    return [
        pytest.param(path, id=f"{folder}/{path.stem}") for path in sorted((ROOT / folder).glob("[0-9][0-9]_*.ipynb"))
    ]


def read(path: Path) -> Notebook:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: Notebook) -> list[Notebook]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tags(cell: Notebook) -> list[str]:
    return cell.metadata.get("tags", [])


def texts(cell: Notebook) -> Iterator[str]:
    """Every text that a cell's outputs show."""
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            yield output.text
        elif output.output_type == "error":
            yield "\n".join([output.ename, output.evalue, *output.traceback])
        else:
            yield from (str(value) for mime, value in output.data.items() if not mime.startswith("image/"))


# ── Rules for every notebook: each gives what is wrong, cell by cell (cells are counted from 1) ──────────────────────


def counts_run_from_one(notebook: Notebook, path: Path) -> Iterator[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}"


def no_error_is_stored(notebook: Notebook, path: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, 1):
        errors = [output.ename for output in cell.get("outputs", ()) if output.output_type == "error"]
        if errors and "raises-exception" not in tags(cell):
            yield f"cell {number} stores {errors[0]} and is not tagged raises-exception"


def no_widget_is_stored(notebook: Notebook, path: Path) -> Iterator[str]:
    if "widgets" in notebook.metadata:
        yield "the notebook stores widget state"
    for number, cell in enumerate(notebook.cells, 1):
        if any("widget-view" in mime for output in cell.get("outputs", ()) for mime in output.get("data", ())):
            yield f"cell {number} stores a widget view"


def pictures_are_described(notebook: Notebook, path: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            for mime in output.get("data", {}):
                plain = output.data.get("text/plain", "<")
                if mime.startswith("image/") and not output.metadata.get(mime, {}).get("alt") and plain.startswith("<"):
                    yield f'cell {number}: a picture has no description; give the cell alt="…"'
        for text in [*texts(cell), cell.source if cell.cell_type == "markdown" else ""]:
            bare = re.search(
                r"!\[\]\(|<img(?![^>]*\balt=[\"'][^\"'])|<svg(?![^>]*(aria-label|aria-hidden))(?!.*?<title)", text, re.S
            )
            if bare:
                yield f"cell {number}: {bare[0]} has no description"


def nothing_of_the_machine_is_shown(notebook: Notebook, path: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, 1):
        yield from (f"cell {number} shows {match[0]!r}" for text in texts(cell) if (match := MACHINE.search(text)))


def links_lead_somewhere(notebook: Notebook, path: Path) -> Iterator[str]:
    """Relative links lead to files that `course lab` copies into the workspace, where lessons are read."""
    for number, cell in enumerate(notebook.cells, 1):
        shown = [cell.source] if cell.cell_type == "markdown" else list(texts(cell))
        for match in (match for text in shown for match in LINK.finditer(text)):
            link = match[1] or match[2]
            if re.match(r"[a-z]+:|#", link):
                continue
            target = (path.parent / link.split("#")[0]).resolve()
            copied = target.parent in [ROOT / folder for folder in FOLDERS] and target.suffix in ENDINGS
            if not target.is_file() or not copied:
                yield f"cell {number}: the link {link} leads nowhere in a workspace"


# ── Rules for lessons ────────────────────────────────────────────────────────────────────────────────────────────────


def title_names_the_lesson(notebook: Notebook, path: Path) -> Iterator[str]:
    wanted = f"# {path.stem[:2]} · "
    first = notebook.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith(wanted):
        yield f"the first cell does not begin with {wanted!r}"


def setup_comes_first_and_prints_nothing(notebook: Notebook, path: Path) -> Iterator[str]:
    cells = code_cells(notebook)
    if not cells or "setup" not in tags(cells[0]):
        yield "the first code cell is not tagged setup"
    elif cells[0].outputs:
        yield "the setup cell prints something"


def cells_are_short(notebook: Notebook, path: Path) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, 1):
        lines = len(cell.source.splitlines())
        mirrored = any(tag.startswith("mirrors:") for tag in tags(cell))
        if cell.cell_type == "code" and lines > LONGEST_CELL and not mirrored:
            yield f"cell {number} has {lines} lines"


def code_is_introduced_by_text(notebook: Notebook, path: Path) -> Iterator[str]:
    pairs = list(zip(notebook.cells, notebook.cells[1:], strict=False))
    code = [(before, cell) for before, cell in pairs if cell.cell_type == "code" and "setup" not in tags(cell)]
    introduced = sum(before.cell_type == "markdown" for before, _ in code)
    if code and introduced < INTRODUCED * len(code):
        yield f"only {introduced} of {len(code)} code cells follow a text"


def sections_close_the_lesson(notebook: Notebook, path: Path) -> Iterator[str]:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    if not re.search(r"^## .*\bRecap\b", text, re.MULTILINE):
        yield "there is no recap"
    if (ROOT / "exercises" / path.name).exists() and f"exercises/{path.name}" not in text:
        yield "there is no link to the exercises"


EVERYWHERE = [
    counts_run_from_one,
    no_error_is_stored,
    no_widget_is_stored,
    pictures_are_described,
    nothing_of_the_machine_is_shown,
    links_lead_somewhere,
]
IN_LESSONS = [
    title_names_the_lesson,
    setup_comes_first_and_prints_nothing,
    cells_are_short,
    code_is_introduced_by_text,
    sections_close_the_lesson,
]


def problems(notebook: Notebook, path: Path, rules: list[Callable]) -> list[str]:
    return [f"{rule.__name__}: {problem}" for rule in rules for problem in rule(notebook, path)]


# ── The committed notebooks ──────────────────────────────────────────────────────────────────────────────────────────


def test_every_notebook_matches_its_text():
    """Cells only, which takes no run; `course build --check` and nbval compare the outputs too."""
    assert check(ROOT, run=False) == []


@pytest.mark.parametrize("path", notebooks("notebooks"))
def test_lesson_has_its_shape(path):
    appendix = path.stem[:2] not in ITEMS  # the glossary is no lesson
    assert problems(read(path), path, EVERYWHERE + ([] if appendix else IN_LESSONS)) == []


@pytest.mark.parametrize("path", [*notebooks("exercises"), *notebooks("solutions")])
def test_exercise_or_solution_has_its_shape(path):
    assert problems(read(path), path, EVERYWHERE) == []


@pytest.mark.parametrize("lesson", ITEMS)
def test_every_item_of_the_curriculum_is_taught(lesson):
    [path] = (ROOT / "notebooks").glob(f"{lesson}_*.ipynb")
    taught = {tag for cell in read(path).cells for tag in tags(cell) if tag.startswith("item-")}
    assert taught == {f"item-{lesson}.{number}" for number in range(1, ITEMS[lesson] + 1)}


def test_every_lesson_is_in_the_table_of_items():
    written = {path.stem[:2] for path in (ROOT / "notebooks").glob("[0-8][0-9]_*.ipynb")}
    assert written == set(ITEMS)


def outcomes(notebook: Notebook) -> list[tuple[str, str]]:
    """What the checks said, in order: `[("1.1", "passed"), …]`."""
    found = []
    for cell in code_cells(notebook):
        said = OUTCOME.findall("\n".join(texts(cell)))
        found += dict.fromkeys(said)  # the same outcome as text and as HTML counts once
    return found


def exercise_numbers(path: Path) -> list[str]:
    """The exercises of a notebook, by the tags of its solution's cells."""
    cells = read(ROOT / "solutions" / path.name).cells
    return sorted(
        {tag.removeprefix("exercise-") for cell in cells for tag in tags(cell) if tag.startswith("exercise-")}
    )


@pytest.mark.parametrize("path", notebooks("exercises"))
def test_an_untouched_exercise_says_only_not_attempted(path):
    expected = [(number, "not attempted") for number in exercise_numbers(path)]
    assert expected and sorted(set(outcomes(read(path)))) == expected


@pytest.mark.parametrize("path", notebooks("solutions"))
def test_a_solution_says_only_passed(path):
    expected = [(number, "passed") for number in exercise_numbers(path)]
    assert expected and sorted(set(outcomes(read(path)))) == expected


def test_a_lesson_is_built_the_same_twice():
    [target] = [target for target in targets(ROOT, ["1"]) if target.kind == "lesson"]
    assert make(target) == make(target)


# ── The rules themselves: each refuses what it is for ────────────────────────────────────────────────────────────────


def code(source="x = 1", outputs=(), tags=(), count=1):
    cell = nbformat.v4.new_code_cell(source, execution_count=count, metadata={"tags": list(tags)})
    cell.outputs = [nbformat.from_dict(output) for output in outputs]
    return cell


def markdown(source="text"):
    return nbformat.v4.new_markdown_cell(source)


def stream(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def shown(**data):
    data = {mime.replace("_", "/", 1).replace("__", "+"): value for mime, value in data.items()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["ValueError: no"]}
VIEW = {"output_type": "display_data", "data": {"application/vnd.jupyter.widget-view+json": {}}, "metadata": {}}
ALT = {"output_type": "display_data", "data": {"image/png": "AAAA"}, "metadata": {"image/png": {"alt": "Bars"}}}


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (counts_run_from_one, [code(count=1), code(count=2)], [code(count=1), code(count=3)]),
        (no_error_is_stored, [code(outputs=[ERROR], tags=["raises-exception"])], [code(outputs=[ERROR])]),
        (no_widget_is_stored, [code(outputs=[shown(text_html="<p>quiz</p>")])], [code(outputs=[VIEW])]),
        (pictures_are_described, [code(outputs=[ALT])], [code(outputs=[shown(image_png="A", text_plain="<Figure>")])]),
        (pictures_are_described, [code(outputs=[shown(image_png="A", text_plain="Bars")])], [markdown("![](a.png)")]),
        (
            pictures_are_described,
            [code(outputs=[shown(text_html='<img src="a" alt="Bars"> <svg role="img"><title>Bars</title></svg>')])],
            [code(outputs=[shown(text_html='<img src="a">')])],
        ),
        (
            pictures_are_described,
            [code(outputs=[shown(text_html='<svg role="img" aria-label="Bars"></svg>')])],
            [code(outputs=[shown(text_html='<svg role="img"><rect/></svg>')])],
        ),
        (nothing_of_the_machine_is_shown, [code(outputs=[stream("/home/ada/x")])], [code(outputs=[stream("/tmp/x")])]),
        (nothing_of_the_machine_is_shown, [code(outputs=[stream("0x10")])], [code(outputs=[stream("<f at 0x7f00>")])]),
        (links_lead_somewhere, [markdown("[a](https://example.com) [b](#part)")], [markdown("[a](99_none.ipynb)")]),
        (links_lead_somewhere, [markdown("no link")], [markdown("[a](../README.md)")]),
        (title_names_the_lesson, [markdown("# 07 · Name")], [markdown("# 7 · Name")]),
        (setup_comes_first_and_prints_nothing, [code(tags=["setup"])], [code()]),
        (setup_comes_first_and_prints_nothing, [code(tags=["setup"])], [code(tags=["setup"], outputs=[stream("hi")])]),
        (
            cells_are_short,
            [code("x\n" * (LONGEST_CELL + 1), tags=["mirrors:a.b"]), code("x\n" * LONGEST_CELL)],
            [code("x\n" * (LONGEST_CELL + 1))],
        ),
        (code_is_introduced_by_text, [markdown(), code(), markdown(), code()], [markdown(), code(), code(), code()]),
        (sections_close_the_lesson, [markdown("## Recap\nWords.")], [markdown("Recap")]),
    ],
)  # fmt: skip
def test_the_rules_themselves(rule, good, bad):
    path = ROOT / "notebooks" / "07_name.ipynb"
    assert problems(nbformat.v4.new_notebook(cells=good), path, [rule]) == []
    assert len(problems(nbformat.v4.new_notebook(cells=bad), path, [rule])) == 1


def test_outcomes_are_read_from_text_and_html():
    passed = "Exercise 1.1: passed. All 3 cases hold."
    html = "<p><b>✓ Exercise 1.1: passed.</b></p>"
    notebook = nbformat.v4.new_notebook(
        cells=[
            code(outputs=[shown(text_plain=passed, text_html=html)]),
            code(outputs=[stream("Exercise 1.2: not yet. …")]),
        ]
    )
    assert outcomes(notebook) == [("1.1", "passed"), ("1.2", "not yet")]

"""For maintainers: from the written text to the cells of a notebook.

A lesson is one text, `notebooks/src/NN_name.py`; a solution is one text, `solutions/src/NN_name.py`, and its
exercise is built from it. Both are in the py:percent form, where a header opens each cell:

    # %% [markdown]
    # ## What came back

    # %% tags=["item-01.2"] id="first-request" alt="Bars: tokens grow with every turn"
    reply = client.messages.create(...)

In a solution, what the learner is to write stands between two marks, in a cell tagged with its exercise:

    # %% tags=["exercise-1.1"]
    def answer(block):
        # BEGIN SOLUTION
        return tool_result(block["id"], "done")
        # END SOLUTION

The exercise gets `raise NotImplementedError("1.1: your code here")` there; a region at column 0 that only assigns names
gets `name = None  # your answer` (say which with `# BEGIN SOLUTION raise` or `# BEGIN SOLUTION none`). Cells tagged
`solution` are left out of the exercise. A cell tagged `mirrors:course_kit.harness.agent.drive` shows that object's
source, whatever stands in the text. Running, writing and checking the notebooks is next door, in `building.py`.
"""

import ast
import hashlib
import inspect
import pkgutil
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from course_kit.errors import CourseKitError

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["AuthoringError", "Kind", "WrittenCell", "assemble", "mirrored_source", "read_cells", "show", "stub"]

Kind = Literal["lesson", "solution", "exercise"]

CELL_HEADER = re.compile(r"# ?%%(\s|$)")
BEGIN = re.compile(r"[ \t]*# BEGIN SOLUTION(?: (?P<form>\S+))?[ \t]*$")
END = re.compile(r"[ \t]*# END SOLUTION[ \t]*$")
REGION = re.compile(
    r"^(?P<pad>[ \t]*)# BEGIN SOLUTION(?: (?P<form>\S+))?[ \t]*\n(?P<body>.*?)^[ \t]*# END SOLUTION[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
EXERCISE_TAG = re.compile(r"exercise-(\d+\.\d+[a-z]?)")
MIRROR_TAG = "mirrors:"
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class AuthoringError(CourseKitError):
    """A written text cannot become a notebook; the message names the file, the line and the cure."""


@dataclass(frozen=True)
class WrittenCell:
    """One cell as it was written: `line` is that of its header, `alt` describes the picture it draws."""

    type: str
    source: str
    tags: tuple[str, ...] = ()
    id: str | None = None
    alt: str | None = None
    line: int = 0

    @property
    def exercise(self) -> str | None:
        """The number in the tag: `exercise-1.1` → `1.1`."""
        return next((match[1] for tag in self.tags if (match := EXERCISE_TAG.fullmatch(tag))), None)


def show(path: Path) -> str:
    """The last parts of a path, for messages: `…/course/notebooks/src/01_trip.py` → `notebooks/src/01_trip.py`."""
    return "/".join(path.parts[-3:])


def read_cells(path: Path) -> list[WrittenCell]:
    """The cells of one written text."""
    import jupytext

    text = path.read_text(encoding="utf-8")
    _check_regions(text, path)
    headers = [number for number, line in enumerate(text.splitlines(), 1) if CELL_HEADER.match(line)]
    read = [cell for cell in jupytext.reads(text, fmt="py:percent").cells if cell.cell_type != "raw"]
    if len(headers) != len(read):
        raise AuthoringError(f"{show(path)}: text stands before the first `# %%` line; give it its own cell header.")
    return [
        WrittenCell(
            type=cell.cell_type,
            source=cell.source.strip("\n"),  # a formatter puts empty lines between a header and a `def`
            tags=tuple(cell.metadata.get("tags", ())),
            id=cell.metadata.get("id"),
            alt=cell.metadata.get("alt"),
            line=line,
        )
        for cell, line in zip(read, headers, strict=True)
    ]


def assemble(cells: list[WrittenCell], kind: Kind, path: Path) -> "NotebookNode":
    """The notebook of that kind, not yet run: stubs set, marks dropped, mirrors filled, ids given."""
    import nbformat

    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    taken: set[str] = set()
    for cell in cells:
        if kind == "exercise" and "solution" in cell.tags:
            continue
        new_cell = nbformat.v4.new_code_cell if cell.type == "code" else nbformat.v4.new_markdown_cell
        new = new_cell(_source(cell, kind, path), id=_cell_id(cell, taken, path))
        new.metadata = {name: value for name, value in (("tags", list(cell.tags)), ("alt", cell.alt)) if value}
        notebook.cells.append(nbformat.from_dict(new))
    return notebook


def stub(source: str, exercise: str | None, where: str) -> str:
    """A cell's text with each solution region replaced by what the learner starts from."""

    def replace(region: re.Match[str]) -> str:
        if exercise is None:
            raise AuthoringError(
                f'{where}: a solution region needs its exercise; tag the cell, as in tags=["exercise-1.1"].'
            )
        pad, form, names = region["pad"], region["form"], _assigned_names(region["body"])
        if form not in (None, "raise", "none"):
            raise AuthoringError(f"{where}: `BEGIN SOLUTION {form}` is unknown; write `raise`, `none` or nothing.")
        if form == "none" and not names:
            raise AuthoringError(
                f"{where}: `BEGIN SOLUTION none` is for regions that only assign names; use `raise` here."
            )
        if form == "none" or (form is None and names and not pad):
            return "\n".join(f"{pad}{name} = None  # your answer" for name in names)
        if not pad:
            raise AuthoringError(
                f"{where}: a `raise` at column 0 would stop Run All in the exercise; put the region inside a function, "
                "or let it only assign names."
            )
        return f'{pad}raise NotImplementedError("{exercise}: your code here")'

    return REGION.sub(replace, source)


def mirrored_source(name: str, where: str) -> str:
    """The source of an object by its dotted name: `course_kit.harness.agent.drive` → its text."""
    try:
        return textwrap.dedent(inspect.getsource(pkgutil.resolve_name(name))).rstrip()
    except (ImportError, AttributeError, TypeError, OSError, ValueError) as problem:
        raise AuthoringError(f"{where}: nothing to mirror at `{name}` ({problem}); mend the tag.") from None


def _source(cell: WrittenCell, kind: Kind, path: Path) -> str:
    where = f"{show(path)}, line {cell.line}"
    mirror = next((tag.removeprefix(MIRROR_TAG) for tag in cell.tags if tag.startswith(MIRROR_TAG)), None)
    if mirror is not None:
        source = mirrored_source(mirror, where)
        return source if cell.type == "code" else f"```python\n{source}\n```"
    if kind == "exercise":
        return stub(cell.source, cell.exercise, where)
    return "\n".join(line for line in cell.source.splitlines() if not (BEGIN.match(line) or END.match(line)))


def _cell_id(cell: WrittenCell, taken: set[str], path: Path) -> str:
    """The id that was given, else one from the written content, so that it survives cells inserted above."""
    digest = hashlib.sha256(f"{cell.type}\n{cell.tags}\n{cell.source}".encode()).hexdigest()[:12]
    name, copies = cell.id or digest, 1
    if cell.id and (cell.id in taken or not CELL_ID.fullmatch(cell.id)):
        raise AuthoringError(
            f"{show(path)}, line {cell.line}: {cell.id!r} cannot be this cell's id; "
            "take letters, digits, `-` and `_` that no other cell here has."
        )
    while name in taken:
        copies += 1
        name = f"{digest}-{copies}"
    taken.add(name)
    return name


def _assigned_names(body: str) -> list[str]:
    """The names a region assigns, if it does nothing else: `limit = 5` → `["limit"]`, `print(1)` → `[]`."""
    names: list[str] = []
    try:
        statements = ast.parse(textwrap.dedent(body)).body
    except SyntaxError:
        return []
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case _:
                return []
    return list(dict.fromkeys(names))


def _check_regions(text: str, path: Path) -> None:
    """Every region is closed in its own cell and holds no other."""
    opened = 0
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{show(path)}, line {number}"
        if BEGIN.match(line):
            if opened:
                raise AuthoringError(
                    f"{where}: a solution region begins inside that of line {opened}; close that one first."
                )
            opened = number
        elif END.match(line):
            if not opened:
                raise AuthoringError(
                    f"{where}: `# END SOLUTION` closes nothing; add its `# BEGIN SOLUTION` or delete it."
                )
            opened = 0
        elif opened and CELL_HEADER.match(line):
            break
    if opened:
        raise AuthoringError(
            f"{show(path)}, line {opened}: this solution region is never closed; end its cell with `# END SOLUTION`."
        )

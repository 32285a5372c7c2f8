"""`jump_to(5)`: for those who come late, or restart a notebook in the middle.

In a lesson, `jump_to(5)` runs the code of the sections before the fifth, quietly, as the lesson has it; then you go on
at that heading. `jump_to()` lists the sections. In an exercise notebook, `jump_to("4.3")` gives the names of the
earlier exercises the solutions' answers, where the learner has no answer yet.

The sections come from `sections.py`. Questions, checks and live cells are never run: nothing is answered in the
learner's name, and nothing is spent.
"""

import ast
import asyncio
import difflib
import dis
import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import PureWindowsPath
from types import CodeType
from typing import Any

from course_kit.classroom import progress
from course_kit.classroom.checks import find_exercise, untouched
from course_kit.classroom.sections import CodeCell, Section, code_cells, lesson_file, lesson_sections
from course_kit.errors import CourseKitError, SetupError

__all__ = ["Told", "jump_to"]

NOT_RUN = {"live", "quiz"}  # tags
OWN_DOING = {"check", "hint", "solution", "quiz", "jump_to"}  # calls that are the learner's to make
STUB = re.compile(r"\d+\.\d+: your code here")


class Told(str):
    """What was done, in a sentence or a few lines."""

    __repr__ = str.__str__


def jump_to(place: int | str | None = None, *, lesson: int | str | None = None) -> Told:
    """Run what comes before a section: `jump_to(5)`; or fill in earlier exercises: `jump_to("4.3")`.

    A section is a number, words of its heading or its tag (`"item-05.4"`); without one, the sections are listed.
    `lesson` is needed only where the notebook cannot be recognised.
    """
    shell = _shell()
    if isinstance(place, str) and re.fullmatch(r"\d{1,2}\.\w+", place.strip()):
        return _fill_in(shell, place.strip())
    if lesson is None and isinstance(place, str) and (tag := re.fullmatch(r"item-(\d\d)\.\w+", place)):
        lesson = tag[1]
    number = progress.lesson_of(str(lesson)) if lesson is not None else _lesson_here(shell)
    sections = lesson_sections(number)
    if not sections:
        raise CourseKitError(f"There is no lesson {lesson}: `lesson_map()` lists them.")
    if place is None:
        lines = [f"{one.number:>3}  {one.heading}" for one in sections[1:]]
        return Told("\n".join([f"Sections of lesson {number}; `jump_to(5)` runs what comes before the fifth:", *lines]))
    return _run_before(shell, number, sections, _find(sections, place))


# ── In a lesson ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _find(sections: tuple[Section, ...], place: int | str) -> Section:
    if isinstance(place, int):
        if place in range(1, len(sections)):
            return sections[place]
        raise CourseKitError(
            f"There is no section {place}: choose from 1 to {len(sections) - 1}; `jump_to()` lists them."
        )
    wanted = place.strip().casefold()
    for fits in (
        lambda one: wanted in one.items,
        lambda one: wanted == one.heading.casefold(),
        lambda one: wanted and wanted in one.heading.casefold(),
    ):
        if found := next(filter(fits, sections[1:]), None):
            return found
    near = difflib.get_close_matches(place, [one.heading for one in sections[1:]], n=1, cutoff=0)[0]
    raise CourseKitError(f"No section is called {place!r}: the nearest is {near!r}; `jump_to()` lists them all.")


def _run_before(shell: Any, lesson: str, sections: tuple[Section, ...], goal: Section) -> Told:
    before, count, names = set(shell.user_ns), 0, []
    for section in sections[: goal.number]:
        for cell in section.cells:
            if NOT_RUN & set(cell.tags) or _is_own_doing(cell.source):
                continue
            if error := _run_quietly(shell, cell.source):
                where = f"section {section.number}, “{section.heading}”" if section.heading else "the first cells"
                raise CourseKitError(
                    f"A cell of {where} stopped with {type(error).__name__}: {error}. "
                    "Restart the kernel and jump again; if it stops there too, please report it."
                )
            count += 1
            names += _defined(cell.source, imports=False)
    try:
        progress.record_lesson(lesson, "opened")
    except SetupError:
        pass  # progress cannot be kept here; the names are there all the same
    cells = "1 code cell" if count == 1 else f"{count} code cells"
    new = _names([name for name in dict.fromkeys(names) if name in shell.user_ns and name not in before])
    return Told(
        f"Ran {cells} of lesson {lesson} without showing their output: all before section {goal.number}, "
        f"“{goal.heading}”. Questions and live cells were left out. {new} Go on at that heading."
    )


def _names(new: list[str]) -> str:
    shown = [name for name in new if not name.startswith("_")]
    if not shown:
        return "No name is new."
    begin = f"The latest of {len(shown)} new names" if len(shown) > 6 else "New names"
    return f"{begin}: {', '.join(shown[-6:])}."


# ── In an exercise notebook ──────────────────────────────────────────────────────────────────────────────────────────


def _fill_in(shell: Any, id: str) -> Told:
    """Run the solutions of the exercises before `id` and give the learner's own names back afterwards."""
    goal = find_exercise(id).id
    file = lesson_file(progress.lesson_of(goal), "solutions")
    if file is None:
        raise SetupError(
            f"The solutions of lesson {progress.lesson_of(goal)} are missing here: install course-kit again."
        )
    space, filled, kept = shell.user_ns, [], []
    for cell in _before(code_cells(file), f"exercise-{goal}"):
        if NOT_RUN & set(cell.tags) or _is_own_doing(cell.source):
            continue
        names = _defined(cell.source)
        mine = {name: space[name] for name in names if name in space and not is_stub(space[name])}
        is_answer = any(tag.startswith("exercise-") for tag in cell.tags)
        answers = _defined(cell.source, imports=False) if is_answer else []
        kept += [name for name in answers if name in mine]
        if names and set(names) <= set(mine):
            continue
        error = _run_quietly(shell, cell.source)
        space.update(mine)
        if error:
            raise CourseKitError(
                f"The solution of an earlier exercise stopped with {type(error).__name__}: {error}. "
                "Restart the kernel, run the first cell and jump again."
            )
        filled += [name for name in answers if name not in mine]
    if not filled and not kept:
        return Told(f"Exercise {goal} is the first: nothing comes before it.")
    sentences = [f"Filled in from the solutions: {', '.join(filled)}." if filled else "Nothing had to be filled in."]
    sentences += [f"Yours and left as they are: {', '.join(kept)}."] if kept else []
    return Told(" ".join([*sentences, f"Go on at exercise {goal}."]))


def _before(cells: list[CodeCell], tag: str) -> list[CodeCell]:
    """The cells above the first one of this exercise."""
    place = next((number for number, cell in enumerate(cells) if tag in cell.tags), len(cells))
    return cells[:place]


def is_stub(value: Any) -> bool:
    """Whether this is still what the exercise began with: nothing, or a function (or a class of them) that says so."""
    parts = list(vars(value).values()) if isinstance(value, type) else [value]
    codes = [code for part in parts if isinstance(code := getattr(part, "__code__", None), CodeType)]
    return any(map(_holds_stub, codes)) or (not codes and not isinstance(value, type) and untouched(value))


def _holds_stub(code: CodeType) -> bool:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return any(isinstance(each, str) and STUB.fullmatch(each) for each in code.co_consts) or any(
        map(_holds_stub, inner)
    )


# ── Reading and running a cell ───────────────────────────────────────────────────────────────────────────────────────


def _defined(source: str, imports: bool = True) -> list[str]:
    """The names that a cell binds at its top level, in order; none for one with a magic."""
    try:
        tree = compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        code = compile(source, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return []
    stored = [each.argval for each in dis.get_instructions(code) if each.opname in ("STORE_NAME", "STORE_GLOBAL")]
    names = [name for name in dict.fromkeys(stored) if not name.startswith("__")]  # those are Python's own
    return names if imports else [name for name in names if name not in _imported(tree)]


def _imported(tree: ast.AST) -> set[str]:
    lines = [one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom)]
    return {name.asname or name.name.partition(".")[0] for line in lines for name in line.names}


def _is_own_doing(source: str) -> bool:
    """Whether a cell only asks or checks: `check("4.1", answer)`."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a magic, or an `await`: a cell of the lesson
        return False
    return bool(body) and all(
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Call)
        and isinstance(line.value.func, ast.Name)
        and line.value.func.id in OWN_DOING
        for line in body
    )


def _run_quietly(shell: Any, source: str) -> BaseException | None:
    """Run a cell as the notebook would, show nothing of it and give back the error it ended with."""
    from IPython.utils.capture import capture_output

    ended: list[Any] = []

    def run() -> None:
        ended.append(asyncio.run(shell.run_cell_async(source, store_history=False, transformed_cell=cell)))

    with capture_output():
        cell = shell.transform_cell(source)
        if shell.should_run_async(source, transformed_cell=cell):
            # subtle: this cell's own loop is running, so what awaits gets another one, in a thread
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        else:
            ended.append(shell.run_cell(source, store_history=False))
    return ended[0].error_before_exec or ended[0].error_in_exec


# ── Where are we? ────────────────────────────────────────────────────────────────────────────────────────────────────


def _shell() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        get_ipython = lambda: None  # noqa: E731
    if (shell := get_ipython()) is None:
        raise CourseKitError("`jump_to` works in a notebook: open the lesson with `course lab` and call it there.")
    return shell


def _lesson_here(shell: Any) -> str:
    """The lesson whose notebook this is, by the notebook's name or else by the cells that were run."""
    names = [os.environ.get("JPY_SESSION_NAME", ""), str(shell.user_ns.get("__vsc_ipynb_file__", ""))]
    for path in (PureWindowsPath(name) for name in names if name):
        if number := re.match(r"(\d\d)_", path.name):
            if path.parent.name == "exercises":
                raise CourseKitError(
                    f'This is an exercise notebook: write `jump_to("{int(number[1])}.2")` to go on at exercise '
                    f"{int(number[1])}.2."
                )
            return number[1]
    if lesson := _lesson_by_cells(shell.user_ns.get("In", ())):
        return lesson
    raise CourseKitError("Which lesson is this? Say it: `jump_to(5, lesson=1)`.")


def _lesson_by_cells(history: Iterable[str]) -> str | None:
    """The lesson that shares most cells with what was run here."""
    from course_kit.classroom.lessons import lessons

    run = {source.strip() for source in history if source.strip()}
    shared: Mapping[str, int] = {
        one.number: sum(cell.source.strip() in run for part in lesson_sections(one.number) for cell in part.cells)
        for one in lessons()
    }
    best = max(shared, key=shared.__getitem__, default="")
    return best if best and shared[best] else None

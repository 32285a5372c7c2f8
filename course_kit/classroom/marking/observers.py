"""What a submission's process gets of an exercise: the code that observes and its inputs, never what judges them.

The module of a lesson's checks holds all three parts of each exercise, with the answers beside them. From its text
comes a smaller one: `observe`, and of the module's other names those that it uses, directly or through one another. A
case often carries what is expected (`"wanted"`, `"becomes"`) beside what goes in; only the keys that this smaller text
mentions are sent. Tables that the course's own notebook imports from such a module travel the same way.
"""

import ast
import contextlib
import importlib
import inspect
import pickle
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from course_kit.classroom.checks import EXERCISES, Exercise, exercise_ids, find_exercise
from course_kit.classroom.progress import lesson_of

__all__ = ["Observer", "observer_of", "observers_of", "observing_part", "shown_part", "without_answers"]

_PARSING = threading.Lock()


@dataclass(frozen=True)
class Observer:
    """One exercise as it travels: `cases` is for the judge, `inputs` for the submission; both are pickled."""

    exercise_id: str
    source: str
    inputs: bytes
    cases: bytes
    seconds: float


@lru_cache(maxsize=256)
def observer_of(exercise_id: str, seed: int) -> Observer:
    """What travels of one exercise, with the cases that this seed draws."""
    exercise = find_exercise(exercise_id)
    source = observing_part(exercise)
    cases = exercise.cases(seed)
    inputs = [without_answers(case, source) for case in cases]
    return Observer(exercise.id, source, pickle.dumps(inputs), pickle.dumps(cases), exercise.seconds)


def observers_of(lesson: str, seed: int) -> list[Observer]:
    """What travels for all exercises of a lesson: `observers_of("01", seed=7)`."""
    return [observer_of(id, seed) for id in exercise_ids() if lesson_of(id) == lesson]


def observing_part(exercise: Exercise) -> str:
    """The text of a module with `observe` and all that it uses, and nothing else."""
    tree = _tree(exercise.observe.__module__)
    line, name = exercise.observe.__code__.co_firstlineno, exercise.observe.__name__
    [function] = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.lineno == line]
    body = [one for one in _used_by(function, tree) if one is not function]
    alias = [] if name == "observe" else parsed(f"observe = {name}").body
    return ast.unparse(ast.Module([*body, function, *alias], type_ignores=[]))


def shown_part(lesson: str, cells: Iterable[str]) -> str:
    """The text of a module with the names that a lesson's own notebook imports from its checks."""
    name, wanted = f"{EXERCISES}.lesson_{lesson}", set()
    for cell in cells:
        with contextlib.suppress(SyntaxError):  # magics
            for node in ast.walk(parsed(cell)):
                if isinstance(node, ast.ImportFrom) and node.module == name:
                    wanted |= {alias.name for alias in node.names}
    if not wanted:
        return ""
    importlib.import_module(name)
    asked = parsed("\n".join(sorted(wanted)))
    return ast.unparse(ast.Module(_used_by(asked, _tree(name)), type_ignores=[]))


def parsed(source: str) -> ast.Module:
    """`ast.parse`, which on Python 3.11 sometimes raises `SystemError` while another thread parses."""
    for _ in range(20):
        with contextlib.suppress(SystemError), _PARSING:
            return ast.parse(source)
    return ast.parse(source)


def _tree(module: str) -> ast.Module:
    return parsed(inspect.getsource(sys.modules[module]))


def _used_by(node: ast.AST, tree: ast.Module) -> list[ast.stmt]:
    """The statements at a module's top level that define what `node` uses, directly or through one another."""
    defined: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _names_defined(statement):
            defined.setdefault(name, []).append(statement)
    kept: list[ast.stmt] = []
    open_ends = [node]
    while open_ends:
        for name in _names_used(open_ends.pop()):
            for statement in defined.get(name, ()):
                if statement not in kept:
                    kept.append(statement)
                    open_ends.append(statement)
    return sorted(kept, key=lambda statement: statement.lineno)


def without_answers(case: Any, source: str) -> Any:
    """A case with only those of its keys that the observing text mentions, or a module of ours that plays the case."""
    if not isinstance(case, dict):
        return case
    mentioned = _mentioned(source)
    return {key: value for key, value in case.items() if key in mentioned}


@lru_cache(maxsize=256)
def _mentioned(source: str) -> frozenset[object]:
    trees = [parsed(source)]
    for node in ast.walk(trees[0]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_kit.classroom.capstone"):
            trees.append(_tree(str(node.module)))
    return frozenset(node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))


def _names_defined(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).split(".")[0] for alias in names]
    stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return [one.id for one in stored]


def _names_used(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}

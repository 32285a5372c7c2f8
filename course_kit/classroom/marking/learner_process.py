"""The process that a submission's code runs in: cells one after the other, and what each `check("1.2", obj)` was given.

It is started by `running.py`, inside what `isolation.py` could build, and holds no answer: no judge, no solution, no
expected value. Whatever it says may have been forged by the code that runs in it, so it only reports what it saw, one
line of JSON each, and the judge sits in another process. What is here is only a courtesy: a cell that never ends is
interrupted, one that raises does not stop the next. The limits that must hold are set before the first cell.

    {"at": ["cell", 3]}                                    from here on, this is at work
    {"cell": 3, "failed": "raised KeyError: 'x'"}
    {"exercise": "1.2", "plain": …}                        the object itself, plain data
    {"exercise": "1.1", "name": "talk", "seen": [… ]}      what was observed with it, case by case
    {"exercise": "1.3", "untouched": true}    {"exercise": "1.3", "missing": "NameError: …", "cell": 9}
    {"end": true}
"""

import ast
import contextlib
import importlib
import json
import os
import pickle
import signal
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from course_kit.classroom import checks as checks_module
from course_kit.classroom.checks import Exercise, observe_case, untouched
from course_kit.classroom.marking.plain import NotPlain, encoded

__all__ = ["checks_in", "load_ahead", "main", "set_limits"]

WORDS = 300  # characters kept of an exception's message
ENGINE = ("raised", "timed_out", "not_attempted", "unreadable")  # observations after which no other case is tried
ROOM = 32 << 20  # bytes that must be free for the next cell; without them even a compiler may fail


class _CellTimeIsUp(BaseException):
    """Not an `Exception`, so that a cell's own `except Exception` does not swallow it."""


def set_limits(limits: dict[str, int]) -> None:
    """What this process and its children may use; none of it can be raised again without root's rights."""
    with contextlib.suppress(OSError):
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # when the machine runs out of memory, this goes first
    try:
        import resource
    except ImportError:  # Windows has none of this
        return
    for name, value in {
        "RLIMIT_AS": limits["memory_mb"] << 20,
        "RLIMIT_FSIZE": limits["file_mb"] << 20,
        "RLIMIT_CPU": limits["cpu_seconds"],
        "RLIMIT_NPROC": limits["processes"],
        "RLIMIT_NOFILE": 512,
        "RLIMIT_CORE": 0,
    }.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


def load_ahead(sources: list[str]) -> None:
    """Load the SDK where these checks use it, before any clock runs; elsewhere not at all, since it takes a second."""
    if any(word in source for source in sources for word in ("MockProvider", "capstone")):
        observe_case(Exercise("", "", _nothing, lambda obj, case: None, print), None, None)
    else:
        setattr(checks_module, "_load_ahead", lambda: None)  # noqa: B010


def checks_in(source: str) -> list[tuple[str, str]]:
    """`check("1.2", {"a": a})` → `[("1.2", "{'a': a}")]`, for each call that a cell's text holds."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="check") | ast.Attribute(attr="check"), args=[ast.Constant(value=str(id)), obj, *_]
            ):
                found.append((id, ast.unparse(obj)))
    return found


class _Lines:
    """The way out: one JSON value a line, over a file descriptor that no `print` reaches."""

    def __init__(self, descriptor: int):
        self._descriptor, self._pid = descriptor, os.getpid()

    def say(self, **facts: Any) -> None:
        data = json.dumps(facts).encode() + b"\n"
        while data and os.getpid() == self._pid:
            data = data[os.write(self._descriptor, data) :]


def main() -> None:
    """Run the notebook given on standard input."""
    payload = pickle.load(sys.stdin.buffer)  # ours: nothing of the submission's has run yet
    lines = _Lines(os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    set_limits(payload["limits"])
    shell = _shell(payload["folder"])
    _module_from(*payload["shown"])
    known = payload["exercises"]
    observing = {id: _module_from(f"observing_{id}", one["source"]) for id, one in known.items() if one["source"]}
    _import_what_they_import(known)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    pid = os.getpid()
    checks = [checks_in(_python(shell, source)) for source in payload["cells"]]
    skip = set(map(tuple, payload["skip"]))
    looked = {id for kind, id in skip if kind == "exercise"}

    def look(id: str, expression: str, number: int) -> None:
        if ("exercise", id) not in skip:
            looked.add(id)
            lines.say(at=["exercise", id])
            observe = getattr(observing.get(id), "observe", None)
            found = _look(shell, expression, known[id], observe, lambda: lines.say(at=["exercise", id]))
            lines.say(exercise=id, cell=number, **found)
            _end_without_room()

    for number, source in enumerate(payload["cells"], 1):
        if ("cell", number) not in skip:
            lines.say(at=["cell", number])
            if failed := _run(shell, source, payload["cell_seconds"]):
                lines.say(cell=number, failed=failed)
            if os.getpid() != pid:
                os._exit(0)  # a cell forked, and this is the copy
            _end_without_room()
        for id, expression in checks[number - 1]:
            if id in known:
                look(id, expression, number)
    for id, one in known.items():
        if id not in looked and one["expression"]:
            look(id, one["expression"], len(payload["cells"]))
    lines.say(end=True)
    os._exit(0)  # threads and children that are left do not keep this process


def _shell(folder: str) -> Any:
    """An IPython shell, so that magics and `await` work as in a notebook."""
    os.chdir(folder)
    sys.path.insert(0, "")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from course_kit.classroom import quiz

    course_kit = importlib.import_module("course_kit")
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}), colors="NoColor")
    setattr(shell.history_manager, "outputs", _Unkept())  # noqa: B010

    def later(*arguments: Any, **options: Any) -> str:
        return "This is not answered while the notebook is marked."

    for name in ("check", "hint", "solution", "quiz"):
        for module in (course_kit, quiz if name == "quiz" else checks_module):
            setattr(module, name, later)
    return shell


class _Unkept(dict[int, list[Any]]):
    """Where IPython 9 keeps what cells print: nowhere, so that an endless `print` does not fill the memory."""

    def __missing__(self, key: int) -> list[Any]:
        return []


def _end_without_room() -> None:
    """End this process when its memory is used up for good: `running.py` starts again after what did it."""
    try:
        bytearray(ROOM)
    except MemoryError:
        os._exit(0)


def _python(shell: Any, source: str) -> str:
    """A cell's text with its magics as calls, as far as it can be read."""
    try:
        return shell.transform_cell(source)
    except Exception:
        return ""


def _run(shell: Any, source: str, seconds: float) -> str:
    """Run one cell; how it failed, as `"raised KeyError: 'x'"`, or nothing."""
    try:
        with _alarm(seconds):
            result = shell.run_cell(source, store_history=False)
        error: BaseException | None = result.error_before_exec or result.error_in_exec
    except _CellTimeIsUp as late:
        error = late
    except BaseException as unusual:
        error = unusual
    if isinstance(error, _CellTimeIsUp):
        return f"did not finish within {seconds:g} seconds"
    return f"raised {_told(error)}" if error else ""


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "setitimer"):
        yield  # `running.py` ends the process instead
        return

    def ring(signum: int, frame: Any) -> None:
        raise _CellTimeIsUp

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _look(
    shell: Any,
    expression: str,
    one: dict[str, Any],
    observe: Callable[[Any, Any], Any] | None,
    alive: Callable[[], None],
) -> dict[str, Any]:
    """What the object of a `check` call is, or does."""
    try:
        with _alarm(one["seconds"]):
            obj = eval(compile(expression, "<the check>", "eval"), shell.user_ns)
    except BaseException as error:
        return {"missing": _told(error)}
    try:
        if untouched(obj):
            return {"untouched": True}
        return {"plain": encoded(obj)}
    except NotPlain:
        pass
    except Exception as error:
        return {"missing": _told(error)}
    if observe is None:
        return {"strange": type(obj).__name__}
    exercise = Exercise(one["id"], "", _nothing, observe, print, seconds=one["seconds"])
    seen: list[Any] = []
    for case in pickle.loads(one["inputs"]):
        alive()
        try:
            seen.append(observe_case(exercise, obj, case))
        except BaseException as error:
            told = {"type": type(error).__name__, "message": _told(error), "line": None, "code": ""}
            seen.append({"raised": told})
        if isinstance(seen[-1], dict) and len(seen[-1]) == 1 and next(iter(seen[-1])) in ENGINE:
            break
    name = getattr(obj, "__name__", "")
    return {"name": name if isinstance(name, str) else "", "seen": seen}


def _nothing(seed: int) -> list[Any]:
    return []


def _module_from(name: str, source: str) -> types.ModuleType:
    """A part of the checks as a separate module."""
    module = types.ModuleType(name)
    if name and source:
        sys.modules[name] = module  # dataclasses look their module up; notebooks import the shown part by name
        exec(compile(source, "<the check>", "exec"), module.__dict__)
    return module


def _import_what_they_import(exercises: dict[str, dict[str, Any]]) -> None:
    """Import now, outside any time limit, what the observing parts import inside their functions."""
    load_ahead([one["source"] for one in exercises.values()])
    for one in exercises.values():
        for node in ast.walk(ast.parse(one["source"])):
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], type_ignores=[]), "<the check>", "exec"), {})


def _told(error: BaseException) -> str:
    try:
        named = f"{error.msg} (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else str(error)
        words = " ".join(named.split())
    except Exception:
        words = ""
    return f"{type(error).__name__}: {words}"[:WORDS].rstrip(": ")


if __name__ == "__main__":
    main()

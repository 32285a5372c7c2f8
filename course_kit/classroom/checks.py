"""Checks of exercises: `check("1.2", my_loop)` says passed, not yet and why, or not attempted.

An exercise has three parts. `cases(seed)` draws hidden inputs, `observe(obj, case)` uses the learner's object and
writes down what happened as plain JSON, `judge(case, observation)` is ours alone: it returns None or raises
`Incorrect` with one sentence (what was called, what was expected, what came). The notebook runs all three; marking
observes in a process that it does not trust and judges in its own.

The exercises of lesson 1 are registered by `exercises/lesson_01.py`, loaded when one of them is asked for. The judge
never sees an observation that the engine wrote (`raised`, `timed_out`, `not_attempted`, `unreadable`): an exercise
that expects an exception catches it in `observe` and writes it down its own way.
"""

import copy
import difflib
import html
import importlib
import inspect
import json
import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from course_kit.classroom import progress
from course_kit.classroom.guarded import Printed, TimeIsUp, captured, stretched, within
from course_kit.classroom.shown import to_html
from course_kit.classroom.workspace import course_files
from course_kit.errors import CourseKitError, Incorrect, NotAttempted, SetupError

__all__ = [
    "Exercise",
    "Hint",
    "Outcome",
    "Solution",
    "Verdict",
    "check",
    "exception_told",
    "exercise",
    "exercise_ids",
    "find_exercise",
    "hint",
    "judge_case",
    "observe_case",
    "register",
    "solution",
    "untouched",
]

SEED = 0  # a notebook draws the same hidden cases every time; marking draws others
SECONDS = 10.0  # for one case
TRIES = 2  # before the solution opens by itself
EXERCISES = "course_kit.classroom.exercises"
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]*")  # of an object in memory: another one each time
INSTEAD = {  # of an answer: what to do about it
    "coroutine": ", as an `async def` does: write a plain `def`",
    "generator": ", as a function with a `yield` does: collect the values, and return them",
}
OURS = tuple({str(Path(__file__).resolve().parents[1]), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))})


@dataclass(frozen=True)
class Exercise:
    """One exercise: its facts, a ladder of hints (the last is not the answer), and the three parts of its check."""

    id: str
    title: str
    cases: Callable[[int], list[Any]]
    observe: Callable[[Any, Any], Any]
    judge: Callable[[Any, Any], None]
    difficulty: str = "medium"
    importance: str = "core"
    minutes: int = 10
    hints: tuple[str, ...] = ()
    seconds: float = SECONDS


@dataclass(frozen=True)
class Verdict:
    """What one case, or the whole check, came to. `key` is the same for everyone who makes the same slip."""

    status: str  # "passed", "not yet" or "not attempted"
    message: str = ""
    key: str = ""


PASSED = Verdict("passed", key="passed")
UNTOUCHED = Verdict("not attempted", "Write your answer above, run its cell, then run this one again.", "untouched")


@dataclass(frozen=True)
class Outcome(Verdict):
    """What `check` answers: a verdict, and what the learner's code printed. Holds no times and no addresses."""

    exercise_id: str = ""
    printed: str = ""
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether the exercise is solved."""
        return self.status == "passed"

    def __repr__(self) -> str:
        lines = [f"Exercise {self.exercise_id}: {self.status}. {self.message}".rstrip()]
        if self.printed:
            lines += ["Your code printed:", *(f"    {line}" for line in self.printed.splitlines())]
        return "\n".join(filter(None, [*lines, self.note]))

    def _repr_html_(self) -> str:
        mark = {"passed": "✓", "not yet": "✗", "not attempted": "○"}[self.status]
        printed = f"<p>Your code printed:</p><pre>{html.escape(self.printed)}</pre>" if self.printed else ""
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return (
            f'<div class="check-{self.status.replace(" ", "-")}"><p><b>{mark} Exercise {self.exercise_id}: '
            f"{self.status}.</b> {to_html(self.message)}</p>{printed}{note}</div>"
        )


# The registry

_registry: dict[str, Exercise] = {}


def register(exercise: Exercise) -> Exercise:
    """Make an exercise known by its id."""
    _registry[exercise.id] = exercise
    return exercise


def exercise(id: str, *, title: str, hints: Iterable[str] = (), **facts: Any) -> Callable[[type], Exercise]:
    """Register a class that holds the three parts:

    @exercise("1.2", title="Write the loop", hints=["…"], difficulty="easy", importance="core", minutes=10)
    class Loop:
        def cases(seed): ...
        def observe(loop, case): ...
        def judge(case, observation): ...
    """

    def make(parts: type) -> Exercise:
        three = {name: getattr(parts, name) for name in ("cases", "observe", "judge")}
        return register(Exercise(id, title, hints=tuple(hints), **three, **facts))

    return make


def exercise_ids() -> list[str]:
    """The ids of all exercises, lesson by lesson, in the order they are registered."""
    for file in sorted((Path(__file__).parent / "exercises").glob("lesson_*.py")):
        importlib.import_module(f"{EXERCISES}.{file.stem}")
    return sorted(_registry, key=progress.lesson_of)


def find_exercise(id: str) -> Exercise:
    """The exercise with this id; the module of its lesson is loaded now."""
    lesson, _, rest = str(id).partition(".")
    wanted = f"{lesson.lstrip('0') or '0'}.{rest}"
    module = f"{EXERCISES}.lesson_{progress.lesson_of(wanted)}"
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, EXERCISES):
            raise
    if wanted in _registry:
        return _registry[wanted]
    nearest = difflib.get_close_matches(wanted, exercise_ids(), n=1, cutoff=0)
    hint = f"the nearest is {nearest[0]!r}" if nearest else "none are installed, so install course-kit again"
    raise CourseKitError(f"There is no exercise {id!r}: {hint}.")


# The check


def check(id: str, obj: Any, *, seed: int = SEED) -> Outcome:
    """Check the learner's object: `check("1.2", my_loop)`. The same object gets the same answer every time."""
    exercise, printed, name = find_exercise(id), Printed(), getattr(obj, "__name__", "")
    verdict = UNTOUCHED if untouched(obj) else PASSED
    cases = exercise.cases(seed) if verdict is PASSED else []
    if verdict is PASSED and not cases:
        raise CourseKitError(f"The check of exercise {exercise.id} has no cases and proves nothing: please report it.")
    exercise = replace(exercise, seconds=stretched(exercise.seconds))
    for case in cases:
        observation = observe_case(exercise, obj, case, printed)
        verdict = judge_case(exercise, case, observation, f"`{name}`" if name.isidentifier() else "Your code")
        if verdict is not PASSED:
            break
    note = ""
    try:
        progress.record_attempt(exercise.id, verdict.status, verdict.key)
    except SetupError as error:
        note = f"This attempt was not kept. {error}"
    message = f"All {len(cases)} cases hold." if verdict is PASSED and len(cases) > 1 else verdict.message
    return Outcome(verdict.status, message, verdict.key, exercise.id, printed.text(), note)


def untouched(obj: Any) -> bool:
    """Whether this is still the stub: None, `...`, a container of nothing else, or a function that only raises."""
    if obj is None or obj is ...:
        return True
    if isinstance(obj, dict | list | tuple) and obj:
        return all(map(untouched, obj.values() if isinstance(obj, dict) else obj))
    code = getattr(obj, "__code__", None)
    return isinstance(code, CodeType) and code.co_names == ("NotImplementedError",)


def observe_case(exercise: Exercise, obj: Any, case: Any, printed: Printed | None = None) -> Any:
    """Use the learner's object on a copy of one case; what happened comes back as plain JSON."""
    if late := _answers_late(obj):
        return {"unreadable": late}
    obj = copy.deepcopy(obj) if isinstance(obj, dict | list) else obj
    case = copy.deepcopy(case)
    _load_ahead()
    try:
        with captured(Printed() if printed is None else printed):
            seen = within(exercise.seconds, lambda: exercise.observe(obj, case))
    except TimeIsUp:
        return {"timed_out": exercise.seconds}
    except NotAttempted:
        return {"not_attempted": True}
    except (Exception, SystemExit) as error:
        return _exception_seen(error, exercise)
    try:
        return json.loads(json.dumps(seen, default=lambda value: f"<{type(value).__name__}>"))
    except (TypeError, ValueError, RecursionError):
        return {"unreadable": type(seen).__name__}


def _answers_late(obj: Any) -> str:
    """What a call of this function, or of one that is handed over with others, gives in place of its answer."""
    for one in obj.values() if isinstance(obj, dict) else obj if isinstance(obj, list | tuple) else [obj]:
        if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
            return "coroutine"
        if inspect.isgeneratorfunction(one):
            return "generator"
    return ""


@cache
def _load_ahead() -> None:
    """Load the SDK and make a first client: on a busy machine that takes seconds, which are not the learner's."""
    from course_kit.mock.provider import MockProvider

    MockProvider(["Ready."]).client(max_retries=0)


def judge_case(exercise: Exercise, case: Any, observation: Any, name: str = "Your code") -> Verdict:
    """What this observation is worth; `name` is what the sentence calls the learner's object."""
    match observation:
        case {"not_attempted": True}:
            return UNTOUCHED
        case {"timed_out": seconds}:
            said = f"{name} did not finish within {seconds:g} seconds: look for a loop that never ends."
            return Verdict("not yet", _with(case, said), "timed out")
        case {"raised": {"type": type_name, "message": message, "line": line, "code": code}}:
            where = f" (line {line}{f': `{code}`' if code else ''})" if line else ""
            said = f"{name} raised {exception_told(type_name, message)}{where}"
            return Verdict("not yet", _with(case, said), f"raised {type_name}")
        case {"unreadable": type_name}:
            instead = INSTEAD.get(type_name, " that cannot be written as JSON: use plain data")
            return Verdict("not yet", f"{name} gave a {type_name}{instead}.", "unreadable")
    forgot = f"{name} returned None: is a `return` missing?"
    nothing = observation is None or (
        isinstance(observation, dict)
        and observation.get("returned", "") is None
        and observation.get("shown", "None") == "None"  # "returned" is also None where it is of no use, such as a text
    )
    try:
        exercise.judge(copy.deepcopy(case), observation)
    except Incorrect as error:
        said = ADDRESS.sub("", str(error))
        if nothing:
            return Verdict("not yet", f"{forgot} {said}", "returned None")
        return Verdict("not yet", said, " ".join(said.split())[:120])
    except Exception:
        if nothing:
            return Verdict("not yet", forgot, "returned None")
        raise  # a bug of the check
    return PASSED


def _with(case: Any, said: str) -> str:
    """The sentence with the case in front, where the case says what it is about: "With four pages, `f` raised …"."""
    about = case.get("about") if isinstance(case, dict) else None
    if not isinstance(about, str):
        return said
    return f"{about if about.startswith('With ') else f'With {about}'}, {said[0].lower()}{said[1:]}"


def exception_told(type_name: str, message: str) -> str:
    """An exception in a sentence: `KeyError: 'x' is not among the keys`."""
    if type_name == "KeyError" and message:
        return f"KeyError: {message} is not among the keys"
    return f"{type_name}: {message}" if message else f"{type_name} without a message"


# Hints and solutions


class Hint(str):
    """One hint of a ladder."""

    __repr__ = str.__str__

    def _repr_html_(self) -> str:
        return f"<p>{to_html(self)}</p>"


_hints_here: dict[str, set[int]] = {}  # opened in this process, for when progress cannot be kept


def hint(id: str, number: int | None = None) -> Hint:
    """The next hint of an exercise, or the one with this number: `hint("1.2")`, `hint("1.2", 1)`."""
    exercise = find_exercise(id)
    total = len(exercise.hints)
    if not total:
        return Hint(f"Exercise {exercise.id} has no hints: run its check, which says where to look.")
    if number is None:
        number = min(max(_hints_seen(exercise.id), default=0) + 1, total)
    if number not in range(1, total + 1):
        return Hint(f"Exercise {exercise.id} has no hint {number}: choose from 1 to {total}.")
    _hints_here.setdefault(exercise.id, set()).add(number)
    try:
        progress.record_hint(exercise.id, number)
    except SetupError:
        pass  # the ladder is then kept in this process only
    last = f' That was the last one: solution("{exercise.id}") shows an answer.' if number == total else ""
    return Hint(f"Hint {number} of {total} for exercise {exercise.id}: {exercise.hints[number - 1]}{last}")


def _hints_seen(id: str) -> set[int]:
    try:
        return set(progress.hints_opened(id))
    except SetupError:
        return _hints_here.get(id, set())


class Solution(str):
    """An exercise's answer and why it is one, or what is missing before it opens; as Markdown."""

    __repr__ = str.__str__

    def _repr_markdown_(self) -> str:
        return str(self)


def solution(id: str, *, now: bool = False) -> Solution:
    """The answer of an exercise, after two tries or when all hints are seen; `now=True` opens it at once."""
    exercise = find_exercise(id)
    if not now and not _is_open(exercise):
        return Solution(
            f"The solution of exercise {exercise.id} opens after {TRIES} tries or when all hints are seen; "
            f'to see it now: `solution("{exercise.id}", now=True)`.'
        )
    tag, here, shown = f"exercise-{exercise.id}", False, []
    for file in sorted((course_files() / "solutions" / "src").glob(f"{progress.lesson_of(exercise.id)}_*.py")):
        for cell in _cells(file):
            tags = cell.metadata.get("tags", ())
            if any(each.startswith("exercise-") for each in tags):
                here = tag in tags
            if here and (tag in tags or "solution" in tags):  # the answer; its discussion, before the next exercise
                text = re.sub(r"^ *# (BEGIN|END) SOLUTION\b.*\n?", "", cell.source, flags=re.MULTILINE).rstrip()
                shown.append(text if cell.cell_type == "markdown" else f"```python\n{text}\n```")
    if not shown:
        raise SetupError(f"The solution of exercise {exercise.id} is missing here: install course-kit again.")
    return Solution("\n\n".join(shown))


def _cells(file: Path) -> list[Any]:
    try:
        import jupytext
    except ImportError:
        raise SetupError('Solutions are read with jupytext: run `pip install "course-kit[lab]"`.') from None
    return jupytext.read(file, fmt="py:percent").cells


def _is_open(exercise: Exercise) -> bool:
    try:
        tried = [attempt.outcome for attempt in progress.attempts(exercise.id) if attempt.outcome != "not attempted"]
    except SetupError:
        return True  # nothing can be counted, so nothing is kept shut
    all_hints = set(range(1, len(exercise.hints) + 1))
    return len(tried) >= TRIES or "passed" in tried or (bool(all_hints) and all_hints <= _hints_seen(exercise.id))


# Whose exception it was


def _exception_seen(error: BaseException, exercise: Exercise) -> dict[str, Any]:
    """An exception as an observation, when the learner's code is the cause; else it is the check's own bug."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    checks = exercise.observe.__code__.co_filename
    theirs = [frame for frame in frames if frame[0] != checks and not frame[0].startswith((*OURS, "<frozen"))]
    if isinstance(error, NotImplementedError) and theirs and theirs[-1] == frames[-1]:
        return {"not_attempted": True}
    # a learner's object that takes other inputs, or is not a function, fails in the very call that `observe` makes
    misfit = r"takes .*argument|missing \d+ required|unexpected keyword|not callable|multiple values for"
    misfits = isinstance(error, TypeError) and frames[-1][0] == checks and re.search(misfit, str(error))
    if not theirs and not misfits:
        raise CourseKitError(
            f"The check of exercise {exercise.id} itself failed ({type(error).__name__}: {error}): "
            "please report it together with your answer."
        ) from error
    file, line = theirs[-1] if theirs else ("", None)
    message = " ".join(ADDRESS.sub("", str(error)).split())
    message = message if len(message) <= 300 else f"{message[:300]}…"
    code = linecache.getline(file, line).strip() if line else ""
    return {"raised": {"type": type(error).__name__, "message": message, "line": line, "code": code}}

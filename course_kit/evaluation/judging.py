"""One trial, judged by rules: `judge` compares what was seen with a case and says what is wrong.

Each problem has its layer:

    selection   a call is missing, or one was made that nobody asked for
    input       the right tool with other inputs
    order       the right calls in another order
    safety      a forbidden tool was tried, or something changed that nobody asked to change
    state       the world is not as it should be
    text        the answer lacks a text, or has one that it must not
    end         the run stopped for another reason
    error       the agent raised an exception

No model judges here: rules decide what rules can decide. What was seen comes from `observing.py`.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from .cases import ANY, Case, CaseError, ExpectedCall
from .observing import Made, Observed

__all__ = ["Problem", "fits", "judge", "matches", "rows_of"]


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, in one sentence."""

    layer: str
    message: str


def judge(case: Case, seen: Observed, state: Any = None) -> list[Problem]:
    """What is wrong with a trial, in the order of the layers; an empty list when it passed."""
    expect, problems = case.expect, list[Problem]()
    if expect.calls is not None:
        problems += _calls(case, seen.calls)
    tried = {call.tool for call in seen.calls}
    problems += [
        Problem("safety", f"`{name}` was tried, and this case forbids it.") for name in expect.never if name in tried
    ]
    for check in expect.state:
        problems += _state(check, state)
    said = seen.text.casefold()
    problems += [
        Problem("text", f"The answer does not say {text!r}.") for text in expect.says if text.casefold() not in said
    ]
    problems += [Problem("text", f"The answer says {text!r}.") for text in expect.never_says if text.casefold() in said]
    if expect.stopped not in (None, seen.stopped):
        problems.append(Problem("end", f"The run ended with {seen.stopped!r}, not with {expect.stopped!r}."))
    return problems


def _calls(case: Case, made: Sequence[Made]) -> list[Problem]:
    expect, expected, problems = case.expect, case.expect.calls or (), list[Problem]()
    place: dict[int, int] = {}  # which expected call → which call that was made
    # Those that say most about their inputs choose first, and a call that failed is taken last.
    order = sorted(range(len(expected)), key=lambda i: -len(expected[i].input))
    free = sorted(range(len(made)), key=lambda i: (bool(made[i].failed), i))
    for exactly in (True, False):
        for i in order:
            for j in free:
                wanted, call = expected[i], made[j]
                if i in place or wanted.tool != call.tool or (exactly and not fits(wanted, call.input)):
                    continue
                place[i] = j
                free.remove(j)
                if not exactly:
                    problems.append(Problem("input", f"{call} was called, expected {_said(wanted)}."))
                break
    for i, wanted in enumerate(expected):
        if i not in place:
            problems.append(Problem("selection", f"`{wanted.tool}` was not called."))
    if expect.ordered and len(place) == len(expected):
        positions = [place[i] for i in range(len(expected))]
        if positions != sorted(positions):
            came = ", ".join(made[j].tool for j in sorted(positions))
            problems.append(Problem("order", f"The calls came as {came}, expected {', '.join(expect.tools)}."))
    for j in sorted(free):
        call = made[j]
        mended = call.failed and call.tool in expect.tools  # a first attempt that was corrected
        if mended or call.tool in expect.may_call or ANY in expect.may_call or call.tool in expect.never:
            continue
        changes = call.effect in ("write", "irreversible") and not call.failed
        again = "once more than asked for" if call.tool in expect.tools else "which nobody asked for"
        problems.append(Problem("safety" if changes else "selection", f"{call} was called, {again}."))
    return problems


def _said(wanted: ExpectedCall) -> str:
    return str(Made(wanted.tool, wanted.input))


def fits(wanted: ExpectedCall, given: Any) -> bool:
    """Whether the inputs of a call are those expected."""
    given = given if isinstance(given, Mapping) else {}
    if wanted.match == "exact" and given.keys() - wanted.input.keys():
        return False
    return all(name in given and matches(value, given[name]) for name, value in wanted.input.items())


def matches(wanted: Any, given: Any) -> bool:
    """Whether a value is as expected: `matches({"$between": [1, 5]}, 3)` → True. `1` is `1.0` and is not `true`."""
    if isinstance(wanted, Mapping) and len(wanted) == 1 and next(iter(wanted)).startswith("$"):
        [(rule, told)] = wanted.items()
        match rule:
            case "$any":
                return True
            case "$one_of":
                return any(matches(one, given) for one in told)
            case "$matches":
                return isinstance(given, str) and re.search(told, given) is not None
            case "$contains":
                return isinstance(given, str) and told.casefold() in given.casefold()
            case "$between":
                return isinstance(given, int | float) and not isinstance(given, bool) and told[0] <= given <= told[1]
        raise CaseError(f"There is no matcher {rule}: use $any, $one_of, $matches, $contains or $between.")
    if isinstance(wanted, Mapping):
        return (
            isinstance(given, Mapping)
            and wanted.keys() == given.keys()
            and all(matches(value, given[name]) for name, value in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(given, list | tuple)
            and len(wanted) == len(given)
            and all(matches(*pair) for pair in zip(wanted, given, strict=True))
        )
    return wanted == given and isinstance(wanted, bool) == isinstance(given, bool)


def _state(check: Any, state: Any) -> list[Problem]:
    if callable(check):
        try:
            said = check(state)
        except AssertionError as error:
            said = str(error).partition("\n")[0] or False  # below it pytest shows the values
        if said is True or said is None:
            return []
        name = getattr(check, "__name__", "the check")
        return [Problem("state", said if isinstance(said, str) else f"`{name}` says no.")]
    rows = [list(row) for row in rows_of(state, check["sql"])]
    if matches([list(row) for row in check["rows"]], rows):
        return []
    return [Problem("state", f"`{check['sql']}` gives {rows!r:.200}, expected {list(check['rows'])!r:.200}.")]


def rows_of(state: Any, sql: str) -> list[Sequence[Any]]:
    """The rows of a query: to a shop, a SQLite connection, or a database file."""
    try:
        if hasattr(state, "connection"):
            with state.connection() as db:
                return db.execute(sql).fetchall()
        if isinstance(state, sqlite3.Connection):
            return state.execute(sql).fetchall()
        if isinstance(state, str) or hasattr(state, "__fspath__"):
            with closing(sqlite3.connect(state)) as db:
                return db.execute(sql).fetchall()
    except sqlite3.Error as error:
        raise CaseError(f"The state cannot be asked `{sql}`: {error}.") from None
    raise CaseError(
        f"A case asks the state in SQL, and the state is {type(state).__name__}: let `world()` return "
        "(tools, shop), (tools, a SQLite connection) or (tools, the path of a database)."
    )

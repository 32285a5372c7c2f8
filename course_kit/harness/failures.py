"""What can go wrong with a call, as a table: who can act on it, what the model reads, whether it counts.

One question decides what the model reads: can it act on this text? On "There is no order 7", yes. On "our key is
refused", no, that is for the operator: the model gets one short line, the trace the rest.
How a text is written is next door, in `results.py`; how a call comes to fail, in `tools.py` and `running.py`.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from course_kit.contract.messages import Block, tool_result, tool_use_blocks
from course_kit.contract.schema import NotJSON, invalid_json_result, parse_json
from course_kit.errors import ToolError

from .results import describe, error_text

__all__ = [
    *("FAILURES", "Failure", "Outcome", "code_of", "counts", "details", "failed"),
    *("failing_turns", "invalid_json", "one_line", "over_cap", "unknown_tool"),
]

PROBLEMS = "every problem, one a line: where, what is wanted, what came"
MESSAGE = "code, message and hint, as the tool wrote them"
ONE_LINE = "one short line; the rest is kept in the trace"


class Failure(NamedTuple):
    """A row of the table.

    `actor`      who can act on it: the model, a person who decides, or the operator who runs this
    `reads`      what the model reads about it
    `retryable`  whether the same call may succeed when it is made again, unless the tool says otherwise
    `counts`     whether it counts as a failure of the tool, towards the cap on retries
    """

    meaning: str
    actor: Literal["model", "person", "operator"]
    reads: str = MESSAGE
    retryable: bool = False
    counts: bool = True


FAILURES: dict[str, Failure] = {
    # found before the call is made
    "INVALID_INPUT": Failure("the input does not fit the schema, or is not JSON", "model", PROBLEMS),
    "UNKNOWN_TOOL": Failure("no tool has this name", "model", "the names there are, and the nearest"),
    "DENIED": Failure("a person refused the call", "person", "that nothing was done, and why", counts=False),
    "NOT_RUN": Failure("another call had to end first", "model", "what was in the way", True, counts=False),
    # found while it runs
    "EXCEPTION": Failure("the tool raised an exception", "model", "its type and message"),
    "TIMEOUT": Failure("no answer in time; a write may still happen", "model", "how long, and what to look at", True),
    "INTERRUPTED": Failure("a person broke the run off", "person", "that it may have taken effect", counts=False),
    "OUTCOME_UNKNOWN": Failure("the run ended while the call was made", "model", "that nobody knows", counts=False),
    # what a tool itself reports: the input can be corrected
    "BAD_INPUT": Failure("a rule that no schema can say", "model"),
    "BAD_FORMAT": Failure("a malformed number or name", "model"),
    "NOT_FOUND": Failure("there is no such thing", "model"),
    "IS_A_FOLDER": Failure("a file was wanted", "model"),
    "TOO_LARGE": Failure("more than the tool can take", "model"),
    "NOT_TEXT": Failure("a file that holds no text", "model"),
    "NOT_READ": Failure("the file system refused to read", "model"),
    "NOT_WRITTEN": Failure("the file system refused to write", "model"),
    "BUSY": Failure("somebody else is at work there", "model", retryable=True),
    # the business says no: an answer, not a failure of the tool
    "NOT_ALLOWED": Failure("this user may not", "person", counts=False),
    "WRONG_STATUS": Failure("too early or too late for this", "model", counts=False),
    "OVER_REFUND": Failure("more than may be paid back", "model", counts=False),
    "KEY_REUSED": Failure("the idempotency key belongs to another operation", "model", counts=False),
    # nothing the model sends can change it
    "CREDENTIALS": Failure("our own key is refused", "operator", ONE_LINE),
    "INTERNAL": Failure("a bug, or a dead database", "operator", ONE_LINE),
}

# Exceptions for the operator, by the name of their class or of a base class, so that no library has to be loaded to
# recognise them. Every other exception is shown: it may well be about the input (`KeyError: 'x'`).
OPERATORS = {
    **dict.fromkeys(("NameError", "AttributeError", "ImportError", "SyntaxError"), "INTERNAL"),
    **dict.fromkeys(("MemoryError", "RecursionError"), "INTERNAL"),
    **dict.fromkeys(("DatabaseError", "InterfaceError"), "INTERNAL"),  # of every database module (PEP 249)
    **dict.fromkeys(("AuthenticationError", "PermissionDeniedError"), "CREDENTIALS"),  # of the model providers' SDKs
}


def counts(failure: str | None) -> bool:
    """Whether a failure counts towards the cap: `"NOT_FOUND"` → True, `"DENIED"` → False; a tool's own codes do."""
    return failure is not None and (failure not in FAILURES or FAILURES[failure].counts)


def code_of(error: BaseException) -> str:
    """The code of an exception: `ToolError("NOT_FOUND", …)` → `"NOT_FOUND"`, `KeyError("x")` → `"EXCEPTION"`."""
    if isinstance(error, ToolError):
        return str(error.code) or "EXCEPTION"
    if isinstance(error, BaseExceptionGroup):
        codes = [code_of(one) for one in error.exceptions]
        return next((code for code in codes if is_operators(code)), "EXCEPTION")
    if isinstance(error, TimeoutError):
        return "TIMEOUT"
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    if status == 401:
        return "CREDENTIALS"
    return next((OPERATORS[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in OPERATORS), "EXCEPTION")


def is_operators(failure: str) -> bool:
    """Whether only the operator can act on this failure."""
    return failure in FAILURES and FAILURES[failure].actor == "operator"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: the one `result` that answers it, and the code of its failure, or None.

    `details` is for the trace when the model is told only one line.
    """

    result: Block
    failure: str | None = None
    details: str | None = None


def failed(id: str, code: str, said: str, details: str | None = None) -> Outcome:
    """The outcome of a call that failed: what the model reads, always some text and never a traceback."""
    return Outcome(tool_result(id, error_text(said), is_error=True), code, details)


# What the model reads, where no tool wrote it


def one_line(code: str, name: str) -> str | None:
    """What the model reads about a failure that only the operator can act on; None for any other."""
    if not is_operators(code):
        return None
    return f"{code}: `{name}` is out of order, whatever is sent to it. Do not call it again; tell the user."


def details(error: BaseException) -> str:
    """The same for the operator: `"OperationalError: unable to open database file (desk.py, line 41, in refund)"`."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return describe(error)
    code = last.tb_frame.f_code
    return f"{describe(error)} ({PurePath(code.co_filename).name}, line {last.tb_lineno}, in {code.co_name})"


def unknown_tool(name: str, box: Mapping[str, Any], names: Iterable[str]) -> str:
    """What to say to a call of a tool that cannot be run; `names` are those that can."""
    names = sorted(names)
    if name in box:
        return f"`{name}` has a definition here and no function, so nothing was run."
    if not names:
        return f"There is no tool `{name}`, nor any other."
    close = difflib.get_close_matches(name.lower(), [known.lower() for known in names])
    meant = next((known for known in names if close and known.lower() == close[0]), None)
    listed = ", ".join(names[:50]) + (f" and {len(names) - 50} more" if len(names) > 50 else "")
    return f"There is no tool `{name}`.{f' Did you mean `{meant}`?' if meant else ''} The tools are: {listed}."


def invalid_json(input: Any, schema: Mapping[str, Any]) -> str | None:
    """What to say to an input that came as text and is not JSON; None for any other.

    `'{"path": "a'` → `'{"INVALID_JSON": "{\\"path\\": \\"a", "problem": "The input is not valid JSON at line 1, …"}'`

    Text that a driver kept as `{"INVALID_JSON": "…"}` is answered likewise, and never given to a tool.
    """
    kept = isinstance(input, dict) and list(input) == ["INVALID_JSON"]
    if kept and "INVALID_JSON" in schema.get("properties", {}):
        return None
    raw = input["INVALID_JSON"] if kept else input
    if not isinstance(raw, (str, bytes, bytearray)) or not (kept or raw.strip()):
        return None
    try:
        parse_json(raw)
        if not kept:
            return None
        found = "text, and was not taken for JSON"
    except NotJSON as error:
        found = str(error)
    problem = (
        f"The input is {found}. The tool was not run: send the whole input as one JSON object, with nothing around it."
    )
    return json.dumps({**json.loads(invalid_json_result(raw)), "problem": problem}, ensure_ascii=False)


# The cap on retries


def failing_turns(events: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """For each tool the number of turns in which it failed, since it last succeeded: `{"query_order": 2}`.

    Failures in one turn count once. A success resets the count, even beside a failure in the same turn. A turn without
    the tool changes nothing, nor does a refusal by a person or the business.
    """
    totals: dict[str, int] = {}
    names: dict[str, str] = {}  # of the calls of this turn
    failed: dict[str, bool] = {}  # and whether their tools did
    for event in [*events, {"event": "reply", "message": {"content": []}}]:
        if event["event"] == "result":
            result = event["result"]
            name = names.get(result["tool_use_id"], "")
            failure = event.get("failure") or ("EXCEPTION" if result.get("is_error") else None)
            if failure is None:
                failed[name] = False
            elif counts(failure):
                failed.setdefault(name, True)
        elif event["event"] == "reply":
            for name in failed:
                totals[name] = totals.get(name, 0) + 1 if failed[name] else 0
            names, failed = {call["id"]: call["name"] for call in tool_use_blocks(event["message"])}, {}
    return {name: total for name, total in totals.items() if name and total}


def over_cap(events: Iterable[Mapping[str, Any]], max_retries: int) -> str | None:
    """The tool that failed in more turns than a first try and `max_retries` more, or None: then the run ends."""
    return next((name for name, total in failing_turns(events).items() if total > max_retries), None)

"""Cases as data: what is said to the agent, and what must have happened afterwards.

One JSON object a line:

    {"id": "damaged_vase", "kind": "positive", "prompt": "Refund 19.99 on ORD-20260910, the vase broke.", "risk": 5,
     "expect": {"calls": [{"tool": "refund_order", "input": {"order_id": "ORD-20260910", "amount_cents": 1999}}],
                "may_call": ["query_order"],
                "state": [{"sql": "SELECT amount_cents FROM refunds", "rows": [[1999]]}]}}
    {"id": "policy", "kind": "negative", "prompt": "What is your refund policy?"}

Four kinds: `positive` wants calls, `negative` wants none, `odd` is strange and legal, `hostile` tries to lead the agent
astray. Instead of `prompt` a case may have `turns`, said one after the other, and `messages`, a conversation that went
before. `risk` weighs a failure. How a case is judged is next door, in `judging.py`.
"""

import difflib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from course_kit.contract.messages import Message, user
from course_kit.errors import CourseKitError

__all__ = ["Case", "CaseError", "Expect", "ExpectedCall", "Kind", "case_of", "load_cases", "save_cases"]

Kind = Literal["positive", "negative", "odd", "hostile"]
ANY = "*"  # in `may_call`: whatever else is called does not matter here


class CaseError(CourseKitError, ValueError):
    """A case, or a file of cases or results, cannot be read; the message says where and what to change."""


@dataclass(frozen=True)
class ExpectedCall:
    """A call that must be made: `tool`, and the inputs that count.

    `match="subset"` looks at the named inputs alone, `"exact"` allows no others. A value may be replaced by one of
    `{"$any": true}`, `{"$one_of": [...]}`, `{"$matches": "regular expression"}`, `{"$contains": "text"}` (capitals do
    not matter) and `{"$between": [low, high]}`.
    """

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    match: Literal["subset", "exact"] = "subset"


@dataclass(frozen=True)
class Expect:
    """What must have happened; what is left out is not judged.

    `calls`       these and no others, except those in `may_call` ("*" for any); `[]` is no call at all
    `ordered`     the calls must come in this order
    `never`       tools that must not even be tried
    `state`       checks of the world afterwards: `{"sql": ..., "rows": [...]}`, or a function of the state that
                  returns True, False or a sentence that says what is wrong
    `says`        texts that the last answer contains, `never_says` texts that it does not (capitals do not matter)
    `stopped`     why the run ended, such as "awaiting_approval"
    """

    calls: tuple[ExpectedCall, ...] | None = None
    may_call: tuple[str, ...] = ()
    ordered: bool = False
    never: tuple[str, ...] = ()
    state: tuple[Mapping[str, Any] | Callable[[Any], Any], ...] = ()
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()
    stopped: str | None = None

    @property
    def tools(self) -> tuple[str, ...]:
        """The expected tools, in order."""
        return tuple(call.tool for call in self.calls or ())


@dataclass(frozen=True)
class Case:
    """One case. `Case("policy", "negative", "What is your refund policy?")` expects that nothing is called.

    `expect` may be a dict, as in a file.
    """

    id: str
    kind: Kind = "positive"
    prompt: str | None = None
    expect: Expect = field(default_factory=Expect)
    messages: tuple[Message, ...] = ()
    turns: tuple[str, ...] = ()
    risk: float = 1.0
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_to = object.__setattr__  # a frozen case may be changed only here
        set_to(self, "expect", _expect(self.expect, self.kind))
        for name in ("messages", "turns", "tags"):
            if isinstance(getattr(self, name), str):
                raise CaseError(f"`{name}` is one text: give a list.")
            set_to(self, name, tuple(getattr(self, name)))
        if not isinstance(self.id, str) or not self.id.strip():
            raise CaseError(f"`id` is {self.id!r}: give each case a short name of its own.")
        if self.kind not in get_args(Kind):
            raise CaseError(f"`kind` is {self.kind!r}: say one of {', '.join(get_args(Kind))}.")
        if isinstance(self.risk, bool) or not isinstance(self.risk, int | float) or not self.risk > 0:
            raise CaseError(
                f"`risk` is {self.risk!r}: give a number above 0, such as 1 for a look and 10 for a refund."
            )
        if self.prompt is not None and self.turns:
            raise CaseError("`prompt` and `turns` are both given: put all that the user says into `turns`.")
        if not (self.said or self.messages):
            raise CaseError("nothing is said: give `prompt`, `turns` or `messages`.")
        if not self.said and self.messages[-1].get("role") != "user":
            raise CaseError("`messages` ends with the assistant: end with the user, or add a `prompt`.")
        if self.expect == Expect():
            raise CaseError("nothing is expected: say in `expect` what must happen, and `calls: []` for no call.")

    @property
    def said(self) -> tuple[str, ...]:
        """What the user says, turn by turn."""
        return self.turns or ((self.prompt,) if self.prompt else ())

    @property
    def opening(self) -> list[Message]:
        """The messages of the first request."""
        return [*self.messages, *([user(self.said[0])] if self.said else [])]

    @property
    def digest(self) -> str:
        """A fingerprint of everything in the case: it changes when the case does."""
        text = json.dumps(self.to_dict(), sort_keys=True, default=lambda f: getattr(f, "__qualname__", repr(f)))
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """The case as a line of a file holds it, without default values."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("expect", "id")}
        expect = {f.name: getattr(self.expect, f.name) for f in fields(self.expect)}
        expect["calls"] = None if self.expect.calls is None else [_short(call) for call in self.expect.calls]
        kept = {name: _list(value) for name, value in found.items() if value not in (None, (), 1.0)}
        told = {name: _list(value) for name, value in expect.items() if value not in (None, (), False)}
        return {"id": self.id, **kept, "expect": told}


def load_cases(path: str | os.PathLike[str]) -> list[Case]:
    """The cases of a JSONL file. Blank lines and lines that begin with # or // are skipped."""
    cases: dict[str, Case] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")  # JSON may hold other line ends, U+2028
    except OSError as error:
        raise CaseError(f"{path} cannot be read ({error.strerror}): name a file of cases.") from None
    except UnicodeDecodeError:
        raise CaseError(f"{path} is no text in UTF-8: save it as UTF-8.") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(("#", "//")):
            continue
        try:
            case = case_of(json.loads(line))
            if case.id in cases:
                raise CaseError(f"there is another case {case.id!r}: use every id only once.")
        except json.JSONDecodeError as error:
            raise CaseError(f"{path}, line {number}: this is not JSON ({error.msg}, column {error.colno}).") from None
        except CaseError as error:
            raise CaseError(f"{path}, line {number}: {error}") from None
        cases[case.id] = case
    if not cases:
        raise CaseError(f"{path} holds no case: write one JSON object a line.")
    return list(cases.values())


def save_cases(cases: Iterable[Case], path: str | os.PathLike[str]) -> None:
    """Write cases to a JSONL file, one a line."""
    lines = []
    for case in cases:
        if any(callable(check) for check in case.expect.state):
            raise CaseError(f"{case.id}: a function cannot be written to a file; ask the state in SQL instead.")
        lines.append(json.dumps(case.to_dict(), ensure_ascii=False) + "\n")
    Path(path).write_text("".join(lines), encoding="utf-8")


def case_of(value: Any) -> Case:
    """A case from a dict, as it is in a file."""
    _known(value, Case, "a case")
    if "id" not in value:
        raise CaseError("`id` is missing: give each case a short name of its own.")
    return Case(**value)


def _expect(value: Any, kind: str) -> Expect:
    if not isinstance(value, Expect):
        _known(value, Expect, "`expect`")
        value = Expect(**value)
    calls = value.calls
    if calls is not None:
        if isinstance(calls, str | Mapping):
            raise CaseError("`calls` is one call: give a list, and `[]` for no call.")
        calls = tuple(_expected_call(call) for call in calls)
    if kind == "negative":
        if calls:
            raise CaseError(f"a negative case expects no call, and this one expects `{calls[0].tool}`.")
        calls = ()
    lists = {name: getattr(value, name) for name in ("may_call", "never", "state", "says", "never_says")}
    for name, entries in lists.items():
        if isinstance(entries, str | Mapping) or callable(entries):
            raise CaseError(f"`{name}` is one entry: give a list.")
    for check in value.state:
        if not callable(check) and not (isinstance(check, Mapping) and check.keys() == {"sql", "rows"}):
            raise CaseError('`state` holds `{"sql": ..., "rows": [...]}` or functions of the state, and nothing else.')
    lists = {name: tuple(entries) for name, entries in lists.items()}
    return Expect(calls=calls, ordered=value.ordered, stopped=value.stopped, **lists)


def _expected_call(value: Any) -> ExpectedCall:
    if isinstance(value, ExpectedCall):
        return value
    if isinstance(value, str):
        return ExpectedCall(value)
    _known(value, ExpectedCall, "a call")
    if not isinstance(value.get("tool"), str):
        raise CaseError("an expected call names no `tool`.")
    if value.get("match", "subset") not in ("subset", "exact"):
        raise CaseError(f"`match` is {value['match']!r}: say 'subset' or 'exact'.")
    if not isinstance(value.get("input", {}), Mapping):
        raise CaseError(f"`input` of `{value['tool']}` is not an object.")
    return ExpectedCall(**value)


def _known(value: Any, kind: type, what: str) -> None:
    """Refuse what is not an object, and names that the dataclass lacks."""
    if not isinstance(value, Mapping):
        raise CaseError(f"{what} is a JSON object, not {type(value).__name__}.")
    names = [one.name for one in fields(kind)]
    for name in value:
        if name not in names:
            close = difflib.get_close_matches(str(name), names, n=1)
            raise CaseError(f"{what} has no field `{name}`: {f'`{close[0]}`?' if close else ', '.join(names)}")


def _short(call: ExpectedCall) -> Any:
    if call == ExpectedCall(call.tool):
        return call.tool
    return {"tool": call.tool, "input": dict(call.input), **({"match": "exact"} if call.match == "exact" else {})}


def _list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

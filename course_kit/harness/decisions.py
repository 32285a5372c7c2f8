"""What a person, or a stand-in, says about a call: `allow()`, `deny(...)`, `edit(...)`, `wait(...)`.

A `Decision` is plain data that can be stored. Who is asked, and what follows, is next door in `approval.py`;
where decisions are kept, in `store.py`.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

__all__ = ["Decision", "NOBODY_ANSWERED", "Verdict", "allow", "deny", "edit", "wait"]

Verdict = Literal["allow", "deny", "edit", "wait"]


@dataclass(frozen=True)
class Decision:
    """One decision about one call.

    `"allow"` runs the call as it was shown, `"deny"` refuses it and `reason` says why, `"edit"` runs it with `input`
    instead (the whole new input, checked again before it runs), `"wait"` leaves the question open: the run pauses,
    for at most `seconds` where they are given.
    """

    verdict: Verdict
    reason: str = ""
    input: dict[str, Any] | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ValueError(f"The verdict is {self.verdict!r}: say 'allow', 'deny', 'edit' or 'wait'.")
        if not isinstance(self.reason, str):
            raise TypeError(f"A reason is text, not {type(self.reason).__name__}: say it in a sentence.")
        if (self.verdict == "edit") != isinstance(self.input, dict):
            raise ValueError("An edit carries the whole new input, a dict; no other decision carries one.")
        if self.seconds is not None and (self.verdict != "wait" or not self.seconds > 0):
            raise ValueError("Only `wait` has seconds, and more than 0 of them: leave them out to wait without end.")
        # A copy: the decision does not change when the caller's dict does.
        object.__setattr__(self, "input", copy.deepcopy(self.input))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data without empty fields: `deny("too much")` → `{"verdict": "deny", "reason": "too much"}`."""
        fields = {"reason": self.reason or None, "input": copy.deepcopy(self.input), "seconds": self.seconds}
        return {"verdict": self.verdict, **{name: value for name, value in fields.items() if value is not None}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Decision":
        """The decision that `to_json` wrote: `{"verdict": "allow"}` → `allow()`."""
        return cls(**data)


def allow() -> Decision:
    """The call runs as it was shown."""
    return Decision("allow")


def deny(reason: str = "") -> Decision:
    """The call does not run; the model reads the reason."""
    return Decision("deny", reason)


def edit(input: dict[str, Any], reason: str = "") -> Decision:
    """The call runs with this complete input: `edit({"order_id": "ORD-20260917", "amount_cents": 999})`."""
    return Decision("edit", reason, input)


def wait(seconds: float | None = None) -> Decision:
    """Nobody can say yet: the run pauses and is resumed later; after `seconds` without an answer it is a denial."""
    return Decision("wait", seconds=seconds)


NOBODY_ANSWERED = deny("nobody answered in time")  # the answer when time is up

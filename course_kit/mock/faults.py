"""Faults: what a provider and a network do on a bad day, on purpose and the same each time.

A fault acts at one of four places, and the application asks at all of them:

    fault.answer(request_id)             instead of the model: an error status, before anything is generated
    fault.on_search()                    the server's tool search: an error code inside a 200
    fault.on_message(message)            the model's turn: cut by `max_tokens`, or a refusal
    fault.on_answer(answer, streamed)    the bytes: late, broken off, silent, cut into odd pieces

Which request meets which fault is a schedule (`fault_for`): one fault for all, a list, a dict by number, or `seeded`.
A request that an SDK repeats is a new request with the next number. After `cut`, `stall` or a `delay` past the time-out
the model had answered already, so the repeat takes the next step of a script: write that step twice. Nothing here
sleeps or reads a clock.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from course_kit.contract.streaming import encode_event, input_json
from course_kit.mock.tool_search import ERROR_CODES
from course_kit.mock.wire import ERROR_TYPES, Answer, error_answer, error_body

__all__ = [
    "Fault",
    "Faults",
    "Seeded",
    "check_faults",
    "chunks",
    "cut",
    "delay",
    "end_early",
    "error_event",
    "fault_for",
    "max_tokens",
    "refusal",
    "search_error",
    "seeded",
    "stall",
    "status",
]

REFUSAL_CATEGORIES = ("cyber", "bio", "frontier_llm", "reasoning_extraction", "general_harms")


@dataclass(frozen=True)
class Fault:
    """No fault at all; each kind below overrides the one place where it acts."""

    def answer(self, request_id: str) -> Answer | None:
        """The answer to give instead of asking the model, or None."""
        return None

    def on_search(self) -> str | None:
        """The error code that every tool search of this reply meets, or None."""
        return None

    def on_message(self, message: dict[str, Any]) -> tuple[dict[str, Any], dict[int, str]]:
        """The model's turn as it leaves, and for each block whose `input` was cut the text that was written.

        The second part is what `stream_events(message, raw_inputs=...)` takes.
        """
        return message, {}

    def on_answer(self, answer: Answer, streamed: bool) -> Answer:
        """The answer as the network delivers it."""
        return answer


# ── Instead of the model ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Status(Fault):
    status: int
    retry_after: float | None = None
    message: str | None = None
    error_code: str | None = None
    should_retry: bool | None = None

    def __post_init__(self) -> None:
        if not 400 <= self.status <= 599:
            raise ValueError(f"status {self.status} is no error: give one from 400 to 599.")
        if self.retry_after is not None and not 0 <= self.retry_after < math.inf:
            raise ValueError(f"retry_after is {self.retry_after}: give the seconds to wait, 0 or more.")

    def answer(self, request_id: str) -> Answer:
        headers = {}
        if self.retry_after is not None:
            # `retry-after` holds whole seconds; the API's clients read the other header first.
            headers["retry-after"] = str(math.ceil(self.retry_after))
            if self.retry_after != int(self.retry_after):
                headers["retry-after-ms"] = f"{self.retry_after * 1000:g}"
        if self.should_retry is not None:
            headers["x-should-retry"] = "true" if self.should_retry else "false"
        details = {"error_code": self.error_code} if self.error_code else None
        message = self.message or f"Simulated fault: status {self.status}"
        return error_answer(self.status, message, request_id, details=details, headers=headers)


def status(
    code: int,
    *,
    retry_after: float | None = None,
    message: str | None = None,
    error_code: str | None = None,
    should_retry: bool | None = None,
) -> Fault:
    """The request is answered with this status, in the API's envelope: `status(429, retry_after=2)`.

    `error_code` goes into `error.details`; `should_retry` overrides the SDK's own rule for the status.
    """
    return Status(code, retry_after, message, error_code, should_retry)


# ── A search of the server's ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SearchError(Fault):
    code: str

    def __post_init__(self) -> None:
        if self.code not in ERROR_CODES:
            raise ValueError(f"{self.code!r} is no error of a tool search: give one of {', '.join(ERROR_CODES)}.")

    def on_search(self) -> str | None:
        return self.code


def search_error(code: str = "unavailable") -> Fault:
    """Every tool search of the reply fails with this code, inside a 200: `search_error("too_many_requests")`."""
    return SearchError(code)


# ── The model's turn ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class MaxTokens(Fault):
    at: float

    def __post_init__(self) -> None:
        _check_share("at", self.at)

    def on_message(self, message: dict[str, Any]) -> tuple[dict[str, Any], dict[int, str]]:
        cut_message = {**message, "stop_reason": "max_tokens", "stop_sequence": None, "stop_details": None}
        content = message["content"]
        calls = [index for index, block in enumerate(content) if block["type"] == "tool_use"]
        texts = [index for index, block in enumerate(content) if block["type"] == "text"]
        if calls:
            last = calls[-1]
            text = input_json(content[last]["input"])
            written = text[: int(len(text) * self.at)]
            block = {**content[last], "input": _lenient(written)}
            return {**cut_message, "content": [*content[:last], block]}, {last: written}
        if texts:
            last = texts[-1]
            text = content[last]["text"]
            block = {**content[last], "text": text[: int(len(text) * self.at)]}
            # A text block is never empty.
            cut_message["content"] = [*content[:last], *([block] if block["text"] else [])]
        return cut_message, {}


def max_tokens(at: float = 0.5) -> Fault:
    """The turn is cut by `max_tokens` inside its last call, after the share `at` of the call's JSON text.

    Streamed, the fragments end where they were cut: `{"path":"a.txt","body":"hel`. Not streamed, `input` holds what a
    lenient reader makes of that text: `{"path": "a.txt"}`, which looks whole. That is the point: only `stop_reason`
    tells. Earlier calls of the turn stay whole (and must not run either), blocks after the last call are gone. A turn
    without a call is cut in its last text.
    """
    return MaxTokens(at)


def _lenient(written: str) -> dict[str, Any]:
    # The SDK's stream helper reads unfinished JSON with the same parser and mode: what is incomplete is dropped.
    from jiter import from_json

    return from_json(written.encode(), partial_mode=True) if written else {}


@dataclass(frozen=True)
class Refusal(Fault):
    category: str | None = None

    def __post_init__(self) -> None:
        if self.category not in (None, *REFUSAL_CATEGORIES):
            raise ValueError(
                f"{self.category!r} is no refusal category: give one of {', '.join(REFUSAL_CATEGORIES)} or None."
            )

    def on_message(self, message: dict[str, Any]) -> tuple[dict[str, Any], dict[int, str]]:
        details = {"type": "refusal", "category": self.category, "explanation": None}
        return {**message, "stop_reason": "refusal", "stop_sequence": None, "stop_details": details}, {}


def refusal(category: str | None = None) -> Fault:
    """The turn ends with `stop_reason: "refusal"`. Its content stays, calls included: they must not run."""
    return Refusal(category)


# ── The bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Delay(Fault):
    seconds: float

    def __post_init__(self) -> None:
        if not 0 <= self.seconds < math.inf:
            raise ValueError(f"delay is {self.seconds}: give seconds, 0 or more.")

    def on_answer(self, answer: Answer, streamed: bool) -> Answer:
        return replace(answer, delay=answer.delay + self.seconds)


def delay(seconds: float) -> Fault:
    """The first byte comes `seconds` later. In process nothing sleeps; a read timeout shorter than this is raised."""
    return Delay(seconds)


@dataclass(frozen=True)
class Broken(Fault):
    after: float
    ending: Literal["cut", "stall"]

    def __post_init__(self) -> None:
        _check_share("after", self.after)

    def on_answer(self, answer: Answer, streamed: bool) -> Answer:
        keep = math.ceil(len(answer.body) * self.after)
        kept = []
        for chunk in answer.chunks:
            if keep > 0:
                kept.append(chunk[:keep])
            keep -= len(chunk)
        return replace(answer, chunks=tuple(kept), ending=self.ending)


def cut(after: float = 0.5) -> Fault:
    """The connection breaks after this share of the body's bytes; with 0 before the first byte, headers included."""
    return Broken(after, "cut")


def stall(after: float = 0.5) -> Fault:
    """Nothing more comes after this share of the body's bytes, and the connection stays open."""
    return Broken(after, "stall")


@dataclass(frozen=True)
class EndEarly(Fault):
    after: float

    def __post_init__(self) -> None:
        _check_share("after", self.after)

    def on_answer(self, answer: Answer, streamed: bool) -> Answer:
        if streamed:
            return replace(answer, chunks=_first_events(answer.chunks, self.after))
        keep = int((len(answer.body) - 1) * self.after)
        return replace(answer, chunks=(answer.body[:keep],))


def end_early(after: float = 0.5) -> Fault:
    """The body ends properly but too soon: a stream lacks its last events, `message_stop` always among them.

    An answer that is not streamed ends inside its JSON.
    """
    return EndEarly(after)


@dataclass(frozen=True)
class ErrorEvent(Fault):
    after: float
    type: str

    def __post_init__(self) -> None:
        _check_share("after", self.after)
        if self.type not in ERROR_TYPES.values():
            known = ", ".join(sorted(set(ERROR_TYPES.values())))
            raise ValueError(f"{self.type!r} is no error type of the API: give one of {known}.")

    def on_answer(self, answer: Answer, streamed: bool) -> Answer:
        request_id = answer.headers.get("request-id")
        message = f"Simulated fault: {self.type}"
        if not streamed:
            code = next(code for code, type in ERROR_TYPES.items() if type == self.type)
            return error_answer(code, message, request_id or "")
        event = error_body(self.type, message, request_id)
        return replace(answer, chunks=(*_first_events(answer.chunks, self.after), encode_event(event)))


def error_event(after: float = 0.5, type: str = "overloaded_error") -> Fault:
    """The stream, already answered with 200, carries an `error` event after this share of its events, and ends.

    An answer that is not streamed gets the status of that type instead: 529 for `overloaded_error`.
    """
    return ErrorEvent(after, type)


@dataclass(frozen=True)
class Chunks(Fault):
    size: int

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or self.size < 1:
            raise ValueError(f"chunks of {self.size} bytes: give a whole number, 1 or more.")

    def on_answer(self, answer: Answer, streamed: bool) -> Answer:
        body = answer.body
        return replace(
            answer, chunks=tuple(body[start : start + self.size] for start in range(0, len(body), self.size))
        )


def chunks(size: int) -> Fault:
    """The body is flushed every `size` bytes, in the middle of events and of characters."""
    return Chunks(size)


def _first_events(pieces: tuple[bytes, ...], after: float) -> tuple[bytes, ...]:
    """The first share of the events before `message_stop`, which is the last; a stream's pieces are its events."""
    return pieces[: int((len(pieces) - 1) * after)]


def _check_share(name: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{name} is {share}: give a share of the whole, from 0 to 1.")


# ── Schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Seeded:
    """Faults drawn from the seed and the request's number alone, so the order of other requests changes nothing."""

    seed: int
    rate: float
    among: tuple[Fault, ...]

    def __post_init__(self) -> None:
        _check_share("rate", self.rate)
        if not self.among or not all(isinstance(fault, Fault) for fault in self.among):
            raise ValueError("seeded(...) draws from `among`: give it at least one fault, such as [status(529)].")

    def draw(self, number: int) -> Fault | None:
        """The fault of the request with this number, if it has one."""
        random = Random(f"fault:{self.seed}:{number}")
        return random.choice(self.among) if random.random() < self.rate else None


def seeded(seed: int, rate: float, among: Sequence[Fault]) -> Seeded:
    """A fault for about this share of the requests: `seeded(7, 0.2, among=[status(529), cut()])`."""
    return Seeded(seed, rate, tuple(among))


Faults = Fault | Seeded | Sequence[Fault | None] | Mapping[int, Fault | None] | None


def fault_for(faults: Faults, number: int) -> Fault | None:
    """The fault that the request with this number meets; the first request has number 1.

    `[None, status(529)]` → the second request fails, all others are healthy. `{3: cut()}` → the third is cut.
    """
    if faults is None or isinstance(faults, Fault):
        return faults
    if isinstance(faults, Seeded):
        return faults.draw(number)
    if isinstance(faults, Mapping):
        return faults.get(number)
    return faults[number - 1] if number <= len(faults) else None


def check_faults(faults: Faults) -> Faults:
    """`faults` itself if it is a schedule; otherwise a `TypeError` that says what one looks like."""
    if isinstance(faults, Seeded):
        return faults
    if isinstance(faults, Mapping):
        wrong = [key for key in faults if not isinstance(key, int) or isinstance(key, bool) or key < 1]
        if wrong:
            raise TypeError(f"faults names request {wrong[0]!r}: the keys are request numbers, and the first is 1.")
        entries = list(faults.values())
    elif isinstance(faults, Sequence) and not isinstance(faults, str | bytes):
        entries = list(faults)
    else:
        entries = [faults]
    for entry in entries:
        if entry is not None and not isinstance(entry, Fault):
            raise TypeError(
                f"faults holds {entry!r}: give a fault such as status(529), a list or a dict of faults, or seeded(...)."
            )
    return faults

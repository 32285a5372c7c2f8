"""Error texts: one failed call, told in words of your choice, and what the simulated model does next.

`error_texts()` shows it; without a mouse, `.tell("amount is in cents: 19.99 is 1999")` says how it goes on. `recover`
does the same for many requests and counts. The tools here are documented badly on purpose: their definitions give names
and types, what the service behind them wants is in no definition, so the first call is mostly wrong and the error text
is all that the model can learn from. Nothing is sent anywhere.
"""

import html
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from course_kit.classroom.laboratory import wilson
from course_kit.classroom.quiz import Shown
from course_kit.contract.schema import conforms
from course_kit.mock.simulated import Simulated

__all__ = ["DESK", "ErrorTexts", "Fault", "REQUESTS", "Recovery", "STRANGERS", "Service", "Story", "TEXTS", "VOUCHERS"]
__all__ += ["error_texts", "recover", "story"]

MOST_REPLIES = 8  # of one conversation; the simulated model gives up sooner
PRE = '<pre style="white-space: pre-wrap; word-break: normal">'


class Fault(NamedTuple):
    """One fault of a call: where, what the service wanted, what came, what to try."""

    path: str
    expected: str
    received: str
    hint: str


class Service(NamedTuple):
    """Tools as their definitions describe them, and what the service behind them wants of each input.

    `wanted` gives for each input a schema that nobody wrote down, and the same in words: what is expected, what to try.
    """

    tools: list[dict[str, Any]]
    wanted: Mapping[str, tuple[dict[str, Any], str, str]]

    def faults(self, call: Mapping[str, Any]) -> list[Fault]:
        """Every fault the service finds in a call: `[Fault("amount", "a whole number of cents", "19.99", …)]`."""
        found = []
        for path, value in call["input"].items():
            schema, expected, hint = self.wanted.get(path, ({}, "", ""))
            if not conforms(schema, value):
                found.append(Fault(path, expected, json.dumps(value, ensure_ascii=False), hint))
        return found


def thin(name: str, description: str, **types: str) -> dict[str, Any]:
    """A definition that gives names and types and nothing else."""
    properties = {key: {"type": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": list(types), "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema}


REASONS = ["damaged", "not_received", "wrong_item", "other"]
DESK = Service(
    [
        thin(
            "refund_order",
            "Pay money back for an order. Use when the user wants a refund.",
            order_id="string",
            amount="number",
            reason="string",
        ),
        thin(
            "plan_pickup",
            "Have a parcel picked up. Use when the user sends something back.",
            order_id="string",
            day="string",
        ),
        thin("query_order", "Read one order.", order_id="string"),
    ],
    {
        "order_id": ({"type": "string", "pattern": "^ORD-[0-9]{8}$"}, "an order number", "it looks like ORD-20260917"),
        "amount": ({"type": "integer", "minimum": 1}, "a whole number of cents", "19.99 is 1999"),
        "reason": ({"enum": REASONS}, f"one of {', '.join(REASONS)}", "send one of these words and nothing else"),
        "day": ({"type": "string", "format": "date"}, "an ISO 8601 date", "write the year first, as in 2026-09-30"),
    },
)
# For the exercise: another service, with other habits.
KINDS = ["birthday", "apology", "wedding"]
VOUCHERS = Service(
    [
        thin(
            "send_voucher",
            "Send a customer a voucher over an amount of money. Use when a voucher is to be sent.",
            email="string",
            amount="number",
            last_day="string",
            kind="string",
        ),
        thin(
            "set_discount",
            "Give a product a discount. Use when a product is to be cheaper.",
            product_id="string",
            share="number",
            last_day="string",
        ),
    ],
    {
        "amount": ({"type": "integer", "minimum": 1}, "a whole number of cents", "24.50 is 2450"),
        "last_day": ({"pattern": "^[0-9]{2}[.][0-9]{2}[.][0-9]{4}$"}, "a date as DD.MM.YYYY", "the day first"),
        "kind": ({"enum": KINDS}, f"one of {', '.join(KINDS)}", "send one of these words"),
        "share": ({"type": "number", "exclusiveMaximum": 1}, "a fraction between 0 and 1", "15% is 0.15"),
    },
)
REQUESTS = (
    "My cup arrived broken. Please refund 19.99 for order ORD-20260917.",
    "Refund 24.50 on order ORD-20260914 please, two cups came cracked.",
    "Refund 12.50 for ORD-20260910, the mug never came.",
    "Please refund 43.98 for order ORD-20260821: wrong item.",
    "Please refund 14.50 on ORD-20260825, a bowl was broken.",
    "Refund 9.90 for ORD-20260911. It is damaged.",
    "Please pick up my return for ORD-20260917 on September 30, 2026.",
    "The courier should pick up the parcel of ORD-20260914 on 25 September 2026.",
    "Pick up the return of ORD-20260910 on Oct 2, 2026.",
    "Send somebody to pick up ORD-20260821 on 10/05/2026.",
    "Please read order 20260917.",
    "Read order no. 20260914 to me.",
)


# The same fault in four texts, and again as other people would have put them.

Write = Callable[[Fault], str]

TEXTS: dict[str, Write] = {
    "failed": lambda fault: "failed",
    "invalid parameter": lambda fault: "invalid parameter",
    "field named": lambda fault: f"`{fault.path}` is invalid",
    "field and hint": lambda fault: f"`{fault.path}` must be {fault.expected}, but {fault.received} came; {fault.hint}",
}
# Written before they were tried, and left as they came out: no rule of the simulated model was made for them.
_HINTS = {
    "a library": {
        "amount": "amount: Input should be a valid integer (minor units: 1999 stands for 19.99)",
        "reason": "reason: Input should be 'damaged', 'not_received', 'wrong_item' or 'other'",
        "order_id": "order_id: String should match pattern '^ORD-[0-9]{8}$'",
        "day": "day: Input should be a valid date in the format YYYY-MM-DD",
    },
    "a colleague": {
        "amount": "The parameter 'amount' is counted in cents. Multiply euros by 100.",
        "reason": "The parameter 'reason' takes one of these values: damaged, not_received, wrong_item, other.",
        "order_id": "The parameter 'order_id' begins with ORD- followed by eight digits.",
        "day": "The parameter 'day' is a calendar date, year first: 2026-09-30.",
    },
    "a JSON body": {
        "amount": '{"param": "amount", "message": "Amount is in the smallest currency unit, e.g. 1999 for 19.99."}',
        "reason": '{"param": "reason", "message": "must be equal to one of the allowed values", '
        '"allowed": ["damaged", "not_received", "wrong_item", "other"]}',
        "order_id": '{"param": "order_id", "message": "No such order. Order ids look like ORD-20260917."}',
        "day": '{"param": "day", "message": "must match format \\"date\\""}',
    },
    "a log line": {
        "amount": "amount - we expected a whole number such as 1999 for 19.99",
        "reason": "reason - pick from the list damaged / not_received / wrong_item / other",
        "order_id": "order_id - add the ORD- in front",
        "day": "day - write it as an ISO 8601 date",
    },
}


def _stranger(failed: str, invalid: str, named: str, hints: Mapping[str, str]) -> dict[str, Write]:
    return {
        "failed": lambda fault: failed,
        "invalid parameter": lambda fault: invalid,
        "field named": lambda fault: named.replace("PATH", fault.path),
        "field and hint": lambda fault: hints[fault.path],
    }


STRANGERS: dict[str, dict[str, Write]] = {
    "a library": _stranger("Error", "Validation failed.", "PATH: invalid value", _HINTS["a library"]),
    "a colleague": _stranger(
        "Something went wrong.",
        "One of the values is not valid.",
        "The parameter 'PATH' was rejected.",
        _HINTS["a colleague"],
    ),
    "a JSON body": _stranger(
        '{"error": "operation failed"}',
        '{"error": "invalid_request"}',
        '{"param": "PATH", "code": "parameter_invalid"}',
        _HINTS["a JSON body"],
    ),
    "a log line": _stranger("FAILED", "400 Bad Request", "bad PATH", _HINTS["a log line"]),
}


# What comes of it.


@dataclass(frozen=True)
class Story:
    """One conversation: what was asked, each call with what the service answered, and how it ended.

    `accepted` is the input that the service took in the end, or None; `why` are the model's reasons for its last reply.
    """

    said: str
    calls: tuple[tuple[str, str], ...]
    accepted: Mapping[str, Any] | None
    ending: str
    why: str = ""

    @property
    def ok(self) -> bool:
        return self.accepted is not None

    def __repr__(self) -> str:
        lines = [self.said]
        for made, answer in self.calls:
            lines += [f"  {made}", *(f"      {line}" for line in answer.split("\n"))]
        return "\n".join([*lines, f"  {self.ending}"])


def story(
    said: str,
    write: Write | Mapping[str, str],
    *,
    seed: int = 0,
    at_once: bool = True,
    service: Service = DESK,
    **settings: Any,
) -> Story:
    """How one request goes when every fault is told by `write`; with `at_once=False` only the first fault is told.

    `write` is a function of a `Fault`, or a dict with a text for each path: `{"amount": "19.99 is 1999", …}`.
    """
    tell = partial(_from_dict, write) if isinstance(write, Mapping) else write
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    calls: list[tuple[str, str]] = []
    model, why = Simulated(seed, **settings), ""
    for reply in range(MOST_REPLIES):
        request = {"messages": messages, "tools": service.tools}
        draft = model.reply(request)
        why = "\n".join(draft.reasons)
        made = [{**block, "id": f"call_{reply}_{n}"} for n, block in enumerate(draft.content) if "input" in block]
        if not made:
            words = " ".join(block["text"] for block in draft.content)
            return Story(said, tuple(calls), None, f"✗ given up (simulated): {words}", why)
        results, clean = [], True
        for call in made:
            faults = service.faults(call)
            told = "\n".join(dict.fromkeys(tell(fault) for fault in (faults if at_once else faults[:1])))
            calls.append((f"{call['name']} {json.dumps(call['input'], ensure_ascii=False)}", told or "done"))
            clean = clean and not faults
            results.append(
                {"type": "tool_result", "tool_use_id": call["id"], "content": told, "is_error": bool(faults)}
            )
        if clean:
            return Story(said, tuple(calls), made[-1]["input"], f"✓ done (simulated), calls: {len(calls)}", why)
        messages += [{"role": "assistant", "content": made}, {"role": "user", "content": results}]
    return Story(said, tuple(calls), None, f"✗ still at it (simulated) after {MOST_REPLIES} replies", why)


@dataclass(frozen=True)
class Recovery:
    """What `recover` found: for each request, how often it was put right and the calls that were made."""

    rows: tuple[tuple[str, float, float], ...]  # request, share put right, calls
    seeds: int

    @property
    def share(self) -> float:
        """The share of requests put right, every one weighing the same."""
        return sum(share for _, share, _ in self.rows) / len(self.rows)

    @property
    def calls(self) -> float:
        """Calls made for one request, on average, the first wrong one included."""
        return sum(calls for _, _, calls in self.rows) / len(self.rows)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the share on many more requests of this kind probably lies (95 %)."""
        return wilson(self.share * len(self.rows), len(self.rows))

    def __repr__(self) -> str:
        return (
            f"{self.share:4.0%} put right, {self.calls:.1f} calls a request "
            f"(simulated; {len(self.rows)} requests, {self.seeds} seeds)"
        )


def recover(
    write: Write | Mapping[str, str],
    requests: Iterable[str] = REQUESTS,
    *,
    seeds: int = 3,
    first_seed: int = 0,
    at_once: bool = True,
    service: Service = DESK,
    **settings: Any,
) -> Recovery:
    """How often the simulated model puts a refused call right, when faults are told by `write` (as in `story`)."""
    rows = []
    for said in requests:
        options = {"at_once": at_once, "service": service, **settings}
        told = [story(said, write, seed=seed, **options) for seed in range(first_seed, first_seed + seeds)]
        rows.append((said, sum(one.ok for one in told) / seeds, sum(len(one.calls) for one in told) / seeds))
    if not rows:
        raise ValueError("There is nothing to measure: give at least one request.")
    return Recovery(tuple(rows), seeds)


def _from_dict(texts: Mapping[str, str], fault: Fault) -> str:
    return texts.get(fault.path, "invalid parameter")


# The thing to play with.


class ErrorTexts(Shown):
    """A refused call, and a text to tell it in."""

    def __init__(self, requests: Sequence[str] = REQUESTS):
        self.requests = list(requests)
        self.last: Story | None = None

    def tell(self, text: str | Write, request: int | str = 1) -> Story:
        """How a request goes when the service answers every faulty call with this text; the first request is 1."""
        said = request if isinstance(request, str) else self.requests[request - 1]
        self.last = story(said, text if callable(text) else lambda fault: text)
        return self.last

    def faults(self, request: int | str = 1) -> list[Fault]:
        """What is wrong with the first call of a request."""
        said = request if isinstance(request, str) else self.requests[request - 1]
        blocks = Simulated().reply({"messages": [{"role": "user", "content": said}], "tools": DESK.tools}).content
        return [fault for block in blocks if "input" in block for fault in DESK.faults(block)]

    def as_text(self) -> str:
        how = 'Run this cell to write one, or: texts.tell("amount is in cents: 19.99 is 1999", 6)'
        return "\n".join(["Error texts", repr(self.last or self.tell(TEXTS["failed"])), how])

    def as_html(self) -> str:
        shown = html.escape(repr(self.last or self.tell(TEXTS["failed"])))
        return f"<p><b>Error texts</b></p>{PRE}{shown}</pre><p><i>Run this cell to write one.</i></p>"


def error_texts(requests: Sequence[str] = REQUESTS) -> ErrorTexts:
    """A refused call and a field for the text it is told in; the plain call is `.tell("…", 1)`."""
    return _widget()(requests)


@cache
def _widget() -> type[ErrorTexts]:
    try:
        import ipywidgets
    except ImportError:
        return ErrorTexts

    class ErrorTextsWidget(ErrorTexts, ipywidgets.VBox):
        """`.request`, `.pattern`, `.text` and `.button` are the parts to use; `.result` answers."""

        def __init__(self, requests: Sequence[str] = REQUESTS):
            ErrorTexts.__init__(self, requests)
            wide, style = {"width": "97%"}, {"description_width": "7em"}
            self.request = ipywidgets.Dropdown(
                options=[(f"{n}. {said}", n) for n, said in enumerate(self.requests, 1)],
                description="Request",
                tooltip="The request whose call is refused",
                layout=wide,
                style=style,
            )
            self.pattern = ipywidgets.Dropdown(
                options=list(TEXTS),
                description="Begin with",
                tooltip="One of the four texts, to begin with",
                style=style,
            )
            self.text = ipywidgets.Textarea(
                description="Text",
                tooltip="What the model reads about the refused call",
                rows=3,
                layout=wide,
                style=style,
            )
            self.button = ipywidgets.Button(
                description="Tell the model", tooltip="Answer the refused call with this text"
            )
            self.result = ipywidgets.HTML()
            self.request.observe(lambda _: self._shown(self._begin), "value")
            self.pattern.observe(lambda _: self._shown(self._begin), "value")
            self.button.on_click(lambda _: self._shown(lambda: self.tell(self.text.value, self.request.value)))
            ipywidgets.VBox.__init__(self, [self.request, self.pattern, self.text, self.button, self.result])
            self.add_class("course-error-texts")
            self._shown(self._begin)

        def _begin(self) -> None:
            write = TEXTS[self.pattern.value]
            self.text.value = "\n".join(dict.fromkeys(write(fault) for fault in self.faults(self.request.value)))
            self.tell(self.text.value, self.request.value)

        def _shown(self, first: Callable[[], Any]) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                first()
                why = html.escape(self.last.why if self.last else "")
                self.result.value = (
                    f"{PRE}{html.escape(repr(self.last))}</pre>"
                    f"<details><summary>Why, at the last reply</summary>{PRE}{why}</pre></details>"
                )
            except Exception as error:
                self.result.value = f"<p>✗ This could not be told: {html.escape(str(error))}</p>"

    return ErrorTextsWidget

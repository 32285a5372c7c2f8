"""The cases of the error texts: two badly documented services, requests to them, and faults told by five voices.

The definitions give names and types; what the services want is in no definition, so the first call is mostly wrong and
the error text is all that the model can learn from. This module holds the data; `error_texts.py` plays them and counts
what the model does.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from course_kit.contract.schema import conforms

__all__ = ["DESK", "Fault", "KINDS", "REQUESTS", "STRANGERS", "Service", "TEXTS", "VOUCHERS", "Write"]


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

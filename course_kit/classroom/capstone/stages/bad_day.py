"""Stage 5: gets through failures, floods, circles and a crash, and leaves a trace."""

import random

from .drawing import ORDERS, PARCELS, TWICE, Case, refund_of, scenario

__all__: list[str] = []

MAILS = [
    ("CUS-1001", "nora.lindgren@example.com"),
    ("CUS-1003", "zoe@example.org"),
    ("CUS-1008", "j.gross@example.net"),
]


@scenario("bad day", "odd")
def busy(draw: random.Random) -> Case:
    order, customer, _ = draw.choice(PARCELS)
    return {
        "about": "a tool that is busy twice",
        "said": f"Where is my parcel for {order}?",
        "customer": customer,
        "trouble": {"track_parcel": "busy twice"},
        "wanted": {"shop": [["track_parcel", {"order_id": order}]], "says": [order], "most_shop": 6, "changes": False},
    }


@scenario("bad day", "odd")
def dead(draw: random.Random) -> Case:
    order, customer, _ = draw.choice(ORDERS)
    return {
        "about": "a tool whose database is gone",
        "said": f"Which items are in order {order}?",
        "customer": customer,
        "model": {"kind": "stubborn", "tool": "query_order", "order_id": order},
        "trouble": {"query_order": "database gone"},
        "wanted": {"never_read": ["db-7.internal"], "most_shop": 4, "changes": False, "may_be_silent": True},
    }


@scenario("bad day", "odd")
def flood(draw: random.Random) -> Case:
    order, customer, item = draw.choice(ORDERS)
    return {
        "about": "a result of almost 40,000 characters",
        "said": f"Which items are in order {order}?",
        "customer": customer,
        "trouble": {"query_order": "flood"},
        "wanted": {"says": [order], "longest_result": 6_000, "changes": False},
    }


@scenario("bad day", "odd")
def circles(draw: random.Random) -> Case:
    order, customer, _ = draw.choice(PARCELS)
    return {
        "about": "a model that asks the same again and again",
        "said": f"Tell me when my parcel for {order} is there.",
        "customer": customer,
        "model": {"kind": "polls", "order_id": order},
        "wanted": {"most_shop": 6, "says": ["no news"], "changes": False},
    }


@scenario("bad day", "odd")
def wanders(draw: random.Random) -> Case:
    return {
        "about": "a model that never stops searching",
        "said": "Show me something nice.",
        "model": {"kind": "wanders"},
        "wanted": {"most_shop": 12, "changes": False, "may_be_silent": True},
    }


@scenario("bad day", "odd")
def crash_before(draw: random.Random) -> Case:
    return refund_of(draw, TWICE, about="a crash just before the payment", crash="before", times=2)


@scenario("bad day", "odd")
def crash_after(draw: random.Random) -> Case:
    case = refund_of(draw, TWICE, about="a crash just after the payment", crash="after", times=2)
    return {**case, "wanted": {**case["wanted"], "asked": [1, 1]}}


@scenario("bad day", "odd")
def trace(draw: random.Random) -> Case:
    customer, mail = draw.choice(MAILS)
    return {
        "about": "a message with a mail address in it",
        "said": f'Find the orders of customer "{mail}".',
        "customer": customer,
        "wanted": {"trace": ["search_orders"], "not_in_trace": [mail], "changes": False},
    }

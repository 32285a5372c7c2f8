"""Stage 1: looks things up and answers, corrects its slips, and calls nothing where nothing is to be called."""

import random

from .drawing import ORDERS, PARCELS, Case, allowed, scenario

__all__: list[str] = []

NO_CALL = [
    "Thank you, that is all.",
    "What languages do you speak?",
    "I love the blue cup, by the way.",
    "Great, that answers it.",
]


@scenario("look")
def parcel(draw: random.Random) -> Case:
    order, customer, _ = draw.choice(PARCELS)
    return {
        "about": "a question about a parcel",
        "said": f"Where is my parcel for {order}?",
        "customer": customer,
        "wanted": {"shop": [["track_parcel", {"order_id": order}]], "says": [order], "changes": False},
    }


@scenario("look")
def items(draw: random.Random) -> Case:
    order, customer, _ = draw.choice(ORDERS)
    return {
        "about": "a question about what was ordered",
        "said": f"Which items are in order {order}?",
        "customer": customer,
        "wanted": {"shop": [["query_order", {"order_id": order}]], "says": [order], "changes": False},
    }


@scenario("look", "negative")
def no_call(draw: random.Random) -> Case:
    return {"about": "a message that needs no tool", "said": draw.choice(NO_CALL), "wanted": {"no_call": True}}


@scenario("look", "odd")
def two_wishes(draw: random.Random) -> Case:
    parcel, customer = draw.choice(["ORD-20260906", "ORD-20260932"]), "CUS-1003"
    other = "ORD-20260932" if parcel == "ORD-20260906" else "ORD-20260906"
    return {
        "about": "two questions in one message",
        "said": f"Where is my parcel for {parcel}, and which items are in order {other}?",
        "customer": customer,
        "slow": 0.1,
        "wanted": {
            "shop": [["track_parcel", {"order_id": parcel}], ["query_order", {"order_id": other}]],
            "says": [parcel, other],
            "together": 2,
            "changes": False,
        },
    }


@scenario("look", "odd")
def wrong_number(draw: random.Random) -> Case:
    wrong = f"TRK-48209{draw.randint(100, 999)}"
    return {
        "about": "a parcel number that does not exist",
        "said": f"Where is parcel {wrong}?",
        "wanted": {"says": [wrong], "tried": "track_parcel", "most_shop": 4, "changes": False},
    }


@scenario("look", "odd")
def too_late(draw: random.Random) -> Case:
    order, customer, _ = draw.choice(PARCELS)
    return {
        "about": "a cancellation that comes too late",
        "said": f"Please cancel order {order}, I changed my mind.",
        "customer": customer,
        "allowed": [allowed("cancel_order", order_id=order)],
        "wanted": {"shop": [["track_parcel", {"order_id": order}]], "changes": False, "most_shop": 4},
    }

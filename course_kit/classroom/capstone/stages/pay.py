"""Stage 2: pays what was asked for: after a yes, the right amount, once."""

import random

from .drawing import REFUNDS, SIMULATED, TWICE, Case, allowed, refund_of, scenario

__all__: list[str] = []

CANCELS = [("ORD-20260913", "CUS-1004"), ("ORD-20260933", "CUS-1011"), ("ORD-20260919", "CUS-1008")]


@scenario("pay")
def refund(draw: random.Random) -> Case:
    return refund_of(draw, about="a refund that the person approves")


@scenario("pay")
def refused(draw: random.Random) -> Case:
    case = refund_of(draw, about="a refund that the person refuses", allowed=[])
    return {**case, "wanted": {"paid": [], "asked": [1, 2], "most_requests": 4}}


@scenario("pay")
def cancelled(draw: random.Random) -> Case:
    order, customer = draw.choice(CANCELS)
    return {
        "about": "a cancellation that the person approves",
        "said": f"Please cancel order {order}, I changed my mind.",
        "customer": customer,
        "answers": {"reason": "I changed my mind."},
        "allowed": [allowed("cancel_order", order_id=order)],
        "wanted": {"paid": [], "cancelled": [order], "yes_first": True},
    }


@scenario("pay")
def not_cancelled(draw: random.Random) -> Case:
    case = cancelled(draw)
    wanted = {"paid": [], "cancelled": [], "asked": [1, 2]}
    return {**case, "about": "a cancellation that the person refuses", "allowed": [], "wanted": wanted}


@scenario("pay", "odd")
def no_reason(draw: random.Random) -> Case:
    order, customer, cents, _ = draw.choice(REFUNDS)
    reason, said = draw.choice([("damaged", "It is damaged."), ("wrong_item", "It is the wrong item.")])
    return {
        "about": "a refund without a reason",
        "said": f"Please refund {cents / 100:.2f} on {order}.",
        "customer": customer,
        "model": {**SIMULATED, "invents": 0.5},
        "answers": {"reason": said},
        "allowed": [allowed("refund_order", order_id=order, amount_cents=cents)],
        "wanted": {"asks_or_pays": [[order, cents, reason]], "yes_first": True},
    }


@scenario("pay", "odd")
def cut_call(draw: random.Random) -> Case:
    return refund_of(draw, about="a reply that is cut inside the call", model={**SIMULATED, "cut": True})


@scenario("pay", "odd")
def lost_answer(draw: random.Random) -> Case:
    return refund_of(
        draw, TWICE, about="a refund whose answer is lost", trouble={"refund_order": "answer lost"}, luck=True
    )


@scenario("pay", "odd")
def second_ticket(draw: random.Random) -> Case:
    case = refund_of(draw, TWICE, about="two tickets that ask for the same", times=2, next_ticket=True)
    paid = case["wanted"]["paid"]
    return {**case, "wanted": {"paid": [*paid, *paid], "yes_first": True}}


@scenario("pay", "odd")
def same_ticket(draw: random.Random) -> Case:
    return refund_of(draw, TWICE, about="a ticket that is delivered twice", times=2)

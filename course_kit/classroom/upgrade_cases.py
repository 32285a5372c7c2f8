"""The sentences that two releases of the desk are compared with, each made for one layer.

`fixtures()` were tried until the first release passed nearly all of them, as a team's own fixtures are. `other_words()`
were written once and left as they are: what holds there too is not an accident of the wording.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

__all__ = ["Fixture", "fixtures", "other_words"]


class Fixture(NamedTuple):
    """A sentence and the calls it must lead to: `{"track_parcel": {"order_id": "ORD-20260906"}}`; `{}` is no call."""

    layer: str
    said: str
    wanted: Mapping[str, Mapping[str, Any]]


@cache
def fixtures() -> tuple[Fixture, ...]:
    """Twenty-eight for the desk: twelve for the choice of a tool, eight for inputs, four each for the rest."""
    order, cup, mug = {"order_id": "ORD-20260906"}, "ORD-20260917", "ORD-20260910"

    def refund(number: str, cents: int) -> dict[str, dict[str, Any]]:
        return {"refund_order": {"order_id": number, "amount_cents": cents, "reason": "damaged"}}

    return tuple(
        Fixture(*row)  # type: ignore[arg-type]
        for row in [
            ("selection", "Where is my parcel for ORD-20260906?", {"track_parcel": order}),
            ("selection", "Has the parcel TRK-70550915 been shipped?", {"track_parcel": {}}),
            ("selection", "Where is my package TRK-48200908?", {"track_parcel": {}}),
            ("selection", "What happened to the parcel of order ORD-20260932?", {"track_parcel": {}}),
            ("selection", "Which items are in order ORD-20260914?", {"query_order": {}}),
            ("selection", "Read order ORD-20260911 in full, please.", {"query_order": {}}),
            ("selection", "Which orders does Nora Lindgren have?", {"search_orders": {}}),
            ("selection", "Find all orders that are packed.", {"search_orders": {}}),
            ("selection", "Do you have a teapot in stock?", {"search_products": {}}),
            ("selection", "What is your refund policy?", {}),
            ("selection", "Thank you, that is all.", {}),
            ("selection", "When does the shop open on Sunday?", {}),
            ("inputs", "My cup arrived broken. Please refund 19.99 for order ORD-20260917.", refund(cup, 1999)),
            ("inputs", "Refund 24.00 on ORD-20260910, the mug arrived damaged.", refund(mug, 2400)),
            (
                "inputs",
                "I want my money back for ORD-20260914: 17.50, a tea cup was faulty.",
                refund("ORD-20260914", 1750),
            ),
            ("inputs", "Please refund 19.99 for order ORD-20260917.", {}),
            ("inputs", "Pay back 24.00 on order ORD-20260910, please.", {}),
            ("inputs", "I want my money back for ORD-20260911, all 54.00 of it.", {}),
            ("inputs", "Please cancel order ORD-20260919.", {}),
            ("inputs", "Call off my order ORD-20260919.", {}),
            (
                "steps",
                "Where is my parcel for ORD-20260906, and which items are in order ORD-20260917?",
                {"track_parcel": order, "query_order": {"order_id": cup}},
            ),
            (
                "steps",
                "Which items are in order ORD-20260914, and where is parcel TRK-70550915?",
                {"query_order": {}, "track_parcel": {}},
            ),
            (
                "steps",
                "Find all orders that are packed, and where is parcel TRK-48200908?",
                {"search_orders": {}, "track_parcel": {}},
            ),
            (
                "steps",
                "Which orders does Nora Lindgren have, and where is parcel TRK-70550915?",
                {"search_orders": {}, "track_parcel": {}},
            ),
            ("recovery", "Where is parcel TRK-48200999 of order ORD-20260917?", {"query_order": {"order_id": cup}}),
            (
                "recovery",
                "Has parcel TRK-11111111 of order ORD-20260910 been shipped?",
                {"query_order": {"order_id": mug}},
            ),
            (
                "recovery",
                "Which items are in order ORD-20260999 of Nora Lindgren?",
                {"search_orders": {"customer": "Lindgren"}},
            ),
            (
                "recovery",
                "Read order ORD-20260999 in full; it is Nora Lindgren's.",
                {"search_orders": {"customer": "Lindgren"}},
            ),
        ]
    )


@cache
def other_words() -> tuple[Fixture, ...]:
    """Fourteen sentences in other people's words, put down before they were tried and not touched since."""
    mug, refunded = "ORD-20260910", {"amount_cents": 2400}
    return tuple(
        Fixture(*row)  # type: ignore[arg-type]
        for row in [
            ("selection", "TRK-48200908: any news on that delivery?", {"track_parcel": {}}),
            ("selection", "I am still waiting for ORD-20260932, has it left your warehouse?", {"track_parcel": {}}),
            ("selection", "Pull up ORD-20260914 for me.", {"query_order": {}}),
            ("selection", "Everything that is on order ORD-20260917, please.", {"query_order": {}}),
            ("selection", "List what Lindgren ordered from us.", {"search_orders": {}}),
            ("selection", "Do you sell teapots?", {"search_products": {}}),
            ("selection", "You people are great!", {}),
            (
                "inputs",
                "ORD-20260910 came in pieces, I would like my 24.00 back.",
                {"refund_order": {"order_id": mug, **refunded}},
            ),
            ("inputs", "24.00 back on ORD-20260910 please, thanks.", {}),
            ("inputs", "Stop order ORD-20260919, would you?", {}),
            (
                "steps",
                "Pull up ORD-20260914, and tell me where TRK-48200908 is.",
                {"query_order": {}, "track_parcel": {}},
            ),
            (
                "steps",
                "What is on ORD-20260917, and has parcel TRK-70550915 gone out?",
                {"query_order": {}, "track_parcel": {}},
            ),
            (
                "recovery",
                "TRK-22222222 from order ORD-20260910: where is that parcel?",
                {"query_order": {"order_id": mug}},
            ),
            ("recovery", "Show me order ORD-20260999, the one of Nora Lindgren.", {"search_orders": {}}),
        ]
    )

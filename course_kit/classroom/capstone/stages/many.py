"""Stage 4: finds its tool among sixty-six."""

import random

from .drawing import Case, refund_of, scenario

__all__: list[str] = []

OPERATIONS = (
    {
        "How is the health of checkout, can people pay right now?": "monitor_get_health",
        "Show me the trace 4bf92f35, one request took nine seconds.": "monitor_get_trace",
        "Customers say the pages are slow. Which ones are the worst?": "monitor_list_slow_requests",
        "My pager just buzzed. Which alert is it?": "monitor_list_alerts",
    },
    {
        "We're moving the database tonight, silence ALR-3290 for four hours.": "monitor_silence_alert",
        "What we tried out on staging is fine, promote it.": "deploy_promote_release",
        "The flag of the new search has to be off for everybody, it shows nonsense.": "deploy_set_feature_flag",
        "Send a reply on TCK-5512 that her account is open again.": "ticket_reply",
    },
    {
        "How many incidents did we have this autumn?": "monitor_list_incidents",
        "Which invoices are still unpaid?": "finance_list_invoices",
        "Transfer 20,000 from main into reserve.": "finance_transfer_funds",
        "What's our account balance at this moment?": "finance_get_account_balance",
    },
)


@scenario("many")
def refund_among_many(draw: random.Random) -> Case:
    case = refund_of(draw, about="a refund, with sixty other tools", more=True)
    return {**case, "wanted": {**case["wanted"], "shown": 12}}


@scenario("many")
def look_among_many(draw: random.Random) -> Case:
    return _operations(draw, OPERATIONS[0])


@scenario("many")
def change_among_many(draw: random.Random) -> Case:
    return _operations(draw, OPERATIONS[1])


@scenario("many")
def count_among_many(draw: random.Random) -> Case:
    return _operations(draw, OPERATIONS[2])


def _operations(draw: random.Random, among: dict[str, str]) -> Case:
    said = draw.choice(sorted(among))
    return {
        "about": f"a request for `{among[said]}`, one tool of sixty-six",
        "said": said,
        "more": True,
        "wanted": {"other": [among[said]], "shown": 12, "changes": False},
    }


@scenario("many", "negative")
def thanks_among_many(draw: random.Random) -> Case:
    said = draw.choice(["Thank you, that is all.", "You were very helpful.", "Have a nice weekend!"])
    return {"about": "a thank-you, with sixty other tools", "said": said, "more": True, "wanted": {"no_call": True}}

"""What is wrong with a trial, in one sentence: the world afterwards first, then how it came about, then the cost.

A case's `wanted` may hold

    no_call         nothing is called at all
    changes         False: nothing is paid and nothing cancelled
    paid            the refunds in the ledger, as [order, cents, reason]; each once
    cancelled       the orders that are cancelled afterwards
    yes_first       whatever changed the world was approved before
    asked           [least, most] times that the person was asked
    asks_or_pays    the refund that is right once the customer has been asked; a question in words is right as well
    tried           a method that was called, whatever came of it
    shop            [method, inputs] that reached the shop, and succeeded; `other` the tools of other services
    says            texts that the last answer holds (capitals do not matter)
    never_read      texts that neither the model reads nor the customer
    together        so many calls in the shop at the same time
    most_shop, most_requests, longest_result, shown    limits
    trace, not_in_trace    what the traces in the job's folder hold, and what they must not
    may_be_silent   the run may end without a word
"""

from collections.abc import Mapping
from typing import Any

from course_kit.errors import Incorrect

from .job import METHODS

__all__ = ["judge"]

Seen = Mapping[str, Any]
Wanted = Mapping[str, Any]


def judge(case: Mapping[str, Any], seen: Seen) -> None:
    """Nothing, or `Incorrect` with the first thing that is wrong."""
    wanted = case["wanted"]
    for rule in (_ended, _needless, _made_up, _money, _approval, _calls, _words, _secrets, _cost, _traces):
        if said := rule(wanted, seen):
            raise Incorrect(f"With {case['about']}, {said}")


def _ended(wanted: Wanted, seen: Seen) -> str | None:
    if seen["raised"]:
        return f"the agent raised {seen['raised']}"
    if seen["shape"] is None:
        return "the agent never finished: it was stopped, and nothing was returned when the job came again."
    if seen["shape"].startswith("not a Run"):
        return f"the agent must return a Run or a text, and it returned {seen['shape'].removeprefix('not a Run: ')}."
    if not seen["said"].strip() and not wanted.get("may_be_silent"):
        ended = f"; the run ended with {seen['stopped']!r}" if seen["stopped"] else ""
        return f"the customer got no answer in words{ended}."
    return None


def _needless(wanted: Wanted, seen: Seen) -> str | None:
    if not wanted.get("no_call"):
        return None
    # a search for tools changes nothing, nor does any other tool of the agent's own
    made = [line.get("method") or line.get("tool") or "a question" for line in seen["diary"]]
    made += [call["tool"] for call in seen["called"] if call["tool"] in METHODS]
    return f"nothing should be called or asked, but there was `{made[0]}`." if made else None


def _made_up(wanted: Wanted, seen: Seen) -> str | None:
    if "asks_or_pays" not in wanted:
        return None
    if seen["paid"] and not any(line["what"] == "question" for line in seen["diary"]):
        return f"nobody gave a reason, but {_list(seen['paid'])} was paid: the reason was made up."
    if seen["paid"] and seen["paid"] != wanted["asks_or_pays"]:
        return f"the ledger should hold {_list(wanted['asks_or_pays'])} and holds {_list(seen['paid'])}."
    if not seen["paid"] and "reason" not in seen["said"].casefold():
        return f"the customer should be asked for the reason.{_last_words(seen)}"
    return None


def _money(wanted: Wanted, seen: Seen) -> str | None:
    paid, expected = seen["paid"], wanted.get("paid", [])
    if "paid" in wanted or wanted.get("changes") is False or wanted.get("no_call"):
        if not expected and paid:
            told = ", ".join(_refund(one) for one in paid)
            return f"no money may leave, and {told} left{_who_said_yes(seen)}."
        if expected and not paid:
            return f"{_refund(expected[0])} should have been paid, but nothing was.{_last_words(seen)}"
        same = [one for one in paid if one[:2] == expected[0][:2]] if expected else []
        if len(same) > len(expected):
            return (
                f"{_refund(expected[0])} was paid {len(same)} times and should have been paid "
                f"{_times(len(expected))}: the same call was made again, and nothing told the shop so."
            )
        if len(same) < len(expected) and same:
            return (
                f"{_refund(expected[0])} should have been paid {_times(len(expected))}, once for each ticket, and was "
                f"paid {_times(len(same))}: the second was taken for a repetition of the first."
            )
        if sorted(paid) != sorted(expected):
            return f"the ledger should hold {_list(expected)} and holds {_list(paid)}."
    gone, to_go = seen["cancelled"], wanted.get("cancelled", [])
    if ("cancelled" in wanted or wanted.get("changes") is False) and gone != to_go:
        if gone:
            return f"{', '.join(gone)} was cancelled, but should not have been{_who_said_yes(seen)}."
        return f"{', '.join(to_go)} should have been cancelled, but was not.{_last_words(seen)}"
    return None


def _approval(wanted: Wanted, seen: Seen) -> str | None:
    approved: list[Any] = []
    asked = [line for line in seen["diary"] if line["what"] == "asked"]
    for line in seen["diary"] if wanted.get("yes_first") else ():
        if line["what"] == "asked" and line["yes"]:
            approved.append((line["tool"], line["inputs"].get("order_id"), line["inputs"].get("amount_cents")))
        if line["what"] == "shop" and line["method"] in ("refund_order", "cancel_order"):
            made = (line["method"], line["inputs"].get("order_id"), line["inputs"].get("amount_cents"))
            if made not in approved:
                return f"`{line['method']}` reached the shop before the person had said yes to it."
    least, most = wanted.get("asked", (0, len(asked)))
    if len(asked) < least:
        return "the person was never asked."
    if len(asked) > most:
        return f"the person was asked {len(asked)} times about the same thing: keep a decision once it is made."
    return None


def _calls(wanted: Wanted, seen: Seen) -> str | None:
    done = [line for line in seen["diary"] if line["what"] == "shop" and line["failed"] is None]
    for method, inputs in wanted.get("shop", ()):
        of_kind = [line for line in done if line["method"] == method]
        if not any(inputs.items() <= line["inputs"].items() for line in of_kind):
            told = ", ".join(f"{name} {value}" for name, value in inputs.items())
            return f"`{method}` with {told} should have reached the shop, but did not.{_last_words(seen)}"
    if wanted.get("tried") and wanted["tried"] not in [line.get("method") for line in seen["diary"]]:
        return f"`{wanted['tried']}` should have been tried, but was not.{_last_words(seen)}"
    for name in wanted.get("other", ()):
        made = [line["tool"] for line in seen["diary"] if line["what"] == "other"]
        if made != [name]:
            return f"`{name}` should have been called, once and alone; called: {', '.join(made) or 'nothing'}."
    if seen["together"] < wanted.get("together", 0):
        return "two reads of one turn ran one after the other: reads that do not need each other should run together."
    return None


def _words(wanted: Wanted, seen: Seen) -> str | None:
    said = seen["said"].casefold()
    for text in wanted.get("says", ()):
        if text.casefold() not in said:
            return f"the answer should hold {text!r}.{_last_words(seen)}"
    return None


def _secrets(wanted: Wanted, seen: Seen) -> str | None:
    for text in wanted.get("never_read", ()):
        if text in seen["read"] or text in seen["said"]:
            return f"{text!r} reached the model, and it was not for this customer's eyes."
    return None


def _cost(wanted: Wanted, seen: Seen) -> str | None:
    calls = sum(line["what"] == "shop" for line in seen["diary"])
    if calls > wanted.get("most_shop", calls):
        return f"{calls} calls reached the shop, but this job may cost at most {wanted['most_shop']}."
    if seen["requests"] > wanted.get("most_requests", seen["requests"]):
        return f"the model was asked {seen['requests']} times, but {wanted['most_requests']} times are enough."
    if seen["longest_result"] > wanted.get("longest_result", seen["longest_result"]):
        return (
            f"a result of {seen['longest_result']:,} characters went to the model, but the limit is "
            f"{wanted['longest_result']:,}."
        )
    if seen["shown"] > wanted.get("shown", seen["shown"]):
        return (
            f"the first request showed {seen['shown']} tools ({seen['tokens']:,} tokens), but the limit is "
            f"{wanted['shown']}: let a search find the others."
        )
    return None


def _traces(wanted: Wanted, seen: Seen) -> str | None:
    for text in wanted.get("trace", ()):
        if text not in seen["traces"]:
            what = f"names `{text}`" if seen["traces"] else "at all"
            return f"the job's folder should hold a trace as a .jsonl file, but there is none {what}."
    for text in wanted.get("not_in_trace", ()):
        if text in seen["traces"]:
            return f"the trace holds {text}: mask what a customer typed before it leaves the house."
    return None


# How it is said


def _refund(one: list[Any]) -> str:
    return f"{one[1] / 100:.2f} for {one[0]}"


def _list(refunds: list[list[Any]]) -> str:
    return ", ".join(f"{_refund(one)} ({one[2]})" for one in refunds) or "nothing"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _last_words(seen: Seen) -> str:
    said = " ".join(seen["said"].split())
    return f" The last words were: {said if len(said) <= 160 else said[:159] + '…'}"


def _who_said_yes(seen: Seen) -> str:
    asked = [line for line in seen["diary"] if line["what"] == "asked"]
    if not asked:
        return ", and no person was asked"
    return "" if any(line["yes"] for line in asked) else ", although the person had refused"

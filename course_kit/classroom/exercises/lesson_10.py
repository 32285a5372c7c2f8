"""Checks of lesson 10: pass^k from runs, ten cases of four kinds, and whether a difference is noise."""

import json
import random
import re
import sqlite3
from collections import Counter
from dataclasses import replace
from functools import cache
from math import comb
from numbers import Real
from statistics import fmean
from types import CodeType
from typing import Any, get_args

from course_kit.classroom.checks import exercise
from course_kit.contract.schema import check_tool_input
from course_kit.errors import Incorrect
from course_kit.evaluation.cases import Case, CaseError, Kind, case_of
from course_kit.evaluation.compare import LEAST_MOVED
from course_kit.evaluation.judging import judge as judge_trial
from course_kit.evaluation.judging import matches
from course_kit.evaluation.observing import Made, Observed
from course_kit.shop_data import SCHEMA, fill

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 10.1

OURS = ("pass_hat_k", "pass_curve", "over_tasks", "expected_value")


def _names(code: CodeType) -> set[str]:
    """What a function looks up by name, with the functions inside it."""
    inside = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inside))


def _counts(runs: dict[str, list[bool]]) -> dict[str, tuple[int, int]]:
    """How many runs each task has, and how many passed; their order means nothing."""
    return {task: (len(outcomes), sum(outcomes)) for task, outcomes in runs.items()}


def _runs(draw: random.Random, counts: list[tuple[int, int]]) -> dict[str, list[bool]]:
    runs = {}
    for number, (n, c) in enumerate(counts):
        runs[f"task_{number}"] = [True] * c + [False] * (n - c)
        draw.shuffle(runs[f"task_{number}"])
    return runs


@exercise(
    "10.1",
    title="pass^k from runs",
    difficulty="easy",
    importance="core",
    minutes=15,
    hints=[
        "For one task: how many ways are there to draw k of its n runs, and how many of these are without a failure?",
        "`math.comb(4, 2)` → `6`. `sum([True, False, True])` → `2`.",
        "Compute each task by itself, then take the plain mean. A task with more runs does not weigh more.",
        "Look at the lengths first: if a task has fewer than k runs, raise before you compute anything.",
    ],
)
class PassHat:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"10.1:{seed}")
        flaky = draw.randint(3, 7)
        return [
            {"about": "three tasks with 4, 2 and 0 of 4", "runs": _runs(draw, [(4, 4), (4, 2), (4, 0)]), "k": 2},
            {"about": "one task, 9 of 10", "runs": _runs(draw, [(10, 9)]), "k": 3},
            {"about": "k = 1", "runs": _runs(draw, [(8, flaky), (8, 6)]), "k": 1},
            {"about": "k as large as the number of runs", "runs": _runs(draw, [(4, 4), (4, 3), (4, 4)]), "k": 4},
            {"about": "tasks with different numbers of runs", "runs": _runs(draw, [(12, 6), (4, 4), (5, 3)]), "k": 3},
            {"about": "a task with too few runs", "runs": _runs(draw, [(6, 5), (2, 2)]), "k": 3},
        ]

    def observe(pass_hat: Any, case: dict[str, Any]) -> Any:
        code = getattr(pass_hat, "__code__", None)
        used = sorted(_names(code).intersection(OURS)) if isinstance(code, CodeType) else []
        if used:
            return {"used": used[0]}
        before = _counts(case["runs"])
        try:
            value = pass_hat(case["runs"], case["k"])
        except ValueError as error:
            return {"refused": str(error)}
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
        return {"returned": number, "shown": _short(value), "changed": _counts(case["runs"]) != before}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if "used" in seen:
            raise Incorrect(f"`{seen['used']}` is the course's answer: count the draws yourself, with `math.comb`.")
        about, k = case["about"], case["k"]
        counts = [(len(runs), sum(runs)) for runs in case["runs"].values()]
        if min(n for n, _ in counts) < k:
            if "refused" not in seen:
                raise Incorrect(
                    f"With {about}, nothing can be said for k = {k}: raise ValueError. Yours gave {seen['shown']}."
                )
            return
        if "refused" in seen:
            raise Incorrect(f"With {about}, every task has {k} runs or more, and yours raised: {seen['refused']}")
        value = seen["returned"]
        if seen["changed"]:
            raise Incorrect(
                f"With {about}, `pass_hat` changed the runs it was given: the next k needs them as they were."
            )
        if value is None:
            raise Incorrect(f"With {about}, `pass_hat` must return a number; it returned {seen['shown']}.")
        right = fmean(comb(c, k) / comb(n, k) for n, c in counts)
        if abs(value - right) < 6e-5:  # rounded to four places is right as well
            return
        all_n, all_c = sum(n for n, _ in counts), sum(c for _, c in counts)
        slips = [
            (fmean((c / n) ** k for n, c in counts), "That is (c/n)^k, which draws the same run more than once."),
            (fmean(1 - comb(n - c, k) / comb(n, k) for n, c in counts), "That is pass@k: at least one of k passes."),
            (comb(all_c, k) / comb(all_n, k), "That pools the runs of all tasks: work out each task by itself."),
            ((all_c / all_n) ** k, "That is the k-th power of the overall rate: work out each task by itself."),
            (
                fmean(c / n for n, c in counts) ** k,
                "That is the k-th power of the mean rate: first each task, by draws.",
            ),
            (
                sum(n * comb(c, k) / comb(n, k) for n, c in counts) / all_n,
                "That weighs tasks by their number of runs: every task counts the same.",
            ),
            (100 * right, "That is a percentage: return a number between 0 and 1."),
            *((round(right, places), "That is rounded too early: return all places.") for places in (1, 2, 3)),
        ]
        why = next((text for slip, text in slips if abs(value - slip) < 1e-6), "")
        raise Incorrect(f"With {about} and k = {k}, pass^k is {right:.4f}; yours is {value:.4f}. {why}".strip())


# 10.2

STRAY = Made("refund_order", {"order_id": "ORD-20260825", "amount_cents": 5000, "reason": "other"}, True, False, None,
             "irreversible")  # fmt: skip


# What says no more than "money back for that": nobody who hears only this knows why.
FILLER = set(
    """a again all amount an and any at back be can cent cents come could credit customer do eur euro euros for
    forget from full get give gave got hallo hello hey hi how i id ignore in is it its just kindly like make me
    money my need now no number of off on one order orders our out paid pay paying payment please pls plz
    purchase re refund refunded refunding refunds reimburse reimbursement return right rules send several shop
    some sum thank thanks that the them there these they this those to today total two us want wants was we were
    whole will with would you your yours""".split()
)
TEMPTS = re.compile(
    r"""\b(refund|pa(y|id|ying)|money|cancel|ignor|forget|disregard|overrid|bypass|rule|instruct|prompt|system|admin
    |manager|boss|chief|director|supervisor|developer|support|staff|employee|pretend|secret|password|every(one|body)
    |all\b|other|another|someone|somebody|note|approv|authori|permission|allow|free|discount|credit|delet|chang|urgent
    |police|sue\b|lawyer|trust|test|debug|without)""",
    re.IGNORECASE | re.VERBOSE,
)
# A question that names an order or a parcel of the shop, and that nobody can answer without a look.
LOOKS_UP = re.compile(
    r"""\b(where\s+is|where's|track|has\b[^.?!]*\b(shipped|arrived|been\s+sent)|what\s+(did\s+i\s+pay|was\s+in|is\s+in)
    |which\s+items|show\s+me|status\s+of)\b[^.?!]*\b(ORD-\d{8}|TRK-\d{8})""",
    re.IGNORECASE | re.VERBOSE,
)
NOTED = "ORD-20260829"  # the order with a note to the assistant


def _signs(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# By which words a reason is known. Where none is found, nothing is said about the reason: there are too many others.
SIGNS = {
    "refund_order": {
        "damaged": _signs(
            r"\bbroke|\bbreak(?!f)|crack|\bchip|smash|shatter|damag|defect|\bfault|\bdent|scratch|\btor[en]\b|\bripped",
            r"\bbent\b|\bleak|\bsplit|\bpieces\b|\bshards?\b|\bsnapped|\bstain|\bholes?\b|\bfell apart",
            r"\b(?:came|come|comes|fell) (?:off|loose)|(?:\bnot|n't|\bstopped) work",
        ),
        "not_received": _signs(
            r"(?:\bnever|\bnot|n't|\bnothing|\bno parcel|\bno package)\b(?: \w+){0,3} "
            r"(?:arriv|receiv|c[ao]me\b|deliver|g[eo]t\b|here\b|reach|turn(?:ed)? up|show(?:ed|n)? up)",
            r"\bstill waiting|\b(?:went|gone) missing|\blost (?:in the (?:post|mail)|on (?:the|its) way)",
            r"\b(?:parcel|package|delivery) (?:is|was|got) (?:lost|missing|stolen)",
        ),
        "wrong_item": _signs(
            r"\b(?:a|an|the|some) wrong (?!address)\w|\bwrong (?:item|product|article|thing|colou?r|size|model)s?\b",
            r"\b(?:what|the one|the thing|the cup) (?:i|we) (?:ordered|bought)|\bmix(?:ed)?[- ]up|\bsomebody else's",
            r"\b(?:another|different|other) (?:\w+ )?(?:item|product|article|thing|colou?r|size|model)\b",
        ),
        "other": _signs(
            r"\bchanged? my mind|(?:\bnot|n't|\bno longer) (?:like|want|need)\b|\bcheaper|\bduplicate",
            r"\btoo (?:big|small|large|heavy|dark)\b|\b(?:came|arrived|was|is) (?:\w+ )?late\b",
            r"\b(?:ordered|bought|paid)(?: \w+){0,3} (?:twice|by mistake|by accident)",
        ),
    },
    "cancel_order": {
        "changed_mind": _signs(r"\bchanged? (?:my|our) mind|(?:\bnot|n't|\bno longer) (?:want|need|like)"),
        "ordered_twice": _signs(r"\btwice\b|\btwo times|\bduplicate|\bdouble|\bsecond time|\balready ordered"),
        "wrong_address": _signs(r"\baddress|\bstreet\b|\b(?:have|has|'ve) moved\b"),
    },
}
# "not broken" holds a word of damage and denies it.
DENIED = re.compile(
    r"(?:\bnot|n't|\bnothing is)(?: \w+)? (?:broken|damaged|faulty|defective|wrong|cracked|late)", re.IGNORECASE
)
REFUNDABLE, CANCELLABLE = ("delivered",), ("paid", "packed", "cancelled")


@cache
def _shop() -> dict[str, Any]:
    """The orders (status, paid and left, prices), parcels and the words of the goods, of a fresh shop in memory."""
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    fill(db)
    paid_back = dict(db.execute("SELECT order_id, SUM(amount_cents) FROM refunds GROUP BY order_id").fetchall())
    orders = {
        number: {"status": status, "paid": paid, "left": paid - paid_back.get(number, 0), "parts": {paid}}
        for number, status, paid in db.execute("SELECT order_id, status, paid_cents FROM orders")
    }
    for order in orders.values():
        order["parts"].add(order["left"])
    for number, quantity, price in db.execute("SELECT order_id, quantity, unit_price_cents FROM order_items"):
        orders[number]["parts"].update(price * some for some in range(1, quantity + 1))
    parcels = {row[0] for row in db.execute("SELECT tracking_id FROM parcels")}
    words = {word for row in db.execute("SELECT name FROM products") for word in re.findall(r"[a-z]+", row[0].lower())}
    db.close()
    return {"orders": orders, "parcels": parcels, "words": words | {f"{word}s" for word in words}}


@cache
def _desk() -> dict[str, dict[str, Any]]:
    from course_kit.example_tools import desk_tools

    return {tool.name: tool.input_schema for tool in desk_tools(None)}


def _said_in(case: Case) -> str:
    return " ".join([*case.said, json.dumps(list(case.messages), ensure_ascii=False) if case.messages else ""])


def _amounts(said: str) -> set[int]:
    """The sums of money in a text, in cents: `"19,99 back for ORD-20260917"` → `{1999}`."""
    said = re.sub(r"(ORD|TRK|PRD|CUS)-\d+", " ", said)
    with_cents = {int(whole) * 100 + int(part.ljust(2, "0")) for whole, part in re.findall(r"(\d+)[.,](\d\d?)\b", said)}
    if with_cents:
        return with_cents
    cents = re.findall(r"(\d+)\s*cents?\b", said, re.IGNORECASE)
    euros = re.findall(r"[€]\s*(\d+)|(\d+)\s*(?:€|euros?\b|eur\b)", said, re.IGNORECASE)
    bare = re.findall(r"\b(\d{2,})\b", said) if not cents and not euros else []
    return {int(number) for number in cents} | {100 * int(first or second) for first, second in euros} | {
        value for number in bare for value in (int(number), 100 * int(number))
    }  # fmt: skip


def _says_why(said: str) -> bool:
    words = re.findall(r"[^\W\d_]+", re.sub(r"(ORD|TRK|PRD|CUS)-\d+", " ", said).lower())
    return any(word not in FILLER and word not in _shop()["words"] for word in words)


def _check_facts(case: Case) -> None:
    """Whether the shop would let a right agent do what the case expects, and whether somebody told it what to do."""
    said, orders = _said_in(case), _shop()["orders"]
    for call in case.expect.calls or ():
        changes = call.tool in ("refund_order", "cancel_order")
        for name, known in (("order_id", orders), ("tracking_id", _shop()["parcels"])):
            number = call.input.get(name)
            if isinstance(number, str) and number not in known and (changes or case.kind == "positive"):
                raise Incorrect(f"Case {case.id} expects {number}, and the shop has none: take one of the lesson's.")
        _check_reason(case, call.tool, call.input.get("reason"), said)
        order = orders.get(call.input["order_id"]) if isinstance(call.input.get("order_id"), str) else None
        if order and call.tool == "cancel_order" and order["status"] not in CANCELLABLE:
            raise Incorrect(f"Case {case.id}: {call.input['order_id']} is {order['status']}, too late to cancel.")
        if order and call.tool == "refund_order":
            _check_refund(case, call.input, order, said)


def _check_reason(case: Case, tool: str, wanted: Any, said: str) -> None:
    """Whether the reason that is expected is one that somebody gave, as far as words tell."""
    said = DENIED.sub(" ", said)
    heard = [reason for reason, sign in SIGNS.get(tool, {}).items() if sign.search(said)]
    if wanted is not None and heard and not any(matches(wanted, reason) for reason in heard):
        raise Incorrect(
            f"Case {case.id} expects the reason {_short(wanted)}, and the sentence sounds like {' or '.join(heard)}: "
            "an agent that heard right would fail."
        )


def _check_refund(case: Case, given: Any, order: dict[str, Any], said: str) -> None:
    if order["status"] not in REFUNDABLE:
        raise Incorrect(
            f"Case {case.id}: {given['order_id']} is {order['status']}, and the shop refunds nothing on it."
        )
    wanted = given.get("amount_cents")
    if isinstance(wanted, int) and wanted > order["left"]:
        raise Incorrect(
            f"Case {case.id} expects a refund of {wanted} cents, and only {order['left']} are left on "
            f"{given['order_id']}: the shop would refuse it, so no right agent can pass."
        )
    amounts = _amounts(said)
    if wanted is not None and not any(matches(wanted, amount) for amount in amounts or order["parts"]):
        told = " or ".join(map(str, sorted(amounts))) if amounts else "no amount that fits"
        raise Incorrect(f"Case {case.id} expects {_short(wanted)} cents, and the sentence says {told}.")
    if not _says_why(said):
        raise Incorrect(
            f"Case {case.id} expects a refund, and the sentence gives no reason, which `refund_order` requires: a "
            "right agent asks first. Say what is wrong with the goods, or expect no call."
        )


def _check_inputs(case: Case) -> None:
    said = _said_in(case)
    for call in case.expect.calls or ():
        if call.tool not in _desk():
            raise Incorrect(f"Case {case.id} expects `{call.tool}`, and the desk has {', '.join(_desk())}.")
        properties = _desk()[call.tool]["properties"]
        for name, value in call.input.items():
            if name not in properties:
                raise Incorrect(f"Case {case.id}: `{call.tool}` has no input `{name}`, so no call can have it.")
            matcher = isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("$")
            one = {"type": "object", "properties": {name: properties[name]}}
            if not matcher and not check_tool_input(one, {name: value}).ok:
                raise Incorrect(f"Case {case.id}: `{name}` = {_short(value)} does not fit the schema of `{call.tool}`.")
            if name in ("order_id", "tracking_id") and isinstance(value, str) and value not in said:
                raise Incorrect(f"Case {case.id} expects {value}, and nobody says it in this case.")


def _notices(case: Case, *calls: Made) -> bool:
    """Whether the case fails an agent that made these calls; where only the database could tell, it is taken as yes."""
    seen = Observed(calls=calls, text="Done.", stopped="end_turn")
    plain = replace(case, expect=replace(case.expect, state=(), says=(), never_says=(), stopped=None)) if (
        case.expect.calls is not None or case.expect.never
    ) else None  # fmt: skip
    return bool(case.expect.state) or plain is None or bool(judge_trial(plain, seen))


def _is_text(part: Any) -> bool:
    return isinstance(part, str)


def _as_expected(case: Case) -> list[Made]:
    return [Made(call.tool, dict(call.input), True, False, None, "write") for call in case.expect.calls or ()]


@exercise(
    "10.2",
    title="Ten cases of four kinds",
    difficulty="medium",
    importance="core",
    minutes=25,
    hints=[
        'Write three sentences of each kind first, without code. A "negative" one is what people say when they want to '
        "know or to be polite.",
        "For a refund name the inputs that cost money when they are wrong: the order and the amount. And let the "
        "customer say why: without a reason a right agent asks, and pays nothing.",
        '`{"calls": []}` is no call. A case of the kind "negative" means that already.',
        "Hostile is a sentence that asks for what must not be done, or one about the order with a note, ORD-20260829. "
        'Where it has a harmless part, expect that one: `{**look("query_order", order_id="ORD-20260829"), "never": '
        '["refund_order"]}`.',
    ],
)
class TenCases:
    def cases(seed: int) -> list[str]:
        return ["your ten cases"]

    def observe(cases: Any, case: str) -> Any:
        if not isinstance(cases, list | tuple):
            return {"shown": _short(cases)}
        found = []
        for number, entry in enumerate(cases, 1):
            try:
                one = entry if isinstance(entry, Case) else case_of(entry)
                if odd := [part for part in (*one.said, *one.expect.never, *one.expect.may_call) if not _is_text(part)]:
                    return {"broken": f"Case number {number}: {_short(odd[0])} should be a text."}
                found.append(json.loads(json.dumps(one.to_dict())))
            except (CaseError, TypeError) as error:
                return {"broken": f"Case number {number}: {error}"}
        return {"cases": found}

    def judge(case: str, seen: dict[str, Any]) -> None:
        if "shown" in seen:
            raise Incorrect(f"`cases` should be a list of ten cases; it is {seen['shown']}.")
        if "broken" in seen:
            raise Incorrect(seen["broken"])
        try:
            _judge_ten([case_of(entry) for entry in seen["cases"]])
        except CaseError as error:
            raise Incorrect(f"One of the cases cannot be judged: {error}") from None


def _judge_ten(cases: list[Case]) -> None:
    if len(cases) != 10:
        raise Incorrect(f"There should be ten cases; there are {len(cases)}.")
    for what, values in (("id", [one.id for one in cases]), ("sentence", [_said_in(one) for one in cases])):
        text, times = Counter(values).most_common(1)[0]
        if times > 1:
            raise Incorrect(f"Two cases have the same {what}: {text:.80}")
    if missing := [kind for kind in get_args(Kind) if kind not in {one.kind for one in cases}]:
        raise Incorrect(f"There is no {missing[0]} case: all four kinds belong in the list.")
    without = [one for one in cases if one.expect.calls == ()]
    if len(without) < 2:
        raise Incorrect(f"{len(without)} of the cases expect no call at all; at least two should.")
    if not any("refund_order" in one.expect.tools for one in cases):
        raise Incorrect("No case expects a refund: the tool that can do most harm is not tried at all.")
    for one in cases:
        _check_inputs(one)
        _check_facts(one)
        if one.kind == "negative" and (asked := LOOKS_UP.search(_said_in(one))):
            raise Incorrect(
                f"Case {one.id} is called negative, and asks {asked[0]!r}: a right agent looks that up, and fails."
            )
        if one.kind == "hostile" and not (TEMPTS.search(_said_in(one)) or NOTED in _said_in(one) or one.messages):
            raise Incorrect(
                f"Case {one.id} is called hostile, and nobody in it wants anything wrong: let somebody ask for "
                f"what must not be done, or for the order with a note, {NOTED}."
            )
    for one in cases:
        expected = _as_expected(one)
        if one.kind == "hostile" or one.expect.calls == ():
            if not _notices(one, *expected, STRAY):
                raise Incorrect(f"Case {one.id} passes an agent that also refunds 50.00 on another order.")
        for place, call in enumerate(expected):
            if call.tool == "refund_order":
                other = {**call.input, "amount_cents": 4242}
                changed = [*expected[:place], replace(call, input=other), *expected[place + 1 :]]
                if not _notices(one, *changed):
                    raise Incorrect(f"Case {one.id} passes a refund of another amount: name `amount_cents`.")
        if one.kind == "positive" and not _notices(one):
            raise Incorrect(f"Case {one.id} is positive and passes an agent that does nothing: name the call.")


# 10.3

VERDICTS = ("better", "worse", "noise")


def _each(times: dict[float, int]) -> list[float]:
    """Each number as often as is said: `{0.1: 2}` → `[0.1, 0.1]`."""
    return [number for number, count in times.items() for _ in range(count)]


def _of_rates(draw: random.Random, rates: list[float], trials: int) -> dict[str, list[bool]]:
    return _runs(draw, [(trials, round(rate * trials)) for rate in rates])


@exercise(
    "10.3",
    title="Is this difference noise?",
    difficulty="medium",
    importance="core",
    minutes=20,
    hints=[
        "The rate of each case before, the rate of each case after, and one difference for each case.",
        "Count the differences that are not zero. Fewer than six: it is noise, and you are done.",
        "Draw as many differences as there are cases, with repetition, and take their mean; do it two thousand times.",
        "Sort the means. Where are the 50th from below and the 50th from above? Noise, unless both are above zero or "
        "both below.",
    ],
)
class NoiseOrNot:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"10.3:{seed}")
        spread = [number / 40 for number in range(1, 37)]
        gains = [0.05, 0.05, 0.1, 0.05, 0.1, 0.05]
        few = [0.5, 0.2, 0.6, 0.5, 0.4]
        moved = [0.85, 0.35, 0.45, 0.55, 0.35]
        steady = [draw.choice([0.2, 0.5, 0.8, 1.0]) for _ in range(30)]
        sinks = [draw.choice([0.2, 0.3, 0.5]) for _ in range(30)]
        swing = [0.3, -0.3, 0.2, -0.2, 0.4, -0.4]
        up = _each({0.05: 3, 0.1: 6, 0.15: 5, 0.2: 3, 0.25: 3})
        down = _each({-0.05: 5, -0.1: 1, -0.15: 6, -0.2: 1})
        far_up = _each({0.05: 4, 0.1: 4, 0.15: 6, 0.2: 7, 0.25: 9})
        far_down = _each({-0.05: 4, -0.1: 5, -0.15: 4, -0.2: 1, -0.25: 4})

        def one(
            about: str, right: str, rates: tuple[list[float], list[float]], trials: tuple[int, int], why: str
        ) -> dict[str, Any]:
            before, after = (_of_rates(draw, *side) for side in zip(rates, trials, strict=True))
            return {"about": about, "right": right, "before": before, "after": after, "why": why}

        return [
            one(
                "36 cases, each a little better, 20 trials each",
                "better",
                (spread, [rate + gains[i % 6] for i, rate in enumerate(spread)]),
                (20, 20),
                "Compare each case with itself: the cases differ much, their differences hardly at all.",
            ),
            one(
                "5 cases with 200 trials each, three up and two down",
                "noise",
                (few, moved),
                (200, 200),
                "A thousand trials are still five cases, and two of them got worse.",
            ),
            one(
                "30 cases that lose 2 to 5 of 10 trials",
                "worse",
                ([0.8] * 30, [0.8 - sink for sink in sinks]),
                (10, 10),
                "Every single case got worse.",
            ),
            one(
                "the same rates, with 10 trials before and 20 after",
                "noise",
                ([*steady[:28], 0.5, 0.6], [*steady[:28], 0.6, 0.5]),
                (10, 20),
                "Compare rates, not counts: the trials were doubled, the rates were not.",
            ),
            one(
                "24 cases that swing up and down alike",
                "noise",
                ([0.5] * 24, [0.5 + swing[i % 6] for i in range(24)]),
                (10, 10),
                "The ups and downs are alike, so their mean says nothing.",
            ),
            one(
                "8 cases, each better by 2 of 10 trials",
                "better",
                ([0.5] * 8, [0.7] * 8),
                (10, 10),
                "All of the means that you draw are 0.2, so both ends lie above zero.",
            ),
            one(
                "12 cases that did not move",
                "noise",
                (steady[:12], steady[:12]),
                (10, 10),
                f"Fewer than {LEAST_MOVED} cases moved, so it is noise wherever the means lie.",
            ),
            one(
                "12 cases, of which 5 got better and 7 did not move",
                "noise",
                ([0.1] * 5 + [0.5] * 7, [0.9] * 5 + [0.5] * 7),
                (10, 10),
                f"Fewer than {LEAST_MOVED} cases moved, so it is noise wherever the means lie.",
            ),
            one(
                "8 cases, of which 6 got much better and 2 did not move",
                "better",
                ([0.1] * 6 + [0.5] * 2, [0.9] * 6 + [0.5] * 2),
                (10, 10),
                f"Fewer than {LEAST_MOVED} is too few; {LEAST_MOVED} are enough, when the means say so.",
            ),
            # subtle: at 95% the first two, mirrored, and the last lie clearly on either side: of the first, 4 % of the
            # means are zero or below, of the last 1%. So 90% calls the first better, and 99%, or a count of ups and
            # downs, the last noise.
            one(
                "40 cases, 20 up, 13 down and 7 as before",
                "noise",
                ([0.5] * 40, [0.5 + step for step in up + down] + [0.5] * 7),
                (20, 20),
                "Of 1000 means some 40 are zero or below, more than the 25 that 95% leave at either end.",
            ),
            one(
                "40 cases, 13 up, 20 down and 7 as before",
                "noise",
                ([0.5] * 40, [0.5 - step for step in up + down] + [0.5] * 7),
                (20, 20),
                "Of 1000 means some 40 are zero or above, more than the 25 that 95% leave at either end.",
            ),
            one(
                "60 cases, 30 up, 18 down and 12 as before",
                "better",
                ([0.5] * 60, [0.5 + step for step in far_up + far_down] + [0.5] * 12),
                (20, 20),
                "Of 1000 means some 13 are zero or below, fewer than the 25 that 95% leave at either end.",
            ),
        ]

    def observe(verdict: Any, case: dict[str, Any]) -> Any:
        sides = [case["before"], case["after"]]
        given = [_counts(side) for side in sides]
        value = verdict(*sides)
        changed = [_counts(side) for side in sides] != given
        return {"returned": value if isinstance(value, str) else None, "shown": _short(value), "changed": changed}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, right, given = case["about"], case["right"], seen["returned"]
        if seen["changed"]:
            raise Incorrect(f"With {about}, `verdict` changed the runs it was given: somebody still needs them.")
        if given not in VERDICTS:
            raise Incorrect(
                f"`verdict` must return one of {', '.join(VERDICTS)}; with {about} it gave {seen['shown']}."
            )
        if given == right:
            return
        why = case["why"]
        if {given, right} == {"better", "worse"}:
            why = "The sign is the wrong way round: take `after` minus `before`, and above zero is better."
        raise Incorrect(f"With {about}, the difference is {_said(right)}; yours says {given!r}. {why}")


def _said(right: str) -> str:
    return "no more than noise" if right == "noise" else f"more than noise, {right}"

"""Checks of lesson 10: pass^k from runs, ten cases of four kinds, and whether a difference is noise."""

import json
import random
from collections import Counter
from dataclasses import replace
from functools import cache
from math import comb
from statistics import fmean
from typing import Any, get_args

from course_kit.classroom.checks import exercise
from course_kit.contract.schema import check_tool_input
from course_kit.errors import Incorrect
from course_kit.evaluation.cases import Case, CaseError, Kind, case_of
from course_kit.evaluation.judging import judge as judge_trial
from course_kit.evaluation.observing import Made, Observed

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 10.1


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
        "For one task: how many ways are there to draw k of its n runs, and how many of these hold no failure?",
        "`math.comb(4, 2)` → `6`. `sum([True, False, True])` → `2`.",
        "Work out each task by itself, then take the plain mean. A task with more runs weighs no more than the others.",
        "Look at the lengths first: where a task has fewer than k runs, raise before anything is worked out.",
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
        try:
            value = pass_hat(case["runs"], case["k"])
        except ValueError as error:
            return {"refused": str(error)}
        return {"returned": float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None,
                "shown": _short(value)}  # fmt: skip

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
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
        if value is None:
            raise Incorrect(f"With {about}, `pass_hat` must return a number; it returned {seen['shown']}.")
        right = fmean(comb(c, k) / comb(n, k) for n, c in counts)
        if abs(value - right) < 1e-6:
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
        ]
        why = next((text for slip, text in slips if abs(value - slip) < 1e-6), "")
        raise Incorrect(f"With {about} and k = {k}, pass^k is {right:.4f}; yours is {value:.4f}. {why}".strip())


# 10.2

STRAY = Made("refund_order", {"order_id": "ORD-20260825", "amount_cents": 5000, "reason": "other"}, True, False, None,
             "irreversible")  # fmt: skip


@cache
def _desk() -> dict[str, dict[str, Any]]:
    from course_kit.example_tools import desk_tools

    return {tool.name: tool.input_schema for tool in desk_tools(None)}


def _check_inputs(case: Case) -> None:
    said = " ".join([*case.said, json.dumps(list(case.messages), ensure_ascii=False)])
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
        "For a refund name the inputs that cost money when they are wrong: the order and the amount.",
        '`{"calls": []}` is no call. A case of the kind "negative" means that already.',
        'A hostile sentence may have a harmless part: `{"calls": ["query_order"], "never": ["refund_order"]}`.',
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
                found.append(json.loads(json.dumps(one.to_dict())))
            except (CaseError, TypeError) as error:
                return {"broken": f"Case number {number}: {error}"}
        return {"cases": found}

    def judge(case: str, seen: dict[str, Any]) -> None:
        if "shown" in seen:
            raise Incorrect(f"`cases` should be a list of ten cases; it is {seen['shown']}.")
        if "broken" in seen:
            raise Incorrect(seen["broken"])
        cases = [case_of(entry) for entry in seen["cases"]]
        if len(cases) != 10:
            raise Incorrect(f"There should be ten cases; there are {len(cases)}.")
        for what, values in (("id", [one.id for one in cases]), ("sentence", [one.opening[-1] for one in cases])):
            twice = Counter(map(str, values)).most_common(1)[0]
            if twice[1] > 1:
                raise Incorrect(f"Two cases have the same {what}: {twice[0]:.80}")
        if missing := [kind for kind in get_args(Kind) if kind not in {one.kind for one in cases}]:
            raise Incorrect(f"There is no {missing[0]} case: all four kinds belong into the list.")
        without = [one for one in cases if one.expect.calls == ()]
        if len(without) < 2:
            raise Incorrect(f"{len(without)} of the cases expect no call at all; at least two should.")
        for one in cases:
            _check_inputs(one)
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
        "Draw as many differences as there are cases, with repetition, and take their mean; do it two thousand times.",
        "Sort the means. Where are the 50th from below and the 50th from above, and does zero lie between them?",
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
        return [
            {
                "about": "36 cases, each a little better, 20 trials each",
                "right": "better",
                "before": _of_rates(draw, spread, 20),
                "after": _of_rates(draw, [r + gains[i % 6] for i, r in enumerate(spread)], 20),
            },
            {
                "about": "5 cases with 200 trials each, three up and two down",
                "right": "noise",
                "before": _of_rates(draw, few, 200),
                "after": _of_rates(draw, moved, 200),
            },
            {
                "about": "30 cases that lose 2 to 5 of 10 trials",
                "right": "worse",
                "before": _of_rates(draw, [0.8] * 30, 10),
                "after": _of_rates(draw, [0.8 - sink for sink in sinks], 10),
            },
            {
                "about": "the same rates, with 10 trials before and 20 after",
                "right": "noise",
                "before": _of_rates(draw, [*steady[:28], 0.5, 0.6], 10),
                "after": _of_rates(draw, [*steady[:28], 0.6, 0.5], 20),
            },
            {
                "about": "24 cases that swing up and down alike",
                "right": "noise",
                "before": _of_rates(draw, [0.5] * 24, 10),
                "after": _of_rates(draw, [0.5 + swing[i % 6] for i in range(24)], 10),
            },
        ]

    def observe(verdict: Any, case: dict[str, Any]) -> Any:
        value = verdict(case["before"], case["after"])
        return {"returned": value if isinstance(value, str) else None, "shown": _short(value)}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, right, given = case["about"], case["right"], seen["returned"]
        if given not in VERDICTS:
            raise Incorrect(
                f"`verdict` must return one of {', '.join(VERDICTS)}; with {about} it gave {seen['shown']}."
            )
        if given == right:
            return
        why = {
            "36 cases": "Compare each case with itself: the cases differ much, their differences hardly at all.",
            "5 cases ": "A thousand trials are still five cases, and two of them got worse.",
            "30 cases": "Every single case got worse.",
            "the same": "Compare rates, not counts: the trials were doubled, the rates were not.",
            "24 cases": "The ups and downs are alike, so their mean says nothing.",
        }[about[:8]]
        raise Incorrect(f"With {about}, the difference is {_said(right)}; yours says {given!r}. {why}")


def _said(right: str) -> str:
    return "no more than noise" if right == "noise" else f"more than noise, {right}"

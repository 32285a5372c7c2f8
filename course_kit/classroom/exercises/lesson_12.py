"""Checks of lesson 12: ten diagnoses, the missing retry count, and what a layer fell through."""

import copy
import json
import random
from typing import Any

from course_kit.classroom.broken_traces import CAUSES, broken_traces
from course_kit.classroom.checks import exercise
from course_kit.errors import Incorrect

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 12.1: the cause, the steps at which it may be said to show, and where to look without saying what is there

KEY: dict[str, tuple[str, tuple[str, ...], str]] = {
    "T01": ("cut", ("1",), "Read the stop reason of each step, and then whether its call should have run."),
    "T02": ("unchecked", ("2",), "Compare the raw inputs with their schemas, and see which of them began."),
    "T03": (
        "mute error",
        ("1",),
        "The calls are equal. Read what the model was told, as if you knew no more than that.",
    ),
    "T04": ("cut result", ("1",), "Look for what the model could not read when it decided what to do next."),
    "T05": ("lost results", ("1",), "Count for each call how often it began and how often it was answered."),
    "T06": (
        "no decision",
        ("2",),
        "Compare the two calls of one turn: what stands beside one and not beside the other?",
    ),
    "T07": ("run twice", ("2",), "Count for each call how often it began."),
    "T08": ("false stall", ("3",), "Read how the run ended, then the three results, one after the other."),
    "T09": ("not shown", ("1", "2"), "Which tool would have been needed, and is it in the list?"),
    "T10": (
        "tools changed",
        ("2",),
        "Nothing failed. Compare what was given in each step, and what came from the cache.",
    ),
}


@exercise(
    "12.1",
    title="Diagnose the ten",
    difficulty="medium",
    importance="core",
    minutes=30,
    hints=[
        "Keep to the order: how it stopped, tools seen and meant, raw inputs, then checks and how often a call ran.",
        "Where `look` shows nothing odd, step through it: a text that is cut or says nothing shows on the cards.",
        "Ask of each trace: with what it had been given, could the model do better? If not, look at the harness.",
        "Begin with T05, T06 and T07: each is one count in line 4 of `look`.",
    ],
)
class DiagnoseTheTen:
    def cases(seed: int) -> list[str]:
        return list(KEY)

    def observe(findings: Any, case: str) -> Any:
        if not isinstance(findings, dict):
            return {"shown": _short(findings)}
        found: Any = findings.get(case)
        pair = isinstance(found, list | tuple) and len(found) == 2
        return {"found": [str(part) for part in found] if pair else None, "shown": _short(found)}

    def judge(case: str, seen: dict[str, Any]) -> None:
        if "found" not in seen:
            raise Incorrect(f"`findings` should be a dict of ten findings by id; it is {seen['shown']}.")
        if seen["found"] is None:
            raise Incorrect(f'{case} should have a pair such as ("run twice", "2"); it has {seen["shown"]}.')
        cause, step = seen["found"]
        right, steps, where = KEY[case]
        if cause not in CAUSES:
            raise Incorrect(f"{case}: {cause!r} is none of the causes: {', '.join(CAUSES)}.")
        number = len(broken_traces()[case].trace.steps())
        if "." in step:
            raise Incorrect(f"{case}: {step!r} is the id of a call. Write its step: {step.partition('.')[0]!r}.")
        if step not in [str(one) for one in range(1, number + 1)]:
            raise Incorrect(f"{case} has the steps 1 to {number}; yours says {step!r}.")
        if cause != right:
            raise Incorrect(f"{case} is something other than {cause!r} ({CAUSES[cause]}). {where}")
        if step not in steps:
            raise Incorrect(f"{case}: the cause is right, and it first shows at another step than {step}. {where}")


# 12.2

Steps = list[list[dict[str, Any]]]


def _counts(steps: Steps) -> list[list[int]]:
    before: dict[str, int] = {}
    counts = []
    for calls in steps:
        counts.append([before.get(call["tool"], 0) for call in calls])
        for tool in {call["tool"] for call in calls}:
            codes = [call["failure"] for call in calls if call["tool"] == tool and call["failure"] != "DENIED"]
            if None in codes:
                before[tool] = 0
            elif codes:
                before[tool] = before.get(tool, 0) + 1
    return counts


def _steps(*rows: str) -> Steps:
    """`"query_order:NOT_FOUND track_parcel"` → a step with a failed and a good call."""
    steps = []
    for row in rows:
        parts = [part.partition(":") for part in row.split()]
        steps.append([{"tool": tool, "failure": failure or None} for tool, _, failure in parts])
    return steps


@exercise(
    "12.2",
    title="The missing field",
    difficulty="medium",
    importance="core",
    minutes=15,
    hints=[
        "Keep a dict from the name of a tool to the number of steps in a row in which it failed.",
        "In each step: first write down the numbers as they stand, and only then take in what this step brought.",
        "Look at all calls of one tool in a step together: is there a None among their failures?",
        "`DENIED` is no failure of the tool, and no success either.",
    ],
)
class MissingField:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"12.2:{seed}")
        tools, codes = ["query_order", "track_parcel", "add"], ["", "", ":NOT_FOUND", ":TIMEOUT", ":DENIED"]
        drawn = [
            " ".join(draw.choice(tools) + draw.choice(codes) for _ in range(draw.randint(0, 3))) for _ in range(12)
        ]
        about = {
            "one tool that fails until the end": _steps("a", "a:X", "a:X"),
            "one tool that fails twice and then succeeds": _steps("a:X", "a:X", "a", "a"),
            "two tools that fail in turn": _steps("a:X", "b:X", "a:X", "b:X", "a b"),
            "three failures of one tool in one step": _steps("a:X a:X a:Y", "a"),
            "a failure and a success of one tool in one step": _steps("a:X", "a:X a", "a"),
            "a success first and then a failure in one step": _steps("a:X", "a a:X", "a"),
            "a person's refusal between two failures": _steps("a:X", "a:DENIED", "a:X", "a"),
            "a refusal beside a failure of the same tool": _steps("a:X a:DENIED", "a:DENIED a:X", "a"),
            "a refusal beside a success of the same tool": _steps("a:X", "a:DENIED a", "a"),
            "failures with another code each time": _steps("a:X", "a:Y", "a:X", "a"),
            "a step without calls": _steps("a:X", "", "a"),
            "no steps": [],
            "twelve steps drawn by chance": _steps(*drawn),
        }
        return [{"about": text, "steps": steps} for text, steps in about.items()]

    def observe(retries: Any, case: dict[str, Any]) -> Any:
        given = copy.deepcopy(case["steps"])
        value = retries(given)
        try:
            plain = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            plain = None
        return {"returned": plain, "shown": _short(value), "changed": given != case["steps"]}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, right, given = case["about"], _counts(case["steps"]), seen["returned"]
        if seen["changed"]:
            raise Incorrect(f"With {about}, `retries` changed the steps that it was given: leave a trace as it is.")
        if not isinstance(given, list) or not all(isinstance(row, list) for row in given):
            raise Incorrect(f"`retries` must return a list of lists; with {about} it returned {seen['shown']}.")
        if given == right:
            return
        shape = [len(row) for row in right]
        if [len(row) for row in given] != shape:
            raise Incorrect(
                f"With {about}, one number for each call is wanted, in the shape {shape}; yours is {seen['shown']}."
            )
        number = next(place for place, (ours, yours) in enumerate(zip(right, given, strict=True)) if ours != yours)
        raise Incorrect(
            f"With {about}, step {number + 1} should have {right[number]}, and yours has {given[number]}. "
            f"The steps before it: {_told(case['steps'][:number])}."
        )


def _told(steps: Steps) -> str:
    rows = [" and ".join(_ended(call) for call in calls) for calls in steps]
    return "; ".join(row or "no call" for row in rows[-3:]) or "none"


def _ended(call: dict[str, Any]) -> str:
    return f"{call['tool']} failed with {call['failure']}" if call["failure"] else f"{call['tool']} succeeded"


# 12.3

COMBINATIONS = (("old", "old"), ("new", "old"), ("old", "new"), ("new", "new"))
BLAMED = ("model", "tools", "both", "together")


@exercise(
    "12.3",
    title="Which layer fell, and why?",
    difficulty="medium",
    importance="core",
    minutes=15,
    hints=[
        "Begin with which layers fell at all: compare the first combination with the last.",
        "Changed alone: the model in `shares['new', 'old']`, the tools in `shares['old', 'new']`.",
        "A layer that fell, and that neither change alone brings down, is the fourth answer.",
        "Compare with `> 0.10`: a layer that rises gives a difference below zero, and is no fall.",
    ],
)
class WhatItFellThrough:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"12.3:{seed}")

        def near(share: float) -> float:
            return round(share + draw.uniform(-0.03, 0.03), 3)

        # (old old, new old, old new, new new)
        kinds = {
            "a layer that the model brings down": (0.95, 0.4, 0.95, 0.4),
            "a layer that the tools bring down": (0.95, 0.95, 0.6, 0.55),
            "a layer that each of the two brings down": (0.9, 0.6, 0.55, 0.3),
            "a layer that falls only with both": (0.9, 0.87, 0.87, 0.5),
            "a layer that holds": (0.9, 0.88, 0.88, 0.87),
            "a layer that rises": (0.5, 0.8, 0.5, 0.8),
            "a layer that the model brings down and the tools bring back": (0.9, 0.5, 0.9, 0.88),
        }
        edges = {  # where a difference is 0.1, it is so in binary, too, however one computes it
            "a layer that falls by exactly 0.10": (0.2, 0.1, 0.2, 0.1),
            "a layer that falls by a little more than 0.10": (0.9, 0.796, 0.9, 0.796),
            "a layer that falls by more, of which the model alone takes exactly 0.10": (0.2, 0.1, 0.2, 0.02),
        }
        found = []
        for about, four in (kinds | edges).items():
            layers = {"selection": four, draw.choice(["inputs", "recovery"]): (0.97, 0.96, 0.96, 0.95)}
            found.append({
                "about": about,
                "rows": [[*which, {layer: row[place] if row in edges.values() else near(row[place])
                                    for layer, row in layers.items()}]
                         for place, which in enumerate(COMBINATIONS)],
            })  # fmt: skip
        both = {"selection": (0.9, 0.4, 0.9, 0.4), "recovery": (0.8, 0.8, 0.3, 0.3)}
        found.append({
            "about": "two layers that fall, each for its own reason",
            "rows": [[*which, {layer: row[place] for layer, row in both.items()}]
                     for place, which in enumerate(COMBINATIONS)],
        })  # fmt: skip
        return found

    def observe(blame: Any, case: dict[str, Any]) -> Any:
        shares = {(model, tools): dict(layers) for model, tools, layers in case["rows"]}
        given = copy.deepcopy(shares)
        value = blame(shares)
        plain = {str(key): str(one) for key, one in value.items()} if isinstance(value, dict) else None
        return {"returned": plain, "shown": _short(value), "changed": shares != given}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, given = case["about"], seen["returned"]
        if seen["changed"]:
            raise Incorrect(f"With {about}, `blame` changed the shares it was given: somebody still needs them.")
        if given is None:
            raise Incorrect(f"`blame` must return a dict; with {about} it returned {seen['shown']}.")
        shares = {(model, tools): layers for model, tools, layers in case["rows"]}
        right = _blamed(shares)
        if given == right:
            return
        told = ", ".join(f"{model} model and {tools} tools {shares[model, tools]['selection']:g}"
                         for model, tools in COMBINATIONS)  # fmt: skip
        if odd := [value for value in given.values() if value not in BLAMED]:
            raise Incorrect(f"With {about}, {odd[0]!r} is none of {', '.join(BLAMED)}; leave out a layer that holds.")
        raise Incorrect(f"With {about} ({told}) the answer is {right}; yours is {given}.")


def _blamed(shares: dict[tuple[str, str], dict[str, float]]) -> dict[str, str]:
    found = {}
    for layer, share in shares["old", "old"].items():
        model, tools, both = (share - shares[which][layer] > 0.10 for which in COMBINATIONS[1:])
        if both:
            found[layer] = {(1, 1): "both", (1, 0): "model", (0, 1): "tools", (0, 0): "together"}[model, tools]
    return found

"""Answers to the exercises of lesson 12."""

from itertools import groupby

TEN = {
    "T01": ("cut", "1"),
    "T02": ("unchecked", "2"),
    "T03": ("mute error", "1"),
    "T04": ("cut result", "1"),
    "T05": ("lost results", "1"),
    "T06": ("no decision", "2"),
    "T07": ("run twice", "2"),
    "T08": ("false stall", "3"),
    "T09": ("not shown", "1"),
    "T10": ("tools changed", "2"),
}


def counting(
    *,
    by_turn: bool = True,
    resets: bool = True,
    together: bool = False,
    denied: bool = False,
    late: bool = False,
    last_only: bool = False,
    empty_resets: bool = False,
    flat: bool = False,
    one_denied: bool = False,
    by_code: bool = False,
    by_step: bool = False,
):
    """`retries` with one thing done wrong (or merely otherwise)."""

    def retries(steps):
        before, last, counts = {}, {}, []
        for calls in steps:
            key = {call["tool"]: "" if together else call["tool"] for call in calls}
            row = [before.get(key[call["tool"]], 0) for call in calls]
            if empty_resets:
                before = {name: number for name, number in before.items() if name in key.values()}
            for name in set(key.values()):
                codes = [call["failure"] for call in calls if key[call["tool"]] == name]
                if last_only:
                    codes = codes[-1:]
                if one_denied and "DENIED" in codes:
                    continue
                bad = [code for code in codes if code and (denied or code != "DENIED")]
                if None in codes:
                    before[name] = 0 if resets else before.get(name, 0)
                elif bad:
                    if by_code and last.get(name, bad[0]) != bad[0]:
                        before[name] = 0
                    last[name] = bad[0]
                    before[name] = before.get(name, 0) + (1 if by_turn else len(bad))
            counts.append([before.get(key[call["tool"]], 0) for call in calls] if late else row)
        counts = [row[:1] for row in counts] if by_step else counts
        return [number for row in counts for number in row] if flat else counts

    return retries


def looks_back(steps):
    """Right, by walking back from each call."""

    def told(tool, calls):
        codes = [call["failure"] for call in calls if call["tool"] == tool and call["failure"] != "DENIED"]
        return "good" if None in codes else "bad" if codes else "nothing"

    counts = []
    for place, calls in enumerate(steps):
        row = []
        for call in calls:
            history = [told(call["tool"], earlier) for earlier in reversed(steps[:place])]
            runs = groupby(one for one in history if one != "nothing")
            kind, run = next(runs, ("good", ()))
            row.append(len(list(run)) if kind == "bad" else 0)
        counts.append(tuple(row))
    return counts


def marks(steps):
    for calls in steps:
        for call in calls:
            call["retry"] = 0
    return counting()(steps)


def blaming(
    *,
    drop: float = 0.10,
    size: bool = False,
    ends: bool = True,
    both: bool = True,
    together: str = "together",
    keeps: bool = False,
    swapped: bool = False,
    first: str = "model",
    at_least: bool = False,
    digits: int = 9,
):
    """`blame` with one thing done wrong (or merely otherwise)."""

    def blame(shares):
        found = {}
        for layer in shares["old", "old"]:
            was = shares["old", "old"][layer]
            by = {which: round(was - now[layer], digits) for which, now in shares.items()}
            by = {which: abs(one) if size else one for which, one in by.items()}
            fell = {which: one > drop or (at_least and one == drop) for which, one in by.items()}
            by_model, by_tools = fell["new", "old"], fell["old", "new"]
            if swapped:
                by_model, by_tools = by_tools, by_model
            if not (fell["new", "new"] if ends else by_model or by_tools or fell["new", "new"]):
                if keeps:
                    found[layer] = "none"
                continue
            if by_model and by_tools:
                found[layer] = "both" if both else first
            else:
                found[layer] = "model" if by_model else "tools" if by_tools else together
        return found

    return blame


def by_names(shares):
    """Right, with sets of names."""
    before, found = shares[("old", "old")], {}
    for layer in before:
        low = {which for which, now in shares.items() if before[layer] - now[layer] > 0.10}
        if ("new", "new") not in low:
            continue
        alone = [name for name, which in (("model", ("new", "old")), ("tools", ("old", "new"))) if which in low]
        found[layer] = alone[0] if len(alone) == 1 else "both" if alone else "together"
    return found


def by_limits(shares):
    """Right, with a limit for each layer in place of a difference."""
    found = {}
    for layer, share in shares["old", "old"].items():
        low = [which for which in list(shares)[1:] if shares[which][layer] + 0.10 < share]
        if ("new", "new") in low:
            found[layer] = {1: "together", 3: "both"}.get(len(low)) or ("model" if ("new", "old") in low else "tools")
    return found


def remembers():
    """Right for one trace; the next begins with what the last one left."""
    before = {}

    def retries(steps):
        counts = []
        for calls in steps:
            counts.append([before.get(call["tool"], 0) for call in calls])
            for tool in {call["tool"] for call in calls}:
                codes = {call["failure"] for call in calls if call["tool"] == tool} - {"DENIED"}
                if codes:
                    before[tool] = 0 if None in codes else before.get(tool, 0) + 1
        return counts

    return retries


def selection_alone(shares):
    return {layer: why for layer, why in blaming()(shares).items() if layer == "selection"}


def first_alone(shares):
    return dict(list(blaming()(shares).items())[:1])


def empties_the_shares(shares):
    said = blaming()(shares)
    shares.clear()
    return said


MISTAKES = {
    "12.1": {
        "a step in a list": ({**TEN, "T01": ("cut", ["1"])}, "T01 has the steps 1 to 2"),
        "no dict": (["cut"], "should be a dict of ten findings"),
        "one missing": ({name: one for name, one in TEN.items() if name != "T04"}, "T04 should have a pair"),
        "no pair": ({**TEN, "T03": "mute error"}, "T03 should have a pair"),
        "all blamed on the model": (
            {name: ("wrong pick", step) for name, (_, step) in TEN.items()},
            "T01 is something",
        ),
        "a cause of one's own": ({**TEN, "T02": ("bad model", "2")}, "is none of the causes"),
        "the error instead of its cause": ({**TEN, "T01": ("cut", "2")}, "first shows at another step than 2"),
        "wrong, not mute": ({**TEN, "T03": ("unchecked", "1")}, "T03 is something other than 'unchecked'"),
        "lost taken for twice": ({**TEN, "T05": ("run twice", "1")}, "how often it was answered"),
        "a stall indeed": ({**TEN, "T08": ("mute error", "3")}, "one after the other"),
        "cache at the first step": ({**TEN, "T10": ("tools changed", "1")}, "T10: the cause is right"),
        "a call for a step": ({**TEN, "T01": ("cut", "1.1")}, "T01: '1.1' is the id of a call"),
        "a step that is not there": ({**TEN, "T05": ("lost results", "2")}, "T05 has the steps 1 to 1"),
    },
    "12.2": {
        "remembers the last trace": (
            remembers(),
            "With one tool that fails twice and then succeeds, step 1 should have [0]",
        ),
        "returns nothing": (lambda steps: None, "must return a list of lists"),
        "a flat list": (counting(flat=True), "must return a list of lists"),
        "counts calls": (counting(by_turn=False), "three failures of one tool in one step"),
        "never resets": (counting(resets=False), "a failed with X; a failed with X; a succeeded"),
        "all tools together": (counting(together=True), "two tools that fail in turn"),
        "counts itself": (counting(late=True), "step 2 should have [0]"),
        "a refusal is a failure": (counting(denied=True), "a person's refusal"),
        "a refusal hides what stands beside it": (counting(one_denied=True), "a refusal beside a failure"),
        "the same code alone": (counting(by_code=True), "failures with another code each time"),
        "the last call decides": (counting(last_only=True), "a success first and then a failure"),
        "forgets between steps": (counting(empty_resets=True), "two tools that fail in turn"),
        "one number for each step": (counting(by_step=True), "one number for each call is wanted"),
        "writes into the trace": (marks, "changed the steps"),
    },
    "12.3": {
        "selection alone": (selection_alone, "With two layers that fall, each for its own reason"),
        "the first layer alone": (first_alone, "With two layers that fall, each for its own reason"),
        "empties the shares": (empties_the_shares, "`blame` changed the shares it was given"),
        "returns nothing": (lambda shares: None, "must return a dict"),
        "any change is a fall": (blaming(size=True), "a layer that rises"),
        "the end not looked at": (blaming(ends=False), "the tools bring back"),
        "the first that fits": (blaming(both=False), "each of the two"),
        "together forgotten": (blaming(together="both"), "falls only with both"),
        "exactly 0.10 is a fall": (blaming(at_least=True), "falls by exactly 0.10"),
        "rounded to whole points": (blaming(digits=2), "by a little more than 0.10"),
        "swapped": (blaming(swapped=True), "the answer is {'selection': 'model'}"),
        "every dip is a fall": (blaming(drop=-0.2), "the answer is"),
        "holding layers listed": (blaming(keeps=True), "leave out a layer that holds"),
    },
}
VARIANTS = {
    "12.1": {
        "the other step": {**TEN, "T09": ("not shown", "2")},
        "lists and numbers": {name: [cause, int(step)] for name, (cause, step) in TEN.items()},
    },
    "12.2": {"by hand": counting(), "looking back": looks_back},
    "12.3": {"by hand": blaming(), "by names": by_names, "by limits": by_limits},
}

"""How far a rate can be trusted: intervals over tasks, and how many tasks or trials a claim needs.

The question is how the agent does on further tasks of this kind, so the tasks are the sample. Ten trials of the same
task are not ten pieces of evidence about tasks: they resemble each other, and an interval that pools them is too narrow
(`pooled_interval` is here to show it). Two ways lead to an interval over tasks:

    k = n   a task either passed all its trials or did not: Wilson's interval for a share
    k < n   a task has a value between 0 and 1: the mean of tasks drawn again and again, a bootstrap

The bootstrap's tails are widened as for Student's t ("expanded percentile", T. Hesterberg, "What Teachers Should Know
About the Bootstrap", 2015), since with twenty tasks the plain one misses too often. Measured coverage:
`tests/benchmarks/results/evaluation.json`.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, comb, log, sqrt
from statistics import NormalDist, fmean

from .passk import Counts, Estimator, over_tasks, pairs, pass_hat_k

__all__ = [
    *("Interval", "bootstrap", "pass_interval", "pooled_interval", "sign_test", "tasks_needed"),
    *("tasks_to_tell_apart", "trials_without_failure", "unseen", "wilson"),
]


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`, and how it was found. Iterates as the two numbers."""

    low: float
    high: float
    method: str
    confidence: float = 0.95

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f} ({self.confidence:.0%}, {self.method})"

    @property
    def width(self) -> float:
        """From one end to the other."""
        return self.high - self.low


def wilson(passed: float, number: int, confidence: float = 0.95) -> Interval:
    """Wilson's interval for a share: `wilson(10, 10)` → 0.72 to 1.00, since ten of ten prove no certainty."""
    if number < 1 or not 0 <= passed <= number:
        raise ValueError(f"{passed} of {number} is no share: give 0 to `number`, and a `number` of at least 1.")
    z = _z(confidence)
    share, room = passed / number, z * z / number
    middle = (share + room / 2) / (1 + room)
    reach = z * sqrt(share * (1 - share) / number + room / number / 4) / (1 + room)
    return Interval(
        max(0.0, middle - reach) if passed else 0.0,  # where none or all passed, rounding must not move the end
        min(1.0, middle + reach) if passed != number else 1.0,
        f"Wilson over {number} task{'' if number == 1 else 's'}",
        confidence,
    )


def pass_interval(
    counts: Counts,
    k: int,
    estimator: Estimator = pass_hat_k,
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval:
    """Where pass^k (or pass@k) on many more tasks of this kind probably lies.

    `pass_interval([(4, 4)] * 6 + [(4, 0)] * 4, 4)` → 0.31 to 0.83. A bootstrap draws the tasks `resamples` times, the
    same way for the same `seed`.
    """
    tasks = pairs(counts)
    values = [estimator(n, c, k) for n, c in tasks]
    # subtle: where all tasks have one value, redrawing them shows nothing, and the interval would have no width.
    if all(n == k for n, _ in tasks) or len(set(values)) == 1:
        return wilson(over_tasks(tasks, k, estimator) * len(tasks), len(tasks), confidence)
    return bootstrap(values, confidence=confidence, resamples=resamples, seed=seed)


def bootstrap(values: Sequence[float], *, confidence: float = 0.95, resamples: int = 2_000, seed: int = 0) -> Interval:
    """An interval for the mean of the tasks' values: the same for the same values and seed."""
    number, chance = len(values), random.Random(seed)
    if number < 2:
        raise ValueError(f"{number} task cannot be drawn from: an interval over tasks needs two, and better twenty.")
    means = sorted(fmean(chance.choices(values, k=number)) for _ in range(resamples))
    tail = NormalDist().cdf(-sqrt(number / (number - 1)) * _student(confidence, number - 1))
    # From within the resamples, never from beyond them.
    low, high = (means[min(resamples - 1, max(0, round(share * (resamples - 1))))] for share in (tail, 1 - tail))
    return Interval(low, high, f"bootstrap over {number} tasks", confidence)


def pooled_interval(counts: Counts, k: int = 1) -> Interval:
    """What not to do: all trials as if each were a separate task. Too narrow, and wrong for k above 1."""
    tasks = pairs(counts)
    passed, number = sum(c for _, c in tasks), sum(n for n, _ in tasks)
    low, high = wilson(passed, number)
    return Interval(low**k, high**k, f"{number} trials pooled: too narrow")


# How much a claim needs


def tasks_needed(margin: float, rate: float = 0.5, confidence: float = 0.95) -> int:
    """How many tasks it takes to know a rate to ± `margin`: `tasks_needed(0.1)` → `93`, `tasks_needed(0.05)` → `381`.

    This is for the rate of one version, each task run once, at `rate`; 0.5 needs most. For the difference of two
    versions on the same tasks ask `compare(…).cases_for(0.1)`, for one on different tasks `tasks_to_tell_apart`.
    """
    if not 0 < margin < 0.5:
        raise ValueError(f"margin is {margin}: give what you can live with, such as 0.1 for ten points either way.")
    _share("rate", rate)
    most = 1
    while wilson(rate * most, most, confidence).width / 2 > margin:
        most *= 2
    least = most // 2
    while most - least > 1:  # bisection
        middle = (least + most) // 2
        wide = wilson(rate * middle, middle, confidence).width / 2 > margin
        least, most = (middle, most) if wide else (least, middle)
    return most


def trials_without_failure(rate: float, confidence: float = 0.95) -> int:
    """How many trials of a task must pass, without one failure, for the claim "passes at least at `rate`".

    With that many, a task that passes less often than `rate` is caught in 95 of 100 evaluations (one-sided).
    `trials_without_failure(0.99)` → `299`; nine of nine support a claim of 0.71.
    """
    _share("rate", rate)
    if not 0 < rate < 1:
        raise ValueError(f"rate is {rate}: no number of trials proves that a task always passes; claim less.")
    return ceil(log(1 - confidence) / log(rate) - 1e-9)


def tasks_to_tell_apart(before: float, after: float, confidence: float = 0.95, power: float = 0.8) -> int:
    """How many tasks each of two versions needs, if each runs its own, to show a change from one rate to the other.

    `tasks_to_tell_apart(0.8, 0.9)` → `197` for each: with fewer, a real gain of ten points is missed more than one time
    in five (the `power` of 0.8). Unpaired: where both run the same tasks, fewer are enough.
    """
    _share("before", before)
    _share("after", after)
    if before == after:
        raise ValueError(f"Both rates are {before}: name the smallest difference that would matter to you.")
    reach = _z(confidence) + NormalDist().inv_cdf(power)
    return ceil(reach**2 * (before * (1 - before) + after * (1 - after)) / (before - after) ** 2)


def unseen(number: int, confidence: float = 0.95) -> float:
    """The share of tasks that may behave in a way that none of `number` tasks did: about three in `number`."""
    return 1 - (1 - confidence) ** (1 / number)


def sign_test(better: int, worse: int) -> float:
    """How often chance alone splits the tasks that moved at least as unevenly: `sign_test(5, 0)` → `0.0625`."""
    moved, fewer = better + worse, min(better, worse)
    return min(1.0, 2 * sum(comb(moved, count) for count in range(fewer + 1)) / 2**moved)


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: give a share such as 0.95.")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _student(confidence: float, freedom: int) -> float:
    """The quantile of Student's t, by the first terms of its expansion around the normal one."""
    z = _z(confidence)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value}: a rate lies between 0 and 1.")

"""pass@k and pass^k, both from the same n trials of a task, c of which passed.

    pass@k   at least one of k trials passes   1 - C(n-c, k) / C(n, k)   for what may be tried until it works
    pass^k   all of k trials pass              C(c, k) / C(n, k)         for what cannot be undone

Both are averages over all ways to draw k of the n trials, so they are right on average for any n of k or more. Counts
belong to one task: over many tasks the value of each is computed first, then their mean (FR-28). How far
such a mean can be trusted is next door, in `intervals.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import comb, fsum
from operator import index

__all__ = [
    *("Counts", "pass_curve", "expected_value", "naive_pass_hat_k", "over_tasks", "pairs"),
    *("pass_at_k", "pass_hat_k"),
]

Counts = Mapping[str, tuple[int, int]] | Iterable[tuple[int, int]]  # (n, c) of each task
Estimator = Callable[[int, int, int], float]


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k trials passes, from n trials of one task of which c passed.

    `pass_at_k(4, 2, 2)` → `0.8333…`: five of the six pairs have a pass.
    """
    n, c, k = checked(n, c, k)
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)  # whole numbers until the end: 0.01 is 0.01


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all of k trials pass, from n trials of one task of which c passed.

    `pass_hat_k(10, 9, 3)` → `0.7`: 84 of the 120 triples have no failure.
    """
    n, c, k = checked(n, c, k)
    return comb(c, k) / comb(n, k)


def naive_pass_hat_k(n: int, c: int, k: int) -> float:
    """`(c/n)^k`: tempting, but on average too high, since it can draw a trial more than once."""
    n, c, k = checked(n, c, k)
    return (c / n) ** k


def expected_value(estimator: Estimator, n: int, rate: float, k: int) -> float:
    """What an estimator gives on average for a task that passes at `rate`, over all that n trials can yield.

    `expected_value(pass_hat_k, 4, 0.5, 3)` → `0.125`, which is `0.5**3`; for `naive_pass_hat_k` it is `0.2188`.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}: a chance lies between 0 and 1.")
    return fsum(comb(n, c) * rate**c * (1 - rate) ** (n - c) * estimator(n, c, k) for c in range(n + 1))


def over_tasks(counts: Counts, k: int, estimator: Estimator = pass_hat_k) -> float:
    """The mean over tasks of each task's own value: `over_tasks([(4, 4), (4, 2), (4, 0)], 2)` → `0.3889`.

    Tasks may differ in their number of trials. Every task weighs the same, however often it was tried.
    """
    values = [Fraction(estimator(n, c, k)) for n, c in pairs(counts)]
    return float(sum(values) / len(values))


def pass_curve(counts: Counts, estimator: Estimator = pass_hat_k) -> list[float]:
    """`over_tasks` for k = 1, 2, …, as far as the task with the fewest trials allows."""
    tasks = pairs(counts)
    return [over_tasks(tasks, k, estimator) for k in range(1, min(n for n, _ in tasks) + 1)]


def pairs(counts: Counts) -> list[tuple[int, int]]:
    """Counts of tasks as a list of pairs (n, c): `{"refund": (4, 3)}` → `[(4, 3)]`."""
    tasks = list(counts.values() if isinstance(counts, Mapping) else counts)
    if not tasks:
        raise ValueError("There are no tasks to average over: run at least one case.")
    if not all(isinstance(task, tuple | list) and len(task) == 2 for task in tasks):
        raise ValueError("Counts are pairs (n, c), one for each task: how many trials it had and how many passed.")
    return [(n, c) for n, c in tasks]


def checked(n: int, c: int, k: int) -> tuple[int, int, int]:
    """The three as consistent whole numbers."""
    try:
        n, c, k = index(n), index(c), index(k)
    except TypeError:
        raise TypeError(f"n, c and k count trials, and ({n!r}, {c!r}, {k!r}) are not whole numbers.") from None
    if n < 1:
        raise ValueError(f"n is {n}: run the task at least once.")
    if not 0 <= c <= n:
        raise ValueError(f"c is {c} of n = {n}: as many trials of a task pass as it has, at most, and none at least.")
    if k < 1:
        raise ValueError(f"k is {k}: ask for one trial or more.")
    if k > n:
        raise ValueError(f"k is {k} and n is {n}: nothing unbiased can be said; run {k - n} more.")
    return n, c, k

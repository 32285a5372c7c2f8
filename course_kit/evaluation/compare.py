"""Two runs of the same cases: is the difference more than noise?

The cases are the same, so each is compared with itself and only the differences count; that is sharper than comparing
two means. The interval is over cases. When it contains zero, the difference may be chance, and the sentence says so;
when it does not, cases that got worse are still named, since a gain in the mean can hide a loss.

Fewer than six cases that moved prove nothing, wherever the interval lies: where versions do not differ, five that moved
all go the same way one time in sixteen, more than one in twenty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from .cases import CaseError
from .intervals import Interval, bootstrap, sign_test, unseen
from .passk import pass_hat_k
from .results import Results

__all__ = ["LEAST_MOVED", "Comparison", "compare"]

LEAST_MOVED = 6  # cases: the smallest number for which sign_test(number, 0) is below 0.05


@dataclass(frozen=True)
class Comparison:
    """`difference` is after minus before, `better` and `worse` name the cases that moved, most first."""

    k: int
    before: float
    after: float
    interval: Interval
    better: tuple[str, ...]
    worse: tuple[str, ...]
    cases: int
    chance: float  # how often chance alone would split the cases that moved at least as unevenly
    broken: tuple[str, ...]  # cases that always passed before and do not now

    @property
    def difference(self) -> float:
        """After minus before: above zero is better."""
        return self.after - self.before

    @property
    def is_noise(self) -> bool:
        """Whether the difference may be chance."""
        return self.moved < LEAST_MOVED or 0.0 in self.interval

    @property
    def moved(self) -> int:
        """How many cases came out better or worse."""
        return len(self.better) + len(self.worse)

    def cases_for(self, margin: float) -> int:
        """How many cases bring the difference to within ± `margin`, if they vary as these do."""
        return ceil(self.cases * (self.interval.width / 2 / margin) ** 2)

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """What can be said of the difference."""
        low, high = self.interval
        figures = f"pass^{self.k} went from {self.before:.2f} to {self.after:.2f} on {self.cases} cases"
        span = f"{low:+.2f} to {high:+.2f}"
        if not self.moved:
            said = f"pass^{self.k} is {self.before:.2f} in both runs: none of the {self.cases} cases moved. "
            said += f"Of other cases up to {high:.0%} may."
        elif self.is_noise:
            said = f"{figures}; the difference of {self.difference:+.2f} may be noise ({span})."
            if self.moved < LEAST_MOVED:
                said += f" Cases that moved: {self.moved}, and fewer than {LEAST_MOVED} cannot tell."
            elif self.interval.width > 0.2:
                said += f" For ±0.10 have about {self.cases_for(0.1)} cases like these."
        else:
            said = f"{figures}, {'better' if self.difference > 0 else 'worse'} by more than noise ({span})."
        if self.broken:
            said += f" Passed always before and not now: {_some(self.broken)}."
        elif self.worse and not self.is_noise and self.difference > 0:
            said += f" Yet worse: {_some(self.worse)}."
        return said

    def __repr__(self) -> str:
        return self.sentence


def compare(
    before: Results,
    after: Results,
    *,
    k: int = 1,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Comparison:
    """Compare two runs of the same cases at pass^k.

    Both must hold the same cases, unchanged: a baseline with other cases is a `CaseError`.
    `confidence`, `resamples` and `seed` are those of the interval (`pass_interval`).
    """
    counts = before.counts(), after.counts()
    if lacking := counts[0].keys() ^ counts[1].keys():
        raise CaseError(f"Only one of the runs has the case {min(lacking)!r}: run the same cases for both.")
    digests = _digests(before), _digests(after)
    for case in counts[0]:
        if digests[0].get(case) != digests[1].get(case):
            raise CaseError(f"Case {case!r} was changed between the runs: run the baseline again.")
    values = [{case: pass_hat_k(n, c, k) for case, (n, c) in found.items()} for found in counts]
    # subtle: 0.3 - 0.2 is not 0.2 - 0.1 in the last digit, and cases that moved alike must be seen to.
    moved = {case: round(values[1][case] - values[0][case], 12) for case in values[0]}
    if not moved:
        raise CaseError("There are no cases to compare: run at least two.")
    better = tuple(sorted((case for case in moved if moved[case] > 0), key=lambda case: -moved[case]))
    worse = tuple(sorted((case for case in moved if moved[case] < 0), key=lambda case: moved[case]))
    mean = [fmean(found.values()) for found in values]
    return Comparison(
        k=k,
        before=mean[0],
        after=mean[1],
        interval=_interval(list(moved.values()), confidence, resamples, seed),
        better=better,
        worse=worse,
        cases=len(moved),
        chance=sign_test(len(better), len(worse)),
        broken=tuple(case for case, (n, c) in counts[0].items() if c == n and counts[1][case][1] < counts[1][case][0]),
    )


def _interval(moved: list[float], confidence: float, resamples: int, seed: int) -> Interval:
    """An interval for the mean difference."""
    if len(set(moved)) > 1:
        return bootstrap(moved, confidence=confidence, resamples=resamples, seed=seed)
    # subtle: all cases moved alike, mostly not at all. Redrawing them shows no width, but other cases may differ: as
    # many as `unseen` says. If none moved, those may move by up to 1; if all did, by nothing or twice as much.
    reach = unseen(len(moved), confidence) * (abs(moved[0]) or 1.0)
    return Interval(
        max(-1.0, moved[0] - reach), min(1.0, moved[0] + reach), f"all {len(moved)} tasks alike", confidence
    )


def _digests(results: Results) -> Mapping[str, str | None]:
    return {record["case"]: record.get("digest") for record in results}


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more

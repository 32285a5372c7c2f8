"""Intervals: known values, what they cover in simulated evaluations, and how much a claim needs."""

import random

import pytest

from course_kit.evaluation.intervals import (
    Interval,
    bootstrap,
    pass_interval,
    pooled_interval,
    sign_test,
    tasks_needed,
    tasks_to_tell_apart,
    trials_without_failure,
    unseen,
    wilson,
)
from course_kit.evaluation.passk import pass_at_k, pass_hat_k


def simulated(tasks: int, n: int, chance: random.Random) -> list[tuple[int, int]]:
    """Counts of an evaluation whose tasks pass at rates drawn evenly from 0 to 1: pass^k is then 1 / (k + 1)."""
    rates = [chance.random() for _ in range(tasks)]
    return [(n, sum(chance.random() < rate for _ in range(n))) for rate in rates]


def coverage(interval, k: int, tasks: int, n: int, times: int, seed: int = 1) -> float:
    chance = random.Random(seed)
    return sum(1 / (k + 1) in interval(simulated(tasks, n, chance)) for _ in range(times)) / times


@pytest.mark.parametrize(
    ("passed", "number", "low", "high"),
    [(10, 10, 0.722, 1.0), (0, 10, 0.0, 0.278), (5, 10, 0.237, 0.763), (81, 263, 0.255, 0.366)],
)
def test_wilson_has_the_published_values(passed, number, low, high):
    """81 of 263 is the example of Newcombe (1998), "Two-sided confidence intervals for the single proportion"."""
    assert [round(end, 3) for end in wilson(passed, number)] == [low, high]


def test_wilson_is_wider_for_more_confidence():
    assert wilson(7, 10, 0.99).width > wilson(7, 10).width > wilson(7, 10, 0.8).width


def test_bootstrap_covers_what_it_says_below_n():
    found = coverage(lambda counts: pass_interval(counts, 2, resamples=300), 2, tasks=20, n=5, times=300)
    assert 0.92 <= found <= 0.985


def test_wilson_covers_what_it_says_at_n():
    found = coverage(lambda counts: pass_interval(counts, 4), 4, tasks=30, n=4, times=1500)
    assert 0.93 <= found <= 0.98


@pytest.mark.parametrize(("k", "most"), [(1, 0.8), (3, 0.4)])
def test_pooling_the_trials_is_too_narrow(k, most):
    assert coverage(lambda counts: pooled_interval(counts, k), k, tasks=20, n=8, times=400) < most


def test_pooling_is_narrower_than_tasks():
    counts = [(10, 10)] * 5 + [(10, 0)] * 5
    pooled, over_tasks = pooled_interval(counts), pass_interval(counts, 1)
    assert (round(pooled.width, 2), round(over_tasks.width, 2)) == (0.19, 0.8)
    assert "too narrow" in str(pooled)


def test_the_method_follows_from_k_and_n():
    counts = [(4, 4)] * 6 + [(4, 2)] * 2 + [(4, 0)] * 2
    assert pass_interval(counts, 4).method == "Wilson over 10 tasks"
    assert pass_interval(counts, 3).method == "bootstrap over 10 tasks"
    assert pass_interval([*counts, (8, 8)], 4).method == "bootstrap over 11 tasks"


def test_at_n_only_whole_tasks_count():
    assert tuple(pass_interval([(4, 4)] * 6 + [(4, 3)] * 4, 4)) == tuple(wilson(6, 10))
    assert tuple(pass_interval([(4, 1)] * 6 + [(4, 0)] * 4, 4, pass_at_k)) == tuple(wilson(6, 10))


def test_tasks_that_are_all_alike_prove_no_certainty():
    """Drawn again, ten tasks of value 1 have the mean 1 each time; the interval must not be a point."""
    assert tuple(pass_interval([(8, 8)] * 10, 2)) == tuple(wilson(10, 10))


def test_the_bootstrap_is_the_same_for_the_same_seed_and_stays_within_the_values():
    values = [place**2 / 400 for place in range(21)]
    assert bootstrap(values, seed=3) == bootstrap(values, seed=3) != bootstrap(values, seed=4)
    low, high = bootstrap(values)
    assert 0.0 <= low < sum(values) / 21 < high <= 1.0


def test_the_bootstrap_narrows_with_the_tasks():
    widths = [bootstrap([0.0, 1.0] * half).width for half in (5, 20, 80)]
    assert widths == sorted(widths, reverse=True)


def test_an_interval_says_what_it_is():
    interval = Interval(0.25, 0.5, "bootstrap over 9 tasks")
    assert str(interval) == "0.25 to 0.50 (95%, bootstrap over 9 tasks)"
    assert [value in interval for value in (0.24, 0.25, 0.5, 0.51)] == [False, True, True, False]
    assert interval.width == 0.25
    assert str(wilson(1, 1)) == "0.21 to 1.00 (95%, Wilson over 1 task)"


def test_wilson_stays_between_0_and_1_however_numbers_are_rounded():
    assert {wilson(number, number).high for number in range(1, 100)} == {1.0}
    assert {wilson(0, number).low for number in range(1, 100)} == {0.0}


def test_the_bootstrap_has_known_values():
    few = [0.0, 0.2, 0.7, 1.0, 1.0]
    assert list(bootstrap([0.0, 1.0])) == [0.0, 1.0]
    assert list(bootstrap(few)) == pytest.approx([0.08, 1.0])
    assert list(bootstrap(few, resamples=11, confidence=0.5, seed=2)) == pytest.approx([0.52, 0.8])
    assert list(bootstrap([n * n / 100 for n in range(10)], resamples=10_000)) == pytest.approx([0.099, 0.507])


def test_the_options_of_the_bootstrap_are_handed_on():
    counts = [(4, 4), (4, 3), (4, 1), (4, 2)]
    options = {"confidence": 0.5, "resamples": 50, "seed": 7}
    values = [pass_hat_k(n, c, 2) for n, c in counts]
    assert pass_interval(counts, 2, **options) == bootstrap(values, **options)
    assert pass_interval(counts, 4, confidence=0.5) == wilson(1, 4, 0.5)


def test_how_many_tasks_a_margin_needs():
    assert [tasks_needed(margin) for margin in (0.2, 0.1, 0.05)] == [21, 93, 381]
    assert wilson(93 / 2, 93).width / 2 <= 0.1 < wilson(46, 92).width / 2
    assert tasks_needed(0.1, rate=0.9) < tasks_needed(0.1)
    assert [tasks_needed(margin) for margin in (0.49, 0.4, 0.39, 0.3)] == [1, 3, 3, 7]


@pytest.mark.parametrize("margin", [0, 0.5, 1])
def test_a_margin_that_says_nothing_is_refused(margin):
    with pytest.raises(ValueError, match=f"^margin is {margin}: give what you can live with"):
        tasks_needed(margin)


def test_how_many_trials_without_a_failure():
    assert [trials_without_failure(rate) for rate in (0.9, 0.95, 0.99)] == [29, 59, 299]
    assert 0.99**299 <= 0.05 < 0.99**298


def test_how_many_tasks_tell_two_rates_apart():
    assert tasks_to_tell_apart(0.8, 0.9) == 197
    assert tasks_to_tell_apart(0.9, 0.8) == 197


def test_what_was_never_seen_may_be_three_in_n():
    assert unseen(100) == pytest.approx(0.03, abs=0.001)
    assert (1 - unseen(100)) ** 100 == pytest.approx(0.05)


def test_sign_test():
    assert [sign_test(*moved) for moved in ((0, 0), (5, 0), (3, 3), (8, 2))] == [1.0, 0.0625, 1.0, 0.109375]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(lambda: wilson(11, 10), "11 of 10 is no share", id="more_than_all"),
        pytest.param(lambda: wilson(0, 0), "0 of 0 is no share", id="nothing"),
        pytest.param(lambda: bootstrap([1.0]), "an interval over tasks needs two", id="one_task"),
        pytest.param(lambda: tasks_needed(0), "margin is 0", id="no_margin"),
        pytest.param(lambda: trials_without_failure(1.0), "no number of trials proves", id="certainty"),
        pytest.param(lambda: tasks_to_tell_apart(0.5, 0.5), "smallest difference", id="same_rates"),
        pytest.param(lambda: tasks_needed(0.1, rate=90), "rate is 90", id="percent"),
        pytest.param(lambda: wilson(1, 2, 95), "confidence is 95", id="confidence_in_percent"),
        pytest.param(lambda: pass_interval([(4, 2)], 5, pass_hat_k), "run 1 more", id="k_above_n"),
    ],
)
def test_bad_arguments_are_one_sentence(call, said):
    with pytest.raises(ValueError, match=said):
        call()

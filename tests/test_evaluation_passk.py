"""pass@k and pass^k: exact values, what always holds, and the curve that was published."""

import ast
import csv
import json
from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.evaluation.passk import (
    expected_value,
    naive_pass_hat_k,
    over_tasks,
    pass_at_k,
    pass_curve,
    pass_hat_k,
)

LESSON = Path(__file__).resolve().parents[1] / "notebooks" / "src" / "10_evaluation.py"
# Four trials each: A passed all, B two, C none.
FR28 = {"A": (4, 4), "B": (4, 2), "C": (4, 0)}
counts = st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def test_fr28_pass_hat_k_per_task_and_then_the_mean():
    assert [round(over_tasks(FR28, k), 6) for k in (1, 2, 3, 4)] == [0.5, 0.388889, 0.333333, 0.333333]


def test_fr28_the_mean_of_naive_powers_is_another_number():
    naive = [round(over_tasks(FR28, k, naive_pass_hat_k), 6) for k in (1, 2, 3, 4)]
    assert naive == [0.5, 0.416667, 0.375, 0.354167]


def test_fr28_pooled_counts_are_another_number():
    assert [round(pass_hat_k(12, 6, k), 6) for k in (1, 2, 3, 4)] == [0.5, 0.227273, 0.090909, 0.030303]


def test_fr28_pass_at_k_is_another_number():
    assert [round(over_tasks(FR28, k, pass_at_k), 6) for k in (1, 2, 3, 4)] == [0.5, 0.611111, 0.666667, 0.666667]


def test_fr28_one_task_six_of_eight():
    values = [0.75, 0.535714, 0.357143, 0.214286, 0.107143, 0.035714, 0, 0]
    assert [round(value, 6) for value in pass_curve([(8, 6)])] == values


@pytest.mark.parametrize("n", [3, 10, 49, 100, 1000])
def test_both_are_exact_to_the_last_digit(n):
    for c in (0, 1, n // 3, n - 1, n):
        assert pass_at_k(n, c, 1) == pass_hat_k(n, c, 1) == c / n
        for k in (2, 3):
            assert pass_at_k(n, c, k) == float(1 - Fraction(comb(n - c, k), comb(n, k)))


def test_nine_of_ten_is_seventy_percent_at_three():
    assert pass_hat_k(10, 9, 3) == 0.7 == comb(9, 3) / comb(10, 3)


def test_a_curve_ends_where_the_task_with_the_fewest_trials_does():
    assert pass_curve([(4, 4), (2, 1)]) == [0.75, 0.5]
    assert pass_curve([(4, 4), (4, 2)])[:2] == [0.75, pytest.approx(7 / 12)]
    assert pass_curve([(3, 1)], pass_at_k) == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]


@settings(deadline=None)
@given(counts)
def test_at_one_both_are_the_plain_rate(task):
    n, c = task
    assert pass_hat_k(n, c, 1) == c / n
    assert pass_at_k(n, c, 1) == pytest.approx(c / n)


@settings(deadline=None)
@given(st.lists(counts, min_size=1, max_size=8))
def test_pass_hat_k_never_rises_with_k_and_pass_at_k_never_falls(tasks):
    falling, rising = pass_curve(tasks), pass_curve(tasks, pass_at_k)
    assert falling == sorted(falling, reverse=True)
    assert all(later >= earlier - 1e-12 for earlier, later in zip(rising, rising[1:], strict=False))


@settings(deadline=None)
@given(counts, st.data())
def test_pass_hat_k_lies_between_nothing_and_the_rate_and_below_the_naive_value(task, data):
    n, c = task
    k = data.draw(st.integers(1, n))
    assert 0 <= pass_hat_k(n, c, k) <= naive_pass_hat_k(n, c, k) + 1e-12 <= c / n + 1e-11


@pytest.mark.parametrize("n", range(1, 7))
def test_both_are_the_share_of_all_ways_to_draw_k_trials(n):
    """Exhaustive: every outcome of n trials, and every choice of k of them."""
    from itertools import combinations

    for outcome in product((0, 1), repeat=n):
        for k in range(1, n + 1):
            drawn = list(combinations(outcome, k))
            assert pass_hat_k(n, sum(outcome), k) == sum(map(all, drawn)) / len(drawn)
            assert pass_at_k(n, sum(outcome), k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_unbiased_by_enumeration_of_everything_that_n_trials_can_bring(rate):
    for n in range(1, 7):
        chances = {
            outcome: rate ** sum(outcome) * (1 - rate) ** (n - sum(outcome)) for outcome in product((0, 1), repeat=n)
        }
        for k in range(1, n + 1):
            mean_hat = sum(float(p) * pass_hat_k(n, sum(o), k) for o, p in chances.items())
            mean_at = sum(float(p) * pass_at_k(n, sum(o), k) for o, p in chances.items())
            assert mean_hat == pytest.approx(float(rate**k), abs=1e-12)
            assert mean_at == pytest.approx(float(1 - (1 - rate) ** k), abs=1e-12)
            assert expected_value(pass_hat_k, n, float(rate), k) == pytest.approx(mean_hat)


def test_the_naive_value_is_too_high_on_average_until_there_are_many_trials():
    assert expected_value(naive_pass_hat_k, 4, 0.5, 3) == 0.21875  # and it should be 0.125
    bias = [expected_value(naive_pass_hat_k, n, 0.5, 3) - 0.125 for n in (4, 8, 16, 64)]
    assert bias == sorted(bias, reverse=True)
    assert bias[-1] > 0


@pytest.mark.parametrize(
    ("numbers", "error", "said"),
    [
        pytest.param((4, 2, 5), ValueError, "nothing unbiased can be said; run 1 more", id="k_above_n"),
        pytest.param((4, 2, 0), ValueError, "k is 0: ask for one trial or more", id="k_zero"),
        pytest.param((4, 5, 1), ValueError, "c is 5 of n = 4", id="c_above_n"),
        pytest.param((4, -1, 1), ValueError, "c is -1 of n = 4", id="c_negative"),
        pytest.param((0, 0, 1), ValueError, "n is 0: run the task at least once", id="no_trials"),
        pytest.param((4, 2.5, 1), TypeError, "are not whole numbers", id="half_a_trial"),
    ],
)
@pytest.mark.parametrize("estimator", [pass_at_k, pass_hat_k, naive_pass_hat_k])
def test_bad_arguments_are_one_sentence(estimator, numbers, error, said):
    with pytest.raises(error, match=said):
        estimator(*numbers)


@pytest.mark.parametrize(
    ("tasks", "said"),
    [pytest.param([], "no tasks", id="none"), pytest.param([3, 4], "pairs", id="numbers")],
)
def test_bad_counts_are_one_sentence(tasks, said):
    with pytest.raises(ValueError, match=said):
        over_tasks(tasks, 1)


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        expected_value(pass_hat_k, 4, 1.5, 2)
    assert [expected_value(pass_hat_k, 4, rate, 2) for rate in (0, 1)] == [0, 1]


@pytest.mark.parametrize("counts", [[(4, 2), (4, 2, 1)], [(4, 2), 3], {"A": (4, 2), "B": 4}])
def test_counts_that_are_no_pairs_are_refused(counts):
    said = "^Counts are pairs .n, c., one for each task: how many trials it had and how many passed.$"
    with pytest.raises(ValueError, match=said):
        over_tasks(counts, 2)


def test_the_counts_may_come_from_a_generator():
    assert pass_curve(pair for pair in FR28.values()) == pass_curve(FR28)
    assert over_tasks((pair for pair in FR28.values()), 2) == over_tasks(FR28, 2)


def test_the_published_curve_follows_from_the_trials(shared_data):
    """GPT-4o with function calling on tau-bench airline: 50 tasks, 4 trials each (sierra-research/tau-bench)."""
    folder = shared_data / "taubench"
    tasks: dict[str, list[int]] = {}
    for line in (folder / "trials.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        tasks.setdefault(str(record["task"]), []).append(record["reward"])
    assert {len(rewards) for rewards in tasks.values()} == {4}
    ours = [round(value, 2) for value in pass_curve({name: (4, sum(rewards)) for name, rewards in tasks.items()})]
    assert (len(tasks), ours) == (50, [0.42, 0.27, 0.22, 0.2])
    rows = csv.DictReader((folder / "tau-bench-readme.csv").read_text(encoding="utf-8").splitlines())
    [row] = [r for r in rows if (r["domain"], r["model"], r["strategy"]) == ("airline", "gpt-4o", "tool-calling")]
    assert [round(float(row[f"pass_{k}"]), 2) for k in (1, 2, 3, 4)] == ours


# What lesson 10 types from the same sources


def written(name):
    """The expression that lesson 10 gives a name."""
    tree = ast.parse(LESSON.read_text(encoding="utf-8"))
    [found] = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name]
    return found


def rows_of(file):
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def test_the_tasks_of_the_lesson_are_those_of_the_trials(shared_data):
    passed = Counter()
    for line in (shared_data / "taubench" / "trials.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        passed[record["task"]] += record["reward"]
    counts = eval(compile(ast.Expression(written("AIRLINE")), str(LESSON), "eval"), {})
    assert sorted(counts) == sorted((4, number) for number in passed.values())


def test_the_curves_of_the_lesson_are_those_that_were_published(shared_data):
    folder = shared_data / "taubench"
    node = written("CURVES")
    told = {
        key.value: ast.literal_eval(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(value, ast.List)
    }
    readme = {
        (row["domain"], row["model"]): [float(row[f"pass_{k}"]) for k in (1, 2, 3, 4)]
        for row in rows_of(folder / "tau-bench-readme.csv")
        if row["strategy"] == "tool-calling"
    }
    [opus] = [
        [round(float(row[f"pass_{k}"]) / 100, 4) for k in (1, 2, 3, 4)]
        for row in rows_of(folder / "tau2-leaderboard.csv")
        if (row["domain"], row["model"], row["submission_date"][:7]) == ("airline", "Claude Opus 4.5", "2026-02")
    ]
    assert told == {
        "Claude Opus 4.5, τ³ airline, 2026": opus,
        "Claude 3.5 Sonnet, retail, 2024": readme["retail", "claude-3-5-sonnet-20241022"],
        "GPT-4o, airline, 2024": readme["airline", "gpt-4o"],
    }

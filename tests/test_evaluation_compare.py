"""Two runs compared: what is noise, what is not, and what may be compared at all."""

import random

import pytest

from course_kit.evaluation.cases import CaseError
from course_kit.evaluation.compare import LEAST_MOVED, compare
from course_kit.evaluation.intervals import sign_test
from course_kit.evaluation.results import Results


def run(counts, digest="d"):
    return Results(
        {"case": case, "trial": trial, "passed": trial < c, "digest": digest}
        for case, (n, c) in counts.items()
        for trial in range(n)
    )


def cases(*passed, n=10):
    return {f"c{number:02}": (n, c) for number, c in enumerate(passed)}


def test_a_small_difference_on_few_cases_is_noise():
    found = compare(run(cases(8, 9, 10, 3, 7)), run(cases(9, 8, 10, 5, 8)))
    assert (found.is_noise, round(found.difference, 2), found.cases) == (True, 0.06, 5)
    assert found.sentence.startswith("pass^1 went from 0.74 to 0.80 on 5 cases; the difference of +0.06 may be noise (")


def test_a_gain_on_nearly_all_cases_is_more_than_noise():
    found = compare(run(cases(*[5] * 20)), run(cases(*[8] * 10, *[9] * 9, 4)))
    assert (found.is_noise, found.worse, len(found.better)) == (False, ("c19",), 19)
    assert found.sentence.startswith("pass^1 went from 0.50 to 0.82 on 20 cases, better by more than noise (+0.2")
    assert found.sentence.endswith("Yet worse: c19.")
    assert found.chance < 0.001


def test_a_loss_is_said_and_broken_cases_are_named():
    found = compare(run(cases(*[10] * 12)), run(cases(*[4] * 6, *[5] * 6)))
    assert "worse by more than noise" in found.sentence
    assert found.sentence.endswith("Passed always before and not now: c00, c01, c02, c03, c04 and 7 more.")


def test_the_same_gain_in_the_mean_is_noise_when_it_comes_from_one_case():
    even = compare(run(cases(*[5] * 10)), run(cases(*[6] * 9, 7)))
    one = compare(run(cases(*[5, 0], *[5] * 8)), run(cases(*[5, 10], *[5] * 8)))
    assert 0.0 in one.interval
    assert (round(even.difference, 2), round(one.difference, 2)) == (0.11, 0.1)
    assert (even.is_noise, one.is_noise) == (False, True)


def test_no_difference_at_all_still_has_an_interval():
    """Ten cases that did not move say little about others: an interval of no width would claim too much."""
    found = compare(run(cases(*[10] * 10)), run(cases(*[10] * 10)))
    assert (found.is_noise, found.moved, found.difference) == (True, 0, 0.0)
    assert [round(end, 2) for end in found.interval] == [-0.26, 0.26]
    assert found.sentence == ("pass^1 is 1.00 in both runs: none of the 10 cases moved. Of other cases up to 26% may.")
    assert str(found) == repr(found) == found.sentence


def test_cases_that_all_moved_alike_are_more_than_noise_from_six_on():
    eight = compare(run(cases(*[5] * 8)), run(cases(*[7] * 8)))
    assert (eight.is_noise, round(eight.difference, 2)) == (False, 0.2)
    assert [round(end, 2) for end in eight.interval] == [0.14, 0.26]
    assert eight.sentence == ("pass^1 went from 0.50 to 0.70 on 8 cases, better by more than noise (+0.14 to +0.26).")
    assert [compare(run(cases(*[5] * n)), run(cases(*[7] * n))).is_noise for n in (4, 5, 6, 7)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_the_last_digit_of_a_difference_does_not_hide_that_all_moved_alike():
    before, after = (run(cases(*(c + step for c in (1, 2, 4, 5, 6, 7, 8)))) for step in (0, 1))
    for found in (compare(before, after), compare(after, before)):
        assert found.interval.method == "all 7 tasks alike" and found.interval.width > 0.05


def test_fewer_than_six_cases_that_moved_are_noise_wherever_the_interval_lies():
    assert sign_test(LEAST_MOVED, 0) < 0.05 < sign_test(LEAST_MOVED - 1, 0)
    five = compare(run(cases(5, 4, 3, 5, 6)), run(cases(7, 7, 5, 8, 8)))
    assert (five.is_noise, five.moved, five.interval.low > 0) == (True, 5, True)
    assert five.sentence.endswith(" Cases that moved: 5, and fewer than 6 cannot tell.")
    most_still = compare(run(cases(*[0] * 12)), run(cases(*[10] * 5, *[0] * 7)))
    assert (most_still.is_noise, most_still.interval.low > 0) == (True, True)


def test_six_cases_that_moved_are_enough_to_ask_for_more_like_them():
    six = compare(run(cases(*[5] * 6)), run(cases(9, 1, 9, 1, 9, 6)))
    assert (six.is_noise, six.moved) == (True, 6)
    assert six.sentence.endswith(f" For ±0.10 have about {six.cases_for(0.1)} cases like these.")
    assert "cannot tell" not in six.sentence


def test_how_many_cases_a_difference_needs_follows_from_how_these_differ():
    """Not from the width of one rate: where cases agree in what they gain, few serve."""
    wide = compare(run(cases(*[5] * 20)), run(cases(*[9, 1] * 10)))
    calm = compare(run(cases(*[5] * 20)), run(cases(*[6, 4] * 10)))
    assert wide.sentence.endswith(f" For ±0.10 have about {wide.cases_for(0.1)} cases like these.")
    assert wide.cases_for(0.1) == round(20 * (wide.interval.width / 0.2) ** 2 + 0.5)
    assert wide.cases_for(0.1) / calm.cases_for(0.1) > 10 and "For ±0.10" not in calm.sentence
    assert wide.cases_for(0.05) == pytest.approx(4 * wide.cases_for(0.1), abs=4)


def test_at_a_higher_k_reliability_is_compared():
    before, after = run(cases(*[9] * 30)), run(cases(*[10] * 30))
    assert round(compare(before, after, k=3).difference, 2) == 0.3


def test_chance_alone_is_called_noise_in_most_comparisons():
    """Two runs of one agent: a difference is called more than noise in about one comparison in twenty."""
    chance = random.Random(7)

    def evaluation():
        return {case: (5, sum(chance.random() < rate for _ in range(5))) for case, rate in rates.items()}

    alarms = 0
    for _ in range(150):
        rates = {f"c{number}": chance.random() for number in range(20)}
        alarms += not compare(run(evaluation()), run(evaluation()), resamples=300).is_noise
    assert alarms / 150 < 0.1


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        pytest.param(run(cases(1, 2, 3)), run(cases(1)), "Only one of the runs has the case 'c01'", id="other_cases"),
        pytest.param(run(cases(1)), run(cases(1), "e"), "Case 'c00' was changed .* baseline again", id="changed"),
        pytest.param(run({}), run({}), "no cases to compare", id="none"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(before, after, said):
    with pytest.raises(CaseError, match=said):
        compare(before, after)

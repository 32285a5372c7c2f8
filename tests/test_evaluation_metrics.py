"""Figures by layer and by tool: each layer by itself, and what a mean hides."""

import math

import pytest

from course_kit.evaluation.metrics import by_tool, metrics, percentile, weighted


def call(tool, valid=True, failed=False, code=None):
    return {"tool": tool, "input": {}, "valid": valid, "failed": failed, "code": code, "effect": None}


def record(case="a", *layers, calls=(), expected=("look",), **more):
    problems = [{"layer": layer, "message": layer} for layer in layers]
    expected = None if expected is None else list(expected)
    return {"case": case, "trial": 0, "passed": not layers, "problems": problems, "calls": list(calls),
            "expected": expected, **more}  # fmt: skip


RECORDS = [
    record(calls=[call("look")], steps=2, seconds=1.0, input_tokens=100, output_tokens=10),
    record("b", calls=[call("look", False, True, "invalid input"), call("look")], steps=4, seconds=9.0,
           input_tokens=300, output_tokens=30),
    record("c", "selection", calls=[call("pay", True, True, "NOT_FOUND")], seconds=1.0, refused=[429, 429]),
    record("d", "input", calls=[call("look")], seconds=1.0),
    record("e", "safety", kind="hostile", calls=[call("pay")], expected=(), seconds=1.0),
    record("f", kind="hostile", expected=None, seconds=1.0),
]  # fmt: skip


def test_each_layer_has_its_own_figure():
    found = metrics(RECORDS, prices=(1.0, 5.0))
    assert (found.trials, found.passed) == (6, 0.5)
    assert found.selection == 3 / 5  # of those that say which calls they expect
    assert found.valid_input == 5 / 6
    assert found.right_input == 2 / 3  # where the right tool was chosen
    assert found.execution == 4 / 6
    assert found.recovery == 1  # b; in c failed what nobody meant
    assert (found.overreach, found.obeyed, found.injections) == (1 / 6, 1 / 2, 1 / 2)
    assert found.counts == {
        "selection": (3, 5), "valid_input": (5, 6), "right_input": (2, 3), "execution": (4, 6), "recovery": (1, 1),
        "overreach": (1, 6), "obeyed": (1, 2), "injections": (1, 2),
    }  # fmt: skip
    assert (found.steps, found.p95_seconds) == (1.0, 9.0)
    assert (found.input_tokens, found.output_tokens) == (pytest.approx(400 / 6), pytest.approx(40 / 6))
    assert found.cost == pytest.approx((400 * 1.0 + 40 * 5.0) / 6 / 1e6)
    assert found.error_codes == {"HTTP 429": 2, "invalid input": 1, "NOT_FOUND": 1}


def test_where_there_is_nothing_to_share_there_is_no_figure():
    found = metrics([record(expected=None)])
    gone = ("selection", "valid_input", "right_input", "execution", "recovery", "obeyed", "injections", "cost")
    assert [name for name in gone if not math.isnan(getattr(found, name))] == []
    assert "recovery      –" in repr(found)
    with pytest.raises(ValueError, match="no trials to measure"):
        metrics([])


def test_figures_as_text():
    lines = repr(metrics(RECORDS)).splitlines()
    assert lines[:3] == ["6 trials", "passed         50.0%   mean over cases", "selection      60.0%   3 of 5"]
    assert lines[-1] == "error codes   HTTP 429 2×, invalid input 1×, NOT_FOUND 1×"


@pytest.mark.parametrize(
    ("calls", "recovery"),
    [
        pytest.param([call("look", failed=True), call("look")], 1.0, id="mended"),
        pytest.param([call("look", failed=True), call("look", failed=True)], 0.0, id="failed_twice"),
        pytest.param([call("look"), call("look", failed=True)], 0.0, id="failed_in_the_end"),
        pytest.param([call("look", failed=True), call("seek")], 0.0, id="another_tool"),
        pytest.param([call("pay", failed=True), call("look")], None, id="what_failed_was_not_meant"),
        pytest.param([call("look")], None, id="nothing_failed"),
    ],
)
def test_recovery_asks_whether_a_meant_tool_that_failed_worked_afterwards(calls, recovery):
    found = metrics([record("a", "state", calls=calls)]).recovery
    assert math.isnan(found) if recovery is None else found == recovery


def test_recovery_does_not_ask_whether_the_trial_passed():
    mended = [call("look", failed=True), call("look")]
    assert metrics([record(calls=mended), record("b", "text", calls=mended)]).recovery == 1.0


def test_a_refusal_that_was_wanted_is_no_failure_to_get_over():
    refused = record(kind="hostile", calls=[call("pay", failed=True, code="OVER_REFUND")], expected=[])
    assert math.isnan(metrics([refused]).recovery)


def test_obeyed_counts_what_the_model_tried_and_injections_what_got_through():
    """The shop refuses the refund of 500.00: nothing got through, and yet the model did as it was told."""
    tried = {**call("pay", failed=True, code="OVER_REFUND"), "effect": "irreversible"}
    looked, sought = {**call("look"), "effect": "read"}, {**call("seek"), "effect": "read"}
    records = [
        record(kind="hostile", calls=[tried], expected=[]),
        record("b", kind="hostile", calls=[looked, sought], expected=["look"]),
        record("c", "safety", kind="hostile", calls=[tried], expected=[]),
        record("d", calls=[tried], expected=[]),
    ]
    assert metrics(records).counts["obeyed"] == (2, 3)
    assert metrics(records).counts["injections"] == (1, 3)
    assert metrics([record(kind="hostile", calls=[tried], expected=["pay"])]).obeyed == 0.0  # it was asked for


def test_passed_is_the_mean_over_cases_not_over_trials():
    records = [record("a") | {"trial": n} for n in range(9)] + [record("b", "text")]
    assert metrics(records).passed == 0.5


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [(range(1, 101), 0.95, 95), (range(1, 21), 0.95, 19), ([3, 1, 2], 0.5, 2), ([7], 0.95, 7), ([1, 2], 1.0, 2)],
)
def test_percentile_is_a_value_that_was_seen(values, share, value):
    assert percentile(values, share) == value


def test_the_mean_hides_a_dangerous_tool():
    """A safe tool in ninety-five cases and a dangerous one in five: the mean is fine, the refund is not."""
    safe = [record(f"s{n}", expected=["look_up"], risk=1) for n in range(95)]
    safe[0] = record("s0", "selection", expected=["look_up"], risk=1)
    risky = [record(f"r{n}", *(["input"] if n < 2 else []), expected=["refund"], risk=10) for n in range(5)]
    assert metrics(safe + risky).passed == 0.97
    figures = by_tool(safe + risky)
    assert [(tool.tool, tool.trials, round(tool.passed, 3), tool.risk) for tool in figures] == [
        ("refund", 5, 0.6, 10),
        ("look_up", 95, 0.989, 1),
    ]
    assert weighted(figures) == pytest.approx((0.6 * 10 + 94 / 95) / 11)
    assert figures[0].interval.low < 0.25


def test_a_risk_may_be_given_for_the_tool():
    [figures] = by_tool([record(risk=2), record("b", risk=5)])
    assert figures.risk == 5
    assert by_tool([record(risk=2)], risk={"look": 20})[0].risk == 20
    assert by_tool([record(expected=[])]) == []


@pytest.mark.parametrize("risk", [-1, math.nan, "10"])
def test_a_risk_that_is_none_is_said(risk):
    with pytest.raises(ValueError) as caught:
        by_tool([record()], risk={"look": risk})
    assert str(caught.value) == f"The risk of look is {risk!r}: give a number of at least 0."


def test_figures_without_a_risk_cannot_be_weighed():
    for figures in ([], by_tool([record()], risk={"look": 0})):
        with pytest.raises(ValueError) as caught:
            weighted(figures)
        said = "There is nothing to weigh: give the figures of at least one tool with a risk above 0."
        assert str(caught.value) == said


@pytest.mark.parametrize("share", [95, -0.1])
def test_a_percentile_is_a_share(share):
    with pytest.raises(ValueError) as caught:
        percentile([1, 2], share)
    assert str(caught.value) == f"share is {share}: it goes from 0 to 1, such as 0.95."

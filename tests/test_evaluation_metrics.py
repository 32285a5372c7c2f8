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
    assert found.recovery == 1 / 2  # b stumbled and passed, c did not
    assert (found.overreach, found.injections) == (1 / 6, 1 / 2)
    assert (found.steps, found.p95_seconds) == (1.0, 9.0)
    assert (found.input_tokens, found.output_tokens) == (pytest.approx(400 / 6), pytest.approx(40 / 6))
    assert found.cost == pytest.approx((400 * 1.0 + 40 * 5.0) / 6 / 1e6)
    assert found.error_codes == {"HTTP 429": 2, "invalid input": 1, "NOT_FOUND": 1}


def test_where_there_is_nothing_to_share_there_is_no_figure():
    found = metrics([record(expected=None)])
    gone = ("selection", "valid_input", "right_input", "execution", "recovery", "injections", "cost")
    assert [name for name in gone if not math.isnan(getattr(found, name))] == []
    assert "recovery      –" in repr(found)
    with pytest.raises(ValueError, match="no trials to measure"):
        metrics([])


def test_figures_as_text():
    lines = repr(metrics(RECORDS)).splitlines()
    assert lines[:3] == ["6 trials", "passed        50.0%", "selection     60.0%"]
    assert lines[-1] == "error codes   HTTP 429 2×, invalid input 1×, NOT_FOUND 1×"


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

"""Trials and k: what is counted, what is said of it, and the widget beside its plain call."""

import sys

import ipywidgets
import pytest

from course_kit.classroom import trials as module
from course_kit.classroom.trials import MOST, TrialsAndK, trials_and_k


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def test_nine_of_ten_at_three():
    assert TrialsAndK(10, 9, 3).sentences() == [
        "Ways to draw 3 of 10: 120. Without a failure: 84. With a pass: 120.",
        "pass^3 = 84/120 = 70.0%: all of 3 pass. (Naive, (9/10)^3: 72.9%.)",
        "pass@3 = 120/120 = 100.0%: at least one of 3 passes.",
        "And 9 of 10 itself is vague: the rate lies between 60% and 98% (95%, Wilson).",
    ]


def test_fr28_one_task_six_of_eight_for_every_k():
    hats = [round(hat, 6) for _, hat, _ in TrialsAndK(8, 6, 1).rows()]
    assert hats == [0.75, 0.535714, 0.357143, 0.214286, 0.107143, 0.035714, 0, 0]


def test_what_is_not_given_stays():
    shown = TrialsAndK(10, 9, 3)
    assert shown.set(k=5) is shown
    assert (shown.trials, shown.passed, shown.k) == (10, 9, 5)
    assert shown.pass_hat == 0.5
    shown.set(passed=0)
    assert (shown.pass_hat, shown.pass_at, shown.marks) == (0, 0, "✗" * 10)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"k": 11}, "run 1 more"),
        ({"passed": 11}, "c is 11 of n = 10"),
        ({"trials": 2}, "c is 9 of n = 2"),
        ({"trials": MOST + 1}, f"from 1 to {MOST}"),
        ({"trials": True}, "whole number"),
    ],
)
def test_what_does_not_fit_is_one_sentence_and_changes_nothing(change, said):
    shown = TrialsAndK(10, 9, 3)
    with pytest.raises(ValueError, match=said):
        shown.set(**change)
    assert (shown.trials, shown.passed, shown.k) == (10, 9, 3)


def test_as_text_and_html_without_widgets(without_widgets):
    shown = trials_and_k()
    assert type(shown) is TrialsAndK
    text = repr(shown)
    assert text.splitlines()[:2] == ["Trials and k: 10 trials of one task, 9 passed", "  ✓✓✓✓✓✓✓✓✓✗"]
    assert text.endswith(", or write: trials_and_k(10, 9, k=3).set(k=1)")
    assert trials_and_k(20, 18, k=1).as_text().endswith("trials_and_k(20, 18, k=1).set(k=20)")
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == text
    assert "font-weight: bold'><td>3</td>" in bundle["text/html"]
    assert bundle["text/html"].count("<tr") == 11


def test_the_fields_move_what_is_shown():
    shown = trials_and_k()
    assert isinstance(shown, ipywidgets.VBox)
    shown.k_field.value = 5
    assert shown.k == 5 and "= 50.0%: all of 5 pass" in shown.result.value
    shown.passed_field.value = 8
    assert "8 passed" in shown.result.value


def test_fewer_trials_take_passes_and_k_along():
    shown = trials_and_k(10, 9, 5)
    shown.trials_field.value = 4
    assert (shown.trials, shown.passed, shown.k) == (4, 4, 4)
    assert (shown.passed_field.max, shown.k_field.max, shown.passed_field.value) == (4, 4, 4)
    shown.trials_field.value = 20
    assert (shown.passed_field.max, shown.k_field.max, shown.k) == (20, 20, 4)


def test_the_plain_call_moves_the_fields():
    shown = trials_and_k()
    shown.set(trials=20, passed=18, k=4)
    fields = (shown.trials_field, shown.passed_field, shown.k_field)
    assert [field.value for field in fields] == [20, 18, 4]
    assert all(field.tooltip for field in fields)

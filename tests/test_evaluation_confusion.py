"""The confusion matrix: meant against called, with no call on both sides."""

import pytest

from course_kit.evaluation.confusion import NO_CALL, confusion


def trial(meant, *called, may_call=(), failed=()):
    calls = [{"tool": name, "failed": name in failed} for name in called]
    return {"case": "a", "trial": 0, "passed": True, "expected": meant, "may_call": list(may_call), "calls": calls}


def test_every_pair_is_counted_with_a_row_and_a_column_for_no_call():
    matrix = confusion(
        [
            trial(["refund"], "refund"),
            trial(["refund"], "refund"),
            trial(["refund"], "cancel"),
            trial(["refund"]),  # a missed call
            trial([], "search"),  # a call that nobody wanted
            trial([]),  # rightly none
        ]
    )
    assert matrix.labels == ("cancel", "refund", "search", NO_CALL)
    assert matrix.rows == [[0, 0, 0, 0], [1, 2, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]]
    assert (matrix["refund", NO_CALL], matrix[NO_CALL, "search"], matrix[NO_CALL, NO_CALL]) == (1, 1, 1)
    assert (matrix.share("refund"), matrix.share(NO_CALL)) == (0.5, 0.5)
    assert matrix.share("cancel") != matrix.share("cancel")  # it was never meant


@pytest.mark.parametrize(
    ("record", "pairs"),
    [
        pytest.param(trial(["a", "b"], "b", "a"), {("a", "a"): 1, ("b", "b"): 1}, id="order_is_no_matter"),
        pytest.param(trial(["a"], "a", "b"), {("a", "a"): 1, (NO_CALL, "b"): 1}, id="one_too_many"),
        pytest.param(trial(["a", "b"], "a"), {("a", "a"): 1, ("b", NO_CALL): 1}, id="one_too_few"),
        pytest.param(trial(["a", "b"], "c", "b"), {("b", "b"): 1, ("a", "c"): 1}, id="one_for_another"),
        pytest.param(trial(["a"], "look", "a", may_call=["look"]), {("a", "a"): 1}, id="allowed_calls_are_left_out"),
        pytest.param(trial(["a"], "look", "a", may_call=["*"]), {("a", "a"): 1}, id="all_others_allowed"),
        pytest.param(trial([], "look", may_call=["look"]), {(NO_CALL, NO_CALL): 1}, id="allowed_is_no_call"),
        pytest.param(trial(["a"], "a", "a"), {("a", "a"): 1, (NO_CALL, "a"): 1}, id="twice"),
        pytest.param(trial(["a"], "b", failed=["b"]), {("a", "b"): 1}, id="a_failed_pick_is_a_pick"),
        pytest.param(trial(["a"], "a", failed=["a"]), {("a", "a"): 1}, id="a_failed_call_of_the_right_tool"),
    ],
)
def test_pairs_of_one_trial(record, pairs):
    assert confusion([record]).counts == pairs


def test_an_attempt_that_was_mended_counts_once():
    record = trial(["a"], "a", "a")
    record["calls"][0]["failed"] = True
    assert confusion([record]).counts == {("a", "a"): 1}


def test_trials_that_expect_nothing_in_particular_are_left_out():
    assert confusion([trial(None, "a")]).rows == [[0]]


def test_the_matrix_as_text_html_and_table():
    matrix = confusion([trial(["a<b"], "a<b"), trial([], "a<b")])
    assert repr(matrix).splitlines() == [
        "meant / called  a<b  no call",
        "a<b               1        ·",
        "no call           1        ·",
    ]
    assert "a&lt;b" in matrix._repr_html_() and "a<b" not in matrix._repr_html_()
    frame = matrix.to_frame()
    assert (frame.loc["no call", "a<b"], frame.index.name, frame.columns.name) == (1, "meant", "called")

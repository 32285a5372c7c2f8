"""One trial, judged: what is right, what is wrong, and in which layer."""

import sqlite3

import pytest

from course_kit.evaluation.cases import Case, CaseError
from course_kit.evaluation.judging import Problem, judge, matches
from course_kit.evaluation.observing import Made, Observed


def made(name, failed=False, effect=None, **inputs):
    return Made(name, inputs, failed=failed, effect=effect)


def layers(expect, *calls, kind="positive", **seen):
    case = Case("a", kind, "b", expect)
    return [problem.layer for problem in judge(case, Observed(calls=calls, **seen))]


REFUND = {"tool": "refund", "input": {"cents": 1999}}


@pytest.mark.parametrize(
    ("expect", "calls", "found"),
    [
        pytest.param({"calls": ["track"]}, [made("track", id=1)], [], id="any_input"),
        pytest.param({"calls": [REFUND]}, [made("refund", cents=1999, note="x")], [], id="subset"),
        pytest.param({"calls": [{**REFUND, "match": "exact"}]}, [made("refund", cents=1999)], [], id="exact"),
        pytest.param(
            {"calls": [{**REFUND, "match": "exact"}]}, [made("refund", cents=1999, note="x")], ["input"], id="one_more"
        ),
        pytest.param({"calls": [REFUND]}, [made("refund", cents=20)], ["input"], id="wrong_input"),
        pytest.param({"calls": [REFUND]}, [made("refund")], ["input"], id="input_missing"),
        pytest.param({"calls": [REFUND]}, [], ["selection"], id="not_called"),
        pytest.param({"calls": [REFUND]}, [made("cancel")], ["selection", "selection"], id="another_tool"),
        pytest.param({"calls": []}, [], [], id="no_call"),
        pytest.param({"calls": []}, [made("look")], ["selection"], id="call_not_wanted"),
        pytest.param({"calls": []}, [made("refund", effect="irreversible")], ["safety"], id="overreach"),
        pytest.param({"calls": []}, [made("refund", failed=True, effect="write")], ["selection"], id="failed_write"),
        pytest.param(
            {"calls": [REFUND], "may_call": ["look"]}, [made("look"), made("refund", cents=1999)], [], id="may"
        ),
        pytest.param({"calls": [REFUND], "may_call": ["*"]}, [made("x"), made("refund", cents=1999)], [], id="may_any"),
        pytest.param({"calls": [REFUND]}, [made("refund", True, cents=1), made("refund", cents=1999)], [], id="mended"),
        pytest.param(
            {"calls": [REFUND]}, [made("refund", cents=1999), made("refund", cents=1999)], ["selection"], id="twice"
        ),
        pytest.param(
            {"calls": [REFUND]},
            [made("refund", effect="write", cents=1999), made("refund", effect="write", cents=1999)],
            ["safety"],
            id="paid_twice",
        ),
        pytest.param({"calls": [REFUND]}, [made("refund", True, cents=1999)], [], id="refused_by_the_business"),
        pytest.param(
            {"calls": [REFUND]}, [made("refund", True, cents=1999), made("refund", cents=1999)], [], id="retried"
        ),
        pytest.param({"never": ["refund"]}, [made("refund", True)], ["safety"], id="forbidden_even_tried"),
        pytest.param({"never": ["refund"]}, [made("look")], [], id="others_are_free"),
        pytest.param({"never": ["refund"], "calls": []}, [made("refund")], ["safety"], id="forbidden_said_once"),
        pytest.param({"calls": ["a", "b"]}, [made("b"), made("a")], [], id="any_order"),
        pytest.param({"calls": ["a", "b"], "ordered": True}, [made("b"), made("a")], ["order"], id="wrong_order"),
        pytest.param({"calls": ["a", "b"], "ordered": True}, [made("a"), made("b")], [], id="right_order"),
        pytest.param(
            {"calls": ["refund", REFUND]}, [made("refund", cents=1999), made("refund", cents=5)], [], id="choosy_first"
        ),
    ],
)
def test_calls(expect, calls, found):
    assert layers(expect, *calls) == found


def test_answers_and_endings():
    seen = {"text": "Your money is on its way.", "stopped": "end_turn"}
    assert layers({"says": ["MONEY"]}, **seen) == []
    assert layers({"says": ["tomorrow"], "never_says": ["on its"], "stopped": "refusal"}, **seen) == [
        "text",
        "text",
        "end",
    ]


def test_problems_are_sentences():
    case = Case("a", prompt="b", expect={"calls": [REFUND, "look"]})
    assert judge(case, Observed(calls=(made("refund", cents=20), made("cancel", order="X")))) == [
        Problem("input", "refund(cents=20) was called, expected refund(cents=1999)."),
        Problem("selection", "`look` was not called."),
        Problem("selection", "cancel(order='X') was called, which nobody asked for."),
    ]


@pytest.mark.parametrize(
    ("wanted", "given", "fits"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, True, True),
        ("a", "A", False),
        (None, None, True),
        ({"a": [1, 2]}, {"a": [1, 2]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        ({"$any": True}, None, True),
        ({"$one_of": ["x", {"$between": [1, 2]}]}, 1.5, True),
        ({"$one_of": ["x"]}, "y", False),
        ({"$matches": "^ORD-[0-9]+$"}, "ORD-7", True),
        ({"$matches": "^ORD"}, 7, False),
        ({"$contains": "BROKE"}, "it broke", True),
        ({"$between": [1, 5]}, 5, True),
        ({"$between": [1, 5]}, 6, False),
        ({"$between": [0, 1]}, True, False),
        ([{"$any": True}, 2], ["x", 2], True),
    ],
)
def test_matches(wanted, given, fits):
    assert matches(wanted, given) is fits


def test_an_unknown_matcher_is_named():
    with pytest.raises(CaseError, match=r"There is no matcher \$regex"):
        matches({"$regex": "a"}, "a")


# The state of the world


OPEN: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def closed_databases():
    yield
    while OPEN:
        OPEN.pop().close()


def refunded(*cents):
    db = sqlite3.connect(":memory:")
    OPEN.append(db)
    db.execute("CREATE TABLE refunds (cents INTEGER)")
    db.executemany("INSERT INTO refunds VALUES (?)", [(one,) for one in cents])
    return db


def state_problems(check, state):
    return [p.message for p in judge(Case("a", prompt="b", expect={"state": [check]}), Observed(), state)]


def test_state_is_asked_in_sql():
    check = {"sql": "SELECT cents FROM refunds", "rows": [[{"$between": [1900, 2000]}]]}
    right, wrong = refunded(1999), refunded(1999, 5)
    assert state_problems(check, right) == []
    assert state_problems(check, wrong) == [
        "`SELECT cents FROM refunds` gives [[1999], [5]], expected [[{'$between': [1900, 2000]}]]."
    ]
    right.close()
    wrong.close()


def test_state_of_a_shop_and_of_a_file(tmp_path):
    from course_kit.shop import open_shop

    check = {"sql": "SELECT COUNT(*) > 0 FROM orders", "rows": [[1]]}
    shop = open_shop(tmp_path / "desk.sqlite3")
    assert state_problems(check, shop) == state_problems(check, tmp_path / "desk.sqlite3") == []


def nothing_was_refunded(state):
    assert not state, f"{len(state)} refunds stand in the ledger"


@pytest.mark.parametrize(
    ("check", "problems"),
    [
        pytest.param(lambda state: True, [], id="true"),
        pytest.param(lambda state: "The ledger is empty.", ["The ledger is empty."], id="sentence"),
        pytest.param(nothing_was_refunded, ["2 refunds stand in the ledger"], id="assertion"),
        pytest.param(lambda state: False, ["`<lambda>` says no."], id="false"),
    ],
)
def test_state_is_judged_by_a_function(check, problems):
    assert state_problems(check, [1, 2]) == problems


def test_a_state_that_cannot_be_asked():
    with pytest.raises(CaseError, match="the state is NoneType"):
        state_problems({"sql": "SELECT 1", "rows": [[1]]}, None)
    db = refunded()
    with pytest.raises(CaseError, match="cannot be asked `SELECT x`: no such column"):
        state_problems({"sql": "SELECT x", "rows": []}, db)
    db.close()

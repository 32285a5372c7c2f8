"""Who decides whether a call may run."""

import pytest

from course_kit.contract.messages import tool_result, tool_use
from course_kit.harness.approval import decide
from course_kit.harness.tools import Call, prepare, tool


@tool(effect="irreversible")
def delete_file(path: str) -> str:
    return f"deleted {path}"


@tool(effect="read")
def read_file(path: str) -> str:
    return "text"


@tool(needs_approval=lambda input: input["amount"] > 100)
def refund(amount: int) -> str:
    return "done"


def prepared(made, **input) -> Call:
    call = prepare(tool_use("toolu_1", made.name, input), [made])
    assert isinstance(call, Call)
    return call


def refused(name: str, why: str) -> dict:
    return tool_result(
        "toolu_1",
        f"A person has to approve `{name}` and it was refused: {why}. Nothing was done. "
        "Try another way, or ask the user.",
        is_error=True,
    )


def never(block):
    raise AssertionError("nobody is to be asked")


def broken(block):
    raise RuntimeError("panel closed")


def test_a_tool_that_does_not_ask_is_not_asked_about():
    call = prepared(read_file, path="a")
    assert decide([call], never) == [call] == decide([call], None)


def test_a_result_passes_through():
    wrong = prepare(tool_use("toolu_1", "delete_file", {}), [delete_file])
    assert wrong["is_error"] and decide([wrong], never) == [wrong]


@pytest.mark.parametrize(
    ("approver", "why"),
    [
        pytest.param(None, "nobody was there to approve it", id="nobody"),
        pytest.param(broken, "the approval failed (RuntimeError)", id="raises"),
        pytest.param(lambda block: False, "no reason was given", id="no"),
        pytest.param(lambda block: None, "no reason was given", id="forgot_to_return"),
        pytest.param(lambda block: "", "no reason was given", id="empty_reason"),
        pytest.param(lambda block: 1, "no reason was given", id="one_is_no_yes"),
        pytest.param(lambda block: "keep that file", "keep that file", id="reason"),
    ],
)
def test_only_a_yes_is_a_yes(approver, why):
    assert decide([prepared(delete_file, path="a")], approver) == [refused("delete_file", why)]


def test_a_yes_lets_the_call_run():
    call = prepared(delete_file, path="a")
    assert decide([call], lambda block: True) == [call]


def test_what_is_shown_is_the_checked_input():
    seen = []
    call = prepared(refund, amount=200.0)
    decide([call], seen.append)
    assert seen == [{"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {"amount": 200}, **CALLER}]
    assert type(seen[0]["input"]["amount"]) is int


CALLER = {"caller": {"type": "direct"}}


def test_a_tool_may_ask_for_some_inputs_only():
    small, large = prepared(refund, amount=100), prepared(refund, amount=101)
    assert decide([small, large], None) == [small, refused("refund", "nobody was there to approve it")]


def test_a_tool_that_cannot_say_whether_it_asks_is_refused():
    unsure = tool(lambda_free, needs_approval=lambda input: input["missing"])
    assert decide([prepared(unsure, amount=1)], lambda block: True) == [
        refused("lambda_free", "the approval failed (KeyError)")
    ]


def lambda_free(amount: int) -> str:
    return "done"


def test_every_decision_stands_where_its_call_stood():
    calls = [prepared(delete_file, path=path) for path in "abc"]
    decided = decide(calls, lambda block: block["input"]["path"] != "b")
    assert decided == [calls[0], refused("delete_file", "no reason was given"), calls[2]]

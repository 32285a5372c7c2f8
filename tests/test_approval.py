"""Who decides whether a call may run, and what a decision does to it."""

import asyncio
import builtins

import pytest

from course_kit.contract.messages import text, tool_result, tool_use
from course_kit.harness.approval import ask_at_prompt, decide_later, decisions_from, verdict, verdict_async
from course_kit.harness.decisions import Decision, allow, deny, edit, wait
from course_kit.harness.loop import RunCalls
from course_kit.harness.tools import tool
from course_kit.harness.turns import Turn, decision_event

DONE: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done():
    DONE.clear()


@tool(effect="irreversible")
def delete_file(path: str) -> str:
    DONE.append(path)
    return f"deleted {path}"


@tool(effect="read")
def read_file(path: str) -> str:
    return "text"


@tool(needs_approval=lambda input: input["amount"] > 100)
def refund(amount: int) -> str:
    DONE.append(str(amount))
    return "done"


TOOLS = [delete_file, read_file, refund]
QUESTION = tool_use("toolu_1", "delete_file", {"path": "a"})


def turn_of(*calls, decided=(), started=frozenset(), tools=TOOLS) -> Turn:
    return Turn(RunCalls(list(calls), {event["tool_use_id"]: event for event in decided}, started), tools)


def results(turn: Turn) -> list[dict]:
    return [event["result"] for event in turn.run(5) if event["event"] == "result"]


def refused(name: str, why: str, id: str = "toolu_1") -> dict:
    said = f"A person has to approve `{name}` and it was refused: {why}. Nothing was done. "
    return tool_result(id, said + "Try another way, or ask the user.", is_error=True)


# What an approver's answer means


def broken(block):
    raise RuntimeError("panel closed")


async def yes_later(block):
    await asyncio.sleep(0)
    return True


ANSWERS = [
    pytest.param(None, deny("nobody was there to approve it"), id="nobody"),
    pytest.param(broken, deny("the approval failed (RuntimeError)"), id="raises"),
    pytest.param(lambda block: False, deny(""), id="no"),
    pytest.param(lambda block: None, deny(""), id="forgot_to_return"),
    pytest.param(lambda block: "", deny(""), id="empty_reason"),
    pytest.param(lambda block: 1, deny(""), id="one_is_no_yes"),
    pytest.param(lambda block: "yes", deny("yes"), id="a_text_is_a_reason_to_refuse"),
    pytest.param(lambda block: True, allow(), id="yes"),
    pytest.param(lambda block: edit({"path": "b"}), edit({"path": "b"}), id="a_decision"),
    pytest.param(decide_later(60), wait(60), id="later"),
]


@pytest.mark.parametrize(("approver", "decision"), ANSWERS)
def test_only_a_yes_is_a_yes(approver, decision):
    assert verdict(approver, QUESTION) == decision
    assert asyncio.run(verdict_async(approver, QUESTION)) == decision


def test_an_approver_may_be_awaited_where_the_run_is():
    assert asyncio.run(verdict_async(yes_later, QUESTION)) == allow()
    assert verdict(yes_later, QUESTION) == deny(
        "its approver is to be awaited, and this run cannot: use run_agent_async"
    )


def test_a_script_of_decisions_ends_in_no():
    approver = decisions_from([True, "keep it"])
    assert [verdict(approver, QUESTION) for _ in range(3)] == [
        allow(),
        deny("keep it"),
        deny("no decision was left for it"),
    ]


@pytest.mark.parametrize(
    ("typed", "decision"),
    [("y", allow()), (" YES ", allow()), ("", deny("")), ("too much", deny("too much")), ("n", deny("n"))],
)
def test_the_prompt_shows_the_whole_call_and_takes_only_a_yes(typed, decision, monkeypatch, capsys):
    monkeypatch.setattr(builtins, "input", lambda prompt: typed)
    assert ask_at_prompt(QUESTION) == decision
    assert capsys.readouterr().out == 'The model wants to call delete_file with\n{\n  "path": "a"\n}\n'


def test_the_prompt_without_a_terminal_is_nobody(monkeypatch):
    monkeypatch.setattr(builtins, "input", broken_input)
    assert ask_at_prompt(QUESTION) == deny("nobody was there to approve it")


def broken_input(prompt):
    raise EOFError


# What is asked


def test_only_calls_that_ask_are_asked_about_and_with_the_checked_input():
    calls = [
        tool_use("toolu_1", "read_file", {"path": "a"}),
        tool_use("toolu_2", "refund", {"amount": 100}),
        tool_use("toolu_3", "refund", {"amount": 200.0}),
        tool_use("toolu_4", "delete_file", {"path": 5}),
        tool_use("toolu_5", "no_such_tool", {}),
    ]
    questions = turn_of(*calls).questions
    assert questions == [tool_use("toolu_3", "refund", {"amount": 200})]
    assert type(questions[0]["input"]["amount"]) is int


def test_a_tool_that_cannot_say_whether_it_asks_asks():
    unsure = tool(refund.function, needs_approval=lambda input: input["missing"])
    call = tool_use("toolu_1", "refund", {"amount": 1})
    assert turn_of(call, tools=[unsure]).questions == [call]


def test_a_decision_holds_for_the_input_that_was_shown_and_no_other():
    shown = decision_event({**QUESTION, "input": {"path": "other"}}, allow())
    turn = turn_of(QUESTION, decided=[shown])
    assert turn.questions == [QUESTION]
    assert results(turn) == [refused("delete_file", "nobody decided about it")] and DONE == []


# What a decision does


def test_every_answer_stands_for_its_own_call():
    calls = [tool_use(f"toolu_{path}", "delete_file", {"path": path}) for path in "abc"]
    decided = [
        decision_event(calls[0], allow()),
        decision_event(calls[1], deny("keep it.")),
        decision_event(calls[2], deny()),
    ]
    assert results(turn_of(*calls, decided=decided)) == [
        refused("delete_file", "keep it", "toolu_b"),
        refused("delete_file", "no reason was given", "toolu_c"),
        tool_result("toolu_a", "deleted a"),
    ]
    assert DONE == ["a"]


def test_without_a_decision_nothing_that_asks_runs():
    assert results(turn_of(QUESTION)) == [refused("delete_file", "nobody decided about it")] and DONE == []


def test_an_edit_runs_and_the_model_is_told():
    turn = turn_of(QUESTION, decided=[decision_event(QUESTION, edit({"path": "b"}))])
    said = 'A person changed the input before this ran, to: {"path": "b"}'
    assert results(turn) == [tool_result("toolu_1", [text(said), text("deleted b")])] and DONE == ["b"]


@pytest.mark.parametrize("changed", [{"path": 5}, {}, {"path": "b", "force": True}])
def test_an_edit_is_checked_like_any_input(changed):
    (result,) = results(turn_of(QUESTION, decided=[decision_event(QUESTION, edit(changed))]))
    assert result["is_error"] and "a person changed its input, and the change does not fit" in result["content"]
    assert DONE == []


def test_while_one_call_waits_none_of_its_turn_runs():
    other = tool_use("toolu_2", "read_file", {"path": "a"})
    assert list(turn_of(QUESTION, other, decided=[decision_event(QUESTION, wait())]).run(5)) == []


# A call that an earlier process had begun


@tool(idempotent=True)
def set_status(status: str) -> str:
    DONE.append(status)
    return "set"


def test_a_call_that_had_begun_is_made_again_only_where_that_does_no_harm():
    calls = [
        tool_use("toolu_1", "delete_file", {"path": "a"}),
        tool_use("toolu_2", "set_status", {"status": "new"}),
        tool_use("toolu_3", "read_file", {"path": "a"}),
    ]
    turn = turn_of(*calls, started=frozenset(call["id"] for call in calls), tools=[*TOOLS, set_status])
    assert turn.questions == []
    unknown, status, read = results(turn)
    assert unknown["is_error"] and "may or may not have taken effect" in unknown["content"]
    assert (status, read) == (tool_result("toolu_2", "set"), tool_result("toolu_3", "text"))
    assert DONE == ["new"]


def test_a_decision_survives_json():
    for decision in (allow(), deny("no"), edit({"path": "b"}, "better"), wait(5)):
        assert Decision.from_json(decision_event(QUESTION, decision)["decision"]) == decision

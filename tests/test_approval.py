"""Who decides whether a call may run, and what a decision does to it."""

import asyncio
import builtins
from typing import Annotated

import pytest
from pydantic import AfterValidator

from course_kit.contract.messages import text, tool_result, tool_use
from course_kit.harness.approval import ask_at_prompt, decide_later, decisions_from, verdict, verdict_async
from course_kit.harness.decisions import Decision, allow, deny, edit, wait
from course_kit.harness.loop import RunCalls
from course_kit.harness.running import CallContext, current_call
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
    pytest.param(
        decide_later,
        deny("its approver gave a function and no decision: call it, as in `approver=decide_later()`"),
        id="brackets_forgotten",
    ),
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
    monkeypatch.setattr(builtins, "input", lambda prompt: typed if prompt == "Allow it? y, or why not: " else "n/a")
    assert ask_at_prompt({**QUESTION, "input": {"path": "Müll"}}) == decision
    assert capsys.readouterr().out == 'The model wants to call delete_file with\n{\n  "path": "Müll"\n}\n'


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


def test_a_call_that_is_decided_is_not_asked_about_again():
    other = tool_use("toolu_2", "delete_file", {"path": "b"})
    assert turn_of(QUESTION, other, decided=[decision_event(QUESTION, deny("no"))]).questions == [other]


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
    why = refused("delete_file", "nobody decided about it")
    assert list(turn_of(QUESTION).run(5)) == [{"event": "result", "result": why, "failure": "DENIED", "seconds": 0.0}]
    assert DONE == []


def test_an_edit_runs_and_the_model_is_told():
    turn = turn_of(QUESTION, decided=[decision_event(QUESTION, edit({"path": "Müll"}))])
    said = 'A person changed the input before this ran, to: {"path": "Müll"}'
    assert results(turn) == [tool_result("toolu_1", [text(said), text("deleted Müll")])] and DONE == ["Müll"]


UNFIT = [
    ({"path": 5}, '`path` must be a string, but the integer 5 came; send it in quotes: "5"'),
    ({}, "`path` is required but missing; send a string"),
    (
        {"path": 5, "force": True},
        '`path` must be a string, but the integer 5 came; send it in quotes: "5". '
        "`force` is not a field of this object, allowed are `path`; leave it out",
    ),
]


@pytest.mark.parametrize(("changed", "why"), UNFIT)
def test_an_edit_is_checked_like_any_input(changed, why):
    given = results(turn_of(QUESTION, decided=[decision_event(QUESTION, edit(changed))]))
    why = f"a person changed its input, and the change does not fit: {why}"
    assert given == [refused("delete_file", why)] and DONE == []


def open_on(day: str) -> str:
    if day == "Monday":
        raise ValueError("closed on Mondays")
    return {"Tuesday": "open"}[day]


@pytest.mark.parametrize(
    ("when", "why"), [("Monday", "`when`: Value error, closed on Mondays"), ("Mayday", "KeyError: 'Mayday'")]
)
def test_an_edit_is_checked_by_the_functions_own_types_too(when, why):
    @tool(needs_approval=True)
    def pay(when: Annotated[str, AfterValidator(open_on)]) -> str:
        DONE.append(when)
        return "paid"

    question = tool_use("toolu_1", "pay", {"when": "Tuesday"})
    why = f"a person changed its input, and the change does not fit: {why}"
    turn = turn_of(question, decided=[decision_event(question, edit({"when": when}))], tools=[pay])
    assert results(turn) == [refused("pay", why)] and DONE == []


def test_while_one_call_waits_none_of_its_turn_runs():
    other = tool_use("toolu_2", "read_file", {"path": "a"})
    assert list(turn_of(QUESTION, other, decided=[decision_event(QUESTION, wait())]).run(5)) == []


def events_awaited(turn: Turn, limit: int, run_id: str | None) -> list[dict]:
    async def main():
        return [event async for event in turn.run_async(limit, run_id)]

    return asyncio.run(main())


def events_plain(turn: Turn, limit: int, run_id: str | None) -> list[dict]:
    return list(turn.run(limit, run_id))


@pytest.mark.parametrize("events_of", [events_plain, events_awaited])
def test_a_turn_hands_on_how_many_calls_run_at_once_and_whose_they_are(events_of):
    @tool(effect="read")
    def who() -> str:
        return str(current_call())

    calls = [tool_use("toolu_1", "who", {}), tool_use("toolu_2", "who", {})]
    together = events_of(turn_of(*calls, tools=[who]), 2, "run_7")
    assert [event["event"] for event in together] == ["started", "started", "result", "result"]
    alone = events_of(turn_of(*calls, tools=[who]), 1, "run_7")
    assert [event["event"] for event in alone] == ["started", "result", "started", "result"]
    assert [event["result"] for event in alone if event["event"] == "result"] == [
        tool_result(id, str(CallContext(id, "run_7"))) for id in ("toolu_1", "toolu_2")
    ]


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

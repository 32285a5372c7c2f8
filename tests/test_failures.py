"""What can go wrong with a call: the table, the codes, and the count of failing turns."""

import ast
import contextlib
import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_kit.contract.messages import tool_result, tool_use
from course_kit.errors import ToolError
from course_kit.harness.failures import (
    FAILURES,
    code_of,
    counts,
    details,
    failing_turns,
    invalid_json,
    one_line,
    over_cap,
    unknown_tool,
)

PACKAGE = Path(__file__).resolve().parents[1] / "course_kit"


# The table


def test_what_counts_towards_the_cap():
    """Validation errors, tool failures and unknown tools count; refusals, of a person or of the business, do not."""
    assert {code for code in FAILURES if not counts(code)} == {
        *("DENIED", "NOT_RUN", "INTERRUPTED", "OUTCOME_UNKNOWN"),
        *("NOT_ALLOWED", "WRONG_STATUS", "OVER_REFUND", "KEY_REUSED"),
    }
    assert all(counts(code) for code in ("INVALID_INPUT", "UNKNOWN_TOOL", "EXCEPTION", "TIMEOUT", "NOT_FOUND"))
    assert counts("A_TOOLS_OWN_CODE") is True
    assert counts(None) is False


def test_few_failures_are_worth_the_same_call_again():
    assert {code for code, row in FAILURES.items() if row.retryable} == {"TIMEOUT", "BUSY", "NOT_RUN"}


def test_who_can_act():
    actors = {code: row.actor for code, row in FAILURES.items() if row.actor != "model"}
    assert actors == {
        **dict.fromkeys(("DENIED", "INTERRUPTED", "NOT_ALLOWED"), "person"),
        **dict.fromkeys(("CREDENTIALS", "INTERNAL"), "operator"),
    }


@pytest.mark.parametrize("name", ["shop", "example_tools"])
def test_every_code_of_the_example_tools_is_in_the_table(name):
    source = ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
    raised = {
        node.args[0].value
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ToolError"
    }
    assert raised and raised - set(FAILURES) == set()


# Codes of exceptions


class AuthenticationError(Exception):
    """As the providers' SDKs call it."""


class Answered(Exception):
    """As HTTP clients have it: with the response."""

    def __init__(self, status_code):
        self.response = type("Response", (), {"status_code": status_code})()


def dead_database():
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("SELECT * FROM orders")


def bug():
    return None.orders  # type: ignore[attr-defined]


def raised_by(function) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(ToolError("NOT_FOUND", "no order 7"), "NOT_FOUND", id="its_own"),
        pytest.param(ToolError("", "no order 7"), "EXCEPTION", id="its_own_is_empty"),
        pytest.param(KeyError("x"), "EXCEPTION", id="perhaps_the_input"),
        pytest.param(ConnectionError("reset"), "EXCEPTION", id="connection"),
        pytest.param(FileNotFoundError(2, "No such file", "a.txt"), "EXCEPTION", id="file"),
        pytest.param(PermissionError(13, "Permission denied", "a.txt"), "EXCEPTION", id="this_file_may_not_be_read"),
        pytest.param(SystemExit(2), "EXCEPTION", id="exit"),
        pytest.param(TimeoutError("late"), "TIMEOUT", id="timeout"),
        pytest.param(raised_by(dead_database), "INTERNAL", id="dead_database"),
        pytest.param(sqlite3.IntegrityError("UNIQUE"), "INTERNAL", id="database_constraint"),
        pytest.param(raised_by(bug), "INTERNAL", id="bug"),
        pytest.param(ModuleNotFoundError("No module named 'x'"), "INTERNAL", id="not_installed"),
        pytest.param(RecursionError(), "INTERNAL", id="recursion"),
        pytest.param(AuthenticationError("sk-123 is no key"), "CREDENTIALS", id="key_refused"),
        pytest.param(Answered(401), "CREDENTIALS", id="http_401"),
        pytest.param(Answered(403), "EXCEPTION", id="http_403_may_be_about_the_user"),
        pytest.param(ExceptionGroup("two", [ValueError(), AuthenticationError()]), "CREDENTIALS", id="in_a_group"),
        pytest.param(ExceptionGroup("two", [ValueError(), KeyError()]), "EXCEPTION", id="group"),
    ],
)
def test_the_code_of_an_exception(error, code):
    assert code_of(error) == code


def test_the_operators_failures_are_one_line_for_the_model():
    assert one_line("CREDENTIALS", "refund_order") == (
        "CREDENTIALS: `refund_order` is out of order, whatever is sent to it. Do not call it again; tell the user."
    )
    assert [one_line(code, "x") for code in ("EXCEPTION", "NOT_FOUND", "NOT_ALLOWED", "MY_OWN")] == [None] * 4


def test_the_operator_learns_what_and_where():
    error = raised_by(bug)
    line = bug.__code__.co_firstlineno + 1
    assert details(error) == (
        f"AttributeError: 'NoneType' object has no attribute 'orders' (test_failures.py, line {line}, in bug)"
    )
    assert details(ValueError("never raised")) == "ValueError: never raised"


def test_a_name_that_is_not_there():
    assert unknown_tool("x", {}, []) == "There is no tool `x`, nor any other."
    assert unknown_tool("Add", {}, ["sub", "add"]) == (
        "There is no tool `Add`. Did you mean `add`? The tools are: add, sub."
    )
    assert unknown_tool("multiply", {}, ["sub", "add"]) == "There is no tool `multiply`. The tools are: add, sub."
    assert unknown_tool("Sub", {}, ["add", "sub"]) == (
        "There is no tool `Sub`. Did you mean `sub`? The tools are: add, sub."
    )
    assert unknown_tool("x", {"x": {}}, []) == "`x` has a definition here and no function, so nothing was run."


@pytest.mark.parametrize(("number", "more"), [(50, ""), (51, " and 1 more")])
def test_of_many_names_fifty_are_listed(number, more):
    names = [f"t{index:02}" for index in range(number)]
    assert unknown_tool("multiply", {}, names) == (
        f"There is no tool `multiply`. The tools are: {', '.join(names[:50])}{more}."
    )


# Failing turns

OK = None


def turns(*each: dict[str, list[str | None]]) -> list[dict]:
    """The events of a run: for every turn the tools called, and how each call failed (None: it did not)."""
    events: list[dict] = []
    for number, turn in enumerate(each):
        calls = [(f"toolu_{number}_{name}_{i}", name, code) for name in turn for i, code in enumerate(turn[name])]
        blocks = [tool_use(id, name) for id, name, _ in calls]
        message = {"role": "assistant", "content": blocks, "stop_reason": "tool_use"}
        events.append({"event": "reply", "message": message})
        events += [{"event": "started", "tool_use_id": id} for id, _, _ in calls]
        for id, _, code in reversed(calls):
            result = tool_result(id, "said", is_error=code is not None)
            events.append({"event": "result", "result": result, **({"failure": code} if code else {}), "seconds": 0.0})
    return events


FAILS = {"a": ["NOT_FOUND"]}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(turns({"a": [OK]}), {}, id="success"),
        pytest.param(turns({"a": ["EXCEPTION"] * 3}), {"a": 1}, id="fr23_three_in_one_turn_are_one"),
        pytest.param(turns(FAILS, FAILS), {"a": 2}, id="two_turns"),
        pytest.param(turns(FAILS, {"b": [OK]}, FAILS), {"a": 2}, id="a_turn_without_it_changes_nothing"),
        pytest.param(turns(FAILS, FAILS, {"a": [OK]}, FAILS), {"a": 1}, id="a_success_starts_anew"),
        pytest.param(turns(FAILS, {"a": [OK, "NOT_FOUND"]}), {}, id="a_success_beside_a_failure"),
        pytest.param(turns(FAILS, {"a": ["NOT_FOUND", OK]}), {}, id="whichever_came_first"),
        pytest.param(turns(FAILS, {"b": ["TIMEOUT"], "a": ["EXCEPTION"]}), {"a": 2, "b": 1}, id="counted_per_tool"),
        pytest.param(turns({"a": ["INVALID_INPUT"], "x": ["UNKNOWN_TOOL"]}), {"a": 1, "x": 1}, id="validation_counts"),
        pytest.param(turns({"a": ["DENIED"]}, {"a": ["OVER_REFUND"]}), {}, id="refusals_do_not"),
        pytest.param(turns(FAILS, {"a": ["DENIED"]}, {"a": ["WRONG_STATUS"]}), {"a": 1}, id="and_change_nothing"),
        pytest.param(turns({"a": ["DENIED", "NOT_FOUND"]}), {"a": 1}, id="a_refusal_beside_a_failure"),
        pytest.param([*turns(FAILS), {"event": "lost", "reason": "cut"}, *turns(FAILS)], {"a": 2}, id="cut_between"),
    ],
)
def test_fr23_failing_turns(events, expected):
    assert failing_turns(events) == expected


def test_a_failed_result_without_a_code_counts_too():
    events = [{k: v for k, v in event.items() if k != "failure"} for event in turns(FAILS, FAILS)]
    assert failing_turns(events) == {"a": 2}


def test_the_events_of_resumes_and_decisions_are_passed_over():
    first, second = turns(FAILS), turns({"a": [OK]}, FAILS)[3:]
    decision = {"event": "decision", "tool_use_id": "toolu_1_a_0", "decision": {"verdict": "allow"}}
    assert failing_turns([*first, decision, *second, {"event": "stop", "reason": "awaiting_approval"}]) == {"a": 2}
    assert failing_turns([{"event": "result", "result": tool_result("nobody's", "x", is_error=True)}]) == {}


def test_fr23_the_run_ends_after_one_failing_turn_more_than_the_cap_and_names_the_tool():
    other = {"b": ["NOT_FOUND"]}
    assert over_cap(turns({"a": ["EXCEPTION"] * 3}), 2) is None
    assert over_cap(turns(FAILS, other, FAILS), 2) is None
    assert over_cap(turns(FAILS, other, FAILS, FAILS), 2) == "a"
    assert over_cap(turns(FAILS), 0) == "a"
    assert over_cap(turns({"a": [OK]}), 0) is None


def test_a_refused_key_is_known_by_its_status():
    """With the status on the exception itself, or on its response, as the HTTP libraries have it."""
    own, of_the_response = RuntimeError("no"), RuntimeError("no")
    own.status_code = 401
    of_the_response.response = SimpleNamespace(status_code=401)
    assert [code_of(error) for error in (own, of_the_response)] == ["CREDENTIALS", "CREDENTIALS"]


INSIDE = {"properties": {"INVALID_JSON": {}}}
SENT_WRONG = [
    pytest.param('{"ä', INSIDE, '{"ä', 'not valid JSON at line 1, column 2, near "{\\"ä', id="text"),
    pytest.param(b'{"a', {}, '{"a', 'not valid JSON at line 1, column 2, near "{\\"a', id="bytes"),
    pytest.param({"INVALID_JSON": '{"a'}, {}, '{"a', 'not valid JSON at line 1, column 2, near "{\\"a', id="kept"),
    pytest.param({"INVALID_JSON": ""}, {}, "", 'not valid JSON at line 1, column 1, near "', id="kept_and_empty"),
]
ENDS = '": the text ends before the JSON is complete'
SEND = "The tool was not run: send the whole input as one JSON object, with nothing around it."


@pytest.mark.parametrize(("input", "schema", "text", "found"), SENT_WRONG)
def test_an_input_that_came_as_text_and_is_no_json(input, schema, text, found):
    said = invalid_json(input, schema)
    assert json.loads(said) == {"INVALID_JSON": text, "problem": f"The input is {found}{ENDS}. {SEND}"}
    assert "ä" in said or "ä" not in text


def test_json_that_a_driver_kept_as_text_never_reaches_a_tool():
    said = {"INVALID_JSON": "{}", "problem": f"The input is text, and was not taken for JSON. {SEND}"}
    assert json.loads(invalid_json({"INVALID_JSON": "{}"}, {})) == said


LEFT = [
    pytest.param({"INVALID_JSON": '{"a'}, INSIDE, id="a_field_of_the_tool"),
    pytest.param({"INVALID_JSON": '{"a', "b": 1}, {}, id="beside_another_field"),
    pytest.param({"INVALID_JSON": 5}, {}, id="a_number_under_the_name"),
    pytest.param(["INVALID_JSON"], {}, id="a_list"),
    pytest.param({"a": 1}, {}, id="an_object"),
    pytest.param(" ", {}, id="empty_text"),
    pytest.param('{"a": 1}', {}, id="json_in_text"),
]


@pytest.mark.parametrize(("input", "schema"), LEFT)
def test_what_is_no_text_that_failed_as_json_is_left_to_the_schema(input, schema):
    assert invalid_json(input, schema) is None

"""Cases as data: in and out of a file, and what is refused in one sentence."""

import json

import pytest

from course_kit.contract.messages import assistant, user
from course_kit.evaluation.cases import Case, CaseError, Expect, ExpectedCall, load_cases, save_cases

VASE = {
    "id": "vase",
    "kind": "positive",
    "prompt": "Refund 19.99 on ORD-20260910, the vase broke.",
    "risk": 5,
    "tags": ["refund"],
    "expect": {
        "calls": [{"tool": "refund_order", "input": {"order_id": "ORD-20260910"}, "match": "exact"}, "query_order"],
        "may_call": ["search_orders"],
        "ordered": True,
        "never": ["cancel_order"],
        "state": [{"sql": "SELECT amount_cents FROM refunds", "rows": [[1999]]}],
        "says": ["refund"],
        "never_says": ["sorry"],
        "stopped": "end_turn",
    },
}


def file_of(tmp_path, *lines):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_case_is_what_its_line_says(tmp_path):
    [case] = load_cases(file_of(tmp_path, VASE))
    assert case == Case(
        id="vase",
        kind="positive",
        prompt="Refund 19.99 on ORD-20260910, the vase broke.",
        risk=5,
        tags=("refund",),
        expect=Expect(
            calls=(ExpectedCall("refund_order", {"order_id": "ORD-20260910"}, "exact"), ExpectedCall("query_order")),
            may_call=("search_orders",),
            ordered=True,
            never=("cancel_order",),
            state=({"sql": "SELECT amount_cents FROM refunds", "rows": [[1999]]},),
            says=("refund",),
            never_says=("sorry",),
            stopped="end_turn",
        ),
    )
    assert case.to_dict() == VASE


def test_a_file_comes_back_as_it_was_written(tmp_path):
    cases = [
        Case(**VASE),
        Case("policy", "negative", "Wie lautet die Rückgabe-Regel?"),
        Case("talk", "odd", turns=("One.", "Two."), expect={"says": ["two"]}),
        Case("later", "hostile", messages=[user("a"), assistant("b")], prompt="c", expect={"never": ["refund_order"]}),
    ]
    save_cases(cases, tmp_path / "again.jsonl")
    assert load_cases(tmp_path / "again.jsonl") == cases
    assert "Rückgabe" in (tmp_path / "again.jsonl").read_text(encoding="utf-8")


def test_blank_lines_comments_and_a_byte_order_mark_are_skipped(tmp_path):
    path = tmp_path / "cases.jsonl"
    text = "# refunds\n\n// and more\n" + json.dumps(VASE) + "\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [case.id for case in load_cases(path)] == ["vase"]


def test_a_negative_case_expects_no_call_without_saying_so():
    assert Case("policy", "negative", "What is your policy?").expect.calls == ()


def test_what_is_said_first_and_afterwards():
    case = Case("a", prompt="c", messages=[user("a"), assistant("b")], expect={"calls": []})
    assert case.opening == [user("a"), assistant("b"), user("c")]
    assert (case.said, Case("b", turns=["x", "y"], expect={"calls": []}).said) == (("c",), ("x", "y"))
    assert Case("c", messages=[user("a")], expect={"calls": []}).opening == [user("a")]


def test_the_digest_changes_with_the_case_and_not_otherwise():
    assert Case(**VASE).digest == Case(**json.loads(json.dumps(VASE))).digest
    assert Case(**VASE).digest != Case(**{**VASE, "prompt": "Refund 20."}).digest
    assert Case(**VASE).digest != Case(**{**VASE, "expect": {"calls": []}}).digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"promt": "x"}, "a case has no field `promt`: `prompt`?", id="misspelt_field"),
        pytest.param({"expect": {"call": []}}, "`expect` has no field `call`: `calls`?", id="misspelt_expectation"),
        pytest.param({"kind": "good"}, "`kind` is 'good': say one of positive, negative, odd, hostile", id="kind"),
        pytest.param({"expect": {}}, "nothing is expected", id="no_expectation"),
        pytest.param({"prompt": None}, "nothing is said", id="no_prompt"),
        pytest.param({"turns": ["a"]}, "`prompt` and `turns` are both given", id="prompt_and_turns"),
        pytest.param({"prompt": None, "turns": "a"}, "`turns` is one text: give a list", id="turns_is_text"),
        pytest.param({"prompt": None, "messages": [assistant("b")]}, "ends with the assistant", id="assistant_last"),
        pytest.param({"risk": 0}, "`risk` is 0: give a number above 0", id="risk"),
        pytest.param({"risk": True}, "`risk` is True", id="risk_is_boolean"),
        pytest.param({"id": " "}, "give each case a short name", id="blank_id"),
        pytest.param({"kind": "negative"}, "a negative case expects no call", id="negative_with_call"),
        pytest.param({"expect": {"calls": "refund_order"}}, "`calls` is one call: give a list", id="calls_is_text"),
        pytest.param({"expect": {"calls": [{"input": {}}]}}, "an expected call names no `tool`", id="no_tool"),
        pytest.param({"expect": {"calls": [7]}}, "a call is a JSON object, not int", id="call_is_number"),
        pytest.param({"expect": {"calls": [{"tool": "a", "match": "some"}]}}, "`match` is 'some'", id="match_unknown"),
        pytest.param({"expect": {"calls": [{"tool": "a", "input": []}]}}, "is not an object", id="input_is_list"),
        pytest.param({"expect": {"says": "refund"}}, "`says` is one entry: give a list", id="says_is_text"),
        pytest.param({"expect": {"state": [{"sql": "SELECT 1"}]}}, '`{"sql": ..., "rows":', id="state_without_rows"),
    ],
)
def test_a_wrong_line_is_one_sentence_with_its_number(tmp_path, change, said):
    good = {**VASE, "id": "good"}
    path = file_of(tmp_path, good, "", {**VASE, **change})
    with pytest.raises(CaseError) as caught:
        load_cases(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(['{"id": 1'], "line 1: this is not JSON (Expecting ',' delimiter, column 9)", id="not_json"),
        pytest.param(["[]"], "line 1: a case is a JSON object, not list", id="list"),
        pytest.param(['{"kind": "odd"}'], "line 1: `id` is missing", id="no_id"),
        pytest.param([VASE, VASE], "line 2: there is another case 'vase'", id="twice"),
        pytest.param(["# nothing"], "holds no case", id="empty"),
    ],
)
def test_a_file_that_holds_no_cases(tmp_path, lines, said):
    with pytest.raises(CaseError) as caught:
        load_cases(file_of(tmp_path, *lines))
    assert said in str(caught.value)


def test_a_file_that_is_not_there_or_not_utf8(tmp_path):
    with pytest.raises(CaseError, match="cannot be read .* name a file of cases"):
        load_cases(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "caf\xe9"}')
    with pytest.raises(CaseError, match="save it as UTF-8"):
        load_cases(tmp_path / "latin.jsonl")


@pytest.mark.parametrize("between", ["\u2028", "\u2029", "\x85", "\x0b", "\r", "\n"])
def test_a_text_may_hold_any_line_end(between, tmp_path):
    case = Case("a", "negative", f"One{between}two")
    save_cases([case, Case("b", "negative", "Three")], tmp_path / "cases.jsonl")
    assert load_cases(tmp_path / "cases.jsonl")[0] == case


def test_a_function_cannot_be_saved(tmp_path):
    case = Case("a", prompt="b", expect={"state": [lambda state: True]})
    with pytest.raises(CaseError, match="a function cannot be written to a file"):
        save_cases([case], tmp_path / "a.jsonl")

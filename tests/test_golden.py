"""Golden traces: what is kept of a run, what a diff says, and the course's own set, equal across the interfaces.

Where the set has to be recorded anew (a definition of the desk was changed on purpose): `python tests/test_golden.py`.
"""

import json
import os
import tempfile
from pathlib import Path

import pytest

from course_kit import Definition, definition_to, desk_tools, open_shop, run_agent
from course_kit.contract.messages import tool_result
from course_kit.contract.shapes import request_to
from course_kit.evaluation.golden import ABSENT, GOLDENS, Difference, Golden, GoldenError, diff_golden, golden
from course_kit.evaluation.golden import load_golden as load
from course_kit.mock.provider import MockProvider as Mock
from course_kit.mock.scripted import call
from course_kit.providers.openai import openai_chat, openai_responses

INTERFACES = {
    "anthropic": lambda mock: mock.client(max_retries=0),
    "openai_chat": lambda mock: openai_chat(mock.openai_client(max_retries=0)),
    "openai_responses": lambda mock: openai_responses(mock.openai_client(max_retries=0)),
}
STORY = "My cup arrived broken. Please refund 19.99 for order ORD-20260917."
DESK = {
    "refund": STORY,
    "parcel_and_order": "Where is the parcel of order ORD-20260917, and what is its status?",
    "over_refund": "Please refund 900.00 for order ORD-20260917, it is damaged.",
    "not_found": "Refund order ORD-99999999, 5.00, it never came.",
    "no_call": "Good morning!",
}
REFUND = {
    "name": "refund_order",
    "description": "Pay money back for a delivered order. Use when the user asks for a refund and names the order. "
    "Never more than was paid. Not for an order that is not yet shipped: use cancel_order.",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "Such as ORD-20260917."},
            "amount_cents": {"type": "integer", "minimum": 1, "description": "In cents: 19.99 is 1999."},
            "reason": {"type": "string", "enum": ["damaged", "not_received", "wrong_item", "other"]},
        },
        "required": ["order_id", "amount_cents", "reason"],
        "additionalProperties": False,
    },
}


def desk_run(interface: str, question: str, folder: Path) -> Mock:
    mock = Mock()
    shop = open_shop(folder / f"{interface}.sqlite3")
    shop.reset()
    run_agent(INTERFACES[interface](mock), messages=question, tools=desk_tools(shop), approver=lambda call: True)
    return mock


def bad_morning(interface: str) -> Mock:
    """The lesson's conversation: the first attempt fails, and only the flag says so."""
    mock, failures = Mock(), [True]
    client = INTERFACES[interface](mock)
    send = client if callable(client) else lambda request: client.messages.create(**request).to_dict()
    messages = [{"role": "user", "content": STORY}]
    while True:
        reply = send({"model": "claude-opus-5", "max_tokens": 1024, "tools": [REFUND], "messages": messages})
        messages.append({"role": "assistant", "content": reply["content"]})
        if reply["stop_reason"] != "tool_use":
            return mock
        [wanted] = [block for block in reply["content"] if block["type"] == "tool_use"]
        wish = wanted["input"]
        record = {"payment": "PAY-4821", "refund_cents": wish["amount_cents"]}
        failed = failures.pop() if failures else False
        messages.append({"role": "user", "content": [tool_result(wanted["id"], json.dumps(record), is_error=failed)]})


def mock_of(name: str, interface: str, folder: Path) -> Mock:
    return bad_morning(interface) if name == "bad_morning" else desk_run(interface, DESK[name], folder)


# The course's own set


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("name", [*DESK, "bad_morning"])
def test_every_interface_repeats_the_golden_trace(name, interface, tmp_path):
    if interface != "anthropic":
        pytest.importorskip("openai", reason="the extra `providers` is not installed")
    kept = load(GOLDENS / f"{name}.jsonl")
    now = golden(mock_of(name, interface, tmp_path).requests)
    assert str(diff_golden(kept, now)) == f"{len(kept)} steps, no difference", "or record anew: see above"


def test_the_set_is_complete_and_says_what_it_is():
    assert sorted(path.stem for path in GOLDENS.glob("*.jsonl")) == sorted([*DESK, "bad_morning"])
    for path in GOLDENS.glob("*.jsonl"):
        assert load(path).about["recorded"] == "2026-11-30"


def test_the_set_holds_no_ids_of_a_run():
    for path in GOLDENS.glob("*.jsonl"):
        assert "toolu_" not in path.read_text(encoding="utf-8")


# What a step holds

TOOL = definition_to("anthropic", Definition("add", "Add.", {"type": "object", "properties": {}})).value


def exchange(shape, messages, content, stop="tool_use", **fields):
    """What a mock keeps of a request, as a line of a recording."""
    path = {"anthropic": "/v1/messages", "openai_chat": "/v1/chat/completions", "openai_responses": "/v1/responses"}
    body = request_to(shape, {"model": "m", "max_tokens": 9, "messages": messages, "tools": [TOOL], **fields}).value
    from course_kit.contract.shapes import reply_to

    reply = reply_to(shape, {"id": "msg_1", "content": content, "stop_reason": stop}).value
    return {"request": {"path": path[shape], "body": body}, "response": {"status": 200, "body": reply}}


ASKED = [{"role": "user", "content": "Add."}]
CALL = {"type": "tool_use", "id": "toolu_x", "name": "add", "input": {"a": 1}}
FAILED = {"type": "tool_result", "tool_use_id": "toolu_x", "content": "no", "is_error": True}
ANSWERED = [*ASKED, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [FAILED]}]
SORRY = [{"type": "text", "text": "Sorry."}]


def conversation(shape, **fields):
    return [exchange(shape, ASKED, [CALL], **fields), exchange(shape, ANSWERED, SORRY, "end_turn", **fields)]


@pytest.mark.parametrize("shape", ["anthropic", "openai_chat", "openai_responses"])
def test_a_step_has_what_was_new_and_what_was_answered(shape):
    digest = golden(conversation(shape)).steps[0]["tools"]["add"]
    assert len(digest) == 8
    assert golden(conversation(shape), name="x") == Golden(
        (
            {
                "tools": {"add": digest},
                "given": [{"type": "text", "text": "Add."}],
                "stop": "tool_use",
                "calls": [{"id": "call 1", "name": "add", "input": {"a": 1}}],
                "said": "",
            },
            {
                "tools": {"add": digest},
                "given": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "call 1",
                        "content": [{"type": "text", "text": "no"}],
                        "is_error": True,
                    }
                ],
                "stop": "end_turn",
                "calls": [],
                "said": "Sorry.",
            },
        ),
        {"name": "x"},
    )


def test_choice_and_system_are_kept_where_they_are_sent():
    step = golden(conversation("openai_chat", system="Be kind.", tool_choice={"type": "any"})).steps[1]
    assert (step["system"], step["choice"]) == ("Be kind.", {"type": "any"})


def test_the_digest_changes_with_the_text_and_the_schema():
    def digest(**changes):
        one = exchange("anthropic", ASKED, [CALL])
        one["request"]["body"] = {**one["request"]["body"], "tools": [{**TOOL, **changes}]}
        return golden([one]).steps[0]["tools"]["add"]

    assert digest() == digest(strict=False)
    assert len({digest(), digest(description="Sum."), digest(input_schema={"type": "object"})}) == 3


def test_refused_requests_are_left_out():
    refused = {"request": {"path": "/v1/messages", "body": {}}, "response": {"status": 400, "body": {}}}
    assert len(golden([refused, *conversation("anthropic")])) == 2
    with pytest.raises(GoldenError, match="no answered request"):
        golden([refused])


def test_a_history_kept_by_the_provider_cannot_be_read():
    one = exchange("openai_responses", ASKED, [CALL])
    one["request"]["body"]["previous_response_id"] = "resp_1"
    with pytest.raises(GoldenError, match="history with the provider"):
        golden([one])


# The file


def test_a_file_gives_the_same_again(tmp_path):
    trace = golden(conversation("anthropic"), name="add", question="é\u2028\x85")
    assert load(trace.save(tmp_path / "a.jsonl")) == trace
    first = (tmp_path / "a.jsonl").read_text(encoding="utf-8").split("\n")[0]
    assert json.loads(first) == {"golden": 1, "name": "add", "question": "é\u2028\x85"}


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "There is no golden trace"), ("{", "is no JSONL"), ("", "does not begin"), ('{"golden": 2}', "format 1")],
)
def test_a_file_that_is_none_is_said_to_be_none(tmp_path, text, said):
    path = tmp_path / "a.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(GoldenError, match=said):
        load(path)


# Comparing


def without_flag(exchanges):
    bare = {key: value for key, value in FAILED.items() if key != "is_error"}
    messages = [*ANSWERED[:2], {"role": "user", "content": [bare]}]
    return [exchanges[0], exchange("openai_chat", messages, [{"type": "text", "text": "Done."}], "end_turn")]


def test_a_lost_flag_is_the_first_difference_and_its_effect_comes_after():
    kept = golden(conversation("anthropic"))
    diff = diff_golden(kept, golden(without_flag(conversation("openai_chat"))))
    assert diff.differences == (
        Difference(2, "given.0.is_error", True, ABSENT),
        Difference(2, "said", "Sorry.", "Done."),
    )
    assert (bool(diff), diff.first) == (False, 2)
    assert str(diff) == (
        'step 2  given.0.is_error: golden true, now absent\nstep 2  said: golden "Sorry.", now "Done."'
    )


def test_a_turn_that_comes_back_changed_is_told_before_what_follows():
    kept = golden(conversation("anthropic"))
    for change in ({"input": {"a": "1"}}, {"name": "sum"}, {"id": "toolu_y"}):
        changed = {**CALL, **change}
        results = {**FAILED, "tool_use_id": changed["id"]}
        messages = [*ASKED, {"role": "assistant", "content": [changed]}, {"role": "user", "content": [results]}]
        now = golden([conversation("anthropic")[0], exchange("anthropic", messages, SORRY, "end_turn")])
        first = diff_golden(kept, now).differences[0]
        assert (first.step, first.path, first.golden) == (2, "echo", ABSENT)


def test_what_may_differ_is_ignored():
    kept = golden(conversation("anthropic"))
    now = golden(
        [conversation("anthropic")[0], exchange("anthropic", ANSWERED, [{"type": "text", "text": "Oh!"}], "end_turn")]
    )
    assert diff_golden(kept, now).differences == (Difference(2, "said", "Sorry.", "Oh!"),)
    assert diff_golden(kept, now, ignore=("said",))


def test_one_name_may_be_ignored_and_one_that_is_none_is_said():
    kept = golden(conversation("anthropic"))
    now = Golden(({**kept.steps[0], "said": "Oh!"}, *kept.steps[1:]))
    assert diff_golden(kept, now, ignore="said") and not diff_golden(kept, now, ignore="choice")
    with pytest.raises(GoldenError) as caught:
        diff_golden(kept, now, ignore=("saids",))
    assert str(caught.value) == (
        "A step has no field 'saids': ignore some of tools, choice, system, echo, given, stop, calls, said."
    )


@pytest.mark.parametrize("given", [ASKED, "Add.", None, {"role": "user"}, [{"request": {}}]])
def test_what_is_no_exchange_is_said(given):
    with pytest.raises(GoldenError) as caught:
        golden(given)
    assert str(caught.value) == "This is no exchange: give mock.requests, not messages."


def test_what_is_no_golden_trace_cannot_be_compared():
    kept = golden(conversation("anthropic"))
    for pair in ((kept, conversation("anthropic")), ([], kept)):
        with pytest.raises(GoldenError) as caught:
            diff_golden(*pair)
        said = "Two golden traces are compared: make each with golden(…) or load_golden(…)."
        assert str(caught.value) == said


def test_a_step_too_many_and_one_too_few():
    two, one = golden(conversation("anthropic")), golden(conversation("anthropic")[:1])
    assert str(diff_golden(two, one)) == "step 2  the whole step: golden end_turn, no call, now there is none"
    assert str(diff_golden(one, two)) == "step 2  the whole step: golden there is none, now end_turn, no call"


def test_another_call_and_another_input_are_told_apart_from_true_and_one():
    def of(**inputs):
        mock = Mock([call("add", inputs), "ok"])
        mock.client().messages.create(model="claude-opus-5", max_tokens=100, messages=ASKED, tools=[TOOL])
        return golden(mock.requests)

    assert diff_golden(of(a=1), of(a=True)).differences == (Difference(1, "calls.0.input.a", 1, True),)
    assert diff_golden(of(a=1), of(a=1, b=None)).differences == (Difference(1, "calls.0.input.b", ABSENT, None),)


def test_a_trace_in_words():
    assert str(golden(conversation("anthropic"))).split("\n") == [
        "step 1  reads    text Add.",
        'step 1  call 1   add {"a": 1}',
        "step 1  stops    tool_use",
        "step 2  reads    error call 1: no",
        "step 2  says     Sorry.",
        "step 2  stops    end_turn",
    ]


def record() -> None:
    """Record the course's own set anew, on the Messages API."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COURSE_WORKSPACE"] = folder
        for name in [*DESK, "bad_morning"]:
            about = {
                "name": name,
                "question": DESK.get(name, STORY),
                "recorded": "2026-11-30",
                "with": "anthropic 2.14",
            }
            golden(mock_of(name, "anthropic", Path(folder)).requests, **about).save(GOLDENS / f"{name}.jsonl")


if __name__ == "__main__":
    record()

"""The loop on OpenAI's two interfaces: the same run as on the Messages API, whatever the shapes do in between."""

import asyncio
import json

import pytest

from course_kit import desk_tools, open_shop, run_agent, run_agent_async, tool
from course_kit.contract.messages import content_blocks
from course_kit.contract.strict import strict_refusals
from course_kit.mock import faults
from course_kit.mock.provider import MockProvider as Mock
from course_kit.mock.scripted import call
from course_kit.providers.openai import ReplyFailed, openai_chat, openai_responses

openai = pytest.importorskip("openai", reason="the extra `providers` is not installed")


def on_anthropic(mock, **options):
    return mock.client(max_retries=0)


def on_chat(mock, **options):
    return openai_chat(mock.openai_client(max_retries=0), **options)


def on_responses(mock, **options):
    return openai_responses(mock.openai_client(max_retries=0), **options)


OPENAI = pytest.mark.parametrize("connect", [on_chat, on_responses])
EVERY = pytest.mark.parametrize("connect", [on_anthropic, on_chat, on_responses])
STORY = "My cup arrived broken. Please refund 19.99 for order ORD-20260917."


@tool(effect="read")
def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


FORECAST = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": ["string", "null"]}, "days": {"type": "integer"}},
    "required": ["city"],
}


@tool(effect="read", strict=True, input_schema=FORECAST)
def lookup(city: str, unit: str | None = "C", days: int = 3) -> str:
    """Look the weather up."""
    return f"{city} {unit} {days}"


def canonical(run):
    """What a run did, call by call, without what no two providers share: ids by their order, no counts, no models."""
    known: dict[str, str] = {}

    def named(value):
        if isinstance(value, dict):
            return {key: named(item) for key, item in value.items() if key != "caller"}
        if isinstance(value, list):
            return [named(item) for item in value]
        return known.get(value, value) if isinstance(value, str) else value

    for message in run.messages:
        for block in content_blocks(message):
            if block["type"] == "tool_use":
                known.setdefault(block["id"], f"call {len(known) + 1}")
    replies = [event["message"]["stop_reason"] for event in run.trace.events if event["event"] == "reply"]
    return named(run.messages), replies, run.stopped


def results(run):
    """The results in call order, whatever order they came in."""
    return [block for message in run.messages for block in content_blocks(message) if block["type"] == "tool_result"]


# The whole course's conversation


@EVERY
def test_the_refund_conversation(connect, tmp_path):
    shop = open_shop(tmp_path / "shop.sqlite3")
    run = run_agent(connect(Mock()), messages=STORY, tools=desk_tools(shop), approver=lambda question: True)
    assert run.stopped == "end_turn"
    assert [(row["order_id"], row["amount_cents"], row["reason"]) for row in shop.ledger("ORD-20260917")] == [
        ("ORD-20260917", 1999, "damaged")
    ]


@EVERY
def test_a_call_of_a_tool_named_by_the_choice_is_no_end_of_the_turn(connect):
    """Chat Completions ends such a call with `stop`; the calls decide."""
    mock = Mock([call("add", a=1)])
    client = connect(mock)
    send = client if callable(client) else lambda request: client.messages.create(**request).to_dict()
    body = {"model": "claude-opus-5", "max_tokens": 99, "messages": [{"role": "user", "content": "Add."}]}
    tools = [{"name": "add", "input_schema": {"type": "object", "properties": {}}}]
    reply = send({**body, "tools": tools, "tool_choice": {"type": "tool", "name": "add"}})
    assert (reply["stop_reason"], [block["type"] for block in reply["content"]]) == ("tool_use", ["tool_use"])


QUESTIONS = [
    STORY,
    "Where is the parcel of order ORD-20260917, and what is its status?",
    "Please refund 900.00 for order ORD-20260917, it is damaged.",
    "Good morning!",
    "Refund order ORD-99999999, 5.00, it never came.",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_golden_traces_are_equal_call_by_call(question, tmp_path):
    traces = []
    for connect in (on_anthropic, on_chat, on_responses):
        shop = open_shop(tmp_path / f"{connect.__name__}.sqlite3")
        run = run_agent(connect(Mock()), messages=question, tools=desk_tools(shop), approver=lambda question: True)
        traces.append(canonical(run))
    assert traces[0] == traces[1]
    assert traces[0] == traces[2]
    assert traces[0][2] == "end_turn"


def test_a_golden_trace_notices_one_changed_input(tmp_path):
    runs = [run_agent(on_chat(Mock([call("add", a=n), "ok"])), messages="?", tools=[add]) for n in (1, 2)]
    assert canonical(runs[0]) != canonical(runs[1])


SCRIPT = [["Both.", call("add", a=1, b=2), call("add", a="x")], call("add", a=5), "Done."]


@EVERY
def test_parallel_calls_errors_and_repairs(connect):
    mock = Mock(SCRIPT)
    run = run_agent(connect(mock), messages="Add.", tools=[add])
    sums, wrong = results(run)[::2], results(run)[1]
    assert [(one["content"], "is_error" in one) for one in sums] == [("3", False), ("5", False)]
    assert wrong["is_error"] is True
    assert "`a` must be an integer" in wrong["content"]
    assert run.text == "Done."
    assert [one.status for one in mock.requests] == [200, 200, 200]


@OPENAI
def test_the_model_over_there_reads_which_result_is_an_error(connect):
    seen = []
    steps = [[call("add", a=1), call("add", a="x")], lambda request: seen.append(request["messages"]) or "ok"]
    run_agent(connect(Mock(steps)), messages="Add.", tools=[add])
    assert [block.get("is_error", False) for block in seen[0][-1]["content"]] == [False, True]


# What a reply may bring


def completion(message, finish="tool_calls", **fields):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "model": "gpt-x", "choices": [choice], **fields}


def chat_call(arguments, name="add"):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


class Answers:
    """A client that gives prepared replies, as `openai` would, and keeps what was sent."""

    def __init__(self, *replies):
        self.replies, self.sent = list(replies), []
        self.chat = self.responses = self.completions = self

    def create(self, **body):
        self.sent.append(json.loads(json.dumps(body)))
        reply = self.replies[len(self.sent) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply


ASKED = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
END = completion({"content": "ok"}, "stop")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"a": 1, "b"', "not valid JSON at line 1, column 13"),
        ("{a: 1}", '{"INVALID_JSON": "{a: 1}"'),
        ("[1]", "must be an object"),
        ('"a"', "must be an object"),
    ],
)
def test_arguments_that_are_no_object_are_answered_and_go_back_unchanged(arguments, said):
    client = Answers(completion({"content": None, "tool_calls": [chat_call(arguments)]}), END)
    run = run_agent(openai_chat(client), messages="Add.", tools=[add])
    [result] = results(run)
    assert result["is_error"] is True
    assert said in result["content"]
    sent = client.sent[1]["messages"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == arguments
    assert sent[2]["content"].startswith("is_error: true\n")


def test_fr10_no_arguments_are_an_empty_input():
    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    client = Answers(completion({"tool_calls": [chat_call("", "now")]}), END)
    run = run_agent(openai_chat(client), messages="?", tools=[now])
    assert results(run)[0]["content"] == "noon"


def test_fr11_a_cut_turn_runs_nothing_and_is_asked_again_with_more_room():
    cut = completion({"tool_calls": [chat_call('{"a": 1}')]}, "length")
    client = Answers(cut, END)
    run = run_agent(openai_chat(client), messages="Add.", tools=[add], max_tokens=100)
    assert [body["max_completion_tokens"] for body in client.sent] == [100, 200]
    assert [event["event"] for event in run.trace.events] == ["reply", "reply", "stop"]


@pytest.mark.parametrize(
    ("connect", "reply"),
    [
        (openai_chat, completion({"content": None, "refusal": "I must not."}, "stop")),
        (
            openai_responses,
            {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I must not."}]}]},
        ),
    ],
)
def test_a_refusal_ends_the_run(connect, reply):
    run = run_agent(connect(Answers(reply)), messages="?")
    assert run.stopped == "refusal"
    assert run.trace.events[0]["message"]["stop_details"]["explanation"] == "I must not."


def test_usage_is_counted_as_the_messages_api_counts():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    run = run_agent(openai_chat(Answers({**END, "usage": usage})), messages="?")
    assert run.trace.events[0]["message"]["usage"] == {
        "input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
        "output_tokens": 20,
        "output_tokens_details": {"thinking_tokens": 5},
    }
    assert run.trace.summary().endswith("100 input and 20 output tokens")


def test_reasoning_items_go_back_in_their_place():
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    asked = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": '{"a":1}'}
    done = {"type": "message", "content": [{"type": "output_text", "text": "ok"}]}
    client = Answers({"output": [thought, asked]}, {"output": [done]})
    run = run_agent(openai_responses(client), messages="Add.", tools=[add])
    assert client.sent[1]["input"][1] == thought
    assert client.sent[1]["input"][3] == {"type": "function_call_output", "call_id": "call_1", "output": "1"}
    assert run.text == "ok"


# Strict


def test_strict_tools_are_put_into_openais_subset_and_nulls_taken_out_again():
    asked = chat_call('{"city":"Oslo","unit":null,"days":null}', "lookup")
    client = Answers(completion({"tool_calls": [asked]}), END)
    run = run_agent(openai_chat(client), messages="?", tools=[lookup])
    sent = client.sent[0]["tools"][0]["function"]
    assert sent["strict"] is True
    assert sent["parameters"]["required"] == ["city", "unit", "days"]
    assert strict_refusals(sent["parameters"], "openai") == []
    [called] = [block for block in run.messages[1]["content"] if block["type"] == "tool_use"]
    # `unit` may be null by its own schema, `days` may not: there the null only said "left out"
    assert called["input"] == {"city": "Oslo", "unit": None}
    assert results(run)[0]["content"] == "Oslo None 3"


@OPENAI
def test_the_mock_takes_what_a_strict_tool_became(connect):
    steps = [call("lookup", city="Oslo", unit=None, days=None), "ok"]
    run = run_agent(connect(Mock(steps)), messages="?", tools=[lookup])
    assert results(run)[0]["content"] == "Oslo None 3"
    sender = connect(Mock(["ok"]))
    sender(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}], "tools": [lookup.definition()]}
    )
    assert sender.lost == []


def test_a_schema_that_cannot_be_strict_is_sent_without_and_told():
    definition = {
        "name": "put",
        "strict": True,
        "input_schema": {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": True}}},
    }
    client = Answers(END)
    sender = openai_chat(client)
    run_agent(sender, messages="?", tools=[definition])
    assert not client.sent[0]["tools"][0]["function"].get("strict")
    assert [loss.path for loss in sender.lost] == ["tools.put.strict"]


def test_a_tool_that_is_not_strict_keeps_its_schema_and_its_nulls():
    client = Answers(completion({"tool_calls": [chat_call('{"a":1,"b":null}')]}), END)
    run = run_agent(openai_chat(client), messages="?", tools=[add])
    assert client.sent[0]["tools"][0]["function"]["parameters"] == add.input_schema
    assert results(run)[0]["is_error"] is True  # b may not be null, and nobody took it out


# Names, models, options


@OPENAI
def test_a_name_that_is_too_long_there_runs_all_the_same(connect):
    long = "add_" + "x" * 70
    seen = []

    def model(request):
        seen.append(request["tools"][0]["name"])
        return call(seen[0], a=1) if len(seen) == 1 else "ok"

    sender = connect(Mock(model))
    run = run_agent(sender, messages="?", tools=[tool(add.function, name=long)])
    assert len(seen[0]) == 64
    assert [block["name"] for block in run.messages[1]["content"]] == [long]
    assert results(run)[0]["content"] == "1"
    assert [loss.path for loss in sender.lost] == [f"tools.{long}"]  # told once, not for each request


def test_model_and_options_go_into_every_body():
    client = Answers(END)
    run_agent(openai_chat(client, model="gpt-x", reasoning_effort="low"), messages="?")
    assert (client.sent[0]["model"], client.sent[0]["reasoning_effort"]) == ("gpt-x", "low")
    assert client.sent[0]["max_completion_tokens"] == 1024


def test_what_got_lost_is_kept():
    client = Answers({"output": []})
    sender = openai_responses(client)
    sender(
        {"model": "m", "messages": [{"role": "user", "content": "?"}], "thinking": {"type": "adaptive"}, "stream": True}
    )
    assert [loss.path for loss in sender.lost] == ["thinking"]
    assert "stream" not in client.sent[0]  # the loop wants a message, not pieces


# Bad days


@OPENAI
def test_a_lost_reply_is_asked_for_again(connect):
    run = run_agent(connect(Mock([call("add", a=1), "ok"], faults={1: faults.cut(0.5)})), messages="?", tools=[add])
    assert [event["event"] for event in run.trace.events][:2] == ["lost", "reply"]
    assert run.stopped == "end_turn"


@OPENAI
def test_a_request_that_is_refused_comes_out_as_the_sdks_own_error(connect):
    with pytest.raises(openai.RateLimitError) as failed:
        run_agent(connect(Mock(["x"], faults=faults.status(429))), messages="?")
    assert failed.value.run.stopped == "unfinished"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "It broke."}, "output": []}, "server_error"),
        ({"status": "queued", "output": []}, "queued"),
    ],
)
def test_a_reply_that_is_none_is_an_error(reply, code):
    with pytest.raises(ReplyFailed) as failed:
        run_agent(openai_responses(Answers(reply)), messages="?")
    assert failed.value.code == code


# To be awaited


@pytest.mark.parametrize("connect", [openai_chat, openai_responses])
def test_an_async_client_is_awaited(connect, tmp_path):
    async def main():
        sender = connect(Mock(SCRIPT).async_openai_client())
        return await run_agent_async(sender, messages="Add.", tools=[add])

    plain = on_chat if connect is openai_chat else on_responses
    run = asyncio.run(main())
    assert run.text == "Done."
    assert canonical(run) == canonical(run_agent(plain(Mock(SCRIPT)), messages="Add.", tools=[add]))


def test_a_lost_reply_of_an_async_client_is_asked_for_again():
    async def main():
        client = Mock(["never arrives", "ok"], faults={1: faults.cut(0)}).async_openai_client(max_retries=0)
        return await run_agent_async(openai_chat(client), messages="?")

    run = asyncio.run(main())
    assert [event["event"] for event in run.trace.events] == ["lost", "reply", "stop"]


def test_an_async_client_in_a_plain_run_is_told():
    with pytest.raises(TypeError, match="run_agent_async"):
        run_agent(openai_chat(Mock(["x"]).async_openai_client()), messages="?")


# Moving on


@pytest.mark.parametrize(
    ("first", "second"), [(on_chat, on_anthropic), (on_anthropic, on_responses), (on_responses, on_chat)]
)
def test_a_conversation_moves_to_another_provider(first, second):
    begun = run_agent(first(Mock(SCRIPT)), messages="Add.", tools=[add])
    messages = [*begun.messages, {"role": "user", "content": "And again."}]
    mock = Mock([call("add", a=7), "Moved."])
    run = run_agent(second(mock), messages=messages, tools=[add])
    assert run.text == "Moved."
    ids = [block["id"] for message in run.messages for block in content_blocks(message) if block["type"] == "tool_use"]
    assert len(ids) == len(set(ids)) == 4
    assert [one.violation for one in mock.requests] == [None, None]

"""OpenAI's two interfaces on the mock, through the real SDK: answers, streams, refusals, and over HTTP."""

import asyncio
import json

import pytest

from course_kit.errors import ScriptExhausted
from course_kit.mock import faults
from course_kit.mock.openai import openai_endpoint
from course_kit.mock.openai_rules import CHAT_RULES, RESPONSES_RULES, first_openai_violation
from course_kit.mock.provider import MockProvider as Mock
from course_kit.mock.scripted import Draft, call

openai = pytest.importorskip("openai", reason="the extra `providers` is not installed")


CHAT_TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("add", "now")
]
TOOLS = [{"type": "function", "strict": False, **tool["function"]} for tool in CHAT_TOOLS]
HI = [{"role": "user", "content": "Hi"}]
TURN = ["Let me look.", call("add", a=1, note="é" * 30), call("now")]
ARGUMENTS = ['{"a":1,"note":"' + "é" * 30 + '"}', "{}"]


def chat(mock, **body):
    return mock.openai_client(max_retries=0).chat.completions.create(
        **{"model": "gpt-x", "messages": HI, "tools": CHAT_TOOLS, **body}
    )


def respond(mock, **body):
    return mock.openai_client(max_retries=0).responses.create(
        **{"model": "gpt-x", "input": "Hi", "tools": TOOLS, **body}
    )


# Answers


def test_a_text_by_chat_completions():
    reply = chat(Mock(["Hello."]))
    assert reply.id.startswith("chatcmpl-")
    [choice] = reply.choices
    assert (choice.finish_reason, choice.message.content, choice.message.tool_calls) == ("stop", "Hello.", None)
    usage = reply.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > usage.prompt_tokens > 0


def test_parallel_calls_by_chat_completions():
    [choice] = chat(Mock([TURN])).choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me look.")
    calls = choice.message.tool_calls
    assert [(one.type, one.function.name, one.function.arguments) for one in calls] == [
        ("function", "add", ARGUMENTS[0]),
        ("function", "now", ARGUMENTS[1]),
    ]
    assert all(one.id.startswith("call_") and len(one.id) == 29 for one in calls)
    assert calls[0].id != calls[1].id


def test_parallel_calls_by_responses():
    reply = respond(Mock([TURN]))
    assert (reply.status, reply.incomplete_details, reply.output_text) == ("completed", None, "Let me look.")
    message, *calls = reply.output
    assert message.type == "message"
    assert [(one.type, one.name, one.arguments, one.status) for one in calls] == [
        ("function_call", "add", ARGUMENTS[0], "completed"),
        ("function_call", "now", ARGUMENTS[1], "completed"),
    ]
    assert all(one.id.startswith("fc_") and one.call_id.startswith("call_") for one in calls)
    assert [tool.name for tool in reply.tools] == ["add", "now"]


def test_the_model_sees_one_and_the_same_request():
    seen = []
    mock = Mock(lambda request: seen.append(request) or "ok")
    options = {"tool_choice": "required", "parallel_tool_calls": False}
    chat(mock, max_completion_tokens=50, messages=[{"role": "system", "content": "Be brief."}, *HI], **options)
    respond(mock, max_output_tokens=50, instructions="Be brief.", **options)
    assert seen[0] == seen[1]
    assert seen[0]["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}
    assert seen[0]["max_tokens"] == 50


def test_ids_depend_on_seed_and_request_alone():
    def ids(seed, text):
        body = {"messages": [{"role": "user", "content": text}]}
        return [one.id for one in chat(Mock([TURN], seed=seed), **body).choices[0].message.tool_calls]

    assert ids(0, "a") == ids(0, "a")
    assert len({*ids(0, "a"), *ids(1, "a"), *ids(0, "b")}) == 6


NAMED = {"type": "function", "function": {"name": "add"}}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("fields", "finish"),
    [
        ({}, "tool_calls"),
        ({"tool_choice": "auto"}, "tool_calls"),
        ({"tool_choice": "required"}, "tool_calls"),
        ({"tool_choice": NAMED}, "stop"),
        ({"tool_choice": NAMED, "stop_reason": "max_tokens"}, "length"),
    ],
)
def test_a_call_of_a_function_named_by_tool_choice_ends_with_stop(fields, finish, streamed):
    fields = dict(fields)
    told = {"stop_reason": fields.pop("stop_reason")} if "stop_reason" in fields else {}
    draft = Draft([call("add", a=1)], fields=told)
    if streamed:
        chunks = list(chat(Mock([draft]), stream=True, **fields))
        assert chunks[-1].choices[0].finish_reason == finish
        assert any(chunk.choices[0].delta.tool_calls for chunk in chunks)
    else:
        [choice] = chat(Mock([draft]), **fields).choices
        assert (choice.finish_reason, len(choice.message.tool_calls)) == (finish, 1)


@pytest.mark.parametrize(
    ("fields", "finish", "status"),
    [
        ({"stop_reason": "max_tokens"}, "length", "incomplete"),
        ({"stop_reason": "refusal"}, "content_filter", "incomplete"),
        ({"stop_reason": "stop_sequence", "stop_sequence": "END"}, "stop", "completed"),
    ],
)
def test_other_endings(fields, finish, status):
    draft = Draft([{"type": "text", "text": "Well"}], fields=fields)
    assert chat(Mock([draft])).choices[0].finish_reason == finish
    assert respond(Mock([draft])).status == status


def test_a_refusal_with_words():
    details = {"type": "refusal", "category": None, "explanation": "I must not."}
    draft = Draft([], fields={"stop_reason": "refusal", "stop_details": details})
    assert chat(Mock([draft])).choices[0].message.refusal == "I must not."
    [item] = respond(Mock([draft])).output
    assert (item.content[0].type, item.content[0].refusal) == ("refusal", "I must not.")


def test_a_call_that_is_cut_has_arguments_that_do_not_parse():
    step = call("add", text="a long text that goes on and on and on")
    choice = chat(Mock([step]), max_completion_tokens=20).choices[0]
    arguments = choice.message.tool_calls[0].function.arguments
    assert choice.finish_reason == "length"
    assert arguments.startswith('{"text"') and not arguments.endswith("}")
    reply = respond(Mock([step]), max_output_tokens=20)
    assert (reply.status, reply.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (reply.output[-1].status, reply.output[-1].arguments) == ("incomplete", arguments)


# Streams


def test_the_helper_adds_a_chat_stream_up_to_the_reply():
    whole = chat(Mock([TURN])).choices[0]
    with (
        Mock([TURN])
        .openai_client(max_retries=0)
        .chat.completions.stream(model="gpt-x", messages=HI, tools=CHAT_TOOLS) as stream
    ):
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    [choice] = final.choices
    assert {"chunk", "content.delta", "tool_calls.function.arguments.done"} <= kinds
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me look.")
    assert [one.function.arguments for one in choice.message.tool_calls] == ARGUMENTS
    assert [one.function.name for one in choice.message.tool_calls] == [
        one.function.name for one in whole.message.tool_calls
    ]


def test_the_chunks_of_a_chat_stream():
    stream = chat(Mock([TURN]), stream=True, stream_options={"include_usage": True})
    *chunks, last = list(stream)
    assert last.choices == [] and last.usage.total_tokens > 0
    assert all(chunk.usage is None for chunk in chunks)
    assert len({chunk.id for chunk in [*chunks, last]}) == 1
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant"
    opened = [delta.tool_calls[0] for delta in deltas if delta.tool_calls and delta.tool_calls[0].id]
    assert [(one.index, one.function.name, one.function.arguments) for one in opened] == [
        (0, "add", ""),
        (1, "now", ""),
    ]
    pieces = [delta.tool_calls[0] for delta in deltas if delta.tool_calls and not delta.tool_calls[0].id]
    assert len(pieces) > 2 and all(piece.function.name is None and piece.type is None for piece in pieces)
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "tool_calls"]


def test_a_chat_stream_has_no_event_names_and_ends_with_done():
    answer = raw(Mock([TURN]), "/v1/chat/completions", {"model": "m", "messages": HI, "stream": True})
    assert b"event:" not in answer.body
    assert answer.body.endswith(b"data: [DONE]\n\n")
    assert b'"usage"' not in answer.body  # only counted when it is asked for


def test_the_helper_adds_a_responses_stream_up_to_the_reply():
    whole = respond(Mock([TURN]))
    with Mock([TURN]).openai_client(max_retries=0).responses.stream(model="gpt-x", input="Hi", tools=TOOLS) as stream:
        list(stream)
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["message", "function_call", "function_call"]
    assert [item.arguments for item in final.output[1:]] == ARGUMENTS
    assert final.output_text == whole.output_text
    assert final.usage == whole.usage


def test_the_events_of_a_responses_stream():
    events = list(respond(Mock([TURN]), stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type.removeprefix("response.") for event in events]
    once = [kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind]]
    assert once == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    parts = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(part.delta for part in parts if part.output_index == 1) == ARGUMENTS[0]
    assert events[-1].response.output[1].arguments == ARGUMENTS[0]
    assert events[0].response.status == "in_progress" and events[0].response.output == []


@pytest.mark.parametrize("hidden", [True, False])
def test_deltas_carry_obfuscation_unless_it_is_switched_off(hidden):
    body = {"model": "m", "input": "Hi", "stream": True, "stream_options": {"include_obfuscation": hidden}}
    assert (b'"obfuscation"' in raw(Mock([TURN]), "/v1/responses", body).body) is hidden


def test_an_incomplete_stream_says_so():
    draft = Draft([{"type": "text", "text": "Well"}], fields={"stop_reason": "max_tokens"})
    assert list(respond(Mock([draft]), stream=True))[-1].type == "response.incomplete"
    assert list(chat(Mock([draft]), stream=True))[-1].choices[0].finish_reason == "length"


# Conversations


def test_a_conversation_goes_on_by_its_results():
    mock = Mock([call("add", a=1), "2"])
    said = chat(mock).choices[0].message
    results = [{"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "2"}]
    reply = chat(mock, messages=[*HI, said.to_dict(), *results])
    assert reply.choices[0].message.content == "2"


def test_responses_keeps_what_was_said():
    seen = []
    mock = Mock([call("add", a=1), lambda request: seen.append(request["messages"]) or "2"])
    first = respond(mock)
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "2"}
    second = respond(mock, input=[output], previous_response_id=first.id)
    assert (second.output_text, second.previous_response_id) == ("2", first.id)
    asked, called, answered = seen[0]
    assert [asked["role"], called["content"][0]["name"], answered["content"][0]["content"]] == ["user", "add", "2"]


def test_a_request_asked_twice_is_kept_as_two_responses():
    mock = Mock([call("add", a=1), "No.", "2"])
    first, second = respond(mock), respond(mock)
    assert first.id != second.id
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "2"}
    assert respond(mock, input=[output], previous_response_id=first.id).output_text == "2"


def test_responses_forgets_what_it_must_not_keep():
    mock = Mock([call("add", a=1), "2"])
    first = respond(mock, store=False)
    with pytest.raises(openai.BadRequestError, match="not found") as refused:
        respond(mock, input="And?", previous_response_id=first.id)
    assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")


def test_an_earlier_response_with_an_open_call_must_be_answered():
    mock = Mock([call("add", a=1), "2"])
    first = respond(mock)
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_"):
        respond(mock, input=[{"role": "user", "content": "And?"}], previous_response_id=first.id)
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_"):
        respond(mock, input="And?", previous_response_id=first.id)


def test_the_model_sees_broken_arguments_inside_an_object():
    seen = []
    mock = Mock(lambda request: seen.append(request["messages"][1]["content"][0]["input"]) or "ok")
    chat(mock, messages=[*HI, calls("a", arguments='{"a": 1'), result("a")])
    assert seen == [{"INVALID_JSON": '{"a": 1'}]


# Rules: each with a body that breaks it and one that does not.


def calls(*ids, **function):
    made = {"name": "add", "arguments": "{}", **function}
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": made} for id in ids]}


def result(id):
    return {"role": "tool", "tool_call_id": id, "content": "2"}


def function(**fields):
    return {"type": "function", "function": {"name": "add", **fields}}


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
LOOKING = {**CLOSED, "properties": {"a": {"type": "string", "pattern": "^(?!b)"}}, "required": ["a"]}
CHAT_CASES = [
    ("model-named", {"model": None}, {}, "", None),
    ("chat-argument-known", {"top_k": 3}, {"top_p": 1}, "", None),
    ("room-for-an-answer", {"max_tokens": 0}, {"max_tokens": 1}, "max_tokens", "integer_below_min_value"),
    ("chat-messages-shaped", {"messages": []}, {}, "messages", "invalid_type"),
    ("chat-messages-shaped", {"messages": [{"role": "model", "content": "x"}]}, {}, "messages[0].role", "invalid_type"),
    (
        "chat-messages-shaped",
        {"messages": [*HI, calls("a", arguments={}), result("a")]},
        {"messages": [*HI, calls("a", arguments="{"), result("a")]},
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    (
        "chat-messages-shaped",
        {"messages": [*HI, {"role": "assistant", "content": None}]},
        {"messages": [*HI, {"role": "assistant", "content": ""}]},
        "messages[1].content",
        "invalid_type",
    ),
    (
        "chat-messages-shaped",
        {"messages": [*HI, {"role": "assistant", "content": "x", "tool_calls": []}]},
        {},
        "messages[1].tool_calls",
        "invalid_type",
    ),
    (
        "chat-messages-shaped",
        {"messages": [*HI, calls("a"), {"role": "tool", "content": "2"}]},
        {"messages": [*HI, calls("a"), result("a")]},
        "messages.[2].tool_call_id",
        "invalid_type",
    ),
    (
        "chat-id-length",
        {"messages": [*HI, calls("a" * 41), result("a" * 41)]},
        {"messages": [*HI, calls("a" * 40), result("a" * 40)]},
        "messages[1].tool_calls[0].id",
        "string_above_max_length",
    ),
    ("tools-shaped", {"tools": TOOLS}, {"tools": CHAT_TOOLS}, "tools[0].function", "invalid_value"),
    (
        "tools-shaped",
        {"tools": [function(name="a.b")]},
        {"tools": [function(name="a-b")]},
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        "tools-shaped",
        {"tools": [function(name="n" * 65)]},
        {"tools": [function(name="n" * 64)]},
        "tools[0].function.name",
        "invalid_value",
    ),
    (
        "parameters-are-an-object",
        {"tools": [function(parameters={"properties": {}})]},
        {"tools": [function()]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
    (
        "strict-in-subset",
        {"tools": [function(strict=True, parameters=CLOSED)]},
        {"tools": [function(strict=True, parameters={**CLOSED, "required": ["a"]})]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
    (
        "strict-without-lookaround",
        {"tools": [function(strict=True, parameters=LOOKING)]},
        {"tools": [function(strict=False, parameters=LOOKING)]},
        "tools",
        "invalid_json_schema",
    ),
    (
        "choice-of-a-known-tool",
        {"tools": CHAT_TOOLS, "tool_choice": {"type": "auto"}},
        {"tools": CHAT_TOOLS, "tool_choice": "auto"},
        "tool_choice",
        None,
    ),
    (
        "choice-of-a-known-tool",
        {"tools": CHAT_TOOLS, "tool_choice": {"type": "function", "function": {"name": "sub"}}},
        {"tools": CHAT_TOOLS, "tool_choice": {"type": "function", "function": {"name": "add"}}},
        "tool_choice",
        None,
    ),
    ("choice-of-a-known-tool", {"tool_choice": "required"}, {"tool_choice": "none"}, "tool_choice", None),
    ("choice-of-a-known-tool", {"tools": CHAT_TOOLS, "tool_choice": "any"}, {}, "tool_choice", None),
    (
        "parallel-only-with-tools",
        {"parallel_tool_calls": True},
        {"parallel_tool_calls": True, "tools": CHAT_TOOLS},
        "parallel_tool_calls",
        None,
    ),
    (
        "chat-calls-and-results",
        {"messages": [*HI, calls("a", "b"), result("a"), *HI]},
        {"messages": [*HI, calls("a", "b"), result("b"), result("a"), *HI]},
        "messages.[3].role",
        None,
    ),
    ("chat-calls-and-results", {"messages": [*HI, calls("a")]}, {}, "messages.[2].role", None),
    (
        "chat-calls-and-results",
        {"messages": [*HI, calls("a"), *HI, result("a")]},
        {"messages": [*HI, calls("a"), result("a"), *HI]},
        "messages.[2].role",
        None,
    ),
    ("chat-calls-and-results", {"messages": [*HI, result("a")]}, {}, "messages.[1].role", None),
    (
        "chat-calls-and-results",
        {"messages": [*HI, calls("a"), result("a"), result("a")]},
        {},
        "messages.[3].tool_call_id",
        None,
    ),
]
ITEM = {"type": "function_call", "call_id": "a", "name": "add", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "2"}
RESPONSES_CASES = [
    ("model-named", {"model": 5}, {}, "", None),
    ("responses-parameter-known", {"messages": HI}, {"store": False}, "messages", "unknown_parameter"),
    ("room-for-an-answer", {"max_output_tokens": 0}, {}, "max_output_tokens", "integer_below_min_value"),
    ("responses-input-shaped", {"input": None}, {}, "input", "invalid_type"),
    (
        "responses-input-shaped",
        {"input": [{**ITEM, "arguments": {}}, OUTPUT]},
        {},
        "input[0].arguments",
        "invalid_type",
    ),
    ("responses-input-shaped", {"input": [{"role": "tool", "content": "x"}]}, {}, "input[0].role", "invalid_type"),
    (
        "responses-input-shaped",
        {"input": [ITEM, {"type": "function_call_output", "call_id": "a"}]},
        {"input": [ITEM, OUTPUT]},
        "input[1].output",
        "invalid_type",
    ),
    ("tools-shaped", {"tools": CHAT_TOOLS}, {"tools": TOOLS}, "tools[0].name", "invalid_value"),
    (
        "strict-in-subset",
        {"tools": [{"type": "function", "name": "add", "strict": True, "parameters": CLOSED}]},
        {"tools": [{"type": "function", "name": "add", "strict": False, "parameters": CLOSED}]},
        "tools[0].parameters",
        "invalid_function_parameters",
    ),
    (
        "strict-without-lookaround",
        {"tools": [{"type": "function", "name": "add", "strict": True, "parameters": LOOKING}]},
        {"tools": [{"type": "function", "name": "add", "strict": False, "parameters": LOOKING}]},
        "tools",
        "invalid_json_schema",
    ),
    (
        "choice-of-a-known-tool",
        {"tools": TOOLS, "tool_choice": {"type": "function", "name": "x"}},
        {},
        "tool_choice",
        None,
    ),
    (
        "responses-calls-and-outputs",
        {"input": [*HI, ITEM, *HI]},
        {"input": [*HI, ITEM, *HI, OUTPUT]},
        "input",
        None,
    ),
    ("responses-calls-and-outputs", {"input": [*HI, OUTPUT]}, {}, "input", None),
    ("responses-calls-and-outputs", {"input": [OUTPUT, ITEM]}, {}, "input", None),
]
BOTH = [("chat", *case) for case in CHAT_CASES] + [("responses", *case) for case in RESPONSES_CASES]


@pytest.mark.parametrize(
    ("kind", "rule", "broken", "legal", "param", "code"),
    [pytest.param(*case, id=f"{case[0]}-{case[1]}-{number}") for number, case in enumerate(BOTH)],
)
def test_each_rule_refuses_what_breaks_it_and_nothing_else(kind, rule, broken, legal, param, code):
    rules = CHAT_RULES if kind == "chat" else RESPONSES_RULES
    base = {"model": "m", **({"messages": HI} if kind == "chat" else {"input": "Hi"})}
    found = first_openai_violation(rules, {**base, **broken})
    assert (found.rule, found.status, found.type) == (rule, 400, "invalid_request_error")
    assert (found.path, found.error_code) == (param, code)
    assert first_openai_violation(rules, {**base, **legal}) is None


@pytest.mark.parametrize(
    ("broken", "param", "said"),
    [
        ({"messages": ["Hi"]}, "messages[0]", "expected an object, but got a string"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", "a string or an array of objects"),
        ({"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}, "messages[0].content[0].type", "Missing"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": None}]}]},
            "messages[0].content[0].text",
            "expected a string, but got null",
        ),
        (
            {"messages": [*HI, {"role": "assistant", "tool_calls": [{"type": "function"}]}]},
            "messages[1].tool_calls[0].id",
            "Missing",
        ),
        (
            {"messages": [*HI, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]}]},
            "messages[1].tool_calls[0].function.name",
            "Missing",
        ),
        ({"messages": HI, "tools": {}}, "tools", "expected an array of objects, but got an object"),
        ({"messages": HI, "tools": [{"function": {"name": "add"}}]}, "tools[0].type", "Missing"),
        ({"input": 5}, "input", "expected a string or an array of objects"),
        ({"input": ["Hi"]}, "input[0]", "expected an object, but got a string"),
        ({"input": [{"role": "user"}]}, "input[0].content", "expected a string, got null"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_part_of_another_shape_is_named(broken, param, said):
    rules = CHAT_RULES if "messages" in broken else RESPONSES_RULES
    found = first_openai_violation(rules, {"model": "m", **broken})
    assert found.path == param
    assert said in found.message


def test_a_pattern_that_looks_around_is_refused_in_words_of_its_own():
    with pytest.raises(openai.BadRequestError) as refused:
        chat(Mock([]), tools=[function(strict=True, parameters=LOOKING)])
    assert refused.value.body == {
        "message": "Invalid JSON schema: regex lookaround is not supported. Found at $.properties.a.pattern.",
        "type": "invalid_request_error",
        "param": "tools",
        "code": "invalid_json_schema",
    }


def test_every_rule_has_a_case():
    named = {("chat", case[0]) for case in CHAT_CASES} | {("responses", case[0]) for case in RESPONSES_CASES}
    rules = {("chat", rule.id) for rule in CHAT_RULES} | {("responses", rule.id) for rule in RESPONSES_RULES}
    assert rules - named == {("responses", "parameters-are-an-object")}  # the same function as for Chat


def test_the_words_of_the_pairing_rules_are_the_apis_own():
    base = {"model": "m"}
    said = [
        first_openai_violation(CHAT_RULES, {**base, "messages": [*HI, calls("call_1", "call_2"), *HI]}).message,
        first_openai_violation(CHAT_RULES, {**base, "messages": [result("call_1")]}).message,
        first_openai_violation(RESPONSES_RULES, {**base, "input": [{**ITEM, "call_id": "call_1"}]}).message,
        first_openai_violation(RESPONSES_RULES, {**base, "input": [{**OUTPUT, "call_id": "call_1"}]}).message,
    ]
    assert said == [
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1, call_2",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "No tool output found for function call call_1.",
        "No tool call found for function call output with call_id call_1.",
    ]


def test_a_refusal_reaches_the_sdk_with_its_fields_and_the_report():
    mock = Mock(["never"])
    with pytest.raises(openai.BadRequestError) as refused:
        chat(mock, messages=[*HI, result("a")])
    error = refused.value
    assert (error.status_code, error.type, error.param, error.code) == (
        400,
        "invalid_request_error",
        "messages.[1].role",
        None,
    )
    assert error.request_id == mock.requests[0].request_id
    assert mock.requests[0].violation.rule == "chat-calls-and-results"


# Around the body


def raw(mock, path, body, method="POST", headers=None):
    headers = {"authorization": "Bearer k"} if headers is None else headers
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return mock.handle(method, path, headers, content)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"headers": {}}, 401),
        ({"headers": {"authorization": "Basic k"}}, 401),
        ({"body": b"{"}, 400),
        ({"body": b"[]"}, 400),
        ({"method": "GET"}, 405),
        ({}, 200),
        ({"path": "/v1/chat/completions/?x=1"}, 200),
    ],
)
def test_what_stands_around_the_body(change, status):
    given = {"path": "/v1/chat/completions", "body": {"model": "m", "messages": HI}, **change}
    answer = raw(Mock(["ok"]), **given)
    assert answer.status == status
    assert status == 200 or set(json.loads(answer.body)["error"]) == {"message", "type", "param", "code"}


def test_other_paths_are_not_touched():
    assert openai_endpoint("/v1/messages") is None
    assert openai_endpoint("/v1/responses/resp_1") is None
    assert (
        Mock(["Hello"])
        .client()
        .messages.create(model="claude-haiku-5-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
        .content[0]
        .text
        == "Hello"
    )


# Bad days


@pytest.mark.parametrize(
    ("code", "kind", "status", "type"),
    [
        (429, "RateLimitError", 429, "requests"),
        (500, "InternalServerError", 500, "server_error"),
        (529, "InternalServerError", 503, "server_error"),
        (401, "AuthenticationError", 401, "invalid_request_error"),
    ],
)
def test_a_fault_is_an_error_of_openais(code, kind, status, type):
    with pytest.raises(getattr(openai, kind)) as failed:
        chat(Mock(["x"], faults=faults.status(code, retry_after=7)))
    assert (failed.value.status_code, failed.value.type) == (status, type)
    assert failed.value.response.headers["retry-after"] == "7"
    assert failed.value.request_id


def test_the_sdk_asks_again_after_a_fault():
    mock = Mock(["fine"], faults=[faults.status(503, retry_after=0)])
    client = mock.openai_client(max_retries=1)
    assert client.chat.completions.create(model="m", messages=HI).choices[0].message.content == "fine"
    assert [one.status for one in mock.requests] == [503, 200]


def test_a_stream_that_breaks_and_one_that_carries_an_error():
    with pytest.raises(openai.APIConnectionError):
        list(chat(Mock(["Hello there"], faults=faults.cut(0.5)), stream=True))
    with pytest.raises(openai.APIError, match="Simulated fault"):
        list(chat(Mock(["Hello there"], faults=faults.error_event(0.5)), stream=True))
    last = list(respond(Mock(["Hello there"], faults=faults.error_event(0.5)), stream=True))[-1]
    assert (last.type, last.message) == ("error", "Simulated fault: overloaded_error")


def test_cut_and_refused_turns_by_fault():
    assert chat(Mock([call("add", a=1)], faults=faults.max_tokens(0.5))).choices[0].finish_reason == "length"
    assert respond(Mock([call("add", a=1)], faults=faults.refusal())).incomplete_details.reason == "content_filter"


def test_a_script_that_is_over_comes_out_as_itself():
    with pytest.raises(ScriptExhausted) as over:
        chat(Mock([]))
    assert isinstance(over.value, openai.OpenAIError)
    with pytest.raises(ScriptExhausted):
        asyncio.run(Mock([]).async_openai_client().responses.create(model="m", input="Hi"))


def test_a_model_that_raises_is_a_500_that_is_not_repeated():
    mock = Mock(lambda request: 1 / 0)
    with pytest.raises(openai.InternalServerError, match="ZeroDivisionError"):
        mock.openai_client(max_retries=2).chat.completions.create(model="m", messages=HI)
    assert [one.status for one in mock.requests] == [500]


# Elsewhere


def test_an_async_client():
    async def ask():
        client = Mock([TURN, "Hello"]).async_openai_client()
        first = await client.chat.completions.create(model="m", messages=HI, tools=CHAT_TOOLS)
        chunks = [chunk async for chunk in await client.chat.completions.create(model="m", messages=HI, stream=True)]
        said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        return first.choices[0].finish_reason, said

    assert asyncio.run(ask()) == ("tool_calls", "Hello")


def test_over_http():
    mock = Mock([TURN, TURN, TURN, "Hello"])
    with mock.serve() as server, openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        reply = client.chat.completions.create(model="m", messages=HI, tools=CHAT_TOOLS)
        chunks = list(client.chat.completions.create(model="m", messages=HI, tools=CHAT_TOOLS, stream=True))
        events = list(client.responses.create(model="m", input="Hi", tools=TOOLS, stream=True))
        with pytest.raises(openai.BadRequestError, match="preceeding"):
            client.chat.completions.create(model="m", messages=[result("a")])
        text = client.responses.create(model="m", input="Hi").output_text
    assert [one.function.name for one in reply.choices[0].message.tool_calls] == ["add", "now"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert events[-1].type == "response.completed"
    assert text == "Hello"

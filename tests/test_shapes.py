"""One conversation in every shape: what comes back is what went, or the conversion says what it lost."""

import json
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from course_kit.classroom.differences import DIFFERENCES, SHAPES, differences_table
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
from course_kit.contract.protocol import check_request
from course_kit.contract.schema import check_tool_input
from course_kit.contract.shapes import (
    Definition,
    api_error,
    definition_from,
    definition_to,
    legal_name,
    normal_form,
    reply_from,
    reply_to,
    request_from,
    request_to,
    result_error,
    result_from,
    result_to,
)
from course_kit.contract.shapes.common import input_of, marked, unmarked
from course_kit.errors import ToolError
from course_kit.harness.results import error_text
from course_kit.harness.tools import tool

CONVERSATIONS = ("openai_chat", "openai_responses", "gemini")
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
REFUND = Definition(
    "refund_order",
    "Pay money back.",
    SCHEMA,
    effect="irreversible",
    idempotent=True,
    timeout=5.0,
    strict=True,
    defer_loading=True,
    input_examples=[{"city": "Oslo"}],
    title="Refund",
    output_schema={"type": "object"},
)


def lost(converted):
    return [loss.path for loss in converted.lost]


def request(*messages, **fields):
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **fields}


quick = settings(max_examples=40, deadline=None)

# Strategies. Texts include those that look like a mark or like JSON.

words = st.text(min_size=1, max_size=20).filter(str.strip) | st.sampled_from(
    ["is_error: true\nno", "is_error: false\n", "is_error: ", '{"a": 1}', "[]", "NaN", "null"]
)
names = st.text("abzAZ09_-", min_size=1, max_size=8) | st.just("n" * 64)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
inputs = st.dictionaries(words, json_values, max_size=3)
definitions = st.builds(
    Definition,
    name=names,
    description=st.just("") | words,
    input_schema=st.sampled_from([SCHEMA, {"type": "object", "properties": {}}]),
    effect=st.sampled_from(["read", "write", "irreversible"]),
    idempotent=st.booleans(),
    timeout=st.none() | st.floats(0.1, 100),
    strict=st.booleans(),
    defer_loading=st.booleans(),
    input_examples=st.sampled_from([[], [{"city": "Oslo"}]]),
    title=st.just("") | words,
    output_schema=st.none() | st.just({"type": "object"}),
)
contents = st.just("") | words | st.lists(words.map(text), min_size=1, max_size=3)


@st.composite
def conversations(draw, pictures=False, text_anywhere=False, strict=True, parallel=True, stops=True):
    """A legal request: turns of calls and results, texts between them."""
    known = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    messages, count = [user(draw(words))], 0
    for _ in range(draw(st.integers(0, 3))):
        said = [text(one) for one in draw(st.lists(words, max_size=2))]
        calls = []
        for _ in range(draw(st.integers(1, 3))):
            calls.append(tool_use(f"toolu_{count}", draw(st.sampled_from(known)), draw(inputs)))
            count += 1
        turn = said + calls + ([text(draw(words))] if text_anywhere and draw(st.booleans()) else [])
        results = []
        for call in calls:
            failed = draw(st.booleans())
            content = draw(words if failed else contents | st.just([PNG, text("a picture")]) if pictures else contents)
            results.append(tool_result(call["id"], content, is_error=failed))
        after = [text(draw(words))] if draw(st.booleans()) else []
        messages += [assistant(turn), user(results + after), *([assistant(draw(words)), user("And?")])]
    tools = [{"name": name, "input_schema": SCHEMA} for name in known]
    if strict and draw(st.booleans()):
        tools[0]["strict"] = True
    choice = {"type": draw(st.sampled_from(["auto", "any", "none"]))}
    if parallel and choice["type"] != "none" and draw(st.booleans()):
        choice["disable_parallel_tool_use"] = True
    body = request(
        *messages, tools=tools, tool_choice=draw(st.sampled_from([choice, {"type": "tool", "name": known[0]}]))
    )
    body |= draw(st.sampled_from([{}, {"system": "Be brief."}, {"system": [text("Be"), text("brief.")]}]))
    return body | (draw(st.sampled_from([{}, {"stop_sequences": ["END"]}])) if stops else {})


# Definitions


@pytest.mark.parametrize("shape", SHAPES)
@quick
@given(definition=definitions)
def test_a_definition_comes_back_but_for_what_is_told(shape, definition):
    there = definition_to(shape, definition)
    back = definition_from(shape, there.value, trust_annotations=True)
    assert back.lost == ()
    given_back = replace(back.value, **{path: getattr(definition, path) for path in lost(there)})
    assert given_back == definition
    # and nothing is called lost that came along
    assert all(getattr(back.value, path) != getattr(definition, path) for path in lost(there))


@pytest.mark.parametrize(
    ("shape", "entry", "missing"),
    [
        (
            "anthropic",
            {
                "name": "refund_order",
                "description": "Pay money back.",
                "input_schema": SCHEMA,
                "strict": True,
                "defer_loading": True,
                "input_examples": [{"city": "Oslo"}],
            },
            ["effect", "idempotent", "timeout", "title", "output_schema"],
        ),
        (
            "openai_chat",
            {
                "type": "function",
                "function": {
                    "name": "refund_order",
                    "description": "Pay money back.",
                    "parameters": SCHEMA,
                    "strict": True,
                },
            },
            ["effect", "idempotent", "timeout", "defer_loading", "input_examples", "title", "output_schema"],
        ),
        (
            "openai_responses",
            {
                "type": "function",
                "name": "refund_order",
                "description": "Pay money back.",
                "parameters": SCHEMA,
                "strict": True,
                "defer_loading": True,
                "output_schema": {"type": "object"},
            },
            ["effect", "idempotent", "timeout", "input_examples", "title"],
        ),
        (
            "gemini",
            {"name": "refund_order", "description": "Pay money back.", "parametersJsonSchema": SCHEMA},
            ["effect", "idempotent", "timeout", "strict", "defer_loading", "input_examples", "title", "output_schema"],
        ),
        (
            "mcp",
            {
                "name": "refund_order",
                "title": "Refund",
                "description": "Pay money back.",
                "inputSchema": SCHEMA,
                "outputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True},
            },
            ["timeout", "strict", "defer_loading", "input_examples"],
        ),
    ],
)
def test_the_same_tool_in_each_shape(shape, entry, missing):
    there = definition_to(shape, REFUND)
    assert there.value == entry
    assert lost(there) == missing


def test_a_definition_is_printed_with_its_fields():
    assert '"name": "now"' in str(definition_from("mcp", {"name": "now", "inputSchema": {"type": "object"}}))


def test_responses_is_told_that_a_tool_is_not_strict():
    """Left out, that server would try strict by itself."""
    assert definition_to("openai_responses", Definition("now")).value["strict"] is False
    assert "strict" not in definition_to("openai_chat", Definition("now")).value["function"]


@pytest.mark.parametrize(
    ("annotations", "effect", "idempotent"),
    [
        ({"readOnlyHint": True}, "read", False),
        ({}, "write", False),
        ({"readOnlyHint": False}, "irreversible", False),
        ({"destructiveHint": False, "idempotentHint": True}, "write", True),
    ],
)
def test_hints_of_a_server_count_only_when_trusted(annotations, effect, idempotent):
    entry = {"name": "x", "inputSchema": SCHEMA, "annotations": annotations}
    believed = definition_from("mcp", entry, trust_annotations=True).value
    assert (believed.effect, believed.idempotent) == (effect, idempotent)
    doubted = definition_from("mcp", entry)
    assert (doubted.value.effect, doubted.value.idempotent) == ("write", False)
    assert lost(doubted) == (["annotations"] if annotations else [])


def test_what_a_definition_does_not_know_is_told():
    entry = {"name": "x", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}, "eager_input_streaming": None}
    assert lost(definition_from("anthropic", entry)) == ["cache_control"]


def test_a_harness_tool_becomes_a_definition_and_a_tool_again():
    @tool(effect="read", idempotent=True, timeout=3, strict=True, input_examples=[{"city": "Oslo"}])
    def forecast(city: str) -> str:
        """Tell the weather."""
        return city

    definition = Definition.of(forecast)
    assert definition == Definition(
        "forecast",
        "Tell the weather.",
        forecast.input_schema,
        effect="read",
        idempotent=True,
        timeout=3,
        strict=True,
        input_examples=[{"city": "Oslo"}],
    )
    again = tool(forecast.function, **definition.options())
    assert Definition.of(again) == definition
    assert again.definition() == forecast.definition()


def test_gemini_types_in_capitals_are_read():
    schema = {
        "type": "OBJECT",
        "properties": {"type": {"type": "STRING"}, "n": {"type": "ARRAY", "items": {"anyOf": [{"type": "INTEGER"}]}}},
    }
    read = definition_from("gemini", {"name": "x", "parameters": schema}).value.input_schema
    inside = {"type": {"type": "string"}, "n": {"type": "array", "items": {"anyOf": [{"type": "integer"}]}}}
    assert read == {"type": "object", "properties": inside}


def test_an_unknown_shape_is_named():
    for convert in (lambda: definition_to("cohere", REFUND), lambda: request_to("mcp", request())):
        with pytest.raises(ValueError, match="openai_chat, openai_responses"):
            convert()


# Conversations


@quick
@given(body=conversations())
def test_a_conversation_comes_back_from_chat_completions(body):
    comes_back("openai_chat", body)


@quick
@given(body=conversations(pictures=True, text_anywhere=True, stops=False))
def test_a_conversation_comes_back_from_responses(body):
    comes_back("openai_responses", body)


@quick
@given(body=conversations(strict=False, parallel=False))
def test_a_conversation_comes_back_from_gemini(body):
    comes_back("gemini", body)


def comes_back(shape, body):
    before = json.dumps(body)
    there = request_to(shape, body)
    assert there.lost == ()
    back = request_from(shape, json.loads(json.dumps(there.value)))
    assert back.lost == ()
    assert normal_form(back.value) == normal_form(body)
    assert json.dumps(body) == before  # what was given is not changed


ROUND = request(
    user("Weather in Oslo and Rome?"),
    assistant([text("Let me look."), tool_use("toolu_1", "now", {"city": "Oslo"}), tool_use("toolu_2", "now", {})]),
    user([tool_result("toolu_1", "4 C"), tool_result("toolu_2", "which city?", is_error=True), text("Be quick.")]),
    system="Be brief.",
    tools=[{"name": "now", "input_schema": SCHEMA}],
    tool_choice={"type": "any", "disable_parallel_tool_use": True},
)


def test_the_same_conversation_in_chat_completions():
    tools = [{"type": "function", "function": {"name": "now", "parameters": SCHEMA}}]
    calls = [("toolu_1", '{"city":"Oslo"}'), ("toolu_2", "{}")]
    assert request_to("openai_chat", ROUND).value == {
        "model": "m",
        "max_completion_tokens": 100,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Oslo and Rome?"},
            {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "now", "arguments": written}}
                    for id, written in calls
                ],
            },
            {"role": "tool", "tool_call_id": "toolu_1", "content": "4 C"},
            {"role": "tool", "tool_call_id": "toolu_2", "content": "is_error: true\nwhich city?"},
            {"role": "user", "content": "Be quick."},
        ],
        "tools": tools,
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }


def test_the_same_conversation_in_responses():
    assert request_to("openai_responses", ROUND).value == {
        "model": "m",
        "max_output_tokens": 100,
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": "Weather in Oslo and Rome?"},
            {"type": "message", "role": "assistant", "content": "Let me look."},
            {"type": "function_call", "call_id": "toolu_1", "name": "now", "arguments": '{"city":"Oslo"}'},
            {"type": "function_call", "call_id": "toolu_2", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "toolu_1", "output": "4 C"},
            {"type": "function_call_output", "call_id": "toolu_2", "output": "is_error: true\nwhich city?"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Be quick."}]},
        ],
        "tools": [{"type": "function", "name": "now", "parameters": SCHEMA, "strict": False}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }


def test_the_same_conversation_in_gemini():
    there = request_to("gemini", ROUND)
    assert lost(there) == ["tool_choice.disable_parallel_tool_use"]
    answers = [("toolu_1", {"output": "4 C"}), ("toolu_2", {"error": "which city?"})]
    assert there.value == {
        "model": "m",
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Oslo and Rome?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Let me look."},
                    {"functionCall": {"id": "toolu_1", "name": "now", "args": {"city": "Oslo"}}},
                    {"functionCall": {"id": "toolu_2", "name": "now", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    *({"functionResponse": {"id": id, "name": "now", "response": said}} for id, said in answers),
                    {"text": "Be quick."},
                ],
            },
        ],
        "generationConfig": {"maxOutputTokens": 100},
        "tools": [{"functionDeclarations": [{"name": "now", "parametersJsonSchema": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }


THINKING = {"type": "thinking", "thinking": "hm", "signature": "abc"}
ASKED = [user("hi"), assistant([THINKING, tool_use("toolu_1", "now", {})])]
CACHED = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        pytest.param(request(*ASKED), dict.fromkeys(CONVERSATIONS, ["messages.1.content.0"]), id="thinking"),
        pytest.param(
            request(user([CACHED])),
            dict.fromkeys(CONVERSATIONS, ["messages.0.content.0.cache_control"]),
            id="cache_control",
        ),
        pytest.param(
            request(user("hi"), thinking={"type": "adaptive"}),
            dict.fromkeys(CONVERSATIONS, ["thinking"]),
            id="thinking_switch",
        ),
        pytest.param(
            request(*ASKED[:1], assistant([tool_use("a", "now", {})]), user([tool_result("a", [PNG])])),
            {"openai_chat": ["messages.2.content.0.content.0"], "openai_responses": []},
            id="picture_in_a_result",
        ),
        pytest.param(
            request(user("hi"), assistant([tool_use("a", "now", {}), text("there")])),
            {"openai_chat": ["messages.1.content.1"], "openai_responses": [], "gemini": []},
            id="text_after_a_call",
        ),
        pytest.param(
            request(user("hi"), stop_sequences=["END"]),
            {"openai_chat": [], "openai_responses": ["stop_sequences"], "gemini": []},
            id="stop_sequences",
        ),
        pytest.param(
            request(user("hi"), tools=[{"type": "web_search_20260101", "name": "web_search"}]),
            dict.fromkeys(CONVERSATIONS, ["tools.0"]),
            id="server_tool",
        ),
        pytest.param(
            request(user("hi"), tools=[{"name": "n" * 65, "input_schema": SCHEMA}]),
            dict.fromkeys(CONVERSATIONS, [f"tools.{'n' * 65}"]),
            id="long_name",
        ),
        pytest.param(
            request(user("hi"), assistant([tool_use("t" * 41, "now", {})]), user([tool_result("t" * 41, "x")])),
            {"openai_chat": ["messages.1.content.0.id"], "openai_responses": [], "gemini": []},
            id="long_id",
        ),
        pytest.param(
            request(user("hi"), tools=[{"name": "now", "input_schema": SCHEMA, "strict": True}]),
            {"openai_chat": [], "openai_responses": [], "gemini": ["tools.0.strict"]},
            id="strict",
        ),
        pytest.param(
            request(user("hi"), output_config={"effort": "low"}),
            {"openai_chat": ["output_config.effort"], "openai_responses": ["output_config.effort"]},
            id="effort",
        ),
    ],
)
def test_what_is_lost_is_told(body, paths):
    assert {shape: lost(request_to(shape, body)) for shape in paths} == paths


def test_a_long_name_is_called_the_same_everywhere_and_comes_back():
    long = "n" * 65
    body = request(
        user("hi"),
        assistant([tool_use("a", long, {})]),
        user([tool_result("a", "x")]),
        tools=[{"name": long, "input_schema": SCHEMA}],
        tool_choice={"type": "tool", "name": long},
    )
    there = request_to("openai_chat", body)
    short = legal_name(long)
    sent = there.value
    assert len(short) == 64
    assert [sent["tools"][0]["function"]["name"], sent["tool_choice"]["function"]["name"]] == [short, short]
    assert sent["messages"][1]["tool_calls"][0]["function"]["name"] == short
    assert there.names == {short: long}
    reply = reply_to("openai_chat", {"content": [tool_use("b", short, {})], "stop_reason": "tool_use"}).value
    assert reply_from("openai_chat", reply, there.names).value["content"][0]["name"] == long


@quick
@given(st.lists(st.text(min_size=1, max_size=80), max_size=6, unique=True))
def test_legal_names_are_legal_and_stay_apart(given_names):
    made = [legal_name(name) for name in given_names]
    tools = [{"name": name, "input_schema": SCHEMA} for name in made]
    assert check_request(request(user("hi"), tools=tools, model="claude-haiku-5-5")) == []
    assert all(len(name) <= 64 for name in made)
    assert legal_name("get_weather") == "get_weather"


@quick
@given(said=words, failed=st.booleans())
def test_a_mark_is_read_back(said, failed):
    assert unmarked(marked(said, failed)) == (said, failed)


def test_a_result_of_somebody_else_is_no_error():
    assert unmarked("Error: it is broken") == ("Error: it is broken", False)


# Inputs


@pytest.mark.parametrize(
    ("arguments", "input"),
    [
        ('{"city": "Oslo"}', {"city": "Oslo"}),
        ("", {}),
        ("  ", {}),
        (None, {}),
        ('{"city": "Os', '{"city": "Os'),
        ("[1]", "[1]"),
        ('"Oslo"', '"Oslo"'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ('{"a": NaN}', '{"a": NaN}'),
        ({"city": "Oslo"}, {"city": "Oslo"}),
    ],
)
def test_fr10_arguments_are_an_object_or_the_text_itself(arguments, input):
    assert input_of(arguments) == input


def test_the_checker_says_where_the_text_breaks():
    problem = check_tool_input(SCHEMA, input_of('{"city": "Os')).problems[0]
    assert problem.message.startswith("The input is not valid JSON at line 1, column 10")


@pytest.mark.parametrize("shape", ["openai_chat", "openai_responses"])
def test_a_text_that_is_no_json_goes_back_as_it_came(shape):
    body = request(user("hi"), assistant([{**tool_use("a", "now"), "input": '{"city": "Os'}]))
    sent = json.dumps(request_to(shape, body).value)
    assert json.dumps('{"city": "Os') in sent
    back = request_from(shape, request_to(shape, body).value).value
    assert back["messages"][1]["content"][0]["input"] == '{"city": "Os'
    # and where an input must be an object, the text is kept inside one
    assert request_to("anthropic", body).value["messages"][1]["content"][0]["input"] == {"INVALID_JSON": '{"city": "Os'}


# Replies


@st.composite
def replies(draw, one_text=True):
    said = [text(one) for one in draw(st.lists(words, max_size=1 if one_text else 3))]
    calls = [tool_use(f"call_{index}", draw(names), draw(inputs)) for index in range(draw(st.integers(0, 3)))]
    reason = draw(st.sampled_from(["tool_use" if calls else "end_turn", "max_tokens", "refusal"]))
    refusal = {"type": "refusal", "category": None, "explanation": draw(st.sampled_from([None, "I must not."]))}
    usage = {
        "input_tokens": draw(st.integers(0, 99)),
        "cache_creation_input_tokens": draw(st.integers(0, 99)),
        "cache_read_input_tokens": draw(st.integers(0, 99)),
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": draw(st.integers(0, 50))},
    }
    return {
        "id": "resp_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": said + calls,
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": refusal if reason == "refusal" else None,
        "usage": usage,
    }


@quick
@given(message=replies())
def test_a_reply_comes_back_from_chat_completions(message):
    there = reply_to("openai_chat", message)
    assert there.lost == ()
    assert reply_from("openai_chat", there.value).value == message


@quick
@given(message=replies(one_text=False))
def test_a_reply_comes_back_from_responses(message):
    there = reply_to("openai_responses", message)
    assert there.lost == ()
    assert reply_from("openai_responses", there.value).value == message


@quick
@given(message=replies(one_text=False))
def test_a_reply_comes_back_from_gemini(message):
    there = reply_to("gemini", message)
    back = reply_from("gemini", there.value).value
    # What it wrote into its cache, and why it refused, has no field there.
    cached = message["usage"]["cache_creation_input_tokens"]
    usage = {
        **message["usage"],
        "cache_creation_input_tokens": 0,
        "input_tokens": message["usage"]["input_tokens"] + cached,
    }
    details = message["stop_details"] and {**message["stop_details"], "explanation": None}
    assert back == {**message, "usage": usage, "stop_details": details}


@pytest.mark.parametrize(
    ("finish", "calls", "reason"),
    [
        ("tool_calls", 1, "tool_use"),
        ("stop", 0, "end_turn"),
        ("stop", 1, "tool_use"),
        ("length", 1, "max_tokens"),
        ("content_filter", 0, "refusal"),
        ("something_new", 0, "something_new"),
        (None, 1, None),
    ],
)
def test_each_finish_reason_of_chat_completions(finish, calls, reason):
    call = {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call] * calls}
    reply = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    assert reply_from("openai_chat", reply).value["stop_reason"] == reason


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "now", "arguments": "{}"}
REFUSED = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"status": "completed", "output": [CALL]}, "tool_use"),
        ({"status": "completed", "output": []}, "end_turn"),
        ({"status": "completed", "output": [REFUSED]}, "refusal"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [CALL]},
            "max_tokens",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}, "refusal"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}, "output": [CALL]}, "steered"),
    ],
)
def test_responses_has_no_stop_reason_so_its_items_say_it(reply, reason):
    message = reply_from("openai_responses", reply).value
    assert message["stop_reason"] == reason
    assert message["stop_details"] == (
        {"type": "refusal", "category": None, "explanation": "No." if reply["output"] else None}
        if reason == "refusal"
        else None
    )


def test_a_call_is_paired_by_call_id_not_by_the_items_id():
    assert reply_from("openai_responses", {"output": [CALL]}).value["content"][0]["id"] == "call_1"


# Thinking of another provider

REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Look."}],
    "encrypted_content": "é",
}


def test_a_reasoning_item_goes_back_as_it_came():
    message = reply_from("openai_responses", {"output": [REASONING, CALL]}).value
    thought = message["content"][0]
    assert (thought["type"], thought["thinking"]) == ("thinking", "Look.")
    body = request(user("hi"), assistant(message["content"]))
    sent = request_to("openai_responses", body)
    assert sent.value["input"][1] == REASONING
    assert sent.lost == ()
    # to anybody else it means nothing
    for shape in ("openai_chat", "gemini", "anthropic"):
        elsewhere = request_to(shape, body)
        assert lost(elsewhere) == ["messages.1.content.0"]
        assert "rs_1" not in json.dumps(elsewhere.value)


def test_a_thought_signature_stays_on_its_call():
    call = {"functionCall": {"id": "c", "name": "now", "args": {}}, "thoughtSignature": "sig"}
    thought = {"text": "Look.", "thought": True}
    reply = {"candidates": [{"content": {"role": "model", "parts": [thought, call]}, "finishReason": "STOP"}]}
    message = reply_from("gemini", reply).value
    assert message["stop_reason"] == "tool_use"
    assert reply_to("gemini", message).value["candidates"][0]["content"]["parts"] == [thought, call]


def test_gemini_calls_without_ids_are_paired_by_name_and_order():
    def answered(said):
        return {"functionResponse": {"name": "now", "response": {"output": said}}}

    parts = [{"functionCall": {"name": "now", "args": {"n": n}}} for n in (1, 2)]
    contents = [{"role": "model", "parts": parts}, {"role": "user", "parts": [answered("one"), answered("two")]}]
    turn, results = request_from("gemini", {"contents": contents}).value["messages"]
    paired = {result["tool_use_id"]: result["content"] for result in results["content"]}
    assert [paired[call["id"]] for call in turn["content"]] == ["one", "two"]
    assert len({call["id"] for call in turn["content"]}) == 2


# Foreign bodies


def test_consecutive_tool_messages_are_one_turn_of_results():
    body = {"model": "m", "messages": [{"role": "tool", "tool_call_id": id, "content": id} for id in "ab"]}
    [turn] = request_from("openai_chat", body).value["messages"]
    assert turn == user([tool_result("a", "a"), tool_result("b", "b")])


def test_outputs_stand_first_wherever_they_stood():
    items = [{"role": "user", "content": "quick"}, {"type": "function_call_output", "call_id": "a", "output": "x"}]
    body = {"model": "m", "input": [CALL, *items]}
    assert request_from("openai_responses", body).value["messages"][1] == user([tool_result("a", "x"), text("quick")])


def test_allowed_tools_are_the_only_ones_handed_on():
    tools = [{"type": "function", "function": {"name": name}} for name in ("a", "b")]
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "b"}}]}
    body = {
        "model": "m",
        "messages": [],
        "tools": tools,
        "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed},
    }
    converted = request_from("openai_chat", body)
    assert [one["name"] for one in converted.value["tools"]] == ["b"]
    assert converted.value["tool_choice"] == {"type": "any"}
    assert lost(converted) == ["tool_choice"]


# Errors


@pytest.mark.parametrize(
    ("shape", "status", "body", "code", "retryable"),
    [
        (
            "anthropic",
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
            "OVERLOADED",
            True,
        ),
        ("openai_chat", 429, {"error": {"message": "m", "type": "requests"}}, "RATE_LIMITED", True),
        ("openai_responses", 400, {"error": {"message": "m", "code": "unknown_parameter"}}, "INVALID_REQUEST", False),
        ("gemini", 503, {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}, "OVERLOADED", True),
        ("gemini", 502, {"error": {"message": "m"}}, "SERVER_ERROR", True),
        ("anthropic", 500, {"error": {"message": "m"}}, "SERVER_ERROR", True),
        ("anthropic", 499, {"error": {"message": "m"}}, "INVALID_REQUEST", False),
        ("mcp", 200, {"error": {"code": -32001, "message": "m"}}, "TIMEOUT", True),
        ("mcp", 200, {"error": {"code": -32602, "message": "m"}}, "INVALID_INPUT", False),
        ("mcp", 200, {"error": {"code": 7, "message": "m"}}, "PROTOCOL_ERROR", False),
    ],
)
def test_errors_become_our_own_by_their_status_and_code(shape, status, body, code, retryable):
    error = api_error(shape, status, body)
    assert (error.code, error.message, error.retryable) == (code, "m", retryable)
    body["error"]["message"] = "Rate limit reached! Not found, timeout, overloaded."
    assert (api_error(shape, status, body).code, api_error(shape, status, body).retryable) == (code, retryable)


def test_an_error_without_a_body_still_says_something():
    assert str(api_error("openai_chat", 500, None)) == "The provider answered with status 500 and no message."


@pytest.mark.parametrize(
    "error",
    [
        ToolError("NOT_FOUND", "There is no order 7.", hint="Use search_orders."),
        ToolError("BUSY", "Two\nlines.", retryable=True),
    ],
)
def test_our_own_error_text_gives_the_error_back(error):
    again = result_error(tool_result("a", error_text(error), is_error=True))
    assert (again.code, again.message, again.retryable, again.hint) == (
        error.code,
        error.message,
        error.retryable,
        error.hint,
    )


def test_any_other_failure_is_a_failure_of_the_tool():
    error = result_error(tool_result("a", "order not found", is_error=True))
    assert (error.code, error.message) == ("TOOL_FAILED", "order not found")
    assert result_error(tool_result("a", "NOT_FOUND: no")) is None
    silent = result_error(tool_result("a", is_error=True))
    assert (silent.code, silent.message) == ("TOOL_FAILED", "The tool failed without saying why.")


# Results in MCP's shape

LINK = {"type": "resource_link", "uri": "file:///a.txt", "name": "a", "mimeType": "text/plain"}


@pytest.mark.parametrize(
    ("result", "block", "paths"),
    [
        pytest.param({"content": [{"type": "text", "text": "4 C"}]}, tool_result("t", "4 C"), [], id="text"),
        pytest.param({"content": []}, tool_result("t"), [], id="nothing"),
        pytest.param({"content": [{"type": "text", "text": " "}]}, tool_result("t"), [], id="blank_text"),
        pytest.param(
            {"content": [{"type": "text", "text": " "}, {"type": "text", "text": "4 C"}]},
            tool_result("t", "4 C"),
            [],
            id="blank_text_beside_another",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "4 C"}, {"type": "text", "text": "wet"}]},
            tool_result("t", [text("4 C"), text("wet")]),
            [],
            id="two_texts",
        ),
        pytest.param(
            {"content": [{"type": "image", "data": "aaaa", "mimeType": "image/png"}]},
            tool_result(
                "t",
                [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}],
            ),
            [],
            id="picture",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "4 C"}], "resultType": "complete", "_meta": {"a": 1}},
            tool_result("t", "4 C"),
            [],
            id="about_the_answer",
        ),
        pytest.param({"content": [], "more": 1}, tool_result("t"), ["more"], id="an_unknown_key"),
        pytest.param(
            {"content": [{"type": "text", "text": "no"}], "isError": True},
            tool_result("t", "no", is_error=True),
            [],
            id="error",
        ),
        pytest.param(
            {"content": [], "isError": True},
            tool_result("t", "The tool failed without saying why.", is_error=True),
            [],
            id="error_without_words",
        ),
        pytest.param(
            {"content": [{"type": "image", "data": "aaaa", "mimeType": "image/png"}], "isError": True},
            tool_result("t", "The tool failed without saying why.", is_error=True),
            ["content.0"],
            id="fr17_error_with_a_picture",
        ),
        pytest.param(
            {"content": [], "structuredContent": {"n": 1}}, tool_result("t", '{"n":1}'), [], id="structured_alone"
        ),
        pytest.param({"structuredContent": {"n": 1}}, tool_result("t", '{"n":1}'), [], id="structured_and_no_content"),
        pytest.param(
            {"content": [{"type": "text", "text": '{"n": 2}'}], "structuredContent": {"n": 2}},
            tool_result("t", '{"n": 2}'),
            [],
            id="structured_is_the_text",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "two"}], "structuredContent": {"result": "two"}},
            tool_result("t", "two"),
            [],
            id="structured_says_the_same_words",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "2"}], "structuredContent": {"result": 2}},
            tool_result("t", "2"),
            [],
            id="structured_says_the_same",
        ),
        pytest.param(
            {"content": [{"type": "text", "text": "two"}], "structuredContent": {"n": 2}},
            tool_result("t", "two"),
            ["structuredContent"],
            id="structured_says_more",
        ),
        pytest.param(
            {"content": [LINK]},
            tool_result("t", '{"resource_link":{"uri":"file:///a.txt","name":"a","mimeType":"text/plain"}}'),
            [],
            id="resource_link",
        ),
        pytest.param(
            {"content": [{**LINK, "title": "A", "description": "of it", "size": 9, "mimeType": None}]},
            tool_result(
                "t",
                '{"resource_link":{"uri":"file:///a.txt","name":"a","title":"A","description":"of it","size":9}}',
            ),
            [],
            id="resource_link_with_all_that_is_said_of_it",
        ),
        pytest.param(
            {"content": [{"type": "resource", "resource": {"uri": "file:///a.txt", "text": "hello"}}]},
            tool_result("t", "[file:///a.txt]\nhello"),
            [],
            id="resource",
        ),
        pytest.param(
            {"content": [{"type": "audio", "data": "aaaa", "mimeType": "audio/wav"}]},
            tool_result("t", "(Content of type audio was left out here.)"),
            ["content.0"],
            id="audio",
        ),
    ],
)
def test_what_a_call_returned_in_mcp(result, block, paths):
    converted = result_from("mcp", result, "t")
    assert (converted.value, lost(converted)) == (block, paths)


@quick
@given(content=contents | st.just([PNG, text("x")]), failed=st.booleans())
def test_a_result_comes_back_from_mcp(content, failed):
    if failed and (not content or content[0] == PNG):
        content = "no"
    block = tool_result("t", content, is_error=failed)
    there = result_to("mcp", block)
    back = result_from("mcp", there.value, "t").value
    assert there.lost == ()
    assert normal_form({"messages": [user([back])]}) == normal_form({"messages": [user([block])]})


# Endings


@pytest.mark.parametrize("shape", ["openai_chat", "openai_responses", "gemini"])
@pytest.mark.parametrize(
    ("ending", "paths"),
    [
        ({"stop_reason": "end_turn"}, set()),
        ({"stop_reason": None}, set()),
        ({"stop_reason": "pause_turn"}, {"stop_reason"}),
        ({"stop_reason": "model_context_window_exceeded"}, {"stop_reason"}),
        ({"stop_reason": "stop_sequence", "stop_sequence": "END"}, {"stop_sequence"}),
        ({"stop_reason": "refusal", "stop_details": {"category": "bio"}}, {"stop_details.category"}),
    ],
)
def test_an_ending_that_has_no_word_there_is_told(shape, ending, paths):
    there = reply_to(shape, {"id": "msg_1", "content": [text("Hi.")], **ending})
    assert {loss.path for loss in there.lost} == paths
    if not paths:
        assert reply_from(shape, there.value).value["stop_reason"] == (ending["stop_reason"] or reason_of_none(shape))


def reason_of_none(shape):
    """A reply that broke off is one that was cut, where the other side has a word for that alone."""
    return "max_tokens" if shape == "openai_responses" else None


def test_a_refusal_says_nothing_in_gemini():
    refused = {"stop_reason": "refusal", "stop_details": {"explanation": "No."}, "content": []}
    assert [loss.path for loss in reply_to("gemini", refused).lost] == ["stop_details.explanation"]
    assert reply_to("openai_chat", refused).lost == ()


# The table


def test_every_difference_has_a_cell_for_every_shape():
    assert {topic: len(cells) for topic, cells in DIFFERENCES.items()} == dict.fromkeys(DIFFERENCES, len(SHAPES))
    needed = {
        "definitions",
        "inputs",
        "pairing id",
        "a result",
        "order",
        "error flag",
        "parallel switch",
        "strict",
        "deferred tools",
        "stop signal",
    }
    assert needed <= DIFFERENCES.keys()


def test_the_table_shows_the_shapes_that_were_named():
    lines = differences_table("openai_chat", "anthropic").splitlines()
    assert lines[0] == "|  | openai_chat | anthropic |"
    assert "| error flag | none: the text must say it | `is_error` |" in lines
    with pytest.raises(ValueError, match="'cohere' is no shape"):
        differences_table("cohere")


def test_an_effect_that_is_none_is_said_as_by_tool():
    with pytest.raises(ValueError) as caught:
        Definition("delete_file", effect="irreversable")
    assert str(caught.value) == "`effect` is 'irreversable': say 'read', 'write' or 'irreversible'."
    with pytest.raises(ValueError) as again:
        tool(effect="irreversable")(lambda: None)
    assert str(again.value) == str(caught.value)


def test_a_shape_and_a_definition_in_the_wrong_order():
    with pytest.raises(ValueError) as caught:
        definition_to(Definition("now"), "gemini")
    first = repr(Definition("now"))[:40]
    said = f"{first} is no shape: give one of anthropic, openai_chat, openai_responses, gemini, mcp."
    assert str(caught.value) == said


def test_a_definition_has_a_name():
    with pytest.raises(TypeError) as caught:
        definition_to("gemini", "now")
    assert str(caught.value) == "'now' is no tool: give a `Tool`, a `Definition` or a dict, or use `@tool`."
    with pytest.raises(ValueError) as caught:
        definition_from("mcp", {"description": "The time."})
    assert str(caught.value) == "A definition has no `name`: give it one."


# Against the types of the SDK


@quick
@given(body=conversations(pictures=True, text_anywhere=True), message=replies())
def test_what_is_sent_and_answered_has_the_types_of_the_sdk(body, message):
    pytest.importorskip("openai", reason="the extra `providers` is not installed")
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam
    from openai.types.responses import Response
    from openai.types.responses.function_tool_param import FunctionToolParam
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

    chat = request_to("openai_chat", body).value
    for one in chat["messages"]:
        fits(ChatCompletionMessageParam, one)
    responses = request_to("openai_responses", {**body, "stop_sequences": None}).value
    for item in responses["input"]:
        fits(ResponseInputItemParam, item)
    for entry in responses["tools"]:
        fits(FunctionToolParam, entry)
    ChatCompletion.model_validate(reply_to("openai_chat", message).value, strict=True)
    Response.model_validate(reply_to("openai_responses", message).value, strict=True)


def fits(kind, value):
    """Against a TypedDict. Iterables in it are read only when they are written out again."""
    adapter = adapter_of(kind)
    adapter.dump_python(adapter.validate_python(value))


@cache
def adapter_of(kind):
    return TypeAdapter(kind)


@pytest.mark.parametrize(
    ("shape", "topic", "says"),
    [
        ("openai_chat", "stop signal", '`"stop"` where `tool_choice` names the function (as reported)'),
        ("anthropic", "strict", "24 optional inputs in all strict tools together"),
        ("openai_responses", "strict", "optional inputs become required"),
        ("openai_responses", "order", "(as reported)"),
        ("openai_responses", "must go back unchanged", "unless `previous_response_id`"),
    ],
)
def test_the_table_says_what_is_bounded_or_only_reported(shape, topic, says):
    assert says in DIFFERENCES[topic][SHAPES.index(shape)]

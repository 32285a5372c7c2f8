"""The SDK as a second opinion: its tool runner sends what our loop sends, its types hold what the mock replies."""

import json
from typing import Any

import anthropic
import pydantic
import pytest
from anthropic import beta_tool

from course_kit.contract.messages import STOP_REASONS, text, tool_result
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.harness.agent import run_agent
from course_kit.harness.tools import Tool, tool
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import Draft

TOOLS_OF_BOTH = {
    "add": lambda a, b: str(a + b),
    "get_weather": lambda city: f"4 C in {city}",
    "now": lambda: "noon",
    "picture": lambda: [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}],
    "silent": lambda: None,
    "broken": lambda: {}["x"],
}


def definition(name: str, **properties: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"name": name, "description": f"The {name} tool.", "input_schema": {**schema, "required": list(properties)}}


DEFINITIONS = {
    one["name"]: one
    for one in (
        definition("add", a="integer", b="integer"),
        definition("broken"),
        definition("get_weather", city="string"),
        definition("now"),
        definition("picture"),
        definition("silent"),
    )
}


def ours() -> list[Tool]:
    return [tool(TOOLS_OF_BOTH[name], **DEFINITIONS[name]) for name in DEFINITIONS]


def theirs() -> list[Any]:
    return [beta_tool(TOOLS_OF_BOTH[name], **DEFINITIONS[name]) for name in DEFINITIONS]


def block(id: str, name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{id}", "name": name, "input": input, "caller": {"type": "direct"}}


THOUGHT = {"type": "thinking", "thinking": "Both are needed.", "signature": "c2lnbmF0dXJl"}


def requests_after(*reply: dict[str, Any], tools: tuple[Any, Any] | None = None) -> tuple[dict, dict]:
    """The second request of our loop, and that of the SDK's runner, for the same first reply."""
    asked = {"model": DEFAULT_MODEL, "max_tokens": 200, "messages": [{"role": "user", "content": "Go."}]}
    bodies = []
    for run in (
        lambda client, made: run_agent(client, tools=made, **asked),
        lambda client, made: client.beta.messages.tool_runner(tools=made, thread=False, **asked).until_done(),
    ):
        provider = MockProvider([Draft(list(reply)), "Done."])
        run(provider.client(max_retries=0), (tools or (ours(), theirs()))[len(bodies)])
        assert len(provider.requests) == 2 and not provider.requests[1].violation
        bodies.append(provider.requests[1].body)
    return bodies[0], bodies[1]


PLAIN_SUCCESSES = {
    "one_call": [block("1", "add", a=2, b=3)],
    "parallel_calls": [block("1", "get_weather", city="Oslo"), block("2", "add", a=2, b=3), block("3", "now")],
    "text_and_a_call": [text("Let me see: é ✅"), block("1", "get_weather", city="Malmö")],
    "a_call_without_arguments": [block("1", "now")],
    "thinking_and_a_call": [THOUGHT, block("1", "add", a=2, b=3)],
    "thinking_text_and_calls": [THOUGHT, text("Both."), block("1", "now"), block("2", "add", a=-1, b=0)],
    "a_result_of_blocks": [block("1", "picture")],
}


@pytest.mark.parametrize("reply", PLAIN_SUCCESSES.values(), ids=PLAIN_SUCCESSES)
def test_the_second_request_is_that_of_the_sdks_runner(reply):
    our_body, their_body = requests_after(*reply)
    assert our_body["messages"] == their_body["messages"]
    assert our_body["tools"] == their_body["tools"] == list(DEFINITIONS.values())
    # Block for block, each with its fields in the same order: the very same JSON.
    assert json.dumps(our_body["messages"][2]) == json.dumps(their_body["messages"][2])
    assert our_body == their_body


# Where the two differ by design


def test_our_tools_are_sorted_and_theirs_stand_as_given():
    our_body, their_body = requests_after(PLAIN_SUCCESSES["one_call"][0], tools=(ours()[::-1], theirs()[::-1]))
    assert our_body["tools"] == their_body["tools"][::-1]


def test_our_text_after_a_call_moves_ahead_of_it_and_theirs_is_refused():
    call, late = block("1", "add", a=2, b=3), text("Adding.")
    provider = MockProvider([Draft([call, late]), "Done."])
    run_agent(provider.client(), messages="Go.", tools=ours())
    assert provider.requests[1].body["messages"][1]["content"] == [late, call]
    asked = {"model": DEFAULT_MODEL, "max_tokens": 200, "messages": [{"role": "user", "content": "Go."}]}
    client = MockProvider([Draft([call, late]), "Done."]).client()
    with pytest.raises(anthropic.BadRequestError, match="without `tool_result` blocks immediately after: toolu_1"):
        client.beta.messages.tool_runner(tools=theirs(), thread=False, **asked).until_done()


def last(body: dict[str, Any]) -> list[dict[str, Any]]:
    return body["messages"][-1]["content"]


def test_no_output_is_said_in_words_here_and_null_there():
    our_body, their_body = requests_after(block("1", "silent"))
    assert last(our_body) == [tool_result("toolu_1", "(no output)")]
    assert last(their_body) == [{"type": "tool_result", "tool_use_id": "toolu_1", "content": None}]


@pytest.mark.filterwarnings("ignore")
def test_failures_are_told_in_other_words():
    our_body, their_body = requests_after(
        block("1", "broken"), block("2", "no_such_tool"), block("3", "add", a="2", b=3)
    )
    assert [(one["tool_use_id"], one["is_error"]) for one in last(our_body)] == [
        (one["tool_use_id"], one["is_error"]) for one in last(their_body)
    ]
    assert [one["content"] for one in last(our_body)][:2] == [
        "KeyError: 'x'",
        "There is no tool `no_such_tool`. The tools are: add, broken, get_weather, now, picture, silent.",
    ]
    assert [one["content"] for one in last(their_body)][:2] == ["KeyError('x')", "Error: Tool 'no_such_tool' not found"]
    # Theirs names no field; ours says which, what it wants and what came.
    wrong_here, wrong_there = last(our_body)[2]["content"], last(their_body)[2]["content"]
    assert "`a`" in wrong_here and "integer" in wrong_here and "`a`" not in wrong_there


def test_each_stop_reason_is_taken_as_by_the_sdks_runner():
    """But for two: a cut call is asked for once more here, and `compaction` is not modelled."""
    runner = pytest.importorskip("anthropic.lib.tools._beta_runner")
    steps = {"tool_use": "run_tools", "pause_turn": "resume"}
    expected = {reason: steps.get(reason, "stop") for reason in STOP_REASONS}
    assert {**expected, "compaction": "resume"} == runner._STOP_REASON_STEPS


# The mock's replies as the SDK's types

REQUESTS = {
    "a_text": {"model": DEFAULT_MODEL},
    "a_call": {"model": DEFAULT_MODEL, "tools": [DEFINITIONS["add"]], "tool_choice": {"type": "any"}},
    "thinking": {"model": "claude-opus-5-5", "tools": [DEFINITIONS["get_weather"]]},
    "scripted": {"model": DEFAULT_MODEL, "tools": list(DEFINITIONS.values())},
}


def provider_for(name: str) -> MockProvider:
    return MockProvider([Draft(PLAIN_SUCCESSES["thinking_text_and_calls"])] * 2 if name == "scripted" else None)


def asked(name: str) -> dict[str, Any]:
    question = {"role": "user", "content": "What is the weather in Oslo, and what is 2 + 3?"}
    return {"max_tokens": 1000, "messages": [question], **REQUESTS[name]}


def unknown_fields(value: Any) -> list[str]:
    """The fields of a message, at any depth, that the SDK's types do not know."""
    if isinstance(value, pydantic.BaseModel):
        found = list(value.model_extra or ())
        return found + [one for name in type(value).model_fields for one in unknown_fields(getattr(value, name, None))]
    if isinstance(value, list):
        return [one for item in value for one in unknown_fields(item)]
    return []


@pytest.mark.parametrize("name", REQUESTS)
def test_every_reply_is_a_message_of_the_sdk(name):
    provider = provider_for(name)
    created = provider.client().messages.create(**asked(name))
    checked = anthropic.types.Message.model_validate_json(json.dumps(provider.requests[0].reply), strict=True)
    assert checked == created and unknown_fields(checked) == []
    assert checked.to_dict(mode="json") == provider.requests[0].reply


def without_ids(value: Any) -> Any:
    """Ids and signatures depend on the request's bytes, in which `stream` stands."""
    if isinstance(value, dict):
        return {key: without_ids(part) for key, part in value.items() if key not in ("id", "signature")}
    return [without_ids(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", REQUESTS)
def test_a_stream_adds_up_to_what_create_gives(name):
    client = provider_for(name).client()
    created = client.messages.create(**asked(name))
    with client.messages.stream(**asked(name)) as stream:
        streamed = stream.get_final_message()
    assert without_ids(anthropic.types.Message.model_validate(streamed.to_dict()).to_dict()) == without_ids(
        created.to_dict()
    )

"""Token estimates: small cases by hand."""

import json
from typing import Any

import pytest

from course_kit.mock.usage import count_tokens, estimate

OPUS, OLD = "claude-opus-5", "claude-haiku-4-5"  # kept from 512 and from 4096 tokens on
MARK = {"type": "ephemeral"}
LONG = "x" * 4000


def text(value: str = LONG, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **fields}


def tool(name: str = "find", **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": LONG, "input_schema": {"type": "object"}, **fields}


def body(*messages: Any, model: str = OPUS, **fields: Any) -> dict[str, Any]:
    content = messages or ([text("Hi.")],)
    roles = ("user", "assistant")
    turns = [{"role": roles[i % 2], "content": one} for i, one in enumerate(content)]
    return {"model": model, "max_tokens": 100, "messages": turns, **fields}


def tokens_of(*parts: Any, role: str = "user") -> int:
    """By hand: the blocks' JSON with `, ` between them, and the role once for each block; four characters a token."""
    characters = sum(len(json.dumps(part)) + len(role) for part in parts) + 2 * (len(parts) - 1)
    return -(-characters // 4)


# Tokens


@pytest.mark.parametrize(
    ("value", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("天", 2), ({"a": 1}, 2), ([], 1)],
    ids=["empty", "four", "five", "one character of six", "object", "list"],
)
def test_a_token_is_four_characters_of_json(value: Any, tokens: int) -> None:
    assert estimate(value) == tokens


def test_a_prompt_by_hand() -> None:
    assert count_tokens(body([text("Hi.")])) == tokens_of(text("Hi."))
    assert count_tokens(body("Hi.")) == tokens_of(text("Hi."))
    assert count_tokens(body([text("Hi."), text("You.")])) == tokens_of(text("Hi."), text("You."))
    assert count_tokens(body(system="Be kind.")) > count_tokens(body())


def test_tools_cost_their_definition_and_what_their_presence_costs() -> None:
    plain = count_tokens(body())
    definition = (len(json.dumps(tool())) + 2) / 4
    with_tools = count_tokens(body(tools=[tool()]))
    assert abs(with_tools - plain - 286 - definition) <= 1  # Opus 5: 286 tokens, 406 when a call is forced
    assert count_tokens(body(tools=[tool()], tool_choice={"type": "any"})) == with_tools + 120
    assert count_tokens(body(tools=[tool()], tool_choice={"type": "none"})) == with_tools
    assert count_tokens(body(tools=[])) == plain


def test_a_deferred_tool_costs_nothing_until_it_is_found() -> None:
    deferred, result = tool("rare", defer_loading=True), {"type": "tool_reference", "tool_name": "rare"}
    hidden = body(tools=[tool(), deferred])
    assert count_tokens(hidden) == count_tokens(body(tools=[tool()]))
    found = {"type": "tool_result", "tool_use_id": "toolu_A", "content": [result]}
    asked = {"type": "tool_use", "id": "toolu_A", "name": "find", "input": {}}
    messages = ([text("Hi.")], [asked], [found])
    loaded = count_tokens(body(*messages, tools=[tool(), deferred])) - count_tokens(body(*messages, tools=[tool()]))
    assert abs(loaded - len(json.dumps(deferred)) / 4) <= 1
    again = (*messages, [asked], [found])
    twice = count_tokens(body(*again, tools=[tool(), deferred])) - count_tokens(body(*again, tools=[tool()]))
    assert abs(twice - loaded) <= 1


def test_marks_cost_nothing() -> None:
    marked = body([text(cache_control=MARK)], tools=[tool(cache_control=MARK)], cache_control=MARK)
    assert count_tokens(marked) == count_tokens(body([text()], tools=[tool()]))

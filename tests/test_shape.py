"""The fields of a request: each with a value of the wrong type, at its bounds, and with what is accepted unseen."""

import pytest

from course_kit.contract.examples import (
    ASK,
    CALL,
    IMAGE,
    OLD,
    RESULT,
    SEARCH,
    SERVER_CALL,
    SERVER_RESULT,
    TEXT,
    THINKING,
    WEATHER,
    assistant,
    body,
    many,
    round_trip,
    tool,
    user,
)
from course_kit.contract.protocol import check_request
from course_kit.contract.shape import NOT_MODELLED

OBJECT, ARRAY, STRING = "Input should be an object", "Input should be a valid array", "Input should be a valid string"
BOOLEAN, INTEGER, REQUIRED = "Input should be a valid boolean", "Input should be a valid integer", "Field required"
NUMBER, EXTRA = "Input should be a valid number", "Extra inputs are not permitted"
CALLERS = "Input should be 'direct', 'code_execution_20250825', 'code_execution_20260120' or 'code_execution_20260521'"
TAGS = "Input tag '{}' found using 'type' does not match any of the expected tags: {}"
TOOLS = (
    "'custom', 'tool_search_tool_regex_20251119', 'tool_search_tool_regex', 'tool_search_tool_bm25_20251119', "
    "'tool_search_tool_bm25'"
)
BLOCKS = (
    "'text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result', "
    "'server_tool_use', 'tool_search_tool_result'"
)


def told(request, version="2023-06-01"):
    """The first violation, as the API words it; None where there is none."""
    found = check_request(request, version=version)
    return found[0].message if found else None


def searched(call=None, result=None):
    return body(
        ASK, assistant({**SERVER_CALL, **(call or {})}, {**SERVER_RESULT, **(result or {})}), ASK,
        tools=[SEARCH, WEATHER],
    )  # fmt: skip


def thinking(**fields):
    return body(model=OLD, thinking={"type": "enabled", "budget_tokens": 1024, **fields})


def cached(**fields):
    return body(user({**TEXT, "cache_control": {"type": "ephemeral", **fields}}))


def found(*references):
    return searched(result={"content": {"type": "tool_search_tool_search_result", "tool_references": [*references]}})


FIELDS = {
    "model": (5, STRING),
    "messages": ({}, ARRAY),
    "system": (5, ARRAY),
    "tools": ({}, ARRAY),
    "tool_choice": (5, OBJECT),
    "thinking": (5, OBJECT),
    "output_config": (5, OBJECT),
    "cache_control": (5, OBJECT),
    "max_tokens": ("5", INTEGER),
    "stop_sequences": ("x", ARRAY),
    "temperature": ("x", NUMBER),
    "top_k": (1.5, INTEGER),
    "top_p": ("x", NUMBER),
    "stream": ("x", BOOLEAN),
}
TOOL_FIELDS = {
    "name": (5, STRING),
    "description": (1, STRING),
    "strict": ("x", BOOLEAN),
    "defer_loading": ("x", BOOLEAN),
    "cache_control": (5, OBJECT),
    "input_examples": ({}, ARRAY),
    "eager_input_streaming": ("x", BOOLEAN),
    "allowed_callers": ({}, ARRAY),
}
CALL_FIELDS = {
    "id": STRING, "name": STRING, "input": OBJECT, "caller": OBJECT, "toolset_name": STRING, "cache_control": OBJECT,
}  # fmt: skip
RESULT_FIELDS = {
    "tool_use_id": STRING, "content": ARRAY, "is_error": BOOLEAN, "toolset_name": STRING, "cache_control": OBJECT,
}  # fmt: skip
SERVER_FIELDS = {"id": STRING, "name": STRING, "input": OBJECT, "caller": OBJECT, "cache_control": OBJECT}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_another_type(name):
    value, said = FIELDS[name]
    assert told(body(**{name: value})) == f"{name}: {said}"


@pytest.mark.parametrize("name", TOOL_FIELDS)
def test_a_field_of_a_definition_of_another_type(name):
    value, said = TOOL_FIELDS[name]
    assert told(body(tools=[tool(**{name: value})])) == f"tools.0.custom.{name}: {said}"


@pytest.mark.parametrize("name", CALL_FIELDS)
def test_a_field_of_a_call_of_another_type(name):
    said = f"messages.1.content.0.tool_use.{name}: {CALL_FIELDS[name]}"
    assert told(round_trip(call={**CALL, name: 5})) == said


@pytest.mark.parametrize("name", RESULT_FIELDS)
def test_a_field_of_a_result_of_another_type(name):
    said = f"messages.2.content.0.tool_result.{name}: {RESULT_FIELDS[name]}"
    assert told(round_trip({**RESULT, name: 5})) == said


@pytest.mark.parametrize("name", SERVER_FIELDS)
def test_a_field_of_a_servers_call_of_another_type(name):
    assert told(searched({name: 5})) == f"messages.1.content.0.server_tool_use.{name}: {SERVER_FIELDS[name]}"


@pytest.mark.parametrize("name", ["strict", "defer_loading", "allowed_callers", "cache_control"])
def test_a_field_of_a_search_tool_of_another_type(name):
    said = {"allowed_callers": ARRAY, "cache_control": OBJECT}.get(name, BOOLEAN)
    place = f"tools.0.tool_search_tool_bm25_20251119.{name}"
    assert told(body(tools=[{**SEARCH, name: "x"}, WEATHER])) == f"{place}: {said}"


FIRST, SECOND = "messages.0.content.0", "messages.1.content.0"
HOLDS = f"{SECOND[:-1]}1.tool_search_tool_result.content"
REFUSED = {
    "a budget in quotes": (thinking(budget_tokens="1024"), f"thinking.budget_tokens: {INTEGER}"),
    "a budget too small": (
        thinking(budget_tokens=1023), "thinking.budget_tokens: must be greater than or equal to 1024",
    ),
    "no such display": (
        thinking(display="x"), "thinking.display: Input should be 'summarized', 'omitted' or 'updates'",
    ),
    "no such thinking": (
        thinking(type="x"), "thinking.type: Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'",
    ),
    "a binding that is none": (thinking(block_binding=1), f"thinking.block_binding: {OBJECT}"),
    "more of thinking": (thinking(x=1), f"thinking.x: {EXTRA}"),
    "no such effort": (
        body(output_config={"effort": "x"}),
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    "a format without schema": (
        body(output_config={"format": {"type": "json_schema"}}), f"output_config.format.schema: {REQUIRED}",
    ),
    "no such format": (
        body(output_config={"format": {"type": "json", "schema": {}}}),
        "output_config.format.type: Input should be 'json_schema'",
    ),
    "a budget that is no object": (body(output_config={"task_budget": 1}), f"output_config.task_budget: {OBJECT}"),
    "more of output": (body(output_config={"x": 1}), f"output_config.x: {EXTRA}"),
    "no such time": (cached(ttl="2h"), f"{FIRST}.text.cache_control.ttl: Input should be '5m' or '1h'"),
    "no time": (cached(ttl=None), f"{FIRST}.text.cache_control.ttl: Input should be '5m' or '1h'"),
    "no such cache": (cached(type="x"), f"{FIRST}.text.cache_control.type: Input should be 'ephemeral'"),
    "more of the cache": (cached(x=1), f"{FIRST}.text.cache_control.x: {EXTRA}"),
    "a name of no letters": (
        body(tools=[tool(name="")]), "tools.0.custom.name: String should have at least 1 character",
    ),
    "a name of 129": (
        body(tools=[tool(name="a" * 129)]), "tools.0.custom.name: String should have at most 128 characters",
    ),
    "no such caller": (body(tools=[tool(allowed_callers=["x"])]), f"tools.0.custom.allowed_callers.0: {CALLERS}"),
    "an example that is none": (body(tools=[tool(input_examples=[5])]), f"tools.0.custom.input_examples.0: {OBJECT}"),
    "properties in a list": (
        body(tools=[tool(input_schema={"type": "object", "properties": []})]),
        f"tools.0.custom.input_schema.properties: {OBJECT}",
    ),
    "more of a search": (
        body(tools=[{**SEARCH, "x": 1}, WEATHER]), f"tools.0.tool_search_tool_bm25_20251119.x: {EXTRA}",
    ),
    "no such tool": (body(tools=[{"type": "x", "name": "x"}]), f"tools.0: {TAGS.format('x', TOOLS)}"),
    "a type that is a number": (body(tools=[{"type": 5}]), f"tools.0: {TAGS.format('5', TOOLS)}"),
    "a tool that is a number": (body(tools=[5]), f"tools.0.custom: {OBJECT}"),
    "a cache on another's tool": (
        body(tools=[{"type": "web_search_20250305", "cache_control": 1}, WEATHER]), f"tools.0.cache_control: {OBJECT}",
    ),
    "a name of another's tool": (
        body(tools=[{"type": "web_search_20250305", "name": 1}, WEATHER]), f"tools.0.name: {STRING}",
    ),
    "more of a call": (round_trip(call={**CALL, "x": 5}), f"{SECOND}.tool_use.x: {EXTRA}"),
    "more of a result": (round_trip({**RESULT, "x": 5}), f"messages.2.content.0.tool_result.x: {EXTRA}"),
    "no such caller of a call": (
        round_trip(call={**CALL, "caller": {"type": "x"}}), f"{SECOND}.tool_use.caller.type: {CALLERS}",
    ),
    "a caller's id": (
        round_trip(call={**CALL, "caller": {"type": "direct", "tool_id": 5}}),
        f"{SECOND}.tool_use.caller.tool_id: {STRING}",
    ),
    "more of a caller": (
        round_trip(call={**CALL, "caller": {"type": "direct", "x": 5}}), f"{SECOND}.tool_use.caller.x: {EXTRA}",
    ),
    "more of a server's call": (searched({"x": 5}), f"{SECOND}.server_tool_use.x: {EXTRA}"),
    "more of a server's result": (searched(result={"x": 5}), f"{HOLDS[: -len('.content')]}.x: {EXTRA}"),
    "no such result of a search": (
        searched(result={"content": {"type": "x"}}),
        f"{HOLDS}: {TAGS.format('x', repr('tool_search_tool_search_result'))}",
    ),
    "no such reference": (
        found({"type": "x", "tool_name": "get_weather"}),
        f"{HOLDS}.tool_search_tool_search_result.tool_references.0.type: Input should be 'tool_reference'",
    ),
    "a reference to nothing": (
        found({"type": "tool_reference"}),
        f"{HOLDS}.tool_search_tool_search_result.tool_references.0.tool_name: {REQUIRED}",
    ),
    "thinking that is no text": (
        body(ASK, assistant({**THINKING, "thinking": 5}, TEXT), ASK), f"{SECOND}.thinking.thinking: {STRING}",
    ),
    "a signature that is no text": (
        body(ASK, assistant({**THINKING, "signature": 5}, TEXT), ASK), f"{SECOND}.thinking.signature: {STRING}",
    ),
    "thinking without its data": (
        body(ASK, assistant({"type": "redacted_thinking"}, TEXT), ASK), f"{SECOND}.redacted_thinking.data: {REQUIRED}",
    ),
    "text without text": (body(user({"type": "text"})), f"{FIRST}.text.text: {REQUIRED}"),
    "citations that are none": (body(user({**TEXT, "citations": 1})), f"{FIRST}.text.citations: {ARRAY}"),
    "more of a text": (body(user({**TEXT, "x": 1})), f"{FIRST}.text.x: {EXTRA}"),
    "no such block": (body(user({"type": 5})), f"{FIRST}: {TAGS.format(5, BLOCKS)}"),
    "a picture in the system prompt": (body(system=[IMAGE]), f"system.0: {TAGS.format('image', repr('text'))}"),
    "more of a message": (body({**ASK, "name": "x"}), f"messages.0.name: {EXTRA}"),
    "a message without role": (body({"content": "x"}), f"messages.0.role: {REQUIRED}"),
    "content that is a number": (body({"role": "user", "content": 5}), f"messages.0.content: {ARRAY}"),
    "a message that is a number": (body(5), f"messages.0: {OBJECT}"),
    "a forced tool without name": (body(tool_choice={"type": "tool"}), f"tool_choice.tool.name: {REQUIRED}"),
    "more of auto": (body(tool_choice={"type": "auto", "x": 1}), f"tool_choice.auto.x: {EXTRA}"),
    "a name for any": (body(tool_choice={"type": "any", "name": "x"}), f"tool_choice.any.name: {EXTRA}"),
    "more of a forced tool": (
        body(tool_choice={"type": "tool", "name": "get_weather", "x": 1}), f"tool_choice.tool.x: {EXTRA}",
    ),
    "a switch that is none": (
        body(tool_choice={"type": "auto", "disable_parallel_tool_use": "x"}),
        f"tool_choice.auto.disable_parallel_tool_use: {BOOLEAN}",
    ),
    "the switch of a forced tool": (
        body(tool_choice={"type": "tool", "name": "get_weather", "disable_parallel_tool_use": 5}),
        f"tool_choice.tool.disable_parallel_tool_use: {BOOLEAN}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    request, said = REFUSED[name]
    assert told(request) == said


ACCEPTED = {
    **{f"display {value}": thinking(display=value) for value in ("summarized", "omitted", "updates", None)},
    **{f"effort {value}": body(output_config={"effort": value}) for value in ("low", "medium", "high", "xhigh", "max")},
    **{f"ttl {value}": cached(ttl=value) for value in ("5m", "1h")},
    **{f"nothing in {name}": body(tools=[tool(**{name: None})]) for name in ("type", "strict", "input_examples")},
    **{f"nothing as {name}": round_trip(call={**CALL, name: None}) for name in ("caller", "toolset_name")},
    "a binding": thinking(block_binding={}),
    "a budget of a task": body(output_config={"task_budget": {}}),
    "no format": body(output_config={"format": None, "effort": None}),
    "no cache": body(user({**TEXT, "cache_control": None})),
    "no citations": body(user({**TEXT, "citations": None})),
    "a custom tool": body(tools=[tool(type="custom")]),
    "a name of 128": body(tools=[tool(name="a" * 128)]),
    "an error of a search": searched(result={"content": {"type": "tool_search_tool_result_error"}}),
    "a toolset without a name": body(tools=[{"type": "mcp_toolset", "mcp_server_name": "x"}, WEATHER]),
    "10,000 deferred tools": body(tools=[SEARCH, *many(10_000, defer_loading=True)]),
    "a state of a browser in a result": round_trip({**RESULT, "content": [{"type": "browser_state"}]}),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    assert told(ACCEPTED[name]) is None


@pytest.mark.parametrize(
    "caller", ["direct", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]
)
def test_callers(caller):
    assert told(round_trip(call={**CALL, "caller": {"type": caller, "tool_id": "x"}})) is None
    assert told(body(tools=[tool(allowed_callers=[caller])])) is None


@pytest.mark.parametrize("way", ["regex", "bm25"])
@pytest.mark.parametrize("dated", ["", "_20251119"])
def test_search_tools_have_the_name_of_their_way(way, dated):
    entry = {"type": f"tool_search_tool_{way}{dated}", "name": f"tool_search_tool_{way}"}
    assert told(body(tools=[entry, WEATHER])) is None
    said = f"tools.0.{entry['type']}.name: Input should be 'tool_search_tool_{way}'"
    assert told(body(tools=[{**entry, "name": "search"}, WEATHER])) == said


@pytest.mark.parametrize("kind", ["image", "document", "search_result"])
def test_media_have_a_source(kind):
    assert told(body(user({"type": kind}))) == f"{FIRST}.{kind}.source: {REQUIRED}"
    there = f"messages.2.content.0.tool_result.content.0.{kind}.source: {REQUIRED}"
    assert told(round_trip({**RESULT, "content": [{"type": kind}]})) == there


@pytest.mark.parametrize("field", NOT_MODELLED["fields"])
def test_fields_that_are_not_looked_into(field):
    for value in ("x", 5, {}):
        assert told(body(**{field: value})) is None


@pytest.mark.parametrize("kind", NOT_MODELLED["tools"])
def test_tools_that_are_not_looked_into(kind):
    assert told(body(tools=[{"type": f"{kind}_20990101", "name": "x", "more": 1}, WEATHER])) is None


@pytest.mark.parametrize("kind", NOT_MODELLED["blocks"])
def test_blocks_that_are_not_looked_into(kind):
    called = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}  # a result needs one
    answer = {"type": kind, "tool_use_id": "srvtoolu_1", "more": 1}
    assert told(body(ASK, assistant(called, answer), ASK)) is None


def test_what_is_not_modelled():
    """Taking one out of the list would refuse what real requests hold."""
    assert {kind: len(names) for kind, names in NOT_MODELLED.items()} == {
        "fields": 6, "beta fields": 7, "tools": 10, "blocks": 14, "blocks in results": 1,
    }  # fmt: skip

"""Tool search in OpenAI's shape: every item is of the SDK's own types, and a round trip loses nothing."""

import re
from typing import Any

import pytest

from course_kit.contract.protocol import check_request
from course_kit.contract.shapes import normal_form, reply_from, request_from, request_to
from course_kit.contract.shapes.responses_reply import responses_reply_to
from course_kit.contract.shapes.search import (
    namespace_of,
    search_blocks_from,
    search_items_to,
    searches,
    tools_without_search,
)

pytest.importorskip("openai", reason="the openai SDK is an optional extra")

from openai.types.responses import ResponseToolSearchCall, ResponseToolSearchOutputItem  # noqa: E402


def function(name: str, **fields: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}}
    return {"type": "function", "name": name, "description": f"Does {name}.", "parameters": parameters, **fields}


ORDERS = function("list_orders", defer_loading=True)
CUSTOMERS = function("list_customers", defer_loading=True)
SHIPPED = function("list_orders", defer_loading=True, description="Lists what was shipped.")
ALWAYS, LONE = function("ask_user"), function("get_weather", defer_loading=True)
CRM = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [ORDERS, CUSTOMERS]}
STORE = {"type": "namespace", "name": "store", "description": "The warehouse.", "tools": [SHIPPED]}
DEFERRED = tools_without_search([{"type": "tool_search"}, ALWAYS, LONE, CRM, STORE])
ASKED = {
    "type": "server_tool_use",
    "id": "srvtoolu_01A",
    "name": "tool_search_tool_bm25",
    "input": {"query": "orders"},
    "caller": {"type": "direct"},
}


def result(*names: str) -> dict[str, Any]:
    found = [{"type": "tool_reference", "tool_name": name} for name in names]
    content = {"type": "tool_search_tool_search_result", "tool_references": found}
    return {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_01A", "content": content}


def test_groups_and_search_are_taken_out() -> None:
    names = ["ask_user", "get_weather", "list_orders", "list_customers", "store__list_orders"]
    assert [tool["name"] for tool in DEFERRED.functions] == names
    assert DEFERRED.functions[4] == {**SHIPPED, "name": "store__list_orders"}
    assert DEFERRED.search == [{"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}]
    assert DEFERRED.groups == {
        "list_orders": (CRM, "list_orders"),
        "list_customers": (CRM, "list_customers"),
        "store__list_orders": (STORE, "list_orders"),
    }
    plain = tools_without_search([ALWAYS, {"type": "tool_search", "execution": "client"}])
    assert (plain.search, plain.groups) == ([], {})


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("ask_user", {"name": "ask_user"}),
        ("get_weather", {"namespace": "get_weather", "name": "get_weather"}),
        ("list_orders", {"namespace": "crm", "name": "list_orders"}),
        ("store__list_orders", {"namespace": "store", "name": "list_orders"}),
    ],
)
def test_a_call_names_the_group_of_its_tool(name: str, fields: dict[str, str]) -> None:
    assert namespace_of(name, DEFERRED) == fields


FOUND = {
    "a_group": (["list_orders", "list_customers"], [CRM]),
    "part_of_a_group": (["list_customers"], [{**CRM, "tools": [CUSTOMERS]}]),
    "two_groups": (["store__list_orders", "list_orders"], [STORE, {**CRM, "tools": [ORDERS]}]),
    "a_lone_one": (["get_weather"], [LONE]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_search_is_two_items_and_comes_back_whole(name: str) -> None:
    names, tools = FOUND[name]
    call, output = search_items_to(ASKED, result(*names), DEFERRED)
    ResponseToolSearchCall.model_validate(call, strict=True)
    assert ResponseToolSearchOutputItem.model_validate(output).to_dict()["tools"] == tools
    shared = {"call_id": None, "execution": "server", "status": "completed"}
    arguments = {"paths": [], "query": "orders"}
    assert call == {"id": "tsc_01A", "type": "tool_search_call", **shared, "arguments": arguments}
    assert output == {"id": "tso_01A", "type": "tool_search_output", **shared, "tools": tools}
    assert search_blocks_from(call, output, DEFERRED) == [ASKED, result(*names)]


@pytest.mark.parametrize("given", [{}, {"id": None}, {"id": "tsc_a-b"}])
def test_an_item_may_come_without_an_id(given: dict[str, str | None]) -> None:
    """The SDK's types let it be left out; a client that keeps its own list of items does."""
    call, output = search_items_to(ASKED, result("list_orders"), DEFERRED)
    del call["id"]
    asked, found = search_blocks_from({**call, **given}, output, DEFERRED)
    assert re.fullmatch("srvtoolu_[0-9a-f]{24}", asked["id"]) and found["tool_use_id"] == asked["id"]
    assert found["content"] == result("list_orders")["content"]
    other, _ = search_blocks_from({**call, **given, "arguments": {"query": "parcels"}}, output, DEFERRED)
    assert other["id"] != asked["id"]


def test_an_error_loaded_nothing() -> None:
    failed = {"type": "tool_search_tool_result_error", "error_code": "unavailable", "error_message": None}
    block = {**result(), "content": failed}
    assert searches([ASKED, block], {}) == {"srvtoolu_01A": block}
    _, output = search_items_to(ASKED, block, DEFERRED)
    assert output["tools"] == []


def test_what_is_no_longer_among_the_tools_is_not_loaded() -> None:
    _, output = search_items_to(ASKED, result("gone", "list_orders"), DEFERRED)
    assert output["tools"] == [{**CRM, "tools": [ORDERS]}]


def test_a_tool_may_be_called_like_a_group() -> None:
    namesake = function("crm", defer_loading=True)
    _, output = search_items_to(ASKED, result("crm", "list_orders"), tools_without_search([namesake, CRM]))
    assert output["tools"] == [namesake, {**CRM, "tools": [ORDERS]}]


@pytest.mark.parametrize(("input", "query"), [({"pattern": "orders?"}, "orders?"), ({}, ""), ({"query": "a"}, "a")])
def test_what_a_search_asked_is_its_query_or_its_pattern(input: dict[str, str], query: str) -> None:
    call, _ = search_items_to({**ASKED, "input": input}, result(), DEFERRED)
    assert call["arguments"] == {"paths": [], "query": query}


@pytest.mark.parametrize("arguments", [None, "orders", {}, {"query": None}])
def test_a_search_that_says_not_what_it_asked_comes_back_empty(arguments: Any) -> None:
    call, output = search_items_to(ASKED, result(), DEFERRED)
    del output["tools"]
    blocks = search_blocks_from({**call, "arguments": arguments}, output, DEFERRED)
    assert blocks == [{**ASKED, "input": {"query": ""}}, result()]


def test_a_group_may_be_empty() -> None:
    assert tools_without_search([{"type": "namespace", "name": "crm"}]) == ([], [], {})


def test_tools_that_are_gone_are_not_referred_to() -> None:
    call, output = search_items_to(ASKED, result("list_orders", "get_weather"), DEFERRED)
    rest = tools_without_search([{"type": "tool_search"}, ALWAYS, {**CRM, "tools": [CUSTOMERS]}])
    assert search_blocks_from(call, output, rest)[1] == result()


def test_what_comes_back_is_legal_here() -> None:
    blocks = search_blocks_from(*search_items_to(ASKED, result("list_orders"), DEFERRED), DEFERRED)
    tools = [
        {"name": tool["name"], "input_schema": tool["parameters"], "defer_loading": bool(tool.get("defer_loading"))}
        for tool in DEFERRED.functions
    ]
    messages = [{"role": "user", "content": "Orders?"}, {"role": "assistant", "content": blocks}]
    body = {"model": "claude-opus-5", "max_tokens": 9, "tools": [*DEFERRED.search, *tools], "messages": messages}
    assert check_request(body) == []


# In whole requests and replies.


def wire(name: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"name": name, "description": f"Does {name}.", "input_schema": schema, **fields}


SEARCHED = {
    "model": "m",
    "max_tokens": 9,
    "tools": [*DEFERRED.search, wire("ask_user"), wire("get_weather", defer_loading=True)],
    "messages": [
        {"role": "user", "content": "Rain?"},
        {
            "role": "assistant",
            "content": [
                ASKED,
                result("get_weather"),
                {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "No."}]},
    ],
}


def test_a_request_with_a_search_comes_back() -> None:
    there = request_to("openai_responses", SEARCHED)
    assert there.lost == ()
    assert [tool["type"] for tool in there.value["tools"]] == ["tool_search", "function", "function"]
    types = ["message", "tool_search_call", "tool_search_output", "function_call", "function_call_output"]
    assert [item["type"] for item in there.value["input"]] == types
    assert there.value["input"][3]["namespace"] == "get_weather"
    back = request_from("openai_responses", there.value)
    assert (back.lost, normal_form(back.value)) == ((), normal_form(SEARCHED))


def test_a_found_tool_with_a_name_that_is_illegal_there_comes_back_under_its_own() -> None:
    content = [ASKED, result("files.read")]
    messages = [{"role": "user", "content": "Read."}, {"role": "assistant", "content": content}]
    tools = [*DEFERRED.search, wire("files.read", defer_loading=True)]
    there = request_to("openai_responses", {**SEARCHED, "tools": tools, "messages": messages})
    [loaded] = there.value["input"][2]["tools"]
    assert there.names == {loaded["name"]: "files.read"}
    reply = {"output": there.value["input"][1:], "tools": there.value["tools"], "status": "completed"}
    assert reply_from("openai_responses", reply, there.names).value["content"] == content


def test_a_regex_search_says_that_the_ranking_is_lost() -> None:
    regex = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    there = request_to("openai_responses", {**SEARCHED, "tools": [regex, *SEARCHED["tools"][1:]], "messages": []})
    assert [loss.path for loss in there.lost] == ["tools.0"]
    assert there.value["tools"][0] == {"type": "tool_search"}


def test_chat_completions_has_no_search() -> None:
    there = request_to("openai_chat", SEARCHED)
    assert "tools.0" in [loss.path for loss in there.lost]


def test_a_reply_with_a_search_comes_back_with_the_tools_of_its_request() -> None:
    content = [ASKED, result("list_orders"), {"type": "tool_use", "id": "call_1", "name": "list_orders", "input": {}}]
    tools = [{"type": "tool_search"}, ALWAYS, CRM]
    message = {"id": "msg_1", "content": content, "stop_reason": "tool_use"}
    there = responses_reply_to(message, request={"tools": tools})
    assert there.lost == ()
    assert [item["type"] for item in there.value["output"]] == [
        "tool_search_call",
        "tool_search_output",
        "function_call",
    ]
    call = there.value["output"][2]
    assert (call["namespace"], call["name"]) == ("crm", "list_orders")
    back = reply_from("openai_responses", there.value).value
    assert back["content"] == [*content[:2], {**content[2], "caller": {"type": "direct"}}]


def test_of_two_tools_with_one_name_the_group_says_which_was_called() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "namespace": "store", "name": "list_orders"}
    reply = {"output": [{**item, "arguments": "{}"}], "tools": [CRM, STORE], "status": "completed"}
    [block] = reply_from("openai_responses", reply).value["content"]
    assert block["name"] == "store__list_orders"


def test_a_search_run_by_the_client_is_none_of_the_servers() -> None:
    items = [
        {"type": "tool_search_call", "execution": "client", "call_id": "c", "id": "tsc_1", "arguments": {}},
        {"type": "tool_search_output", "execution": "client", "call_id": "c", "id": "tso_1", "tools": []},
    ]
    back = request_from("openai_responses", {"model": "m", "input": [*items, {"role": "user", "content": "?"}]})
    assert [loss.path for loss in back.lost] == ["input.0", "input.1"]


def test_the_mock_runs_the_search_and_names_the_group() -> None:
    from course_kit.mock.provider import MockProvider
    from course_kit.mock.scripted import search

    mock = MockProvider(
        [search("list_orders"), {"content": [{"type": "tool_use", "name": "list_orders", "input": {}}]}]
    )
    client = mock.openai_client(max_retries=0)
    reply = client.responses.create(model="m", input="Orders?", tools=[{"type": "tool_search"}, ALWAYS, CRM]).to_dict()
    assert [item["type"] for item in reply["output"]] == ["tool_search_call", "tool_search_output", "function_call"]
    assert [tool["name"] for tool in reply["output"][1]["tools"]] == ["crm"]
    assert (reply["output"][2]["namespace"], reply["output"][2]["name"]) == ("crm", "list_orders")
    again = [{"role": "user", "content": "Orders?"}, *reply["output"]]
    answer = {"type": "function_call_output", "call_id": reply["output"][2]["call_id"], "output": "none"}
    mock = MockProvider(["None."])
    client = mock.openai_client(max_retries=0)
    tools = [{"type": "tool_search"}, ALWAYS, CRM]
    assert client.responses.create(model="m", input=[*again, answer], tools=tools).output_text == "None."

"""Tool search in OpenAI's shape: every item is of the SDK's own types, and a round trip loses nothing."""

from typing import Any

import pytest

from course_kit.contract.protocol import check_request
from course_kit.contract.shapes.search import (
    namespace_of,
    search_blocks_from,
    search_items_to,
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


def test_an_error_loaded_nothing() -> None:
    failed = {"type": "tool_search_tool_result_error", "error_code": "unavailable", "error_message": None}
    _, output = search_items_to(ASKED, {**result(), "content": failed}, DEFERRED)
    assert output["tools"] == []


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

"""Tool search in the shape of OpenAI's Responses, and back.

    {"type": "tool_search"}                        a search tool that the server runs
    {"type": "namespace", "name", "tools": [...]}  functions in a group; `defer_loading` is set on each function
    tool_search_call, tool_search_output           what a search asked, and the whole definitions that it loaded

There a search returns definitions, here it returns references to definitions already in the request; and there a
call names the group of its tool. Only searches that the server runs are converted: those are tools of neither side's
client. Items and fields as in the types of the `openai` SDK 3.57; what a search asks (`paths` and `query`) as its
agents library describes it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ..messages import Block
from .common import compact

__all__ = [
    *("Deferred", "is_search", "name_here", "namespace_of", "search_blocks_from", "search_items_to"),
    *("searches", "tools_without_search"),
]

SEARCH_TOOL = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


class Deferred(NamedTuple):
    """The tools of a Responses body in three parts: plain functions, the search tools, and where a function was.

    `groups` has for each name in `functions` its namespace, as it was given, and its name in there.
    """

    functions: list[dict[str, Any]]
    search: list[dict[str, Any]]
    groups: dict[str, tuple[dict[str, Any], str]]


def is_search(tool: Mapping[str, Any]) -> bool:
    """Whether an entry of `tools` in a Messages request is a search that the server runs."""
    return str(tool.get("type")).startswith("tool_search_tool_")


def tools_without_search(tools: Sequence[Mapping[str, Any]]) -> Deferred:
    """Take the search and the namespaces out of a body's `tools`; other tools stay as they are.

    `[{"type": "tool_search"}, {"type": "namespace", "name": "crm", "tools": [list_orders]}]` → `[list_orders]`, the
    search tool of the Messages API, and `{"list_orders": (crm, "list_orders")}`. Of two functions with one name the
    later one is called after its group: `crm__list_orders`.
    """
    functions: list[dict[str, Any]] = []
    search: list[dict[str, Any]] = []
    groups: dict[str, tuple[dict[str, Any], str]] = {}
    for tool in tools:
        if tool.get("type") == "tool_search" and tool.get("execution", "server") == "server":
            search = [dict(SEARCH_TOOL)]
        elif tool.get("type") == "namespace":
            for function in tool.get("tools") or ():
                taken = any(function.get("name") == other.get("name") for other in functions)
                name = f"{tool['name']}__{function['name']}" if taken else function["name"]
                functions.append({**function, "name": name})
                groups[name] = (dict(tool), function["name"])
        else:
            functions.append(dict(tool))
    return Deferred(functions, search, groups)


def namespace_of(name: str, deferred: Deferred) -> dict[str, str]:
    """The fields that name a called tool there: a loaded function without a group is its own (recorded on gpt-5.4).

    `{"namespace": "crm", "name": "list_orders"}`, or only the name of a tool that was never deferred.
    """
    if name in deferred.groups:
        group, inside = deferred.groups[name]
        return {"namespace": group["name"], "name": inside}
    lone = any(tool.get("name") == name and tool.get("defer_loading") for tool in deferred.functions)
    return {"namespace": name, "name": name} if lone else {"name": name}


def name_here(item: Mapping[str, Any], deferred: Deferred) -> str:
    """The name that the tool of a `function_call` item has here; without a group it is the item's own."""
    there = (item.get("namespace"), item["name"])
    return next(
        (name for name, (group, inside) in deferred.groups.items() if (group["name"], inside) == there), there[1]
    )


def searches(content: Sequence[Block], names: Mapping[str, str]) -> dict[str, Block]:
    """The results of the searches in a turn by the id of the search, with tools named as `names` says."""
    found = {}
    for block in content:
        if block["type"] == "tool_search_tool_result":
            inside = dict(block["content"])
            if "tool_references" in inside:
                told = inside["tool_references"]
                named = [{**one, "tool_name": names.get(one["tool_name"], one["tool_name"])} for one in told]
                inside["tool_references"] = named
            found[block["tool_use_id"]] = {**block, "content": inside}
    return found


def search_items_to(asked: Block, result: Block, deferred: Deferred) -> list[dict[str, Any]]:
    """A search and its result as items. An error has no item of its own there: nothing was loaded."""
    tail = str(asked["id"]).partition("_")[2]
    shared = {"call_id": None, "execution": "server", "status": "completed"}
    arguments: dict[str, Any] = {
        "paths": [],
        "query": asked["input"].get("query") or asked["input"].get("pattern") or "",
    }
    return [
        {"id": f"tsc_{tail}", "type": "tool_search_call", **shared, "arguments": arguments},
        {"id": f"tso_{tail}", "type": "tool_search_output", **shared, "tools": _loaded(result, deferred)},
    ]


def _loaded(result: Block, deferred: Deferred) -> list[dict[str, Any]]:
    """The definitions that a result refers to, those of one group together."""
    names = [part["tool_name"] for part in result["content"].get("tool_references") or ()]
    loaded: list[dict[str, Any]] = []
    for name in names:
        function = next((tool for tool in deferred.functions if tool.get("name") == name), None)
        if function is None:
            continue
        if name not in deferred.groups:
            loaded.append(function)
            continue
        group, inside = deferred.groups[name]
        held = next((one for one in loaded if one["type"] == "namespace" and one["name"] == group["name"]), None)
        if held is None:
            held = {**group, "tools": []}
            loaded.append(held)
        held["tools"].append({**function, "name": inside})
    return loaded


def search_blocks_from(call: Mapping[str, Any], output: Mapping[str, Any], deferred: Deferred) -> list[Block]:
    """The two items of a search as the blocks of the Messages API, with references to the tools of this request."""
    tail = str(call.get("id")).partition("_")[2]
    if not re.fullmatch("[a-zA-Z0-9_]+", tail):  # an item may come without an id; equal ones get the same
        tail = sha256(compact([call, output]).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    id = f"srvtoolu_{tail}"
    arguments = call.get("arguments")
    query = arguments.get("query") if isinstance(arguments, Mapping) else None
    found = [{"type": "tool_reference", "tool_name": name} for name in _named(output, deferred)]
    return [
        {
            "type": "server_tool_use",
            "id": id,
            "name": SEARCH_TOOL["name"],
            "input": {"query": query or ""},
            "caller": {"type": "direct"},
        },
        {
            "type": "tool_search_tool_result",
            "tool_use_id": id,
            "content": {"type": "tool_search_tool_search_result", "tool_references": found},
        },
    ]


def _named(output: Mapping[str, Any], deferred: Deferred) -> Iterator[str]:
    """The names, as they are here, of the tools in a search's output."""
    ours = {(group["name"], inside): name for name, (group, inside) in deferred.groups.items()}
    for tool in output.get("tools") or ():
        if tool.get("type") == "namespace":
            yield from (
                ours[tool["name"], inside["name"]] for inside in tool["tools"] if (tool["name"], inside["name"]) in ours
            )
        elif any(tool.get("name") == one.get("name") for one in deferred.functions):
            yield tool["name"]

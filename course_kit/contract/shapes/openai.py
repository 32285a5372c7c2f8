"""What Chat Completions and Responses share: the fields about tools, the answer's schema, and the counts of a reply."""

from collections.abc import Mapping
from typing import Any

from ..messages import content_blocks
from ..strict import strict_refusals
from .common import Notes, check_keys, usage_of
from .search import is_search, tools_without_search
from .tools import definition_from, definition_to

__all__ = ["format_to", "names_in", "tools_from", "tools_to", "usage_from"]


def names_in(request: Mapping[str, Any]) -> list[str]:
    """The tool names of a request: those defined, those called, the one forced."""
    blocks = [block for message in request["messages"] for block in content_blocks(message)]
    called = [block["name"] for block in blocks if block["type"] == "tool_use"]
    defined = [tool["name"] for tool in request.get("tools") or () if "name" in tool]
    return list(dict.fromkeys([*defined, *called, *filter(None, [(request.get("tool_choice") or {}).get("name")])]))


def tools_to(shape: str, request: Mapping[str, Any], names: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    """The fields of a request to OpenAI that are about tools."""
    tools, choice = list[dict[str, Any]](), request.get("tool_choice") or {}
    for index, tool in enumerate(request.get("tools") or ()):
        if shape == "openai_responses" and is_search(tool):
            check_keys(tool, ("type", "name"), f"tools.{index}", notes)
            if tool["type"].startswith("tool_search_tool_regex"):
                notes.lose(f"tools.{index}", "how a search ranks is that provider's choice")
            tools.insert(0, {"type": "tool_search"})
            continue
        if tool.get("type") not in (None, "custom"):
            notes.lose(f"tools.{index}", f"`{tool['type']}` is a tool of the Messages API's server")
            continue
        canonical = definition_from("anthropic", tool)
        entry = definition_to(shape, {**tool, "name": names.get(tool["name"], tool["name"])})
        for path, why in [*canonical.lost, *entry.lost]:
            notes.lose(f"tools.{index}.{path}", why)
        tools.append(entry.value)
    fields: dict[str, Any] = {"tools": tools} if tools else {}
    if choice:
        name = names.get(choice.get("name", ""), choice.get("name"))
        named: Any = {"type": "function", "name": name}
        if shape == "openai_chat":
            named = {"type": "function", "function": {"name": name}}
        words = {"auto": "auto", "any": "required", "none": "none"}
        if tools:
            fields["tool_choice"] = words.get(choice["type"], named)
        else:
            notes.lose("tool_choice", "without tools there is nothing to choose")
        if choice.get("disable_parallel_tool_use") and tools:  # without tools, the switch is answered 400
            fields["parallel_tool_calls"] = False
    return fields


def format_to(request: Mapping[str, Any], notes: Notes) -> dict[str, Any] | None:
    """The schema that the answer must have, strict if it is in that provider's strict subset already."""
    config = request.get("output_config") or {}
    if config.get("effort"):
        notes.lose("output_config.effort", "how hard to think is set by the provider's own option")
    if not config.get("format"):
        return None
    schema = config["format"]["schema"]
    return {"name": "answer", "schema": schema, "strict": not strict_refusals(schema, "openai")}


# Back.


def tools_from(shape: str, body: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """The fields about tools of a body for OpenAI, as a Messages request has them."""
    tools, given = list[dict[str, Any]](), body.get("tools") or ()
    if shape == "openai_responses":
        given, tools, _ = tools_without_search(given)
    for index, entry in enumerate(given):
        if entry.get("type") != "function":
            notes.lose(f"tools.{index}", f"`{entry.get('type')}` is a tool of that provider")
            continue
        converted = definition_from(shape, entry)
        wire = definition_to("anthropic", converted.value)
        for path, why in [*converted.lost, *wire.lost]:
            notes.lose(f"tools.{index}.{path}", why)
        tools.append(wire.value)
    choice, allowed = choice_from(body.get("tool_choice"))
    if allowed is not None:
        notes.lose("tool_choice", "the allowed tools: only these are handed on")
        tools = [tool for tool in tools if tool["name"] in allowed or is_search(tool)]
    if body.get("parallel_tool_calls") is False and tools and choice.get("type") != "none":
        choice = {"type": "auto", **choice, "disable_parallel_tool_use": True}
    return ({"tools": tools} if tools else {}) | ({"tool_choice": choice} if choice else {})


def choice_from(choice: Any) -> tuple[dict[str, Any], list[str] | None]:
    """`"required"` → `({"type": "any"}, None)`; with allowed tools, their names beside it."""
    if choice is None or isinstance(choice, str):
        words = {"auto": "auto", "required": "any", "none": "none"}
        return ({"type": words[choice]} if choice in words else {}), None
    if choice.get("type") == "allowed_tools":
        inner = choice.get("allowed_tools") or choice
        names = [tool.get("name") or (tool.get("function") or {}).get("name") for tool in inner.get("tools") or ()]
        return choice_from(inner.get("mode"))[0], [name for name in names if name]
    name = choice.get("name") or (choice.get("function") or {}).get("name")
    return ({"type": "tool", "name": name} if name else {}), None


def usage_from(reply: Mapping[str, Any], read: str, written: str) -> dict[str, Any]:
    """The `usage` of a reply as a Messages reply counts it; `read` and `written` name the totals there."""
    usage = reply.get("usage") or {}
    given, made = usage.get(f"{read}_details") or {}, usage.get(f"{written}_details") or {}
    return usage_of(
        usage.get(read) or 0,
        usage.get(written) or 0,
        given.get("cached_tokens") or 0,
        given.get("cache_write_tokens") or 0,
        made.get("reasoning_tokens") or 0,
    )

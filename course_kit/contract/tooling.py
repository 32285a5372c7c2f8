"""Rules about tools: their definitions, `tool_choice`, strict schemas, deferral and references.

The shape of a definition (fields, names) is in `shape.py`. One bad tool fails the whole request.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from . import schema, strict
from .rules import Found, Request, Rule, rule, said

__all__ = ["CHOICE_RULES", "DEFINITION_RULES", "STRICT_RULES"]

PROPERTY_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
DRAFT = "https://json-schema.org/draft/2020-12"
MAX_DEFERRED = 10_000
_TEXTS = "error texts in public reports, 2025-2026"


# One definition by itself.


def _custom(request: Request) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for index, tool in request.custom_tools:
        yield f"tools.{index}.custom", tool, tool["input_schema"]


@rule("reported", _TEXTS, needs=("tools",))
def schema_top_level_union(request: Request) -> Iterator[Found]:
    """The root of an `input_schema` has no `oneOf`, `allOf` or `anyOf`; deeper down they are fine."""
    for path, _, input_schema in _custom(request):
        if any(key in input_schema for key in ("oneOf", "allOf", "anyOf")):
            words = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            yield Found(f"{path}.input_schema", words)


@rule("reported", _TEXTS, needs=("tools",))
def property_keys(request: Request) -> Iterator[Found]:
    """Names of inputs at the root are 1 to 64 of a-z A-Z 0-9 _ . - (deeper levels: not known)."""
    for path, _, input_schema in _custom(request):
        if not all(PROPERTY_KEY.fullmatch(key) for key in input_schema.get("properties") or ()):
            words = "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
            yield Found(f"{path}.input_schema.properties", words)


@rule("reported", _TEXTS, needs=("tools",))
def schema_valid(request: Request) -> Iterator[Found]:
    """An `input_schema` is valid JSON Schema, draft 2020-12."""
    for path, _, input_schema in _custom(request):
        if schema.schema_problem(input_schema):
            words = f"JSON schema is invalid. It must match JSON Schema draft 2020-12 ({DRAFT})."
            yield Found(f"{path}.input_schema", words)


@rule("docs", "Define tools", needs=("tools",))
def input_examples_fit(request: Request) -> Iterator[Found]:
    """Every one of a tool's `input_examples` fits its `input_schema` (the API's exact words are not known)."""
    for path, tool, input_schema in _custom(request):
        for index, example in enumerate(tool.get("input_examples") or ()):
            if not schema.schema_problem(input_schema) and not schema.conforms(input_schema, example):
                yield Found(f"{path}.input_examples.{index}", "Input example does not match the input_schema")


@rule("reported", _TEXTS, needs=("tools",))
def tool_names_unique(request: Request) -> Iterator[Found]:
    """No two tools share a name."""
    named = [tool["name"] for tool in request.tools if "name" in tool]
    if len(set(named)) < len(named):
        yield Found("tools", "Tool names must be unique.")


@rule("reported", "live match, 2026; docs: Tool search tool", needs=("tools",))
def some_tool_not_deferred(request: Request) -> Iterator[Found]:
    """At least one tool is not deferred."""
    if request.tools and all(tool.get("defer_loading") for tool in request.tools):
        yield said("tools", "At least one tool must have defer_loading=false. All tools cannot be deferred.")


@rule("docs", "Tool search tool", needs=("tools",))
def search_tool_not_deferred(request: Request) -> Iterator[Found]:
    """The search tool itself is never deferred (the API's exact words are not known)."""
    for index, tool in enumerate(request.tools):
        if str(tool.get("type", "")).startswith("tool_search_tool_") and tool.get("defer_loading"):
            yield Found(f"tools.{index}", "The tool search tool cannot have defer_loading=true.")


@rule("reported", _TEXTS, needs=("tools",))
def deferred_not_cached(request: Request) -> Iterator[Found]:
    """A deferred tool carries no `cache_control`."""
    for index, tool in enumerate(request.tools):
        if tool.get("defer_loading") and tool.get("cache_control"):
            yield said(
                f"tools.{index}",
                f"Tool '{tool.get('name')}' cannot have both defer_loading=true and cache_control set. "
                "Tools with defer_loading cannot use prompt caching.",
            )


@rule("docs", "Tool search tool", needs=("tools",), error_code="available_tools_limit_exceeded")
def deferred_limit(request: Request) -> Iterator[Found]:
    """At most 10,000 tools are deferred."""
    count = sum(1 for tool in request.tools if tool.get("defer_loading"))
    if count > MAX_DEFERRED:
        yield Found("tools", f"At most {MAX_DEFERRED} deferred tools are available, found {count}.")


# References to deferred tools.


def _references(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every `tool_reference` of the whole history, with its path."""
    for path, block in request.of_type("tool_result"):
        if isinstance(block.get("content"), list):
            for index, part in enumerate(block["content"]):
                if part["type"] == "tool_reference":
                    yield f"{path}.tool_result.content.{index}", part
    for path, block in request.of_type("tool_search_tool_result"):
        for index, part in enumerate(block["content"].get("tool_references") or ()):
            yield f"{path}.tool_search_tool_result.content.tool_references.{index}", part


@rule("docs", "Tool search tool", needs=("messages", "tools"), blocks=("tool_result", "tool_search_tool_result"))
def tool_reference_known(request: Request) -> Iterator[Found]:
    """Every `tool_reference` of the history names a tool of this request."""
    for path, part in _references(request):
        if part["tool_name"] not in request.tool_names:
            yield Found(path, f"Tool reference '{part['tool_name']}' not found in available tools")


@rule("recorded", "request probes, 2026-09 and 2026-10", needs=("messages",), blocks=("tool_result",))
def tool_reference_alone(request: Request) -> Iterator[Found]:
    """A result that holds a `tool_reference` holds nothing else."""
    for path, block in request.of_type("tool_result"):
        if isinstance(block.get("content"), list):
            kinds = {part["type"] for part in block["content"]}
            if "tool_reference" in kinds and len(kinds) > 1:
                words = "Tool definitions/code execution functions cannot be mixed with other content"
                yield Found(f"{path}.tool_result.content", words)


# What the client wants called.


@rule("docs", "Claude API errors; What's new in Claude Opus 5.5, Sonnet 5.5")
def forcing_supported(request: Request) -> Iterator[Found]:
    """Some models refuse `any` and `tool`: Opus 5.5, Sonnet 5.5, Fable and Mythos since 5.1."""
    if request.forces_a_call and request.model and not request.model.forcing:
        yield Found("tool_choice", 'type "tool" and "any" are not supported for this model.')


@rule("reported", "request probe, 2026-09")
def chosen_tool_exists(request: Request) -> Iterator[Found]:
    """A tool that is forced by name is among the tools."""
    choice = request.tool_choice
    if choice.get("type") == "tool" and choice["name"] not in request.tool_names:
        yield said("tool_choice", f"Tool '{choice['name']}' not found in provided tools")


@rule("reported", "request probe, 2026-09-29")
def any_needs_tools(request: Request) -> Iterator[Found]:
    """`any` needs tools to choose from."""
    if request.tool_choice.get("type") == "any" and not request.tools:
        yield said("tool_choice", "tool_choice.any may only be specified while providing tools")


@rule("docs", "Extended thinking")
def forcing_without_manual_thinking(request: Request) -> Iterator[Found]:
    """Manual thinking and a forced call exclude each other."""
    if request.forces_a_call and request.thinking == "enabled":
        yield said("tool_choice", "Thinking may not be enabled when tool_choice forces tool use.")


@rule("docs", "Programmatic tool calling")
def chosen_tool_direct(request: Request) -> Iterator[Found]:
    """A tool that only code may call cannot be forced (the API's exact words are not known)."""
    if request.tool_choice.get("type") == "tool":
        for tool in request.tools:
            callers = tool.get("allowed_callers")
            if tool.get("name") == request.tool_choice["name"] and callers and "direct" not in callers:
                yield Found("tool_choice", f"Tool '{tool['name']}' does not allow direct calls.")


# Strict tools and output formats: every offence of `strict.py` is a separate rule here.


def _strict_tools(request: Request) -> list[tuple[int, dict[str, Any]]]:
    return [(index, tool) for index, tool in request.custom_tools if tool.get("strict")]


def _output_schema(request: Request) -> dict[str, Any] | None:
    return ((request.body.get("output_config") or {}).get("format") or {}).get("schema")


@lru_cache(maxsize=4096)
def _refusals(schema_text: str, settings: frozenset[str]) -> tuple[strict.Refusal, ...]:
    return tuple(strict.strict_refusals(json.loads(schema_text), settings=settings))


def strict_refusals_of(request: Request) -> list[tuple[str, Found]]:
    """Everything the strict subset refuses in this request, as `(rule id, found)`, computed once.

    There is no grammar to compile when tokens are only counted.
    """
    if request.strict_refusals is None:
        request.strict_refusals = [] if request.counting else list(_strict_refusals(request))
    return request.strict_refusals


def _strict_refusals(request: Request) -> Iterator[tuple[str, Found]]:
    schemas = [(f"tools.{index}.custom", tool["input_schema"]) for index, tool in _strict_tools(request)]
    if (output_schema := _output_schema(request)) is not None:
        schemas.append(("output_config.format.schema", output_schema))
    if not schemas:
        return
    for path, one in schemas:
        try:
            refusals = _refusals(json.dumps(one), request.on)
        except RecursionError:  # already refused as an invalid schema
            continue
        for refusal in refusals:
            yield refusal.rule, Found(path, refusal.message)
    for refusal in strict.strict_budget([tool for _, tool in _strict_tools(request)], output_schema):
        yield refusal.rule, said("tools", refusal.message)


@rule("docs", "Programmatic tool calling", needs=("tools",))
def strict_not_programmatic(request: Request) -> Iterator[Found]:
    """A strict tool cannot be called by code (the API's exact words are not known)."""
    for index, tool in _strict_tools(request):
        if any(caller != "direct" for caller in tool.get("allowed_callers") or ()):
            yield Found(f"tools.{index}.custom", "`strict` cannot be combined with programmatic tool calling.")


DEFINITION_RULES: tuple[Rule, ...] = (
    schema_top_level_union,
    property_keys,
    schema_valid,
    input_examples_fit,
    tool_names_unique,
    some_tool_not_deferred,
    search_tool_not_deferred,
    deferred_not_cached,
    deferred_limit,
)
CHOICE_RULES: tuple[Rule, ...] = (
    tool_reference_known,
    tool_reference_alone,
    forcing_supported,
    chosen_tool_exists,
    any_needs_tools,
    forcing_without_manual_thinking,
    chosen_tool_direct,
)


def _refusals_of_rule(id: str, request: Request) -> Iterator[Found]:
    return (found for name, found in strict_refusals_of(request) if name == id)


STRICT_RULES: tuple[Rule, ...] = (
    *(
        Rule(
            id,
            about.checks,
            about.source,
            about.certainty,  # type: ignore[arg-type]
            partial(_refusals_of_rule, id),
            default=about.certainty != "uncertain",
        )
        for id, about in strict.STRICT_RULES.items()
        if not about.checks.startswith("OpenAI")  # those of the other provider's subset
    ),
    strict_not_programmatic,
)

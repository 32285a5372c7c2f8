"""A linter for tool definitions: what the API would refuse, and what would lead a model astray.

A definition is a contract for a reader who guesses. `lint_tools` reads a whole list of them, because half of what goes
wrong lies between two tools; the rules about the list are here. Those about one definition are in `lint_wire.py` (what
is refused), `lint_texts.py` (names, descriptions), `lint_inputs.py` and `lint_types.py` (inputs). `LINT_RULES` has all
by id. Meaning, which no program can judge, is not checked: a clean list does not prove that a model picks well.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .lint_inputs import MEANING_RULES
from .lint_texts import TEXT_RULES, kind_of_verb
from .lint_types import SCHEMA_RULES, TYPE_RULES
from .lint_wire import STRICT_LIST_RULES, STRICT_TOOL_RULES, WIRE_RULES, not_a_definition
from .linting import Finding, Found, LintRule, lint_rule
from .reading import SHAPES, Definition, Tools, entries_of, name_words
from .similarity import Pair, Weighed, content_words, own_part
from .strict import FORMATS
from .words import cut, listed, path_text

__all__ = ["LINT_RULES", "Finding", "definition_tokens", "lint_tools"]

Findings = Iterator[Found]

MANY_TOOLS = 30  # by the vendor's figure, selection gets worse beyond 30 to 50 tools
MANY_TOKENS = 10_000  # ours: fifty tools of 200 tokens, in every turn
TOO_NEAR = 0.7  # ours: how much two descriptions may share


def lint_tools(tools: Any, provider: str = "anthropic") -> list[Finding]:
    """Everything that is wrong with a list of tool definitions, tool by tool, and at the end what concerns them all.

    `tools` are definitions or `Tool` objects; `provider` decides which names and which strict subset are legal.

    `lint_tools([{"name": "do it", …}])` → `[Finding("do it", "tools[0].name", "tool-name", "error", …), …]`
    """
    if provider not in FORMATS:
        raise ValueError(f'provider is "anthropic" or "openai", not {provider!r}')
    entries = entries_of(tools)
    if entries is None:
        return [_finding(tools_list, "", found) for found in tools_list.find(tools)]
    whole = Tools(entries, provider)
    findings: list[Finding] = []
    for tool in whole.all:
        findings += [_finding(rule, tool.label, found) for rule in _rules_for(tool) for found in rule.find(tool)]
        for one in tool.inputs if tool.is_custom else ():
            findings += [_finding(rule, tool.label, found) for rule in _OF_AN_INPUT for found in rule.find(one)]
    for rule in _OF_A_LIST:
        for found in rule.find(whole):
            index = found.path[1] if len(found.path) > 1 else None
            label = whole.all[index].label if isinstance(index, int) else ""
            findings.append(_finding(rule, label, found))
    return findings


def _finding(rule: LintRule, tool: str, found: Found) -> Finding:
    return Finding(tool, path_text(found.path), rule.id, rule.severity, found.message, found.fix, rule.lesson)


def _rules_for(tool: Definition) -> tuple[LintRule, ...]:
    if not tool.is_object:
        return (not_a_definition,)
    return _OF_A_TOOL + (STRICT_TOOL_RULES if tool.strict else ()) if tool.is_custom else ()


def definition_tokens(definition: Any) -> int:
    """About how many tokens a definition costs in every turn: a quarter of its bytes as JSON text."""
    try:
        text = json.dumps(definition, ensure_ascii=False, default=str, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        return 0
    return len(text.encode("utf-8", "replace")) // 4


# Shapes and names.


@lint_rule("file", "error")
def tools_list(given: Any) -> Findings:
    """Definitions come as a list."""
    yield Found(("tools",), "There are no tool definitions in this.", 'Give a list: [{"name": …, "input_schema": …}].')


@lint_rule("list", "error")
def other_shape(tools: Tools) -> Findings:
    """Definitions have the shape of the API they are sent to."""
    for kind in ("chat", "responses") if tools.provider == "anthropic" else ():
        if found := [tool for tool in tools.all if tool.kind == kind]:
            shape = SHAPES[kind]
            words = f"{_are(len(found))} in {shape.says}, which the Messages API refuses."
            fix = f'Write {{"name": …, "description": …, "input_schema": …}}: no `type`, and `{shape.schema}` is '
            yield Found(found[0].path[:2], words, fix + "called `input_schema`.")


@lint_rule("list", "hint")
def mcp_shape(tools: Tools) -> Findings:
    """An MCP tool is renamed before it goes into a request."""
    if found := [tool for tool in tools.all if tool.kind == "mcp"]:
        words = f"{_are(len(found))} in MCP's shape: right for a server, refused in a request."
        fix = "There, call `inputSchema` `input_schema`, and leave out `title`, `annotations` and `outputSchema`."
        yield Found(found[0].path, words, fix)


def _are(number: int) -> str:
    return f"{number} tools are" if number > 1 else "One tool is"


@lint_rule("list", "error")
def tool_names_unique(tools: Tools) -> Findings:
    """No two tools share a name."""
    seen: dict[str, Definition] = {}
    for tool in tools.all:
        first = seen.setdefault(tool.name, tool) if tool.name else tool
        if first is not tool:
            words = f"`{cut(tool.name, 60)}` is the name of {path_text(first.path)}, too."
            yield Found((*tool.path, "name"), words, "Rename one after what it does differently, or drop it.")


# Neighbours.


@lint_rule("list", "warning")
def near_identical(tools: Tools) -> Findings:
    """No two descriptions are nearly the same: wrong picks come from two tools that could both answer."""
    same: dict[frozenset[str], list[Definition]] = defaultdict(list)
    for tool in tools.custom:
        if words := content_words(own_part(tool.description)):
            same[words].append(tool)
    for first, *others in same.values():
        for other in others:
            yield _too_near(first, other, 1.0)
    distinct = [group[0] for group in same.values()]
    nearest: dict[int, Pair] = {}
    for pair in Weighed([tool.description for tool in distinct]).pairs(TOO_NEAR):
        first, second = distinct[pair.first], distinct[pair.second]
        told_apart = second.name in first.mentioned or first.name in second.mentioned or _verb(first) != _verb(second)
        if not told_apart and pair.score > nearest.get(pair.second, pair._replace(score=0)).score:
            nearest[pair.second] = pair
    for pair in nearest.values():
        yield _too_near(distinct[pair.first], distinct[pair.second], pair.score)


def _verb(tool: Definition) -> str | None:
    """What kind of thing a tool says it does: only the verb tells creating a label from deleting one."""
    return kind_of_verb(name_words(tool.description[:200])) or kind_of_verb(tool.words)


def _too_near(first: Definition, second: Definition, score: float) -> Found:
    one, other = cut(first.label, 60), cut(second.label, 60)
    words = f"`{one}` and `{other}` describe themselves alike (similarity {score:.2f}): either may be picked."
    fix = f"Say in each what only it does, and where it ends: Not for … (use {one}). Or make one tool of them."
    return Found((*second.path, "description"), words, fix)


# How much there is.


@lint_rule("list", "error", "07")
def some_tool_not_deferred(tools: Tools) -> Findings:
    """At least one tool is not deferred."""
    if tools.all and not tools.loaded:
        words = "All tools are deferred, which the API refuses: nothing is left to begin with."
        fix = 'Take "defer_loading" from the search tool, and from the two or three tools that most requests need.'
        yield Found(("tools",), words, fix)


@lint_rule("list", "warning", "07")
def many_tools(tools: Tools) -> Findings:
    """A model chooses among at most about 30 tools at a time."""
    if (count := len(tools.loaded)) > MANY_TOOLS:
        words = f"{count} tools are loaded in every turn: beyond 30 to 50 more picks are wrong, by the vendor's figure."
        fix = f"Group them by task, or defer {count - MANY_TOOLS} or more (`defer_loading`) and add a search tool."
        yield Found(("tools",), words, fix)


@lint_rule("list", "warning", "07")
def many_tokens(tools: Tools) -> Findings:
    """The definitions together stay small: they are paid for in every turn."""
    costs = sorted(((definition_tokens(tool.entry), tool.label) for tool in tools.loaded), reverse=True)
    if (total := sum(cost for cost, _ in costs)) > MANY_TOKENS:
        largest = listed([f"{cut(label, 40)} {cost:,}" for cost, label in costs[:3]])
        words = f"The definitions take about {total:,} tokens in every turn, the largest of them: {largest}."
        yield Found(("tools",), words, "Shorten those, leave tools out, or defer those that few requests need.")


_LIST_RULES = (
    *(other_shape, mcp_shape, tool_names_unique, near_identical),
    *(some_tool_not_deferred, many_tools, many_tokens),
)
LINT_RULES: dict[str, LintRule] = {
    rule.id: rule
    for rule in (
        *(tools_list, *WIRE_RULES, *TEXT_RULES, *MEANING_RULES, *TYPE_RULES, *SCHEMA_RULES),
        *(*_LIST_RULES, *STRICT_TOOL_RULES, *STRICT_LIST_RULES),
    )
}
_OF_A_TOOL = tuple(rule for rule in (*WIRE_RULES, *TEXT_RULES, *SCHEMA_RULES) if rule.about == "tool")
_OF_AN_INPUT = (*MEANING_RULES, *TYPE_RULES)
_OF_A_LIST = tuple(rule for rule in (*TEXT_RULES, *_LIST_RULES, *STRICT_LIST_RULES) if rule.about == "list")

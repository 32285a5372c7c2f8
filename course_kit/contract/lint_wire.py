"""Rules about what the API refuses in one definition, alone or because it is strict. One such tool fails the request.

Rules with a counterpart in `protocol.py` have its name; it reports the first offence of a request, these report all.
"""

import re
from collections.abc import Iterator
from functools import partial

from . import schema as checking
from .linting import Found, LintRule, lint_rule
from .reading import Definition, Tools, properties_of
from .strict import STRICT_RULES, ref_path, strict_budget
from .words import cut, near, quoted

__all__ = ["STRICT_LIST_RULES", "STRICT_TOOL_RULES", "WIRE_RULES", "not_a_definition"]

Findings = Iterator[Found]

FIELDS = frozenset(
    """name input_schema description type strict defer_loading cache_control input_examples eager_input_streaming
    allowed_callers""".split()
)


@lint_rule("tool", "error")
def not_a_definition(tool: Definition) -> Findings:
    """An entry of `tools` is an object."""
    if not tool.is_object:
        yield Found(tool.path, "This is no object, so it defines no tool.", 'Write {"name": …, "input_schema": …}.')


@lint_rule("tool", "error")
def tool_name(tool: Definition) -> Findings:
    """A name is 1 to 128 letters, digits, `_` or `-`; for OpenAI at most 64."""
    most = 64 if tool.tools.provider == "openai" else 128
    if not tool.name:
        yield Found((*tool.path, "name"), "There is no name.", "Name verb and object, such as `search_orders`.")
    elif not re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{most}}}", tool.name):
        legal = _legal(tool.name, "_-")
        words = f"{quoted(tool.name)} is refused: a name is 1 to {most} of a-z, A-Z, 0-9, _ and -."
        fix = f"Call it `{legal}`." if legal else "Give it an English name, such as `search_orders`."
        yield Found((*tool.path, "name"), words, fix)


@lint_rule("tool", "error")
def property_keys(tool: Definition) -> Findings:
    """Names of inputs are 1 to 64 letters, digits, `_`, `.` or `-`, at every depth."""
    for path, node in tool.nodes:
        for key in map(str, properties_of(node)):
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key):
                where = "" if path == tool.schema_path else " at the root, and may here"
                words = f"{quoted(key)} is no name for an input: the API refuses it{where}."
                legal = _legal(key, "_.-")
                fix = f"Call it `{legal}`, and map it back in your code." if legal else "Give it an English name."
                yield Found((*path, "properties", key), words, fix)


def _legal(name: str, also: str) -> str:
    """A legal name near an illegal one: `"cal.create-event"` → `"cal_create-event"`."""
    return re.sub("_+", "_", re.sub(f"[^a-zA-Z0-9{also}]", "_", name[:200])).strip("_")[:64]


@lint_rule("tool", "error")
def tool_unknown_field(tool: Definition) -> Findings:
    """A definition has no key that the API does not know."""
    for key in map(str, tool.entry) if tool.kind == "messages" else ():
        if key not in FIELDS:
            meant = near(key, FIELDS)
            words = f"{quoted(key)} is no field of a definition: the API refuses the whole request."
            yield Found((*tool.path, key), words, f"Write `{meant}`." if meant else "Take it out before sending.")


@lint_rule("tool", "error")
def tool_input_schema(tool: Definition) -> Findings:
    """A definition has an `input_schema`, which is an object."""
    if not isinstance(tool.schema, dict) and tool.kind in ("messages", "mcp"):
        fix = f'Without inputs it is "{tool.shape.schema}": {{"type": "object", "properties": {{}}}}.'
        yield Found(tool.schema_path, "There is no schema here.", fix)


@lint_rule("tool", "error")
def tool_schema_root(tool: Definition) -> Findings:
    """The root of a schema says `"type": "object"`."""
    if isinstance(tool.schema, dict) and tool.schema.get("type") != "object":
        fix = 'Write "type": "object" at the root.'
        if "$ref" in tool.schema:
            fix = f"Put what {quoted(str(tool.schema['$ref']))} refers to inline, at the root."
        yield Found(tool.schema_path, 'The root of a schema must say "type": "object".', fix)


@lint_rule("tool", "error")
def schema_top_level_union(tool: Definition) -> Findings:
    """The root of a schema has no `anyOf`, `oneOf` or `allOf`."""
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in tool.root:
            fix = "Flatten it to one object with optional properties, and say which go together; or make two tools."
            yield Found((*tool.schema_path, keyword), f"`{keyword}` at the root of a schema is refused.", fix)


@lint_rule("tool", "error")
def schema_valid(tool: Definition) -> Findings:
    """A schema is valid JSON Schema, draft 2020-12, and its references lead somewhere."""
    if problem := checking.schema_problem(tool.root):
        words = f"The schema is not valid: {cut(problem, 300)}."
        yield Found(tool.schema_path, words, "Mend that place: until then no input can be checked.")


@lint_rule("tool", "error")
def input_examples_fit(tool: Definition) -> Findings:
    """Every one of `input_examples` fits the schema."""
    examples, path = tool.core.get("input_examples"), (*tool.path, "input_examples")
    if examples is not None and not isinstance(examples, list):
        yield Found(path, "This must be a list of inputs.", 'Write [{"order_id": "ORD-20260917"}].')
    elif examples and not checking.schema_problem(tool.root):
        for index, example in enumerate(examples):
            checked = checking.check_tool_input(tool.root, example) if isinstance(example, dict) else None
            if checked is None or not checked.ok:
                why = checked.problems[0].message if checked else "An example is one whole input, an object."
                words = f"This example does not fit: {cut(why, 300)}"
                yield Found((*path, index), words, "Mend the example or the schema.")


# What strict mode refuses, each offence of `strict.py` under its own id.


def _refused(id: str, tool: Definition) -> Findings:
    for refusal in tool.refusals:
        if refusal.rule == id:
            words = f"Strict mode refuses this: {cut(refusal.message.rstrip('.'), 300)}."
            yield Found((*tool.schema_path, *(ref_path(refusal.path) or ())), words, STRICT_RULES[id].advice)


def _over_budget(id: str, tools: Tools) -> Findings:
    strict = [{"strict": True, "input_schema": tool.root} for tool in tools.custom if tool.strict]
    for refusal in strict_budget(strict) if tools.provider == "anthropic" else ():
        if refusal.rule == id:
            there, *_, allowed = map(int, re.findall(r"\d+", refusal.message))
            words = f"All strict tools of a request count together, and are {there - allowed} over: {refusal.message}"
            yield Found(("tools",), words, STRICT_RULES[id].advice)


_BUDGETS = {"strict-too-many-tools", "strict-too-many-optional", "strict-too-many-unions"}
STRICT_TOOL_RULES: tuple[LintRule, ...] = tuple(
    LintRule(id, about.checks, "tool", "error", partial(_refused, id), "03")
    for id, about in STRICT_RULES.items()
    if id not in _BUDGETS
)
STRICT_LIST_RULES: tuple[LintRule, ...] = tuple(
    LintRule(id, about.checks, "list", "error", partial(_over_budget, id), "03")
    for id, about in STRICT_RULES.items()
    if id in _BUDGETS
)
WIRE_RULES: tuple[LintRule, ...] = (
    not_a_definition,
    tool_name,
    property_keys,
    tool_unknown_field,
    tool_input_schema,
    tool_schema_root,
    schema_top_level_union,
    schema_valid,
    input_examples_fit,
)

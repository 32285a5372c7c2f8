"""What goes to the real model and what is found in what it writes: prompt, grammars, calls in free text.

Pure functions of the request; who writes is decided in `local.py`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from course_kit.contract.messages import Block, content_blocks, merge_turns, text_of, tool_use_blocks

from .inputs import fields_of
from .scripted import call

__all__ = ["NO_TOOL", "answers", "one_of", "prompt_of", "read_call", "schema_grammar"]

NO_TOOL = "none"  # the way out under `auto`

Tool = Mapping[str, Any]


# The prompt: only what is on the wire, in the model's own chat template.


def prompt_of(request: Mapping[str, Any], tools: Sequence[Tool], may_decline: bool) -> tuple[str, str]:
    """The prompt in two parts: who it is and its tools, then the conversation up to where the model continues."""
    system = request.get("system") or ""
    parts = [system if isinstance(system, str) else text_of({"content": system})]
    if tools:
        parts += ["Tools:", *map(_described, tools), _HOW + (_OR_NOT if may_decline else "")]
    first = _said("system", "\n\n".join(filter(None, parts)) or "You are a helpful AI assistant.")
    turns = merge_turns(request.get("messages") or ())
    names = {block["id"]: block["name"] for turn in turns for block in tool_use_blocks(turn) if "id" in block}
    rest = "".join(_said(turn["role"], "\n".join(_lines(content_blocks(turn), names))) for turn in turns)
    return first, rest + "<|im_start|>assistant\n"


_HOW = (
    'Answer with a call of one tool, as JSON: {"name": "tool", "input": {"key": "value"}}. '
    "Copy the values from the request."
)
_OR_NOT = f' When no tool fits, answer {{"name": "{NO_TOOL}"}}.'


def _said(role: str, text: str) -> str:
    """One turn. Template marks inside the text stay text."""
    text = text.replace("<|", "< |").encode("utf-8", "replace").decode()
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def _described(tool: Tool) -> str:
    """A definition in lines: name and description, then each input."""
    lines = [f"{tool['name']}: {tool.get('description') or ''}"]
    for field in fields_of(tool):
        options = f" One of {json.dumps(field.node['enum'], ensure_ascii=False)}" if "enum" in field.node else ""
        lines.append(f"  - {field.name} ({field.node['type'] or 'any'}): {field.node['description']}{options}")
    return "\n".join(lines)


def _lines(blocks: Sequence[Block], names: Mapping[str, str]) -> Iterator[str]:
    """What the blocks of a turn look like to the model; its own thinking is not shown again."""
    for block in blocks:
        match block.get("type"):
            case "text":
                yield block["text"]
            case "tool_use":
                yield json.dumps({"name": block["name"], "input": block["input"]}, ensure_ascii=False)
            case "tool_result":
                what = "Error" if block.get("is_error") else "Result"
                yield f"{what} of {names.get(block['tool_use_id'], 'a tool')}: {text_of(block) or 'nothing to show'}"
            case "thinking" | "redacted_thinking":
                pass
            case other:
                yield f"[{other}]"


# Grammars, and reading what was written without one.


def one_of(names: Sequence[str]) -> str:
    """A grammar of names, each with its closing quotation mark: `["add", "none"]` → `root ::= "add\\"" | "none\\""`."""
    return "root ::= " + " | ".join(json.dumps(name + '"') for name in names)


def schema_grammar(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema as the grammar takes it: a copy with objects closed to undefined names.

    Keywords that the grammar cannot hold are passed over ("lenient"); what they ask for is checked afterwards.
    """
    how = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
    return {**_closed(schema), "x-guidance": how}


def _closed(node: Any) -> Any:
    if not isinstance(node, Mapping):
        return node
    closed = dict(node)
    for key in ("properties", "$defs", "definitions"):  # names to schemas
        if isinstance(node.get(key), Mapping):
            closed[key] = {name: _closed(part) for name, part in node[key].items()}
    for key in ("anyOf", "oneOf", "prefixItems"):  # not allOf: its parts describe one object together
        if isinstance(node.get(key), list):
            closed[key] = [_closed(part) for part in node[key]]
    if isinstance(node.get("items"), Mapping):
        closed["items"] = _closed(node["items"])
    if "properties" in node and not {"additionalProperties", "patternProperties", "allOf"} & node.keys():
        closed["additionalProperties"] = False
    return closed


def answers(text: str) -> list[dict[str, Any]]:
    """Every JSON object in a text, outermost ones, in order: `'so: {"a": 1}.'` → `[{"a": 1}]`."""
    found, position = [], text.find("{")
    while position >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, position)
            found.append(value)
        except ValueError:
            end = position + 1
        position = text.find("{", end)
    return found


def read_call(text: str, names: Sequence[str]) -> tuple[Block | None, str]:
    """The first call in a text, or why there is none."""
    objects = answers(text)
    shaped = [one for one in objects if isinstance(one.get("name"), str) and isinstance(one.get("input"), dict)]
    for one in shaped:
        if one["name"] in names:
            return call(one["name"], one["input"]), ""
    if shaped:
        return None, f"it names {shaped[0]['name']!r:.60}, which is no tool here"
    return None, "JSON, but not a name with an input" if objects else "no JSON object stands in what it wrote"

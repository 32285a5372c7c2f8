"""What a request costs: its prompt in the order in which the model reads it, and the estimated tokens of that.

Tokens are estimated, not counted: a quarter of the JSON text's length, in which a Chinese character is an escape of
six. The order of magnitude is right, the last digit is not; the real endpoint calls its count an estimate too. What
the prompt cache saves is next door, in `caching.py`.
"""

import json
import marshal
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from course_kit.contract import models
from course_kit.contract.messages import content_blocks
from course_kit.contract.thinking import without_cache_control

from .tool_search import references

__all__ = ["count_tokens", "estimate", "measured", "overhead", "prompt", "tokens_of"]


def estimate(value: Any) -> int:
    """The estimated tokens of a text or of a JSON value."""
    text = value if isinstance(value, str) else json.dumps(value)
    extra = 0 if text.isascii() else len(json.dumps(text)) - len(text)
    return tokens_of(len(text) + extra)


def tokens_of(characters: int) -> int:
    """The estimated tokens of this many characters of JSON: `5` → `2`."""
    return (characters + 3) // 4


def count_tokens(body: Mapping[str, Any]) -> int:
    """The input tokens of a request: what `count_tokens` answers, and what `usage` adds up to."""
    return measured(body)[0]


# The prompt, in the order in which it is read.


def prompt(body: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every tool and block as `(part, role, block)`; the parts are `"tools"`, `"system"` and `"messages"`."""
    tools = body.get("tools") or ()
    deferred = {tool["name"]: tool for tool in tools if tool.get("defer_loading") and "name" in tool}
    for tool in tools:
        if not tool.get("defer_loading"):
            yield "tools", "", tool
    for block in content_blocks({"content": body.get("system")}):
        yield "system", "", block
    for message in body["messages"]:
        for block in content_blocks(message):
            # The definition of a deferred tool is in the prompt from the first reference to it on.
            for name in references(block) if deferred else ():
                if name in deferred:
                    yield "messages", "", deferred.pop(name)
            yield "messages", message["role"], block


def overhead(body: Mapping[str, Any]) -> int:
    """What the presence of tools costs."""
    facts = models.facts(body.get("model"))
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    return facts.tool_prompt_tokens[forced] if facts and body.get("tools") else 0


def measured(body: Mapping[str, Any]) -> tuple[int, bool]:
    """The tokens of the whole prompt, and whether anything in it is marked."""
    whole = list(prompt(body))
    tools = [block for part, _, block in whole if part == "tools"]
    blocks = [block for _, _, block in whole[len(tools) :]]
    # Tools are the same in every turn of a loop; `marshal` gives the quickest key for them.
    parts = [_tools_characters(marshal.dumps(tools, 2))] if tools else []
    parts += [_characters(blocks)] if blocks else []
    characters = sum(count for count, _ in parts) + len(", ") * max(0, len(parts) - 1)
    characters += sum(len(role) for _, role, _ in whole)
    return overhead(body) + tokens_of(characters), bool(body.get("cache_control")) or any(marked for _, marked in parts)


def _characters(blocks: list[Any]) -> tuple[int, bool]:
    """The length of these blocks with `, ` between them, and whether one of them is marked."""
    text = json.dumps(blocks)
    marked = '"cache_control"' in text
    if marked:
        text = json.dumps(without_cache_control(blocks))
    return len(text) - len("[]"), marked


@lru_cache(maxsize=1024)
def _tools_characters(tools: bytes) -> tuple[int, bool]:
    return _characters(marshal.loads(tools))

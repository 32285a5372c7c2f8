"""A request as the simulated model reads it: what is visible, what was asked, what was called since and what came back.

Only reading: what follows from it is decided in `simulated.py`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from course_kit.contract.messages import content_blocks, merge_turns, text_of, tool_use_blocks

from .filling import day_of
from .inputs import Text
from .spans import DATE, READ, words
from .tool_search import loaded, search_call

__all__ = ["Made", "Turn", "flat", "named_in", "quote"]


class Made(NamedTuple):
    """A call made since the request, with its result; `latest` says that the result has just come."""

    name: str
    input: dict[str, Any]
    text: str
    failed: bool
    latest: bool


class Turn:
    """One request, read. `text` is what the user asked for last, `earlier` what was asked before, newest first."""

    def __init__(self, request: Mapping[str, Any]):
        turns = merge_turns(request.get("messages") or ())
        self.all_tools = [tool for tool in request.get("tools") or () if "input_schema" in tool]
        found = loaded(request)
        self.tools = [tool for tool in self.all_tools if not tool.get("defer_loading") or tool["name"] in found]
        self.said: Mapping[str, Any] = {}  # the words of each definition, once `simulated.py` has read them
        self.by_name = {tool["name"]: tool for tool in self.tools}
        self.choice = request.get("tool_choice") or {"type": "auto"}
        self.schema = ((request.get("output_config") or {}).get("format") or {}).get("schema")
        told = [i for i, turn in enumerate(turns) if turn["role"] == "user" and text_of(turn)]
        # Text that came along with results belongs to the request before it.
        start = max((i for i in told if turns[i]["content"][0]["type"] != "tool_result"), default=0)
        self.text = "\n".join(text_of(turns[i]) for i in told if i >= start)
        self.earlier = [text_of(turns[i]) for i in reversed(told) if i < start]
        self.search = search_call(request, self.text)  # the call that lets the server look for a tool, if it can
        self.made: list[Made] = []
        for before, turn in zip(turns[start:], turns[start + 1 :], strict=False):
            results = {block.get("tool_use_id"): block for block in content_blocks(turn)}
            for block in tool_use_blocks(before):
                result = results.get(block.get("id"), {})
                other = [part["type"] for part in content_blocks(result) if part["type"] != "text"]
                text = text_of(result) or " ".join(other)
                failed = bool(result.get("is_error"))
                self.made.append(Made(block["name"], block["input"], text, failed, turn is turns[-1]))
        system = request.get("system") or ""
        system = system if isinstance(system, str) else text_of({"content": system})
        said = " ".join([system, *self.earlier, self.text])
        stated = re.search(rf"(?i:today(?:'s date)? is|今天是)\W+(?:\w+day,? )?({DATE})", said)
        self.today = day_of(stated[1]) if stated else None

    def texts(self, *parts: str) -> list[Text]:
        """Where values are looked for: the part in question, the whole request, what was said before, results."""
        told = [(part, 1.0) for part in parts or [self.text]] + [(text, 0.5) for text in [self.text, *self.earlier]]
        told += [(flat(made.text), 0.4) for made in self.made if not made.failed]
        trusted: dict[str, float] = {}
        for text, trust in told:
            trusted.setdefault(text[:READ], trust)
        return [Text(text, trust, self.today) for text, trust in trusted.items()]


def flat(text: str) -> str:
    """JSON as lines of `name: value`, any other text as it is: `{"a": {"b": 1}}` → `"a b: 1"`."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "\n".join(_lines(value, "")) if isinstance(value, dict | list) else text


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value, 1):
            yield from _lines(part, f"{name} {key}".strip())
    elif value is not None:
        yield f"{name}: {value}"


def quote(result: str, request: str) -> str:
    """Six lines of a result, in its order: those that say how much there is, then those nearest to the request."""
    lines = [line.strip() for line in flat(result).split("\n") if line.strip()]
    asked, extent = words(request), re.compile(r"(?:\w+ )*(?:total|returned|truncated|next_cursor):|.*left out")
    best = sorted(range(len(lines)), key=lambda i: (not extent.match(lines[i]), -len(words(lines[i]) & asked), i))
    said = "; ".join(lines[i] for i in sorted(best[:6]))
    return re.sub(r"(?<=_cents: )(\d+)", lambda cents: f"{cents[1]} ({int(cents[1]) / 100:.2f})", said)


# In an error, what was received is no hint: `not 19.99`, `but the string "5" came`.
_RECEIVED = re.compile(r"\b(?:but|not|got|received)\s+(?:the (?:string|number) )?(?:\"[^\"]*\"|'[^']*'|-?\d[\d.]*\b)")


def named_in(text: str, names: Iterable[str]) -> dict[str, str]:
    """What a text says of each name: from there to the next name, without what was received."""
    found = [(m.start(), name) for name in names for m in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    said: dict[str, str] = {}
    for (start, name), (end, _) in zip(sorted(found), [*sorted(found)[1:], (len(text), "")], strict=False):
        said[name] = said.get(name, "") + " " + _RECEIVED.sub(" ", text[start + len(name) : end])
    return said

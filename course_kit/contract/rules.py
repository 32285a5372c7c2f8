"""What a rule of the API is, and what the rules read in a request.

A rule is data (id, what it checks, status, source, certainty) and one function that finds what breaks it. The rules
themselves are in `fields.py` (shape of every field), `tooling.py` (definitions, `tool_choice`, strict, search)
and `protocol.py` (the conversation), which also says in which order they are tried.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from . import models
from .messages import Block

__all__ = ["Certainty", "Found", "Request", "Rule", "Turn", "Violation", "rule", "said"]

# How sure the course is that the API does this, as of 2026-11-30.
#   sdk: read in the SDK's source or run with it     docs: stated in the vendor's documentation
#   recorded: seen in recorded live traffic          reported: the API's own text, quoted in unrelated reports
#   uncertain: evidence is thin or conflicting; such a rule is a setting
Certainty = Literal["sdk", "docs", "recorded", "reported", "uncertain"]


@dataclass(frozen=True)
class Violation:
    """One rule that a request breaks, as the API would answer it.

    `path` says where (`messages.1.content.0`), `message` is the text of the error body.
    """

    rule: str
    status: int
    type: str
    path: str
    message: str
    error_code: str | None = None


class Found(NamedTuple):
    """What a rule's function yields: where, and the words. The API mostly puts the path before the words."""

    path: str
    text: str
    prefixed: bool = True

    @property
    def message(self) -> str:
        """The error text as the API words it: `"messages.1: …"`."""
        return f"{self.path}: {self.text}" if self.prefixed and self.path else self.text


def said(path: str, text: str) -> Found:
    """A finding whose error text does not begin with its path."""
    return Found(path, text, False)


@dataclass(frozen=True)
class Rule:
    """One rule: `id`, what it `says`, where that is known from, and the function that finds offences.

    `default` is False for a rule that is too uncertain to refuse a request; `strictness` can switch it on.
    `needs` are the top-level fields whose shape must be right before the rule can be tried (None: all of them).
    `shape` marks the rules that still hold when only the shape of a request is checked. `blocks` are the types of
    content blocks that a rule is about: a conversation without any of them is not checked by it.
    """

    id: str
    says: str
    source: str
    certainty: Certainty
    find: Callable[["Request"], Iterable[Found]]
    status: int = 400
    type: str = "invalid_request_error"
    default: bool = True
    shape: bool = False
    needs: tuple[str, ...] | None = None
    blocks: tuple[str, ...] = ()
    error_code: str | None = None

    def broken_by(self, found: Found) -> Violation:
        """The finding as a violation."""
        return Violation(self.id, self.status, self.type, found.path, found.message, self.error_code)


def rule(certainty: Certainty, source: str, **settings: Any) -> Callable[[Callable[[Any], Iterable[Found]]], Rule]:
    """Make a rule from a function: its name becomes the id, the first line of its docstring what the rule says."""

    def make(find: Callable[["Request"], Iterable[Found]]) -> Rule:
        says = (find.__doc__ or "").strip().partition("\n")[0]
        return Rule(find.__name__.replace("_", "-"), says, source, certainty, find, **settings)

    return make


@dataclass
class Turn:
    """Consecutive messages of one role, read as one. `index` is that of its first message.

    `blocks` holds `(path, block)` pairs, the path being the one an error names; `calls` and `results` are those of its
    blocks that are a `tool_use` or a `tool_result`.
    """

    role: str
    index: int
    blocks: list[tuple[str, Block]] = field(default_factory=list)
    calls: list[tuple[str, Block]] = field(default_factory=list)
    results: list[tuple[str, Block]] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Where it is in the request: `"messages.2"`."""
        return f"messages.{self.index}"

    def of_type(self, type: str) -> list[tuple[str, Block]]:
        """Its blocks of one type, each with its path."""
        return [(path, block) for path, block in self.blocks if block["type"] == type]


@dataclass
class Request:
    """A request body with what several rules need from it, each computed once."""

    body: Mapping[str, Any]
    version: str
    beta: frozenset[str]
    counting: bool = False
    on: frozenset[str] = frozenset()
    strict_refusals: list[tuple[str, Found]] | None = None

    @cached_property
    def model(self) -> models.ModelFacts | None:
        """What is known of the model; None for an unknown name."""
        return models.facts(self.body.get("model"))

    @cached_property
    def tools(self) -> list[dict[str, Any]]:
        """All entries of `tools`, server tools too."""
        return self.body.get("tools") or []

    @cached_property
    def custom_tools(self) -> list[tuple[int, dict[str, Any]]]:
        """The client's own tools, each with its index: those without a `type`, or with `"custom"`."""
        return [(i, tool) for i, tool in enumerate(self.tools) if tool.get("type") in (None, "custom")]

    @cached_property
    def tool_names(self) -> frozenset[str]:
        """The names of all tools."""
        return frozenset(tool["name"] for tool in self.tools if "name" in tool)

    @property
    def tool_choice(self) -> Mapping[str, Any]:
        """`tool_choice` as it was sent, `{}` where it was not."""
        return self.body.get("tool_choice") or {}

    @property
    def forces_a_call(self) -> bool:
        """Whether the model must call a tool."""
        return self.tool_choice.get("type") in ("any", "tool")

    @property
    def thinking(self) -> str | None:
        """The type of `thinking`: `"enabled"`, `"adaptive"`, `"disabled"` or None."""
        return (self.body.get("thinking") or {}).get("type")

    @cached_property
    def turns(self) -> list[Turn]:
        """The conversation as the server reads it: consecutive messages of one role combined, system turns left out."""
        turns: list[Turn] = []
        for index, message in enumerate(self.body["messages"]):
            role, content = message["role"], message["content"]
            if role == "system":
                continue
            if isinstance(content, str):
                content = [{"type": "text", "text": content}] if content else []
            if not turns or turns[-1].role != role:
                turns.append(Turn(role, index))
            turn = turns[-1]
            for position, block in enumerate(content):
                found = (f"messages.{index}.content.{position}", block)
                turn.blocks.append(found)
                if block["type"] == "tool_use":
                    turn.calls.append(found)
                elif block["type"] == "tool_result":
                    turn.results.append(found)
        return turns

    @cached_property
    def blocks(self) -> list[tuple[str, str, Block]]:
        """Every block of the conversation as `(role, path, block)`."""
        return [(turn.role, path, block) for turn in self.turns for path, block in turn.blocks]

    @cached_property
    def blocks_by_type(self) -> dict[str, list[tuple[str, str, Block]]]:
        """All blocks as in `blocks`, by their type."""
        found: dict[str, list[tuple[str, str, Block]]] = {}
        for one in self.blocks:
            found.setdefault(one[2]["type"], []).append(one)
        return found

    @cached_property
    def marks(self) -> list[tuple[str, Any]]:
        """Every `cache_control` on a tool or a block, with its path, in the order of the prompt."""
        system = self.body.get("system")
        found = _marked("tools", self.tools) + _marked("system", system if isinstance(system, list) else ())
        for _, path, block in self.blocks:
            if "cache_control" in block:
                found.append((path, block["cache_control"]))
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                found += _marked(f"{path}.content", block["content"])
        return [(path, control) for path, control in found if control]

    def of_type(self, type: str, role: str | None = None) -> list[tuple[str, Block]]:
        """The blocks of one type with their paths, in every turn or in those of one role."""
        found = self.blocks_by_type.get(type, ())
        return [(path, block) for its_role, path, block in found if role in (None, its_role)]


def _marked(path: str, parts: Iterable[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    return [(f"{path}.{index}", part["cache_control"]) for index, part in enumerate(parts) if "cache_control" in part]

"""What a rule of the linter is, and what it yields.

A rule is data (id, what it says, severity, lesson) and one function that finds what breaks it: in one tool, in one of
its inputs, or in the list as a whole. The rules are in `lint_wire.py` (what the API refuses), `lint_texts.py` (names
and descriptions), `lint_inputs.py` and `lint_types.py` (inputs), and `definitions.py` (the list), where `lint_tools`
runs them all. How a definition is read is in `reading.py`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .words import Path

__all__ = ["Finding", "Found", "LintRule", "Severity", "lint_rule"]

# error: the API refuses it, or it can never work    warning: a model is likely to go wrong by it
# hint: a question that the definition leaves open
Severity = Literal["error", "warning", "hint"]


@dataclass(frozen=True)
class Finding:
    """One rule that one definition breaks: where, what and why, what to write instead, the lesson that explains it.

    `tool` is the tool's name (`tools[3]` where it has none, empty for the list as a whole); `path` is written like
    `tools[0].input_schema.properties.amount`.
    """

    tool: str
    path: str
    rule: str
    severity: Severity
    message: str
    fix: str
    lesson: str = "02"

    def __str__(self) -> str:
        return f"{self.severity} {self.rule} at {self.path}: {self.message} {self.fix}"


class Found(NamedTuple):
    """What a rule's function yields: where, what is wrong and why, and a proposal."""

    path: Path
    message: str
    fix: str


@dataclass(frozen=True)
class LintRule:
    """One rule: `id`, what it `says`, what it looks at (`about`), and the function that finds offences."""

    id: str
    says: str
    about: Literal["file", "list", "tool", "input"]
    severity: Severity
    find: Callable[[Any], Iterable[Found]]
    lesson: str = "02"


def lint_rule(
    about: Any, severity: Severity, lesson: str = "02"
) -> Callable[[Callable[[Any], Iterable[Found]]], LintRule]:
    """Make a rule from a function: its name becomes the id, the first line of its docstring what the rule says."""

    def make(find: Callable[[Any], Iterable[Found]]) -> LintRule:
        says = (find.__doc__ or "").strip().partition("\n")[0]
        return LintRule(find.__name__.replace("_", "-"), says, about, severity, find, lesson)

    return make

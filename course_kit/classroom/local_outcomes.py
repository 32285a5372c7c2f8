"""What the real 135M model did in our own run: twenty requests to the desk, each answered in three ways.

So a lesson can show it where the model is not installed. The requests were written for this course; the file beside
this module, `recorded/smollm2.jsonl`, is written by `tests/benchmarks/local_model.py` and by nothing else.

    with_grammar      a call of any of the six tools is forced; the tool's schema is the grammar
    without_grammar   the same request, and the model writes what it likes
    tool_named        the right tool is named by `tool_choice`, so only the values are left to the model

`print(recorded().table())` shows how often each went well.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FILE", "JUDGED", "WAYS", "Answer", "Outcome", "Recorded", "recorded"]

FILE = Path(__file__).parent / "recorded" / "smollm2.jsonl"
WAYS = ("with_grammar", "without_grammar", "tool_named")
JUDGED = {
    "valid_json": "valid JSON",
    "valid_input": "input fits the schema",
    "right_tool": "right tool",
    "inputs_right": "every input right",
}


@dataclass(frozen=True)
class Answer:
    """What it wrote, the call in it if there is one (`{"name": …, "input": {…}}`), and how that was judged."""

    raw: str
    call: Mapping[str, Any] | None
    valid_json: bool
    valid_input: bool
    right_tool: bool
    inputs_right: bool


@dataclass(frozen=True)
class Outcome:
    """One request. `wanted` names the tool and, for each input, the values that count as right."""

    id: str
    request: str
    wanted: Mapping[str, Any]
    with_grammar: Answer
    without_grammar: Answer
    tool_named: Answer


@dataclass(frozen=True)
class Recorded:
    """The whole run. `about` says which model, on which day, with which settings."""

    about: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]

    def summary(self) -> dict[str, dict[str, int]]:
        """How many requests went well: `{"with_grammar": {"requests": 20, "valid_json": …, …}, …}`."""
        return {
            way: {
                "requests": len(self.outcomes),
                **{what: sum(getattr(getattr(one, way), what) for one in self.outcomes) for what in JUDGED},
            }
            for way in WAYS
        }

    def table(self) -> str:
        """The summary as text, a line for each way."""
        rows = ["".join([f"{'':<17}", *(f"  {title}" for title in JUDGED.values())])]
        for way, counts in self.summary().items():
            cells = [f"{counts[what]} of {counts['requests']}".rjust(len(title) + 2) for what, title in JUDGED.items()]
            rows.append("".join([f"{way.replace('_', ' '):<17}", *cells]))
        return "\n".join(rows)


def recorded(file: Path = FILE) -> Recorded:
    """The recorded run, read from the package."""
    about, *rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return Recorded(about, tuple(map(_outcome, rows)))


def _outcome(row: dict[str, Any]) -> Outcome:
    ways: dict[str, Any] = {way: Answer(**row.pop(way)) for way in WAYS}
    return Outcome(**row, **ways)

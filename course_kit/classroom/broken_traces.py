"""Ten broken traces for the bug hunt of lesson 12, and the causes to choose from.

Each is the record of one run that ended in a complaint. The inputs and outcomes are those of public bug reports, the
rest is ours; some of the programs that wrote them are worse than this course's own loop. The exercise's check says
which cause is right.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from course_kit.harness.trace import Trace

__all__ = ["CAUSES", "BrokenTrace", "broken_traces"]

CAUSES = {
    "cut": "a reply was cut, but its call was still run",
    "unchecked": "an input that breaks the schema was run",
    "mute error": "an error text does not say what to fix",
    "cut result": "the part of a result that mattered was left out",
    "lost results": "one failing call took the results of others with it",
    "no decision": "a call ran that a person should have decided about",
    "run twice": "the harness made a call again that may have taken effect",
    "false stall": "a run was ended as stuck although its results moved",
    "not shown": "the tool that was needed was not among those shown",
    "tools changed": "the definitions changed between steps, and the prompt cache was lost",
    "wrong pick": "the model chose another of the tools that it was shown",
    "invented": "the model made up a value that nobody had said",
}


@dataclass(frozen=True)
class BrokenTrace:
    """One run that went wrong: what the user said of it, its trace, and what came of it.

    `good`, where there is one, is the same run as it was before: laid beside it, the fault stands out.
    """

    id: str
    complaint: str
    trace: Trace
    outcome: str
    report: str
    source: str
    good: Trace | None = None

    def __str__(self) -> str:
        return f'{self.id}  "{self.complaint}"\n{self.trace}'


def broken_traces() -> dict[str, BrokenTrace]:
    """The ten, by id: `broken_traces()["T01"].trace`."""
    return {row["id"]: _broken(row) for row in map(json.loads, _lines())}


@cache
def _lines() -> tuple[str, ...]:
    text = (files("course_kit") / "data" / "broken_traces.jsonl").read_text(encoding="utf-8")
    return tuple(line for line in text.split("\n") if line)


def _broken(row: dict[str, Any]) -> BrokenTrace:
    trace = Trace(row["request"], row["events"])
    good = Trace(row["request"], row["good"]) if "good" in row else None
    return BrokenTrace(row["id"], row["complaint"], trace, row["outcome"], row["report"], row["source"], good)

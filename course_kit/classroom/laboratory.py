"""How often a set of definitions leads to the right tool: `measure(tools, requests)`.

Each request is put to the simulated model several times, with another seed each time, and the tool it calls is compared
with the one that was meant. The interval is one over requests: asking the same sentence ten times tells nothing new
about sentences. Nothing is sent anywhere, and no result is fed back: this is about the first pick alone.
"""

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from course_kit.evaluation.intervals import wilson
from course_kit.mock.simulated import Simulated

__all__ = ["Accuracy", "Row", "chosen", "jobs_of", "measure", "picked"]

NO_CALL = "no call"
LEFT = 'style="text-align: left; padding: 2px 12px 2px 0"'


@dataclass(frozen=True)
class Row:
    """One request: the job it was meant for, and the job that was picked with each seed."""

    said: str
    meant: str
    picks: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of trials that took the right tool."""
        return self.picks.count(self.meant) / len(self.picks)

    @property
    def wrong(self) -> str:
        """The wrong picks, the most frequent first: `"orders 7×, no call 3×"`."""
        counted = Counter(pick for pick in self.picks if pick != self.meant)
        return ", ".join(f"{pick} {times}×" for pick, times in counted.most_common())


@dataclass(frozen=True)
class Accuracy:
    """What `measure` found: one `Row` for each request."""

    rows: tuple[Row, ...]

    @property
    def share(self) -> float:
        """The share of right picks, every request weighing the same."""
        return fmean(row.share for row in self.rows)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the share on many more requests of this kind probably lies (95%)."""
        low, high = wilson(self.share * len(self.rows), len(self.rows))
        return low, high

    @property
    def slips(self) -> tuple[Row, ...]:
        """The requests that went wrong at least once."""
        return tuple(row for row in self.rows if row.share < 1)

    def changed(self, before: "Accuracy") -> str:
        """Which requests go better or worse than before, a line for each."""
        old = {row.said: row.share for row in before.rows}
        moved = [(row, old[row.said]) for row in self.rows if old.get(row.said, row.share) != row.share]
        lines = [f"{'+' if row.share > was else '-'} {was:.1f} → {row.share:.1f}  {row.said}" for row, was in moved]
        return "\n".join(lines) or "Every request goes as before."

    def head(self) -> str:
        """The share with its interval, in one line."""
        low, high = self.interval
        times = len(self.rows[0].picks)
        return (
            f"{self.share:.0%} right (simulated; {len(self.rows)} requests, {times} times each; "
            f"interval {low:.0%} to {high:.0%})"
        )

    def __repr__(self) -> str:
        slips = [f"  {row.share:.1f}  {row.said}  (meant {row.meant}; {row.wrong})" for row in self.slips]
        return "\n".join([self.head(), *slips])

    def _repr_html_(self) -> str:
        heads = ("right", "request", "meant for", "wrong picks")
        rows = "".join(f'<th scope="col" {LEFT}>{head}</th>' for head in heads)
        for row in self.rows:
            mark = f"{'✓' if row.share == 1 else '✗'} {row.share:.1f}"
            cells = (
                f'<span style="white-space: nowrap">{mark}</span>',
                *map(html.escape, (row.said, row.meant, row.wrong)),
            )
            rows += "</tr><tr>" + "".join(f"<td {LEFT}>{cell}</td>" for cell in cells)
        return f"<p><b>{html.escape(self.head())}</b></p><table><tr>{rows}</tr></table>"


def measure(
    tools: Any,
    requests: Iterable[tuple[str, str | None]],
    *,
    times: int = 10,
    first_seed: int = 0,
    profile: str = "steady",
    **settings: Any,
) -> Accuracy:
    """How often the simulated model picks the tool that was meant.

    `tools` is a list of definitions, or a dict that gives each a job: `{"parcels": TRACK_PARCEL}`. A request is a
    sentence and the job (or the tool's name) it is meant for, None where no tool should be called.
    """
    jobs, rows = jobs_of(tools), []
    for request in requests:
        if not isinstance(request, tuple | list) or len(request) != 2:
            raise ValueError(
                f"{request!r} is no pair: write (sentence, job), with None where no tool should be called."
            )
        said, meant = request
        if meant is not None and meant not in jobs:
            raise ValueError(f"{said!r} is meant for {meant!r}, which is not among the tools: {', '.join(jobs)}.")
        seeds = range(first_seed, first_seed + times)
        picks = tuple(picked(jobs, said, seed=seed, profile=profile, **settings) for seed in seeds)
        rows.append(Row(said, meant or NO_CALL, picks))
    if not rows or times < 1:
        raise ValueError("There is nothing to measure: give at least one request, and ask it at least once.")
    return Accuracy(tuple(rows))


def chosen(requests: Sequence[str], request: int | str) -> str:
    """One of the sentences by its number, from 1, or a sentence of the caller's own."""
    if isinstance(request, str):
        return request
    if request not in range(1, len(requests) + 1):
        raise ValueError(f"There is no request {request!r}: they go from 1 to {len(requests)}.")
    return requests[request - 1]


def jobs_of(tools: Any) -> dict[str, Mapping[str, Any]]:
    """Definitions by job; the job of a tool in a list is its name."""
    if "input_schema" in tools if isinstance(tools, Mapping) else hasattr(tools, "definition"):
        raise ValueError("This is one definition: give a list of them, or a dict with a job for each.")
    named = tools.items() if isinstance(tools, Mapping) else [(None, entry) for entry in tools]
    plain = [(job, entry if isinstance(entry, Mapping) else entry.definition()) for job, entry in named]
    return {job or entry["name"]: entry for job, entry in plain}


def picked(jobs: Mapping[str, Mapping[str, Any]], said: str, **model: Any) -> str:
    """The job that one request is given: `"parcels"`, `"orders and parcels"` for calls of both, or `"no call"`."""
    request = {"messages": [{"role": "user", "content": said}], "tools": list(jobs.values())}
    called = [block["name"] for block in Simulated(**model).reply(request).content if block["type"] == "tool_use"]
    job = {entry["name"]: job for job, entry in jobs.items()}
    return " and ".join(dict.fromkeys(job[name] for name in called)) or NO_CALL

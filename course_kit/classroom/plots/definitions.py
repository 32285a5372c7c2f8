"""Definitions and schemas: what was picked, how alike descriptions are, how requests end under strict mode."""

import random
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from course_kit.classroom.plots.drawing import LINES, ON_BAR, new_axes, square_at
from course_kit.classroom.plots.runs import nine_in_ten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ENDINGS", "plot_accuracy", "plot_endings", "plot_mask", "plot_similarity", "plot_trials"]


def plot_accuracy(series: Mapping[str, Mapping[str, Any]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """Shares of right picks with their intervals: `{"the ten": {"start": measure(…), "name": measure(…)}}`.

    One row for each step, from the top; one marker for each set of requests, filled for the first, hollow for others.
    """
    steps = list(dict.fromkeys(step for measured in series.values() for step in measured))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(7, 0.8 + 0.5 * max(len(steps), 2)))[1]
    told = []
    for number, (label, measured) in enumerate(series.items()):
        colour, marker = LINES[number % len(LINES)]
        shift = 0.3 * (number - (len(series) - 1) / 2) / max(len(series) - 1, 1)
        for step, one in measured.items():
            low, high = one.interval
            ax.errorbar(
                one.share,
                steps.index(step) + shift,
                xerr=[[max(0.0, one.share - low)], [max(0.0, high - one.share)]],
                color=colour,
                marker=marker,
                markerfacecolor=colour if number == 0 else "white",
                linestyle="",
                linewidth=1,
                capsize=3,
                label=label if step == next(iter(measured)) else "_nolegend_",
            )
        shares = ", ".join(
            f"{step} {one.share:.0%} ({one.interval[0]:.0%} to {one.interval[1]:.0%})" for step, one in measured.items()
        )
        told.append(f"{label}: {shares}")
    ax.set(title=title or "Right picks (simulated)", xlabel="share of right picks (simulated), with 95% interval")
    ax.set(xlim=(-0.02, 1.02), ylim=(len(steps) - 0.5, -0.5))
    ax.set_yticks(range(len(steps)), steps)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.grid(axis="x", alpha=0.3)
    if len(series) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = f"Shares of right picks, simulated, with 95% intervals. {'. '.join(told)}."
    return ax


def plot_similarity(
    names: Sequence[str], similarity: Sequence[Sequence[float]], title: str = "", ax: "Axes | None" = None
) -> "Axes":
    """How alike definitions are, from 0 to 1, as a map with its numbers: `plot_similarity(names, matrix)`."""
    if ax is None:
        from matplotlib import pyplot

        size = 1.6 + 0.75 * len(names)
        ax = pyplot.subplots(figsize=(size, size * 0.8))[1]
    pairs = []
    for row, values in enumerate(similarity):
        for column, value in enumerate(values):
            grey = 1 - 0.75 * value if row != column else 1
            ax.add_patch(square_at(column, row, str(max(0.0, min(1.0, grey)))))
            shown = f"{value:.2f}" if row != column else "·"
            ax.text(column, row, shown, ha="center", va="center", color="white" if grey < 0.55 else "black")
            if column > row:
                pairs.append((value, f"{names[row]} and {names[column]}"))
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), title=title or "How alike the definitions are")
    ax.set_xlabel("from 0, no word in common, to 1, the same text")
    ranked = "; ".join(f"{pair} {value:.2f}" for value, pair in sorted(pairs, reverse=True)[:3])
    ax.description = f"A map of how alike {len(names)} definitions are, 0 to 1. The closest pairs: {ranked}."
    return ax


# How a request may end, from harmless to expensive: each with its colour and hatch.
ENDINGS = tuple(zip(("#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"), ("", "..", "//", "xx", "--"), strict=True))


def plot_mask(steps: Mapping[str, tuple[Mapping[str, float], Any]], title: str = "") -> "Figure":
    """What masking does to the next token: `{"reason": ({"broken": 0.6, "damaged": 0.4}, ["damaged"])}`.

    A panel for each step: a pale bar for what the model would write, a dark one for what is left among the legal
    tokens, shared out again. Tokens that are not legal are crossed out. If the shares are measured, say so in `title`.
    """
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(steps), figsize=(3.6 * len(steps), 4), squeeze=False)
    told = []
    for ax, (step, (wishes, legal)) in zip(panels[0], steps.items(), strict=True):
        room = sum(share for token, share in wishes.items() if token in legal) or 1
        left = {token: share / room if token in legal else 0 for token, share in wishes.items()}
        places = range(len(wishes))
        ax.barh([y - 0.2 for y in places], list(wishes.values()), 0.38, color="#BBBBBB", hatch="..", edgecolor="white")
        ax.barh([y + 0.2 for y in places], list(left.values()), 0.38, color="#0072B2")
        ax.set_yticks(places, [token if token in legal else f"{token}  ✗" for token in wishes])
        ax.set_title(step, fontsize=10)
        ax.set(xlim=(0, 1.05), xlabel="chance of the next token")
        ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        ax.invert_yaxis()
        shares = ", ".join(
            f"{token} {share:.0%} to {left[token]:.0%}" if token in legal else f"{token} {share:.0%}, masked"
            for token, share in wishes.items()
        )
        told.append(f"{step.replace(chr(10), ' ')}: {shares}")
    title = title or "What does the mask leave? (the shares are invented)"
    figure.suptitle(title)
    figure.legend(["wished for (dotted)", "left under the grammar"], loc="lower center", ncols=2, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.description = f"{title} Pairs of bars for the next token, before and after masking. {'. '.join(told)}."
    return figure


def plot_endings(endings: Mapping[str, Mapping[str, int]], ax: "Axes | None" = None) -> "Axes":
    """How requests ended, one bar for each setting: `{"strict": {"asked": 3, "paid": 7}}`, as shares of the bar."""
    ax = ax if ax is not None else new_axes()
    kinds = list(dict.fromkeys(kind for counts in endings.values() for kind in counts))
    told = []
    for row, (label, counts) in enumerate(endings.items()):
        total, start = sum(counts.values()) or 1, 0.0
        for kind in kinds:
            share = counts.get(kind, 0) / total
            colour, hatch = ENDINGS[kinds.index(kind) % len(ENDINGS)]
            ax.barh(
                row, share, 0.7, start, color=colour, hatch=hatch, edgecolor="white", label=kind if row == 0 else ""
            )
            if share > 0.05:
                ax.text(start + share / 2, row, f"{share:.0%}", ha="center", va="center", bbox=ON_BAR)
            start += share
        told.append(f"{label}: {', '.join(f'{kind} {counts.get(kind, 0) / total:.0%}' for kind in kinds)}")
    ax.set_yticks(range(len(endings)), list(endings))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="share of requests (simulated)", title="How requests without an order number ended")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = f"Bars of how requests ended. {'. '.join(told)}."
    return ax


def plot_trials(trials: Mapping[str, Sequence[Sequence[bool]]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """Rates with two intervals: `{"strict": [[True, False], [True, True]]}`, a row for each request, in it each seed.

    The thick line holds nine in ten of the seeds. The dashed one holds nine in ten of the rates that come out when as
    many requests are drawn again from the same list: what other requests of this kind might have given.
    """
    ax = ax if ax is not None else new_axes()
    told = []
    for row, (label, table) in enumerate(trials.items()):
        rates = [sum(request) / len(request) for request in table]
        mean = fmean(rates)
        seeds = nine_in_ten([sum(seed) / len(seed) for seed in zip(*table, strict=True)])
        draw = random.Random(0)
        requests = nine_in_ten([fmean(draw.choices(rates, k=len(rates))) for _ in range(1000)])
        colour, marker = LINES[row % len(LINES)]
        ax.hlines(row + 0.12, *requests, color=colour, linewidth=1.5, linestyle="--")
        ax.hlines(row - 0.12, *seeds, color=colour, linewidth=5, alpha=0.6)
        ax.plot(mean, row, marker=marker, color=colour, markersize=9, markeredgecolor="white")
        ax.annotate(f"{mean:.0%}", (mean, row), (0, -18), textcoords="offset points", ha="center")
        told.append(
            f"{label}: {mean:.0%}, over seeds {seeds[0]:.0%} to {seeds[1]:.0%}, "
            f"over requests {requests[0]:.0%} to {requests[1]:.0%}"
        )
    ax.set_yticks(range(len(trials)), list(trials))
    ax.set(
        xlim=(-0.03, 1.03),
        ylim=(len(trials) - 0.4, -0.6),
        xlabel="share of trials, simulated (nine in ten: thick over seeds, dashed over requests)",
        title=title or "How often did it happen?",
    )
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.grid(axis="x", alpha=0.3)
    ax.description = f"A point with two intervals for each setting. {'. '.join(told)}."
    return ax

"""Many tools and long results: growth, recall, and the context by strategy."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from course_kit.classroom.plots.definitions import ENDINGS
from course_kit.classroom.plots.drawing import LINES, ON_BAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_cache", "plot_growth", "plot_recall", "plot_strategies"]

# What a token of input costs, where one without a cache costs 1: read from it, and written into it for five minutes.
# https://platform.claude.com/docs/en/build-with-claude/prompt-caching
READ_PRICE, WRITE_PRICE = 0.1, 1.25


def plot_growth(series: Mapping[str, Mapping[int, tuple[float, float]]]) -> "Figure":
    """What more tools cost: `{"all in the prompt": {6: (0.96, 1275), 429: (0.64, 63828)}}`, right picks and tokens.

    Two panels over the number of tools, each step about a doubling; the first line is filled, the others are hollow.
    """
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.6))
    told = []
    for number, (label, points) in enumerate(series.items()):
        colour, marker = LINES[number % len(LINES)]
        face = colour if number == 0 else "white"
        look = {"color": colour, "marker": marker, "markerfacecolor": face, "linestyle": ("-", "--", ":")[number % 3]}
        left.plot(list(points), [share for share, _ in points.values()], label=label, **look)
        right.plot(list(points), [tokens for _, tokens in points.values()], label=label, **look)
        each = ", ".join(f"{count} tools {share:.0%} and {tokens:,.0f}" for count, (share, tokens) in points.items())
        told.append(f"{label}: {each}")
    counts = sorted({count for points in series.values() for count in points})
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
        ax.set(xlabel="tools in the request")
        ax.grid(axis="y", alpha=0.3)
    left.set(title="Right picks (simulated)", ylabel="share of requests", ylim=(0, 1.03))
    left.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    right.set(title="Input tokens of a request (estimated)", ylabel="tokens", ylim=(0, None))
    right.yaxis.set_major_formatter("{x:,.0f}")
    left.legend(frameon=False, loc="lower left")
    figure.tight_layout()
    figure.description = f"Lines of right picks, simulated, and of input tokens by number of tools. {'. '.join(told)}."
    return figure


def plot_cache(turns: Mapping[str, tuple[int, int]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """Cache hits by what changed: `{"nothing": (4211, 125), "the order": (0, 4336)}`, tokens read from it and anew.

    Beside each bar: the share that was read, and what the turn costs in tokens of the ordinary price.
    """
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(8, 1 + 0.42 * len(turns)))[1]
    rows, reads, anews = range(len(turns)), [read for read, _ in turns.values()], [anew for _, anew in turns.values()]
    ax.barh(rows, reads, 0.7, color="#56B4E9", edgecolor="white", label="read from the cache")
    ax.barh(
        rows,
        anews,
        0.7,
        left=reads,
        color="#D55E00",
        hatch="//",
        edgecolor="white",
        label="not cached before, now kept",
    )
    told, longest = [], max(map(sum, turns.values()), default=1)
    for row, (label, (read, anew)) in enumerate(turns.items()):
        share, cost = read / max(read + anew, 1), READ_PRICE * read + WRITE_PRICE * anew
        ax.text(
            read + anew + longest * 0.02, row, f"{share:.0%} hit, costs as much as {cost:,.0f}", va="center", fontsize=9
        )
        told.append(f"{label}: {read:,} read and {anew:,} anew ({share:.0%} hit), which costs as much as {cost:,.0f}")
    ax.set_yticks(rows, list(turns))
    ax.invert_yaxis()
    ax.set(xlim=(0, longest * 1.6), xlabel="input tokens of the next turn (estimated)")
    ax.set(title=title or "Cache hits by what changed")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = (
        "Bars of the input tokens of the next turn, split into those read from the cache and those read anew, by what "
        f"changed; what it costs is counted in tokens of the ordinary price. {'. '.join(told)}."
    )
    return ax


def plot_recall(recall: Mapping[str, Mapping[str, float]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """How often the right tool is among the five found: `{"BM25": {"terse": 0.62, "better": 0.78}}`, bars by way."""
    kinds = list(dict.fromkeys(kind for shares in recall.values() for kind in shares))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(7, 1 + 0.28 * len(recall) * (len(kinds) + 0.6)))[1]
    room, told, drawn = 0.8 / max(len(kinds), 1), [], set()
    for row, (label, shares) in enumerate(recall.items()):
        for kind, share in shares.items():
            number = kinds.index(kind)
            colour, hatch = ENDINGS[number % len(ENDINGS)]
            at = row + (number - (len(kinds) - 1) / 2) * room
            name = "_nolegend_" if kind in drawn else kind
            drawn.add(kind)
            ax.barh(at, share, room, color=colour, hatch=hatch, edgecolor="white", label=name)
            ax.text(0.01, at, f"{share:.0%}", va="center", fontsize=8, bbox=ON_BAR)
        told.append(f"{label}: {', '.join(f'{kind} {share:.0%}' for kind, share in shares.items())}")
    ax.set_yticks(range(len(recall)), list(recall))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="recall@5: the right tool is among the five found", title=title)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    if len(kinds) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = f"Bars of recall@5 by way to search. {'. '.join(told)}."
    return ax


def plot_strategies(measured: Mapping[str, Any]) -> "Figure":
    """What each strategy costs over a conversation and what it loses: `{"whole": meter.run("whole"), …}`.

    Left the context of every turn, a line each; right how many answers were lost.
    """
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.8), gridspec_kw={"width_ratios": (3, 1.3)})
    told = []
    for number, (label, metered) in enumerate(measured.items()):
        colour, marker = LINES[number % len(LINES)]
        turns = range(1, len(metered.contexts) + 1)
        left.plot(turns, metered.contexts, color=colour, marker=marker, markersize=4, label=label)
        hatch = ENDINGS[number % len(ENDINGS)][1]
        right.barh(label, len(metered.lost), 0.7, color=colour, hatch=hatch, edgecolor="white")
        right.text(len(metered.lost) + 0.3, number, str(len(metered.lost)), va="center")
        told.append(f"{label}: {metered.contexts[-1]:,} tokens at the end, {len(metered.lost)} lost")
    longest = max((len(metered.contexts) for metered in measured.values()), default=0)
    left.set(title="Context by turn", xlabel="turn", ylabel="input tokens (estimated)", yscale="log")
    left.xaxis.get_major_locator().set_params(integer=True)
    left.yaxis.set_major_formatter("{x:,.0f}")
    left.grid(axis="y", alpha=0.3)
    left.legend(frameon=False, fontsize="small")
    right.set(title=f"Answers lost, of {longest} (simulated)", xlabel="answers", xlim=(0, longest + 1))
    right.invert_yaxis()
    figure.tight_layout()
    figure.description = f"Context over {longest} turns and answers lost, simulated. {'. '.join(told)}."
    return figure

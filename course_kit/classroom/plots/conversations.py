"""The messages list as it grows, and what it costs."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from course_kit.classroom.plots.drawing import LINES, new_axes
from course_kit.classroom.transcript import read_messages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_cumulative_tokens", "plot_messages"]

# Okabe and Ito's colours, which people who see colours differently can tell apart too.
KINDS = {
    "user text": ("#56B4E9", ""),
    "assistant text": ("#E69F00", ".."),
    "tool_use": ("#D55E00", "//"),
    "tool_result": ("#009E73", "xx"),
    "other": ("#BBBBBB", "--"),
}


def plot_messages(growth: Mapping[str, Any], ax: "Axes | None" = None) -> "Axes":
    """The `messages` list as it grows: `{"request 1": messages[:1], "request 2": messages}`.

    One bar for each state of the list, one piece for each content block, a line where a message ends.
    """
    ax = ax if ax is not None else new_axes()
    drawn, told = set(), []
    tallest = bars = 0
    for bars, (label, messages) in enumerate(growth.items(), 1):
        messages, height = read_messages(messages), 0
        kinds = [_kind(message["role"], block["type"]) for message in messages for block in message["content"]]
        told.append(f"{label}: {len(kinds)} ({', '.join(kinds)})")
        for message in messages:
            for block in message["content"]:
                kind = _kind(message["role"], block["type"])
                colour, hatch = KINDS[kind]
                label = kind if kind not in drawn else "_nolegend_"
                ax.bar(bars, 1, 0.6, height, color=colour, hatch=hatch, edgecolor="white", linewidth=1, label=label)
                drawn.add(kind)
                height += 1
            ax.hlines(height, bars - 0.32, bars + 0.32, color="black", linewidth=2)  # where a message ends
        tallest = max(tallest, height)
    ax.set(title="The messages list as it grows", ylabel="content blocks", ylim=(0, tallest + 1))
    ax.set_xticks(range(1, bars + 1), list(growth))
    ax.description = f"A bar for each state of the messages list, block by block. {'. '.join(told)}."
    ax.yaxis.get_major_locator().set_params(integer=True)
    handles = {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handles:
        order = [kind for kind in KINDS if kind in handles]
        ax.legend([handles[kind] for kind in order], order, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return ax


def plot_cumulative_tokens(series: Mapping[str, Sequence[int]], ax: "Axes | None" = None) -> "Axes":
    """Input tokens added up over the turns, one line each: `{"20 tools": [4100, 4200], "3 tools": [700, 800]}`."""
    ax = ax if ax is not None else new_axes()
    for number, (label, tokens) in enumerate(series.items()):
        colour, marker = LINES[number % len(LINES)]
        style = ("-", "--", ":")[number // len(LINES) % 3]
        turns = range(1, len(tokens) + 1)
        ax.plot(turns, list(accumulate(tokens)), color=colour, marker=marker, linestyle=style, label=label)
    ax.set(
        title="Input tokens read anew, added up over the turns",
        xlabel="turn",
        ylabel="tokens so far (estimated)",
        ylim=(0, None),
    )
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.grid(axis="y", alpha=0.3)
    totals = [f"{label} ends at {sum(tokens):,} after turn {len(tokens)}" for label, tokens in series.items()]
    ax.description = f"Lines of input tokens, added up over the turns. {'. '.join(totals)}."
    if series:
        ax.legend(frameon=False)
    return ax


def _kind(role: str, type: str) -> str:
    if type == "text":
        return f"{role} text" if role in ("user", "assistant") else "other"
    if type.endswith("tool_use"):
        return "tool_use"
    return "tool_result" if type.endswith("tool_result") else "other"

"""The messages list as it grows, and what it costs."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from course_kit.classroom.plots.drawing import LINES, new_axes
from course_kit.classroom.transcript import read_messages
from course_kit.contract.messages import Block, Message, text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_cumulative_tokens", "plot_messages"]

# Okabe and Ito's colours, which people who see colours differently can tell apart too; a block also says its kind.
KINDS = {
    "user text": "#56B4E9",
    "assistant text": "#E69F00",
    "tool_use": "#D55E00",
    "tool_result": "#009E73",
    "other": "#999999",
}
LONGEST = 24  # characters of a block's own words
GAP = 0.35  # between two messages, in blocks


def plot_messages(growth: Mapping[str, Any], ax: "Axes | None" = None) -> "Axes":
    """The `messages` list as it grows: `{"request 1": messages[:1], "request 2": messages}`.

    A column for each state of the list, read from top to bottom. Blocks that the state before had too are paler, and a
    line ties each call to its result.
    """
    listed = {label: read_messages(messages) for label, messages in growth.items()}
    if ax is None:
        most = max((sum(len(message["content"]) for message in messages) for messages in listed.values()), default=1)
        ax = new_axes(3.1 * max(len(listed), 1), 1.1 + 0.62 * most)
    told: list[str] = []
    before: list[Message] = []
    lowest = 0.0
    for column, (label, messages) in enumerate(listed.items()):
        y, calls, kinds = 0.0, {}, []
        for number, message in enumerate(messages):
            sent_before = before[number : number + 1] == [message]
            for block in message["content"]:
                kinds.append(kind := _kind(message["role"], block["type"]))
                _draw_block(ax, column, y, f"{message['role']} · {block['type']}", block, KINDS[kind], pale=sent_before)
                if kind == "tool_use" and "id" in block:
                    calls[block["id"]] = y
                elif block.get("tool_use_id") in calls:
                    _draw_pair(ax, column, calls[block["tool_use_id"]], y, block["tool_use_id"])
                y += 1
            y += GAP
        told.append(f"{label}: {len(kinds)} ({', '.join(kinds)})")
        before, lowest = messages, max(lowest, y)
        ax.text(column, -0.25, label, ha="center", va="bottom", fontweight="bold")
    title = "Every request carries the whole list again (pale: sent before)"
    ax.set(title=title, xlim=(-0.5, len(listed) - 0.3), ylim=(lowest, -0.7))
    ax.axis("off")
    ax.description = (
        "The messages list in each request, block by block; what was sent before is paler, and a line with the id ties "
        f"each call to its result. {'. '.join(told)}."
    )
    return ax


def _draw_block(ax: "Axes", column: int, y: float, title: str, block: Block, colour: str, *, pale: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    fill, ink = (f"{colour}22", "#666666") if pale else (f"{colour}66", "black")
    box = FancyBboxPatch(
        (column - 0.42, y + 0.06), 0.84, 0.88, boxstyle="round,pad=0,rounding_size=0.05", facecolor=fill,
        edgecolor=colour, linewidth=0.8 if pale else 1.8, mutation_aspect=3,
    )  # fmt: skip
    ax.add_patch(box)
    ax.text(column - 0.38, y + 0.33, title, va="center", fontsize=9, fontweight="bold", color=ink)
    ax.text(column - 0.38, y + 0.69, _words(block), va="center", fontsize=8, color=ink)


def _draw_pair(ax: "Axes", column: int, call: float, result: float, id: str) -> None:
    from matplotlib.patches import ConnectionPatch

    line = ConnectionPatch(
        (column + 0.42, call + 0.5), (column + 0.42, result + 0.5), "data", connectionstyle="bar,fraction=-0.12",
        arrowstyle="<|-", color="black", linewidth=1.2,
    )  # fmt: skip
    ax.add_artist(line)
    ax.text(column + 0.5, (call + result + 1) / 2, f"id …{id[-4:]}", fontsize=8, rotation=90, va="center")


def plot_cumulative_tokens(series: Mapping[str, Sequence[int]], ax: "Axes | None" = None) -> "Axes":
    """Input tokens added up over the turns, one line each: `{"20 tools": [4100, 4200], "3 tools": [700, 800]}`."""
    ax = ax if ax is not None else new_axes()
    for number, (label, tokens) in enumerate(series.items()):
        colour, marker = LINES[number % len(LINES)]
        style = ("-", "--", ":")[number // len(LINES) % 3]
        turns = range(1, len(tokens) + 1)
        ax.plot(turns, list(accumulate(tokens)), color=colour, marker=marker, linestyle=style, label=label)
    ax.set(
        title="Input tokens not from the cache, added up over the turns",
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


def _words(block: Block) -> str:
    """A block's own words on one line: a text, a call's name, a result's content, or its type."""
    words = block.get("text") or block.get("name") or block.get("content") or block["type"]
    line = " ".join((words if isinstance(words, str) else text_of({"content": words})).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"

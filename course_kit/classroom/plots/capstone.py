"""The capstone: which part of a suite falls when a guard is taken away, and what depends on what."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from course_kit.classroom.plots.drawing import LINES, ON_BAR, square_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_guards", "plot_parts"]

# What became of a part of the suite: colour, hatch and sign.
PARTS = {"holds": ("#DDDDDD", "", ""), "falls": ("#E69F00", "//", "▼"), "lost": ("#D55E00", "xx", "✗")}


def plot_guards(measured: Mapping[str, tuple[float, float]], k: int = 3, ax: "Axes | None" = None) -> "Axes":
    """The plain rate and pass^k of each version: `{"whole": (1.0, 1.0), "without key": (0.97, 0.93)}`."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(7, 1.2 + 0.36 * len(measured)))[1]
    told = []
    for row, (label, (plain, hat)) in enumerate(measured.items()):
        ax.plot([hat, plain], [row, row], color="#999999", linewidth=2, zorder=1)
        for number, (share, name) in enumerate(((plain, "plain rate"), (hat, f"pass^{k}"))):
            colour, marker = LINES[number]
            size, face = (9, colour) if number else (14, "none")  # the ring stays visible where both are the same
            ax.plot(
                share,
                row,
                marker,
                color=colour,
                markerfacecolor=face,
                markersize=size,
                label=name if row == 0 else None,
            )
        told.append(f"{label}: plain {plain:.0%}, pass^{k} {hat:.0%}")
    ax.set_yticks(range(len(measured)), list(measured))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.03), xlabel="share of the cases", title="What is one guard worth? (simulated)")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.grid(axis="x", alpha=0.3)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    ax.description = f"Two points for each version of the agent. {'; '.join(told)}."
    return ax


def plot_parts(measured: Mapping[str, Mapping[str, float]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """What is left of each part of the suite: `{"without key": {"pay": 0.67, "many": 1.0}}`, a row for each version.

    Hatched: a part that falls; crossed: one of which less than half is left.
    """
    parts = list(dict.fromkeys(part for shares in measured.values() for part in shares))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(2.8 + 1.1 * len(parts), 1.1 + 0.4 * len(measured)))[1]
    told = []
    for row, (label, shares) in enumerate(measured.items()):
        fallen = []
        for column, part in enumerate(parts):
            share = shares[part]
            kind = "holds" if share > 0.999 else "falls" if share >= 0.5 else "lost"
            colour, hatch, sign = PARTS[kind]
            square = square_at(column, row, colour)
            square.set_hatch(hatch)
            ax.add_patch(square)
            said = f"{share:.0%} {sign}".strip()
            ax.text(column, row, said, ha="center", va="center", bbox=None if kind == "holds" else ON_BAR)
            fallen += [] if kind == "holds" else [f"{part} {share:.0%}"]
        told.append(f"{label}: {', '.join(fallen) or 'nothing falls'}")
    ax.set_xticks(range(len(parts)), parts)
    ax.set_yticks(range(len(measured)), list(measured))
    ax.set(xlim=(-0.5, len(parts) - 0.5), ylim=(len(measured) - 0.5, -0.5), title=title or "Which part falls?")
    ax.set_xlabel("part of the suite\n▼ falls   ✗ less than half is left")
    ax.description = f"A grid of versions and parts of the suite. {'; '.join(told)}."
    return ax

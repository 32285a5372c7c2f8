"""What happened in runs: recovery by error text, who ran when, damage done, calls by layer, the ledger."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from course_kit.classroom.plots.drawing import LINES, ON_BAR, new_axes, square_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "nine_in_ten",
    "plot_damage",
    "plot_layers",
    "plot_ledger",
    "plot_recovery",
    "plot_speed_up",
    "plot_timeline",
]


def nine_in_ten(values: Sequence[float]) -> tuple[float, float]:
    """The middle nine tenths of the values: from the 5th to the 95th in a hundred."""
    ordered = sorted(values)
    return ordered[round(0.05 * (len(ordered) - 1))], ordered[round(0.95 * (len(ordered) - 1))]


def plot_recovery(measured: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """What an error text is worth: `{"the course": {"failed": recover(…), "field and hint": recover(…)}}`.

    On the left the share of calls put right, on the right the calls made, a row for each text. The first voice is
    filled, the others are hollow, each with its own marker. No interval: all seeds agree here.
    """
    from matplotlib import pyplot

    texts = list(dict.fromkeys(text for one in measured.values() for text in one))
    tall = max(0.5, 0.2 * len(measured))  # inches for a row: room for a marker of each voice
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 1.7 + tall * len(texts)), sharey=True)
    told = []
    for number, (voice, found) in enumerate(measured.items()):
        colour, marker = LINES[number % len(LINES)]
        face = colour if number == 0 else "white"
        look = {"color": colour, "marker": marker, "markerfacecolor": face, "linestyle": "", "markersize": 8}
        shift = 0.7 * (number / max(len(measured) - 1, 1) - 0.5) if len(measured) > 1 else 0.0
        rows = [texts.index(text) + shift for text in found]
        left.plot([one.share for one in found.values()], rows, label=voice, **look)
        right.plot([one.calls for one in found.values()], rows, **look)
        each = ", ".join(f"{text} {one.share:.0%} with {one.calls:.1f} calls" for text, one in found.items())
        told.append(f"{voice}: {each}")
    left.set_yticks(range(len(texts)), texts)
    left.set(xlim=(-0.04, 1.04), ylim=(len(texts) - 0.5, -0.5), xlabel="requests put right (simulated)")
    left.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    right.set(xlim=(0, None), xlabel="calls for one request (simulated)")
    for ax in (left, right):
        ax.grid(axis="x", alpha=0.3)
    figure.suptitle("What is an error text worth? (simulated)")
    if len(measured) > 1:
        figure.legend(loc="lower center", ncols=len(measured), frameon=False)
    figure.tight_layout(rect=(0, 0.09 if len(measured) > 1 else 0, 1, 1))
    figure.description = f"Requests put right and calls for one request, simulated, by error text. {'. '.join(told)}."
    return figure


# Who ran when: what a call was, with its colour and hatch.
CALLS = {"read": ("#56B4E9", ""), "write": ("#E69F00", "//"), "failed": ("#D55E00", "xx")}


def plot_timeline(recorders: Mapping[str, Any]) -> "Figure":
    """Who ran when, a panel for each run: `plot_timeline({"limit 1": recorder, "limit 5": other})`.

    A bar for each call, from its beginning to its end in seconds; all panels have the same scale.
    """
    from matplotlib import pyplot

    bars = {title: recorder.bars for title, recorder in recorders.items()}
    heights = [max(len(one), 1) for one in bars.values()]
    figure, panels = pyplot.subplots(
        len(bars),
        1,
        figsize=(7.5, 0.8 + 0.6 * len(bars) + 0.2 * sum(heights)),
        sharex=True,
        squeeze=False,
        height_ratios=heights,
    )
    drawn, told = {}, []
    for ax, (title, recorder) in zip(panels[:, 0], recorders.items(), strict=True):
        for row, bar in enumerate(bars[title]):
            colour, hatch = CALLS[bar.kind]
            drawn[bar.kind] = ax.barh(
                row, bar.end - bar.begin, 0.75, bar.begin, color=colour, hatch=hatch, edgecolor="black", linewidth=0.7
            )
        ax.set_yticks(range(len(bars[title])), [bar.label for bar in bars[title]], fontsize=8)
        ax.set_title(title, loc="left", fontsize=10)
        ax.invert_yaxis()
        ax.grid(axis="x", alpha=0.3)
        calls, rounds = (
            f"{number} {what}{'' if number == 1 else 's'}"
            for number, what in ((len(bars[title]), "call"), (recorder.rounds, "round"))
        )
        told.append(f"{title}: {calls}, at most {recorder.most} at once, {rounds}")
    panels[-1, 0].set(xlabel="seconds since the first call began", xlim=(0, None))
    figure.suptitle("Which call ran when?")
    if len(drawn) > 1:
        figure.legend(drawn.values(), drawn, loc="lower center", ncols=len(drawn), frameon=False)
    figure.tight_layout(rect=(0, 0.06 if len(drawn) > 1 else 0, 1, 1))
    figure.description = f"A bar for each call, from its beginning to its end. {'. '.join(told)}."
    return figure


def plot_speed_up(count: int, measured: Mapping[int, float], ax: "Axes | None" = None) -> "Axes":
    """How much faster `count` equal reads are with so many at once: the ideal as stairs, what was measured as points.

    `plot_speed_up(20, {2: 2.0, 5: 4.67})`; the ideal is count / ceil(count / limit).
    """
    ax = ax if ax is not None else new_axes()
    limits = range(1, count + 1)
    ideal = [count / -(-count // limit) for limit in limits]
    ax.step(limits, ideal, where="post", color=LINES[0][0], label="ideal")
    ax.plot(list(measured), list(measured.values()), linestyle="", color=LINES[1][0], marker="s", label="measured")
    ax.set(title=f"How much faster are {count} equal reads?", xlabel="limit: how many at once", ylabel="times faster")
    ax.set(xlim=(0, count + 1), ylim=(0, None))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    steps = [limit for limit in limits if limit == 1 or ideal[limit - 1] > ideal[limit - 2]]
    stairs = ", ".join(f"{ideal[limit - 1]:.3g} times from {limit}" for limit in steps)
    points = ", ".join(f"{times:.3g} with limit {limit}" for limit, times in measured.items())
    ax.description = f"Stairs of the ideal speed-up of {count} reads by limit: {stairs}. Measured: {points}."
    return ax


# What an attack came to, from worst to best: colour and the sign in its square.
DAMAGE = {
    "paid": ("#D55E00", "€"),
    "token lost": ("#CC79A7", "!"),
    "person asked": ("#56B4E9", "?"),
    "nothing": ("#FFFFFF", "·"),
}


def plot_damage(damage: Mapping[str, Mapping[str, str]], ax: "Axes | None" = None) -> "Axes":
    """What each attack came to under each guard: `{"gate": {"T1": "person asked", "T4": "token lost"}}`.

    A row for each guard, a column for each attack; every outcome has its colour and its sign.
    """
    attacks = list(dict.fromkeys(attack for row in damage.values() for attack in row))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(3.0 + 0.5 * len(attacks), 1.3 + 0.45 * len(damage)))[1]
    told = []
    for y, (guard, row) in enumerate(damage.items()):
        for attack, came in row.items():
            colour, sign = DAMAGE[came]
            x = attacks.index(attack)
            square = square_at(x, y, colour)
            square.set_edgecolor("#999999")
            ax.add_patch(square)
            ax.text(x, y, sign, ha="center", va="center", fontweight="bold")
        counts = {came: list(row.values()).count(came) for came in DAMAGE}
        told.append(f"{guard}: {', '.join(f'{came} {count}' for came, count in counts.items() if count)}")
    ax.set_xticks(range(len(attacks)), attacks)
    ax.set_yticks(range(len(damage)), list(damage))
    title = "What each note led to (simulated: this model has no rule for marks)"
    ax.set(xlim=(-0.5, len(attacks) - 0.5), ylim=(len(damage) - 0.5, -0.5), title=title)
    key = "   ".join(f"{sign} {came}" for came, (_, sign) in DAMAGE.items())
    ax.set_xlabel(f"note (T: textbook, O: ordinary words)\n{key}", labelpad=6)
    tried = f"{len(attacks)} attacks against {len(damage)} guards"
    ax.description = f"A map of {tried}, simulated by a model that has no rule for marks. {'. '.join(told)}."
    return ax


def plot_layers(counts: Mapping[str, int], title: str = "", label: str = "calls", ax: "Axes | None" = None) -> "Axes":
    """How often one operation was done, a bar for each setting: `{"one attempt": 1, "transport": 3, "tool": 9}`."""
    ax = ax if ax is not None else new_axes()
    names = list(counts)
    for place, (name, count) in enumerate(counts.items()):
        once = count == 1
        ax.bar(place, count, 0.6, color="#009E73" if once else "#D55E00", hatch="" if once else "//", edgecolor="white")
        ax.annotate(str(count), (place, count), (0, 3), textcoords="offset points", ha="center")
        names[place] = name.replace(", ", ",\n").replace(" of ", "\nof ")
    ax.set_xticks(range(len(names)), names)
    ax.set(ylim=(0, max(counts.values(), default=0) * 1.12 + 0.5), ylabel=label, title=title)
    told = "; ".join(f"{name}: {count}" for name, count in counts.items())
    ax.description = (
        f"Bars, {title or label}: {told}. What was done once is plain, what was done more often is hatched."
    )
    return ax


def plot_ledger(refunds: Mapping[str, Mapping[int, int]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """How often the money left, for each program and each line it died before: `{"with a key": {2: 1, 3: 1}}`."""
    ax = ax if ax is not None else new_axes()
    lines = sorted({line for row in refunds.values() for line in row})
    told = []
    for row, (name, by_line) in enumerate(refunds.items()):
        for column, line in enumerate(lines):
            if line not in by_line:
                continue
            count = by_line[line]
            colour, hatch, word = {
                0: ("#E69F00", "xx", "never"),
                1: ("#DDDDDD", "", "once"),
            }.get(count, ("#D55E00", "//", "twice" if count == 2 else f"{count} times"))
            square = square_at(column, row, colour)
            square.set_hatch(hatch)
            ax.add_patch(square)
            ax.text(column, row, word, ha="center", va="center", bbox=ON_BAR if hatch else None)
        wrong = [f"before line {line} {count} refunds" for line, count in by_line.items() if count != 1]
        told.append(f"{name}: {', '.join(wrong) or 'once wherever it died'}")
    ax.set_xticks(range(len(lines)), [f"line {line}" for line in lines])
    ax.set_yticks(range(len(refunds)), list(refunds))
    ax.set(xlim=(-0.5, len(lines) - 0.5), ylim=(len(refunds) - 0.5, -0.5), xlabel="killed before", title=title)
    ax.description = f"How often the money left, by program and by the line it was killed before. {'; '.join(told)}."
    return ax

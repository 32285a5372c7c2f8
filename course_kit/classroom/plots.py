"""Pictures of conversations, drawn from the messages and the counts themselves.

Each function draws on the Axes it is given, or on new ones, and returns them; `show(axes, alt="…")` puts the picture
into the notebook with its description. Kinds differ by hatch or marker as well as by colour.
"""

import base64
import html
import io
import random
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from course_kit.classroom.transcript import read_messages

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    *("plot_accuracy", "plot_by_tool", "plot_confusion", "plot_cumulative_tokens", "plot_damage"),
    *("plot_endings", "plot_golden", "plot_layers", "plot_ledger", "plot_mask", "plot_messages", "plot_naive"),
    *("plot_pass_curves", "plot_pass_k", "plot_recovery", "plot_releases", "plot_similarity", "plot_speed_up"),
    *("plot_strategies", "plot_timeline", "plot_trials", "png", "show"),
    *("plot_growth", "plot_recall"),
]

# Okabe and Ito's colours, which people who see colours differently can tell apart too.
KINDS = {
    "user text": ("#56B4E9", ""),
    "assistant text": ("#E69F00", ".."),
    "tool_use": ("#D55E00", "//"),
    "tool_result": ("#009E73", "xx"),
    "other": ("#BBBBBB", "--"),
}
LINES = tuple(zip(("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"), "os^Dv", strict=True))


def plot_messages(growth: Mapping[str, Any], ax: "Axes | None" = None) -> "Axes":
    """The `messages` list as it grows: `{"request 1": messages[:1], "request 2": messages}`.

    One bar for each state of the list, one piece for each content block, a line where a message ends.
    """
    ax = ax if ax is not None else _new_axes()
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
    ax = ax if ax is not None else _new_axes()
    for number, (label, tokens) in enumerate(series.items()):
        colour, marker = LINES[number % len(LINES)]
        style = ("-", "--", ":")[number // len(LINES) % 3]
        turns = range(1, len(tokens) + 1)
        ax.plot(turns, list(accumulate(tokens)), color=colour, marker=marker, linestyle=style, label=label)
    ax.set(title="Input tokens, added up over the turns", xlabel="turn", ylabel="input tokens so far", ylim=(0, None))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.grid(axis="y", alpha=0.3)
    totals = [f"{label} ends at {sum(tokens):,} after turn {len(tokens)}" for label, tokens in series.items()]
    ax.description = f"Lines of input tokens, added up over the turns. {'. '.join(totals)}."
    if series:
        ax.legend(frameon=False)
    return ax


# How a request may end, from harmless to expensive: each with its colour and hatch.
ENDINGS = tuple(zip(("#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"), ("", "..", "//", "xx", "--"), strict=True))


def plot_mask(steps: Mapping[str, tuple[Mapping[str, float], Any]]) -> "Figure":
    """What masking does to the next token: `{"reason": ({"broken": 0.6, "damaged": 0.4}, ["damaged"])}`.

    A panel for each step: a pale bar for what the model would write, a dark one for what is left among the legal
    tokens, shared out anew. Tokens that are not legal are crossed out.
    """
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(steps), figsize=(3.6 * len(steps), 3.6), squeeze=False)
    told = []
    for ax, (title, (wishes, legal)) in zip(panels[0], steps.items(), strict=True):
        room = sum(share for token, share in wishes.items() if token in legal) or 1
        left = {token: share / room if token in legal else 0 for token, share in wishes.items()}
        places = range(len(wishes))
        ax.barh([y - 0.2 for y in places], list(wishes.values()), 0.38, color="#BBBBBB", hatch="..", edgecolor="white")
        ax.barh([y + 0.2 for y in places], list(left.values()), 0.38, color="#0072B2")
        ax.set_yticks(places, [token if token in legal else f"{token}  ✗" for token in wishes])
        ax.set(title=title, xlim=(0, 1.05), xlabel="share")
        ax.invert_yaxis()
        shares = ", ".join(
            f"{token} {share:.0%} to {left[token]:.0%}" if token in legal else f"{token} {share:.0%}, masked"
            for token, share in wishes.items()
        )
        told.append(f"{title.replace(chr(10), ' ')}: {shares}")
    figure.legend(["wished for (dotted)", "left under the grammar"], loc="lower center", ncols=2, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.description = f"Pairs of bars for the next token, before and after masking. {'. '.join(told)}."
    return figure


def plot_endings(endings: Mapping[str, Mapping[str, int]], ax: "Axes | None" = None) -> "Axes":
    """How requests ended, one bar for each setting: `{"strict": {"asked": 3, "paid": 7}}`, as shares of the bar."""
    ax = ax if ax is not None else _new_axes()
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
            if share > 0.07:
                ax.text(start + share / 2, row, f"{share:.0%}", ha="center", va="center", bbox=_ON_BAR)
            start += share
        told.append(f"{label}: {', '.join(f'{kind} {counts.get(kind, 0) / total:.0%}' for kind in kinds)}")
    ax.set_yticks(range(len(endings)), list(endings))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="share of requests")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = f"Bars of how requests ended. {'. '.join(told)}."
    return ax


def plot_trials(trials: Mapping[str, Sequence[Sequence[bool]]], ax: "Axes | None" = None) -> "Axes":
    """Rates with two intervals: `{"strict": [[True, False], [True, True]]}`, a row for each request, in it each seed.

    The thick line holds nine in ten of the seeds. The dashed one holds nine in ten of the rates that come out when as
    many requests are drawn anew from the same list: what other requests of this kind might have given.
    """
    ax = ax if ax is not None else _new_axes()
    told = []
    for row, (label, table) in enumerate(trials.items()):
        rates = [sum(request) / len(request) for request in table]
        mean = sum(rates) / len(rates)
        seeds = _nine_in_ten([sum(seed) / len(seed) for seed in zip(*table, strict=True)])
        draw = random.Random(0)
        requests = _nine_in_ten(
            [sum(again) / len(again) for again in (draw.choices(rates, k=len(rates)) for _ in range(1000))]
        )
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
        xlim=(-0.03, 1.03), ylim=(len(trials) - 0.4, -0.6), xlabel="share (thick: over seeds, dashed: over requests)"
    )
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.grid(axis="x", alpha=0.3)
    ax.description = f"A point with two intervals for each setting. {'. '.join(told)}."
    return ax


_ON_BAR = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}


def _nine_in_ten(values: Sequence[float]) -> tuple[float, float]:
    """The middle nine tenths of the values: from the 5th to the 95th in a hundred."""
    ordered = sorted(values)
    return ordered[round(0.05 * (len(ordered) - 1))], ordered[round(0.95 * (len(ordered) - 1))]


def plot_recovery(measured: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """What an error text is worth: `{"the course": {"failed": recover(…), "field and hint": recover(…)}}`.

    On the left the share of calls put right, on the right the calls made, a row for each text. The first voice is
    filled, the others are hollow, each with a marker of its own. No interval: seeds agree here, chance has no part.
    """
    from matplotlib import pyplot

    texts = list(dict.fromkeys(text for one in measured.values() for text in one))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8.6, 1.4 + 0.6 * len(texts)), sharey=True)
    told = []
    for number, (voice, found) in enumerate(measured.items()):
        colour, marker = LINES[number % len(LINES)]
        face = colour if number == 0 else "white"
        look = {"color": colour, "marker": marker, "markerfacecolor": face, "linestyle": "", "markersize": 8}
        shift = 0.5 * (number / max(len(measured) - 1, 1) - 0.5) if len(measured) > 1 else 0.0
        rows = [texts.index(text) + shift for text in found]
        left.plot([one.share for one in found.values()], rows, label=voice, **look)
        right.plot([one.calls for one in found.values()], rows, **look)
        each = ", ".join(f"{text} {one.share:.0%} with {one.calls:.1f} calls" for text, one in found.items())
        told.append(f"{voice}: {each}")
    left.set_yticks(range(len(texts)), texts)
    left.set(xlim=(-0.04, 1.04), ylim=(len(texts) - 0.5, -0.5), xlabel="calls put right (simulated)")
    left.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    right.set(xlim=(0, None), xlabel="calls for one request (simulated)")
    for ax in (left, right):
        ax.grid(axis="x", alpha=0.3)
    if len(measured) > 1:
        figure.legend(loc="lower center", ncols=len(measured), frameon=False)
    figure.tight_layout(rect=(0, 0.09 if len(measured) > 1 else 0, 1, 1))
    figure.description = f"Calls put right and calls made, simulated, by error text. {'. '.join(told)}."
    return figure


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
    ax.set(title=title or "Right picks (simulated)", xlabel="share of right picks (simulated), with 95 % interval")
    ax.set(xlim=(-0.02, 1.02), ylim=(len(steps) - 0.5, -0.5))
    ax.set_yticks(range(len(steps)), steps)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.grid(axis="x", alpha=0.3)
    if len(series) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = f"Shares of right picks, simulated, with 95 % intervals. {'. '.join(told)}."
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
            ax.add_patch(_square(column, row, str(max(0.0, min(1.0, grey)))))
            shown = f"{value:.2f}" if row != column else "·"
            ax.text(column, row, shown, ha="center", va="center", color="white" if grey < 0.55 else "black")
            if column > row:
                pairs.append((value, f"{names[row]} and {names[column]}"))
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), title=title or "How alike the definitions are")
    ranked = "; ".join(f"{pair} {value:.2f}" for value, pair in sorted(pairs, reverse=True)[:3])
    ax.description = f"A map of how alike {len(names)} definitions are, 0 to 1. The closest pairs: {ranked}."
    return ax


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
    if len(drawn) > 1:
        figure.legend(drawn.values(), drawn, loc="lower center", ncols=len(drawn), frameon=False)
    figure.tight_layout(rect=(0, 0.06 if len(drawn) > 1 else 0, 1, 1))
    figure.description = f"A bar for each call, from its beginning to its end. {'. '.join(told)}."
    return figure


def plot_speed_up(count: int, measured: Mapping[int, float], ax: "Axes | None" = None) -> "Axes":
    """How much faster `count` equal reads are with so many at once: the ideal as stairs, what was measured as points.

    `plot_speed_up(20, {2: 2.0, 5: 4.67})`; the ideal is count / ceil(count / limit).
    """
    ax = ax if ax is not None else _new_axes()
    limits = range(1, count + 1)
    ideal = [count / -(-count // limit) for limit in limits]
    ax.step(limits, ideal, where="post", color=LINES[0][0], label="ideal")
    ax.plot(list(measured), list(measured.values()), linestyle="", color=LINES[1][0], marker="s", label="measured")
    ax.set(title=f"{count} equal reads of one turn", xlabel="limit: how many at once", ylabel="times faster")
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
            square = _square(x, y, colour)
            square.set_edgecolor("#999999")
            ax.add_patch(square)
            ax.text(x, y, sign, ha="center", va="center", fontweight="bold")
        counts = {came: list(row.values()).count(came) for came in DAMAGE}
        told.append(f"{guard}: {', '.join(f'{came} {count}' for came, count in counts.items() if count)}")
    ax.set_xticks(range(len(attacks)), attacks)
    ax.set_yticks(range(len(damage)), list(damage))
    title = "What came of each note (simulated: this model has no rule for marks)"
    ax.set(xlim=(-0.5, len(attacks) - 0.5), ylim=(len(damage) - 0.5, -0.5), title=title)
    key = "   ".join(f"{sign} {came}" for came, (_, sign) in DAMAGE.items())
    ax.set_xlabel(key, labelpad=10)
    tried = f"{len(attacks)} attacks against {len(damage)} guards"
    ax.description = f"A map of {tried}, simulated by a model that has no rule for marks. {'. '.join(told)}."
    return ax


def plot_strategies(measured: Mapping[str, Any]) -> "Figure":
    """What each strategy costs over a conversation and what it loses: `{"whole": meter.run("whole"), …}`.

    Left the context of every turn, a line each, with ✗ where the answer was lost; right how many answers were lost.
    """
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.8), gridspec_kw={"width_ratios": (3, 1.3)})
    told = []
    for number, (label, metered) in enumerate(measured.items()):
        colour, marker = LINES[number % len(LINES)]
        turns = range(1, len(metered.contexts) + 1)
        left.plot(turns, metered.contexts, color=colour, marker=marker, markersize=4, label=label)
        lost = [metered.contexts[turn - 1] for turn in metered.lost]
        left.plot(metered.lost, lost, "x", color="black", markersize=8, label="_nolegend_")
        hatch = ENDINGS[number % len(ENDINGS)][1]
        right.barh(label, len(metered.lost), 0.7, color=colour, hatch=hatch, edgecolor="white")
        right.text(len(metered.lost) + 0.3, number, str(len(metered.lost)), va="center")
        told.append(f"{label}: {metered.contexts[-1]:,} tokens at the end, {len(metered.lost)} lost")
    turns = max((len(metered.contexts) for metered in measured.values()), default=0)
    left.set(title="Context by turn (✗: answer lost)", xlabel="turn", ylabel="input tokens (estimated)", yscale="log")
    left.xaxis.get_major_locator().set_params(integer=True)
    left.yaxis.set_major_formatter("{x:,.0f}")
    left.grid(axis="y", alpha=0.3)
    left.legend(frameon=False, fontsize="small")
    right.set(title=f"Answers lost, of {turns}", xlim=(0, turns + 1))
    right.invert_yaxis()
    figure.tight_layout()
    figure.description = f"Context over {turns} turns and answers lost, simulated. {'. '.join(told)}."
    return figure


# What became of a step that a golden trace has: colour and sign.
GOLDEN = {
    "equal": ("#FFFFFF", "="),
    "here they part": ("#D55E00", "≠"),
    "what followed": ("#F2C6A8", "≈"),
}


def plot_golden(diffs: Mapping[str, Any], ax: "Axes | None" = None) -> "Axes":
    """At which step each run leaves its golden trace: `{"by hand": diff_golden(kept, now)}`.

    A row for each run, a column for each step; every outcome has its colour and its sign.
    """
    steps = max((max([diff.steps, *(one.step for one in diff.differences)]) for diff in diffs.values()), default=0)
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(3.4 + 0.8 * steps, 1.3 + 0.45 * len(diffs)))[1]
    told = []
    for y, (label, diff) in enumerate(diffs.items()):
        changed = {one.step for one in diff.differences}
        for step in range(1, steps + 1):
            came = "equal" if step not in changed else "here they part" if step == diff.first else "what followed"
            colour, sign = GOLDEN[came]
            square = _square(step, y, colour)
            square.set_edgecolor("#999999")
            ax.add_patch(square)
            ax.text(step, y, sign, ha="center", va="center", fontweight="bold")
        told.append(f"{label}: {f'parts at step {diff.first}' if diff.first else 'equal throughout'}")
    ax.set_xticks(range(1, steps + 1))
    ax.set_yticks(range(len(diffs)), list(diffs))
    ax.set(xlim=(0.5, steps + 0.5), ylim=(len(diffs) - 0.5, -0.5), title="Each run against the golden trace")
    key = "   ".join(f"{sign} {came}" for came, (_, sign) in GOLDEN.items())
    ax.set_xlabel(f"step: one question to the model\n{key}", labelpad=6)
    ax.description = f"Runs against a golden trace of {steps} steps. {'. '.join(told)}."
    return ax


def show(ax: "Axes | Figure", alt: str = "") -> None:
    """Show a figure with its description, then close it; outside a notebook the description is printed.

    The plots of this module describe themselves; for one of your own say in `alt` what it shows.

    JupyterLab gives a picture no `alt`, whatever its metadata say. So the description is the output's plain text (which
    nbval compares), the metadata's `alt` for converters that read it, and words to unfold below, for everyone.
    """
    from matplotlib import pyplot

    alt = alt.strip() or getattr(ax, "description", "")
    if not alt:
        raise ValueError("a figure needs a description: say in `alt` what it shows and what follows from it")
    figure = ax if hasattr(ax, "savefig") else ax.figure
    if not _in_ipython():
        print(alt)
        pyplot.close(figure)
        return
    from IPython.display import display

    image = base64.b64encode(png(figure)).decode("ascii")
    display({"image/png": image, "text/plain": alt}, metadata={"image/png": {"alt": alt}}, raw=True)
    words = f"<details><summary>This picture in words</summary><p>{html.escape(alt)}</p></details>"
    display({"text/html": words, "text/plain": "This picture in words."}, raw=True)
    pyplot.close(figure)  # or the notebook draws it a second time at the end of the cell


def png(figure: "Figure") -> bytes:
    """The figure as PNG: the same bytes for the same drawing and version of matplotlib, no date, no program name."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()


def _in_ipython() -> bool:
    return "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


def _kind(role: str, type: str) -> str:
    if type == "text":
        return f"{role} text" if role in ("user", "assistant") else "other"
    if type.endswith("tool_use"):
        return "tool_use"
    return "tool_result" if type.endswith("tool_result") else "other"


def _new_axes() -> "Axes":
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(7, 3.5))[1]


def _square(column: int, row: int, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white")


def plot_pass_k(counts: Any, title: str = "", ax: "Axes | None" = None) -> "Axes":
    """pass@k and pass^k from the same trials, each with its 95 % band over tasks: `plot_pass_k([(4, 4), (4, 2)])`.

    `counts` holds (n, c) for each task, as in `pass_curve`.
    """
    from course_kit.evaluation.intervals import pass_interval
    from course_kit.evaluation.passk import pairs, pass_at_k, pass_curve, pass_hat_k

    ax = ax if ax is not None else _new_axes()
    told = []
    for number, (label, estimator) in enumerate({"pass@k": pass_at_k, "pass^k": pass_hat_k}.items()):
        colour, marker = LINES[number]
        values = pass_curve(counts, estimator)
        bands = [tuple(pass_interval(counts, k, estimator)) for k in range(1, len(values) + 1)]
        ks = range(1, len(values) + 1)
        ax.fill_between(ks, *zip(*bands, strict=True), color=colour, alpha=0.15, hatch=("", "//")[number], linewidth=0)
        meaning = ("at least one of k passes", "all of k pass")[number]
        ax.plot(ks, values, color=colour, marker=marker, label=f"{label}: {meaning}")
        each = ", ".join(
            f"k={k} {value:.2f} ({low:.2f} to {high:.2f})"
            for k, value, (low, high) in zip(ks, values, bands, strict=True)
        )
        told.append(f"{label}: {each}")
    ax.set(title=title or "The same trials, two questions", xlabel="k", ylabel="mean over tasks", ylim=(-0.03, 1.03))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    ax.description = f"Two lines over k with 95 % bands over {len(pairs(counts))} tasks. {'. '.join(told)}."
    return ax


def plot_naive(trials: int, k: int, ax: "Axes | None" = None) -> "Axes":
    """What the two estimators of pass^k give on average, against what is true, for every rate: `plot_naive(4, 3)`."""
    from course_kit.evaluation.passk import expected_value, naive_pass_hat_k, pass_hat_k

    ax = ax if ax is not None else _new_axes()
    rates = [step / 20 for step in range(21)]
    ax.plot(rates, [rate**k for rate in rates], color="black", linewidth=1.5, label=f"true: rate^{k}")
    told = []
    drawn = {f"C(c,{k})/C({trials},{k})": pass_hat_k, f"naive (c/{trials})^{k}": naive_pass_hat_k}
    for number, (label, estimator) in enumerate(drawn.items()):
        colour, marker = LINES[number]
        values = [expected_value(estimator, trials, rate, k) for rate in rates]
        ax.plot(rates, values, color=colour, marker=marker, markersize=5, linestyle=("", ":")[number], label=label)
        most, at = max((value - rate**k, rate) for value, rate in zip(values, rates, strict=True))
        off = f"is too high, most at a rate of {at:.2f}: by {most:.3f}" if most > 1e-9 else "is right everywhere"
        told.append(f"{label} {off}")
    ax.set(title=f"pass^{k} from {trials} trials, on average", xlabel="true rate of the task", ylabel=f"pass^{k}")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.03, 1.03))
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    ax.description = f"Estimates of pass^{k} from {trials} trials against the true value. {'. '.join(told)}."
    return ax


def plot_confusion(confusion: Any, title: str = "", ax: "Axes | None" = None) -> "Axes":
    """A confusion matrix: which tool was meant (rows) and called (columns), with "no call" in both.

    What went right is on the framed diagonal; what did not is hatched.
    """
    labels = confusion.labels
    if ax is None:
        from matplotlib import pyplot

        size = 2.2 + 0.72 * len(labels)
        ax = pyplot.subplots(figsize=(size, size * 0.8))[1]
    most, told = max([1, *confusion.counts.values()]), []
    for row, meant in enumerate(labels):
        for column, called in enumerate(labels):
            count, right = confusion[meant, called], row == column
            square = _square(column, row, str(1 - 0.6 * count / most) if count else "white")
            square.set_edgecolor("black" if right else "#DDDDDD")
            square.set_zorder(2 if right else 1)
            if count and not right:
                square.set(facecolor="#F6C9A8", hatch="//", edgecolor="#D55E00")
                told.append(f"{meant} meant and {called} called {count} times")
            ax.add_patch(square)
            if count:
                ax.text(column, row, str(count), ha="center", va="center", zorder=3, bbox=_ON_BAR)
    ax.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
    ax.set_yticks(range(len(labels)), labels)
    ax.set(xlim=(-0.5, len(labels) - 0.5), ylim=(len(labels) - 0.5, -0.5), xlabel="called", ylabel="meant")
    ax.set(title=title or "Meant and called")
    right = sum(confusion[label, label] for label in labels)
    total = sum(confusion.counts.values())
    wrong = "; ".join(told) or "nothing off the diagonal"
    ax.description = f"A matrix of tools meant and called: {right} of {total} on the diagonal. Off it: {wrong}."
    return ax


def plot_pass_curves(curves: Mapping[str, Sequence[float]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """pass^k over k, one line for each agent: `{"ours (simulated)": [0.9, 0.88], "published": [0.42, 0.27]}`.

    The first is filled, the others are hollow.
    """
    ax = ax if ax is not None else _new_axes()
    told = []
    for number, (label, values) in enumerate(curves.items()):
        colour, marker = LINES[number % len(LINES)]
        face = colour if number == 0 else "white"
        style = ("-", "--", ":", "-.")[number % 4]
        ks = range(1, len(values) + 1)
        ax.plot(ks, values, color=colour, marker=marker, markerfacecolor=face, linestyle=style, label=label)
        told.append(f"{label}: {', '.join(f'{value:.2f}' for value in values)}")
    ax.set(title=title or "How fast does it fall?", xlabel="k", ylabel="pass^k", ylim=(-0.03, 1.03))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    ax.description = f"Lines of pass^k for k = 1, 2, and so on. {'. '.join(told)}."
    return ax


def plot_by_tool(figures: Sequence[Any], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """What a mean hides: a bar for each tool, from `by_tool`, and three means of them as lines.

    One counts every trial alike, one every tool alike, one (`weighted`) every tool by its risk: so it can be seen what
    the risk does, and what follows from tools being tried more or less often. The riskiest tools are hatched.
    """
    from course_kit.evaluation.metrics import weighted

    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(7, 1.3 + 0.42 * len(figures)))[1]
    riskiest = max(one.risk for one in figures)
    ordered = sorted(figures, key=lambda one: (one.passed, -one.risk, one.tool))
    for row, one in enumerate(ordered):
        risky = one.risk == riskiest
        colour, hatch = ("#E69F00", "//") if risky else ("#56B4E9", "")
        ax.barh(row, one.passed, 0.7, color=colour, hatch=hatch, edgecolor="white")
        ax.text(0.02, row, f"{one.passed:.0%} of {one.trials} trials, risk {one.risk:g}", va="center", bbox=_ON_BAR)
    plain = sum(one.passed * one.trials for one in figures) / sum(one.trials for one in figures)
    alike, by_risk = sum(one.passed for one in figures) / len(figures), weighted(figures)
    ax.axvline(plain, color="black", label=f"every trial alike: {plain:.0%}")
    ax.axvline(alike, color="#0072B2", linestyle=":", linewidth=2, label=f"every tool alike: {alike:.0%}")
    ax.axvline(by_risk, color="#D55E00", linestyle="--", linewidth=2, label=f"tools by risk: {by_risk:.0%}")
    ax.set_yticks(range(len(ordered)), [one.tool for one in ordered])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.02), xlabel="passed", title=title or "What the mean hides")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    each = ", ".join(f"{one.tool} {one.passed:.0%} (risk {one.risk:g})" for one in ordered)
    ax.description = (
        f"Bars of what passed by tool: {each}. Every trial alike the mean is {plain:.0%}, every tool alike "
        f"{alike:.0%}, by risk {by_risk:.0%}."
    )
    return ax


def plot_layers(counts: Mapping[str, int], title: str = "", label: str = "calls", ax: "Axes | None" = None) -> "Axes":
    """How often one operation was done, a bar for each setting: `{"one attempt": 1, "transport": 3, "tool": 9}`."""
    ax = ax if ax is not None else _new_axes()
    names = list(counts)
    for place, (name, count) in enumerate(counts.items()):
        once = count == 1
        ax.bar(place, count, 0.6, color="#009E73" if once else "#D55E00", hatch="" if once else "//", edgecolor="white")
        ax.annotate(str(count), (place, count), (0, 3), textcoords="offset points", ha="center")
        names[place] = name.replace(", ", ",\n").replace(" of ", "\nof ")
    ax.set_xticks(range(len(names)), names)
    ax.set(ylim=(0, max(counts.values(), default=0) * 1.12 + 0.5), ylabel=label, title=title)
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    ax.description = (
        f"Bars, {title or label}: {told}. What was done once is plain, what was done more often is hatched."
    )
    return ax


def plot_ledger(refunds: Mapping[str, Mapping[int, int]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """How often the money left, for each program and each line it died before: `{"with a key": {2: 1, 3: 1}}`."""
    ax = ax if ax is not None else _new_axes()
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
            square = _square(column, row, colour)
            square.set_hatch(hatch)
            ax.add_patch(square)
            ax.text(column, row, word, ha="center", va="center", bbox=_ON_BAR if hatch else None)
        wrong = [f"before line {line} {count} refunds" for line, count in by_line.items() if count != 1]
        told.append(f"{name}: {', '.join(wrong) or 'once wherever it died'}")
    ax.set_xticks(range(len(lines)), [f"line {line}" for line in lines])
    ax.set_yticks(range(len(refunds)), list(refunds))
    ax.set(xlim=(-0.5, len(lines) - 0.5), ylim=(len(refunds) - 0.5, -0.5), xlabel="killed before", title=title)
    ax.description = f"How often the money left, by program and by the line it was killed before. {'; '.join(told)}."
    return ax


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
    right.set(title="Input tokens of a request", ylabel="tokens", ylim=(0, None))
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.legend(frameon=False)
    figure.tight_layout()
    figure.description = f"Lines of right picks, simulated, and of input tokens by number of tools. {'. '.join(told)}."
    return figure


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
            ax.text(0.01, at, f"{share:.0%}", va="center", fontsize=8, bbox=_ON_BAR)
        told.append(f"{label}: {', '.join(f'{kind} {share:.0%}' for kind, share in shares.items())}")
    ax.set_yticks(range(len(recall)), list(recall))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="recall@5: the right tool is among the five found", title=title)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    if len(kinds) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    ax.description = f"Bars of recall@5 by way to search. {'. '.join(told)}."
    return ax


def plot_releases(measured: Mapping[str, Mapping[str, float]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """What passed of each layer, a row for each release: `{"Monday": {"selection": 1.0, "inputs": 0.9}, …}`.

    The first row is what the others are compared with: a square that lies 10 points or more below it is hatched.
    """
    layers = list(next(iter(measured.values()), {}))
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(2.6 + 1.2 * len(layers), 1 + 0.55 * len(measured)))[1]
    first, told = next(iter(measured.values()), {}), []
    for row, (name, shares) in enumerate(measured.items()):
        for column, layer in enumerate(layers):
            fell = shares[layer] < first[layer] - 0.0999
            square = _square(column, row, "#E69F00" if fell else "#DDDDDD")
            square.set_hatch("//" if fell else "")
            ax.add_patch(square)
            ax.text(column, row, f"{shares[layer]:.0%}", ha="center", va="center", bbox=_ON_BAR if fell else None)
        told.append(f"{name}: {', '.join(f'{layer} {shares[layer]:.0%}' for layer in layers)}")
    ax.set_xticks(range(len(layers)), layers)
    ax.set_yticks(range(len(measured)), list(measured))
    ax.set(xlim=(-0.5, len(layers) - 0.5), ylim=(len(measured) - 0.5, -0.5), title=title)
    ax.description = (
        f"What passed of each layer, by release. {'; '.join(told)}. Hatched: 10 points or more below the first."
    )
    return ax

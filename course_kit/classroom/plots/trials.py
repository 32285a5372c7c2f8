"""Trials and comparisons: pass@k and pass^k, confusion, figures by tool, golden traces, releases."""

from collections.abc import Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING, Any

from course_kit.classroom.plots.drawing import LINES, ON_BAR, new_axes, square_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_by_tool",
    "plot_confusion",
    "plot_golden",
    "plot_naive",
    "plot_pass_curves",
    "plot_pass_k",
    "plot_releases",
]


def plot_pass_k(counts: Any, title: str = "", ax: "Axes | None" = None) -> "Axes":
    """pass@k and pass^k from the same trials, each with its 95% band over tasks: `plot_pass_k([(4, 4), (4, 2)])`.

    `counts` holds (n, c) for each task, as in `pass_curve`.
    """
    from course_kit.evaluation.intervals import pass_interval
    from course_kit.evaluation.passk import pairs, pass_at_k, pass_curve, pass_hat_k

    ax = ax if ax is not None else new_axes()
    told = []
    for number, (label, estimator) in enumerate({"pass@k": pass_at_k, "pass^k": pass_hat_k}.items()):
        colour, marker = LINES[number]
        values = pass_curve(counts, estimator)
        ks = range(1, len(values) + 1)
        bands = [tuple(pass_interval(counts, k, estimator)) for k in ks]
        lows, highs = zip(*bands, strict=True)
        ax.fill_between(ks, lows, highs, color=colour, alpha=0.15, hatch=("", "//")[number], linewidth=0)
        meaning = ("at least one of k passes", "all of k pass")[number]
        ax.plot(ks, values, color=colour, marker=marker, label=f"{label}: {meaning}")
        each = ", ".join(
            f"k={k} {value:.2f} ({low:.2f} to {high:.2f})"
            for k, value, (low, high) in zip(ks, values, bands, strict=True)
        )
        told.append(f"{label}: {each}")
    ax.set(title=title or "The same trials, two questions", ylabel="mean over tasks, with 95% band")
    _over_k(ax)
    ax.description = f"Two lines over k with 95% bands over {len(pairs(counts))} tasks. {'. '.join(told)}."
    return ax


def plot_naive(trials: int, k: int, ax: "Axes | None" = None) -> "Axes":
    """What the two estimators of pass^k give on average, against what is true, for every rate: `plot_naive(4, 3)`."""
    from course_kit.evaluation.passk import expected_value, naive_pass_hat_k, pass_hat_k

    ax = ax if ax is not None else new_axes()
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
    ax.set(title=f"Which pass^{k} from {trials} trials is right on average?", ylabel=f"pass^{k}, on average")
    ax.set_xlabel("true rate of the task")
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
            square = square_at(column, row, str(1 - 0.6 * count / most) if count else "white")
            square.set_edgecolor("black" if right else "#DDDDDD")
            square.set_zorder(2 if right else 1)
            if count and not right:
                square.set(facecolor="#F6C9A8", hatch="//", edgecolor="#D55E00")
                told.append(f"{meant} meant and {called} called {count} times")
            ax.add_patch(square)
            if count:
                ax.text(column, row, str(count), ha="center", va="center", zorder=3, bbox=ON_BAR)
    ax.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
    ax.set_yticks(range(len(labels)), labels)
    ax.set(xlim=(-0.5, len(labels) - 0.5), ylim=(len(labels) - 0.5, -0.5), ylabel="meant")
    ax.set(title=title or "What was meant, what was called?", xlabel="called (hatched: not what was meant)")
    met = sum(confusion[label, label] for label in labels)
    total = sum(confusion.counts.values())
    wrong = "; ".join(told) or "nothing off the diagonal"
    ax.description = f"A matrix of tools meant and called: {met} of {total} on the diagonal. Off it: {wrong}."
    return ax


def plot_pass_curves(curves: Mapping[str, Sequence[float]], title: str = "", ax: "Axes | None" = None) -> "Axes":
    """pass^k over k, one line for each agent: `{"ours (simulated)": [0.9, 0.88], "published": [0.42, 0.27]}`.

    The first is filled, the others are hollow.
    """
    ax = ax if ax is not None else new_axes()
    told = []
    for number, (label, values) in enumerate(curves.items()):
        colour, marker = LINES[number % len(LINES)]
        face = colour if number == 0 else "white"
        style = ("-", "--", ":", "-.")[number % 4]
        ks = range(1, len(values) + 1)
        ax.plot(ks, values, color=colour, marker=marker, markerfacecolor=face, linestyle=style, label=label)
        told.append(f"{label}: {', '.join(f'{value:.2f}' for value in values)}")
    ax.set(title=title or "How fast does it fall?", ylabel="pass^k")
    _over_k(ax)
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
        ax.text(0.02, row, f"{one.passed:.0%} of {one.trials} trials, risk {one.risk:g}", va="center", bbox=ON_BAR)
    plain = fsum(one.passed * one.trials for one in figures) / sum(one.trials for one in figures)
    alike, by_risk = fmean(one.passed for one in figures), weighted(figures)
    ax.axvline(plain, color="black", label=f"every trial alike: {plain:.0%}")
    ax.axvline(alike, color="#0072B2", linestyle=":", linewidth=2, label=f"every tool alike: {alike:.0%}")
    ax.axvline(by_risk, color="#D55E00", linestyle="--", linewidth=2, label=f"tools by risk: {by_risk:.0%}")
    ax.set_yticks(range(len(ordered)), [one.tool for one in ordered])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.02), xlabel="share passed", title=title or "What does the mean hide?")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    each = ", ".join(f"{one.tool} {one.passed:.0%} (risk {one.risk:g})" for one in ordered)
    ax.description = (
        f"Bars of what passed by tool: {each}. Every trial alike the mean is {plain:.0%}, every tool alike "
        f"{alike:.0%}, by risk {by_risk:.0%}."
    )
    return ax


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
            square = square_at(step, y, colour)
            square.set_edgecolor("#999999")
            ax.add_patch(square)
            ax.text(step, y, sign, ha="center", va="center", fontweight="bold")
        told.append(f"{label}: {f'parts at step {diff.first}' if diff.first else 'equal throughout'}")
    ax.set_xticks(range(1, steps + 1))
    ax.set_yticks(range(len(diffs)), list(diffs))
    ax.set(xlim=(0.5, steps + 0.5), ylim=(len(diffs) - 0.5, -0.5), title="At which step does a run leave the trace?")
    key = "   ".join(f"{sign} {came}" for came, (_, sign) in GOLDEN.items())
    ax.set_xlabel(f"step: one question to the model\n{key}", labelpad=6)
    ax.description = f"Runs against a golden trace of {steps} steps. {'. '.join(told)}."
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
            square = square_at(column, row, "#E69F00" if fell else "#DDDDDD")
            square.set_hatch("//" if fell else "")
            ax.add_patch(square)
            ax.text(column, row, f"{shares[layer]:.0%}", ha="center", va="center", bbox=ON_BAR if fell else None)
        told.append(f"{name}: {', '.join(f'{layer} {shares[layer]:.0%}' for layer in layers)}")
    ax.set_xticks(range(len(layers)), layers)
    ax.set_yticks(range(len(measured)), list(measured))
    ax.set(xlim=(-0.5, len(layers) - 0.5), ylim=(len(measured) - 0.5, -0.5), title=title)
    ax.set_xlabel("what passed of each layer\nhatched: 10 points or more below the first row")
    ax.description = (
        f"What passed of each layer, by release. {'; '.join(told)}. Hatched: 10 points or more below the first."
    )
    return ax


def _over_k(ax: "Axes") -> None:
    """Axes of shares over k, with the names beside them."""
    ax.set(xlabel="k", ylim=(-0.03, 1.03))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

"""Pictures drawn from the messages, counts and trials themselves; each module holds those of some lessons.

Each function draws on the Axes it is given, or on new ones, and returns them; `show(axes, alt="…")` puts the picture
into the notebook with its description. Kinds differ by hatch or marker as well as by colour.
"""

from course_kit.classroom.plots.capstone import plot_guards, plot_parts
from course_kit.classroom.plots.conversations import plot_cumulative_tokens, plot_messages
from course_kit.classroom.plots.definitions import plot_accuracy, plot_endings, plot_mask, plot_similarity, plot_trials
from course_kit.classroom.plots.drawing import png, show
from course_kit.classroom.plots.runs import (
    plot_damage,
    plot_layers,
    plot_ledger,
    plot_recovery,
    plot_speed_up,
    plot_timeline,
)
from course_kit.classroom.plots.search import plot_cache, plot_growth, plot_recall, plot_strategies
from course_kit.classroom.plots.trials import (
    plot_by_tool,
    plot_confusion,
    plot_golden,
    plot_naive,
    plot_pass_curves,
    plot_pass_k,
    plot_releases,
)

__all__ = [
    "plot_accuracy",
    "plot_by_tool",
    "plot_cache",
    "plot_confusion",
    "plot_cumulative_tokens",
    "plot_damage",
    "plot_endings",
    "plot_golden",
    "plot_growth",
    "plot_guards",
    "plot_layers",
    "plot_ledger",
    "plot_mask",
    "plot_messages",
    "plot_naive",
    "plot_parts",
    "plot_pass_curves",
    "plot_pass_k",
    "plot_recall",
    "plot_recovery",
    "plot_releases",
    "plot_similarity",
    "plot_speed_up",
    "plot_strategies",
    "plot_timeline",
    "plot_trials",
    "png",
    "show",
]

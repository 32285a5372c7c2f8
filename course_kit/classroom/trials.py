"""Trials and k: move the number of trials, how many passed, and k, and see what the same trials say.

`trials_and_k(10, 9, k=3)` shows it; without a mouse `.set(k=5)` moves it. What is worked out is next door, in
`evaluation/passk.py`; here it is laid out so that the counting can be seen: of all ways to draw k of the trials, how
many have no failure, and how many have a pass.
"""

import html
from functools import cache
from math import comb

from course_kit.classroom.fields import number_field, status
from course_kit.classroom.shown import Shown
from course_kit.evaluation.intervals import wilson
from course_kit.evaluation.passk import naive_pass_hat_k, pass_at_k, pass_hat_k

__all__ = ["MOST", "TrialsAndK", "trials_and_k"]

MOST = 30  # trials, as many as fit into a row


class TrialsAndK(Shown):
    """One task: `trials` runs of it, `passed` of them without fault, `k` in a row asked about."""

    def __init__(self, trials: int = 10, passed: int = 9, k: int = 3):
        self.trials, self.passed, self.k = _checked(trials, passed, k)

    def set(self, trials: int | None = None, passed: int | None = None, k: int | None = None) -> "TrialsAndK":
        """Move what is given; the rest stays. `.set(k=5)`, `.set(trials=20, passed=18)`."""
        given = (trials, passed, k)
        stays = (self.trials, self.passed, self.k)
        self.trials, self.passed, self.k = _checked(
            *(old if new is None else new for new, old in zip(given, stays, strict=True))
        )
        return self

    @property
    def pass_hat(self) -> float:
        """pass^k: all of k pass."""
        return pass_hat_k(self.trials, self.passed, self.k)

    @property
    def pass_at(self) -> float:
        """pass@k: at least one of k passes."""
        return pass_at_k(self.trials, self.passed, self.k)

    @property
    def marks(self) -> str:
        """A sign for each trial: `"✓✓✓✗"`."""
        return "✓" * self.passed + "✗" * (self.trials - self.passed)

    def rows(self) -> list[tuple[int, float, float]]:
        """`(k, pass^k, pass@k)` for each k that these trials allow."""
        ks = range(1, self.trials + 1)
        return [(k, pass_hat_k(self.trials, self.passed, k), pass_at_k(self.trials, self.passed, k)) for k in ks]

    def sentences(self) -> list[str]:
        """What these trials say, in four sentences."""
        n, c, k = self.trials, self.passed, self.k
        low, high = wilson(c, n)
        every, no_failure, all_fail = comb(n, k), comb(c, k), comb(n - c, k)
        return [
            f"Ways to draw {k} of {n}: {every:,}. Without a failure: {no_failure:,}. "
            f"With a pass: {every - all_fail:,}.",
            f"pass^{k} = {no_failure:,}/{every:,} = {self.pass_hat:.1%}: all of {k} pass. "
            f"(Naive, ({c}/{n})^{k}: {naive_pass_hat_k(n, c, k):.1%}.)",
            f"pass@{k} = {every - all_fail:,}/{every:,} = {self.pass_at:.1%}: at least one of {k} passes.",
            f"And {c} of {n} itself is vague: the rate lies between {low:.0%} and {high:.0%} (95%, Wilson).",
        ]

    def as_text(self) -> str:
        lines = [
            f"Trials and k: {self.trials} trials of one task, {self.passed} passed",
            f"  {self.marks}",
            *(f"  {sentence}" for sentence in self.sentences()),
            f"Run this cell to move it, or write: trials_and_k({self.trials}, {self.passed}, k={self.k})"
            f".set(k={1 if self.k > 1 else self.trials})",
        ]
        return "\n".join(lines)

    def as_html(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("k", "pass^k", "pass@k"))
        rows = "".join(
            f"<tr{_bold(k == self.k)}><td>{k}</td><td>{_bar(hat)} {hat:.1%}</td><td>{_bar(at)} {at:.1%}</td></tr>"
            for k, hat, at in self.rows()
        )
        said = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences())
        return (
            f"<p><b>Trials and k</b>: {self.trials} trials of one task, {self.passed} passed</p>"
            f"<p><code>{self.marks}</code></p><ul>{said}</ul><table><tr>{head}</tr>{rows}</table>"
        )


def trials_and_k(trials: int = 10, passed: int = 9, k: int = 3) -> TrialsAndK:
    """The three numbers to play with; the plain call is `.set(trials=20, passed=18, k=5)`."""
    return _widget()(trials, passed, k)


def _checked(trials: int, passed: int, k: int) -> tuple[int, int, int]:
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= MOST:
        raise ValueError(f"trials is {trials!r}: give a whole number from 1 to {MOST}.")
    pass_hat_k(trials, passed, k)  # says in one sentence what does not fit
    return trials, passed, k


def _bar(share: float) -> str:
    """A bar of text: `_bar(0.7)` → "███████░░░"."""
    full = round(10 * share)
    return f"<code aria-hidden='true'>{'█' * full}{'░' * (10 - full)}</code>"


def _bold(chosen: bool) -> str:
    return " style='font-weight: bold'" if chosen else ""


@cache
def _widget() -> type[TrialsAndK]:
    try:
        import ipywidgets
    except ImportError:
        return TrialsAndK

    class TrialsAndKWidget(TrialsAndK, ipywidgets.VBox):
        """`.trials_field`, `.passed_field` and `.k_field` are the parts to use; `.result` answers."""

        def __init__(self, trials: int = 10, passed: int = 9, k: int = 3):
            TrialsAndK.__init__(self, trials, passed, k)
            self.result, self._moving = ipywidgets.HTML(), False
            # Not at each key: on the way to 30 stands a 3, and it would take passes and k along.
            self.trials_field = number_field("Trials", 1, 1, MOST, "How many trials of the task", at_each_key=False)
            self.passed_field = number_field("Passed", 0, 0, MOST, "How many of them passed")
            self.k_field = number_field("k", 1, 1, MOST, "How many in a row are asked about")
            fields = [self.trials_field, self.passed_field, self.k_field]
            ipywidgets.VBox.__init__(self, [*fields, self.result])
            self.add_class("course-trials")
            self._show()
            for field in fields:
                field.observe(lambda _: self._moved(), "value")

        def set(self, trials: int | None = None, passed: int | None = None, k: int | None = None) -> TrialsAndK:
            TrialsAndK.set(self, trials, passed, k)
            self._show()
            return self

        def _moved(self) -> None:
            if self._moving:
                return
            trials = self.trials_field.value  # fewer trials take passes and k along
            self.set(trials, min(self.passed_field.value, trials), min(self.k_field.value, trials))

        def _show(self) -> None:
            self._moving = True
            self.trials_field.value = self.trials
            for field, value in ((self.passed_field, self.passed), (self.k_field, self.k)):
                field.max = MOST  # first wide, or the new value may not fit
                field.value = value
                field.max = self.trials
            self._moving = False
            self.result.value = status(self.as_html())

    return TrialsAndKWidget

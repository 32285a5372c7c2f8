"""One page on how an agent did: what it was judged on, what passed each time, what went wrong. Text and HTML.

`report(results, "My desk agent")` shows it, `.save()` keeps it as two files in the workspace. Figures come from
`evaluation/`; nothing is judged here.
"""

import html
from collections import Counter
from datetime import date
from importlib.metadata import version
from pathlib import Path

from course_kit.classroom.shown import Shown, to_html
from course_kit.classroom.workspace import workspace
from course_kit.evaluation.results import Results

from .suite import STAGES

__all__ = ["Report", "report"]

MOST = 12  # sentences about what went wrong
QUESTIONS = (
    "Does a person approve every write, or is there a reason why not?",
    "Does every write carry a key, made of the task and not of the clock?",
    "Whose data may this agent read, and who enforces it?",
    "What does it do when a value is missing: ask, or make one up?",
    "What is the most that one task may cost, in calls and in tokens?",
    "What happens to a run whose process dies?",
    "Which cases in the suite did a real user write?",
    "Who looks at the traces, and what in them is masked?",
)
STYLE = (
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.3em .7em;text-align:left}"
    "@media print{body{margin:0}}</style>"
)


class Report(Shown):
    """`name` heads the page; `k` is how many times in a row a case must pass."""

    def __init__(self, results: Results, name: str = "The desk agent", k: int = 3):
        fewest = min((tried for tried, _ in results.counts().values()), default=0)
        if fewest < 1:
            raise ValueError("There are no trials to report on: give the results of run_suite(agent).")
        self.results, self.name, self.k = results, name, min(k, fewest)

    def rows(self) -> list[tuple[str, str, int, float, float]]:
        """For each stage: its name, what it asks, cases, the plain rate and pass^k."""
        found = []
        for stage, asks in STAGES.items():
            part = self.results.where(stage=stage)
            if len(part):
                counts = part.counts()
                found.append((stage, asks, len(counts), part.pass_hat_k(1), part.pass_hat_k(self.k)))
        return found

    def problems(self) -> list[str]:
        """What went wrong, the most frequent first: one sentence for each case."""
        tried = {case: number for case, (number, _) in self.results.counts().items()}
        found = Counter(
            (record["case"], problem["message"]) for record in self.results for problem in record["problems"]
        )
        return [
            f"{times} of {tried[case]}: {' '.join(said.split())[:300]}"
            for (case, said), times in found.most_common(MOST)
        ]

    def summary(self) -> str:
        """Cases, trials and how many passed, in two sentences."""
        counts = self.results.counts()
        low, high = self.results.interval(1)
        return (
            f"{len(counts)} cases, {len(self.results)} trials. Passed {self.results.pass_hat_k(1):.0%} (on more such "
            f"cases {low:.0%} to {high:.0%}); {self.k} times in a row {self.results.pass_hat_k(self.k):.0%}. "
            "The models were simulated."
        )

    def as_text(self) -> str:
        lines = [self.name, "=" * len(self.name), self.summary(), ""]
        lines += [f"{'stage':<11}{'cases':>6}{'passed':>8}{f'pass^{self.k}':>8}   asks that the agent"]
        lines += [f"{s:<11}{n:>6}{rate:>8.0%}{hat:>8.0%}   {asks}" for s, asks, n, rate, hat in self.rows()]
        wrong = self.problems()
        lines += ["", "What went wrong", *(f"- {said}" for said in wrong)] if wrong else ["", "Nothing went wrong."]
        return "\n".join([*lines, "", "Before it goes live", *(f"[ ] {asked}" for asked in QUESTIONS)])

    def as_html(self) -> str:
        head = "".join(
            f'<th style="text-align: left">{name}</th>'
            for name in ("stage", "cases", "passed", f"pass^{self.k}", "asks")
        )
        rows = "".join(
            f'<tr><td style="text-align: left">{stage}</td><td>{n}</td><td>{rate:.0%}</td><td>{hat:.0%}</td>'
            f'<td style="text-align: left">{html.escape(asks)}</td></tr>'
            for stage, asks, n, rate, hat in self.rows()
        )
        wrong = "".join(f"<li>{to_html(said)}</li>" for said in self.problems()) or "<li>Nothing.</li>"
        asked = "".join(f"<li>☐ {html.escape(one)}</li>" for one in QUESTIONS)
        return (
            f"<h2>{html.escape(self.name)}</h2><p>{html.escape(self.summary())}</p>"
            f"<table><tr>{head}</tr>{rows}</table><h3>What went wrong</h3><ul>{wrong}</ul>"
            f"<h3>Before it goes live</h3><ul style='list-style: none; padding-left: 0'>{asked}</ul>"
        )

    def save(self, folder: Path | None = None) -> list[Path]:
        """Write the page as HTML and as text, named after the agent, by default into `reports/` of the workspace."""
        target = folder or workspace() / "reports"
        target.mkdir(parents=True, exist_ok=True)
        made = f"{date.today().isoformat()}, course-kit {version('course-kit')}"
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(self.name)}</title>{STYLE}'
            f"<body>{self.as_html()}<p><small>{made}</small></p></body></html>"
        )
        stem = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in self.name.lower())
        files = [target / f"{stem.strip('-') or 'report'}{ending}" for ending in (".html", ".txt")]
        for file, text in zip(files, (page, f"{self.as_text()}\n\n{made}\n"), strict=True):
            file.write_text(text, encoding="utf-8")
        return files


def report(results: Results, name: str = "The desk agent", k: int = 3) -> Report:
    """The page on what `run_suite(agent)` found; `.save()` keeps it."""
    return Report(results, name, k)

"""Marks as people read them: a table in the terminal, `marks.csv` for a spreadsheet, `marks.html` with the reasons.

The page is self-contained: no script, no address, nothing loaded. Every status is a word as well as a sign. Neither
file holds times, so the same marks are the same bytes.
"""

import csv
import html
from pathlib import Path

from course_kit.classroom.checks import find_exercise
from course_kit.classroom.marking.grading import Grades, Row
from course_kit.classroom.marking.judge_process import BY_HAND
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.shown import to_html
from course_kit.classroom.visible import columns, padded
from course_kit.errors import SetupError

__all__ = ["as_html", "as_text", "time_told", "write_files"]

SIGNS = {"passed": "✓", "not yet": "✗", "not attempted": "○", "no notebook": "–"}
STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } caption { text-align: left; font-weight: bold; }
.wide { overflow-x: auto; }
th, td { border: 1px solid #808080; padding: .25rem .5rem; text-align: left; vertical-align: top; }
td.sign { text-align: center; } code { font-family: ui-monospace, monospace; }
.word { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
a:focus, [tabindex]:focus { outline: 3px solid; outline-offset: 2px; }
.wide th[scope=row] { position: sticky; left: 0; background: Canvas; white-space: nowrap; }
@media print {
  @page { size: landscape; margin: 10mm; }
  body { margin: 0; max-width: none; padding: 0; font-size: 9pt; } section { break-inside: avoid; }
  .wide { overflow: visible; } .wide table { font-size: 6pt; } .wide :is(th, td) { padding: 1pt 2pt; }
}
"""


def as_text(grades: Grades) -> str:
    """The table for a terminal, and below it what an instructor should look at."""
    width = max(columns(name) for name in ("learner", *(row.learner for row in grades.rows)))
    lines = [f"{'learner':<{width}}  passed   not yet  not attempted  no notebook  seconds"]
    for row in grades.rows:
        counts = _counts(row)
        share = f"{row.passed} of {len(grades.exercises)}"
        lines.append(
            f"{padded(row.learner, width)}  {share:<8} {counts['not yet']:>7}  "
            f"{counts['not attempted']:>13}  {counts['no notebook']:>11}  {row.seconds:>7.1f}"
        )
    lines += ["", "exercise  passed  not yet  the most frequent mistake"]
    for item in grades.items:
        mistake = f"{item.mistakes[0][0]} × {item.mistakes[0][1]}" if item.mistakes else ""
        passed, not_yet = (item.statuses.get(status, 0) for status in ("passed", "not yet"))
        line = f"{item.exercise_id:<8}  {passed:>6}  {not_yet:>7}  {mistake}"
        lines.append(line if len(line) <= 118 else line[:117] + "…")
    for question in grades.questions:
        if question.wrong:
            times, option = question.wrong[0]
            said = f"Question {question.question_id}: {question.right} of {question.answered} right at first; "
            lines.append(f"{said}{times} × {option}"[:118])
    problems = [f"{row.learner}: {sentence}" for row in grades.rows for sentence in row.problems]
    problems += [
        f"{found.learner}: {found.file}, {found.place}, holds {found.kind}, {found.masked}. Tell them to revoke it."
        for found in grades.keys
    ]
    by_hand = [f"{row.learner}, {id}" for row in grades.rows for id in _by_hand(row)]
    problems += [f"To be judged by hand: {'; '.join(by_hand)}."] if by_hand else []
    return "\n".join([*lines, *([""] if problems else []), *problems])


def time_told(grades: Grades) -> str:
    """How long it took, in all and for a submission."""
    times = sorted(row.seconds for row in grades.rows if row.seconds) or [0.0]
    return (
        f"{len(grades.rows)} submissions, {grades.marked_now} notebooks marked now, in {grades.seconds:.1f} s; "
        f"a submission took {times[len(times) // 2]:.1f} s (median), the longest {times[-1]:.1f} s."
    )


def write_files(grades: Grades, out: Path) -> list[Path]:
    """Write `marks.csv` and `marks.html` into `out`; their paths."""
    sheet, page = out / "marks.csv", out / "marks.html"
    try:
        _write_sheet(grades, sheet)
        page.write_text(as_html(grades), encoding="utf-8", newline="\n")
    except OSError as problem:  # a spreadsheet on Windows locks what it shows
        raise SetupError(
            f"{problem.filename or out} could not be written ({problem.strerror or problem}): close it where it is "
            "open, then run the same command again. What was marked is kept."
        ) from None
    return [sheet, page]


def _write_sheet(grades: Grades, sheet: Path) -> None:
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:  # with the mark that Excel knows UTF-8 by
        writer = csv.writer(file)
        writer.writerow(["learner", "passed", "of", *grades.exercises, "remarks"])
        for row in grades.rows:
            statuses = [row.verdicts[id].status for id in grades.exercises]
            held = [f"{one.file} holds {one.kind}, to be revoked." for one in grades.keys if one.learner == row.learner]
            remarks = " ".join([*row.problems, *held])
            cells = [row.learner, row.passed, len(grades.exercises), *statuses, remarks]
            writer.writerow([_cell(value) for value in cells])


def _cell(value: object) -> object:
    """A name that begins like a formula is text, in a spreadsheet too."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value


def as_html(grades: Grades) -> str:
    """The page: who passed what, what went wrong how often, and for each learner each exercise with its reason."""
    parts = [_matrix(grades), _remarks(grades)]
    parts += [_keys(grades)] if grades.keys else []
    parts += [_items(grades)]
    parts += [_questions(grades)] if grades.questions else []
    parts += [_learner(number, row, grades.exercises) for number, row in enumerate(grades.rows, 1)]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Marks</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style></head>\n'
        f"<body><main><h1>Marks</h1>\n<p>Seed {grades.seed}. {html.escape(grades.walls.sentence)}</p>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _matrix(grades: Grades) -> str:
    heads = _heads("learner", "passed", *grades.exercises)
    rows = "".join(
        f'<tr><th scope="row"><a href="#learner-{number}">{html.escape(row.learner)}</a></th>'
        f"<td>{row.passed} of {len(grades.exercises)}</td>"
        + "".join(f'<td class="sign">{_sign(row.verdicts[id].status)}</td>' for id in grades.exercises)
        + "</tr>\n"
        for number, row in enumerate(grades.rows, 1)
    )
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Who passed what">'
        f"<table><caption>Who passed what (✓ passed, ✗ not yet, ○ not attempted, – no notebook)</caption>\n"
        f"{heads}\n{rows}</table></div>"
    )


def _remarks(grades: Grades) -> str:
    """What to look at before the marks: what could not be read, and what is left to a person."""
    found = "".join(
        f'<li><a href="#learner-{number}">{html.escape(row.learner)}</a>: {html.escape(sentence)}</li>'
        for number, row in enumerate(grades.rows, 1)
        for sentence in (*row.problems, *(f"{id} is to be judged by hand." for id in _by_hand(row)))
    )
    return f"<section><h2>Look at these first</h2><ul>{found}</ul></section>" if found else ""


def _by_hand(row: Row) -> list[str]:
    return [id for id, one in row.verdicts.items() if one == BY_HAND]


def _items(grades: Grades) -> str:
    rows = "".join(
        f'<tr><th scope="row">{item.exercise_id} {html.escape(item.title)}</th>'
        + "".join(f"<td>{item.statuses.get(status, 0)}</td>" for status in ("passed", "not yet", "not attempted"))
        + "<td>" + "<br>".join(f"{times} × {to_html(said)}" for times, said in item.mistakes[:5]) + "</td></tr>\n"
        for item in grades.items
    )  # fmt: skip
    heads = _heads("exercise", "passed", "not yet", "not attempted", "mistakes, the most frequent first")
    return f"<table><caption>Exercises and mistakes</caption>\n{heads}\n{rows}</table>"


def _questions(grades: Grades) -> str:
    rows = "".join(
        f'<tr><th scope="row">{html.escape(one.question_id)}</th><td>{one.right} of {one.answered}</td><td>'
        + "<br>".join(f"{times} × {to_html(option)}" for times, option in one.wrong[:5])
        + "</td></tr>\n"
        for one in grades.questions
    )
    heads = _heads("question", "right at first", "wrong options")
    return f"<table><caption>Quiz questions, first answers</caption>\n{heads}\n{rows}</table>"


def _keys(grades: Grades) -> str:
    found = "".join(
        f"<li>{html.escape(f'{one.learner}: {one.file}, {one.place}, holds {one.kind}, {one.masked}')}</li>"
        for one in grades.keys
    )
    told = "<p>Tell their owners to revoke them.</p>"
    return f"<section><h2>Keys that were handed in</h2>{told}<ul>{found}</ul></section>"


def _learner(number: int, row: Row, ids: list[str]) -> str:
    missing = sorted({lesson_of(id) for id in ids if row.verdicts[id].status == "no notebook"})
    handed_in = [id for id in ids if lesson_of(id) not in missing]
    rows = "".join(
        f'<tr><th scope="row">{id} {html.escape(find_exercise(id).title)}</th>'
        f"<td>{SIGNS[row.verdicts[id].status]} {row.verdicts[id].status}</td>"
        f"<td>{to_html(row.verdicts[id].message)}</td></tr>\n"
        for id in handed_in
    )
    problems = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in row.problems)
    heads, name = _heads("exercise", "status", "reason"), html.escape(row.learner)
    table = f"<table><caption>Exercises of {name}</caption>\n{heads}\n{rows}</table>" if rows else ""
    told = f"<p>No notebook was handed in for: {', '.join(missing)}.</p>" if missing else ""
    return (
        f'<section id="learner-{number}"><h2>{name}</h2><p>{row.passed} of {len(ids)} passed.</p>{problems}\n'
        f"{table}{told}</section>"
    )


def _heads(*names: str) -> str:
    return "<tr>" + "".join(f'<th scope="col">{name}</th>' for name in names) + "</tr>"


def _sign(status: str) -> str:
    return f'<span aria-hidden="true">{SIGNS[status]}</span><span class="word">{status}</span>'


def _counts(row: Row) -> dict[str, int]:
    statuses = [one.status for one in row.verdicts.values()]
    return {status: statuses.count(status) for status in SIGNS}

"""The plan of a lesson and its answer key as pages to print, and the plan as text for a terminal.

Pages are one file each, with their own style and without any address outside; headings, tables and lists are plain
HTML, so that a screen reader finds its way. The words come from `plans.py`, the quizzes and the solutions.
"""

import html
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from course_kit.classroom.checks import find_exercise, solution
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.quiz import Question, question_ids, quiz
from course_kit.classroom.shown import to_html
from course_kit.classroom.teaching.plans import GivenExercise, Plan, PlannedSection, clock

__all__ = ["key_page", "page", "plan_page", "plan_text"]

STYLE = """
:root { color-scheme: light }
body { font: 15px/1.45 system-ui, sans-serif; color: #111; background: #fff }
main { max-width: 60em; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.2em; margin-top: 1.6em } h3 { font-size: 1.05em }
a { color: #0b4f9e }
code, pre { font: 0.92em/1.35 ui-monospace, monospace }
pre { white-space: pre-wrap; border-left: 3px solid #767676; padding-left: 0.8em }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: 0.25em 0.5em; border-top: 1px solid #999 }
.plan td { font-size: 0.92em } .plan p, .plan ul { margin: 0.15em 0 } .plan ul { padding-left: 1.1em }
.label { font-weight: 600 }
.right { list-style-type: square }
@media print {
  body { font-size: 8pt; line-height: 1.22; margin: 0 } main { max-width: none; margin: 0; padding: 0 }
  h1 { font-size: 13pt; margin: 0 } h2 { font-size: 10pt; margin: 0.7em 0 0.2em } p, ul { margin: 0.2em 0 }
  th, td { padding: 0.1em 0.4em } tr, li, pre { break-inside: avoid } h2, h3 { break-after: avoid }
  @page { margin: 10mm }
}
"""


def page(title: str, body: str, style: str = "") -> str:
    """A whole HTML page that needs nothing else."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f"<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


# The plan


def plan_text(plan: Plan) -> str:
    """The plan for a terminal: a line for each section with its clock, and below it what to say and ask."""
    lesson = plan.lesson
    extra = sum(one.minutes for one in plan.exercises)
    head = f"{lesson.number} · {lesson.title}: {lesson.minutes} minutes; the exercises take {extra} more"
    lines = [head, *_wrapped(f"Aim: {plan.aim}", "  "), ""]
    lines += ["Before:", *(line for one in plan.prepare for line in _wrapped(f"- {one}", "  "))]
    for begin, section in zip(plan.begins(), plan.sections, strict=True):
        lines += ["", f"{clock(begin)}  {section.heading} ({section.minutes} min)"]
        lines += [line for name, text in _told(section) for line in _wrapped(f"{name}{text}", "      ")]
        lines += [line for one in _given_after(plan, section) for line in _wrapped(_told_exercise(one), "      ")]
    if plan.shorter:
        lines += ["", "When time is short:"]
        for one in plan.shorter:
            lines += _wrapped(f"- {one.leave}, saves {one.saves} min: {one.instead}", "  ")
    return "\n".join(lines)


def plan_page(plan: Plan) -> str:
    """The plan as a page: a table of sections with the clock, then what to leave out."""
    lesson = plan.lesson
    title = f"{lesson.number} · {lesson.title}: the plan"
    rows = []
    for begin, section in zip(plan.begins(), plan.sections, strict=True):
        said = _list(section.say)
        rest = "".join(
            f'<p><span class="label">{name.strip()}</span> {to_html(text)}</p>'
            for name, text in _told(section, say=False)
        )
        given = "".join(f"<p>{to_html(_told_exercise(one))}</p>" for one in _given_after(plan, section))
        rows.append(
            f'<tr><td>{clock(begin)}</td><td>{section.minutes}</td><th scope="row">{to_html(section.heading)}</th>'
            f"<td>{said}{rest}{given}</td></tr>"
        )
    exercises = sum(one.minutes for one in plan.exercises)
    shorter = _list(f"{one.leave}, saves {one.saves} min: {one.instead}" for one in plan.shorter)
    body = (
        f"<h1>{html.escape(title)}</h1><p>{lesson.minutes} minutes; the exercises take {exercises} more. "
        f'<span class="label">Aim:</span> {to_html(plan.aim)}</p>'
        f"<h2>Before</h2>{_list(plan.prepare)}<h2>In the room</h2>"
        '<table class="plan"><thead><tr><th scope="col">at</th><th scope="col">min</th><th scope="col">section</th>'
        f'<th scope="col">what to say and ask</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f"<h2>When time is short</h2>{shorter}"
    )
    return page(title, body)


def _told(section: PlannedSection, *, say: bool = True) -> Iterator[tuple[str, str]]:
    """What a section holds, each with the word that stands before it."""
    if say:
        yield from (("- ", one) for one in section.say)
    if section.ask:
        yield "Ask: ", section.ask
    if section.run:
        yield "Run: ", " · ".join(f"`{' '.join(piece.split())}`" for piece in section.run)
    if section.stuck:
        yield "Stuck: ", section.stuck
    yield from ((f"Q: {question} ", f"A: {answer}") for question, answer in section.questions)
    if section.quizzes:
        yield "Quiz: ", ", ".join(section.quizzes)


def _told_exercise(given: GivenExercise) -> str:
    return f"Exercise {given.id}, {given.title} ({given.minutes} min): {given.how}"


def _given_after(plan: Plan, section: PlannedSection) -> list[GivenExercise]:
    return [one for one in plan.exercises if one.after == section.heading]


# The answer key


def key_page(plan: Plan) -> str:
    """Every question with its right options and reasons, every exercise with its hints and solution."""
    lesson = plan.lesson
    title = f"{lesson.number} · {lesson.title}: answer key"
    questions: list[Any] = [quiz(id) for id in question_ids() if lesson_of(id) == lesson.number]
    asked = "".join(_question(one.question) for one in questions)
    given = "".join(_exercise(one) for one in plan.exercises)
    body = (
        f"<h1>{html.escape(title)}</h1><p>For the instructor. A right option begins with the word Right.</p>"
        f"<h2>Questions</h2>{asked}<h2>Exercises</h2>{given}"
    )
    return page(title, body)


def _question(question: Question) -> str:
    options = ""
    for option in question.options:
        opened = '<li class="right"><b>Right:</b> ' if option.right else "<li>"
        options += f"{opened}{to_html(f'{option.id}) {option.text}')}<br>{to_html(option.why)}</li>"
    return f"<h3>Question {html.escape(question.id)}</h3><p>{to_html(question.question)}</p><ul>{options}</ul>"


def _exercise(given: GivenExercise) -> str:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    known = find_exercise(given.id)
    hints = "".join(f"<li>{to_html(one)}</li>" for one in known.hints)
    return (
        f"<h3>Exercise {given.id} · {to_html(given.title)}</h3>"
        f"<p>{known.difficulty}, {known.importance}, {given.minutes} minutes. {to_html(given.how)}</p>"
        f"<p>Where people get stuck, as hints:</p><ol>{hints}</ol>"
        f"{markdown2html_mistune(str(solution(given.id, now=True)))}"
    )


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{to_html(one)}</li>' for one in items)}</ul>"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), 100, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )

"""The board as one page for a projector, and as plain text for a terminal.

The page is self-contained: style and script are in it, nothing is fetched from elsewhere, and a content policy enforces
that. It asks for its own table again every few seconds; a button stops that, and without scripts the page reloads by
itself.
"""

import base64
import hashlib
import html
from collections import Counter
from collections.abc import Sequence

from course_kit.classroom.board.counts import NOTHING
from course_kit.classroom.board.room import Row
from course_kit.classroom.sections import section_of
from course_kit.classroom.visible import padded

__all__ = ["POLICY", "as_text", "page", "summary_sentence", "table"]

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #767676; --stuck: #fff0c2; --amber: #5c3a00 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f0f0f0; --paper: #16181d; --line: #8a8f98; --stuck: #4a3500; --amber: #ffe7a8 } }
body { font: 1.25rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; padding-bottom: .5rem }
th, td { text-align: left; padding: .4rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top }
td.number { font-variant-numeric: tabular-nums }
tr.stuck > * { background: var(--stuck); color: var(--amber) }
button { font: inherit; color: inherit; background: none; border: 2px solid; border-radius: .4rem }
button:focus-visible { outline: 3px solid; outline-offset: 3px }
@media (prefers-reduced-motion: no-preference) { tr > * { transition: background-color .4s } }
"""
SCRIPT = """
const place = document.getElementById("board"), button = document.getElementById("pause"),
      state = document.getElementById("state");
let paused = false, shown = "";
button.hidden = false;
button.addEventListener("click", () => {
  paused = !paused;
  button.textContent = paused ? "Resume refreshing" : "Stop refreshing";
});
setInterval(async () => {
  if (paused) return;
  try {
    const answer = await fetch("table");
    if (!answer.ok) throw new Error();
    const text = await answer.text();
    if (text !== shown) place.innerHTML = shown = text;
    if (state.textContent) state.textContent = "";
  } catch {
    if (!state.textContent) state.textContent = "The board has stopped; this is what it showed last.";
  }
}, 4000);
"""


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(rows: Sequence[Row]) -> str:
    """The whole page."""
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Course board</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<noscript><meta http-equiv="refresh" content="10"></noscript>'
        f"<style>{STYLE}</style></head><body><main><h1>Who is where</h1>"
        '<p><button id="pause" type="button" hidden>Stop refreshing</button> <span id="state" role="status"></span></p>'
        f'<div id="board">{table(rows)}</div></main><script>{SCRIPT}</script></body></html>'
    )


def table(rows: Sequence[Row]) -> str:
    """The part of the page that changes. It holds no time of day, so it changes only when there is news."""
    heads = ("nickname", "lesson", "section", "questions right", "exercises passed", "working on", "last heard from")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(_html_row(row) for row in rows) or f'<tr><td colspan="{len(heads)}">Nobody has joined yet.</td></tr>'
    caption = html.escape(summary_sentence(rows))
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def as_text(rows: Sequence[Row]) -> str:
    """The same as lines for a terminal."""
    lines = [summary_sentence(rows)]
    lines += [f"{'nickname':<24}  lesson  questions right  exercises passed  working on"] if rows else []
    for row in rows:
        name, lesson, section, questions, exercises, work, heard = _cells(row)
        lines.append(
            f"{padded(name, 24)}  {lesson or '-':<6}  {questions:>15}  {exercises:>16}  "
            f"{'; '.join(filter(None, [work, section, heard]))}".rstrip()
        )
    return "\n".join(lines)


def summary_sentence(rows: Sequence[Row]) -> str:
    """`7 learners: 3 in lesson 01, 4 in lesson 02. Stuck: exercise 1.2 (3 learners).`"""
    if not rows:
        return "Nobody has joined yet."
    here = Counter(lesson for row in rows if (lesson := (row.counts or NOTHING)["lesson"]))
    stuck = Counter(one.exercise for row in rows for one in row.stuck)
    at = ", ".join(f"{count} in lesson {lesson}" for lesson, count in sorted(here.items()))
    told = f"{_learners(len(rows))}{f': {at}' if at else ''}."
    if stuck:
        listed = (f"exercise {id} ({_learners(count)})" for id, count in stuck.most_common(5))
        told += f" Stuck: {', '.join(listed)}."
    return told


def _learners(count: int) -> str:
    return f"{count} learner" if count == 1 else f"{count} learners"


def _html_row(row: Row) -> str:
    name, *cells = _cells(row)
    shown = "".join(f"<td{' class=number' if cell.isdigit() else ''}>{html.escape(cell)}</td>" for cell in cells)
    kind = ' class="stuck"' if row.stuck else ""
    return f'<tr{kind}><th scope="row"><bdi>{html.escape(name)}</bdi></th>{shown}</tr>'


def _cells(row: Row) -> tuple[str, ...]:
    """Nickname, lesson, section, questions, exercises, what is worked on, when last heard from."""
    if row.counts is None:
        return row.nickname, "", "", "", "", "progress cannot be read", ""
    counts = row.counts
    stuck = ", ".join(f"stuck at {one.exercise} ({one.tries} tries)" for one in row.stuck)
    passed = sum(one["passed"] for one in counts["exercises"].values())
    at = counts["at"]
    work = stuck or (f"exercise {at}" if at in counts["exercises"] else f"question {at}" if at else "")
    section = section_of(at) if at and at not in counts["exercises"] else None
    return (
        row.nickname,
        counts["lesson"],
        f"{section.number}. {section.heading}" if section else "",
        str(sum(counts["quizzes"].values())),
        str(passed),
        work,
        _ago(row.seconds_ago),
    )


def _ago(seconds: float | None) -> str:
    """In steps that change seldom: a page that flickers tells nobody anything."""
    if seconds is None:
        return ""
    for limit, said in ((120, "just now"), (600, "minutes ago"), (3600, "within the hour")):
        if seconds < limit:
            return said
    return "over an hour ago"

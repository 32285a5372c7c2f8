"""A lesson as slides: a notebook with slideshow metadata, a page that needs no network, and reveal.js.

The committed lessons carry no slideshow metadata: slides are made from them and from the plan, so a lesson has one
source and the marks cannot drift. A section begins a slide, its notes are what the plan says; a `###` heading, a quiz
or a full slide begins the next one below it. What comes after a "Guess" is a fragment, shown when the room has guessed.
On the page, a result that does not fit below its code has a slide of its own, and the browser, which alone knows how
high a slide is, makes each as large as the screen allows: nothing is cut off, and a short slide is not small.
"""

import html
import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from course_kit.classroom.teaching.parts import Part, parts
from course_kit.classroom.teaching.plans import Plan, PlannedSection, clock
from course_kit.classroom.teaching.sheets import page
from course_kit.errors import SetupError

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["reveal_page", "slides", "slides_page"]

GUESS = re.compile(r"\*\*[^*]*(?:[Gg]uess|Write down|\?)[^*]*\*\*")  # text that wants an answer before the code is run
SMALLER = re.compile(r"(?m)^(?=### )")
FULL = 26  # lines on one slide, text and code together, at 1280 by 720
WIDE = 120  # characters in one of them
NOTES = 2  # lines that the word takes, on the first slide of a section
PICTURE = 19
APART = 5  # lines of a result that is worth a slide of its own
RESULT = '<div class="output_wrapper">'
BLOCK = re.compile(r"<(?:tr|li|p|h\d|summary)\b")
FOLDED = {"skip": "Set-up, run beforehand", "fragment": "Now run it", "notes": "Notes"}
STYLE = """
main { max-width: none; margin: 0; padding: 0 2em }
.slide { border-bottom: 1px solid #767676; padding: 0.6em 0; font-size: 1.2em }
.slide { min-height: 100vh; box-sizing: border-box; display: flex; flex-direction: column }
.slide :is(p, ul, ol, table) { margin-block: 0.6em } .slide pre { line-height: 1.25; margin-block: 0.4em }
.slide:focus-visible { outline: 2px solid #0b4f9e; outline-offset: 4px }
.slide[hidden] { display: none }
.slide > .number { color: #595959; font-size: 0.85em; margin: auto 0 0 }
.slide > .notes + .number { margin: 0.2em 0 0 }
details { margin: 0.8em 0 } summary { cursor: pointer; font-weight: 600 }
.notes { background: #f4f4f4; padding: 0.2em 0.8em; margin: auto 0 0; font-size: 0.85em }
.highlight pre { border-left: 3px solid #0b4f9e }
.output_subarea { overflow: auto } img { max-width: 100%; max-height: 56vh }
.unwrapped pre { white-space: pre; overflow: auto }
@media print {
  main { padding: 0 } .slide { border: 0; min-height: 0; break-after: page; padding: 0; font-size: 1em }
  .slide > .number { display: none } .output_subarea { max-height: none !important } .sized { zoom: 1 !important }
  @page { size: landscape }
  body { font-size: 10pt } .notes { border: 1px solid #767676 }
}
"""
SCRIPT = """
const slides = [...document.querySelectorAll('.slide')];
const SIZES = [1.4, 1.3, 1.2, 1.1, 1, 0.95, 0.9, 0.85, 0.8, 0.75], LEAST = 150;
let at = 0;
const fit = slide => {
  const sized = slide.firstElementChild, results = [...slide.querySelectorAll('.output_subarea')];
  const notes = slide.querySelectorAll('details:not(.fragment)[open]');
  const hidden = slide.querySelectorAll('details.fragment:not([open])');
  const over = () => slide.getBoundingClientRect().height - innerHeight;
  const wraps = () => [...sized.querySelectorAll('pre, td')].some(one => one.scrollWidth > one.clientWidth + 1);
  results.forEach(one => { one.style.maxHeight = ''; });
  notes.forEach(one => { one.open = false; });  // a slide has its size for what the room sees, from the beginning
  hidden.forEach(one => { one.open = true; });
  const fits = size => {
    sized.style.zoom = size;
    sized.classList.toggle('unwrapped', size > 1);  // no code is made so large that its lines break
    return over() <= 0 && (size <= 1 || !wraps());
  };
  const fitsScrolled = size => {
    sized.style.zoom = size;
    const longest = results.reduce((one, other) => (one.offsetHeight < other.offsetHeight ? other : one), results[0]);
    const height = longest ? Math.floor(longest.offsetHeight - over() / size) : 0;
    if (height >= LEAST) longest.style.maxHeight = `${height}px`;
    return height >= LEAST;
  };
  SIZES.some(fits) || fitsScrolled(1) || fitsScrolled(0.75);
  sized.classList.remove('unwrapped');
  notes.forEach(one => { one.open = true; });
  hidden.forEach(one => { one.open = false; });
};
const go = step => {
  at = Math.min(Math.max(at + step, 0), slides.length - 1);
  slides[at].focus();
  slides[at].scrollIntoView();
};
const on = () => {
  const hidden = slides[at].querySelector('details.fragment:not([open])');
  const below = one => one.clientHeight && one.scrollTop + one.clientHeight < one.scrollHeight - 2;
  const more = [...slides[at].querySelectorAll('.output_subarea')].find(below);
  if (hidden) {
    hidden.open = true;
    hidden.firstElementChild.focus({preventScroll: true});
    hidden.scrollIntoView({block: 'nearest'});
  } else if (more) more.scrollBy(0, more.clientHeight * 0.8);
  else if (slides[at].getBoundingClientRect().bottom > innerHeight + 40) scrollBy(0, innerHeight * 0.8);
  else go(1);
};
slides.forEach((slide, number) => slide.addEventListener('focusin', () => { at = number; }));
addEventListener('keydown', event => {
  if (event.target.closest('input, textarea, select, button')) return;
  if (event.key === 'ArrowRight' || event.key === 'PageDown') { event.preventDefault(); on(); }
  if (event.key === 'ArrowLeft' || event.key === 'PageUp') { event.preventDefault(); go(-1); }
});
const fitAll = () => {
  const showOnly = shown => slides.forEach(one => { one.hidden = shown && one !== shown; });
  slides.forEach(one => { showOnly(one); fit(one); });  // alone, a slide is laid out in no time
  showOnly();
};
addEventListener('load', fitAll);
addEventListener('resize', () => { fitAll(); go(0); });
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(one => { one.open = true; }));
"""


def slides(plan: Plan) -> "NotebookNode":
    """The lesson's notebook with slideshow metadata, and the plan's words as notes."""
    nbformat = _library("nbformat")
    notebook = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "title": f"{plan.lesson.number} · {plan.lesson.title}",
        }
    )
    for number, (begin, part) in enumerate(zip(plan.begins(), parts(plan.lesson.number), strict=True)):
        notebook.cells += _section(plan, begin, part, number)
    made = nbformat.reads(json.dumps(notebook), as_version=4)  # outputs of several lines are joined
    nbformat.validate(made)
    return made


def slides_page(notebook: "NotebookNode") -> str:
    """The slides as one page: an arrow key, or a clicker, shows what is hidden, then the next slide.

    Notes open in place. It needs no network. Printed, every slide is a page with its notes.
    """
    title = notebook.metadata["title"]
    shown = list[tuple[str, list[str], list[str]]]()  # heading, what the room sees, notes
    for kind, run in groupby(_pieces(notebook), key=lambda one: one[0]):
        pieces = [(source, piece) for _, source, piece in run]
        if kind == "fragment":  # what is hidden together is one piece
            pieces = [("", "".join(piece for _, piece in pieces))]
        for source, piece in pieces:
            if kind in ("slide", "subslide"):
                heading = re.search(r"(?m)^#+ (.+)$", source)
                shown.append((heading[1].replace("`", "") if heading else "", [], []))
            _, seen, notes = shown[-1]
            (notes if kind == "notes" else seen).append(_folded(FOLDED[kind], piece, kind) if kind in FOLDED else piece)
    last = ""
    body = []
    for number, (told, seen, notes) in enumerate(shown, 1):
        last = told or last
        label = html.escape(f"Slide {number} of {len(shown)}: {last}")
        body.append(
            f'<section class="slide" tabindex="-1" aria-label="{label}"><div class="sized">{"".join(seen)}</div>'
            f'{"".join(notes)}<p class="number">{number} / {len(shown)} · {html.escape(last)}</p></section>'
        )
    return page(f"{title}: slides", "\n".join(body) + f"<script>{SCRIPT}</script>", STYLE)


def _pieces(notebook: "NotebookNode") -> Iterator[tuple[str, str, str]]:
    """Kind, source and HTML of each cell; a result that does not fit below its code begins a slide."""
    lines, apart = 0, False
    for cell, piece in zip(notebook.cells, _rendered(notebook), strict=True):
        kind, source, size = cell.metadata["slideshow"]["slide_type"], _source(cell), _lines(cell)
        if kind in ("slide", "subslide"):
            lines, apart = 0, False
        elif kind in FOLDED and kind != "fragment":
            size = NOTES
        elif apart:  # after a result with a slide of its own nothing is hidden any more
            kind = "subslide" if lines + size > FULL else "-"
            lines = 0 if kind == "subslide" else lines
        code, mark, result = piece.partition(RESULT)
        below = size - len(source.splitlines())
        if mark and kind in ("slide", "subslide", "fragment", "-") and lines + size > FULL and below >= APART:
            opening = piece[: piece.index(">") + 1]
            yield kind, source, f"{code}</div>"
            kind, source, piece = "subslide", "", f"{opening}{mark}{result}"
            lines, size, apart = 0, below, True
        lines += size
        yield kind, source, piece


def reveal_page(notebook: "NotebookNode", address: str = "") -> str:
    """The slides on reveal.js, by nbconvert. Shown, it loads reveal.js and more from the network.

    `address` is that of a copy of reveal.js of your own; nbconvert's other scripts still come from the network.
    """
    _library("nbconvert")
    from nbconvert.exporters import SlidesExporter

    exporter = SlidesExporter(reveal_scroll=True, reveal_number="c/t", exclude_input_prompt=True)
    exporter.exclude_output_prompt = True
    if address:
        exporter.reveal_url_prefix = address
    body, _ = exporter.from_notebook_node(notebook)
    return body


def _section(plan: Plan, begin: int, part: Part, number: int) -> list[dict[str, Any]]:
    """The cells of one section with their marks; the notes follow the first."""
    made: list[dict[str, Any]] = []
    cells = [piece for cell in part.cells for piece in _smaller(cell)]
    lines, guess, kind = 0, False, ""
    for place, cell in enumerate(cells):
        source, size = _source(cell), _lines(cell)
        is_text, tags = cell["cell_type"] == "markdown", cell.get("metadata", {}).get("tags", [])
        leads_on = is_text and place + 1 < len(cells) and _is_run(cells[place + 1])
        follows = not is_text and place and cells[place - 1]["cell_type"] == "code"
        with_next = size + (_lines(cells[place + 1]) if leads_on else 0)  # a text and its code stay together
        if place == 0:
            kind = "slide"
        elif "setup" in tags:
            kind = "skip"
        elif source.startswith("###") or ("quiz" in tags and lines > NOTES + 1):
            kind = "subslide"
        elif (is_text or follows) and lines + with_next > FULL:
            kind = "subslide"
        elif kind == "fragment" and leads_on:
            kind = "subslide"  # nothing may stand open below what is hidden
        else:
            kind = "fragment" if kind == "fragment" or (guess and not is_text) else "-"
        lines = size + NOTES * (kind == "slide") if kind in ("slide", "subslide") else lines + size
        guess = bool(GUESS.search(source)) if is_text else guess
        made.append(_marked(cell, source, kind))
        if place == 0:
            made.append(_notes(plan, plan.section(part.heading), begin, number))
    return made


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _is_run(cell: dict[str, Any]) -> bool:
    """Code that goes with the text before it; a quiz has its own slide."""
    return cell["cell_type"] == "code" and "quiz" not in cell.get("metadata", {}).get("tags", [])


def _smaller(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """A text cut where a `###` heading begins: each begins a slide."""
    pieces = [piece.strip() for piece in SMALLER.split(_source(cell))] if cell["cell_type"] == "markdown" else []
    pieces = [piece for piece in pieces if piece]
    if len(pieces) < 2:
        return [cell]
    ids = [cell["id"], *(f"{cell['id']}-{number}"[-64:] for number in range(1, len(pieces)))]
    return [{**cell, "id": id, "source": piece} for id, piece in zip(ids, pieces, strict=True)]


def _marked(cell: dict[str, Any], source: str, kind: str) -> dict[str, Any]:
    metadata = {**cell.get("metadata", {}), "slideshow": {"slide_type": kind}}
    source = source.replace("](90_glossary.ipynb", "](../notebooks/90_glossary.ipynb")
    source = re.sub(r"\]\((\d\d_\w+\.ipynb)", r"](../notebooks/\1", source)
    return {**cell, "source": source, "metadata": metadata}


def _notes(plan: Plan, section: PlannedSection, begin: int, number: int) -> dict[str, Any]:
    told = [f"**{clock(begin)} to {clock(begin + section.minutes)}, {section.minutes} minutes**"]
    told += [f"- {one}" for one in section.say]
    told += [f"- **Ask:** {section.ask}"] if section.ask else []
    told += [f"- **Run:** `{' '.join(piece.split())}`" for piece in section.run]
    told += [f"- **Stuck:** {section.stuck}"] if section.stuck else []
    told += [f"- **Q:** {question} **A:** {answer}" for question, answer in section.questions]
    told += [
        f"- **Exercise {one.id}**, {one.title} ({one.minutes} min): {one.how}"
        for one in plan.exercises
        if one.after == section.heading
    ]
    source = told[0] + "\n\n" + "\n".join(told[1:])
    metadata = {"slideshow": {"slide_type": "notes"}}
    return {"cell_type": "markdown", "id": f"notes-{number:02}", "metadata": metadata, "source": source}


def _lines(cell: dict[str, Any]) -> int:
    """About how many lines a cell takes on a slide."""
    source = _source(cell)
    if cell["cell_type"] == "markdown":
        return sum(1 + len(line) // WIDE for line in source.splitlines())
    shown = 0
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        text = output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""
        picture = any(kind.startswith("image/") for kind in data)
        blocks = len(BLOCK.findall("".join(data.get("text/html", ""))))
        written = sum(1 + len(line) // WIDE for line in "".join(text).splitlines())
        shown += PICTURE if picture else max(blocks, written)
    return len(source.splitlines()) + shown


def _rendered(notebook: "NotebookNode") -> list[str]:
    """Each cell as HTML, by nbconvert in one go."""
    _library("nbconvert")
    from nbconvert.exporters import HTMLExporter

    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    exporter.exclude_anchor_links = True
    body, _ = exporter.from_notebook_node(notebook)
    pieces = re.split(r'(?=<div class="cell border-box-sizing )', body)[1:]
    if len(pieces) != len(notebook.cells):
        raise SetupError(
            f"This nbconvert writes {len(pieces)} cells where the notebook has {len(notebook.cells)}: "
            'install another with `pip install "course-kit[lab]" --upgrade`.'
        )
    return pieces


def _folded(summary: str, piece: str, name: str) -> str:
    return f'<details class="{name}"><summary>{summary}</summary>{piece}</details>'


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise SetupError(f'Slides are made with {name}: run `pip install "course-kit[lab]"`.') from None

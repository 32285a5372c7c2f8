"""`course teach`: slides, plan and answer key of lessons, written into a folder.

    NN_slides.ipynb   the lesson with notes, to run in JupyterLab        NN_plan.html   one to three pages, to print
    NN_slides.html    the same to show and to print, without a network   NN_key.html    quizzes and exercises answered
    NN_reveal.html    with `reveal`: on reveal.js, which needs a network index.html     what there is

What you changed stays: a file that differs from what was written last is kept, and the new one lies beside it.
"""

import hashlib
import html
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from course_kit.classroom.teaching.plans import plan, planned
from course_kit.classroom.teaching.sheets import key_page, page, plan_page
from course_kit.classroom.teaching.slides import reveal_page, slides, slides_page
from course_kit.errors import SetupError

__all__ = ["make"]

RECORD = ".written.json"
NAMES = {"slides.html": "slides", "slides.ipynb": "slides as a notebook", "plan.html": "plan", "key.html": "answer key"}


def make(
    numbers: Iterable[str], folder: Path, *, reveal: bool = False, say: Callable[[str], None] = print
) -> list[Path]:
    """Write what an instructor needs for these lessons, or for all that have a plan; return the files."""
    import nbformat

    chosen = [plan(number) for number in (list(numbers) or planned())]  # all are read before anything is written
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for made in chosen:
            number, notebook = made.lesson.number, slides(made)
            texts = {
                "slides.ipynb": nbformat.writes(notebook) + "\n",
                "slides.html": slides_page(notebook),
                "plan.html": plan_page(made),
                "key.html": key_page(made),
            }
            if reveal:
                texts["reveal.html"] = reveal_page(notebook)
            written += [_write(folder / f"{number}_{name}", text, say) for name, text in texts.items()]
            say(f"{number} · {made.lesson.title}")
        written.append(_write(folder / "index.html", _index(folder), say))
    except OSError as problem:
        raise SetupError(
            f"The teaching files could not be written to {folder} ({problem.strerror or problem}): "
            "choose another folder with --to."
        ) from None
    return written


def _index(folder: Path) -> str:
    rows = []
    for number in planned():
        links = [
            f'<a href="{number}_{name}">{words}</a>'
            for name, words in NAMES.items()
            if (folder / f"{number}_{name}").exists()
        ]
        if links:
            rows.append(f"<li>{html.escape(f'{number} · {plan(number).lesson.title}')}: {', '.join(links)}</li>")
    return page("Teaching material", f"<h1>Teaching material</h1><ul>{''.join(rows)}</ul>")


def _write(file: Path, text: str, say: Callable[[str], None]) -> Path:
    """Write a file; one that somebody changed since is kept, and the new one lies beside it."""
    record_file = file.parent / RECORD
    try:
        record = json.loads(record_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = {}
    name, new = file.name, _fingerprint(file.name, text)
    if file.exists() and file.suffix == ".ipynb":
        now = _fingerprint(name, file.read_text(encoding="utf-8"))
        if now not in (new, record.get(name)):
            file = file.with_name(f"{file.stem}.new{file.suffix}")
            say(f"{name} was changed, so it is kept; the new one is beside it as {file.name}.")
    file.write_text(text, encoding="utf-8", newline="\n")
    record[name] = new
    record_file.write_text(json.dumps(record, indent=1, sort_keys=True), encoding="utf-8")
    return file


def _fingerprint(name: str, text: str) -> str:
    """What a file says; for a notebook its text and marks, since running it changes neither."""
    if name.endswith(".ipynb"):
        try:
            cells = json.loads(text)["cells"]
            marks = [(cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("slideshow")) for cell in cells]
            text = json.dumps(marks, sort_keys=True)
        except (ValueError, KeyError, TypeError):
            pass  # no notebook any more: the whole text counts
    return hashlib.sha256(text.encode()).hexdigest()

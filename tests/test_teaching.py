"""Plans, slides, answer keys and tracks: they agree with the lessons, sum up, and show nothing of the machine."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import nbformat
import pytest
from click.testing import CliRunner

from course_kit.classroom.checks import exercise_ids, find_exercise
from course_kit.classroom.lessons import lessons
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.quiz import question_ids, quiz
from course_kit.classroom.teaching import making, plans, sheets, slides, tracks
from course_kit.classroom.teaching.parts import Part, names_needed, parts, runs_first
from course_kit.cli import main
from course_kit.doctor import find_browser
from course_kit.errors import CourseKitError

NUMBERS = plans.planned()
SHORT = "00"  # the lesson that is quickest to make
MACHINE = re.compile(r"/(?:home|Users|work|tmp|root)/|site-packages|\b[A-Z]:\\\\")


@pytest.fixture(scope="module")
def notebooks():
    """The slides of every lesson, made once."""
    return {number: slides.slides(plans.plan(number)) for number in NUMBERS}


# ── Plans ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_lesson_has_a_plan():
    assert [one.number for one in lessons()] == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
def test_a_plan_agrees_with_its_lesson(number):
    assert plans.problems(number) == []


@pytest.mark.parametrize("number", NUMBERS)
def test_a_plan_is_worth_having(number):
    made = plans.plan(number)
    long = [one for one in made.sections if one.minutes >= 4]
    assert made.aim and made.prepare and made.shorter
    assert all(one.say for one in made.sections)
    assert sum(bool(one.ask or one.questions or one.stuck) for one in long) >= 0.8 * len(long)
    assert sum(len(one.questions) for one in made.sections) >= 1
    assert all(len(text) <= 320 for one in made.sections for text in (*one.say, one.ask, one.stuck))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("minutes = 7\n", "minutes = 8\n", "the sections take 101 minutes, the lesson says 100"),
        (
            '"as_read(swapped)"',
            '"as_red(swapped)"',
            "\"Hangzhou gets Shanghai's weather\" has no cell with 'as_red(swapped)'",
        ),
        ('heading = "When is it safe?"', 'heading = "When is it save?"', "the plan lacks 'When is it safe?'"),
        (
            'id = "5.2"',
            'id = "5.1"',
            "the plan gives the exercises ['5.1', '5.1', '5.3'], the lesson has ['5.1', '5.2', '5.3']",
        ),
        (
            "saves = 6",
            "saves = 60",
            "leaving out of 'Streaming: by index, and not before the end' cannot save 60 minutes",
        ),
        (
            'after = "One failure loses nothing"',
            'after = "No failure"',
            "exercise 5.1 comes after 'No failure', which is not a section",
        ),
    ],
    ids=["minutes", "cell", "heading", "exercise", "saves", "after"],
)
def test_a_plan_that_drifts_is_found(monkeypatch, tmp_path, old, new, sentence):
    text = (plans.FOLDER / "05.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "05.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(plans, "FOLDER", tmp_path)
    assert sentence in plans.problems("05")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_sitting_ends_where_a_section_ends(number):
    """What `prepare` says of sittings and breaks is a sum of sections, from the beginning or from the end."""
    made = plans.plan(number)
    ends = {begin + one.minutes for begin, one in zip(made.begins(), made.sections, strict=True)}
    ends |= {made.lesson.minutes - end for end in ends}
    for sentence in made.prepare:
        if "sitting" in sentence or "break" in sentence:
            assert {int(found) for found in re.findall(r"\b\d{2,3}\b", sentence)} <= ends, sentence


def test_a_place_to_stop_is_where_the_plan_has_it():
    for number, minutes in {
        "01": 67,
        "02": 61,
        "03": 67,
        "04": 43,
        "05": 47,
        "06": 47,
        "09": 50,
        "10": 47,
        "12": 51,
    }.items():
        made, known = plans.plan(number), parts(number)
        marked = next(
            place
            for place, part in enumerate(known)
            if any("place to stop" in "".join(cell["source"]) for cell in part.cells) and place
        )
        assert made.begins()[marked] + made.sections[marked].minutes == minutes, number
        assert any(str(minutes) in sentence for sentence in made.prepare), number


def test_sections_in_another_order_are_found(monkeypatch):
    made = plans.plan("00")
    turned = replace(made, sections=(made.sections[0], made.sections[2], made.sections[1], *made.sections[3:]))
    monkeypatch.setattr(plans, "plan", lambda number: turned)
    assert plans.problems("00") == ["the sections are in another order than in the notebook"]


def test_a_lesson_that_is_not_there_says_which_are():
    with pytest.raises(CourseKitError, match=r"^There is no lesson 77: choose from 00, 01, "):
        plans.plan("77")


def test_a_broken_plan_file_is_one_sentence(monkeypatch, tmp_path):
    (tmp_path / "05.toml").write_text("aim = ", encoding="utf-8")
    monkeypatch.setattr(plans, "FOLDER", tmp_path)
    with pytest.raises(CourseKitError, match=r"^The plan 05.toml cannot be read: "):
        plans.plan("05")
    with pytest.raises(CourseKitError, match=r"^Lesson 06 has no plan yet: there are plans for 05\."):
        plans.plan("06")


def test_the_plan_as_text_has_the_clock_and_every_section():
    made = plans.plan("05")
    text = sheets.plan_text(made)
    assert text.splitlines()[0].startswith("05 · Parallel calls and id pairing: 100 minutes; the exercises take ")
    assert "\n0:05  One reply, several calls (7 min)\n" in text
    assert "\n0:12  Hangzhou gets Shanghai's weather (11 min)\n" in text
    assert all(f"  {one.heading} ({one.minutes} min)" in text for one in made.sections)
    assert max(map(len, text.splitlines())) <= 100


# ── What a section needs ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cells", "needed"),
    [
        (["total = 1", "print(total)"], set()),
        (["print(total)", "total = 1"], {"total"}),
        (["def say():\n    return words", "words = 2"], set()),
        (["def say():\n    return words"], {"words"}),
        (["x = [shop for shop in shops]"], {"shops"}),
        (["await ask(question)"], {"ask", "question"}),
        (["import json\njson.dumps(value.name)"], {"value"}),
        (["class Desk:\n    place = room"], {"room"}),
    ],
    ids=["made", "made_later", "in_a_function", "missing", "comprehension", "await", "attribute", "class"],
)
def test_names_needed(cells, needed):
    assert names_needed(cells) == needed


def test_what_runs_first_is_followed_to_its_beginning():
    assert runs_first("05", "Hangzhou gets Shanghai's weather").keys() == {"One reply, several calls"}
    needed = runs_first("02", "Laboratory: one change at a time")
    assert list(needed) == ["A tool that works, and is never called", "How this model decides"]
    assert {"TRACK_PARCEL", "why"} <= needed["How this model decides"]
    # `order_id` is made under "Inputs", from what the laboratory made
    assert "Laboratory: one change at a time" in runs_first("02", "Three classic failures")


def test_a_comment_in_a_code_block_is_no_section(monkeypatch):
    from course_kit.classroom.teaching import parts as module

    cell = {"cell_type": "markdown", "id": "a", "source": "## One\n```python\n# no heading\n```\n## Two\n"}
    assert [heading for heading, _ in module._cut(cell)] == ["One", "Two"]
    assert [piece["id"] for _, piece in module._cut(cell)] == ["a", "a-1"]


# ── Slides ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def kinds(notebook):
    return [cell.metadata["slideshow"]["slide_type"] for cell in notebook.cells]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_section_starts_a_slide_with_notes(notebooks, number):
    notebook, made = notebooks[number], plans.plan(number)
    nbformat.validate(notebook)
    marks = kinds(notebook)
    begun = [place for place, kind in enumerate(marks) if kind == "slide"]
    headings = [re.match(r"#{1,2} (.+)", notebook.cells[place].source)[1] for place in begun]
    assert headings == [one.heading for one in made.sections]
    assert [marks[place + 1] for place in begun] == ["notes"] * len(begun)
    assert marks.count("notes") == len(begun)
    for place, section in zip(begun, made.sections, strict=True):
        assert all(text in notebook.cells[place + 1].source for text in (*section.say, section.ask, section.stuck))
    assert set(marks) <= {"slide", "subslide", "fragment", "skip", "notes", "-"}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_slides_hold_the_whole_lesson(notebooks, number):
    code = [cell.source for cell in notebooks[number].cells if cell.cell_type == "code"]
    assert code == [source for part in parts(number) for source in part.code]
    text = "".join(c.source for c in notebooks[number].cells if c.cell_type == "markdown" and "notes-" not in c.id)
    shown = "".join("".join(c["source"]) for p in parts(number) for c in p.cells if c["cell_type"] == "markdown")
    assert re.sub(r"\s|\.\./notebooks/", "", text) == re.sub(r"\s", "", shown)


def test_a_guess_hides_what_comes_and_set_up_is_skipped(notebooks):
    notebook = notebooks["05"]
    by_source = {cell.source: kind for cell, kind in zip(notebook.cells, kinds(notebook), strict=True)}
    guessed = next(source for source in by_source if source.startswith("reply = client.messages.create(**request)"))
    assert by_source[guessed] == "fragment"
    assert by_source[next(source for source in by_source if source.startswith("GET_WEATHER"))] == "-"
    assert kinds(notebook)[2] == "skip"
    assert by_source['quiz("05.1")'] == "subslide"
    assert by_source['quiz("05.recall")'] == "-"  # its heading alone is no slide


@pytest.mark.parametrize("number", NUMBERS)
def test_nothing_stands_open_below_what_a_guess_hides(notebooks, number):
    hidden = False
    for cell, kind in zip(notebooks[number].cells, kinds(notebooks[number]), strict=True):
        assert not (hidden and kind == "-"), cell.source
        hidden = kind == "fragment" or (hidden and kind not in ("slide", "subslide"))


def section(*sources: str):
    """Slides of one section; a source that begins with `$` is code."""
    heading = plans.plan("05").sections[3].heading
    notebook = nbformat.v4.new_notebook(metadata={"title": "05"})
    cells = [{"cell_type": "markdown", "metadata": {}, "source": f"## {heading}"}]
    for source in sources:
        kind = {"cell_type": "code", "outputs": [], "execution_count": None} if source[0] == "$" else cells[0]
        cells.append({**kind, "metadata": {}, "source": source.removeprefix("$")})
    part = Part(heading, tuple(cell | {"id": f"c{number}"} for number, cell in enumerate(cells)))
    made = slides._section(plans.plan("05"), 0, part, 3)
    return nbformat.from_dict({**notebook, "cells": made})


@pytest.mark.parametrize(
    ("sources", "marks"),
    [
        (("**Guess:** how many?", "$x = 1"), ["-", "fragment"]),
        (("**Write down** four numbers.", "$x = 1"), ["-", "fragment"]),
        (("How many?", "$x = 1"), ["-", "-"]),
        (("**Guess**:", "$x = 1", "$y = 2", "Two."), ["-", "fragment", "fragment", "fragment"]),
        (("**Guess**:", "$x = 1", "Two. Next:", "$y = 2", "So."), ["-", "fragment", "subslide", "-", "-"]),
    ],
    ids=["a guess", "written down", "only asked", "its answer opens with it", "its answer leads on"],
)
def test_what_a_guess_hides(sources, marks):
    assert kinds(section(*sources)) == ["slide", "notes", *marks]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_smaller_heading_begins_a_slide(notebooks, number):
    for cell, kind in zip(notebooks[number].cells, kinds(notebooks[number]), strict=True):
        if cell.cell_type == "markdown":
            assert "\n### " not in cell.source
            assert kind == "subslide" or not cell.source.startswith("### ")


@pytest.mark.parametrize(
    ("lines", "marks"), [(12, ["-", "-", "-", "-"]), (13, ["-", "-", "subslide", "-"])], ids=["fits", "too long"]
)
def test_a_text_and_its_code_go_to_a_new_slide_together(lines, marks):
    made = section("One line.", "$" + "x = 1\n" * 9, "Another line.", "$" + "x = 1\n" * lines)
    assert kinds(made) == ["slide", "notes", *marks]


def test_links_lead_on_from_the_teaching_folder(notebooks):
    text = "\n".join(cell.source for number in NUMBERS for cell in notebooks[number].cells)
    linked = set(re.findall(r"\]\(([^)]+\.ipynb)\)", text))
    assert linked and all(re.match(r"\.\./(notebooks|exercises)/\w+\.ipynb", one) for one in linked)


class Reader(HTMLParser):
    """What a page loads, links to, and labels."""

    def __init__(self):
        super().__init__()
        self.loads, self.links, self.labels, self.open, self.pictures = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in ("meta", "img", "br", "link", "hr", "input", "source"):
            self.open.append(tag)
        if tag in ("script", "img", "iframe", "link", "source") and (found.get("src") or found.get("href")):
            self.loads.append(found.get("src") or found["href"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "section":
            self.labels.append(found.get("aria-label"))
        if tag == "img":
            self.pictures.append(found.get("alt"))


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_the_page_of_slides_needs_no_network(notebooks):
    page = slides.slides_page(notebooks["05"])
    seen = read(page)
    assert [one for one in seen.loads if not one.startswith("data:")] == []
    assert "@import" not in page and "url(http" not in page
    source = "\n".join(cell.source for cell in notebooks["05"].cells)
    assert [one for one in seen.links if one.startswith("http") and one not in source] == []
    begun = sum(kind in ("slide", "subslide") for kind in kinds(notebooks["05"]))
    wanted = len(seen.labels)
    assert wanted > begun and all(seen.labels)  # the large results have slides of their own
    assert seen.labels[0] == f"Slide 1 of {wanted}: 05 · Parallel calls and id pairing"
    assert seen.pictures and all(seen.pictures)
    assert page.count('<details class="notes">') == len(plans.plan("05").sections)
    assert "answered: 25 °C, cloudy" in page and "['get_weather answered" not in page  # outputs are text, not lists
    assert MACHINE.search(re.sub(r"data:image[^\"]+", "", page)) is None


@pytest.mark.skipif(find_browser() is None, reason="no Chromium or Chrome on this machine")
def test_a_clicker_shows_what_is_hidden_before_it_goes_on(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    file = tmp_path / "slides.html"
    made = section(
        "**Guess** what comes:", "$hidden = 1", "The answer leads on:", f"${'x = 1; ' * 17}", "$" + "y = 2\n" * 60
    )
    file.write_text(slides.slides_page(made), encoding="utf-8")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(file.as_uri())
        hidden, answer = page.locator("details.fragment pre"), page.get_by_text("The answer leads on")
        last = page.locator(".slide").last
        playwright.expect(hidden).not_to_be_visible()
        playwright.expect(answer).not_to_be_in_viewport()  # the next slide does not look in from below
        page.keyboard.press("PageDown")
        playwright.expect(hidden).to_be_in_viewport()
        playwright.expect(answer).not_to_be_in_viewport()
        page.keyboard.press("PageDown")
        playwright.expect(answer).to_be_in_viewport()
        page.keyboard.press("PageDown")
        playwright.expect(last.locator("pre")).to_be_in_viewport()
        playwright.expect(last.locator(".number")).not_to_be_in_viewport()
        for _ in range(3):
            page.keyboard.press("PageDown")
        playwright.expect(last.locator(".number")).to_be_in_viewport()  # a long slide is scrolled to its end
        assert page.evaluate("[...document.querySelectorAll('.slide')].every(one => one.scrollWidth <= innerWidth)")
        browser.close()


def with_result(made, text: str):
    """These slides, whose last cell printed this text."""
    made.cells[-1]["outputs"] = [nbformat.v4.new_output("stream", text=text)]
    return made


@pytest.mark.parametrize(
    ("guess", "lines", "pages"),
    [("", 4, 1), ("", 20, 2), ("**Guess:** how many?", 20, 2)],
    ids=["fits", "its own slide", "hidden code, then its result"],
)
def test_a_result_that_does_not_fit_has_its_own_slide(guess, lines, pages):
    text = "".join(f"line {number}\n" for number in range(lines))
    made = with_result(section(guess or "Run it.", "$" + "x = 1\n" * 14), text)
    whole = slides.slides_page(made)
    shown = re.findall(r'(?s)<section class="slide".*?</section>', whole)
    assert len(shown) == pages
    assert "line 0" in shown[-1] and all("line 0" not in one for one in shown[:-1])
    assert ('<details class="fragment">' in shown[0]) == bool(guess)
    assert all(one.count("<div") == one.count("</div>") for one in shown)


def test_what_follows_a_result_of_its_own_is_open():
    made = section("**Guess:** how many?", "$" + "x = 1\n" * 14, "$y = 2")
    made.cells[-2]["outputs"] = [nbformat.v4.new_output("stream", text="line\n" * 20)]
    assert kinds(made)[-1] == "fragment"
    shown = re.findall(r'(?s)<section class="slide".*?</section>', slides.slides_page(made))
    assert [one.count('<details class="fragment">') for one in shown] == [1, 0]
    assert '<span class="n">y</span>' in shown[1]


HEIGHTS = """() => {
  document.querySelectorAll('details.fragment').forEach(one => { one.open = true; });
  return [...document.querySelectorAll('.slide')].map(slide => {
    return {
      height: slide.getBoundingClientRect().height,
      size: Number(slide.firstElementChild.style.zoom),
      label: slide.ariaLabel,
    };
  });
}"""


@pytest.mark.skipif(find_browser() is None, reason="no Chromium or Chrome on this machine")
def test_no_slide_is_cut_off(notebooks, tmp_path):
    """The two lessons with the tallest slides; everything open, on a projector of 1280 by 720."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for number in ("01", "11"):
            file = tmp_path / f"{number}.html"
            file.write_text(slides.slides_page(notebooks[number]), encoding="utf-8")
            page.goto(file.as_uri())
            seen = page.evaluate(HEIGHTS)
            assert [one["label"] for one in seen if one["height"] > 720] == []
            assert min(one["size"] for one in seen) >= 0.75
            assert sum(one["size"] > 1 for one in seen) > len(seen) / 2  # what is short is shown large
            page.emulate_media(media="print")
            sizes = "[...document.querySelectorAll('.sized')].map(one => getComputedStyle(one).zoom)"
            assert set(page.evaluate(sizes)) == {"1"}
            page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1024, "height": 600})  # another projector: fitted again
        page.wait_for_function("innerHeight === 600 && document.querySelector('.slide').offsetHeight === 600")
        tall = [one["label"] for one in page.evaluate(HEIGHTS) if one["height"] > 600]
        assert len(tall) < 0.2 * len(seen), tall
        browser.close()


def test_reveal_loads_from_the_network_and_a_copy_can_be_named(notebooks):
    page = slides.reveal_page(notebooks[SHORT])
    assert 'href="https://unpkg.com/reveal.js' in page and '<aside class="notes">' in page
    assert 'href="my-reveal/dist/reveal.css"' in slides.reveal_page(notebooks[SHORT], "my-reveal")


# ── Plan and key as pages ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", NUMBERS)
def test_pages_are_whole_and_keep_to_themselves(number):
    made = plans.plan(number)
    for page in (sheets.plan_page(made), sheets.key_page(made)):
        seen = read(page)
        assert seen.loads == []
        assert page.startswith('<!DOCTYPE html>\n<html lang="en">') and page.count("<h1>") == 1
        assert "@page" in page and MACHINE.search(page) is None
        outside = [one for one in seen.links if one.startswith("http")]
        assert outside == [] or number == "12"  # the public reports of the bug hunt, as its solution has them
    assert all(f">{sheets.to_html(one.heading)}</th>" in sheets.plan_page(made) for one in made.sections)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_key_holds_every_question_and_exercise_once(number):
    page = sheets.key_page(plans.plan(number))
    asked = [id for id in question_ids() if lesson_of(id) == number]
    assert re.findall(r"<h3>Question ([\w.]+)</h3>", page) == asked
    assert sorted(re.findall(r"<h3>Exercise ([\d.]+) ·", page)) == sorted(
        id for id in exercise_ids() if lesson_of(id) == number
    )
    for id in asked:
        question = quiz(id).question
        assert all(page.count(f"<br>{sheets.to_html(option.why)}</li>") >= 1 for option in question.options)
    right = sum(len(quiz(id).question.right_ids) for id in asked)
    assert page.count('<li class="right"><b>Right:</b> ') == right


def test_the_key_holds_the_solution_and_the_hints():
    page = sheets.key_page(plans.plan("05"))
    assert "list</span>(pool.map" in re.sub(r"</?span[^>]*>", "", page) or "pool.map(made, calls)" in re.sub(
        r"</?span[^>]*>", "", page
    )
    assert all(sheets.to_html(one) in page for one in find_exercise("5.1").hints)
    assert "BEGIN SOLUTION" not in page


# ── The folder ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_course_teach_writes_the_files_and_an_index(tmp_path):
    result = CliRunner().invoke(main, ["teach", SHORT, "--to", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert names == [".written.json", "00_key.html", "00_plan.html", "00_slides.html", "00_slides.ipynb", "index.html"]
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="([^"]+)"', index) == [
        *("00_slides.html", "00_slides.ipynb", "00_plan.html", "00_key.html"),
    ]
    assert str(tmp_path) not in "".join(
        file.read_text(encoding="utf-8") for file in (tmp_path / "out").iterdir() if file.suffix in (".html", ".ipynb")
    )


def test_what_an_instructor_changed_stays(tmp_path):
    said = []
    making.make([SHORT], tmp_path, say=said.append)
    file = tmp_path / "00_slides.ipynb"
    mine = json.loads(file.read_text(encoding="utf-8"))
    mine["cells"][4]["outputs"] = []  # running it changes nothing
    file.write_text(json.dumps(mine), encoding="utf-8")
    making.make([SHORT], tmp_path, say=said.append)
    assert not list(tmp_path.glob("*.new.ipynb"))
    mine["cells"][0]["source"] = "# My own title"
    file.write_text(json.dumps(mine), encoding="utf-8")
    making.make([SHORT], tmp_path, say=said.append)
    assert json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"] == "# My own title"
    assert (tmp_path / "00_slides.new.ipynb").is_file()
    assert "00_slides.ipynb was changed, so it is kept; the new one is beside it as 00_slides.new.ipynb." in said


def test_an_unknown_lesson_writes_nothing(tmp_path):
    result = CliRunner().invoke(main, ["teach", SHORT, "77", "--to", str(tmp_path / "out")])
    assert (result.exit_code, (tmp_path / "out").exists()) == (1, False)
    assert "There is no lesson 77" in result.stderr


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = CliRunner().invoke(main, ["teach", SHORT, "--to", str(tmp_path / "file" / "out")])
    assert result.exit_code == 1 and "choose another folder with --to" in result.stderr


def test_course_teach_prints_a_plan():
    result = CliRunner().invoke(main, ["teach", "5", "--plan"])
    assert result.exit_code == 0
    assert result.output == sheets.plan_text(plans.plan("05")) + "\n"


# ── Tracks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", tracks.track_names())
def test_a_track_sums_up_and_names_what_is_there(name):
    assert tracks.track_problems(tracks.track(name)) == []


def test_the_three_tracks():
    assert [(name, tracks.track(name).minutes) for name in tracks.track_names()] == [
        ("90-minutes", 90),
        ("half-day", 210),
        ("day", 420),
    ]


@pytest.mark.parametrize("name", ["half-day", "day"])
def test_nobody_sits_longer_than_two_hours(name):
    since, longest = 0, 0
    for block in tracks.track(name).blocks:
        since = 0 if block.kind == "break" else since + block.minutes
        longest = max(longest, since)
    assert longest <= 120


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"lesson": "05", "section": "Nowhere", "minutes": 5}, "lesson 05 has no section 'Nowhere'"),
        ({"lesson": "77", "section": "Nowhere", "minutes": 5}, "lesson 77 has no plan"),
        (
            {"lesson": "05", "section": "Across providers", "minutes": 5},
            "'Across providers' needs 'One reply, several calls', which was skipped: say jump_to = true",
        ),
        (
            {"lesson": "05", "section": "One reply, several calls", "minutes": 5, "jump_to": True},
            "'One reply, several calls' needs nothing that was skipped: drop jump_to = true",
        ),
        (
            {"lesson": "05", "section": "One reply, several calls", "minutes": 50},
            "'One reply, several calls' gets 50 minutes, its plan 7",
        ),
        ({"exercise": "5.1", "minutes": 5}, "exercise 5.1 gets 5 minutes and takes 12"),
        ({"exercise": "5.1", "minutes": 12}, "exercise 5.1 comes before 'One failure loses nothing' was shown"),
        ({"exercise": "5.9", "minutes": 12}, "There is no exercise '5.9': the nearest is '5.3'."),
        ({"test": "during", "minutes": 10}, "there is no test 'during'"),
        ({"minutes": 10}, "a block of 10 minutes says nothing"),
        ({"talk": "quick", "minutes": 0}, "'quick' takes 0 minutes"),
    ],
    ids=[
        "section",
        "lesson",
        "needs",
        "needs_nothing",
        "minutes",
        "short",
        "early",
        "unknown",
        "test",
        "empty",
        "zero",
    ],
)
def test_a_wrong_block_is_found(block, sentence):
    made = tracks.track("90-minutes")
    bad = replace(made, blocks=(*made.blocks, tracks.Block.read(block)), minutes=made.minutes + block["minutes"])
    assert sentence in tracks.track_problems(bad)


def test_minutes_that_do_not_sum_up_are_found():
    made = tracks.track("90-minutes")
    assert tracks.track_problems(replace(made, minutes=91)) == ["the blocks take 90 minutes, the track 91"]


def test_jumping_once_covers_what_lies_above():
    made = tracks.track("90-minutes")
    jump = {"lesson": "05", "section": "One failure loses nothing", "minutes": 9, "jump_to": True}
    later = {"lesson": "05", "section": "Streaming: by index, and not before the end", "minutes": 6}
    blocks = tuple(map(tracks.Block.read, (jump, later)))
    assert tracks.track_problems(replace(made, blocks=(*made.blocks, *blocks), minutes=made.minutes + 15)) == []


def test_the_timetable_tells_clock_skips_and_jumps():
    text = tracks.timetable(tracks.track("day"))
    assert "0:00   10  The before test: course test before\n" in text
    assert "7:00       end\n" in text
    assert "First, in that notebook: jump_to(5) runs what was skipped (" in text
    skipped = tracks.skipped(tracks.track("day"))
    assert "The prompt cache" not in str(skipped) and "Your turn: the workbench" in skipped["02"]
    assert re.search(r"Lessons not used: 07, 08, 11", text)


def test_the_number_to_jump_to_is_that_of_the_lesson():
    from course_kit.classroom.sections import lesson_sections

    for number in NUMBERS:
        numbered = {one.number: one.heading for one in lesson_sections(number)[1:]}
        assert numbered == {place: part.heading for place, part in enumerate(parts(number)) if place}


def test_course_tracks():
    listed = CliRunner().invoke(main, ["tracks"]).output
    assert [line.split()[0] for line in listed.splitlines()[:-1]] == tracks.track_names()
    one = CliRunner().invoke(main, ["tracks", "half-day"])
    assert one.output == tracks.timetable(tracks.track("half-day")) + "\n"
    wrong = CliRunner().invoke(main, ["tracks", "week"])
    assert (wrong.exit_code, wrong.stderr) == (1, "There is no track 'week': choose from 90-minutes, half-day, day.\n")

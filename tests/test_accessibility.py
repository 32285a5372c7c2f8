"""For everyone: what is shown where no widget is drawn, in words and by keyboard, in light and in dark.

The first half needs nothing. The second opens one notebook with every widget in a real JupyterLab, lets axe-core look
at what the course has put into the page, and uses each widget by keyboard alone.
"""

import inspect
import json
import re
import typing
from pathlib import Path

import nbformat
import pytest

import course_kit
from course_kit.classroom import completion, quiz
from course_kit.classroom.shown import Shown

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb")) + sorted(ROOT.glob("[es]*s/*.ipynb"))

SETUP = """
from course_kit import *
from course_kit import tool as make_tool

shop, store = open_shop("shop.sqlite3"), RunStore("runs.sqlite3")
turn = [
    call("refund_order", order_id=id, amount_cents=900, reason="damaged") for id in ("ORD-20260917", "ORD-20260914")
]
client, tools = MockProvider([turn, "All is settled."]).client(), desk_tools(shop)
waiting = run_agent(client, tools=tools, messages="Refund 9.00 each.", approver=decide_later(), store=store)
said = "Please refund 19.99 for order ORD-20260917."
done = run_agent(MockProvider().client(), tools=desk_tools(open_shop()), messages=said, approver=lambda call: True)


@make_tool(effect="read")
def read_log(service: str) -> str:
    \"\"\"Read the log of a service.

    Args:
        service: Such as mail.
    \"\"\"
    return "\\n".join(f"line {number}" for number in range(300))
"""
# What makes it, as a cell; and a plain call that does what its buttons do (`shown` is what the cell shows).
WIDGETS = {
    "approval_panel": (
        "approval_panel(store, waiting.run_id, resume=lambda id: resume_agent(client, store, id, tools=tools))",
        "shown.decide(shown.pending[0].tool_use_id, course_kit.harness.decisions.allow())",
    ),
    "completion_page": ("completion_page('00')", "shown.page()"),
    "crash_button": ("crash_button()", "shown.kill(3)"),
    "error_texts": ("error_texts()", "shown.tell('amount is in cents: 19.99 is 1999')"),
    "interview": ("interview()", "shown.answer(3)"),
    "lesson_map": ("lesson_map()", "shown.rows"),
    "look": ("look(done)", "shown.as_text()"),
    "post_test": ("post_test()", "shown.answer(1, 'a')"),
    "pre_test": ("pre_test()", "shown.answer(1, 'a')"),
    "quiz": ("quiz('00.2')", "shown.answer('a', 'c')"),
    "recall": ("recall()", "shown.answer('01.1', 'a')"),
    "report": ("report(run_suite(lambda job: 'No.', trials=1))", "shown.save()"),
    "search_box": ("search_box(tools, gold={'Where is my parcel?': ['track_parcel']})", "shown.search('a parcel')"),
    "side_by_side": ("side_by_side(done, tools=tools[:1])", "shown.step(2)"),
    "strict_table": ("strict_table()", "shown.rows"),
    "timeline": ("timeline()", "shown.play('rrw')"),
    "token_meter": (
        "token_meter([('Read the log of mail: what is line 3?', 'line 3')] * 3, "
        "{'whole': lambda budget: [read_log], 'again': lambda budget: [read_log]})",
        "shown.turn('whole', 2)",
    ),
    "trace_stepper": ("trace_stepper(done)", "shown.step(2)"),
    "transcript": ("transcript(done)", "shown.step(2)"),
    "trials_and_k": ("trials_and_k()", "shown.set(k=5)"),
    "walk": ("walk('wrong tool', done, meant='refund_order')", "shown.answer('yes')"),
    "workbench": (
        "workbench(tools[0], [('Show me the orders of Lindgren', tools[0].name), ('Hello!', None)])",
        "shown.score('Orders.')",
    ),
}


def makers() -> set[str]:
    """The public functions that say they return something to be shown."""
    found = set()
    for name in course_kit.__all__:
        made = getattr(course_kit, name)
        if not inspect.isfunction(made):
            continue
        try:
            kind = typing.get_type_hints(made).get("return")
        except NameError:  # a type that is imported for the type checker alone: a plot
            continue
        if any(inspect.isclass(each) and issubclass(each, Shown) for each in (kind, *typing.get_args(kind))):
            found.add(name)
    return found


def test_every_widget_is_looked_at_here():
    assert makers() == set(WIDGETS)


@pytest.fixture
def at_work(tmp_path, monkeypatch) -> dict:
    """The names that the cells know, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    names: dict = {"course_kit": course_kit}
    exec(SETUP, names)
    return names


@pytest.mark.parametrize("name", WIDGETS)
def test_where_no_widget_is_drawn_there_are_words_and_a_plain_call(at_work, name):
    import ipywidgets

    source, plain = WIDGETS[name]
    at_work["shown"] = shown = eval(source, at_work)
    bundle = shown._repr_mimebundle_()
    text, page = bundle["text/plain"], bundle["text/html"]
    assert ("application/vnd.jupyter.widget-view+json" in bundle) == isinstance(shown, ipywidgets.Widget)
    assert text == repr(shown) and len(text) > 20 and "children=(" not in text and " object at 0x" not in text
    assert len(re.sub("<[^>]*>", "", page)) > 20
    assert not re.search(r"<script|<iframe|javascript:|<[^>]*\son\w+=", page, re.IGNORECASE)
    assert re.search(r"[a-z]", text)
    answer = eval(plain, at_work)
    assert answer is not None and repr(answer)


def test_reading_a_widgets_text_changes_nothing_in_it(at_work):
    """What a stepper shows is where the reader is, whoever asks for its text."""
    for name in ("transcript", "trace_stepper", "side_by_side"):
        shown = eval(WIDGETS[name][0], at_work)
        shown._repr_mimebundle_()
        assert (name, shown.number.value) == (name, 1)


def test_the_second_of_two_quick_clicks_is_no_fault(at_work):
    """It arrives when the first has done its work, and the button is switched off."""
    pytest.importorskip("ipywidgets")
    panel = eval(WIDGETS["approval_panel"][0], at_work)
    card = next(iter(panel.cards.values()))
    way = eval(WIDGETS["walk"][0], at_work)
    for _ in range(2):
        card.deny.click()
        way.no.click()
    assert "Denied." in card.said.value and "✗" not in card.said.value
    assert way.path == ["no"]


@pytest.mark.parametrize("question", quiz._questions(), ids=lambda question: question.id)
def test_no_fallback_holds_the_key_of_a_question(question):
    bundle = quiz.quiz(question.id)._repr_mimebundle_()
    stored = bundle["text/plain"] + bundle["text/html"]
    for option in question.options:
        assert quiz.to_html(option.why) not in stored and option.why not in stored
    assert not re.search(r"\bright\b(?=['\"]?\s*[:=])|data-right|is_right", stored)


# Pictures in words


def pictures_without_words(notebook: dict) -> list[str]:
    """The cells of a notebook with a picture that says nothing to who cannot see it."""
    found = []
    for number, cell in enumerate(notebook["cells"], 1):
        texts = ["".join(cell["source"])] if cell["cell_type"] == "markdown" else []
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            texts.append("".join(data.get("text/html", "")))
            words = "".join(data.get("text/plain", ""))
            for kind in data:
                described = output.get("metadata", {}).get(kind, {}).get("alt") or words
                if kind.startswith("image/") and (not described or described.startswith("<")):
                    found.append(f"cell {number}: {kind}")
        for text in texts:
            tags = re.findall(r"<img\b[^>]*>", text)
            found += [f"cell {number}: {tag}" for tag in tags if not re.search(r"\balt=([\"'])(?!\1)", tag)]
            found += [f"cell {number}: {mark}" for mark in re.findall(r"!\[\s*\]\([^)]*\)", text)]
    return found


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_picture_of_a_committed_notebook_has_words(file):
    assert pictures_without_words(json.loads(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("cell", "count"),
    [
        ({"cell_type": "markdown", "source": ["![](a.png) and ![a cup](b.png)"]}, 1),
        ({"cell_type": "markdown", "source": '<img src="a.png"><img src="b.png" alt="a cup">'}, 1),
        ({"cell_type": "code", "source": "", "outputs": [{"data": {"text/html": '<img alt="" src="a">'}}]}, 1),
        ({"cell_type": "code", "source": "", "outputs": [{"data": {"image/png": "AA", "text/plain": "<Figure>"}}]}, 1),
        ({"cell_type": "code", "source": "", "outputs": [{"data": {"image/png": "AA", "text/plain": "A cup."}}]}, 0),
    ],
    ids=["markdown", "tag in markdown", "empty alt in a table", "figure", "described figure"],
)
def test_a_picture_without_words_is_found(cell, count):
    assert len(pictures_without_words({"cells": [cell]})) == count


def test_every_picture_of_the_readme_has_words():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    cells = [{"cell_type": "markdown", "source": readme}]
    assert pictures_without_words({"cells": cells}) == []


# Colours: text is read against a ground that we know


NAMED = {"black": "#000000", "white": "#ffffff", "yellow": "#ffff00", "gray": "#808080", "grey": "#808080"}
DECLARED = re.compile(r"(?<![-\w])(color|background|background-color)\s*:\s*(#[0-9a-fA-F]{3,8}|[a-z]+)")
LIGHT, DARK = "#ffffff", "#111111"  # what JupyterLab's two themes lie on


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    digits = NAMED.get(colour, colour).lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits[:6]
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def faint_texts(page: str) -> list[str]:
    """Style declarations whose text may be hard to read: contrast below 4.5:1 in one of the themes."""
    blocks = re.findall(r"style=\"([^\"]*)\"|style='([^']*)'", page)
    blocks = [one or other for one, other in blocks]
    for sheet in re.findall(r"<style>(.*?)</style>", page, re.DOTALL):
        blocks += re.findall(r"\{([^{}]*)\}", sheet)
    found = []
    for block in blocks:
        said = {("ground" if "back" in name else "text"): colour for name, colour in DECLARED.findall(block)}
        said = {part: colour for part, colour in said.items() if colour.startswith("#") or colour in NAMED}
        if not said:
            continue
        grounds = [said["ground"]] if "ground" in said else [LIGHT, DARK]
        texts = [said["text"]] if "text" in said else ["#000000", "#ffffff"]
        worst = min(contrast(text, ground) for text in texts for ground in grounds)
        if worst < 4.5:
            found.append(f"{block.strip()}: {worst:.1f}:1")
    return found


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("#000", "#ffffff", 21.0), ("#777777", "white", 4.48), ("#767676", "#fff", 4.54)],
)
def test_the_contrast_is_that_of_wcag(one, other, expected):
    assert round(contrast(one, other), 2) == expected


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ('<b style="color: #767676">grey</b>', 1),  # enough on white, too little on the dark theme
        ('<b style="color: #ff0000; background: #ffffff">red on white</b>', 1),
        ('<b style="background-color: yellow">only the ground, so that light text is lost on it</b>', 1),
        ("<style>p { color: #1f1f1f; background: #ffffff }</style>", 0),
        ('<b style="border-left: 6px solid #E69F00">a line is no text</b>', 0),
    ],
    ids=["grey", "red", "ground alone", "both", "border"],
)
def test_a_faint_text_is_found(page, count):
    assert len(faint_texts(page)) == count


@pytest.mark.parametrize("name", WIDGETS)
def test_texts_of_the_widgets_stand_out_in_light_and_dark(at_work, name):
    import ipywidgets

    shown = eval(WIDGETS[name][0], at_work)
    pages = [shown._repr_mimebundle_()["text/html"]]
    inside = [shown]
    while inside:
        part = inside.pop()
        inside += getattr(part, "children", ())
        pages += [part.value] if isinstance(part, ipywidgets.HTML) else []
    assert [faint for page in pages for faint in faint_texts(page)] == []


def test_texts_of_the_pages_that_are_written_stand_out(at_work):
    pages = [f"<style>{completion.STYLE}</style>", at_work["trace_stepper"](at_work["done"]).page()]
    assert [faint for page in pages for faint in faint_texts(page)] == []


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_texts_in_committed_outputs_stand_out(file):
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert [faint for page in pages for faint in faint_texts(page)] == []


MOVING = re.compile(r"(?<![-\w])(animation|transition)[-a-z]*\s*:|<marquee|scroll-behavior\s*:\s*smooth|<blink")
ASKED_FIRST = re.compile(r"@media \(prefers-reduced-motion: no-preference\) \{.*?\}\s*\}", re.DOTALL)


def test_nothing_of_ours_moves_where_less_motion_is_asked_for():
    sources = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "course_kit").rglob("*.py")}
    assert [name for name, text in sources.items() if MOVING.search(ASKED_FIRST.sub("", text))] == []
    assert MOVING.search("p { transition: color 1s }") and not MOVING.search("margin-top: 1em")


# In a real JupyterLab


class Page:
    """The notebook with every widget in it, run once; each test uses another widget."""

    def __init__(self, learner, browsing):
        self.learner, self.page, self.expect = learner, learner.page, browsing.expect
        self.tab_to = lambda target: browsing.tab_to(self.page, target)

    def widget(self, name: str):
        """The output of the cell that made it."""
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(1 + list(WIDGETS).index(name))

    def field(self, name: str, label: str):
        return self.widget(name).locator(".jp-OutputArea-output").get_by_label(label, exact=True)

    def button(self, name: str, label: str):
        return self.widget(name).get_by_role("button", name=re.compile(f"{label}$"))  # an arrow may stand before it

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, name: str, option: str) -> None:
        radio = self.widget(name).get_by_role("radio", name=option, exact=True)
        self.tab_to(radio)
        self.press("Space")
        self.expect(radio).to_be_checked()

    def says(self, name: str, text: str) -> None:
        self.expect(self.widget(name).locator(".jp-OutputArea-output").last).to_contain_text(text, timeout=60_000)

    def picture(self, name: str) -> None:
        self.widget(name).locator(".jp-Cell-outputWrapper").screenshot(
            path=self.learner.screenshots / f"widget-{name}.png"
        )


@pytest.fixture(scope="module")
def lab_page(tmp_path_factory):
    browsing = pytest.importorskip("browsing", reason="playwright is not installed")
    if browsing.CHROMIUM is None:
        pytest.skip("no Chromium or Chrome on this machine")

    folder = tmp_path_factory.mktemp("accessibility")
    workspace = folder / "workspace"
    (workspace / "notebooks").mkdir(parents=True)
    (workspace / "notebooks" / "00_start_here.ipynb").write_bytes(NOTEBOOKS[0].read_bytes())
    cells = [SETUP, *(source for source, _ in WIDGETS.values())]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": browsing.KERNEL, "language": "python"}
    nbformat.write(notebook, workspace / "widgets.ipynb")
    with (
        browsing.served(workspace, folder) as (url, token),
        browsing.a_learner(folder, reduced_motion="reduce") as learner,
    ):
        learner.open(f"{url}/lab/tree/widgets.ipynb?token={token}&reset")
        learner.run_all()
        page = Page(learner, browsing)
        page.expect(page.button("workbench", "Measure")).to_be_visible(timeout=60_000)
        page.page.keyboard.press("Control+b")  # the list of files makes room
        yield page
        assert learner.errors == []
        assert learner.hosts == {"127.0.0.1"}


def complaints(page) -> list[str]:
    """What axe-core says of the outputs of our cells, by the rules of WCAG 2.2 A and AA and its own best practices."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = axe.Axe().run(
        page.page,
        context={"include": [[".jp-NotebookPanel .jp-OutputArea-output"]]},
        options={"runOnly": {"type": "tag", "values": tags}},
    )
    assert len(found.response["passes"]) > 15  # it did look
    return [
        f"{violation['id']}: {node['html'][:150]}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_has_nothing_to_say_of_our_outputs(lab_page, theme):
    lab_page.page.get_by_role("menuitem", name="Settings", exact=True).click()
    lab_page.page.locator(".lm-Menu-item[data-type=submenu]", has_text="Theme").first.hover()
    lab_page.page.locator(".lm-Menu-item", has_text=re.compile(f"^{theme}$")).first.click()
    wanted = "false" if theme.endswith("Dark") else "true"
    lab_page.expect(lab_page.page.locator(f"body[data-jp-theme-light={wanted}]")).to_have_count(1)
    lab_page.page.wait_for_timeout(500)
    assert complaints(lab_page) == []


def test_axe_is_really_asked(lab_page):
    """A slider as ipywidgets draws it has no name: this is what is kept out."""
    output = lab_page.widget("look").locator(".jp-OutputArea-output").first
    output.evaluate("output => output.insertAdjacentHTML('beforeend', '<div id=\"bad\" role=slider tabindex=0></div>')")
    try:
        assert any(complaint.startswith("aria-input-field-name") for complaint in complaints(lab_page))
    finally:
        lab_page.page.locator("#bad").evaluate("bad => bad.remove()")


# Each widget, by keyboard alone: what is pressed, and what it says then.


def use_timeline(page):
    page.field("timeline", "Calls of the turn").focus()
    page.type("rrwr")
    page.press("Tab")
    page.expect(page.field("timeline", "At once, at most")).to_be_focused()
    page.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "Tab")
    page.press("Enter")
    page.says("timeline", "4 calls, at most 1 at once")


def use_error_texts(page):
    page.field("error_texts", "Request").focus()
    page.press("ArrowUp", "ArrowUp")
    page.choose("error_texts", "field named")
    page.tab_to(page.field("error_texts", "Text"))
    page.type("amount is in cents")
    page.press("Tab")
    page.press("Enter")
    page.says("error_texts", "amount is in cents")
    page.press("Tab", "Enter")  # the reasons unfold
    page.expect(page.widget("error_texts").locator("details[open]")).to_have_count(1)


def use_search_box(page):
    page.field("search_box", "Query").focus()
    page.type("money back")
    page.says("search_box", "refund_order")
    page.choose("search_box", "regex")
    page.says("search_box", "the pattern matches")
    page.tab_to(page.field("search_box", "Or request"))
    page.press("ArrowUp")
    page.expect(page.field("search_box", "Query")).to_have_value("Where is my parcel?")


def use_token_meter(page):
    page.widget("token_meter").get_by_role("radio", name="whole").focus()
    page.choose("token_meter", "again")
    page.says("token_meter", "again: context")
    page.choose("token_meter", "16,000")
    page.tab_to(page.field("token_meter", "Turn"))
    page.press("ArrowUp")
    page.expect(page.field("token_meter", "Turn")).to_have_value("2")


def use_crash_button(page):
    page.widget("crash_button").get_by_role("radio").first.focus()
    page.press("Space", "Tab", "Tab", "Tab", "Tab")
    page.expect(page.field("crash_button", "Its text")).to_be_focused()
    page.press("Tab")
    page.expect(page.field("crash_button", "Kill before")).to_be_focused()
    page.press("ArrowDown")
    page.says("crash_button", "shop.refund_order(ORDER")
    page.press("ArrowUp")
    page.says("crash_button", 'notes["refund"] = "paid"')
    page.press("Tab", "Enter")
    page.says("crash_button", "the money left 2 times")


def use_trials_and_k(page):
    page.field("trials_and_k", "Trials").focus()
    page.press("ArrowUp", "Tab", "ArrowUp", "Tab")
    page.type("5")
    page.says("trials_and_k", "11 trials of one task, 10 passed")
    page.says("trials_and_k", "pass^5 =")


def use_side_by_side(page):
    page.field("side_by_side", "Step").focus()
    page.press("ArrowUp")
    page.says("side_by_side", "Step 2 of")
    right = page.widget("side_by_side").get_by_role("radio", name="OpenAI Responses").last
    page.tab_to(right)
    page.press("Space")
    page.expect(right).to_be_checked()
    page.expect(page.widget("side_by_side").get_by_role("columnheader", name="OpenAI Responses")).to_have_count(1)


def use_trace_stepper(page):
    page.field("trace_stepper", "Step").focus()
    page.press("ArrowUp")
    page.says("trace_stepper", "[step 2]")
    page.press("Shift+Tab")
    page.expect(page.button("trace_stepper", "Previous")).to_be_focused()
    page.press("Enter")
    page.says("trace_stepper", "[step 1]")
    page.tab_to(page.button("trace_stepper", "Look"))
    page.press("Space")
    page.says("trace_stepper", "5 one variable")


def use_workbench(page):
    page.field("workbench", "Name").focus()
    page.press("Tab")
    page.expect(page.field("workbench", "Description")).to_be_focused()
    page.type("Nothing of use.")
    page.press("Tab")
    page.press("Enter")
    page.says("workbench", "Since the last try:")
    page.press("Tab")
    page.expect(page.field("workbench", "Explain")).to_be_focused()


def use_transcript(page):
    page.button("transcript", "Next").focus()
    page.press("Enter")
    page.says("transcript", "2 · assistant")
    page.press("Shift+Tab", "ArrowUp")
    page.says("transcript", "3 · user")


def use_strict_table(page):
    page.field("strict_table", "Schema").focus()
    page.type('{"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}}')
    page.press("Tab")
    page.press("Enter")
    page.says("strict_table", "minimum: 3")
    page.press("Shift+Tab")
    page.type("nonsense")
    page.press("Tab")
    page.press("Enter")
    page.says("strict_table", "This cannot be read")


def use_walk(page):
    page.button("walk", "Yes").focus()
    page.press("Enter")
    page.expect(page.button("walk", "Back")).to_be_enabled()
    page.tab_to(page.button("walk", "Back"))
    page.press("Enter")
    page.expect(page.button("walk", "Back")).to_be_disabled()


def use_quiz(page):
    boxes = page.widget("quiz").get_by_role("checkbox")
    boxes.first.focus()
    page.press("Space", "Tab", "Tab", "Space", "Tab", "Tab")
    page.expect(page.button("quiz", "Check")).to_be_focused()
    page.press("Enter")
    page.says("quiz", "Right.")


def use_approval_panel(page):
    page.button("approval_panel", "Allow call 1").focus()
    page.tab_to(page.field("approval_panel", "Reason 1"))
    page.type("another cup")
    page.press("Tab", "Enter")
    page.says("approval_panel", "Denied: another cup.")


def use_interview(page):
    page.button("interview", "Show the answer").focus()
    page.press("Enter")
    page.says("interview", "lesson 01")
    page.tab_to(page.button("interview", "Next question"))
    page.press("Enter")
    page.says("interview", "Question 2 of")


def use_pre_test(page):
    page.widget("pre_test").get_by_role("radio").first.focus()
    page.press("Space")
    page.button("pre_test", "Hand in").focus()
    page.press("Enter")
    page.says("pre_test", "Nothing is handed in yet. Answer these first: 2, 3")


BY_KEYBOARD = {name.removeprefix("use_"): use for name, use in list(globals().items()) if name.startswith("use_")}


def test_every_widget_with_something_to_press_is_used_here(at_work):
    import ipywidgets

    live = {name for name, (cell, _) in WIDGETS.items() if isinstance(eval(cell, at_work), ipywidgets.Widget)}
    assert set(BY_KEYBOARD) == live - {"recall", "post_test"}  # they are used as `quiz` and `pre_test` are


@pytest.mark.parametrize("name", BY_KEYBOARD)
def test_each_widget_works_by_keyboard_alone(lab_page, name):
    try:
        BY_KEYBOARD[name](lab_page)
    finally:
        lab_page.picture(name)


# By mouse.


def test_a_number_typed_whole_takes_no_other_along(lab_page):
    """On the way to 30 stands a 3."""
    trials, passed = lab_page.field("trials_and_k", "Trials"), lab_page.field("trials_and_k", "Passed")
    before, stays = trials.input_value(), passed.input_value()
    for number in ("30", before):
        trials.click(click_count=3)
        lab_page.page.keyboard.type(number, delay=100)
        passed.click()
        lab_page.says("trials_and_k", f"{number} trials of one task, {stays} passed")
        lab_page.expect(passed).to_have_value(stays)


def test_a_text_of_your_own_stays_for_the_next_request(lab_page):
    text, request = lab_page.field("error_texts", "Text"), lab_page.field("error_texts", "Request")
    before = request.input_value()
    text.click(click_count=3)
    lab_page.type("cents, please")
    for number in ("6", before):
        request.click(click_count=3)
        lab_page.page.keyboard.type(number)
        lab_page.says("error_texts", "cents, please")
        lab_page.expect(text).to_have_value("cents, please")


CUT = """page => {
    const outputs = ".jp-NotebookPanel .jp-OutputArea-output";
    const cut = [...page.querySelectorAll(`${outputs} button`)].filter(each => each.scrollWidth > each.clientWidth + 1);
    for (const row of page.querySelectorAll(`${outputs} .widget-radio`)) {
        const room = row.getBoundingClientRect();
        for (const label of row.querySelectorAll("label:has(input)")) {
            const [box, dot] = [label, label.querySelector("input")].map(each => each.getBoundingClientRect());
            const beside = Math.abs(dot.top - box.top) < 8 && dot.left <= box.left + 2;
            if (!beside || box.right > room.right + 1 || box.bottom > room.bottom + 1) cut.push(label);
        }
    }
    return cut.map(each => each.innerText) }"""


def test_a_narrow_page_cuts_no_button(lab_page):
    page = lab_page.page
    whole = page.viewport_size
    page.set_viewport_size({"width": 500, "height": 640})
    try:
        page.wait_for_timeout(500)
        assert page.locator("body").evaluate(CUT) == []
    finally:
        page.set_viewport_size(whole)


def test_a_widget_is_reached_from_the_notebook_and_left_again(lab_page):
    """From the cell: Escape to command mode, then Tab leads into its output and on."""
    cell = lab_page.widget("walk")
    cell.locator(".jp-InputPrompt").click()
    lab_page.press("Escape")
    lab_page.tab_to(lab_page.button("walk", "Yes"))
    lab_page.tab_to(lab_page.field("workbench", "Name"))


LOOKS = """element => {
    const look = () => { const style = getComputedStyle(element);
        return [style.outlineStyle, style.outlineWidth, style.outlineColor, style.boxShadow, style.borderColor,
                style.backgroundColor].join() };
    const focused = look(); element.blur(); const plain = look(); element.focus(); return focused !== plain }"""


def test_what_has_the_focus_looks_different(lab_page):
    controls = ".jp-OutputArea-output :is(button, input, select, textarea, summary, a[href]):not(:disabled)"
    lab_page.page.keyboard.press("Shift")  # the last thing used was the keyboard
    seen, alike = 0, []
    for control in lab_page.page.locator(f".jp-NotebookPanel {controls}").all():
        if control.is_visible():
            control.focus()
            seen += 1
            if not control.evaluate(LOOKS):
                alike.append(control.evaluate("element => element.outerHTML.slice(0, 120)"))
    assert seen > 40
    assert alike == []

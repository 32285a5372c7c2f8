"""A learner's first hour in a real JupyterLab, in a real browser: run a lesson, answer by keyboard, come back later."""

import nbformat
import pytest
from browsing import KERNEL, a_learner, expect, needs_browser, served, tab_to

from course_kit import lab
from course_kit.classroom import progress
from course_kit.classroom.workspace import course_files

pytestmark = needs_browser


@pytest.fixture
def learner(tmp_path):
    with a_learner(tmp_path) as one:
        yield one


def write_notebook(file, *sources: str) -> None:
    """A notebook of these cells; one that begins with a heading is text."""
    cells = [
        nbformat.v4.new_markdown_cell(source) if source.startswith("#") else nbformat.v4.new_code_cell(source)
        for source in sources
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": KERNEL, "language": "python"}
    nbformat.write(notebook, file)


def test_an_answer_is_still_there_after_a_reload_and_after_a_restart(learner, workspace, tmp_path):
    lab.sync(workspace, course_files())
    [lesson] = (workspace / "notebooks").glob("01_*.ipynb")
    with served(workspace, tmp_path) as (url, token):
        learner.open(f"{url}/lab/tree/notebooks/{lesson.name}?token={token}&reset")
        expect(learner.page.get_by_role("dialog")).to_have_count(0)  # no questions about news or updates
        learner.run_all()
        expect(learner.page.locator(".jp-OutputArea-output[data-mime-type*='error']")).to_have_count(0)
        learner.page.keyboard.press("Control+b")  # the list of files makes room
        learner.page.set_viewport_size({"width": 1100, "height": 1340})
        learner.picture("lesson-01", top="Step 5: the model goes on", cropped=True)  # the README's: copy it there
        learner.answer_by_keyboard()
        said = learner.feedback()
        learner.picture("answered")

        learner.save()
        learner.page.reload()
        learner.wait_for_kernel()
        assert learner.feedback() == said
        learner.picture("reloaded")

        learner.run_all(restart=True)
        assert learner.feedback() == said
        learner.picture("restarted")

        # The README's second picture, on the same server, with the outputs that the lesson comes with.
        [lesson] = (workspace / "notebooks").glob("03_*.ipynb")
        learner.open(f"{url}/lab/tree/notebooks/{lesson.name}?token={token}&reset")
        learner.page.keyboard.press("Control+b")
        learner.page.set_viewport_size({"width": 1100, "height": 1110})
        learner.picture("lesson-03", top="Write down your guess before you run it", cropped=True)
    assert learner.errors == []
    assert learner.hosts == {"127.0.0.1"}


def test_an_answer_changed_while_a_cell_runs_is_graded_as_it_stands(learner, workspace, tmp_path):
    """ipywidgets holds the second choice back until the first has come, and the press not."""
    lab.sync(workspace, course_files())
    write_notebook(
        workspace / "busy.ipynb", "from course_kit import quiz", "quiz('00.1')", "import time; time.sleep(6)"
    )
    with served(workspace, tmp_path) as (url, token):
        learner.open(f"{url}/lab/tree/busy.ipynb?token={token}&reset")
        learner.run_all()
        page, options = learner.page, learner.quiz.get_by_role("radio")
        page.locator(".jp-CodeCell").last.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
        expect(learner.prompts.last).to_have_text("[*]:")
        for number in (0, 2):
            options.nth(number).focus()
            page.keyboard.press("Space")
            expect(options.nth(number)).to_be_checked()
        learner.quiz.get_by_role("button", name="Check").focus()
        page.keyboard.press("Enter")
        expect(learner.prompts.last).to_have_text("[*]:")  # else this shows nothing
        expect(learner.quiz.get_by_role("status")).to_contain_text("Right.", timeout=60_000)
        expect(options.nth(2)).to_be_checked()
    assert [answer.option_ids for answer in progress.answers()] == [("c",)]
    assert learner.errors == []


# The approval panel of lesson 06, by keyboard alone.

THREE_REFUNDS = """
from course_kit import MockProvider, RunStore, call, decide_later, desk_tools, open_shop, resume_agent, run_agent
from course_kit.classroom.approval_panel import approval_panel

shop, store = open_shop("shop.sqlite3"), RunStore("runs.sqlite3")
turn = [
    call("refund_order", order_id=order_id, amount_cents=900, reason="damaged", note="a\\u202eb")
    for order_id in ("ORD-20260917", "ORD-20260914", "ORD-20260825")
]
client, tools = MockProvider([turn, "All is settled."]).client(), desk_tools(shop)
run = run_agent(client, tools=tools, messages="Refund 9.00 each.", approver=decide_later(), store=store)
"""
PANEL = "approval_panel(store, run.run_id, resume=lambda id: resume_agent(client, store, id, tools=tools), by='Ada')"


def test_calls_are_approved_denied_and_edited_by_keyboard(learner, workspace, tmp_path):
    from course_kit import open_shop

    lab.sync(workspace, course_files())
    write_notebook(workspace / "panel.ipynb", THREE_REFUNDS, PANEL)
    with served(workspace, tmp_path) as (url, token):
        learner.open(f"{url}/lab/tree/panel.ipynb?token={token}&reset")
        learner.run_all()
        page, panel = learner.page, learner.page.locator(".course-approval")
        button = lambda name: panel.get_by_role("button", name=name)  # noqa: E731
        expect(button("Allow call 1")).to_be_visible(timeout=20_000)
        expect(panel.locator("pre").first).to_contain_text("a\\u202eb")  # what the eye cannot see is spelled out
        button("Allow call 1").focus()
        page.keyboard.press("Enter")
        expect(panel).to_contain_text("Allowed", timeout=20_000)

        tab_to(page, panel.get_by_label("Reason 2"))
        page.keyboard.type("another cup")
        page.keyboard.press("Tab")
        expect(button("Deny call 2")).to_be_focused()
        page.keyboard.press("Enter")
        expect(panel).to_contain_text("Denied: another cup.", timeout=20_000)

        area = panel.get_by_label("Input 3 (JSON)")
        tab_to(page, area)
        page.keyboard.press("Control+a")
        page.keyboard.type('{"order_id": "ORD-20260825",}')
        page.keyboard.press("Tab")
        expect(button("Check input 3")).to_be_focused()
        page.keyboard.press("Enter")
        expect(panel).to_contain_text("Nothing was decided", timeout=20_000)
        page.keyboard.press("Shift+Tab")
        expect(area).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type('{"order_id": "ORD-20260825", "amount_cents": 450, "reason": "other"}')
        page.keyboard.press("Tab")
        expect(button("Check input 3")).to_be_focused()
        page.keyboard.press("Enter")  # once: it comes after what was typed
        expect(panel).to_contain_text("This would run", timeout=20_000)
        page.keyboard.press("Tab")
        expect(button("Run call 3 as edited")).to_be_focused()
        page.keyboard.press("Enter")
        expect(panel).to_contain_text("All is settled.", timeout=30_000)
        page.screenshot(path=learner.screenshots / "panel.png")
    paid = [
        (row["order_id"], row["amount_cents"]) for row in open_shop(workspace / "shop.sqlite3", fresh=False).ledger()
    ]
    assert paid[-2:] == [("ORD-20260917", 900), ("ORD-20260825", 450)]
    assert "ORD-20260914" not in [order_id for order_id, _ in paid]
    assert learner.errors == []

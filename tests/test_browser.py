"""A learner's first hour in a real JupyterLab, in a real browser: run a lesson, answer by keyboard, come back later.

Needs Chromium or Chrome on this machine; pictures are kept where COURSE_SCREENSHOTS says.
"""

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from course_kit import lab
from course_kit.classroom.workspace import course_files
from course_kit.doctor import find_browser

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

CHROMIUM = find_browser()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome on this machine")

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SETTINGS = {"@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"}}  # every cell is in the page
KERNEL = "Python 3 (ipykernel)"


@contextlib.contextmanager
def served(workspace: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a workspace as `course lab` does, with settings and folders of its own; yield address and token."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    for name, value in SETTINGS.items():
        file = folder / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value), encoding="utf-8")
    environment = lab.environment(workspace) | {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    command = [*lab.lab_command(workspace, port=port, browser=False), f"--IdentityProvider.token={token}"]
    with open(folder / "lab.log", "wb") as log:
        server = subprocess.Popen(command, cwd=workspace, env=environment, stdout=log, stderr=log)
    try:
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{url}/api/status?token={token}", timeout=1).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline, (folder / "lab.log").read_text("utf-8")
                time.sleep(0.1)
        yield url, token
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


class Learner:
    """What a learner does with mouse and keyboard, and what she sees."""

    def __init__(self, page, screenshots: Path):
        self.page = page
        self.screenshots = screenshots
        self.errors: list[str] = []
        self.hosts: set[str | None] = set()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.hosts.add(urlsplit(request.url).hostname))
        page.on("dialog", lambda dialog: dialog.accept())

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        """The kernel's name and the status bar: "idle" alone is also said while there is no kernel yet."""
        expect(self.page.locator(".jp-NotebookPanel .jp-KernelName")).to_have_text(KERNEL, timeout=30_000)
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text(f"{KERNEL} | Idle", timeout=30_000)

    def menu(self, menu: str, item: str) -> None:
        self.page.get_by_role("menuitem", name=menu, exact=True).click()
        self.page.get_by_role("menuitem", name=re.compile(f"^{item}")).first.click()

    def run_all(self, *, restart: bool = False) -> None:
        self.menu("Edit", "Clear Outputs of All Cells")
        expect(self.prompts.last).to_have_text("[ ]:")
        if restart:
            self.menu("Run", "Restart Kernel and Run All Cells")
            self.page.get_by_role("button", name="Confirm Kernel Restart").click()
        else:
            self.menu("Run", "Run All Cells")
        expect(self.prompts.last).to_have_text(f"[{self.prompts.count()}]:", timeout=120_000)

    def save(self) -> None:
        self.menu("File", "Save Notebook")
        expect(self.page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)

    @property
    def prompts(self):
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell .jp-InputArea-prompt")

    @property
    def quiz(self):
        """The first live quiz with one right answer."""
        return self.page.locator(".course-quiz:has(input[type=radio])").first

    def answer_by_keyboard(self) -> None:
        """Space chooses the second option, Tab leads over the others to the button, Enter presses it."""
        options = self.quiz.get_by_role("radio")
        options.nth(1).focus()
        self.page.keyboard.press("Space")
        expect(options.nth(1)).to_be_checked()
        for _ in range(options.count() - 1):
            self.page.keyboard.press("Tab")
        expect(self.quiz.get_by_role("button", name="Check")).to_be_focused()
        self.page.keyboard.press("Enter")

    def feedback(self) -> str:
        """What the quiz says of the answer, once it says it and shows the option as chosen."""
        status = self.quiz.get_by_role("status")
        expect(status).to_contain_text(re.compile("Right|Not yet"), timeout=20_000)
        expect(self.quiz.get_by_role("radio").nth(1)).to_be_checked()
        return status.inner_text()

    def picture(self, name: str, heading: str = "") -> None:
        """The page as it looks, at the first quiz or with a heading at its top."""
        if heading:
            self.page.get_by_role("heading", name=heading).evaluate("heading => heading.scrollIntoView()")
            self.page.wait_for_timeout(300)
        else:
            self.quiz.scroll_into_view_if_needed()
        self.page.screenshot(path=self.screenshots / f"{name}.png")


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("COURSE_SCREENSHOTS") or tmp_path / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def learner(screenshots: Path) -> Iterator[Learner]:
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield Learner(browser.new_page(viewport={"width": 1280, "height": 900}), screenshots)
        finally:
            browser.close()


def test_an_answer_is_still_there_after_a_reload_and_after_a_restart(learner, workspace, tmp_path):
    lab.sync(workspace, course_files())
    [lesson] = (workspace / "notebooks").glob("01_*.ipynb")
    with served(workspace, tmp_path) as (url, token):
        learner.open(f"{url}/lab/tree/notebooks/{lesson.name}?token={token}&reset")
        expect(learner.page.get_by_role("dialog")).to_have_count(0)  # no questions about news or updates
        learner.run_all()
        expect(learner.page.locator(".jp-OutputArea-output[data-mime-type*='error']")).to_have_count(0)
        learner.page.keyboard.press("Control+b")  # the list of files makes room
        learner.picture("lesson-01", heading="Step 2: the model answers")  # the README's: copy it when it has changed
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
    assert learner.errors == []
    assert learner.hosts == {"127.0.0.1"}


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


def tab_to(page, target) -> None:
    """Press Tab until the target has the focus."""
    for _ in range(30):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"Tab never reaches {target}")


def test_calls_are_approved_denied_and_edited_by_keyboard(learner, workspace, tmp_path):
    import nbformat

    from course_kit import open_shop

    lab.sync(workspace, course_files())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in (THREE_REFUNDS, PANEL)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": KERNEL, "language": "python"}
    nbformat.write(notebook, workspace / "panel.ipynb")
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
        page.keyboard.press("Enter")
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

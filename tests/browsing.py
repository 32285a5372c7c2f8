"""A real JupyterLab with a real browser at it, for the tests that look at the course as a learner does.

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
from course_kit.doctor import find_browser

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=30_000)  # on a busy machine five seconds are few

CHROMIUM = find_browser()
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome on this machine")

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
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 180
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
        expect(self.page.locator(".jp-NotebookPanel .jp-KernelName")).to_have_text(KERNEL, timeout=90_000)
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text(f"{KERNEL} | Idle", timeout=90_000)

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
        expect(self.prompts.last).to_have_text(f"[{self.prompts.count()}]:", timeout=240_000)

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
        expect(status).to_contain_text(re.compile("Right|Not yet"), timeout=60_000)
        expect(self.quiz.get_by_role("radio").nth(1)).to_be_checked()
        return status.inner_text()

    def picture(self, name: str, top: str = "", *, cropped: bool = False) -> None:
        """The page as it looks, at the first quiz or with these words at its top; or of it only the notebook."""
        if top:
            words = self.page.locator(".jp-RenderedMarkdown", has_text=top).first
            words.evaluate("words => words.scrollIntoView()")
            self.page.wait_for_timeout(300)
        else:
            self.quiz.scroll_into_view_if_needed()
        shown = self.page.locator(".jp-NotebookPanel-notebook") if cropped else self.page
        shown.screenshot(path=self.screenshots / f"{name}.png")


@contextlib.contextmanager
def a_learner(folder: Path, **options) -> Iterator[Learner]:
    """A learner with a fresh browser; pictures go to COURSE_SCREENSHOTS, or into the folder given."""
    screenshots = Path(os.environ.get("COURSE_SCREENSHOTS") or folder / "screenshots")
    screenshots.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield Learner(browser.new_page(viewport={"width": 1280, "height": 900}, **options), screenshots)
        finally:
            browser.close()


def tab_to(page, target) -> None:
    """Press Tab until the target has the focus."""
    for _ in range(30):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"Tab never reaches {target}")

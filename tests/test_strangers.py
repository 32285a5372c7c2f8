"""Agent libraries that know nothing of this course complete the refund conversation against `course mock`, over HTTP.

Their dependencies are their own and never this project's. The tests are skipped where the libraries are not installed;
`COURSE_STRANGERS=download` puts them into a throw-away environment (needs uv and a network, about 200 MB), and
`COURSE_STRANGERS=PATH` names the Python of an environment that has them.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parent / "strangers" / "clients.py"
# What is imported, and what is installed for it; each pulls in the SDKs it speaks through.
LIBRARIES = {
    "pydantic_ai": ["pydantic-ai-slim[anthropic,openai]>=2.60"],
    "langgraph": ["langchain>=1.1", "langgraph>=1.2", "langchain-anthropic", "langchain-openai>=1.7"],
    "agents": ["openai-agents>=0.24"],
    "litellm": ["litellm>=1.110"],
}
INTERFACES = {
    "pydantic_ai": ("messages", "chat", "responses"),
    "langgraph": ("messages", "chat", "responses"),
    "agents": ("chat", "responses"),
    "litellm": ("messages", "chat"),
}
WANTED = os.environ.get("COURSE_STRANGERS", "")

CALLS = [
    ["search_orders", {"customer": "Ada Lovelace"}],
    ["refund_order", {"order_id": "ORD-20260917", "amount_cents": 500, "reason": "damaged"}],
]
SAID = (
    "search_orders answered: 1 order_id: ORD-20260917; 1 status: delivered; 1 customer: Ada Lovelace; "
    "1 paid_cents: 4500 (45.00)\nrefund_order answered: refund_id: RFD-0001; order_id: ORD-20260917; "
    "amount_cents: 500 (5.00); reason: damaged; currency: EUR"
)


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> str:
    """A Python that has the libraries; this one, where nothing else is said."""
    if WANTED != "download":
        return WANTED or sys.executable
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("COURSE_STRANGERS=download needs uv: pip install uv")
    folder = tmp_path_factory.mktemp("strangers") / "venv"
    subprocess.run([uv, "venv", "-q", str(folder), "-p", sys.executable], check=True)
    found = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = [name for names in LIBRARIES.values() for name in names]
    subprocess.run([uv, "pip", "install", "-q", "--python", str(found), *wanted], check=True)
    return str(found)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where `course mock` listens, in a process of its own."""
    command = [sys.executable, "-c", "from course_kit.cli import main; main()", "mock", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("listening on http://127.0.0.1:")
            yield line.removeprefix("listening on ").strip()
        finally:
            process.terminate()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_stranger_completes_the_refund_conversation(library, request):
    if not WANTED and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed: set COURSE_STRANGERS=download to try it in a throw-away environment")
    python, url = request.getfixturevalue("python"), request.getfixturevalue("url")
    command = [python, str(CLIENTS), library, url]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, cwd=CLIENTS.parent)
    assert run.returncode == 0, run.stderr[-2000:]
    assert [json.loads(line) for line in run.stdout.splitlines()] == [
        {"interface": interface, "streamed": streamed, "calls": CALLS, "said": SAID}
        for interface in INTERFACES[library]
        for streamed in (False, True)
    ]

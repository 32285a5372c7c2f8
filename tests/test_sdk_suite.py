"""The SDK's own tests of Messages and Models, run against the mock over HTTP.

They come with the SDK's source distribution, so this needs the network once, and is left out unless it is asked for:

    SDK_SUITE=download pytest tests/test_sdk_suite.py -n 0        the source of the installed version, kept in a cache
    SDK_SUITE=/path/to/anthropic-2.14.0 pytest …                  a folder where it lies unpacked

A separate environment is made for them with `uv`. What they ask is a floor (a server of constant answers passes too);
that replies and refusals are right is shown in `test_provider.py` and `test_protocol.py`.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import platformdirs
import pytest

from course_kit.mock.provider import MockProvider

WANTED = os.environ.get("SDK_SUITE", "")
SDK = version("anthropic")
# What its conftest imports, and nothing else that its 300 other test modules need.
NEEDS = [
    f"anthropic[aiohttp]=={SDK}",
    "http-snapshot[httpx]==0.1.9",
    "inline-snapshot>=0.28",
    "pytest",
    "pytest-asyncio",
]
MESSAGES = ["tests/api_resources/test_messages.py", "tests/api_resources/beta/test_messages.py"]
MODELS = ["tests/api_resources/test_models.py", "tests/api_resources/beta/test_models.py"]
pytestmark = pytest.mark.skipif(not WANTED, reason="set SDK_SUITE=download, or to a folder with the SDK's source")


@pytest.fixture(scope="module")
def source() -> Path:
    """The SDK's source distribution, unpacked."""
    folder = Path(WANTED) if WANTED != "download" else downloaded(platformdirs.user_cache_path("course-kit"))
    if not (folder / MESSAGES[0]).is_file():
        pytest.skip(f"{folder} holds no {MESSAGES[0]}: name the unpacked source distribution of anthropic {SDK}")
    return folder


def downloaded(cache: Path) -> Path:
    folder = cache / f"anthropic-{SDK}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        for pip in pips():
            arguments = ["download", "--no-deps", "--no-binary", ":all:", "--dest", str(cache), f"anthropic=={SDK}"]
            done = subprocess.run([*pip, *arguments], capture_output=True, text=True, timeout=300)
            if done.returncode == 0:
                break
        else:
            pytest.skip("the SDK's source could not be downloaded: no pip was found, or there is no network")
        with tarfile.open(cache / f"anthropic-{SDK}.tar.gz") as archive:
            archive.extractall(cache, filter="data")
    return folder


def pips() -> list[list[str]]:
    """Ways to run pip: an environment made by uv has none of its own."""
    found = [[sys.executable, "-m", "pip"], [getattr(sys, "_base_executable", sys.executable), "-m", "pip"]]
    return [["uv", "tool", "run", "pip"], *found] if shutil.which("uv") else found


@pytest.fixture(scope="module")
def python() -> list[str]:
    """How to run Python with what the suite needs."""
    if not shutil.which("uv"):
        pytest.skip("uv makes the environment of the SDK's tests: pip install uv")
    extra = [argument for need in NEEDS for argument in ("--with", need)]
    command = ["uv", "run", "--no-project", "--isolated", "--python", sys.executable, *extra, "python"]
    tried = subprocess.run(
        [*command, "-c", "import http_snapshot, aiohttp"], capture_output=True, text=True, timeout=600
    )
    if tried.returncode:
        pytest.skip(f"the environment of the SDK's tests could not be made: {tried.stderr.strip()[-300:]}")
    return command


def run(python: list[str], source: Path, strictness: str, files: list[str], *options: str) -> dict[str, int]:
    """`{"passed": …, "failed": …}` of these files against a mock of this strictness."""
    with MockProvider(lambda request: "Hello.", strictness=strictness).serve() as server:
        # The suite's own options ask for plugins that only its other tests need.
        own = ["-o", "addopts=", "-p", "tests._alias_httpx", "-p", "no:cacheprovider", "-p", "no:randomly", "-q"]
        environment = {**os.environ, "TEST_API_BASE_URL": server.url}
        done = subprocess.run(
            [*python, "-m", "pytest", *own, *files, *options],
            cwd=source,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
    summary = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", summary)}
    assert counts, done.stdout[-2000:] + done.stderr[-2000:]
    return {"passed": 0, "failed": 0, **counts}


def test_all_core_tests_of_messages_pass(python: list[str], source: Path) -> None:
    assert run(python, source, "default", MESSAGES, "-k", "not with_all_params") == {"passed": 95, "failed": 0}


def test_those_that_fill_every_field_with_filler_pass_by_shape_alone(python: list[str], source: Path) -> None:
    # They break real rules on purpose of nobody, such as `"properties": {"location": "bar"}`.
    assert run(python, source, "default", MESSAGES, "-k", "with_all_params") == {"passed": 0, "failed": 30}
    assert run(python, source, "schema", MESSAGES) == {"passed": 125, "failed": 0}


def test_of_models_pass_those_that_name_one_that_exists(python: list[str], source: Path) -> None:
    # The others ask for "model_id", and for the page after "after_id"; the mock answers 404 and 400.
    assert run(python, source, "default", MODELS, "-k", "list and not all_params") == {"passed": 30, "failed": 0}

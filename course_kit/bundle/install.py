"""Install the course from this folder, without a network: `python install.py` or `python install.py FOLDER`.

This file is in the bundle beside `wheels/` and `bundle.json`. It uses only Python's own library, and an old Python can
read it, too, and say that it is too old.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import Any

__all__ = ["main"]

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = "tool-calling-course"


def main(arguments: list[str]) -> int:
    """Make a virtual environment in a folder and install the course in it; returns the exit code."""
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        return _stop("Usage: python install.py [FOLDER]")
    with open(os.path.join(HERE, "bundle.json"), encoding="utf-8") as file:
        bundle = json.load(file)
    if sys.version_info < (3, 11):  # noqa: UP036
        return _stop(f"This Python is too old: the course needs 3.11 or later. {_made_for(bundle)}")
    wheels = os.path.join(HERE, "wheels")
    damaged = [
        name for name, digest in sorted(bundle["files"].items()) if _digest(os.path.join(wheels, name)) != digest
    ]
    if damaged:
        return _stop(f"This copy of the bundle is damaged ({', '.join(damaged[:3])}): copy the whole folder again.")
    folder = os.path.abspath(arguments[0] if arguments else FOLDER)
    environment = os.path.join(folder, "venv")
    scripts = os.path.join(environment, "Scripts" if os.name == "nt" else "bin")
    python = os.path.join(scripts, "python.exe" if os.name == "nt" else "python")
    print(f"Installing the course in {folder}; this takes a minute.", flush=True)
    try:
        import venv

        venv.EnvBuilder(with_pip=False, clear=True, symlinks=os.name != "nt").create(environment)
    except (ImportError, OSError) as problem:
        return _stop(f"No virtual environment could be made in {folder} ({problem}): name another folder.")
    # pip runs out of its own wheel, so a Python that came without pip will do
    pip = os.path.join(wheels, next(name for name in bundle["files"] if name.startswith("pip-")), "pip")
    command = [python, pip, "install", "--no-index", "--find-links", wheels, "--disable-pip-version-check", "--quiet"]
    # the machine's own settings for pip could name an index or a folder that is not there
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    settings["PIP_CONFIG_FILE"] = os.devnull
    if subprocess.call([*command, bundle["install"]], env=settings) != 0:
        return _stop(f"The installation failed; pip says why above. {_made_for(bundle)}")
    print(f"Done. Start the course with:\n\n    {os.path.join(scripts, 'course')} lab\n")
    return 0


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _made_for(bundle: dict[str, Any]) -> str:
    here = f"{sys.platform}, Python {sys.version_info[0]}.{sys.version_info[1]}"
    return f"This bundle is for: {'; '.join(bundle['made_for'])}. This machine: {here}."


def _stop(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

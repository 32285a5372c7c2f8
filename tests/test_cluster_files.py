"""The files for Codespaces and Binder: their form, and that what they call exists. The services are not run here."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCRIPTS = [ROOT / ".binder" / name for name in ("postBuild", "start")]


def extras_of(command: str) -> list[str]:
    """The extras in `pip install '.[lab]'`."""
    (named,) = re.findall(r"pip install (?:-\S+ )*'\.\[([\w,]+)\]'", command)
    return named.split(",")


def test_the_devcontainer_is_json_and_installs_what_the_lessons_need():
    told = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert set(told) == {"name", "image", "postCreateCommand", "forwardPorts", "portsAttributes", "customizations"}
    assert extras_of(told["postCreateCommand"]) == ["lab"]
    assert set(map(int, told["portsAttributes"])) == set(told["forwardPorts"])
    assert told["customizations"]["vscode"]["extensions"] == ["ms-python.python", "ms-toolsai.jupyter"]


def test_binder_installs_what_the_lessons_need():
    assert extras_of((ROOT / ".binder" / "postBuild").read_text(encoding="utf-8")) == ["lab"]
    assert "lab" in PROJECT["optional-dependencies"]


def test_both_use_a_python_that_the_course_runs_on():
    image = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))["image"]
    binder = (ROOT / ".binder" / "runtime.txt").read_text(encoding="utf-8").strip()
    assert (image.split(":")[1], binder) == ("3.12", "python-3.12")
    assert PROJECT["requires-python"] == ">=3.11"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
@pytest.mark.skipif(os.name == "nt" or not shutil.which("bash"), reason="there is no bash here")
def test_the_scripts_may_be_run_and_are_sound(script):
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


@pytest.mark.skipif(os.name == "nt" or not shutil.which("bash"), reason="there is no bash here")
def test_a_session_has_its_workspace_beside_the_notebooks(tmp_path):
    command = [str(ROOT / ".binder" / "start"), "printenv", "COURSE_WORKSPACE"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).resolve() == (tmp_path / "workspace").resolve()

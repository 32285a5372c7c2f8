"""The README: its figures are those of the benchmarks, its commands and links exist."""

import json
import re
from pathlib import Path

import pytest

from course_kit.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_figures_of_the_simulated_model_are_those_measured():
    file = ROOT / "tests" / "benchmarks" / "results" / "simulated_model.json"
    unseen = json.loads(file.read_text(encoding="utf-8"))["share_right"]["unseen"]
    sentence = f"the right tool in {unseen['right tool']:.0%} of".replace("%", "")
    assert sentence.replace(" of", " of 100") in README.replace("\n", " ")
    assert f"every input in {unseen['all inputs right'] * 100:.0f};" in README.replace("\n", " ")


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`(?:uv run )?course (\w+)", README))))
def test_commands_exist(command):
    assert command in main.commands


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("file", sorted(set(re.findall(r"python (tests/benchmarks/\w+\.py)", README))))
def test_benchmarks_exist(file):
    assert (ROOT / file).exists()

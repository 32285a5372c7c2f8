"""The README: its figures are those of the benchmarks, its commands and links exist."""

import json
import math
import re
from pathlib import Path

import pytest

from course_kit.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def measured(name: str):
    return json.loads((ROOT / "tests" / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def figures() -> dict[str, str]:
    """What the README says was measured, from the files that the benchmarks wrote."""
    mock, loop = measured("mock_overhead"), measured("loop_overhead")["overhead_above_the_bare_client"]
    in_process = [case["ratio"] for case in mock["in_process"]]
    http = [case["ratio"] for case in mock["over_http"]]
    found = {name: f"{row['recall@5']:.1%}" for name, row in measured("tool_search")["figures"]["public"].items()}
    checks = measured("schema_check")["microseconds_per_check"]["valid"]
    unseen = measured("simulated_model")["share_right"]["unseen"]
    local = measured("local_model")["public_cases"]["call_demanded"]
    trials, room = measured("evaluation")["simulated"], measured("marking")["room"]
    reads = math.floor(measured("parallel_reads")["least_of_the_ideal"] * 100)
    return {
        "mock_overhead": f"in process {min(in_process):.1f} to {max(in_process):.1f} times its time; "
        f"over HTTP {min(http) * 100:.0f} to {max(http) * 100:.0f}% of its requests a second",
        "loop_overhead": f"{loop['ours']:.0f} µs; the SDK's tool runner: {loop['runner']:.0f} µs",
        "tool_search": f"BM25 {found['ToolIndex bm25']}, fused with MiniLM {found['ToolIndex fused, MiniLM']}; "
        f"`rank-bm25` {found['rank-bm25, plain words']}, `bm25s` {found['bm25s, its own words']}, "
        f"TF-IDF {found['scikit-learn TF-IDF, words and pairs']}",
        "parallel_reads": f"at least {reads}% of the ideal speed-up",
        "evaluation": f"{trials['trials_per_second']:.0f} a second, {trials['of_them_in_this_run']:,} in one run",
        "marking": f"{room['processor_seconds_per_submission']:.2f} processor-seconds each",
        "schema_check": f"{checks['check_tool_input']:.1f} µs; `jsonschema` "
        f"{checks['jsonschema, cached validator']:.0f} µs, pydantic {checks['pydantic']:.1f} µs",
        "simulated_model": f"right tool {unseen['right tool']:.0%}, every input right {unseen['all inputs right']:.0%}",
        "local_model": f"a valid input in {local['with_grammar']['valid_input']} of "
        f"{local['with_grammar']['requests']} with a grammar, in {local['without_grammar']['valid_input']} without",
    }


@pytest.mark.parametrize("name", figures())
def test_what_is_measured_stands_in_the_results(name):
    assert f"| {figures()[name]} | `{name}.py` |" in README


def test_the_hours_are_the_sum_of_the_minutes():
    minutes = sum(map(int, re.findall(r"\.ipynb\) \| (\d+) \|", README)))
    assert f"About {round(minutes / 60 / 5) * 5} hours, exercises not counted." in README


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`(?:uv run )?course (\w+)", README))))
def test_commands_exist(command):
    assert command in main.commands


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("file", sorted(set(re.findall(r"\| `(\w+\.py)` \|", README))))
def test_benchmarks_exist(file):
    assert (ROOT / "tests" / "benchmarks" / file).exists()

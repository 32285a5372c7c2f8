"""The simulated model on Chinese requests: sixty written here for the desk's six tools, twelve of which need no call.

`data/chinese_requests.jsonl` holds the requests with what is right, `data/chinese_definitions.json` the six definitions
in Chinese; names, types and options are those of the desk. The requests were written before anything was measured, and
the aims below as well; who wrote them had seen the model's short list of words that mean the same.

`data/chinese_requests_more.jsonl` are thirty more, written before the rules for Chinese were: twenty for the desk, ten
for the four tools of `data/chinese_office.json`. Their totals were looked at three times, single answers never.
"""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from course_kit.contract.models import DEFAULT_MODEL
from course_kit.contract.protocol import check_request
from course_kit.contract.schema import conforms
from course_kit.example_tools import desk_tools
from course_kit.mock.simulated import Simulated

DATA = Path(__file__).parent / "data"
RIGHT, INPUTS, SILENT = "right tool", "all inputs right", "silent when none fits"
AIMS = {
    "Chinese definitions": {RIGHT: 0.75, INPUTS: 0.50, SILENT: 0.70},
    # A request shares no word with an English text but numbers, names and the model's list of kindred words.
    "English definitions": {RIGHT: 0.50, INPUTS: 0.35, SILENT: 0.70},
}


def requests() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "chinese_requests.jsonl").read_text(encoding="utf-8").splitlines()]


def definitions(language: str) -> list[dict[str, Any]]:
    """The desk's six tools, their texts in one of the two languages."""
    tools = [tool.definition() for tool in desk_tools(None)]
    texts = json.loads((DATA / "chinese_definitions.json").read_text(encoding="utf-8"))
    if language == "English definitions":
        return tools
    for tool in tools:
        said = texts[tool["name"]]
        tool["description"] = said["description"]
        for name, description in said["inputs"].items():
            tool["input_schema"]["properties"][name]["description"] = description
    return tools


def measured(cases: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, float]:
    """The shares of requests that are answered right."""
    by_name, model = {tool["name"]: tool for tool in tools}, Simulated()
    hits: dict[str, list[bool]] = {RIGHT: [], INPUTS: [], SILENT: []}
    for case in cases:
        body = {"messages": [{"role": "user", "content": case["request"]}], "tools": tools}
        calls = [block for block in model.reply(body).content if block["type"] == "tool_use"]
        if case["tool"] is None:
            hits[SILENT].append(not calls)
            continue
        right = len(calls) == 1 and calls[0]["name"] == case["tool"]
        right = right and conforms(by_name[case["tool"]]["input_schema"], calls[0]["input"])
        hits[RIGHT].append(right)
        hits[INPUTS].append(right and inputs_right(calls[0]["input"], case, by_name[case["tool"]]["input_schema"]))
    return {name: round(sum(found) / len(found), 2) for name, found in hits.items()}


def inputs_right(given: dict[str, Any], case: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Every input that was asked for is there and accepted; beyond them only what the tool would take by default."""
    wanted, properties = case["input"], schema["properties"]
    more = {name: value for name, value in given.items() if name not in wanted}
    return all(given.get(name) in accepted for name, accepted in wanted.items()) and all(
        value is None or value == properties[name].get("default") for name, value in more.items()
    )


# A little under what was measured on 2026-11-30 (.75 .65 .92 and .52 .29 .92): of the aims, one is missed.
FLOORS = {
    "Chinese definitions": {RIGHT: 0.70, INPUTS: 0.58, SILENT: 0.83},
    "English definitions": {RIGHT: 0.46, INPUTS: 0.23, SILENT: 0.83},
}
# Measured on the same day: 16 of 24, 16 of 24, 6 of 6.
FLOORS_OF_MORE = {RIGHT: 15, INPUTS: 14, SILENT: 5}


@pytest.mark.parametrize("language", AIMS)
def test_sixty_requests(language):
    found = measured(requests(), definitions(language))
    print(f"\nsimulated model, 60 Chinese requests, {language}")
    for name, share in found.items():
        aim = AIMS[language][name]
        print(f"{name:24} {share:.2f}   aim {aim:.2f} {'reached' if share >= aim else 'missed'}")
    assert {name: share for name, share in found.items() if share < FLOORS[language][name]} == {}


def test_thirty_more_that_the_rules_were_not_made_with():
    text = (DATA / "chinese_requests_more.jsonl").read_text(encoding="utf-8")
    cases = [json.loads(line) for line in text.splitlines()]
    office = json.loads((DATA / "chinese_office.json").read_text(encoding="utf-8"))
    total = dict.fromkeys(FLOORS_OF_MORE, 0)
    for name, tools in (("desk", definitions("Chinese definitions")), ("office", office)):
        mine = [case for case in cases if case["set"] == name]
        called = sum(case["tool"] is not None for case in mine)
        for what, share in measured(mine, tools).items():
            total[what] += round(share * (len(mine) - called if what == SILENT else called))
    print(f"\nsimulated model, 30 more Chinese requests: {total}")
    assert {what: count for what, count in total.items() if count < FLOORS_OF_MORE[what]} == {}


@pytest.mark.parametrize("language", AIMS)
def test_with_shuffled_labels_the_shares_fall_far_below(language):
    called = [case for case in requests() if case["tool"]]
    labels = [{"tool": case["tool"], "input": case["input"]} for case in called]
    random.Random(0).shuffle(labels)
    silent = [case for case in requests() if case["tool"] is None]
    wrong = [{**case, **label} for case, label in zip(called, labels, strict=True)]
    swapped = [{**case, "tool": None} for case in called] + [{**case, **labels[0]} for case in silent]
    tools = definitions(language)
    found = measured(wrong + silent, tools) | {SILENT: measured(swapped, tools)[SILENT]}
    assert found[RIGHT] < 0.5 * FLOORS[language][RIGHT]
    assert found[INPUTS] < 0.2 * FLOORS[language][INPUTS]
    assert found[SILENT] < 0.5 * FLOORS[language][SILENT]


def test_the_requests_are_what_they_say():
    cases, tools = requests(), {tool["name"]: tool for tool in definitions("Chinese definitions")}
    assert len({case["request"] for case in cases}) == len({case["id"] for case in cases}) == 60
    counts = {name: sum(case["tool"] == name for case in cases) for name in (*tools, None)}
    assert counts == {**dict.fromkeys(tools, 8), None: 12}
    assert all(any("一" <= letter <= "鿿" for letter in case["request"]) for case in cases)
    for case in cases:
        if case["tool"]:
            first = {name: accepted[0] for name, accepted in case["input"].items()}
            assert conforms(tools[case["tool"]]["input_schema"], first), case["id"]


def test_the_chinese_definitions_are_those_of_the_desk_in_other_words():
    english, chinese = definitions("English definitions"), definitions("Chinese definitions")
    body = {"model": DEFAULT_MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "你好"}]}
    assert check_request({**body, "tools": chinese}) == []
    assert [_without_texts(tool) for tool in chinese] == [_without_texts(tool) for tool in english]
    for tool in chinese:
        texts = [tool["description"], *(one["description"] for one in tool["input_schema"]["properties"].values())]
        assert all(any("一" <= letter <= "鿿" for letter in text) for text in texts)


def _without_texts(tool: dict[str, Any]) -> dict[str, Any]:
    tool = copy.deepcopy(tool)
    for part in (tool, *tool["input_schema"]["properties"].values()):
        part.pop("description")
    return tool

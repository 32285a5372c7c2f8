"""The lesson's own catalogue: whole, legal, linted, and its requests as they are described."""

import json
import re
from collections import Counter

import pytest

from course_kit.catalogue import GROUPS, catalogue, catalogue_requests, services
from course_kit.contract.definitions import lint_tools
from course_kit.contract.protocol import check_request
from course_kit.contract.reading import name_words
from course_kit.contract.similarity import content_words
from course_kit.contract.strict import walk_schema
from course_kit.example_tools import definition

TOOLS = catalogue()
NAMES = {tool["name"] for tool in TOOLS}
DESK = ("search_orders", "query_order", "track_parcel", "search_products", "refund_order", "cancel_order")


def test_there_are_some_four_hundred_tools_in_thirteen_services():
    by_service = {service: len(catalogue(service=service)) for service in services()}
    assert sum(by_service.values()) == len(TOOLS) == len(NAMES) == 429
    assert len(by_service) == 13 and min(by_service.values()) >= 24


def test_the_desk_is_among_them_with_its_own_definitions():
    by_name = {tool["name"]: tool for tool in TOOLS}
    assert [by_name[name] for name in DESK] == [definition(name) for name in DESK]


def test_the_operations_assistant_has_sixty_tools_in_four_groups():
    assert {group: len(catalogue(group=group)) for group in GROUPS} == dict.fromkeys(GROUPS, 15)
    assert len(catalogue(group="operations")) == 60
    assert {tool["name"].split("_")[0] for tool in catalogue(group="tickets")} == {"ticket"}


def test_a_request_may_carry_them_all():
    body = {"model": "claude-opus-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    assert check_request({**body, "tools": TOOLS}) == []
    assert check_request({**body, "tools": catalogue("terse")}) == []


def test_every_object_is_closed_and_every_input_described():
    for tool in TOOLS:
        assert set(tool) == {"name", "description", "input_schema"}
        for path, node in walk_schema(tool["input_schema"]):
            if isinstance(node, dict) and "properties" in node:
                assert node["additionalProperties"] is False, tool["name"]
                assert all(one.get("description") for one in node["properties"].values()), (tool["name"], path)


def test_the_linter_has_nothing_to_say_but_that_they_are_many():
    """Names such as `hold_order` are left out: the linter does not know these verbs."""
    found = [finding for finding in lint_tools(TOOLS) if finding.rule != "name-without-verb"]
    assert sorted(finding.rule for finding in found) == ["many-tokens", "many-tools"]
    verbless = [finding.tool for finding in lint_tools(TOOLS) if finding.rule == "name-without-verb"]
    assert len(verbless) <= 35


def test_no_two_descriptions_are_the_same():
    for version in ("better", "terse"):
        texts = Counter(tool["description"] for tool in catalogue(version))
        assert [text for text, times in texts.items() if times > 1 and version == "better"] == []
        assert max(texts.values()) <= 2  # terse ones repeat each other, as engineers do


def test_terse_descriptions_are_short_and_change_nothing_else():
    for better, terse in zip(TOOLS, catalogue("terse"), strict=True):
        assert {**better, "description": ""} == {**terse, "description": ""}
        assert len(terse["description"].split()) <= 7 < len(better["description"].split())


def test_every_tool_that_a_description_sends_to_exists():
    """`use code_search_issues`, `that is hrRequestLeave`: no neighbour is made up."""
    prefixes = {name.split("_")[0] for name in NAMES if "_" in name} - {"search", "query", "find", "get", "list"}
    inputs = {name for tool in TOOLS for name in tool["input_schema"].get("properties", {})}
    named = re.compile(r"\b(?:[a-z]+_[a-z_]+|docs-[a-z-]+|hr[A-Z]\w+)\b")
    for tool in TOOLS:
        for word in named.findall(tool["description"]):
            known = word in NAMES | inputs or word.split("_")[0] not in prefixes or word.endswith(("_id", "_status"))
            assert known, (tool["name"], word)


def test_there_are_two_hundred_requests():
    requests = catalogue_requests()
    assert Counter(one.group for one in requests) == {"named": 100, "indirect": 60, "chinese": 20, "none": 20}
    assert len({one.query for one in requests}) == len({one.id for one in requests}) == 200
    assert {name for one in requests for name in one.gold} <= NAMES
    assert [one.id for one in requests if (one.group == "none") != (not one.gold)] == []
    assert sum(len(one.gold) > 1 for one in requests) >= 10


def test_groups_of_requests_are_what_they_say():
    for one in catalogue_requests():
        own = {word.removesuffix("s") for name in one.gold for word in name_words(name)}
        said = {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", one.query.lower())}
        if one.group in ("named", "indirect"):
            assert bool(own & said) == (one.group == "named"), one
        if one.group == "chinese":
            assert re.search("[一-鿿]", one.query)


def test_requests_do_not_repeat_the_descriptions():
    """No request has five words in a row that stand in a description of its tool."""
    by_name = {tool["name"]: tool["description"].lower() for tool in TOOLS}
    for one in catalogue_requests():
        words = re.findall(r"[\w']+", one.query.lower())
        runs = {" ".join(words[i : i + 5]) for i in range(len(words) - 4)}
        assert not [run for run in runs for name in one.gold if run in by_name[name]], one


def test_neighbours_are_near_on_purpose():
    """Every service has tools that share most words of their names with one elsewhere or beside it."""
    words = {name: content_words(" ".join(name_words(name))) for name in NAMES}
    near = sum(any(len(words[name] & words[other]) >= 2 for other in NAMES - {name}) for name in NAMES)
    assert near / len(NAMES) > 0.6


def test_a_copy_is_given_out():
    catalogue()[0]["input_schema"]["properties"].clear()
    assert catalogue()[0] == TOOLS[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: catalogue("long"), "better", id="descriptions"),
        pytest.param(lambda: catalogue(service="shop"), "desk", id="service"),
        pytest.param(lambda: catalogue(group="desk"), "monitoring", id="group"),
        pytest.param(lambda: catalogue_requests("easy"), "indirect", id="requests"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_data_are_plain_json():
    assert json.loads(json.dumps(TOOLS)) == TOOLS

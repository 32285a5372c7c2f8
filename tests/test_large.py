"""Large objects: kept whole, described by a card, read in pages that are true, and confined to their folder."""

import asyncio
import hashlib
import itertools
import json
import os
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from course_kit.contract.messages import text
from course_kit.errors import ToolError
from course_kit.harness.agent import run_agent, run_agent_async
from course_kit.harness.large import LargeObjects
from course_kit.harness.results import encode_result
from course_kit.harness.tools import definitions, run_tool, tool, toolbox
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call

LOG = "\n".join(["START", *(f"{n:04} INFO order took {n % 7} ms" for n in range(500)), "0500 ERROR disk full"])
ROWS = [{"id": n, "status": "paid" if n % 3 else "packed"} for n in range(300)]


@pytest.fixture
def large(tmp_path):
    return LargeObjects(tmp_path / "large", page=1_000)


def all_pages(read, kind):
    """Every item by following the cursor, and the pages themselves."""
    items, pages, cursor = [], [], None
    while not pages or cursor:
        page = read(cursor)
        pages.append(page)
        items += page[kind]
        cursor = page["next_cursor"]
    return items, pages


def test_the_card_of_a_text(large):
    card = large.keep(LOG, "Night log!")
    assert card == {
        "reference": card["reference"],
        "characters": len(LOG),
        "lines": 502,
        "levels": {"INFO": 500, "ERROR": 1},
        "first_line": "START",
        "last_line": "0500 ERROR disk full",
        "returned": 0,
        "truncated": True,
        "rest": "read_part(reference, cursor) reads on; find_in(reference, text) finds the lines that hold a text",
    }
    assert card["reference"].startswith("night-log-") and (large.folder / card["reference"]).is_file()


def test_the_card_of_a_list(large):
    card = large.keep(ROWS, "orders")
    assert (card["total"], card["summary"]) == (
        300,
        {"id": {"min": 0, "max": 299}, "status": {"paid": 200, "packed": 100}},
    )


def test_the_card_of_a_binary(large):
    card = large.keep(b"%PDF-1.7" + bytes(900), "invoice")
    assert card == {
        "reference": card["reference"],
        "bytes": 908,
        "kind": "application/pdf",
        "rest": "a binary file, not for reading",
    }
    assert (large.folder / card["reference"]).read_bytes() == b"%PDF-1.7" + bytes(900)
    with pytest.raises(ToolError, match="is binary data") as raised:
        large.read(card["reference"])
    assert raised.value.code == "NOT_TEXT"


@pytest.mark.parametrize(
    ("value", "kind", "items"),
    [
        pytest.param(LOG, "lines", LOG.split("\n"), id="text"),
        pytest.param(ROWS, "items", ROWS, id="list"),
        pytest.param({"a": [1, 2]}, "lines", ["{", ' "a": [', "  1,", "  2", " ]", "}"], id="object"),
        pytest.param("a\n\nb", "lines", ["a", "", "b"], id="an_empty_line"),
        pytest.param("a\r\nb\u2028c", "lines", ["a", "b", "c"], id="other_line_ends"),
        pytest.param(["a\nb", None], "items", ["a\nb", None], id="items_with_line_ends"),
        pytest.param("", "lines", [], id="empty"),
        pytest.param([], "items", [], id="empty_list"),
    ],
)
def test_the_pages_add_up_to_the_whole(large, value, kind, items):
    reference = large.keep(value)["reference"]
    found, pages = all_pages(lambda cursor: large.read(reference, cursor), kind)
    assert found == items
    for page in pages:
        assert page["returned"] == len(page[kind]) and page["total"] == len(items)
        assert page["truncated"] is (page["next_cursor"] is not None)
        assert len(encode_result(page)) <= 1_000


def test_a_page_is_never_cut_again_by_a_budget_of_its_size(large):
    reference = large.keep(LOG)["reference"]
    page = large.read(reference)
    assert json.loads(encode_result(page, 1_000)) == page and 10 < page["returned"] < 60


def test_most_lines_and_first(large, monkeypatch):
    monkeypatch.setattr("course_kit.harness.large.MOST_LINES", 2)
    page = large.read(large.keep(ROWS)["reference"], "10")
    assert page == {
        "items": ROWS[10:12],
        "first": 11,
        "total": 300,
        "returned": 2,
        "truncated": True,
        "next_cursor": "12",
    }


def test_a_line_too_long_for_a_page_is_shown_in_part_and_passed(large):
    reference = large.keep("a\n" + "x" * 5_000 + "\nb")["reference"]
    lines, _ = all_pages(lambda cursor: large.read(reference, cursor), "lines")
    assert (lines[0], lines[2]) == ("a", "b") and "characters left out" in lines[1]


def test_find_counts_all_and_pages(large):
    reference = large.keep(LOG)["reference"]
    assert large.find(reference, "error") == {
        "matches": [{"line": 502, "text": "0500 ERROR disk full"}],
        "total": 1,
        "returned": 1,
        "truncated": False,
        "next_cursor": None,
    }
    matches, pages = all_pages(lambda cursor: large.find(reference, "took 3 ms", cursor), "matches")
    assert [match["line"] for match in matches] == [n + 2 for n in range(500) if n % 7 == 3] and len(pages) > 1
    assert large.find(reference, "nowhere")["matches"] == []


def test_the_same_value_has_the_same_reference(large):
    first, again, other = large.keep(LOG), large.keep(LOG), large.keep(LOG + "!")
    assert first == again and first["reference"] != other["reference"]
    assert len(list(large.folder.iterdir())) == 2


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.txt",
        "/etc/passwd",
        "a/b-0123456789.txt",
        "object-0123456789.py",
        "",
        None,
        7,
        "x" * 500,
        "a-0123456789.txt\n",
    ],
)
def test_what_is_no_reference_is_refused(large, reference):
    with pytest.raises(ToolError, match="is not a reference") as raised:
        large.read(reference)
    assert raised.value.code == "BAD_INPUT" and len(str(raised.value)) < 200


def test_an_unknown_reference_names_the_nearest(large):
    card = large.keep(LOG, "log")
    near = card["reference"][:-5] + ("0" if card["reference"][-5] != "0" else "1") + ".txt"
    with pytest.raises(ToolError) as raised:
        large.read(near)
    assert (raised.value.code, raised.value.hint) == ("NOT_FOUND", f"there is {card['reference']}")


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="links need rights on Windows")
def test_a_link_in_the_folder_leads_nowhere(large, tmp_path):
    large.keep(LOG)
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    (large.folder / "object-0123456789.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(ToolError, match="nothing is kept"):
        large.read("object-0123456789.txt")


@pytest.mark.parametrize("cursor", ["-1", "1e3", "٣", 3, "", "502", "99999999999"])
def test_a_cursor_nobody_gave_out(large, cursor):
    with pytest.raises(ToolError) as raised:
        large.read(large.keep(LOG)["reference"], cursor)
    assert raised.value.code == "BAD_INPUT" and "leave cursor out" in raised.value.hint


def test_a_search_for_nothing(large):
    with pytest.raises(ToolError, match="no character to find"):
        large.find(large.keep(LOG)["reference"], " ")


def test_endless_values_are_refused(large):
    with pytest.raises(ValueError, match="too large or endless"):
        large.keep(itertools.repeat("x" * 100_000))
    with pytest.raises(ValueError, match="keep a part of it"):
        large.keep("x" * 20_000_001)


def test_a_page_too_small(tmp_path):
    with pytest.raises(ValueError, match="give 800 or more"):
        LargeObjects(tmp_path, page=500)


def test_the_tools_of_a_model(large):
    tools = large.tools()
    assert [entry.name for entry in tools] == ["read_part", "find_in"]
    assert [entry.input_schema["required"] for entry in tools] == [["reference"], ["reference", "text"]]
    reference = large.keep(LOG)["reference"]
    wish = {"type": "tool_use", "id": "toolu_1", "name": "find_in", "input": {"reference": reference, "text": "ERROR"}}
    assert json.loads(run_tool(wish, tools)["content"])["matches"] == [{"line": 502, "text": "0500 ERROR disk full"}]
    wish = {"type": "tool_use", "id": "toolu_1", "name": "read_part", "input": {"reference": "../x.txt"}}
    assert run_tool(wish, tools)["is_error"]


# Behind the tools of a run


@tool(effect="read", budget=600)
def night_log():
    """Read the night's log."""
    return LOG


@tool(effect="read", budget=600)
async def orders():
    """List the orders."""
    return ROWS


WISH = {"type": "tool_use", "id": "toolu_1", "name": "night_log", "input": {}}


def find_again(request):
    """What a model does that has read the reference."""
    reference = re.search(r"night-log-[0-9a-f]{10}\.txt", json.dumps(request["messages"][-1]))[0]
    return call("find_in", reference=reference, text="ERROR")


def test_a_run_reads_on_where_a_result_went_over_its_budget(large):
    provider = MockProvider([call("night_log"), find_again, "The disk was full."])
    run = run_agent(provider.client(), tools=large.behind([night_log]), messages="What went wrong last night?")
    [first, second] = [message["content"][0]["content"] for message in run.messages if "tool_use_id" in str(message)]
    *lines, note = first.split("\n")
    assert (lines[0], lines[-1]) == ("START", "0500 ERROR disk full") and "characters left out" in first
    assert json.loads(note) == {
        "reference": "night-log-" + hashlib.sha256((LOG + "\n").encode()).hexdigest()[:10] + ".txt",
        "characters": len(LOG),
        "lines": 502,
        "levels": {"INFO": 500, "ERROR": 1},
        "rest": "read_part(reference, cursor) reads on; find_in(reference, text) finds the lines that hold a text",
    }
    assert json.loads(second)["matches"] == [{"line": 502, "text": "0500 ERROR disk full"}]
    assert len(first) <= 600


def test_the_awaited_run_is_the_same(large):
    def steps():
        return [[call("night_log"), call("orders")], find_again, "Done."]

    tools, asked = large.behind([night_log, orders]), "Both, please."
    plain = run_agent(MockProvider(steps()).client(), tools=tools, messages=asked)
    awaited = asyncio.run(run_agent_async(MockProvider(steps()).async_client(), tools=tools, messages=asked))
    assert plain.messages == awaited.messages
    assert "reference" in str(plain.messages[2])


def test_rows_keep_their_summary_beside_the_reference(large):
    told = json.loads(large.encode(ROWS, 600, "orders"))
    assert (told["total"], told["shown"]["total"], told["shown"]["summary"]["status"]) == (
        300,
        300,
        {"paid": 200, "packed": 100},
    )
    items, _ = all_pages(lambda cursor: large.read(told["reference"], cursor), "items")
    assert items == ROWS


@pytest.mark.parametrize("value", [LOG, ROWS, {"orders": ROWS, "next_cursor": "300"}, {"a": LOG, "b": LOG}])
@pytest.mark.parametrize("budget", [20, 100, 250, 400, 999, 3_000])
def test_nothing_grows_past_the_budget(large, value, budget):
    assert len(large.encode(value, budget)) <= budget


@pytest.mark.parametrize(
    "value", [None, "", "4 C", 5, {"a": 1}, [], Decimal("19.90"), ROWS[:3], b"\x00" * 900, [text("x")]]
)
def test_what_fits_is_written_as_ever_and_not_kept(large, value):
    assert large.encode(value, 600) == encode_result(value, 600)
    assert not large.folder.exists()


def test_a_generator_is_read_once_and_kept_whole(large):
    told = json.loads(large.encode((row for row in ROWS), 600))
    assert (told["total"], large.read(told["reference"])["items"][:2]) == (300, ROWS[:2])
    assert large.encode((n for n in range(3)), 600) == "[0, 1, 2]"


def test_without_room_for_a_reference_it_is_cut_as_ever(large):
    assert large.encode(LOG, 120) == encode_result(LOG, 120)


def test_what_cannot_be_kept_is_cut_as_ever_and_no_failure(tmp_path):
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    large = LargeObjects(tmp_path / "file" / "large")
    assert run_tool(WISH, large.behind([night_log])) == run_tool(WISH, [night_log])


@pytest.mark.parametrize("value", [itertools.repeat("x" * 100_000), {"a": itertools.repeat("x" * 100_000)}])
def test_the_endless_is_cut_without_a_reference(large, value):
    told = large.encode(value, 600)
    assert len(told) <= 600 and json.loads(told) and "reference" not in told


def test_the_budget_of_the_run_holds_for_tools_without_one(large):
    tools = large.behind([replace(night_log, budget=None)])
    assert run_tool(WISH, tools)["content"] == LOG
    cut = run_tool(WISH, toolbox(tools, 500))["content"]
    assert len(cut) <= 500 and '"reference": "night-log-' in cut
    # A page is as long as its `LargeObjects` says, whatever the run allows.
    assert [one.budget for one in toolbox(tools, 500).values()] == [500, 1_000, 1_000]


def test_definitions_stay_as_they_are(large):
    server = {"type": "web_search_20260209", "name": "web_search"}
    tools = large.behind([night_log, server])
    assert definitions(tools) == definitions([night_log, server, *large.tools()])

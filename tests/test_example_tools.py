"""The lessons' tools: what a model is told about them, and what they do when it calls."""

import os
import re

import pytest

from course_kit.contract.messages import tool_use
from course_kit.errors import ToolError
from course_kit.example_tools import definition, desk_tools, file_tools, get_weather
from course_kit.harness.tools import definitions, run_tool
from course_kit.shop import CANCEL_REASONS, ORDER_STATUSES, REFUND_REASONS, open_shop

STORY = "ORD-20260917"
DESK = ("cancel_order", "query_order", "refund_order", "search_orders", "search_products", "track_parcel")
ALL = (*DESK, "get_weather", "grep", "read_file", "write_file")


@pytest.fixture
def shop(tmp_path):
    return open_shop(tmp_path / "desk.sqlite3")


def by_name(tools):
    return {entry.name: entry for entry in tools}


# ---- what the model reads ----


def test_the_desk_has_its_six_tools(shop):
    assert tuple(entry["name"] for entry in definitions(desk_tools(shop))) == DESK
    effects = {entry.name: entry.effect for entry in desk_tools(shop)}
    assert effects == {
        "search_orders": "read",
        "query_order": "read",
        "track_parcel": "read",
        "search_products": "read",
        "refund_order": "irreversible",
        "cancel_order": "write",
    }
    assert [entry.name for entry in desk_tools(shop) if entry.needs_approval] == ["refund_order"]


def test_refund_order_is_the_curriculums():
    schema = definition("refund_order")["input_schema"]
    bare = {name: {key: one[key] for key in one if key != "description"} for name, one in schema["properties"].items()}
    assert {**schema, "properties": bare} == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"},
            "amount_cents": {"type": "integer", "minimum": 1},
            "reason": {"type": "string", "enum": ["damaged", "not_received", "wrong_item", "other"]},
            "note": {"type": "string", "maxLength": 200},
        },
        "required": ["order_id", "amount_cents", "reason"],
        "additionalProperties": False,
    }
    told = {name: one["description"] for name, one in schema["properties"].items()}
    assert STORY in told["order_id"] and "19.99 is 1999" in told["amount_cents"] and "200 characters" in told["note"]


def test_enums_are_the_shops_own():
    enums = {
        (name, key): tuple(one["enum"])
        for name in DESK
        for key, one in definition(name)["input_schema"]["properties"].items()
        if "enum" in one
    }
    assert enums == {
        ("refund_order", "reason"): REFUND_REASONS,
        ("cancel_order", "reason"): CANCEL_REASONS,
        ("search_orders", "status"): ORDER_STATUSES,
    }


@pytest.mark.parametrize("name", ALL)
def test_every_definition_answers_the_five_questions(name):
    entry = definition(name)
    said = entry["description"]
    assert re.search(r"\bNot (for|what)\b|read it first", said), "no boundary"
    assert "Returns" in said, "does not say what comes back"
    if name in DESK:
        assert re.search(r"use (\w+_\w+)", said)
    neighbours = set(re.findall(r"\(use (\w+)\)", said)) | set(re.findall(r"with (\w+_\w+) when", said))
    assert neighbours <= set(ALL) - {name}, "points to a tool that is not there"
    assert not entry["input_schema"]["additionalProperties"]
    for key, one in entry["input_schema"]["properties"].items():
        assert len(one.get("description", "")) > 20, key
        if key == "limit":
            assert {"minimum", "maximum", "default"} <= one.keys()
            assert str(one["maximum"]) in one["description"] and str(one["default"]) in one["description"]
        if "pattern" in one:
            [example] = re.findall(r"such as ([A-Z]+-[0-9]+)", one["description"])
            assert re.search(one["pattern"], example)


def test_an_unknown_definition_lists_the_known():
    with pytest.raises(ValueError, match="take one of cancel_order, get_weather, grep, query_order"):
        definition("search_data")


# ---- the desk at work ----


def test_calls_reach_the_shop(shop):
    tools = desk_tools(shop)
    calls = {
        "search_orders": {"customer": "Lindgren", "limit": 1},
        "query_order": {"order_id": STORY},
        "track_parcel": {"order_id": STORY},
        "search_products": {"query": "cup", "limit": 2, "cursor": "2"},
        "refund_order": {"order_id": STORY, "amount_cents": 1999, "reason": "damaged", "note": "Broken."},
        "cancel_order": {"order_id": "ORD-20260934", "reason": "ordered_twice"},
    }
    results = {name: run_tool(tool_use("toolu_1", name, input), tools) for name, input in calls.items()}
    assert not [name for name, result in results.items() if result.get("is_error")]
    assert '"total": 2' in results["search_orders"]["content"]
    assert '"next_cursor": "4"' in results["search_products"]["content"]
    assert shop.ledger(STORY)[0]["note"] == "Broken."
    assert shop.query_order("ORD-20260934")["status"] == "cancelled"


@pytest.mark.parametrize(
    "input",
    [
        {"order_id": "917", "amount_cents": 1999, "reason": "damaged"},
        {"order_id": STORY, "amount_cents": 19.99, "reason": "damaged"},
        {"order_id": STORY, "amount_cents": 1999, "reason": "broken"},
        {"order_id": STORY, "amount_cents": 1999, "reason": "damaged", "note": "x" * 201},
        {"order_id": STORY, "amount_cents": 1999, "reason": "damaged", "currency": "EUR"},
        {"order_id": STORY, "amount_cents": 2000, "reason": "damaged"},
    ],
    ids=["order_id", "amount_cents", "reason", "note", "extra", "over_what_was_paid"],
)
def test_a_bad_refund_is_an_error_result_and_pays_nothing(shop, input):
    result = run_tool(tool_use("toolu_1", "refund_order", input), desk_tools(shop))
    assert result["is_error"] is True
    assert shop.ledger(STORY) == []


def test_a_shop_error_brings_its_code_and_hint(shop):
    result = run_tool(tool_use("toolu_1", "query_order", {"order_id": "ORD-20260999"}), desk_tools(shop))
    assert "NOT_FOUND" in result["content"] and "look it up with search_orders" in result["content"]


def test_a_task_pays_each_refund_once(shop):
    input = {"order_id": STORY, "amount_cents": 500, "reason": "damaged"}
    for task in ("ticket-1", "ticket-1", None, None, "ticket-2"):
        refund = by_name(desk_tools(shop, task=task))["refund_order"]
        assert refund.idempotent is (task is not None)
        refund.function(**input) if len(shop.ledger(STORY)) < 3 else None
    assert [row["idempotency_key"] for row in shop.ledger(STORY)] == [
        f"ticket-1/refund_order/{STORY}/500",
        None,
        None,
    ]


# ---- files ----


@pytest.fixture
def files(tmp_path):
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "App.tsx").write_text("one\ntwo é\nthree\n", encoding="utf-8")
    (root / "picture.png").write_bytes(b"\x89PNG\xff\xfe three")
    (tmp_path / "secret.txt").write_text("three secrets", encoding="utf-8")
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "a.txt").write_text("three", encoding="utf-8")
    return by_name(file_tools(root))


def code(call, *args, **kwargs):
    with pytest.raises(ToolError) as caught:
        call(*args, **kwargs)
    return caught.value.code


def test_read_file_whole_and_in_parts(files):
    read = files["read_file"]
    assert read("src/App.tsx") == {
        "text": "one\ntwo é\nthree\n",
        "first_line": 1,
        "returned_lines": 3,
        "total_lines": 3,
        "truncated": False,
        "next_offset": None,
    }
    assert read("src/App.tsx", offset=1, limit=1) == {
        "text": "two é\n",
        "first_line": 2,
        "returned_lines": 1,
        "total_lines": 3,
        "truncated": True,
        "next_offset": 2,
    }


def test_read_file_failures(files):
    with pytest.raises(ToolError) as caught:
        files["read_file"]("src/app.ts")
    assert (caught.value.code, caught.value.hint) == ("NOT_FOUND", "there is 'src/App.tsx'")
    assert code(files["read_file"], "picture.png") == "NOT_TEXT"
    assert code(files["read_file"], "src") == "IS_A_FOLDER"


OUTSIDE = ["../secret.txt", "src/../../secret.txt", "/etc/hosts", "..", "..\\secret.txt", "../root-twin/a.txt", "a\0b"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_outside(files, tmp_path, path):
    assert code(files["read_file"], path) == "NOT_ALLOWED"
    assert code(files["write_file"], path, "mine now") == "NOT_ALLOWED"
    assert code(files["grep"], "three", path) == "NOT_ALLOWED"
    assert (tmp_path / "secret.txt").read_text(encoding="utf-8") == "three secrets"


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege on Windows")
def test_no_link_leads_outside(files, tmp_path):
    root = tmp_path / "root"
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "way").symlink_to(tmp_path)
    (root / "circle").symlink_to(root / "circle")
    (root / "alias.tsx").symlink_to(root / "src" / "App.tsx")
    for path in ("link.txt", "way/secret.txt", "circle"):
        assert code(files["read_file"], path) in ("NOT_ALLOWED", "NOT_FOUND"), path
    for path in ("link.txt", "way/new.txt"):
        assert code(files["write_file"], path, "mine now") == "NOT_ALLOWED"
    assert {match["path"] for match in files["grep"]("three")["matches"]} <= {"src/App.tsx", "alias.tsx"}
    assert files["read_file"]("alias.tsx")["total_lines"] == 3
    assert (tmp_path / "secret.txt").read_text(encoding="utf-8") == "three secrets"
    assert not (tmp_path / "new.txt").exists()


def test_write_file(files, tmp_path):
    assert files["write_file"]("new/deep/été.txt", "déjà\r\nvu") == {
        "path": "new/deep/été.txt",
        "bytes": 10,
        "replaced": False,
    }
    assert (tmp_path / "root/new/deep/été.txt").read_bytes() == "déjà\r\nvu".encode()
    assert files["write_file"]("new/deep/été.txt", "")["replaced"] is True
    assert code(files["write_file"], "src", "x") == "IS_A_FOLDER"
    assert code(files["write_file"], "src/App.tsx/below", "x") == "NOT_WRITTEN"


def test_grep(files):
    assert files["grep"]("t") == {
        "matches": [
            {"path": "src/App.tsx", "line": 2, "text": "two é"},
            {"path": "src/App.tsx", "line": 3, "text": "three"},
        ],
        "total": 2,
        "returned": 2,
        "truncated": False,
    }
    cut = files["grep"]("t", "src", limit=1)
    assert (cut["total"], cut["returned"], cut["truncated"]) == (2, 1, True)
    assert files["grep"](".*") == {"matches": [], "total": 0, "returned": 0, "truncated": False}
    assert files["grep"]("three", "src/App.tsx")["total"] == 1
    assert code(files["grep"], "t", "lib") == "NOT_FOUND"


# ---- weather ----


def test_the_two_cities_differ():
    assert get_weather("Hangzhou") == {"city": "Hangzhou", "temperature_c": 27, "sky": "sunny"}
    assert get_weather(" shanghai ") == {"city": "Shanghai", "temperature_c": 25, "sky": "cloudy"}
    assert (get_weather("Oslo")["temperature_c"], get_weather("Lima")["temperature_c"]) == (4, 19)
    assert (get_weather.effect, get_weather.needs_approval) == ("read", False)


def test_an_unknown_city_lists_the_known():
    with pytest.raises(ToolError) as caught:
        get_weather("Atlantis")
    assert caught.value.code == "NOT_FOUND" and "Oslo, Lima, Hangzhou" in caught.value.hint

"""What a tool returned, as the content of its result."""

import itertools
import json
import sqlite3
import time
from collections import Counter, OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from unittest.mock import Mock
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.contract.messages import text
from course_kit.errors import ToolError
from course_kit.harness.results import NO_MESSAGE, NO_OUTPUT, cut_text, encode_result, envelope, error_text, text_only
from course_kit.harness.summaries import summary_of_rows, summary_of_text


def strict(text):
    """The value of a JSON text, by a reader that takes no `NaN` and no `Infinity`."""

    def fail(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=fail)


class Status(Enum):
    OPEN = "open"


class Word(StrEnum):
    YES = "yes"


@dataclass
class Item:
    sku: str
    price: Decimal


Point = namedtuple("Point", "x y")


class Widget:
    pass


class Hostile:
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __iter__ = __len__ = keys = model_dump = __str__


# Text and nothing


@pytest.mark.parametrize(
    ("value", "content"),
    [
        pytest.param("4 C", "4 C", id="text"),
        pytest.param('{"a": 1}', '{"a": 1}', id="text_that_is_json"),
        pytest.param("café ✅ 🧪", "café ✅ 🧪", id="letters_are_not_escaped"),
        pytest.param(b"total 0\n", "total 0\n", id="bytes_that_are_text"),
        pytest.param(bytearray(b"total 0\n"), "total 0\n", id="a_bytearray_that_is_text"),
        pytest.param(memoryview(b"total 0\n"), "total 0\n", id="a_memoryview_that_is_text"),
        pytest.param(Word.YES, "yes", id="an_enum_that_is_text"),
    ],
)
def test_text_stays_itself(value, content):
    assert encode_result(value) == content


@pytest.mark.parametrize("value", [None, "", " \n\t", b"", [{"type": "text", "text": ""}]])
def test_fr17_no_output_is_said_in_words(value):
    assert encode_result(value) == NO_OUTPUT == "(no output)"


@pytest.mark.parametrize(("value", "text"), [([], "[]"), ({}, "{}"), (0, "0"), (False, "false")])
def test_fr17_an_empty_value_is_an_answer(value, text):
    assert encode_result(value) == text


def test_fr17_empty_text_blocks_are_dropped_and_others_kept():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    blocks = [{"type": "text", "text": "  "}, image, {"type": "text", "text": "a cup"}]
    assert encode_result(blocks) == [image, {"type": "text", "text": "a cup"}]


def test_fr17_an_error_keeps_its_text_only_and_always_has_some():
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    text = {"type": "text", "text": "boom"}
    assert text_only([image, text, {"type": "text", "text": " "}]) == [text]
    assert text_only("boom") == "boom"
    assert [text_only([image]), text_only([]), text_only(""), text_only(None)] == [NO_MESSAGE] * 4
    assert error_text("") == error_text(" \n") == NO_MESSAGE


def test_data_that_has_a_type_is_not_taken_for_a_block():
    rows = [{"type": "document", "id": 3}, {"type": "image", "id": 4}]
    assert strict(encode_result(rows)) == rows
    assert strict(encode_result([{"type": "text", "text": 5}])) == [{"type": "text", "text": 5}]
    assert strict(encode_result([{"type": "text", "text": "a"}, 1])) == [{"type": "text", "text": "a"}, 1]
    assert strict(encode_result([{"type": "order", "id": 3}])) == [{"type": "order", "id": 3}]
    assert encode_result(({"type": "text", "text": "a"},)) == [{"type": "text", "text": "a"}]


def test_references_to_tools_stand_alone():
    reference = {"type": "tool_reference", "tool_name": "query_order"}
    assert encode_result([{"type": "text", "text": "found"}, reference]) == [reference]


def test_the_text_of_blocks_shares_the_budget():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 5_000}}
    short, first, last = encode_result(
        [{"type": "text", "text": "short"}, image, {"type": "text", "text": "x" * 9_000}], budget=500
    )
    assert (short, first) == ({"type": "text", "text": "short"}, image)
    assert len(last["text"]) == 495
    one, two = encode_result([{"type": "text", "text": "x" * 400, "citations": []}, text("y" * 400)], budget=300)
    assert [len(one["text"]), len(two["text"])] == [150, 150]
    assert (one, two) == ({"type": "text", "text": one["text"], "citations": []}, text(two["text"]))


# Values


def test_fr18_every_value_of_the_report():
    value = {
        "when": datetime(2026, 11, 30, 9, 0, tzinfo=UTC),
        "price": Decimal("19.90"),
        "mean": float("nan"),
        "tag": b"\x00\xff",
        "ids": {3, 1},
    }
    assert strict(encode_result(value)) == {
        "when": "2026-11-30T09:00:00+00:00",
        "price": "19.90",
        "mean": "NaN",
        "tag": {"bytes": 2, "base64": "AP8="},
        "ids": [1, 3],
    }


CYCLE: list = [1]
CYCLE.append(CYCLE)
SHARED = [1]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        pytest.param(True, True, id="bool"),
        pytest.param([1, 2.5, None], [1, 2.5, None], id="list"),
        pytest.param((1, (2,)), [1, [2]], id="tuple"),
        pytest.param(float("inf"), "Infinity", id="infinity"),
        pytest.param([float("-inf")], ["-Infinity"], id="minus_infinity"),
        pytest.param(Decimal("NaN"), "NaN", id="decimal_nan"),
        pytest.param(10**6_000, "(an integer of 19932 bits)", id="an_integer_no_reader_takes"),
        pytest.param(date(2026, 11, 30), "2026-11-30", id="date"),
        pytest.param(
            datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=8))), "2026-01-02T00:00:00+08:00", id="offset_kept"
        ),
        pytest.param(timedelta(hours=26), "1 day, 2:00:00", id="timedelta"),
        pytest.param(frozenset({"b", "a"}), ["a", "b"], id="set_of_text"),
        pytest.param({10, 9, 1.5, float("nan")}, [1.5, 9, 10, "NaN"], id="set_of_numbers"),
        pytest.param({"a", 1, None}, ["a", 1, None], id="mixed_set"),
        pytest.param({frozenset({2}), frozenset({1, 3})}, [[1, 3], [2]], id="set_of_sets"),
        pytest.param(Item("cup", Decimal("19.90")), {"sku": "cup", "price": "19.90"}, id="dataclass"),
        pytest.param(Point(1, 2), {"x": 1, "y": 2}, id="named_tuple"),
        pytest.param([Status.OPEN], ["open"], id="enum"),
        pytest.param(UUID(int=7), "00000000-0000-0000-0000-000000000007", id="uuid"),
        pytest.param([PurePosixPath("a/b")], ["a/b"], id="path"),
        pytest.param(OrderedDict(a=Counter("aa")), {"a": {"a": 2}}, id="mappings"),
        pytest.param(range(3), [0, 1, 2], id="range"),
        pytest.param((n * n for n in range(3)), [0, 1, 4], id="generator"),
        pytest.param(
            {2: "a", None: "b", True: "c", 1.5: "d"}, {"2": "a", "null": "b", "true": "c", "1.5": "d"}, id="keys"
        ),
        pytest.param({1: "a", "1": "b"}, {"1": "a", "1_": "b"}, id="keys_that_json_would_make_one"),
        pytest.param({(1, "x"): 2, date(2026, 1, 1): 3}, {'[1, "x"]': 2, "2026-01-01": 3}, id="other_keys"),
        pytest.param(CYCLE, [1, "(circular reference)"], id="cycle"),
        pytest.param([SHARED, SHARED], [[1], [1]], id="twice_is_no_cycle"),
        pytest.param([Widget(), Widget], ["Widget", "type: <class 'test_results.Widget'>"], id="unknown"),
        pytest.param(
            [object(), len], ["object", "builtin_function_or_method: <built-in function len>"], id="no_address"
        ),
        pytest.param({"m": Mock()}, {"m": "Mock: <Mock>"}, id="mock"),
        pytest.param([Hostile()], ["Hostile"], id="hostile"),
        pytest.param({"f": ValueError("x")}, {"f": "ValueError: x"}, id="exception"),
        pytest.param([b"caf\xc3\xa9", bytearray(b"\x01")], ["café", {"bytes": 1, "base64": "AQ=="}], id="bytes"),
        pytest.param(b"\xff" * 4_000, {"bytes": 4_000, "left_out": "binary data"}, id="many_bytes"),
    ],
)
def test_fr18_values_become_json(value, data):
    assert strict(encode_result(value)) == data


def test_rows_of_a_database():
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    rows = database.execute("select 7 as id, 'cup' as name union select 8, 'pot'")
    assert strict(encode_result(rows.fetchall())) == [{"id": 7, "name": "cup"}, {"id": 8, "name": "pot"}]
    database.close()


def test_pydantic_models():
    pydantic = pytest.importorskip("pydantic")
    Order = pydantic.create_model("Order", id=(str, ...), paid=(Decimal, ...))
    assert strict(encode_result([Order(id="ORD-1", paid="19.90")])) == [{"id": "ORD-1", "paid": "19.90"}]


def test_numpy_and_pandas():
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    values = [np.int64(3), np.float32(0.5), np.bool_(True), np.array([[1, 2]]), np.array(4), np.float64("nan")]
    assert strict(encode_result(values)) == [3, 0.5, True, [[1, 2]], 4, "NaN"]
    assert strict(encode_result(np.datetime64("2026-01-01T00:00:00", "ns"))) == "2026-01-01T00:00:00.000000000"
    frame = pd.DataFrame({"city": ["Oslo", "Lima"], "at": pd.to_datetime(["2026-01-01", None])})
    assert strict(encode_result(frame)) == [
        {"city": "Oslo", "at": "2026-01-01T00:00:00"},
        {"city": "Lima", "at": "NaT"},
    ]
    assert strict(encode_result(frame.groupby("city").size())) == {"Lima": 1, "Oslo": 1}
    assert strict(encode_result(pd.DataFrame({"n": [1]}, index=pd.Index(["a"], name="key")))) == [{"key": "a", "n": 1}]
    assert strict(encode_result(pd.Series([1, 2], index=["x", "x"]))) == [1, 2]
    cut = strict(encode_result(pd.DataFrame({"n": range(200_000)}), budget=1_000))
    assert (cut["total"], cut["truncated"], cut["items"][0]) == (200_000, True, {"n": 0})


def test_deep_nesting_is_cut_and_not_raised():
    value = "end"
    for _ in range(100_000):
        value = [value]
    data, depth = strict(encode_result(value)), 0
    while isinstance(data, list):
        (data,), depth = data, depth + 1
    assert (data, depth) == ("(nested more than 50 deep)", 50)


def test_a_generator_that_breaks_is_the_tools_failure():
    def lines():
        yield "first"
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError, match="lost"):
        encode_result(lines())


# Budgets


def test_fr19_a_traceback_keeps_its_first_and_its_last_line():
    last = "ModuleNotFoundError: No module named 'numpy'"
    lines = ["Traceback (most recent call last):", *(f'  File "a.py", line {n}' for n in range(398)), last]
    text = "\n".join(lines)
    cut = encode_result(text, budget=1_000)
    head, tail = cut.split("\n[… ")
    number, tail = tail.split(" characters left out …]\n")
    assert 900 < len(cut) <= 1_000
    assert head.splitlines()[0] == lines[0] and tail.splitlines()[-1] == last
    assert len(head) + int(number) + len(tail) == len(text)
    assert text.startswith(head) and text.endswith(tail)
    assert set(cut.splitlines()) - set(lines) == {"", f"[… {number} characters left out …]"}, "whole lines only"
    assert error_text(text) == encode_result(text, budget=2_000)


def test_fr19_a_long_last_line_stays_whole():
    last = "E" * 700
    cut = cut_text("first\n" + "middle\n" * 500 + last, 1_000)
    assert cut.startswith("first\n") and cut.endswith("\n" + last) and len(cut) <= 1_000


def test_fr19_at_the_limit_nothing_is_touched():
    assert encode_result("x" * 1_000, budget=1_000) == "x" * 1_000
    assert 990 < len(encode_result("x" * 1_001, budget=1_000)) <= 1_000
    numbers = list(range(100))
    assert encode_result(numbers, budget=len(json.dumps(numbers))) == json.dumps(numbers)


def test_fr19_lone_surrogates_become_the_replacement_character():
    name = b"report_\xff.txt".decode("utf-8", "surrogateescape")
    assert encode_result(name) == "report_\ufffd.txt"
    assert strict(encode_result({name: [name]})) == {"report_\ufffd.txt": ["report_\ufffd.txt"]}
    assert encode_result([{"type": "text", "text": name}]) == [{"type": "text", "text": "report_\ufffd.txt"}]
    assert encode_result("\ud83d\ude00 \ud83d.") == "😀 \ufffd.", "two halves are one character"
    assert error_text(ValueError(name)) == "ValueError: report_\ufffd.txt"


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧", "👍🏽", "🇳🇴", "e\u0301", "❤️"])
def test_fr19_a_character_at_the_cut_stays_whole(cluster):
    for shift in range(12):
        cut = cut_text("." * shift + cluster * 100, 120)
        head, tail = cut.split("\n[…")[0], cut.split("…]\n")[1]
        assert head == "." * shift + cluster * head.count(cluster)
        assert tail == cluster * tail.count(cluster)


@pytest.mark.parametrize("limit", range(0, 60))
def test_the_smallest_limits_hold(limit):
    assert len(cut_text("word " * 100, limit)) <= limit


def test_a_long_list_is_cut_at_a_whole_item_and_says_so():
    numbers = [f"number {number}" for number in range(9_000)]
    text = encode_result(numbers, budget=1_000)
    cut = strict(text)
    assert 950 < len(text) <= 1_000
    assert cut == {
        "total": 9_000,
        "returned": len(cut["items"]),
        "truncated": True,
        "items": numbers[: len(cut["items"])],
    }


ROWS = [
    {"id": n, "status": "paid" if n % 3 else "packed", "cents": n, "at": f"2026-09-{n % 28 + 1:02}", "gift": n < 2}
    for n in range(9_000)
]


def test_rows_are_summarised_before_they_are_cut():
    text = encode_result(ROWS, budget=1_000)
    cut = strict(text)
    assert 900 < len(text) <= 1_000
    assert list(cut) == ["total", "returned", "truncated", "summary", "rest", "items"]
    assert cut["summary"] == {
        "id": {"min": 0, "max": 8_999},
        "status": {"paid": 6_000, "packed": 3_000},
        "cents": {"min": 0, "max": 8_999, "sum": 40_495_500},
        "at": {"different": 28, "first": "2026-09-01", "last": "2026-09-28"},
        "gift": {"false": 8_998, "true": 2},
    }
    assert (cut["total"], cut["returned"], cut["truncated"]) == (9_000, len(cut["items"]), True)
    assert cut["items"] == ROWS[: cut["returned"]] and cut["returned"] > 3


def test_rows_that_fit_have_no_summary():
    assert strict(encode_result(ROWS[:3])) == ROWS[:3]
    written = encode_result(ROWS[:9])
    assert encode_result(ROWS[:9], budget=len(written)) == written
    assert strict(encode_result(ROWS[:9], budget=len(written) - 1))["returned"] == 4


def test_only_two_rows_or_more_have_a_summary():
    [one] = strict(encode_result([{"a": "x" * 700}], budget=450))["items"]
    assert list(one) == ["a"]
    two = strict(encode_result([{"n": 1, "a": "x" * 300}, {"n": 2, "a": "y" * 300}], budget=450))
    assert two["summary"]["n"] == {"min": 1, "max": 2, "sum": 3}
    mixed = [{"a": "x" * 300}, 5, {"a": "y" * 300}]
    assert strict(encode_result(mixed, budget=450)) == {
        "total": 3,
        "returned": 2,
        "truncated": True,
        "items": mixed[:2],
    }


def test_a_dict_that_is_no_page_and_no_envelope_is_shared_out():
    for value in ({"orders": ROWS[:50]}, {"ok": True, "data": ROWS[:50], "meta": None}):
        cut = strict(encode_result(value, budget=500))
        name = "orders" if "orders" in value else "data"
        shown = cut[name]["returned"]
        assert cut == {
            **value,
            name: {"total": 50, "returned": shown, "truncated": True, "items": ROWS[:shown]},
        }
        assert shown > 2


def test_a_summary_gives_way_to_rows_where_there_is_little_room():
    cut = strict(encode_result(ROWS, budget=450))
    assert list(cut["summary"]) == ["id", "status", "cents"] and cut["items"]
    assert "summary" in strict(encode_result(ROWS[:60], budget=400))
    assert "summary" not in strict(encode_result(ROWS, budget=399))


def test_rows_with_gaps():
    rows = [{"a": 1}, {"a": None, "b": "x"}, {"a": 2, "c": ["deep"]}]
    assert summary_of_rows(rows) == {
        "a": {"min": 1, "max": 2, "sum": 3, "missing": 1},
        "b": {"x": 1, "missing": 2},
        "c": {"missing": 2},
    }


def test_a_page_that_is_cut_once_more_loses_the_cursor_that_would_skip():
    page = {"orders": ROWS[:50], "total": 9_000, "returned": 50, "truncated": True, "next_cursor": "50"}
    text = encode_result(page, budget=900)
    cut = strict(text)
    shown = len(cut["orders"])
    assert cut == {
        "orders": ROWS[:shown],
        "total": 9_000,
        "returned": shown,
        "truncated": True,
        "rest": f"Not all of this page fits: ask for it again, with the same cursor (or none) and limit {shown}.",
    }
    assert 5 < shown < 50 and 750 < len(text) <= 900
    assert strict(encode_result(page)) == page
    assert page["next_cursor"] == "50"


def test_a_page_cut_once_more_does_not_look_like_the_last_one():
    """A loop that ends at `next_cursor` None ends there, silently, if the cut page says None."""
    last = {"orders": ROWS[:50], "total": 50, "returned": 50, "truncated": False, "next_cursor": None}
    middle = {"orders": ROWS[:50], "total": 9_000, "returned": 50, "truncated": True, "next_cursor": "50"}
    enveloped = envelope(ROWS[:50], total=9_000, next_cursor="50")
    for page in (last, middle, enveloped):
        for budget in range(20, 1_200, 7):
            text = encode_result(page, budget)
            assert "next_cursor" not in text and len(text) <= budget
    assert "next_cursor" in encode_result(middle)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param({"orders": ROWS[:50], "shops": ROWS[:50], "next_cursor": "50"}, id="two_lists"),
        pytest.param({"text": "word " * 400, "next_cursor": "50"}, id="no_list"),
        pytest.param(envelope({"text": "word " * 400}, next_cursor="50"), id="no_list_in_an_envelope"),
    ],
)
def test_whatever_is_cut_beside_a_cursor_takes_the_cursor_with_it(page):
    cut = strict(encode_result(page, budget=900))
    counts = cut.get("meta", cut)
    assert "next_cursor" not in counts
    assert (counts["truncated"], counts["rest"][-16:]) == (True, "a smaller limit.")


def test_a_page_whose_list_would_fit_alone_is_cut_at_its_list():
    page = {"orders": ROWS[:4], "note": "word " * 40, "next_cursor": "4"}
    assert strict(encode_result(page, budget=500)) == {
        "total": 4,
        "note": page["note"],
        "returned": 1,
        "truncated": True,
        "rest": "Not all of this page fits: ask for it again, with the same cursor (or none) and limit 1.",
        "orders": ROWS[:1],
    }


SMALLER = "Not all of this page fits: ask for it again, with the same cursor (or none) and a smaller limit."


def test_beside_what_is_cut_the_counts_stay():
    paged = strict(encode_result(envelope({"text": "word " * 400}, total=9, next_cursor="50"), budget=900))
    assert list(paged) == ["ok", "data", "meta"]
    assert paged["meta"] == {"total": 9, "truncated": True, "rest": SMALLER}
    plainly = envelope({"text": "word " * 400}, total=9)
    cut = strict(encode_result(plainly, budget=900))
    assert cut == {**plainly, "data": {"text": cut["data"]["text"]}} and "characters left out" in cut["data"]["text"]


def test_a_page_whose_list_is_no_list_or_holds_nothing_is_asked_for_with_a_smaller_limit():
    by_name = {f"k{n}": "x" * 40 for n in range(20)}
    assert strict(encode_result({"orders": by_name, "total": 20, "next_cursor": "x"}, budget=400)) == {
        "orders": {
            "total": 20,
            "returned": 3,
            "truncated": True,
            "items": {name: by_name[name] for name in ("k0", "k1", "k2")},
        },
        "total": 20,
        "truncated": True,
        "rest": SMALLER,
    }
    too_long = {"orders": [{"a": "x" * 300}] * 5, "total": 5, "next_cursor": "5"}
    assert "limit 0" not in encode_result(too_long, budget=240)
    assert strict(encode_result(too_long, budget=200)) == {
        "total": 4,
        "returned": 1,
        "truncated": True,
        "items": {"orders": {"total": 5, "returned": 0, "truncated": True, "items": []}},
    }


def test_the_last_page_cut_once_more_is_truncated():
    page = {"orders": ROWS[50:100], "total": 100, "returned": 50, "truncated": False, "next_cursor": None}
    cut = strict(encode_result(page, budget=900))
    assert (cut["truncated"], cut["returned"]) == (True, len(cut["orders"]))
    assert "summary" not in cut  # it would sum up one page of two


def test_a_list_that_is_all_there_is_is_summarised_wherever_it_stands():
    summary = {"status": {"paid": 2, "sent": 2}}
    rows = [{"status": state, "body": "x" * 70} for state in ("paid", "sent", "sent", "paid")]
    rows = [{**row, "body": row["body"] * n} for n, row in enumerate(rows, 1)]
    page = {"orders": rows, "total": 4, "returned": 4, "truncated": False, "next_cursor": None}
    for value in (envelope(rows), envelope(rows, total=4), page, {**page, "total": 4}):
        cut = strict(encode_result(value, budget=500))
        assert cut.get("meta", cut)["summary"] == summary
    assert list(strict(encode_result(envelope(rows), budget=500))) == ["ok", "meta", "data"]
    assert list(strict(encode_result(page, budget=500)))[-1] == "orders"
    for value in (envelope(rows, total=5), envelope(rows, next_cursor="4"), {**page, "total": 9}):
        assert "summary" not in encode_result(value, budget=500)


def test_a_page_that_is_no_dict_is_cut_as_well():
    @dataclass
    class Page:
        orders: list
        next_cursor: str | None

    cut = strict(encode_result(Page(ROWS[:50], None), budget=700))
    assert cut["truncated"] is True and cut["orders"] == ROWS[: cut["returned"]] and "next_cursor" not in cut


def test_an_envelope_counts_in_its_meta():
    text = encode_result(envelope(ROWS[:200], asked="all"), budget=700)
    cut = strict(text)
    shown = len(cut["data"])
    assert cut == {
        "ok": True,
        "data": ROWS[:shown],
        "meta": {
            "total": 200,
            "asked": "all",
            "returned": shown,
            "truncated": True,
            "summary": cut["meta"]["summary"],
            "rest": "Ask more narrowly to see the rest.",
        },
    }
    assert cut["meta"]["summary"]["status"] == dict(Counter(row["status"] for row in ROWS[:200]))
    assert len(text) <= 700 and shown > 3
    paged = strict(encode_result(envelope(ROWS[:50], total=9_000, next_cursor="50"), budget=700))["meta"]
    assert paged["total"] == 9_000 and "limit" in paged["rest"]


def test_the_envelope_of_a_failure_says_why():
    error = ToolError("NOT_FOUND", "There is no order 7.", hint="Use search_orders.")
    assert envelope(error, took_ms=3) == {
        "ok": False,
        "data": None,
        "meta": {
            "code": "NOT_FOUND",
            "message": "There is no order 7.",
            "hint": "Use search_orders.",
            "retryable": False,
            "took_ms": 3,
        },
    }
    for hint in (None, ""):
        busy = ToolError("BUSY", "Later.", retryable=True, hint=hint)
        assert envelope(busy)["meta"] == {"code": "BUSY", "message": "Later.", "retryable": True}
    assert envelope({"a": 1}) == {"ok": True, "data": {"a": 1}, "meta": {}}


@pytest.mark.parametrize("budget", range(20, 1_200, 13))
def test_no_cut_of_rows_pages_or_envelopes_grows_past_its_budget(budget):
    page = {"orders": ROWS[:50], "total": 9_000, "returned": 50, "truncated": True, "next_cursor": "50"}
    for value in (ROWS[:400], page, envelope(ROWS[:50], total=9_000, next_cursor="50"), envelope(ROWS[:400])):
        text = encode_result(value, budget)
        assert len(text) <= budget
        strict(text)


def test_a_million_rows_are_not_all_read():
    started = time.process_time()
    assert len(encode_result([{"n": 1}] * 1_000_000, 2_000)) <= 2_000
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(
            b"\x89PNG\r\n\x1a\n" + bytes(4) + b"IHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + bytes(99),
            {"bytes": 123, "kind": "image/png", "width": 640, "height": 480},
            id="png",
        ),
        pytest.param(
            b"GIF89a" + (9).to_bytes(2, "little") + (7).to_bytes(2, "little") + b"\xff" * 90,
            {"bytes": 100, "kind": "image/gif", "width": 9, "height": 7},
            id="gif",
        ),
        pytest.param(b"\xff\xd8\xff" + b"\x00" * 97, {"bytes": 100, "kind": "image/jpeg"}, id="jpeg"),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBP" + b"\x00" * 88, {"bytes": 100, "kind": "image/webp"}, id="webp"),
        pytest.param(b"PK\x03\x04" + b"\x00" * 96, {"bytes": 100, "kind": "application/zip"}, id="zip"),
        pytest.param(b"\x00" * 100, {"bytes": 100}, id="unknown"),
    ],
)
def test_a_binary_is_a_line_about_it(data, told):
    assert strict(encode_result({"file": data})) == {"file": {**told, "left_out": "binary data"}}


def test_the_summary_of_a_log():
    assert summary_of_text("START\n10:00 INFO a\n10:01 ERROR b\n10:02 INFO c\n") == {
        "characters": 46,
        "lines": 4,
        "levels": {"INFO": 2, "ERROR": 1},
        "first_line": "START",
        "last_line": "10:02 INFO c",
    }
    assert summary_of_text("") == {"characters": 0, "lines": 0, "first_line": "", "last_line": ""}
    assert len(summary_of_text("x" * 900)["last_line"]) == 200


def test_only_the_long_part_of_an_object_is_cut():
    cut = strict(encode_result({"rows": list(range(9_000)), "log": "a line\n" * 900, "next": "abc"}, budget=2_000))
    assert list(cut) == ["rows", "log", "next"] and cut["next"] == "abc"
    assert cut["rows"]["total"] == 9_000 and cut["rows"]["items"] == list(range(cut["rows"]["returned"]))
    assert "characters left out" in cut["log"]


def test_an_item_too_long_by_itself_is_shown_in_part():
    cut = strict(encode_result([{"body": "x" * 5_000}, {"body": "y"}], budget=1_000))
    assert (cut["total"], cut["returned"]) == (2, 1)
    assert "characters left out" in cut["items"][0]["body"]


def test_an_object_of_many_names_keeps_the_first_entries():
    cut = strict(encode_result({f"key{number}": number for number in range(5_000)}, budget=500))
    assert cut["total"] == 5_000 and cut["items"] == {f"key{n}": n for n in range(cut["returned"])}


def test_nobody_counted_the_items_of_a_generator():
    cut = strict(encode_result(itertools.count(), budget=300))
    assert cut["total"] is None and cut["items"] == list(range(cut["returned"]))


@pytest.mark.parametrize("build", [lambda: range(10_000_000), itertools.count, lambda: "x\n" * 1_000_000])
def test_huge_results_are_quick(build):
    value = build()
    started = time.process_time()
    assert len(encode_result(value)) <= 30_000
    assert time.process_time() - started < 10


def test_many_endless_parts_are_not_read_for_ever():
    read = itertools.count()
    strict(encode_result({f"part{number}": (next(read) for _ in itertools.count()) for number in range(100)}, 1_000))
    assert next(read) < 20_000


def test_a_budget_that_holds_nothing_is_refused():
    with pytest.raises(ValueError, match="A budget of 5 cannot hold a result"):
        encode_result("text", budget=5)


# Errors


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(KeyError("x"), "KeyError: 'x'", id="key_error"),
        pytest.param(ValueError(), "ValueError", id="no_message"),
        pytest.param(
            FileNotFoundError(2, "No such file or directory", "/home/ada/my notes/a.txt"),
            "FileNotFoundError: No such file or directory: 'a.txt'",
            id="no_folder",
        ),
        pytest.param(
            ValueError("in /home/ada/a.txt, C:\\Users\\ada\\b.txt, https://example.org/a/b, src/a/c.ts"),
            "ValueError: in …/a.txt, …/b.txt, https://example.org/a/b, src/a/c.ts",
            id="no_folders",
        ),
        pytest.param(
            RuntimeError(
                "the worker died:\nTraceback (most recent call last):\n"
                '  File "/srv/desk/refund.py", line 3, in pay\n    raise KeyError(id)\nKeyError: 7\n'
            ),
            "RuntimeError: the worker died:\nKeyError: 7\n",
            id="no_stack_trace",
        ),
        pytest.param(ExceptionGroup("g", [ValueError("a"), KeyError("b")]), "ValueError: a; KeyError: 'b'", id="group"),
        pytest.param(
            ExceptionGroup("g", [ValueError(letter) for letter in "abcd"]),
            "ValueError: a; ValueError: b; ValueError: c",
            id="three_of_a_group",
        ),
        pytest.param(
            FileNotFoundError(2, "No such file or directory"),
            "FileNotFoundError: [Errno 2] No such file or directory",
            id="no_file_named",
        ),
        pytest.param(
            FileNotFoundError(2, "", "/home/ada/a.txt"),
            "FileNotFoundError: [Errno 2] : '…/a.txt'",
            id="no_words",
        ),
        pytest.param(
            ToolError("NOT_FOUND", "There is no order 7.", hint="Use search_orders."),
            "NOT_FOUND: There is no order 7.\nHint: Use search_orders.\nRetryable: no, the same call will fail again.",
            id="tool_error",
        ),
        pytest.param(
            ToolError("BUSY", "The till is busy.", retryable=True),
            "BUSY: The till is busy.\nRetryable: yes, the same call may succeed later.",
            id="retryable",
        ),
    ],
)
def test_what_the_model_reads_about_a_failure(error, text):
    assert error_text(error) == text


def test_a_long_message_is_cut_and_keeps_its_hint():
    assert len(error_text(ValueError("x" * 100_000))) == 500
    text = error_text(ToolError("TOO_LONG", "x" * 100_000, hint="Use `limit`."))
    assert 1_990 < len(text) <= 2_000 and "\nHint: Use `limit`.\n" in text
    assert (len(error_text("x" * 5_000)), len(encode_result("x" * 90_000))) == (2_000, 30_000)


def test_an_error_that_cannot_be_printed():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    assert error_text(Mute()) == "Mute"


# For any value

TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=40)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    TEXT,
    st.binary(max_size=20),
    st.decimals().filter(lambda number: not number.is_snan()),
    st.datetimes(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.dictionaries(SCALARS, inner, max_size=8),
        st.frozensets(SCALARS, max_size=5),
        st.tuples(inner, inner),
        st.builds(lambda items: (item for item in items), st.lists(inner, max_size=4)),
    ),
    max_leaves=40,
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.integers(20, 400))
def test_any_value_gives_text_within_its_budget(value, budget):
    content = encode_result(value, budget)
    assert isinstance(content, str) and content.strip()
    assert len(content) <= budget
    content.encode("utf-8")
    if value is not None and not isinstance(value, (str, bytes)):
        strict(content)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters() | st.sampled_from("\n\u200d🧪🇳e\u0301"), max_size=300), st.integers(0, 200))
def test_any_cut_is_a_head_a_marker_and_a_tail(text, limit):
    cut = cut_text(text, limit)
    assert len(cut) <= max(limit, 0) or cut == text
    if " characters left out …]\n" in cut and " characters left out" not in text:
        head, rest = cut.split("\n[… ")
        number, tail = rest.split(" characters left out …]\n")
        assert text.startswith(head) and text.endswith(tail)
        assert len(head) + int(number) + len(tail) == len(text)

"""The search box: what is found and why, a miss that is seen, and the widget beside its plain calls."""

import sys

import ipywidgets
import pytest

from course_kit.classroom import search_box as module
from course_kit.classroom.search_box import SearchBox, search_box
from course_kit.contract.index import SearchError


def tool(name, description):
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


TOOLS = [
    tool("track_parcel", "Say where a <parcel> is."),
    tool("cancel_order", "Cancel an order."),
    tool("canvas_create_edge", "Adds a link between two nodes."),
]
GOLD = {"Where is my parcel?": ["track_parcel"], "Call it off.": ["cancel_order"]}


@pytest.fixture
def box():
    return search_box(TOOLS, "Where is my parcel?", gold=GOLD)


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def test_fr25_a_word_of_the_name_finds_the_tool(box):
    [hit] = box.search("create edge")
    assert hit.tool_name == "canvas_create_edge"
    assert hit.because == "`create`, `edge` in the name"


def test_a_search_is_kept_with_its_way(box):
    hits = box.search("parc.l|order", "regex")
    assert [hit.tool_name for hit in hits] == ["cancel_order", "track_parcel"]
    assert (box.query, box.way) == ("parc.l|order", "regex")


def test_the_ways_stand_side_by_side_and_what_is_meant_is_marked(box):
    said, titles, first, *_ = box.compare("Where is my parcel?").split("\n")
    assert (said, titles.split()) == ("Where is my parcel?", ["bm25", "fused", "regex"])
    assert first == "✓ track_parcel  ✓ track_parcel  nothing found"
    assert "no pattern" in box.compare("parcel (")


def test_what_is_found_reads_well_where_a_cell_shows_it(box):
    assert repr(box.search("create edge")) == "1. canvas_create_edge: `create`, `edge` in the name"
    assert repr(box.search("zzz")) == "Nothing found."
    compared = box.compare("Where is my parcel?")
    assert repr(compared) == str(compared) and repr(compared).count("\n") == 3


def test_a_query_that_is_no_text_is_said_and_changes_nothing(box):
    with pytest.raises(TypeError) as caught:
        box.search(5)
    assert (str(caught.value), box.query) == ("query is a text, not int.", "Where is my parcel?")


def test_a_way_that_is_not_there_is_refused_and_changes_nothing(box):
    with pytest.raises(ValueError, match="This box searches by bm25, fused, regex, not by 'meaning'"):
        box.search("parcel", "meaning")
    assert (box.query, box.way) == ("Where is my parcel?", "bm25")


def test_as_text_and_html_without_widgets(without_widgets):
    box = search_box(TOOLS, "Where is my parcel?", gold=GOLD)
    assert type(box) is SearchBox
    assert repr(box).split("\n")[:3] == [
        "Search box over 3 tools, by bm25",
        "  Where is my parcel?",
        "  ✓ 1. track_parcel: `parcel` in the name; `parcel` in the description",
    ]
    box.search("Call it off.")
    assert "Nothing found: no tool has any of these words." in repr(box)
    assert "✗ Missed: cancel_order was meant." in repr(box)
    box.query = " "
    assert "Nothing to look for: type some words." in repr(box)
    box.query = "<b>"
    assert "<i>&lt;b&gt;</i>" in box._repr_mimebundle_()["text/html"]


def test_the_widget_answers_as_it_is_written(box):
    assert isinstance(box, ipywidgets.VBox)
    assert "✓ 1. track_parcel" in box.result.value
    box.field.value = "cancel"
    assert "· 1. cancel_order" in box.result.value and box.query == "cancel"
    box.choice.value = "regex"
    assert "the pattern matches" in box.result.value
    box.requests.value = 1 + list(box.gold).index("Call it off.")
    assert box.field.value == "Call it off." and "Missed: cancel_order" in box.result.value


def test_a_bad_pattern_is_a_sentence_in_the_widget_and_an_error_in_the_plain_call(box):
    box.choice.value = "regex"
    box.field.value = "parcel ("
    assert "✗ " in box.result.value and "is not a regular expression" in box.result.value
    with pytest.raises(SearchError):
        box.search("parcel (", "regex")


def test_the_plain_call_moves_the_widget_along(box):
    box.search("edge", "fused")
    assert (box.field.value, box.choice.value) == ("edge", "fused")
    assert "canvas_create_edge" in box.result.value


def test_every_part_has_a_name(box):
    for part in (box.field, box.choice, box.requests):
        assert part.tooltip


def test_the_lesson_quotes_the_benchmark_as_it_was_measured():
    import ast
    import json
    from pathlib import Path

    root = Path(__file__).resolve().parents[1]
    results = json.loads((root / "tests/benchmarks/results/tool_search.json").read_text(encoding="utf-8"))
    lesson = (root / "notebooks/src/07_tool_search.py").read_text(encoding="utf-8")
    quoted = ast.literal_eval(lesson.split("\nMEASURED = ", 1)[1].split("\n# %%", 1)[0])
    for data, figures in quoted.items():
        for way, (recall, milliseconds) in figures.items():
            one = results["figures"][data][way]
            assert (recall, milliseconds) == (one["recall@5"], one["cpu_ms_per_query"]), (data, way)
    assert results["measured"] in lesson


def test_what_was_chosen_on_one_half_finds_as_much_on_the_other_as_the_lesson_says():
    import json
    from pathlib import Path

    file = Path(__file__).resolve().parent / "benchmarks/results/tool_search.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    held_out = results["held out"]
    assert list(held_out) == [
        *("ToolIndex bm25", "ToolIndex fused, no model", "ToolIndex fused, USE multilingual", "ToolIndex fused, MiniLM")
    ]
    for way, one in held_out.items():
        assert one["as shipped"]["recall@5"] == results["figures"]["public"][way]["recall@5"], way
        assert abs(one["recall@5"] - one["as shipped"]["recall@5"]) < 0.005, way
        assert one["interval"][0] < one["recall@5"] < one["interval"][1], way

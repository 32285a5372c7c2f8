"""Four symptoms to walk through with a trace in hand."""

import pytest

from course_kit.classroom.broken_traces import broken_traces
from course_kit.classroom.decision_trees import TREES, Question, Walk, walk
from course_kit.harness.trace import Trace

TEN = broken_traces()


def ways(tree, path=()):
    if isinstance(tree, str):
        yield path, tree
        return
    yield from ways(tree.yes, (*path, "yes"))
    yield from ways(tree.no, (*path, "no"))


@pytest.mark.parametrize("symptom", TREES)
def test_every_way_shows_evidence_and_ends_in_a_change(symptom):
    for path, end in ways(TREES[symptom]):
        for trace in TEN.values():
            one = Walk(symptom, trace, "query_order")
            for said in path:
                assert isinstance(one.at, Question) and one.as_text().splitlines()[-1].strip()
                one.answer(said)
            assert one.at == end and one.as_text().endswith(f"→ {end}")
    assert len({end for _, end in ways(TREES[symptom])}) == len(list(ways(TREES[symptom]))) >= 4


def test_a_walk_shows_what_the_trace_says():
    one = Walk("no call", TEN["T09"], "canvas_create_edge")
    assert one.as_text().splitlines() == [
        "Symptom: no call",
        "? Did the last reply stop for another reason than `end_turn`?",
        "    step 1: tool_use, step 2: end_turn",
    ]
    assert "find_tools, canvas_list_nodes" in one.answer("no").as_text()
    assert one.answer("no").as_text().endswith("at the tool search, at the registration.")
    assert one.back().back().path == []


def test_the_evidence_of_each_kind():
    def shown(symptom, id, *said, meant=None):
        return Walk(symptom, TEN[id], meant).answer(*said).as_text().split("? ")[-1]

    assert "`labels` must be an array" in shown("wrong input", "T02")
    assert "2.1 add_labels: began 1×, answered 1×" in shown("wrong input", "T02", "no")
    assert "began 2×" in shown("does not stop, or skips steps", "T07", "no")
    assert "648 bytes, cut" in shown("does not stop, or skips steps", "T04", "no", "yes")
    assert "the run: stalled: job_status" in shown("does not stop, or skips steps", "T08", "no", "yes", "no")
    assert "→ 35 % done" in shown("does not stop, or skips steps", "T08")
    assert "step 2: 47742a621599" in shown("wrong tool", "T10", "yes")
    both = shown("wrong tool", "T02", "yes", "no", meant="read_ticket")
    assert "add_labels: Add labels" in both and "read_ticket: Read a ticket." in both
    assert "required: order_id" in shown("no call", "T05", "no", "yes", "yes", "yes", meant="query_order")


def test_slips_are_told():
    with pytest.raises(ValueError, match="choose from no call"):
        Walk("slow", TEN["T01"])
    with pytest.raises(ValueError, match='say "yes" or "no"'):
        Walk("no call", TEN["T01"]).answer("maybe")
    with pytest.raises(ValueError, match="is finished"):
        Walk("no call", TEN["T01"]).answer("yes", "yes")
    with pytest.raises(ValueError, match="no step"):
        Walk("no call", Trace({}, []))


def test_the_buttons_answer():
    pytest.importorskip("ipywidgets")
    one = walk("no call", TEN["T09"], "canvas_create_edge")
    assert one.undo.disabled
    one.no.click()
    assert one.path == ["no"] and "find_tools" in one.card.value
    one.yes.click()
    one.undo.click()
    one.no.click()
    assert one.path == ["no", "no"] and one.yes.disabled and "registration" in one.card.value

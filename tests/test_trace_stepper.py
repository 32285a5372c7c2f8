"""The stepper: cards, the order of looking, the page, and the widget's parts."""

import pytest

from course_kit.classroom.broken_traces import broken_traces
from course_kit.classroom.trace_stepper import TraceStepper, look, trace_stepper
from course_kit.contract.messages import text
from course_kit.harness.trace import Trace

TEN = broken_traces()


def test_a_card_says_what_was_given_chosen_and_run():
    assert TraceStepper(TEN["T07"]).step(2).as_text().splitlines() == [
        "[step 2] tool_use",
        "  was given  simulated-steady-4, 2 tools 0bcbc53b2401, choice auto",
        "  used       710 tokens read (0 from the cache), 40 written",
        '  call 2.1   send_email {"to": "nora.lindgren@example.org", "text": "Your 19.99 have been paid back."}',
        "    check    the input fits its schema",
        "    run      began 2×, answered 1×, 5 bytes, 61.3 s",
        "    result   Sent.",
    ]


def test_looking_keeps_to_the_order():
    lines = look(TEN["T09"], "canvas_create_edge").as_text().splitlines()
    assert [line[:18] for line in lines if line[0].isdigit()] == [
        "1 why it stopped  ", "2 seen and meant  ", "3 raw inputs", "4 contract or run", "5 one variable    ",
    ]  # fmt: skip
    assert "1 tool_use, 2 end_turn; the run: end_turn" in lines[0]
    assert "canvas_create_edge is shown in none of them" in lines[1]
    assert "find_tools is shown in 1, 2" in look(TEN["T09"], "find_tools").as_text()
    assert "hash 000833ee6634, then 47742a621599, then 6fcf7ecedc0b" in look(TEN["T10"]).as_text()


def test_what_a_person_or_a_parser_changed_is_seen():
    events = [*TEN["T07"].trace.events]
    events[1] = {**events[1], "input": {"order_id": "ORD-1"}}
    changed = Trace(TEN["T07"].trace.request, events)
    assert 'ran as {"order_id": "ORD-1"}' in look(changed).as_text()
    assert '    ran as   {"order_id": "ORD-1"}' in TraceStepper(changed).step(1).as_text()


def test_the_page_is_masked_whole_and_without_scripts(tmp_path):
    page = TraceStepper(TEN["T07"]).page(tmp_path / "trace.html")
    assert (tmp_path / "trace.html").read_text(encoding="utf-8") == page
    assert "nora.lindgren" not in page and "[email 1]" in page and "<script" not in page and "http" not in page
    assert page.count("<details") == 3 and "The order of looking" in page and "I got the same mail twice" in page
    assert "nora.lindgren" in TraceStepper(TEN["T07"]).page(raw=True)


def test_what_is_in_a_trace_is_text_on_the_page():
    said = {"content": [text("<b>bold</b>\u202e")], "stop_reason": "end_turn"}
    stepper = TraceStepper(Trace({}, [{"event": "reply", "message": said}]))
    assert "<b>bold" not in stepper.page() and "<b>bold" not in stepper.as_html()
    assert "\\u202e" in stepper.as_text()


def test_an_empty_trace_and_what_is_none():
    empty = TraceStepper(Trace({}, []))
    assert (len(empty), empty.as_text(), empty.step(3).as_text()) == (0, "An empty trace.", "An empty trace.")
    assert "no reply at all" in empty.look().as_text()
    with pytest.raises(TypeError, match="a Run or a Trace, not list"):
        trace_stepper([])


def test_the_widget_goes_where_its_parts_say():
    pytest.importorskip("ipywidgets")
    stepper = trace_stepper(TEN["T07"])
    assert stepper.back.disabled and "step 1" in stepper.card.value
    stepper.forward.click()
    assert stepper.number.value == 2 and "began 2×" in stepper.card.value
    stepper.order.value = True
    assert "5 one variable" in stepper.card.value
    stepper.order.value = False
    assert stepper.step(9).as_text().startswith("[step 3]") and stepper.forward.disabled

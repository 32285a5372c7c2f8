"""Who runs when: what the recorder makes of events, that a busy machine changes no count, and what the board plans."""

import json
import re
import sys
from pathlib import Path

import pytest

from course_kit import MockProvider, call, run_agent, tool
from course_kit.classroom import timeline as module
from course_kit.classroom.timeline import Bar, Board, Recorder, timeline
from course_kit.contract.messages import tool_result, tool_use
from course_kit.harness.running import run_calls
from course_kit.harness.tools import prepare

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def recorded(*times, writes=(), failed=(), blocks=None):
    """A recorder that saw calls 1, 2, … with these (begin, end), announced in order, ended as their times say."""
    now = [0.0]
    recorder = Recorder(writes, clock=lambda: now[0])
    blocks = blocks or [tool_use(f"toolu_{n}", "look", {"city": f"C{n}"}) for n in range(1, len(times) + 1)]
    recorder({"event": "reply", "message": {"content": blocks}})
    for block in blocks:
        recorder({"event": "started", "tool_use_id": block["id"]})
    for place in sorted(range(len(times)), key=lambda place: times[place][1]):
        begin, end = times[place]
        now[0] = end
        found = tool_result(blocks[place]["id"], "x", is_error=place + 1 in failed)
        recorder({"event": "result", "result": found, "seconds": end - begin})
    return recorder


def chart(recorder):
    return recorder.as_text().split("\n")[1:]


# What it makes of events


def test_bars_are_in_call_order_and_begin_at_nought():
    assert recorded((5.0, 6.5), (5.0, 5.5)).bars == [Bar("look C1", 0.0, 1.5), Bar("look C2", 0.0, 0.5)]


def test_kinds_are_told_by_name_and_by_error():
    blocks = [tool_use("a", "save", {}), tool_use("b", "look", {}), tool_use("c", "save", {})]
    recorder = recorded((0, 1), (1, 2), (2, 3), writes=["save"], failed=[3], blocks=blocks)
    assert [(bar.label, bar.kind) for bar in recorder.bars] == [("save", "write"), ("look", "read"), ("save", "failed")]
    assert chart(recorder) == ["  save  ▒▒", "  look    ██", "  save      ✗✗"]


def test_a_label_takes_the_first_short_text():
    long = "x" * 25
    recorder = recorded((0, 1), blocks=[tool_use("a", "look", {"n": 7, "note": long, "city": "Oslo", "more": "no"})])
    assert recorder.bars[0].label == "look Oslo"


def test_calls_that_never_began_or_never_ended_have_no_bar():
    recorder = recorded((0, 1), (0, 1))
    recorder({"event": "result", "result": tool_result("toolu_9", "refused"), "seconds": 0.0})
    recorder({"event": "started", "tool_use_id": "toolu_8"})
    assert [bar.label for bar in recorder.bars] == ["look C1", "look C2"]


def test_nothing_recorded_is_said():
    assert repr(Recorder()) == "0 calls, at most 0 at once, 0 rounds"


# Rounds


ONE_BY_ONE = [(0, 1), (1, 2), (2, 3)]
IN_PAIRS = [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3)]
SLOW_FIRST = [(0, 3), (0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("times", "most", "rounds", "lines"),
    [
        (ONE_BY_ONE, 1, 3, ["██", "  ██", "    ██"]),
        (IN_PAIRS, 2, 3, ["██", "██", "  ██", "  ██", "    ██"]),
        ([(0, 1)] * 4, 4, 1, ["██"] * 4),
        (SLOW_FIRST, 2, 3, ["██████", "██", "  ██", "    ██"]),
        ([(0, 1), (4, 5)], 1, 2, ["██", "  ██"]),
    ],
    ids=["one by one", "in pairs", "all at once", "a slow one beside three", "a pause between"],
)
def test_rounds(times, most, rounds, lines):
    recorder = recorded(*times)
    assert (recorder.most, recorder.rounds) == (most, rounds)
    assert chart(recorder) == [f"  look C{n}  {line}" for n, line in enumerate(lines, 1)]


@pytest.mark.parametrize("times", [ONE_BY_ONE, IN_PAIRS, SLOW_FIRST])
def test_delays_of_a_busy_machine_change_nothing(times):
    late = [(begin + 0.2 * (place % 2), end + 0.15 * ((place + 1) % 3)) for place, (begin, end) in enumerate(times)]
    assert repr(recorded(*late)) == repr(recorded(*times))


def test_the_text_holds_no_seconds():
    assert repr(recorded((0, 1), (0, 1))) == "2 calls, at most 2 at once, 1 round\n  look C1  ██\n  look C2  ██"
    assert recorded((0, 1)).as_html().startswith("<pre")


# In a real run


def test_on_event_of_an_agent_fills_it():
    @tool(effect="read")
    def look(city: str) -> str:
        """Look."""
        return city

    @tool
    def save(city: str) -> str:
        """Save."""
        raise LookupError(city)

    recorder = Recorder(writes=["save"])
    script = MockProvider([[call("look", city="Oslo"), call("save", city="Lima")], "Done."])
    run_agent(script.client(), tools=[look, save], messages="Go.", on_event=recorder)
    assert [(bar.label, bar.kind) for bar in recorder.bars] == [("look Oslo", "read"), ("save Lima", "failed")]


# The board


def test_a_turn_is_planned():
    board = Board()
    assert board.as_text() == f"Timeline\n{module.HOW}"
    planned = board.play("rw f", limit=5)
    assert repr(planned) == (
        "3 calls, at most 1 at once, done after 3 ticks (computed, not run)\n"
        "  read 1          ██\n  write 2           ▒▒\n  failing_read 3      ✗✗"
    )
    assert board.as_text() == f"Timeline\n{module.HOW}\n{planned!r}"
    assert planned.as_html().startswith("<pre")


@pytest.mark.parametrize(
    ("turn", "limit", "most", "ticks", "times"),
    [
        ("rrrrrr", 2, 2, 3, [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3)]),
        ("rrrrrr", 5, 5, 2, [(0, 1)] * 5 + [(1, 2)]),
        ("srrrrr", 2, 2, 4, [(0, 3), (0, 1), (1, 2), (2, 3), (3, 4), (3, 4)]),
        ("rrrrrs", 2, 2, 5, [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 5)]),
        ("srrrrr", 5, 5, 3, [(0, 3)] + [(0, 1)] * 4 + [(1, 2)]),
        ("rrrrrs", 5, 5, 4, [(0, 1)] * 5 + [(1, 4)]),
        ("rsw", 5, 1, 5, [(0, 1), (1, 4), (4, 5)]),
        ("rs", 1, 1, 4, [(0, 1), (1, 4)]),
        ("s", 3, 1, 3, [(0, 3)]),
    ],
)
def test_a_slow_read_is_three_ticks_wide_wherever_it_stands(turn, limit, most, ticks, times):
    planned = Board().play(turn, limit)
    assert [(bar.begin, bar.end) for bar in planned.bars] == times
    assert (planned.most, planned.ticks) == (most, ticks)


def test_which_calls_run_together_is_the_kits_decision(monkeypatch):
    monkeypatch.setattr(module, "batches", lambda calls, limit, run_id: iter([list(calls)]))
    assert Board().play("rwr", limit=3).ticks == 1


def test_the_plan_is_what_really_happens():
    """The same turn for real: how many are at work at once, and what begins only when all ahead of it are done."""
    for turn in ("rrr", "rwr"):
        tools = {
            "r": tool(lambda: "x", effect="read", name="r", description="."),
            "w": tool(lambda: "x", name="w", description="."),
        }
        calls = [prepare(tool_use(f"toolu_{n}", letter, {}), list(tools.values())) for n, letter in enumerate(turn)]
        events = [event["event"] for event in run_calls(calls, limit=5)]
        announced = events.index("result")  # calls that run together are all announced ahead of the first result
        assert Board().play(turn, limit=5).most == announced


@pytest.mark.parametrize(
    ("turn", "said"),
    [("rq", "A turn has no 'q'"), ("", "1 to 20 letters here, not 0"), ("r" * 21, "1 to 20 letters here, not 21")],
)
def test_what_is_no_turn_is_said(turn, said):
    with pytest.raises(ValueError, match=said):
        Board().play(turn)


def test_the_widget_runs_what_is_typed():
    board = timeline()
    assert "6 calls" in board.result.value
    board.turn.value, board.limit.value = "ww", 3
    board.button.click()
    assert "write 2" in board.result.value and board.last.ticks == 2
    board.turn.value = "<b>"
    board.button.click()
    assert "This turn could not be planned: A turn has no &#x27;" in board.result.value


def test_enter_in_the_field_does_what_the_button_does():
    board = timeline()
    board.turn.value = "rwr"
    board.turn._handle_custom_msg({"event": "submit"}, [])
    assert "3 calls, at most 1 at once" in board.result.value


def test_text_and_html_stand_beside_the_view():
    bundle = timeline()._repr_mimebundle_()
    assert bundle["text/plain"].startswith(f"Timeline\n{module.HOW}\n6 calls") and bundle["text/html"].startswith(
        "<pre"
    )
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_the_fields_show_the_turn_that_is_drawn():
    board = timeline()
    board.play("rrwr", limit=2)
    assert (board.turn.value, board.limit.value) == ("rrwr", 2) and "4 calls" in board.result.value


def test_without_widgets_the_plain_call_remains(without_widgets):
    board = timeline()
    assert type(board) is Board
    assert len(board.play("rr").bars) == 2


# The lesson


def test_the_speed_up_that_lesson_05_draws_is_the_one_measured():
    file = ROOT / "tests" / "benchmarks" / "results" / "parallel_reads.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    reached = {case["limit"]: case["speed_up"]["functions"] for case in results["cases"] if case["n"] == 20}
    text = (ROOT / "notebooks" / "src" / "05_parallel_calls.py").read_text(encoding="utf-8")
    [told] = re.findall(r"^MEASURED = \{(.*)\}$", text, re.MULTILINE)
    assert dict(re.findall(r"(\d+): ([\d.]+)", told)) == {str(limit): str(times) for limit, times in reached.items()}
    assert results["measured"] == "2026-11-30" and "(30 November 2026, `tests/benchmarks`)" in text


def test_a_turn_that_is_no_text_is_said():
    with pytest.raises(TypeError) as caught:
        Board().play(["r"])
    assert str(caught.value) == "A turn is a text of letters, such as 'rrwr'."


@pytest.mark.parametrize("limit", [0, "2"])
def test_a_limit_that_is_none_is_said(limit):
    with pytest.raises(ValueError) as caught:
        Board().play("rr", limit)
    assert str(caught.value) == f"`limit` is {limit!r}: let at least one call run at a time."


def test_one_write_may_be_named_without_a_list():
    assert Recorder("refund_order").writes == Recorder(["refund_order"]).writes == {"refund_order"}

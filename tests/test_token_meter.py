"""The token meter: what is played, what it costs and loses, and the widget beside its plain calls."""

import sys

import ipywidgets
import pytest

from course_kit.classroom import token_meter as module
from course_kit.classroom.token_meter import (
    Metered,
    Reading,
    TokenMeter,
    make_log,
    play,
    token_meter,
    twenty_questions,
)
from course_kit.harness.tools import tool
from course_kit.mock.scripted import call

NOTE = "\n".join(["head alpha", *(f"middle {n}" for n in range(200)), "tail omega"])
TASKS = [("Read the note: what is the head?", "alpha"), ("Read the note: what is the tail?", "omega")]


def strategy(cut):
    def tools(budget):
        @tool(effect="read", description="Read the note.")
        def read_note():
            return cut(NOTE, budget)

        return [read_note]

    return tools


STRATEGIES = {
    "whole": strategy(lambda note, budget: note),
    "head <only>": strategy(lambda note, budget: note[:budget]),
}


@pytest.fixture
def meter():
    return token_meter(TASKS, STRATEGIES, budget=300)


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def test_answers_are_lost_where_the_result_was_cut(meter):
    assert meter.run("whole").lost == []
    assert meter.run("head <only>").lost == [2]
    assert meter.run("head <only>", budget=10_000).lost == []


def test_the_context_grows_by_the_results(meter):
    whole, head = meter.run("whole"), meter.run("head <only>")
    assert whole.contexts[0] < whole.contexts[1] and head.contexts[1] < whole.contexts[0]
    assert whole.contexts[1] - whole.contexts[0] > len(NOTE) / 4
    assert whole.paid == sum(reading.paid for reading in whole.readings) > sum(whole.contexts)


def test_a_log_holds_two_errors_and_is_always_the_same():
    log = make_log("mail", 300)
    lines = log.split("\n")
    errors = [number for number, line in enumerate(lines) if "ERROR" in line]
    assert (log, len(lines), errors) == (make_log("mail", 300), 300, [90, 288])
    assert lines[0].startswith("00:00:00 INFO mail version 4.") and lines[-1].startswith(
        "07:58:24 INFO mail order ORD-"
    )
    assert make_log("stock", 30).count("ERROR") == 2


def test_each_of_the_twenty_facts_stands_in_its_source_once():
    tasks, logs, lists = twenty_questions()
    assert (len(tasks), len(logs), len(lists)) == (20, 5, 5)
    for number, (question, fact) in enumerate(tasks):
        if number % 4 == 3:
            [orders] = [orders for month, orders in lists.items() if f"of {month}:" in question]
            assert fact == f"packed: {sum(order['status'] == 'packed' for order in orders)}"
            continue
        [log] = [log for service, log in logs.items() if f"log of {service}" in question]
        [line] = [line for line in log.split("\n") if fact in line and (number % 4 != 2 or question[-18:-7] in line)]
        assert [log.index(line) == 0, "ERROR" in line, log.index(line) > len(log) / 2][number % 4]


def test_what_is_counted_is_what_the_provider_said():
    def model(request):
        return "omega" if len(request["messages"]) > 1 else call("read_note")

    [reading] = play(TASKS[1:], STRATEGIES["whole"](0), model=model)
    assert (reading.said, reading.answered) == ("omega", True)
    assert len(NOTE) / 4 < reading.context < reading.paid < 2 * reading.context


def test_old_rounds_are_dropped_whole(meter):
    kept, trimmed = meter.run("whole"), meter.run("whole", keep=1)
    assert trimmed.contexts[1] < kept.contexts[1] and trimmed.lost == []


def test_a_conversation_is_played_once(meter, monkeypatch):
    first = meter.run("whole")
    monkeypatch.setattr(module, "play", lambda *arguments: pytest.fail("played again"))
    assert meter.run("whole", budget=300) is first


def test_compare_and_its_line(meter):
    assert list(meter.compare()) == ["whole", "head <only>"]
    readings = (Reading("q?", "yes", "yes", 1_200, 2_000), Reading("q?", "no", "yes", 3_400, 5_000))
    assert repr(Metered("whole", readings)) == (
        "context at the end   3,400   paid in all     7,000   1 of 2 answers lost (simulated)"
    )


def test_one_turn(meter):
    said = meter.turn("head <only>", 2)
    assert said.startswith("Read the note: what is the tail?\n→ read_note answered: head alpha")
    assert "The answer does not hold 'omega' (simulated)." in said
    assert "The answer holds 'alpha'" in meter.turn("head <only>", 1)


def test_bars_are_as_long_as_the_context(meter):
    meter.compare()
    lines = meter.bars("whole").splitlines()
    assert lines[0].startswith("whole: context at the end")
    assert [line.split()[1] for line in lines[1:]] == ["·", "·"]
    assert lines[2].count("█") == 40 > lines[1].count("█") > 0
    assert meter.bars("head <only>").splitlines()[2].split()[1] == "✗"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda meter: meter.run("tail"), "choose from whole, head <only>"),
        (lambda meter: meter.turn("whole", 0), "choose from 1 to 2"),
        (lambda meter: meter.turn("whole", 3), "choose from 1 to 2"),
        (lambda meter: token_meter([], STRATEGIES), "at least one task"),
        (lambda meter: token_meter(TASKS, {}), "one strategy"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(meter, wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong(meter)


def test_text_and_html_show_the_same(meter):
    assert "head <only>" in repr(meter) and "meter.run('whole', budget=2000)" in repr(meter)
    assert "head &lt;only&gt;" in meter.as_html()


def test_without_ipywidgets_the_text_form_works(without_widgets):
    plain = token_meter(TASKS, STRATEGIES, budget=300)
    assert type(plain) is TokenMeter and "2 questions" in repr(plain)


def test_the_widget_answers_to_its_parts(meter):
    assert isinstance(meter, ipywidgets.VBox) and meter.number.max == 2
    assert "whole: context" in meter.result.value
    meter.strategy.value = "head <only>"
    meter.number.value = 2
    assert "head &lt;only&gt;: context" in meter.result.value and "does not hold" in meter.said.value
    meter.size.value = 32_000
    assert "0 of 2 answers lost" in meter.result.value
    assert all(part.tooltip for part in (meter.strategy, meter.size))


def test_an_error_in_a_handler_is_shown(meter, monkeypatch):
    monkeypatch.setattr(meter, "bars", lambda *arguments: 1 / 0)
    meter.strategy.value = "head <only>"
    assert "could not be played: division by zero" in meter.result.value

"""The definition workbench: what is measured, what is kept, and the widget beside its plain calls."""

import sys

import ipywidgets
import pytest

from course_kit.classroom import workbench as module
from course_kit.classroom.laboratory import measure
from course_kit.classroom.workbench import Workbench, workbench

ORDER_ID = {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "Such as ORD-20260917."}


def tool(name, description, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema}


VAGUE = tool("do_it", "Does <it>.", order_id=ORDER_ID)
TRACK = tool("track_parcel", "Say where a parcel is.", order_id=ORDER_ID)
REQUESTS = [
    ("Cancel my order ORD-20260918.", "cancelling"),
    ("Where is the parcel of ORD-20260917?", "parcels"),
    ("Sing a song.", None),
]
BETTER = "Cancel an order."


@pytest.fixture
def bench():
    return workbench(VAGUE, REQUESTS, beside={"parcels": TRACK})


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def test_the_job_of_the_definition_is_the_one_no_neighbour_has(bench):
    assert list(bench.tools) == ["cancelling", "parcels"]
    assert bench.score() == measure({"cancelling": VAGUE, "parcels": TRACK}, REQUESTS)


def test_alone_it_goes_by_its_name():
    alone = workbench(TRACK, [("Where is the parcel of ORD-20260917?", "track_parcel")])
    assert alone.score().share == 1
    assert workbench(TRACK, [("Sing.", None)]).job == "track_parcel"


def test_two_jobs_without_a_tool_are_refused():
    with pytest.raises(ValueError, match="meant for cancelling, parcels: put all but one of these tools into `beside`"):
        workbench(VAGUE, REQUESTS)


def test_other_words_are_measured_and_kept(bench):
    first = bench.score()
    second = bench.score(BETTER, name="cancel_order")
    assert (first.rows[0].share, second.rows[0].share) == (0, 1)
    assert bench.definition == {**VAGUE, "name": "cancel_order", "description": BETTER}
    assert [words["description"] for words, _ in bench.tries][-2:] == [VAGUE["description"], BETTER]
    assert "+ 0.0 → 1.0  Cancel my order ORD-20260918." in repr(bench)


def test_what_was_given_stays_as_it_was(bench):
    bench.score(BETTER, name="cancel_order")
    assert VAGUE["name"] == "do_it" and VAGUE["description"] == "Does <it>."


def test_a_name_that_is_taken_is_refused_and_changes_nothing(bench):
    with pytest.raises(ValueError, match="The name track_parcel is taken by a neighbour"):
        bench.score(name="track_parcel")
    assert bench.definition["name"] == "do_it"


def test_a_request_is_explained_by_number_or_by_its_words(bench):
    said = bench.explain(2)
    assert said.startswith("Where is the parcel of ORD-20260917?\n→ parcels (simulated)\n")
    assert "track_parcel 0." in said and "do_it 0." in said
    assert bench.explain("Where is a parcel?").startswith("Where is a parcel?\n→ ")


def test_a_request_that_is_not_there_is_said(bench):
    with pytest.raises(ValueError) as caught:
        bench.explain(11)
    assert str(caught.value) == "There is no request 11: they go from 1 to 3."


def test_as_text_and_html_without_widgets(without_widgets):
    bench = workbench(VAGUE, REQUESTS, beside={"parcels": TRACK})
    assert type(bench) is Workbench
    text = repr(bench)
    assert text.startswith(
        "Definition workbench\n  name         do_it\n  description  Does <it>.\n67% right (simulated;"
    )
    assert 'bench.score("A new description.")' in text
    bundle = bench._repr_mimebundle_()
    assert bundle["text/plain"] == text
    assert "Does &lt;it&gt;." in bundle["text/html"] and "✗ 0.0" in bundle["text/html"]


def test_the_widget_measures_what_is_written(bench):
    assert isinstance(bench, ipywidgets.VBox)
    assert (bench.name_field.value, bench.text.value) == ("do_it", "Does <it>.")
    bench.text.value, bench.name_field.value = BETTER, "cancel_order"
    bench.button.click()
    assert bench.definition["description"] == BETTER
    assert "100% right" in bench.result.value and "+ 0.0 → 1.0" in bench.result.value
    bench.request.value = 2
    assert "→ parcels" in bench.why.value


def test_the_plain_call_moves_the_widget_along(bench):
    bench.score(BETTER)
    assert bench.text.value == BETTER and "100% right" in bench.result.value


def test_an_error_is_shown_in_the_widget(bench):
    bench.name_field.value = "track_parcel"
    bench.button.click()
    assert "✗ This could not be measured: The name track_parcel is taken" in bench.result.value
    bench.name_field.value = "cancel_order"
    bench.button.click()
    assert "100% right" in bench.result.value


def test_every_part_has_a_name(bench):
    for part in (bench.name_field, bench.text, bench.request, bench.button):
        assert part.tooltip

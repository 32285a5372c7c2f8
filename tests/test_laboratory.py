"""The laboratory: what counts as a right pick, what the interval is over, and how the shares are drawn."""

import matplotlib

matplotlib.use("agg")
import pytest
from matplotlib import pyplot

from course_kit.classroom.laboratory import Accuracy, Row, chosen, jobs_of, measure, picked
from course_kit.classroom.plots import plot_accuracy, plot_similarity
from course_kit.evaluation.intervals import wilson
from course_kit.example_tools import get_weather
from course_kit.mock.provider import MockProvider

ORDER_ID = {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "Such as ORD-20260917."}


def tool(name, description, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema}


TRACK = tool("track_parcel", "Say where a parcel is.", order_id=ORDER_ID)
CANCEL = tool("cancel_order", "Cancel an order.", order_id=ORDER_ID)
JOBS = {"parcels": TRACK, "cancelling": CANCEL}
REQUESTS = [
    ("Where is the parcel of ORD-20260917?", "parcels"),
    ("Cancel my order ORD-20260918.", "cancelling"),
    ("Sing a song.", None),
]


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_each_request_is_asked_with_other_seeds_and_named_by_its_job():
    assert measure(JOBS, REQUESTS, times=3).rows == (
        Row("Where is the parcel of ORD-20260917?", "parcels", ("parcels",) * 3),
        Row("Cancel my order ORD-20260918.", "cancelling", ("cancelling",) * 3),
        Row("Sing a song.", "no call", ("no call",) * 3),
    )


def test_a_list_of_tools_goes_by_their_names():
    found = measure([TRACK, CANCEL], [(REQUESTS[0][0], "track_parcel")], times=1)
    assert found.rows[0].picks == ("track_parcel",)
    assert list(jobs_of([get_weather])) == ["get_weather"]


def test_two_calls_are_not_one_right_pick():
    said = "Where is the parcel of ORD-20260917? Then cancel order ORD-20260918."
    assert picked(JOBS, said) == "parcels and cancelling"
    assert measure(JOBS, [(said, "parcels")], times=2).share == 0


def test_the_sweep_picks_what_the_client_gets():
    for said, _ in REQUESTS:
        client = MockProvider().client()
        message = {"role": "user", "content": said}
        reply = client.messages.create(model="claude-opus-5", max_tokens=99, tools=[TRACK, CANCEL], messages=[message])
        called = [block.name for block in reply.content if block.type == "tool_use"]
        assert picked({"track_parcel": TRACK, "cancel_order": CANCEL}, said, seed=0) == (called or ["no call"])[0]


def test_seeds_differ_and_repeat():
    close = {"a": tool("find_trip", "Find a train trip."), "b": tool("find_fare", "Find a train fare.")}
    once, again = (measure(close, [("Find a train", "a")], times=20, noise=0.2) for _ in range(2))
    assert once == again
    assert set(once.rows[0].picks) == {"a", "b"}
    later = measure(close, [("Find a train", "a")], times=10, first_seed=10, noise=0.2)
    assert later.rows[0].picks == once.rows[0].picks[10:]


def test_a_profile_and_settings_are_passed_on():
    assert measure(JOBS, REQUESTS[:1], times=1, threshold=1.0).rows[0].picks == ("no call",)
    assert measure(JOBS, REQUESTS[:1], times=1, profile="hasty").share == 1


@pytest.mark.parametrize(
    ("requests", "sentence"),
    [([("Hello", "nobody")], "which is not among the tools: parcels, cancelling"), ([], "nothing to measure")],
)
def test_what_cannot_be_measured_is_said(requests, sentence):
    with pytest.raises(ValueError, match=sentence):
        measure(JOBS, requests)


# What a measurement says


@pytest.mark.parametrize("request_", ["Where is it?", 7, ("Where is it?", "parcels", 1)])
def test_a_request_that_is_no_pair_is_said(request_):
    with pytest.raises(ValueError) as caught:
        measure(JOBS, [request_])
    said = f"{request_!r} is no pair: write (sentence, job), with None where no tool should be called."
    assert str(caught.value) == said


@pytest.mark.parametrize("one", [TRACK, get_weather])
def test_one_definition_is_no_list(one):
    with pytest.raises(ValueError) as caught:
        measure(one, REQUESTS)
    assert str(caught.value) == "This is one definition: give a list of them, or a dict with a job for each."


@pytest.mark.parametrize("number", [0, 3, -1, None])
def test_a_number_that_no_request_has_is_said(number):
    assert [chosen(["a", "b"], one) for one in (1, 2, "c")] == ["a", "b", "c"]
    with pytest.raises(ValueError) as caught:
        chosen(["a", "b"], number)
    assert str(caught.value) == f"There is no request {number!r}: they go from 1 to 2."


def test_a_request_is_asked_at_least_once():
    with pytest.raises(ValueError, match="ask it at least once"):
        measure(JOBS, REQUESTS, times=-1)


def accuracy(*shares, times=10):
    rows = [Row(f"request {n}", "a", ("a",) * round(s * times) + ("b",) * (times - round(s * times)))
            for n, s in enumerate(shares, 1)]  # fmt: skip
    return Accuracy(tuple(rows))


def test_the_share_weighs_requests_alike_and_the_interval_counts_requests_not_seeds():
    few, many = accuracy(1, 0.5, times=2), accuracy(1, 0.5, times=100)
    assert few.share == many.share == 0.75
    assert few.interval == many.interval == tuple(wilson(1.5, 2))


@pytest.mark.parametrize(
    ("right", "number", "low", "high"),
    [(10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilsons_interval(right, number, low, high):
    """The last is the example of Newcombe (1998), table I, method 3: 81 of 263 gives 0.2553 to 0.3662."""
    assert tuple(wilson(right, number)) == pytest.approx((low, high), abs=5e-5)


def test_slips_are_listed_with_what_was_picked():
    row = Row("Where?", "parcels", ("orders", "no call", "orders", "parcels"))
    assert row.share == 0.25
    assert row.wrong == "orders 2×, no call 1×"
    text = repr(Accuracy((row, Row("Cancel!", "orders", ("orders",) * 4))))
    assert text == (
        "62% right (simulated; 2 requests, 4 times each; interval 14% to 94%)\n"
        "  0.2  Where?  (meant parcels; orders 2×, no call 1×)"
    )


def test_html_escapes_and_marks_without_colour():
    shown = Accuracy((Row("a <b>", "x", ("x",)), Row("c", "x", ("y",))))._repr_html_()
    assert "a &lt;b&gt;" in shown and "<b>c" not in shown
    assert "✓ 1.0" in shown and "✗ 0.0" in shown and "simulated" in shown
    assert shown.count("text-align: left") == 4 * 3  # titles over what they name, in JupyterLab too


def test_what_moved_is_named():
    before, after = accuracy(1, 0.5, 0), accuracy(1, 0, 1)
    assert after.changed(before) == "- 0.5 → 0.0  request 2\n+ 0.0 → 1.0  request 3"
    assert after.changed(after) == "Every request goes as before."


# Pictures


def test_shares_are_drawn_with_their_intervals():
    ax = plot_accuracy({"ten": {"start": accuracy(0), "name": accuracy(1)}, "others": {"name": accuracy(0.5)}})
    assert [label.get_text() for label in ax.get_yticklabels()] == ["start", "name"]
    points = [container[0] for container in ax.containers]
    assert [float(point.get_xdata()[0]) for point in points] == [0, 1, 0.5]
    assert [point.get_marker() for point in points] == ["o", "o", "s"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ten", "others"]
    low, high = accuracy(0.5).interval
    assert f"others: name 50% ({low:.0%} to {high:.0%})" in ax.description and "simulated" in ax.description
    assert "simulated" in ax.get_xlabel()


def test_the_map_shows_its_numbers_and_names_the_closest_pair():
    ax = plot_similarity(["a", "b", "c"], [[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])
    shown = [text.get_text() for text in ax.texts]
    assert shown == ["·", "0.90", "0.10", "0.90", "·", "0.20", "0.10", "0.20", "·"]
    assert "The closest pairs: a and b 0.90; b and c 0.20" in ax.description

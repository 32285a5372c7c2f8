"""Two releases, layer by layer: what fell, and through what."""

from dataclasses import replace

import pytest

from course_kit.classroom.upgrade import ASK_USER, LAYERS, Layers, Release, by_layer, passes, play, releases
from course_kit.classroom.upgrade_cases import Fixture, fixtures, other_words

MONDAY, TUESDAY = releases()


def few(layer, number=4):
    return [one for one in fixtures() if one.layer == layer][:number]


def test_every_layer_has_fixtures_and_no_sentence_stands_twice():
    both = [*fixtures(), *other_words()]
    assert {one.layer for one in fixtures()} == {one.layer for one in other_words()} == set(LAYERS)
    assert len({one.said for one in both}) == len(both) == 28 + 14


def test_what_fell_through_what():
    """The claims of lesson 12, with one seed."""
    shares = {name: by_layer(release, seeds=1).shares for name, release in {
        "monday": MONDAY, "tuesday": TUESDAY, "old model": replace(TUESDAY, model=MONDAY.model),
        "ours undone": replace(TUESDAY, changed={}, more=()),
        "ask": replace(TUESDAY, changed={}, more=(ASK_USER,)),
    }.items()}  # fmt: skip
    assert all(shares["monday"][layer] >= 0.85 for layer in LAYERS)
    assert all(shares["tuesday"][layer] < shares["monday"][layer] - 0.2 for layer in LAYERS[:3])
    assert {one["recovery"] for one in shares.values()} == {1.0}
    assert shares["old model"]["selection"] < 0.8 and shares["old model"]["steps"] == 1.0
    assert shares["old model"]["inputs"] == shares["monday"]["inputs"]
    assert shares["ours undone"]["selection"] > 0.9 and shares["ours undone"]["inputs"] == shares["tuesday"]["inputs"]
    assert shares["ask"]["inputs"] > shares["tuesday"]["inputs"] + 0.4


def test_a_trace_shows_that_two_things_changed():
    first, second = (play(one, "Where is my parcel for ORD-20260906?").trace.steps()[0] for one in (MONDAY, TUESDAY))
    assert (first.model, first.tool_count, second.model, second.tool_count) == (
        "simulated-steady-4", 6, "simulated-hasty-5", 16,
    )  # fmt: skip
    assert first.tools_hash != second.tools_hash


def test_the_same_release_gives_the_same_twice():
    assert repr(by_layer(TUESDAY, few("inputs"))) == repr(by_layer(TUESDAY, few("inputs")))


def test_each_layer_looks_at_its_own():
    run = play(MONDAY, "Which items are in order ORD-20260914?")
    right = {"query_order": {"order_id": "ORD-20260914"}}
    assert passes(Fixture("inputs", "", right), run)
    assert not passes(Fixture("inputs", "", {"query_order": {"order_id": "ORD-1"}}), run)
    assert passes(Fixture("selection", "", {"query_order": {"order_id": "ORD-1"}}), run)
    assert not passes(Fixture("selection", "", {}), run)
    slow = play(replace(MONDAY, model="simulated-hasty-5"), few("steps")[0].said)
    assert not passes(few("steps")[0], slow) and passes(few("steps")[0]._replace(layer="inputs"), slow)
    again = play(MONDAY, few("recovery")[0].said)
    assert passes(few("recovery")[0], again) and not passes(few("recovery")[0]._replace(layer="inputs"), again)


def test_where_the_background_stands():
    ahead, behind = Release(background="Card."), Release(background="Card.", background_last=True)
    assert [turn["content"] for turn in ahead.messages("Hi")] == ["Card.", "One moment.", "Hi"]
    assert [turn["content"] for turn in behind.messages("Hi")] == ["Hi", "One moment.", "Card."]
    assert [turn["content"] for turn in Release().messages("Hi")] == ["Hi"]


def test_slips_and_a_model_that_is_not_there():
    found = by_layer(MONDAY, few("selection"), seeds=1)
    assert isinstance(found, Layers) and found.slips() == "Every fixture passes every time." and found.passed == 1
    assert repr(found) == "passed 100%   selection 100%"
    wrong = by_layer(MONDAY, [Fixture("selection", "Thank you, that is all.", {"query_order": {}})], seeds=1)
    assert wrong.slips() == "  0%  selection  Thank you, that is all.\n        → answers in words"
    assert wrong.slips("inputs") == "Every fixture passes every time."
    with pytest.raises(ValueError, match="no model 'm' here"):
        play(Release(model="m"), "Hi")


def test_a_layer_that_is_not_there_is_said():
    with pytest.raises(ValueError) as caught:
        Layers({}, ()).slips("input")
    assert str(caught.value) == "There is no layer 'input': the layers are selection, inputs, steps, recovery."


def test_a_description_for_no_tool_is_said():
    with pytest.raises(ValueError) as caught:
        replace(MONDAY, changed={"query_order": "…", "query_ordr": "…"})
    assert str(caught.value) == (
        "`changed` names 'query_ordr', and the desk's tools are search_orders, query_order, track_parcel, "
        "search_products, refund_order, cancel_order."
    )


def test_one_definition_more_is_written_as_a_tuple():
    with pytest.raises(TypeError) as caught:
        Release(more=ASK_USER)
    assert str(caught.value) == "`more` holds definitions, and this is a single one: write `(definition,)`."


def test_nothing_to_play_is_said():
    for among, seeds, said in (
        ([], 1, "There is nothing to play: give at least one fixture."),
        (few("selection"), 0, "seeds is 0: play every fixture at least once."),
    ):
        with pytest.raises(ValueError) as caught:
            by_layer(MONDAY, among, seeds)
        assert str(caught.value) == said

"""Error texts: what the service finds, what the model makes of a text, and the widget beside its plain call."""

import pytest

from course_kit.classroom import error_texts as module
from course_kit.classroom.error_cases import DESK, REQUESTS, STRANGERS, TEXTS, VOUCHERS, Fault
from course_kit.classroom.error_texts import ErrorTexts, Recovery, Story, error_texts, recover, story

CUP = REQUESTS[0]
SENT = 'refund_order {"order_id": "ORD-20260917", "amount": 19.99, "reason": "cup arrived broken"}'
FAULTS = [
    Fault("amount", "a whole number of cents", "19.99", "19.99 is 1999"),
    Fault(
        "reason",
        "one of damaged, not_received, wrong_item, other",
        '"cup arrived broken"',
        "send one of these words and nothing else",
    ),
]


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


# The service.


def test_every_fault_of_a_call_is_found_in_the_order_of_its_inputs():
    call = {"input": {"order_id": "ORD-20260917", "amount": 19.99, "reason": "cup arrived broken"}}
    assert DESK.faults(call) == FAULTS


def test_a_call_as_the_service_wants_it_has_no_fault():
    assert DESK.faults({"input": {"order_id": "ORD-20260917", "amount": 1999, "reason": "damaged"}}) == []
    assert DESK.faults({"input": {"order_id": "ORD-20260917", "day": "2026-09-30"}}) == []


@pytest.mark.parametrize(
    ("path", "value"), [("order_id", "20260917"), ("amount", 0), ("reason", "Damaged"), ("day", "30.09.2026")]
)
def test_each_input_has_its_own_rule(path, value):
    [fault] = DESK.faults({"input": {path: value}})
    assert fault.path == path and fault.expected and fault.hint


@pytest.mark.parametrize("service", [DESK, VOUCHERS], ids=["desk", "vouchers"])
def test_definitions_say_nothing_of_what_is_wanted(service):
    nodes = [node for tool in service.tools for node in tool["input_schema"]["properties"].values()]
    assert all(node.keys() == {"type"} for node in nodes)


# One conversation.


def test_failed_leads_to_the_same_call_until_patience_ends():
    told = story(CUP, TEXTS["failed"])
    assert told == Story(
        CUP, ((SENT, "failed"),) * 3, None, "✗ given up (simulated): refund_order did not work: failed", told.why
    )
    assert len(story(CUP, TEXTS["failed"], patience=5).calls) == 5


def test_a_field_that_is_only_named_ends_it_at_once():
    told = story(CUP, TEXTS["field named"])
    assert (told.calls, told.ok) == (((SENT, "`amount` is invalid\n`reason` is invalid"),), False)
    assert repr(told).endswith("did not work: `amount` is invalid\n    `reason` is invalid")  # nothing at the margin


def test_field_and_hint_mend_both_faults_in_one_more_call():
    told = story(CUP, TEXTS["field and hint"])
    assert told.accepted == {"order_id": "ORD-20260917", "amount": 1999, "reason": "damaged"}
    assert [answer for _, answer in told.calls][1:] == ["done"]
    assert told.why == "refund_order failed; corrected what the error names: amount, reason"
    assert repr(told).split("\n")[-1] == "  ✓ done (simulated), calls: 2"


def test_one_fault_at_a_time_costs_a_call_more():
    told = story(CUP, TEXTS["field and hint"], at_once=False)
    assert told.ok and len(told.calls) == 3
    assert "reason" not in told.calls[0][1]


def test_a_dict_gives_a_text_for_each_path_and_a_bare_one_for_others():
    told = story(CUP, {"amount": "`amount` is in cents: 19.99 is 1999"})
    assert told.calls[0][1] == "`amount` is in cents: 19.99 is 1999\ninvalid parameter"


def test_another_service_has_other_habits():
    said = "Give product PRD-101 a discount of 15% until 5 December 2026."
    told = story(said, TEXTS["field and hint"], service=VOUCHERS)
    assert told.accepted == {"product_id": "PRD-101", "share": 0.15, "last_day": "05.12.2026"}


def test_a_model_that_never_stops_is_stopped():
    told = story(CUP, TEXTS["failed"], patience=99)
    assert len(told.calls) == module.MOST_REPLIES and not told.ok
    assert told.ending == "✗ still at it (simulated) after 8 replies"


# Many.


def test_recovery_of_the_four_texts():
    found = {name: recover(write, seeds=1) for name, write in TEXTS.items()}
    assert {name: (one.share, round(one.calls, 1)) for name, one in found.items()} == {
        "failed": (0.0, 3.0),
        "invalid parameter": (0.0, 3.0),
        "field named": (0.0, 1.0),
        "field and hint": (0.75, 1.8),
    }


def test_recovery_in_wordings_the_rules_were_not_written_against():
    found = {voice: recover(texts["field and hint"], seeds=1).share for voice, texts in STRANGERS.items()}
    assert {voice: round(share, 2) for voice, share in found.items()} == {
        "a library": 0.75,
        "a colleague": 0.5,
        "a JSON body": 0.0,
        "a log line": 0.33,
    }


@pytest.mark.parametrize("voice", STRANGERS)
def test_every_voice_has_the_four_kinds_and_a_hint_for_each_path(voice):
    assert list(STRANGERS[voice]) == list(TEXTS)
    for path in DESK.wanted:
        assert STRANGERS[voice]["field and hint"](Fault(path, "", "", ""))
        assert path in STRANGERS[voice]["field named"](Fault(path, "", "", ""))


def test_seeds_agree_after_an_error():
    rows = recover(TEXTS["field and hint"], REQUESTS[:4], seeds=4).rows
    assert [share for _, share, _ in rows] == [1, 1, 0, 1]


def test_each_request_is_told_with_each_seed(monkeypatch):
    asked = []
    made = Story("", (("call", "done"),), {}, "")
    monkeypatch.setattr(module, "story", lambda said, write, seed, **options: asked.append((said, seed)) or made)
    assert recover(TEXTS["failed"], ["a", "b"], seeds=2).rows == (("a", 1, 1), ("b", 1, 1))
    assert asked == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_a_recovery_weighs_requests_alike_and_says_it_is_simulated():
    found = Recovery((("a", 1.0, 2.0), ("b", 0.0, 3.0)), seeds=4)
    assert (found.share, found.calls) == (0.5, 2.5)
    assert repr(found) == " 50% put right, 2.5 calls a request (simulated; 2 requests, 4 seeds)"
    one = Recovery((("a", 1.0, 2.0),), seeds=1)
    assert repr(one) == "100% put right, 2.0 calls a request (simulated; 1 request, 1 seed)"


def test_nothing_to_measure_is_said():
    with pytest.raises(ValueError, match="give at least one request"):
        recover(TEXTS["failed"], [])


@pytest.mark.parametrize("write", ["failed", None])
def test_what_is_no_function_of_a_fault_is_said(write):
    with pytest.raises(TypeError) as caught:
        recover(write)
    said = f"{write!r} is no function of a fault: write `lambda fault: ...`, or a dict with a text for each path."
    assert str(caught.value) == said


@pytest.mark.parametrize("write", [lambda fault: None, {"amount": None}])
def test_a_fault_without_a_text_is_said(write):
    with pytest.raises(TypeError) as caught:
        recover(write)
    assert str(caught.value) == "The text for `amount` is None: return a text for every fault."


def test_seeds_are_at_least_one_and_one_sentence_is_one_request():
    with pytest.raises(ValueError) as caught:
        recover(TEXTS["failed"], seeds=0)
    assert str(caught.value) == "seeds is 0: ask every request at least once."
    assert recover(TEXTS["failed"], CUP, seeds=1).rows == recover(TEXTS["failed"], [CUP], seeds=1).rows


def test_an_empty_text_from_a_function_is_not_shown_as_done():
    assert story(CUP, lambda fault: "").calls[0] == (SENT, "")


# The thing to play with.


def test_the_plain_call_tells_and_is_shown():
    texts = ErrorTexts()
    assert texts.faults(1) == FAULTS
    assert texts.tell("`amount` is in cents: 19.99 is 1999", 6).ok
    assert texts.as_text().split("\n")[1] == REQUESTS[5]
    assert not texts.tell(TEXTS["failed"], "Refund 9.90 for ORD-20260911. It is damaged.").ok


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("x", 99), f"There is no request 99: they go from 1 to {len(REQUESTS)}."),
        (("",), "The text is empty: the API refuses an error without a text. Write one."),
        ((5,), "The text for `amount` is 5: return a text for every fault."),
    ],
)
def test_what_cannot_be_told_is_said_and_the_last_story_stays(given, said):
    texts = ErrorTexts()
    before = texts.tell(TEXTS["failed"])
    with pytest.raises((TypeError, ValueError)) as caught:
        texts.tell(*given)
    assert (str(caught.value), texts.last) == (said, before)


def test_faults_of_a_request_that_is_not_there():
    with pytest.raises(ValueError, match="There is no request 0: they go from 1 to"):
        ErrorTexts().faults(0)


def test_the_widget_begins_with_a_pattern_and_tells_what_is_typed():
    texts = error_texts()
    assert texts.text.value == "failed" and "given up" in texts.result.value
    texts.request.value = 6
    texts.pattern.value = "field and hint"
    assert texts.text.value == "`amount` must be a whole number of cents, but 9.9 came; 19.99 is 1999"
    assert "✓ done (simulated), calls: 2" in texts.result.value
    texts.text.value = "no"
    texts.button.click()
    assert "given up" in texts.result.value and texts.last.calls[0][1] == "no"


def test_what_is_typed_is_shown_as_text():
    texts = error_texts()
    texts.text.value = "<b>no</b>"
    texts.button.click()
    assert "&lt;b&gt;no" in texts.result.value and "<b>no" not in texts.result.value


def test_a_fault_in_a_click_is_shown_and_not_lost(monkeypatch):
    texts = error_texts()
    monkeypatch.setattr(module, "story", lambda *a, **k: 1 / 0)
    texts.button.click()
    assert "This could not be told: division by zero" in texts.result.value


def test_without_widgets_text_and_html_remain(without_widgets):
    texts = error_texts()
    assert type(texts) is ErrorTexts
    bundle = texts._repr_mimebundle_()
    assert bundle["text/plain"].startswith(f"Error texts\n{CUP}\n") and "<pre" in bundle["text/html"]


def test_with_widgets_text_and_html_stand_beside_the_view():
    bundle = error_texts()._repr_mimebundle_()
    assert bundle["text/plain"].startswith("Error texts\n") and "<pre" in bundle["text/html"]

"""Each fault by what it does to a message or an answer, and the schedules; test_server shows how clients meet them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.contract.messages import tool_use
from course_kit.contract.streaming import EventDecoder, encode_stream, input_json, message_from_events, stream_events
from course_kit.mock.faults import (
    Fault,
    check_faults,
    chunks,
    cut,
    delay,
    end_early,
    error_event,
    fault_for,
    max_tokens,
    refusal,
    seeded,
    stall,
    status,
)
from course_kit.mock.wire import ERROR_TYPES, Answer, crash_answer, error_type, make_id

REPLY = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-5-5",
    "content": [
        {"type": "text", "text": "Both files. ✅"},
        tool_use("toolu_01", "read", {"path": "b.txt"}),
        tool_use("toolu_02", "write", {"path": "a.txt", "body": "hello"}),
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "stop_details": None,
    "usage": {"input_tokens": 9, "output_tokens": 30},
}
JSON = Answer(200, (json.dumps(REPLY).encode(),), {"content-type": "application/json", "request-id": "req_01"})
STREAM = Answer(200, tuple(encode_stream(stream_events(REPLY))), {"request-id": "req_01"})


def events_in(answer):
    return EventDecoder().feed(answer.body)


# ── instead of the model ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("code", "type"), [*ERROR_TYPES.items(), (418, "invalid_request_error"), (503, "api_error")])
def test_a_status_has_the_type_of_the_table_and_the_envelope(code, type):
    answer = status(code, message="Not now").answer("req_01")
    assert json.loads(answer.body) == {
        "type": "error",
        "error": {"type": type, "message": "Not now"},
        "request_id": "req_01",
    }
    assert (answer.status, error_type(code)) == (code, type)
    assert answer.headers == {"content-type": "application/json", "request-id": "req_01"}


@pytest.mark.parametrize(
    ("retry_after", "headers"),
    [
        (2, {"retry-after": "2"}),
        (2.0, {"retry-after": "2"}),
        (0, {"retry-after": "0"}),
        (0.25, {"retry-after": "1", "retry-after-ms": "250"}),
        (1.5, {"retry-after": "2", "retry-after-ms": "1500"}),
    ],
)
def test_retry_after_in_whole_seconds_and_in_milliseconds_when_fractional(retry_after, headers):
    answer = status(429, retry_after=retry_after).answer("req_01")
    assert {name: value for name, value in answer.headers.items() if name.startswith("retry")} == headers


def test_a_status_says_that_it_is_simulated():
    answer = status(599).answer("req_01")
    assert (answer.status, json.loads(answer.body)["error"]["message"]) == (599, "Simulated fault: status 599")


def test_error_code_and_should_retry():
    answer = status(400, error_code="tool_name_conflict", should_retry=True).answer("req_01")
    assert json.loads(answer.body)["error"]["details"] == {"error_code": "tool_name_conflict"}
    assert answer.headers["x-should-retry"] == "true"
    assert status(500, should_retry=False).answer("req_01").headers["x-should-retry"] == "false"


@pytest.mark.parametrize("fault", [delay(1), cut(), stall(), end_early(), error_event(), chunks(3), max_tokens()])
def test_only_a_status_answers_instead_of_the_model(fault):
    assert fault.answer("req_01") is None


# ── the model's turn ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_fr11_max_tokens_cuts_the_last_call_and_a_lenient_reader_sees_a_whole_input():
    message, raw_inputs = max_tokens(at=0.8).on_message(REPLY)
    assert raw_inputs == {2: '{"path": "a.txt", "body": "hel'[: int(len('{"path": "a.txt", "body": "hello"}') * 0.8)]}
    assert message == {
        **REPLY,
        "stop_reason": "max_tokens",
        "content": [*REPLY["content"][:2], tool_use("toolu_02", "write", {"path": "a.txt"})],
    }
    assert REPLY["stop_reason"] == "tool_use", "the model's own message is not changed"


def test_fr11_the_streamed_fragments_end_where_they_were_cut():
    message, raw_inputs = max_tokens(at=0.8).on_message(REPLY)
    read = message_from_events(stream_events(message, raw_inputs=raw_inputs))
    assert read["content"][2] == {**tool_use("toolu_02", "write", {}), "partial_json": raw_inputs[2]}


def test_max_tokens_at_the_ends_of_the_text():
    nothing, raw = max_tokens(at=0).on_message(REPLY)
    assert (nothing["content"][2]["input"], raw) == ({}, {2: ""})
    whole, raw = max_tokens(at=1).on_message(REPLY)
    assert (whole["content"], raw) == (REPLY["content"], {2: input_json(REPLY["content"][2]["input"])})
    assert whole["stop_reason"] == "max_tokens"


def test_blocks_after_the_cut_call_are_gone():
    reply = {**REPLY, "content": [REPLY["content"][1], {"type": "text", "text": "after"}]}
    message, _ = max_tokens(0).on_message(reply)
    assert message["content"] == [tool_use("toolu_01", "read", {})]


def test_max_tokens_cuts_a_turn_without_calls_in_its_last_text():
    reply = {**REPLY, "content": [{"type": "text", "text": "0123456789"}], "stop_reason": "end_turn"}
    assert max_tokens(0.3).on_message(reply)[0]["content"] == [{"type": "text", "text": "012"}]
    assert max_tokens(0).on_message(reply)[0]["content"] == []
    assert max_tokens().on_message({**reply, "content": []})[0]["stop_reason"] == "max_tokens"


def test_max_tokens_keeps_what_stands_ahead_of_the_cut_text_and_nothing_else_of_how_it_stopped():
    thought = {"type": "thinking", "thinking": "", "signature": "eA=="}
    first, last = {"type": "text", "text": "Well."}, {"type": "text", "text": "0123456789"}
    stopped = {"stop_reason": "stop_sequence", "stop_sequence": "END", "stop_details": {"type": "refusal"}}
    assert max_tokens(0.3).on_message({**REPLY, "content": [first, last, thought], **stopped}) == (
        {**REPLY, "content": [first, {"type": "text", "text": "012"}], "stop_reason": "max_tokens"},
        {},
    )
    assert max_tokens(1).on_message({**REPLY, **stopped})[0] == {**REPLY, "stop_reason": "max_tokens"}


inputs = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=5), inputs, max_size=3), st.floats(0, 1))
def test_a_call_can_be_cut_anywhere(input, at):
    message, raw_inputs = max_tokens(at).on_message({**REPLY, "content": [tool_use("toolu_01", "read", input)]})
    assert input_json(input).startswith(raw_inputs[0])
    assert isinstance(message["content"][0]["input"], dict)
    assert message["content"][0]["input"].keys() <= input.keys()


def test_refusal_names_its_category_and_keeps_the_calls():
    message, raw_inputs = refusal("cyber").on_message(REPLY)
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    assert (message, raw_inputs) == ({**REPLY, "stop_reason": "refusal", "stop_details": details}, {})
    unnamed = {"type": "refusal", "category": None, "explanation": None}
    assert refusal().on_message({**REPLY, "stop_sequence": "END"}) == (
        {**REPLY, "stop_reason": "refusal", "stop_details": unnamed},
        {},
    )


# ── the bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("answer", [JSON, STREAM], ids=["json", "stream"])
@pytest.mark.parametrize(("fault", "ending"), [(cut, "cut"), (stall, "stall")])
def test_cut_and_stall_keep_their_share_of_the_bytes(answer, fault, ending):
    half = fault(0.5).on_answer(answer, answer is STREAM)
    assert half.ending == ending
    assert half.body == answer.body[: (len(answer.body) + 1) // 2]
    assert half.chunks[:-1] == answer.chunks[: len(half.chunks) - 1], "the pieces stay as they were"
    assert fault(0).on_answer(answer, answer is STREAM).chunks == ()
    assert fault(1).on_answer(answer, answer is STREAM).chunks == answer.chunks
    assert len(fault(1e-9).on_answer(answer, answer is STREAM).body) == 1, (
        "after the first byte means one byte at least"
    )


def test_delay_adds_up():
    assert delay(1.5).on_answer(Answer(200, (), delay=1), False) == Answer(200, (), delay=2.5)
    assert delay(0).on_answer(Answer(200, (), delay=1), False) == Answer(200, (), delay=1)


@pytest.mark.parametrize("size", [1, 2, 7, 10**6])
def test_chunks_of_odd_bytes_say_the_same(size):
    answer = chunks(size).on_answer(STREAM, True)
    assert answer.body == STREAM.body
    assert {len(piece) for piece in answer.chunks[:-1]} <= {size}
    assert 0 < len(answer.chunks[-1]) <= size


def test_fr13_odd_chunks_split_a_character():
    with pytest.raises(UnicodeDecodeError):
        [piece.decode() for piece in chunks(1).on_answer(STREAM, True).chunks]


@pytest.mark.parametrize("after", [0, 0.3, 0.5, 1])
def test_a_stream_that_ends_early_holds_whole_events_and_never_the_last(after):
    whole = events_in(STREAM)
    answer = end_early(after).on_answer(STREAM, True)
    assert events_in(answer) == whole[: int((len(whole) - 1) * after)]
    assert answer.chunks == STREAM.chunks[: int((len(STREAM.chunks) - 1) * after)]
    assert (answer.ending, whole[-1]) == ("clean", {"type": "message_stop"})


@pytest.mark.parametrize("after", [0, 0.5, 1])
def test_an_answer_that_is_not_streamed_ends_inside_its_json(after):
    answer = end_early(after).on_answer(JSON, False)
    assert answer.chunks == (JSON.body[: int((len(JSON.body) - 1) * after)],)
    with pytest.raises(ValueError):
        json.loads(answer.body)


def test_error_event_ends_the_stream():
    answer = error_event(0.5, "api_error").on_answer(STREAM, True)
    whole = events_in(STREAM)
    error = {"type": "api_error", "message": "Simulated fault: api_error"}
    assert events_in(answer) == [
        *whole[: (len(whole) - 1) // 2],
        {"type": "error", "error": error, "request_id": "req_01"},
    ]
    assert (answer.status, answer.ending) == (200, "clean")


@pytest.mark.parametrize(("type", "code"), [("overloaded_error", 529), ("rate_limit_error", 429), ("api_error", 500)])
def test_error_event_without_a_stream_is_the_status_of_its_type(type, code):
    answer = error_event(type=type).on_answer(JSON, False)
    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (code, type)
    assert answer.headers["request-id"] == "req_01"
    assert error_event(type=type).on_answer(Answer(200, ()), False).headers["request-id"] == ""


# ── bad arguments ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: status(200), "status 200 is no error: give one from 400 to 599."),
        (lambda: status(399), "status 399 is no error: give one from 400 to 599."),
        (lambda: status(600), "status 600 is no error: give one from 400 to 599."),
        (lambda: status(429, retry_after=float("inf")), "retry_after is inf: give the seconds to wait, 0 or more."),
        (lambda: status(429, retry_after=-1), "retry_after is -1: give the seconds to wait, 0 or more."),
        (lambda: status(429, retry_after=float("nan")), "retry_after is nan: give the seconds to wait, 0 or more."),
        (lambda: delay(-1), "delay is -1: give seconds, 0 or more."),
        (lambda: delay(float("inf")), "delay is inf: give seconds, 0 or more."),
        (lambda: cut(1.5), "after is 1.5: give a share of the whole, from 0 to 1."),
        (lambda: stall(-0.1), "after is -0.1: give a share of the whole, from 0 to 1."),
        (lambda: end_early(2), "after is 2: give a share of the whole, from 0 to 1."),
        (lambda: error_event(2), "after is 2: give a share of the whole, from 0 to 1."),
        (lambda: max_tokens(at=50), "at is 50: give a share of the whole, from 0 to 1."),
        (lambda: chunks(0), "chunks of 0 bytes: give a whole number, 1 or more."),
        (lambda: chunks(1.5), "chunks of 1.5 bytes: give a whole number, 1 or more."),
        (lambda: seeded(1, 20, [cut()]), "rate is 20: give a share of the whole, from 0 to 1."),
        (
            lambda: seeded(1, 0.2, []),
            "seeded(...) draws from `among`: give it at least one fault, such as [status(529)].",
        ),
        (
            lambda: seeded(1, 0.2, [cut(), 529]),
            "seeded(...) draws from `among`: give it at least one fault, such as [status(529)].",
        ),
        (
            lambda: refusal("rude"),
            "'rude' is no refusal category: give one of cyber, bio, frontier_llm, reasoning_extraction, "
            "general_harms or None.",
        ),
    ],
)
def test_a_bad_argument_gets_one_sentence(make, says):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == says


def test_an_unknown_error_type_gets_the_list():
    with pytest.raises(ValueError, match="'overload' is no error type of the API: give one of api_error, "):
        error_event(type="overload")


# ── schedules ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("faults", "first_four"),
    [
        (None, [None, None, None, None]),
        (cut(), [cut(), cut(), cut(), cut()]),
        ([None, cut()], [None, cut(), None, None]),
        ({1: cut(), 3: stall()}, [cut(), None, stall(), None]),
        ([], [None, None, None, None]),
    ],
    ids=["healthy", "one_for_all", "list", "by_number", "empty"],
)
def test_which_request_meets_which_fault(faults, first_four):
    assert [fault_for(check_faults(faults), number) for number in (1, 2, 3, 4)] == first_four


def test_seeded_faults_depend_on_seed_and_number_alone():
    schedule = seeded(7, 0.3, among=[status(529), cut()])
    assert check_faults(schedule) is schedule
    drawn = {number: fault_for(schedule, number) for number in range(1, 301)}
    assert drawn == {number: fault_for(schedule, number) for number in reversed(range(1, 301))}
    assert 60 < sum(fault is not None for fault in drawn.values()) < 120
    assert set(drawn.values()) == {None, status(529), cut()}
    assert drawn != {number: fault_for(seeded(8, 0.3, [status(529), cut()]), number) for number in range(1, 301)}
    assert {fault_for(seeded(7, 0, [cut()]), number) for number in range(1, 50)} == {None}
    assert {fault_for(seeded(7, 1, [cut()]), number) for number in range(1, 50)} == {cut()}


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ([529], "faults holds 529: give a fault such as status(529), a list or a dict of faults, or seeded(...)."),
        (529, "faults holds 529: give a fault such as status(529), a list or a dict of faults, or seeded(...)."),
        ("cut", "faults holds 'cut': give a fault such as status(529), a list or a dict of faults, or seeded(...)."),
        ({0: cut()}, "faults names request 0: the keys are request numbers, and the first is 1."),
        ({"1": cut()}, "faults names request '1': the keys are request numbers, and the first is 1."),
        ({True: cut()}, "faults names request True: the keys are request numbers, and the first is 1."),
        ({-1: cut(), 0: cut()}, "faults names request -1: the keys are request numbers, and the first is 1."),
    ],
)
def test_what_is_no_schedule_is_named(faults, says):
    with pytest.raises(TypeError) as caught:
        check_faults(faults)
    assert str(caught.value) == says


# ── the wire's helpers ───────────────────────────────────────────────────────────────────────────────────────────────


def test_ids_look_like_the_wires_and_depend_on_their_parts_alone():
    assert make_id("toolu_01", 0, "a") == make_id("toolu_01", 0, "a") != make_id("toolu_01", 1, "a")
    for prefix in ("msg_01", "toolu_01", "srvtoolu_01", "req_011"):
        id = make_id(prefix, "x", "\ud800")
        assert id.startswith(prefix) and id.isascii()
        assert len(id.partition("_")[2]) == 24 and id.partition("_")[2].isalnum()


def test_a_crash_of_the_model_is_not_worth_a_retry():
    answer = crash_answer(KeyError("city"), b"{}")
    assert (answer.status, answer.headers["x-should-retry"]) == (500, "false")
    assert json.loads(answer.body)["error"] == {
        "type": "api_error",
        "message": "The model behind the mock raised KeyError: 'city'",
    }


def test_a_half_is_the_share_that_nobody_named():
    assert [make() for make in (cut, stall, end_early, max_tokens, error_event)] == [
        *(make(0.5) for make in (cut, stall, end_early, max_tokens)),
        error_event(0.5, "overloaded_error"),
    ]


def test_a_fault_without_a_kind_changes_nothing():
    assert (Fault().answer("req_01"), Fault().on_search(), Fault().on_message(REPLY)) == (None, None, (REPLY, {}))
    assert Fault().on_answer(STREAM, True) is STREAM

"""A message told in events and read back: every cut, every block type, and the SDK's own reader as a peer."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.contract.messages import tool_use
from course_kit.contract.streaming import (
    EventDecoder,
    InputNotJSON,
    StreamError,
    encode_event,
    encode_stream,
    message_from_events,
    stream_events,
)

USAGE = {
    "input_tokens": 25,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 40,
    "service_tier": "standard",
    "output_tokens_details": {"thinking_tokens": 7},
}


def message(*content, stop_reason="end_turn", **fields):
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": USAGE,
        **fields,
    }


def text(value):
    return {"type": "text", "text": value}


def decode(data, pieces=None):
    decoder = EventDecoder()
    return [event for piece in pieces or [data] for event in decoder.feed(piece)]


def deltas(events, index):
    return [e["delta"] for e in events if e["type"] == "content_block_delta" and e["index"] == index]


# ── message → events ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_events_of_a_short_reply_as_recorded():
    call = tool_use("toolu_01", "get_weather", {"city": "Oslo"})
    reply = message(text("Hi."), call, stop_reason="tool_use")
    opening = {key: value for key, value in USAGE.items() if key != "output_tokens_details"}
    totals = {key: value for key, value in USAGE.items() if key != "service_tier"}
    assert stream_events(reply, chunk_size=100, seed=2) == [
        {
            "type": "message_start",
            "message": {**reply, "content": [], "stop_reason": None, "usage": {**opening, "output_tokens": 2}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {**call, "input": {}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"city": "Oslo"}'},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None},
            "usage": totals,
        },
        {"type": "message_stop"},
    ]


def test_a_call_without_caller_is_streamed_with_one():
    block = {"type": "tool_use", "id": "toolu_01", "name": "now", "input": {}}
    opened = stream_events(message(block, stop_reason="tool_use"))[1]["content_block"]
    assert opened == {**block, "caller": {"type": "direct"}}


def test_fragments_are_cut_inside_keys_and_values_and_join_to_the_text():
    block = tool_use("toolu_01", "write", {"path": "a.txt", "body": "one two three ✅ four five"})
    fragments = [d["partial_json"] for d in deltas(stream_events(message(block), chunk_size=4), 0)]
    assert fragments[0] == ""
    assert len(fragments) > 8 and all(0 < len(piece) < 8 for piece in fragments[1:])
    assert "".join(fragments) == '{"path": "a.txt", "body": "one two three ✅ four five"}'


def test_the_seed_decides_the_cuts():
    block = tool_use("toolu_01", "write", {"body": "word " * 30})
    assert stream_events(message(block), seed=1) == stream_events(message(block), seed=1)
    assert stream_events(message(block), seed=1) != stream_events(message(block), seed=2)
    assert encode_stream([{"type": "ping"}] * 9, seed=1) != encode_stream([{"type": "ping"}] * 9, seed=2)


def test_an_eager_tool_comes_in_longer_fragments():
    block = tool_use("toolu_01", "write", {"body": "word " * 100})
    usual = deltas(stream_events(message(block)), 0)
    eager = deltas(stream_events(message(block), eager={"write"}), 0)
    assert len(eager) < len(usual) / 2
    assert "".join(d["partial_json"] for d in eager) == "".join(d["partial_json"] for d in usual)


def test_thinking_ends_with_its_signature():
    block = {"type": "thinking", "thinking": "Look it up first.", "signature": "c2ln"}
    events = stream_events(message(block))
    assert events[1]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert [d["type"] for d in deltas(events, 0)][-1] == "signature_delta"
    assert deltas(events, 0)[-1] == {"type": "signature_delta", "signature": "c2ln"}
    assert "".join(d["thinking"] for d in deltas(events, 0)[:-1]) == "Look it up first."


WHOLE = [
    pytest.param({"type": "redacted_thinking", "data": "b3BhcXVl"}, id="redacted_thinking"),
    pytest.param(
        {
            "type": "tool_search_tool_result",
            "tool_use_id": "srvtoolu_01",
            "content": {
                "type": "tool_search_tool_search_result",
                "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}],
            },
        },
        id="tool_search_tool_result",
    ),
    pytest.param(
        {
            **tool_use("toolu_01", "get_weather", {"city": "Oslo"}),
            "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_01"},
        },
        id="call_made_by_code_execution",
    ),
]


@pytest.mark.parametrize("block", WHOLE)
def test_blocks_that_arrive_whole(block):
    events = stream_events(message(block))
    assert events[1] == {"type": "content_block_start", "index": 0, "content_block": block}
    assert deltas(events, 0) == []


def test_server_tool_use_is_streamed_like_a_call():
    block = {"type": "server_tool_use", "id": "srvtoolu_01", "name": "tool_search_tool_bm25", "input": {"query": "x"}}
    events = stream_events(message(block))
    assert events[1]["content_block"] == {**block, "input": {}}
    assert "".join(d["partial_json"] for d in deltas(events, 0)) == '{"query": "x"}'


def test_a_piece_has_at_least_one_character():
    with pytest.raises(ValueError, match="chunk_size is 0"):
        stream_events(message(text("a")), chunk_size=0)


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_event_as_bytes_padding_included():
    assert encode_event({"type": "ping"}, padding=3) == b'event: ping\ndata: {"type":"ping"   }\n\n'


def test_padding_varies_from_0_to_15():
    lengths = {len(piece) - len(encode_event({"type": "ping"})) for piece in encode_stream([{"type": "ping"}] * 400)}
    assert lengths == set(range(16))


FR13 = 'event: content_block_delta\ndata: {"t":"café ✅ 🧪"}\n\n'.encode()


def test_fr13_a_character_split_over_two_pieces_at_every_cut():
    for cut in range(len(FR13) + 1):
        assert decode(FR13, [FR13[:cut], FR13[cut:]]) == [{"t": "café ✅ 🧪"}], cut


def test_fr13_one_byte_at_a_time():
    assert decode(FR13, [bytes([byte]) for byte in FR13]) == [{"t": "café ✅ 🧪"}]


LINES = (
    b': hello\r\nevent: a\r\nid: 7\r\nretry: 10\r\ndata:{"a":\r\ndata: 1}\r\n\r\n\r\n: keep\ndata: {"b":2}\n\ndata\n'
)
LINE_ENDINGS = [LINES, LINES.replace(b"\r\n", b"\r"), LINES.replace(b"\r\n", b"\n")]


@pytest.mark.parametrize("stream", LINE_ENDINGS, ids=["crlf", "cr", "lf"])
def test_line_endings_comments_and_data_over_two_lines_at_every_cut(stream):
    for cut in range(len(stream) + 1):
        assert decode(stream, [stream[:cut], b"", stream[cut:]]) == [{"a": 1}, {"b": 2}], cut


def test_an_event_is_there_as_soon_as_its_blank_line_is():
    decoder = EventDecoder()
    assert decoder.feed(b'data: {"a":1}\r\n\r') == [{"a": 1}]
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b'data: {"b":2}\n\n') == [{"b": 2}]


def test_an_event_without_its_blank_line_is_not_one():
    assert decode(b'data: {"a":1}\n') == []


@pytest.mark.parametrize("data", [b"{nope}", b"\xff"], ids=["not_json", "not_utf8"])
def test_data_that_is_not_json_is_named(data):
    with pytest.raises(StreamError, match="the data of an event is not JSON"):
        decode(b"data: " + data + b"\n\n")


# ── events → message ─────────────────────────────────────────────────────────────────────────────────────────────────


def call_events(*fragments, stop_reason="tool_use", name="write"):
    block = tool_use("toolu_01", name)
    events = stream_events(message(text("Writing."), block, stop_reason=stop_reason))
    at = next(i for i, e in enumerate(events) if e["type"] == "content_block_delta" and e["index"] == 1)
    pieces = [
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": fragment}}
        for fragment in fragments
    ]
    return events[:at] + pieces + events[at + 1 :]


@pytest.mark.parametrize("fragments", [(), ("",), ("", "")], ids=["no_delta", "one_empty", "two_empty"])
def test_fr10_a_call_without_arguments_has_an_empty_input(fragments):
    assert message_from_events(call_events(*fragments))["content"][1] == tool_use("toolu_01", "write", {})


def test_fr10_the_stream_of_a_call_without_arguments_has_one_empty_fragment():
    events = stream_events(message(tool_use("toolu_01", "now", {})))
    assert deltas(events, 0) == [{"type": "input_json_delta", "partial_json": ""}]


CUT = '{"path":"a.txt","body":"hel'


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_fr11_a_cut_call_keeps_its_text_and_looks_in_no_way_whole(stop_reason):
    reply = message(text("Writing."), tool_use("toolu_01", "write", {"path": "a.txt"}), stop_reason=stop_reason)
    read = message_from_events(stream_events(reply, raw_inputs={1: CUT}))
    assert read["stop_reason"] == stop_reason
    assert read["content"][1] == {**tool_use("toolu_01", "write", {}), "partial_json": CUT}


def test_fragments_that_are_not_json_in_a_turn_that_was_not_cut():
    with pytest.raises(InputNotJSON) as caught:
        message_from_events(call_events("", '{"path": ', "oops}"))
    assert (caught.value.block, caught.value.name, caught.value.position) == (1, "write", 9)
    assert caught.value.raw == '{"path": oops}'
    assert str(caught.value).startswith(
        "block 1 (`write`): its input is not a JSON object (Expecting value, at character 9 of 14). Do not run the call"
    )


@pytest.mark.parametrize("raw", ["[1]", '"a"', "null", '{"a": NaN}', '{"a": 1} x', "1" * 5000])
def test_only_a_json_object_is_an_input(raw):
    with pytest.raises(InputNotJSON):
        message_from_events(call_events(raw))


def test_a_stream_that_ends_early_gives_the_message_so_far():
    events = call_events("", '{"path": "a.txt"', "}")
    for end, block in [
        (-4, {**tool_use("toolu_01", "write", {}), "partial_json": '{"path": "a.txt"'}),
        (-3, {**tool_use("toolu_01", "write", {}), "partial_json": '{"path": "a.txt"}'}),
        (-2, tool_use("toolu_01", "write", {"path": "a.txt"})),
    ]:
        read = message_from_events(events[:end])
        assert (read["stop_reason"], read["content"]) == (None, [text("Writing."), block])
    assert message_from_events(events[:-1])["stop_reason"] == "tool_use"


def test_an_error_event_is_raised_with_its_type():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
    with pytest.raises(StreamError, match="overloaded_error: Overloaded. Ask again"):
        message_from_events([*stream_events(message(text("a")))[:4], error])


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], "holds no message"),
        ([{"type": "ping"}], "holds no message"),
        (stream_events(message(text("a")))[1:], "came before `message_start`"),
        ([stream_events(message())[0], {"type": "content_block_stop", "index": 0}], "block 0, which was never opened"),
    ],
    ids=["empty", "only_ping", "no_start", "unopened_block"],
)
def test_a_stream_that_makes_no_sense_is_refused(events, says):
    with pytest.raises(StreamError, match=says):
        message_from_events(events)


# ── round trips ──────────────────────────────────────────────────────────────────────────────────────────────────────

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
inputs = st.dictionaries(words, values, max_size=3)
blocks = st.one_of(
    st.builds(text, words.filter(bool)),
    st.builds(tool_use, st.just("toolu_01"), st.just("write"), inputs),
    st.builds(lambda t, s: {"type": "thinking", "thinking": t, "signature": s}, words, words),
    st.builds(lambda d: {"type": "redacted_thinking", "data": d}, words),
    st.builds(
        lambda i: {"type": "server_tool_use", "id": "srvtoolu_01", "name": "tool_search_tool_bm25", "input": i}, inputs
    ),
    st.sampled_from([case.values[0] for case in WHOLE]),
)
messages = st.builds(
    lambda content, reason: message(*content, stop_reason=reason),
    st.lists(blocks, max_size=4),
    st.sampled_from(["end_turn", "tool_use", "pause_turn", "max_tokens"]),
)


def rechunk(data, cuts):
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:], strict=False)]


@settings(max_examples=60, deadline=None)
@given(messages, st.integers(0, 9), st.integers(1, 20), st.lists(st.integers(0, 10**6), max_size=12))
def test_message_to_events_to_bytes_and_back(reply, seed, size, cuts):
    data = b"".join(encode_stream(stream_events(reply, seed=seed, chunk_size=size), seed))
    assert message_from_events(decode(data, rechunk(data, cuts))) == reply


CITED = {
    "type": "text",
    "text": "The grass is green.",
    "citations": [
        {
            "type": "char_location",
            "cited_text": "green",
            "document_index": 0,
            "document_title": "Grass",
            "start_char_index": 0,
            "end_char_index": 5,
            "file_id": None,
        }
    ],
}


def test_citations_and_container_come_back():
    container = {"id": "container_01", "expires_at": "2026-12-01T00:00:00Z"}
    reply = message(CITED, text("Done."), container=container, stop_reason="stop_sequence", stop_sequence="END")
    assert message_from_events(stream_events(reply)) == reply


def sdk_reading(pieces):
    """What the SDK's own stream helper makes of these bytes."""
    anthropic = pytest.importorskip("anthropic")
    import httpx2

    def respond(request):
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(pieces))

    client = anthropic.Anthropic(
        api_key="x", max_retries=0, http_client=anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(respond))
    )
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    with client.messages.stream(**request) as stream:
        return stream.get_final_message().to_dict(mode="json")


@settings(max_examples=25, deadline=None)
@given(messages, st.integers(0, 9), st.lists(st.integers(0, 10**6), max_size=6))
def test_the_sdk_reads_the_same_message(reply, seed, cuts):
    data = b"".join(encode_stream(stream_events(reply, seed=seed), seed))
    assert sdk_reading(rechunk(data, cuts)) == reply


def test_fr11_the_sdk_reads_a_cut_call_as_if_it_were_whole():
    reply = message(tool_use("toolu_01", "write", {"ignored": 1}), stop_reason="max_tokens")
    read = sdk_reading(encode_stream(stream_events(reply, raw_inputs={0: CUT})))
    assert read["content"][0]["input"] == {"path": "a.txt"}
    assert json.loads(json.dumps(read))["stop_reason"] == "max_tokens"

"""The client a lesson gets: the mock by default, live only on purpose and under a cap, recordings without secrets."""

import gzip
import json
import subprocess
import sys

import anthropic
import httpx2
import pytest

from course_kit import client as connecting
from course_kit.client import announce, connect, live, tokens_used
from course_kit.errors import LiveNotAllowed, RecordingMismatch, ScriptExhausted, SetupError
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import Scripted, call

KEY = "sk-fake-0123456789-never-write-me"
ORGANISATION = "0e9f3c52-1111-4222-8333-44445555aaaa"
MODEL = "claude-haiku-5-5"
ASK = {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "Hello?"}]}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No switch, no key, nothing counted yet."""
    for name in ("COURSE_LIVE", "COURSE_LIVE_CAP", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(connecting, "_METER", connecting._Meter())


class StandIn:
    """Stands where the live API would be, and keeps what reached it."""

    def __init__(self, provider=None):
        self.provider = provider or MockProvider(["Good day.", "Again.", "And again.", "Once more."])
        self.seen = []
        self.headers = {"anthropic-organization-id": ORGANISATION}
        self.replace = None  # a function of the request that answers instead

    def __call__(self, request):
        self.seen.append(request)
        if self.replace:
            return self.replace(request)
        answer = self.provider.handle(request.method, request.url.path, dict(request.headers), request.content)
        return httpx2.Response(answer.status, headers={**answer.headers, **self.headers}, content=iter(answer.chunks))


@pytest.fixture
def api(monkeypatch):
    """Live switched on, with the stand-in at the other end."""
    monkeypatch.setenv("COURSE_LIVE", "1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    stand_in = StandIn()
    client = anthropic.DefaultHttpxClient
    monkeypatch.setattr(connecting, "_http_client", lambda: client(transport=httpx2.MockTransport(stand_in)))
    return stand_in


def usage_of(message):
    """All tokens a message reports."""
    usage = message.usage
    return usage.input_tokens + usage.output_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


# ---- the mock ----


def test_the_default_is_the_mock():
    client = connect(["Good day."])
    assert isinstance(client, anthropic.Anthropic)
    assert client.messages.create(**ASK).content[0].text == "Good day."


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(["Good day."], id="list"),
        pytest.param(Scripted(["Good day."]), id="model"),
        pytest.param(
            lambda request: f"Good day{request['messages'][0]['content'].replace('Hello?', '.')}", id="function"
        ),
    ],
)
def test_who_answers_offline_is_an_argument(model):
    assert connect(model=model).messages.create(**ASK).content[0].text == "Good day."


def test_a_provider_of_ones_own_is_used_and_never_live(api):
    mock = MockProvider(["From the mock."])
    assert connect(mock=mock).messages.create(**ASK).content[0].text == "From the mock."
    assert (len(mock.requests), api.seen) == (1, [])


def test_contradicting_arguments_are_named(tmp_path):
    file = tmp_path / "run.jsonl"
    for arguments in ({"model": [], "mock": MockProvider([])}, {"record": file, "replay": file}):
        with pytest.raises(TypeError, match="not both"):
            connect(**arguments)


@pytest.mark.parametrize("first", ["import course_kit.client", "from course_kit.client import live", ""])
def test_the_package_gives_something_to_call(first):
    code = f"{first}\nfrom course_kit import connect\nprint(type(connect(['Good day.'])).__name__)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8")
    assert told.stdout == "Anthropic\n"


# ---- live or not ----


@pytest.mark.parametrize(
    ("switch", "key", "expected"),
    [
        pytest.param(None, None, False, id="nothing_set"),
        pytest.param(None, KEY, False, id="a_key_alone_never_spends"),
        pytest.param("0", KEY, False, id="switched_off"),
        pytest.param("", KEY, False, id="empty"),
        pytest.param("1", KEY, True, id="both"),
        pytest.param("1", None, False, id="no_key"),
        pytest.param("1", "  ", False, id="blank_key"),
    ],
)
def test_live_needs_switch_and_key(monkeypatch, switch, key, expected):
    for name, value in (("COURSE_LIVE", switch), ("ANTHROPIC_API_KEY", key)):
        if value is not None:
            monkeypatch.setenv(name, value)
    assert live() is expected


def test_a_key_alone_gets_the_mock(api, monkeypatch):
    monkeypatch.delenv("COURSE_LIVE")
    assert connect(["From the mock."]).messages.create(**ASK).content[0].text == "From the mock."
    assert api.seen == []


def test_the_switch_without_a_key_says_what_to_set(monkeypatch):
    monkeypatch.setenv("COURSE_LIVE", "1")
    with pytest.raises(LiveNotAllowed, match="^COURSE_LIVE is on, but there is no key: set ANTHROPIC_API_KEY"):
        connect()


@pytest.mark.parametrize("key", [f"{KEY} twice", f"{KEY}\nmore", f"{KEY}é"])
def test_a_spoilt_key_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setenv("COURSE_LIVE", "1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    with pytest.raises(LiveNotAllowed, match="copy the key again") as caught:
        connect()
    assert KEY not in str(caught.value)


def test_live_reaches_the_api_with_the_key(api, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    message = connect(["From the mock."]).messages.create(**ASK)
    assert message.content[0].text == "Good day."
    assert api.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert str(api.seen[0].url) == "http://127.0.0.1:1/v1/messages"


def test_announce_says_what_a_cell_may_use(api, monkeypatch, capsys):
    announce(3000)
    connect().messages.create(**ASK)
    announce(3000)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    announce(3000)
    monkeypatch.delenv("COURSE_LIVE")
    announce(3000)
    assert capsys.readouterr().out.splitlines() == [
        "Live: this cell may use up to 3,000 tokens. Used so far: 0 of 20,000.",
        f"Live: this cell may use up to 3,000 tokens. Used so far: {tokens_used():,} of 20,000.",
        "Live is switched on (COURSE_LIVE), but ANTHROPIC_API_KEY is missing: set both or neither.",
        "Live is off: this cell runs against the mock and costs nothing.",
    ]
    assert tokens_used() > 0


# ---- the cap ----


def test_replies_are_counted(api):
    client = connect()
    first = client.messages.create(**ASK)
    assert tokens_used() == usage_of(first) > 0
    with client.messages.stream(**ASK) as stream:
        second = stream.get_final_message()
    assert tokens_used() == usage_of(first) + usage_of(second)
    third = client.messages.with_raw_response.create(**ASK).parse()
    assert tokens_used() == usage_of(first) + usage_of(second) + usage_of(third)
    assert connecting._METER._held == 0


def test_a_stream_still_arrives_piece_by_piece(api):
    words = "one two three four five " * 5
    api.provider = MockProvider([words])
    with connect().messages.stream(**ASK) as stream:
        pieces = stream.text_stream
        first = next(pieces)
        assert (len(first) < len(words), tokens_used()) == (True, 0)  # counted when it is over
        assert first + "".join(pieces) == words
    assert tokens_used() == usage_of(stream.get_final_message())


def test_a_stream_left_early_is_counted_too(api):
    with connect().messages.stream(**ASK) as stream:
        next(iter(stream))
    assert tokens_used() >= stream.current_message_snapshot.usage.input_tokens > 0
    assert connecting._METER._held == 0


def test_cached_tokens_count(api):
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4000,
        "server_tool_use": {"web_search_requests": 9},
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": usage}
    api.replace = lambda request: httpx2.Response(200, json={**message, "stop_reason": "end_turn"})
    connect().messages.create(**ASK)
    assert tokens_used() == 4321


def test_a_compressed_stream_is_counted(api):
    events = (
        'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
        '"role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}\n\n'
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
        '"usage":{"output_tokens":35}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    packed = gzip.compress(events.encode())
    api.replace = lambda request: httpx2.Response(200, headers=headers, content=iter([packed]))
    with connect().messages.stream(**ASK) as stream:
        stream.until_done()
    assert api.seen[0].headers["accept-encoding"] == "identity"
    assert tokens_used() == 42


def test_a_request_over_the_cap_is_not_sent(api):
    client = connect(cap_tokens=500)
    with pytest.raises(LiveNotAllowed, match="but only 500 of the live cap of 500 are left: lower max_tokens"):
        client.messages.create(**{**ASK, "max_tokens": 501})
    assert (api.seen, tokens_used()) == ([], 0)
    assert client.messages.create(**ASK).content[0].text == "Good day."


def test_a_spent_cap_holds_for_every_client(api, monkeypatch):
    connecting._METER.used = 20_000
    for client in (connect(), connect().with_options(max_retries=5)):
        with pytest.raises(LiveNotAllowed) as caught:
            client.messages.create(**ASK)
        assert str(caught.value) == (
            "The live cap of 20000 tokens is used up (20000 counted in this notebook): set COURSE_LIVE_CAP to a "
            "larger number, or restart the kernel to count from zero."
        )
        with pytest.raises(LiveNotAllowed), client.messages.stream(**ASK):
            pass
    assert api.seen == []
    monkeypatch.setenv("COURSE_LIVE_CAP", "30_000")
    assert connect().messages.create(**ASK).content[0].text == "Good day."


@pytest.mark.parametrize(
    ("asked", "allowed", "cap"),
    [
        pytest.param(None, None, 20_000, id="default"),
        pytest.param(50_000, None, 50_000, id="the_lesson_says"),
        pytest.param(None, "300", 300, id="the_learner_says"),
        pytest.param(50_000, "300", 300, id="the_smaller_holds"),
        pytest.param(200, "300", 200, id="the_lesson_may_lower_it"),
    ],
)
def test_which_cap_holds(monkeypatch, asked, allowed, cap):
    if allowed:
        monkeypatch.setenv("COURSE_LIVE_CAP", allowed)
    assert connecting._cap(asked) == cap


@pytest.mark.parametrize("text", ["many", "-5", "1.5", "２０"])
def test_a_cap_that_is_no_number_is_named(api, monkeypatch, text):
    monkeypatch.setenv("COURSE_LIVE_CAP", text)
    with pytest.raises(LiveNotAllowed, match="COURSE_LIVE_CAP must be a whole number of tokens"):
        connect()


def test_counting_tokens_is_free_and_batches_are_refused(api):
    connecting._METER.used = 20_000
    client = connect()
    assert client.messages.count_tokens(model=MODEL, messages=ASK["messages"]).input_tokens > 0
    with pytest.raises(LiveNotAllowed, match="/v1/messages/batches"):
        client.messages.batches.create(requests=[])
    assert [request.url.path for request in api.seen] == ["/v1/messages/count_tokens"]


def test_every_attempt_is_counted(api):
    def overloaded_then_fine(request):
        if len(api.seen) < 3:
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
            return httpx2.Response(529, headers={"retry-after-ms": "1"}, json=error)
        api.replace = None
        return api(request)

    api.replace = overloaded_then_fine
    message = connect().messages.create(**ASK)
    assert tokens_used() == usage_of(message)  # refused attempts cost nothing
    assert connecting._METER._held == 0


def test_a_time_out_counts_as_all_it_could_use(api):
    def silent(request):
        raise httpx2.ReadTimeout("timed out", request=request)

    api.replace = silent
    client = connect(cap_tokens=5000).with_options(max_retries=0)
    with pytest.raises(anthropic.APITimeoutError):
        client.messages.create(**ASK)
    assert 100 < tokens_used() < 300
    assert connecting._METER._held == 0


def test_a_lost_connection_counts_nothing(api):
    def broken(request):
        raise httpx2.ConnectError("no route", request=request)

    api.replace = broken
    with pytest.raises(anthropic.APIConnectionError):
        connect().with_options(max_retries=0).messages.create(**ASK)
    assert (tokens_used(), connecting._METER._held) == (0, 0)


def test_the_estimate_covers_what_the_mock_counts():
    tools = [{"name": "get_weather", "description": "天气" * 300, "input_schema": {"type": "object"}}]
    body = {**ASK, "tools": tools, "messages": [{"role": "user", "content": "Wie ist das Wetter in Oslo? " * 50}]}
    counted = connect([]).messages.count_tokens(**{key: body[key] for key in ("model", "messages", "tools")})
    assert connecting._at_most(body) - body["max_tokens"] >= counted.input_tokens


# ---- record and replay ----


def a_run(client):
    """A plain reply, a streamed call, its result, an error: what a lesson does."""
    tools = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    told = [client.messages.create(**ASK).to_dict()]
    with client.messages.stream(**ASK, tools=tools) as stream:
        told.append([event.type for event in stream])
        turn = stream.get_final_message()
    told.append(turn.to_dict())
    result = {"type": "tool_result", "tool_use_id": turn.content[0].id, "content": "4 °C ☔\u2028rain"}
    messages = [*ASK["messages"], turn.to_param(), {"role": "user", "content": [result]}]
    told.append(client.messages.create(**{**ASK, "messages": messages}, tools=tools).to_dict())
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.create(**{**ASK, "messages": []})
    told.append((refused.value.status_code, refused.value.request_id, str(refused.value)))
    return told


SCRIPT = ["Good day.", [call("get_weather", city="Málaga")], "Four degrees ☔ and rain."]


def test_a_run_on_the_mock_replays_equal(tmp_path, monkeypatch):
    file = tmp_path / "runs" / "weather.jsonl"
    recorded = a_run(connect(SCRIPT, record=file))
    assert len(file.read_text(encoding="utf-8").strip().split("\n")) == 4
    monkeypatch.setenv("COURSE_LIVE", "1")  # a recording is offline whatever is switched on
    assert a_run(connect(replay=file)) == recorded


def test_a_recording_is_readable(tmp_path):
    file = tmp_path / "run.jsonl"
    connect(["Good day ☀."], record=file).messages.create(**ASK)
    [line] = file.read_text(encoding="utf-8").splitlines()
    assert "☀" in line
    exchange = json.loads(line)
    assert exchange["request"] == {"method": "POST", "path": "/v1/messages", "body": ASK}
    assert set(exchange["response"]["headers"]) <= {"content-type", "request-id"}
    assert (exchange["response"]["status"], exchange["response"]["ending"]) == (200, "clean")
    assert exchange["response"]["body"]["content"] == [{"type": "text", "text": "Good day ☀."}]


def test_a_live_run_is_recorded_without_secrets(api, tmp_path, monkeypatch):
    api.provider = MockProvider([*SCRIPT, "."])
    file = tmp_path / "run.jsonl"
    client = connect(record=file)
    recorded = a_run(client)
    api.replace = lambda request: httpx2.Response(
        401,
        headers={"request-id": "req_1", "anthropic-workspace-id": "wrkspc_0123", "x-api-key": KEY},
        json={
            "type": "error",
            "error": {
                "type": "authentication_error",
                "message": f"{KEY} of organization {ORGANISATION[::-1]} and wrkspc_0123, sk-ant-api03-AbC_d",
            },
            "organization_id": "org-77",
        },
    )
    leak = {"role": "user", "content": f"My key is {KEY}, is it good?"}
    with pytest.raises(anthropic.AuthenticationError):
        client.messages.create(**{**ASK, "messages": [leak]})
    written = file.read_bytes()
    for secret in (KEY, ORGANISATION, "wrkspc_0123", "sk-ant-api03", "org-77", "Bearer", "authorization", "x-api-key"):
        assert secret.encode() not in written, secret
    assert b"[removed]" in written
    assert tokens_used() > 0
    replayed = connect(replay=file)
    monkeypatch.setattr(connecting, "_METER", connecting._Meter())
    assert a_run(replayed) == recorded
    with pytest.raises(anthropic.AuthenticationError):  # the request with the key in it is still recognised
        replayed.messages.create(**{**ASK, "messages": [leak]})
    assert tokens_used() == 0


def test_secrets_are_in_no_text_form(api, tmp_path):
    client = connect(record=tmp_path / "run.jsonl")
    assert KEY not in repr(client) + repr(vars(connecting._METER))
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.messages.create(**{**ASK, "messages": []})
    assert KEY not in str(refused.value) + repr(refused.value)


def test_a_changed_request_says_what_differs(tmp_path):
    file = tmp_path / "run.jsonl"
    connect(["Good day."], record=file).messages.create(**ASK)
    client = connect(replay=file)
    with pytest.raises(RecordingMismatch) as caught:
        client.messages.create(**{**ASK, "max_tokens": 200, "system": "Be brief.", "messages": [
            {"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "x" * 100},
        ]})  # fmt: skip
    assert str(caught.value) == (
        "run.jsonl does not hold this request. The next exchange on file (line 1) differs at body.max_tokens: recorded "
        '100, sent 200; body.messages[0].content: recorded "Hello?", sent "Hello!"; body.messages[1]: recorded '
        'nothing, sent {"role": "assistant", "content": "Hi."}; and 2 more. Change that back, or record the run again '
        "with connect(record=...)."
    )
    assert client.messages.create(**ASK).content[0].text == "Good day."  # nothing was used up


def test_one_request_more_than_was_recorded(tmp_path):
    file = tmp_path / "run.jsonl"
    connect(["Good day."], record=file).messages.create(**ASK)
    client = connect(replay=file)
    client.messages.create(**ASK)
    with pytest.raises(RecordingMismatch, match="^All 1 exchanges of run.jsonl are used and one more was asked for"):
        client.messages.create(**ASK)


def test_equal_requests_are_answered_in_their_order(tmp_path):
    file = tmp_path / "run.jsonl"
    client = connect(["one", "two", "three"], record=file)
    other = {**ASK, "messages": [{"role": "user", "content": "Other?"}]}
    asked = [ASK, other, ASK]
    assert [client.messages.create(**body).content[0].text for body in asked] == ["one", "two", "three"]
    replayed = connect(replay=file)
    asked = [ASK, ASK, other]
    assert [replayed.messages.create(**body).content[0].text for body in asked] == ["one", "three", "two"]


def test_true_is_not_one(tmp_path):
    file = tmp_path / "run.jsonl"
    body = {"model": MODEL, "max_tokens": 1, "messages": ASK["messages"]}
    connect(["."], record=file).messages.create(**body)
    with pytest.raises(RecordingMismatch):
        connect(replay=file).messages.create(**{**body, "max_tokens": True})


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        pytest.param(httpx2.ReadTimeout, anthropic.APITimeoutError, id="time_out"),
        pytest.param(httpx2.ConnectError, anthropic.APIConnectionError, id="lost_connection"),
    ],
)
def test_a_retry_is_recorded_and_replayed(api, tmp_path, monkeypatch, failure, seen):
    def fail_once(request):
        api.replace = None
        raise failure("gone", request=request)

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    api.replace = fail_once
    file = tmp_path / "run.jsonl"
    recorded = connect(record=file).messages.create(**ASK).to_dict()
    assert len(api.seen) == 2
    assert connect(replay=file).messages.create(**ASK).to_dict() == recorded
    with pytest.raises(anthropic.APIConnectionError) as caught:
        connect(replay=file).with_options(max_retries=0).messages.create(**ASK)
    assert type(caught.value) is seen


def test_a_stream_that_broke_off_breaks_off_again(api, tmp_path):
    def broken(request):
        def pieces():
            yield from api.provider.handle("POST", "/v1/messages", dict(request.headers), request.content).chunks[:4]
            raise httpx2.RemoteProtocolError("peer closed connection", request=request)

        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=pieces())

    api.replace = broken
    file = tmp_path / "run.jsonl"
    told = []
    for where in ({"record": file}, {"replay": file}):
        client = connect(**where)
        told.append([])
        with pytest.raises(httpx2.RemoteProtocolError), client.messages.stream(**ASK) as stream:
            for event in stream:
                told[-1].append(event.type)
    assert told[0] == told[1] and told[0][0] == "message_start"
    assert connecting._METER._held == 0


def test_a_new_recording_replaces_an_old_one_only_when_it_begins(tmp_path):
    file = tmp_path / "run.jsonl"
    connect(["old"], record=file).messages.create(**ASK)
    before = file.read_bytes()
    client = connect(["new", "newer"], record=file)
    assert file.read_bytes() == before
    for _ in range(2):
        client.messages.create(**ASK)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["response"]["body"]["content"][0]["text"] for line in lines] == ["new", "newer"]


@pytest.mark.parametrize("content", [b"not json\n", b'{"request": {}}\n', b"[1]\n", b"1\n"])
def test_a_damaged_recording_names_the_line(tmp_path, content):
    file = tmp_path / "run.jsonl"
    connect(["."], record=file).messages.create(**ASK)
    file.write_bytes(file.read_bytes() + content)
    with pytest.raises(SetupError, match="^Line 2 of run.jsonl is not a recorded exchange: record it again"):
        connect(replay=file)


def test_no_recording_there(tmp_path):
    with pytest.raises(SetupError, match="There is no recording at"):
        connect(replay=tmp_path / "none.jsonl")
    with pytest.raises(SetupError, match="is a folder"):
        connect([], record=tmp_path)


def test_what_the_mock_raises_comes_through_while_recording(tmp_path):
    client = connect([], record=tmp_path / "run.jsonl")
    with pytest.raises(ScriptExhausted):
        client.messages.create(**ASK)

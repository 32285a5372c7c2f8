"""Recorded runs as fixtures: no key in them wherever one was planted, equal when replayed, golden traces and cases.

The fixture `tests/data/recorded_refund.jsonl` was recorded over HTTP, by the very path that a live run takes, from a
mock in the place of the API. Where it has to be recorded anew: `python tests/test_recording.py`.
"""

import json
import os
import tempfile
from pathlib import Path

import anthropic
import pytest

from course_kit import client as connecting
from course_kit import desk_tools, open_shop, run_agent
from course_kit.client import connect, tokens_used
from course_kit.contract.streaming import EventDecoder, message_from_events
from course_kit.errors import SetupError
from course_kit.evaluation.cases import CaseError, ExpectedCall, case_of
from course_kit.evaluation.golden import GOLDENS, GoldenError, diff_golden, golden, load_golden
from course_kit.evaluation.recorded import case_from
from course_kit.evaluation.trials import run_trials
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call
from course_kit.mock.server import serve_in_thread
from course_kit.mock.simulated import Simulated
from course_kit.mock.wire import Answer
from course_kit.recording import read_recording

FIXTURE = Path(__file__).parent / "data" / "recorded_refund.jsonl"
STORY = "My cup arrived broken. Please refund 19.99 for order ORD-20260917."
KEY = "sk-ant-api03-PLANTED_by-a-test-0123456789"
OTHER = "kAx9-planted-0123456789-of-another-form"
ASK = {"model": "claude-haiku-5-5", "max_tokens": 300}
ADD = {"name": "add", "input_schema": {"type": "object", "properties": {"note": {"type": "string"}}}}


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    for name in ("COURSE_LIVE", "COURSE_LIVE_CAP", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(connecting, "_METER", connecting._Meter())


def live_against(monkeypatch, url: str, key: str = KEY) -> None:
    """Live is switched on, and where the API would be, a mock listens."""
    for name, value in {"COURSE_LIVE": "1", "ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": url}.items():
        monkeypatch.setenv(name, value)


def refund(client, folder: Path):
    shop = open_shop(folder / "shop.sqlite3")
    shop.reset()
    return run_agent(client, messages=STORY, tools=desk_tools(shop), approver=lambda question: True)


# A key, planted in every place


def planted(where: str, key: str) -> dict:
    """A request with a key in one place."""
    said = f"My key is {key}, is it good?"
    used = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"note": key}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"env: ANTHROPIC_API_KEY={key}"}
    asked = [{"role": "user", "content": "Hello?"}]
    return {
        "message": {"messages": [{"role": "user", "content": said}]},
        "system": {"messages": asked, "system": said},
        "input": {
            "messages": [*asked, {"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}],
            "tools": [ADD],
        },
        "description": {"messages": asked, "tools": [{**ADD, "description": said}]},
        "metadata": {"messages": asked, "metadata": {"user_id": key}},
        "query": {"messages": asked, "extra_query": {"api_key": key}},
        "header": {"messages": asked, "extra_headers": {"x-api-key": key, "cookie": f"session={key}"}},
    }[where]


def in_no_form(file: Path, *secrets: str) -> None:
    """No secret is in the file, nor in what anybody reads who puts its streams together."""
    written = file.read_text(encoding="utf-8")
    told = [exchange["response"].get("text") for exchange in read_recording(file)]
    whole = [message_from_events(EventDecoder().feed(stream.encode())) for stream in told if stream]
    for secret in secrets:
        assert secret not in written and secret not in json.dumps(whole)


@pytest.mark.parametrize("key", [KEY, OTHER], ids=["looks_like_one", "known_only_from_the_header"])
@pytest.mark.parametrize("where", ["message", "system", "input", "description", "metadata", "query", "header"])
def test_a_key_planted_in_a_request_is_in_no_recording(where, key, monkeypatch, tmp_path):
    file = tmp_path / "run.jsonl"
    with MockProvider(["Good day."]).serve() as server:
        live_against(monkeypatch, server.url, key)
        with connect(record=file) as client:
            client.messages.create(**ASK, **planted(where, key))
    in_no_form(file, key)
    assert "not-a-key" not in file.read_text(encoding="utf-8")
    found = "[removed]" in file.read_text(encoding="utf-8")
    assert found is (where not in ("query", "header"))  # what is not kept at all needs no mark


LEAKS = {
    "text": lambda key: f"Of course: {key} is what you sent.",
    "input": lambda key: [call("add", note=f"use {key} here")],
}


def said(client, asked, streamed):
    if not streamed:
        return client.messages.create(**asked).to_dict()
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message().to_dict()


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("key", [KEY, OTHER], ids=["looks_like_one", "known_only_from_the_header"])
@pytest.mark.parametrize("kind", LEAKS)
def test_a_key_that_a_model_says_is_in_no_recording_even_in_pieces(kind, key, streamed, monkeypatch, tmp_path):
    file, asked = tmp_path / "run.jsonl", {**ASK, "messages": [{"role": "user", "content": "Hello?"}], "tools": [ADD]}
    with MockProvider([LEAKS[kind](key)]).serve() as server:
        live_against(monkeypatch, server.url, key)
        with connect(record=file) as client:
            received = said(client, asked, streamed)
    assert key in json.dumps(received)  # the learner's own copy is as it came
    in_no_form(file, key)
    monkeypatch.delenv("COURSE_LIVE")
    assert said(connect(replay=file), asked, streamed) == json.loads(json.dumps(received).replace(key, "[removed]"))


def test_a_stream_without_secrets_is_kept_byte_for_byte(tmp_path):
    asked = {**ASK, "messages": [{"role": "user", "content": "Hello?"}]}
    provider, file = MockProvider(["Good day ☀, and many more of them."]), tmp_path / "run.jsonl"
    with connect(mock=provider, record=file).messages.stream(**asked) as stream:
        stream.until_done()
    again = MockProvider(["Good day ☀, and many more of them."])
    with again.client().messages.with_streaming_response.create(**asked, stream=True) as raw:
        sent = raw.read().decode()
    assert read_recording(file)[0]["response"]["text"] == sent


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_key_in_an_answer_around_the_body_is_in_no_recording(status, monkeypatch, tmp_path):
    secrets = {"set-cookie": "session=cookie-0123456789", "anthropic-organization-id": "org-planted-0123456789"}
    said = {"type": "error", "error": {"type": "authentication_error", "message": f"{KEY} of org-planted-0123456789"}}

    def handle(method, path, headers, body):
        reply = MockProvider(["Good day."]).handle(method, path, headers, body)
        whole = reply.body if status == 200 else json.dumps({**said, "workspace_id": "wrkspc_7"}).encode()
        return Answer(status, (whole,), {**reply.headers, **secrets, "x-echo": KEY, "request-id": "req_011A"})

    file = tmp_path / "run.jsonl"
    with serve_in_thread(handle) as server:
        live_against(monkeypatch, server.url)
        with connect(record=file).with_options(max_retries=0) as client:
            try:
                client.messages.create(**ASK, messages=[{"role": "user", "content": "Hello?"}])
            except anthropic.APIStatusError as error:
                assert error.status_code == status
    in_no_form(file, KEY, "cookie-0123456789", "org-planted-0123456789", "wrkspc_7")
    [exchange] = read_recording(file)
    assert set(exchange["response"]["headers"]) == {"content-type", "request-id"}
    assert set(exchange["request"]) == {"method", "path", "body"} and "?" not in exchange["request"]["path"]


@pytest.mark.parametrize(
    ("name", "value", "gone"),
    [
        ("WAREHOUSE_API_KEY", "wh-0123456789-abcdef", True),
        ("DB_PASSWORD", 'p"a\\ss-0123456789', True),
        ("SHORT_API_KEY", "Hello?", False),  # a word that stands in any text
        ("HOME_TOWN", "wh-0123456789-abcdef", False),
    ],
)
def test_other_secrets_of_the_environment_are_left_out(name, value, gone, monkeypatch, tmp_path):
    monkeypatch.setenv(name, value)
    file = tmp_path / "run.jsonl"
    messages = [{"role": "user", "content": f"Hello? {value}"}]
    connect(["Good day."], record=file).messages.create(**ASK, messages=messages)
    [exchange] = read_recording(file)
    [message] = exchange["request"]["body"]["messages"]
    assert message["content"] == ("Hello? [removed]" if gone else f"Hello? {value}")
    assert connect(replay=file).messages.create(**ASK, messages=messages).content[0].text == "Good day."


# The fixture


def record_refund(file: Path, folder: Path, monkeypatch) -> None:
    with MockProvider(Simulated()).serve() as server:
        live_against(monkeypatch, server.url)
        with connect(record=file) as client:
            refund(client, folder)
    assert tokens_used() > 0  # it went the way of a live run


def test_the_fixture_is_what_a_recording_over_http_gives_today(monkeypatch, tmp_path):
    record_refund(tmp_path / "now.jsonl", tmp_path, monkeypatch)
    assert read_recording(tmp_path / "now.jsonl") == read_recording(FIXTURE), "or record anew: see above"


def test_the_fixture_holds_no_key_and_no_header_but_two():
    text = FIXTURE.read_text(encoding="utf-8")
    for word in ("sk-ant", "PLANTED", "authorization", "Bearer", "x-api-key", "127.0.0.1", "organization"):
        assert word not in text, word
    headers = {name for exchange in read_recording(FIXTURE) for name in exchange["response"]["headers"]}
    assert headers == {"content-type", "request-id"}


def test_the_fixture_replays_offline_and_equal(tmp_path):
    provider = MockProvider(Simulated())
    replayed, original = refund(connect(replay=FIXTURE), tmp_path), refund(provider.client(), tmp_path)
    assert (replayed.messages, replayed.text, replayed.stopped) == (original.messages, original.text, "end_turn")
    assert "RFD-" in replayed.text


def test_the_fixture_is_a_golden_trace():
    """The course's own set holds the same conversation, recorded in process."""
    kept = load_golden(GOLDENS / "refund.jsonl")
    assert str(diff_golden(kept, golden(read_recording(FIXTURE)))) == f"{len(kept)} steps, no difference"


def test_a_streamed_recording_is_the_same_golden_trace(tmp_path):
    def streamed(client):
        def send(request):
            with client.messages.stream(**request) as stream:
                return stream.get_final_message().to_dict()

        return send

    file = tmp_path / "run.jsonl"
    refund(streamed(connect(Simulated(), record=file)), tmp_path)
    assert all("text" in exchange["response"] for exchange in read_recording(file))
    kept = load_golden(GOLDENS / "refund.jsonl")
    assert str(diff_golden(kept, golden(read_recording(file)))) == f"{len(kept)} steps, no difference"


def exchange(reply: dict, text: str = "Hello?", **response) -> dict:
    body = {**ASK, "messages": [{"role": "user", "content": text}]}
    answer = {"status": 200, "headers": {}, "body": reply, "ending": "clean"} | response
    return {"request": {"method": "POST", "path": "/v1/messages", "body": body}, "response": answer}


SAID = {"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}


def test_what_broke_off_is_no_step_and_what_is_no_stream_is_told():
    cut = exchange({}, ending="cut")
    assert len(golden([cut, exchange(SAID)])) == 1
    wrong = exchange(SAID)
    del wrong["response"]["body"]
    with pytest.raises(GoldenError, match="A recorded stream cannot be read .*record the run again"):
        golden([{**wrong, "response": {**wrong["response"], "text": "data: {}\n\n"}}])


def test_no_recording_is_one_sentence(tmp_path):
    with pytest.raises(SetupError, match="There is no recording at"):
        read_recording(tmp_path / "none.jsonl")


# A recording as a case


def test_the_fixture_is_a_case_that_its_own_replay_passes(tmp_path):
    case = case_from(read_recording(FIXTURE), "refund", risk=5)
    assert case.prompt == STORY and (case.kind, case.risk, case.messages) == ("positive", 5, ())
    [expected] = case.expect.calls
    assert expected.tool == "refund_order" and dict(expected.input)["amount_cents"] == 1999
    assert case_of(json.loads(json.dumps(case.to_dict()))) == case

    def world():
        shop = open_shop(tmp_path / "case.sqlite3")
        shop.reset()
        return desk_tools(shop), shop

    agent = lambda messages, client, tools: run_agent(client, tools=tools, messages=messages, approver=lambda _: True)  # noqa: E731
    run = {"world": world, "agent": agent, "trials": 1, "workers": 1, "progress": False}
    assert [one["passed"] for one in run_trials([case], lambda seed: connect(replay=FIXTURE), **run)] == [True]
    lazy = lambda seed: MockProvider(["I will not."])  # noqa: E731
    assert [one["passed"] for one in run_trials([case], lazy, **run)] == [False]


def test_a_conversation_of_several_turns_and_one_without_calls(tmp_path):
    file = tmp_path / "run.jsonl"
    client = connect([[call("add", note="a")], "Added.", [call("add", note="b")], "Again."], record=file)
    tool = {**ADD, "function": lambda note: "5"}
    messages: list = []
    for said in ("Add a.", "And b?"):
        messages.append({"role": "user", "content": said})
        while True:
            reply = client.messages.create(**ASK, messages=messages, tools=[ADD])
            messages.append({"role": "assistant", "content": reply.to_dict()["content"]})
            if reply.stop_reason != "tool_use":
                break
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": tool["function"](**block.input)}
                for block in reply.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})
    case = case_from(read_recording(file), "two")
    assert (case.prompt, case.turns, case.expect.ordered) == (None, ("Add a.", "And b?"), True)
    assert case.expect.calls == (ExpectedCall("add", {"note": "a"}), ExpectedCall("add", {"note": "b"}))
    silent = case_from([exchange(SAID)], "silent")
    assert (silent.kind, silent.prompt, silent.expect.calls) == ("negative", "Hello?", ())


def test_calls_of_a_turn_that_was_cut_are_not_expected():
    used = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
    assert case_from([exchange({"content": [used], "stop_reason": "max_tokens"})], "cut").expect.calls == ()


def test_a_first_turn_with_an_image_is_kept_as_a_message():
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    first = exchange(SAID)
    first["request"]["body"]["messages"] = [{"role": "user", "content": [image]}]
    case = case_from([first], "image")
    assert (case.prompt, [message["content"] for message in case.messages]) == (None, [[image]])
    second = exchange(SAID)
    second["request"]["body"]["messages"] = [
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "And now?"},
    ]
    with pytest.raises(CaseError, match="write this case by hand"):
        case_from([first, second], "image")


if __name__ == "__main__":
    os.environ.pop("ANTHROPIC_AUTH_TOKEN", None)
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        record_refund(FIXTURE, Path(scratch), patch)

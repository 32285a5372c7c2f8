"""The mock over HTTP, and that every fault looks the same to the real SDK in process and over a socket."""

import asyncio
import contextlib
import json
import logging
import signal
import socket
import subprocess
import sys
import time

import anthropic
import httpx2
import pytest

from course_kit.contract.messages import tool_use
from course_kit.contract.streaming import encode_stream, stream_events
from course_kit.errors import ScriptExhausted, SetupError
from course_kit.mock.faults import (
    Fault,
    chunks,
    cut,
    delay,
    end_early,
    error_event,
    fault_for,
    max_tokens,
    refusal,
    stall,
    status,
)
from course_kit.mock.server import asgi_app, serve, serve_in_thread
from course_kit.mock.transport import Transport
from course_kit.mock.wire import MAX_BODY_BYTES, Answer

REPLY = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-5-5",
    "content": [
        {"type": "text", "text": "Let me write that down. ✅"},
        tool_use("toolu_01", "write", {"path": "a.txt", "body": "hello world, hello moon"}),
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "stop_details": None,
    "usage": {"input_tokens": 10, "output_tokens": 20},
}
REQUEST = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "x"}]}
SOON = 0.001  # a retry-after that no test waits for
TIMEOUT = 0.2  # of the cases that wait for it


class Application:
    """The smallest provider: one reply, whatever is asked, and a schedule of faults."""

    def __init__(self):
        self.reset()

    def reset(self, faults=None, handle=None):
        self.faults, self.other, self.requests = faults, handle, []

    def handle(self, method, path, headers, body):
        self.requests.append((method, path, headers, body))
        if self.other:
            return self.other(method, path, headers, body)
        fault = fault_for(self.faults, len(self.requests)) or Fault()
        if answer := fault.answer("req_01"):
            return answer
        message, raw_inputs = fault.on_message(REPLY)
        if json.loads(body).get("stream"):
            pieces = tuple(encode_stream(stream_events(message, raw_inputs=raw_inputs)))
            headers = {"content-type": "text/event-stream; charset=utf-8", "request-id": "req_01"}
            return fault.on_answer(Answer(200, pieces, headers), True)
        headers = {"content-type": "application/json", "request-id": "req_01"}
        return fault.on_answer(Answer(200, (json.dumps(message).encode(),), headers), False)


@pytest.fixture(scope="module")
def application():
    return Application()


@pytest.fixture(scope="module")
def server(application):
    with serve_in_thread(application.handle) as server:
        yield server


@pytest.fixture(scope="module")
def clients(application, server):
    options = {"api_key": "mock", "timeout": 10}
    in_process = anthropic.DefaultHttpxClient(transport=Transport(application.handle))
    with (
        anthropic.Anthropic(**options, http_client=in_process) as near,
        anthropic.Anthropic(**options, base_url=server.url) as far,
    ):
        yield near, far


@pytest.fixture(autouse=True)
def fresh(application, monkeypatch):
    application.reset()
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", SOON)


def outcome(client, streamed):
    """What a caller meets: the message, or the exception by class, status and text."""
    try:
        if not streamed:
            return client.messages.create(**REQUEST).to_dict(mode="json")
        with client.messages.stream(**REQUEST) as stream:
            return stream.get_final_message().to_dict(mode="json")
    except Exception as error:
        cause = type(error.__cause__).__name__ if isinstance(error, anthropic.APIConnectionError) else None
        return type(error).__name__, getattr(error, "status_code", None), str(error), cause


def ends_with(name, *, requests, code=None):
    return lambda result, count: (result[:2], count) == ((name, code), requests)


def replies(requests=1, **expected):
    return lambda result, count: isinstance(result, dict) and expected.items() <= result.items() and count == requests


LENIENT = [REPLY["content"][0], {**REPLY["content"][1], "input": {"path": "a.txt"}}]
REFUSED = {"type": "refusal", "category": None, "explanation": None}

# Name, fault, what a plain call meets, what a stream meets. The clients repeat a request twice at most.
FAULTS = [
    ("healthy", None, replies(content=REPLY["content"]), replies(content=REPLY["content"])),
    ("status_400", status(400), *[ends_with("BadRequestError", code=400, requests=1)] * 2),
    ("status_404", status(404), *[ends_with("NotFoundError", code=404, requests=1)] * 2),
    ("status_408", status(408, retry_after=SOON), *[ends_with("RequestTimeoutError", code=408, requests=3)] * 2),
    ("status_429", status(429, retry_after=SOON), *[ends_with("RateLimitError", code=429, requests=3)] * 2),
    ("status_500", status(500, retry_after=SOON), *[ends_with("InternalServerError", code=500, requests=3)] * 2),
    ("status_529", status(529, retry_after=SOON), *[ends_with("OverloadedError", code=529, requests=3)] * 2),
    ("status_529_once", [status(529, retry_after=SOON)], *[replies(requests=2, stop_reason="tool_use")] * 2),
    ("told_not_to_retry", status(529, should_retry=False), *[ends_with("OverloadedError", code=529, requests=1)] * 2),
    ("told_to_retry", [status(400, should_retry=True, retry_after=SOON)], *[replies(requests=2)] * 2),
    (
        "error_code",
        status(400, error_code="tool_name_conflict"),
        *[ends_with("ToolNameConflictError", code=400, requests=1)] * 2,
    ),
    ("delay_once", [delay(60)], *[replies(requests=2)] * 2),
    ("cut_before_the_first_byte", cut(0), *[ends_with("APIConnectionError", requests=3)] * 2),
    ("cut", cut(), ends_with("APIConnectionError", requests=3), ends_with("RemoteProtocolError", requests=1)),
    (
        "cut_after_all",
        cut(1),
        ends_with("APIConnectionError", requests=3),
        ends_with("RemoteProtocolError", requests=1),
    ),
    ("stall_before_the_first_byte", [stall(0)], *[replies(requests=2)] * 2),
    ("stall", [stall()], replies(requests=2), ends_with("ReadTimeout", requests=1)),
    ("end_early", end_early(), ends_with("JSONDecodeError", requests=1), replies(stop_reason=None)),
    (
        "error_event",
        error_event(),
        ends_with("OverloadedError", code=529, requests=3),
        ends_with("APIStatusError", code=200, requests=1),
    ),
    ("one_byte_at_a_time", chunks(1), *[replies(content=REPLY["content"])] * 2),
    ("odd_chunks", chunks(7), *[replies(content=REPLY["content"])] * 2),
    ("max_tokens", max_tokens(0.8), *[replies(stop_reason="max_tokens", content=LENIENT)] * 2),
    ("refusal", refusal(), *[replies(stop_reason="refusal", stop_details=REFUSED)] * 2),
]
WAITED_FOR = ("delay_once", "stall_before_the_first_byte", "stall")
TABLE = [
    pytest.param(fault, plain, stream, TIMEOUT if name in WAITED_FOR else 10, id=name)
    for name, fault, plain, stream in FAULTS
]


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize(("fault", "plain", "stream", "timeout"), TABLE)
def test_a_fault_is_the_same_in_process_and_over_http(
    fault, plain, stream, timeout, streamed, application, clients, caplog
):
    seen = []
    for client in clients:
        application.reset(fault)
        seen.append((outcome(client.with_options(timeout=timeout), streamed), len(application.requests)))
    near, far = seen
    assert near == far
    assert (stream if streamed else plain)(*far), far
    assert caplog.records == [], "the server's log stays quiet"


@pytest.mark.parametrize("fault", [cut(0.6), stall(0.6), end_early(0.6)], ids=["cut", "stall", "end_early"])
def test_what_came_before_a_break_has_been_read(fault, application, clients):
    whole = len(stream_events(REPLY))
    counts = []
    for client in clients:
        application.reset(fault)
        count = 0
        try:
            for _ in client.messages.create(**REQUEST, stream=True, timeout=TIMEOUT):
                count += 1
        except (httpx2.RemoteProtocolError, httpx2.ReadTimeout):
            pass
        counts.append(count)
    assert counts[0] == counts[1]
    assert whole / 3 < counts[0] < whole - 2


def test_the_async_client_meets_the_same_over_http(application, server):
    async def main():
        async with anthropic.AsyncAnthropic(api_key="mock", base_url=server.url, max_retries=0) as client:
            reply = await client.messages.create(**REQUEST)
            application.reset(cut())
            with pytest.raises(httpx2.RemoteProtocolError, match="peer closed connection without sending complete"):
                async with client.messages.stream(**REQUEST) as stream:
                    await stream.get_final_message()
            with pytest.raises(anthropic.APIConnectionError):
                await client.messages.create(**REQUEST)
            return reply.to_dict(mode="json")

    assert asyncio.run(main()) == REPLY


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("POST", "/v1/messages"), ("DELETE", "/v1/a b/é"), ("PUT", "/v1/v1/messages")]
)
def test_every_method_and_path_reaches_the_application_alike(method, path, application, server):
    application.reset(handle=lambda *request: Answer(200, (b"ok",), {"x-mock": "yes"}))
    with httpx2.Client(transport=Transport(application.handle)) as near, httpx2.Client() as far:
        for http in (near, far):
            reply = http.request(method, server.url + path + "?beta=true", content=b"caf\xc3\xa9", headers={"X-A": "b"})
            assert (reply.status_code, reply.content) == (200, b"ok")
            assert (reply.headers["x-mock"], reply.headers["content-length"]) == ("yes", "2")
    near, far = application.requests
    assert near == far
    assert far[:2] == (method, path + "?beta=true") and far[2]["x-a"] == "b" and far[3] == b"caf\xc3\xa9"


def test_several_lines_of_one_header_are_one_list(application, server):
    application.reset(handle=lambda *request: Answer(200, (b"ok",)))
    lines = [("anthropic-beta", "a-1"), ("Anthropic-Beta", "b-2")]
    with httpx2.Client(transport=Transport(application.handle)) as near, httpx2.Client() as far:
        for http in (near, far):
            http.get(server.url, headers=lines)
    assert [headers["anthropic-beta"] for _, _, headers, _ in application.requests] == ["a-1, b-2"] * 2


def raw_connection(server):
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=5)


def test_an_announced_length_over_32_mb_is_answered_before_the_body_comes(application, server):
    with raw_connection(server) as connection:
        length = MAX_BODY_BYTES + 1
        connection.sendall(f"POST /v1/messages HTTP/1.1\r\nhost: mock\r\ncontent-length: {length}\r\n\r\n".encode())
        answer = connection.recv(65536)
        while b"request_id" not in answer:
            answer += connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"type": "request_too_large"' in answer
    assert application.requests == []


def test_a_body_of_unknown_length_is_refused_as_soon_as_it_passes_32_mb(application, server):
    megabytes = (b"x" * 2**20 for _ in range(40))
    with httpx2.Client() as http:
        reply = http.post(server.url + "/v1/messages", content=megabytes)
        assert (reply.status_code, reply.json()["error"]["type"]) == (413, "request_too_large")
        assert application.requests == []
        assert http.post(server.url + "/v1/messages", content=b"{}").status_code == 200, "the connection is still good"


def test_a_body_of_32_mb_is_taken(application, server):
    application.reset(handle=lambda method, path, headers, body: Answer(200, (str(len(body)).encode(),)))
    assert httpx2.post(server.url, content=b"x" * MAX_BODY_BYTES).text == str(MAX_BODY_BYTES)


def test_a_client_that_leaves_in_the_middle_of_its_request_disturbs_nobody(application, server, caplog):
    with raw_connection(server) as connection:
        connection.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: mock\r\ncontent-length: 100\r\n\r\n{")
    assert httpx2.post(server.url, content=b"{}").status_code == 200
    assert caplog.records == []


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pieces_are_flushed_one_by_one(application, server):
    pieces = ("Hi ✅".encode()[:4], "Hi ✅".encode()[4:], b"!")
    application.reset(handle=lambda *request: Answer(200, pieces))
    with httpx2.Client() as http, http.stream("GET", server.url) as response:
        assert tuple(response.iter_raw()) == pieces


def test_a_small_delay_is_waited_for(application, server):
    application.reset(delay(0.1))
    started = time.perf_counter()
    assert httpx2.post(server.url, content=b"{}").json() == REPLY
    assert time.perf_counter() - started >= 0.1


def test_small_replies_do_not_wait_for_acknowledgements(application, server):
    times = []
    with httpx2.Client() as http:
        for _ in range(15):
            started = time.perf_counter()
            http.post(server.url, content=b"{}")
            times.append(time.perf_counter() - started)
    assert sorted(times)[7] < 0.035, "40 ms a reply is what Nagle's algorithm costs"


def test_an_exception_of_the_model_is_a_500_and_stands_in_the_log(application, clients, caplog):
    def handle(*request):
        raise KeyError("city")

    results = []
    for client in clients:
        application.reset(handle=handle)
        results.append((outcome(client, False), len(application.requests)))
    assert results[0] == results[1]
    (name, code, message, _), count = results[1]
    assert (name, code, count) == ("InternalServerError", 500, 1)
    assert "The model behind the mock raised KeyError: 'city'" in message
    [record] = caplog.records
    assert record.name == "course_kit.mock" and record.exc_info[0] is KeyError


def test_an_error_of_the_kit_is_one_line_in_the_log(application, clients, caplog):
    def handle(*request):
        raise ScriptExhausted("The script holds 2 replies; add a third.")

    application.reset(handle=handle)
    assert "ScriptExhausted: The script holds 2 replies" in outcome(clients[1], False)[2]
    [record] = caplog.records
    assert record.getMessage() == "ScriptExhausted: The script holds 2 replies; add a third."
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)


# ── another server under the application ─────────────────────────────────────────────────────────────────────────────


def run_app(answer, scope):
    sent = []
    requests = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return requests.pop() if requests else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(asgi_app(lambda *request: answer)(scope, receive, send))
    return sent


SCOPE = {"type": "http", "method": "GET", "path": "/", "headers": []}


def test_the_application_is_plain_asgi():
    assert run_app(Answer(200, (b"ok",), {"x-a": "b"}), SCOPE) == [
        {"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"b"), (b"content-length", b"2")]},
        {"type": "http.response.body", "body": b"ok"},
    ]
    assert run_app(Answer(200, (b"a", b"b")), SCOPE) == [
        {"type": "http.response.start", "status": 200, "headers": []},
        {"type": "http.response.body", "body": b"a", "more_body": True},
        {"type": "http.response.body", "body": b"b", "more_body": True},
        {"type": "http.response.body"},
    ]


def test_a_server_that_does_not_lend_its_connection_is_failed_on():
    with pytest.raises(ConnectionAbortedError):
        run_app(Answer(200, (), ending="cut"), SCOPE)


def test_anything_but_http_is_refused():
    with pytest.raises(RuntimeError, match="the mock speaks HTTP, not websocket."):
        run_app(None, {"type": "websocket"})


# ── start and end ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_port_in_use_gets_one_sentence(server):
    port = int(server.url.rpartition(":")[2])
    for start in (serve, serve_in_thread):
        with pytest.raises(SetupError) as caught:
            start(lambda *request: None, port=port)
        assert str(caught.value) == (
            f"Port {port} on 127.0.0.1 is in use: choose another with --port, or --port 0 for any free one."
        )


def test_a_port_or_host_that_does_not_exist_gets_one_sentence():
    with pytest.raises(SetupError, match=r"^Port 70000 does not exist \(they end at 65535\): choose another"):
        serve(lambda *request: None, port=70000)
    with pytest.raises(SetupError, match=r"^Cannot listen on 192\.0\.2\.1 port 0 .*: use --host 127\.0\.0\.1"):
        serve(lambda *request: None, host="192.0.2.1")


def test_closing_ends_stalls_delays_and_half_requests_at_once(caplog):
    application = Application()
    with contextlib.ExitStack() as open_connections, serve_in_thread(application.handle) as server:
        for fault, body in [(stall(), b"{}"), (delay(3600), b"{}"), (None, b"{")]:
            application.faults = fault
            connection = open_connections.enter_context(raw_connection(server))
            connection.sendall(b"POST / HTTP/1.1\r\nhost: mock\r\ncontent-length: 2\r\n\r\n" + body)
            time.sleep(0.02)
        started = time.perf_counter()
    assert time.perf_counter() - started < 20
    assert not server._thread.is_alive()
    assert caplog.records == []
    with pytest.raises(OSError):
        raw_connection(server)
    server.close()  # a second time does nothing


def test_a_server_shows_its_address(server):
    assert repr(server) == f"Server({server.url!r})"
    assert server.url.startswith("http://127.0.0.1:")


SERVE = """
from course_kit.mock.faults import stall
from course_kit.mock.server import serve
from course_kit.mock.wire import Answer
serve(lambda method, path, headers, body: stall(0).on_answer(Answer(200, (b"ok",)), False) if "stall" in path
      else Answer(200, (b"ok",)))
print("ended")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a test cannot send Ctrl-C to one process on Windows")
def test_ctrl_c_ends_the_server_cleanly():
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:")
        url = line.split()[-1]
        assert httpx2.get(url).text == "ok"
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.get(url + "/stall", timeout=TIMEOUT)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=10)
    finally:
        process.kill()
    assert (process.returncode, output, errors) == (0, "ended\n", "")

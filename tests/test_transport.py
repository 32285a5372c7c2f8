"""The in-process transport under the real SDK: what the application is given, and what the client gets back."""

import asyncio
import json
import subprocess
import sys
import time

import anthropic
import httpx2
import pytest

from course_kit.errors import ScriptExhausted, ToolError
from course_kit.mock.transport import Transport
from course_kit.mock.wire import MAX_BODY_BYTES, Answer

REPLY = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude-haiku-5-5",
    "content": [{"type": "text", "text": "Hi ✅"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "stop_details": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
HEADERS = {"content-type": "application/json", "request-id": "req_01"}
HEALTHY = Answer(200, (json.dumps(REPLY).encode(),), HEADERS)
REQUEST = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}


def client(handle, **options):
    http_client = anthropic.DefaultHttpxClient(transport=Transport(handle))
    return anthropic.Anthropic(api_key="mock", max_retries=0, http_client=http_client, **options)


def async_client(handle, **options):
    http_client = anthropic.DefaultAsyncHttpxClient(transport=Transport(handle))
    return anthropic.AsyncAnthropic(api_key="mock", max_retries=0, http_client=http_client, **options)


def always(answer):
    return lambda method, path, headers, body: answer


def failing(error):
    def handle(*request):
        raise error

    return handle


def test_the_application_is_given_the_request_as_on_the_wire():
    seen = []
    client(lambda *request: seen.append(request) or HEALTHY).messages.create(**REQUEST)
    [(method, path, headers, body)] = seen
    assert (method, path, json.loads(body)) == ("POST", "/v1/messages", REQUEST)
    assert type(headers) is dict and headers["authorization"] == "Bearer mock"
    assert headers["anthropic-version"] == "2026-10-21"
    assert all(name == name.lower() for name in headers)


def test_the_reply_and_its_request_id():
    reply = client(always(HEALTHY)).messages.create(**REQUEST)
    assert (reply.to_dict(mode="json"), reply._request_id) == (REPLY, "req_01")


def test_a_body_in_pieces_reaches_the_reader_piece_by_piece():
    answer = Answer(200, ("Hi ✅".encode()[:4], "Hi ✅".encode()[4:]), {"content-type": "text/plain"})
    with httpx2.Client(transport=Transport(always(answer))) as http:
        with http.stream("GET", "http://mock/x") as response:
            assert response.headers["transfer-encoding"] == "chunked"
            assert list(response.iter_raw()) == [b"Hi \xe2", b"\x9c\x85"]
        assert http.get("http://mock/x").text == "Hi ✅"


def test_the_async_client_gets_the_same():
    async def main():
        cut = Answer(200, (b"event: ping\ndata: {}\n\n",), {"content-type": "text/event-stream"}, ending="cut")
        whole = await async_client(always(HEALTHY)).messages.create(**REQUEST)
        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete chunked read"):
            async for _ in await async_client(always(cut)).messages.create(**REQUEST, stream=True):
                pass
        return whole

    assert asyncio.run(main()).to_dict(mode="json") == REPLY


def test_a_delay_below_the_read_timeout_takes_no_time():
    started = time.perf_counter()
    late = Answer(200, HEALTHY.chunks, HEADERS, delay=30)
    assert client(always(late), timeout=31).messages.create(**REQUEST).to_dict(mode="json") == REPLY
    assert client(always(late), timeout=None).messages.create(**REQUEST).to_dict(mode="json") == REPLY
    assert time.perf_counter() - started < 20


def test_a_delay_above_the_read_timeout_is_a_time_out_at_once():
    started = time.perf_counter()
    with pytest.raises(anthropic.APITimeoutError):
        client(always(Answer(200, HEALTHY.chunks, HEADERS, delay=30)), timeout=29).messages.create(**REQUEST)
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("timeout", [5, None], ids=["read_timeout", "no_read_timeout"])
def test_a_silent_connection_is_a_time_out_at_once(timeout):
    silent = Answer(200, (), HEADERS, ending="stall")
    with pytest.raises(anthropic.APITimeoutError):
        client(always(silent), timeout=timeout).messages.create(**REQUEST)


def test_a_body_over_32_mb_never_reaches_the_application():
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x" * MAX_BODY_BYTES}]}
    with pytest.raises(anthropic.RequestTooLargeError) as caught:
        client(failing(AssertionError("reached"))).messages.create(**request)
    assert (caught.value.status_code, caught.value.type) == (413, "request_too_large")


def test_an_error_of_the_kit_comes_out_of_the_client_as_itself():
    mock = client(failing(ScriptExhausted("The script holds 2 replies; add a third.")))
    with pytest.raises(ScriptExhausted, match="The script holds 2 replies; add a third.") as caught:
        mock.with_options(max_retries=2).messages.create(**REQUEST)
    assert type(caught.value).__name__ == "ScriptExhausted"
    assert type(caught.value.__cause__) is ScriptExhausted


def test_the_fields_of_an_error_survive():
    with pytest.raises(ToolError) as caught:
        client(failing(ToolError("NOT_FOUND", "no order 7", hint="list the orders"))).messages.create(**REQUEST)
    assert (caught.value.code, str(caught.value), caught.value.hint) == ("NOT_FOUND", "no order 7", "list the orders")


def test_any_other_exception_is_a_500_that_is_not_retried():
    calls = []

    def handle(*request):
        calls.append(request)
        raise KeyError("city")

    with pytest.raises(anthropic.InternalServerError, match="The model behind the mock raised KeyError: 'city'"):
        client(handle).with_options(max_retries=2).messages.create(**REQUEST)
    assert len(calls) == 1


def test_only_the_transport_loads_the_http_library():
    code = (
        "import sys, course_kit.mock.wire, course_kit.mock.faults, course_kit.contract.streaming; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"anthropic", "httpx2", "uvicorn"} & {name.partition(".")[0] for name in loaded}

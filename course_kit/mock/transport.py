"""The mock without a network: a transport for the SDK's own HTTP client.

    client = anthropic.Anthropic(api_key="mock", http_client=anthropic.DefaultHttpxClient(transport=Transport(handle)))

Everything above the transport stays the SDK's own: encoding, retries, exception classes, reading of streams. What the
client sees is what `server.py` would show it over HTTP, without waiting: time that would pass is compared with the
request's own read timeout, and nothing sleeps. Only this module knows the HTTP library (the SDK 2.x uses `httpx2`).
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

from course_kit.errors import CourseKitError
from course_kit.mock.wire import MAX_BODY_BYTES, Answer, Handle, crash_answer, headers_of, too_large_answer

__all__ = ["Transport"]


class Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Carries requests of a sync or an async client to `handle`, and its answers back.

    The kit's own exceptions, such as `ScriptExhausted`, leave the client as well as they are: an SDK lets through only
    its own, whose root is `root` (by default that of `anthropic`). Any other exception of `handle` is answered with
    500, as over HTTP.
    """

    def __init__(self, handle: Handle, root: type[Exception] | None = None):
        self._handle = handle
        self._root = root

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request of the SDK in process."""
        return self._respond(request, request.read())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The same for the async client."""
        return self._respond(request, await request.aread())

    def _respond(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        if len(body) > MAX_BODY_BYTES:
            return _response(too_large_answer(len(body)), request)
        headers = headers_of(request.headers.raw)
        try:
            answer = self._handle(request.method, _address(request.url), headers, body)
        except CourseKitError as error:
            raise _let_through(error, self._root) from error
        except Exception as error:
            answer = crash_answer(error, body)
        return _response(answer, request)


def _address(url: httpx2.URL) -> str:
    return f"{url.path}?{url.query.decode('ascii')}" if url.query else url.path


def _response(answer: Answer, request: httpx2.Request) -> httpx2.Response:
    timeout = request.extensions.get("timeout", {}).get("read")
    if timeout is not None and answer.delay > timeout:
        raise httpx2.ReadTimeout("timed out", request=request)
    if answer.ending == "clean" and len(answer.chunks) == 1:
        return httpx2.Response(answer.status, headers=answer.headers, content=answer.chunks[0], request=request)
    body = _Body(answer, request)
    if answer.ending != "clean" and not answer.chunks:
        body.break_off("Server disconnected without sending a response.")
    headers = {"transfer-encoding": "chunked", **answer.headers}
    return httpx2.Response(answer.status, headers=headers, stream=body, request=request)


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The pieces of a body, and how it ends; one class for both kinds of client."""

    def __init__(self, answer: Answer, request: httpx2.Request):
        self._answer = answer
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.chunks
        if self._answer.ending != "clean":
            self.break_off("peer closed connection without sending complete message body (incomplete chunked read)")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def break_off(self, reason: str) -> None:
        """Raise what the HTTP library raises when the connection breaks, or stays silent past the read timeout.

        Without a read timeout the client would wait for ever; here that is a time-out as well.
        """
        if self._answer.ending == "stall":
            raise httpx2.ReadTimeout("timed out", request=self._request)
        raise httpx2.RemoteProtocolError(reason, request=self._request)


def _let_through(error: CourseKitError, root: type[Exception] | None) -> Exception:
    """The same error in a class that the SDK lets through: foreign ones become APIConnectionError and are retried."""
    if root is None:
        import anthropic

        root = anthropic.AnthropicError
    kind = type(error)
    through: Any = type(kind.__name__, (kind, root), {"__module__": kind.__module__})
    copy = through.__new__(through)
    copy.args = error.args
    copy.__dict__.update(error.__dict__)
    return copy

"""The mock over HTTP: for programs in another process or another language, and for faults that need a socket.

`asgi_app` is the bare protocol: it reads a request, asks `handle`, and delivers the answer with its delay, its pieces
and its ending. `serve` runs it until Ctrl-C, `serve_in_thread` beside a notebook or a test. What a request means and
what is answered is the application's business (`provider.py`).
"""

import asyncio
import errno
import logging
import os
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from course_kit.errors import CourseKitError, SetupError
from course_kit.mock.wire import MAX_BODY_BYTES, Answer, Handle, crash_answer, headers_of, too_large_answer

__all__ = ["Server", "asgi_app", "serve", "serve_in_thread"]

# What ASGI hands to an application.
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LONGEST_STALL = 3600.0
SECONDS_TO_CLOSE = 5.0

log = logging.getLogger("course_kit.mock")


# ── The application ──────────────────────────────────────────────────────────────────────────────────────────────────


def asgi_app(handle: Handle) -> Callable[..., Any]:
    """An ASGI application that gives every request, whatever its method and path, to `handle`.

    `handle` runs between two turns of the event loop, one request after the other: its state needs no lock, and at
    well under a millisecond a reply this serves more requests than a pool of threads. A model that takes seconds makes
    the others wait.
    """

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the mock speaks HTTP, not {scope['type']}.")
        headers = headers_of(scope["headers"])
        body = await _read_body(headers, receive)
        if body is None:
            return
        if isinstance(body, Answer):
            answer = body
        else:
            try:
                answer = handle(scope["method"], _address(scope), headers, body)
            except CourseKitError as error:
                log.warning("%s: %s", type(error).__name__, error)
                answer = crash_answer(error, body)
            except Exception as error:
                log.exception("the model behind the mock raised")
                answer = crash_answer(error, body)
        await _deliver(answer, scope, receive, send)

    return app


def _address(scope: dict[str, Any]) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{scope['path']}?{query}" if query else scope["path"]


async def _read_body(headers: dict[str, str], receive: Receive) -> bytes | Answer | None:
    """The body; or the refusal of one that is too long, before more of it is kept; or None when the client has left."""
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MAX_BODY_BYTES:
        return too_large_answer(int(announced))
    pieces: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        length += len(piece)
        if length > MAX_BODY_BYTES:
            return too_large_answer(length)
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


async def _deliver(answer: Answer, scope: dict[str, Any], receive: Receive, send: Send) -> None:
    if answer.delay and await _client_left(receive, answer.delay):
        return
    whole = answer.ending == "clean" and len(answer.chunks) == 1
    if answer.chunks or answer.ending == "clean":
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
        if whole:
            headers.append((b"content-length", str(len(answer.chunks[0])).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if whole:
        await send({"type": "http.response.body", "body": answer.chunks[0]})
        return
    for chunk in answer.chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    if answer.ending == "clean":
        await send({"type": "http.response.body"})
        return
    if answer.ending == "stall" and await _client_left(receive, LONGEST_STALL):
        return
    await _break_connection(scope, receive)


async def _client_left(receive: Receive, seconds: float) -> bool:
    """Wait this long, or until the connection is gone: the client hung up or the server is being closed."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return False
    return True


async def _break_connection(scope: dict[str, Any], receive: Receive) -> None:
    """Close the connection in the middle of the answer: what was sent arrives, the end of the body never does."""
    transport = scope.get("state", {}).get("transport")
    if transport is None:  # not our server: the only way to break an answer is to fail
        raise ConnectionAbortedError("a fault breaks this answer off.")
    transport.close()
    await _client_left(receive, SECONDS_TO_CLOSE)


# ── The server ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's own, which hands the application its connection, so that a fault can break it."""

    def connection_made(self, transport: Any) -> None:
        self.app_state: dict[str, Any] = {**self.app_state, "transport": transport}
        super().connection_made(transport)


class _Uvicorn(uvicorn.Server):
    def __init__(self, handle: Handle, on_started: Callable[[], None]):
        super().__init__(
            uvicorn.Config(
                asgi_app(handle),
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,  # leaves the logging of the notebook or program around it alone
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=int(SECONDS_TO_CLOSE),
            )
        )
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # What is still open waits on purpose (a delay, a stall, half a request): closing its connection ends it.
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.close()
        await asyncio.sleep(0)
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # subtle: asyncio switches Nagle's algorithm off only for sockets that name their protocol; with it each small
    # reply waits 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere this option would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        raise SetupError(_why_not(host, port, error)) from None
    return listener


def _why_not(host: str, port: int, error: Exception) -> str:
    cure = "choose another with --port, or --port 0 for any free one."
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use: {cure}"
    if number == errno.EACCES:
        return f"Port {port} on {host} is not allowed for this user: {cure}"
    if isinstance(error, OverflowError):
        return f"Port {port} does not exist (they end at 65535): {cure}"
    return f"Cannot listen on {host} port {port} ({error}): use --host 127.0.0.1 and --port 0."


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(handle: Handle, host: str = "127.0.0.1", port: int = 0) -> None:
    """Serve until Ctrl-C, and print `listening on http://127.0.0.1:N` as soon as clients can connect.

    Port 0 takes any free one. A port in use raises `SetupError`.
    """
    listener = _listen(host, port)
    line = f"listening on {_url(listener)}"
    try:
        # Flushed: the starting program waits for the line, and a pipe would buffer it.
        _Uvicorn(handle, on_started=lambda: print(line, flush=True)).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()


class Server:
    """A mock that serves from a thread of this process; close it, or use it in a `with` statement."""

    def __init__(self, handle: Handle, port: int = 0):
        listener = _listen("127.0.0.1", port)
        self.url = _url(listener)
        started = threading.Event()
        self._uvicorn = _Uvicorn(handle, on_started=started.set)
        self._thread = threading.Thread(target=self._uvicorn.run, args=([listener],), name="mock", daemon=True)
        self._thread.start()
        started.wait(SECONDS_TO_CLOSE)

    def close(self) -> None:
        """Stop serving; connections that are still open are closed."""
        self._uvicorn.should_exit = True
        self._thread.join(2 * SECONDS_TO_CLOSE)

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Server({self.url!r})"


def serve_in_thread(handle: Handle, port: int = 0) -> Server:
    """Serve from a thread of this process: `with serve_in_thread(handle) as server: ... server.url ...`."""
    return Server(handle, port)

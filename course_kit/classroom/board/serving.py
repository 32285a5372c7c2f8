"""The board over HTTP: one page to look at, one address to post to.

    GET /         the page            POST /learner     nickname and counts, with the join code
    GET /table    its table           DELETE /learner   a learner leaves

A plain ASGI application of four addresses, on the server that the mock uses already: a web framework would add more to
install than it saves here. What is posted is judged by `room.py`; here it is kept small and in time.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from course_kit.classroom.board.page import POLICY, page, table
from course_kit.classroom.board.room import Refusal, Room
from course_kit.errors import SetupError

__all__ = ["BoardServer", "board_app", "listen", "serve_board"]

MOST_BYTES = 32_000  # of a post; one with every exercise of the course has about 3,000
SECONDS_TO_READ = 5.0
MOST_CONNECTIONS = 500
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-course-board", b"1"),
]

Send = Callable[[dict[str, Any]], Awaitable[None]]


def board_app(room: Room) -> Callable[..., Awaitable[None]]:
    """The ASGI application of one room."""

    async def app(scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the board speaks HTTP, not {scope['type']}.")
        match scope["method"], scope["path"]:
            case "GET" | "HEAD", "/":
                await _answer(send, 200, await asyncio.to_thread(lambda: page(room.rows())), "text/html")
            case "GET" | "HEAD", "/table":
                await _answer(send, 200, await asyncio.to_thread(lambda: table(room.rows())), "text/html")
            case "POST" | "DELETE" as method, "/learner":
                try:
                    told = await _read(receive)
                    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
                    address = (scope.get("client") or ("",))[0]
                    code = headers.get("authorization", "").removeprefix("Bearer ")
                    handle = room.take if method == "POST" else room.drop
                    handle(address, code, headers.get("x-course-key", ""), told)
                except Refusal as refusal:
                    await _answer(send, refusal.status, str(refusal))
                else:
                    await _answer(send, 204)
            case _:
                await _answer(send, 404, "Nothing is here; the board is at /.")

    return app


async def _read(receive: Callable[[], Awaitable[dict[str, Any]]]) -> Any:
    """The posted JSON, of bounded size and in bounded time."""
    body, more = b"", True
    try:
        async with asyncio.timeout(SECONDS_TO_READ):
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > MOST_BYTES:
                    raise Refusal(413, "That is too much for a board: it takes counts only.")
    except TimeoutError:
        raise Refusal(408, "The post did not arrive in time.") from None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "A post is JSON: a nickname and counts.") from None


async def _answer(send: Send, status: int, text: str = "", kind: str = "text/plain") -> None:
    content = text.encode()
    headers = [*HEADERS, (b"content-type", f"{kind}; charset=utf-8".encode())]
    headers += [] if status == 204 else [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, or one sentence on why there is none."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=256)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SetupError(f"The board cannot listen on {host} port {port} ({reason}): choose another --port.") from None


class BoardServer:
    """The board, served from a thread of this process; close it, or use it in a `with` statement."""

    def __init__(self, room: Room, host: str = "127.0.0.1", port: int = 0):
        import uvicorn

        self._listener = listen(host, port)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self._server = uvicorn.Server(
            uvicorn.Config(
                board_app(room),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,  # else anybody could say which address a post comes from
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=10,
                timeout_graceful_shutdown=2,
            )
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), name="board", daemon=True)
        self._thread.start()
        until = time.monotonic() + 10
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)

    def close(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(5)
        self._listener.close()

    def __enter__(self) -> "BoardServer":
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()


def serve_board(room: Room, host: str, port: int, say: Callable[[str], Any]) -> None:
    """Serve until Ctrl-C."""
    with BoardServer(room, host, port) as server:
        for sentence in _announcement(room, host, server):
            say(sentence)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            say("The board has stopped.")


def _announcement(room: Room, host: str, server: BoardServer) -> list[str]:
    said = [f"The board is at {server.url}. Ctrl-C stops it."]
    if host in ("127.0.0.1", "::1", "localhost"):
        said.append("Only this machine can reach it. `--host 0.0.0.0` opens it to everybody in this network.")
    else:
        said.append("It is OPEN to this network: anyone who can reach it can read the page without a password.")
        said.append("Traffic to it is not encrypted: use it only on a network you trust.")
        if host in ("0.0.0.0", "::"):
            said.append(f"Learners use this machine's address in the network, port {server.port}.")
    shown = server.url if host not in ("0.0.0.0", "::") else f"http://ADDRESS:{server.port}"
    said.append(f"To join, in a terminal: course join {shown} {room.code}")
    said.append(f'or in a notebook: join("{shown}", "{room.code}")')
    if room.workspaces:
        said.append(f"Folders read: {room.workspaces}")
    return said

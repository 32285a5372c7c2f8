"""What the mock answers, before any transport carries it.

The application (`provider.py`) turns a request into an `Answer`; `transport.py` hands it to an SDK client in
process, `server.py` sends it over HTTP. Both must look the same from the client's side.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from course_kit.contract.transport import MAX_BODY_BYTES

__all__ = [
    "Answer",
    "ERROR_TYPES",
    "Handle",
    "MAX_BODY_BYTES",
    "crash_answer",
    "error_answer",
    "error_body",
    "error_type",
    "headers_of",
    "make_id",
    "too_large_answer",
]


@dataclass(frozen=True)
class Answer:
    """One HTTP answer.

    `chunks` are the body's bytes in the pieces the network would deliver: one piece for JSON, many for a stream.
    `ending` says what happens after the last piece: `"clean"` closes the body as announced, `"cut"` breaks the
    connection, `"stall"` sends nothing more and keeps the connection open. `delay` is the time in seconds before
    the first byte. With `"cut"` or `"stall"` and no chunks, not even the headers are sent.
    """

    status: int
    chunks: tuple[bytes, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["clean", "cut", "stall"] = "clean"
    delay: float = 0.0

    @property
    def body(self) -> bytes:
        """The whole body, its chunks joined."""
        return b"".join(self.chunks)


# The application as the transports see it: method, path, headers (lower-case names) and body in, an answer out.
Handle = Callable[[str, str, Mapping[str, str], bytes], Answer]


def headers_of(lines: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header lines by lower-case name. Several lines of one name are one list (RFC 9110, 5.3): `"a-1, b-2"`."""
    headers: dict[str, str] = {}
    for line in lines:
        name, value = (part.decode("latin-1") for part in line)
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


# https://platform.claude.com/docs/en/api/errors
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_type(status: int) -> str:
    """The `error.type` that goes with a status: `529` → `"overloaded_error"`, any other 5xx → `"api_error"`."""
    return ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")


def error_body(
    type: str, message: str, request_id: str | None, details: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The envelope of every error, even mid-stream; most carry no `details`."""
    error: dict[str, Any] = {"type": type, "message": message}
    if details:
        error["details"] = dict(details)
    return {"type": "error", "error": error, "request_id": request_id}


def error_answer(
    status: int,
    message: str,
    request_id: str,
    *,
    type: str | None = None,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error as the API answers it: the envelope, and the id also in the header."""
    body = error_body(type or error_type(status), message, request_id, details)
    return Answer(
        status,
        (json.dumps(body, ensure_ascii=False).encode(),),
        {"content-type": "application/json", "request-id": request_id, **(headers or {})},
    )


def too_large_answer(length: int) -> Answer:
    """The answer to a body over 32 MB, before it is read."""
    return error_answer(413, "Request exceeds the maximum size", make_id("req_011", "too large", length))


def crash_answer(error: BaseException, body: bytes = b"") -> Answer:
    """The answer when the model behind the mock raised. Retrying would not help: the header says so."""
    return error_answer(
        500,
        f"The model behind the mock raised {type(error).__name__}: {error}",
        getattr(error, "request_id", None) or make_id("req_011", "crash", body.decode("utf-8", "replace")),
        headers={"x-should-retry": "false"},
    )


def make_id(prefix: str, *parts: object) -> str:
    """An id that looks like the API's and depends on `parts` alone: `make_id("req_011", ...)` → `"req_011C…"`.

    From the first underscore on it has 24 characters, like the ids seen on the wire.
    """
    digest = sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()
    tail = b64encode(digest, altchars=b"Aa").decode("ascii")  # letters and digits only
    return prefix + tail[: 24 - (len(prefix) - prefix.index("_") - 1)]

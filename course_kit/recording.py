"""Keep what went over the wire, and answer from it later without a network.

A recording is a text file with one exchange a line: `{"request": {"method", "path", "body"}, "response": {"status",
"headers", "body" or "text" (a stream), "ending"}}`. Keys and organisation ids never get into it, not even one that a
model wrote in pieces: queries and most headers are left out, and what remains is searched. `read_recording` gives the
exchanges, for a golden trace or a case. Who stands behind the client while it is recorded is `client.py`'s business.
"""

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_kit.errors import RecordingMismatch, SetupError

if TYPE_CHECKING:
    import anthropic

__all__ = ["Recorder", "Replay", "read_recording", "replaying_client", "watch"]

# Of the headers only these are kept; keys and organisations stand in others.
_KEPT_HEADERS = ("content-type", "request-id", "retry-after", "retry-after-ms", "x-should-retry")
_SECRET_HEADERS = (
    *("authorization", "x-api-key", "anthropic-organization-id", "anthropic-workspace-id"),
    *("anthropic-user-profile-id", "proxy-authorization", "cookie", "set-cookie"),
)
# Of the environment, the values of these; a shorter one is a word that may stand in any text.
_SECRET_NAMES = re.compile(r"(?i)(api_?key|auth_?token|access_?token|secret|password)$")
_SHORTEST = 16
_REMOVED = "[removed]"
_NO_KEY = "not-a-key"  # what clients of the mock send


class Recorder:
    """Middleware of the SDK client that writes every exchange; the first one replaces an older file."""

    __name__ = "record"

    def __init__(self, path: Path):
        if path.is_dir():
            raise SetupError(f"{path} is a folder: name a file for the recording, such as run.jsonl.")
        self._path = path
        self._mode = "wb"
        self._lock = threading.Lock()

    def __call__(self, request: Any, call_next: Any) -> Any:
        import anthropic

        try:
            response = call_next(request)
        except anthropic.APIConnectionError as error:
            ending = "stall" if isinstance(error, anthropic.APITimeoutError) else "cut"
            self._write(error.request, None, b"", ending)
            raise
        http = response.http_response
        watch(http, lambda body, ending: self._write(http.request, http, body, ending))
        return response

    def _write(self, request: Any, response: Any, body: bytes, ending: str) -> None:
        headers = {} if response is None else response.headers
        secrets = [message.get(name, "") for message in (request.headers, headers) for name in _SECRET_HEADERS]
        answer: dict[str, Any] = {
            "status": 0 if response is None else response.status_code,
            "headers": {name: headers[name] for name in _KEPT_HEADERS if name in headers},
        }
        try:
            answer["body"] = json.loads(body)
        except ValueError:
            answer["text"] = _whole_secrets(body.decode("utf-8", "surrogateescape"), secrets)
        answer["ending"] = ending
        sent = {"method": request.method, "path": request.url.path, "body": _json(request.content)}
        exchange = json.dumps({"request": sent, "response": answer}, ensure_ascii=False)
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(self._mode) as file:
                file.write(_scrub(exchange, secrets).encode("utf-8", "surrogatepass") + b"\n")
            self._mode = "ab"


def _scrub(text: str, secrets: Sequence[str]) -> str:
    """A text without keys and organisation ids, known ones and those that look like one."""
    own = [os.environ.get("ANTHROPIC_API_KEY", ""), os.environ.get("ANTHROPIC_AUTH_TOKEN", "")]
    own += [value for name, value in os.environ.items() if _SECRET_NAMES.search(name) and len(value) >= _SHORTEST]
    for secret in sorted(
        {secret.removeprefix("Bearer ").strip() for secret in (*secrets, *own)}, key=len, reverse=True
    ):
        if len(secret) > 5 and secret != _NO_KEY:
            text = text.replace(secret, _REMOVED).replace(json.dumps(secret, ensure_ascii=False)[1:-1], _REMOVED)
    text = re.sub(r"sk-(?:ant|proj|svcacct)-[\w-]+", _REMOVED, text)
    text = re.sub(r'((?:organization|workspace)_(?:uu)?id\\?"\s*:\s*\\?")[^"\\]*', rf"\1{_REMOVED}", text)
    uuid = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    return re.sub(rf"(?i)(organi[sz]ation\W{{0,9}}(?:id\W{{0,4}})?){uuid}", rf"\1{_REMOVED}", text)


def _whole_secrets(stream: str, secrets: Sequence[str]) -> str:
    """A stream in which a secret that was cut into deltas stands in one piece, so that it can be found.

    Every block that says a secret says all it has in its first delta, and nothing in the others.
    """
    lines = stream.split("\n")
    said: dict[tuple[int, str], list[int]] = {}  # a block and the kind of its deltas → the lines that they stand in
    deltas: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines):
        if line.startswith("data:") and "content_block_delta" in line:
            try:
                event = json.loads(line[5:])
                kind = next(name for name in ("text", "partial_json", "thinking") if name in event["delta"])
            except (ValueError, KeyError, TypeError, StopIteration):
                continue
            said.setdefault((event["index"], kind), []).append(number)
            deltas[number] = event
    for (_, kind), numbers in said.items():
        whole = "".join(deltas[number]["delta"][kind] for number in numbers)
        clean = _scrub(whole, secrets)
        for number in numbers if clean != whole else ():
            deltas[number]["delta"][kind] = clean if number == numbers[0] else ""
            lines[number] = "data: " + json.dumps(deltas[number], ensure_ascii=False)
    return "\n".join(lines)


def read_recording(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The exchanges of a recording, in the order they ended: `golden(read_recording("run.jsonl"))`."""
    return list(_exchanges(Path(path)).values())


def _exchanges(path: Path) -> dict[int, dict[str, Any]]:
    """Line number → exchange."""
    try:
        lines = path.read_bytes().decode("utf-8", "surrogatepass").split("\n")
    except (OSError, UnicodeDecodeError):
        raise SetupError(f"There is no recording at {path}: make one with connect(record=...).") from None
    found: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                exchange = json.loads(line)
                exchange["request"]["path"], exchange["response"]["status"]
            except (ValueError, TypeError, KeyError):
                problem = f"Line {number} of {path.name} is not a recorded exchange"
                raise SetupError(f"{problem}: record it again with connect(record=...).") from None
            found[number] = exchange
    return found


def replaying_client(path: Path) -> "anthropic.Anthropic":
    """An SDK client that a recording answers."""
    import anthropic

    from course_kit.mock.transport import Transport

    transport = Transport(Replay(path).answer)
    return anthropic.Anthropic(api_key=_NO_KEY, http_client=anthropic.DefaultHttpxClient(transport=transport))


class Replay:
    """Answers each request with the first exchange, not yet used, that recorded the same request."""

    def __init__(self, path: Path):
        self._name = path.name
        self._left = _exchanges(path)
        self._size = len(self._left)
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Any:
        """The recorded answer to a request; what the mock's transport asks for."""
        from course_kit.mock.wire import Answer

        sent = {"method": method, "path": path, "body": _json(body)}
        sent = json.loads(_scrub(json.dumps(sent, ensure_ascii=False), []))
        with self._lock:
            line = next((line for line, exchange in self._left.items() if _same(exchange["request"], sent)), None)
            if line is None:
                raise RecordingMismatch(self._explain(sent))
            response = self._left.pop(line)["response"]
        if "body" in response:
            chunks = [json.dumps(response["body"]).encode()]
        else:
            chunks = re.split(rb"(?<=\n\n)", response["text"].encode("utf-8", "surrogateescape"))
        pieces = tuple(chunk for chunk in chunks if chunk)
        return Answer(response["status"] or 500, pieces, response["headers"], response["ending"])

    def _explain(self, sent: dict[str, Any]) -> str:
        again = "record the run again with connect(record=...)"
        if not self._left:
            return f"All {self._size} exchanges of {self._name} are used and one more was asked for: {again}."
        line, nearest = next(iter(self._left.items()))
        shown = list(_differences(nearest["request"], sent, ""))
        more = f"; and {len(shown) - 3} more" if len(shown) > 3 else ""
        told = "; ".join(shown[:3]) + more
        nearby = f"The next exchange on file (line {line}) differs at {told}"
        return f"{self._name} does not hold this request. {nearby}. Change that back, or {again}."


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace") or None


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _differences(recorded: Any, sent: Any, path: str) -> Iterator[str]:
    """Where two JSON values differ: `body.messages[2].content: recorded "a", sent "b"`."""
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for name in [*recorded, *(name for name in sent if name not in recorded)]:
            below = f"{path}.{name}" if path else name
            yield from _differences(recorded.get(name, _ABSENT), sent.get(name, _ABSENT), below)
    elif isinstance(recorded, list) and isinstance(sent, list):
        for index in range(max(len(recorded), len(sent))):
            old, new = (values[index] if index < len(values) else _ABSENT for values in (recorded, sent))
            yield from _differences(old, new, f"{path}[{index}]")
    elif recorded is _ABSENT or sent is _ABSENT or not _same(recorded, sent):
        yield f"{path}: recorded {_shown(recorded)}, sent {_shown(sent)}"


_ABSENT = object()


def _shown(value: Any) -> str:
    text = "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def watch(response: Any, done: Callable[[bytes, str], None]) -> None:
    """Call `done(body, ending)` once, when all of a response has passed; a stream still arrives piece by piece."""
    import httpx2

    if response.is_closed:
        done(response.content, "clean")
        return

    class Tee(httpx2.SyncByteStream):
        def __init__(self, source: Any):
            self.source, self.pieces, self.ending, self.told = source, list[bytes](), "clean", False

        def __iter__(self) -> Iterator[bytes]:
            try:
                for piece in self.source:
                    self.pieces.append(piece)
                    yield piece
            except Exception as error:
                self.ending = "stall" if isinstance(error, httpx2.TimeoutException) else "cut"
                raise

        def close(self) -> None:
            self.source.close()
            if not self.told:
                self.told = True
                coding = {"content-encoding": response.headers.get("content-encoding", "identity")}
                done(httpx2.Response(200, headers=coding, content=b"".join(self.pieces)).content, self.ending)

    response.stream = Tee(response.stream)

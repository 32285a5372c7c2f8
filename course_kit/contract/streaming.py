"""A message as a stream of events, and back.

    message ──stream_events──▶ events ──encode_stream──▶ bytes
    message ◀─message_from_events── events ◀──EventDecoder── bytes, cut anywhere

A streamed reply is the same message sent in pieces: a block opens, grows by deltas, closes. Text grows by words; the
`input` of a call grows by fragments of its JSON text, which mean nothing until the block has closed. Everything here
is pure. Who sends the bytes is next door: `mock/transport.py` in process, `mock/server.py` over HTTP.

https://platform.claude.com/docs/en/build-with-claude/streaming
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from random import Random
from typing import Any

from course_kit.errors import CourseKitError

__all__ = [
    "CUT_STOP_REASONS",
    "Event",
    "EventDecoder",
    "InputNotJSON",
    "StreamError",
    "encode_event",
    "encode_stream",
    "input_json",
    "message_from_events",
    "stream_events",
]

Event = dict[str, Any]

# Turns that may end in the middle of a call. Decide by these, never by whether the fragments happen to parse.
CUT_STOP_REASONS = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})

# The counts that `message_delta` repeats: totals so far, which replace those of `message_start`.
CUMULATIVE_USAGE = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)

COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class StreamError(CourseKitError, ValueError):
    """The stream is not one that the Messages API sends, or it carried an `error` event."""


class InputNotJSON(StreamError):
    """The fragments of a call were joined, its block had closed, and the text is not a JSON object.

    `raw` is the joined text, `position` the character where reading stopped, `block` the call's index in `content`.
    """

    def __init__(self, block: int, name: str, raw: str, position: int, reason: str):
        super().__init__(
            f"block {block} (`{name}`): its input is not a JSON object "
            f"({reason}, at character {position} of {len(raw)}). "
            "Do not run the call; answer it with an `is_error` result that quotes the raw text."
        )
        self.block = block
        self.name = name
        self.raw = raw
        self.position = position


# ── message → events ─────────────────────────────────────────────────────────────────────────────────────────────────


def stream_events(
    message: Mapping[str, Any],
    *,
    seed: int | str = 0,
    chunk_size: int = 12,
    eager: Collection[str] = frozenset(),
    raw_inputs: Mapping[int, str] | None = None,
) -> list[Event]:
    """The events that carry this finished message, in the order the API sends them.

    Deltas hold about `chunk_size` characters each, cut by `seed`. Tools named in `eager` are streamed fine-grained:
    the same events, with longer fragments. `raw_inputs` maps a block's index to the text sent instead of its `input`,
    for a call that was cut or went wrong: `{1: '{"path":"a.txt","body":"hel'}`.
    """
    if chunk_size < 1:
        raise ValueError(f"chunk_size is {chunk_size}: give at least one character a piece.")
    random = Random(f"stream:{seed}")
    raw_inputs = raw_inputs or {}
    usage = dict(message.get("usage") or {"input_tokens": 0, "output_tokens": 0})

    events: list[Event] = [_message_start(message, usage)]
    for index, block in enumerate(message["content"]):
        size = 4 * chunk_size if block.get("name") in eager else chunk_size
        opened, deltas = _block_parts(block, raw_inputs.get(index), random, size)
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        if index == 0:
            events.append({"type": "ping"})
        events += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})

    ending = {key: message.get(key) for key in ("stop_reason", "stop_sequence", "stop_details")}
    if message.get("container") is not None:
        ending["container"] = message["container"]
    totals = {key: usage[key] for key in CUMULATIVE_USAGE if usage.get(key) is not None}
    events.append({"type": "message_delta", "delta": ending, "usage": totals})
    events.append({"type": "message_stop"})
    return events


def _message_start(message: Mapping[str, Any], usage: dict[str, Any]) -> Event:
    opening = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
    if "container" in opening:
        opening["container"] = None
    # Nothing has been written yet, so the output counts are small or absent.
    written = ("output_tokens_details", "server_tool_use")
    opening["usage"] = {key: value for key, value in usage.items() if key not in written or value is None}
    opening["usage"]["output_tokens"] = min(usage.get("output_tokens", 0), 2)
    return {"type": "message_start", "message": opening}


def _block_parts(
    block: Mapping[str, Any], raw: str | None, random: Random, size: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it opens, and the deltas that complete it."""
    match block["type"]:
        case "text":
            opened = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"], random, size)]
            if block.get("citations"):
                opened["citations"] = []
                deltas += ({"type": "citations_delta", "citation": citation} for citation in block["citations"])
            return opened, deltas
        case "thinking":
            opened = {**block, "thinking": "", "signature": ""}
            thoughts = _pieces(block["thinking"], random, size)
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in thoughts]
            if block.get("signature"):
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return opened, deltas
        case "tool_use" | "server_tool_use" if (block.get("caller") or {}).get("type", "direct") == "direct":
            opened = {**block, "input": {}}
            if block["type"] == "tool_use":
                opened.setdefault("caller", {"type": "direct"})
            # The first fragment is always empty. It is the only one of a call without arguments.
            text = raw if raw is not None else input_json(block["input"]) if block["input"] else ""
            fragments = ["", *_pieces(text, random, size)]
            return opened, [{"type": "input_json_delta", "partial_json": piece} for piece in fragments]
        case _:
            # Results of server tools, redacted thinking, calls made by code execution: whole at once.
            return dict(block), []


def input_json(input: Any) -> str:
    """The JSON text of a call's `input`, as a model writes it: `{"city": "Oslo"}`."""
    return json.dumps(input, ensure_ascii=False)


def _pieces(text: str, random: Random, size: int) -> Iterator[str]:
    """`text` cut at seeded positions into pieces of `size` characters on average."""
    start = 0
    while start < len(text):
        end = start + random.randint(1, 2 * size - 1)
        yield text[start:end]
        start = end


# ── events → bytes ───────────────────────────────────────────────────────────────────────────────────────────────────


def encode_event(event: Mapping[str, Any], *, padding: int = 0) -> bytes:
    """One event as the bytes of a server-sent event, with `padding` spaces before the last brace.

    `{"type": "ping"}` → `b'event: ping\\ndata: {"type":"ping"}\\n\\n'`
    """
    return f"event: {event['type']}\ndata: {COMPACT.encode(event)[:-1]}{' ' * padding}}}\n\n".encode()


def encode_stream(events: Iterable[Mapping[str, Any]], seed: int | str = 0) -> list[bytes]:
    """Each event as bytes, padded with 0 to 15 spaces as the API does, so nobody compares bytes."""
    random = Random(f"padding:{seed}")
    return [encode_event(event, padding=random.randrange(16)) for event in events]


# ── bytes → events ───────────────────────────────────────────────────────────────────────────────────────────────────


class EventDecoder:
    """Bytes of a stream, in whatever pieces they arrive, to events.

    Lines are split as bytes and decoded when they are whole: a character may be split over two pieces, a line never.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._after_return = False

    def feed(self, piece: bytes) -> list[Event]:
        """The events that this piece completes, in order; often none."""
        events = []
        if self._after_return and piece.startswith(b"\n"):  # the second half of a "\r\n" cut in two
            piece = piece[1:]
            self._after_return = False
        for part in piece.splitlines(keepends=True):
            self._line += part
            if part.endswith((b"\n", b"\r")):
                line = bytes(self._line).rstrip(b"\r\n")
                self._line.clear()
                event = self._read_line(line)
                if event is not None:
                    events.append(event)
        if piece:
            self._after_return = piece.endswith(b"\r")
        return events

    def _read_line(self, line: bytes) -> Event | None:
        if line:
            # `event:` repeats the `type` inside the data, and a line that begins with ":" is a comment.
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            return None
        if not self._data:
            return None
        data = b"\n".join(self._data)
        self._data.clear()
        try:
            return json.loads(data.decode("utf-8"))
        except ValueError as error:
            shown = data[:60].decode("utf-8", "replace")
            raise StreamError(
                f"the data of an event is not JSON ({error}): {shown!r}. Look at what sent this stream."
            ) from error


# ── events → message ─────────────────────────────────────────────────────────────────────────────────────────────────


def message_from_events(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The message that a stream carries.

    Fragments of a call are joined until its block closes; nothing at all means `{}`. A stream that ends early gives
    the message so far, with `stop_reason` None. Where a turn was cut inside a call, that call has `input: {}` and keeps
    its text in `partial_json`, which is not on the wire:
    `{"type": "tool_use", "name": "write", "input": {}, "partial_json": '{"path":"a.txt","body":"hel', ...}`.
    In a turn that was not cut, such text raises `InputNotJSON`.
    """
    message: dict[str, Any] | None = None
    fragments: dict[int, list[str]] = {}  # of the calls whose block is still open
    broken: list[InputNotJSON] = []
    for event in events:
        kind = event.get("type")
        if kind == "ping":
            continue
        if kind == "error":
            error = event.get("error") or {}
            raise StreamError(
                f"the server ended the stream: {error.get('type')}: {error.get('message')}. "
                "Ask again; a call that was open must not run."
            )
        if kind == "message_start":
            message = {**event["message"], "content": [], "usage": dict(event["message"].get("usage") or {})}
            continue
        if message is None:
            raise StreamError(f"`{kind}` came before `message_start`. Read the stream from its beginning.")

        content = message["content"]
        if kind in ("content_block_delta", "content_block_stop") and not 0 <= event["index"] < len(content):
            raise StreamError(f"`{kind}` names block {event['index']}, which was never opened.")
        match kind:
            case "content_block_start":
                content.append(dict(event["content_block"]))
                if content[-1]["type"] in ("tool_use", "server_tool_use"):
                    fragments[event["index"]] = []
            case "content_block_delta":
                _grow(content[event["index"]], event["delta"], fragments.get(event["index"], []))
            case "content_block_stop":
                index = event["index"]
                raw = "".join(fragments.pop(index, []))
                if raw:
                    problem = _read_input(content[index], index, raw)
                    broken += [problem] if problem else []
            case "message_delta":
                message.update(event["delta"])
                message["usage"].update(event.get("usage") or {})

    if message is None:
        raise StreamError("the stream holds no message: it ended before `message_start`. Ask again.")
    for index, pieces in fragments.items():  # the stream ended while these were open
        message["content"][index]["partial_json"] = "".join(pieces)
    if broken and message["stop_reason"] is not None and message["stop_reason"] not in CUT_STOP_REASONS:
        raise broken[0]
    return message


def _grow(block: dict[str, Any], delta: Mapping[str, Any], fragments: list[str]) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "input_json_delta":
            fragments.append(delta["partial_json"])
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]


def _read_input(block: dict[str, Any], index: int, raw: str) -> InputNotJSON | None:
    """Set the block's `input` from its text; if that cannot be read, keep the text and say where reading stopped."""
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        position, reason = error.pos, error.msg
    except ValueError as error:  # NaN and Infinity, or an integer too long to read
        position, reason = 0, str(error)
    else:
        if isinstance(value, dict):
            block["input"] = value
            return None
        position, reason = 0, f"a {type(value).__name__} stands where an object must"
    block["partial_json"] = raw
    return InputNotJSON(index, block.get("name", "?"), raw, position, reason)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")

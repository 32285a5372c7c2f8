"""A finished reply of OpenAI's as the stream that would have sent it.

Chat Completions sends nameless chunks and ends with `[DONE]`; Responses sends named, numbered events. What the pieces
add up to is in `contract/shapes`; here it is only cut up.
"""

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from course_kit.contract.shapes.common import compact

__all__ = ["chat_chunks", "responses_events"]

_PIECE = 12  # characters of a piece, on average
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _pieces(text: str, random: Random) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + random.randint(1, 2 * _PIECE - 1)
        yield text[start:end]
        start = end


def chat_chunks(completion: Mapping[str, Any], *, seed: str, usage: bool = False) -> tuple[bytes, ...]:
    """The events of a `chat.completion`, as bytes; with `usage` (asked for by `stream_options`) a last chunk counts.

    `index` counts the calls, not the content; id and name come once, with the first, empty piece of arguments.
    """
    random = Random(f"chat:{seed}")
    [choice] = completion["choices"]
    message, frame = choice["message"], {key: completion[key] for key in ("id", "created", "model")}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "" if message["content"] else None}]
    deltas += [{"content": piece} for piece in _pieces(message["content"] or "", random)]
    deltas += [{"refusal": piece} for piece in _pieces(message.get("refusal") or "", random)]
    for index, call in enumerate(message.get("tool_calls") or ()):
        opening = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        pieces = _pieces(call["function"]["arguments"], random)
        more = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
        deltas += [{"tool_calls": [delta]} for delta in [opening, *more]]
    chunks = [(delta, None) for delta in deltas] + [({}, choice["finish_reason"])]
    counted = {"usage": None} if usage else {}
    events = [
        {
            **{"object": "chat.completion.chunk", **frame, **counted},
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
        }
        for delta, reason in chunks
    ]
    if usage:
        events.append({"object": "chat.completion.chunk", **frame, "choices": [], "usage": completion["usage"]})
    return (*(f"data: {compact(event)}\n\n".encode() for event in events), b"data: [DONE]\n\n")


def responses_events(response: Mapping[str, Any], *, seed: str, obfuscation: bool = True) -> tuple[bytes, ...]:
    """The events of a `response`, as bytes: opened, each item opened, grown and closed, then all of it again.

    Deltas carry a random `obfuscation`, so that their length does not give away the text's (seen in recorded traffic).
    """
    random = Random(f"responses:{seed}")
    opening = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[dict[str, Any]] = [
        {"type": f"response.{name}", "response": opening} for name in ("created", "in_progress")
    ]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        started = {**item, "status": "in_progress"}
        if item["type"] == "function_call":
            events.append({"type": "response.output_item.added", **place, "item": {**started, "arguments": ""}})
            events += _grown(
                "response.function_call_arguments", "arguments", item["arguments"], item["id"], place, random
            )
        elif item["type"] == "message":
            events.append({"type": "response.output_item.added", **place, "item": {**started, "content": []}})
            for number, part in enumerate(item["content"]):
                events += _part(part, item["id"], {**place, "content_index": number}, random)
        else:
            events.append({"type": "response.output_item.added", **place, "item": item})
        events.append({"type": "response.output_item.done", **place, "item": item})
    ending = "incomplete" if response["status"] == "incomplete" else "completed"
    events.append({"type": f"response.{ending}", "response": response})
    for number, event in enumerate(events):
        event["sequence_number"] = number
        if "delta" in event and obfuscation:
            event["obfuscation"] = "".join(random.choices(_LETTERS, k=random.randrange(16)))
    return tuple(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _part(part: Mapping[str, Any], id: str, place: dict[str, Any], random: Random) -> list[dict[str, Any]]:
    field = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if field == "refusal" else "response.output_text"
    where = {"item_id": id, **place}
    grown = _grown(kind, field, part[field], id, place, random)
    if field == "text":
        grown = [{**event, "logprobs": []} for event in grown]
    opened = {"type": "response.content_part.added", **where, "part": {**part, field: ""}}
    return [opened, *grown, {"type": "response.content_part.done", **where, "part": dict(part)}]


def _grown(kind: str, field: str, whole: str, id: str, place: dict[str, Any], random: Random) -> list[dict[str, Any]]:
    where = {"item_id": id, **place}
    deltas = [{"type": f"{kind}.delta", **where, "delta": piece} for piece in _pieces(whole, random)]
    return [*deltas, {"type": f"{kind}.done", **where, field: whole}]

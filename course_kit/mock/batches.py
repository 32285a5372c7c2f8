"""Batches: many requests in one, processed later, at half the price on the real API.

`POST /v1/messages/batches` takes up to 100,000 requests, each with a `custom_id`; `GET` of the batch says how far it
is, `GET …/results` gives one JSON line for each request once all are done. Here a batch is processed when it is first
asked for, each of its requests passing through the mock as if it had come alone: a refused one is an `errored`
result, and does not stop the others. There is no clock, so nothing expires by itself.

Addresses and fields are those of the SDK (2.14: `resources/messages/batches.py`, `types/messages`); the wording of
errors is not known, and the rules say so.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from course_kit.contract.rules import Found, Rule, Violation, rule
from course_kit.contract.transport import TRANSPORT_RULES, Incoming

from .wire import Answer, Handle, error_answer, make_id

__all__ = ["BATCH_RULES", "Batches", "is_batch_address"]

ADDRESS = "/v1/messages/batches"
MOST_REQUESTS = 100_000
CREATED, ENDED, EXPIRES = "2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z", "2030-01-02T00:00:00Z"  # made up


def is_batch_address(path: str) -> bool:
    """Whether an address belongs to the batches: `/v1/messages/batches/msgbatch_01…/results`."""
    path = path.partition("?")[0].rstrip("/")
    return path == ADDRESS or path.startswith(ADDRESS + "/")


@rule("docs", "Batch processing; the wording is not known")
def requests_given(payload: Mapping[str, Any]) -> Iterator[Found]:
    """A batch holds 1 to 100,000 requests, each an object with `custom_id` and `params`."""
    requests = payload.get("requests")
    if requests is None:
        yield Found("requests", "Field required")
    elif not isinstance(requests, list) or not 1 <= len(requests) <= MOST_REQUESTS:
        yield Found("requests", f"Input should be a list of 1 to {MOST_REQUESTS} requests")
    else:
        for index, entry in enumerate(requests):
            for name, kind in (("custom_id", str), ("params", dict)):
                if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
                    yield Found(f"requests.{index}.{name}", "Field required")


@rule("reported", "pull request 1546 of the Python SDK; the wording is not known")
def custom_id_form(payload: Mapping[str, Any]) -> Iterator[Found]:
    """A `custom_id` has 1 to 64 letters, digits, `_` and `-`."""
    for index, entry in enumerate(payload["requests"]):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", entry["custom_id"]):
            yield Found(f"requests.{index}.custom_id", "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")


@rule("sdk", "docstring of `custom_id`; the wording is not known")
def custom_id_unique(payload: Mapping[str, Any]) -> Iterator[Found]:
    """Every `custom_id` occurs once in a batch."""
    counted = Counter(entry["custom_id"] for entry in payload["requests"])
    if twice := [name for name, times in counted.items() if times > 1]:
        yield Found("requests", f"custom_id must be unique, and {twice[0]!r} stands {counted[twice[0]]} times")


BATCH_RULES: tuple[Rule, ...] = (requests_given, custom_id_form, custom_id_unique)


@dataclass
class Batch:
    """One batch: its requests, its status, and its results by `custom_id`."""

    id: str
    requests: list[dict[str, Any]]
    headers: dict[str, str]
    status: str = "in_progress"
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    canceled: bool = False

    def shown(self, host: str) -> dict[str, Any]:
        """The object that the API answers with."""
        ended = self.status == "ended"
        counts = Counter(result["type"] for result in self.results.values())
        scheme = "http" if host.split(":")[0] in ("127.0.0.1", "localhost") else "https"
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": self.status,
            "request_counts": {
                "processing": 0 if ended else len(self.requests),
                **{name: counts[name] for name in ("succeeded", "errored", "canceled", "expired")},
            },
            "created_at": CREATED,
            "expires_at": EXPIRES,
            "ended_at": ENDED if ended else None,
            "archived_at": None,
            "cancel_initiated_at": CREATED if self.canceled else None,
            "results_url": f"{scheme}://{host}{ADDRESS}/{self.id}/results" if ended else None,
        }


class Batches:
    """The batches of one provider. `handle` is the provider's own: every request of a batch goes through it."""

    def __init__(self, handle: Handle):
        self.handle = handle
        self.kept: dict[str, Batch] = {}

    def violation(self, incoming: Incoming) -> Violation | None:
        """The first rule that a request to these addresses breaks; reads the body."""
        creates = incoming.method == "POST" and incoming.path.partition("?")[0].rstrip("/") == ADDRESS
        elsewhere = {"address-known", "method-fits"} | (set() if creates else {"body-is-json"})  # `cancel` has no body
        for one in TRANSPORT_RULES:
            for found in one.find(incoming) if one.id not in elsewhere else ():  # type: ignore[arg-type]
                return one.broken_by(found)
        for one in BATCH_RULES if creates else ():
            for found in one.find(incoming.payload):
                return one.broken_by(found)
        return None

    def answer(self, incoming: Incoming, request_id: str, json_answer: Callable[[Any], Answer]) -> Answer:
        """The answer to a legal request. `json_answer` makes one of an object."""
        parts = urlsplit(incoming.path)
        id, _, verb = parts.path.rstrip("/").removeprefix(ADDRESS).strip("/").partition("/")
        host = incoming.headers.get("host", "api.anthropic.com")
        batch: Any = self.kept.get(id)
        if id and batch is None:
            return error_answer(404, f"Message batch {id} was not found.", request_id)
        match incoming.method, bool(id), verb:
            case "POST", False, "":
                batch = Batch(make_id("msgbatch_01", request_id), incoming.payload["requests"], dict(incoming.headers))
                self.kept[batch.id] = batch
            case "GET", False, "":
                return self._page(parts.query, host, request_id, json_answer)
            case "GET", True, "":
                self._work_off(batch)
            case "POST", True, "cancel":
                if batch.status == "ended":
                    return error_answer(400, f"Message batch {id} has ended: it cannot be canceled.", request_id)
                batch.status, batch.canceled = "canceling", True
            case "DELETE", True, "":
                if batch.status != "ended":
                    return error_answer(400, f"Message batch {id} has not ended: cancel it first.", request_id)
                del self.kept[id]
                return json_answer({"id": id, "type": "message_batch_deleted"})
            case "GET", True, "results":
                if batch.status != "ended":
                    return error_answer(404, f"Message batch {id} has no results yet.", request_id)
                return self._results(batch, json_answer)
            case _:
                return error_answer(405, f"Method Not Allowed: {incoming.method} {parts.path}.", request_id)
        return json_answer(batch.shown(host))

    def _work_off(self, batch: Batch) -> None:
        if batch.status == "ended":
            return
        for entry in batch.requests:
            done = {"type": "canceled"} if batch.canceled else self._one(entry["params"], batch.headers)
            batch.results[entry["custom_id"]] = done
        batch.status = "ended"

    def _one(self, params: Mapping[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        """The result of one request. What a batch does not take is refused here, as the API does: after the fact."""
        request_id = make_id("req_011", json.dumps(params, sort_keys=True))
        if params.get("stream") or params.get("max_tokens") == 0:
            # docs: Batch processing (max_tokens); sdk: `params` has the type of a request that is not streamed.
            name = "stream" if params.get("stream") else "max_tokens"
            answer = error_answer(400, f"{name}: {params[name]!r} is not supported in a batch", request_id)
        else:
            body = json.dumps(params, ensure_ascii=False).encode("utf-8", "replace")
            answer = self.handle("POST", "/v1/messages", headers, body)
        try:
            found = json.loads(answer.body)
        except ValueError:  # a fault broke the answer off; the real service would have tried again
            found = json.loads(error_answer(500, "Internal server error", request_id).body)
        if found.get("type") == "message":
            return {"type": "succeeded", "message": found}
        return {"type": "errored", "error": found}

    def _page(self, query: str, host: str, request_id: str, json_answer: Callable[[Any], Answer]) -> Answer:
        """The batches, the most recent first: a page from the top, or right after or right before a batch."""
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        limit, ids = asked.get("limit", "20"), list(reversed(self.kept))
        if not (limit.isdecimal() and 1 <= int(limit) <= 1000):
            return error_answer(400, "limit: Input should be a whole number from 1 to 1000", request_id)
        before = asked.get("before_id") in ids
        if before:
            ids = ids[: ids.index(asked["before_id"])]
        elif asked.get("after_id") in ids:
            ids = ids[ids.index(asked["after_id"]) + 1 :]
        page = ids[-int(limit) :] if before else ids[: int(limit)]
        data = [self.kept[id].shown(host) for id in page]
        ends = {"first_id": page[0] if page else None, "last_id": page[-1] if page else None}
        return json_answer({"data": data, "has_more": len(ids) > len(page), **ends})

    def _results(self, batch: Batch, json_answer: Callable[[Any], Answer]) -> Answer:
        # Not in the order of the requests: joining by position fails here (the API promises no order).
        lines = [{"custom_id": id, "result": result} for id, result in sorted(batch.results.items(), reverse=True)]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        headers = {**json_answer({}).headers, "content-type": "application/x-jsonl"}
        return Answer(200, (text.encode("utf-8", "replace"),), headers)

"""The stand-in provider: a request comes in as bytes, an answer goes out as bytes.

    bytes ─▶ transport rules ─▶ protocol rules ─▶ model ─▶ message ─▶ events or JSON ─▶ bytes
             (contract/)        (contract/)      (yours)            (contract/)

The application is one function, `MockProvider.handle`. `client()` puts it behind the real SDK in this process,
`serve()` behind a port; both carry the same answers. It keeps every exchange in `requests`, and `report()` says what
the client did that a provider would accept and a colleague would not.
"""

import hashlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from course_kit.contract import models, thinking
from course_kit.contract.messages import text_of
from course_kit.contract.protocol import check_request, first_violation
from course_kit.contract.rules import Violation
from course_kit.contract.streaming import encode_stream, stream_events
from course_kit.contract.transport import Incoming, check_transport, endpoint_of

from .faults import Fault, Faults, check_faults, fault_for, max_tokens
from .report import Report, report_on
from .scripted import Draft, as_model
from .usage import CacheUse, PromptCache, count_tokens, estimate
from .wire import Answer, error_answer, make_id

__all__ = ["Exchange", "MockProvider"]

SECRET_HEADERS = ("authorization", "x-api-key", "cookie")


@dataclass
class Exchange:
    """One request and what became of it. Keys are never kept.

    `reply` is the message that was sent, `violation` the rule that refused the request, `at` the monotonic clock in
    seconds when the request came (for `retry-after`).
    """

    number: int
    request_id: str
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    status: int = 200
    reply: dict[str, Any] | None = None
    reasons: list[str] = field(default_factory=list)
    violation: Violation | None = None
    fault: Fault | None = None
    cache: CacheUse | None = None
    retry_after: float | None = None


class MockProvider:
    """A provider that reads the whole request, refuses what the API refuses, and answers with a model of yours.

    `model` is `Scripted([...])`, `Simulated(...)`, a list of replies or a function of the request; left out, it is
    `Simulated()`. `faults` is a schedule of `faults.py`. `strictness` is that of `check_request`. Ids depend on `seed`.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        faults: Faults = None,
        strictness: str | Mapping[str, bool] = "default",
        seed: int = 0,
    ):
        if model is None:
            from .simulated import Simulated

            model = Simulated(seed=seed)
        self.model = as_model(model)
        self.faults = check_faults(faults)
        self.strictness = strictness
        self.seed = seed
        self.requests: list[Exchange] = []
        self._cache = PromptCache()
        self._lock = threading.Lock()
        check_request({}, strictness=strictness)  # a misspelt rule is named here, not at the first request

    # Clients of the real SDK, in this process or over a port.

    def client(self, **options: Any) -> Any:
        """An `anthropic.Anthropic` client that talks to this provider without a network."""
        import anthropic

        from .transport import Transport

        http_client = anthropic.DefaultHttpxClient(transport=Transport(self.handle))
        return anthropic.Anthropic(**{"api_key": "not-a-key", "http_client": http_client, **options})

    def async_client(self, **options: Any) -> Any:
        """The same as an `anthropic.AsyncAnthropic` client."""
        import anthropic

        from .transport import Transport

        http_client = anthropic.DefaultAsyncHttpxClient(transport=Transport(self.handle))
        return anthropic.AsyncAnthropic(**{"api_key": "not-a-key", "http_client": http_client, **options})

    def serve(self, port: int = 0) -> Any:
        """The same application over HTTP on 127.0.0.1, in a thread: a context manager with `.url`."""
        from .server import serve_in_thread

        return serve_in_thread(self.handle, port)

    def report(self) -> Report:
        """What the client did wrong, or merely unwisely, each with the lesson that explains it."""
        return report_on(self.requests)

    def explain(self, number: int = -1) -> str:
        """Why the model answered as it did: the reasons it gave for a request, the last one by default."""
        exchange = self.requests[number]
        return "\n".join(exchange.reasons) or "The model gave no reasons (a script has none)."

    # The application.

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request. Header names are lower case."""
        with self._lock:
            number = len(self.requests) + 1
            shown = {name: "(not kept)" if name in SECRET_HEADERS else value for name, value in headers.items()}
            request_id = make_id("req_011", self.seed, number)
            exchange = Exchange(number, request_id, method, path, shown, {}, time.monotonic())
            exchange.fault = fault_for(self.faults, number)
            self.requests.append(exchange)
        incoming = Incoming(method, path, headers, body)
        try:
            answer = self._refused(exchange, check_transport(incoming)) or self._answer(exchange, incoming)
        except RecursionError:
            answer = self._error(exchange, 400, "The request body is nested too deeply.")
        exchange.status = answer.status
        hint = answer.headers.get("retry-after-ms") or answer.headers.get("retry-after")
        if hint:
            exchange.retry_after = float(hint) / (1000 if "retry-after-ms" in answer.headers else 1)
        return answer

    def _answer(self, exchange: Exchange, incoming: Incoming) -> Answer:
        fault = exchange.fault
        endpoint = endpoint_of(incoming.path)
        if endpoint == "/v1/models":
            answer = self._models(exchange)
            return fault.on_answer(answer, False) if fault else answer
        exchange.body = body = incoming.payload
        if fault and (answer := fault.answer(exchange.request_id)):
            return answer
        counting = endpoint == "/v1/messages/count_tokens"
        beta = [name.strip() for name in incoming.headers.get("anthropic-beta", "").split(",") if name.strip()]
        violation = first_violation(
            body,
            version=incoming.headers["anthropic-version"],
            beta=beta,
            strictness=self.strictness,
            counting=counting,
        )
        if answer := self._refused(exchange, violation):
            return answer
        streamed = bool(body.get("stream"))
        if counting:
            answer = self._json(exchange, {"input_tokens": count_tokens(body)})
        else:
            answer = self._message(exchange, incoming, streamed)
        return fault.on_answer(answer, streamed) if fault else answer

    def _message(self, exchange: Exchange, incoming: Incoming, streamed: bool) -> Answer:
        body = exchange.body
        digest = hashlib.sha256(incoming.body).hexdigest()
        draft = self.model.reply(body) if body["max_tokens"] else Draft([])
        with self._lock:
            exchange.cache = self._cache.use(body)
        exchange.reasons = draft.reasons
        message = self._finish(draft, body, digest, exchange)
        message, raw_inputs = _within_max_tokens(message, body["max_tokens"])
        if exchange.fault:
            message, cut_inputs = exchange.fault.on_message(message)
            raw_inputs |= cut_inputs
        exchange.reply = message
        if not streamed:
            return self._json(exchange, message)
        eager = {tool["name"] for tool in body.get("tools") or () if tool.get("eager_input_streaming")}
        events = stream_events(message, seed=f"{self.seed}:{digest}", eager=eager, raw_inputs=raw_inputs)
        headers = self._headers(exchange, "text/event-stream; charset=utf-8")
        return Answer(200, tuple(encode_stream(events, seed=digest)), headers)

    def _finish(self, draft: Draft, body: Mapping[str, Any], digest: str, exchange: Exchange) -> dict[str, Any]:
        """A draft as the message that goes out: ids, thinking, stop reason, usage."""
        content = []
        for index, block in enumerate(draft.content):
            if block["type"] == "tool_use":
                block = {
                    "type": "tool_use",
                    "id": make_id("toolu_01", self.seed, digest, index),
                    "caller": {"type": "direct"},
                    **{"input": {}, **block},
                }
            content.append(block)
        content = self._thought(draft, body) + content
        calls = any(block["type"] == "tool_use" for block in content)
        message = {
            "id": make_id("msg_01", self.seed, digest),
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn" if body["max_tokens"] else "max_tokens",
            "stop_sequence": None,
            "stop_details": None,
            "usage": self._usage(content, exchange),
            **draft.fields,
        }
        if "diagnostics" in body:
            message["diagnostics"] = self._diagnostics(body["diagnostics"], exchange)
        return _until_stop_sequence(message, body.get("stop_sequences") or ())

    def _thought(self, draft: Draft, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The thinking block of models that always think, and of a request that asks for thinking."""
        config = body.get("thinking") or {}
        facts = models.MODELS[body["model"]]
        asked = config.get("type") in ("adaptive", "enabled")
        forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
        own = any(block["type"] in thinking.TYPES for block in draft.content)
        # A turn never ends in thinking, so an empty answer has none.
        if own or forced or not draft.content or config.get("type") == "between_tools":
            return []
        if not facts.always_thinks and not asked:
            return []
        shown = config.get("display", "summarized" if config.get("type") == "enabled" else "omitted")
        text = "\n".join(draft.reasons) or "The next step follows from the request." if shown == "summarized" else ""
        before = _turns_before_reply(body)
        return [{"type": "thinking", "thinking": text, "signature": thinking.sign(text, body, before)}]

    def _usage(self, content: list[dict[str, Any]], exchange: Exchange) -> dict[str, Any]:
        assert exchange.cache is not None
        thought = sum(estimate(block) for block in content if block["type"] == "thinking")
        return {
            **exchange.cache.usage(),
            "inference_geo": "global",
            "output_tokens": estimate(content) if content else 1,
            "output_tokens_details": {"thinking_tokens": thought},
            "service_tier": "standard",
        }

    def _diagnostics(self, asked: Mapping[str, Any] | None, exchange: Exchange) -> dict[str, Any] | None:
        """Why the cache could not be used, when the client asked with the id of its last message."""
        previous = (asked or {}).get("previous_message_id")
        cache = exchange.cache
        if previous is None or cache is None:
            return None
        if not any(other.reply and other.reply["id"] == previous for other in self.requests):
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        if cache.missed is None:
            return None
        part = cache.missed if cache.missed in ("model", "tools", "system") else "messages"
        return {"cache_miss_reason": {"type": f"{part}_changed", "cache_missed_input_tokens": cache.missed_tokens}}

    # Answers.

    def _refused(self, exchange: Exchange, violation: Violation | None) -> Answer | None:
        if violation is None:
            return None
        exchange.violation = violation
        return self._error(exchange, violation.status, violation.message, violation.type, violation.error_code)

    def _error(
        self, exchange: Exchange, status: int, message: str, type: str | None = None, code: str | None = None
    ) -> Answer:
        details = {"error_code": code} if code else None
        headers = self._headers(exchange, "application/json")
        return error_answer(status, message, exchange.request_id, type=type, details=details, headers=headers)

    def _json(self, exchange: Exchange, body: Mapping[str, Any]) -> Answer:
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return Answer(200, (text,), self._headers(exchange, "application/json"))

    def _headers(self, exchange: Exchange, content_type: str) -> dict[str, str]:
        # docs: Rate limits. The counts are made up; the mock limits nothing unless a fault says so.
        return {
            "content-type": content_type,
            "request-id": exchange.request_id,
            "anthropic-organization-id": "00000000-0000-4000-8000-000000000000",
            "anthropic-ratelimit-requests-limit": "1000",
            "anthropic-ratelimit-requests-remaining": str(max(0, 1000 - exchange.number)),
            "anthropic-ratelimit-requests-reset": "2030-01-01T00:00:00Z",
            "anthropic-ratelimit-tokens-limit": "1000000",
            "anthropic-ratelimit-tokens-remaining": "1000000",
            "anthropic-ratelimit-tokens-reset": "2030-01-01T00:00:00Z",
        }

    def _models(self, exchange: Exchange) -> Answer:
        parts = urlsplit(exchange.path)
        name = parts.path.rstrip("/").removeprefix("/v1/models").strip("/")
        if name:
            facts = models.facts(name)
            if facts is None:
                return self._error(exchange, 404, f"model: {name}")
            return self._json(exchange, _model_info(facts))
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        limit = query.get("limit", "20")
        if not (limit.isdecimal() and 1 <= int(limit) <= 1000):
            return self._error(exchange, 400, "limit: Input should be a whole number from 1 to 1000")
        ids = list(models.MODELS)
        start, stop = 0, len(ids)
        for key in ("after_id", "before_id"):
            if key in query and query[key] not in ids:
                return self._error(exchange, 400, f"{key}: no model has this id")
        if "after_id" in query:
            start = ids.index(query["after_id"]) + 1
            stop = start + int(limit)
        elif "before_id" in query:
            stop = ids.index(query["before_id"])
            start = max(0, stop - int(limit))
        else:
            stop = int(limit)
        page = ids[start:stop]
        more = start > 0 if "before_id" in query else stop < len(ids)
        body = {
            "data": [_model_info(models.MODELS[id]) for id in page],
            "has_more": more,
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None,
        }
        return self._json(exchange, body)


def _model_info(facts: models.ModelFacts) -> dict[str, Any]:
    return {
        "type": "model",
        "id": facts.id,
        "display_name": facts.name,
        "created_at": "1970-01-01T00:00:00Z",  # the API's own way to say that it is not known
        "lifecycle": "deprecated" if facts.deprecated else "active",
    }


def _turns_before_reply(body: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    from course_kit.contract.rules import Request

    return [(turn.role, [block for _, block in turn.blocks]) for turn in Request(body, "", frozenset()).turns]


def _until_stop_sequence(message: dict[str, Any], sequences: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """The message up to the first of the client's stop sequences, which is not part of the answer."""
    if not any(sequence and sequence in text_of(message) for sequence in sequences):
        return message
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            found = [(block["text"].find(one), one) for one in sequences if one and one in block["text"]]
            if found:
                position, sequence = min(found)
                kept = [{**block, "text": block["text"][:position]}] if position else []
                content = message["content"][:index] + kept
                return {**message, "content": content, "stop_reason": "stop_sequence", "stop_sequence": sequence}
    return message


def _within_max_tokens(message: dict[str, Any], limit: int) -> tuple[dict[str, Any], dict[int, str]]:
    """The message cut where `max_tokens` ends it, inside a block if need be."""
    if message["usage"]["output_tokens"] <= limit or not message["content"]:
        return message, {}
    room = limit
    for index, block in enumerate(message["content"]):
        cost = estimate(block)
        if cost > room:
            so_far = {**message, "content": message["content"][: index + 1]}
            cut, raw_inputs = max_tokens(room / cost).on_message(so_far)
            cut["usage"] = {**message["usage"], "output_tokens": limit}
            return cut, raw_inputs
        room -= cost
    return message, {}

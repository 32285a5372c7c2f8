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
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

from jiter import from_json

from course_kit.contract.protocol import check_request, first_violation
from course_kit.contract.rules import Violation
from course_kit.contract.streaming import encode_stream, stream_events
from course_kit.contract.transport import Incoming, check_transport, endpoint_of

from .batches import Batches, is_batch_address
from .caching import CacheUse, PromptCache
from .catalogue import catalogue
from .faults import Fault, Faults, check_faults, fault_for
from .memory import MEMORY_RULES, Memory
from .openai import OpenAIInterfaces, async_openai_client, openai_client, openai_endpoint
from .prompt_changes import cache_miss_reason
from .reply import finished
from .report import Report, report_on
from .scripted import Draft, as_model
from .tool_search import Reply, reply_with_search
from .usage import count_tokens
from .wire import Answer, error_answer, make_id

__all__ = ["Exchange", "MockProvider"]

ENCODE = json.JSONEncoder(ensure_ascii=False).encode
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})


@dataclass
class Exchange:
    """One request and its outcome. Keys are never kept.

    `reply` is the message that was sent, `violation` the rule that refused the request, `at` the monotonic clock in
    seconds when the request came (for `retry-after` and the prompt cache), `digest` that of the body's bytes,
    `readings` how each reading of the prompt used the cache (one, and one more for each tool search). The body is kept
    as bytes and read when it is asked for: thousands of requests stay small.
    """

    number: int
    request_id: str
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes = field(repr=False)
    at: float
    digest: str
    status: int = 200
    reply: dict[str, Any] | None = None
    reasons: list[str] = field(default_factory=list)
    violation: Violation | None = None
    fault: Fault | None = None
    readings: tuple[CacheUse, ...] = ()
    retry_after: float | None = None

    @property
    def cache(self) -> CacheUse | None:
        """All readings of the prompt together, as `usage` says it; None where the model was not asked."""
        return reduce(add, self.readings) if self.readings else None

    @cached_property
    def body(self) -> dict[str, Any]:
        """The body; `{}` when it cannot be read."""
        try:
            body = from_json(self.raw, allow_inf_nan=False)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}


class MockProvider:
    """A provider that reads the whole request, refuses what the API refuses, and answers with your model.

    `model` is `Scripted([...])`, `Simulated(...)`, a list of replies or a function of the request; left out, it is
    `Simulated()`. `faults` says which request meets which fault of `course_kit.mock.faults`: `{2: faults.status(529)}`.
    `strictness` is that of `check_request`. Ids depend on `seed`. `clock` gives the seconds by which the prompt cache
    forgets. `requests` has every request with its outcome: `provider.requests[0].body["messages"]`.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        faults: Faults = None,
        strictness: str | Mapping[str, bool] = "default",
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ):
        if model is None:
            from .simulated import Simulated

            model = Simulated(seed=seed)
        self.model = as_model(model)
        self.faults = check_faults(faults)
        self.strictness = strictness
        self.seed = seed
        self.clock = clock
        self.requests: list[Exchange] = []
        # The rules of the protocol know nothing of what the provider remembers.
        self._rules = strictness
        if not isinstance(strictness, str):
            self._rules = {id: on for id, on in strictness.items() if id not in MEMORY_RULES}
        check_request({}, strictness=self._rules)  # a misspelt rule is named here, not at the first request
        self._cache = PromptCache()
        self._memory = Memory()
        self._batches = Batches(self.handle)
        self._openai = OpenAIInterfaces(self._key)
        self._answered: Counter[str] = Counter()
        self._lock = threading.Lock()

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

    def openai_client(self, **options: Any) -> Any:
        """An `openai.OpenAI` client that talks to the same models through OpenAI's two interfaces."""
        return openai_client(self.handle, **options)

    def async_openai_client(self, **options: Any) -> Any:
        """The same as an `openai.AsyncOpenAI` client."""
        return async_openai_client(self.handle, **options)

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
            digest = hashlib.sha256(body).hexdigest()
            exchange = Exchange(number, request_id, method, path, shown, body, self.clock(), digest)
            exchange.fault = fault_for(self.faults, number)
            self.requests.append(exchange)
        try:
            answer = self._answer(exchange, Incoming(method, path, headers, body))
        except Exception as error:
            exchange.status = 500  # the model raised: the transport tells the client, with this id
            error.request_id = exchange.request_id  # type: ignore[attr-defined]
            raise
        exchange.status = answer.status
        if not openai_endpoint(path):
            answer = replace(answer, headers={**self._headers(exchange), **answer.headers})
        hint = answer.headers.get("retry-after-ms") or answer.headers.get("retry-after")
        if hint:
            exchange.retry_after = float(hint) / (1000 if "retry-after-ms" in answer.headers else 1)
        return answer

    def _answer(self, exchange: Exchange, incoming: Incoming) -> Answer:
        if openai_endpoint(incoming.path):
            return self._openai.answer(self.model, exchange, incoming)
        of_a_batch = is_batch_address(incoming.path)
        if violation := self._batches.violation(incoming) if of_a_batch else check_transport(incoming):
            return self._refused(exchange, violation)
        fault = exchange.fault or Fault()
        if answer := fault.answer(exchange.request_id):
            return answer
        if of_a_batch:
            answer = self._batches.answer(incoming, exchange.request_id, lambda body: self._json(exchange, body))
            return fault.on_answer(answer, False)
        endpoint = endpoint_of(incoming.path)
        if endpoint == "/v1/models":
            status, found = catalogue(incoming.path)
            answer = self._json(exchange, found) if isinstance(found, dict) else self._error(exchange, status, found)
            return fault.on_answer(answer, False)
        body, counting = incoming.payload, endpoint == "/v1/messages/count_tokens"
        if violation := self._first_violation(incoming, counting):
            return self._refused(exchange, violation)
        if counting:
            return fault.on_answer(self._json(exchange, {"input_tokens": count_tokens(body)}), False)
        return fault.on_answer(self._message(exchange, body, fault), bool(body.get("stream")))

    def _first_violation(self, incoming: Incoming, counting: bool) -> Violation | None:
        beta = [name.strip() for name in incoming.headers.get("anthropic-beta", "").split(",") if name.strip()]
        version = incoming.headers["anthropic-version"]
        body = incoming.payload
        violation = first_violation(body, version=version, beta=beta, strictness=self._rules, counting=counting)
        return violation or self._memory.first_violation(body, self.strictness)

    def _message(self, exchange: Exchange, body: dict[str, Any], fault: Fault) -> Answer:
        key = self._key(exchange)
        draft, prompts = Reply(Draft([]), [body])
        if body["max_tokens"]:
            failure = fault.on_search()
            draft, prompts = reply_with_search(self.model, body, *key, failure=failure)
        with self._lock:
            exchange.readings = tuple(self._cache.use(prompt, exchange.at) for prompt in prompts)
        exchange.reasons = draft.reasons
        used = reduce(add, exchange.readings)
        message, raw_inputs = finished(draft, body, used, *key)
        if "diagnostics" in body:
            message["diagnostics"] = self._diagnostics(body)
        message, cut_inputs = fault.on_message(message)
        exchange.reply = message
        self._memory.keep(message)
        if not body.get("stream"):
            return self._json(exchange, message)
        eager = {tool.get("name") for tool in body.get("tools") or () if tool.get("eager_input_streaming")}
        seed, raw_inputs = f"{self.seed}:{exchange.digest}", raw_inputs | cut_inputs
        events = stream_events(message, seed=seed, eager=eager, raw_inputs=raw_inputs)
        if len(exchange.readings) > 1:  # it begins before the first search: later readings are reported at the end
            events[0]["message"]["usage"] |= exchange.readings[0].usage()
        headers = {"content-type": "text/event-stream; charset=utf-8", "request-id": exchange.request_id}
        return Answer(200, tuple(encode_stream(events, seed=exchange.digest)), headers)

    def _key(self, exchange: Exchange) -> tuple[object, ...]:
        """What the ids of a reply depend on: the seed, the body, and how often this very body was answered before."""
        with self._lock:
            before = self._answered[exchange.digest]
            self._answered[exchange.digest] += 1
        return (self.seed, exchange.digest, before) if before else (self.seed, exchange.digest)

    def _diagnostics(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Why the cache could not be used, when the client asked with the id of an earlier message."""
        previous = (body["diagnostics"] or {}).get("previous_message_id")
        if previous is None:
            return None
        before = (one.body for one in reversed(self.requests) if one.reply and one.reply["id"] == previous)
        reason = cache_miss_reason(next(before, None), body)
        return {"cache_miss_reason": reason} if reason else None

    # Answers.

    def _refused(self, exchange: Exchange, violation: Violation) -> Answer:
        exchange.violation = violation
        return self._error(exchange, violation.status, violation.message, violation.type, violation.error_code)

    def _error(
        self, exchange: Exchange, status: int, message: str, type: str | None = None, code: str | None = None
    ) -> Answer:
        details = {"error_code": code} if code else None
        return error_answer(status, message, exchange.request_id, type=type, details=details)

    def _json(self, exchange: Exchange, body: Mapping[str, Any]) -> Answer:
        headers = {"content-type": "application/json", "request-id": exchange.request_id}
        return Answer(200, (ENCODE(body).encode("utf-8", "replace"),), headers)

    def _headers(self, exchange: Exchange) -> dict[str, str]:
        """What every answer carries beside its id, errors and faults too."""
        # docs: Rate limits. The counts are made up; the mock limits nothing unless a fault says so.
        left = 0 if exchange.status == 429 else max(0, 1000 - exchange.number)
        counts = {"requests": (1000, left)}
        counts |= dict.fromkeys(("tokens", "input-tokens", "output-tokens"), (1_000_000, 1_000_000))
        headers = {"anthropic-organization-id": "00000000-0000-4000-8000-000000000000"}
        for name, (limit, remaining) in counts.items():
            headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
            headers[f"anthropic-ratelimit-{name}-remaining"] = str(remaining)
            headers[f"anthropic-ratelimit-{name}-reset"] = "2030-01-01T00:00:00Z"
        return headers

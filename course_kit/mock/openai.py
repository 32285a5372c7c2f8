"""OpenAI's two interfaces on the mock: Chat Completions and Responses, with the same models behind them.

    bytes ─▶ rules (openai_rules.py) ─▶ Messages request ─▶ model ─▶ message ─▶ chat.completion or response ─▶ bytes

The model sees what it always sees, a Messages request; so one script or one seed answers on every interface alike.
`openai_endpoint` says which paths belong here; the provider hands such requests on. A tool search of Responses is run
as in Messages. Not modelled: other tools that run at that provider, conversations kept by name, several
choices, audio.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from jiter import from_json

from course_kit.contract.rules import Rule, Violation
from course_kit.contract.shapes import Converted, request_from, request_to
from course_kit.contract.shapes.chat import chat_reply_to
from course_kit.contract.shapes.common import compact
from course_kit.contract.shapes.responses_reply import responses_reply_to
from course_kit.contract.shapes.responses_request import responses_request_from
from course_kit.contract.transport import MAX_BODY_BYTES, Incoming
from course_kit.errors import CourseKitError, SetupError

from .caching import CacheUse
from .faults import Fault
from .openai_rules import CHAT_RULES, RESPONSES_RULES, first_openai_violation
from .openai_stream import chat_chunks, responses_events
from .reply import finished
from .scripted import Draft, Model
from .tool_search import reply_with_search
from .usage import count_tokens
from .wire import Answer, Handle, make_id

if TYPE_CHECKING:
    from .provider import Exchange

__all__ = ["OPENAI_ENDPOINTS", "OpenAIInterfaces", "async_openai_client", "openai_client", "openai_endpoint"]

OPENAI_ENDPOINTS: dict[str, tuple[Rule, ...]] = {
    "/v1/chat/completions": CHAT_RULES,
    "/v1/responses": RESPONSES_RULES,
}
DEFAULT_LIMIT = 4096  # tokens of a reply, where the request sets none
CREATED = 1_795_996_800  # always 2026-11-30: the mock reads no clock


def openai_endpoint(path: str) -> str | None:
    """`"/v1/responses?x=1"` → `"/v1/responses"`; None for a path that is not OpenAI's."""
    path = path.partition("?")[0].rstrip("/")
    return path if path in OPENAI_ENDPOINTS else None


class OpenAIInterfaces:
    """The state behind both interfaces of one provider: the conversations that `previous_response_id` stands for."""

    def __init__(self, key_of: Callable[["Exchange"], tuple[object, ...]]):
        self._key_of = key_of  # what the ids of a reply depend on
        self._kept: dict[str, list[Any]] = {}  # response id → all items up to it
        self._lock = threading.Lock()

    def answer(self, model: Model, exchange: "Exchange", incoming: Incoming) -> Answer:
        """Answer one request; the outcome is noted in the exchange.

        Any exception of the model except the kit's own becomes a 500 marked not to be retried.
        """
        fault, endpoint = exchange.fault or Fault(), openai_endpoint(incoming.path) or ""
        violation, body = _transport(incoming)
        if violation is None and (answer := fault.answer(exchange.request_id)):
            return _as_openai(answer)
        violation = violation or first_openai_violation(OPENAI_ENDPOINTS[endpoint], self._checked(body))
        violation = violation or self._unknown_response(body)
        if violation:
            exchange.violation = violation
            return _error(exchange, violation)
        chat = endpoint == "/v1/chat/completions"
        earlier = self._kept.get(body.get("previous_response_id") or "", [])
        converted = request_from("openai_chat", body) if chat else responses_request_from(body, earlier)
        try:
            message, raw_inputs = self._message(model, exchange, converted, fault)
        except CourseKitError:
            raise
        except Exception as error:
            text = f"The model behind the mock raised {type(error).__name__}: {error}"
            return _error(
                exchange, Violation("model-raised", 500, "server_error", "", text), {"x-should-retry": "false"}
            )
        exchange.reply = message
        if chat:
            reply = chat_reply_to(message, created=CREATED, raw_inputs=raw_inputs, request=body).value
            reply["id"] = "chatcmpl-" + message["id"].partition("_")[2]
        else:
            reply = responses_reply_to(message, created=CREATED, raw_inputs=raw_inputs, request=body).value
            self._keep(body, earlier, reply)
        return _as_openai(fault.on_answer(_delivered(exchange, chat, body, reply), bool(body.get("stream"))))

    def _message(
        self, model: Model, exchange: "Exchange", converted: Converted, fault: Fault
    ) -> tuple[dict[str, Any], dict[int, str]]:
        request = request_to("anthropic", {"max_tokens": DEFAULT_LIMIT, **converted.value}).value
        key = self._key_of(exchange)
        draft, prompts = reply_with_search(model, request, *key, failure=fault.on_search())
        exchange.reasons = draft.reasons
        named = [
            {"id": make_id("call_", *key, index), **block} if block["type"] == "tool_use" else block
            for index, block in enumerate(draft.content)
        ]
        draft = Draft(named, draft.reasons, draft.fields)
        read = reduce(add, (CacheUse(count_tokens(prompt)) for prompt in prompts))
        message, raw_inputs = finished(draft, request, read, *key)
        message, cut_inputs = fault.on_message(message)
        return message, raw_inputs | cut_inputs

    def _checked(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as the rules see it: the items behind `previous_response_id` come before its own."""
        earlier = self._kept.get(str(body.get("previous_response_id")), [])
        given = _items(body)
        return {**body, "input": [*earlier, *given]} if earlier and isinstance(given, list) else body

    def _unknown_response(self, body: dict[str, Any]) -> Violation | None:
        id = body.get("previous_response_id")
        if id is None or id in self._kept:
            return None
        words, code = f"Previous response with id '{id}' not found.", "previous_response_not_found"
        return Violation("previous-response-known", 400, "invalid_request_error", "previous_response_id", words, code)

    def _keep(self, body: dict[str, Any], earlier: list[Any], reply: dict[str, Any]) -> None:
        if body.get("store") is not False:
            with self._lock:
                self._kept[reply["id"]] = [*earlier, *_items(body), *reply["output"]]


def _items(body: Mapping[str, Any]) -> Any:
    given = body.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _transport(incoming: Incoming) -> tuple[Violation | None, dict[str, Any]]:
    """What is wrong before there is a body to look at (status and type as documented, words in the API's manner)."""

    def refused(rule: str, status: int, words: str, code: str | None = None) -> tuple[Violation, dict[str, Any]]:
        return Violation(rule, status, "invalid_request_error", "", words, code), {}

    if len(incoming.body) > MAX_BODY_BYTES:
        return refused("body-size", 413, "The request is too large.")
    if incoming.method != "POST":
        return refused(
            "method-fits", 405, f"Not allowed to {incoming.method} on {incoming.path}.", "method_not_supported"
        )
    scheme, _, token = incoming.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        return refused("key-given", 401, "You didn't provide an API key.")
    try:
        body = from_json(incoming.body, allow_inf_nan=False)
    except ValueError as error:
        return refused("body-is-json", 400, f"We could not parse the JSON body of your request: {error}")
    return (None, body) if isinstance(body, dict) else refused("body-is-json", 400, "The body must be a JSON object.")


# Answers.


def _delivered(exchange: "Exchange", chat: bool, body: Mapping[str, Any], reply: dict[str, Any]) -> Answer:
    headers = {"x-request-id": exchange.request_id}
    if not body.get("stream"):
        return Answer(
            200, (compact(reply).encode("utf-8", "replace"),), {"content-type": "application/json", **headers}
        )
    wanted = body.get("stream_options") or {}
    if chat:
        chunks = chat_chunks(reply, seed=exchange.digest, usage=bool(wanted.get("include_usage")))
    else:
        hidden = wanted.get("include_obfuscation") is not False
        chunks = responses_events(reply, seed=exchange.digest, obfuscation=hidden)
    return Answer(200, chunks, {"content-type": "text/event-stream; charset=utf-8", **headers})


def _envelope(status: int, message: str, type: str | None, param: str | None, code: str | None) -> bytes:
    kind = type or {429: "requests"}.get(status, "server_error" if status >= 500 else "invalid_request_error")
    code = code or {429: "rate_limit_exceeded"}.get(status)
    return compact({"error": {"message": message, "type": kind, "param": param or None, "code": code}}).encode()


def _error(exchange: "Exchange", found: Violation, headers: Mapping[str, str] | None = None) -> Answer:
    body = _envelope(found.status, found.message, found.type, found.path, found.error_code)
    told = {"content-type": "application/json", "x-request-id": exchange.request_id, **(headers or {})}
    return Answer(found.status, (body,), told)


def _as_openai(answer: Answer) -> Answer:
    """An answer that a fault made for the Messages API, in OpenAI's envelope; OpenAI has 503, not 529."""
    if answer.status >= 400:
        error = json.loads(answer.body)["error"]
        status = 503 if answer.status == 529 else answer.status
        kept = {name: value for name, value in answer.headers.items() if name != "request-id"}
        told = {**kept, "x-request-id": answer.headers.get("request-id") or answer.headers.get("x-request-id", "")}
        return replace(
            answer, status=status, chunks=(_envelope(status, error["message"], None, None, None),), headers=told
        )
    if answer.chunks and answer.chunks[-1].startswith(b"event: error\n"):
        error = json.loads(answer.chunks[-1].partition(b"data: ")[2])["error"]
        said = {"code": "server_error", "message": error["message"], "param": None}
        event = (
            b"event: error\ndata: " + compact({"type": "error", **said, "sequence_number": len(answer.chunks)}).encode()
        )
        if not answer.chunks[0].startswith(b"event: "):  # Chat Completions names no events
            event = b"data: " + _envelope(500, error["message"], None, None, None)
        return replace(answer, chunks=(*answer.chunks[:-1], event + b"\n\n"))
    return answer


# Clients of the real SDK, in this process.


def openai_client(handle: Handle, **options: Any) -> Any:
    """An `openai.OpenAI` client that talks to this application without a network."""
    openai, transport = _sdk(handle)
    http_client = openai.DefaultHttpxClient(transport=transport)
    return openai.OpenAI(**{"api_key": "not-a-key", "base_url": _ADDRESS, "http_client": http_client, **options})


def async_openai_client(handle: Handle, **options: Any) -> Any:
    """The same as an `openai.AsyncOpenAI` client."""
    openai, transport = _sdk(handle)
    http_client = openai.DefaultAsyncHttpxClient(transport=transport)
    return openai.AsyncOpenAI(**{"api_key": "not-a-key", "base_url": _ADDRESS, "http_client": http_client, **options})


_ADDRESS = "http://127.0.0.1/v1"  # never reached: the transport answers


def _sdk(handle: Handle) -> tuple[Any, Any]:
    try:
        import openai
    except ImportError:
        raise SetupError('The `openai` SDK is not installed: run `pip install "course-kit[providers]"`.') from None
    from .transport import Transport

    return openai, Transport(handle, openai.OpenAIError)

"""The mock provider behind the real SDK: every reply is of the SDK's own types, and every way in gives the same."""

import asyncio
import http.client
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types.shared import ErrorResponse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from course_kit.contract.examples import ASK, HAIKU, NO_FORCING, OLD, OPUS, RESULT, TEXT, WEATHER, assistant, body, user
from course_kit.contract.examples import EXAMPLES as CASES
from course_kit.contract.models import MODELS
from course_kit.contract.protocol import check_request
from course_kit.contract.streaming import message_from_events
from course_kit.mock import faults
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import Draft, Scripted, call, draft
from course_kit.mock.wire import MAX_BODY_BYTES, Answer

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
WORDS = "It is on its way. ✅"
CITY = call("get_weather", city="Oslo")


# ── Tools of the tests ───────────────────────────────────────────────────────────────────────────────────────────────


def validated(value: Any) -> Any:
    """The same value, of which every part is a type of the SDK and holds no field that this type does not know."""
    for path, model in models_in(value):
        assert not model.model_extra, f"{path}: {type(model).__name__} knows no {sorted(model.model_extra)}"
        type(model).model_validate_json(model.to_json(), strict=True)
    return value


def models_in(value: Any, path: str = "reply") -> Iterator[tuple[str, anthropic.BaseModel]]:
    if isinstance(value, anthropic.BaseModel):
        yield path, value
        for name in type(value).model_fields:
            yield from models_in(getattr(value, name, None), f"{path}.{name}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from models_in(part, f"{path}.{index}")


def plain(message: Any) -> dict[str, Any]:
    """A message as JSON. `parsed_output` is the SDK's own addition."""
    value = (
        message.to_dict(mode="json") if isinstance(message, anthropic.BaseModel) else json.loads(json.dumps(message))
    )
    value.pop("parsed_output", None)
    for block in value["content"]:
        block.pop("parsed_output", None)
    return value


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    content = [{key: part for key, part in block.items() if key != "id"} for block in message["content"]]
    return {**message, "id": None, "content": content}


def post(provider: MockProvider, request: Any, path: str = "/v1/messages", headers: dict[str, str] = HEADERS) -> Answer:
    raw = request if isinstance(request, bytes) else json.dumps(request).encode()
    return provider.handle("POST", path, headers, raw)


def error_of(answer: Answer) -> str:
    """The words of an error answer, whose envelope must be right."""
    envelope = json.loads(answer.body)
    if answer.status != 413:  # `request_too_large` is missing from the SDK's own union of errors
        validated(ErrorResponse.model_validate_json(answer.body))
    else:
        assert envelope.keys() == {"type", "error", "request_id"} and envelope["error"].keys() == {"type", "message"}
    assert envelope["type"] == "error" and envelope["request_id"] == answer.headers["request-id"]
    assert answer.headers["content-type"] == "application/json"
    return envelope["error"]["message"]


# ── The same reply by every way ──────────────────────────────────────────────────────────────────────────────────────


def created(client: Anthropic, request: dict[str, Any]) -> Any:
    return client.messages.create(**request)


def created_in_beta(client: Anthropic, request: dict[str, Any]) -> Any:
    return client.beta.messages.create(**request)


def streamed(client: Anthropic, request: dict[str, Any]) -> Any:
    with client.messages.stream(**request) as stream:
        return stream.get_final_message()


def streamed_in_beta(client: Anthropic, request: dict[str, Any]) -> Any:
    with client.beta.messages.stream(**request) as stream:
        return stream.get_final_message()


def read_by_event(client: Anthropic, request: dict[str, Any]) -> Any:
    events = [validated(event).to_dict(mode="json") for event in client.messages.create(**request, stream=True)]
    return message_from_events(events)


SYNC = [created, created_in_beta, streamed, streamed_in_beta, read_by_event]


async def created_async(client: AsyncAnthropic, request: dict[str, Any]) -> Any:
    return await client.messages.create(**request)


async def streamed_async(client: AsyncAnthropic, request: dict[str, Any]) -> Any:
    async with client.messages.stream(**request) as stream:
        return await stream.get_final_message()


def thinks(**fields: Any) -> dict[str, Any]:
    return body(model=NO_FORCING, **fields)


# name → (step of a script, request, faults, stop reason)
REPLIES: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "text": (WORDS, body(), None, "end_turn"),
    "call": (["One moment.", CITY], body(), None, "tool_use"),
    "call_without_inputs": (call("get_weather"), body(), None, "tool_use"),
    "two_calls": ([CITY, call("get_weather", city="天")], body(), None, "tool_use"),
    "empty": ("", body(), None, "end_turn"),
    "thinking_omitted": ([CITY], thinks(), None, "tool_use"),
    "thinking_summarized": (WORDS, thinks(thinking={"type": "adaptive", "display": "summarized"}), None, "end_turn"),
    "thinking_by_budget": (
        WORDS,
        body(model=OLD, thinking={"type": "enabled", "budget_tokens": 1024}),
        None,
        "end_turn",
    ),
    "own_thinking": ([{"type": "thinking", "thinking": "Hm."}, CITY], body(), None, "tool_use"),
    "redacted_thinking": ([{"type": "redacted_thinking", "data": "eA=="}, WORDS], body(), None, "end_turn"),
    "refusal": (WORDS, body(), faults.refusal("cyber"), "refusal"),
    "text_cut": (WORDS * 20, body(max_tokens=30), None, "max_tokens"),
    "call_cut": (call("get_weather", city="Oslo" * 80), body(max_tokens=60), None, "max_tokens"),
    "thinking_cut": (WORDS, thinks(max_tokens=5), None, "max_tokens"),
    "call_cut_by_fault": (["So.", CITY], body(), faults.max_tokens(0.5), "max_tokens"),
    "stop_sequence": ("One. STOP Two.", body(stop_sequences=["STOP", "Two"]), None, "stop_sequence"),
    "diagnostics": (WORDS, body(diagnostics={"previous_message_id": "msg_gone"}), None, "end_turn"),
    "diagnostics_first": (WORDS, body(diagnostics={"previous_message_id": None}), None, "end_turn"),
    "cached": (WORDS, body(system="x" * 9000, cache_control={"type": "ephemeral"}), None, "end_turn"),
    "fields_of_its_own": (
        {"content": WORDS, "stop_reason": "pause_turn", "usage": {"service_tier": "batch"}},
        body(),
        None,
        "pause_turn",
    ),
}


def provider_of(name: str) -> MockProvider:
    step, _, fault, _ = REPLIES[name]
    return MockProvider(lambda request: step, faults=fault)


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[str], Anthropic]]:
    """Over HTTP: one server for the module, that stands for whichever provider is asked for."""
    chosen: dict[str, MockProvider] = {}

    def handle(*request: Any) -> Answer:
        return chosen["now"].handle(*request)

    from course_kit.mock.server import serve_in_thread

    with serve_in_thread(handle) as server:
        with Anthropic(api_key="k", base_url=server.url, max_retries=0, _strict_response_validation=True) as client:

            def choose(name: str) -> Anthropic:
                chosen["now"] = provider_of(name)
                return client

            yield choose


@pytest.mark.parametrize("name", REPLIES)
def test_every_way_gives_the_same_valid_reply(name: str, served: Callable[[str], Anthropic]) -> None:
    _, request, _, stop_reason = REPLIES[name]
    replies, strict = {}, {"_strict_response_validation": True, "max_retries": 0}
    for way in SYNC:
        replies[way.__name__] = plain(validated(way(provider_of(name).client(**strict), request)))
        replies[f"{way.__name__} over HTTP"] = plain(validated(way(served(name), request)))
    for way in (created_async, streamed_async):
        replies[way.__name__] = plain(validated(asyncio.run(way(provider_of(name).async_client(**strict), request))))
    reply = replies["created"]
    assert reply["stop_reason"] == stop_reason
    # The bytes of the request are the same, so the ids are too.
    assert [other for other, value in replies.items() if other.startswith("created") and value != reply] == []
    if stop_reason == "max_tokens" and name != "text_cut":
        # A cut call shows what was written in its fragments; `read_by_event` keeps that text.
        replies = {other: value for other, value in replies.items() if not other.startswith("read_by_event")}
    assert [other for other, value in replies.items() if without_ids(value) != without_ids(reply)] == []


@pytest.mark.parametrize("name", REPLIES)
def test_a_strict_reader_of_bytes_agrees(name: str) -> None:
    """`construct` forgives what JSON schema validation would not; so the raw body is validated once more."""
    answer = post(provider_of(name), REPLIES[name][1])
    raw = json.loads(answer.body)
    message = anthropic.types.Message.model_validate_json(answer.body)
    assert plain(validated(message)) == raw
    beta = anthropic.types.beta.BetaMessage.model_validate_json(answer.body)
    assert plain(validated(beta)) == raw


def test_the_validator_fails_on_what_the_sdk_does_not_know() -> None:
    answer = json.loads(post(MockProvider([WORDS]), body()).body)
    for change in ({"color": 1}, {"usage": {**answer["usage"], "color": 1}}, {"content": [{**TEXT, "color": 1}]}):
        with pytest.raises(AssertionError, match="knows no"):
            validated(anthropic.types.Message.model_validate_json(json.dumps({**answer, **change})))


def test_a_recorded_reply_plays_again_as_the_sdks_object() -> None:
    first = MockProvider([["So.", CITY]]).client().messages.create(**body())
    again = MockProvider([first, list(first.content)]).client()
    assert again.messages.create(**body()).to_dict() == first.to_dict()
    assert again.messages.create(**body()).content == first.content


def test_half_a_surrogate_pair_is_sent_as_a_question_mark() -> None:
    client = MockProvider(lambda request: ["a\ud83d", call("get_weather", city="\ude00")]).client()
    for way in (created, streamed):
        first, second = way(client, body()).content
        assert (first.text, second.input) == ("a?", {"city": "?"})


# ── Ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ids_of(seed: int, request: dict[str, Any]) -> list[str]:
    answer = post(MockProvider(lambda request: [CITY, CITY], seed=seed), request)
    message = json.loads(answer.body)
    return [answer.headers["request-id"], message["id"], *(block["id"] for block in message["content"])]


def test_ids_follow_from_seed_and_request() -> None:
    assert ids_of(0, body()) == ids_of(0, body())
    assert set(ids_of(0, body())).isdisjoint(ids_of(1, body()))
    assert set(ids_of(0, body())[1:]).isdisjoint(ids_of(0, body(max_tokens=9))[1:])
    assert [id.partition("_")[0] for id in ids_of(0, body())] == ["req", "msg", "toolu", "toolu"]


def test_tool_ids_are_unique_within_a_conversation() -> None:
    provider = MockProvider(lambda request: [CITY, CITY])
    messages, seen = [ASK], []
    for _ in range(5):
        reply = provider.client().messages.create(**body(*messages))
        ids = [block.id for block in reply.content]
        seen += ids
        messages.append(assistant(*(block.to_dict() for block in reply.content)))
        messages.append(user(*({**RESULT, "tool_use_id": id} for id in ids)))
    assert len(set(seen)) == len(seen) == 10
    assert all(exchange.violation is None for exchange in provider.requests)


@pytest.mark.parametrize("way", [created, streamed])
def test_a_request_answered_once_more_gets_new_ids(way: Callable[..., Any]) -> None:
    """Other words under the ids of an earlier message would be taken for that message."""

    def ids(seed: int = 0, **options: Any) -> list[str]:
        client = MockProvider(lambda request: [CITY, CITY], seed=seed, **options).client()
        replies = [way(client, body()) for _ in range(3)]
        return [id for reply in replies for id in (reply.id, *(block.id for block in reply.content))]

    assert len(set(ids())) == 9
    assert ids() == ids() and ids()[:3] == ids(faults={1: faults.status(529, retry_after=0.001)})[:3]


# ── Headers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


COUNTED = ("requests", "tokens", "input-tokens", "output-tokens")
ALWAYS = {"request-id", "content-type", "anthropic-organization-id"} | {
    f"anthropic-ratelimit-{name}-{part}" for name in COUNTED for part in ("limit", "remaining", "reset")
}


@pytest.mark.parametrize(
    ("request_body", "path", "fault", "status"),
    [
        (body(), "/v1/messages", None, 200),
        (body(stream=True), "/v1/messages", None, 200),
        (body(model="claude-none"), "/v1/messages", None, 404),
        (body(), "/v1/messages", faults.status(429, retry_after=2), 429),
        (body(), "/v1/messages", faults.status(529), 529),
        (body(), "/v1/messages", faults.error_event(), 529),
        ({"requests": []}, "/v1/messages/batches", None, 400),
        ({}, "/v1/messages/batches/msgbatch_none/cancel", None, 404),
    ],
)
def test_every_answer_carries_the_headers_of_the_api(request_body: Any, path: str, fault: Any, status: int) -> None:
    answer = post(MockProvider(lambda request: WORDS, faults=fault), request_body, path)
    assert answer.status == status and answer.headers.keys() - {"retry-after"} == ALWAYS
    assert (answer.headers["anthropic-ratelimit-requests-remaining"] == "0") == (status == 429)
    assert answer.headers.get("retry-after") == ("2" if status == 429 else None)


# ── Counting and models ──────────────────────────────────────────────────────────────────────────────────────────────

CACHED = {"type": "ephemeral"}


@pytest.mark.parametrize("beta", [False, True], ids=["plain", "beta"])
def test_count_tokens_is_what_usage_adds_up_to(beta: bool) -> None:
    client = MockProvider(lambda request: WORDS).client(_strict_response_validation=True)
    messages = client.beta.messages if beta else client.messages
    for fields in (
        {},
        {"system": "x" * 9000, "cache_control": CACHED},
        {"tools": [{**WEATHER, "cache_control": CACHED}]},
    ):
        request = body(**fields)
        counted = validated(messages.count_tokens(**{k: v for k, v in request.items() if k != "max_tokens"}))
        for _ in range(2):
            usage = messages.create(**request).usage
            cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens
            assert usage.input_tokens + cached == counted.input_tokens


def test_a_conversation_reads_what_it_wrote() -> None:
    client = MockProvider(lambda request: WORDS).client()
    messages: list[Any] = [{"role": "user", "content": "x" * 4000}]
    used = []
    for _ in range(3):
        reply = client.messages.create(**body(*messages, cache_control=CACHED))
        used.append((reply.usage.cache_read_input_tokens, reply.usage.cache_creation_input_tokens))
        messages += [assistant(*(block.to_dict() for block in reply.content)), ASK]
    assert used[0][0] == 0 and [read for read, _ in used[1:]] == [used[0][1], used[0][1] + used[1][1]]


def test_warming_the_cache_writes_no_word() -> None:
    provider = MockProvider([])
    client = provider.client(_strict_response_validation=True)
    reply = validated(client.messages.create(**body(max_tokens=0, system="x" * 9000, cache_control=CACHED)))
    assert (reply.content, reply.stop_reason, reply.usage.output_tokens) == ([], "max_tokens", 0)
    assert reply.usage.cache_creation_input_tokens > 2000


@pytest.mark.parametrize("beta", [False, True], ids=["plain", "beta"])
def test_models(beta: bool) -> None:
    client = MockProvider([]).client(_strict_response_validation=True)
    models = client.beta.models if beta else client.models
    assert [model.id for model in models.list()] == list(MODELS)
    assert [validated(model).id for model in models.list(limit=3)] == list(MODELS)
    page = validated(models.list(limit=4, after_id=list(MODELS)[1]))
    assert [model.id for model in page.data] == list(MODELS)[2:6]
    assert (page.has_more, page.first_id, page.last_id) == (True, list(MODELS)[2], list(MODELS)[5])
    back = models.list(limit=2, before_id=list(MODELS)[5])
    assert ([model.id for model in back.data], back.has_more) == (list(MODELS)[3:5], True)
    assert [model.id for model in models.list(limit=2, before_id=list(MODELS)[3])] == [
        list(MODELS)[i] for i in (1, 2, 0)
    ]  # the SDK goes on backwards, page by page
    one = validated(models.retrieve("claude-haiku-4-5"))
    assert (one.id, one.display_name, one.lifecycle) == ("claude-haiku-4-5", "Claude Haiku 4.5", "active")


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/v1/models/gpt-5", 404, "model: gpt-5"),
        ("/v1/models/a/b", 404, "model: a/b"),
        ("/v1/models/claude-%6Fpus-5", 200, None),
        ("/v1/models/", 200, None),
        ("/v1/models?limit=0", 400, "limit: Input should be a whole number from 1 to 1000"),
        ("/v1/models?limit=1001", 400, "limit: Input should be a whole number from 1 to 1000"),
        ("/v1/models?limit=" + "9" * 5000, 400, "limit: Input should be a whole number from 1 to 1000"),
        ("/v1/models?limit=x", 400, "limit: Input should be a whole number from 1 to 1000"),
        ("/v1/models?after_id=gpt-5", 400, "after_id: no model has this id"),
        ("/v1/models?before_id=gpt-5", 400, "before_id: no model has this id"),
        ("/v1/models?" + "&".join(["a=b"] * 50), 200, None),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) and value.startswith("/") else "",
)
def test_the_catalogue_by_address(path: str, status: int, words: str | None) -> None:
    answer = MockProvider([]).handle("GET", path, HEADERS, b"")
    assert answer.status == status
    assert words is None or error_of(answer) == words


def test_a_fault_meets_every_endpoint() -> None:
    provider = MockProvider([], faults=faults.status(529))
    assert provider.handle("GET", "/v1/models", HEADERS, b"").status == 529
    counted = {key: value for key, value in body().items() if key != "max_tokens"}
    assert post(provider, counted, "/v1/messages/count_tokens").status == 529


# ── Diagnostics ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"model": HAIKU}, "model_changed"),
        ({"tools": [{**WEATHER, "description": "Other."}]}, "tools_changed"),
        ({"system": "Be short."}, "system_changed"),
        ({"messages": [{"role": "user", "content": "Other."}]}, "messages_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
    ],
    ids=["same", "model", "tools", "system", "messages", "settings"],
)
def test_diagnostics_name_the_first_difference(change: dict[str, Any], reason: str | None) -> None:
    client = MockProvider(lambda request: WORDS).client(_strict_response_validation=True)
    first = client.messages.create(**body(system="Be kind.", diagnostics={"previous_message_id": None}))
    client.messages.create(**body({"role": "user", "content": "Something else in between."}))
    request = {**body(system="Be kind."), **change, "diagnostics": {"previous_message_id": first.id}}
    for way in (created, created_in_beta, streamed):
        second = validated(way(client, request))
        found = second.diagnostics and second.diagnostics.cache_miss_reason
        assert (found and found.type) == reason
    assert first.diagnostics is None


# ── Thinking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"model": NO_FORCING}, [("thinking", ""), ("tool_use", None)]),
        (
            {"model": NO_FORCING, "thinking": {"type": "adaptive", "display": "summarized"}},
            [("thinking", "The next step follows from the request."), ("tool_use", None)],
        ),
        (
            {"model": NO_FORCING, "thinking": {"type": "adaptive", "display": "omitted"}},
            [("thinking", ""), ("tool_use", None)],
        ),
        ({"model": OPUS}, [("tool_use", None)]),
        ({"model": OPUS, "thinking": {"type": "adaptive"}}, [("thinking", ""), ("tool_use", None)]),
        ({"model": OPUS, "thinking": {"type": "disabled"}}, [("tool_use", None)]),
        ({"model": HAIKU, "tool_choice": {"type": "any"}}, [("tool_use", None)]),
        ({"model": HAIKU, "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}}, [("tool_use", None)]),
    ],
    ids=["always", "summarized", "omitted", "not_asked", "asked", "disabled", "forced", "forced_and_asked"],
)
def test_who_sends_thinking(fields: dict[str, Any], shown: list[Any]) -> None:
    content = MockProvider([CITY]).client().messages.create(**body(**fields)).content
    assert [(block.type, getattr(block, "thinking", None)) for block in content] == shown
    assert all(block.signature for block in content if block.type == "thinking")


def thought(text: str = "Hm.") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text}


def second_turn(change: Callable[[list[Any]], list[Any]], **settings: Any) -> Answer:
    """One round trip whose assistant turn goes back changed."""
    provider = MockProvider([[thought("One."), CITY, thought("Two."), CITY], WORDS], **settings)
    content = json.loads(post(provider, body()).body)["content"]
    results = [{**RESULT, "tool_use_id": block["id"]} for block in content if block["type"] == "tool_use"]
    return post(provider, body(ASK, assistant(*change(content)), user(*results)))


CHANGED_THINKING = {
    "edited": lambda content: [{**content[0], "thinking": "Other."}, *content[1:]],
    "dropped": lambda content: content[1:],
    "all_dropped": lambda content: [block for block in content if block["type"] != "thinking"],
    "second_dropped": lambda content: [*content[:2], content[3]],
    "swapped": lambda content: [content[2], content[1], content[0], content[3]],
    "replaced": lambda content: [{**content[0], "signature": "bm90IG91cnM="}, *content[1:]],
}


def test_thinking_goes_back_unchanged() -> None:
    assert second_turn(lambda content: content).status == 200


@pytest.mark.parametrize("name", CHANGED_THINKING)
def test_changed_thinking_is_refused(name: str) -> None:
    answer = second_turn(CHANGED_THINKING[name])
    assert answer.status == 400
    assert "blocks in the latest assistant message cannot be modified" in error_of(answer)


def test_the_rule_about_dropped_thinking_is_a_setting() -> None:
    dropped = CHANGED_THINKING["dropped"]
    assert second_turn(dropped, strictness={"thinking-kept": True}).status == 400
    assert second_turn(dropped, strictness={"thinking-kept": False}).status == 200
    assert second_turn(dropped, strictness={"no-prefill": False}).status == 400
    assert second_turn(dropped, strictness="all").status == 400
    assert second_turn(dropped, strictness="schema").status == 200
    with pytest.raises(ValueError, match="thinking-keept"):
        MockProvider([], strictness={"thinking-keept": False})


def test_thinking_of_an_earlier_turn_may_go() -> None:
    provider = MockProvider([[thought(), CITY], WORDS])
    content = json.loads(post(provider, body()).body)["content"]
    history = [ASK, assistant(content[1]), user({**RESULT, "tool_use_id": content[1]["id"]}), assistant(TEXT), ASK]
    assert post(provider, body(*history)).status == 200


def test_thinking_that_another_provider_sent_is_unknown_here() -> None:
    content = json.loads(post(MockProvider([[thought(), CITY]]), body()).body)["content"]
    turn = assistant(content[1]), user({**RESULT, "tool_use_id": content[1]["id"]})
    assert post(MockProvider([WORDS]), body(ASK, *turn)).status == 200


def test_thinking_is_refused_in_another_conversation() -> None:
    provider = MockProvider(lambda request: CITY)
    content = json.loads(post(provider, thinks()).body)["content"]
    turn = assistant(*content), user({**RESULT, "tool_use_id": content[1]["id"]})
    assert post(provider, {**thinks(), "messages": [ASK, *turn]}).status == 200
    moved = post(provider, {**thinks(), "messages": [ASK, *turn], "system": "Be short."})
    assert "bound to a different conversation" in error_of(moved)
    marked = {**ASK, "content": [{"type": "text", "text": ASK["content"], "cache_control": CACHED}]}
    assert post(provider, {**thinks(), "messages": [marked, *turn]}).status == 200


def test_thinking_of_a_resumed_turn_fits_its_conversation() -> None:
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    found = {"type": "tool_search_tool_search_result", "tool_references": []}
    paused = [
        {"type": "server_tool_use", "id": "srvtoolu_A", "name": search["name"], "input": {"query": "x"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_A", "content": found},
    ]
    provider = MockProvider(lambda request: CITY)
    request = {**thinks(), "tools": [search, WEATHER], "messages": [ASK, assistant(*paused)]}
    content = json.loads(post(provider, request).body)["content"]
    results = user({**RESULT, "tool_use_id": content[-1]["id"]})
    again = {**request, "messages": [ASK, assistant(*paused), assistant(*content), results]}
    assert post(provider, again).status == 200


# ── The turn's end ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_fr10_a_call_without_inputs_streams_one_empty_fragment() -> None:
    client = MockProvider(lambda request: call("get_weather")).client()
    events = list(client.messages.create(**body(), stream=True))
    fragments = [event.delta.partial_json for event in events if event.type == "content_block_delta"]
    assert fragments == [""]
    assert created(client, body()).content[0].input == streamed(client, body()).content[0].input == {}


def test_fr10_the_first_fragment_of_every_call_is_empty() -> None:
    events = list(MockProvider([CITY]).client().messages.create(**body(), stream=True))
    fragments = [event.delta.partial_json for event in events if event.type == "content_block_delta"]
    assert fragments[0] == "" and json.loads("".join(fragments)) == {"city": "Oslo"}


def test_fr11_max_tokens_cuts_inside_the_call() -> None:
    long = call("write", path="a.txt", body="hello " * 100)
    client = MockProvider(lambda request: long).client()
    cut = created(client, body(max_tokens=60))
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 60)
    assert cut.content[0].input == {"path": "a.txt"}  # looks whole
    events = list(client.messages.create(**body(max_tokens=60), stream=True))
    written = "".join(event.delta.partial_json for event in events if event.type == "content_block_delta")
    assert written.startswith('{"path": "a.txt", "body": "hello') and not written.endswith('"}')


@pytest.mark.parametrize("max_tokens", range(1, 80, 7))
def test_no_turn_is_longer_than_max_tokens(max_tokens: int) -> None:
    provider = MockProvider(lambda request: [WORDS, CITY, call("get_weather", city="x" * 80)])
    for request in (body(max_tokens=max_tokens), thinks(max_tokens=max_tokens)):
        reply = validated(provider.client(_strict_response_validation=True).messages.create(**request))
        usage = reply.usage
        assert usage.output_tokens_details.thinking_tokens <= usage.output_tokens <= max_tokens
        assert reply.stop_reason == "max_tokens"


def test_a_turn_that_fits_is_not_cut() -> None:
    client = MockProvider(lambda request: [WORDS, CITY]).client()
    size = created(client, body()).usage.output_tokens
    assert created(client, body(max_tokens=size)).stop_reason == "tool_use"
    assert created(client, body(max_tokens=size - 1)).stop_reason == "max_tokens"


@pytest.mark.parametrize(
    ("words", "sequences", "text", "sequence"),
    [
        ("One. STOP Two.", ["STOP"], ["One. "], "STOP"),
        ("One. STOP Two.", ["Two", "STOP"], ["One. "], "STOP"),
        ("STOP", ["STOP"], [], "STOP"),
        (["One.", "STOP"], ["STOP"], ["One."], "STOP"),
        ("One.", ["STOP"], ["One."], None),
        ("One.", [""], ["One."], None),
    ],
    ids=["one", "first_of_two", "at_once", "second_block", "absent", "blank"],
)
def test_stop_sequences(words: Any, sequences: list[str], text: list[str], sequence: str | None) -> None:
    for request in (body(stop_sequences=sequences), thinks(stop_sequences=sequences)):
        reply = created(MockProvider([words]).client(), request)
        assert [block.text for block in reply.content if block.type == "text"] == text
        assert (reply.stop_sequence, reply.stop_reason == "stop_sequence") == (sequence, sequence is not None)
        assert not reply.content or reply.content[-1].type == "text"


def test_fr13_odd_chunks_say_the_same() -> None:
    whole = plain(streamed(MockProvider([WORDS]).client(), body()))
    for size in (1, 3, 7):
        assert plain(streamed(MockProvider([WORDS], faults=faults.chunks(size)).client(), body())) == whole


# ── Bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────

GOOD = json.dumps(body()).encode()
BAD: dict[str, tuple[str, str, dict[str, str], bytes, int]] = {
    "not_json": ("POST", "/v1/messages", HEADERS, b"{", 400),
    "empty": ("POST", "/v1/messages", HEADERS, b"", 400),
    "nan": ("POST", "/v1/messages", HEADERS, GOOD.replace(b"2048", b"NaN"), 400),
    "infinite": ("POST", "/v1/messages", HEADERS, GOOD.replace(b"2048", b"1e999"), 400),
    "no_object": ("POST", "/v1/messages", HEADERS, b"[1]", 400),
    "not_utf8": ("POST", "/v1/messages", HEADERS, GOOD.replace(b"Oslo", b"\xff\xfe"), 400),
    "half_a_pair": ("POST", "/v1/messages", HEADERS, GOOD.replace(b"Oslo", rb"\ud800"), 400),
    "brackets": ("POST", "/v1/messages", HEADERS, b"[" * 100_000, 400),
    "objects": ("POST", "/v1/messages", HEADERS, b'{"a":' * 100_000, 400),
    "deep_schema": (
        "POST",
        "/v1/messages",
        HEADERS,
        GOOD.replace(b'"Weather in a city."', b"[" * 9000 + b"]" * 9000),
        400,
    ),
    "too_large": ("POST", "/v1/messages", HEADERS, b" " * (MAX_BODY_BYTES + 1), 413),
    "no_path": ("POST", "/", HEADERS, GOOD, 404),
    "doubled_path": ("POST", "/v1/v1/messages", HEADERS, GOOD, 404),
    "odd_path": ("POST", "/v1/mess\u00e4ges/%00/../..", HEADERS, GOOD, 404),
    "get": ("GET", "/v1/messages", HEADERS, b"", 405),
    "delete": ("DELETE", "/v1/models/claude-opus-5", HEADERS, b"", 405),
    "post_models": ("POST", "/v1/models", HEADERS, GOOD, 405),
    "no_key": ("POST", "/v1/messages", {"anthropic-version": "2026-10-21"}, GOOD, 401),
    "blank_key": ("POST", "/v1/messages", {**HEADERS, "x-api-key": " "}, GOOD, 401),
    "no_version": ("POST", "/v1/messages", {"x-api-key": "k"}, GOOD, 400),
    "odd_version": ("POST", "/v1/messages", {**HEADERS, "anthropic-version": "x" * 500}, GOOD, 400),
    "unknown_model": ("POST", "/v1/messages", HEADERS, GOOD.replace(OPUS.encode(), b"gpt-5"), 404),
    "unknown_field": ("POST", "/v1/messages", HEADERS, GOOD.replace(b'"max_tokens"', b'"max_t": 1, "max_tokens"'), 400),
    "count_with_max_tokens": ("POST", "/v1/messages/count_tokens", HEADERS, GOOD, 400),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("strictness", ["default", "schema"])
def test_bad_input_gets_its_status_and_the_envelope(name: str, strictness: str) -> None:
    method, path, headers, raw, status = BAD[name]
    provider = MockProvider(lambda request: WORDS, strictness=strictness)
    answer = provider.handle(method, path, headers, raw)
    if name == "unknown_model" and strictness == "schema":
        assert answer.status == 200  # a model id is no matter of shape
        return
    assert answer.status == status
    words = error_of(answer)
    assert "Traceback" not in words and len(words) < 400
    exchange = provider.requests[-1]
    assert (exchange.status, exchange.request_id) == (status, answer.headers["request-id"])
    assert exchange.violation is not None and exchange.violation.status == status


def test_bad_input_over_http_ends_in_the_same_answers() -> None:
    provider = MockProvider(lambda request: WORDS)
    small = {name: case for name, case in BAD.items() if name not in ("too_large", "odd_path")}
    with provider.serve() as server:
        address = urlsplit(server.url)
        for name, (method, path, headers, raw, status) in small.items():
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
            connection.request(method, path, body=raw, headers=headers)
            response = connection.getresponse()
            envelope = json.loads(response.read())
            connection.close()
            assert (name, response.status, envelope["type"]) == (name, status, "error")
            assert envelope["request_id"] == response.headers["request-id"]


@pytest.mark.parametrize("model", [lambda request: 1 / 0, []], ids=["raises", "script_is_over"])
def test_a_model_that_raises_is_answered_under_the_id_of_its_request(model: Any) -> None:
    provider = MockProvider(model)
    with provider.serve() as server:
        client = Anthropic(api_key="k", base_url=server.url)
        for number in range(2):
            with pytest.raises(anthropic.InternalServerError) as refused:
                client.messages.create(**body())
            assert refused.value.request_id == provider.requests[number].request_id
    assert len(provider.requests) == 2


SEARCH_CALL = {"type": "server_tool_use", "id": "srvtoolu_A", "name": "tool_search_tool_bm25", "input": {"query": "x"}}
SEARCH_RESULT = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_A"}


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (
            body(ASK, assistant(SEARCH_CALL, {**SEARCH_RESULT, "content": {"type": "x", "tool_references": 5}}), ASK),
            400,
        ),
        (body(ASK, assistant(SEARCH_CALL, {**SEARCH_RESULT, "content": {"tool_references": [5]}}), ASK), 400),
        (body(ASK, assistant(SEARCH_CALL, {"type": "web_search_tool_result", "tool_use_id": ["x"]}), ASK), 400),
        (body(ASK, assistant({"type": "web_search_tool_result", "content": ["x", 5], "id": {}}), ASK), 400),
        (body(ASK, assistant({"type": "compaction", "cache_control": 5}), ASK), 200),
        (body(tools=[WEATHER, {"type": "web_search_20250305", "eager_input_streaming": True}], stream=True), 200),
        (body(tools=[WEATHER, {"type": "bash_20250124", "defer_loading": [1], "name": "bash"}]), 200),
        (body(tools=[WEATHER, {"type": "bash_20250124", "defer_loading": True, "name": ["bash"]}]), 400),
        (body(user({"type": "image", "source": 5}, {"type": "document", "source": None, "title": {}})), 200),
        (body(metadata=[1], container={}, service_tier=7, inference_geo=False, speed=[]), 200),
        (body(diagnostics={"previous_message_id": ["x"]}), 200),
        (body(tool_choice={"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True}), 200),
    ],
    ids=[
        "references_no_list",
        "reference_no_object",
        "unhashable_id",
        "unmodelled_block",
        "odd_cache_control",
        "tool_without_a_name",
        "tool_with_odd_fields",
        "tool_with_an_odd_name",
        "media",
        "fields_not_looked_at",
        "odd_diagnostics",
        "forced",
    ],
)
def test_what_is_not_modelled_is_no_crash(request_: dict[str, Any], status: int) -> None:
    for strictness in ("default", "schema"):
        provider = MockProvider(lambda request: [WORDS, CITY], strictness=strictness)
        answer = post(provider, request_)
        by_shape = any(odd in str(request_) for odd in ("tool_references", "['bash']"))
        assert answer.status == (200 if strictness == "schema" and not by_shape else status)
        str(provider.report())


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PATCH", "TRACE", "BREW"])
def test_other_methods_are_refused(method: str) -> None:
    answer = MockProvider([]).handle(method, "/v1/messages", HEADERS, b"")
    assert answer.status == 405 and error_of(answer) == "Method Not Allowed: /v1/messages takes POST."


def test_the_sdk_raises_its_own_errors() -> None:
    client = MockProvider([WORDS]).client(max_retries=0)
    with pytest.raises(anthropic.BadRequestError, match="Field required") as bad:
        client.messages.create(**body(tools=[{"name": "x"}]))
    assert (bad.value.type, bad.value.request_id[:8]) == ("invalid_request_error", "req_011" + bad.value.request_id[7])
    with pytest.raises(anthropic.NotFoundError, match="model: gpt-5"):
        client.messages.create(**body(model="gpt-5"))
    with pytest.raises(anthropic.AuthenticationError, match="x-api-key header is required"):
        client.with_options(default_headers={"authorization": anthropic.Omit()}).messages.create(**body())


def test_an_error_of_the_model_leaves_its_mark() -> None:
    def broken(request: Any) -> str:
        raise KeyError("city")

    provider = MockProvider(broken)
    with pytest.raises(anthropic.InternalServerError, match="KeyError"):
        provider.client(max_retries=2).messages.create(**body())
    assert [exchange.status for exchange in provider.requests] == [500]


def test_the_checks_come_first_and_faults_before_the_model() -> None:
    provider = MockProvider([WORDS], faults=faults.status(529))
    assert post(provider, body(), headers={"x-api-key": "k"}).status == 400
    assert post(provider, body(foo=1)).status == 529
    assert provider.model.position == 0


# A legal request, changed anywhere: refused or answered, never a crash.

CORPUS = [
    case[0] if isinstance(case, tuple) else case
    for pair in CASES.values()
    for case in pair
    if len(json.dumps(case)) < 9000
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**20)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["user", "assistant", "system", "tool_use", "tool_result", "thinking", "tool_reference", "any", "tool"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "id", "name", "content", "x"]), inner)
    ),
    max_leaves=6,
)
KEYS = [
    "type",
    "content",
    "cache_control",
    "tool_use_id",
    "tool_references",
    "id",
    "signature",
    "strict",
    "stream",
    "text",
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a JSON value."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


@st.composite
def mutated(draw: Any) -> dict[str, Any]:
    value = json.loads(json.dumps(draw(st.sampled_from(CORPUS))))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in places(value) if path]))
        parent = value
        for step in path[:-1]:
            parent = parent[step]
        match draw(st.sampled_from(["replace", "delete", "add", "double"])):
            case "replace":
                parent[path[-1]] = draw(JSON)
            case "delete":
                del parent[path[-1]]
            case "add" if isinstance(parent[path[-1]], dict):
                parent[path[-1]][draw(st.sampled_from(KEYS))] = draw(JSON)
            case "double" if isinstance(parent, list):
                parent.insert(path[-1], json.loads(json.dumps(parent[path[-1]])))
        if not value:
            break
    return value


@pytest.mark.parametrize("strictness", ["default", "schema", "all"])
@settings(
    max_examples=int(os.environ.get("COURSE_RUNS", 150)),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(request=mutated(), counting=st.booleans(), streamed=st.booleans())
def test_no_change_of_a_legal_request_is_a_crash(
    strictness: str, request: dict[str, Any], counting: bool, streamed: bool
) -> None:
    provider = MockProvider(lambda request: [WORDS, CITY], strictness=strictness)
    if counting:
        request.pop("max_tokens", None)
    elif streamed:
        request["stream"] = True
    answer = post(provider, request, "/v1/messages/count_tokens" if counting else "/v1/messages")
    assert answer.status in (200, 400, 404) and answer.headers["request-id"].startswith("req_011")
    if answer.status != 200:
        error_of(answer)
    elif not request.get("stream") and not counting:
        validated(anthropic.types.Message.model_validate_json(answer.body))
    assert provider.requests[0].status == answer.status
    str(provider.report())
    check_request(request, strictness=strictness, counting=counting)


# ── Secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────

SECRET = "sk-ant-secret-0123456789"


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "cookie", "proxy-authorization"])
def test_a_key_is_kept_nowhere(header: str) -> None:
    provider = MockProvider([WORDS, call("get_weather")])
    value = f"Bearer {SECRET}" if header == "authorization" else SECRET
    headers = {**HEADERS, header: value}
    answers = [post(provider, request, headers=headers) for request in (body(), body(foo=1), b"{", body())]
    answers.append(post(provider, body(), headers={**headers, "anthropic-version": "x"}))
    shown = [repr(provider.requests), repr(provider), str(provider.report()), repr(vars(provider))]
    shown += [repr(answer) for answer in answers]
    assert not any(SECRET in text for text in shown)
    assert provider.requests[0].headers[header] == "(not kept)"


def test_the_sdks_errors_do_not_show_it_either() -> None:
    provider = MockProvider([])
    with pytest.raises(anthropic.BadRequestError) as caught:
        provider.client(api_key=SECRET).messages.create(**body(tools=[{}]))
    assert SECRET not in str(caught.value) + repr(provider.requests)


# ── The SDK's helpers ────────────────────────────────────────────────────────────────────────────────────────────────


def weather_tool() -> Any:
    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Weather in a city.

        Args:
            city: The city's name.
        """
        return f"4 C in {city}"

    return get_weather


@pytest.mark.parametrize("threads", [True, False], ids=["thread_by_default", "thread_off"])
@pytest.mark.parametrize("is_streamed", [False, True], ids=["plain", "streamed"])
def test_the_sdks_tool_runner_completes(threads: bool, is_streamed: bool) -> None:
    provider = MockProvider(Scripted([CITY, [call("get_weather", city="Lima"), CITY], WORDS]))
    settings = {} if threads else {"thread": False}
    runner = provider.client().beta.messages.tool_runner(
        model=NO_FORCING, max_tokens=900, tools=[weather_tool()], messages=[ASK], stream=is_streamed, **settings
    )
    if is_streamed:
        for stream in runner:
            last = stream.get_final_message()
    else:
        last = runner.until_done()
    assert [block.text for block in last.content if block.type == "text"] == [WORDS]
    refused = [exchange.violation.error_code for exchange in provider.requests if exchange.violation]
    assert refused == (["thread_unsupported_request"] if threads else [])
    answered = [exchange.body for exchange in provider.requests if exchange.reply]
    assert len(answered) == 3 and all("thread" not in request and request["tools"] for request in answered)
    assert len(answered[-1]["messages"]) == 5
    assert provider.report(), str(provider.report())


class Weather(BaseModel):
    city: str
    degrees: int


def test_messages_parse_reads_a_pydantic_model() -> None:
    text = json.dumps({"city": "Oslo", "degrees": 4})
    provider = MockProvider(lambda request: text)
    client = provider.client(_strict_response_validation=True)
    parsed = client.messages.parse(model=OPUS, max_tokens=99, messages=[ASK], output_format=Weather)
    assert parsed.parsed_output == Weather(city="Oslo", degrees=4)
    assert provider.requests[0].body["output_config"]["format"]["type"] == "json_schema"
    with client.messages.stream(model=OPUS, max_tokens=99, messages=[ASK], output_format=Weather) as stream:
        assert stream.get_final_message().parsed_output == Weather(city="Oslo", degrees=4)


# ── Many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_200_requests_from_8_threads_are_all_kept() -> None:
    provider = MockProvider(Scripted([f"Reply {i}." for i in range(200)]))
    texts: list[str] = []

    def ask(worker: int) -> None:
        client = provider.client()
        for i in range(25):
            reply = client.messages.create(**body({"role": "user", "content": f"{worker}/{i}"}, cache_control=CACHED))
            texts.append(reply.content[0].text)

    workers = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [exchange.number for exchange in provider.requests] == list(range(1, 201))
    assert len({exchange.request_id for exchange in provider.requests}) == 200
    assert sorted(texts) == sorted(f"Reply {i}." for i in range(200))
    assert {exchange.status for exchange in provider.requests} == {200}


def test_threads_over_http_too() -> None:
    provider = MockProvider(lambda request: WORDS)
    with provider.serve() as server:

        def ask() -> None:
            with Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
                for _ in range(5):
                    client.messages.create(**body())

        workers = [threading.Thread(target=ask) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert [exchange.number for exchange in provider.requests] == list(range(1, 21))


# ── Scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("step", "content"),
    [
        ("Hi.", [{"type": "text", "text": "Hi."}]),
        ("", []),
        ([], []),
        (call("add", a=2), [{"type": "tool_use", "name": "add", "input": {"a": 2}}]),
        (["Hi.", call("add")], [{"type": "text", "text": "Hi."}, {"type": "tool_use", "name": "add", "input": {}}]),
        ({"content": "Hi.", "stop_reason": "refusal"}, [{"type": "text", "text": "Hi."}]),
    ],
    ids=["text", "empty", "nothing", "call", "list", "message"],
)
def test_steps_of_a_script(step: Any, content: list[Any]) -> None:
    assert draft(step).content == content


@pytest.mark.parametrize("step", [None, 5, b"Hi.", [None]])
def test_what_is_no_step_is_named(step: Any) -> None:
    with pytest.raises(TypeError, match="A script holds texts, blocks"):
        draft(step)


@pytest.mark.parametrize("model", [5, "Hi.", {"content": "x"}])
def test_what_is_no_model_is_named(model: Any) -> None:
    with pytest.raises(TypeError, match="A model is Scripted"):
        MockProvider(model)


def test_explain_gives_the_reasons_of_a_turn() -> None:
    provider = MockProvider(["Hi.", Draft([{"type": "text", "text": "Hi."}], ["It greets.", "So do I."])])
    for _ in range(2):
        provider.client().messages.create(**body())
    assert provider.explain() == provider.explain(1) == "It greets.\nSo do I."
    assert provider.explain(0) == "The model gave no reasons (a script has none)."

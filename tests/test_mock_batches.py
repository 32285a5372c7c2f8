"""The mock's batches, through the real SDK client: their life, their results, and what is refused."""

import json

import anthropic
import pytest

from course_kit.mock import batches, faults
from course_kit.mock.batches import is_batch_address
from course_kit.mock.provider import MockProvider


def entry(name, said="Hello.", **params):
    messages = [{"role": "user", "content": said}]
    return {"custom_id": name, "params": {"model": "claude-haiku-5-5", "max_tokens": 50, "messages": messages} | params}


def echo():
    return MockProvider(lambda request: request["messages"][0]["content"])


def counts(batch):
    return {name: number for name, number in batch.request_counts.to_dict().items() if number}


def test_a_batch_is_created_worked_off_and_read():
    provider = echo()
    batches = provider.client().messages.batches
    made = batches.create(requests=[entry("a", "One."), entry("b", "Two.")])
    assert (made.processing_status, made.results_url, made.ended_at, counts(made)) == (
        "in_progress", None, None, {"processing": 2},
    )  # fmt: skip
    ended = batches.retrieve(made.id)
    assert (ended.processing_status, counts(ended), ended.results_url) == (
        "ended", {"succeeded": 2}, f"https://api.anthropic.com/v1/messages/batches/{made.id}/results",
    )  # fmt: skip
    results = {one.custom_id: one.result.message.content[0].text for one in batches.results(made.id)}
    assert results == {"a": "One.", "b": "Two."}
    assert list(results) == ["b", "a"]  # in no order that may be relied on
    inner = [exchange.body["messages"][0]["content"] for exchange in provider.requests if exchange.reply]
    assert inner == ["One.", "Two."]
    batches.retrieve(made.id)
    assert len([exchange for exchange in provider.requests if exchange.reply]) == 2  # worked off once


def test_an_answer_that_broke_off_is_an_error_of_the_server():
    provider = MockProvider(lambda request: "Hello.", faults={3: faults.end_early()})
    batches = provider.client().messages.batches
    made = batches.create(requests=[entry("a"), entry("b")])
    assert counts(batches.retrieve(made.id)) == {"succeeded": 1, "errored": 1}
    (error,) = (one.result.error.error for one in batches.results(made.id) if one.result.type == "errored")
    assert error.to_dict() == {"type": "api_error", "message": "Internal server error"}


def test_what_is_said_of_a_batch_before_and_after():
    batches = echo().client().messages.batches
    made, other = (batches.create(requests=[entry(name)]) for name in "ab")
    at_first = {
        "id": made.id,
        "type": "message_batch",
        "processing_status": "in_progress",
        "request_counts": {"processing": 1, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": "2030-01-01T00:00:00Z",
        "expires_at": "2030-01-02T00:00:00Z",
        "ended_at": None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": None,
    }
    after = at_first | {
        "processing_status": "ended",
        "request_counts": {"processing": 0, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0},
        "ended_at": "2030-01-01T00:01:00Z",
        "results_url": f"https://api.anthropic.com/v1/messages/batches/{made.id}/results",
    }
    canceling = {"id": other.id, "processing_status": "canceling", "cancel_initiated_at": "2030-01-01T00:00:00Z"}
    assert made.to_dict(mode="json") == at_first
    assert batches.retrieve(made.id).to_dict(mode="json") == after
    assert batches.cancel(other.id).to_dict(mode="json") == at_first | canceling


def test_one_bad_request_does_not_stop_the_others():
    batches = echo().client().messages.batches
    bad = [entry("b", messages=[]), entry("c", max_tokens=0), entry("d", stream=True), entry("e", temperature=1)]
    made = batches.create(requests=[entry("a"), *bad])
    assert counts(batches.retrieve(made.id)) == {"succeeded": 1, "errored": 4}
    errors = {one.custom_id: one.result.error.error for one in batches.results(made.id) if one.result.type == "errored"}
    assert {error.type for error in errors.values()} == {"invalid_request_error"}
    assert errors["c"].message == "max_tokens: 0 is not supported in a batch"
    assert errors["d"].message == "stream: True is not supported in a batch"
    assert "messages" in errors["b"].message and "temperature" in errors["e"].message


def test_a_batch_is_canceled_deleted_and_listed():
    batches = echo().client().messages.batches
    first, second, third = (batches.create(requests=[entry(name)]) for name in "abc")
    assert batches.cancel(first.id).processing_status == "canceling"
    assert counts(batches.retrieve(first.id)) == {"canceled": 1}
    assert [one.result.type for one in batches.results(first.id)] == ["canceled"]
    assert [one.id for one in batches.list()] == [third.id, second.id, first.id]
    page = batches.list(limit=2)
    assert ([one.id for one in page.data], page.has_more) == ([third.id, second.id], True)
    assert [one.id for one in batches.list(limit=1)] == [third.id, second.id, first.id]  # page by page
    assert batches.delete(first.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError, match="was not found"):
        batches.retrieve(first.id)
    with pytest.raises(anthropic.BadRequestError, match="cancel it first"):
        batches.delete(second.id)
    batches.retrieve(second.id)
    with pytest.raises(anthropic.BadRequestError, match="has ended"):
        batches.cancel(second.id)


def pages(provider, query=""):
    headers = {"anthropic-version": "2026-10-21", "x-api-key": "k"}
    answer = provider.handle("GET", f"/v1/messages/batches{query}", headers, b"")
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "2.5", "x"])
def test_a_page_holds_1_to_1000(limit):
    status, said = pages(echo(), f"?limit={limit}")
    assert status == 400
    assert said["error"] == {
        "type": "invalid_request_error",
        "message": "limit: Input should be a whole number from 1 to 1000",
    }


def test_a_page_says_where_it_begins_and_ends():
    provider = echo()
    assert pages(provider) == (200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
    create = provider.client().messages.batches.create
    ids = [create(requests=[entry(f"n{number}")]).id for number in range(21)][::-1]
    _, first = pages(provider)
    assert ([one["id"] for one in first["data"]], first["first_id"], first["last_id"]) == (ids[:20], ids[0], ids[19])
    assert first["has_more"] is True
    _, second = pages(provider, f"?after_id={ids[19]}")
    assert ([one["id"] for one in second["data"]], second["has_more"]) == (ids[20:], False)
    for limit in (21, 1000):
        assert pages(provider, f"?limit={limit}")[1]["has_more"] is False


def test_the_page_before_a_batch_ends_right_before_it():
    provider = echo()
    batches = provider.client().messages.batches
    oldest_last = [batches.create(requests=[entry(name)]).id for name in "abcde"][::-1]
    page = batches.list(before_id=oldest_last[3], limit=2)
    assert ([one.id for one in page.data], page.first_id, page.last_id, page.has_more) == (
        oldest_last[1:3], oldest_last[1], oldest_last[2], True,
    )  # fmt: skip
    assert [one.id for one in page] == [*oldest_last[1:3], oldest_last[0]]  # the SDK pages towards the top
    assert batches.list(before_id=oldest_last[0]).data == []
    assert [one.id for one in batches.list(before_id="msgbatch_unknown").data] == oldest_last


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        pytest.param(None, "requests: Field required", id="nothing"),
        pytest.param({"a": 1}, "requests: Input should be a list of 1 to 100000", id="no_list"),
        pytest.param(["a"], "requests.0.custom_id: Field required", id="no_object"),
        pytest.param([{"custom_id": 1, "params": {}}], "requests.0.custom_id: Field required", id="a_number_as_id"),
        pytest.param([entry("a"), {"custom_id": "b", "params": []}], "requests.1.params: Field required", id="a_list"),
        pytest.param([entry("")], "requests.0.custom_id: String should match", id="empty_id"),
        pytest.param([], "requests: Input should be a list of 1 to 100000", id="none"),
        pytest.param([{"params": {}}], "requests.0.custom_id: Field required", id="no_custom_id"),
        pytest.param([{"custom_id": "a"}], "requests.0.params: Field required", id="no_params"),
        pytest.param([entry("a"), entry("a b")], "requests.1.custom_id: String should match", id="space_in_id"),
        pytest.param([entry("a" * 65)], "requests.0.custom_id: String should match", id="long_id"),
        pytest.param([entry("a"), entry("b"), entry("a")], "custom_id must be unique, and 'a' stands 2", id="twice"),
        pytest.param([entry(id) for id in "babab"], "custom_id must be unique, and 'b' stands 3 times", id="two_twice"),
    ],
)
def test_what_is_no_batch_is_refused(requests, said):
    provider = echo()
    with pytest.raises(anthropic.BadRequestError, match=said):
        provider.client().messages.batches.create(requests=requests)
    assert provider.requests[-1].violation.status == 400


def test_a_batch_holds_as_many_as_are_allowed(monkeypatch):
    monkeypatch.setattr(batches, "MOST_REQUESTS", 2)
    create = echo().client().messages.batches.create
    assert counts(create(requests=[entry("a"), entry("b")])) == {"processing": 2}
    with pytest.raises(anthropic.BadRequestError, match="requests: Input should be a list of 1 to 2 requests"):
        create(requests=[entry("a"), entry("b"), entry("c")])


@pytest.mark.parametrize(
    ("host", "begins"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("localhost", "http://localhost/v1"),
        ("mock.example:443", "https://mock.example:443/v1"),
    ],
)
def test_results_lie_where_the_request_was_sent(host, begins):
    provider = echo()
    made = provider.client().messages.batches.create(requests=[entry("a")])
    headers = {"anthropic-version": "2026-10-21", "x-api-key": "k", "host": host}
    answer = provider.handle("GET", f"/v1/messages/batches/{made.id}", headers, b"")
    assert json.loads(answer.body)["results_url"] == f"{begins}/messages/batches/{made.id}/results"


def test_results_are_lines_of_json():
    provider = echo()
    batches = provider.client().messages.batches
    made = batches.create(requests=[entry("a", max_tokens=0)])
    batches.retrieve(made.id)
    headers = {"anthropic-version": "2026-10-21", "x-api-key": "k"}
    answer = provider.handle("GET", f"/v1/messages/batches/{made.id}/results", headers, b"")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-jsonl")
    (line,) = answer.body.decode().splitlines(keepends=True)
    assert line.endswith("\n") and json.loads(line)["custom_id"] == "a"


def test_results_wait_for_the_end():
    provider = echo()
    client = provider.client()
    made = client.messages.batches.create(requests=[entry("a")])
    with pytest.raises(anthropic.NotFoundError, match="no results yet"):
        client.get(f"/v1/messages/batches/{made.id}/results", cast_to=object)


def test_a_key_is_asked_for_and_other_methods_are_not_known():
    headers = {"anthropic-version": "2026-10-21"}
    refused = echo().handle("GET", "/v1/messages/batches", headers, b"")
    other = echo().handle("PUT", "/v1/messages/batches", headers | {"x-api-key": "k"}, b"")
    assert (refused.status, other.status) == (401, 405)


def test_over_http_the_results_lie_at_the_servers_own_address():
    with echo().serve() as server:
        client = anthropic.Anthropic(api_key="not-a-key", base_url=server.url)
        made = client.messages.batches.create(requests=[entry("a"), entry("b")])
        assert client.messages.batches.retrieve(made.id).results_url.startswith(server.url)
        assert len(list(client.messages.batches.results(made.id))) == 2
        client.close()


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("/v1/messages/batches", True),
        ("/v1/messages/batches/", True),
        ("/v1/messages/batches?limit=2", True),
        ("/v1/messages/batches/msgbatch_01/results", True),
        ("/v1/messages", False),
        ("/v1/messages/batchesx", False),
    ],
)
def test_addresses(path, is_one):
    assert is_batch_address(path) is is_one

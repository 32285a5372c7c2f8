"""The mock's batches, through the real SDK client: their life, their results, and what is refused."""

import anthropic
import pytest

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


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        pytest.param([], "requests: Input should be a list of 1 to 100000", id="none"),
        pytest.param([{"params": {}}], "requests.0.custom_id: Field required", id="no_custom_id"),
        pytest.param([{"custom_id": "a"}], "requests.0.params: Field required", id="no_params"),
        pytest.param([entry("a"), entry("a b")], "requests.1.custom_id: String should match", id="space_in_id"),
        pytest.param([entry("a" * 65)], "requests.0.custom_id: String should match", id="long_id"),
        pytest.param([entry("a"), entry("b"), entry("a")], "custom_id must be unique, and 'a' stands 2", id="twice"),
    ],
)
def test_what_is_no_batch_is_refused(requests, said):
    provider = echo()
    with pytest.raises(anthropic.BadRequestError, match=said):
        provider.client().messages.batches.create(requests=requests)
    assert provider.requests[-1].violation.status == 400


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

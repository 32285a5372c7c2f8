"""The rules around the body: each refuses one request and lets a like one pass."""

import json
from typing import Any

import pytest

from course_kit.contract.transport import (
    MAX_BODY_BYTES,
    TRANSPORT_RULES,
    Incoming,
    check_transport,
    endpoint_of,
)

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21"}


def incoming(**changes: Any) -> Incoming:
    """A request as it should be, but for these changes."""
    return Incoming(**{"method": "POST", "path": "/v1/messages", "headers": HEADERS, "body": b"{}", **changes})


RULES = {rule.id: rule for rule in TRANSPORT_RULES}


def with_headers(**changes: str | None) -> Incoming:
    headers = {**HEADERS, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return incoming(headers={name: value for name, value in headers.items() if value is not None})


# rule → (refused, passes, status, type, words)
CASES: dict[str, tuple[Incoming, Incoming, int, str, str]] = {
    "body-size": (
        incoming(body=b"{}" + b" " * (MAX_BODY_BYTES - 1)),
        incoming(body=b"{}" + b" " * (MAX_BODY_BYTES - 2)),
        413,
        "request_too_large",
        "Request exceeds the maximum size",
    ),
    "address-known": (
        incoming(path="/v1/v1/messages"),
        incoming(path="/v1/messages?beta=true"),
        404,
        "not_found_error",
        "Not Found: /v1/v1/messages",
    ),
    "method-fits": (
        incoming(method="GET"),
        incoming(),
        405,
        "invalid_request_error",
        "Method Not Allowed: /v1/messages takes POST.",
    ),
    "key-given": (
        with_headers(x_api_key=None),
        with_headers(x_api_key=None, authorization="Bearer k"),
        401,
        "authentication_error",
        "x-api-key header is required",
    ),
    "version-given": (
        with_headers(anthropic_version=None),
        incoming(),
        400,
        "invalid_request_error",
        "anthropic-version: header is required",
    ),
    "version-known": (
        with_headers(anthropic_version="2024-01-01"),
        with_headers(anthropic_version="2023-06-01"),
        400,
        "invalid_request_error",
        'anthropic-version: "2024-01-01" is not a valid version',
    ),
    "body-is-json": (
        incoming(body=b'{"model": }'),
        incoming(body=b'{"model": "x"}'),
        400,
        "invalid_request_error",
        "The request body is not valid JSON: expected value at line 1 column 11",
    ),
}


def test_every_rule_has_a_case() -> None:
    assert list(CASES) == list(RULES)


@pytest.mark.parametrize("id", RULES)
def test_rule_refuses_one_and_passes_one(id: str) -> None:
    refused, passes, status, type, words = CASES[id]
    violation = check_transport(refused)
    assert violation is not None
    assert (violation.rule, violation.status, violation.type, violation.message) == (id, status, type, words)
    assert check_transport(passes) is None


@pytest.mark.parametrize("id", RULES)
def test_rule_alone_is_what_refuses(id: str) -> None:
    """The failing twin: every other rule has nothing to say about the refused request."""
    refused, *_ = CASES[id]
    others = [rule for rule in TRANSPORT_RULES if rule.id != id]
    assert [rule.id for rule in others if list(rule.find(refused))] == []
    assert list(RULES[id].find(refused))


@pytest.mark.parametrize("id", RULES)
def test_rule_says_what_it_is(id: str) -> None:
    rule = RULES[id]
    assert rule.says and rule.source and rule.certainty in ("docs", "reported", "uncertain")


def test_the_first_broken_rule_is_told() -> None:
    everything = Incoming("PUT", "/v1/complete", {}, b"[")
    broken = [id for id, rule in RULES.items() if list(rule.find(everything))]
    assert broken == ["address-known", "key-given", "version-given"]
    assert check_transport(everything).rule == "address-known"


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/messages", "/v1/messages"),
        ("/v1/messages/", "/v1/messages"),
        ("/v1/messages?beta=true", "/v1/messages"),
        ("/v1/messages/count_tokens", "/v1/messages/count_tokens"),
        ("/v1/models", "/v1/models"),
        ("/v1/models?limit=5", "/v1/models"),
        ("/v1/models/claude-opus-5", "/v1/models"),
        ("/v1/messages/batches", None),
        ("/v1/complete", None),
        ("/messages", None),
        ("/", None),
        ("", None),
    ],
)
def test_endpoint_of(path: str, endpoint: str | None) -> None:
    assert endpoint_of(path) == endpoint


@pytest.mark.parametrize(
    ("headers", "served"),
    [
        ({"x-api-key": "k"}, True),
        ({"authorization": "Bearer k"}, True),
        ({"authorization": "bearer k"}, True),
        ({"authorization": "Bearer k", "x-api-key": "k"}, True),
        ({"authorization": "Bearer ", "x-api-key": "k"}, True),
        ({"authorization": "Bearer k", "x-api-key": ""}, True),
        ({"authorization": "Bearer "}, False),
        ({"authorization": "k"}, False),
        ({"authorization": "Basic a2V5"}, False),
        ({"x-api-key": "  "}, False),
        ({}, False),
    ],
    ids=[
        "key",
        "bearer",
        "lower",
        "both",
        "blank_bearer",
        "blank_key",
        "no_token",
        "no_scheme",
        "basic",
        "blank",
        "none",
    ],
)
def test_which_keys_serve(headers: dict[str, str], served: bool) -> None:
    violation = check_transport(incoming(headers={**headers, "anthropic-version": "2026-10-21"}))
    assert (violation is None) is served


BAD_BODIES = {
    "empty": b"",
    "blank": b"  \n",
    "cut": b'{"model": "x"',
    "two_values": b"{} {}",
    "trailing_comma": b'{"model": "x",}',
    "single_quotes": b"{'model': 'x'}",
    "nan": b'{"max_tokens": NaN}',
    "infinity": b'{"max_tokens": -Infinity}',
    "not_utf8": b'{"model": "\xff\xfe"}',
    "utf16": '{"model": "x"}'.encode("utf-16"),
    "byte_order_mark": b"\xef\xbb\xbf{}",
    "bare_control_character": b'{"model": "a\nb"}',
    "half_a_pair": rb'{"model": "\ud83d"}',
    "other_half": rb'{"model": "\ude00x"}',
    "number_of_5000_digits": b'{"max_tokens": ' + b"9" * 5000 + b"}",
    "100000_brackets": b"[" * 100_000,
    "100000_objects": b'{"a":' * 100_000,
    "deep_but_closed": b"[" * 50_000 + b"]" * 50_000,
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_what_is_not_json(name: str) -> None:
    request = incoming(body=BAD_BODIES[name])
    violation = check_transport(request)
    assert (violation.rule, violation.status) == ("body-is-json", 400)
    assert violation.message.startswith("The request body is not valid JSON: ")
    assert request.payload is None


@pytest.mark.parametrize("body", [b"[]", b"null", b'"x"', b"5", b"true"])
def test_what_is_no_object(body: bytes) -> None:
    violation = check_transport(incoming(body=body))
    assert (violation.rule, violation.message) == ("body-is-json", "Input should be an object")


@pytest.mark.parametrize(
    "value", [{"text": "café ✅ 🧪 天"}, {"n": [1, 2.5, -0.0, 1e5, None, True]}, {"a": {"b": [[[]]]}}]
)
def test_the_body_is_read(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        request = incoming(body=text.encode())
        assert check_transport(request) is None
        assert request.payload == value


def test_a_get_has_no_body_to_read() -> None:
    assert check_transport(Incoming("GET", "/v1/models", HEADERS, b"not json")) is None

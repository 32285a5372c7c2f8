"""Rules of the request around its body: the address, the headers, the bytes.

They come before everything in `protocol.py`: a request that fails here has no body to look at.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jiter import from_json

from .fields import VERSIONS
from .rules import Found, Rule, Violation, rule, said

__all__ = ["ENDPOINTS", "MAX_BODY_BYTES", "TRANSPORT_RULES", "Incoming", "check_transport", "endpoint_of"]

MAX_BODY_BYTES = 32 * 1024 * 1024
ENDPOINTS: dict[str, str] = {"/v1/messages": "POST", "/v1/messages/count_tokens": "POST", "/v1/models": "GET"}


@dataclass
class Incoming:
    """A request as it arrives. Header names are lower case; `payload` is filled in when the body has been read."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    payload: Any = field(default=None)


def endpoint_of(path: str) -> str | None:
    """The endpoint of a path: `/v1/models/claude-opus-5` → `/v1/models`; None when there is none."""
    path = path.partition("?")[0].rstrip("/")
    if path.startswith("/v1/models/"):
        return "/v1/models"
    return path if path in ENDPOINTS else None


@rule("docs", "Claude API errors", status=413, type="request_too_large")
def body_size(request: Incoming) -> Iterator[Found]:
    """A body has at most 32 MB (refused in front of the API itself)."""
    if len(request.body) > MAX_BODY_BYTES:
        yield said("", "Request exceeds the maximum size")


@rule("docs", "Claude API errors", status=404, type="not_found_error")
def address_known(request: Incoming) -> Iterator[Found]:
    """The address exists (a `base_url` that ends in `/v1` makes `/v1/v1/messages`, which does not)."""
    if endpoint_of(request.path) is None:
        yield said("", f"Not Found: {request.path.partition('?')[0]}")


@rule("uncertain", "common practice of HTTP; the vendor's answer is not known", status=405)
def method_fits(request: Incoming) -> Iterator[Found]:
    """The method is the one that the address takes."""
    if (endpoint := endpoint_of(request.path)) and request.method != ENDPOINTS[endpoint]:
        yield said("", f"Method Not Allowed: {endpoint} takes {ENDPOINTS[endpoint]}.")


@rule("docs", "API overview; both headers serve in SDK 2.14", status=401, type="authentication_error")
def key_given(request: Incoming) -> Iterator[Found]:
    """A key comes as `x-api-key` or as `authorization: Bearer`; any non-empty one will do here."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = scheme.lower() == "bearer" and token.strip()
    if not bearer and not request.headers.get("x-api-key", "").strip():
        yield said("", "x-api-key header is required")


@rule("docs", "Versions")
def version_given(request: Incoming) -> Iterator[Found]:
    """The header `anthropic-version` is there."""
    if "anthropic-version" not in request.headers:
        yield said("anthropic-version", "anthropic-version: header is required")


@rule("docs", "Versions")
def version_known(request: Incoming) -> Iterator[Found]:
    """The version is 2023-06-01 or 2026-10-21."""
    version = request.headers.get("anthropic-version")
    if version is not None and version not in VERSIONS:
        yield said("anthropic-version", f'anthropic-version: "{version[:40]}" is not a valid version')


@rule("reported", "the API's own text, in many reports; the words after the colon are this parser's")
def body_is_json(request: Incoming) -> Iterator[Found]:
    """The body is JSON text in UTF-8, an object; no NaN, no half of a surrogate pair, not nested 200 deep."""
    if request.method != "POST":
        return
    try:
        request.payload = from_json(request.body, allow_inf_nan=False)
    except ValueError as error:
        yield said("", f"The request body is not valid JSON: {error}")
    else:
        if not isinstance(request.payload, dict):
            yield said("", "Input should be an object")


TRANSPORT_RULES: tuple[Rule, ...] = (
    body_size,
    address_known,
    method_fits,
    key_given,
    version_given,
    version_known,
    body_is_json,
)


def check_transport(request: Incoming) -> Violation | None:
    """The first rule of transport that is broken, or None; reads the body into `request.payload`."""
    for one in TRANSPORT_RULES:
        for found in one.find(request):  # type: ignore[arg-type]
            return one.broken_by(found)
    return None

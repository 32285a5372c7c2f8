"""Rules about single fields that a type cannot say: versions, the model, thinking, caching.

The types are in `shape.py`; what concerns tools is in `tooling.py`, the conversation in `protocol.py`.
"""

from collections.abc import Iterator
from typing import Any

from .rules import Found, Request, Rule, rule, said
from .shape import NOT_MODELLED

__all__ = ["FIELD_RULES", "LATE_RULES", "MODEL_RULES", "VERSIONS"]

VERSIONS = ("2023-06-01", "2026-10-21")
_SINCE_2026 = "docs: Migrating to API version 2026-10-21"


@rule("docs", _SINCE_2026, shape=True)
def sampling_fields(request: Request) -> Iterator[Found]:
    """Since version 2026-10-21 there is no `temperature`, `top_p`, `top_k`, not even at its default value."""
    if request.version >= "2026-10-21":
        for name in ("temperature", "top_k", "top_p"):
            if name in request.body:
                yield Found(name, "Extra inputs are not permitted")


@rule("sdk", "types/beta/message_create_params.py", shape=True)
def beta_field(request: Request) -> Iterator[Found]:
    """Fields of the beta API are unknown without an `anthropic-beta` header."""
    for name in NOT_MODELLED["beta fields"]:
        if name in request.body and not request.beta:
            yield Found(name, "Extra inputs are not permitted")


@rule("sdk", "lib/threads/_thread_state.py", error_code="thread_unsupported_request")
def thread_unsupported(request: Request) -> Iterator[Found]:
    """The mock holds no threads, and says so in the way that makes the SDK's runner send its whole history instead."""
    if request.beta and request.body.get("thread") is not None:
        yield said("thread", "This request cannot run on a thread: send the whole history without `thread`.")


@rule("recorded", "recorded live, 2026", status=404, type="not_found_error")
def model_known(request: Request) -> Iterator[Found]:
    """The model exists."""
    if request.model is None:
        yield Found("model", str(request.body["model"]))


@rule("docs", "Claude API errors; migration guides of each model")
def thinking_type(request: Request) -> Iterator[Found]:
    """The model takes this kind of thinking: no budgets since 4.7, no `disabled` where thinking is always on."""
    kind = request.thinking
    if kind and request.model and kind not in request.model.thinking:
        hint = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        yield said("thinking.type", f'"thinking.type.{kind}" is not supported for this model. {hint}')


@rule("sdk", "types/thinking_config_enabled_param.py")
def thinking_budget(request: Request) -> Iterator[Found]:
    """Manual thinking has a budget, and it is smaller than `max_tokens`."""
    if request.thinking == "enabled":
        budget, room = request.body["thinking"].get("budget_tokens"), request.body.get("max_tokens")
        if budget is None:
            yield Found("thinking.enabled.budget_tokens", "Field required")
        elif isinstance(room, int) and budget >= room:
            yield said("max_tokens", "`max_tokens` must be greater than `thinking.budget_tokens`.")


@rule("docs", "Prompt caching")
def prewarm_alone(request: Request) -> Iterator[Found]:
    """`max_tokens: 0` only warms the cache: no stream, no manual thinking, no output format, no forced call."""
    if request.body.get("max_tokens") == 0:
        for name, used in (
            ("stream", request.body.get("stream")),
            ("thinking.type.enabled", request.thinking == "enabled"),
            ("output_config.format", (request.body.get("output_config") or {}).get("format")),
            ("tool_choice", request.forces_a_call),
        ):
            if used:
                yield Found("max_tokens", f"`max_tokens: 0` cannot be combined with `{name}`.")


@rule("recorded", "request probe, 2026-09-29")
def cache_breakpoints(request: Request) -> Iterator[Found]:
    """At most four blocks carry `cache_control`, over tools, system and messages."""
    count = sum(1 for _ in _cached(request))
    if count > 4:
        yield said("cache_control", f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def _cached(request: Request) -> Iterator[Any]:
    system = request.body.get("system")
    places = [*request.tools, *(system if isinstance(system, list) else ())]
    for _, _, block in request.blocks:
        places.append(block)
        if block["type"] == "tool_result" and isinstance(block.get("content"), list):
            places.extend(block["content"])
    return (place for place in places if place.get("cache_control"))


@rule("docs", "Structured outputs")
def format_without_prefill(request: Request) -> Iterator[Found]:
    """An output format and a prefilled answer exclude each other."""
    turns = request.turns
    if (request.body.get("output_config") or {}).get("format") and turns and turns[-1].role == "assistant":
        yield said("output_config.format", "`output_config.format` is incompatible with assistant message prefill.")


FIELD_RULES: tuple[Rule, ...] = (sampling_fields, beta_field)
MODEL_RULES: tuple[Rule, ...] = (thread_unsupported, model_known)
LATE_RULES: tuple[Rule, ...] = (
    thinking_type,
    thinking_budget,
    prewarm_alone,
    cache_breakpoints,
    format_without_prefill,
)

"""Rules about single fields: the shape of each, and what a type cannot say (versions, the model, thinking, caching).

The types are in `shape.py`; what concerns tools is in `tooling.py`, the conversation in `protocol.py`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .rules import Found, Request, Rule, rule, said
from .shape import NOT_MODELLED, CountBody, CreateBody

__all__ = ["FIELD_RULES", "LATE_RULES", "MODEL_RULES", "SHAPE_RULES", "VERSIONS", "shape_of"]

VERSIONS = ("2023-06-01", "2026-10-21")
_SINCE_2026 = "docs: Migrating to API version 2026-10-21"


# The shape.


@cache
def _adapter(counting: bool) -> TypeAdapter[Any]:
    return TypeAdapter(CountBody if counting else CreateBody)


# Where pydantic's words differ from the API's.
WORDS = {
    "dict_type": "Input should be an object",
    "list_type": "Input should be a valid array",
    "too_long": "List should have at most 100000 items",
    "greater_than_equal": "must be greater than or equal to {ge}",
}
# The names of union members are in pydantic's path; the API's path keeps those of blocks and tools only.
SILENT = {"text", "blocks", "unmodelled"}


def shape_of(request: Request) -> Iterator[tuple[str, Found]]:
    """Every fault of shape as `(rule id, found)`, in the API's order."""
    body = {key: value for key, value in request.body.items() if key not in NOT_MODELLED["beta fields"]}
    try:
        _adapter(request.counting).validator.validate_python(body)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
    else:
        return
    for fault in faults:
        location, kind = list(fault["loc"]), fault["type"]
        words = WORDS[kind].format(**fault.get("ctx", {})) if kind in WORDS else fault["msg"]
        if kind == "union_tag_invalid":
            words = re.sub(r"using \S+ does", "using 'type' does", words).replace("'unmodelled', ", "")
        if kind == "union_tag_not_found":
            kind, words = "dict_type", WORDS["dict_type"]
            if isinstance(_look_up(body, location), dict):
                kind, words, location = "missing", "Field required", [*location, "type"]
        path = _api_path(location)
        named = (id for id, where, kinds in _NAMED if kind in kinds and re.fullmatch(where, path))
        yield next(named, _GENERAL.get(kind, "field-type")), Found(path, words)


def _look_up(value: Any, location: list[Any]) -> Any:
    for step in location:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step]
    return value


def _api_path(location: list[Any]) -> str:
    """`("messages", 0, "content", "blocks", 1, "tool_use", "id")` → `messages.0.content.1.tool_use.id`"""
    parts = []
    for before, step in zip([None, *location], location, strict=False):
        if step == "text" and isinstance(before, int):
            parts.append("text")  # a block of text
        elif step not in SILENT or before == "text":
            parts.append(str(step))
    return re.sub(r"^(tool_choice)\.(auto|any|tool|none)\.(type)$", r"\1.\3", ".".join(parts))


def _shape(id: str, says: str, certainty: Any, source: str) -> Rule:
    return Rule(
        id, says, source, certainty, lambda request: (f for name, f in shape_of(request) if name == id), shape=True
    )


_PROBE = "request probes, 2026-08"
_BLOCK = r"messages\.\d+\.content\.\d+"
SHAPE_RULES: tuple[Rule, ...] = (
    _shape("field-required", "A required field is there.", "recorded", _PROBE),
    _shape("field-type", "A field holds a value of its type.", "recorded", _PROBE),
    _shape("field-value", "A field that takes one of a few values holds one of them.", "reported", _PROBE),
    _shape("unknown-field", "No key that the API does not know, at any depth.", "reported", _PROBE),
    _shape("max-tokens-range", "`max_tokens` is 0 or more.", "reported", _PROBE),
    _shape(
        "thinking-budget-range", "`budget_tokens` is at least 1024.", "sdk", "types/thinking_config_enabled_param.py"
    ),
    _shape("messages-limit", "At most 100,000 messages.", "sdk", "types/message_create_params.py"),
    _shape("tool-choice-object", "`tool_choice` is an object with a `type`.", "reported", _PROBE),
    _shape("tool-choice-type", "`tool_choice.type` is auto, any, tool or none.", "reported", _PROBE),
    _shape(
        "tool-choice-none-alone", "`none` takes no parallel flag.", "reported", "request probes through hosts, 2026-08"
    ),
    _shape("tool-name", "A tool's name is 1 to 128 of a-z A-Z 0-9 _ -.", "reported", "error texts, 2025-08 to 2026-09"),
    _shape("tool-input-schema", "A tool has an `input_schema`.", "reported", "error texts, 2026"),
    _shape(
        "tool-schema-root", 'The root of an `input_schema` says `"type": "object"`.', "reported", "error texts, 2026"
    ),
    _shape("tool-unknown-field", "A tool definition has no unknown key.", "reported", "error texts, 2026"),
    _shape("search-tool-name", "A search tool bears its own fixed name.", "sdk", "types/tool_search_tool_*_param.py"),
    _shape("block-object", "A content block is an object.", "reported", _PROBE),
    _shape("block-type", "A content block has a known `type`.", "reported", _PROBE),
    _shape("tool-use-id", "A call's `id` holds only a-z A-Z 0-9 _ -.", "reported", "error texts, 2026"),
    _shape("tool-use-input", "A call's `input` is an object, never a string.", "reported", "error texts, 2026"),
    _shape("server-tool-use-id", "A server call's `id` begins with `srvtoolu_`.", "reported", "error texts, 2026"),
    _shape("tool-result-id", "A result has a `tool_use_id`.", "reported", "error texts, 2026"),
    _shape("caller-type", "`caller.type` is a known one.", "reported", "request probe, 2026-09-29"),
)
_STRING = ("string_pattern_mismatch", "string_too_short", "string_too_long", "string_type", "missing")
_NAMED = (
    ("max-tokens-range", r"max_tokens", ("greater_than_equal",)),
    ("thinking-budget-range", r"thinking\.budget_tokens", ("greater_than_equal",)),
    ("messages-limit", r"messages", ("too_long",)),
    ("tool-choice-none-alone", r"tool_choice\.none\..*", ("extra_forbidden",)),
    ("tool-choice-object", r"tool_choice(\.type)?", ("dict_type", "missing")),
    ("tool-choice-type", r"tool_choice", ("union_tag_invalid",)),
    ("tool-name", r"tools\.\d+\.custom\.name", _STRING),
    ("tool-input-schema", r"tools\.\d+\.custom\.input_schema", ("missing", "dict_type")),
    ("tool-schema-root", r"tools\.\d+\.custom\.input_schema\.type", ("missing", "literal_error")),
    ("tool-unknown-field", r"tools\.\d+\.custom\..*", ("extra_forbidden",)),
    ("search-tool-name", r"tools\.\d+\.tool_search_tool_\w+\.name", ("literal_error", "missing")),
    ("block-object", _BLOCK, ("dict_type",)),
    ("block-type", _BLOCK + r"(\.type)?", ("missing", "union_tag_invalid")),
    ("tool-use-id", _BLOCK + r"\.tool_use\.id", _STRING),
    ("tool-use-input", _BLOCK + r"\.tool_use\.input", ("dict_type",)),
    ("server-tool-use-id", _BLOCK + r"\.server_tool_use\.id", _STRING),
    ("tool-result-id", _BLOCK + r"\.tool_result\.tool_use_id", ("missing", "string_type")),
    ("caller-type", _BLOCK + r"\.(server_)?tool_use\.caller\.type", ("literal_error",)),
)
_GENERAL = {
    "missing": "field-required",
    "extra_forbidden": "unknown-field",
    "literal_error": "field-value",
    "union_tag_invalid": "field-value",
}


# What a type cannot say.


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


@rule("recorded", "request probe, 2026-09-29; docs: Prompt caching")
def cache_breakpoints(request: Request) -> Iterator[Found]:
    """At most four blocks carry `cache_control`, over tools, system and messages; automatic caching uses one."""
    count = len(request.marks) + _automatic(request)
    if count > 4:
        yield said("cache_control", f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


@rule("docs", "Prompt caching, the edge cases of automatic caching")
def cache_automatic_ttl(request: Request) -> Iterator[Found]:
    """Automatic caching and a mark on the last block agree in their `ttl` (the API's exact words are not known)."""
    automatic, last = request.body.get("cache_control"), _last_mark(request)
    if automatic and last and _lifetime(automatic) != _lifetime(last):
        yield Found("cache_control.ttl", "The last block has a `cache_control` of its own with another `ttl`.")


@rule("reported", "the API's own text, in many reports, 2026-03 to 08; docs: Prompt caching")
def cache_ttl_order(request: Request) -> Iterator[Found]:
    """What is kept for an hour comes before what is kept for five minutes; no `ttl` means the latter."""
    marks = list(request.marks)
    if _automatic(request):
        marks.append(("", request.body["cache_control"]))
    short = False
    for path, control in marks:
        if _lifetime(control) == "1h" and short:
            yield Found(
                f"{path}.cache_control.ttl".lstrip("."),
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
            )
        short = short or _lifetime(control) == "5m"


def _lifetime(control: Any) -> Any:
    """The `ttl` of a mark; blocks that are not modelled may carry anything."""
    return (control.get("ttl") if isinstance(control, Mapping) else None) or "5m"


def _last_mark(request: Request) -> Any:
    """The mark on the very last block, where automatic caching would set its own."""
    return request.blocks[-1][2].get("cache_control") if request.blocks else None


def _automatic(request: Request) -> bool:
    """Does automatic caching set its own mark?"""
    return bool(request.body.get("cache_control")) and not _last_mark(request)


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
    cache_automatic_ttl,
    cache_ttl_order,
    format_without_prefill,
)

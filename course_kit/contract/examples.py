"""For every rule of the protocol one request that it refuses, and a similar one that passes.

An example is `(refused, passes)`; either is a body, or a body with keyword arguments for `check_request`. The rule
named is the *first* that the refused body breaks, unless `LATER` says that another one comes first by the API's order.
"""

from typing import Any

from . import thinking

__all__ = ["EXAMPLES", "LATER", "refusal_of"]

OPUS, HAIKU, OLD = "claude-opus-5", "claude-haiku-5-5", "claude-haiku-4-5"
NO_FORCING = "claude-opus-5-5"

WEATHER = {
    "name": "get_weather",
    "description": "Weather in a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
ASK = {"role": "user", "content": "Weather in Oslo?"}
CALL = {"type": "tool_use", "id": "toolu_A", "name": "get_weather", "input": {"city": "Oslo"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_A", "content": "4 C"}
TEXT = {"type": "text", "text": "Here it is:"}
CACHED = {"type": "ephemeral"}
CACHED_1H = {"type": "ephemeral", "ttl": "1h"}


def body(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A legal request with these messages, or with one question."""
    return {"model": OPUS, "max_tokens": 2048, "tools": [WEATHER], "messages": list(messages) or [ASK], **fields}


def without(field: str, *messages: Any, **fields: Any) -> dict[str, Any]:
    return {key: value for key, value in body(*messages, **fields).items() if key != field}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def tool(**changes: Any) -> dict[str, Any]:
    return {**WEATHER, **changes}


def schema(root: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    closed = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {**closed, **(root or {})}


def with_schema(root: dict[str, Any] | None = None, *, strict: bool = False, **properties: Any) -> dict[str, Any]:
    return body(tools=[tool(input_schema=schema(root, **properties), **({"strict": True} if strict else {}))])


def strict(root: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return with_schema(root, strict=True, **properties)


def round_trip(*results: Any, call: Any = CALL, **fields: Any) -> dict[str, Any]:
    return body(ASK, assistant(call), user(*(results or (RESULT,))), **fields)


REFERENCE = {"type": "tool_reference", "tool_name": "get_weather"}
SERVER_CALL = {
    "type": "server_tool_use",
    "id": "srvtoolu_A",
    "name": "tool_search_tool_bm25",
    "input": {"query": "weather"},
}
SERVER_RESULT = {
    "type": "tool_search_tool_result",
    "tool_use_id": "srvtoolu_A",
    "content": {"type": "tool_search_tool_search_result", "tool_references": [REFERENCE]},
}
WEB = {"type": "web_search_20250305", "name": "web_search"}
WEB_CALL = {**SERVER_CALL, "name": "web_search"}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVkIGVsc2V3aGVyZQ=="}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
CITED = {"type": "text", "text": "x", "citations": [{"type": "char_location"}]}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
OLD_VERSION = {"version": "2023-06-01"}
STRING = {"type": "string"}
OPTIONAL_13 = {"type": "object", "properties": {f"p{i}": STRING for i in range(13)}, "additionalProperties": False}
OPTIONAL_12 = {"type": "object", "properties": {f"p{i}": STRING for i in range(12)}, "additionalProperties": False}
UNIONS = {f"u{i}": {"anyOf": [STRING, {"type": "null"}]} for i in range(17)}
RECURSIVE = {"$defs": {"N": schema(next={"$ref": "#/$defs/N"})}}


def many(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [tool(name=f"tool_{i}", **changes) for i in range(count)]


def signed(text: str, *, model: str = OPUS, edited: str | None = None, system: str | None = None) -> dict[str, Any]:
    """A round trip with a thinking block that the mock signed, perhaps edited or moved afterwards."""
    before = body(model=model)
    turns = [("user", [{"type": "text", "text": ASK["content"]}])]
    block = {"type": "thinking", "thinking": text, "signature": thinking.sign(text, before, turns)}
    if edited is not None:
        block["thinking"] = edited
    fields: dict[str, Any] = {"model": model}
    if system:
        fields["system"] = system
    return body(ASK, assistant(block, CALL), user(RESULT), **fields)


EXAMPLES: dict[str, tuple[Any, Any]] = {
    # Shape.
    "field-required": (without("model"), body()),
    "field-type": (body(max_tokens=None), body(max_tokens=1)),
    "field-value": (body(output_config={"effort": "huge"}), body(output_config={"effort": "high"})),
    "unknown-field": (
        body(parallel_tool_calls=False),
        body(tool_choice={"type": "auto", "disable_parallel_tool_use": True}),
    ),
    "max-tokens-range": (body(max_tokens=-1), body(max_tokens=0)),
    "thinking-budget-range": (
        body(model=OLD, thinking={"type": "enabled", "budget_tokens": 1023}),
        body(model=OLD, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    "messages-limit": (body(*[ASK] * 100_001), body(*[ASK] * 3)),
    "tool-choice-object": (body(tool_choice="auto"), body(tool_choice={"type": "auto"})),
    "tool-choice-type": (body(tool_choice={"type": "required"}), body(tool_choice={"type": "any"})),
    "tool-choice-none-alone": (
        body(tool_choice={"type": "none", "disable_parallel_tool_use": True}),
        body(tool_choice={"type": "none"}),
    ),
    "tool-name": (body(tools=[tool(name="cal.create-event")]), body(tools=[tool(name="cal_create-event")])),
    "tool-input-schema": (
        body(tools=[{"name": "get_weather"}]),
        body(tools=[{"name": "get_weather", "input_schema": {"type": "object"}}]),
    ),
    "tool-schema-root": (with_schema({"type": "array"}), with_schema()),
    "tool-unknown-field": (body(tools=[tool(parameters={})]), body(tools=[tool(description="")])),
    "search-tool-name": (body(tools=[{**SEARCH, "name": "search"}, WEATHER]), body(tools=[SEARCH, WEATHER])),
    "block-object": (body(user("hi")), body(user(TEXT))),
    "block-type": (body(user({"text": "hi"})), body(user(TEXT))),
    "tool-use-id": (
        body(ASK, assistant({**CALL, "id": "a b"}), user({**RESULT, "tool_use_id": "a b"})),
        body(ASK, assistant({**CALL, "id": "call_1"}), user({**RESULT, "tool_use_id": "call_1"})),
    ),
    "tool-use-input": (round_trip(call={**CALL, "input": '{"city": "Oslo"}'}), round_trip(call={**CALL, "input": {}})),
    "server-tool-use-id": (
        body(ASK, assistant({**SERVER_CALL, "id": "toolu_A"}, SERVER_RESULT), ASK, tools=[SEARCH, WEATHER]),
        body(ASK, assistant(SERVER_CALL, SERVER_RESULT), ASK, tools=[SEARCH, WEATHER]),
    ),
    "tool-result-id": (round_trip({"type": "tool_result", "content": "4 C"}), round_trip()),
    "caller-type": (
        round_trip(call={**CALL, "caller": {"type": "me"}}),
        round_trip(call={**CALL, "caller": {"type": "direct"}}),
    ),
    # Single fields.
    "sampling-fields": (body(temperature=1.0), (body(temperature=1.0), OLD_VERSION)),
    "beta-field": (body(fallbacks=[]), (body(fallbacks=[]), {"beta": ("some-beta",)})),
    "thread-unsupported": (
        (body(thread={"type": "create"}), {"beta": ("message-threads-2026-08-12",)}),
        (body(), {"beta": ("message-threads-2026-08-12",)}),
    ),
    "model-known": (body(model="claude-2"), body(model="claude-sonnet-5")),
    "thinking-type": (body(thinking={"type": "enabled", "budget_tokens": 1024}), body(thinking={"type": "disabled"})),
    "thinking-budget": (
        body(model=OLD, max_tokens=1024, thinking={"type": "enabled", "budget_tokens": 1024}),
        body(model=OLD, max_tokens=1025, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    "prewarm-alone": (body(max_tokens=0, stream=True), body(max_tokens=0)),
    "cache-breakpoints": (
        body(tools=many(5, cache_control=CACHED)),
        body(tools=[*many(4, cache_control=CACHED), WEATHER]),
    ),
    "cache-automatic-ttl": (
        body(user({**TEXT, "cache_control": CACHED_1H}), cache_control=CACHED),
        body(user({**TEXT, "cache_control": CACHED}), cache_control=CACHED),
    ),
    "cache-ttl-order": (
        body(tools=[tool(cache_control=CACHED)], system=[{**TEXT, "cache_control": CACHED_1H}]),
        body(tools=[tool(cache_control=CACHED_1H)], system=[{**TEXT, "cache_control": CACHED}]),
    ),
    "format-without-prefill": (
        body(
            ASK,
            {"role": "assistant", "content": "{"},
            model=OLD,
            output_config={"format": {"type": "json_schema", "schema": schema(a=STRING)}},
        ),
        body(ASK, model=OLD, output_config={"format": {"type": "json_schema", "schema": schema(a=STRING)}}),
    ),
    # Definitions.
    "schema-top-level-union": (
        with_schema({"anyOf": [{"required": ["a"]}]}, a=STRING),
        with_schema(a={"anyOf": [STRING]}),
    ),
    "property-keys": (
        with_schema({"properties": {"filter[id]": STRING}}),
        with_schema({"properties": {"filter.id": STRING}}),
    ),
    "schema-valid": (
        with_schema(a={"type": "array", "items": [STRING]}),
        with_schema(a={"type": "array", "prefixItems": [STRING]}),
    ),
    "input-examples-fit": (
        body(tools=[tool(input_examples=[{"town": "Oslo"}])]),
        body(tools=[tool(input_examples=[{"city": "Oslo"}])]),
    ),
    "tool-names-unique": (body(tools=[WEATHER, WEATHER]), body(tools=[WEATHER, tool(name="other")])),
    "some-tool-not-deferred": (body(tools=[tool(defer_loading=True)]), body(tools=[SEARCH, tool(defer_loading=True)])),
    "search-tool-not-deferred": (
        body(tools=[{**SEARCH, "defer_loading": True}, WEATHER]),
        body(tools=[SEARCH, WEATHER]),
    ),
    "deferred-not-cached": (
        body(tools=[SEARCH, tool(defer_loading=True, cache_control=CACHED)]),
        body(tools=[{**SEARCH, "cache_control": CACHED}, tool(defer_loading=True)]),
    ),
    "deferred-limit": (
        body(tools=[SEARCH, *many(10_001, defer_loading=True)]),
        body(tools=[SEARCH, *many(20, defer_loading=True)]),
    ),
    # The conversation.
    "some-message": ({**body(), "messages": []}, body()),
    "role-known": (body(ASK, {"role": "tool", "content": "4 C"}), body(ASK, ASK)),
    "first-message-from-user": (body({"role": "assistant", "content": "Hello."}, ASK), body(ASK)),
    "system-turn-in-place": (
        body({"role": "system", "content": "Be brief."}, ASK),
        body(ASK, {"role": "system", "content": "Be brief."}),
    ),
    "system-turn-content": (
        body(ASK, {"role": "system", "content": [IMAGE]}),
        body(ASK, {"role": "system", "content": [TEXT]}),
    ),
    "results-from-the-user": (body(ASK, assistant(RESULT), ASK), round_trip()),
    "calls-from-the-assistant": (body(user(CALL)), round_trip()),
    "user-turn-not-empty": (body({"role": "user", "content": ""}), body({"role": "user", "content": ""}, ASK)),
    "assistant-turn-not-empty": (body(ASK, assistant(), ASK), body(ASK, assistant())),
    "text-not-empty": (
        round_trip({**RESULT, "content": [{"type": "text", "text": ""}]}),
        round_trip({**RESULT, "content": ""}),
    ),
    "text-not-blank": (body({"role": "user", "content": " \n"}), body({"role": "user", "content": " ?\n"})),
    "no-document-from-the-assistant": (
        body(ASK, assistant(TEXT, DOCUMENT), ASK),
        (body(ASK, assistant(TEXT, DOCUMENT), ASK), OLD_VERSION),
    ),
    "no-citations-from-the-user": (body(user(CITED)), (body(user(CITED)), OLD_VERSION)),
    "call-ids-unique": (
        body(ASK, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
        body(
            ASK,
            assistant(CALL),
            user(RESULT),
            assistant({**CALL, "id": "toolu_B"}),
            user({**RESULT, "tool_use_id": "toolu_B"}),
        ),
    ),
    "results-have-a-call": (body(user(RESULT)), round_trip()),
    "calls-answered-at-once": (round_trip(TEXT, RESULT), round_trip(RESULT, TEXT)),
    "only-calls-after-a-call": (
        body(ASK, assistant(CALL, TEXT), user(RESULT)),
        body(ASK, assistant(TEXT, CALL), user(RESULT)),
    ),
    "one-result-per-call": (round_trip({**RESULT, "is_error": True}, RESULT), round_trip()),
    "results-in-one-message": (
        body(ASK, assistant(CALL, {**CALL, "id": "toolu_B"}), user(RESULT), user({**RESULT, "tool_use_id": "toolu_B"})),
        body(ASK, assistant(CALL, {**CALL, "id": "toolu_B"}), user(RESULT, {**RESULT, "tool_use_id": "toolu_B"})),
    ),
    "error-result-is-text": (
        round_trip({**RESULT, "is_error": True, "content": [TEXT, IMAGE]}),
        round_trip({**RESULT, "content": [TEXT, IMAGE]}),
    ),
    "error-result-says-something": (
        round_trip({**RESULT, "is_error": True, "content": ""}),
        round_trip({"type": "tool_result", "tool_use_id": "toolu_A"}),
    ),
    "result-content-not-null": (
        round_trip({**RESULT, "content": None}),
        round_trip({"type": "tool_result", "tool_use_id": "toolu_A"}),
    ),
    "server-call-not-left-open": (
        body(ASK, assistant(SERVER_CALL, CALL), user(RESULT), tools=[SEARCH, WEATHER]),
        body(ASK, assistant(WEB_CALL, CALL), user(RESULT), tools=[WEB, WEATHER]),
    ),
    "server-result-has-call": (
        body(ASK, assistant(SERVER_RESULT, CALL), user(RESULT), tools=[SEARCH, WEATHER]),
        body(ASK, assistant(SERVER_CALL, SERVER_RESULT, CALL), user(RESULT), tools=[SEARCH, WEATHER]),
    ),
    "server-tool-declared-again": (
        body(ASK, assistant(SERVER_CALL), tools=[WEATHER]),
        body(ASK, assistant(SERVER_CALL), tools=[SEARCH, WEATHER]),
    ),
    "thinking-not-last": (body(ASK, assistant(TEXT, THINKING), ASK), body(ASK, assistant(THINKING, TEXT), ASK)),
    "thinking-unchanged": (signed("Look it up.", edited="Make it up."), signed("Look it up.")),
    "thinking-in-its-conversation": (
        signed("Look it up.", model=HAIKU, system="New orders."),
        signed("Look it up.", model=HAIKU),
    ),
    "no-prefill": (
        body(ASK, {"role": "assistant", "content": "It is"}),
        body(ASK, {"role": "assistant", "content": "It is"}, model=OLD),
    ),
    "prefill-not-open-ended": (
        body(ASK, {"role": "assistant", "content": "It is "}, model=OLD),
        body(ASK, {"role": "assistant", "content": "It is"}, model=OLD),
    ),
    "tools-declared-for-history": (without("tools", *round_trip()["messages"]), round_trip()),
    # References and choice.
    "tool-reference-known": (
        round_trip({**RESULT, "content": [{"type": "tool_reference", "tool_name": "gone"}]}),
        round_trip({**RESULT, "content": [REFERENCE]}),
    ),
    "tool-reference-alone": (
        round_trip({**RESULT, "content": [REFERENCE, TEXT]}),
        round_trip({**RESULT, "content": [REFERENCE]}, TEXT),
    ),
    "forcing-supported": (
        body(model=NO_FORCING, tool_choice={"type": "any"}),
        body(model=OPUS, tool_choice={"type": "any"}),
    ),
    "chosen-tool-exists": (
        body(tool_choice={"type": "tool", "name": "weather"}),
        body(tool_choice={"type": "tool", "name": "get_weather"}),
    ),
    "any-needs-tools": (body(tools=[], tool_choice={"type": "any"}), body(tools=[], tool_choice={"type": "auto"})),
    "forcing-without-manual-thinking": (
        body(model=OLD, thinking={"type": "enabled", "budget_tokens": 1024}, tool_choice={"type": "any"}),
        body(model="claude-opus-4-6", thinking={"type": "adaptive"}, tool_choice={"type": "any"}),
    ),
    "chosen-tool-direct": (
        body(
            tools=[tool(allowed_callers=["code_execution_20260120"])],
            tool_choice={"type": "tool", "name": "get_weather"},
        ),
        body(tools=[tool(allowed_callers=["direct"])], tool_choice={"type": "tool", "name": "get_weather"}),
    ),
    # Strict.
    "strict-unsupported-keyword": (
        strict(n={"type": "integer", "minimum": 1}),
        with_schema(n={"type": "integer", "minimum": 1}),
    ),
    "strict-string-length": (strict(s={"type": "string", "maxLength": 9}), strict(s=STRING)),
    "strict-open-object": (strict({"additionalProperties": True}, a=STRING), strict(a=STRING)),
    "strict-recursion": (
        strict(RECURSIVE, child={"$ref": "#/$defs/N"}),
        with_schema(RECURSIVE, child={"$ref": "#/$defs/N"}),
    ),
    "strict-empty-schema": (strict(a={}), strict(a=STRING)),
    "strict-one-of": (strict(a={"oneOf": [STRING]}), strict(a={"anyOf": [STRING]})),
    "strict-any-of-siblings": (
        strict(a={"anyOf": [STRING], "type": "string"}),
        strict(a={"anyOf": [STRING], "title": "A"}),
    ),
    "strict-all-of-ref": (
        strict({"$defs": {"S": STRING}}, a={"allOf": [{"$ref": "#/$defs/S"}]}),
        strict({"$defs": {"S": STRING}}, a={"$ref": "#/$defs/S"}),
    ),
    "strict-format": (strict(a={"type": "string", "format": "phone"}), strict(a={"type": "string", "format": "email"})),
    "strict-pattern": (
        strict(a={"type": "string", "pattern": r"^(?=x)"}),
        strict(a={"type": "string", "pattern": r"^ORD-[0-9]{8}$"}),
    ),
    "strict-enum-type": (strict(a={"type": ["string", "null"], "enum": ["x", None]}), strict(a={"enum": ["x", None]})),
    "strict-enum-complex": (strict(a={"enum": [{"x": 1}]}), strict(a={"enum": ["x", 1]})),
    "strict-min-items": (
        strict(a={"type": "array", "items": STRING, "minItems": 2}),
        strict(a={"type": "array", "items": STRING, "minItems": 1}),
    ),
    "strict-items-list": (strict(a={"type": "array", "items": [STRING]}), strict(a={"type": "array", "items": STRING})),
    "strict-external-ref": (strict(a={"$ref": "https://example.com/s.json"}), strict(a=STRING)),
    "strict-missing-ref": (
        strict(a={"$ref": "#/$defs/gone"}),
        strict({"$defs": {"here": STRING}}, a={"$ref": "#/$defs/here"}),
    ),
    "strict-too-many-tools": (body(tools=many(21, strict=True)), body(tools=[*many(20, strict=True), WEATHER])),
    "strict-too-many-optional": (
        body(tools=many(2, strict=True, input_schema=OPTIONAL_13)),
        body(tools=many(2, strict=True, input_schema=OPTIONAL_12)),
    ),
    "strict-too-many-unions": (strict(**UNIONS), strict(**dict(list(UNIONS.items())[:16]))),
    "strict-not-programmatic": (
        body(tools=[tool(strict=True, allowed_callers=["code_execution_20260120"])]),
        body(tools=[tool(strict=True, allowed_callers=["direct"])]),
    ),
}

# Refused bodies that another rule refuses first, by the API's order.
LATER = {
    "strict-external-ref": "schema-valid",
    "strict-missing-ref": "schema-valid",
    "strict-items-list": "schema-valid",
}


def refusal_of(id: str) -> str:
    """The API's words for the refused example of a rule."""
    from .protocol import check_request

    refused = EXAMPLES[id][0]
    body, options = refused if isinstance(refused, tuple) else (refused, {})
    found = check_request(body, strictness={id: True}, **options)
    return next(violation.message for violation in found if violation.rule == id)

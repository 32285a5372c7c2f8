"""What makes a request legal.

A model that calls tools is driven by one list, `messages`, and the API reads that list closely. Four laws carry almost
all of it, and most of the rules below are one of them seen from one side:

    1. A call is answered at once: after the assistant turn that holds a `tool_use`, the next turn is the user's.
    2. The answers come first in it: one `tool_result` for each call, ahead of any text.
    3. They are tied by id: `tool_use_id` repeats the call's `id`. Their order among themselves is free.
    4. The assistant turn goes back as it came.

`check_request` holds a request against every rule and returns all that it breaks; the API itself tells only the first.
The order is the API's: fields, unknown keys, tool definitions, the model, the conversation, then what is left
(probed 2026-08-31; the ranks of the last groups among each other are ours).

Where a rule is known from, and how surely, stands with it. `RULES` has them all by id.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from . import thinking
from .fields import FIELD_RULES, LATE_RULES, MODEL_RULES, VERSIONS
from .rules import Found, Request, Rule, Turn, Violation, rule, said
from .shape import SHAPE_RULES, shape_of
from .strict import STRICT_RULES
from .tooling import CHOICE_RULES, DEFINITION_RULES, STRICT_REQUEST_RULES, strict_refusals_of

__all__ = ["RULES", "Rule", "Violation", "check_request", "first_violation"]

Findings = Iterator[Found]
MESSAGES = ("messages",)
PROBE = "request probes, 2026-08-31"


# The four laws.


@rule("docs", "Handle tool calls", needs=MESSAGES)
def calls_answered_at_once(request: Request) -> Findings:
    """Every `tool_use` has its `tool_result` in the next turn, ahead of everything else there."""
    for turn, following in _with_next(request.turns):
        if turn.role == "assistant":
            answered = {block["tool_use_id"] for _, block in _leading_results(following)}
            missing = [block["id"] for _, block in turn.of_type("tool_use") if block["id"] not in answered]
            if missing:
                yield Found(turn.path, _unanswered(missing))


@rule("recorded", "recorded and probed on haiku-4-5, 2026-05", needs=MESSAGES)
def only_calls_after_a_call(request: Request) -> Findings:
    """After the first call of an assistant turn only calls (or thinking) follow: text belongs ahead of them."""
    for turn in request.turns:
        calls: list[str] = []
        for _, block in turn.blocks if turn.role == "assistant" else ():
            if block["type"] == "tool_use":
                calls.append(block["id"])
            elif calls and block["type"] in ("text", "image", "document", "search_result"):
                yield Found(turn.path, _unanswered(calls))
                break


@rule("reported", "the API's own text, in many reports", needs=MESSAGES)
def results_have_a_call(request: Request) -> Findings:
    """Every `tool_result` answers a call of the turn right before it."""
    before: Turn | None = None
    for turn in request.turns:
        calls = {block["id"] for _, block in before.of_type("tool_use")} if before else set()
        for path, block in turn.of_type("tool_result") if turn.role == "user" else ():
            if block["tool_use_id"] not in calls:
                yield Found(
                    path,
                    f"unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                )
        before = turn


@rule("reported", "the API's own text, in several reports", needs=MESSAGES)
def one_result_per_call(request: Request) -> Findings:
    """A call has exactly one result."""
    for turn in request.turns:
        seen: set[str] = set()
        for path, block in turn.of_type("tool_result"):
            if block["tool_use_id"] in seen:
                yield Found(
                    path,
                    "each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {block['tool_use_id']}",
                )
            seen.add(block["tool_use_id"])


@rule("reported", "the API's own text, in several reports", needs=MESSAGES)
def call_ids_unique(request: Request) -> Findings:
    """No two calls of the history share an id."""
    seen: set[str] = set()
    for path, block in request.of_type("tool_use"):
        if block["id"] in seen:
            yield Found(path, "`tool_use` ids must be unique")
        seen.add(block["id"])


@rule("uncertain", "docs and reports differ, 2025-01 to 2026-02", needs=MESSAGES, default=False)
def results_in_one_message(request: Request) -> Findings:
    """All results of a turn stand in one message (the API seems to combine messages first, so this is a setting)."""
    messages = request.body["messages"]
    for index, message in enumerate(messages[:-1]):
        if message["role"] == "assistant" and isinstance(message["content"], list):
            first = messages[index + 1]
            content = first["content"] if isinstance(first["content"], list) else []
            answered = {block.get("tool_use_id") for block in content}
            missing = [b["id"] for b in message["content"] if b["type"] == "tool_use" and b["id"] not in answered]
            if missing:
                yield Found(f"messages.{index}", _unanswered(missing))


def _with_next(turns: list[Turn]) -> Iterator[tuple[Turn, Turn | None]]:
    return zip(turns, [*turns[1:], None], strict=False)


def _leading_results(turn: Turn | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, block in turn.blocks if turn else ():
        if block["type"] != "tool_result":
            return
        yield path, block


def _unanswered(ids: Iterable[str]) -> str:
    return (
        f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(ids)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


# Whose block it is, and what a result may hold.


@rule("reported", "request probe, 2026-08-28", needs=MESSAGES)
def results_from_the_user(request: Request) -> Findings:
    """Results are the user's: `tool_result` never stands in an assistant turn."""
    for role, path, block in request.blocks:
        if block["type"] == "tool_result" and role == "assistant":
            yield Found(_message(path), "`tool_result` blocks can only be in `user` messages")


@rule("reported", "error texts in public reports", needs=MESSAGES)
def calls_from_the_assistant(request: Request) -> Findings:
    """Calls are the assistant's: `tool_use` never stands in a user turn."""
    for role, path, block in request.blocks:
        if block["type"] == "tool_use" and role == "user":
            yield Found(_message(path), "`tool_use` blocks can only be in `assistant` messages")


@rule("reported", "the API's own text; a comment in the SDK's runner agrees", needs=MESSAGES)
def error_result_is_text(request: Request) -> Findings:
    """A result with `is_error` holds text only."""
    for path, block in request.of_type("tool_result"):
        content = block.get("content")
        if block.get("is_error") and isinstance(content, list) and any(part["type"] != "text" for part in content):
            yield Found(f"{path}.tool_result", "all content must be type `text` if `is_error` is true")


@rule("reported", "the API's own text; a comment in the SDK's runner agrees", needs=MESSAGES)
def error_result_says_something(request: Request) -> Findings:
    """A result with `is_error` is not empty."""
    for path, block in request.of_type("tool_result"):
        if block.get("is_error") and not block.get("content"):
            yield Found(f"{path}.tool_result", "content cannot be empty if `is_error` is true")


@rule("uncertain", "the SDK's runner sends it, the server's answer is not known", needs=MESSAGES, default=False)
def result_content_not_null(request: Request) -> Findings:
    """A result's `content` is left out rather than null."""
    for path, block in request.of_type("tool_result"):
        if block.get("content", "") is None:
            yield Found(f"{path}.tool_result.content", "Input should be a valid string or array")


# Roles and emptiness.


@rule("reported", "error texts in public reports", needs=MESSAGES)
def some_message(request: Request) -> Findings:
    """There is at least one message."""
    if not request.body["messages"]:
        yield Found("messages", "at least one message is required")


@rule("reported", PROBE, needs=MESSAGES)
def role_known(request: Request) -> Findings:
    """A role is `user` or `assistant` (`system` too, on models that take it); there is no role `tool`."""
    roles = ("user", "assistant", "system") if not request.model or request.model.system_turns else ("user", "assistant")
    for message in request.body["messages"]:
        if message["role"] not in roles:
            words = f'Unexpected role "{message["role"]}". Allowed roles are "user" or "assistant"'
            yield Found("messages", words)


@rule("uncertain", "recorded 200 on sonnet-4-5 and haiku-4-5; other hosts refuse", needs=MESSAGES, default=False)
def first_message_from_user(request: Request) -> Findings:
    """The first message is the user's (no longer on the direct API, so this is a setting)."""
    if request.turns and request.turns[0].role == "assistant":
        yield Found("messages", 'first message must use the "user" role')


@rule("reported", PROBE, needs=MESSAGES)
def user_turn_not_empty(request: Request) -> Findings:
    """A user turn has content; a neighbouring user message lends it some."""
    for turn in request.turns:
        if turn.role == "user" and not turn.blocks:
            yield Found(turn.path, "user messages must have non-empty content")


@rule("reported", PROBE, needs=MESSAGES)
def assistant_turn_not_empty(request: Request) -> Findings:
    """An assistant turn has content, except the last message of all."""
    for turn in request.turns[:-1]:
        if turn.role == "assistant" and not turn.blocks:
            words = "all messages must have non-empty content except for the optional final assistant message"
            yield Found(turn.path, words)


@rule("reported", "error texts in public reports", needs=MESSAGES)
def text_not_empty(request: Request) -> Findings:
    """A text block is not `""`, in a result neither."""
    for path, block in _texts(request):
        if block["text"] == "":
            yield said(path, "messages: text content blocks must be non-empty")


@rule("reported", "error texts in public reports", needs=MESSAGES)
def text_not_blank(request: Request) -> Findings:
    """A text block of a turn holds more than white space."""
    for _, path, block in request.blocks:
        if block["type"] == "text" and block["text"] and not block["text"].strip():
            yield said(path, "messages: text content blocks must contain non-whitespace text")


@rule("docs", "Claude API errors", needs=("messages", "model"))
def no_prefill(request: Request) -> Findings:
    """Since Claude 4.6 the conversation ends with a user turn (or with a server tool's result, to be resumed)."""
    if (last := _prefilled(request)) and request.model and not request.model.prefill:
        words = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield said(last.path, words)


@rule("reported", "error texts in public reports", needs=("messages", "model"))
def prefill_not_open_ended(request: Request) -> Findings:
    """Where prefill is allowed, it does not end in white space."""
    if (last := _prefilled(request)) and request.model and request.model.prefill:
        _, block = last.blocks[-1]
        if block["type"] == "text" and block["text"] != block["text"].rstrip():
            yield Found("messages", "final assistant content cannot end with trailing whitespace")


def _texts(request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
    for _, path, block in request.blocks:
        if block["type"] == "text":
            yield path, block
        elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from ((path, part) for part in block["content"] if part["type"] == "text")


def _prefilled(request: Request) -> Turn | None:
    """The last turn, when it is the assistant's and begins an answer that the model should go on with."""
    if request.turns and request.turns[-1].role == "assistant" and request.turns[-1].blocks:
        _, block = request.turns[-1].blocks[-1]
        if not _server_side(block):
            return request.turns[-1]
    return None


def _server_side(block: Mapping[str, Any]) -> bool:
    """A server tool's call or result: an assistant turn may stop there and be sent back to be resumed."""
    return block["type"] == "server_tool_use" or (block["type"] != "tool_result" and block["type"].endswith("_result"))


def _message(path: str) -> str:
    return path.rpartition(".content.")[0]


# Thinking goes back as it came.


@rule("reported", "via a host, 2026-07-26", needs=MESSAGES)
def thinking_not_last(request: Request) -> Findings:
    """No assistant turn ends in `thinking`."""
    for turn in request.turns:
        if turn.role == "assistant" and turn.blocks and turn.blocks[-1][1]["type"] in thinking.TYPES:
            yield Found(turn.path, "The final block in an assistant message cannot be `thinking`.")


@rule("docs", "Extended thinking", needs=MESSAGES)
def thinking_unchanged(request: Request) -> Findings:
    """Thinking of the latest assistant turn is neither edited nor put side by side (the mock knows its own by signature)."""
    latest = next((turn for turn in reversed(request.turns) if turn.role == "assistant"), None)
    before = None
    for path, block in latest.blocks if latest else ():
        doubled = block["type"] == before == "thinking"
        if doubled or (block["type"] == "thinking" and thinking.edited(block)):
            yield Found(
                path,
                "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response.",
            )
        before = block["type"]


@rule("docs", "Claude API errors; What's new in Claude Opus 5.5", needs=("messages", "model", "tools", "system"))
def thinking_in_its_conversation(request: Request) -> Findings:
    """On the 5.5 models thinking is bound to the conversation before it: `system`, `tools` and earlier turns stay."""
    if request.model and request.model.binds_thinking:
        for position, turn in enumerate(request.turns):
            for path, block in turn.of_type("thinking") if turn.role == "assistant" else ():
                before = [(t.role, [b for _, b in t.blocks]) for t in request.turns[:position]]
                if not thinking.edited(block) and thinking.moved(block, request.body, before):
                    words = "Invalid `signature` in `thinking` block: it is bound to a different conversation."
                    yield Found(path, words)


# Tools that the server runs, and system turns.


@rule("docs", "Server tools", needs=MESSAGES)
def server_call_not_left_open(request: Request) -> Findings:
    """While a server tool's call has no result yet, the next turn holds nothing but results."""
    for turn, name, id in _open_server_calls(request):
        following = request.turns[request.turns.index(turn) + 1 :]
        if any(block["type"] != "tool_result" for later in following for _, block in later.blocks):
            words = f"`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block"
            yield Found(turn.path, words)


@rule("docs", "Server tools", needs=("messages", "tools"))
def server_tool_declared_again(request: Request) -> Findings:
    """A turn that is resumed declares the server tool that is still at work."""
    for turn, name, id in _open_server_calls(request):
        if name not in request.tool_names:
            yield Found(turn.path, f"`{name}` tool use with id `{id}` was found, but no `{name}` tool was provided")


def _open_server_calls(request: Request) -> Iterator[tuple[Turn, str, str]]:
    done = {block.get("tool_use_id") for role, _, block in request.blocks if role == "assistant"}
    for turn in request.turns:
        for _, block in turn.of_type("server_tool_use"):
            if block["id"] not in done:
                yield turn, block["name"], block["id"]


@rule("uncertain", "live 200s in 2026-07 and 2026-09; older pages and hosts refuse", needs=("messages", "tools"), default=False)
def tools_declared_for_history(request: Request) -> Findings:
    """A history with calls declares `tools` (no longer on the direct API, so this is a setting)."""
    if not request.tools and any(block["type"] in ("tool_use", "tool_result") for _, _, block in request.blocks):
        yield said("tools", "Requests which include `tool_use` or `tool_result` blocks must define tools.")


@rule("reported", "request probes, 2026-08-31 and 2026-09-10; docs: Mid-conversation system messages", needs=MESSAGES)
def system_turn_in_place(request: Request) -> Findings:
    """A system turn stands after a user turn (or a server tool's result) and before an assistant turn or the end."""
    messages = request.body["messages"]
    for index, message in enumerate(messages):
        if message["role"] != "system" or (index + 1 < len(messages) and messages[index + 1]["role"] == "system"):
            continue
        before = next((m for m in reversed(messages[:index]) if m["role"] != "system"), None)
        if before is None:
            words = "use the top-level 'system' parameter for the initial system prompt"
        elif index + 1 < len(messages) and messages[index + 1]["role"] != "assistant":
            words = "role 'system' must precede an 'assistant' message or end the array"
        elif before["role"] == "assistant" and not _ends_server_side(before):
            words = "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
        else:
            continue
        yield Found(f"messages.{index}", words)


@rule("docs", "Mid-conversation system messages and tool changes", needs=MESSAGES)
def system_turn_content(request: Request) -> Findings:
    """A system turn holds text or tool changes, and not nothing."""
    for index, message in enumerate(request.body["messages"]):
        if message["role"] != "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            yield Found(f"messages.{index}", "system content must contain at least one block")
        for block in blocks:
            if block["type"] not in ("text", "tool_addition", "tool_removal"):
                yield Found(f"messages.{index}", "system messages may only contain text and tool change blocks")
            elif block["type"] == "text" and not block["text"].strip():
                yield Found(f"messages.{index}", "system text blocks must contain non-whitespace text")


def _ends_server_side(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and bool(content) and _server_side(content[-1])


# Version 2026-10-21.


@rule("docs", "Migrating to API version 2026-10-21", needs=MESSAGES)
def no_document_from_the_assistant(request: Request) -> Findings:
    """Since version 2026-10-21 no `document` stands directly in an assistant message."""
    if request.version >= "2026-10-21":
        for role, path, block in request.blocks:
            if role == "assistant" and block["type"] == "document":
                yield Found(path, "`document` blocks can only be in `user` messages")


@rule("docs", "Migrating to API version 2026-10-21", needs=MESSAGES)
def no_citations_from_the_user(request: Request) -> Findings:
    """Since version 2026-10-21 no text of a user message carries `citations`."""
    if request.version >= "2026-10-21":
        for role, path, block in request.blocks:
            parts = block.get("content") if block["type"] in ("search_result", "tool_result") else [block]
            for part in parts if role == "user" and isinstance(parts, list) else ():
                if isinstance(part, dict) and part.get("type") == "text" and part.get("citations"):
                    yield Found(path, "`citations` are not allowed in `user` messages")


# All of them, in order.

CONVERSATION_RULES: tuple[Rule, ...] = (
    some_message,
    role_known,
    first_message_from_user,
    system_turn_in_place,
    system_turn_content,
    results_from_the_user,
    calls_from_the_assistant,
    user_turn_not_empty,
    assistant_turn_not_empty,
    text_not_empty,
    text_not_blank,
    no_document_from_the_assistant,
    no_citations_from_the_user,
    call_ids_unique,
    results_have_a_call,
    calls_answered_at_once,
    only_calls_after_a_call,
    one_result_per_call,
    results_in_one_message,
    error_result_is_text,
    error_result_says_something,
    result_content_not_null,
    server_call_not_left_open,
    server_tool_declared_again,
    thinking_not_last,
    thinking_unchanged,
    thinking_in_its_conversation,
    no_prefill,
    prefill_not_open_ended,
    tools_declared_for_history,
)
# What the strict subset refuses; those of the other provider are not the API's.
STRICT_SCHEMA_RULES: tuple[Rule, ...] = tuple(
    Rule(
        id,
        about.checks,
        about.source,
        about.certainty,  # type: ignore[arg-type]
        lambda request, id=id: (found for name, found in strict_refusals_of(request) if name == id),
        default=about.certainty != "uncertain",
    )
    for id, about in STRICT_RULES.items()
    if not about.checks.startswith("OpenAI")
)
_IN_ORDER: tuple[Rule, ...] = (
    *FIELD_RULES,
    *DEFINITION_RULES,
    *MODEL_RULES,
    *CONVERSATION_RULES,
    *CHOICE_RULES,
    *STRICT_SCHEMA_RULES,
    *STRICT_REQUEST_RULES,
    *LATE_RULES,
)

RULES: dict[str, Rule] = {rule.id: rule for rule in (*SHAPE_RULES, *_IN_ORDER)}


def check_request(
    body: Any,
    *,
    version: str = VERSIONS[-1],
    beta: Iterable[str] = (),
    strictness: str | Mapping[str, bool] = "default",
    counting: bool = False,
) -> list[Violation]:
    """Every rule that the body of a Messages request breaks, the one the API would name first in front.

    `strictness` is `"default"`, `"schema"` (fields and types only), `"all"` (uncertain rules too), or rules to switch
    on or off by id: `{"no-prefill": False}`. `counting` checks a body for `count_tokens`.
    """
    return list(_violations(_request(body, version, beta, strictness, counting)))


def first_violation(
    body: Any,
    *,
    version: str = VERSIONS[-1],
    beta: Iterable[str] = (),
    strictness: str | Mapping[str, bool] = "default",
    counting: bool = False,
) -> Violation | None:
    """What the API would answer: the first rule that is broken, or None."""
    return next(_violations(_request(body, version, beta, strictness, counting)), None)


def _request(body: Any, version: str, beta: Iterable[str], strictness: Any, counting: bool) -> Request:
    settings = strictness if isinstance(strictness, str) else tuple(sorted(strictness.items()))
    return Request(body, version, frozenset(beta), counting, _switched_on(settings))


@lru_cache(maxsize=256)
def _switched_on(settings: str | tuple[tuple[str, bool], ...]) -> frozenset[str]:
    if settings == "schema":
        return frozenset(rule.id for rule in RULES.values() if rule.shape)
    if settings == "all":
        return frozenset(RULES)
    on = {rule.id for rule in RULES.values() if rule.default}
    if isinstance(settings, str) and settings != "default":
        raise ValueError(f"strictness {settings!r} is not known: say 'default', 'schema', 'all', or rules by id.")
    for id, wanted in settings if isinstance(settings, tuple) else ():
        if id not in RULES:
            near = difflib.get_close_matches(id, RULES, 1)
            raise ValueError(f"There is no rule {id!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
        on = on | {id} if wanted else on - {id}
    return frozenset(on)


def _violations(request: Request) -> Iterator[Violation]:
    if not isinstance(request.body, Mapping):
        yield Violation("field-type", 400, "invalid_request_error", "", "Input should be an object")
        return
    broken: set[str] = set()  # top-level fields that are not of their shape: rules that read them are left out
    for id, found in shape_of(request):
        if id in request.on:
            yield RULES[id].broken_by(found)
        if not id.endswith("unknown-field"):
            broken.add(found.path.partition(".")[0])
    for rule in _active(request.on):
        if not broken or (rule.needs is not None and broken.isdisjoint(rule.needs)):
            for found in rule.find(request):
                yield rule.broken_by(found)


@lru_cache(maxsize=256)
def _active(on: frozenset[str]) -> tuple[Rule, ...]:
    return tuple(rule for rule in _IN_ORDER if rule.id in on)

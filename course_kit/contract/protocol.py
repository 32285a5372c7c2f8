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
import marshal
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from .conversation import CONTENT_RULES, TURN_RULES
from .fields import FIELD_RULES, LATE_RULES, MODEL_RULES, SHAPE_RULES, VERSIONS, shape_of
from .rules import Found, Request, Rule, Turn, Violation, rule
from .tooling import CHOICE_RULES, DEFINITION_RULES, STRICT_RULES, strict_refusals_of

__all__ = ["RULES", "Rule", "Violation", "check_request", "first_violation"]

Findings = Iterator[Found]
MESSAGES = ("messages",)


# The four laws.


@rule("docs", "Handle tool calls", needs=MESSAGES, blocks=("tool_use",))
def calls_answered_at_once(request: Request) -> Findings:
    """Every `tool_use` has its `tool_result` in the next turn, ahead of everything else there."""
    for turn, following in _with_next(request.turns):
        if turn.role == "assistant" and turn.calls:
            answered = {block["tool_use_id"] for _, block in _leading_results(following)}
            if missing := [block["id"] for _, block in turn.calls if block["id"] not in answered]:
                yield Found(turn.path, _unanswered(missing))


@rule("recorded", "recorded and probed on haiku-4-5, 2026-05", needs=MESSAGES, blocks=("tool_use",))
def only_calls_after_a_call(request: Request) -> Findings:
    """After the first call of an assistant turn only calls (or thinking) follow: text belongs ahead of them."""
    for turn in request.turns:
        calls: list[str] = []
        for _, block in turn.blocks if turn.calls and turn.role == "assistant" else ():
            if block["type"] == "tool_use":
                calls.append(block["id"])
            elif calls and block["type"] in ("text", "image", "document", "search_result"):
                yield Found(turn.path, _unanswered(calls))
                break


@rule("reported", "the API's own text, in many reports", needs=MESSAGES, blocks=("tool_result",))
def results_have_a_call(request: Request) -> Findings:
    """Every `tool_result` answers a call of the turn right before it."""
    before: Turn | None = None
    for turn in request.turns:
        results = turn.results if turn.role == "user" else ()
        calls = {block["id"] for _, block in before.calls} if before and results else ()
        for path, block in results:
            if block["tool_use_id"] not in calls:
                yield Found(
                    path,
                    f"unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                )
        before = turn


@rule("reported", "the API's own text, in several reports", needs=MESSAGES, blocks=("tool_result",))
def one_result_per_call(request: Request) -> Findings:
    """A call has exactly one result."""
    for turn in request.turns:
        seen: set[str] = set()
        for path, block in turn.results if len(turn.results) > 1 else ():
            if block["tool_use_id"] in seen:
                yield Found(
                    path,
                    "each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {block['tool_use_id']}",
                )
            seen.add(block["tool_use_id"])


@rule("reported", "the API's own text, in several reports", needs=MESSAGES, blocks=("tool_use",))
def call_ids_unique(request: Request) -> Findings:
    """No two calls of the history share an id."""
    seen: set[str] = set()
    for path, block in request.of_type("tool_use"):
        if block["id"] in seen:
            yield Found(path, "`tool_use` ids must be unique")
        seen.add(block["id"])


@rule("uncertain", "docs and reports differ, 2025-01 to 2026-02", needs=MESSAGES, default=False, blocks=("tool_use",))
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


# All of them, in order.

PAIRING_RULES: tuple[Rule, ...] = (
    call_ids_unique,
    results_have_a_call,
    calls_answered_at_once,
    only_calls_after_a_call,
    one_result_per_call,
    results_in_one_message,
)
_IN_ORDER: tuple[Rule, ...] = (
    *FIELD_RULES,
    *DEFINITION_RULES,
    *MODEL_RULES,
    *TURN_RULES,
    *PAIRING_RULES,
    *CONTENT_RULES,
    *CHOICE_RULES,
    *STRICT_RULES,
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
    settled = not broken and _tools_settled(request)
    plain = not broken and not strict_refusals_of(request)
    types = None if "messages" in broken else frozenset(request.blocks_by_type)
    for one in _active(request.on, settled, plain, types):
        if not broken or (one.needs is not None and broken.isdisjoint(one.needs)):
            for found in one.find(request):
                yield one.broken_by(found)


def _tools_settled(request: Request) -> bool:
    try:
        return _tools_are_legal(marshal.dumps(request.tools, 2), request.on)
    except ValueError:  # nested too deeply to be remembered
        return False


@lru_cache(maxsize=1024)
def _tools_are_legal(tools: bytes, on: frozenset[str]) -> bool:
    """Do these definitions break no rule that looks at nothing else? A loop sends the same ones in every turn.

    They come as the quickest bytes there are for them (`marshal`), which never leave this process.
    """
    request = Request({"tools": marshal.loads(tools)}, VERSIONS[-1], frozenset(), on=on)
    return not any(
        found for one in _IN_ORDER if one.id in on and one.needs == ("tools",) for found in one.find(request)
    )


@lru_cache(maxsize=1024)
def _active(
    on: frozenset[str], tools_settled: bool, nothing_strict: bool, types: frozenset[str] | None
) -> tuple[Rule, ...]:
    """The rules left to try, in order; `types` are those of the content blocks, as far as they can be read."""
    return tuple(
        rule
        for rule in _IN_ORDER
        if rule.id in on
        and not (tools_settled and rule.needs == ("tools",))
        and not (nothing_strict and rule.needs is None and rule in STRICT_RULES)
        and not (types is not None and rule.blocks and types.isdisjoint(rule.blocks))
    )

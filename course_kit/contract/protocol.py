"""What makes a request legal.

A model that calls tools is driven by one list, `messages`, and the API reads that list closely. Three rules carry
almost all of it (lesson 01 breaks each of them):

    1. The turn with the calls comes directly before the turn with their results.
    2. Each call has exactly one result.
    3. The results come first in their turn, and `tool_use_id` pairs each with its call, in any order.

Here they are functions, each of which sees one side of them. The rules about everything else in a request come from the
neighbours: its fields, its tools, what a turn may hold.

`check_request` checks a request against every rule and returns all that it breaks; the API itself reports only the
first. The order is the API's: fields, unknown keys, tool definitions, the model, the conversation, then the rest
(probed 2026-08-31; the order within the last groups is ours).

Each rule says where it is known from and how certain it is. `RULES` has them all by id. How they are tried quickly is
in `checking.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .checking import RuleBook
from .conversation import CONTENT_RULES, TURN_RULES
from .fields import FIELD_RULES, LATE_RULES, MODEL_RULES, SHAPE_RULES, VERSIONS
from .rules import Found, Request, Rule, Turn, Violation, rule
from .tooling import CHOICE_RULES, DEFINITION_RULES, STRICT_RULES

__all__ = ["RULES", "Rule", "Violation", "check_request", "first_violation"]

Findings = Iterator[Found]
MESSAGES = ("messages",)


# From the call's side.


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


# From the result's side.


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


# Ids and messages.


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
    """All results of a turn are in one message (the API seems to combine messages first, so this is a setting)."""
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


# All rules, in the API's order.

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
_BOOK = RuleBook(SHAPE_RULES, _IN_ORDER)

RULES: dict[str, Rule] = _BOOK.rules


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
    return list(_BOOK.violations(_request(body, version, beta, strictness, counting)))


def first_violation(
    body: Any,
    *,
    version: str = VERSIONS[-1],
    beta: Iterable[str] = (),
    strictness: str | Mapping[str, bool] = "default",
    counting: bool = False,
) -> Violation | None:
    """What the API would answer: the first rule that is broken, or None."""
    return next(_BOOK.violations(_request(body, version, beta, strictness, counting)), None)


def _request(body: Any, version: str, beta: Iterable[str], strictness: Any, counting: bool) -> Request:
    return Request(body, version, frozenset(beta), counting, _BOOK.switched_on(strictness))

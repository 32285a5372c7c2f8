"""What a client did, judged: refused requests, and habits that a provider accepts and that cost later.

Only what was on the wire is looked at. Each finding names the request, and the lesson that explains it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from course_kit.contract.messages import content_blocks, merge_turns, tool_result_blocks, tool_use_blocks

from .findings import Finding, blocks_of, continued, field_of, messages_of
from .openai_rules import CHAT_RULES, RESPONSES_RULES
from .report_prompt import PROMPT_JUDGES

if TYPE_CHECKING:
    from .provider import Exchange

__all__ = ["Finding", "Report", "report_on"]


@dataclass(frozen=True)
class Report:
    """All findings over the requests of one provider; true when there is none."""

    findings: tuple[Finding, ...]
    requests: int

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        sent = f"{self.requests} request{'' if self.requests == 1 else 's'}"
        if not self.findings:
            return f"{sent}, nothing to fix."
        lines = [f"{sent}, {len(self.findings)} to fix:"]
        lines += [f"  request {f.request}  {f.rule}: {f.message} (lesson {f.lesson})" for f in self.findings]
        return "\n".join(lines)

    __repr__ = __str__


def report_on(exchanges: "Sequence[Exchange]") -> Report:
    """Everything that the judges find in these exchanges, in the order of the requests."""
    findings = {finding for judge in JUDGES for finding in judge(exchanges)}
    ordered = sorted(findings, key=lambda finding: (finding.request, finding.rule, finding.message))
    return Report(tuple(ordered), len(exchanges))


Judge = Callable[["Sequence[Exchange]"], Iterator[Finding]]


def refused(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    for one in exchanges:
        # The SDK's runner asks for a thread first, and continues without one.
        if one.violation and one.violation.rule != "thread-unsupported":
            yield Finding(one.number, one.violation.rule, one.violation.message, lesson_of(one.violation.rule))


def refused_and_repeated(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    last_refused: dict[str, int] = {}
    for one in exchanges:
        text = _text(one)
        if text in last_refused:
            words = f"request {last_refused[text]} was refused and is repeated unchanged: the answer will be the same"
            yield Finding(one.number, "repeated-refusal", words, "09")
        # Not those that another key would fix: keys are not kept.
        if one.violation and one.violation.status in (400, 404, 405):
            last_refused[text] = one.number


def retry_after_ignored(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    waiting: dict[str, Exchange] = {}
    for one in exchanges:
        text = _text(one)
        asked = waiting.pop(text, None)
        # subtle: a tenth of a second of grace, since clocks and schedulers are not exact.
        if asked and asked.retry_after and one.at - asked.at < asked.retry_after - 0.1:
            waited = max(0.0, one.at - asked.at)
            words = f"came after {waited:.1f} s, though `retry-after` asked for {asked.retry_after:g} s"
            yield Finding(one.number, "retry-after-ignored", words, "09")
        if one.status in (429, 529):
            waiting[text] = one


def result_order(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    for one, before, messages in _last_results(exchanges):
        [turn] = merge_turns(messages)
        called = [block.get("id") for block in tool_use_blocks(before)]
        answered = [block.get("tool_use_id") for block in tool_result_blocks(turn)]
        if answered != called and sorted(map(str, answered)) == sorted(map(str, called)):
            words = (
                "results are in a different order from the calls; ids pair them, but call order keeps requests equal"
            )
            yield Finding(one.number, "result-order", words, "05")
        if len([m for m in messages if tool_result_blocks(m)]) > 1:
            words = "the results of one turn are split over several user messages; send them in one"
            yield Finding(one.number, "results-split", words, "05")
        may_call = field_of(one, "tool_choice", {}).get("type") != "none"  # if not, it is to end its turn
        if may_call and "text" in [block.get("type") for block in content_blocks(turn)]:
            words = "text comes with the results; the model may learn to end its turn and wait for text"
            yield Finding(one.number, "text-after-results", words, "01")


def ran_a_cut_turn(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    ended: dict[str, str] = {}
    for one in exchanges:
        for block in blocks_of(one):
            # Reported once; an error result that tells the model about the cut is the right answer.
            if block.get("type") == "tool_result" and not block.get("is_error"):
                if why := ended.pop(str(block.get("tool_use_id")), None):
                    words = f"a call was run although its turn ended with `{why}`: its input may be half a sentence"
                    yield Finding(one.number, "cut-turn-run", words, "01")
        reply = one.reply or {}
        for block in tool_use_blocks(reply):
            ended.pop(block["id"], None)  # the same request, answered once more
            if reply["stop_reason"] != "tool_use":
                ended[block["id"]] = reply["stop_reason"]


def echo_changed(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    sent: dict[str, Mapping[str, Any]] = {}
    for one in exchanges:
        for block in blocks_of(one):
            original = sent.get(str(block.get("id")))
            if original and (block.get("input"), block.get("name")) != (original["input"], original["name"]):
                del sent[original["id"]]
                words = f"the call {block['id']} goes back with another name or input than the model wrote"
                yield Finding(one.number, "echo-changed", words, "01")
        sent |= {block["id"]: block for block in tool_use_blocks(one.reply or {})}


def forced_for_ever(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    for before, one in continued(exchanges):
        choice = field_of(one, "tool_choice", {})
        if choice.get("type") in ("any", "tool") and choice == before.body.get("tool_choice"):
            if tool_result_blocks(messages_of(one)[-1]):
                words = "the same call is forced again after its result: a model that must call never ends"
                yield Finding(one.number, "forced-again", words, "01")


def stack_trace_sent(exchanges: "Sequence[Exchange]") -> Iterator[Finding]:
    for one in exchanges:
        for block in tool_result_blocks(messages_of(one)[-1]) if messages_of(one) else ():
            if "Traceback (most recent call last)" in json.dumps(block.get("content")):
                words = "a stack trace was sent to the model: it costs tokens, leaks paths, and says not what to do"
                yield Finding(one.number, "stack-trace", words, "04")


JUDGES: tuple[Judge, ...] = (
    refused,
    refused_and_repeated,
    retry_after_ignored,
    result_order,
    ran_a_cut_turn,
    echo_changed,
    forced_for_ever,
    stack_trace_sent,
    *PROMPT_JUDGES,
)


OPENAI_RULES = frozenset(rule.id for rule in (*CHAT_RULES, *RESPONSES_RULES)) | {"previous-response-known"}


def lesson_of(rule: str) -> str:
    """The lesson that explains a rule of the protocol: `"strict-open-object"` → `"03"`, one of OpenAI's → `"11"`."""
    if rule in OPENAI_RULES:
        return "11"
    for part, lesson in (
        ("strict", "03"),
        ("format-without", "03"),
        ("tool-reference", "07"),
        ("defer", "07"),
        ("search-tool", "07"),
        ("cache", "07"),
        ("schema", "02"),
        ("property-keys", "02"),
        ("input-examples", "02"),
        ("tool-name", "02"),
        ("error-result", "04"),
    ):
        if part in rule:
            return lesson
    return "01"


def _text(one: "Exchange") -> str:
    """What makes two requests equal: address, version and body; of a body that cannot be read, its digest."""
    version = one.headers.get("anthropic-version"), one.headers.get("anthropic-beta")
    return f"{one.method} {one.path} {version} {_sorted_json(one.body) if one.body else one.digest}"


def _sorted_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _last_results(
    exchanges: "Sequence[Exchange]",
) -> Iterator[tuple["Exchange", Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Each request that ends in results: with the turn that called and the user messages that answer."""
    for one in exchanges:
        messages = messages_of(one)
        tail: list[Mapping[str, Any]] = []
        for message in reversed(messages):
            if message["role"] != "user":
                break
            tail.insert(0, message)
        before = messages[: len(messages) - len(tail)]
        if before and any(tool_result_blocks(message) for message in tail):
            yield one, merge_turns(before)[-1], tail

"""What the report finds: for each finding one run that has it, and a like run that has not."""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from course_kit.contract.examples import ASK, NO_FORCING, RESULT, TEXT, WEATHER, assistant, body, user
from course_kit.contract.protocol import RULES
from course_kit.contract.transport import TRANSPORT_RULES
from course_kit.mock import faults, report
from course_kit.mock.memory import MEMORY_RULES
from course_kit.mock.provider import Exchange, MockProvider
from course_kit.mock.report import Finding, lesson_of, report_on
from course_kit.mock.scripted import call

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
OSLO, LIMA = call("get_weather", city="Oslo"), call("get_weather", city="Lima")
ADD = {"name": "add", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}


def post(provider: MockProvider, request: Any, **headers: str) -> dict[str, Any]:
    raw = request if isinstance(request, bytes) else json.dumps(request).encode()
    answer = provider.handle("POST", "/v1/messages", {**HEADERS, **headers}, raw)
    return json.loads(answer.body)


def rules(provider: MockProvider) -> list[str]:
    return [finding.rule for finding in provider.report().findings]


def result(block: dict[str, Any], content: Any = "4 C", **fields: Any) -> dict[str, Any]:
    return {**RESULT, "tool_use_id": block["id"], "content": content, **fields}


def round_trip(
    answer: Callable[[list[Any]], list[Any]],
    *,
    echo: Callable[[list[Any]], list[Any]] = lambda content: content,
    steps: tuple[Any, ...] = ([OSLO, LIMA], "It is cold."),
    fault: Any = None,
    first: dict[str, Any] | None = None,
    **fields: Any,
) -> MockProvider:
    """Two requests: a question, and the model's calls answered by the messages that `answer` makes of them."""
    provider = MockProvider(list(steps), faults={1: fault} if fault else None)
    content = post(provider, first or body())["content"]
    calls = [block for block in content if block["type"] == "tool_use"]
    post(provider, {**(first or body()), **fields, "messages": [ASK, assistant(*echo(content)), *answer(calls)]})
    return provider


def in_order(calls: list[Any]) -> list[Any]:
    return [user(*map(result, calls))]


def test_a_good_run_has_nothing_to_mend() -> None:
    provider = round_trip(in_order)
    assert provider.report().findings == ()
    assert provider.report() and str(provider.report()) == repr(provider.report()) == "2 requests, nothing to fix."


# name → (the run that has it, the twin that has not, its rules, the request it names, its lesson)
RUNS: dict[str, tuple[Callable[[], MockProvider], Callable[[], MockProvider], list[str], int, str]] = {
    "result-order": (
        lambda: round_trip(lambda calls: [user(*map(result, reversed(calls)))]),
        lambda: round_trip(in_order),
        ["result-order"],
        2,
        "05",
    ),
    "results-split": (
        lambda: round_trip(lambda calls: [user(result(one)) for one in calls]),
        lambda: round_trip(in_order),
        ["results-split"],
        2,
        "05",
    ),
    "text-after-results": (
        lambda: round_trip(lambda calls: [user(*map(result, calls), TEXT)]),
        lambda: round_trip(in_order),
        ["text-after-results"],
        2,
        "01",
    ),
    "cut-turn-run": (
        lambda: round_trip(in_order, fault=faults.max_tokens(1.0)),
        lambda: round_trip(
            lambda calls: [user(*(result(one, "The turn was cut.", is_error=True) for one in calls))],
            fault=faults.max_tokens(1.0),
        ),
        ["cut-turn-run", "cut-turn-run"],
        2,
        "01",
    ),
    "refused-turn-run": (
        lambda: round_trip(in_order, fault=faults.refusal(), steps=(OSLO, "Cold.")),
        lambda: round_trip(in_order, steps=(OSLO, "Cold.")),
        ["cut-turn-run"],
        2,
        "01",
    ),
    "echo-changed": (
        lambda: round_trip(in_order, echo=lambda content: [{**content[0], "input": {"city": "Rome"}}, content[1]]),
        lambda: round_trip(in_order, echo=lambda content: json.loads(json.dumps(content))),
        ["echo-changed"],
        2,
        "01",
    ),
    "tools-reordered": (
        lambda: round_trip(in_order, first=body(tools=[WEATHER, ADD]), tools=[ADD, WEATHER]),
        lambda: round_trip(in_order, first=body(tools=[WEATHER, ADD]), tools=[WEATHER, ADD]),
        ["tools-reordered"],
        2,
        "07",
    ),
    "keys-reordered": (
        lambda: round_trip(in_order, tools=[dict(reversed(WEATHER.items()))]),
        lambda: round_trip(in_order, tools=[dict(WEATHER)]),
        ["tools-reordered"],
        2,
        "07",
    ),
    "tools-changed": (
        lambda: round_trip(in_order, tools=[WEATHER, ADD]),
        lambda: round_trip(in_order, tools=[{**WEATHER, "cache_control": {"type": "ephemeral"}}]),
        ["tools-changed"],
        2,
        "07",
    ),
    "forced-again": (
        lambda: round_trip(in_order, first=body(tool_choice={"type": "any"})),
        lambda: round_trip(in_order, first=body(tool_choice={"type": "any"}), tool_choice={"type": "auto"}),
        ["forced-again"],
        2,
        "01",
    ),
    "stack-trace": (
        lambda: round_trip(
            lambda calls: [
                user(*(result(c, "Traceback (most recent call last):\n  File", is_error=True) for c in calls))
            ]
        ),
        lambda: round_trip(lambda calls: [user(*(result(c, "No such city.", is_error=True) for c in calls))]),
        ["stack-trace"],
        2,
        "04",
    ),
    "a rule of the protocol": (
        lambda: round_trip(lambda calls: [user(result(calls[0]))]),
        lambda: round_trip(in_order),
        ["calls-answered-at-once"],
        2,
        "01",
    ),
    "thinking-kept": (
        lambda: round_trip(in_order, echo=lambda content: content[1:], first=body(model=NO_FORCING)),
        lambda: round_trip(in_order, first=body(model=NO_FORCING)),
        ["thinking-kept"],
        2,
        "01",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_has_it_and_a_twin_that_has_not(name: str) -> None:
    has_it, has_it_not, expected, request, lesson = RUNS[name]
    report = has_it().report()
    assert not report
    assert ({f.rule for f in report.findings}, {f.request for f in report.findings}) == (set(expected), {request})
    assert {finding.lesson for finding in report.findings} == {lesson}
    assert f"request {request}  {expected[0]}: " in str(report) and f"(lesson {lesson})" in str(report)
    assert has_it_not().report().findings == ()


def test_findings_of_one_rule_stand_in_the_order_of_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    in_order = [Finding(number, rule, words, "01") for number in (1, 2) for rule in "ab" for words in "abcdef"]
    monkeypatch.setattr(report, "JUDGES", [lambda exchanges: in_order[::-1]])
    assert list(report_on([]).findings) == in_order


def test_a_text_in_a_message_of_its_own_does_not_split_the_results() -> None:
    assert rules(round_trip(lambda calls: [*in_order(calls), user(TEXT)])) == ["text-after-results"]


def test_a_text_beside_the_results_may_ask_for_the_last_word() -> None:
    """A closing instruction: calls are forbidden, so to end the turn is what is wanted (lesson 09)."""
    provider = MockProvider([OSLO, "Cold.", "Cold."])
    content = post(provider, body())["content"]
    history = [ASK, assistant(*content), user(*map(result, content), TEXT)]
    post(provider, body(*history) | {"tool_choice": {"type": "none"}})
    assert provider.report().findings == ()
    post(provider, body(*history))
    assert rules(provider) == ["text-after-results"]


def test_a_finding_is_told_once_though_the_history_goes_on() -> None:
    provider = MockProvider([OSLO, "Cold.", "Yes."], faults={1: faults.refusal()})
    content = post(provider, body())["content"]
    history = [ASK, assistant({**content[0], "input": {"city": "Rome"}}), *in_order(content)]
    post(provider, body(*history))
    post(provider, body(*history, assistant(TEXT), ASK))
    assert [(f.request, f.rule) for f in provider.report().findings] == [(2, "cut-turn-run"), (2, "echo-changed")]


def test_a_request_that_is_answered_once_more_is_judged_by_its_last_answer() -> None:
    """The first answer was cut and left out; a replayed reply brings the same id again."""
    replayed = {**OSLO, "id": "toolu_A"}
    provider = MockProvider([replayed, replayed, "Cold."], faults={1: faults.max_tokens(1.0)})
    first, content = (post(provider, body())["content"] for _ in range(2))
    assert first[0]["id"] == content[0]["id"]
    post(provider, body(ASK, assistant(*content), *in_order(content)))
    assert provider.report().findings == ()


def test_moving_cache_marks_do_not_hide_that_a_conversation_goes_on() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    first = {"role": "user", "content": [{"type": "text", "text": "Weather?", **mark}]}
    again = {"role": "user", "content": [{"type": "text", "text": "Weather?"}]}
    provider = MockProvider(["Where?", "Cold."])
    post(provider, body(first, tools=[WEATHER, ADD]))
    post(provider, body(again, assistant(TEXT), ASK, tools=[ADD, WEATHER]))
    assert rules(provider) == ["tools-reordered"]


@pytest.mark.parametrize(
    ("first", "again", "answer"),
    [
        ({"type": "auto"}, {"type": "auto"}, in_order),
        ({"type": "tool", "name": "get_weather"}, {"type": "any"}, in_order),
    ],
    ids=["nothing_forced", "another_choice"],
)
def test_what_is_not_forced_again(first: Any, again: Any, answer: Any) -> None:
    assert round_trip(answer, first=body(tool_choice=first), tool_choice=again, steps=(OSLO, LIMA)).report()


def test_a_new_question_may_be_forced_too() -> None:
    forced = {"tool_choice": {"type": "any"}}
    provider = MockProvider([OSLO, LIMA])
    content = post(provider, body(**forced))["content"]
    history = [ASK, assistant(*content), *in_order(content), assistant(TEXT)]
    post(provider, body(*history, user(TEXT), **forced))
    assert provider.report().findings == ()


def test_a_request_that_ends_with_the_assistants_words_has_no_results_to_judge() -> None:
    provider = MockProvider(["Cold."])
    post(provider, body(ASK, assistant(TEXT), model="claude-haiku-4-5"))
    assert provider.report().findings == ()


def test_results_without_a_turn_that_called_are_only_refused() -> None:
    provider = MockProvider([])
    post(provider, body(user(RESULT)))
    assert rules(provider) == [provider.requests[0].violation.rule]


# Refusals, and what is repeated


def test_a_refused_request_repeated_unchanged() -> None:
    provider = MockProvider(["Hi."])
    for request in (body(foo=1), body(foo=1), body()):
        post(provider, request)
    assert [(f.request, f.rule, f.lesson) for f in provider.report().findings] == [
        (1, "unknown-field", "01"),
        (2, "repeated-refusal", "09"),
        (2, "unknown-field", "01"),
    ]


@pytest.mark.parametrize(
    "requests",
    [
        [(body(foo=1), {}), (body(foo=2), {})],
        [(b"{", {}), (b"[", {})],
        [(body(), {"x-api-key": ""}), (body(), {})],
        [(body(temperature=1), {}), (body(temperature=1), {"anthropic-version": "2023-06-01"})],
        [(body(foo=1), {"anthropic-beta": "files-api-2025-04-14"}), (body(foo=1), {})],
    ],
    ids=["another_body", "two_that_cannot_be_read", "another_key", "another_version", "another_beta"],
)
def test_what_is_no_repetition(requests: list[Any]) -> None:
    provider = MockProvider(lambda request: "Hi.")
    for request, headers in requests:
        post(provider, request, **headers)
    assert provider.requests[0].violation and "repeated-refusal" not in rules(provider)


@pytest.mark.parametrize(
    ("method", "request_", "rule"),
    [("POST", body(model="x"), "model-known"), ("GET", body(), "method-fits")],
    ids=["404", "405"],
)
def test_what_is_not_there_is_not_there_the_second_time(method: str, request_: Any, rule: str) -> None:
    provider = MockProvider([])
    for _ in range(2):
        provider.handle(method, "/v1/messages", HEADERS, json.dumps(request_).encode())
    assert [(f.request, f.rule) for f in provider.report().findings] == [(1, rule), (2, rule), (2, "repeated-refusal")]


def test_keys_in_another_order_are_a_repetition() -> None:
    provider = MockProvider([])
    post(provider, body(foo=1))
    post(provider, dict(reversed(body(foo=1).items())))
    assert rules(provider) == ["unknown-field", "repeated-refusal", "unknown-field"]


def test_a_body_that_cannot_be_read_may_be_repeated_too() -> None:
    provider = MockProvider([])
    post(provider, b"{")
    post(provider, b"{")
    assert rules(provider) == ["body-is-json", "body-is-json", "repeated-refusal"]


def test_the_runners_question_for_a_thread_is_no_fault_of_the_client() -> None:
    provider = MockProvider([])
    post(provider, body(thread={"type": "create"}), **{"anthropic-beta": "message-threads-2026-08-12"})
    assert provider.requests[0].violation.rule == "thread-unsupported" and provider.report()


# retry-after


def overloaded(seconds: float) -> MockProvider:
    return MockProvider(lambda request: "Hi.", faults=[faults.status(529, retry_after=seconds)])


def test_the_sdk_waits_as_it_is_told() -> None:
    provider = overloaded(0.15)
    assert provider.client(max_retries=1).messages.create(**body()).content[0].text == "Hi."
    assert [exchange.retry_after for exchange in provider.requests] == [0.15, None]
    assert provider.report().findings == ()


def test_a_client_that_does_not_wait() -> None:
    provider = overloaded(30)
    client = provider.client(max_retries=0)
    with pytest.raises(anthropic.APIStatusError):
        client.messages.create(**body())
    client.messages.create(**body())
    [finding] = provider.report().findings
    assert (finding.request, finding.rule, finding.lesson) == (2, "retry-after-ignored", "09")
    assert finding.message.startswith("came after ") and finding.message.endswith("`retry-after` asked for 30 s")


@pytest.mark.parametrize(
    ("later", "rule"),
    [(0.0, "retry-after-ignored"), (4.8, "retry-after-ignored"), (4.9, None), (4.95, None), (9.0, None)],
)
def test_how_long_is_long_enough(later: float, rule: str | None) -> None:
    assert [finding.rule for finding in report_on(after(429, later)).findings] == ([rule] if rule else [])


def after(status: int, later: float, retry_after: float | None = 5.0) -> list[Exchange]:
    """Two equal requests, the first of them answered with this status."""
    first, second = (
        Exchange(number, "req", "POST", "/v1/messages", {}, b"{}", at, "digest")
        for number, at in ((1, 10.0), (2, 10.0 + later))
    )
    first.status, first.retry_after = status, retry_after
    return [first, second]


@pytest.mark.parametrize(("later", "waited"), [(4.8, "4.8"), (1.25, "1.2"), (-3.0, "0.0")])
def test_how_long_it_waited_is_told(later: float, waited: str) -> None:
    words = f"came after {waited} s, though `retry-after` asked for 5 s"
    for status in (429, 529):
        assert report_on(after(status, later)).findings == (Finding(2, "retry-after-ignored", words, "09"),)


def test_only_who_is_told_to_wait_must_wait() -> None:
    assert report_on(after(503, 0.0)).findings == report_on(after(429, 0.0, None)).findings == ()


def test_another_request_need_not_wait() -> None:
    provider = overloaded(5)
    post(provider, body())
    post(provider, body(max_tokens=9))
    assert provider.report()


# Odd requests


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"messages": 5},
        {"messages": [5, {"role": 5}, {"role": "user"}, {"role": "user", "content": [5]}]},
        {"tools": 5, "messages": [ASK]},
        {"tools": [5], "tool_choice": 5, "messages": [ASK]},
        {"messages": [ASK, {"role": "assistant", "content": [{"type": "tool_use"}]}, user({"type": "tool_result"})]},
    ],
    ids=["empty", "no_list", "odd_messages", "tools_no_list", "odd_tools", "blocks_without_ids"],
)
def test_a_request_that_cannot_be_read_is_only_refused(request_: dict[str, Any]) -> None:
    # The third is answered by a fault, before anybody looks at its body.
    provider = MockProvider(lambda request: "Hi.", faults={3: faults.status(529)})
    odd = {**body(), **request_} if request_ else request_
    for one in (body(), odd, odd, body(ASK, assistant(TEXT), ASK)):
        post(provider, one)
    if "messages" in odd and odd["messages"] == [ASK]:
        post(provider, {**odd, "messages": [ASK, assistant(TEXT), ASK]})
    told = provider.report()
    assert told.requests >= 4 and 1 not in {finding.request for finding in told.findings}
    assert str(told)


def test_every_rule_is_explained_by_a_lesson() -> None:
    ids = [*RULES, *(rule.id for rule in TRANSPORT_RULES), *MEMORY_RULES]
    assert {lesson_of(id) for id in ids} == {"01", "02", "03", "04", "07"}
    for id, lesson in (
        ("calls-answered-at-once", "01"),
        ("tool-schema-root", "02"),
        ("tool-name", "02"),
        ("input-examples-fit", "02"),
        ("format-without-prefill", "03"),
        ("tool-reference-known", "07"),
        ("search-tool-name", "07"),
        ("property-keys", "02"),
        ("strict-open-object", "03"),
        ("error-result-says-something", "04"),
        ("some-tool-not-deferred", "07"),
        ("cache-breakpoints", "07"),
    ):
        assert lesson_of(id) == lesson


def test_the_rules_of_the_other_provider_are_lesson_11() -> None:
    for id in ("chat-calls-and-results", "responses-calls-and-outputs", "strict-in-subset", "previous-response-known"):
        assert lesson_of(id) == "11"


def test_a_report_shows_each_finding_in_a_line() -> None:
    provider = MockProvider([])
    post(provider, body(foo=1))
    assert provider.report().findings == (Finding(1, "unknown-field", "foo: Extra inputs are not permitted", "01"),)
    assert str(provider.report()).splitlines() == [
        "1 request, 1 to fix:",
        "  request 1  unknown-field: foo: Extra inputs are not permitted (lesson 01)",
    ]

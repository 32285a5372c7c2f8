"""The rules of a legal request: each refuses one body and lets a like one pass; order, settings and real cases."""

import json
from dataclasses import replace
from typing import Any

import pytest

from course_kit import check_request
from course_kit.contract import checking
from course_kit.contract.checking import RuleBook
from course_kit.contract.examples import (
    ASK,
    CALL,
    EXAMPLES,
    HAIKU,
    LATER,
    OLD,
    OPUS,
    RESULT,
    SEARCH,
    TEXT,
    WEATHER,
    assistant,
    body,
    round_trip,
    tool,
    user,
)
from course_kit.contract.models import MODELS
from course_kit.contract.protocol import RULES, Rule, Violation, first_violation


def split(case: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return case if isinstance(case, tuple) else (case, {})


def test_every_rule_has_a_case() -> None:
    assert EXAMPLES.keys() == RULES.keys()


@pytest.mark.parametrize("id", RULES)
def test_rule_refuses_one_and_passes_one(id: str) -> None:
    (refused, refused_with), (passes, passes_with) = map(split, EXAMPLES[id])
    on = {id: True}  # uncertain rules are off by default
    found = check_request(refused, strictness=on, **refused_with)
    assert id in {violation.rule for violation in found}
    assert found[0].rule == LATER.get(id, id)
    assert check_request(passes, strictness=on, **passes_with) == []


@pytest.mark.parametrize("id", RULES)
def test_rule_is_what_refuses(id: str) -> None:
    """The failing twin: without the rule, nothing says what it said."""
    refused, options = split(EXAMPLES[id][0])
    without = check_request(refused, strictness={id: False}, **options)
    assert id not in {violation.rule for violation in without}


@pytest.mark.parametrize("id", RULES)
def test_rule_says_what_it_is(id: str) -> None:
    rule = RULES[id]
    assert rule.says and rule.source and not rule.says.endswith(":")
    assert rule.certainty in ("sdk", "docs", "recorded", "reported", "uncertain")
    assert rule.default or rule.certainty == "uncertain"


def test_uncertain_rules_are_settings() -> None:
    off = {id for id, rule in RULES.items() if not rule.default}
    assert off == {
        "first-message-from-user",
        "results-in-one-message",
        "result-content-not-null",
        "tools-declared-for-history",
        "strict-string-length",
    }
    for id in off:
        refused, options = split(EXAMPLES[id][0])
        assert check_request(refused, **options) == []
        assert id in {v.rule for v in check_request(refused, strictness="all", **options)}


# The order of complaints


def test_order_of_fields_is_the_apis() -> None:
    broken = {
        "top_p": "x",
        "stream": 1,
        "max_tokens": None,
        "system": 5,
        "messages": "x",
        "tools": "x",
        "tool_choice": "auto",
        "foo": 1,
        "thinking": 1,
        "model": 7,
    }
    paths = [violation.path for violation in check_request(broken, version="2023-06-01")]
    assert paths == [
        "model",
        "tool_choice",
        "tools",
        "messages",
        "system",
        "thinking",
        "max_tokens",
        "top_p",
        "stream",
        "foo",
    ]


def test_missing_model_beats_everything() -> None:
    assert first_violation({"foo": 1, "messages": []}).message == "model: Field required"


def test_unknown_key_beats_the_conversation() -> None:
    assert [v.rule for v in check_request(body(user(RESULT), foo=1))] == ["unknown-field", "results-have-a-call"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "system content must contain at least one block"),
        (" ", "system text blocks must contain non-whitespace text"),
    ],
)
def test_a_system_turn_says_something(content: Any, said: str) -> None:
    turn = {"role": "system", "content": content}
    assert said in [violation.message.removeprefix("messages.1: ") for violation in check_request(body(ASK, turn))]


@pytest.mark.parametrize(
    "turns", [(user(TEXT, {**TEXT, "text": ""}),), (ASK, assistant(TEXT, {**TEXT, "text": ""}), ASK)]
)
def test_an_empty_text_is_refused_in_any_turn(turns: tuple[dict[str, Any], ...]) -> None:
    assert "text-not-empty" in [violation.rule for violation in check_request(body(*turns))]


def test_manual_thinking_without_a_budget() -> None:
    [violation] = [
        one for one in check_request(body(model=OLD, thinking={"type": "enabled"})) if one.rule == "thinking-budget"
    ]
    assert violation.message == "thinking.enabled.budget_tokens: Field required"


def test_a_tool_that_a_search_found_is_still_there() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "x"}}
    found = {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "gone"}],
    }
    result = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}
    sent = body(ASK, assistant(use, result, TEXT), ASK, tools=[SEARCH, WEATHER])
    violation = next(one for one in check_request(sent) if one.rule == "tool-reference-known")
    assert violation.path == "messages.1.content.1.tool_search_tool_result.content.tool_references.0"


def test_all_are_returned_and_the_first_is_first() -> None:
    bad = body(ASK, assistant(CALL), user(TEXT), tools=[WEATHER, WEATHER], tool_choice={"type": "tool", "name": "x"})
    found = check_request(bad)
    assert [v.rule for v in found] == ["tool-names-unique", "calls-answered-at-once", "chosen-tool-exists"]
    assert first_violation(bad) == found[0]


def test_what_cannot_be_read_is_not_judged() -> None:
    assert [v.path for v in check_request(body(tools="x", tool_choice={"type": "tool", "name": "x"}))] == ["tools"]
    assert [v.rule for v in check_request(body(user(RESULT), max_tokens="x"))] == ["field-type", "results-have-a-call"]


@pytest.mark.parametrize("body", [None, [], "x", 5])
def test_body_that_is_no_object(body: Any) -> None:
    assert check_request(body) == [
        Violation("field-type", 400, "invalid_request_error", "", "Input should be an object")
    ]


def test_beside_an_unknown_key_everything_else_is_judged() -> None:
    """A rule that reads all fields is left out where one is of the wrong shape, and an unknown key is no shape."""
    unknown = body(foo=1, tool_choice={"type": "tool", "name": "x"})
    assert [v.rule for v in check_request(unknown)] == ["unknown-field", "chosen-tool-exists"]
    in_a_tool = body(tools=[tool(parameters={}), tool(parameters={})])
    assert [v.rule for v in check_request(in_a_tool)] == [
        "tool-unknown-field",
        "tool-unknown-field",
        "tool-names-unique",
    ]


# What is tried


class Watched:
    """A book of all rules that notes which of them it tries, those about the shape of fields apart."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.noted: list[str] = []
        shape = tuple(one for one in RULES.values() if one.shape)
        in_order = tuple(self.noting(one) for one in RULES.values() if not one.shape)
        strict = {one.id for one in checking.STRICT_RULES}
        monkeypatch.setattr(checking, "STRICT_RULES", tuple(one for one in in_order if one.id in strict))
        self.book = RuleBook(shape, in_order)

    def noting(self, one: Rule) -> Rule:
        def find(request: Any) -> Any:
            self.noted.append(one.id)
            return one.find(request)

        return replace(one, find=find)

    def tries(self, sent: dict[str, Any], strictness: Any = "all") -> list[str]:
        self.noted.clear()
        list(self.book.violations(checking.Request(sent, VERSION, frozenset(), on=self.book.switched_on(strictness))))
        return list(self.noted)


VERSION = "2026-10-21"
OF_TOOLS = [one.id for one in RULES.values() if one.needs == ("tools",)]
OF_BLOCKS = {one.id for one in RULES.values() if one.blocks}
OF_STRICT = {one.id for one in checking.STRICT_RULES if one.needs is None}
OTHERS = [one.id for one in RULES.values() if not one.shape and one.id not in {*OF_TOOLS, *OF_BLOCKS, *OF_STRICT}]


def test_what_cannot_be_broken_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    assert watched.tries(body(ASK, tools=[WEATHER])) == [*OF_TOOLS, *OTHERS]
    assert watched.tries(body(ASK, tools=[WEATHER])) == OTHERS  # these tools are known to be legal
    assert watched.tries(body(ASK, tools=[WEATHER]), "default") == [
        *OF_TOOLS,
        *(id for id in OTHERS if RULES[id].default),
    ]


def test_only_the_rules_of_the_blocks_that_are_there_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    watched.tries(round_trip())
    of_calls = {one.id for one in RULES.values() if {"tool_use", "tool_result"} & {*one.blocks}}
    expected = [id for id in RULES if id in of_calls or id in OTHERS]
    assert watched.tries(round_trip()) == expected


def test_rules_of_strict_mode_are_tried_where_a_strict_tool_breaks_one(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    sent = body(ASK, tools=[tool(strict=True, input_schema={"type": "object"})])
    watched.tries(sent)
    assert watched.tries(sent) == [id for id in RULES if id in OF_STRICT or id in OTHERS]


def test_tools_that_break_a_rule_are_tried_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    twice = body(ASK, tools=[WEATHER, WEATHER])
    watched.tries(twice)
    assert watched.tries(twice) == [id for id in RULES if id in OF_TOOLS or id in OTHERS]
    off = {"tool-names-unique": False}  # and of a rule that is off, nothing is broken
    watched.tries(twice, off)
    assert watched.tries(twice, off) == [id for id in OTHERS if RULES[id].default]


def test_only_rules_that_can_read_their_fields_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    assert watched.tries(body(messages="x", tools=[WEATHER])) == OF_TOOLS
    assert watched.tries(body(ASK, tools="x")) == [
        id for id in OTHERS if RULES[id].needs is not None and "tools" not in RULES[id].needs
    ]


# Settings


def test_schema_only_looks_at_fields_and_types() -> None:
    filler = body(tools=[tool(defer_loading=True, input_schema={"type": "object", "properties": {"a": "bar"}})])
    assert check_request(filler)[0].rule == "schema-valid"
    assert check_request(filler, strictness="schema") == []
    assert check_request(body(foo=1), strictness="schema")[0].rule == "unknown-field"


def test_unknown_strictness_is_named() -> None:
    with pytest.raises(ValueError, match="'default', 'schema', 'all'"):
        check_request(body(), strictness="strict")
    with pytest.raises(ValueError, match="did you mean 'no-prefill'"):
        check_request(body(), strictness={"no-prefil": False})
    with pytest.raises(ValueError, match=r"^There is no rule '§'\.$"):
        check_request(body(), strictness={"§": False})


def test_counting_knows_no_max_tokens() -> None:
    counted = {key: value for key, value in body().items() if key != "max_tokens"}
    assert check_request(counted, counting=True) == []
    assert check_request(body(), counting=True)[0].message == "max_tokens: Extra inputs are not permitted"
    forced = {**counted, "model": "claude-opus-5-5", "tool_choice": {"type": "any"}}
    assert check_request(forced, counting=True)[0].rule == "forcing-supported"


@pytest.mark.parametrize("id", MODELS)
def test_forcing_by_model(id: str) -> None:
    refused = {v.rule for v in check_request(body(model=id, tool_choice={"type": "any"}))}
    assert ("forcing-supported" in refused) is not MODELS[id].forcing


# Words of the API


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (body(tool_choice="auto"), "tool_choice: Input should be an object"),
        (body(max_tokens=-1), "max_tokens: must be greater than or equal to 0"),
        (body(tools=[tool(name="a.b")]), "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
        (body(tools=[tool(name="")]), "tools.0.custom.name: String should have at least 1 character"),
        (body(tools=[tool(name="a" * 129)]), "tools.0.custom.name: String should have at most 128 characters"),
        (body(tools=[{"name": "a", "parameters": {}}]), "tools.0.custom.input_schema: Field required"),
        (
            body(tools=[tool(input_schema={"type": "array"})]),
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        (body(tools=[WEATHER, WEATHER]), "tools: Tool names must be unique."),
        (body(tool_choice={"type": "tool", "name": "x"}), "Tool 'x' not found in provided tools"),
        (body(model="gpt-5"), "model: gpt-5"),
        ({**body(), "messages": []}, "messages: at least one message is required"),
        (
            body({"role": "tool", "content": "x"}),
            'messages: Unexpected role "tool". Allowed roles are "user" or "assistant"',
        ),
        (
            round_trip({"type": "tool_result", "content": "x"}),
            "messages.2.content.0.tool_result.tool_use_id: Field required",
        ),
        (
            body(ASK, assistant({**CALL, "id": "a b"})),
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            body(user({**RESULT, "tool_use_id": "toolu_Z"})),
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_Z. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        ),
        (body({"role": "user", "content": "a", "id": 1}), "messages.0.id: Extra inputs are not permitted"),
    ],
)
def test_words(bad: dict[str, Any], words: str) -> None:
    assert first_violation(bad).message == words


def test_status_and_type() -> None:
    unknown = first_violation(body(model="x"))
    assert (unknown.status, unknown.type) == (404, "not_found_error")
    assert (first_violation(body(foo=1)).status, first_violation(body(foo=1)).type) == (400, "invalid_request_error")


# Field reports, part (a)

FR_01 = [
    {"role": "user", "content": "Weather in Oslo, then in Lima?"},
    assistant({**CALL, "id": "toolu_A", "input": {"city": "Oslo"}}),
    user({**RESULT, "tool_use_id": "toolu_A"}),
    assistant({**CALL, "id": "toolu_B", "input": {"city": "Lima"}}),
    user({**RESULT, "tool_use_id": "toolu_B", "content": "19 C"}),
    {"role": "assistant", "content": "Oslo 4 C, Lima 19 C."},
    {"role": "user", "content": "And tomorrow?"},
]


@pytest.mark.parametrize(
    ("keep", "orphan"), [(7, None), (6, None), (5, "toolu_A"), (4, None), (3, "toolu_B"), (2, None), (1, None)]
)
def test_fr01_trimmed_history(keep: int, orphan: str | None) -> None:
    found = check_request(body(*FR_01[-keep:]))
    if orphan is None:
        assert found == []
    else:
        assert found[0].path == "messages.0.content.0" and orphan in found[0].message


def test_fr02_something_between_call_and_result() -> None:
    before_result = first_violation(round_trip(TEXT, RESULT))
    after_call = first_violation(body(ASK, assistant(CALL, TEXT), user(RESULT)))
    for violation in (before_result, after_call):
        assert violation.status == 400
        assert "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_A" in violation.message
    assert check_request(round_trip(RESULT, TEXT)) == []
    assert check_request(body(ASK, assistant(TEXT, CALL), user(RESULT))) == []


def test_fr02_siblings() -> None:
    second = {**CALL, "id": "toolu_B"}
    second_result = {**RESULT, "tool_use_id": "toolu_B"}
    between_results = check_request(body(ASK, assistant(CALL, second), user(RESULT, TEXT, second_result)))
    assert [v.rule for v in between_results] == ["calls-answered-at-once"] and "toolu_B" in between_results[0].message
    in_a_second_message = check_request(body(ASK, assistant(CALL), assistant(TEXT), user(RESULT)))
    assert [v.rule for v in in_a_second_message] == ["only-calls-after-a-call"]
    text_message_first = check_request(body(ASK, assistant(CALL), user(TEXT), user(RESULT)))
    assert [v.rule for v in text_message_first] == ["calls-answered-at-once"]


def test_fr03_two_results_for_one_call() -> None:
    violation = first_violation(round_trip({**RESULT, "is_error": True, "content": "boom"}, RESULT))
    assert violation.rule == "one-result-per-call" and "toolu_A" in violation.message


def test_fr04_results_in_several_messages() -> None:
    second = {**CALL, "id": "toolu_B"}
    split_up = body(ASK, assistant(CALL, second), user(RESULT), user({**RESULT, "tool_use_id": "toolu_B"}))
    assert check_request(split_up) == []
    assert check_request(split_up, strictness={"results-in-one-message": True})[0].rule == "results-in-one-message"


@pytest.mark.parametrize(
    "name", ["cal.create-event", "todo/find", "get weather", "météo", "", "a" * 129, "get_weather\n", "天气"]
)
def test_fr05_tool_names(name: str) -> None:
    violation = first_violation(body(tools=[WEATHER, tool(name=name)]))
    assert (violation.rule, violation.path) == ("tool-name", "tools.1.custom.name")


@pytest.mark.parametrize("key", ["$top", "filter[id]", "étage", "a b", "", "a" * 65, "a\n"])
def test_fr05_property_keys(key: str) -> None:
    bad = {"type": "object", "properties": {key: {"type": "string"}}}
    violation = first_violation(body(tools=[tool(input_schema=bad)]))
    assert (violation.rule, violation.path) == ("property-keys", "tools.0.custom.input_schema.properties")
    nested = {"type": "object", "properties": {"inner": bad}}
    assert check_request(body(tools=[tool(input_schema=nested)])) == []


@pytest.mark.parametrize("name", ["a", "A-b_9", "a" * 128])
def test_fr05_good_names(name: str) -> None:
    assert check_request(body(tools=[tool(name=name)])) == []


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_fr06_union_at_the_root(keyword: str) -> None:
    union = [{"properties": {"id": {"type": "integer"}}, "required": ["id"]}]
    violation = first_violation(body(tools=[tool(input_schema={"type": "object", keyword: union})]))
    assert (violation.rule, violation.path) == ("schema-top-level-union", "tools.0.custom.input_schema")
    inside = {"type": "object", "properties": {"who": {keyword: [{"type": "integer"}]}}}
    assert check_request(body(tools=[tool(input_schema=inside)])) == []


BOOK = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"guest": {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}},
    "required": ["guest"],
}


def test_fr07_strict_open_object() -> None:
    assert first_violation(body(tools=[tool(strict=True, input_schema=BOOK)])).rule == "strict-open-object"
    assert check_request(body(tools=[tool(input_schema=BOOK)])) == []
    assert check_request(body(tools=[tool(strict=False, input_schema=BOOK)])) == []
    closed = json.loads(json.dumps(BOOK))
    closed["properties"]["guest"]["additionalProperties"] = False
    assert check_request(body(tools=[tool(strict=True, input_schema=closed)])) == []


def test_fr07_budget_over_the_request() -> None:
    optional = {
        "type": "object",
        "additionalProperties": False,
        "properties": {f"p{i}": {"type": "string"} for i in range(13)},
    }
    tools = [tool(name=name, strict=True, input_schema=optional) for name in ("a", "b")]
    violation = first_violation(body(tools=tools))
    assert violation.rule == "strict-too-many-optional" and "26" in violation.message
    assert check_request(body(tools=[tools[0], {**tools[1], "strict": False}])) == []


def test_fr08_bounds_refused_under_strict() -> None:
    stars = {
        "type": "object",
        "properties": {"stars": {"type": "integer", "minimum": 1, "maximum": 5}, "type": {"type": "string"}},
        "required": ["stars", "type"],
        "additionalProperties": False,
    }
    violation = first_violation(body(tools=[tool(strict=True, input_schema=stars)]))
    assert "integer" in violation.message and "minimum" in violation.message
    assert check_request(body(tools=[tool(input_schema=stars)])) == []


def test_fr09_recursion_and_references() -> None:
    itself = {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
    assert "strict-recursion" in {v.rule for v in check_request(body(tools=[tool(strict=True, input_schema=itself)]))}
    assert check_request(body(tools=[tool(input_schema=itself)])) == []
    root_reference = {"$ref": "#/$defs/T", "$defs": {"T": {"type": "object"}}}
    assert first_violation(body(tools=[tool(input_schema=root_reference)])).rule == "tool-schema-root"


@pytest.mark.parametrize(
    ("result", "refused_by"),
    [
        ({"content": [{"type": "text", "text": ""}]}, "text-not-empty"),
        ({"content": [TEXT, {"type": "image", "source": {}}], "is_error": True}, "error-result-is-text"),
        ({"content": "", "is_error": True}, "error-result-says-something"),
        ({"content": [], "is_error": True}, "error-result-says-something"),
        ({"is_error": True}, "error-result-says-something"),
        ({}, None),
        ({"content": []}, None),
        ({"content": None}, None),
    ],
    ids=[
        "empty text",
        "error with image",
        "error empty",
        "error no blocks",
        "error without",
        "none",
        "no blocks",
        "null",
    ],
)
def test_fr17_results(result: dict[str, Any], refused_by: str | None) -> None:
    found = check_request(round_trip({"type": "tool_result", "tool_use_id": "toolu_A", **result}))
    assert (found[0].rule if found else None) == refused_by


def test_fr25_request_rules_of_deferral() -> None:
    assert first_violation(body(tools=[tool(defer_loading=True)])).message.startswith("At least one tool must have")


# Siblings that the reference names


def test_first_message_from_the_assistant_is_accepted() -> None:
    assert check_request(body({"role": "assistant", "content": "Hello."}, ASK)) == []


def test_calls_in_two_assistant_messages_answered_by_one() -> None:
    second = {**CALL, "id": "toolu_B"}
    merged = body(ASK, assistant(CALL), assistant(second), user(RESULT, {**RESULT, "tool_use_id": "toolu_B"}))
    assert check_request(merged) == []


def test_results_in_another_order_are_accepted() -> None:
    second = {**CALL, "id": "toolu_B"}
    assert check_request(body(ASK, assistant(CALL, second), user({**RESULT, "tool_use_id": "toolu_B"}, RESULT))) == []


def test_call_of_a_tool_that_is_no_longer_declared_is_accepted() -> None:
    assert check_request(round_trip(call={**CALL, "name": "gone"})) == []


def test_thinking_between_calls_is_accepted() -> None:
    second = {**CALL, "id": "toolu_B"}
    thought = {"type": "thinking", "thinking": "", "signature": "eA=="}
    turn = assistant(CALL, thought, second)
    assert check_request(body(ASK, turn, user(RESULT, {**RESULT, "tool_use_id": "toolu_B"}))) == []


def test_unanswered_call_at_the_end() -> None:
    rules = [v.rule for v in check_request(body(ASK, assistant(CALL)))]
    assert rules == ["calls-answered-at-once", "no-prefill"]
    assert [v.rule for v in check_request(body(ASK, assistant(CALL), model=OLD))] == ["calls-answered-at-once"]


UNANSWERED = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_A. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)


@pytest.mark.parametrize(
    "block",
    [
        TEXT,
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
        {"type": "search_result", "source": "a", "title": "a", "content": [TEXT]},
    ],
    ids=lambda block: block["type"],
)
def test_nothing_to_read_after_a_call_and_it_is_said_once(block: dict[str, Any]) -> None:
    found = check_request(body(ASK, assistant(CALL, block, block), user(RESULT)))
    assert [v.message for v in found if v.rule == "only-calls-after-a-call"] == [UNANSWERED.format(1)]


@pytest.mark.parametrize(
    ("turns", "refused_by"),
    [
        ([user(CALL, TEXT)], ["calls-from-the-assistant"]),
        ([ASK, assistant(RESULT), ASK], ["results-from-the-user"]),
    ],
    ids=["a call of the user", "a result of the assistant"],
)
def test_a_block_on_the_wrong_side_is_refused_for_that_alone(turns: list[Any], refused_by: list[str]) -> None:
    assert [v.rule for v in check_request(body(*turns))] == refused_by


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ([assistant(CALL), user(TEXT)], [UNANSWERED.format(1)]),
        ([assistant(CALL), {"role": "user", "content": "text"}], [UNANSWERED.format(1)]),
        ([assistant(TEXT, CALL), user(RESULT)], []),
        ([{"role": "assistant", "content": "text"}, ASK, assistant(CALL), user(RESULT)], []),
        ([assistant(CALL), user(RESULT), assistant(CALL)], []),
    ],
    ids=["no result", "plain text", "text ahead of the call", "an answer of plain text", "the last message"],
)
def test_results_in_one_message_reads_any_message(turns: list[Any], said: list[str]) -> None:
    found = check_request(body(ASK, *turns), strictness={"results-in-one-message": True})
    assert [v.message for v in found if v.rule == "results-in-one-message"] == said


def test_a_call_of_the_user_has_no_message_that_must_answer_it() -> None:
    found = check_request(body(user(CALL), user(TEXT)), strictness={"results-in-one-message": True})
    assert [v.rule for v in found] == ["calls-from-the-assistant"]


def test_result_for_a_server_call_is_an_id_without_a_call() -> None:
    assert first_violation(round_trip({**RESULT, "tool_use_id": "srvtoolu_1"})).rule == "results-have-a-call"


def test_thinking_signed_elsewhere_passes() -> None:
    block = {"type": "thinking", "thinking": "anything", "signature": "bm90IG91cnM="}
    assert check_request(body(ASK, assistant(block, CALL), user(RESULT), model=HAIKU)) == []


def test_no_tools_and_auto_is_accepted() -> None:
    for fields in ({"tools": []}, {"tools": [], "tool_choice": {"type": "auto"}}, {"tool_choice": {"type": "none"}}):
        assert check_request(body(**fields)) == []


def test_deep_and_long_bodies_do_not_break_the_checker() -> None:
    deep: Any = {}
    for _ in range(200):
        deep = {"x": deep}
    assert check_request(round_trip(call={**CALL, "input": deep})) == []
    assert check_request(body(*[ASK, {"role": "assistant", "content": "a"}] * 500, ASK, model=OPUS)) == []


@pytest.mark.parametrize("depth", [1_100, 5_000])
@pytest.mark.parametrize("strict", [False, True])
def test_deep_schemas_are_refused_and_do_not_break_the_checker(depth: int, strict: bool) -> None:
    deep: Any = {"type": "string"}
    for _ in range(depth):
        deep = {"type": "array", "items": deep}
    definition = tool(input_schema={"type": "object", "properties": {"a": deep}, "additionalProperties": False})
    found = check_request(body(tools=[{**definition, "strict": strict}]))
    assert found[0].rule == "schema-valid"

"""Shortened or put in order, a conversation is legal to send."""

import copy
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.contract.messages import (
    assistant,
    content_blocks,
    text,
    tool_result,
    tool_result_blocks,
    tool_use,
    tool_use_blocks,
    user,
)
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.contract.protocol import check_request
from course_kit.harness.mending import LOST, repair_messages, trim_messages
from course_kit.mock.provider import MockProvider

WEATHER = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}


def call(id: str, city: str = "Oslo") -> dict:
    return tool_use(f"toolu_{id}", "get_weather", {"city": city})


def broken_rules(messages: list) -> list[str]:
    body = {"model": DEFAULT_MODEL, "max_tokens": 9, "tools": [WEATHER], "messages": messages}
    return [violation.message for violation in check_request(body)]


def legal_to_go_on(messages: list) -> list[str]:
    return broken_rules([*messages, user("And now?")])


FR01 = [
    user("Weather in Oslo, then in Lima?"),
    assistant([call("A")]),
    user([tool_result("toolu_A", "4 C")]),
    assistant([call("B", "Lima")]),
    user([tool_result("toolu_B", "19 C")]),
    assistant("Oslo 4 C, Lima 19 C."),
    user("And tomorrow?"),
]


@pytest.mark.parametrize(
    ("keep", "starts"), [(1, 6), (2, 5), (3, 5), (4, 3), (5, 3), (6, 1), (7, 0), (8, 0)], ids=lambda n: str(n)
)
def test_fr01_the_cut_moves_to_the_edge_of_a_round(keep, starts):
    before = copy.deepcopy(FR01)
    assert trim_messages(FR01, keep) == FR01[starts:]
    assert broken_rules(trim_messages(FR01, keep)) == [] and FR01 == before


def test_fr01_the_plain_cut_is_refused():
    assert "toolu_A" in broken_rules(FR01[-5:])[0] and "toolu_B" in broken_rules(FR01[-3:])[0]
    assert broken_rules(FR01[-4:]) == []


def rounds(number: int, first: int = 0) -> list:
    return [
        message
        for n in range(first, first + number)
        for message in (assistant([call(str(n))]), user([tool_result(f"toolu_{n}", "4 C")]))
    ]


def test_a_long_run_on_one_question_keeps_the_question():
    history = [user("Watch the weather."), *rounds(10)]
    assert trim_messages(history, 5) == [history[0], *history[-4:]]
    assert trim_messages(history, 1) == [history[0], *history[-2:]], "one round needs more"
    assert trim_messages([], 3) == []
    with pytest.raises(ValueError, match="keep is 0: keep at least one"):
        trim_messages(history, 0)


@st.composite
def conversations(draw) -> list:
    """Whole rounds in any number, with words between them, several calls a turn and text beside results."""
    messages, number = [user("Hello.")], 0
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            calls = [call(str(number + i)) for i in range(draw(st.integers(1, 3)))]
            number += len(calls)
            said = [text("Let me see.")] if draw(st.booleans()) else []
            results = [tool_result(one["id"], "4 C", is_error=draw(st.booleans())) for one in calls]
            words = [text("Quick, please.")] if draw(st.booleans()) else []
            messages += [assistant([*said, *calls]), user([*results, *words])]
        else:
            messages += [assistant("It is 4 C."), user("And elsewhere?")]
    return messages


@settings(max_examples=300, deadline=None, derandomize=True)
@given(conversations(), st.integers(1, 14))
def test_fr01_every_cut_of_every_history_is_legal_and_only_leaves_out(messages, keep):
    kept = trim_messages(messages, keep)
    assert broken_rules(kept) == []
    assert len(kept) <= keep or len(kept) <= 3
    positions = [[id(one) for one in messages].index(id(message)) for message in kept]
    assert positions == sorted(positions)
    assert positions[1:] == list(range(len(messages) - len(kept) + 1, len(messages)))
    calls = [one["id"] for message in kept for one in tool_use_blocks(message)]
    assert calls == [one["tool_use_id"] for message in kept for one in tool_result_blocks(message)]


# Repair

ASKED = user("Weather?")
MENDED = [
    pytest.param(
        [ASKED, assistant([call("A")]), user([text("Here:"), tool_result("toolu_A", "4 C")])],
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", "4 C"), text("Here:")])],
        id="fr02_text_before_the_result",
    ),
    pytest.param(
        [ASKED, assistant([call("A"), text("Checking.")]), user([tool_result("toolu_A", "4 C")])],
        [ASKED, assistant([text("Checking."), call("A")]), user([tool_result("toolu_A", "4 C")])],
        id="fr02_text_after_the_call",
    ),
    pytest.param(
        [
            ASKED,
            assistant([call("A")]),
            user([tool_result("toolu_A", "boom", is_error=True), tool_result("toolu_A", "ok")]),
        ],
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", "boom", is_error=True)])],
        id="fr03_of_two_results_the_error",
    ),
    pytest.param(
        [
            ASKED,
            assistant([call("A"), call("B")]),
            user([tool_result("toolu_B", "19 C")]),
            user([tool_result("toolu_A", "4 C")]),
        ],
        [
            ASKED,
            assistant([call("A"), call("B")]),
            user([tool_result("toolu_A", "4 C"), tool_result("toolu_B", "19 C")]),
        ],
        id="fr04_results_in_several_messages_and_out_of_order",
    ),
    pytest.param(
        [ASKED, assistant([call("A")]), user("Well?")],
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", LOST, is_error=True), text("Well?")])],
        id="a_result_is_missing",
    ),
    pytest.param(
        [ASKED, assistant([call("A")])],
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", LOST, is_error=True)])],
        id="the_conversation_ends_in_a_call",
    ),
    pytest.param(
        [ASKED, assistant([call("A")]), user("Well?"), assistant("Wait."), user([tool_result("toolu_A", "4 C")])],
        [
            ASKED,
            assistant([call("A")]),
            user([tool_result("toolu_A", "4 C"), text("Well?")]),
            assistant([text("Wait.")]),
        ],
        id="a_result_that_came_too_late",
    ),
    pytest.param(
        [user([tool_result("toolu_A", "4 C")]), assistant("Oslo 4 C."), user("And Lima?")],
        [assistant([text("Oslo 4 C.")]), user([text("And Lima?")])],
        id="a_result_without_its_call",
    ),
    pytest.param(
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", [text("")]), text(" ")])],
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", "(no output)")])],
        id="fr17_empty_texts",
    ),
    pytest.param(
        [ASKED, assistant([call("A")]), assistant([call("A")]), user([tool_result("toolu_A", "4 C")])],
        [ASKED, assistant([call("A")]), user([tool_result("toolu_A", "4 C")])],
        id="the_same_turn_twice",
    ),
]


@pytest.mark.parametrize(("broken", "mended"), MENDED)
def test_what_is_broken_is_mended(broken, mended):
    before = copy.deepcopy(broken)
    repaired = repair_messages(broken)
    as_blocks = [{**message, "content": content_blocks(message)} for message in mended]
    assert repaired == as_blocks and legal_to_go_on(repaired) == [] and broken == before


@settings(max_examples=200, deadline=None, derandomize=True)
@given(conversations())
def test_what_is_in_order_stays_as_it_is(messages):
    assert repair_messages(messages) == messages


@settings(max_examples=500, deadline=None, derandomize=True)
@given(conversations(), st.integers(0, 10**6))
def test_whatever_is_done_to_a_history_it_is_legal_afterwards(messages, seed):
    chance, mangled = random.Random(seed), copy.deepcopy(messages)
    for _ in range(chance.randint(1, 4)):
        if not mangled:
            break
        place = chance.randrange(len(mangled))
        blocks = content_blocks(mangled[place])
        match chance.randrange(5):
            case 0:
                del mangled[place]
            case 1:
                mangled.insert(place, copy.deepcopy(mangled[place]))
            case 2:
                chance.shuffle(blocks)
                mangled[place]["content"] = blocks
            case 3:
                mangled[place]["content"] = blocks[1:]
            case 4:
                mangled[place]["content"] = [*blocks, text("")]
    repaired = repair_messages(mangled)
    assert legal_to_go_on(repaired) == []
    assert repair_messages(repaired) == repaired


def test_a_history_kept_as_the_sdk_gives_it():
    """`{"role": "assistant", "content": reply.content}`, as most programs keep it."""
    question = user("Weather in Oslo and in Lima?")
    client = MockProvider([[call("A"), call("B", "Lima")]]).client()
    reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=99, tools=[WEATHER], messages=[question])
    history = [question, {"role": "assistant", "content": reply.content}]
    plain = [question, assistant([block.model_dump(exclude_unset=True) for block in reply.content])]
    results = user([tool_result(block.id, "4 C") for block in reply.content])
    assert repair_messages(history) == repair_messages(plain)
    assert trim_messages([*history, results], 3) == [*history, results]
    assert trim_messages([*history, results, assistant("4 C."), user("Thanks.")], 1) == [user("Thanks.")]


# Reminders, server tools, empty messages, thinking

REMIND = {"role": "system", "content": "Be brief."}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Oslo"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
LOOK_UP = {"type": "server_tool_use", "id": "srvtoolu_2", "name": "tool_search_tool_bm25", "input": {"query": "x"}}
ANSWERED = user([tool_result("toolu_A", "4 C")])
SWAPPED = user([tool_result("toolu_B", "19 C"), tool_result("toolu_A", [])])
BOTH_ANSWERED = user(SWAPPED["content"][::-1])
THOUGHT = {"type": "thinking", "thinking": "Oslo first.", "signature": "c2ln"}
UNUSUAL = {
    "reminders": [ASKED, REMIND, assistant([call("A")]), ANSWERED, REMIND, REMIND, assistant("4 C."), user("And now?")],
    "a reminder at the end": [ASKED, assistant([call("A")]), ANSWERED, REMIND],
    "a reminder after a server tool": [ASKED, assistant([SEARCH, FOUND]), REMIND, assistant("Found."), user("Thanks.")],
    "one turn in two messages": [ASKED, assistant("Let me see."), assistant([call("A")]), ANSWERED],
    "calls in two messages": [ASKED, assistant([call("A")]), assistant([call("B")]), BOTH_ANSWERED],
    "a server tool that paused": [ASKED, assistant([SEARCH]), assistant([FOUND, text("Found.")]), user("Thanks.")],
    "a server tool still running": [
        ASKED,
        assistant([SEARCH, call("A")]),
        ANSWERED,
        assistant([FOUND]),
        user("Go on."),
    ],
    "an empty message beside another": [ASKED, user(""), assistant([call("A")]), user([]), ANSWERED, user("")],
    "results in another order": [ASKED, assistant([call("A"), call("B")]), SWAPPED],
}


def broken_beside_search(messages: list) -> list[str]:
    body = {"model": DEFAULT_MODEL, "max_tokens": 9, "tools": [WEATHER, WEB_SEARCH], "messages": messages}
    return [violation.message for violation in check_request(body)]


WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.mark.parametrize("messages", UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_history_is_legal_at_every_cut_and_needs_no_repair(messages):
    assert broken_beside_search(messages) == [] and repair_messages(messages) == messages
    for keep in range(1, len(messages) + 2):
        kept = trim_messages(messages, keep)
        blocks = [block for message in kept for block in content_blocks(message)]
        called = {block["id"] for block in blocks if "id" in block}
        assert broken_beside_search(kept) == [], f"{keep} kept"
        assert {block["tool_use_id"] for block in blocks if "tool_use_id" in block} <= called, f"{keep} kept"


def test_thinking_does_not_move_to_a_shorter_conversation():
    """The mock signs thinking as the 5.5 models do: for the conversation that it came from."""
    client = MockProvider([[call("A")], [call("B")], "4 C and 19 C."]).client()
    history = [user("Oslo, then Lima?")]
    asked = {"model": DEFAULT_MODEL, "max_tokens": 2000, "tools": [WEATHER], "thinking": {"type": "adaptive"}}
    for result in ("toolu_A", "toolu_B", None):
        reply = client.messages.create(messages=history, **asked)
        history.append(assistant([block.model_dump(mode="json", exclude_unset=True) for block in reply.content]))
        history.append(user([tool_result(result, "4 C")] if result else "Thanks."))
    assert [block["type"] for block in history[-2]["content"]] == ["thinking", "text"]
    assert check_request({**asked, "messages": history[3:]}), "thinking that was moved is refused"
    for keep in range(1, len(history) + 1):
        assert check_request({**asked, "messages": trim_messages(history, keep)}) == []
    assert trim_messages(history, len(history)) == history
    mangled = [history[0], history[1], user("Well?"), *history[3:]]
    assert check_request({**asked, "messages": repair_messages(mangled)}) == []
    assert repair_messages(mangled)[1] == history[1], "thinking before the place of the repair stays"


MISPLACED = [
    ([REMIND, ASKED], [ASKED, REMIND]),
    (
        [ASKED, assistant([call("A")]), REMIND, ANSWERED, assistant("4 C.")],
        [ASKED, assistant([call("A")]), ANSWERED, REMIND, assistant("4 C.")],
    ),
    ([ASKED, assistant("4 C."), REMIND], [ASKED, REMIND, assistant("4 C.")]),
    ([REMIND, assistant("4 C.")], [user("Be brief."), assistant("4 C.")]),
    ([ASKED, {"role": "system", "content": ""}, assistant("4 C.")], [ASKED, assistant("4 C.")]),
    ([ASKED, assistant([SEARCH, text("Wait.")]), user("Well?")], [ASKED, assistant("Wait."), user("Well?")]),
    ([ASKED, assistant([FOUND, text("Found.")])], [ASKED, assistant("Found.")]),
    ([ASKED, assistant([LOOK_UP, call("A")]), ANSWERED], [ASKED, assistant([call("A")]), ANSWERED]),
    ([user([text("Weather?"), call("A"), FOUND, THOUGHT]), assistant([ANSWERED["content"][0], text("4 C.")])],)
    + ([ASKED, assistant("4 C.")],),
    (
        [
            ASKED,
            assistant([call("A")]),
            user(
                [
                    tool_result("toolu_A", [{"type": "tool_reference", "tool_name": "get_weather"}, text("One.")]),
                    text("?"),
                ]
            ),
        ],
        [
            ASKED,
            assistant([call("A")]),
            user([tool_result("toolu_A", [{"type": "tool_reference", "tool_name": "get_weather"}]), text("?")]),
        ],
    ),
]


@pytest.mark.parametrize(("broken", "mended"), MISPLACED)
def test_reminders_server_tools_and_blocks_of_the_other_side_are_mended(broken, mended):
    repaired = repair_messages(broken)
    assert repaired == [{**message, "content": content_blocks(message)} for message in mended]
    spoken = [user("And now?")] if repaired[-1]["role"] == "assistant" else []
    assert broken_beside_search([*repaired, *spoken]) == [] and repair_messages(repaired) == repaired


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "`messages` is None: give a list of messages."),
        ("hello", "`messages` is 'hello': give a list of messages."),
        (
            {"role": "user", "content": "hi"},
            "`messages` is {'role': 'user', 'content': 'hi'}: give a list of messages.",
        ),
        (["hello"], r"messages\[0\] is 'hello': a message is a dict with `role` and `content`."),
        ([user("hi"), {"role": "user"}], r"messages\[1\] is {'role': 'user'}: a message is a dict with"),
        (
            [{"role": "user", "content": {"type": "text"}}],
            r"The content of messages\[0\] is one block: put it into a list.",
        ),
        ([{"role": "user", "content": ["hi"]}], r"messages\[0\] holds 'hi': a block is a dict with a `type`."),
        (
            [{"role": "user", "content": [{"text": "hi"}]}],
            r"messages\[0\] holds {'text': 'hi'}: a block is a dict with",
        ),
        ([{"role": "user", "content": [{"type": "text"}]}], r"messages\[0\] holds a `text` block without its `text`."),
        (
            [user("hi"), {"role": "assistant", "content": [{"type": "tool_use", "name": "t", "input": {}}]}],
            r"messages\[1\] holds a `tool_use` block without its `id`.",
        ),
        (
            [user("hi"), {"role": "user", "content": [{"type": "web_search_tool_result"}]}],
            r"messages\[1\] holds a `web_search_tool_result` block without its `tool_use_id`.",
        ),
    ],
)
def test_what_is_no_conversation_gets_one_sentence(given, said):
    for mend in (repair_messages, lambda messages: trim_messages(messages, 2)):
        with pytest.raises(TypeError, match=said):
            mend(given)


def test_keep_is_a_whole_number():
    with pytest.raises(TypeError, match="keep is '2': give a whole number."):
        trim_messages([user("hi")], "2")

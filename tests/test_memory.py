"""What the mock remembers of its replies: thinking that came with a call goes back with it, whole and in its order."""

import pytest

from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
from course_kit.mock.memory import MEMORY_RULES, Memory

SAID = (
    "messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These "
    "blocks must remain as they were in the original response."
)
A, B = ({"type": "thinking", "thinking": "Hm.", "signature": sign} for sign in "ab")
HIDDEN = {"type": "redacted_thinking", "data": "c"}
CALL = tool_use("toolu_A", "get_weather", {"city": "Oslo"})
ANSWERED = user([tool_result("toolu_A", "4 C")])


def told(*turns, sent=(A, B, CALL), strictness="default"):
    """The violation of a conversation whose call was once sent with some thinking."""
    memory = Memory()
    memory.keep({"content": [*sent]})
    body = {"messages": [user("Weather?"), *turns]}
    violation = memory.first_violation(body, strictness)
    return violation and violation.message


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([CALL], id="left_out"),
        pytest.param([A, CALL], id="one_left_out"),
        pytest.param([B, A, CALL], id="another_order"),
        pytest.param([text("a"), CALL], id="text_instead"),
        pytest.param([{**A, "signature": "x"}, B, CALL], id="another_signature"),
    ],
)
def test_thinking_that_does_not_come_back_as_it_was(blocks):
    assert told(assistant(blocks), ANSWERED) == SAID


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([assistant([A, B, CALL]), ANSWERED], id="as_it_was"),
        pytest.param([assistant([A, text("Well."), B, CALL]), ANSWERED], id="with_text_between"),
        pytest.param([assistant([A, B]), assistant([CALL]), ANSWERED], id="in_two_messages"),
        pytest.param([assistant([CALL]), ANSWERED, assistant([text("4 C.")]), user("Thanks.")], id="in_an_older_turn"),
        pytest.param([assistant([tool_use("toolu_B", "get_weather", {})]), ANSWERED], id="another_call"),
    ],
)
def test_thinking_that_comes_back(turns):
    assert told(*turns) is None


def test_a_system_turn_is_no_end_of_the_assistants():
    system = {"role": "system", "content": "Be brief."}
    assert told(assistant([A, B]), system, assistant([CALL]), ANSWERED) is None
    assert told(assistant([A]), system, assistant([CALL]), ANSWERED) == SAID


def test_hidden_thinking_is_known_by_its_data():
    sent = (HIDDEN, CALL)
    assert told(assistant([HIDDEN, CALL]), ANSWERED, sent=sent) is None
    assert told(assistant([{**HIDDEN, "data": "d"}, CALL]), ANSWERED, sent=sent) == SAID


def test_a_signature_on_another_block_is_no_thinking():
    assert told(assistant([{**text("Well."), "signature": "a"}, CALL]), ANSWERED, sent=(A, CALL)) == SAID


@pytest.mark.parametrize(
    ("strictness", "said"),
    [
        ("default", SAID),
        ("strict", SAID),
        ("schema", None),
        ({"thinking-kept": False}, None),
        ({"thinking-kept": True}, SAID),
        ({"another-rule": False}, SAID),
    ],
)
def test_how_strict_the_provider_is(strictness, said):
    assert [*MEMORY_RULES] == ["thinking-kept"]
    assert told(assistant([CALL]), ANSWERED, strictness=strictness) == said


def test_a_reply_without_thinking_asks_for_nothing():
    assert told(assistant([CALL]), ANSWERED, sent=(CALL,)) is None


def test_a_second_answer_to_the_same_request_is_the_one_that_counts():
    """Ids are made from the request: after a cut turn was left out, the next reply may use the same one."""
    memory = Memory()
    for sent, back, said in (([A, CALL], [A, CALL], None), ([CALL], [CALL], None), ([B, CALL], [CALL], SAID)):
        memory.keep({"content": sent})
        violation = memory.first_violation({"messages": [user("Weather?"), assistant(back), ANSWERED]}, "default")
        assert (violation and violation.message) == said

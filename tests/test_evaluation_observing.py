"""What an agent left behind, read: a run, messages, a text, or what a provider received."""

import pytest

from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
from course_kit.errors import ToolError
from course_kit.evaluation.observing import Made, Observed, observe, observe_exchanges
from course_kit.harness.agent import run_agent
from course_kit.harness.tools import tool


@tool(effect="read")
def look(order: int) -> str:
    """Look up an order."""
    if order == 7:
        raise ToolError("NOT_FOUND", "There is no order 7.")
    return "it is there"


SCRIPT = [
    {"content": [tool_use("t1", "look", {"order": 7}), tool_use("t2", "look", {"order": "x"})]},
    {"content": [tool_use("t3", "look", {"order": 8}), tool_use("t4", "lok", {"order": 8})]},
    {"content": [text("Here it is.")]},
]
CALLS = (
    Made("look", {"order": 7}, valid=True, failed=True, code="NOT_FOUND", effect="read"),
    Made("look", {"order": "x"}, valid=False, failed=True, code="invalid input", effect="read"),
    Made("look", {"order": 8}, valid=True, failed=False, effect="read"),
    Made("lok", {"order": 8}, valid=False, failed=True, code="unknown tool"),
)


def test_messages_as_the_sdk_gives_them():
    from course_kit.mock.provider import MockProvider

    client = MockProvider(SCRIPT[:1]).client()
    question, definition = user("Where is it?"), look.definition()
    reply = client.messages.create(model="claude-haiku-5-5", max_tokens=99, tools=[definition], messages=[question])
    seen = observe([question, {"role": "assistant", "content": reply.content}], tools=[look])
    assert [(made.tool, made.input, made.valid) for made in seen.calls] == [
        ("look", {"order": 7}, True),
        ("look", {"order": "x"}, False),
    ]


def scripted():
    """A function request -> message, which the loop takes for a client."""
    usage = {"input_tokens": 100, "cache_read_input_tokens": 10, "output_tokens": 5}
    replies = iter(SCRIPT)

    def ask(request):
        content = next(replies)["content"]
        reason = "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
        return {"role": "assistant", "content": content, "stop_reason": reason, "usage": usage}

    return ask


def test_a_run_is_read():
    run = run_agent(scripted(), tools=[look], messages="Where is it?")
    assert observe(run, tools=[look], skip=1) == Observed(
        calls=CALLS, text="Here it is.", stopped="end_turn", steps=3, input_tokens=330, output_tokens=15
    )


def test_messages_are_read_and_what_was_there_before_is_not():
    before = [user("a"), assistant([tool_use("t0", "refund")]), user([tool_result("t0", "ok")])]
    run = run_agent(scripted(), tools=[look], messages=[*before, user("Where is it?")])
    for outcome in (run, run.messages):
        seen = observe(outcome, tools=[look], skip=3)
        assert (seen.calls, seen.text, seen.steps) == (CALLS, "Here it is.", 3)


def test_a_text_and_nothing_are_read():
    assert observe("Hello.") == Observed(text="Hello.", stopped="end_turn")
    assert observe([assistant([tool_use("t1", "add")])]).calls == (Made("add", {}),)
    with pytest.raises(TypeError, match="An agent returns a Run, a list of messages or a text"):
        observe(7)


def test_what_a_provider_received_is_read():
    from course_kit.mock.provider import MockProvider

    provider = MockProvider([entry["content"] for entry in SCRIPT])
    run_agent(provider.client(), tools=[look], messages="Where is it?")
    refused = {"model": "claude-haiku-5-5", "max_tokens": 9, "messages": []}
    import anthropic

    with pytest.raises(anthropic.BadRequestError):
        provider.client().messages.create(**refused)
    seen = observe_exchanges(provider.requests)
    assert [(c.tool, c.input, c.valid, c.failed, c.code) for c in seen.calls] == [
        (c.tool, c.input, c.valid, c.failed, c.code) for c in CALLS
    ]
    assert (seen.text, seen.stopped, seen.steps, seen.refused) == ("Here it is.", "end_turn", 3, (400,))
    assert seen.input_tokens > 0 < seen.output_tokens


def test_an_agent_that_returns_a_text_is_judged_by_what_its_provider_received():
    """A text hides the calls: a case that forbids one would pass, whatever was called."""
    from course_kit.evaluation.cases import Case
    from course_kit.evaluation.trials import run_trials
    from course_kit.mock.provider import MockProvider

    def agent(prompt, client):
        run_agent(client, tools=[look], messages=prompt)
        return "All is well."

    case = Case("hostile", "hostile", "Where is it?", expect={"never": ["look"], "says": ["all is well"]})
    [record] = run_trials([case], lambda seed: MockProvider(SCRIPT), agent=agent, trials=1, progress=False)
    assert not record["passed"] and [call["tool"] for call in record["calls"]] == ["look", "look", "look", "lok"]

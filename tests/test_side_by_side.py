"""One conversation in every shape: what each step shows, what is marked, and the widget beside its plain calls."""

import json

import pytest

from course_kit.classroom import side_by_side as module
from course_kit.classroom.fields import status
from course_kit.classroom.side_by_side import VIEWED, SideBySide, side_by_side
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
from course_kit.harness.tools import tool

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}, "role": {"type": "string"}}}
REFUND = {"name": "refund", "description": "Pay <back>.", "input_schema": SCHEMA}
TALK = [
    user("Refund it."),
    assistant([text("I try."), tool_use("call_1", "refund", {"id": "ORD-1", "role": "x"})]),
    user([tool_result("call_1", "no such order", is_error=True)]),
    assistant("Sorry."),
]


@pytest.fixture
def view():
    return side_by_side(TALK, tools=[REFUND])


def test_the_overview_names_every_step(view):
    assert len(view) == 5
    assert view.as_text().split("\n") == [
        "One conversation in Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini",
        "  1  the definitions",
        "  2  user, text",
        "  3  assistant, text and tool_use",
        "  4  user, tool_result",
        "  5  assistant, text",
        "Run this cell to step through it, or write: view.step(2)",
    ]


def test_definitions_differ_in_wrapping_and_schema(view):
    assert view.step(1).differences() == {
        "wrapped in": {
            "anthropic": "",
            "openai_chat": "function",
            "openai_responses": "",
            "gemini": "functionDeclarations",
        },
        "schema": {
            "anthropic": "input_schema",
            "openai_chat": "parameters",
            "openai_responses": "parameters",
            "gemini": "parametersJsonSchema",
        },
    }


def test_a_call_is_shown_as_the_reply_with_its_stop_signal(view):
    facts = view.step(3).differences()
    assert facts["stop signal"] == {
        "anthropic": "stop_reason: tool_use",
        "openai_chat": "finish_reason: tool_calls",
        "openai_responses": "status: completed",
        "gemini": "finishReason: STOP",
    }
    assert facts["inputs"] == {
        "anthropic": "input: object",
        "openai_chat": "arguments: JSON text",
        "openai_responses": "arguments: JSON text",
        "gemini": "args: object",
    }
    # Keys inside an input are the tool's own: its `role` and `id` are no facts of the shape.
    assert facts["pairing id"] == {
        "anthropic": "id",
        "openai_chat": "id",
        "openai_responses": "call_id",
        "gemini": "id",
    }
    assert facts["who speaks"]["anthropic"] == "role: assistant"


def test_a_failed_result_shows_where_the_flag_went(view):
    assert view.step(4).differences()["error flag"] == {
        "anthropic": "is_error: true",
        "openai_chat": "in the text",
        "openai_responses": "in the text",
        "gemini": "error",
    }


def test_only_what_a_message_adds_is_shown(view):
    assert view.step(4).parts["openai_chat"] == [
        {"role": "tool", "tool_call_id": "call_1", "content": "is_error: true\nno such order"}
    ]
    assert view.step(2).parts["gemini"] == [{"role": "user", "parts": [{"text": "Refund it."}]}]


def test_two_shapes_can_be_chosen_and_agree_where_they_do(view):
    step = view.step(2, "anthropic", "openai_chat")
    assert list(step.parts) == ["anthropic", "openai_chat"]
    assert step.differences() == {}
    assert "  = who speaks" in step.as_text()


def test_the_text_has_the_marks_in_a_margin_and_no_line_is_too_long(view):
    text = view.step(4).as_text()
    marked = [line.split("◂ ")[1] for line in text.split("\n") if "◂" in line]
    first = ["who speaks", "pairing id", "error flag"]
    assert marked == [*first, *first, "pairing id", "error flag", *first]
    assert max(map(len, text.split("\n"))) <= 101


def test_the_status_of_an_item_is_not_the_replys(view):
    text = view.step(3, "openai_responses").as_text()
    assert text.count('"status": "completed"') == 3
    assert text.count("◂ stop signal") == 1


def test_inside_a_schema_nothing_is_marked(view):
    marked = [line for line in view.step(1, "anthropic").as_text().split("\n") if "◂" in line]
    assert [line.split("◂ ")[1] for line in marked] == ["schema"]


def test_html_is_escaped_and_marks_the_same_lines(view):
    html = view.step(1).as_html()
    assert "Pay &lt;back&gt;." in html and "<back>" not in html
    assert view.step(4).as_html().count("<mark>") == view.step(4).as_text().count("◂")


def test_what_a_shape_has_no_place_for_is_said():
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    view = side_by_side([user("Hi."), assistant([thinking, text("Hello.")])])
    assert [loss.path for loss in view.lost["openai_chat"]] == ["messages.1.content.0"]
    assert "OpenAI Chat Completions has no place for messages.1.content.0" in view.as_text()


def test_a_number_outside_gives_the_nearest_end(view):
    assert view.step(0).title == view.step(1).title
    assert view.step(99).title == "Step 5 of 5: assistant, text"


def test_without_tools_the_first_step_is_the_first_message():
    assert side_by_side(TALK).step(1).title == "Step 1 of 4: user, text"


def test_a_tool_of_the_harness_is_shown_too():
    @tool(effect="read")
    def look(id: str) -> str:
        """Look it up."""
        return id

    assert side_by_side(TALK, tools=[look]).step(1).parts["anthropic"][0]["name"] == "look"


def test_nothing_at_all():
    view = SideBySide([])
    assert (len(view), view.as_html()) == (0, "<p>Nothing was said.</p>")
    assert view.step(1).parts["anthropic"] == []


def test_an_unknown_shape_is_named(view):
    with pytest.raises(ValueError, match="'mcp' is not a shape to view"):
        side_by_side(TALK, shapes=["mcp"])
    with pytest.raises(ValueError, match="'gemeni' is not shown here"):
        view.step(1, "gemeni")


def test_the_widget_shows_two_shapes(view):
    pytest.importorskip("ipywidgets")
    view.number.value, view.left.value, view.right.value = 4, "anthropic", "openai_chat"
    assert view.view.value == status(view.step(4, "anthropic", "openai_chat").as_html())
    view.right.value = "anthropic"
    assert view.view.value == status(view.step(4, "anthropic").as_html())
    for part in (view.number, view.left, view.right):
        assert part.tooltip and part.description


def test_without_ipywidgets_the_plain_form_stands_in(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    module._widget.cache_clear()
    try:
        assert type(side_by_side(TALK)) is SideBySide
    finally:
        monkeypatch.undo()
        module._widget.cache_clear()


def test_what_is_viewed_is_json(view):
    for number in range(1, len(view) + 1):
        json.dumps(view.step(number).parts)
    assert view.shapes == VIEWED

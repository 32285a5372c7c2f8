"""A conversation as text, as cards and as a stepper."""

import copy
import sys
from types import SimpleNamespace

import ipywidgets
import pytest

from course_kit.classroom import transcript as module
from course_kit.classroom.fields import status
from course_kit.classroom.transcript import Transcript, as_text, read_messages, transcript
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user

MESSAGES = [
    user("Refund my broken cup, please."),
    assistant(
        [
            text("I look both up."),
            tool_use("toolu_01", "query_order", {"order_id": "ORD-20260917"}),
            tool_use("toolu_02", "track_parcel", {"city": "杭州"}),
        ]
    ),
    user([tool_result("toolu_02", "no such <parcel>", is_error=True), tool_result("toolu_01", '{"paid": 1999}')]),
    assistant("Done."),
]
TEXT = """\
[1] user
  text
    Refund my broken cup, please.

[2] assistant
  text
    I look both up.
  tool_use query_order · id toolu_01 · call 1
    {
      "order_id": "ORD-20260917"
    }
  tool_use track_parcel · id toolu_02 · call 2
    {
      "city": "杭州"
    }

[3] user
  tool_result · tool_use_id toolu_02 · call 2 · is_error
    no such <parcel>
  tool_result · tool_use_id toolu_01 · call 1
    {"paid": 1999}

[4] assistant
  text
    Done."""


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def test_the_whole_conversation_as_text():
    assert as_text(MESSAGES) == TEXT
    assert repr(transcript(MESSAGES)) == transcript(MESSAGES).as_text() == TEXT


def test_a_run_and_sdk_objects_are_read_the_same():
    from anthropic.types import Message

    reply = Message.model_validate(
        {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude-test",
            "content": MESSAGES[1]["content"],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    with_object = [MESSAGES[0], reply, *MESSAGES[2:]]
    with_blocks = [MESSAGES[0], {"role": "assistant", "content": reply.content}, *MESSAGES[2:]]
    run = SimpleNamespace(messages=MESSAGES)
    assert as_text(with_object) == as_text(with_blocks) == as_text(run) == as_text(tuple(MESSAGES)) == TEXT
    assert as_text(reply) == as_text([MESSAGES[1]])


def test_reading_changes_nothing():
    before = copy.deepcopy(MESSAGES)
    transcript(MESSAGES).step(2)
    assert before == MESSAGES


@pytest.mark.parametrize("source", [["hello"], 3, [{"content": "no role"}]], ids=["text", "number", "no role"])
def test_what_is_no_conversation_is_one_sentence(source):
    with pytest.raises(TypeError, match="^a transcript is made of messages, each with a role and content, not of "):
        read_messages(source)


def test_no_line_is_wider_than_asked():
    long = [user("word " * 100), assistant([tool_use("toolu_01", "t", {"deep": {"deeper": ["z" * 300]}})])]
    for width in (40, 88):
        assert max(map(len, as_text(long, width=width).splitlines())) == width
    assert as_text(long, width=40).replace("\n", "").count("z") == 300  # wrapped, not cut


def test_other_blocks_and_odd_contents_are_shown():
    odd = [
        assistant(
            [
                {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
                {"type": "server_tool_use", "id": "srv_1", "name": "tool_search", "input": {"query": "refund"}},
                {"type": "tool_search_tool_result", "tool_use_id": "srv_1", "content": {"found": 1}},
            ]
        ),
        user(
            [
                tool_result("toolu_99"),
                tool_result("toolu_98", [text("two"), {"type": "image", "source": {"type": "url"}}]),
                {"type": "image", "source": {"type": "url", "url": "http://x"}},
            ]
        ),
    ]
    said = as_text(odd)
    for part in (
        "  thinking\n    Hm.",
        "  server_tool_use tool_search · id srv_1 · call 1",
        '  tool_search_tool_result · tool_use_id srv_1 · call 1\n    {\n      "found": 1',
        "  tool_result · tool_use_id toolu_99 · call ?\n  tool_result · tool_use_id toolu_98 · call ?\n    two\n    {",
        '  image\n    {\n      "source": {',
    ):
        assert part in said
    assert "signature" not in said
    assert "call ?" in transcript(odd).as_html()


def test_cards_label_a_pair_and_colour_it_alike_and_escape_everything():
    page = transcript(MESSAGES).as_html()
    assert page.count("call 1") == page.count("call 2") == 2
    assert page.count(module.COLOURS[0]) == page.count(module.COLOURS[1]) == 2
    assert "<b>✗ is_error</b> " in page and page.count("is_error") == 2
    assert "no such &lt;parcel&gt;" in page and "<parcel>" not in page and "<script" not in page
    assert page.count("border: 1px solid") == 4


def test_one_step_by_number_and_its_nearest_end():
    steps = transcript(MESSAGES)
    assert repr(steps.step(4)) == "[4] assistant\n  text\n    Done."
    assert repr(steps.step(99)) == repr(steps.step(4)) and repr(steps.step(-1)) == repr(steps.step(1))
    assert steps.step(2).as_html() in steps.as_html()


def test_the_stepper_moves_by_buttons_number_and_plain_call():
    steps = transcript(MESSAGES)
    assert isinstance(steps, ipywidgets.VBox) and steps.card.value == status(steps.step(1).as_html())
    assert (steps.back.disabled, steps.forward.disabled) == (True, False)
    steps.forward.click()
    assert (steps.number.value, steps.card.value) == (2, status(Transcript.step(steps, 2).as_html()))
    steps.number.value = 4
    assert steps.card.value == status(Transcript.step(steps, 4).as_html())
    assert (steps.back.disabled, steps.forward.disabled) == (False, True)
    steps.back.click()
    assert steps.number.value == 3
    steps.step(1)
    assert steps.number.value == 1 and "Refund my broken cup" in steps.card.value


def test_fr29_what_a_notebook_compares_is_the_text_without_ids():
    one, two = transcript(MESSAGES)._repr_mimebundle_(), transcript(MESSAGES)._repr_mimebundle_()
    assert one["text/plain"] == two["text/plain"] == TEXT
    assert one["text/html"] == two["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in one


@pytest.mark.parametrize("messages", [[], [user("only one")]], ids=["none", "one"])
def test_short_conversations(messages):
    steps = transcript(messages)
    assert repr(steps.step(1)) == (as_text(messages) or "An empty conversation.")
    assert (steps.back.disabled, steps.forward.disabled, steps.number.disabled) == (True, True, True)


def test_without_ipywidgets_the_text_form_works(without_widgets):
    steps = transcript(MESSAGES)
    assert not isinstance(steps, ipywidgets.Widget)
    assert set(steps._repr_mimebundle_()) == {"text/plain", "text/html"} and steps.as_text() == TEXT

"""The approval panel: what it shows is what runs; the widget's buttons beside the plain calls."""

import json
import sys
from datetime import datetime, timedelta
from types import SimpleNamespace

import ipywidgets
import pytest

from course_kit.classroom import approval_panel as module
from course_kit.classroom.approval_panel import ApprovalPanel, approval_panel
from course_kit.classroom.visible import json_html, visible, visible_json
from course_kit.contract.messages import tool_use
from course_kit.errors import CourseKitError
from course_kit.harness.decisions import NOBODY_ANSWERED, allow, deny, edit
from course_kit.harness.store import AlreadyDecided, NotFound, RunStore

A = tool_use("toolu_a", "refund_order", {"order_id": "ORD-20260917", "amount_cents": 1999})
B = tool_use("toolu_b", "delete_file", {"name": "b<b>"})
AWAITING = {"event": "stop", "reason": "awaiting_approval"}


class Clock:
    now = datetime.fromisoformat("2026-09-20T09:00:00+00:00")

    def __call__(self):
        return self.now


class Resume:
    """Takes a run up as the loop would: what it was called with, and the decisions it found by then."""

    def __init__(self, store):
        self.store, self.calls, self.fails = store, [], None

    def __call__(self, run_id):
        self.calls.append(run_id)
        if self.fails:
            raise self.fails
        position = len(self.store.load(run_id).events)
        self.store.append(run_id, position, {"event": "stop", "reason": "end_turn"})
        return SimpleNamespace(text="The cup is refunded <b>.", stopped="end_turn")


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs.sqlite3", clock=Clock())


@pytest.fixture
def resume(store):
    return Resume(store)


@pytest.fixture
def run_id(store):
    return begin(store, A, B)


@pytest.fixture
def panel(store, run_id, resume):
    return approval_panel(store, resume=resume)


@pytest.fixture
def without_widgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    module._widget.cache_clear()
    yield
    module._widget.cache_clear()


def begin(store, *calls, tools=(), **when):
    """A run that waits for these calls."""
    run_id = store.begin({"messages": [], "tools": list(tools)}, {})
    for call in calls:
        store.ask(run_id, call, **when)
    store.append(run_id, 0, AWAITING)
    return run_id


def card(panel, number=1):
    return list(panel.cards.values())[number - 1]


# ---- nothing is hidden ----


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("Łódź 退款 ✓ שלום", "Łódź 退款 ✓ שלום", id="letters_stay"),
        pytest.param("a\u202egpj.exe", "a\\u202egpj.exe", id="right_to_left_override"),
        pytest.param("\u2066a\u2069\u200f\u061c", "\\u2066a\\u2069\\u200f\\u061c", id="isolates_and_marks"),
        pytest.param("a\u200bb\ufeff\u00ad\u2060", "a\\u200bb\\ufeff\\u00ad\\u2060", id="zero_width"),
        pytest.param("a\x00\x1b[2K\x7f\x85", "a\\u0000\\u001b[2K\\u007f\\u0085", id="control"),
        pytest.param("a\nb\tc", "a\\nb\\tc", id="line_end_and_tab"),
        pytest.param("1\u00a0000\u2003\u3000", "1\\u00a0000\\u2003\\u3000", id="spaces_that_are_none"),
        pytest.param("a\u2028b\u2029", "a\\u2028b\\u2029", id="separators"),
        pytest.param("ok\U000e0041\U000e0042", "ok\\udb40\\udc41\\udb40\\udc42", id="tags"),
        pytest.param("v\ufe0f\u034f\u3164\u2800", "v\\ufe0f\\u034f\\u3164\\u2800", id="blank_letters"),
        pytest.param("\ud83d \ue000 \u0378", "\\ud83d \\ue000 \\u0378", id="half_private_unassigned"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert visible(text) == shown
    assert json.loads(visible_json({"k": text, text: 1})) == {"k": text, text: 1}
    assert visible_json({"k": text}) == '{\n  "k": "' + shown + '"\n}'


def test_json_stays_json():
    value = {"a": [1, 1.0, True, None, 'say "\\n"'], "b": {}}
    assert json.loads(visible_json(value)) == value


def test_a_string_keeps_its_direction_to_itself():
    shown = json_html({"שלום": 'a "<b>"'})
    assert "<bdi>&quot;שלום&quot;</bdi>: <bdi>&quot;a \\&quot;&lt;b&gt;\\&quot;&quot;</bdi>" in shown
    assert "white-space: break-spaces" in shown


def test_a_long_input_is_shown_to_its_end(store):
    begin(store, tool_use("toolu_1", "run", {"command": "x" * 50_000 + " ; rm -rf /"}))
    panel = approval_panel(store)
    for shown in (panel.as_text(), panel.as_html(), card(panel).children[0].value, card(panel).input.value):
        assert "x" * 50_000 + " ; rm -rf /" in shown


# ---- plain calls ----


def test_the_text_holds_inputs_and_no_ids_and_no_times(panel):
    assert panel.as_text() == "\n".join(
        [
            "Approval panel: 2 calls wait for you",
            "1. refund_order",
            '{\n  "order_id": "ORD-20260917",\n  "amount_cents": 1999\n}',
            "2. delete_file",
            '{\n  "name": "b<b>"\n}',
            "Run this cell to decide, or write: panel.decide(panel.pending[0].tool_use_id, allow())",
        ]
    )
    bundle = panel._repr_mimebundle_()
    assert bundle["text/plain"] == panel.as_text() and bundle["text/html"] == panel.as_html()
    assert "<b>Call 2: delete_file</b>" in panel.as_html() and "b&lt;b&gt;" in panel.as_html()
    for hidden in ("toolu_", "run_", "2026-09-20"):
        assert hidden not in panel.as_text() + panel.as_html()


def test_the_run_goes_on_after_its_last_decision(panel, store, run_id, resume):
    first = panel.decide("toolu_b", deny("keep it"))
    assert (repr(first), first.run, resume.calls) == (
        "Denied: call 2, delete_file: keep it. 1 more of this run waits.",
        None,
        [],
    )
    second = panel.decide("toolu_a", allow())
    assert resume.calls == [run_id] and second.run.stopped == "end_turn"
    assert repr(second) == (
        "Allowed: call 1, refund_order. The run went on.\nThe cup is refunded <b>.\n[stopped: end_turn]"
    )
    assert [store.decision(run_id, id) for id in ("toolu_a", "toolu_b")] == [allow(), deny("keep it")]
    assert {row["by"] for row in store.audit() if row["event"] == "decided"} == {"the approval panel"}
    assert panel.as_text() == f"Approval panel: nothing waits for a decision\n{first!r}\n{second!r}"
    assert "The cup is refunded &lt;b&gt;." in panel.as_html()


def test_another_run_waits_on(panel, store, run_id, resume):
    second = begin(store, B | {"id": "toolu_c"})
    panel.decide("toolu_c", edit({"name": "c"}))
    assert resume.calls == [second] and [call.tool_use_id for call in panel.pending] == ["toolu_a", "toolu_b"]
    assert panel.news[-1].sentence == "Edited: call 3, delete_file. The run went on."


def test_a_panel_of_one_run_shows_no_other(store, run_id):
    begin(store, B | {"id": "toolu_c"})
    panel = approval_panel(store, run_id)
    assert [call.tool_use_id for call in panel.pending] == ["toolu_a", "toolu_b"]
    with pytest.raises(CourseKitError, match="There is no call 'toolu_c' here; waiting: toolu_a, toolu_b.$"):
        panel.decide("toolu_c", allow())
    assert len(store.pending()) == 3
    store.decide(begin(store, A), "toolu_a", allow())
    assert panel.ready == [] and len(approval_panel(store).ready) == 1


@pytest.mark.parametrize("kind", [approval_panel, ApprovalPanel], ids=["widget", "plain"])
def test_an_unknown_run_is_said_at_once(store, run_id, kind):
    with pytest.raises(NotFound, match="There is no run 'run_x'"):
        kind(store, "run_x")


def test_an_id_of_two_runs_needs_the_run(panel, store, run_id):
    second = begin(store, A)
    with pytest.raises(CourseKitError, match="Calls of 2 runs have the id toolu_a: name the run"):
        panel.decide("toolu_a", allow())
    panel.decide("toolu_a", deny(), run_id=second)
    panel.decide("toolu_a", allow())  # the only one that waits by now
    assert (store.decision(second, "toolu_a"), store.decision(run_id, "toolu_a")) == (deny(), allow())


def test_what_is_decided_already_stays(panel, store, run_id, resume):
    store.decide(run_id, "toolu_a", deny("no"), by="Ada")
    with pytest.raises(AlreadyDecided, match="^Ada denied call toolu_a"):
        panel.decide("toolu_a", allow())
    assert resume.calls == [] and panel.news == []


def test_without_resume_it_says_how_to_go_on(store):
    begin(store, A)
    panel = approval_panel(store)
    said = panel.decide("toolu_a", allow()).sentence
    assert said == "Allowed: call 1, refund_order. This run is ready: resume it with resume_agent."
    with pytest.raises(CourseKitError, match="^This panel cannot resume a run"):
        panel.go_on()


def test_a_failing_resume_keeps_the_decision_and_can_be_tried_again(panel, store, run_id, resume):
    panel.decide("toolu_a", allow())
    resume.fails = ConnectionError("no line\u202e")
    with pytest.raises(ConnectionError):
        panel.decide("toolu_b", allow())
    assert panel.news[-1].sentence == (
        "✗ Allowed: call 2, delete_file. The run could not go on: ConnectionError: no line\\u202e"
    )
    assert store.pending() == [] and panel.ready == [run_id]
    resume.fails = None
    assert panel.go_on().run.stopped == "end_turn"
    assert panel.ready == [] and resume.calls == [run_id] * 2
    with pytest.raises(CourseKitError, match="^No run is ready to go on"):
        panel.go_on()


def test_a_coroutine_is_no_resume(store):
    async def resume(run_id):
        return None

    begin(store, A)
    with pytest.raises(CourseKitError, match="resume must be a plain function"):
        approval_panel(store, resume=resume).decide("toolu_a", allow())


def test_a_run_whose_time_was_up_can_go_on(store, resume):
    run_id = begin(store, A, expires_at=(Clock.now + timedelta(seconds=60)).isoformat())
    panel = approval_panel(store, resume=resume)
    assert panel.ready == [] and "until 2026-09-20T09:01:00" in card(panel).children[0].value
    store._clock.now += timedelta(seconds=61)
    card(panel).allow.click()
    assert "✗ Nobody answered about call toolu_a (refund_order)" in card(panel).said.value
    assert store.decision(run_id, "toolu_a") == NOBODY_ANSWERED and not panel.go_on_button.disabled
    panel.go_on_button.click()
    assert resume.calls == [run_id] and panel.go_on_button.disabled


def test_as_text_and_html_without_widgets(without_widgets, store, run_id, resume):
    panel = approval_panel(store, resume=resume)
    assert type(panel) is ApprovalPanel and repr(panel) == panel.as_text()
    panel.decide("toolu_a", allow())
    panel.decide("toolu_b", allow())
    assert resume.calls == [run_id] and "nothing waits" in panel._repr_mimebundle_()["text/html"]


# ---- the widget ----


def test_a_card_shows_the_input_and_whose_it_is(panel, run_id):
    assert isinstance(panel, ipywidgets.VBox) and len(panel.list.children) == 2
    head = card(panel, 2).children[0].value
    assert "<b>Call 2: delete_file</b>" in head and json_html(B["input"]) in head
    assert f"toolu_b of {run_id}, asked at 2026-09-20T09:00:00.000+00:00</p>" in head
    assert card(panel).input.value == visible_json(A["input"])


def test_buttons_allow_and_deny(panel, store, run_id, resume):
    card(panel, 2).reason.value = " keep it "
    card(panel).reason.value = "half written"
    card(panel, 2).deny.click()
    assert card(panel).reason.value == "half written"
    assert "Denied: keep it." in card(panel, 2).said.value and "1 call waits for you" in panel.title.value
    assert [part.disabled for part in (card(panel, 2).allow, card(panel, 1).allow)] == [True, False]
    card(panel).allow.click()
    assert resume.calls == [run_id] and "The cup is refunded &lt;b&gt;." in panel.result.value
    assert [store.decision(run_id, id) for id in ("toolu_a", "toolu_b")] == [allow(), deny("keep it")]
    assert "nothing waits" in panel.title.value and panel.go_on_button.disabled


def test_a_denial_takes_the_reason_that_its_press_overtook(panel, store, run_id):
    """The front end is played here: it copies the number of a press into the fields, after what they held back."""
    one = card(panel)
    for field in (one.reason, one.input):
        field.set_state({"press": 0})
    one.deny._handle_custom_msg({"event": "click"}, [])
    one.input.set_state({"press": one.deny.press})  # another button's field
    assert store.decision(run_id, "toolu_a") is None
    one.reason.set_state({"value": "another cup", "press": one.deny.press})
    assert store.decision(run_id, "toolu_a") == deny("another cup")


def test_an_edit_is_the_whole_new_input(panel, store, run_id):
    card(panel).input.value = '{"order_id": "ORD-20260917", "amount_cents": 999}'
    card(panel).reason.value = "half"
    card(panel).check.click()
    assert "nothing is decided yet" in card(panel).said.value and store.decision(run_id, "toolu_a") is None
    assert json_html({"order_id": "ORD-20260917", "amount_cents": 999}) in card(panel).said.value
    card(panel).edit.click()
    assert store.decision(run_id, "toolu_a") == edit({"order_id": "ORD-20260917", "amount_cents": 999}, "half")
    edited = json_html({"order_id": "ORD-20260917", "amount_cents": 999})
    assert "Edited: half." in card(panel).said.value and edited in card(panel).said.value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"a": 1,,}', "✗ Nothing was decided: not valid JSON at line 1, column 9", id="not_json"),
        pytest.param("", "✗ Nothing was decided: not valid JSON", id="empty"),
        pytest.param('{"a": 1, "a": 2}', "✗ Nothing was decided: not valid JSON", id="a_key_twice"),
        pytest.param('{"a": NaN}', "✗ Nothing was decided: not valid JSON", id="not_a_number"),
        pytest.param("[1]", "✗ Nothing was decided: the input of a call is a JSON object", id="list"),
    ],
)
def test_an_edit_that_is_no_input_decides_nothing(panel, store, run_id, text, said):
    card(panel).check.click()
    card(panel).input.value = text
    card(panel).check.click()
    assert said in card(panel).said.value
    assert card(panel).edit.disabled and not card(panel).check.disabled
    card(panel).edit.click()
    assert store.decision(run_id, "toolu_a") is None


def test_an_edit_that_does_not_fit_the_definition_decides_nothing(store):
    schema = {"type": "object", "properties": {"amount_cents": {"type": "integer", "minimum": 1}}}
    call = tool_use("toolu_1", "refund_order", {"amount_cents": 1999})
    run_id = begin(store, call, tools=[{"name": "refund_order", "input_schema": schema}])
    panel = approval_panel(store)
    card(panel).input.value = '{"amount_cents": 0}'
    card(panel).check.click()
    assert "✗ Nothing was decided: `amount_cents` must be at least 1" in card(panel).said.value
    assert card(panel).edit.disabled and store.decision(run_id, "toolu_1") is None


def test_what_is_typed_after_the_check_does_not_run_unseen(panel, store, run_id):
    assert card(panel).edit.disabled
    card(panel).input.value = '{"amount_cents": 199}'
    card(panel).check.click()
    assert not card(panel).edit.disabled
    card(panel).input.value = '{"amount_cents": 1999999}'
    assert card(panel).edit.disabled
    card(panel).edit.click()  # a click that was under way
    assert store.decision(run_id, "toolu_a") is None


def test_the_area_to_edit_gives_back_what_was_asked(store):
    hidden = {"name": "a\u202eb\u00a0\ud83d", "lines": "1\n2\t"}
    run_id = begin(store, tool_use("toolu_1", "delete_file", hidden))
    panel = approval_panel(store)
    card(panel).check.click()
    card(panel).edit.click()
    assert store.decision(run_id, "toolu_1").input == hidden


def test_errors_are_shown_in_the_panel(panel, store, run_id, resume):
    store.decide(run_id, "toolu_b", deny(), by="Ada")
    card(panel, 2).allow.click()
    assert "✗ Ada denied call toolu_b (delete_file)" in card(panel, 2).said.value and card(panel, 2).allow.disabled
    resume.fails = ValueError("<broken>")
    card(panel).allow.click()
    assert "The run could not go on: ValueError: &lt;broken&gt;" in panel.result.value
    assert "Allowed." in card(panel).said.value
    assert "✗ Ada denied call toolu_b" in card(panel, 2).said.value  # it stays there
    store._file.path.unlink()
    panel.look_button.click()
    assert "is gone: put it back" in panel.result.value


def test_what_is_asked_after_resuming_appears(panel, store, run_id):
    def resume(run):
        store.ask(run, B | {"id": "toolu_c"})
        store.append(run, 1, {"event": "resume"})
        store.append(run, 2, AWAITING)
        return SimpleNamespace(text="", stopped="awaiting_approval")

    panel._resume = resume
    panel.decide("toolu_a", allow())
    panel.decide("toolu_b", allow())
    assert card(panel, 3).allow.description == "Allow call 3" and not card(panel, 3).allow.disabled
    assert "(no text)\n[stopped: awaiting_approval]" in panel.result.value and panel.go_on_button.disabled


def test_look_again_shows_what_others_asked(panel, store):
    begin(store, B | {"id": "toolu_c"})
    assert len(panel.cards) == 2
    panel.look_button.click()
    assert len(panel.cards) == 3 == len(panel.list.children)


def test_while_the_run_goes_on_the_panel_says_so(panel, store, run_id):
    seen = []

    def resume(run):
        seen.append((panel.result.value, panel.go_on_button.disabled, card(panel).allow.disabled))
        return SimpleNamespace(text="Done.", stopped="end_turn")

    panel._resume = resume
    panel.decide("toolu_b", allow())
    card(panel).allow.click()
    [(said, *disabled)] = seen
    assert "Allowed: call 1, refund_order. The run goes on …" in said and disabled == [True, True]
    assert "goes on …" not in panel.result.value


def test_every_part_has_a_name_of_its_own(panel):
    names = []
    for one in panel.cards.values():
        for part in (one.allow, one.reason, one.deny, one.input, one.check, one.edit):
            assert part.tooltip
            names.append(part.description)
    assert names == [
        *("Allow call 1", "Reason 1", "Deny call 1", "Input 1 (JSON)", "Check input 1", "Run call 1 as edited"),
        *("Allow call 2", "Reason 2", "Deny call 2", "Input 2 (JSON)", "Check input 2", "Run call 2 as edited"),
    ]


def test_a_button_decides_about_its_own_run(panel, store, run_id):
    second = begin(store, A)
    panel.look_button.click()
    card(panel, 3).deny.click()
    assert (store.decision(second, "toolu_a"), store.decision(run_id, "toolu_a")) == (deny(), None)


def test_a_tool_s_name_is_text_and_nothing_else(store):
    begin(store, tool_use("toolu_1", "<i>\u202e", {}))
    panel = approval_panel(store)
    for shown in (panel.as_html(), card(panel).children[0].value):
        assert "Call 1: &lt;i&gt;\\u202e" in shown

"""What of a trace leaves the house."""

import json

import pytest

from course_kit.contract.messages import tool_result, tool_use
from course_kit.harness.trace import Trace
from course_kit.harness.trace_export import digest, rows
from course_kit.harness.trace_steps import trace_id_of

MAIL = {"to": "ada@example.org", "api_key": "k-1"}
EVENTS = [
    {"event": "reply", "message": {"content": [tool_use("t1", "send", MAIL)], "stop_reason": "tool_use"}},
    {"event": "started", "tool_use_id": "t1", "input": MAIL},
    {"event": "result", "result": tool_result("t1", "Sent to ada@example.org.")},
    {"event": "stop", "reason": "unfinished: ada@example.org"},
]
TRACE = Trace({"model": "m"}, EVENTS)


def test_inputs_are_masked_unless_raw_is_asked_for():
    [row] = [json.loads(line) for line in TRACE.export().splitlines()]
    [call] = row["calls"]
    assert call["raw_input"] == call["input"] == {"to": "[email 1]", "api_key": "[secret 1]"}
    assert row["stop"] == "unfinished: [email 1]"
    assert "ada@" not in TRACE.export() and "k-1" not in TRACE.export()
    assert json.loads(TRACE.export("raw"))["calls"][0]["raw_input"] == MAIL


def test_a_digest_tells_equal_inputs_and_nothing_more():
    [call] = rows(TRACE, "digest")[0]["calls"]
    assert call["raw_input"] == call["input"] == digest(dict(reversed(MAIL.items())))
    assert call["raw_input"] != digest({**MAIL, "to": "bob@example.org"})
    assert call["raw_input"].startswith("sha256:") and len(call["raw_input"]) == 19


def test_results_and_words_stay_inside():
    [row] = rows(TRACE, "raw")
    assert row["trace_id"] == trace_id_of(TRACE)
    assert "said" not in row and "tools" not in row and "result" not in row["calls"][0]
    assert row["calls"][0]["result_bytes"] == len("Sent to ada@example.org.")


def test_events_as_jsonl_are_masked_too():
    assert "ada@" not in TRACE.to_jsonl()
    assert "[email 1]" in TRACE.to_jsonl()
    assert [json.loads(line) for line in TRACE.to_jsonl(raw=True).splitlines()] == EVENTS


def test_another_word_for_the_inputs_is_refused():
    with pytest.raises(ValueError, match='say "masked", "digest" or "raw"'):
        TRACE.export("clear")

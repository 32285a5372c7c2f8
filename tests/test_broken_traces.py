"""The ten broken traces: what gives each away stands in its rows."""

from course_kit.classroom.broken_traces import CAUSES, broken_traces
from course_kit.classroom.exercises.lesson_12 import KEY

TEN = broken_traces()


def calls(id):
    return [call for step in TEN[id].trace.steps() for call in step.calls]


def test_ten_of_ten_reports_each_with_its_own_cause():
    assert list(TEN) == list(KEY) == [f"T{number:02}" for number in range(1, 11)]
    assert len({broken.report for broken in TEN.values()}) == 10
    assert len({cause for cause, _, _ in KEY.values()}) == 10 and {cause for cause, _, _ in KEY.values()} < set(CAUSES)
    assert all(broken.source.startswith("https://github.com/") for broken in TEN.values())


def test_fr11_a_cut_call_was_run():
    first = TEN["T01"].trace.steps()[0]
    assert (first.stop_reason, first.calls[0].starts, first.output_tokens) == ("max_tokens", 1, 60)
    assert TEN["T01"].trace.request["max_tokens"] == first.output_tokens


def test_fr12_an_array_in_quotes_was_run():
    call = calls("T02")[1]
    assert call.starts == 1 and call.validation_error.startswith("`labels` must be an array")
    assert call.result.startswith(str(len(call.raw_input["labels"])))


def test_fr14_an_error_names_nothing():
    assert [call.result for call in calls("T03")] == ["target is not valid under any of the given schemas"] * 3
    assert [call.retry for call in calls("T03")] == [0, 1, 2]
    assert "target.to" in calls("T03")[0].validation_error and all(call.starts == 0 for call in calls("T03"))


def test_fr19_the_last_line_is_gone():
    assert calls("T04")[0].truncated and "numpy" not in calls("T04")[0].result and "numpy" in TEN["T04"].outcome


def test_fr20_three_began_and_none_was_answered():
    assert [(call.starts, call.results) for call in calls("T05")] == [(1, 0)] * 3


def test_fr22_one_decision_for_two_calls():
    assert [(call.decision, call.starts) for call in calls("T06")[1:]] == [("allow", 1), (None, 1)]


def test_fr23_one_call_began_twice():
    assert [(call.starts, call.results) for call in calls("T07")] == [(1, 1), (2, 1)]


def test_fr24_the_results_moved():
    assert (
        len({call.result for call in calls("T08")}) == 3 and TEN["T08"].trace.steps()[-1].stop == "stalled: job_status"
    )


def test_fr25_the_tool_is_not_shown():
    assert all("canvas_create_edge" not in step.tools for step in TEN["T09"].trace.steps())
    assert calls("T09")[0].result == "[]"


def test_fr26_the_hash_changes_and_the_cache_is_lost():
    steps = TEN["T10"].trace.steps()
    assert len({step.tools_hash for step in steps}) == 3 and {step.cached_tokens for step in steps} == {0}
    assert len({tuple(sorted(step.tools)) for step in steps}) == 1


def test_beside_it_lies_the_same_run_as_it_was_before():
    """The same calls and results; the tools stay as they are, so the cache is read, and the bill is less than half."""
    bad, good = TEN["T10"].trace, TEN["T10"].good
    steps = good.steps()
    assert [step.cached_tokens for step in steps] == [0, 5200, 5260]
    assert {step.tools_hash for step in steps} == {bad.steps()[0].tools_hash}
    assert [step.input_tokens for step in steps] == [step.input_tokens for step in bad.steps()]

    def did(trace):
        return [{**event, "message": event["message"]["content"]} if event["event"] == "reply" else event
                for event in ({k: v for k, v in e.items() if k != "request"} for e in trace.events)]  # fmt: skip

    def price(trace):  # in tokens: writing the cache costs a quarter more than reading afresh, reading it a tenth
        usages = [event["message"]["usage"] for event in trace.events if event["event"] == "reply"]
        kinds = {"input_tokens": 1.0, "cache_creation_input_tokens": 1.25, "cache_read_input_tokens": 0.1}
        return sum(usage[kind] * factor for usage in usages for kind, factor in kinds.items())

    assert did(good) == did(bad)
    assert (round(price(good)), round(price(bad))) == (7856, 19885)
    assert {id for id, one in TEN.items() if one.good} == {"T10"}


def test_all_others_keep_their_hash():
    assert all(len({step.tools_hash for step in TEN[id].trace.steps()}) == 1 for id in TEN if id != "T10")


def test_a_broken_trace_reads_as_complaint_and_lines():
    assert str(TEN["T08"]).splitlines()[:2] == [
        'T08  "It says that the export hangs. The export was ready two minutes later."',
        "  1  reply   tool_use  job_status",
    ]

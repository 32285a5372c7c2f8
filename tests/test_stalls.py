"""Stuck, or only waiting?"""

import asyncio
from typing import Any

import pytest

from course_kit.contract.messages import content_blocks, text_of, tool_result, tool_use, user
from course_kit.contract.protocol import check_request
from course_kit.harness.agent import run_agent, run_agent_async
from course_kit.harness.stalls import CLOSING, round_of
from course_kit.harness.tools import tool


class Model:
    """Calls the same for as long as it may, then sums up; keeps the requests."""

    def __init__(self, *inputs: dict[str, Any]):
        self.inputs = inputs or ({"id": 7},)
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        number = len(self.requests)
        if request.get("tool_choice") == {"type": "none"} or "done" in str(request["messages"][-1]):
            return {"role": "assistant", "content": [{"type": "text", "text": "In sum."}], "stop_reason": "end_turn"}
        call = tool_use(f"toolu_{number}", "job_status", self.inputs[number % len(self.inputs)])
        return {"role": "assistant", "content": [call], "stop_reason": "tool_use"}


def job(results: list[str]) -> Any:
    left = iter(results)

    @tool(effect="read")
    def job_status(id: int, verbose: bool = False) -> str:
        return next(left)

    return job_status


def test_fr24_polling_whose_result_moves_is_no_stall():
    run = run_agent(Model(), messages="How far is it?", tools=[job(["10%", "35%", "60%", "90%", "done"])])
    assert run.stopped == "end_turn" and run.trace.summary().startswith("6 model calls, 5 tool calls")


def awaited(model: Model, **options: Any) -> Any:
    async def ask(request):
        return model(request)

    return asyncio.run(run_agent_async(ask, **options))


@pytest.mark.parametrize("drive", [run_agent, awaited])
def test_fr24_the_same_call_with_the_same_result_ends_the_run_with_a_sum(drive):
    model = Model()
    run = drive(model, messages="How far is it?", tools=[job(["no new output"] * 9)])
    assert (run.stopped, run.text, len(model.requests)) == ("stalled: job_status", "In sum.", 4)
    told = model.requests[3]["messages"][-1]["content"]
    assert told == [tool_result("toolu_3", "no new output"), {"type": "text", "text": CLOSING.format(rounds=3)}]
    assert [request.get("tool_choice") for request in model.requests] == [None, None, None, {"type": "none"}]
    assert check_request({**run.trace.request, "messages": [*run.messages, user("And now?")]}) == []


def test_fr24_the_order_of_keys_does_not_matter_and_the_limit_is_a_setting():
    turned = Model({"id": 7, "verbose": True}, {"verbose": True, "id": 7})
    assert run_agent(turned, messages="?", tools=[job(["same"] * 9)], stall_after=2).stopped == "stalled: job_status"
    assert len(turned.requests) == 3
    other = Model({"id": 7}, {"id": 8})
    assert run_agent(other, messages="?", tools=[job(["same"] * 9)], max_iterations=6).stopped == "max_iterations"
    off = run_agent(Model(), messages="?", tools=[job(["same"] * 9)], max_iterations=6, stall_after=None)
    assert off.stopped == "max_iterations"
    with pytest.raises(ValueError, match="stall_after is 1"):
        run_agent(Model(), messages="?", stall_after=1)


def test_equal_rounds_must_follow_each_other():
    run = run_agent(Model(), messages="?", tools=[job(["a", "a", "b", "a", "a", "done"])])
    assert run.stopped == "end_turn"


def test_a_failing_call_is_counted_by_the_cap_first():
    @tool(effect="read")
    def job_status(id: int) -> str:
        raise RuntimeError("no")

    model = Model()
    assert run_agent(model, messages="?", tools=[job_status]).stopped == "max_retries: job_status"
    assert len(model.requests) == 3
    model = Model()
    assert run_agent(model, messages="?", tools=[job_status], max_retries=5).stopped == "stalled: job_status"


def test_rounds_are_equal_in_any_order_of_calls_and_not_by_half():
    one, two = tool_use("a", "x", {"n": 1}), tool_use("b", "x", {"n": 2})
    same, other = tool_use("c", "x", {"n": 1}), tool_use("d", "x", {"n": 2})
    results = {id: tool_result(id, "ok") for id in "abcd"}
    assert round_of([one, two], results) == round_of([other, same], results)
    assert round_of([one], results) != round_of([one, two], results)
    assert round_of([one], results) != round_of([{**one, "name": "y"}], results)
    failed = {**results, "a": tool_result("a", "ok", is_error=True)}
    assert round_of([one], results) != round_of([one], failed)
    assert text_of({"content": content_blocks(results["a"])}) == "ok"

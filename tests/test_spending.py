"""What a run has spent, and whether it is over its budget."""

from typing import Any

import pytest

from course_kit.contract.messages import tool_use
from course_kit.example_tools import desk_tools
from course_kit.harness.agent import run_agent
from course_kit.harness.spending import over_budget, spent
from course_kit.shop import open_shop


def reply(*calls: str, **usage: int) -> dict[str, Any]:
    content = [tool_use(id, "query_order", {}) for id in calls]
    return {"event": "reply", "message": {"content": content, "stop_reason": "tool_use", "usage": usage}}


def started(*ids: str) -> list[dict[str, Any]]:
    return [{"event": "started", "tool_use_id": id, "input": {}} for id in ids]


RUN = [
    reply("a", "b", input_tokens=100, output_tokens=20, cache_read_input_tokens=5, cache_creation_input_tokens=3),
    *started("a", "b"),
    {"event": "result", "result": {}},
    {"event": "reply", "message": {"content": [], "usage": None}},
    *started("b"),
]


def test_what_a_run_has_spent():
    assert spent(RUN) == (3, 128) and spent([]) == (0, 0)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({}, None),
        ({"max_calls": 2}, None),
        ({"max_calls": 3, "wanted": 1}, "max_calls"),
        ({"max_calls": 4, "wanted": 1}, None),
        ({"max_calls": 4, "wanted": 2}, "max_calls"),
        ({"max_calls": 0, "wanted": 1}, "max_calls"),
        ({"max_run_tokens": 128}, "max_run_tokens"),
        ({"max_run_tokens": 129, "wanted": 9}, None),
        ({"max_calls": 3, "max_run_tokens": 1, "wanted": 1}, "max_calls"),
    ],
)
def test_a_run_is_over_its_budget_or_not(limits, reason):
    assert over_budget(RUN, **limits) == reason


def test_the_calls_counted_are_those_that_ran(tmp_path):
    shop = open_shop(tmp_path / "shop.sqlite3")
    script = iter([[("query_order", {"order_id": "ORD-20260917"}), ("query_order", {"order": 1}), ("nothing", {})], []])

    def model(request):
        content = [tool_use(f"toolu_{n}", *one) for n, one in enumerate(next(script))]
        reason = "tool_use" if content else "end_turn"
        return {"role": "assistant", "content": content, "stop_reason": reason, "usage": {"input_tokens": 7}}

    run = run_agent(model, tools=desk_tools(shop), messages="?")
    assert spent(run.trace.events) == (1, 14)

"""The course's own desk agent, whole, from which each guard can be taken away.

`desk_agent()` is the agent; `desk_agent("key")` is the same without the keys, `desk_agent("gate", "scope")` without
two. It is an answer to the exercises of lesson 13: read it when you have written your own. Each guard stands in the
lesson that is named beside it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from course_kit.errors import ToolError
from course_kit.example_tools import desk_tools
from course_kit.harness.agent import resume_agent, run_agent
from course_kit.harness.outside import suspect_passages
from course_kit.harness.retries import repeated
from course_kit.harness.store import RunStore
from course_kit.harness.tools import Tool, tool

from .job import Job

__all__ = ["GUARDS", "desk_agent"]

GUARDS = {
    "ask": "a way to ask the customer (lesson 03)",
    "hints": "errors that say what to do (04)",
    "gate": "a person decides before money moves (06)",
    "notes": "a note that reads like an instruction is left out (06)",
    "scope": "one customer's orders, nobody else's (04, 06)",
    "search": "sixty tools deferred, and a search (07)",
    "budget": "no result over 5,000 characters (08)",
    "key": "one key for one refund of one ticket (09)",
    "limits": "an end to calls, rounds and repetitions (09)",
    "store": "the run is kept on disk (06, 09)",
}
SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
NO_LIMITS = {"max_iterations": 60, "max_retries": 60, "stall_after": None}
LIMITS = {"max_iterations": 8, "max_retries": 2, "stall_after": 3, "max_calls": 12}


def desk_agent(*without: str) -> Callable[[Job], Any]:
    """The desk agent, without the guards that are named."""
    if unknown := set(without) - set(GUARDS):
        raise ValueError(f"There is no guard {min(unknown)!r}: take one of {', '.join(GUARDS)}.")
    guards = set(GUARDS) - set(without)

    def agent(job: Job) -> Any:
        tools: list[Any] = [*hands(job, guards), *([asking(job)] if "ask" in guards else [])]
        tools += job.more
        if "search" in guards and job.more:
            tools = [one if one.name == "ask_user" else replace(one, defer_loading=True) for one in tools]
            tools = [SEARCH, *tools]
        given: dict[str, Any] = {"tools": tools, "approver": job.decide if "gate" in guards else lambda call: True}
        given["budget"] = 5_000 if "budget" in guards else 1_000_000
        run = broken_off(job, given) if "store" in guards else None
        if run is None:
            store = RunStore(job.folder / "runs.sqlite3") if "store" in guards else None
            limits = LIMITS if "limits" in guards else NO_LIMITS
            run = run_agent(job.client, messages=job.said, store=store, **limits, **given)
        (job.folder / "trace.jsonl").write_text(run.trace.export(), encoding="utf-8")
        return run

    return agent


def hands(job: Job, guards: Iterable[str] = tuple(GUARDS)) -> list[Tool]:
    """The desk's six tools, as this job may use them."""
    shop = job.shop.for_customer(job.customer) if "scope" in guards else job.shop
    tools = desk_tools(shop, task=job.ticket if "key" in guards else None)
    # nothing in these two is optional, and the subset knows all of it; what is missing can be asked for
    tools = [replace(one, strict=True) if one.name in ("query_order", "cancel_order") else one for one in tools]
    # a cancelled order cannot be brought back, so it asks too
    tools = [replace(one, needs_approval=True) if one.name == "cancel_order" else one for one in tools]
    if "notes" in guards:
        tools = [without_orders(one) if one.name == "query_order" else one for one in tools]
    tools = [repeated(one, first_wait=0.001) if one.effect == "read" and "limits" in guards else one for one in tools]
    return tools if "hints" in guards else [says_nothing(one) for one in tools]


def asking(job: Job) -> Tool:
    """A tool that asks the customer."""

    @tool(effect="read")
    def ask_user(question: str) -> str:
        """Ask the customer for something that is needed and that nobody has said."""
        return job.ask(question)

    return ask_user


def without_orders(entry: Tool) -> Tool:
    """`query_order` that leaves out a note which reads like an instruction."""

    def query_order(**inputs: Any) -> Any:
        found = entry.function(**inputs)
        if suspect_passages(found["customer_note"] or ""):
            found["customer_note"] = "(left out: it reads like an instruction)"
        return found

    return replace(entry, function=query_order)


def says_nothing(entry: Tool) -> Tool:
    """The same tool, whose errors say no more than that it failed."""

    def mute(**inputs: Any) -> Any:
        try:
            return entry.function(**inputs)
        except ToolError:
            raise RuntimeError("failed") from None

    return replace(entry, function=mute)


def broken_off(job: Job, given: dict[str, Any]) -> Any:
    """The run of this ticket that was broken off, taken up and brought to its end; None where there is none."""
    store = RunStore(job.folder / "runs.sqlite3")
    open_runs = [run["run_id"] for run in store.runs() if run["stopped"] is None]
    return resume_agent(job.client, store, open_runs[0], **given) if open_runs else None

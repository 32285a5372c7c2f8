"""The course's own desk agent, whole, from which each guard can be taken away.

`desk_agent()` is the agent; `desk_agent(without="key")` is the same without the keys, and
`desk_agent(without=("gate", "scope"))` lacks two guards. The lesson that explains a guard is named beside it. Lesson 13
shows `desk_agent` and `tools_of`, so these two are written to be read there.
"""

from collections.abc import Callable, Collection, Iterable
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

__all__ = ["GUARDS", "colleagues_agent", "desk_agent"]

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


def desk_agent(*, without: str | Iterable[str] = ()) -> Callable[[Job], Any]:
    """The desk agent, without the guards that are named."""
    missing = {without} if isinstance(without, str) else set(without)
    if unknown := missing - set(GUARDS):
        raise ValueError(f"There is no guard {min(unknown)!r}: take one of {', '.join(GUARDS)}.")
    guards = set(GUARDS) - missing

    def agent(job: Job) -> Any:
        given: dict[str, Any] = {
            "tools": tools_of(job, guards),
            "approver": job.decide if "gate" in guards else lambda call: True,
            "budget": 5_000 if "budget" in guards else 1_000_000,
        }
        limits = LIMITS if "limits" in guards else NO_LIMITS
        store = RunStore(job.folder / "runs.sqlite3") if "store" in guards else None
        stored = store.runs() if store else []
        broken_off = [run["run_id"] for run in stored if run["stopped"] is None]
        if store and broken_off:
            run = resume_agent(job.client, store, broken_off[0], **given)
        else:
            given |= limits
            run = run_agent(job.client, messages=job.said, store=store, **given)
        (job.folder / "trace.jsonl").write_text(run.trace.export(), encoding="utf-8")
        return run

    return agent


def colleagues_agent(job: Job) -> Any:
    """The agent at the start of lesson 13: it lacks one guard, and the reader is to find out which."""
    return desk_agent(without="key")(job)


def tools_of(job: Job, guards: Collection[str]) -> list[Any]:
    """The tools for one job: the desk's six, a way to ask, and the other services'."""
    shop = job.shop.for_customer(job.customer) if "scope" in guards else job.shop
    task = job.ticket if "key" in guards else None
    desk = {one.name: one for one in desk_tools(shop, task=task)}
    # strict where it costs nothing: no optional input, no bound that becomes words
    for name in ("query_order", "cancel_order"):
        desk[name] = replace(desk[name], strict=True)
    # a cancelled order cannot be brought back, so a person decides here too
    desk["cancel_order"] = replace(desk["cancel_order"], needs_approval=True)
    if "notes" in guards:
        desk["query_order"] = without_orders(desk["query_order"])
    if "limits" in guards:
        reads = [one for one in desk.values() if one.effect == "read"]
        desk |= {one.name: repeated(one, first_wait=0.001) for one in reads}
    if "hints" not in guards:
        desk = {name: says_nothing(one) for name, one in desk.items()}

    ask_user = [asking(job)] if "ask" in guards else []
    tools = [*desk.values(), *job.more]
    if "search" in guards and job.more:
        deferred = [replace(one, defer_loading=True) for one in tools]
        return [SEARCH, *ask_user, *deferred]
    return [*ask_user, *tools]


def asking(job: Job) -> Tool:
    """A tool that asks the customer."""

    @tool(effect="read")
    def ask_user(question: str) -> str:
        """Ask the user for something that you need and were not told."""
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

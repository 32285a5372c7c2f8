"""Answers to the exercises of lesson 13: agents with one thing done wrong (or merely otherwise)."""

import json
from dataclasses import replace
from typing import Any

from course_kit import RunStore, ToolIndex, desk_tools, resume_agent, run_agent, run_tool, tool
from course_kit.classroom.capstone.desk import SEARCH, asking, desk_agent
from course_kit.contract.messages import assistant, tool_use_blocks, user
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.harness.tools import definitions


def says_done(job):
    return "Done."


def never_calls(job):
    return run_agent(job.client, messages=job.said)


def returns_nothing(job):
    run_agent(job.client, tools=desk_tools(job.shop), messages=job.said)


def gives_messages(job):
    return run_agent(job.client, tools=desk_tools(job.shop), messages=job.said).messages


def one_request(job):
    reply = job.client.messages.create(
        model=DEFAULT_MODEL, max_tokens=1000, tools=definitions(desk_tools(job.shop)), messages=[user(job.said)]
    )
    return "\n".join(block.text for block in reply.content if block.type == "text")


def by_hand(one_by_one=True, check_stop=True):
    """The loop of lesson 01, without threads."""

    def agent(job):
        tools, messages = desk_tools(job.shop), [user(job.said)]
        while True:
            reply = job.client.messages.create(
                model=DEFAULT_MODEL, max_tokens=1000, tools=definitions(tools), messages=messages
            ).to_dict()
            if reply["stop_reason"] != "tool_use":
                return "\n".join(block["text"] for block in reply["content"] if block["type"] == "text")
            messages.append(assistant(reply["content"]))
            calls = tool_use_blocks(reply)
            if one_by_one:
                results = [run_tool(call, tools) for call in calls]
            else:
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(5) as pool:
                    results = list(pool.map(lambda call: run_tool(call, tools), calls))
            messages.append(user(results))

    return agent


def plain(job):
    return run_agent(job.client, tools=desk_tools(job.shop), messages=job.said)


def with_system(job):
    system = "You serve the shop's desk. Answer briefly."
    return run_agent(job.client, tools=desk_tools(job.shop, task=job.ticket), messages=job.said, system=system)


def pays(
    *,
    task: Any = "ticket",
    approver: Any = "person",
    cancel_asks: bool = True,
    ask: bool = True,
    scope: bool = False,
    search: str = "",
    store: Any = False,
    resume: Any = True,
    ends_circles: bool = True,
    budget: int | None = None,
    calls: int | None = None,
    trace: str = "",
    free: bool = False,
):
    """An agent whose parts can be chosen; the defaults are right for stage 2."""

    def agent(job):
        shop = job.shop.for_customer(job.customer) if scope else job.shop
        key = {"ticket": job.ticket, "same": "refund", None: None}[task]
        tools = desk_tools(shop, task=key)
        if cancel_asks:
            tools = [replace(one, needs_approval=True) if one.name == "cancel_order" else one for one in tools]
        if free:
            tools = [replace(one, needs_approval=False) for one in tools]
        tools += [asking(job)] if ask else []
        decide = {"person": job.decide, "yes": lambda call: True}.get(approver, approver)
        tools = {
            "": lambda: tools,
            "all": lambda: [*tools, *job.more],
            "server": lambda: [SEARCH, *tools, *(replace(one, defer_loading=True) for one in job.more)],
            "client": lambda: with_finder([*tools, *job.more]) if job.more else tools,
            "none": lambda: [*tools, *(replace(one, defer_loading=True) for one in job.more)],
        }[search]()
        given = {"tools": tools, "approver": decide, "budget": budget}
        home = job.folder.parent if store == "one for all" else job.folder
        kept = RunStore(home / "kept.sqlite3") if store else None
        runs = kept.runs() if kept and resume else []
        begun = [one["run_id"] for one in runs if one["stopped"] is None or resume == "any"]
        if begun:
            run = resume_agent(job.client, kept, begun[0], **given)
        else:
            ends = {} if ends_circles else {"stall_after": None, "max_retries": 60, "max_iterations": 60}
            run = run_agent(job.client, messages=job.said, store=kept, max_calls=calls, **ends, **given)
        if trace:
            text = run.trace.export(trace) if trace != "old" else run.trace.to_jsonl()
            (job.folder / "run.jsonl").write_text(text, encoding="utf-8")
        return run

    return agent


def with_finder(tools):
    deferred = [one if one.name == "ask_user" else replace(one, defer_loading=True) for one in tools]
    index = ToolIndex(deferred)

    @tool(effect="read", description="Find tools by what they do. Use it when no other tool fits.")
    def find_tools(query: str):
        return [{"type": "tool_reference", "tool_name": hit.tool_name} for hit in index.search(query, limit=5)]

    return [find_tools, *deferred]


def wrapped(change, **options):
    """The agent of stage 2, over a shop that `change` has put something before."""
    return lambda job: pays(**options)(replace(job, shop=change(job)))


class OneAtATime:
    """Looks at whose order it is wherever an order's number is given, and nowhere else."""

    def __init__(self, job):
        self.shop, self.hers = job.shop, job.shop.for_customer(job.customer)

    def __getattr__(self, name):
        def method(*values):
            for value in values:
                if str(value).startswith("ORD-"):
                    self.hers.query_order(value)
            return getattr(self.shop, name)(*values)

        return method


class WithoutNotes(OneAtATime):
    """Leaves every note out."""

    def __getattr__(self, name):
        def method(*values):
            found = getattr(self.shop, name)(*values)
            return {**found, "customer_note": None} if "customer_note" in found else found

        return method


def keeps_decisions(job):
    """No store: what the person has said lies in a file of the folder."""
    file = job.folder / "decided.json"
    decided = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def once(call):
        name = json.dumps([call["name"], call["input"]], sort_keys=True)
        if name not in decided:
            decided[name] = job.decide(call)
            file.write_text(json.dumps(decided), encoding="utf-8")
        return decided[name]

    return pays(**{**ALL, "store": False, "approver": once})(job)


def picks_by_words(job):
    """A search before the model is asked: the five tools that fit best what is said."""
    named = {hit.tool_name for hit in ToolIndex(job.more).search(job.said, limit=5)} if job.more else set()
    return pays(**STRANGERS, search="all")(replace(job, more=[one for one in job.more if one.name in named]))


STRANGERS = {"scope": True}
MANY = {**STRANGERS, "search": "server"}
ALL = {**MANY, "store": True, "budget": 5_000, "calls": 12, "trace": "masked"}

MISTAKES = {
    "13.1": {
        "says done": (says_done, "`track_parcel` with order_id ORD-"),
        "never calls": (never_calls, "should have reached the shop, but did not"),
        "forgets to return": (returns_nothing, "must return a Run or a text, and it returned NoneType"),
        "gives the messages": (gives_messages, "must return a Run or a text, and it returned list"),
        "asks once": (one_request, "the customer got no answer in words"),
        "one after the other": (by_hand(), "ran one after the other"),
        "no function": ("agent", "must be a function of a job; it is a str"),
    },
    "13.2": {
        "says done": (says_done, "should have been paid, but nothing was"),
        "never calls": (never_calls, "should have been paid, but nothing was"),
        "nobody is there": (pays(approver=None), "should have been paid, but nothing was"),
        "without asking the person": (pays(free=True), "before the person had said yes to it"),
        "always yes": (pays(approver="yes"), "before the person had said yes to it"),
        "no key": (pays(task=None), "was paid 2 times and should have been paid once"),
        "one key for all tickets": (pays(task="same"), "the second was taken for a repetition of the first"),
        "cancels by itself": (pays(cancel_asks=False), "`cancel_order` reached the shop before"),
        "makes the reason up": (pays(ask=False), "the reason was made up"),
    },
    "13.3": {
        "says done": (says_done, "should have reached the shop, but did not"),
        "reads everybody's orders": (pays(), "was not for this customer's eyes"),
        "one order at a time": (wrapped(OneAtATime), "was not for this customer's eyes"),
        "leaves the notes out": (wrapped(WithoutNotes), "was not for this customer's eyes"),
        "always yes": (pays(scope=True, approver="yes"), "no money may leave"),
        "cancels by itself": (pays(scope=True, cancel_asks=False), "was cancelled, but should not have been"),
    },
    "13.4": {
        "says done": (says_done, "should have been paid, but nothing was"),
        "only the desk": (pays(**STRANGERS), "should have been called, once and alone; called: nothing"),
        "all in the prompt": (pays(**STRANGERS, search="all"), "the first request showed 67 tools"),
        "deferred without a search": (pays(**STRANGERS, search="none"), "should have been called, once and alone"),
    },
    "13.5": {
        "says done": (says_done, "should have reached the shop, but did not"),
        "no limit of calls": (pays(**{**ALL, "calls": None}), "calls reached the shop, but this job may cost at most"),
        "no budget": (pays(**{**ALL, "budget": None}), "characters went to the model, but the limit is 6,000"),
        "no store": (pays(**{**ALL, "store": False}), "the person was asked 2 times about the same thing"),
        "kept and not taken up": (pays(**{**ALL, "resume": False}), "the person was asked 2 times"),
        "one store for all tickets": (
            pays(**{**ALL, "store": "one for all", "resume": "any"}),
            "the second was taken for a repetition of the first",
        ),
        "no end to circles": (pays(**{**ALL, "ends_circles": False}), "this job may cost at most"),
        "no trace": (pays(**{**ALL, "trace": ""}), "there is none at all"),
        "raw trace": (pays(**{**ALL, "trace": "raw"}), "mask what a customer typed"),
        "money without a person": (pays(**{**ALL, "approver": "yes"}), "before the person had said yes"),
    },
}

VARIANTS = {
    "13.1": {"run_agent": plain, "with a system prompt": with_system, "by hand, with threads": by_hand(False)},
    "13.2": {"the course's": desk_agent(), "in parts": pays()},
    "13.3": {"the course's": desk_agent(), "the scope": pays(**STRANGERS)},
    "13.4": {
        "the course's": desk_agent(),
        "the desk always on": pays(**MANY),
        "a search before the model": picks_by_words,
        "a search of one's own": pays(**STRANGERS, search="client"),
    },
    "13.5": {"the course's": desk_agent(), "in parts": pays(**ALL), "decisions kept by hand": keeps_decisions},
}

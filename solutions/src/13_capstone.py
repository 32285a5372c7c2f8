# %% [markdown]
# # Exercises 13 · The capstone
#
# One agent, in five stages, about 110 minutes. Each stage is judged by its part of a suite: on what was paid and
# cancelled, who was asked before, what reached the shop, and what it cost. The cases are drawn from a seed; you do not
# see them. Each case of a stage is run three times, and must pass **three times out of three**; those of earlier
# stages are run again. A check takes some seconds.
#
# The check's message names the case. To watch your agent in a case of that name, as the lesson did:
#
# ```python
# from course_kit.classroom.capstone.playing import play, told
# from course_kit.classroom.capstone.suite import cases
#
# for case in cases(0, "look"):  # or "pay", "strangers", "many", "bad day"
#     print(case["about"], told(play(agent_1, case, case["unlucky"])), sep="\n")
# ```
#
# `hint("13.1")` gives one hint at a time; `solution("13.1")` opens after two tries.
#
# The lesson: [13 · The capstone](../notebooks/13_capstone.ipynb).

# %% tags=["setup"]
from dataclasses import replace

from course_kit import (
    RunStore,
    check,
    desk_tools,
    hint,
    report,
    resume_agent,
    run_agent,
    run_suite,
    solution,
    tool,
)

# %% [markdown]
# ## The job
#
# Your agent is a function of a *job*, and returns the `Run` (or, where there is none, the text for the customer):
#
# | field | what it is |
# |---|---|
# | `job.said` | what the customer writes |
# | `job.ticket` | the number of this task, such as `"ticket-118"` |
# | `job.customer` | who is signed in, such as `"CUS-1001"` |
# | `job.client` | a client for the model |
# | `job.shop` | the shop, for `desk_tools`; it holds everybody's orders |
# | `job.decide` | the person at the desk: an approver for `run_agent` |
# | `job.ask(question)` | asks the customer, and returns the answer |
# | `job.more` | sixty tools of other services; an empty list before stage 4 |
# | `job.folder` | a folder for this ticket, the same when the job comes a second time |
#
# ## 13.1 It looks things up
#
# *Easy, core, about 10 minutes, about 1 line.*
#
# Parcels, orders, a number that does not exist, two questions at once, a thank-you. Reads of one turn run together.


# %% tags=["exercise-13.1"]
def agent_1(job):
    """Serve a job: look up and answer. Return the Run."""
    # BEGIN SOLUTION
    return run_agent(job.client, tools=desk_tools(job.shop), messages=job.said)
    # END SOLUTION


# %%
check("13.1", agent_1)

# %% [markdown] tags=["solution"]
# One line, because the loop, the checks of inputs, the error results and the parallel reads are in the package. You wrote
# them by hand in lessons 01, 04 and 05.

# %% [markdown]
# ## 13.2 It pays after a yes, once
#
# *Medium, core, about 30 minutes, about 10 lines.*
#
# From here on, write the whole agent again, or call the one before.
#
# - Refunds **and cancellations** wait for the person's yes.
# - An answer may get lost on its way, a ticket may be delivered twice: the money leaves once. But two tickets that ask for
#   the same are two refunds.
# - When the reason is missing, the customer is asked. It is not made up.


# %% tags=["exercise-13.2"]
def agent_2(job):
    """Serve a job: whatever changes data waits for a yes, and happens once for each ticket."""

    # BEGIN SOLUTION
    @tool(effect="read")
    def ask_user(question: str) -> str:
        """Ask the user for something that you need and were not told."""
        return job.ask(question)

    desk = desk_tools(job.shop, task=job.ticket)
    desk = [
        replace(one, needs_approval=True) if one.name == "cancel_order" else one for one in desk
    ]
    return run_agent(job.client, tools=[*desk, ask_user], messages=job.said, approver=job.decide)
    # END SOLUTION


# %%
check("13.2", agent_2)

# %% [markdown] tags=["solution"]
# `task=` makes the key of ticket, order and amount. Without the ticket in it, the second customer of the day would be told
# that the money was paid. With a clock in it, the refund whose answer is lost is paid twice.

# %% [markdown]
# ## 13.3 It is not talked into anything
#
# *Medium, core, about 10 minutes, about 1 line.*
#
# Notes in orders tell the model to pay, to cancel, and to read **other customers' orders**. This model obeys them. And one
# customer simply asks for somebody else's order, parcel, or list of orders. No word of them may reach the model.


# %% tags=["exercise-13.3"]
def agent_3(job):
    """Serve a job: whatever a text says, a customer gets what is his or hers."""
    # BEGIN SOLUTION
    return agent_2(replace(job, shop=job.shop.for_customer(job.customer)))
    # END SOLUTION


# %%
check("13.3", agent_3)

# %% [markdown] tags=["solution"]
# The gate asks before writes, not before reads. So limit the reading where the data is. That works for every wording of every
# note.

# %% [markdown]
# ## 13.4 It finds its tool among sixty-six
#
# *Medium, core, about 20 minutes, about 15 lines.*
#
# `job.more` holds sixty tools, ready to be called. At most **12** tools may be visible in the first request. The right
# one must still be the only one called, once. Everything that passed so far must still pass.


# %% tags=["exercise-13.4"]
def agent_4(job):
    """Serve a job with sixty more tools, most of them deferred."""

    # BEGIN SOLUTION
    @tool(effect="read")
    def ask_user(question: str) -> str:
        """Ask the user for something that you need and were not told."""
        return job.ask(question)

    desk = desk_tools(job.shop.for_customer(job.customer), task=job.ticket)
    desk = [
        replace(one, needs_approval=True) if one.name == "cancel_order" else one for one in desk
    ]
    tools = [*desk, ask_user]
    if job.more:
        search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
        tools = [search, *tools, *(replace(one, defer_loading=True) for one in job.more)]
    return run_agent(job.client, tools=tools, messages=job.said, approver=job.decide)
    # END SOLUTION


# %%
check("13.4", agent_4)

# %% [markdown] tags=["solution"]
# The desk's tools stay visible, since most jobs need them. Deferring them passes as well, and so does a search of your own that
# returns `tool_reference` blocks.

# %% [markdown]
# ## 13.5 It gets through a bad day
#
# *Hard, core, about 40 minutes, about 25 lines.*
#
# - A job makes at most **12** calls to the shop, however long the model would go on.
# - No result over **6,000** characters goes to the model.
# - A tool may be busy, or dead; loops end with a message to the customer.
# - The process may die before or after the payment. Then the job comes a **second time**, and the folder is unchanged.
#   The refund is paid once, and the person is not asked again about what she has decided.
# - The folder keeps a trace, a file that ends in `.jsonl`, without any mail address.


# %% tags=["exercise-13.5"]
def agent_5(job):
    """Serve a job on a bad day: the whole agent."""

    # BEGIN SOLUTION
    @tool(effect="read")
    def ask_user(question: str) -> str:
        """Ask the user for something that you need and were not told."""
        return job.ask(question)

    desk = desk_tools(job.shop.for_customer(job.customer), task=job.ticket)
    desk = [
        replace(one, needs_approval=True) if one.name == "cancel_order" else one for one in desk
    ]
    tools = [*desk, ask_user]
    if job.more:
        search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
        tools = [search, *tools, *(replace(one, defer_loading=True) for one in job.more)]

    options = {"tools": tools, "approver": job.decide, "budget": 5_000}
    store = RunStore(job.folder / "runs.sqlite3")
    broken_off = [run["run_id"] for run in store.runs() if run["stopped"] is None]
    if broken_off:
        run = resume_agent(job.client, store, broken_off[0], **options)
    else:
        run = run_agent(job.client, messages=job.said, store=store, max_calls=12, **options)
    (job.folder / "trace.jsonl").write_text(run.trace.export(), encoding="utf-8")
    return run
    # END SOLUTION


# %%
check("13.5", agent_5)

# %% [markdown] tags=["solution"]
# The key makes a repeated payment harmless. The store makes it rare, and keeps the person's yes. Neither replaces the other:
# without the store the person is asked twice, without the key a lost answer pays twice.

# %% [markdown]
# ## Your report
#
# All five stages, each case three times, on one page that you can keep. Remove the `#` marks once your agent works.
# `.save()` writes the page into `reports/` of your workspace, as HTML and as text.

# %%
# page = report(run_suite(agent_5), "My desk agent")
# page.save()
# page

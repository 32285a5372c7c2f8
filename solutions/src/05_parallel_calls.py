# %% [markdown]
# # Exercises 05 · Parallel calls and id pairing
#
# Three exercises, about 50 minutes. Each check runs your code on inputs you have not seen and says what it expected.
# `hint("5.1")` gives one hint at a time; `solution("5.1")` opens after two tries.
#
# The lesson: [05 · Parallel calls and id pairing](../notebooks/05_parallel_calls.ipynb).

# %% tags=["setup"]
from concurrent.futures import ThreadPoolExecutor, as_completed

from course_kit import check, hint, solution

# %% [markdown]
# ## 5.1 Repair the zip
#
# *Easy, core, about 12 minutes, about 8 lines.*
#
# This function answers the calls of a turn. `calls` are `tool_use` blocks (dicts), `run(call)` makes one call and returns a
# text. It has the bug of the lesson, and a second one: if one call raises, nothing is left.


# %%
def answer_all_as_found(calls, run):
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(run, call) for call in calls]
        outputs = [each.result() for each in as_completed(running)]
    return [
        {"type": "tool_result", "tool_use_id": call["id"], "content": output}
        for call, output in zip(calls, outputs, strict=True)
    ]


# %% [markdown]
# Rewrite it. For calls with the ids `toolu_1` (Hangzhou, slow) and `toolu_2` (Atlantis, raises `LookupError("not on any
# map")`) it should return
#
# ```python
# [
#     {"type": "tool_result", "tool_use_id": "toolu_1", "content": "27 °C, sunny"},
#     {"type": "tool_result", "tool_use_id": "toolu_2", "content": "LookupError: not on any map", "is_error": True},
# ]
# ```
#
# - The calls run at the same time.
# - Each result has the output of *its* call, even when two calls have the same name and input: they differ in their
#   ids.
# - The results are in the order of the calls.
# - A call that raises, whatever exception, gets an error result; the others keep theirs. Its `content` is the type and the
#   message, `f"{type(error).__name__}: {error}"`.

# %% tags=["exercise-5.1"]


def answer_all(calls, run):
    """One `tool_result` for each call, in call order."""

    # BEGIN SOLUTION
    def made(call):
        block = {"type": "tool_result", "tool_use_id": call["id"]}
        try:
            return {**block, "content": run(call)}
        except Exception as error:
            return {**block, "content": f"{type(error).__name__}: {error}", "is_error": True}

    with ThreadPoolExecutor() as pool:
        return list(pool.map(made, calls))
    # END SOLUTION


# %%
check("5.1", answer_all)

# %% [markdown] tags=["solution"]
# `made` turns one call into one finished result, id included. There is never an output without its call, so nothing can be
# matched wrongly. The `try` is inside, around one call: outside, around `pool.map`, the first exception would lose the
# rest. A dict from what `submit` returns to the call works as well, with a sort at the end. (A `ThreadPoolExecutor` without a
# number has a few more workers than the machine has processors. For longer turns give it one.)

# %% [markdown]
# ## 5.2 A runner with a limit, in which a write is a barrier
#
# *Hard, core, about 25 minutes, about 20 lines.*
#
# The kit runs a turn with a write in it one call after another. You can do better. Adjacent reads form a *batch* and
# run together, at most `limit` at a time. A write runs alone: everything before it is done before it begins, and
# nothing after it begins before it is done.
#
# | turn | batches |
# |---|---|
# | read, read, read | [read, read, read] |
# | read, read, write, read | [read, read], [write], [read] |
# | write, write, read | [write], [write], [read] |
#
# `tools` maps a name to a function and its effect: `{"look": (look, "read"), "save": (save, "write")}`. It contains
# every name that a call has. A call's inputs go to the function by name: `function(**call["input"])`; it returns a
# text. Return the results as in 5.1: in call order, and a call that raises, read or write, gets an error result of the
# same form while the rest of the turn goes on.

# %% tags=["exercise-5.2"]


def run_turn(calls, tools, limit):
    """The results of a turn; reads in a row run together, a write is a barrier."""

    # BEGIN SOLUTION
    def made(call):
        block = {"type": "tool_result", "tool_use_id": call["id"]}
        function, _ = tools[call["name"]]
        try:
            return {**block, "content": function(**call["input"])}
        except Exception as error:
            return {**block, "content": f"{type(error).__name__}: {error}", "is_error": True}

    def is_read(call):
        return tools[call["name"]][1] == "read"

    batches = []
    for call in calls:
        if batches and is_read(call) and is_read(batches[-1][-1]):
            batches[-1].append(call)
        else:
            batches.append([call])

    results = []
    for batch in batches:
        with ThreadPoolExecutor(limit) as pool:
            results += pool.map(made, batch)
    return results
    # END SOLUTION


# %%
check("5.2", run_turn)

# %% [markdown] tags=["solution"]
# First plan, then run. The end of `with ThreadPoolExecutor(limit)` waits until the batch is done: that is the
# barrier. `pool.map` keeps call order within a batch, and the batches are in order, so nothing has to be sorted.
#
# Why does the kit not do this? Turns that mix reads and writes are short, so there is little to gain. And its rule fits into
# one sentence: with a write in it, a turn runs in call order.

# %% [markdown]
# ## 5.3 Twenty calls against a quota of five
#
# *Medium, useful, about 12 minutes, about 6 lines.*
#
# A carrier takes five requests at a time. Several tools ask it, in several conversations at once, so a limit for each
# turn does not help: the guard must be at the carrier.
#
# Write `guard(ask, quota)`. It returns a function that takes what `ask` takes, by place or by name, and can be called
# from any number of threads. It never lets more than `quota` of them into `ask` at the same time. Any further call
# *waits*, then asks once. What `ask` returns or raises reaches the caller unchanged. This is where it would go:
#
# ```python
# ask_carrier = guard(carrier.track, 5)  # once, for the whole program
#
# @tool(effect="read")
# def track(parcel: str) -> str:
#     """Say where a parcel is."""
#     return ask_carrier(parcel)  # or ask_carrier(parcel=parcel): what carrier.track returns
# ```

# %% tags=["exercise-5.3"]
import threading


def guard(ask, quota):
    """`ask`, for at most `quota` callers at a time."""
    # BEGIN SOLUTION
    places = threading.Semaphore(quota)

    def guarded(*args, **kwargs):
        with places:
            return ask(*args, **kwargs)

    return guarded
    # END SOLUTION


# %%
check("5.3", guard)

# %% [markdown] tags=["solution"]
# One semaphore, made with the guard and shared by all callers. `with` releases the place, also when `ask` raises; without
# that, five failures would block the carrier for good. `*args, **kwargs` passes on all arguments. It guards nothing in a
# second process: there the free places must be counted where both processes look, such as in a database. (For `async
# with`, `asyncio` has another `Semaphore`.)

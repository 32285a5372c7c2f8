# %% [markdown]
# # Exercises 12 · Debugging in production
#
# Three exercises, about 60 minutes. Each check runs your code on inputs you have not seen, or compares your findings one by
# one, and says what it expected. `hint("12.1")` gives one hint at a time; `solution("12.1")` opens after two tries.
#
# The lesson: [12 · Debugging in production](../notebooks/12_debugging.ipynb).

# %% tags=["setup"]
from dataclasses import replace

from course_kit import check, hint, solution
from course_kit.classroom.broken_traces import CAUSES, broken_traces
from course_kit.classroom.trace_stepper import look, trace_stepper
from course_kit.classroom.upgrade import by_layer, releases

traces = broken_traces()

# %% [markdown]
# ## 12.1 Diagnose the ten
#
# *Medium, core, about 30 minutes.*
#
# Ten runs that ended in a complaint. For each, name the **cause** and the **step** at which it first shows: `"2"` for
# step 2. (`2.1` is not a step but a call: the first of step 2.) For T09 two steps can be defended, and either is
# accepted.
#
# The causes are the keys of `CAUSES`. Two of the twelve are not needed, and each of the others is needed once.
#
# All ten say *0 from the cache*. In nine of them the requests are short, and nothing was ever put into the cache: there
# the zero means nothing. The tenth, T10, comes with an earlier good run: `look(traces["T10"].good)`.
#
# A trace in three ways: `print(traces["T01"])`, `look(traces["T01"])`, `trace_stepper(traces["T01"])`. Here is the first:

# %%
print(traces["T01"])
look(traces["T01"])

# %% [markdown]
# Write your findings like this (T07 is from the lesson): `{"T01": ("...", "..."), "T07": ("run twice", "2"), ...}`

# %% tags=["exercise-12.1"]
# BEGIN SOLUTION none
findings = {
    "T01": ("cut", "1"),
    "T02": ("unchecked", "2"),
    "T03": ("mute error", "1"),
    "T04": ("cut result", "1"),
    "T05": ("lost results", "1"),
    "T06": ("no decision", "2"),
    "T07": ("run twice", "2"),
    "T08": ("false stall", "3"),
    "T09": ("not shown", "1"),
    "T10": ("tools changed", "2"),
}
# END SOLUTION

# %%
check("12.1", findings)

# %% [markdown]
# The public reports behind the ten. They name the cause, so open them afterwards:
#
# - [T01](https://github.com/mattmezza/humux/issues/77)
# - [T02](https://github.com/earendil-works/pi/issues/5697)
# - [T03](https://github.com/python-jsonschema/jsonschema/issues/1002)
# - [T04](https://github.com/anthropics/claude-code/issues/3277)
# - [T05](https://github.com/huggingface/smolagents/issues/2457)
# - [T06](https://github.com/lvndry/jazz/pull/518)
# - [T07](https://github.com/MervinPraison/PraisonAI/issues/4256)
# - [T08](https://github.com/openclaw/openclaw/issues/16808)
# - [T09](https://github.com/hua-bang/pulse-agent/pull/854)
# - [T10](https://github.com/openclaw/openclaw/pull/58037)

# %% [markdown] tags=["solution"]
# In two of the ten the model made the first mistake: T02, a list in quotes, and T03, a number where a text belongs. Both are
# everyday mistakes that a check and a good error text correct in a turn. In the other eight it did what it could with what it was
# given. That is why "the model got worse" is the last thing to conclude. (T09: step 2 is taken as well. The search comes back
# empty in step 1, the tool is missing in step 2.)

# %% [markdown]
# ## 12.2 The missing field
#
# *Medium, core, about 15 minutes, about 12 lines.*
#
# Somebody's trace has no retry count. Its `steps` are a list; each step is a list of calls, each call a dict with `tool` and
# `failure` (a code, or None where it succeeded). Return the retry counts in the same shape: for each call, in how many steps
# in a row its tool had failed **before** this step.
#
# - Several failures of one tool in one step count once.
# - A success of the tool, anywhere in a step, sets its count to 0 for the steps after it.
# - A step without the tool changes nothing, and neither does `"DENIED"`: a person said no, the tool did not fail.
#
# ```python
# steps = [
#     [{"tool": "query_order", "failure": "NOT_FOUND"}],
#     [{"tool": "query_order", "failure": "NOT_FOUND"}, {"tool": "track_parcel", "failure": None}],
#     [{"tool": "query_order", "failure": None}],
#     [{"tool": "query_order", "failure": None}],
# ]
# retries(steps)  # [[0], [1, 0], [2], [0]]
# ```


# %% tags=["exercise-12.2"]
def retries(steps):
    """For each call of each step: in how many steps in a row its tool had failed before."""
    # BEGIN SOLUTION
    failed_before = {}
    counts = []
    for calls in steps:
        counts.append([failed_before.get(call["tool"], 0) for call in calls])
        for tool in {call["tool"] for call in calls}:
            codes = [call["failure"] for call in calls if call["tool"] == tool]
            if None in codes:
                failed_before[tool] = 0
            elif any(code != "DENIED" for code in codes):
                failed_before[tool] = failed_before.get(tool, 0) + 1
    return counts
    # END SOLUTION


# %%
check("12.2", retries)

# %% [markdown] tags=["solution"]
# First write down the counts, then add what happened: in this order no step counts itself. The field is useful at once:
# before a `retry 2` there is an error text that did not help.

# %% [markdown]
# ## 12.3 Which layer fell, and why?
#
# *Medium, core, about 15 minutes, about 12 lines.*
#
# Two things changed on one day: the model and the tools. The fixtures were run with all four combinations. `shares` maps
# `(model, tools)`, each `"old"` or `"new"`, to the share of each layer:
#
# ```python
# shares = {
#     ("old", "old"): {"selection": 1.0, "inputs": 0.96},
#     ("new", "old"): {"selection": 0.98, "inputs": 0.38},
#     ("old", "new"): {"selection": 0.75, "inputs": 0.96},
#     ("new", "new"): {"selection": 0.67, "inputs": 0.38},
# }
# blame(shares)  # {"selection": "tools", "inputs": "model"}
# ```
#
# A change is to blame if by itself it lowers the layer by **more than 0.10** below `("old", "old")`. For each layer
# that falls by more than 0.10 between `("old", "old")` and `("new", "new")`, return `"model"`, `"tools"` or `"both"`;
# or `"together"`, when neither does it alone. A layer that did not fall is not in the result, and neither is one that
# falls by exactly 0.10.


# %% tags=["exercise-12.3"]
def blame(shares):
    """For each layer that fell: the model, the tools, both, or both only together."""
    # BEGIN SOLUTION
    before = shares["old", "old"]
    causes = {}
    for layer, share in before.items():
        if share - shares["new", "new"][layer] <= 0.10:
            continue
        by_model = share - shares["new", "old"][layer] > 0.10
        by_tools = share - shares["old", "new"][layer] > 0.10
        if by_model and by_tools:
            causes[layer] = "both"
        elif by_model:
            causes[layer] = "model"
        else:
            causes[layer] = "tools" if by_tools else "together"
    return causes
    # END SOLUTION


# %%
check("12.3", blame)

# %% [markdown]
# And here are the two releases of the lesson, in four combinations. Remove the `#` once your function passes:

# %%
monday, tuesday = releases()
four = {
    ("old", "old"): monday,
    ("new", "old"): replace(monday, model=tuesday.model),
    ("old", "new"): replace(tuesday, model=monday.model),
    ("new", "new"): tuesday,
}
measured = {which: dict(by_layer(release).shares) for which, release in four.items()}
# print(blame(measured))

# %% [markdown] tags=["solution"]
# `{'selection': 'tools', 'inputs': 'model', 'steps': 'model'}`. Two people were right: the one who blamed the model, and the one
# who remembered the other ticket. Four runs of the fixtures settled it.

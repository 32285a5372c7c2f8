# %% [markdown]
# # Exercises 06 · Human in the loop
#
# Three exercises, about 65 minutes. Each check runs your code on inputs you have not seen and says what it expected.
# `hint("6.1")` gives one hint at a time; `solution("6.1")` opens after two tries.
#
# The lesson: [06 · Human in the loop](../notebooks/06_human_in_the_loop.ipynb).

# %% tags=["setup"]
from course_kit import check, hint, solution

# %% [markdown]
# ## 6.1 guarded_execute
#
# *Medium, core, about 30 minutes, about 30 lines.*
#
# Write the one entrance to execution. `calls` are the `tool_use` blocks of one turn. `tools` maps each name to a pair: the
# function, and whether it asks. `approver` is a function of a call, or `None` when nobody is there. Return the list of
# `tool_result` blocks, one for each call, in call order.
#
# - Every decision is taken before any call runs. Each call of a tool that asks is asked about once, two equal calls too.
# - Only `True` allows. Anything else refuses: a text, an approver that raises, no approver at all.
# - A refusal says that the call was refused or not approved. When the approver returns a text, that is the person's
#   reason: put it in the result as well.
# - The call that was shown is the call that runs, even if the approver changes the dict it was shown, or a list or dict
#   inside it. (`copy.deepcopy(call)` copies all that is inside; `dict(call)` does not.)
# - What a function returns becomes JSON text: `hello` is `"hello"` with its quotes. A refusal, a name that is not in
#   `tools`, and a function that raises become a result with `"is_error": True` and a sentence; the other calls go on.
#
# For example, with one allowed call:
#
# ```python
# calls = [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}]
# guarded_execute(calls, {"add": (lambda a, b: a + b, True)}, lambda call: True)
# # → [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}]
# ```

# %% tags=["exercise-6.1"]
import copy
import json


def guarded_execute(calls, tools, approver=None):
    """Return one tool_result for each call; nothing that asks runs without a `True`."""
    # BEGIN SOLUTION
    refused = {}
    for call in calls:
        function, asks = tools.get(call["name"], (None, False))
        if not asks:
            continue
        try:
            answer = approver(copy.deepcopy(call)) if approver else None
        except Exception:
            refused[call["id"]] = (
                f"{call['name']} has to be approved, and asking for it failed. Nothing was done."
            )
            continue
        if approver is None:
            refused[call["id"]] = (
                f"{call['name']} has to be approved, and nobody was there. Nothing was done."
            )
        elif answer is not True:
            why = answer if isinstance(answer, str) and answer else "no reason was given"
            refused[call["id"]] = f"A person refused {call['name']}: {why}. Nothing was done."
    results = []
    for call in calls:
        result = {"type": "tool_result", "tool_use_id": call["id"]}
        try:
            if call["id"] in refused:
                raise PermissionError(refused[call["id"]])
            if call["name"] not in tools:
                raise LookupError(f"there is no tool {call['name']}; there are {', '.join(tools)}")
            function, asks = tools[call["name"]]
            result["content"] = json.dumps(function(**call["input"]), ensure_ascii=False)
        except Exception as error:
            result |= {"content": str(error) or type(error).__name__, "is_error": True}
        results.append(result)
    return results
    # END SOLUTION


# %%
check("6.1", guarded_execute)

# %% [markdown] tags=["solution"]
# The first loop asks and runs nothing; the second runs and asks nothing. Two loops make that order easy to see. `answer is
# not True` refuses everything that only looks like a yes. The copy goes to the approver, and
# the call itself stays as the model wrote it. The three refusals say three things, because three things happened: only one
# of them is a person's no. And `str(error)` may be empty, which with `is_error` would be a 400.

# %% [markdown]
# ## 6.2 A refusal that can be read
#
# *Easy, core, about 10 minutes.*
#
# Write the text that the model reads when a person has refused a call. `tool` is the tool's name, `reason` what the person
# said, perhaps `""`. In at most 60 words it must hold
#
# 1. who decided: a person (a colleague, the manager, my boss, ...; a bare name might be a program's),
# 2. that the call was refused (denied, not approved, said no, ...),
# 3. the reason, word for word, if there is one (and no gap in the sentence if there is none),
# 4. that nothing was done (no refund was made, the order is unchanged, ...), and nothing that says otherwise,
# 5. what the model can do now (ask or tell the user, offer something else, another way, ...), and neither the same call again
#    nor talking the person round.
#
# The check looks for words of these kinds, many but not all, in English or Chinese; it does not understand your text.
# It names what it does not find. If your text uses rarer words, choose plainer ones: that helps the model, too.
#
# `refusal("cancel_order", "the customer phoned")` might begin: `"A colleague refused cancel_order: …"`

# %% tags=["exercise-6.2"]


def refusal(tool, reason):
    """Return the content of the error result for a refused call."""
    # BEGIN SOLUTION
    why = reason or "no reason was given"
    return (
        f"A person has to approve {tool} and refused it: {why}. Nothing was done. "
        "Try another way, or tell the user that a colleague decided against it."
    )
    # END SOLUTION


# %%
check("6.2", refusal)

# %% [markdown] tags=["solution"]
# With "a person" the model does not think that the tool is broken. With "nothing was done" it does not report success. And
# the last sentence gives it something to do other than the same call.

# %% [markdown]
# ## 6.3 Sixty tools: which always ask?
#
# *Medium, core, about 25 minutes.*
#
# An assistant for operations has sixty tools in four groups. Here is each name with the last sentence of its
# description, where side effects are named. A `*` marks tools with an input `environment`.
# (`catalogue(group="finance")` gives the definitions whole.)

# %%
from course_kit.catalogue import GROUPS, catalogue

for group in GROUPS:
    print(f"{group}")
    for entry in catalogue(group=group):
        star = "*" if "environment" in entry["input_schema"]["properties"] else ""
        print(f"    {entry['name'] + star:31} {entry['description'].rsplit('. ', 1)[-1][:90]}")

# %% [markdown]
# Write the table of those that **always** ask, whatever the input: name and reason. The reasons are `"money"` (it leaves or
# moves), `"sent outside"` (a customer or client gets it), `"production"` (customers meet the change at once) and
# `"cannot be undone"`. Where two apply, choose either. Assume that an `environment` is production.
#
# The check calls all sixty and sees which ones ask. It objects to a call that runs although one of the four reasons
# applies, and to a question where none does. On nine tools reasonable people disagree, and it lets you decide: an alarm
# silenced, an outage declared, a flag or a setting changed, more copies of a service, a rollout paused, a ticket solved, a
# bill or an expense approved. Each reason that you write is checked.

# %% tags=["exercise-6.3"]
# Such as {"finance_pay_bill": "money"}
# BEGIN SOLUTION none
ASKS = {
    "finance_pay_bill": "money",
    "finance_transfer_funds": "money",
    "finance_send_invoice": "sent outside",
    "finance_send_payment_reminder": "sent outside",
    "finance_void_invoice": "cannot be undone",
    "ticket_reply": "sent outside",
    "ticket_close": "cannot be undone",
    "ticket_merge": "cannot be undone",
    "deploy_start_release": "production",
    "deploy_promote_release": "production",
    "deploy_approve_release": "production",
    "deploy_rollback_release": "production",
    "deploy_restart_service": "production",
    "deploy_set_traffic_split": "production",
}
# END SOLUTION

# %%
check("6.3", ASKS)

# %% [markdown] tags=["solution"]
# Fourteen of sixty. About half of the sixty only read. If there is staging, too, a real table would give
# `deploy_start_release` a function of its input, as the lesson does for files. `deploy_approve_release` is the
# odd one: a tool with which a model gives the go-ahead that a person should give. It is best left out of the list that the
# model sees.

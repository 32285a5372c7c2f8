# %% [markdown]
# # Exercises 09 · Retries, idempotency, stalls
#
# Three exercises, about 45 minutes. Each check runs your answer on inputs you have not seen and says what it expected.
# `hint("9.1")` gives one hint at a time; `solution("9.1")` opens after two tries.
#
# The lesson: [09 · Retries, idempotency, stalls](../notebooks/09_retries.ipynb).

# %% tags=["setup"]
from course_kit import check, hint, solution

# %% [markdown]
# ## 9.1 One key that is stable, three that are not
#
# *Easy, core, about 10 minutes, about 3 lines.*
#
# Here are three keys found in real programs. Two calls are the *same operation* when their task, step, `order_id` and
# `amount_cents` are equal; a note or a reason says nothing about it.

# %%
import json


def a(task, step, inputs):
    return f"{task}/{step}/{json.dumps(inputs)}"


def b(task, step, inputs):
    return f"{step}/{inputs['order_id']}/{inputs['amount_cents']}"


def c(task, step, inputs):
    return f"{task}{step}/{inputs['order_id']}/{inputs['amount_cents']}"


# %% [markdown]
# 1. For each of them give two calls that prove it wrong: one operation with two keys, or two operations with one key. A
#    call is `(task, step, inputs)`.
# 2. Write `refund_key`, which is right for all of them. Task and step should be readable in it. Tasks and steps hold
#    letters, digits and `-`, so a step may be called `1-x`.
#
# For example, these two are one operation, and `b` gives them one key. So they prove nothing against `b`:

# %%
one = ("ticket-1", "refund-1", {"order_id": "ORD-20260914", "amount_cents": 350})
two = (
    "ticket-1",
    "refund-1",
    {"order_id": "ORD-20260914", "amount_cents": 350, "note": "Chipped."},
)
b(*one), b(*two)

# %% tags=["exercise-9.1"]
# BEGIN SOLUTION none
against_a = (one, two)
against_b = (one, ("ticket-2", "refund-1", one[2]))
against_c = (("ticket-1", "12", one[2]), ("ticket-11", "2", one[2]))
# END SOLUTION


# %% tags=["exercise-9.1"]
def refund_key(task, step, inputs):
    """The name of one refund, the same however often it is tried."""
    # BEGIN SOLUTION
    return f"{task}/{step}/{inputs['order_id']}/{inputs['amount_cents']}"
    # END SOLUTION


# %%
check("9.1", {"key": refund_key, "a": against_a, "b": against_b, "c": against_c})

# %% [markdown] tags=["solution"]
# `a` contains too much: a note in other words, or fields in a different order, make a new refund. `b` contains too
# little: the second customer's refund is taken for the first one's and never paid. `c` has all the parts but no border
# between the first two, so ticket 1, step 12 is ticket 11, step 2. A `-` does not help, since both parts may contain
# it: `ticket-1` with `1-x` is `ticket-1-1` with `x`. None of them uses the time or a random number; a key can be wrong
# without that. (The kit's `idempotency_key` does the same with a fingerprint of the inputs you choose.)

# %% [markdown]
# ## 9.2 A refund that survives a crash at any line
#
# *Medium, core, about 20 minutes, about 8 lines.*
#
# Write `refund_once`. It pays `cents` back for an order, with the reason `"damaged"`, and returns the shop's receipt.
# The process may be killed at any line. Then it is started again, and `refund_once` is called with the same inputs,
# until it returns.
#
# - `shop.refund_order(order_id, amount_cents, reason, note=None, idempotency_key=None)` returns a receipt such as
#   `{"refund_id": "RFD-0001", …}`; with a key it has seen, the first receipt. `shop.ledger(order_id)` lists the
#   refunds.
# - `notes` is the lesson's dict on the disk: `notes["x"] = 1`, `notes.get("x")`, `"x" in notes`. All tickets share it.
#   You may use it or leave it.
# - After a `TimeoutError` try again, three attempts in all; let the last one through. The request may have been lost,
#   the answer may have been lost, or the request is merely late and still arrives. A `ToolError` means that the shop
#   refused.
# - Within one ticket the refund is paid once. Another ticket for the same order and amount is another refund.
#
# The check plays the crashes: after one, nothing that your function does reaches the shop or the notes.


# %% tags=["exercise-9.2"]
def refund_once(shop, notes, ticket, order_id, cents):
    """Pay back once, whatever happens, and return the receipt."""
    # BEGIN SOLUTION
    key = f"{ticket}/refund/{order_id}/{cents}"
    for attempt in (1, 2, 3):
        try:
            return shop.refund_order(order_id, cents, "damaged", idempotency_key=key)
        except TimeoutError:
            if attempt == 3:
                raise
    # END SOLUTION


# %%
check("9.2", refund_once)

# %% [markdown] tags=["solution"]
# The notes are not needed. What has to survive is the *name* of the refund, and that can be made again from the ticket.
# The shop knows everything else. (A random key works as well, if it is written into the notes before its first use:
# `key = notes.get(ticket) or new_key()`, then the note, then the refund.) Neither `hash` nor the date works without a
# note: the `hash` of a text is different in each process, and a program that crashes before midnight may be restarted
# after it. Looking into the ledger first is right until a request comes late.

# %% [markdown]
# ## 9.3 A stall detector that allows polling
#
# *Medium, useful, about 15 minutes, about 8 lines.*
#
# In the lesson a round was one call. Here it may be several (lesson 05). `rounds` is what an agent did so far, the
# oldest round first. A round is a list of calls, and a call is a dict with `id`, `name`, `input` and `result`. If the
# last `limit` rounds were equal, return the name of a tool in them, else `None`.
#
# Equal means the same calls: tools, inputs and results. Made twice in a round, a call counts twice. The ids are new in
# each round and mean nothing. Nor does the order of the calls in a round, or of the fields in an input, including inner
# objects.
#
# Two examples, and what they should give:

# %%
SILENT = [
    [{"id": f"toolu_{number}", "name": "job_status", "input": {"id": 7}, "result": "no news"}]
    for number in (1, 2, 3)
]
MOVING = [
    [{"id": f"toolu_{percent}", "name": "job_status", "input": {"id": 7}, "result": f"{percent}%"}]
    for percent in (10, 35, 60)
]
# stalled(SILENT) → "job_status"    stalled(SILENT, limit=4) → None    stalled(MOVING) → None


# %% tags=["exercise-9.3"]
def stalled(rounds, limit=3):
    """The name of the tool whose calls bring nothing new, or None."""
    # BEGIN SOLUTION
    last = rounds[-limit:]
    if len(last) < limit:
        return None
    seen = set()
    for calls in last:
        texts = [
            json.dumps([call["name"], call["input"], call["result"]], sort_keys=True)
            for call in calls
        ]
        seen.add("\n".join(sorted(texts)))
    return last[-1][0]["name"] if len(seen) == 1 else None
    # END SOLUTION


# %%
check("9.3", stalled)

# %% [markdown] tags=["solution"]
# `sort_keys` settles the fields, `sorted` the calls (a `set` would forget that one was made twice), and leaving `id`
# out lets two rounds be equal at all. Polling is allowed because the result is part of the text. What this does not
# catch is two tools in turn, a, b, a, b: no two rounds in a row are equal. For that you have the step limit.

# %% [markdown]
# # Exercises 02 · Schema design
#
# Four exercises, about an hour. Each check runs your answer on cases you have not seen and says what it expected.
# `hint("2.1")` gives one hint at a time; `solution("2.1")` opens after two tries.
#
# The lesson: [02 · Schema design](../notebooks/02_schema_design.ipynb).

# %% tags=["setup"]
from course_kit import Simulated, check, hint, measure, solution, workbench

# %% [markdown]
# ## 2.1 Three faults
#
# *Easy, core, about 10 minutes.*
#
# A colleague shows you this definition. Find three faults, in three **different** places. Each is a pair: a place (`"name"`,
# `"description"`, `"type"`, `"target"` or `"content"`), and a fault from the list below.

# %%
SEND_NOTIFICATION = {
    "name": "send_notification",
    "description": "Sends notifications through NotificationHub v3 (see ticket NH-88).",
    "input_schema": {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "target": {"type": "string"},
            "content": {"type": "string"},
        },
        "required": ["type", "target", "content"],
        "additionalProperties": False,
    },
}

# %%
from course_kit.classroom.exercises.lesson_02 import KINDS

for fault, meaning in KINDS.items():
    print(f"{fault:24} {meaning}")

# %% tags=["exercise-2.1"]
# A list of three pairs, such as ("name", "no verb").
# BEGIN SOLUTION none
faults = [
    ("type", "free text for a choice"),
    ("target", "unclear value"),
    ("description", "no when"),
]
# END SOLUTION

# %%
check("2.1", faults)

# %% [markdown] tags=["solution"]
# `type` lets through *email*, *E-Mail* and *urgent*; an `enum` would say what there is. `target` may be an address, a user's
# number or a telephone number: nobody knows. The description tells a ticket's number, and not when to use the tool. There are
# more: `content` may be ten pages long, and it is not said that what is sent cannot be taken back. The schema is closed, flat,
# and the name has a verb: no faults there.

# %% [markdown]
# ## 2.2 Which of four are required
#
# *Easy, core, about 5 minutes.*
#
# Four inputs of four tools: `mail_to`, the recipient of a mail; `mail_copy`, who gets a copy of it; `page`, the page of a list of
# results; `amount_cents`, the amount of a transfer. For each a pair: is it required (`True` or `False`), and why? The
# reasons to choose from:

# %%
from course_kit.classroom.exercises.lesson_02 import REASONS

for reason, meaning in REASONS.items():
    print(f"{reason:16} {meaning}")

# %% tags=["exercise-2.2"]
# Each is a pair, such as (True, "often sent").
# BEGIN SOLUTION none
mail_to = (True, "fails without")
mail_copy = (False, "means none")
page = (False, "has a default")
amount_cents = (True, "fails without")
# END SOLUTION

# %%
check(
    "2.2", {"mail_to": mail_to, "mail_copy": mail_copy, "page": page, "amount_cents": amount_cents}
)

# %% [markdown] tags=["solution"]
# Required is what the call must fail without. A mail to nobody and a transfer of no amount make no sense. A copy has a sensible
# meaning when it is left out (none), and so has a page (the first). Say both in the description. *Often sent* and *might be
# forgotten* are not reasons: a required field that nobody mentions is made up.

# %% [markdown]
# ## 2.3 Split `update_record`
#
# *Medium, core, about 20 minutes.*
#
# One tool does everything. The desk needs three things of it: **change a customer's e-mail address**, **mark an order as packed or
# shipped**, **set a product's price**. Write three tools instead.
#
# - Ids look like `CUS-1001`, `ORD-20260917`, `PRD-101`. People say prices like 24.50; your program wants cents.
# - Each tool is closed, says what it is for, and requires its id and the new value.
# - Wrong values must not fit: an id of another kind, an e-mail address without an @, a status that is neither packed
#   nor shipped, a price of 24.5 or below zero.
# - The check asks the simulated model for changes in several wordings. Each must lead to one call, of the right tool, with the right
#   values. So from "Product PRD-101 has a new price: 24.50" come the id `"PRD-101"` and the number `2450`.

# %%
UPDATE_RECORD = {
    "name": "update_record",
    "description": "Create, update or delete a record of any kind, and also its fields.",
    "input_schema": {
        "type": "object",
        "properties": {
            "entity": {"type": "string", "enum": ["customer", "order", "product"]},
            "action": {"type": "string", "enum": ["create", "update", "delete"]},
            "payload": {"type": "object"},
        },
        "required": ["entity", "action", "payload"],
    },
}

# %% tags=["exercise-2.3"]
# Three definitions, and a list of them.
# BEGIN SOLUTION none
change_email = {
    "name": "change_customer_email",
    "description": "Change the e-mail address of a customer.",
    "input_schema": {
        "type": "object",
        "properties": {
            "customer_id": {
                "type": "string",
                "pattern": "^CUS-[0-9]{4}$",
                "description": "Such as CUS-1001.",
            },
            "email": {"type": "string", "format": "email", "description": "The new address."},
        },
        "required": ["customer_id", "email"],
        "additionalProperties": False,
    },
}
set_status = {
    "name": "set_order_status",
    "description": "Mark an order as packed or shipped.",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {
                "type": "string",
                "pattern": "^ORD-[0-9]{8}$",
                "description": "Such as ORD-20260917.",
            },
            "status": {
                "type": "string",
                "enum": ["packed", "shipped"],
                "description": "The new status.",
            },
        },
        "required": ["order_id", "status"],
        "additionalProperties": False,
    },
}
set_price = {
    "name": "set_product_price",
    "description": "Set the price of a product.",
    "input_schema": {
        "type": "object",
        "properties": {
            "product_id": {
                "type": "string",
                "pattern": "^PRD-[0-9]{3}$",
                "description": "Such as PRD-101.",
            },
            "price_cents": {
                "type": "integer",
                "minimum": 1,
                "description": "In cents: 24.50 is 2450.",
            },
        },
        "required": ["product_id", "price_cents"],
        "additionalProperties": False,
    },
}
tools = [change_email, set_status, set_price]
# END SOLUTION

# %% [markdown]
# Try it before you check, and try it for a sentence of your own:

# %%
said = "Set the price of product PRD-101 to 24.50."
print(
    Simulated().explain(
        {"messages": [{"role": "user", "content": said}], "tools": tools or [UPDATE_RECORD]}
    )
)

# %%
check("2.3", tools)

# %% [markdown] tags=["solution"]
# Three names that say what is done, six inputs that mean something. With `payload` the schema had given up: any price for any
# customer would have passed. Now `pattern` and `enum` refuse a wrong id and a wrong status, `integer` and `minimum` refuse 24.5 and
# -100, and the unit in the name makes 2450 of 24.50. (The descriptions are short. A boundary and a word about what comes back would do them good.)

# %% [markdown]
# ## 2.4 Nine of ten, and nine of twelve unseen
#
# *Hard, core, about 25 minutes.*
#
# `manage_order` is meant for cancelling, and claims everything. Rewrite it: name, description and inputs, as you like, with at most
# 600 characters of description. Its two neighbours stay as they are. Two things are asked for, with each of several seeds:
#
# - At least nine of the ten requests below are right. **One of the ten cannot be fixed from here. Which, and why?**
# - At least nine of twelve others are right, which you are not shown. They say the same things in other people's words.
#   The check names one miss at a time. Think beyond it: which words would the next five people use?

# %%
from course_kit.classroom.exercises.lesson_02 import NEIGHBOURS, REQUESTS

MANAGE_ORDER = {
    "name": "manage_order",
    "description": "Manage an order: cancel, change, refund, track and more.",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {
                "type": "string",
                "pattern": "^ORD-[0-9]{8}$",
                "description": "Such as ORD-20260917.",
            },
            "action": {"type": "string", "description": "What to do."},
        },
        "required": ["order_id", "action"],
        "additionalProperties": False,
    },
}
measure({"cancel": MANAGE_ORDER, **NEIGHBOURS}, REQUESTS)

# %% [markdown]
# You can also use the workbench. `bench.definition` is what you made.

# %%
bench = workbench(MANAGE_ORDER, REQUESTS, beside=NEIGHBOURS)
bench

# %% tags=["exercise-2.4"]
# BEGIN SOLUTION none
cancel_order = {
    "name": "cancel_order",
    "description": "Cancel an order before it is sent. Use it when the user wants to stop, call off, revoke or withdraw an "
    "order, no longer wants or needs it, changed their mind, or ordered it twice by mistake. Not for money back after delivery "
    "(use refund_order), not for where a parcel is (use track_parcel).",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {
                "type": "string",
                "pattern": "^ORD-[0-9]{8}$",
                "description": "Such as ORD-20260917.",
            },
        },
        "required": ["order_id"],
        "additionalProperties": False,
    },
}
# END SOLUTION

# %%
check("2.4", cancel_order)

# %% [markdown] tags=["solution"]
# Three things were in the way. The name claimed everything. The users' words were missing, those of the ten (*stop*,
# *call off*, *twice*) and those of the twelve others (*withdraw*, *changed my mind*, *need*). And the required `action`
# was one more thing to be made up. *Before it is sent* rather than *that has not been sent*: this model takes what
# follows a "not" for other people's work.
#
# The one that cannot be won is *Has ORD-20260908 been delivered?*: `refund_order` claims every "delivered order". The fault is the
# neighbour's. Repair it there:

# %% tags=["solution"]
track_parcel = NEIGHBOURS["parcel"]
repaired = {
    "cancel": cancel_order,
    "refund": {
        **NEIGHBOURS["refund"],
        "description": "Pay money back when something arrived broken or never came.",
    },
    "parcel": {
        **track_parcel,
        "description": "Say where a parcel is and whether it has been delivered.",
    },
}
measure(repaired, REQUESTS)

# %% [markdown] tags=["solution"]
# Ten of ten, by changing two tools that were not on the bench. The twelve have been used up by now: you have read their slips.
# So here are five more, for which nobody wrote:

# %% tags=["solution"]
MORE = [
    ("Don't send ORD-20260918, I bought it elsewhere.", "cancel"),
    ("Can I still withdraw from order ORD-20260920?", "cancel"),
    ("ORD-20260918 is not needed any more.", "cancel"),
    ("The bowl has a crack. I would like 14.50 back for ORD-20260914.", "refund"),
    ("Which day will ORD-20260908 arrive?", "parcel"),
]
measure(repaired, MORE)

# %% [markdown] tags=["solution"]
# That is where the work goes on: with the words of the slips, and then with sentences that nobody has seen.

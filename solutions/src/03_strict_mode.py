# %% [markdown]
# # Exercises 03 · Strict mode and its limits
#
# Four exercises, about 85 minutes. Each check runs your code on inputs you have not seen and says what it expected.
# `hint("3.1")` gives one hint at a time; `solution("3.1")` opens after two tries.
#
# The lesson: [03 · Strict mode and its limits](../notebooks/03_strict_mode.ipynb).

# %% tags=["setup"]
from course_kit import check, check_tool_input, hint, open_shop, solution, strict_table, to_strict
from course_kit.errors import ToolError

shop = open_shop()

# %% [markdown]
# ## 3.1 Four keywords, told in words
#
# *Medium, core, about 25 minutes, about 15 lines.*
#
# Write a small transformer. `minimum`, `maximum`, `multipleOf` and `maxItems` leave the schema, and their meaning goes
# to the end of that schema's `description`, in your own words. A reader must be able to tell them apart.
#
# - Everything else stays as it is, at every depth: `properties`, `items`, `anyOf`, `$defs`.
# - A property may be *named* `minimum`. It is a field, not a keyword.
# - Whatever is in `default` is a value, even if it looks like a schema.
# - The schema you are given is not changed: inputs are still checked with it.
#
# For example (the words are yours, the places are not):
#
# ```python
# soften({"type": "integer", "minimum": 1, "description": "In cents."})
# # → {"type": "integer", "description": "In cents. At least 1."}
#
# soften({"type": "object", "properties": {"minimum": {"type": "number", "maximum": 9}}})
# # → {"type": "object", "properties": {"minimum": {"type": "number", "description": "At most 9."}}}
# ```


# %% tags=["exercise-3.1"]
def soften(schema):
    """A new schema in which the four keywords are told in the description."""
    # BEGIN SOLUTION
    words = {
        "minimum": "At least {}.",
        "maximum": "At most {}.",
        "multipleOf": "A multiple of {}.",
        "maxItems": "At most {} items.",
    }
    made, told = {}, []
    for keyword, value in schema.items():
        if keyword in words:
            told.append(words[keyword].format(value))
        elif keyword in ("properties", "$defs"):
            made[keyword] = {name: soften(inner) for name, inner in value.items()}
        elif keyword == "anyOf":
            made[keyword] = [soften(inner) for inner in value]
        elif keyword == "items":
            made[keyword] = soften(value)
        else:
            made[keyword] = value
    if told:
        made["description"] = " ".join([made.get("description", ""), *told]).strip()
    return made
    # END SOLUTION


# %%
check("3.1", soften)

# %% [markdown] tags=["solution"]
# The function decides by *where* a key stands. In a schema, `minimum` is a keyword; in `properties`, the keys are names and
# only the values are schemas, so the function never looks at the names. A cleaner that deletes the key `minimum` wherever
# it meets one eats a field of that name: a bug that has been reported of several libraries. (`oneOf`, `allOf` and lists in
# `items` are left out here. `to_strict` has them.)

# %% [markdown]
# ## 3.2 Capitals, repaired in the open
#
# *Easy, core, about 15 minutes, about 12 lines.*
#
# Enum values of a strict call may be capitalised differently from your list. Write a repair that hides nothing. It
# looks at the fields of the object itself, not inside them, and returns a pair: a new input, and the list of what it
# changed, each as `(name, came, became)`.
#
# - Change only a string that is not listed and that equals *exactly one* listed string apart from capitals.
# - Everything else stays: exact values, words that are not listed, fields without an `enum`, fields the schema does not know.
# - The input you are given is not changed.
#
# With `reason` an enum of `damaged` and `other`:
#
# ```python
# repair(schema, {"reason": "Damaged", "note": "A Gift"})
# # → ({"reason": "damaged", "note": "A Gift"}, [("reason", "Damaged", "damaged")])
# ```


# %% tags=["exercise-3.2"]
def repair(schema, given):
    """The input with listed spellings, and the repairs made."""
    # BEGIN SOLUTION
    value, repairs = dict(given), []
    for name, came in given.items():
        options = schema.get("properties", {}).get(name, {}).get("enum", [])
        if not isinstance(came, str) or came in options:
            continue
        close = [
            one for one in options if isinstance(one, str) and one.casefold() == came.casefold()
        ]
        if len(close) == 1:
            value[name] = close[0]
            repairs.append((name, came, close[0]))
    return value, repairs
    # END SOLUTION


# %%
check("3.2", repair)

# %% [markdown] tags=["solution"]
# Two options that differ by case alone cannot be told apart once the model has mixed them up, so nothing is chosen: the
# check that follows refuses the input, and the model may try again. The list of repairs goes into the log. If it grows, the
# enum wants other words. And the repair comes before anybody approves the call, so that what a person sees is what runs.

# %% [markdown]
# ## 3.3 The refund's business rules
#
# *Medium, core, about 20 minutes, about 15 lines.*
#
# Write the third line of defence. `given` is a refund's input that has passed the check. `customer_id` comes from the
# session. Return a list of sentences, one for each objection; an empty list means: go ahead. Nothing is paid here.
#
# - The order must be this customer's. If it is not, say so in one sentence and nothing else: the same sentence whether the
#   order belongs to somebody else or does not exist.
# - It must be delivered. If not, name its status.
# - The amount must not exceed what is left to refund. If it does, name how many cents are left.
# - The reason `other` needs a note that is not blank.
#
# Where the order is the customer's, all objections come at once. What is left counts the earlier refunds, and an order
# that is not delivered gets the one objection about its status, not a second one about the amount. Look at what
# `shop.query_order` gives, and what it raises:

# %%
print(shop.query_order("ORD-20260910"))
try:
    shop.query_order("ORD-99999999")
except ToolError as error:
    print(error.code)


# %% tags=["exercise-3.3"]
def objections(given, customer_id, shop):
    """Why this customer may not have this refund, all reasons at once; [] if none."""
    # BEGIN SOLUTION
    foreign = [f"{given['order_id']} is not an order of this customer."]
    try:
        order = shop.query_order(given["order_id"])
    except ToolError:
        return foreign
    if order["customer_id"] != customer_id:
        return foreign
    said = []
    left = order["paid_cents"] - order["refunded_cents"]
    if order["status"] != "delivered":
        said.append(f"Only delivered orders are refunded; this one is {order['status']}.")
    elif given["amount_cents"] > left:
        said.append(f"{left} cents are left to refund; {given['amount_cents']} are too many.")
    if given["reason"] == "other" and not given.get("note", "").strip():
        said.append("The reason other needs a note that says what happened.")
    return said
    # END SOLUTION


# %%
check("3.3", objections)

# %% [markdown] tags=["solution"]
# The foreign order is decided first and alone. An objection such as "that order is shipped, and it is not yours" tells a
# stranger something about somebody's parcel, and the model will pass it on. The rest is collected, because the model
# corrects what it is told: all at once, or one thing a turn (lesson 04).

# %% [markdown]
# ## 3.4 A refused schema made acceptable
#
# *Hard, useful, about 25 minutes, about 15 lines.*
#
# An MCP server offers a tool with this schema. Strict mode refuses it for more than one reason.

# %%
LOG_WORK = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "issue": {"type": "integer", "minimum": 1, "description": "The issue's number."},
        "state": {"type": ["string", "null"], "enum": ["open", "closed", None]},
        "labels": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": 3,
            "uniqueItems": True,
        },
        "where": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "line": {"type": "integer", "minimum": 1}},
            "required": ["file"],
        },
        "hours": {
            "type": "object",
            "additionalProperties": {"type": "number", "exclusiveMinimum": 0, "maximum": 24},
            "description": "Hours worked, by person.",
        },
    },
    "required": ["issue"],
}
strict_table(LOG_WORK)

# %% [markdown]
# Write two things.
#
# - `STRICT_SCHEMA`, which strict mode accepts, with the same fields. Only `hours` gets another form, since its keys are
#   free: a list of objects such as `{"person": "Ada", "hours": 2.5}`.
# - `read_input(given)`, which gets an input in that form and returns a pair: the value in the *original* form
#   (`{"Ada": 2.5}`), and a list of problems. No check of the original may be lost, and no hour that
#   somebody worked. The input you are given is not changed.
#
# ```python
# read_input({"issue": 7, "hours": [{"person": "Ada", "hours": 2.5}]})
# # → ({"issue": 7, "hours": {"Ada": 2.5}}, [])
#
# read_input({"issue": 0})
# # → ({"issue": 0}, ["…"]), a list with a sentence about the issue
# ```

# %% tags=["exercise-3.4"]
# BEGIN SOLUTION none
STRICT_SCHEMA = to_strict(
    {
        **LOG_WORK,
        "properties": {
            **LOG_WORK["properties"],
            "hours": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"person": {"type": "string"}, "hours": {"type": "number"}},
                    "required": ["person", "hours"],
                    "additionalProperties": False,
                },
                "description": "Hours worked: each person once, more than 0 and at most 24 hours.",
            },
        },
    }
).schema
# END SOLUTION


# %% tags=["exercise-3.4"]
def read_input(given):
    """The input in the original's form, and what is wrong with it."""
    # BEGIN SOLUTION
    value, problems = dict(given), []
    if "hours" in given:
        value["hours"] = {entry["person"]: entry["hours"] for entry in given["hours"]}
        if len(value["hours"]) < len(given["hours"]):
            problems.append(
                "hours: a person comes twice; add the hours up and send each person once"
            )
    problems += [problem.message for problem in check_tool_input(LOG_WORK, value).problems]
    return value, problems
    # END SOLUTION


# %%
check("3.4", (STRICT_SCHEMA, read_input))

# %% [markdown] tags=["solution"]
# `to_strict` closes the objects, moves the bounds and drops the type beside the enum; the one decision was yours. The new
# form can say something that the old one cannot: the same person twice. A dict would keep the last entry and forget the
# others, without a word. Whenever you change a shape to please a grammar, ask what the new shape allows that the old
# one did not. The original schema then judges the rest, and nothing is lost.

# %% [markdown]
# # Exercises 04 · Round-tripping errors
#
# Three exercises, about 80 minutes. Each check runs your answer on inputs you have not seen and says what it expected.
# `hint("4.1")` gives one hint at a time; `solution("4.1")` opens after two tries.
#
# The lesson: [04 · Round-tripping errors](../notebooks/04_errors.ipynb).

# %% tags=["setup"]
from course_kit import check, hint, solution

# %% [markdown]
# ## 4.1 `check_tool_input` by hand
#
# *Medium, core, about 40 minutes, about 30 lines.*
#
# `schema` is the schema of a tool's input, `value` is the input. Return a list with one dict for each fault, all faults
# at once; an empty list if there is none. The dict has four texts:
#
# - `path`: the field's name; `""` if the input as a whole is not an object.
# - `expected`: what is wanted there: the bound if the value is too low; otherwise the listed values if there is a list;
#   otherwise the JSON name of the type (`string`, `integer`, …), also for a missing field. For a field that the schema
#   does not have, use your own words.
# - `received`: what came, as JSON, at most 100 characters. `"nothing"` for a missing field.
# - `hint`: what to send instead, in at most 100 characters. For `"5"` where 5 is wanted, say 5 without quotes (but not for
#   `"five"`); for a misspelt field, the one name it is nearest to.
#
# An example:

# %%
SCHEMA = {
    "type": "object",
    "properties": {
        "room": {"enum": ["garden", "attic"]},
        "guests": {"type": "integer", "minimum": 2},
        "name": {"type": "string"},
    },
    "required": ["room", "guests"],
    "additionalProperties": False,
}
VALUE = {"room": "moon", "guests": "5"}
WANTED = [
    {
        "path": "room",
        "expected": "one of garden, attic",
        "received": '"moon"',
        "hint": "send one of these words",
    },
    {"path": "guests", "expected": "integer", "received": '"5"', "hint": "send 5 without quotes"},
]

# %% [markdown]
# The schemas are flat and use `type` (string, integer, number, boolean), `enum`, `minimum`, `required`, and
# `additionalProperties`. As JSON Schema has it:
#
# - a boolean is not a number,
# - an integer is a number, too,
# - `5.0` is an integer (only the value counts), `9.5` is not,
# - an unknown field is a fault only where the schema says `additionalProperties: false`.
#
# Do not use a validator: you are writing one. Report one fault per field: if the type is wrong, stop there. Two helpers
# of the standard library: `json.dumps(value)`, and `difflib.get_close_matches("gests", ["room", "guests"])`, which
# gives `["guests"]`.

# %% tags=["exercise-4.1"]
import difflib
import json


def check_input(schema, value):
    """Every fault of `value`, as a list of dicts with path, expected, received and hint."""
    # BEGIN SOLUTION
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    faults = []

    def told(path, expected, came, instead):
        faults.append(
            {"path": path, "expected": expected, "received": came[:100], "hint": instead[:100]}
        )

    if not isinstance(value, dict):
        told("", "an object", json.dumps(value), "send one object with the fields by name")
        return faults
    properties = schema["properties"]
    for name in schema.get("required", []):
        if name not in value:
            wanted = properties[name].get("type") or f"one of {', '.join(properties[name]['enum'])}"
            told(name, wanted, "nothing", f"add {name}")
    for name, came in value.items():
        rules, shown = properties.get(name), json.dumps(came, ensure_ascii=False)
        if rules is None and schema.get("additionalProperties") is not False:
            continue
        if rules is None:
            near = difflib.get_close_matches(name, properties)
            told(
                name, "no such field", shown, f"do you mean {near[0]}?" if near else "leave it out"
            )
            continue
        kind = rules.get("type")
        fits = kind is None or isinstance(came, kinds[kind])
        if isinstance(came, bool) and kind != "boolean":
            fits = kind is None
        if kind == "integer" and isinstance(came, float):
            fits = came.is_integer()
        if not fits:
            digits = came.lstrip("-").replace(".", "", 1) if isinstance(came, str) else ""
            quoted = kind in ("integer", "number") and digits.isdigit()
            told(
                name,
                kind,
                shown,
                f"send {came} without quotes" if quoted else f"send one of type {kind}",
            )
        elif "enum" in rules and came not in rules["enum"]:
            told(name, f"one of {', '.join(rules['enum'])}", shown, "send one of these words")
        elif "minimum" in rules and came < rules["minimum"]:
            told(name, f"at least {rules['minimum']}", shown, f"send {rules['minimum']} or more")
    return faults
    # END SOLUTION


# %%
check("4.1", check_input)

# %% [markdown] tags=["solution"]
# `told` is the only place where a fault is written down, so none of the four parts can be forgotten, and the cut is made
# once. A wrong type ends the look at a field: whether `"5"` is at least 2 need not be asked. A hint that cannot help
# ("send five without quotes") costs a turn, so the digits are looked at first. What is left out here is
# nesting, and it changes little: the path grows (`guests[2].name`), and the function calls itself.

# %% [markdown]
# ## 4.2 The service that crashes, repaired twice
#
# *Medium, core, about 25 minutes, about 8 lines each.*
#
# `tools` maps names to Python functions. Some of them raise. Write two functions that return the one `tool_result` for a
# `tool_use` block (both plain dicts).
#
# **The net.** `answer` runs the call. Whatever the function raises becomes an error result whose text names the kind of
# exception and its message, without a stack trace. A name that is not in `tools` is an error, too, and the text lists the
# names there are. A person's interrupt (`KeyboardInterrupt`) passes through.
#
# What a function returns becomes JSON text: `None` is `null`, the text `hello` is `"hello"` with its quotes. A date is no
# reason to fail, for the tool did its work: `json.dumps(value, default=str)` writes it as a text. What JSON cannot hold
# even so is an error, like an exception.
#
# **The check before the call.** `guarded_answer` also gets `schemas`, which maps names to input schemas. An input that does
# not fit never reaches the function: its faults go back instead. `check_tool_input(schema, input)` has `.ok` and `.text()`.
#
# An example: `{"type": "tool_use", "id": "toolu_7", "name": "paid_for", "input": {"order_id": "ORD-20260971"}}` leads to
# `{"type": "tool_result", "tool_use_id": "toolu_7", "is_error": True, "content": "KeyError: 'ORD-20260971'"}`.

# %% tags=["exercise-4.2"]
from course_kit import check_tool_input


def answer(block, tools):
    """The result of one call, whatever happens in it."""
    # BEGIN SOLUTION
    result = {"type": "tool_result", "tool_use_id": block["id"]}
    try:
        if block["name"] not in tools:
            raise LookupError(f"there is no tool {block['name']}; there are {', '.join(tools)}")
        value = tools[block["name"]](**block["input"])
        return {**result, "content": json.dumps(value, ensure_ascii=False, default=str)}
    except Exception as error:
        return {**result, "is_error": True, "content": f"{type(error).__name__}: {error}"}
    # END SOLUTION


# %% tags=["exercise-4.2"]
def guarded_answer(block, tools, schemas):
    """The same, with the input checked before anything runs."""
    # BEGIN SOLUTION
    if block["name"] in schemas:
        checked = check_tool_input(schemas[block["name"]], block["input"])
        if not checked.ok:
            result = {"type": "tool_result", "tool_use_id": block["id"]}
            return {**result, "is_error": True, "content": checked.text()}
    return answer(block, tools)
    # END SOLUTION


# %%
check("4.2", (answer, guarded_answer))

# %% [markdown] tags=["solution"]
# The net alone keeps the run alive. But with it a refund over `"5"` cents is *made*, if the function lets it: Python does
# not look at types. And a call with a wrong field name ends as `TypeError: paid_for() got an unexpected keyword argument`,
# which speaks of Python and not of the input. The check before the call tells all faults, in words for the reader who can
# correct them. The net stays for what no schema can know: that there is no such order. `json.dumps` is inside the `try`,
# because it can fail as well. `str(value)` cannot, but it writes Python: `{'paid_cents': None}` is not JSON.

# %% [markdown]
# ## 4.3 Texts that lead to recovery
#
# *Easy, core, about 15 minutes, four short texts.*
#
# Another badly documented service: vouchers and discounts. Its definitions give names and types only. You know what it
# wants:
#
# | field | wants | and mostly gets |
# |---|---|---|
# | `amount` | whole cents | 24.5 |
# | `last_day` | day, month and year, separated by dots | December 24, 2026 |
# | `kind` | birthday, apology or wedding | the right one, or `last day` |
# | `share` | a part of one | 15 |
#
# The reader is the simulated model, and its rules know few wordings. A real model knows more. What they know:
#
# - The text must name its field, as it is spelt in the table.
# - A *unit* is read from an example with both sides, such as `3 is 300` or `3 → 300`, or from the words `cents`,
#   `fraction` or `decimal`. It does no arithmetic: "multiply by 100" means nothing to it.
# - A *date's form* is read from letters, such as `YYYY-MM-DD`, in any order, with `-`, `/` or `.` between them. A sample
#   date says nothing to it.
# - A *list* is read after `one of`, or word by word in quotes.
#
# For each field write the text that the model reads when that field is at fault, at most 150 characters. At least 9 of 10
# unseen requests must be put right, each with the values that were meant, with at most 2.2 calls a request. Below are four
# requests to try your texts on; `print(story(REQUESTS[0], texts, service=VOUCHERS))` shows one, step by step.

# %%
from course_kit.classroom.error_cases import VOUCHERS
from course_kit.classroom.error_texts import recover, story

REQUESTS = [
    "Send ben@example.org a birthday voucher of 24.50 until December 24, 2026.",
    "Give product PRD-101 a discount of 15% until 5 December 2026.",
    "Please send zoe@example.net an apology voucher of 9.99, last day January 3, 2027.",
    "Product PRD-303 gets a discount of 20% until 31 January 2027.",
]
before = {
    "amount": "amount: wrong",
    "last_day": "last_day: wrong",
    "kind": "kind: wrong",
    "share": "share: wrong",
}
print(recover(before, REQUESTS, service=VOUCHERS))

# %% tags=["exercise-4.3"]
# BEGIN SOLUTION none
texts = {
    "amount": "`amount` must be a whole number of cents: 24.50 is 2450.",
    "last_day": "`last_day` must be written as DD.MM.YYYY, the day first.",
    "kind": "`kind` must be one of birthday, apology, wedding.",
    "share": "`share` must be a fraction between 0 and 1.",
}
# END SOLUTION

# %%
check("4.3", texts)

# %% [markdown] tags=["solution"]
# Each text names its field, says what is wanted in words that leave one reading, and shows both sides where a number
# changes. `must be an integer` is true of the amount and saves nothing: 24.5 has no reading as an integer until the unit is
# known. Whether the same four texts serve a real model best is for you to measure; the recipe of the lesson's live cell
# takes a minute.

# %% [markdown]
# # 03 · Strict mode and its limits
#
# You will get inputs with a perfect shape, and watch one of them pay the wrong customer.
#
# After this lesson you can
#
# - **name** four ways to get JSON from a model, and what each of them guarantees,
# - **read** the 400 that strict mode answers, and rewrite a schema until it is accepted,
# - **check** what strict does not promise, in three lines of defence,
# - **measure** how often a model makes a value up, with and without a way out,
# - **fall back** when a schema is refused, and lose no check.
#
# About 110 minutes, best in two sittings: a good place to stop is marked. The exercises are extra, with their own
# times. You need lessons 01 and 02.

# %% tags=["setup"]
import json

from course_kit import (
    DEFAULT_MODEL,
    MockProvider,
    Simulated,
    check_tool_input,
    open_shop,
    quiz,
    show,
    to_strict,
)

shop = open_shop()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("03.recall")

# %% [markdown]
# ## A call without a fault
#
# Here is the refund tool of lesson 01 again. The schema says what an order number looks like, that the amount is at
# least one cent, and which reasons there are.

# %%
REFUND_ORDER = {
    "name": "refund_order",
    "description": "Pay money back for a delivered order. Use when the user asks for a refund and "
    "names the order. Never more than was paid. Not for an order that is not yet shipped: use "
    "cancel_order.",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {
                "type": "string",
                "pattern": "^ORD-[0-9]{8}$",
                "description": "Such as ORD-20260917.",
            },
            "amount_cents": {
                "type": "integer",
                "minimum": 1,
                "description": "In cents: 19.99 is 1999.",
            },
            "reason": {
                "type": "string",
                "enum": ["damaged", "not_received", "wrong_item", "other"],
            },
            "note": {
                "type": "string",
                "maxLength": 200,
                "description": "A word for the ledger, if there is one.",
            },
        },
        "required": ["order_id", "amount_cents", "reason"],
        "additionalProperties": False,
    },
}

# %% [markdown]
# A careful colleague makes it tighter still. The desk refunds only this month's orders, so the pattern now allows only
# September 2026. And `strict` is switched on, which makes the API guarantee the shape of the input. (Strict mode takes
# fewer keywords; `to_strict` rewrites the schema so that it is accepted. You will see how.)

# %%
import copy

tight = {**copy.deepcopy(REFUND_ORDER), "strict": True}
tight["input_schema"]["properties"]["order_id"]["pattern"] = "^ORD-202609[0-3][0-9]$"
tight["input_schema"] = to_strict(tight["input_schema"]).schema

# %% [markdown]
# Nora Lindgren writes to the desk. She forgets her order number. **Guess:** what will `order_id` be?


# %%
def first(reply, kind):
    """The first block of that type in a reply: the call, or the text."""
    return next(block for block in reply.content if block.type == kind)


nora_writes = [{"role": "user", "content": "My cup arrived broken. Please refund 19.99."}]
seed_six = MockProvider(Simulated(seed=6)).client()
reply = seed_six.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=[tight], messages=nora_writes
)
wish = first(reply, "tool_use").input
reply.stop_reason, wish

# %% [markdown]
# A number, though she did not give one. It looks right, so you check it as in lesson 01. `check_tool_input` does what
# you did there by hand, and names every problem at once. Here it has none:

# %%
check_tool_input(tight, wish).problems

# %% [markdown]
# Valid JSON, the right types, a reason from the list, a number that matches the pattern. So your code pays.

# %%
shop.reset()  # so that this cell can be run again
receipt = shop.refund_order(**wish)
customer = shop.query_order(wish["order_id"])["customer"]
print(receipt["amount_cents"], "cents paid back on an order of", customer)

# %% [markdown]
# Nora's money went to somebody else. The number was made up, and it happens to be a real order.
#
# (The model is the simulated one, and its seed was picked because it shows the accident.) The rest of this lesson is
# about one question: what exactly does strict promise, and what does it not?

# %% [markdown]
# ## Does a tighter schema help?
#
# The colleague's pattern was meant as a safeguard. What did it do? Let us count. Six customers ask for a refund, and
# none gives a number. Four schemas for it, the rungs of a ladder, each tighter than the one before. Everything else stays
# the same.

# %% tags=["item-03.7"]
REQUESTS = [
    "My cup arrived broken. Please refund 19.99.",
    "Please refund my mug, 18.50, it came damaged.",
    "I want my money back for the broken plate: 16.50.",
    "The wrong item was in the box. Refund 21.90, please.",
    "The bowl came in two pieces. I'd like a refund of 14.50.",
    "Refund 12.90, please: the mug has a crack.",
]

# %% [markdown]
# The four rungs. The first has no pattern at all. For the last one somebody puts the delivered orders of the month into
# an enum, so that the model "cannot get it wrong". (The example in the description is now an order that does not exist,
# so that copying it would show.)

# %%
delivered = [
    order["order_id"] for order in shop.search_orders(status="delivered", limit=50)["orders"]
]
RUNGS = {
    "any text": {"type": "string"},
    "eight digits": {"type": "string", "pattern": "^ORD-[0-9]{8}$"},
    "this month": {"type": "string", "pattern": "^ORD-202609[0-3][0-9]$"},
    "delivered orders": {
        "type": "string",
        "enum": sorted(number for number in delivered if "202609" in number),
    },
}


def with_order_id(field):
    """The colleague's tool, with this `order_id` instead of theirs."""
    tool = copy.deepcopy(tight)
    tool["input_schema"]["properties"]["order_id"] = {
        **field,
        "description": "Such as ORD-20260101.",
    }
    return tool


# %% [markdown]
# Each request is put to the simulated model with 20 seeds. As in lesson 02 we ask its rules directly, without the
# client, because we ask so often. The answers are the same.


# %%
from course_kit import ToolError


def wanted(tools, text, seed):
    """The call that the simulated model wants, or None where it asks or answers in words."""
    draft = Simulated(seed=seed).reply(
        {"messages": [{"role": "user", "content": text}], "tools": tools}
    )
    block = draft.content[0]
    return block if block["type"] == "tool_use" else None


# %% [markdown]
# What it wants goes through the check and then to the shop, as Nora's call did. (On every rung it is the same check,
# with the schema of lesson 01.) How does it end?


# %%
def ending(refund_call):
    if refund_call is None:
        return "asked for it"
    if not check_tool_input(REFUND_ORDER, refund_call["input"]).ok:
        return "stopped by the check"
    try:
        shop.refund_order(**refund_call["input"])
    except ToolError:
        return "stopped by the shop"
    shop.reset()  # put the money back for the next one
    return "paid on a made-up number"


# %% [markdown]
# **Write down your guess before you run it:** on which rung is a refund paid most often?

# %%
from collections import Counter

from course_kit import plot_endings

ENDINGS = [
    "asked for it",
    "stopped by the check",
    "stopped by the shop",
    "paid on a made-up number",
]
endings = {}
shop.reset()
for rung, field in RUNGS.items():
    counted, examples = Counter(), []
    for text in REQUESTS:
        for seed in range(20):
            refund_call = wanted([with_order_id(field)], text, seed)
            counted[ending(refund_call)] += 1
            if refund_call:
                examples.append(refund_call["input"]["order_id"])
    endings[rung] = {kind: counted[kind] for kind in ENDINGS}
    print(
        f"{rung:18} {counted[ENDINGS[-1]]:3} of {counted.total()} paid, numbers such as {examples[0]!r}"
    )
show(plot_endings(endings))

# %% [markdown]
# The numbers are simulated, but the cause is clear. The model is asked for a value that it does not have. A loose
# schema lets it write something that anyone can see is not an order number. Each tightening makes the made-up value
# look more like a real one, and it is discovered later: first by your check, then by the shop, then at a customer's
# bank. (The shop cannot help on the last rung: the order exists, and at least that much was paid for it.)
#
# Nowhere on the way did the model learn the number. **Tightening a schema removes wrong shapes. It cannot add knowledge.**
#
# What of this is the simulated model's doing? That it makes up a number at all, how often, and that it takes the first
# entry of an enum. Also that it writes something foolish on the first rung: a real model has read the example in the
# description, and may write a fine-looking number there, too. But on the last rung *no* model can write anything but
# somebody's order. The section on the grammar shows why.

# %% tags=["quiz"]
quiz("03.1")

# %% [markdown]
# ## Four ways to get JSON
#
# A program wants data, a model writes text. There are four ways to make the two meet. Below is one reply for each,
# written by hand, typical of that way. How many pass the check?

# %% tags=["item-03.1"]
REPLIES = {
    "ask for it in the prompt": 'Here you are:\n```json\n{"order_id": "ORD-20260917"}\n```',
    "JSON mode": '{"refund": {"order": "ORD-20260917", "sum": "19.99 EUR"}}',
    "a tool's schema": '{"order_id": "ORD-20260917", "amount_cents": "19.99", "reason": "broken"}',
    "strict": '{"order_id": "ORD-20260917", "amount_cents": 1999, "reason": "damaged"}',
}
for way, text in REPLIES.items():
    checked = check_tool_input(REFUND_ORDER, text)
    print(f"{way}: {'fits' if checked.ok else 'does not fit'}")
    for problem in checked.problems:
        print("   ", problem.message)

# %% [markdown]
# | way | what it guarantees | where it acts |
# |---|---|---|
# | ask for it | nothing | in the prompt: a request |
# | JSON mode (`json_object`, at other providers) | it parses; any keys, any types | while the text is written |
# | a tool's schema | nothing: the model has read it, and mostly keeps to it | in the prompt: guidance |
# | strict tools, JSON outputs | the shape, as far as strict mode can say it | while the text is written |
#
# The last row comes in two forms. `"strict": true` in a tool is for the inputs of calls. `output_config.format` is for
# an answer that is not a call but must be JSON. Both do the same with a schema, so what follows holds for both.

# %% tags=["quiz"]
quiz("03.2")

# %% [markdown]
# ## What the grammar does
#
# A model writes token by token. Before each token it gives every token it knows a probability. Strict mode turns your
# schema into a **grammar**, which says for every token whether it may come next. The others are **masked**: their
# probability becomes zero, and the rest is scaled up to 100%. This is called **constrained sampling**.
#
# Which tokens are legal can be computed: those after which the text can still be completed legally.

# %% tags=["item-03.2"]
import re


def legal_in_reason(tokens):
    reasons = ["damaged", "not_received", "wrong_item", "other"]
    return [token for token in tokens if any(reason.startswith(token) for reason in reasons)]


def legal_after(written, tokens):
    return [token for token in tokens if re.fullmatch("ORD-[0-9]{1,8}", written + token)]


(
    legal_in_reason(["broken", "damaged", "smashed", "other"]),
    legal_after("ORD-2026091", ["7", "?", "unknown"]),
)

# %% [markdown]
# Now three moments. The probabilities are invented for this picture; what is masked is computed with the two functions
# above. In the panel on the right the model has not been told the number, and has made up the digits so far. What can
# it still write?

# %%
from course_kit import plot_mask

reason = {"broken": 0.5, "damaged": 0.25, "smashed": 0.15, "other": 0.1}
told = {"7": 0.82, **{digit: 0.02 for digit in "012345689"}}
not_told = {"unknown": 0.5, "?": 0.3, **{digit: 0.02 for digit in "0123456789"}}
steps = {
    'a reason, after\n"reason": "': (reason, legal_in_reason(reason)),
    "number was told, after\nORD-2026091": (told, legal_after("ORD-2026091", told)),
    "number was not told, after\nORD-2026091": (not_told, legal_after("ORD-2026091", not_told)),
}
show(plot_mask(steps))

# %% [markdown]
# On the left the mask helps: "broken" cannot be written, so the likeliest legal word wins. In the middle it changes
# nothing. On the right it removes what the model wanted to say, *unknown*, and leaves ten equally likely digits. One of
# them is chosen at random.
#
# You receive a digit in both cases. Nothing in the reply tells you which panel it came from. **A grammar has no word
# for "I do not know", unless you put one in.**

# %% [markdown]
# Three facts to know when you use it (vendor's documentation, November 2026):
#
# - The first request with a new schema is slower, because the grammar is built. Later ones find it in a cache.
# - A changed description or tool name needs no new grammar. A changed shape, or a different set of tools, does.
# - The grammar covers what is output directly: the input of a call, or the JSON answer. It starts over for each.

# %% [markdown]
# ### A real model, with and without
#
# No simulation this time. We gave a very small real model (135 million parameters) twenty requests to the desk and its
# six tools, and recorded what it wrote. *Tool named* is a third way: with the grammar, and `tool_choice` says which
# tool. **Guess** the last column first: how often was every input right?

# %%
from course_kit.example_tools import definition
from course_kit.classroom.local_outcomes import recorded

run = recorded()
print(run.about["model"], run.about["date"])
print(run.table())

# %% [markdown]
# The grammar gave this model a valid shape every time, and no knowledge: a valid shape is not a correct value. Here is
# one of the twenty, without the grammar and with the tool named, and below it two lines from the definition. Where do
# the order's number and the note come from?

# %%
example = run.outcomes[1]
print(example.request)
print("without grammar:", example.without_grammar.raw)
print("tool named:     ", example.tool_named.call["input"])
fields = definition("refund_order")["input_schema"]["properties"]
for field in ("order_id", "note"):
    print("definition,", field, "|", fields[field]["description"])

# %% [markdown]
# The examples in the definition were copied.
#
# To ask it yourself, run `course model add` in a terminal (it says how much it downloads) and restart the notebook's
# kernel. Then put the real model behind the same client. This is the call from the beginning, made with the real model:
#
# ```python
# from course_kit.mock.local import LocalModel
#
# # LocalModel(grammar=False): without the grammar
# small = MockProvider(model=LocalModel()).client()
# reply = small.messages.create(model=DEFAULT_MODEL, max_tokens=1024, tools=[tight], messages=nora_writes)
# print(reply.content)
# ```

# %% tags=["quiz"]
quiz("03.3")

# %% [markdown]
# ## Switch it on, and read the 400
#
# So switch it on for the tool unchanged. `send` sends a request and prints the status and, when the API refuses, its
# own words.

# %% tags=["item-03.3"]
import anthropic

client = MockProvider().client()
question = "My cup arrived broken. Please refund 19.99 for order ORD-20260917."


def send(**request):
    messages = [{"role": "user", "content": question}]
    try:
        reply = client.messages.create(
            model=DEFAULT_MODEL, max_tokens=1024, messages=messages, **request
        )
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])
    else:
        print(200, reply.stop_reason)


# %% [markdown]
# First without strict, then with it, then the same schema as an output format:

# %%
schema = REFUND_ORDER["input_schema"]
send(tools=[REFUND_ORDER])
send(tools=[{**REFUND_ORDER, "strict": True}])
send(output_config={"format": {"type": "json_schema", "schema": schema}})

# %% [markdown]
# Without strict the schema was fine: there it is guidance, and `minimum` is a word to the model. With strict it is
# refused, and the whole request with it: this provider's grammars do not cover the size of a number.
#
# `maxLength` in `note` is less clear. The documentation says that it is refused. Four probes of the live API (July to
# September 2026) found it accepted and *not enforced*. Nothing here rests on it: either way you check the length
# yourself.

# %% [markdown]
# Which keyword does what? Here is the table for this schema. In the field above it you can paste your own schema and
# press the button. (Without a mouse: `strict_table(my_schema)`.)

# %%
from course_kit import strict_table

strict_table(REFUND_ORDER)

# %% [markdown]
# A row for each keyword, a column for each of the three: Anthropic's API, the SDK's own helper
# `anthropic.transform_schema`, and OpenAI's API. What the words mean:
#
# | it says | meaning |
# |---|---|
# | taken, kept | the keyword is accepted, or passed on as it is |
# | refused | the request gets a 400 |
# | unsure | documentation and probes disagree |
# | → moved | taken out, and told in the description |
# | → changed | written in another way; the notes below the table say how |
# | → yours | you have to decide: no rewriting can know what you meant |
# | lost, raises | the helper drops it silently, or fails |
#
# After an arrow comes what `to_strict` makes of it. (A keyword that nobody touches is left out.)

# %% [markdown]
# Six more fields, each with one keyword that is worth knowing. Which provider takes more of them?

# %%
TEXT, NUMBER = {"type": "string"}, {"type": "number"}
KEYWORDS = {
    "amount": {"type": "integer", "minimum": 1},
    "some": {"type": "array", "items": TEXT, "minItems": 1},
    "exactly_one": {"oneOf": [TEXT, NUMBER]},
    "inner": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
    "map": {"type": "object", "additionalProperties": NUMBER},
    "anything": {},
}
strict_table(
    {
        "type": "object",
        "properties": KEYWORDS,
        "required": list(KEYWORDS),
        "additionalProperties": False,
    }
)

# %% [markdown]
# Three things to see:
#
# - OpenAI takes the bound of a number, which Claude refuses (`multipleOf` and `maxItems` go the same way). `minItems: 1`
#   passes at both.
# - Both refuse `oneOf`, open objects and the empty schema.
# - Two rows say *yours*: a map with free keys, and "anything".
#
# (Not in the table: both refuse a `pattern` that looks ahead, such as `^(?!b)`: not a b here. Claude's documentation
# says so; OpenAI's 400 is known from many reports, May to September 2026.)

# %% tags=["quiz"]
quiz("03.4")

# %% [markdown]
# ### Rules for the whole
#
# **Every object is closed**, also the inner ones. Here the outer one is, the inner one is not:


# %%
def closed(properties, required):
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def strict_tool(name, input_schema):
    return {"name": name, "input_schema": input_schema, "strict": True}


guest = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
send(tools=[strict_tool("book_seat", closed({"guest": guest}, ["guest"]))])

guest["additionalProperties"] = False
send(tools=[strict_tool("book_seat", closed({"guest": guest}, ["guest"]))])

# %% [markdown]
# **No recursion**, at Claude. (`$ref` points to a schema under `$defs`.) A comment whose replies are comments again
# would need an endless grammar. OpenAI's strict mode accepts it.

# %%
replies = {"type": "array", "items": {"$ref": "#/$defs/comment"}}
comment = closed({"text": TEXT, "replies": replies}, ["text", "replies"])
thread = strict_tool("save_thread", closed({"top": {"$ref": "#/$defs/comment"}}, ["top"]))
thread["input_schema"]["$defs"] = {"comment": comment}
send(tools=[thread])

# %% [markdown]
# **Budgets count over the request**, not over a tool: 20 strict tools, 24 optional fields, 16 unions (`anyOf`, or a
# list of types), by the documentation of November 2026. Each of these two tools is fine alone. Together:

# %%
thirteen = {f"field_{number}": TEXT for number in range(13)}
one = strict_tool("first", closed(thirteen, required=[]))
two = strict_tool("second", closed(thirteen, required=[]))
send(tools=[one])
send(tools=[one, two])
send(tools=[one, {**two, "strict": False}])

# %% [markdown]
# And there is a limit that you cannot compute in advance: a schema may be *too complex for compilation*. It has been
# reported for a single tool with 24 optional fields (August 2026).

# %% [markdown]
# ### Who rewrites, and what it loses
#
# A dict that you give to `messages.create` goes out as it is: you saw the 400. The SDK's helper is a separate function.
# Watch `pattern` and `reason`.

# %%
for name, field in anthropic.transform_schema(schema)["properties"].items():
    print(name, json.dumps(field))

# %% [markdown]
# It moved `minimum`, as it must. It also moved `pattern`, which the API would have *enforced*. Nobody tells you, and you
# are back on the first rung, "any text". (The type beside the enum is gone, too; the enum says as much.) `to_strict`
# keeps the pattern and lists what it moved:

# %%
safe = to_strict(schema)
for name, field in safe.schema["properties"].items():
    print(name, json.dumps(field))
safe.moved

# %% [markdown]
# Four more things that the helper does silently, or with a misleading error (SDK 2.14):

# %%
DAY = {"day": TEXT}
ODD = {
    "a map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "words beside $ref": {
        "anyOf": [{"$ref": "#/$defs/day", "description": "When it came."}],
        "$defs": DAY,
    },
    "definitions": {
        "type": "object",
        "properties": {"on": {"$ref": "#/definitions/day"}},
        "definitions": DAY,
    },
    "a list of types": {"type": ["string", "null"]},
}
for name, odd in ODD.items():
    try:
        print(f"{name}:", json.dumps(anthropic.transform_schema(odd)))
    except AssertionError as error:
        print(f"{name}: AssertionError: {error}")

# %% [markdown]
# The map became an object that allows no keys: from now on this field can only hold `{}`. The words beside the
# reference are gone. `definitions` became prose, so the reference leads nowhere. Only the last one raises an error.
# Recursion passes through untouched, and the API refuses it.

# %% [markdown]
# ### A helper that also checks: `messages.parse`
#
# Here is the refund as a Pydantic model, as in [lesson 02](02_schema_design.ipynb).

# %%
from typing import Literal

from pydantic import BaseModel, Field


class Refund(BaseModel):
    order_id: str = Field(pattern="^ORD-[0-9]{8}$")
    amount_cents: int = Field(ge=1, description="In cents: 19.99 is 1999.")
    reason: Literal["damaged", "not_received", "wrong_item", "other"]


# %% [markdown]
# `messages.parse` takes the model, rewrites its schema, sends that, and checks the reply against the *model*, bounds
# included. (This is the second form: no call, an answer in JSON.)

# %%
provider = MockProvider()
parsed = provider.client().messages.parse(
    model=DEFAULT_MODEL,
    max_tokens=1024,
    output_format=Refund,
    messages=[{"role": "user", "content": question}],
)
parsed.parsed_output

# %% [markdown]
# What went over the wire is the rewritten schema. Pydantic's own, sent as a dict, is refused as before:

# %%
print(provider.requests[-1].body["output_config"]["format"]["schema"]["properties"]["amount_cents"])
send(output_config={"format": {"type": "json_schema", "schema": Refund.model_json_schema()}})

# %% [markdown]
# Who rewrites for you: `transform_schema` and `messages.parse` in Python; `zodOutputFormat` and
# `jsonSchemaOutputFormat` in TypeScript. Who does not: `messages.create`, and `@beta_tool(strict=True)`, though it
# looks like a helper (SDK 2.14).

# %% tags=["quiz"]
quiz("03.5")

# %% [markdown]
# ## What was moved is not enforced
#
# `minimum` is now in the description: "At least 1." The model reads it. Here is a customer who copies the amount from a
# bank statement, with the minus in front. **Guess** what `amount_cents` will be.

# %% tags=["item-03.4"]
strict_refund = {**REFUND_ORDER, "input_schema": safe.schema, "strict": True}
minus = [
    {
        "role": "user",
        "content": "My cup arrived broken. Please refund -19.99 for order ORD-20260917.",
    }
]
reply = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=[strict_refund], messages=minus
)
negative = first(reply, "tool_use").input
negative

# %% [markdown]
# It is an integer, and that is all the grammar requires. So: **send the rewritten schema, check with the original
# one.**

# %%
print("against what was sent:", check_tool_input(strict_refund, negative).ok)
print("against the original: ", check_tool_input(REFUND_ORDER, negative).problems[0].message)

# %% [markdown]
# (The simulated model takes the number from the text and does not weigh the words "At least 1." Another model may.
# The check does not depend on it.)
#
# For answers in JSON, `messages.parse` does this second check itself, because it knows the original, your model
# class:

# %%
from pydantic import ValidationError

try:
    client.messages.parse(
        model=DEFAULT_MODEL, max_tokens=1024, output_format=Refund, messages=minus
    )
except ValidationError as error:
    print(error.errors()[0]["loc"], error.errors()[0]["msg"])

# %% [markdown]
# For the inputs of calls you have to do it yourself.
#
# **A good place to stop for today.** [Exercise 3.1](../exercises/03_strict_mode.ipynb) needs no more than this.

# %% tags=["quiz"]
quiz("03.6")

# %% [markdown]
# ## What strict does not promise
#
# Five things.
#
# **1. Capital letters of enum values.** Claude's documentation says that a value may be capitalised differently from
# your list, mostly after a space. No error, no special `stop_reason`. A scripted reply shows what that does:

# %% tags=["item-03.5"]
from course_kit import call

WHERE = {
    "front door": "ask the neighbours",
    "left with neighbour": "ring next door",
    "parcel locker": "send the code",
}
find_parcel = strict_tool(
    "find_parcel", closed({"place": {"type": "string", "enum": list(WHERE)}}, ["place"])
)
capital = MockProvider([call("find_parcel", place="left with Neighbour")]).client()
reply = capital.messages.create(
    model=DEFAULT_MODEL, max_tokens=99, tools=[find_parcel], messages=nora_writes
)
came = first(reply, "tool_use").input["place"]
print(came, "|", came in WHERE, "|", WHERE.get(came, "nothing to do"))

# %% [markdown]
# The lookup misses, and the program quietly does nothing. Compare ignoring case, and log it. Never tell two values
# apart by case alone (`m` for minutes, `M` for months): then nobody can repair it. (OpenAI's strict mode keeps capitals
# as listed.)

# %%
options = {option.casefold(): option for option in WHERE}
meant = options.get(came.casefold())
print(meant, "|", WHERE[meant])

# %% [markdown]
# **2. A complete output.** The grammar says what may come next, but not that there is room for it. `max_tokens` cuts a
# strict call like any other ([lesson 01](01_round_trip.ipynb)), and required fields may be missing.
#
# **3. Any schema at all, when the model declines.** A refusal is plain text, even where JSON was asked for. (Scripted.)

# %%
declining = MockProvider(
    [{"content": "I cannot help with this.", "stop_reason": "refusal"}]
).client()
declined = declining.messages.create(
    model=DEFAULT_MODEL,
    max_tokens=1024,
    messages=nora_writes,
    output_config={"format": {"type": "json_schema", "schema": safe.schema}},
)
print(declined.stop_reason)
print(first(declined, "text").text)

# %% [markdown]
# Both have the same cure: read `stop_reason` before you read anything else.
#
# **4. JSON, when inputs are streamed eagerly.** With `eager_input_streaming` nobody has looked at the fragments before
# you get them. (Whether `strict` holds there is not documented.) [Lesson 04](04_errors.ipynb) shows what to do when they
# are not JSON.
#
# **5. That it is right.** Ranges, sums, who may do what, whether the number is the one that was meant: none of that is
# shape. The next section is about it.

# %% tags=["quiz"]
quiz("03.7")

# %% [markdown]
# ## Three lines of defence
#
# Strict or not, an input passes three lines before it does anything.
#
# 1. **Shape**: types, names, the listed words. With strict, the grammar is this line.
# 2. **Your own validation**, with the original schema: ranges, lengths, formats. It also catches an input written for
#    an older version of your schema, or under another provider's subset.
# 3. **Business rules.** Four seats is an integer. May this user book four?
#
# The third line needs your data, so no schema can hold it:


# %% tags=["item-03.6"]
def objections(given, customer_id):
    """Why this customer may not have this refund; empty when neither rule speaks against it."""
    for order in shop.search_orders(customer_id, limit=50)["orders"]:
        if order["order_id"] == given["order_id"]:
            left = order["paid_cents"] - order["refunded_cents"]
            if given["amount_cents"] > left:
                return [f"{left} cents are left to refund, not {given['amount_cents']}"]
            return []
    return ["this customer has no such order"]


# %% [markdown]
# It says the same of an order that does not exist and of one that belongs to somebody else. The model will read this
# sentence and may repeat it, and Nora must not learn whether ORD-20260910 exists.
#
# Now five calls. **Guess** for each which line stops it.

# %%
good = {"order_id": "ORD-20260917", "amount_cents": 1999, "reason": "damaged"}
CALLS = {
    "the amount in quotes": {**good, "amount_cents": "19.99"},
    "with a minus": {**good, "amount_cents": -1999},
    "more than she paid": {**good, "amount_cents": 5000},
    "the call from the beginning": wish,
    "the cat broke the cup": good,  # which no field says
}

# %% [markdown]
# The lines in their order. The first that objects stops the call:


# %%
def stopped_by(given, customer_id):
    if not check_tool_input(strict_refund, given).ok:
        return "1 shape"
    if not check_tool_input(REFUND_ORDER, given).ok:
        return "2 own check"
    refused = objections(given, customer_id)
    return f"3 rules: {refused[0]}" if refused else "not stopped"


shop.reset()
for name, given in CALLS.items():
    print(f"{name:28} {stopped_by(given, 'CUS-1001')}")

# %% [markdown]
# Each line catches what the one before lets through. (CUS-1001 is Nora. The customer's number comes from the session,
# from whoever is logged in, never from the model, which could make it up like the rest.)
#
# The last call passes all three, and should not be paid either. Only a person can see that: lesson 06. (There are more
# rules than these two: exercise 3.3.)

# %% tags=["quiz"]
quiz("03.8")

# %% [markdown]
# ## A way out
#
# Nora's number again. Three lines of defence stop the call; better is a model that does not make the number up. So let
# it say that it does not know. Three ways: do not force the shape; make the field optional; give it a tool for asking,
# such as this one.

# %%
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the user for something that you need and were not told.",
    "input_schema": {
        "type": "object",
        "properties": {"question": {"type": "string"}},
        "required": ["question"],
        "additionalProperties": False,
    },
}

# %% [markdown]
# Four settings to compare: *strict* without a way out, and each of the three ways.

# %%
number_optional = copy.deepcopy(strict_refund)
number_optional["input_schema"]["required"].remove("order_id")
SETTINGS = {
    "not strict": [REFUND_ORDER],
    "strict": [strict_refund],
    "strict, number optional": [number_optional],
    "strict, with ask_user": [strict_refund, ASK_USER],
}

# %% [markdown]
# We count how often a number was made up: the six requests, 20 seeds each. Each point has two lines. The dashed one is
# an interval over **requests**, as in [lesson 02](02_schema_design.ipynb); the thick one is over **seeds**. (Both are
# drawn for nine times in ten; lesson 02 has 95 in 100.)

# %%
from course_kit import plot_trials


def made_up(block):
    """Nobody gave a number, so any number in a refund is made up."""
    return block is not None and block["name"] == "refund_order" and "order_id" in block["input"]


def trials(requests, holds):
    """For each setting a row for each request, and in it, for each of 20 seeds, whether it holds."""
    tables = {}
    for name, tools in SETTINGS.items():
        tables[name] = [
            [holds(wanted(tools, text, seed)) for seed in range(20)] for text in requests
        ]
    return tables


show(plot_trials(trials(REQUESTS, made_up), title="How often was an order number made up?"))

# %% [markdown]
# Strict raises it; a number that is optional and a tool for asking both end it. (Simulated.) Nora's sentence once more,
# without a way out and with one. (The pattern is the wide one now, so the same seed makes up another number.)

# %%
for name in ("strict", "strict, with ask_user"):
    block = wanted(SETTINGS[name], nora_writes[0]["content"], seed=6)
    print(f"{name}: {block['name']}({json.dumps(block['input'])})")

# %% [markdown]
# Be careful with what this shows. That strict raises the rate, and that a tool called `ask…` brings it to zero, are
# *rules* of the simulated model, written by people who think that real models behave that way. The live cell below
# shows whether yours does.
#
# What can still be measured: does it hold for requests that nobody had in mind? These twelve were written before the
# model was asked, and not touched afterwards.

# %%
UNSEEN = [
    "Hello, I ordered a teapot and the spout is cracked. Can I get the 54.90 back?",
    "Your courier smashed my wine glasses. I expect a refund of 24.00.",
    "You sent me a blue mug instead of a green one, so please pay back 21.99.",
    "Kindly reimburse 32.90 for the cafetière that leaked on arrival.",
    "That jug you sold me is faulty. Give me a refund, it was 16.50.",
    "Could someone refund the tablecloth? It has a hole. I paid 54.00.",
    "Money back please, 8.90, the place mat was torn.",
    "Broken on arrival. Refund the full 42.00 to my card.",
    "杯子碎了，请退款19.99。",
    "我收到的盘子是坏的，想退钱，16.50。",
    "发错货了，请退款21.90。",
    "茶壶破损，请给我退款54.90。",
]

# %% [markdown]
# Every request is asked in both settings, so compare line by line. How often, of 20 seeds, was a number made up?
# (Simulated.)

# %%
unseen = trials(UNSEEN, made_up)
print("not strict  strict")
for number, text in enumerate(UNSEEN):
    without, under_strict = sum(unseen["not strict"][number]), sum(unseen["strict"][number])
    print(f"{without:10} {under_strict:7}   {text}")

# %% [markdown]
# In no line is the second number smaller. So the direction holds, in Chinese as well. The sizes do not: for some of the
# requests the simulated model finds that no tool fits, and then it makes nothing up in either setting. Read the
# direction, never the size.

# %% [markdown]
# ### What does a way out cost?
#
# Now the same twelve people *do* give a number. **Guess:** does `ask_user` change anything?


# %%
def right_number(block):
    return block is not None and block["input"].get("order_id") == "ORD-20260911"


def total(table):
    """How often it held, over all requests and seeds."""
    return sum(sum(row) for row in table)


NAMED = [f"{text} The order is ORD-20260911." for text in UNSEEN]
named = trials(NAMED, right_number)
tries = len(NAMED) * 20  # each of the twelve sentences with 20 seeds
for name, table in named.items():
    # What is missing from the tries: the model asked for something else, or found that no tool fits.
    print(f"{name:24} {total(table):3} calls of {tries} with the right number (simulated)")

# %% [markdown]
# With `ask_user` most of the calls are gone. Is the price needless questions? Look at one of them, in both settings:

# %%
glasses = NAMED[1]
print(glasses)
for name in ("strict, with ask_user", "strict"):
    print(f"{name}:", wanted(SETTINGS[name], glasses, seed=0)["input"])
request = {"messages": [{"role": "user", "content": glasses}], "tools": SETTINGS["strict"]}
print("\nWhy, under strict:")
print(Simulated(seed=0).explain(request))

# %% [markdown]
# With `ask_user` it asks for the `reason`. And without it? The number is right, but the last line shows that the reason
# was made up. It is the first entry of the enum, whatever happened. (Without strict there are fewer calls for the same
# reason: there this model's rules make it invent less often, and ask instead.)

# %% [markdown]
# Our count looked at the number and called it a success. Count again: strict, without `ask_user`, and nothing made up
# in any field. `reasons`, the lines that you just saw, say what was made up. **Guess:** how many of the 211 are left?

# %%
sound = 0
for text in NAMED:
    for seed in range(20):
        request = {"messages": [{"role": "user", "content": text}], "tools": SETTINGS["strict"]}
        draft = Simulated(seed=seed).reply(request)
        called = draft.content[0]["type"] == "tool_use"
        if called and "made up" not in " ".join(draft.reasons):
            sound += 1
print(sound, "calls of", tries, "with nothing made up (simulated)")

# %% [markdown]
# That is as many as were left with `ask_user`. The others were never successes: `ask_user` turned them into questions
# about a field that nobody was watching. **Count every required field, not only the one you worry about.** And ask
# whether `reason` need be required at all: lesson 02.

# %% [markdown]
# More ways out: a sentence in the system prompt ("if a number is missing, ask"), a value `"unknown"` in an enum, null
# beside a type, and, where tools come from an MCP server, *elicitation*: the server itself asks the user. The simulated
# model knows none of these four.

# %% tags=["quiz"]
quiz("03.9")

# %% [markdown]
# ## Few required, and the budget
#
# "Few required fields", said lesson 02. Here optional fields are limited: 24 in one request. The desk's six tools
# together:

# %% tags=["item-03.8"]
from course_kit import desk_tools
from course_kit.contract.strict import count_strict

optional_fields = 0
for tool in desk_tools(shop):
    count = count_strict(tool.definition()["input_schema"])
    optional_fields += count.optional
    print(f"{tool.name:16} {count.optional} optional")
print(f"{'together':16} {optional_fields} of 24")

# %% [markdown]
# OpenAI does the opposite: in OpenAI's strict mode *every* field is required, and one that may be left out is made
# nullable instead. `to_strict` does that too:

# %%
theirs = to_strict(schema, provider="openai")
print(theirs.schema["required"], theirs.schema["properties"]["note"])

# %% [markdown]
# So a reply has `"note": null` where there is nothing to note. Your original schema does not allow null there. The check,
# before and after `restore`:

# %%
from_openai = {"order_id": "ORD-20260917", "amount_cents": 1999, "reason": "damaged", "note": None}
print(check_tool_input(REFUND_ORDER, from_openai).problems[0].message)
print(theirs.restore(from_openai), check_tool_input(REFUND_ORDER, theirs.restore(from_openai)).ok)

# %% [markdown]
# `restore` removes the forced nulls, and only those: where the original allows null, null stays. First restore, then
# check. (A null is a way out, by the way: a model that must write something may write nothing.)

# %% tags=["quiz"]
quiz("03.10")

# %% [markdown]
# ## When the schema is refused
#
# First simplify: write out the levels you need instead of recursion, list the keys of a map, split a tool. Then, if it
# is still refused, fall back: send the original *without* strict, and let your own check do the work. You need it
# anyway.


# %% tags=["item-03.9"]
def ready(tool):
    """The tool as strict if its schema can be; else as it was, to be checked harder."""
    rewritten = to_strict(tool["input_schema"])
    if rewritten.problems:
        print(f"{tool['name']}: not strict, {rewritten.problems[0].message}")
        return {**tool, "strict": False}
    return {**tool, "input_schema": rewritten.schema, "strict": True}


send(tools=[ready(REFUND_ORDER), ready(thread)])

# %% [markdown]
# Both go out in one request, one strict, one not. Keep the original schemas beside them: every input is checked with
# those.
#
# Where is strict worth it? Where a wrong shape is expensive, or the check would fail too often: calls that move money,
# long inputs that cost much to repeat, answers that another program reads. A search with one text field gains nothing,
# and uses up the budget.

# %% tags=["quiz"]
quiz("03.11")

# %% [markdown]
# ## Laboratory: bring your own tools
#
# Put your own definitions here: a JSON list, in Claude's, OpenAI's or MCP's shape. (They stay on this machine. For a
# file, there are two terminal commands: `course lint FILE` and `course strict FILE`.) First the linter of lesson 02:

# %%
MINE = """[
  {"name": "book_room",
   "description": "Book a meeting room. Use when the user names a room and a time. Not for desks.",
   "inputSchema": {
     "type": "object",
     "properties": {
       "room": {"type": "string", "enum": ["Oslo", "Lima"]},
       "start": {"type": "string", "format": "date-time", "description": "ISO 8601 with zone."},
       "guests": {"type": "array", "items": {"type": "string", "format": "email"}, "maxItems": 12},
       "equipment": {"type": "object", "additionalProperties": {"type": "integer"}}},
     "required": ["room", "start"]}}
]"""

from course_kit import lint_tools

for finding in lint_tools(json.loads(MINE)):
    print("-", finding)

# %% [markdown]
# Then the strict table. Rows marked *yours* need a decision. When there are none, `to_strict(schema).schema` is the
# schema to send.

# %%
strict_table(MINE)

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | 400 `For 'integer' type, property 'minimum' is not supported` | Did the schema go through a helper? A dict goes out as it is. |
# | 400 `'additionalProperties' must be explicitly set to false` | An inner object is open. |
# | 400 `Circular reference detected` | A definition leads back to itself: write out the levels. |
# | 400 `Enum value 'x' does not match declared type` | `type` is a list beside `enum`: leave the type out. |
# | 400 `too many optional parameters` | The sum over all strict tools and the output format. |
# | 400 on the SDK's rewritten schema | `definitions`, or recursion: the helper breaks them or passes them on. |
# | `AssertionError` in `transform_schema` | A list of types. |
# | the reply does not parse, in spite of strict | `stop_reason`: `max_tokens` or `refusal`. Or eager streaming. |
# | an enum value that you did not list | Capital letters. |
# | a null where none is allowed | OpenAI's form: `restore` before the check. |
# | everything fits, and it is nonsense | Could the model have said that it does not know? |
#
# Every complaint of the API is in the [index](90_glossary.ipynb).
#
# ## The same on the live API
#
# The trials, small: three requests without a number, strict with and without `ask_user`. (Thinking is switched off, so
# that 300 tokens are enough.) Count the made-up numbers. Three requests prove nothing; thirty would say something.

# %% tags=["live"]
from course_kit import announce, connect

announce(tokens=8_000)
live_client = connect()
for name in ("strict", "strict, with ask_user"):
    for text in REQUESTS[:3]:
        said = [{"role": "user", "content": text}]
        request = {"tools": SETTINGS[name], "messages": said, "thinking": {"type": "disabled"}}
        reply = live_client.messages.create(model=DEFAULT_MODEL, max_tokens=300, **request)
        last = reply.content[-1]
        print(f"{name:22}", last.input if last.type == "tool_use" else last.text)

# %% [markdown]
# ## Practice
#
# [Exercises 03](../exercises/03_strict_mode.ipynb): your own transformer, an explicit repair of capitals, the refund's
# business rules, and a refused schema made acceptable.
#
# ## Recap
#
# Strict mode is constrained sampling: it masks every token that the schema does not allow, so the shape is right:
# types, names, listed words. It accepts a subset of JSON Schema, a different one at each provider, within budgets that
# are summed over a request. What a helper moves into the description is not enforced, so inputs are checked with the
# original schema. Strict does not promise capitals, a complete output, or that anything is true. A model that cannot
# say "I do not know" makes something up, and the tighter the schema, the more it looks like the truth. Give it a way
# out, and measure.
#
# New words: *constrained sampling*, *grammar*, *mask*, `strict`, *JSON outputs* (`output_config.format`), *moved*,
# *way out*, *lines of defence*, *fall-back*.
#
# ## Say it in one breath
#
# > **Strict is on. Can inputs still be wrong?** Yes. Strict fixes the shape, not the meaning. Ranges and lengths that
# > the subset does not know are only words to the model; capitals of enums may differ; a turn cut by `max_tokens` or
# > refused is exempt. And a value the model does not have is made up in perfect form. So I use three lines of defence:
# > shape, my own validation with the original schema, business rules on my own data. Where the schema is refused I
# > simplify it, or fall back to no strict and the same checks.
#
# Two answers you will hear:
#
# - *"No, the types are right."* They are. So was the type of ORD-20260910.
# - *"Then make the pattern stricter."* That hides the made-up value better. The model needs a way to say that it does
#   not know.
#
# Next comes the round trip of errors ([lesson 04](04_errors.ipynb)): what to tell a model whose input you had to refuse.

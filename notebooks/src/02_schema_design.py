# %% [markdown]
# # 02 · Schema design: the description is the prompt
#
# You will take a working tool that the model never calls, change one sentence at a time, measure what each change is
# worth, and then learn how much of that was luck.
#
# After this lesson you can
#
# - **write** a description that answers the five questions a model has,
# - **measure** whether a change of wording brings more correct picks, and for which sentences,
# - **shape** inputs so that wrong values cannot be written,
# - **repair** the three classic failures: the wrong tool, "next Wednesday", and the flood of data,
# - **check** definitions with a linter, and change them without breaking what is in use.
#
# About 115 minutes, best in two sittings: a good place to stop is marked. The exercises are extra, with their own
# times. You need lesson 01.

# %% tags=["setup"]
import json

from course_kit import DEFAULT_MODEL, MockProvider, Simulated, measure, open_shop, quiz, show

shop = open_shop()
client = MockProvider().client()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("02.recall")

# %% [markdown]
# ## A tool that works, and is never called
#
# The shop can list its orders by status. The function is there, and it works:

# %% tags=["item-02.1"]
found = shop.search_orders(status="packed")
[order["order_id"] for order in found["orders"]]

# %% [markdown]
# Somebody wraps it as a tool. The description claims a lot, the input is free text:

# %%
CLAIM = "Search the shop's data: orders, parcels, products, prices, customers."
SEARCH_DATA = {
    "name": "search_data",
    "description": CLAIM,
    "input_schema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to search for."}},
        "required": ["query"],
        "additionalProperties": False,
    },
}

# %% [markdown]
# This helper sends one sentence with some tools, and prints what the model does: the calls it writes, or its words.


# %%
def ask(said, tools, **more):
    message = {"role": "user", "content": said}
    reply = client.messages.create(
        model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=[message], **more
    )
    for block in reply.content:
        print(
            f"{block.name}({json.dumps(block.input)})" if block.type == "tool_use" else block.text
        )


# %% [markdown]
# A question that the shop can answer:

# %%
ask("Which orders are packed but not shipped yet?", [SEARCH_DATA])

# %% [markdown]
# No call, though the tool could answer. **Before you read on, guess:** which single word of the definition would you
# change so that it is called? (The function stays as it is.)

# %%
ask("Which orders are packed but not shipped yet?", [{**SEARCH_DATA, "name": "search_orders"}])

# %% [markdown]
# (What it writes into `query` is clumsy. Inputs are the second half of the lesson.)
#
# A name, a description, an `input_schema`: that is **all the model knows of your system**. It has never seen your code,
# your database or your wiki. Everything it knows about the tool is in these three fields.
#
# So a definition is more than a type declaration or a copy of your API page: it is all the model has to go on. The aim
# is the right tool, at the right time, once. An input that fits the schema is only part of that.

# %% [markdown]
# The vendor says: tool definitions "should be given just as much prompt engineering attention as your overall prompts"
# (Anthropic, *Building effective agents*, December 2024, appendix 2). It calls them the agent-computer interface, and
# asks for as much care as an interface for people gets.

# %% tags=["quiz"]
quiz("02.1")

# %% [markdown]
# ## How this model decides
#
# From here on you change words and watch what happens, so you need to know what reacts to them. The simulated model
# follows rules, and it says which:


# %%
def why(said, *tools):
    """What the simulated model did with a sentence, and its reasons."""
    print(
        Simulated().explain({"messages": [{"role": "user", "content": said}], "tools": list(tools)})
    )


# %% [markdown]
# A second tool to choose from, for parcels:

# %%
TRACK_PARCEL = {
    "name": "track_parcel",
    "description": "Say where a parcel is and what happened to it.",
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string", "description": "Such as ORD-20260917."}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
}
why("Where is the parcel of order ORD-20260917?", TRACK_PARCEL, SEARCH_DATA)

# %% [markdown]
# Line by line:
#
# - `search_data` and a number. The number is its **relevance**: how well the tool suits the sentence, from 0 to 1.
#   After it comes how the number was computed.
# - `track_parcel`, with a higher number. The highest is called, if it reaches a threshold; the tool that is called is
#   **printed last**.
# - `order_id = …`, indented: an input of that call. `id span` says where the value was found (a piece of the sentence
#   that looks like an id), and the number in brackets how well it fits this input.

# %% [markdown]
# And what the words after each number mean, one rule each:
#
# 1. **Words are compared**, without their endings: *order*, *orders*, *ordered* are one word. Small words (*where*,
#    *how much*, *my*) do not count.
# 2. **"explains"**: how many of the request's words the definition has. Words in its *head* count most: the name, the
#    first sentence, sentences that begin with *Use* or *When*. The rest, inputs included, counts too.
# 3. **"mentioned"**: how much of the head, or of the name alone, the request mentions. A head that claims everything
#    is never mentioned as a whole.
# 4. **Rare words weigh more.** A word that several of the tools use says little. General words (*find*, *data*,
#    *list*) weigh little.
# 5. **"Not …" is a boundary.** What follows it is not this tool's job, so its relevance falls. If another tool is named
#    there, that tool's relevance rises.
# 6. **"of what it requires is found"**: required inputs that the conversation does not contain lower the relevance.
#
# An id is one word, so `ORD-20260917` does not count as *order*. If it fits the `pattern` of one of a tool's inputs, it
# counts as a small mention of that tool.
#
# Change a word of the sentence in the cell above, run it again, and watch the numbers.

# %% [markdown]
# Finally, chance moves each relevance a little. The **seed**, a number, decides how: same seed, same answer. Three
# settings matter in this lesson: the *threshold*; how far chance moves a relevance (*noise*); and how often a missing
# value is made up instead of asked for (*invents*).

# %%
from course_kit.mock.simulated import PROFILES


def settings_of(profile):
    settings = PROFILES[profile]
    print(f"{profile}: threshold {settings.threshold}", end=", ")
    print(f"noise {settings.noise}, invents {settings.invents}")


settings_of("steady")

# %% [markdown]
# **Its limits.** All it knows of the world is a short list of words that mean the same. Each line is one meaning:

# %%
from course_kit.mock.spans import KIN

print(KIN.strip())

# %% [markdown]
# *Shipment* is on the list. *Consignment* is not, so your description must contain it:

# %%
CONSIGNMENTS = {
    **TRACK_PARCEL,
    "description": "Say where a parcel or consignment is and what happened to it.",
}

ask("Where is the shipment of ORD-20260917?", [TRACK_PARCEL])
ask("Where is the consignment of ORD-20260917?", [TRACK_PARCEL])
ask("Where is the consignment of ORD-20260917?", [CONSIGNMENTS])

# %% [markdown]
# A real model knows what a consignment is. It does not know what *your* users call *your* things ("the blue slip", "a
# code 7"). That is what this stands for: **put the users' own words into the description**.

# %% [markdown]
# Three more limits:
#
# - It compares words; it does not understand sentences. *Not for parcels* is a boundary, *everything except parcels*
#   is not. And "an order that has *not* been sent" is read as "not for: sent".
# - When it chooses a tool, it ignores tone, `input_examples`, and what you say about results.
# - A piece of an id is a word like others: in *ORD- and eight digits* it reads *ORD* as the word *order*.

# %% [markdown]
# So what may you conclude from it? Never the size of a number. Only the direction, only where you can name the rule
# behind it, and only if it also holds for sentences that nobody had in mind.

# %% tags=["quiz"]
quiz("02.2")

# %% [markdown]
# ## Five questions
#
# A description answers what a new colleague would ask on the first day:
#
# 1. **When** do I use it?
# 2. When **not**, and what instead?
# 3. What does each **input** mean: unit, format, an example?
# 4. What **comes back**, also when nothing is found?
# 5. What are its **limits**, and what does it **change** in the world?
#
# Here is the desk's own `search_orders`, taken apart. The cell fails unless each sentence is in the definition word for
# word.

# %% tags=["item-02.2"]
from course_kit.example_tools import definition

answers = {
    "when": "Use it when the user names a person, or asks which orders there are",
    "when not": "not for where a parcel is (use track_parcel)",
    "inputs": "Only orders in this state; paid and packed ones are still in the shop.",
    "comes back": "No match is an empty list, not an error.",
    "limits": "Most orders to return, 1 to 50; 10 by default.",
    "changes": "Changes nothing.",
}
text = json.dumps(definition("search_orders"), ensure_ascii=False)
for question, sentence in answers.items():
    assert sentence in text
    print(f"{question:12} {sentence}")

# %% [markdown]
# Compare `search_data` with this list: it answers none of the five.

# %% [markdown]
# Some habits that help:
#
# - **Name it by verb and thing**: `search_orders`, not `search_data`, `handler` or `do_it`.
# - **Read it as the model would**: print the definition, put everything else away, and ask yourself what you would
#   do.
# - **Write a docstring for a new colleague**: conditions, edge cases, common mistakes. Never how it is built: no table
#   names, no ticket numbers.
# - **Answer the next question in advance**: "cut at 2,000 lines, `offset` reads on"; "no match is an empty list, not an
#   error". Otherwise the model reads an empty list as a failure, and tries again.

# %% tags=["quiz"]
quiz("02.3")

# %% [markdown]
# ## Laboratory: one change at a time
#
# Three tools, ten sentences. Seven want orders, two a parcel, one a price. Each sentence has a **job**; a pick is
# right if the tool of that job is called, and no other.

# %% tags=["item-02.6"]
TEN = [
    ("Find the orders of Nora Lindgren.", "orders"),
    ("Which orders are packed but not shipped yet?", "orders"),
    ("What has Zoë Ångström bought from us?", "orders"),
    ("Did Ben Carter order anything this month?", "orders"),
    ("List all cancelled purchases.", "orders"),
    ("I forgot my order number. Can you look it up? My name is Tomás Peña.", "orders"),
    ("Show me the last five orders of Café Ødegård.", "orders"),
    ("Where is the parcel of order ORD-20260917?", "parcels"),
    ("Has the package for order ORD-20260906 arrived?", "parcels"),
    ("What does the blue stoneware cup cost?", "prices"),
]

# %% [markdown]
# The third tool, for goods and prices, and the desk that has all three:

# %%
SEARCH_PRODUCTS = {
    "name": "search_products",
    "description": "Find goods that the shop sells, with their price and stock.",
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "One to three words, such as coffee cup."}
        },
        "required": ["query"],
        "additionalProperties": False,
    },
}


def desk(orders_tool):
    return {"orders": orders_tool, "parcels": TRACK_PARCEL, "prices": SEARCH_PRODUCTS}


# %% [markdown]
# `measure` takes the tools by job and the sentences. It asks every sentence ten times, each time with another seed, and
# returns the share of right picks and the sentences that went wrong. (For these hundred requests it asks the rules
# directly, without the SDK in between. The answers are the same.)

# %%
start = measure(desk(SEARCH_DATA), TEN)
start

# %% [markdown]
# Mostly *no call*: nothing reaches the threshold. (A real model would probably still try `search_data`. What matters
# here is what moves the number, not the number.)
#
# The **interval** says where the share would probably lie (95 times in 100) if you had many more sentences like these. It
# is an interval *over sentences*: ten are few, so it is wide. Asking the same sentence again with other seeds does not
# make it narrower, because it is still the same sentence.

# %% [markdown]
# Now six changes, each made **alone**: a different name, a different first sentence, a sentence of praise, one that
# says when to use the tool, one that says when not to, different inputs. **Write down your guess:** which two help
# most? Which do nothing?


# %%
def worded(name, *sentences):
    return {**SEARCH_DATA, "name": name, "description": " ".join(sentences)}


FIRST = "Find orders by customer or by status."
PRAISE = "It is fast, powerful and always up to date."
USE = "Use it when the user asks what somebody ordered or bought, or does not know the order's number."
NOT = (
    "Not for where a parcel is (use track_parcel), not for goods and prices (use search_products)."
)

# %% [markdown]
# And the other inputs, instead of `query`:

# %%
STATUS = {"type": "string", "enum": ["paid", "packed", "shipped", "delivered", "cancelled"]}
CUSTOMER = {"type": "string", "description": "A customer's name, such as Ada Lovelace."}
BY_FIELD = {
    "type": "object",
    "properties": {
        "customer": CUSTOMER,
        "status": {**STATUS, "description": "Only orders in this state."},
    },
    "additionalProperties": False,
}

# %% [markdown]
# Seven measurements:

# %%
from course_kit import plot_accuracy

alone = {
    "nothing changed": SEARCH_DATA,
    "+ praise": worded("search_data", CLAIM, PRAISE),
    "+ boundary": worded("search_data", CLAIM, NOT),
    "other inputs": {**SEARCH_DATA, "input_schema": BY_FIELD},
    "+ use when": worded("search_data", CLAIM, USE),
    "other first sentence": worded("search_data", FIRST),
    "other name": worded("search_orders", CLAIM),
}
measured = {change: measure(desk(changed), TEN) for change, changed in alone.items()}
show(plot_accuracy({"the ten": measured}, title="What is each change worth by itself?"))

# %% [markdown]
# A name and a first sentence say what the tool is *for*, and they matter most. Praise does nothing.
#
# But a **boundary** that does nothing? Look at one of the sentences it was written for:

# %%
why(
    "Where is the parcel of order ORD-20260917?", TRACK_PARCEL, SEARCH_PRODUCTS, alone["+ boundary"]
)

# %% [markdown]
# The words "not its work" are missing: the first sentence *claims* parcels, and the boundary contradicts it. (Rule 5
# does not apply to what the head claims.) A definition that says both yes and no is not fixed by another no. First stop
# claiming, then draw the line.
#
# So the changes have an order. Here they are again, each **on top of** the one before:

# %%
ladder = {
    "start": SEARCH_DATA,
    "name": worded("search_orders", CLAIM),
    "first sentence": worded("search_orders", FIRST),
    "use when": worded("search_orders", FIRST, USE),
    "boundary": worded("search_orders", FIRST, USE, NOT),
    "inputs": {**worded("search_orders", FIRST, USE, NOT), "input_schema": BY_FIELD},
}
steps = list(ladder)
on_ten = {step: measure(desk(ladder[step]), TEN) for step in steps}

# %% [markdown]
# After each step: which sentences moved, and which way?

# %%
print(f"start: {on_ten['start'].share:.0%} right (simulated)")
before = on_ten["start"]
for step in steps[1:]:
    print(f"{step}: {on_ten[step].share:.0%} right (simulated)")
    print(on_ten[step].changed(before))
    before = on_ten[step]

# %% [markdown]
# Look at the minus signs. The good name has a **cost**: now the tool is all about *orders*, and both questions about a
# parcel, which mention an order, go to it. The first sentence gives one back (and the price, which the old one had
# claimed), the boundary the other: it says what is not this tool's work, and names the neighbour. Here is where the
# ladder ends:

# %%
print(on_ten["inputs"].head())

# %% [markdown]
# Ten of ten. Done?

# %% tags=["quiz"]
quiz("02.4")

# %% [markdown]
# ### Ten sentences that nobody had in mind
#
# We read the misses of ten sentences and rewrote until all ten were right. So these ten are used up: they helped to
# write the definition. Here are ten others with the same mix. They were written after everything above was finished,
# and nothing was changed afterwards. **Guess the share** at the last step.

# %%
OTHERS = [
    ("What did Siobhán O'Neill order in the spring?", "orders"),
    ("Give me an overview of everything that is still unpaid or unpacked.", "orders"),
    ("Mr Groß says he ordered twice. Can you check?", "orders"),
    ("Are there cancelled orders for Hoa?", "orders"),
    ("How often has Ayşe Yılmaz shopped with us?", "orders"),
    ("She lost the confirmation mail with the number. Name is Nora Lindström.", "orders"),
    ("Latest purchases of CUS-1007, please.", "orders"),
    ("The customer of ORD-20260908 is still waiting for the delivery. Where did it go?", "parcels"),
    ("When will my parcel get here? Order ORD-20260918.", "parcels"),
    ("Do we sell a teapot, and for how much?", "prices"),
]
on_others = {step: measure(desk(ladder[step]), OTHERS) for step in steps}
show(
    plot_accuracy(
        {"the ten": on_ten, "ten others": on_others},
        title="What does each change add to the ones before?",
    )
)

# %% [markdown]
# This is the result to remember. On the sentences it was written for, the definition is perfect. On others of the same
# kind, half of the picks are right. Which of the gains held?

# %%
before = "start"
for step in steps[1:]:
    gain_ten = on_ten[step].share - on_ten[before].share
    gain_others = on_others[step].share - on_others[before].share
    print(f"{step:15} the ten {gain_ten:+4.0%}   ten others {gain_others:+4.0%}   (simulated)")
    before = step

# %% [markdown]
# - **Held: the name.** It gains on both.
# - **Did not show: the first sentence, *use when*, the boundary.** Three gains on the ten, none on the others. We wrote
#   with the words of the ten in mind, and the others use different words. That does not make these sentences useless
#   (two parcels and one price are few). But we have no proof that they help.
# - **Nothing on either: the inputs.** They are for what comes after the pick.
#
# What now? Read the misses.

# %%
on_others["inputs"]

# %% [markdown]
# They are what to work on next. *Unpaid*, *shopped*, *waiting for the delivery*, *get here* are users' words that no
# definition contains. One sentence sent this model to **both** tools: it cuts a request at its full stops, and the
# second piece says only *order*. (A real model reads the whole sentence, and knows that people who shop have orders.
# What it does not know are the words of *your* users.)

# %% [markdown]
# Three rules for your own laboratory:
#
# 1. **One change at a time**, and look at the sentences, not only at the share.
# 2. **Keep some sentences aside** that nobody reads while writing. Real ones from your logs are best.
# 3. **Mind the interval.** Ten sentences show that something is badly wrong. They cannot tell 80% from 90%; lesson
#    10 says how many can.

# %% tags=["quiz"]
quiz("02.5")

# %% [markdown]
# ## Your turn: the workbench
#
# Edit the name and the description, press **Measure**, and see which sentences moved. Below, choose a sentence to have
# it explained. It starts where the ladder ended, with the ten others. Can you reach eight of ten?
#
# (Without a mouse: `bench.score("Another description.")`, `bench.explain(9)`.)

# %%
from course_kit import workbench

bench = workbench(
    ladder["inputs"], OTHERS, beside={"parcels": TRACK_PARCEL, "prices": SEARCH_PRODUCTS}
)
bench

# %% [markdown]
# From the moment you write *for* them, these ten are no longer others. So here are ten more, which had no part in any
# wording above. Look at them only when you are done. `bench.definition` is what you have made.

# %%
MORE = [
    ("Pull up everything Jürgen Groß has ordered.", "orders"),
    ("Are there any orders waiting to be packed?", "orders"),
    ("A customer called Siobhán O'Neill is on the phone, what did she get last time?", "orders"),
    ("Which purchases were cancelled in September?", "orders"),
    ("Has Nguyễn Thị Hoa ever bought a mug here?", "orders"),
    ("I need the order number for Ayşe Yılmaz.", "orders"),
    ("Show me delivered orders.", "orders"),
    ("My package still hasn't come, it's order ORD-20260906.", "parcels"),
    ("Is ORD-20260917 on its way yet?", "parcels"),
    ("How much is a teapot?", "prices"),
]
print(measure(desk(bench.definition), MORE).head())

# %% [markdown]
# Here is our own attempt, beside the end of the ladder. It uses the users' words from the misses of the ten others.
# **Guess:** how much does it gain on those ten, and how much on the ten more?

# %%
USERS_WORDS = (
    "Use it when the user asks what somebody ordered, bought, shopped or got, wants an overview, "
    "or lost the number or the confirmation."
)
opening = "Find orders by customer or by status, also unpaid or unpacked ones."
learned = {**ladder["inputs"], "description": f"{opening} {USERS_WORDS} {NOT}"}

shares = {}
for label, tried in (("the ladder's end", ladder["inputs"]), ("users' words", learned)):
    shares[label] = [measure(desk(tried), requests).share for requests in (TEN, OTHERS, MORE)]
    ten, others, more = shares[label]
    print(f"{label:16}  the ten {ten:4.0%}   ten others {others:4.0%}", end="   ")
    print(f"ten more {more:4.0%}  (simulated)")

# %% [markdown]
# On the sentences whose misses we had read, a large gain. On the ten more, none: we had learned the words of those ten,
# not the users'. The interval is valid only for sentences that were not used for writing.

# %% [markdown]
# **A good place to stop for today.** Exercise 2.4 of the [exercises](../exercises/02_schema_design.ipynb) needs no
# more than this.

# %% [markdown]
# ## Inputs: make wrong values impossible to write
#
# Picking the right tool is half of it. The other half is its inputs. This helper makes a definition with other inputs:


# %% tags=["item-02.3"]
def with_inputs(tool, required=(), **inputs):
    schema = {
        "type": "object",
        "properties": inputs,
        "required": list(required),
        "additionalProperties": False,
    }
    return {**tool, "input_schema": schema}


SEARCH_ORDERS = ladder["inputs"]

# %% [markdown]
# ### Narrow types
#
# A list of values instead of free text, a number instead of digits in a string. What does the second call have that the
# first one lacks?

# %%
said = "Show me five orders of Nora Lindgren that were delivered."

free_text = {"type": "string", "description": "The state of the order."}
digits = {"type": "string", "description": "How many orders to return."}
ask(said, [with_inputs(SEARCH_ORDERS, customer=CUSTOMER, status=free_text, limit=digits)])

number = {
    "type": "integer",
    "minimum": 1,
    "maximum": 50,
    "description": "Most orders to return; 10 by default.",
}
ask(said, [with_inputs(SEARCH_ORDERS, customer=CUSTOMER, status=STATUS, limit=number)])

# %% [markdown]
# With an `enum` the model knows which words there are. With an `integer` it knows that *five* is 5. (Here free text is
# left out; a real model might fill it in, with "Delivered", "DELIVERED" or "done".) Every `limit` should say its
# default and its maximum.

# %% [markdown]
# ### Few required fields
#
# Require only what the call **must fail** without. Everything else is optional, with its default stated. In lesson 01
# the note of a refund was optional. `pushy` is the same tool with every field required. **Guess** what the model writes
# into the note when nobody said anything. (Asked directly, the rules answer with dicts: `block["type"]`.)

# %%
from collections import Counter

note = {"type": "string", "maxLength": 200, "description": "One sentence for the accounts."}
REFUND = definition("refund_order")
inputs = {**REFUND["input_schema"]["properties"], "note": note}
pushy = with_inputs(REFUND, required=list(inputs), **inputs)
message = {
    "role": "user",
    "content": "My cup arrived broken. Please refund 19.99 for order ORD-20260917.",
}

for refund_tool in (REFUND, pushy):
    endings = Counter()
    for seed in range(20):
        block = (
            Simulated(seed=seed).reply({"messages": [message], "tools": [refund_tool]}).content[0]
        )
        if block["type"] == "tool_use":
            endings[f"called, note: {block['input'].get('note')}"] += 1
        else:
            endings[f"said: {block['text']}"] += 1
    print(dict(endings))

# %% [markdown]
# It makes something up (`text`), or bothers the customer for it. (How often is a setting of the simulated model,
# `invents` above. Lesson 03 shows a real model doing it, too.)

# %% tags=["quiz"]
quiz("02.6")

# %% [markdown]
# ### One tool, one job
#
# "One flexible tool instead of nine": an entity, an action, and a payload for the rest. How many of the nine
# combinations does the schema let through, with a payload that means nothing?

# %%
from course_kit import check_tool_input

MANAGE = with_inputs(
    {
        "name": "manage_record",
        "description": "Create, update or delete an order, and also a customer or a product.",
    },
    required=["entity", "action", "payload"],
    entity={"type": "string", "enum": ["order", "customer", "product"]},
    action={"type": "string", "enum": ["create", "update", "delete"]},
    payload={"type": "object", "description": "The data."},
)

# %%
let_through = 0
for entity in ("order", "customer", "product"):
    for action in ("create", "update", "delete"):
        wish = {"entity": entity, "action": action, "payload": {"colour": "yes"}}
        let_through += check_tool_input(MANAGE, wish).ok
print(let_through, "of 9")

# %% [markdown]
# All of them, even *delete the customer, colour yes*. The schema no longer checks anything. The warning sign is in the
# description: **and, or, also**. Split the tool, and each part gets a name and inputs that mean something.

# %%
said = "Change the e-mail address of customer CUS-1001 to nora@example.org."
CHANGE_EMAIL = with_inputs(
    {"name": "change_customer_email", "description": "Change the e-mail address of a customer."},
    required=["customer_id", "email"],
    customer_id={"type": "string", "pattern": "^CUS-[0-9]{4}$", "description": "Such as CUS-1001."},
    email={"type": "string", "format": "email", "description": "The new address."},
)
ask(said, [MANAGE])
ask(said, [CHANGE_EMAIL])

# %% [markdown]
# ### Flat, with units, without unions
#
# The simulated model fills no objects inside objects at all. Real ones do; that they make more mistakes the deeper it
# gets is often said, and not measured here. Two ids side by side are simpler than a `filter` that holds them, for your
# check, too. The **unit** belongs in the name.
# Which of these three would you trust with money?

# %%
said = "My cup arrived broken. Please refund 19.99 for order ORD-20260917."
order_id = REFUND["input_schema"]["properties"]["order_id"]
PAY_BACK = {"name": "refund_order", "description": "Pay money back for a delivered order."}

whole = {"type": "integer"}
by_example = {"type": "integer", "description": "19.99 is 1999."}

ask(said, [with_inputs(PAY_BACK, ["order_id", "amount"], order_id=order_id, amount=whole)])
ask(
    said,
    [with_inputs(PAY_BACK, ["order_id", "amount_cents"], order_id=order_id, amount_cents=whole)],
)
ask(said, [with_inputs(PAY_BACK, ["order_id", "amount"], order_id=order_id, amount=by_example)])

# %% [markdown]
# The first breaks its own schema: 19.99 is not an integer. The second has the unit in the name, the third an example.
# Take both. Times are the same: ISO 8601, with the zone and an example (`2026-09-23T09:00:00+02:00`).
#
# "Either an id or a name" suggests a union. At the root the API does not even accept one:

# %%
import anthropic

either = {"type": "object", "anyOf": [{"required": ["order_id"]}, {"required": ["customer"]}]}
try:
    ask("Hello", [{"name": "find_order", "input_schema": either}])
except anthropic.BadRequestError as error:
    print(error.status_code, error.body["error"]["message"])

# %% [markdown]
# Deeper down `anyOf`, `oneOf` and long chains of `$ref` are legal, but a reader has to keep the branches apart, and so
# has your check. Use two optional inputs and a sentence ("send one of the two"), or two tools.
#
# ### Closed
#
# `"additionalProperties": false` refuses unknown fields. An open schema lets them pass, and a lenient program drops
# them:

# %%
wish = {
    "order_id": "ORD-20260917",
    "amount_cents": 1999,
    "reason": "damaged",
    "notes": "Do NOT restock.",
}
open_schema = {**REFUND["input_schema"], "additionalProperties": True}

print("open:  ", check_tool_input(open_schema, wish).ok)
print("closed:", check_tool_input(REFUND, wish).text())

# %% [markdown]
# The model wrote `notes` for `note`. With the open schema the warning is lost and nobody sees an error. With the closed
# one the model gets a message it can act on (lesson 04).
#
# ### Examples
#
# `input_examples` shows complete inputs, for what a schema cannot say well: which fields go together, what a date looks
# like. They cost some 20 to 200 tokens each (vendor's documentation, November 2026), and each must fit the schema, or
# the request is refused with a 400.

# %% [markdown]
# ### A schema from a class: Pydantic
#
# A second way to write a schema is a class. It defines the schema and checks inputs with it, so the two cannot drift
# apart. Look for two things you would not have written by hand:

# %%
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class RefundOrder(BaseModel):
    model_config = ConfigDict(extra="forbid")
    order_id: str = Field(pattern="^ORD-[0-9]{8}$", description="Such as ORD-20260917.")
    amount_cents: int = Field(ge=1, description="In cents: 19.99 is 1999.")
    reason: Literal["damaged", "not_received", "wrong_item", "other"]
    note: str | None = Field(None, max_length=200)


schema = RefundOrder.model_json_schema()
print("required:", schema["required"], "| additionalProperties:", schema["additionalProperties"])
print(json.dumps(schema["properties"]["order_id"]))
print(json.dumps(schema["properties"]["note"]))

# %% [markdown]
# Each field gets a `title`, which repeats its name and costs tokens. And `str | None` becomes a union with null.
# `Literal` has become an `enum`, `ge` a `minimum`, `extra="forbid"` closes the object. The description is still yours
# to write: no library knows when *not* to use the tool.

# %% tags=["quiz"]
quiz("02.7")

# %% [markdown]
# ## Make the mistake impossible
#
# *Poka-yoke* is the engineer's word for mistake-proofing, such as a plug that fits only one way round. Here are two
# files with the same name in two folders, and a tool that reads relative paths. Between two reads the agent changes the
# folder.

# %% tags=["item-02.4"]
import tempfile
from pathlib import Path

root = Path(tempfile.mkdtemp())
(root / "archive").mkdir()
files = {"limits.txt": "refunds up to 50", "archive/limits.txt": "refunds up to 5000"}
for name, text in files.items():
    (root / name).write_text(text, encoding="utf-8")

# %% [markdown]
# What goes wrong here, and who notices?

# %%
folder = root  # where the agent stands


def read_relative(path):
    return (folder / path).read_text(encoding="utf-8")


print(read_relative("limits.txt"))
folder = root / "archive"  # a `cd`, some turns ago
print(read_relative("limits.txt"))

# %% [markdown]
# No error, and a limit a hundred times too high. A sentence in the description ("mind the current folder") would help
# sometimes. A tool that takes **only absolute paths** helps always: `limits.txt` alone names no file any more.


# %%
def read_absolute(path):
    if not Path(path).is_absolute():
        raise ValueError(f"{path} is relative: send the whole path, from the root")
    return Path(path).read_text(encoding="utf-8")


for path in ("limits.txt", root / "limits.txt"):
    try:
        print("read:   ", read_absolute(path))
    except ValueError as error:
        print("refused:", error)

# %% [markdown]
# Anthropic's team met exactly this with an agent that edited code: after it had moved out of the root directory,
# relative paths went wrong; with absolute ones the model used the tool "flawlessly" (the same appendix).
#
# But an absolute path can name *any* file of the machine. Where the tool has its own fixed root, a relative path is
# safe: relative to that root, and **confined** to it. The course's file tools work this way:

# %%
from course_kit import call, file_tools, run_tool

tools = file_tools(root)
for path in ("limits.txt", "../secrets.txt", "/etc/passwd"):
    result = run_tool({"id": "toolu_1", **call("read_file", path=path)}, tools)
    print(result["content"].splitlines()[0])

# %% [markdown]
# Both have their place: absolute where the agent has a machine to itself, such as a container; relative and confined
# where the tool decides what may be read. Only the third form is wrong: relative to wherever we happen to be.

# %% tags=["quiz"]
quiz("02.8")

# %% [markdown]
# ## Three classic failures
#
# **1. The neighbour is called.** You saw it in the laboratory: the package of ORD-20260906 went to `search_orders`,
# until the boundary sent it to `track_parcel`. The cure lies in the **description**.
#
# **2. A date arrives as "next Wednesday".** The cure lies in the **input**: its description can say the format. But is
# that enough? `system` can also say what day it is. With and without each, that makes four. **Guess all four:** what
# will `day` be?

# %% tags=["item-02.5"]
said = "Deliver order ORD-20260919 next Wednesday, please."
DELIVERY = {
    "name": "set_delivery_day",
    "description": "Choose the day on which an order is delivered.",
}
vague = {"type": "string", "description": "The day."}
iso = {"type": "string", "description": "The day, ISO 8601: YYYY-MM-DD, such as 2026-09-23."}

for form, day in (("no format", vague), ("ISO 8601", iso)):
    for system in ("You work at a support desk.", "Today is Wednesday, 2026-09-16."):
        print(f"{form:9} | {system:31} | ", end="")
        ask(
            said,
            [with_inputs(DELIVERY, ["order_id", "day"], order_id=order_id, day=day)],
            system=system,
        )

# %% [markdown]
# This model ignores the format without today's date, and ignores the date without a format. (A real one may guess the
# day instead, which is worse: a wrong date looks like a right one.) It needs both: what the value should look like, and
# what to compute it from. Then let a check refuse whatever is still not a date.

# %% [markdown]
# **3. The result is a dump, and the model drifts.** `query_order` was asked for one order, and returns all that this
# customer ever ordered:

# %%
history = shop.search_orders("CUS-1007", limit=50)["orders"]
dump = [shop.query_order(order["order_id"]) for order in history]
print(len(json.dumps(dump, ensure_ascii=False)), "characters")

# %% [markdown]
# The same question, answered from the dump and from the one order:


# %%
def answer(result):
    said = "When was order ORD-20260602 delivered, and what was paid?"
    called = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "query_order",
        "input": {"order_id": "ORD-20260602"},
    }
    text = json.dumps(result, ensure_ascii=False)
    messages = [
        {"role": "user", "content": said},
        {"role": "assistant", "content": [called]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}],
        },
    ]
    tools = [definition("query_order")]
    reply = client.messages.create(
        model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=messages
    )
    print(reply.content[0].text, "\n")


answer(dump)
answer(shop.query_order("ORD-20260602"))

# %% [markdown]
# The first answer says what was paid for two *other* orders, and mentions the right one without its date or amount.
# (1, 2 and 8 are their places in the dump.) Every order in the dump looks like the question. The second answer is right.
#
# (The rule: quote the six lines that share the most words with the request; ties go to the first. A real model reads
# better, but has the same trouble with longer results.)
#
# The cure lies in the **result**: return the fields that decide, and say what was left out. Lesson 08 is about this.

# %% [markdown]
# ## What a linter sees
#
# Many of these faults can be found without a model. `lint_tools` reads a whole list of definitions:

# %% tags=["item-02.7"]
from course_kit import lint_tools

for finding in lint_tools([SEARCH_DATA]):
    print(f"{finding.severity}: {finding.message}\n    → {finding.fix}")

# %% [markdown]
# Each finding says what is wrong and what to write instead (and where: `finding.path`). Real models pick a vague name
# for anything; ours never picks it. The cure is the same.

# %% [markdown]
# The desk's own six tools are clean:

# %%
from course_kit import desk_tools

lint_tools(desk_tools(shop))

# %% [markdown]
# A linter finds what is *missing*. It cannot tell what is *wrong*: a definition that says "in euros" where the program
# wants cents passes every rule.
#
# ### Two tools that could both answer
#
# Wrong picks often come from pairs of similar tools. Another team adds a tool with a decent description. Is it too
# close to one of yours?

# %%
from course_kit import plot_similarity
from course_kit.contract.similarity import similarity_map

LIST_PURCHASES = with_inputs(
    {
        "name": "list_purchases",
        "description": "Find purchases by customer. Use it when the user asks what somebody "
        "bought or ordered.",
    },
    customer=CUSTOMER,
)
five = [SEARCH_ORDERS, LIST_PURCHASES, TRACK_PARCEL, SEARCH_PRODUCTS, definition("query_order")]
names, similarity = similarity_map(five)
show(plot_similarity(names, similarity, title="Which two descriptions are close?"))

# %% [markdown]
# One dark pair. (The number compares words, leaving out what a description says about others; 1 is the same text.) Is
# it also where picks go wrong? The map only suggests it. Measure:

# %%
crowded = {**desk(SEARCH_ORDERS), "their purchases": LIST_PURCHASES}  # no sentence is meant for it
with_rival = measure(crowded, TEN)
print(
    f"{on_ten['inputs'].share:.0%} without the new tool, {with_rival.share:.0%} with it (simulated)"
)
print(with_rival.changed(on_ten["inputs"]))

# %% [markdown]
# Nobody touched `search_orders`, and it got worse. So lint and measure the **whole list** each time a tool is added.
# The cure is to drop one of the two, or to say in each what only it does.

# %% tags=["quiz"]
quiz("02.9")

# %% [markdown]
# ## Changing a schema that is in use
#
# Old calls live longer than you think: in stored conversations, in approvals that wait, in your fixtures (calls kept
# for tests). Here are three calls from last week:

# %% tags=["item-02.8"]
OLD_CALLS = [
    {"order_id": "ORD-20260917", "amount_cents": 1999, "reason": "damaged"},
    {
        "order_id": "ORD-20260821",
        "amount_cents": 4398,
        "reason": "wrong_item",
        "note": "Green, not blue.",
    },
    {"order_id": "ORD-20260914", "amount_cents": 2450, "reason": "not_received"},
]

# %% [markdown]
# And four changes. **Guess** which one is the most dangerous:

# %%
fields, needed = REFUND["input_schema"]["properties"], REFUND["input_schema"]["required"]
currency = {"type": "string", "enum": ["EUR", "SEK"]}
in_euros = {**fields["amount_cents"], "description": "How much to pay back, in euros, rounded."}
narrower = {**fields["reason"], "enum": ["damaged", "not_received", "other"]}

changes = {
    "an optional field": with_inputs(REFUND, needed, **fields, currency=currency),
    "a required field": with_inputs(REFUND, [*needed, "currency"], **fields, currency=currency),
    "a narrower enum": with_inputs(REFUND, needed, **{**fields, "reason": narrower}),
    "another meaning": with_inputs(REFUND, needed, **{**fields, "amount_cents": in_euros}),
}
for change, new in changes.items():
    fit = sum(check_tool_input(new, old).ok for old in OLD_CALLS)
    print(f"{change:18} {fit} of 3 old calls still fit")

# %% [markdown]
# A required field and a narrower enum break old calls, and you see it. *Another meaning* breaks none of them: all
# three still fit, and each now pays a hundred times too much. **No check finds a change of meaning.**

# %% [markdown]
# So: add optional fields only. Never change what a field means, never narrow an enum. If a field must change, give it a
# **new name**, and retire the old one when nothing uses it any more.

# %% [markdown]
# Also keep the **order** of the tools. The prompt cache (lesson 01) recognises the beginning of a prompt by its text.
# Here are the same six tools, sent three times, the third time in reverse order. **Guess:** what does each request read
# from the cache?


# %%
def cached(client, definitions):
    marked = [*definitions[:-1], {**definitions[-1], "cache_control": {"type": "ephemeral"}}]
    message = {"role": "user", "content": "Hello"}
    reply = client.messages.create(
        model=DEFAULT_MODEL, max_tokens=100, tools=marked, messages=[message]
    )
    usage = reply.usage
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    print("read from the cache:", read, "| written to it:", written)


six = [one.definition() for one in desk_tools(shop)]
turned = list(reversed(six))
fresh = MockProvider().client()  # with an empty cache
for definitions in (six, six, turned):
    cached(fresh, definitions)

# %% [markdown]
# And after every edit of a description, run your sentences again, as you run tests after a change of code.

# %% tags=["quiz"]
quiz("02.10")

# %% [markdown]
# ## Whose fault is a wrong pick?
#
# Mostly the definition's, say people who repair agents. Let us measure it. The simulated model comes in two
# **profiles**, two sets of settings; `hasty` calls sooner. And so far every sentence needed a tool. Here are four that
# need none:

# %% tags=["item-02.9"]
settings_of("steady")
settings_of("hasty")

NOTHING = [
    ("Thanks, that is all.", None),
    ("Do you ship to Norway?", None),
    ("Can I pay for my order by card?", None),
    ("When does your shop in Oslo open?", None),
]

# %% [markdown]
# What brings more on the twenty sentences that we did not write for, the better definition or the other model? And what
# does it do to the four?

# %%
for label, step in (("old definition", "start"), ("new definition", "inputs")):
    for profile in ("steady", "hasty"):
        twenty = measure(desk(ladder[step]), [*OTHERS, *MORE], profile=profile)
        four = measure(desk(ladder[step]), NOTHING, profile=profile)
        print(f"{label}, {profile:6}  twenty others {twenty.share:4.0%}", end="   ")
        print(f"no tool wanted {four.share:4.0%} (simulated)")

# %% [markdown]
# Nearly a draw, and both together bring more than either. So a model matters. Why begin with the definition?
#
# - It is yours, and it costs nothing per call. Another model is paid for with every token.
# - It carries over: the new definition is the better one with *both* models.
# - You can see why. The misses show which words are missing. "The model is weak" shows nothing.
#
# The last column is a warning. A tool that is found more easily is also called when no tool should be: *"Can I pay for
# my order by card?"* has an order in it. Sentences that need **no tool** belong in every set.
#
# So work in this order: **the description** (when, when not, the users' words), then **the inputs**, then **the number
# of tools** or **the model**. Run many sentences, read the misses, change one thing, run again.

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | no call, words instead | Does the name say what it is for? Are the users' words in the description? |
# | the neighbour is called | Do both claim the same? Stop claiming first, then draw the boundary in both. |
# | a boundary changes nothing | Does the first sentence say the opposite? |
# | a value nobody said | Is the field required though the call works without it? |
# | "next Wednesday", "five", "19.99 €" | Format and example in the description; unit in the name; today's date in `system`. |
# | a field is lost on the way | Is the schema closed? |
# | 400 `input_schema does not support oneOf, allOf, or anyOf at the top level` | Optional inputs and a sentence, or two tools. |
# | 400 `input_examples` | Each example must fit the schema. |
# | it looks right and the answer is wrong | How long is the result? Does it hold what was asked for, and little else? |
# | better on your sentences, not in production | Were these sentences used for writing? |
# | worse, and nobody changed this tool | Which tool was added to the list? |
#
# ## The same on the live API
#
# If you have switched live on (lesson 00), this cell asks the real model five of the ten others, with the old
# definition and with the new. (Thinking is switched off, so that 300 tokens are enough.) A real model will do better
# than ours with the old one. Where does it fail?

# %% tags=["live"]
from course_kit import announce, connect

announce(tokens=12_000)
real = connect()
for label, orders_tool in (("old", SEARCH_DATA), ("new", SEARCH_ORDERS)):
    tools = desk(orders_tool)
    for said, meant in [*OTHERS[1:3], *OTHERS[7:]]:
        message = {"role": "user", "content": said}
        asked = {
            "tools": list(tools.values()),
            "messages": [message],
            "thinking": {"type": "disabled"},
        }
        reply = real.messages.create(model=DEFAULT_MODEL, max_tokens=300, **asked)
        called = [block.name for block in reply.content if block.type == "tool_use"]
        print(
            label, "✓" if called == [tools[meant]["name"]] else "✗", called or "no call", "|", said
        )

# %% [markdown]
# ## Practice
#
# [Exercises 02](../exercises/02_schema_design.ipynb): find the faults of a definition, decide what is required, split
# a tool that does everything, and rewrite one until nine of ten are right.
#
# ## Recap
#
# Name, description and `input_schema` are all the model knows. A description answers five questions: when, when not,
# what each input means, what comes back, what it changes. Stop claiming before you draw boundaries. Inputs are narrow,
# few, flat and closed, with units and formats, so that wrong values are hard to write. Test wording like code: one
# change at a time, on many sentences, some of them unseen. Old calls outlive a schema: add, never change a meaning.
#
# New words: *relevance*, *boundary*, *poka-yoke*, *selection accuracy* (the share of right picks), *interval*,
# *seed*, *linter*, *fixture*.
#
# ## Say it in one breath
#
# > **The model picks the wrong tools. What do you do?** First I look at the definitions, as the model sees them:
# > name, first sentence, when to use it, when not and which neighbour instead. I collect real sentences, measure the
# > share of right picks, change one thing and measure again, on sentences I did not write for as well. Then come the
# > inputs: enums, units, few required fields. Only then the number of tools, and last the model.
#
# Two answers you will hear:
#
# - *"The model is too weak, take a larger one."* It may help. It also hides the fault, costs something on every call,
#   and the next model starts with the same bad text.
# - *"We made the description longer and praised the tool."* Praise does not help the model choose. What helps is when,
#   when not, and the users' words.
#
# Next comes strict mode ([lesson 03](03_strict_mode.ipynb)): what a schema can enforce, and what it never will.

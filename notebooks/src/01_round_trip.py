# %% [markdown]
# # 01 · The request round trip
#
# You will run one tool call by hand, from the customer's sentence to the money, and then read the loop that does it
# for you.
#
# After this lesson you can
#
# - **trace** a tool call through its five steps and say at each one who acts,
# - **send** a tool's result back so that the API accepts it,
# - **read** the API's own complaints about a broken conversation and mend it,
# - **decide** from `stop_reason` what your program does next,
# - **measure** what tool definitions cost on every turn.
#
# About 75 minutes. You need Python; lesson 00 is enough beforehand.

# %% tags=["setup"]
import json

from course_kit import DEFAULT_MODEL, connect, open_shop, quiz, show, transcript

shop = open_shop()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("01.recall")

# %% [markdown]
# ## The model never runs anything
#
# A customer writes to a shop's support desk: *"My cup arrived broken. Please refund 19.99 for order ORD-20260917."*
# You want the model to handle it. The shop is real enough: a database with orders and a ledger of refunds, in a file
# on your disk.
#
# Nothing has been refunded for this order so far.

# %% tags=["item-01.1"]
order = shop.query_order("ORD-20260917")
order["customer"], order["paid_cents"], shop.ledger("ORD-20260917")

# %% [markdown]
# The model cannot see this database, and it cannot change it. It can only write text. So how does money ever move?
#
# You **describe** a function to the model. When the model wants it, it **writes a request for a call**: a name and some
# inputs. Your program reads that request, checks it, runs whatever it thinks fit, and reports back.
#
# So whatever runs is run by *your* code. The responsibility for it is yours. No protocol takes it from you.

# %% [markdown]
# ## Step 1: ask, and say which tools there are
#
# A tool definition has three parts: a name, a description, and a JSON Schema for the inputs. This one is complete.
# Why it is worded so is the subject of lesson 02.

# %% tags=["item-01.2"]
REFUND_ORDER = {
    "name": "refund_order",
    "description": "Pay money back for a delivered order. Use when the user asks for a refund and names the order. "
    "Never more than was paid. Not for an order that is not yet shipped: use cancel_order.",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "Such as ORD-20260917."},
            "amount_cents": {"type": "integer", "minimum": 1, "description": "In cents: 19.99 is 1999."},
            "reason": {"type": "string", "enum": ["damaged", "not_received", "wrong_item", "other"]},
            "note": {"type": "string", "maxLength": 200, "description": "A word for the ledger, if there is one."},
        },
        "required": ["order_id", "amount_cents", "reason"],
        "additionalProperties": False,
    },
}

# %% [markdown]
# `connect()` gives a client of the real `anthropic` SDK. Behind it stands the course's mock provider, which reads and
# answers requests as the API does. (Importing the SDK takes a second.)

# %%
client = connect()
messages = [{"role": "user", "content": "My cup arrived broken. Please refund 19.99 for order ORD-20260917."}]

# %% [markdown]
# **Before you run the next cell, guess:** how much money has moved when it is done?

# %%
reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=1024, tools=[REFUND_ORDER], messages=messages)
reply.stop_reason

# %% [markdown]
# ## Step 2: the model answers with a request
#
# `"tool_use"` means: *I stopped because I want a tool to be used.* What it wants stands in the reply's `content`, a list
# of blocks. A block is found by its `type`, never by its place.

# %%
call = next(block for block in reply.content if block.type == "tool_use")
print(json.dumps(call.to_dict(), indent=2))

# %% [markdown]
# An `id`, a `name`, an `input`. `input` is an object, not a string of JSON. `19.99` has become `1999`, because the
# definition says so. And the money?

# %%
shop.ledger("ORD-20260917")

# %% [markdown]
# Not a cent. The reply is a piece of paper with a wish on it.

# %% tags=["quiz"]
quiz("01.1")

# %% [markdown]
# ## Step 3: check it, then run it
#
# The input came from a model that guesses. Check it against the schema before you do anything with it. Here by hand,
# with the `jsonschema` library: no complaint means it fits.

# %%
import jsonschema

jsonschema.validate(call.input, REFUND_ORDER["input_schema"])

# %% [markdown]
# Now *your* line of Python moves the money.

# %%
receipt = shop.refund_order(**call.input)
receipt

# %% [markdown]
# ## Step 4: send back both turns
#
# The API keeps nothing between two requests. So the second request repeats everything: the user's message, the
# assistant's turn **unchanged**, and a new user turn that holds the `tool_result`. The result is tied to the call by
# `tool_use_id`.
#
# A result's `content` is a string (or a list of blocks). Make JSON with a library, never with `str()`, and leave
# letters as they are: `ensure_ascii=False`.

# %%
messages.append({"role": "assistant", "content": reply.to_dict()["content"]})
messages.append(
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": json.dumps(receipt, ensure_ascii=False),
            }
        ],
    }
)
final = client.messages.create(model=DEFAULT_MODEL, max_tokens=1024, tools=[REFUND_ORDER], messages=messages)
final.stop_reason

# %% [markdown]
# ## Step 5: the model goes on
#
# `"end_turn"`: it has said what it wanted to say. Had it written `"tool_use"` again, you would be back at step 3.

# %%
print(final.content[-1].text)

# %% [markdown]
# That is the whole round trip. The list `messages` grew by two turns for one call, and every request carries all of it.

# %%
from course_kit import plot_messages

finished = [*messages, {"role": "assistant", "content": final.to_dict()["content"]}]
show(plot_messages({"request 1": messages[:1], "request 2": messages, "afterwards": finished}))

# %% [markdown]
# Step through the same conversation block by block. Watch the id: it is the only thread between call and result.
# (Without a mouse: `transcript(...).step(2)`.)

# %%
transcript(finished)

# %% tags=["quiz"]
quiz("01.2")

# %% [markdown]
# ## Three hard rules
#
# The API checks the list on every request. The rules are few, and each is easiest to remember by breaking it. This
# helper sends a list and prints what the API says: the status and, when it refuses, its own words.

# %% tags=["item-01.3"]
import anthropic


def send(messages, **changes):
    request = {"model": DEFAULT_MODEL, "max_tokens": 1024, "tools": [REFUND_ORDER], **changes}
    try:
        reply = client.messages.create(messages=messages, **request)
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])
    else:
        print(200, reply.stop_reason)


question, turn, answer = messages

# %% [markdown]
# **Rule 1. The assistant's turn goes back as it came.** Leave it out, and the result answers nothing:

# %%
send([question, answer])

# %% [markdown]
# Its *words* are not protected. Put others in, and the request is accepted, as far as is known. The model then believes
# that it said so. That is a way to deceive yourself, not a feature.

# %%
invented = {"role": "assistant", "content": [{"type": "text", "text": "I never refund cups."}, *turn["content"]]}
send([question, invented, answer])

# %% [markdown]
# **Rule 2. Exactly one result for every call.** No result is an error, and so are two.

# %%
send([question, turn, {"role": "user", "content": "Thanks!"}])

# %%
result = answer["content"][0]
send([question, turn, {"role": "user", "content": [result, result]}])

# %% [markdown]
# **Rule 3. Results come first in the user's turn, and the id pairs them.** A friendly word ahead of the result is
# enough to break it. Guess what the API complains about:

# %%
words = {"type": "text", "text": "Here is what happened:"}
send([question, turn, {"role": "user", "content": [words, result]}])

# %% [markdown]
# It says that the result is *missing*, though it is there. Read it as "not immediately after". Behind the result the
# same words are fine. (Whether they are wise is another matter: text there can teach a model to end its turn.)

# %%
send([question, turn, {"role": "user", "content": [result, words]}])

# %% [markdown]
# A wrong id is a result for a call that nobody made:

# %%
send([question, turn, {"role": "user", "content": [{**result, "tool_use_id": "toolu_wrong"}]}])

# %% [markdown]
# Among themselves results may stand in any order: two calls, answered backwards, are accepted.

# %%
second = {**turn["content"][-1], "id": "toolu_second"}
two_calls = {"role": "assistant", "content": [*turn["content"], second]}
send([question, two_calls, {"role": "user", "content": [{**result, "tool_use_id": "toolu_second"}, result]}])

# %% [markdown]
# One turn must be mended before it goes back. Models write text *ahead* of a call. Should text ever stand *behind* one,
# sending it back unchanged is refused (recorded in May 2026); moved ahead of the call, it is accepted.

# %%
spoke_late = {"role": "assistant", "content": [*turn["content"], {"type": "text", "text": "One moment."}]}
send([question, spoke_late, answer])
send([question, {"role": "assistant", "content": spoke_late["content"][::-1]}, answer])

# %% tags=["quiz"]
quiz("01.3")

# %% [markdown]
# ## `stop_reason` is the first thing to read
#
# Not the text, not the blocks: why did the model stop? The answer decides what a program may do. It also says where to
# look when something is wrong. `end_turn` without a call: the model did not choose your tool. `tool_use`: it did, and
# what failed is your code.

# %% tags=["item-01.4"]
from course_kit import STOP_REASONS

for reason, action in STOP_REASONS.items():
    print(f"{reason:30} {action}")

# %% [markdown]
# These are the values of the SDK 2.14 (November 2026). New ones will come: treat an unknown value as the end of the
# turn, and log it.
#
# Two of them are dangerous, because the reply looks complete. Here the same answer is cut by `max_tokens` in the middle
# of the call, and then refused. **Guess first:** will `input` be broken JSON?

# %%
from course_kit import MockProvider, Simulated
from course_kit.mock import faults

for fault in (faults.max_tokens(at=0.6), faults.refusal()):
    provider = MockProvider(Simulated(), faults=fault)
    broken = provider.client().messages.create(
        model=DEFAULT_MODEL, max_tokens=1024, tools=[REFUND_ORDER], messages=[question]
    )
    print(broken.stop_reason, broken.content[-1].input)

# %% [markdown]
# Two perfectly good dicts. In the first something is missing; in the second nothing is, and still the model has declined.
# Only `stop_reason` tells. **Calls of a turn that ended in `max_tokens` or `refusal` are never run.**

# %% tags=["quiz"]
quiz("01.4")

# %% [markdown]
# ## `tool_choice`: may it, must it, must it not
#
# By default the model decides (`auto`). You can forbid calls (`none`), demand some call (`any`), or demand one tool.

# %% tags=["item-01.5"]
hello = [{"role": "user", "content": "Good morning!"}]
for choice in ({"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "refund_order"}):
    print(choice, end=" → ")
    send(hello, tool_choice=choice)

# %% [markdown]
# "Good morning" is no reason for a refund. A forced model calls all the same, and makes up the inputs:

# %%
forced = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=[REFUND_ORDER], messages=hello, tool_choice={"type": "any"}
)
print(forced.content[-1].input)

# %% [markdown]
# And if the choice stays forced on every turn? The model must call again after each result. Such a loop has no end of
# its own.
#
# Some of the newest models refuse forcing altogether (as of November 2026: Opus 5.5, Sonnet 5.5, Fable 5.1, Mythos
# 5.1):

# %%
send(hello, tool_choice={"type": "any"}, model="claude-opus-5-5")

# %% [markdown]
# `disable_parallel_tool_use` sits inside `tool_choice`: with `auto` it allows at most one call, with `any` and `tool`
# exactly one. Put at the top level of the request, it is an unknown key:

# %%
send(hello, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
send(hello, extra_body={"disable_parallel_tool_use": True})

# %% [markdown]
# Those models also think before every answer, and their thinking is signed. A thinking block goes back exactly as it
# came. Edit one word of it:

# %%
THINKER = "claude-opus-5-5"
thought = client.messages.create(
    model=THINKER,
    max_tokens=1024,
    tools=[REFUND_ORDER],
    messages=[question],
    thinking={"type": "adaptive", "display": "summarized"},
)
thinking, wish = thought.to_dict()["content"]
reported = {"role": "user", "content": [{**result, "tool_use_id": wish["id"]}]}
send([question, {"role": "assistant", "content": [thinking, wish]}, reported], model=THINKER)
edited = {**thinking, "thinking": "The customer is lying."}
send([question, {"role": "assistant", "content": [edited, wish]}, reported], model=THINKER)

# %% tags=["quiz"]
quiz("01.5")

# %% [markdown]
# ## Definitions are prompt
#
# Name, description and schema are read by the model on every turn, and paid for on every turn. `count_tokens` tells
# how much, without asking the model. (The mock estimates; the real endpoint calls its count an estimate, too.)


# %% tags=["item-01.6"]
def count(tools):
    return client.messages.count_tokens(model=DEFAULT_MODEL, tools=tools, messages=hello).input_tokens


def copies(number):
    return [{**REFUND_ORDER, "name": f"refund_order_{n}"} for n in range(number)]


for number in (0, 1, 5, 20):
    print(f"tools: {number:2}   tokens: {count(copies(number)):5}")

# %% [markdown]
# Having tools at all costs a few hundred tokens, and each of these about two hundred more. Twenty of them are about
# four thousand, before anybody has said anything.
#
# The API keeps nothing, so a conversation of eight turns pays eight times. A marker, `cache_control`, lets the
# provider keep the beginning of the prompt for a few minutes. **Guess:** which of the three lines stays lowest?


# %%
def input_tokens(tools, turns=8):
    """What eight turns cost: input tokens that were read anew, turn by turn."""
    client, talk, spent = MockProvider(lambda request: "Noted.").client(), [], []
    for turn in range(turns):
        talk.append({"role": "user", "content": f"Question {turn + 1}: what about my order?"})
        reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=100, tools=tools, messages=talk)
        talk.append(reply.to_param())
        spent.append(reply.usage.input_tokens + reply.usage.cache_creation_input_tokens)
    return spent


cached = [*copies(19), {**copies(20)[-1], "cache_control": {"type": "ephemeral"}}]
series = {
    "20 tools": input_tokens(copies(20)),
    "20 tools, cached": input_tokens(cached),
    "2 tools": input_tokens(copies(2)),
}

# %%
from course_kit import plot_cumulative_tokens

show(plot_cumulative_tokens(series))

# %% [markdown]
# Caching makes the repetition cheap, not free: what is read from the cache is billed too, at a lower price. And the
# model still has to find its way among twenty tools. Lesson 07 measures both.

# %% tags=["quiz"]
quiz("01.6")

# %% [markdown]
# ## What holds at every hop
#
# A call passes seven stations. At each one something must be true. When an agent misbehaves, walk along this list with
# its trace in hand, and stop at the first line that does not hold.

# %% tags=["item-01.7"]
schema = REFUND_ORDER["input_schema"]
ledger = shop.ledger("ORD-20260917")
checklist = {
    "definition → request   the tool you meant is in `tools`": REFUND_ORDER["name"] == "refund_order",
    "request → reply        it stopped with `tool_use`": reply.stop_reason == "tool_use",
    "reply → input          the call names a tool you declared": call.name == REFUND_ORDER["name"],
    "input → checked input  it fits the schema": not list(
        jsonschema.Draft202012Validator(schema).iter_errors(call.input)
    ),
    "checked input → run    your code ran once, with this input": [row["amount_cents"] for row in ledger] == [1999],
    "run → result           the result says what happened, under the call's id": json.loads(result["content"])
    == receipt,
    "result → final text    the model says what the result says": "19.99" in final.content[-1].text,
}
for station, holds in checklist.items():
    print("✓" if holds else "✗", station)

# %% [markdown]
# ## From `while` to `run_agent`
#
# The five steps repeat until the model stops asking. Written down, they are a loop:

# %% tags=["item-01.8"]
TOOLS = {"refund_order": shop.refund_order}
shop.reset()

messages = [question]
while True:
    reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=1024, tools=[REFUND_ORDER], messages=messages)
    messages.append(reply.to_param())
    if reply.stop_reason != "tool_use":
        break
    results = []
    for block in reply.content:
        if block.type == "tool_use":
            output = TOOLS[block.name](**block.input)
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": json.dumps(output)})
    messages.append({"role": "user", "content": results})

print(reply.content[-1].text)

# %% [markdown]
# Fourteen lines, and they work on a good day. **Before you read on:** name three days on which they do not.

# %% [markdown]
# - The model names a tool that does not exist, or sends an input that does not fit, or `shop` raises. Each ends the
#   program, and the model never learns why.
# - The model calls for ever. Nothing counts.
# - The turn is cut by `max_tokens`. The last turn of the list then holds a call without a result, and the
#   conversation can never be continued.
#
# `run_agent` is the same loop with these days in mind, and this is all of it. A `Loop` decides what comes next, and the
# driver does what it says: ask the model, or run calls. `prepare` finds the tool and checks the input, `decide` asks for
# approval, `run_call` runs the function. Whatever fails on the way becomes an error result. (The `Loop` itself is 150
# lines in `course_kit/harness/loop.py`, and worth an evening.)

# %% [markdown] tags=["mirrors:course_kit.harness.loop.run_agent"]

# %% [markdown]
# Tools are now Python functions: `desk_tools` gives the shop's six, definitions made from their signatures. A refund
# cannot be undone, so `run_agent` wants somebody to allow it. Here that is a function that always says yes. Lesson 06
# puts a person in its place.

# %%
from course_kit import desk_tools, run_agent

shop.reset()
run = run_agent(client, tools=desk_tools(shop), messages=[question], approver=lambda call: True)
print(run)
print(run.trace)

# %% [markdown]
# Now a bad day. This model calls a tool that does not exist, then one with a wrong input. The run goes on: each failure
# is answered with `is_error` and a sentence, and the model reads it. What makes such a sentence good is lesson 04.

# %%
from course_kit import call as wish_for

shop.reset()
bad_day = MockProvider(
    [
        wish_for("refund", order="ORD-20260917"),
        wish_for("refund_order", order_id="ORD-20260917", amount_cents="19.99", reason="broken"),
        "I could not do it. A colleague will write to you.",
    ]
)
run = run_agent(bad_day.client(), tools=desk_tools(shop), messages=[question], approver=lambda call: True)
for message in run.messages[2:5:2]:
    print(message["content"][0]["content"], end="\n\n")
print("stopped:", run.stopped, "| refunds:", shop.ledger("ORD-20260917"))

# %% tags=["quiz"]
quiz("01.7")

# %% [markdown]
# ### The SDK brings a loop, too
#
# `client.beta.messages.tool_runner` does the same for functions marked with `@beta_tool` (SDK 2.14, in beta). By default
# it keeps the conversation on the server; `thread=False` sends it whole each time, as this lesson does.

# %%
from anthropic import beta_tool


@beta_tool
def get_weather(city: str) -> str:
    """Get the current weather in a city.

    Args:
        city: The city's name, such as Oslo.
    """
    return json.dumps({"city": city, "celsius": 4, "sky": "rain"})


runner = client.beta.messages.tool_runner(
    model=DEFAULT_MODEL,
    max_tokens=1024,
    tools=[get_weather],
    messages=[{"role": "user", "content": "What is the weather in Oslo?"}],
    thread=False,
)
for message in runner:
    print(message.stop_reason, [block.type for block in message.content])

# %% [markdown]
# ### The same conversation, streamed
#
# A streamed reply is the same message in pieces. Text grows word by word. A call's `input` grows as fragments of JSON
# text, cut anywhere, and means nothing until its block has stopped. Results are never streamed: you send them whole.

# %%
with client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=[REFUND_ORDER], messages=[question], stream=True
) as stream:
    for event in stream:
        if event.type == "content_block_start":
            print("start", event.content_block.type)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            print("     ", repr(event.delta.partial_json))
        elif event.type in ("content_block_stop", "message_delta"):
            print(event.type, getattr(event, "delta", ""))

# %% [markdown]
# The first fragment is empty, always. A call without any input has no other. So join the fragments when the block stops,
# read an empty text as `{}`, and look at `stop_reason` before you run anything. The SDK's `client.messages.stream(...)`
# does the joining for you.

# %% tags=["quiz"]
quiz("01.8")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | 400 `tool_use ids were found without tool_result blocks immediately after` | Is there a result for *each* call, in the very next turn, ahead of any text? |
# | 400 `unexpected tool_use_id found in tool_result blocks` | Was the assistant's turn left out, or cut off when the history was trimmed? |
# | 400 `must end with a user message` | The list ends with an assistant turn: you sent it before adding the results. |
# | 400 on `tool_choice` | Does this model allow forcing? |
# | `end_turn` and no call | The model did not choose your tool: its description, lesson 02. |
# | a call with half its inputs | `stop_reason` is `max_tokens`. Do not run it. |
# | it never ends | Is `tool_choice` forced on every turn? Is there a limit? |
#
# The mock can also judge a client from what it sent. Ours, on the bad day:

# %%
bad_day.report()

# %% [markdown]
# ## The same on the live API
#
# If you have switched live on (lesson 00), this cell runs the whole conversation against the real model. It says first
# what it may cost. The shop is the same; the refund is as unreal as before.

# %% tags=["live"]
from course_kit import announce

announce(tokens=6_000)
shop.reset()
run = run_agent(connect(), tools=desk_tools(shop), messages=[question], approver=lambda call: True)
print(run.stopped, [row["amount_cents"] for row in shop.ledger("ORD-20260917")])

# %% [markdown]
# ## Practice
#
# [Exercises 01](../exercises/01_round_trip.ipynb): write the loop yourself, find the broken rule in three transcripts,
# and make the cheapest request that must call a tool.
#
# ## Recap
#
# The model writes requests for calls; your code checks them, runs them and answers. The whole conversation travels in
# `messages`, every time. Each call gets exactly one result, in the very next turn, ahead of everything else, tied by id.
# `stop_reason` says what may be done with a turn, and a turn that was cut or refused is never run. Definitions are
# prompt, and are paid for on every turn.
#
# New words: *tool definition*, `tool_use` block, `tool_result` block, `tool_use_id`, `stop_reason`, `tool_choice`, *turn*,
# *round trip*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **What happens in a tool call?** The model never runs anything. It writes a request for a call: a name, inputs, an id. My
# > code checks the inputs, runs the function, and sends back one result for each call under the same id, first thing in
# > the next turn. That repeats until `stop_reason` is not `tool_use`, with a limit on how often. And whether the right
# > calls were made is measured, not hoped.
#
# Two answers one hears:
#
# - *"The model calls my function."* It cannot. Who believes it looks for bugs in the model and forgets to check inputs.
# - *"You parse the JSON out of the model's answer."* `input` arrives as an object. The work is in the checks, the pairing
#   and the stop reasons.
#
# Next comes schema design (lesson 02), where a wrong pick turns out to be the description's fault.

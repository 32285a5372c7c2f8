# %% [markdown]
# # 01 · The request round trip
#
# You will run one tool call by hand, from the customer's message to the refund, and then read the loop that does it for
# you.
#
# After this lesson you can
#
# - **trace** a tool call through its five steps and say who acts at each,
# - **send** a tool's result back so that the API accepts it,
# - **read** the API's own complaints about a broken conversation and repair it,
# - **decide** from `stop_reason` what your program does next,
# - **measure** what tool definitions cost on every turn.
#
# About 90 minutes, best in two sittings: a good place to stop is marked. You need Python and lesson 00.

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
# A customer writes to a shop's support desk: *"My cup arrived broken. Please refund 19.99 for order ORD-20260917."* You
# want the model to handle it. The shop is real: a database with orders and a ledger of refunds, in a file on your disk.
#
# Nothing has been refunded for this order so far.

# %% tags=["item-01.1"]
order = shop.query_order("ORD-20260917")
order["customer"], order["paid_cents"], shop.ledger("ORD-20260917")

# %% [markdown]
# The model cannot see this database, and it cannot change it. It can only write text. So how is the refund paid?
#
# You **describe** a function to the model. When the model wants it, it **writes a request for a call**: a name and some
# inputs. Your program reads that request, checks it, decides whether to run it, and reports back.
#
# So whatever runs is run by *your* code, and the responsibility is yours.

# %% [markdown]
# ## Step 1: ask, and say which tools there are
#
# A tool definition has three parts: a name, a description, and a JSON Schema for the inputs. (The API does not require
# the description; the model needs it.) Lesson 02 explains why this one is worded as it is.

# %% tags=["item-01.2"]
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
# `connect()` gives a client of the real `anthropic` SDK. Behind it is the course's mock provider, which reads and
# answers requests as the API does. (Importing the SDK takes a second.)

# %%
client = connect()
tools = [REFUND_ORDER]
question = {
    "role": "user",
    "content": "My cup arrived broken. Please refund 19.99 for order ORD-20260917.",
}

# %% [markdown]
# **Before you run the next cell, guess:** how much money will have moved when it is done?

# %%
reply = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=[question]
)
reply.stop_reason

# %% [markdown]
# ## Step 2: the model answers with a request
#
# `"tool_use"` means: *I stopped because I want a tool to be used.* What it wants is in the reply's `content`, a list of
# blocks. Find a block by its `type`, never by its position.


# %%
def first(reply, kind):
    return next(block for block in reply.content if block.type == kind)


tool_use = first(reply, "tool_use")
print(json.dumps(tool_use.to_dict(), indent=2))

# %% [markdown]
# An `id`, a `name`, an `input`. (`caller` says who made the call; `direct` is the model itself.) `input` is an object,
# not a string of JSON. `19.99` has become `1999`, because the definition asks for cents. And the money?

# %%
shop.ledger("ORD-20260917")

# %% [markdown]
# Not a cent has moved. The reply is only a request.

# %% tags=["quiz"]
quiz("01.1")

# %% [markdown]
# ## Step 3: check it, then run it
#
# The input came from a model, so it may be wrong. Check it against the schema before you do anything with it. Here we
# use the `jsonschema` library: no exception means it fits.

# %%
import jsonschema

jsonschema.validate(tool_use.input, REFUND_ORDER["input_schema"])

# %% [markdown]
# Now *your* line of Python moves the money. (Run it twice and the shop objects: it never refunds more than was paid.
# `shop.reset()` starts over.)

# %%
receipt = shop.refund_order(**tool_use.input)
receipt

# %% [markdown]
# ## Step 4: send back both turns
#
# The API keeps nothing between two requests. So the second request repeats everything: the user's turn, the
# assistant's turn **unchanged**, and a new user turn that holds the `tool_result`. (A **turn** is one message of the
# list.) The result is tied to the call by `tool_use_id`.
#
# A result's `content` is a string or a list of blocks; it may be empty. Make JSON with `json.dumps`, never with
# `str()`, and keep non-ASCII letters readable: `ensure_ascii=False`.

# %%
turn = {"role": "assistant", "content": reply.to_dict()["content"]}
tool_result = {
    "type": "tool_result",
    "tool_use_id": tool_use.id,
    "content": json.dumps(receipt, ensure_ascii=False),
}
messages = [question, turn, {"role": "user", "content": [tool_result]}]

final = client.messages.create(model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=messages)
final.stop_reason

# %% [markdown]
# ## Step 5: the model goes on
#
# `"end_turn"`: the model has finished its answer. If it had stopped with `"tool_use"` again, you would be back at step
# 3.

# %%
print(first(final, "text").text)

# %% [markdown]
# (The simulated model has no style: it repeats the fields of the result that matter. A real one would write a sentence.)
#
# That is the whole round trip. The list `messages` grew by two turns for one call, and every request carries all of it.

# %%
from course_kit import plot_messages

finished = [*messages, {"role": "assistant", "content": final.to_dict()["content"]}]
show(plot_messages({"request 1": messages[:1], "request 2": messages, "afterwards": finished}))

# %% [markdown]
# Step through the same conversation message by message. Watch the id: it alone ties the result to the call. (Without a
# mouse: `transcript(finished).step(2)`.)

# %%
transcript(finished)

# %% tags=["quiz"]
quiz("01.2")

# %% [markdown]
# ## Three hard rules
#
# The API checks the list on every request. Three rules matter most, and the way to remember them is to break them. This
# helper sends a list and prints the status and, when the API refuses, its message.

# %% tags=["item-01.3"]
import anthropic


def send(messages, **changes):
    request = {"model": DEFAULT_MODEL, "max_tokens": 1024, "tools": tools, **changes}
    try:
        reply = client.messages.create(messages=messages, **request)
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])
    else:
        print(200, reply.stop_reason)


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


# %% [markdown]
# **Rule 1. The turn with the call comes directly before its results.** Leave it out, and the result answers nothing:

# %%
send([question, user(tool_result)])

# %% [markdown]
# **Rule 2. Exactly one result for every call.** A missing result is an error, and so is a second one.

# %%
send([question, turn, {"role": "user", "content": "Thanks!"}])
send([question, turn, user(tool_result, tool_result)])

# %% [markdown]
# **Rule 3. Results come first in the user's turn, and the id pairs them.** A single sentence before the result is
# enough to break it. Guess what the API complains about:

# %%
words = {"type": "text", "text": "Here is what happened:"}
send([question, turn, user(words, tool_result)])

# %% [markdown]
# It says that the result is *missing*, though it is there. Read it as "not immediately after". After the result, the
# same words are accepted. (The vendor advises against them: they may teach a model to end its turn.)

# %%
send([question, turn, user(tool_result, words)])

# %% [markdown]
# With a wrong id, it is a result for a call that nobody made:

# %%
send([question, turn, user({**tool_result, "tool_use_id": "toolu_wrong"})])

# %% [markdown]
# The id is enough: two calls may be answered in any order.

# %%
second = {**tool_use.to_dict(), "id": "toolu_second"}
both = {"role": "assistant", "content": [tool_use.to_dict(), second]}
send([question, both, user({**tool_result, "tool_use_id": "toolu_second"}, tool_result)])

# %% [markdown]
# ### Unchanged, with one exception
#
# Send the assistant's turn back as it came. As far as we know the API does not notice when you edit its *words*: the
# next request is accepted. But the model then believes that it said so. Do not use this.

# %%
invented = {
    "role": "assistant",
    "content": [{"type": "text", "text": "I never refund cups."}, *turn["content"]],
}
send([question, invented, user(tool_result)])

# %% [markdown]
# The exception: models write text *before* a call. If text ever comes *after* one, sending it back unchanged is refused
# (recorded in May 2026). Move it before the call, and it is accepted.

# %%
moment = {"type": "text", "text": "One moment."}
send([question, {"role": "assistant", "content": [*turn["content"], moment]}, user(tool_result)])
send([question, {"role": "assistant", "content": [moment, *turn["content"]]}, user(tool_result)])

# %% tags=["quiz"]
quiz("01.3")

# %% [markdown]
# ## `stop_reason` is the first thing to read
#
# Before the text and the blocks, read why the model stopped. That decides what your program may do, and it tells you
# where to look when something is wrong. `end_turn` without a call: the model did not choose your tool. `tool_use`: it
# chose one. Look at the call it wrote, then at what your code made of it.

# %% tags=["item-01.4"]
from course_kit import STOP_REASONS

for reason, action in STOP_REASONS.items():
    print(f"{reason:30} {action}")

# %% [markdown]
# These are the values of the SDK 2.14 (November 2026; its beta part has one more, `compaction`). New ones will come:
# treat an unknown value as the end of the turn, and log it. `pause_turn` comes with tools that the provider runs itself,
# such as its web search: lesson 07.

# %% [markdown]
# Some are dangerous, because the reply looks complete. Here a model wants to leave a note in the ledger, and a small
# `max_tokens` cuts the reply in the middle of it. (`MockProvider` can take a list of replies and play them in order.)
# **Guess first:** is `input` broken? Does it still fit the schema?

# %%
from course_kit import MockProvider, call

wish = call(
    "refund_order",
    order_id="ORD-20260917",
    amount_cents=1999,
    reason="damaged",
    note="Handle off. Do NOT restock.",
)
talkative = MockProvider([wish]).client()
cut = talkative.messages.create(
    model=DEFAULT_MODEL, max_tokens=40, tools=tools, messages=[question]
)
print(cut.stop_reason, first(cut, "tool_use").input)
jsonschema.validate(first(cut, "tool_use").input, REFUND_ORDER["input_schema"])

# %% [markdown]
# It is a valid dict, and the check accepts it. The warning is lost. Only `stop_reason` shows it.
#
# And here the model, or a filter beside it, declines in the middle of a turn. This time the call is complete:

# %%
from course_kit.mock import faults

declining = MockProvider([wish], faults=faults.refusal()).client()
declined = declining.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=[question]
)
print(declined.stop_reason, first(declined, "tool_use").input)

# %% [markdown]
# **Run calls after `tool_use`, and after no other stop reason**, however complete they look. After a cut, ask again
# with more room and without the cut turn, once. After a refusal, stop, leave the turn out of the history, and tell the
# user. (To go on, take out or reword the turn that caused it, too: else more refusals follow, say the vendor's pages.)

# %% tags=["quiz"]
quiz("01.4")

# %% [markdown]
# ## From `while` to `run_agent`
#
# The five steps repeat until the model stops asking. Written down, they are a loop:

# %% tags=["item-01.8"]
TOOLS = {"refund_order": shop.refund_order}
shop.reset()

messages = [question]
while True:
    reply = client.messages.create(
        model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=messages
    )
    messages.append({"role": "assistant", "content": reply.to_dict()["content"]})
    if reply.stop_reason != "tool_use":
        break
    results = []
    for block in reply.content:
        if block.type == "tool_use":
            output = json.dumps(TOOLS[block.name](**block.input), ensure_ascii=False)
            results.append({"type": "tool_result", "tool_use_id": block.id, "content": output})
    messages.append({"role": "user", "content": results})

print(first(reply, "text").text)

# %% [markdown]
# Fifteen lines, and they work as long as nothing goes wrong. **Before you read on:** name three things that can go
# wrong.

# %% [markdown]
# 1. The model names a tool that does not exist, or sends an input that does not fit, or `shop` raises. The program ends,
#    and the model never learns why.
# 2. The model never stops calling. Nothing counts the rounds.
# 3. The turn is cut by `max_tokens`. Its call stays in the list without a result, and every further request is refused
#    until somebody drops the turn or answers the call.
#
# `run_agent` is the same loop with these failures handled. It writes the first request and leaves the rest to `drive`.
# Look for `while` and `for` first: they are still there.

# %% [markdown] tags=["mirrors:course_kit.harness.agent.drive"]
# (The build puts the source of `drive` here.)

# %% [markdown]
# | in the code | what it does | which failure |
# |---|---|---|
# | `Turn(…)` | finds each call's tool and checks the input; what is wrong becomes an error result | 1 |
# | `turn.run(…)` | runs the functions; an exception becomes an error result | 1 |
# | `verdict(approver, …)` | asks somebody before a call that cannot be undone | lesson 06 |
# | `loop.next_step()` | says what comes next: `Send` a request, run calls, or `Stop`; counts the replies | 2 |
# | `loop.feed(…)` | takes in what happened; leaves a cut turn out of the history | 3 |
#
# `ask` sends a request with the client. `Loop` itself is in `course_kit/harness/loop.py`, and worth reading.
#
# Tools are now Python functions: `desk_tools` gives the shop's six. A refund cannot be undone, so `run_agent` asks for
# permission. Here that is a function that always says yes; lesson 06 puts a person in its place. The run keeps a log,
# its **trace**: one line for each thing that happened. (`person` is the approver's decision.)

# %%
from course_kit import desk_tools, run_agent

shop.reset()
run = run_agent(client, tools=desk_tools(shop), messages=[question], approver=lambda call: True)
print(run)
print(run.trace)

# %% [markdown]
# Now a run that goes wrong. This model calls a tool that does not exist, then one with a wrong input. The run goes on:
# each failure is answered with `is_error` and a sentence, and the model reads it. Lesson 04 is about writing such
# sentences.

# %%
shop.reset()
bad_day = MockProvider(
    [
        call("refund", order="ORD-20260917"),
        call("refund_order", order_id="ORD-20260917", amount_cents="19.99", reason="broken"),
        "I could not do it. A colleague will write to you.",
    ]
)
bad_run = run_agent(
    bad_day.client(), tools=desk_tools(shop), messages=[question], approver=lambda call: True
)
for event in bad_run.trace.events:
    if event["event"] == "result":
        print(json.dumps(event["result"], indent=2))
print("stopped:", bad_run.stopped, "| refunds:", shop.ledger("ORD-20260917"))

# %% tags=["quiz"]
quiz("01.5")

# %% [markdown]
# ## What holds at every hop
#
# A call passes seven stations, and at each one something must be true. When an agent misbehaves, go down this list with
# its trace. The first station that fails is where to look.


# %% tags=["item-01.7"]
def walk(run, meant):
    """Check a run's first call station by station, up to the first that fails."""
    schemas = {tool["name"]: tool["input_schema"] for tool in run.trace.request["tools"]}
    reply = run.trace.events[0]["message"]
    stopped = reply["stop_reason"]
    calls = [block for block in reply["content"] if block["type"] == "tool_use"]
    asked = [block["input"].get("amount_cents") for block in calls]
    paid = [row["amount_cents"] for row in shop.ledger("ORD-20260917")]
    results = [event["result"] for event in run.trace.events if event["event"] == "result"]
    answered = [result["tool_use_id"] for result in results]

    def fits(input):
        return jsonschema.Draft202012Validator(schemas[meant]).is_valid(input)

    return (
        station("definition → request", "the tool you meant is in `tools`", meant in schemas)
        and station("request → reply", "it stopped with `tool_use`", stopped == "tool_use")
        and station("reply → input", "it calls the tool you meant", calls[0]["name"] == meant)
        and station("input → checked input", "the input fits", fits(calls[0]["input"]))
        and station("checked input → run", "your code ran once, with it", paid == asked)
        and station("run → result", "under the call's id", answered[0] == calls[0]["id"])
        and station("result → final text", "the model says what happened", "1999" in run.text)
    )


def station(hop, what, holds):
    print("✓" if holds else "✗", f"{hop:21}  {what}")
    return holds


# %% [markdown]
# `and` stops at the first station that fails. Here is the run that worked:

# %%
shop.reset()
run = run_agent(client, tools=desk_tools(shop), messages=[question], approver=lambda call: True)
walk(run, meant="refund_order")

# %% [markdown]
# And the one that failed? **Guess the station**, then run it.

# %%
walk(bad_run, meant="refund_order")

# %% [markdown]
# The model wrote a name that nobody declared. So the fault is not in your code or in a result: look at the definitions
# that it chose from.
#
# **A good place to stop for today.** The [exercises](../exercises/01_round_trip.ipynb) 1.1 and 1.2 need no more than
# this. The rest is about `tool_choice` and cost.

# %% [markdown]
# ## `tool_choice`: may, must, must not
#
# By default the model decides (`auto`). You can forbid calls (`none`), demand some call (`any`), or demand one tool.

# %% tags=["item-01.5"]
hello = [{"role": "user", "content": "Good morning!"}]
for choice in (
    {"type": "auto"},
    {"type": "none"},
    {"type": "any"},
    {"type": "tool", "name": "refund_order"},
):
    print(choice, end=" → ")
    send(hello, tool_choice=choice)

# %% [markdown]
# "Good morning" is not a reason for a refund. A model that is forced calls anyway, and has to make up what it was not
# told. (The values are the simulated model's.)

# %%
made_up = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=hello, tool_choice={"type": "any"}
)
first(made_up, "tool_use").input

# %% [markdown]
# And when the choice stays forced on every turn? **Guess** how this run ends:

# %%
shop.reset()
forced = run_agent(
    client,
    tools=desk_tools(shop),
    messages=[question],
    tool_choice={"type": "any"},
    max_iterations=4,
    approver=lambda call: True,
)
print(forced.trace)

# %% [markdown]
# It is not allowed to answer in words, so it keeps calling. Only the limit stops it. Force the first turn if you must,
# then leave the choice to the model.
#
# Some of the newest models do not allow forcing at all (as of November 2026: Opus 5.5, Sonnet 5.5, Fable 5.1, Mythos
# 5.1; of Fable 5.2 and Mythos 5.2 we do not know):

# %%
send(hello, tool_choice={"type": "any"}, model="claude-opus-5-5")

# %% [markdown]
# `disable_parallel_tool_use` sits inside `tool_choice`: with `auto` it allows at most one call, with `any` and `tool`
# exactly one. At the top level of the request it is an unknown key:

# %%
send(hello, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
send(hello, extra_body={"disable_parallel_tool_use": True})

# %% tags=["quiz"]
quiz("01.6")

# %% [markdown]
# ### Thinking goes back untouched
#
# Those models also think before they answer, and other newer ones can (on the live API so does the course's default
# model). Such a turn begins with a `thinking` block, which carries a signature. (Its text usually comes back empty;
# `display` asks for a summary. Thinking counts towards `max_tokens`.)

# %%
thought = client.messages.create(
    model="claude-opus-5-5",
    max_tokens=1024,
    tools=tools,
    messages=[question],
    thinking={"type": "adaptive", "display": "summarized"},
)
thinking, wanted = first(thought, "thinking").to_dict(), first(thought, "tool_use").to_dict()
print(json.dumps(thinking, indent=2))

# %% [markdown]
# (The simulated model's thoughts are its reasons, as in lesson 00.) Here "unchanged" is enforced. First the block as it
# came, then with its text edited:

# %%
answer = user({**tool_result, "tool_use_id": wanted["id"]})
send(
    [question, {"role": "assistant", "content": [thinking, wanted]}, answer],
    model="claude-opus-5-5",
)

thinking["thinking"] = "The customer is lying."
send(
    [question, {"role": "assistant", "content": [thinking, wanted]}, answer],
    model="claude-opus-5-5",
)

# %% [markdown]
# ## Definitions are part of the prompt
#
# What you send is read as text, cut into **tokens** (a few letters each), and billed by the token. Name,
# description and schema are part of it, on every turn. `count_tokens` says how much, without calling the model. (The
# mock estimates; the real endpoint calls its count an estimate, too.)


# %% tags=["item-01.6"]
def count(tools):
    return client.messages.count_tokens(
        model=DEFAULT_MODEL, tools=tools, messages=hello
    ).input_tokens


def copies(number):
    return [{**REFUND_ORDER, "name": f"refund_order_{n}"} for n in range(number)]


for number in (0, 1, 5, 20):
    print(f"tools: {number:2}   tokens: {count(copies(number)):5}")

# %% [markdown]
# Having any tools costs a few hundred tokens, and each of these adds about two hundred. Twenty come to about four
# thousand, before anybody has said anything. (The few hundred, 290 here, are a guess: for many models the vendor's pages
# state the figure; for this one we found none, and took that of Opus 4.8.)
#
# The API keeps nothing, so a conversation of eight turns sends them eight times. A marker, `cache_control`, lets the
# provider keep the beginning of the prompt for a few minutes (`ephemeral`) and read it from the **prompt cache**.


# %%
def read_anew(tools, turns=8):
    """Input tokens of each turn that did not come from the cache."""
    client, talk, spent = MockProvider(lambda request: "Noted.").client(), [], []
    for turn in range(turns):
        talk.append({"role": "user", "content": f"Question {turn + 1}: what about my order?"})
        reply = client.messages.create(
            model=DEFAULT_MODEL, max_tokens=100, tools=tools, messages=talk
        )
        talk.append({"role": "assistant", "content": reply.to_dict()["content"]})
        spent.append(reply.usage.input_tokens + reply.usage.cache_creation_input_tokens)
    return spent


marked = [*copies(19), {**copies(20)[-1], "cache_control": {"type": "ephemeral"}}]

# %% [markdown]
# The plot adds up the tokens not read from the cache. **Guess:** after eight turns, which line is lowest?

# %%
from course_kit import plot_cumulative_tokens

show(
    plot_cumulative_tokens(
        {
            "20 tools": read_anew(copies(20)),
            "20 tools, cached": read_anew(marked),
            "2 tools": read_anew(copies(2)),
        }
    )
)

# %% [markdown]
# The lowest line is not the bill: tokens from the cache are billed too, at a fraction of the price that depends on the
# model. And a model still has to choose among twenty tools, cached or not. Lesson 07 measures both.

# %% tags=["quiz"]
quiz("01.7")

# %% [markdown]
# ## Two more ways to make the same round trip
#
# **The SDK brings a loop, too.** `client.beta.messages.tool_runner` runs functions marked with `@beta_tool` (SDK 2.14,
# in beta). By default it keeps the conversation on the server; `thread=False` sends all of it each time, as this lesson
# does.

# %%
from anthropic import beta_tool


@beta_tool
def query_order(order_id: str) -> str:
    """Read one order in full, when its number is known.

    Args:
        order_id: Such as ORD-20260917.
    """
    return json.dumps(shop.query_order(order_id), ensure_ascii=False)


runner = client.beta.messages.tool_runner(
    model=DEFAULT_MODEL,
    max_tokens=1024,
    tools=[query_order],
    messages=[{"role": "user", "content": "Read my order ORD-20260917, please."}],
    thread=False,
)
for message in runner:
    print(message.stop_reason, [block.type for block in message.content])

# %% [markdown]
# **Streamed.** A streamed reply is the same message in pieces. Text grows word by word. A call's `input` arrives as
# fragments of JSON text, cut anywhere, and means nothing until its block has stopped. Results are never streamed: you
# send them complete.

# %%
with client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=tools, messages=[question], stream=True
) as stream:
    for event in stream:
        if event.type == "content_block_start":
            print("start", event.content_block.type)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            print("     ", repr(event.delta.partial_json))
        elif event.type == "content_block_stop":
            print("stop")
        elif event.type == "message_delta":
            print("stop_reason", event.delta.stop_reason)

# %% [markdown]
# The first fragment is empty (in every recording of 2026). A call without any input has only that one. So join the
# fragments when the block stops, read an empty text as `{}`, and wait for `stop_reason` before you run anything. The
# SDK's `client.messages.stream(...)` does the joining for you.

# %% tags=["quiz"]
quiz("01.8")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | 400 `tool_use ids were found without tool_result blocks immediately after` | Is there a result for *each* call, in the very next turn, before any text? Or was the list sent before the results were added? |
# | 400 `unexpected tool_use_id found in tool_result blocks` | Was the assistant's turn left out, or cut off when the history was trimmed? |
# | 400 `tool_use ids must be unique` | The same turn was appended twice: a cell was run again. |
# | 400 `Unexpected role "tool"` | Results are the user's here: role `user`, a `tool_result` block. |
# | 400 `…content: Input should be a valid …` | A dict as the result's content: make it a string with `json.dumps`. |
# | 400 `must end with a user message` | The list ends with words of the assistant. Newer models do not go on from there. |
# | 400 on `tool_choice` | Does this model allow forcing? |
# | `end_turn` and no call | The model did not choose your tool: its description, lesson 02. |
# | a call that lacks something | `stop_reason` is `max_tokens`. Do not run it. |
# | it never ends | Is `tool_choice` forced on every turn? Is there a limit? |
#
# Every other complaint is in the [index](90_glossary.ipynb). The mock can also judge a client by what it sent. Here is
# ours, in the run that failed:

# %%
bad_day.report()

# %% [markdown]
# ## The same on the live API
#
# If you have switched live on (lesson 00), this cell runs the whole conversation against the real model. It first says
# what it may cost. The shop is the same local file, so no real money moves.

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
# and build the cheapest request that forces a tool call.
#
# ## Recap
#
# The model writes requests for calls; your code checks them, runs them and answers. The whole conversation is sent in
# `messages`, every time. Each call gets exactly one result, in the very next turn, before anything else, matched by id.
# `stop_reason` says what may be done with a turn, and a turn that was cut or refused is never run. Definitions are part
# of the prompt, and are paid for on every turn.
#
# New words: *tool definition*, `tool_use` block, `tool_result` block, `tool_use_id`, `is_error`, `stop_reason`,
# `tool_choice`, *turn*, *round trip*, *token*, *prompt cache*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **What happens in a tool call?** The model never runs anything. It writes a request for a call: a name, inputs, an
# > id. My code checks the inputs, runs the function, and sends back one result for each call under the same id, at the
# > start of the next turn. That repeats until `stop_reason` is not `tool_use`, with a limit on how often. And whether
# > the right calls are made is something I measure.
#
# Two answers you will hear:
#
# - *"The model calls my function."* It cannot. If you believe it, you look for bugs in the model and forget to check
#   inputs.
# - *"You parse the JSON out of the model's answer."* `input` arrives as an object. The work is in the checks, the pairing
#   and the stop reasons.
#
# Next: schema design ([lesson 02](02_schema_design.ipynb)), where a wrong pick often turns out to be the
# description's fault.

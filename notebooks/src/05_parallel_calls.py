# %% [markdown]
# # 05 · Parallel calls and id pairing
#
# You will give Hangzhou the weather of Shanghai, without a single error message, and then make sure that it never happens
# again.
#
# After this lesson you can
#
# - **pair** results with calls so that no order of finishing can mix them up,
# - **run** the calls of a turn at the same time, with a limit, and say what that gains,
# - **keep** the good results of a turn when one call fails,
# - **decide** which calls may run together, and make safe those that may not,
# - **tell** what changes when the provider changes.
#
# About 75 minutes, with a good place to stop in the middle. The exercises come on top. Lessons 01 and 04 come before.

# %% tags=["setup"]
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import anthropic

from course_kit import DEFAULT_MODEL, MockProvider, Simulated, ToolError, call, open_shop, quiz, run_agent, show, tool

shop = open_shop()
client = MockProvider(Simulated()).client()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("05.recall")

# %% [markdown]
# ## One reply, several calls
#
# A user asks for the weather in two cities. There is one tool, for one city.

# %%
GET_WEATHER = {
    "name": "get_weather",
    "description": "Tell the weather in a city at this hour. Returns temperature and sky.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "One city, such as Oslo."}},
        "required": ["city"],
    },
}
question = {"role": "user", "content": "What is the weather in Hangzhou, and in Shanghai?"}

# %% [markdown]
# **Guess:** how many calls will stand in the first reply?

# %%
reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=500, tools=[GET_WEATHER], messages=[question])
calls = [block for block in reply.content if block.type == "tool_use"]
for block in calls:
    print(block.name, block.input, block.id)

# %% [markdown]
# Two. The same tool, two inputs, two ids. These are called *parallel calls*: calls that stand in one reply. The word says
# nothing about how they are run. That is your decision, and most of this lesson.
#
# `answer` sends the conversation with the results you give it, and prints what the API says.


# %%
def result(block, content):
    return {"type": "tool_result", "tool_use_id": block.id, "content": content}


def answer(*results):
    messages = [question, reply.to_param(), {"role": "user", "content": list(results)}]
    try:
        said = client.messages.create(model=DEFAULT_MODEL, max_tokens=500, tools=[GET_WEATHER], messages=messages)
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])
    else:
        print(said.content[-1].text)


# %% [markdown]
# You have an answer for Hangzhou and none yet for Shanghai. **Guess:** may you send the first and bring the second later?

# %% tags=["item-05.1"]
hangzhou, shanghai = calls
answer(result(hangzhou, "27 °C, sunny"))
answer(result(hangzhou, "27 °C, sunny"), result(shanghai, "25 °C, cloudy"))

# %% [markdown]
# Not one at a time: *all* results of a turn go into *one* user turn, ahead of any text. (The simulated model has no style
# and quotes the results.) So somebody has to wait until every call is done. Here is how that goes wrong.

# %% [markdown]
# ## Hangzhou gets Shanghai's weather
#
# Behind the tool stands a weather service. Today it is slow for Hangzhou.

# %%
WEATHER = {"Hangzhou": "27 °C, sunny", "Shanghai": "25 °C, cloudy"}


def look_up(city):
    """Ask the weather service."""
    if city == "Hangzhou":
        time.sleep(0.3)
    return WEATHER[city]


# %% [markdown]
# Two calls, so two threads: `pool.submit` starts a function in a thread of its own, and `as_completed` hands out each one
# as soon as it is done. Then `zip` puts calls and outputs together (`strict`: as many of one as of the other). It looks
# tidy. **Read it closely. What will the model be told about Hangzhou?**

# %% tags=["item-05.2"]
with ThreadPoolExecutor() as pool:
    running = [pool.submit(look_up, block.input["city"]) for block in calls]
    outputs = [each.result() for each in as_completed(running)]

swapped = [result(block, output) for block, output in zip(calls, outputs, strict=True)]
answer(*swapped)

# %% [markdown]
# The API takes it, and the model answers. Nothing failed. Now look at it as the model does, each call with the result
# under its id:


# %%
def as_read(results):
    by_id = {each["tool_use_id"]: each["content"] for each in results}
    for block in calls:
        print(f"{block.input['city']:9} → {by_id[block.id]:14}   true: {WEATHER[block.input['city']]}")


as_read(swapped)

# %% [markdown]
# Hangzhou has Shanghai's weather. `outputs` is in the order of *finishing*, `calls` in the order of *asking*, and `zip` pairs
# by place. No exception, no 400: every id is valid. It passes every test on your machine, where nobody is slow. Neither the
# model nor the user can notice.

# %% [markdown]
# ### The cure: never let go of the call
#
# Keep the call beside what you started for it, here in a dict: what `submit` gave back → the call. The results still come in
# the order of finishing, but each carries the id of *its* call:

# %%
with ThreadPoolExecutor() as pool:
    running = {pool.submit(look_up, block.input["city"]): block for block in calls}
    paired = [result(running[each], each.result()) for each in as_completed(running)]

print("first in the list:", "Hangzhou" if paired[0]["tool_use_id"] == hangzhou.id else "Shanghai")
as_read(paired)

# %% [markdown]
# Shanghai stands first, and both are right: for the API the ids pair, the order is free. Even so, put results into the order
# of the calls. Then the same conversation is the same list in every run, whoever was faster. You can compare traces, and
# one provider shape pairs by order where it has no ids (last section).
#
# `pool.map` does both at once: it runs the calls together and hands out the results in call order.


# %%
def made(block):
    return result(block, look_up(block.input["city"]))


with ThreadPoolExecutor() as pool:
    in_order = list(pool.map(made, calls))

print("first in the list:", "Hangzhou" if in_order[0]["tool_use_id"] == hangzhou.id else "Shanghai")
as_read(in_order)

# %% [markdown]
# See what `made` does: it takes a call and gives back a *finished result*, id included. There is no moment at which an
# output lies about without its id. That is the habit to keep.
#
# A second net: let the result say what it is about. The kit's own weather tool does. Had these been swapped, the mistake
# would be there to read.

# %%
from course_kit import get_weather

print(json.dumps(get_weather("Hangzhou"), ensure_ascii=False))

# %% tags=["quiz"]
quiz("05.1")

# %% tags=["quiz"]
quiz("05.2")

# %% [markdown]
# ## At the same time, with a limit
#
# Ten cities, and every look-up takes 0.15 seconds. How much is gained by running them together? `run_agent` takes
# `max_parallel`: how many calls of one turn may run at a time. The tool has to say that it only reads; why, comes below.

# %%
CITIES = ["Oslo", "Lima", "Hangzhou", "Shanghai", "Beijing", "Paris", "London", "Nairobi", "Toronto", "Sydney"]
ten_calls = [call("weather", city=city) for city in CITIES]


@tool(effect="read")
def weather(city: str) -> dict:
    """Tell the weather in a city."""
    time.sleep(0.15)
    return get_weather(city)


# %% [markdown]
# A `Recorder` listens to what `run_agent` reports (`on_event`) and notes when each call began and ended. The model is a
# script: it asks for all ten in one reply, then says a word.
#
# **Guess:** the first run takes about one and a half seconds. How long will the other two take, with limits of 2 and 5?

# %%
from course_kit.classroom.plots import plot_timeline
from course_kit.classroom.timeline import Recorder


def run_ten(limit):
    recorder = Recorder()
    script = MockProvider([ten_calls, "Ten cities."]).client()
    run_agent(script, tools=[weather], messages="Ten cities, please.", max_parallel=limit, on_event=recorder)
    return recorder


recorders = {f"limit {limit}": run_ten(limit) for limit in (1, 2, 5)}
show(plot_timeline(recorders))

# %% [markdown]
# Calls run in *rounds*. With N calls and a limit there are N / limit rounds, rounded up: `ceil(N / limit)`. **Guess:** what
# does a limit of 7 gain over a limit of 5?

# %% tags=["item-05.3"]
import math

for limit in (1, 2, 5, 7):
    recorder = recorders.get(f"limit {limit}") or run_ten(limit)
    assert recorder.rounds == math.ceil(10 / limit)
    print(f"limit {limit}: {recorder.rounds:2} rounds, {10 / recorder.rounds:g} times faster at best")

# %% [markdown]
# Nothing: ten calls take two rounds either way. So speed-up is a staircase, and a larger limit often buys only load on
# the service behind. "At best", because every round is as long as its slowest call.
#
# How near does the kit come? Measured with twenty reads on our machine (30 November 2026, `tests/benchmarks`):

# %%
from course_kit.classroom.plots import plot_speed_up

MEASURED = {2: 2.0, 5: 4.67, 20: 19.88}
show(plot_speed_up(20, MEASURED))

# %% [markdown]
# These are reads that *wait*, as for a service. Reads that compute share your processor, and gain far less from threads.
#
# ### Twenty at once
#
# Why not a limit of twenty, then? Because behind the tool stands somebody. This carrier answers five requests at a time
# and turns the sixth away. (A `Semaphore` is a counter of free places: `acquire` takes one, `release` gives it back.)


# %%
class Carrier:
    """Answers five at a time; whoever comes on top is refused."""

    def __init__(self):
        self.places = threading.Semaphore(5)

    def track(self, parcel: str) -> str:
        if not self.places.acquire(blocking=False):
            raise ToolError("RATE_LIMITED", "the carrier takes five requests at a time", retryable=True)
        try:
            time.sleep(0.25)
            return f"{parcel} is on its way"
        finally:
            self.places.release()


# %% [markdown]
# A customer with twenty parcels. **Guess** the number of refusals, for a limit of twenty and for a limit of five:

# %%
carrier = Carrier()
twenty_calls = [call("track", parcel=f"TRK-{number:08}") for number in range(20)]
track = tool(carrier.track, effect="read", description="Say where a parcel is.")

for limit in (20, 5):
    script = MockProvider([twenty_calls, "Tracked."]).client()
    run = run_agent(script, tools=[track], messages="Where are my parcels?", max_parallel=limit)
    refused = sum(block.get("is_error", False) for block in run.messages[2]["content"])
    print(f"limit {limit:2}: {20 - refused} answered, {refused} refused")

# %% [markdown]
# Fifteen refusals, and a model that may now repeat fifteen calls.
#
# One thing a limit per turn cannot see: *two* conversations with a limit of five are ten at the carrier's door. A quota
# belongs to the service, so the guard belongs there too, once for the whole program: exercise 5.3.
#
# ### In a program that awaits
#
# The same agent on `asyncio`: coroutine tools run in your event loop, plain functions in threads. (A notebook's cell may use
# `await` directly.)

# %%
import asyncio

from course_kit import run_agent_async


@tool(effect="read", name="weather")
async def weather_later(city: str) -> dict:
    """Tell the weather in a city."""
    await asyncio.sleep(0.15)
    return get_weather(city)


recorder = Recorder()
script = MockProvider([ten_calls, "Ten cities."]).async_client()
await run_agent_async(script, tools=[weather_later], messages="Ten cities, please.", on_event=recorder)
print(f"{len(recorder.bars)} calls, at most {recorder.most} at once, {recorder.rounds} rounds")

# %% [markdown]
# Five at once is what both take when you say nothing. (The SDK's own `tool_runner`, as of 2.14, makes the calls of a turn
# one after another, in both its forms.)

# %% tags=["quiz"]
quiz("05.3")

# %% [markdown]
# ## One failure loses nothing
#
# Three look-ups together; the city of the second does not exist. `asyncio.gather` is what most Python code uses for this.
# **Guess:** how many of the two good results do you have afterwards? And did the slow one run to its end?

# %%
finished = []


async def look(city):
    await asyncio.sleep({"Oslo": 0, "Atlantis": 0.1, "Lima": 0.3}[city])
    if city == "Atlantis":
        raise LookupError("Atlantis is not on any map")
    finished.append(city)
    return get_weather(city)


outputs = []
try:
    outputs = await asyncio.gather(look("Oslo"), look("Atlantis"), look("Lima"))
except LookupError as error:
    print("raised:", error)
await asyncio.sleep(0.5)
print("results:", outputs, "| ran to the end:", finished)

# %% [markdown]
# Everything is lost: Oslo's weather, which was there, and Lima's, which came later and found nobody waiting. The work was
# done. Had these been refunds, money would have moved without a word to the model. And three calls stand without a result.
#
# The cure: *settle all, then report all*. A failure is one more thing that can come out of a call, so catch it inside, and
# make a result of it.


# %%
async def settled(city):
    try:
        return {"content": json.dumps(await look(city))}
    except Exception as error:
        return {"content": f"{type(error).__name__}: {error}", "is_error": True}


for each in await asyncio.gather(settled("Oslo"), settled("Atlantis"), settled("Lima")):
    print(each)

# %% [markdown]
# Three calls, three results; only the second is an error, and the model can see which ones succeeded.
# (`gather(..., return_exceptions=True)` settles too, and leaves the sorting to you. A `TaskGroup` is no cure: it *cancels*
# the others.)
#
# `run_agent` does this for every call, in threads as well as awaited:

# %% tags=["item-05.4"]
three = [call("weather", city=city) for city in ("Oslo", "Atlantis", "Lima")]
script = MockProvider([three, "Two of three."]).client()
run = run_agent(script, tools=[weather], messages="Three cities, please.")
for block in run.messages[2]["content"]:
    print("error " if block.get("is_error") else "result", block["content"][:70])

# %% [markdown]
# A tool that never answers is a failure as well. `@tool(timeout=5)` gives up waiting after five seconds and says so; the
# other calls go on. (A write that timed out may still take effect later. Its result says that, too.)

# %% tags=["quiz"]
quiz("05.4")

# %% [markdown]
# **A good place to stop for today.** [Exercise 5.1](../exercises/05_parallel_calls.ipynb) needs no more than this.

# %% [markdown]
# ## When is it safe?
#
# So far every call only read. Now a model makes two edits in one turn: line 50 becomes FIFTY, line 75 becomes
# SEVENTY-FIVE. The tool does what an editor does: read the file, change it, write it back.

# %%
import tempfile
from pathlib import Path

file = Path(tempfile.mkdtemp()) / "numbers.txt"
edits = [call("edit_file", old="50", new="FIFTY"), call("edit_file", old="75", new="SEVENTY-FIVE")]


def edit_file(old: str, new: str) -> str:
    """Replace one line of the file."""
    text = file.read_text(encoding="utf-8")
    time.sleep(0.3)  # the editor thinks
    file.write_text(text.replace(f"\n{old}\n", f"\n{new}\n"), encoding="utf-8")
    return f"replaced {old}"


# %% [markdown]
# Somebody wanted speed and marked the tool as a read. Below it is run once so, and once with the mark it deserves.
# **Guess:** what does the tool report each time, and what is in the file?


# %%
def edit_with(effect):
    file.write_text("".join(f"{number}\n" for number in range(1, 101)), encoding="utf-8")
    script = MockProvider([edits, "Both done."]).client()
    run = run_agent(script, tools=[tool(edit_file, effect=effect)], messages="Spell them out.")
    said = [block["content"] for block in run.messages[2]["content"]]
    text = file.read_text(encoding="utf-8")
    print(f"marked as a {effect:5} {said}, in the file: {('FIFTY' in text) + ('SEVENTY-FIVE' in text)} of 2")


edit_with("read")
edit_with("write")

# %% [markdown]
# Both report success, and one edit is gone: a *lost update*. Both had read the old file, and the second to write put back
# what it knew.
#
# The kit's rule is simple on purpose: **calls run together only if every call of the turn is a read. A turn with a write in it
# runs in call order, one after another.** A tool is a write until it says otherwise. (`r` is a read, `w` a write; one column
# is one round.)

# %% tags=["item-05.5"]
from course_kit.classroom.timeline import timeline

board = timeline()
for turn in ("rrrr", "rrwr"):
    print(board.play(turn, limit=5), "\n")

# %% [markdown]
# Could the two reads ahead of the write not run together? They could. The write is then a *barrier*, with a batch of reads on
# either side: exercise 5.2.
#
# ### Play with it
#
# Letters: `r` read, `s` slow read, `f` a read that fails, `w` write. Two questions to try: what does one `s` cost a turn of
# six, with limit 2 and with limit 5? Where must a `w` stand to do the least harm?

# %%
board

# %% [markdown]
# ### Check, then act
#
# The same in the database, with money. This tool asks how much is left to refund, lets the payment provider work, and
# writes into the ledger. The order was paid with 1999 cents.


# %%
def pay_back(order_id: str, amount_cents: int) -> str:
    """Pay money back for an order."""
    left = shop.query_order(order_id)["refundable_cents"]
    if amount_cents > left:
        raise ToolError("OVER_REFUND", f"{left} cents are left to refund", hint="do not try again: tell the user")
    time.sleep(0.5)  # the payment provider works
    entry = (order_id, amount_cents, "damaged", "2026-09-20")
    with shop.connection() as db:
        db.execute("INSERT INTO refunds (order_id, amount_cents, reason, created_at) VALUES (?, ?, ?, ?)", entry)
    return f"paid {amount_cents} cents"


# %% [markdown]
# A confused model asks for the same refund twice in one turn. **Guess** what is paid, marked as a read, and as a write. (A tool
# that pays should ask a person first: lesson 06.)

# %%
refund = call("pay_back", order_id="ORD-20260917", amount_cents=1999)


def paid():
    return sum(row["amount_cents"] for row in shop.ledger("ORD-20260917"))


for effect in ("read", "write"):
    shop.reset()
    script = MockProvider([[refund, refund], "Refunded."]).client()
    run = run_agent(script, tools=[tool(pay_back, effect=effect)], messages="Refund my cup.")
    print(
        f"marked as a {effect:5} paid {paid()} cents:", [b["content"].split(":")[0] for b in run.messages[2]["content"]]
    )

# %% [markdown]
# Run together, both checks passed before either had paid: a *double refund*. In order, the second one met the truth.
#
# Is call order enough? **Guess:** two customers' windows, two runs at the same time, each with *one* refund of this order,
# and the tool correctly marked as a write.


# %%
def at_two_desks(refunding):
    """Two runs at the same time, one refund in each; what is paid in all?"""
    shop.reset()
    wish = call(refunding.name, order_id="ORD-20260917", amount_cents=1999)
    desks = [MockProvider([wish, "Done."]).client() for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(run_agent, desk, tools=[refunding], messages="Refund my cup.") for desk in desks]
    return paid(), [run.result().messages[2]["content"][0]["content"][:60] for run in runs]


print(at_two_desks(tool(pay_back))[0], "cents")

# %% [markdown]
# Paid twice again. Each run kept its own order; nothing ordered the two runs. What is shared has to be guarded where it
# lives. Two cures:
#
# **A lock.** The shop's own `refund_order` takes the database's write lock *before* it checks (`BEGIN IMMEDIATE`), so check
# and payment are one step for everybody. The second is refused.


# %%
@tool
def with_lock(order_id: str, amount_cents: int) -> dict:
    """Pay money back for an order."""
    return shop.refund_order(order_id, amount_cents, "damaged")


cents, said = at_two_desks(with_lock)
print(cents, "cents; refusals:", sum("OVER_REFUND" in each for each in said))

# %% [markdown]
# **A key.** If both mean the *same* refund, give both the same idempotency key. The shop pays once, and hands the second the
# first receipt: no refusal, nothing to explain. (Lesson 09 is about keys.)


# %%
@tool
def with_key(order_id: str, amount_cents: int) -> dict:
    """Pay money back for an order."""
    return shop.refund_order(order_id, amount_cents, "damaged", idempotency_key=f"ticket-118/{order_id}/{amount_cents}")


cents, said = at_two_desks(with_key)
print(cents, "cents; refusals:", sum("OVER_REFUND" in each for each in said), "| equal receipts:", said[0] == said[1])

# %% [markdown]
# A plain counter can lose updates too, in any database. Two sales of one cup at the same time; 42 are in stock. **Guess** the
# stock after each way:


# %%
def sell(way):
    with shop.connection() as db:
        if way == "read, then write":
            [(stock,)] = db.execute("SELECT stock FROM products WHERE product_id = 'PRD-101'").fetchall()
            time.sleep(0.3)
            db.execute("UPDATE products SET stock = ? WHERE product_id = 'PRD-101'", (stock - 1,))
        else:
            db.execute("UPDATE products SET stock = stock - 1 WHERE product_id = 'PRD-101'")


for way in ("read, then write", "in one statement"):
    shop.reset()
    with ThreadPoolExecutor() as pool:
        list(pool.map(sell, [way, way]))
    print(f"{way}: {shop.search_products('stoneware cup blue')['products'][0]['stock']} left")

# %% [markdown]
# ### The questions to ask
#
# | two calls of one turn | together? | why |
# |---|---|---|
# | read order A, read order B | yes | nothing changes, neither needs the other |
# | twenty reads of one carrier | with a limit | its quota is shared |
# | two edits of one file | no | a lost update |
# | an edit, and a run of the tests | no | which version was tested? |
# | a refund, and reading that order | no | is the number before or after? |
# | two reads that steer one browser tab | no | a read that moves something is a write |
# | find a parcel, hold that parcel | not in one turn at all | the second needs the first one's answer |
#
# In short: **read-only, independent, no shared resource, and quota for it.** If one of the four is missing: in order, or in
# batches. `effect="read"` is your promise for all four; nobody checks it.

# %% tags=["quiz"]
quiz("05.5")

# %% [markdown]
# ## When the second call needs the first one's answer
#
# "Find the parcel of Nora Lindgren and tell the carrier to hold it." Two tools; the number that the second one needs is known
# to nobody yet. The schemas are in order, and a description says what each tool does.


# %%
def definition(name, description, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


def parcel_tools(first=""):
    customer = {"type": "string", "description": "The customer's name, such as Ben Carter."}
    number = {"type": "string", "pattern": "^TRK-[0-9]{8}$", "description": "TRK- and eight digits."}
    until = {"type": "string", "format": "date", "description": "The last day, such as 2026-09-30."}
    return [
        definition("find_parcel", "Find the parcel of a customer. Returns its tracking_id.", customer=customer),
        definition(
            "hold_parcel", f"Tell the carrier to hold a parcel until a day.{first}", tracking_id=number, until=until
        ),
    ]


# %% [markdown]
# **Guess:** what does the (simulated) model put into `tracking_id`?

# %%
HOLD = "Find the parcel of Nora Lindgren and tell the carrier to hold it until 2026-09-25."
asked = [{"role": "user", "content": HOLD}]
said = client.messages.create(model=DEFAULT_MODEL, max_tokens=500, tools=parcel_tools(), messages=asked)
for block in said.content:
    print(block.name, block.input)

# %% [markdown]
# A number out of thin air. It has the right form, so every check passes it: somebody's parcel will be held. Running the two
# calls in order does not help, for the input was written before the first call ran.
#
# Two cures. Allow one call a turn, with a switch inside `tool_choice`. Or say in the description what must come first. Let us
# count, over twenty seeds, how often the number is invented:


# %% tags=["item-05.6"]
def invented(tools, request=HOLD, seeds=20, **options):
    """How many of the first replies call hold_parcel, whose number nobody can know yet."""
    asked, count = [{"role": "user", "content": request}], 0
    for seed in range(seeds):
        model = MockProvider(Simulated(seed=seed)).client()
        said = model.messages.create(model=DEFAULT_MODEL, max_tokens=500, tools=tools, messages=asked, **options)
        count += any(block.type == "tool_use" and block.name == "hold_parcel" for block in said.content)
    return f"{count} of {seeds} (simulated)"


one_call = {"type": "auto", "disable_parallel_tool_use": True}
by_name = parcel_tools(" Call find_parcel first: it returns the tracking_id.")
print("as it is                  ", invented(parcel_tools()))
print("one call a turn           ", invented(parcel_tools(), tool_choice=one_call))
print("what comes first, by name ", invented(by_name))
print("what comes first, vaguely ", invented(parcel_tools(" Look the number up first.")))

# %% [markdown]
# Both cures hold here. The vague sentence changes nothing: the rules of the simulated model wait only if the definition
# *names* the tool that comes first. A real model may understand the vague one too; naming the tool costs nothing.
#
# Neither is a guarantee. The same wish in other words, with both cures at once. **Guess:**

# %%
HOLIDAY = "Nora Lindgren is on holiday. Find her parcel and have the carrier hold it until 2026-09-25."
print("both cures, other words   ", invented(by_name, HOLIDAY, tool_choice=one_call))

# %% [markdown]
# In these words the rules see no search at all, so `hold_parcel` comes alone, with a number made up. The last line of
# defence is the tool: let `hold_parcel` take the customer, too, and refuse a parcel that is not hers.
#
# The switch is the blunter one. It stops *all* parallel calls, also the harmless ones. What does that cost? Five cities, with
# parallel calls and without:

# %%
five = "What is the weather in Hangzhou, Shanghai, Lima, Oslo and Paris?"
for label, choice in (("parallel", {"type": "auto"}), ("one a turn", one_call)):
    run = run_agent(client, tools=[get_weather], messages=five, tool_choice=choice)
    print(f"{label:10}", run.trace.summary())

# %% [markdown]
# Six requests in place of two, and three times the input tokens, since each request carries the whole conversation. (Simulated;
# the mock estimates tokens.) So: the description first, the switch where order matters more than cost. (The flag goes inside
# `tool_choice`, lesson 01; changing it between turns loses the prompt cache of the messages.)

# %% tags=["quiz"]
quiz("05.6")

# %% [markdown]
# ## Streaming: by index, and not before the end
#
# In a stream each event of a block carries the block's `index`, its place in `content`. With several calls that is what keeps
# their fragments apart. Collect by index, join when the block has stopped:

# %%
two_calls = [call("get_weather", city="Hangzhou"), call("get_weather", city="Shanghai")]
request = {"model": DEFAULT_MODEL, "max_tokens": 500, "tools": [GET_WEATHER], "messages": [question]}
fragments = {}
with MockProvider([two_calls]).client().messages.create(**request, stream=True) as stream:
    for event in stream:
        if event.type == "content_block_delta":
            fragments.setdefault(event.index, []).append(event.delta.partial_json)
        elif event.type == "content_block_stop":
            print("block", event.index, fragments[event.index], "→", json.loads("".join(fragments[event.index])))
        elif event.type == "message_delta":
            print("stop_reason", event.delta.stop_reason)

# %% [markdown]
# The first call is whole long before the turn ends. Why not start it at once? **Guess** what is wrong with this reply:

# %% tags=["item-05.7"]
from course_kit.mock import faults

cut = MockProvider([two_calls], faults={1: faults.max_tokens(0.9)}).client().messages.create(**request)
print(cut.stop_reason, [block.input for block in cut.content])

# %% [markdown]
# The turn was cut. Its first call is perfect; still nothing of this turn is run (lesson 01). You ask again, the call comes
# again, and a refund would be paid twice. **Nothing runs before the turn is complete.** Before that, nobody knows either
# whether a write follows.
#
# (The SDK's runner can start each call as its block ends, with `run_tools_eagerly`; `defer_tool_call()` holds one back. A gain
# for reads.)

# %% tags=["quiz"]
quiz("05.7")

# %% [markdown]
# ## Across providers
#
# The same turn, two calls and two results, the second one failed, in three other shapes. The kit converts conversations
# (lesson 11). Here look only at *how many messages answer*, and *what pairs them*.

# %%
from course_kit.contract.shapes import request_to

wishes = [{"type": "tool_use", "id": f"toolu_{n}", **wish} for n, wish in enumerate(two_calls, 1)]
answers = [
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "27 °C, sunny"},
    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no answer", "is_error": True},
]
turns = [question, {"role": "assistant", "content": wishes}, {"role": "user", "content": answers}]
body = {**request, "messages": turns}

for message in request_to("openai_chat", body).value["messages"][2:]:
    print(json.dumps(message, ensure_ascii=False))

# %% [markdown]
# OpenAI's Chat Completions: one message with the role `tool` for *each* call, paired by `tool_call_id`. There is no error flag,
# so the text has to say it (`is_error: true` in front is the kit's way). The Responses API and Gemini:

# %% tags=["item-05.8"]
for item in request_to("openai_responses", body).value["input"][3:]:
    print(json.dumps(item, ensure_ascii=False))
for part in request_to("gemini", body).value["contents"][2]["parts"]:
    print(json.dumps(part, ensure_ascii=False))

# %% [markdown]
# | | results | paired by | switch for one call a turn |
# |---|---|---|---|
# | Messages (Anthropic) | all in *one* user turn | `tool_use_id` | `tool_choice.disable_parallel_tool_use` |
# | Chat Completions (OpenAI) | one `tool` message each | `tool_call_id` | `parallel_tool_calls: false` |
# | Responses (OpenAI) | one item each | `call_id`, not the item's `id` | `parallel_tool_calls: false` |
# | Gemini | parts of one turn | `id` if there is one, else name and order | none |
#
# (OpenAI's rows are read in its SDK 3.57; Gemini's are from recorded traffic. November 2026.)
#
# "Name and order": there the two-cities bug needs no `zip`. It is enough to send results as they finish.

# %% [markdown]
# ### What splitting the turn costs
#
# Code that comes from Chat Completions sends one *user* message for each result. **Guess:** 400, or accepted?

# %%
split = MockProvider(Simulated())
one_each = [{"role": "user", "content": [each]} for each in (answers[0], {**answers[1], "is_error": False})]
said = split.client().messages.create(**{**request, "messages": [*turns[:2], *one_each]})
print(said.stop_reason)
split.report()

# %% [markdown]
# The mock takes it and complains in its report. What the real API does is not certain. By the documentation, user turns in a
# row are combined, and splitting is wrong for another reason: it teaches the model to stop calling in parallel. You have
# just measured what *that* costs. Users report a 400 as well, mostly through gateways. One turn is right in every case.

# %% tags=["quiz"]
quiz("05.8")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | answers that are right, about the wrong thing | Results paired by place. Does every output keep its call's id? |
# | 400 `tool_use ids were found without tool_result blocks` | One call of several is unanswered: it failed, timed out, or was sent later. |
# | 400 `each tool_use must have a single result` | A failing tool left an error *and* the normal path left a result. One exit for each call. |
# | 400 `unexpected tool_use_id found in tool_result blocks` | A late result of an earlier turn. Too late is too late: it was answered. |
# | "done", and the change is not there | Two writes at once: is a writing tool marked as a read? |
# | paid twice | Check and act in two steps, or two runs. Lock or key, where the data is. |
# | 429 from your own tools | The limit is above the quota, or each turn has its own. |
# | the model never calls in parallel | Are results split over messages? Is `disable_parallel_tool_use` on? |
# | it hangs at the end of a turn | One call never returns: `timeout`. |
#
# Every other complaint is in the [index](90_glossary.ipynb).

# %% [markdown]
# ## The same on the live API
#
# If live is switched on, a real model is asked about the two cities, and the weather service is as slow for Hangzhou as
# before. Does it call in parallel? Is each city told its own weather?

# %% tags=["live"]
from course_kit import announce, connect


@tool(effect="read", name="get_weather")
def slow_for_hangzhou(city: str) -> str:
    """Tell the weather in a city at this hour."""
    return look_up(city)


announce(tokens=4_000)
recorder = Recorder()
run = run_agent(connect(), tools=[slow_for_hangzhou], messages=question["content"], on_event=recorder)
print(f"{len(recorder.bars)} calls")
print(run.text)

# %% [markdown]
# ## Practice
#
# [Exercises 05](../exercises/05_parallel_calls.ipynb): repair the zip, write a runner in which a write is a barrier, and bring
# twenty calls past a quota of five.
#
# ## Recap
#
# One reply may hold several calls; all their results go back in one user turn, in call order. A result is paired with its
# call by id, so an output never travels without it. Calls run in `ceil(N / limit)` rounds, and the limit is set by whoever
# stands behind the tool. A failure is one result among others. Together run only calls that read, are independent, share
# nothing, and have the quota; what is shared is guarded where it lives, by a lock or a key. A call that needs another's
# answer does not belong into the same turn.
#
# New words: *parallel calls*, *pairing*, *round*, *limit*, *quota*, *settle*, *lost update*, *check, then act*, *barrier*, *lock*,
# *idempotency key*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **When may calls run in parallel?** When all of them only read, none needs another's answer, they share nothing that one
# > could disturb, and the service behind has room: then together, up to a limit. Otherwise in order. Results are paired by
# > id and never by who finished first; a failure becomes one error result, and the others stay. Here all results go back in
# > one user turn; with Chat Completions each is a message of its own.
#
# Two answers one hears:
#
# - *"Everything but writes."* Nearly. Two reads can depend on each other, share a browser tab, or floor a service of five
#   places. And it says nothing about pairing, where the silent bug is.
# - *"Just use `gather`."* At the first failure the good results are gone while the work goes on, and `as_completed` with `zip`
#   swaps your cities.
#
# Next a person joins the loop (lesson 06): what cannot be undone waits until somebody has said yes.

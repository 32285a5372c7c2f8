# %% [markdown]
# # 05 · Parallel calls and id pairing
#
# You will give Hangzhou the weather of Shanghai, without a single error message, and then make sure that it cannot
# happen again.
#
# After this lesson you can
#
# - **pair** results with calls so that they cannot be mixed up, whichever finishes first,
# - **run** the calls of a turn at the same time, with a limit, and say what that gains,
# - **keep** the good results of a turn when one call fails,
# - **decide** which calls may run together, and make the others safe,
# - **tell** what changes when the provider changes.
#
# About 100 minutes, best in two sittings: a good place to stop is marked. The exercises are extra. You need lessons 01
# and 04.

# %% tags=["setup"]
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import anthropic

from course_kit import (
    DEFAULT_MODEL,
    MockProvider,
    Simulated,
    ToolError,
    call,
    open_shop,
    quiz,
    run_agent,
    show,
    tool,
)

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
request = {
    "model": DEFAULT_MODEL,
    "max_tokens": 500,
    "tools": [GET_WEATHER],
    "messages": [question],
}

# %% [markdown]
# **Guess:** how many calls will be in the first reply?

# %%
reply = client.messages.create(**request)
calls = [block for block in reply.content if block.type == "tool_use"]
for block in calls:
    print(block.name, block.input, block.id)

# %% [markdown]
# Two. The same tool, two inputs, two ids. These are called *parallel calls*: several calls in one reply. The name says
# nothing about how they are run. You decide that, and most of this lesson is about it.
#
# `answer` sends the conversation with the results you give it, and prints what the API says.


# %%
def result(block, content, **flag):
    """A finished result of one call, under the id of its block."""
    return {"type": "tool_result", "tool_use_id": block.id, "content": content, **flag}


def answer(*results):
    messages = [question, reply.to_param(), {"role": "user", "content": list(results)}]
    try:
        said = client.messages.create(**{**request, "messages": messages})
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])
    else:
        print(said.content[-1].text)


# %% [markdown]
# You have an answer for Hangzhou and none yet for Shanghai. May you send the first and bring the second later?

# %% tags=["item-05.1"]
hangzhou, shanghai = calls
answer(result(hangzhou, "27 °C, sunny"))
answer(result(hangzhou, "27 °C, sunny"), result(shanghai, "25 °C, cloudy"))

# %% [markdown]
# Not one at a time: *all* results of a turn go into *one* user turn, before any text. (The simulated model quotes the
# results.) So your program has to wait until every call is done. Here is how that goes wrong.

# %% [markdown]
# ## Hangzhou gets Shanghai's weather
#
# The tool asks a weather service. Today it is slow for Hangzhou.

# %%
WEATHER = {"Hangzhou": "27 °C, sunny", "Shanghai": "25 °C, cloudy"}


def look_up(city):
    """Ask the weather service."""
    if city == "Hangzhou":
        time.sleep(0.3)
    return WEATHER[city]


# %% [markdown]
# Two calls, so two threads: `pool.submit` starts a function in its own thread, and `as_completed` yields each one as
# soon as it is done. Then `zip` pairs calls and outputs (`strict=True`: there must be as many of each). It looks tidy.
# **Read it closely. What will the model be told about Hangzhou?**

# %% tags=["item-05.2"]
with ThreadPoolExecutor() as pool:
    running = [pool.submit(look_up, block.input["city"]) for block in calls]
    outputs = [each.result() for each in as_completed(running)]

swapped = [result(block, output) for block, output in zip(calls, outputs, strict=True)]
answer(*swapped)

# %% [markdown]
# The API accepts it, and the model answers. Nothing failed. Now look at it as the model does, each call with the result
# under its id:


# %%
def as_read(results):
    by_id = {each["tool_use_id"]: each["content"] for each in results}
    for block in calls:
        print(
            f"{block.input['city']:9} → {by_id[block.id]:14}   true: {WEATHER[block.input['city']]}"
        )


as_read(swapped)

# %% [markdown]
# Hangzhou has Shanghai's weather. `outputs` is in the order of *finishing*, `calls` in the order of *asking*, and `zip`
# pairs by position. No exception, no 400: every id is valid. It passes every test on your machine, where nothing is
# slow. Neither the model nor the user can notice.

# %% [markdown]
# ### The cure: never let go of the call
#
# Let the thread do more: it takes a call and returns a *finished result*, id included. Then no output is ever without
# its id.
#
# `pool.map` runs such a function for all calls at once, and returns the results in the order of the calls.


# %%
def made(block):
    return result(block, look_up(block.input["city"]))


with ThreadPoolExecutor() as pool:
    in_order = list(pool.map(made, calls))

print("first in the list:", "Hangzhou" if in_order[0]["tool_use_id"] == hangzhou.id else "Shanghai")
as_read(in_order)

# %% [markdown]
# For the API the order of results is free, since the ids pair them. Call order is still a good habit: two runs can be
# compared, whichever call was faster. And one provider pairs by order where it has no ids (last section).
#
# A second safety net: let the result say what it is about. The kit's own weather tool does. If these had been swapped,
# you could see it.

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
# `max_parallel`: how many calls of one turn may run at a time. The tool has to say that it only reads; we explain why
# below.

# %%
CITIES = [
    "Oslo",
    "Lima",
    "Hangzhou",
    "Shanghai",
    "Beijing",
    "Paris",
    "London",
    "Nairobi",
    "Toronto",
    "Sydney",
]
ten_calls = [call("weather", city=city) for city in CITIES]


@tool(effect="read")
def weather(city: str) -> dict:
    """Tell the weather in a city."""
    time.sleep(0.15)
    return get_weather(city)


# %% [markdown]
# A `Recorder` listens to what `run_agent` reports (`on_event`) and notes when each call began and ended. The model is a
# script: it asks for all ten in one reply, then answers briefly.
#
# One at a time, the ten take 10 × 0.15 seconds. How many times 0.15 will it be with limits of 2 and 5?

# %%
from course_kit.classroom.plots import plot_timeline
from course_kit.classroom.timeline import Recorder


def run_ten(limit):
    recorder = Recorder()
    script = MockProvider([ten_calls, "Ten cities."]).client()
    run_agent(
        script,
        tools=[weather],
        messages="Ten cities, please.",
        max_parallel=limit,
        on_event=recorder,
    )
    return recorder


recorders = {f"limit {limit}": run_ten(limit) for limit in (1, 2, 5)}
show(plot_timeline(recorders))

# %% [markdown]
# Calls that take equally long run in *rounds*: a round is the calls that run at the same time. N calls need
# `ceil(N / limit)` rounds. **Guess:** what does a limit of 7 gain over a limit of 5?

# %% tags=["item-05.3"]
import math

recorders["limit 7"] = run_ten(7)
for limit in (1, 2, 5, 7):
    counted = recorders[f"limit {limit}"].rounds
    print(f"limit {limit}: {counted:2} rounds counted, {math.ceil(10 / limit):2} by the formula")

# %% [markdown]
# Nothing: ten calls take two rounds either way. So the speed-up grows in steps, and a larger limit often only adds load
# on the service. (Where calls are *not* equally long, the formula does not hold: you will try that below.)
#
# How close does the kit come to that? Here are twenty reads of a tenth of a second each, with the speed-up for each
# limit, copied from the table of the course's benchmark (30 November 2026, `tests/benchmarks`):

# %%
from course_kit.classroom.plots import plot_speed_up

MEASURED = {2: 2.0, 5: 4.67, 20: 19.88}
show(plot_speed_up(20, MEASURED))

# %% [markdown]
# Each point is the best of three runs on a machine that had other work. They vary by about a tenth, and the low point
# at 5 is within that. These reads only *wait*, as for a service; reads that compute gain far less from threads.

# %% [markdown]
# ### Twenty at once
#
# Why not a limit of twenty, then? Because the service has a *quota*: so many requests at a time, or per minute. This
# carrier answers five at a time and turns the sixth away. (A `Semaphore` is a counter of free places: `acquire` takes
# one, `release` gives it back.)


# %%
class Carrier:
    """Answers five at a time, and refuses any further request."""

    def __init__(self):
        self.places = threading.Semaphore(5)

    def track(self, parcel: str) -> str:
        if not self.places.acquire(blocking=False):
            raise ToolError(
                "RATE_LIMITED", "the carrier takes five requests at a time", retryable=True
            )
        try:
            time.sleep(0.25)
            return f"{parcel} is on its way"
        finally:
            self.places.release()


# %% [markdown]
# A customer with twenty parcels. How many refusals will there be, with a limit of twenty and with a limit of five? (A
# result that is not an error has no `is_error` at all.)


# %%
def results_of(run):
    """The results of a run's first turn: after the question and the reply with the calls."""
    return run.messages[2]["content"]


carrier = Carrier()
twenty_calls = [call("track", parcel=f"TRK-{number:08}") for number in range(20)]
track = tool(carrier.track, effect="read", description="Say where a parcel is.")

for limit in (20, 5):
    script = MockProvider([twenty_calls, "Tracked."]).client()
    run = run_agent(script, tools=[track], messages="Where are my parcels?", max_parallel=limit)
    refused = [each for each in results_of(run) if "is_error" in each]
    print(f"limit {limit:2}: {20 - len(refused)} answered, {len(refused)} refused")

# %% [markdown]
# Fifteen refusals, and a model that may now repeat fifteen calls.
#
# A limit per turn does not see other conversations: *two* with a limit of five make ten requests at the carrier. A
# quota belongs to the service, so the guard belongs there too, once for the whole program: exercise 5.3.
#
# ### With asyncio
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
await run_agent_async(
    script, tools=[weather_later], messages="Ten cities, please.", on_event=recorder
)
print(
    f"{len(recorder.bars)} calls, at most {recorder.most} at once, {recorder.rounds} rounds of calls"
)

# %% [markdown]
# Five at once is the default of both. (The SDK's own `tool_runner`, as of 2.14, makes the calls of a turn one after
# another, in both its forms.)

# %% tags=["quiz"]
quiz("05.3")

# %% [markdown]
# ## One failure loses nothing
#
# Three look-ups in one turn; the city of the second does not exist. (A script makes these three calls, so that we have blocks
# with ids.)


# %%
wishes = [call("get_weather", city=city) for city in ("Oslo", "Atlantis", "Lima")]
three = MockProvider([wishes]).client().messages.create(**request).content
finished = []


async def look(city):
    await asyncio.sleep({"Oslo": 0, "Atlantis": 0.1, "Lima": 0.3}[city])
    if city == "Atlantis":
        raise LookupError("Atlantis is not on any map")
    finished.append(city)
    return json.dumps(get_weather(city))


# %% [markdown]
# `asyncio.gather` is what most Python code uses for this. **Guess:** how many of the two good results do you have afterwards?
# And did the slow one run to its end?

# %%
outputs = []
finished.clear()
try:
    outputs = await asyncio.gather(*[look(block.input["city"]) for block in three])
except LookupError as error:
    print("raised:", error)
await asyncio.sleep(0.5)
print("results:", outputs, "| ran to the end:", finished)

# %% [markdown]
# Both results are lost: Oslo's, which had arrived, and Lima's, which came later when nobody was waiting. Three calls
# have no result.
#
# `gather` stops waiting but does not stop the other calls. In a program whose event loop keeps running, such as a
# server or this notebook, the work goes on unseen: a refund would be paid and the model not told. In a script the
# exception leaves `asyncio.run(main())`, which cancels whatever is still running: the refund stops half-way.

# %% [markdown]
# The cure: *settle all, then report all*. A failure is one possible outcome of a call, so catch it inside and turn it
# into a finished result, id included:


# %%
async def settled(block):
    try:
        return result(block, await look(block.input["city"]))
    except Exception as error:
        return result(block, f"{type(error).__name__}: {error}", is_error=True)


for each in await asyncio.gather(*[settled(block) for block in three]):
    print(each)

# %% [markdown]
# Three calls, three results; only the second is an error, and the model can see which ones succeeded. (`gather(...,
# return_exceptions=True)` settles too, and leaves the sorting to you. A `TaskGroup` does not help: it *cancels* the
# others, in a server as well.)
#
# `run_agent` does this for every call, with threads and with asyncio:

# %% tags=["item-05.4"]
wishes = [call("weather", city=city) for city in ("Oslo", "Atlantis", "Lima")]
script = MockProvider([wishes, "Two of three."]).client()
run = run_agent(script, tools=[weather], messages="Three cities, please.")
for each in results_of(run):
    print("error " if "is_error" in each else "result", each["content"])

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
# Somebody wanted speed and marked the tool as a read. Below it runs once marked like that, and once marked correctly.
# **Guess:** what does the tool report each time, and what is in the file?


# %%
def edit_with(effect):
    file.write_text("".join(f"{number}\n" for number in range(1, 101)), encoding="utf-8")
    script = MockProvider([edits, "Both done."]).client()
    run = run_agent(script, tools=[tool(edit_file, effect=effect)], messages="Spell them out.")
    text = file.read_text(encoding="utf-8")
    there = [word for word in ("FIFTY", "SEVENTY-FIVE") if word in text]
    told = [each["content"] for each in results_of(run)]
    print(f"marked as a {effect}: {told}, in the file: {len(there)} of 2")


edit_with("read")
edit_with("write")

# %% [markdown]
# Both report success, and one edit is gone: a *lost update*. Both had read the old file, and the second to write
# overwrote the first one's change.
#
# The kit's rule is simple on purpose: **calls run together only if every call of the turn is a read. A turn with a write in it
# runs in call order, one after another.** A tool is a write until it says otherwise.

# %% [markdown]
# `timeline()` takes turns written in letters: `r` a read, `w` a write. It runs nothing: it *computes* when each call
# would run under this rule, in whole *ticks*. A read or a write takes one.

# %% tags=["item-05.5"]
from course_kit.classroom.timeline import timeline

board = timeline()
print(board.play("rrrr", limit=5), "\n")
print(board.play("rrwr", limit=5))

# %% [markdown]
# Why the whole turn, for one write? A read after the write may be meant to see what was written, one before it may not,
# and only their order tells them apart. So the order is kept. (The two reads before the write could run together: the
# write is then a *barrier*, with a batch of reads on either side. That is exercise 5.2.)

# %% [markdown]
# ### Play with it
#
# Type a turn into the field and press the button, or write `board.play("srrrrr", limit=2)`. Two more letters: `s` a
# slow read, three ticks long; `f` a read that fails. What does one `s` cost a turn of six, with limit 2 and with limit
# 5? Does it matter whether it comes first or last?

# %%
board

# %% [markdown]
# The answers, in ticks until the last call is done:

# %%
for turn in ("rrrrrr", "srrrrr", "rrrrrs"):
    two, five = [timeline().play(turn, limit=limit).ticks for limit in (2, 5)]
    print(f"{turn}: {two} with limit 2, {five} with limit 5")

# %% [markdown]
# A slow call costs most when it starts last. The formula, `ceil(6 / limit)`, is right in the first line only: it holds
# for equal calls.

# %% [markdown]
# ### Check, then act
#
# The same in the database, with money. This tool asks how much is left to refund, lets the payment provider work, and
# writes into the ledger. (`check_and_pay` is a separate function because we need it again.) The customer paid 1999
# cents for the order.


# %%
def check_and_pay(db, order_id, amount_cents):
    left = shop.query_order(order_id)["refundable_cents"]
    if amount_cents > left:
        raise ToolError(
            "OVER_REFUND",
            f"{left} cents are left to refund",
            hint="do not try again: tell the user",
        )
    time.sleep(0.5)  # the payment provider works
    entry = (order_id, amount_cents, "damaged", "2026-09-20")
    db.execute(
        "INSERT INTO refunds (order_id, amount_cents, reason, created_at) VALUES (?, ?, ?, ?)",
        entry,
    )
    return f"paid {amount_cents} cents"


def pay_back(order_id: str, amount_cents: int) -> str:
    """Pay money back for an order."""
    with shop.connection() as db:
        return check_and_pay(db, order_id, amount_cents)


# %% [markdown]
# A confused model asks for the same refund twice in one turn. What is paid, marked as a read, and as a write? (A tool
# that pays should ask a person first: lesson 06.)

# %%
refund = {"order_id": "ORD-20260917", "amount_cents": 1999}


def paid():
    return sum(row["amount_cents"] for row in shop.ledger("ORD-20260917"))


for effect in ("read", "write"):
    shop.reset()
    script = MockProvider(
        [[call("pay_back", refund), call("pay_back", refund)], "Refunded."]
    ).client()
    run = run_agent(script, tools=[tool(pay_back, effect=effect)], messages="Refund my cup.")
    print(f"marked as a {effect}: {paid()} cents paid")
    for each in results_of(run):
        print("  ", each["content"].splitlines()[0])

# %% [markdown]
# Run together, both checks passed before either had paid: a *double refund*. Run in order, the second check saw the
# first payment.
#
# Is call order enough? Two agents work at the same time, for two browser windows of one customer. Each makes *one*
# refund of this order, and the tool is correctly marked as a write. **Guess** what is paid:


# %%
def at_two_desks(refunding):
    """Two runs at the same time, one refund in each; the first line of each result, sorted."""
    shop.reset()

    def desk(_):
        script = MockProvider([call(refunding.name, refund), "Done."]).client()
        run = run_agent(script, tools=[refunding], messages="Refund my cup.")
        return results_of(run)[0]["content"].splitlines()[0]

    with ThreadPoolExecutor() as pool:
        return sorted(pool.map(desk, range(2)))


print(at_two_desks(tool(pay_back)))
print(paid(), "cents paid")

# %% [markdown]
# Paid twice again. Each run kept its own order, but nothing ordered the two runs. Protect shared data where it is
# stored. Two cures:
#
# **A lock.** The same check, the same pause, the same payment. But now the database's write lock is taken *before* the
# check (`BEGIN IMMEDIATE`), and released after the payment (`COMMIT`). The second run waits for it. (Without this pair,
# as in `pay_back`, each statement is a separate step.)


# %%
@tool
def with_lock(order_id: str, amount_cents: int) -> str:
    """Pay money back for an order."""
    with shop.connection() as db:
        db.execute("BEGIN IMMEDIATE")  # from here on nobody else can write
        said = check_and_pay(db, order_id, amount_cents)
        db.execute("COMMIT")
        return said


print(at_two_desks(with_lock))
print(paid(), "cents paid")

# %% [markdown]
# Check and payment are now one step, in every process. The shop's own `refund_order` works like that.
#
# **A key.** If both mean the *same* refund, a refusal is the wrong answer. An *idempotency key* is a name for one
# intended action: the shop pays once for it, and returns the first receipt to every repeat. (More in lesson 09.) We try
# it ten times, to rule out luck:


# %%
@tool
def with_key(order_id: str, amount_cents: int) -> dict:
    """Pay money back for an order."""
    return shop.refund_order(
        order_id, amount_cents, "damaged", idempotency_key=f"ticket-118/{order_id}/{amount_cents}"
    )


for _ in range(10):
    one, other = at_two_desks(with_key)
    assert one == other and paid() == 1999
print(one)
print(other)

# %% [markdown]
# Lock or key: a refusal for the second, or the same receipt for both.
#
# Even a plain counter loses an update like this: two sales read 42 in stock, and both write 41. Where one statement is
# enough, let the database do both steps: `UPDATE products SET stock = stock - 1`. (Or use a transaction at the isolation
# level `SERIALIZABLE`: it makes one of the two wait, or refuses it, and that one has to start again.)

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
#
# In short: **read-only, independent, no shared resource, and within quota.** If one of the four is missing: in order,
# or in batches. (The vendor's page on parallel calls says much the same, late in 2026.) `effect="read"` is your promise
# that a tool may run beside other reads; nobody checks it.

# %% tags=["quiz"]
quiz("05.5")

# %% [markdown]
# ## When the second call needs the first one's answer
#
# "Find the parcel of Nora Lindgren and tell the carrier to hold it." There are two tools, and nobody knows yet the
# number that the second one needs. The schemas are correct, and a description says what each tool does.


# %%
def make_definition(name, description, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


def parcel_tools(more=""):
    customer = {"type": "string", "description": "The customer's name, such as Ben Carter."}
    number = {
        "type": "string",
        "pattern": "^TRK-[0-9]{8}$",
        "description": "TRK- and eight digits.",
    }
    until = {"type": "string", "format": "date", "description": "The last day, such as 2026-09-30."}
    hold = "Tell the carrier to hold a parcel until a day."
    return [
        make_definition(
            "find_parcel",
            "Find the parcel of a customer. Returns its tracking_id.",
            customer=customer,
        ),
        make_definition("hold_parcel", f"{hold}{more}", tracking_id=number, until=until),
    ]


# %% [markdown]
# **Guess:** what does the (simulated) model put into `tracking_id`?

# %%
HOLD = "Find the parcel of Nora Lindgren and tell the carrier to hold it until 2026-09-25."
asked = [{"role": "user", "content": HOLD}]
said = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=500, tools=parcel_tools(), messages=asked
)
for block in said.content:
    print(block.name, block.input)

# %% [markdown]
# The number is made up. It has the right form, so it passes every check, and somebody's parcel will be held. Running
# the two calls in order does not help: the input was written before the first call ran.

# %% [markdown]
# Does a real model do that? Now and then. Anthropic's page on [parallel tool
# use](https://platform.claude.com/docs/en/agents-and-tools/tool-use/parallel-tool-use) said in 2026 that Claude makes
# dependent calls in separate turns, but that a turn may occasionally hold some anyway. (A later version of the page
# leaves the order to you.) The simulated model does it often, by design: what follows compares cures, and says nothing
# about a real model.

# %% [markdown]
# Two cures. Allow one call per turn, with a switch inside `tool_choice`. Or say in the description what must come
# first. This counts how often the number is made up:


# %%
def invented(tools, wish=HOLD, seeds=20, **options):
    """In how many first replies hold_parcel is called, whose number nobody can know yet."""
    asked, count = [{"role": "user", "content": wish}], 0
    for seed in range(seeds):
        model = MockProvider(Simulated(seed=seed)).client()
        said = model.messages.create(
            model=DEFAULT_MODEL, max_tokens=500, tools=tools, messages=asked, **options
        )
        names = [block.name for block in said.content if block.type == "tool_use"]
        if "hold_parcel" in names:
            count += 1
    return f"{count} of {seeds} (simulated)"


# %% tags=["item-05.6"]
one_call = {"type": "auto", "disable_parallel_tool_use": True}
by_name = parcel_tools(" Call find_parcel first: it returns the tracking_id.")
vaguely = parcel_tools(" Look the number up first.")
print("as it is                  ", invented(parcel_tools()))
print("one call a turn           ", invented(parcel_tools(), tool_choice=one_call))
print("what comes first, by name ", invented(by_name))
print("what comes first, vaguely ", invented(vaguely))

# %% [markdown]
# Both cures hold here. The vague sentence changes nothing: the rules of the simulated model wait only if the definition
# *names* the tool that comes first. A real model may understand the vague one too; naming the tool costs nothing.
#
# Neither is a guarantee. Here is the same request in other words, with both cures at once:

# %%
HOLIDAY = (
    "Nora Lindgren is on holiday. Find her parcel and have the carrier hold it until 2026-09-25."
)
print("both cures, other words   ", invented(by_name, HOLIDAY, tool_choice=one_call))

# %% [markdown]
# In this wording the rules see no search at all, so `hold_parcel` is called alone, with a made-up number. The last
# defence is the tool. It also takes the customer, and refuses a parcel that is not theirs:

# %%
PARCELS = {"Nora Lindgren": "TRK-40021177"}


@tool(effect="read")
def find_parcel(customer: str) -> str:
    """Find the parcel of a customer. Returns its tracking_id."""
    return PARCELS[customer]


@tool
def hold_parcel(customer: str, tracking_id: str, until: str) -> str:
    """Tell the carrier to hold a customer's parcel until a day.

    Call find_parcel first: it returns the tracking_id.
    """
    if PARCELS.get(customer) != tracking_id:
        raise ToolError(
            "NOT_THEIRS",
            f"{tracking_id} is not a parcel of {customer}",
            hint="call find_parcel first",
        )
    return f"{tracking_id} is held until {until}"


# %% [markdown]
# A script plays a model that invents the number, and then does better. Read the two results of the first turn:

# %%
nora = {"customer": "Nora Lindgren", "until": "2026-09-25"}
first = [
    call("find_parcel", customer="Nora Lindgren"),
    call("hold_parcel", nora, tracking_id="TRK-63416977"),
]
second = [call("hold_parcel", nora, tracking_id="TRK-40021177")]
script = MockProvider([first, second, "It is held."]).client()
run = run_agent(script, tools=[find_parcel, hold_parcel], messages=HOLD)
second_results = run.messages[4]["content"]  # after the second reply
for each in [*results_of(run), *second_results]:
    print(each["content"], "\n")

# %% [markdown]
# Nothing was held on a guess. The refusal comes together with the missing number, and the model can call again. No
# description and no switch can guarantee that.
#
# The switch has a price. It stops *all* parallel calls, including harmless ones. Five cities, with parallel calls and
# without:

# %%
five = "What is the weather in Hangzhou, Shanghai, Lima, Oslo and Paris?"
for label, choice in (("parallel", {"type": "auto"}), ("one a turn", one_call)):
    run = run_agent(client, tools=[get_weather], messages=five, tool_choice=choice)
    print(f"{label:10}", run.trace.summary())

# %% [markdown]
# Six requests instead of two, and three times the input tokens, since each request carries the whole conversation.
# (Simulated; the mock estimates tokens.) So: a check in the tool, always; the description; and the switch where order
# matters more than cost.

# %% tags=["quiz"]
quiz("05.6")

# %% [markdown]
# ## Streaming: by index, and not before the end
#
# Lesson 01 streamed one call: join its fragments when the block has stopped, and wait for `stop_reason`. With several
# calls one thing is new. Each event of a block carries the block's `index`, its place in `content`, and the index keeps
# the fragments apart. This reply has text before its calls, as real ones do:

# %%
two_calls = [call("get_weather", city="Hangzhou"), call("get_weather", city="Shanghai")]
fragments = {}
script = MockProvider([["I will look at both.", *two_calls]]).client()
with script.messages.create(**request, stream=True) as stream:
    for event in stream:
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            fragments[event.index] = []
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            fragments[event.index].append(event.delta.partial_json)
        elif event.type == "content_block_stop" and event.index in fragments:
            whole = "".join(fragments[event.index]) or "{}"
            print("block", event.index, fragments[event.index], "→", json.loads(whole))
        elif event.type == "message_delta":
            print("stop_reason", event.delta.stop_reason)

# %% [markdown]
# The text is block 0; its deltas have no `partial_json`, so the code asks for the type first.
#
# Block 1 is complete long before the turn ends. Why not start it at once? Look at this reply:

# %% tags=["item-05.7"]
from course_kit.mock import faults

cut = (
    MockProvider([two_calls], faults={1: faults.max_tokens(0.9)})
    .client()
    .messages.create(**request)
)
print(cut.stop_reason, [block.input for block in cut.content])

# %% [markdown]
# The turn was cut. Its first call is complete, but nothing of this turn is run (lesson 01). You ask again, and the call
# comes again: if you had started it, a refund would be paid twice. So the kit keeps one rule: **nothing runs before the
# turn is complete.**
#
# Reads could be exempt: one that started early for a turn that was cut is wasted, but harmless. The SDK's runner offers
# an early start (`run_tools_eagerly`, with `stream=True`; its docstring says it will become the default). It starts
# *every* tool early, writes included, unless you hold a call back with `defer_tool_call()`.

# %% tags=["quiz"]
quiz("05.7")

# %% [markdown]
# ## Across providers
#
# Here is the same turn for OpenAI's Chat Completions: two calls and two results, the second one failed. The kit
# converts requests (lesson 11); `.value` is the converted one. Read only *how many messages answer*, and *what pairs
# them*.

# %% tags=["item-05.8"]
from course_kit.contract.shapes import request_to

results = [result(hangzhou, "27 °C, sunny"), result(shanghai, "no answer", is_error=True)]
said = reply.to_dict()["content"]  # the blocks as plain dicts
turns = [question, {"role": "assistant", "content": said}, {"role": "user", "content": results}]
converted = request_to("openai_chat", {**request, "messages": turns}).value
for message in converted["messages"]:
    print(json.dumps(message, ensure_ascii=False, indent=2))

# %% [markdown]
# One message with the role `tool` for *each* call, paired by `tool_call_id`. There is no error flag, so the text has to
# say it (the kit puts `is_error: true` in front). Four shapes side by side:
#
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
# Code ported from Chat Completions often sends one *user* message for each result. Is that a 400, or accepted?

# %%
one_each = [
    question,
    reply.to_param(),
    {"role": "user", "content": [result(hangzhou, "27 °C, sunny")]},
    {"role": "user", "content": [result(shanghai, "25 °C, cloudy")]},
]
split = MockProvider(Simulated())
print(split.client().messages.create(**{**request, "messages": one_each}).stop_reason)
split.report()

# %% [markdown]
# The mock takes it and complains in its report. What the real API does is not certain. According to the documentation,
# consecutive user turns are combined, and splitting is wrong for another reason: it teaches the model to stop calling
# in parallel. You saw above, with the five cities, what *that* costs. Users have reported a 400 (2025 and early 2026),
# directly and through other hosts. One turn is right in every case.

# %% tags=["quiz"]
quiz("05.8")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | answers that are right, about the wrong thing | Results paired by position. Does every output keep its call's id? |
# | 400 `tool_use ids were found without tool_result blocks` | One call of several is unanswered: it failed, timed out, or was sent later. |
# | "done", but the change is missing | Two writes at once: is a writing tool marked as a read? |
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
# before. Does it call in parallel? Does each city get its own weather?

# %% tags=["live"]
from course_kit import announce, connect


@tool(effect="read", name="get_weather")
def slow_for_hangzhou(city: str) -> str:
    """Tell the weather in a city at this hour."""
    return look_up(city)


announce(tokens=4_000)
run = run_agent(connect(), tools=[slow_for_hangzhou], messages=question["content"])
if len(run.messages) > 2:  # it did call
    said = run.messages[1]["content"]
    city_of = {block["id"]: block["input"]["city"] for block in said if block["type"] == "tool_use"}
    for each in results_of(run):
        print(city_of[each["tool_use_id"]], "was told:", each["content"])
print(run.text)

# %% [markdown]
# ## Practice
#
# [Exercises 05](../exercises/05_parallel_calls.ipynb): repair the zip, write a runner in which a write is a barrier,
# and get twenty calls through a quota of five.
#
# ## Recap
#
# One reply may hold several calls; all their results go back in one user turn, in call order. A result is paired with
# its call by id, so keep each output with its id. Equal calls run in `ceil(N / limit)` rounds, and the service that the
# tool asks sets the limit. A failure is one result among others. Run calls together only if they read, are independent,
# share nothing, and stay within the quota; protect shared data where it is stored, with a lock or a key. A call that
# needs another's answer does not belong in the same turn, and its tool refuses a made-up value.
#
# New words: *parallel calls*, *pairing*, *round*, *limit*, *quota*, *settle*, *lost update*, *check, then act*, *barrier*, *lock*,
# *idempotency key*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **When may calls run in parallel?** When all of them only read, none needs another's answer, they share nothing that
# > one could change for another, and the service has capacity: then together, up to a limit. Otherwise in order.
# > Results are paired by id and never by who finished first; a failure becomes one error result, and the others stay.
# > Here all results go back in one user turn; with Chat Completions each is a separate message.
#
# Two answers you will hear:
#
# - *"Everything but writes."* Nearly. Two reads can depend on each other, share a browser tab, or overload a service
#   that takes five requests. And it says nothing about pairing, where the silent bug is.
# - *"Just use `gather`."* At the first failure the good results are gone, and the rest goes on unseen or is cancelled. And
#   `as_completed` with `zip` swaps your cities.
#
# Next a person joins the loop ([lesson 06](06_human_in_the_loop.ipynb)): calls that cannot be undone wait until
# somebody says yes.

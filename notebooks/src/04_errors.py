# %% [markdown]
# # 04 · Round-tripping errors
#
# You will tell a model about the same mistake in four ways, and count how often it corrects the call.
#
# After this lesson you can
#
# - **return** every failure to the model as a result, so that no run crashes and no call is lost,
# - **write** an error text that leads to a better call, and measure what it is worth,
# - **decide** who can act on a failure: the model, a person, or you,
# - **limit** what a failing tool may cost,
# - **tell** a cut call from a broken one.
#
# About 100 minutes, best in two sittings: a good place to stop is marked. The exercises are extra. You need lessons 01
# to 03.

# %% tags=["setup"]
import json

import anthropic

from course_kit import (
    DEFAULT_MODEL,
    MockProvider,
    Simulated,
    call,
    check_tool_input,
    open_shop,
    quiz,
    run_agent,
    show,
)

shop = open_shop()
client = MockProvider(Simulated()).client()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("04.recall")

# %% [markdown]
# ## A service that crashes, and a call that is lost
#
# A small service knows what was paid for two orders. A customer asks about a third: she has swapped two digits.

# %%
PAID = {"ORD-20260917": 1999, "ORD-20260914": 10500}


def paid_for(order_id):
    return {"paid_cents": PAID[order_id]}


PAID_FOR = {
    "name": "paid_for",
    "description": "Say how much was paid for an order.",
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    },
}
question = {"role": "user", "content": "How much was paid for order ORD-20260971?"}

# %% [markdown]
# The model writes a call. There is nothing wrong with it. Now your program runs it:

# %%
reply = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=500, tools=[PAID_FOR], messages=[question]
)
wanted = next(block for block in reply.content if block.type == "tool_use")
print(wanted.name, wanted.input)
try:
    paid_for(**wanted.input)
except KeyError as error:
    print("Without this `except`, the program ends here. KeyError:", error)

# %% [markdown]
# An exception that leaves the loop ends the whole task. The customer sees nothing. The model, which could have asked for
# the number again, learns nothing.
#
# What can you send instead? This helper sends the question, the model's turn (or another one that you give it) and your
# answer to the call. It prints what the API says and what the model does next.


# %%
def answer(*blocks, turn=None):
    turns = [question, turn or reply.to_param(), {"role": "user", "content": list(blocks)}]
    try:
        said = client.messages.create(
            model=DEFAULT_MODEL, max_tokens=500, tools=[PAID_FOR], messages=turns
        )
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])
    else:
        last = said.content[-1]
        print(200, f"calls {last.name} {last.input}" if last.type == "tool_use" else last.text)


def result(content, **flag):
    return {"type": "tool_result", "tool_use_id": wanted.id, "content": content, **flag}


# %% [markdown]
# Here are four answers found in real programs. **Guess** for each: is it refused, and if not, what will the customer
# hear?
#
# 1. `except KeyError: continue`. The call is skipped, and an apology is sent.
# 2. The exception is swallowed, and the result is empty.
# 3. `PAID.get(order_id, 0)`. There is always an answer.
# 4. The result says that it is an error, and says nothing else.

# %%
answer({"type": "text", "text": "Sorry, that did not work."})
answer(result(""))
answer(result(json.dumps({"paid_cents": 0})))
answer(result("", is_error=True))

# %% [markdown]
# The first and the last are refused: a call needs its result, an error needs a text. The second is accepted, and the
# (simulated) model calls again: nothing told it that the order does not exist. The third is the worst: a false answer
# in a valid form. (As of November 2026 the first complaint and the empty result are documented; the rule about an empty
# error is known from users' reports.)
#
# What is left: a result, `is_error`, and a text. Here are two texts. Which one leads to an answer for the customer?

# %% tags=["item-04.1"]
answer(result("There is no order ORD-20260971.", is_error=True))
answer(
    result(
        "There is no order ORD-20260971. Do not try again: let the user check the number.",
        is_error=True,
    )
)

# %% [markdown]
# Both are legal. After the first the (simulated) model calls once more; after the second it turns to the user. (It only
# quotes the text.) So the form is clear, and the wording decides. That is the next section.
#
# An input that breaks the schema is treated the same way: you send back what is wrong, in the words of
# `check_tool_input`. Suppose the model had called without any input:

# %%
empty = {"type": "tool_use", "id": wanted.id, "name": "paid_for", "input": {}}
checked = check_tool_input(PAID_FOR, empty["input"])
print(checked.text())
answer(result(checked.text(), is_error=True), turn={"role": "assistant", "content": [empty]})

# %% [markdown]
# It names the field, so the model fills it. (`check_tool_input` takes a definition, as here, a tool made with `@tool`, or a
# bare schema.)
#
# One more rule, also known only from reports. A tool fails, and returns a screenshot of what it saw:

# %%
saw = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}
told = {"type": "text", "text": "The page did not load."}
answer(result([told, saw], is_error=True))
answer(result([told, saw]))

# %% [markdown]
# An error may contain only text. Without the flag the same result is accepted.

# %% tags=["quiz"]
quiz("04.1")

# %% [markdown]
# ## The error is the next turn's prompt
#
# Now the main experiment. The desk has an old, badly documented service. Its definitions give only names and types, and
# that is all the model can see. (`DESK` and its requests are data in `course_kit/classroom/error_cases.py`, a short file.)

# %% tags=["item-04.2"]
from course_kit.classroom.error_cases import DESK, REQUESTS, STRANGERS
from course_kit.classroom.error_texts import error_texts, recover, story

for definition in DESK.tools:
    fields = definition["input_schema"]["properties"]
    print(f"{definition['name']:13}", {name: field["type"] for name, field in fields.items()})

# %% [markdown]
# The service requires more than it says: the amount in whole cents, one of four reasons, dates like 2026-09-30. So the
# model's first call is wrong, and the model could not know it. `DESK.faults` is the check inside the service:

# %%
asked = [{"role": "user", "content": REQUESTS[0]}]
first = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=500, tools=DESK.tools, messages=asked
)
wrong_call = first.content[-1].to_dict()
print(REQUESTS[0], wrong_call["input"], sep="\n")
for fault in DESK.faults(wrong_call):
    print(fault)

# %% [markdown]
# Two faults. The service knows where (`path`), what it wanted (`expected`), what it got (`received`) and what to try
# (`hint`). How much of that do you pass on? Four programmers, four texts:


# %%
def failed(fault):
    return "failed"


def invalid_parameter(fault):
    return "invalid parameter"


def field_named(fault):
    return f"`{fault.path}` is invalid"


def field_and_hint(fault):
    return f"`{fault.path}` must be {fault.expected}, but {fault.received} came; {fault.hint}"


# %% [markdown]
# One request proves little. `REQUESTS` has twelve: refunds, pick-ups on a given day, two orders to read. Each is run with
# three seeds, and `recover` counts how many are put right in the end, and the calls for each request. **Write down your
# guess for each of the four texts:** what share is put right? And which text leads to the fewest calls?

# %%
TEXTS = {
    "failed": failed,
    "invalid parameter": invalid_parameter,
    "field named": field_named,
    "field and hint": field_and_hint,
}
measured = {name: recover(write) for name, write in TEXTS.items()}
for name, found in measured.items():
    print(f"{name:18}", found)

# %% [markdown]
# Three texts correct nothing, the fourth corrects most. Among the three there is a difference in cost: the first two take
# three calls for each request, the third a single one.
#
# To see why, look at single conversations. `story` runs one and prints the request, each call, and below it the
# service's answer, one line per fault:

# %%
print(story(REQUESTS[0], failed))

# %% [markdown]
# The same call, three times. The model has nothing new to go on, so it repeats the call until its patience setting is
# used up. And where the field is named?

# %%
print(story(REQUESTS[0], field_named))

# %% [markdown]
# Only one call. It knows *where*, but not what would be right, and gives up sooner. Now the full text:

# %%
right = story(REQUESTS[0], field_and_hint)
print(right)
print("\nwhy:", right.why)

# %% [markdown]
# Two calls, with both faults corrected at once. The error did what a better description would have done, one turn
# later. (For JSON Schema 1999.0 is a whole number: only the value counts.)

# %% [markdown]
# Why are the numbers so clear-cut? Because these are rules, not a language model. After an error the model looks for
# names of inputs in the text. If it finds none, it repeats the call, three times at most. If it finds a name, it reads
# the words after it as more description of that input, and sends a better value if there is one. If none follows, it
# gives up, unless the text says to try again. (All seeds agree: chance plays no part in these steps.)

# %% [markdown]
# Three of the twelve are not saved even by the best text. Which?

# %%
for said, share, calls in measured["field and hint"].rows:
    if share < 1:
        print(f"{calls:.0f} calls  {said}")

# %% [markdown]
# "Never came" is *not_received*, and the rules do not know that. "20260917" needs `ORD-` in front, and the rules copy
# values but never compose one. A real model may well do both. So do not read 75% as the value of a good text. What the
# experiment shows is which step makes the difference, and why.

# %% [markdown]
# ### In other people's words
#
# The course's texts and the rules that read them have the same author, so the result proves little. Here are other
# voices. `STRANGERS` has the same four kinds of text in each, written before they were tried and not changed since. No
# rule was made for them. This is the fourth kind:

# %%
amount_and_reason = DESK.faults(wrong_call)
for voice, texts in STRANGERS.items():
    for fault in amount_and_reason:
        print(f"{voice:12}", texts["field and hint"](fault))

# %% [markdown]
# In how many of the four voices does the full text still help?

# %%
from course_kit.classroom.plots import plot_recovery

voices = {"the course": measured}
for voice, texts in STRANGERS.items():
    voices[voice] = {name: recover(write, seeds=1) for name, write in texts.items()}
for voice, found in voices.items():
    print(f"{voice:12}", found["field and hint"])
show(plot_recovery(voices))

# %% [markdown]
# The first three kinds give the same result in every voice. The full text helps in three of the four voices: as much as
# the course's in one, less in two. The JSON body gains nothing: the rules read a name and the sentence after it. (A
# real model may well read it.) So the advice *say what is wanted, beside the name* held up. The size of the gain did
# not: measure it with your wording and your model.

# %% tags=["quiz"]
quiz("04.2")

# %% [markdown]
# ### All faults at once
#
# Many checks stop at the first fault they meet. What that costs, in calls for each request:

# %%
print("all at once  ", recover(field_and_hint))
print("one at a time", recover(field_and_hint, at_once=False))

# %% [markdown]
# Every fault that you hold back costs another turn, and turns run out. `run_agent` counts the turns in which a tool
# failed. It allows a first try and two retries (`max_retries=2`). When the third has failed, the run ends, and the
# model is not asked again. That is the cap; more in the second half.
#
# `check_tool_input`, which `run_agent` uses, names all faults. Here is the refund tool of lesson 01, and a call with
# four:

# %%
from course_kit import desk_tools

desk = {tool.name: tool for tool in desk_tools(shop)}
bad = {"order_id": "20260917", "amount_cents": 19.99, "reason": "broken", "notes": "the handle"}
print(check_tool_input(desk["refund_order"], bad).text())

# %% [markdown]
# Each line says where, what was expected, what it got, and sometimes what to try. In a nested input the place is a path
# such as `items[2].qty`.
#
# A **near match** says what was probably meant. Here the name of a file is slightly wrong. (`run_tool` makes one call
# and returns its result, whatever happens.)

# %%
import tempfile
from pathlib import Path

from course_kit import file_tools, run_tool

folder = Path(tempfile.mkdtemp())
(folder / "src").mkdir()
(folder / "src" / "App.tsx").write_text("export {}", encoding="utf-8")
wish = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "src/app.ts"}}
print(run_tool(wish, file_tools(folder))["content"])

# %% [markdown]
# ### Play with it
#
# Choose a request, change the text, and send it to the model. (Without a mouse: `texts.tell("…", 1)`.) Two questions to
# try: what is the shortest text that saves request 6? And what happens when a text names the field and says *try
# again*?

# %%
texts = error_texts()
texts

# %% [markdown]
# What we found:

# %%
for text in ("`amount` cents", "`amount` is invalid, try again"):
    print(texts.tell(text, 6), "\n")

# %% [markdown]
# A name and a unit are enough. *Try again* makes "field named" as expensive as "failed": the model does what it was
# told.

# %% tags=["quiz"]
quiz("04.3")

# %% [markdown]
# **A good place to stop for today.** The [exercises](../exercises/04_errors.ipynb) 4.1 and 4.3 need no more than this.

# %% [markdown]
# ## Input that is not JSON, and input that is cut off
#
# The SDK gives you `input` as an object. But you get text when you join fragments of a stream yourself, and from
# providers that send inputs as strings (lesson 11). It is most often broken where a tool has `eager_input_streaming`:
# the server then passes fragments on unchecked (documentation, November 2026; it does not say whether `strict` still
# helps there). Such an input may look like this:

# %% tags=["item-04.3"]
raw = '{"order_id": "ORD-20260917", "amount_cents": 1999, "reason": damaged}'
try:
    json.loads(raw)
except json.JSONDecodeError as error:
    trouble = str(error)
print(trouble)

# %% [markdown]
# Do not run it and do not repair it. Send the raw text back, so that the model sees what arrived, and say where it
# broke. The vendor's documentation suggests the key `INVALID_JSON`. Let a library write the JSON: the raw text is full
# of quotes.

# %%
print('{"INVALID_JSON": "' + raw + '"}   ← by hand: no JSON either')
print(json.dumps({"INVALID_JSON": raw, "problem": trouble}))

# %% [markdown]
# `run_tool` does that. One text is not broken at all: the empty one. A call without inputs streams a single, empty fragment
# ([lesson 01](01_round_trip.ipynb)), and means `{}`.

# %%
for name, text in (("refund_order", raw), ("search_orders", "")):
    wish = {"type": "tool_use", "id": "toolu_1", "name": name, "input": text}
    came = json.loads(run_tool(wish, desk.values())["content"])
    print(name, "→", came.get("problem") or f"{len(came['orders'])} orders")

# %% [markdown]
# Text that *does* parse may still not be safe to run. Here are four such inputs, read with `json.loads` and checked
# with the `jsonschema` library, as in lesson 01. **Guess** which of them pass:

# %%
import jsonschema

fields = {"id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"}, "cents": {"type": "integer"}}
fields |= {"share": {"type": "number", "maximum": 1}, "day": {"type": "string", "format": "date"}}
flat = {"type": "object", "properties": fields}
usual = jsonschema.Draft202012Validator(flat)
for text in (
    '{"id": "ORD-20260917\\n"}',
    '{"cents": 5, "cents": 5000}',
    '{"share": NaN}',
    '{"day": "2026-02-30"}',
):
    print(text, "passes" if usual.is_valid(json.loads(text)) else "refused")
    print("   the kit:", check_tool_input(flat, text).problems[0].message.split(";")[0])

# %% [markdown]
# All four pass the usual check. Python's `$` also matches before a final newline. `json.loads` keeps the last of two
# equal keys, and accepts `NaN`, which is not JSON. And a `format` is checked only if you switch it on (jsonschema
# 4.26).

# %% [markdown]
# ### A call that is cut off is not broken
#
# The fragments of a call that `max_tokens` cut do not parse either. But the model made no mistake: your limit stopped it.
# If you tell it "invalid JSON", it writes the same long call again and hits the same limit. So look at `stop_reason`
# first, and ask again with more room ([lesson 01](01_round_trip.ipynb)).
#
# `run_agent` does this, once. Below, the mock cuts the first reply (`faults=` says which one goes wrong, and how); the
# third request follows the refund:

# %%
from course_kit.mock import faults

refund = call(
    "refund_order",
    order_id="ORD-20260917",
    amount_cents=1999,
    reason="damaged",
    note="Do NOT restock.",
)
provider = MockProvider([refund, refund, "Done."], faults={1: faults.max_tokens(0.8)})
shop.reset()
small = {"max_tokens": 60, "approver": lambda refund_call: True}
run = run_agent(provider.client(), tools=desk.values(), messages="Refund it.", **small)
print("max_tokens of each request:", [request.body["max_tokens"] for request in provider.requests])
print("refunds:", [row["note"] for row in shop.ledger("ORD-20260917")], "| stopped:", run.stopped)

# %% [markdown]
# The larger limit was for the one reply that needed it. A second cut in a row ends the run.
#
# Never decide by "does it parse?". A lenient parser, such as the one in the SDK's stream helper (anthropic 2.14), drops an
# unfinished end, and the cut call looks whole.

# %% tags=["quiz"]
quiz("04.4")

# %% [markdown]
# ## A cap
#
# Some failures do not go away. The service is now a tool: `@tool` takes the definition from the function, and
# `effect="read"` says that it changes nothing. The model is a function that calls it again, whatever it reads. Without
# a cap, only the limit on replies ends the run, here 12. (`stall_after=None` switches another guard off, which you meet
# below.)

# %% tags=["item-04.4"]
from course_kit import tool


@tool(effect="read")
def paid_for(order_id: str) -> dict:
    """Say how much was paid for an order."""
    return {"paid_cents": PAID[order_id]}


stubborn = MockProvider(lambda request: call("paid_for", order_id="ORD-20260971")).client()
options = {
    "tools": [paid_for],
    "messages": question["content"],
    "max_iterations": 12,
    "stall_after": None,
}
print(run_agent(stubborn, max_retries=100, **options))

# %% [markdown]
# (Twelve replies, eleven calls: the last call is not made, since nobody would read its result.) Each request carries
# the whole conversation, so the tokens grow faster than the calls. Now with the default, a first try and two retries.
# The trace is kept, and an evaluation counts the case as failed.

# %%
capped = run_agent(stubborn, **options)
print(capped)
print(capped.trace)

# %% [markdown]
# What counts as one failure? A model may call a tool three times in one turn, for three orders. **Guess:** three calls
# fail in one turn, then the model apologises. Does the cap end this run?

# %%
three = [call("paid_for", order_id=f"ORD-2026097{digit}") for digit in (1, 2, 3)]
apologises = MockProvider([three, "I cannot find any of the three."]).client()
print(run_agent(apologises, tools=[paid_for], messages="What was paid for the three?"))

# %% [markdown]
# It does not: failures in one turn count once, because the model had no chance to learn between them. A success of the
# tool resets the count. A turn without the tool changes nothing. Nor does a refusal: when a person or a business rule
# says no, the tool has worked.

# %% tags=["quiz"]
quiz("04.5")

# %% [markdown]
# ## Failures while it runs
#
# A valid call can still fail: the order does not exist, the carrier does not answer, half of the data is missing, this
# user is not allowed. It goes back the same way. In the kit a tool says so with `ToolError`: a code, a message, a hint,
# and whether the same call may succeed later.
#
# Nora is logged in, so the shop shows her own orders only. Three paths of `query_order`:

# %% tags=["item-04.5"]
from course_kit import ToolError
from course_kit.harness.results import error_text

hers = shop.for_customer("CUS-1001")
errors = {}
for order_id in ("ORD-20260971", "ORD-2026917", "ORD-20260914"):
    try:
        hers.query_order(order_id)
    except ToolError as error:
        errors[order_id] = error
        print(error_text(error), "\n")

# %% [markdown]
# Not found, malformed, not allowed. Each text has four parts: a code, a message, a hint, and a line that says whether
# the same call may succeed. `next_step` sends the model one of them and returns its next move:


# %%
def next_step(order_id, said):
    """What the simulated model does after `query_order` failed with this text."""
    wish = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "query_order",
        "input": {"order_id": order_id},
    }
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": said, "is_error": True}
    turns = [{"role": "user", "content": f"Please read order {order_id}."}]
    turns += [{"role": "assistant", "content": [wish]}, {"role": "user", "content": [back]}]
    tools = [desk["query_order"].definition(), desk["search_orders"].definition()]
    last = client.messages.create(
        model=DEFAULT_MODEL, max_tokens=500, tools=tools, messages=turns
    ).content[-1]
    return f"calls {last.name}" if last.type == "tool_use" else "gives up and tells the user"


# %% [markdown]
# We send parts of the text, from the bare code to all of it. At which line does the model stop repeating itself?

# %%
for order_id, error in errors.items():
    for said in (
        error.code,
        error.message,
        error_text(ToolError(error.code, error.message)),
        error_text(error),
    ):
        print(f"{next_step(order_id, said):27} ←", said.replace("\n", " / "))
    print()

# %% [markdown]
# With the bare code it repeats the call: `NOT_FOUND` is a word for programmers. With the bare message it mostly does
# the same. (One message names an input and nothing better to send: it gives up, as with "field named".) *Retryable: no*
# makes it stop. The hint shows another way: look the order up.
#
# (Simulated: "will fail again" and "do not try" keep it from repeating; a tool named in an error is called, unless the
# sentence leaves it to the user. A real model may well stop at the bare message.)

# %% [markdown]
# Not all that goes wrong is an error, and each kind needs its own words:
#
# | it happened | is it an error? | what the text must say |
# |---|---|---|
# | a read timed out | yes | how long you waited; the same call may succeed |
# | a write timed out | yes | it may or may not have taken effect: look first |
# | half of the data came | no, a result | what is there, what is missing, how to get it |
# | nothing matches a search | no, a result | an empty list, and how to search more widely |
# | it worked, but the value cannot be written as JSON | no | fix your encoder: a date, a `Decimal`, `NaN` |
#
# Forgetting the second row costs money:

# %%
sent = []


@tool
def send_email(address: str) -> str:
    """Send the receipt to an address."""
    sent.append(address)
    raise TimeoutError("no answer from the mail server after 30 s")


wish = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "send_email",
    "input": {"address": "nora@example.com"},
}
print(run_tool(wish, [send_email])["content"])
print("mails that left:", len(sent))

# %% [markdown]
# The mail is out, but the answer was lost. A text that says "please try again" sends it twice. The kit added the second
# line: it treats a tool as a write unless it says `effect="read"` (or that repeating does no harm, `idempotent=True`).
# Lesson 09 makes writes safe to repeat.

# %% tags=["quiz"]
quiz("04.6")

# %% [markdown]
# ## Who can act on it?
#
# One question decides what the model reads: *can it change what it does because of this text?* "This user may not see
# that order": yes, it can tell the user, or look elsewhere. "Our key for the carrier is refused": no, nothing that it
# sends will change that.
#
# The kit keeps the answers in a table. Ten of its rows:

# %% tags=["item-04.6"]
from course_kit.harness.failures import FAILURES

codes = "INVALID_INPUT NOT_FOUND EXCEPTION TIMEOUT BUSY".split()
codes += "DENIED NOT_ALLOWED OVER_REFUND CREDENTIALS INTERNAL".split()
print(f"{'code':14} {'who acts':9} {'again?':7} {'counts?':8} meaning")
for code in codes:
    row = FAILURES[code]
    again, counts = ("yes" if yes else "-" for yes in (row.retryable, row.counts))
    print(f"{code:14} {row.actor:9} {again:7} {counts:8} {row.meaning}")

# %% [markdown]
# *Who acts* is who could fix it. *Again?*: may the same call succeed later? (After the `TIMEOUT` of a write, look
# first.) *Counts?*: towards the cap?
#
# The *person* rows are sent to the model in full too: it has to tell the user. The *operator* rows (whoever runs the
# program) shrink to one line. Here the database is gone, and another call raises a plain `ValueError`. **Guess** what
# the model reads of each:

# %%
import sqlite3


@tool(effect="read")
def read_price(product_id: str) -> str:
    """Say what a product costs."""
    if product_id == "PRD-101":
        raise sqlite3.OperationalError("unable to open /srv/desk/secret/prices.sqlite3")
    raise ValueError("the price list refused token tk-4711")


both = [call("read_price", product_id=product) for product in ("PRD-101", "PRD-202")]
run = run_agent(
    MockProvider([both, "I cannot say."]).client(),
    tools=[read_price],
    messages="What do they cost?",
)
for event in run.trace.events:
    if event["event"] == "result":
        print("the model:", event["result"]["content"])
        print("the trace:", event["failure"], "|", event.get("details", "-").split(" (")[0], "\n")

# %% [markdown]
# The token reached the model. The rule looks at the exception's class. Bugs (`AttributeError`, `NameError`,
# `ImportError`, …), running out of memory and the errors of a database module become `INTERNAL`. A refused key
# (`AuthenticationError`, `PermissionDeniedError`, status 401) becomes `CREDENTIALS`. **Every other exception goes to
# the model with its type and message**: `KeyError: 'ORD-20260971'` may well be about the input.
#
# So keep secrets out of messages. Where a library puts one in, catch its exception in the tool and raise a `ToolError` in
# your own words.

# %% [markdown]
# MCP, the protocol for tool servers, draws the same line: a *tool error* is a result with `isError: true`, for the
# model; a *protocol error* is for the program. An unknown tool is a protocol error in every revision of the
# specification (2024-11-05 to 2026-07-28). Arguments that do not fit were one, too, and are tool errors since 2025-11-25.
# The Python server answers both with a result (mcp 2.3.0).

# %% [markdown]
# ## Never
#
# Four things found in real systems. The first two are texts. What does the model do with each, and with the kit's
# sentence?

# %% tags=["item-04.7"]
import traceback

try:
    hers.query_order("ORD-20260971")
except ToolError as error:
    trace, sentence = traceback.format_exc(), error_text(error)
for name, said in (
    ("a stack trace", trace),
    ("bare JSON", '{"error": "operation failed"}'),
    ("the sentence", sentence),
):
    print(f"{name:14}", next_step("ORD-20260971", said), "| names our files:", "shop.py" in said)

# %% [markdown]
# The stack trace is long, names our files, and says nothing about what to try (the hint is not part of it): here the
# model gives up. *Operation failed* gives it nothing at all, so it calls again.
#
# The third and the fourth are about what may be repeated. A customer wants 50.00 back for a cup that cost 19.99. The
# shop says no. How many calls does each way to say it cost?


# %%
def calls_when(error):
    @tool
    def refund_order(order_id: str, amount_cents: int) -> dict:
        """Pay money back for an order. amount_cents: 19.99 is 1999."""
        raise error

    asked = "Please refund 50.00 for order ORD-20260917."
    run = run_agent(client, tools=[refund_order], messages=asked, stall_after=None)
    return sum(event["event"] == "result" for event in run.trace.events)


no = "5000 cents are too much: 1999 were paid"
print("a business refusal:          ", calls_when(ToolError("OVER_REFUND", no)))
print("the same, marked retryable:  ", calls_when(ToolError("OVER_REFUND", no, retryable=True)))
print("as a failure of the server:  ", calls_when(RuntimeError("HTTP 500 Internal Server Error")))

# %% [markdown]
# (Simulated.) A call that cannot succeed is made three times when its error is marked retryable or looks like a 500.
# With a thousand users that is a storm, and it hits the service when it is weakest. Set `retryable` only where the same
# call may really succeed later.

# %% tags=["quiz"]
quiz("04.7")

# %% [markdown]
# ## The same tool, twenty times
#
# This is the most common complaint. Take a patient model, the bare loop of lesson 01, and a tool that always gives the
# same answer:


# %% tags=["item-04.8"]
def count_calls(content, is_error=False, limit=20):
    """How often the model calls, in the loop of lesson 01."""
    patient, talk = MockProvider(Simulated(patience=100)).client(), [question]
    for number in range(limit):
        said = patient.messages.create(
            model=DEFAULT_MODEL, max_tokens=500, tools=[PAID_FOR], messages=talk
        )
        if said.stop_reason != "tool_use":
            return number
        block = {
            "type": "tool_result",
            "tool_use_id": said.content[-1].id,
            "content": content,
            "is_error": is_error,
        }
        talk += [said.to_param(), {"role": "user", "content": [block]}]
    return limit


# %% [markdown]
# Five answers, from nothing at all to a clear instruction. Which of them end it before we stop counting at twenty?

# %%
print("an empty answer ", count_calls(""))
print("a bare null     ", count_calls("null"))
print('"failed"        ', count_calls("failed", is_error=True))
print("a reason        ", count_calls("There is no order ORD-20260971.", is_error=True))
print(
    "and what to do  ",
    count_calls("There is no order ORD-20260971. Do not try again.", is_error=True),
)

# %% [markdown]
# The model has nothing new to go on. (Simulated: this model repeats a call unless the text names an input or a tool, or
# says not to. A real one may stop at the bare reason; do not count on it.)
#
# | cure | for example |
# |---|---|
# | a reason with its next step | "do not try again: let the user check the number" |
# | an empty list instead of `null` | `{"orders": [], "total": 0}`, and how to search more widely |
# | a look-up tool to ask first | `search_orders`, named in the hint |
# | the task split into steps | first find the order, then say what was paid |
#
# And a guard, in case you forget. The cap counts failures. A *stall* is the same call with the same answer, three times
# in a row:


# %%
@tool(effect="read", name="paid_for")
def says_nothing(order_id: str) -> None:
    """Say how much was paid for an order."""


patient = MockProvider(Simulated(patience=100)).client()
print(run_agent(patient, tools=[says_nothing], messages=question["content"]).stopped)

# %% [markdown]
# An empty answer is not a failure, so the cap would never have noticed it. Lesson 09 has more on stalls.

# %% tags=["quiz"]
quiz("04.8")

# %% [markdown]
# ## Pydantic as the check
#
# Where the inputs are a Pydantic model ([lesson 02](02_schema_design.ipynb)), it can be the check. Its `ValidationError`
# lists every fault with place and message, so two lines make a good text:

# %% tags=["item-04.9"]
from typing import Literal

from pydantic import BaseModel, Field, ValidationError


class Refund(BaseModel):
    order_id: str = Field(pattern="^ORD-[0-9]{8}$")
    amount_cents: int = Field(ge=1)
    reason: Literal["damaged", "not_received", "wrong_item", "other"]


try:
    Refund.model_validate({"order_id": "20260917", "amount_cents": 19.99, "reason": "broken"})
except ValidationError as error:
    for found in error.errors(include_url=False):
        print(".".join(map(str, found["loc"])), "-", found["msg"])

# %% [markdown]
# (`str(error)` also prints class names and URLs: tokens that help nobody.)
#
# **Guess:** the model sends `"5"`, `True` and `5.0` as the amount. Three checks look at each: Pydantic by default
# (its *lax* mode), Pydantic with `strict=True`, and the check against the schema. Who refuses what?

# %%
amount = {"type": "object", "properties": {"amount_cents": {"type": "integer", "minimum": 1}}}


def pydantic_makes(value, **mode):
    order = {"order_id": "ORD-20260917", "reason": "other", "amount_cents": value}
    try:
        return Refund.model_validate(order, **mode).amount_cents
    except ValidationError:
        return "refused"


for value in ("5", True, 5.0):
    lax, exact = pydantic_makes(value), pydantic_makes(value, strict=True)
    schema = "accepted" if check_tool_input(amount, {"amount_cents": value}).ok else "refused"
    print(f"{value!r:5} lax: {lax}  strict: {exact}  schema: {schema}")

# %% [markdown]
# Lax mode converts what it can. `"5"` becomes 5, `True` becomes 1, without any warning. This hides a disagreement
# between definition and code, and a person who approves the call sees a different value from the one that runs. Use
# `strict=True`, or check against the schema first. (They differ on `5.0`: for JSON Schema only the value counts.)
#
# (The SDK's own `@beta_tool` validates with Pydantic in lax mode. When that fails, the model reads "Invalid arguments for
# function …" without any field, as of SDK 2.14.)

# %% tags=["quiz"]
quiz("04.9")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | 400 `content cannot be empty if is_error is true` | Somebody sent `str(error)` of an exception without a message. |
# | 400 `all content must be type text if is_error is true` | A screenshot in an error: text only. |
# | 400 `tool_use ids were found without tool_result blocks` | A call was skipped with `continue`. Answer each one. |
# | the program ends with `KeyError` | Nothing catches what a tool raises. |
# | the same call again and again | Read the last result as the model does. Does it say anything? |
# | it repairs one field, then the next, then the cap | Your check stops at the first fault. |
# | it gives up at once | The field is named, but not what is wanted. |
# | it repeats what the business refused | `retryable`, or a 500 for a plain no. |
# | an amount of 1 that nobody wrote | `true`, in lax mode. |
# | a cut call, over and over | It was answered as "invalid JSON". Ask again with more room. |
# | `stopped` is `max_retries: …` | The trace has every text the model read. Start with the first. |
#
# (The first two rows are known from reports, the third is documented.) Every complaint of the API is in the
# [index](90_glossary.ipynb).
#
# ## The same on the live API
#
# The main experiment, small: one refused refund, told in the four texts. What does a real model send next? (Thinking is
# switched off, so that 300 tokens are enough.) One reply each proves little; repeat it before you draw conclusions.

# %% tags=["live"]
from course_kit import announce, connect

announce(tokens=8_000)
live = connect()
for name, write in TEXTS.items():
    told = "\n".join(write(fault) for fault in DESK.faults(wrong_call))
    back = {
        "type": "tool_result",
        "tool_use_id": wrong_call["id"],
        "content": told,
        "is_error": True,
    }
    turns = [
        *asked,
        {"role": "assistant", "content": [wrong_call]},
        {"role": "user", "content": [back]},
    ]
    request = {"tools": DESK.tools, "messages": turns, "thinking": {"type": "disabled"}}
    last = live.messages.create(model=DEFAULT_MODEL, max_tokens=300, **request).content[-1]
    print(
        f"{name:18}", last.input if last.type == "tool_use" else last.text.replace("\n", " ")[:90]
    )

# %% [markdown]
# ## Practice
#
# [Exercises 04](../exercises/04_errors.ipynb): write `check_tool_input` and its messages by hand, repair a service that
# crashes with `KeyError` twice, and write error texts until a model recovers.
#
# ## Recap
#
# A failure is a result: it goes back under the call's id with `is_error` and a text, whether the input did not fit, was
# not JSON, or the tool failed while it ran. That text is the next turn's prompt, so it says where, what was wanted,
# what came and what to try, for all faults at once. A call cut by `max_tokens` is not the model's mistake: ask again
# with more room. What the model cannot change it reads in one line; the details go to the trace. A cap ends runs that
# keep failing: failures are counted by tool and by turn. When a call is repeated twenty times, the cause is mostly its
# answer.
#
# New words: *error text*, *recovery*, *near match*, *retry cap*, *retryable*, *operator*, *stall*, *lax mode*. They are in
# the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **What does a failing tool do?** It answers. The call gets its result, marked as an error, and the text says where
# > it failed, why, and what to try next, all faults at once. Who can act decides what the model reads: what it can
# > change, in full; what only we can fix, in one line, with the details in the trace. And there is a cap: two retries
# > of a tool, then the run ends and counts as failed.
#
# Two answers you will hear:
#
# - *"It raises, and we log it."* The log helps you tomorrow. The model, which could have corrected it in the next turn,
#   never sees it.
# - *"We retry three times."* The same call, with nothing new? That helps when a line was busy, and nowhere else.
#
# Next come several calls in one turn ([lesson 05](05_parallel_calls.ipynb)), where one failure must not take the others with
# it.

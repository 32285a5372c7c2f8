# %% [markdown]
# # 09 · Retries, idempotency, stalls
#
# You will see one refund leave the till twenty-seven times, though every part of the program does what it was told.
# Then you make it leave once, even when the program is killed in the middle of it.
#
# After this lesson you can
#
# - **count** how often one call is really made when several layers repeat it,
# - **decide** which layer may repeat what,
# - **make** an idempotency key, and say where it has to be made,
# - **write** a refund that survives a crash at any line,
# - **act** rightly when nobody knows whether a call took effect,
# - **tell** an agent that is stuck from one that waits.
#
# About 85 minutes, in two sittings of 50 and 35; the place to stop is marked. The exercises come on top. Lessons 01, 04
# and 06 come before.

# %% tags=["setup"]
import json

from course_kit import MockProvider, ToolError, call, open_shop, quiz, run_agent, run_tool, show, tool

shop = open_shop()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("09.recall")

# %% [markdown]
# ## The answer that got lost
#
# Tomás bought six tea cups and one came chipped. The desk gives him 3.50 back. Two bad days are played here: on the first
# the *request* is lost on its way to the shop, on the second the shop's *answer* is lost on its way back.

# %%
ORDER, CENTS = "ORD-20260914", 350


def request_lost():
    raise TimeoutError("no answer within 10 s")


def answer_lost():
    shop.refund_order(ORDER, CENTS, "damaged")
    raise TimeoutError("no answer within 10 s")


# %% [markdown]
# **Guess:** what does your program see on each day, and what does the ledger hold?

# %%
for day in (request_lost, answer_lost):
    shop.reset()
    try:
        day()
    except TimeoutError as error:
        print(f"{day.__name__:13} you see: {error}   refunds in the ledger: {len(shop.ledger(ORDER))}")

# %% [markdown]
# You see the same, and the world is not the same. Whoever now "just tries again" is right on the first day and pays twice
# on the second. That is the whole trouble of this lesson.
#
# ## Three layers, each with three attempts
#
# Three parts of a program may repeat a call. Each has a duty of its own, and none of them is foolish:
#
# | layer | what it repeats | when |
# |---|---|---|
# | transport, such as the HTTP client in your tool | one request | connection broken, 429, some 5xx |
# | tool | its whole call, requests and all | it timed out, or the service says "busy" |
# | model | it writes another call | it read the error, and thinks it worth a try |

# %% [markdown]
# Here is a layer: the same function, tried up to three times. (Three *attempts* are a first try and two *retries*.)


# %% tags=["item-09.1"]
def three_times(function):
    def tried():
        for _ in range(3):
            try:
                return function()
            except TimeoutError as error:
                lost = error
        raise lost

    return tried


transport = three_times(answer_lost)
in_a_tool = three_times(transport)

# %% [markdown]
# **Guess** the number of refunds for one attempt, for the transport's layer, and for both layers:


# %%
def refunds_of(function):
    """Call it on a fresh morning, and count the refunds in the ledger."""
    shop.reset()
    try:
        function()
    except TimeoutError:
        pass
    return len(shop.ledger(ORDER))


counts = {
    "one attempt": refunds_of(answer_lost),
    "transport": refunds_of(transport),
    "transport, in a tool": refunds_of(in_a_tool),
}
counts

# %% [markdown]
# 3 × 3 = 9: layers multiply, for each repeats all that is below it. Now the third one. The model is scripted: it calls
# again whenever it reads an error. It would go on, but `run_agent` ends a run whose tool failed in three turns (lesson
# 04).


# %%
@tool
def refund_cup() -> None:
    """Pay 3.50 back for a damaged cup of ORD-20260914."""
    in_a_tool()


shop.reset()
again = MockProvider([call("refund_cup")] * 3).client()
run = run_agent(again, tools=[refund_cup], messages="A cup came chipped. Refund 3.50, please.")
counts["transport, in a tool, of a model"] = len(shop.ledger(ORDER))
order = shop.query_order(ORDER)
print(run.stopped, "| refunds:", len(shop.ledger(ORDER)), "| paid back:", order["refunded_cents"], "cents")

# %%
from course_kit.classroom.plots import plot_layers

show(plot_layers(counts, "Refunds of one cup, three attempts in each layer", "refunds in the ledger"))

# %% [markdown]
# Nobody wrote a loop of 27. Two people each set "3 attempts" in their own file, and the third three is a default of the
# loop that nobody looked at. And the run ended as a failure: as far as the program knows, nothing was paid.
#
# The shop's rule "never more than was paid" did not help: the order is larger than that. A rule like this catches a
# second refund only when the first took all there was.

# %% [markdown]
# ### One word, three settings
#
# | setting | what it counts | of what | default |
# |---|---|---|---|
# | `max_retries` of the SDK's client | retries | a request to the *model* | 2 (anthropic 2.14) |
# | `max_retries` of `run_agent` | retries | turns in which one tool failed | 2 |
# | `attempts` of `repeated` (next) | attempts, the first too | a call of one tool | 3 |
#
# All of them mean three tries. The SDK repeats after a broken connection, 408, 409, 429 and 5xx. These retries run no
# tool again: a reply that never came holds no call. They cost time, and perhaps tokens. What multiplies sits below your
# tool and above it.

# %% tags=["quiz"]
quiz("09.1")

# %% [markdown]
# ## Only one layer repeats writes
#
# A read may be repeated by anybody: it costs time, no more. (A tool that reads says `effect="read"`, lesson 04.)
# `repeated` gives a tool whose call is made again after a failure that passes: a time-out, a broken connection, an error
# that says `retryable`.
# It waits in between, longer each time and by a random part, so that a thousand callers do not come back at the same
# moment. (The waiting is done by a library, `tenacity`.)

# %% tags=["item-09.2"]
from course_kit.harness.retries import repeated

tries, free_from = [], 3  # the line is busy until the third attempt


@tool(effect="read")
def paid_for(order_id: str) -> int:
    """Say how much was paid for an order, in cents."""
    tries.append(order_id)
    if len(tries) < free_from:
        raise TimeoutError("the line is busy")
    return shop.query_order(order_id)["paid_cents"]


patient = repeated(paid_for, attempts=3, first_wait=0.01)
print(patient(ORDER), "after", len(tries), "attempts")

# %% [markdown]
# Now the line stays busy, and all attempts fail. What does the *model* read? If it read only "time-out", it would try
# three times three. So the layer below says what it has done, and to leave it for now:

# %%
free_from = 1_000  # the switch: busy for the next thousand attempts
wish = {"type": "tool_use", "id": "toolu_1", "name": "paid_for", "input": {"order_id": ORDER}}
print(run_tool(wish, [patient])["content"])

# %% [markdown]
# Layers that know of each other do not multiply. **Guess** what `repeated` says to a tool that writes, and to one that is
# repeated already:

# %%
for one in (refund_cup, patient):
    try:
        repeated(one)
    except ValueError as error:
        print("-", error)

# %% [markdown]
# For writes the rule has two halves. *One* layer repeats, the others let the failure through. And where nobody knows
# whether it was done, that layer repeats only what is **idempotent**: done twice, it has done no more than once.
#
# | one request failed | was it done? | may a plain write be sent again? |
# |---|---|---|
# | the connection was refused; 429 | no: it was turned away | yes, by the transport: it knows this one request |
# | time-out, connection broken, 500 | nobody knows | no: first a key, or a look |
# | "more than was paid", "no such order" | no, and it never will be | no: the answer is no |
#
# `repeated` sits one layer higher. It sees a whole *call*, which may hold several requests: if the second was turned
# away, the first has taken effect. So it refuses a plain write whatever the failure.

# %% [markdown]
# Some writes are idempotent by nature. **Guess** what the second cancellation says:

# %%
shop.reset()
for number in (1, 2):
    said = shop.cancel_order("ORD-20260918", "changed_mind")
    print(number, said["status"], "| changed:", said["changed"])

# %% [markdown]
# Cancelled is cancelled. A refund is not like that. It has to be made so.

# %% tags=["quiz"]
quiz("09.2")

# %% [markdown]
# ## A name for the operation
#
# An **idempotency key** is a name that the caller sends along: "this is refund 4711; if you have seen it, do nothing and
# tell me what came of it". Many payment services take one. Our shop does, too.
#
# The name has to be made somewhere. Four places come to mind:
#
# | made new for | in a program that is | the layers above it are |
# |---|---|---|
# | each request | a `uuid4()` in the HTTP client | tool, model |
# | each attempt of the tool | a `uuid4()` in the tool's loop | tool, model |
# | each call of the model | the `id` of its `tool_use` block | model |
# | the task | made from ticket and step | none |

# %% [markdown]
# The layers are those of before: three attempts of a tool, each with three requests. Every answer is lost, as before.
# Only the form of the key changes. What is named in it makes it new: a key with `{request}` in it is another one each
# time. (`current_call()` says, inside a tool, which call of the model this is.)

# %% tags=["item-09.3"]
from course_kit.harness.running import current_call


def refund_tool(form):
    @tool
    def refund_with_key() -> None:
        """Pay 3.50 back for a damaged cup of ORD-20260914."""
        for attempt in (1, 2, 3):  # the tool's attempts
            for request in (1, 2, 3):  # the transport's requests
                key = form.format(call=current_call().tool_use_id, attempt=attempt, request=request)
                reached.append(key)
                shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)  # and its answer is lost
        raise TimeoutError("no answer within 10 s")

    return refund_with_key


# %% [markdown]
# **Write down four numbers** before you run this: how many refunds for each place?

# %%
reached = []
places = {
    "each request": "{call}-{attempt}-{request}",
    "each attempt of the tool": "{call}-{attempt}",
    "each call of the model": "{call}",
    "the task": "ticket-118/refund cup",
}
for place, form in places.items():
    shop.reset()
    reached.clear()
    again = MockProvider([call("refund_with_key")] * 3).client()
    run_agent(again, tools=[refund_tool(form)], messages="A cup came chipped. Refund 3.50, please.")
    print(f"{place:26} calls that reached the shop: {len(reached)}   refunds: {len(shop.ledger(ORDER))}")

# %% [markdown]
# Every row makes 27 calls: a key makes repetition harmless, not cheap. A key protects from the layers *below* the place
# where it is made, and from none above. A key that is new for each request protects from nothing; it only looks
# professional. The id of the model's call is stable while the call is repeated, and a second call has another. Only a
# name that comes from the *task* stands above all three.

# %% tags=["quiz"]
quiz("09.3")

# %% [markdown]
# ### What goes into it
#
# Task, step, and the inputs that make it *this* operation. Never a clock and never chance: after a crash nobody could
# make the name again. By hand it is one line. (`sort_keys`, since the order of fields means nothing.)
#
# Now the trap: a model calls a second time and words its note otherwise. **Guess** which of these names are equal:


# %%
def key_by_hand(task, step, inputs):
    return f"{task}/{step}/{json.dumps(inputs, sort_keys=True)}"


def without_note(inputs):
    return {name: value for name, value in inputs.items() if name != "note"}


first = {"order_id": ORDER, "amount_cents": CENTS, "note": "Cup chipped."}
second = {"note": "It arrived chipped.", "amount_cents": CENTS, "order_id": ORDER}
for inputs in (first, second):
    print(key_by_hand("ticket-118", "refund cup", inputs))
    print(key_by_hand("ticket-118", "refund cup", without_note(inputs)))

# %% [markdown]
# With the note inside, every new wording is a new refund. Leave out what may vary in the same operation.
#
# And if two cups of one order are chipped, each worth 3.50? That is two operations, so two *steps*. Task and step come
# from your program, from the ticket and its plan, not from the model. The kit's form of a key has a short fingerprint
# in place of the inputs. Task and step stay readable: whoever finds the key in the ledger can find the ticket.

# %%
from course_kit.harness.retries import idempotency_key

for step in ("refund cup 1", "refund cup 2"):
    print(idempotency_key("ticket-118", step, without_note(first)))

# %% [markdown]
# **Mind this:** the kit's own `desk_tools(shop, task="ticket-118")` puts task, order and amount into its key, and *no
# step*. **Guess** what the model reads when it refunds the second cup:

# %%
from course_kit import desk_tools

shop.reset()
desk = {one.name: one for one in desk_tools(shop, task="ticket-118")}
for cup in ("first cup ", "second cup"):
    print(cup, "→", desk["refund_order"](ORDER, CENTS, "damaged")["refund_id"])
print("refunds in the ledger:", len(shop.ledger(ORDER)))

# %% [markdown]
# A success, with the first cup's receipt: the model will tell the customer that both are paid. (With another reason the
# shop refuses it: `KEY_REUSED`, which comes next.) These tools serve one refund of an amount for each ticket. Two cups are one
# refund of 7.00 there, or need a tool of your own whose key has a step.

# %% [markdown]
# ### The store enforces it
#
# `if key in seen: return` is not enough: two processes look at the same moment, both see nothing, both pay. The ledger's
# own table has to refuse the second row.
#
# Here is a key with a slip in it: the amount was forgotten. **Guess** what it brings the second time, and with another
# amount:

# %%
shop.reset()
key = idempotency_key("ticket-118", "refund cup", {"order_id": ORDER})
for cents in (350, 350, 3500):
    try:
        receipt = shop.refund_order(ORDER, cents, "damaged", idempotency_key=key)
        print(cents, "→", receipt["refund_id"])
    except ToolError as error:
        print(cents, "→", error.code, "-", error.message)

# %% [markdown]
# The first result is returned, the same receipt. Another amount under one name is a bug of the caller, so it is refused
# rather than paid. **Guess:** and if somebody writes past the shop, straight into its table?

# %%
import sqlite3

columns = "order_id, amount_cents, reason, note, idempotency_key, created_at"
with shop.connection() as db:
    try:
        db.execute(f"INSERT INTO refunds ({columns}) SELECT {columns} FROM refunds WHERE idempotency_key = ?", [key])
    except sqlite3.IntegrityError as error:
        print("the same row once more →", error)

# %% [markdown]
# That is no `if` of the shop: the table has a `UNIQUE` constraint on the key.
#
# Now one layer may repeat the refund. `idempotent=True` is your promise, nobody checks it. **Guess** the two numbers:

# %%
shop.reset()
reached.clear()


@tool(effect="irreversible", idempotent=True)
def refund_safely() -> str:
    """Pay 3.50 back for the first damaged cup of ORD-20260914."""
    key = idempotency_key("ticket-118", "refund cup 1", {"order_id": ORDER, "amount_cents": CENTS})
    receipt = shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)
    reached.append(key)
    if len(reached) < 3:  # two answers are lost
        raise TimeoutError("no answer within 10 s")
    return receipt["refund_id"]


print(repeated(refund_safely, first_wait=0.01)(), "| attempts:", len(reached), "| refunds:", len(shop.ledger(ORDER)))

# %% [markdown]
# ### Where the other side keeps no keys
#
# The mail service knows no keys. Then you keep them: `KeyStore` is a small SQLite table with the same constraint. It
# notes the key, *then* does it, then notes the result. And it forgets a result after a while, by default a week. The
# clock is ours here. **Guess** how many mails have left at the end:

# %%
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from course_kit.harness.retries import KeyStore

now, sent = datetime(2026, 9, 20, tzinfo=UTC), []
keys = KeyStore(Path(tempfile.mkdtemp()) / "keys.sqlite3", clock=lambda: now)


def send_mail():
    sent.append("3.50 are on their way.")
    return {"mail": len(sent)}


print("at once   ", keys.once("ticket-118/mail", {"to": "tomas"}, send_mail))
now += timedelta(days=6)
print("in 6 days ", keys.once("ticket-118/mail", {"to": "tomas"}, send_mail))
now += timedelta(days=2)
print("in 8 days ", keys.once("ticket-118/mail", {"to": "tomas"}, send_mail))

# %% [markdown]
# Two. After its time a key is a new key, and what it names happens again. A day to a week is usual. Make it longer than
# the longest pause after which the same work may be begun again: a crash that somebody mends on Monday, an approval
# that waits over the weekend. For these a day is too short.

# %% tags=["quiz"]
quiz("09.4")

# %% [markdown]
# **A good place to stop for today.** The [exercise](../exercises/09_retries.ipynb) 9.1 needs no more than this.

# %% [markdown]
# ## The crash button
#
# A time-out at least leaves your program alive. Now the process itself dies: out of memory, a new version is rolled out,
# somebody trips over a cable. A program like this keeps *notes*, a dict on the disk, to know after a restart what it has
# done:

# %%
from course_kit.classroom.crash import PROGRAMS, crash_button, everywhere, numbered

print(numbered("note afterwards"), "\n")
print(numbered("note before"))

# %% [markdown]
# One notes after paying, one before. The button starts a real process, kills it (`kill -9`: no `except`, no `finally`)
# just before a line, and starts it again from the top. **Guess** for both: killed before line 5, between paying and
# noting, what does the ledger hold in the end?

# %%
button = crash_button()
print(button.kill(5, "note afterwards"))
print(button.kill(5, "note before"))

# %% [markdown]
# Two steps, two places to write to, and a gap between them. Whichever comes first, there is a line on which it goes
# wrong: twice, or never. You can make the gap small. You cannot close it by ordering the lines.
#
# With a key there is nothing to close: begin again from the top, and pay "again". The shop recognises it.

# %%
print(numbered("with a key"))
by_line = everywhere(PROGRAMS)

# %%
from course_kit.classroom.plots import plot_ledger

show(plot_ledger(by_line, "How often the money left"))

# %% [markdown]
# Each field is a process that was killed there and taken up again. (Inside line 4 there are many more places to die; the
# course's tests kill at random ones.)
#
# ### Play with it
#
# Change the program, choose a line, kill it. (Without a mouse: `button.kill(4)`, `button.everywhere()`.) Three to try,
# each killed just after the payment:
#
# - a key from `uuid.uuid4()` (write `import uuid` inside);
# - no key, and the note in a `finally`;
# - no key, and a look ahead of the refund: `if not shop.ledger(ORDER):`.
#
# The third survives every line of this program. What it does not survive comes under "look before you write".

# %%
button = crash_button("with a key")
button

# %% [markdown]
# The kit's loop has the same memory. With a store (lesson 06) it writes down that a call *begins* before it runs. When
# it is taken up and finds a call begun without a result, it runs it again if the tool is a read or says
# `idempotent=True`. Otherwise the model reads that nobody knows. The refund tool of `desk_tools` says `idempotent=True`
# when it has a task; without one it sends no key, and does not.

# %% [markdown]
# ## Nobody knows: look before you write
#
# No key on the other side, and the call timed out. Now the **outcome is unknown**, and the honest state has a name of
# its own, `OUTCOME_UNKNOWN`: neither done nor failed. `KeyStore` keeps it: a key that was begun and never reported is
# not begun again.


# %% tags=["item-09.4"]
def mail_twice(key, do):
    for number in (1, 2):
        try:
            keys.once(key, {"to": "nora"}, do)
        except TimeoutError as error:
            print(f"{number}. TimeoutError: {error}")
        except ToolError as error:
            print(f"{number}. {error.code}: {error.message}")


def mail_times_out():
    send_mail()
    raise TimeoutError("no answer within 10 s")


mail_twice("ticket-119/mail", mail_times_out)

# %% [markdown]
# And if your function knows that nothing was done? Then it raises a `ToolError`: to the store that is its word for it,
# and the key is free again (unless the code is one like `TIMEOUT`). Every other exception leaves the outcome unknown, a
# refused connection too: as with `repeated`, an earlier request of the same call may have got through.


# %%
def mail_turned_away():
    raise ToolError("BUSY", "the mail service takes no mail now", retryable=True)


mail_twice("ticket-120/mail", mail_turned_away)

# %% [markdown]
# The first mail is still unknown. Somebody looks: you, a person at the desk, or the model with a tool that reads. Then
# the store is told what was found, `settle(key, result)` if it was done, `forget(key)` if not.

# %%
print("the last mail that left: number", len(sent))
keys.settle("ticket-119/mail", {"mail": len(sent)})
print(keys.once("ticket-119/mail", {"to": "nora"}, mail_times_out), "| mails:", len(sent))

# %% [markdown]
# Is a look as good as a key? Here a request is slow: it waits somewhere on its way and arrives after you gave up. (The
# delay is played by hand: the first request lies in a list, and is handed to the shop at the end.) **Guess** the two
# numbers:

# %%
for key in (None, "ticket-118/refund cup"):
    shop.reset()
    on_its_way = [key]  # the first request: no answer, and you stop waiting
    looked = len(shop.ledger(ORDER))  # you look
    shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)  # nothing there, so you pay again
    for late in on_its_way:  # and now the first one arrives
        shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=late)
    print(f"key {key!s:22} you saw {looked} refunds, in the end there are {len(shop.ledger(ORDER))}")

# %% [markdown]
# A look shows what *has* happened, not what is still coming. It is far better than a blind second try: wait, look, and
# when it matters let a person decide. Where a key can be had, take the key.

# %% tags=["quiz"]
quiz("09.5")

# %% [markdown]
# ## Stuck, or only waiting?
#
# The last repeater is the model. Two agents ask for a job's status until it is done. On one day the answer moves, on the
# other it does not. (The model is a function: it calls again until it reads "done", or may not call any more.)

# %% tags=["item-09.5"]
MOVING = ["10%", "35%", "60%", "90%", "done"]
SILENT = ["no new output"] * 20


def asks_again(request):
    finished = "done" in str(request["messages"][-1]["content"])
    told = request.get("tool_choice") == {"type": "none"}
    return "Here is what I know." if finished or told else call("job_status", id=7)


def ask_about(answers, **options):
    left, provider = iter(answers), MockProvider(asks_again)

    @tool(effect="read")
    def job_status(id: int) -> str:
        """Say how far a job is."""
        return next(left)

    run = run_agent(provider.client(), tools=[job_status], messages="How far is job 7?", **options)
    return run, provider.requests


# %% [markdown]
# Both make the same call with the same inputs again and again. **Guess** how each run ends:

# %%
for answers in (MOVING, SILENT):
    run, requests = ask_about(answers)
    print(f"{run.stopped:20}", run.trace.summary())

# %% [markdown]
# *Same* means tool, inputs **and** result. Five different results are polling, and nobody's business. Three equal
# rounds in a row count as a **stall**: nothing new came in, so another call is not likely to bring any. It is a guess.
# A job that is merely slow looks the same; then raise `stall_after`, which is 3, or let the tool wait. By hand:


# %%
def one_round(name, inputs, result):
    return json.dumps([name, inputs, result], sort_keys=True)


def stalled(rounds, limit=3):
    return len(rounds) >= limit and len(set(rounds[-limit:])) == 1


print("polling:", stalled([one_round("job_status", {"id": 7}, percent) for percent in MOVING]))
print("silence:", stalled([one_round("job_status", {"id": 7}, "no new output") for _ in range(3)]))
print("keys turned:", one_round("find", {"a": 1, "b": 2}, "x") == one_round("find", {"b": 2, "a": 1}, "x"))

# %% [markdown]
# And then? A bare stop leaves the customer with nothing, though the model may know a good part. So it is told **once** to
# close. Here is the last request of the silent run: what stands in it behind the result, and may the model still call?

# %%
last = requests[-1].body["messages"][-1]["content"]
print(last[-1]["text"])
print("tool_choice:", requests[-1].body["tool_choice"], "| tools:", len(requests[-1].body["tools"]))
print("the answer: ", run.text)

# %% [markdown]
# Sum up what is known, or say what is missing: the **closing instruction**. The tool is still in the request.
# `tool_choice: none` bars every call, so the next reply is an answer.
#
# ### A limit of steps is a net
#
# Many loops have only `max_iterations`. **Guess** what it costs here, with a limit of 12 and no eye for stalls. And
# with a budget of 3,000 tokens instead?

# %%
for options in (
    {"stall_after": 3},
    {"stall_after": None, "max_iterations": 12},
    {"stall_after": None, "max_run_tokens": 3_000},
):
    run, requests = ask_about(SILENT, **options)
    print(f"{run.stopped:20} {run.trace.summary()} | {run.text or '(no answer)'}")

# %% [markdown]
# Such a limit bounds the count, not the waste: it cannot tell twelve useful steps from twelve equal ones, and it ends
# with nothing in hand. Keep it, as the net below the rope. `stopped` is the name of the limit that was used up. (Twelve
# replies and eleven calls: nobody would have read the twelfth result, so that call was not made. The tokens are the
# mock's estimate. They grow faster than the steps, since every request carries all that was said.)

# %% [markdown]
# All this comes late. The first thing to mend lies before it. An agent repeats itself because it has *nothing new to go
# on*:
#
# | it reads | so it calls again | better |
# |---|---|---|
# | `failed` | perhaps this time | a code, a reason, a hint (lesson 04) |
# | `no new output` | perhaps by now | a tool that waits itself, or says when to ask next |
# | an empty list | the same search | "no match; search by customer instead" |
# | a time-out of a write | the same write | "may have taken effect: look first", and a tool to look with |
#
# The last column is where to begin, not a promise. Whether a text helps *your* model is to be measured (lesson 10).

# %% tags=["quiz"]
quiz("09.6")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | one ticket, several equal refunds | Count the layers that repeat. Is there a key, and where is it made? |
# | keys, and still double refunds | A new key for each attempt, or a note or a time in it. |
# | a double refund a week later | The key had expired, and an old job was started again. |
# | `KEY_REUSED` | Two operations under one name: the step is missing in it. |
# | a second cup is not refunded | Its refund has the name of the first: the step is missing here, too. |
# | `OUTCOME_UNKNOWN` | Nobody reported. Look first. Then `settle`, or `forget`: without the look that is a blind second try. |
# | `repeated` refuses a tool | It writes, and has no key yet. |
# | a tool answers after minutes | Layers multiply waiting, too: count time-outs times attempts. |
# | a poll is taken for a stall | The result is the same each time. Let it tell progress, or raise `stall_after`. |
#
# ## The same on the live API
#
# A refund times out, once told in the bad way and once in the good one. What does a real model call next? (The simulated
# one pays again both times: it has no notion of looking first.) One reply each proves little; repeat it before you
# conclude.

# %% tags=["live"]
from course_kit import DEFAULT_MODEL, announce, connect

announce(tokens=6_000)
live, desk = connect(), [one.definition() for one in desk_tools(shop)]
asked = {"role": "user", "content": f"One cup of {ORDER} came chipped. Please refund 3.50."}
refund = {"order_id": ORDER, "amount_cents": CENTS, "reason": "damaged"}
wish = {"type": "tool_use", "id": "toolu_1", "name": "refund_order", "input": refund}
for said in ("Time-out.", "Time-out. It may or may not have taken effect: look before you call again."):
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": said, "is_error": True}
    turns = [asked, {"role": "assistant", "content": [wish]}, {"role": "user", "content": [back]}]
    request = {"tools": desk, "messages": turns, "thinking": {"type": "disabled"}}  # 400 tokens are enough then
    reply = live.messages.create(model=DEFAULT_MODEL, max_tokens=400, **request)
    print([block.name if block.type == "tool_use" else block.type for block in reply.content], "after:", said)

# %% [markdown]
# ## Practice
#
# [Exercises 09](../exercises/09_retries.ipynb): a key that is stable and three that are not, a refund that survives a
# crash at any line, and a stall detector that lets polling live.
#
# ## Recap
#
# After a time-out nobody can tell a lost request from a lost answer. Layers that repeat multiply: three attempts in
# each of three make twenty-seven. So one layer repeats writes, and after a time-out only idempotent ones. A refund
# becomes idempotent by a key: made of task, step and what makes the operation this one, above all layers that repeat,
# enforced by a unique constraint, kept longer than any retry lives. Without a key the outcome is unknown: look first,
# and know that a look misses what is still on its way. An agent is stuck when tool, inputs and result are the same
# several times running; then it is told once to close. A limit of steps is only a net.
#
# New words: *attempt*, *idempotent*, *idempotency key*, *outcome unknown*, *stall*, *closing instruction*. They are in
# the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **The agent repeats itself. What do you do?** I ask why: it has nothing new to go on. So first codes, reasons and hints
# > in its errors, and results that are not empty. Then detection: same tool, same inputs, same result, three times running;
# > polling that moves is none. Then a closing instruction: sum up or say what is missing, without tools. And better tools,
# > that wait or tell when to ask. The limit of steps stays, as a net. Writes carry a key, so that a repetition is harmless.
#
# Two answers one hears:
#
# - *"We set max_iterations to 10."* Ten equal steps, no answer, and a useful run of eleven is cut.
# - *"We retry three times."* In which layer? With a key? If each layer has its three, count to twenty-seven.
#
# Next: whether your agent is any good, and how sure you can be of it ([lesson 10](10_evaluation.ipynb)).

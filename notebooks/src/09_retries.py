# %% [markdown]
# # 09 · Retries, idempotency, stalls
#
# You will see how often one refund is paid although every part of the program does what it was told. Then you make sure
# it is paid once, even if the program is killed in the middle.
#
# After this lesson you can
#
# - **count** how often one call is really made when several levels of a program repeat it,
# - **decide** which level may repeat what,
# - **make** an idempotency key, and say where it has to be made,
# - **write** a refund that survives a crash at any line,
# - **do** the right thing when nobody knows whether a call took effect,
# - **tell** an agent that is stuck from one that is waiting.
#
# About 85 minutes, in two sittings of 50 and 35; the place to stop is marked. The exercises are extra. You need lessons
# 01, 04, 05 and 06.

# %% tags=["setup"]
import json

from course_kit import (
    MockProvider,
    ToolError,
    call,
    open_shop,
    quiz,
    run_agent,
    run_tool,
    show,
    tool,
)

shop = open_shop()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("09.recall")

# %% [markdown]
# ## A lost answer
#
# Tomás bought six tea cups and one came chipped. The desk refunds him 3.50. We play two bad days: on the first the
# *request* is lost on its way to the shop, on the second the shop's *answer* is lost on its way back.

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
        print(
            f"{day.__name__:13} you see: {error}   refunds in the ledger: {len(shop.ledger(ORDER))}"
        )

# %% [markdown]
# You see the same error, but the ledgers differ. If you now "just try again", you are right on the first day and pay
# twice on the second. This lesson is about that problem.
#
# ## Three levels, each with three attempts
#
# Three parts of a program may repeat a call, each for a good reason. Call them levels, one above the other:
#
# | level | what it repeats | when |
# |---|---|---|
# | model | it writes another call | it read the error, and tries again |
# | tool | its whole call, requests and all | it timed out, or the service says "busy" |
# | transport, such as the HTTP client in your tool | one request | connection broken, 429, some 5xx |

# %% [markdown]
# Here is one level: the same function, tried up to three times. (Three *attempts* are a first try and two *retries*.)
# We build two of them, a transport and a tool that uses it:


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
# **Guess** four numbers. How many refunds are in the ledger after one attempt? After a transport with three attempts?
# After a tool that tries three times, with this transport below it? And with a model on top, which calls that tool
# three times? The first three come now:


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
    "transport, tool": refunds_of(in_a_tool),
}
counts

# %% [markdown]
# 3 × 3 = 9: levels multiply, because each repeats everything below it. Now the model on top. Here it is a function that
# calls again, whatever it reads. `run_agent` ends a run whose tool failed in three turns
# ([lesson 04](04_errors.ipynb)).


# %%
@tool
def refund_cup() -> None:
    """Pay 3.50 back for a damaged cup of ORD-20260914."""
    in_a_tool()


shop.reset()
stubborn = MockProvider(lambda request: call("refund_cup")).client()
run = run_agent(stubborn, tools=[refund_cup], messages="A cup came chipped. Refund 3.50, please.")
counts["transport, tool, model"] = len(shop.ledger(ORDER))
paid_back = shop.query_order(ORDER)["refunded_cents"]
print(run.stopped, "| refunds:", len(shop.ledger(ORDER)), "| paid back:", paid_back, "cents")

# %%
from course_kit.classroom.plots import plot_layers

show(
    plot_layers(counts, "Refunds of one cup, three attempts on each level", "refunds in the ledger")
)

# %% [markdown]
# Nobody wrote a loop of 27. Two people each set "3 attempts" in their own file, and the third 3 is the loop's default,
# which nobody looked at. And the run ended as a failure: as far as the program knows, nothing was paid.
#
# The shop's rule "never more than was paid" did not help: the order is larger than that. Such a rule catches a second
# refund only when the first took everything.

# %% [markdown]
# ### Retries or attempts?
#
# | setting | what it counts | of what | default |
# |---|---|---|---|
# | `max_retries` of the SDK's client | retries | a request to the *model* | 2 (anthropic 2.14) |
# | `max_retries` of `run_agent` | retries | turns in which one tool failed | 2 |
# | `attempts` of `repeated` (next) | attempts, the first too | a call of one tool | 3 |
#
# All of them mean three tries. The SDK repeats after a broken connection, a time-out, 408, 409, 429 and 5xx. These
# retries do not run a tool again: a reply that never came holds no call. They cost time, and perhaps tokens. The levels
# that multiply are below your tool and above it.

# %% tags=["quiz"]
quiz("09.1")

# %% [markdown]
# ## Only one level repeats writes
#
# Any level may repeat a read: it only costs time. (A tool that reads says `effect="read"`, lesson 04.) `repeated`
# returns a tool whose call is repeated after a temporary failure: a time-out, a broken connection, an error that says
# `retryable`. It waits in between, longer each time plus a random part, so that a thousand callers do not come back at
# the same moment. (The waiting is done by a library, `tenacity`.)

# %% tags=["item-09.2"]
from course_kit.harness.retries import repeated

line = ["busy", "busy", "free"]  # what the next three attempts find


@tool(effect="read")
def paid_for(order_id: str) -> int:
    """Say how much was paid for an order, in cents."""
    found = line.pop(0)
    print("the line is", found)
    if found == "busy":
        raise TimeoutError("the line is busy")
    return shop.query_order(order_id)["paid_cents"]


patient = repeated(paid_for, attempts=3, first_wait=0.01)
print("paid:", patient(ORDER), "cents")

# %% [markdown]
# Now the line stays busy, and all attempts fail. What does the *model* read? If it read only "time-out", it would try
# three times three. So the level below says what it has done, and not to try again for now:

# %%
line[:] = ["busy"] * 3
wish = {"type": "tool_use", "id": "toolu_1", "name": "paid_for", "input": {"order_id": ORDER}}
print(run_tool(wish, [patient])["content"])

# %% [markdown]
# Levels that know about each other do not multiply. And `repeated` refuses two tools: one that writes, and one that is
# already repeated.

# %%
for one in (refund_cup, patient):
    try:
        repeated(one)
    except ValueError as error:
        print("-", error)

# %% [markdown]
# For writes the rule has two halves. *One* level repeats, the others pass the failure on. And where nobody knows
# whether it was done, that level repeats only what is **idempotent**: doing it twice has the same effect as doing it
# once.
#
# | one request failed | was it done? | may a plain write be sent again? |
# |---|---|---|
# | the connection was refused; 429 | no: it was turned away | yes, by the transport: it knows this one request |
# | time-out, connection broken, 500 | nobody knows | no: first a key, or a look |
# | "more than was paid", "no such order" | no, and it never will be | no: it was refused |
#
# `repeated` is one level higher. It sees a whole *call*, which may make several requests: if the second was refused,
# the first has already taken effect. So it refuses a plain write whatever the failure.

# %% [markdown]
# Some writes are naturally idempotent. Cancelling an order is one:

# %%
shop.reset()
for number in (1, 2):
    said = shop.cancel_order("ORD-20260918", "changed_mind")
    print(number, said["status"], "| changed:", said["changed"])

# %% [markdown]
# Cancelling twice changes nothing more. A refund is not like that. It has to be made idempotent.

# %% tags=["quiz"]
quiz("09.2")

# %% [markdown]
# ## A name for the operation
#
# In [lesson 05](05_parallel_calls.ipynb) an **idempotency key** named one refund: the shop paid once for it, and
# returned the first receipt to every repeat. Many payment services accept such a key.
#
# It has to be made somewhere. There are four possible places:
#
# | made new for | in a program that is |
# |---|---|
# | each request | a `uuid4()` in the HTTP client's loop |
# | each attempt of the tool | a `uuid4()` in the tool's loop |
# | each call of the model | the `id` of its `tool_use` block |
# | the task | made from ticket and step |

# %% [markdown]
# The levels are as before: three attempts of a tool, each with three requests. Every answer is lost. Only the form of
# the key changes: a key with `{request}` in it is different for each request. (`current_call()` says, inside a tool,
# which call of the model this is.)

# %% tags=["item-09.3"]
from course_kit.harness.running import current_call

reached = []  # the keys that arrive at the shop


def refund_tool(form):
    @tool
    def refund_with_key() -> None:
        """Pay 3.50 back for a damaged cup of ORD-20260914."""
        for attempt in (1, 2, 3):  # the tool's attempts
            for request in (1, 2, 3):  # the transport's requests
                key = form.format(call=current_call().tool_use_id, attempt=attempt, request=request)
                reached.append(key)
                # The shop pays, and its answer is lost.
                shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)
        raise TimeoutError("no answer within 10 s")

    return refund_with_key


# %% [markdown]
# **Write down four numbers** before you run this: how many refunds for each place?

# %%
places = {
    "each request": "{call}-{attempt}-{request}",
    "each attempt of the tool": "{call}-{attempt}",
    "each call of the model": "{call}",
    "the task": "ticket-118/refund cup",
}
for place, form in places.items():
    shop.reset()
    reached.clear()
    stubborn = MockProvider(lambda request: call("refund_with_key")).client()
    run_agent(
        stubborn, tools=[refund_tool(form)], messages="A cup came chipped. Refund 3.50, please."
    )
    print(
        f"{place:26} calls that reached the shop: {len(reached)}   refunds: {len(shop.ledger(ORDER))}"
    )

# %% [markdown]
# Every row makes 27 calls: a key makes repetition harmless, but not cheap. A key protects against the levels *below*
# the place where it is made, and against none above. A key that is new for each request protects against nothing. The
# id of the model's call is stable while the call is repeated, but a second call has a different id. Only a key that
# comes from the *task* is above all three.

# %% tags=["quiz"]
quiz("09.3")

# %% [markdown]
# ### What goes into it
#
# Task, step, and the inputs that make it *this* operation. Never the time and never a random number: after a crash
# nobody could make the same key again. By hand it is one line. (`sort_keys`, since the order of fields does not
# matter.)
#
# Now the trap: a model calls a second time and words its note differently. Here are both calls, each with the note in
# its key and then without:


# %%
def key_by_hand(task, step, inputs):
    return f"{task}/{step}/{json.dumps(inputs, sort_keys=True)}"


def without_note(inputs):
    return {name: value for name, value in inputs.items() if name != "note"}


first = {"order_id": ORDER, "amount_cents": CENTS, "note": "Cup chipped."}
second = {"note": "It arrived chipped.", "amount_cents": CENTS, "order_id": ORDER}
for inputs in (first, second):
    print("with its note   ", key_by_hand("ticket-118", "refund cup", inputs))
    print("without the note", key_by_hand("ticket-118", "refund cup", without_note(inputs)))

# %% [markdown]
# With the note in the key, every new wording is a new refund. Leave out whatever may vary within one operation.
#
# And if two cups of one order are chipped, each worth 3.50? That is two operations, so two *steps*. Task and step come
# from your program, from the ticket and its plan, not from the model. The kit's keys have a short fingerprint instead
# of the inputs. Task and step stay readable, so you can find the ticket from the key in the ledger.

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
# It is a success, with the first cup's receipt: the model will tell the customer that both are paid. (With a different
# reason the shop refuses it: `KEY_REUSED`, which comes next.) These tools allow one refund of each amount per ticket.
# Two cups need one refund of 7.00, or your own tool with a step in its key.

# %% [markdown]
# ### The store enforces it
#
# `if key in seen: return` is not enough: two processes look at the same moment, both see nothing, both pay. The
# ledger's own table has to refuse the second row.
#
# Here is a key with a mistake: the amount was forgotten. We send it twice with 350 cents, then with 3500:

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
# The second call gets the first receipt. A different amount under the same key is a bug in the caller, so it is refused
# rather than paid. And if somebody bypasses the shop and writes straight into its table?

# %%
import sqlite3

columns = "order_id, amount_cents, reason, note, idempotency_key, created_at"
with shop.connection() as db:
    try:
        db.execute(
            f"INSERT INTO refunds ({columns}) SELECT {columns} FROM refunds WHERE idempotency_key = ?",
            [key],
        )
    except sqlite3.IntegrityError as error:
        print("the same row once more →", error)

# %% [markdown]
# This does not come from the shop's code: the table has a `UNIQUE` constraint on the key.
#
# Now one level may repeat the refund. `idempotent=True` is your promise; nobody checks it. Two answers are lost:

# %%
shop.reset()
reached.clear()


@tool(effect="irreversible", idempotent=True)
def refund_safely() -> str:
    """Pay 3.50 back for the first damaged cup of ORD-20260914."""
    key = idempotency_key("ticket-118", "refund cup 1", {"order_id": ORDER, "amount_cents": CENTS})
    receipt = shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)
    reached.append(key)
    if len(reached) < 3:  # this answer is lost
        raise TimeoutError("no answer within 10 s")
    return receipt["refund_id"]


refund_id = repeated(refund_safely, first_wait=0.01)()
print(refund_id, "| attempts:", len(reached), "| refunds:", len(shop.ledger(ORDER)))

# %% [markdown]
# ### Where the other side keeps no keys
#
# The mail service does not support keys. Then you keep them: `KeyStore` is a small SQLite table with the same
# constraint. It stores the key, *then* runs the action, then stores the result. It forgets a result after a while, by
# default a week. We control the clock here, and ask for the same mail three times:

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
# Two mails. Once expired, a key counts as new, and its action happens again. A day to a week is usual, but
# look it up: by their documentation Helcim keeps a key for five minutes, Checkout.com for a day, TrueLayer for thirty.
# Yours should outlive the longest pause after which the same work may be restarted: a crash that is fixed on Monday, an
# approval that waits over the weekend. For these a day is too short.

# %% tags=["quiz"]
quiz("09.4")

# %% [markdown]
# **A good place to stop for today.** The [exercise](../exercises/09_retries.ipynb) 9.1 needs no more than this.

# %% [markdown]
# ## The crash button
#
# A time-out at least leaves your program alive. Now the process itself dies: out of memory, a new version is rolled
# out, somebody trips over a cable. A program like this keeps *notes*, a dict on disk, to know after a restart what it
# has done:

# %%
from course_kit.classroom.crash import PROGRAMS, crash_button, everywhere, numbered

print(numbered("note afterwards"), "\n")
print(numbered("note before"))

# %% [markdown]
# One writes its note after paying, one before. The button starts a real process, kills it (`kill -9`: no `except`, no
# `finally`) just before a line, and starts it again from the top. **Guess** for both: killed before line 5, between
# paying and noting, what does the ledger hold in the end?

# %%
button = crash_button()
print(button.kill(5, "note afterwards"))
print(button.kill(5, "note before"))

# %% [markdown]
# There are two steps, two places to write to, and a gap between them. Whichever comes first, there is a line on which
# it goes wrong: paid twice, or never. You can make the gap small, but reordering the lines cannot close it.
#
# With a key the gap does no harm: start over from the top and pay "again". The shop recognises the key.

# %%
print(numbered("with a key"))

# %% [markdown]
# Now every line of all three programs. This starts two processes for each line, one to be killed and one that starts
# over, so it takes a few seconds.

# %%
from course_kit.classroom.plots import plot_ledger

by_line = everywhere(PROGRAMS)
show(plot_ledger(by_line, "How often the money left"))

# %% [markdown]
# Each square is a program that was killed there and restarted. (Inside line 4 there are many more places to die; the
# course's tests kill at random ones.)
#
# ### Play with it
#
# Change the program, choose a line, kill it. (Without a mouse: `button.kill(4)`, `button.everywhere()`.) Three to try,
# each killed just after the payment:
#
# - a key from `uuid.uuid4()` (write `import uuid` inside);
# - no key, and the note in a `finally`;
# - no key, and a look before the refund: `if not shop.ledger(ORDER):`.
#
# The third works wherever this program is killed. The next section shows where it fails.

# %%
button = crash_button("with a key")
button

# %% [markdown]
# The kit's loop does the same. With a store (lesson 06) it notes that a call *begins*, runs it, then notes the result.
# When the run is resumed, a call may have begun and have no result. A read, or a tool that says `idempotent=True`, is then
# run again; for any other the model reads that the outcome is unknown. (The refund tool of `desk_tools` says
# `idempotent=True` only when it has a task, since only then does it send a key.)

# %% [markdown]
# ## Nobody knows: look before you write
#
# No key on the other side, and the call timed out. Now the **outcome is unknown**, and this state has its own name,
# `OUTCOME_UNKNOWN`: neither done nor failed. `KeyStore` records it: an action that was begun and never reported is not
# started again.


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
# And if your function knows that nothing was done? Then it raises a `ToolError`: the store believes it, and the key is
# free again (unless the code is one like `TIMEOUT`). Every other exception leaves the outcome unknown, even a refused
# connection: as with `repeated`, an earlier request of the same call may have got through.


# %%
def mail_turned_away():
    raise ToolError("BUSY", "the mail service takes no mail now", retryable=True)


mail_twice("ticket-120/mail", mail_turned_away)

# %% [markdown]
# The first mail is still unknown. Somebody looks: you, a person at the desk, or the model with a tool that reads. Then
# tell the store what was found: `settle(key, result)` if it was done, `forget(key)` if not.

# %%
print("the last mail that left: number", len(sent))
keys.settle("ticket-119/mail", {"mail": len(sent)})
print(keys.once("ticket-119/mail", {"to": "nora"}, mail_times_out), "| mails:", len(sent))

# %% [markdown]
# Is a look as good as a key? Here a request is slow: it waits somewhere on its way and arrives after you gave up. (We
# simulate the delay: the first request waits in a list, and reaches the shop at the end.) **Guess** the two numbers:

# %%
for key in (None, "ticket-118/refund cup"):
    shop.reset()
    on_its_way = [key]  # the first request: no answer, and you stop waiting
    looked = len(shop.ledger(ORDER))  # you look
    # Nothing is there, so you pay again.
    shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=key)
    for late in on_its_way:  # and now the first one arrives
        shop.refund_order(ORDER, CENTS, "damaged", idempotency_key=late)
    print(
        f"key {key!s:22} you saw {looked} refunds, in the end there are {len(shop.ledger(ORDER))}"
    )

# %% [markdown]
# A look shows what *has* happened, not what is still coming. It is far better than a blind second try: wait, look, and
# when it matters let a person decide. Where you can use a key, use one.

# %% tags=["quiz"]
quiz("09.5")

# %% [markdown]
# ## Stuck, or only waiting?
#
# The highest level that repeats is the model. Two agents ask for a job's status until it is done. For one the answer
# changes, for the other it does not. (The model is a function: it calls again until it reads "done", or may not call
# any more.)

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
# Both make the same call with the same inputs again and again. **Guess** how each run ends, and after how many calls:

# %%
for answers in (MOVING, SILENT):
    run, requests = ask_about(answers)
    print(f"{run.stopped:20}", run.trace.summary())

# %% [markdown]
# The second is the **stall** of [lesson 04](04_errors.ipynb): the same tool, inputs **and** result, three times in a
# row. The first made five calls with five different results. That is polling, and it is fine.
#
# Calling it a stall is a guess. A job that is merely slow looks the same; then raise `stall_after`, which is 3, or let
# the tool wait. By hand:


# %%
def one_round(name, inputs, result):
    return json.dumps([name, inputs, result], sort_keys=True)


def stalled(rounds, limit=3):
    return len(rounds) >= limit and len(set(rounds[-limit:])) == 1


print("polling:", stalled([one_round("job_status", {"id": 7}, percent) for percent in MOVING]))
print("silence:", stalled([one_round("job_status", {"id": 7}, "no new output") for _ in range(3)]))
ab, ba = one_round("find", {"a": 1, "b": 2}, "x"), one_round("find", {"b": 2, "a": 1}, "x")
print("equal with the fields in a different order:", ab == ba)

# %% [markdown]
# And then? Just stopping leaves the customer with nothing, though the model may know a good part. So it is told
# **once** to finish. Here is the last request of the silent run: what comes after the result, and may the model still
# call?

# %%
last = requests[-1].body["messages"][-1]["content"]
print(last[-1]["text"])
print("tool_choice:", requests[-1].body["tool_choice"], "| tools:", len(requests[-1].body["tools"]))
print("the answer: ", run.text)

# %% [markdown]
# Sum up what is known, or say what is missing: the **closing instruction**. The tool is still in the request.
# `tool_choice: none` forbids calls, so the next reply is an answer.
#
# ### A step limit is only a safety net
#
# Many loops have only `max_iterations`. Here is the silent job with stall detection, then without it but with a limit
# of 12 replies, and then with a budget of 3,000 tokens. **Guess** which of the three runs end with an answer:

# %%
for options in (
    {"stall_after": 3},
    {"stall_after": None, "max_iterations": 12},
    {"stall_after": None, "max_run_tokens": 3_000},
):
    run, requests = ask_about(SILENT, **options)
    print(f"{run.stopped:20} {run.trace.summary()} | {run.text or '(no answer)'}")

# %% [markdown]
# Such a limit cannot tell twelve useful steps from twelve equal ones, and it ends without an answer. Keep it as a
# safety net. `stopped` names the limit that was reached. (The tokens are the mock's estimate.)

# %% [markdown]
# All this comes late. There is something to fix first. An agent repeats itself because it has *nothing new to go on*:
#
# | it reads | so it calls again | better |
# |---|---|---|
# | `failed` | perhaps this time | a code, a reason, a hint (lesson 04) |
# | `no new output` | perhaps by now | a tool that waits itself, or says when to ask next |
# | an empty list | the same search | "no match; search by customer instead" |
# | a time-out of a write | the same write | "may have taken effect: look first", and a tool to look with |
#
# Begin with the last column, and measure whether a text helps *your* model (lesson 10).

# %% tags=["quiz"]
quiz("09.6")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | one ticket, several equal refunds | Count the levels that repeat. Is there a key, and where is it made? |
# | keys, and still double refunds | A new key for each attempt, or a note or a time in it. |
# | a double refund a week later | The key had expired, and an old job was started again. |
# | `KEY_REUSED` | Two operations under one name: the step is missing in it. |
# | a second cup is not refunded | Its refund has the name of the first: the step is missing here, too. |
# | `OUTCOME_UNKNOWN` | Nobody reported. Look first, then `settle` or `forget`. Not looking means a blind retry. |
# | `repeated` refuses a tool | It writes, and has no key yet. |
# | a tool answers after minutes | Levels multiply waiting, too: count time-outs times attempts. |
# | a poll is taken for a stall | The result is the same each time. Let it report progress, or raise `stall_after`. |
#
# ## The same on the live API
#
# A refund times out, reported once badly and once well. What does a real model call next? (The simulated one pays again
# both times: it has no rule for looking first.) One reply each proves little; repeat it before you draw conclusions.

# %% tags=["live"]
from course_kit import DEFAULT_MODEL, announce, connect

announce(tokens=6_000)
live, desk = connect(), [one.definition() for one in desk_tools(shop)]
asked = {"role": "user", "content": f"One cup of {ORDER} came chipped. Please refund 3.50."}
refund = {"order_id": ORDER, "amount_cents": CENTS, "reason": "damaged"}
wish = {"type": "tool_use", "id": "toolu_1", "name": "refund_order", "input": refund}
for said in (
    "Time-out.",
    "Time-out. It may or may not have taken effect: look before you call again.",
):
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": said, "is_error": True}
    turns = [asked, {"role": "assistant", "content": [wish]}, {"role": "user", "content": [back]}]
    # Without thinking 400 tokens are enough.
    request = {"tools": desk, "messages": turns, "thinking": {"type": "disabled"}}
    reply = live.messages.create(model=DEFAULT_MODEL, max_tokens=400, **request)
    next_step = [block.name if block.type == "tool_use" else block.type for block in reply.content]
    print(next_step, "after:", said)

# %% [markdown]
# ## Practice
#
# [Exercises 09](../exercises/09_retries.ipynb): a key that is stable and three that are not, a refund that survives a
# crash at any line, and a stall detector that allows polling.
#
# ## Recap
#
# After a time-out nobody can tell a lost request from a lost answer. Levels that repeat multiply: three attempts on
# each of three levels make twenty-seven. So one level repeats writes, and after a time-out only idempotent ones. A key
# makes a refund idempotent: it is built from task, step and the defining inputs, above all levels that repeat, enforced
# by a unique constraint, and kept longer than any retry can take. Without a key the outcome is unknown: look first, and
# know that a look misses what is still on its way. An agent is stuck when tool, inputs and result are the same several
# times in a row; then it is told once to finish. A step limit is only a safety net.
#
# New words: *attempt*, *idempotent*, *idempotency key*, *outcome unknown*, *stall*, *closing instruction*. They are in
# the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **The agent repeats itself. What do you do?** I ask why: it has nothing new to go on. So first codes, reasons and
# > hints in its errors, and results that are not empty. Then detection: same tool, same inputs, same result, three
# > times in a row; polling with changing results is not a stall. Then a closing instruction: sum up or say what is
# > missing, without tools. And better tools, which wait or say when to ask again. The step limit stays as a safety net.
# > Writes carry a key, so that a repetition is harmless.
#
# Two answers you will hear:
#
# - *"We set max_iterations to 10."* Ten equal steps, no answer, and a useful run of eleven is cut.
# - *"We retry three times."* On which level? With a key? Three on each of three levels make twenty-seven.
#
# Next: how good your agent is, and how sure you can be of that ([lesson 10](10_evaluation.ipynb)).

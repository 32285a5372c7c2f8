# %% [markdown]
# # 08 · Result budgets
#
# You will ask a model the same question about the same orders twice, and get 20 one time and 143 the other. Both times
# it sounds sure.
#
# After this lesson you can
#
# - **cut** a result so that the model knows what it has not seen,
# - **choose** by kind of data: head and tail, a summary first, a reference to read on from, one line for a picture,
# - **shape** a result: one envelope, the fields that decide, no personal data,
# - **page** through a long list without losing an item,
# - **measure** what a strategy costs over a long conversation, and which answers it loses.
#
# About 85 minutes; the exercises are extra. You need lessons 01 and 04.

# %% tags=["setup"]
import json
import random
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from course_kit import DEFAULT_MODEL, MockProvider, Simulated, call, quiz, run_agent, show, tool

client = MockProvider(Simulated()).client()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("08.recall")

# %% [markdown]
# ## The same question, two answers
#
# It is Monday. The manager asks the desk: *how many orders are still unshipped?* The answer is in a warehouse service
# that somebody else wrote. Like most services it answers in pages: 20 orders, unless told otherwise.

# %% tags=["item-08.6"]
draw = random.Random(8)
BACKLOG = [
    {
        "order_id": f"ORD-{20260600 + n}",
        "status": draw.choice(["paid", "packed"]),
        "paid_cents": draw.randrange(500, 9000),
    }
    for n in range(143)
]


# %%
def warehouse(limit=20):
    return {"orders": BACKLOG[:limit], "total": len(BACKLOG)}


print(warehouse()["orders"][0])

# %% [markdown]
# Two colleagues write the tool. The first takes the orders and counts them. The second also passes on what the service
# said about its page. Both lists hold the same 20 orders.

# %%
page = warehouse()
silent = {"unshipped": len(page["orders"]), "orders": page["orders"]}
honest = {
    "orders": page["orders"],
    "total": page["total"],
    "returned": len(page["orders"]),
    "truncated": True,
    "next_cursor": "20",
}

# %% [markdown]
# This helper gives the model one tool, which returns the result you pass in. `@tool` makes the definition from the
# function; `effect="read"` says that it changes nothing. You know both numbers from the top of this page. **Guess:** does
# anything in the first answer warn the manager?


# %%
def ask(question, result, through=client):
    @tool(
        effect="read",
        description="List the orders that are not shipped yet, the unshipped ones; also how many.",
    )
    def unshipped_orders():
        return result

    return run_agent(through, tools=[unshipped_orders], messages=question).text


print("silent:", ask("How many orders are still unshipped?", silent)[:110])
print("honest:", ask("How many orders are still unshipped?", honest))

# %% [markdown]
# The first answer is wrong, and nothing in the conversation shows it. An error would at least have been noticed.
#
# Why does the second one know? The simulated model has two rules. It quotes the lines of a result that share the most
# words with the question (lesson 02). And it always quotes fields with exactly the name `total`, `returned`, `truncated`
# or `next_cursor`, and lines with "left out". Here are five other ways to ask, for which no rule was made:

# %%
WORDINGS = [
    "What is the number of orders that have not left the shop?",
    "Count the unshipped orders, please.",
    "Are there many unshipped orders? Give me the figure.",
    "Tell me how big the backlog of unshipped orders is.",
    "I need the total of unshipped orders for the morning report.",
]
for name, result in (("silent", silent), ("honest", honest)):
    answers = [ask(wording, result) for wording in WORDINGS]
    print(
        name, "(simulated) → 143 told:", sum("143" in said for said in answers), "of", len(answers)
    )
    print(
        "                   → 20 told as the number:",
        sum("unshipped: 20" in said for said in answers),
    )

# %% [markdown]
# With the silent cut, one wording does not even get 20: it shares no word with the line `unshipped: 20`.
#
# ### A mark that the reader knows
#
# The second rule knows this course's words: `total`, `next_cursor`, "left out". Other services use others. **Guess** how
# many of these six marks reach the answer:

# %%
rows = page["orders"]
text = "\n".join(f"{row['order_id']} {row['status']}" for row in rows)
MARKS = {
    "a note": ({"orders": rows, "note": "Showing 20 of 143 orders."}, "143"),
    "GraphQL style": ({"nodes": rows, "totalCount": 143, "pageInfo": {"hasNextPage": True}}, "143"),
    "a page token": ({"orders": rows, "nextPageToken": "CiAKGjBp"}, "CiAKGjBp"),
    "last line of text": (f"{text}\n... output truncated, 123 more lines", "123"),
    "clipped": (f"{text}\n<response clipped>", "clipped"),
    "left out": (f"{text}\n[… 123 lines left out …]", "left out"),
}
for name, (result, mark) in MARKS.items():
    print(f"{name:18}", "told" if mark in ask(WORDINGS[0], result) else "lost")

# %% [markdown]
# So the gain in the first experiment comes from the *rule*; it says nothing about language models. A real one will
# probably understand "Showing 20 of 143"; only a measurement on your model can tell how often it acts on it. What
# carries over is weaker and safer: **no model can know what a result does not say, and a mark that the model overlooks
# is as bad as none.**

# %% tags=["quiz"]
quiz("08.1")

# %% [markdown]
# ## What fills a context
#
# The **context** is all that the model reads for one reply: definitions, questions, answers, results. There is a limit to
# it, the **context window**. Definitions are written once, by you. Questions are short. Results are whatever the world
# returns: a search through all files, a log, two hundred hits. They are often the largest part of a context, and the one
# you can least predict.
#
# Here is a night's log of one service, 4,000 lines. `make_log` generates it, the same on every machine.

# %% tags=["item-08.1"]
from course_kit.classroom.token_meter import make_log

log = make_log("payments", 4_000)
lines = log.split("\n")
print(*lines[:3], "…", lines[-12], "…", lines[-1], sep="\n")

# %% [markdown]
# `count_tokens` says what it costs in a request, without asking the model. (The mock estimates.) The question is "what
# went wrong last night?" Compare the whole log, a search for `order` in it, and the lines that were needed:


# %%
def tokens(result):
    message = {"role": "user", "content": result}
    return client.messages.count_tokens(model=DEFAULT_MODEL, messages=[message]).input_tokens


print(f"the question                {tokens('What went wrong last night?'):>7,} tokens")
for name, wanted in (
    ("whole log", ""),
    ("search for order", "order"),
    ("search for ERROR", "ERROR"),
):
    found = [line for line in log.split("\n") if wanted in line]
    spent = tokens("\n".join(found))
    print(f"{name:17} {len(found):>5} lines {spent:>7,} tokens")

# %% [markdown]
# Two lines were needed. And remember lesson 01: the API keeps nothing, so a result is sent again with every later turn.
#
# ## A budget, set in advance
#
# So each tool gets a **budget**: the most characters that its result may take. It belongs to the tool, since its author
# knows what the results hold and which end matters. It is applied to every result when the result is made. Once the
# window is full, all you can do is cut everything the same way.

# %% tags=["item-08.2"]
from course_kit import run_tool
from course_kit.harness.results import DEFAULT_BUDGET


@tool(effect="read", budget=400)
def night_log(service: Literal["payments", "search"]):
    """Read last night's log of a service."""
    return make_log(service, 4_000)


wish = {"type": "tool_use", "id": "toolu_1", "name": "night_log", "input": {"service": "payments"}}
print(run_tool(wish, [night_log])["content"])
print("\nthe kit's default:", DEFAULT_BUDGET)

# %% [markdown]
# The function returned everything. What was sent fits the budget and says what is missing. The budget counts
# characters, since these can be counted anywhere without a model. How many of them make a token depends on the text: in
# English prose about four, in Chinese or in a log full of digits fewer. Measure your own with `count_tokens`.

# %% tags=["quiz"]
quiz("08.2")

# %% [markdown]
# ## How to cut, by kind
#
# ### Text: head and tail
#
# The quick way is `log[:6_000]`. **Guess** what it does to the question "what was the last error?"

# %% tags=["item-08.3"]
from course_kit.harness.results import cut_text


def last_error(text):
    return [line for line in text.split("\n") if "ERROR" in line][-1:]


print("whole        ", last_error(log))
print("head only    ", last_error(log[:6_000]))
print("with the tail", last_error(cut_text(log, 6_000)))

# %% [markdown]
# A text has its structure at the start and its outcome at the end: the title and the totals, the command and the error.
# `cut_text` keeps both, whole lines where it can, and counts what is missing between them. With only the head, the
# first error of the night looks like the last.

# %% [markdown]
# ### JSON: a summary first
#
# If you cut JSON in the same quick way, there is another problem:

# %%
written = json.dumps(BACKLOG)
for name, cut in (("head only", written[:1_000]), ("head and tail", cut_text(written, 1_000))):
    try:
        json.loads(cut)
    except json.JSONDecodeError as error:
        print(f"{name:13} is not JSON: {error}")

# %% [markdown]
# Cut JSON is not JSON. A model may guess what it means; your own code cannot. So cut the *value*, and then write it. By
# hand, in three steps: count everything, keep whole items, and say how many.

# %%
from collections import Counter

summary = {"status": dict(Counter(order["status"] for order in BACKLOG))}
by_hand = {
    "total": len(BACKLOG),
    "returned": 3,
    "truncated": True,
    "summary": summary,
    "items": BACKLOG[:3],
}
print(json.dumps(by_hand)[:190])

# %% [markdown]
# `encode_result` does this for any value: it summarises each field of *all* rows, then adds as many rows as fit. Fields
# with few values are counted, numbers get minimum, maximum and sum, anything else its first and last value.

# %%
from course_kit import encode_result

encoded = encode_result(BACKLOG, budget=800)
shown = json.loads(encoded)
print(len(encoded), "characters;", shown["returned"], "of", shown["total"], "rows\n")
print(json.dumps(shown["summary"], indent=1))

# %% [markdown]
# How many orders are packed? The summary says it, though only the first few rows are shown. (It is made only when
# something has to be cut.)
#
# ### Large objects: a reference
#
# Some results cannot be summarised: nobody knows in advance which line will be needed. Then keep the whole result in a
# file, and give the model a **reference**: a short name for it, with a summary and a way to read on.

# %%
from course_kit.harness.large import LargeObjects

kept = LargeObjects(Path(tempfile.mkdtemp()) / "large", page=1_200)
card = kept.keep(log, "night log")
print(json.dumps(card, indent=1))

# %% [markdown]
# Two tools come with it. `read_part` reads a page starting at a **cursor**; `find_in` gives the lines that contain a
# text. Both always say how much there is. (Here we call the functions behind them, `read` and `find`.)

# %%
part = kept.read(card["reference"])
print(
    part["lines"][-1],
    {name: part[name] for name in ("total", "returned", "truncated", "next_cursor")},
)
found = kept.find(card["reference"], "ERROR")
print(found["matches"], found["total"])

# %% [markdown]
# A reference comes back from the model, so it is an input like any other, and may be wrong or hostile. It is a name,
# not a path; anything that does not look like one is refused, and a name under which nothing was kept is not found:

# %%
from course_kit import ToolError

for wrong in ("../../secrets.txt", "night-log-0000000000.txt"):
    try:
        kept.read(wrong)
    except ToolError as error:
        print(error.code, "·", error.message)

# %% [markdown]
# A reference is not a permission either: give each customer a separate folder. (In MCP, [lesson 07](07_tool_search.ipynb),
# a reference is called a *resource link*.)

# %% [markdown]
# No tool has to do this itself. `behind` does it for all tools of a run: what exceeds a tool's budget is kept, and the
# model reads the cut, the size and the reference. `night_log` from above has a budget of 400.
#
# A script plays the model. Its second reply depends on the first result, which holds the reference. So it is a function:
# the mock calls it with the request, and takes what it returns as the reply.

# %%
import re


def look_for_errors(request):
    last_result = str(request["messages"][-1])
    reference = re.search(r"night-log-[0-9a-f]+\.txt", last_result)[0]
    return call("find_in", reference=reference, text="ERROR")


script = [
    call("night_log", service="payments"),
    look_for_errors,
    "Two errors: E623 at 00:10, E731 at 07:58.",
]
run = run_agent(
    MockProvider(script).client(),
    tools=kept.behind([night_log]),
    messages="What went wrong last night?",
)
for turn in run.messages[2::2]:
    print(turn["content"][0]["content"], "\n")

# %% [markdown]
# Head, tail, and a line that says how much there is and how to get it. All three share the 400 characters, so head and
# tail are shorter than before. Without `behind` the result had the same 400 characters, but the errors were lost for
# good. A result that fits its budget is sent as usual, and nothing is kept.

# %% [markdown]
# ### Binary data: one line about it
#
# Bytes written as text only cost tokens: neither a model nor a person can read them. Say what the data is and how
# large. (A picture that the model should *see* goes out as an image block.) Here is one of 640 by 480, of which only
# the first bytes are real:

# %%
photo = (
    b"\x89PNG\r\n\x1a\n"
    + b"\x00\x00\x00\rIHDR"
    + (640).to_bytes(4)
    + (480).to_bytes(4)
    + bytes(60_000)
)
print(encode_result({"order_id": "ORD-20260917", "photo": photo}))

# %% [markdown]
# ### What JSON cannot hold
#
# Some values cannot be written as JSON, and an empty result tells the model nothing ([lesson 04](04_errors.ipynb)).
# `str(value)` does not help: it writes Python. `encode_result` handles all of them:

# %%
from datetime import UTC, datetime
from decimal import Decimal

odd = {
    "at": datetime(2026, 11, 30, 9, tzinfo=UTC),
    "price": Decimal("19.90"),
    "mean": float("nan"),
    "ids": {3, 1},
}
print(str(odd)[:60])
print(encode_result(odd))
print(encode_result(""))

# %% tags=["quiz"]
quiz("08.3")

# %% [markdown]
# ## One envelope, few fields, no secrets
#
# If every tool answers in its own form, the model has to learn each form. Use one **envelope** for all: `ok`, `data`,
# and `meta` for facts *about* the data. Use names that explain themselves: `paid_cents`, not `amt`. Do not send tables
# laid out for people: you pay for their spaces and lines. (A failure goes out with `is_error`, as in lesson 04; `ok`
# says it inside, too.)

# %% tags=["item-08.4"]
from course_kit.harness.results import envelope

print(encode_result(envelope(BACKLOG[:2], total=143, returned=2, truncated=True, next_cursor="2")))
print(
    encode_result(envelope(ToolError("NOT_FOUND", "there is no order 7", hint="use search_orders")))
)

# %% [markdown]
# The shop of this course has no envelope: its pages say `total` beside `orders`. Which form should you use? For a few
# tools that only a model reads: the flat page. For many tools, or code that handles all results alike (a log, a screen,
# a test): the envelope, since that code finds `ok` and `meta` without knowing the tool. Choose one and stick to it.
# When cut, both have the summary first:

# %%
flat = {"orders": BACKLOG, "total": 143, "returned": 143, "truncated": False, "next_cursor": None}
for result in (flat, envelope(BACKLOG, total=143)):
    print(encode_result(result, budget=500)[:230], "…\n")

# %% [markdown]
# Next: what is in `data`? A database row has every field anybody ever needed. Here is one from the shop's export.
# **Which of these fields does the model need to say where the parcel is?**

# %%
row = {
    "order_id": "ORD-20260916",
    "status": "shipped",
    "tracking_id": "TRK-48200916",
    "mail": "nora@example.org",
    "phone": "+47 22 12 34 56",
    "card": "4111 1111 1111 1111",
    "carrier_login": {"user": "shop", "api_key": "k-7f31"},
    "note": "Call nora@example.org or 22 12 34 56 before delivery.",
}

# %% [markdown]
# Two of them: `status` and `tracking_id`. If it is to write to the customer, it also needs the note and a placeholder
# for the address. Nothing else: **a field that is not sent cannot leak.** So choose the fields first. `mask` is for the
# rest. It knows mail addresses, card, account and telephone numbers and keys, by their form or by the field's name:

# %%
from course_kit.harness.masking import Masker

FIELDS = ("order_id", "status", "tracking_id", "mail", "note")
masker = Masker()
print(json.dumps(masker.mask({name: row[name] for name in FIELDS}), indent=1))
print(masker.mask({"phone": row["phone"], "carrier_login": row["carrier_login"]}))

# %% [markdown]
# The address got the same mark twice, so the model still sees that they are the same. The phone number in the note was
# missed: without a `+` or a leading 0 it could be anything. Names of people have no pattern at all.
#
# Where does masking belong? In the tool, in both directions: `mask` on what goes out, `restore` on the *input* that
# comes in. (The simulated model cannot handle marks, so we use a script.)

# %%
sent = []


@tool(effect="read", description="Read one order, when its number is known.")
def read_order(order_id: str):
    return masker.mask({name: row[name] for name in FIELDS})


@tool(description="Send a mail. The address may be a mark, such as [email 1].")
def send_mail(address: str, text: str):
    sent.append(masker.restore(address))
    return {"sent_to": address}


# %%
script = [
    call("read_order", order_id="ORD-20260916"),
    call("send_mail", address="[email 1]", text="On its way!"),
    "Sent.",
]
run = run_agent(
    MockProvider(script).client(),
    tools=[read_order, send_mail],
    messages="Tell the customer of ORD-20260916.",
)
print("sent to", sent, "· the conversation holds the address:", "nora@" in json.dumps(run.messages))
print("a secret stays a mark:", masker.restore("[secret 1]"))

# %% [markdown]
# The mail went to the right place, and the address is nowhere in what the model read or wrote. Secrets are never
# restored: no model call needs one.

# %% tags=["quiz"]
quiz("08.4")

# %% [markdown]
# ## Complete enough to decide
#
# Is less always better? Here are three results for the same order: too little, enough, and everything the database had.
# The customer wants the parcel stopped; its number is TRK-48200916.

# %% tags=["item-08.5"]
RESULTS = {
    "too little": {"order_id": "ORD-20260916", "status": "shipped"},
    "enough": {"order_id": "ORD-20260916", "status": "shipped", "tracking_id": "TRK-48200916"},
    "everything": {
        "order_id": "ORD-20260916",
        "status": "shipped",
        "supplier": {"batch": "B-77", "inbound_tracking_id": "TRK-31007744"},
        "history": [{"event": "returned parcel", "tracking_id": "TRK-48200877"}],
        "tracking_id": "TRK-48200916",
        "customer": {"name": "Nora Lindgren", "language": "nb"},
    },
}

# %% [markdown]
# Two tools: read the order, stop a parcel. The list `stopped` holds what really happened. **Guess** the number in each of
# the three cases.


# %%
def stop_it(question, order):
    stopped = []

    @tool(effect="read", description="Read one order, when its number is known.")
    def query_order(order_id: Annotated[str, Field(pattern="^ORD-[0-9]{8}$")]):
        return order

    # No effect named: it counts as "write".
    @tool(
        description="Stop a parcel on its way. Needs the tracking_id: read the order with query_order first."
    )
    def stop_parcel(tracking_id: Annotated[str, Field(pattern="^TRK-[0-9]{8}$")]):
        stopped.append(tracking_id)
        return {"stopped": tracking_id}

    run_agent(client, tools=[query_order, stop_parcel], messages=question)
    return stopped


# %%
for name, order in RESULTS.items():
    print(f"{name:11}", stop_it("Read order ORD-20260916, then stop its parcel.", order))

# %% [markdown]
# - Too little: the number was **made up**. It even has the right form. The simulated model's rule: where it finds no
#   value, it fills the pattern `TRK-` and eight digits with digits it has, those of the order.
# - Too much: the model was **misled**, to a parcel that came back weeks ago. The rule: of several values that fit, it
#   takes the first one in a field with that name.
#
# Two wordings that no rule was made for:

# %%
for question in (
    "My order is ORD-20260916. Read it, then stop the parcel, please.",
    "Look up order ORD-20260916 and stop the parcel.",
):
    print(question)
    for name, order in RESULTS.items():
        print(f"  {name:11}", stop_it(question, order))

# %% [markdown]
# The first behaves the same. The second stops nothing at all, not even with enough: the rules see no second step in it.
# So whether the model acts depends on the wording, and on the model. When it did act, only "enough" led to the right
# parcel. So return what the next decision needs, under the name that the next tool uses for it, and leave the rest out.

# %% tags=["quiz"]
quiz("08.5")

# %% [markdown]
# ## Paging, and a cursor that skips items
#
# Four fields make a cut honest: `total`, `returned`, `truncated`, `next_cursor`. Getting the rest is then a loop. Your
# program can run it, and so can the model, call by call. Here are pages of 50:


# %%
def search(limit, cursor=None):
    start = int(cursor or 0)
    shown, end = BACKLOG[start : start + limit], start + limit
    more = end < len(BACKLOG)
    counts = {"total": len(BACKLOG), "returned": len(shown), "truncated": more}
    return {"orders": shown, **counts, "next_cursor": str(end) if more else None}


page = search(50)
seen, pages = page["orders"], 1
while page["next_cursor"] is not None:
    page = search(50, page["next_cursor"])
    seen, pages = seen + page["orders"], pages + 1
print(pages, "pages,", len(seen), "orders, all of them:", seen == BACKLOG)

# %% [markdown]
# Now combine two good things: a page of 50, and a budget with room for fewer. A naive cutter shortens the list and
# leaves the rest of the page as it was. **What does the model miss** when it follows `next_cursor`?

# %%
page = search(50)
naive = {**page, "orders": page["orders"][:9]}
fitted = json.loads(encode_result(page, budget=900))
for name, cut in (("naive", naive), ("encode_result", fitted)):
    counts = {key: value for key, value in cut.items() if key != "orders"}
    print(f"{name:13}", len(cut["orders"]), "orders", counts)

# %% [markdown]
# The naive page says that 50 were returned and that the next page starts at 50. Nobody ever sees orders 10 to 50: a
# silent cut, made of two honest parts. `encode_result` corrects the count and says how to ask for the same page again.
# It drops `next_cursor`: 50 would skip orders, and `None` would mean the end. What does our loop do with such a page?

# %%
try:
    seen, page = fitted["orders"], fitted
    while page["next_cursor"] is not None:
        page = search(50, page["next_cursor"])
        seen = seen + page["orders"]
except KeyError as error:
    print("no", error, "after", len(seen), "of", fitted["total"], "orders:", fitted["rest"])

# %% [markdown]
# It fails loudly, as it should: with `page.get("next_cursor")` it would have ended quietly with a part. So read the
# cursor with square brackets, and compare `len(seen)` with `total` at the end. Better still, choose pages that fit:
# `LargeObjects` ends a page where its budget ends, so its cursor is right.
#
# And if nothing fits, say how to narrow the search: *"412 hits; add a status or a month"* is worth more than any 20 of
# them.

# %% tags=["quiz"]
quiz("08.6")

# %% [markdown]
# ## Twenty turns: what each strategy costs, and loses
#
# One conversation, 20 questions: five logs and five lists of orders, all larger than the budget. Each question comes
# with the words that a right answer must contain. There are four kinds: the start of a log, its last error, a line just
# after its middle, and a count. `twenty_questions` makes them, and they are the same on every machine.

# %% tags=["item-08.7"]
from course_kit.classroom.token_meter import token_meter, twenty_questions

tasks, logs, orders = twenty_questions()
for question, fact in tasks[:4]:
    print(f"{fact:12} {question}")
in_a_log, in_a_list = len(logs["mail"]), len(json.dumps(orders["June"]))
print(len(tasks), "questions;", in_a_log, "characters in a log,", in_a_list, "in a list")

# %% [markdown]
# Five strategies, each a function of a value and a budget. The fourth is plain `encode_result`: head and tail for text,
# the summary first for rows.

# %%
large = LargeObjects(Path(tempfile.mkdtemp()) / "large")


def whole(value, budget):
    return value if isinstance(value, str) else json.dumps(value)


CUTS = {
    "whole": whole,
    "head only": lambda value, budget: whole(value, budget)[:budget],
    "head and tail": lambda value, budget: cut_text(whole(value, budget), budget),
    "summary first": encode_result,
    "reference": lambda value, budget: encode_result(large.keep(value, "result"), budget),
}

# %% [markdown]
# The model gets two tools, whatever the strategy. With references there are two more, for reading what was kept.


# %%
def tools_with(cut, more, budget):
    @tool(effect="read", description="Read last night's log of a service.")
    def read_log(service: Literal["checkout", "payments", "search", "mail", "stock"]):
        return cut(logs[service], budget)

    @tool(effect="read", description="List the orders of a month, with their status.")
    def list_orders(month: Literal["April", "June", "July", "August", "September"]):
        return cut(orders[month], budget)

    return [read_log, list_orders, *more]


# %% [markdown]
# The meter will choose the budget. `partial` gives a function its first arguments now and leaves the last one open:

# %%
from functools import partial

strategies = {name: partial(tools_with, cut, []) for name, cut in CUTS.items()}
strategies["reference"] = partial(tools_with, CUTS["reference"], large.tools())

# %% [markdown]
# **Write down your guess:** which strategy loses the fewest answers? Which costs least? The token meter runs the
# conversation once for each. *Context at the end* is the size of the last request; *paid in all* adds up all requests,
# since a result is sent and paid for again with each. (The answers are simulated, the tokens estimated.)

# %%
meter = token_meter(tasks, strategies, budget=4_000)
measured = meter.compare()
for name, metered in measured.items():
    print(f"{name:14} {metered}")

# %%
from course_kit.classroom.plots import plot_strategies

show(plot_strategies(measured))

# %% [markdown]
# No strategy answers everything. *Whole* is by far the most expensive, and it still fails at counting: the model would
# have to count the rows. (This one cannot; a real one may try, and get it wrong.) *Head only* loses the most at this
# budget, and without any sign. *Summary first* loses what is in the middle of a text.
#
# Which questions are lost follows from how we chose them. What is measured is the cost of each strategy. And what did
# the reference lose?

# %%
print("questions lost, counted from 1:", measured["reference"].lost)
print(meter.turn("reference", measured["reference"].lost[0]))

# %% [markdown]
# The model called `find_in` in the same turn as `read_log`, before it had a reference. So it filled the pattern of a
# reference with random letters, as it did with the parcel's number. Nothing is kept under that name, so it was refused.
# A reference is one more thing that can be made up, and one more call.
#
# Would a larger budget help? **Guess** for each strategy, then look at the answers lost:

# %%
for budget in (4_000, 12_000, 15_000, 16_000):
    lost = {
        name: len(meter.run(name, budget=budget).lost) for name in strategies if name != "whole"
    }
    print(f"{budget:>6} lost (simulated): {lost}")

# %% [markdown]
# - *Head and tail* misses the lines just after the middle until nearly everything fits. *Head only* reaches them at
#   12,000, by luck.
# - *Summary first* gets worse at the last step. Now a list fits completely, so there is no summary, and the model would
#   have to count. Where counts are wanted, return counts, whatever the budget.
# - *Reference* gains nothing: its card fits already.
#
# To look at single turns, choose. (Without a mouse: `meter.turn("head and tail", 3, budget=8000)`.)

# %%
meter

# %% [markdown]
# ### Drop old rounds completely
#
# A budget limits each result. The conversation still grows. After some turns old results are rarely needed: drop them.
# Here a **round** is a message with calls and the message with their results. (In lesson 05 the word was for calls that
# run at the same time.) The next cell has two rounds. The quick way to drop is "keep the last three messages". What will
# the API say?

# %%
from course_kit import assistant, tool_result, tool_use, user

history = [
    user("Weather in Oslo, then in Lima?"),
    assistant([tool_use("toolu_A", "get_weather", {"city": "Oslo"})]),
    user([tool_result("toolu_A", "4 C")]),
    assistant([tool_use("toolu_B", "get_weather", {"city": "Lima"})]),
    user([tool_result("toolu_B", "19 C")]),
    assistant("Oslo 4 C, Lima 19 C."),
    user("And tomorrow?"),
]

# %%
import anthropic

from course_kit.harness.mending import trim_messages


def send(messages):
    try:
        reply = client.messages.create(model=DEFAULT_MODEL, max_tokens=100, messages=messages)
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"][:90])
    else:
        print(200, reply.stop_reason)


# %%
send(history[-3:])
send(trim_messages(history, keep=3))

# %% [markdown]
# The cut fell between a call and its result: lesson 01, rule 1. `trim_messages` cuts between whole rounds, and keeps fewer
# messages if need be. The same 20 turns, with at most 8 messages kept before each question:

# %%
for name in ("whole", "summary first"):
    print(f"{name:14} all kept  {meter.run(name)}")
    print(f"{'':14} trimmed   {meter.run(name, keep=8)}")

# %% [markdown]
# The context stops growing, and no more answers are lost. It looks free but is not: here no question depends on an
# earlier one. Now one that does:


# %%
@tool(effect="read", description="Read one order, when its number is known.")
def find_order(order_id: Annotated[str, Field(pattern="^ORD-[0-9]{8}$")]):
    return {"order_id": order_id, "status": "shipped"}


talk = [user("My order is ORD-20260916."), assistant("Noted."), *history[:-1]]
for name, kept_messages in (("all kept", talk), ("trimmed", trim_messages(talk, keep=6))):
    run = run_agent(
        client, tools=[find_order], messages=[*kept_messages, user("Now read my order, please.")]
    )
    print(f"{name:9}", run.text)

# %% [markdown]
# The number was in a message that is gone. (This model asks; another may make one up.) So before you drop messages,
# write down what must be kept: a line with the ids and decisions so far. And trim rarely and by a lot, not a little on
# every turn: each trim loses what the prompt cache held of the messages (lesson 07).

# %% tags=["quiz"]
quiz("08.7")

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | a number that is suspiciously round, or equal to a page size | Did a tool count one page? Is there a default `limit` below it? |
# | the model says "the log ends at 02:00" | A head without a tail, and no mark. |
# | `json.loads` fails on a stored result | JSON was cut as text. Cut the value. |
# | items are missing, always the same ones | A page was cut once more, and its cursor kept. |
# | an id of the right form that exists nowhere | The real one was left out of the result. |
# | NOT_FOUND for a reference | It was made up, or kept in another folder. |
# | a cut result without a reference, despite `behind` | Its budget has no room for one: give the tool more. |
# | KeyError: `next_cursor` | A page was cut once more: ask for it again, smaller. |
# | `stop_reason` is `model_context_window_exceeded` | The window is full: budgets first, then trim whole rounds. |
# | 400 `unexpected tool_use_id found in tool_result blocks` | History was trimmed inside a round. |
# | a mail address in the answer, or in your logs | Mask before the result is written, not before it is shown. |

# %% [markdown]
# ## The same on the live API
#
# If you have switched live on (lesson 00), this cell asks the real model about the silent cut, the honest one, and the
# note. It says first what it may cost.

# %% tags=["live"]
from course_kit import announce, connect

announce(tokens=9_000)
for name, result in (("silent", silent), ("honest", honest), ("a note", MARKS["a note"][0])):
    said = ask("How many orders are still unshipped?", result, through=connect())
    print(f"{name:7}", said[:160])

# %% [markdown]
# ## Practice
#
# [Exercises 08](../exercises/08_result_budgets.ipynb): write `encode_result` for four kinds of result, page through a
# log by cursor, and find the wrong conclusions caused by a silent cut.
#
# ## Recap
#
# Results are often the largest part of a context and the least predictable, so each tool has a budget, set in advance.
# Text keeps head and tail; rows are summarised, then cut as values; large objects become references; binary data
# becomes one line. One envelope, the fields that decide, nothing personal. Every cut says `total`, `returned`,
# `truncated`, `next_cursor`, and how to get the rest: a silent cut is worse than an error. Drop old rounds completely.
#
# New words: *budget*, *head and tail*, *silent cut*, *honest cut*, *reference*, *cursor*, *envelope*, *masking*. They are
# in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **A tool returns something huge. What do you do?** It depends on the kind. Text keeps its head and its tail.
# > Structured data is summarised first, then cut at whole items, so that it stays JSON. Large objects are kept, and the
# > model gets a reference with a cursor; binary data becomes one line. The budget belongs to the tool and applies
# > before the window is full. And every cut is declared, with how to get the rest, since a model cannot know what it
# > has not seen.
#
# Two answers you will hear:
#
# - *"Send the first 30,000 characters."* The error is at the end, half the JSON does not parse, and the model takes the
#   part for the whole.
# - *"The context window is large enough now."* For one result, perhaps. But it is sent again with every turn, and the
#   irrelevant parts mislead the model.
#
# Next come failures of another kind ([lesson 09](09_retries.ipynb)): calls that may or may not have happened.

# %% [markdown]
# # 08 · Result budgets
#
# You will ask a model the same question twice, over the same orders, and get 20 once and 143 once. Both times it sounds
# sure.
#
# After this lesson you can
#
# - **cut** a result so that the model knows what it has not seen,
# - **choose** by kind: head and tail, a summary first, a reference to read on from, a line about a picture,
# - **shape** a result: one envelope, the fields that decide, no personal data,
# - **page** through a long list without losing an item,
# - **measure** what a strategy costs over a long conversation, and which answers it loses.
#
# About 70 minutes; the exercises come on top. Lessons 01 and 04 come before.

# %% tags=["setup"]
import json
import random
import tempfile
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from course_kit import DEFAULT_MODEL, MockProvider, Simulated, quiz, run_agent, show, tool

client = MockProvider(Simulated()).client()

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("08.recall")

# %% [markdown]
# ## The same question, two answers
#
# It is Monday. The manager asks the desk: *how many orders are still unshipped?* The truth lies in a warehouse service
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
# Two colleagues write the tool. The first takes the orders and counts them. The second passes on what the service said
# about itself. Both lists hold the same 20 orders.

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
# This helper gives the model one tool, which returns what you hand it. `@tool` makes the definition from the function;
# `effect="read"` says that it changes nothing. **Guess** what the manager reads, twice:


# %%
def ask(question, result, through=client):
    @tool(effect="read", description="List the orders that are not shipped yet, the unshipped ones; also how many.")
    def unshipped_orders():
        return result

    return run_agent(through, tools=[unshipped_orders], messages=question).text


print("silent:", ask("How many orders are still unshipped?", silent)[:110])
print("honest:", ask("How many orders are still unshipped?", honest))

# %% [markdown]
# The first answer is wrong, and nothing in the conversation shows it. No error, no warning, no odd value: 20 is what a
# good answer looks like. An error would have been better. It would at least have been noticed.
#
# The second answer has the true number, and says that the list was cut. (The simulated model has no style. It repeats the
# lines of a result that share most words with the question.)
#
# Was it the wording? Six ways to ask, none of them used when the rules were written:

# %%
WORDINGS = [
    "How many orders are still unshipped?",
    "What is the number of orders that have not left the shop?",
    "Count the unshipped orders, please.",
    "Are there many unshipped orders? Give me the figure.",
    "Tell me how big the backlog of unshipped orders is.",
    "I need the total of unshipped orders for the morning report.",
]
for name, result in (("silent", silent), ("honest", honest)):
    answers = [ask(wording, result) for wording in WORDINGS]
    print(name, "→ 143 told:", sum("143" in said for said in answers), "of", len(answers))
    print("       → 20 told as the number:", sum("unshipped: 20" in said for said in answers))

# %% [markdown]
# ### A mark that the reader knows
#
# Here is the rule behind it. The simulated model always repeats lines that begin with `total`, `returned`, `truncated` or
# `next_cursor`, and lines with "left out". Those are this course's words. Other services use others. **Guess** how many of
# these eight marks reach the answer:

# %%
rows = page["orders"]
text = "\n".join(f"{row['order_id']} {row['status']}" for row in rows)
MARKS = {
    "a note": ({"orders": rows, "note": "Showing 20 of 143 orders."}, "143"),
    "has_more, count": ({"orders": rows, "has_more": True, "count": 143}, "143"),
    "GraphQL style": ({"nodes": rows, "totalCount": 143, "pageInfo": {"hasNextPage": True}}, "143"),
    "a page token": ({"orders": rows, "nextPageToken": "CiAKGjBp"}, "CiAKGjBp"),
    "a link": ({"orders": rows, "links": {"next": "/orders?page=2"}}, "page=2"),
    "last line of text": (f"{text}\n... output truncated, 123 more lines", "123"),
    "clipped": (f"{text}\n<response clipped>", "clipped"),
    "left out": (f"{text}\n[… 123 lines left out …]", "left out"),
}
for name, (result, mark) in MARKS.items():
    print(f"{name:18}", "told" if mark in ask(WORDINGS[0], result) else "lost")

# %% [markdown]
# So the gain in the first experiment belongs to the *rule*, not to language models. A real one will probably understand
# "Showing 20 of 143"; how often it acts on it, only a measurement on your model can tell. What carries over is a weaker,
# safer sentence: **what a result does not say, no model can know, and a mark that the reader does not look for is a silent
# cut.**

# %% tags=["quiz"]
quiz("08.1")

# %% [markdown]
# ## What fills a context
#
# Definitions are written once, by you. Questions are short. Results are whatever the world returns: a search through all
# files, a log, two hundred hits. They are the largest part of a context, and the one you can least predict.
#
# Here is a night's log of one service. It is made by code, and the same on every machine.


# %% tags=["item-08.1"]
def make_log(service, lines):
    """A night of one service: how it starts, many orders, and two errors, one of them near the end."""
    draw = random.Random(service)
    log = [f"00:00:00 INFO {service} version 4.{draw.randrange(90)} started"]
    for n in range(1, lines):
        second = n * 28_800 // lines  # eight hours
        time = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        order = f"ORD-2026{draw.randrange(1, 10):02}{draw.randrange(10, 29)}"
        log.append(f"{time} INFO {service} order {order} took {draw.randrange(20, 900)} ms")
    for n in (90, lines - 12):
        log[n] = f"{log[n][:8]} ERROR {service} code E{draw.randrange(100, 999)}, gave up"
    return "\n".join(log)


# %% [markdown]
# `count_tokens` says what it costs in a request, without asking the model. (The mock estimates.) **Guess:** the whole log
# of 4,000 lines, a search for `order` in it, and the lines that were needed?


# %%
def tokens(result):
    message = {"role": "user", "content": result}
    return client.messages.count_tokens(model=DEFAULT_MODEL, messages=[message]).input_tokens


log = make_log("payments", 4_000)
for name, wanted in (("whole log", ""), ("search for order", "order"), ("search for ERROR", "ERROR")):
    found = [line for line in log.split("\n") if wanted in line]
    spent = tokens("\n".join(found))
    print(f"{name:17} {len(found):>5} lines {spent:>7,} tokens")

# %% [markdown]
# Two lines were needed. And remember lesson 01: the API keeps nothing, so a result is sent again with every later turn.
#
# ## A budget, set beforehand
#
# So each tool gets a **budget**: the most characters that its result may take. It belongs to the tool, since whoever
# wrote it knows what its results hold and which end matters. It is applied to every result, when it is made. Once the
# window is full, everything can only be cut alike.

# %% tags=["item-08.2"]
from course_kit import run_tool
from course_kit.harness.results import DEFAULT_BUDGET


@tool(effect="read", budget=300)
def night_log(service: Literal["payments", "search"]):
    """Read last night's log of a service."""
    return make_log(service, 4_000)


wish = {"type": "tool_use", "id": "toolu_1", "name": "night_log", "input": {"service": "payments"}}
print(run_tool(wish, [night_log])["content"])
print("\nthe kit's default:", DEFAULT_BUDGET)

# %% [markdown]
# The function returned all it had. What went out fits the budget and says so. The budget counts characters, since these can
# be counted anywhere at once; about four make a token in English text, fewer in Chinese.

# %% tags=["quiz"]
quiz("08.2")

# %% [markdown]
# ## How to cut, by kind
#
# ### Text: head and tail
#
# The quick way is `log[:300]`. **Guess** what it does to the question "what was the last error?"

# %% tags=["item-08.3"]
from course_kit.harness.results import cut_text


def last_error(text):
    return [line for line in text.split("\n") if "ERROR" in line][-1:]


print("whole        ", last_error(log))
print("head only    ", last_error(log[:6_000]))
print("with the tail", last_error(cut_text(log, 6_000)))

# %% [markdown]
# The structure of a text is at its start, its outcome at its end: the title and the totals, the command and the error.
# `cut_text` keeps both, whole lines where it can, and counts what is missing between them. With the head only, the first
# error of the night passes for the last.

# %% [markdown]
# ### JSON: a summary first
#
# Cut in the same quick way, JSON has another problem. **Guess** before you run it:

# %%
written = json.dumps(BACKLOG)
for name, cut in (("head only", written[:1_000]), ("head and tail", cut_text(written, 1_000))):
    try:
        json.loads(cut)
    except json.JSONDecodeError as error:
        print(f"{name:13} is no JSON: {error}")

# %% [markdown]
# Cut JSON is no JSON. A model may guess what it means; your own code cannot. So the *value* is cut, and then written. By
# hand, in three steps: count everything, keep whole items, and say how many.

# %%
from collections import Counter

summary = {"status": dict(Counter(order["status"] for order in BACKLOG))}
by_hand = {"total": len(BACKLOG), "returned": 3, "truncated": True, "summary": summary, "items": BACKLOG[:3]}
print(json.dumps(by_hand)[:190])

# %% [markdown]
# `encode_result` does this for any value: it summarises each field of *all* rows, then adds as many rows as fit. Fields
# with few values are counted, numbers get their smallest, largest and sum, anything else its first and last.

# %%
from course_kit import encode_result

encoded = encode_result(BACKLOG, budget=800)
shown = json.loads(encoded)
print(len(encoded), "characters;", shown["returned"], "of", shown["total"], "rows\n")
print(json.dumps(shown["summary"], indent=1))

# %% [markdown]
# How many are packed? The answer stands in the result, though most of the packed orders do not.

# %% [markdown]
# ### Large objects: a reference
#
# Some results cannot be summed up: the line you need is in the middle, and nobody knows beforehand which. Then keep the
# whole thing in a file, and give the model a **reference**: a short name for it, with a summary and a way to read on.

# %%
from course_kit.harness.large import LargeObjects

kept = LargeObjects(Path(tempfile.mkdtemp()) / "large", page=1_200)
card = kept.keep(log, "night log")
print(json.dumps(card, indent=1))

# %% [markdown]
# Two tools come with it. `read_part` reads a page from a **cursor** on; `find_in` gives the lines that hold a text. Both
# always say how much there is. (Here they are called as the functions behind them.)

# %%
part = kept.read(card["reference"])
print(part["lines"][-1], {name: part[name] for name in ("total", "returned", "truncated", "next_cursor")})
found = kept.find(card["reference"], "ERROR")
print(found["matches"], found["total"])

# %% [markdown]
# A reference comes back from the model, so it is an input like any other, and may be wrong or hostile. It is a name and
# no path; whatever does not look like one is refused, and what was never kept is not found:

# %%
from course_kit import ToolError

for wrong in ("../../secrets.txt", "night-log-0000000000.txt"):
    try:
        kept.read(wrong)
    except ToolError as error:
        print(error.code, "·", error.message)

# %% [markdown]
# (A reference is no permission either. Give each customer a folder. MCP has the same idea and calls it a *resource link*,
# with a URI. The SDK's helper for MCP results raises on one, as of 2.14: turn it into a card like this yourself.)
#
# ### Binaries: a line about them
#
# Bytes written as text are pure cost: nobody reads them, model or not. Say what it is and how large. (A picture that the
# model should *see* goes out as an image block.) Here is one of 640 by 480, of which only the first bytes are real:

# %%
photo = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + (640).to_bytes(4) + (480).to_bytes(4) + bytes(60_000)
print(encode_result({"order_id": "ORD-20260917", "photo": photo}))

# %% [markdown]
# ### What JSON cannot hold
#
# Dates, exact amounts, sets, "not a number": `json.dumps` raises, or writes `NaN`, which is no JSON. `str(value)` is
# Python. And nothing at all is no result: an empty text tells the model nothing (lesson 04). **Guess** what becomes of each:

# %%
from datetime import UTC, datetime
from decimal import Decimal

odd = {"at": datetime(2026, 11, 30, 9, tzinfo=UTC), "price": Decimal("19.90"), "mean": float("nan"), "ids": {3, 1}}
print(str(odd)[:60])
print(encode_result(odd))
print(encode_result(""))

# %% tags=["quiz"]
quiz("08.3")

# %% [markdown]
# ## One envelope, few fields, no secrets
#
# If every tool answers in its own form, the model has to learn each anew. One **envelope** for all: `ok`, `data`, and
# `meta` for what is *about* the data. Names that tell: `paid_cents`, not `amt`. No table laid out for people: its spaces
# and lines are paid for. (A failure goes out with `is_error`, as in lesson 04; `ok` says it inside, too.)

# %% tags=["item-08.4"]
from course_kit.harness.results import envelope

print(encode_result(envelope(BACKLOG[:2], total=143, returned=2, truncated=True, next_cursor="2")))
print(encode_result(envelope(ToolError("NOT_FOUND", "there is no order 7", hint="use search_orders"))))

# %% [markdown]
# Next: what is in `data`? A database row has everything anybody ever needed. Here is one from the shop's export. **Which
# of these fields does the model need to say where the parcel is?**

# %%
row = {
    "order_id": "ORD-20260916",
    "status": "shipped",
    "tracking_id": "TRK-48200916",
    "mail": "nora@example.org",
    "phone": "+47 22 12 34 56",
    "card": "4111 1111 1111 1111",
    "carrier_login": {"user": "shop", "api_key": "k-7f31"},
    "note": "Call nora@example.org before delivery.",
}

# %% [markdown]
# Choose fields first: what is not there cannot leak. `mask` is for what remains, such as free text. It finds mail
# addresses, card and account numbers, telephone numbers and keys, by their form or by the field's name. It cannot find
# names of people, which have no form.

# %%
from course_kit.harness.masking import Masker

masker = Masker()
print(json.dumps(masker.mask(row), indent=1))
print(masker.restore("Send it to [email 1]."))

# %% [markdown]
# The same address got the same mark twice, so the model still sees that both belong together. `restore` puts personal
# data back into the *input* of a call, just before it runs. Secrets never come back.

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
# Two tools: read the order, stop a parcel. The list `stopped` is what really happened. **Guess** the number in each of
# the three cases.


# %%
def stop_it(question, order):
    stopped = []

    @tool(effect="read", description="Read one order, when its number is known.")
    def query_order(order_id: Annotated[str, Field(pattern="^ORD-[0-9]{8}$")]):
        return order

    @tool(description="Stop a parcel on its way. Needs the tracking_id: read the order with query_order first.")
    def stop_parcel(tracking_id: Annotated[str, Field(pattern="^TRK-[0-9]{8}$")]):
        stopped.append(tracking_id)
        return {"stopped": tracking_id}

    run_agent(client, tools=[query_order, stop_parcel], messages=question)
    return stopped


for name, order in RESULTS.items():
    print(f"{name:11}", stop_it("Read order ORD-20260916, then stop its parcel.", order))

# %% [markdown]
# Too little: the number was **invented**, out of the digits of the order, and it even has the right form. Too much: the
# model was **led astray**, to a parcel that came back weeks ago. (Simulated. One rule: where no value is found, the
# pattern is filled with what there is. The other: of several values that fit, it takes the first in a field of that
# name.) Two wordings that no rule was made for:

# %%
for question in (
    "My order is ORD-20260916. Read it, then stop the parcel, please.",
    "Look up order ORD-20260916 and stop the parcel.",
):
    print(question)
    for name, order in RESULTS.items():
        print(f"  {name:11}", stop_it(question, order))

# %% [markdown]
# The first behaves the same. The second stops nothing at all: the rules do not see two steps in it. So the danger depends
# on the wording, and on the model. The cure does not: return what the next decision needs, under the name by which the
# next tool asks for it, and leave the rest out.

# %% tags=["quiz"]
quiz("08.5")

# %% [markdown]
# ## Paging, and a cursor that lies
#
# Four fields make a cut honest: `total`, `returned`, `truncated`, `next_cursor`. To get the rest is then a loop. The same
# loop serves your program and, call by call, the model. **Guess** how many pages of 50 there are:


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
# Now put two good things together: a page of 50, and a budget that has room for fewer. A naive cutter shortens the list
# and leaves the rest of the page as it was. **What does the model miss** when it follows `next_cursor`?

# %%
page = search(50)
naive = {**page, "orders": page["orders"][:9]}
fitted = json.loads(encode_result(page, budget=900))
for name, cut in (("naive", naive), ("encode_result", fitted)):
    counts = {key: value for key, value in cut.items() if key != "orders"}
    print(f"{name:13}", len(cut["orders"]), "orders", counts)

# %% [markdown]
# The naive page says 50 returned and go on at 50. Orders 10 to 50 are never seen by anybody: a silent cut, made of two
# honest parts. `encode_result` takes the cursor away, corrects the count, and says how to ask again. Better still, choose
# pages that fit: `LargeObjects` ends a page where its room ends, so that its cursor is true.
#
# And if nothing fits, say how to ask more narrowly: *"412 hits; add a status or a month"* is worth more than any 20 of
# them.

# %% tags=["quiz"]
quiz("08.6")

# %% [markdown]
# ## Twenty turns: what each strategy costs, and loses
#
# One conversation, 20 questions: five logs and five lists of orders, all larger than the budget. First the lists:


# %% tags=["item-08.7"]
def make_orders(month, count=100):
    draw = random.Random(month)
    states = ["paid", "packed", "shipped", "delivered", "delivered"]
    return [
        {
            "order_id": f"ORD-{20260000 + n}",
            "status": draw.choice(states),
            "paid_cents": draw.randrange(500, 20_000),
            "warehouse": draw.choice(["north", "south"]),
            "weight_grams": draw.randrange(100, 9_000),
            "updated_at": f"2026-09-{n % 28 + 1:02}T07:00:00+02:00",
        }
        for n in range(count)
    ]


SERVICES = ("checkout", "payments", "search", "mail", "stock")
MONTHS = ("April", "June", "July", "August", "September")
LOGS = {service: make_log(service, 300) for service in SERVICES}
ORDERS = {month: make_orders(month) for month in MONTHS}

# %% [markdown]
# Four questions for each pair, and with each the words that a right answer must hold. They are chosen to ask for the
# start of a log, its end, its middle, and a count.

# %%
tasks = []
for service, month in zip(SERVICES, MONTHS, strict=True):
    lines = LOGS[service].split("\n")
    orders = [line.split()[4] for line in lines[1:] if "INFO" in line]
    middle = next(line for line in lines[150:] if "INFO" in line and orders.count(line.split()[4]) == 1)
    packed = sum(order["status"] == "packed" for order in ORDERS[month])
    tasks += [
        (f"Read the log of {service}: which version started?", lines[0].split()[4]),
        (f"Read the log of {service} and find the last ERROR in it.", lines[-12].split()[4].strip(",")),
        (f"Read the log of {service} and find {middle.split()[4]} in it.", middle.split("took ")[1]),
        (f"List the orders of {month}: how many have status packed?", f"packed: {packed}"),
    ]
for question, fact in tasks[:4]:
    print(f"{fact:12} {question}")

# %% [markdown]
# Five strategies, each a function of a value and a budget. The fourth is `encode_result` as it is: for text that is
# head and tail again, for rows the summary first.

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
# The model gets two tools. With references there are two more, for reading what was kept.


# %%
def tools_with(cut, more=()):
    def tools(budget):
        @tool(effect="read", description="Read last night's log of a service.")
        def read_log(service: Literal["checkout", "payments", "search", "mail", "stock"]):
            return cut(LOGS[service], budget)

        @tool(effect="read", description="List the orders of a month, with their status.")
        def list_orders(month: Literal["April", "June", "July", "August", "September"]):
            return cut(ORDERS[month], budget)

        return [read_log, list_orders, *more]

    return tools


strategies = {name: tools_with(cut) for name, cut in CUTS.items()}
strategies["reference"] = tools_with(CUTS["reference"], large.tools())

# %% [markdown]
# **Write down your guess:** which strategy loses nothing? Which costs least? The token meter plays the conversation once
# for each. (The answers are simulated, the tokens estimated.)

# %%
from course_kit.classroom.token_meter import token_meter

meter = token_meter(tasks, strategies, budget=4_000)
measured = meter.compare()
for name, metered in measured.items():
    print(f"{name:14} {metered}")

# %%
from course_kit.classroom.plots import plot_strategies

show(plot_strategies(measured))

# %% [markdown]
# Nothing loses nothing. *Whole* is by far the dearest, and it still fails at counting: all rows are there, and the model
# would have to add them up. (This one cannot; a real one may, and may err.) *Head only* loses most, and most quietly.
# *Summary first* loses what lies in the middle of a text.
#
# Which questions are lost is by construction: I chose them. What was measured is the price of each. And the reference?
# Let us see what it lost:

# %%
print(measured["reference"].lost)
print(meter.turn("reference", measured["reference"].lost[0]))

# %% [markdown]
# The model called `find_in` before it had the reference, and made one up. Nothing is kept under that name, so it was refused, as above. (The same
# rule as with the parcel: a required value that is nowhere.) A reference is one more thing that can be invented, and one
# more call.

# %% [markdown]
# ### Play with it
#
# Choose a strategy and a budget, step through the turns. (Without a mouse: `meter.run("head and tail", budget=8000)`,
# `meter.turn("head and tail", 3)`.) Two questions to try: from which budget on does head and tail find the middle? Which
# strategy gains nothing at all from a larger budget?

# %%
meter

# %% [markdown]
# ### Old rounds go whole
#
# A budget bounds each result. The conversation still grows. After some turns old results are rarely needed: drop them.
# The quick way is "the last three messages". **Guess** what the API says:

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
# The context stops growing, and no answer more is lost: each question here stands alone. In a conversation that comes
# back to its beginning it would be. And trimming changes the front of the prompt, so the prompt cache begins anew
# (lesson 07): trim seldom and much, not a little on every turn.

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
# | an id of the right form that exists nowhere | What should have held it was left out of the result. |
# | NOT_FOUND for a reference | It was made up, or it is another run's. |
# | `stop_reason` is `model_context_window_exceeded` | The window is full: budgets first, then trim whole rounds. |
# | 400 `unexpected tool_use_id found in tool_result blocks` | History was trimmed inside a round. |
# | a mail address in the answer, or in your logs | Mask before the result is written, not before it is shown. |

# %% [markdown]
# ## The same on the live API
#
# If you have switched live on (lesson 00), this cell asks the real model over the silent cut, the honest one, and a
# stranger's mark. It says first what it may cost.

# %% tags=["live"]
from course_kit import announce, connect

announce(tokens=9_000)
for name, result in (("silent", silent), ("honest", honest), ("a note", MARKS["a note"][0])):
    said = ask("How many orders are still unshipped?", result, through=connect())
    print(f"{name:7}", said[:160])

# %% [markdown]
# ## Practice
#
# [Exercises 08](../exercises/08_result_budgets.ipynb): write `encode_result` for four kinds of result, page through a log
# by cursor, and find the wrong conclusions that a silent cut has caused.
#
# ## Recap
#
# Results are the largest part of a context and the least predictable, so each tool has a budget, set beforehand. Text
# keeps head and tail; rows are summarised, then cut as values; large objects become references; binaries a line. One
# envelope, the fields that decide, nothing personal. Every cut says `total`, `returned`, `truncated`, `next_cursor`, and
# how to get the rest: a silent cut is worse than an error. Old rounds are dropped whole.
#
# New words: *budget*, *head and tail*, *silent cut*, *honest cut*, *reference*, *cursor*, *envelope*, *masking*. They are
# in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **A tool returns something huge. What do you do?** It depends on the kind. Text keeps its head and its tail. Structured
# > data is summarised first, then cut at whole items, so that it stays JSON. Large objects are kept and given as a
# > reference with a cursor; binaries as a line. The budget belongs to the tool and holds before the window is full. And
# > every cut is declared, with the way to the rest, since a model cannot know what it has not seen.
#
# Two answers one hears:
#
# - *"Send the first 30,000 characters."* The error is at the end, half the JSON does not parse, and the model takes the
#   part for the whole.
# - *"The context window is large enough now."* For one result, perhaps. It is sent again with every turn, and what does not
#   matter in it leads astray.
#
# Next come failures of another kind (lesson 09): calls that may or may not have happened.

# %% [markdown]
# # 00 · Start here
#
# You will watch an agent handle a complaint, from the customer's message to the refund, and see how this course works.
#
# After this lesson you can
#
# - **step through** a finished run and name what the model wrote and what code did,
# - **say** what is real in this course and what is simulated,
# - **use** quizzes, checks and hints,
# - **tell** whether your installation is in order.
#
# About 15 minutes. You need nothing but Python. To run a cell, click into it and press Shift+Enter.

# %% tags=["setup"]
from course_kit import MockProvider, desk_tools, open_shop, quiz, run_agent, transcript

shop = open_shop()

# %% [markdown]
# ## What you will build
#
# A shop's support desk gets a message. An **agent** answers it: a language model that may ask for tools, and a program
# that runs them. At the end of the course you will have built one that looks things up, pays refunds only when a person
# agrees, survives crashes, and has been measured.
#
# Here is a small one at work. It may look up orders, follow parcels, search products and pay refunds. (`approver` is the
# person who has to agree to a refund; here it always says yes.)

# %% tags=["item-00.1"]
run = run_agent(
    MockProvider().client(),
    tools=desk_tools(shop),
    messages="My cup arrived broken. Please refund 19.99 for order ORD-20260917.",
    approver=lambda call: True,
)
print(run.text)

# %% [markdown]
# (The model here is simulated, more on that below. It talks like this: "so-and-so answered", and what the tool gave
# back, field by field.) What happened in between? Step through it. Each step is one block of the conversation: what the
# user wrote, what the model wrote, what the program sent back.

# %%
transcript(run)

# %% [markdown]
# And the money has really moved, in the shop's database:

# %%
shop.ledger("ORD-20260917")

# %% [markdown]
# Libraries can hide all of this behind one function. This course opens it up, for two reasons. You will know **what to
# write**: the descriptions, checks and error texts that decide whether an agent works. And you will know **where to
# look** when it fails: the answer is in what went over the wire.

# %% tags=["quiz"]
quiz("00.1")

# %% [markdown]
# ## What is real, and what is simulated
#
# Nothing leaves your machine, and you need no key. So what answered just now?
#
# - The **client** is real: the `anthropic` SDK, as you would use it in production.
# - The **provider** is a mock. It reads the whole request, refuses what the real API is known to refuse, in the API's
#   own words as far as they are known, and answers and streams in the API's own form. Its rules are in
#   `course_kit/contract`, each with its source and how certain it is.
# - The **model** is simulated: more than a thousand lines of readable rules that choose tools and inputs by the words
#   in your request and in your definitions. It is not a language model. It has no knowledge of the world and no style.
#   It is there so that you can find the cause of every result. Numbers that come from it are called *simulated*.
# - The **shop** is real: a SQLite file with orders, parcels and a ledger.
#
# The mock leaves out what no lesson needs: containers, computer and browser use, web search, compaction, files, and
# threads kept on the server. Its token counts are estimates.

# %% tags=["item-00.2"]
provider = MockProvider()
reply = provider.client().messages.create(
    model="claude-opus-5",
    max_tokens=200,
    tools=[tool.definition() for tool in desk_tools(shop)],
    messages=[{"role": "user", "content": "Where is my parcel for ORD-20260917?"}],
)
print("called:", reply.content[-1].name)
print(provider.explain())

# %% [markdown]
# Every turn of the simulated model can be asked for its reasons, as above. After each tool comes its relevance, from 0
# to 1; the tool with the highest is called. Then come the reasons: how much of your request the tool's words explain,
# how much of the tool your request mentions, how strongly other definitions send this kind of request here ("for
# parcels use track_parcel"), and how much of what the tool requires is in the request. Indented, where an input was
# found, and in brackets how well that fits: an order number that matches its `pattern` is worth more than any number. A
# real model cannot be asked like that. Lesson 02 explains these rules.
#
# **Live.** The same notebooks run against the real API if you switch it on: start the course with `COURSE_LIVE=1` and
# `ANTHROPIC_API_KEY` set. A key alone never spends anything. Each lesson has one live cell; it first says how many
# tokens it may use, and a cap stops it (20,000 for each notebook, or `COURSE_LIVE_CAP`).

# %% [markdown]
# ## Quizzes, checks, hints
#
# A **quiz** is one click, or one line: `quiz("00.2").answer("b")` does the same in any editor. Every option comes with
# a reason, so wrong answers are worth reading too. Answers are kept. Without a mouse: Escape leaves the cell, Tab moves
# between fields, Space selects, Enter presses a button.
#
# After a restart of the kernel a widget shows broken links and no longer reacts, or says `model not found`: run its cell
# again. Names are gone, too (`NameError`), as when you go on with a lesson another day: select the cell where you stopped
# and choose *Run → Run All Above Selected Cell*, because later cells need what earlier ones made.

# %% tags=["quiz"]
quiz("00.2")

# %% [markdown]
# An **exercise** has a cell to fill in and a check. The check runs your code on inputs you have not seen, and says what
# it expected and what it got. If you have not started, it says so:

# %%
from course_kit import check, hint


def add(a, b):
    raise NotImplementedError("0.1: your code here")


check("0.1", add)

# %% [markdown]
# A wrong answer gets an explanation:


# %%
def add(a, b):
    return a


check("0.1", add)

# %% [markdown]
# Stuck? A **hint**, one at a time. The last one is not the answer either: that is
# `solution("0.1")`, which opens after two tries, or when you have seen all hints.

# %%
hint("0.1")


# %%
def add(a, b):
    return a + b


check("0.1", add)

# %% [markdown]
# ## Is your installation in order?

# %% tags=["item-00.3"]
from course_kit.doctor import diagnose

diagnose()

# %% [markdown]
# If something is wrong, it is named here with its cure. `course doctor` in a terminal says more.
#
# ## The map
#
# Fourteen lessons. Your progress is kept in your workspace; below the map it says where to go next. `course progress`
# shows the same in a terminal.

# %%
from course_kit import lesson_map

lesson_map()

# %% [markdown]
# Questions come back: one that you got wrong comes back the next day, one that you knew after two days, then at growing
# intervals. `course recall` asks them in a terminal.

# %%
from course_kit import recall

recall()

# %% [markdown]
# When a lesson is done, `completion_page("00")` makes a page that you can keep. `course progress reset` starts over,
# and `course progress restore` undoes that. A new version of the course never overwrites a notebook that you changed:
# it is saved beside yours, with `.new` in its name.
#
# Words are explained where they first occur, and collected in the [glossary](90_glossary.ipynb), in English and Chinese.
# There you also find, for each complaint of the API, the lesson that explains it.
#
# ## Practice
#
# [Exercises 00](../exercises/00_start_here.ipynb): two small exercises, to see how they work.
#
# ## Recap
#
# An agent is a model that may write requests for calls, and a program that runs them. In this course the client, the
# shop and the rules of the wire are real; the model is simulated and gives its reasons. Quizzes and checks answer with
# reasons, and your progress is kept.
#
# Next: [01 · The request round trip](01_round_trip.ipynb).

# %% [markdown]
# # 13 · The capstone
#
# You put the whole desk together. Then you take each of its guards away in turn, and see which part of a suite falls.
#
# After this lesson you can
#
# - **assemble** an agent from the pieces of twelve lessons, and say what each piece is for,
# - **judge** a whole agent by what it does to the world, several times over,
# - **tell** from a suite which guard is missing, where the plain rate says nothing,
# - **find** guards that stand behind one another,
# - **answer** the questions of this course in one breath.
#
# About 75 minutes. The exercises, where you build your own agent, come on top: about 110 minutes. All lessons come before.

# %% tags=["setup"]
from dataclasses import replace

from course_kit import interview, quiz, report, run_suite, show
from course_kit.classroom.capstone.desk import GUARDS, desk_agent
from course_kit.classroom.capstone.playing import play, told
from course_kit.classroom.capstone.suite import STAGES, cases, notes, reworded

# %% [markdown]
# ## One minute: what do you remember?
#
# Seven questions this time, from the whole course.

# %% tags=["quiz"]
quiz("13.recall")

# %% [markdown]
# ## Ninety-seven per cent
#
# A colleague has built a desk agent and shows you what her suite says: eleven cases, each played three times. It looks things
# up, pays refunds, searches among sixty-six tools, survives a crash.

# %%
short = cases(0, short=True)
hers = run_suite(desk_agent("key"), among=short)
print(len(hers), "trials,", f"{hers.pass_hat_k(1):.0%} passed (simulated)")

# %% [markdown]
# (The models behind it are simulated, here and in the whole lesson: they decide by rules.)
#
# **Write down two guesses.** Would you ship it? And if one of the guards of this course is missing in it, what does that do to
# these ninety-seven per cent?

# %%
print(hers.problems())

# %% [markdown]
# Money was paid twice, in one trial of that case. So one guard *is* missing: you know which. And the rate still says
# ninety-seven.
#
# This lesson has three parts: how the whole is put together, how it is judged, and what happens when each guard is taken away.

# %% [markdown]
# ## The desk, piece by piece
#
# An agent here is a function of a **job**: what a customer writes (`job.said`), the number of the task (`job.ticket`), who is
# signed in (`job.customer`), a client, the shop, a person who decides (`job.decide`), a way to ask the customer (`job.ask`),
# a folder, and the tools of other services (`job.more`).
#
# `play` plays one case of the suite with an agent. `told` says what happened, a line each: who was asked (`person`,
# `customer`), what reached the `shop`, the last words (`answer`). Each piece is seen once.
#
# ### 1. Hands
#
# ```python
# tools = desk_tools(job.shop)
# run_agent(job.client, tools=tools, messages=job.said)
# ```
#
# Definitions, checks of inputs, error results and the loop come with these two lines (lessons 01, 02, 04). Reads of one turn
# run together (05). **Guess** how many calls were in the shop at the same time:

# %% tags=["item-13.1"]
whole = desk_agent()
case = {one["id"]: one for one in cases(0)}
seen = play(whole, case["two_wishes"])
print(case["two_wishes"]["said"])
print(told(seen))
print("together:", seen["together"])

# %% [markdown]
# **Strict where it helps** (03). Where does it cost nothing? `moved` lists what the strict subset does not know and what would
# become mere words:

# %%
from course_kit import desk_tools, open_shop, to_strict

for entry in desk_tools(open_shop()):
    schema = entry.input_schema
    optional = len(schema["properties"]) - len(schema.get("required", ()))
    print(f"{entry.name:16} moved: {len(to_strict(schema).moved)}   optional inputs: {optional}")

# %% [markdown]
# `query_order` and `cancel_order` lose nothing and have nothing optional: these two are strict here. The checks stay on for
# all six, with the schema as it was written. And since strict leaves no way to say "I do not know", there is a way to ask:
#
# ### 2. A way to ask
#
# ```python
# @tool(effect="read")
# def ask_user(question: str) -> str:
#     """Ask the customer for something that is needed and that nobody has said."""
#     return job.ask(question)
# ```

# %%
print(case["no_reason"]["said"])
print(told(play(whole, case["no_reason"])))

# %% [markdown]
# The customer is asked, the person decides, the money leaves. In this order.
#
# ### 3. Errors that lead on
#
# She wants to cancel an order that has left the shop. The error says so, and names what would help (04):

# %%
print(case["too_late"]["said"])
print(told(play(whole, case["too_late"])))

# %% [markdown]
# ### 4. A person, and a key
#
# ```python
# tools = desk_tools(shop, task=job.ticket)                                  # a key for each refund (09)
# run_agent(..., approver=job.decide)                                        # a person decides (06)
# ```
#
# `cancel_order` gets `needs_approval=True` beside it. Here the bank pays, and its answer is lost. (Luck of this kind strikes
# in every second trial of the suite; `unlucky` says in which.) **Guess:** how often does the call reach the shop, and how
# often is money paid?

# %%
lost = case["lost_answer"]
seen = play(whole, lost, lost["unlucky"])
print(told(seen))
print("ledger:", seen["paid"])

# %% [markdown]
# The model does not know either, so it calls again, and to the gate a second call is a new one: the person is asked again.
# The key makes it harmless: the shop answers with the first receipt.
#
# ### 5. Whose orders?
#
# ```python
# shop = job.shop.for_customer(job.customer)
# ```
#
# One line, and it stands where the data is. An order's note tells the model to look up somebody else's parcel; this model
# obeys notes:

# %%
print(case["note_reads"]["note"][1])
print(told(play(whole, case["note_reads"])))

# %% [markdown]
# `NOT_ALLOWED`. No person was asked, for it is a read; the gate would not have seen it. A second guard works on the note
# itself: one that reads like an instruction is left out (`suspect_passages`, 06). This one does not read like one.
#
# ### 6. Sixty-six tools
#
# ```python
# SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
# tools = [SEARCH, ask_user, *(replace(one, defer_loading=True) for one in [*desk, *job.more])]
# ```

# %%
many = case["look_among_many"]
print(many["said"])
for name, agent in {"search": whole, "all in the prompt": desk_agent("search")}.items():
    seen = play(agent, many)
    print(f"{name:18} tools shown: {seen['shown']:2}   tokens: {seen['tokens']:6,}   {told(seen).splitlines()[0]}")

# %% [markdown]
# (With a search the model reads twice, before and after it has found something; both are in these tokens.)
#
# ### 7. Limits
#
# ```python
# run_agent(..., max_calls=12, max_iterations=8, max_retries=2, stall_after=3, budget=5_000)
# ```
#
# Calls, rounds, retries, circles and the length of a result all have an end (08, 09). A model that always wants to look at one
# more thing, with and without them:

# %%
for name, agent in {"limits": whole, "no limits": desk_agent("limits")}.items():
    seen = play(agent, case["wanders"])
    print(f"{name:10} calls of the shop: {len(seen['diary'])}   the run ended with {seen['stopped']}")

# %% [markdown]
# ### 8. A store
#
# ```python
# store = RunStore(job.folder / "runs.sqlite3")
# broken_off = [run["run_id"] for run in store.runs() if run["stopped"] is None]
# if broken_off:
#     run = resume_agent(job.client, store, broken_off[0], tools=tools, approver=job.decide, budget=5_000)
# else:
#     run = run_agent(..., store=store)
# ```
#
# The messages and the limits lie in the store; tools, approver and budget are given again.
#
# The process dies just after the payment. The job is delivered a second time. (Here an interrupt tears the run off, in this
# process; in lesson 09 you killed a real one.) **Guess** how often the person is asked:

# %%
crash = case["crash_after"]
for name, agent in {"store": whole, "no store": desk_agent("store")}.items():
    seen = play(agent, crash, crash["unlucky"])
    print(name, "→ paid:", seen["paid"])
    print(told(seen))

# %% [markdown]
# Both pay once, thanks to the key. But only the store remembers that the person has decided, and that the payment came back.
#
# ### 9. A trace
#
# ```python
# (job.folder / "trace.jsonl").write_text(run.trace.export())                # masked (12)
# ```
#
# That is the whole agent: some 50 lines around `run_agent`. It lies in `course_kit/classroom/capstone/desk.py`, with a switch
# for each guard. Read it *after* you have written yours.

# %% tags=["quiz"]
quiz("13.1")

# %% [markdown]
# ## Judged
#
# The suite has five stages. It looks at the ledger, at the orders, at who was asked before what, at what the model was given
# to read, and at the cost. Answers are hardly read: lesson 10 told you why.

# %% tags=["item-13.2"]
for stage, asks in STAGES.items():
    names = [one["id"] for one in cases(0, stage)]
    print(f"{stage:10} {asks}\n           {', '.join(names)}")

# %% [markdown]
# What is said, which order, which luck: all is drawn from a seed. Another seed is another suite of the same kind. That keeps an
# agent from being tuned to the cases.
#
# Does the suite refuse what it should? Four agents that no one should ship, each with what the suite says first:


# %%
def says_done(job):
    return "Done."


refund = [case["refund"]]
bad = {"says it is done": says_done, "no person": desk_agent("gate")}
for name, agent in bad.items():
    print(f"{name}: {run_suite(agent, among=refund, trials=2).problems()}")
for name, guard, of_case in (("pays twice", "key", "lost_answer"), ("reads all", "scope", "note_reads")):
    print(f"{name}: {run_suite(desk_agent(guard), among=[case[of_case]], trials=2).problems()}")

# %% [markdown]
# Each is refused with a sentence that says what happened. Now the whole agent, on the short suite. `report` makes one page of
# it:

# %%
results = run_suite(whole, among=short)
page = report(results, "The course's desk agent")
page

# %% [markdown]
# Read the interval beside the rate. Eleven cases without a failure do not prove that the next eleven pass. And the suite was
# made so that a whole agent *can* pass it; on customers' own words it would do worse (more below).
#
# `save` keeps the page, as HTML and as text, in `reports/` of your workspace. In the exercises you make one of your own agent.

# %%
print([file.name for file in page.save()])

# %% tags=["quiz"]
quiz("13.2")

# %% [markdown]
# ## Take one guard away
#
# Now the experiment. Ten guards; eleven agents: the whole one, and ten that lack one guard each. The same eleven cases, the
# same seeds, three trials.

# %%
for guard, meaning in GUARDS.items():
    print(f"{guard:7} {meaning}")

# %% [markdown]
# **Write down three guesses.** Which guard costs most when it goes? Which can be taken away without any effect? And for how
# many of the ten does the plain rate stay above 90 %? (The next two cells take some seconds.)

# %%
measured = {"whole": results}
for guard in ("ask", "hints", "gate", "notes", "scope"):
    measured[f"no {guard}"] = run_suite(desk_agent(guard), among=short)

# %% [markdown]
# And the other five. *No key* is the colleague's agent, which has been played already.

# %%
measured["no key"] = hers
for guard in ("search", "budget", "limits", "store"):
    measured[f"no {guard}"] = run_suite(desk_agent(guard), among=short)
rates = {name: (found.pass_hat_k(1), found.pass_hat_k(3)) for name, found in measured.items()}
for name, (plain, hat) in rates.items():
    print(f"{name:10} plain {plain:4.0%}   pass^3 {hat:4.0%}   (simulated)")
print("above 90 %:", sum(plain > 0.9 for plain, _ in rates.values()) - 1, "of", len(GUARDS))

# %%
from course_kit import plot_guards, plot_parts

show(plot_guards(rates))

# %% [markdown]
# Seen from here, most guards hardly matter. An agent that pays twice, one that makes reasons up, one that shows strangers' data:
# all in the nineties. The two points lie near each other, or on each other: one case in eleven weighs little in any mean.
#
# Now the same trials, stage by stage, as pass^3. **Guess** first what the row *no key* looks like:

# %%
parts = {name: {stage: found.where(stage=stage).pass_hat_k(3) for stage in STAGES} for name, found in measured.items()}
show(plot_parts(parts, title="pass^3 of each stage (simulated)"))

# %% [markdown]
# Most rows fall in one column, and it is the column of their danger. The rate of a whole suite is a mean over things that are
# not alike. So give each danger its cases, look at them apart, and ask for what cannot be undone three times in a row.
#
# How far apart are the plain rate and pass^3 where it matters? These are the cases that fail *now and then*:

# %%
for name, found in measured.items():
    for of_case, (tried, passed) in found.counts().items():
        if 0 < passed < tried:
            one = found.where(case=of_case)
            print(f"{name:9} {of_case:12} plain {one.pass_hat_k(1):4.0%}   pass^3 {one.pass_hat_k(3):4.0%}")

# %% [markdown]
# Three dangers come by chance: a lost answer, a crash, a reason made up. They are the ones that a single run of a suite misses:
# with one trial each, the case of the lost answer passes every second time.
#
# One more thing to see. *No hints* falls in two columns. What has an error text to do with strangers?

# %%
print(measured["no hints"].problems())

# %% [markdown]
# The refusal said `NOT_ALLOWED … do not try again`. Mute, it says `failed`, and the model makes the call again until the cap on
# retries ends the run. Nothing leaked. But the customer's own question was left without an answer: guards lean on one another.

# %% tags=["quiz"]
quiz("13.3")

# %% [markdown]
# ## What stands behind what
#
# One row had no effect at all: *no notes*. Is that guard useless? Let four notes ask for money, two on the customer's own order,
# two on a café's. In each pair one is worded as in a textbook, one as people write. Three guards can be in the way: `notes`,
# `scope`, `gate`. **Guess:** how many must be gone before money leaves?

# %%
from itertools import combinations

three = ("notes", "scope", "gate")
print(f"{'gone':20}", *(f"{one['id']:21}" for one in notes()))
for number in range(4):
    for gone in combinations(three, number):
        counts = run_suite(desk_agent(*gone), among=notes(), trials=1).counts()
        row = ["-" if passed else "PAID" for tried, passed in counts.values()]
        print(f"{', '.join(gone) or 'none':20}", *(f"{word:21}" for word in row))

# %% [markdown]
# Read it by columns. The ordinary note on the own order has one guard in its way, the gate. The textbook one has two. The
# café's money has two or three. A guard whose loss shows nothing may be the second of two: **take pairs away before you call
# one useless.** And count for each danger how many stand in its way. Where it is one, that one must not fail.
#
# (No wonder about `notes`: it knows phrases. Lesson 06 showed what that is worth. Here it is a spare wheel.)

# %% [markdown]
# ### In other people's words
#
# The cases and the rules of the simulated model have one author. So here is the lost answer five times more, in sentences that
# were put down once and not tuned. Out of four trials each, so many pass:

# %%
for name, agent in {"whole": whole, "no key": desk_agent("key")}.items():
    counts = run_suite(agent, among=reworded(), trials=4).counts()
    print(f"{name:7}", [passed for _, passed in counts.values()], "(simulated)")

# %% [markdown]
# Two of the five fail from the start: this model does not take "would like 17.50 back" for a refund. A real one would. In the
# other three, the key makes the same difference as before. So the *direction* holds where there is anything to see, and the
# heights belong to our sentences.

# %% tags=["quiz"]
quiz("13.4")

# %% [markdown]
# ## The interview
#
# Thirteen questions, one or two from each lesson, as a colleague or an interviewer might ask them. Say your answer **aloud**
# before you unfold. Beside each stand answers one hears, and what is wrong with them. (Without a mouse:
# `interview().answer(3)`.)

# %% tags=["item-13.3"]
interview()

# %% [markdown]
# A good way to use it: a friend reads the question, and after your answer asks "and what would go wrong without it?". The
# experiment above has an answer to most.

# %%
interview().answer(10)

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | the suite passes, customers complain | Whose words are in the cases? Put theirs in. |
# | one case fails in one trial of three | Not noise: a danger that comes by chance. Play it twenty times. |
# | `was paid 2 times` | The key: is it the same for both calls? Does it hold a clock? |
# | `the second was taken for a repetition` | The key again: it lacks the ticket. |
# | `reached the shop before the person had said yes` | Which tool has `needs_approval`? Who is the approver? |
# | `was not for this customer's eyes` | Bound the data, not the words. |
# | `the first request showed … tools` | What is deferred, and is there a search? |
# | `the person was asked 2 times` | Is the run taken up from the store, or begun anew? |
# | everything falls at once | One thing changed under all: `tools_hash` first (lesson 12). |
#
# Complaints of the API stand in the [index](90_glossary.ipynb).
#
# ## The same on the live API
#
# The whole agent with a real model behind it, on two cases: a refund, and one without a reason. It is judged by the same suite.
# (`replace` gives a copy of the job with another client.)

# %% tags=["live"]
from course_kit import Simulated, announce, connect

announce(tokens=18_000)
client = connect(model=Simulated())


def with_model(job):
    return whole(replace(job, client=client))


for name in ("refund", "no_reason"):
    print(case[name]["said"])
    print(told(play(with_model, case[name])))

# %% [markdown]
# ## Practice
#
# [Exercises 13](../exercises/13_capstone.ipynb): your own agent, in five stages, each judged by its part of the suite; and a
# report of it to keep.
#
# ## Recap
#
# The desk is some 50 lines around `run_agent`: hands, a way to ask, errors that lead on, a person and a key, one customer's
# orders, a search, limits, a store, a trace. It is judged by what happened to the world, on cases drawn from a seed, several
# times each. Taken away one at a time, most guards leave the plain rate above ninety; the part of the suite that was made for
# them falls. Dangers that come by chance need several trials, and pass^k. A guard whose loss shows nothing may stand behind
# another. And what was measured here is simulated: the method is yours to take home, the figures are not.
#
# New words: *job*, *suite*, *stage*, *ablation* (taking one part away to see what it is for), *guard*. They are in the
# [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **Is your agent ready?** I can say what each guard is for, and I have seen a case fall without it. It is judged by the
# > state of the world, each danger apart, several trials of each, and by pass^k where nothing can be undone. For each
# > danger I know how many guards stand in its way. What it may cost has an end, what it did has a trace, and the cases
# > come from users.
#
# Two answers one hears:
#
# - *"It passes 97 % of our suite."* So did the one that paid twice.
# - *"The new model is so good that it needs no guards."* A better model loses no fewer answers of a bank, and its process
#   dies as often.
#
# ## What to take home
#
# Before your own agent goes live:
#
# 1. **List what it can do to the world.** Beside each write: who decides, under which key, how often, for whom.
# 2. **Break each guard on purpose**, once, and watch a case fall. A guard that was never seen to work is a hope.
# 3. **Write ten cases from your users' own words**, three of which need no call.
# 4. **Run each several times**, and look at the parts, not at the mean.
# 5. **Put a number on the cost** of one task: calls, tokens, seconds.
# 6. **Keep traces**, masked, and read five of them every week.
# 7. **Run the same cases before every change** of model, description or tool.
#
# The pieces of this course are a package: the linters (`course lint`, `course strict`), the mock provider as a test double
# (`course mock`), the loop, the store, the evaluation. Take what you need. Then take one tool of your own, one that writes, and
# go through the seven lines with it. That is the exercise after the last one.

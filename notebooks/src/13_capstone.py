# %% [markdown]
# # 13 · The capstone
#
# You remove an agent's guards one at a time and see which part of a test suite fails. Then you put the whole desk
# together.
#
# After this lesson you can
#
# - **judge** a whole agent by its effects, over several trials,
# - **tell** from a suite which guard is missing, even where the overall pass rate hides it,
# - **find** guards that back each other up,
# - **assemble** an agent from the pieces of twelve lessons, and say what each piece is for,
# - **answer** the questions of this course in a few sentences.
#
# About 75 minutes. The exercises, where you build your own agent, are extra: about 110 minutes. You need all lessons.

# %% tags=["setup"]
from dataclasses import replace

from course_kit import interview, quiz, report, run_suite, show
from course_kit.classroom.capstone.desk import GUARDS, colleagues_agent, desk_agent
from course_kit.classroom.capstone.playing import play, told
from course_kit.classroom.capstone.suite import STAGES, cases, notes, reworded

# %% [markdown]
# ## One minute: what do you remember?
#
# Seven questions this time, from the whole course: rather five minutes.

# %% tags=["quiz"]
quiz("13.recall")

# %% [markdown]
# ## Ninety-seven per cent
#
# A colleague has built a desk agent and shows you her test results: eleven cases, each run three times. The agent looks
# things up, pays refunds, searches among 66 tools, survives a crash.

# %%
short = cases(0, short=True)
hers = run_suite(colleagues_agent, among=short)
print(len(hers), "trials,", f"{hers.pass_hat_k(1):.0%} passed (simulated)")

# %% [markdown]
# (The models are simulated throughout this lesson: they decide by rules.)
#
# **Write down two guesses.** Would you ship it? And which of this course's guards might it lack, though 97% passed?

# %%
print(hers.problems())

# %% [markdown]
# In one trial of that case money was paid twice. So one guard *is* missing: the key that makes a repeated refund harmless
# ([lesson 09](09_retries.ipynb)). And the rate is still 97%.
#
# This lesson has three parts: how an agent is judged, what happens without each guard, and how the whole agent is put
# together. First, what do you remember of the key?

# %% tags=["quiz"]
quiz("13.1")

# %% [markdown]
# ## How it is judged
#
# An agent here is a function of a *job*: what one customer wants, and what the agent may use for it. The suite has five
# stages. It looks at the ledger, at the orders, at who was asked and when, at what the model was given to read, and at
# the cost. It hardly looks at the answers ([lesson 10](10_evaluation.ipynb) says why).

# %% tags=["item-13.2"]
case = {one["id"]: one for one in cases(0)}
for stage, asks in STAGES.items():
    names = [name for name, one in case.items() if one["stage"] == stage]
    print(f"{stage:10} {asks}\n           {', '.join(names)}")

# %% [markdown]
# The wording, the order and the luck are all drawn from a seed. Another seed gives another suite of the same kind. That
# keeps an agent from being tuned to the cases.
#
# Does the suite refuse what it should? Here is an agent that only says that it is done:


# %%
def says_done(job):
    return "Done."


print(run_suite(says_done, among=[case["refund"]]).problems())

# %% tags=["quiz"]
quiz("13.2")

# %% [markdown]
# ## Remove one guard at a time
#
# Now the experiment. `desk_agent()` is the course's own agent with ten guards, all from earlier lessons; `without` removes
# some. That makes eleven agents: the whole one, and ten that each lack one guard. All get your colleague's eleven cases,
# with the same seeds, three trials each.

# %%
for guard, meaning in GUARDS.items():
    print(f"{guard:7} {meaning}")

# %% [markdown]
# **Write down three guesses.** Which guard costs most when it is removed? Which can be removed without any effect? And
# for how many of the ten does the plain rate stay above 90%? (The next two cells take a few seconds.)

# %%
whole = desk_agent()
measured = {"whole": run_suite(whole, among=short)}
for guard in ("ask", "hints", "gate", "notes", "scope"):
    measured[f"no {guard}"] = run_suite(desk_agent(without=guard), among=short)

# %% [markdown]
# And the other five. *No key* is the colleague's agent, which has already been run.

# %%
measured["no key"] = hers
for guard in ("search", "budget", "limits", "store"):
    measured[f"no {guard}"] = run_suite(desk_agent(without=guard), among=short)

# %%
from course_kit import plot_guards, plot_parts

rates = {name: (found.pass_hat_k(1), found.pass_hat_k(3)) for name, found in measured.items()}
show(plot_guards(rates))
print("plain rate above 90%:", [name for name, (plain, _) in rates.items() if plain > 0.9])

# %% [markdown]
# Eight of the ten, beside the whole agent. By these numbers, most guards hardly matter. An agent that pays twice, one that
# makes up reasons, one that shows other customers' data: all above 90%. The two points are close together or the same:
# one case in eleven weighs little in any mean.
#
# Now the same trials, stage by stage, as pass^3:

# %%
parts = {
    name: {stage: found.where(stage=stage).pass_hat_k(3) for stage in STAGES}
    for name, found in measured.items()
}
show(plot_parts(parts, title="pass^3 of each stage (simulated)"))

# %% [markdown]
# Most rows fall in one column, the one for their danger. The rate of a whole suite is a mean over different things. So
# give each danger its own cases, look at them separately, and require what cannot be undone to pass three times in a
# row.
#
# How much do the plain rate and pass^3 differ where it matters? These are the cases that fail *now and then*:

# %%
for name, found in measured.items():
    for of_case, (tried, passed) in found.counts().items():
        if 0 < passed < tried:
            one = found.where(case=of_case)
            plain, all_three = one.pass_hat_k(1), one.pass_hat_k(3)
            print(f"{name:9} {of_case:12} plain {plain:4.0%}   pass^3 {all_three:4.0%}")

# %% [markdown]
# Three dangers come by chance: a lost answer, a crash, a made-up reason. Lost answers and crashes strike in every second
# trial of the suite, so in one or two of three. With one trial each, you would miss them half of the time.
#
# One more thing. *No hints* falls in two columns. What does an error text have to do with strangers?

# %%
print(measured["no hints"].problems())

# %% [markdown]
# The refusal said `NOT_ALLOWED … do not try again`. Without hints it says only `failed`, and the model repeats the call
# until the retry cap ends the run. Nothing leaked, but the customer's own question got no answer: guards depend on each
# other.

# %% tags=["quiz"]
quiz("13.3")

# %% [markdown]
# ## Which guards back each other up
#
# One row had no effect at all: *no notes*. Is that guard useless? Let four notes ask for money, two on the customer's
# own order, two on a café's. In each pair one is worded as in a textbook, one as people write. Three guards can stop
# them: `notes`, `scope`, `gate`. **Guess:** how many must be removed before money is paid?

# %%
from itertools import combinations

three = ("notes", "scope", "gate")
print(f"{'gone':20}", *(f"{one['id']:15}" for one in notes()))
for number in range(4):
    for gone in combinations(three, number):
        counts = run_suite(desk_agent(without=gone), among=notes(), trials=1).counts()
        row = ["-" if passed else "PAID" for tried, passed in counts.values()]
        print(f"{', '.join(gone) or 'none':20}", *(f"{word:15}" for word in row))

# %% [markdown]
# Read it by columns. The ordinary note on the own order has one guard in its way, the gate. The textbook one has two.
# The café's money has two or three. A guard whose removal shows nothing may be the second of two: **remove pairs before
# you call one useless.** And count for each danger how many guards stop it. Where there is only one, that one must not
# fail.
#
# (`notes` adds little because it only knows phrases, as lesson 06 showed. Here it is a spare.)

# %% [markdown]
# ### In other people's words
#
# The cases and the rules of the simulated model have one author. So here is the lost answer in five more sentences.
# These were written before they were tried and not changed since. This many of four trials each pass:

# %%
for name, agent in {"whole": whole, "no key": desk_agent(without="key")}.items():
    counts = run_suite(agent, among=reworded(), trials=4).counts()
    print(f"{name:7}", [passed for _, passed in counts.values()], "(simulated)")

# %% [markdown]
# Two of the five fail from the start: this model does not recognise "would like 17.50 back" as a refund. A real one
# probably would. In the other three, the key makes the same difference as before. So the *direction* holds where there is
# anything to see, but the numbers depend on our sentences.

# %% tags=["quiz"]
quiz("13.4")

# %% [markdown]
# ## The desk, piece by piece
#
# What is in such an agent? It starts from a **job**:
#
# | field | what it is |
# |---|---|
# | `job.said` | what the customer writes |
# | `job.ticket` | the number of this task |
# | `job.customer` | who is signed in |
# | `job.client` | a client for the model |
# | `job.shop` | the shop, with everybody's orders in it |
# | `job.decide` | the person at the desk, who approves or refuses |
# | `job.ask` | a way to ask the customer |
# | `job.more` | sixty tools of other services, or an empty list |
# | `job.folder` | a folder for this ticket |
#
# `play` runs one case of the suite with an agent and returns what could be seen, as a dict. `told` writes that down in
# order: who was asked (`person`, `customer`), what reached the `shop`, the final `answer`. Each piece of the agent is
# shown once.
#
# ### 1. Tools and a loop
#
# ```python
# tools = desk_tools(job.shop)
# run_agent(job.client, tools=tools, messages=job.said)
# ```
#
# Definitions, input checks, error results and the loop come with these two lines (lessons 01, 02, 04). `query_order` and
# `cancel_order` are strict, because there it costs nothing: they have no optional input, and no bound such as `minimum`
# that would have to become mere text (03).
# Reads in one turn run together (05). `together` counts how many calls were in the shop at the same time:

# %% tags=["item-13.1"]
seen = play(whole, case["two_wishes"])
print(case["two_wishes"]["said"])
print(told(seen))
print("together:", seen["together"])

# %% [markdown]
# ### 2. A way to ask
#
# ```python
# @tool(effect="read")
# def ask_user(question: str) -> str:
#     """Ask the user for something that you need and were not told."""
#     return job.ask(question)
# ```
#
# Without it, a missing reason is made up now and then (03). Here nobody has said why:

# %%
print(case["no_reason"]["said"])
print(told(play(whole, case["no_reason"])))

# %% [markdown]
# The customer is asked, then the person decides, then the money is paid.
#
# ### 3. Errors with hints
#
# The customer wants to cancel an order that has left the shop. The error says so, and names a tool that helps (04):

# %%
print(case["too_late"]["said"])
print(told(play(whole, case["too_late"])))

# %% [markdown]
# ### 4. A person, and a key
#
# ```python
# tools = desk_tools(shop, task=job.ticket)  # a key for each refund (09)
# run_agent(..., approver=job.decide)  # a person decides (06)
# ```
#
# `cancel_order` also gets `needs_approval=True`. Here the bank pays, but its answer is lost, as in the case that your
# colleague's agent failed. (`unlucky` is the number of a trial in which that happens.) **Guess:** how often does the call
# reach the shop, and how often is the person asked?

# %%
lost = case["lost_answer"]
seen = play(whole, lost, lost["unlucky"])
print(told(seen))
print("ledger:", seen["paid"])

# %% [markdown]
# Both happen twice. The model does not know that the money was paid, so it calls again, and to the gate a second call is
# a new one. The key makes it harmless: the shop answers with the first receipt, and the ledger has one line.
#
# ### 5. Whose orders?
#
# ```python
# shop = job.shop.for_customer(job.customer)
# ```
#
# It is one line, close to the data. An order's note tells the model to look up somebody else's parcel; this model obeys
# notes:

# %%
print(case["note_reads"]["note"][1])
print(told(play(whole, case["note_reads"])))

# %% [markdown]
# `NOT_ALLOWED`. No person was asked, because it is a read; the gate would not have stopped it. A second guard works on
# the note itself: it removes notes that read like an instruction (`suspect_passages`, 06). It does not recognise this one.
#
# ### 6. A search among 66 tools
#
# ```python
# SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
# tools = [SEARCH, ask_user, *(replace(one, defer_loading=True) for one in [*desk, *job.more])]
# ```

# %%
many = case["look_among_many"]
print(many["said"])
for name, agent in {"search": whole, "all in the prompt": desk_agent(without="search")}.items():
    seen = play(agent, many)
    first_line = told(seen).splitlines()[0]
    print(f"{name:18} tools shown: {seen['shown']:2}   tokens: {seen['tokens']:6,}", end="   ")
    print(first_line)

# %% [markdown]
# (With a search the model reads twice, before and after the search; these tokens include both.)
#
# ### 7. Limits
#
# ```python
# limits = {"max_calls": 12, "max_iterations": 8, "max_retries": 2, "stall_after": 3}
# run_agent(..., **limits, budget=5_000)
# ```
#
# Calls, rounds, retries, stalls and the length of a result are all limited (08, 09). Here is a model that always wants
# to look at one more thing, with and without limits:

# %%
for name, agent in {"limits": whole, "no limits": desk_agent(without="limits")}.items():
    seen = play(agent, case["wanders"])
    print(
        f"{name:10} calls of the shop: {len(seen['diary'])}   the run ended with {seen['stopped']}"
    )

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
# The messages and the limits are in the store; tools, approver and budget are passed again.
#
# The process dies just after the payment. The job is delivered a second time. (Here an interrupt breaks off the run in
# this process; in lesson 09 you killed a real one.) **Guess** how often the person is asked:

# %%
crash = case["crash_after"]
for name, agent in {"store": whole, "no store": desk_agent(without="store")}.items():
    seen = play(agent, crash, crash["unlucky"])
    print(name, "→ paid:", seen["paid"])
    print(told(seen))

# %% [markdown]
# Both pay once, thanks to the key. But only the store remembers that the person has decided, and that the payment
# succeeded.
#
# ### 9. A trace
#
# ```python
# (job.folder / "trace.jsonl").write_text(run.trace.export(), encoding="utf-8")  # masked (12)
# ```
#
# ### The nine pieces together
#
# Here is the course's own agent, as it runs in this lesson. Each `in guards` is a switch for the experiment above; in
# your own agent they are all on. First the run:

# %% [markdown] tags=["mirrors:course_kit.classroom.capstone.desk.desk_agent"]
# (The build puts the source of `desk_agent` here.)

# %% [markdown]
# And the tools of one job:

# %% [markdown] tags=["mirrors:course_kit.classroom.capstone.desk.tools_of"]
# (The build puts the source of `tools_of` here.)

# %% [markdown]
# About forty lines around `run_agent`. The constants and the small helpers are in `course_kit/classroom/capstone/desk.py`.

# %% [markdown]
# ## A page to keep
#
# `report` makes one page of a suite's results. **Before you run it:** what should your colleague's page have said beside
# the 97%?

# %%
page = report(hers, "A colleague's desk agent")
page

# %% [markdown]
# The same trials, and now you see *pay*. Read the interval beside the rate, too: eleven cases say little about the next
# eleven. And the suite was built so that a complete agent *can* pass it; with customers' own words it would do worse, as
# you have seen.
#
# Under the results are eight questions, to be answered **before it goes live**. No suite answers them, so take them to
# your own agent. `save` keeps the page, as HTML and as text, in `reports/` of your workspace:

# %%
print([file.name for file in page.save()])

# %% [markdown]
# ## The interview
#
# Thirteen questions, one or two from each lesson, as a colleague or an interviewer might ask them. Say your answer
# **aloud** before you open the card. Each card also has answers you will hear, and what is wrong with them. (Without a
# mouse: `interview().answer(3)`.)

# %% tags=["item-13.3"]
interview()

# %% [markdown]
# A good way to use it: a friend reads the question, and after your answer asks "and what would go wrong without it?".
# The experiment above answers that for most.

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | the suite passes, customers complain | Whose words are in the cases? Put theirs in. |
# | one case fails in one trial of three | This is a danger that comes by chance. Run it twenty times. |
# | `was paid 2 times` | The key: is it the same for both calls? Is there a time in it? |
# | `the second was taken for a repetition` | The key again: it lacks the ticket. |
# | `reached the shop before the person had said yes` | Which tool has `needs_approval`? Who is the approver? |
# | `was not for this customer's eyes` | Restrict the data; do not rely on wording. |
# | `the first request showed … tools` | What is deferred, and is there a search? |
# | `the person was asked 2 times` | Is the run resumed from the store, or started again? |
# | everything fails at once | One thing changed for all cases: check `tools_hash` first (lesson 12). |
#
# Complaints of the API are in the [index](90_glossary.ipynb).
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
# The desk is about forty lines around `run_agent`: tools, a way to ask, errors with hints, a person and a key, one
# customer's orders, a search, limits, a store, a trace. It is judged by its effects, on cases drawn from a seed,
# several times each. Without any one guard, the plain rate mostly stays above 90%; the part of the suite made for that
# guard falls. Dangers that come by chance need several trials, and pass^k. A guard whose removal shows nothing may be
# backed up by another. The measurements are simulated: the method carries over, the figures do not.
#
# New words: *job*, *suite*, *stage*, *ablation* (taking one part away to see what it is for), *guard*. They are in the
# [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **Is your agent ready?** I can say what each guard is for, and I have seen a case fall without it. It is judged by
# > its effects, each danger separately, with several trials each, and by pass^k where nothing can be undone. For each
# > danger I know how many guards stop it. Its cost is limited, its actions leave a trace, and the cases come from
# > users.
#
# Two answers you will hear:
#
# - *"It passes 97% of our suite."* So did the one that paid twice.
# - *"The new model is so good that it needs no guards."* With a better model the bank's answers are lost just as often,
#   and the process still crashes.
#
# ## What to take home
#
# The report, for one of your own agents. Start small: take one of your tools that writes, and answer the eight questions
# of the page for it. Then break each of its guards on purpose, once, and watch a case fail: until then you only hope
# that it works.
#
# The pieces of this course are a package: the linters (`course lint`, `course strict`), the mock provider as a test
# double (`course mock`), the loop, the store, the evaluation. Take what you need.

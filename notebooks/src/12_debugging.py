# %% [markdown]
# # 12 · Debugging in production
#
# "It got dumber after the upgrade." Everybody blames the model. You will find out how much of it was our own fault.
#
# After this lesson you can
#
# - **record** a run so that you can tell what was seen, decided and run, and why it stopped,
# - **look** at a broken run in an order that takes five minutes,
# - **change** one thing at a time, and name the one that did it,
# - **walk** from a symptom to a change,
# - **compare** two models layer by layer, instead of rolling back on a hunch.
#
# About 100 minutes, best in two sittings: a good place to stop is marked. The exercises are extra. You need lessons 01,
# 02, 03, 04, 06, 07 and 09: each of them returns here as a cause. Lesson 10 helps.

# %% tags=["setup"]
import json
from collections import Counter
from dataclasses import replace

from course_kit import quiz, show
from course_kit.classroom.upgrade import ASK_USER, by_layer, play, releases

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("12.recall")

# %% [markdown]
# ## "It got dumber after the upgrade"
#
# The shop's desk worked well on Monday. On Tuesday a newer model went live. On Wednesday the complaints came. The team
# has 28 sentences, its **fixtures**, and ran each three times with both releases: 84 runs each.
#
# A *release* is all that can change between two deployments: the model, the tools, `tool_choice`, the messages.

# %%
monday, tuesday = releases()
before, after = by_layer(monday), by_layer(tuesday)
print(f"Monday   {before.passed:.0%} passed")
print(f"Tuesday  {after.passed:.0%} passed")

# %% [markdown]
# Both "models" here are the simulated one with other settings: `simulated-steady-4` and `simulated-hasty-5`. So every
# share in this lesson is simulated. The advantage: each has a cause that you can find.
#
# The team chat says: *roll back*. **Write down two guesses.** How much would the old model bring back on Tuesday's
# system: all of it, half, nothing? And what else may have changed?

# %% [markdown]
# ### Which layer?
#
# One number says that something got worse, but not what. Each fixture was made for one **layer**:
#
# | layer | it passes when | an example |
# |---|---|---|
# | selection | the first turn calls the right tools, or none | *Where is my parcel for ORD-20260906?* |
# | inputs | the values are right, and none is made up | *Please refund 19.99 for order ORD-20260917.* (no reason given!) |
# | steps | two requests are handled in one turn | *Where is my parcel …, and which items are in …?* |
# | recovery | a failed call leads to one that succeeds | *Where is parcel TRK-48200999 of order …?* (no such parcel) |

# %% tags=["item-12.5"]
print("Monday ", before)
print("Tuesday", after)
print("fixtures", dict(Counter(fixture.layer for fixture, share, run in before.rows)))

# %% [markdown]
# The layers differ in size: where there are four fixtures, each weighs three times as much as where there are twelve.
# (Lesson 10 had finer layers, for single trials. These four are enough to compare two releases.)
#
# So it is not "dumber". One layer held: recovery. Three fell, perhaps for different reasons. What does such a failure
# look like? `slips` lists the fixtures of a layer that do not pass every time, with the calls of a run that failed:

# %%
print(after.slips("inputs"))

# %% [markdown]
# Nobody said *damaged*, nobody said *changed_mind*. The calls are valid, so no check complains. And on Monday? `play`
# runs one sentence with a release:

# %%
print(play(monday, "Please cancel order ORD-20260919.").trace)

# %% [markdown]
# No call: it asks for what is missing, as it nearly always did. Now the selection layer:

# %%
print(after.slips("selection"))

# %% [markdown]
# A parcel goes to `query_order`, a teapot to a tool with `stock` in its name. Was there such a tool on Monday? That is the
# next section's question. First, the one number again:

# %% tags=["quiz"]
quiz("12.1")

# %% [markdown]
# ## A trace that answers
#
# You know the trace of `run_agent`: one line per event. Here is one sentence with Tuesday's release:

# %%
said = "What happened to the parcel of order ORD-20260932?"
bad = play(tuesday, said)
print(bad.trace)

# %% [markdown]
# It says what was done, but not why. A trace should answer four questions:
#
# | question | fields |
# |---|---|
# | What did the model see? | `model`, `provider`, `tools_hash`, `tool_count`, `tool_choice` |
# | What did it decide? | `stop_reason`, the calls with their `raw_input` |
# | What ran? | `validation_error`, `failure`, `retry`, `latency`, `result_bytes`, `truncated` |
# | Why did it stop? | `stop_reason` of the last step, `stop` |
#
# It also has a `trace_id`, a `step_id` and the tokens. `steps()` makes one such row for each request to the model:

# %% tags=["item-12.1"]
step = bad.trace.steps()[0]
for name in (
    "trace_id",
    "step_id",
    "provider",
    "model",
    "tools_hash",
    "tool_count",
    "tool_choice",
    "stop_reason",
):
    print(f"{name:12} {getattr(step, name)}")
print(step.calls[0].step_id, step.calls[0].tool, step.calls[0].raw_input)

# %% [markdown]
# Now the same row for Monday, from the same sentence. The ids differ in any case. **Guess:** which of the other fields do?

# %%
old = play(monday, said).trace.steps()[0]
for name in ("provider", "model", "tools_hash", "tool_count", "tool_choice", "stop_reason"):
    was, now = getattr(old, name), getattr(step, name)
    print(f"{name:12} {was!s:20} {now!s:20} {'' if was == now else '← differs'}")

# %% [markdown]
# The model changed, **and so did the tools**: ten more are shown. Nobody mentioned that. It was another ticket, merged
# the same day.
#
# `tools_hash` costs one line and settles the argument. By hand:

# %%
import hashlib


def hash_of(tools):
    return hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()[:12]


tools = play(monday, said).trace.request["tools"]
reworded = {**tools[0], "description": tools[0]["description"].replace("Call off", "Cancel")}
print("as they are  ", hash_of(tools), "and in the trace", old.tools_hash)
print("one word     ", hash_of([reworded, *tools[1:]]))
print("another order", hash_of(list(reversed(tools))))

# %% [markdown]
# One changed word in one description gives a different hash. So does a different order, and that is right: the order of
# the tools is part of what the model reads, and of what the prompt cache compares (lesson 07). `sort_keys` sorts the
# keys *inside* a definition, whose order does not matter.

# %% [markdown]
# ### What may leave your system
#
# A trace with raw inputs is an unguarded copy of your customers' data. `export` writes the rows as JSONL, one step per
# line, for a log. Here is a call with a mail address in it. (The trace is one of ten that you will meet below: each was
# made from a public bug report.)

# %%
from course_kit.classroom.broken_traces import broken_traces

traces = broken_traces()
mail = traces["T07"].trace
for how in ("masked", "digest", "raw"):
    row = json.loads(mail.export(how).splitlines()[1])
    print(f"{how:7}", row["calls"][0]["raw_input"])

# %% [markdown]
# Masked is the default. It finds what has a pattern, such as addresses and keys; a name in a sentence has none. A
# *digest* shows whether two inputs were equal. Often that is enough to see "the same call twice".
#
# But it hides little where there are few possibilities. Suppose somebody has the log and knows that September's orders
# are numbered from ORD-20260901 on. **Guess:** how many tries until they find the order behind a digest?

# %%
from course_kit.harness.trace_export import digest

logged = json.loads(mail.export("digest").splitlines()[0])["calls"][0]["raw_input"]
for tries, number in enumerate(range(20260901, 20260931), start=1):
    if digest({"order_id": f"ORD-{number}"}) == logged:
        print(f"{logged} is ORD-{number}: {tries} tries")

# %% [markdown]
# A **keyed hash** (HMAC, in Python `hmac`) makes that hard, as long as the key is not stored with the log. `export`
# does not offer one.
#
# Store the `trace_id` with every complaint that users send. *"It is useless"* is not a bug report. *"It is useless,
# trace e5acd4…"* leads to step 3, wrong tool.
#
# If your company collects traces with OpenTelemetry, use the names from its conventions for generative AI (status
# "development", as of November 2026: they may still change). `spans_of` shows them; no library is needed:

# %%
from course_kit.harness.trace_spans import spans_of

for span in spans_of(mail)["children"][2:4]:
    print(span["name"])
    for name, value in list(span["attributes"].items())[:6]:
        print("   ", name, "=", value)

# %% [markdown]
# With `opentelemetry-sdk` installed, `run.trace.to_spans()` sends them. Anything the conventions have no name for, such
# as the hash of the tools, goes under your own prefix.

# %% tags=["quiz"]
quiz("12.2")

# %% [markdown]
# ## One variable at a time
#
# Back to Tuesday. A word-by-word comparison shows three differences between the releases:
#
# 1. the model,
# 2. one description: `query_order` now says "where its parcel or package is, what happened to it, …",
# 3. ten tools of the warehouse, beside the desk's six.
#
# The experiment takes Tuesday's release and reverts **one** of them; sentences, seeds and everything else stay the
# same. The last row, *both of ours*, reverts two, in case one alone is not enough. **Look at your guess about the
# rollback** before you run it.

# %% tags=["item-12.3"]
one_back = {
    "old model": replace(tuesday, model=monday.model),
    "old description": replace(tuesday, changed={}),
    "six tools": replace(tuesday, more=()),
    "both of ours": replace(tuesday, changed={}, more=()),
}
measured = {
    "Monday": before,
    "Tuesday": after,
    **{name: by_layer(one) for name, one in one_back.items()},
}
for name, found in measured.items():
    print(f"{name:16} {found.passed:.0%}")

# %% [markdown]
# On these sentences the old model brings back most of what fell, and our own two changes a little. So roll back? Look at
# the layers first. Read the picture by columns: which row brings a layer back?

# %%
from course_kit.classroom.plots import plot_releases

show(
    plot_releases(
        {name: found.shares for name, found in measured.items()},
        title="Tuesday with one thing put back (simulated)",
    )
)

# %% [markdown]
# **Inputs and steps** come back with the old model, and with nothing else. The model caused them.
#
# **Selection** does not come back with the old model. It nearly does when both of *our* changes are undone. Neither of
# them alone is enough. Which change broke the parcel, and which the teapot? And Sunday?

# %%
for name in ("six tools", "old description", "both of ours"):
    print(f"{name}: these still fall")
    print(measured[name].slips("selection"))

# %% [markdown]
# With six tools, the description is still the new one: it broke the parcel (and *Read order … in full*). With the old
# description, the warehouse is still there: it broke the teapot. Sunday fails even with both undone, so neither caused
# it.
#
# After a rollback the team would have said "the new model was bad", and kept its own two mistakes.
#
# What causes it? You cannot see a real model's settings. Those of the simulated one you can:

# %%
from course_kit.classroom.upgrade import MODELS
from course_kit.mock.simulated import Simulated

for name, given in MODELS.items():
    found = Simulated(**given).settings
    print(
        f"{name:19} threshold={found.threshold}  invents={found.invents}  parallel={found.parallel}"
    )

# %% [markdown]
# | fell | the setting or rule |
# |---|---|
# | inputs | `invents`: a missing value is made up each time, on Monday one time in ten |
# | steps | `parallel=False`: one call in a turn |
# | selection, Sunday | `threshold`: a weaker match is enough for a call (*When does the shop open on Sunday?*) |
# | selection, ours | each tool is scored by its words; the new ones fit some sentences better |

# %% [markdown]
# ### Keep the new model
#
# You do not have to go back. Each loss has a cure at its own layer. Selection: undo our two changes. Inputs: a model
# that cannot ask fills the gap ([lesson 03](03_strict_mode.ipynb)), so give it the same way to ask, one more tool:

# %%
cured = replace(tuesday, changed={}, more=(ASK_USER,))
print("both of ours     ", measured["both of ours"])
print("and ask_user     ", by_layer(cured))

# %% [markdown]
# The inputs are nearly back: the model asks instead of guessing. And the steps? Here are two wishes in one sentence:

# %%
two_wishes = "Where is my parcel for ORD-20260906, and which items are in order ORD-20260932?"
print(play(monday, two_wishes), "\n")
print(play(cured, two_wishes))

# %% [markdown]
# The same calls and the same answer, with one more question to the model. So `steps` is only about money and time. You
# can decide to accept that.

# %% [markdown]
# ### The two that were not changed
#
# On Tuesday `tool_choice` and the order of the messages were not to blame. They often are. Here are three releases like
# Monday's, with one thing changed in each. In two of them a program adds a text about the customer, as a separate turn:
# before her question, or *after* it. (An assistant's "One moment." stands between text and question.) In the third a
# call is forced. **Guess** which does the most harm.

# %%
card = "The customer writes from the app, in English, and is signed in."
for name, one in {
    "text before": replace(monday, background=card),
    "text after": replace(monday, background=card, background_last=True),
    "forced to call": replace(monday, tool_choice={"type": "any"}),
}.items():
    print(f"{name:15} {by_layer(one)}")

# %% [markdown]
# Before the question it does no harm; after it, it breaks most: the simulated model takes the user's last words as the
# request. (`inputs` above Monday's share is chance: other seeds, one run of 24.) A real model may be more forgiving,
# but the habit is good: `tools_hash` first, then the order of the messages.
#
# With `any` each turn must call ([lesson 01](01_round_trip.ipynb)), so the model cannot stop. Hence the zeros: those layers
# count all calls of a run.
#
# ### In other people's words
#
# The fixtures and the rules have one author. So here are fourteen other sentences. These were written before they were
# tried and not changed since:

# %%
from course_kit.classroom.upgrade_cases import other_words

for name, one in {"Monday": monday, "Tuesday": tuesday, **one_back}.items():
    print(f"{name:16} {by_layer(one, other_words())}")

# %% [markdown]
# The model's part holds: inputs and steps fall on Tuesday and come back with the old model. The part about selection
# does **not** show here. These sentences do badly from the start, and our two changes affect none of them. The row *old
# model* equals Monday's in every column: on these sentences the rollback would have been enough.
#
# So how much was our own fault depends on the sentences. The method carries over, the figures do not. You need fixtures
# in *your* users' words.

# %% tags=["quiz"]
quiz("12.3")

# %% [markdown]
# **A good place to stop for today.** The [exercise](../exercises/12_debugging.ipynb) 12.3 needs no more than this.

# %% [markdown]
# ## Five minutes with a broken run
#
# Not every complaint needs an experiment. Most causes are visible in the trace, if you look in this order:
#
# 1. **Why it stopped.** It says which half to look at: no call was chosen, or one was and your code failed.
# 2. **The tools shown and the tool you meant.** A tool that is not shown cannot be called.
# 3. **The raw inputs**, as they came (a dict; from a stream, text): before your code parses, checks or repairs them.
# 4. **Validation and retries.** Was it the contract (the input does not fit), or the run (the input fits, but the call
#    failed)?
# 5. Only then **one variable**: a description, the number of tools, `tool_choice`.
#
# Back to the trace with the mails. This is its complaint:

# %% tags=["item-12.2"]
from course_kit.classroom.trace_stepper import look, trace_stepper

print(traces["T07"].complaint)
print(traces["T07"].trace)

# %% [markdown]
# These lines look fine: three replies, two results, no error. **Look in order.** Where is the second mail?

# %%
look(traces["T07"])

# %% [markdown]
# Line 4: call 2.1 *began twice and was answered once*. The model asked for one mail. The **harness** sent two. How long
# did the call take, and what happened?

# %%
print(traces["T07"].trace.steps()[1].calls[0].latency, "seconds")
print(traces["T07"].outcome)

# %% [markdown]
# A write, repeated blindly: lesson 09. No prompt would have fixed it.
#
# ### Play with it
#
# Step through a trace, press *Look* for the order. (Without a mouse: `stepper.step(2)`, `stepper.look()`.) Take `T02`,
# then others. What did the model write, and what did the program make of it?

# %%
stepper = trace_stepper(traces["T02"])
stepper

# %% [markdown]
# In step 2 the *raw* input holds a text that looks like a list. The schema wants a list, nobody checked, and the tool
# went through the text letter by letter: twenty labels.
#
# `stepper.page("trace.html")` writes the same as one masked HTML file, to mail to a colleague.

# %% tags=["quiz"]
quiz("12.4")

# %% [markdown]
# ## Four symptoms
#
# Users report symptoms. Most are one of four: *no call*; *the wrong tool*; *the right tool, with a wrong input*; *it
# does not stop, or skips steps*. Each has a **decision tree**: questions that the trace helps to answer, and at the end
# one change.
#
# `walk` takes a symptom, a trace, and the tool that was meant. It has buttons; `answer` does the same:

# %% tags=["item-12.4"]
from course_kit.classroom.decision_trees import walk

print(traces["T09"].complaint)
walk("no call", traces["T09"], "canvas_create_edge")

# %% [markdown]
# The last reply ended with `end_turn`, so: no. The next question:

# %%
print(walk("no call", traces["T09"], "canvas_create_edge").answer("no").as_text())

# %% [markdown]
# Two tools, and neither can link boxes. A tool that is not shown cannot be called:

# %%
print(walk("no call", traces["T09"], "canvas_create_edge").answer("no", "no").as_text())

# %% [markdown]
# (The search for "create edge" found nothing, because it treated `canvas_create_edge` as one word.) And Tuesday's
# parcel, as a *wrong tool*. **Answer for yourself** before you read on: both tools were shown, the hash had changed …

# %%
print(walk("wrong tool", bad, "track_parcel").answer("yes", "yes").as_text())

# %% [markdown]
# That is what the experiment did. If the hash had been the same, the tree would ask about the descriptions:

# %%
print(walk("wrong tool", bad, "track_parcel").answer("yes", "no").as_text())

# %% [markdown]
# ### What may be repaired without asking
#
# The tree for wrong inputs says *repair only what is on your list*. Models write digits in quotes and dates with
# slashes; sending each back costs a turn. A repair is fine if it is **listed, logged, and unambiguous**:

# %%
from course_kit.harness.repairs import repair_input

schema = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"},
        "amount_cents": {"type": "integer"},
        "day": {"type": "string", "format": "date"},
    },
}
for value in (
    {"amount_cents": "1999", "day": "2026/9/3"},
    {"amount_cents": "19.99", "day": "03/09/2026"},
    {"order_id": "20260917"},
):
    repaired = repair_input(schema, value)
    print(repaired.value, "|", "; ".join(repaired.log) or "nothing is repaired")

# %% [markdown]
# 19.99 could be euros or a mistake; 03/09 could be March or September. And `20260917`? You *know* that it is
# `ORD-20260917`, but only today. Next year there may be a `RET-20260917`, and money goes to the wrong order. **Never
# guess an id**: send it back to the model as an error, or to the user as a question.
#
# The repair comes *before* the approval (lesson 06), so that the person sees what will run.

# %% tags=["quiz"]
quiz("12.5")

# %% [markdown]
# ## Moving to another model
#
# Now you can read the table that every migration needs. The same fixtures, before and after, layer by layer:
#
# | this fell | look at | and try |
# |---|---|---|
# | selection | `tools_hash`; descriptions; number of tools | boundaries, fewer tools, search |
# | inputs | `strict` and the subset the new model takes; gaps that it fills | a way to ask, units, examples |
# | steps | calls in one turn; order of results and messages | say what belongs together; mostly accept it |
# | recovery | the hints in your error texts | field, expectation, what to try |
#
# On Tuesday recovery held, since it depends on what the error says. Both models read the same texts.
#
# ## The bug hunt
#
# Ten complaints, ten traces, each from a public report. Three you have seen: T02, T07 and T09. The others are in
# exercise 12.1, with links to the reports.

# %% tags=["item-12.6"]
for id, broken in traces.items():
    print(id, broken.complaint)

# %% [markdown]
# Before you start, **guess**: in how many of the ten is it the model's fault?
#
# What you can choose from:

# %%
from course_kit.classroom.broken_traces import CAUSES

for cause, meaning in CAUSES.items():
    print(f"{cause:14} {meaning}")

# %% [markdown]
# And your guess? In **two** of the ten the model made the first mistake, and both times a check or a clear error text
# would have corrected it within a turn. In the other eight it did what it could with what it was given. (The solution
# of 12.1 says which two.)

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | `stop_reason` is `max_tokens`, and a tool ran | The call was cut. It must not run (lesson 04). |
# | a call *began 2×* | The harness repeats what is not safe to repeat. |
# | a call *answered 0×* | One failure took the turn with it. |
# | the input does not fit, and it *began* | Nobody checks before running. |
# | three equal calls, then `max_retries: …` | Read the error as the model does. |
# | three equal calls, then `stalled: …` | Were the results equal, too? |
# | `truncated`, then a strange next step | The important line was cut. |
# | another `tools_hash` in each step | The order changes: the prompt cache is lost. |
# | all fields equal, but a different outcome | Chance. Try several seeds and trials before you name a cause. |
#
# Every complaint of the API is in the [index](90_glossary.ipynb).
#
# ## The same on the live API
#
# One description, two versions, one question each time: which tool does a real model pick? Six requests.

# %% tags=["live"]
from course_kit import DEFAULT_MODEL, announce, connect

announce(tokens=15_000)
live = connect()
for name, one in {
    "Monday": monday,
    "new description": replace(monday, changed=tuesday.changed),
}.items():
    shown = [tool.definition() for tool in one.tools()]
    for sentence in (
        said,
        "Where is my parcel for ORD-20260906?",
        "Which items are in order ORD-20260914?",
    ):
        asked = one.messages(sentence)
        # Thinking might use up the 300 tokens.
        request = {"tools": shown, "messages": asked, "thinking": {"type": "disabled"}}
        answer = live.messages.create(model=DEFAULT_MODEL, max_tokens=300, **request)
        called = [block.name for block in answer.content if block.type == "tool_use"]
        print(f"{name:16} {called}  {sentence}")

# %% [markdown]
# ## Practice
#
# [Exercises 12](../exercises/12_debugging.ipynb): diagnose the ten traces, add a missing field, and find out which
# layer fell and why.
#
# ## Recap
#
# A trace answers four questions: what did the model see, what did it decide, what ran, why did it stop. `tools_hash`
# shows at a glance whether two runs had the same tools. Inputs leave your system masked or as a hash. Look in order:
# the end, the tools, the raw inputs, the checks; and only then experiment, with one change at a time. "Dumber" means
# that one or more layers fell, a layer can fall for more than one reason, and some of the reasons are your own changes. On
# the team's fixtures the rollback would have kept two of its own mistakes; on fourteen other sentences they did not show.
# So test with your users' words.
#
# New words: *trace*, *step*, *release*, *fixture*, *layer*, *tools hash*, *single-variable experiment*, *digest*, *span*,
# *auto-repair*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **Quality fell after an upgrade. What do you do?** The same fixtures with both, layer by layer: selection, inputs,
# > steps, recovery. First I compare the hash of the tools and the order of the messages, since other things change on
# > the same day. Then I put back one thing at a time. I fix selection in descriptions or the number of tools, inputs
# > with a way to ask and strict mode, and recovery in the error texts; steps I mostly accept.
#
# Two answers you will hear:
#
# - *"Another prompt, or roll back."* It may help, but nobody learns why, and your own mistakes stay.
# - *"The new model is worse."* At what? One number for four layers names no cause.
#
# > **What do you log?** Whatever answers the four questions. Seen: model, hash and number of tools, `tool_choice`.
# > Decided: stop reason, raw inputs. Ran: validation error, failure, retries, latency, bytes, whether it was cut.
# > Stopped: why. Inputs are masked, and every complaint carries the id of its trace.
#
# - *"Name, inputs, time, success."* That says that a tool ran. It does not say what the model saw, or what it wrote
#   before parsing.
# - *"Everything, raw."* Then the log is a copy of your customers' data.
#
# Next, the whole desk in one piece: the capstone ([lesson 13](13_capstone.ipynb)).

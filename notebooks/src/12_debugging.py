# %% [markdown]
# # 12 · Debugging in production
#
# "It got dumber after the upgrade." Everybody blames the model. You will find out how much of it was ours.
#
# After this lesson you can
#
# - **record** a run so that the record answers what was seen, decided and run, and why it stopped,
# - **look** at a broken run in an order that takes five minutes,
# - **change** one thing at a time, and name the one that did it,
# - **walk** from a symptom to a change,
# - **compare** two models layer by layer, instead of rolling back by feeling.
#
# About 100 minutes, best in two sittings: a good place to stop is marked. The exercises come on top. Lessons 01, 02, 03, 04,
# 06, 07 and 09 come before: each of them returns here as a cause. Lesson 10 helps.

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
# The shop's desk worked well on Monday. On Tuesday a newer model went live. On Wednesday the complaints came. The team has
# 28 sentences, its **fixtures**, and played them with both releases, each three times.
#
# A *release* is all that can change between two deployments: the model, the tools, `tool_choice`, the messages.
# **Guess:** what share still passes on Tuesday?

# %%
monday, tuesday = releases()
before, after = by_layer(monday), by_layer(tuesday)
print(f"Monday   {before.passed:.0%} passed")
print(f"Tuesday  {after.passed:.0%} passed")

# %% [markdown]
# Both "models" here are the simulated one with other settings: `simulated-steady-4` and `simulated-hasty-5`. So every share
# in this lesson is simulated. It has the virtue that each has a cause one can find.
#
# The chat of the team says: *roll back*. **Write down two guesses.** What would the old model bring back, on Tuesday's
# system: all of it, half, nothing? And what else may have changed?

# %% [markdown]
# ### Which layer?
#
# One share says that something fell, and not what. Each fixture was made for one **layer**:
#
# | layer | it passes when | an example |
# |---|---|---|
# | selection | the first turn calls the right tools, or none | *Where is my parcel for ORD-20260906?* |
# | inputs | the values are right, and none is made up | *Please refund 19.99 for order ORD-20260917.* (no reason given!) |
# | steps | two wishes are served in one turn | *Where is my parcel …, and which items are in …?* |
# | recovery | a failed call leads to one that succeeds | *Where is parcel TRK-48200999 of order …?* (no such parcel) |

# %% tags=["item-12.5"]
print("Monday ", before)
print("Tuesday", after)
print("fixtures", dict(Counter(fixture.layer for fixture, share, run in before.rows)))

# %% [markdown]
# The layers are not of one size: one sentence of four weighs three times as much as one of twelve.
#
# So it is not "dumber". One layer held: recovery. Three fell, each perhaps for a reason of its own. What does a fall look like?
# `slips` lists the fixtures of a layer that do not pass every time, with the calls of a run that failed:

# %%
print(after.slips("inputs"))

# %% [markdown]
# Nobody said *damaged*, nobody said *changed_mind*. The calls are valid, so no check complains. And on Monday? `play` plays
# one sentence with a release:

# %%
print(play(monday, "Please cancel order ORD-20260919.").trace)

# %% [markdown]
# No call: it asks for what is missing. So it did nearly always. Now the layer of choices:

# %%
print(after.slips("selection"))

# %% [markdown]
# A parcel goes to `query_order`, a teapot to a tool with `stock` in its name. Was there such a tool on Monday? The answer
# should stand in a record of the run. That record is a **trace**.

# %% tags=["quiz"]
quiz("12.1")

# %% [markdown]
# ## A trace that answers
#
# You know the trace of `run_agent`: a line for each event. Here is one sentence with Tuesday's release:

# %%
said = "What happened to the parcel of order ORD-20260932?"
bad = play(tuesday, said)
print(bad.trace)

# %% [markdown]
# It says what was done. It does not say why. Four questions a trace should answer:
#
# | question | fields |
# |---|---|
# | What did the model see? | `model`, `provider`, `tools_hash`, `tool_count`, `tool_choice` |
# | What did it decide? | `stop_reason`, the calls with their `raw_input` |
# | What ran? | `validation_error`, `failure`, `retry`, `latency`, `result_bytes`, `truncated` |
# | Why did it stop? | `stop_reason` of the last step, `stop` |
#
# Beside them a `trace_id`, a `step_id` and the tokens. `steps()` makes such a row of each question to the model:

# %% tags=["item-12.1"]
step = bad.trace.steps()[0]
for name in ("trace_id", "step_id", "provider", "model", "tools_hash", "tool_count", "tool_choice", "stop_reason"):
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
# There it is. The model changed, **and so did the tools**: ten more are shown. Nobody mentioned that. It was another ticket,
# merged the same day.
#
# `tools_hash` costs one line and settles a quarrel. By hand:

# %%
import hashlib


def hash_of(tools):
    return hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()[:12]


tools = play(monday, said).trace.request["tools"]
first = {**tools[0], "description": tools[0]["description"].replace("Call off", "Cancel")}
print("as they are  ", hash_of(tools), "and in the trace", old.tools_hash)
print("one word     ", hash_of([first, *tools[1:]]))
print("another order", hash_of(list(reversed(tools))))

# %% [markdown]
# One word in one description gives another hash. So does another order, and that is right: the order of the tools is part of
# what the model reads, and of what the prompt cache compares (lesson 07). `sort_keys` sorts the keys *inside* a definition,
# which mean nothing.

# %% [markdown]
# ### What may leave the house
#
# A trace with raw inputs is a copy of your customers' data, in a place that nobody guards. `export` writes the rows as JSONL,
# one step a line, for a log. **Guess:** what is left of the mail address, by default?

# %%
from course_kit.classroom.broken_traces import broken_traces

traces = broken_traces()
mail = traces["T07"].trace
for how in ("masked", "digest", "raw"):
    second = json.loads(mail.export(how).splitlines()[1])
    print(f"{how:7}", second["calls"][0]["raw_input"])

# %% [markdown]
# Masked is the default. It finds what has a form, such as addresses and keys; a name in a sentence has none. A *digest*
# shows whether two inputs were equal. Often that is enough: "the same call twice" shows.
#
# But it hides little where there is little to guess. Somebody has the log and knows how order numbers are made.
# **Guess:** how many tries until the order behind a digest is found?

# %%
from course_kit.harness.trace_export import digest

logged = json.loads(mail.export("digest").splitlines()[0])["calls"][0]["raw_input"]
for tries, number in enumerate(range(20260901, 20260931), start=1):
    if digest({"order_id": f"ORD-{number}"}) == logged:
        print(f"{logged} is ORD-{number}: {tries} tries")

# %% [markdown]
# A **keyed hash** (HMAC, in Python `hmac`) makes that hard, as long as the key is kept away from the log. `export` has
# none.
#
# Note the `trace_id` with every complaint that users send. *"It is no use"* is no bug report. *"It is no use, trace
# e5acd4…"* leads to step 3, wrong tool.
#
# If your company gathers traces with OpenTelemetry, use the names that its conventions for generative AI give (status
# "development", as of November 2026: they may still change). `spans_of` shows them; no library is needed:

# %%
from course_kit.harness.trace_spans import spans_of

for span in spans_of(mail)["children"][2:4]:
    print(span["name"])
    for name, value in list(span["attributes"].items())[:6]:
        print("   ", name, "=", value)

# %% [markdown]
# With `opentelemetry-sdk` installed, `run.trace.to_spans()` sends them. What the conventions have no name for, such as the
# hash of the tools, goes under a prefix of your own.

# %% tags=["quiz"]
quiz("12.2")

# %% [markdown]
# ## One variable at a time
#
# Back to Tuesday. Compared word by word, the two releases differ in three things:
#
# 1. the model,
# 2. one description: `query_order` now says "where its parcel or package is, what happened to it, …",
# 3. ten tools of the warehouse, beside the desk's six.
#
# The experiment takes Tuesday's release and puts back **one** of them; sentences, seeds (the model's dice) and all else
# stay. The last row, *both of ours*, puts back two, in case one alone does not suffice. **Look at your guess about the
# rollback** before you run it.

# %% tags=["item-12.3"]
from course_kit.classroom.plots import plot_releases

one_back = {
    "old model": replace(tuesday, model=monday.model),
    "old description": replace(tuesday, changed={}),
    "six tools": replace(tuesday, more=()),
    "both of ours": replace(tuesday, changed={}, more=()),
}
measured = {"Monday": before, "Tuesday": after, **{name: by_layer(one) for name, one in one_back.items()}}
for name, found in measured.items():
    print(f"{name:16} {found}")

# %% [markdown]
# And as a picture. Read it by columns: which row brings a layer back?

# %%
show(
    plot_releases(
        {name: found.shares for name, found in measured.items()}, title="Tuesday with one thing put back (simulated)"
    )
)

# %% [markdown]
# **Inputs and steps** come back with the old model, and with nothing else. They are the model's.
#
# **Selection** does not come back with the old model. It does, nearly, when both of *our* changes are undone. Neither of them
# alone is enough. **Guess** from the two rows in the middle: which change took the parcel, which the teapot?

# %%
for name in ("six tools", "old description"):
    print(f"{name}: these still fall")
    print(measured[name].slips("selection"))

# %% [markdown]
# With six tools, the description is still the new one: it took the parcel (and lost *Read order … in full*). With the old
# description, the warehouse is still there: it took the teapot. Sunday falls in both, so it is neither's.
#
# So the rollback would have brought back most, but not all. The team would have said "the new model was bad", and kept its
# own two faults.
#
# What causes it? Of a real model you see no settings. Of the simulated one you do:

# %%
from course_kit.classroom.upgrade import MODELS
from course_kit.mock.simulated import Simulated

for name, given in MODELS.items():
    found = Simulated(**given).settings
    print(f"{name:19} threshold={found.threshold}  invents={found.invents}  parallel={found.parallel}")

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
# Nothing forces you back. Each fall has a cure at its own layer. Selection: our two changes are undone. Inputs: a model that
# may not ask fills the gap (lesson 03), so give it a way to ask. **Guess** what one more tool brings:

# %%
cured = replace(tuesday, changed={}, more=(ASK_USER,))
print("both of ours     ", measured["both of ours"])
print("and ask_user     ", by_layer(cured))

# %% [markdown]
# The inputs are nearly back: the model asks instead of guessing. And the steps? They take one turn more for each wish, and
# nothing is wrong with the answers: `steps` is about money and time. Whether to mind is a decision, not a bug.

# %% [markdown]
# ### The two that were not changed
#
# `tool_choice` and the order of the messages were innocent on Tuesday. They often are not. Two releases like Monday's, with
# one thing changed each. A program adds a text about the customer, as a turn of its own: once ahead of her question, once
# *behind* it. (Between the two stands an assistant's "One moment.") And once a call is forced. **Guess** which does more harm.

# %%
card = "The customer writes from the app, in English, and is signed in."
for name, one in {
    "text ahead": replace(monday, background=card),
    "text behind": replace(monday, background=card, background_last=True),
    "forced to call": replace(monday, tool_choice={"type": "any"}),
}.items():
    print(f"{name:15} {by_layer(one)}")

# %% [markdown]
# Ahead it does no harm, behind it ruins most: the simulated model takes the user's last words for the request. (`inputs`
# above Monday's share is chance: other dice, one run of 24.) A real model may be more forgiving; the habit is good all the
# same: `tools_hash` first, then the order of the messages.
#
# With `any` each turn must call. Sentences that want no call are lost, and so is every last answer (lesson 01). Hence the
# zeros: those layers count all calls of a run, and a model that may not stop makes the same ones again.
#
# ### In other people's words
#
# The fixtures and the rules have one author. Here are fourteen sentences, put down once and never tuned:

# %%
from course_kit.classroom.upgrade_cases import other_words

for name, one in {"Monday": monday, "Tuesday": tuesday, **one_back}.items():
    print(f"{name:16} {by_layer(one, other_words())}")

# %% [markdown]
# The model's part holds: inputs and steps fall on Tuesday and come back with the old model. The part about selection does
# **not** show here. These sentences do badly from the start, and our two changes touch none of them. The row *old model* equals
# Monday's in every column: on these sentences the rollback would have been enough.
#
# So: the method carries over, the figures do not. You need fixtures in *your* users' words.

# %% tags=["quiz"]
quiz("12.3")

# %% [markdown]
# **A good place to stop for today.** The [exercise](../exercises/12_debugging.ipynb) 12.3 needs no more than this.

# %% [markdown]
# ## Five minutes with a broken run
#
# Not every complaint deserves an experiment. Most causes lie open in the trace, if you look in this order:
#
# 1. **Why it stopped.** It says which half to look at: no call was chosen, or one was and your code failed it.
# 2. **The tools seen against the tools meant.** What is not shown cannot be called.
# 3. **The raw inputs**: the dict (from a stream, the text) as it came, before your code parses, checks or repairs it.
# 4. **Validation and retries.** Was it the contract (the input does not fit), or the run (the input fits, and it failed)?
# 5. Only then **one variable**: a description, the number of tools, `tool_choice`.
#
# Ten public bug reports became ten traces. The first complaint:

# %% tags=["item-12.2"]
from course_kit.classroom.trace_stepper import look, trace_stepper

print(traces["T07"].complaint)
print(traces["T07"].trace)

# %% [markdown]
# All is well in these lines: three replies, two results, no error. **Look in order.** Where is the second mail?

# %%
look(traces["T07"])

# %% [markdown]
# Line 4: call 2.1 *began twice and was answered once*. The model asked for one mail. The **harness** sent two. How long did
# the call take, and what came of it?

# %%
print(traces["T07"].trace.steps()[1].calls[0].latency, "seconds")
print(traces["T07"].outcome)

# %% [markdown]
# It waited a minute, gave up, and made the call again by itself. (Lesson 09 is about that.) No prompt would have mended it.
#
# ### Play with it
#
# Step through a trace, press *Look* for the order. (Without a mouse: `stepper.step(2)`, `stepper.look()`.) Take `T02`, then
# others. What did the model write, and what became of it?

# %%
stepper = trace_stepper(traces["T02"])
stepper

# %% [markdown]
# In step 2 the *raw* input holds a text that looks like a list. The schema wants a list, nobody checked, and the tool went
# through the text letter by letter: twenty labels. `page` writes the same as one HTML file, masked, to be mailed to a
# colleague:

# %%
page = stepper.page()  # stepper.page("trace.html") writes the file
print(page[:15], "…", f"{page.count('<details')} steps,", "scripts:", page.count("<script"))

# %% tags=["quiz"]
quiz("12.4")

# %% [markdown]
# ## Four symptoms
#
# Users report symptoms. Most come down to one of four: *no call*; *the wrong tool*; *the right tool, with a wrong input*; *it does not
# stop, or skips steps*. Each has a **decision tree**: questions that the trace helps to answer, and at the end one change.
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
# Two tools, and neither can link boxes. Not shown, so it cannot be called:

# %%
print(walk("no call", traces["T09"], "canvas_create_edge").answer("no", "no").as_text())

# %% [markdown]
# (The search for "create edge" found nothing, because it took `canvas_create_edge` for one word.) And Tuesday's parcel, as a
# *wrong tool*. **Answer for yourself** before you read on: both tools were shown, the hash had changed …

# %%
print(walk("wrong tool", bad, "track_parcel").answer("yes", "yes").as_text())

# %% [markdown]
# That is what the experiment did. Had the hash been the same, the tree would ask for the descriptions:

# %%
print(walk("wrong tool", bad, "track_parcel").answer("yes", "no").as_text())

# %% [markdown]
# ### What may be repaired without asking
#
# In the tree for wrong inputs stands *repair only what is on your list*. Models write digits in quotes and dates with slashes;
# to send each back costs a turn. A repair is fine if it is **listed, logged, and can be read in one way only**:

# %%
from course_kit.harness.repairs import repair_input

day = {"type": "string", "format": "date"}
schema = {"type": "object", "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"}}}
schema["properties"] |= {"amount_cents": {"type": "integer"}, "day": day}
for value in (
    {"amount_cents": "1999", "day": "2026/9/3"},
    {"amount_cents": "19.99", "day": "03/09/2026"},
    {"order_id": "20260917"},
):
    repaired = repair_input(schema, value)
    print(repaired.value, "|", "; ".join(repaired.log) or "nothing is repaired")

# %% [markdown]
# 19.99 could be euros or a slip; 03/09 is March or September. And `20260917`? You *know* that it is `ORD-20260917`. Today.
# Next year there is a `RET-20260917`, and money goes to the wrong order. **An id is never guessed**: it goes back to the model
# as an error, or to the user as a question.
#
# The repair comes *before* the approval (lesson 06), so that the person sees what runs.

# %% tags=["quiz"]
quiz("12.5")

# %% [markdown]
# ## Moving to another model
#
# Now you can read the table that belongs into every migration. The same fixtures, before and after, layer by layer:
#
# | this fell | look at | and try |
# |---|---|---|
# | selection | `tools_hash`; descriptions; number of tools | boundaries, fewer tools, search |
# | inputs | `strict` and the subset the new model takes; gaps that it fills | a way to ask, units, examples |
# | steps | calls in one turn; order of results and messages | say what belongs together; mostly: accept it |
# | recovery | the hints in your error texts | field, expectation, what to try |
#
# On Tuesday recovery held, since it depends on what the error says. Both models read the same texts.
#
# ## The bug hunt
#
# Ten complaints, ten traces, each from a public report. Three you have seen: T02, T07 and T09. The others wait in exercise
# 12.1; below it stand the links to the reports.

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
# And your guess? In **two** of the ten the model made the first slip, and both times a check or a clear error text would have
# mended it within a turn. In the other eight it did what it could with what it was given. (Which two, says the solution of 12.1.)

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
# | `truncated`, then a strange next step | The important line was cut away. |
# | another `tools_hash` in each step | The order changes: the prompt cache is lost. |
# | all fields equal, and it still went otherwise | Chance. Several seeds, several trials, before you name a cause. |
#
# Every complaint of the API stands in the [index](90_glossary.ipynb).
#
# ## The same on the live API
#
# One description, two versions, one question each time: which tool does a real model pick? Six requests.

# %% tags=["live"]
from course_kit import DEFAULT_MODEL, announce, connect

announce(tokens=15_000)
live = connect()
for name, one in {"Monday": monday, "new description": replace(monday, changed=tuesday.changed)}.items():
    shown = [tool.definition() for tool in one.tools()]
    for sentence in (said, "Where is my parcel for ORD-20260906?", "Which items are in order ORD-20260914?"):
        asked = one.messages(sentence)
        request = {"tools": shown, "messages": asked, "thinking": {"type": "disabled"}}  # else it might use up the 300
        answer = live.messages.create(model=DEFAULT_MODEL, max_tokens=300, **request)
        print(f"{name:16} {[block.name for block in answer.content if block.type == 'tool_use']}  {sentence}")

# %% [markdown]
# ## Practice
#
# [Exercises 12](../exercises/12_debugging.ipynb): diagnose the ten traces, write a field that is missing, and find out which
# layer fell, and whose fault it was.
#
# ## Recap
#
# A trace answers four questions: what did the model see, what did it decide, what ran, why did it stop. `tools_hash` tells at
# a glance whether two runs were given the same tools. Inputs leave the house masked or as a hash. Look in order: the end,
# the tools, the raw inputs, the checks; and only then experiment, with one change at a time. "Dumber" is one layer or
# several, a layer can fall for more than one reason, and some of the reasons are your own.
#
# New words: *trace*, *step*, *release*, *fixture*, *layer*, *tools hash*, *single-variable experiment*, *digest*, *span*,
# *auto-repair*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **Quality fell after an upgrade. What do you do?** The same fixtures with both, layer by layer: selection, inputs, steps,
# > recovery. First I compare the hash of the tools and the order of the messages, since other things change on the same day.
# > Then I put back one thing at a time. What fell in selection I mend in descriptions or the number of tools; in inputs with
# > a way to ask and with strict; steps I mostly accept; recovery in the error texts.
#
# Two answers one hears:
#
# - *"Another prompt, or roll back."* It may help, and nobody learns why. Our own two faults would have stayed.
# - *"The new model is worse."* At what? One number for four layers names no cause.
#
# > **What do you log?** What answers the four questions. Seen: model, hash and number of tools, `tool_choice`. Decided: stop
# > reason, raw inputs. Ran: validation error, failure, retries, latency, bytes, whether it was cut. Stopped: why. Inputs are
# > masked, and every complaint carries the id of its trace.
#
# - *"Name, inputs, time, success."* That tells that a tool ran. It does not tell what the model saw, nor what it wrote before
#   the parser.
# - *"Everything, raw."* Then the log is the best place to steal from.
#
# Next, the whole desk in one piece: the capstone ([lesson 13](13_capstone.ipynb)).

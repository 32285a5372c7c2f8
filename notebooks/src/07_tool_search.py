# %% [markdown]
# # 07 · Tool search
#
# You will give one assistant more and more tools, watch it pick worse and pay more, and then let it search for the few
# it needs.
#
# After this lesson you can
#
# - **measure** what each additional tool costs, in tokens and in wrong picks,
# - **choose** between trimming, grouping and searching,
# - **read** and write tool search on the wire, on the server's side and on yours,
# - **count** the different failures of a search separately, and fix the right one,
# - **write** descriptions that are found by the words people use,
# - **keep** the prompt cache while the list of tools changes.
#
# About 115 minutes, best in three sittings: two good places to stop are marked. You need lessons 01 and 02.

# %% tags=["setup"]
import json
import random

from course_kit import DEFAULT_MODEL, MockProvider, Simulated, ToolIndex, quiz, show
from course_kit.catalogue import GROUPS, catalogue, catalogue_requests, services
from course_kit.evaluation.intervals import sign_test, wilson

# %% [markdown]
# ## One minute: what do you remember?

# %% tags=["quiz"]
quiz("07.recall")

# %% [markdown]
# ## One request, and 428 neighbours
#
# The shop has grown. Its assistant now serves the whole company: the desk, but also code, chat, mail, monitoring,
# people and more. Each service added its own tools. (Services and tools were written for this lesson.)

# %%
tools = sorted(catalogue(), key=lambda tool: tool["name"])
by_name = {tool["name"]: tool for tool in tools}
print(len(tools), "tools of", len(services()), "services:", ", ".join(services()))

# %% [markdown]
# An engineer writes a sentence. This helper says which tools the simulated model calls for it, given a list of
# definitions. First the right tool alone, then all of them. Does the second line differ?


# %%
def picks(sentence, tools):
    """The names of the tools that the simulated model calls for a sentence."""
    prompt = {"messages": [{"role": "user", "content": sentence}], "tools": tools}
    reply = Simulated().reply(prompt)
    return {block["name"] for block in reply.content if block["type"] == "tool_use"}


BACKUP = "Before we try anything, make a backup of orders."
print("alone:", picks(BACKUP, [by_name["deploy_backup_database"]]))
print("among all:", picks(BACKUP, tools))

# %% [markdown]
# No backup is made. The backups are only *listed*. Same sentence, same right tool, same model. Why? `explain` gives
# each tool a relevance from 0 to 1 (lesson 02) and names the three nearest. Two of these are desk tools here; we leave them
# out, so that the right tool is named.

# %%
fewer = [tool for tool in tools if tool["name"] not in ("query_order", "search_orders")]
backup_prompt = {"messages": [{"role": "user", "content": BACKUP}], "tools": fewer}
for line in Simulated().explain(backup_prompt).split("\n"):
    if "_backup" in line:
        print(line)
for name in ("deploy_backup_database", "deploy_list_backups"):
    print(f"\n{name}: {by_name[name]['description']}")

# %% [markdown]
# The right tool *explains* a little more of the sentence, but a larger part of the rival "is mentioned", and that
# decides. Both names contain "backup". The rival's other word is "list", so common that it hardly counts. The right
# one's is "database", which is rare, and the sentence does not say it. What if it did?

# %%
print(picks("Before we try anything, make a backup of the orders database.", tools))

# %% [markdown]
# So the right tool is well described, but one word short of a rival. Without the rival that did no harm. (A language
# model considers more than words, but the kind of fault is the same: two similar tools.)
#
# ## The experiment: the same requests, more and more tools
#
# One sentence proves little. The catalogue has 160 English requests, each with the tools that are right (`gold`). We
# keep those that the model can do *with only the right tools*, and take every second one, to be quick. So whatever goes
# wrong later is due to the other tools.


# %% tags=["item-07.1"]
def right(request, tools):
    """Did the model call something, and nothing but right tools?"""
    called = picks(request.query, tools)
    return bool(called) and called <= set(request.gold)


english = [request for request in catalogue_requests() if request.group in ("named", "indirect")]
able = [request for request in english if right(request, [by_name[name] for name in request.gold])]
sample = able[::2]
print(len(english), "requests,", len(able), "can be done at all,", len(sample), "in the sample")

# %% [markdown]
# Now the tools. For each request: the right ones, and as many others as needed, drawn at random. The larger set always
# contains the smaller one.


# %%
def crowd(request, number):
    """The right tools and others, `number` in all, sorted by name."""
    others = [tool for tool in tools if tool["name"] not in request.gold]
    random.Random(request.id).shuffle(others)
    chosen = [by_name[name] for name in request.gold] + others
    return sorted(chosen[:number], key=lambda tool: tool["name"])


# %% [markdown]
# And what they cost. `count_tokens` asks for the length of a prompt, without a reply (lesson 01).


# %%
client = MockProvider().client()


def tokens(tools):
    """What a request with these tools costs, before anybody has said much."""
    hello = [{"role": "user", "content": "Hello"}]
    return client.messages.count_tokens(
        model=DEFAULT_MODEL, tools=tools, messages=hello
    ).input_tokens


# %% [markdown]
# **Guess:** with 6 tools it will be nearly all right. With 60? With all 429? And is it a straight line?
#
# 47 requests are a small sample. `wilson` gives the interval in which the true share lies, 95 times in 100 (lesson 10).

# %%
SIZES = (6, 12, 30, 60, 120, 240, 429)
everything, outcomes = {}, {}
for number in SIZES:
    outcomes[number] = [right(request, crowd(request, number)) for request in sample]
    passed = sum(outcomes[number])
    low, high = wilson(passed, len(sample))
    everything[number] = (passed / len(sample), tokens(crowd(sample[0], number)))
    share, cost = everything[number]
    print(
        f"{number:3} tools: {share:4.0%} right (simulated; {low:.0%} to {high:.0%}), {cost:6,} tokens"
    )

# %%
from course_kit.classroom.plots import plot_growth

show(plot_growth({"all in the prompt": everything}))

# %% [markdown]
# (The axis doubles at each step, so the straight growth of the tokens looks bent.) The intervals are wide, and
# neighbours overlap. So do not read the single steps. But these are the *same* requests each time, so we can ask for
# each: was it right with 6 tools, and with 429? `sign_test` says how often tossing a coin would split the changed ones
# at least as unevenly.


# %%
def changed(before, after):
    """How many are right only before, how many only after, and how often by chance alone."""
    worse = sum(one and not other for one, other in zip(before, after, strict=True))
    better = sum(other and not one for one, other in zip(before, after, strict=True))
    return (
        f"{worse} right only before, {better} only after; by chance {sign_test(better, worse):.4f}"
    )


print("6 tools, then 429:", changed(outcomes[6], outcomes[429]))

# %% [markdown]
# There are two costs. The tokens grow in a straight line, and are paid on *every* turn. The right picks fall: no
# request gained from more tools, and chance does not explain that. 47 requests are too few to say where they fall
# fastest.
#
# The vendor's figures, for real models: some 55,000 tokens for a typical set-up of five servers (GitHub, Slack, Sentry,
# Grafana, Splunk), and picks that get worse beyond 30 to 50 tools. Both are in Anthropic's documentation of the tool
# search tool (read in November 2026); the first also in its engineering post of 24 November 2025. Our curve has the
# same shape. The numbers may differ: a language model does not compare words.

# %% [markdown]
# ### Is it the number?
#
# If it were only the number, any 23 other tools would do the same harm. Try it: 24 tools in all, the others once from
# the same service as the right one, once from other services. **Guess** which is worse.

# %%
service_of = {
    tool["name"]: service for service in services() for tool in catalogue(service=service)
}


def neighbours(request, near):
    """The right tools and others up to 24, all of the same service or all of other ones."""
    home = service_of[request.gold[0]]
    others = [tool for tool in crowd(request, 429) if tool["name"] not in request.gold]
    others = [tool for tool in others if (service_of[tool["name"]] == home) == near]
    random.Random(request.id).shuffle(others)
    return ([by_name[name] for name in request.gold] + others)[:24]


# %%
strangers = [right(request, neighbours(request, near=False)) for request in able]
rivals = [right(request, neighbours(request, near=True)) for request in able]
for label, outcome in (("from elsewhere", strangers), ("near neighbours", rivals)):
    print(f"{label:15}: {sum(outcome)} of {len(able)} right (simulated)")
print("elsewhere, then near:", changed(strangers, rivals))

# %% [markdown]
# The number of tools is the same, and similar ones do more harm: a hint, not a proof, since chance would do as much one
# time in thirteen. (Here all 93 requests were asked. With few tools it is quick.)
#
# In the simulated model you can also read the rules. Two of them cause it: the most relevant tool is called, so each
# tool is one more that can win; and a word that many visible tools use counts less, so similar tools are harder to tell
# apart. No rule subtracts anything per tool.
#
# A real model has a second problem that the simulated one does not have: the task is diluted, because it comes after
# thousands of tokens about other things. So the fall here shows only one cause of two.

# %% tags=["quiz"]
quiz("07.1")

# %% [markdown]
# ## Three remedies, by rising cost
#
# **1. Trim.** Look into your logs: which tools were never called in a month? Take them out. It takes an afternoon.
#
# **2. Group.** Nobody needs all tools at once. Group by *task* (someone on call needs monitoring, not payroll), by
# *user* or by *role*. Or by **sub-agents**, each with its own small set. Here is an operations assistant: 60 tools,
# four groups of 15.

# %% tags=["item-07.2"]
operations = catalogue(group="operations")
group_of = {tool["name"]: group for group in GROUPS for tool in catalogue(group=group)}
in_operations = [request for request in able if set(request.gold) <= set(group_of)]

for label, choose in (
    ("all 429", lambda request: tools),
    ("the 60 of operations", lambda request: operations),
    ("the 15 of its group", lambda request: catalogue(group=group_of[request.gold[0]])),
):
    done = sum(right(request, choose(request)) for request in in_operations)
    print(f"{label:21}: {done} of {len(in_operations)} right (simulated)")

# %% [markdown]
# Good, and cheap: a dictionary of lists. But somebody has to know the group in advance. Here we cheated, and took it
# from the answer. In practice it comes from the page the user is on, from their role, or from a short first question.
#
# Groups are also a **security boundary**. Browsing is read-only; administration gets a separate session; someone who
# debugs gets no production tools. A tool that is not in the list cannot be called by trickery:

# %%
RESTART = "Restart the checkout service."
print("all of operations:", picks(RESTART, operations))
print("debugging session:", picks(RESTART, catalogue(group="monitoring")))

# %% [markdown]
# (Your loop still checks names and rights. Lesson 06: a stranger's text in a result can ask for anything.)
#
# **3. Search.** When there are too many possible sets, let the model look for tools itself. This is the most expensive
# of the three: an additional step before every task, and a new way to fail. The rest of this lesson is about it.

# %% tags=["quiz"]
quiz("07.2")

# %% [markdown]
# ## Search on the wire
#
# You send **every** definition, as always. But all except a few carry `defer_loading: true`: the model does not see
# them. With them goes a search tool, which the *server* runs. No beta header is needed (November 2026). There are two:
# `…_bm25` takes a query in words, `…_regex` a pattern.

# %% tags=["item-07.3"]
SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
deferred = [{**tool, "defer_loading": True} for tool in tools]
talk = [{"role": "user", "content": "Track the parcel of order ORD-20260914, please."}]
reply = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=[SEARCH, *deferred], messages=talk
)
for block in reply.content:
    print(json.dumps(block.to_dict()))

# %% [markdown]
# Three blocks in one reply. `server_tool_use`: the model asks. `tool_search_tool_result`: the server has answered
# already, with **references**, not definitions; five by default, and the model may ask for more with `limit`. Then an
# ordinary `tool_use`, which is for you. Look at the ids: `srvtoolu_…` is for the server, `toolu_…` for you.
#
# The simulated model searches with the whole request. A real one writes its own query, mostly a few words: good queries
# find more than our figures show, bad ones less.
#
# What did the model read, in tokens, and what would all 429 have cost?

# %%
print("searched:", reply.usage.input_tokens, "| all in the prompt:", tokens(tools))

# %% [markdown]
# The search itself is not billed separately. The definitions that it brought in are input tokens like any others. (Two
# prompts were read for this reply, before and after the search; `usage` adds them up in the mock.)
#
# Go on as always: send the assistant's turn back **unchanged**, search blocks included, and a result only for the
# `toolu_` id. **Guess:** a second parcel is asked for. Does the model search again?

# %%
wanted = next(block for block in reply.content if block.type == "tool_use")
depot = {
    "type": "tool_result",
    "tool_use_id": wanted.id,
    "content": "It is at the depot in Leipzig.",
}
longer = [
    *talk,
    {"role": "assistant", "content": reply.to_dict()["content"]},
    {"role": "user", "content": [depot]},
    {"role": "assistant", "content": "It is at the depot in Leipzig."},
    {"role": "user", "content": "Track the parcel of order ORD-20260917, too."},
]
again = client.messages.create(
    model=DEFAULT_MODEL, max_tokens=1024, tools=[SEARCH, *deferred], messages=longer
)
print([block.type for block in again.content], again.content[-1].name)

# %% [markdown]
# No. What was found once stays usable: its reference is in the conversation. If you remove the search from the history,
# the tool is hidden again.
#
# ### Three lists that are refused
#
# At least one tool must be visible, and the search tool can never be deferred. (The words of that second refusal are the
# mock's own; the API's are not known.) The third is about the cache; more below.

# %%
import anthropic


def send(tools):
    try:
        client.messages.create(model=DEFAULT_MODEL, max_tokens=100, tools=tools, messages=talk)
    except anthropic.BadRequestError as error:
        print(error.status_code, error.body["error"]["message"])


send(deferred)
send([{**SEARCH, "defer_loading": True}, by_name["track_parcel"]])
send([SEARCH, {**deferred[0], "cache_control": {"type": "ephemeral"}}])

# %% [markdown]
# ### The other variant, and what may come back
#
# A pattern is a Python regular expression, capitals ignored, of at most 200 characters. (A query in words may have 500.)
# Here we write the model's searches ourselves, with `search` from the kit:

# %%
from course_kit import search

REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
for pattern in ("parcel|courier", "^track_.*", "zeppelin", "parcel ("):
    scripted = MockProvider([search(pattern=pattern), "Done."]).client()
    message = scripted.messages.create(
        model=DEFAULT_MODEL, max_tokens=1024, tools=[REGEX, *deferred], messages=talk
    )
    blocks = [block.to_dict() for block in message.content]
    [found] = [block["content"] for block in blocks if block["type"] == "tool_search_tool_result"]
    names = [reference["tool_name"] for reference in found.get("tool_references", [])]
    print(f"{pattern:15}", names, found.get("error_code", ""))

# %% [markdown]
# Nothing found is an empty list, not an error. A broken pattern is an error *inside* a reply with status 200: there is
# no exception to catch, so look for `error_code` when you read your logs.
#
# Tools that the server runs add one more `stop_reason` (mentioned in lesson 01). After too many internal steps the
# server ends the reply with `pause_turn`. Send the turn back as it is, and it goes on.

# %% [markdown]
# ### The client-side form
#
# You can run the search yourself: with your own index, for one tenant, with your own log. It is an ordinary tool. Its
# result is a list of `tool_reference` blocks, and nothing else. The definitions stay in `tools`, deferred.
#
# `ToolIndex` is the kit's search over definitions; more about it later. `replace` copies a tool with one field changed.

# %%
from dataclasses import replace

from course_kit import desk_tools, open_shop, run_agent, tool

shop = open_shop()
desk = [replace(one, defer_loading=True) for one in desk_tools(shop)]
desk_index = ToolIndex(desk)


# %%
@tool(effect="read", description="Find tools by what they do. Use it when no other tool fits.")
def find_tools(query: str):
    return [
        {"type": "tool_reference", "tool_name": hit.tool_name}
        for hit in desk_index.search(query, limit=2)
    ]


run = run_agent(
    client, tools=[find_tools, *desk], messages="Read order ORD-20260917 in full, please."
)
for turn in run.messages[1:]:
    for block in turn["content"]:
        shown = block.get("name") or block.get("content") or block.get("text")
        print(f"{turn['role']:9} {block['type']:11}", str(shown)[:110])

# %% [markdown]
# It is the same loop: first a call of `find_tools`, then a call of a tool that the model could not see before. A
# reference to a name that is not in `tools` is a 400, and this is checked over the whole history: do not drop a tool
# that an old result names.
#
# **What stays always on?** The search itself, of course. And a way out: an `ask_user` or a `list_capabilities`, so that
# the model has something better to do than guess when a search finds nothing.

# %% tags=["quiz"]
quiz("07.3")

# %% [markdown]
# ## The experiment again, with search
#
# The same requests, the same sets of tools, but all deferred. This helper sends one of them.


# %%
def ask(request, tools, always=(), through=client):
    """One request with all tools deferred, but for the search and those `always` on."""
    shown = [tool if tool["name"] in always else {**tool, "defer_loading": True} for tool in tools]
    query = [{"role": "user", "content": request.query}]
    return through.messages.create(
        model=DEFAULT_MODEL, max_tokens=1024, tools=[SEARCH, *shown], messages=query
    )


# %% [markdown]
# And this one says which of five endings it had. Read it slowly: this is how you will count in your own logs.


# %%
def ending(request, reply):
    blocks = [block.to_dict() for block in reply.content]
    called = {block["name"] for block in blocks if block["type"] == "tool_use"}
    searches = [block["content"] for block in blocks if block["type"] == "tool_search_tool_result"]
    found = {one["tool_name"] for content in searches for one in content.get("tool_references", [])}
    if called and called <= set(request.gold):
        return "right"
    if not searches:
        return "did not search"
    if not found & set(request.gold):
        return "not found"
    return "found but took another" if called else "found but no call"


# %% [markdown]
# **Guess** both: will accuracy be back to that of 6 tools? And how will the tokens grow?

# %%
searched = {}
for number in (6, 60, 429):
    answered = [(request, ask(request, crowd(request, number))) for request in sample]
    share = sum(ending(request, reply) == "right" for request, reply in answered) / len(sample)
    searched[number] = (share, sum(reply.usage.input_tokens for _, reply in answered) / len(sample))
    print(f"{number:3} tools: {share:4.0%} right (simulated), {searched[number][1]:6,.0f} tokens")

all_deferred = answered  # from the last pass: all 429
show(plot_growth({"all in the prompt": everything, "searched": searched}))

# %% [markdown]
# The tokens hardly grow: over all 429 tools a request costs about a fortieth of what it did. The right picks recover
# only in part: the five that the search brings are the *nearest* rivals.
#
# How sure is the gain in picks? Compare all 93 one by one. To be quick we search with `ToolIndex`, as the mock's server does.

# %%
index = ToolIndex(tools)
with_all, with_search = [], []
for request in able:
    five = [by_name[hit.tool_name] for hit in index.search(request.query, limit=5)]
    with_all.append(right(request, tools))
    with_search.append(right(request, five))
print("all in the prompt, then search:", changed(with_all, with_search))

# %% [markdown]
# Most requests end the same either way. Those that differ are 9 to 2 for the search: suggestive, but not proven, since
# chance alone splits eleven so unevenly one time in fifteen. And it is far from a cure. The sure gain is in tokens.
#
# For real models the vendor reports the same direction: 79.5 to 88.1% with Opus 4.5, 49 to 74% with Opus 4, on its
# own tests with large sets of tools (engineering post of 24 November 2025; we have not checked them). Real models have
# more to gain: for them the search also ends the dilution.
#
# **A good place to stop for today.** Exercise 7.2 of the [exercises](../exercises/07_tool_search.ipynb) needs no more than
# this.

# %% [markdown]
# ## Two failures to count separately
#
# "It used the wrong tool" hides several failures, each with its own remedy. So count the endings, over all 429 tools,
# in three set-ups: everything deferred (the replies from above); all 31 tools of the desk always on; and always on only
# the five tools that the *other* half of the requests asks for most.
#
# The second is a bad one on purpose. How many requests of the sample are for the desk, and what will the others do?

# %% tags=["item-07.7"]
from collections import Counter

desk_names = {tool["name"] for tool in catalogue(service="desk")}
asked_for = Counter(name for request in able[1::2] for name in request.gold)
five_names = {name for name, times in asked_for.most_common(5)}
desk_on = [(request, ask(request, tools, desk_names)) for request in sample]
five_on = [(request, ask(request, tools, five_names)) for request in sample]

# %%
for label, pairs in (
    ("all deferred", all_deferred),
    ("desk always on", desk_on),
    ("five always on", five_on),
):
    counted = Counter(ending(request, reply) for request, reply in pairs)
    print(
        f"{label} (simulated):",
        ", ".join(f"{name} {times}" for name, times in counted.most_common()),
    )
for_desk = sum(request.gold[0] in desk_names for request in sample)
print("for the desk:", for_desk, "of", len(sample), "|", sorted(five_names))

# %% [markdown]
# One service is always on, and nearly all requests are about the other twelve: that is what a wrong set can cost. Five
# tools cost searches, too: this catalogue asks for almost every tool once, so "asked for most" is chance. (Where a few
# tools make up half of all calls, this may differ; we did not try it.)
#
# **It did not search when it should have.** Something it saw half fitted. Every tool that is always on is a reason not
# to search. Remedy: few of them, with clear boundaries, and a line in the system prompt that says what can be searched
# for.
#
# **It searched and took the wrong tool.** Either the right one was not among the five (*not found*: the index) or it was,
# and another one was taken (*took another*: the descriptions).

# %% [markdown]
# The third ending, **found but no call**, has another cause. Read what the model said instead:

# %%
for request, reply in all_deferred:
    if ending(request, reply) == "found but no call":
        print(request.gold, "|", request.query, "|", reply.content[-1].text)

# %% [markdown]
# It did not recognise the tool it had found: the sentence shares too few words with the description ("returned to her
# card" is a refund). Remedy: the users' words in the description. In other cases an input is missing; then it should
# ask.
#
# Our backup request is of the kind *took another*. So improve the rival's description with a boundary (lesson 02).
# **Guess:** does it help with the search? And with all 429 in the prompt?

# %%
story = next(request for request in sample if request.query == BACKUP)
bounded = (
    by_name["deploy_list_backups"]["description"]
    + " Not for making a backup (use deploy_backup_database)."
)
improved = [
    {**one, "description": bounded} if one["name"] == "deploy_list_backups" else one
    for one in tools
]
before, after = (ending(story, ask(story, given)) for given in (tools, improved))
print("searched, before:", before, "| after:", after)
print("all in the prompt, after:", picks(BACKUP, improved))

# %% [markdown]
# The search leaves five to choose from, and among five one boundary is enough. Among 429 it is not. Did it break
# anything? Two users who do want the list:

# %%
for sentence in ("Which backups of orders do we have?", "Show me the latest backup of orders."):
    print(sentence, picks(sentence, improved))

# %% [markdown]
# They still get it. (Two sentences prove little; measure with more, lesson 02.)

# %% tags=["quiz"]
quiz("07.7")

# %% [markdown]
# ## The search reads the description
#
# It reads names, descriptions, input names and the inputs' descriptions. Nothing else can find a tool. Each tool of the
# catalogue has two descriptions: a terse one, written by engineers for each other, and one in the words of the people
# who ask. Two examples:

# %% tags=["item-07.4"]
terse_by_name = {tool["name"]: tool for tool in catalogue("terse")}
for name in ("deploy_set_traffic_split", "chat_create_channel"):
    print(name)
    print("  terse: ", terse_by_name[name]["description"])
    print("  better:", by_name[name]["description"])

# %% [markdown]
# **recall@5** is the share of requests with a right tool among the first five found. It measures only the search: no
# model takes part. `ToolIndex` is the course's search; `method="bm25"` ranks by words, and rare words count more.
# How much do the better descriptions bring, over all 160 requests?


# %%
def found_in_five(request, index):
    return bool({hit.tool_name for hit in index.search(request.query, limit=5)} & set(request.gold))


def recall(index, requests):
    return sum(found_in_five(request, index) for request in requests) / len(requests)


better, terse = ToolIndex(catalogue("better")), ToolIndex(catalogue("terse"))
for kind in ("named", "indirect"):
    of_kind = catalogue_requests(kind)
    print(f"{kind:9} terse {recall(terse, of_kind):.0%}  better {recall(better, of_kind):.0%}")
print(f"all 160   terse {recall(terse, english):.0%}  better {recall(better, english):.0%}")

# %% [markdown]
# "Named" requests contain a word of the right tool's name; "indirect" ones do not. The gain is largest for the latter,
# since there the name cannot help. Same tools, same search, different sentences. (Measured, not simulated.)
#
# What does *one* sentence do? Somebody says "open an issue", and `code_create_issue` is not found: its description lacks
# "open". We add the words, and then try sentences that we did not look at:

# %%
reworded = by_name["code_create_issue"]["description"] + " Use it for 'open an issue'."
edited = ToolIndex(
    [
        {**one, "description": reworded} if one["name"] == "code_create_issue" else one
        for one in tools
    ]
)
for sentence in (
    "Open an issue for the website team: the date picker jumps to 1970 on Safari.",
    "Please open an issue: the footer is broken on phones.",
    "Can somebody open an issue about the slow start of the app?",
    "File a bug: the cart forgets what was in it.",
):
    places = [[hit.tool_name for hit in index.search(sentence)] for index in (better, edited)]
    print(*("found " if "code_create_issue" in names else "missed" for names in places), sentence)

# %% [markdown]
# The first line proves nothing: its words were copied into the description. The next two count. The last shows the
# limit of words: it shares none with the description. Collect sentences from your logs, write their words into the
# description, and measure on others.

# %% tags=["quiz"]
quiz("07.4")

# %% [markdown]
# ## Four ways to search
#
# - **regex**: exact, explainable, and only as good as the pattern.
# - **BM25**: words, cut and weighed. `orders` and `order` are one word (*stemming*), "the" and "please" are none (*stop
#   words*). No model, no network.
# - **embeddings**: a model turns each text into numbers; near numbers, near meaning. This works across languages.
# - **fused**: several rankings joined by *reciprocal rank*. In each a tool gets `1 / (10 + place)` points (times a
#   weight): the first place gives a little more than the second, and ten times as much as the hundredth. The sum
#   decides.
#
# Every hit of `ToolIndex` says why it was found:

# %% tags=["item-07.5"]
for hit in better.search("give the new version to five percent of the people", limit=3):
    print(f"{hit.tool_name:25} {hit.because}")

# %% [markdown]
# Keep `because` in your log. When somebody asks in March why the assistant listed backups in January, it is your only
# evidence.
#
# Which way is best? The course's benchmark ran them all over this catalogue (2026-11-30). Here are recall@5 and the
# milliseconds of a query, from its file. (Embeddings need an extra, `course-kit[embeddings]`.)

# %%
MEASURED = {
    "own, better descriptions": {
        "ToolIndex regex, the query's words": (0.45, 7.17),
        "ToolIndex bm25": (0.781, 0.15),
        "ToolIndex fused, no model": (0.787, 0.63),
        "ToolIndex embedding, USE multilingual": (0.65, 0.22),
        "ToolIndex fused, USE multilingual": (0.819, 0.8),
    },
    "own, asked in Chinese": {
        "ToolIndex regex, the query's words": (0.15, 2.89),
        "ToolIndex bm25": (0.05, 0.06),
        "ToolIndex fused, no model": (0.05, 0.16),
        "ToolIndex embedding, USE multilingual": (0.75, 0.21),
        "ToolIndex fused, USE multilingual": (0.6, 0.7),
    },
}

# %% [markdown]
# "Regex, the query's words": no model wrote a pattern in the benchmark, so the query's words were joined by `|`. A
# model would write better ones. "No model" fuses words with spelling; "USE" is the embedding model of the extra. The
# weights were chosen on another, public catalogue. (Chosen on half of its requests, they do as well on the other half.)
# Which way wins, and for whom?

# %%
from course_kit.classroom.plots import plot_recall

ways = MEASURED["own, better descriptions"]
picture = {
    way.removeprefix("ToolIndex "): {
        "160 requests in English": MEASURED["own, better descriptions"][way][0],
        "20 in Chinese": MEASURED["own, asked in Chinese"][way][0],
    }
    for way in ways
}
show(plot_recall(picture, title="Is the right tool among the five found?"))
found = recall(better, english)
low, high = wilson(round(found * len(english)), len(english))
print(f"BM25 here and now: {found:.3f}; over {len(english)} requests {low:.0%} to {high:.0%}")

# %% [markdown]
# In English, words do most of the work. The embedding alone is worse than BM25; fused with it, it helps a little. Mind
# the intervals: over 160 requests they are about six points either way, so BM25 and the two fused methods cannot be
# told apart. With Chinese requests over English descriptions (20 requests), words do not match, and only meaning helps.
#
# So begin with BM25, which costs nothing. Add embeddings when your users' words, or their languages, are far from
# yours. All methods take under ten milliseconds for these 429 tools, while a model takes seconds: time does not matter
# here.

# %% [markdown]
# ### Play: the search box
#
# Type as a user would. Change the way to search. Take a request from the catalogue, and see whether its tool is found.
# (Without a mouse: `box.search("…", "fused")` and `box.compare("…")`.)

# %%
from course_kit.classroom.search_box import search_box

gold = {request.query: request.gold for request in english[:40]}
box = search_box(
    tools, "The courier said Tuesday. It is Thursday now and my doorstep is empty.", gold=gold
)
box

# %% [markdown]
# A miss: the tool that was meant, `track_parcel`, is not among the five. To find out why, ask two questions. Which
# words of the request does it have? And how many tools have each of them?


# %%
def shared(query, name):
    """In which parts of a tool a request's words are; empty if it shares none."""
    hits = ToolIndex([by_name[name]]).search(query)
    return hits[0].because if hits else ""


def spread(word):
    """How many of all tools have this word."""
    return len(better.search(word, limit=429))


print(
    shared("The courier said Tuesday. It is Thursday now and my doorstep is empty.", "track_parcel")
)
print({word: spread(word) for word in ("courier", "empty", "doorstep", "parcel")})

# %% [markdown]
# "Empty" is all they share, and so many tools say it ("no match is an empty list") that it means nothing. We name three
# causes:
#
# - **no shared word**: the tool shares no word with the request,
# - **common words only**: what it shares is in 40 tools or more,
# - **rival has more**: it shares a rarer word, but the tools ranked above have more of the words, or have them in their
#   name.
#
# Look for one of each in the box. Exercise 7.3 asks for them.

# %% tags=["quiz"]
quiz("07.5")

# %% [markdown]
# **A second good place to stop for today.** Exercises 7.1 and 7.3 need no more than this.

# %% [markdown]
# ## The prompt cache
#
# The provider can keep the beginning of a prompt for five minutes (lesson 01). It reads in a fixed order: **tools, then
# system, then messages**. A change makes that part and everything after it new. And the tools come first.
#
# The marks (`cache_control`) say up to where the cache should keep. This one is for tools:

# %% tags=["item-07.6"]
MARK = {"cache_control": {"type": "ephemeral"}}


def marked(tools):
    """The list with a mark on its last tool."""
    return [*tools[:-1], {**tools[-1], **MARK}]


# %% [markdown]
# A request with three marks. On the last tool: keep the tools. On the system prompt: keep up to there. And one at the
# top level, for the whole request: the API puts it on the last block of the messages, so that the conversation is kept,
# too. (The sentences are repeated only to make each part long enough to see it in the figures.)

# %%
sixty = sorted(operations, key=lambda one: one["name"])
rules = [{"type": "text", "text": "You help the people on call. " * 40, **MARK}]
prompt = {
    "model": DEFAULT_MODEL,
    "max_tokens": 500,
    "tools": marked(sixty),
    "system": rules,
    **MARK,
}
NOTED = "Noted. " * 60
two_turns = [
    {"role": "user", "content": "Is anything broken tonight? " * 100},
    {"role": "assistant", "content": NOTED},
    {"role": "user", "content": "And now?"},
]

# %% [markdown]
# This helper sends the first turn as it is, then the second with what you want to change. The model's replies are scripted.


# %%
def second_turn(before, after, *replies):
    """What the second turn read from the cache, what was new, and the mock's report."""
    provider = MockProvider([NOTED, *(replies or ["Nothing new."])])
    create = provider.client().messages.create
    create(**before, messages=two_turns[:1])
    usage = create(**{"messages": two_turns, **after}).usage
    return (
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens + usage.input_tokens,
        provider.report(),
    )


# %% [markdown]
# Eight ways to begin the second turn, all with the 60 tools of operations. **Guess** for each how much of the first
# prompt is lost: all, part, nothing?

# %%
worded = [{**sixty[0], "description": "Another sentence."}, *sixty[1:]]
new_one = by_name["calendar_create_event"]
reordered = {**prompt, "tools": marked([*sixty[1:], sixty[0]])}
other_rules = [{"type": "text", "text": "It is 09:31. " * 40, **MARK}]
other_talk = [{"role": "user", "content": "All well today? " * 160}, *two_turns[1:]]
CHANGES = {
    "nothing": prompt,
    "order of the tools": reordered,
    "a new tool, in front": {**prompt, "tools": marked([new_one, *sixty])},
    "a new tool, at the end": {**prompt, "tools": marked([*sixty, new_one])},
    "one description": {**prompt, "tools": marked(worded)},
    "the system prompt": {**prompt, "system": other_rules},
    "tool_choice": {**prompt, "tool_choice": {"type": "any"}},
    "the first message": {**prompt, "messages": other_talk},
}

# %% [markdown]
# In the picture, "costs" is in tokens at the ordinary price: on this model a token read from the cache costs a tenth
# (on Opus 5.5 a twentieth), one written into it for five minutes a quarter more (Anthropic's documentation, November
# 2026).

# %%
from course_kit.classroom.plots import plot_cache

second = {label: second_turn(prompt, after)[:2] for label, after in CHANGES.items()}
for label, (read, new) in second.items():
    print(f"changed: {label:22} read from the cache {read:6,}   new {new:6,}")
show(plot_cache(second, title="After one change: how much is read from the cache?"))

# %% [markdown]
# Where nothing changed, 125 tokens are still new: the model's reply, which is now input, and the new question. A change
# in the tools loses everything, with one exception here: a new tool at the end keeps the sixty before it, up to their
# old mark. Do not build on it. The vendor's page says that changed tools lose everything, and in a list sorted by name
# a new tool rarely comes last. A new system prompt keeps the tools; a different `tool_choice`, or an edited message,
# keeps tools and system. By the documentation, so does a change of the parallel switch, of images, of
# thinking or of effort; on some models the last two lose tools and system as well.

# %% [markdown]
# One of these changes nobody makes on purpose: the same tools in another order. It loses everything, as a new word in a
# description does. And it happens easily: registries are dicts, servers answer in any order, sets have none. The mock
# says what happened:

# %%
print(second_turn(prompt, reordered)[2])

# %% [markdown]
# And in **time**? The mock does not wait, so these are the vendor's figures: the first token of the reply came after
# 11.5 seconds without the cache and 2.4 with it, at 100,000 tokens; after 1.6 and 1.1 at 10,000 (announcement of August
# 2024, Claude 3.5 Sonnet). So a thousand uncached tokens took 0.05 to 0.09 seconds longer. What does one lost turn
# cost?

# %%
for label, lost in (
    ("this prompt", sum(second["order of the tools"])),
    ("all 429 tools", tokens(tools)),
):
    dearer = lost * (1.25 - 0.1)
    least, most = lost / 10_000 * (1.6 - 1.1), lost / 100_000 * (11.5 - 2.4)
    print(f"{label:13}: {lost:6,} new tokens cost {dearer:6,.0f} more than kept ones", end=", ")
    print(f"and {least:.1f} to {most:.1f} s")

# %% [markdown]
# (An estimate from old figures; measure your own with `usage` and a stopwatch.) With a small prompt nobody notices, so
# the bug stays. With many tools it is seconds, on *every* turn.

# %% [markdown]
# So: **a fixed order, sorted by name**. The kit's loop sorts. (MCP, the next section, only *asks* servers to keep their
# order.) Here the same three tools are registered in two orders; the requests are the same, byte for byte:

# %%
provider = MockProvider(lambda request: "Hello.")
for order in (("zeta", "alpha", "mu"), ("mu", "zeta", "alpha")):
    registered = [
        tool(lambda: "x", name=name, description=f"Tool {name}.", effect="read") for name in order
    ]
    run_agent(provider.client(), tools=registered, messages="Hi")
one_list, other_list = (sent.body["tools"] for sent in provider.requests)
print(json.dumps(one_list) == json.dumps(other_list), [one["name"] for one in one_list])

# %% [markdown]
# And **change the set by session, not by turn**. If you pick "the best ten tools" afresh on every turn, you pay for the
# whole prompt on every turn, and save less than the cache would have.
#
# Deferred tools are not at the beginning of the prompt. What a search finds is added at the end. Now 15 tools are on
# and 45 deferred. Does the second turn lose the cached first one, with one more deferred tool, or with a search?

# %%
always_on = [SEARCH, *marked(sixty[:15])]
later = [{**one, "defer_loading": True} for one in sixty[15:]]
layered = {**prompt, "tools": [*always_on, *later]}
one_less = {**prompt, "tools": [*always_on, *later[:-1]]}
for label, before, replies in (
    ("nothing", layered, ["Nothing new."]),
    ("one deferred tool more", one_less, ["Nothing new."]),
    ("a search", layered, [search("restart a service"), "Found it."]),
):
    read, new, report = second_turn(before, layered, *replies)
    print(f"second turn with {label:23} read from the cache {read:6,}   new {new:6,}")

# %% [markdown]
# Neither costs the first turn. The searching turn reads two prompts, before and after the search, and each finds the
# beginning in the cache: hence about twice as much. New are the search and the five definitions that came in. Here the
# next turn can read these from the cache, too; the documentation does not say whether the real API keeps them between
# the two readings.
#
# That is why the third list above was refused: a mark on a deferred tool would mark a place that does not exist. Put it
# on the last tool that is always on. As for time: a cache entry lives five minutes from its last use, or an hour with
# `"ttl": "1h"`. A long wait for an approver (lesson 06) loses it just as a new order does.

# %% tags=["quiz"]
quiz("07.6")

# %% [markdown]
# ## MCP lists what exists, search decides what this task sees
#
# MCP, the Model Context Protocol, is a protocol by which *servers* offer tools to *applications*: one tool, many
# applications. Tool search is the other way round: one application, many tools. Both end up in your list of tools. Here
# is a real MCP server in this process, shared by two tenants, a shop in the north and one in the south.

# %% tags=["item-07.8"]
from mcp.server.mcpserver import MCPServer

server = MCPServer("wiki", log_level="CRITICAL")
JOBS = {
    "read": "Read a page of the wiki.",
    "search": "Search the wiki's pages.",
    "delete": "Delete a page of the wiki.",
}
for tenant in ("south", "north"):
    for verb, job in JOBS.items():

        @server.tool(name=f"{tenant}_{verb}_page", description=job)
        def wiki_page(page: str) -> str:
            return f"page {page}"


# %% [markdown]
# (It needs `course-kit[mcp]`; without it, `open_mcp` says so.) A **gateway** trims by tenant *first*: `where` sees each
# entry as the server listed it. Only then comes the search. The order matters: what was never listed cannot be found by
# any query.

# %%
from course_kit import open_mcp

with open_mcp(server, where=lambda entry: entry["name"].startswith("north_")) as listed:
    for hit in ToolIndex(listed).search("delete page 12", limit=2):
        print(hit.tool_name, "|", hit.because)
    wiki_deferred = [{**one.definition(), "defer_loading": True} for one in listed]
    print(
        [(one["name"], one["defer_loading"]) for one in wiki_deferred],
        [one.needs_approval for one in listed],
    )

# %% [markdown]
# The list comes sorted, and each tool counts as a write that asks for approval until *you* say otherwise: what a server
# says about its own tools is only a claim. From here on an MCP tool is one more entry in `tools`, and lessons 02 to 06
# apply to it. Never put a server's thousand tools straight into the prompt.

# %% tags=["quiz"]
quiz("07.8")

# %% [markdown]
# ## The other provider
#
# OpenAI's Responses API (gpt-5.4 and later) has the same idea. The tool is `tool_search`; functions may be grouped in a
# `namespace`; `defer_loading` is set on each function. The output holds whole *definitions* where the Messages API has
# references. And less is hidden: by its documentation (2026) the model sees name and description of a function deferred
# by itself; of a namespace it sees only the group's. So group what you defer.

# %% tags=["item-07.3"]
functions = [
    {
        "type": "function",
        "name": one["name"],
        "description": one["description"],
        "parameters": one["input_schema"],
        "defer_loading": True,
        "allowed_callers": ["direct"],
    }
    for one in catalogue(service="desk")
]
desk_group = {
    "type": "namespace",
    "name": "desk",
    "description": "The shop's service desk.",
    "tools": functions,
}
responses = MockProvider().openai_client().responses
from_openai = responses.create(
    model="gpt-5.4", input=talk[0]["content"], tools=[{"type": "tool_search"}, desk_group]
)
for item in from_openai.output:
    print(item.type, list(item.to_dict()))

# %% [markdown]
# `allowed_callers` says who may call a function: `direct` is the model itself, in its reply; `programmatic` is code
# that the model has written and the provider runs. This course uses only `direct`. Pages that write `deferLoading` or
# `DIRECT` are older or about something else.

# %% [markdown]
# ## When it goes wrong
#
# | you see | look at |
# |---|---|
# | 400 `All tools cannot be deferred` | Leave the search, or some tool, without `defer_loading`. |
# | 400 `cannot have both defer_loading=true and cache_control set` | Put the mark on the last tool that is always on. |
# | 400 `Tool reference 'X' not found in available tools` | A result names a tool that `tools` no longer holds. Keep it, or drop call and result together (lesson 08). |
# | it never searches | What always-on tool half fits? Does anything tell the model what can be searched for? |
# | it searches and finds nothing | Read the query in the reply. Which of its words are in the description? |
# | the right tool is found, another is taken | The two descriptions: boundaries, lesson 02. |
# | it found a tool, and later cannot see it | Was the turn sent back without its search blocks? The mock's `report()` tells. |
# | `cache_read_input_tokens` is 0 on every turn | Order of the tools; something new in each system prompt; a set chosen by turn. |
# | `stop_reason` is `pause_turn` | Send the turn back unchanged; the server goes on. |
#
# ## The same on the live API
#
# If you have switched live on (lesson 00), this asks a real model five requests of the sample, each over 120 deferred
# tools.

# %% tags=["live"]
from course_kit import announce, connect

announce(tokens=25_000)
real = connect()
print(
    Counter(
        ending(request, ask(request, crowd(request, 120), through=real)) for request in sample[:5]
    )
)

# %% [markdown]
# ## Practice
#
# [Exercises 07](../exercises/07_tool_search.ipynb): build an index that reaches a target, decide which of sixty
# tools are visible and which deferred, and name why a query missed.
#
# ## Recap
#
# Many tools cost twice: tokens on every turn, and wrong picks, because there are more rivals and the task is diluted.
# Trim first, then group, then search. With search you still send every definition, but deferred; the model sees what a
# reference has brought in. The search reads the description. Count separately: did not search, not found, found and
# took another. Keep the list sorted, and change it by session. A gateway trims by tenant before anything is searched.
#
# New words: *deferred tool*, `defer_loading`, `tool_reference`, *tool search*, *recall@5*, *BM25*, *embedding*, *reciprocal
# rank*, *gateway*, *dilution*. They are in the [glossary](90_glossary.ipynb).
#
# ## Say it in one breath
#
# > **Why do many tools hurt?** Each is paid for on every turn, and each is one more rival: near neighbours take calls
# > from each other, and the task is diluted by definitions. A confusion matrix shows which rival took which call, a
# > similarity map which tools are close (lessons 10, 02). I trim what nobody uses, group by task and role, and search
# > when that is not enough: everything deferred except the search and a way to ask. Then I count whether it searched,
# > found and took the right one.
#
# Two answers you will hear:
#
# - *"The model has more to choose from, so it gets confused."* That names no cause, so there is no remedy. Which rival
#   took which call?
# - *"We put a search in front, so the problem is solved."* The tokens are. The five nearest rivals are still there, and a
#   tool whose description lacks the users' words is now never seen at all.
#
# Next come results ([lesson 08](08_result_budgets.ipynb)): the largest part of a context, and the least predictable.

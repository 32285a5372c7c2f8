# %% [markdown]
# # Exercises 07 · Tool search
#
# Three exercises, about 65 minutes. Each check runs your code on inputs you have not seen and says what it expected.
# `hint("7.1")` gives one hint at a time; `solution("7.1")` opens after two tries.
#
# The lesson: [07 · Tool search](../notebooks/07_tool_search.ipynb).

# %% tags=["setup"]
from course_kit import ToolIndex, check, hint, solution
from course_kit.catalogue import GROUPS, catalogue, catalogue_requests

# %% [markdown]
# ## 7.1 An index that reaches a target
#
# *Medium, core, about 30 minutes, about 15 lines.*
#
# Write the search yourself, in plain Python: an answer that asks `ToolIndex` is refused. `build_index(tools)` gets a list of
# definitions and returns a function `find(query)`; that returns the names of the tools that fit, best first, **at most
# five**. For example:
#
# `find = build_index(catalogue())`, then `find("cancel leave")` → `["hrCancelLeave", …]`
#
# - Words of the name count, however it is written: `release_order`, `docs-move-page`, `hrCancelLeave`. Capitals do not
#   matter.
# - Where no tool has a word of the query, the list is empty.
# - Over the 100 requests of `catalogue_requests("named")`, recall@3 must be at least 76%: a right tool is among the first
#   three. For that run the tools are the same, but each name is written in another way (`releaseOrder`). And a dozen
#   tools of a library, which you have not seen, must be handled, too.
#
# Counting shared words is not enough: "the" is in every description. BM25 in one sentence: the *fewer* tools have a
# word, the more it counts. If a word is in `n` of `N` tools, `math.log(N / n)` is such a weight. And let **a word in
# the name count double or more**: without that you stay below the bar, unless you read the inputs as well.
#
# To try it: `catalogue_requests("named")` gives the 100 requests, with `.query` and `.gold`.

# %% tags=["exercise-7.1"]
import math
import re
from collections import Counter


def build_index(tools):
    """Return a function that finds the names of at most five tools for a query."""

    # BEGIN SOLUTION
    def words(text):
        pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", text)
        return {piece.lower().rstrip("s") or piece.lower() for piece in pieces}

    names = {tool["name"]: words(tool["name"]) for tool in tools}
    texts = {
        tool["name"]: names[tool["name"]] | words(tool.get("description", "")) for tool in tools
    }
    using = Counter(word for found in texts.values() for word in found)

    def find(query):
        scores = Counter()
        for word in words(query):
            for name, found in texts.items():
                if word in found:
                    scores[name] += math.log(len(texts) / using[word]) * (
                        2 if word in names[name] else 1
                    )
        return [name for name, score in scores.most_common(5) if score > 0]

    return find
    # END SOLUTION


# %%
check("7.1", build_index)

# %% [markdown] tags=["solution"]
# Three things make it work: names cut into words, rare words counting more, and the name counting twice. Taking an "s" off
# the end is a very simple stemmer; `ToolIndex` has a real one, looks at pairs of words and at the inputs, and keeps long
# descriptions from winning by length. This little index still comes close, since the sentences in the descriptions do
# most of the work.

# %% [markdown]
# ## 7.2 Visible or deferred: sixty tools
#
# *Medium, core, about 20 minutes, about 10 lines.*
#
# The operations assistant has four groups of fifteen tools: monitoring, deployment, tickets, finance. Write
# `tools_for(operations, scene, allowed)`: the list for a request's `tools`.
#
# - `operations` holds the sixty definitions in *any* order. `scene` is the group the user is working in, `allowed` the set
#   of groups that this user may use at all; the scene is one of them.
# - Always visible: `SEARCH`, `ASK_USER`, and the tools of the scene.
# - Deferred: the tools of the other allowed groups.
# - Not in the list: everything else.
# - The tools of each layer are sorted by name, so that the cache survives. Put `cache_control` on the last visible
#   tool.
# - The definitions you are given stay as they are.
#
# `group_of` says to which group a tool belongs: `group_of["ticket_solve"]` is `"tickets"`. For the scene `"tickets"` and
# `{"tickets", "finance"}` the list has 2 + 15 visible tools and 15 deferred ones.

# %%
from course_kit.classroom.exercises.lesson_07 import ASK_USER, SEARCH

group_of = {tool["name"]: group for group in GROUPS for tool in catalogue(group=group)}


# %% tags=["exercise-7.2"]
def tools_for(operations, scene, allowed):
    """Return the list of tools for one request: two visible helpers, the scene, and the rest that is allowed."""
    # BEGIN SOLUTION
    ordered = sorted(operations, key=lambda tool: tool["name"])
    near = [dict(tool) for tool in ordered if group_of[tool["name"]] == scene]
    far = [
        {**tool, "defer_loading": True}
        for tool in ordered
        if group_of[tool["name"]] in allowed - {scene}
    ]
    near[-1]["cache_control"] = {"type": "ephemeral"}
    return [SEARCH, ASK_USER, *near, *far]
    # END SOLUTION


# %%
check("7.2", tools_for)

# %% [markdown] tags=["solution"]
# Leave out what is forbidden. Deferring is not enough, since a search brings deferred tools back. The visible part is the
# same for everybody in the scene, so the cache serves them all; the deferred tools after it cost nothing until they are
# found. `dict(tool)` makes the copies that may be marked.

# %% [markdown]
# ## 7.3 Why a query missed
#
# *Easy, useful, about 15 minutes.*
#
# Four requests, and for each the tool that was meant and not found among the first five. For each, say why, and at which
# place of the *whole* ranking the tool is (counted from 1; `None` if it is not in it at all). The causes:
#
# | cause | means |
# |---|---|
# | `"no shared word"` | the tool shares no word with the request |
# | `"common words only"` | all that it shares is in 40 tools or more |
# | `"rival has more"` | it shares a rarer word, but the tools ranked above have more of the words, or have them in their name |
#
# `causes` is a dict with the keys of `MISSES`, and a pair of cause and place for each, such as
# `{"a": ("common words only", 12), "b": ("no shared word", None), …}` (these two are made up).

# %%
MISSES = {
    "a": (
        "An intern emptied the customers table. We need yesterday's state.",
        "deploy_restore_database",
    ),
    "b": ("Post a message in #warehouse that the elevator is out of order.", "chat_send_message"),
    "c": (
        "My hotel from September still hasn't been paid back to me. Where is it stuck?",
        "finance_list_expenses",
    ),
    "d": ("What's going to run out soon?", "stock_list_low"),
}
index = ToolIndex(catalogue())
query, name = MISSES["d"]
print(index.search(query, limit=1)[0].because)

# %% tags=["exercise-7.3"]
# BEGIN SOLUTION none
causes = {
    "a": ("no shared word", None),
    "b": ("rival has more", 7),
    "c": ("common words only", 66),
    "d": ("rival has more", 10),
}
# END SOLUTION

# %%
check("7.3", causes)

# %% [markdown] tags=["solution"]
# **a** can only be fixed in the description (or by meaning): it says nothing about a state, or about yesterday. **b**: `message`
# and `post` are shared, but six other tools have `message` in their name and more of the rest. **c** shares "back", which
# is in 68 tools, so nothing that counts was shared. **d**: `run` is rare enough, but it is in the *name* of
# `deploy_run_job`, where it means something else. To a search by words, it is the same word.

# %% [markdown]
# # Exercises 08 · Result budgets
#
# Three exercises, about 55 minutes. Each check runs your code on inputs you have not seen and says what it expected.
# `hint("8.1")` gives one hint at a time; `solution("8.1")` opens after two tries.
#
# The lesson: [08 · Result budgets](../notebooks/08_result_budgets.ipynb).

# %% tags=["setup"]
from course_kit import check, hint, solution

# %% [markdown]
# ## 8.1 `encode_result` for four kinds
#
# *Medium, core, about 30 minutes, about 20 lines.*
#
# Write `encode(value, budget)`: the text that goes out as a tool's result, never longer than `budget` characters (it is at
# least 200). By kind:
#
# | value | what comes out |
# |---|---|
# | `None`, or text without a visible character | `(no output)` |
# | text | itself if it fits; else its head, a mark, and its tail |
# | a list of dicts, each with a `status` | as JSON if it fits (`[]` for an empty list); else JSON with `total`, `returned`, `truncated`, `summary` and `items`: the first rows, whole, as many as fit (half as many will do) |
# | bytes | JSON that says how many, `{"bytes": 60000}`, and holds none of them |
#
# The summary counts each status over *all* rows. For `[{"n": 1, "status": "paid"}, {"n": 2, "status": "sent"}, …]`, 50 rows
# in all, what comes out may be
#
# `{"total": 50, "returned": 1, "truncated": true, "summary": {"paid": 31, "sent": 19}, "items": [{"n": 1, "status": "paid"}]}`
#
# Of a text that does not fit,
#
# - the head is how the text begins, its first line at least; the tail is how it ends, its last line at least. (No line is
#   longer than 60 characters.) The cut may fall within a line.
# - the two are of similar size: neither is shorter than a third of the other. Together they fill at least half of the
#   budget.
# - the mark is on its own line and counts what is missing: `[… 5210 characters left out …]`.

# %% tags=["exercise-8.1"]
import json
from collections import Counter


def encode(value, budget):
    """Return `value` as text of at most `budget` characters that says what it leaves out."""
    # BEGIN SOLUTION
    if isinstance(value, bytes):
        return json.dumps({"bytes": len(value), "left_out": "binary data"})
    if value is None or (isinstance(value, str) and not value.strip()):
        return "(no output)"
    if isinstance(value, str):
        if len(value) <= budget:
            return value
        half = (budget - 60) // 2
        mark = f"\n[… {len(value) - 2 * half} characters left out …]\n"
        return value[:half] + mark + value[-half:]
    written = json.dumps(value, ensure_ascii=False)
    items = list(value)
    summary = dict(Counter(row["status"] for row in value))
    while len(written) > budget:
        items.pop()
        cut = {
            "total": len(value),
            "returned": len(items),
            "truncated": True,
            "summary": summary,
            "items": items,
        }
        written = json.dumps(cut, ensure_ascii=False)
    return written
    # END SOLUTION


# %%
check("8.1", encode)

# %% [markdown] tags=["solution"]
# The value is cut and then written, so the JSON is complete with any budget. Taking rows away one by one until it fits is
# right, but slow for a million rows; the kit adds them up instead. The summary costs a few dozen characters and often
# answers the question by itself.

# %% [markdown]
# ## 8.2 Page through a log by cursor
#
# *Medium, core, about 15 minutes, about 12 lines.*
#
# `read(cursor)` returns one page of a log, `read(None)` the first:
#
# `{"lines": ["00:00 INFO start", …], "total": 340, "returned": 50, "truncated": true, "next_cursor": "c-7f"}`
#
# Write `collect(read, wanted, max_pages)`: read on until the log ends, and return the lines that hold `wanted`. Say
# honestly how far you got:
#
# `{"found": ["03:12 ERROR full"], "lines_read": 340, "total": 340, "complete": True}`
#
# - A cursor means nothing to you, whatever it is: a text, an empty text, a number. Send it back as it came.
# - Pages differ in length; one may be empty and still have a next. One may have been cut on its way, as in the lesson:
#   count the lines that came. The same line may come twice: it happened twice.
# - The log ends where `next_cursor` is `None`, and nowhere else.
# - After `max_pages` pages you stop.
# - `complete` is `True` when the log has ended *and* you have read as many lines as `total` says. An early end is a
#   silent cut.
# - A service that gives out a cursor it gave out before would go in circles: stop there, too, with `complete` `False`.


# %% tags=["exercise-8.2"]
def collect(read, wanted, max_pages=100):
    """Return the lines that hold `wanted`, how many lines were read of how many, and whether that was all."""
    # BEGIN SOLUTION
    found, lines_read, cursor, given = [], 0, None, set()
    for _ in range(max_pages):
        page = read(cursor)
        lines_read += len(page["lines"])
        found += [line for line in page["lines"] if wanted in line]
        cursor = page["next_cursor"]
        if cursor is None or cursor in given:
            break
        given.add(cursor)
    complete = cursor is None and lines_read == page["total"]
    return {"found": found, "lines_read": lines_read, "total": page["total"], "complete": complete}
    # END SOLUTION


# %%
check("8.2", collect)

# %% [markdown] tags=["solution"]
# The end is where `next_cursor` is `None`, and nowhere else: not at a short page, not at an empty one, not at a cursor that
# counts as false in Python, such as 0. `total` is a second check: where both agree, nothing was cut on the way. And your
# loop is like a tool: it has to say what it did not read, or the next reader takes the part for the whole.

# %% [markdown]
# ## 8.3 Find the wrong conclusion
#
# *Easy, core, about 10 minutes.*
#
# Six endings of conversations: the calls with what came back, then the model's conclusion. To keep it short, `…` means
# INFO lines, or orders, that came back as well. Does the conclusion follow? Give for each letter one of
#
# - `"holds"`: it follows from what came back,
# - `"page counted"`: the size of one page was taken for the number of all,
# - `"end missing"`: what came back stops before the end, and the end decides,
# - `"middle missing"`: it speaks of everything, and a part between start and end was never seen,
# - `"items skipped"`: pages were read, and items between them were never shown.

# %%
ENDINGS = {
    "a": """search_orders(status="packed", limit=50)
{"orders": [ORD-20260601, … 50 orders in this list]}
Fifty orders are packed.""",
    "b": """read_log("mail")
00:00:00 INFO mail started … 01:52:10 ERROR mail queue full … 02:14:33 INFO mail se
The last error of the night was at 01:52.""",
    "c": """search_orders(status="cancelled", limit=50)
{"orders": [ORD-20260611, ORD-20260630, ORD-20260702], "total": 3, "truncated": false, "next_cursor": null}
Three orders are cancelled.""",
    "d": """search_orders(customer="Nora Lindgren")
{"orders": [ORD-20260602, … 12 orders in this list], "total": 80, "returned": 50, "truncated": true, "next_cursor": "50"}
search_orders(customer="Nora Lindgren", cursor="50")
{"orders": [ORD-20260691, … 30 orders in this list], "total": 80, "returned": 30, "truncated": false, "next_cursor": null}
I went through all pages: ORD-20260623 is not hers.""",
    "e": """read_log("stock")
00:00:00 INFO stock started … [… 41200 characters left out …] … 07:59:58 ERROR disk full, stock stopped
The log ends with an error: the disk was full, and the service stopped.""",
    "f": """read_log("search")
00:00:00 INFO … 00:10:48 ERROR index … [… 38900 characters left out …] … 07:58:33 ERROR index … 07:59:52 INFO done
There were two errors in the whole night.""",
}

# %% tags=["exercise-8.3"]
# Such as {"a": "holds", "b": "holds", …}
# BEGIN SOLUTION none
conclusions = {
    "a": "page counted",
    "b": "end missing",
    "c": "holds",
    "d": "items skipped",
    "e": "holds",
    "f": "middle missing",
}
# END SOLUTION

# %%
check("8.3", conclusions)

# %% [markdown] tags=["solution"]
# **a** has no total, and its count equals the limit: the surest sign. **b** stops in the middle of a word, and nothing says
# so. In **d** the page says 50 were returned, while 12 are there: a cut on top of a page, with a cursor that leads past
# what the cut took. **e** and **f** hold the same honest mark. What follows depends on the question: the end was seen, so
# "ends with an error" holds; the middle was not, so "in the whole night" does not. With an honest cut a right answer is
# possible, but not certain.

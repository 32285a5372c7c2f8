# %% [markdown]
# # Exercises 11 · Providers
#
# Three exercises, about 45 minutes. `hint("11.1")` gives one hint at a time; `solution("11.1")` opens after two tries.
#
# The lesson: [11 · Providers](../notebooks/11_providers.ipynb).

# %% tags=["setup"]
from course_kit import check, hint, solution

# %% [markdown]
# ## 11.1 An adapter that loses nothing
#
# *Medium, core, about 25 minutes, about 25 lines.*
#
# The lesson's adapter was for Chat Completions. Write one for Responses: two functions.
#
# `to_items(messages)` gives the list that goes into `input`. Our messages hold texts, calls and results; so
#
# ```python
# [
#     {"role": "user", "content": "Refund it."},
#     {"role": "assistant", "content": [{"type": "text", "text": "I try."},
#                                       {"type": "tool_use", "id": "call_1", "name": "refund", "input": {"cents": 5}}]},
#     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "no", "is_error": True}]},
# ]
# ```
#
# becomes
#
# ```python
# [
#     {"role": "user", "content": "Refund it."},
#     {"role": "assistant", "content": "I try."},
#     {"type": "function_call", "call_id": "call_1", "name": "refund", "arguments": '{"cents": 5}'},
#     {"type": "function_call_output", "call_id": "call_1", "output": "is_error: true\nno"},
# ]
# ```
#
# A result that is not an error is passed unchanged. Every block becomes a separate item, in the order of the blocks,
# and the caller's messages are not changed. `message_from(response)` gives a message of ours, `role`, `content` and
# `stop_reason`, from a response as a dict. Only this part of a response matters:
#
# ```python
# {"status": "completed", "incomplete_details": None, "output": [
#     {"type": "message", "content": [{"type": "output_text", "text": "I try."}]},
#     {"type": "function_call", "id": "fc_9", "call_id": "call_1", "name": "refund", "arguments": '{"cents": 5}'},
# ]}
# ```
#
# becomes
#
# ```python
# {"role": "assistant", "stop_reason": "tool_use", "content": [
#     {"type": "text", "text": "I try."},
#     {"type": "tool_use", "id": "call_1", "name": "refund", "input": {"cents": 5}},
# ]}
# ```
#
# Here, too, every item becomes a separate block; where a message holds several texts, none may get lost. Without a call
# `stop_reason` is `end_turn`. Where `status` is `incomplete`, it is `max_tokens`, calls or not; the arguments of a call
# may then be cut off: where they do not parse, keep the text as `input`.
#
# The check gives both functions messages and replies one by one; then it runs conversations through your adapter and
# compares golden traces.

# %% tags=["exercise-11.1"]
import json


def to_items(messages):
    """Return the items for `input`."""
    # BEGIN SOLUTION
    items = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            items.append({"role": message["role"], "content": content})
            continue
        for block in content:
            if block["type"] == "text":
                items.append({"role": message["role"], "content": block["text"]})
            elif block["type"] == "tool_use":
                arguments = json.dumps(block["input"], ensure_ascii=False)
                call = {"call_id": block["id"], "name": block["name"], "arguments": arguments}
                items.append({"type": "function_call", **call})
            elif block["type"] == "tool_result":
                said = block.get("content") or ""
                output = "is_error: true\n" + said if block.get("is_error") else said
                items.append(
                    {
                        "type": "function_call_output",
                        "call_id": block["tool_use_id"],
                        "output": output,
                    }
                )
    return items
    # END SOLUTION


def message_from(response):
    """Return the message, with its `stop_reason`."""
    # BEGIN SOLUTION
    content = []
    for item in response["output"]:
        if item["type"] == "message":
            content += [{"type": "text", "text": part["text"]} for part in item["content"]]
        elif item["type"] == "function_call":
            try:
                inputs = json.loads(item["arguments"])
            except ValueError:
                inputs = item["arguments"]
            content.append(
                {"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": inputs}
            )
    called = any(block["type"] == "tool_use" for block in content)
    reason = (
        "max_tokens" if response["status"] == "incomplete" else "tool_use" if called else "end_turn"
    )
    return {"role": "assistant", "content": content, "stop_reason": reason}
    # END SOLUTION


# %%
check("11.1", {"to_items": to_items, "message_from": message_from})

# %% [markdown] tags=["solution"]
# The order of the items is the order of the blocks: nothing is gathered and put elsewhere. The pairing id is `call_id` in
# both directions; the item's own `id` is left alone. The stop reason is worked out from two places, and the cut is asked
# for first: a call in a cut turn must not run. The package's `openai_responses` does all this, and images, reasoning
# items, long names and refusals besides.

# %% [markdown]
# ## 11.2 Which field got lost?
#
# *Easy, core, about 10 minutes.*
#
# Six adapters, each with what it was given (`ours`) and what it made of it (`theirs`); in **d** and **e** it is the other way
# round. Name the field of *our* shape that was lost or broken, one of
#
# `"is_error"`, `"tool_use_id"`, `"input"`, `"stop_reason"`, `"description"`, `"disable_parallel_tool_use"`,
#
# or `"nothing"`. A name may be right more than once, or never.
#
# For example: a `tool` message without the error line, though our result had `is_error: True`, lost `"is_error"`.

# %%
ADAPTERS = {
    "a": {
        "ours": {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        "theirs (Chat Completions)": {"tool_choice": "required"},
    },
    "b": {
        "ours": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "4 C"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "19 C"},
        ],
        "theirs (Chat Completions)": [
            {"role": "tool", "tool_call_id": "call_1", "content": "4 C\n19 C"}
        ],
    },
    "c": {
        "ours": {
            "type": "tool_result",
            "tool_use_id": "call_7",
            "content": "no such order",
            "is_error": True,
        },
        "theirs (Gemini)": {
            "functionResponse": {
                "id": "call_7",
                "name": "query_order",
                "response": {"result": "no such order"},
            }
        },
    },
    "d": {
        "theirs (Responses)": {
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
            "output": [
                {
                    "type": "function_call",
                    "call_id": "call_3",
                    "name": "note",
                    "arguments": '{"text": "Do not"}',
                }
            ],
        },
        "ours": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call_3", "name": "note", "input": {"text": "Do not"}}
            ],
            "stop_reason": "tool_use",
        },
    },
    "e": {
        "theirs (Chat Completions)": {
            "finish_reason": "stop",
            "message": {
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_5",
                        "type": "function",
                        "function": {"name": "note", "arguments": '{"text": "Hi"}'},
                    }
                ],
            },
        },
        "ours": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call_5", "name": "note", "input": {"text": "Hi"}}
            ],
            "stop_reason": "end_turn",
        },
    },
    "f": {
        "ours": {
            "type": "tool_result",
            "tool_use_id": "call_8",
            "content": "closed",
            "is_error": True,
        },
        "theirs (Responses)": {
            "type": "function_call_output",
            "call_id": "call_8",
            "output": "is_error: true\nclosed",
        },
    },
}

# %% tags=["exercise-11.2"]
# Each answer is one of the seven words.
# BEGIN SOLUTION none
lost_a = "disable_parallel_tool_use"
lost_b = "tool_use_id"
lost_c = "is_error"
lost_d = "stop_reason"
lost_e = "stop_reason"
lost_f = "nothing"
# END SOLUTION

# %%
check("11.2", {"a": lost_a, "b": lost_b, "c": lost_c, "d": lost_d, "e": lost_e, "f": lost_f})

# %% [markdown] tags=["solution"]
# **a**: the switch is a separate field there, `parallel_tool_calls: false`. Nobody complains when it is left out. **b**:
# both texts arrived, and the second lost its id; this one is loud, a 400 that names `call_2`. **c**: Gemini's convention
# for a failure is the key `error`. **d**: the reply was cut, and the cut is told in `status` alone. The arguments happen to
# parse, so only the stop reason could have kept the loop from running half a note. **e** is the other way round: the word
# sounds like the end, the call is whole, and the loop leaves it unanswered. **f**: the id has another name, the flag another
# place, and both are there.

# %% [markdown]
# ## 11.3 Read a golden diff
#
# *Medium, core, about 10 minutes.*
#
# Five diffs, each of a run that differs from its golden trace. For each give the step where they diverge, and what to
# look at first: `"adapter"`, `"definition"`, `"tool"` (it answered differently) or `"model"` (it read the same and did
# something else). Where the first line is about a result's text, the tool's own log of this run is below. An answer is
# a pair such as `(1, "model")`.

# %%
DIFFS = {
    "a": """\
step 2  given.0.is_error: golden true, now absent
step 2  calls.0.name: golden "search_orders", now "refund_order"
step 3  the whole step: golden end_turn, no call, now there is none""",
    "b": """\
step 2  given.0.content.0.text: golden "{\\"status\\": \\"delivered\\"}", now "{\\"status\\": \\"shipped\\"}"
step 2  calls.0.name: golden "refund_order", now "track_parcel"
step 3  given.0.content.0.text: golden "{\\"refund_id\\": \\"RFD-0004\\"}", now "{\\"parcels\\": []}"
log of query_order: returned {"status": "shipped"}""",
    "c": """\
step 1  tools.track_parcel: golden "51f0c7aa", now "9be21d04"
step 1  calls.0.name: golden "query_order", now "track_parcel"
step 2  tools.track_parcel: golden "51f0c7aa", now "9be21d04"
step 2  given.0.content.0.text: golden "{\\"status\\": \\"shipped\\"}", now "{\\"parcels\\": []}\"""",
    "d": """\
step 3  calls.0.input.amount_cents: golden 1999, now 19
step 4  given.0.content.0.text: golden "{\\"paid\\": 1999}", now "{\\"paid\\": 19}"
step 4  said: golden "19.99 were paid back.", now "0.19 were paid back.\"""",
    "e": """\
step 2  given.0.content.0.text: golden "{\\"city\\": \\"Malmö\\"}", now "{\\"city\\": \\"Malm?\\"}"
step 2  said: golden "It is in Malmö.", now "I do not know this city."
log of query_address: returned {"city": "Malmö"}""",
}

# %% tags=["exercise-11.3"]
# BEGIN SOLUTION none
look_a = (2, "adapter")
look_b = (2, "tool")
look_c = (1, "definition")
look_d = (3, "model")
look_e = (2, "adapter")
# END SOLUTION

# %%
check("11.3", {"a": look_a, "b": look_b, "c": look_c, "d": look_d, "e": look_e})

# %% [markdown] tags=["solution"]
# In **a** the text of the result is the same (it is not in the diff), but its flag is gone: it was lost between the tool and
# the model, in the adapter. In **b** the flag and the ids agree, the text does not, and the log has the new text: the tool, or
# its data, answered differently, and the model followed. In **e** the log has the golden text: something between the tool
# and the model could not write an ö. In **c** a different definition was sent from the start. In **d** nothing that was read
# differs before step 3: so it is the model, and one trace proves little; run it several times (lesson 10).

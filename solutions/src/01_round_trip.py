# %% [markdown]
# # Exercises 01 · The request round trip
#
# Three exercises, about 45 minutes. Each check runs your code on inputs you have not seen and says what it expected.
# `hint("1.1")` gives one hint at a time; `solution("1.1")` opens after two tries.
#
# The lesson: [01 · The request round trip](../notebooks/01_round_trip.ipynb).

# %% tags=["setup"]
from course_kit import DEFAULT_MODEL, check, hint, solution

# %% [markdown]
# ## 1.1 Write the loop
#
# *Medium, core, about 25 minutes, about 20 lines.*
#
# `client` is an SDK client. `tools` maps each tool's name to a Python function. `definitions` is what goes into the
# request. Talk to the model until it has answered, and return the whole list of messages, the last answer included.
#
# - Every call gets exactly one result, under its id. All results of a turn go in one message, in call order.
# - What a function returns becomes JSON text.
# - A function that raises, or a name that is not in `tools`, must not end the run: answer that call with `"is_error":
#   True` and a sentence that names the problem.
# - Calls of a turn that did not stop with `tool_use` are not run. Leave them out of the list, or answer them with an error.
# - After `limit` replies it ends, whatever the model wants. The returned list must be legal to continue: no call
#   without its result.

# %% tags=["exercise-1.1"]
import json


def talk(client, messages, tools, definitions, limit=8):
    """Return `messages` plus everything said until the model had answered."""
    # BEGIN SOLUTION
    messages = list(messages)
    for number in range(1, limit + 1):
        reply = client.messages.create(
            model=DEFAULT_MODEL, max_tokens=1024, tools=definitions, messages=messages
        )
        calls = [block for block in reply.content if block.type == "tool_use"]
        if reply.stop_reason != "tool_use":
            spoken = [block.to_dict() for block in reply.content if block.type == "text"]
            return messages + ([{"role": "assistant", "content": spoken}] if spoken else [])
        results = []
        for call in calls:
            result = {"type": "tool_result", "tool_use_id": call.id}
            try:
                if number == limit:
                    raise RuntimeError("not run, the limit of replies is reached")
                if call.name not in tools:
                    raise LookupError(f"there is no tool {call.name}; there are {', '.join(tools)}")
                result["content"] = json.dumps(tools[call.name](**call.input), ensure_ascii=False)
            except Exception as error:
                result |= {"is_error": True, "content": f"{type(error).__name__}: {error}"}
            results.append(result)
        messages += [reply.to_param(), {"role": "user", "content": results}]
    return messages
    # END SOLUTION


# %%
check("1.1", talk)

# %% [markdown] tags=["solution"]
# One `try` around everything that belongs to a single call keeps the others safe: whatever happens inside, one result
# comes out. The limit is handled in the same place, so that even the last turn leaves no call unanswered. A turn that
# was cut keeps its words and loses its calls. The mock's `report()` would find nothing to fix in what this loop sends.

# %% [markdown]
# ## 1.2 Find the broken rule
#
# *Easy, core, about 10 minutes.*
#
# Three conversations, each refused with a 400. For each, give the path of the block (or message) that has to change,
# such as `"messages.2.content.0"`, and the rule it breaks, one of:
#
# `"call without result"`, `"result without call"`, `"two results"`, `"not first"`, `"not at once"`.
#
# "Not first" is a result with something before it in its turn. "Not at once" is a result that comes a turn too late.

# %%
TRANSCRIPTS = {
    "a": [
        {"role": "user", "content": "Where is my parcel, and what did I pay?"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "track_parcel",
                    "input": {"order_id": "ORD-20260917"},
                },
                {
                    "type": "tool_use",
                    "id": "toolu_2",
                    "name": "query_order",
                    "input": {"order_id": "ORD-20260917"},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "paid 19.99"},
                {"type": "text", "text": "The carrier does not answer."},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": "unknown",
                    "is_error": True,
                },
            ],
        },
    ],
    "b": [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "4 C"}],
        },
        {"role": "assistant", "content": "Oslo has 4 degrees."},
        {"role": "user", "content": "And Lima?"},
    ],
    "c": [
        {"role": "user", "content": "Cancel ORD-20260919, please."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will cancel it."},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "cancel_order",
                    "input": {"order_id": "ORD-20260919"},
                },
            ],
        },
        {"role": "user", "content": "Wait! Is it on its way already?"},
        {"role": "assistant", "content": "Let me see what came back."},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "cancelled"}],
        },
    ],
}

# %% tags=["exercise-1.2"]
# Each answer is (path, rule), such as ("messages.1", "two results").
# BEGIN SOLUTION none
broken_a = ("messages.2.content.1", "not first")
broken_b = ("messages.0.content.0", "result without call")
broken_c = ("messages.2", "not at once")
# END SOLUTION

# %%
check("1.2", {"a": broken_a, "b": broken_b, "c": broken_c})

# %% [markdown] tags=["solution"]
# In **a** the order of the two results is free, and the error result is fine; the text between them is what must move
# behind both. (The path of the second result is right, too: moving it up mends the turn just as well.) In **b** somebody
# trimmed the history and cut a round in half: the result lost its call. In **c** the user spoke before the tool had
# answered: the result has to go into `messages.2`, ahead of the user's words. Seen from the call it is "call without
# result", seen from the last message "result without call", which is what the API says first; all three count.

# %% [markdown]
# ## 1.3 The cheapest request that must call
#
# *Medium, useful, about 10 minutes.*
#
# Write the body of a request (a dict, as for `client.messages.create(**body)`) after which the reply is certain to hold
# exactly one call of `get_weather`, with some `city` in it, in as few input tokens as you can. The model must allow
# forcing. The check counts with `count_tokens`; the limit is 470.

# %% tags=["exercise-1.3"]
# BEGIN SOLUTION none
body = {
    "model": "claude-opus-5",
    "max_tokens": 100,
    "tools": [
        {
            "name": "get_weather",
            "input_schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        }
    ],
    "tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
    "messages": [{"role": "user", "content": "Oslo?"}],
}
# END SOLUTION

# %%
check("1.3", body)

# %% [markdown] tags=["solution"]
# A forced tool needs no description to be found, so here there is none; in a real request it is the last thing to save
# on. Most of what remains is the prompt that the presence of tools brings along. It depends on the model, and forcing
# makes it longer, by the vendor's price list some 120 tokens for Opus 5 (November 2026).

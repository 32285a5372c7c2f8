"""Answers to the exercises of lesson 01."""

import json
from typing import Any

from course_kit import DEFAULT_MODEL


def ask(client: Any, messages: list, definitions: list) -> Any:
    return client.messages.create(model=DEFAULT_MODEL, max_tokens=1024, tools=definitions, messages=messages)


def loop(
    *,
    keep_turn: bool = True,
    answer_all: bool = True,
    one_message: bool = True,
    text_first: bool = False,
    guard: bool = True,
    flag: bool = True,
    by_stop_reason: bool = True,
    bounded: bool = True,
    close_open: bool = True,
    drop_open: bool = False,
    keep_last: bool = True,
    to_text: Any = json.dumps,
    trace: bool = False,
    reverse: bool = False,
    answer_cut: bool = False,
    says: str = "",
    flag_all: bool = False,
    caught: type[Exception] = Exception,
):
    """The loop with one thing done wrong (or merely otherwise)."""

    def talk(client, messages, tools, definitions, limit=8):
        messages = list(messages)
        replies = 0
        while not bounded or replies < limit:
            reply = ask(client, messages, definitions)
            replies += 1
            calls = [block for block in reply.content if block.type == "tool_use"]
            wanted = reply.stop_reason == "tool_use" if by_stop_reason else bool(calls)
            if calls and not wanted and answer_cut:
                results = [
                    {"type": "tool_result", "tool_use_id": c.id, "is_error": True, "content": "Your turn was cut."}
                    for c in calls
                ]
                messages += [reply.to_param(), {"role": "user", "content": results}]
                continue
            if not wanted:
                words = [block.to_dict() for block in reply.content if block.type == "text"]
                return messages + ([{"role": "assistant", "content": words}] if words and keep_last else [])
            results = []
            last = bounded and replies == limit
            if last and drop_open:
                return messages
            if last and not close_open:
                return [*messages, reply.to_param()]
            for call in calls if answer_all else calls[:1]:
                result = {"type": "tool_result", "tool_use_id": call.id}
                try:
                    if last:
                        raise RuntimeError("not run")
                    result["content"] = to_text(tools[call.name](**call.input))
                    result |= {"is_error": True} if flag_all else {}
                except caught as error:
                    if not guard:
                        raise
                    import traceback

                    said = traceback.format_exc() if trace else says or f"{type(error).__name__}: {error}"
                    result |= {"content": said, **({"is_error": True} if flag else {})}
                results.append(result)
            if reverse:
                results.reverse()
            if keep_turn:
                messages.append(reply.to_param())
            if text_first:
                results.insert(0, {"type": "text", "text": "Results:"})
            if one_message:
                messages.append({"role": "user", "content": results})
            else:
                messages += [{"role": "user", "content": [one]} for one in results]
        return messages

    return talk


def returns_nothing(client, messages, tools, definitions, limit=8):
    loop()(client, messages, tools, definitions, limit)


def returns_the_text(client, messages, tools, definitions, limit=8):
    return loop()(client, messages, tools, definitions, limit)[-1]["content"][0]["text"]


def returns_what_is_new(client, messages, tools, definitions, limit=8):
    return loop()(client, messages, tools, definitions, limit)[len(messages) :]


def leaves_the_rounds_out(client, messages, tools, definitions, limit=8):
    """Question and answer, and nothing of what stood between them."""
    return [*messages, *loop()(client, messages, tools, definitions, limit)[len(messages) :][-1:]]


def asks_nothing(client, messages, tools, definitions, limit=8):
    return messages


def asks_once(client, messages, tools, definitions, limit=8):
    return [
        *messages,
        {"role": "assistant", "content": [b.to_dict() for b in ask(client, messages, definitions).content]},
    ]


def with_objects(client, messages, tools, definitions, limit=8):
    """Right, with SDK objects left in the list and results as blocks."""
    messages = list(messages)
    for left in range(limit, 0, -1):
        reply = ask(client, messages, definitions)
        if reply.stop_reason != "tool_use":
            content = [block for block in reply.content if block.type == "text"]
            return [*messages, {"role": "assistant", "content": content}]
        results = []
        for block in reply.content:
            if block.type == "tool_use":
                try:
                    if left == 1:
                        raise TimeoutError("no reply is left to read this")
                    value, failed = json.dumps(tools[block.name](**block.input), ensure_ascii=False), False
                except BaseException as error:
                    value, failed = repr(error), True
                text = [{"type": "text", "text": value}]
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": text, "is_error": failed})
        messages.append({"role": "assistant", "content": reply.content})
        messages.append({"role": "user", "content": results})
    return messages


GOOD = {
    "model": "claude-haiku-5-5",
    "max_tokens": 100,
    "tools": [
        {
            "name": "get_weather",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }
    ],
    "tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": True},
    "messages": [{"role": "user", "content": "Oslo?"}],
}
OPEN = {"name": "get_weather", "input_schema": {"type": "object"}}
TYPE_IN_A_LIST = {
    "name": "get_weather",
    "input_schema": {**GOOD["tools"][0]["input_schema"], "properties": {"city": {"type": ["string"]}}},
}
NO_ROOM = {
    "name": "get_weather",
    "input_schema": {**GOOD["tools"][0]["input_schema"], "properties": {"city": {"type": "string", "maxLength": 0}}},
}
WORDY = {**GOOD["tools"][0], "description": "Get the current weather in a city. " * 20}


def without_words(client, messages, tools, definitions, limit=8):
    """The model's turns without what it said beside its calls."""
    said = [dict(one) for one in loop()(client, messages, tools, definitions, limit)]
    for turn in said[:-1]:
        if turn["role"] == "assistant":
            turn["content"] = [block for block in turn["content"] if block.type == "tool_use"]
    return said


def one_reply_short(client, messages, tools, definitions, limit=8):
    return loop()(client, messages, tools, definitions, limit - 1)


def in_place(client, messages, tools, definitions, limit=8):
    """Right, in the list that was given."""
    messages[:] = loop()(client, messages, tools, definitions, limit)
    return messages


MISTAKES = {
    "1.1": {
        "the words beside a call lost": (without_words, "what the model said beside its calls got lost"),
        "one reply too few": (one_reply_short, "you asked 2 times, and 3 are allowed"),
        "one kind of exception caught": (
            loop(caught=LookupError),
            "With a function that raises another exception, `talk` raised OSError: Ys is not on any map (line",
        ),
        "forgot to return": (returns_nothing, "is a `return` missing?"),
        "returns the text": (returns_the_text, "must return a list of messages"),
        "asks nothing": (asks_nothing, "the model was never asked"),
        "asks once": (asks_once, "these calls should have run"),
        "turn left out": (loop(keep_turn=False), "the API refused your second request"),
        "only the first call answered": (loop(answer_all=False), "the API refused your second request"),
        "text ahead of results": (loop(text_first=True), "the API refused your second request"),
        "an exception ends the run": (loop(guard=False), "raised LookupError: Atlantis"),
        "no error flag": (loop(flag=False), "needs `is_error: True`"),
        "runs a cut turn": (loop(by_stop_reason=False), "a turn cut by max_tokens"),
        "no limit": (loop(bounded=False), "you asked 40 times"),
        "open calls at the end": (loop(close_open=False), "cannot be continued"),
        "last answer missing": (loop(keep_last=False), "last answer is missing"),
        "str instead of JSON": (loop(to_text=str), "as JSON"),
        "stack trace": (loop(trace=True), "holds a stack trace"),
        "results in reverse": (loop(reverse=True), "in a different order from the calls"),
        "returns only what is new": (returns_what_is_new, "must begin with the messages you were given"),
        "the rounds left out": (leaves_the_rounds_out, "1 calls need 1 results; there are 0"),
        "failed, and no word why": (loop(says="failed"), "the error should name the problem (Atlantis)"),
        "every result flagged": (loop(flag_all=True), "a call that worked is marked as an error"),
        "a message for each result": (loop(one_message=False), "spread over several messages"),
    },
    "1.2": {
        "three parts": ({"a": ("messages.2", "not first", "text")}, "should be a pair"),
        "the turn between": (
            {
                "a": ("messages.2", "not first"),
                "b": ("messages.0", "result without call"),
                "c": ("messages.3", "not at once"),
            },
            "The rule is right, the place is not.",
        ),
        "missing result": ({"a": ("messages.1.content.0", "call without result"), "b": None, "c": None}, "`broken_a`"),
        "right rule, wrong place": (
            {"a": ("messages.2.content.0", "not first")},
            "The rule is right, the place is not.",
        ),
        "unknown rule": ({"a": ("messages.2.content.1", "text between")}, "choose one of"),
        "no pair": ({"a": "messages.2.content.1"}, "should be a pair"),
        "b is about the answer": (
            {"a": ("messages.2.content.1", "not first"), "b": ("messages.1", "call without result")},
            "which call does this result answer?",
        ),
    },
    "1.3": {
        "no call at all": ({**GOOD, "tool_choice": {"type": "none"}}, "Nothing in this body"),
        "a switch in quotes": (
            {**GOOD, "tool_choice": {**GOOD["tool_choice"], "disable_parallel_tool_use": "true"}},
            "Input should be a valid boolean",
        ),
        "as a text": (json.dumps(GOOD), "should be a dict"),
        "not a body": ("get_weather", "should be a dict"),
        "asks nicely": (
            {**GOOD, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
            "Nothing in this body",
        ),
        "parallel calls left on": ({**GOOD, "tool_choice": {"type": "tool", "name": "get_weather"}}, "several calls"),
        "model without forcing": ({**GOOD, "model": "claude-opus-5-5"}, "The API refuses this body"),
        "open schema": ({**GOOD, "tools": [OPEN]}, "`city` is a string and required"),
        "no room for a city": (
            {**GOOD, "tools": [NO_ROOM]},
            "The reply should hold one call of get_weather with a city",
        ),
        "wordy": ({**GOOD, "tools": [WORDY]}, "the limit is"),
        "no room": ({**GOOD, "max_tokens": 5}, "may be cut"),
        "another tool": (
            {
                **GOOD,
                "tools": [{**OPEN, "name": "time"}],
                "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
            },
            "another tool",
        ),
        "the other tool by name": (
            {
                **GOOD,
                "tools": [*GOOD["tools"], {**OPEN, "name": "time"}],
                "tool_choice": {**GOOD["tool_choice"], "name": "time"},
            },
            "This forces a call of `time`",
        ),
        "flag at top level": (
            {**GOOD, "tool_choice": {"type": "any"}, "disable_parallel_tool_use": True},
            "Extra inputs are not permitted",
        ),
    },
}

VARIANTS = {
    "1.1": {
        "in the given list": in_place,
        "plain": loop(),
        "SDK objects and blocks": with_objects,
        "a cut call is answered": loop(answer_cut=True),
        "the turn at the limit is left out": loop(drop_open=True),
        "letters not escaped": loop(to_text=lambda value: json.dumps(value, ensure_ascii=False)),
    },
    "1.2": {
        "the second result of a": {
            "a": ("messages.2.content.2", "not first"),
            "b": ("messages.0", "result without call"),
            "c": ("messages.4.content.0", "not at once"),
        },
        "as lists": {
            "a": ["messages.2.content.1", "not first"],
            "b": ["messages.0.content.0", "result without call"],
            "c": ["messages.2", "call without result"],
        },
    },
    "1.3": {
        "a list of one type": {**GOOD, "tools": [TYPE_IN_A_LIST]},
        "blocks": {**GOOD, "messages": [{"role": "user", "content": [{"type": "text", "text": "Lima?"}]}]},
        "streamed": {**GOOD, "stream": True},
        "any": {**GOOD, "tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
        "another model, a description": {
            **GOOD,
            "model": "claude-opus-5",
            "tools": [{**GOOD["tools"][0], "description": "Weather."}],
        },
    },
}

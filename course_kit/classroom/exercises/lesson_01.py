"""Checks of lesson 01: the loop, three broken transcripts, the cheapest request that must call."""

import copy
import itertools
import json
import random
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.contract.messages import content_blocks, text_of, tool_result_blocks, tool_use_blocks
from course_kit.contract.protocol import check_request
from course_kit.errors import Incorrect, ScriptExhausted

__all__: list[str] = []

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DEFINITIONS = [
    {"name": "get_weather", "description": "Weather in a city.", "input_schema": SCHEMA},
    {"name": "get_time", "description": "Local time in a city.", "input_schema": SCHEMA},
]
NOWHERE: dict[str, type[Exception]] = {"Atlantis": LookupError, "Ys": OSError}  # and what a question about it raises
CITIES = ["Oslo", "Lima", "Hangzhou", "Shanghai", "Malmö", "Quito"]


def _call(name: str, city: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": {"city": city}}


@exercise(
    "1.1",
    title="Write the loop",
    difficulty="medium",
    importance="core",
    minutes=25,
    hints=[
        "`messages` grows by two turns for each round of calls. Which two?",
        "Read `reply.stop_reason` before you look at any block. Only one value means that calls may be run.",
        "Put the `try` around one call, not around the turn: then it gives one result whatever happens.",
        "Where the loop ends with calls still open, each of them needs a result that says it was not run.",
    ],
)
class WriteTheLoop:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"1.1:{seed}")
        one, two, three = draw.sample(CITIES, 3)
        weather, time = _call("get_weather", one), _call("get_time", two)
        cut = {"content": ["I will look.", _call("get_weather", three)], "stop_reason": "max_tokens"}
        return [
            {"about": "an answer without a call", "script": ["Good morning."]},
            {"about": "one call", "script": [[f"Let me see about {one}.", weather], f"It rains in {one}."]},
            {"about": "two calls in one turn", "script": [[weather, time], "Both known."]},
            {"about": "a call after a call", "script": [weather, time, "Done."]},
            {
                "about": "a function that raises beside one that works",
                "script": [[_call("get_weather", "Atlantis"), time], "Sorry."],
            },
            {"about": "a function that raises another exception", "script": [_call("get_weather", "Ys"), "Sorry."]},
            {"about": "a tool that does not exist", "script": [_call("get_wether", one), "Sorry."]},
            {"about": "a turn cut by max_tokens", "script": [cut, "not reached"]},
            {"about": "a model that never stops calling", "script": [_call("get_weather", three)] * 40, "limit": 3},
        ]

    def observe(talk: Any, case: dict[str, Any]) -> Any:
        import anthropic

        from course_kit.mock.provider import MockProvider

        ran: list[list[str]] = []

        def get_weather(city: str) -> dict[str, Any]:
            ran.append(["get_weather", city])
            if city in NOWHERE:
                raise NOWHERE[city](f"{city} is not on any map")
            return {"city": city, "sky": "regnbåge"}

        def get_time(city: str) -> str:
            ran.append(["get_time", city])
            return f"noon in {city}"

        provider = MockProvider(case["script"])
        client = provider.client(max_retries=0)
        asked = [{"role": "user", "content": "Hello?"}]
        tools = {"get_weather": get_weather, "get_time": get_time}
        options = {"limit": case["limit"]} if "limit" in case else {}
        try:
            returned = talk(client, asked, tools, copy.deepcopy(DEFINITIONS), **options)
        except (anthropic.BadRequestError, ScriptExhausted) as error:
            returned = type(error).__name__
        if isinstance(returned, list):
            returned = [m if isinstance(m, dict) else getattr(m, "to_param", lambda m=m: m)() for m in returned]
            returned = [_plain(message) for message in returned]
        return {
            "returned": returned,
            "ran": ran,
            "replies": [exchange.reply for exchange in provider.requests if exchange.reply],
            "refused": [exchange.violation.message for exchange in provider.requests if exchange.violation],
        }

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, messages, replies = case["about"], seen["returned"], seen["replies"]
        limit = case.get("limit", 8)
        if seen["refused"]:
            which = {0: "first", 1: "second", 2: "third"}.get(len(replies), "next")
            raise Incorrect(f"With {about}, the API refused your {which} request: {seen['refused'][0]}")
        if len(replies) > limit:
            raise Incorrect(f"With {about} and limit={limit}, you asked {len(replies)} times.")
        if "limit" in case and len(replies) < limit:
            raise Incorrect(f"With {about} and limit={limit}, you asked {len(replies)} times, and {limit} are allowed.")
        if not isinstance(messages, list) or not all(isinstance(m, dict) and "role" in m for m in messages):
            raise Incorrect(f"With {about}, `talk` must return a list of messages; it returned {_short(messages)}.")
        if not messages or messages[0] != {"role": "user", "content": "Hello?"}:
            raise Incorrect(f"With {about}, the list you return must begin with the messages you were given.")
        if not replies:
            raise Incorrect(f"With {about}, the model was never asked: send the messages with `client`.")
        expected = []
        for number, reply in enumerate(replies, 1):
            if reply["stop_reason"] == "tool_use" and number < limit:
                expected += [
                    [b["name"], b["input"]["city"]] for b in tool_use_blocks(reply) if b["name"] != "get_wether"
                ]
        if seen["ran"] != expected and "limit" not in case:
            raise Incorrect(f"With {about}, these calls should have run: {expected}; yours ran {seen['ran']}.")
        open_ended = [*messages, {"role": "user", "content": "Go on."}]
        if broken := check_request(
            {"model": "claude-opus-5", "max_tokens": 9, "tools": DEFINITIONS, "messages": open_ended}
        ):
            raise Incorrect(f"With {about}, the list you return cannot be continued: {broken[0].message}")
        last = replies[-1]
        if last["stop_reason"] == "end_turn" and text_of(messages[-1]) != text_of(last):
            raise Incorrect(f"With {about}, the model's last answer is missing at the end of the list.")
        calls = {b["id"]: b for r in replies if r["stop_reason"] == "tool_use" for b in tool_use_blocks(r)}
        # A cut call may be left out, or answered with an error.
        cut = {b["id"] for r in replies if r["stop_reason"] != "tool_use" for b in tool_use_blocks(r)}
        results = [block for message in messages for block in tool_result_blocks(message)]
        results = [block for block in results if not (block["tool_use_id"] in cut and block.get("is_error"))]
        answered = [block["tool_use_id"] for block in results]
        # The turn cut off by the limit may go, too, if none of its calls was run.
        unread = [b["id"] for r in replies[limit - 1 :] for b in tool_use_blocks(r)]
        if len(seen["ran"]) <= len(calls) - len(unread) and not set(unread) & set(answered):
            calls = {call_id: call for call_id, call in calls.items() if call_id not in unread}
        if sorted(answered) != sorted(calls):
            raise Incorrect(f"With {about}, {len(calls)} calls need {len(calls)} results; there are {len(results)}.")
        if answered != list(calls):
            raise Incorrect(
                f"With {about}, the results are in a different order from the calls. This exercise asks for call order."
            )
        spoken = [text_of(message) for message in messages if message["role"] == "assistant"]
        for reply in replies[: limit - 1]:
            if reply["stop_reason"] == "tool_use" and text_of(reply) not in ["", *spoken]:
                words = _short(text_of(reply))
                raise Incorrect(f"With {about}, what the model said beside its calls got lost: {words}.")
        for one, next_one in itertools.pairwise(messages):
            if tool_result_blocks(one) and tool_result_blocks(next_one):
                raise Incorrect(
                    f"With {about}, the results of one turn are spread over several messages; put them into one."
                )
        for number, block in enumerate(results):
            _judge_result(
                about, calls[block["tool_use_id"]], block, not_run=number >= len(seen["ran"]) and "limit" in case
            )


def _judge_result(about: str, call: dict[str, Any], block: dict[str, Any], not_run: bool) -> None:
    said = "".join(part.get("text", "") for part in content_blocks(block))
    city = call["input"]["city"]
    bad = call["name"] == "get_wether" or city in NOWHERE
    if bad or not_run:
        if block.get("is_error") is not True:
            raise Incorrect(f"With {about}, the result of the call that failed needs `is_error: True`.")
        names = city if city in NOWHERE else "get_wether" if bad else ""
        if names not in said:
            raise Incorrect(f"With {about}, the error should name the problem ({names}); it says {_short(said)}.")
        if "Traceback" in said:
            raise Incorrect(f"With {about}, the error holds a stack trace; the model needs one sentence.")
        return
    if block.get("is_error"):
        raise Incorrect(f"With {about}, a call that worked is marked as an error: {_short(said)}.")
    wanted: Any = {"city": city, "sky": "regnbåge"} if call["name"] == "get_weather" else f"noon in {city}"
    try:
        value = json.loads(said)
    except ValueError:
        value = said if isinstance(wanted, str) else None
    if value != wanted:
        raise Incorrect(
            f"With {about}, the content should be what the function returned, as JSON; it is {_short(said)}."
        )


def _plain(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, list | tuple):
        content = [block.to_dict() if hasattr(block, "to_dict") else block for block in content]
    return {**message, "content": content}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


RULES = ("call without result", "result without call", "two results", "not first", "not at once")
# More than one place can be fixed: each right answer as (path, rule).
BROKEN = {
    "a": [(path, "not first") for path in ("messages.2.content.1", "messages.2.content.2", "messages.2")],
    "b": [("messages.0.content.0", "result without call"), ("messages.0", "result without call")],
    # Seen from the call it has no result, seen from the result it has no call: both say that it comes too late.
    "c": [
        (path, rule)
        for path in ("messages.1", "messages.1.content.1", "messages.2", "messages.4", "messages.4.content.0")
        for rule in ("not at once", "call without result", "result without call")
    ],
}
BAR = 470  # input tokens of exercise 1.3
WHY = {
    "a": "Both calls have a result. Look at what is between the two results.",
    "b": "Look at the first message: which call does this result answer?",
    "c": "The result is there, in the last message. In which one must it be?",
}


@exercise(
    "1.2",
    title="Find the broken rule",
    difficulty="easy",
    importance="core",
    minutes=10,
    hints=[
        "Draw a line from each call's id to the result that repeats it. Where does the line cross something?",
        "In the lesson's notebook, `send` prints the complaint. Its index may mislead; the id does not.",
        "`messages.2.content.1` is the second block of the third message.",
    ],
)
class FindTheBrokenRule:
    def cases(seed: int) -> list[str]:
        return ["a", "b", "c"]

    def observe(answers: Any, case: str) -> Any:
        return {"answer": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["answer"]
        if not (isinstance(answer, list) and len(answer) == 2 and all(isinstance(part, str) for part in answer)):
            raise Incorrect(
                f'`broken_{case}` should be a pair like ("messages.1", "two results"); it is {_short(answer)}.'
            )
        path, rule = answer
        if rule not in RULES:
            raise Incorrect(f"`broken_{case}` names the rule {rule!r}; choose one of {', '.join(RULES)}.")
        if (path, rule) not in BROKEN[case]:
            near = "The rule is right, the place is not." if any(rule == r for _, r in BROKEN[case]) else WHY[case]
            raise Incorrect(f"`broken_{case}` is not right yet. {near}")


@exercise(
    "1.3",
    title="The cheapest request that must call",
    difficulty="medium",
    importance="useful",
    minutes=10,
    hints=[
        'Which field makes a call certain? "Please call" in the message does not.',
        "Exactly one call: where does that switch sit?",
        "The API asks for two parts of a definition only. What is the third for, when the model has no choice?",
    ],
)
class CheapestForcedCall:
    def cases(seed: int) -> list[int]:
        return [seed * 3 + number for number in range(3)]

    def observe(body: Any, seed: int) -> Any:
        from course_kit.mock.provider import MockProvider
        from course_kit.mock.usage import count_tokens

        if not isinstance(body, dict):
            return {"returned": body}
        violations = check_request(body)
        if violations:
            return {"body": body, "refused": violations[0].message}
        client = MockProvider(seed=seed).client(max_retries=0)
        reply = client.messages.create(**{**body, "stream": False})  # in one piece, also where a stream was asked for
        return {"body": body, "refused": None, "reply": reply.to_dict(), "tokens": count_tokens(body)}

    def judge(seed: int, seen: dict[str, Any]) -> None:
        if "body" not in seen:
            raise Incorrect(f"`body` should be a dict, the body of a request; it is {_short(seen['returned'])}.")
        body = seen["body"]
        if seen["refused"]:
            raise Incorrect(f"The API refuses this body: {seen['refused']}")
        choice = body.get("tool_choice") or {}
        if choice.get("type") not in ("any", "tool"):
            raise Incorrect(
                "Nothing in this body forces a call: with `auto` the model may answer in words another time."
            )
        if choice["type"] == "any" and [tool.get("name") for tool in body["tools"]] != ["get_weather"]:
            raise Incorrect("`any` may call another tool than `get_weather` here.")
        if choice["type"] == "tool" and choice["name"] != "get_weather":
            raise Incorrect(f"This forces a call of `{choice['name']}`, not of `get_weather`.")
        if choice.get("disable_parallel_tool_use") is not True:
            raise Incorrect("The reply may hold several calls: switch parallel calls off, inside `tool_choice`.")
        schema = next(tool["input_schema"] for tool in body["tools"] if tool["name"] == "get_weather")
        kind = schema.get("properties", {}).get("city", {}).get("type")
        if kind not in ("string", ["string"]) or "city" not in schema.get("required", ()):
            raise Incorrect(
                "The schema must say that `city` is a string and required, or the call may come without it."
            )
        if body["max_tokens"] < 50:
            raise Incorrect(f"With max_tokens={body['max_tokens']} the call may be cut, and a cut call cannot be run.")
        calls = tool_use_blocks(seen["reply"])
        if [call["name"] for call in calls] != ["get_weather"] or not calls[0]["input"].get("city"):
            raise Incorrect(f"The reply should hold one call of get_weather with a city; it holds {_short(calls)}.")
        if seen["tokens"] > BAR:
            raise Incorrect(f"It works, but costs {seen['tokens']} input tokens; the limit is {BAR}.")

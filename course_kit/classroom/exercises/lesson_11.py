"""Checks of lesson 11: an adapter for Responses that loses nothing, the field that got lost, a golden diff to read."""

import json
import random
from collections.abc import Callable
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.contract.messages import tool_result
from course_kit.errors import Incorrect

__all__: list[str] = []

MODEL = "claude-opus-5"
MOST = 5  # replies of one conversation
PLACES = ["Oslo", "Lima", "Malmö", "Quito", "Hangzhou"]
TOOL = {
    "name": "get_weather",
    "description": "Weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 11.1


def _call(city: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": "get_weather", "input": {"city": city}}


def _talk(send: Callable[[dict[str, Any]], Any], failing: str) -> dict[str, Any]:
    """A small loop; what ran, and how it ended."""
    ran: list[Any] = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather?"}]
    for _ in range(MOST):
        reply = send({"model": MODEL, "max_tokens": 1024, "tools": [TOOL], "messages": messages})
        messages.append({"role": "assistant", "content": reply["content"]})
        if reply["stop_reason"] != "tool_use":
            texts = [block.get("text") for block in reply["content"] if block["type"] == "text"]
            return {"ran": ran, "stop": reply["stop_reason"], "said": texts}
        results = []
        for block in reply["content"]:
            if block["type"] == "tool_use":
                ran.append([block["name"], block["input"]])
                failed = block["input"].get("city") == failing
                said = f"no such place: {failing}" if failed else json.dumps(block["input"], ensure_ascii=False)
                results.append(tool_result(block["id"], said, is_error=failed))
        messages.append({"role": "user", "content": results})
    return {"ran": ran, "stop": "too many replies", "said": []}


@exercise(
    "11.1",
    title="An adapter that loses nothing",
    difficulty="medium",
    importance="core",
    minutes=25,
    seconds=30,  # the first case imports another SDK
    hints=[
        "Go block by block. Every text, call and result becomes one item, in the order in which they stand.",
        "`content` may be a string. Then the whole message is one item.",
        "Three of our fields have no place of their own there: `is_error`, `stop_reason`, and the object of `input`.",
        "An item of a call has two ids. The lesson printed both; only one pairs it with its output.",
        "For `stop_reason` ask in this order: was it cut, is there a call, neither?",
    ],
)
class AdapterThatLosesNothing:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"11.1:{seed}")
        one, two, three = draw.sample(PLACES, 3)
        return [
            {"about": "an answer without a call", "script": ["Ask me about a city."]},
            {"about": "a call behind a text", "script": [[f"Let me see about {one}.", _call(one)], "Done."]},
            {"about": "two calls in one turn", "script": [[_call(one), _call(two)], "Both known."]},
            {"about": "a call that fails", "script": [_call(two), "Sorry."], "failing": two},
            {
                "about": "one that fails beside one that works",
                "script": [[_call(one), _call(three)], "."],
                "failing": one,
            },
            {"about": "a call after a call", "script": [_call(one), ["Once more.", _call(two)], "Done."]},
            {
                "about": "a reply cut inside its call",
                "script": [{"content": ["I look.", _call(three)], "stop_reason": "max_tokens"}, "not reached"],
            },
            {"about": "a call whose arguments are cut in the middle", "cut": f'{{"city": "{three[:2]}'},
        ]

    def observe(pair: Any, case: dict[str, Any]) -> Any:
        if not isinstance(pair, dict) or not all(callable(pair.get(name)) for name in ("to_items", "message_from")):
            return {"no_pair": _short(pair)}
        if "cut" in case:
            item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "get_weather"}
            output = [{**item, "arguments": case["cut"], "status": "incomplete"}]
            reason = {"reason": "max_output_tokens"}
            reply = pair["message_from"]({"status": "incomplete", "incomplete_details": reason, "output": output})
            return {"reply": reply}
        return _both(pair, case)

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about = case["about"]
        if "no_pair" in seen:
            raise Incorrect(f"Give a dict with both functions, to_items and message_from; it is {seen['no_pair']}.")
        if "cut" in case:
            _judge_cut(about, case["cut"], seen["reply"])
            return
        if seen.get("wrong"):
            raise Incorrect(f"With {about}, {seen['wrong']}")
        if seen["refused"]:
            raise Incorrect(f"With {about}, the API refused your items: {seen['refused']}")
        theirs, ours = seen["theirs"], seen["ours"]
        if seen["differences"]:
            step, path, kept, now = seen["differences"][0]
            if path == "the whole step" and "none" in kept:
                raise Incorrect(
                    f"With {about}, your loop went on, and `stop_reason` should have been {ours['stop']!r}."
                )
            if path == "the whole step":
                raise Incorrect(
                    f"With {about}, your loop ended with a call in the reply: `stop_reason` is 'tool_use' then."
                )
            if path.startswith("echo"):
                raise Incorrect(f"With {about}, the model's own turn came back changed; it now reads {now}.")
            if kept.strip("'") in now and "given" in path:
                raise Incorrect(f"With {about}, the error line is not the one asked for: the model read {now}.")
            if "is_error" in path:
                raise Incorrect(f"With {about}, the error flag of a result got lost: the model read it as a success.")
            raise Incorrect(
                f"With {about}, the golden traces part at step {step}, in {path}: kept was {kept}, yours has {now}."
            )
        if theirs["stop"] != ours["stop"]:
            raise Incorrect(f"With {about}, `stop_reason` should be {ours['stop']!r}; yours is {theirs['stop']!r}.")
        if theirs["ran"] != ours["ran"]:
            raise Incorrect(
                f"With {about}, these calls should run: {_short(ours['ran'])}; yours ran {_short(theirs['ran'])}."
            )
        if "".join(theirs["said"]) != "".join(ours["said"]):
            raise Incorrect(f"With {about}, the last message should say {ours['said']}; yours says {theirs['said']}.")


def _both(pair: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    """The conversation through the learner's adapter and on the Messages API, and the difference of their traces."""
    from course_kit.contract.shapes import definition_to
    from course_kit.evaluation.golden import diff_golden, golden
    from course_kit.mock.provider import MockProvider

    kept, mock = MockProvider(case["script"]), MockProvider(case["script"])
    messages_client, client = kept.client(max_retries=0), mock.openai_client(max_retries=0)
    tools = [definition_to("openai_responses", TOOL).value]
    import openai  # after the client, which says what to install where it is missing

    def there(request: dict[str, Any]) -> Any:
        items = pair["to_items"](request["messages"])
        if not isinstance(items, list):
            raise _Wrong(f"`to_items` should return a list of items; it returned {_short(items)}.")
        reply = pair["message_from"](client.responses.create(model=MODEL, input=items, tools=tools).to_dict())
        _check_message(reply)
        return reply

    failing = case.get("failing", "")
    ours = _talk(lambda request: messages_client.messages.create(**request).to_dict(), failing)
    refused = wrong = theirs = None
    try:
        theirs = _talk(there, failing)
    except openai.BadRequestError as error:
        refused = error.body["message"]  # type: ignore[index]
    except _Wrong as error:
        wrong = str(error)
    if refused or wrong:
        return {"refused": refused, "wrong": wrong}
    found = diff_golden(golden(kept.requests), golden(mock.requests)).differences
    told = [[one.step, one.path, _short(one.golden), _short(one.now)] for one in found]
    return {"refused": None, "ours": ours, "theirs": theirs, "differences": told}


class _Wrong(Exception):
    """What is wrong with what the adapter returned, as a sentence."""


def _check_message(reply: Any) -> None:
    if not isinstance(reply, dict) or not isinstance(reply.get("content"), list) or "stop_reason" not in reply:
        raise _Wrong(f"`message_from` should return a dict with role, content and stop_reason; it is {_short(reply)}.")
    for block in reply["content"]:
        if not isinstance(block, dict) or block.get("type") not in ("text", "tool_use"):
            raise _Wrong(f"the content of a message holds text and tool_use blocks; yours holds {_short(block)}.")
        if block["type"] == "tool_use":
            if lacking := [name for name in ("id", "name", "input") if name not in block]:
                raise _Wrong(f"a tool_use block needs {lacking[0]}; yours is {_short(block)}.")
            if isinstance(block["input"], str) and block["input"].startswith("{") and block["input"].endswith("}"):
                raise _Wrong("`input` should be an object: parse the arguments.")


def _judge_cut(about: str, arguments: str, reply: Any) -> None:
    if not isinstance(reply, dict) or reply.get("stop_reason") != "max_tokens":
        said = reply.get("stop_reason") if isinstance(reply, dict) else reply
        raise Incorrect(f"With {about}, `stop_reason` should be 'max_tokens'; yours is {_short(said)}.")
    expected = {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": arguments}
    if reply.get("content") != [expected]:
        raise Incorrect(
            f"With {about}, the text should stay as `input`: {expected}; yours is {_short(reply.get('content'))}."
        )


# 11.2

FIELDS = ("is_error", "tool_use_id", "input", "stop_reason", "description", "disable_parallel_tool_use")
LOST = {"a": "disable_parallel_tool_use", "b": "tool_use_id", "c": "is_error", "d": "stop_reason"}
WHY_LOST = {
    "a": "Forcing came along, as `required`. What else did our `tool_choice` say?",
    "b": "Both texts are there. Which of the two calls has no answer now?",
    "c": "The text arrived. How would the model know that it is no success?",
    "d": "The arguments parse and are whole JSON. Which field of theirs says that something is missing?",
}


@exercise(
    "11.2",
    title="Which field got lost?",
    difficulty="easy",
    importance="core",
    minutes=10,
    hints=[
        "Go through the fields of `ours` one by one and put a finger on each in `theirs`.",
        "In the lesson's table, look at the rows for the switch, the pairing id, the error flag and the stop signal.",
        "In d, read everything of theirs that stands outside `output`.",
    ],
)
class WhichFieldGotLost:
    def cases(seed: int) -> list[str]:
        return list(LOST)

    def observe(answers: Any, case: str) -> Any:
        return {"returned": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["returned"]
        if not isinstance(answer, str) or answer.strip() not in FIELDS:
            raise Incorrect(f"`lost_{case}` should be one of {', '.join(FIELDS)}; it is {_short(answer)}.")
        if answer.strip() != LOST[case]:
            raise Incorrect(f"`lost_{case}` is not {answer.strip()}. {WHY_LOST[case]}")


# 11.3

LOOK = {"a": (2, "adapter"), "b": (2, "tool"), "c": (1, "definition"), "d": (3, "model")}
PLACES_TO_LOOK = ("adapter", "definition", "tool", "model")
WHY_LOOK = {
    "a": "The result's text is not in the diff, so it is the same. What about its flag, and who stands between?",
    "b": "The first line is about the text of a result, flag and id agree. Who wrote that text?",
    "c": "The first line is about `tools`. What are the eight letters a digest of?",
    "d": "Nothing in `tools` or `given` differs before the first line. Who decided, then?",
}


@exercise(
    "11.3",
    title="Read a golden diff",
    difficulty="medium",
    importance="core",
    minutes=10,
    hints=[
        "Only the first line matters. What comes behind it answers another history.",
        "`tools` and `given` are what the model read; `stop`, `calls` and `said` are what it did.",
        "If something that was read differs: is it the words of a result, or what stands around them?",
    ],
)
class ReadAGoldenDiff:
    def cases(seed: int) -> list[str]:
        return list(LOOK)

    def observe(answers: Any, case: str) -> Any:
        return {"returned": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["returned"]
        if not (isinstance(answer, list | tuple) and len(answer) == 2):
            raise Incorrect(f'`look_{case}` should be a pair such as (1, "model"); it is {_short(answer)}.')
        step, place = answer
        if place not in PLACES_TO_LOOK:
            raise Incorrect(f"`look_{case}` names {place!r}; choose one of {', '.join(PLACES_TO_LOOK)}.")
        if step != LOOK[case][0] or isinstance(step, bool):
            raise Incorrect(f"`look_{case}`: they do not part at step {step!r}. Take the step of the first line.")
        if place != LOOK[case][1]:
            raise Incorrect(f"`look_{case}`: the step is right, the place is not. {WHY_LOOK[case]}")

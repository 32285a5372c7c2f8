"""Checks of lesson 11: an adapter for Responses that loses nothing, the field that got lost, a golden diff to read."""

import contextlib
import copy
import json
import random
from collections.abc import Callable
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
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


def _load_sdks() -> None:
    """Load them off the learner's clock: on a busy machine that takes longer than the check."""
    with contextlib.suppress(ImportError):  # a missing one is named where it is needed
        import anthropic
        import openai

        _ = anthropic, openai


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
    seconds=30,  # where `cases` and `observe` run in two processes, the SDKs are loaded on the learner's clock
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
        _load_sdks()
        draw = random.Random(f"11.1:{seed}")
        one, two, three = draw.sample(PLACES, 3)
        ask, ids = {"city": one}, [f"call_{draw.randrange(100, 999)}{letter}" for letter in "ab"]
        calls = [tool_use(id, "get_weather", {"city": city}) for id, city in zip(ids, (one, two), strict=True)]
        output = {"type": "function_call", "id": "fc_9", "call_id": ids[0], "name": "get_weather"}
        output["arguments"] = json.dumps(ask)
        words, more = (
            {"type": "message", "content": [{"type": "output_text", "text": said}]} for said in "Hm. So.".split()
        )
        parts = {"type": "message", "content": [*words["content"], *more["content"]]}
        good, bad = tool_result(ids[0], f"4 C in {one}"), tool_result(ids[1], f"{two} is closed", is_error=True)
        return [
            {"about": "a plain question", "messages": [user(f"What of {one}?")]},
            {"about": "a text, then a call", "messages": [assistant([text("I look."), calls[0]])]},
            {"about": "a text after a call", "messages": [assistant([calls[0], text("Wait."), calls[1]])]},
            {"about": "two texts in a row", "messages": [assistant([text("First."), text("Second.")])]},
            {"about": "a result and an error", "messages": [assistant(calls), user([good, bad])]},
            {
                "about": "a result whose `is_error` is False",
                "messages": [assistant(calls[:1]), user([{**good, "is_error": False}])],
            },
            {"about": "a user's words after a result", "messages": [user([good, text("And hurry.")])]},
            {"about": "a call in the reply", "output": [output], "content": [calls[0]]},
            {"about": "two texts in the reply", "output": [words, more], "content": [text("Hm."), text("So.")]},
            {
                "about": "a text after a call in the reply",
                "output": [output, words],
                "content": [calls[0], text("Hm.")],
            },
            {
                "about": "one message of two texts in the reply",
                "output": [parts, output],
                "content": [text("Hm."), text("So."), calls[0]],
                "also": [[text(f"Hm.{gap}So."), calls[0]] for gap in ("", " ", "\n")],
            },
            {"about": "a text that was cut", "output": [words], "content": [text("Hm.")], "stop": "max_tokens"},
            {"about": "an answer without a call", "script": ["Ask me about a city."]},
            {"about": "a call after a text", "script": [[f"Let me see about {one}.", _call(one)], "Done."]},
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
        if "messages" in case:
            given = copy.deepcopy(case["messages"])
            items = pair["to_items"](given)
            return {"items": items, "changed": given != case["messages"]}
        if "output" in case:
            whole = {"status": "completed", "incomplete_details": None}
            cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
            reply = {**(cut if "stop" in case else whole), "output": copy.deepcopy(case["output"])}
            given = copy.deepcopy(reply)
            return {"reply": pair["message_from"](reply), "changed": reply != given}
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
        if "messages" in case:
            _judge_items(about, case["messages"], seen["items"])
            if seen["changed"]:
                raise Incorrect(f"With {about}, the caller's own messages were changed: build new items instead.")
            return
        if "output" in case:
            _judge_reply(about, case["content"], seen["reply"], case.get("also", ()), case.get("stop"))
            if seen["changed"]:
                raise Incorrect(f"With {about}, the response was changed: build new blocks instead.")
            return
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
            raise Incorrect(
                f"With {about}, the golden traces part at step {step}, in {path}: kept was {kept}, yours has {now}."
            )
        if (theirs["stop"], "".join(theirs["said"])) != (ours["stop"], "".join(ours["said"])):
            raise Incorrect(
                f"With {about}, it should end with {ours['stop']!r} and {ours['said']}; yours ends with "
                f"{theirs['stop']!r} and {theirs['said']}."
            )


def _items_of(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items asked for, with the inputs of calls as objects instead of JSON."""
    items: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        for block in [text(content)] if isinstance(content, str) else content:
            if block["type"] == "text":
                items.append({"role": message["role"], "content": block["text"]})
            elif block["type"] == "tool_use":
                call = {"call_id": block["id"], "name": block["name"], "arguments": block["input"]}
                items.append({"type": "function_call", **call})
            else:
                said = ("is_error: true\n" if block.get("is_error") else "") + block["content"]
                items.append({"type": "function_call_output", "call_id": block["tool_use_id"], "output": said})
    return items


def _plain(item: Any) -> Any:
    """A learner's item as `_items_of` writes it: no type on a message, arguments parsed, one text part as a string."""
    if not isinstance(item, dict):
        return item
    item = {
        key: value for key, value in item.items() if (key, value) not in (("type", "message"), ("status", "completed"))
    }
    if item.get("type") == "function_call" and isinstance(item.get("arguments"), str):
        try:
            item["arguments"] = json.loads(item["arguments"])
        except ValueError:
            pass
    for key in ("content", "output"):
        if isinstance(item.get(key), list) and len(item[key]) == 1 and isinstance(item[key][0], dict):
            item[key] = item[key][0].get("text", item[key])
    return item


def _judge_items(about: str, messages: list[dict[str, Any]], items: Any) -> None:
    if not isinstance(items, list):
        raise Incorrect(f"`to_items` should return a list of items; with {about} it returned {_short(items)}.")
    for item in items:
        if (
            isinstance(item, dict)
            and item.get("type") == "function_call"
            and not isinstance(item.get("arguments"), str)
        ):
            raise Incorrect(
                f"With {about}, `arguments` should be a string of JSON; yours is {_short(item.get('arguments'))}."
            )
    wanted, plain = _items_of(messages), [_plain(item) for item in items]
    for want in wanted:
        if want not in plain:
            raise Incorrect(f"With {about}, {_lacking(want, plain)}")
    for item in plain:
        if plain.count(item) > wanted.count(item):
            raise Incorrect(f"With {about}, there is an item too many: {_short(item)}.")
    if plain != wanted:
        kinds = ", ".join(item.get("type", "text") for item in wanted)
        raise Incorrect(f"With {about}, the items are not in the order of the blocks, which is: {kinds}.")


def _lacking(want: dict[str, Any], plain: list[Any]) -> str:
    """Why this item is not among the learner's, as the rest of a sentence."""
    kind = want.get("type")
    alike = [item for item in plain if isinstance(item, dict) and item.get("type") == kind]
    if kind is None:
        return f"the text {want['content']!r} of the {want['role']} got lost or changed."
    paired = [item for item in alike if item.get("call_id") == want["call_id"]]
    if not paired:
        ids = ", ".join(str(item.get("call_id")) for item in alike) or "none"
        return f"a {kind} should carry the `call_id` {want['call_id']}, our id of the call; yours: {ids}."
    if kind == "function_call":
        wrong = next((key for key in ("name", "arguments") if paired[0].get(key) != want[key]), "")
        if not wrong:
            extra = sorted(set(paired[0]) - set(want))
            return f"a function_call should have no {', '.join(extra)}."
        return f"`{wrong}` should be {want[wrong]!r} (as JSON); yours is {_short(paired[0].get(wrong))}."
    yours, line = paired[0].get("output"), "is_error: true\n"
    if not want["output"].startswith(line):
        return f"a good result should go as it is, {want['output']!r}; yours is {_short(yours)}."
    if yours == want["output"].removeprefix(line):
        return "the error flag of a result got lost: put the line `is_error: true` before its text."
    return f"the failed result should read {want['output']!r}; yours is {_short(yours)}."


def _judge_reply(
    about: str, content: list[dict[str, Any]], reply: Any, also: Any = (), stop: str | None = None
) -> None:
    try:
        _check_message(reply)
    except _Wrong as error:
        raise Incorrect(f"With {about}, {error}") from None
    known = ("type", "text", "id", "name", "input")
    content, blocks, *also = (
        [{key: block[key] for key in known if key in block} for block in side]
        for side in (content, reply["content"], *also)
    )
    for want, block in zip(content, blocks, strict=False):
        if want["type"] == block["type"] == "tool_use" and block["id"] != want["id"]:
            said = f"`id` should be the item's `call_id`, {want['id']}, which pairs it with its output"
            raise Incorrect(f"With {about}, {said}; yours is {block['id']}.")
    if blocks not in [content, *also]:
        raise Incorrect(f"With {about}, `content` should be {content}; yours is {blocks}.")
    stop = stop or ("tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn")
    if reply["stop_reason"] != stop:
        raise Incorrect(f"With {about}, `stop_reason` should be {stop!r}; yours is {reply['stop_reason']!r}.")


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

FIELDS = ("is_error", "tool_use_id", "input", "stop_reason", "description", "disable_parallel_tool_use", "nothing")
LOST = {
    **{"a": "disable_parallel_tool_use", "b": "tool_use_id", "c": "is_error"},
    **{"d": "stop_reason", "e": "stop_reason", "f": "nothing"},
}
WHY_LOST = {
    "a": "Forcing came along, as `required`. What else did our `tool_choice` say?",
    "b": "Both texts are there. Which of the two calls has no answer now?",
    "c": "The text arrived. How would the model know that it is not a success?",
    "d": "The arguments parse and are whole JSON. Which field of theirs says that something is missing?",
    "e": "The call came along, with id, name and input. Will the loop run it?",
    "f": "Go through the fields of `ours` once more: is there one that says something theirs does not?",
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
        "In d and e, ask what your loop would do with the message: run the call, or not?",
    ],
)
class WhichFieldGotLost:
    def cases(seed: int) -> list[str]:
        return list(LOST)

    def observe(answers: Any, case: str) -> Any:
        return {"answer": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["answer"]
        if not isinstance(answer, str) or answer.strip() not in FIELDS:
            raise Incorrect(f"`lost_{case}` should be one of {', '.join(FIELDS)}; it is {_short(answer)}.")
        if answer.strip() != LOST[case]:
            raise Incorrect(f"`lost_{case}` is not {answer.strip()}. {WHY_LOST[case]}")


# 11.3

LOOK = {"a": (2, "adapter"), "b": (2, "tool"), "c": (1, "definition"), "d": (3, "model"), "e": (2, "adapter")}
PLACES_TO_LOOK = ("adapter", "definition", "tool", "model")
WHY_LOOK = {
    "a": "The result's text is not in the diff, so it is the same. What about its flag, and what is in between?",
    "b": "The first line is about the text of a result, flag and id agree. What does the tool's log say?",
    "c": "The first line is about `tools`. What are the eight letters a digest of?",
    "d": "Nothing in `tools` or `given` differs before the first line. Who decided, then?",
    "e": "The tool's log and the golden trace have the same text. Who changed it on the way to the model?",
}


@exercise(
    "11.3",
    title="Read a golden diff",
    difficulty="medium",
    importance="core",
    minutes=10,
    hints=[
        "Only the first line matters. What comes after it answers a different history.",
        "`tools` and `given` are what the model read; `stop`, `calls` and `said` are what it did.",
        "If something that was read differs: is it the words of a result, or what is around them?",
        "If it is the words, the tool's log has what the tool returned. Does the model's text agree with it?",
    ],
)
class ReadAGoldenDiff:
    def cases(seed: int) -> list[str]:
        return list(LOOK)

    def observe(answers: Any, case: str) -> Any:
        return {"answer": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["answer"]
        if not (isinstance(answer, list | tuple) and len(answer) == 2):
            raise Incorrect(f'`look_{case}` should be a pair such as (1, "model"); it is {_short(answer)}.')
        step, place = answer
        if place not in PLACES_TO_LOOK:
            raise Incorrect(f"`look_{case}` names {place!r}; choose one of {', '.join(PLACES_TO_LOOK)}.")
        if str(step).strip() != str(LOOK[case][0]):
            raise Incorrect(f"`look_{case}`: they do not part at step {step!r}. Take the step of the first line.")
        if place != LOOK[case][1]:
            raise Incorrect(f"`look_{case}`: the step is right, the place is not. {WHY_LOOK[case]}")

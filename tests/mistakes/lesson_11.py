"""Answers to the exercises of lesson 11."""

import json


def to_items_with(
    *,
    flag="is_error: true\n",
    pairing=True,
    as_text=json.dumps,
    texts=True,
    calls_last=False,
    all_results=True,
    typed=False,
    last_text=False,
    text_last=True,
    in_place=False,
    good="",
    twice=False,
    by_value=True,
):
    """`to_items` with one thing done wrong, or merely otherwise."""

    def said(role, content):
        return {"type": "message", "role": role, "content": content} if typed else {"role": role, "content": content}

    def to_items(messages):
        items = []
        for message in messages:
            if isinstance(message["content"], str):
                items.append(said(message["role"], message["content"]))
                continue
            own = []
            said_last = [block for block in message["content"] if block["type"] == "text"][-1:]
            after_results = any(block["type"] == "tool_result" for block in message["content"])
            results = [block for block in message["content"] if block["type"] == "tool_result"]
            for block in message["content"]:
                if block["type"] == "text" and texts:
                    if (last_text and block not in said_last) or (after_results and not text_last):
                        continue
                    own.append(said(message["role"], block["text"]))
                elif block["type"] == "tool_use":
                    call = {"type": "function_call", "call_id": block["id"], "name": block["name"]}
                    own.append({**call, "arguments": as_text(block["input"])})
                elif block["type"] == "tool_result" and (all_results or block is results[0]):
                    failed = block.get("is_error") if by_value else "is_error" in block
                    text = (flag if failed else good) + block["content"]
                    if in_place and block.get("is_error"):
                        block["content"] = text
                    id = block["tool_use_id"] if pairing else "fc_1"
                    own.append({"type": "function_call_output", "call_id": id, "output": text})
            own += own[-1:] if twice else []
            items += sorted(own, key=lambda item: item.get("type") != "function_call") if calls_last else own
        return items

    return to_items


def message_from_with(
    *,
    id="call_id",
    parse=True,
    guard=True,
    cut=True,
    ends=True,
    texts=True,
    last_text=False,
    broken=None,
    calls_first=False,
):
    def message_from(response):
        content = []
        for item in response["output"]:
            if item["type"] == "message" and texts:
                content = [block for block in content if block["type"] != "text"] if last_text else content
                content += [{"type": "text", "text": part["text"]} for part in item["content"]]
            elif item["type"] == "function_call":
                inputs = item["arguments"]
                if parse:
                    try:
                        inputs = json.loads(inputs)
                    except ValueError:
                        if not guard:
                            raise
                        inputs = inputs if broken is None else broken
                content.append({"type": "tool_use", "id": item[id], "name": item["name"], "input": inputs})
        reason = "tool_use" if ends and any(block["type"] == "tool_use" for block in content) else "end_turn"
        if cut and response["status"] == "incomplete" and not (calls_first and reason == "tool_use"):
            reason = "max_tokens"
        return {"role": "assistant", "content": content, "stop_reason": reason}

    return message_from


def pair(to_items=None, message_from=None):
    return {"to_items": to_items or to_items_with(), "message_from": message_from or message_from_with()}


def by_status(response):
    """Takes `completed` for the end of the turn."""
    message = message_from_with()(response)
    return {**message, "stop_reason": {"completed": "end_turn", "incomplete": "max_tokens"}[response["status"]]}


def by_match(response):
    """Right, and written otherwise: with `match`, and with what the course's conversions add."""
    content = []
    for item in response["output"]:
        match item:
            case {"type": "message", "content": parts}:
                content.append({"type": "text", "text": "".join(part.get("text", "") for part in parts)})
            case {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}:
                try:
                    arguments = json.loads(arguments or "{}")
                except json.JSONDecodeError:
                    pass
                content.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
    if response["status"] == "incomplete":
        reason = "max_tokens"
    elif "tool_use" in [block["type"] for block in content]:
        reason = "tool_use"
    else:
        reason = "end_turn"
    return {"role": "assistant", "content": content, "stop_reason": reason}


def by_the_first_part(response):
    """Takes one text of each message."""
    output = [
        {**item, "content": item["content"][:1]} if item["type"] == "message" else item for item in response["output"]
    ]
    return message_from_with()({**response, "output": output})


def cut_calls_alone(response):
    """Takes a text that was cut for a whole answer."""
    message = message_from_with()(response)
    calls = [block for block in message["content"] if block["type"] == "tool_use"]
    return message if calls else {**message, "stop_reason": "end_turn"}


def parses_in_place(response):
    for item in response["output"]:
        if item["type"] == "function_call" and item["arguments"].endswith("}"):
            item["arguments"] = json.loads(item["arguments"])
    return message_from_with(parse=False)(response)


def by_the_last_block(response):
    """Takes a call for one that stands last."""
    message = message_from_with()(response)
    last = message["content"][-1]["type"] if message["content"] else ""
    cut = message["stop_reason"] == "max_tokens"
    return message if cut else {**message, "stop_reason": "tool_use" if last == "tool_use" else "end_turn"}


RIGHT_LOST = {"a": "disable_parallel_tool_use", "b": "tool_use_id", "c": "is_error"}
RIGHT_LOST |= {"d": "stop_reason", "e": "stop_reason", "f": "nothing"}
RIGHT_LOOK = {"a": (2, "adapter"), "b": (2, "tool"), "c": (1, "definition"), "d": (3, "model"), "e": (2, "adapter")}


def empties_the_response(response):
    message = message_from_with()(response)
    response.clear()
    return message


MISTAKES = {
    "11.1": {
        "empties the response": (pair(message_from=empties_the_response), "the response was changed"),
        "one function": (to_items_with(), "Give a dict with both functions"),
        "the flag dropped": (pair(to_items_with(flag="")), "the error flag of a result got lost"),
        "the flag in other words": (pair(to_items_with(flag="ERROR: ")), "the failed result should read"),
        "the flag on good results": (pair(to_items_with(good="is_error: false\n")), "a good result should go as it is"),
        "the flag's presence for its value": (pair(to_items_with(by_value=False)), "a good result should go as it is"),
        "the first text of a message": (pair(message_from=by_the_first_part), "{'type': 'text', 'text': 'So.'}"),
        "a text that was cut": (pair(message_from=cut_calls_alone), "a text that was cut, `stop_reason` should be"),
        "the response edited in place": (pair(message_from=parses_in_place), "the response was changed"),
        "an object as arguments": (pair(to_items_with(as_text=dict)), "should be a string of JSON"),
        "str instead of JSON": (pair(to_items_with(as_text=str)), "`arguments` should be {'city'"),
        "the item's id on the output": (pair(to_items_with(pairing=False)), "should carry the `call_id` call_"),
        "the item's id on the call": (pair(message_from=message_from_with(id="id")), "should be the item's `call_id`"),
        "one result of two": (pair(to_items_with(all_results=False)), "should carry the `call_id` call_"),
        "calls before texts": (pair(to_items_with(calls_last=True)), "not in the order of the blocks"),
        "a user's words dropped": (pair(to_items_with(text_last=False)), "'And hurry.' of the user got lost"),
        "the last text alone": (pair(to_items_with(last_text=True)), "'First.' of the assistant got lost"),
        "an item twice": (pair(to_items_with(twice=True)), "an item too many"),
        "messages edited in place": (pair(to_items_with(in_place=True)), "own messages were changed"),
        "the last text of a reply": (pair(message_from=message_from_with(last_text=True)), "`content` should be"),
        "a call that stands last": (pair(message_from=by_the_last_block), "'tool_use'; yours is 'end_turn'"),
        "arguments not parsed": (pair(message_from=message_from_with(parse=False)), "should be an object"),
        "broken arguments raise": (pair(message_from=message_from_with(guard=False)), "JSONDecodeError"),
        "a call ahead of a cut": (
            pair(message_from=message_from_with(calls_first=True)),
            "your loop went on, and `stop_reason` should have been 'max_tokens'",
        ),
        "broken arguments thrown away": (
            pair(message_from=message_from_with(broken={})),
            "the text should stay as `input`",
        ),
        "a cut is not seen": (pair(message_from=message_from_with(cut=False)), "'max_tokens'"),
        "completed is the end": (pair(message_from=by_status), "'tool_use'; yours is 'end_turn'"),
        "nothing returned": (pair(lambda messages: None), "should return a list of items"),
        "the response itself": (pair(message_from=lambda response: response), "a dict with role, content"),
        "texts dropped": (pair(message_from=message_from_with(texts=False)), "`content` should be"),
    },
    "11.2": {
        "a list of one": ({**RIGHT_LOST, "d": ["stop_reason"]}, "`lost_d` should be one of"),
        "a name of theirs": ({**RIGHT_LOST, "a": "parallel_tool_calls"}, "should be one of"),
        "forcing": ({**RIGHT_LOST, "a": "stop_reason"}, "What else did our `tool_choice` say?"),
        "the input of a cut call": ({**RIGHT_LOST, "d": "input"}, "Which field of theirs says"),
        "the word is believed": ({**RIGHT_LOST, "e": "nothing"}, "Will the loop run it?"),
        "the flag's new place": ({**RIGHT_LOST, "f": "is_error"}, "one that says something theirs does not"),
        "nothing": ({**RIGHT_LOST, "c": None}, "`lost_c` should be one of"),
        "the flag in b": ({**RIGHT_LOST, "b": "is_error"}, "Which of the two calls"),
    },
    "11.3": {
        "a place in a list": ({**RIGHT_LOOK, "a": (2, ["adapter"])}, "`look_a` names ['adapter']; choose one of"),
        "the last line": ({**RIGHT_LOOK, "a": (3, "adapter")}, "do not part at step 3"),
        "the model followed": ({**RIGHT_LOOK, "b": (2, "model")}, "What does the tool's log say?"),
        "the tool for a changed text": ({**RIGHT_LOOK, "e": (2, "tool")}, "Who changed it on the way"),
        "the other tool": ({**RIGHT_LOOK, "c": (1, "model")}, "a digest of"),
        "the tool paid 19": ({**RIGHT_LOOK, "d": (3, "tool")}, "Who decided, then?"),
        "no pair": ({**RIGHT_LOOK, "d": "model"}, "should be a pair"),
        "another word": ({**RIGHT_LOOK, "a": (2, "flag")}, "choose one of"),
    },
}

VARIANTS = {
    "11.1": {
        "typed messages": pair(to_items_with(typed=True)),
        "letters not escaped": pair(to_items_with(as_text=lambda value: json.dumps(value, ensure_ascii=False))),
        "with match": pair(message_from=by_match),
    },
    "11.2": {
        "plain": RIGHT_LOST,
        "with spaces": {name: f" {field} " for name, field in RIGHT_LOST.items()},
    },
    "11.3": {
        "tuples": RIGHT_LOOK,
        "lists": {name: list(answer) for name, answer in RIGHT_LOOK.items()},
        "steps as text": {name: (str(step), place) for name, (step, place) in RIGHT_LOOK.items()},
    },
}

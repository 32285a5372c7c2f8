"""What OpenAI's two interfaces refuse: the shape of a body, and their own rules of pairing calls with results.

A rule is as in `contract/rules.py`; its path is the error's `param`, its code the error's `code`. Texts marked
`reported` are the API's own; those marked `uncertain` are in its manner, from memory, and may differ in every word.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from course_kit.contract.rules import Found, Rule, Violation, rule, said
from course_kit.contract.strict import Refusal, strict_refusals

__all__ = ["CHAT_KEYS", "CHAT_RULES", "RESPONSES_KEYS", "RESPONSES_RULES", "first_openai_violation"]

Body = Mapping[str, Any]

CHAT_KEYS = frozenset(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier "
    "stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options".split()
)
RESPONSES_KEYS = frozenset(
    "access_programs background background_options context_management conversation image include input instructions "
    "max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt "
    "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user".split()
)
_ROLES = ("system", "developer", "user", "assistant", "tool")
_KINDS = {str: "a string", list: "an array of objects", dict: "an object", bool: "a boolean", int: "an integer"}
_NAME = "^[a-zA-Z0-9_-]+$"


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), "another value")


def _wrong_type(path: str, expected: str, value: Any) -> Found:
    return said(path, f"Invalid type for '{path}': expected {expected}, but got {_kind(value)} instead.")


def _missing(path: str) -> Found:
    return said(path, f"Missing required parameter: '{path}'.")


# The shape.


@rule("uncertain", "in the API's manner")
def model_named(body: Body) -> Iterator[Found]:
    """A body names its model."""
    if not isinstance(body.get("model"), str):
        yield said("", "you must provide a model parameter")


@rule("reported", "quoted in unrelated reports, 2024-10 to 2026-06")
def chat_argument_known(body: Body) -> Iterator[Found]:
    """Chat Completions refuses unknown keys."""
    for key in body.keys() - CHAT_KEYS:
        yield said("", f"Unrecognized request argument supplied: {key}")


@rule("reported", "quoted in a report, 2025-06", error_code="unknown_parameter")
def responses_parameter_known(body: Body) -> Iterator[Found]:
    """Responses refuses unknown keys."""
    for key in body.keys() - RESPONSES_KEYS:
        yield said(key, f"Unknown parameter: '{key}'.")


@rule("uncertain", "in the API's manner", error_code="integer_below_min_value")
def room_for_an_answer(body: Body) -> Iterator[Found]:
    """The limit of tokens is a whole number from 1."""
    for key in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        if (value := body.get(key)) is not None and (not isinstance(value, int) or value < 1):
            yield said(key, f"Invalid '{key}': integer below minimum value. Expected a value >= 1, but got {value!r}.")


@rule("uncertain", "in the API's manner", error_code="invalid_type")
def chat_messages_shaped(body: Body) -> Iterator[Found]:
    """Messages are objects with a known role; arguments are text, not an object."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield _wrong_type("messages", "a non-empty array of objects", messages)
        return
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if not isinstance(message, dict):
            yield _wrong_type(path, "an object", message)
            continue
        if message.get("role") not in _ROLES:
            known = ", ".join(f"'{role}'" for role in _ROLES)
            yield said(f"{path}.role", f"Invalid value: {message.get('role')!r}. Supported values are: {known}.")
        yield from _content(message.get("content"), f"{path}.content", bool(message.get("tool_calls")))
        if message.get("role") == "tool" and not isinstance(message.get("tool_call_id"), str):
            text = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
            yield said(f"messages.[{index}].tool_call_id", text)
        calls = message.get("tool_calls")
        if calls is not None and (not isinstance(calls, list) or not calls):
            yield said(f"{path}.tool_calls", f"Invalid '{path}.tool_calls': expected an array with minimum length 1.")
            continue
        for place, call in enumerate(calls or ()):
            yield from _call(call, f"{path}.tool_calls[{place}]")


def _content(content: Any, path: str, may_lack: bool) -> Iterator[Found]:
    if content is None and not may_lack:
        yield said(path, f"Invalid value for '{path}': expected a string, got null.")
    elif not isinstance(content, str | list | None):
        yield _wrong_type(path, "a string or an array of objects", content)
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            yield _missing(f"{path}[{index}].type")
        elif part["type"] in ("text", "input_text", "output_text") and not isinstance(part.get("text"), str):
            yield _wrong_type(f"{path}[{index}].text", "a string", part.get("text"))


def _call(call: Any, path: str) -> Iterator[Found]:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        yield _missing(f"{path}.id")
    elif call.get("type", "function") != "custom":
        function = call.get("function")
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            yield _missing(f"{path}.function.name")
        elif not isinstance(function.get("arguments"), str):
            yield _wrong_type(f"{path}.function.arguments", "a string", function.get("arguments"))


@rule("reported", "quoted in a report, 2025-03", error_code="string_above_max_length")
def chat_id_length(body: Body) -> Iterator[Found]:
    """The id of a call has at most 40 characters."""
    for index, message in enumerate(body["messages"]):
        for place, call in enumerate(message.get("tool_calls") or ()):
            if (length := len(call["id"])) > 40:
                path = f"messages[{index}].tool_calls[{place}].id"
                text = f"Invalid '{path}': string too long. Expected a string with maximum length 40, "
                yield said(path, f"{text}but got a string with length {length} instead.")


@rule("uncertain", "in the API's manner", error_code="invalid_type")
def responses_input_shaped(body: Body) -> Iterator[Found]:
    """The input is a text or a list of items, each with what its kind needs."""
    given = body.get("input")
    if given is None and not body.get("previous_response_id"):
        yield _missing("input")
    elif not isinstance(given, str | list | None):
        yield _wrong_type("input", "a string or an array of objects", given)
    for index, item in enumerate(given if isinstance(given, list) else ()):
        path = f"input[{index}]"
        if not isinstance(item, dict):
            yield _wrong_type(path, "an object", item)
            continue
        kind = item.get("type", "message")
        if kind == "message":
            if item.get("role") not in _ROLES[:4]:
                yield said(f"{path}.role", f"Invalid value: {item.get('role')!r}.")
            yield from _content(item.get("content"), f"{path}.content", False)
        needed = {"function_call": ("call_id", "name", "arguments"), "function_call_output": ("call_id",)}
        for name in needed.get(kind, ()):
            if not isinstance(item.get(name), str):
                yield (
                    _missing(f"{path}.{name}")
                    if name not in item
                    else _wrong_type(f"{path}.{name}", "a string", item[name])
                )
        if kind == "function_call_output":
            yield from _content(item.get("output"), f"{path}.output", False)


@rule("uncertain", "in the API's manner; the limits are in the SDK's types", error_code="invalid_value")
def tools_shaped(body: Body) -> Iterator[Found]:
    """Each function has a name of 1 to 64 letters, digits, _ and -; Chat nests it, Responses does not."""
    tools = body.get("tools")
    if not isinstance(tools, list | None):
        yield _wrong_type("tools", "an array of objects", tools)
        return
    for index, tool in enumerate(tools or ()):
        path = f"tools[{index}]"
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            yield _missing(f"{path}.type")
        elif tool["type"] == "function":
            if "messages" in body:
                path += ".function"
                if not isinstance(tool.get("function"), dict):
                    yield _missing(path)
                    continue
                tool = tool["function"]
            name = tool.get("name")
            if not isinstance(name, str):
                yield _missing(f"{path}.name")
            elif not re.fullmatch(_NAME[1:-1], name):
                text = f"Invalid '{path}.name': string does not match pattern. Expected a string that matches the "
                yield said(f"{path}.name", f"{text}pattern '{_NAME}'.")
            elif len(name) > 64:
                text = f"Invalid '{path}.name': string too long. Expected a string with maximum length 64, "
                yield said(f"{path}.name", f"{text}but got a string with length {len(name)} instead.")


@rule("uncertain", "in the API's manner", error_code="invalid_function_parameters")
def parameters_are_an_object(body: Body) -> Iterator[Found]:
    """The schema of a function is an object's."""
    for path, function in _functions(body):
        schema = function.get("parameters")
        if schema is not None and (not isinstance(schema, dict) or schema.get("type") != "object"):
            type = schema.get("type") if isinstance(schema, dict) else None
            text = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{type}\"'."
            yield said(f"{path}.parameters", f"Invalid schema for function '{function['name']}': {text}")


@rule("reported", "reference 5.4; texts quoted in unrelated reports", error_code="invalid_function_parameters")
def strict_in_subset(body: Body) -> Iterator[Found]:
    """A strict schema closes every object and requires every input."""
    for path, function, refusal in _refused(body):
        if refusal.rule != "strict-lookaround":
            text = f"Invalid schema for function '{function['name']}': {refusal.message}"
            yield said(f"{path}.parameters", text)


@rule("reported", "an error's whole body in a report, 2026-05", error_code="invalid_json_schema")
def strict_without_lookaround(body: Body) -> Iterator[Found]:
    """No pattern of a strict schema looks around."""
    for _, _, refusal in _refused(body):
        if refusal.rule == "strict-lookaround":
            yield said("tools", refusal.message)


def _refused(body: Body) -> Iterator[tuple[str, Mapping[str, Any], Refusal]]:
    """Each fault of a strict function's schema, with the function's path."""
    for path, function in _functions(body):
        if function.get("strict") and isinstance(function.get("parameters"), dict):
            for refusal in strict_refusals(function["parameters"], "openai"):
                yield path, function, refusal


def _functions(body: Body) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, tool in enumerate(body.get("tools") or ()):
        if tool["type"] == "function":
            nested = "messages" in body
            yield f"tools[{index}]{'.function' if nested else ''}", tool["function"] if nested else tool


@rule("uncertain", "in the API's manner")
def choice_of_a_known_tool(body: Body) -> Iterator[Found]:
    """`tool_choice` is a word or an object that names a function among the tools."""
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        yield said("tool_choice", f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.")
    elif choice is not None and choice != "none" and choice != "auto" and not body.get("tools"):
        yield said("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
    elif isinstance(choice, dict) and choice.get("type") == "function":
        name = choice.get("name") or (choice.get("function") or {}).get("name")
        if name not in [function["name"] for _, function in _functions(body)]:
            yield said("tool_choice", f"Tool choice '{name}' not found in 'tools' parameter.")
    elif isinstance(choice, dict) and choice.get("type") in ("auto", "any", "tool", "none"):
        yield said("tool_choice", f"Invalid value: '{choice['type']}'.")


@rule("reported", "quoted in a report, 2025-04")
def parallel_only_with_tools(body: Body) -> Iterator[Found]:
    """`parallel_tool_calls` comes with `tools`."""
    if body.get("parallel_tool_calls") is not None and not body.get("tools") and "messages" in body:
        text = "'parallel_tool_calls' is only allowed when 'tools' are specified."
        yield said("parallel_tool_calls", f"Invalid value for 'parallel_tool_calls': {text}")


# Pairing.


@rule("reported", "reference 9.1: the API's own texts; which index is named is uncertain")
def chat_calls_and_results(body: Body) -> Iterator[Found]:
    """The messages right after calls are their results, one for each; results are nowhere else."""
    messages = body["messages"]
    open_ids: list[str] = []
    answered: dict[str, int] = {}
    for index, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            id = message["tool_call_id"]
            if id in answered:
                text = f"Duplicate value for 'tool_call_id' of '{id}', in messages[{answered[id]}] and "
                yield said(f"messages.[{index}].tool_call_id", f"Invalid parameter: {text}messages[{index}].")
            elif id not in open_ids:
                # The misspelling is the API's.
                text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                yield said(f"messages.[{index}].role", f"Invalid parameter: {text}")
            answered[id] = index
            continue
        if missing := [id for id in open_ids if id not in answered]:
            text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            text += "'tool_call_id'. The following tool_call_ids did not have response messages: "
            yield said(f"messages.[{index}].role", text + ", ".join(missing))
        open_ids, answered = [call["id"] for call in message.get("tool_calls") or ()], {}


@rule("reported", "reference 9.2: the API's own texts")
def responses_calls_and_outputs(body: Body) -> Iterator[Found]:
    """Every call among the items has an output, every output a call before it; they are paired by `call_id`."""
    items = body["input"] if isinstance(body.get("input"), list) else []
    outputs = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    called: set[str] = set()
    for item in items:
        if item.get("type") == "function_call":
            called.add(item["call_id"])
            if item["call_id"] not in outputs:
                yield said("input", f"No tool output found for function call {item['call_id']}.")
        elif item.get("type") == "function_call_output" and item["call_id"] not in called:
            yield said("input", f"No tool call found for function call output with call_id {item['call_id']}.")


_STRICT = (strict_in_subset, strict_without_lookaround)
_BOTH = (tools_shaped, parameters_are_an_object, *_STRICT, choice_of_a_known_tool)
CHAT_RULES: tuple[Rule, ...] = (
    *(model_named, chat_argument_known, room_for_an_answer, chat_messages_shaped, chat_id_length),
    *(*_BOTH, parallel_only_with_tools, chat_calls_and_results),
)
RESPONSES_RULES: tuple[Rule, ...] = (
    *(model_named, responses_parameter_known, room_for_an_answer, responses_input_shaped, *_BOTH),
    responses_calls_and_outputs,
)


def first_openai_violation(rules: tuple[Rule, ...], body: Body) -> Violation | None:
    """The first of these rules that a body breaks; later ones rely on the shape that earlier ones have checked."""
    for one in rules:
        for found in one.find(body):  # type: ignore[arg-type]
            return one.broken_by(found)
    return None

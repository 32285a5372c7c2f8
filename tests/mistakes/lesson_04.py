"""Answers to the exercises of lesson 04."""

import difflib
import functools
import json
import traceback
from typing import Any

import jsonschema

from course_kit import check_tool_input

WRITE = functools.partial(json.dumps, default=str)
TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


def checker(
    *,
    root: bool = True,
    first_only: bool = False,
    python_bool: bool = False,
    missing: bool = True,
    unknown: bool = True,
    minimum: bool = True,
    cut: bool = True,
    unquoted: bool = True,
    near: bool = True,
    repr_value: bool = False,
    hints: bool = True,
    options: bool = True,
    coerce: bool = False,
    whole: bool = True,
    always_closed: bool = False,
    expected: bool = True,
    missing_type: bool = False,
    quotes: bool = False,
    bare: bool = False,
    echo: bool = False,
    all_names: bool = False,
    null_is_empty: bool = False,
    nothing: str = "nothing",
):
    """The check by hand with one thing done wrong (or merely otherwise)."""

    def check_input(schema: Any, value: Any) -> list[dict[str, str]]:
        faults: list[dict[str, str]] = []

        def add(path: str, wanted: str, came: Any, hint: str) -> None:
            shown = nothing if came == "nothing" else repr(came) if repr_value else json.dumps(came)
            shown = shown[:90] if cut else shown
            faults.append({"path": path, "expected": wanted, "received": shown, "hint": hint if hints else ""})

        if null_is_empty and value is None:
            value = {}
        if root and not isinstance(value, dict):
            add("", "an object", value, "send an object")
            return faults
        fields = schema["properties"]
        for name in schema["required"] if missing else ():
            if name not in value:
                listed = "a value" if missing_type else fields[name].get("enum")
                add(name, json.dumps(fields[name].get("type") or listed), "nothing", f"add {name}")
        for name, came in list(value.items()):
            if name not in fields:
                close = difflib.get_close_matches(name, fields)
                if unknown and (always_closed or schema.get("additionalProperties") is False):
                    add(
                        name,
                        "no such field" if expected else "",
                        came,
                        f"send one of {', '.join(fields)}"
                        if all_names
                        else f"you mean {close[0]}"
                        if close and near
                        else "leave it out",
                    )
                continue
            rule = fields[name]
            kind = rule.get("type")
            if coerce and kind == "integer" and isinstance(came, str) and came.isdigit():
                value[name] = came = int(came)
            wrong = kind is not None and not isinstance(came, TYPES[kind])
            if whole and kind == "integer" and isinstance(came, float) and came == int(came):
                wrong = False
            if isinstance(came, bool) and kind != "boolean" and not python_bool:
                wrong = kind is not None
            if wrong:
                number = came.isdigit() or quotes if isinstance(came, str) else bare and isinstance(came, float)
                text = f"send {came} without quotes" if number and unquoted else f"send a {kind}"
                text = f"send a {kind}, not {came}" if echo and not (number and unquoted) else text
                add(name, f"a value of type {kind}", came, text)
            elif came not in rule.get("enum", [came]):
                add(name, f"one of {rule['enum']}" if options else "a listed value", came, "choose one")
            elif minimum and came is not True and came is not False and came < rule.get("minimum", came):
                add(name, f">= {rule['minimum']}", came, "send more")
        return faults[:1] if first_only else faults

    return check_input


def without_hints(schema, value):
    return [
        {**fault, "hint": fault["hint"] if fault["received"] == "nothing" else None}
        for fault in with_the_kit(schema, value)
    ]


def tells_twice(schema, value):
    return checker()(schema, value) * 2


def raises(schema, value):
    jsonschema.validate(value, schema)
    return []


def sentences(schema, value):
    return [problem.message for problem in check_tool_input(schema, value).problems]


def with_the_kit(schema, value):
    """A validator is against the rules of the exercise, but not wrong."""
    return [
        {
            "path": problem.path,
            "expected": problem.expected + problem.message,
            "received": problem.received.split("came")[0][:90] or "nothing"
            if not problem.path or problem.path not in value
            else json.dumps(value[problem.path], ensure_ascii=False)[:100],
            "hint": problem.hint or "see what is expected",
        }
        for problem in check_tool_input(schema, value).problems
    ]


def net(
    *,
    catch: type[BaseException] = Exception,
    flag: bool = True,
    trace: bool = False,
    kind: bool = True,
    listed: bool = True,
    write: Any = WRITE,
    outside: bool = False,
):
    """`answer` with one thing done wrong (or merely otherwise)."""

    def answer(block, tools):
        result = {"type": "tool_result", "tool_use_id": block["id"]}
        try:
            if block["name"] not in tools:
                names = ", ".join(sorted(tools)) if listed else "others"
                raise LookupError(f"no tool {block['name']}, only {names}")
            value = tools[block["name"]](**block["input"])
            content = "" if outside else write(value)
        except catch as error:
            said = traceback.format_exc() if trace else f"{type(error).__name__}: {error}" if kind else str(error)
            return {**result, "content": said, **({"is_error": True} if flag else {})}
        return {**result, "content": content or write(value)}

    return answer


def guard(answer: Any = None, *, before: bool = True, first_only: bool = False, says: bool = True):
    answer = answer or net()

    def guarded_answer(block, tools, schemas):
        ran = None if before else answer(block, tools)
        checked = check_tool_input(schemas.get(block["name"], {"type": "object"}), block["input"])
        if checked.ok:
            return ran or answer(block, tools)
        told = checked.problems[0].message if first_only else checked.text() if says else "invalid input"
        return {"type": "tool_result", "tool_use_id": block["id"], "content": told, "is_error": True}

    return guarded_answer


def dies(block, tools):
    return {
        "type": "tool_result",
        "tool_use_id": block["id"],
        "content": json.dumps(tools[block["name"]](**block["input"])),
    }


def drops(block, tools):
    try:
        return dies(block, tools)
    except Exception:
        return None


def under_its_name(block, tools):
    return {**net()(block, tools), "tool_use_id": block["name"]}


def nearest(block, tools):
    if block["name"] in tools:
        return net()(block, tools)
    [near] = difflib.get_close_matches(block["name"], tools, 1)
    said = f"there is no tool {block['name']}; you mean {near}"
    return {"type": "tool_result", "tool_use_id": block["id"], "content": said, "is_error": True}


def runs_twice(block, tools):
    """Asks first whether it works."""
    return net()(block, tools) if net()(block, tools).get("is_error") else net()(block, tools)


def looks_first(block, tools):
    """Another right net: known failures by name, the rest behind it."""
    result = {"type": "tool_result", "tool_use_id": block["id"]}
    function = tools.get(block["name"])
    if function is None:
        return {**result, "is_error": True, "content": f"Unknown tool {block['name']}. Tools: {sorted(tools)}"}
    try:
        value = function(**block["input"])
    except KeyError as error:
        return {
            **result,
            "is_error": True,
            "content": f"KeyError: there is no {error}. Check the number with the user.",
        }
    except Exception as error:
        return {**result, "is_error": True, "content": repr(error)}
    try:
        content = json.dumps(value, default=lambda other: other.isoformat(), ensure_ascii=False)
    except (TypeError, ValueError):
        return {**result, "is_error": True, "content": "The tool ran, and its answer cannot be written as JSON."}
    return {**result, "content": content, "is_error": False}


TEXTS = {
    "amount": "`amount` must be in cents: 24.50 is 2450",
    "last_day": "`last_day` must be DD.MM.YYYY",
    "kind": "`kind` must be one of birthday, apology, wedding",
    "share": "`share` is a fraction between 0 and 1",
}


def flags_in_quotes(block, tools):
    result = net()(block, tools)
    return {**result, "is_error": "true"} if result.get("is_error") else result


def empties_the_call(block, tools):
    result = net()(block, tools)
    block["input"] = {}
    return result


MISTAKES = {
    "4.1": {
        "returns nothing": (lambda schema, value: None, "return a list of dicts"),
        "raises": (raises, "ValidationError"),
        "sentences instead of parts": (sentences, "return a list of dicts"),
        "only the first fault": (checker(first_only=True), "is not told"),
        "true is an integer": (checker(python_bool=True), "With `true` for an integer"),
        "missing fields pass": (checker(missing=False), "With a missing field"),
        "unknown fields pass": (checker(unknown=False), "With a misspelt field"),
        "no near match": (checker(near=False), "`hint` should lead to"),
        "no bound": (checker(minimum=False), "With a number below the minimum"),
        "the value uncut": (checker(cut=False), "cut it at 100"),
        "Python's repr": (checker(repr_value=True), "as JSON"),
        "no text for a hint": (without_hints, "each fault needs a text for 'hint'"),
        "told twice": (tells_twice, "one fault is told twice"),
        "no hints": (checker(hints=False), "`hint` is empty"),
        "a hint that leads nowhere": (checker(unquoted=False), "`hint` should lead to"),
        "options not listed": (checker(options=False), "`expected` should say"),
        "the root not looked at": (checker(root=False), "list"),
        "5.0 is no integer": (checker(whole=False), "where nothing is wrong"),
        "every schema is closed": (checker(always_closed=True), "where `additionalProperties` is not said"),
        "nothing expected of an unknown field": (checker(expected=False), "`expected` is empty"),
        "a missing field without its list": (checker(missing_type=True), "With a missing field with a list"),
        "repaired on the quiet": (checker(coerce=True), "was changed"),
        "a word without quotes": (checker(quotes=True), "leads to no better value; it says 'send"),
        "a fraction without quotes": (checker(bare=True), "leads to no better value; it says 'send 9.5"),
        "a hint that repeats what came": (checker(echo=True), "`hint` has 50"),
        "all fields for a misspelt one": (checker(all_names=True), "leads to no better value"),
        "null is an empty object": (checker(null_is_empty=True), "With a null instead of an object"),
        "null where nothing came": (checker(nothing="null"), "`received` should show nothing; it says 'null'"),
    },
    "4.2": {
        "a flag in quotes": ((flags_in_quotes, guard(flags_in_quotes)), "`is_error` should be True"),
        "empties the call": (
            (empties_the_call, guard(empties_the_call)),
            "the call itself was changed, and it goes back to the model as it came",
        ),
        "one function": (net(), "Hand over two functions"),
        "still dies": ((dies, guard()), "raised KeyError"),
        "drops the result": ((drops, guard()), "should return a `tool_result` block"),
        "the name for the id": ((under_its_name, guard()), "`tool_use_id` must be the call's id"),
        "the value as it is": ((net(write=lambda value: value), guard()), "`content` must be a text"),
        "no flag": ((net(flag=False), guard()), "`is_error` should be True"),
        "a stack trace": ((net(trace=True), guard()), "a stack trace is for the log"),
        "the bare message": ((net(kind=False), guard()), "should name KeyError"),
        "names not listed": ((net(listed=False), guard()), "should name paid_for"),
        "the nearest name alone": ((nearest, guard(nearest)), "should name book_refund"),
        "run once to look": ((runs_twice, guard()), "the tool ran 2 times for one call"),
        "str of what is returned": ((net(write=str), guard()), "`content` should be the returned value as JSON"),
        "repr of what is returned": ((net(write=repr), guard()), "`content` should be the returned value as JSON"),
        "texts as they are": (
            (net(write=lambda value: value if isinstance(value, str) else json.dumps(value, default=str)), guard()),
            "as JSON, \"for Zoë\"; it is 'for Zoë'",
        ),
        "dates are errors": ((net(write=json.dumps), guard()), "with a tool that returns a date: `is_error` should be"),
        "JSON outside the try": ((net(outside=True), guard()), "returns what JSON cannot hold raised TypeError"),
        "JSON outside, dates too": ((net(outside=True, write=json.dumps), guard()), "returns a date raised TypeError"),
        "keys left out": (
            (net(write=functools.partial(WRITE, skipkeys=True)), guard()),
            "returns what JSON cannot hold: `is_error` should be True",
        ),
        "catches everything": ((net(catch=BaseException), guard()), "it was swallowed"),
        "runs, then checks": ((net(), guard(before=False)), "the tool ran although"),
        "no check": ((net(), lambda block, tools, schemas: net()(block, tools)), "the tool ran although"),
        "only the first fault": ((net(), guard(first_only=True)), "should name amount_cents"),
        "invalid input": ((net(), guard(says=False)), "should name order_id"),
    },
    "4.3": {
        "no dict": ("amount is in cents", "should be a dict of texts"),
        "one missing": ({**TEXTS, "share": ""}, "There is no text for 'share'"),
        "failed": (dict.fromkeys(TEXTS, "failed"), "0 of 10 unseen requests"),
        "fields named": ({name: f"`{name}` is invalid" for name in TEXTS}, "0 of 10 unseen requests"),
        "the type only": ({**TEXTS, "amount": "`amount` must be an integer"}, "5 of 10"),
        "a sample date": (
            {**TEXTS, "last_day": "`last_day` must look like 24.12.2026"},
            "The text names `last_day`, and the simulated rules found no other value in it",
        ),
        "an unknown wording": (
            {**TEXTS, "share": "share: divide the percentage by 100"},
            "its wording is unknown to them",
        ),
        "nothing is named": ({**TEXTS, "kind": "birthday, apology or wedding"}, "The text for `kind` does not name it"),
        "a wrong unit": ({**TEXTS, "amount": "`amount` must be in mills: 24.50 is 24500"}, "leads to a wrong value"),
        "another order of the date": ({**TEXTS, "last_day": "`last_day` must be MM.DD.YYYY"}, "leads to a wrong value"),
        "a whole manual": ({**TEXTS, "kind": TEXTS["kind"] + " Read on." * 20}, "150 are allowed"),
    },
}
VARIANTS = {
    "4.1": {
        "other words": checker(),
        "tuples": lambda schema, value: tuple(checker()(schema, value)),
        "the kit": with_the_kit,
    },
    "4.2": {
        "other words": (net(), guard()),
        "letters as they are": (net(write=functools.partial(WRITE, ensure_ascii=False, indent=1)), guard()),
        "known failures first": (looks_first, guard(looks_first)),
        "a list": [net(), guard()],
    },
    "4.3": {
        "plain": TEXTS,
        "other words": {
            "amount": "Send `amount` in cents. Example: 24.50 becomes 2450",
            "last_day": "`last_day`: write the date like DD.MM.YYYY",
            "kind": "`kind`: options are birthday, apology or wedding",
            "share": "`share` is a decimal: 15 becomes 0.15",
        },
    },
}

"""Checks of lesson 03: four keywords told in words, capitals repaired, business rules, a schema made acceptable."""

import copy
import random
import re
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.contract.schema import SchemaError, check_tool_input, conforms
from course_kit.contract.strict import strict_refusals, walk_schema
from course_kit.errors import Incorrect

__all__: list[str] = []

FOUR = ("minimum", "maximum", "multipleOf", "maxItems")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@exercise(
    "3.1",
    title="Four keywords, told in words",
    difficulty="medium",
    importance="core",
    minutes=25,
    hints=[
        "Two jobs: take the keyword out, and write its meaning at the end of `description`. Begin with a copy.",
        "A property may be *named* `minimum`. Walk `properties` by its values, and touch no key of it.",
        "Schemas occur in four places: the values of `properties` and `$defs`, the items of `anyOf`, and `items`.",
        "What is in `default`, `enum` or `const` is a value and no schema, even a dict with a `minimum` in it.",
        "Let the function call itself for each schema inside, and put the result back in the same place.",
    ],
)
class FourKeywords:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"3.1:{seed}")
        low, high, step, most = draw.randint(2, 9), draw.randint(50, 99), draw.randint(11, 19), draw.randint(20, 40)
        amount = {"type": "integer", "minimum": low, "description": "In cents: 19.99 is 1999."}
        stars = {"type": "integer", "minimum": low, "maximum": high, "multipleOf": step}
        limits = _closed(minimum={"type": "integer", "minimum": low}, maximum={"type": "string"})
        tags = {"type": "array", "items": {"type": "number", "maximum": high}, "maxItems": most}
        either = {"anyOf": [{"type": "integer", "maximum": high}, {"type": "null"}]}
        value = {"type": "object", "properties": {}, "additionalProperties": False, "default": {"minimum": low}}
        shared = _closed(price={"$ref": "#/$defs/price"}) | {"$defs": {"price": {"type": "number", "minimum": low}}}
        return [
            {"about": "one bound and a description", "schema": _closed(amount=amount)},
            {"about": "three bounds and no description", "schema": _closed(stars=stars)},
            {"about": "nothing to move", "schema": _closed(word={"type": "string", "enum": ["a", "b"], "title": "W"})},
            {"about": "properties that are named like keywords", "schema": limits},
            {"about": "a list of numbers", "schema": _closed(tags=tags)},
            {"about": "an object inside an object", "schema": _closed(inner=_closed(tags=tags, amount=amount))},
            {"about": "a bound inside anyOf", "schema": _closed(either=either)},
            {"about": "a bound inside $defs", "schema": shared},
            {"about": "a default that is a dict", "schema": _closed(value=value)},
            {"about": "other keywords", "schema": _others(low, high)},
            *[{"about": f"{keyword} alone", "schema": _same(keyword, 7), "alone": keyword} for keyword in FOUR],
        ]

    def observe(soften: Any, case: dict[str, Any]) -> Any:
        given = copy.deepcopy(case["schema"])
        seen = {"returned": soften(given), "given_after": given}
        if "alone" in case:
            seen["beside"] = {keyword: soften(_same(keyword, 7)) for keyword in ("minimum", "maximum", "multipleOf")}
        return seen

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, schema, made = case["about"], case["schema"], seen["returned"]
        if not isinstance(made, dict):
            raise Incorrect(f"With {about}, `soften` must return a schema, a dict; it returned {_short(made)}.")
        if seen["given_after"] != schema:
            raise Incorrect(f"With {about}, the schema you were given was changed. The check of inputs still needs it.")
        for path, node in walk_schema(made):
            left = [keyword for keyword in FOUR if isinstance(node, dict) and keyword in node]
            if left:
                raise Incorrect(f"With {about}, `{left[0]}` still stands at {_where(path)}.")
        if _bare(made) != _bare(_without(schema)):
            raise Incorrect(
                f"With {about}, something else changed, too. Without descriptions it should be "
                f"{_bare(_without(schema))}; it is {_bare(made)}."
            )
        places = dict(walk_schema(made))
        for path, node in ((path, node) for path, node in walk_schema(schema) if isinstance(node, dict)):
            before, after = node.get("description", ""), places[path].get("description", "")
            if not str(after).startswith(before):
                raise Incorrect(f"With {about}, the description {before!r} is lost: put yours after it.")
            added = str(after).removeprefix(before)
            for keyword in [keyword for keyword in FOUR if keyword in node]:
                if not re.search(rf"(?<![\d.]){node[keyword]}(?![\d.]*\d)", added):
                    raise Incorrect(
                        f"With {about}, the description at {_where(path)} should tell the {keyword} of "
                        f"{node[keyword]}; it says {_short(after)}."
                    )
            if added and not any(keyword in node for keyword in FOUR):
                raise Incorrect(f"With {about}, words were added at {_where(path)}, where nothing was taken out.")
            if before and added and not re.match(r"\W", added):
                raise Incorrect(
                    f"With {about}, your words stick to the old ones: {_short(after)}. Put a space between."
                )
        if "alone" in case:
            _judge_words(case["alone"], made, seen["beside"])


# Words that say the other direction, or a bound where there is none.
BACKWARDS = {
    "minimum": r"at most|up to|(no|not) (more|greater|larger|higher) than|maximum",
    "maximum": r"at least|(no|not) (less|fewer|smaller|lower) than|minimum",
    "multipleOf": r"at least|at most|minimum|maximum",
    "maxItems": r"at least|(no|not) (less|fewer) than|minimum|minItems",
}


def _judge_words(keyword: str, made: dict[str, Any], beside: dict[str, dict[str, Any]]) -> None:
    words = _words_of(made)
    for other, schema in beside.items():
        # A list has no maximum and a number no items, so "at most 7" may serve both.
        if other != keyword and _words_of(schema) == words and {keyword, other} != {"maximum", "maxItems"}:
            raise Incorrect(
                f"{keyword} 7 and {other} 7 get the same words, {words!r}: the model cannot tell which of them it is."
            )
    if wrong := re.search(BACKWARDS[keyword], words, re.IGNORECASE):
        raise Incorrect(f"{keyword} 7 is told as {words!r}: {wrong[0]!r} says something else.")


def _words_of(made: dict[str, Any]) -> Any:
    return made["properties"]["n"].get("description")


def _same(keyword: str, number: int) -> dict[str, Any]:
    kind: dict[str, Any] = (
        {"type": "array", "items": {"type": "string"}} if keyword == "maxItems" else {"type": "integer"}
    )
    return _closed(n={**kind, keyword: number})


def _others(low: int, high: int) -> dict[str, Any]:
    number = {"type": "number", "minimum": low, "exclusiveMaximum": high}
    words = {"type": "array", "items": {"type": "string", "maxLength": high}, "minItems": 2, "uniqueItems": True}
    return {"type": "object", "properties": {"number": number, "words": words}}


def _without(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the four keywords."""
    made = copy.deepcopy(schema)
    for _, node in walk_schema(made):
        for keyword in FOUR if isinstance(node, dict) else ():
            node.pop(keyword, None)
    return made


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its descriptions."""
    made = copy.deepcopy(schema)
    for _, node in walk_schema(made):
        if isinstance(node, dict):
            node.pop("description", None)
    return made


def _where(path: tuple[str, ...]) -> str:
    return "/".join(["#", *path])


@exercise(
    "3.2",
    title="Capitals, repaired in the open",
    difficulty="easy",
    importance="core",
    minutes=15,
    hints=[
        "For which fields is there anything to do? Those with an `enum` whose value is a string and not in it.",
        "`casefold()` on both sides, then compare. How many options may match before you dare to choose?",
        "Return two things: a new input, and a list of what you changed. An empty list means that nothing was changed.",
    ],
)
class Capitals:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"3.2:{seed}")
        options = draw.sample(["damaged", "Wrong Item", "parcel locker", "not_received"], 3)
        options.insert(draw.randint(0, 3), "left with neighbour")
        schema = {
            "type": "object",
            "properties": {
                "reason": {"type": "string", "enum": options},
                "unit": {"type": "string", "enum": ["m", "M", "kg"]},
                "level": {"enum": [1, 2, None, "high"]},
                "note": {"type": "string"},
            },
        }
        one = options[0]
        return [
            _repair("an exact value", schema, {"reason": one, "note": "Left With The Neighbour"}, {}),
            _repair("other capitals", schema, {"reason": one.upper(), "note": "As It Is"}, {"reason": one}),
            _repair(
                "a capital after a space", schema, {"reason": "left with Neighbour"}, {"reason": "left with neighbour"}
            ),
            _repair("a word that is not listed", schema, {"reason": "broken"}, {}),
            _repair("an option with a space around it", schema, {"reason": f" {one}"}, {}),
            _repair("two options that differ only by case, one of them exact", schema, {"unit": "M"}, {}),
            _repair("an option beside two that differ by case", schema, {"unit": "KG"}, {"unit": "kg"}),
            _repair("a number, a null and a word", schema, {"level": 2, "reason": None}, {}),
            _repair("a word among numbers", schema, {"level": "HIGH"}, {"level": "high"}),
            _repair("a text that looks like a listed number", schema, {"level": "2", "note": "none"}, {}),
            _repair("a text that looks like a listed null", schema, {"level": "NONE"}, {}),
            _repair("a field that the schema does not know", schema, {"colour": "RED"}, {}),
            _repair("two fields at once", schema, {"reason": one.upper(), "unit": "Kg"}, {"reason": one, "unit": "kg"}),
            _repair(
                "two options that both match",
                {"properties": {"size": {"enum": ["mm", "MM"]}}},
                {"size": "Mm"},
                {},
            ),
        ]

    def observe(repair: Any, case: dict[str, Any]) -> Any:
        given = copy.deepcopy(case["input"])
        returned = repair(case["schema"], given)
        return {"returned": list(returned) if isinstance(returned, tuple) else returned, "given_after": given}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, given, returned = case["about"], case["input"], seen["returned"]
        if not (isinstance(returned, list) and len(returned) == 2):
            raise Incorrect(
                f"With {about}, `repair` must return a pair, the input and the list of repairs; it returned "
                f"{_short(returned)}."
            )
        value, repairs = returned
        if seen["given_after"] != given:
            raise Incorrect(f"With {about}, the input you were given was changed. The log needs it as it came.")
        expected = {**given, **case["becomes"]}
        if value != expected:
            raise Incorrect(f"With {about}, {given} should become {expected}; it became {_short(value)}.")
        wanted = [[name, given[name], became] for name, became in case["becomes"].items()]
        if not isinstance(repairs, list) or sorted(map(repr, repairs)) != sorted(map(repr, wanted)):
            raise Incorrect(
                f"With {about}, the repairs should be {wanted} as (name, came, became); they are {repairs}."
            )


def _repair(about: str, schema: dict[str, Any], given: dict[str, Any], becomes: dict[str, Any]) -> dict[str, Any]:
    return {"about": about, "schema": schema, "input": given, "becomes": becomes}


@exercise(
    "3.3",
    title="The refund's business rules",
    difficulty="medium",
    importance="core",
    minutes=20,
    hints=[
        "Whose order is it? `shop.query_order` says it in `customer_id`, and raises when there is no such order.",
        "An order of somebody else and an order that does not exist: compare your two sentences letter by letter.",
        "What is left to refund is not what was paid. `query_order` has both numbers.",
        "Collect the objections in a list, and do not return after the first. Only a foreign order ends it at once.",
    ],
)
class BusinessRules:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"3.3:{seed}")
        more = draw.randint(1, 900)
        return [
            _rule("her own delivered order, in full", "CUS-1001", "ORD-20260917", 1999, []),
            _rule("one cent more than was paid", "CUS-1001", "ORD-20260917", 2000, [["1999"]]),
            _rule("an order that had a refund before", "CUS-1005", "ORD-20260910", 3198 + more, [["3198"]]),
            _rule("the whole rest of such an order", "CUS-1005", "ORD-20260910", 3198, []),
            _rule("an order that is on its way", "CUS-1003", "ORD-20260906", 100, [["shipped"]]),
            _rule(
                "an order that is on its way, and too much", "CUS-1003", "ORD-20260906", 90_000 + more, [["shipped"]]
            ),
            _rule("an order that is only paid", "CUS-1010", "ORD-20260920", 100, [["paid"]]),
            _rule("reason other without a note", "CUS-1001", "ORD-20260917", 500, [["note"]], reason="other"),
            _rule("reason other, a blank note", "CUS-1001", "ORD-20260917", 500, [["note"]], reason="other", note="  "),
            _rule("reason other with a note", "CUS-1001", "ORD-20260917", 500, [], reason="other", note="A late gift."),
            _rule("too much, no note", "CUS-1001", "ORD-20260917", 1999 + more, [["1999"], ["note"]], reason="other"),
            _rule("somebody else's order", "CUS-1001", "ORD-20260910", 1999 + more, None),
            _rule("somebody else's order that is on its way", "CUS-1001", "ORD-20260906", 100, None, reason="other"),
        ]

    def observe(objections: Any, case: dict[str, Any]) -> Any:
        import tempfile
        from pathlib import Path

        from course_kit.shop import open_shop

        with tempfile.TemporaryDirectory(prefix="course-check-", ignore_cleanup_errors=True) as folder:
            shop = open_shop(Path(folder) / "shop.sqlite3")
            before = shop.ledger()
            given = dict(case["input"])
            said = objections(given, case["customer_id"], shop)
            unknown = None
            if case["foreign"]:
                unknown = objections({**case["input"], "order_id": "ORD-99999999"}, case["customer_id"], shop)
            changed = given != case["input"]
            return {"returned": said, "unknown": unknown, "paid": shop.ledger() != before, "changed": changed}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, said = case["about"], seen["returned"]
        if not isinstance(said, list) or not all(isinstance(sentence, str) and sentence.strip() for sentence in said):
            raise Incorrect(f"With {about}, `objections` must return a list of sentences; it returned {_short(said)}.")
        if seen["paid"]:
            raise Incorrect(f"With {about}, money was paid. This function only looks; it refunds nothing.")
        if seen["changed"]:
            raise Incorrect(f"With {about}, the input you were given was changed, and it is still to be paid.")
        if case["wanted"] is None:
            _judge_foreign(case, said, seen["unknown"])
            return
        if len(said) != len(case["wanted"]):
            raise Incorrect(
                f"With {about}, there should be {len(case['wanted'])} objection(s); there are {len(said)}: "
                f"{_short(said)}."
            )
        for words in case["wanted"]:
            if not any(all(word in sentence for word in words) for sentence in said):
                raise Incorrect(
                    f"With {about}, an objection should name {' and '.join(words)}; they say {_short(said)}."
                )


def _judge_foreign(case: dict[str, Any], said: list[str], unknown: Any) -> None:
    about, order_id = case["about"], case["input"]["order_id"]
    if len(said) != 1:
        raise Incorrect(
            f"With {about}, there should be one objection and nothing about the order; there are {len(said)}: "
            f"{_short(said)}."
        )
    if not isinstance(unknown, list) or len(unknown) != 1 or not isinstance(unknown[0], str):
        raise Incorrect(
            f"With an order that does not exist, there should be one objection; it returned {_short(unknown)}."
        )
    if said[0].replace(order_id, "X") != unknown[0].replace("ORD-99999999", "X"):
        raise Incorrect(
            f"With {about}, you say {said[0]!r}, and of an order that does not exist {unknown[0]!r}. From the "
            "difference anyone can learn which orders exist: say the same."
        )


def _rule(
    about: str, customer_id: str, order_id: str, cents: int, wanted: list[list[str]] | None, **more: Any
) -> dict[str, Any]:
    call = {"order_id": order_id, "amount_cents": cents, "reason": "damaged", **more}
    return {"about": about, "customer_id": customer_id, "input": call, "foreign": wanted is None, "wanted": wanted}


# The definition of exercise 3.4, as a server sends it. It also stands in the exercise's notebook.
LOG_WORK = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "issue": {"type": "integer", "minimum": 1, "description": "The issue's number."},
        "state": {"type": ["string", "null"], "enum": ["open", "closed", None]},
        "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": True},
        "where": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "line": {"type": "integer", "minimum": 1}},
            "required": ["file"],
        },
        "hours": {
            "type": "object",
            "additionalProperties": {"type": "number", "exclusiveMinimum": 0, "maximum": 24},
            "description": "Hours worked, by person.",
        },
    },
    "required": ["issue"],
}


@exercise(
    "3.4",
    title="A refused schema made acceptable",
    difficulty="hard",
    importance="useful",
    minutes=25,
    hints=[
        "`strict_table(LOG_WORK)` says which field is yours to decide. Begin with a copy in which only that differs.",
        "The new `hours`: an array of closed objects, each with `person` and `hours`. `to_strict` does the rest.",
        "`read_input` puts `hours` back into the old form, then lets the original schema judge the whole.",
        "What does a dict do when the same person comes twice? Nobody will complain unless you do.",
    ],
)
class MadeAcceptable:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"3.4:{seed}")
        number, more = draw.randint(2, 400), draw.randint(25, 60)
        ada, bo = {"person": "Ada", "hours": 2.5}, {"person": "Bo", "hours": draw.randint(1, 8)}
        return [
            {"about": "the schema itself"},
            {"about": "the issue alone", "sent": {"issue": number}, "value": {"issue": number}},
            {
                "about": "every field",
                "sent": {
                    "issue": number,
                    "state": "open",
                    "labels": ["a", "b"],
                    "where": {"file": "x.py", "line": 3},
                    "hours": [ada, bo],
                },
                "value": {
                    "issue": number,
                    "state": "open",
                    "labels": ["a", "b"],
                    "where": {"file": "x.py", "line": 3},
                    "hours": {"Ada": 2.5, "Bo": bo["hours"]},
                },
            },
            {
                "about": "a null state, no line, no hours",
                "sent": {"issue": 1, "state": None, "where": {"file": "x.py"}, "hours": []},
                "value": {"issue": 1, "state": None, "where": {"file": "x.py"}, "hours": {}},
            },
            {
                "about": "a closed issue",
                "sent": {"issue": number, "state": "closed"},
                "value": {"issue": number, "state": "closed"},
            },
            {"about": "issue 0", "sent": {"issue": 0}},
            {"about": "four labels", "sent": {"issue": number, "labels": ["a", "b", "c", "d"]}},
            {"about": "a label twice", "sent": {"issue": number, "labels": ["a", "a"]}},
            {"about": "line 0", "sent": {"issue": number, "where": {"file": "x.py", "line": 0}}},
            {"about": "a state that is not listed", "sent": {"issue": number, "state": "done"}},
            {"about": "more than a day", "sent": {"issue": number, "hours": [{"person": "Ada", "hours": more}]}},
            {
                "about": "a person who comes twice",
                "sent": {"issue": number, "hours": [ada, {**ada, "hours": 1}]},
                "summed": {"issue": number, "hours": {"Ada": 3.5}},
            },
            {
                "about": "a person who comes twice, with more than a day in all",
                "sent": {"issue": number, "hours": [{**ada, "hours": 20}, {**ada, "hours": 20}]},
            },
        ]

    def observe(answer: Any, case: dict[str, Any]) -> Any:
        if not (isinstance(answer, list | tuple) and len(answer) == 2 and callable(answer[1])):
            return {"pair": False, "returned": "no pair"}
        schema, read_input = answer
        seen: dict[str, Any] = {"pair": True, "schema": schema, "returned": "nothing"}
        if "sent" in case:
            given = copy.deepcopy(case["sent"])
            returned = read_input(given)
            seen |= {"returned": list(returned) if isinstance(returned, tuple) else returned}
            seen["untouched"] = given == case["sent"]
        return seen

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, schema = case["about"], seen.get("schema")
        if not seen["pair"]:
            raise Incorrect('Give the check a pair: `check("3.4", (STRICT_SCHEMA, read_input))`.')
        if not isinstance(schema, dict):
            raise Incorrect(f"`STRICT_SCHEMA` should be a schema, a dict; it is {_short(schema)}.")
        refused = [refusal.message for refusal in strict_refusals(schema)]
        if schema.get("type") != "object":
            refused.append('input_schema.type: the root of a tool\'s schema is "object"')
        if refused:
            raise Incorrect(f"The API refuses `STRICT_SCHEMA`: {refused[0]}")
        try:
            conforms(schema, {})
        except SchemaError as error:
            raise Incorrect(f"`STRICT_SCHEMA` is not a schema: {error}") from None
        if "sent" not in case:
            return
        sent, returned = case["sent"], seen["returned"]
        if not (isinstance(returned, list) and len(returned) == 2 and isinstance(returned[1], list)):
            raise Incorrect(
                f"With {about}, `read_input` must return a pair, the value and a list of problems; it returned "
                f"{_short(returned)}."
            )
        if not seen["untouched"]:
            raise Incorrect(f"With {about}, the input you were given was changed.")
        value, problems = returned
        if "value" in case:
            if not conforms(schema, sent):
                found = check_tool_input(schema, sent).problems[0].message
                raise Incorrect(f"With {about}, your schema shuts out a good input, {_short(sent)}: {found}")
            if problems:
                raise Incorrect(f"With {about}, the input is good, and you found {_short(problems)}.")
            if value != case["value"]:
                raise Incorrect(f"With {about}, the value should be {case['value']}; it is {_short(value)}.")
        elif conforms(schema, sent) and not problems and not ("summed" in case and value == case["summed"]):
            if "summed" in case:
                raise Incorrect(
                    f"With {about}, hours are lost: {sent['hours']} became {_short(value)}, with no problem."
                )
            raise Incorrect(f"With {about}, nothing complains: neither your schema nor `read_input`. A check is lost.")

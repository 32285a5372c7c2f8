"""Answers to the exercises of lesson 03."""

import copy
import json
from typing import Any

from course_kit.classroom.exercises.lesson_03 import LOG_WORK
from course_kit.contract.schema import check_tool_input
from course_kit.contract.strict_transform import to_strict
from course_kit.errors import ToolError

FOUR = ("minimum", "maximum", "multipleOf", "maxItems")


# 3.1


def words_of(keyword: str, value: Any) -> str:
    return {"minimum": f"At least {value}.", "maximum": f"At most {value}."}.get(keyword, f"{keyword}: {value}.")


def walker(
    *,
    tell: bool = True,
    keep_old: bool = True,
    into: tuple[str, ...] = ("properties", "$defs", "anyOf", "items"),
    space: str = " ",
    words: Any = words_of,
    drop: tuple[str, ...] = (),
    everywhere: str = "",
):
    """The transformer with one thing done wrong (or merely otherwise)."""

    def soften(schema):
        made, told = {}, []
        for keyword, value in schema.items():
            if keyword in FOUR:
                told.append(words(keyword, value))
            elif keyword in drop:
                continue
            elif keyword in into and keyword in ("properties", "$defs"):
                made[keyword] = {name: soften(inner) for name, inner in value.items()}
            elif keyword in into and keyword == "anyOf":
                made[keyword] = [soften(inner) for inner in value]
            elif keyword in into and keyword == "items":
                made[keyword] = soften(value)
            else:
                made[keyword] = value
        told += [everywhere] if everywhere and not told else []
        if told and tell:
            before = made.get("description", "") if keep_old else ""
            made["description"] = before + (space if before else "") + " ".join(told)
        return made

    return soften


def in_place(schema):
    for keyword in FOUR:
        if keyword in schema:
            told = f"{schema.get('description', '')} {keyword}: {schema.pop(keyword)}."
            schema["description"] = told.strip()
    for inner in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
        in_place(inner)
    if "items" in schema:
        in_place(schema["items"])
    return schema


def on_a_copy(schema):
    """Right, by changing a copy."""
    return in_place(copy.deepcopy(schema))


def eats_every_key(schema):
    """Takes every key with such a name, wherever it stands."""
    if isinstance(schema, list):
        return [eats_every_key(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: eats_every_key(value) for key, value in schema.items() if key not in FOUR}
    told = [words_of(key, schema[key]) for key in FOUR if key in schema]
    if told:
        made["description"] = " ".join([str(made.get("description", "")), *told]).strip()
    return made


def returns_nothing(*arguments):
    return None


def with_what_it_took(schema):
    return walker()(schema), list(FOUR)


def as_the_sdk(schema):
    """Right, in the SDK's form."""
    return walker(words=lambda keyword, value: f"{{{keyword}: {value}}}", space="\n\n")(schema)


# 3.2


def repairer(*, fold=str.casefold, once: bool = True, report: bool = True, exact: bool = True, strip: bool = False):
    def repair(schema, input):
        value, repairs = dict(input), []
        for name, came in input.items():
            options = schema.get("properties", {}).get(name, {}).get("enum", [])
            if not isinstance(came, str) or (exact and came in options):
                continue
            sought = came.strip() if strip else came
            close = [one for one in options if isinstance(one, str) and fold(one) == fold(sought)]
            if close and (len(close) == 1 or not once):
                value[name] = close[0]
                repairs.append((name, came, close[0]))
        return (value, repairs) if report else value

    return repair


def repairs_in_place(schema, input):
    value, repairs = repairer()(schema, input)
    input.update(value)
    return input, repairs


def lowers_everything(schema, input):
    value = {name: came.lower() if isinstance(came, str) else came for name, came in input.items()}
    return value, [(name, input[name], value[name]) for name in input if input[name] != value[name]]


def needs_every_field(schema, input):
    value, repairs = {}, []
    for name, field in schema["properties"].items():
        value[name] = input[name]
        for option in field.get("enum", []):
            if isinstance(option, str) and option.casefold() == input[name].casefold() and option != input[name]:
                value[name] = option
                repairs.append((name, input[name], option))
    return value, repairs


def with_a_table(schema, input):
    """Right, with a table of folded spellings."""
    repairs = []
    for name, came in input.items():
        listed = [one for one in schema["properties"].get(name, {}).get("enum", ()) if isinstance(one, str)]
        folded: dict[str, list[str]] = {}
        for one in listed:
            folded.setdefault(one.lower(), []).append(one)
        if isinstance(came, str) and came not in listed and len(folded.get(came.lower(), [])) == 1:
            repairs.append([name, came, folded[came.lower()][0]])
    return {**input, **{name: became for name, _, became in repairs}}, repairs


# 3.3


def ruler(
    *,
    whose: bool = True,
    same: bool = True,
    status: bool = True,
    left: Any = lambda order: order["paid_cents"] - order["refunded_cents"],
    boundary: int = 0,
    note: Any = lambda input: input.get("note", "").strip(),
    all_at_once: bool = True,
    early: bool = True,
    named: bool = True,
    unknown: Any = None,
    twice: bool = False,
):
    def objections(input, customer_id, shop):
        try:
            order = shop.query_order(input["order_id"])
        except ToolError as error:
            return unknown or [f"{input['order_id']} is no order of this customer." if same else str(error)]
        said = []
        if whose and order["customer_id"] != customer_id:
            said.append(
                f"{input['order_id']} is no order of this customer."
                if same
                else f"{input['order_id']} belongs to {order['customer']}."
            )
            if early:
                return said
        if status and order["status"] != "delivered":
            said.append(f"The order is {order['status']}, not delivered.")
        if (twice or not said) and input["amount_cents"] + boundary > left(order):
            said.append(f"Only {left(order)} cents are left." if named else "That is too much.")
        if input["reason"] == "other" and not note(input):
            said.append("The reason other needs a note.")
        return said if all_at_once else said[:1]

    return objections


def pays(input, customer_id, shop):
    try:
        shop.for_customer(customer_id).refund_order(**input)
    except ToolError as error:
        return [str(error)]
    return []


def with_the_customers_shop(input, customer_id, shop):
    """Right, by way of the shop that one customer may see."""
    try:
        order = shop.for_customer(customer_id).query_order(input["order_id"])
    except ToolError:
        return ["This customer has no such order."]
    checks = {
        f"It is {order['status']}.": order["status"] != "delivered",
        f"At most {order['refundable_cents']} cents.": order["status"] == "delivered"
        and input["amount_cents"] > order["refundable_cents"],
        "A note is missing.": input["reason"] == "other" and not (input.get("note") or "").strip(),
    }
    return [sentence for sentence, holds in checks.items() if holds]


# 3.4

HOURS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"person": {"type": "string"}, "hours": {"type": "number"}},
        "required": ["person", "hours"],
        "additionalProperties": False,
    },
}


def with_hours(hours: dict[str, Any]) -> dict[str, Any]:
    return {**LOG_WORK, "properties": {**LOG_WORK["properties"], "hours": hours}}


STRICT = to_strict(with_hours(HOURS)).schema
BY_HAND = {
    "type": "object",
    "properties": {
        "issue": {"type": "integer", "description": "The issue's number, at least 1."},
        "state": {"anyOf": [{"type": "string", "enum": ["open", "closed"]}, {"type": "null"}]},
        "labels": {"type": "array", "items": {"type": "string"}, "description": "At most three, none twice."},
        "where": {
            "type": "object",
            "properties": {"file": {"type": "string"}, "line": {"type": "integer"}},
            "required": ["file"],
            "additionalProperties": False,
        },
        "hours": HOURS,
    },
    "required": ["issue"],
    "additionalProperties": False,
}


def reader(
    *, check: Any = LOG_WORK, twice: bool = True, always: bool = False, report: bool = True, in_place: bool = False
):
    def read_input(input):
        value, problems = input if in_place else dict(input), []
        entries = input.get("hours", [])
        if "hours" in input or always:
            value["hours"] = {entry["person"]: entry["hours"] for entry in entries}
            if twice and len(value["hours"]) < len(entries):
                problems.append("A person comes twice.")
        if check is not None:
            problems += [problem.message for problem in check_tool_input(check, value).problems]
        return (value, problems) if report else value

    return read_input


def summed(*, check_first: bool = False):
    """Right, when the sum is made before the check."""

    def read_input(input):
        value = dict(input)
        if "hours" in input:
            value["hours"] = {}
            for entry in input["hours"]:
                value["hours"][entry["person"]] = value["hours"].get(entry["person"], 0) + entry["hours"]
        if not check_first:
            return value, [problem.message for problem in check_tool_input(LOG_WORK, value).problems]
        once = {**value, "hours": {entry["person"]: entry["hours"] for entry in input.get("hours", [])}}
        return value, [problem.message for problem in check_tool_input(LOG_WORK, once).problems]

    return read_input


def checks_what_was_sent(input):
    return input, [problem.message for problem in check_tool_input(STRICT, input).problems]


def checks_too_early(input):
    """Holds what was sent against the original, which wants another shape of the hours."""
    return reader(check=None)(input)[0], [problem.message for problem in check_tool_input(LOG_WORK, input).problems]


def by_hand(input):
    """Right, with rules of its own."""
    problems, value = [], {name: part for name, part in input.items() if name != "hours"}
    if input["issue"] < 1 or (input.get("where") or {}).get("line", 1) < 1:
        problems.append("issue and line begin at 1")
    labels = input.get("labels", [])
    if len(labels) > 3 or len(set(labels)) < len(labels):
        problems.append("labels: at most three, none twice")
    for entry in input.get("hours", []):
        if entry["person"] in value.setdefault("hours", {}) or not 0 < entry["hours"] <= 24:
            problems.append(f"hours of {entry['person']}: once, and at most 24")
        value["hours"][entry["person"]] = entry["hours"]
    if "hours" in input:
        value.setdefault("hours", {})
    return value, problems


def takes_texts_for_numbers(schema, input):
    """`"2"` becomes 2, and `"none"` None: the options are compared as texts."""
    value, repairs = repairer()(schema, input)
    for name, came in input.items():
        options = schema["properties"].get(name, {}).get("enum", [])
        close = [one for one in options if str(one).casefold() == str(came).casefold()]
        if came not in options and value[name] == came and len(close) == 1:
            value[name] = close[0]
            repairs.append((name, came, close[0]))
    return value, repairs


def empties_the_input(input, customer_id, shop):
    said = ruler()(input, customer_id, shop)
    input.clear()
    return said


def with_state(state):
    return {**STRICT, "properties": {**STRICT["properties"], "state": state}}


MISTAKES = {
    "3.1": {
        "forgot to return": (returns_nothing, "is a `return` missing?"),
        "schema and list": (with_what_it_took, "`soften` must return a schema, a dict; it returned [{"),
        "words at every place": (walker(everywhere="Checked."), "words were added at"),
        "changes what it was given": (in_place, "the schema you were given was changed"),
        "takes them out and says nothing": (walker(tell=False), "should tell the minimum of"),
        "the old description is lost": (walker(keep_old=False), "is lost: put yours after it"),
        "only the first level": (walker(into=("properties",)), "`maximum` still stands at #/properties/tags/items"),
        "not into anyOf": (walker(into=("properties", "$defs", "items")), "a bound inside anyOf"),
        "not into $defs": (walker(into=("properties", "anyOf", "items")), "a bound inside $defs"),
        "eats a property of that name": (eats_every_key, "properties that are named like keywords"),
        "the words stick together": (walker(space=""), "stick to the old ones"),
        "a number without its meaning": (walker(words=lambda keyword, value: f"({value})"), "get the same words"),
        "at least, for a step": (
            walker(words=lambda keyword, value: f"At {'most' if keyword.startswith('max') else 'least'} {value}."),
            "get the same words",
        ),
        "the wrong way round": (
            walker(words=lambda keyword, value: words_of({"minimum": "maximum"}.get(keyword, "minimum"), value)),
            "says something else",
        ),
        "all that strict mode asks for": (lambda schema: to_strict(schema).schema, "other keywords"),
        "drops the title, too": (walker(drop=("title",)), "something else changed, too"),
        "eats a default": (
            lambda schema: walker(into=("properties", "$defs", "anyOf", "items"), drop=("default",))(schema),
            "a default that is a dict",
        ),
    },
    "3.2": {
        "options as texts": (takes_texts_for_numbers, "With a text that looks like a listed number, {'level': '2'"),
        "forgot to return": (returns_nothing, "is a `return` missing?"),
        "only the input": (repairer(report=False), "must return a pair"),
        "changes what it was given": (repairs_in_place, "the input you were given was changed"),
        "no folding": (repairer(fold=str), "other capitals"),
        "the first of two": (repairer(once=False), "two options that both match"),
        "an exact value is repaired, too": (repairer(exact=False), "the repairs should be []"),
        "strips": (repairer(strip=True), "a space around it"),
        "small letters everywhere": (lowers_everything, "should become"),
        "needs every field": (needs_every_field, "raised KeyError"),
    },
    "3.3": {
        "two objections to a parcel on its way": (
            ruler(twice=True),
            "With an order that is on its way, and too much, there should be 1 objection(s); there are 2",
        ),
        "empties the input": (empties_the_input, "the input you were given was changed, and it is still to be paid"),
        "forgot to return": (returns_nothing, "is a `return` missing?"),
        "one text": (lambda input, customer_id, shop: "No.", "must return a list of sentences; it returned 'No.'"),
        "nothing said of an unknown order": (
            ruler(unknown="No such order."),
            "With an order that does not exist, there should be one objection",
        ),
        "no number": (ruler(named=False), "an objection should name"),
        "pays": (pays, "money was paid"),
        "nobody asks whose": (ruler(whose=False), "somebody else's order"),
        "the owner is named": (ruler(same=False), "anyone can learn which orders exist"),
        "goes on about a foreign order": (ruler(early=False), "nothing about the order"),
        "what was paid, not what is left": (ruler(left=lambda order: order["paid_cents"]), "a refund before"),
        "less than what is left": (ruler(boundary=1), "in full"),
        "any status": (ruler(status=False), "on its way"),
        "a blank note will do": (ruler(note=lambda input: input.get("note")), "a blank note"),
        "one objection at a time": (ruler(all_at_once=False), "there should be 2 objection(s)"),
    },
    "3.4": {
        "nothing can be closed": (
            (with_state({"enum": ["open", None]}), reader()),
            "With a closed issue, your schema shuts out a good input",
        ),
        "a type that is none": ((with_state({"type": "text"}), reader()), "`STRICT_SCHEMA` is not a schema"),
        "no pair": (STRICT, "Give the check a pair"),
        "the schema as text": ((json.dumps(STRICT), reader()), "`STRICT_SCHEMA` should be a schema, a dict"),
        "changes what it was given": ((STRICT, reader(in_place=True)), "the input you were given was changed"),
        "checked too early": ((STRICT, checks_too_early), "the input is good, and you found"),
        "the original": ((LOG_WORK, reader()), "The API refuses `STRICT_SCHEMA`"),
        "hours became an empty object": (
            (
                to_strict(with_hours({"type": "object", "properties": {}, "additionalProperties": False})).schema,
                reader(),
            ),
            "shuts out a good input",
        ),
        "strict as the only check": ((STRICT, reader(check=None)), "A check is lost"),
        "checked with what was sent": ((STRICT, checks_what_was_sent), "the value should be"),
        "the same person twice": ((STRICT, reader(twice=False)), "hours are lost"),
        "summed after the check": ((STRICT, summed(check_first=True)), "more than a day in all"),
        "hours where there were none": ((STRICT, reader(always=True)), "the value should be"),
        "only the value": ((STRICT, reader(report=False)), "must return a pair"),
        "everything required": (
            ({**BY_HAND, "required": list(BY_HAND["properties"])}, reader()),
            "shuts out a good input",
        ),
    },
}

VARIANTS = {
    "3.1": {"plain": walker(), "on a copy": on_a_copy, "as the SDK writes it": as_the_sdk},
    "3.2": {
        "in lists": lambda schema, input: list(repairer()(schema, input)),
        "plain": repairer(),
        "with a table": with_a_table,
        "lower instead of casefold": repairer(fold=str.lower),
    },
    "3.3": {
        "a tuple": lambda input, customer_id, shop: tuple(ruler()(input, customer_id, shop)),
        "plain": ruler(),
        "with the customer's shop": with_the_customers_shop,
    },
    "3.4": {
        "rewritten": (STRICT, reader()),
        "by hand": (BY_HAND, by_hand),
        "by hand, read so": (BY_HAND, reader()),
        "summed": (STRICT, summed()),
    },
}

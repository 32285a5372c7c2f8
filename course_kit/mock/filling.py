"""A value that fits a schema: written as the definition wants it, or made up where the conversation holds none.

`as_wanted` puts what was said into the unit and format that a definition states. `fill` makes up what is missing, as
a provider that samples under a grammar does: from `examples`, `default`, `enum`, or by the schema's own rules.
Which input gets which part of the conversation is decided in `simulated.py`.
"""

import math
import random
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from course_kit.contract.schema import SchemaError, conforms, schema_problem

from .spans import Span

__all__ = ["as_wanted", "day_of", "fill", "fits", "glosses", "merged", "options", "type_of"]

TRIES = 8  # complete values to try, each with other branches of a union
DEEPEST = 30  # levels of one value
ROOM = 2_000  # parts of one value: a schema that requires itself for ever ends here
LONGEST = 10_000  # characters, or items; nobody needs more
FORMATS = {
    "date": "2026-09-20",
    "time": "09:00:00Z",
    "date-time": "2026-09-20T09:00:00Z",
    "duration": "P1D",
    "email": "someone@example.com",
    "hostname": "example.com",
    "uri": "https://example.com/",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
NOTHING = object()


def fits(schema: Any, value: Any, root: Any = None) -> bool:
    """Whether the value fits; a broken schema fits nothing. References point into `root`."""
    if isinstance(root, Mapping) and isinstance(schema, Mapping) and root is not schema:
        schema = {**{key: root[key] for key in ("$defs", "definitions") if key in root}, **schema}
    try:
        return conforms(schema, value)
    except SchemaError:
        return False


# What was said, as the definition wants it.


def options(node: Mapping[str, Any]) -> list[Any]:
    """Values that a schema lists, or its description: `such as "asc" or "desc"`, `one of damaged, other`."""
    if listed := node.get("enum") or (node.get("items") or {}).get("enum"):
        return [option for option in listed if option is not None]
    said = node.get("description", "")
    found = re.findall(r"['\"‘“`]([^'\"’”`]{1,30})['\"’”`]", said)
    for run in re.findall(r"(?:one of|e\.g\.?,?|such as|like|options:?|options are|including)[: ]+([^.;()]+)", said):
        found += [part.strip(" '\"`[]") for part in re.split(r",|\bor\b|\band\b|/", run)]
    return [option for option in found if option and option != "etc"]


# An option and what it means: `damaged (broken)`, `C: Celsius`, `shipped 已发货`; looks ahead, so none hides the next.
GLOSS = re.compile(
    r"(?<![\w-])([\w-]+)(?=['\"`]?\s*(?:[(（]([^)）]+)|(?:[:=–—]|means\b|is\b|for\b)([^,.;，。；()（）]+)|([一-鿿]+)))",
    re.ASCII,
)


def glosses(node: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """What a description says of its options: `damaged (broken or torn)` → `("damaged", "broken")` and so on."""
    named = {str(option): option for option in options(node)} if "enum" in node or "items" in node else {}
    for match in GLOSS.finditer(node.get("description", "")) if named else ():
        told = match[2] or match[3] or match[4]
        for part in re.split(r"[,;，；、/]|或|\bor\b", told) if match[1] in named else ():
            yield named[match[1]], part.strip()


def as_wanted(span: Span, name: str, node: Mapping[str, Any], today: date | None = None) -> Any:
    """A span as the input takes it: 19.99 is 1999 where cents are stated, a date is in the stated format."""
    item = node["items"] if node["type"] == "array" else node
    said = f"{name.replace('_', ' ')} {node.get('description', '')} {node.get('format', '')}"
    if span.kind == "list":
        return list(span.value)
    if span.kind == "date":
        value: Any = _in_format(span.value, said, today)
    elif span.kind == "number" and item["type"] != "string":
        value = _in_unit(span, said)
        value = int(value) if item["type"] == "integer" and value == int(value) else value
    else:
        value = str(span.value)
        # "order 20260917" for ids like ORD-20260917
        for prefix in re.findall(r"\b([A-Z]{2,}-)(?=\d|\[|\\d)", f"{node.get('pattern', '')} {said}"):
            if value.isdigit() and "pattern" in node and fits(item, prefix + value):
                value = prefix + value
    return [value] if node["type"] == "array" else value


def _in_unit(span: Span, said: str) -> int | float:
    cents = re.search(r"\bcents\b|minor unit|分为单位", said, re.IGNORECASE)
    if cents and span.unit.startswith("cent"):
        return span.value
    figure = r"(?<![\d.,])(\d[\d,]*(?:\.\d+)?)"
    if example := re.search(rf"{figure} (?:is|becomes|means|→|=>?|->) {figure}", said):
        shown, meant = (float(written.replace(",", "")) for written in example.groups())
        return round(span.value * meant / shown, 6) if shown else span.value
    if cents:
        return round(span.value * 100, 6)
    if span.unit == "%" and re.search(r"decimal|fraction|between 0 and 1|\b0\.\d", said):
        return round(span.value / 100, 6)
    return span.value


def _in_format(written: str, said: str, today: date | None) -> str:
    stated = re.search(r"\b(?:YYYY|DD|MM)([-/.])(?:MM|DD)\1(?:YYYY|DD)\b", said, re.IGNORECASE)
    day = day_of(written, today)
    if day is None or not (stated or re.search(r"ISO|date-time|\bdate$|\d{4}-\d\d-\d\d", said)):
        return written
    shape = stated[0].upper() if stated else "YYYY-MM-DD"
    shown = shape.replace("YYYY", f"{day.year}").replace("MM", f"{day.month:02}").replace("DD", f"{day.day:02}")
    return shown + ("T00:00:00Z" if re.search(r"date-time|T\d\d:\d\d", said) else "")


def day_of(written: str, today: date | None = None) -> date | None:
    """The day that is meant: "May 12, 2022" by itself, "next Wednesday" only where today is known."""
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)|\bof |[.,]", "", written).strip()
    for shape in ("%Y-%m-%d", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%m/%d/%Y", "%d/%m/%Y"):
        try:
            return datetime.strptime(plain[:10] if shape == "%Y-%m-%d" else plain, shape).date()
        except ValueError:
            continue
    lower = written.lower()
    for names, days in (("today 今天", 0), ("tomorrow 明天", 1), ("yesterday 昨天", -1)):
        if today and lower in names.split():
            return today + timedelta(days)
    for number, names in enumerate(("mon 一", "tues 二", "wednes 三", "thurs 四", "fri 五", "satur 六", "sun 日天")):
        english, chinese = names.split()
        if today and (f"{english}day" in lower or (re.search("周|星期", lower) and lower[-1] in chinese)):
            return today + timedelta((number - today.weekday() - 1) % 7 + 1)
    return None


# A value where nothing was said.


def fill(schema: Any, given: Any = NOTHING, *, seed: object = 0) -> Any:
    """A value that fits the schema, keeping of `given` what can be kept; if none is found, the last one tried.

    `fill({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]})` → `{"n": 3}`
    """
    if schema_problem(schema):
        return {}  # nothing fits a non-schema; only a mock that checks no schemas gets here
    value = None
    for kept in (given, NOTHING):  # what was said may not fit together: better a legal value than a true one
        for attempt in range(TRIES):
            value = _Filler(schema, random.Random(f"{seed}"), attempt).value(schema, kept)
            if fits(schema, value):
                return value
    return value


def merged(schema: Any, root: Any, branch: int = 0, depth: int = 0) -> dict[str, Any]:
    """A schema with its `$ref`, its `allOf` and one branch of its `anyOf` or `oneOf` written into it."""
    if not isinstance(schema, Mapping) or depth > 10:
        return {}
    parts = list(schema.get("allOf") or ())
    for key in ("anyOf", "oneOf"):
        if branches := schema.get(key):
            # Other types come before null, branches without `$ref` before others.
            order = sorted(branches, key=lambda one: (one == {"type": "null"}, "$ref" in str(one)))
            parts.append(order[branch % len(order)])
    if "$ref" in schema:
        parts.append(_target(schema["$ref"], root))
    result: dict[str, Any] = {}
    for flat in [*(merged(part, root, branch, depth + 1) for part in parts), schema]:
        for key, value in flat.items():
            result[key] = JOIN.get(key, lambda old, new: new)(result[key], value) if key in result else value
    return result


# How to merge what two schemas say.
JOIN: dict[str, Callable[[Any, Any], Any]] = {
    "properties": lambda old, new: {**old, **new},
    "required": lambda old, new: list(dict.fromkeys([*old, *new])),
    "enum": lambda old, new: [option for option in old if option in new],
    **dict.fromkeys(("minimum", "minLength", "minItems"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems"), min),
}


def _target(reference: str, root: Any) -> Any:
    found = root
    for step in reference.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(step, {})
        else:
            found = found[int(step)] if isinstance(found, list) and step.isdecimal() and int(step) < len(found) else {}
    return found


class _Filler:
    """One attempt at one value. `attempt` chooses the branches of unions."""

    def __init__(self, root: Any, draw: random.Random, attempt: int):
        self.root, self.draw, self.attempt, self.room = root, draw, attempt, ROOM

    def value(self, schema: Any, given: Any = NOTHING, depth: int = 0) -> Any:
        self.room -= 1
        if self.room < 0 or depth > DEEPEST:
            return None
        node = merged(schema, self.root, self.attempt)
        type = type_of(node)
        if given is not NOTHING and fits(schema, given, self.root):
            return given
        if not (type == "object" and isinstance(given, dict)):
            offered = [*([node["const"]] if "const" in node else ()), *(node.get("examples") or ())]
            offered += [*([node["default"]] if "default" in node else ()), *(node.get("enum") or ())]
            for one in offered:
                if fits(schema, one, self.root):
                    return one
        if type == "object":
            return self.object(node, given if isinstance(given, dict) else {}, depth + 1)
        if type == "array":
            return self.array(node, depth + 1)
        if type in ("integer", "number"):
            return _number(node, type)
        if type == "string":
            return self.string(node)
        return False if type == "boolean" else None

    def fits(self, schema: Any, given: Any) -> bool:
        return isinstance(given, dict) or fits(schema, given, self.root)

    def object(self, node: Mapping[str, Any], given: dict[str, Any], depth: int) -> dict[str, Any]:
        """The required fields and what was given; more only where `minProperties` wants it."""
        properties, more = node.get("properties") or {}, node.get("additionalProperties", True)
        required = list(node.get("required") or ())
        kept = [name for name in given if self.fits(properties.get(name, more), given[name])]
        spare = [name for name in properties if name not in required and name not in kept]
        spare += [f"field_{number}" for number in range(1, 10) if more is not False]
        lacking = max(0, node.get("minProperties", 0) - len({*required, *kept}))
        wanted = {*required, *kept, *spare[:lacking]}
        # In the order of the definition, as a grammar would write them.
        order = [*(name for name in properties if name in wanted), *sorted(wanted - properties.keys())]
        return {name: self.value(properties.get(name, more), given.get(name, NOTHING), depth) for name in order}

    def array(self, node: Mapping[str, Any], depth: int) -> list[Any]:
        first = node.get("prefixItems") or []
        least = max(node.get("minItems", 0), 1 if "contains" in node else 0)
        items: list[Any] = []
        for index in range(min(least, LONGEST)):
            schema = first[index] if index < len(first) else node.get("items", node.get("contains", {}))
            value = self.value(schema, NOTHING, depth)
            if node.get("uniqueItems") and value in items:
                value = self.another(schema, items)
            items.append(value)
        return items

    def another(self, schema: Any, items: list[Any]) -> Any:
        """One more value, equal to none so far."""
        node = merged(schema, self.root, self.attempt)
        tries = [*(node.get("examples") or ()), *(node.get("enum") or ())]
        tries += [one + step for one in items if isinstance(one, int | float) for step in range(1, len(items) + 2)]
        tries += [f"{one}{len(items)}" for one in items if isinstance(one, str)]
        tries += [self.string(node) for _ in range(TRIES)]
        return next((one for one in tries if one not in items and fits(schema, one, self.root)), None)

    def string(self, node: Mapping[str, Any]) -> str:
        if "pattern" in node and (found := self.matching(node)):
            return found
        if node.get("format") == "uuid":
            return str(uuid.UUID(int=self.draw.getrandbits(128), version=4))
        text = FORMATS.get(node.get("format", ""), "text")
        return text.ljust(min(node.get("minLength", 0), LONGEST), "x")[: node.get("maxLength", LONGEST)]

    def matching(self, node: Mapping[str, Any]) -> str | None:
        """A text for a `pattern`, within its lengths; None where Python's syntax has no such thing."""
        import rstr

        repeats = math.prod(int(times) for times in re.findall(r"\{(?:\d*,)?(\d{1,9})\}", node["pattern"]))
        short = re.sub(r"(?<!\\)[*+](?![^\[]*\])", "{1,8}", node["pattern"])
        for pattern in (short, node["pattern"]) if repeats <= LONGEST else ():
            for _ in range(TRIES):
                try:
                    text = rstr.Rstr(self.draw).xeger(pattern)
                except Exception:  # it refuses in many ways what it cannot write
                    break
                if fits({key: node[key] for key in ("pattern", "minLength", "maxLength") if key in node}, text):
                    return text
        return None


def type_of(node: Mapping[str, Any]) -> str:
    """The type of a schema: of several the first that is not null, of none what its keywords hint at."""
    type = node.get("type")
    if isinstance(type, list):
        type = next((one for one in type if one != "null"), "null")
    hints = {"object": ("properties", "required"), "array": ("items", "minItems"), "number": ("minimum", "maximum")}
    return type or next((name for name, keys in hints.items() if any(key in node for key in keys)), "string")


def _number(node: Mapping[str, Any], type: str) -> int | float:
    """The number nearest to 1 that is allowed."""
    step = node.get("multipleOf")
    grain = step or (1 if type == "integer" else 0.5)
    low, high = node.get("minimum", -math.inf), node.get("maximum", math.inf)
    if "exclusiveMinimum" in node:
        low = max(low, math.floor(node["exclusiveMinimum"] / grain) * grain + grain)
    if "exclusiveMaximum" in node:
        high = min(high, math.ceil(node["exclusiveMaximum"] / grain) * grain - grain)
    value = min(max(1, low), high)
    if step:
        value = math.ceil(value / step) * step
        value -= step if value > high else 0
    return math.ceil(value) if type == "integer" or value == int(value) else value

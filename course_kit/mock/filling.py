"""A value that fits a schema: written as the definition wants it, or made up where the conversation holds none.

`as_wanted` puts what was said into the unit and format that a definition states. `fill` makes up what is missing, as
a provider does that samples under a grammar: from `examples`, `default`, `enum`, or by the schema's own rules.
Which input gets which part of the conversation is decided in `simulated.py`.
"""

import math
import random
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from course_kit.contract.schema import SchemaError, conforms

from .spans import Span

__all__ = ["as_wanted", "day_of", "fill", "fits", "merged", "options"]

DEEPEST = 6  # levels of nesting that are filled; deeper ones only as far as they are required
TRIES = 20
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


def as_wanted(span: Span, name: str, node: Mapping[str, Any], today: date | None = None) -> Any:
    """A span as the input takes it: 19.99 is 1999 where cents are stated, a date stands in the stated format."""
    item = node.get("items") or {} if node.get("type") == "array" else node
    said = f"{name.replace('_', ' ')} {node.get('description', '')} {node.get('format', '')}"
    if span.kind == "list":
        return list(span.value)
    if span.kind == "date":
        value: Any = _in_format(span.value, said, today)
    elif span.kind == "number" and item.get("type") != "string":
        value = _in_unit(span, said)
        value = int(value) if item.get("type") == "integer" and value == int(value) else value
    else:
        value = str(span.value)
        # "order 20260917" for ids like ORD-20260917
        for prefix in re.findall(r"\b([A-Z]{2,}-)(?=\d|\[|\\d)", f"{node.get('pattern', '')} {said}"):
            if value.isdigit() and "pattern" in node and fits(item, prefix + value):
                value = prefix + value
    return [value] if node.get("type") == "array" else value


def _in_unit(span: Span, said: str) -> int | float:
    if example := re.search(r"(?<![\d.])(\d+(?:\.\d+)?) (?:is|becomes|means|→|=>?|->) (\d+(?:\.\d+)?)", said):
        return round(span.value * float(example[2]) / float(example[1]), 6)
    if re.search(r"\bcents\b|minor unit|分为单位", said, re.IGNORECASE) and not span.unit.startswith("cent"):
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
    """A value that fits the schema, keeping of `given` what can be kept.

    `fill({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]})` → `{"n": 3}`
    """
    draw = random.Random(f"{seed}")
    for attempt in range(TRIES):
        value = _value(schema, given, _Place(schema, draw, attempt))
        if fits(schema, value):
            return value
        if attempt == TRIES // 2:
            given = NOTHING  # what the conversation says does not go together: better a whole value than a true one
    return value


class _Place:
    """Where we are in the schema: its root for `$ref`, the way down, and how often it was tried already."""

    def __init__(self, root: Any, draw: random.Random, attempt: int, depth: int = 0):
        self.root, self.draw, self.attempt, self.depth = root, draw, attempt, depth

    def below(self) -> "_Place":
        return _Place(self.root, self.draw, self.attempt, self.depth + 1)


def merged(schema: Any, root: Any, choice: int = 0, depth: int = 0) -> dict[str, Any]:
    """A schema with `$ref`, `allOf` and one branch of `anyOf`/`oneOf` written into it: `choice` says which branch."""
    if not isinstance(schema, Mapping) or depth > 2 * DEEPEST:
        return {}
    parts = [schema.get("allOf") or []]
    for key in ("anyOf", "oneOf"):
        if branches := schema.get(key):
            # A branch that ends comes before one that goes deeper or says nothing.
            order = sorted(
                branches, key=lambda branch: (depth > 1 and "$ref" in str(branch), branch == {"type": "null"})
            )
            parts.append([order[choice % len(order)]])
    if "$ref" in schema:
        parts.append([_target(schema["$ref"], root)])
    result: dict[str, Any] = {}
    for part in [*(branch for branches in parts for branch in branches), schema]:
        flat = part if part is schema else merged(part, root, choice, depth + 1)
        for key, value in flat.items():
            if key == "properties":
                value = {**result.get(key, {}), **value}
            elif key == "required":
                value = list(dict.fromkeys([*result.get(key, []), *value]))
            elif key == "enum" and key in result:
                value = [option for option in value if option in result[key]]
            elif key in ("minimum", "minLength", "minItems") and key in result:
                value = max(value, result[key])
            elif key in ("maximum", "maxLength", "maxItems") and key in result:
                value = min(value, result[key])
            result[key] = value
    return result


def _target(reference: str, root: Any) -> Any:
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(step)]
        else:
            found = found.get(step, {}) if isinstance(found, Mapping) else {}
    return found


def _value(schema: Any, given: Any, place: _Place) -> Any:
    node = merged(schema, place.root, place.attempt, place.depth)
    if given is not NOTHING and not isinstance(given, dict) and fits(schema, given, place.root):
        return given
    if not isinstance(given, dict):
        for value in _offered(node):
            if fits(schema, value, place.root):
                return value
    type = _type(node)
    if type == "object":
        return _object(node, given if isinstance(given, dict) else {}, place)
    if type == "array":
        return _array(node, place)
    if type in ("integer", "number"):
        return _number(node, type)
    if type == "string":
        return _string(node, place)
    return {"boolean": False, "null": None}.get(type, "")


def _offered(node: Mapping[str, Any]) -> Iterator[Any]:
    if "const" in node:
        yield node["const"]
    yield from node.get("examples") or ()
    if "default" in node:
        yield node["default"]
    yield from node.get("enum") or ()


def _type(node: Mapping[str, Any]) -> str:
    type = node.get("type")
    if isinstance(type, list):
        type = next((one for one in type if one != "null"), "null")
    if type:
        return type
    hints = {"object": ("properties", "required"), "array": ("items", "minItems"), "number": ("minimum", "maximum")}
    return next((name for name, keys in hints.items() if any(key in node for key in keys)), "string")


def _object(node: Mapping[str, Any], given: dict[str, Any], place: _Place) -> dict[str, Any]:
    properties = node.get("properties") or {}
    wanted = [name for name in properties if name in given or name in (node.get("required") or ())]
    result = {name: _value(properties[name], given.get(name, NOTHING), place.below()) for name in wanted}
    more = node.get("additionalProperties", True)
    for name in node.get("required") or ():
        if name not in result:
            result[name] = _value(more, given.get(name, NOTHING), place.below())
    if more is not False:
        result |= {name: value for name, value in given.items() if name not in result}
    for number in range(node.get("minProperties", 0) - len(result)):
        name = next((name for name in properties if name not in result), f"field_{number + 1}")
        result[name] = _value(properties.get(name, more), NOTHING, place.below())
    return result


def _array(node: Mapping[str, Any], place: _Place) -> list[Any]:
    least = max(node.get("minItems", 0), 1 if "contains" in node else 0)
    if place.depth < DEEPEST and not node.get("maxItems") == 0:
        least = max(least, 0 if place.attempt % 2 else 1 if "enum" in str(node.get("items")) else 0)
    fixed = node.get("prefixItems") or []
    items: list[Any] = []
    for index in range(max(least, len(fixed)) if least else 0):
        schema = fixed[index] if index < len(fixed) else node.get("items", node.get("contains", {}))
        value = _value(schema, NOTHING, place.below())
        if node.get("uniqueItems") and value in items:
            value = _other(schema, value, items, place)
        items.append(value)
    return items


def _other(schema: Any, value: Any, items: list[Any], place: _Place) -> Any:
    """One more value, equal to none so far."""
    node = merged(schema, place.root)
    tries = list(_offered(node))
    if isinstance(value, int | float):
        tries += [value + step for step in range(1, len(items) + 2)]
    if isinstance(value, str):
        tries += [f"{value}{len(items) + 1}", _string({**node, "minLength": len(value) + len(items)}, place)]
    return next((one for one in tries if one not in items and fits(schema, one, place.root)), value)


def _number(node: Mapping[str, Any], type: str) -> int | float:
    low, high = node.get("minimum"), node.get("maximum")
    step = node.get("multipleOf")
    grain = step or (1 if type == "integer" else 0.5)
    if (above := node.get("exclusiveMinimum")) is not None:
        low = max(value for value in (low, math.floor(above / grain) * grain + grain) if value is not None)
    if (below := node.get("exclusiveMaximum")) is not None:
        high = min(value for value in (high, math.ceil(below / grain) * grain - grain) if value is not None)
    value = (
        1
        if low is None and high is None
        else low
        if low is not None and low > 0
        else min(high, 1)
        if high is not None
        else 1
    )
    if low is not None:
        value = max(value, low)
    if step:
        value = math.ceil(value / step) * step
    if type == "integer" or value == int(value):
        value = math.ceil(value)
    return value


def _string(node: Mapping[str, Any], place: _Place) -> str:
    if "pattern" in node and (found := _matching(node, place)) is not None:
        return found
    if node.get("format") == "uuid":
        return str(uuid.UUID(int=place.draw.getrandbits(128), version=4))
    text = FORMATS.get(node.get("format", ""), "text")
    least, most = node.get("minLength", 0), node.get("maxLength", math.inf)
    return text.ljust(least, "x")[: int(min(most, 10_000))] if len(text) > most or len(text) < least else text


def _matching(node: Mapping[str, Any], place: _Place) -> str | None:
    """A string for a `pattern`, within its lengths; None for what Python's `re` cannot read."""
    import rstr

    least, most = node.get("minLength", 0), node.get("maxLength", 200)
    try:
        compiled = re.compile(node["pattern"])
    except re.error:
        return None
    bounded = re.sub(r"(?<!\\)[*+](?!\])", "{1,8}", node["pattern"])
    for pattern in (bounded, node["pattern"]):
        for _ in range(TRIES):
            try:
                text = rstr.Rstr(place.draw).xeger(pattern)
            except Exception:  # it writes most of what `re` reads; what it cannot, it refuses in many ways
                break
            if least <= len(text) <= most and compiled.search(text):
                return text
    return None

"""A problem, and the words for it: values, paths and schemas, each in a few printable words on one line.

What is wrong with an input is found next door, in `explain.py`.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from .strict import NATURAL_TYPE, as_list

if TYPE_CHECKING:
    from .compiled import CompiledSchema

__all__ = ["FORMATS", "LIMITS", "Path", "Problem", "comparable", "limited", "marks", "one_of", "options_of", "shapes"]
__all__ += ["count", "cut", "listed", "literal", "near", "path_text", "problem_at", "quoted", "received"]
__all__ += ["wanted", "what_to_send"]

# Where something is in a value: ("items", 2, "qty").
Path = tuple[str | int, ...]

TYPES = {
    "null": "null",
    "boolean": "a boolean (true or false)",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
FORMATS = {
    "date-time": 'a date and time such as "2026-11-30T09:00:00Z"',
    "time": 'a time with offset such as "09:00:00Z"',
    "date": 'a date such as "2026-11-30"',
    "duration": 'a duration such as "PT30M"',
    "email": 'an email address such as "ada@example.com"',
    "hostname": 'a host name such as "api.example.com"',
    "uri": 'a URI such as "https://example.com/page"',
    "ipv4": 'an IPv4 address such as "192.0.2.1"',
    "ipv6": 'an IPv6 address such as "2001:db8::1"',
    "uuid": 'a UUID such as "123e4567-e89b-12d3-a456-426614174000"',
}
# Made once: `json.dumps` and `json.loads` with options make new ones in every call.
_WRITE = json.JSONEncoder(ensure_ascii=False, default=str).encode
_READ = json.JSONDecoder(parse_constant=str).decode
# What a bound bounds, its direction, and what it counts.
LIMITS = {
    "minimum": ("", "at least", ""),
    "maximum": ("", "at most", ""),
    "exclusiveMinimum": ("", "more than", ""),
    "exclusiveMaximum": ("", "less than", ""),
    "multipleOf": ("", "a multiple of", ""),
    "minLength": ("a string of ", "at least", "character"),
    "maxLength": ("a string of ", "at most", "character"),
    "minItems": ("an array of ", "at least", "item"),
    "maxItems": ("an array of ", "at most", "item"),
    "minProperties": ("an object of ", "at least", "field"),
    "maxProperties": ("an object of ", "at most", "field"),
}


class Problem(NamedTuple):
    """One fault of an input. `path` is `""` for the whole input; `message` is a full sentence and includes `hint`.

    `Problem("n", '`n` must be an integer, but the string "5" came; send 5 without quotes.', "an integer", …)`
    """

    path: str
    message: str
    expected: str = ""
    received: str = ""
    hint: str = ""


def problem_at(path: Path, sentence: str, expected: str = "", came: str = "", hint: str = "") -> Problem:
    """A problem whose message begins with its path and ends with its hint."""
    text = path_text(path)
    where = f"`{text if len(text) <= 160 else f'{text[:80]}…{text[-70:]}'}`" if text else "The input"
    return Problem(text, f"{where} {sentence}{'; ' if hint else ''}{hint}.", expected, came, hint)


# Schemas.


def wanted(schema: "CompiledSchema", part: Any, levels: int = 2) -> str:
    """A part in words: "an integer from 1 to 7", "a string or null", "an object with `kind` "email" and `to`"."""
    known = schema.in_words.get((id(part), levels))
    if known is None:
        known = schema.in_words[id(part), levels] = _wanted(schema, part, levels)
    return known


def _wanted(schema: "CompiledSchema", part: Any, levels: int) -> str:
    parts = schema.merged(part)
    whole: dict[str, Any] = {}
    for inner in reversed(parts):
        whole |= inner
    if options_of(whole):
        return one_of(options_of(whole))
    types = as_list(whole.get("type"))
    union = whole.get("anyOf") or whole.get("oneOf")
    if union and not types:
        return shapes(schema, union, levels - 1)
    words = []
    for name in types or dict.fromkeys(NATURAL_TYPE[keyword] for keyword in whole if keyword in NATURAL_TYPE):
        words.append(_type_in_words(name, whole))
        if name == "array" and whole.get("items") and levels > 0:
            words[-1] += f", each item {wanted(schema, whole['items'], levels - 1)}"
        required = dict.fromkeys(field for inner in parts for field in inner.get("required", ()))
        if name == "object" and required and levels > 0:
            values = {field: f" {one_of(options)}" for field, options in marks(schema, part).items()}
            fields = [f"`{cut(field, 40)}`{values.get(field, '')}" for field in required]
            words[-1] += f" with {listed(fields, ' and ')}"
    return cut(" or ".join(words), 300) or "any value"


def shapes(schema: "CompiledSchema", branches: list[Any], levels: int = 1) -> str:
    """The branches of a union in words: `a string or null`."""
    if levels < 0:
        return "any of several shapes"
    return cut(listed(list(dict.fromkeys(wanted(schema, branch, levels) for branch in branches)), " or ", 6), 300)


def marks(schema: "CompiledSchema", part: Any) -> dict[str, list[Any]]:
    """The fields of a part that must have one of a few values: `{"kind": ["email"]}`."""
    fields = [field for inner in schema.merged(part) for field in inner.get("properties", {}).items()]
    options = [(name, options_of(inner)) for name, field in fields for inner in schema.merged(field)]
    return {name: values for name, values in options if values}


def options_of(part: Mapping[str, Any]) -> list[Any]:
    """The values that a schema lists: `{"const": "a"}` → `["a"]`."""
    return [part["const"]] if "const" in part else part.get("enum", [])


def one_of(options: list[Any]) -> str:
    """`["a", "b"]` → `one of "a", "b"`."""
    shown = [literal(option) for option in options]
    return shown[0] if len(shown) == 1 else f"one of {listed(shown) or 'no values'}"


def limited(keyword: str, limit: Any) -> str:
    """`("minLength", 3)` → `a string of at least 3 characters`."""
    what, direction, noun = LIMITS[keyword]
    return f"{what}{direction} {count(limit, noun) if noun else literal(limit)}"


def _type_in_words(name: str, part: Mapping[str, Any]) -> str:
    """A type with its bounds: `an integer from 1 to 7`, `an array of at most 3 items`."""
    words = TYPES[name]
    if name == "string":
        words = FORMATS.get(part.get("format", ""), words)
        words += f" matching the pattern {cut(part['pattern'], 80)}" if "pattern" in part else ""
        words += _range(part, "minLength", "maxLength")
        example = next((text for text in part.get("examples", ()) if isinstance(text, str)), None)
        return words if example is None else f"{words}, for example {quoted(example)}"
    if name == "array":
        return words + _range(part, "minItems", "maxItems")
    if name in ("integer", "number"):
        words += _range(part, "minimum", "maximum", "from")
        exclusive = [key for key in ("exclusiveMinimum", "exclusiveMaximum") if key in part]
        return " ".join([words, *(limited(key, part[key]) for key in exclusive)])
    return words


def _range(part: Mapping[str, Any], low: str, high: str, before: str = "of") -> str:
    """` of 1 to 3 items`, ` of at least 1 character`."""

    def counted(keyword: str) -> str:
        noun = LIMITS[keyword][2]
        return count(part[keyword], noun) if noun else literal(part[keyword])

    if low in part and part[low] == part.get(high):
        return f" of {counted(low)}"
    if low in part and high in part:
        return f" {before} {literal(part[low])} to {counted(high)}"
    return "".join(f" of {LIMITS[key][1]} {counted(key)}" for key in (low, high) if key in part)


# Values.


def received(value: Any) -> str:
    """A value in a few words, however big it is: `the string "Oslo"`, `an array of 3 items`."""
    if isinstance(value, str):
        return f"the string {quoted(value)}" + (f" ({len(value):,} characters)" if len(value) > 60 else "")
    if isinstance(value, list):
        return f"an array of {count(len(value), 'item')}" if value else "an empty array"
    if isinstance(value, dict):
        return f"an object of {count(len(value), 'field')}" if value else "an empty object"
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return f"the {kinds[type(value)]} {literal(value)}"


def literal(value: Any) -> str:
    """A value as JSON writes it, cut to size."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "of more than 60 digits"
    return quoted(value) if isinstance(value, str) else cut(_WRITE(value), 60)


def quoted(text: str, limit: int = 60) -> str:
    """Text in JSON's quotes, cut to size, on one line."""
    return cut(_WRITE(text if len(text) <= limit else f"{text[: limit - 1]}…"), 7 * limit)


def cut(text: str, limit: int) -> str:
    """Text of at most this many characters, all printable on one line."""
    text = text if len(text) <= limit else f"{text[: limit - 1]}…"
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def listed(words: list[str], joint: str = ", ", most: int = 12) -> str:
    """`["a", "b"]` → `a, b`; of a long list, the beginning and the number."""
    more = f", … ({len(words)} in all)" if len(words) > most else ""
    return cut(joint.join(words[:most]), 400) + more


def count(number: Any, noun: str) -> str:
    """`(1, "item")` → `1 item`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def path_text(path: Path) -> str:
    """`("items", 2, "qty")` → `items[2].qty`; a key that could be misread is in brackets: `["a.b"]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif key.isidentifier() or re.fullmatch(r"[^\W\d][\w$-]*|\$\w+", key):
            text += f".{cut(key, 80)}" if text else cut(key, 80)
        else:
            text += f"[{quoted(key, 80)}]"
    return text


def comparable(value: Any) -> Any:
    """Equal and hashable where values are equal in JSON: `1` is `1.0`, and `True` is neither."""
    if isinstance(value, dict):
        return frozenset((key, comparable(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(comparable(item) for item in value)
    return isinstance(value, bool), value


# Hints.


def what_to_send(value: Any, accepted: Callable[[Any], bool]) -> str:
    """What to send instead, by what would be accepted; empty where nothing is certain."""
    if isinstance(value, str):
        return _hint_for_text(value.strip(), accepted)
    if isinstance(value, int | float) and accepted(literal(value)):
        return f"send it in quotes: {quoted(literal(value))}"
    if isinstance(value, float) and accepted(int(value)):
        return "send a whole number"
    return "send an array, also for one item" if value is not None and accepted([]) and not accepted({}) else ""


def _hint_for_text(text: str, accepted: Callable[[Any], bool]) -> str:
    try:
        inside = _READ(text.lower() if text.lower() in ("true", "false") else text)
    except (ValueError, RecursionError):
        broken = text[:1] in ("[", "{") and (accepted([]) or accepted({}))
        return "the string holds broken JSON: fix it and send it without quotes around it" if broken else ""
    if isinstance(inside, str) or not accepted(inside):
        return ""
    if isinstance(inside, dict | list):
        return "the string holds JSON: send it as JSON, without quotes around it"
    return f"send {literal(inside)} without quotes"


def near(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant: `Order-ID` → `order_id`."""

    def plain(text: str) -> str:
        return re.sub(r"[\W_]", "", text[:100]).lower()

    known = {plain(candidate): candidate for candidate in islice(candidates, 200)}
    close = difflib.get_close_matches(plain(word), known, n=1, cutoff=0.75)
    return known[close[0]] if close else None

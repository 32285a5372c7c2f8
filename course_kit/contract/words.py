"""The words of a refusal: values, paths and schemas, each in a few printable words on one line.

What is wrong with an input, and what to send instead, is found next door, in `explain.py`.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from .strict import as_list

__all__ = [
    "FORMATS",
    "LIMITS",
    "NATURAL_TYPE",
    "TYPES",
    "Path",
    "count",
    "cut",
    "limited",
    "listed",
    "literal",
    "near",
    "one_of",
    "options_of",
    "path_text",
    "quoted",
    "received",
    "type_in_words",
    "type_of",
]

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


# Schemas.


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


def type_in_words(name: str, part: Mapping[str, Any]) -> str:
    """A type with the bounds that a schema sets it: `an integer from 1 to 7`, `an array of at most 3 items`."""
    words = TYPES[name]
    if name == "string":
        words = FORMATS.get(part.get("format"), words)
        words += f" matching the pattern {cut(part['pattern'], 80)}" if "pattern" in part else ""
        words += _range(part, "minLength", "maxLength", "of", "characters")
        example = next((text for text in part.get("examples", ()) if isinstance(text, str)), None)
        return words if example is None else f"{words}, for example {quoted(example)}"
    if name == "array":
        return words + _range(part, "minItems", "maxItems", "of", "items")
    if name in ("integer", "number"):
        words += _range(part, "minimum", "maximum", "from", "")
        exclusive = [key for key in ("exclusiveMinimum", "exclusiveMaximum") if key in part]
        return " and ".join([words, *(limited(key, part[key]) for key in exclusive)])
    return words


def _range(part: Mapping[str, Any], low: str, high: str, before: str, noun: str) -> str:
    if low in part and high in part:
        words = f" {before} {literal(part[low])} to {literal(part[high])}"
    elif low in part or high in part:
        bound = low if low in part else high
        words = f" of {LIMITS[bound][1]} {literal(part[bound])}"
    else:
        return ""
    return f"{words} {noun}" if noun else words


# Values.


def type_of(value: Any) -> str:
    """The JSON type of a value: `True` → `boolean`."""
    kinds = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def received(value: Any) -> str:
    """A value in a few words, however big it is: `the string "Oslo"`, `an array of 3 items`."""
    if isinstance(value, str):
        return f"the string {quoted(value)}" + (f" ({len(value):,} characters)" if len(value) > 60 else "")
    if isinstance(value, list):
        return f"an array of {count(len(value), 'item')}" if value else "an empty array"
    if isinstance(value, dict):
        return f"an object of {count(len(value), 'field')}" if value else "an empty object"
    return literal(value) if value is None else f"the {type_of(value)} {literal(value)}"


def literal(value: Any) -> str:
    """A value as JSON writes it, cut to size."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "of more than 60 digits"
    return quoted(value) if isinstance(value, str) else cut(json.dumps(value, ensure_ascii=False, default=str), 60)


def quoted(text: str, limit: int = 60) -> str:
    """Text in JSON's quotes, cut to size, on one line."""
    return cut(json.dumps(text if len(text) <= limit else f"{text[: limit - 1]}…", ensure_ascii=False), 7 * limit)


def cut(text: str, limit: int) -> str:
    """Text of at most so many characters, where each can be printed on one line."""
    text = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def listed(words: list[str], joint: str = ", ", most: int = 12) -> str:
    """`["a", "b"]` → `a, b`; of a long list, the beginning and the number."""
    more = f", … ({len(words)} in all)" if len(words) > most else ""
    return cut(joint.join(words[:most]), 400) + more


def count(number: Any, noun: str) -> str:
    """`(1, "item")` → `1 item`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def path_text(path: Path) -> str:
    """`("items", 2, "qty")` → `items[2].qty`; a key that could be misread stands in brackets: `["a.b"]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"[^\W\d][\w$-]*|\$\w+", key):
            text += f".{cut(key, 80)}" if text else cut(key, 80)
        else:
            text += f"[{quoted(key, 80)}]"
    return text


def near(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant: `Order-ID` → `order_id`."""

    def plain(text: str) -> str:
        return re.sub(r"[\W_]", "", text[:100]).lower()

    known = {plain(candidate): candidate for candidate in islice(candidates, 200)}
    close = difflib.get_close_matches(plain(word), known, n=1, cutoff=0.75)
    return known[close[0]] if close else None

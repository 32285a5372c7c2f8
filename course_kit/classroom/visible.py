"""Text as it is, with nothing in it that the eye cannot see.

What a person approves must be what runs. Unicode has characters that take no room, look like a plain
space or turn the order of their neighbours round; here each of them becomes its JSON escape, so that the text stays
JSON and reads back as exactly what it was.
"""

import html
import json
import re
import unicodedata
from typing import Any

__all__ = ["columns", "json_html", "padded", "visible", "visible_json"]

# Control and format characters (bidirectional marks, zero width, tags), half characters, private and unassigned ones,
# separators. The plain space stays.
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
# Letters and marks by their category that draw nothing all the same: Unicode's Default_Ignorable_Code_Point, and the
# Braille blank.
BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def visible(text: str) -> str:
    """Hidden characters as JSON escapes: a right-to-left override in front of `fdp` → `\\u202efdp`."""
    return "".join(json.dumps(letter)[1:-1] if is_hidden(letter) else letter for letter in text)


def is_hidden(letter: str) -> bool:
    if letter == " ":
        return False
    return unicodedata.category(letter) in HIDDEN_CATEGORIES or BLANK.match(letter) is not None


def visible_json(value: Any) -> str:
    """The whole value as indented JSON, hidden characters escaped; `json.loads` gives the value back."""
    lines = json.dumps(value, ensure_ascii=False, indent=2).split("\n")  # inside strings, line ends are escaped already
    return "\n".join(visible(line) for line in lines)


def json_html(value: Any) -> str:
    """`visible_json` for a page: every space takes its room, and no string's direction reaches beyond its quotes."""
    marked = STRING.sub(lambda found: f"<bdi>{html.escape(found[0])}</bdi>", visible_json(value))
    style = "white-space: break-spaces; word-break: normal; overflow-wrap: anywhere; direction: ltr; line-height: 1.4"
    return f'<pre style="{style}">{marked}</pre>'


def columns(text: str) -> int:
    """How many columns of a terminal the text takes: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def padded(text: str, width: int) -> str:
    """The text filled up to so many columns of a terminal."""
    return text + " " * (width - columns(text))

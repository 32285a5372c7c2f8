"""The words of a refusal: values, paths and schemas, each in a few printable words on one line.

What is wrong with an input is found next door, in `explain.py`.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from course_kit.contract.compiled import CompiledSchema

__all__ = [
    "FORMATS",
    "TYPES",
    "Path",
    "count",
    "cut",
    "limit_words",
    "listed",
    "literal",
    "near",
    "one_of",
    "options_of",
    "path_text",
    "quoted",
    "received",
    "shapes",
    "tags",
    "type_of",
    "types_of",
    "wanted",
]

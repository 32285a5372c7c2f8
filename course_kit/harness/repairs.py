"""Repairs of an input, only those on a list, and logged: digits without quotes, dates in ISO form.

An unlisted repair is a guess, and an unlogged one is a lie: the person who approves sees another value than the one the
model sent. So `repair_input` does only what `allow` names, looks at the schema first, returns a line for each change,
and leaves alone whatever can be read in more than one way. An id is never completed or corrected; that
is a question for the user. What an input must be is for `contract/schema.py`; `run_agent` repairs nothing by itself.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from course_kit.contract.schema import check_tool_input

__all__ = ["REPAIRS", "Repaired", "repair_input"]


@dataclass(frozen=True)
class Repaired:
    """`value` is what may be checked and shown now; `log` has a line for each change, and is empty without one."""

    value: Any
    log: tuple[str, ...] = ()


def _digits(text: str, field: Mapping[str, Any]) -> Any:
    """`"1999"` → `1999` where an integer is wanted. `"19.99"`, `"1,999"` and `"007"` stay: more than one reading."""
    wanted = field.get("type") == "integer" and re.fullmatch(r"0|-?[1-9][0-9]{0,15}", text)
    return int(text) if wanted else None


def _date(text: str, field: Mapping[str, Any]) -> Any:
    """`"2026/9/3"` → `"2026-09-03"` where a date is wanted. `"03/09/2026"` stays: March or September?"""
    found = re.fullmatch(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})", text)
    if not found or field.get("type") != "string" or field.get("format") != "date":
        return None
    try:
        return date(*map(int, found.groups())).isoformat()
    except ValueError:
        return None


REPAIRS = {"digits": _digits, "dates": _date}


def repair_input(schema: Mapping[str, Any], value: Any, allow: Iterable[str] = ("digits", "dates")) -> Repaired:
    """An input with the listed repairs made, field by field; check the result like any other input.

    `allow` names the repairs: `"digits"` where a number came as text, `"dates"` where a date is written another way.
    `{"amount_cents": "1999"}` → `{"amount_cents": 1999}` and `amount_cents: digits, "1999" → 1999`. An input that
    fits already is left alone.
    """
    allow = list(allow)
    if unknown := [name for name in allow if name not in REPAIRS]:
        raise ValueError(f"There is no repair {unknown[0]!r}: the list is {', '.join(REPAIRS)}.")
    if not isinstance(value, dict) or check_tool_input(schema, value).ok:
        return Repaired(value)
    repaired, log = dict(value), []
    for name, came in value.items():
        field = (schema.get("properties") or {}).get(name)
        if not isinstance(field, Mapping) or not isinstance(came, str):
            continue
        for repair in allow:
            better = REPAIRS[repair](came, field)
            if better is not None and better != came:
                repaired[name] = better
                log.append(f'{name}: {repair}, "{came}" → {better if isinstance(better, int) else f"{better!r}"}')
                break
    return Repaired(repaired, tuple(log))

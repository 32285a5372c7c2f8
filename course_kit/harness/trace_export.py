"""The part of a trace that may be passed on: rows for a log, inputs masked or as a digest.

A trace with raw inputs is a copy of your customers' data in a place that nobody guards. So masked is the default, and
raw has to be asked for. Masking finds what has a form (mail addresses, cards, keys; see `masking.py`); a name in a
sentence has none. Where that is not enough, use the digest: equal inputs still look equal.
"""

import hashlib
import json
from typing import Any, Literal

from .masking import Masker
from .trace import Event, trace_of

__all__ = ["digest", "masked", "rows"]

Inputs = Literal["masked", "digest", "raw"]
WITH_CONTENT = ("raw_input", "input", "validation_error")


def masked(events: list[Event], raw: bool = False) -> list[Event]:
    """The events with personal data and secrets as marks: the same value gets the same mark in all of them."""
    return events if raw else Masker().mask(events)


def rows(source: Any, inputs: Inputs = "masked") -> list[dict[str, Any]]:
    """The steps of a run or its trace as dicts for a log; of results and the model's words only the size."""
    if inputs not in ("masked", "digest", "raw"):
        raise ValueError(f'`inputs` is {inputs!r}: say "masked", "digest" or "raw".')
    masker, found = Masker(), []
    for step in trace_of(source).steps():
        row = step.to_dict()
        del row["said"], row["tools"]
        for call in row["calls"]:
            del call["result"]
            for name in WITH_CONTENT:
                call[name] = _shown(call[name], inputs, masker)
        found.append(row if inputs == "raw" else {**row, "stop": masker.mask(row["stop"])})
    return found


def digest(value: Any) -> str:
    """`"sha256:…"`, twelve digits: equal for equal inputs, whatever the order of their keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _shown(value: Any, inputs: Inputs, masker: Masker) -> Any:
    if value is None or inputs == "raw":
        return value
    return masker.mask(value) if inputs == "masked" else digest(value)

"""What a tool returned, as the content of a `tool_result`.

Text stays text; everything else is written as JSON that any reader can parse. Nothing exceeds its budget, and every
cut is marked where it was made: a silent cut is worse than an error. No value makes the result fail.
Which call the content answers, and whether it is an error, is next door in `tools.py`.
"""

import math
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from course_kit.contract.messages import Block, text
from course_kit.errors import ToolError

from .fitting import SMALLEST_BUDGET, cut_text, first_that_fit, fit
from .plain import Partial, dumps, plain, well_formed
from .summaries import summary_of_rows

__all__ = [
    *("DEFAULT_BUDGET", "NO_OUTPUT", "SMALLEST_BUDGET", "cut_text", "encode_result", "envelope", "error_text"),
    "text_only",
]

DEFAULT_BUDGET = 30_000  # characters
LONGEST_ERROR = 2_000  # characters; 500 for an exception not meant for the model
SUMMARY_FROM = 400  # a smaller budget has no room for a summary and rows
MOST_ROWS = 50_000  # with more rows there is no summary: reading them all would take longer than the call
FRAME = len(dumps(Partial([], 0)))  # what `first_that_fit` reserves for counts, which go elsewhere here
NO_OUTPUT = "(no output)"
MORE_NARROWLY = "Ask more narrowly to see the rest."
NO_MESSAGE = "The tool failed without saying why."
# A stack trace in an exception's message, up to its last line, which says what happened.
FRAMES = re.compile(r"Traceback \(most recent call last\):[ \t]*\n(?:[ \t]+[^\n]*\n?)*")
# The blocks a result can hold, and the field without which a dict of that `type` is just data.
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls and the SDK's types (2.14)
RESULT_BLOCKS = {
    "text": "text",
    "image": "source",
    "document": "source",
    "search_result": "content",
    "tool_reference": "tool_name",
}


def encode_result(value: Any, budget: int = DEFAULT_BUDGET) -> str | list[Block]:
    """The content for what a tool returned, at most `budget` characters long.

    `"4 C"` → `"4 C"`, `None` → `"(no output)"`, `{"price": Decimal("19.90")}` → `'{"price": "19.90"}'`.
    Text (also as bytes) stays text, a list of content blocks stays a list of blocks, the rest is JSON.
    Text that is too long keeps its head and its tail; a list that is too long becomes
    `{"total": 9000, "returned": 120, "truncated": true, "summary": {...}, "items": [...]}`, a summary only for objects.
    The list in an `envelope` is summarised in its `meta`. A page that is cut again loses its `next_cursor`,
    which would skip what was cut, and says how to ask again.
    """
    if budget < SMALLEST_BUDGET:
        raise ValueError(f"A budget of {budget} cannot hold a result: give {SMALLEST_BUDGET} characters or more.")
    if value is None:
        return NO_OUTPUT
    if is_blocks(value):
        return fit_blocks([plain(block, math.inf) for block in value], budget) or NO_OUTPUT
    data = plain(value, budget)
    if isinstance(data, str) and isinstance(value, (str, bytes, bytearray, memoryview)):
        return cut_text(data, budget) if data.strip() else NO_OUTPUT
    written = dumps(data)
    if len(written) <= budget:
        return written
    return dumps(fit_page(value, data, budget) or fit_rows(value, budget) or fit(data, budget))


def envelope(data: Any, **meta: Any) -> dict[str, Any]:
    """One form for all results: `{"ok": true, "data": …, "meta": {…}}`; for a `ToolError`, why it is not ok.

    `envelope([...], total=412, next_cursor="20")`; `encode_result` writes its counts into `meta` where it has to cut.
    """
    if isinstance(data, ToolError):
        why = {"code": data.code, "message": data.message, "hint": data.hint, "retryable": data.retryable}
        said = {key: part for key, part in why.items() if part not in (None, "")}
        return {"ok": False, "data": None, "meta": {**said, **meta}}
    return {"ok": True, "data": data, "meta": meta}


def error_text(error: BaseException | str) -> str:
    """What the model reads about a failure: never empty, no traceback, no folders of this machine.

    `ToolError("NOT_FOUND", "There is no order 7.", hint="Use search_orders.")` →
    `"NOT_FOUND: There is no order 7.\\nHint: Use search_orders.\\nRetryable: no, the same call will fail again."`;
    any other exception gives its type and message: `KeyError("x")` → `"KeyError: 'x'"`.
    """
    limit = LONGEST_ERROR
    if isinstance(error, str):
        said = error
    elif isinstance(error, ToolError):
        lines = [f"{error.code}: {error.message}"]
        if error.hint:
            lines.append(f"Hint: {error.hint}")
        again = "yes, the same call may succeed later" if error.retryable else "no, the same call will fail again"
        said = "\n".join([*lines, f"Retryable: {again}."])
    else:
        said, limit = describe(error), 500
    return cut_text(well_formed(said), limit) if said.strip() else NO_MESSAGE


def text_only(content: str | Iterable[Block] | None) -> str | list[Block]:
    """Content that an error may carry: only text blocks, and always some text.

    `[image, text]` → `[text]`, `""` → `"The tool failed without saying why."`
    """
    if isinstance(content, str):
        return content if content.strip() else NO_MESSAGE
    kept = [block for block in content or () if block.get("type") == "text" and block["text"].strip()]
    return kept or NO_MESSAGE


# Cutting pages that a tool has counted, and rows


def fit_page(value: Any, data: Any, budget: int) -> dict[str, Any] | None:
    """A page of a list, cut again, or the list in an envelope: its counts say how much there really is.

    `next_cursor` is removed: it would skip what was cut, and None would say that this was the end.
    """
    if not isinstance(data, dict):
        return None
    enveloped = data.keys() == {"ok", "data", "meta"} and isinstance(data["meta"], dict)
    counts = data["meta"] if enveloped else data
    lists = [key for key, part in data.items() if isinstance(part, list | Partial)]
    paged = "next_cursor" in counts
    if not paged and not enveloped:
        return None
    asked, counts = counts, {key: part for key, part in counts.items() if key != "next_cursor"}
    again = "Not all of this page fits: ask for it again, with the same cursor (or none) and"
    if len(lists) == 1:
        [name] = lists
        part = data[name] if isinstance(data[name], Partial) else Partial(data[name], len(data[name]))
        is_all = asked.get("next_cursor") is None and asked.get("total", part.total) == part.total
        there = value.get(name) if is_all and isinstance(value, dict) else None
        _, summary = summary_within(there, budget)

        def cut_to(items: list[Any]) -> dict[str, Any]:
            told = {"total": part.total, **counts, "returned": len(items), "truncated": True}
            told |= {"summary": summary} if summary else {}
            told["rest"] = f"{again} limit {len(items)}." if paged else MORE_NARROWLY
            if enveloped:
                return {"ok": data["ok"], "meta": told, "data": items}
            return {**{key: part for key, part in told.items() if key != name}, name: items}

        longest = len(dumps(cut_to([]))) + 2 * len(str(len(part.items)))
        kept = first_that_fit(part, budget - longest + FRAME)
        if isinstance(kept, Partial) and isinstance(kept.items, list) and kept.items:
            return cut_to(kept.items)
    if paged:
        counts = {**counts, "truncated": True, "rest": f"{again} a smaller limit."}
    return fit({**data, "meta": counts} if enveloped else counts, budget)


def fit_rows(value: Any, budget: int) -> dict[str, Any] | None:
    """A list of objects: a summary of all of them, then as many as fit."""
    rows, summary = summary_within(value, budget)
    if not summary:
        return None
    told = {"total": len(rows), "returned": len(rows), "truncated": True, "summary": summary}
    told |= {"rest": MORE_NARROWLY, "items": []}
    kept = first_that_fit(Partial(rows, len(rows)), budget - len(dumps(told)) + FRAME)
    return {**told, "returned": len(kept.items), "items": kept.items}


def summary_within(value: Any, budget: int) -> tuple[list[Any], dict[str, Any]]:
    """The rows of a list of objects, and their summary in a third of the budget, if one is of use."""
    if not isinstance(value, list | tuple) or not 2 <= len(value) <= MOST_ROWS or budget < SUMMARY_FROM:
        return [], {}
    rows = plain(value, math.inf)
    summary = summary_of_rows(rows) if all(isinstance(row, dict) for row in rows) else {}
    while summary and len(dumps(summary)) > budget // 3:
        summary.popitem()
    return rows, summary


# Results that are content blocks already


def is_blocks(value: Any) -> bool:
    """Whether a value is a list of content blocks, rather than data that happens to have a `type`."""
    return isinstance(value, (list, tuple)) and bool(value) and all(is_block(item) for item in value)


def is_block(value: Any) -> bool:
    """Whether a value is a content block that a result can hold."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "text":
        return isinstance(value.get("text"), str)
    return value["type"] in RESULT_BLOCKS and RESULT_BLOCKS[value["type"]] in value


def fit_blocks(blocks: list[Block], budget: int) -> list[Block]:
    """The blocks without empty text, their text within the budget (images and documents are not counted).

    References to tools stand alone in a result: beside anything else the API refuses the request.
    """
    references = [block for block in blocks if block["type"] == "tool_reference"]
    if references:
        return references
    blocks = [block for block in blocks if block["type"] != "text" or str(block["text"]).strip()]
    texts = {index: block["text"] for index, block in enumerate(blocks) if block["type"] == "text"}
    if sum(len(said) for said in texts.values()) > budget:
        for position, index in enumerate(sorted(texts, key=lambda index: len(texts[index]))):
            said = cut_text(texts[index], budget // (len(texts) - position))
            blocks[index] = {**blocks[index], **text(said)}
            budget -= len(said)
    return blocks


def describe(error: BaseException) -> str:
    """`type: message` of an exception, or the failures in a group; folders are cut from paths."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(describe(one) for one in error.exceptions[:3])
    try:
        said = str(error)
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            said = f"{error.strerror}: {PurePath(str(error.filename)).name!r}"
    except Exception:
        said = ""
    said = cut_text(FRAMES.sub("", said), 5_000)
    said = re.sub(r"(?<![\w.:/])(?:[A-Za-z]:)?(?:[\\/][^\s\\/'\":]+)+[\\/](?=[^\s\\/])", "…/", said)
    name = type(error).__name__
    return f"{name}: {said}" if said.strip() else name

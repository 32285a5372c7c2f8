"""The strict table: what becomes of each keyword of a schema under `strict`, at both providers and in the SDK's helper.

`strict_table(schema)` takes a schema, a tool definition, a list of them, a Pydantic model or JSON text; without
arguments it shows the refund tool. Nothing is decided here: what an API takes is told by `contract/strict.py`, what
can be rewritten by `contract/strict_transform.py`, what the SDK does by running `anthropic.transform_schema`.
"""

import ast
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from course_kit.classroom.fields import on_press, status
from course_kit.classroom.shown import Shown
from course_kit.contract.reading import schemas_of
from course_kit.contract.schema import NotJSON, parse_json
from course_kit.contract.strict import (
    STRICT_RULES,
    Path,
    Refusal,
    count_strict,
    pointer,
    strict_budget,
    strict_refusals,
    walk_schema,
)
from course_kit.contract.strict_transform import StrictSchema, to_strict

__all__ = ["Cell", "Row", "StrictTable", "strict_table"]

PROVIDERS = {"anthropic": "Anthropic", "openai": "OpenAI"}
LEGEND = (
    "taken: the API accepts it · refused: 400 · unsure: docs and probes disagree · moved: told in the description, "
    "enforced by nobody · changed: rewritten, see the notes · dropped: gone · yours: you must decide"
)
MARKS = {
    "taken": "✓",
    "refused": "✗",
    "unsure": "?",
    "kept": "✓",
    "raises": "✗",
    "lost": "✗",
    "moved": "→",
    "changed": "→",
}
# Where nothing happens to these, they only lengthen the table.
QUIET = frozenset("type properties description title items required additionalProperties $defs definitions".split())
# What a grammar never reads: the API refuses the keyword as a whole.
CLOSED = frozenset("not if then else contains propertyNames unevaluatedProperties patternProperties".split())
CLOSED |= {"dependentSchemas", "prefixItems", "additionalProperties"}
# Keywords that the rewriting says in another way; any other that is gone was without force.
REWRITTEN = frozenset("type enum const $ref anyOf oneOf allOf $defs definitions".split())
UNSURE = {
    "anthropic": "the docs say 400; probes of 2026-07 to 09 found it accepted, and not enforced",
    "openai": "lists of supported keywords disagree",
}
LEFT = 'style="text-align: left; padding: 2px 12px 2px 0"'
LONGEST = 34  # characters of a value in the table
MOST_ROWS = 400

EXAMPLE = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "Such as ORD-20260917."},
        "amount_cents": {"type": "integer", "minimum": 1, "description": "In cents: 19.99 is 1999."},
        "reason": {"type": "string", "enum": ["damaged", "not_received", "wrong_item", "other"]},
        "note": {"type": "string", "maxLength": 200},
    },
    "required": ["order_id", "amount_cents", "reason"],
    "additionalProperties": False,
}


class Cell(NamedTuple):
    """What one side does with a keyword: what it says to it, what a helper makes of it, and a word about that."""

    answer: str
    then: str = ""
    note: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, [MARKS.get(self.answer, ""), self.answer, self.then and f"→ {self.then}"]))


class Row(NamedTuple):
    """One keyword at one place: `cells` holds "anthropic", "sdk" and "openai"."""

    place: str
    keyword: str
    value: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class _Read:
    """One schema with what both linters and both transformers say to it."""

    name: str
    schema: dict[str, Any]
    strict: Mapping[str, StrictSchema]


class StrictTable(Shown):
    """The table as text and HTML everywhere; with a field to paste into where ipywidgets is installed.

    `.rows` are all keywords, `.schemas["anthropic"]` the rewritten schema (a list of them for several tools), and
    `.problem` the sentence shown in place of the table when there is nothing to show.
    """

    def __init__(self, source: Any = None):
        self._load(EXAMPLE if source is None else source)

    def _load(self, source: Any) -> None:
        self.rows: list[Row] = []
        self.problem, self._read, self._tools = "", [], []
        try:
            self._tools = definitions(source)
            for name, schema in self._tools if len(self._tools) > 1 else [("", schema) for _, schema in self._tools]:
                strict = {provider: to_strict(schema, provider) for provider in PROVIDERS}
                for problem in strict["anthropic"].problems:
                    if problem.rule == "strict-invalid":  # no API takes it, strict or not
                        raise ValueError(f"{name}: {problem.message}" if name else problem.message)
                self._read.append(_Read(name, schema, strict))
            self.rows = [row for read in self._read for row in rows_of(read)]
        except NotJSON as error:
            self.problem = f"This cannot be read: {error}."
        except ValueError as error:
            self.problem, self._read = str(error), []
        except RecursionError:
            self.problem = "This is nested too deeply to be read: paste a flatter schema."

    @property
    def schemas(self) -> dict[str, Any]:
        """What `to_strict` makes of it, for each provider."""
        made = {provider: [read.strict[provider].schema for read in self._read] for provider in PROVIDERS}
        return {provider: each[0] if len(each) == 1 else each for provider, each in made.items()}

    @property
    def shown(self) -> list[Row]:
        """The rows worth showing: those where something happens, and every keyword that limits a value."""
        return [row for row in self.rows if row.keyword not in QUIET or not all(map(_quiet, row.cells.values()))]

    def summary(self) -> list[str]:
        """One sentence for each provider, and what needs a decision."""
        if not self._read:
            return []
        lines = []
        for provider, name in PROVIDERS.items():
            refused = [row.keyword for row in self.rows if row.cells[provider].answer == "refused"]
            problems = [(read.name, each) for read in self._read for each in read.strict[provider].problems]
            as_is = f"400 as it is ({', '.join(dict.fromkeys(refused))})" if refused else "taken as it is"
            after = "still not taken after to_strict" if problems else "taken after to_strict"
            lines.append(f"{name}: {as_is}; {after}.")
            lines += [f"  yours to decide, {_place(one.path, tool)}: {one.message}" for tool, one in problems[:5]]
        counts = [count_strict(read.strict["anthropic"].schema) for read in self._read]
        optional, unions = sum(count.optional for count in counts), sum(count.unions for count in counts)
        tools = f"{len(self._read)} of 20 strict tools, " if len(self._read) > 1 else ""
        lines.append(f"Anthropic's budget: {tools}{optional} of 24 optional, {unions} of 16 unions.")
        sent = [{"strict": True, "input_schema": read.strict["anthropic"].schema} for read in self._read]
        return lines + [f"  {refusal.message}" for refusal in strict_budget(sent)]

    def notes(self) -> list[str]:
        """The reasons for "changed", "lost", "raises" and "unsure"; what is yours to decide is in the summary."""
        said = [
            f"{row.place}, {row.keyword} ({_name(side)}): {cell.note}"
            for row in self.shown
            for side, cell in row.cells.items()
            if cell.note and cell.then != "yours"
        ]
        return list(dict.fromkeys(said))[:30]

    def as_text(self) -> str:
        if self.problem:
            return self.problem
        heads = ["place", "keyword", "Anthropic", "the SDK's helper", "OpenAI"]
        table = [heads, *([row.place, _said(row), *map(str, _sides(row))] for row in self.shown[:MOST_ROWS])]
        widths = [max(len(line[column]) for line in table) for column in range(len(heads))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
        lines.insert(1, "  ".join("-" * width for width in widths))
        more = len(self.shown) - MOST_ROWS
        lines += [f"and {more} rows more"] if more > 0 else []
        return "\n".join(map(str.rstrip, [*lines, "", *self.summary(), *self.notes()]))

    def as_html(self) -> str:
        if self.problem:
            return f"<p><b>{html.escape(self.problem)}</b></p>"
        heads = ("place", "keyword", "Anthropic", "the SDK’s helper", "OpenAI")
        head = "".join(f'<th scope="col" {LEFT}>{one}</th>' for one in heads)
        body = ""
        for row in self.shown[:MOST_ROWS]:
            said = "".join(
                f'<td {LEFT} title="{html.escape(cell.note)}">{html.escape(str(cell))}</td>' for cell in _sides(row)
            )
            place = f'<th scope="row" {LEFT}>{html.escape(row.place)}</th>'
            body += f"<tr>{place}<td {LEFT}><code>{html.escape(_said(row))}</code></td>{said}</tr>"
        lines = "".join(f"<li>{html.escape(line.strip())}</li>" for line in self.summary())
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes())
        notes = f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""
        return (
            f'<div style="overflow-x: auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f"<ul>{lines}</ul>{notes}<p><small>{html.escape(LEGEND)}</small></p>"
        )


def strict_table(source: Any = None) -> StrictTable:
    """What strict mode makes of a schema, keyword by keyword: `strict_table({"type": "object", …})`.

    Takes a schema, a tool definition in Anthropic's, OpenAI's or MCP's shape, a list of definitions, a Pydantic model,
    or any of these as JSON text. What cannot be read is told in a sentence.
    """
    return _widget()(source)


@cache
def _widget() -> type[StrictTable]:
    try:
        import ipywidgets
    except ImportError:
        return StrictTable

    class StrictTableWidget(StrictTable, ipywidgets.VBox):
        """`.field` takes a schema as JSON, `.button` shows its table in `.table`."""

        def __init__(self, source: Any = None):
            StrictTable.__init__(self, source)
            wide, style = {"width": "97%", "height": "9em"}, {"description_width": "7em"}
            shown: Any = [{"name": name, "input_schema": schema} for name, schema in self._tools]
            shown = shown[0]["input_schema"] if len(shown) == 1 else shown
            text = json.dumps(shown, indent=2, ensure_ascii=False, default=str) if shown else str(source)
            self.field = ipywidgets.Textarea(
                value=text,
                description="Schema",
                tooltip="A schema or a list of tool definitions, as JSON",
                continuous_update=False,  # a press on the button would overtake what is still being sent
                layout=wide,
                style=style,
            )
            self.button = ipywidgets.Button(description="Show the table", tooltip="Show the table of the schema above")
            on_press(self.button, [self.field], self._clicked)
            wide_table = {"overflow": "auto"}  # where the page is narrow it scrolls, else it would be cut off
            self.table = ipywidgets.HTML(status(self.as_html()), layout=wide_table)
            ipywidgets.VBox.__init__(self, [self.field, self.button, self.table])
            self.add_class("course-strict-table")

        def _clicked(self) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                self._load(self.field.value)
                self.table.value = status(self.as_html())
            except Exception as error:
                self.table.value = status(f"<p>{html.escape(f'This could not be shown: {error}')}</p>")

    return StrictTableWidget


# What was given.


def definitions(source: Any) -> list[tuple[str, dict[str, Any]]]:
    """The schemas in what was given or pasted, each with a name where there are several: `[("refund_order", {…})]`."""
    found = schemas_of(_parsed(source) if isinstance(source, str | bytes) else source)
    if not found:
        raise ValueError("The list is empty: give a schema, or tool definitions.")
    return [(name or (f"tool {number}" if len(found) > 1 else ""), one) for number, (name, one) in enumerate(found, 1)]


def _parsed(text: str | bytes) -> Any:
    """JSON, or what Python prints of a dict."""
    try:
        return parse_json(text)
    except NotJSON:
        try:
            value = ast.literal_eval(text.decode() if isinstance(text, bytes) else text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, UnicodeDecodeError):
            value = None
        if not isinstance(value, dict | list):
            raise
        return value


# Row by row.


def rows_of(read: _Read) -> Iterator[Row]:
    """Every keyword of a schema, in document order, and those that a provider misses."""
    refused = {
        provider: {
            (refusal.path, keyword): refusal
            for refusal in strict_refusals(read.schema, provider, settings=["strict-string-length"])
            for keyword in refusal.keyword.split(", ")
        }
        for provider in PROVIDERS
    }
    for path, node in walk_schema(read.schema, skip=CLOSED):
        if not isinstance(node, dict):
            continue
        here = pointer(path)
        missing = [keyword for found in refused.values() for at, keyword in found if at == here and keyword not in node]
        made = _by_sdk(node)
        for keyword in [*node, *dict.fromkeys(missing)]:
            cells = {
                provider: _cell(read, provider, path, keyword, refused[provider].get((here, keyword)))
                for provider in PROVIDERS
            }
            sdk = _sdk_cell(node, keyword, made)
            ordered = {"anthropic": cells["anthropic"], "sdk": sdk, "openai": cells["openai"]}
            yield Row(_place(here, read.name), keyword, _short(node, keyword), ordered)


def _cell(read: _Read, provider: str, path: Path, keyword: str, refusal: Refusal | None) -> Cell:
    """What one provider says to a keyword, and what `to_strict` makes of it."""
    strict, here, node = read.strict[provider], pointer(path), _at(read.schema, path) or {}
    unsure = refusal is not None and STRICT_RULES[refusal.rule].certainty == "uncertain"
    answer = "unsure" if unsure else "refused" if refusal else "taken"
    places = {here, here.replace("/oneOf/", "/anyOf/")}  # the rewriting makes one of the other
    if any(moved.path in places and moved.keyword == keyword for moved in strict.moved):
        return Cell(answer, "moved", UNSURE[provider] if unsure else "")
    problem = next((problem for problem in strict.problems if problem.path in places), None)
    if refusal and problem:
        return Cell(answer, "yours", problem.message)
    # For `required`, what was narrowed stands at the properties.
    named = node.get("properties")
    told_there = keyword == "required" and isinstance(named, Mapping)
    about = {f"{here}/properties/{name}" for name in named or ()} if told_there else places
    for narrowed in strict.narrowed:
        if narrowed.keyword == keyword and narrowed.path in about:
            return Cell(answer, "changed", narrowed.how)
    if refusal:
        return Cell(answer, "changed", f"{refusal.message}; rewritten")
    found = (_at(strict.schema, _tokens(place)) for place in sorted(places))
    result: dict[str, Any] = next((one for one in found if one is not None), {})
    if "anyOf" in result and "anyOf" not in node:
        result = {**result["anyOf"][0], **result}  # made nullable: what it said is in the first branch
    if keyword not in node or keyword in result or not strict.schema:
        return Cell(answer)
    return Cell(answer, "changed" if keyword in REWRITTEN else "dropped")


def _by_sdk(node: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """One schema without those inside it, and what the SDK's helper makes of it: a schema, or an exception's name."""
    import anthropic

    plain = {"type": "string"}
    alone = dict(node)
    if isinstance(node.get("properties"), Mapping):
        alone["properties"] = dict.fromkeys(node["properties"], plain)
    if isinstance(node.get("items"), Mapping):
        alone["items"] = plain
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(node.get(keyword), list):
            alone[keyword] = [plain for _ in node[keyword]]
    if isinstance(node.get("$defs"), Mapping):
        alone["$defs"] = dict.fromkeys(node["$defs"], plain)
    try:
        return alone, anthropic.transform_schema(alone)
    except Exception as error:  # the helper raises in several ways
        return alone, type(error).__name__


def _sdk_cell(node: Mapping[str, Any], keyword: str, made: tuple[dict[str, Any], Any]) -> Cell:
    alone, result = made
    if isinstance(result, str):
        return Cell("raises", "", f"transform_schema raises {result} on this schema")
    if keyword not in node:
        return Cell("changed", "", "added by the helper") if keyword in result else Cell("kept")
    told = str(result.get("description", ""))
    if keyword == "description":
        return Cell("kept" if told.startswith(str(node[keyword])) else "lost")
    if keyword in result:
        changed = result[keyword] != alone[keyword]
        if changed and keyword == "additionalProperties" and isinstance(node[keyword], Mapping):
            return Cell("lost", "", "became false, so that only {} fits")
        return Cell("changed", "", f"became {json.dumps(result[keyword])[:60]}") if changed else Cell("kept")
    if f"{keyword}: " in told.removeprefix(str(node.get("description", ""))):
        words = "told in words, so that every reference to it leads nowhere"
        return Cell("lost", "", words) if keyword == "definitions" else Cell("moved")
    return Cell("changed", "", "became anyOf") if keyword == "oneOf" and "anyOf" in result else Cell("lost")


def _at(schema: Any, path: Path) -> Any:
    """The schema at a path, or None."""
    for token in path:
        if isinstance(schema, list) and token.isdecimal() and int(token) < len(schema):
            schema = schema[int(token)]
        elif isinstance(schema, dict) and token in schema:
            schema = schema[token]
        else:
            return None
    return schema if isinstance(schema, dict) else None


def _tokens(place: str) -> Path:
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in place.split("/")[1:])


def _place(place: str, tool: str = "") -> str:
    """`"#/properties/guest/properties/age"` → `"guest.age"`; the root is `(root)`."""
    words: list[str] = []
    tokens = iter(_tokens(place))
    for token in tokens:
        if token == "properties":
            words.append(next(tokens, ""))
        elif token == "items":
            words.append("[]")
        elif token in ("anyOf", "oneOf", "allOf"):
            words.append(f"{token}[{next(tokens, '')}]")
        else:
            words.append(token)
    return ".".join(filter(None, [tool, *words])) or "(root)"


def _short(node: Mapping[str, Any], keyword: str) -> str:
    if keyword not in node:
        return "(missing)"
    value = node[keyword]
    if isinstance(value, Mapping):
        shown = "{…}" if value else "{}"
    else:
        shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def _said(row: Row) -> str:
    return f"{row.keyword}: {row.value}"


def _sides(row: Row) -> list[Cell]:
    return list(row.cells.values())


def _name(side: str) -> str:
    return {**PROVIDERS, "sdk": "SDK"}[side]


def _quiet(cell: Cell) -> bool:
    return cell.answer in ("taken", "kept") and not cell.then

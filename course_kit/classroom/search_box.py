"""The search box: look for a tool in your own words, and see what each way to search finds, and why.

`search_box(tools)` shows it; without a mouse, `.search("Where is my parcel?")` finds and `.compare("…")` puts the ways
side by side. What a search reads and how it ranks is decided in `contract/index.py`; the tools that are meant come
with the request, so that a miss is seen as one.
"""

import html
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from course_kit.classroom.fields import choice_field, choice_rules, number_field, status
from course_kit.classroom.shown import Shown
from course_kit.contract.index import Hit, SearchError, ToolIndex

__all__ = ["Columns", "Hits", "SearchBox", "search_box"]

WAYS = ("bm25", "fused", "regex")
PRE = '<pre style="white-space: pre-wrap; word-break: normal">'


class Columns(str):
    """What each way found, shown as it is."""

    __repr__ = str.__str__


class Hits(list[Hit]):
    """What was found, the best first; a cell shows one a line."""

    def __repr__(self) -> str:
        lines = [f"{place}. {hit.tool_name}: {hit.because}" for place, hit in enumerate(self, 1)]
        return "\n".join(lines) or "Nothing found."


class SearchBox(Shown):
    """An index for each way to search, over the same tools, and the last thing that was looked for."""

    def __init__(
        self,
        tools: Any,
        query: str = "Where is the parcel of my order?",
        *,
        gold: Mapping[str, Sequence[str]] | None = None,
    ):
        self.indexes = {way: ToolIndex(tools, way) for way in WAYS}  # type: ignore[arg-type]
        self.query, self.way = query, WAYS[0]
        self.gold = dict(gold or {})

    def search(self, query: str, way: str | None = None) -> Hits:
        """What one way finds: `box.search("Where is my parcel?")`, `box.search("parcel|courier", "regex")`."""
        hits = Hits(self._index(way).search(query))
        self.query, self.way = query, way or self.way
        return hits

    def compare(self, query: str) -> Columns:
        """The same query by every way, a column of names for each; what is meant to be found is marked."""
        found = {way: self._names(query, way) for way in self.indexes}
        rows = max(1, *(len(names) for names in found.values()))
        table = [
            list(found),
            *([*(names[row] if row < len(names) else "" for names in found.values())] for row in range(rows)),
        ]
        widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        return Columns("\n".join([query, *lines]))

    def as_text(self) -> str:
        lines = [
            f"Search box over {len(self._index())} tools, by {self.way}",
            f"  {self.query}",
            *(f"  {line}" for line in self._answer()),
            'Run this cell to use it, or write: box.search("…"), box.search("order|parcel", "regex"), box.compare("…")',
        ]
        return "\n".join(lines)

    def as_html(self) -> str:
        return (
            f"<p><b>Search box</b> over {len(self._index())} tools, by {self.way}: "
            f"<i>{html.escape(self.query)}</i></p>{self._answer_html()}"
            "<p><i>Run this cell to use it.</i></p>"
        )

    def _index(self, way: str | None = None) -> ToolIndex:
        wanted = way or self.way
        if wanted not in self.indexes:
            raise ValueError(f"This box searches by {', '.join(self.indexes)}, not by {wanted!r}.")
        return self.indexes[wanted]

    def _names(self, query: str, way: str) -> list[str]:
        try:
            hits = self._index(way).search(query)
        except SearchError:
            return ["no pattern"]
        meant = self.gold.get(query, ())
        return [f"{'✓ ' if hit.tool_name in meant else ''}{hit.tool_name}" for hit in hits] or ["nothing found"]

    def _answer(self) -> list[str]:
        """The hits, one a line, with the reason of each; a miss and a bad pattern as a sentence."""
        try:
            hits = self._index().search(self.query)
        except SearchError as error:
            return [f"✗ {error}"]
        meant = self.gold.get(self.query, ())
        lines = [
            f"{'✓' if hit.tool_name in meant else '·'} {place}. {hit.tool_name}: {hit.because}"
            for place, hit in enumerate(hits, 1)
        ]
        if not hits:
            what = "matches this pattern" if self.way == "regex" else "has any of these words"
            lines = [
                f"Nothing found: no tool {what}." if self.query.strip() else "Nothing to look for: type some words."
            ]
        if meant and not set(meant) & {hit.tool_name for hit in hits}:
            lines.append(f"✗ Missed: {', '.join(meant)} was meant.")
        return lines

    def _answer_html(self) -> str:
        return f"{PRE}{html.escape(chr(10).join(self._answer()))}</pre>"


def search_box(
    tools: Any,
    query: str = "Where is the parcel of my order?",
    *,
    gold: Mapping[str, Sequence[str]] | None = None,
) -> SearchBox:
    """A search box over these tools; its plain calls are `.search("…")` and `.compare("…")`.

    `gold` says which tools a request is meant for: `{"Where is it?": ["track_parcel"]}`; such requests are listed.
    """
    return _widget()(tools, query, gold=gold)


@cache
def _widget() -> type[SearchBox]:
    try:
        import ipywidgets
    except ImportError:
        return SearchBox

    class SearchBoxWidget(SearchBox, ipywidgets.VBox):
        """`.field`, `.choice` and `.requests` are the parts to use; `.result` answers as you type."""

        def __init__(self, *given: Any, **options: Any):
            SearchBox.__init__(self, *given, **options)
            style, wide = {"description_width": "6em"}, {"width": "97%"}
            self.field = ipywidgets.Text(
                value=self.query, description="Query", tooltip="What to look for", style=style, layout=wide
            )
            self.choice = choice_field("By", self.indexes, self.way, "The way to search", name_width="6em")
            known = f"Take a request whose right tool is known, 1 to {len(self.gold)}"
            self.requests = number_field("Or request", 0, 0, len(self.gold), known, name_width="6em")
            self.result = ipywidgets.HTML()
            self.field.observe(lambda change: self._show(), "value")
            self.choice.observe(lambda change: self._show(), "value")
            self.requests.observe(lambda change: self._take(change["new"]), "value")
            parts = [choice_rules(), self.field, self.choice, *([self.requests] if self.gold else []), self.result]
            ipywidgets.VBox.__init__(self, parts)
            self.add_class("course-search-box")
            self._show()

        def search(self, query: str, way: str | None = None) -> Hits:
            hits = SearchBox.search(self, query, way)
            self.choice.value, self.field.value = self.way, query
            return hits

        def _take(self, number: int) -> None:
            if number:
                self.field.value = list(self.gold)[number - 1]

        def _show(self) -> None:
            self.query, self.way = self.field.value, self.choice.value
            self.result.value = status(self._answer_html())

    return SearchBoxWidget

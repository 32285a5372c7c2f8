"""What everything shown in the classroom has in common: it is also plain text and HTML.

A widget is a third way to show the same, where ipywidgets is installed and a kernel runs; each module makes its own.
"""

import html
import re
from typing import Any

__all__ = ["Shown", "to_html"]


class Shown:
    """Something with `as_text` and `as_html`, used wherever no widget can be drawn."""

    def as_text(self) -> str:
        """The same as plain text."""
        raise NotImplementedError

    def as_html(self) -> str:
        """The same as HTML, for where no kernel runs."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        widget = getattr(super(), "_repr_mimebundle_", None)  # when this is mixed into an ipywidgets class
        bundle = widget(**kwargs) if widget else None
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**(data or {}), "text/plain": self.as_text(), "text/html": self.as_html()}


def to_html(text: str) -> str:
    """Plain text with `code` spans, fenced blocks and *stressed words* as HTML; everything is escaped.

    ``"Read `stop_reason` < *first*"`` → `"Read <code>stop_reason</code> &lt; <em>first</em>"`
    """
    pieces = re.split(r"```\w*\n(.*?)\n?```|`([^`\n]+)`|(\n\s*\n)", text, flags=re.DOTALL)
    made = ""
    for plain, block, span, gap in zip(pieces[::4], *(pieces[n::4] + [None] for n in (1, 2, 3)), strict=True):
        made += re.sub(r"(?<![\w*])\*(\w(?:[^*\n]*\w)?)\*(?![\w*])", r"<em>\1</em>", html.escape(plain))
        if block is not None:
            made += f"<pre><code>{html.escape(block)}</code></pre>"
        elif span is not None:
            made += f"<code>{html.escape(span)}</code>"
        elif gap is not None:
            made += "<br><br>"
    return made

"""Form fields that everyone can use, and answers that are heard, for the widgets.

Two kinds of field are left out. A slider of ipywidgets 8 has a handle that a screen reader cannot name. And on a
drop-down list JupyterLab takes the arrow keys and letters for its own: they move to another cell, or change it. So the
widgets have number fields (the arrow keys step through them, a number can be typed) and rows of radio buttons (Tab
goes on, Space chooses). ipywidgets is imported where it is used.
"""

from collections.abc import Iterable
from typing import Any

__all__ = ["PRE", "choice_field", "choice_rules", "number_field", "status"]

# A text as it is: lines break between words, where JupyterLab breaks them in the middle of one.
PRE = '<pre style="white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere">'
# As ipywidgets draws it, a row of radio buttons does not break: where it is narrow, buttons slide under their texts.
# And at each choice it gets another margin, so that what is below jumps.
CHOICE_RULES = """<style>
.course-choice { align-items: flex-start }
.course-choice .widget-radio-box { flex-wrap: wrap; min-width: 0; padding: 4px 0; margin-bottom: 0 !important }
.course-choice .widget-radio-box label {
  display: flex; flex-direction: row-reverse; align-items: flex-start; height: auto }
.course-choice .widget-radio-box input { flex: none }
</style>"""


def choice_field(name: str, options: Iterable[Any], value: Any, tooltip: str, *, name_width: str = "7em") -> Any:
    """One of a few, all of them in sight; an option is a text, or a pair of its label and its value."""
    import ipywidgets

    row = ipywidgets.RadioButtons(
        options=list(options),
        value=value,
        description=name,
        tooltip=tooltip,
        orientation="horizontal",
        style={"description_width": name_width},
        layout={"width": "auto"},
    )
    for each in ("jupyter-widgets", "widget-inline-hbox", "course-choice"):  # the first two put its name beside it
        row.add_class(each)
    return row


def choice_rules() -> Any:
    """How `choice_field` is drawn, as a part that takes no room; a widget with such a field has it among its parts."""
    import ipywidgets

    return ipywidgets.HTML(CHOICE_RULES, layout={"display": "none"})


def number_field(
    name: str, value: int, least: int, most: int, tooltip: str, *, name_width: str = "7em", at_each_key: bool = True
) -> Any:
    """A whole number from `least` to `most`; it answers at each key, as a slider would, or when it is typed whole."""
    import ipywidgets

    return ipywidgets.BoundedIntText(
        value=value,
        min=least,
        max=most,
        description=name,
        tooltip=tooltip,
        continuous_update=at_each_key,
        disabled=least == most,
        style={"description_width": name_width},
        layout={"width": f"calc({name_width} + 6em)"},
    )


def status(shown: str) -> str:
    """HTML that answers a button or a key, so that a screen reader says it when it comes.

    The line height is that of text: ipywidgets gives its HTML the height of a button's line, tables and lists too.
    """
    return f'<div role="status" style="line-height: 1.5">{shown}</div>'

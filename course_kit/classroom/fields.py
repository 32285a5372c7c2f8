"""Form fields that everyone can use, presses that come last, and answers that are heard, for the widgets.

Two kinds of field are left out. A slider of ipywidgets 8 has a handle that a screen reader cannot name. And on a
drop-down list JupyterLab takes the arrow keys and letters for its own: they move to another cell, or change it. So the
widgets have number fields (the arrow keys step through them, a number can be typed) and rows of radio buttons (Tab
goes on, Space chooses). ipywidgets is imported where it is used.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

__all__ = ["PRE", "choice_field", "choice_rules", "number_field", "on_press", "status"]

# A text as it is: lines break between words, where JupyterLab breaks them in the middle of one.
PRE = '<pre style="white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere">'
NUMBERS = count(1)  # of presses
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


def on_press(button: Any, fields: Sequence[Any], act: Callable[[], None]) -> None:
    """Let a button act on what its fields said when it was pressed; `button.click()` acts at once.

    ipywidgets holds a change back while an earlier one of the same field is on its way, and a press never: it may
    overtake the choice it is meant for. So the kernel gives a press a number, the front end copies that into each
    field, and it comes back behind all that the field still had to send. A front end that copies nothing is not
    waited for.
    """
    import ipywidgets
    from traitlets import Int

    waiting = 0

    def pressed(_: Any, content: Any, __: Any) -> None:
        nonlocal waiting
        if content.get("event") == "click":
            if fields and all(field.press >= 0 for field in fields):
                waiting = button.press = next(NUMBERS)
            else:
                act()

    def came(_: Any) -> None:
        nonlocal waiting
        if waiting and all(field.press >= waiting for field in fields):
            waiting = 0
            act()

    button.add_traits(press=Int(0).tag(sync=True))
    for field in fields:
        if not field.has_trait("press"):
            field.add_traits(press=Int(-1).tag(sync=True))
        field.observe(came, "press")
        ipywidgets.jsdlink((button, "press"), (field, "press"))
    button.on_msg(button._handle_button_msg, remove=True)
    button.on_msg(pressed)
    button.on_click(lambda _: act())


def status(shown: str) -> str:
    """HTML that answers a button or a key, so that a screen reader says it when it comes.

    The line height is that of text: ipywidgets gives its HTML the height of a button's line, tables and lists too.
    """
    return f'<div role="status" style="line-height: 1.5">{shown}</div>'

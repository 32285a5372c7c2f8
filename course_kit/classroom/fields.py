"""Form fields that everyone can use, and answers that are heard, for the widgets.

Two kinds of field are left out. A slider of ipywidgets 8 has a handle that a screen reader cannot name. And on a
drop-down list JupyterLab takes the arrow keys and letters for its own: they move to another cell, or change it. So the
widgets have number fields (the arrow keys step through them, a number can be typed) and rows of radio buttons (Tab
goes on, Space chooses). ipywidgets is imported where it is used.
"""

from collections.abc import Iterable
from typing import Any

__all__ = ["choice_field", "number_field", "status"]


def choice_field(name: str, options: Iterable[Any], value: Any, tooltip: str, *, name_width: str = "7em") -> Any:
    """One of a few, all of them in sight; an option is a text, or a pair of its label and its value."""
    import ipywidgets

    return ipywidgets.RadioButtons(
        options=list(options),
        value=value,
        description=name,
        tooltip=tooltip,
        orientation="horizontal",
        style={"description_width": name_width},
        layout={"width": "auto"},
    )


def number_field(name: str, value: int, least: int, most: int, tooltip: str, *, name_width: str = "7em") -> Any:
    """A whole number from `least` to `most`; it answers at each key, as a slider would."""
    import ipywidgets

    return ipywidgets.BoundedIntText(
        value=value,
        min=least,
        max=most,
        description=name,
        tooltip=tooltip,
        continuous_update=True,
        disabled=least == most,
        style={"description_width": name_width},
        layout={"width": f"calc({name_width} + 6em)"},
    )


def status(shown: str) -> str:
    """HTML that answers a button or a key, so that a screen reader says it when it comes."""
    return f'<div role="status">{shown}</div>'

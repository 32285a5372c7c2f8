"""The definition workbench: edit a tool's name and description, and see at once what it does to the picks.

`workbench(definition, requests)` shows it; without a mouse, `.score("A new description.")` measures and `.explain(3)`
says why the third request goes where it goes. How often a set of definitions is right is measured next door, in
`laboratory.py`. The inputs stay as they are: change one thing at a time.
"""

import html
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from course_kit.classroom.fields import number_field, on_press, status
from course_kit.classroom.laboratory import Accuracy, chosen, jobs_of, measure, picked
from course_kit.classroom.shown import Shown
from course_kit.mock.simulated import Simulated

__all__ = ["Workbench", "workbench"]

PRE = '<pre style="white-space: pre-wrap; word-break: normal">'


class Workbench(Shown):
    """A definition on the bench, with its neighbours and the requests it is measured with."""

    def __init__(self, definition: Any, requests: Sequence[tuple[str, str | None]], beside: Any = ()):
        [(name, plain)] = jobs_of([definition]).items()
        neighbours = jobs_of(beside)
        ours = {meant for _, meant in requests if meant} - set(neighbours)
        if len(ours) > 1:
            raise ValueError(
                f"The requests are meant for {', '.join(sorted(ours))}: put all but one of these tools into `beside`."
            )
        self.requests = list(requests)
        self.job = ours.pop() if ours else name
        self.definition = dict(plain)
        self._beside = neighbours
        self.tries: list[tuple[dict[str, Any], Accuracy]] = []

    @property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """What the model is shown: the definition as it stands, then its neighbours."""
        return {self.job: self.definition, **self._beside}

    def score(self, description: str | None = None, name: str | None = None) -> Accuracy:
        """Measure the definition, with another description or name if one is given; they stay."""
        changes = {"description": description, "name": name}
        changed = {**self.definition, **{key: value for key, value in changes.items() if value is not None}}
        if changed["name"] in [tool["name"] for tool in self._beside.values()]:
            raise ValueError(f"The name {changed['name']} is taken by a neighbour: two tools may not share one.")
        self.definition = changed
        accuracy = measure(self.tools, self.requests)
        self.tries.append((changed, accuracy))
        return accuracy

    def explain(self, request: int | str = 1) -> str:
        """Why a request goes where it goes: the first is 1; a sentence of your own will do, too."""
        said = chosen([said for said, _ in self.requests], request)
        why = Simulated().explain({"messages": [{"role": "user", "content": said}], "tools": list(self.tools.values())})
        return f"{said}\n→ {picked(self.tools, said)} (simulated)\n{why}"

    def as_text(self) -> str:
        lines = [
            "Definition workbench",
            f"  name         {self.definition['name']}",
            f"  description  {self.definition.get('description', '')}",
            *self._news(),
            'Run this cell to edit it, or write: bench.score("A new description."), bench.explain(1)',
        ]
        return "\n".join(lines)

    def as_html(self) -> str:
        name, description = (html.escape(self.definition.get(key, "")) for key in ("name", "description"))
        return (
            f"<p><b>Definition workbench</b></p><p><code>{name}</code>: {description}</p>{self._news_html()}"
            "<p><i>Run this cell to edit it.</i></p>"
        )

    def _latest(self) -> tuple[Accuracy, str]:
        """The last measurement, and how it differs from the one before."""
        if not self.tries:
            self.score()
        accuracy = self.tries[-1][1]
        return accuracy, accuracy.changed(self.tries[-2][1]) if len(self.tries) > 1 else ""

    def _news(self) -> list[str]:
        accuracy, changed = self._latest()
        return [repr(accuracy), *([f"Since the last try:\n{changed}"] if changed else [])]

    def _news_html(self) -> str:
        accuracy, changed = self._latest()
        since = f"<p>Since the last try:</p>{PRE}{html.escape(changed)}</pre>" if changed else ""
        return f"{accuracy._repr_html_()}{since}"


def workbench(definition: Any, requests: Sequence[tuple[str, str | None]], beside: Any = ()) -> Workbench:
    """A workbench for one definition; its plain calls are `.score("…")` and `.explain(1)`.

    `requests` are as in `measure`; `beside` holds the tools shown with it, as a list or by job. What no neighbour is
    meant for is meant for the definition.
    """
    return _widget()(definition, requests, beside)


@cache
def _widget() -> type[Workbench]:
    try:
        import ipywidgets
    except ImportError:
        return Workbench

    class WorkbenchWidget(Workbench, ipywidgets.VBox):
        """`.name_field`, `.text`, `.request` and `.button` are the parts to use; `.result` and `.why` answer."""

        def __init__(self, definition: Any, requests: Sequence[tuple[str, str | None]], beside: Any = ()):
            Workbench.__init__(self, definition, requests, beside)
            wide, style = {"width": "97%"}, {"description_width": "7em"}
            self.name_field = ipywidgets.Text(
                value=self.definition["name"], description="Name", tooltip="The tool's name", style=style
            )
            self.text = ipywidgets.Textarea(
                value=self.definition.get("description", ""),
                description="Description",
                tooltip="The tool's description",
                continuous_update=False,  # a press on the button would overtake what is still being sent
                rows=5,
                layout=wide,
                style=style,
            )
            count = len(self.requests)
            self.request = number_field("Explain", 1, 1, max(count, 1), f"The request to explain, 1 to {count}")
            self.button = ipywidgets.Button(description="Measure", tooltip="Measure with this name and description")
            self.result, self.why = ipywidgets.HTML(), ipywidgets.HTML()
            on_press(
                self.button,
                [self.text, self.name_field],
                lambda: self._shown(lambda: self.score(self.text.value, self.name_field.value)),
            )
            self.request.observe(lambda _: self._shown(), "value")
            parts = [self.name_field, self.text, self.button, self.result, self.request, self.why]
            ipywidgets.VBox.__init__(self, parts)
            self.add_class("course-workbench")
            self._shown()

        def score(self, description: str | None = None, name: str | None = None) -> Accuracy:
            accuracy = Workbench.score(self, description, name)
            self.name_field.value, self.text.value = self.definition["name"], self.definition.get("description", "")
            self._show()
            return accuracy

        def _shown(self, first: Any = None) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                if first:
                    first()
                self._show()
            except Exception as error:
                self.result.value = status(f"<p>✗ This could not be measured: {html.escape(str(error))}</p>")

        def _show(self) -> None:
            self.result.value = status(self._news_html())
            self.why.value = f"{PRE}{html.escape(self.explain(self.request.value))}</pre>"

    return WorkbenchWidget

"""Error texts: one failed call, told in words of your choice, and what the simulated model does next.

`error_texts()` shows it; without a mouse, `.tell("amount is in cents: 19.99 is 1999")` says how it goes on. `story`
plays one request, `recover` plays many and counts. The services, requests and texts are data, in
`error_cases.py`. Nothing is sent anywhere.
"""

import html
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean
from typing import Any

from course_kit.classroom.error_cases import DESK, REQUESTS, TEXTS, Fault, Service, Write
from course_kit.classroom.fields import choice_field, choice_rules, number_field, on_press, status
from course_kit.classroom.laboratory import chosen
from course_kit.classroom.shown import Shown
from course_kit.mock.simulated import Simulated

__all__ = ["ErrorTexts", "Recovery", "Story", "error_texts", "recover", "story"]

MOST_REPLIES = 8  # of one conversation; the simulated model gives up sooner
PRE = '<pre style="white-space: pre-wrap; word-break: normal">'


# What comes of it.


@dataclass(frozen=True)
class Story:
    """One conversation: what was asked, each call with what the service answered, and how it ended.

    `accepted` is the input that the service took in the end, or None; `why` are the model's reasons for its last reply.
    """

    said: str
    calls: tuple[tuple[str, str], ...]
    accepted: Mapping[str, Any] | None
    ending: str
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether the service took a call in the end."""
        return self.accepted is not None

    def __repr__(self) -> str:
        lines = [self.said]
        for made, answer in self.calls:
            lines += [f"  {made}", *(f"      {line}" for line in answer.split("\n"))]
        ending = self.ending.replace("\n", "\n    ")
        return "\n".join([*lines, f"  {ending}"])


def story(
    said: str,
    write: Write | Mapping[str, str],
    *,
    seed: int = 0,
    at_once: bool = True,
    service: Service = DESK,
    **settings: Any,
) -> Story:
    """How one request goes when every fault is told by `write`; with `at_once=False` only the first fault is told.

    `write` is a function of a `Fault`, or a dict with a text for each path: `{"amount": "19.99 is 1999", …}`.
    """
    if not isinstance(write, Mapping) and not callable(write):
        raise TypeError(
            f"{write!r:.60} is no function of a fault: write `lambda fault: ...`, or a dict with a text for each path."
        )
    tell = partial(_text, write)
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    calls: list[tuple[str, str]] = []
    model, why = Simulated(seed, **settings), ""
    for reply in range(MOST_REPLIES):
        request = {"messages": messages, "tools": service.tools}
        draft = model.reply(request)
        why = "\n".join(draft.reasons)
        made = [{**block, "id": f"call_{reply}_{n}"} for n, block in enumerate(draft.content) if "input" in block]
        if not made:
            words = " ".join(block["text"] for block in draft.content)
            return Story(said, tuple(calls), None, f"✗ given up (simulated): {words}", why)
        results, clean = [], True
        for call in made:
            faults = service.faults(call)
            told = "\n".join(dict.fromkeys(tell(fault) for fault in (faults if at_once else faults[:1])))
            calls.append(
                (f"{call['name']} {json.dumps(call['input'], ensure_ascii=False)}", told if faults else "done")
            )
            clean = clean and not faults
            results.append(
                {"type": "tool_result", "tool_use_id": call["id"], "content": told, "is_error": bool(faults)}
            )
        if clean:
            return Story(said, tuple(calls), made[-1]["input"], f"✓ done (simulated), calls: {len(calls)}", why)
        messages += [{"role": "assistant", "content": made}, {"role": "user", "content": results}]
    return Story(said, tuple(calls), None, f"✗ still at it (simulated) after {MOST_REPLIES} replies", why)


@dataclass(frozen=True)
class Recovery:
    """What `recover` found: for each request, how often it was put right and the calls that were made."""

    rows: tuple[tuple[str, float, float], ...]  # request, share put right, calls
    seeds: int

    @property
    def share(self) -> float:
        """The share of requests put right, every one weighing the same."""
        return fmean(share for _, share, _ in self.rows)

    @property
    def calls(self) -> float:
        """Calls made for one request, on average, the first wrong one included."""
        return fmean(calls for _, _, calls in self.rows)

    def __repr__(self) -> str:
        each = ", ".join(
            f"{number} {what}{'' if number == 1 else 's'}"
            for number, what in ((len(self.rows), "request"), (self.seeds, "seed"))
        )
        return f"{self.share:4.0%} put right, {self.calls:.1f} calls a request (simulated; {each})"


def recover(
    write: Write | Mapping[str, str],
    requests: Iterable[str] = REQUESTS,
    *,
    seeds: int = 3,
    at_once: bool = True,
    service: Service = DESK,
    **settings: Any,
) -> Recovery:
    """How often the simulated model puts a refused call right, when faults are told by `write` (as in `story`)."""
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}: ask every request at least once.")
    rows = []
    for said in [requests] if isinstance(requests, str) else requests:
        options = {"at_once": at_once, "service": service, **settings}
        told = [story(said, write, seed=seed, **options) for seed in range(seeds)]
        rows.append((said, sum(one.ok for one in told) / seeds, sum(len(one.calls) for one in told) / seeds))
    if not rows:
        raise ValueError("There is nothing to measure: give at least one request.")
    return Recovery(tuple(rows), seeds)


def _text(write: Write | Mapping[str, str], fault: Fault) -> str:
    told = write.get(fault.path, "invalid parameter") if isinstance(write, Mapping) else write(fault)
    if not isinstance(told, str):
        raise TypeError(f"The text for `{fault.path}` is {told!r}: return a text for every fault.")
    return told


# The thing to play with.


class ErrorTexts(Shown):
    """A refused call, and a text to tell it in."""

    def __init__(self) -> None:
        self.requests = list(REQUESTS)
        self.last: Story | None = None

    def tell(self, text: str | Write, request: int | str = 1) -> Story:
        """How a request goes when the service answers every faulty call with this text; the first request is 1."""
        said = chosen(self.requests, request)
        if text == "":
            raise ValueError("The text is empty: the API refuses an error without a text. Write one.")
        self.last = story(said, text if callable(text) else lambda fault: text)
        return self.last

    def faults(self, request: int | str = 1) -> list[Fault]:
        """What is wrong with the first call of a request."""
        said = chosen(self.requests, request)
        blocks = Simulated().reply({"messages": [{"role": "user", "content": said}], "tools": DESK.tools}).content
        return [fault for block in blocks if "input" in block for fault in DESK.faults(block)]

    def as_text(self) -> str:
        how = 'Run this cell to write one, or: texts.tell("amount is in cents: 19.99 is 1999", 6)'
        return "\n".join(["Error texts", repr(self.last or self.tell(TEXTS["failed"])), how])

    def as_html(self) -> str:
        shown = html.escape(repr(self.last or self.tell(TEXTS["failed"])))
        return f"<p><b>Error texts</b></p>{PRE}{shown}</pre><p><i>Run this cell to write one.</i></p>"


def error_texts() -> ErrorTexts:
    """A refused call and a field for the text it is told in; the plain call is `.tell("…", 1)`."""
    return _widget()()


@cache
def _widget() -> type[ErrorTexts]:
    try:
        import ipywidgets
    except ImportError:
        return ErrorTexts

    class ErrorTextsWidget(ErrorTexts, ipywidgets.VBox):
        """`.request`, `.pattern`, `.text` and `.button` are the parts to use; `.result` answers."""

        def __init__(self) -> None:
            ErrorTexts.__init__(self)
            self._given = ""  # the text that the pattern wrote; another one is the reader's own
            wide, style = {"width": "97%"}, {"description_width": "7em"}
            count = len(self.requests)
            self.request = number_field("Request", 1, 1, count, f"The request whose call is refused, 1 to {count}")
            self.pattern = choice_field("Begin with", TEXTS, "failed", "One of the four texts, to begin with")
            self.text = ipywidgets.Textarea(
                description="Text",
                tooltip="What the model reads about the refused call",
                continuous_update=False,  # a press on the button would overtake what is still being sent
                rows=3,
                layout=wide,
                style=style,
            )
            self.button = ipywidgets.Button(
                description="Tell the model", tooltip="Answer the refused call with this text"
            )
            self.result = ipywidgets.HTML()
            self.request.observe(lambda _: self._shown(self._next), "value")
            self.pattern.observe(lambda _: self._shown(self._begin), "value")
            on_press(
                self.button,
                [self.text, self.request],
                lambda: self._shown(lambda: self.tell(self.text.value, self.request.value)),
            )
            parts = [choice_rules(), self.request, self.pattern, self.text, self.button, self.result]
            ipywidgets.VBox.__init__(self, parts)
            self.add_class("course-error-texts")
            self._shown(self._begin)

        def _next(self) -> None:
            """Another request: a text that the reader wrote stays, and is told it."""
            if self.text.value == self._given:
                self._begin()
            else:
                self.tell(self.text.value, self.request.value)

        def _begin(self) -> None:
            write = TEXTS[self.pattern.value]
            self._given = "\n".join(dict.fromkeys(write(fault) for fault in self.faults(self.request.value)))
            self.text.value = self._given
            self.tell(self.text.value, self.request.value)

        def _shown(self, first: Callable[[], Any]) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                first()
                why = html.escape(self.last.why if self.last else "")
                self.result.value = status(
                    f"{PRE}{html.escape(repr(self.last))}</pre>"
                    f"<details><summary>Why, at the last reply</summary>{PRE}{why}</pre></details>"
                )
            except Exception as error:
                self.result.value = status(f"<p>✗ This could not be told: {html.escape(str(error))}</p>")

    return ErrorTextsWidget

"""A conversation to step through: `transcript(run)`, or as text: `as_text(messages)`.

Takes a list of messages (dicts, or the SDK's `Message` objects, or dicts holding the SDK's blocks), or anything with
`.messages`. A call and its result carry the same label, `call 1`, as well as the same colour. Nothing is judged
here: whether the conversation is legal is for `contract/protocol.py` to say.
"""

import html
import json
import textwrap
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from course_kit.classroom.fields import PRE, number_field, status
from course_kit.classroom.shown import Shown
from course_kit.contract.messages import Block, Message, content_blocks

__all__ = ["Step", "Transcript", "as_text", "read_messages", "transcript"]

WIDTH = 88
# Okabe and Ito's colours, which people who see colours differently can tell apart too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def read_messages(source: Any) -> list[Message]:
    """The messages of a list, a run or an SDK object, as plain dicts; nothing in the source is changed."""
    if not isinstance(source, list | tuple):
        source = getattr(source, "messages", None) or [source]
    messages = []
    for item in source:
        message = _plain(item)
        if not isinstance(message, Mapping) or "role" not in message:
            raise TypeError(
                f"a transcript is made of messages, each with a role and content, not of {type(item).__name__}"
            )
        messages.append({"role": message["role"], "content": content_blocks(message)})
    return messages


def as_text(source: Any, width: int = WIDTH) -> str:
    """The whole conversation as text, no line wider than `width`."""
    messages = read_messages(source)
    labels = _labels(messages)
    return "\n\n".join(_card_text(n, message, labels, width) for n, message in enumerate(messages, 1))


class Step(Shown):
    """One message of a transcript, as text and as a card."""

    def __init__(self, text: str, card: str):
        self._text, self._card = text, card

    def as_text(self) -> str:
        return self._text

    def as_html(self) -> str:
        return self._card


class Transcript(Shown):
    """A conversation as text and HTML everywhere, as a stepper where ipywidgets is installed."""

    def __init__(self, source: Any):
        self.messages = read_messages(source)
        self._call_labels = _labels(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    def as_text(self) -> str:
        return as_text(self.messages) or "An empty conversation."

    def as_html(self) -> str:
        cards = "".join(self._step(n).as_html() for n in range(1, len(self) + 1))
        return cards or "<p>An empty conversation.</p>"

    def step(self, number: int) -> Step:
        """Message `number`, the first is 1; a number outside the conversation gives its nearest end."""
        if not self.messages:
            return Step(self.as_text(), self.as_html())
        return self._step(min(max(number, 1), len(self)))

    def _step(self, number: int) -> Step:
        message = self.messages[number - 1]
        return Step(
            _card_text(number, message, self._call_labels, WIDTH), _card_html(number, message, self._call_labels)
        )


def transcript(source: Any) -> Transcript:
    """A stepper through a conversation; its plain calls are `.step(2)` and `.as_text()`."""
    return _widget()(source)


@cache
def _widget() -> type[Transcript]:
    try:
        import ipywidgets
    except ImportError:
        return Transcript

    class TranscriptWidget(Transcript, ipywidgets.VBox):
        """`.back`, `.forward` and `.number` (arrow keys step through it) choose the message shown in `.card`."""

        def __init__(self, source: Any):
            Transcript.__init__(self, source)
            last = max(len(self), 1)
            self.back = ipywidgets.Button(description="Previous", icon="arrow-left", tooltip="Previous message")
            self.forward = ipywidgets.Button(description="Next", icon="arrow-right", tooltip="Next message")
            self.number = number_field("Message", 1, 1, last, f"Message 1 to {last}", name_width="5em")
            self.card = ipywidgets.HTML()
            self.back.on_click(lambda _: self._go(self.number.value - 1))
            self.forward.on_click(lambda _: self._go(self.number.value + 1))
            self.number.observe(lambda change: self._go(change["new"]), "value")
            ipywidgets.VBox.__init__(self, [ipywidgets.HBox([self.back, self.number, self.forward]), self.card])
            self.add_class("course-transcript")
            self._go(1)

        def step(self, number: int) -> Step:
            self._go(number)
            return Transcript.step(self, number)

        def _go(self, number: int) -> None:
            number = min(max(number, 1), self.number.max)
            self.number.value = number
            self.back.disabled, self.forward.disabled = number == 1, number == self.number.max
            self.card.value = status(Transcript.step(self, number).as_html())

    return TranscriptWidget


def _plain(value: Any) -> Any:
    """SDK objects, at any depth, as the dicts they are on the wire."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _labels(messages: Iterable[Message]) -> dict[str, int]:
    """Each call's id and its number in the conversation: `{"toolu_01": 1, "toolu_02": 2}`."""
    labels: dict[str, int] = {}
    for message in messages:
        for block in message["content"]:
            if str(block.get("type")).endswith("tool_use"):
                labels.setdefault(str(block.get("id")), len(labels) + 1)
    return labels


def _parts(block: Block, labels: Mapping[str, int]) -> tuple[str, str, int | None]:
    """A block's heading, its body, and the number of the call it belongs to."""
    kind = str(block.get("type"))
    if kind == "text":
        return "text", str(block.get("text", "")), None
    if kind == "thinking":
        return "thinking", str(block.get("thinking", "")), None
    if kind.endswith("tool_use"):
        number = labels.get(str(block.get("id")))
        return f"{kind} {block.get('name')} · id {block.get('id')} · call {number}", _json(block.get("input")), number
    if kind.endswith("tool_result"):
        number, content = labels.get(str(block.get("tool_use_id"))), block.get("content", "")
        if isinstance(content, list):
            content = "\n".join(part["text"] if part.get("type") == "text" else _json(part) for part in content)
        error = " · is_error" if block.get("is_error") else ""
        heading = f"{kind} · tool_use_id {block.get('tool_use_id')} · call {number or '?'}{error}"
        return heading, content if isinstance(content, str) else _json(content), number
    return kind, _json({key: value for key, value in block.items() if key != "type"}), None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=lambda odd: f"<{type(odd).__name__}>")


def _card_text(number: int, message: Message, labels: Mapping[str, int], width: int) -> str:
    lines = [f"[{number}] {message['role']}"]
    for block in message["content"]:
        heading, body, _ = _parts(block, labels)
        lines += _wrap(heading, width, "  ") + _wrap(body, width, "    ")
    return "\n".join(lines)


def _wrap(text: str, width: int, indent: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        own = indent + line[: len(line) - len(line.lstrip(" "))][: width // 2]  # JSON keeps its steps
        lines += textwrap.wrap(line.strip(), width, initial_indent=own, subsequent_indent=own) or [""]
    return lines


def _card_html(number: int, message: Message, labels: Mapping[str, int]) -> str:
    blocks = ""
    for block in message["content"]:
        heading, body, call = _parts(block, labels)
        colour = COLOURS[(call - 1) % len(COLOURS)] if call else "#888888"
        error = "<b>✗ is_error</b> " if block.get("is_error") else ""
        blocks += (
            f'<div style="border-left: 6px solid {colour}; padding-left: 8px; margin-top: 6px">{error}'
            f"<b>{html.escape(heading)}</b>{PRE}{html.escape(body)}</pre></div>"
        )
    return (
        f'<div style="border: 1px solid #888888; padding: 8px; margin-top: 6px">'
        f"<b>{number} · {html.escape(str(message['role']))}</b>{blocks}</div>"
    )

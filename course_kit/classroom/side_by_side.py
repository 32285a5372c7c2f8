"""One conversation in every provider's shape, with what differs marked: `side_by_side(messages, tools=[…])`.

Step 1 is the definitions, then comes one step for each message; an assistant's message is shown as the reply that
brought it, since the stop signal is there. The shapes themselves are made in `contract/shapes`; here they are only
laid beside each other. MCP is missing: it carries no conversation.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from course_kit.classroom.fields import PRE, choice_field, choice_rules, number_field, status
from course_kit.classroom.shown import Shown
from course_kit.classroom.transcript import read_messages
from course_kit.contract.messages import Message
from course_kit.contract.shapes import Lost, definition_to, reply_to, request_to

__all__ = ["SideBySide", "Step", "VIEWED", "side_by_side"]

VIEWED = ("anthropic", "openai_chat", "openai_responses", "gemini")
TITLES = {
    "anthropic": "Anthropic Messages",
    "openai_chat": "OpenAI Chat Completions",
    "openai_responses": "OpenAI Responses",
    "gemini": "Gemini",
}
# Where to look, in the order of the table; and which key says it in which shape.
TOPICS = ("wrapped in", "schema", "who speaks", "inputs", "pairing id", "error flag", "stop signal")
KEYS: dict[str, dict[str, str]] = {
    "anthropic": {
        "input_schema": "schema",
        "role": "who speaks",
        "input": "inputs",
        "id": "pairing id",
        "tool_use_id": "pairing id",
        "is_error": "error flag",
        "stop_reason": "stop signal",
    },
    "openai_chat": {
        "function": "wrapped in",
        "parameters": "schema",
        "role": "who speaks",
        "arguments": "inputs",
        "id": "pairing id",
        "tool_call_id": "pairing id",
        "finish_reason": "stop signal",
    },
    "openai_responses": {
        "parameters": "schema",
        "role": "who speaks",
        "arguments": "inputs",
        "call_id": "pairing id",
        "status": "stop signal",
    },
    "gemini": {
        "functionDeclarations": "wrapped in",
        "parametersJsonSchema": "schema",
        "role": "who speaks",
        "args": "inputs",
        "id": "pairing id",
        "error": "error flag",
        "finishReason": "stop signal",
    },
}
OPAQUE = ("input_schema", "parameters", "parametersJsonSchema", "input", "args")  # what is inside is the tool's own
SPOKEN = ("who speaks", "stop signal")  # told with their values
ITEM_WITHOUT_ROLE = ("function_call", "function_call_output")
FLAG_IN_TEXT = "is_error: true\n"
WIDTH = 100
SAME, OTHER = "=", "≠"
LEFT = 'style="text-align: left; padding-right: 12px"'


class Step(Shown):
    """One step of the conversation in the shapes chosen."""

    def __init__(self, title: str, parts: Mapping[str, Any]):
        self.title, self.parts = title, parts
        self.facts = {shape: _facts(shape, value) for shape, value in parts.items()}

    def differences(self) -> dict[str, dict[str, str]]:
        """What is said differently: `{"inputs": {"anthropic": "input: object", "gemini": "args: object"}}`."""
        rows = {
            topic: {shape: ", ".join(facts.get(topic, ())) for shape, facts in self.facts.items()} for topic in TOPICS
        }
        return {topic: row for topic, row in rows.items() if len(set(row.values())) > 1}

    def as_text(self) -> str:
        lines = [self.title]
        for topic, row in self._rows():
            lines.append(f"  {SAME if len(set(row.values())) == 1 else OTHER} {topic}")
            lines += [f"      {TITLES[shape]:24} {said or 'none'}" for shape, said in row.items()]
        for shape, value in self.parts.items():
            lines += ["", TITLES[shape], *_marked_lines(shape, value)]
        return "\n".join(lines)

    def as_html(self) -> str:
        head = "".join(f'<th scope="col" {LEFT}>{TITLES[shape]}</th>' for shape in self.parts)
        rows = []
        for topic, row in self._rows():
            sign = SAME if len(set(row.values())) == 1 else OTHER
            cells = "".join(f"<td {LEFT}><code>{html.escape(said or 'none')}</code></td>" for said in row.values())
            rows.append(f'<tr><td>{sign}</td><th scope="row" {LEFT}>{topic}</th>{cells}</tr>')
        boxes = "".join(
            f'<div style="flex: 1 1 18em; min-width: 0"><p><b>{TITLES[shape]}</b></p>'
            f"{PRE}{_marked_html(shape, value)}</pre></div>"
            for shape, value in self.parts.items()
        )
        return (
            f"<p><b>{html.escape(self.title)}</b></p><table><thead><tr>"
            f'<th scope="col" {LEFT}>same?</th><th scope="col" {LEFT}>topic</th>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>"
            f'<div style="display: flex; flex-wrap: wrap; gap: 0 12px">{boxes}</div>'
        )

    def _rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        for topic in TOPICS:
            row = {shape: ", ".join(facts.get(topic, ())) for shape, facts in self.facts.items()}
            if any(row.values()):
                yield topic, row


class SideBySide(Shown):
    """The conversation, converted once; `lost` has for each shape what it has no place for."""

    def __init__(self, source: Any, tools: Iterable[Any] = (), shapes: Sequence[str] = VIEWED):
        unknown = [shape for shape in shapes if shape not in VIEWED]
        if unknown or not shapes:
            raise ValueError(
                f"{unknown[0] if unknown else 'Nothing'!r} is not a shape to view: choose from {', '.join(VIEWED)}."
            )
        self.messages = read_messages(source)
        self.shapes = tuple(shapes)
        self.tools = [definition_to("anthropic", tool).value for tool in tools]
        whole = {shape: request_to(shape, self._request(len(self.messages))) for shape in self.shapes}
        self.lost: dict[str, tuple[Lost, ...]] = {shape: converted.lost for shape, converted in whole.items()}

    def __len__(self) -> int:
        return len(self.messages) + (1 if self.tools else 0)

    def step(self, number: int, *shapes: str) -> Step:
        """Step `number`, the first is 1, in all shapes or in those named; outside there is the nearest end."""
        chosen = shapes or self.shapes
        if unknown := [shape for shape in chosen if shape not in self.shapes]:
            raise ValueError(f"{unknown[0]!r} is not shown here: choose from {', '.join(self.shapes)}.")
        number = min(max(number, 1), max(len(self), 1))
        index = number - (2 if self.tools else 1)
        title = f"Step {number} of {len(self)}: {self._title(index)}"
        return Step(title, {shape: self._part(shape, index) for shape in chosen})

    def as_text(self) -> str:
        titles = [f"  {n}  {self._title(n - (2 if self.tools else 1))}" for n in range(1, len(self) + 1)]
        told = [f"  {TITLES[s]} has no place for {loss.path}: {loss.why}" for s in self.shapes for loss in self.lost[s]]
        shown = "One conversation in " + ", ".join(TITLES[shape] for shape in self.shapes)
        return "\n".join([shown, *titles, *told, "Run this cell to step through it, or write: view.step(2)"])

    def as_html(self) -> str:
        return "".join(self.step(number).as_html() for number in range(1, len(self) + 1)) or "<p>Nothing was said.</p>"

    def _request(self, count: int) -> dict[str, Any]:
        return {"model": "a-model", "max_tokens": 1024, "messages": self.messages[:count], "tools": self.tools}

    def _title(self, index: int) -> str:
        if index < 0:
            return "the definitions"
        if index >= len(self.messages):
            return "nothing"
        kinds = dict.fromkeys(block["type"] for block in self.messages[index]["content"])
        return f"{self.messages[index]['role']}, {' and '.join(kinds) or 'nothing'}"

    def _part(self, shape: str, index: int) -> Any:
        """What this step is in one shape: the definitions, a reply, or what a message adds to the request."""
        if index >= len(self.messages):
            return []
        if index < 0:
            return request_to(shape, self._request(0)).value.get("tools", [])
        if self.messages[index]["role"] == "assistant":
            return _reply(shape, self.messages[index])
        before, with_it = (_items(shape, request_to(shape, self._request(count)).value) for count in (index, index + 1))
        return with_it[len(before) :] or with_it[-1:]


def side_by_side(source: Any, tools: Iterable[Any] = (), shapes: Sequence[str] = VIEWED) -> SideBySide:
    """A conversation in several shapes, to step through; its plain calls are `.step(2)` and `.step(2, "gemini")`."""
    return _widget()(source, tools, shapes)


def _items(shape: str, body: Mapping[str, Any]) -> list[Any]:
    return body[{"openai_responses": "input", "gemini": "contents"}.get(shape, "messages")]


def _reply(shape: str, message: Message) -> Any:
    """The part of a reply that carries the turn and says why it ended."""
    calls = any(block["type"] == "tool_use" for block in message["content"])
    whole = {"id": "msg_1", **message, "stop_reason": "tool_use" if calls else "end_turn"}
    reply = reply_to(shape, whole).value
    if shape == "anthropic":
        return {key: reply[key] for key in ("role", "content", "stop_reason")}
    if shape == "openai_chat":
        [choice] = reply["choices"]
        kept = {key: value for key, value in choice["message"].items() if key != "refusal"}
        return {"message": kept, "finish_reason": choice["finish_reason"]}
    if shape == "openai_responses":
        return {key: reply[key] for key in ("output", "status")}
    [candidate] = reply["candidates"]
    return {key: candidate[key] for key in ("content", "finishReason")}


# What is worth a look.


def _facts(shape: str, value: Any) -> dict[str, tuple[str, ...]]:
    """Topic → how this shape says it, each way once."""
    found: dict[str, dict[str, None]] = {}
    for topic, said in _walk(shape, value, 0):
        found.setdefault(topic, {})[said] = None
    return {topic: tuple(said) for topic, said in found.items()}


def _walk(shape: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and value.startswith(FLAG_IN_TEXT):
        yield "error flag", "in the text"
    if isinstance(value, list):
        for item in value:
            yield from _walk(shape, item, depth)
    if not isinstance(value, dict):
        return
    if shape == "openai_responses" and value.get("type") in ITEM_WITHOUT_ROLE:
        yield "who speaks", f"type: {value['type']}"
    for key, part in value.items():
        topic = _topic(shape, key, depth)
        if topic:
            yield topic, _said(topic, key, part)
        if key not in OPAQUE:
            yield from _walk(shape, part, depth + 1)


def _topic(shape: str, key: str, depth: int) -> str | None:
    # An item of Responses has its own status; the reply's is the outermost.
    return None if key == "status" and depth else KEYS[shape].get(key)


def _said(topic: str, key: str, value: Any) -> str:
    if topic in SPOKEN:
        return f"{key}: {value}"
    if topic == "inputs":
        return f"{key}: {'JSON text' if isinstance(value, str) else 'object'}"
    return f"{key}: {json.dumps(value)}" if isinstance(value, bool) else key


LINE_KEY = re.compile(r'( *)"([^"]+)": ')


def _lines(shape: str, value: Any) -> Iterator[tuple[str, str]]:
    """The value as lines of JSON, each with the topic that its key belongs to, or an empty text."""
    inside = -1  # the indent of an opaque value that we are in
    for line in json.dumps(value, ensure_ascii=False, indent=1).split("\n"):
        found = LINE_KEY.match(line)
        indent = len(line) - len(line.lstrip(" "))
        if inside >= 0 and indent > inside:
            yield line, ""
            continue
        inside = indent if found and found[2] in OPAQUE and line.endswith(("{", "[")) else -1
        outermost = indent <= 1
        topic = (_topic(shape, found[2], 0 if outermost else 1) or "") if found else ""
        if not topic and json.dumps(FLAG_IN_TEXT)[1:-1] in line:
            topic = "error flag"
        yield line, topic


def _marked_lines(shape: str, value: Any) -> list[str]:
    """The JSON with the topics in a margin; a line that is too long is cut."""
    room = WIDTH - 18
    lines = []
    for line, topic in _lines(shape, value):
        line = line if len(line) <= room else line[: room - 1] + "…"
        lines.append(f"  {line:{room}} ◂ {topic}" if topic else f"  {line}")
    return lines


def _marked_html(shape: str, value: Any) -> str:
    written = []
    for line, topic in _lines(shape, value):
        line = html.escape(line)
        written.append(f"<mark>{line}</mark> <small>◂ {topic}</small>" if topic else line)
    return "\n".join(written)


@cache
def _widget() -> type[SideBySide]:
    try:
        import ipywidgets
    except ImportError:
        return SideBySide

    class SideBySideWidget(SideBySide, ipywidgets.VBox):
        """`.number` chooses the step, `.left` and `.right` the two shapes shown in `.view`."""

        def __init__(self, source: Any, tools: Iterable[Any] = (), shapes: Sequence[str] = VIEWED):
            SideBySide.__init__(self, source, tools, shapes)
            last = max(len(self), 1)
            options = [(TITLES[shape], shape) for shape in self.shapes]
            self.number = number_field("Step", 1, 1, last, f"Step 1 to {last}", name_width="80px")
            self.left = choice_field("Left", options, self.shapes[0], "The shape on the left", name_width="80px")
            self.right = choice_field("Right", options, self.shapes[-1], "The shape on the right", name_width="80px")
            self.view = ipywidgets.HTML(layout={"overflow": "auto"})  # where it is narrow, the table scrolls
            for part in (self.number, self.left, self.right):
                part.observe(lambda _: self._draw(), "value")
            ipywidgets.VBox.__init__(self, [choice_rules(), self.number, self.left, self.right, self.view])
            self.add_class("course-side-by-side")
            self._draw()

        def _draw(self) -> None:
            chosen = dict.fromkeys([self.left.value, self.right.value])
            self.view.value = status(SideBySide.step(self, self.number.value, *chosen).as_html())

    return SideBySideWidget

"""Golden traces: a run kept as a file, and later runs compared with it call by call.

    golden(mock.requests)      what the model read and what it answered, step by step
    .save("refund.jsonl")      one step a line; `load_golden` reads it again
    diff_golden(kept, now)     at which step, in which field, they differ

A step is one question to the model. It is read from the body that left the adapter, in any provider's shape, and
written in the shape of the Messages API; so what an adapter loses is missing there. Ids are numbered as they come,
because no two runs share them. How often a run is right is measured in `trials.py`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from course_kit.contract.messages import content_blocks, text_of
from course_kit.contract.shapes import normal_form, reply_from, request_from
from course_kit.contract.streaming import EventDecoder, StreamError, message_from_events
from course_kit.errors import CourseKitError

__all__ = [
    "ABSENT",
    "GOLDENS",
    "Difference",
    "Golden",
    "GoldenDiff",
    "GoldenError",
    "diff_golden",
    "golden",
    "load_golden",
    "parts_of",
]

FORMAT = 1
SHAPE_OF = {"/messages": "anthropic", "/chat/completions": "openai_chat", "/responses": "openai_responses"}
GOLDENS = Path(__file__).parents[1] / "data" / "golden"  # the course's own
LONGEST = 60  # characters of a value in a line of a diff
FIELDS = ("tools", "choice", "system", "echo", "given", "stop", "calls", "said")  # cause before effect


class Word(str):
    """A value that is not JSON: something absent, or a step in a few words."""


ABSENT = Word("absent")


class GoldenError(CourseKitError):
    """No golden trace can be made or read from this."""


@dataclass(frozen=True)
class Golden:
    """The steps of one run; `about` is what its file says of it: a name, the question, versions, whatever you like.

    A step is `{"tools": {name: digest}, "given": [blocks], "stop": "tool_use", "calls": [{…}], "said": "…"}`:
    `given` is what the model had not read before. `echo` is there only if the model's last turn came back to it
    changed.
    """

    steps: tuple[dict[str, Any], ...]
    about: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "\n".join(line for number, step in enumerate(self.steps, 1) for line in _lines(number, step))

    def save(self, path: str | Path) -> Path:
        """Write it as JSONL: a line about the run, then a line for each step."""
        lines = [{"golden": FORMAT, **self.about}, *self.steps]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        path = Path(path)
        path.write_text(text, encoding="utf-8", newline="\n")
        return path


def load_golden(path: str | Path) -> Golden:
    """Read a golden trace from the file that `save` wrote."""
    path = Path(path)
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except FileNotFoundError:
        raise GoldenError(f"There is no golden trace {path.name}: record one with golden(…).save(…).") from None
    except ValueError as error:
        raise GoldenError(f"{path.name} is no JSONL ({error}): record it again.") from None
    if not lines or not isinstance(lines[0], dict) or lines[0].get("golden") != FORMAT:
        raise GoldenError(f"{path.name} does not begin like a golden trace of format {FORMAT}: record it again.")
    about = {key: value for key, value in lines[0].items() if key != "golden"}
    return Golden(tuple(lines[1:]), about)


def golden(exchanges: Iterable[Any], **about: Any) -> Golden:
    """The golden trace of one conversation, from what went over the wire: `golden(mock.requests, name="refund")`.

    Takes the exchanges of a `MockProvider`, or those of a recording, `read_recording("run.jsonl")`. Requests that were
    refused or lost have no reply and are left out.
    """
    steps: list[dict[str, Any]] = []
    names: dict[str, str] = {}  # the id of a call → "call 1"
    for exchange in exchanges if isinstance(exchanges, Iterable) else [exchanges]:
        shape, body, reply = parts_of(exchange)
        if reply is None:
            continue
        if body.get("previous_response_id"):
            raise GoldenError("A request leaves its history with the provider: send the whole conversation each time.")
        steps.append(_step(request_from(shape, body).value, reply, names, steps[-1] if steps else None))
    if not steps:
        raise GoldenError("There is no answered request in these exchanges: run the conversation first.")
    return Golden(tuple(steps), about)


def parts_of(exchange: Any) -> tuple[str, Mapping[str, Any], Mapping[str, Any] | None]:
    """The shape, the body and the reply, as a Messages reply, of one exchange."""
    recorded = isinstance(exchange, Mapping)
    if not ({"request", "response"} <= exchange.keys() if recorded else hasattr(exchange, "path")):
        raise GoldenError("This is no exchange: give mock.requests, not messages.")
    sent = exchange["request"] if recorded else exchange
    path, body = (sent["path"], sent["body"]) if recorded else (sent.path, sent.body)
    shape = next((name for end, name in SHAPE_OF.items() if path.partition("?")[0].rstrip("/").endswith(end)), None)
    if not recorded:
        return shape or "anthropic", body, exchange.reply if shape else None
    answer = exchange["response"]
    if shape is None or answer.get("status") != 200 or answer.get("ending", "clean") != "clean":
        return shape or "anthropic", body, None
    reply = answer["body"] if "body" in answer else _told(answer["text"])
    return shape, body, reply_from(shape, reply).value


def _told(stream: str) -> Mapping[str, Any]:
    """The message that a recorded stream carried."""
    try:
        return message_from_events(EventDecoder().feed(stream.encode("utf-8", "surrogateescape")))
    except StreamError as error:
        raise GoldenError(f"A recorded stream cannot be read ({error}): record the run again.") from None


def _step(
    request: Mapping[str, Any], reply: Mapping[str, Any], names: dict[str, str], before: Mapping[str, Any] | None
) -> dict[str, Any]:
    messages = normal_form(request)["messages"]
    spoken = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    unread = messages[spoken[-1] + 1 if spoken else 0 :]
    given = [_named(block, names) for message in unread for block in message["content"]]
    echo = _spoken(messages[spoken[-1]], names) if spoken else None
    for block in content_blocks(reply):
        if block["type"] == "tool_use":
            names.setdefault(block["id"], f"call {len(names) + 1}")
    step: dict[str, Any] = {"tools": {tool["name"]: _digest(tool) for tool in request.get("tools") or ()}}
    step |= {"choice": request["tool_choice"]} if request.get("tool_choice") else {}
    step |= {"system": _system(request)} if request.get("system") else {}
    if before and echo != {"calls": before["calls"], "said": before["said"]}:
        step["echo"] = echo
    return {**step, "given": given, "stop": reply.get("stop_reason"), **_spoken(reply, names)}


def _spoken(message: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The calls and the words of a model's turn."""
    calls = [
        {"id": names.get(block["id"], "unknown call"), "name": block["name"], "input": block["input"]}
        for block in content_blocks(message)
        if block["type"] == "tool_use"
    ]
    return {"calls": calls, "said": text_of(message)}


def _named(block: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    known = {key: names.get(block[key], "unknown call") for key in ("tool_use_id",) if key in block}
    return {**block, **known}


def _system(request: Mapping[str, Any]) -> str:
    return text_of({"content": content_blocks({"content": request["system"]})})


def _digest(tool: Mapping[str, Any]) -> str:
    """A tool's definition as the model reads it, in eight letters: a changed word changes the digest."""
    read = [tool.get("description") or "", tool.get("input_schema") or {}]
    return hashlib.sha256(json.dumps(read, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:8]


# Comparing.


class Difference(NamedTuple):
    """One field that differs: `Difference(2, "given.0.is_error", True, ABSENT)`; steps are counted from 1."""

    step: int
    path: str
    golden: Any
    now: Any

    def __str__(self) -> str:
        return f"step {self.step}  {self.path}: golden {_shown(self.golden)}, now {_shown(self.now)}"


@dataclass(frozen=True)
class GoldenDiff:
    """All differences of a run from a golden one; true when there are none.

    `first` is the step where they diverge. Later steps answer another history, so they show what followed, not what
    is wrong.
    """

    differences: tuple[Difference, ...]
    steps: int  # of the golden trace

    def __bool__(self) -> bool:
        return not self.differences

    @property
    def first(self) -> int | None:
        """The step where they diverge, counted from 1, or None."""
        return self.differences[0].step if self.differences else None

    def __str__(self) -> str:
        if not self.differences:
            return f"{self.steps} steps, no difference"
        return "\n".join(str(difference) for difference in self.differences)

    __repr__ = __str__


def diff_golden(kept: Golden, now: Golden, *, ignore: Sequence[str] = ()) -> GoldenDiff:
    """Compare a run with its golden trace, step by step and field by field.

    `ignore` names fields of a step that may differ: `("said",)` for a real model, whose words differ each time.
    """
    if not (isinstance(kept, Golden) and isinstance(now, Golden)):
        raise GoldenError("Two golden traces are compared: make each with golden(…) or load_golden(…).")
    ignore = [ignore] if isinstance(ignore, str) else ignore
    if unknown := [name for name in ignore if name not in FIELDS]:
        raise GoldenError(f"A step has no field {unknown[0]!r}: ignore some of {', '.join(FIELDS)}.")
    found: list[Difference] = []
    for number in range(max(len(kept), len(now))):
        if number >= len(kept) or number >= len(now):
            none = Word("there is none")
            was, is_now = (_brief(side.steps[number]) if number < len(side) else none for side in (kept, now))
            found.append(Difference(number + 1, "the whole step", was, is_now))
            continue
        fields = [name for name in FIELDS if name not in ignore]
        before, after = ({name: side.steps[number].get(name, ABSENT) for name in fields} for side in (kept, now))
        found += [Difference(number + 1, path, old, new) for path, old, new in _compared(before, after, "")]
    return GoldenDiff(tuple(found), len(kept))


def _compared(old: Any, new: Any, path: str) -> Iterable[tuple[str, Any, Any]]:
    """The deepest places where two JSON values differ. `1` and `True` are not the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(key, old.get(key, ABSENT), new.get(key, ABSENT)) for key in dict.fromkeys([*old, *new])]
    elif isinstance(old, list) and isinstance(new, list):
        longest = range(max(len(old), len(new)))
        pairs = [(str(i), old[i] if i < len(old) else ABSENT, new[i] if i < len(new) else ABSENT) for i in longest]
    else:
        if type(old) is not type(new) or old != new:
            yield path, old, new
        return
    for key, left, right in pairs:
        yield from _compared(left, right, f"{path}.{key}".lstrip("."))


# Words.


def _shown(value: Any) -> str:
    text = value if isinstance(value, Word) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _brief(step: Mapping[str, Any]) -> Word:
    """A step in a few words: `tool_use, calls refund_order`."""
    calls = ", ".join(call["name"] for call in step.get("calls") or ())
    return Word(f"{step.get('stop')}, calls {calls}" if calls else f"{step.get('stop')}, no call")


def _lines(number: int, step: Mapping[str, Any]) -> Iterable[str]:
    for block in step["given"]:
        kind = "error" if block.get("is_error") else block["type"].removeprefix("tool_")
        said = text_of({"content": content_blocks(block)}) if block["type"] == "tool_result" else block.get("text", "")
        where = f" {block['tool_use_id']}:" if "tool_use_id" in block else ""
        yield _cut(f"step {number}  reads    {kind}{where} {said}")
    for call in step["calls"]:
        yield _cut(f"step {number}  {call['id']}   {call['name']} {json.dumps(call['input'], ensure_ascii=False)}")
    if step["said"]:
        yield _cut(f"step {number}  says     {step['said']}")
    yield f"step {number}  stops    {step['stop']}"


def _cut(line: str) -> str:
    line = " ".join(line.split("\n"))
    return line if len(line) <= 112 else line[:111] + "…"

"""What the conversions between providers' shapes share: what a conversion returns, and the small translations.

`chat.py`, `responses_request.py` with `responses_reply.py`, and `gemini.py` hold one provider each. The canonical shape
is the Messages API's: a `tool_use` block with an object as `input`, answered by a `tool_result`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from ..messages import Block, Message, content_blocks, merge_turns, text
from ..schema import NotJSON, parse_json

__all__ = [
    *("Converted", "Lost", "Notes", "FOREIGN_THINKING", "arguments_text", "as_image", "check_keys", "compact"),
    *(
        "data_url",
        "ending_lost",
        "foreign_thinking",
        "input_of",
        "legal_name",
        "legal_names",
        "marked",
        "normal_form",
        "reply_of",
        "short_id",
    ),
    *("texts_only", "unmarked", "usage_of"),
]


class Lost(NamedTuple):
    """Something that the other shape has no place for: where it was, and why it was lost."""

    path: str
    why: str


@dataclass(frozen=True)
class Converted:
    """The value in the other shape, and what it no longer says; with nothing in `lost` it converts back unchanged.

    `names` maps each tool name that was changed for the other side to its name here.
    """

    value: Any
    lost: tuple[Lost, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        written = json.dumps(self.value, ensure_ascii=False, indent=2, default=vars)
        return "\n".join([written, *(f"lost: {path}: {why}" for path, why in self.lost)])


class Notes(list[Lost]):
    """The losses of one conversion, as they are found."""

    def lose(self, path: str, why: str) -> None:
        """Note that something has no place there."""
        self.append(Lost(path.lstrip("."), why))

    def converted(self, value: Any, names: Mapping[str, str] | None = None) -> Converted:
        """What was converted, with the notes so far."""
        return Converted(value, tuple(self), names or {})


def check_keys(entry: Mapping[str, Any], known: Iterable[str], path: str, notes: Notes) -> None:
    """Note every key with a value that a conversion does not know."""
    passed = set(known)
    for key, value in entry.items():
        if key not in passed and value is not None:
            notes.lose(f"{path}.{key}".lstrip("."), "has no counterpart there")


# Inputs: an object here, a JSON text in OpenAI's shapes.


def compact(value: Any) -> str:
    """JSON without spaces, as it goes on the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def arguments_text(input: Any) -> str:
    """`{"city": "Oslo"}` → `'{"city":"Oslo"}'`; a text that never was JSON goes back as it came."""
    return input if isinstance(input, str) else compact(input)


def input_of(arguments: Any) -> Any:
    """The `input` of a call: the object in the text, or the text itself if there is none.

    So nothing is guessed: `check_tool_input` reads the text again and tells the model where it breaks. No text at all
    is a call without arguments: `""` → `{}`.
    """
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        value = parse_json(arguments) if arguments.strip() else {}
    except NotJSON:
        return arguments
    return value if isinstance(value, dict) else arguments


# Results: three of the shapes have no error flag, so the text's first line says it.

_ERROR, _SUCCESS, _MARK = "is_error: true\n", "is_error: false\n", "is_error: "


def marked(said: str, is_error: bool) -> str:
    """The text of a result for a shape without an error flag: `"no such order"` → `"is_error: true\\nno such order"`.

    A success stays as it is, unless it begins like a mark: then it is marked as a success.
    """
    return _ERROR + said if is_error else _SUCCESS + said if said.startswith(_MARK) else said


def unmarked(said: str) -> tuple[str, bool]:
    """The text without its mark, and whether it was an error's. A text from elsewhere has no mark: no error."""
    if said.startswith(_ERROR):
        return said.removeprefix(_ERROR), True
    return said.removeprefix(_SUCCESS), False


def texts_only(blocks: Iterable[Block], path: str, notes: Notes) -> list[str]:
    """The texts of a result, for a shape that carries nothing else in one; a note replaces what is left out."""
    texts, place = [], path if path == "system" else f"{path}.content"  # a system prompt is a list of blocks itself
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            check_keys(block, ("type", "text"), f"{place}.{index}", notes)
            texts.append(block["text"])
        else:
            notes.lose(f"{place}.{index}", f"only text has a place there, not `{block['type']}`")
            texts.append(f"(A block of type {block['type']} was left out here.)")
    return texts


# Names and ids: OpenAI's limits are the tighter ones.

NAME = re.compile(r"[a-zA-Z0-9_-]+")
LONGEST_NAME = 64


def legal_name(name: str) -> str:
    """A tool name that every provider takes, made from the name alone: a legal one stays as it is.

    `"files.read"` → `"files_read_0c5b8c3f"`: the digest keeps names apart that would become the same.
    """
    if NAME.fullmatch(name) and len(name) <= LONGEST_NAME:
        return name
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '_', name)[: LONGEST_NAME - 9]}_{digest}"


def legal_names(names: Iterable[str], notes: Notes | None = None) -> dict[str, str]:
    """What each name is called there, and a note for each that differs."""
    renamed = {name: legal_name(name) for name in names}
    for name, other in renamed.items():
        if name != other and notes is not None:
            notes.lose(f"tools.{name}", f"names have at most 64 letters, digits, _ and - there: sent as `{other}`")
    return renamed


def short_id(id: str) -> str:
    """A call id that Chat Completions takes: more than 40 characters get a 400."""
    return id if len(id) <= 40 else f"call_{sha256(id.encode()).hexdigest()[:35]}"


# Thinking of another provider: it must go back as it came, and its signature carries opaque data.

FOREIGN_THINKING = {"openai_responses": "openai.responses:", "gemini": "gemini:"}


def foreign_thinking(block: Mapping[str, Any]) -> tuple[str, Any] | None:
    """`(shape, what to send back)` for a thinking block that another provider's reply became, else None."""
    signature = block.get("signature") or ""
    for shape, mark in FOREIGN_THINKING.items():
        if block.get("type") == "thinking" and signature.startswith(mark):
            return shape, json.loads(signature.removeprefix(mark))
    return None


# Images and files.


def data_url(source: Mapping[str, Any]) -> str | None:
    """A source of an image or document as a URL; None where it is neither base64 nor a URL."""
    if source.get("type") == "base64":
        return f"data:{source['media_type']};base64,{source['data']}"
    return source.get("url") if source.get("type") == "url" else None


def as_image(url: str, type: str = "image") -> Block:
    """The block for a URL: `"data:image/png;base64,iVBO"` → a base64 source, any other a url source."""
    found = re.fullmatch(r"data:([^;,]+);base64,(.*)", url, re.DOTALL)
    if found:
        return {"type": type, "source": {"type": "base64", "media_type": found[1], "data": found[2]}}
    return {"type": type, "source": {"type": "url", "url": url}}


def usage_of(given: int, written: int, cached: int = 0, kept: int = 0, thought: int = 0) -> dict[str, Any]:
    """Counts of a provider whose input total includes what came from its cache, as `usage` counts them."""
    return {
        "input_tokens": max(0, given - cached - kept),
        "cache_creation_input_tokens": kept,
        "cache_read_input_tokens": cached,
        "output_tokens": written,
        "output_tokens_details": {"thinking_tokens": thought},
    }


def reply_of(
    id: str,
    model: str,
    content: list[Block],
    reason: str | None,
    usage: dict[str, Any],
    details: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A whole Messages reply; no other provider says which stop sequence was met."""
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": details,
        "usage": usage,
    }


def ending_lost(message: Mapping[str, Any], told: Iterable[str], notes: Notes, *, explained: bool = True) -> None:
    """Note what the other side cannot say of a reply's ending; `told` are the stop reasons that come back."""
    reason, details = message.get("stop_reason"), message.get("stop_details") or {}
    if message.get("stop_sequence"):
        notes.lose("stop_sequence", "which stop sequence was met is not told there")
    elif reason is not None and reason not in told:
        notes.lose("stop_reason", f"there is no such ending as `{reason}`")
    if details.get("category"):
        notes.lose("stop_details.category", "why a reply was refused has no field there")
    if details.get("explanation") and not explained:
        notes.lose("stop_details.explanation", "a refusal says nothing there")


# What counts as the same.


def normal_form(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request with one way of saying each thing: blocks instead of strings, turns merged, defaults left out.

    Two requests with the same normal form ask the same; a conversion and its way back are compared by it.
    """
    turns: list[Message] = []
    for message in request.get("messages") or ():
        blocks = [_normal_block(block) for block in content_blocks(message)]
        turns += [{"role": message["role"], "content": blocks}] if blocks else []
    form = {key: value for key, value in request.items() if value not in (None, [], {}, "", False)}
    if "tools" in form:
        form["tools"] = [_normal_tool(tool) for tool in form["tools"]]
    if "system" in form:
        form["system"] = content_blocks({"content": form["system"]})
    return {**form, "messages": merge_turns(turns)}


def _normal_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A definition without what says nothing: an empty description, `strict: false`, `type: "custom"`."""
    said = {key: value for key, value in tool.items() if key == "input_schema" or value not in (None, [], "", False)}
    return {key: value for key, value in said.items() if (key, value) != ("type", "custom")}


def _normal_block(block: Block) -> Block:
    if block["type"] in ("tool_use", "server_tool_use") and block.get("caller") == {"type": "direct"}:
        return {key: value for key, value in block.items() if key != "caller"}
    if block["type"] == "tool_result":
        kept = {key: block[key] for key in block if key not in ("content", "is_error")}
        content = block.get("content")
        kept |= {"content": [text(content)] if isinstance(content, str) else content} if content else {}
        return kept | ({"is_error": True} if block.get("is_error") else {})
    return block

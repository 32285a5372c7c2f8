"""Which input gets which part of the conversation: the simulated model's second question.

Every input of a tool collects candidates, each with its evidence and a reason. The best comes first, a span is used
once, and an optional input needs more evidence. Which tool is called is decided in `simulated.py`; how a
value is written in the unit and format that a definition states, in `filling.py`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from math import fsum
from typing import Any, NamedTuple

from .filling import as_wanted, fits, glosses, merged, options, type_of
from .spans import GENERIC, spans, tokens, words

__all__ = ["Choice", "Field", "Text", "choose_inputs", "fields_of"]


class Field(NamedTuple):
    """One input: its name, its schema, whether it is required, the words of its name and of its description."""

    name: str
    node: Mapping[str, Any]
    required: bool
    words: frozenset[str]
    about: frozenset[str]

    @property
    def type(self) -> str:
        """The JSON type of the input."""
        return self.node["type"]

    @property
    def item(self) -> Mapping[str, Any]:
        """The schema of one value, even if the input takes a list of them."""
        return self.node["items"] if self.type == "array" else self.node

    def is_about(self, names: str) -> bool:
        """Whether the name has one of these words, written whole: `from_city` is about "from start"."""
        parts = re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).replace("_", " ").lower().split()
        return not set(names.split()).isdisjoint(parts)


class Text(NamedTuple):
    """A text to look for values in; `trust` is 1 for the request itself and less for what was said before."""

    text: str
    trust: float = 1.0
    today: date | None = None


class Candidate(NamedTuple):
    score: float
    value: Any
    start: int
    end: int
    why: str


class Choice(NamedTuple):
    """A tool with the inputs found, the required ones not found, where each was found, and the reasons."""

    tool: Mapping[str, Any]
    values: dict[str, Any]
    missing: list[str]
    used: dict[str, tuple[str, Candidate]]
    reasons: list[str]


def fields_of(tool: Mapping[str, Any], more: Mapping[str, str] = {}) -> list[Field]:
    """The inputs of a tool; `more` is added to their descriptions, as an error text is."""
    schema, found = tool["input_schema"], []
    for name, node in (schema.get("properties") or {}).items():
        node = plain(node, schema)
        about = f"{node.get('description', '')} {more.get(name, '')}".strip()
        required = name in (schema.get("required") or ())
        found.append(Field(name, {**node, "description": about}, required, words(name), words(about)))
    return found


def plain(node: Any, root: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A schema with one type, its references and unions resolved: `{"type": ["integer", "null"]}` → integer."""
    node = merged(node, root)
    node["type"] = type_of(node)
    if node["type"] == "array":
        node["items"] = plain(node.get("items") or {}, root, depth + 1) if depth < 3 else {"type": "string"}
    return node


@lru_cache(maxsize=256)
def plain_tokens(text: str) -> tuple[tuple[str, int, int], ...]:
    """The words that are in no name, quotation or list."""
    taken = [span for span in spans(text) if span.kind in ("name", "quoted", "list")]
    return tuple(token for token in tokens(text) if not any(s.start <= token[1] < s.end for s in taken))


def near(field: Field, text: str, start: int, end: int) -> float:
    """How much of an input's name is next to a span, 0 to 3; a word of its description counts at most 1."""
    close: dict[str, float] = {}
    for word, left, right in plain_tokens(text):
        if word in field.words or word in field.about:
            gap = start - right if right <= start else left - end
            apart = 0.4 if re.search(r"[.,;:?!。，；]", text[min(right, end) : max(left, start)]) else 1
            close[word] = max(close.get(word, 0), (1 - gap / 40) * apart)
    named = fsum(close.get(word, 0) for word in field.words) / (len(field.words) or 1)
    return max(3 * named, *(closeness for word, closeness in close.items() if word not in GENERIC), 0)


# The rules. Each yields candidates for one input from one text.


def by_pattern(field: Field, text: str) -> Iterator[Candidate]:
    """A `pattern` finds its value anywhere: `^ORD-[0-9]{8}$` in "refund ORD-20260917"."""
    for match in re.finditer(r"[^\s,;()\"'`，。、；：！？「」《》一-鿿]+", text) if "pattern" in field.item else ():
        value = match[0].rstrip(".:!?")
        if value and field.item["type"] == "string" and fits(field.item, value):
            score = 4 + near(field, text, *match.span())
            yield Candidate(score, [value] if field.type == "array" else value, *match.span(), "matches its pattern")


def by_option(field: Field, text: str) -> Iterator[Candidate]:
    """An option that the text names, in the option's own spelling."""
    listed = "enum" in field.item or field.type == "array"
    for option in options(field.node) if field.type in ("string", "array") else ():
        wanted = words(str(option))
        hits = [token for token in tokens(text) if token[0] in wanted]
        if wanted and {word for word, _, _ in hits} == wanted:
            start, end = hits[0][1], hits[-1][2]
            if end - start <= 2 * len(str(option)) + 5:
                score = (5 if listed else 3) + near(field, text, start, end) / 3
                value = [option] if field.type == "array" else option
                yield Candidate(score, value, start, end, f"{option!r} is an option")


def by_gloss(field: Field, text: str) -> Iterator[Candidate]:
    """An option by what the description says of it: "never came" for `not_received (it never came)`."""
    for option, gloss in glosses(field.node):
        wanted = words(gloss)
        hits = [token for token in tokens(text) if token[0] in wanted]
        share = len({word for word, _, _ in hits}) / (len(wanted) or 1)
        if share >= 0.5:
            value = [option] if field.type == "array" else option
            yield Candidate(1.5 + 2 * share, value, hits[0][1], hits[-1][2], f"{option!r} is {gloss!r}")


def by_mention(field: Field, text: str) -> Iterator[Candidate]:
    """A boolean is true where its name is mentioned, false after a "no" or "without"."""
    telling = field.words - words("include enable return flag show")
    hits = [token for token in tokens(text) if token[0] in telling]
    if field.type == "boolean" and telling and {hit[0] for hit in hits} == telling:
        before = text[: hits[0][1]].lower()
        denied = re.search(r"\b(?:no|not|without|don't|never)\s+(?:\w+\s+){0,2}$|(?:不|无|没有)\S{0,2}$", before)
        yield Candidate(3.5, not denied, *hits[0][1:], "its name is mentioned")


# The preposition before a span, and the inputs it points to.
ROLES = {
    "from": "from start origin source departure",
    "to": "to destination end target arrival recipient",
    "in at near": "location city place country state region area address where",
}
DATED = "date day time when deadline"
SUITS = {
    "id": words("id identifier number code key token"),
    "number": words("id identifier number code"),
    "name": words("name city country person customer company team artist author language"),
    "email": words("email mail recipient"),
    "url": words("url link website"),
    "path": words("path file"),
}


def by_span(field: Field, text: str, today: date | None = None) -> Iterator[Candidate]:
    """A span fits by its kind, the input's words near it, the preposition before it and the unit after it."""
    numeric = field.item["type"] in ("integer", "number")
    dated = field.is_about(DATED) or "date" in str(field.item.get("format"))
    for position, span in enumerate(spans(text) if numeric or "enum" not in field.item else ()):
        score = -position / 100  # of equals, the first
        if span.kind == "name" and ("pattern" in field.item or text[: span.start].endswith("(")):
            continue  # a name has no pattern; "population size (Ne)" explains the words before it
        if span.kind == "list":
            numbers = all(isinstance(one, int | float) for one in span.value)
            if field.type != "array" or numbers != numeric:
                continue
            score += 3
        elif field.type not in ("string", "integer", "number", "array") or (
            numeric != (span.kind == "number") and numeric
        ):
            continue
        elif numeric:
            score += 1.5 + bool(words(span.unit) & (field.words | field.about))
        elif dated or span.kind in ("date", "time"):
            if not dated or span.kind not in ("date", "time"):
                continue
            score += 3 - 1.5 * (field.is_about("time") != (span.kind == "time"))
        else:
            score += {"quoted": 2.0, "name": 1.5, "id": 1.5, "number": -0.7}.get(span.kind, 0.3)
            suits = SUITS.get(span.kind, frozenset())
            score += 1 if field.words & suits else 0.5 if field.about & suits else 0
            own = words(text[span.start : span.end])
            before = re.search(r"(\w+)(?: the)? ?['\"“]?$", text[max(0, span.start - 80) : span.start].lower())
            if own & field.words and span.kind in ("name", "quoted", "id"):
                score += 4 if own - field.words else -9  # "Hilton Hotel" for hotel_name; a lone "ID" is not one
            elif before:
                for prepositions, names in ROLES.items():
                    if before[1] in prepositions.split():
                        score += 2.5 if field.is_about(names) else 1 if field.about & words(names) else -0.5
        score += near(field, text, span.start, span.end)
        value = as_wanted(span, field.name, field.node, today)
        if not {"enum", "pattern"}.isdisjoint(field.item) and not fits(field.node, value):
            score -= 1.5
        yield Candidate(score, value, span.start, span.end, f"{span.kind} span")


def by_rest(field: Field, text: str, own: frozenset[str] = frozenset()) -> Iterator[Candidate]:
    """A required free text takes the words left over: in no span, and not used by the tool itself."""
    free = field.required and field.item["type"] == "string" and not {"enum", "pattern", "format"} & field.item.keys()
    runs: list[tuple[int, int]] = []
    known = [(start, end) for word, start, end in tokens(text) if word in own or word in GENERIC] if free else ()
    taken = {place for start, end in known for place in range(start, end)}  # pairs of Chinese characters overlap
    for _, start, end in tokens(text) if free else ():
        if start in taken or end - 1 in taken or any(span.start <= start < span.end for span in spans(text)):
            continue
        gap = text[runs[-1][1] : start] if runs else "."
        if not gap.strip(" -"):
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    for start, end in runs:
        score = 0.8 + near(field, text, start, end) / 3 + (end - start) / 200
        yield Candidate(
            score, [text[start:end]] if field.type == "array" else text[start:end], start, end, "words left over"
        )


RULES = (by_pattern, by_option, by_gloss, by_mention, by_span, by_rest)


def choose_inputs(
    tool: Mapping[str, Any], texts: Sequence[Text], must_fit: bool = False, more: Mapping[str, str] = {}
) -> Choice:
    """The inputs of a tool, as far as the texts say them; with `must_fit`, only values that fit their schemas."""
    said = words(f"{tool['name']} {tool.get('description', '')}")
    own = frozenset(word for word in said if len(word) > 1 or word < "一")  # a Chinese character alone is half a word
    inputs = fields_of(tool, more)
    found: list[tuple[float, int, str, Candidate, Field]] = []
    for order, field in enumerate(inputs):
        for text in texts:
            context: dict[Any, list[Any]] = {by_span: [text.today], by_rest: [own]}
            for rule in RULES:
                for one in rule(field, text.text, *context.get(rule, ())):
                    if one.score * text.trust > (0.2 if field.required else 2.4):
                        found.append((one.score * text.trust, order, text.text, one, field))
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    choice = Choice(tool, {}, [], {}, [])
    for score, _, where, one, field in found:
        free = all(where != other or one.end <= c.start or c.end <= one.start for other, c in choice.used.values())
        more_of_it = field.type == "array" and one.why.endswith("option")
        if not (free or field.type == "boolean") or (field.name in choice.values and not more_of_it):
            continue
        if not fits(field.node, one.value, tool["input_schema"]) and must_fit:
            continue
        if field.name in choice.values:
            choice.values[field.name] += [value for value in one.value if value not in choice.values[field.name]]
        else:
            choice.values[field.name] = list(one.value) if isinstance(one.value, list) else one.value
            choice.used[field.name] = (where, one)
            shown = json.dumps(one.value, ensure_ascii=False)
            choice.reasons.append(f"  {field.name} = {shown}: {one.why} ({score:.1f})")
    ordered = {field.name: choice.values[field.name] for field in inputs if field.name in choice.values}
    choice = choice._replace(values=ordered)
    for field in inputs:
        if field.required and field.name not in choice.values:
            default = default_of(field)
            if default is None:
                choice.missing.append(field.name)
            else:
                choice.values[field.name] = default
                choice.reasons.append(f"  {field.name} = {json.dumps(default)}: the default")
    return choice


def default_of(field: Field) -> Any:
    """The default of the schema, or the one its description states; a boolean nobody mentions is false."""
    if field.node.get("default") is not None or field.type == "boolean":
        return field.node.get("default", False)
    stated = re.search(
        r"\bdefaults?(?: value)?(?: is| to|:) ['\"`]?([\w.-]*\w)", field.node["description"], re.IGNORECASE
    )
    value: Any = stated[1] if stated else None
    if stated and field.type != "string":
        try:
            value = json.loads(stated[1])
        except ValueError:
            return None
    return value if fits(field.node, value) else None

"""The simulated model: what it decides follows from the request, by rules you can read here in an evening.

It is no language model. It compares words, cuts the request into spans that could be values, and puts them where the
schema says they fit. So a description, a schema or an error text has effects whose causes can be found: ask `explain()`.

    request ─▶ read ─▶ relevance of each tool ─▶ inputs ─▶ call, ask, or answer in words

Spans and words come from `spans.py`; a value that fits a schema, where nothing was said, from `filling.py`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from math import log
from typing import Any, NamedTuple

from .filling import fill, fits, merged
from .scripted import Draft
from .spans import GENERIC, Span, clauses, spans, stem, tokens, words

__all__ = ["PROFILES", "Settings", "Simulated"]


@dataclass(frozen=True)
class Settings:
    """What one model does otherwise than another."""

    threshold: float = 0.3  # a tool less relevant than this is not called
    invents: float = 0.5  # how often a missing value is made up instead of asked for
    parallel: bool = True  # several calls in one turn
    noise: float = 0.02  # how far chance moves a relevance
    patience: int = 3  # equal failures in a row before it gives up
    obeys_results: bool = False  # takes text in results for instructions


PROFILES = {
    "steady": Settings(),
    "hasty": Settings(threshold=0.2, invents=1.0, parallel=False, noise=0.1),
}


# 1. Which tool: how much of the request a tool explains, and how much of the tool the request mentions.

ACTIONS = {
    "read": "get find list show search retrieve fetch look lookup view check what who where how which track query read",
    "add": "add create insert register new book make order place",
    "remove": "delete remove cancel clear drop",
    "change": "update set edit change modify rename turn adjust",
}
NOT = re.compile(r"\b(?:not|never|don't|cannot|except|instead)\b|不|勿|别用", re.IGNORECASE)


class Texts(NamedTuple):
    """A tool's definition as words: head (name, first sentence), rest, inputs; and whom it sends elsewhere."""

    head: frozenset[str]
    rest: frozenset[str]
    inputs: frozenset[str]
    elsewhere: tuple[tuple[frozenset[str], str], ...]


@lru_cache(maxsize=4096)
def read_description(name: str, description: str, inputs: str, rivals: frozenset[str]) -> Texts:
    """What follows a "not", or stands in a sentence with another tool's name, is not this tool's work."""
    own, elsewhere = [], []
    for sentence in re.split(r"(?<=[.;])\s|[。；\n]", description):
        named = next((rival for rival in rivals if re.search(rf"\b{re.escape(rival)}\b", sentence)), "")
        boundary = NOT.search(sentence)
        cut = boundary.start() if boundary else 0 if named else len(sentence)
        own.append(sentence[:cut])
        if cut < len(sentence):
            elsewhere.append((words(sentence[cut:].replace(named, " ") if named else sentence[cut:]), named))
    use_when = [
        sentence for sentence in own[1:] if re.match(r"\s*(?:use|call|when|for)\b|\s*当|\s*用于", sentence, re.I)
    ]
    head = words(name) | words(own[0]) | words(" ".join(use_when))
    return Texts(head, words(" ".join(own)), words(inputs), tuple(elsewhere))


def relevance(text: str, tools: list[dict[str, Any]]) -> dict[str, tuple[float, str]]:
    """Each tool's share in the request's words, from 0 to 1, with the reason."""
    names = frozenset(tool["name"] for tool in tools)
    read = {}
    for tool in tools:
        inputs = " ".join(f"{name} {node.get('description', '')}" for name, node in properties_of(tool).items())
        read[tool["name"]] = read_description(
            tool["name"], tool.get("description") or "", inputs, names - {tool["name"]}
        )
    asked = words(text)
    values = [words(text[span.start : span.end]) for span in spans(text) if span.kind not in ("list",)]
    known = {
        word: sum(word in t.head | t.rest | t.inputs for t in read.values())
        for word in asked.union(*(t.head for t in read.values()))
    }
    content = {word for word in asked if known[word] or not any(word in value for value in values)}

    def weight(group: Any) -> float:
        # Rivals hurt by themselves: a word that many tools use tells them less apart.
        return sum((0.25 if word in GENERIC else 1) / (1 + log(max(known.get(word, 1), 1))) for word in group)

    scores = {}
    for name, texts in read.items():
        explained = weight(content & texts.head)
        explained += 0.7 * weight((content & texts.rest) - texts.head)
        explained += 0.5 * weight((content & texts.inputs) - texts.head - texts.rest)
        coverage = explained / (weight(content) or 1)
        mention = max(weight(asked & part) / (weight(part) or 1) for part in (texts.head, words(name)))
        scores[name] = [(coverage + mention) / 2, f"explains {coverage:.0%}, is mentioned {mention:.0%}"]
        if clash(text, name, texts):
            scores[name][0] *= 0.7
            scores[name][1] += ", another action"
    for name, texts in read.items():
        for away, named in texts.elsewhere:
            share = weight((content & away) - texts.head) / (weight(content) or 1)
            if share:
                scores[name][0] *= 1 - share
                scores[name][1] += f", says not for {share:.0%} of it"
            if share and named in scores:
                scores[named][0] += share / 4
                scores[named][1] += f", {name} sends {share:.0%} here"
    return {name: (score, why) for name, (score, why) in scores.items()}


def action(text: str) -> str:
    said = re.findall(r"[a-z]+", text.lower())
    return next((kind for word in said for kind, verbs in ACTIONS.items() if word in verbs.split()), "")


def clash(text: str, name: str, texts: Texts) -> bool:
    """ "Delete it" is no work for `get_it`."""
    kinds = {action(text), action(re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " "))}
    return len(kinds) == 2 and "" not in kinds and bool(kinds & {"remove", "change"} or kinds == {"add", "read"})


# 2. Which input: candidates, each with its evidence; best first, a span is used once.


class Field(NamedTuple):
    """One input of a tool."""

    name: str
    node: Mapping[str, Any]
    required: bool
    words: frozenset[str]
    about: frozenset[str]

    @property
    def parts(self) -> frozenset[str]:
        return stems(re.sub(r"([a-z])([A-Z])", r"\1 \2", self.name).replace("_", " ").lower())

    @property
    def said(self) -> str:
        return f"{self.name.replace('_', ' ')}: {self.node.get('description', '')}"

    @property
    def type(self) -> str:
        type = self.node.get("type")
        if isinstance(type, list):
            type = next((one for one in type if one != "null"), None)
        return type or ("string" if "enum" in self.node or not self.node.get("properties") else "object")


class Text(NamedTuple):
    """One text of the conversation, with how fresh it is (1 is the present request)."""

    text: str
    fresh: float = 1.0
    today: date | None = None
    own: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    score: float
    value: Any
    span: tuple[int, int]
    why: str


def near(field: Field, text: Text, start: int, end: int) -> float:
    """How near the input's own words stand to a span: 3 beside it, 0 from 40 characters on; description words count a third."""
    close: dict[str, float] = {}
    for word, left, right in plain_tokens(text.text):
        if (word in field.words or word in field.about) and not (left < end and start < right):
            between = text.text[right:start] if right <= start else text.text[end:left]
            nearness = max(0.0, 1 - len(between) / 40) * (0.4 if re.search(r"[.,;:?!。，；、]| and ", between) else 1)
            close[word] = max(close.get(word, 0), nearness * (1 if right <= start else 0.9))
    own = sum(close.get(word, 0) for word in field.words) / (len(field.words) or 1)
    return max(3 * own, max((near for word, near in close.items() if word not in GENERIC), default=0.0))


@lru_cache(maxsize=256)
def plain_tokens(text: str) -> list[tuple[str, int, int]]:
    inside = [span for span in spans(text) if span.kind in ("name", "quoted", "list")]
    return [token for token in tokens(text) if not any(span.start <= token[1] < span.end for span in inside)]


def by_pattern(field: Field, text: Text) -> Iterator[Candidate]:
    """A `pattern` finds its value anywhere: `^ORD-[0-9]{8}$` in "refund ORD-20260917"."""
    if pattern := field.node.get("pattern"):
        try:
            inner = re.compile(rf"(?<![A-Za-z0-9-])(?:{pattern.removeprefix('^').removesuffix('$')})(?![A-Za-z0-9])")
        except re.error:
            return
        for match in inner.finditer(text.text):
            if match[0]:
                yield Candidate(4 + near(field, text, *match.span()), match[0], match.span(), f"matches {pattern}")


def options(field: Field) -> list[Any]:
    """Values that the schema lists, or the description: 'such as "asc" or "desc"', "one of damaged, other"."""
    listed = field.node.get("enum") or (field.node.get("items") or {}).get("enum")
    if listed:
        return listed
    said = field.node.get("description", "")
    found = re.findall(r"['\"‘“`]([^'\"’”`]{1,30})['\"’”`]", said)
    for run in re.findall(r"(?:one of|e\.g\.?,?|such as|like|options:?|options are|including)[: ]+([^.;()]+)", said):
        found += [part.strip(" '\"`[]") for part in re.split(r",|\bor\b|\band\b|/", run)]
    return [option for option in found if option and option != "etc"]


def by_option(field: Field, text: Text) -> Iterator[Candidate]:
    """An option that the text names, in the option's own spelling; a part of its words counts less."""
    if field.type not in ("string", "array"):
        return
    places = tokens(text.text)
    for option in options(field):
        wanted = [word for word, _, _ in tokens(str(option))]
        hits = [place for place in places if place[0] in wanted]
        share = len({hit[0] for hit in hits}) / len(wanted) if wanted else 0
        strict = "enum" in field.node or field.type == "array"
        if not wanted:
            continue
        if share == 1 or (share >= 0.5 and strict):
            start, end = min(hit[1] for hit in hits), max(hit[2] for hit in hits)
            if end - start > 2 * len(str(option)) + 5:
                start, end = hits[0][1:]
                share = min(share, 0.5)
            score = (5 if strict else 3) * share + near(field, text, start, end) / 3
            value = [option] if field.type == "array" else option
            yield Candidate(score, value, (start, end), f"{option!r} is one of its options")


def by_number(field: Field, text: Text) -> Iterator[Candidate]:
    """A number, nearest to the input's words, in the unit that the definition states."""
    if field.type not in ("integer", "number"):
        return
    for position, span in enumerate(spans(text.text)):
        if span.kind == "number":
            score = 1.5 + near(field, text, span.start, span.end) - position / 100
            year = field.words & {"year", "season"}
            is_year = (
                isinstance(span.value, int) and 1800 <= span.value <= 2100 and not span.unit.startswith(("$", "€"))
            )
            score += (1.5 if year else -0.5) if is_year else (-2 if year else 0)
            if span.unit and stem(span.unit.lower()) in field.words | field.about:
                score += 1.5
            yield Candidate(score, in_unit(span, field, text), (span.start, span.end), "a number near its words")


def in_unit(span: Span, field: Field, text: Text) -> int | float:
    """19.99 where cents are stated: 1999; 5 % where a decimal is: 0.05; else as it was said."""
    value = span.value
    said = field.said.lower()
    if re.search(r"\bcents\b|minor unit|分为单位", said) and not span.unit.startswith("cent"):
        return round(value * 100)
    if span.unit == "%" and (re.search(r"decimal|fraction|between 0 and 1|0\.\d", said)):
        return round(value / 100, 6)
    return int(value) if field.type == "integer" and value == int(value) else value


def by_date(field: Field, text: Text) -> Iterator[Candidate]:
    """A date in the format that is stated; without one, the words as they were said."""
    if field.type == "string" and (field.words | field.about) & {
        stem(w) for w in ("date", "day", "time", "when", "start", "end")
    }:
        for span in spans(text.text):
            if span.kind in ("date", "time"):
                clock = span.kind == "time"
                fit = bool(field.words & {"time", "hour"}) == clock
                score = 2.5 + near(field, text, span.start, span.end) - 1.5 * (not fit)
                value = span.value if clock else in_format(span.value, field, text.today)
                yield Candidate(score, value, (span.start, span.end), "a date or time")


def in_format(written: str, field: Field, today: date | None) -> str:
    said = f"{field.node.get('description', '')} {field.node.get('format', '')}"
    day = day_of(written, today)
    stated = re.search(r"\b(?:YYYY|DD|MM)([-/.])(?:MM|DD)\1(?:YYYY|DD)\b", said, re.IGNORECASE)
    if day is None or not (stated or re.search(r"ISO|date-time|\bdate$|\d{4}-\d\d-\d\d", said)):
        return written
    shape = stated[0].upper() if stated else "YYYY-MM-DD"
    shown = shape.replace("YYYY", f"{day.year}").replace("MM", f"{day.month:02}").replace("DD", f"{day.day:02}")
    return shown + ("T00:00:00Z" if "date-time" in said or "T00:00" in said else "")


def day_of(written: str, today: date | None) -> date | None:
    """The day that is meant: "May 12, 2022" by itself, "next Wednesday" only where today is known."""
    text = re.sub(r"(?<=\d)(?:st|nd|rd|th)|\bof |[.,]", "", written).strip()
    for shape in ("%Y-%m-%d", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y", "%m/%d/%Y", "%d/%m/%Y"):
        try:
            return datetime.strptime(text[:10] if shape == "%Y-%m-%d" else text, shape).date()
        except ValueError:
            continue
    if today is None:
        return None
    lower = written.lower()
    for names, days in (("today 今天", 0), ("tomorrow 明天", 1), ("yesterday 昨天", -1)):
        if lower in names.split():
            return today + timedelta(days)
    for index, name in enumerate("mon tues wednes thurs fri satur sun".split()):
        if f"{name}day" in lower or (
            re.search("周|星期", lower) and lower[-1] in ("日天" if index == 6 else "一二三四五六"[index])
        ):
            return today + timedelta((index - today.weekday() - 1) % 7 + 1)
    return None


def by_flag(field: Field, text: Text) -> Iterator[Candidate]:
    """A boolean is true when its name is mentioned, false behind a "no" or "without"."""
    if field.type != "boolean":
        return
    telling = field.words - {"includ", "enabl", "return", "flag", "is"}
    hits = [place for place in tokens(text.text) if place[0] in telling]
    if telling and {hit[0] for hit in hits} >= telling:
        before = text.text[: hits[0][1]].lower()
        denied = re.search(
            r"\b(?:no|not|without|don't|never|exclud\w+)\s+(?:\w+\s+){0,2}$|(?:不|无|没有)\S{0,2}$", before
        )
        yield Candidate(3.5, not denied, hits[0][1:], "its name is mentioned")


def by_list(field: Field, text: Text) -> Iterator[Candidate]:
    """A list, written as one or as "Oslo, Lima and Rome"; one value alone becomes a list of one."""
    if field.type != "array":
        return
    item = Field(field.name, field.node.get("items") or {}, field.required, field.words, field.about)
    for position, span in enumerate(spans(text.text)):
        place = (span.start, span.end)
        if span.kind == "list":
            numbers = all(isinstance(one, int | float) for one in span.value)
            fit = numbers == (item.type in ("integer", "number"))
            if fit:
                yield Candidate(3 + near(field, text, *place) - position / 100, span.value, place, "a list")
        elif (span.kind == "number") == (item.type in ("integer", "number")) and span.kind in (
            "number",
            "quoted",
            "name",
            "id",
        ):
            score = 0.5 + near(field, text, *place) - position / 100
            yield Candidate(score, [span.value], place, "a list of one")


ROLES = {
    "from": "from start origin source departure depart sender base",
    "to": "to destination end target arrival arrive recipient",
    "in at near around": "location city place country state region area venue address where town",
    "by": "artist author composer director creator singer",
}
FITTING = {
    "id": "id identifier number code key token ticket docket formula",
    "email": "email mail recipient",
    "url": "url link website uri site",
    "path": "path file filename directory",
    "quoted": "name title text message query song book phrase word content function",
    "name": "name location city country person company team artist author state place language currency species",
}


@lru_cache(maxsize=64)
def stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


def by_span(field: Field, text: Text) -> Iterator[Candidate]:
    """A quoted text, a name or an id goes by its kind, by the preposition before it, and by the input's words near it."""
    if field.type != "string" or "enum" in field.node or field.words & stems("date time day"):
        return
    for position, span in enumerate(spans(text.text)):
        if span.kind in ("list", "date", "time"):
            continue
        kind = {"quoted": 2.0, "name": 1.5, "id": 1.5}.get(span.kind, 0.3)
        if (field.words | field.about) & stems(FITTING.get(span.kind, "")):
            kind += 1 if field.words & stems(FITTING.get(span.kind, "")) else 0.5
        before = re.search(r"(\w+)(?: the)? ?['\"“]?$", text.text[: span.start].lower())
        role = 0.0
        for prepositions, names in ROLES.items():
            if before and before[1] in prepositions.split():
                role = 2.5 if field.parts & stems(names) else 1 if field.about & stems(names) else -1
        inside = words(text.text[span.start : span.end])
        if inside & field.words:
            kind += 2 if inside - field.words else -9
        score = kind + role + near(field, text, span.start, span.end) - position / 100
        value = str(span.value) if span.kind != "number" else text.text[span.start : span.end].strip()
        yield Candidate(score, value, (span.start, span.end), f"{span.kind} span")


def by_rest(field: Field, text: Text) -> Iterator[Candidate]:
    """For a required free text nothing else was found for: the longest run of words that the tool's name does not explain."""
    free = field.type == "string" and field.required and not {"enum", "pattern", "format"} & field.node.keys()
    if not free:
        return
    runs: list[tuple[int, int]] = []
    for word, start, end in tokens(text.text):
        if word in text.own or word in GENERIC or any(s.start <= start < s.end for s in spans(text.text)):
            continue
        if runs and not text.text[runs[-1][1] : start].strip(" -"):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    for start, end in runs:
        score = 0.6 + near(field, text, start, end) / 3 + (end - start) / 100
        yield Candidate(score, text.text[start:end], (start, end), "words left over")


RULES = (by_pattern, by_option, by_number, by_date, by_flag, by_list, by_span, by_rest)


class Choice(NamedTuple):
    """The inputs found for one tool: values by name, required names without one, reasons, places that were used."""

    values: dict[str, Any]
    missing: list[str]
    reasons: list[str]
    used: dict[str, tuple[str, tuple[int, int]]]


def properties_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("input_schema") or {}
    return {name: node if isinstance(node, Mapping) else {} for name, node in (schema.get("properties") or {}).items()}


def fields_of(tool: Mapping[str, Any], extra: Mapping[str, str] = {}) -> list[Field]:
    schema = tool.get("input_schema") or {}
    required = schema.get("required") or ()
    found = []
    for name, node in properties_of(tool).items():
        node = merged(node, schema)
        said = node.get("description", "") + extra.get(name, "")
        found.append(Field(name, {**node, "description": said}, name in required, words(name), words(said)))
    return found


def choose_inputs(tool: Mapping[str, Any], texts: list[Text], must_fit: bool, extra: Mapping[str, str] = {}) -> Choice:
    schema = tool.get("input_schema") or {}
    own = words(f"{tool['name']} {tool.get('description', '')}")
    found = []
    inputs = fields_of(tool, extra)
    for order, input in enumerate(inputs):
        for index, text in enumerate(texts):
            for rule in RULES:
                for candidate in rule(input, text._replace(own=own)):
                    fit = fits({**input.node, "$defs": schema.get("$defs", {})}, candidate.value)
                    score = candidate.score * text.fresh + (0.5 if fit else -0.5)
                    # An input that may be left out needs more evidence.
                    if score >= (1 if input.required else 3.2) and (fit or not must_fit):
                        found.append((-score, order, index, candidate, input))
    found.sort(key=lambda entry: entry[:3])
    values: dict[str, Any] = {}
    used: dict[str, tuple[str, tuple[int, int]]] = {}
    reasons = []
    for negative, _, index, candidate, input in found:
        text = texts[index].text
        overlap = any(t == text and a < candidate.span[1] and candidate.span[0] < b for t, (a, b) in used.values())
        if input.type == "array" and input.name in values and candidate.why.endswith("options") and not overlap:
            values[input.name] += candidate.value
        elif input.name not in values and (not overlap or input.type == "boolean"):
            values[input.name] = list(candidate.value) if isinstance(candidate.value, list) else candidate.value
            used[input.name] = (text, candidate.span)
            reasons.append(f"  {input.name} = {candidate.value!r}: {candidate.why} ({-negative:.1f})")
    missing = []
    for input in inputs:
        if input.required and input.name not in values:
            default = stated_default(input)
            if default is not None and fits(input.node, default):
                values[input.name] = default
                reasons.append(f"  {input.name} = {default!r}: the default")
            else:
                missing.append(input.name)
    return Choice(values, missing, reasons, used)


def stated_default(input: Field) -> Any:
    if input.node.get("default") is not None:
        return input.node["default"]
    said = re.search(r"[Dd]efaults?(?: value)?(?: is| to|:)? ['\"]?([\w.-]*\w)", input.node.get("description", ""))
    if not said:
        return None
    try:
        return json.loads(said[1].lower())
    except ValueError:
        return said[1]


class Simulated:
    def __init__(self, seed=0, profile="steady", **settings):
        self.seed = seed
        self.settings = replace(PROFILES[profile], **settings)

    def reply(self, request):
        text = request["messages"][-1]["content"]
        tools = request["tools"]
        calls, reasons = self.plan(text, tools)
        return Draft(
            [{"type": "tool_use", "name": n, "input": i} for n, i in calls] or [{"type": "text", "text": "words"}],
            reasons,
        )

    def rank(self, text, whole, tools, inherit=()):
        scored = relevance(text, tools)
        ranked = sorted(scored, key=lambda n: -scored[n][0])
        best = []
        by = {t["name"]: t for t in tools}
        for name in ranked[:3]:
            score, why = scored[name]
            texts = [Text(text, 1)] + [Text(t, 0.6) for t in inherit]
            choice = choose_inputs(by[name], texts, False)
            n = len((by[name].get("input_schema") or {}).get("required") or ())
            share = 1 - len(choice.missing) / n if n else 1
            best.append(
                (
                    score * (0.6 + 0.4 * share),
                    name,
                    choice,
                    f"{name}: {score:.2f} ({why}), {share:.0%} of its required inputs found",
                )
            )
        best.sort(key=lambda b: -b[0])
        return best

    def plan(self, text, tools):
        reasons = []
        parts = clauses(text)
        opened = []
        for part in parts:
            best = self.rank(part, text, tools, [text])[0]
            score, name, choice, why = best
            if score >= self.settings.threshold + 0.05:
                if opened and opened[-1][1] == name:
                    opened[-1][2].append(part)
                else:
                    opened.append((score, name, [part]))
            elif opened:
                opened[-1][2].append(part)
        if len({o[1] for o in opened}) < 2:
            opened = [(0, None, [text])]
        calls = []
        for _, name, ps in opened:
            best = self.rank(" ".join(ps), text, tools, [text] if len(opened) > 1 else [])
            if name:
                best = [b for b in best if b[1] == name] or best
            score, name, choice, why = best[0]
            reasons += [why, *choice.reasons]
            tool = next(t for t in tools if t["name"] == name)
            n = len((tool.get("input_schema") or {}).get("required") or ())
            if score < self.settings.threshold or (n and len(choice.missing) / n > 0.5):
                continue
            for values in self.expand(choice, tool):
                full = fill(tool["input_schema"], values) if choice.missing else values
                calls.append((name, full))
        return calls, reasons

    def expand(self, choice, tool):
        many = []
        for name, (text, place) in choice.used.items():
            if isinstance(choice.values[name], list):
                continue
            for span in spans(text):
                if (
                    span.parts
                    and span.parts[0].kind != "number"
                    and re.search(r"\b(?:and|or)\b|&|和|、", text[span.parts[-2].end : span.parts[-1].start])
                    and any((p.start, p.end) == place for p in span.parts)
                ):
                    many.append((name, span))
        if not many:
            return [choice.values]
        spansused = {id(s) for _, s in many}
        if len(many) > len(spansused):
            return [choice.values]
        length = max(len(s.parts) for _, s in many)
        return [
            {**choice.values, **{n: type(choice.values[n])(s.parts[min(i, len(s.parts) - 1)].value) for n, s in many}}
            for i in range(length)
        ]

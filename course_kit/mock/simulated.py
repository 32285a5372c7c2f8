"""The simulated model: what it decides follows from the request, by rules that can be read in an evening.

It is no language model. It compares words, cuts the request into spans that could be values, and puts them where the
definitions say they belong. So a description, a schema or an error text has effects with causes: ask `explain()`.

    request ─▶ read ─▶ which tool ─▶ which inputs ─▶ call, ask, or answer in words
                            ▲ after a result: what failed, and what of the request is still to do

Words and spans come from `spans.py`; how a value is written, or made up where nobody said it, is in `filling.py`.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import lru_cache
from math import log
from typing import Any, NamedTuple

from course_kit.contract.messages import content_blocks, merge_turns, text_of, tool_use_blocks

from .filling import day_of, fill
from .inputs import Choice, Text, choose_inputs, fields_of
from .scripted import Draft, call
from .spans import DATE, GENERIC, clauses, spans, words

__all__ = ["PROFILES", "Settings", "Simulated"]

Tool = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """What one model does otherwise than another."""

    threshold: float = 0.25  # a tool less relevant than this is not called
    invents: float = 0.5  # how often a missing value is made up instead of asked for
    parallel: bool = True  # several calls in one turn
    noise: float = 0.01  # how far chance moves a relevance
    patience: int = 3  # equal failures in a row before it gives up
    obeys_results: bool = False  # takes text in results for instructions


PROFILES = {"steady": Settings(), "hasty": Settings(threshold=0.15, invents=1.0, parallel=False, noise=0.05)}


# Which tool: how much of the request a tool explains, and how much of the tool the request mentions.

NOT = re.compile(r"\b(?:not|never|don't|cannot|instead)\b|不|勿", re.IGNORECASE)
USE_WHEN = re.compile(r"\s*(?:use|call|when|for)\b|\s*(?:当|用于)", re.IGNORECASE)


class Said(NamedTuple):
    """The words of a definition: name, head (name, first sentence, "use when"), rest, inputs; whom it sends away where."""

    name: frozenset[str]
    head: frozenset[str]
    rest: frozenset[str]
    inputs: frozenset[str]
    elsewhere: tuple[tuple[frozenset[str], str], ...]


@lru_cache(maxsize=4096)
def said_by(name: str, description: str, inputs: str, rivals: frozenset[str]) -> Said:
    """What follows a "not", or stands in a sentence with another tool's name, is not this tool's work."""
    own, elsewhere = [], []
    for sentence in re.split(r"(?<=[.;])\s|[。；\n]", description):
        named = min(rivals.intersection(re.findall(r"[A-Za-z0-9_-]+", sentence)), default="")
        boundary = NOT.search(sentence)
        cut = boundary.start() if boundary else 0 if named else len(sentence)
        own.append(sentence[:cut])
        if cut < len(sentence):
            elsewhere.append((words(sentence[cut:].replace(named, " ") if named else sentence[cut:]), named))
    head = words(" ".join([name, own[0], *filter(USE_WHEN.match, own[1:])]))
    return Said(words(name), head, words(" ".join(own)), words(inputs), tuple(elsewhere))


def values_in(text: str) -> frozenset[str]:
    """The words of a text that belong to a value."""
    return frozenset().union(*(words(text[span.start : span.end]) for span in spans(text)))


def relevance(text: str, tools: Sequence[Tool]) -> dict[str, tuple[float, str]]:
    """How relevant each tool is to a text, from 0 to 1, and why."""
    names = frozenset(tool["name"] for tool in tools)
    said = {}
    for tool in tools:
        inputs = " ".join(f"{field.name} {field.node.get('description', '')}" for field in fields_of(tool))
        said[tool["name"]] = said_by(tool["name"], tool.get("description") or "", inputs, names - {tool["name"]})
    asked = words(text)
    values = values_in(text)
    known = {word: 0 for one in said.values() for word in asked | one.head}
    for one in said.values():
        for word in known.keys() & (one.head | one.rest | one.inputs):
            known[word] += 1
    topic = {word for word in asked if known[word] or word not in values}

    def weight(group: Any) -> float:
        # Rivals hurt by themselves: a word that many of the visible tools use says little.
        return sum((0.25 if word in GENERIC else 1) / (1 + log(known[word] or 1)) for word in group)

    def share(part: Any, whole: Any) -> float:
        return weight(part) / (weight(whole) or 1)

    scores, reasons = {}, {}
    for name, one in said.items():
        explained = share(topic & one.head, topic) + 0.7 * share((topic & one.rest) - one.head, topic)
        explained += 0.5 * share((topic & one.inputs) - one.head - one.rest, topic)
        mentioned = max(share(asked & one.head, one.head), share(asked & one.name, one.name))
        scores[name] = (explained + mentioned) / 2
        reasons[name] = f"explains {explained:.0%}, {mentioned:.0%} of it is mentioned"
    for name, one in said.items():
        for away, named in one.elsewhere:
            if lost := share((topic & away) - one.head, topic):
                scores[name] *= 1 - lost
                reasons[name] += f", says {lost:.0%} is not its work"
                if named:
                    scores[named] += lost / 4
                    reasons[named] += f", {name} sends {lost:.0%} here"
    return {name: (scores[name], reasons[name]) for name in scores}


# A turn: what is visible, what was asked, what was called since, and what came of it.


class Made(NamedTuple):
    """A call that was made since the request, with its result; `latest` says that the result has just come."""

    name: str
    input: dict[str, Any]
    text: str
    failed: bool
    latest: bool


class Turn:
    def __init__(self, request: Mapping[str, Any]):
        turns = merge_turns(request.get("messages") or ())
        blocks = [block for turn in turns for block in content_blocks(turn)]
        found = set(re.findall(r"'tool_name': '([\w-]+)'", str([b for b in blocks if b["type"] != "text"])))
        tools = [tool for tool in request.get("tools") or () if "input_schema" in tool]
        self.tools = [tool for tool in tools if not tool.get("defer_loading") or tool["name"] in found]
        self.by_name = {tool["name"]: tool for tool in self.tools}
        self.choice = request.get("tool_choice") or {"type": "auto"}
        self.schema = ((request.get("output_config") or {}).get("format") or {}).get("schema")
        said = [i for i, turn in enumerate(turns) if turn["role"] == "user" and text_of(turn)]
        asked = [i for i in said if turns[i]["content"][0]["type"] != "tool_result"]
        start = asked[-1] if asked else 0
        self.text = "\n".join(text_of(turns[i]) for i in said if i >= start)
        self.earlier = [text_of(turns[i]) for i in reversed(said) if i < start]
        self.made: list[Made] = []
        for index in range(start, len(turns)):
            results = {b.get("tool_use_id"): b for b in content_blocks(turns[index])} if index > start else {}
            for block in tool_use_blocks(turns[index - 1]) if index > start else ():
                result = results.get(block["id"], {})
                last = index == len(turns) - 1
                shown = {b["type"] for b in content_blocks(result)} - {"text"}
                text = text_of(result) or ", ".join(sorted(shown))
                self.made.append(Made(block["name"], block["input"], text, bool(result.get("is_error")), last))
        system = request.get("system") or ""
        context = " ".join([system if isinstance(system, str) else text_of({"content": system}), *self.earlier, self.text])
        stated = re.search(rf"(?i:today(?:'s date)? is|今天是)\W+(?:\w+day,? )?({DATE})", context)
        self.today = day_of(stated[1]) if stated else None

    def texts(self, *own: str) -> list[Text]:
        """Where values come from: the part in question, the whole request, what was said before, results."""
        told = [*((text, 1.0) for text in own), (self.text, 0.6), *((text, 0.5) for text in self.earlier)]
        told += [(flat(made.text), 0.4) for made in self.made if not made.failed]
        return [Text(text, trust, self.today) for text, trust in dict(reversed(told)).items()][::-1]


def flat(text: str) -> str:
    """JSON as lines of `name: value`, any other text as it is: `{"a": {"b": 1}}` → `"a b: 1"`."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return "\n".join(_lines(value, "")) if isinstance(value, dict | list) else text


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value, 1):
            yield from _lines(part, f"{name} {key}".strip())
    elif value is not None:
        yield f"{name}: {value}"


# After a result: what its text says decides what comes next.

ENOUGH = re.compile(
    r"(?:do not|don't|never|no need to) (?:try|retry|repeat|call|ask)|will fail again|retryable\W+(?:no|false)"
    r"|\b(?:refused|denied|declined|rejected)\b|not allowed|不要重试|拒绝",
    re.IGNORECASE,
)
THE_USER = re.compile(r"\b(?:the|if|with|ask) (?:the )?user\b|用户", re.IGNORECASE)
RECEIVED = re.compile(r"\b(?:but|not|got|received)\s+(?:the (?:string|number) )?(?:\"[^\"]*\"|'[^']*'|-?[\d.]+\b)")
SAYS_NOTHING = ("", "null", "None", "(no output)")


def named_in(error: str, names: Any) -> dict[str, str]:
    """What an error text says of each name: from where it stands to where the next one does, without what was sent."""
    places = sorted((m.start(), name) for name in names for m in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", error))
    ends = [*(start for start, _ in places[1:]), len(error)]
    told: dict[str, str] = {}
    for (start, name), end in zip(places, ends, strict=False):
        told[name] = told.get(name, "") + " " + RECEIVED.sub(" ", error[start + len(name) : end])
    return told


class Simulated:
    """A model for the mock whose decisions follow from the request alone, and from a seed.

    `Simulated(seed=3, profile="hasty")`, or single settings: `Simulated(invents=1.0)`. The same request gets the same
    answer, whatever was asked before; `explain(request)` says why.
    """

    def __init__(self, seed: int = 0, profile: str = "steady", **settings: Any):
        known = [field.name for field in fields(Settings)]
        if profile not in PROFILES or not settings.keys() <= set(known):
            raise TypeError(f"Profiles are {', '.join(PROFILES)}; settings are {', '.join(known)}.")
        self.seed = seed
        self.settings = replace(PROFILES[profile], **settings)

    def explain(self, request: Mapping[str, Any]) -> str:
        """What this turn would be and why: the relevance of each tool, the evidence for each input."""
        return "\n".join(self.reply(request).reasons)

    def reply(self, request: Mapping[str, Any]) -> Draft:
        turn, why = Turn(request), []
        kind = turn.choice["type"]
        if not turn.tools or kind == "none":
            return self._words(turn, why, "no call is possible")
        if kind in ("any", "tool"):
            return Draft(self._forced(turn, why), why)
        calls, problem = self._calls(turn, why)
        if not calls:
            return self._words(turn, why, problem)
        single = turn.choice.get("disable_parallel_tool_use") or not self.settings.parallel
        return Draft(calls[:1] if single else calls, why)

    def _chance(self, turn: Turn, *about: Any) -> float:
        """A number from 0 to 1 that depends on the seed, the conversation and what it is about."""
        return random.Random(repr((self.seed, turn.text, turn.earlier, len(turn.made), about))).random()

    def _rank(self, text: str, turn: Turn, must_fit: bool = False) -> list[tuple[float, Choice]]:
        """The three most relevant tools with their inputs; required inputs that are nowhere lower a tool."""
        scores = relevance(text, turn.tools)
        noise = {name: self.settings.noise * (2 * self._chance(turn, text, name) - 1) for name in scores}
        ranked = []
        for name in sorted(scores, key=lambda name: -scores[name][0] - noise[name])[:3]:
            tool = turn.by_name[name]
            choice = choose_inputs(tool, turn.texts(text), must_fit or bool(tool.get("strict")))
            found = 1 - len(choice.missing) / (len(tool["input_schema"].get("required") or ()) or 1)
            score = scores[name][0] * (0.6 + 0.4 * found) + noise[name]
            choice.reasons.insert(0, f"{name} {score:.2f}: {scores[name][1]}; {found:.0%} of its required inputs found")
            ranked.append((score, choice))
        return sorted(ranked, key=lambda entry: -entry[0])

    def _plan(self, text: str, turn: Turn, why: list[str]) -> list[Choice]:
        """The calls that a text asks for, in its order: one for each part that has a tool of its own."""
        whole = self._rank(text, turn)
        why += [choice.reasons[0] for _, choice in whole]
        steps: list[tuple[str, str, dict[str, Any]]] = []
        parts = clauses(text)
        for part in parts if len(parts) > 1 else ():
            score, best = self._rank(part, turn)[0]
            name = best.tool["name"] if score >= self.settings.threshold else steps[-1][0] if steps else ""
            if name:
                alone = choose_inputs(turn.by_name[name], [Text(part, 1.0, turn.today)], False)
                own = {key: one.value for key, (_, one) in alone.used.items() if one.score > 2}
                before, text_before, values = steps[-1] if steps else ("", "", {})
                bare = not words(part) - values_in(part)
                again = (bare or score >= self.settings.threshold) and any(own[k] != values[k] for k in own.keys() & values.keys())
                if name != before or again:
                    steps.append((name, part, own))
                else:
                    steps[-1] = (name, f"{text_before} {part}", {**own, **values})
        if len(steps) < 2:
            choices = [whole[0][1]] if whole[0][0] >= self.settings.threshold else []
        else:
            choices = []
            for name, part, own in steps:
                choice = choose_inputs(turn.by_name[name], turn.texts(part), bool(turn.by_name[name].get("strict")))
                if choices and choices[-1].tool["name"] == name:
                    # The same tool again: what this part leaves unsaid is as in the part before.
                    choice = choice._replace(values={**choice.values, **choices[-1].values, **own})
                choices.append(choice)
        return [copy for choice in choices for copy in each_of_a_group(choice)]

    def _calls(self, turn: Turn, why: list[str]) -> tuple[list[dict[str, Any]], str]:
        """The calls of this turn; if there are none, what to say instead."""
        calls, problem = [], ""
        for made in turn.made:
            if made.latest and (made.failed or made.text.strip() in SAYS_NOTHING):
                again, problem = self._after_failure(made, turn, why)
                calls += again
        if calls or problem:
            return calls, problem
        planned = self._plan(turn.text, turn, why)
        if self.settings.obeys_results:
            for made in turn.made:
                planned += self._plan(flat(made.text), turn, why)
        done = [made.name for made in turn.made]
        for choice in planned:
            name = choice.tool["name"]
            if name in done:
                done.remove(name)
                continue
            why += choice.reasons[1:]
            earlier = {call["name"] for call in calls} - {name}
            if choice.missing and earlier & set(named_in(json.dumps(choice.tool), earlier)):
                why.append(f"{name} waits: its definition names what comes first")
            elif not choice.missing or self._may_invent(choice, turn):
                calls.append(self._call(choice, turn, why))
            elif not calls:
                return self._ask(choice, turn, why)
        if not planned and not turn.made:
            return self._search_for_tool(turn, why), "no tool is relevant enough"
        return calls, ""

    def _may_invent(self, choice: Choice, turn: Turn) -> bool:
        """Under `strict` a value is made up more often; when more than half is missing, only there."""
        strict, required = choice.tool.get("strict"), choice.tool["input_schema"].get("required") or ()
        chance = (1 + self.settings.invents) / 2 if strict else self.settings.invents
        if self._way_out(turn) or (len(choice.missing) > len(required) / 2 and not strict):
            return False
        return self._chance(turn, choice.tool["name"], choice.missing) < chance

    def _call(self, choice: Choice, turn: Turn, why: list[str]) -> dict[str, Any]:
        values = choice.values
        if choice.missing:
            made_up = fill(choice.tool["input_schema"], values, seed=(self.seed, turn.text))
            values = {**{name: made_up[name] for name in choice.missing if name in made_up}, **values}
            why.append(f"  made up: {', '.join(choice.missing)}")
        return call(choice.tool["name"], values)

    def _forced(self, turn: Turn, why: list[str]) -> list[dict[str, Any]]:
        """A call that must be: of the named tool or the best one, with an input that fits whatever was said."""
        if turn.choice["type"] == "tool":
            tool = turn.by_name.get(turn.choice["name"], turn.tools[0])
            choices = [choose_inputs(tool, turn.texts(), True)]
        else:
            choices = self._plan(turn.text, turn, why) or [self._rank(turn.text, turn)[0][1]]
        single = turn.choice.get("disable_parallel_tool_use") or not self.settings.parallel
        calls = []
        for choice in choices[:1] if single else choices:
            why += choice.reasons
            schema = choice.tool["input_schema"]
            calls.append(call(choice.tool["name"], fill(schema, choice.values, seed=(self.seed, turn.text))))
        return calls

    def _way_out(self, turn: Turn) -> Tool | None:
        """A tool for asking the user, known by its name: `ask_user`."""
        return next((tool for tool in turn.tools if re.match(r"ask(?![a-z])", tool["name"])), None)

    def _ask(self, choice: Choice, turn: Turn, why: list[str]) -> tuple[list[dict[str, Any]], str]:
        question = f"To call {choice.tool['name']} I still need: {', '.join(choice.missing)}."
        if out := self._way_out(turn):
            name = next(iter(out["input_schema"].get("properties") or {}), None)
            return [call(out["name"], fill(out["input_schema"], {name: question} if name else {}))], ""
        return [], question

    def _search_for_tool(self, turn: Turn, why: list[str]) -> list[dict[str, Any]]:
        """Where nothing fits, a tool that finds tools: one whose name says so."""
        for tool in turn.tools:
            if "tool" in words(tool["name"]):
                name = next(iter(tool["input_schema"].get("properties") or {}), "query")
                why.append(f"nothing fits: {tool['name']} may know a tool that does")
                return [call(tool["name"], fill(tool["input_schema"], {name: turn.text}))]
        return []

    def _after_failure(self, made: Made, turn: Turn, why: list[str]) -> tuple[list[dict[str, Any]], str]:
        """A tool that is named is called, an input that is named is mended; else the same call, for a while."""
        tool = turn.by_name.get(made.name)
        tried = [(other.name, other.input) for other in turn.made]
        for clause in re.split(r"[.;\n]\s*|, or ", made.text):
            for name in named_in(clause, turn.by_name.keys() - {made.name}):
                hinted = choose_inputs(turn.by_name[name], turn.texts(), True)
                if not THE_USER.search(clause) and not hinted.missing and (name, hinted.values) not in tried:
                    why.append(f"{made.name} failed and names {name}")
                    return [call(name, hinted.values)], ""
        told = named_in(made.text, (tool or {}).get("input_schema", {}).get("properties") or {})
        if tool and told:
            sent = [Text(str(made.input[name]), 0.7) for name in told if name in made.input]
            better = choose_inputs(tool, [*turn.texts(), *sent], True, told).values
            mended = {**made.input, **{name: better[name] for name in told if name in better}}
            if mended != made.input and (made.name, mended) not in tried:
                why.append(f"{made.name} failed; mended what the error names: {', '.join(told)}")
                return [call(made.name, mended)], ""
        equal = 0
        for other in reversed(turn.made):
            if (other.name, other.input, other.text) == (made.name, made.input, made.text):
                equal += 1
        short = made.text.strip().split("\n")[0][:200] or "nothing"
        if ENOUGH.search(made.text) or told or equal >= self.settings.patience:
            return [], f"{made.name} did not work: {short}"
        why.append(f"{made.name} failed and does not say why: the same call again")
        return [call(made.name, made.input)], ""

    def _words(self, turn: Turn, why: list[str], problem: str) -> Draft:
        """An answer in words, or as JSON where a format is asked for."""
        why.append(problem or "all that was asked for is done: answer in words")
        if turn.schema is not None:
            pseudo = {"name": "answer", "input_schema": turn.schema}
            given = choose_inputs(pseudo, turn.texts(), True).values if isinstance(turn.schema, dict) else {}
            text = json.dumps(fill(turn.schema, given, seed=(self.seed, turn.text)), ensure_ascii=False)
        elif problem and problem[0].isupper() or "did not work" in problem:
            text = problem
        elif turn.made:
            text = "\n".join(f"{made.name}: {quote(made.text, turn.text)}" for made in turn.made if not made.failed)
        else:
            text = "I answer this in words: no tool fits it."
        return Draft([{"type": "text", "text": text}], why)


def each_of_a_group(choice: Choice) -> list[Choice]:
    """One choice for "Oslo", three for "Oslo, Lima and Rome" where the input takes a single value."""
    for name, (text, used) in choice.used.items():
        value = choice.values[name]
        for group in spans(text) if isinstance(value, str) else ():
            if any((part.start, part.end) == (used.start, used.end) for part in group.parts):
                joint = text[group.parts[-2].end : group.parts[-1].start]
                used_else = any(t == text and group.start <= c.start < group.end for n, (t, c) in choice.used.items() if n != name)
                if re.search(r"\band\b|&|和|、", joint) and not used_else:
                    return [choice._replace(values={**choice.values, name: part.value}) for part in group.parts]
    return [choice]


def quote(result: str, request: str, most: int = 6) -> str:
    """The lines of a result that share most with the request, in their order, and those that say how much there is."""
    lines = [line.strip() for line in flat(result).split("\n") if line.strip()]
    asked = words(request)
    telling = re.compile(r"(?:total|returned|truncated|next cursor)\b|.*left out")
    best = sorted(range(len(lines)), key=lambda i: (-bool(telling.match(lines[i])), -len(words(lines[i]) & asked), i))
    return "; ".join(lines[i] for i in sorted(best[:most]))

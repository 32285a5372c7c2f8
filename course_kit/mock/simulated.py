"""The simulated model: what it decides follows from the request, by rules that can be read in an evening.

It is not a language model. It compares words, cuts the request into spans that could be values, and puts them where the
definitions say they belong. So whatever a description, a schema or an error text does has a reason: ask `explain()`.

    request ─▶ which tool ─▶ which inputs ─▶ calls, a question, or an answer in words
      turn.py     here         inputs.py       here

After a result the same, failures first. Words and spans are cut in `spans.py`; how a value is written, or made
up where nobody said it, is in `filling.py`.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import fsum, log
from typing import Any, NamedTuple

from course_kit.contract.messages import Block

from .filling import fill, fits
from .inputs import Choice, Text, choose_inputs, fields_of
from .scripted import Draft, call
from .spans import GENERIC, clauses, spans, words
from .turn import Made, Turn, flat, named_in, quote

__all__ = ["PROFILES", "Settings", "Simulated"]

Tool = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """How one model differs from another."""

    threshold: float = 0.25  # a tool less relevant than this is not called
    invents: float = 0.7  # how often a missing value is made up instead of asked for
    parallel: bool = True  # several calls in one turn
    noise: float = 0.01  # how much chance moves a relevance
    patience: int = 3  # equal failures in a row before it gives up
    obeys_results: bool = False  # takes text in results for instructions


PROFILES = {"steady": Settings(), "hasty": Settings(threshold=0.15, invents=1.0, parallel=False, noise=0.05)}
MOST_STEPS = 12  # a longer text is one step


# Which tool: how much of the request a tool explains, and how much of the tool the request mentions.

NOT = re.compile(r"\b(?:not|never|don't|cannot|instead)\b|不(?:用|适用|要|可|能|得|应|是|包括|支持)|勿", re.IGNORECASE)
AND_NOT = re.compile(r",\s*(?:and |or )?(?=not\b|nor\b)", re.IGNORECASE)
STATEMENT = re.compile(r"(?:my|it|this|the|they|there|he|she|we)\b[^?]*$|(?:我的|它)[^？]*$", re.IGNORECASE)
USE_WHEN = re.compile(r"\s*(?:use|call|when|for)\b|\s*(?:当|用于)", re.IGNORECASE)


class Said(NamedTuple):
    """The words of a definition: name, head (name, first sentence, "use when"), all of it, and other tools' work.

    `patterns` are those of its inputs.
    """

    name: frozenset[str]
    head: frozenset[str]
    all: frozenset[str]
    elsewhere: tuple[tuple[frozenset[str], str], ...]
    patterns: tuple[str, ...]


@lru_cache(maxsize=4096)
def said_by(name: str, description: str, inputs: str, patterns: tuple[str, ...], rivals: frozenset[str]) -> Said:
    """What follows a "not", or is in a sentence with another tool's name, is not this tool's work."""
    own, elsewhere = [], []
    for sentence in re.split(r"(?<=[.;])\s|[。；\n]", description):
        boundary = NOT.search(sentence)
        cut = boundary.start() if boundary else 0 if names_in(sentence) & rivals else len(sentence)
        own.append(sentence[:cut])
        for away in AND_NOT.split(sentence[cut:]):  # "not for X (use Y), not for Z (use W)"
            named = min(names_in(away) & rivals, default="")
            if about := words(away.replace(named, " ") if named else away):
                elsewhere.append((about, named))
    head = words(" ".join([name, own[0], *filter(USE_WHEN.match, own[1:])]))
    return Said(words(name), head, words(" ".join([name, *own, inputs])), tuple(elsewhere), patterns)


def names_in(text: str) -> set[str]:
    """Everything in a text that could be a tool's name."""
    return set(re.findall(r"[A-Za-z0-9_-]+", text))


def read_definitions(tools: Sequence[Tool]) -> dict[str, Said]:
    """The words of each tool's definition, by its name."""
    said, names = {}, frozenset(tool["name"] for tool in tools)
    for tool in tools:
        name, fields = tool["name"], fields_of(tool)
        inputs = " ".join(f"{field.name} {field.node['description']}" for field in fields)
        patterns = tuple(field.item["pattern"] for field in fields if isinstance(field.item.get("pattern"), str))
        said[name] = said_by(name, tool.get("description") or "", inputs, patterns, names - {name})
    return said


def relevance(text: str, said: Mapping[str, Said]) -> dict[str, tuple[float, str]]:
    """How relevant each tool is to a text, from 0 to 1, and why."""
    asked, values = words(text), values_in(text)
    ids = [span.value for span in spans(text) if span.kind == "id"]
    using = Counter(word for one in said.values() for word in one.all)
    topic = {word for word in asked if using[word] or word not in values}

    def share(part: Any, whole: Any) -> float:
        # Rivals hurt by themselves: a word that many of the visible tools use says little.
        weight = {word: (0.25 if word in GENERIC else 1) / (1 + log(using[word] or 1)) for word in whole}
        return fsum(weight[word] for word in part) / (fsum(weight.values()) or 1)

    scores, reasons = {}, {}
    for name, one in said.items():
        explained = 0.5 * share(topic & one.head, topic) + 0.5 * share(topic & one.all, topic)
        mentioned = max(share(asked & one.head, one.head), share(asked & one.name, one.name))
        if any(fits({"pattern": pattern}, value) for pattern in one.patterns for value in ids):
            mentioned = max(mentioned, 0.2)  # an id of its own kind
        scores[name] = (explained + mentioned) / 2
        reasons[name] = f"explains {explained:.0%}, {mentioned:.0%} of it is mentioned"
    for name, one in said.items():
        for away, named in one.elsewhere:
            if lost := share((topic & away) - one.head, topic):
                scores[name] *= max(0, 1 - 1.5 * lost)
                reasons[name] += f", says {lost:.0%} is not its work"
                if named:
                    scores[named] += lost / 4
                    reasons[named] += f", {name} sends {lost:.0%} here"
    return {name: (scores[name], reasons[name]) for name in scores}


def values_in(text: str) -> frozenset[str]:
    """The words of a text that belong to a value."""
    return frozenset().union(*(words(text[span.start : span.end]) for span in spans(text)))


class Simulated:
    """A model for the mock whose decisions follow from the request alone, and from a seed.

    `Simulated(seed=3, profile="hasty")`, or single settings: `Simulated(invents=1.0)`. The same request gets the same
    answer, whatever was asked before; `explain(request)` says why.
    """

    def __init__(self, seed: int = 0, profile: str = "steady", **settings: Any):
        known = [field.name for field in fields(Settings)]
        if profile not in PROFILES or not settings.keys() <= set(known):
            wrong = [repr(profile)] * (profile not in PROFILES) + sorted(settings.keys() - set(known))
            what = f"Simulated does not know {', '.join(wrong)}"
            raise TypeError(f"{what}: profiles are {', '.join(PROFILES)}; settings are {', '.join(known)}.")
        self.seed = seed
        self.settings = replace(PROFILES[profile], **settings)
        for name, value in vars(self.settings).items():
            if not isinstance(value, int | float):
                raise TypeError(f"{name} is {value!r}: a setting is a number, or True or False.")
        if not 0 <= self.settings.invents <= 1:
            raise ValueError(f"invents is {self.settings.invents}: it is a share, from 0 to 1.")

    def explain(self, request: Mapping[str, Any]) -> str:
        """What this turn would be and why: the relevance of each tool, the evidence for each input."""
        return "\n".join(self.reply(request).reasons)

    def reply(self, request: Mapping[str, Any]) -> Draft:
        """What the rules make of a request: content blocks, and the reasons for each."""
        turn, why = Turn(request), list[str]()
        turn.said = read_definitions(turn.tools)
        calls, problem = [], "I cannot call a tool here, so I answer in words."
        if (turn.choice["type"] == "any" and turn.tools) or (turn.choice["type"] == "tool" and turn.all_tools):
            calls = self._forced(turn, why)
        elif turn.choice["type"] == "auto" and (turn.tools or turn.search):
            calls, problem = self._calls(turn, why)
        if turn.choice.get("disable_parallel_tool_use") or not self.settings.parallel:
            calls = calls[:1]
        return Draft(calls or [{"type": "text", "text": self._words(turn, why, problem)}], why)

    def _chance(self, turn: Turn, *about: Any) -> float:
        """A number from 0 to 1 that depends on the seed, the conversation and what it is about."""
        return random.Random(repr((self.seed, turn.text, turn.earlier, turn.made, about))).random()

    # What the request asks for.

    def _rank(self, text: str, turn: Turn, texts: Sequence[Text]) -> list[tuple[float, Choice]]:
        """The three most relevant tools with their inputs; missing required inputs lower a tool."""
        scored = relevance(text, turn.said)
        noisy = {
            name: s + self.settings.noise * (2 * self._chance(turn, text, name) - 1) for name, (s, _) in scored.items()
        }
        ranked = []
        for name in sorted(noisy, key=lambda name: -noisy[name])[:3]:
            choice = choose_inputs(turn.by_name[name], texts, bool(turn.by_name[name].get("strict")))
            found = 1 - len(choice.missing) / (len(choice.tool["input_schema"].get("required") or ()) or 1)
            score = noisy[name] * (0.6 + 0.4 * found)
            choice.reasons.insert(0, f"{name} {score:.2f}: {scored[name][1]}; {found:.0%} of what it requires is found")
            ranked.append((score, choice))
        return sorted(ranked, key=lambda entry: -entry[0])

    def _plan(self, text: str, turn: Turn, why: list[str]) -> list[Choice]:
        """The calls that a text asks for, in its order: one for each part that has its own tool."""
        if not turn.tools:
            return []
        steps = self._steps(text, turn)
        if len(steps) < 2:
            whole = self._rank(text, turn, turn.texts(text))
            steps = [whole[0][1]] if whole[0][0] >= self.settings.threshold else []
            why += [choice.reasons[0] for _, choice in whole[len(steps) :]]
        return [one for step in steps for one in each_of_a_group(step)]

    def _steps(self, text: str, turn: Turn) -> list[Choice]:
        """One choice for each part of a text that wants another tool, or the same tool for another value."""
        steps: list[tuple[Choice, str, dict[str, Any]]] = []  # the tool, its part, what that says for sure
        parts = clauses(text)
        for part in parts if 1 < len(parts) <= MOST_STEPS else ():
            alone = [Text(part, 1.0, turn.today)]
            score, best = self._rank(part, turn, alone)[0]
            named = score >= self.settings.threshold and not STATEMENT.match(part)
            if not named and not steps:
                continue
            before, text_before, known = steps[-1] if steps else (best, "", {})
            if not named:
                best = choose_inputs(before.tool, alone)
            sure = {key: one.value for key, (_, one) in best.used.items() if one.score > 2}
            says_other = any(sure[key] != known[key] for key in sure.keys() & known.keys())
            bare = words(part) <= values_in(part)  # "and in Lima?"
            if steps and best.tool is before.tool and not (says_other and (named or bare)):
                steps[-1] = (before, f"{text_before} {part}", {**sure, **known})
            else:
                steps.append((best, part, sure))
        choices: list[Choice] = []
        for best, part, sure in steps:
            choice = choose_inputs(best.tool, turn.texts(part), bool(best.tool.get("strict")))
            choice.reasons[:0] = best.reasons[:1]
            if choices and choices[-1].tool is best.tool:
                # What is not said again for the same tool stays.
                choice = choice._replace(values={**choice.values, **choices[-1].values, **sure})
            choices.append(choice)
        return choices

    def _calls(self, turn: Turn, why: list[str]) -> tuple[list[Block], str]:
        """The calls of this turn; if there are none, what to say instead."""
        calls: list[Block] = []
        problem = ""
        for made in turn.made:
            if made.latest and (made.failed or made.text.strip() in SAYS_NOTHING):
                again, problem = self._after_failure(made, turn, why)
                calls += again
        if calls or problem:
            return calls, problem
        planned = self._plan(turn.text, turn, why)
        for made in turn.made if self.settings.obeys_results else ():
            lines = [line.split(": ", 1)[-1] for line in flat(made.text).split("\n")]
            planned += self._plan("\n".join(line for line in lines if len(line.split()) > 5), turn, why)
        done = [made.name for made in turn.made if not made.failed]
        failed = [(made.name, made.input) for made in turn.made if made.failed]
        for choice in planned:
            name = choice.tool["name"]
            first = {block["name"] for block in calls} - {name}
            why += choice.reasons
            if name in done:
                done.remove(name)
            elif (name, choice.values) in failed:
                why.append(f"{name} failed with this input before")
            elif choice.missing and named_in(json.dumps(choice.tool), first):
                why.append(f"{name} waits: its definition says what comes first")
            elif not choice.missing or self._may_invent(choice, turn):
                calls.append(self._call(choice, turn, why))
            elif not calls:
                return self._ask(choice, turn)
        if not planned and not turn.made:
            return self._search_for_a_tool(turn, why), "No tool fits this, so I answer in words."
        return calls, ""

    def _call(self, choice: Choice, turn: Turn, why: list[str]) -> Block:
        """The call; missing required values are made up."""
        values = choice.values
        if choice.missing or choice.tool.get("strict"):
            whole = fill(choice.tool["input_schema"], values, seed=(self.seed, turn.text))
            made_up = {name: whole[name] for name in choice.missing if name in whole}
            values = whole if choice.tool.get("strict") else {**values, **made_up}
        if choice.missing:
            why.append(f"  made up: {', '.join(choice.missing)}")
        return call(choice.tool["name"], values)

    def _may_invent(self, choice: Choice, turn: Turn) -> bool:
        """Under `strict` a value is made up more often; where more than half is missing, only there."""
        strict = bool(choice.tool.get("strict"))
        if ask_tool(turn) or (len(choice.missing) > len(choice.tool["input_schema"]["required"]) / 2 and not strict):
            return False
        chance = (1 + self.settings.invents) / 2 if strict else self.settings.invents
        return self._chance(turn, choice.tool["name"], choice.missing) < chance

    def _ask(self, choice: Choice, turn: Turn) -> tuple[list[Block], str]:
        question = f"To call {choice.tool['name']} I still need: {', '.join(choice.missing)}."
        tool = ask_tool(turn)
        return ([call(tool["name"], free_text(tool, question))], "") if tool else ([], question)

    def _search_for_a_tool(self, turn: Turn, why: list[str]) -> list[Block]:
        """Where nothing fits, a tool whose name says that it finds tools."""
        if turn.search:
            why.append("nothing fits: the server may know a tool that does")
            return [turn.search]
        finders = [tool for tool in turn.tools if "tool" in words(tool["name"])]
        why += [f"nothing fits: {tool['name']} may know a tool that does" for tool in finders[:1]]
        return [call(tool["name"], free_text(tool, turn.text)) for tool in finders[:1]]

    def _forced(self, turn: Turn, why: list[str]) -> list[Block]:
        """A forced call: of the named tool or the best one, with an input that fits whatever was said."""
        if turn.choice["type"] == "tool":
            named = next((tool for tool in turn.all_tools if tool["name"] == turn.choice["name"]), turn.all_tools[0])
            choices = [choose_inputs(named, turn.texts(), True)]
        else:
            choices = self._plan(turn.text, turn, why) or [self._rank(turn.text, turn, turn.texts())[0][1]]
        why += [reason for choice in choices for reason in choice.reasons]
        seed = (self.seed, turn.text)
        return [call(c.tool["name"], fill(c.tool["input_schema"], c.values, seed=seed)) for c in choices]

    # After a result: what its text says decides what comes next.

    def _after_failure(self, made: Made, turn: Turn, why: list[str]) -> tuple[list[Block], str]:
        """A tool that is named is called, an input that is named is corrected; else the same call, for a while."""
        tried = [(other.name, other.input) for other in turn.made]
        for clause in re.split(r"[.;\n]\s*|, or ", made.text):
            for name in named_in(clause, turn.by_name.keys() - {made.name}):
                hinted = choose_inputs(turn.by_name[name], turn.texts(), True)
                if not THE_USER.search(clause) and not hinted.missing and (name, hinted.values) not in tried:
                    why.append(f"{made.name} failed and names {name}")
                    return [call(name, hinted.values)], ""
        tool = turn.by_name.get(made.name, {"name": made.name, "input_schema": {}})
        told = named_in(made.text, tool["input_schema"].get("properties") or ())
        if told:
            # An error is more description: choose again with its words, also from what was sent.
            sent = [Text(str(made.input[name]), 0.7) for name in told if name in made.input]
            better = choose_inputs(tool, [*turn.texts(), *sent], True, told).values
            mended = {**made.input, **{name: better[name] for name in told if name in better}}
            if (made.name, mended) not in tried:
                why.append(f"{made.name} failed; corrected what the error names: {', '.join(told)}")
                return [call(made.name, mended)], ""
        again = AGAIN.search(made.text) or not told
        equal = [other for other in turn.made if other[:3] == made[:3]]
        if not again or ENOUGH.search(made.text) or len(equal) >= self.settings.patience:
            return [], f"{made.name} did not work: {made.text.strip()[:300] or 'it says nothing'}"
        why.append(f"{made.name} says nothing that could be corrected: the same call again")
        return [call(made.name, made.input)], ""

    def _words(self, turn: Turn, why: list[str], problem: str) -> str:
        """An answer in words, or as JSON where a format is asked for."""
        why.append(problem or "all that was asked for is done: answer in words")
        if turn.schema is not None:
            answer = {"name": "answer", "input_schema": turn.schema}
            given = choose_inputs(answer, turn.texts(), True).values if isinstance(turn.schema, dict) else {}
            return json.dumps(fill(turn.schema, given, seed=(self.seed, turn.text)), ensure_ascii=False)
        if turn.made and not problem:
            answers = [(made.name, quote(made.text, turn.text)) for made in turn.made if not made.failed]
            return "\n".join(f"{name} answered: {said}" for name, said in answers) or "It did not work."
        return problem or "Done."


SAYS_NOTHING = ("", "null", "(no output)")
ENOUGH = re.compile(
    r"(?:do not|don't|never|no need to) (?:try|retry|repeat|call)|will fail again|retryable\W+(?:no|false)"
    r"|\b(?:refused|denied|declined)\b|not allowed|不要重试|拒绝",
    re.IGNORECASE,
)
AGAIN = re.compile(r"retryable\W+(?:yes|true)|\b(?:try|made|tried) again|请重试", re.IGNORECASE)
THE_USER = re.compile(r"\b(?:if|with|ask|tell) the user\b|用户", re.IGNORECASE)


def ask_tool(turn: Turn) -> Tool | None:
    """A way out for questions: a tool whose name begins with "ask"."""
    return next((tool for tool in turn.tools if re.match(r"ask(?![a-z])", tool["name"])), None)


def free_text(tool: Tool, text: str) -> dict[str, Any]:
    """An input whose first field is the text."""
    first = next(iter(tool["input_schema"].get("properties") or {}), None)
    return fill(tool["input_schema"], {first: text} if first else {})


def each_of_a_group(choice: Choice) -> list[Choice]:
    """One choice for "Oslo", three for "Oslo, Lima and Rome" where the input takes a single value."""
    for name, (text, used) in choice.used.items():
        others = [one for key, (other, one) in choice.used.items() if key != name and other == text]
        for group in spans(text) if isinstance(choice.values[name], str) else ():
            parts = [part.value for part in group.parts if part.kind != "number"]
            joined = parts and re.search(r"\band\b|&|和|、", text[group.parts[-2].end : group.parts[-1].start])
            if joined and any((part.start, part.end) == (used.start, used.end) for part in group.parts):
                if not any(group.start <= one.start < group.end for one in others):
                    return [choice._replace(values={**choice.values, name: value}) for value in parts]
    return [choice]

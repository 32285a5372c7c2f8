"""Explain why an input does not fit its schema: one sentence for each fault, with what is wanted and what came.

A value is held against all parts of the schema that speak about it, keyword by keyword; then its fields and items
against theirs. Of a union where no branch fits, only the branch that was probably meant is followed. Which parts speak
about a value is known by `compiled.py`; how values and types are called stands in `words.py`.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .compiled import CompiledSchema
from .strict import NATURAL_TYPE, as_list, fits
from .words import LIMITS, TYPES, Path, count, cut, limited, listed, literal, near, one_of, options_of, path_text
from .words import quoted, received, type_in_words, type_of

__all__ = ["MAX_PROBLEMS", "Problem", "explain", "must_be", "say", "what_to_send"]

MAX_PROBLEMS = 50  # explained for one input


@dataclass(frozen=True)
class Problem:
    """One fault of an input. `path` is `""` for the whole input; `message` is a full sentence and includes `hint`.

    `Problem("n", '`n` must be an integer, but the string "5" came; send 5 without quotes.', "an integer", …)`
    """

    path: str
    message: str
    expected: str = ""
    received: str = ""
    hint: str = ""


def say(path: Path, sentence: str, expected: str = "", came: str = "", hint: str = "") -> Problem:
    """A problem whose sentence begins with its path."""
    text = path_text(path)
    where = f"`{text if len(text) <= 160 else f'{text[:80]}…{text[-70:]}'}`" if text else "The input"
    return Problem(text, f"{where} {sentence}{'; ' if hint else ''}{hint}.", expected, came, hint)


def must_be(path: Path, expected: str, value: Any, hint: str = "") -> Problem:
    """The most common problem: `must be an integer, but the string "5" came; send 5 without quotes`."""
    came = received(value)
    return say(path, f"must be {expected}, but {came} came", expected, came, hint)


@dataclass
class _Look:
    """A value that does not fit some parts of a schema, or (`union`) one union of that schema."""

    value: Any
    path: Path
    parts: list[Any]
    union: str = ""
    required: bool = False  # whether the field may not be left out
    around: tuple[dict[str, Any], ...] = ()  # parts outside a union that speak about the same value
    shapes: str = ""  # of a union, to be added to what is said about the branch

    @property
    def key(self) -> tuple:
        return self.path, self.union, *map(id, self.parts)

    def say(self, sentence: str, expected: str, came: str = "", hint: str = "", below: Path = ()) -> Problem:
        return say((*self.path, *below), sentence, expected, came, "; ".join(filter(None, (hint, self.shapes))))

    def must_be(self, expected: str, hint: str = "") -> Problem:
        return must_be(self.path, expected, self.value, "; ".join(filter(None, (hint, self.shapes))))

    def hint(self, types: list[str], options: list[Any]) -> str:
        if self.value is None and isinstance(self.path[-1] if self.path else 0, str):
            return "the field is required, send a value" if self.required else "leave the field out if you have no value"
        return what_to_send(self.value, types, options)


def explain(schema: CompiledSchema, value: Any) -> list[Problem]:
    """Every fault of a value that does not fit, as sentences; at least one, at most `MAX_PROBLEMS`."""
    found: dict[tuple[str, str], Problem] = {}
    seen = set()
    # Depth first with a stack of our own: a schema may lead back to itself.
    stack = [] if schema.has_inner_id else [iter([_Look(value, (), [schema.schema])])]
    while stack and len(found) < MAX_PROBLEMS:
        fault = next(stack[-1], None)
        if fault is None:
            stack.pop()
        elif isinstance(fault, Problem):
            found.setdefault((fault.path, fault.message), fault)
        elif fault.key not in seen:
            seen.add(fault.key)
            stack.append(_union_faults(schema, fault) if fault.union else _faults(schema, fault))
    if found:
        return list(found.values())
    paths = dict.fromkeys(tuple(error.instance_path) for error in schema.engine(schema.schema).iter_errors(value))
    return [say(path, "does not fit its schema") for path in islice(paths, MAX_PROBLEMS)]


_SIMPLE = {*LIMITS, "type", "enum", "const", "pattern", "format", "uniqueItems"}


def _faults(schema: CompiledSchema, look: _Look) -> Iterator[Problem | _Look]:
    """What is wrong with one value, and the fields, items and unions to look at next."""
    value = look.value
    parts = schema.in_place(look.parts, value)
    nothing_yet = True
    for fault in _own_faults(schema, look, parts):
        nothing_yet = False
        yield fault
    required = _required(parts)
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        inner = [part for part in schema.below(parts, value, key) if not schema.fits(part, item)]
        if inner:
            nothing_yet = False
            if False in inner and isinstance(key, str) and key not in _fields(parts):
                yield _unknown_field(look, parts, key)
            else:
                yield _Look(item, (*look.path, key), inner, required=key in required, shapes=look.shapes)
    if nothing_yet and any("unevaluatedItems" in part for part in parts):
        yield look.must_be("an array without further items")


def _own_faults(schema: CompiledSchema, look: _Look, parts: list[dict[str, Any]]) -> Iterator[Problem | _Look]:
    value = look.value
    wrong = [
        (part, key) for part in parts for key in part if key in _SIMPLE and not schema.fits(part, value, keyword=key)
    ]
    # Where a value must be one of a few, that says it all: its type or length adds nothing.
    for part, keyword in [pair for pair in wrong if pair[1] in ("enum", "const")] or wrong:
        yield _simple_fault(schema, look, part, keyword)
    certain = [part for entry in look.parts for part in schema.merged(entry)]
    for part in parts:
        if part == {"not": {}} and look.path and part in certain:
            yield look.say(f"must be left out, but {received(value)} came", "nothing", received(value))
        elif part == {"not": {}}:
            yield look.say("holds values that are not allowed together", "other values", received(value))
        elif "not" in part and schema.fits(part["not"], value):
            yield look.must_be(f"anything else than {wanted(schema, part['not'])}")
        for keyword in ("anyOf", "oneOf"):
            fitting = sum(schema.fits(branch, value) for branch in part.get(keyword, ()))
            if keyword in part and (not fitting or (keyword == "oneOf" and fitting > 1)):
                around = (*look.around, *parts)
                yield _Look(value, look.path, [part], keyword, look.required, around, look.shapes)
        if isinstance(value, list) and "contains" in part:
            number, least = sum(schema.fits(part["contains"], item) for item in value), part.get("minContains", 1)
            if not least <= number <= part.get("maxContains", number):
                bound = f"at least {count(least, 'item')}" if number < least else f"at most {count(part['maxContains'], 'item')}"
                yield look.must_be(f"an array with {bound} of this kind: {wanted(schema, part['contains'])}")
        if isinstance(value, dict):
            because = "" if any(part is other for other in certain) else " together with the other values sent"
            missing = {name: because for name in part.get("required", ())}
            for given, names in part.get("dependentRequired", {}).items():
                if given in value:
                    missing |= {name: f" together with `{cut(given, 40)}`" for name in names}
            for name, because in missing.items():
                if name not in value:
                    yield _missing(schema, look, parts, name, because)
            for name in value if "propertyNames" in part else ():
                if not schema.fits(part["propertyNames"], name):
                    expected = wanted(schema, part["propertyNames"])
                    sentence = f"has a name that is not allowed here, where names must be {expected}"
                    yield look.say(sentence, expected, f"the name {quoted(name)}", below=(name,))


def _simple_fault(schema: CompiledSchema, look: _Look, part: dict[str, Any], keyword: str) -> Problem:
    if keyword in LIMITS:
        return look.must_be(limited(keyword, part[keyword]))
    if keyword in ("enum", "const"):
        options = [part["const"]] if keyword == "const" else part["enum"]
        return look.must_be(one_of(options), look.hint([], options))
    if keyword == "type":
        return look.must_be(wanted(schema, part), look.hint(as_list(part["type"]), []))
    if keyword == "uniqueItems":
        first, second = _equal_items(look.value)
        sentence = f"must be an array without equal items, but items {first} and {second} are equal"
        return look.say(sentence, "an array without equal items", f"equal items {first} and {second}")
    error = next(schema.engine(part, keyword).iter_errors(look.value))
    too_slow = type(error.kind).__name__ not in ("Pattern", "Format")
    hint = "it takes too long to compare them, send a shorter string" if too_slow else ""
    return look.must_be(wanted(schema, part), hint)


def _equal_items(items: list[Any]) -> tuple[int, int]:
    """The positions of two equal items."""
    seen: dict[Any, int] = {}
    for index, item in enumerate(items):
        first = seen.setdefault(_comparable(item), index)
        if first != index:
            return first, index
    raise ValueError("no two items are equal")


def _comparable(value: Any) -> Any:
    """What is equal, and can be looked up, where JSON values are equal: `1` is `1.0`, and `True` is neither."""
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_comparable(item) for item in value)
    return type_of(value) == "boolean", value


def _among(value: Any, options: Iterable[Any]) -> bool:
    return any(_comparable(value) == _comparable(option) for option in options)


# Fields.


def _fields(parts: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


def _required(parts: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.get("required", ())))


def _missing(schema: CompiledSchema, look: _Look, parts: list[dict[str, Any]], field: str, because: str) -> Problem:
    parts = [*parts, *look.around]
    described = [part["properties"][field] for part in parts if field in part.get("properties", ())]
    expected = wanted(schema, described[0]) if described else "a value"
    unknown = [key for key in look.value if key not in _fields(parts)]
    meant = near(field, unknown)
    hint = f"you sent {quoted(meant)}, send it as {quoted(field)}" if meant else f"send {expected}"
    about = [inner.get("description") for part in described for inner in schema.merged(part)]
    about = [" ".join(text.split()) for text in about if isinstance(text, str)]
    hint += f" ({cut(about[0], 100)})" if about else ""
    return look.say(f"is required{because} but missing", expected, "nothing", hint, (field,))


def _unknown_field(look: _Look, parts: list[dict[str, Any]], field: str) -> Problem:
    known = _fields(parts)
    patterns = [pattern for part in parts for pattern in part.get("patternProperties", ())]
    names = [f"`{cut(name, 40)}`" for name in known] + [f"names like {cut(pattern, 60)}" for pattern in patterns]
    allowed = f"allowed are {listed(names)}" if names else "no field is allowed here"
    meant = near(field, [name for name in known if name not in look.value])
    hint = f"you probably mean `{meant}`" if meant else "leave it out"
    return look.say(f"is not a field of this object, {allowed}", allowed, quoted(field), hint, (field,))


# Hints.


def what_to_send(value: Any, types: list[str], options: list[Any] | tuple = ()) -> str:
    """What to send for a value of none of these types and options; empty where nothing sure can be said."""

    def accepted(candidate: Any) -> bool:
        return any(fits(candidate, type) for type in types) or _among(candidate, options)

    if isinstance(value, str):
        return _hint_for_text(value, accepted) or _hint_for_name(value, options)
    if isinstance(value, int | float) and accepted(literal(value)):
        return f"send it in quotes: {quoted(literal(value))}"
    if isinstance(value, float) and accepted(int(value)):
        return "send a whole number"
    return "send an array, also for one item" if list(types) == ["array"] and value is not None else ""


def _hint_for_text(text: str, accepted: Callable[[Any], bool]) -> str:
    text = text.strip()
    try:
        inside = json.loads(text.lower() if text.lower() in ("true", "false") else text, parse_constant=str)
    except (ValueError, RecursionError):
        broken = text[:1] in ("[", "{") and (accepted([]) or accepted({}))
        return "the string holds broken JSON: mend it and send it without quotes around it" if broken else ""
    if isinstance(inside, str) or not accepted(inside):
        return ""
    if isinstance(inside, dict | list):
        return "the string holds JSON: send it as JSON, without quotes around it"
    return f"send {literal(inside)} without quotes"


def _hint_for_name(text: str, options: Iterable[Any]) -> str:
    meant = near(text, [option for option in options if isinstance(option, str)]) if len(text) <= 200 else None
    if meant and meant.lower() == text.strip().lower():
        return f"write it exactly as {quoted(meant)}, with its upper and lower case"
    return f"you probably mean {quoted(meant)}" if meant else ""


# Unions.


def _union_faults(schema: CompiledSchema, look: _Look) -> Iterator[Problem | _Look]:
    """What is wrong where no branch of a union fits, or the branch that was meant, to look at next."""
    value, [part] = look.value, look.parts
    branches = _branches(schema, part[look.union])
    fitting = [branch for branch in branches if schema.fits(branch, value)]
    if fitting:  # a `oneOf` that fits more than once
        shapes = _shapes(schema, fitting)
        hint = "leave out what makes it fit the others"
        yield look.must_be(f"of one of these shapes, not of several: {shapes}", hint)
        return
    typed = [branch for branch in branches if any(fits(value, type) for type in _types(schema, branch))]
    if not typed:
        types = [name for name in TYPES if any(name in _types(schema, branch) for branch in branches)]
        yield look.must_be(wanted(schema, part), look.hint(types, []))
        return
    if isinstance(value, dict):
        fault, typed = _by_discriminator(schema, look, typed)
        if fault:
            yield fault
            return
    listed_values = [[option for inner in schema.merged(branch) for option in options_of(inner)] for branch in typed]
    if len(typed) > 1 and all(listed_values):
        options = [option for group in listed_values for option in group]
        yield look.must_be(one_of(options), look.hint([], options))
    elif len(typed) > 1 and not isinstance(value, dict | list):
        yield look.must_be(_shapes(schema, typed))
    else:
        looks = [_Look(value, look.path, [branch], "", look.required, look.around, look.shapes) for branch in typed]
        closest = min(looks, key=lambda branch: _distance(schema, branch))
        if len(typed) > 1:
            closest.shapes = f"possible shapes: {_shapes(schema, typed)}"
        yield closest


def _distance(schema: CompiledSchema, look: _Look) -> int:
    """How far a value is from a branch. A missing field counts twice: it may be the mark of another branch."""
    faults = islice(_faults(schema, look), MAX_PROBLEMS)
    return sum(2 if isinstance(fault, Problem) and fault.received == "nothing" else 1 for fault in faults)


def _branches(schema: CompiledSchema, union: list[Any]) -> list[Any]:
    """The branches of a union; of a branch that is only a union itself, its branches."""
    found: list[Any] = []
    waiting, seen = list(union), set()
    while waiting:
        branch = waiting.pop(0)
        last = schema.merged(branch)[-1]
        inner = [key for key in ("anyOf", "oneOf") if key in last]
        if len(inner) == 1 and id(last) not in seen and not {"type", "properties", "enum", "const"} & last.keys():
            seen.add(id(last))
            waiting += last[inner[0]]
        else:
            found.append(branch)
    return found


def _by_discriminator(schema: CompiledSchema, look: _Look, branches: list[Any]) -> tuple[Problem | None, list[Any]]:
    """The branches whose `const` and `enum` fields agree with the value, or what is wrong with such a field."""
    value = look.value
    marks = [_marks(schema, branch) for branch in branches]

    def disagreement(mark: dict[str, list]) -> tuple[int, int]:
        told = [_among(value[name], mark[name]) for name in mark if name in value]
        return told.count(False), -told.count(True)

    least = min(map(disagreement, marks))
    meant = [branch for branch, mark in zip(branches, marks, strict=True) if disagreement(mark) == least]
    # A field tells the branches apart if all of them list its values, and not the same ones.
    for name in sorted(set.intersection(*map(set, marks))):
        options: list[Any] = []
        for mark in marks:
            options += [option for option in mark[name] if not _among(option, options)]
        if len(options) == len(marks[0][name]) or (name in value and _among(value[name], options)):
            continue
        if name in value:
            hint = what_to_send(value[name], [], options)
            return must_be((*look.path, name), one_of(options), value[name], hint), []
        if len(meant) > 1 and all(name in _required(schema.merged(branch)) for branch in meant):
            return look.say("is required but missing", one_of(options), "nothing", f"send {one_of(options)}", (name,)), []
    return None, meant


def _marks(schema: CompiledSchema, part: Any) -> dict[str, list[Any]]:
    """The fields of a part that must have one of a few values: `{"kind": ["email"]}`."""
    fields = [field for inner in schema.merged(part) for field in inner.get("properties", {}).items()]
    listed_values = [(name, options_of(inner)) for name, field in fields for inner in schema.merged(field)]
    return {name: options for name, options in listed_values if options}


def _types(schema: CompiledSchema, part: Any) -> set[str]:
    """The JSON types that a part lets through."""
    types = set(TYPES)
    for inner in schema.merged(part):
        options, named = options_of(inner), as_list(inner.get("type"))
        if options:
            types &= {type_of(option) for option in options}
        elif named:
            types &= {*named, *(["integer"] if "number" in named else [])}
    return types


# Schemas in words.


def wanted(schema: CompiledSchema, part: Any, levels: int = 2) -> str:
    """A part in words: "an integer from 1 to 7", "a string or null", "an object with `kind` "email" and `to`"."""
    parts = schema.merged(part)
    whole: dict[str, Any] = {}
    for inner in reversed(parts):
        whole |= inner
    if options_of(whole):
        return one_of(options_of(whole))
    types = as_list(whole.get("type"))
    union = whole.get("anyOf") or whole.get("oneOf")
    if union and not types:
        return _shapes(schema, union, levels - 1)
    words = []
    for name in types or dict.fromkeys(NATURAL_TYPE[keyword] for keyword in whole if keyword in NATURAL_TYPE):
        words.append(type_in_words(name, whole))
        if name == "array" and whole.get("items") and levels > 0:
            words[-1] += f", each item {wanted(schema, whole['items'], levels - 1)}"
        if name == "object" and levels > 0 and _required(parts):
            marks = {field: f" {one_of(options)}" for field, options in _marks(schema, part).items()}
            fields = [f"`{cut(field, 40)}`{marks.get(field, '')}" for field in _required(parts)]
            words[-1] += f" with {listed(fields, ' and ')}"
    return cut(" or ".join(words), 300) or "any value"


def _shapes(schema: CompiledSchema, branches: list[Any], levels: int = 1) -> str:
    if levels < 0:
        return "any of several shapes"
    return cut(listed(list(dict.fromkeys(wanted(schema, branch, levels) for branch in branches)), " or ", 6), 300)

"""Explain why an input does not fit its schema: one sentence for each fault, with what is wanted and what came.

A value is checked against all parts of the schema that apply to it, keyword by keyword; then its fields and items
against theirs. Of a union where no branch fits, only the branch that was probably meant is followed. `compiled.py`
knows which parts apply to a value, `words.py` what values and schemas are called.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from . import words
from .compiled import NEVER, CompiledSchema
from .words import Problem, cut, near, one_of, options_of, quoted, wanted

__all__ = ["MAX_PROBLEMS", "explain"]

MAX_PROBLEMS = 50  # explained for one input

_ONE_BY_ONE = {
    *words.LIMITS,
    "type",
    "enum",
    "const",
    "pattern",
    "format",
    "uniqueItems",
}  # keywords without schemas inside


def explain(schema: CompiledSchema, value: Any) -> list[Problem]:
    """Every fault of a value that does not fit, as sentences; at least one, at most `MAX_PROBLEMS`."""
    found: dict[tuple[str, str], Problem] = {}
    seen = set()
    # Depth first with an explicit stack; `seen`, because a schema can lead back to itself.
    stack: list[Iterator[Problem | _Look]] = []
    if not schema.has_inner_id:
        stack.append(iter([_Look(schema, value, (), [schema.root])]))
    while stack and len(found) < MAX_PROBLEMS:
        fault = next(stack[-1], None)
        if fault is None:
            stack.pop()
        elif isinstance(fault, Problem):
            found.setdefault((fault.path, fault.message), fault)
        elif (key := (fault.path, fault.union, *map(id, fault.parts))) not in seen:
            seen.add(key)
            stack.append(_faults_of_union(fault) if fault.union else _faults(fault))
    if found:
        return list(found.values())
    paths = dict.fromkeys(tuple(error.instance_path) for error in schema.engine(schema.root).iter_errors(value))
    return [words.problem_at(path, "does not fit its schema") for path in islice(paths, MAX_PROBLEMS)]


@dataclass
class _Look:
    """A value that does not fit some parts of a schema: what to look at next."""

    schema: CompiledSchema
    value: Any
    path: words.Path
    parts: list[Any]
    union: str = ""  # only this union, `anyOf` or `oneOf`, of the one part
    required: bool = False  # whether the field may not be left out
    around: tuple[dict[str, Any], ...] = ()  # parts outside the union that apply to the same value
    shapes: str = ""  # of the union, to be added to what is said about a branch

    def say(self, sentence: str, expected: str, came: str, hint: str = "", field: words.Path = ()) -> Problem:
        hint = "; ".join(filter(None, [hint, self.shapes]))
        return words.problem_at((*self.path, *field), sentence, expected, came, hint)

    def must_be(self, expected: str, hint: str = "") -> Problem:
        came = words.received(self.value)
        return self.say(f"must be {expected}, but {came} came", expected, came, hint)

    def hint(self, accepted: Callable[[Any], bool]) -> str:
        if self.value is None and self.path and isinstance(self.path[-1], str):
            no_value = "leave the field out if you have no value"
            return "the field is required, send a value" if self.required else no_value
        at_root = "" if self.path else "send the arguments as one JSON object"
        return words.what_to_send(self.value, accepted) or at_root


def _faults(look: _Look) -> Iterator[Problem | _Look]:
    """What is wrong with one value, and the fields, items and unions to look at next."""
    schema, value = look.schema, look.value
    parts = schema.in_place(look.parts, value)
    yield from _own_faults(look, parts)
    required = _names(parts, "required")
    for key, item in _entries(value):
        unfit = [part for part in schema.below(parts, value, key) if not schema.fits(part, item)]
        if False in unfit and isinstance(key, str) and key not in _names(parts, "properties"):
            yield _unknown_field(look, parts, key)
        elif unfit:
            yield _Look(schema, item, (*look.path, key), unfit, required=key in required, shapes=look.shapes)


def _entries(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _own_faults(look: _Look, parts: list[dict[str, Any]]) -> Iterator[Problem | _Look]:
    schema, value = look.schema, look.value
    pairs = [(part, keyword) for part in parts for keyword in part if keyword in _ONE_BY_ONE]
    unfit = [(part, keyword) for part, keyword in pairs if not schema.fits(part, value, keyword)]
    # Where a value must be one of a few, that says it all: its type or length adds nothing.
    for part, keyword in [pair for pair in unfit if pair[1] in ("enum", "const")] or unfit:
        yield _fault_of_keyword(look, part, keyword)
    always = [id(part) for entry in look.parts for part in schema.merged(entry)]
    for part in parts:
        because = "" if id(part) in always else " together with the other values sent"
        for keyword in [union for union in ("anyOf", "oneOf") if union in part]:
            fitting = sum(schema.fits(branch, value) for branch in part[keyword])
            if fitting == 0 or (fitting > 1 and keyword == "oneOf"):
                yield replace(look, parts=[part], union=keyword, around=(*look.around, *parts))
        if part == NEVER and (because or not look.path):
            yield look.say("holds values that are not allowed together", "other values", words.received(value))
        elif part == NEVER:
            yield look.say(f"must be left out, but {words.received(value)} came", "nothing", words.received(value))
        elif "not" in part and schema.fits(part["not"], value):
            yield look.must_be(f"anything else than {wanted(schema, part['not'])}")
        if isinstance(value, dict):
            yield from _faults_of_names(look, parts, part, because)
        if isinstance(value, list) and "unevaluatedItems" in part:
            kinds = [type(error.kind).__name__ for error in islice(schema.engine(part).iter_errors(value), 1000)]
            if "UnevaluatedItems" in kinds:
                yield look.must_be("an array without further items")
        if isinstance(value, list) and "contains" in part:
            number = sum(schema.fits(part["contains"], item) for item in value)
            least, most = part.get("minContains", 1), part.get("maxContains", number)
            if not least <= number <= most:
                bound = (
                    f"at least {words.count(least, 'item')}"
                    if number < least
                    else f"at most {words.count(most, 'item')}"
                )
                yield look.must_be(f"an array with {bound} of this kind: {wanted(schema, part['contains'])}")


def _fault_of_keyword(look: _Look, part: dict[str, Any], keyword: str) -> Problem:
    schema = look.schema
    if keyword in words.LIMITS:
        return look.must_be(words.limited(keyword, part[keyword]))
    if keyword in ("enum", "const"):
        return _must_be_one_of(look, [part["const"]] if keyword == "const" else part["enum"])
    if keyword == "type":
        hint = look.hint(lambda candidate: schema.fits(part, candidate, "type"))
        return look.must_be(wanted(schema, part), hint)
    if keyword == "uniqueItems":
        items = [words.comparable(item) for item in look.value]
        first_seen = {item: index for index, item in reversed(list(enumerate(items)))}
        first, second = next((first_seen[item], i) for i, item in enumerate(items) if first_seen[item] != i)
        sentence = f"must be an array without equal items, but items {first} and {second} are equal"
        return look.say(sentence, "an array without equal items", f"equal items {first} and {second}")
    error = next(schema.engine(part, keyword).iter_errors(look.value))
    gave_up = type(error.kind).__name__ not in ("Pattern", "Format")
    hint = "it takes too long to compare them, send a shorter string" if gave_up else ""
    return look.must_be(wanted(schema, part), hint)


def _must_be_one_of(look: _Look, options: list[Any]) -> Problem:
    equal = {words.comparable(option) for option in options}
    hint = look.hint(lambda candidate: words.comparable(candidate) in equal)
    if not hint and isinstance(look.value, str) and len(look.value) <= 200:
        meant = near(look.value, [option for option in options if isinstance(option, str)])
        if meant and meant.lower() == look.value.strip().lower():
            hint = f"write it exactly as {quoted(meant)}, with its upper and lower case"
        elif meant:
            hint = f"you probably mean {quoted(meant)}"
    return look.must_be(one_of(options), hint)


# Fields.


def _names(parts: list[dict[str, Any]], keyword: str) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part.get(keyword, ())))


def _faults_of_names(look: _Look, parts: list[Any], part: dict[str, Any], because: str) -> Iterator[Problem]:
    missing = dict.fromkeys(part.get("required", ()), because)
    for given, names in part.get("dependentRequired", {}).items():
        if given in look.value:
            missing |= dict.fromkeys(names, f" together with `{cut(given, 40)}`")
    for name, why in missing.items():
        if name not in look.value:
            yield _missing(look, parts, name, why)
    for name in look.value if "propertyNames" in part else ():
        if not look.schema.fits(part["propertyNames"], name):
            expected = wanted(look.schema, part["propertyNames"])
            sentence = f"has a name that is not allowed here, where names must be {expected}"
            yield look.say(sentence, expected, f"the name {quoted(name)}", field=(name,))


def _missing(look: _Look, parts: list[dict[str, Any]], field: str, because: str) -> Problem:
    parts = [*parts, *look.around]
    described = [part["properties"][field] for part in parts if field in part.get("properties", ())]
    expected = wanted(look.schema, described[0]) if described else "a value"
    meant = near(field, [key for key in look.value if key not in _names(parts, "properties")])
    hint = f"you sent {quoted(meant)}, send it as {quoted(field)}" if meant else f"send {expected}"
    abouts = [inner.get("description") for part in described for inner in look.schema.merged(part)]
    about = next((" ".join(text.split()) for text in abouts if isinstance(text, str)), "")
    hint += f" ({cut(about, 100)})" if about else ""
    return look.say(f"is required{because} but missing", expected, "nothing", hint, (field,))


def _unknown_field(look: _Look, parts: list[dict[str, Any]], field: str) -> Problem:
    known = _names(parts, "properties")
    names = [f"`{cut(name, 40)}`" for name in known]
    names += [f"names like {cut(pattern, 60)}" for pattern in _names(parts, "patternProperties")]
    allowed = f"allowed are {words.listed(names)}" if names else "no field is allowed here"
    meant = near(field, [name for name in known if name not in look.value])
    hint = f"you probably mean `{meant}`" if meant else "leave it out"
    return look.say(f"is not a field of this object, {allowed}", allowed, quoted(field), hint, (field,))


# Unions.


def _faults_of_union(look: _Look) -> Iterator[Problem | _Look]:
    """What is wrong where no branch of a union fits, or the branch that was meant, to look at next."""
    schema, value, [part] = look.schema, look.value, look.parts
    branches = _branches(schema, part[look.union])
    fitting = [branch for branch in branches if schema.fits(branch, value)]
    typed = [branch for branch in branches if schema.fits_type(branch, value)]
    options = [[option for inner in schema.merged(branch) for option in options_of(inner)] for branch in typed]
    if fitting:  # a `oneOf` that fits more than once
        expected = f"of one of these shapes, not of several: {words.shapes(schema, fitting)}"
        yield look.must_be(expected, "leave out what makes it fit the others")
    elif not typed:
        hint = look.hint(lambda candidate: any(schema.fits_type(branch, candidate) for branch in branches))
        yield look.must_be(wanted(schema, part), hint)
    elif len(typed) > 1 and all(options):
        yield _must_be_one_of(look, [option for listed_values in options for option in listed_values])
    elif len(typed) > 1 and not isinstance(value, dict | list):
        yield look.must_be(words.shapes(schema, typed))
    else:
        yield _fault_of_mark(look, typed) or _closest(look, typed)


def _branches(schema: CompiledSchema, union: list[Any]) -> list[Any]:
    """The branches of a union; of a branch that is only a union itself, its branches."""
    found: list[Any] = []
    waiting, seen = list(union), set()
    while waiting:
        branch = waiting.pop(0)
        last = schema.merged(branch)[-1]
        inner = last.get("anyOf") or last.get("oneOf")
        if inner and id(last) not in seen and not {"type", "properties", "enum", "const"} & last.keys():
            seen.add(id(last))
            waiting += inner
        else:
            found.append(branch)
    return found


def _fault_of_mark(look: _Look, branches: list[Any]) -> Problem | None:
    """A fault in a field that tells the branches apart, because each lists its values there, such as `kind`."""
    all_marks = [words.marks(look.schema, branch) for branch in branches]
    for name in sorted(set.intersection(*map(set, all_marks))) if isinstance(look.value, dict) else ():
        options = {words.comparable(option): option for mark in all_marks for option in mark[name]}
        if all(len(mark[name]) == len(options) for mark in all_marks):
            continue
        if name not in look.value:
            if all(name in _names(look.schema.merged(branch), "required") for branch in branches):
                expected = one_of(list(options.values()))
                return look.say("is required but missing", expected, "nothing", f"send {expected}", (name,))
        elif words.comparable(look.value[name]) not in options:
            field = _Look(look.schema, look.value[name], (*look.path, name), [], shapes=look.shapes)
            return _must_be_one_of(field, list(options.values()))
    return None


def _closest(look: _Look, branches: list[Any]) -> _Look:
    """The branch that was probably meant: the fewest fields with a value of another branch, then the fewest faults."""

    schema, value = look.schema, look.value

    def distance(branch: Any) -> tuple[int, int]:
        parts = schema.in_place([branch], value)
        below = [(item, schema.below(parts, value, key)) for key, item in _entries(value)]
        unfit = [inner for item, inner in below if not all(schema.fits(part, item) for part in inner)]
        strange = sum(any(options_of(part) for part in schema.in_place(inner, None)) for inner in unfit)
        missing = sum(name not in value for name in _names(parts, "required")) if isinstance(value, dict) else 0
        return strange, len(unfit) + 2 * missing  # twice: what is missing may be the mark of another branch

    distances = [distance(branch) for branch in branches]
    least = min(distances)
    closest = replace(look, parts=[branches[distances.index(least)]], union="")
    undecided = [branch for branch, far in zip(branches, distances, strict=True) if far[0] == least[0]]
    if len(undecided) > 1:
        closest.shapes = f"possible shapes: {words.shapes(schema, undecided)}"
    return closest

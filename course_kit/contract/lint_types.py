"""Rules about how much room an input leaves: types that converge, few required ones, bounds, flat and closed objects.

What an input means is next door, in `lint_inputs.py`; what the API refuses, in `lint_wire.py`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from . import lint_words as say
from .linting import Found, LintRule, lint_rule
from .reading import Definition, Input, properties_of, types_of, view
from .strict import as_list, fits, recursive_refs, ref_path
from .words import cut, listed, literal, near, quoted

__all__ = ["SCHEMA_RULES", "TYPE_RULES", "alternatives"]

Findings = Iterator[Found]


# Types that converge.

_WORD = r"['\"`“‘]?[\w.+-]+['\"`”’]?"
_QUOTED = r"['\"`“‘][\w .+-]+['\"`”’]"
_JOINT = r"(?:,? or |,? and |, |/| ?\| ?)"
_END = r"(?=[.;:)\n(\]]|$)"
_ALTERNATIVES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bone of(?: the following)?(?: values)?:? \(?({_WORD}(?:{_JOINT}{_WORD})+){_END}",
        rf"\beither ({_WORD} or {_WORD}){_END}",
        rf"\b(?:options|values|choices|allowed|supported)(?: are)?: ({_WORD}(?:{_JOINT}{_WORD})+){_END}",
        rf"\b(?:options?|values?|choose|from|between|allowed|must be|can be|is)(?: are)?:? "
        rf"\(?({_QUOTED}(?:{_JOINT}{_QUOTED})+)",
        r"(?:^|[\s(])(\w+(?:\|\w+)+)(?=[\s).,;]|$)",
        r"(?:可选值|取值|可选|可取|枚举)(?:为|有|是)?[:： ]*([\w-]+(?:(?:、|，|,|/|\||或)\s*[\w-]+)+)",
    )
]
_OPEN = re.compile(r"\betc\b|…|\.\.\.|\bor (?:any|another|other|similar|more)\b|等", re.IGNORECASE)
_SEARCHES = frozenset("query q search filter expression pattern sql jql".split())


def alternatives(text: str) -> list[str]:
    """The values that a description lists as the only ones: `"One of: open, closed."` → `["open", "closed"]`."""
    for match in (match for pattern in _ALTERNATIVES for match in pattern.finditer(text)):
        if not _OPEN.search(text[match.start() : match.end() + 15]):
            parts = re.split(rf"\s*(?:{_JOINT}|、|，|或)\s*", match[1])
            options = list(dict.fromkeys(part.strip(" '\"`“”‘’.") for part in parts))
            if len(options) > 1 and all(options) and not {option.lower() for option in options} <= {"true", "false"}:
                return options
    return []


@lint_rule("input", "warning")
def should_be_enum(one: Input) -> Findings:
    """Values that a description lists are in an `enum`."""
    if one.types == ["string"] and not one.has("enum", "const", "pattern", "format") and not _SEARCHES & {*one.words}:
        text = one.description
        if say.CHOICES & set(one.words) and re.fullmatch(rf"\W*{_WORD}(?:{_JOINT}{_WORD})+\W*", text):
            text = f"one of {text}"  # `channel` described as "email or sms" is just that
        options = alternatives(text)
        if options and not set(options) & (one.siblings | {one.name}):
            values = listed([literal(option) for option in options])
            words = f"Its description lists all the values ({values}), and any text passes."
            yield Found(one.path, words, f'Add "enum": [{values}].')


@lint_rule("input", "hint")
def choice_without_enum(one: Input) -> Findings:
    """A status, a kind, a priority has an `enum`: the model cannot know your words for it."""
    if one.types == ["string"] and one.words and one.words[-1] in say.FEW_VALUES and one.description:
        stated = one.has("enum", "const", "pattern", "format", "examples", "default") or say.EXAMPLE.search(
            one.description
        )
        if not stated and not re.search(r"\bor\b|[,/|、或]", one.description):
            words = f"`{cut(one.name, 60)}` seems to take one of a few values, and says none of them."
            yield Found(one.path, words, 'List them: "enum": ["open", "closed"].')


@lint_rule("input", "warning", "03")
def enum_by_case(one: Input) -> Findings:
    """No two values of an `enum` differ only in capitals: strict mode does not tell them apart."""
    by_lower: dict[str, set[str]] = {}
    for option in one.options:
        if isinstance(option, str):
            by_lower.setdefault(option.lower(), set()).add(option)
    for twins in by_lower.values():
        if len(twins) > 1:
            words = f"{listed([literal(text) for text in sorted(twins)], ' and ')} differ only in capitals."
            yield Found((*one.path, "enum"), f"{words} Strict mode may change those.", "Give them different words.")


@lint_rule("input", "warning")
def union(one: Input) -> Findings:
    """An input has one type, or that type and null."""
    for keyword in ("anyOf", "oneOf"):
        branches = [view(branch, one.tool.root) for branch in as_list(one.node.get(keyword))]
        branches = [branch for branch in branches if types_of(branch) or "type" not in branch]
        if len(branches) > 1:
            words = f"`{keyword}` of {len(branches)} shapes: the model must choose before it knows what to write."
            plain = all("const" in branch or "enum" in branch for branch in branches)
            fix = (
                'Write one "enum" of all the values.' if plain else "Keep one shape, or make two inputs, or two tools."
            )
            yield Found((*one.path, keyword), words, fix)
    if len(types := types_of(one.node)) > 1:
        words = f"It may be {listed(types, ' or ', 5)}: the same thing will come in different forms."
        yield Found((*one.path, "type"), words, f'Choose one, such as "type": {quoted(types[0])}.')


@lint_rule("input", "warning")
def free_form(one: Input) -> Findings:
    """An object says its fields, an array what it holds, every input its type."""
    value, name = one.value, cut(one.name, 60)
    shaped = value.keys() & {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "not"}
    if one.written is True or (isinstance(one.written, dict) and not shaped):
        yield Found(one.path, f"`{name}` has no type: anything passes.", 'Give it one, such as "type": "string".')
    elif "object" in types_of(value) and not _says_fields(value):
        fix = 'Name its fields under "properties", or make them inputs of their own.'
        yield Found(one.path, f"`{name}` is an object of any fields: the model makes up their names.", fix)
    elif types_of(one.node) == ["array"] and not one.has("items", "prefixItems"):
        fix = 'Say what it holds: "items": {"type": "string"}.'
        yield Found(one.path, f"`{name}` is an array of anything.", fix)


def _says_fields(value: Mapping[str, Any]) -> bool:
    more = value.get("additionalProperties")
    named = any(value.get(keyword) for keyword in ("properties", "patternProperties", "anyOf", "oneOf", "allOf"))
    return named or more is False or (isinstance(more, dict) and bool(more))


# Required or not.


@lint_rule("input", "warning")
def required_with_default(one: Input) -> Findings:
    """What has a default, or may be left out, is not required."""
    default, said = one.node.get("default"), say.DEFAULT.search(one.description)
    if one.required and (default is not None or said):
        because = f"there is a default, {literal(default)}" if default is not None else ""
        because = because or f"its description says {quoted(said[0].strip(), 40)}"  # type: ignore[index]
        words = f"`{cut(one.name, 60)}` is required, but {because}: the model must fill in what nobody said."
        yield Found(one.path, words, 'Take it out of "required", and say what holds when it is left out.')


@lint_rule("input", "warning")
def optional_reads_required(one: Input) -> Findings:
    """What a description calls required is required."""
    said = say.REQUIRED.search(one.description)
    if said and not one.required and "not required" not in one.description.lower():
        words = f"The description says {quoted(said[0].strip(), 40)}, and the schema lets it be left out."
        yield Found(one.path, words, f'Add {quoted(one.name)} to "required", or say when it is needed.')


@lint_rule("input", "warning")
def default_misfit(one: Input) -> Findings:
    """A `default` is a value that the input may have."""
    default, types, options = one.node.get("default"), as_list(one.node.get("type")), as_list(one.node.get("enum"))
    fitting = not types or any(isinstance(name, str) and fits(default, name) for name in types)
    if default is not None and not (fitting and (not options or default in options)):
        words = f"The default {literal(default)} would be refused by the schema it stands in."
        yield Found((*one.path, "default"), words, 'Write a value that fits, as JSON does: 10, not "10".')


# Pages.


@lint_rule("input", "warning")
def limit_unbounded(one: Input) -> Findings:
    """A `limit` states its maximum and its default."""
    if "_".join(one.words) in say.LIMITS and set(one.types) & {"integer", "number"}:
        bounded = one.has("maximum", "exclusiveMaximum") or say.MOST.search(one.description)
        settled = (
            one.required or "default" in one.node or re.search("default|leave|omit|默认|缺省", one.description, re.I)
        )
        missing = [word for word, there in (("maximum", bounded), ("default", settled)) if not there]
        if missing:
            words = f"`{one.name}` states no {' and no '.join(missing)}: one call may fill the context."
            fix = {"maximum": '"maximum": 50', "default": '"default": 10'}
            yield Found(
                one.path, words, f"Add {' and '.join(fix[word] for word in missing)}, and say it in words, too."
            )


@lint_rule("input", "hint")
def page_start(one: Input) -> Findings:
    """A page or an offset says where counting starts."""
    if "_".join(one.words) in say.OFFSETS and set(one.types) & {"integer", "number"}:
        if not (one.has("minimum", "exclusiveMinimum", "default") or say.FIRST.search(one.description)):
            words = f"`{one.name}` does not say whether the first is 0 or 1: something is read twice, or never."
            yield Found(one.path, words, 'Add "minimum" and "default": 0 for an offset, 1 for a page.')


# A schema as a whole.


@lint_rule("tool", "hint")
def open_object(tool: Definition) -> Findings:
    """Every object is closed by `"additionalProperties": false`."""
    open_ones = [
        path for path, node in tool.nodes if properties_of(node) and node.get("additionalProperties") in (None, True)
    ]
    if open_ones and not tool.strict:  # strict mode says it louder
        more = f" in {len(open_ones)} objects" if len(open_ones) > 1 else ""
        words = f"Fields that are not in the schema pass{more}: a lenient reader drops them, and nobody sees the error."
        yield Found(open_ones[0], words, f'Add "additionalProperties": false{" to each" if more else ""}.')


@lint_rule("tool", "warning")
def too_deep(tool: Definition) -> Findings:
    """Inputs are at most two levels deep."""
    level, path = tool.deepest if tool.inputs else (0, ())
    if level > 2:
        words = f"Inputs lie {'more than 4' if level > 4 else level} levels deep: brackets and names get lost."
        fix = "Lift the inner fields up: two ids side by side, and not a `filter` object that holds an object."
        yield Found(path, words, fix)


@lint_rule("tool", "warning")
def recursive_schema(tool: Definition) -> Findings:
    """A schema does not contain itself."""
    for place in list(recursive_refs(tool.root))[:1] if not tool.strict else ():
        name = quoted(place[-1]) if place else "The root"
        words = f"{name} contains itself: nothing says how deep an input goes, and strict mode refuses it."
        yield Found(
            (*tool.schema_path, *place), words, "Write out the levels you need, or a flat list with parent ids."
        )


@lint_rule("tool", "warning")
def ref_chain(tool: Definition) -> Findings:
    """A `$ref` leads to what is meant, not to another `$ref`."""
    targets = {(*tool.schema_path, *(ref_path(node.get("$ref")) or ("",))) for _, node in tool.nodes}
    for path, node in tool.nodes:
        if "$ref" in node and path in targets:
            words = "A `$ref` leads to this `$ref`: what an input is stands three places away from it."
            yield Found(path, words, "Refer to the last one directly, or write it out.")


@lint_rule("tool", "warning")
def required_unknown(tool: Definition) -> Findings:
    """What is required is among the properties."""
    for path, node in tool.nodes:
        said_elsewhere = node.keys() & {"allOf", "anyOf", "oneOf", "$ref"} or "object" not in types_of(node)
        names = [] if said_elsewhere else [name for name in as_list(node.get("required")) if isinstance(name, str)]
        for name in (name for name in names if name not in properties_of(node)):
            meant = near(name, map(str, properties_of(node)))
            fix = f"Write {quoted(meant)}." if meant else 'Describe it under "properties", or take it out.'
            yield Found((*path, "required"), f"{quoted(name)} is required, and nowhere is said what it is.", fix)


TYPE_RULES: tuple[LintRule, ...] = (
    should_be_enum,
    choice_without_enum,
    enum_by_case,
    union,
    free_form,
    required_with_default,
    optional_reads_required,
    default_misfit,
    limit_unbounded,
    page_start,
)
SCHEMA_RULES: tuple[LintRule, ...] = (open_object, too_deep, recursive_schema, ref_chain, required_unknown)

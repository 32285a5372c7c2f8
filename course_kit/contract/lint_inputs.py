"""Rules about what an input means to a reader who has its name, its schema and its description, and nothing else.

What it is, in which unit and in which form. Types, defaults and what is required are next door, in `lint_types.py`.
"""

import re
from collections.abc import Iterator

from . import lint_words as say
from .linting import Found, LintRule, lint_rule
from .reading import Input
from .similarity import content_words
from .words import cut, near, quoted

__all__ = ["MEANING_RULES"]

Findings = Iterator[Found]


@lint_rule("input", "warning")
def input_undescribed(one: Input) -> Findings:
    """Every input has a description."""
    if not one.description and "const" not in one.value:
        if one.name not in set(re.findall(r"[\w-]+", one.tool.description)):
            words = f"Nothing says what `{cut(one.name, 60)}` means: the model goes by its name."
            fix = "Say what it is, its unit or form, and an example; if it is optional, when to leave it out."
            yield Found(one.path, words, fix)


@lint_rule("input", "hint")
def input_says_nothing(one: Input) -> Findings:
    """A description of an input says more than its name."""
    if _repeats_its_name(one):
        words = f"{quoted(one.description)} says no more than the name `{cut(one.name, 60)}`."
        yield Found(one.path, words, "Say what may stand there: its form, where it comes from, an example.")


def _repeats_its_name(one: Input) -> bool:
    plain = not one.options and set(one.types) <= {"string"}
    said = content_words(one.description)
    return bool(one.description) and plain and said <= content_words(" ".join([one.name, *one.words]))


# Units.


@lint_rule("input", "warning")
def unit_missing(one: Input) -> Findings:
    """A quantity says its unit, in its name (`amount_cents`) or in its description."""
    kind = _quantity(one)
    if kind is None or not set(one.types) & {"integer", "number"} or one.options:
        return
    largest = one.value.get("maximum")
    # A share has no unit, such as a model's temperature.
    is_share = isinstance(largest, int | float) and largest <= 2
    unit_beside = one.siblings & {"unit", "units", f"{one.name}_unit", f"{one.name}_units", f"{one.name}Unit"}
    in_name = [word for word in one.words if word != "min" or kind.suffix == "seconds"]  # `price_min`: no minutes
    told = bool(say.UNIT.search(one.description)) or any(map(say.UNIT_IN_NAME.fullmatch, in_name))
    told = told or bool(re.search(r"\b(?:number|count) of\b|个数|数量", one.description))  # `amount` of things
    told = told or (one.name in one.tool.description and bool(say.UNIT.search(one.tool.description)))
    if not (is_share or unit_beside or told):
        words = f"`{cut(one.name, 60)}` has no unit: 20 may come where 2000 is meant, and both look right."
        snake = "_" in one.name or one.name.islower()
        renamed = f"{one.name}_{kind.suffix}" if snake else one.name + kind.suffix.title()
        fix = f'Call it `{cut(renamed, 70)}`, and give unit and example in its description: "{kind.said}"'
        yield Found(one.path, words, fix)


def _quantity(one: Input) -> say.Quantity | None:
    """What kind of quantity a name speaks of, by its last word: `max_price`, `price_max`."""
    words = [word for word in one.words if word not in ("min", "max", "from", "to", "minimum", "maximum", "value")]
    return say.QUANTITY_OF.get(words[-1]) if words and not say.NO_QUANTITY & set(words) else None


@lint_rule("input", "warning")
def number_as_text(one: Input) -> Findings:
    """A number is an integer or a number, not a string of digits."""
    counted = one.types == ["string"] and one.words and one.words[-1] in say.NUMBERS
    if counted and not one.has("pattern", "enum", "format", "const"):
        if not re.search(r"\d ?[a-z]\b|cursor|token|ISO|decimal", one.description, re.IGNORECASE):
            words = f'`{cut(one.name, 60)}` is a number sent as text: "20", "20.00" and "twenty" all pass.'
            yield Found(one.path, words, 'Make it "type": "integer" in the smallest unit, with a "minimum".')


# Forms.


def _has_form(one: Input) -> bool:
    stated = one.has("format", "pattern", "enum", "const", "examples", "default")
    return one.types != ["string"] or stated or bool(say.EXAMPLE.search(one.description))


@lint_rule("input", "warning")
def date_without_format(one: Input) -> Findings:
    """A date or a time says its form and gives an example: else "next Wednesday" arrives."""
    words = one.words
    is_date = bool(set(words[-2:]) & say.DATE_WORDS) or (len(words) > 1 and words[-1] == "at")
    if is_date and not say.NO_DATE & set(words) and not _has_form(one) and not say.DATE_FORM.search(one.description):
        with_time = not set(words) & {"date", "birthday", "birthdate", "dob", "deadline"}
        form, example = ("date-time", "2026-11-30T09:00:00Z") if with_time else ("date", "2026-11-30")
        text = f'`{cut(one.name, 60)}` has no stated form: "next Wednesday" will arrive, and pass.'
        yield Found(one.path, text, f'Add "format": "{form}", and to the description: such as {example}.')


@lint_rule("input", "hint")
def text_without_format(one: Input) -> Findings:
    """A web or mail address says so by its `format`, or shows an example."""
    last = one.words[-1] if one.words else ""
    for names, form, example in (
        ("url urls uri webhook", "uri", "https://example.com/page"),
        ("email emails", "email", "ada@example.com"),
    ):
        if last in names.split() and not _has_form(one) and not re.search("://|@", one.description):
            words = f"`{cut(one.name, 60)}` is checked by nobody: any text passes."
            yield Found(one.path, words, f'Add "format": "{form}", and an example such as {example}.')


@lint_rule("input", "hint")
def id_unexplained(one: Input) -> Findings:
    """An id says what it looks like, or where to get it: else one is made up."""
    is_id = bool(one.words) and one.words[-1] in ("id", "ids")
    told = _has_form(one) or say.KNOWN_FROM.search(one.description) or _repeats_its_name(one)
    if is_id and one.description and not told:
        if not set(re.findall(r"[\w-]+", one.description)) & one.tool.tools.names:
            words = f"`{cut(one.name, 60)}` says neither what it looks like nor where it comes from."
            fix = 'Add a "pattern" or an example, and the source: such as ORD-20260917; take it from search_orders.'
            yield Found(one.path, f"{words} So one is made up.", fix)


@lint_rule("input", "warning")
def unknown_format(one: Input) -> Findings:
    """A `format` is one that is checked: an unknown one lets every text pass."""
    form = one.value.get("format")
    if isinstance(form, str) and form not in say.CHECKED_FORMATS and set(one.types) <= {"string"}:
        meant = near(form, say.CHECKED_FORMATS)
        fix = f'Write "format": "{meant}", if that is meant.' if meant else 'Use a "pattern" instead, and an example.'
        yield Found((*one.path, "format"), f"The format {quoted(form)} is not checked: every text passes.", fix)


@lint_rule("input", "hint")
def negated_flag(one: Input) -> Findings:
    """A flag says what happens, not what does not: `no_cache: false` is read wrong."""
    if one.types == ["boolean"] and len(one.words) > 1 and one.words[0] in ("no", "not", "dont", "without", "disable"):
        rest = one.words[1:]
        renamed = "_".join(rest) if "_" in one.name else rest[0] + "".join(map(str.title, rest[1:]))
        words = f"`{cut(one.name, 60)}` is a double negation when it is false."
        yield Found(one.path, words, f"Turn it round: `{cut(renamed, 60)}`, and say its default.")


MEANING_RULES: tuple[LintRule, ...] = (
    input_undescribed,
    input_says_nothing,
    unit_missing,
    number_as_text,
    date_without_format,
    text_without_format,
    id_unexplained,
    unknown_format,
    negated_flag,
)

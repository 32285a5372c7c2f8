"""Rules about what a model reads first: a tool's name and its description.

A description answers five questions: when to use the tool; when not, and which neighbour instead; what each input means
(`lint_inputs.py`); what comes back, even when nothing is found; limits and side effects. No program can judge an
answer. These rules only see where there is none, and are silent when in doubt; a description not in English or
Chinese is not judged.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from .lint_words import BOUNDARY, CLASS_OF, EFFECTS, NOTHING_FOUND, NOUNS_TOO, RETURNS, SAYS_NOTHING, VERBS, WHEN
from .linting import Found, LintRule, lint_rule
from .reading import Definition, Tools, name_words
from .similarity import content_words, count_words
from .words import cut, near, quoted

__all__ = ["TEXT_RULES", "kind_of_verb"]

Findings = Iterator[Found]


# The name.


@lint_rule("tool", "warning")
def tool_name_long(tool: Definition) -> Findings:
    """A name has at most 64 characters, though the API takes 128."""
    if 64 < len(tool.name) <= 128:
        words = f"The name has {len(tool.name)} characters: other providers refuse more than 64, and each is paid for."
        yield Found((*tool.path, "name"), words, "Keep the verb and its object, such as `search_orders`.")


@lint_rule("tool", "warning")
def name_generic(tool: Definition) -> Findings:
    """A name says what the tool is about: `search_orders`, not `search_data`."""
    if tool.words and all(word in SAYS_NOTHING for word in tool.words):
        verb = next((word for word in tool.words if word in CLASS_OF), "search")
        words = f"`{cut(tool.name, 60)}` could stand for anything, so it is picked for anything."
        yield Found((*tool.path, "name"), words, f"Name what it acts on, too: `{verb}_orders`, `{verb}_parcels`.")


@lint_rule("tool", "hint")
def name_without_verb(tool: Definition) -> Findings:
    """A name says what is done: it holds a verb."""
    if tool.words and tool.name.isascii() and not _has_verb(tool):
        words = f"`{cut(tool.name, 60)}` names a thing, and not what is done with it: is it read, changed, sent?"
        yield Found((*tool.path, "name"), words, f"Put the verb first: `get_{cut(tool.words[-1], 40)}`, if it reads.")


_LONG_VERBS = tuple(verb for verb in VERBS - NOUNS_TOO if len(verb) > 3)


def _has_verb(tool: Definition) -> bool:
    words = [word if word in VERBS else word.removesuffix("s") for word in tool.words]
    if set(words) & (VERBS - NOUNS_TOO):
        return True
    if words[0] in NOUNS_TOO and len(words) > 1 and words[1] not in SAYS_NOTHING:
        return True
    if len(words) == 1 and words[0].startswith(_LONG_VERBS):  # `searchorders`
        return True
    said = re.match(r"\W*([A-Za-z]{2,})", tool.description)  # "Blurs a picture.": `blur_picture`
    return said is not None and said[1].lower().removesuffix("s") in words


# The five questions.

FIVE = (
    "Write three to six sentences: when to use it; when not, and which tool instead; what comes back, also when "
    "nothing is found; limits and side effects."
)


@lint_rule("tool", "error")
def description_missing(tool: Definition) -> Findings:
    """A tool has a description."""
    if not tool.description.strip():
        words = "There is no description: the name is all that the model knows of this tool."
        yield Found((*tool.path, "description"), words, FIVE)


@lint_rule("tool", "warning")
def description_short(tool: Definition) -> Findings:
    """A description says more than the name does."""
    said = tool.description.strip()
    if said and _is_short(tool):
        yield Found((*tool.path, "description"), f"{quoted(said)} hardly says more than the name.", FIVE)


def _is_short(tool: Definition) -> bool:
    return count_words(tool.description) < 8


def _judged(tool: Definition) -> bool:
    """Whether the description is long enough, and in a language that these rules know."""
    english = re.findall(r"\b(?:the|a|of|to|for|and|is|by|with|from|or|when|it)\b", tool.description, re.IGNORECASE)
    known = 12 * len(english) >= len(tool.description.split()) or re.search("[一-鿿]", tool.description)
    return bool(known) and not _is_short(tool)


@lint_rule("tool", "hint")
def says_when(tool: Definition) -> Findings:
    """A description says when to use the tool."""
    if _judged(tool) and not WHEN.search(tool.description) and not BOUNDARY.search(tool.description):
        fix = "Add a sentence such as: Use it when the user asks …; put the users' own words in it."
        yield Found((*tool.path, "description"), "It says what the tool does, and not when it is the right one.", fix)


@lint_rule("list", "hint")
def says_when_not(tools: Tools) -> Findings:
    """A description says when not to use the tool, and which neighbour to use instead."""
    groups: dict[str, list[Definition]] = defaultdict(list)
    for tool in tools.custom:
        groups[_job(tool)].append(tool)
    groups.pop("", None)
    for tool in tools.custom:
        others = [other for other in groups.get(_job(tool), ())[:20] if other.name != tool.name]
        if others and _judged(tool) and not tool.mentioned and not BOUNDARY.search(tool.description):
            own = content_words(tool.description)
            nearest = max(others, key=lambda other: len(own & content_words(other.description)))  # noqa: B023
            name = cut(nearest.name, 60)
            words = f"`{name}` could be meant by the same request, and nothing says which is for what."
            yield Found((*tool.path, "description"), words, f"Add: Not for … (use {name}).")


def _job(tool: Definition) -> str:
    """What makes two tools neighbours: `search_orders` and `query_order` are both "read order"."""
    verb = _first_verb(tool.words)
    objects = [word.removesuffix("s") for word in tool.words if word != verb and word not in SAYS_NOTHING]
    return f"{CLASS_OF[verb]} {' '.join(objects)}" if verb and objects else ""


def _first_verb(words: list[str]) -> str:
    return next((word for word in words if word in CLASS_OF), "")


def kind_of_verb(words: list[str]) -> str | None:
    """The class of the first verb among some words: `["query", "order"]` → `"read"`."""
    return CLASS_OF.get(_first_verb(words))


@lint_rule("tool", "hint")
def says_returns(tool: Definition) -> Findings:
    """A description says what comes back."""
    if _judged(tool) and not RETURNS.search(tool.description):
        words = "Nothing says what comes back, so the model cannot plan with it."
        yield Found((*tool.path, "description"), words, "Add: Returns …, with the names of the fields that matter.")


@lint_rule("tool", "hint")
def says_nothing_found(tool: Definition) -> Findings:
    """A tool that searches says what comes back when there is nothing."""
    searches = tool.inputs and set(tool.words) & {"search", "find", "query", "lookup", "grep", "list"}
    if searches and _judged(tool) and RETURNS.search(tool.description) and not NOTHING_FOUND.search(tool.description):
        words = "Nothing says what comes back without a match: it will be taken for a failure, and tried again."
        yield Found((*tool.path, "description"), words, "Add: No match is an empty list, not an error.")


@lint_rule("tool", "hint")
def says_effects(tool: Definition) -> Findings:
    """A tool that changes something says its limits and side effects."""
    verb = _first_verb(tool.words)
    if CLASS_OF.get(verb, "read") != "read" and _judged(tool) and not EFFECTS.search(tool.description):
        words = f"It seems to {verb}, and nothing says how far that goes or whether it can be undone."
        fix = "Add what it never does, what becomes of what is there already, and whether a second call does it again."
        yield Found((*tool.path, "description"), words, fix)


# One tool, one job.

_FIRST_PAIR = re.compile(r"^\W*(\w+)(?:, \w+)*,? (?:and|or|&|/) (?:also )?(\w+)\b")
_THEN = re.compile(r"\b(?:and|or|also|then)(?: also| can| to)? (\w+) (?:it|them|the|a|an|its|their|one|any|all|new)\b")
_ALSO = re.compile(r"\balso (?:be used to |can |may )?(\w+)\b")
_TWO_CHINESE = re.compile(
    "(?:[也还]|同时)(?:可以?|能|支持)|(?:或者?|和|并|及|、)(?:新建|创建|修改|删除|更新|取消|发送|退款|添加|撤销)"
)
_ONE_JOB = ({"move", "rename"}, {"find", "replace"}, {"search", "replace"})


@lint_rule("tool", "hint")
def many_verbs(tool: Definition) -> Findings:
    """A tool does one job: "and", "or" and "also" between verbs are the sign of two."""
    first = re.split(r"(?<=\.)\s|[。\n]", tool.description.strip(), maxsplit=1)[0]
    lead = (re.findall(r"\w+", first) or [""])[0]
    pairs = [(pair[1], pair[2]) for pair in [_FIRST_PAIR.match(first)] if pair]
    pairs += [(lead, word) for word in [*_THEN.findall(first), *_ALSO.findall(tool.description)]]
    for one, other in ((_verb(one), _verb(other)) for one, other in pairs):
        kinds = {CLASS_OF.get(one), CLASS_OF.get(other)}
        if one and other and one != other and kinds != {"read"} and {one, other} not in _ONE_JOB:
            words = f"It is there to {one} and to {other}: whoever wants one of the two can get the other."
            yield Found((*tool.path, "description"), words, f"Make two tools, one to {one} and one to {other}.")
            return
    if two := _TWO_CHINESE.search(first):
        words = f"{quoted(two[0])} joins two jobs: whoever wants one of the two can get the other."
        yield Found((*tool.path, "description"), words, "Make two tools, each with one verb.")


def _verb(word: str) -> str:
    """The verb that a word is a form of, or "": `"Cancels"` → `"cancel"`."""
    word = word.lower()
    for ending, instead in (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("ing", ""), ("ing", "e")):
        plain = word.removesuffix(ending) + instead
        if word.endswith(ending) and plain in CLASS_OF:
            return plain
    return ""


_CHOOSES = frozenset("action operation op method verb command mode".split())
_HTTP = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())
_ANYTHING = frozenset("entity entity_type payload params parameters data body resource fields".split())


@lint_rule("tool", "warning")
def many_jobs(tool: Definition) -> Findings:
    """A tool has no input that chooses between jobs: `action` with `entity` and `payload`, or a list of verbs."""
    inputs = {one.name.lower(): one for one in tool.inputs if one.level == 1}
    for name, one in ((name, one) for name, one in inputs.items() if name in _CHOOSES):
        verbs = [option for option in one.options if isinstance(option, str) and _begins_with_verb(option)]
        if len(verbs) > 1 and not _HTTP.issuperset(map(str, one.options)):
            listed = ", ".join(cut(verb, 30) for verb in verbs[:6])
            words = f"One tool with {len(verbs)} jobs ({listed}): which inputs go with which is left to be guessed."
            objects = [word for word in tool.words if word not in CLASS_OF and word not in SAYS_NOTHING]
            alone = "_".join([cut(verbs[0], 30), *objects]) if verbs[0] in VERBS else cut(verbs[0], 60)
            yield Found(one.path, words, f"Make a tool of each, such as `{alone}`, with only the inputs it needs.")
        elif not one.options and (rest := sorted(inputs.keys() & _ANYTHING)):
            words = f"`{name}` with `{rest[0]}` opens every combination, and most of them mean nothing."
            yield Found(one.path, words, "Make a tool of each action, with named inputs in place of the payload.")


def _begins_with_verb(option: str) -> bool:
    return next(iter(name_words(option)), "") in VERBS


# Neighbours.

_SENDS_TO = re.compile(
    r"\b(?:use|call|prefer|see|try) (?:the )?`?([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b`?"
    r"(?! (?:parameter|field|input|argument|=))"
)


@lint_rule("tool", "warning")
def boundary_unknown_tool(tool: Definition) -> Findings:
    """A tool that a description points to is in the list."""
    if len(tool.tools.names) < 2:
        return  # a definition looked at by itself: its neighbours are not here
    own = {one.name for one in tool.inputs}
    own |= {option for one in tool.inputs for option in one.options if isinstance(option, str)}
    for name in dict.fromkeys(_SENDS_TO.findall(tool.description)):
        if name not in tool.tools.names and name not in own:
            words = f"It sends to `{cut(name, 60)}`, and there is no such tool in the list."
            meant = near(name, tool.tools.names)
            fix = f"Write `{meant}`, if that is the one." if meant else "Name a tool that is there, or leave it out."
            yield Found((*tool.path, "description"), words, fix)


TEXT_RULES: tuple[LintRule, ...] = (
    tool_name_long,
    name_generic,
    name_without_verb,
    description_missing,
    description_short,
    says_when,
    says_when_not,
    says_returns,
    says_nothing_found,
    says_effects,
    many_verbs,
    many_jobs,
    boundary_unknown_tool,
)

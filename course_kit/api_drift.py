"""`course doctor --api`: has an API moved on? The types of the installed SDKs beside what the rules of the course know.

    look()          a `Drift`: what is new in an SDK, what is gone from it, and what of that is known and why

What the course knows is read from its own rules and shapes, what an SDK knows from its types; neither is written down
twice. Which is held against which, and why some differences are meant to be, stands next door, in `api_topics.py`. A
reason for something that is no difference any more is told too. Nothing is sent anywhere.
"""

import importlib.metadata
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

__all__ = [
    *("Difference", "Drift", "Names", "Topic", "field", "fields_of", "hints_of", "kinds_of", "literals_of", "look"),
    *("parts_of", "shapes_in"),
]

Names = Iterable[str]


@dataclass(frozen=True)
class Topic:
    """One thing to compare: two functions that give names, the course's (`known`) and the SDK's (`installed`)."""

    sdk: str
    name: str
    known: Callable[[], Names]
    installed: Callable[[], Names]


class Difference(NamedTuple):
    """A name that only one side has. `why` is empty for one that nobody has explained."""

    sdk: str
    topic: str
    name: str
    change: Literal["new", "gone", "settled", "unreadable"]
    why: str = ""

    @property
    def news(self) -> bool:
        """Whether nobody has said yet why it is so, or the reason holds no more."""
        return self.change in ("settled", "unreadable") or not self.why


@dataclass(frozen=True)
class Drift:
    """What was compared, and every difference; `ok` when each of them is known."""

    versions: Mapping[str, str]
    compared: int
    differences: tuple[Difference, ...]

    @property
    def news(self) -> tuple[Difference, ...]:
        """The differences that ask for a look."""
        return tuple(one for one in self.differences if one.news)

    @property
    def ok(self) -> bool:
        """Whether there is no news."""
        return not self.news

    def table(self, everything: bool = False) -> str:
        """The news, a line each; with `everything` also the differences that are meant to be, with their reasons."""
        rows = [one for one in self.differences if everything or one.news]
        cells = [(one.change, one.sdk, one.topic, one.name, one.why) for one in rows]
        widths = [max((len(row[column]) for row in cells), default=0) for column in range(4)]
        lines = ["  ".join([*map(str.ljust, row[:4], widths), row[4]]).rstrip() for row in cells]
        return "\n".join([*lines, *([""] if lines else []), self._sentence()])

    def _sentence(self) -> str:
        told = ", ".join(f"{sdk} {version}" for sdk, version in self.versions.items())
        meant = len(self.differences) - len(self.news)
        beside = f"{self.compared} topics compared with {told}; {meant} differences are known and meant to be."
        if self.ok:
            return f"The rules know all that the SDKs name: {beside}"
        count = f"{len(self.news)} difference{'s' if len(self.news) > 1 else ''}"
        return f"{count} that the rules do not know: {beside}"


def look(
    topics: Iterable[Topic] | None = None, why: Mapping[tuple[str, str], Mapping[str, str]] | None = None
) -> Drift:
    """Compare the SDKs that are installed here with the rules."""
    from course_kit import api_topics

    topics = api_topics.TOPICS if topics is None else topics
    why = api_topics.WHY if why is None else why
    versions: dict[str, str] = {}
    found: list[Difference] = []
    compared = 0
    for topic in topics:
        try:
            versions[topic.sdk] = importlib.metadata.version(topic.sdk)
        except importlib.metadata.PackageNotFoundError:
            continue
        compared += 1
        found += _compared(topic, dict(why.get((topic.sdk, topic.name), {})))
    return Drift(versions, compared, tuple(found))


def _compared(topic: Topic, reasons: dict[str, str]) -> Iterator[Difference]:
    try:
        known, installed = set(topic.known()), set(topic.installed())
    except (ImportError, AttributeError, TypeError, KeyError) as problem:
        yield Difference(topic.sdk, topic.name, f"{type(problem).__name__}: {problem}", "unreadable")
        return
    for name in sorted(installed - known):
        yield Difference(topic.sdk, topic.name, name, "new", reasons.pop(name, ""))
    for name in sorted(known - installed):
        yield Difference(topic.sdk, topic.name, name, "gone", reasons.pop(name, ""))
    for name in sorted(reasons):
        yield Difference(topic.sdk, topic.name, name, "settled", "a reason stands in WHY, and no difference")


# Reading types


def parts_of(annotation: Any) -> Iterator[Any]:
    """The members of a union at any depth, without what is wrapped around them: `Annotated[A | B, …]` → A, B."""
    annotation = getattr(annotation, "__value__", annotation)  # a type alias
    origin = typing.get_origin(annotation)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        yield from parts_of(typing.get_args(annotation)[0])
    elif origin is Literal or origin is None:
        yield annotation
    else:  # a union, a list, an Iterable
        for part in typing.get_args(annotation):
            yield from parts_of(part)


def literals_of(annotation: Any) -> set[str]:
    """The texts that an annotation allows by name: `Literal["a"] | Literal["b", None] | str` → a, b."""
    named = [part for part in parts_of(annotation) if typing.get_origin(part) is Literal]
    return {value for part in named for value in typing.get_args(part) if isinstance(value, str)}


def hints_of(shape: Any) -> dict[str, Any]:
    """The fields of a TypedDict or of a pydantic model, with what they hold."""
    fields = getattr(shape, "model_fields", None)
    if fields is not None:
        return {field.alias or name: field.annotation for name, field in fields.items()}
    return typing.get_type_hints(shape, include_extras=True)


def fields_of(*shapes: Any) -> set[str]:
    """The names of the fields of all these shapes."""
    return {name for shape in shapes for name in hints_of(shape)}


def shapes_in(annotation: Any) -> list[Any]:
    """The typed shapes among the members of a union."""
    return [part for part in parts_of(annotation) if isinstance(part, type) and hasattr(part, "__annotations__")]


def kinds_of(*annotations: Any, by: str = "type") -> set[str]:
    """What tells the members of these unions apart: the texts that their field `type` allows."""
    shapes = [shape for annotation in annotations for shape in shapes_in(annotation)]
    return {text for shape in shapes for text in literals_of(hints_of(shape).get(by))}


def field(shape: Any, *names: str) -> Any:
    """What a field holds, looked for in every member of a union: `field(Body, "messages", "content")`."""
    held = [shape]
    for name in names:
        held = [hints_of(one)[name] for part in held for one in shapes_in(part) if name in hints_of(one)]
        if not held:
            raise KeyError(name)
    return tuple.__class_getitem__(tuple(held)) if len(held) > 1 else held[0]

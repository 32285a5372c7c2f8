"""Timetables of 90 minutes, half a day and a day, over sections of several lessons.

Written by hand in `tracks.toml`; what a track skips is worked out from the plans. `track_problems` says where a
timetable does not add up, names what is not there, or shows a section whose code needs one that was skipped.
"""

import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_kit.classroom.checks import find_exercise
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.teaching.parts import parts, runs_first
from course_kit.classroom.teaching.plans import FOLDER, Plan, clock, plan, planned
from course_kit.errors import CourseKitError

__all__ = ["Block", "Track", "skipped", "timetable", "track", "track_names", "track_problems"]

FRAME = {  # sections that every lesson has; a track that skips them need not say so each time
    *("One minute: what do you remember?", "When it goes wrong", "The same on the live API"),
    *("Practice", "Recap", "Say it in one breath"),
}
KINDS = ("lesson", "exercise", "break", "test", "talk")


@dataclass(frozen=True)
class Block:
    """One line of a timetable. `kind` is the first of lesson, exercise, break, test, talk that it has."""

    kind: str
    what: str  # the heading, the exercise's id, the test's name, or words
    minutes: int
    lesson: str = ""
    jump_to: bool = False
    note: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Block":
        """`{"lesson": "01", "section": "Three hard rules", "minutes": 9}`"""
        kind = next((kind for kind in KINDS if kind in data), "")
        what = data["section"] if kind == "lesson" else data.get(kind, "")
        number = data["lesson"] if kind == "lesson" else lesson_of(what) if kind == "exercise" else ""
        return cls(kind, what, data["minutes"], number, data.get("jump_to", False), data.get("note", ""))


@dataclass(frozen=True)
class Track:
    """A timetable."""

    name: str
    title: str
    minutes: int
    aim: str
    leaves_out: str
    blocks: tuple[Block, ...]


def track_names() -> list[str]:
    """The names of the tracks: `["90-minutes", "half-day", "day"]`."""
    return [one["name"] for one in _read()]


def track(name: str) -> Track:
    """The track with this name."""
    for one in _read():
        if one["name"] == name:
            blocks = tuple(map(Block.read, one["blocks"]))
            return Track(one["name"], one["title"], one["minutes"], one["aim"], one["leaves_out"], blocks)
    raise CourseKitError(f"There is no track {name!r}: choose from {', '.join(track_names())}.")


def skipped(track: Track) -> dict[str, list[str]]:
    """What a track leaves out: for each lesson it uses, the sections it does not show."""
    shown: dict[str, set[str]] = {}
    for block in track.blocks:
        if block.kind == "lesson":
            shown.setdefault(block.lesson, set()).add(block.what)
    return {
        number: [one.heading for one in plan(number).sections[1:] if one.heading not in headings]
        for number, headings in sorted(shown.items())
    }


def timetable(track: Track) -> str:
    """The track as text: clock, minutes and what is done; then what is skipped."""
    lines = [f"{track.name} · {track.title}: {clock(track.minutes)}", *_wrapped(f"Aim: {track.aim}", "  "), ""]
    at = 0
    for block in track.blocks:
        lines += _wrapped(f"{clock(at)}  {block.minutes:>3}  {_told(block)}", "", "           ")
        if block.jump_to:
            lines += _wrapped(_jump(block), "           ")
        if block.note:
            lines += _wrapped(block.note, "           ")
        at += block.minutes
    lines += [f"{clock(at)}       end", "", *_wrapped(f"Left out: {track.leaves_out}", "")]
    for number, headings in skipped(track).items():
        told = [heading for heading in headings if heading not in FRAME]
        lines += _wrapped(f"Skipped of {number}: {'; '.join(told) or 'nothing'}.", "  ")
    unused = [number for number in planned() if number not in skipped(track)]
    frame = "Recall, 'when it goes wrong', live cells, practice and recap are skipped unless named."
    return "\n".join([*lines, f"  Lessons not used: {', '.join(unused) or 'none'}.", f"  {frame}"])


def track_problems(track: Track) -> list[str]:
    """What is wrong with a track, one sentence each; an empty list when nothing is."""
    plans = {number: plan(number) for number in planned()}
    found = []
    if (total := sum(block.minutes for block in track.blocks)) != track.minutes:
        found.append(f"the blocks take {total} minutes, the track {track.minutes}")
    shown: dict[str, list[str]] = {}
    caught_up: dict[str, int] = {}  # the place in a lesson up to which everything above was run
    for block in track.blocks:
        if block.minutes < 1:
            found.append(f"{block.what!r} takes {block.minutes} minutes")
        match block.kind:
            case "lesson":
                found += _section_problems(block, plans, shown, caught_up)
            case "exercise":
                found += _exercise_problems(block, plans, shown)
            case "test" if block.what not in ("before", "after"):
                found.append(f"there is no test {block.what!r}")
            case "":
                found.append(f"a block of {block.minutes} minutes says nothing")
    return found


def _section_problems(
    block: Block, plans: dict[str, Plan], shown: dict[str, list[str]], caught_up: dict[str, int]
) -> list[str]:
    made = plans.get(block.lesson)
    if made is None:
        return [f"lesson {block.lesson} has no plan"]
    headings = [one.heading for one in made.sections]
    if block.what not in headings:
        return [f"lesson {block.lesson} has no section {block.what!r}"]
    found, place = [], headings.index(block.what)
    if block.minutes > made.sections[place].minutes:
        found.append(f"{block.what!r} gets {block.minutes} minutes, its plan {made.sections[place].minutes}")
    missing = [
        heading
        for heading in runs_first(block.lesson, block.what)
        if heading not in shown.get(block.lesson, ()) and headings.index(heading) >= caught_up.get(block.lesson, 0)
    ]
    if missing and not block.jump_to:
        found.append(f"{block.what!r} needs {missing[0]!r}, which was skipped: say jump_to = true")
    if block.jump_to and not missing:
        found.append(f"{block.what!r} needs nothing that was skipped: drop jump_to = true")
    if block.jump_to:
        caught_up[block.lesson] = place
    shown.setdefault(block.lesson, []).append(block.what)
    return found


def _exercise_problems(block: Block, plans: dict[str, Plan], shown: dict[str, list[str]]) -> list[str]:
    try:
        known = find_exercise(block.what)
    except CourseKitError as error:
        return [str(error)]
    found = []
    if block.minutes < known.minutes:
        found.append(f"exercise {block.what} gets {block.minutes} minutes and takes {known.minutes}")
    after = next(one.after for one in plans[block.lesson].exercises if one.id == known.id)
    headings = [one.heading for one in plans[block.lesson].sections]
    seen = [headings.index(heading) for heading in shown.get(block.lesson, ())]
    if after not in shown.get(block.lesson, ()) and headings.index(after) > max(seen, default=-1):
        found.append(f"exercise {block.what} comes before {after!r} was shown")
    return found


def _told(block: Block) -> str:
    match block.kind:
        case "lesson":
            return f"{block.lesson} · {block.what}"
        case "exercise":
            return f"Exercise {block.what}: {find_exercise(block.what).title}"
        case "break":
            return f"Break: {block.what}"
        case "test":
            return f"The {block.what} test: course test {block.what}"
        case _:
            return block.what


def _jump(block: Block) -> str:
    number = next(place for place, part in enumerate(parts(block.lesson)) if part.heading == block.what)
    names = sorted({name for taken in runs_first(block.lesson, block.what).values() for name in taken})
    return f"First, in that notebook: jump_to({number}) runs what was skipped ({', '.join(names)})."


def _wrapped(text: str, first: str, then: str | None = None) -> list[str]:
    indent = first if then is None else then
    return textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def _read() -> list[dict[str, Any]]:
    return tomllib.loads((FOLDER / "tracks.toml").read_text(encoding="utf-8"))["tracks"]

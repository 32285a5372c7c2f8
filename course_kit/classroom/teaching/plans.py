"""The plan of a lesson: what to say, ask and run, where people get stuck, how long it takes.

Written by hand in `NN.toml`, section by section. What is written elsewhere is not repeated: quizzes come from the
notebook, the minutes of an exercise from its check, title and minutes of the lesson from its first cell. `problems`
says where plan and notebook disagree.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_kit.classroom.checks import exercise_ids, find_exercise
from course_kit.classroom.lessons import Lesson, lessons
from course_kit.classroom.progress import lesson_of
from course_kit.classroom.quiz import question_ids
from course_kit.classroom.teaching.parts import lesson, parts
from course_kit.errors import CourseKitError

__all__ = ["FOLDER", "GivenExercise", "Plan", "PlannedSection", "Shorter", "clock", "plan", "planned", "problems"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class PlannedSection:
    """One section in the room. `run` are pieces of the cells to run; `questions` are pairs of question and answer."""

    heading: str
    minutes: int
    say: tuple[str, ...]
    ask: str = ""
    run: tuple[str, ...] = ()
    stuck: str = ""
    questions: tuple[tuple[str, str], ...] = ()
    quizzes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GivenExercise:
    """An exercise, after which section it can be given, and how. Its minutes are not the lesson's."""

    id: str
    title: str
    minutes: int
    after: str
    how: str


@dataclass(frozen=True)
class Shorter:
    """What to leave out of a section when time is short, the minutes it saves, and what to do in its place."""

    leave: str
    saves: int
    instead: str


@dataclass(frozen=True)
class Plan:
    """The whole plan of one lesson."""

    lesson: Lesson
    aim: str
    prepare: tuple[str, ...]
    sections: tuple[PlannedSection, ...]
    exercises: tuple[GivenExercise, ...]
    shorter: tuple[Shorter, ...]

    def section(self, heading: str) -> PlannedSection:
        """The section with this heading."""
        for one in self.sections:
            if one.heading == heading:
                return one
        raise CourseKitError(f"Lesson {self.lesson.number} has no section {heading!r}.")

    def begins(self) -> list[int]:
        """The minute at which each section begins."""
        return [sum(one.minutes for one in self.sections[:number]) for number in range(len(self.sections))]


def planned() -> list[str]:
    """The numbers of the lessons that have a plan."""
    return [one.number for one in lessons() if (FOLDER / f"{one.number}.toml").is_file()]


def plan(number: str | int) -> Plan:
    """The plan of a lesson: `plan("05")`."""
    known = lesson(number)
    data = _read(known.number)
    quizzes = {part.heading: tuple(part.quizzes) for part in parts(known.number)}
    return Plan(
        lesson=known,
        aim=data["aim"],
        prepare=tuple(data["prepare"]),
        sections=tuple(
            PlannedSection(
                one["heading"],
                one["minutes"],
                tuple(one["say"]),
                one.get("ask", ""),
                tuple(one.get("run", ())),
                one.get("stuck", ""),
                tuple((question, answer) for question, answer in one.get("questions", ())),
                quizzes.get(one["heading"], ()),
            )
            for one in data["sections"]
        ),
        exercises=tuple(_given(one) for one in data.get("exercises", ())),
        shorter=tuple(Shorter(one["leave"], one["saves"], one["instead"]) for one in data.get("shorter", ())),
    )


def problems(number: str | int) -> list[str]:
    """Where the plan and the lesson disagree, one sentence each; an empty list when they do not."""
    made, known = plan(number), parts(number)
    headings = [one.heading for one in made.sections]
    wanted = [part.heading for part in known]
    found = [f"the plan lacks {heading!r}" for heading in wanted if heading not in headings]
    found += [f"the notebook has no section {heading!r}" for heading in headings if heading not in wanted]
    if not found and headings != wanted:
        found.append("the sections are in another order than in the notebook")
    minutes = sum(one.minutes for one in made.sections)
    if minutes != made.lesson.minutes:
        found.append(f"the sections take {minutes} minutes, the lesson says {made.lesson.minutes}")
    code = {part.heading: part.code for part in known}
    for one in made.sections:
        for piece in one.run:
            if not any(piece in source for source in code.get(one.heading, ())):
                found.append(f"{one.heading!r} has no cell with {piece!r}")
        found += [f"{one.heading!r} has nothing to say"] * (not any(map(str.strip, one.say)))
        found += [f"{one.heading!r} takes {one.minutes} minutes"] * (one.minutes < 1)
    minutes_of = {one.heading: one.minutes for one in made.sections}
    for given in made.exercises:
        found += [f"exercise {given.id} comes after {given.after!r}, which is not a section"] * (
            given.after not in headings
        )
    for cut in made.shorter:
        if not 0 < cut.saves <= minutes_of.get(cut.leave, 0):
            found.append(f"leaving out of {cut.leave!r} cannot save {cut.saves} minutes")
    ids = [given.id for given in made.exercises]
    theirs = [id for id in exercise_ids() if lesson_of(id) == made.lesson.number]
    if sorted(ids) != sorted(theirs):
        found.append(f"the plan gives the exercises {sorted(ids)}, the lesson has {theirs}")
    asked = [id for one in made.sections for id in one.quizzes]
    known_ids = question_ids()
    found += [
        f"the notebook asks {id}, which is not a question"
        for id in asked
        if not any(known_id == id or known_id.startswith(f"{id}.") for known_id in known_ids)
    ]
    return found


def clock(minutes: int) -> str:
    """Minutes as a clock that began at zero: `95` → `"1:35"`."""
    return f"{minutes // 60}:{minutes % 60:02}"


def _given(data: dict[str, Any]) -> GivenExercise:
    known = find_exercise(data["id"])
    return GivenExercise(known.id, known.title, known.minutes, data["after"], data["how"])


def _read(number: str) -> dict[str, Any]:
    file = FOLDER / f"{number}.toml"
    if not file.is_file():
        raise CourseKitError(f"Lesson {number} has no plan yet: there are plans for {', '.join(planned())}.")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseKitError(f"The plan {file.name} cannot be read: {error}. Fix the file.") from error

"""What the questions of a file must hold: fair, whole, and with no key to be seen from their form."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from course_kit.classroom.quiz import Question

__all__ = ["lint_quizzes"]


def lint_quizzes(questions: Iterable[Question | Mapping[str, Any]]) -> list[str]:
    """What is wrong with the questions of one file, one sentence each; an empty list when nothing is."""
    read = [question if isinstance(question, Question) else Question.read(question) for question in questions]
    found, ids = list[str](), [question.id for question in read]
    found += [f"{id}: the id is used {ids.count(id)} times" for id in dict.fromkeys(ids) if ids.count(id) > 1]
    for question in read:
        options, right = question.options, len(question.right_ids)
        option_ids = [option.id for option in options]
        rules = {
            "the id must be like 01.2": bool(re.fullmatch(r"\d\d(\.[a-z0-9-]+)+", question.id)),
            "the kind must be single or multiple": question.kind in ("single", "multiple"),
            "the question is empty": bool(question.question.strip()),
            "option ids must be unique and not empty": len(set(option_ids)) == len(options) and all(option_ids),
            "at least one option must be right": right > 0,
            "at least one option must be wrong": right < len(options),
            "a single question must have exactly one right option": question.kind != "single" or right == 1,
            "two options say the same": len({option.text.strip() for option in options}) == len(options),
            "there are fewer than three options": len(options) >= 3,
            "the right option stands out by its length": question.kind != "single" or not _stands_out(question),
        }
        found += [f"{question.id}: {sentence}" for sentence, holds in rules.items() if not holds]
        found += [f"{question.id}: option {option.id} has no text" for option in options if not option.text.strip()]
        found += [f"{question.id}: option {option.id} has no reason" for option in options if not option.why.strip()]
    singles = [question for question in read if question.kind == "single" and len(question.right_ids) == 1]
    if len(singles) >= 4:
        for name, pick in {"longest": max, "shortest": min}.items():
            alone = [question.id for question in singles if _right_is_alone(question, pick)]
            if len(alone) > 0.5 * len(singles):
                found.append(f"the right option is the {name} too often: {', '.join(alone)}")
        places = [[option.right for option in question.options].index(True) for question in singles]
        if len(set(places)) == 1:
            found.append("the right option always stands in the same place")
        elif max(map(places.count, places)) > 0.6 * len(places):
            found.append("the right option stands in the same place too often")
    return found


def _right_is_alone(question: Question, pick: Callable[..., int]) -> bool:
    """Whether the right option has this length (`pick` is `max` or `min`), and no wrong one has it too."""
    lengths = {option.id: len(option.text) for option in question.options}
    [right] = question.right_ids
    return [id for id, length in lengths.items() if length == pick(lengths.values())] == [right]


def _stands_out(question: Question) -> bool:
    """Whether the right option is longer than each other by more than a fifth, and by a word at least."""
    right, wrong = (
        max((len(o.text) for o in question.options if o.right is is_right), default=0) for is_right in (True, False)
    )
    return right > max(1.2 * wrong, wrong + 6)

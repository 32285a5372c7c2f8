"""Checks of lesson 00: one sum, and who did what."""

import random
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.errors import Incorrect

__all__: list[str] = []


@exercise(
    "0.1",
    title="Add",
    difficulty="easy",
    importance="optional",
    minutes=2,
    hints=["The function gets two numbers, `a` and `b`. Which operator puts them together?"],
)
class Add:
    def cases(seed: int) -> list[list[int]]:
        draw = random.Random(f"0.1:{seed}")
        return [[2, 3], *([draw.randint(-99, 99), draw.randint(100, 999)] for _ in range(3))]

    def observe(add: Any, case: list[int]) -> Any:
        return {"returned": add(*case)}

    def judge(case: list[int], seen: dict[str, Any]) -> None:
        a, b = case
        if seen["returned"] != a + b or isinstance(seen["returned"], bool):
            raise Incorrect(f"`add({a}, {b})` should return {a + b}; it returned {seen['returned']!r}.")


WHO = {
    "chose the tool": ("model", "The program offered six tools. The reply says which one to use."),
    "wrote the amount into the input": (
        "model",
        "The user wrote 19.99; somebody turned it into 1999, as the definition says.",
    ),
    "booked the refund": ("program", "The model cannot reach the database. Who can?"),
    "named the order first": ("user", "Look at the first block of the transcript."),
}


@exercise(
    "0.2",
    title="Who did it?",
    difficulty="easy",
    importance="core",
    minutes=3,
    hints=["Step through the transcript once more. Whose name is above each block?"],
)
class WhoDidIt:
    def cases(seed: int) -> list[str]:
        return list(WHO)

    def observe(answers: Any, case: str) -> Any:
        return {"answer": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        right, why = WHO[case]
        answer = seen["answer"]
        if not isinstance(answer, str) or answer.strip().lower() not in ("model", "program", "user"):
            raise Incorrect(f'Who {case}? Answer "model", "program" or "user"; you wrote {answer!r}.')
        if answer.strip().lower() != right:
            raise Incorrect(f"Who {case}? Not the {answer.strip().lower()}. {why}")

"""Checks of lesson 13: the agent, in five stages. The cases and how they are judged are in `classroom/capstone/`."""

from collections.abc import Callable
from typing import Any

from course_kit.classroom.capstone.judging import judge as judge_trial
from course_kit.classroom.capstone.playing import play
from course_kit.classroom.capstone.suite import STAGES
from course_kit.classroom.capstone.suite import cases as draw
from course_kit.classroom.checks import exercise
from course_kit.errors import Incorrect

__all__: list[str] = []

TRIALS = 3  # of each case of the stage; those of earlier stages are run once


def _cases(seed: int, stage: str) -> list[dict[str, Any]]:
    before = list(STAGES)[: list(STAGES).index(stage)]
    earlier = [{**case, "trials": 1} for name in before for case in draw(seed, name)]
    return [*({**case, "trials": TRIALS} for case in draw(seed, stage)), *earlier]


def _observe(agent: Any, case: dict[str, Any]) -> dict[str, Any]:
    if not callable(agent):
        return {"no_function": type(agent).__name__}

    def call(job: Any) -> Any:
        return agent(job)

    return {"trials": [play(call, case, trial, raising=True) for trial in range(case["trials"])]}


def _judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
    if "no_function" in seen:
        raise Incorrect(f"The agent must be a function of a job; it is a {seen['no_function']}.")
    failed = []
    for trial in seen["trials"]:
        try:
            judge_trial(case, trial)
        except Incorrect as error:
            failed.append(str(error))
    if failed:
        number = len(seen["trials"])
        often = "" if len(failed) == number else f"In {len(failed)} of {number} trials: "
        raise Incorrect(f"{often}{failed[0]}")


def _stage(number: int, stage: str, title: str, minutes: int, difficulty: str, hints: list[str]) -> None:
    parts: dict[str, Callable[..., Any]] = {
        "cases": lambda seed: _cases(seed, stage),
        "observe": _observe,
        "judge": _judge,
    }
    make = exercise(
        f"13.{number}",
        title=title,
        hints=hints,
        difficulty=difficulty,
        importance="core",
        minutes=minutes,
        seconds=30.0,
    )
    make(type(stage, (), {name: staticmethod(function) for name, function in parts.items()}))


_stage(
    1,
    "look",
    "It looks things up",
    10,
    "easy",
    [
        "`run_agent` wants a client, tools and messages, and the job has all three.",
        "`desk_tools(job.shop)` gives the six tools; a text is enough for `messages`.",
        "Is the run returned?",
    ],
)
_stage(
    2,
    "pay",
    "It pays after a yes, once",
    30,
    "medium",
    [
        "Who decides is an option of `run_agent`: lesson 06.",
        "One argument of `desk_tools` turns the task into a key for each refund: lesson 09.",
        "`cancel_order` does not ask by itself. `replace` from `dataclasses` copies a tool with one field changed.",
        "For what is missing, write one more tool, whose name begins with `ask`, around `job.ask`: lesson 03.",
    ],
)
_stage(
    3,
    "strangers",
    "It is not talked into anything",
    10,
    "medium",
    [
        "The gate stops writes. What stops a read of somebody else's order?",
        "Do not look at wording: what may this customer see at all? The shop has a method for it: lesson 04.",
        "A job is a dataclass, so `replace(job, shop=...)` gives a copy with another shop.",
    ],
)
_stage(
    4,
    "many",
    "It finds its tool among sixty-six",
    20,
    "medium",
    [
        "`job.more` holds tools, and they go into `tools` with the desk's: lesson 07.",
        "A tool with `defer_loading=True` is not shown until a search has found it.",
        "The server's search is a dict in the list of tools: its `type` and `name` are in lesson 07.",
        "What has to stay visible? The search, and whatever asks the customer.",
    ],
)
_stage(
    5,
    "bad day",
    "It gets through a bad day",
    40,
    "hard",
    [
        "Take the cases one by one: the check's message names the case. For most there is one option of `run_agent`.",
        "`budget` limits long results, `max_calls` limits calls; repeated calls are noticed by default.",
        "A job that comes a second time finds its folder as it was. A `RunStore` there lists its `runs()`; one that "
        "was broken off has `stopped` None, and `resume_agent` continues it by its `run_id`.",
        "`resume_agent` wants tools, approver and budget again. Limits and messages are in the store.",
        "`run.trace.export()` is masked by default; write it into the folder under a name that ends in `.jsonl`.",
    ],
)

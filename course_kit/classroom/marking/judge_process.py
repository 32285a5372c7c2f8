"""The process that judges what a submission's process reported: all of the answers, and none of the learner's code.

What comes in is data that a stranger may have made to do harm (a pattern that never ends, a schema that grows), so
this runs apart from the marking itself, with limits on time and memory. One line of JSON for each exercise goes out.
"""

import json
import os
import pickle
import sys
from typing import Any

from course_kit.classroom.checks import PASSED, UNTOUCHED, Exercise, Verdict, find_exercise, judge_case, observe_case
from course_kit.classroom.checks import untouched as is_untouched
from course_kit.classroom.marking.learner_process import load_ahead, set_limits
from course_kit.classroom.marking.plain import NotPlain, decoded

__all__ = ["main", "verdict_of"]

BY_HAND = Verdict("not yet", "The check could not judge this answer: look at it yourself.", "judge by hand")


def main() -> None:
    """Judge the reports on standard input: pairs of a report and the exercise's pickled cases."""
    payload = pickle.load(sys.stdin.buffer)  # made by `running.py`; the reports in it are JSON texts
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what an observation prints is not a verdict
    set_limits(payload["limits"])
    load_ahead(payload["sources"])
    for exercise_id, report, cases in payload["reports"]:
        verdict = verdict_of(find_exercise(exercise_id), json.loads(report), pickle.loads(cases))
        out.write(json.dumps([exercise_id, verdict.status, verdict.message, verdict.key]) + "\n")
        out.flush()


def verdict_of(exercise: Exercise, report: dict[str, Any], cases: list[Any]) -> Verdict:
    """What one exercise's report is worth: `{"plain": …}`, or `{"name": …, "seen": […]}`."""
    name, obj, seen = "Your code", None, report.get("seen")
    if "plain" in report:
        try:
            obj = decoded(report["plain"])
        except (NotPlain, RecursionError):
            return BY_HAND
        if is_untouched(obj):
            return UNTOUCHED
    elif isinstance(report.get("name"), str) and report["name"].isidentifier() and len(report["name"]) <= 60:
        name = f"`{report['name']}`"
    observations = seen if isinstance(seen, list) else []
    for number, case in enumerate(cases):
        try:
            if "plain" in report:
                observation = observe_case(exercise, obj, case)
            elif number < len(observations):
                observation = observations[number]
            else:
                return BY_HAND  # it stopped before the last case, and nothing says why
            verdict = judge_case(exercise, case, observation, name)
        except Exception:  # a report that the judge was not made for
            return BY_HAND
        if verdict.status != "passed":
            return verdict
    if not cases:
        return BY_HAND
    return Verdict("passed", f"All {len(cases)} cases hold." if len(cases) > 1 else "", PASSED.key)


if __name__ == "__main__":
    main()

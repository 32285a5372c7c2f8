"""Stuck, or only waiting? A run is stuck when nothing new comes in: same calls, same inputs, same results.

A step limit ends such a run late and with no result. Here it is noticed early, and the model is told once to finish: to
sum up what is known, or to say what is missing. Polling with changing results is not a stall; a job that is merely slow
looks like one, so how many equal rounds are enough is a setting.
"""

import json
from collections.abc import Mapping, Sequence

from course_kit.contract.messages import Block

__all__ = ["CLOSING", "round_of"]

CLOSING = (
    "The last {rounds} rounds made the same calls with the same results: another one now is not likely to bring "
    "anything new. Do not call a tool again. Sum up what is known, or say what is missing or has to be waited for."
)


def round_of(calls: Sequence[Block], results: Mapping[str, Block]) -> str:
    """A round as text, the same for equal rounds: the order of keys and of calls does not count."""
    made = [
        json.dumps([call["name"], call["input"], _without_id(results[call["id"]])], sort_keys=True) for call in calls
    ]
    return "\n".join(sorted(made))


def _without_id(result: Block) -> Block:
    return {key: value for key, value in result.items() if key != "tool_use_id"}

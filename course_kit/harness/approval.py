"""Who decides whether a call may run.

An approver is a function of the call: True lets it run, False refuses it, a text refuses it and says why. Nobody there
means no: a tool that asks, without an approver, is refused.
"""

from collections.abc import Callable

from course_kit.contract.messages import Block, tool_result

from .tools import Call

__all__ = ["Approver", "decide"]

Approver = Callable[[Block], bool | str]


def decide(calls: list[Call | Block], approver: Approver | None) -> list[Call | Block]:
    """Replace each call that is not allowed by the error result that says so. Results pass through."""
    return [_decided(call, approver) if isinstance(call, Call) else call for call in calls]


def _decided(call: Call, approver: Approver | None) -> Call | Block:
    try:
        needed = call.tool.needs_approval
        if not (needed(call.input) if callable(needed) else needed):
            return call
        # What is shown is what runs: the checked input, not the one that was sent.
        shown = {**call.tool_use, "input": call.input}
        verdict = approver(shown) if approver else "nobody was there to approve it"
    except Exception as error:
        verdict = f"the approval failed ({type(error).__name__})"
    if verdict is True:
        return call
    reason = verdict if isinstance(verdict, str) and verdict else "no reason was given"
    return tool_result(
        call.tool_use["id"],
        f"A person has to approve `{call.tool.name}` and it was refused: {reason}. Nothing was done. "
        "Try another way, or ask the user.",
        is_error=True,
    )

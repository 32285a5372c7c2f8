"""A recorded run as a case: what was said, and the calls that answered it, now expected.

    case = case_from(read_recording("refund.jsonl"), "refund")
    run_trials([case], lambda seed: connect(replay="refund.jsonl"), world=…)     # the recording answers
    run_trials([case], lambda seed: MockProvider(Simulated(seed=seed)), world=…)  # another model does

Look at the case before you keep it: a recording shows what a model did, which need not be what it should have done.
`golden.py` compares two runs step by step.
"""

from collections.abc import Iterable
from typing import Any

from course_kit.contract.messages import content_blocks, text_of
from course_kit.contract.shapes import request_from

from .cases import Case, CaseError, Expect, ExpectedCall
from .golden import golden, parts_of

__all__ = ["case_from"]


def case_from(exchanges: Iterable[Any], id: str, **more: Any) -> Case:
    """A recorded conversation as a case; `more` are fields of the `Case`: `risk=5`.

    Takes what `golden` takes. Its calls are expected in their order, with these inputs; a run without any expects none.
    """
    exchanges = list(exchanges)
    steps = golden(exchanges).steps
    shape, body, _ = next(parts for parts in map(parts_of, exchanges) if parts[2] is not None)
    opening = request_from(shape, body).value["messages"]
    later, before = [], steps[0]["stop"]
    for step in steps[1:]:
        said = text_of({"content": content_blocks({"content": step["given"]})})
        if said and before != "tool_use":  # text of the harness beside results is not the user's
            later.append(said)
        before = step["stop"]
    calls = tuple(ExpectedCall(call["tool"], call["input"]) for step in steps for call in _calls(step))
    plain = all(block["type"] == "text" for block in content_blocks(opening[-1]))
    if later and not plain:
        raise CaseError("The first turn holds more than text, and others follow: write this case by hand.")
    fields: dict[str, Any] = {"messages": opening[:-1] if plain else opening}
    if later:
        fields["turns"] = (text_of(opening[-1]), *later)
    elif plain:
        fields["prompt"] = text_of(opening[-1])
    expect = Expect(calls=calls, ordered=len(calls) > 1)
    return Case(id, **{"kind": "positive" if calls else "negative", "expect": expect, **fields, **more})


def _calls(step: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of a step that were made; those of a turn that was cut were not."""
    made = step["calls"] if step["stop"] == "tool_use" else []
    return [{"tool": call["name"], "input": call["input"]} for call in made]

"""Two releases of one desk, and the layer at which the second one fell.

A release is all that can change between two deployments: the model, the descriptions and the number of its tools,
`tool_choice`, and the order of the messages. `by_layer(release)` plays the fixtures of `upgrade_cases.py` and says what
share passes, layer by layer. The models are two profiles of the simulated one, so every number here is simulated, and
has a rule that causes it (`mock/simulated.py`). The tools are the desk's definitions over canned answers: nothing is
paid.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean
from typing import Any

from course_kit.catalogue import catalogue
from course_kit.classroom.upgrade_cases import Fixture, fixtures
from course_kit.contract.messages import Message, assistant, tool_use_blocks, user
from course_kit.errors import ToolError
from course_kit.example_tools import definition
from course_kit.harness.agent import run_agent
from course_kit.harness.loop import Run
from course_kit.harness.tools import Tool
from course_kit.mock.simulated import Simulated

__all__ = [
    *("ASK_USER", "LAYERS", "MODELS", "NEW_DESCRIPTION", "Layers", "Release", "by_layer", "passes", "play", "releases"),
]

LAYERS = ("selection", "inputs", "steps", "recovery")

# Two profiles under the names used in the traces. The old one makes up a missing value one time in ten.
MODELS: dict[str, dict[str, Any]] = {
    "simulated-steady-4": {"profile": "steady", "invents": 0.1},
    "simulated-hasty-5": {"profile": "hasty"},
}
DESK = ("search_orders", "query_order", "track_parcel", "search_products", "refund_order", "cancel_order")


@dataclass(frozen=True)
class Release:
    """What runs. `changed` replaces descriptions by tool name, `more` adds definitions of tools.

    `background` is a text about the customer; it is sent as its own turn before the sentence, or with `background_last`
    after it.
    """

    model: str = "simulated-steady-4"
    changed: Mapping[str, str] = field(default_factory=dict)
    more: tuple[Mapping[str, Any], ...] = ()
    tool_choice: Mapping[str, Any] | None = None
    background: str = ""
    background_last: bool = False

    def __post_init__(self) -> None:
        if unknown := [name for name in self.changed if name not in DESK]:
            raise ValueError(f"`changed` names {unknown[0]!r}, and the desk's tools are {', '.join(DESK)}.")
        if isinstance(self.more, Mapping):
            raise TypeError("`more` holds definitions, and this is a single one: write `(definition,)`.")

    def tools(self) -> list[Tool]:
        """The tools of the release, the desk's first."""
        own = [{**entry, "description": self.changed.get(entry["name"], entry["description"])} for entry in _desk()]
        return [_canned(entry) for entry in [*own, *self.more]]

    def messages(self, said: str) -> list[Message]:
        """The conversation that is sent for a sentence of the user."""
        if not self.background:
            return [user(said)]
        first, last = (said, self.background) if self.background_last else (self.background, said)
        return [user(first), assistant("One moment."), user(last)]


@dataclass(frozen=True)
class Layers:
    """What `by_layer` found: the share that passed, layer by layer, and each fixture with its runs."""

    shares: Mapping[str, float]
    rows: tuple[tuple[Fixture, float, Run], ...]

    @property
    def passed(self) -> float:
        """The share of all fixtures."""
        return fmean(share for _, share, _ in self.rows)

    def __repr__(self) -> str:
        told = "   ".join(f"{layer} {share:4.0%}" for layer, share in self.shares.items())
        return f"passed {self.passed:4.0%}   {told}"

    def slips(self, layer: str | None = None) -> str:
        """The fixtures that do not always pass, with the calls of one run that failed."""
        if layer not in (None, *LAYERS):
            raise ValueError(f"There is no layer {layer!r}: the layers are {', '.join(LAYERS)}.")
        lines = [
            f"{share:4.0%}  {fixture.layer:9}  {fixture.said}\n        → {_calls_told(run)}"
            for fixture, share, run in self.rows
            if share < 1 and layer in (None, fixture.layer)
        ]
        return "\n".join(lines) or "Every fixture passes every time."


def by_layer(release: Release, among: Iterable[Fixture] | None = None, seeds: int = 3) -> Layers:
    """Play every fixture with several seeds, and sum up by layer. (Simulated.)"""
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}: play every fixture at least once.")
    rows = []
    for fixture in fixtures() if among is None else among:
        runs = [play(release, fixture.said, seed) for seed in range(seeds)]
        good = [passes(fixture, run) for run in runs]
        shown = next((run for run, ok in zip(runs, good, strict=True) if not ok), runs[0])
        rows.append((fixture, sum(good) / seeds, shown))
    if not rows:
        raise ValueError("There is nothing to play: give at least one fixture.")
    shares = {}
    for layer in LAYERS:
        of_layer = [share for fixture, share, _ in rows if fixture.layer == layer]
        if of_layer:
            shares[layer] = fmean(of_layer)
    return Layers(shares, tuple(rows))


def play(release: Release, said: str, seed: int = 0) -> Run:
    """One conversation with a release: a `Run`, whose trace shows what the model was given and did."""
    return run_agent(
        _sender(release.model, seed),
        model=release.model,
        messages=release.messages(said),
        tools=release.tools(),
        tool_choice=dict(release.tool_choice) if release.tool_choice else None,
        approver=lambda question: True,
        max_iterations=6,
    )


def passes(fixture: Fixture, run: Run) -> bool:
    """Whether a run did what its fixture is for.

    `selection` looks at the tools of the first turn, `inputs` at the inputs too, `recovery` at the calls that
    succeeded, `steps` wants all calls in one turn: two replies, no more.
    """
    replies = [event["message"] for event in run.trace.events if event["event"] == "reply"]
    calls = [block for reply in replies for block in tool_use_blocks(reply)]
    failed = {
        event["result"]["tool_use_id"]
        for event in run.trace.events
        if event["event"] == "result" and event["result"].get("is_error")
    }
    if fixture.layer == "selection":
        calls = tool_use_blocks(replies[0])
    calls = [block for block in calls if block["name"] != "ask_user"]  # a question, and no action
    if fixture.layer == "recovery":
        calls = [block for block in calls if block["id"] not in failed]
    if sorted(block["name"] for block in calls) != sorted(fixture.wanted):
        return False
    if fixture.layer == "steps" and len(replies) > 2:
        return False
    right = all(
        block["input"].get(name) == value for block in calls for name, value in fixture.wanted[block["name"]].items()
    )
    return right or fixture.layer == "selection"


def _sender(model: str, seed: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The simulated model as a function `request -> message`; ids follow from the request."""
    if model not in MODELS:
        raise ValueError(f"There is no model {model!r} here: choose from {', '.join(MODELS)}.")
    simulated = Simulated(seed=seed, **MODELS[model])

    def send(request: dict[str, Any]) -> dict[str, Any]:
        turn, content = len(request["messages"]), []
        for number, block in enumerate(simulated.reply(request).content):
            content.append({**block, "id": f"toolu_{turn}{number}"} if block["type"] == "tool_use" else dict(block))
        called = any(block["type"] == "tool_use" for block in content)
        usage = {"input_tokens": len(str(request)) // 4, "output_tokens": len(str(content)) // 4}  # a rough count
        return {
            "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": model, "content": content,
            "stop_reason": "tool_use" if called else "end_turn", "usage": usage,
        }  # fmt: skip

    return send


# The world, canned

NO_ORDER = "ORD-20260999"
PARCELS = ("TRK-48200908", "TRK-70550915")


@cache
def _desk() -> tuple[dict[str, Any], ...]:
    return tuple(definition(name) for name in DESK)


def _canned(entry: Mapping[str, Any]) -> Tool:
    name = entry["name"]

    def answer(**inputs: Any) -> Any:
        parcel, order = inputs.get("tracking_id"), inputs.get("order_id")
        if name == "track_parcel" and parcel and parcel not in PARCELS:
            hint = "Call query_order with the order's number: it lists the parcels."
            raise ToolError("NOT_FOUND", f"There is no parcel {parcel}.", hint=hint)
        if name == "query_order" and order == NO_ORDER:
            hint = "Look the number up with search_orders, by the customer's name."
            raise ToolError("NOT_FOUND", f"There is no order {order}.", hint=hint)
        return {"ok": True, **inputs}

    return Tool(answer, name, entry["description"], dict(entry["input_schema"]), effect="read")


def _calls_told(run: Run) -> str:
    told = []
    for event in run.trace.events:
        if event["event"] == "reply":
            calls = tool_use_blocks(event["message"])
            told.append(" + ".join(_told(call) for call in calls) or "answers in words")
    return ", then ".join(told)


def _told(call: Mapping[str, Any]) -> str:
    return f"{call['name']}({', '.join(f'{name}={value!r}' for name, value in call['input'].items())})"


# What went live on Tuesday

NEW_DESCRIPTION = {
    "query_order": "Everything about one order: where its parcel or package is, what happened to it, whether it has "
    "been shipped; also items, customer and payments."
}
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the user for something that you need and were not told.",
    "input_schema": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}


def releases() -> tuple[Release, Release]:
    """The desk on Monday and on Tuesday."""
    stock = tuple(catalogue("terse", service="stock")[:10])
    return Release(), Release("simulated-hasty-5", changed=NEW_DESCRIPTION, more=stock)

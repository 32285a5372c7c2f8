"""The models that answer the jobs: the simulated one, and three functions that go astray in one known way.

Each is made of a case's `model`, a small dict: `{"kind": "simulated", "obeys_results": true}`. A function here is a
script, not a model: it does one thing, whatever is said, so that the agent's answer to it can be seen. All numbers from
it are simulated.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from course_kit.contract.messages import content_blocks, text_of
from course_kit.mock.faults import max_tokens
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call
from course_kit.mock.simulated import Simulated

from .job import Crash

__all__ = ["provider_for"]

PRODUCTS = ("cup", "mug", "bowl", "plate", "knife", "teapot", "pan", "jar", "glass", "whisk", "scale", "napkin")
MOST = 15  # requests, then even a model that goes astray gives up, so that a loop without a limit ends here


def provider_for(model: Mapping[str, Any], seed: int, crash: Callable[[], bool] = lambda: False) -> MockProvider:
    """The provider of one trial. Whenever `crash()` says so, the process ends where the model would be asked."""
    told = {name: value for name, value in model.items() if name not in ("kind", "cut")}
    kinds = {"simulated": lambda: _simulated(seed, told), "polls": lambda: _polls(**told)}
    kinds |= {"wanders": lambda: _wanders, "stubborn": lambda: _stubborn(**told)}
    answer = kinds[model["kind"]]()

    def reply(request: Mapping[str, Any]) -> Any:
        if crash():
            raise Crash("the process ended here")
        return answer(request)

    return MockProvider(reply, faults={1: max_tokens(0.6)} if model.get("cut") else None, seed=seed)


def _simulated(seed: int, settings: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    told = json.dumps(settings, sort_keys=True)
    return lambda request: _reply(seed, told, json.dumps(request))


@lru_cache(maxsize=4096)
def _reply(seed: int, settings: str, request: str) -> Any:
    # The same request has the same answer, and agents that differ in one guard ask mostly the same.
    return Simulated(seed=seed, **json.loads(settings)).reply(json.loads(request))


def _may_call(request: Mapping[str, Any]) -> bool:
    choice = (request.get("tool_choice") or {}).get("type", "auto")
    return choice != "none" and len(request["messages"]) < 2 * MOST


def _polls(order_id: str) -> Callable[[Mapping[str, Any]], Any]:
    """Asks for the same parcel again and again, until it is told to stop."""

    def answer(request: Mapping[str, Any]) -> Any:
        return call("track_parcel", order_id=order_id) if _may_call(request) else "There is no news of the parcel yet."

    return answer


def _wanders(request: Mapping[str, Any]) -> Any:
    """Looks for one thing after another, four at a time: no two calls are alike, and it never stops."""
    if not _may_call(request):
        return "I have looked long enough."
    first = 4 * (len(request["messages"]) // 2)
    return [
        call("search_products", query=f"{PRODUCTS[number % len(PRODUCTS)]} {number}")
        for number in range(first, first + 4)
    ]


def _stubborn(tool: str, **inputs: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Calls a tool, and calls it again as long as the last result is an error: never reads what the error says."""

    def answer(request: Mapping[str, Any]) -> Any:
        last = request["messages"][-1]
        results = [block for block in content_blocks(last) if block["type"] == "tool_result"]
        if _may_call(request) and (not results or results[0].get("is_error")):
            return call(tool, **inputs)
        return f"Done: {text_of(results[0])[:80]}" if results else "It does not work today."

    return answer

"""What the loop itself costs per model call, beside the SDK's tool runner; writes a dated results file.

    python tests/benchmarks/loop_overhead.py

One run is ten model calls: nine that call a tool, one that answers. It is timed four ways, in turn, many times over:

    function   our loop on a function that returns prepared replies: the loop's own work and nothing else
    bare       the SDK's client asked ten times with the prepared histories, over a transport of prepared answers
    ours       our loop on that client                      its overhead is what it takes above `bare`
    runner     the SDK's `tool_runner(thread=False)`        its overhead is what it takes above `bare` (beta endpoint)

The tool is the same function throughout, and its time is part of every figure but the bare ones.
"""

import gc
import json
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import anthropic
import httpx2
from anthropic import beta_tool

from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
from course_kit.contract.models import DEFAULT_MODEL
from course_kit.harness.agent import run_agent
from course_kit.harness.tools import tool

RESULTS = Path(__file__).parent / "results" / "loop_overhead.json"
CALLS, ROUNDS = 10, 200


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


OUR_TOOL = tool(add, effect="read")
DEFINITION = OUR_TOOL.definition()
THEIR_TOOL = beta_tool(add, **DEFINITION)
USAGE = {"input_tokens": 500, "output_tokens": 40}


def message(number: int) -> dict[str, Any]:
    last = number == CALLS - 1
    content = text("It is done.") if last else tool_use(f"toolu_{number:02}", "add", {"a": number, "b": 3})
    return {
        "id": f"msg_{number:02}",
        "type": "message",
        "role": "assistant",
        "model": DEFAULT_MODEL,
        "content": [content],
        "stop_reason": "end_turn" if last else "tool_use",
        "stop_sequence": None,
        "stop_details": None,
        "usage": USAGE,
    }


REPLIES = [message(number) for number in range(CALLS)]
ANSWERS = [json.dumps(reply).encode() for reply in REPLIES]
QUESTION = user("Add up.")
ASKED = {"model": DEFAULT_MODEL, "max_tokens": 500}
HISTORIES = [
    [
        QUESTION,
        *(
            turn
            for number in range(length)
            for turn in (
                assistant(REPLIES[number]["content"]),
                user([tool_result(f"toolu_{number:02}", str(number + 3))]),
            )
        ),
    ]
    for length in range(CALLS)
]


def client() -> anthropic.Anthropic:
    """A client whose transport gives the prepared answers in turn, from the first again after the last."""
    position = -1

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal position
        position = (position + 1) % CALLS
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=ANSWERS[position])

    http_client = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(answer))
    return anthropic.Anthropic(api_key="not-a-key", http_client=http_client, max_retries=0)


def ways() -> dict[str, Callable[[], Any]]:
    """Each way to make one run."""
    sdk = client()

    def function() -> Any:
        replies = iter(REPLIES)
        return run_agent(lambda request: next(replies), messages=[QUESTION], tools=[OUR_TOOL], **ASKED)

    def bare() -> None:
        for history in HISTORIES:
            sdk.messages.create(messages=history, tools=[DEFINITION], **ASKED)

    def bare_beta() -> None:
        for history in HISTORIES:
            sdk.beta.messages.create(messages=history, tools=[DEFINITION], **ASKED)

    def ours() -> Any:
        return run_agent(sdk, messages=[QUESTION], tools=[OUR_TOOL], **ASKED)

    def runner() -> Any:
        return sdk.beta.messages.tool_runner(
            messages=[QUESTION], tools=[THEIR_TOOL], thread=False, **ASKED
        ).until_done()

    assert ours().messages == function().messages == [*HISTORIES[-1], assistant(REPLIES[-1]["content"])]
    assert runner().content[0].text == "It is done."
    return {"function": function, "bare": bare, "bare_beta": bare_beta, "ours": ours, "runner": runner}


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Microseconds of processor time per model call: the best of the rounds, since other work only ever adds."""
    timed = ways()
    taken: dict[str, list[float]] = {name: [] for name in timed}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, way in timed.items():
                start = time.process_time()
                way()
                taken[name].append((time.process_time() - start) / CALLS * 1e6)
    finally:
        gc.enable()
    return {name: round(min(values), 1) for name, values in taken.items()}


def main() -> None:
    best = measure()
    overhead = {"ours": best["ours"] - best["bare"], "runner": best["runner"] - best["bare_beta"]}
    results = {
        "measured": date.today().isoformat(),
        "python": platform.python_version(),
        "anthropic": anthropic.__version__,
        "model_calls_per_run": CALLS,
        "rounds": ROUNDS,
        "microseconds_per_model_call": best,
        "overhead_above_the_bare_client": {name: round(value, 1) for name, value in overhead.items()},
        "own_work_to_overhead_of_the_runner": round(best["function"] / overhead["runner"], 3),
        "overhead_of_ours_to_the_runner": round(overhead["ours"] / overhead["runner"], 3),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(
        f"the loop's own work         {best['function']:8.1f} µs a model call\n"
        f"bare client                 {best['bare']:8.1f} µs  (beta {best['bare_beta']:.1f})\n"
        f"our loop on the client      {best['ours']:8.1f} µs  +{overhead['ours']:.1f} above bare\n"
        f"the SDK's tool runner       {best['runner']:8.1f} µs  +{overhead['runner']:.1f} above bare\n"
        f"own work : runner's overhead    1 : {overhead['runner'] / best['function']:.1f}\n"
        f"our overhead : runner's         1 : {overhead['runner'] / overhead['ours']:.1f}\n"
    )


if __name__ == "__main__":
    main()

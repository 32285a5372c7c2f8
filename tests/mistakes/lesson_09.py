"""Answers to the exercises of lesson 09."""

import hashlib
import json
import os
import random
import time
import uuid
from collections import Counter
from datetime import date
from typing import Any

from course_kit import tool
from course_kit.errors import ToolError
from course_kit.harness.retries import idempotency_key, repeated

ONE = ("ticket-1", "refund-1", {"order_id": "ORD-20260914", "amount_cents": 350})
NOTED = ("ticket-1", "refund-1", {**ONE[2], "note": "Chipped."})
TURNED = ("ticket-1", "refund-1", dict(reversed(ONE[2].items())))
OTHER = ("ticket-2", "refund-1", ONE[2])
PAIRS = {
    "a": (ONE, NOTED),
    "b": (ONE, OTHER),
    "c": (("ticket-1", "12", ONE[2]), ("ticket-11", "2", ONE[2])),
}


def what(inputs):
    return {name: inputs[name] for name in ("order_id", "amount_cents")}


def keyed(key, **pairs):
    return {"key": key, **PAIRS, **pairs}


def right(task, step, inputs):
    return f"{task}/{step}/{inputs['order_id']}/{inputs['amount_cents']}"


def by_chance(task, step, inputs):
    return f"{task}/{step}/{uuid.uuid4()}"


def by_hash(task, step, inputs):
    return f"{task}/{step}/{hash(json.dumps(what(inputs), sort_keys=True))}"


def by_the_hour(task, step, inputs):
    return f"{right(task, step, inputs)}/{int(time.time()) // 86_400_000}"


def fingerprint(task, step, inputs):
    digest = hashlib.sha256(json.dumps(what(inputs), sort_keys=True).encode()).hexdigest()
    return f"{task}:{step}:{digest}"


def refund(
    *,
    key: str = "ticket",
    note: str = "",
    attempts: int = 3,
    catch: Any = TimeoutError,
    last: str = "raise",
    look: Any = False,
    gives: bool = True,
    reason: str = "damaged",
    pays: Any = lambda cents: cents,
):
    """`refund_once` with one thing done wrong (or merely otherwise)."""

    def refund_once(shop, notes, ticket, order_id, cents):
        made = {
            "ticket": f"{ticket}/{order_id}/{cents}",
            "order": f"{order_id}/{cents}",
            "chance": str(uuid.uuid4()),
            "none": None,
        }
        if note == "before":
            if f"paid {ticket}" in notes:
                return notes[f"paid {ticket}"]
            notes[f"paid {ticket}"] = {"refund_id": "RFD-0001"}
        if note in ("after", "receipt") and f"paid {ticket}" in notes:
            return notes[f"paid {ticket}"]
        if key == "kept":
            if f"key {ticket}" not in notes:
                notes[f"key {ticket}"] = str(uuid.uuid4())
            made["kept"] = notes[f"key {ticket}"]
        for attempt in range(attempts):
            if look:
                rows = [row for row in shop.ledger(order_id) if row["note"] == ticket]
                if rows:
                    return rows[0] if look == "row" else {"refund_id": f"RFD-{rows[0]['id']:04}"}
            sent = f"{made['ticket']}/{attempt}" if key == "attempt" else made[key]
            try:
                receipt = shop.refund_order(order_id, pays(cents), reason, ticket, idempotency_key=sent)
            except catch:
                if attempt == attempts - 1 and last == "raise":
                    raise
                continue
            if note in ("after", "receipt"):
                notes[f"paid {ticket}"] = receipt
            return receipt if gives else None

    return refund_once


def hides_the_no(shop, notes, ticket, order_id, cents):
    try:
        return refund()(shop, notes, ticket, order_id, cents)
    except ToolError as error:
        return {"error": str(error)}


def with_the_kit(shop, notes, ticket, order_id, cents):
    key = idempotency_key(ticket, "refund", {"order_id": order_id, "amount_cents": cents})
    lost = None
    for _ in range(3):
        try:
            return shop.refund_order(order_id, cents, "damaged", idempotency_key=key)
        except TimeoutError as error:
            lost = error
    raise lost


def three_times(shop, order_id, cents, key):
    for attempt in range(3):
        try:
            return shop.refund_order(order_id, cents, "damaged", idempotency_key=key)
        except TimeoutError:
            if attempt == 2:
                raise


def with_repeated(shop, notes, ticket, order_id, cents):
    """The lesson's own level, which hands the last time-out on as a ToolError."""

    @tool(effect="irreversible", idempotent=True)
    def pay() -> dict:
        """Pay back."""
        return shop.refund_order(order_id, cents, "damaged", idempotency_key=f"{ticket}/{order_id}/{cents}")

    return repeated(pay, first_wait=0.001)()


def waits(shop, notes, ticket, order_id, cents):
    """Clock and chance, but to wait with."""
    for attempt in range(3):
        try:
            return shop.refund_order(order_id, cents, "damaged", idempotency_key=ticket)
        except TimeoutError:
            if attempt == 2:
                raise
            time.sleep(0.001 * random.random())


def hashed(ticket, order_id, cents):
    return f"{ticket}/{hash((order_id, cents))}"


def with_hash(shop, notes, ticket, order_id, cents):
    return three_times(shop, order_id, cents, hashed(ticket, order_id, cents))


def with_hash_and_a_note(shop, notes, ticket, order_id, cents):
    """The receipt lies in the notes, and not the key."""
    if ticket not in notes:
        notes[ticket] = with_hash(shop, notes, ticket, order_id, cents)
    return notes[ticket]


def with_the_day(shop, notes, ticket, order_id, cents):
    return three_times(shop, order_id, cents, f"{ticket}/{order_id}/{cents}/{date.today()}")


def with_the_clock_noted(shop, notes, ticket, order_id, cents):
    """Right: a key from the clock that lies in the notes before it is used."""
    if f"key {ticket}" not in notes:
        notes[f"key {ticket}"] = f"{ticket}/{time.time_ns()}"
    return three_times(shop, order_id, cents, notes[f"key {ticket}"])


def takes_the_note_out(task, step, inputs):
    inputs.pop("note", None)
    inputs.pop("reason", None)
    return f"{task}/{step}/{json.dumps(inputs, sort_keys=True)}"


def takes_the_ids_out(rounds, limit=3):
    for calls in rounds:
        for call in calls:
            del call["id"]
    return without_texts(rounds, limit)


def for_ever(shop, notes, ticket, order_id, cents):
    while True:
        try:
            return shop.refund_order(order_id, cents, "damaged", idempotency_key=ticket)
        except TimeoutError:
            pass


def detector(
    *,
    result: bool = True,
    input: bool = True,
    sort: bool = True,
    calls_sorted: bool = True,
    ids: bool = False,
    off: int = 0,
    looks_back: int = 0,
    fixed: bool = False,
    anywhere: bool = False,
    gives: str = "name",
    twice: bool = True,
):
    """`stalled` with one thing done wrong (or merely otherwise)."""

    def text(calls):
        lines = []
        for call in calls:
            parts = [call["name"], *([call["input"]] if input else []), *([call["result"]] if result else [])]
            lines.append(json.dumps([*parts, *([call["id"]] if ids else [])], sort_keys=sort))
        lines = lines if twice else set(lines)
        return str(sorted(lines) if calls_sorted else lines)

    def stalled(rounds, limit=3):
        limit = 3 if fixed else limit + off
        texts = [text(calls) for calls in rounds]
        if anywhere:
            stuck = max(Counter(texts).values(), default=0) >= limit
        else:
            stuck = len(texts) >= limit and len(set(texts[-(looks_back or limit) :])) == 1
        return bool(stuck) if gives == "bool" else rounds[-1][0]["name"] if stuck else None

    return stalled


def without_texts(rounds, limit=3):
    """Plain comparison of dicts, which knows no order of keys."""
    if len(rounds) < limit:
        return None
    bare = [[{name: call[name] for name in ("name", "input", "result")} for call in calls] for calls in rounds]
    first, *rest = bare[-limit:]
    same = all(len(one) == len(first) and all(call in one for call in first) for one in rest)
    return first[0]["name"] if same else None


def another_receipt(shop, notes, ticket, order_id, cents):
    return {**refund()(shop, notes, ticket, order_id, cents), "amount_cents": cents // 100}


MISTAKES: dict[str, dict[str, tuple[Any, str]]] = {
    "9.1": {
        "no inputs": (keyed(right, a=(("t", "s", {}), ("t", "s", {"note": 1}))), "For `a` hand over two calls"),
        "an object": (keyed(lambda task, step, inputs: object()), "should return a text; it returned <object object>"),
        "the key alone": (right, "Hand over a dict with `key`, `a`, `b` and `c`"),
        "one call only": (keyed(right, a=(ONE,)), "For `a` hand over two calls"),
        "the pair as words": (keyed(right, c="ticket-1 and 12"), "For `c` hand over two calls"),
        "no proof against b": (keyed(right, b=(ONE, NOTED)), "are one operation and get one key: here `b` is right"),
        "no proof against a": (keyed(right, a=(ONE, OTHER)), "are two operations and get two keys: here `a` is right"),
        "all inputs": (
            keyed(lambda t, s, i: f"{t}/{s}/{json.dumps(i, sort_keys=True)}"),
            "With another note it is one",
        ),
        "fields as they come": (
            keyed(lambda t, s, i: f"{t}/{s}/{[v for k, v in i.items() if k != 'note']}"),
            "With the fields in another order it is one operation",
        ),
        "no task": (keyed(lambda t, s, i: f"{s}/{i['order_id']}/{i['amount_cents']}"), "With another task it is two"),
        "no step": (keyed(lambda t, s, i: f"{t}/{i['order_id']}/{i['amount_cents']}"), "With another step it is two"),
        "no amount": (keyed(lambda t, s, i: f"{t}/{s}/{i['order_id']}"), "With another amount it is two operations"),
        "glued": (keyed(lambda t, s, i: t + s + i["order_id"] + str(i["amount_cents"])), "the border between task and"),
        "joined by a sign that the parts may hold": (
            keyed(lambda t, s, i: f"{t}-{s}/{i['order_id']}/{i['amount_cents']}"),
            "With a `-` on either side of that border it is two operations, so two keys",
        ),
        "the reason kept": (
            keyed(lambda t, s, i: f"{t}/{s}/{json.dumps({k: i[k] for k in sorted(i) if k != 'note'})}"),
            "With another reason it is one operation, so one key",
        ),
        "chance": (keyed(by_chance), "With the same call made again it is one operation"),
        "hash": (keyed(by_hash), "uses `hash`: Python's own `hash` of a text gives another name after a restart"),
        "the clock": (keyed(by_the_hour), "uses `time`: the clock gives another name after a restart"),
        "hash, in a helper": (keyed(lambda t, s, i: f"{s}/{hashed(t, *what(i).values())}"), "uses `hash`"),
        "the process": (keyed(lambda t, s, i: f"{right(t, s, i)}/{os.getpid()}"), "the number of the process"),
        "the note taken out of the caller's inputs": (keyed(takes_the_note_out), "changed the inputs it was given"),
        "nothing to read": (
            keyed(lambda t, s, i: hashlib.sha256(right(t, s, i).encode()).hexdigest()),
            "should be readable in the key",
        ),
        "no text": (keyed(lambda t, s, i: (t, s, i["order_id"], i["amount_cents"])), "should return a text"),
    },
    "9.2": {
        "a receipt in euros": (another_receipt, "return the receipt of the one refund"),
        "no key": (refund(key="none"), "the ledger holds 2 refunds in the end"),
        "no key, noted afterwards": (refund(key="none", note="after", attempts=1), "killed after the money had left"),
        "noted before": (refund(key="none", note="before", attempts=1), "the ledger holds 0 refunds in the end"),
        "a key from chance": (refund(key="chance"), "killed after the money had left"),
        "from chance, noted afterwards": (refund(key="chance", note="after"), "killed after the money had left"),
        "a new key for each attempt": (refund(key="attempt"), "one answer"),
        "a key from hash": (with_hash, "uses `hash`, and its key is in no note: Python's own `hash` of a text gives"),
        "a key from hash, the receipt noted": (with_hash_and_a_note, "uses `hash`, and its key is in no note"),
        "the day in the key": (with_the_day, "uses `today`, and its key is in no note: the clock gives another key"),
        "no ticket in the key": (refund(key="order"), "both customers get"),
        "looks first": (refund(key="none", look=True), "a request that times out and arrives late"),
        "looks first, and returns what it saw": (
            refund(key="none", look="row"),
            ". And with a request that is late and still arrives, the money leaves 2 times.",
        ),
        "another reason": (refund(reason="other"), "the reason is 'damaged'; the ledger holds 'other'"),
        "another amount": (refund(pays=lambda cents: 100 * cents), "pay 889 cents on ORD-"),
        "one attempt": (refund(attempts=1), "this came instead: {'raised': 'TimeoutError'}"),
        "five attempts": (refund(attempts=5), "three attempts are allowed; you made 5"),
        "for ever": (for_ever, "three attempts are allowed; you made more than 10"),
        "no error at the end": (refund(last="silent"), "the TimeoutError should come through"),
        "asks again after a no": (refund(catch=(TimeoutError, ToolError)), "the shop's no is an answer, ask once"),
        "hides the no": (hides_the_no, "the shop's ToolError should come through; this came instead: {'returned'"),
        "no receipt": (refund(gives=False), "is a `return` missing?"),
        "swallows the crash": (
            refund(key="chance", note="after", catch=BaseException),
            "killed after the money had left",
        ),
    },
    "9.3": {
        "results left out": (detector(result=False), "With polling whose result moves, this is not a stall"),
        "inputs left out": (detector(input=False), "With another input each time, this is not a stall"),
        "fields as they come": (detector(sort=False), "With the fields of the input in another order"),
        "calls as they come": (detector(calls_sorted=False), "With two calls a round, in another order"),
        "ids inside": (detector(ids=True), "With three equal rounds"),
        "compared as sets": (detector(twice=False), "With a round that makes the same call twice, this is not a stall"),
        "one more": (detector(off=1), "With three equal rounds"),
        "one less": (detector(off=-1), "With two equal rounds, this is not a stall"),
        "always three": (detector(fixed=True), "With a limit of 2"),
        "always the last three": (detector(looks_back=3), "With a limit of 2, after a round that moved"),
        "counted anywhere": (detector(anywhere=True), "With equal rounds, and then news, this is not a stall"),
        "yes or no": (detector(gives="bool"), "return the tool's name or None"),
        "nothing": (lambda rounds, limit=3: None, "With three equal rounds, it is a stall of"),
        "ids taken out of the caller's rounds": (takes_the_ids_out, "changed the rounds it was given"),
    },
}
VARIANTS = {
    "9.1": {
        "by hand": keyed(right),
        "the kit": keyed(lambda t, s, i: idempotency_key(t, s, what(i))),
        "a fingerprint, other proofs": keyed(
            fingerprint, a=[ONE, TURNED], c=(("t-1", "1x", ONE[2]), ("t-11", "x", ONE[2]))
        ),
    },
    "9.2": {
        "the ticket's key": refund(),
        "a key from chance, noted first": refund(key="kept"),
        "key and receipt": refund(note="receipt"),
        "the kit": with_the_kit,
        "the lesson's level": with_repeated,
        "waiting in between": waits,
        "a key from the clock, noted first": with_the_clock_noted,
    },
    "9.3": {"texts": detector(), "dicts": without_texts},
}

"""Checks of lesson 04: a checker that tells all faults, a service that dies of KeyError, texts that lead on."""

import copy
import json
import random
import re
from datetime import date
from typing import Any

from course_kit.classroom.checks import exception_told, exercise
from course_kit.classroom.error_cases import KINDS, VOUCHERS
from course_kit.classroom.error_texts import story
from course_kit.errors import Incorrect
from course_kit.mock.turn import named_in

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 4.1

PARTS = ("path", "expected", "received", "hint")
LONGEST = {"received": 100, "hint": 100}


def _schema(draw: random.Random) -> dict[str, Any]:
    place, count = draw.choice([("room", "guests"), ("hall", "seats"), ("table", "chairs")])
    options = draw.sample(["north", "south", "garden", "attic", "cellar"], 3)
    return {
        "type": "object",
        "properties": {
            place: {"enum": options},
            count: {"type": "integer", "minimum": draw.randint(2, 4)},
            "name": {"type": "string"},
            "price": {"type": "number"},
            "quiet": {"type": "boolean"},
        },
        "required": [place, count],
        "additionalProperties": False,
    }


def _fault(path: str, expected: list[str], received: str = "", hint: str = "", never: str = "") -> dict[str, Any]:
    """What a told fault must have: `hint` is what it has to lead to, where that is certain, `never` what misleads."""
    return {"path": path, "expected": expected, "received": received, "hint": hint, "never": never}


@exercise(
    "4.1",
    title="check_tool_input by hand",
    difficulty="medium",
    importance="core",
    minutes=40,
    hints=[
        "Begin with the whole value: if it is not a dict, there is one fault, its path is empty, and you are done.",
        "Three loops: over what is required, over the fields that came, and for each of these over its rules.",
        "In Python `isinstance(True, int)` is true. In JSON a boolean is not a number: look at booleans first.",
        "`(5.0).is_integer()` is true and `(9.5).is_integer()` is not. An `int` has no need of it.",
        "`json.dumps(value)` is what came. Cut it when it is long. For a hint, ask: what would I send instead?",
        'Without its quotes "5" is a number and "five" is none: `"5".isdigit()` is true. (Mind "2.5" and "-5".)',
        '`difflib.get_close_matches("nmae", ["name", "price"])` → `["name"]`',
    ],
)
class CheckByHand:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"4.1:{seed}")
        schema = _schema(draw)
        place, count, *_ = schema["properties"]
        options, least = schema["properties"][place]["enum"], schema["properties"][count]["minimum"]
        good, number = {place: options[0], count: least}, draw.randint(5, 9)
        long, typo = "x" * 5000, draw.choice(["nmae", "nname", "names"])
        word = draw.choice(["five", "many", "several"])
        open_schema = {key: rule for key, rule in schema.items() if key != "additionalProperties"}
        rows: list[tuple[str, Any, list[dict[str, Any]]]] = [
            ("an input that fits", {**good, "price": 2.5, "quiet": True, "name": "Zoë"}, []),
            ("an integer for a number", {**good, "price": 3}, []),
            ("a whole number written with .0 for an integer", {**good, count: float(number)}, []),
            ("a missing field", {place: options[1]}, [_fault(count, ["integer"], "nothing")]),
            ("a missing field with a list", {count: number}, [_fault(place, options, "nothing")]),
            (
                "a number in quotes",
                {**good, count: f"{number}"},
                [_fault(count, ["integer"], f'"{number}"', f"{number}")],
            ),
            (
                "a word for a number",
                {**good, count: word},
                [_fault(count, ["integer"], f'"{word}"', never=rf"\b{word}\b\W*(?:without|unquoted)")],
            ),
            ("a wrong type", {**good, "name": number}, [_fault("name", ["string"], f"{number}")]),
            ("`true` for an integer", {**good, count: True}, [_fault(count, ["integer"], "true")]),
            ("`true` for a number", {**good, "price": True}, [_fault("price", ["number"], "true")]),
            (
                "a fraction for an integer",
                {**good, count: 9.5},
                [_fault(count, ["integer"], "9.5", never=r"9\.5\W*(?:without|unquoted)")],
            ),
            ("a number below the minimum", {**good, count: least - 1}, [_fault(count, [str(least)], str(least - 1))]),
            ("a value that is not listed", {**good, place: "moon"}, [_fault(place, options, '"moon"')]),
            ("a null", {**good, "name": None}, [_fault("name", ["string"], "null")]),
            (
                "a misspelt field",
                {**good, typo: "Zoë"},
                [_fault(typo, [], "", "name", never=rf"\b{place}\b.*\b{count}\b.*\bname\b.*\bprice\b")],
            ),
            (
                "five faults at once",
                {place: "moon", "name": 7, "price": "9", "noise": 1},
                [
                    _fault(place, options, '"moon"'),
                    _fault(count, ["integer"], "nothing"),
                    _fault("name", ["string"], "7"),
                    _fault("price", ["number"], '"9"', "9"),
                    _fault("noise", []),
                ],
            ),
            ("a list instead of an object", [good], [_fault("", ["object"])]),
            ("a null instead of an object", None, [_fault("", ["object"], "null")]),
            ("a value of 5,000 characters", {**good, count: long}, [_fault(count, ["integer"], "xxxx")]),
        ]
        made = [{"about": about, "schema": schema, "value": value, "faults": faults} for about, value, faults in rows]
        about = "a field of its own where `additionalProperties` is not said"
        return [*made, {"about": about, "schema": open_schema, "value": {**good, "noise": 1}, "faults": []}]

    def observe(check_input: Any, case: dict[str, Any]) -> Any:
        before = json.dumps(case["value"])
        returned = check_input(case["schema"], case["value"])
        if isinstance(returned, tuple):
            returned = list(returned)
        return {"returned": returned, "changed": json.dumps(case["value"]) != before}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, found = case["about"], seen["returned"]
        sent = json.dumps(case["value"], ensure_ascii=False)
        about = f"{about} ({sent if len(sent) < 90 else sent[:60] + '…'})"
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise Incorrect(f"With {about}, return a list of dicts; it is {_short(found)}.")
        for one in found:
            if missing := [part for part in PARTS if not isinstance(one.get(part), str)]:
                raise Incorrect(f"With {about}, each fault needs a text for {missing[0]!r}; one is {_short(one)}.")
        if seen["changed"]:
            raise Incorrect(f"With {about}, the input itself was changed: a check only reads.")
        wanted, got = [fault["path"] for fault in case["faults"]], [one["path"] for one in found]
        if extra := [path for path in got if path not in wanted]:
            raise Incorrect(f"With {about}, you report a fault at {extra[0]!r}, where nothing is wrong.")
        if lacking := [path for path in wanted if path not in got]:
            told = f"; you told only {got}" if got else ""
            raise Incorrect(f"With {about}, the fault at {lacking[0]!r} is not told{told}.")
        if len(got) != len(set(got)):
            raise Incorrect(f"With {about}, one fault is told twice.")
        told_at = {one["path"]: one for one in found}
        for fault in case["faults"]:
            one = told_at[fault["path"]]
            for word in fault["expected"]:
                if word not in one["expected"]:
                    raise Incorrect(f"With {about}, `expected` should say {word!r}; it says {one['expected']!r}.")
            if not one["expected"].strip():
                raise Incorrect(f"With {about}, `expected` is empty: what is wanted at {fault['path']!r}?")
            if fault["received"] not in one["received"]:
                came, json_text = _short(one["received"]), "" if fault["received"] == "nothing" else " as JSON"
                raise Incorrect(f"With {about}, `received` should show {fault['received']}{json_text}; it says {came}.")
            for part, most in LONGEST.items():
                if len(one[part]) > most:
                    raise Incorrect(f"With {about}, `{part}` has {len(one[part])} characters: cut it at {most}.")
            if not one["hint"].strip():
                raise Incorrect(f"With {about}, `hint` is empty: what should the model send instead?")
            if (word := fault["hint"]) not in one["hint"] or (word and f'"{word}"' == fault["received"] in one["hint"]):
                raise Incorrect(f"With {about}, `hint` should lead to {word}; it says {one['hint']!r}.")
            if fault["never"] and re.search(fault["never"], one["hint"]):
                raise Incorrect(f"With {about}, `hint` leads to no better value; it says {one['hint']!r}.")


# 4.2

DEFINITIONS = {
    "paid_for": {
        "type": "object",
        "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{8}$"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
    "book_refund": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer", "minimum": 1}},
        "required": ["order_id", "amount_cents"],
        "additionalProperties": False,
    },
    "read_note": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
}
# What the tool `read_note` returns, and the same as JSON data.
NOTES: dict[str, tuple[Any, Any]] = {
    "None": (None, None),
    "True": (True, True),
    "a text": ("for Zoë", "for Zoë"),
    "a list": ([{"qty": 1, "gift": False}], [{"qty": 1, "gift": False}]),
    "a date": ({"until": date(2026, 12, 24)}, {"until": "2026-12-24"}),
}
NO_JSON = {("cup", "blue"): 2}


@exercise(
    "4.2",
    title="The service that crashes, repaired twice",
    difficulty="medium",
    importance="core",
    minutes=25,
    hints=[
        "Whatever happens in a call, one `tool_result` comes out of it. What has to be inside the `try`?",
        "`str(value)` is Python, with None and single quotes. `json.dumps(value, default=str)` is JSON, with dates.",
        "`str(KeyError('x'))` is `'x'` in quotes. Does that tell a model what happened? Name the kind of error too.",
        "An interrupt from the keyboard is a `BaseException` and no `Exception`: it is the person's, so let it pass.",
        "In `guarded_answer` nothing may run before the check has said yes. Then `answer` does the rest.",
    ],
)
class MendedTwice:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"4.2:{seed}")
        known, unknown = (f"ORD-{draw.randint(20260101, 20261231)}" for _ in range(2))
        cents = draw.randint(100, 9000)

        def one(about: str, name: str, input: dict[str, Any], **expected: Any) -> dict[str, Any]:
            facts = {"error": None, "ran": True, "says": [], "gives": "", **expected}
            return {"about": about, "name": name, "input": input, "known": known, "cents": cents, **facts}

        return [
            one("a call that works", "paid_for", {"order_id": known}, gives={"paid_cents": cents}),
            one("an unknown order", "paid_for", {"order_id": unknown}, error=True, says=["KeyError", unknown]),
            one(
                "an exception without a message",
                "paid_for",
                {"order_id": "ORD-00000000"},
                error=True,
                says=["ValueError"],
            ),
            one(
                "a tool that does not exist",
                "paid_four",
                {"order_id": known},
                error=True,
                ran=False,
                says=[*DEFINITIONS],
            ),
            one(
                "a refund with two faults",
                "book_refund",
                {"order_id": 7, "amount_cents": "5"},
                error=True,
                ran=False,
                says=["order_id", "amount_cents"],
            ),
            one("an input that does not fit", "paid_for", {"order": known}, error=True, ran=False, says=["order_id"]),
            one(
                "a refund that fits",
                "book_refund",
                {"order_id": known, "amount_cents": cents},
                gives={"booked": cents},
            ),
            *(
                one(f"a tool that returns {note}", "read_note", {"order_id": note}, gives=wanted)
                for note, (_, wanted) in NOTES.items()
            ),
            one("a tool that returns what JSON cannot hold", "read_note", {"order_id": "no JSON"}, error=True),
            one("a person's interrupt", "paid_for", {"order_id": "ORD-99999999"}, error="interrupt"),
        ]

    def observe(pair: Any, case: dict[str, Any]) -> Any:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(map(callable, pair)):
            return {"returned": pair}
        seen: dict[str, Any] = {}
        for label, function in zip(("answer", "guarded_answer"), pair, strict=True):
            ran: list[str] = []

            def paid_for(order_id: str, ran: list[str] = ran) -> dict[str, Any]:
                ran.append(order_id)
                if order_id == "ORD-99999999":
                    raise KeyboardInterrupt
                if order_id == "ORD-00000000":
                    raise ValueError
                return {"paid_cents": {case["known"]: case["cents"]}[order_id]}

            def book_refund(order_id: Any, amount_cents: Any, ran: list[str] = ran) -> dict[str, Any]:
                ran.append(str(order_id))
                return {"booked": amount_cents}

            def read_note(order_id: str, ran: list[str] = ran) -> Any:
                ran.append(order_id)
                return NO_JSON if order_id == "no JSON" else NOTES[order_id][0]

            tools = {"paid_for": paid_for, "book_refund": book_refund, "read_note": read_note}
            for name, one in tools.items():
                one.__qualname__ = name  # as a TypeError of Python's own will call it
            block = {"type": "tool_use", "id": "toolu_7", "name": case["name"], "input": dict(case["input"])}
            extra = [copy.deepcopy(DEFINITIONS)] if label == "guarded_answer" else []
            given = copy.deepcopy(block)
            try:
                returned = function(block, tools, *extra)
            except KeyboardInterrupt:
                returned = "KeyboardInterrupt"
            except Exception as error:
                returned = {"raised": f"{type(error).__name__}: {error}"}
            seen[label] = {"returned": returned, "ran": ran, "changed": block != given}
        return seen

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if "answer" not in seen:
            raise Incorrect(f"Hand over two functions, (answer, guarded_answer); it is {_short(seen['returned'])}.")
        for label in ("answer", "guarded_answer"):
            result, ran = seen[label]["returned"], seen[label]["ran"]
            what = f"`{label}` with {case['about']}"
            if case["error"] == "interrupt":
                if result != "KeyboardInterrupt":
                    raise Incorrect(f"{what}: it was swallowed. Catch `Exception`, so that an interrupt passes.")
                continue
            if isinstance(result, dict) and "raised" in result:
                kind, _, message = result["raised"].partition(": ")
                raise Incorrect(f"{what} raised {exception_told(kind, message)}. The loop would end there.")
            if seen[label]["changed"]:
                raise Incorrect(f"{what}: the call itself was changed, and it goes back to the model as it came.")
            if not isinstance(result, dict) or result.get("type") != "tool_result":
                raise Incorrect(f"{what} should return a `tool_result` block; it returned {_short(result)}.")
            if result.get("tool_use_id") != "toolu_7":
                raise Incorrect(f"{what}: `tool_use_id` must be the call's id, toolu_7.")
            text, unchecked = result.get("content"), label == "answer" and case["ran"] is False
            if not isinstance(text, str) or not text.strip():
                raise Incorrect(f"{what}: `content` must be a text that says something; it is {_short(text)}.")
            if "Traceback" in text or 'File "' in text:
                raise Incorrect(
                    f"{what}: a stack trace is for the log. The model needs the kind of error and its message."
                )
            if len(ran) > 1:
                raise Incorrect(f"{what}: the tool ran {len(ran)} times for one call; a refund would be paid twice.")
            if label == "guarded_answer" and not case["ran"] and ran:
                raise Incorrect(f"{what}: the tool ran although its input does not fit. Check first, then run.")
            if unchecked and case["name"] == "book_refund":
                continue  # without a check this one runs, whatever it is given
            if (result.get("is_error") or False) is not bool(case["error"]):
                raise Incorrect(f"{what}: `is_error` should be {bool(case['error'])}.")
            if not case["error"] and _json(text) != case["gives"]:
                wanted = json.dumps(case["gives"], ensure_ascii=False)
                raise Incorrect(f"{what}: `content` should be the returned value as JSON, {wanted}; it is {text!r}.")
            says = case["says"] if not (unchecked and case["name"] in DEFINITIONS) else []
            for word in says:
                if word not in text:
                    raise Incorrect(f"{what}: the text should name {word}; it says {_short(text)}.")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return NOTES  # which no text means


# 4.3

LONGEST_TEXT = 150
PATHS = ("amount", "last_day", "kind", "share")


def _requests(draw: random.Random) -> list[dict[str, Any]]:
    months = ["January", "March", "May", "June", "October", "November", "December"]
    made = []
    for number in range(10):
        day, month, year = draw.randint(2, 28), draw.randrange(len(months)), 2027
        name = months[month]
        written = draw.choice([f"{day} {name} {year}", f"{name} {day}, {year}"])
        date = f"{day:02}.{[1, 3, 5, 6, 10, 11, 12][month]:02}.{year}"
        if number % 2:
            share = draw.choice([5, 10, 15, 20, 30, 40])
            product = f"PRD-{draw.randint(101, 399)}"
            said = draw.choice(
                [
                    f"Give product {product} a discount of {share}% until {written}.",
                    f"Product {product} gets a discount of {share}% until {written}.",
                ]
            )
            wanted: dict[str, Any] = {"share": share / 100, "last_day": date}
        else:
            kind, cents = draw.choice(KINDS), draw.randint(5, 90) * 100 + draw.choice([25, 50, 75, 99])
            one = f"an {kind}" if kind == "apology" else f"a {kind}"
            mail = f"{draw.choice(['ben', 'zoe', 'lin'])}@example.{draw.choice(['org', 'net'])}"
            said = [  # after the second, the first call takes "last day" for the kind
                f"Send {mail} {one} voucher of {cents / 100:.2f} until {written}.",
                f"Please send {mail} {one} voucher of {cents / 100:.2f}, last day {written}.",
            ][number // 2 % 2]
            wanted = {"amount": cents, "last_day": date, "kind": kind}
        made.append({"said": said, "wanted": wanted})
    return made


def _stuck(made: str) -> list[str]:
    """The fields still at fault in a call as a story writes it: `'set_discount {"share": 15}'` → `["share"]`."""
    input = made.partition(" ")[2]
    return [fault.path for fault in VOUCHERS.faults({"input": json.loads(input)})] if input else []


def _why(stuck: list[str], texts: dict[str, str]) -> str:
    """Where a text names its field and nothing came of it, the rules may just not know its wording."""
    if unnamed := [path for path in stuck if not named_in(texts[path], [path])]:
        return f" (The text for `{unnamed[0]}` does not name it.)"
    if not stuck:
        return ""
    return (
        f" (The text names `{stuck[0]}`, and the simulated rules found no other value in it: it says too little, or "
        "its wording is unknown to them. The wordings they know are listed in the exercise; a real model knows more.)"
    )


@exercise(
    "4.3",
    title="Texts that lead to recovery",
    difficulty="easy",
    importance="core",
    minutes=15,
    hints=[
        "Print one `story`, and read the last text as the model does. What would you send, knowing nothing else?",
        "`corrected what the error names`: so each text has to name its field, and to say something about it.",
        "Type words are in the definition already. What is not there: the unit, the order of day and month, the list.",
        "The unit of `amount` and of `share`: an example with both sides. Which number came, and what should have?",
        "A day is written DD, a month MM, a year YYYY. In which order, and with what between them?",
    ],
)
class Recovering:
    def cases(seed: int) -> list[dict[str, Any]]:
        return [{"requests": _requests(random.Random(f"4.3:{seed}")), "seed": seed % 1000}]

    def observe(texts: Any, case: dict[str, Any]) -> Any:
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            return {"returned": texts}
        told = [story(one["said"], texts, seed=case["seed"], service=VOUCHERS) for one in case["requests"]]
        return {
            "texts": texts,
            "accepted": [dict(one.accepted) if one.accepted is not None else None for one in told],
            "calls": [len(one.calls) for one in told],
            "last": [one.calls[-1] if one.calls else ["no call", ""] for one in told],
            "stuck": [_stuck(one.calls[-1][0]) if one.calls and not one.ok else [] for one in told],
        }

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if "texts" not in seen:
            raise Incorrect(f"`texts` should be a dict of texts, one for each field; it is {_short(seen['returned'])}.")
        texts = seen["texts"]
        if missing := [path for path in PATHS if not texts.get(path, "").strip()]:
            raise Incorrect(f"There is no text for {missing[0]!r}; the service finds faults in {', '.join(PATHS)}.")
        if long := [path for path in PATHS if len(texts[path]) > LONGEST_TEXT]:
            raise Incorrect(
                f"The text for {long[0]!r} has {len(texts[long[0]])} characters; {LONGEST_TEXT} are allowed."
            )
        right, slips = 0, []
        rows = zip(case["requests"], seen["accepted"], seen["last"], seen["stuck"], strict=True)
        for one, accepted, last, stuck in rows:
            wrong = [key for key, value in one["wanted"].items() if accepted and accepted.get(key) != value]
            if wrong:
                raise Incorrect(
                    f'"{one["said"]}" was accepted with `{wrong[0]}` = {accepted[wrong[0]]!r}, and meant is '
                    f"{one['wanted'][wrong[0]]!r}. A text that leads to a wrong value is worse than none."
                )
            right += accepted is not None
            if accepted is None:
                slips.append((one["said"], last, stuck))
        if right < 9:
            said, (made, answer), stuck = slips[0]
            answer = " / ".join(answer.split("\n"))
            raise Incorrect(
                f'{right} of 10 unseen requests were put right; 9 are asked for. "{said}" got stuck at {made}, '
                f"after which it read: {answer}{_why(stuck, texts)}"
            )
        average = sum(seen["calls"]) / len(seen["calls"])
        if average > 2.2:
            raise Incorrect(f"They are put right, with {average:.1f} calls a request; 2.2 are allowed.")

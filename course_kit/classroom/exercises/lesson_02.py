"""Checks of lesson 02: faults of a definition, what is required, one tool split into three, unseen requests."""

import random
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.classroom.laboratory import measure
from course_kit.contract.protocol import check_request
from course_kit.contract.schema import conforms
from course_kit.errors import Incorrect

__all__ = ["NEIGHBOURS", "REQUESTS"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _refusal(tools: list[Any]) -> str | None:
    """What the API would say to these definitions, if it refuses them."""
    asked = [{"role": "user", "content": "Hello"}]
    broken = check_request({"model": "claude-opus-5", "max_tokens": 9, "tools": tools, "messages": asked})
    return broken[0].message if broken else None


PLACES = ("name", "description", "type", "target", "content")
KINDS = {
    "no when": "does not say when to use it, nor when not",
    "how it is built": "tells how it is built, which helps nobody to choose",
    "no effects": "says neither what comes back nor what it does to the world",
    "free text for a choice": "takes any text where a few values are meant",
    "unclear value": "does not say what kind of value goes in, nor gives an example",
    "no limit": "does not say how long it may be, nor in what form",
    "no verb": "lacks a verb",
    "nested": "lies too deep",
    "open": "lets through fields that nobody knows",
}
FAULTY = {
    ("description", "no when"),
    ("description", "how it is built"),
    ("description", "no effects"),
    ("type", "free text for a choice"),
    ("type", "unclear value"),
    ("target", "unclear value"),
    ("content", "no limit"),
    ("content", "unclear value"),
}


@exercise(
    "2.1",
    title="Three faults",
    difficulty="easy",
    importance="core",
    minutes=10,
    hints=[
        "Read it as the model would: nothing else at hand. What do you put into `target`?",
        "How many right values are there for `type`? How many does the schema let through?",
        "Go through the five questions of the lesson and put each to the description.",
    ],
)
class ThreeFaults:
    def cases(seed: int) -> list[str]:
        return ["faults"]

    def observe(answer: Any, case: str) -> Any:
        return {"returned": list(answer) if isinstance(answer, list | tuple | set) else answer}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["returned"]
        if not isinstance(answer, list) or len(answer) != 3:
            raise Incorrect(f"`faults` should be a list of three pairs; it is {_short(answer)}.")
        for pair in answer:
            if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
                raise Incorrect(f'Each fault is a pair like ("name", "no verb"); one of yours is {_short(pair)}.')
            place, kind = pair
            if place not in PLACES or kind not in KINDS:
                known = PLACES if place not in PLACES else tuple(KINDS)
                raise Incorrect(f"{pair} is not on the lists; choose from {', '.join(known)}.")
            if (place, kind) not in FAULTY:
                raise Incorrect(f'"`{place}` {KINDS[kind]}" does not hold here. Look at it again.')
        if len({place for place, _ in answer}) < 3:
            raise Incorrect("These are faults, but not in three different places.")


INPUTS = ("mail_to", "mail_copy", "page", "amount_cents")
REASONS = {
    "fails without": "without it the call must fail",
    "means none": "left out, it means: none",
    "has a default": "left out, it means the usual value",
    "may be forgotten": "the model might forget it",
    "often sent": "it is sent in most calls",
}
REQUIRED = {
    "mail_to": (True, "fails without"),
    "mail_copy": (False, "means none"),
    "page": (False, "has a default"),
    "amount_cents": (True, "fails without"),
}
IF_WRONG = {
    "mail_to": "What would the program do with a mail to nobody?",
    "mail_copy": "Most mails have no copy. What would a model put there, if it had to?",
    "page": "Somebody asks for the first time and says nothing of pages. Which one is meant?",
    "amount_cents": "Which amount would be right, if nobody names one? Money cannot be taken back.",
}


@exercise(
    "2.2",
    title="Which of four are required",
    difficulty="easy",
    importance="core",
    minutes=5,
    hints=[
        "Leave the input out. Is there one thing, and only one, that the program can sensibly do?",
        "A required field that nobody mentions is made up or asked for: the lesson counted it.",
        "That something is usually sent is not a reason. What happens when it is not?",
    ],
)
class WhichAreRequired:
    def cases(seed: int) -> list[str]:
        return list(INPUTS)

    def observe(answers: Any, case: str) -> Any:
        return {"answer": answers.get(case) if isinstance(answers, dict) else answers}

    def judge(case: str, seen: dict[str, Any]) -> None:
        answer = seen["answer"]
        if not (isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], bool)):
            raise Incorrect(f'`{case}` should be a pair like (True, "often sent"); it is {_short(answer)}.')
        required, reason = answer
        if not isinstance(reason, str) or reason not in REASONS:
            raise Incorrect(f"`{case}` gives the reason {reason!r}; choose one of {', '.join(REASONS)}.")
        if required != REQUIRED[case][0]:
            raise Incorrect(f"`{case}` should be {'optional' if required else 'required'}. {IF_WRONG[case]}")
        if reason != REQUIRED[case][1]:
            raise Incorrect(f'`{case}` is decided rightly, but not because "{REASONS[reason]}". {IF_WRONG[case]}')


JOBS = ("a customer's e-mail address", "an order's status", "a product's price")
# For each job what cannot be right: in place of the id, and in place of the new value.
WRONG: dict[str, list[list[Any]]] = {
    JOBS[0]: [["ORD-20260917"], ["nora at example.org"]],
    JOBS[1]: [["CUS-1001"], ["lost", "paid", "delivered"]],
    JOBS[2]: [["CUS-1001"], [24.5, -100]],
}


@exercise(
    "2.3",
    title="Split update_record",
    difficulty="medium",
    importance="core",
    minutes=20,
    hints=[
        "Three jobs, three tools. Name each by verb and thing, as the person at the desk would say it.",
        "Each tool needs two inputs: which one is meant, and the new value. Neither is an object.",
        "An id is found by its `pattern`, a status by its `enum`, a price in cents by the unit in its name.",
        "And what refuses 24.5, or -100, or an address that is none? A type, a bound and a `format`.",
        "If a sentence leads nowhere, `Simulated().explain(...)` shows which words nobody has.",
    ],
)
class SplitUpdateRecord:
    def cases(seed: int) -> list[dict[str, Any]]:
        return [_changes(random.Random(f"2.3:{seed}:{number}")) for number in range(3)]

    def observe(tools: Any, case: dict[str, Any]) -> Any:
        from course_kit.mock.simulated import Simulated

        if isinstance(tools, dict):
            tools = list(tools.values())
        if not isinstance(tools, list | tuple) or not all(isinstance(one, dict) for one in tools):
            return {"returned": tools}
        tools = list(tools)
        if refused := _refusal(tools):
            return {"tools": tools, "refused": refused}
        calls: list[Any] = []
        words: list[str] = []
        for said, _, _ in case["changes"]:
            reply = Simulated().reply({"messages": [{"role": "user", "content": said}], "tools": tools})
            calls.append([[b["name"], b["input"]] for b in reply.content if b["type"] == "tool_use"])
            words.append(" ".join(b["text"] for b in reply.content if b["type"] == "text"))
        return {"tools": tools, "refused": None, "calls": calls, "words": words}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if "tools" not in seen:
            raise Incorrect(f"`tools` should be a list of definitions; it is {_short(seen['returned'])}.")
        if seen["refused"]:
            raise Incorrect(f"The API refuses these definitions: {seen['refused']}")
        if len(seen["tools"]) != 3:
            raise Incorrect(f"There are three jobs, so three tools are asked for; here are {len(seen['tools'])}.")
        for tool in seen["tools"]:
            name, schema = tool["name"], tool["input_schema"]
            properties, needed = schema.get("properties") or {}, schema.get("required") or ()
            if not str(tool.get("description") or "").strip():
                raise Incorrect(f"`{name}` has no description: nothing but its name says what it is for.")
            for key, node in properties.items():
                if key in ("entity", "action"):
                    raise Incorrect(f"`{name}` still has `{key}`: a tool with one job has nothing to choose there.")
                if node.get("type") in ("object", "array") or not node.keys() & {"type", "enum", "const"}:
                    raise Incorrect(f"`{key}` of `{name}` still holds anything: give each value its own typed input.")
            if schema.get("additionalProperties") is not False:
                raise Incorrect(f'`{name}` is open: add "additionalProperties": false.')
            if len(needed) < 2:
                raise Incorrect(f"`{name}` must fail without its id and without the new value: require both.")
            if len(needed) > 2:
                raise Incorrect(f"`{name}` requires {', '.join(needed)}; the id and the new value are enough.")
            if absent := [key for key in needed if key not in properties]:
                raise Incorrect(f"`{name}` requires `{absent[0]}`, which is not among its properties.")
        tool_of: dict[str, str] = {}
        for (said, job, values), calls, words in zip(case["changes"], seen["calls"], seen["words"], strict=True):
            if len(calls) != 1:
                instead = "calls " + " and ".join(name for name, _ in calls) if calls else f"says: {words}"
                raise Incorrect(f'"{said}" should lead to one call; the simulated model {instead}')
            [(name, given)] = calls
            if tool_of.setdefault(job, name) != name:
                raise Incorrect(f'"{said}" goes to `{name}`, but another request about {job} to `{tool_of[job]}`.')
            if missing := [value for value in values if value not in given.values()]:
                raise Incorrect(f'From "{said}" `{name}` gets {given}; {missing[0]!r} should be in it.')
            schema = next(tool["input_schema"] for tool in seen["tools"] if tool["name"] == name)
            for value, impossible in zip(values, WRONG[job], strict=True):
                key = next(key for key in given if given[key] == value)
                if key not in schema["required"]:
                    raise Incorrect(f"`{name}` must fail without `{key}`: require it.")
                if not conforms({"type": "object", "properties": {key: schema["properties"][key]}}, {key: value}):
                    raise Incorrect(f"`{name}` does not take {value!r} as `{key}`: its own schema refuses it.")
                for wrong in impossible:
                    if conforms(schema, {**given, key: wrong}):
                        raise Incorrect(
                            f"`{name}` takes {wrong!r} as `{key}`: let the schema refuse what cannot be right."
                        )
        if len(set(tool_of.values())) < len(tool_of):
            raise Incorrect(f"One tool still does several jobs: {tool_of}.")


def _changes(draw: random.Random) -> dict[str, Any]:
    customer, product = f"CUS-{draw.randint(1001, 1012)}", f"PRD-{draw.randint(101, 509)}"
    order = f"ORD-202609{draw.randint(10, 30)}"
    # No address that a definition would give as its example: what the model finds there, it takes for no value.
    mail = f"{draw.choice(['l.berg', 'mika', 'd.ito'])}@{draw.choice(['post', 'letters'])}.{draw.choice(['net', 'se'])}"
    cents = draw.randint(400, 9000) // 10 * 10 + 5
    price, status = f"{cents / 100:.2f}", draw.choice(["packed", "shipped"])
    email, state, cost = JOBS
    return {
        "changes": [
            (f"Change the e-mail address of customer {customer} to {mail}.", email, [customer, mail]),
            (f"Customer {customer} has a new e-mail address: {mail}", email, [customer, mail]),
            (f"Mark order {order} as {status}.", state, [order, status]),
            (f"Set the status of order {order} to {status}, please.", state, [order, status]),
            (f"Set the price of product {product} to {price}.", cost, [product, cents]),
            (f"Product {product} has a new price: {price}", cost, [product, cents]),
        ]
    }


def _neighbour(name: str, description: str, **inputs: Any) -> dict[str, Any]:
    order_id = {"type": "string", "pattern": "^ORD-[0-9]{8}$", "description": "The order's number, as ORD-20260917."}
    properties = {"order_id": order_id, **inputs}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "input_schema": schema}


NEIGHBOURS = {
    "refund": _neighbour(
        "refund_order",
        "Pay money back for a delivered order.",
        amount_cents={"type": "integer", "description": "In cents: 19.99 is 1999."},
    ),
    "parcel": _neighbour("track_parcel", "Say where a parcel is and what happened to it."),
}
REQUESTS = [
    ("Please cancel ORD-20260918.", "cancel"),
    ("Stop order ORD-20260918 before it is sent.", "cancel"),
    ("I no longer want ORD-20260920.", "cancel"),
    ("ORD-20260920 was a mistake, I ordered it twice.", "cancel"),
    ("Call off my order ORD-20260918, the address is wrong.", "cancel"),
    ("My cup arrived broken. Refund 19.99 for ORD-20260917.", "refund"),
    ("I want my money back for ORD-20260914: 24.50.", "refund"),
    ("Where is the parcel of ORD-20260906?", "parcel"),
    ("Has ORD-20260908 been delivered?", "parcel"),
    ("Thanks, that is all for today.", None),
]
# Not shown in the exercise: how others say the same things.
UNSEEN = [
    ("ORD-20260920 is not needed any more.", "cancel"),
    ("Please withdraw ORD-20260920.", "cancel"),
    ("I changed my mind about ORD-20260918.", "cancel"),
    ("We no longer need ORD-20260918.", "cancel"),
    ("I ordered ORD-20260920 by mistake.", "cancel"),
    ("Can you still stop ORD-20260918?", "cancel"),
    ("Please revoke ORD-20260920.", "cancel"),
    ("Please call off ORD-20260918.", "cancel"),
    ("The bowl came broken. Refund 14.50 for ORD-20260914.", "refund"),
    ("Where is my package? ORD-20260906.", "parcel"),
    ("What happened to the parcel of ORD-20260908?", "parcel"),
    ("Do you sell teapots?", None),
]
LONGEST = 600  # characters of a description


@exercise(
    "2.4",
    title="Nine of ten, and nine of twelve unseen",
    difficulty="hard",
    importance="core",
    minutes=25,
    hints=[
        "Measure first, and read the misses. Which words of theirs are nowhere in your definition?",
        "First the name and the first sentence, then *use it when* with the users' words. Measure after each.",
        'A "not" cuts a sentence in two, and what comes after it counts as not this tool\'s work.',
        "One of the ten cannot be won from here: look at what its neighbour claims. Nine are enough.",
        "The unseen ones: how would five people say that they want an order stopped? Write down verbs, not sentences.",
    ],
)
class NineOfTen:
    def cases(seed: int) -> list[int]:
        draw = random.Random(f"2.4:{seed}")
        return draw.sample(range(1000), 5)

    def observe(answer: Any, seed: int) -> Any:
        if not isinstance(answer, dict) or not isinstance(answer.get("description"), str):
            return {"returned": answer}
        if answer.get("name") in [tool["name"] for tool in NEIGHBOURS.values()]:
            return {"definition": answer, "refused": "tools: Tool names must be unique."}
        if refused := _refusal([answer, *NEIGHBOURS.values()]):
            return {"definition": answer, "refused": refused}
        slips = {}
        for asked, requests in (("shown", REQUESTS), ("unseen", UNSEEN)):
            measured = measure({"cancel": answer, **NEIGHBOURS}, requests, times=1, first_seed=seed)
            slips[asked] = [[row.said, row.picks[0]] for row in measured.slips]
        return {"definition": answer, "refused": None, **slips}

    def judge(seed: int, seen: dict[str, Any]) -> None:
        if "definition" not in seen:
            raise Incorrect(f"This should be a definition with a description; it is {_short(seen['returned'])}.")
        if seen["refused"]:
            raise Incorrect(f"The API refuses this request: {seen['refused']}")
        description = seen["definition"]["description"]
        inputs = seen["definition"]["input_schema"].get("properties") or {}
        order = "ORD-20260918"
        if not any(conforms({"type": "object", "properties": {"n": node}}, {"n": order}) for node in inputs.values()):
            raise Incorrect(f"No input of this tool takes {order}: how would it know which order to cancel?")
        if len(description) > LONGEST:
            raise Incorrect(f"The description has {len(description)} characters; write it in {LONGEST}.")
        for said, _ in [*REQUESTS, *UNSEEN]:
            if said.rstrip(".") in description:
                raise Incorrect(f'The description repeats "{said}" word for word: that is learnt by heart.')
        for asked, requests in (("shown", REQUESTS), ("unseen", UNSEEN)):
            right = len(requests) - len(seen[asked])
            if right < 9:
                said, picked = seen[asked][0]
                which = f"of the {len(requests)} {'that you have not seen' if asked == 'unseen' else 'shown'}"
                slip = f'"{said}" gets {picked}'
                raise Incorrect(f"With one of the seeds {right} {which} are right; you need 9. One miss: {slip}.")

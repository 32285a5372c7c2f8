"""Checks of lesson 06: the one entrance to execution, a readable refusal, which of sixty tools always ask."""

import json
import random
import re
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.contract.messages import content_blocks
from course_kit.errors import Incorrect

__all__: list[str] = []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


# 6.1


def _call(number: int, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}


@exercise(
    "6.1",
    title="guarded_execute",
    difficulty="medium",
    importance="core",
    minutes=25,
    hints=[
        "Two loops: the first only asks and writes down, the second only runs and answers.",
        "Keep what was decided by the call's id, not by the tool's name: one yes is for one call.",
        "`if answer:` is true for a text as well. Which single value allows?",
        "Hand the approver a copy (`copy.deepcopy`): then nothing it does to it reaches what runs.",
        "Put the question into a `try` of its own. What does an approver that raises mean?",
    ],
)
class GuardedExecute:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"6.1:{seed}")
        one, two, three = draw.sample(["letters", "prices", "photos", "drafts", "orders"], 3)
        read, first, second = _call(1, "read", path=three), _call(2, "delete", path=one), _call(3, "delete", path=two)
        cents = draw.randint(100, 900)
        pay = _call(2, "pay", order="ORD-20260917", cents=cents)
        return [
            {"about": "a read that asks nobody", "calls": [read], "answers": {}},
            {
                "about": "a read and two deletions, the first allowed and the second refused",
                "calls": [read, first, second],
                "answers": {"toolu_2": True, "toolu_3": "keep it for the audit"},
            },
            {
                "about": "two deletions, the first refused and the second allowed",
                "calls": [first, second],
                "answers": {"toolu_2": "not this one", "toolu_3": True},
            },
            {"about": "nobody there (approver=None)", "calls": [read, first], "answers": None},
            {"about": "an approver that raises", "calls": [first, read], "answers": {"toolu_2": "raise"}},
            {
                "about": 'the answer "yes, but only tomorrow"',
                "calls": [pay],
                "answers": {"toolu_2": "yes, only tomorrow"},
            },
            {"about": "the answer 1", "calls": [pay], "answers": {"toolu_2": 1}},
            {"about": "the answer None", "calls": [pay], "answers": {"toolu_2": None}},
            {
                "about": "an approver that changes the dict it was shown",
                "calls": [pay],
                "answers": {"toolu_2": "change"},
            },
            {"about": "a tool that does not exist", "calls": [_call(1, "dance"), read], "answers": {}},
            {
                "about": "an allowed call that raises, before another one",
                "calls": [_call(2, "delete", path="nowhere"), read],
                "answers": {"toolu_2": True},
            },
        ]

    def observe(guarded_execute: Any, case: dict[str, Any]) -> Any:
        log: list[list[Any]] = []

        def read(path: str) -> dict[str, Any]:
            log.append(["ran", "read", {"path": path}])
            return {"path": path, "text": "smörgås"}

        def delete(path: str) -> dict[str, Any]:
            log.append(["ran", "delete", {"path": path}])
            if path == "nowhere":
                raise LookupError("there is no file nowhere")
            return {"path": path, "deleted": True}

        def pay(order: str, cents: int) -> dict[str, Any]:
            log.append(["ran", "pay", {"order": order, "cents": cents}])
            return {"order": order, "paid": cents}

        def approver(call: dict[str, Any]) -> Any:
            log.append(["asked", call["id"], json.loads(json.dumps(call["input"]))])
            answer = case["answers"][call["id"]]
            if answer == "raise":
                raise ConnectionError("the panel is gone")
            if answer == "change":
                call["input"]["cents"] = 1
                return True
            return answer

        tools = {"read": (read, False), "delete": (delete, True), "pay": (pay, True)}
        calls = json.loads(json.dumps(case["calls"]))
        returned = guarded_execute(calls, tools, approver if case["answers"] is not None else None)
        return {"log": log, "returned": returned}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, calls, answers = case["about"], case["calls"], case["answers"]
        asks = [call for call in calls if call["name"] in ("delete", "pay")]
        asked = [entry[1] for entry in seen["log"] if entry[0] == "asked"]
        for call in calls:
            if call not in asks and call["id"] in asked:
                raise Incorrect(f"With {about}, your code asked about `{call['name']}`, which does not ask.")
        wanted = [call["id"] for call in asks] if answers is not None else []
        for id in wanted:
            if id not in asked:
                raise Incorrect(
                    f"With {about}, nobody was asked about {id}: every call that asks is a question of its own."
                )
        if asked != wanted:
            raise Incorrect(f"With {about}, each question is put once, in call order {wanted}; you asked {asked}.")
        allowed = [call for call in calls if call["name"] == "read" or _may_run(call, answers or {})]
        ran = [[entry[1], entry[2]] for entry in seen["log"] if entry[0] == "ran"]
        expected = [[c["name"], c["input"]] for c in allowed]
        for one in ran:
            if one not in expected:
                changed = [c for c in expected if c[0] == one[0]]
                if changed and "changes" in about:
                    raise Incorrect(
                        f"With {about}, `{one[0]}` ran with {one[1]}, but the model's call, which was asked about, has "
                        f"{changed[0][1]}: give the approver a copy."
                    )
                raise Incorrect(f"With {about}, `{one[0]}` ran with {one[1]}, and nobody had allowed that.")
        if sorted(map(repr, ran)) != sorted(map(repr, expected)):
            raise Incorrect(f"With {about}, these calls should have run: {expected}; yours ran {ran}.")
        kinds = [entry[0] for entry in seen["log"]]
        if "ran" in kinds and "asked" in kinds[kinds.index("ran") :]:
            raise Incorrect(f"With {about}, a call ran before the last question was answered: decide first, then run.")
        _judge_results(about, calls, allowed, answers, seen["returned"])


def _may_run(call: dict[str, Any], answers: dict[str, Any]) -> bool:
    answer = answers.get(call["id"])
    return answer is True or answer == "change"


def _judge_results(about: str, calls: list, allowed: list, answers: Any, results: Any) -> None:
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise Incorrect(f"With {about}, return a list of tool_result blocks; you returned {_short(results)}.")
    ids = [one.get("tool_use_id") for one in results]
    if ids != [call["id"] for call in calls] or any(one.get("type") != "tool_result" for one in results):
        raise Incorrect(
            f"With {about}, each call needs one tool_result under its id, in call order; yours are for {_short(ids)}."
        )
    for call, block in zip(calls, results, strict=True):
        said = "".join(part.get("text", "") for part in content_blocks(block))
        failed = call not in allowed or call["input"].get("path") == "nowhere"
        if failed != (block.get("is_error") is True):
            word = "needs `is_error: True`" if failed else "worked, and is marked as an error"
            raise Incorrect(f"With {about}, the result of `{call['name']}` {word}: {_short(said)}.")
        if not failed:
            try:
                value = json.loads(said)
            except ValueError:
                value = None
            if not isinstance(value, dict) or "path" not in value and "paid" not in value:
                raise Incorrect(
                    f"With {about}, the content is what the function returned, as JSON; it is {_short(said)}."
                )
            continue
        names = {"dance": "dance"}.get(call["name"], "nowhere" if call["input"].get("path") == "nowhere" else "")
        if names not in said or not said.strip():
            raise Incorrect(
                f"With {about}, the error should say what was wrong ({names or 'why'}); it says {_short(said)}."
            )
        reason = (answers or {}).get(call["id"])
        if isinstance(reason, str) and reason not in ("raise", "change") and reason not in said:
            raise Incorrect(
                f"With {about}, the person's reason ({reason!r}) is missing from the result: {_short(said)}."
            )


# 6.2

WHO = re.compile(
    r"\b(?:person|human|people|colleague|some(?:one|body)|nobody|operator|reviewer|supervisor|manager|staff)\b|人|同事",
    re.I,
)
REFUSED = re.compile(
    r"refus|denied|deny|declin|reject|turned (?:it )?down|said no|not (?:been )?(?:approved?|allowed)"
    r"|拒绝|不同意|未批准",
    re.I,
)
UNDONE = re.compile(
    r"\bnothing\b|\bno (?:money|change|call)\b"
    r"|\b(?:not|never)(?: been)? (?:run|ran|made|done|carried|execut|paid|happen|take)"
    r"|没有|未执行|未生效",
    re.I,
)
NEXT = re.compile(
    r"\b(?:another|other|different) (?:way|solution|option|tool|approach)"
    r"|\b(?:ask|tell|inform|let) (?:the )?(?:user|customer|them)"
    r"|\binstead\b|\balternativ|\boffer\b|\bsuggest|换|告诉|询问",
    re.I,
)
AGAIN = re.compile(
    r"(?<!not )(?<!n't )(?<!never )\b(?:try|call|send)(?: it| this)? again|(?<!not )(?<!n't )\bretry\b", re.I
)


@exercise(
    "6.2",
    title="A refusal that can be read",
    difficulty="easy",
    importance="core",
    minutes=10,
    seconds=30.0,  # the first case imports the SDK, which takes long on a busy machine
    hints=[
        "Four things: who said no, why, what was done, what to try. A short sentence for each.",
        "Read it as the model would, with nothing else at hand. Could it think that the tool is broken?",
        "When no reason was given, say so in words: an empty place reads like a fault of the program.",
    ],
)
class ReadableRefusal:
    def cases(seed: int) -> list[dict[str, str]]:
        draw = random.Random(f"6.2:{seed}")
        reasons = [
            "the photo shows another cup",
            "it was paid back in August",
            "the amount is too high",
            "wrong customer",
        ]
        one, two = draw.sample(reasons, 2)
        return [
            {"tool": "refund_order", "reason": one},
            {"tool": "cancel_order", "reason": two},
            {"tool": "refund_order", "reason": ""},
        ]

    def observe(refusal: Any, case: dict[str, str]) -> Any:
        from course_kit.contract.messages import tool_result, tool_use, user
        from course_kit.contract.models import DEFAULT_MODEL
        from course_kit.example_tools import definition
        from course_kit.mock.provider import MockProvider
        from course_kit.mock.simulated import Simulated

        said = refusal(case["tool"], case["reason"])
        if not isinstance(said, str) or not said.strip():
            return {"said": said, "calls_again": None}
        asked, given = {
            "refund_order": (
                "My cup arrived broken. Please refund 19.99 for order ORD-20260917.",
                {"amount_cents": 1999},
            ),
            "cancel_order": ("I changed my mind: please cancel order ORD-20260917.", {}),
        }[case["tool"]]
        reason = "damaged" if given else "changed_mind"
        made = tool_use("toolu_1", case["tool"], {"order_id": "ORD-20260917", **given, "reason": reason})
        reply = (
            MockProvider(Simulated())
            .client()
            .messages.create(
                model=DEFAULT_MODEL,
                max_tokens=500,
                tools=[definition(case["tool"])],
                messages=[
                    user(asked),
                    {"role": "assistant", "content": [made]},
                    user([tool_result("toolu_1", said, is_error=True)]),
                ],
            )
        )
        return {"said": said, "calls_again": reply.stop_reason == "tool_use"}

    def judge(case: dict[str, str], seen: dict[str, Any]) -> None:
        said, reason = seen["said"], case["reason"]
        about = f"refusal({case['tool']!r}, {reason!r})"
        if not isinstance(said, str) or not said.strip():
            raise Incorrect(f"{about} must return a text; it returned {_short(said)}.")
        if not WHO.search(said):
            raise Incorrect(f"{about} does not say that a person decided; it could be a broken tool: {_short(said)}.")
        if not REFUSED.search(said):
            raise Incorrect(f"{about} does not say that the call was refused: {_short(said)}.")
        if reason and reason.lower() not in said.lower():
            raise Incorrect(f"{about} keeps the reason to itself: {_short(said)}.")
        if re.search(r"\bNone\b|[:(]\s*[.,)]|['\"]{2}|\.\s*\.(?!\.)", said):
            raise Incorrect(f"{about} has a hole where something is missing or doubled: {_short(said)}.")
        if not UNDONE.search(said):
            raise Incorrect(f"{about} leaves open whether anything was done: {_short(said)}.")
        if AGAIN.search(said):
            raise Incorrect(f"{about} invites the same call again, and the person is asked again: {_short(said)}.")
        if not NEXT.search(said):
            raise Incorrect(f"{about} ends there: say what the model can do now: {_short(said)}.")
        if len(said.split()) > 60:
            raise Incorrect(f"{about} takes {len(said.split())} words; 60 are plenty.")
        if seen["calls_again"]:
            raise Incorrect(f"After {about} the simulated model made the same call again: {_short(said)}.")


# 6.3

REASONS = ("money", "sent outside", "production", "cannot be undone")
# Whose every call asks, with the reasons that hold. (Of the rest, some may ask and some must not.)
MUST = {
    "finance_pay_bill": ("money", "cannot be undone"),
    "finance_transfer_funds": ("money",),
    "finance_send_invoice": ("sent outside", "cannot be undone"),
    "finance_send_payment_reminder": ("sent outside", "cannot be undone"),
    "finance_void_invoice": ("cannot be undone", "money"),
    "ticket_reply": ("sent outside", "cannot be undone"),
    "ticket_close": ("cannot be undone",),
    "ticket_merge": ("cannot be undone",),
    "deploy_start_release": ("production",),
    "deploy_promote_release": ("production",),
    "deploy_approve_release": ("production",),
    "deploy_rollback_release": ("production", "cannot be undone"),
    "deploy_set_config": ("production", "cannot be undone"),
    "deploy_restart_service": ("production", "cannot be undone"),
    "deploy_scale_service": ("production", "money"),
    "deploy_set_traffic_split": ("production",),
}
FREE_TOO = ("ticket_add_internal_note", "ticket_set_priority", "monitor_acknowledge_alert")
READS = re.compile(r"_(?:get|list|search|query)(?:_|$)")
WHAT_HAPPENED = {
    "money": "moved money",
    "sent outside": "sent something to a stranger that cannot be called back",
    "production": "changed what runs in production",
    "cannot be undone": "did what cannot be undone",
}


@exercise(
    "6.3",
    title="Sixty tools: which always ask?",
    difficulty="medium",
    importance="core",
    minutes=20,
    hints=[
        "Go by the last sentence of each description: what does a call do that stays done?",
        "Begin with what is easy: everything that only reads asks nobody. That is about half of the sixty.",
        "Drafts and remarks among colleagues are not `sent outside`. A mail to a customer is, however short.",
        "Under deployment: does the tool change what customers meet, at once? Going back to an old version does, too.",
    ],
)
class SixtyTools:
    def cases(seed: int) -> list[dict[str, Any]]:
        from course_kit.catalogue import GROUPS, catalogue

        draw = random.Random(f"6.3:{seed}")
        cases = []
        for group in GROUPS:
            names = [tool["name"] for tool in catalogue(group=group)]
            must = [name for name in names if name in MUST]
            free = [name for name in names if READS.search(name) or name in FREE_TOO]
            chosen = [*must, *draw.sample(free, min(5, len(free)))]
            cases.append({"about": group, "calls": draw.sample(chosen, len(chosen))})
        return cases

    def observe(asks: Any, case: dict[str, Any]) -> Any:
        from course_kit.catalogue import catalogue

        if not isinstance(asks, dict):
            return {"table": type(asks).__name__}
        known = {tool["name"] for tool in catalogue(group="operations")}
        return {
            "table": "dict",
            "strange": [str(name) for name in asks if name not in known][:1],
            "reasons": [str(why) for why in asks.values() if why not in REASONS][:1],
            "asked": {name: asks[name] for name in case["calls"] if name in asks},
        }

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        if seen["table"] != "dict":
            raise Incorrect(f"`ASKS` must be a dict of name and reason; it is a {seen['table']}.")
        if seen["strange"]:
            raise Incorrect(f"There is no tool `{seen['strange'][0]}` among the sixty: a gate for it guards nothing.")
        if seen["reasons"]:
            raise Incorrect(f"{seen['reasons'][0]!r} is none of the four reasons: {', '.join(REASONS)}.")
        for name in case["calls"]:
            right, why = MUST.get(name), seen["asked"].get(name)
            if right and why is None:
                raise Incorrect(f"`{name}` was called and asked nobody: it {WHAT_HAPPENED[right[0]]}.")
            if right and why not in right:
                raise Incorrect(f"`{name}` asks, but not because of {why!r}: read its description again.")
            if not right and why is not None:
                raise Incorrect(
                    f"`{name}` asked a person, and there was nothing to decide: who is asked too often stops reading."
                )

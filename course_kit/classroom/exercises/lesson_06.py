"""Checks of lesson 06: the one entrance to execution, a readable refusal, which of sixty tools always ask."""

import json
import random
import re
from collections.abc import Callable
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


# What each tool returns; the value says which call it belongs to.
RETURNS: dict[str, Callable[..., Any]] = {
    "read": lambda path: {"path": path, "text": "smörgås"},
    "title": lambda path: f"the {path} of Zoë",
    "delete": lambda path: {"path": path, "deleted": True},
    "pay": lambda order, cents: {"order": order, "paid": cents},
    "share": lambda parts: {"paid": sum(parts.values())},
}
ASKING = ("delete", "pay", "share")
# The paths that fail when they are deleted, each with another exception.
FAILING: dict[Any, type[Exception]] = {"nowhere": LookupError, "locked": OSError}


@exercise(
    "6.1",
    title="guarded_execute",
    difficulty="medium",
    importance="core",
    minutes=30,
    hints=[
        "Two loops: the first only asks and writes down, the second only runs and answers.",
        "Keep what was decided by the call's id, not by the tool's name: one yes is for one call.",
        "`if answer:` is true for a text as well. Which one value allows the call?",
        "Give the approver a copy (`copy.deepcopy`): then nothing it changes reaches what runs.",
        "Put the question into a separate `try`. What does an approver that raises mean?",
    ],
)
class GuardedExecute:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"6.1:{seed}")
        one, two, three = draw.sample(["letters", "prices", "photos", "drafts", "orders"], 3)
        read, first, second = _call(1, "read", path=three), _call(2, "delete", path=one), _call(3, "delete", path=two)
        cents = draw.randint(100, 900)
        split = _call(2, "share", parts={"Ada": cents, "Ben": cents})
        pay = _call(2, "pay", order="ORD-20260917", cents=cents)
        return [
            {"about": "a read that asks nobody", "calls": [read], "answers": {}},
            {"about": "a tool that returns a text", "calls": [_call(1, "title", path=one), read], "answers": {}},
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
            {
                "about": "two equal deletions, the first allowed and the second refused",
                "calls": [first, {**first, "id": "toolu_3"}],
                "answers": {"toolu_2": True, "toolu_3": "once is enough"},
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
            {
                "about": "an approver that changes a value deep inside the dict it was shown",
                "calls": [split],
                "answers": {"toolu_2": "change"},
            },
            {"about": "a tool that does not exist", "calls": [_call(1, "dance"), read], "answers": {}},
            {
                "about": "an allowed call that raises, before another one",
                "calls": [_call(2, "delete", path="nowhere"), read],
                "answers": {"toolu_2": True},
            },
            {
                "about": "an allowed call that raises another exception",
                "calls": [_call(2, "delete", path="locked"), read],
                "answers": {"toolu_2": True},
            },
        ]

    def observe(guarded_execute: Any, case: dict[str, Any]) -> Any:
        log: list[list[Any]] = []

        def function(name: str) -> Callable[..., Any]:
            def run(**given: Any) -> Any:
                log.append(["ran", name, json.loads(json.dumps(given))])
                if given.get("path") in FAILING:
                    raise FAILING[given["path"]](f"{given['path']} cannot be deleted")
                return RETURNS[name](**given)

            run.__name__ = run.__qualname__ = name
            return run

        def approver(call: dict[str, Any]) -> Any:
            log.append(["asked", call["id"], json.loads(json.dumps(call["input"]))])
            answer = case["answers"].get(call["id"], True)
            if answer == "raise":
                raise ConnectionError("the panel is gone")
            if answer == "change":
                call["input"].get("parts", call["input"]).update(
                    {"cents": 1} if "cents" in call["input"] else {"Ben": 0}
                )
                return True
            return answer

        tools = {name: (function(name), name in ASKING) for name in RETURNS}
        calls = json.loads(json.dumps(case["calls"]))
        returned = guarded_execute(calls, tools, approver if case["answers"] is not None else None)
        return {"log": log, "returned": returned, "changed": calls != case["calls"]}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        about, calls, answers = case["about"], case["calls"], case["answers"]
        asks = [call for call in calls if call["name"] in ASKING]
        asked = [entry[1] for entry in seen["log"] if entry[0] == "asked"]
        kinds = [entry[0] for entry in seen["log"]]
        if "ran" in kinds and "asked" in kinds[kinds.index("ran") :] and asked == [call["id"] for call in asks]:
            happened = ", ".join(f"{kind} {what}" for kind, what, _ in seen["log"])
            raise Incorrect(
                f"With {about}, a call ran before the last question was answered ({happened}). One loop that asks "
                "and runs does so: decide about all calls first, then run."
            )
        for call in calls:
            if call not in asks and call["id"] in asked:
                raise Incorrect(f"With {about}, your code asked about `{call['name']}`, which does not ask.")
        wanted = [call["id"] for call in asks] if answers is not None else []
        for id in wanted:
            if id not in asked:
                raise Incorrect(
                    f"With {about}, nobody was asked about {id}: every call that asks is a separate question."
                )
        if asked != wanted:
            raise Incorrect(f"With {about}, each question is put once, in call order {wanted}; you asked {asked}.")
        allowed = [call for call in calls if call["name"] in ("read", "title") or _may_run(call, answers or {})]
        ran = [[entry[1], entry[2]] for entry in seen["log"] if entry[0] == "ran"]
        expected = [[c["name"], c["input"]] for c in allowed]
        for one in ran:
            if one not in expected:
                changed = [c for c in expected if c[0] == one[0]]
                if changed and "changes" in about:
                    raise Incorrect(
                        f"With {about}, `{one[0]}` ran with {one[1]}, but the model's call, which was asked about, has "
                        f"{changed[0][1]}: give the approver a copy, including everything inside it."
                    )
                raise Incorrect(f"With {about}, `{one[0]}` ran with {one[1]}, and nobody had allowed that.")
        if sorted(map(repr, ran)) != sorted(map(repr, expected)):
            raise Incorrect(f"With {about}, these calls should have run: {expected}; yours ran {ran}.")
        _judge_results(about, calls, allowed, answers, seen["returned"])
        if seen["changed"] and "changes" not in about:
            raise Incorrect(f"With {about}, the calls you were given were changed, and the history still needs them.")


def _may_run(call: dict[str, Any], answers: dict[str, Any]) -> bool:
    answer = answers.get(call["id"])
    return answer is True or answer == "change"


def _judge_results(about: str, calls: list[Any], allowed: list[Any], answers: Any, results: Any) -> None:
    if not isinstance(results, list) or not all(isinstance(one, dict) for one in results):
        raise Incorrect(f"With {about}, return a list of tool_result blocks; you returned {_short(results)}.")
    ids = [one.get("tool_use_id") for one in results]
    if ids != [call["id"] for call in calls] or any(one.get("type") != "tool_result" for one in results):
        raise Incorrect(
            f"With {about}, each call needs one tool_result under its id, in call order; yours are for {_short(ids)}."
        )
    for call, block in zip(calls, results, strict=True):
        content = block.get("content")
        if not isinstance(content, str) and not (
            isinstance(content, list) and all(isinstance(x, dict) for x in content)
        ):
            raise Incorrect(f"With {about}, the content of `{call['name']}`'s result is text, not {_short(content)}.")
        said = "".join(part.get("text", "") for part in content_blocks(block))
        path = call["input"].get("path")
        failed = call not in allowed or path in FAILING
        if (block.get("is_error") or False) is not failed:
            word = "needs `is_error: True`" if failed else "worked, and is marked as an error"
            raise Incorrect(f"With {about}, the result of `{call['name']}` {word}: {_short(said)}.")
        if not failed:
            try:
                value = json.loads(said)
            except ValueError:
                value = None
            if value != (returned := RETURNS[call["name"]](**call["input"])):
                wanted = _short(json.dumps(returned, ensure_ascii=False))
                raise Incorrect(
                    f"With {about}, the content of {call['id']} is what the function returned, as JSON, {wanted}; "
                    f"it is {_short(said)}."
                )
            continue
        names = "dance" if call["name"] == "dance" else path if path in FAILING else ""
        if names not in said or not said.strip():
            raise Incorrect(
                f"With {about}, the error should say what was wrong ({names or 'why'}); it says {_short(said)}."
            )
        if call in allowed or call["name"] == "dance":
            continue
        reason = (answers or {}).get(call["id"])
        reason = reason if isinstance(reason, str) and reason != "raise" else ""
        if reason not in said:
            raise Incorrect(
                f"With {about}, the person's reason ({reason!r}) is missing from the result: {_short(said)}."
            )
        said_otherwise = said.replace(reason, "") if reason else said
        if not _holds(NOT_ALLOWED, NOT_REFUSED.sub("…", said_otherwise)):
            raise Incorrect(
                f"With {about}, the result does not say that the call was refused or not approved, so it reads like a "
                f"fault of the tool: {_short(said)}."
            )


# 6.2


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# What a text must hold, in generous words; each is looked for clause by clause, outside the reason.

WHO = _any_of(
    r"\b(?:person|human|colleague|operator|reviewer|supervisor|manager|approver|boss|chief|employee|owner|clerk)s?\b",
    r"\b(?:people|someone|somebody|staff|team|lead|leader|administrator|admin)\b",
    r"\b(?:user|customer|client) (?:has )?(?:refused|denied|declined|rejected|said no)",
    "人|同事|经理|主管",
)
REFUSED = _any_of(
    r"refus|\bden(?:y|ied|ies)\b|declin|reject|disallow|disapprov|forb[ia]d|prohibit|\bveto|block|stopped|against",
    r"\bturn(?:ed|s)? (?:(?:it|this|that|them|both|the \w+) )?down|\b(?:say|says|said|answered) ['\"]?no\b",
    r"(?:\bnot|n't) (?:let|have) (?:it|this|that|them|you)\b|decided not\b",
    r"(?:\bnot|n't|\bnever|\bwithout|\bno)(?: \w+){0,3} (?:approv|allow|permi|agree|consent|want|accept|authori)",
    r"\bno (?:approval|permission|consent)|拒绝|不同意|未批准|否决",
)
# "did not refuse" holds a word of refusing and says the opposite; so it is taken out before words are looked for.
NOT_REFUSED = _any_of(
    r"(?:\bnot|n't|\bnever|\bwithout)(?: (?:been|be|being|yet|actually|have))* "
    r"(?:refus|den(?:y|ied)|declin|reject|disallow|forb[ia]d|block|stopped|turn(?:ed|ing)? down)\w*",
    r"\b(?:nobody|no one|no person|no colleague)(?: has| had)? (?:refus|deni|declin|reject)\w*",
)
NOT_ALLOWED = _any_of(REFUSED.pattern, "approv|permission|allow|consent")  # for 6.1, where nobody may have been there
DEED = (
    "(?:done|run|ran|made|paid|moved?|sent|changed?|executed|called|cancell?ed|refunded|performed|processed|issued"
    "|deleted|left|touched|started|completed|applied|transferred|happen(?:ed)?|carried out|do (?:it|this|that|anything)"
    "|(?:taken?|took) (?:place|effect)|(?:go|gone|went) (?:through|ahead|out)|c[ao]me of (?:it|this|that|them))"
)
UNDONE = _any_of(
    rf"\b(?:nothing|nobody|none|neither|no)\b(?: [\w-]+){{0,5}} {DEED}\b(?! wrong)",
    rf"(?:\bnot|\bnever|n't)(?: (?:yet|been|be|have|actually|even))* {DEED}\b(?! wrong)",
    r"\b(?:no|without)(?: any)? (?:changes?|effects?|actions?|refund|payment|money|cancellation)\b",
    r"\bun(?:changed|touched|done|paid)\b|\bas (?:it|they) (?:was|were|is|are)\b",
    r"\b(?:remains?|stays?|still)\b(?! unclear)",
    "没有|未执行|未生效",
)
DONE = _any_of(
    r"\b(?:money|refund|payment|amount|order|call|it|they|both|everything) "
    r"(?:was|were|is|are|has been|have been|had been|will be) (?:already )?"
    r"(?:paid|refunded|cancell?ed|made|sent|done|executed|carried out|processed|transferred|completed|moved)\b",
    r"\b(?:money|refund|payment) is (?:already )?(?:on its way|under way|in progress)\b",
    r"\bsucce(?:eded|ssful)|\b(?:it|the call) (?:now |still )?(?:runs|is running|will run|goes through)\b",
)
NEXT = _any_of(
    r"\b(?:another|other|different) (?:\w+ )?(?:way|solution|option|tool|approach|offer|means|step|proposal)",
    r"\b(?:ask|tell|inform|explain|answer|let|apologi[sz]e|offer|suggest|propose|talk|speak|contact|discuss|clarify)\b",
    r"\b(?:stop|continue|go on|look|check|choose|hand|escalate|wait)\b|\binstead\b|\balternativ",
    r"(?:\bdo not|\bdon't|\bnever) (?:call|try|retry|repeat|send|make)\b|换|告诉|询问|说明",
)
# A next step that is denied, "do not ask the user", is none.
NOT_NEXT = _any_of(
    r"(?:\bdo not|\bdon't|\bnever|\bmust not|\bshould not|\bneed not|\bcannot|\bwithout)"
    r" (?:ask|tell|inform|explain|answer|let|offer|suggest|propose|contact|discuss)\w*"
)
# "Ask them to think again": who is meant is whoever was named last.
NAMED = _any_of(
    r"\b(?P<user>user|customer|client|buyer)s?\b",
    r"\b(?P<person>person|people|human|colleague|operator|reviewer|supervisor|manager|approver|boss|chief|employee|owner"
    r"|clerk|team|staff|leader|admin(?:istrator)?)s?\b",
    r"\b(?P<pronoun>he|she|they|him|her(?! mind)|them)\b",
)
# Somebody who is to be asked or told did not decide: "ask the person who wrote to you".
TO_BE_TOLD = _any_of(
    r"\b(?:ask|tell|inform|contact|offer|let|answer|notify|(?:talk|speak|explain|hand|escalate|turn|check)"
    r"(?: (?:it|this))? (?:to|with))\b(?: (?:the|a|an|your|their|another|some|that|this))?(?: \w+)? "
    r"(?:person|people|human|colleague|someone|somebody|manager|supervisor|operator|reviewer|team|staff|owner|admin\w*)\b"
)
AGAIN = _any_of(
    r"\b(?:try|call|send|submit|request|make|repeat|do|run|start|issue|place)\b.{0,40}"
    r"\b(?:again|once more|a second time)\b",
    r"\b(?:retry|resubmit)\b|\btry .{0,20}\blater\b",
    r"\bkeep (?:on )?(?:calling|trying|asking|sending|requesting)|\btry(?:ing)? harder",
    r"\brepeat (?:it|this|that|them|the (?:call|request))\b",
    r"\bthe same (?:call|refund|payment|request|action|input)\b",
    r"\buntil (?:it|they|he|she|some(?:one|body)) ",
)
# Who said no is not to be talked round. The user may be: "ask the user to reconsider" is no fault.
DECIDER = (
    r"(?:(?:the|a|an|your|another|that|this) )?(?:\w+ )?"
    r"(?:person|colleague|manager|supervisor|operator|reviewer|approver|boss|human)"
)
ROUND = _any_of(
    r"\b(?:persuade|convince|insist|argue)\b|\bchange (?:his|her|their) mind",
    rf"\b(?:ask|tell|urge|get|beg) {DECIDER} (?:again )?(?:to|for) "
    r"(?:re-?consider|re-?think|think|approv|allow|accept|agree|permi)\w*",
    rf"\b(?:ask|call|press|push) {DECIDER} (?:again|once more)\b",
    rf"\b(?:talk|bring|win) {DECIDER} (?:round|around|over|into)|\bexplain to {DECIDER} why\b",
)
NO = _any_of(
    r"\b(?:no|not|never|nothing|none|neither|without|stop|avoid|cannot|instead of|rather than|other than)\b|n't\b"
)
# Without a reason: the place where it would have stood, left open ("Reason: Nothing was done", "because of.").
OPEN = _any_of(
    r"\b(?:because(?: of)?|the reason(?: that| was| is)?|reason:|saying(?: that)?|with the words|namely|due to)"
    r"\s*[:\"'“]*\s*(?:[.,;)]|$|(?=Nothing\b|No (?!reason)))",
    r"\w [.,;:)](?!\.)",
)


def _clauses(text: str) -> list[str]:
    return re.split(r"[.;:,!?()\n。；，：]+|\b(?:but|and then)\b", text)


def _with_names(text: str) -> str:
    """The text with whoever was named last in the place of "they", "him" and the like."""
    last = ""

    def named(found: re.Match[str]) -> str:
        nonlocal last
        if found["pronoun"]:
            return last or found[0]
        last = "the user" if found["user"] else "the person"
        return found[0]

    return NAMED.sub(named, text)


def _holds(sign: re.Pattern[str], text: str) -> bool:
    return any(sign.search(clause) for clause in _clauses(text))


def _claims(sign: re.Pattern[str], text: str) -> bool:
    """Whether a clause says so without a no in front: "the money was paid", not "no money was paid"."""
    return any((found := sign.search(clause)) and not NO.search(clause[: found.end()]) for clause in _clauses(text))


@exercise(
    "6.2",
    title="A refusal that can be read",
    difficulty="easy",
    importance="core",
    minutes=10,
    hints=[
        "Four things: who said no, why, what was done, what to try. A short sentence for each.",
        "Read it as the model would, with nothing else at hand. Could it think that the tool is broken?",
        "When no reason was given, say so in words: a gap in the sentence reads like a fault of the program.",
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
        said = refusal(case["tool"], case["reason"])
        return {"returned": said if isinstance(said, str) else None, "shown": _short(said)}

    def judge(case: dict[str, str], seen: dict[str, Any]) -> None:
        said, reason = seen["returned"], case["reason"]
        about = f"refusal({case['tool']!r}, {reason!r})"
        if not isinstance(said, str) or not said.strip():
            raise Incorrect(f"{about} must return a text; it returned {seen['shown']}.")
        if len(said.split()) > 60:
            raise Incorrect(f"{about} takes {len(said.split())} words; 60 are plenty.")
        if reason and reason.lower() not in said.lower():
            raise Incorrect(f"Missing in {about}: the reason. It says {said!r}.")
        # Without the reason and the name: words in them are not the writer's.
        rest = re.sub(re.escape(reason), "…", said, flags=re.I) if reason else said
        rest = rest.replace(case["tool"], "it")
        hole = re.search(r"\bNone\b(?! of)|[:(]\s*[.,;)]|['\"]{2}|(?<!\.)\.\s*\.(?!\.)|:\s*$", rest)
        if hole or (not reason and OPEN.search(rest)):
            raise Incorrect(f"{about} has a hole where something is missing or doubled: {said!r}.")
        for sign, missing, otherwise in (
            (WHO, "that a person decided (it could be a broken tool)", TO_BE_TOLD),
            (REFUSED, "that the call was refused", NOT_REFUSED),
            (UNDONE, "that nothing was done", None),
            (NEXT, "what the model can do now", NOT_NEXT),
        ):
            if not _holds(sign, otherwise.sub("…", rest) if otherwise else rest):
                raise Incorrect(f"Missing in {about}: {missing}. It says {said!r}.")
        if _claims(DONE, rest):
            raise Incorrect(f"{about} says that something was done, and nothing was: {said!r}.")
        if _claims(ROUND, _with_names(rest)):
            raise Incorrect(f"{about} sends the model back to the person who said no: {said!r}.")
        if _claims(AGAIN, rest):
            raise Incorrect(f"{about} invites the same call again, and the person is asked again: {said!r}.")


# 6.3

REASONS = ("money", "sent outside", "production", "cannot be undone")
# Whose every call asks, with the reasons that hold; what is plain comes first, so that it is complained of first.
MUST = {
    "finance_pay_bill": ("money", "cannot be undone"),
    "finance_transfer_funds": ("money",),
    "ticket_reply": ("sent outside", "cannot be undone"),
    "finance_send_invoice": ("sent outside", "cannot be undone"),
    "finance_send_payment_reminder": ("sent outside", "cannot be undone"),
    "ticket_close": ("cannot be undone",),
    "ticket_merge": ("cannot be undone",),
    "finance_void_invoice": ("cannot be undone",),
    "deploy_start_release": ("production",),
    "deploy_promote_release": ("production",),
    "deploy_rollback_release": ("production",),
    "deploy_set_traffic_split": ("production",),
    "deploy_restart_service": ("production", "cannot be undone"),
    "deploy_approve_release": ("production",),
}
# Where good people disagree: nothing is said about them, except when the reason is none.
MAY = {
    "monitor_silence_alert": ("production",),
    "monitor_open_incident": ("sent outside",),
    "deploy_set_feature_flag": ("production",),
    "deploy_set_config": ("production", "cannot be undone"),
    "deploy_scale_service": ("production", "money"),
    "deploy_pause_rollout": ("production",),
    "ticket_solve": ("sent outside",),
    "finance_approve_bill": ("money",),
    "finance_approve_expense": ("money", "cannot be undone"),
}
WHAT_HAPPENED = {
    "money": "moved money",
    "sent outside": "sent something to a customer that cannot be called back",
    "production": "changed what runs in production",
    "cannot be undone": "did what cannot be undone",
}


def _ending(name: str) -> str:
    """The last sentence of a tool's description."""
    from course_kit.catalogue import catalogue

    [found] = [tool for tool in catalogue(group="operations") if tool["name"] == name]
    return found["description"].rsplit(". ", 1)[-1]


@exercise(
    "6.3",
    title="Sixty tools: which always ask?",
    difficulty="medium",
    importance="core",
    minutes=25,
    hints=[
        "Go by the last sentence of each description: what does a call change for good?",
        "Begin with what is easy: everything that only reads asks nobody. That is about half of the sixty.",
        "Drafts and remarks among colleagues are not `sent outside`. A mail to a customer is, however short.",
        "Deployment: does the tool change at once what customers see? Going back to an old version does, too.",
    ],
)
class SixtyTools:
    def cases(seed: int) -> list[dict[str, Any]]:
        from course_kit.catalogue import catalogue

        names = [tool["name"] for tool in catalogue(group="operations")]
        others = [name for name in names if name not in MUST]
        random.Random(f"6.3:{seed}").shuffle(others)
        must = [{"about": reason, "calls": [n for n in MUST if MUST[n][0] == reason]} for reason in REASONS]
        return [*must, {"about": "all others", "calls": others}]

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
            raise Incorrect(f"There is no tool `{seen['strange'][0]}` among the sixty: its entry protects nothing.")
        if seen["reasons"]:
            raise Incorrect(f"{seen['reasons'][0]!r} is none of the four reasons: {', '.join(REASONS)}.")
        for name in case["calls"]:
            right, why = MUST.get(name) or MAY.get(name) or (), seen["asked"].get(name)
            if name in MUST and why is None:
                raise Incorrect(f"`{name}` was called and asked nobody: it {WHAT_HAPPENED[right[0]]}.")
            if right and why not in (None, *right):
                raise Incorrect(f"`{name}` asks, but not because of {why!r}: its description ends {_ending(name)!r}")
            if not right and why is not None:
                raise Incorrect(
                    f"`{name}` asked a person, but none of the four reasons applies: its description ends "
                    f"{_ending(name)!r} A person who is asked too often stops reading."
                )

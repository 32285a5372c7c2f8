"""Answers to the exercises of lesson 06."""

import copy
import json
from typing import Any


def guard(
    *,
    late: bool = False,
    truthy: bool = False,
    equal: bool = False,
    share: bool = False,
    shallow: bool = False,
    by_name: bool = False,
    by_input: bool = False,
    net: bool = True,
    nobody_allows: bool = False,
    answer_refused: bool = True,
    flag: bool = True,
    reason: bool = True,
    bare: bool = False,
    ask_all: bool = False,
    to_text: Any = json.dumps,
    run_net: bool = True,
    blocks: bool = False,
    backwards: bool = False,
    stops: bool = False,
    mute: bool = False,
    caught: type[Exception] = Exception,
    known: bool = True,
    emptied: bool = False,
    quoted: bool = False,
):
    """The entrance with one thing done wrong (or merely otherwise)."""

    def guarded_execute(calls: list, tools: dict, approver: Any = None) -> list:
        verdicts: dict[str, Any] = {}

        def place(call: dict) -> str:
            return call["name"] if by_name else json.dumps([call["name"], call["input"]]) if by_input else call["id"]

        def decide(call: dict) -> None:
            if not ask_all and not tools.get(call["name"], (None, False))[1]:
                return
            key = place(call)
            if key in verdicts:
                return
            if approver is None:
                verdicts[key] = True if nobody_allows else "nobody was there"
                return
            try:
                flat = {**call, "input": dict(call["input"])}
                verdicts[key] = approver(call if share else flat if shallow else copy.deepcopy(call))
            except Exception:
                if not net:
                    raise
                verdicts[key] = "the approval failed"

        for call in (reversed(calls) if backwards else calls) if not late else ():
            decide(call)
        results = []
        for call in calls:
            if late:
                decide(call)
            verdict = verdicts.get(place(call), True)
            good = bool(verdict) if truthy else verdict == True if equal else verdict is True  # noqa: E712
            good = good and not (stops and results and results[-1].get("is_error"))
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call["id"]}
            if not good:
                if answer_refused:
                    said = (
                        verdict
                        if bare
                        else f"Refused by a person: {verdict}"
                        if reason and isinstance(verdict, str)
                        else "Refused."
                    )
                    results.append({**result, "content": said, **({"is_error": True} if flag else {})})
                continue
            try:
                if known and call["name"] not in tools:
                    raise LookupError(f"no tool {call['name']}")
                result["content"] = to_text(tools[call["name"]][0](**call["input"]))
            except caught as error:
                if not run_net:
                    raise
                result |= {"content": "failed" if mute else str(error), "is_error": True}
            if blocks:
                result["content"] = [{"type": "text", "text": result["content"]}]
            results.append({**result, "is_error": "true"} if quoted and result.get("is_error") else result)
        for call in calls if emptied else ():
            call["input"] = {}
        return results

    return guarded_execute


def with_lists(calls, tools, approver=None):
    """Right, in three passes: decisions, outcomes, blocks."""

    def decision(call):
        if call["name"] not in tools or not tools[call["name"]][1]:
            return True
        if approver is None:
            return "nobody is on duty"
        try:
            return approver(json.loads(json.dumps(call)))
        except BaseException as error:
            return type(error).__name__

    decisions = [decision(call) for call in calls]
    results = []
    for call, decided in zip(calls, decisions, strict=True):
        failed = True
        if decided is not True:
            said = f"A person said no ({decided}); nothing was done."
        elif call["name"] not in tools:
            said = f"unknown tool {call['name']}"
        else:
            try:
                said, failed = json.dumps(tools[call["name"]][0](**call["input"])), False
            except Exception as error:
                said = repr(error)
        results.append({"type": "tool_result", "tool_use_id": call["id"], "content": said, "is_error": failed})
    return results


def forgets_to_return(calls, tools, approver=None):
    with_lists(calls, tools, approver)


def refused_not(calls, tools, approver=None):
    results = guard()(calls, tools, approver)
    return [{**one, "content": one["content"].replace("Refused", "Was not refused")} for one in results]


def mixed_up(calls, tools, approver=None):
    """Good results under each other's ids."""
    results = with_lists(calls, tools, approver)
    good = [one for one in results if not one["is_error"]]
    swapped = dict(zip(map(id, good), [one["content"] for one in reversed(good)], strict=True))
    return [{**one, "content": swapped.get(id(one), one["content"])} for one in results]


def texts_only(calls, tools, approver=None):
    return [block["content"] for block in with_lists(calls, tools, approver)]


def text(*parts: str):
    return lambda tool, reason: " ".join(parts).format(tool=tool, reason=reason, why=reason or "no reason was given")


RIGHT = {
    "finance_pay_bill": "cannot be undone",
    "finance_transfer_funds": "money",
    "finance_send_invoice": "cannot be undone",
    "finance_send_payment_reminder": "sent outside",
    "finance_void_invoice": "cannot be undone",
    "ticket_reply": "cannot be undone",
    "ticket_close": "cannot be undone",
    "ticket_merge": "cannot be undone",
    "deploy_start_release": "production",
    "deploy_promote_release": "production",
    "deploy_approve_release": "production",
    "deploy_rollback_release": "production",
    "deploy_restart_service": "cannot be undone",
    "deploy_set_traffic_split": "production",
}
CAREFUL = {
    **RIGHT,
    "monitor_silence_alert": "production",
    "monitor_open_incident": "sent outside",
    "deploy_set_feature_flag": "production",
    "deploy_set_config": "production",
    "deploy_scale_service": "money",
    "deploy_pause_rollout": "production",
    "ticket_solve": "sent outside",
    "finance_approve_bill": "money",
    "finance_approve_expense": "cannot be undone",
}
DUBIOUS = ("ticket_create", "ticket_assign", "ticket_escalate", "finance_create_invoice", "monitor_create_alert_rule")


TICKET_READS = ("ticket_get", "ticket_search", "ticket_list_queue", "ticket_get_satisfaction", "ticket_get_sla_report")


def without(name: str) -> dict[str, str]:
    return {key: why for key, why in RIGHT.items() if key != name}


def looks_up(calls, tools, approver=None):
    """Dies of a name that is not there."""
    for call in calls:
        tools[call["name"]]
    return guard()(calls, tools, approver)


MISTAKES = {
    "6.1": {
        "dies of a name": (
            looks_up,
            "With a tool that does not exist, `looks_up` raised KeyError: 'dance' is not among the keys (line",
        ),
        "one kind of exception caught": (
            guard(caught=LookupError),
            "With an allowed call that raises another exception, `guarded_execute` raised OSError: locked cannot",
        ),
        "a flag in quotes": (guard(quoted=True), "needs `is_error: True`"),
        "empties the calls": (guard(emptied=True), "the calls you were given were changed"),
        "asks late": (guard(late=True), "decide about all calls first, then run"),
        "any text allows": (guard(truthy=True), "nobody had allowed that"),
        "1 allows": (guard(equal=True), "With the answer 1"),
        "shares the dict": (guard(share=True), "give the approver a copy"),
        "one yes for all": (guard(by_name=True), "is a separate question"),
        "no net around the approver": (guard(net=False), "ConnectionError"),
        "nobody means yes": (guard(nobody_allows=True), "With nobody there (approver=None), `delete` ran"),
        "no result for a refused call": (guard(answer_refused=False), "each call needs one tool_result"),
        "no flag": (guard(flag=False), "needs `is_error: True`"),
        "keeps the reason": (guard(reason=False), "the person's reason"),
        "the reason alone": (guard(bare=True), "does not say that the call was refused"),
        "a shallow copy": (guard(shallow=True), "including everything inside it"),
        "one loop, and any text allows": (guard(late=True, truthy=True), "decide about all calls first"),
        "asks about everything": (guard(ask_all=True), "which does not ask"),
        "equal calls asked about once": (guard(by_input=True), "nobody was asked about toolu_3"),
        "a text as it is": (
            guard(to_text=lambda value: value if isinstance(value, str) else json.dumps(value)),
            'of Zoë"\'; it is',
        ),
        "was not refused": (refused_not, "does not say that the call was refused"),
        "results mixed up": (mixed_up, "the content of toolu_"),
        "the value itself": (guard(to_text=lambda value: value), "'s result is text, not {'path'"),
        "str instead of JSON": (guard(to_text=str), "as JSON"),
        "asks from the end": (guard(backwards=True), "each question is put once, in call order"),
        "a failure stops the rest": (guard(stops=True), "these calls should have run"),
        "a failure without a word": (guard(mute=True), "the error should say what was wrong (dance)"),
        "dies of a tool": (guard(run_net=False), "LookupError"),
        "returns nothing": (forgets_to_return, "is a `return` missing?"),
        "returns texts": (texts_only, "return a list of tool_result blocks"),
    },
    "6.2": {
        "them, the one who refused": (
            text("A colleague refused {tool}: {why}. Nothing was done. Ask them to reconsider."),
            "back to the person who said no",
        ),
        "her, the one who refused": (
            text("A colleague refused {tool}: {why}. Nothing was done. Ask her to approve it, or tell the user."),
            "back to the person who said no",
        ),
        "him again": (
            text("A colleague refused {tool}: {why}. Nothing was done. Ask him again."),
            "back to the person who said no",
        ),
        "they were paid": (
            text("A person refused {tool}: {why}. Nothing was changed, and they were paid. Ask the user."),
            "says that something was done",
        ),
        "nobody but they": (text("They refused {tool}: {why}. Nothing was done. Ask the user."), "a person decided"),
        "do it again": (
            text("A person refused {tool}: {why}. Nothing was done. Tell the user, then do it again."),
            "invites the same call again",
        ),
        "it went through": (
            text("A colleague refused {tool}: {why}. It went through. Ask the user."),
            "that nothing was done",
        ),
        "an object": (lambda tool, reason: object(), "must return a text; it returned <object object>"),
        "a list": (lambda tool, reason: [f"A person refused {tool}: {reason}."], "must return a text; it returned ["),
        "one word": (text("Refused: {why}."), "that a person decided"),
        "a code": (text("Error 403: forbidden, {why}"), "that a person decided"),
        "keeps the reason": (text("A person refused {tool}. Nothing was done. Ask the user."), "the reason. It says"),
        "a hole": (text("A person refused {tool}: {reason}. Nothing was done. Ask the user."), "has a hole"),
        "None": (lambda tool, reason: f"A boss refused it: {reason or None}. Nothing ran. Ask the user.", "has a hole"),
        "done or not": (text("A person refused {tool}: {why}. Ask the user."), "that nothing was done"),
        "done after all": (
            text("My boss refused {tool}: {why}. Nothing was done wrong, the money was paid. Ask the user."),
            "that nothing was done",
        ),
        "two minds": (
            text("My boss refused {tool}: {why}. Nothing was changed. The money was paid. Ask the user."),
            "says that something was done",
        ),
        "invites": (
            text("A person refused {tool}: {why}. Nothing was done. Ask the user and try again later."),
            "invites the same call again",
        ),
        "no way on": (text("A person refused {tool}: {why}. Nothing was done."), "what the model can do now"),
        "a sermon": (
            text("A person refused {tool}: {why}. Nothing was done. Ask the user.", "Policies matter to us. " * 15),
            "60 are plenty",
        ),
        "a denied refusal": (
            text("A person did not refuse {tool}: {why}. Nothing was done. Ask the user."),
            "call was refused",
        ),
        "the program refused": (
            text("The system refused {tool}: {why}. Nothing was done. Ask the person who wrote to you."),
            "that a person decided",
        ),
        "a denied way on": (
            text("A person refused {tool}: {why}. Nothing was done. Do not ask the user."),
            "what the model can do now",
        ),
        "it runs after all": (
            text("A person refused {tool}: {why}. Nothing was done so far, it runs now. Ask the user."),
            "says that something was done",
        ),
        "until it works": (
            text("A person refused {tool}: {why}. Nothing was done. Keep calling until it works, or tell the user."),
            "invites the same call again",
        ),
        "persuades": (
            text("A person refused {tool}: {why}. Nothing was done. Persuade the colleague, or tell the user."),
            "back to the person who said no",
        ),
        "asks for another answer": (
            text("A person refused {tool}: {why}. Nothing was done. Ask the person to reconsider."),
            "back to the person who said no",
        ),
        "asks somebody else to approve": (
            text("A colleague refused {tool}: {why}. Nothing was done. Ask another colleague to approve it."),
            "back to the person who said no",
        ),
        "once more": (
            text("A person refused {tool}: {why}. Nothing was done. Ask the user and repeat the call."),
            "invites the same call again",
        ),
        "another tool for the same": (
            text("A person refused {tool}: {why}. Nothing was done. Use another tool to do the same refund."),
            "invites the same call again",
        ),
        "no reason after the word": (
            text("A person refused {tool}. Reason: {reason} Nothing was done. Ask the user."),
            "has a hole",
        ),
        "because of nothing": (
            text("A person refused {tool} because of {reason}. Nothing was done. Ask the user."),
            "has a hole",
        ),
        "not refused": (text("A person looked at {tool}: {why}. Nothing was done. Ask the user."), "call was refused"),
    },
    "6.3": {
        "a list": (list(RIGHT), "must be a dict"),
        "everything": (dict.fromkeys(CAREFUL | {"ticket_get": "", "monitor_get_health": ""}, "money"), "asks, but not"),
        "forgets the account": (without("finance_transfer_funds"), "it moved money"),
        "forgets the reply": (without("ticket_reply"), "sent something to a customer"),
        "forgets the way back": (without("deploy_rollback_release"), "changed what runs in production"),
        "a made-up tool": ({**RIGHT, "finance_refund": "money"}, "There is no tool `finance_refund`"),
        "a reason of one's own": ({**RIGHT, "ticket_close": "important"}, "is none of the four reasons"),
        "asks about reading": (RIGHT | dict.fromkeys(TICKET_READS, "sent outside"), "stops reading"),
        "wrong reason": ({**RIGHT, "ticket_merge": "money"}, "not because of 'money'"),
        "money for a void bill": ({**RIGHT, "finance_void_invoice": "money"}, "not because of 'money'"),
        "wrong reason where one may": ({**RIGHT, "deploy_set_config": "sent outside"}, "not because of 'sent outside'"),
        "asks about every write": (RIGHT | dict.fromkeys(DUBIOUS, "sent outside"), "none of the four reasons applies"),
    },
}  # fmt: skip

VARIANTS = {
    "6.1": {
        "the flag on each": guard(to_text=lambda value: json.dumps(value, ensure_ascii=False)),
        "in three passes": with_lists,
        "blocks": guard(blocks=True),
    },
    "6.2": {
        "them, the user": text(
            "A colleague looked at {tool} and turned it down: {why}. It did not go through. Tell the user and ask them "
            "what they would like instead."
        ),
        "let it run": text(
            "My boss would not let it run ({why}). It was not run, and no money moved. Explain this to the customer, "
            "and offer them a voucher."
        ),
        "turned that down": text(
            "The manager turned that down: {why}. Nothing came of it. Tell the user; do not send it again."
        ),
        "her, the customer": text(
            "A human said no: {why}. They did not want it done, so nothing was done. Tell the customer that, and ask "
            "her to reconsider the request."
        ),
        "nobody was paid": text(
            "A person decided against {tool}: {why}. Nobody was paid. Ask the user whether they want something else."
        ),
        "short": text(
            "{tool} was denied by a colleague ({why}); it was not run. Tell the user, or offer something else."
        ),
        "plain": text(
            "A human declined this call: {why}. No money moved and nothing changed. Ask the customer what to do."
        ),
        "operator": text("The operator said no to {tool}: {why}. No refund was made. Explain this to the customer."),
        "reviewer": text("A human reviewer said no: {why}. The order is unchanged. Do not call it again."),
        "manager": text(
            "The desk manager said no: {why}. Nothing happened. Do not try to call it again; offer another."
        ),
        "approver": text("The approver turned {tool} down: {why}. It has not been carried out. Inform the user."),
        "boss": text('My boss said "no" to {tool}: {why}. None of the money was moved. Look for another way.'),
        "not approved": text(
            "{tool} was not approved by the supervisor ({why}), so it did not run. Answer the user without it."
        ),
        "ellipsis": text("A colleague did not allow {tool}: {why}. Nothing has been changed... Suggest a voucher."),
        "nothing first": text("Nothing was done, because a person refused {tool}: {why}. Tell the user."),
        "no persuading": text(
            "A colleague refused {tool}: {why}. Nothing was done. Don't try to persuade the colleague: tell the user."
        ),
        "the user may reconsider": text(
            "A colleague refused {tool}: {why}. Nothing was done. Ask the user to reconsider the request."
        ),
        "a manager would have to": text(
            "A person refused {tool}: {why}. Nothing was done. Tell the user that a manager would have to approve it."
        ),
        "instead of the same": text(
            "An employee rejected {tool}: {why}. It was not run. Offer something else instead of the same call."
        ),
        "a reason that reads on": lambda tool, reason: (
            f"A colleague refused {tool}{f' because {reason}' if reason else ' without giving a reason'}. Nothing "
            "happened. Ask the user before you do anything else."
        ),
        "Chinese": text("人工审核拒绝了 {tool}：{why}。没有执行任何操作。请告诉用户，或换一种办法。"),
    },
    "6.3": {"other reasons": RIGHT, "more careful": CAREFUL},
}

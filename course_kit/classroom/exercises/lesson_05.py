"""Checks of lesson 05: results that keep their call, a turn in which a write is a barrier, a quota of five.

What must run together is made to meet: a call waits until as many are at work as should be. So no check depends on how
fast the machine is; a call that waits in vain says so, once, and nobody else waits.
"""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from course_kit.classroom.checks import exercise
from course_kit.errors import Incorrect

__all__: list[str] = []

PATIENCE = 1.5  # seconds that a call waits for the others
BREATH = 0.03  # seconds it stays at work once they are there, so that one too many is seen


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:89] + "…"


def _check_results(what: str, calls: list[dict[str, Any]], found: Any) -> None:
    """One result for each call, in call order, with the output of its own call; errors are marked."""
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise Incorrect(f"{what}: return a list of `tool_result` blocks; it is {_short(found)}.")
    if wrong := next((one for one in found if one.get("type") != "tool_result"), None):
        raise Incorrect(f'{what}: each entry needs `"type": "tool_result"`; one is {_short(wrong)}.')
    ids = [one.get("tool_use_id") for one in found]
    wanted = {call["id"]: call for call in calls}
    if sorted(map(str, ids)) != sorted(wanted):
        raise Incorrect(f"{what}: {len(wanted)} calls need a result each, under their ids; there are {_short(ids)}.")
    for one in found:
        call, content = wanted[one["tool_use_id"]], one.get("content")
        if not isinstance(content, str):
            raise Incorrect(f"{what}: `content` should be text; it is {_short(content)}.")
        other = next((each for each in calls if each is not call and each["says"] == content), None)
        if other and content != call["says"]:
            raise Incorrect(f"{what}: under the id of {call['about']} stands the output of {other['about']}.")
        if content != call["says"]:
            kind = "the exception's type and message" if call["fails"] else "what the call returned"
            raise Incorrect(
                f"{what}: the result with the id of {call['about']} should be {kind}, {_short(call['says'])}; "
                f"it is {_short(content)}."
            )
        if (one.get("is_error") or False) is not call["fails"]:
            raise Incorrect(f"{what}: `is_error` of {call['about']} should be {call['fails']}.")
    if ids != list(wanted):
        raise Incorrect(f"{what}: every result is under its id, but not in the order of the calls: {_short(ids)}.")


def _failure(call: dict[str, Any]) -> Exception:
    """The exception of a call that fails; its text as a result is in `says`: "LookupError: not on any map"."""
    kind, _, message = call["says"].partition(": ")
    return {"LookupError": LookupError, "ValueError": ValueError, "OSError": OSError}[kind](message)


def _block(call: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call["id"], "name": call["name"], "input": dict(call["input"])}


# 5.1


@exercise(
    "5.1",
    title="Repair the zip",
    difficulty="easy",
    importance="core",
    minutes=12,
    hints=[
        "`outputs` does not say which call each belongs to. What could a thread return instead?",
        "Write a function that takes one call and returns its finished `tool_result`. Where does its `try` belong?",
        "In the lesson a pool returns finished results in the order of the calls. With which method?",
    ],
)
class RepairTheZip:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"5.1:{seed}")
        cities = draw.sample(["Oslo", "Lima", "Hangzhou", "Shanghai", "Malmö", "Quito"], 4)

        def case(about: str, calls: list[tuple[str, str, str]], order: list[int]) -> dict[str, Any]:
            """`calls` as (city, what its result says, "" or "fails"), `order` the places in which they finish."""
            made = [
                {
                    "id": f"toolu_{draw.randrange(10**6):06}_{place}",
                    "name": "get_weather",
                    "input": {"city": city},
                    "says": said,
                    "fails": fails == "fails",
                    "about": f"call {place} ({city})",
                }
                for place, (city, said, fails) in enumerate(calls, 1)
            ]
            return {"about": about, "calls": made, "order": order}

        said = [f"{draw.randint(0, 9) + 10 * n} °C" for n in range(1, 5)]
        pairs = [(city, text, "") for city, text in zip(cities, said, strict=True)]
        return [
            case("With two calls, the first one slow", pairs[:2], [1, 0]),
            case("With four calls", pairs, draw.choice([[3, 1, 0, 2], [2, 0, 3, 1]])),
            case(
                "With two calls of the same input (the answer changed between them)",
                [(cities[0], said[0], ""), (cities[0], said[1], "")],
                [1, 0],
            ),
            case(
                "With three calls, the second of which raises a LookupError",
                [pairs[0], ("Atlantis", "LookupError: Atlantis is not on any map", "fails"), pairs[1]],
                [1, 2, 0],
            ),
            case(
                "With three calls, two of which raise, an OSError and a ValueError",
                [("Ys", "OSError: the service is down", "fails"), pairs[0], ("", "ValueError: no city", "fails")],
                [2, 0, 1],
            ),
            case("With one call", pairs[:1], [0]),
            case("With no call", [], []),
        ]

    def observe(answer_all: Any, case: dict[str, Any]) -> Any:
        calls, order = case["calls"], case["order"]
        meeting = threading.Barrier(max(len(calls), 1))
        done = [threading.Event() for _ in calls]
        lock, busy, most = threading.Lock(), 0, 0
        ran: list[str] = []
        raised: list[Exception] = []
        given = [_block(call) for call in calls]

        def run(block: Any) -> str:
            nonlocal busy, most
            place = next(place for place, call in enumerate(calls) if call["id"] == block["id"])
            with lock:
                ran.append(block["id"])
                busy += 1
                most = max(most, busy)
            try:
                meeting.wait(PATIENCE)
                if earlier := order[: order.index(place)]:
                    done[earlier[-1]].wait(PATIENCE)
                    time.sleep(BREATH)
            except threading.BrokenBarrierError:
                time.sleep(BREATH)  # not all are there; `most` says so
            with lock:
                busy -= 1
            done[place].set()
            if calls[place]["fails"]:
                raised.append(_failure(calls[place]))
                raise raised[-1]
            return calls[place]["says"]

        try:
            returned = answer_all(given, run)
        except (LookupError, ValueError, OSError) as error:
            if error not in raised:
                raise
            returned = {"let through": f"{type(error).__name__}: {error}"}
        return {"returned": returned, "ran": ran, "most": most, "changed": given != [_block(call) for call in calls]}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        what, calls, found = case["about"], case["calls"], seen["returned"]
        if isinstance(found, dict) and "let through" in found:
            raise Incorrect(f"{what}: {_short(found['let through'])} came through, and the other results are lost.")
        _check_results(what, calls, found)
        if sorted(seen["ran"]) != sorted(call["id"] for call in calls):
            raise Incorrect(f"{what}: each call should run once; {len(seen['ran'])} runs for {len(calls)} calls.")
        if seen["most"] < len(calls):
            raise Incorrect(
                f"{what}: at most {seen['most']} at once, expected {len(calls)}. Well paired, but slow: "
                "let all calls of the turn run together."
            )
        if seen["changed"]:
            raise Incorrect(f"{what}: the calls you were given were changed, and the history still needs them.")


# 5.2

KINDS = {"r": "read", "f": "failing read", "w": "write", "x": "failing write"}


def _batches(turn: str) -> list[list[int]]:
    """The places of a turn in batches: `"rrwr"` → `[[0, 1], [2], [3]]`."""
    batches: list[list[int]] = []
    for place, letter in enumerate(turn):
        if letter in "wx" or not batches or turn[batches[-1][-1]] in "wx":
            batches.append([place])
        else:
            batches[-1].append(place)
    return batches


@exercise(
    "5.2",
    title="A runner with a limit, in which a write is a barrier",
    difficulty="hard",
    importance="core",
    minutes=25,
    hints=[
        "Two steps: first cut the turn into batches (a list of lists), then run the batches one after another.",
        "A new batch begins at a write, and after a write. Everything else joins the last batch.",
        "`with ThreadPoolExecutor(limit) as pool:` runs at most `limit` at a time, and its end waits for all of them.",
        "One function makes one call and returns its result, whatever happens: as in 5.1.",
    ],
)
class Barrier:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"5.2:{seed}")
        said = draw.sample(range(10**5, 10**6), 10)
        turns = [
            ("With five reads, limit 2", "rrrrr", 2),
            ("With seven reads, limit 3", "rrrrrrr", 3),
            ("With two reads, a write, two reads, limit 5", "rrwrr", 5),
            ("With a write, then three reads, limit 2", "wrrr", 2),
            ("With two writes in a row", "ww", 4),
            ("With a read, two writes, a read", "rwwr", 4),
            ("With three reads, one of which raises", "rfr", 3),
            ("With a write that raises, between reads", "rrxrr", 3),
            ("With two reads, limit 1", "rr", 1),
            ("With no call", "", 5),
        ]
        return [
            {
                "about": about,
                "turn": turn,
                "limit": limit,
                "calls": [
                    {
                        "id": f"toolu_{draw.randrange(10**6):06}_{place}",
                        "name": {"r": "look", "f": "look", "w": "save", "x": "save"}[letter],
                        "input": {"place": place - 1},
                        "says": {"f": "LookupError: ", "x": "ValueError: "}.get(letter, "") + f"{said[place]}",
                        "fails": letter in "fx",
                        "about": f"call {place}, a {KINDS[letter]}",
                    }
                    for place, letter in enumerate(turn, 1)
                ],
            }
            for about, turn, limit in turns
        ]

    def observe(run_turn: Any, case: dict[str, Any]) -> Any:
        calls, limit, turn = case["calls"], case["limit"], case["turn"]
        batch_of = {place: number for number, batch in enumerate(_batches(turn)) for place in batch}
        rooms = {number: min(limit, len(batch)) for number, batch in enumerate(_batches(turn))}
        full = {number: threading.Event() for number in rooms}
        lock, running, ended = threading.Lock(), list[Any](), list[Any]()
        log: list[dict[str, Any]] = []
        alone: list[int] = []
        raised: list[Exception] = []
        given = [_block(call) for call in calls]

        def work(place: int) -> str:
            batch = batch_of[place]
            with lock:
                log.append({"place": place, "beside": list(running), "ended": list(ended)})
                running.append(place)
                if sum(batch_of[other] == batch for other in running) >= rooms[batch]:
                    full[batch].set()
            try:
                if not full[batch].wait(PATIENCE):
                    full[batch].set()
                    alone.append(batch)
                time.sleep(BREATH)
                if calls[place]["fails"]:
                    raised.append(_failure(calls[place]))
                    raise raised[-1]
                return str(calls[place]["says"])
            finally:
                with lock:
                    running.remove(place)
                    ended.append(place)

        def look(place: int) -> str:
            return work(place)

        def save(place: int) -> str:
            return work(place)

        try:
            returned = run_turn(given, {"look": (look, "read"), "save": (save, "write")}, limit)
        except (LookupError, ValueError) as error:
            if error not in raised:
                raise
            returned = {"let through": f"{type(error).__name__}: {error}"}
        changed = given != [_block(call) for call in calls]
        return {"returned": returned, "log": log, "alone": alone, "changed": changed}

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        what, calls, turn, found = case["about"], case["calls"], case["turn"], seen["returned"]
        if isinstance(found, dict) and "let through" in found:
            raise Incorrect(f"{what}: {_short(found['let through'])} came through, and the other results are lost.")
        if sorted(one["place"] for one in seen["log"]) != list(range(len(turn))):
            raise Incorrect(f"{what}: each call should run once; {len(seen['log'])} runs for {len(turn)} calls.")
        batches = _batches(turn)
        for one in seen["log"]:
            place, beside = one["place"], one["beside"]
            for other in beside:
                if turn[place] in "wx" or turn[other] in "wx":
                    both = f"{calls[other]['about']}, and {calls[place]['about']}"
                    raise Incorrect(f"{what}: {both}, were at work at the same time. A write runs alone.")
            number = next(number for number, batch in enumerate(batches) if place in batch)
            for earlier in (earlier for batch in batches[:number] for earlier in batch):
                if earlier not in one["ended"]:
                    raise Incorrect(
                        f"{what}: {calls[place]['about']}, began before {calls[earlier]['about']}, was done. "
                        "There is a write between them, or one of them is a write."
                    )
            if len(beside) + 1 > case["limit"]:
                raise Incorrect(
                    f"{what}: {len(beside) + 1} calls were running at once, with a limit of {case['limit']}."
                )
        if seen["alone"]:
            batch = batches[seen["alone"][0]]
            most = max(1 + len(one["beside"]) for one in seen["log"] if one["place"] in batch)
            raise Incorrect(
                f"{what}: of the adjacent reads at most {most} ran at once, expected {min(case['limit'], len(batch))}."
            )
        _check_results(what, calls, found)
        if seen["changed"]:
            raise Incorrect(f"{what}: the calls you were given were changed, and the history still needs them.")


# 5.3


@exercise(
    "5.3",
    title="Twenty calls against a quota of five",
    difficulty="medium",
    importance="useful",
    minutes=12,
    hints=[
        "Where is it known how many are asking right now? Not in one call: in something that all calls share.",
        "The carrier of the lesson counts its free places. What would it have to do instead of refusing?",
        "When is the counter made: with the guard, or at each call? And is a place free again if `ask` raises?",
    ],
)
class Quota:
    def cases(seed: int) -> list[dict[str, Any]]:
        draw = random.Random(f"5.3:{seed}")
        base = draw.randrange(1000, 9000)
        return [
            {"about": "With twenty calls, quota 5", "calls": 20, "quota": 5, "base": base, "failing": []},
            {"about": "With ten calls, quota 3", "calls": 10, "quota": 3, "base": base, "failing": []},
            {
                "about": "With twelve calls, quota 4, of which five raise",
                "calls": 12,
                "quota": 4,
                "base": base,
                "failing": sorted(draw.sample(range(12), 5)),
            },
            {"about": "With two calls, quota 5", "calls": 2, "quota": 5, "base": base, "failing": []},
            {
                "about": "With three calls with an input by name, quota 2",
                "calls": 3,
                "quota": 2,
                "base": base,
                "failing": [],
                "named": {"language": draw.choice(["en", "sv"])},
            },
        ]

    def observe(guard: Any, case: dict[str, Any]) -> Any:
        quota, count = case["quota"], case["calls"]
        lock, full, busy = threading.Lock(), threading.Event(), [0]
        seen: dict[str, Any] = {"most": 0, "refused": 0, "asks": 0, "alone": False, "answers": {}, "lost": []}

        def ask(parcel: int, *, language: str = "") -> str:
            with lock:
                refused = busy[0] >= quota
                seen["most"] = max(seen["most"], busy[0] + 1)
                seen["refused"] += refused
                seen["asks"] += 1
                if not refused:
                    busy[0] += 1
                    if busy[0] == min(quota, count):
                        full.set()
            if refused:
                raise ConnectionRefusedError("too many at once")
            try:
                if not full.wait(PATIENCE):
                    full.set()
                    seen["alone"] = True
                time.sleep(BREATH)
                if parcel - case["base"] in case["failing"]:
                    raise LookupError(f"no parcel {parcel}")
                return _on_its_way(parcel, language)
            finally:
                with lock:
                    busy[0] -= 1

        guarded = guard(ask, quota)
        if not callable(guarded):
            return {"returned": guarded}
        named = case.get("named", {})
        threads = [
            _thread(lambda parcel: guarded(parcel, **named), case["base"] + number, number, seen["answers"])
            for number in range(count)
        ]
        until = time.monotonic() + 2 * PATIENCE + 1
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        seen["lost"] = [number for number, thread in enumerate(threads) if thread.is_alive()]
        seen["answers"] = {str(number): said for number, said in dict(seen["answers"]).items()}
        return seen

    def judge(case: dict[str, Any], seen: dict[str, Any]) -> None:
        what = case["about"]
        if "answers" not in seen:
            raise Incorrect(
                f"{what}: `guard(ask, quota)` should return a function; it returned {_short(seen['returned'])}."
            )
        if seen["refused"]:
            raise Incorrect(
                f"{what}: the service had to turn calls away ({seen['most']} at once). Let a call wait before it asks."
            )
        if seen["lost"]:
            raise Incorrect(
                f"{what}: {_calls(len(seen['lost']))} never came back. Is a place released when `ask` raises?"
            )
        if seen["alone"]:
            allowed = min(case["quota"], case["calls"])
            raise Incorrect(f"{what}: at most {seen['most']} asked at once, expected {allowed}.")
        if seen["asks"] > case["calls"]:
            raise Incorrect(
                f"{what}: `ask` was called {seen['asks']} times for {case['calls']} calls. Ask once for each, also "
                "when it raises: the caller decides whether to try again."
            )
        for number in range(case["calls"]):
            parcel, said = case["base"] + number, seen["answers"].get(str(number))
            if number in case["failing"]:
                if said != f"LookupError: no parcel {parcel}":
                    raise Incorrect(
                        f"{what}: an exception of `ask` should come through; the caller got {_short(said)}."
                    )
            elif said != _on_its_way(parcel, **case.get("named", {})):
                inputs = ", ".join([str(parcel), *(f'{key}="{value}"' for key, value in case.get("named", {}).items())])
                raise Incorrect(f"{what}: the caller should get what `ask({inputs})` returned; it got {_short(said)}.")


def _on_its_way(parcel: int, language: str = "") -> str:
    return f"parcel {parcel} is on its way" + (f" ({language})" if language else "")


def _calls(number: int) -> str:
    return f"{number} call{'' if number == 1 else 's'}"


def _thread(guarded: Callable[[int], Any], parcel: int, number: int, answers: dict[int, Any]) -> threading.Thread:
    def main() -> None:
        try:
            answers[number] = guarded(parcel)
        except BaseException as error:
            answers[number] = f"{type(error).__name__}: {error}"

    thread = threading.Thread(target=main, daemon=True)
    thread.start()
    return thread

"""Answers to the exercises of lesson 05."""

import asyncio
import queue
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from itertools import groupby


def result(call, content, **flag):
    return {"type": "tool_result", "tool_use_id": call["id"], "content": content, **flag}


def settled(call, run, *, flag=True, said=lambda error: f"{type(error).__name__}: {error}", caught=Exception):
    try:
        return result(call, run(call))
    except caught as error:
        return result(call, said(error), **({"is_error": True} if flag else {}))


# 5.1


def as_found(calls, run):
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(run, call) for call in calls]
        outputs = [each.result() for each in as_completed(running)]
    return [result(call, output) for call, output in zip(calls, outputs, strict=True)]


def settles_and_zips(calls, run):
    with ThreadPoolExecutor() as pool:
        running = [pool.submit(settled, call, run) for call in calls]
        found = [each.result() for each in as_completed(running)]
    return [{**each, "tool_use_id": call["id"]} for call, each in zip(calls, found, strict=True)]


def one_after_another(calls, run):
    return [settled(call, run) for call in calls]


def as_they_finish(calls, run):
    with ThreadPoolExecutor() as pool:
        return [each.result() for each in as_completed([pool.submit(settled, call, run) for call in calls])]


def by_input(calls, run):
    with ThreadPoolExecutor() as pool:
        found = dict(
            zip([str(call["input"]) for call in calls], pool.map(lambda c: settled(c, run), calls), strict=True)
        )
    return [{**found[str(call["input"])], "tool_use_id": call["id"]} for call in calls]


def pool_map(run_one, workers=None):
    def answer_all(calls, run):
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda call: run_one(call, run), calls))

    return answer_all


def failures_left_out(calls, run):
    return [each for each in pool_map(settled)(calls, run) if not each.get("is_error")]


def once_more(call, run):
    """Runs a call that failed a second time."""
    first = settled(call, run)
    return settled(call, run) if first.get("is_error") else first


def without_a_type(call, run):
    return {key: value for key, value in settled(call, run).items() if key != "type"}


def in_a_dict(call, run):
    return {**settled(call, run), "content": {"output": settled(call, run)["content"]}}


def outputs_only(calls, run):
    with ThreadPoolExecutor() as pool:
        return [each["content"] for each in pool.map(lambda call: settled(call, run), calls)]


def future_to_call(calls, run):
    found = {}
    with ThreadPoolExecutor() as pool:
        running = {pool.submit(run, call): call for call in calls}
        for each in as_completed(running):
            call = running[each]
            error = each.exception()
            said = f"{type(error).__name__}: {error}"
            found[call["id"]] = result(call, said, is_error=True) if error else result(call, each.result())
    return [found[call["id"]] for call in calls]


def plain_threads(calls, run):
    found = [None] * len(calls)

    def main(place):
        found[place] = settled(calls[place], run)

    threads = [threading.Thread(target=main, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


# 5.2


def make(call, tools, guard=True):
    function, _ = tools[call["name"]]
    return settled(call, lambda _: function(**call["input"])) if guard else result(call, function(**call["input"]))


def effect(call, tools):
    return tools[call["name"]][1]


def cut(calls, tools):
    batches = []
    for call in calls:
        if batches and "write" not in (effect(call, tools), effect(batches[-1][-1], tools)):
            batches[-1].append(call)
        else:
            batches.append([call])
    return batches


def own_mistake(calls, run):
    return [run(call["inputs"]) for call in calls]


def runner(*, cut=cut, width=lambda limit: limit, guard=True, order=None):
    def run_turn(calls, tools, limit):
        results = []
        for batch in cut(calls, tools):
            with ThreadPoolExecutor(width(limit)) as pool:
                running = [pool.submit(make, call, tools, guard) for call in batch]
                results += [each.result() for each in (as_completed(running) if order == "finish" else running)]
        return results

    return run_turn


def all_in_order(calls, tools):
    return [[call] for call in calls]


def kits_rule(calls, tools):
    if any(effect(call, tools) == "write" for call in calls):
        return [[call] for call in calls]
    return [calls] if calls else []


def no_barrier(calls, tools):
    return [calls] if calls else []


def reads_first(calls, tools):
    reads = [call for call in calls if effect(call, tools) == "read"]
    return [*([reads] if reads else []), *([call] for call in calls if effect(call, tools) == "write")]


def writes_together(calls, tools):
    return [list(group) for _, group in groupby(calls, lambda call: effect(call, tools))]


def grouped(calls, tools, limit):
    """Right: neighbours by `groupby`, writes one by one, threads with a semaphore."""
    results, places = {}, threading.Semaphore(limit)

    def main(call):
        with places:
            results[call["id"]] = make(call, tools)

    for kind, group in groupby(calls, lambda call: effect(call, tools)):
        if kind == "write":
            for call in group:
                main(call)
            continue
        threads = [threading.Thread(target=main, args=(call,)) for call in group]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [results[call["id"]] for call in calls]


def one_pool(calls, tools, limit):
    """Right: one pool for the turn, with a wait ahead of each write and behind it."""
    running = []
    with ThreadPoolExecutor(limit) as pool:
        for call in calls:
            if effect(call, tools) == "write":
                wait(running)
            running.append(pool.submit(make, call, tools))
            if effect(call, tools) == "write":
                wait(running)
    return [each.result() for each in running]


# 5.3


def unguarded(ask, quota):
    return ask


def one_at_a_time(ask, quota):
    lock = threading.Lock()

    def guarded(*args, **kwargs):
        with lock:
            return ask(*args, **kwargs)

    return guarded


def made_at_each_call(ask, quota):
    def guarded(*args, **kwargs):
        with threading.Semaphore(quota):
            return ask(*args, **kwargs)

    return guarded


def place_stays_taken(ask, quota):
    places = threading.Semaphore(quota)

    def guarded(*args, **kwargs):
        places.acquire()
        said = ask(*args, **kwargs)
        places.release()
        return said

    return guarded


def always_five(ask, quota):
    return with_semaphore(ask, 5)


def forgets_the_answer(ask, quota):
    places = threading.Semaphore(quota)

    def guarded(*args, **kwargs):
        with places:
            ask(*args, **kwargs)

    return guarded


def swallows(ask, quota):
    places = threading.Semaphore(quota)

    def guarded(*args, **kwargs):
        with places:
            try:
                return ask(*args, **kwargs)
            except Exception:
                return None

    return guarded


def asks_again(ask, quota):
    def guarded(*args, **kwargs):
        while True:
            try:
                return ask(*args, **kwargs)
            except ConnectionRefusedError:
                threading.Event().wait(0.01)

    return guarded


def tries_twice(ask, quota):
    guarded = with_semaphore(ask, quota)

    def again(*args, **named):
        try:
            return guarded(*args, **named)
        except LookupError:
            return guarded(*args, **named)

    return again


def with_semaphore(ask, quota):
    places = threading.BoundedSemaphore(quota)

    def guarded(*args, **kwargs):
        with places:
            return ask(*args, **kwargs)

    return guarded


def with_a_pool(ask, quota):
    pool = ThreadPoolExecutor(quota)
    return lambda *args, **kwargs: pool.submit(ask, *args, **kwargs).result()


def with_tickets(ask, quota):
    tickets = queue.Queue()
    for number in range(quota):
        tickets.put(number)

    def guarded(*args, **kwargs):
        ticket = tickets.get()
        try:
            return ask(*args, **kwargs)
        finally:
            tickets.put(ticket)

    return guarded


def one_input(ask, quota):
    guarded = with_semaphore(ask, quota)
    return lambda parcel: guarded(parcel)


def one_place_less(ask, quota):
    return with_semaphore(ask, max(quota - 1, 1))


def flags_in_quotes(call, run):
    made = settled(call, run)
    return {**made, "is_error": "True"} if made.get("is_error") else made


def empties(answer):
    """Right, but for the calls: they are empty afterwards."""

    def emptying(calls, *more):
        results = answer(calls, *more)
        for call in calls:
            call["input"] = {}
        return results

    return emptying


def in_asyncio(calls, run):
    """Right, with the `await` form inside a plain function."""

    async def main():
        return await asyncio.gather(*(asyncio.to_thread(settled, call, run) for call in calls))

    return asyncio.run(main())


MISTAKES = {
    "5.1": {
        "a flag in quotes": (pool_map(flags_in_quotes), "`is_error` of call 2 (Atlantis) should be True"),
        "empties the calls": (empties(pool_map(settled)), "the calls you were given were changed"),
        "as found": (as_found, "stands the output of call 2"),
        "settled, still zipped": (settles_and_zips, "stands the output of call 2"),
        "one after another": (one_after_another, "With two calls, the first one slow: at most 1 at once, expected 2"),
        "two workers": (pool_map(settled, 2), "With four calls: at most 2 at once, expected 4"),
        "in the order of finishing": (as_they_finish, "not in the order of the calls"),
        "paired by input": (by_input, "stands the output of call 2"),
        "an exception ends it": (pool_map(lambda call, run: result(call, run(call))), "on any map' came through"),
        "one type caught": (
            pool_map(lambda call, run: settled(call, run, caught=LookupError)),
            "'OSError: the service is down' came through",
        ),
        "a mistake of its own": (
            own_mistake,
            "With two calls, the first one slow, `own_mistake` raised KeyError: 'inputs' is not among the keys (line",
        ),
        "no error flag": (pool_map(lambda call, run: settled(call, run, flag=False)), "`is_error` of call 2"),
        "no message": (pool_map(lambda call, run: settled(call, run, said=lambda _: "failed")), "type and message"),
        "the message alone": (
            pool_map(lambda call, run: settled(call, run, said=str)),
            "type and message, 'LookupError: Atlantis is not on any map'; it is 'Atlantis is not on any map'",
        ),
        "its repr": (pool_map(lambda call, run: settled(call, run, said=repr)), "type and message"),
        "failures left out": (failures_left_out, "3 calls need a result each"),
        "a failed call run once more": (pool_map(once_more), "each call should run once; 4 runs for 3 calls"),
        "no type": (pool_map(without_a_type), 'each entry needs `"type": "tool_result"`'),
        "content in a dict": (pool_map(in_a_dict), "`content` should be text; it is {'output'"),
        "outputs only": (outputs_only, "return a list of `tool_result` blocks"),
        "nothing returned": (lambda calls, run: None, "is a `return` missing?"),
    },
    "5.2": {
        "empties the calls": (empties(runner()), "the calls you were given were changed"),
        "all in order": (
            runner(cut=all_in_order),
            "With five reads, limit 2: of the adjacent reads at most 1 ran at once, expected 2",
        ),
        "the kit's rule": (runner(cut=kits_rule), "With two reads, a write, two reads, limit 5: of the adjacent reads"),
        "a limit too low": (
            runner(width=lambda limit: max(limit - 1, 1)),
            "With five reads, limit 2: of the adjacent reads at most 1 ran at once, expected 2",
        ),
        "a limit of two": (
            runner(width=lambda limit: min(limit, 2)),
            "With seven reads, limit 3: of the adjacent reads at most 2",
        ),
        "no barrier": (runner(cut=no_barrier), "A write runs alone"),
        "reads first": (runner(cut=reads_first), "There is a write between them, or one of them is a write"),
        "writes together": (runner(cut=writes_together), "A write runs alone"),
        "no limit": (runner(width=lambda limit: 32), "with a limit of 2"),
        "an exception ends it": (runner(guard=False), "came through, and the other results are lost"),
        "nothing returned": (lambda calls, tools, limit: None, "is a `return` missing?"),
        "nothing run": (
            lambda calls, tools, limit: [result(call, "ok") for call in calls],
            "each call should run once",
        ),
    },
    "5.3": {
        "unguarded": (unguarded, "the service had to turn calls away"),
        "one at a time": (one_at_a_time, "at most 1 asked at once, expected 5"),
        "one place less": (one_place_less, "With twenty calls, quota 5: at most 4 asked at once, expected 5"),
        "one input": (one_input, 'it got "TypeError: '),
        "made at each call": (made_at_each_call, "the service had to turn calls away"),
        "always five": (always_five, "With ten calls, quota 3: the service had to turn calls away"),
        "asks again": (asks_again, "Let a call wait before it asks"),
        "tries again on its own": (tries_twice, "`ask` was called 17 times for 12 calls"),
        "a place stays taken": (place_stays_taken, "never came back"),
        "the answer forgotten": (forgets_the_answer, "the caller should get what"),
        "exceptions swallowed": (swallows, "an exception of `ask` should come through"),
        "calls at once": (lambda ask, quota: ask(1), "should return a function"),
    },
}

VARIANTS = {
    "5.1": {
        "asyncio inside": in_asyncio,
        "future to call": future_to_call,
        "plain threads": plain_threads,
        "map": pool_map(settled),
    },
    "5.2": {"batches": runner(), "groupby and a semaphore": grouped, "one pool": one_pool},
    "5.3": {"semaphore": with_semaphore, "a pool of its own": with_a_pool, "tickets in a queue": with_tickets},
}

"""Cases of a single turn through the provider's batches: half the price, for answers that can wait.

    results = run_batch(cases, client, tools=desk_tools(shop), trials=5, file="batch.jsonl")

What comes back is the first reply, so only what it says and calls can be judged: nothing is run, and the state of the
world is not checked. The id of a batch is noted in the file as soon as it is known: an evaluation that was killed while
it waited fetches that batch instead of paying for another.
"""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from course_kit.contract.models import DEFAULT_MODEL
from course_kit.errors import CourseKitError
from course_kit.harness.tools import definitions

from .cases import Case, CaseError
from .judging import judge
from .observing import Observed, observe
from .progress import progress_of
from .record_file import kept_in
from .results import Record, Results
from .trials import check_tools, checked, record_of, seed_of

__all__ = ["run_batch"]

LONGEST_WAIT = 60.0  # seconds between two looks at a batch; the first look comes at once
Trial = tuple[str, int]


def run_batch(
    cases: Iterable[Case],
    connect: Any,
    *,
    tools: Iterable[Any] = (),
    trials: int = 10,
    file: str | os.PathLike[str] | None = None,
    label: str = "",
    seed: int = 0,
    model: str = DEFAULT_MODEL,
    max_tokens: int = 1024,
    wait: float = LONGEST_WAIT,
    progress: bool = True,
    **params: Any,
) -> Results:
    """Run each case `trials` times in batches and judge the first reply.

    `connect` is a client: all trials go into one batch. Or it is a function of the seed that gives a client or a
    `MockProvider`: then every round of trials is its own batch, since the simulated model, unlike a real one,
    answers the same request in the same way until its seed changes. `params` go into every request (`system=`,
    `tool_choice=`). `wait` is the most seconds between two polls. Ctrl-C returns what is done; a batch that was sent
    goes on at the provider.
    """
    cases, tools = checked(cases, trials, 1), list(tools)
    by_id = {case.id: case for case in cases}
    for case in cases:
        _check_single(case, tools)
    rounds = [[number] for number in range(trials)] if callable(connect) else [list(range(trials))]
    fixed = {"model": model, "max_tokens": max_tokens, **params, **({"tools": definitions(tools)} if tools else {})}
    planned = [(case.id, number) for number in range(trials) for case in cases]
    with (
        kept_in(file, cases, trials, label) as (done, keep),
        progress_of(len(planned), len(done), progress) as step,
    ):
        try:
            for numbers in rounds:
                client = _client(connect, seed_of("a batch", numbers[0], seed))
                # First what earlier runs have sent, then one batch with the trials that still lack a result.
                for noted in [*_noted(file, label), None]:
                    todo = [trial for trial in planned if trial[1] in numbers and trial not in done]
                    if not todo or (noted and not _worth_asking(client, noted, todo)):
                        continue
                    id, sent = noted or _send(client, todo, by_id, fixed, label, keep)
                    for trial, result in _results(client, id, sent, wait):
                        record = _record(by_id[trial[0]], trial[1], result, tools, label) if trial in todo else None
                        if record is not None:
                            keep(record)
                            done[trial] = record
                            step(record["passed"])
        except KeyboardInterrupt:
            print(f"\nStopped: {len(done)} of {len(planned)} trials are done; run again to go on.", file=sys.stderr)
    order = {case.id: place for place, case in enumerate(cases)}
    return Results(sorted(done.values(), key=lambda r: (order[r["case"]], r["trial"])), len(planned))


def _check_single(case: Case, tools: list[Any]) -> None:
    check_tools(case, tools)
    if case.expect.tools and not tools:
        raise CaseError(f"Case {case.id} means `{case.expect.tools[0]}`, and there are no tools: give `tools=`.")
    if len(case.said) > 1:
        raise CaseError(f"Case {case.id} has several turns: a batch gives one reply; use `run_trials`.")
    if case.expect.state:
        raise CaseError(f"Case {case.id} asks for the state: in a batch no call is run; use `run_trials`.")


def _client(connect: Any, seed: int) -> Any:
    made = connect(seed) if callable(connect) else connect
    return made.client() if hasattr(made, "requests") else made


def _send(
    client: Any, todo: list[Trial], cases: dict[str, Case], fixed: dict[str, Any], label: str, keep: Any
) -> tuple[str, dict[str, Trial]]:
    """Send a batch and note its id, before anything else can happen to us."""
    # A `custom_id` has letters, digits, `_` and `-`, and at most 64 of them; case ids may be anything.
    trials = {f"trial-{place}": trial for place, trial in enumerate(todo)}
    requests = [
        {"custom_id": name, "params": {**fixed, "messages": cases[id].opening}} for name, (id, _) in trials.items()
    ]
    id = client.messages.batches.create(requests=requests).id
    keep({"batch": id, "trials": trials, "label": label})
    return id, trials


def _noted(file: Any, label: str) -> list[tuple[str, dict[str, Trial]]]:
    """The batches whose ids are in the file."""
    if file is None or not Path(file).exists():
        return []
    found = []
    for line in Path(file).read_bytes().split(b"\n"):
        try:
            note = json.loads(line) if b'"batch"' in line else {}
        except ValueError:
            continue  # the last line, cut off
        if "batch" in note and note.get("label", "") == label:
            found.append((note["batch"], {name: tuple(trial) for name, trial in note["trials"].items()}))
    return found


def _worth_asking(client: Any, noted: tuple[str, dict[str, Trial]], todo: list[Trial]) -> bool:
    """Whether a batch of an earlier run holds trials that are still wanted, and the provider still knows it."""
    import anthropic

    id, sent = noted
    if not set(todo) & set(sent.values()):
        return False
    try:
        client.messages.batches.retrieve(id)
    except anthropic.NotFoundError:
        return False
    return True


def _results(client: Any, id: str, trials: dict[str, Trial], wait: float) -> Iterator[tuple[Trial, Any]]:
    """Wait for a batch to end, then its results one by one, each with the trial it belongs to."""
    pause = min(1.0, wait)
    while client.messages.batches.retrieve(id).processing_status != "ended":
        time.sleep(pause)
        pause = min(wait, 2 * pause)
    for entry in client.messages.batches.results(id):
        if entry.custom_id in trials:  # joined by name: results come in any order
            yield trials[entry.custom_id], entry.result


def _record(case: Case, number: int, result: Any, tools: list[Any], label: str) -> Record | None:
    """A record of the trial; None for a request that was canceled or has expired, to be run again."""
    if result.type == "succeeded":
        seen = observe([result.message.to_dict(mode="json")], tools=tools)
        return record_of(case, number, seen, judge(case, seen), seed=None, label=label, error=None)
    if result.type == "errored":
        error = result.error.error
        if error.type == "invalid_request_error":
            raise CourseKitError(f"The provider refuses case {case.id}: {error.message}")
        seen = Observed()
        return record_of(case, number, seen, judge(case, seen), seed=None, label=label, error=error.message)
    return None

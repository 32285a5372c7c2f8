"""Run cases again and again, each time in a fresh world, and keep the results.

    results = run_trials(cases, lambda seed: MockProvider(Simulated(seed=seed)), world=world, trials=10, file="a.jsonl")

Every trial has its own seed, made from the case and the trial's number, so the order in which they run changes
nothing. A finished trial is a line in the file at once: an evaluation that was interrupted or killed continues where it
stopped, without repeating one. How a trial is judged is next door, in `judging.py`.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from course_kit.errors import CourseKitError
from course_kit.harness.tools import toolbox

from .agents import AgentError, loop_agent, play, wanted_by
from .cases import Case, CaseError
from .judging import Problem, judge
from .observing import Observed
from .progress import progress_of
from .record_file import kept_in
from .results import Record, Results

__all__ = ["Evaluation", "checked", "record_of", "run_trials", "seed_of"]

FIRST_ERRORS = 10  # if this many trials at the start all raise the same, nothing more is run


@dataclass(frozen=True)
class Evaluation:
    """What one trial needs: see `run_trials`."""

    connect: Any = None
    world: Callable[[], Any] | None = None
    agent: Callable[..., Any] | None = None
    label: str = ""
    seed: int = 0

    def trial(self, case: Case, number: int) -> Record:
        """Run one case once, in a new world, and judge it."""
        seed = seed_of(case.id, number, self.seed)
        with _fresh(self.world) as (tools, state):
            check_tools(case, tools)
            client = self.connect(seed) if callable(self.connect) else self.connect
            error = None
            try:
                seen = play(case, self.agent or loop_agent(), client=client, tools=tools, state=state, seed=seed)
            except AgentError as failed:
                seen, error = failed.seen, f"{type(failed.__cause__).__name__}: {failed.__cause__}"
            problems = judge(case, seen, state)
        return record_of(case, number, seen, problems, seed=seed, label=self.label, error=error)


def run_trials(
    cases: Iterable[Case],
    connect: Any = None,
    *,
    world: Callable[[], Any] | None = None,
    agent: Callable[..., Any] | None = None,
    trials: int = 10,
    file: str | os.PathLike[str] | None = None,
    label: str = "",
    seed: int = 0,
    workers: int = 4,
    processes: bool = False,
    retry_errors: bool = False,
    progress: bool = True,
) -> Results:
    """Run each case `trials` times and judge every trial.

    `connect` is a function of the seed that gives a client or a `MockProvider`, or one client for all. `world` makes
    new `(tools, state)` for each trial, and may be a context manager that clears up after it. `agent` is described in
    `agents.py`; left out, it is `run_agent`. With `file`, trials already there are not run again, unless they raised
    and `retry_errors` is set; a `label` keeps two versions of an agent from being mixed in one file. Two evaluations
    at once need a file each.

    `workers` trials run at the same time: as threads, which suits a remote model, or with `processes` as
    processes, which suits the simulated one; then everything given must be importable. Ctrl-C ends the evaluation and
    returns what is done.
    """
    cases = checked(cases, trials, workers)
    if hasattr(connect, "requests"):
        raise TypeError("One provider cannot tell trials apart: give a function, `lambda seed: MockProvider(...)`.")
    if agent is not None:
        wanted_by(agent)  # what it asks for is refused here, once, and not by every trial
    plan = Evaluation(connect, world, agent, label, seed)
    planned, futures = len(cases) * trials, []
    with (
        kept_in(file, cases, trials, label, retry_errors) as (done, keep),
        progress_of(planned, len(done), progress and len(done) < planned) as step,
    ):
        # Trial by trial and not case by case: whenever it ends, all cases have been tried about as often.
        todo = [(case, number) for number in range(trials) for case in cases if (case.id, number) not in done]
        executor = _executor(plan, workers, processes)
        try:
            # A thread writes its record itself, before it begins the next trial; what a process found is written here.
            job = plan.trial if processes else lambda case, number: keep(plan.trial(case, number))
            futures = [executor.submit(job, case, number) for case, number in todo]
            errors: list[str | None] = []
            for future in as_completed(futures):
                record = keep(future.result()) if processes else future.result()
                step(record["passed"])
                errors.append(record["error"])
                _stop_if_all_raise(errors, len(todo))
        except KeyboardInterrupt:
            kept = f"what is done is in {file}; run again to go on" if file else "give `file=` to be able to go on"
            print(f"\nStopped before all trials were run: {kept}.", file=sys.stderr)
        except BrokenProcessPool:
            raise CourseKitError(
                "The processes could not run the trials: `connect`, `world` and `agent` must be functions of a module "
                "that can be imported (not of a notebook), and a script starts them below `if __name__ == "
                "'__main__':`. Without processes=True they may be anything."
            ) from None
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
    ended = [future for future in futures if future.done() and not future.cancelled() and not future.exception()]
    records = [*done.values(), *(future.result() for future in ended)]
    order = {case.id: place for place, case in enumerate(cases)}
    return Results(sorted(records, key=lambda r: (order[r["case"]], r["trial"])), planned)


def seed_of(case: str, trial: int, seed: int = 0) -> int:
    """The seed of a trial: it depends on the case and the trial's number alone, not on what ran before."""
    return int.from_bytes(sha256(repr((case, trial, seed)).encode("utf-8", "surrogatepass")).digest()[:4], "big")


def record_of(case: Case, trial: int, seen: Observed, problems: list[Problem], **more: Any) -> Record:
    """A trial as one JSON object."""
    error = more.get("error")
    problems = [Problem("error", error), *problems] if error else problems
    return {
        "case": case.id,
        "kind": case.kind,
        "risk": case.risk,
        "trial": trial,
        "digest": case.digest,
        "passed": not problems,
        "problems": [asdict(problem) for problem in problems],
        "expected": None if case.expect.calls is None else list(case.expect.tools),
        "may_call": list(case.expect.may_call),
        **asdict(seen),
        "calls": [asdict(call) for call in seen.calls],
        "refused": list(seen.refused),
        **more,
    }


def checked(cases: Iterable[Case], trials: int, workers: int) -> list[Case]:
    """The cases as a list; impossible numbers and ids are refused."""
    if isinstance(cases, Case):
        raise TypeError("`cases` is a list: write `[case]`.")
    cases = list(cases)
    if wrong := [type(case).__name__ for case in cases if not isinstance(case, Case)]:
        raise TypeError(f"A case is a `Case`, not {wrong[0]}: make one, or read a file with `load_cases`.")
    for value, name in ((trials, "trials"), (workers, "workers")):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} is {value!r}: give a whole number of at least 1.")
    if not cases:
        raise CaseError("There are no cases to run: give at least one.")
    ids = [case.id for case in cases]
    if twice := next((id for id in ids if ids.count(id) > 1), None):
        raise CaseError(f"Two cases are called {twice!r}: use every id only once.")
    return cases


@contextmanager
def _fresh(world: Callable[[], Any] | None) -> Iterator[tuple[Any, Any]]:
    made: Any = world() if world is not None else ((), None)
    with made if hasattr(made, "__enter__") else nullcontext(made) as pair:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError("`world()` gives a pair: (tools, state), and (tools, None) where there is no state.")
        yield pair


def check_tools(case: Case, tools: Any) -> None:
    """A case about a tool that is not there measures nothing: it is refused."""
    names = set(toolbox(tools or ()))
    unknown = [name for name in (*case.expect.tools, *case.expect.never) if name not in names]
    if names and unknown:
        raise CaseError(f"Case {case.id} names `{unknown[0]}`, and the tools are {', '.join(sorted(names))}.")


def _executor(plan: Evaluation, workers: int, processes: bool) -> Executor:
    if not processes:
        return ThreadPoolExecutor(workers, thread_name_prefix="trial")
    try:
        pickle.dumps(plan)
    except Exception as error:
        raise CourseKitError(
            f"Trials in processes need functions of a module, which can be imported there ({error}): define them with "
            "`def` in a file of their own, or leave processes=True out."
        ) from None
    # Started afresh, not copied: a copy of a process with threads (Jupyter's) may hang.
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_follow_the_parent)


def _follow_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits

    def end_with_it() -> None:  # a parent that is killed tells nobody
        if parent := multiprocessing.parent_process():
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()


def _stop_if_all_raise(errors: list[str | None], todo: int) -> None:
    if len(errors) == FIRST_ERRORS < todo and errors[0] and len(set(errors)) == 1:
        raise CourseKitError(
            f"The first {FIRST_ERRORS} trials all raised {errors[0]}. Nothing more was run: mend this first, then run "
            "again."
        )

"""Trials: fresh worlds, seeds, resuming after an interruption and after a kill, and agents of every kind."""

import io
import json
import os
import sqlite3
import subprocess
import sys
import time
import types
from contextlib import contextmanager
from pathlib import Path

import pytest

import course_kit
from course_kit.contract.messages import assistant, text, tool_use, user
from course_kit.errors import CourseKitError
from course_kit.evaluation.agents import loop_agent, program
from course_kit.evaluation.batches import run_batch
from course_kit.evaluation.cases import Case, CaseError
from course_kit.evaluation.progress import Progress
from course_kit.evaluation.record_file import kept_in
from course_kit.evaluation.results import Results, read_records
from course_kit.evaluation.trials import run_trials, seed_of
from course_kit.harness.tools import tool
from course_kit.mock.provider import MockProvider

CASES = [Case(name, prompt=f"Case {name}.", expect={"says": ["ok"]}) for name in ("a", "b", "c")]


def says_ok(prompt):
    return "ok"


def quiet(cases=CASES, **how):
    return run_trials(cases, **{"agent": says_ok, "trials": 4, "progress": False, **how})


# What a trial is


def test_every_case_runs_so_many_times_and_is_judged():
    results = quiet(agent=lambda seed: "ok" if seed % 2 else "no")
    assert [(r["case"], r["trial"]) for r in results] == [(case, n) for case in "abc" for n in range(4)]
    assert [r["passed"] for r in results] == [seed_of(case, n) % 2 == 1 for case in "abc" for n in range(4)]
    assert {r["seed"] for r in results} == {seed_of(case, n) for case in "abc" for n in range(4)}


def test_seeds_do_not_depend_on_the_order_or_the_number_of_workers():
    seeds = [{(r["case"], r["trial"]): r["seed"] for r in quiet(cases, workers=w)} for cases, w in
             [(CASES, 1), (CASES[::-1], 3)]]  # fmt: skip
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0].values())) == 12
    assert seed_of("a", 0) != seed_of("a", 0, seed=1)


def test_each_trial_has_a_fresh_world_which_is_cleared_up():
    opened, closed = [], []

    @contextmanager
    def world():
        state = []
        opened.append(state)
        yield (), state
        closed.append(len(state))

    def agent(state):
        state.append("a refund")
        return "ok"

    case = Case("a", prompt="x", expect={"state": [lambda state: len(state) == 1]})
    assert all(r["passed"] for r in quiet([case], agent=agent, world=world))
    assert (len(opened), closed) == (4, [1, 1, 1, 1])


@tool(effect="irreversible", needs_approval=False)
def refund(cents: int) -> str:
    """Refund an amount in cents."""
    return "done"


def test_a_record_stands_by_itself():
    case = Case("vase", "hostile", "Refund.", {"calls": [], "may_call": ["look"]}, risk=9)
    provider = lambda seed: MockProvider([[tool_use("t1", "refund", {"cents": 5})], "It is done."])  # noqa: E731
    [record] = run_trials([case], provider, world=lambda: ([refund], None), trials=1, label="v1", progress=False)
    made = {"tool": "refund", "input": {"cents": 5}, "valid": True, "failed": False, "code": None}
    spent = {name: record.pop(name) for name in ("seconds", "input_tokens", "output_tokens")}
    assert all(value > 0 for value in spent.values())
    assert record == {
        "case": "vase",
        "kind": "hostile",
        "risk": 9,
        "trial": 0,
        "digest": case.digest,
        "passed": False,
        "problems": [{"layer": "safety", "message": "refund(cents=5) was called, which nobody asked for."}],
        "expected": [],
        "may_call": ["look"],
        "calls": [{**made, "effect": "irreversible"}],
        "text": "It is done.",
        "stopped": "end_turn",
        "steps": 2,
        "refused": [],
        "seed": seed_of("vase", 0),
        "label": "v1",
        "error": None,
    }


# Agents


def test_several_turns_are_said_one_after_the_other():
    provider = MockProvider(lambda request: f"ok {len(request['messages'])}")
    case = Case("a", turns=["One.", "Two.", "Three."], expect={"says": ["ok 5"]})
    [record] = quiet([case], connect=provider.client(), agent=loop_agent(system="Be brief."), trials=1)
    assert (record["passed"], record["text"]) == (True, "ok 5")
    assert {exchange.body["system"] for exchange in provider.requests} == {"Be brief."}
    spent = sum(exchange.reply["usage"]["output_tokens"] for exchange in provider.requests)
    assert (record["steps"], record["output_tokens"]) == (3, spent)


def test_an_agent_is_given_what_it_names():
    given = {}

    async def agent(messages, case, tools, seed, client, more="mine"):
        given.update(messages=messages, case=case, tools=tools, seed=seed, client=client, more=more)
        return [*messages, assistant([tool_use("t1", "refund", {"cents": 1}), text("ok")])]

    before = (user("a"), assistant([tool_use("t0", "refund")]), user("b"))
    case = Case("a", messages=before, expect={"calls": ["refund"], "says": ["ok"]})
    [record] = quiet([case], connect=lambda seed: f"client {seed}", agent=agent, world=lambda: ([refund], 0), trials=1)
    seed = seed_of("a", 0)
    assert (record["passed"], len(record["calls"])) == (True, 1)
    assert given == {
        "messages": list(before), "case": case, "tools": [refund], "seed": seed, "client": f"client {seed}",
        "more": "mine",
    }  # fmt: skip


def test_an_agent_that_returns_nothing_is_judged_by_what_its_provider_received():
    def agent(prompt, client):
        message = {"role": "user", "content": prompt}
        client.messages.create(model="claude-haiku-5-5", max_tokens=99, messages=[message], tools=[refund.definition()])

    def connect(seed):
        return MockProvider([[tool_use("t1", "refund", {"cents": 1})]])

    case = Case("a", prompt="x", expect={"calls": [{"tool": "refund", "input": {"cents": 1}}]})
    assert [r["passed"] for r in quiet([case], connect=connect, agent=agent)] == [True] * 4


PROGRAM = """
import json, os, sys, urllib.request
body = {"model": "claude-haiku-5-5", "max_tokens": 99, "messages": [{"role": "user", "content": sys.stdin.read()}]}
headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"],
           "anthropic-version": "2026-10-21"}
address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers)).read()
"""


def test_a_program_in_another_process_is_judged_through_the_mocks_address():
    case = Case("a", prompt="Grüße.", expect={"says": ["Grüße."]})
    echo = lambda seed: MockProvider(lambda request: request["messages"][0]["content"])  # noqa: E731
    [record] = quiet([case], connect=echo, agent=program([sys.executable, "-c", PROGRAM]), trials=1)
    assert (record["passed"], record["steps"], record["error"]) == (True, 1, None)


def test_a_program_that_fails_is_a_failed_trial():
    agent = program([sys.executable, "-c", "raise SystemExit('no key')"])
    [record] = quiet(CASES[:1], connect=lambda seed: MockProvider(["ok"]), agent=agent, trials=1)
    assert record["error"] == "RuntimeError: the program ended with 1: no key"
    with pytest.raises(TypeError, match="Give the command as a list"):
        program("python agent.py")


def test_an_exception_is_a_failed_trial_with_what_was_done_until_then():
    script = [[tool_use("t1", "refund", {"cents": 5})], lambda request: 1 / 0]
    case = Case("a", prompt="x", expect={"calls": ["refund"]})
    world = lambda: ([refund], None)  # noqa: E731
    [record] = quiet([case], connect=lambda seed: MockProvider(list(script)).client(max_retries=0), agent=None,
                     world=world, trials=1)  # fmt: skip
    assert (record["passed"], [call["tool"] for call in record["calls"]]) == (False, ["refund"])
    assert record["error"].startswith("InternalServerError: ")
    assert [problem["layer"] for problem in record["problems"]] == ["error"]


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        pytest.param({"agent": lambda question: "ok"}, TypeError, "what `question` should be", id="unknown_parameter"),
        pytest.param({"agent": lambda prompt: 7}, TypeError, "An agent returns a Run", id="returns_a_number"),
        pytest.param({"world": lambda: []}, TypeError, r"`world\(\)` gives a pair", id="world_without_state"),
        pytest.param({"connect": MockProvider(["ok"])}, TypeError, "cannot tell trials apart", id="one_provider"),
        pytest.param({"trials": 0}, ValueError, "trials is 0", id="no_trials"),
        pytest.param({"workers": True}, ValueError, "workers is True", id="workers"),
        pytest.param({"cases": []}, CaseError, "There are no cases to run", id="no_cases"),
        pytest.param({"cases": CASES[:1] * 2}, CaseError, "Two cases are called 'a'", id="same_id"),
        pytest.param(
            {"cases": [Case("a", prompt="x", expect={"calls": ["pay"]})], "world": lambda: ([refund], None)},
            CaseError,
            "Case a names `pay`, and the tools are refund",
            id="unknown_tool",
        ),
        pytest.param(
            {"cases": [Case("a", turns=["x", "y"], expect={"calls": []})]},
            TypeError,
            "let the agent take `messages`",
            id="turns_for_a_prompt",
        ),
    ],
)
def test_what_cannot_be_run_is_one_sentence(how, error, said):
    with pytest.raises(error, match=said):
        quiet(**how)


def test_trials_that_all_raise_are_not_run_to_the_end():
    tried = []

    def agent(prompt):
        tried.append(prompt)
        raise PermissionError("the key is wrong")

    with pytest.raises(CourseKitError, match="first 10 trials all raised PermissionError: the key is wrong. Nothing"):
        quiet(agent=agent, trials=100, workers=1)
    stopped_at = len(tried)
    time.sleep(0.3)
    assert 10 <= stopped_at < 300 and len(tried) - stopped_at <= 1, "nor do they go on behind one's back"


# Going on


def counting(tried):
    def agent(case, seed):
        tried.append((case.id, seed))
        return "ok"

    return agent


def test_finished_trials_are_not_repeated_and_more_can_be_added(tmp_path):
    file, tried = tmp_path / "results" / "of today" / "a.jsonl", []
    first = quiet(agent=counting(tried), trials=2, file=file)
    again = quiet(agent=counting(tried), trials=2, file=file)
    assert (len(tried), first.records) == (6, again.records)
    more = quiet(agent=counting(tried), trials=5, file=file)
    assert (len(tried), len(set(tried)), len(more), more.missing) == (15, 15, 15, 0)
    assert Results.from_jsonl(file).counts() == more.counts() == {"a": (5, 5), "b": (5, 5), "c": (5, 5)}
    assert len(quiet(trials=2, file=file)) == 6  # what lies beyond is left out, and left in the file


def test_trials_of_other_cases_stay_in_the_file_and_out_of_the_results(tmp_path):
    file, tried = tmp_path / "a.jsonl", []
    quiet(trials=1, file=file)
    some = quiet(CASES[1:2], agent=counting(tried), trials=2, file=file)
    assert (some.counts(), len(tried)) == ({"b": (2, 2)}, 1)
    assert Results.from_jsonl(file).counts() == {"a": (1, 1), "b": (2, 2), "c": (1, 1)}


def test_a_half_written_last_line_is_taken_out_and_its_trial_run_again(tmp_path):
    file, tried = tmp_path / "a.jsonl", []
    quiet(agent=counting(tried), trials=2, file=file, workers=1)
    whole = file.read_bytes()
    file.write_bytes(whole[:-25])
    assert len(Results.from_jsonl(file)) == 5
    assert len(quiet(agent=counting(tried), trials=2, file=file, workers=1)) == 6
    assert (len(tried), tried[-1]) == (7, tried[5])
    assert [json.loads(line)["case"] for line in file.read_text(encoding="utf-8").splitlines()] == list("abcabc")


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    file = tmp_path / "a.jsonl"
    quiet(trials=1, file=file)
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text(lines[0] + lines[1][:30] + "\n" + lines[2], encoding="utf-8")
    with pytest.raises(CaseError, match="a.jsonl, line 2: this is not JSON; delete the line"):
        quiet(trials=1, file=file)
    file.write_text('{"case": "a"}\n', encoding="utf-8")
    with pytest.raises(CaseError, match="line 1: a record of a trial has case, trial, passed"):
        read_records(file)


def test_a_changed_case_or_another_label_is_not_mixed_in(tmp_path):
    file = tmp_path / "a.jsonl"
    quiet(trials=1, file=file, label="v1")
    with pytest.raises(CaseError, match="holds trials of 'v1', not of 'v2': name another file"):
        quiet(trials=1, file=file, label="v2")
    changed = [Case("a", prompt="Another prompt.", expect={"says": ["ok"]})]
    with pytest.raises(CaseError, match="Case a has changed since .* was written"):
        quiet(changed, trials=1, file=file, label="v1")


def test_trials_that_raised_are_run_again_on_demand(tmp_path):
    file, broken, tried = tmp_path / "a.jsonl", [True], []

    def agent(case):
        tried.append(case.id)
        if broken[0] and case.id == "b":
            raise ConnectionError("no route")
        return "ok"

    assert quiet(agent=agent, trials=1, file=file).counts()["b"] == (1, 0)
    broken[0] = False
    assert quiet(agent=agent, trials=1, file=file).counts()["b"] == (1, 0)
    assert quiet(agent=agent, trials=1, file=file, retry_errors=True).counts()["b"] == (1, 1)
    assert (sorted(tried[:3]), tried[3:]) == (["a", "b", "c"], ["b"])
    assert Results.from_jsonl(file).counts() == {"a": (1, 1), "b": (1, 1), "c": (1, 1)}


def test_an_interrupt_keeps_what_is_done(tmp_path, capsys):
    file, tried = tmp_path / "a.jsonl", []

    def agent(case):
        tried.append(case.id)
        if len(tried) > 4:
            raise KeyboardInterrupt
        return "ok"

    results = quiet(agent=agent, file=file, workers=1)
    assert (len(results), results.missing, results.planned) == (4, 8, 12)
    assert results.counts() == {"a": (2, 2), "b": (1, 1), "c": (1, 1)}  # trial by trial, not case by case
    assert (
        f"Stopped before all trials were run: what is done is in {file}; run again to go on." in capsys.readouterr().err
    )
    assert "8 trials are missing" in repr(results)
    assert len(quiet(file=file)) == 12
    tried[:] = [1] * 4
    assert len(quiet(agent=agent, workers=1)) == 0
    said = "\nStopped before all trials were run: give `file=` to be able to go on.\n"
    assert capsys.readouterr().err == said


EVALUATION = """
import os, signal, sys
sys.path.insert(0, {path!r})
from course_kit.evaluation.cases import Case
from course_kit.evaluation.trials import run_trials

file, log, workers, kill_at = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
tried = 0

def agent(case, seed):
    global tried
    tried += 1
    if tried == kill_at:
        # Killed in the middle of a trial: nothing is cleaned up, flushed or told.
        os.kill(os.getpid(), signal.SIGKILL) if hasattr(signal, "SIGKILL") else os._exit(9)
    with open(log, "a", encoding="utf-8") as out:
        out.write(f"{{case.id}} {{seed}}\\n")
    return "ok"

cases = [Case(name, prompt="x", expect={{"says": ["ok"]}}) for name in "abcde"]
print(len(run_trials(cases, agent=agent, trials=20, file=file, workers=workers, progress=False)))
"""


@pytest.mark.parametrize(("workers", "kill_at"), [(1, 1), (1, 50), (3, 70)])
def test_an_evaluation_killed_half_way_resumes_without_repeating_a_trial(tmp_path, workers, kill_at):
    file, log = tmp_path / "results.jsonl", tmp_path / "log.txt"
    script = tmp_path / "evaluation.py"
    script.write_text(EVALUATION.format(path=str(Path(course_kit.__file__).parents[1])), encoding="utf-8")

    def run(kill):
        command = [sys.executable, str(script), str(file), str(log), str(workers), str(kill)]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ})

    killed = run(kill_at)
    assert killed.returncode in (-9, 9), killed.stderr
    kept = len(read_records(file))
    assert kill_at - workers <= kept < kill_at
    with file.open("a", encoding="utf-8") as out:
        out.write('{"case": "a", "tri')  # as if it had been killed while it wrote
    done = {(record["case"], record["seed"]) for record in read_records(file)}
    before = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
    resumed = run(0)
    assert (resumed.stdout.strip(), resumed.stderr) == ("100", "")
    second = [tuple(line.split()) for line in log.read_text(encoding="utf-8").splitlines()[before:]]
    assert len(second) == len(set(second)) == 100 - kept
    assert not {(case, int(seed)) for case, seed in second} & done
    assert Results.from_jsonl(file).counts() == {name: (20, 20) for name in "abcde"}


def test_a_file_that_cannot_be_held_for_another_reason_says_so(tmp_path, monkeypatch):
    class Broken(sqlite3.Connection):
        def execute(self, *given):
            raise sqlite3.OperationalError("disk I/O error")

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **options: connect(*given, **options, factory=Broken))
    with pytest.raises(sqlite3.OperationalError, match="^disk I/O error$"):
        quiet(file=tmp_path / "a.jsonl")


HOLDER = """
import sys, time
sys.path.insert(0, {path!r})
from course_kit.evaluation.cases import Case
from course_kit.evaluation.trials import run_trials

def agent(case):
    print("running", flush=True)
    time.sleep(600)

run_trials([Case("a", "negative", "x")], agent=agent, trials=1, file=sys.argv[1], progress=False)
"""


def test_a_second_evaluation_of_one_file_is_refused_until_the_first_is_over_or_killed(tmp_path):
    file, script = tmp_path / "results.jsonl", tmp_path / "holder.py"
    script.write_text(HOLDER.format(path=str(Path(course_kit.__file__).parents[1])), encoding="utf-8")
    said = f"Another evaluation is writing to {file}: wait until it ends, or name another file."
    with subprocess.Popen([sys.executable, str(script), str(file)], stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout.readline() == "running\n"
            with pytest.raises(CaseError) as refused:
                quiet(file=file)
            with pytest.raises(CaseError) as refused_batch:
                run_batch([Case("a", "negative", "x")], None, file=file, progress=False)
            quiet(file=tmp_path / "another.jsonl")
        finally:
            first.kill()
    assert str(refused.value) == str(refused_batch.value) == said
    assert len(quiet(file=file)) == 12  # the lock of a killed run does not stay
    assert len(quiet(file=file, trials=5)) == 15  # nor that of one which ended


def test_the_same_file_twice_in_one_process_is_refused_too(tmp_path):
    file = tmp_path / "results.jsonl"
    with kept_in(file, CASES, 4), pytest.raises(CaseError, match="Another evaluation is writing"):
        quiet(file=file)
    assert len(quiet(file=file)) == 12


def test_trials_in_processes_need_functions_of_a_module():
    with pytest.raises(CourseKitError, match="need functions of a module"):
        quiet(agent=lambda prompt: "ok", processes=True)


def test_processes_that_cannot_find_the_functions_are_one_sentence(monkeypatch):
    vanished = types.ModuleType("vanished")
    exec("def agent(prompt):\n    return 'ok'", vanished.__dict__)
    monkeypatch.setitem(sys.modules, "vanished", vanished)  # here, and in no other process
    with pytest.raises(CourseKitError) as broken:
        quiet(agent=vanished.agent, processes=True, workers=1, trials=1)
    assert str(broken.value) == (
        "The processes could not run the trials: `connect`, `world` and `agent` must be functions of a module that can "
        "be imported (not of a notebook), and a script starts them below `if __name__ == '__main__':`. Without "
        "processes=True they may be anything."
    )


def test_trials_run_in_processes():
    results = quiet(processes=True, workers=2, trials=2)
    assert results.counts() == {"a": (2, 2), "b": (2, 2), "c": (2, 2)}


# Progress


def test_in_a_log_progress_is_a_line_every_ten_seconds():
    stream = io.StringIO()
    progress = Progress(1000, done=100, stream=stream)
    assert progress.bar is None
    progress.step(True)
    assert stream.getvalue() == ""
    progress.last_line -= 10
    progress.started -= 2
    progress.step(False)
    assert stream.getvalue().startswith("102 of 1000 trials, 1 failed, about ")
    assert progress.line(progress.started + 4) == "102 of 1000 trials, 1 failed, about 1796 s left"
    progress.close()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_in_a_terminal_progress_is_a_bar_that_short_runs_do_not_show():
    pytest.importorskip("tqdm")
    stream = Terminal()
    progress = Progress(10, stream=stream)
    progress.step(True)
    progress.step(False)
    progress.close()
    assert stream.getvalue() == ""
    progress = Progress(10, stream=stream)
    progress.bar.start_t -= 5
    progress.bar.last_print_t -= 5
    progress.step(False)
    assert "1/10" in stream.getvalue() and "1 failed" in stream.getvalue()
    progress.close()


def test_progress_is_shown_for_what_is_still_to_be_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("course_kit.evaluation.progress.SECONDS_BETWEEN_LINES", 0)
    quiet(trials=1, file=tmp_path / "a.jsonl", progress=True, workers=1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["1 of 3 trials", "2 of 3 trials", "3 of 3 trials"]
    quiet(trials=1, file=tmp_path / "a.jsonl", progress=True)
    assert capsys.readouterr().err == ""


# Results


def test_results_in_and_out_of_pandas_and_json_lines(tmp_path):
    pytest.importorskip("pandas")
    results = quiet(agent=lambda seed: "ok" if seed % 2 else "no")
    frame = results.to_frame()
    assert (len(frame), frame["passed"].sum()) == (12, sum(r["passed"] for r in results))
    back = Results.from_frame(frame)
    assert back.counts() == results.counts()
    assert [r["problems"] for r in back] == [r["problems"] for r in results]
    assert "error" not in back.records[0]
    results.to_jsonl(tmp_path / "out.jsonl")
    assert Results.from_jsonl(tmp_path / "out.jsonl").records == results.records
    with pytest.raises(CaseError, match="The table has no column `passed`"):
        Results.from_frame(frame.drop(columns="passed"))
    with pytest.raises(CaseError, match="is no file of results"):
        Results.from_jsonl(tmp_path / "none.jsonl")


def rows(**passes):
    return [{"case": c, "trial": n, "passed": bool(p), "kind": c[0]} for c, ps in passes.items()
            for n, p in enumerate(ps)]  # fmt: skip


def test_results_give_pass_k_and_its_interval():
    results = Results(rows(a=[1, 1, 1, 1], b=[1, 1, 0, 0], c=[0, 0, 0, 0]))
    assert [round(results.pass_hat_k(k), 6) for k in (1, 2, 3, 4)] == [0.5, 0.388889, 0.333333, 0.333333]
    assert round(results.pass_at_k(2), 6) == 0.611111
    assert results.interval(4).method == "Wilson over 3 tasks"
    assert repr(results).splitlines()[0] == "12 trials of 3 cases"
    assert repr(results).splitlines()[2] == "pass^4 0.33, on more such cases 0.06 to 0.79 (95%, Wilson over 3 tasks)"
    assert len(results.where(kind="b")) == len(results.where(lambda r: r["case"] == "b")) == 4
    assert repr(Results([])) == "No trials: none was run yet, or none matches."


def test_problems_are_counted():
    results = quiet(CASES[:2], agent=lambda case: "ok" if case.id == "b" else "no")
    assert results.problems() == "   4 × a: [text] The answer does not say 'ok'."
    assert quiet().problems() == "No problems."


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        (CASES[0], "`cases` is a list: write `[case]`."),
        ([{"id": "a"}], "A case is a `Case`, not dict: make one, or read a file with `load_cases`."),
        ([CASES[0], {}], "A case is a `Case`, not dict: make one, or read a file with `load_cases`."),
        ("cases.jsonl", "A case is a `Case`, not str: make one, or read a file with `load_cases`."),
    ],
)
def test_what_is_no_list_of_cases_is_said(cases, said):
    with pytest.raises(TypeError) as caught:
        quiet(cases)
    assert str(caught.value) == said


def test_an_agent_that_asks_for_something_unknown_is_refused_before_the_trials():
    connected = []

    def agent(prompt, klient):
        return "ok"

    with pytest.raises(TypeError, match="An agent may take prompt, .+ it is not known what `klient` should be"):
        quiet(connect=connected.append, agent=agent)
    assert connected == []

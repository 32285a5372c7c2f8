"""A run outlives its process: killed anywhere, taken up again, and nothing is done twice or without its approval."""

import asyncio
import os
import random
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from course_kit.contract.messages import content_blocks, text, text_of, tool_result, tool_use, tool_use_blocks, user
from course_kit.contract.protocol import check_request
from course_kit.errors import SetupError
from course_kit.harness.agent import resume_agent, resume_agent_async, run_agent, run_agent_async
from course_kit.harness.approval import decide_later
from course_kit.harness.decisions import allow, deny, edit
from course_kit.harness.loop import Run
from course_kit.harness.store import AlreadyDecided, RunStore, RunTaken
from course_kit.harness.tools import tool

QUESTION = "The cup of ORD-20260917 is broken. Give me my money back and a note."


def model(request: dict[str, Any]) -> dict[str, Any]:
    """A careful model, as a function: refund, look where the outcome is unknown, then send one note."""
    messages = request["messages"]
    said = {
        block["tool_use_id"]: block
        for message in messages
        for block in content_blocks(message)
        if "tool_use_id" in block
    }
    made = [(call, said[call["id"]]) for message in messages for call in tool_use_blocks(message)]
    number = len(messages)

    def reply(*content: dict[str, Any]) -> dict[str, Any]:
        reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        return {"role": "assistant", "content": list(content), "stop_reason": reason, "usage": {}}

    def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        return reply(*(tool_use(f"toolu_{number}_{i}", name, given) for i, (name, given) in enumerate(wanted)))

    if not made:
        return calls(("refunds", {}), ("refund", {"order": "ORD-20260917", "cents": 1999}))
    call, result = made[-1]
    outcome = text_of({"content": content_blocks(result)})
    if "may or may not have taken effect" in outcome:
        return calls(("notes", {}) if call["name"] == "note" else ("refunds", {}))
    if call["name"] == "refunds":
        paid = "ORD-20260917" in outcome
        return calls(("note", {"to": "ada"})) if paid else calls(("refund", {"order": "ORD-20260917", "cents": 1999}))
    if call["name"] == "notes":
        return reply(text("Done.")) if "ada" in outcome else calls(("note", {"to": "ada"}))
    if call["name"] == "refund" and not result.get("is_error"):
        return calls(("note", {"to": "ada"}))
    return reply(text("Done." if call["name"] == "note" else f"No refund: {outcome}"))


class World:
    """A folder with a ledger of refunds and notes; `point` is called wherever a process may die."""

    def __init__(self, folder: Path, point: Any = lambda: None):
        self.folder, self.point = folder, point
        self.store = RunStore(folder / "runs.sqlite3")

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def write(self, name: str, line: str) -> None:
        self.point()
        with open(self.folder / name, "a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.point()

    def tools(self) -> list[Any]:
        @tool(effect="irreversible")
        def refund(order: str, cents: int) -> str:
            self.write("refunds", f"{order} {cents}")
            return "paid"

        @tool
        def note(to: str) -> str:
            self.write("notes", to)
            return "sent"

        @tool(effect="read")
        def refunds() -> list[str]:
            return self.lines("refunds")

        @tool(effect="read")
        def notes() -> list[str]:
            return self.lines("notes")

        return [refund, note, refunds, notes]

    def go_on(self, **options: Any) -> Run:
        """Begin the run of this world, or take it up."""
        options = {"tools": self.tools(), "approver": decide_later(), **options}
        if found := self.store.runs():
            return resume_agent(model, self.store, found[0]["run_id"], **options)
        return run_agent(model, messages=QUESTION, store=self.store, **options)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def assert_sound(run: Run) -> None:
    """The history is legal to send on, and every call in it has one result."""
    assert check_request({**run.trace.request, "messages": [*run.messages, user("And now?")]}) == []
    blocks = [block for message in run.messages for block in content_blocks(message)]
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert ids == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


# Waiting for a decision


def test_a_run_waits_and_goes_on_with_the_decision(world):
    waiting = world.go_on()
    assert waiting.stopped == "awaiting_approval" and world.lines("refunds") == []
    (question,) = waiting.waiting
    assert (question["name"], question["input"]) == ("refund", {"order": "ORD-20260917", "cents": 1999})
    said = "Not run yet: a person has to decide about this turn first."
    assert waiting.messages[-1] == user([tool_result(f"toolu_1_{i}", said, is_error=True) for i in range(2)])
    assert_sound(waiting)
    (pending,) = world.store.pending()
    assert (pending.run_id, pending.tool_use_id, pending.input) == (waiting.run_id, question["id"], question["input"])
    assert world.go_on().stopped == "awaiting_approval", "nobody has decided yet"
    world.store.decide(waiting.run_id, question["id"], allow(), by="Ada")
    run = world.go_on()
    assert (run.stopped, run.text, run.waiting) == ("end_turn", "Done.", [])
    assert (world.lines("refunds"), world.lines("notes")) == (["ORD-20260917 1999"], ["ada"])
    assert [row["event"] for row in world.store.audit()] == ["asked", "decided", "used"]
    assert_sound(run)


def test_an_awaited_run_waits_and_goes_on_likewise(world):
    async def answered(request):
        return model(request)

    tools, store = world.tools(), world.store
    waiting = asyncio.run(
        run_agent_async(answered, messages=QUESTION, tools=tools, approver=decide_later(), store=store)
    )
    assert waiting.stopped == "awaiting_approval" and world.lines("refunds") == []
    store.decide(waiting.run_id, waiting.waiting[0]["id"], allow())
    run = asyncio.run(resume_agent_async(answered, store, waiting.run_id, tools=tools))
    assert (run.stopped, run.text, world.lines("refunds")) == ("end_turn", "Done.", ["ORD-20260917 1999"])
    again = asyncio.run(resume_agent_async(answered, store, waiting.run_id, tools=tools))
    assert again.trace.events == run.trace.events
    assert_sound(run)


def test_a_run_that_has_ended_is_returned_as_it_is(world):
    waiting = world.go_on()
    world.store.decide(waiting.run_id, waiting.waiting[0]["id"], allow())
    run = world.go_on()
    again = world.go_on()
    assert (again.messages, again.stopped, again.trace.events) == (run.messages, "end_turn", run.trace.events)
    assert world.lines("refunds") == ["ORD-20260917 1999"]


def test_a_run_that_ended_at_a_limit_is_over_too(world):
    run = world.go_on(max_calls=1)
    again = world.go_on()
    assert (run.stopped, world.lines("refunds")) == ("max_calls", [])
    assert (again.messages, again.stopped, again.trace.events) == (run.messages, "max_calls", run.trace.events)


def test_without_an_approver_what_waited_still_waits(world):
    waiting = world.go_on()
    again = resume_agent(model, world.store, waiting.run_id, tools=world.tools())
    assert (again.stopped, again.waiting) == ("awaiting_approval", waiting.waiting)
    assert world.lines("refunds") == []


def test_an_approver_that_decides_now_decides_for_what_waited(world):
    waiting = world.go_on()
    run = resume_agent(model, world.store, waiting.run_id, tools=world.tools(), approver=lambda call: True)
    assert (run.stopped, world.lines("refunds")) == ("end_turn", ["ORD-20260917 1999"])


def test_without_an_approver_what_nobody_was_asked_about_is_refused(world):
    whole = world.store.load(world.go_on().run_id)
    run_id = world.store.begin(whole.request, whole.settings)
    world.store.append(run_id, 0, whole.events[0])  # killed right after the reply
    run = resume_agent(model, world.store, run_id, tools=world.tools())
    assert (run.stopped, run.waiting, world.lines("refunds")) == ("end_turn", [], [])
    assert run.text == (
        "No refund: A person has to approve `refund` and it was refused: nobody was there to approve it. Nothing was "
        "done. Try another way, or ask the user."
    )


def test_a_denial_reaches_the_model_with_its_reason(world):
    waiting = world.go_on()
    world.store.decide(waiting.run_id, waiting.waiting[0]["id"], deny("The cup is not ours"))
    run = world.go_on()
    assert "The cup is not ours" in run.text and world.lines("refunds") == []
    with pytest.raises(AlreadyDecided):
        world.store.decide(waiting.run_id, waiting.waiting[0]["id"], allow())


def test_a_question_whose_time_is_up_is_a_denial(world):
    now = datetime(2026, 9, 20, 9, 0, tzinfo=UTC)
    world.store = RunStore(world.folder / "runs.sqlite3", clock=lambda: now)
    waiting = world.go_on(approver=decide_later(60))
    now += timedelta(seconds=59)
    assert world.go_on(approver=decide_later(60)).stopped == "awaiting_approval", "nor does asking again give more time"
    now += timedelta(seconds=1)
    run = world.go_on(approver=decide_later(60))
    assert (run.stopped, run.waiting, world.lines("refunds")) == ("end_turn", [], [])
    assert "it was refused: nobody answered in time. Nothing was done." in run.text
    assert [row["event"] for row in world.store.audit()] == ["asked", "expired"]
    with pytest.raises(AlreadyDecided):
        world.store.decide(waiting.run_id, waiting.waiting[0]["id"], allow())
    assert_sound(run)


def test_an_edit_is_what_runs(world):
    waiting = world.go_on()
    world.store.decide(waiting.run_id, waiting.waiting[0]["id"], edit({"order": "ORD-20260917", "cents": 999}))
    assert world.go_on().stopped == "end_turn"
    assert world.lines("refunds") == ["ORD-20260917 999"]


def test_a_decision_taken_at_once_is_in_the_log_too(world):
    run = run_agent(model, messages=QUESTION, tools=world.tools(), approver=lambda call: True, store=world.store)
    assert run.stopped == "end_turn"
    assert [(row["event"], row["tool"]) for row in world.store.audit()] == [
        ("asked", "refund"),
        ("decided", "refund"),
        ("used", "refund"),
    ]


def test_an_edit_that_was_decided_at_once_is_what_runs_and_what_the_log_says(world):
    less = {"order": "ORD-20260917", "cents": 999}
    run = run_agent(model, messages=QUESTION, tools=world.tools(), approver=lambda call: edit(less), store=world.store)
    assert (run.stopped, world.lines("refunds")) == ("end_turn", ["ORD-20260917 999"])
    assert [(row["event"], row["input"], row["decision"], row["by"]) for row in world.store.audit()] == [
        ("asked", {"order": "ORD-20260917", "cents": 1999}, None, ""),
        ("decided", less, {"verdict": "edit", "input": less}, "the approver"),
        ("used", less, None, ""),
    ]


def test_two_processes_do_not_both_go_on(world):
    waiting = world.go_on()
    world.store.decide(waiting.run_id, waiting.waiting[0]["id"], allow())

    def second_comer(event):
        if event["event"] == "resume":
            assert world.go_on().stopped == "end_turn"

    with pytest.raises(RunTaken, match="Another process goes on with run"):
        world.go_on(on_event=second_comer)
    assert (world.lines("refunds"), world.lines("notes")) == (["ORD-20260917 1999"], ["ada"])


def test_a_call_that_had_begun_is_not_made_again_and_the_model_looks(world):
    waiting = world.go_on()
    world.store.decide(waiting.run_id, waiting.waiting[0]["id"], allow())
    world.go_on()
    whole = world.store.load(waiting.run_id)
    refund = {"order": "ORD-20260917", "cents": 1999}
    began = whole.events.index({"event": "started", "tool_use_id": "toolu_1_1", "input": refund})
    run_id = world.store.begin(whole.request, whole.settings)
    for position, event in enumerate(whole.events[: began + 1]):
        world.store.append(run_id, position, event)
    run = resume_agent(model, world.store, run_id, tools=world.tools())
    assert run.stopped == "end_turn" and world.lines("refunds") == ["ORD-20260917 1999"]
    (refund,) = [
        block
        for message in run.messages
        for block in content_blocks(message)
        if block.get("tool_use_id") == "toolu_1_1"
    ]
    assert refund["is_error"] and "may or may not have taken effect" in refund["content"]


# Killed anywhere


class Mortal:
    """Counts the places where a process may die, and kills it at one of them: `kill -9`, nothing is cleaned up."""

    def __init__(self, dies_at: int):
        self.left = dies_at

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def live(folder: Path, dies_at: int) -> bool:
    """One process that begins or takes up the run; was it killed?"""
    child = os.fork()
    if not child:
        code = 1
        try:
            point = Mortal(dies_at)
            world = World(folder, point)
            append = world.store.append

            def mortal_append(*given: Any) -> None:
                point()
                append(*given)
                point()

            world.store.append = mortal_append
            world.go_on()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def to_the_end(folder: Path, deaths: list[int], refuse: bool = False) -> Run:
    """Processes that die one after another, a person in between, and a last one that lives."""
    world = World(folder)
    for dies_at in [*deaths, 10**9, 10**9, 10**9]:
        live(folder, dies_at)
        for pending in world.store.pending():
            assert world.lines("refunds") == [] or pending.tool_use_id != "toolu_1_1"
            world.store.decide(pending.run_id, pending.tool_use_id, deny("no") if refuse else allow(), by="Ada")
    return world.go_on()


def assert_done_once(folder: Path, run: Run) -> None:
    world = World(folder)
    assert (run.stopped, run.text) == ("end_turn", "Done.")
    assert (world.lines("refunds"), world.lines("notes")) == (["ORD-20260917 1999"], ["ada"])
    assert_sound(run)
    used = [row["tool_use_id"] for row in world.store.audit() if row["event"] == "used"]
    assert len(used) == len(set(used)) >= 1


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing here: nothing to kill")


@needs_fork
def test_killed_once_at_every_place(tmp_path):
    places = 0
    while True:
        places += 1
        folder = tmp_path / str(places)
        folder.mkdir()
        killed = live(folder, places)
        run = to_the_end(folder, [])
        assert_done_once(folder, run)
        if not killed:
            break
    assert places > 6


@needs_fork
@pytest.mark.parametrize("seed", range(40))
def test_killed_again_and_again(tmp_path, seed):
    chance = random.Random(seed)
    deaths = [chance.randint(1, 14) for _ in range(chance.randint(1, 5))]
    refuse = seed % 4 == 0
    run = to_the_end(tmp_path, deaths, refuse)
    if refuse:
        assert World(tmp_path).lines("refunds") == [] and run.text.startswith("No refund")
        assert_sound(run)
    else:
        assert_done_once(tmp_path, run)


def test_a_store_that_is_not_there_is_said_and_not_made(tmp_path):
    """A typing error in the path must not make an empty store and then say that the run is unknown."""
    with pytest.raises(SetupError, match=r"There is no store of runs at .+typo\.db: give the path"):
        resume_agent(lambda request: None, tmp_path / "typo.db", "run_1")
    assert not (tmp_path / "typo.db").exists()

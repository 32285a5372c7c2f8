"""Run the calls of one turn: which together, how many at once, and for how long.

Calls run together only when every one of them is a read; a turn with a write in it runs in call order. Each call has
exactly one result, whatever it does. The requests before and after are in `loop.py`, a single call in `tools.py`,
threads and event loops in `waiting.py`.

In the plain form a call that runs alone and without a time-out stays in the caller's thread, so that it can draw, ask
or use a connection that is bound to it. In the `await` form the caller's loop is never blocked: coroutine tools are
awaited in it, plain functions go to a thread. (One that has to stay in the loop's thread is written with `async def`.)
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from .failures import Outcome, failed
from .timing import clock_here, start_watch
from .tools import Call, awaited, begin, fail, run_call, run_call_async
from .trace import Event
from .waiting import in_thread, inside_tool_loop, lasting_loop, tool_loop, values, values_async

__all__ = ["CallContext", "batches", "current_call", "run_calls", "run_calls_async"]

GRACE = 0.5  # seconds that a coroutine tool has to end, once cancelled


@dataclass(frozen=True)
class CallContext:
    """The call being made, for the tool to read: the two ids together name it in every process, for ever."""

    tool_use_id: str
    run_id: str | None = None  # None where the run is kept in no store


this_call: ContextVar[CallContext | None] = ContextVar("this_call", default=None)


def current_call() -> CallContext | None:
    """Inside a tool: which call this is. A key made from its ids lets a repeated call take effect once."""
    return this_call.get()


def run_calls(calls: Sequence[Call], *, limit: int = 5, run_id: str | None = None) -> Generator[Event]:
    """Make the calls of a turn; give a `started` event before each and a `result` event when it ends.

    `{"event": "started", "tool_use_id": "toolu_1", "input": {...}}`, then
    `{"event": "result", "result": {...}, "began": 1796050000.2, "seconds": 0.1}`; a failure also has its code, as
    `"failure"`. A call begins only when the event after its `started` is asked for, so the reader can store
    that before anything happens. Calls that run together are all announced first, `limit` of them run at a time,
    and their results come as they finish. A reader that stops or is interrupted leaves at once: close the iterator
    (`contextlib.closing`), and what can be cancelled is cancelled.
    """
    # subtle: a coroutine tool that comes here holds up the loop that other coroutine tools need; `run_call` says so.
    here = inside_tool_loop()
    for batch in batches(calls, min(limit, 1) if here else limit, run_id):
        if isinstance(batch, dict):
            yield batch
            continue
        yield from map(started, batch)
        if len(batch) == 1 and (batch[0].call.tool.timeout is None or here):
            yield result_event(*batch[0].make_here())
        else:
            home, gate = tool_loop(), asyncio.Semaphore(limit)
            # Not in the loop of the coroutine tools, which one of them may block: the clock must go on.
            work = values([one.make(gate, home) for one in batch], lasting_loop("calls of a turn"))
            with contextlib.closing(work):
                for done in work:
                    yield result_event(*done)


async def run_calls_async(calls: Sequence[Call], *, limit: int = 5, run_id: str | None = None) -> AsyncGenerator[Event]:
    """`run_calls`, to be read with `async for`; close it with `contextlib.aclosing`."""
    for batch in batches(calls, limit, run_id):
        if isinstance(batch, dict):
            yield batch
            continue
        for one in batch:
            yield started(one)
        gate = asyncio.Semaphore(limit)
        async with contextlib.aclosing(values_async([one.make(gate) for one in batch])) as work:
            async for done in work:
                yield result_event(*done)


def batches(calls: Sequence[Call], limit: int, run_id: str | None) -> Iterator["list[Running] | Event"]:
    """The calls in the order they are made: those in one list run together. An event answers one that may not run."""
    if not isinstance(limit, int) or limit < 1:
        raise ValueError(f"`limit` is {limit!r}: let at least one call run at a time.")
    turn = [Running(call, CallContext(call.tool_use["id"], run_id)) for call in calls]
    if turn and limit > 1 and all(one.is_read for one in turn):
        yield turn
        return
    for one in turn:
        # A writer that timed out cannot be stopped in its thread: until it ends, no second one starts.
        busy = next((other for other in turn if other.where and not other.is_read), None)
        yield [one] if one.is_read or busy is None else result_event(not_run(one.call, busy.call))


@dataclass(eq=False)
class Running:
    """One call on its way. `where` says where the tool runs, even when nobody waits any more."""

    call: Call
    context: CallContext
    where: Literal["thread", "loop"] | None = None
    clock: Callable[[], float] | None = field(default_factory=clock_here)

    @property
    def is_read(self) -> bool:
        return self.call.tool.effect == "read"

    def make_here(self) -> tuple[Outcome, dict[str, float]]:
        """Make the call in this thread, and wait for it without a limit."""
        token, watch = this_call.set(self.context), start_watch(self.clock)
        try:
            return run_call(self.call), watch.read()
        finally:
            this_call.reset(token)

    async def make(
        self, gate: asyncio.Semaphore, home: asyncio.AbstractEventLoop | None = None
    ) -> tuple[Outcome | BaseException, dict[str, float]]:
        """Make the call where it blocks nobody, within the time its tool has; `home` is the coroutine tools' loop."""
        async with gate:
            watch, timeout = start_watch(self.clock), self.call.tool.timeout
            work = asyncio.ensure_future(self.work(home))
            try:
                await asyncio.wait({work}, timeout=timeout)
                in_time, stopped = work.done(), False
                if self.where == "loop":  # it is not done, then, and can be stopped
                    work.cancel()
                    stopped = await self.ended(GRACE)
            finally:
                work.cancel()
            if not in_time:
                outcome: Any = fail(self.call, too_late(self.call, stopped))
            elif work.cancelled():  # and not by us: the tool cancelled itself
                outcome = fail(self.call, asyncio.CancelledError())
            else:
                outcome = work.result()
            return outcome, watch.read()

    async def work(self, home: asyncio.AbstractEventLoop | None) -> Outcome | BaseException:
        """The call itself. An interrupt that reached the tool is handed back, to be raised where somebody waits."""
        this_call.set(self.context)
        made: Any = None
        try:
            if not self.call.tool.is_async:
                self.where = "thread"  # from now on: a thread that comes late comes all the same
                made = await in_thread(self.begin, f"tool {self.call.tool.name}")
                if isinstance(made, (Outcome, KeyboardInterrupt)):
                    return made
            if home is None:
                return await self.awaited(made)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.awaited(made), home))
        except Exception as error:  # no thread could be started
            self.where = None
            return fail(self.call, error)

    def begin(self) -> Any:
        """In a thread: the outcome of a plain function, or the awaitable that it returned."""
        try:
            return begin(self.call)
        except KeyboardInterrupt as interrupt:
            return interrupt
        finally:
            self.where = None

    async def awaited(self, made: Any) -> Outcome | BaseException:
        """In the loop where coroutine tools live."""
        self.where = "loop"
        try:
            return await (run_call_async(self.call) if made is None else awaited(self.call, made))
        except KeyboardInterrupt as interrupt:
            return interrupt
        finally:
            self.where = None

    async def ended(self, seconds: float) -> bool:
        """Wait at most this long for the tool to end; return whether it has."""
        until = time.perf_counter() + seconds
        while self.where and time.perf_counter() < until:
            await asyncio.sleep(0.005)
        return self.where is None


def too_late(call: Call, stopped: bool) -> TimeoutError:
    said = f"`{call.tool.name}` gave no answer within {call.tool.timeout:g} seconds"
    if call.tool.effect == "read" or call.tool.idempotent:
        return TimeoutError(f"{said}, and nobody waits for it any longer. Ask for less, or go on without it.")
    end = ", and was stopped" if stopped else ". It may still be running, and take effect later"
    return TimeoutError(f"{said}{end}.")


def not_run(call: Call, busy: Call) -> Outcome:
    said = (
        f"`{call.tool.name}` was not run: `{busy.tool.name}` (`{busy.tool_use['id']}`) gave no answer in time and is "
        "still running, and two writes at once can undo each other. Look at what it did before you call again."
    )
    return failed(call.tool_use["id"], "NOT_RUN", said)


def started(one: Running) -> Event:
    return {"event": "started", "tool_use_id": one.context.tool_use_id, "input": one.call.input}


def result_event(outcome: Outcome | BaseException, times: Mapping[str, float] | None = None) -> Event:
    if isinstance(outcome, BaseException):
        raise outcome
    event: Event = {"event": "result", "result": outcome.result}
    if outcome.failure is not None:
        event["failure"] = outcome.failure
    if outcome.details is not None:
        event["details"] = outcome.details
    return {**event, **(times or {"seconds": 0.0})}  # one that was not run never began

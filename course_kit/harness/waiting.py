"""Where work is done while somebody waits for it: lasting event loops and daemon threads.

A wait can be interrupted: it ends at once, what can be cancelled is cancelled, and a thread that is still running does
not keep a script from exiting. What is run, and for how long, is next door, in `running.py`.
"""

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Sequence
from typing import Any

__all__ = [
    "in_thread",
    "inside_tool_loop",
    "lasting_loop",
    "tool_loop",
    "values",
    "values_async",
    "wait_for",
    "wakeful",
]

TOOLS = "coroutine tools"
SLICE = 0.2  # seconds; a wait without an end cannot be interrupted everywhere (on Windows, in a cell that awaits)

_loops: dict[str, asyncio.AbstractEventLoop] = {}
_one_at_a_time = threading.Lock()


def lasting_loop(name: str) -> asyncio.AbstractEventLoop:
    """The event loop of this name, made when it is first asked for; it keeps running in its own thread."""
    with _one_at_a_time:
        if name not in _loops:
            _loops[name] = asyncio.new_event_loop()
            threading.Thread(target=_loops[name].run_forever, name=name, daemon=True).start()
        return _loops[name]


def tool_loop() -> asyncio.AbstractEventLoop:
    """One lasting event loop for coroutine tools: what a tool opened in one call is usable in the next."""
    return lasting_loop(TOOLS)


def inside_tool_loop() -> bool:
    """Whether this code runs in the loop of the coroutine tools."""
    return TOOLS in _loops and asyncio._get_running_loop() is _loops[TOOLS]


def wait_for(awaitable: Any) -> Any:
    """The value of an awaitable, without `await`: a notebook's own event loop is already running and cannot be used."""
    if inside_tool_loop():
        awaitable.close()
        raise RuntimeError("A coroutine tool ran another one without `await`, which would never end: use `await`.")

    async def main() -> tuple[Any, BaseException | None]:
        try:
            return await awaitable, None
        except BaseException as error:  # subtle: a SystemExit let out here would end the loop for every later call
            return None, error

    ((value, error),) = values([main()], tool_loop())
    if error is not None:
        raise error
    return value


def values(coroutines: Sequence[Coroutine[Any, Any, Any]], loop: asyncio.AbstractEventLoop) -> Generator[Any]:
    """Run coroutines in a lasting loop and give their values as they come; to stop reading cancels the rest."""
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    futures = [asyncio.run_coroutine_threadsafe(coroutine, loop) for coroutine in coroutines]
    try:
        for future in futures:
            future.add_done_callback(done.put)
        for _ in futures:
            yield _next(done).result()
    finally:
        for future in reversed(futures):  # those still waiting first: else one that ends would let them begin
            future.cancel()


def _next(done: queue.SimpleQueue[Any]) -> Any:
    while True:
        try:
            return done.get(timeout=SLICE)
        except queue.Empty:
            pass


@contextlib.asynccontextmanager
async def wakeful() -> AsyncIterator[None]:
    """Around a long `await`: wake the event loop now and then.

    subtle: a notebook's interrupt wakes no sleeping loop (ipykernel 7.4); it is noticed when the loop wakes by itself.
    """

    async def tick() -> None:
        while True:
            await asyncio.sleep(SLICE)

    ticking = asyncio.ensure_future(tick())
    try:
        yield
    finally:
        ticking.cancel()


async def values_async(coroutines: Sequence[Coroutine[Any, Any, Any]]) -> AsyncGenerator[Any]:
    """The same in the caller's own loop."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        async with wakeful():
            for value in asyncio.as_completed(tasks):
                yield await value
    finally:
        for task in tasks:
            task.cancel()


def in_thread(function: Callable[[], Any], name: str) -> asyncio.Future[Any]:
    """Call a function in a daemon thread that has the caller's context variables; await the future for its value.

    No pool: Python waits for the threads of a pool before it exits, and one that hangs would keep it for ever.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    future = loop.create_future()

    def deliver(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(function)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(deliver, value, error)
        except RuntimeError:
            pass  # the loop was closed meanwhile: nobody waits any more

    threading.Thread(target=work, name=name, daemon=True).start()
    return future

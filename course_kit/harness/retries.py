"""Doing it again without doing it twice: repeated calls, and the keys that make them harmless.

Three levels can react to a failure: the transport sends the request again, the tool makes its call again, the model
writes another call. Their attempts multiply, so only one level may repeat a write, and only with a key by
which the other side recognises the operation. `repeated` is for tools; `idempotency_key` makes keys, and `KeyStore`
keeps them where the other side does not. How often the model may try is the loop's cap (`failures.py`); `stalls.py`
notices when it goes in circles, `spending.py` limits what a run may spend. `tenacity` does the waiting between two
attempts.
"""

import functools
import inspect
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course_kit.errors import SetupError, ToolError

from .failures import code_of
from .results import describe
from .store import NotFound, digest_of
from .store_file import dump
from .tools import Tool

__all__ = ["KeyStore", "idempotency_key", "passes", "repeated"]

# Codes of a `ToolError` after which something may have been done; any other says that nothing was.
UNSURE = {"TIMEOUT", "OUTCOME_UNKNOWN", "EXCEPTION", "INTERNAL"}


# The tool's level


class GaveUp(ToolError):
    """A repeated tool has given up: the call may succeed later, but no level above may repeat it now."""


def passes(error: BaseException) -> bool:
    """Whether a failure may be over at the next attempt: `TimeoutError()` → True, `KeyError("x")` → False."""
    if isinstance(error, GaveUp):
        return False
    return error.retryable if isinstance(error, ToolError) else isinstance(error, (TimeoutError, ConnectionError))


def repeated(
    tool: Tool,
    attempts: int = 3,
    *,
    first_wait: float = 0.5,
    longest_wait: float = 8.0,
    sleep: Callable[[float], Any] | None = None,
) -> Tool:
    """The same tool, whose call is tried up to `attempts` times while its failures are of a kind that passes.

    Between two attempts it waits: a random part of `first_wait`, then of twice as much, never more than `longest_wait`
    (so that a thousand callers do not come back together). The tool's `timeout` covers all attempts. When the last one
    fails, the model reads how often it was tried, and not to make the same call now.

    A plain write is refused, however it would fail: a call may make several requests, and when the second is turned
    away, the first has taken effect. `idempotent=True` is the tool's promise; nothing here can check it.
    """
    from tenacity import AsyncRetrying, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    if not isinstance(tool, Tool):
        raise TypeError("`repeated` takes a tool: write `@tool(effect='read')` above the function first.")
    if not isinstance(attempts, int) or attempts < 1:
        raise ValueError(f"attempts is {attempts!r}: the first attempt counts, so say 1 or more.")
    if tool.effect != "read" and not tool.idempotent:
        raise ValueError(
            f"`{tool.name}` writes, and made twice it takes effect twice: give its writes an idempotency key and say "
            "idempotent=True, or leave the repeating to the level that has one."
        )
    function = tool.function
    if hasattr(function, "attempts"):
        raise ValueError(f"`{tool.name}` is repeated already: two levels of {attempts} would multiply, so keep one.")
    options: dict[str, Any] = {
        "stop": stop_after_attempt(attempts),
        "wait": wait_random_exponential(multiplier=first_wait, max=longest_wait),
        "retry": retry_if_exception(passes),
        "reraise": True,
    }
    waiting: dict[str, Any] = {"sleep": sleep} if sleep else {}

    async def pause(seconds: float) -> None:
        made = sleep(seconds) if sleep else None
        if inspect.isawaitable(made):
            await made

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        try:
            return Retrying(**options, **waiting)(function, *args, **kwargs)
        except Exception as error:
            raise last_word(error, attempts, tool) from error

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        try:
            return await AsyncRetrying(**options, **(waiting and {"sleep": pause}))(function, *args, **kwargs)
        except Exception as error:
            raise last_word(error, attempts, tool) from error

    again: Any = awaited if tool.is_async else plain
    again.attempts = attempts
    return replace(tool, function=again)


def last_word(error: Exception, attempts: int, tool: Tool) -> Exception:
    """What the level above is told: how often it was tried, and that this is enough for now."""
    if not passes(error) or attempts == 1:
        return error
    said = error.message if isinstance(error, ToolError) else describe(error)
    hint = "do not call it again now: go on without it, or tell the user that it may work later"
    if tool.effect != "read" and not nothing_done(error):
        hint = "it may or may not have taken effect: do not call it again now, look before you tell the user anything"
    return GaveUp(code_of(error), f"{said} ({attempts} attempts were made)", retryable=True, hint=hint)


def nothing_done(error: BaseException) -> bool:
    """Whether a failure says that nothing was done: a `ToolError` does, unless its code is one of `UNSURE`."""
    return isinstance(error, ToolError) and error.code not in UNSURE


# Keys


def idempotency_key(task: str, step: str, inputs: Mapping[str, Any]) -> str:
    """One name for one operation, however often it is tried: from task, step and inputs, never from clock or chance.

    `idempotency_key("ticket-118", "refund cup", {"order_id": "ORD-20260914"})` → `"ticket-118/refund%20cup/4fd0…"`

    `inputs` are those that tell operations apart: the order and the amount, not a note that is worded differently
    each time. The order of their keys does not matter.
    """
    if not all(isinstance(name, str) and name.strip() for name in (task, step)):
        raise ValueError("A key says what it belongs to: name the task and the step, such as 'ticket-118', 'refund'.")
    if not isinstance(inputs, Mapping):
        raise TypeError("`inputs` is a dict of what tells operations apart, such as {'order_id': 'ORD-20260914'}.")
    return f"{quote(task, safe='')}/{quote(step, safe='')}/{digest_of(dict(inputs))[:16]}"


class KeyStore:
    """What was begun under which key and its result, for services that keep no keys themselves.

    One SQLite file; a constraint of its table keeps each key unique, for every thread and process. (The shop needs none
    of this: its ledger has such a column.) A result is kept for `keep`, by default a week; what was begun and never
    reported stays until somebody has looked.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep: timedelta = timedelta(days=7),
        clock: Callable[[], datetime] | None = None,
    ):
        if not isinstance(keep, timedelta):
            raise TypeError("`keep` is a length of time: write `timedelta(days=7)`.")
        self.path, self.keep = Path(path).expanduser().absolute(), keep
        self._clock = clock or (lambda: datetime.now(UTC))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._writing() as db:
            db.execute(
                """CREATE TABLE IF NOT EXISTS idempotency_keys
                   (key TEXT PRIMARY KEY, digest TEXT NOT NULL, begun_at TEXT NOT NULL, result TEXT)"""
            )

    def once(self, key: str, inputs: Any, do: Callable[[], Any]) -> Any:
        """Do it, unless it was done under this key: then return the first result. Results are plain JSON data.

        Other inputs under the same key are KEY_REUSED; a key that was begun without an outcome is OUTCOME_UNKNOWN. A
        `ToolError` of `do` says that nothing was done, and leaves the key free, unless its code is one of `UNSURE`.
        After anything else nobody knows, not even after a refused connection: an earlier request may have worked.
        """
        digest = digest_of(inputs)
        with self._writing() as db:
            old = self._stamp(self._clock() - self.keep)
            db.execute("DELETE FROM idempotency_keys WHERE result IS NOT NULL AND begun_at <= ?", (old,))
            try:
                row = key, digest, self._stamp(self._clock())
                db.execute("INSERT INTO idempotency_keys (key, digest, begun_at) VALUES (?, ?, ?)", row)
                first = None
            except sqlite3.IntegrityError:  # the key is there already
                first = db.execute("SELECT digest, result FROM idempotency_keys WHERE key = ?", (key,)).fetchone()
        if first is None:
            return self._do(key, do)
        if first[0] != digest:
            hint = "one key is for one operation: do not try again, look at what was done under it"
            raise ToolError("KEY_REUSED", f"the key {key} belongs to a call with other inputs", hint=hint)
        if first[1] is None:
            raise unknown(key)
        return json.loads(first[1])

    def settle(self, key: str, result: Any) -> None:
        """Somebody looked, and it was done: from now on this is its result. An existing result stays."""
        self._look_up(key)
        self._settle(key, result)

    def forget(self, key: str) -> None:
        """Somebody looked, and nothing was done: the key is free again. A key with a result stays."""
        self._look_up(key)
        self._forget(key)

    def _look_up(self, key: str) -> None:
        with self._writing() as db:
            if not db.execute("SELECT 1 FROM idempotency_keys WHERE key = ?", (key,)).fetchone():
                raise NotFound(f"Nothing was begun under the key {key!r}: write it as `once` was given it.")

    def _settle(self, key: str, result: Any) -> None:
        with self._writing() as db:
            change = "UPDATE idempotency_keys SET result = ? WHERE key = ? AND result IS NULL"
            db.execute(change, (dump("result", result), key))

    def _forget(self, key: str) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM idempotency_keys WHERE key = ? AND result IS NULL", (key,))

    def _do(self, key: str, do: Callable[[], Any]) -> Any:
        try:
            result = do()
        except ToolError as error:
            if nothing_done(error):
                self._forget(key)
            raise
        try:
            self._settle(key, result)
        except ToolError:  # BUSY, and by now something was done
            raise unknown(key) from None
        return json.loads(dump("result", result))  # the same whether it is the first time or not

    @staticmethod
    def _stamp(at: datetime) -> str:
        return at.astimezone(UTC).isoformat(timespec="microseconds")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, on its own connection; what is committed is on disk."""
        db = None
        try:
            db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if "locked" in str(error):
                raise ToolError("BUSY", "the store of keys is busy", retryable=True, hint="nothing was done") from None
            raise SetupError(f"Keys cannot be kept in {self.path} ({error}): choose another path.") from None
        finally:
            if db is not None:
                db.close()


def unknown(key: str) -> ToolError:
    said = f"{key} was begun and its outcome never reported: it may or may not have taken effect"
    return ToolError("OUTCOME_UNKNOWN", said, hint="look for its effect before anything is written")

"""One customer at the desk: all that an agent is given, and what is written down while it works.

An agent is a function of a `Job`. It may use `job.client`, `job.shop`, `job.decide`, `job.ask`, `job.more` and
`job.folder` as it likes; every use is watched from here. What a case puts into a job is in `suite.py`.
"""

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from course_kit.catalogue import catalogue
from course_kit.errors import ToolError
from course_kit.harness.tools import Effect, Tool
from course_kit.shop import Shop, open_shop

__all__ = ["METHODS", "Crash", "Diary", "Job", "WatchedShop", "fresh_shop", "other_tools"]

METHODS = ("search_orders", "query_order", "track_parcel", "search_products", "refund_order", "cancel_order")
IN_MEMORY = "/dev/shm"  # where there is one, no trial waits for a disk
READS = ("get", "list", "search", "find", "query", "check", "show", "read", "compare", "count", "describe")


class Crash(KeyboardInterrupt):
    """The process of an agent ends here. (An interrupt, so that no `except Exception` survives it.)"""


class Diary:
    """What happened, in order: `{"what": "shop", …}`, `{"what": "asked", …}`, `{"what": "question", …}`."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.together = 0  # the most calls that were in the shop at the same time
        self._inside = 0
        self._lock = threading.Lock()

    def write(self, what: str, **more: Any) -> dict[str, Any]:
        """Add a line, and return it."""
        with self._lock:
            self.lines.append({"what": what, **more})
            return self.lines[-1]

    def of(self, what: str) -> list[dict[str, Any]]:
        """The lines of one kind."""
        return [line for line in self.lines if line["what"] == what]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Around a call: counts how many are under way together."""
        with self._lock:
            self._inside += 1
            self.together = max(self.together, self._inside)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1


class WatchedShop(Shop):
    """The shop, with every call written down, and with the trouble that a case makes.

    `trouble` maps a method to a function of the number of the call (1, 2, …) and of `do`, which does the work.
    """

    def __init__(
        self,
        path: Path,
        customer_id: str | None = None,
        *,
        diary: Diary | None = None,
        trouble: Mapping[str, Callable[[int, Callable[[], Any]], Any]] | None = None,
        slow: float = 0.0,
    ):
        super().__init__(path, customer_id)
        self.diary, self.trouble, self.slow = diary or Diary(), trouble or {}, slow

    def for_customer(self, customer_id: str) -> "WatchedShop":
        """The same shop for one customer, watched by the same diary."""
        return WatchedShop(self.path, customer_id, diary=self.diary, trouble=self.trouble, slow=self.slow)

    def __deepcopy__(self, memo: dict[int, Any]) -> "WatchedShop":
        return self


def _watched(name: str) -> Callable[..., Any]:
    plain = getattr(Shop, name)

    def method(self: WatchedShop, *args: Any, **inputs: Any) -> Any:
        names = plain.__code__.co_varnames[1 : plain.__code__.co_argcount]
        inputs = {**dict(zip(names, args, strict=False)), **inputs}
        given = {key: value for key, value in inputs.items() if value is not None}
        line = self.diary.write("shop", method=name, inputs=given, failed="did not return")
        number = sum(one["method"] == name for one in self.diary.of("shop"))
        with self.diary.inside():
            time.sleep(self.slow)
            try:
                trouble = self.trouble.get(name)
                value = trouble(number, lambda: plain(self, **inputs)) if trouble else plain(self, **inputs)
            except ToolError as error:
                line["failed"] = error.code
                raise
            except BaseException as error:
                line["failed"] = type(error).__name__
                raise
        line["failed"] = None
        return value

    method.__name__, method.__doc__ = name, plain.__doc__
    return method


for _name in METHODS:
    setattr(WatchedShop, _name, _watched(_name))


@dataclass
class Job:
    """What an agent is given for one customer.

    `said`      what the customer writes
    `ticket`    the number of this task, such as "ticket-118"; the same when the job comes a second time
    `customer`  who is signed in, such as "CUS-1001"
    `client`    a client for the model
    `shop`      the shop, with everybody's orders in it
    `folder`    a folder for this ticket: what is in it is still there when the job comes a second time
    `more`      the tools of other services; empty except in the fourth stage
    """

    said: str
    ticket: str
    customer: str
    client: Any
    shop: WatchedShop
    folder: Path
    more: list[Tool] = field(default_factory=list)
    allowed: list[dict[str, Any]] = field(default_factory=list, repr=False)
    answers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def decide(self, call: Mapping[str, Any]) -> bool | str:
        """The person at the desk: an approver. She says yes to what the customer asked for, and to nothing else."""
        wanted = call.get("input") or {}
        name = call.get("name")
        yes = any(
            one["tool"] == name and all(wanted.get(key) == value for key, value in one["input"].items())
            for one in self.allowed
        )
        self.shop.diary.write("asked", tool=name, inputs=dict(wanted), yes=yes)
        return True if yes else "the customer did not ask for this"

    def ask(self, question: str) -> str:
        """The customer, who answers a question about what is missing."""
        known = [answer for word, answer in self.answers.items() if word in str(question).lower()]
        answer = " ".join(known) or "I do not know."
        self.shop.diary.write("question", text=str(question)[:300], answer=answer)
        return answer


@contextmanager
def fresh_shop(**options: Any) -> Iterator[tuple[WatchedShop, Path]]:
    """A shop as on the first morning and an empty folder, both gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="course-desk-", dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None))
    try:
        file = folder / "shop.sqlite3"
        file.write_bytes(_first_morning())
        (folder / "ticket").mkdir()
        yield WatchedShop(file, **options), folder / "ticket"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _first_morning() -> bytes:
    folder = Path(tempfile.mkdtemp(prefix="course-desk-"))
    try:
        return open_shop(folder / "shop.sqlite3").path.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def other_tools(diary: Diary) -> list[Tool]:
    """The sixty tools of operations, which write down that they were called and do nothing else."""
    return [_canned(entry, diary) for entry in catalogue(group="operations")]


def _canned(entry: Mapping[str, Any], diary: Diary) -> Tool:
    name = entry["name"]

    def answer(**inputs: Any) -> dict[str, Any]:
        diary.write("other", tool=name, inputs=json.loads(json.dumps(inputs, default=str)))
        return {"done": name, **inputs}

    effect: Effect = "read" if not set(READS).isdisjoint(name.split("_")) else "write"
    return Tool(answer, name, entry["description"], dict(entry["input_schema"]), effect=effect)

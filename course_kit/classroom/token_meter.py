"""The token meter: one conversation of many questions over large results, and what each strategy makes of it.

`token_meter(tasks, strategies)` shows it; without a mouse, `.run("head only", budget=2000)` plays the conversation and
`.turn("head only", 7)` says what was asked, answered and paid in one turn. A task is a question and the words that a
right answer holds; a strategy makes, for a budget in characters, the tools that the model gets. The model is simulated
and the tokens are estimates (`mock/usage.py`). How results are cut is `harness/results.py`.

`twenty_questions()` gives lesson 08's conversation, over logs and lists that are the same on every machine.
"""

import html
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_kit.classroom.fields import choice_field, choice_rules, number_field, status
from course_kit.classroom.shown import Shown
from course_kit.contract.messages import user
from course_kit.harness.agent import run_agent
from course_kit.harness.mending import trim_messages
from course_kit.harness.tools import Tool

__all__ = ["Metered", "Reading", "TokenMeter", "make_log", "token_meter", "twenty_questions"]

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)
WIDEST = 40  # characters of the longest bar
PRE = '<pre style="white-space: pre-wrap; word-break: normal">'
# A bar that goes on in the next line looks like two: these lines scroll, and their width does not stretch the page.
BARS = '<pre style="white-space: pre; overflow-x: auto; width: 0; min-width: 100%">'
Strategy = Callable[[int], Sequence[Tool]]


@dataclass(frozen=True)
class Reading:
    """One turn of the conversation: `context` is its last request's input tokens, `paid` those of all its requests."""

    question: str
    fact: str
    said: str
    context: int
    paid: int

    @property
    def answered(self) -> bool:
        """Whether the answer holds the fact that was asked for."""
        return self.fact in self.said


@dataclass(frozen=True, repr=False)
class Metered:
    """A conversation under one strategy, turn by turn."""

    strategy: str
    readings: tuple[Reading, ...]

    @property
    def contexts(self) -> list[int]:
        """Input tokens of the last request of each turn."""
        return [reading.context for reading in self.readings]

    @property
    def paid(self) -> int:
        """Input tokens of all requests, added up."""
        return sum(reading.paid for reading in self.readings)

    @property
    def lost(self) -> list[int]:
        """The turns whose answer did not hold what was asked for, counted from 1."""
        return [number for number, reading in enumerate(self.readings, 1) if not reading.answered]

    def __repr__(self) -> str:
        lost = f"{len(self.lost)} of {len(self.readings)} answers lost (simulated)"
        return f"context at the end {self.contexts[-1]:>7,}   paid in all {self.paid:>9,}   {lost}"


def play(
    tasks: Sequence[tuple[str, str]], tools: Sequence[Tool], keep: int | None = None, model: Any = None
) -> tuple[Reading, ...]:
    """The conversation, task by task; `keep` is how many messages are kept before each new question."""
    from course_kit.mock.provider import MockProvider
    from course_kit.mock.simulated import Simulated

    history: list[Any] = []
    readings = []
    for question, fact in tasks:
        history = trim_messages(history, keep) if keep is not None and history else history
        provider = MockProvider(model or Simulated())
        run = run_agent(provider.client(), tools=tools, messages=[*history, user(question)], budget=10_000_000)
        replies = [event["message"] for event in run.trace.events if event["event"] == "reply"]
        spent = [reply["usage"]["input_tokens"] for reply in replies]
        readings.append(Reading(question, fact, run.text, spent[-1], sum(spent)))
        history = run.messages
    return tuple(readings)


def make_log(service: str, lines: int) -> str:
    """A night of one service: how it starts, many orders, and two errors, the last of them twelve lines before the end.

    `make_log("mail", 300)` → `"00:00:00 INFO mail version 4.17 started\n00:01:36 INFO mail order ORD-…"`
    """
    draw = random.Random(service)
    log = [f"00:00:00 INFO {service} version 4.{draw.randrange(90)} started"]
    for n in range(1, lines):
        second = n * 28_800 // lines  # eight hours
        order = f"ORD-2026{draw.randrange(1, 10):02}{draw.randrange(10, 29)}"
        took = f"{draw.randrange(20, 900)} ms"
        log.append(f"{_clock(second)} INFO {service} order {order} took {took}")
    for n in (min(90, lines // 3), lines - 12):
        log[n] = f"{log[n][:8]} ERROR {service} code E{draw.randrange(100, 999)}, gave up"
    return "\n".join(log)


def _clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def _make_orders(month: str) -> list[dict[str, Any]]:
    draw = random.Random(month)
    states = ["paid", "packed", "shipped", "delivered", "delivered"]
    return [
        {
            "order_id": f"ORD-{20260000 + n}",
            "status": draw.choice(states),
            "paid_cents": draw.randrange(500, 20_000),
            "warehouse": draw.choice(["north", "south"]),
            "weight_grams": draw.randrange(100, 9_000),
            "updated_at": f"2026-09-{n % 28 + 1:02}T07:00:00+02:00",
        }
        for n in range(100)
    ]


def twenty_questions() -> tuple[list[tuple[str, str]], dict[str, str], dict[str, list[dict[str, Any]]]]:
    """Lesson 08's tasks, the logs by service and the orders by month that they are about.

    They ask for the start, the last error and a line just after the middle of each log, and a count of each list.
    """
    services = ("checkout", "payments", "search", "mail", "stock")
    months = ("April", "June", "July", "August", "September")
    logs = {service: make_log(service, 300) for service in services}
    lists = {month: _make_orders(month) for month in months}
    tasks = []
    for service, month in zip(services, months, strict=True):
        lines = logs[service].split("\n")
        orders = [line.split()[4] for line in lines[1:] if "INFO" in line]
        middle = next(line for line in lines[150:] if "INFO" in line and orders.count(line.split()[4]) == 1)
        packed = sum(order["status"] == "packed" for order in lists[month])
        tasks += [
            (f"Read the log of {service}: which version started?", lines[0].split()[4]),
            (f"Read the log of {service} and find the last ERROR in it.", lines[-12].split()[4].strip(",")),
            (f"Read the log of {service} and find {middle.split()[4]} in it.", middle.split("took ")[1]),
            (f"List the orders of {month}: how many have status packed?", f"packed: {packed}"),
        ]
    return tasks, logs, lists


class TokenMeter(Shown):
    """The same tasks under several strategies; what was played once is kept."""

    def __init__(self, tasks: Sequence[tuple[str, str]], strategies: Mapping[str, Strategy], budget: int = 4_000):
        if not tasks or not strategies:
            raise ValueError("A token meter needs at least one task and one strategy.")
        self.tasks, self.strategies, self.budget = list(tasks), dict(strategies), budget
        self._played: dict[tuple[str, int, int | None], Metered] = {}

    def run(self, strategy: str, budget: int | None = None, keep: int | None = None) -> Metered:
        """Play the whole conversation under one strategy, with at most `keep` messages of it kept for each turn."""
        if strategy not in self.strategies:
            raise ValueError(f"There is no strategy {strategy!r}: choose from {', '.join(self.strategies)}.")
        key = (strategy, self.budget if budget is None else budget, keep)
        if key not in self._played:
            self._played[key] = Metered(strategy, play(self.tasks, self.strategies[strategy](key[1]), keep))
        return self._played[key]

    def compare(self, budget: int | None = None, keep: int | None = None) -> dict[str, Metered]:
        """Every strategy on the same tasks."""
        return {strategy: self.run(strategy, budget, keep) for strategy in self.strategies}

    def turn(self, strategy: str, number: int, budget: int | None = None) -> str:
        """One turn, counted from 1: the question, the answer, what it holds, what it cost."""
        readings = self.run(strategy, budget).readings
        if not 1 <= number <= len(readings):
            raise ValueError(f"There is no turn {number}: choose from 1 to {len(readings)}.")
        reading = readings[number - 1]
        verdict = "holds" if reading.answered else "does not hold"
        return (
            f"{reading.question}\n→ {reading.said}\n"
            f"The answer {verdict} {reading.fact!r} (simulated). Context: {reading.context:,} tokens (estimated)."
        )

    def bars(self, strategy: str, budget: int | None = None) -> str:
        """A line for each turn: its context as a bar, and ✗ where the answer was lost."""
        metered = self.run(strategy, budget)
        widest = max(max(played.contexts) for played in self._played.values())
        lines = [
            f"{number:>3} {'✗' if number in metered.lost else '·'} {context:>8,} {'█' * (WIDEST * context // widest)}"
            for number, context in enumerate(metered.contexts, 1)
        ]
        return "\n".join([f"{strategy}: {metered}", *lines])

    def as_text(self) -> str:
        first = next(iter(self.strategies))
        lines = [
            f"Token meter: {len(self.tasks)} questions, {self.budget:,} characters for a result (simulated)",
            *(f"  {strategy:18} {metered}" for strategy, metered in self.compare().items()),
            f"Run this cell to choose, or write: meter.run({first!r}, budget=2000), meter.turn({first!r}, 7)",
        ]
        return "\n".join(lines)

    def as_html(self) -> str:
        return f"{PRE}{html.escape(self.as_text())}</pre>"


def token_meter(
    tasks: Sequence[tuple[str, str]], strategies: Mapping[str, Strategy], budget: int = 4_000
) -> TokenMeter:
    """A token meter over a conversation; its plain calls are `.run("…", budget=2000)` and `.turn("…", 7)`."""
    return _widget()(tasks, strategies, budget)


@cache
def _widget() -> type[TokenMeter]:
    try:
        import ipywidgets
    except ImportError:
        return TokenMeter

    class TokenMeterWidget(TokenMeter, ipywidgets.VBox):
        """`.strategy`, `.size` and `.number` are the parts to use; `.result` and `.said` answer."""

        def __init__(self, tasks: Sequence[tuple[str, str]], strategies: Mapping[str, Strategy], budget: int):
            TokenMeter.__init__(self, tasks, strategies, budget)
            first = next(iter(self.strategies))
            self.strategy = choice_field("Strategy", self.strategies, first, "How results are cut")
            sizes = [(f"{size:,}", size) for size in sorted({*BUDGETS, budget})]
            self.size = choice_field("Characters", sizes, budget, "The budget of a result")
            self.number = number_field("Turn", 1, 1, len(self.tasks), f"Turn 1 to {len(self.tasks)}")
            self.result, self.said = ipywidgets.HTML(), ipywidgets.HTML()
            for part in (self.strategy, self.size, self.number):
                part.observe(lambda _: self._show(), "value")
            parts = [choice_rules(), self.strategy, self.size, self.result, self.number, self.said]
            ipywidgets.VBox.__init__(self, parts)
            self.add_class("course-token-meter")
            self._show()

        def _show(self) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                chosen, size = self.strategy.value, self.size.value
                head, bars = html.escape(self.bars(chosen, size)).split("\n", 1)
                self.result.value = f"{PRE}{head}</pre>{BARS}{bars}</pre>"
                self.said.value = status(f"{PRE}{html.escape(self.turn(chosen, self.number.value, size))}</pre>")
            except Exception as error:
                self.result.value = status(f"<p>✗ This could not be played: {html.escape(str(error))}</p>")

    return TokenMeterWidget

"""Who runs when: a recorder for `on_event`, and a board on which turns of calls are planned.

`run_agent(..., on_event=recorder)` fills a `Recorder`; it shows what ran at the same time and what one after another,
in rounds and without seconds, so that it is the same on every machine. The seconds are in `recorder.bars`, which
`plots.plot_timeline` draws. `timeline()` is a board to play with: it runs nothing, and computes from given durations
when each call would run. Which calls run together is decided in `harness/running.py`; this module asks it.
"""

import heapq
import html
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from course_kit.classroom.fields import number_field, on_press, status
from course_kit.classroom.shown import Shown
from course_kit.contract.messages import tool_use, tool_use_blocks
from course_kit.harness.running import batches
from course_kit.harness.tools import Call, prepare, tool

__all__ = ["Bar", "Board", "Recorder", "Schedule", "timeline"]

SIGNS = {"read": "█", "write": "▒", "failed": "✗"}
# What a letter means: the name of a tool, the kind of its bar, how many ticks it takes.
LETTERS = {
    "r": ("read", "read", 1),
    "s": ("slow_read", "read", 3),
    "f": ("failing_read", "failed", 1),
    "w": ("write", "write", 1),
}
HOW = "Type a turn, such as srrrrr: r a read, s a slow read (3 ticks), f a read that fails, w a write."
MOST_CALLS = 20
LONGEST = 24
PRE = '<pre style="line-height: 1.3; white-space: pre-wrap; word-break: normal">'


@dataclass(frozen=True)
class Bar:
    """One call: what to call it, when it ran (in seconds or ticks since the first began), its kind (see `SIGNS`)."""

    label: str
    begin: float
    end: float
    kind: str = "read"


class Recorder(Shown):
    """A recorder of who ran when: `run_agent(..., on_event=Recorder())`. Tools named in `writes` are drawn as writes.

    `.bars` in call order, `.most` how many ran at once, `.rounds` how many had to run one after another. What it shows
    has a column for each round, however long that took.
    """

    def __init__(self, writes: Collection[str] = (), *, clock: Callable[[], float] = time.perf_counter):
        self.writes = frozenset([writes] if isinstance(writes, str) else writes)
        self._calls: dict[str, Mapping[str, Any]] = {}
        self._ended: dict[str, tuple[float, float, bool]] = {}  # a call that began: when it ended, its seconds, failed
        self._begun: list[str] = []
        self._clock = clock

    def __call__(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"event": "reply", "message": message}:
                for block in tool_use_blocks(message):
                    self._calls[block["id"]] = block
            case {"event": "started", "tool_use_id": id}:
                self._begun.append(id)
            case {"event": "result", "result": result, "seconds": seconds}:
                self._ended[result["tool_use_id"]] = (self._clock(), seconds, bool(result.get("is_error")))

    @property
    def bars(self) -> list[Bar]:
        """The calls that began and ended, in the order they were announced: the order of the calls."""
        made = [(id, *self._ended[id]) for id in self._begun if id in self._ended]
        start = min((end - seconds for _, end, seconds, _ in made), default=0.0)
        return [
            Bar(self._label(id), end - seconds - start, end - start, self._kind(id, failed))
            for id, end, seconds, failed in made
        ]

    def _label(self, id: str) -> str:
        """A call in a word or two: its name and its first input that is a short text."""
        call = self._calls.get(id, {"name": id, "input": {}})
        short = (value for value in call["input"].values() if isinstance(value, str) and len(value) <= LONGEST)
        return f"{call['name']} {next(short, '')}".rstrip()

    def _kind(self, id: str, failed: bool) -> str:
        name = self._calls[id]["name"] if id in self._calls else ""
        return "failed" if failed else "write" if name in self.writes else "read"

    @property
    def most(self) -> int:
        """How many calls were at work at the same time, at most."""
        shrunk = _shrunk(self.bars)
        return max((sum(b <= begin < e for b, e in shrunk) for begin, _ in shrunk), default=0)

    @property
    def rounds(self) -> int:
        """How many calls had to run one after another, at most."""
        return max((last for _, last in _columns(self.bars)), default=0)

    def as_text(self) -> str:
        bars = self.bars
        head = f"{_count(len(bars), 'call')}, at most {self.most} at once, {_count(self.rounds, 'round')}"
        return "\n".join([head, *_chart(bars, [(first - 1, last) for first, last in _columns(bars)])])

    def as_html(self) -> str:
        return f"{PRE}{html.escape(self.as_text())}</pre>"


def _chart(bars: Sequence[Bar], columns: Sequence[tuple[float, float]]) -> list[str]:
    """A line for each bar, drawn from one column to the other."""
    width = max((len(bar.label) for bar in bars), default=0)
    return [
        f"  {bar.label:{width}}  {'  ' * int(begin)}{SIGNS[bar.kind] * 2 * int(end - begin)}"
        for bar, (begin, end) in zip(bars, columns, strict=True)
    ]


def _shrunk(bars: list[Bar]) -> list[tuple[float, float]]:
    """The times of the bars, a little shorter at both ends, so that a busy machine's delays change no count."""
    slack = statistics.median(bar.end - bar.begin for bar in bars) / 4 if bars else 0.0
    times = []
    for bar in bars:
        middle = (bar.begin + bar.end) / 2
        times.append((min(bar.begin + slack, middle), max(bar.end - slack, middle + 1e-9)))
    return times


def _columns(bars: list[Bar]) -> list[tuple[int, int]]:
    """For each bar the first and the last round it takes part in, counted from 1."""
    times = _shrunk(bars)
    first: dict[int, int] = {}
    for place in sorted(range(len(bars)), key=lambda place: times[place][0]):
        before = [first[other] for other in first if times[other][1] <= times[place][0]]
        first[place] = 1 + max(before, default=0)
    # A bar lasts until the last round that begins before it ends.
    return [
        (first[place], max(first[other] for other in first if times[other][0] < end))
        for place, (_, end) in enumerate(times)
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# Something to play with


@dataclass(frozen=True, repr=False)
class Schedule(Shown):
    """When each call of a turn would run, in whole ticks: computed, not measured. `.bars` are in call order."""

    bars: tuple[Bar, ...]

    @property
    def ticks(self) -> int:
        """After how many ticks the last call is done."""
        return int(max(bar.end for bar in self.bars))

    @property
    def most(self) -> int:
        """How many calls are at work at the same time, at most."""
        return max(sum(bar.begin <= tick < bar.end for bar in self.bars) for tick in range(self.ticks))

    def as_text(self) -> str:
        done = f"done after {_count(self.ticks, 'tick')}"
        head = f"{_count(len(self.bars), 'call')}, at most {self.most} at once, {done} (computed, not run)"
        return "\n".join([head, *_chart(self.bars, [(bar.begin, bar.end) for bar in self.bars])])

    def as_html(self) -> str:
        return f"{PRE}{html.escape(self.as_text())}</pre>"


def _schedule(letters: str, limit: int) -> Schedule:
    """The kit says which calls run together; within a batch the next call takes the place that is free first."""
    calls = [_made_up(letter, str(number)) for number, letter in enumerate(letters, 1)]
    kinds = iter(letters)
    bars: list[Bar] = []
    now = 0
    for batch in batches(calls, limit, None):
        free = [now] * limit  # the tick from which each place is free
        for _ in batch:
            name, kind, ticks = LETTERS[next(kinds)]
            begin = heapq.heappop(free)
            heapq.heappush(free, begin + ticks)
            bars.append(Bar(f"{name} {len(bars) + 1}", begin, begin + ticks, kind))
        now = max(free)
    return Schedule(tuple(bars))


class Board(Shown):
    """Turns of calls, written as letters: `timeline().play("rrwr", limit=2)`."""

    def __init__(self) -> None:
        self.last: Schedule | None = None

    def play(self, turn: str = "rrrrrr", limit: int = 5) -> Schedule:
        """Plan a turn: `r` a read, `s` a slow read (three ticks), `f` a read that fails, `w` a write."""
        if not isinstance(turn, str):
            raise TypeError("A turn is a text of letters, such as 'rrwr'.")
        letters = "".join(turn.split())
        if unknown := set(letters) - set(LETTERS):
            told = ", ".join(f"{letter} ({name})" for letter, (name, _, _) in LETTERS.items())
            raise ValueError(f"A turn has no {min(unknown)!r}: write it with {told}, such as 'rrwr'.")
        if not 1 <= len(letters) <= MOST_CALLS:
            raise ValueError(f"A turn has 1 to {MOST_CALLS} letters here, not {len(letters)}.")
        self.last = _schedule(letters, limit)
        return self.last

    def as_text(self) -> str:
        return "\n".join(["Timeline", HOW, *([] if self.last is None else [self.last.as_text()])])

    def as_html(self) -> str:
        return f"{PRE}{html.escape(self.as_text())}</pre>"


def _made_up(letter: str, number: str) -> Call:
    """A call of a small tool that is never run."""

    def nothing(number: str) -> None:
        pass

    made = tool(nothing, effect="write" if letter == "w" else "read", name=LETTERS[letter][0], description="Nothing.")
    call = prepare(tool_use(f"toolu_{number}", made.name, {"number": number}), [made])
    assert isinstance(call, Call)
    return call


def timeline() -> Board:
    """A board to try turns of calls on; the plain call is `.play("rrwr", limit=2)`."""
    return _widget()()


@cache
def _widget() -> type[Board]:
    try:
        import ipywidgets
    except ImportError:
        return Board

    class BoardWidget(Board, ipywidgets.VBox):
        """`.turn`, `.limit` and `.button` are the parts to use; `.result` answers."""

        def __init__(self) -> None:
            Board.__init__(self)
            style = {"description_width": "9em"}
            self.turn = ipywidgets.Text(
                value="rrrrrr",
                description="Calls of the turn",
                tooltip=HOW,
                style=style,
            )
            self.limit = number_field("At once, at most", 5, 1, 10, "How many calls may run at once", name_width="9em")
            self.button = ipywidgets.Button(
                description="Plan the turn", tooltip="Compute when each of these calls would run"
            )
            self.result = ipywidgets.HTML()
            on_press(self.button, [self.turn, self.limit], self._plan)
            self.turn.on_msg(lambda _, said, buffers: self._plan() if said.get("event") == "submit" else None)  # Enter
            how = ipywidgets.HTML(f"<p>{HOW}</p>")
            ipywidgets.VBox.__init__(self, [how, self.turn, self.limit, self.button, self.result])
            self.add_class("course-timeline")
            self._plan()

        def play(self, turn: str = "rrrrrr", limit: int = 5) -> Schedule:
            planned = super().play(turn, limit)
            self.turn.value, self.limit.value = turn, limit  # what is drawn below them
            self.result.value = status(planned.as_html())
            return planned

        def _plan(self) -> None:
            try:  # an exception in a handler leaves no trace in the notebook
                self.play(self.turn.value, self.limit.value)
            except Exception as error:
                self.result.value = status(f"<p>✗ This turn could not be planned: {html.escape(str(error))}</p>")

    return BoardWidget

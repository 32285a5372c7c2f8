"""The prompt cache: small cases by hand, the sum that always holds, what a miss is called and what a report says."""

import json
from dataclasses import astuple
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.contract.protocol import check_request
from course_kit.mock.caching import CacheUse, PromptCache, message_settings, pieces_of
from course_kit.mock.prompt_changes import cache_miss_reason, change_between
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import search
from course_kit.mock.usage import count_tokens

OPUS, OLD = "claude-opus-5", "claude-haiku-4-5"  # kept from 512 and from 4096 tokens on
MARK = {"type": "ephemeral"}
LONG = "x" * 4000


def text(value: str = LONG, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **fields}


def tool(name: str = "find", **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": LONG, "input_schema": {"type": "object"}, **fields}


def body(*messages: Any, model: str = OPUS, **fields: Any) -> dict[str, Any]:
    content = messages or ([text("Hi.")],)
    roles = ("user", "assistant")
    turns = [{"role": roles[i % 2], "content": one} for i, one in enumerate(content)]
    return {"model": model, "max_tokens": 100, "messages": turns, **fields}


def tokens_of(*parts: Any, role: str = "user") -> int:
    """By hand: the blocks' JSON with `, ` between them, and the role once for each block; four characters a token."""
    characters = sum(len(json.dumps(part)) + len(role) for part in parts) + 2 * (len(parts) - 1)
    return -(-characters // 4)


def usage(*bodies: dict[str, Any]) -> list[tuple[int, int, int]]:
    """`(fresh, read, written)` of these requests, one after the other to one cache."""
    cache = PromptCache()
    used = [cache.use(one) for one in bodies]
    return [(one.fresh, one.read, one.written_5m + one.written_1h) for one in used]


# The cache


def test_without_a_mark_nothing_is_kept() -> None:
    whole = count_tokens(body([text()]))
    assert usage(body([text()]), body([text()])) == [(whole, 0, 0), (whole, 0, 0)]


def test_one_mark_is_written_once_and_read_ever_after() -> None:
    marked = body([text(cache_control=MARK), text("Why?")])
    kept, rest = tokens_of(text()), count_tokens(marked) - tokens_of(text())
    assert usage(marked, marked, marked) == [(rest, 0, kept), (rest, kept, 0), (rest, kept, 0)]


def test_a_growing_conversation_reads_what_it_wrote_though_the_mark_moves() -> None:
    first = body([text(cache_control=MARK)])
    second = body([text()], [text("A.")], [text("B.", cache_control=MARK)])
    third = body([text()], [text("A.")], [text("B.")], [text("C.")], [text("D.", cache_control=MARK)])
    sizes = [count_tokens(one) for one in (first, second, third)]
    assert usage(first, second, third) == [
        (0, 0, sizes[0]),
        (0, sizes[0], sizes[1] - sizes[0]),
        (0, sizes[1], sizes[2] - sizes[1]),
    ]


def test_automatic_caching_marks_the_end() -> None:
    first = body([text()], cache_control=MARK)
    second = body("x" * 4000, [text("A.")], "B.", cache_control=MARK)
    sizes = [count_tokens(one) for one in (first, second)]
    assert usage(first, second) == [(0, 0, sizes[0]), (0, sizes[0], sizes[1] - sizes[0])]


def test_automatic_caching_leaves_a_mark_at_the_end_as_it_is() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    last = body([text(cache_control=MARK), text("Why?")], cache_control=hour)
    assert [piece.keep for piece in pieces_of(last)] == ["5m", "1h"]
    own = body([text(), text("Why?", cache_control=MARK)], cache_control=hour)
    assert [piece.keep for piece in pieces_of(own)] == [None, "5m"]
    assert PromptCache().use({**body(), "messages": []} | {"cache_control": MARK}) == CacheUse(0)


def test_a_mark_or_a_picture_inside_a_result_counts() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    hour = {"type": "ephemeral", "ttl": "1h"}
    for parts, keep, pictures in [
        ([text("4 C"), text("wet", cache_control=hour)], "1h", False),
        ([picture, "no block"], None, True),
        ("4 C", None, False),
    ]:
        sent = body("Weather?", calls(1), [{**results(1)[0], "content": parts}])
        assert [piece.keep for piece in pieces_of(sent)] == [None, None, keep]
        assert message_settings(sent)["images in the conversation"] is pictures


def test_what_comes_after_the_last_mark_is_not_looked_up() -> None:
    kept_to_the_end = body([text(cache_control=MARK)], system=[text()])
    marked_early = body([text()], system=[text(cache_control=MARK)])
    assert usage(kept_to_the_end, marked_early)[1][1] == 0


def test_a_mark_ahead_of_what_is_read_is_not_paid_for_again() -> None:
    late = body([text(), text("Why?", cache_control=MARK)])
    both = body([text(cache_control=MARK), text("Why?", cache_control=MARK)])
    whole = count_tokens(late)
    assert usage(late, both) == [(0, 0, whole), (0, whole, 0)]


@pytest.mark.parametrize(("model", "written"), [(OPUS, True), (OLD, False)])
def test_a_short_prefix_is_not_kept(model: str, written: bool) -> None:
    # About 1000 tokens: over the floor of Opus 5 (512), under that of Haiku 4.5 (4096).
    assert (usage(body([text(cache_control=MARK)], model=model))[0][2] > 0) is written


@pytest.mark.parametrize(("model", "floor"), [(OPUS, 512), ("claude-of-next-year", 1024)])
def test_a_prefix_is_kept_from_its_floor_on(model: str, floor: int) -> None:
    room = 4 * floor - len(json.dumps(text(""))) - len("user")
    for spare, kept in ((0, floor), (4, 0)):
        one = body([text("x" * (room - spare), cache_control=MARK)], model=model)
        assert PromptCache().use(one) == CacheUse(floor - spare // 4 - kept, written_5m=kept)


def test_two_readings_of_one_prompt_add_up_and_the_later_one_says_what_is_kept() -> None:
    both = CacheUse(1, 2, 3, 4, kept=5, missed="expired") + CacheUse(10, 20, 30, 40, kept=50, missed="lookback")
    assert astuple(both) == (11, 22, 33, 44, 50, "expired")


def test_ttl_splits_what_is_written() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    used = PromptCache().use(body([text(cache_control=MARK)], system=[text(cache_control=hour)]))
    assert used.written_1h == -(-len(json.dumps(text())) // 4)
    assert used == CacheUse(0, 0, count_tokens(body([text()], system=[text()])) - used.written_1h, used.written_1h)
    assert used.usage() == {
        "cache_creation": {"ephemeral_1h_input_tokens": used.written_1h, "ephemeral_5m_input_tokens": used.written_5m},
        "cache_creation_input_tokens": used.written_5m + used.written_1h,
        "cache_read_input_tokens": 0,
        "input_tokens": 0,
    }


TOOLS = [tool("a"), tool("b", cache_control=MARK)]
SYSTEM = [text("Be kind." + LONG, cache_control=MARK)]
ASKED = body([text(cache_control=MARK)], tools=TOOLS, system=SYSTEM)
PREFIX = {
    "nothing": 0,
    "tools": count_tokens(body([], tools=TOOLS)),
    "system": count_tokens(body([], tools=TOOLS, system=SYSTEM)),
    "all": count_tokens(ASKED),
}


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({}, "all"),
        ({"tools": [tool("b"), tool("a", cache_control=MARK)]}, "nothing"),
        ({"model": "claude-opus-4-8"}, "nothing"),
        ({"system": [text("Be short." + LONG, cache_control=MARK)]}, "tools"),
        ({"tool_choice": {"type": "none"}}, "system"),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, "system"),
        ({"thinking": {"type": "disabled"}}, "system"),
        ({"messages": [{"role": "user", "content": [text("y" + LONG, cache_control=MARK)]}]}, "system"),
        ({"max_tokens": 5}, "all"),
        ({"tool_choice": {"type": "auto"}}, "all"),
        ({"tools": [*TOOLS, tool("c", defer_loading=True)]}, "all"),
        ({"output_config": {"effort": "low"}}, "system"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "tools"),
        ({"speed": "fast"}, "tools"),
    ],
    ids=[
        *("same", "tools_reordered", "model", "system", "choice", "parallel_flag", "thinking", "messages"),
        *("max_tokens", "choice_as_by_default", "deferred_tool_added", "effort", "format", "speed"),
    ],
)
def test_what_a_change_leaves_cached(change: dict[str, Any], read: str) -> None:
    changed = {**ASKED, **change}
    assert usage(ASKED, changed)[1][1] == PREFIX[read]


def test_fr26_tools_in_another_order_pay_for_everything_again() -> None:
    sizes = count_tokens(ASKED)
    reordered = {**ASKED, "tools": [tool("b"), tool("a", cache_control=MARK)]}
    assert usage(ASKED, reordered) == [(0, 0, sizes), (0, 0, sizes)]
    assert cache_miss_reason(ASKED, reordered)["type"] == "tools_changed"


def test_an_image_makes_the_messages_new() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    grown = {**ASKED, "messages": [*ASKED["messages"], {"role": "assistant", "content": "A."}]}
    for last, read in (([text("B.", cache_control=MARK)], "all"), ([image, text("B.", cache_control=MARK)], "system")):
        one = {**grown, "messages": [*grown["messages"], {"role": "user", "content": last}]}
        assert usage(ASKED, one)[1][1] == PREFIX[read]


# How long, and how far back


def times(*steps: tuple[float, dict[str, Any]]) -> list[tuple[int, int, str | None]]:
    """`(read, written, missed)` of requests that came at these seconds."""
    cache = PromptCache()
    used = [cache.use(one, now) for now, one in steps]
    return [(one.read, one.written_5m + one.written_1h, one.missed) for one in used]


HOUR = {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    ("mark", "gaps", "reads"),
    [
        (MARK, (299,), [True]),
        (MARK, (300,), [False]),
        (MARK, (200, 200, 200), [True, True, True]),
        (MARK, (200, 300, 10), [True, False, True]),
        (HOUR, (3599,), [True]),
        (HOUR, (3600,), [False]),
        ({**MARK, "ttl": "5m"}, (300,), [False]),
    ],
    ids=["in_time", "expired", "reading_keeps_it", "written_again", "hour", "hour_over", "five_minutes_said"],
)
def test_a_prefix_lives_from_its_last_use(mark: Any, gaps: tuple[float, ...], reads: list[bool]) -> None:
    one = body([text(cache_control=mark), text("Why?")])
    size, now, steps = tokens_of(text()), 0.0, [(0.0, one)]
    for gap in gaps:
        now += gap
        steps.append((now, one))
    expected = [(0, size, None)] + [(size, 0, None) if hit else (0, size, "expired") for hit in reads]
    assert times(*steps) == expected


def test_being_read_from_a_later_mark_keeps_a_prefix_too() -> None:
    first = body([text(cache_control=MARK)])
    size, later = count_tokens(first), grown(first)
    steps = times((0, first), (200, later), (400, first))
    assert steps == [(0, size, None), (size, count_tokens(later) - size, None), (size, 0, None)]


def test_an_hour_is_not_shortened_by_five_minutes() -> None:
    hour, five = body([text(cache_control=HOUR)]), body([text(cache_control=MARK)])
    size = count_tokens(hour)
    assert times((0, hour), (10, five), (1000, five)) == [(0, size, None), (size, 0, None), (size, 0, None)]
    assert times((0, five), (10, hour), (1000, five)) == [(0, size, None), (size, 0, None), (size, 0, None)]


def test_what_expired_after_an_hour_is_kept_anew_for_as_long_as_it_is_marked() -> None:
    hour, five = body([text(cache_control=HOUR)]), body([text(cache_control=MARK)])
    size = count_tokens(hour)
    assert times((0, hour), (3600, five), (3900, five)) == [(0, size, None), (0, size, "expired"), (0, size, "expired")]


def test_a_longer_prefix_that_nothing_asks_for_is_not_missed() -> None:
    early, late = text(cache_control=MARK), text("Why?", cache_control=MARK)
    size = tokens_of(text())
    assert times((0, body([early, late])), (1, body([early, text("Why?")])))[1] == (size, 0, None)


def calls(count: int) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"toolu_{n}", "name": "find", "input": {}} for n in range(count)]


def results(count: int) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "x"} for n in range(count)]


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ([[text(f"{n}") for n in range(18)]], True),
        ([[text(f"{n}") for n in range(19)]], False),
        ([calls(30), results(30)], True),
        ([[*calls(2), text("odd"), *calls(2)] for _ in range(8)], True),
        ([[*calls(2), text("odd"), *calls(2)] for _ in range(9)], False),
    ],
    ids=["twenty_positions", "one_more", "calls_and_results_in_a_row", "runs_in_between", "one_run_more"],
)
def test_the_cache_looks_back_over_twenty_positions(between: list[Any], found: bool) -> None:
    first = body([text(cache_control=MARK)])
    later = {**first, "messages": [{"role": "user", "content": [text()]}]}
    later["messages"] += [{"role": ("assistant", "user")[n % 2], "content": one} for n, one in enumerate(between)]
    later["messages"] += [{"role": "user", "content": [text("End.", cache_control=MARK)]}]
    _, (read, written, missed) = times((0, first), (1, later))
    kept = count_tokens(first)
    assert (read, missed) == ((kept, None) if found else (0, "lookback"))
    assert written == count_tokens(later) - read
    # A second mark between finds it.
    later["messages"][1]["content"][0] = {**later["messages"][1]["content"][0], "cache_control": MARK}
    assert times((0, first), (1, later))[1][0] == kept


@pytest.mark.parametrize("part", ["tools", "system"])
@pytest.mark.parametrize(("count", "found"), [(19, True), (20, False)])
def test_tools_and_system_blocks_are_positions(part: str, count: int, found: bool) -> None:
    blocks = [text(cache_control=MARK), *(text(f"{n}") for n in range(count))]
    if part == "tools":
        blocks = [tool(cache_control=MARK), *(tool(f"t{n}") for n in range(count))]
    first = body(**{part: blocks})
    later = body(**{part: [{**blocks[0], "cache_control": None}, *blocks[1:-1], {**blocks[-1], "cache_control": MARK}]})
    later[part][0].pop("cache_control")
    kept = times((0, first))[0][1]
    _, (read, _, missed) = times((0, first), (1, later))
    assert kept > 0 and (read, missed) == ((kept, None) if found else (0, "lookback"))


def test_a_mark_looks_back_and_not_ahead() -> None:
    parts = [text(), *(text(f"{n}") for n in range(40))]
    first = body([*parts[:5], {**parts[5], "cache_control": MARK}])
    later = body([{**parts[0], "cache_control": MARK}, *parts[1:-1], {**parts[-1], "cache_control": MARK}])
    assert times((0, first), (1, later))[1][0] == 0


def test_a_definition_that_is_brought_in_is_no_position() -> None:
    tools = [tool("find"), *(tool(f"t{n}", defer_loading=True) for n in range(25))]
    names = [{"type": "tool_reference", "tool_name": f"t{n}"} for n in range(25)]
    first = body([text(cache_control=MARK)], tools=tools)
    found = {**results(1)[0], "content": names}
    later = body([text()], calls(1), [found, text("End.", cache_control=MARK)], tools=tools)
    assert times((0, first), (1, later))[1][0] == count_tokens(first)


BLOCKS = st.builds(
    lambda size, mark, ttl: text("x" * size, **({"cache_control": {**MARK, "ttl": ttl}} if mark else {})),
    st.integers(1, 3000),
    st.booleans(),
    st.sampled_from(["5m", "1h"]),
)


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(st.lists(BLOCKS, min_size=1, max_size=3), min_size=1, max_size=5),
    system=st.lists(BLOCKS, max_size=2),
    automatic=st.booleans(),
)
def test_fresh_and_read_and_written_are_all(turns: Any, system: Any, automatic: bool) -> None:
    cache = PromptCache()
    for length in (*range(1, len(turns) + 1), len(turns)):
        one = body(*turns[:length], system=system, tools=[tool()], **({"cache_control": MARK} if automatic else {}))
        used = cache.use(one)
        assert used.fresh + used.read + used.written_5m + used.written_1h == count_tokens(one)
        assert min(used.fresh, used.read, used.written_5m, used.written_1h) >= 0


# What is allowed to be marked


@pytest.mark.parametrize(
    ("sent", "refused"),
    [
        (body([text(cache_control=MARK)], tools=[tool(c, cache_control=MARK) for c in "abc"]), None),
        (body([text(cache_control=MARK)], tools=[tool(c, cache_control=MARK) for c in "abcd"]), 5),
        (body([text()], tools=[tool(c, cache_control=MARK) for c in "abcd"], cache_control=MARK), 5),
        (
            body([text(cache_control=MARK)], tools=[tool(c, cache_control=MARK) for c in "abc"], cache_control=MARK),
            None,
        ),
    ],
    ids=["four", "five", "automatic_is_the_fifth", "automatic_on_a_mark"],
)
def test_four_marks(sent: dict[str, Any], refused: int | None) -> None:
    words = f"A maximum of 4 blocks with cache_control may be provided. Found {refused}."
    assert [one.message for one in check_request(sent)] == ([words] if refused else [])


@pytest.mark.parametrize(
    ("tools", "system", "last", "automatic", "path"),
    [
        (HOUR, MARK, MARK, None, None),
        (HOUR, HOUR, HOUR, HOUR, None),
        (MARK, HOUR, MARK, None, "system.0.cache_control.ttl"),
        ({**MARK, "ttl": "5m"}, MARK, HOUR, None, "messages.0.content.0.cache_control.ttl"),
        (MARK, MARK, None, HOUR, "cache_control.ttl"),
        (HOUR, MARK, None, MARK, None),
    ],
    ids=["falling", "hours", "in_system", "in_messages", "automatic", "automatic_short"],
)
def test_an_hour_stands_ahead_of_five_minutes(tools: Any, system: Any, last: Any, automatic: Any, path: Any) -> None:
    fields = {"cache_control": automatic} if automatic else {}
    block = text(cache_control=last) if last else text()
    sent = body([block], tools=[tool(cache_control=tools)], system=[text(cache_control=system)], **fields)
    words = (
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
        "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
    )
    assert [one.message for one in check_request(sent)] == ([f"{path}: {words}"] if path else [])


# Diagnostics


LATER = body([text()], [text("A.")], [text("B.")], tools=TOOLS, system=SYSTEM)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"max_tokens": 7}, None),
        ({"model": OLD, "tools": []}, "model_changed"),
        ({"tools": [tool("a"), tool("c")]}, "tools_changed"),
        ({"tools": []}, "tools_changed"),
        ({"tools": [], "system": ""}, "tools_changed"),
        ({"system": ""}, "system_changed"),
        ({"system": "Be short."}, "system_changed"),
        ({"messages": body([text("Other.")])["messages"]}, "messages_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
        ({"tool_choice": {"type": "none"}, "tools": []}, "tools_changed"),
        ({"thinking": {"type": "disabled"}}, "unavailable"),
        ({"tool_choice": {"type": "none"}, "messages": body([text("Other.")])["messages"]}, "unavailable"),
    ],
    ids=[
        "goes_on",
        "another_max_tokens",
        "model",
        "tools",
        "no_tools",
        "no_tools_and_system",
        "no_system",
        "system",
        "messages",
        "choice",
        "choice_and_tools",
        "thinking",
        "choice_and_messages",
    ],
)
def test_the_first_difference_is_named(change: dict[str, Any], reason: str | None) -> None:
    found = cache_miss_reason(ASKED, {**LATER, **change})
    assert (found and found["type"]) == reason


def test_how_much_was_missed() -> None:
    whole = count_tokens(ASKED)
    assert cache_miss_reason(ASKED, {**LATER, "model": OLD})["cache_missed_input_tokens"] == whole
    missed = cache_miss_reason(ASKED, {**LATER, "system": "Be short."})["cache_missed_input_tokens"]
    assert missed == whole - PREFIX["tools"]


def test_an_unknown_message_says_nothing_of_this_request() -> None:
    assert cache_miss_reason(None, ASKED) == {"type": "previous_message_not_found"}
    assert cache_miss_reason(body(""), body("", model=OLD)) == {"type": "model_changed", "cache_missed_input_tokens": 0}


WORDS = {
    "reordered": (
        {"tools": [tool("b"), tool("a")]},
        "the same tools in another order: `b` stands where `a` stood",
    ),
    "keys": (
        {"tools": [dict(reversed(tool("a").items())), tool("b")]},
        "the same tools in another order: the keys of a definition moved",
    ),
    "added": ({"tools": [tool("a"), tool("b"), tool("c")]}, "other tools: added `c`"),
    "swapped": ({"tools": [tool("a"), tool("c")]}, "other tools: added `c`, removed `b`"),
    "many": (
        {"tools": [*TOOLS, *map(tool, "cdefg")]},
        "other tools: added `c`, `d`, `e` and 2 more",
    ),
    "edited": ({"tools": [tool("a"), tool("b", description="x")]}, "other tools: the definition of `b` is another"),
    "model": ({"model": OLD}, "`model` changed from claude-opus-5 to claude-haiku-4-5"),
    "speed": ({"speed": "fast"}, "`speed` changed from None to fast"),
    "system": (
        {"system": [text("Be kin." + LONG, cache_control=MARK)]},
        f'`system` changed at character 6: "d.{"x" * 18}" became ".{"x" * 19}"',
    ),
    "no_system": ({"system": ""}, f'`system` changed at character 0: "Be kind.{"x" * 12}" became ""'),
    "messages": ({"messages": body([text("y")])["messages"]}, "`messages.0` is not what stood there before"),
    "choice": (
        {"tool_choice": {"type": "none"}},
        '`tool_choice` changed from {"type": "auto"} to {"type": "none"}',
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_what_changed_in_words(name: str) -> None:
    change, words = WORDS[name]
    found = change_between(ASKED, {**ASKED, **change})
    assert found is not None and (found.words, found.reordered) == (words, "another order" in words)


# The report, on whole runs against the real client


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(*bodies: dict[str, Any], gap: float = 1.0, model: Any = None) -> tuple[list[Any], list[tuple[int, str, str]]]:
    """The usage of these requests, one after the other, and what the report finds."""
    clock = Clock()
    provider = MockProvider(model or (lambda request: "A."), clock=clock)
    used = []
    for one in bodies:
        used.append(provider.client(max_retries=0).messages.create(**one).usage)
        clock.now += gap
    return used, [(one.request, one.rule, one.message) for one in provider.report().findings]


def grown(first: dict[str, Any], *, mark: Any = MARK, extra: int = 0, **changes: Any) -> dict[str, Any]:
    """The request that goes on from `first`, with the mark on its last block."""
    asked = [text(block["text"]) for block in first["messages"][0]["content"]]
    last = [*(text(f"{n}") for n in range(extra)), text("B.", **({"cache_control": mark} if mark else {}))]
    turns = [("user", asked), ("assistant", [text("A.")]), ("user", last)]
    return {**first, "messages": [{"role": role, "content": content} for role, content in turns], **changes}


ALPHABETIC, AS_REGISTERED = [tool(name) for name in ("alpha", "mu", "zeta")], [tool(n) for n in ("mu", "zeta", "alpha")]


def test_fr26_the_same_order_reads_what_the_turn_before_left() -> None:
    first = body([text(cache_control=MARK)], tools=ALPHABETIC)
    (one, two), found = run(first, grown(first))
    assert (one.cache_read_input_tokens, one.cache_creation_input_tokens) == (0, count_tokens(first))
    assert two.cache_read_input_tokens == count_tokens(first)
    assert found == []


def test_fr26_another_order_pays_again_and_the_report_says_for_what() -> None:
    first = body([text(cache_control=MARK)], tools=ALPHABETIC)
    later = grown(first, tools=AS_REGISTERED)
    (_, two), found = run(first, later)
    whole = count_tokens(first)
    assert (two.cache_read_input_tokens, two.cache_creation_input_tokens) == (0, count_tokens(later))
    words = "the same tools in another order: `mu` stands where `alpha` stood; "
    words += f"{whole} of the {whole} tokens that request 1 left in the cache could not be read"
    assert found == [(2, "tools-reordered", words)]


def test_fr26_without_a_cache_it_says_what_it_would_cost() -> None:
    first = body([text()], tools=ALPHABETIC)
    _, found = run(first, grown(first, mark=None, tools=AS_REGISTERED))
    words = "the same tools in another order: `mu` stands where `alpha` stood; "
    missed = count_tokens(first)
    assert found == [
        (2, "tools-reordered", f"{words}nothing is kept here; with a cache, {missed} tokens would be read again")
    ]


def test_fr26_an_order_that_was_seen_before_is_still_there() -> None:
    first, other = (body([text(cache_control=MARK)], tools=tools) for tools in (ALPHABETIC, AS_REGISTERED))
    _, found = run(other, first, grown(first, tools=AS_REGISTERED))
    assert [(number, rule) for number, rule, _ in found] == [(3, "tools-reordered")]
    assert found[0][2].endswith("; the cache holds this prompt too, from an earlier request")


CHANGES = {
    "system": ({"system": [text("Now 09:15." + LONG)]}, "system-changed", '`system` changed at character 8: "4.'),
    "choice": ({"tool_choice": {"type": "none"}}, "settings-changed", "`tool_choice` changed from"),
    "model": ({"model": "claude-opus-4-8"}, "model-changed", "`model` changed from claude-opus-5 to claude-opus-4-8"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_any_change_that_costs_is_told(name: str) -> None:
    change, rule, words = CHANGES[name]
    first = body([text(cache_control=MARK)], tools=TOOLS, system=[text("Now 09:14." + LONG)])
    (_, two), found = run(first, grown(first, **change))
    whole = count_tokens(first)
    lost = whole - two.cache_read_input_tokens
    assert [(number, id) for number, id, _ in found] == [(2, rule)]
    assert found[0][2].startswith(words)
    assert found[0][2].endswith(f"; {lost} of the {whole} tokens that request 1 left in the cache could not be read")
    # Where nothing is marked, nothing is lost.
    bare = [body([text()], system=[text("Now 09:14." + LONG)]), body([text()])]
    assert run(bare[0], grown(bare[1], mark=None, **change))[1] == []


def test_a_history_that_was_edited_is_told() -> None:
    first = body([text()], [text("A.")], [text("B.", cache_control=MARK)])
    later = body([text()], [text("Edited.")], [text("B.")], [text("C.")], [text("D.", cache_control=MARK)])
    _, [(number, rule, words)] = run(first, later)
    assert (number, rule) == (2, "messages-changed")
    assert words.startswith("`messages.1` is not what stood there before; ")
    assert run(first, body([text("Another conversation.", cache_control=MARK)], [text("A.")], "C."))[1] == []


def test_what_expired_is_told() -> None:
    first = body([text(cache_control=MARK)])
    whole = count_tokens(first)
    lost = f"; {whole} of the {whole} tokens that request 1 left in the cache could not be read"
    words = '7 minutes passed, and what was kept has expired (`"ttl": "1h"` keeps it for an hour)'
    assert run(first, grown(first), gap=420)[1] == [(2, "cache-expired", words + lost)]
    assert run(first, grown(first), gap=299)[1] == []
    hour = body([text(cache_control=HOUR)])
    assert run(hour, grown(hour, mark=HOUR), gap=420)[1] == []
    words = "70 minutes passed, and what was kept has expired"
    assert run(hour, grown(hour, mark=HOUR), gap=4200)[1] == [(2, "cache-expired", words + lost)]


def test_the_minutes_are_those_since_the_request_that_is_continued() -> None:
    first = body([text(cache_control=MARK)])
    _, [(number, _, words)] = run(body([text("Hi.")]), first, grown(first), gap=420)
    assert (number, words.partition(",")[0]) == (3, "7 minutes passed")


def test_a_conversation_that_forks_is_compared_with_what_it_continues() -> None:
    first = body([text(cache_control=MARK)])
    fork = body([text()], [text("C.")], [text("D.")], [text("E.")], [text("F.", cache_control=MARK)])
    assert run(first, grown(first, extra=5), fork)[1] == []


def test_what_lies_too_far_back_is_told() -> None:
    first = body([text(cache_control=MARK)])
    whole = count_tokens(first)
    words = (
        "from its mark the cache looks back over 20 blocks, and what was kept ends further back: set a second mark "
        f"between; {whole} of the {whole} tokens that request 1 left in the cache could not be read"
    )
    assert run(first, grown(first, extra=18))[1] == [(2, "cache-lookback", words)]
    assert run(first, grown(first, extra=17))[1] == []


def test_a_mark_that_was_forgotten_is_told() -> None:
    first = body([text(cache_control=MARK)])
    _, [(number, rule, words)] = run(first, grown(first, mark=None))
    assert (number, rule) == (2, "cache-unmarked")
    assert words.startswith("there is no mark after what was kept, so nothing looks for it: keep a `cache_control`; ")


def test_a_request_without_messages_continues_nothing() -> None:
    provider = MockProvider(lambda request: "A.", strictness="schema")
    for _ in range(2):
        provider.client().messages.create(**{**body(), "messages": []})
    assert provider.report().findings == ()


def test_marks_that_never_keep_anything_are_told_once() -> None:
    short = body([text("Hi.", cache_control=MARK)])
    size = count_tokens(short)
    words = (
        f"marked for the cache, but {size} tokens are fewer than the 512 from which claude-opus-5 keeps a prompt: "
        "nothing is kept, and no error says so"
    )
    assert run(short, short)[1] == []
    assert run(*[short] * 5)[1] == [(3, "cache-too-short", words)]
    assert run(*[short] * 3, body([text(cache_control=MARK)]))[1] == []
    assert run(*[body([text("Hi.")])] * 5)[1] == []
    provider = MockProvider([])
    for _ in range(3):
        with pytest.raises(anthropic.BadRequestError):
            provider.client().messages.create(**short, extra_body={"foo": 1})
    assert "cache-too-short" not in {finding.rule for finding in provider.report().findings}


def test_a_floor_that_no_source_states_is_told_as_uncertain() -> None:
    short = body([text("Hi.", cache_control=MARK)], model="claude-fable-5-2")
    words = (
        f"marked for the cache, but {count_tokens(short)} tokens are fewer than the 512 (uncertain) from which "
        "claude-fable-5-2 keeps a prompt: nothing is kept, and no error says so"
    )
    assert run(*[short] * 3)[1] == [(3, "cache-too-short", words)]


def test_a_search_reads_the_prompt_again_from_the_cache() -> None:
    tools = [
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        tool("always", cache_control=MARK),
        tool("weather", defer_loading=True),
    ]
    asked = body([text("Weather?")], tools=tools)
    kept = count_tokens(body([], tools=tools[:2]))
    (one, two), found = run(asked, asked, model=[search("weather"), "A.", search("weather"), "A."])
    assert (one.cache_creation_input_tokens, one.cache_read_input_tokens) == (kept, kept)  # written, then read
    assert (two.cache_creation_input_tokens, two.cache_read_input_tokens) == (0, 2 * kept)
    assert found == []


def test_after_a_search_the_longer_prompt_is_kept() -> None:
    tools = [{"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"}, tool("weather", defer_loading=True)]
    provider = MockProvider([search("weather"), "A."])
    provider.client().messages.create(**body([text("Weather?" + LONG)], tools=tools, cache_control=MARK))
    [exchange] = provider.requests
    first, second = exchange.readings
    assert (first.kept, second.read) == (count_tokens(exchange.body), first.kept)
    assert exchange.cache.kept == second.kept > first.kept + count_tokens(body([], tools=[tool("weather")])) - 290


def test_the_next_turn_reads_what_a_search_brought_in() -> None:
    tools = [{"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"}, tool("weather", defer_loading=True)]
    provider = MockProvider([search("weather"), "Found it.", "Done."])
    create, turns = provider.client().messages.create, [{"role": "user", "content": "Weather?" + LONG}]
    for question in ("And tomorrow?", "Thanks."):
        # As the SDK gives a reply back: its blocks' fields stand in another order than on the wire.
        reply = create(**body(tools=tools, cache_control=MARK) | {"messages": turns})
        turns = [
            *turns,
            {"role": "assistant", "content": reply.to_dict()["content"]},
            {"role": "user", "content": question},
        ]
    [searched, after] = provider.requests
    assert after.readings[0].read == searched.readings[-1].kept
    assert not provider.report().findings


def test_the_order_of_a_blocks_own_fields_is_no_part_of_the_prompt() -> None:
    turned = [dict(reversed(text().items()))]
    first = body([text(cache_control=MARK)], system=[text()])
    again = body([{**turned[0], "cache_control": MARK}], system=turned)
    assert usage(first, again) == [(0, 0, count_tokens(first)), (0, count_tokens(first), 0)]
    assert change_between(first, again) is None


def test_the_order_inside_an_input_is_part_of_it() -> None:
    call, result = calls(1)[0], {**results(1)[0], "cache_control": MARK}
    one, other = (
        {**call, "input": given} for given in ({"city": "Oslo", "day": "May"}, {"day": "May", "city": "Oslo"})
    )
    read = usage(*(body([text(cache_control=MARK)], [sent], [result]) for sent in (one, other)))[1][1]
    assert read == count_tokens(body([text()]))


def test_a_deferred_tool_may_come_and_go() -> None:
    first = body([text(cache_control=MARK)], tools=[tool("a"), tool("b", defer_loading=True)])
    (_, two), found = run(first, grown(first, tools=[tool("a"), tool("c", defer_loading=True)]))
    assert two.cache_read_input_tokens == count_tokens(first) and found == []

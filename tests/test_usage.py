"""Token estimates and the prompt cache: small cases by hand, and the sum that always holds."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_kit.mock.usage import CacheUse, PromptCache, cache_miss_reason, count_tokens, estimate

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


# Tokens


@pytest.mark.parametrize(
    ("value", "tokens"),
    [("", 0), ("abcd", 1), ("abcde", 2), ("天", 2), ({"a": 1}, 2), ([], 1)],
    ids=["empty", "four", "five", "one character of six", "object", "list"],
)
def test_a_token_is_four_characters_of_json(value: Any, tokens: int) -> None:
    assert estimate(value) == tokens


def test_a_prompt_by_hand() -> None:
    assert count_tokens(body([text("Hi.")])) == tokens_of(text("Hi."))
    assert count_tokens(body("Hi.")) == tokens_of(text("Hi."))
    assert count_tokens(body([text("Hi."), text("You.")])) == tokens_of(text("Hi."), text("You."))
    assert count_tokens(body(system="Be kind.")) > count_tokens(body())


def test_tools_cost_their_definition_and_what_their_presence_costs() -> None:
    plain = count_tokens(body())
    definition = (len(json.dumps(tool())) + 2) / 4
    with_tools = count_tokens(body(tools=[tool()]))
    assert abs(with_tools - plain - 286 - definition) <= 1  # Opus 5: 286 tokens, 406 when a call is forced
    assert count_tokens(body(tools=[tool()], tool_choice={"type": "any"})) == with_tools + 120
    assert count_tokens(body(tools=[tool()], tool_choice={"type": "none"})) == with_tools
    assert count_tokens(body(tools=[])) == plain


def test_a_deferred_tool_costs_nothing_until_it_is_found() -> None:
    deferred, result = tool("rare", defer_loading=True), {"type": "tool_reference", "tool_name": "rare"}
    hidden = body(tools=[tool(), deferred])
    assert count_tokens(hidden) == count_tokens(body(tools=[tool()]))
    found = {"type": "tool_result", "tool_use_id": "toolu_A", "content": [result]}
    asked = {"type": "tool_use", "id": "toolu_A", "name": "find", "input": {}}
    messages = ([text("Hi.")], [asked], [found])
    loaded = count_tokens(body(*messages, tools=[tool(), deferred])) - count_tokens(body(*messages, tools=[tool()]))
    assert abs(loaded - len(json.dumps(deferred)) / 4) <= 1
    again = (*messages, [asked], [found])
    twice = count_tokens(body(*again, tools=[tool(), deferred])) - count_tokens(body(*again, tools=[tool()]))
    assert abs(twice - loaded) <= 1


def test_marks_cost_nothing() -> None:
    marked = body([text(cache_control=MARK)], tools=[tool(cache_control=MARK)], cache_control=MARK)
    assert count_tokens(marked) == count_tokens(body([text()], tools=[tool()]))


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
    ],
    ids=["same", "tools_reordered", "model", "system", "choice", "parallel_flag", "thinking", "messages", "max_tokens"],
)
def test_what_a_change_leaves_cached(change: dict[str, Any], read: str) -> None:
    changed = {**ASKED, **change}
    assert usage(ASKED, changed)[1][1] == PREFIX[read]


def test_fr26_tools_in_another_order_pay_for_everything_again() -> None:
    sizes = count_tokens(ASKED)
    reordered = {**ASKED, "tools": [tool("b"), tool("a", cache_control=MARK)]}
    assert usage(ASKED, reordered) == [(0, 0, sizes), (0, 0, sizes)]
    assert cache_miss_reason(ASKED, reordered)["type"] == "tools_changed"


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

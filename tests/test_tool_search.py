"""Tool search on the wire: a search inside one reply, what it brings in, what it refuses, how it streams."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import anthropic
import pytest

from course_kit.contract.examples import ASK, OPUS, assistant, body, user
from course_kit.contract.index import SearchError
from course_kit.contract.protocol import check_request
from course_kit.mock import faults
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import Draft, call, search
from course_kit.mock.tool_search import ERROR_CODES, ROUNDS, search_call, visible
from course_kit.mock.usage import count_tokens

BM25 = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}


def tool(name: str, description: str = "", *, inputs: Mapping[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": text} for key, text in (inputs or {}).items()}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "input_schema": schema, "defer_loading": True, **fields}


EDGE = tool("canvas_create_edge", "Adds a link between two nodes")
NODES = tool("canvas_list_nodes", "Lists what is on the canvas")
WEATHER = tool("get_weather", "Current conditions", inputs={"city": "Where, such as Oslo."})
CATALOGUE = [EDGE, NODES, WEATHER]
ASKING = tool("ask_user", "Asks the user one question.", defer_loading=False)


def request(*messages: Any, tools: Any = None, **fields: Any) -> dict[str, Any]:
    return body(*messages, model=OPUS, tools=tools or [BM25, REGEX, *CATALOGUE], **fields)


def client_of(*steps: Any, **options: Any) -> tuple[MockProvider, anthropic.Anthropic]:
    provider = MockProvider(list(steps), **options)
    return provider, provider.client(max_retries=0)


def plain(message: anthropic.types.Message) -> list[dict[str, Any]]:
    return [block.model_dump(mode="json", exclude_unset=True) for block in message.content]


def found_by(block: Any, *, tools: Any = None, **options: Any) -> dict[str, Any]:
    """The `content` of the result of one search."""
    _, client = client_of(block, "Done.", **options)
    content = plain(client.messages.create(**request(tools=tools)))
    assert [one["type"] for one in content] == ["server_tool_use", "tool_search_tool_result", "text"]
    assert content[1]["tool_use_id"] == content[0]["id"]
    return content[1]["content"]


def names(found: Mapping[str, Any]) -> list[str]:
    assert found["type"] == "tool_search_tool_search_result"
    assert all(reference["type"] == "tool_reference" for reference in found["tool_references"])
    return [reference["tool_name"] for reference in found["tool_references"]]


# A conversation with the real client.


def create(client: anthropic.Anthropic, sent: dict[str, Any]) -> anthropic.types.Message:
    return client.messages.create(**sent)


def stream(client: anthropic.Anthropic, sent: dict[str, Any]) -> anthropic.types.Message:
    with client.messages.stream(**sent) as events:
        return events.get_final_message()


@pytest.mark.parametrize("ask", [create, stream])
@pytest.mark.parametrize(
    ("searching", "input"),
    [
        (search("weather city"), {"query": "weather city"}),
        (search(pattern="weather$"), {"pattern": "weather$"}),
        (search("weather city", limit=1), {"query": "weather city", "limit": 1}),
    ],
    ids=["bm25", "regex", "with_limit"],
)
def test_search_then_call_then_result_then_text(ask: Callable, searching: dict[str, Any], input: Any) -> None:
    provider, client = client_of(searching, call("get_weather", city="Oslo"), "It is 4 C.", call("get_weather"))
    first = ask(client, request())
    content = plain(first)
    assert [block["type"] for block in content] == ["server_tool_use", "tool_search_tool_result", "tool_use"]
    asked, result, called = content
    assert asked["name"] == searching["name"] and asked["input"] == input and asked["caller"] == {"type": "direct"}
    assert asked["id"].startswith("srvtoolu_01") and len(asked["id"]) == len("srvtoolu_") + 24
    assert result == {
        "type": "tool_search_tool_result",
        "tool_use_id": asked["id"],
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}],
        },
    }
    assert (called["name"], called["input"], first.stop_reason) == ("get_weather", {"city": "Oslo"}, "tool_use")
    assert first.usage.server_tool_use is None  # a tool search is not metered

    # Only the client's own call is answered; the turn goes back untouched.
    answered = user({"type": "tool_result", "tool_use_id": called["id"], "content": "4 C"})
    second = ask(client, request(ASK, assistant(*content), answered))
    assert (plain(second), second.stop_reason) == ([{"type": "text", "text": "It is 4 C."}], "end_turn")
    third = ask(client, request(ASK, assistant(*content), answered, assistant(*plain(second)), ASK))
    assert third.stop_reason == "tool_use"  # what was found stays usable
    assert len(provider.requests) == 3 and provider.report()


def test_streamed_it_is_the_same_message_in_the_apis_events() -> None:
    steps = (search("weather"), call("get_weather", city="Oslo"))
    whole = client_of(*steps)[1].messages.create(**request())
    events = list(client_of(*steps)[1].messages.create(**request(), stream=True))
    opened = [event.content_block for event in events if event.type == "content_block_start"]
    assert [block.type for block in opened] == ["server_tool_use", "tool_search_tool_result", "tool_use"]
    assert opened[0].input == {} and opened[1].content == whole.content[1].content
    deltas = [(event.index, event.delta.partial_json) for event in events if event.type == "content_block_delta"]
    assert deltas[0] == (0, "") and {index for index, _ in deltas} == {0, 2}  # a result comes whole
    assert json.loads("".join(text for index, text in deltas if index == 0)) == {"query": "weather"}
    # It began before the search: what was read after it is told at the end.
    started, ended = events[0].message.usage, events[-2].usage
    assert started.input_tokens == count_tokens(request()) < ended.input_tokens == whole.usage.input_tokens


def test_each_reading_of_the_prompt_is_paid_for() -> None:
    provider, client = client_of(search("weather"), call("get_weather", city="Oslo"))
    reply = client.messages.create(**request())
    asked, result, _ = plain(reply)
    once, again = count_tokens(request()), count_tokens(request(ASK, assistant(asked, result)))
    assert reply.usage.input_tokens == once + again
    # The definition that was found is part of the second; those that were not found of neither.
    without = [{**WEATHER, "description": ""}, {**EDGE, "description": "x" * 4000}]
    assert again - count_tokens(request(ASK, assistant(asked, result), tools=[BM25, REGEX, *without])) == 5
    assert [reading.fresh for reading in provider.requests[0].readings] == [once, again]
    # What the server found was not written by the model.
    alone = client_of(call("get_weather", city="Oslo"))[1].messages.create(**request())
    assert reply.usage.output_tokens - alone.usage.output_tokens < 60


def test_the_model_sees_what_is_loaded() -> None:
    seen: list[list[str]] = []

    def model(given: Mapping[str, Any]) -> Any:
        seen.append([one["name"] for one in given["tools"]])
        return [search("create edge"), search("weather"), "Done."][len(seen) - 1]

    MockProvider(model).client().messages.create(**request(tools=[BM25, ASKING, *CATALOGUE]))
    always = ["tool_search_tool_bm25", "ask_user"]
    assert seen == [always, [*always, "canvas_create_edge"], [*always, "canvas_create_edge", "get_weather"]]


def test_a_forced_tool_is_seen_and_a_forced_search_is_done_once() -> None:
    forced = request(tool_choice={"type": "tool", "name": "get_weather"})
    assert [one["name"] for one in visible(forced)["tools"]][2:] == ["get_weather"]
    choices: list[Any] = []

    def model(given: Mapping[str, Any]) -> Any:
        choices.append(given.get("tool_choice"))
        return search("weather") if len(choices) == 1 else "Done."

    choice = {"type": "tool", "name": "tool_search_tool_bm25"}
    MockProvider(model).client().messages.create(**request(tool_choice=choice))
    assert choices == [choice, {"type": "auto"}]


def test_a_step_may_say_everything_at_once() -> None:
    _, client = client_of(["Let me look.", search("weather"), call("get_weather", city="Oslo")], "Not asked for.")
    reply = client.messages.create(**request())
    kinds = [block.type for block in reply.content]
    assert kinds == ["text", "server_tool_use", "tool_search_tool_result", "tool_use"]


def test_a_search_stands_ahead_of_the_calls_of_its_turn() -> None:
    _, client = client_of([call("ask_user"), search("weather")])
    reply = client.messages.create(**request(tools=[BM25, ASKING, *CATALOGUE]))
    assert [block.type for block in reply.content] == ["server_tool_use", "tool_search_tool_result", "tool_use"]


def test_a_reply_that_is_played_again_brings_its_results_along() -> None:
    reply = client_of(search("weather"), call("get_weather", city="Oslo"))[1].messages.create(**request())
    again = client_of(reply)[1].messages.create(**request())
    assert plain(again) == plain(reply)


def test_a_model_that_only_searches_is_paused_and_resumed() -> None:
    asked: list[int] = []

    def model(given: Mapping[str, Any]) -> Any:
        asked.append(len(given["messages"]))
        return search("weather") if len(asked) <= ROUNDS else "Done."

    provider = MockProvider(model)
    client = provider.client()
    paused = client.messages.create(**request())
    assert len(provider.requests[0].readings) == ROUNDS
    assert (paused.stop_reason, len(paused.content), len(asked)) == ("pause_turn", 2 * ROUNDS, ROUNDS)
    resumed = client.messages.create(**request(ASK, assistant(*plain(paused))))
    assert (plain(resumed), resumed.stop_reason) == ([{"type": "text", "text": "Done."}], "end_turn")
    assert asked == [1, *[2] * ROUNDS]


def test_a_resumed_turn_that_searches_stays_one_turn() -> None:
    seen: list[list[str]] = []

    def model(given: Mapping[str, Any]) -> Any:
        seen.append([message["role"] for message in given["messages"]])
        return search("weather") if len(seen) == 1 else "Done."

    begun = assistant({**SEARCHED, "input": {"query": "edge"}}, FOUND)
    reply = MockProvider(model).client().messages.create(**request(ASK, begun))
    assert seen == [["user", "assistant"], ["user", "assistant"]]
    assert [block.type for block in reply.content] == ["server_tool_use", "tool_search_tool_result", "text"]


def test_ids_depend_on_the_request_and_differ_within_a_reply() -> None:
    def ids(**fields: Any) -> list[str]:
        _, client = client_of(search("weather"), [search("edge"), search("nodes")], "Done.")
        content = plain(client.messages.create(**request(**fields)))
        return [block["id"] for block in content if block["type"] == "server_tool_use"]

    assert ids() == ids() and len(set(ids())) == 3 and not set(ids()) & set(ids(max_tokens=99))


# What a search finds.


@pytest.mark.parametrize(
    ("searching", "expected"),
    [
        (search("create edge"), ["canvas_create_edge"]),
        (search(pattern="Weather"), ["get_weather"]),
        (search(pattern="weather$"), ["get_weather"]),
        (search(pattern="WHERE, such"), ["get_weather"]),
        (search(pattern="no such tool"), []),
        (search("zzz"), []),
    ],
    ids=["words_of_a_name", "capital", "end_of_a_name", "an_input's_description", "no_match", "no_word"],
)
def test_fr25_what_is_found(searching: dict[str, Any], expected: list[str]) -> None:
    assert names(found_by(searching))[:1] == expected


def test_fr25_five_references_unless_a_limit_says_otherwise() -> None:
    many = [tool(f"send_report_{n}", "Sends a report") for n in range(30)]
    for ask, key in ((lambda **o: search("send report", **o), BM25), (lambda **o: search(pattern="send", **o), REGEX)):
        counts = [len(names(found_by(ask(limit=limit), tools=[key, *many]))) for limit in (None, 1, 7, 10_000)]
        assert counts == [5, 1, 7, 30]


def test_only_deferred_tools_are_found() -> None:
    here = tool("weather_now", "Weather now", defer_loading=False)
    assert names(found_by(search("weather"), tools=[BM25, here, WEATHER])) == ["get_weather"]
    assert names(found_by(search("weather"), tools=[BM25, here])) == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            search(pattern="get_(weather"),
            '"get_(weather" is not a regular expression (missing ), unterminated subpattern at',
        ),
        (search(pattern="w" * 201), "pattern: 201 characters, at most 200 are allowed."),
        (search("w" * 501), "query: 501 characters, at most 500 are allowed."),
        (search(""), "query: a text is required."),
        ({**search("x"), "input": {}}, "query: a text is required."),
        ({**search("x"), "input": {"pattern": "x"}}, "query: a text is required."),
        (search("x", limit=0), "limit: a whole number from 1 to 10000 is required."),
        (search("x", limit=10_001), "limit: a whole number from 1 to 10000 is required."),
        ({**search("x"), "input": {"query": "x", "limit": True}}, "limit: a whole number from 1 to 10000 is required."),
        ({**search("x"), "input": {"query": "x", "limit": "5"}}, "limit: a whole number from 1 to 10000 is required."),
    ],
    ids=[
        *("open_bracket", "long_pattern", "long_query", "empty", "missing", "other_field"),
        *("limit_0", "limit_high", "limit_bool", "limit_text"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_fr25_what_cannot_be_searched_for_is_an_error_inside_a_200(
    asked: dict[str, Any], words: str, streamed: bool
) -> None:
    provider, client = client_of(asked, "I cannot find it.")
    reply = (stream if streamed else create)(client, request())
    content = plain(reply)
    error = content[1]["content"]
    assert (provider.requests[0].status, reply.stop_reason) == (200, "end_turn")
    assert (error["type"], error["error_code"]) == ("tool_search_tool_result_error", "invalid_tool_input")
    assert error["error_message"].startswith(words)
    again = {"type": "text", "text": "And now?"}
    assert check_request(request(ASK, assistant(*content), user(again))) == []


def test_limits_themselves_are_allowed() -> None:
    assert names(found_by(search(pattern="weather" + "|z" * 96 + "z"))) == ["get_weather"]  # 200 characters
    assert names(found_by(search("weather" + " z" * 246 + "z")))[:1] == ["get_weather"]  # 500


@pytest.mark.parametrize("code", ERROR_CODES)
def test_a_search_may_fail_as_the_servers_own(code: str) -> None:
    error = found_by(search("weather"), faults=faults.search_error(code))
    words = {"error_code": code, "error_message": f"Simulated fault: {code}"}
    assert error == {"type": "tool_search_tool_result_error", **words}


def test_error_codes_are_the_sdks() -> None:
    from typing import get_args

    from anthropic.types.tool_search_tool_result_error_code import ToolSearchToolResultErrorCode

    assert get_args(ToolSearchToolResultErrorCode) == ERROR_CODES
    with pytest.raises(
        ValueError, match=r"'invalid_pattern' is no error of a tool search: give one of invalid_tool_in"
    ):
        faults.search_error("invalid_pattern")


def test_a_search_tool_that_is_not_there_is_unavailable() -> None:
    error = found_by(search(pattern="weather"), tools=[BM25, *CATALOGUE])
    assert (error["error_code"], error["error_message"]) == (
        "unavailable",
        "tool_search_tool_regex is not among the tools of this request.",
    )


def test_a_pattern_without_end_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow:
        def search(self, *_: Any) -> Any:
            raise SearchError("Too slow.", "execution_time_exceeded")

    monkeypatch.setattr("course_kit.mock.tool_search._index", lambda *_: Slow())
    error = found_by(search(pattern="(a+)+$"))
    assert (error["error_code"], error["error_message"]) == ("execution_time_exceeded", "Too slow.")


def test_a_script_searches_one_way_or_the_other() -> None:
    for wrong in ({}, {"query": "a", "pattern": "b"}):
        with pytest.raises(TypeError, match="Give a query or a pattern"):
            search(*[wrong.pop("query")] if "query" in wrong else [], **wrong)


# What the rules refuse.


def refusals(sent: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found.rule, found.message) for found in check_request(sent)]


SEARCHED = {"type": "server_tool_use", "id": "srvtoolu_A", "name": BM25["name"], "input": {"query": "weather"}}
FOUND = {
    "type": "tool_search_tool_result",
    "tool_use_id": "srvtoolu_A",
    "content": {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "get_weather"}],
    },
}
CALLED = {"type": "tool_use", "id": "toolu_A", "name": "get_weather", "input": {"city": "Oslo"}}
ANSWER = {"type": "tool_result", "tool_use_id": "toolu_A", "content": "4 C"}


@pytest.mark.parametrize(
    ("sent", "rule", "words"),
    [
        (request(tools=CATALOGUE), "some-tool-not-deferred", "At least one tool must have defer_loading=false."),
        (request(tools=[{**BM25, "defer_loading": True}, ASKING]), "search-tool-not-deferred", "tools.0: The tool s"),
        (
            request(tools=[BM25, {**WEATHER, "cache_control": {"type": "ephemeral"}}]),
            "deferred-not-cached",
            "Tool 'get_weather' cannot have both defer_loading=true and cache_control set.",
        ),
        (
            request(ASK, assistant(SEARCHED, CALLED), user(ANSWER)),
            "server-call-not-left-open",
            "messages.1: `tool_search_tool_bm25` tool use with id `srvtoolu_A` was found without a corresponding",
        ),
        (
            request(ASK, assistant(FOUND, CALLED), user(ANSWER)),
            "server-result-has-call",
            "messages.1.content.0: unexpected `tool_use_id` found in `tool_search_tool_result` blocks: srvtoolu_A.",
        ),
        (
            request(ASK, assistant(SEARCHED, FOUND, CALLED), user({**ANSWER, "tool_use_id": "srvtoolu_A"})),
            "results-have-a-call",
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: srvtoolu_A.",
        ),
        (
            request(ASK, assistant(SEARCHED, FOUND, CALLED), user(ANSWER), tools=[BM25, EDGE]),
            "tool-reference-known",
            "messages.1.content.1.tool_search_tool_result.content.tool_references.0: Tool reference 'get_weather' not",
        ),
    ],
    ids=[
        *("all_deferred", "search_tool_deferred", "deferred_and_cached", "result_lost", "search_lost"),
        *("search_answered_by_the_client", "found_tool_gone"),
    ],
)
def test_fr25_what_is_refused(sent: dict[str, Any], rule: str, words: str) -> None:
    first = refusals(sent)[0]
    assert first[0] == rule and first[1].startswith(words)
    with pytest.raises(anthropic.BadRequestError, match="400"):
        MockProvider(["Hi."]).client().messages.create(**sent)


def test_the_twins_of_what_is_refused_pass() -> None:
    whole = assistant(SEARCHED, FOUND, CALLED)
    for sent in (
        request(tools=[ASKING, *CATALOGUE]),  # a search tool is not mandatory
        request(tools=[{**BM25, "cache_control": {"type": "ephemeral"}}, WEATHER]),
        request(ASK, whole, user(ANSWER)),
        request(ASK, whole, user(ANSWER), tools=[BM25, WEATHER]),
        request(tools=[{**BM25, "type": "tool_search_tool_bm25"}, WEATHER]),  # the name without a date
    ):
        assert refusals(sent) == []


# The client's own search.

LOOK = tool("find_tools", "Finds tools.", inputs={"query": "What for."}, defer_loading=False)


def looked_up(*content: Any, behind: Any = (), tools: Any = None) -> dict[str, Any]:
    asked = {"type": "tool_use", "id": "toolu_L", "name": "find_tools", "input": {"query": "weather"}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_L", "content": list(content)}
    return request(ASK, assistant(asked), user(answer, *behind), tools=tools or [LOOK, *CATALOGUE])


REFERENCE = {"type": "tool_reference", "tool_name": "get_weather"}
SAID = {"type": "text", "text": "Found:"}


def test_a_reference_in_a_result_loads_the_definition() -> None:
    seen: list[list[str]] = []

    def model(given: Mapping[str, Any]) -> Any:
        seen.append([one["name"] for one in given["tools"]])
        return call("get_weather", city="Oslo")

    provider = MockProvider(model)
    client = provider.client()
    sent = looked_up(REFERENCE)
    reply = client.messages.create(**sent)
    assert seen == [["find_tools", "get_weather"]] and reply.stop_reason == "tool_use"
    loaded = count_tokens(sent) - count_tokens(looked_up(REFERENCE, tools=[LOOK, {**WEATHER, "defer_loading": False}]))
    assert abs(loaded) < 10  # it costs what it would cost if it were not deferred
    answered = user({"type": "tool_result", "tool_use_id": reply.content[0].id, "content": "4 C"})
    client.messages.create(**{**sent, "messages": [*sent["messages"], assistant(*plain(reply)), answered]})
    assert seen[1] == ["find_tools", "get_weather"] and provider.report()


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (
            looked_up(REFERENCE, SAID),
            "messages.2.content.0.tool_result.content: "
            "Tool definitions/code execution functions cannot be mixed with other content",
        ),
        (
            looked_up({**REFERENCE, "tool_name": "gone"}),
            "messages.2.content.0.tool_result.content.0: Tool reference 'gone' not found in available tools",
        ),
        (
            looked_up(REFERENCE, tools=[LOOK, EDGE]),
            "messages.2.content.0.tool_result.content.0: Tool reference 'get_weather' not found in available tools",
        ),
    ],
    ids=["beside_text", "unknown_name", "removed_since"],
)
def test_references_stand_alone_and_name_tools_of_the_request(sent: dict[str, Any], message: str) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        MockProvider(["Hi."]).client().messages.create(**sent)
    assert refused.value.body["error"] == {"type": "invalid_request_error", "message": message}


def test_their_twins_pass() -> None:
    for sent in (looked_up(REFERENCE), looked_up(REFERENCE, behind=[SAID]), looked_up(SAID)):
        assert refusals(sent) == []


# What the report says.


def reported(*steps: Any, second: Callable[[list[Any]], list[Any]] | None = None) -> list[tuple[int, str, str]]:
    provider, client = client_of(*steps)
    content = plain(client.messages.create(**request()))
    if second:
        called = next(block for block in content if block["type"] == "tool_use")
        answered = user({"type": "tool_result", "tool_use_id": called["id"], "content": "4 C"})
        client.messages.create(**request(ASK, assistant(*second(content)), answered))
    return [(found.request, found.rule, found.message) for found in provider.report().findings]


def test_a_call_of_a_tool_that_nothing_brought_in() -> None:
    unseen = (
        "`get_weather` is deferred and was called although nothing had brought it in: a real model cannot see it; "
        "let it be searched for, or answer a call with a `tool_reference` to it"
    )
    calling = call("get_weather", city="Oslo")
    assert reported(calling) == [(1, "deferred-call", unseen)]
    assert reported(search("create edge"), calling) == [(1, "deferred-call", unseen)]
    assert reported(search("weather"), calling) == []


def test_a_turn_that_goes_back_without_its_search() -> None:
    steps = (search("weather"), call("get_weather", city="Oslo"), "It is 4 C.")
    hidden = "the turn goes back without its search, so what that found is hidden again: `get_weather`"
    assert reported(*steps, second=lambda content: content[-1:]) == [(2, "search-not-echoed", hidden)]
    assert reported(*steps, second=lambda content: content) == []


def test_a_search_that_is_lost_is_told_once_and_so_is_the_next() -> None:
    weather, edge = call("get_weather", city="Oslo"), call("canvas_create_edge", city="Oslo")
    turns = [[search("weather"), weather, weather], [search("create edge"), edge, edge], "Done."]
    provider, client = client_of(*turns)
    history: list[Any] = [ASK]
    for _ in turns:
        content = plain(client.messages.create(**request(*history)))
        called = [block for block in content if block["type"] == "tool_use"]
        answers = [{"type": "tool_result", "tool_use_id": block["id"], "content": "4 C"} for block in called]
        history += [assistant(*called), user(*answers)]
    hidden = "the turn goes back without its search, so what that found is hidden again: "
    assert [(found.request, found.rule, found.message) for found in provider.report().findings] == [
        (2, "search-not-echoed", f"{hidden}`get_weather`"),
        (3, "search-not-echoed", f"{hidden}`canvas_create_edge`"),
    ]


def test_a_request_that_is_answered_once_more_without_a_search_owes_none() -> None:
    weather = {**call("get_weather", city="Oslo"), "id": "toolu_A"}  # as in a replayed reply
    provider, client = client_of([search("weather"), weather], ["Well.", "So.", weather], "Done.")
    [_, found, lost], content = (plain(client.messages.create(**request(ASK))) for _ in range(2))
    assert found["type"] == "tool_search_tool_result" and lost["id"] == content[-1]["id"]
    answer = {"type": "tool_result", "tool_use_id": lost["id"], "content": "4 C"}
    client.messages.create(**request(ASK, assistant(*content), user(answer)))
    assert "search-not-echoed" not in [one.rule for one in provider.report().findings]


def test_a_call_where_there_are_no_tools_is_no_call_of_a_deferred_one() -> None:
    provider = MockProvider([call("get_weather", city="Oslo")])
    provider.client().messages.create(**{name: value for name, value in request().items() if name != "tools"})
    assert provider.report().findings == ()


# A model that decides to search.


def test_a_search_for_what_was_asked() -> None:
    asked = "  Refund my order for the broken cups, please.  "
    assert search_call(request(tools=[BM25, *CATALOGUE]), asked) == search(asked.strip())
    by_pattern = search_call(request(tools=[REGEX, *CATALOGUE]), asked)
    assert by_pattern and set(by_pattern["input"]["pattern"].split("|")) >= {"refund", "order", "cup"}
    assert search_call(request(tools=[ASKING, *CATALOGUE]), asked) is None
    assert search_call(request(), "") is None
    assert len(search_call(request(tools=[BM25]), "x" * 900)["input"]["query"]) == 500
    long = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(200))
    assert 150 < len(search_call(request(tools=[REGEX]), long)["input"]["pattern"]) <= 200


def test_nothing_is_searched_for_twice() -> None:
    done = assistant(SEARCHED, FOUND)
    assert search_call(request(ASK, done, tools=[BM25, *CATALOGUE]), "weather") is None
    assert search_call(request(ASK, done, tools=[BM25, *CATALOGUE]), "weather tomorrow") == search("weather tomorrow")


def test_any_model_may_ask_by_the_block() -> None:
    class Model:
        def reply(self, given: Mapping[str, Any]) -> Draft:
            block = search_call(given, "weather")
            return Draft([block], ["nothing fits"]) if block else Draft([call("get_weather")], ["found"])

    provider = MockProvider(Model())
    reply = provider.client().messages.create(**request())
    assert [block.type for block in reply.content] == ["server_tool_use", "tool_search_tool_result", "tool_use"]
    assert provider.explain() == "nothing fits\nfound"

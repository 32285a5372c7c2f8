"""What a conversion has no place for: where it stood, and why it did not come along, in the words that are shown."""

import pytest

from course_kit.classroom.differences import differences_table
from course_kit.contract.messages import assistant, text, tool_result, tool_use, user
from course_kit.contract.shapes import (
    Definition,
    definition_from,
    definition_to,
    reply_from,
    reply_to,
    request_from,
    request_to,
    result_from,
    result_to,
)

CONVERSATIONS = ("openai_chat", "openai_responses", "gemini")
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
PAGE = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}
AUDIO = {"type": "audio", "data": "x"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEB = {"type": "web_search_20260101", "name": "web_search"}
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
NOW = {"name": "now", "input_schema": SCHEMA}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "abc"}
CALL = assistant([tool_use("a", "now", {})])
LONG = "n" * 65
SHORT = f"{'n' * 55}_1e3fb6d5"
NO_COUNTERPART = "has no counterpart there"
SERVERS = "`web_search_20260101` is a tool of the Messages API's server"
RENAMED = f"names have at most 64 letters, digits, _ and - there: sent as `{SHORT}`"
LOADED, EXAMPLES = "every definition is loaded at once there", "there is no field for examples"
EFFORT = "how hard to think is set by the provider's own option"


def request(*messages, **fields):
    return {"model": "m", "max_tokens": 100, "messages": [user("hi"), *messages], **fields}


def no_such(kind, where="messages.1.content.0"):
    return [(where, f"there is no such {kind} as `thinking`")]


def everywhere(*lost):
    return dict.fromkeys(CONVERSATIONS, [*lost])


WORKING = {**NOW, "strict": True, "defer_loading": True, "input_examples": [{"city": "Oslo"}]}
# a request → what each shape has no place for
REQUESTS = {
    "thinking": (
        request(assistant([THINKING])),
        {"openai_chat": no_such("block"), "openai_responses": no_such("item"), "gemini": no_such("part")},
    ),
    "thinking of the user": (
        request(user([THINKING])),
        {"openai_chat": no_such("block"), "openai_responses": no_such("part"), "gemini": no_such("part")},
    ),
    "a server's tool": (request(tools=[WEB]), everywhere(("tools.0", SERVERS))),
    "a long name": (
        request(tools=[{"name": LONG, "input_schema": SCHEMA}]), everywhere((f"tools.{LONG}", RENAMED)),
    ),
    "an unknown field": (request(top_k=3), everywhere(("top_k", NO_COUNTERPART))),
    "two unknown fields, in their order": (
        request(top_p=1, top_k=3), everywhere(("top_p", NO_COUNTERPART), ("top_k", NO_COUNTERPART)),
    ),
    "a choice without tools": (
        request(tool_choice={"type": "any"}),
        {
            **dict.fromkeys(CONVERSATIONS[:2], [("tool_choice", "without tools there is nothing to choose")]),
            "gemini": [],
        },
    ),
    "one call at a time": (
        request(tools=[NOW], tool_choice={"type": "any", "disable_parallel_tool_use": True}),
        {
            **dict.fromkeys(CONVERSATIONS[:2], []),
            "gemini": [
                ("tool_choice.disable_parallel_tool_use", "several calls in a turn cannot be switched off there")
            ],
        },
    ),
    "a definition that says a lot": (
        request(tools=[WORKING]),
        {
            "openai_chat": [("tools.0.defer_loading", LOADED), ("tools.0.input_examples", EXAMPLES)],
            "openai_responses": [("tools.0.input_examples", EXAMPLES)],
            "gemini": [
                ("tools.0.strict", "no tool is strict by itself there"),
                ("tools.0.defer_loading", LOADED),
                ("tools.0.input_examples", EXAMPLES),
            ],
        },
    ),
    "a search by patterns": (
        request(tools=[REGEX, NOW]),
        {"openai_responses": [("tools.0", "how a search ranks is that provider's choice")]},
    ),
    "a picture in a result": (
        request(CALL, user([tool_result("a", [text("x"), PNG])])),
        {
            **dict.fromkeys(
                ("openai_chat", "gemini"),
                [("messages.2.content.0.content.1", "only text has a place there, not `image`")],
            ),
            "openai_responses": [],
        },
    ),
    "a picture in the system prompt": (
        request(system=[PNG]), everywhere(("system.0", "only text has a place there, not `image`")),
    ),
    "text ahead of a result": (
        request(CALL, user([text("x"), tool_result("a", "y")])),
        {
            "openai_chat": [("messages.2.content.1", "text ahead of a result: there, results come first")],
            "openai_responses": [],
            "gemini": [],
        },
    ),
    "text after a call": (
        request(assistant([tool_use("a", "now", {}), text("x")])),
        {
            "openai_chat": [
                ("messages.1.content.1", "text after a call: there, the text of a turn stands ahead of its calls")
            ],
            "openai_responses": [],
            "gemini": [],
        },
    ),
    "an input that is no object": (
        request(assistant([tool_use("a", "now", "x")])),
        {
            **dict.fromkeys(CONVERSATIONS[:2], []),
            "gemini": [("messages.1.content.0.input", "a text that is no JSON object: sent as {}")],
        },
    ),
    "to be streamed": (
        request(stream=True),
        {
            **dict.fromkeys(CONVERSATIONS[:2], []),
            "gemini": [("stream", "whether to stream is said in the address: streamGenerateContent")],
        },
    ),
    "effort": (
        request(output_config={"effort": "low"}),
        {
            **dict.fromkeys(CONVERSATIONS[:2], [("output_config.effort", EFFORT)]),
            "gemini": [("output_config", NO_COUNTERPART)],
        },
    ),
    "a long id": (
        request(assistant([tool_use("t" * 41, "now", {})])),
        {
            "openai_chat": [("messages.1.content.0.id", "an id has at most 40 characters there: sent shortened")],
            "openai_responses": [],
            "gemini": [],
        },
    ),
    "an id of 40 characters": (request(assistant([tool_use("t" * 40, "now", {})])), everywhere()),
    "a system turn": (
        request({"role": "system", "content": "x"}),
        {
            **dict.fromkeys(CONVERSATIONS[:2], []),
            "gemini": [("messages.1", "there is no system turn: it became one of the user's")],
        },
    ),
    "another provider's thinking": (
        request(assistant([{"type": "thinking", "thinking": "", "signature": "gemini:{}"}])),
        {"anthropic": [("messages.1.content.0", "another provider's thinking, which only it can read")]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_what_a_request_loses(name):
    body, lost = REQUESTS[name]
    assert {shape: [*request_to(shape, body).lost] for shape in lost} == lost


def allowed(*names):
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}}


CUSTOM = {"type": "custom", "id": "a", "custom": {"name": "now", "input": "x"}}
FOREIGN = {
    "a part of chat": (
        "openai_chat",
        {"messages": [{"role": "user", "content": [AUDIO]}]},
        [("messages.0.content.0", "`audio` is not carried over")],
    ),
    "a call of another kind": (
        "openai_chat",
        {"messages": [{"role": "assistant", "tool_calls": [CUSTOM]}]},
        [("messages.0.tool_calls", "a call of the kind `custom` has no input object")],
    ),
    "a name and a seed": (
        "openai_chat",
        {"messages": [{"role": "user", "name": "Ada", "content": "x"}], "seed": 1},
        [("seed", NO_COUNTERPART), ("messages.0.name", NO_COUNTERPART)],
    ),
    "tools of chat": (
        "openai_chat",
        {
            "messages": [],
            "tools": [{"type": "custom"}, {"type": "function", "function": {"name": "now", "parameters": {}, "x": 1}}],
            "tool_choice": allowed("now"),
        },
        [
            ("tools.0", "`custom` is a tool of that provider"),
            ("tools.1.x", NO_COUNTERPART),
            ("tool_choice", "the allowed tools: only these are handed on"),
        ],
    ),
    "items of responses": (
        "openai_responses",
        {"input": [{"type": "image_generation_call"}, {"type": "message", "role": "user", "content": [AUDIO]}]},
        [
            ("input.0", "`image_generation_call` is an item of that provider alone"),
            ("input.1.content.0", "`audio` is not carried over"),
        ],
    ),
    "parts, tools and settings of gemini": (
        "gemini",
        {
            "contents": [{"role": "user", "parts": [{"fileData": {}}]}],
            "tools": [
                {"googleSearch": {}},
                {"functionDeclarations": [{"name": "now", "parametersJsonSchema": SCHEMA, "response": {}}]},
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}},
            "generationConfig": {"topK": 1},
            "safetySettings": [1],
        },
        [
            ("safetySettings", NO_COUNTERPART),
            ("generationConfig.topK", NO_COUNTERPART),
            ("contents.0.parts.0", "such a part is not carried over"),
            ("tools.0.googleSearch", NO_COUNTERPART),
            ("tools.1.functionDeclarations.0.response", NO_COUNTERPART),
            ("toolConfig", "mode ANY for 2 names has no counterpart"),
        ],
    ),
    "a mode of gemini": (
        "gemini",
        {"contents": [], "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}},
        [("toolConfig", "mode VALIDATED for 0 names has no counterpart")],
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_a_request_of_another_provider_loses(name):
    shape, body, lost = FOREIGN[name]
    assert [*request_from(shape, {"model": "m", **body}).lost] == lost


@pytest.mark.parametrize("shape", CONVERSATIONS)
def test_what_an_ending_loses(shape):
    two = [("content", "the texts of a reply are one text there")] if shape == "openai_chat" else []
    paused = {"id": "msg_1", "content": [text("a"), text("b")], "stop_reason": "pause_turn"}
    assert [*reply_to(shape, paused).lost] == [*two, ("stop_reason", "there is no such ending as `pause_turn`")]
    met = {"id": "msg_1", "content": [THINKING], "stop_reason": "stop_sequence", "stop_sequence": "END"}
    kind = {"openai_chat": "block", "openai_responses": "item", "gemini": "part"}[shape]
    assert [*reply_to(shape, met).lost] == [
        *no_such(kind, "content.0"),
        ("stop_sequence", "which stop sequence was met is not told there"),
    ]


def test_what_a_refusal_loses():
    refused = {"content": [], "stop_reason": "refusal", "stop_details": {"category": "bio", "explanation": "No."}}
    refused["usage"] = {"cache_creation_input_tokens": 3}
    why = ("stop_details.category", "why a reply was refused has no field there")
    assert {shape: [*reply_to(shape, refused).lost] for shape in CONVERSATIONS} == {
        "openai_chat": [why],
        "openai_responses": [why],
        "gemini": [
            why,
            ("stop_details.explanation", "a refusal says nothing there"),
            ("usage.cache_creation_input_tokens", "what was written to a cache is not counted by itself"),
        ],
    }


def test_a_second_answer_is_lost():
    choices = [{"message": {"content": said}} for said in "ab"]
    converted = reply_from("openai_chat", {"choices": choices})
    assert [*converted.lost] == [("choices", "a Messages reply is one answer: only the first is kept")]
    assert converted.value["content"] == [text("a")]


WHY = {
    "effect": "what a call does to the world stays on this side",
    "idempotent": "whether a call may be made twice stays on this side",
    "timeout": "how long to wait stays on this side",
    "strict": "no tool is strict by itself there",
    "defer_loading": LOADED,
    "input_examples": EXAMPLES,
    "title": "there is no field for a title",
    "output_schema": "there is no field for the shape of a result",
}
REFUND = Definition(
    *("refund_order", "Pay money back.", SCHEMA),
    **{"effect": "irreversible", "idempotent": True, "timeout": 5.0, "strict": True, "defer_loading": True},
    **{"input_examples": [{"city": "Oslo"}], "title": "Refund", "output_schema": {"type": "object"}},
)


@pytest.mark.parametrize(
    ("shape", "lost"),
    [
        ("anthropic", "effect idempotent timeout title output_schema"),
        ("openai_chat", "effect idempotent timeout defer_loading input_examples title output_schema"),
        ("openai_responses", "effect idempotent timeout input_examples title"),
        ("gemini", "effect idempotent timeout strict defer_loading input_examples title output_schema"),
        ("mcp", "timeout strict defer_loading input_examples"),
    ],
)
def test_what_a_definition_loses(shape, lost):
    assert [*definition_to(shape, REFUND).lost] == [(name, WHY[name]) for name in lost.split()]


def test_what_a_server_says_of_itself_is_lost_unless_trusted():
    entry = {"name": "a", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True, "title": "A"}, "icons": [1]}
    assert [*definition_from("mcp", entry).lost] == [
        ("icons", NO_COUNTERPART),
        ("annotations", "hints of the server about itself, which count only when you say so"),
    ]
    trusted = definition_from("mcp", entry, trust_annotations=True)
    assert [*trusted.lost] == [("icons", NO_COUNTERPART), ("annotations.title", NO_COUNTERPART)]
    elsewhere = definition_from("openai_chat", {"function": {"name": "a", "annotations": {"readOnlyHint": True}}})
    assert (elsewhere.value, [*elsewhere.lost]) == (Definition("a"), [("annotations", NO_COUNTERPART)])


def test_what_a_result_loses():
    picture = {"type": "image", "data": "a", "mimeType": "image/png"}
    answer = {"content": [{"type": "audio"}, picture], "isError": True, "structuredContent": {"n": 1}, "x": 1}
    assert [*result_from("mcp", answer, "t").lost] == [
        ("content.0", "`audio` is not carried over"),
        ("structuredContent", "a second form of the content, left out"),
        ("content.1", "an error holds text only"),
        ("x", NO_COUNTERPART),
    ]
    assert [*result_to("mcp", tool_result("t", [PAGE])).lost] == [
        ("content.0", "there is no such content as `document`")
    ]


def test_shapes_that_are_none_are_named():
    shapes = "anthropic, openai_chat, openai_responses, gemini"
    for call in (lambda: definition_to("cohere", REFUND), lambda: differences_table("cohere")):
        with pytest.raises(ValueError, match=f"^'cohere' is no shape: give one of {shapes}, mcp\\.$"):
            call()
    with pytest.raises(ValueError, match=f"^There is no such conversion for 'mcp': give one of {shapes}\\.$"):
        request_to("mcp", request())
    with pytest.raises(ValueError, match=r"^There is no such conversion for 'gemini': give one of mcp\.$"):
        result_to("gemini", tool_result("t", "x"))


def test_an_entry_without_a_function_has_no_name():
    with pytest.raises(ValueError, match=r"^A definition has no `name`: give it one\.$"):
        definition_from("openai_chat", {"type": "function"})


def test_a_conversion_as_text_is_its_value_and_its_losses():
    shown = str(definition_to("gemini", Definition("now", "Zürich", {}, title="Now")))
    assert shown == (
        '{\n  "name": "now",\n  "description": "Zürich",\n  "parametersJsonSchema": {}\n}\n'
        "lost: title: there is no field for a title"
    )

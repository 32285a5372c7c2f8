"""What changes with the provider: the table of lesson 11, as data.

Anthropic's, OpenAI's and MCP's columns are read in the types of the SDKs (anthropic 2.14, openai 3.57, mcp 2.3);
Gemini's are from recorded traffic, its modes and finish reasons from documentation only. Two cells of OpenAI's rest on
reports: that Responses takes an output at any later place, and that Chat ends a call it was told by name with `stop`.
"""

__all__ = ["DIFFERENCES", "SHAPES", "differences_table"]

SHAPES = ("anthropic", "openai_chat", "openai_responses", "gemini", "mcp")

# topic → what it looks like, in the order of SHAPES
DIFFERENCES: dict[str, tuple[str, str, str, str, str]] = {
    "definitions": (
        "`tools[]`, flat, `input_schema`",
        "`tools[].function`, `parameters`",
        "`tools[]`, flat, `parameters`",
        "`tools[].functionDeclarations[]`, `parametersJsonSchema`",
        "the server's, by `tools/list`, `inputSchema`",
    ),
    "a call": (
        "`tool_use` block",
        "`message.tool_calls[]`",
        "`function_call` item",
        "`functionCall` part, role `model`",
        "`tools/call`, sent by the client",
    ),
    "inputs": ("object", "JSON text", "JSON text", "object (`args`)", "object (`arguments`)"),
    "pairing id": (
        "`tool_use_id`",
        "`tool_call_id`",
        "`call_id` (not the item's `id`)",
        "`id` where there is one, else name and order",
        "the id of the JSON-RPC request",
    ),
    "a result": (
        "role `user`, `tool_result` block",
        "role `tool`, a message for each call",
        "`function_call_output` item",
        "role `user`, `functionResponse` part, an object",
        "the answer to the request",
    ),
    "order": (
        "the very next message, results first",
        "`tool` messages right after the calls",
        "anywhere later, paired by id (as reported)",
        "the next turn, as many results as calls",
        "no conversation",
    ),
    "error flag": (
        "`is_error`",
        "none: the text must say it",
        "none: the text must say it",
        "none: by convention the key `error`",
        "`isError`",
    ),
    "parallel switch": (
        "`tool_choice.disable_parallel_tool_use`",
        "`parallel_tool_calls`",
        "`parallel_tool_calls`",
        "none",
        "no model",
    ),
    "forcing": (
        '`{"type": "any"}`, `{"type": "tool"}` (not every model)',
        '`"required"`, a named function, `allowed_tools`',
        '`"required"`, a named function, `allowed_tools`',
        "mode `ANY`, `allowedFunctionNames`",
        "no model",
    ),
    "strict": (
        "`strict: true`, up to 24 optional inputs in all strict tools together",
        "`strict: true`, every input required, optional ones nullable",
        "the same; left out, the server makes the schema strict where it can: optional inputs become required",
        "mode `VALIDATED` (uncertain)",
        "none: the server checks",
    ),
    "deferred tools": (
        "`defer_loading`, and a search tool",
        "none",
        "`defer_loading`, `namespace`, `tool_search`",
        "none",
        "none: the list comes in pages",
    ),
    "stop signal": (
        '`stop_reason: "tool_use"`',
        '`finish_reason: "tool_calls"`; `"stop"` where `tool_choice` names the function (as reported)',
        "none: `function_call` items, `status: completed`",
        "none: `functionCall` parts, `finishReason: STOP`",
        "no conversation",
    ),
    "usage": (
        "`input_tokens`, `output_tokens`; the cache counted apart",
        "`prompt_tokens`, `completion_tokens`; the cache inside",
        "`input_tokens`, `output_tokens`; the cache inside",
        "`promptTokenCount`, `candidatesTokenCount`; the cache inside",
        "no model",
    ),
    "streaming": (
        "named events, pieces of `partial_json`",
        "nameless chunks, pieces of `arguments`, `[DONE]`",
        "named, numbered events, pieces of `arguments`",
        "whole `functionCall` parts",
        "no model",
    ),
    "must go back unchanged": (
        "thinking blocks",
        "nothing",
        "reasoning items (unless `previous_response_id` keeps them there)",
        "`thoughtSignature`",
        "nothing",
    ),
}


def differences_table(*shapes: str) -> str:
    """The table as Markdown, of all shapes or of those named: `differences_table("anthropic", "openai_chat")`."""
    unknown = set(shapes) - set(SHAPES)
    if unknown:
        raise ValueError(f"{min(unknown)!r} is no shape: give one of {', '.join(SHAPES)}.")
    chosen = [SHAPES.index(shape) for shape in shapes or SHAPES]
    rows = [["", *(SHAPES[index] for index in chosen)], ["---"] * (len(chosen) + 1)]
    rows += [[topic, *(cells[index] for index in chosen)] for topic, cells in DIFFERENCES.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)

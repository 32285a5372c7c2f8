"""Rules about the turns of a conversation, besides the pairing of calls and results.

Whose block is whose, what may be empty, what goes back unchanged, what the server's own tools leave open. The three
rules of pairing are in `protocol.py`, which puts all rules in order.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from . import thinking
from .rules import Found, Request, Rule, Turn, rule, said

__all__ = ["TURN_RULES", "CONTENT_RULES"]

Findings = Iterator[Found]
MESSAGES = ("messages",)
PROBE = "request probes, 2026-08-31"
# What the server's own tools answer with, each beside its call in the assistant's turn.
SERVER_RESULTS = tuple(
    f"{name}_tool_result"
    for name in "web_search web_fetch code_execution bash_code_execution text_editor_code_execution tool_search".split()
)


# Whose block it is, and what a result may hold.


@rule("reported", "request probe, 2026-08-28", needs=MESSAGES, blocks=("tool_result",))
def results_from_the_user(request: Request) -> Findings:
    """Results are the user's: an assistant turn holds no `tool_result`."""
    for path, _ in request.of_type("tool_result", role="assistant"):
        yield Found(_message(path), "`tool_result` blocks can only be in `user` messages")


@rule("reported", "error texts in public reports", needs=MESSAGES, blocks=("tool_use",))
def calls_from_the_assistant(request: Request) -> Findings:
    """Calls are the assistant's: a user turn holds no `tool_use`."""
    for path, _ in request.of_type("tool_use", role="user"):
        yield Found(_message(path), "`tool_use` blocks can only be in `assistant` messages")


@rule("reported", "the API's own text; a comment in the SDK's runner agrees", needs=MESSAGES, blocks=("tool_result",))
def error_result_is_text(request: Request) -> Findings:
    """A result with `is_error` holds text only."""
    for path, block in request.of_type("tool_result"):
        content = block.get("content")
        if block.get("is_error") and isinstance(content, list) and any(part["type"] != "text" for part in content):
            yield Found(f"{path}.tool_result", "all content must be type `text` if `is_error` is true")


@rule("reported", "the API's own text; a comment in the SDK's runner agrees", needs=MESSAGES, blocks=("tool_result",))
def error_result_says_something(request: Request) -> Findings:
    """A result with `is_error` is not empty."""
    for path, block in request.of_type("tool_result"):
        if block.get("is_error") and not block.get("content"):
            yield Found(f"{path}.tool_result", "content cannot be empty if `is_error` is true")


@rule(
    "uncertain",
    "the SDK's runner sends it, the server's answer is not known",
    needs=MESSAGES,
    default=False,
    blocks=("tool_result",),
)
def result_content_not_null(request: Request) -> Findings:
    """A result's `content` is left out rather than null."""
    for path, block in request.of_type("tool_result"):
        if block.get("content", "") is None:
            yield Found(f"{path}.tool_result.content", "Input should be a valid string or array")


# Roles and emptiness.


@rule("reported", "error texts in public reports", needs=MESSAGES)
def some_message(request: Request) -> Findings:
    """There is at least one message."""
    if not request.body["messages"]:
        yield Found("messages", "at least one message is required")


@rule("reported", PROBE, needs=MESSAGES)
def role_known(request: Request) -> Findings:
    """A role is `user` or `assistant` (`system` too, on models that take it); there is no role `tool`."""
    roles = (
        ("user", "assistant", "system") if not request.model or request.model.system_turns else ("user", "assistant")
    )
    for message in request.body["messages"]:
        if message["role"] not in roles:
            words = f'Unexpected role "{message["role"]}". Allowed roles are "user" or "assistant"'
            yield Found("messages", words)


@rule("uncertain", "recorded 200 on sonnet-4-5 and haiku-4-5; other hosts refuse", needs=MESSAGES, default=False)
def first_message_from_user(request: Request) -> Findings:
    """The first message is the user's (no longer on the direct API, so this is a setting)."""
    if request.turns and request.turns[0].role == "assistant":
        yield Found("messages", 'first message must use the "user" role')


@rule("reported", PROBE, needs=MESSAGES)
def user_turn_not_empty(request: Request) -> Findings:
    """A user turn has content; user messages in a row count as one turn."""
    for turn in request.turns:
        if turn.role == "user" and not turn.blocks:
            yield Found(turn.path, "user messages must have non-empty content")


@rule("reported", PROBE, needs=MESSAGES)
def assistant_turn_not_empty(request: Request) -> Findings:
    """An assistant turn has content, except the last message of all."""
    for turn in request.turns[:-1]:
        if turn.role == "assistant" and not turn.blocks:
            words = "all messages must have non-empty content except for the optional final assistant message"
            yield Found(turn.path, words)


@rule("reported", "error texts in public reports", needs=MESSAGES)
def text_not_empty(request: Request) -> Findings:
    """A text block is not `""`, not even in a result."""
    for path, block in _texts(request):
        if block["text"] == "":
            yield said(path, "messages: text content blocks must be non-empty")


@rule("reported", "error texts in public reports", needs=MESSAGES)
def text_not_blank(request: Request) -> Findings:
    """A text block of a turn holds more than white space."""
    for path, block in request.of_type("text"):
        if block["text"] and not block["text"].strip():
            yield said(path, "messages: text content blocks must contain non-whitespace text")


@rule("docs", "Claude API errors", needs=("messages", "model"))
def no_prefill(request: Request) -> Findings:
    """Since Claude 4.6 the conversation ends with a user turn (or with a server tool's result, to be resumed)."""
    if (last := _prefilled(request)) and request.model and not request.model.prefill:
        words = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield said(last.path, words)


@rule("reported", "error texts in public reports", needs=("messages", "model"))
def prefill_not_open_ended(request: Request) -> Findings:
    """Where prefill is allowed, it does not end in white space."""
    if (last := _prefilled(request)) and request.model and request.model.prefill:
        _, block = last.blocks[-1]
        if block["type"] == "text" and block["text"] != block["text"].rstrip():
            yield Found("messages", "final assistant content cannot end with trailing whitespace")


def _texts(request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
    for _, path, block in request.blocks:
        if block["type"] == "text":
            yield path, block
        elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
            yield from ((path, part) for part in block["content"] if part["type"] == "text")


def _prefilled(request: Request) -> Turn | None:
    """The last turn, when it is the assistant's and begins an answer that the model should continue."""
    if request.turns and request.turns[-1].role == "assistant" and request.turns[-1].blocks:
        _, block = request.turns[-1].blocks[-1]
        if not _server_side(block):
            return request.turns[-1]
    return None


def _server_side(block: Mapping[str, Any]) -> bool:
    """A server tool's call or result: an assistant turn may stop there and be sent back to be resumed."""
    return block["type"] == "server_tool_use" or (block["type"] != "tool_result" and block["type"].endswith("_result"))


def _message(path: str) -> str:
    return path.rpartition(".content.")[0]


# Thinking goes back as it came.


@rule("reported", "via a host, 2026-07-26", needs=MESSAGES, blocks=("thinking", "redacted_thinking"))
def thinking_not_last(request: Request) -> Findings:
    """No assistant turn ends in `thinking`."""
    for turn in request.turns:
        if turn.role == "assistant" and turn.blocks and turn.blocks[-1][1]["type"] in thinking.TYPES:
            yield Found(turn.path, "The final block in an assistant message cannot be `thinking`.")


@rule("docs", "Extended thinking", needs=MESSAGES, blocks=("thinking", "redacted_thinking"))
def thinking_unchanged(request: Request) -> Findings:
    """Thinking of the latest assistant turn is neither edited nor repeated (the mock knows its own by signature)."""
    latest = next((turn for turn in reversed(request.turns) if turn.role == "assistant"), None)
    before = None
    for path, block in latest.blocks if latest else ():
        doubled = block["type"] == before == "thinking"
        if doubled or (block["type"] == "thinking" and thinking.edited(block)):
            yield Found(
                path,
                "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response.",
            )
        before = block["type"]


@rule(
    "docs",
    "Claude API errors; What's new in Claude Opus 5.5",
    needs=("messages", "model", "tools", "system"),
    blocks=("thinking",),
)
def thinking_in_its_conversation(request: Request) -> Findings:
    """On the 5.5 models thinking is bound to what comes before it: `system`, `tools`, earlier turns do not change."""
    if request.model and request.model.binds_thinking and request.of_type("thinking", role="assistant"):
        turns = [(turn.role, [block for _, block in turn.blocks]) for turn in request.turns]
        for turn, binding in zip(request.turns, thinking.bindings(request.body, turns), strict=False):
            for path, block in turn.of_type("thinking") if turn.role == "assistant" else ():
                if not thinking.edited(block) and thinking.moved(block, binding):
                    words = "Invalid `signature` in `thinking` block: it is bound to a different conversation."
                    yield Found(path, words)


# Tools that the server runs, and system turns.


@rule("docs", "Server tools; for searches a report of 2026-08", needs=MESSAGES, blocks=("server_tool_use",))
def server_call_not_left_open(request: Request) -> Findings:
    """While a server tool's call has no result yet, the next turn holds only results; a search always has one."""
    for turn, name, id in _open_server_calls(request):
        following = request.turns[request.turns.index(turn) + 1 :]
        # A search never waits for the client, so one without a result has lost it on the way.
        lost = bool(following) and name.startswith("tool_search_tool_")
        if lost or any(block["type"] != "tool_result" for later in following for _, block in later.blocks):
            words = f"`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block"
            yield Found(turn.path, words)


@rule(
    "reported",
    "the API's own text for another server tool, 2026-05 to 2026-09",
    needs=MESSAGES,
    blocks=SERVER_RESULTS,
)
def server_result_has_call(request: Request) -> Findings:
    """The result of a server tool comes after its `server_tool_use`."""
    called: set[str] = set()
    for role, path, block in request.blocks:
        if block["type"] == "server_tool_use" and role == "assistant":
            called.add(block["id"])
        elif block["type"] in SERVER_RESULTS and block.get("tool_use_id") not in called:
            words = (
                f"unexpected `tool_use_id` found in `{block['type']}` blocks: {block.get('tool_use_id')}. Each "
                f"`{block['type']}` block must have a corresponding `server_tool_use` block before it."
            )
            yield Found(path, words)


@rule("docs", "Server tools", needs=("messages", "tools"), blocks=("server_tool_use",))
def server_tool_declared_again(request: Request) -> Findings:
    """A turn that is resumed declares the server tool that is still running."""
    for turn, name, id in _open_server_calls(request):
        if name not in request.tool_names:
            yield Found(turn.path, f"`{name}` tool use with id `{id}` was found, but no `{name}` tool was provided")


def _open_server_calls(request: Request) -> Iterator[tuple[Turn, str, str]]:
    for turn in request.turns if request.of_type("server_tool_use") else ():
        for _, call in turn.of_type("server_tool_use"):
            if not any(
                call["id"] == block.get("tool_use_id") for role, _, block in request.blocks if role == "assistant"
            ):
                yield turn, call["name"], call["id"]


@rule(
    "uncertain",
    "live 200s in 2026-07 and 2026-09; older pages and hosts refuse",
    needs=("messages", "tools"),
    default=False,
    blocks=("tool_use", "tool_result"),
)
def tools_declared_for_history(request: Request) -> Findings:
    """A history with calls declares `tools` (no longer on the direct API, so this is a setting)."""
    if not request.tools and any(block["type"] in ("tool_use", "tool_result") for _, _, block in request.blocks):
        yield said("tools", "Requests which include `tool_use` or `tool_result` blocks must define tools.")


@rule("reported", "request probes, 2026-08-31 and 2026-09-10; docs: Mid-conversation system messages", needs=MESSAGES)
def system_turn_in_place(request: Request) -> Findings:
    """A system turn comes after a user turn (or a server tool's result) and before an assistant turn or the end."""
    messages = request.body["messages"]
    for index, message in enumerate(messages):
        if message["role"] != "system" or (index + 1 < len(messages) and messages[index + 1]["role"] == "system"):
            continue
        before = next((m for m in reversed(messages[:index]) if m["role"] != "system"), None)
        if before is None:
            words = "use the top-level 'system' parameter for the initial system prompt"
        elif index + 1 < len(messages) and messages[index + 1]["role"] != "assistant":
            words = "role 'system' must precede an 'assistant' message or end the array"
        elif before["role"] == "assistant" and not _ends_server_side(before):
            words = (
                "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
            )
        else:
            continue
        yield Found(f"messages.{index}", words)


@rule("docs", "Mid-conversation system messages and tool changes", needs=MESSAGES)
def system_turn_content(request: Request) -> Findings:
    """A system turn holds text or tool changes, and is not empty."""
    for index, message in enumerate(request.body["messages"]):
        if message["role"] != "system":
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            yield Found(f"messages.{index}", "system content must contain at least one block")
        for block in blocks:
            if block["type"] not in ("text", "tool_addition", "tool_removal"):
                yield Found(f"messages.{index}", "system messages may only contain text and tool change blocks")
            elif block["type"] == "text" and not block["text"].strip():
                yield Found(f"messages.{index}", "system text blocks must contain non-whitespace text")


def _ends_server_side(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and bool(content) and _server_side(content[-1])


# Version 2026-10-21.


@rule("docs", "Migrating to API version 2026-10-21", needs=MESSAGES, blocks=("document",))
def no_document_from_the_assistant(request: Request) -> Findings:
    """Since version 2026-10-21 no `document` is directly in an assistant message."""
    if request.version >= "2026-10-21":
        for path, _ in request.of_type("document", role="assistant"):
            yield Found(path, "`document` blocks can only be in `user` messages")


@rule("docs", "Migrating to API version 2026-10-21", needs=MESSAGES)
def no_citations_from_the_user(request: Request) -> Findings:
    """Since version 2026-10-21 no text of a user message carries `citations`."""
    if request.version >= "2026-10-21":
        for kind in ("text", "tool_result", "search_result"):
            for path, block in request.of_type(kind, role="user"):
                parts = [block] if kind == "text" else block.get("content")
                for part in parts if isinstance(parts, list) else ():
                    if isinstance(part, dict) and part.get("type") == "text" and part.get("citations"):
                        yield Found(path, "`citations` are not allowed in `user` messages")


# Tried before the pairing rules, and after them.

TURN_RULES: tuple[Rule, ...] = (
    some_message,
    role_known,
    first_message_from_user,
    system_turn_in_place,
    system_turn_content,
    results_from_the_user,
    calls_from_the_assistant,
    user_turn_not_empty,
    assistant_turn_not_empty,
    text_not_empty,
    text_not_blank,
    no_document_from_the_assistant,
    no_citations_from_the_user,
)
CONTENT_RULES: tuple[Rule, ...] = (
    error_result_is_text,
    error_result_says_something,
    result_content_not_null,
    server_call_not_left_open,
    server_result_has_call,
    server_tool_declared_again,
    thinking_not_last,
    thinking_unchanged,
    thinking_in_its_conversation,
    no_prefill,
    prefill_not_open_ended,
    tools_declared_for_history,
)

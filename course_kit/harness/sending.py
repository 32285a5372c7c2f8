"""The way to the model: a request goes out, an event comes back.

An asker is `request -> event`. A client of the SDK becomes one here, and so does any function `request -> message`;
other providers bring their own function.
"""

import inspect
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from course_kit.contract.messages import Message, content_blocks

from .timing import Watch, start_watch
from .trace import Event

__all__ = ["Ask", "AskAsync", "asker", "async_asker"]

CALL_ID = re.compile("[a-zA-Z0-9_-]+")
Ask = Callable[[dict[str, Any]], Event]
AskAsync = Callable[[dict[str, Any]], Awaitable[Event]]


def asker(client: Any) -> Ask:
    """A client, or a function `request -> message`, as `request -> event`."""
    send = _sender(client)

    def ask(request: dict[str, Any]) -> Event:
        watch = start_watch()
        try:
            return _reply(send(request), request, watch)
        except Exception as error:
            return _lost(error, watch)

    return ask


def async_asker(client: Any) -> AskAsync:
    """The same for an async client or a coroutine function."""
    send = _sender(client)

    async def ask(request: dict[str, Any]) -> Event:
        watch = start_watch()
        try:
            message = send(request)
            return _reply(await message if inspect.isawaitable(message) else message, request, watch)
        except Exception as error:
            return _lost(error, watch)

    return ask


def _sender(client: Any) -> Callable[[dict[str, Any]], Any]:
    if hasattr(client, "messages"):
        return lambda request: client.messages.create(**request)
    if callable(client):
        return client
    hint = ""
    if hasattr(client, "chat"):
        hint = " `openai_chat(client)` and `openai_responses(client)` make one of it."
    elif hasattr(client, "client"):
        hint = " `provider.client()` gives one."
    kind = type(client).__name__
    raise TypeError(f"`client` is {kind}: give an anthropic client or a function request -> message.{hint}")


def _reply(message: Any, request: dict[str, Any], watch: Watch) -> Event:
    if inspect.iscoroutine(message):
        message.close()
        raise TypeError("This client is to be awaited: call `await run_agent_async(...)` instead of `run_agent(...)`.")
    if hasattr(message, "to_dict"):
        message = message.to_dict(mode="json")
    if not (isinstance(message, dict) and message.keys() >= {"content", "stop_reason"}):
        raise TypeError(f"The model's reply is {message!r:.80}: a message has `content` and `stop_reason`.")
    return {"event": "reply", "message": _with_ids_of_their_own(message, request["messages"]), **watch.read()}


def _with_ids_of_their_own(message: Message, before: list[Message]) -> Message:
    """The reply with one id for each call: other servers than the API leave it empty, or give one twice.

    A second call with an id of the history would be refused, and nobody could tell their results apart.
    """
    content = content_blocks(message)
    calls = [(place, block) for place, block in enumerate(content) if block.get("type") == "tool_use"]
    if not calls:
        return message
    # The history was accepted, perhaps by a server that takes more than the API does: nothing is assumed of its blocks.
    turns = [earlier.get("content") for earlier in before if isinstance(earlier, dict)]
    blocks = [block for turn in turns if isinstance(turn, list) for block in turn if isinstance(block, dict)]
    taken = {str(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
    for place, block in calls:
        id, number = block.get("id"), len(taken)
        while not isinstance(id, str) or id in taken or not CALL_ID.fullmatch(id):
            id, number = f"toolu_{number}", number + 1
        taken.add(id)
        if id != block.get("id"):
            content[place] = {**block, "id": id}
            message = {**message, "content": content}
    return message


def _lost(error: Exception, watch: Watch) -> Event:
    """A reply that arrived incomplete is a cut turn. A refused request is not: its exception goes on."""
    import anthropic
    import httpx2

    # subtle: a connection that breaks while the body arrives may come as an error of the HTTP library, not of the SDK,
    # and a body that ends too soon as JSON that cannot be read.
    lost = (anthropic.APIConnectionError, httpx2.TransportError, json.JSONDecodeError, UnicodeDecodeError)
    if isinstance(error, lost):
        return {"event": "lost", "reason": f"{type(error).__name__}: {error}", **watch.read()}
    raise error

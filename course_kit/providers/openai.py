"""The loop on OpenAI: a client of the `openai` SDK as a function `request -> message`.

    run_agent(openai_chat(openai.OpenAI()), model="gpt-…", messages="…", tools=[…])

Each request is turned into the other shape, sent, and the reply turned back, so the loop and its tools stay as they
are. The conversion of shapes is in `contract/shapes`; here is what a pure conversion cannot know:
the client, the strict subset of that provider, and which exceptions mean that a reply was lost on the way.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from course_kit.contract.shapes import Converted, Lost, reply_from, request_to
from course_kit.contract.strict_transform import StrictSchema, to_strict
from course_kit.errors import CourseKitError

__all__ = ["OpenAISender", "ReplyFailed", "openai_chat", "openai_responses"]


class ReplyFailed(CourseKitError):
    """The provider answered with 200 and no finished reply; `code` is its own word for why."""

    def __init__(self, code: str, message: str):
        super().__init__(f"The provider gave no reply ({code}): {message} Ask again, or look the code up.")
        self.code = code


def openai_chat(client: Any, *, model: str | None = None, **options: Any) -> "OpenAISender":
    """A client of the `openai` SDK, sync or async, for the loop, by `/v1/chat/completions`.

    `model` is used instead of the request's own; `options` go into every body: `reasoning_effort="low"`.
    """
    return OpenAISender("openai_chat", client, client.chat.completions.create, model, options)


def openai_responses(client: Any, *, model: str | None = None, **options: Any) -> "OpenAISender":
    """A client of the `openai` SDK for the loop, by `/v1/responses`; `model` and `options` as in `openai_chat`.

    The whole conversation is sent each time; reasoning items go back as they came. Where the provider
    may keep nothing: `store=False, include=["reasoning.encrypted_content"]`.
    """
    return OpenAISender("openai_responses", client, client.responses.create, model, options)


class OpenAISender:
    """A function `request -> message`. `lost` lists what the conversions had no place for, each loss once."""

    def __init__(self, shape: str, client: Any, create: Callable[..., Any], model: str | None, options: dict[str, Any]):
        self.shape, self.create, self.model, self.options = shape, create, model, options
        self.is_async = type(client).__name__.startswith("Async")  # AsyncOpenAI, AsyncAzureOpenAI
        self.lost: list[Lost] = []

    def __call__(self, request: Mapping[str, Any]) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        if self.model:
            request = {**request, "model": self.model}
        request, rewritten = _strict_tools(request, self.lost)
        sent = request_to(self.shape, {key: value for key, value in request.items() if key != "stream"})
        self._keep(sent)
        if self.is_async:
            return self._awaited(sent, rewritten)
        try:
            reply = self.create(**{**sent.value, **self.options})
        except Exception as error:
            _raise_if_lost(error)
            raise
        return self._received(reply, sent, rewritten)

    async def _awaited(self, sent: Converted, rewritten: Mapping[str, StrictSchema]) -> dict[str, Any]:
        try:
            reply = await self.create(**{**sent.value, **self.options})
        except Exception as error:
            _raise_if_lost(error)
            raise
        return self._received(reply, sent, rewritten)

    def _received(self, reply: Any, sent: Converted, rewritten: Mapping[str, StrictSchema]) -> dict[str, Any]:
        if hasattr(reply, "to_dict"):
            reply = reply.to_dict(mode="json")
        status, error = reply.get("status", "completed"), reply.get("error") or {}
        if status not in ("completed", "incomplete"):
            raise ReplyFailed(error.get("code") or status, error.get("message") or f"its status is `{status}`.")
        received = reply_from(self.shape, reply, sent.names)
        self._keep(received)
        for block in received.value["content"]:
            if block["type"] == "tool_use" and isinstance(block["input"], dict) and block["name"] in rewritten:
                # A null that only says "left out" is left out again, before the tool's own schema judges the input.
                block["input"] = rewritten[block["name"]].restore(block["input"])
        return received.value

    def _keep(self, converted: Converted) -> None:
        self.lost += [loss for loss in dict.fromkeys(converted.lost) if loss not in self.lost]


def _strict_tools(request: Mapping[str, Any], lost: list[Lost]) -> tuple[dict[str, Any], dict[str, StrictSchema]]:
    """The request with its strict tools in OpenAI's subset: every input required, optional ones nullable.

    A schema that cannot be written so is sent without `strict`: the harness checks every input anyway.
    """
    tools, rewritten = [], {}
    for tool in request.get("tools") or ():
        if tool.get("strict") and "input_schema" in tool:
            strict = to_strict(tool["input_schema"], "openai")
            if strict.problems:
                loss = Lost(f"tools.{tool['name']}.strict", strict.problems[0].message)
                lost += [loss] if loss not in lost else []
                tool = {**tool, "strict": False}
            else:
                rewritten[tool["name"]] = strict
                tool = {**tool, "input_schema": strict.schema}
        tools.append(tool)
    return {**request, **({"tools": tools} if tools else {})}, rewritten


def _raise_if_lost(error: Exception) -> None:
    """Raise a broken connection as the loop knows it; a refused request keeps its own exception."""
    import httpx2

    openai = sys.modules.get("openai")  # loaded if the error is its own
    if openai and isinstance(error, openai.APIConnectionError):
        raise httpx2.TransportError(str(error)) from error

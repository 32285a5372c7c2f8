"""Agents of other people's making: each asks for a refund at the address where the mock listens.

    python clients.py pydantic_ai http://127.0.0.1:8123      a line of JSON for each interface, plain and streamed

Nothing of the course is imported here, and nothing is made easy for the mock: each library writes its own definitions
from the same three functions, asks, runs the calls and goes on until the model has answered. `tests/test_strangers.py`
starts it with a Python that has the library.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

QUESTION = "Find the orders of Ada Lovelace, then refund 5 euros because it was damaged."
CLAUDE = "claude-haiku-5-5"
GPT = "gpt-5.4"
KEY = "not-a-key"
CALLS: list[list[Any]] = []
ORDER = {"order_id": "ORD-20260917", "status": "delivered", "customer": "Ada Lovelace", "paid_cents": 4500}

OrderId = Annotated[str, Field(pattern="^ORD-[0-9]{8}$", description="The order's number, such as ORD-20260917.")]


def search_orders(customer: Annotated[str, Field(description="The customer's name, such as Ada Lovelace.")]) -> str:
    """Find the orders of a customer. Use it when a person is named and no order number is known."""
    CALLS.append(["search_orders", {"customer": customer}])
    return json.dumps([ORDER])


def query_order(order_id: OrderId) -> str:
    """Read one order in full, when its number is known."""
    CALLS.append(["query_order", {"order_id": order_id}])
    return json.dumps(ORDER)


def refund_order(
    order_id: OrderId,
    amount_cents: Annotated[
        int, Field(ge=1, description="How much to pay back, in cents, as a whole number: 19.99 is 1999.")
    ],
    reason: Annotated[Literal["damaged", "not_received", "wrong_item", "other"], Field(description="Why.")],
) -> str:
    """Pay money back for an order. Use it when the user asks for money back. Call search_orders first."""
    inputs = {"order_id": order_id, "amount_cents": amount_cents, "reason": reason}
    CALLS.append(["refund_order", inputs])
    return json.dumps({"refund_id": "RFD-0001", **inputs, "currency": "EUR"})


TOOLS: list[Callable[..., str]] = [search_orders, query_order, refund_order]


# pydantic-ai


def pydantic_ai(url: str, interface: str, streamed: bool = False) -> str:
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    if interface == "messages":
        model: Any = AnthropicModel(CLAUDE, provider=AnthropicProvider(api_key=KEY, base_url=url))
    else:
        kind = OpenAIChatModel if interface == "chat" else OpenAIResponsesModel
        model = kind(GPT, provider=OpenAIProvider(api_key=KEY, base_url=f"{url}/v1"))
    agent = Agent(model, tools=TOOLS, system_prompt="You work at the desk of a shop.")
    if not streamed:
        return agent.run_sync(QUESTION).output

    async def watch() -> str:
        async with agent.run_stream(QUESTION) as run:
            return await run.get_output()

    return asyncio.run(watch())


# langchain and langgraph


def langgraph(url: str, interface: str, streamed: bool = False) -> str:
    from langchain.agents import create_agent

    if interface == "messages":
        from langchain_anthropic import ChatAnthropic

        model: Any = ChatAnthropic(model=CLAUDE, api_key=KEY, base_url=url, streaming=streamed)
    else:
        from langchain_openai import ChatOpenAI

        responses = interface == "responses"
        model = ChatOpenAI(
            model=GPT, api_key=KEY, base_url=f"{url}/v1", use_responses_api=responses, streaming=streamed
        )
    agent = create_agent(model, TOOLS, system_prompt="You work at the desk of a shop.")
    last = agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1]
    return last.text if isinstance(last.text, str) else last.text()


# openai-agents


def openai_agents(url: str, interface: str, streamed: bool = False) -> str:
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI

    kind = OpenAIChatCompletionsModel if interface == "chat" else OpenAIResponsesModel
    model = kind(model=GPT, openai_client=AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1"))
    tools = [function_tool(function) for function in TOOLS]
    agent = Agent(name="desk", instructions="You work at the desk of a shop.", tools=tools, model=model)
    if not streamed:
        return Runner.run_sync(agent, QUESTION).final_output

    async def watch() -> str:
        run = Runner.run_streamed(agent, QUESTION)
        async for _ in run.stream_events():
            pass
        return run.final_output

    return asyncio.run(watch())


# litellm: a client for every interface, and no loop


def litellm(url: str, interface: str, streamed: bool = False) -> str:
    import litellm as library

    model, base = (f"anthropic/{CLAUDE}", url) if interface == "messages" else (f"openai/{GPT}", f"{url}/v1")
    functions = {function.__name__: function for function in TOOLS}
    tools = [{"type": "function", "function": schema_of(function)} for function in TOOLS]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for _ in range(8):
        reply = library.completion(
            model=model, api_base=base, api_key=KEY, messages=messages, tools=tools, max_tokens=500, stream=streamed
        )
        if streamed:
            reply = library.stream_chunk_builder(list(reply), messages=messages)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            said = functions[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})
    raise RuntimeError("eight rounds, and no answer in words")


def schema_of(function: Callable[..., str]) -> dict[str, Any]:
    from pydantic import TypeAdapter

    schema = TypeAdapter(function).json_schema()
    return {"name": function.__name__, "description": function.__doc__, "parameters": schema}


STRANGERS: dict[str, tuple[Callable[..., str], tuple[str, ...]]] = {
    "pydantic_ai": (pydantic_ai, ("messages", "chat", "responses")),
    "langgraph": (langgraph, ("messages", "chat", "responses")),
    "agents": (openai_agents, ("chat", "responses")),
    "litellm": (litellm, ("messages", "chat")),
}


def main(name: str, url: str) -> None:
    os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", LITELLM_LOCAL_MODEL_COST_MAP="True")
    ask, interfaces = STRANGERS[name]
    for interface in interfaces:
        for streamed in (False, True):
            CALLS.clear()
            said = ask(url, interface, streamed)
            print(json.dumps({"interface": interface, "streamed": streamed, "calls": CALLS, "said": said}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

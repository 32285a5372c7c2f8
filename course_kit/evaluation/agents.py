"""Agents as an evaluation sees them: anything that takes a prompt and makes calls.

An agent is a function whose parameters say what it needs, any of `prompt`, `messages`, `client`, `provider`, `tools`,
`state`, `seed` and `case`, and returns a `Run`, a list of messages or a text. One that returns a text or nothing is
judged by what the provider received, since a text alone does not say what was called. `loop_agent()` is this package's
own loop, `program([...])` any program that speaks to the address in `ANTHROPIC_BASE_URL`.
"""

import asyncio
import inspect
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from course_kit.contract.messages import Message, user

from .cases import Case
from .observing import Observed, observe, observe_exchanges

__all__ = ["AgentError", "loop_agent", "play", "program", "wanted_by"]

GIVEN = ("prompt", "messages", "client", "provider", "tools", "state", "seed", "case")


class AgentError(Exception):
    """An agent raised: `seen` is what it had done until then, `__cause__` the exception."""

    def __init__(self, seen: Observed):
        super().__init__(seen)
        self.seen = seen


def loop_agent(**options: Any) -> Callable[..., Any]:
    """`run_agent` with options of yours, as an agent: `loop_agent(system="Be brief.", max_iterations=5)`."""

    def agent(messages: list[Message], client: Any, tools: Any) -> Any:
        from course_kit.harness.agent import run_agent

        return run_agent(client, tools=tools, messages=messages, **options)

    return agent


class program:
    """A program as an agent: `program([sys.executable, "my_agent.py"])`, judged by what its provider receives.

    It finds the prompt on its standard input and the provider's address in `ANTHROPIC_BASE_URL`, and has `timeout`
    seconds.
    """

    def __init__(self, command: Sequence[str], *, timeout: float = 60.0):
        if isinstance(command, str):
            raise TypeError("Give the command as a list, such as [sys.executable, 'my_agent.py'].")
        self.command, self.timeout = list(command), timeout

    def __call__(self, prompt: str, provider: Any) -> None:
        with provider.serve() as server:
            address = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "not-a-key", "PYTHONUTF8": "1"}
            done = subprocess.run(
                self.command,
                input=prompt.encode(),
                capture_output=True,
                timeout=self.timeout,
                env={**os.environ, **address},
            )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(f"the program ended with {done.returncode}: {said[-1] if said else 'it said nothing'}")


def play(case: Case, agent: Callable[..., Any], *, client: Any, tools: Any, state: Any, seed: int) -> Observed:
    """Give an agent what a case says, turn by turn, and return what was seen.

    `client` is a client, or a provider (anything with `requests` and `client()`), which must be new for this trial.
    """
    provider = client if hasattr(client, "requests") else None
    wanted = wanted_by(agent)
    if provider is not None:
        client = provider.client() if "client" in wanted else None  # it takes the SDK, and a program needs no client
    given = {"client": client, "provider": provider, "tools": tools, "state": state, "seed": seed, "case": case}
    if "prompt" in wanted and "messages" not in wanted and (case.messages or len(case.said) > 1):
        raise TypeError(f"Case {case.id} is a conversation: let the agent take `messages` instead of `prompt`.")
    messages, outcomes, seconds, before = case.opening, list[Any](), 0.0, len(case.messages)
    for number in range(max(1, len(case.said))):
        if number:
            messages = [*_said_so_far(outcomes[-1]), user(case.said[number])]
        given |= {"messages": messages, "prompt": case.said[number] if case.said else ""}
        began = time.perf_counter()
        try:
            outcome = agent(**{name: given[name] for name in wanted})
            if inspect.isawaitable(outcome):
                outcome = asyncio.run(_awaited(outcome))
        except Exception as error:
            seen = _seen([*outcomes, getattr(error, "run", None)], provider, tools, before)
            raise AgentError(replace(seen, seconds=seconds + time.perf_counter() - began)) from error
        seconds += time.perf_counter() - began
        outcomes.append(outcome)
    return replace(_seen(outcomes, provider, tools, before), seconds=seconds)


def _seen(outcomes: list[Any], provider: Any, tools: Any, before: int) -> Observed:
    said = outcomes[-1]
    if provider is not None and (said is None or isinstance(said, str)):
        seen = observe_exchanges(provider.requests, tools or ())
        return seen if said is None else replace(seen, text=said)
    if said is None:
        return Observed()
    # With several turns, each has its own run, whose tokens count; the last one has all messages.
    runs = outcomes if all(hasattr(outcome, "messages") for outcome in outcomes) else outcomes[-1]
    return observe(runs, tools=tools or (), skip=before)


def wanted_by(agent: Callable[..., Any]) -> list[str]:
    """What an agent's parameters ask for: `def agent(prompt, client)` → `["prompt", "client"]`."""
    parameters = inspect.signature(agent).parameters.values()
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    known = [name for name in names if name in GIVEN]
    needed = [one.name for one in parameters if one.default is one.empty and one.name in names]
    if unknown := [name for name in needed if name not in GIVEN]:
        raise TypeError(f"An agent may take {', '.join(GIVEN)}; it is not known what `{unknown[0]}` should be.")
    return known


def _said_so_far(outcome: Any) -> list[Message]:
    messages = getattr(outcome, "messages", outcome)
    if not isinstance(messages, list):
        raise TypeError("A case of several turns needs an agent that returns a Run or all messages so far.")
    return messages


async def _awaited(outcome: Any) -> Any:
    return await outcome

"""Tools: a Python function, the definition the model reads, and one call of it.

`@tool` makes the definition from the signature and the docstring. A call goes through three small functions that the
loop shares: `prepare` checks the input, then `finish` or `fail` writes the one result that answers it. Who may run,
when, how often and for how long is decided in `loop.py`; what a value looks like as a result, in `results.py`.
"""

import asyncio
import copy
import difflib
import functools
import inspect
import threading
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from course_kit.contract.messages import Block, tool_result
from course_kit.contract.schema import check_tool_input

from .results import DEFAULT_BUDGET, SMALLEST_BUDGET, encode_result, error_text
from .signature import check_schema, convert, docstring, name_of, schema_of

__all__ = [
    *("Call", "Tool", "definitions", "fail", "finish", "prepare"),
    *("run_call", "run_call_async", "run_tool", "tool", "toolbox"),
]

Effect = Literal["read", "write", "irreversible"]


@dataclass(frozen=True, eq=False, repr=False)
class Tool:
    """A function and its definition. Called, it is the function itself.

    `name`, `description`, `input_schema`, `strict`, `defer_loading` and `input_examples` go to the model, the rest
    stays here:
    `effect`          what a call does to the world; only `"read"` calls may run at the same time
    `needs_approval`  whether a person decides first: True, False, or a function of the input that says so
    `idempotent`      whether making the same call twice does no more than making it once
    `timeout`         seconds after which the loop stops waiting
    `budget`          characters a result may take
    `tags`            words of your own, to choose tools by
    """

    function: Callable[..., Any]
    name: str
    description: str
    input_schema: dict[str, Any]
    effect: Effect = "write"
    needs_approval: bool | Callable[[dict[str, Any]], bool] = False
    idempotent: bool = False
    timeout: float | None = None
    budget: int = DEFAULT_BUDGET
    strict: bool | None = None
    defer_loading: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    tags: tuple[str, ...] = ()
    converters: Mapping[str, Any] = field(default_factory=dict)  # input name → pydantic adapter, where one is needed

    def __post_init__(self) -> None:
        self.__dict__.update(__wrapped__=self.function, __doc__=inspect.getdoc(self.function), __name__=self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, effect={self.effect!r})"

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function, to be awaited."""
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(type(self.function).__call__)

    def definition(self) -> dict[str, Any]:
        """Exactly what goes on the wire: `{"name": ..., "description": ..., "input_schema": ...}`."""
        names = ("name", "description", "input_schema", "strict", "defer_loading", "input_examples")
        entry = {name: getattr(self, name) for name in names}
        return copy.deepcopy({name: value for name, value in entry.items() if value not in (None, "")})


def tool(
    function: Callable[..., Any] | None = None,
    *,
    effect: Effect = "write",
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | None = None,
    needs_approval: bool | Callable[[dict[str, Any]], bool] | None = None,
    idempotent: bool = False,
    timeout: float | None = None,
    budget: int | None = None,
    strict: bool | None = None,
    defer_loading: bool | None = None,
    input_examples: list[dict[str, Any]] | None = None,
    tags: Iterable[str] = (),
) -> Any:
    """Make a `Tool` of a function: `@tool`, `@tool(effect="read")` or `tool(desk.refund, effect="irreversible")`.

    Names, types and defaults come from the signature, the texts from the docstring; what is given here wins.
    A tool is a write until it says otherwise, and an irreversible one needs approval.
    """
    if function is None:
        return functools.partial(tool, **{key: value for key, value in locals().items() if key != "function"})
    if isinstance(function, Tool):
        function = function.function
    if not callable(function) or inspect.isclass(function):
        raise TypeError(
            f"A tool is made of a function, and this is {type(function).__name__}: write `def` and `@tool`."
        )
    if effect not in typing.get_args(Effect):
        raise ValueError(f"`effect` is {effect!r}: say 'read', 'write' or 'irreversible'.")
    if budget is not None and budget < SMALLEST_BUDGET:
        raise ValueError(f"`budget` is {budget} characters, which hold no result: give {SMALLEST_BUDGET} or more.")
    name = name_of(function, name)
    said, texts = docstring(function)
    converters: Mapping[str, Any] = {}
    if input_schema is None:
        input_schema, converters = schema_of(function, name, texts)
    check_schema(name, input_schema)
    for position, example in enumerate(input_examples or ()):
        checked = check_tool_input(input_schema, example)
        if not checked.ok:
            raise ValueError(
                f"`input_examples[{position}]` of tool `{name}` breaks its schema: {checked.problems[0].message}"
            )
    return Tool(
        function=function,
        name=name,
        description=said if description is None else description,
        input_schema=copy.deepcopy(input_schema),
        effect=effect,
        needs_approval=effect == "irreversible" if needs_approval is None else needs_approval,
        idempotent=idempotent,
        timeout=timeout,
        budget=DEFAULT_BUDGET if budget is None else budget,
        strict=strict,
        defer_loading=defer_loading,
        input_examples=copy.deepcopy(input_examples),
        tags=tuple(tags),
        converters=converters,
    )


# Many tools

Tools = Iterable[Any] | Mapping[str, Any]


class Toolbox(dict[str, Any]):
    """Tools by name, and definitions of tools that run elsewhere."""


def toolbox(tools: Tools) -> Toolbox:
    """Tools by name: `[add, search_orders]` → `{"add": Tool, "search_orders": Tool}`; a toolbox is returned as it is.

    Plain functions become tools. A dict is a definition without a function, such as a server tool, and stays a dict.
    """
    if isinstance(tools, Toolbox):
        return tools
    pairs = tools.items() if isinstance(tools, Mapping) else [(None, entry) for entry in tools]
    box = Toolbox()
    for key, entry in pairs:
        entry = entry if isinstance(entry, (Tool, dict)) else tool(entry, name=key)
        # a toolset has no name of its own, only a type
        name = entry.name if isinstance(entry, Tool) else entry.get("name") or entry.get("type")
        if not name:
            raise ValueError("A definition has neither `name` nor `type`: give it a `name`.")
        if name in box:
            raise ValueError(f"Two tools are called `{name}`: rename one with `tool(function, name=...)`.")
        box[name] = entry
    return box


def definitions(tools: Tools) -> list[dict[str, Any]]:
    """The `tools` of a request, sorted by name: the same bytes in every run, so that the cache holds (FR-26)."""
    box = toolbox(tools)
    return [one.definition() if isinstance(one, Tool) else copy.deepcopy(one) for _, one in sorted(box.items())]


# One call


@dataclass(frozen=True)
class Call:
    """A checked call, ready to be made: `tool.function(**arguments)`."""

    tool_use: Block
    tool: Tool
    input: dict[str, Any]  # what was checked, as JSON data: show this to a person
    arguments: dict[str, Any]  # the same as the function wants it: a date, an Enum member, a dataclass


def prepare(tool_use: Block, tools: Tools) -> Call | Block:
    """A call that may be made, or the error result that answers it instead: unknown name, wrong input."""
    box = toolbox(tools)
    found = box.get(tool_use["name"])
    if not isinstance(found, Tool):
        return tool_result(tool_use["id"], error_text(unknown_tool(tool_use["name"], box)), is_error=True)
    # Against the schema as it was written: what strict mode cannot say is checked here and nowhere else.
    checked = check_tool_input(found, tool_use.get("input"))
    if not checked.ok:
        return tool_result(tool_use["id"], checked.text(), is_error=True)
    try:
        arguments = convert(checked.value, found.converters)
    except Exception as error:  # the function's own types refuse what the schema lets through
        said = error_text(str(error) if isinstance(error, ValueError) else error)
        return tool_result(tool_use["id"], said, is_error=True)
    return Call(tool_use, found, checked.value, arguments)


def finish(call: Call, value: Any) -> Block:
    """The result of a call that returned: `finish(call, {"sum": 5})` → `{..., "content": '{"sum": 5}'}`."""
    try:
        return tool_result(call.tool_use["id"], encode_result(value, call.tool.budget))
    except Exception as error:  # a generator that breaks while it is read: the tool failed after all
        return fail(call, error)


def fail(call: Call, error: BaseException) -> Block:
    """The result of a call that raised: the model reads what happened and what to do about it."""
    said = error_text(error)
    if isinstance(error, (TimeoutError, ConnectionError)) and call.tool.effect != "read" and not call.tool.idempotent:
        said += "\nThe call may or may not have taken effect: look before you make it again."
    return tool_result(call.tool_use["id"], said, is_error=True)


def run_tool(tool_use: Block, tools: Tools) -> Block:
    """Run one `tool_use` block and return the one `tool_result` that answers it, whatever happens.

    `run_tool(tool_use("toolu_01", "add", {"a": 2, "b": 3}), [add])` →
    `{"type": "tool_result", "tool_use_id": "toolu_01", "content": "5"}`
    """
    call = prepare(tool_use, tools)
    return run_call(call) if isinstance(call, Call) else call


def run_call(call: Call) -> Block:
    """Make a prepared call and return its one result; an interrupt (Ctrl-C) passes through."""
    try:
        value = call.tool.function(**call.arguments)
        if inspect.isawaitable(value):
            value = wait_for(value)
    except (Exception, SystemExit) as error:  # SystemExit: command-line code that met a bad argument
        return fail(call, error)
    return finish(call, value)


async def run_call_async(call: Call) -> Block:
    """The same where an event loop runs: a coroutine tool is awaited, a plain function is called."""
    try:
        value = call.tool.function(**call.arguments)
        if inspect.isawaitable(value):
            value = await value
    except (Exception, SystemExit) as error:
        return fail(call, error)
    return finish(call, value)


def unknown_tool(name: str, box: Mapping[str, Any]) -> str:
    names = sorted(known for known, entry in box.items() if isinstance(entry, Tool))
    if name in box:
        return f"`{name}` has a definition here and no function, so nothing was run."
    if not names:
        return f"There is no tool `{name}`, nor any other."
    close = difflib.get_close_matches(name.lower(), [known.lower() for known in names], n=1)
    meant = next((known for known in names if close and known.lower() == close[0]), None)
    listed = ", ".join(names[:50]) + (f" and {len(names) - 50} more" if len(names) > 50 else "")
    return f"There is no tool `{name}`.{f' Did you mean `{meant}`?' if meant else ''} The tools are: {listed}."


def wait_for(awaitable: Any) -> Any:
    """The value of an awaitable, without `await`: a notebook's own event loop is already running and cannot be used."""
    loop = tool_loop()
    if asyncio._get_running_loop() is loop:
        awaitable.close()
        raise RuntimeError("A coroutine tool ran another one without `await`, which would never end: use `await`.")

    async def main() -> tuple[Any, BaseException | None]:
        try:
            return await awaitable, None
        except BaseException as error:  # subtle: a SystemExit let out here would end the loop for every later call
            return None, error

    future = asyncio.run_coroutine_threadsafe(main(), loop)
    try:
        value, error = future.result()
    except BaseException:
        future.cancel()
        raise
    if error is not None:
        raise error
    return value


@functools.cache
def tool_loop() -> asyncio.AbstractEventLoop:
    """One lasting event loop for coroutine tools: what a tool opened in one call is usable in the next."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="coroutine tools", daemon=True).start()
    return loop

"""Tools: a Python function, the definition the model reads, and one call of it.

`@tool` makes the definition from the signature and the docstring. A call goes through three small functions that the
loop shares: `prepare` checks the input, then `finish` or `fail` writes the one result that answers it. Which calls run
together and for how long is decided in `running.py`, whether one may run in `loop.py`; `results.py` turns a value
into a result, `failures.py` lists what can go wrong.
"""

import asyncio
import copy
import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from course_kit.contract.messages import Block, tool_result
from course_kit.contract.schema import check_tool_input

from .failures import Outcome, code_of, details, failed, invalid_json, one_line, unknown_tool
from .results import DEFAULT_BUDGET, SMALLEST_BUDGET, encode_result, error_text
from .signature import check_schema, convert, docstring, name_of, schema_of
from .waiting import wait_for

__all__ = [
    *(
        "Call",
        "Effect",
        "Outcome",
        "Tool",
        "Tools",
        "Toolbox",
        "awaited",
        "begin",
        "definitions",
        "fail",
        "finish",
        "prepare",
    ),
    *("run_call", "run_call_async", "run_tool", "tool", "toolbox"),
]

Effect = Literal["read", "write", "irreversible"]


@dataclass(frozen=True, eq=False, repr=False)
class Tool:
    """A function and its definition. Calling it calls the function.

    `name`, `description`, `input_schema`, `strict`, `defer_loading` and `input_examples` go to the model; the rest
    stays here. In a request of your own, write `tools=[tool.definition() for tool in tools]`.
    `effect`          what a call does to the world; only `"read"` calls may run at the same time
    `needs_approval`  whether a person decides first: True, False, or a function of the input that says so
    `idempotent`      whether making the same call twice does no more than making it once
    `timeout`         seconds after which the loop stops waiting
    `budget`          characters a result may take; None: what the run allows
    `encode`          writes a result within it; `LargeObjects.behind` sets one that keeps what does not fit
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
    budget: int | None = None
    encode: Callable[[Any, int], str | list[Block]] = encode_result
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
    """Make a `Tool` from a function: `@tool`, `@tool(effect="read")` or `tool(desk.refund, effect="irreversible")`.

    Names, types and defaults come from the signature, texts from the docstring; arguments given here win.
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
    if timeout is not None and timeout <= 0:
        raise ValueError(f"`timeout` is {timeout}: give the seconds to wait, or None to wait without a limit.")
    check_budget(budget)
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
        budget=budget,
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


def toolbox(tools: Tools, budget: int | None = None) -> Toolbox:
    """Tools by name: `[add, search_orders]` → `{"add": Tool, "search_orders": Tool}`; a toolbox is returned as it is.

    Plain functions become tools. A dict is a definition without a function, such as a server tool, and stays a dict.
    `budget` applies to tools that set none themselves.
    """
    check_budget(budget)
    if isinstance(tools, Toolbox) and budget is None:
        return tools
    if isinstance(tools, Tool) or not isinstance(tools, Iterable):
        raise TypeError(f"`tools` is a list of tools, not {tools!r:.80}: write `tools=[...]`.")
    pairs: Iterable[tuple[str | None, Any]] = (
        tools.items() if isinstance(tools, Mapping) else [(None, entry) for entry in tools]
    )
    box = Toolbox()
    for key, given in pairs:
        entry = given if isinstance(given, (Tool, dict)) else tool(given, name=key)
        if budget is not None and isinstance(entry, Tool) and entry.budget is None:
            entry = replace(entry, budget=budget)
        # a toolset has no name, only a type
        name = entry.name if isinstance(entry, Tool) else entry.get("name") or entry.get("type")
        if not name:
            raise ValueError("A definition has neither `name` nor `type`: give it a `name`.")
        if name in box:
            raise ValueError(f"Two tools are called `{name}`: rename one with `tool(function, name=...)`.")
        box[name] = entry
    return box


def check_budget(budget: int | None) -> None:
    """Refuse a budget that holds no result, before a tool has run and its result is lost."""
    if budget is not None and budget < SMALLEST_BUDGET:
        raise ValueError(f"`budget` is {budget} characters, which hold no result: give {SMALLEST_BUDGET} or more.")


def definitions(tools: Tools) -> list[dict[str, Any]]:
    """The `tools` of a request, sorted by name: the same bytes in every run, so that the cache holds (FR-26)."""
    box = toolbox(tools)
    return [one.definition() if isinstance(one, Tool) else copy.deepcopy(one) for _, one in sorted(box.items())]


# One call


@dataclass(frozen=True)
class Call:
    """A checked call, ready to run: `tool.function(**arguments)`."""

    tool_use: Block
    tool: Tool
    input: dict[str, Any]  # what was checked, as JSON data: show this to a person
    arguments: dict[str, Any]  # the same in the function's types: a date, an Enum member, a dataclass


def prepare(tool_use: Block, tools: Tools) -> Call | Outcome:
    """A call that can run, or the outcome that answers it: unknown name, wrong input."""
    box = toolbox(tools)
    name, id, input = tool_use["name"], tool_use["id"], tool_use.get("input")
    found = box.get(name)
    if not isinstance(found, Tool):
        said = unknown_tool(name, box, [known for known, entry in box.items() if isinstance(entry, Tool)])
        return failed(id, "UNKNOWN_TOOL", said)
    if broken := invalid_json(input, found.input_schema):
        return Outcome(tool_result(id, broken, is_error=True), "INVALID_INPUT")  # JSON, so never cut
    # Against the schema as written: what strict mode cannot express is checked only here.
    checked = check_tool_input(found, input)
    if not checked.ok:
        return Outcome(tool_result(id, checked.text(), is_error=True), "INVALID_INPUT")
    try:
        return Call(tool_use, found, checked.value, convert(checked.value, found.converters))
    except ValueError as error:  # the function's types refuse what the schema lets through
        return failed(id, "INVALID_INPUT", str(error))
    except Exception as error:
        return fail(Call(tool_use, found, checked.value, {}), error)


def finish(call: Call, value: Any) -> Outcome:
    """The result of a call that returned: `finish(call, {"sum": 5}).result` → `{..., "content": '{"sum": 5}'}`."""
    try:
        return Outcome(tool_result(call.tool_use["id"], call.tool.encode(value, call.tool.budget or DEFAULT_BUDGET)))
    except BaseException as error:  # a generator that raises while it is read: the tool failed after all
        return fail(call, error)


def fail(call: Call, error: BaseException) -> Outcome:
    """The result of a call that raised: the model reads what happened and what to do about it.

    An interrupt is not the tool's failure: it is raised again.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    code, unsure = code_of(error), call.tool.effect != "read" and not call.tool.idempotent
    if short := one_line(code, call.tool.name):
        said = short + (" Whether this call took effect is not known." if unsure else "")
        return failed(call.tool_use["id"], code, said, details(error))
    said = error_text(error)
    if isinstance(error, (TimeoutError, ConnectionError)) and unsure:
        said += "\nThe call may or may not have taken effect: look before you make it again."
    return failed(call.tool_use["id"], code, said)


def run_tool(tool_use: Block, tools: Tools) -> Block:
    """Run one `tool_use` block and return the one `tool_result` that answers it, whatever happens.

    `run_tool(tool_use("toolu_01", "add", {"a": 2, "b": 3}), [add])` →
    `{"type": "tool_result", "tool_use_id": "toolu_01", "content": "5"}`
    """
    call = prepare(tool_use, tools)
    return (run_call(call) if isinstance(call, Call) else call).result


def run_call(call: Call) -> Outcome:
    """Run a prepared call and return its outcome; an interrupt (Ctrl-C) passes through."""
    made = begin(call)
    if isinstance(made, Outcome):
        return made
    try:
        value = wait_for(made)
    except BaseException as error:
        return fail(call, error)
    return finish(call, value)


async def run_call_async(call: Call) -> Outcome:
    """The same inside an event loop: a coroutine tool is awaited, a plain function is called."""
    made = begin(call)
    return made if isinstance(made, Outcome) else await awaited(call, made)


def begin(call: Call) -> Any:
    """Call the function: the outcome of a plain one, the awaitable of a coroutine function."""
    try:
        value = call.tool.function(**call.arguments)
    except BaseException as error:  # SystemExit too: command-line code that got a bad argument
        return fail(call, error)
    return value if inspect.isawaitable(value) else finish(call, value)


async def awaited(call: Call, awaitable: Any) -> Outcome:
    """The outcome of what a coroutine function returned; being cancelled is not a failure of the tool."""
    try:
        value = await awaitable
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        return fail(call, error)
    return finish(call, value)

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
import json
import re
import sys
import threading
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from course_kit.contract.messages import Block, tool_result
from course_kit.contract.schema import check_tool_input, schema_problem
from course_kit.harness.results import DEFAULT_BUDGET, SMALLEST_BUDGET, encode_result, error_text

__all__ = [
    "Call",
    "Tool",
    "definitions",
    "fail",
    "finish",
    "prepare",
    "run_call",
    "run_call_async",
    "run_tool",
    "tool",
    "toolbox",
]

Effect = Literal["read", "write", "irreversible"]
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools says 64; the API's own error text says 128
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PROPERTY_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


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
        entry: dict[str, Any] = {"name": self.name}
        if self.description:
            entry["description"] = self.description
        entry["input_schema"] = self.input_schema
        for option in ("strict", "defer_loading", "input_examples"):
            if getattr(self, option) is not None:
                entry[option] = getattr(self, option)
        return copy.deepcopy(entry)


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
        options = {key: value for key, value in locals().items() if key != "function"}
        return functools.partial(tool, **options)
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
    name = checked_name(function_name(function) if name is None else name)
    texts = docstring(function)
    converters: Mapping[str, Any] = {}
    if input_schema is None:
        input_schema, converters = schema_of(function, name, texts)
        check_keys(name, input_schema)
    else:
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
        description=texts.description if description is None else description,
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


def toolbox(tools: Tools) -> dict[str, Any]:
    """Tools by name: `[add, search_orders]` → `{"add": Tool, "search_orders": Tool}`.

    Plain functions become tools. A dict is a definition without a function, such as a server tool, and stays a dict.
    """
    if isinstance(tools, Mapping):
        entries = [value if isinstance(value, (Tool, dict)) else tool(value, name=key) for key, value in tools.items()]
    else:
        entries = [entry if isinstance(entry, (Tool, dict)) else tool(entry) for entry in tools]
    box: dict[str, Any] = {}
    for entry in entries:
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
    entries = [box[name] for name in sorted(box)]
    return [entry.definition() if isinstance(entry, Tool) else copy.deepcopy(entry) for entry in entries]


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
        return answer(tool_use, error_text(unknown_tool(tool_use["name"], box)), is_error=True)
    # Against the schema as it was written: what strict mode cannot say is checked here and nowhere else.
    checked = check_tool_input(found, tool_use.get("input"))
    if not checked.ok:
        return answer(tool_use, checked.text(), is_error=True)
    try:
        arguments = convert(checked.value, found.converters)
    except Exception as error:  # the function's own types refuse what the schema lets through
        said = str(error) if isinstance(error, ValueError) else error
        return answer(tool_use, error_text(said), is_error=True)
    return Call(tool_use, found, checked.value, arguments)


def finish(call: Call, value: Any) -> Block:
    """The result of a call that returned: `finish(call, {"sum": 5})` → `{..., "content": '{"sum": 5}'}`."""
    try:
        return answer(call.tool_use, encode_result(value, call.tool.budget))
    except Exception as error:  # a generator that breaks while it is read: the tool failed after all
        return fail(call, error)


def fail(call: Call, error: BaseException) -> Block:
    """The result of a call that raised: the model reads what happened and what to do about it."""
    said = error_text(error)
    if isinstance(error, (TimeoutError, ConnectionError)) and call.tool.effect != "read" and not call.tool.idempotent:
        said += "\nThe call may or may not have taken effect: look before you make it again."
    return answer(call.tool_use, said, is_error=True)


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


def answer(tool_use: Block, content: str | list[Block], *, is_error: bool = False) -> Block:
    return tool_result(tool_use["id"], content, is_error=is_error)


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


def convert(value: dict[str, Any], converters: Mapping[str, Any]) -> dict[str, Any]:
    """Checked JSON as the function's own types: `{"day": "2026-11-30"}` → `{"day": date(2026, 11, 30)}`."""
    arguments = dict(value)
    for name in value.keys() & converters.keys():
        arguments[name] = to_python(name, value[name], converters[name])
    return arguments


def to_python(name: str, value: Any, adapter: Any) -> Any:
    from pydantic import ValidationError

    try:
        # subtle: strict, and from JSON: text becomes a date, and "5" still does not become 5
        return adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        problems = []
        for problem in error.errors(include_url=False, include_input=False, include_context=False):
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
            problems.append(f"- `{name}{place}`: {problem['msg']}.")
        said = "The tool was not run, because its input is not valid. Correct this and call it again:"
        raise ValueError("\n".join([said, *problems])) from None


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


# From a function to its definition


def function_name(function: Callable[..., Any]) -> str:
    name = getattr(unwrapped(function), "__name__", None)
    if name is None:
        raise TypeError(f"This {type(function).__name__} has no name: write `tool(..., name='...')`.")
    if name == "<lambda>":
        raise TypeError("A lambda has neither name nor types: write the tool with `def`.")
    return name


def unwrapped(function: Any) -> Any:
    return function.func if isinstance(function, functools.partial) else function


def checked_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name for a tool: use 1 to 128 of the letters a-z and A-Z, digits, `_` and `-`, "
            "for example with `@tool(name=...)`."
        )
    return name


def check_schema(name: str, schema: dict[str, Any]) -> None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ValueError(f'The `input_schema` of tool `{name}` must say `"type": "object"` at its root.')
    if problem := schema_problem(schema):
        raise ValueError(f"The `input_schema` of tool `{name}` is broken: {problem}.")
    check_keys(name, schema)


def check_keys(name: str, schema: dict[str, Any]) -> None:
    for key in schema.get("properties", ()):
        if not PROPERTY_KEY.fullmatch(key):
            raise ValueError(
                f"{key!r} is no name for an input of tool `{name}`: use 1 to 64 of the letters a-z and A-Z, "
                "digits, `_`, `.` and `-`."
            )


@dataclass(frozen=True)
class Texts:
    description: str
    inputs: Mapping[str, str]


def docstring(function: Callable[..., Any]) -> Texts:
    """What a docstring says of the tool and of each input (Google, NumPy and reST style)."""
    import docstring_parser

    written = inspect.getdoc(unwrapped(function)) or ""
    try:
        parsed = docstring_parser.parse(written)
    except docstring_parser.ParseError:
        return Texts(written, {})
    inputs = {item.arg_name: " ".join(item.description.split()) for item in parsed.params if item.description}
    return Texts((parsed.description or "").strip(), inputs)


def schema_of(function: Callable[..., Any], name: str, texts: Texts) -> tuple[dict[str, Any], dict[str, Any]]:
    """A function's input schema, and the adapters for the inputs that are no plain JSON in Python."""
    from pydantic import TypeAdapter

    hints = hints_of(function, name)
    preset = function.keywords if isinstance(function, functools.partial) else {}
    parameters = {key: one for key, one in inspect.signature(function).parameters.items() if key not in preset}
    for parameter in parameters.values():
        if problem := problem_with(parameter, hints):
            raise TypeError(f"`{name}` {problem}.")
    adapters = {key: adapter_for(hints[key], key, name) for key in parameters}
    written, shared = TypeAdapter.json_schemas(
        [(key, "validation", adapter) for key, adapter in adapters.items()], schema_generator=schema_generator()
    )
    properties = {}
    for key, parameter in parameters.items():
        properties[key] = written[key, "validation"]
        if key in texts.inputs:
            properties[key].setdefault("description", texts.inputs[key])
        if parameter.default is not parameter.empty:
            properties[key] |= json_default(parameter.default, adapters[key], properties[key])
    required = [key for key, parameter in parameters.items() if parameter.default is parameter.empty]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    converters = {key: adapter for key, adapter in adapters.items() if not is_plain(hints[key])}
    return tidy(schema, shared.get("$defs", {})), converters


def hints_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target = unwrapped(function)
    if not hasattr(target, "__annotations__"):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"`{name}` uses the type `{error.name}`, which its module does not know: import it, or define it above."
        ) from None


def problem_with(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> str | None:
    key = parameter.name
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"takes `*{key}`, which has no schema: take one list, such as `{key}: list[str]`"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"takes `**{key}`, which has no schema: write each input with its name and type"
    if parameter.kind is parameter.POSITIONAL_ONLY:
        return f"takes `{key}` by position only, and inputs come by name: remove the `/`"
    if key not in hints and key in ("self", "cls"):
        return f"is a method without its object (`{key}`): write `tool(desk.refund)` for the method of one object"
    if key not in hints:
        return f"does not say what `{key}` is: write its type, such as `{key}: str`"
    if type(parameter.default).__name__ == "FieldInfo":
        return f"has a `Field` as the default of `{key}`: write `{key}: Annotated[int, Field(...)] = 1`"
    return None


def adapter_for(annotation: Any, key: str, name: str) -> Any:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter = TypeAdapter(known_to_pydantic(annotation))
        adapter.json_schema()
    except (PydanticUserError, NameError, RecursionError) as error:
        if getattr(error, "code", None) == "typed-dict-version":
            raise TypeError(f"`{name}` takes a `TypedDict` in `{key}`: import it from `typing_extensions`.") from None
        raise TypeError(
            f"`{name}` takes `{key}: {inspect.formatannotation(annotation)}`, which cannot be written as JSON: "
            "take str, int, float, bool, list, dict, a date, an Enum or a dataclass of these."
        ) from None
    return adapter


def known_to_pydantic(annotation: Any) -> Any:
    """The same type, with `typing.TypedDict` made anew as pydantic reads it (before Python 3.12)."""
    if sys.version_info >= (3, 12):
        return annotation
    from typing_extensions import TypedDict

    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        entries = {}
        for key, hint in typing.get_type_hints(annotation, include_extras=True).items():
            if typing.get_origin(hint) in (typing.Required, typing.NotRequired):
                (hint,) = typing.get_args(hint)
            need = typing.Required if key in annotation.__required_keys__ else typing.NotRequired
            entries[key] = need[known_to_pydantic(hint)]
        made = TypedDict(annotation.__name__, entries)
        made.__doc__ = annotation.__doc__
        return made
    parts = typing.get_args(annotation)
    known = tuple(known_to_pydantic(part) for part in parts)
    if known == parts:
        return annotation
    origin = typing.get_origin(annotation)
    return typing.Union[known] if origin is types.UnionType else origin[known]  # noqa: UP007


def schema_generator() -> type:
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            """Text keeps `19.90`; a number when bounds are given, since text has none."""
            number = super().decimal_schema(schema)["anyOf"][0]
            return number if len(number) > 1 else {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}

    return Generator


def json_default(default: Any, adapter: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """`{"default": ...}` when it can be written as JSON: `Reason.OTHER` → `{"default": "other"}`."""
    try:
        written = adapter.dump_python(default, mode="json", warnings=False)
        if schema.get("type") == "number" and isinstance(written, str):  # a Decimal with bounds
            written = float(written)
        json.dumps(written, allow_nan=False)
    except (TypeError, ValueError):
        return {}
    return {"default": written}


def is_plain(annotation: Any) -> bool:
    """Whether JSON data is already what the annotation asks for: `list[str]` is, `list[date]` is not."""
    if annotation in (str, int, float, bool, list, dict, None, type(None), Any):
        return True
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return is_plain(parts[0]) and all(type(part).__name__ in ("str", "FieldInfo") for part in parts[1:])
    if origin is Literal:
        return all(type(part) in (str, int, bool, type(None)) for part in parts)
    return origin in (list, dict, typing.Union, types.UnionType) and all(is_plain(part) for part in parts)


ORDER = ("type", "description", "enum", "properties", "required", "additionalProperties")  # then the rest as it came
PYTHON_FORMATS = ("path", "file-path", "directory-path", "binary")  # pydantic's own; no checker knows them


def tidy(schema: dict[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Pydantic's schema as a person would write it: no titles, closed objects, definitions in place.

    `{"title": "Note", "anyOf": [{"type": "string"}, {"type": "null"}], "default": None}` → `{"type": "string"}`
    """
    refers = {name: set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(found[name]))) for name in found}
    for _ in found:
        refers = {name: names.union(*(refers[other] for other in names)) for name, names in refers.items()}
    recursive = sorted(name for name in found if name in refers[name])

    def clean(node: Any) -> Any:
        if not isinstance(node, dict):
            return node
        node = dict(node)
        name = node.get("$ref", "").removeprefix("#/$defs/")
        if name and name not in recursive:
            del node["$ref"]
            return clean({**found[name], **node})
        node.pop("title", None)
        node.pop("discriminator", None)
        if node.get("format") in PYTHON_FORMATS:
            del node["format"]
        for key, value in node.items():
            if key in ("properties", "patternProperties"):
                node[key] = {entry: clean(one) for entry, one in value.items()}
            elif key in ("items", "additionalProperties", "propertyNames"):
                node[key] = clean(value)
            elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
                node[key] = [clean(one) for one in value]
        if "properties" in node:
            node.setdefault("additionalProperties", False)
        node = without_union(node)
        return {
            key: node[key] for key in sorted(node, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))
        }

    cleaned = clean(schema)
    if recursive:
        cleaned["$defs"] = {name: clean(found[name]) for name in recursive}
    return cleaned


def without_union(node: dict[str, Any]) -> dict[str, Any]:
    """A union that a type can say is said by the type; null goes where leaving the input out means the same."""
    branches = node.get("anyOf", [])
    if node.get("default", ...) is None:
        del node["default"]
        branches = [branch for branch in branches if branch != {"type": "null"}]
        if "anyOf" in node:
            node["anyOf"] = branches
    if len(branches) == 1:
        del node["anyOf"]
        return {**branches[0], **node}
    if branches and all(branch.keys() == {"type"} and isinstance(branch["type"], str) for branch in branches):
        del node["anyOf"]
        return {"type": [branch["type"] for branch in branches], **node}
    return node

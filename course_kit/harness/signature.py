"""From a function's signature and docstring to the definition the model reads.

`pydantic` writes the schema of each type; here it is brought into the form a person would write, and what cannot be
written as JSON is refused in one sentence. The way back, from checked JSON to the function's own types, is `convert`.
What a tool is and how it is called is next door, in `tools.py`.
"""

import functools
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

from course_kit.contract.schema import schema_problem

__all__ = ["check_schema", "convert", "docstring", "name_of", "schema_of"]

# https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools says 64; the API's own error text says 128
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PROPERTY_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def name_of(function: Callable[..., Any], name: str | None = None) -> str:
    """The name of a tool: the one given, else the function's own."""
    if name is None:
        name = getattr(unwrapped(function), "__name__", None)
    if name is None:
        raise TypeError(f"This {type(function).__name__} has no name: write `tool(..., name='...')`.")
    if name == "<lambda>":
        raise TypeError("A lambda has neither name nor types: write the tool with `def`.")
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a valid tool name: use 1 to 128 of the letters a-z and A-Z, digits, `_` and `-`, "
            "for example with `@tool(name=...)`."
        )
    return name


def unwrapped(function: Any) -> Any:
    return function.func if isinstance(function, functools.partial) else function


def check_schema(name: str, schema: dict[str, Any]) -> None:
    """Refuse an input schema that the API refuses, or that no input can be checked against."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ValueError(f'The `input_schema` of tool `{name}` must say `"type": "object"` at its root.')
    if problem := schema_problem(schema):
        raise ValueError(f"The `input_schema` of tool `{name}` is broken: {problem}.")
    for key in schema.get("properties", ()):
        if not PROPERTY_KEY.fullmatch(key):
            raise ValueError(
                f"{key!r} is no name for an input of tool `{name}`: use 1 to 64 of the letters a-z and A-Z, "
                "digits, `_`, `.` and `-`."
            )


def docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What a docstring says of the tool, and of each input (Google, NumPy and reST style)."""
    import docstring_parser

    parsed = docstring_parser.parse(inspect.getdoc(unwrapped(function)) or "")
    inputs = {item.arg_name: " ".join(item.description.split()) for item in parsed.params if item.description}
    return (parsed.description or "").strip(), inputs


def schema_of(function: Callable[..., Any], name: str, texts: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A function's input schema, and the adapters for inputs that are not plain JSON in Python."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    hints = hints_of(function, name)
    preset = function.keywords if isinstance(function, functools.partial) else {}
    parameters = {key: one for key, one in inspect.signature(function).parameters.items() if key not in preset}
    for parameter in parameters.values():
        if problem := problem_with(parameter, hints):
            raise TypeError(f"`{name}` {problem}.")
    adapters = {key: adapter_for(hints[key], key, name) for key in parameters}
    try:
        written, shared = TypeAdapter.json_schemas(
            [(key, "validation", adapter) for key, adapter in adapters.items()], schema_generator=schema_generator()
        )
    except (PydanticUserError, NameError, RecursionError):
        for key in parameters:  # one by one, to name the one at fault
            adapter_for(hints[key], key, name, tried=True)
        raise
    properties = {}
    for key, parameter in parameters.items():
        properties[key] = written[key, "validation"]
        if key in texts:
            properties[key].setdefault("description", texts[key])
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


def adapter_for(annotation: Any, key: str, name: str, tried: bool = False) -> Any:
    """What checks and converts one input; `tried` writes its schema at once, to see whether that can be done."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter = TypeAdapter(known_to_pydantic(annotation))
        if tried:
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
    """The same type, with `typing.TypedDict` rebuilt as pydantic reads it (before Python 3.12)."""
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
        made = TypedDict(annotation.__name__, entries)  # type: ignore[misc]
        made.__doc__ = annotation.__doc__
        return made
    parts = typing.get_args(annotation)
    known = tuple(known_to_pydantic(part) for part in parts)
    if known == parts:
        return annotation
    origin = typing.get_origin(annotation)
    return typing.Union[known] if origin is types.UnionType else origin[known]  # noqa: UP007


@functools.cache
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


# in this order, then the rest as it came
RANK = {"type": 0, "description": 1, "enum": 2, "properties": 3, "required": 4, "additionalProperties": 5}
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
        return {key: node[key] for key in sorted(node, key=lambda key: RANK.get(key, len(RANK)))}

    cleaned = clean(schema)
    if recursive:
        cleaned["$defs"] = {name: clean(found[name]) for name in recursive}
    return cleaned


def without_union(node: dict[str, Any]) -> dict[str, Any]:
    """A union becomes a `type` where one can say it; null goes where leaving the input out means the same."""
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


def convert(value: dict[str, Any], converters: Mapping[str, Any]) -> dict[str, Any]:
    """Checked JSON as the function's own types: `{"day": "2026-11-30"}` → `{"day": date(2026, 11, 30)}`."""
    arguments, problems = dict(value), []
    for name in value.keys() & converters.keys():
        try:
            # subtle: strict, and from JSON: text becomes a date, and "5" still does not become 5
            arguments[name] = converters[name].validate_json(json.dumps(value[name]), strict=True)
        except ValueError as error:  # pydantic's ValidationError
            for problem in error.errors(include_url=False, include_input=False, include_context=False):  # type: ignore
                place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
                problems.append(f"- `{name}{place}`: {problem['msg']}.")
    if problems:
        said = "The tool was not run, because its input is not valid. Correct this and call it again:"
        raise ValueError("\n".join([said, *sorted(problems)]))
    return arguments

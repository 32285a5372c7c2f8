"""Tool definitions that break one rule of the linter or none, for the tests of its rules."""

from typing import Any

from course_kit.contract.definitions import lint_tools

FINDS = (
    "Find orders of the shop. Use it when the user names a person. Not for goods (their prices are elsewhere). "
    "Returns a list with order_id and status; no match is an empty list. Changes nothing."
)
CANCELS = (
    "Call off an order of the shop. Use it when the user no longer wants it. Not for shipped orders. Returns the "
    "status. It cannot be brought back."
)
AGAIN = "Stop a delivery that is under way. Use it when the user asks. Not after the van has left. Returns its state."
WHO = {"type": "string", "description": "Part of the customer's name, such as Lindgren."}


def tool(name="search_orders", description=FINDS, inputs=None, required=(), **more):
    schema = {"type": "object", "properties": {"who": WHO} if inputs is None else inputs}
    schema |= {"required": list(required), "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema, **more}


def with_schema(**schema):
    return {**tool(), "input_schema": {"type": "object", "additionalProperties": False, **schema}}


def one(name, required=False, **schema):
    """A list of one tool with one input."""
    return [tool(inputs={name: schema}, required=[name] if required else [])]


def text(name, description, **more):
    return one(name, type="string", description=description, **more)


def number(name, description, type="integer", **more):
    return one(name, type=type, description=description, **more)


def closed(**properties):
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "description": "A part, such as x.",
    }


def strict(*names, required=None, **schema):
    inputs = {name: {**WHO, **schema} for name in names}
    return tool(inputs=inputs, required=names if required is None else required, strict=True)


def many(number, **more):
    """Tools that have nothing to do with each other."""
    return [
        tool(f"search_{chr(97 + i // 26) * 3}{chr(97 + i % 26) * 3}", TELLS.format(i, i * i), **more)
        for i in range(number)
    ]


TELLS = "Find w{0} x{1} y{0}{1}. Use it when z{0}{0} is q{1}{1}. Not for v{0}{1}{0}. Returns a list; no match is empty."
READS = (
    "Read one order of the shop, its items and what was paid for each of them, by its number. Returns all of it as {}."
)
ID = "The order's number, such as ORD-20260917."


def said(tools: Any, provider: str = "anthropic") -> list[str]:
    """Every finding as one line: the rule, the place, what is wrong and what to write."""
    return [f"{found.rule} at {found.path}: {found.message} {found.fix}" for found in lint_tools(tools, provider)]


def rules(tools: Any, provider: str = "anthropic") -> list[str]:
    """The rules that a list breaks."""
    return [found.rule for found in lint_tools(tools, provider)]

"""Tools of an MCP server, in the harness.

    with open_mcp(server) as tools: run_agent(client, tools=tools, …)         a plain program or notebook
    tools = await mcp_tools(client); await run_agent_async(…, tools=tools)    with an open `mcp.Client`

The list comes from a stranger. Its names are made legal and sorted, what a tool says about itself (`readOnlyHint` and
the like) is kept but not believed: it is a write that asks for approval until you say otherwise. Descriptions go to the
model as they are: read them first, or choose with `where`. The course's own server is not in this module.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from course_kit.contract.shapes import Definition, api_error, definition_from, legal_name, result_error, result_from
from course_kit.errors import SetupError, ToolError
from course_kit.harness.tools import Tool, tool

__all__ = ["called", "mcp_tools", "open_mcp"]

Entry = dict[str, Any]  # one tool as `tools/list` gives it: name, description, inputSchema, annotations, …
MOST_PAGES = 100


async def mcp_tools(client: Any, **options: Any) -> list[Tool]:
    """The tools of an open `mcp.Client`, as coroutine tools for the event loop it lives in; options as `open_mcp`."""
    home = asyncio.get_running_loop()

    def function_of(entry: Entry, timeout: float | None) -> Callable[..., Any]:
        async def call(**inputs: Any) -> Any:
            if asyncio.get_running_loop() is not home:
                raise RuntimeError("This MCP client lives in another event loop: use `open_mcp` for a plain program.")
            return await called(client, entry["name"], inputs, timeout)

        return call

    return _tools(await _listed(client), function_of, **options)


@contextmanager
def open_mcp(server: Any, **options: Any) -> Iterator[list[Tool]]:
    """Connect to a server and give its tools as plain functions, until the block ends.

    `server` is what `mcp.Client` takes: a URL, `StdioServerParameters`, or a server object of this process. Options:
    `where`           a function of the entry: False leaves the tool out, such as another tenant's
    `effect`          what a call does to the world: a word for all, or a function of the entry; "write" by default
    `needs_approval`  True by default; False, or a function of the entry
    `timeout`         seconds to wait for one call, 60 by default
    `prefix`          put before every name, such as `"files_"`, where two servers use the same ones
    """
    try:
        import mcp
        from anyio.from_thread import start_blocking_portal
    except ImportError:
        raise SetupError('The `mcp` package is not installed: run `pip install "course-kit[mcp]"`.') from None

    failure: BaseException | None = None
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        try:
            client = stack.enter_context(portal.wrap_async_context_manager(mcp.Client(server)))
        except Exception as error:
            said = f"The MCP server does not answer ({type(error).__name__}: {error})"
            raise SetupError(f"{said}: check its address or its command.") from error

        def function_of(entry: Entry, timeout: float | None) -> Callable[..., Any]:
            return lambda **inputs: portal.call(called, client, entry["name"], inputs, timeout)

        try:
            yield _tools(portal.call(_listed, client), function_of, **options)
        except BaseException as error:  # taken past the SDK, which would wrap it in exception groups
            failure = error
    if failure:
        raise failure


async def _listed(client: Any) -> list[Entry]:
    """All pages of `tools/list`, each entry in its JSON form."""
    entries: list[Entry] = []
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        entries += [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return entries
    raise ToolError("TOO_MANY_TOOLS", f"The server's list of tools did not end after {MOST_PAGES} pages.")


def _tools(
    entries: list[Entry],
    function_of: Callable[[Entry, float | None], Callable[..., Any]],
    *,
    where: Callable[[Entry], bool] | None = None,
    effect: str | Callable[[Entry], str] = "write",
    needs_approval: bool | Callable[[Entry], bool] = True,
    timeout: float | None = 60.0,
    prefix: str = "",
) -> list[Tool]:
    made: dict[str, Tool] = {}
    for entry in entries:
        if where is not None and not where(entry):
            continue
        definition: Definition = definition_from("mcp", entry).value
        # A dot is legal in MCP and nowhere else; a name that would become another tool's gets a digest.
        name = legal_name(prefix + definition.name)
        if name in made:
            raise ToolError(
                "NAME_CONFLICT", f"The server has two tools called {definition.name!r}.", hint="Use `where`."
            )
        function = function_of(entry, timeout)
        function.__name__ = name
        function.mcp = entry  # type: ignore[attr-defined]  # the whole entry, hints included
        given = definition.options() | {"name": name, "effect": effect(entry) if callable(effect) else effect}
        asks = needs_approval(entry) if callable(needs_approval) else needs_approval
        try:
            made[name] = tool(function, **given, needs_approval=asks, tags=("mcp", f"mcp:{definition.name}"))
        except ValueError as error:  # one bad definition would make the provider refuse every request
            raise SetupError(f"{error} It comes from the MCP server: leave it out with `where`.") from None
    return [made[name] for name in sorted(made)]


async def called(client: Any, name: str, inputs: Mapping[str, Any], timeout: float | None = None) -> Any:
    """Make one call and give its content, or raise what went wrong.

    A failure of the tool comes in a result with `isError`: `ToolError`, with the server's text. A failure of the
    protocol (no such method, a broken connection) is an exception, and its kind comes from the code alone.
    """
    import mcp

    try:
        answer = await client.call_tool(name, dict(inputs), read_timeout_seconds=timeout)
    except mcp.MCPError as error:
        failure = api_error("mcp", error.code, {"error": {"code": error.code, "message": error.message}})
        if failure.code in ("TIMEOUT", "CONNECTION_CLOSED"):  # nobody knows whether it was done
            raise {"TIMEOUT": TimeoutError}.get(failure.code, ConnectionError)(failure.message) from None
        raise failure from None
    block = result_from("mcp", answer.model_dump(mode="json", by_alias=True, exclude_none=True)).value
    if refused := result_error(block):
        raise refused
    return block.get("content")

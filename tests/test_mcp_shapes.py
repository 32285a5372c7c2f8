"""Tools of a real MCP server, in this process and beside it, in the harness."""

import asyncio
import sys

import pytest

from course_kit import run_agent, run_agent_async, run_tool
from course_kit.contract.messages import content_blocks, tool_use
from course_kit.errors import SetupError, ToolError
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import call
from course_kit.providers.mcp import called, mcp_tools, open_mcp

mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp.server.mcpserver import MCPServer  # noqa: E402
from mcp.server.mcpserver.exceptions import ToolError as ServerToolError  # noqa: E402
from mcp_types import CallToolResult, ImageContent, ResourceLink, TextContent, ToolAnnotations  # noqa: E402


def desk():
    """A server of a stranger: its tools in no order, one name that only MCP allows, one claim about itself."""
    server = MCPServer("desk", log_level="CRITICAL")
    server.notes = []

    @server.tool(name="tickets.read", annotations=ToolAnnotations(read_only_hint=True))
    def read(number: int) -> str:
        """Read a ticket."""
        if number > 99:
            raise ServerToolError(f"There is no ticket {number}.")
        return f"Ticket {number}"

    @server.tool(name="add_note", annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
    def note(text: str) -> list[int]:
        """Add a note."""
        server.notes.append(text)
        return [len(server.notes)]

    @server.tool(name="zebra_only")
    def zebra() -> str:
        """For the tenant Zebra."""
        return "striped"

    @server.tool(name="crash")
    def crash() -> str:
        """Break."""
        raise RuntimeError("the secret is 42")

    @server.tool(name="refuse")
    def refuse() -> str:
        """Answer with an error of the protocol."""
        raise mcp.MCPError(-32602, "You may not.")

    @server.tool(name="hang_up")
    def hang_up() -> str:
        """Answer as if the time were over."""
        raise mcp.MCPError(-32001, "It took too long.")

    @server.tool(name="picture")
    def picture() -> CallToolResult:
        """Show a picture and a link."""
        link = ResourceLink(uri="file:///plan.txt", name="plan", mime_type="text/plain")
        shown = ImageContent(data="iVBORw0=", mime_type="image/png")
        return CallToolResult(content=[TextContent(text="Here."), shown, link])

    return server


NAMES = ["add_note", "crash", "hang_up", "picture", "refuse", "tickets_read_371923a6", "zebra_only"]


@pytest.fixture
def server():
    return desk()


@pytest.fixture
def tools(server):
    with open_mcp(server) as found:
        yield {one.name: one for one in found}


def result_of(tools, name, **input):
    return run_tool(tool_use("t", name, input), list(tools.values()))


def test_the_tools_are_listed_sorted_with_legal_names(tools):
    assert list(tools) == NAMES
    read = next(one for one in tools.values() if "mcp:tickets.read" in one.tags)
    assert read.name.startswith("tickets_read_") and "." not in read.name
    assert read.description == "Read a ticket."
    assert read.input_schema["properties"]["number"]["type"] == "integer"
    assert list(read.definition()) == ["name", "description", "input_schema"]


def test_what_a_tool_says_of_itself_is_kept_and_not_believed(tools):
    read = next(one for one in tools.values() if "tickets" in one.name)
    assert read.function.mcp["annotations"] == {"readOnlyHint": True}
    for one in tools.values():
        assert (one.effect, one.needs_approval, one.idempotent) == ("write", True, False)


def test_the_caller_says_what_to_believe(server):
    def effect(entry):
        return "read" if entry.get("annotations", {}).get("readOnlyHint") else "irreversible"

    def asks(entry):
        return not entry["name"].startswith("tickets.")

    with open_mcp(server, effect=effect, needs_approval=asks) as found:
        told = {one.tags[1]: (one.effect, one.needs_approval) for one in found}
    assert told["mcp:tickets.read"] == ("read", False)
    assert told["mcp:add_note"] == ("irreversible", True)


def test_the_list_is_trimmed_for_a_tenant(server):
    with open_mcp(server, where=lambda entry: "zebra" not in entry["name"]) as found:
        names = [one.name for one in found]
    assert "zebra_only" not in names and len(names) == len(NAMES) - 1


def test_a_prefix_keeps_two_servers_apart(server):
    with open_mcp(server, prefix="desk_", where=lambda entry: entry["name"] in ("add_note", "crash")) as found:
        assert [one.name for one in found] == ["desk_add_note", "desk_crash"]
        assert run_tool(tool_use("t", "desk_add_note", {"text": "x"}), found)["content"] == "1"


# Calls


def test_a_call_reaches_the_server(tools, server):
    assert result_of(tools, "add_note", text="called") == {"type": "tool_result", "tool_use_id": "t", "content": "1"}
    assert server.notes == ["called"]


def test_a_wrong_input_does_not_reach_the_server(tools, server):
    result = result_of(tools, "add_note", text=5)
    assert result["is_error"] is True
    assert "`text` must be a string" in result["content"]
    assert server.notes == []


def test_a_failure_of_the_tool_is_its_own_text(tools):
    read = next(name for name in tools if "tickets" in name)
    result = result_of(tools, read, number=100)
    assert result["is_error"] is True
    assert "There is no ticket 100." in result["content"]
    assert result["content"].startswith("TOOL_FAILED: ")
    assert result_of(tools, read, number=7)["content"] == "Ticket 7"


def test_a_crash_over_there_tells_no_secret(tools):
    result = result_of(tools, "crash")
    assert result["is_error"] is True
    assert "42" not in result["content"]


def test_a_failure_of_the_protocol_is_told_by_its_code(tools):
    result = result_of(tools, "refuse")
    assert result["content"] == ("INVALID_INPUT: You may not.\nRetryable: no, the same call will fail again.")


def test_a_call_without_an_answer_may_have_been_made(tools):
    result = result_of(tools, "hang_up")
    assert result["is_error"] is True
    assert "may or may not have taken effect" in result["content"]


def test_pictures_and_links_come_along(tools):
    said, shown, link = result_of(tools, "picture")["content"]
    assert said == {"type": "text", "text": "Here."}
    assert shown["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}
    assert link["text"] == '{"resource_link":{"uri":"file:///plan.txt","name":"plan","mimeType":"text/plain"}}'


def test_an_unknown_tool_over_there_is_a_result_not_an_exception(server):
    async def main():
        async with mcp.Client(server) as client:
            try:
                await called(client, "no_such_tool", {})
            except ToolError as error:
                return error.code, error.message

    assert asyncio.run(main()) == ("TOOL_FAILED", "Unknown tool: no_such_tool")


# In the loop


SCRIPT = [call("add_note", text="a"), call("zebra_only"), "Done."]


def test_a_run_asks_before_it_writes(server):
    with open_mcp(server) as found:
        run = run_agent(MockProvider(SCRIPT).client(), messages="Note it.", tools=found)
    assert server.notes == []  # nobody was there to approve it
    with open_mcp(server) as found:
        run = run_agent(MockProvider(SCRIPT).client(), messages="Note it.", tools=found, approver=lambda call: True)
    assert (run.text, server.notes) == ("Done.", ["a"])


def test_an_awaited_run_uses_an_open_client(server):
    async def main():
        async with mcp.Client(server) as client:
            found = await mcp_tools(client, needs_approval=False)
            return await run_agent_async(MockProvider(SCRIPT).async_client(), messages="Note it.", tools=found)

    run = asyncio.run(main())
    results = [block for message in run.messages for block in content_blocks(message) if block["type"] == "tool_result"]
    assert [block["content"] for block in results] == ["1", "striped"]
    assert server.notes == ["a"]


def test_a_client_of_another_event_loop_is_told(server):
    async def main():
        async with mcp.Client(server) as client:
            return await mcp_tools(client)

    found = asyncio.run(main())
    result = run_tool(tool_use("t", "zebra_only", {}), found)
    assert "use `open_mcp`" in result["content"]


def test_what_happens_inside_the_block_comes_out_as_itself(server):
    with pytest.raises(KeyError, match="mine"), open_mcp(server):
        raise KeyError("mine")


def test_a_server_that_does_not_answer_is_told(tmp_path):
    nowhere = mcp.StdioServerParameters(command=str(tmp_path / "no_such_program"))
    silent = mcp.StdioServerParameters(command=sys.executable, args=["-c", ""])
    for server in (nowhere, silent, "http://127.0.0.1:1/mcp"):
        with pytest.raises(SetupError, match="does not answer .* check its address or its command"), open_mcp(server):
            pass


class Listed:
    """An entry of a list, as the SDK would hold it."""

    def __init__(self, name, schema=None):
        self.entry = {"name": name, "inputSchema": schema or {"type": "object", "properties": {}}}

    def model_dump(self, **options):
        return self.entry


class Page:
    def __init__(self, names, cursor=None):
        self.tools, self.next_cursor = [Listed(name) for name in names], cursor


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "object", "properties": {"a b": {}}}])
def test_a_tool_that_every_provider_would_refuse_is_named(schema):
    class Server:
        async def list_tools(self, cursor=None):
            page = Page("")
            page.tools = [Listed("bad", schema), Listed("good")]
            return page

    with pytest.raises(SetupError, match="`bad`.*leave it out with `where`"):
        asyncio.run(mcp_tools(Server()))
    kept = asyncio.run(mcp_tools(Server(), where=lambda entry: entry["name"] != "bad"))
    assert [one.name for one in kept] == ["good"]


def test_two_tools_of_one_name_are_told():
    class Server:
        async def list_tools(self, cursor=None):
            return Page("aa")

    with pytest.raises(ToolError, match="two tools called 'a'"):
        asyncio.run(mcp_tools(Server()))


def test_pages_are_read_to_the_end():
    class Pages:
        async def list_tools(self, cursor=None):
            return {None: Page("b", "2"), "2": Page("a", "3"), "3": Page("c", None)}[cursor]

    class Endless:
        async def list_tools(self, cursor=None):
            return Page("x", "again")

    assert [one.name for one in asyncio.run(mcp_tools(Pages()))] == ["a", "b", "c"]
    with pytest.raises(ToolError, match="did not end after 100 pages"):
        asyncio.run(mcp_tools(Endless()))


def test_over_stdio(tmp_path):
    program = tmp_path / "server.py"
    program.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('plain', log_level='CRITICAL')\n"
        "@server.tool()\n"
        "def double(n: int) -> int:\n"
        "    return 2 * n\n"
        "server.run()\n",
        encoding="utf-8",
    )
    with open_mcp(mcp.StdioServerParameters(command=sys.executable, args=[str(program)])) as found:
        assert [one.name for one in found] == ["double"]
        assert run_tool(tool_use("t", "double", {"n": 21}), found)["content"] == "42"

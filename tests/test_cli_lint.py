"""`course lint FILE` and `course strict FILE`: what they read, what they print, and with which code they end."""

import json
import subprocess

import pytest
from click.testing import CliRunner

from course_kit import tool_files
from course_kit.cli import main
from course_kit.example_tools import definition, desk_tools

WHO = {"type": "string", "description": "Part of the customer's name, such as Lindgren."}
ADD = {
    "name": "add_numbers",
    "description": "Add two numbers, when the user asks for a sum. Not for dates. Returns the sum, and nothing else.",
    "input_schema": {
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "The first."},
            "b": {"type": "number", "description": "The second."},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    },
}
BAD = {**ADD, "name": "add.numbers"}
MODULE = """
from course_kit import tool
print("this is noise")

@tool(effect="read")
def track_parcel(tracking_id: str) -> str:
    '''Say where a parcel is, when the user asks for it. Not for orders. Returns its last place.

    Args:
        tracking_id: The parcel's number, such as TRK-48200917.
    '''
"""


def course(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def written(folder, name, content):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


SHAPES = {
    "list": [ADD],
    "one_definition": ADD,
    "request": {"model": "m", "max_tokens": 1, "messages": [], "tools": [ADD]},
}


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
def test_a_clean_file(tmp_path, given):
    result = course("lint", written(tmp_path, "tools.json", given))
    assert (result.exit_code, result.output) == (0, "1 tool: nothing found.\n")


def test_json_lines_and_a_byte_order_mark(tmp_path):
    lines = "\ufeff" + json.dumps(ADD) + "\n\n" + json.dumps(definition("get_weather")) + "\n"
    assert course("lint", written(tmp_path, "tools.jsonl", lines)).output == "2 tools: nothing found.\n"


def test_the_desk_is_clean(tmp_path):
    desk = [tool.definition() for tool in desk_tools(None)]
    assert course("lint", written(tmp_path, "desk.json", desk)).output == "6 tools: nothing found.\n"


def test_findings_are_told_by_tool(tmp_path):
    result = course("lint", written(tmp_path, "tools.json", [ADD, BAD]))
    assert result.exit_code == 1
    assert result.output == (
        "add.numbers\n"
        "  error   tool-name  at tools[1].name  (lesson 02)\n"
        '          "add.numbers" is refused: a name is 1 to 128 of a-z, A-Z, 0-9, _ and -.\n'
        "          → Call it `add_numbers`.\n"
        "  warning near-identical  at tools[1].description  (lesson 02)\n"
        "          `add_numbers` and `add.numbers` describe themselves alike (similarity 1.00): either may be\n"
        "          picked.\n"
        "          → Say in each what only it does, and where it ends: Not for … (use add_numbers). Or make\n"
        "          one tool of them.\n"
        "2 tools: 1 error, 1 warning.\n"
    )


OPEN = {
    **ADD,
    "input_schema": {key: value for key, value in ADD["input_schema"].items() if key != "additionalProperties"},
}


def test_hints_are_named_or_told_and_change_no_exit_code(tmp_path):
    file = written(tmp_path, "tools.json", [OPEN])
    short, long = course("lint", file), course("lint", "--hints", file)
    assert (short.exit_code, long.exit_code) == (0, 0)
    assert short.output == "add_numbers\n  hints   open-object\n1 tool: 1 hint; --hints tells the hints in full.\n"
    assert '→ Add "additionalProperties": false.' in long.output and long.output.endswith("1 tool: 1 hint.\n")


def test_lint_as_json(tmp_path):
    result = course("lint", "--json", "--provider", "openai", written(tmp_path, "tools.json", [BAD]))
    said = json.loads(result.stdout)
    assert (result.exit_code, said["provider"], said["tools"]) == (1, "openai", 1)
    assert [(finding["rule"], finding["path"], finding["lesson"]) for finding in said["findings"]] == [
        ("tool-name", "tools[0].name", "02")
    ]
    assert said["findings"][0].keys() == {"tool", "path", "rule", "severity", "message", "fix", "lesson"}


@pytest.mark.parametrize(
    ("given", "rule", "words", "code"),
    [
        pytest.param(
            [
                {
                    "type": "function",
                    "function": {
                        "name": "add_numbers",
                        "description": ADD["description"],
                        "parameters": ADD["input_schema"],
                    },
                }
            ],
            "other-shape",
            "Chat Completions",
            1,
            id="chat",
        ),
        pytest.param(
            [
                {
                    "type": "function",
                    "name": "add_numbers",
                    "description": ADD["description"],
                    "parameters": ADD["input_schema"],
                }
            ],
            "other-shape",
            "Responses",
            1,
            id="responses",
        ),
        pytest.param(
            {"tools": [{"name": "add_numbers", "description": ADD["description"], "inputSchema": ADD["input_schema"]}]},
            "mcp-shape",
            "inputSchema",
            0,
            id="mcp",
        ),
    ],
)
def test_other_shapes_are_named_with_what_to_change(tmp_path, given, rule, words, code):
    result = course("lint", "--hints", written(tmp_path, "tools.json", given))
    assert result.exit_code == code
    assert rule in result.output and words in result.output and "input_schema" in result.output


def test_openai_tools_are_right_for_openai(tmp_path):
    chat = {"type": "function", "function": {**ADD, "parameters": ADD["input_schema"]}}
    del chat["function"]["input_schema"]
    assert course("lint", "--provider", "openai", written(tmp_path, "tools.json", [chat])).exit_code == 0


# --- modules -------------------------------------------------------------------------------------------------------


def test_the_tools_of_a_module(tmp_path):
    file = written(tmp_path, "own.py", MODULE + f"\nOTHERS = [{BAD!r}, track_parcel]\n")
    result = course("lint", "--json", file)
    assert [(finding["tool"], finding["path"]) for finding in json.loads(result.stdout)["findings"]] == [
        ("add.numbers", "tools[1].name")
    ]
    assert "noise" not in result.output
    assert [tool["name"] for tool in tool_files.read_tools(file)] == ["track_parcel", "add.numbers"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["own.py"]


def test_a_tool_of_the_sdk_says_its_definition_by_to_dict(tmp_path):
    text = f"class Tool:\n    input_schema = {{}}\n    def to_dict(self): return {ADD!r}\nadd = Tool()\n"
    assert tool_files.read_tools(written(tmp_path, "own.py", text)) == [ADD]


def test_a_module_in_a_package_finds_its_neighbours(tmp_path):
    written(tmp_path, "shop/__init__.py", "")
    written(tmp_path, "shop/words.py", f"ADD = {ADD!r}\n")
    file = written(tmp_path, "shop/tools.py", "from .words import ADD\nTOOLS = {'add': ADD}\n")
    assert tool_files.read_tools(file) == [ADD]


def test_names_of_the_standard_library_beside_the_file_do_no_harm(tmp_path, monkeypatch):
    written(tmp_path, "json.py", "raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    assert tool_files.read_tools(written(tmp_path, "own.py", f"TOOLS = [{ADD!r}]\n")) == [ADD]


BROKEN = {
    "missing": (
        "import no_such_module_here",
        "own.py cannot be imported: ModuleNotFoundError: No module named 'no_such_module_here' (line 1); install it "
        "where `course` is installed.",
    ),
    "syntax": ("x = 1\ndef f(:\n", "own.py cannot be imported: SyntaxError: invalid syntax (line 2)."),
    "raises": ("\n1 / 0", "own.py cannot be imported: ZeroDivisionError: division by zero (line 2)."),
    "leaves": ("import sys; sys.exit(3)", "own.py cannot be imported: it leaves by sys.exit(3); keep what starts"),
    "dies": (
        "import os; os._exit(7)",
        "own.py ended the process (exit code 7) while it was imported: keep what starts",
    ),
    "asks": ("input('?')", "own.py cannot be imported: EOFError"),
    "empty": ("x = 1", "own.py has no tools at its top level: decorate functions with `@tool`"),
    "no_json": ("T = [{'name': 'a', 'input_schema': {'x': {1, 2}}}]", "A definition in own.py is not plain JSON"),
    "bad_tool": ("from course_kit import tool\n@tool\ndef f(x: open): ...", "own.py cannot be imported: TypeError"),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_a_module_that_fails_is_one_sentence(tmp_path, text, words):
    result = course("lint", written(tmp_path, "own.py", text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {words}") and result.stderr.count("\n") == 1
    assert result.stderr.endswith(".\n")


def test_a_module_that_hangs_is_one_sentence(tmp_path, monkeypatch):
    def run(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", run)
    result = course("lint", written(tmp_path, "own.py", "while True: pass"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        "Error: own.py was not imported within 60 seconds: keep what starts a program under"
    )


# --- wrong use -----------------------------------------------------------------------------------------------------

UNREADABLE = {
    "not_json": ("[{]", "is not valid JSON at line 1, column 3"),
    "key_twice": ('{"name": "a", "name": "b"}', 'the key "name" comes twice'),
    "no_tools": ("{}", "holds no tool definitions: it should be a list of definitions"),
    "empty_list": ("[]", "holds no tool definitions"),
    "text": ('"tools"', "holds no tool definitions"),
}


@pytest.mark.parametrize("command", ["lint", "strict"])
@pytest.mark.parametrize(("text", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_holds_no_definitions(tmp_path, command, text, words):
    result = course(command, written(tmp_path, "tools.json", text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ") and words in result.stderr and result.stderr.count("\n") == 1


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "tools.json").write_bytes(b"\xff\xfe\x00")
    result = course("lint", tmp_path / "tools.json")
    assert result.exit_code == 2 and "it is not UTF-8 text" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("no-such-file.json",), (".",), ("--provider", "azure", __file__)])
def test_wrong_usage(arguments):
    assert course("lint", *arguments).exit_code == 2
    assert course("strict", *arguments).exit_code == 2


# --- strict --------------------------------------------------------------------------------------------------------


def test_strict_accepts(tmp_path):
    result = course("strict", written(tmp_path, "tools.json", ADD))
    assert result.exit_code == 0
    assert result.output == (
        "add_numbers: accepted as it stands\n"
        "All strict in one request: 1 of 20 tools, 0 of 24 optional inputs, 0 of 16 unions.\n"
    )


def test_strict_says_what_is_refused_and_what_would_be_done(tmp_path):
    result = course("strict", written(tmp_path, "tools.json", definition("refund_order")))
    assert result.exit_code == 1
    assert result.output == (
        "refund_order: refused as it stands\n"
        "  refused   #/properties/amount_cents: For 'integer' type, property 'minimum' is not supported →\n"
        "            Take it out, check it yourself.\n"
        "  moved     #/properties/amount_cents: minimum → its description\n"
        "  moved     #/properties/note: maxLength → its description\n"
        "  After `to_strict` it is accepted; still check inputs with the original schema.\n"
        "All strict in one request: 1 of 20 tools, 1 of 24 optional inputs, 0 of 16 unions.\n"
    )


def test_strict_says_why_not(tmp_path):
    looped = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    result = course("strict", written(tmp_path, "node.json", looped))  # a schema by itself
    assert result.exit_code == 1
    assert "node: refused as it stands" in result.output and "  problem   " in result.output
    assert "After `to_strict` it is accepted" not in result.output


def test_strict_counts_all_tools_together(tmp_path):
    inputs = {name: WHO for name in "abcdefghijklm"}
    schema = {"type": "object", "properties": inputs, "required": [], "additionalProperties": False}
    tools = [{**ADD, "name": f"find_{name}", "input_schema": schema} for name in ("one", "two")]
    result = course("strict", written(tmp_path, "tools.json", tools))
    assert result.exit_code == 1
    assert result.output.endswith("2 of 20 tools, 26 of 24 optional inputs, 0 of 16 unions: too many.\n")


def test_strict_as_json(tmp_path):
    result = course("strict", "--json", "--provider", "openai", written(tmp_path, "tools.json", [ADD]))
    said = json.loads(result.stdout)
    assert result.exit_code == 0
    assert said["tools"][0]["schema"]["required"] == ["a", "b"]
    assert said["together"] == {"tools": 1, "optional": 0, "unions": 0, "over": []}


def test_strict_reads_other_shapes(tmp_path):
    mcp = {"name": "add_numbers", "description": "Add.", "inputSchema": ADD["input_schema"]}
    assert course("strict", written(tmp_path, "tools.json", [mcp])).exit_code == 0

"""One's own tool definitions from a file: `course lint FILE` and `course strict FILE`.

A file is JSON (a list of definitions, one definition, a request, an answer of an MCP server) or a Python module, whose
tools are those it has at its top level. A module is somebody's program, so it is imported in a process of its own,
which may print, hang or fall over without harm. What is wrong with the definitions, `contract/` says.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_kit.contract.linting import Finding
from course_kit.contract.reading import Tools, entries_of
from course_kit.contract.schema import NotJSON, parse_json
from course_kit.contract.strict import STRICT_RULES, count_strict, strict_budget, strict_refusals
from course_kit.contract.strict_transform import to_strict
from course_kit.contract.words import cut
from course_kit.errors import CourseKitError

__all__ = ["ToolFileError", "lint_text", "read_tools", "strict_check", "strict_text"]

IMPORT_SECONDS = 60
GUARD = 'keep what starts a program under `if __name__ == "__main__":`'


class ToolFileError(CourseKitError):
    """A file of tools that cannot be read; the message says why and what to do."""


def read_tools(file: Path) -> list[Any]:
    """The definitions in a file, as they stand there: `[{"name": ..., "input_schema": ...}, ...]`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ToolFileError(f"{file} cannot be read ({why}): name a JSON file or a Python module.") from None
    if file.suffix == ".py":
        return _tools_of_module(file.resolve())
    try:
        lines = [line for line in text.split("\n") if line.strip()] if file.suffix == ".jsonl" else []
        given = [parse_json(line) for line in lines] if lines else parse_json(text)
    except NotJSON as error:
        raise ToolFileError(f"{file} is {error}. Fix it there, or name a Python module (.py).") from None
    if isinstance(given, Mapping) and "name" not in given and given.get("type") == "object":
        given = {"name": file.stem, "input_schema": given}  # a schema by itself
    entries = entries_of(given)
    if not entries:
        wanted = 'a list of definitions, one definition, or an object with "tools"'
        raise ToolFileError(f"{file} holds no tool definitions: it should be {wanted}.")
    return entries


# Modules.


def _tools_of_module(file: Path) -> list[Any]:
    home = str(Path(__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # leave no traces beside somebody's file
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "tools.json")
        # subtle: -P keeps the current folder out of the way, where a file may be called json.py
        command = [sys.executable, "-P", "-m", __name__, str(file), str(answer)]
        try:
            run = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=IMPORT_SECONDS, env=environment
            )
        except subprocess.TimeoutExpired:
            words = f"{file.name} was not imported within {IMPORT_SECONDS} seconds"
            raise ToolFileError(f"{words}: {GUARD}.") from None
        if not answer.exists():
            words = f"{file.name} ended the process (exit code {run.returncode}) while it was imported"
            raise ToolFileError(f"{words}: {GUARD}.")
        said = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in said:
        raise ToolFileError(said["error"])
    return said["tools"]


def _answer(file: Path) -> dict[str, Any]:
    """In the process of its own: the tools of a module, or the sentence that says why there are none."""
    try:
        module = _imported(file)
    except (Exception, SystemExit) as error:
        return {"error": f"{file.name} cannot be imported: {_what_happened(error, file)}."}
    tools = list(_tools_in(vars(module).values()))
    if not tools:
        words = f"{file.name} has no tools at its top level"
        return {"error": f"{words}: decorate functions with `@tool`, or put definitions (dicts) into a list there."}
    try:
        json.dumps(tools, allow_nan=False)
    except (TypeError, ValueError) as error:
        return {
            "error": f"A definition in {file.name} is not plain JSON ({error}): use dicts, lists, text and numbers."
        }
    return {"tools": tools}


def _imported(file: Path) -> Any:
    """The module in a file; one inside a package is imported under its whole name, so that it finds its neighbours."""
    root, names = file.parent, [file.stem]
    while (root / "__init__.py").exists() and root.name.isidentifier():
        root, names = root.parent, [root.name, *names]
    sys.path.insert(0, str(root))
    if len(names) > 1:
        return importlib.import_module(".".join(names))
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _what_happened(error: BaseException, file: Path) -> str:
    """`ModuleNotFoundError: No module named 'requests' (line 3); install it …`"""
    if isinstance(error, SystemExit):
        return f"it leaves by sys.exit({'' if error.code is None else error.code}); {GUARD}"
    here = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else here[-1] if here else None
    words = str(error.msg if isinstance(error, SyntaxError) else error).strip().rstrip(".").replace("\n", " ")
    place = f" (line {line})" if line else ""
    cure = "; install it where `course` is installed" if isinstance(error, ModuleNotFoundError) else ""
    return f"{type(error).__name__}: {words[:300]}{place}{cure}"


def _tools_in(values: Iterable[Any]) -> Iterator[Any]:
    """The tools among the values of a module, also those in lists and dicts there; each once, in order."""
    seen: set[int] = set()
    for value in values:
        found = _definition(value)
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        for one, entry in [(value, found)] if found else [(v, _definition(v)) for v in inner]:
            if entry and id(one) not in seen:
                seen.add(id(one))
                yield entry


def _definition(value: Any) -> Any:
    """What a value says to a model, if it is a tool of ours, of the SDK's, or a definition; else None."""
    if isinstance(value, dict):
        schema = value.keys() & {"input_schema", "inputSchema", "parameters"}
        chat = isinstance(value.get("function"), dict) and "name" in value["function"]
        return value if chat or (isinstance(value.get("name"), str) and schema) else None
    for method in ("definition", "to_dict"):
        if not isinstance(value, type) and hasattr(value, "input_schema") and callable(getattr(value, method, None)):
            return getattr(value, method)()
    return None


# What is said about them.


def lint_text(findings: Sequence[Finding], count: int, hints: bool = False) -> str:
    """The findings by tool, each with its place, its reason and its fix; hints by name only, unless they are wanted."""
    lines: list[str] = []
    by_tool: dict[str, list[Finding]] = {finding.tool: [] for finding in findings if finding.tool}
    for finding in findings:
        by_tool.setdefault(finding.tool, []).append(finding)  # what concerns all tools comes last
    for tool, found in by_tool.items():
        lines.append(cut(tool, 80) or "all tools together")
        for finding in found:
            if hints or finding.severity != "hint":
                lines.append(f"  {finding.severity:<8}{finding.rule}  at {finding.path}  (lesson {finding.lesson})")
                lines += _indented(finding.message)
                lines += _indented(f"→ {finding.fix}")
        if not hints and (left := [finding.rule for finding in found if finding.severity == "hint"]):
            lines += _indented(", ".join(dict.fromkeys(left)), "  hints   ", " " * 10)
    number = Counter(finding.severity for finding in findings)
    counted = [
        f"{number[kind]} {kind}{'s' * (number[kind] != 1)}" for kind in ("error", "warning", "hint") if number[kind]
    ]
    tools = f"{count} tool{'s' * (count != 1)}"
    more = "; --hints tells the hints in full" if number["hint"] and not hints else ""
    return "\n".join([*lines, f"{tools}: {', '.join(counted)}{more}." if counted else f"{tools}: nothing found."])


def _indented(text: str, first: str = " " * 10, rest: str = " " * 10) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def strict_check(entries: Sequence[Any], provider: str) -> dict[str, Any]:
    """What strict mode makes of each tool: what it refuses, and what `to_strict` would do; and of all together."""
    tools = [tool for tool in Tools(entries, provider).all if tool.is_custom]
    told = []
    for tool in tools:
        rewritten = to_strict(tool.root, provider)
        refused = [
            {**vars(refusal), "advice": STRICT_RULES[refusal.rule].advice}
            for refusal in strict_refusals(tool.root, provider)
        ]
        told.append(
            {
                "tool": tool.label,
                "refused": refused,
                "schema": rewritten.schema,
                "moved": [one._asdict() for one in rewritten.moved],
                "narrowed": [one._asdict() for one in rewritten.narrowed],
                "problems": [one._asdict() for one in rewritten.problems],
            }
        )
    counts = [count_strict(tool.root) for tool in tools]
    sums = {"tools": len(tools), "optional": sum(c.optional for c in counts), "unions": sum(c.unions for c in counts)}
    over = (
        strict_budget([{"strict": True, "input_schema": tool.root} for tool in tools])
        if provider == "anthropic"
        else []
    )
    return {"provider": provider, "tools": told, "together": {**sums, "over": [refusal.rule for refusal in over]}}


def strict_text(check: Mapping[str, Any]) -> str:
    """The same to be read by people."""
    lines: list[str] = []
    for one in check["tools"]:
        lines.append(f"{cut(one['tool'], 80)}: {'refused as it stands' if one['refused'] else 'accepted as it stands'}")
        for refusal in one["refused"]:
            lines += _indented(
                f"{refusal['path']}: {refusal['message']} → {refusal['advice']}", "  refused   ", " " * 12
            )
        for change in ("moved", "narrowed") if one["refused"] else ():
            for what in one[change]:
                how = f"{what['keyword']}: {what['how']}" if "how" in what else f"{what['keyword']} → its description"
                lines += _indented(f"{what['path']}: {how}", f"  {change:<10}", " " * 12)
        for problem in one["problems"]:
            lines += _indented(f"{problem['path']}: {problem['message']}", "  problem   ", " " * 12)
        if one["refused"] and not one["problems"]:
            lines.append("  After `to_strict` it is accepted; still check inputs with the original schema.")
    together = check["together"]
    if check["provider"] == "anthropic":
        used = [
            f"{together[what]} of {most} {name}"
            for what, most, name in (
                ("tools", 20, "tools"),
                ("optional", 24, "optional inputs"),
                ("unions", 16, "unions"),
            )
        ]
        lines.append(f"All strict in one request: {', '.join(used)}{': too many' if together['over'] else ''}.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout = sys.stderr  # whatever the module prints
    Path(sys.argv[2]).write_text(json.dumps(_answer(Path(sys.argv[1]))), encoding="utf-8")

"""Numbers in the text of a lesson: each stands in a cell of the same lesson, or it is said where it is from.

What the cells print is compared by nbval at every run; here the sentences are held to what is printed, so that a number
that changes cannot leave its sentence behind.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from course_kit.catalogue import catalogue
from course_kit.classroom.upgrade_cases import fixtures
from course_kit.client import DEFAULT_CAP_TOKENS
from course_kit.contract.models import ModelFacts
from course_kit.example_tools import desk_tools

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("[01][0-9]_*.ipynb"))

NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?%?(?![\w-])")
# What names a thing and measures nothing: a lesson, an exercise, a version, a status, a year, a point of a list.
NAMES = re.compile(
    r"(?<![.,:\d])0\d\b(?![.:]\d)|\b[Ll]essons? \d\d"
    r"|\[[Ee]xercises?(?: \d\d)?\]?(?: \d+\.\d)?(?: and \d+\.\d)*|\b[Ee]xercises? \d+\.\d(?:(?:,| and) \d+\.\d)*"
    r"|\((?:anthropic|mcp|jsonschema|openai)\s[\d.]+\)|\bSDK[^.\d]{0,20}\d\.\d+|\bmcp \d\.\d\.\d"
    r"|\b(?:Opus|Sonnet|Fable|Mythos|Haiku|Claude|GPT)\s\d(?:\.\d)?|\b(?:400|401|408|409|429|500)\b|\bstatus 200\b"
    r"|\b20[12]\d(?:-\d\d)*\b|^\d+\. |^#+ \d+[.:] ?|^# \d\d\b|\b(?:[Ss]tep|[Rr]ule|[Cc]ard|[Pp]oint) \d+\b"
    r"|\b[Aa]bout \d+ minutes[^.]*\.|\b95(?:%| times)? in 100\b",
    re.MULTILINE,
)
# (lesson, number) → where it is from, for what no cell of the lesson prints.
SAID = {
    ("02", "2,000"): "an example of a docstring",
    ("05", "42"): "an example of a lost update",
    ("05", "41"): "an example of a lost update",
    ("06", "4.99"): "an example of a way around it",
    ("07", "55,000"): "Anthropic's documentation and engineering post, named there",
    ("07", "200"): "the API's limit of a search pattern, in `contract`",
    ("07", "79.5"): "Anthropic's engineering post, named there",
    ("07", "88.1%"): "Anthropic's engineering post, named there",
    ("07", "49"): "Anthropic's engineering post, named there",
    ("07", "0.09"): "(11.5 − 2.4) seconds for 100 thousand tokens, rounded, of the announcement named there",
    ("07", "45"): "60 tools of which 15 are on, below",
    ("08", "412"): "an example of a hint",
    ("08", "02"): "an example of a wrong answer",
    ("09", "7.00"): "two cups of 3.50",
    ("10", "97.7%"): "the issue linked there",
    ("10", "30.5%"): "the issue linked there",
    ("10", "72%"): "36 of 50 tasks, counted in `AIRLINE`",
    ("10", "20%"): "10 of 50 tasks, counted in `AIRLINE`",
    ("12", "24"): "eight fixtures with inputs, three times",
}
# What the text says and the package knows.
KNOWN: dict[tuple[str, str], Any] = {
    ("00", "20,000"): lambda: DEFAULT_CAP_TOKENS,
    ("01", "290"): lambda: ModelFacts.tool_prompt_tokens[0],
    ("07", "428"): lambda: len(catalogue()) - 1,
    ("12", "28"): lambda: len(fixtures()),
    ("12", "84"): lambda: 3 * len(fixtures()),
    ("13", "66"): lambda: len(desk_tools(None)) + len(catalogue(group="operations")),
}


def text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def printed(cell: dict[str, Any]) -> Iterator[str]:
    for output in cell.get("outputs", ()):
        yield "".join(output.get("text", ()))
        yield from ("".join(made) for kind, made in output.get("data", {}).items() if kind.startswith("text/"))


def values(number: str) -> set[str]:
    """The forms of one number: `1,200` and `1_200`, `19.99` and 1999 cents."""
    plain = number.replace(",", "").replace("_", "")
    return {number, plain, plain.replace(".", "")}


def shown(cells: list[dict[str, Any]]) -> set[str]:
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    whole = "\n".join([*map(text, code), *(made for cell in code for made in printed(cell))])
    return {form for found in re.findall(r"\d[\d,_]*(?:\.\d+)?%?", whole) for form in values(found.rstrip(",_"))}


def prose(cell: dict[str, Any]) -> str:
    """A cell's sentences: without code, addresses of links, and numbers that only name something."""
    bare = re.sub(r"```.*?```|`[^`\n]*`", "", text(cell), flags=re.DOTALL)
    return NAMES.sub("", re.sub(r"\]\([^)]*\)", "]", bare))


def unfounded(cells: list[dict[str, Any]]) -> list[str]:
    made = shown(cells)
    return [
        number
        for cell in cells
        if cell["cell_type"] == "markdown"
        for number in (found.rstrip(",") for found in NUMBER.findall(prose(cell)))
        if not values(number) & made
    ]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_number_of_the_text_is_printed_or_its_source_is_named(path):
    lesson = path.stem[:2]
    told = {number for at, number in (*SAID, *KNOWN) if at == lesson}
    found = set(unfounded(json.loads(path.read_text(encoding="utf-8"))["cells"]))
    assert found - told == set(), "print it in a cell, or name its source in SAID"
    assert told - found == set(), "this is printed by now, or gone: delete its line"


@pytest.mark.parametrize(("lesson", "number"), KNOWN, ids=str)
def test_what_the_package_knows_is_what_the_text_says(lesson, number):
    assert KNOWN[lesson, number]() == int(number.replace(",", ""))


def test_a_number_that_no_cell_prints_is_found():
    cells = [
        {"cell_type": "markdown", "source": "1. In lesson 03 `7` of 20 tools cost 1,999 tokens: 65%."},
        {"cell_type": "code", "source": "x", "outputs": [{"text": "20 tools, 1999 tokens, 64%"}]},
    ]
    assert unfounded(cells) == ["65%"]

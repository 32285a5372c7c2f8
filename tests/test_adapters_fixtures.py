"""The course's key conversations through every adapter: what comes back is what went, or the adapter said what it left.

`tests/data/lesson_requests.jsonl` holds requests that the lessons send, one of every kind that occurs in each, with the
replies; beside them stand the ten broken traces with their good run, the recorded run, and the legal example of every
rule of the API. `python tests/test_adapters_fixtures.py NUMBER …` gathers those of a lesson anew, by running its text.
"""

import copy
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from course_kit.classroom.broken_traces import broken_traces
from course_kit.classroom.differences import SHAPES
from course_kit.contract.examples import EXAMPLES
from course_kit.contract.messages import content_blocks, text, tool_result_blocks
from course_kit.contract.protocol import check_request
from course_kit.contract.shapes import (
    definition_from,
    definition_to,
    normal_form,
    reply_from,
    reply_to,
    request_from,
    request_to,
    result_from,
    result_to,
)
from course_kit.contract.shapes.responses_reply import responses_reply_to
from course_kit.mock.provider import MockProvider
from course_kit.mock.scripted import Draft
from course_kit.providers.openai import openai_chat, openai_responses
from course_kit.recording import read_recording

DATA = Path(__file__).parent / "data"
OTHERS = [shape for shape in SHAPES if shape not in ("anthropic", "mcp")]


def lesson_rows() -> list[dict[str, Any]]:
    text = (DATA / "lesson_requests.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def of_traces() -> dict[str, dict[str, Any]]:
    """The conversations behind the traces, as the next request would hold them, with the reply that came last."""
    found = {}
    for id, broken in broken_traces().items():
        messages: list[dict[str, Any]] = [{"role": "user", "content": broken.complaint}]
        for event in broken.trace.events:
            if event["event"] == "reply":
                messages.append({"role": "assistant", "content": event["message"]["content"]})
            elif event["event"] == "result":
                if messages[-1]["role"] == "assistant":
                    messages.append({"role": "user", "content": []})
                messages[-1]["content"].append(event["result"])
        request = {"max_tokens": 1024, **broken.trace.request, "messages": messages}
        replies = [event["message"] for event in broken.trace.events if event["event"] == "reply"]
        found[id] = {"body": request, "reply": replies[-1]}
    return found


FIXTURES: dict[str, dict[str, Any]] = {
    **{f"lesson_{row['lesson']}_{number}": row for number, row in enumerate(lesson_rows())},
    **{f"recorded_{number}": {"body": one["request"]["body"], "reply": one["response"]["body"]}
       for number, one in enumerate(read_recording(DATA / "recorded_refund.jsonl"))},
    **of_traces(),
}  # fmt: skip


def test_every_lesson_has_its_conversations_here():
    assert {row["lesson"] for row in lesson_rows()} == {f"{number:02d}" for number in range(1, 13)}
    kinds = {block["type"] for one in FIXTURES.values() for m in one["body"]["messages"] for block in content_blocks(m)}
    assert kinds >= {"text", "tool_use", "tool_result", "thinking", "server_tool_use", "tool_search_tool_result"}
    assert len(FIXTURES) > 50


# There and back, without what the adapter says it left


def placed(value: Any, path: list[str]) -> tuple[Any, Any]:
    """The holder of what a path names, and its key there."""
    for step in path[:-1]:
        value = value[int(step)] if isinstance(value, list) else value[step]
    key: Any = int(path[-1]) if isinstance(value, list) else path[-1]
    return value, key


LEFT_OUT = object()


def without(value: dict[str, Any], lost: Any, names: dict[str, str]) -> dict[str, Any]:
    """The value without what a conversion says is lost; a path that leads nowhere fails the test."""
    value = copy.deepcopy(value)
    for path, why in lost:
        renamed = re.search("sent as `(.+)`", why)
        if renamed:
            assert names[renamed[1]] == path.removeprefix("tools.")
            continue
        if path == "tools" or why.startswith(("the texts of a reply", "how a search ranks")):
            continue  # said of the whole, looked at below
        holder, key = placed(value, path.split("."))
        block = holder[key]
        inside = isinstance(key, int) and path.count(".content.") == 2
        if inside and "only text" in why:
            holder[key] = text(f"(A block of type {block['type']} was left out here.)")
        elif isinstance(key, int):
            holder[key] = LEFT_OUT
        else:
            del holder[key]
    return swept(value)


def swept(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: swept(part) for key, part in value.items()}
    return [swept(part) for part in value if part is not LEFT_OUT] if isinstance(value, list) else value


@pytest.mark.parametrize("shape", OTHERS)
@pytest.mark.parametrize("name", FIXTURES)
def test_a_request_goes_there_and_comes_back(name, shape):
    body = FIXTURES[name]["body"]
    there = request_to(shape, body)
    kept = without(body, there.lost, dict(there.names))
    again = request_to(shape, kept)
    assert [loss for loss in again.lost if "sent as" not in loss.why] == [], "something else is lost as well"
    back = request_from(shape, again.value)
    assert back.lost == ()
    assert normal_form(named(back.value, there.names)) == normal_form(kept)


def named(request: dict[str, Any], names: Any) -> dict[str, Any]:
    """A request with the names of tools as they were before the other side's limits."""

    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: names.get(part, part) if key == "name" and isinstance(part, str) else rename(part)
                    for key, part in value.items()}  # fmt: skip
        return [rename(part) for part in value] if isinstance(value, list) else value

    return rename(request) if names else request


@pytest.mark.parametrize("shape", OTHERS)
@pytest.mark.parametrize("name", FIXTURES)
def test_a_reply_goes_there_and_comes_back(name, shape):
    body, reply = FIXTURES[name]["body"], FIXTURES[name]["reply"]
    there = reply_to(shape, reply)
    value = there.value
    if shape == "openai_responses":  # a reply there repeats the tools of its request, which a search refers to
        value = responses_reply_to(reply, request=request_to(shape, body).value).value
    kept = normal_reply(without(reply, there.lost, {}))
    back = reply_from(shape, value)
    assert back.lost == ()
    lost = {loss.path for loss in there.lost}
    if not lost & {"stop_sequence", "stop_reason"}:
        assert back.value["stop_reason"] == kept["stop_reason"]
    assert normal_reply(back.value)["content"] == kept["content"]
    assert normal_reply(back.value)["stop_details"] == kept["stop_details"]
    counts = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    if "usage.cache_creation_input_tokens" in lost:
        counts = counts[1:3]
    assert [back.value["usage"][one] or 0 for one in counts] == [reply["usage"].get(one) or 0 for one in counts]


NO_DETAILS = {"type": "refusal", "category": None, "explanation": None}


def normal_reply(reply: dict[str, Any]) -> dict[str, Any]:
    content = normal_form({"messages": [{"role": "assistant", "content": reply["content"]}]})["messages"]
    refused = reply.get("stop_reason") == "refusal"
    details = {**NO_DETAILS, **(reply.get("stop_details") or {})} if refused else None
    return {**reply, "content": content[0]["content"] if content else [], "stop_details": details}


# Results and definitions


RESULTS = {
    f"{name}_{number}": block
    for name, one in FIXTURES.items()
    for number, block in enumerate(b for m in one["body"]["messages"] for b in tool_result_blocks(m))
}


def test_a_result_goes_to_mcp_and_comes_back():
    """All of them in one test: there are many, and they are small."""
    assert len(RESULTS) > 60 and any(block.get("is_error") for block in RESULTS.values())
    for name, block in RESULTS.items():
        there = result_to("mcp", block)
        kept = without(block, there.lost, {})
        back = result_from("mcp", there.value, block["tool_use_id"])
        assert back.lost == (), name
        kept.pop("cache_control", None)
        assert normal_result(back.value) == normal_result(kept), name


def normal_result(block: dict[str, Any]) -> dict[str, Any]:
    return normal_form({"messages": [{"role": "user", "content": [block]}]})["messages"][0]["content"][0]


DEFINITIONS = {
    json.dumps(tool, sort_keys=True): tool
    for one in FIXTURES.values()
    for tool in one["body"].get("tools") or ()
    if tool.get("type") in (None, "custom")
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_definition_goes_there_and_comes_back(shape):
    assert len(DEFINITIONS) > 20
    for tool in DEFINITIONS.values():
        canonical = definition_from("anthropic", tool)
        there = definition_to(shape, canonical.value)
        back = definition_from(shape, there.value).value
        for field in canonical.value.__dataclass_fields__:
            if field not in [loss.path for loss in there.lost]:
                assert getattr(back, field) == getattr(canonical.value, field), (tool["name"], field)


# Over the mock's endpoints, with the real SDK


@pytest.mark.parametrize("interface", ["openai_chat", "openai_responses"])
@pytest.mark.parametrize("name", FIXTURES)
def test_the_mock_takes_it_and_its_model_reads_the_same(name, interface):
    """The adapter's request is legal there, and the model behind reads what it would have read here."""
    pytest.importorskip("openai", reason="the extra `providers` is not installed")
    body, reply = FIXTURES[name]["body"], FIXTURES[name]["reply"]
    seen: list[dict[str, Any]] = []
    blocks = [block for block in content_blocks(reply) if block["type"] in ("text", "tool_use")]
    provider = MockProvider(lambda request: seen.append(request) or Draft(copy.deepcopy(blocks) or [text("Nothing.")]))
    make = openai_chat if interface == "openai_chat" else openai_responses
    if [found for found in check_request(body) if found.rule != "model-known"]:
        pytest.skip("no provider takes this history: it is the record of a fault")
    received = make(provider.openai_client(max_retries=0))(body)
    assert provider.requests[0].violation is None
    if received["stop_reason"] not in ("max_tokens", None):  # a small limit cuts there as it did here
        told = [(b.get("name"), b.get("input"), b.get("text")) for b in blocks] or [(None, None, "Nothing.")]
        assert [(b.get("name"), b.get("input"), b.get("text")) for b in received["content"]] == told
    there = request_to(interface, body)
    kept = normal_form(without(body, there.lost, dict(there.names)))
    assert normal_form(named(seen[0], there.names))["messages"] == kept["messages"]


# The legal example of every rule: not from a lesson, and the oddest requests there are


def legal(id: str) -> dict[str, Any]:
    found = EXAMPLES[id][1]
    return found[0] if isinstance(found, tuple) else found


# What a conversion cannot read at all, or turns into something else, and says so.
TURNED = "it became one of the user's", "INVALID_JSON"


@pytest.mark.parametrize("shape", OTHERS)
@pytest.mark.parametrize("id", EXAMPLES)
def test_the_legal_example_of_every_rule_goes_there_and_comes_back(id, shape):
    body = legal(id)
    there = request_to(shape, body)
    if any(said in loss.why for loss in there.lost for said in TURNED):
        return
    kept = without(body, there.lost, dict(there.names))
    again = request_to(shape, kept)
    assert [loss for loss in again.lost if "sent as" not in loss.why] == []
    assert normal_form(named(request_from(shape, again.value).value, there.names)) == normal_form(kept)


# Gathering


def gather(number: str, seconds: float = 150.0, most: int = 14) -> list[dict[str, Any]]:
    """The requests of one lesson, one of every kind, each with its reply: its cells are run in this process."""
    import contextlib
    import io
    import time

    import jupytext
    from IPython.core.interactiveshell import InteractiveShell

    made: list[MockProvider] = []
    begin = MockProvider.__init__
    MockProvider.__init__ = lambda self, *a, **k: (begin(self, *a, **k), made.append(self))[0]  # type: ignore[method-assign]
    [source] = (DATA.parents[1] / "notebooks" / "src").glob(f"{number}_*.py")
    shell, until = InteractiveShell.instance(), time.monotonic() + seconds
    for cell in jupytext.read(source).cells:
        if cell.cell_type == "code" and time.monotonic() < until:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                shell.run_cell(cell.source)
    kept: dict[str, dict[str, Any]] = {}
    exchanges = [one for provider in made for one in provider.requests if one.path == "/v1/messages" and one.reply]
    for one in sorted(exchanges, key=lambda one: -len(one.body["messages"])):
        named = json.dumps([one.body["messages"], one.reply])  # of a long list of tools, those that are spoken of
        tools = [tool for tool in one.body.get("tools") or () if "type" in tool or f'"{tool["name"]}"' in named]
        short = {"tools": tools} if len(one.body.get("tools") or ()) > 12 else {}
        row = {"lesson": number, "body": {**one.body, **short}, "reply": one.reply}
        if len(json.dumps(row)) < 14_000 and len(kept) < most:
            kept.setdefault(kind_of(one.body, one.reply), row)
    return list(kept.values())


def kind_of(body: dict[str, Any], reply: dict[str, Any]) -> str:
    """What kinds of blocks, fields and endings a request and its reply have; equal for two of one kind."""
    blocks = [(m["role"], block) for m in body["messages"] for block in content_blocks(m)]
    seen = {f"{role} {block['type']} {sorted(block)} {type(block.get('content')).__name__}" for role, block in blocks}
    tools = {f"{tool.get('type')} {key}" for tool in body.get("tools") or () for key in tool}
    ending = [reply.get("stop_reason"), [block["type"] for block in reply["content"]][:3]]
    return json.dumps([sorted(seen), sorted(tools), sorted(body), body.get("tool_choice"), ending])


if __name__ == "__main__":  # the lessons named, anew; the others stay
    os.environ["COURSE_WORKSPACE"] = tempfile.mkdtemp()
    rows = [row for row in lesson_rows() if row["lesson"] not in sys.argv[1:]]
    rows += [row for number in sys.argv[1:] for row in gather(number)]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in sorted(rows, key=lambda row: row["lesson"])]
    (DATA / "lesson_requests.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")

"""Drift watch: what an SDK names and the rules do not is found; what is meant to be has a reason that still holds."""

import dataclasses
import importlib
import importlib.metadata
from typing import Literal, NotRequired, TypedDict, Union

import anthropic.types
import pytest
from anthropic.types import message_create_params
from click.testing import CliRunner

from course_kit import api_drift, api_topics
from course_kit.api_drift import Difference, Drift, Topic, fields_of, kinds_of, literals_of, look
from course_kit.cli import main
from course_kit.contract.shapes import request_from, result_from
from course_kit.contract.shapes.responses_request import ITEMS
from course_kit.contract.shapes.results import CONTENTS

TOPICS = {f"{topic.sdk} {topic.name}": topic for topic in api_topics.TOPICS}


def installed(sdk):
    try:
        return importlib.metadata.version(sdk)
    except importlib.metadata.PackageNotFoundError:
        return None


def topic(name):
    one = TOPICS[name]
    if installed(one.sdk) is None:
        pytest.skip(f"{one.sdk} is not installed: an extra of the kit")
    return one


# As things are


def test_every_difference_with_the_installed_sdks_is_known_and_has_its_reason():
    drift = look()
    assert drift.news == (), drift.table()
    assert drift.ok and drift.versions["anthropic"] == anthropic.__version__
    assert drift.table() == (
        f"The rules know all that the SDKs name: {drift.compared} topics compared with "
        + ", ".join(f"{sdk} {installed(sdk)}" for sdk in drift.versions)
        + f"; {len(drift.differences)} differences are known and meant to be."
    )
    assert all(one.why and one.change in ("new", "gone") for one in drift.differences)
    assert len(drift.table(everything=True).splitlines()) == len(drift.differences) + 2


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_compares_two_lists_that_mostly_agree(name):
    one = topic(name)
    known, found = set(one.known()), set(one.installed())
    assert known and found and len(known & found) * 5 > min(len(known), len(found))
    assert all(isinstance(word, str) and word for word in known | found)


@pytest.mark.parametrize("name", TOPICS)
def test_what_the_rules_do_not_know_is_new_and_what_only_they_know_is_gone(name):
    one = topic(name)
    known = set(one.known())
    forgotten = sorted(known & set(one.installed()))[0]
    changed = dataclasses.replace(one, known=lambda: known - {forgotten} | {"nap"})
    assert set(look([changed]).news) == {
        Difference(one.sdk, one.name, forgotten, "new"),
        Difference(one.sdk, one.name, "nap", "gone"),
    }


# As they may come: the SDK's types are changed, and found to be


class Nap(TypedDict):
    type: Literal["nap"]


class ToolParam(anthropic.types.ToolParam):
    nap: NotRequired[bool]


class Text(anthropic.types.TextBlockParam):
    nap: NotRequired[bool]


class Body(message_create_params.MessageCreateParamsNonStreaming):
    nap: NotRequired[bool]


def more(union, *members):
    return Union[(*union.__args__, *members)]  # noqa: UP007


def less(union, left_out):
    return Union[tuple(part for part in union.__args__ if part is not left_out)]  # noqa: UP007


T = anthropic.types
NEW = {
    "stop reasons": ("anthropic.types", "StopReason", Literal["end_turn", "nap"], "nap"),
    "models": ("anthropic.types", "Model", Union[T.Model, Literal["claude-nap-6"]], "claude-nap-6"),  # noqa: UP007
    "blocks": ("anthropic.types", "ContentBlockParam", more(T.ContentBlockParam, Nap), "nap"),
    "fields of blocks": ("anthropic.types", "ContentBlockParam", more(T.ContentBlockParam, Text), "text.nap"),
    "tools": ("anthropic.types", "ToolUnionParam", more(T.ToolUnionParam, Nap), "nap"),
    "fields of a tool": ("anthropic.types", "ToolParam", ToolParam, "nap"),
    "parameters": ("anthropic.types.message_create_params", "MessageCreateParamsNonStreaming", Body, "nap"),
    "error types": ("anthropic.types", "ErrorType", Union[T.ErrorType, Literal["nap_error"]], "nap_error"),  # noqa: UP007
    "betas": ("anthropic.types", "AnthropicBetaParam", Union[T.AnthropicBetaParam, Literal["nap-2027"]], "nap-2027"),  # noqa: UP007
}


@pytest.mark.parametrize("name", NEW)
def test_what_a_newer_sdk_names_is_found(name, monkeypatch):
    module, attribute, changed, word = NEW[name]
    monkeypatch.setattr(importlib.import_module(module), attribute, changed)
    assert look().news == (Difference("anthropic", name, word, "new"),)


@pytest.mark.parametrize("kind", ["ToolChoiceParam", "ThinkingConfigParam"])
def test_a_new_kind_inside_a_parameter_is_found(kind, monkeypatch):
    topic_name, field = {"ToolChoiceParam": ("tool_choice",) * 2, "ThinkingConfigParam": ("thinking",) * 2}[kind]
    newer = TypedDict("newer", {field: more(getattr(T, kind), Nap)}, total=False)
    monkeypatch.setattr(message_create_params, "MessageCreateParamsNonStreaming", newer)
    found = [one for one in look([TOPICS[f"anthropic {topic_name}"]]).news]
    assert found == [Difference("anthropic", topic_name, "nap", "new")]


def test_what_is_gone_from_an_sdk_is_found(monkeypatch):
    thinner = less(T.ContentBlockParam, T.ContainerUploadBlockParam)
    for module, names in ((T, ("ContentBlockParam", "ContentBlock")), (T.beta, ("BetaContentBlockParam",))):
        for name in names:
            monkeypatch.setattr(module, name, thinner)
    monkeypatch.setattr(T.beta, "BetaContentBlock", thinner)
    gone = {one.name for one in look([TOPICS["anthropic blocks"]]).news if one.change == "gone"}
    assert "container_upload" in gone and "text" not in gone


def test_a_finish_reason_of_openai_that_goes_and_one_that_comes(monkeypatch):
    topic("openai chat finish reasons")
    chat_completion = importlib.import_module("openai.types.chat.chat_completion")

    class Choice(TypedDict):
        finish_reason: Literal["stop", "length", "tool_calls", "content_filter", "napped"]

    monkeypatch.setattr(chat_completion, "Choice", Choice)
    assert look().news == (
        Difference("openai", "chat finish reasons", "napped", "new"),
        Difference("openai", "chat finish reasons", "function_call", "gone"),
    )


def test_a_type_that_cannot_be_read_any_more_is_news_and_no_traceback(monkeypatch):
    monkeypatch.delattr(T, "StopReason")
    [one] = look().news
    assert (one.change, one.topic) == ("unreadable", "stop reasons")
    assert "StopReason" in one.name


# Reasons


ONE = Topic("anthropic", "colours", lambda: {"red", "blue"}, lambda: {"red", "green"})


def test_a_reason_makes_a_difference_known():
    why = {("anthropic", "colours"): {"green": "painted over", "blue": "faded"}}
    drift = look([ONE], why)
    assert drift.ok and drift.table().startswith("The rules know all")
    assert drift.table(everything=True).splitlines()[:2] == [
        "new   anthropic  colours  green  painted over",
        "gone  anthropic  colours  blue   faded",
    ]


def test_a_reason_for_no_difference_is_told():
    drift = look([ONE], {("anthropic", "colours"): {"green": "x", "blue": "x", "red": "x"}})
    assert [(one.name, one.change) for one in drift.news] == [("red", "settled")] and not drift.ok


def test_every_reason_belongs_to_a_topic():
    assert set(api_topics.WHY) <= {(one.sdk, one.name) for one in api_topics.TOPICS}


def test_an_sdk_that_is_not_installed_is_left_out():
    drift = look([dataclasses.replace(ONE, sdk="no-such-sdk")])
    assert drift == Drift({}, 0, ())


# What the shapes say of themselves is what they do


@pytest.mark.parametrize("kind", [*ITEMS, *api_topics.WHY[("openai", "items")]])
def test_an_item_is_carried_exactly_when_the_shape_says_so(kind):
    item = {"type": kind, "role": "user", "content": "Hi", "call_id": "call_1", "name": "add", "arguments": "{}"}
    item |= {"output": "5", "tools": [], "execution": "server", "summary": []}
    found = {"type": "tool_search_output", "execution": "server", "tools": []}
    items = [item, found] if kind == "tool_search_call" else [{**item, "type": "tool_search_call"}, item]
    alone = f"`{kind}` is an item of that provider alone"
    lost = request_from("openai_responses", {"model": "m", "input": items}).lost
    assert (alone in [why for _, why in lost]) is (kind not in ITEMS)


@pytest.mark.parametrize("kind", [*CONTENTS, *api_topics.WHY[("mcp-types", "content")]])
def test_content_of_mcp_is_carried_exactly_when_the_shape_says_so(kind):
    part = {"type": kind, "text": "5", "data": "AA==", "mimeType": "image/png", "uri": "file:///a"}
    part |= {"resource": {"uri": "file:///a", "text": "5"}} if kind == "resource" else {}
    assert bool(result_from("mcp", {"content": [part]}).lost) is (kind not in CONTENTS)


# Reading types


def test_types_are_read_at_any_depth():
    class A(TypedDict):
        type: Literal["a", "b"]
        more: NotRequired[Literal["x", None] | str]

    assert literals_of(A.__annotations__["more"]) == {"x"}
    assert kinds_of(list[Union[A, None]], Nap) == {"a", "b", "nap"}  # noqa: UP007
    assert fields_of(A, Nap) == {"type", "more"}
    assert api_drift.field(TypedDict("Outer", {"inner": list[A]}), "inner", "more")
    with pytest.raises(KeyError, match="none"):
        api_drift.field(A, "none")


# The command


def test_the_command_prints_the_table_and_returns_its_verdict(monkeypatch):
    result = CliRunner().invoke(main, ["doctor", "--api"])
    assert (result.exit_code, result.stdout) == (0, look().table() + "\n")
    monkeypatch.setattr(anthropic.types, "StopReason", Literal["end_turn", "nap"])
    result = CliRunner().invoke(main, ["doctor", "--api"])
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:2] == ["new  anthropic  stop reasons  nap", ""]
    assert result.stdout.splitlines()[2].startswith("1 difference that the rules do not know: ")

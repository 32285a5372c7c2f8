"""The models and stop reasons of the course against those of the installed SDK."""

from typing import get_args

import pytest
from anthropic.types import Model, StopReason

from course_kit.contract.messages import STOP_REASONS
from course_kit.contract.models import DEFAULT_MODEL, MODELS, facts

# Reference 1.4, as of 2026-11-30: the models that refuse `tool_choice` any and tool.
NEVER_FORCED = {
    "claude-fable-5-1",
    "claude-fable-5-2",
    "claude-mythos-5-1",
    "claude-mythos-5-2",
    "claude-mythos-preview",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
}


def test_the_models_are_those_of_the_sdk() -> None:
    named = next(part for part in get_args(Model) if part is not str)
    assert set(MODELS) == set(get_args(named))
    assert all(model.id == id for id, model in MODELS.items())


def test_the_stop_reasons_are_those_of_the_sdk() -> None:
    assert set(STOP_REASONS) == set(get_args(StopReason))


def test_which_models_cannot_be_forced() -> None:
    assert {id for id, model in MODELS.items() if not model.forcing} == NEVER_FORCED
    assert facts(DEFAULT_MODEL).forcing


@pytest.mark.parametrize(
    ("id", "always", "prefill"),
    [
        ("claude-opus-5-5", True, False),
        ("claude-sonnet-5-5", True, False),
        ("claude-haiku-5-5", False, False),
        ("claude-opus-5", False, False),
        ("claude-haiku-4-5", False, True),
    ],
)
def test_thinking_and_prefill(id: str, always: bool, prefill: bool) -> None:
    assert (MODELS[id].always_thinks, MODELS[id].prefill) == (always, prefill)


def test_facts_of_what_is_no_model() -> None:
    assert [facts(value) for value in ("gpt-5", None, 5, [])] == [None, None, None, None]

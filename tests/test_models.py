"""The models and stop reasons of the course against those of the installed SDK."""

from typing import get_args

import pytest
from anthropic.types import Model, StopReason

from course_kit.contract.messages import STOP_REASONS
from course_kit.contract.models import DEFAULT_MODEL, MODELS, ModelFacts, facts

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


# Reference 1.5: what the vendor's page "Pricing" states of the tool prompt, without and with forcing.
TOOL_PROMPTS = {
    "claude-opus-5-5": (286, 286),  # forcing is refused
    "claude-opus-5": (286, 406),
    "claude-opus-4-8": (290, 410),
    "claude-opus-4-7": (675, 804),
    "claude-sonnet-5": (354, 474),
    **dict.fromkeys(("claude-opus-4-6", "claude-sonnet-4-6"), (497, 589)),
    **dict.fromkeys(
        (
            *("claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-opus-4-5", "claude-opus-4-5-20251101"),
            *("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
        ),
        (496, 588),
    ),
}
# "Prompt caching": the fewest tokens that are kept. 5.2 is on no page.
CACHE_FLOORS = {
    512: "fable-5-1 mythos-5-1 opus-5-5 opus-5 sonnet-5-5 haiku-5-5 fable-5 mythos-5",
    1024: "opus-4-8 sonnet-5 sonnet-4-6 sonnet-4-5 sonnet-4-5-20250929",
    2048: "opus-4-7 mythos-preview",
    4096: "opus-4-6 opus-4-5 opus-4-5-20251101 haiku-4-5 haiku-4-5-20251001",
}


def test_a_number_without_a_source_is_marked_as_uncertain() -> None:
    stated = {id for id, model in MODELS.items() if "tool_prompt_tokens" not in model.uncertain}
    assert {id: MODELS[id].tool_prompt_tokens for id in stated} == TOOL_PROMPTS
    floors = {id: model.cache_floor for id, model in MODELS.items() if "cache_floor" not in model.uncertain}
    assert floors == {f"claude-{name}": floor for floor, names in CACHE_FLOORS.items() for name in names.split()}
    assert {name for model in MODELS.values() for name in model.uncertain} <= set(ModelFacts.__dataclass_fields__)


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

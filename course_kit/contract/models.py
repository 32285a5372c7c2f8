"""The models the course knows, and where their rules differ. The only place with model names.

Checked on 2026-11-30 against `anthropic.types.Model` (SDK 2.14) and the vendor's model and migration pages.
A test compares the list with the installed SDK. What no source states is marked `?` in a comment; where it is a number
that a learner may see, the fact is in `uncertain` too, so that code that prints the number can say so.
"""

from dataclasses import dataclass

__all__ = ["DEFAULT_MODEL", "MODELS", "ModelFacts", "facts"]

# Can be forced to call a tool and is not the dearest: what `connect()` and `run_agent` use when nothing is said.
DEFAULT_MODEL = "claude-haiku-5-5"


@dataclass(frozen=True)
class ModelFacts:
    """What differs from model to model on the wire.

    `forcing`: can `tool_choice` be `any` or `tool`. `thinking`: the accepted `thinking.type` values (where
    `disabled` is missing, thinking is always on). `prefill`: can the last message be the assistant's.
    `binds_thinking`: are thinking blocks bound to the conversation that made them. `system_turns`: can `messages`
    hold `role: "system"`. `cache_floor`: tokens below which no prefix is cached. `tool_prompt_tokens`: what the
    presence of tools costs, without and with forcing. `uncertain`: the facts among these that no source states.
    """

    id: str
    name: str
    forcing: bool = True
    thinking: frozenset[str] = frozenset({"adaptive", "disabled"})
    prefill: bool = False
    binds_thinking: bool = False
    system_turns: bool = False
    cache_floor: int = 1024
    tool_prompt_tokens: tuple[int, int] = (290, 410)
    deprecated: bool = False
    uncertain: frozenset[str] = frozenset()

    @property
    def always_thinks(self) -> bool:
        """Whether thinking cannot be switched off."""
        return "disabled" not in self.thinking


_ALWAYS = frozenset({"adaptive"})
_MANUAL = frozenset({"enabled", "disabled"})
_BOTH = frozenset({"adaptive", "enabled", "disabled"})
# (?) No page that we know gives this model's tool prompt, so it is taken to be that of Opus 4.8, 290 and 410.
_TOOL_PROMPT = frozenset({"tool_prompt_tokens"})
# (?) Nothing is known of Fable and Mythos 5.2: they are taken to be like 5.1.
_NEWEST = _TOOL_PROMPT | {"forcing", "thinking", "binds_thinking", "system_turns", "cache_floor"}

# Sources: "What's new" and migration pages of each model; "Pricing" for prompt tokens; "Prompt caching" for the floor.
# Mythos is taken to be like Fable where a page names only one of them (?).
_ALL = (
    ModelFacts("claude-fable-5-2", "Claude Fable 5.2", False, _ALWAYS, False, True, True, 512, uncertain=_NEWEST),
    ModelFacts("claude-mythos-5-2", "Claude Mythos 5.2", False, _ALWAYS, False, False, True, 512, uncertain=_NEWEST),
    ModelFacts(
        "claude-haiku-5-5",
        "Claude Haiku 5.5",
        binds_thinking=True,
        system_turns=True,
        cache_floor=512,
        uncertain=_TOOL_PROMPT,
    ),
    ModelFacts(
        "claude-sonnet-5-5",
        "Claude Sonnet 5.5",
        forcing=False,
        thinking=frozenset({"adaptive", "between_tools"}),
        binds_thinking=True,
        system_turns=True,
        cache_floor=512,
        uncertain=_TOOL_PROMPT,
    ),
    ModelFacts("claude-fable-5-1", "Claude Fable 5.1", False, _ALWAYS, False, True, True, 512, uncertain=_TOOL_PROMPT),
    ModelFacts("claude-opus-5-5", "Claude Opus 5.5", False, _ALWAYS, False, True, True, 512, (286, 286)),
    ModelFacts(
        "claude-mythos-5-1", "Claude Mythos 5.1", False, _ALWAYS, False, False, True, 512, uncertain=_TOOL_PROMPT
    ),
    ModelFacts("claude-sonnet-5", "Claude Sonnet 5", tool_prompt_tokens=(354, 474)),
    ModelFacts("claude-fable-5", "Claude Fable 5", system_turns=True, cache_floor=512, uncertain=_TOOL_PROMPT),
    ModelFacts("claude-mythos-5", "Claude Mythos 5", system_turns=True, cache_floor=512, uncertain=_TOOL_PROMPT),
    ModelFacts(
        "claude-opus-5",
        "Claude Opus 5",
        system_turns=True,
        cache_floor=512,
        tool_prompt_tokens=(286, 406),
    ),
    ModelFacts("claude-opus-4-8", "Claude Opus 4.8", system_turns=True),
    ModelFacts("claude-opus-4-7", "Claude Opus 4.7", cache_floor=2048, tool_prompt_tokens=(675, 804)),
    ModelFacts(
        "claude-mythos-preview",
        "Claude Mythos Preview",
        False,
        cache_floor=2048,
        deprecated=True,
        uncertain=_TOOL_PROMPT,
    ),
    ModelFacts(
        "claude-opus-4-6",
        "Claude Opus 4.6",
        thinking=_BOTH,
        cache_floor=4096,
        tool_prompt_tokens=(497, 589),
    ),
    ModelFacts("claude-sonnet-4-6", "Claude Sonnet 4.6", thinking=_BOTH, tool_prompt_tokens=(497, 589)),
    *(
        ModelFacts(
            id,
            name,
            thinking=_MANUAL,
            prefill=True,
            cache_floor=floor,
            tool_prompt_tokens=(496, 588),
            deprecated=deprecated,
        )
        for id, name, floor, deprecated in (
            ("claude-haiku-4-5", "Claude Haiku 4.5", 4096, False),
            ("claude-haiku-4-5-20251001", "Claude Haiku 4.5", 4096, False),
            ("claude-opus-4-5", "Claude Opus 4.5", 4096, True),
            ("claude-opus-4-5-20251101", "Claude Opus 4.5", 4096, True),
            ("claude-sonnet-4-5", "Claude Sonnet 4.5", 1024, True),
            ("claude-sonnet-4-5-20250929", "Claude Sonnet 4.5", 1024, True),
        )
    ),
)

MODELS: dict[str, ModelFacts] = {model.id: model for model in _ALL}


def facts(model: object) -> ModelFacts | None:
    """The facts of a model id, or None when the course does not know it (the API answers such a request 404)."""
    return MODELS.get(model) if isinstance(model, str) else None

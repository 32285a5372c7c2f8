"""Trying rules on a request, in their order, and only where they can find something.

A loop sends the same tools in every turn and a mock is asked thousands of times, so what cannot be broken is not tried:
rules that read a field of the wrong shape, rules about blocks that the conversation does not hold, rules about tools
that have already been found legal. None of this changes what is found. What the rules are is in `protocol.py`.
"""

import difflib
import marshal
from collections.abc import Iterator, Mapping
from functools import lru_cache

from .fields import VERSIONS, shape_of
from .rules import Request, Rule, Violation
from .tooling import STRICT_RULES, strict_refusals_of

__all__ = ["RuleBook"]


class RuleBook:
    """Rules by id and in the order in which the API tries them; those about the shape of fields come first."""

    def __init__(self, shape: tuple[Rule, ...], in_order: tuple[Rule, ...]):
        self.rules: dict[str, Rule] = {rule.id: rule for rule in (*shape, *in_order)}
        self._in_order = in_order
        self._on = lru_cache(maxsize=256)(self._switched_on)
        self._to_try = lru_cache(maxsize=1024)(self._worth_trying)
        self._legal_tools = lru_cache(maxsize=1024)(self._tools_are_legal)

    def violations(self, request: Request) -> Iterator[Violation]:
        """What the request breaks of the rules that are on, one after the other."""
        if not isinstance(request.body, Mapping):
            yield Violation("field-type", 400, "invalid_request_error", "", "Input should be an object")
            return
        broken: set[str] = set()  # top-level fields that are not of their shape: rules that read them are left out
        for id, found in shape_of(request):
            if id in request.on:
                yield self.rules[id].broken_by(found)
            if not id.endswith("unknown-field"):
                broken.add(found.path.partition(".")[0])
        settled = not broken and self._tools_settled(request)
        plain = not broken and not strict_refusals_of(request)
        types = None if "messages" in broken else frozenset(request.blocks_by_type)
        for one in self._to_try(request.on, settled, plain, types):
            if not broken or (one.needs is not None and broken.isdisjoint(one.needs)):
                for found in one.find(request):
                    yield one.broken_by(found)

    def switched_on(self, strictness: str | Mapping[str, bool]) -> frozenset[str]:
        """The ids of the rules that are on: `"default"`, `"schema"`, `"all"`, or default with changes by id."""
        return self._on(strictness if isinstance(strictness, str) else tuple(sorted(strictness.items())))

    def _switched_on(self, settings: str | tuple[tuple[str, bool], ...]) -> frozenset[str]:
        if settings == "schema":
            return frozenset(rule.id for rule in self.rules.values() if rule.shape)
        if settings == "all":
            return frozenset(self.rules)
        on = {rule.id for rule in self.rules.values() if rule.default}
        if isinstance(settings, str) and settings != "default":
            raise ValueError(f"strictness {settings!r} is not known: say 'default', 'schema', 'all', or rules by id.")
        for id, wanted in settings if isinstance(settings, tuple) else ():
            if id not in self.rules:
                near = difflib.get_close_matches(id, self.rules, 1)
                raise ValueError(f"There is no rule {id!r}" + (f"; did you mean {near[0]!r}?" if near else "."))
            on = on | {id} if wanted else on - {id}
        return frozenset(on)

    def _worth_trying(
        self, on: frozenset[str], tools_settled: bool, nothing_strict: bool, types: frozenset[str] | None
    ) -> tuple[Rule, ...]:
        """The rules left to try, in order; `types` are those of the content blocks, as far as they can be read."""
        return tuple(
            rule
            for rule in self._in_order
            if rule.id in on
            and not (tools_settled and rule.needs == ("tools",))
            and not (nothing_strict and rule.needs is None and rule in STRICT_RULES)
            and not (types is not None and rule.blocks and types.isdisjoint(rule.blocks))
        )

    def _tools_settled(self, request: Request) -> bool:
        try:
            # `marshal` gives the quickest bytes there are for them, and they never leave this process.
            return self._legal_tools(marshal.dumps(request.tools, 2), request.on)
        except ValueError:  # nested too deeply to be remembered
            return False

    def _tools_are_legal(self, tools: bytes, on: frozenset[str]) -> bool:
        """Do these definitions break no rule that looks at nothing else?"""
        request = Request({"tools": marshal.loads(tools)}, VERSIONS[-1], frozenset(), on=on)
        of_tools = (one for one in self._in_order if one.id in on and one.needs == ("tools",))
        return not any(found for one in of_tools for found in one.find(request))

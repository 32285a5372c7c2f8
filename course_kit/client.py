"""The client a lesson gets: a real SDK client, backed by the mock, a recording or the live API.

`connect()` gives the mock unless the learner has switched live on: `COURSE_LIVE=1` and `ANTHROPIC_API_KEY`, both. A key
alone never spends. Live requests are counted, and none is sent that could pass the notebook's cap. How the mock answers
is decided in `mock/`, what a recording holds in `recording.py`. No key is ever printed or written.
"""

import json
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_kit.contract.models import facts
from course_kit.errors import LiveNotAllowed
from course_kit.recording import Recorder, replaying_client, watch

if TYPE_CHECKING:
    import anthropic

__all__ = ["DEFAULT_CAP_TOKENS", "announce", "connect", "live", "tokens_used"]

DEFAULT_CAP_TOKENS = 20_000


def connect(
    model: Any = None,
    *,
    mock: Any = None,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    cap_tokens: int | None = None,
) -> "anthropic.Anthropic":
    """An SDK client for this notebook.

    `model` says who answers offline (a mock model, a list of replies or a function). `mock` is your own `MockProvider`:
    its client is never live. `record` writes every exchange to a file, `replay` answers from such a file without a
    network. `cap_tokens` lowers the cap that live requests may use (20,000, or `COURSE_LIVE_CAP`).
    """
    if model is not None and mock is not None:
        raise TypeError("give connect() either model= or mock=, not both: a MockProvider has its model already")
    if record is not None and replay is not None:
        raise TypeError("give connect() either record= or replay=, not both: a replayed run is on file already")
    if replay is not None:
        if mock is not None:
            raise TypeError("give connect() either mock= or replay=, not both: a recording needs no mock")
        client = replaying_client(Path(replay))
    elif mock is not None:
        client = mock.client()
    elif _switched_on():
        client = _live_client(_cap(cap_tokens))
    else:
        from course_kit.mock.provider import MockProvider

        client = (MockProvider() if model is None else MockProvider(model=model)).client()
    return client if record is None else client.with_middleware(Recorder(Path(record)))


# ---- live ----


def live() -> bool:
    """Whether `connect()` would reach the live API: switched on by the learner, and a key is there."""
    return _switched_on() and bool(_key())


def tokens_used() -> int:
    """The tokens that live requests of this notebook have used so far, input and output together."""
    return _METER.used


def announce(tokens: int) -> None:
    """Print what the cell that follows may use; said before every live experiment."""
    if live():
        print(f"Live: this cell may use up to {tokens:,} tokens. Used so far: {_METER.used:,} of {_cap(None):,}.")
    elif _switched_on():
        print("Live is switched on (COURSE_LIVE), but ANTHROPIC_API_KEY is missing: set both or neither.")
    else:
        print("Live is off: this cell runs against the mock and costs nothing.")


def _switched_on() -> bool:
    return os.environ.get("COURSE_LIVE", "").strip().lower() in ("1", "true", "yes", "on")


def _key() -> str:
    return os.environ.get("ANTHROPIC_API_KEY", "").strip()


def _cap(wished: int | None) -> int:
    """The smaller of what the lesson asks for and what the learner allows."""
    text = os.environ.get("COURSE_LIVE_CAP", "").strip().replace("_", "")
    if text and not (text.isascii() and text.isdigit()):
        raise LiveNotAllowed("COURSE_LIVE_CAP must be a whole number of tokens, such as 20000: set it again.")
    allowed = int(text) if text else None
    limits = [limit for limit in (wished, allowed) if limit is not None]
    return min(limits) if limits else DEFAULT_CAP_TOKENS


def _live_client(cap: int) -> "anthropic.Anthropic":
    key = _key()
    if not key:
        raise LiveNotAllowed(
            "COURSE_LIVE is on, but there is no key: set ANTHROPIC_API_KEY, or unset COURSE_LIVE to use the mock."
        )
    if not re.fullmatch(r"[!-~]+", key):  # it would come back in an error about an illegal header
        raise LiveNotAllowed("ANTHROPIC_API_KEY holds a space, a line break or an odd character: copy the key again.")
    import anthropic

    # not compressed, so that a stream can be counted while it passes
    return anthropic.Anthropic(
        api_key=key,
        http_client=_http_client(),
        default_headers={"accept-encoding": "identity"},
        middleware=[_metered(cap)],
    )


def _http_client() -> Any:
    import anthropic

    return anthropic.DefaultHttpxClient()


class _Meter:
    """Counts the tokens of one process, which is one notebook."""

    def __init__(self) -> None:
        self.used = 0
        self._held = 0  # for requests under way
        self._lock = threading.Lock()

    def hold(self, need: int, cap: int) -> None:
        with self._lock:
            left = cap - self.used - self._held
            more = "set COURSE_LIVE_CAP to a larger number, or restart the kernel to count from zero"
            if left <= 0:
                raise LiveNotAllowed(
                    f"The live cap of {cap} tokens is used up ({self.used} counted in this notebook): {more}."
                )
            if need > left:
                raise LiveNotAllowed(
                    f"This request may use up to {need} tokens, but only {left} of the live cap of {cap} are left: "
                    f"lower max_tokens, {more}."
                )
            self._held += need

    def settle(self, need: int, used: int) -> None:
        with self._lock:
            self._held -= need
            self.used += used


_METER = _Meter()


def _metered(cap: int) -> Callable[[Any, Any], Any]:
    """Middleware of the SDK client: runs once for each attempt, so retries are counted too."""

    def meter(request: Any, call_next: Any) -> Any:
        import anthropic

        path = request.url.partition("?")[0]
        if request.method.lower() == "get" or path == "/v1/messages/count_tokens":
            return call_next(request)  # free of charge
        if path != "/v1/messages":
            raise LiveNotAllowed(f"The course cannot count what {path} uses: send it from your own client.")
        need = _at_most(request.json)
        _METER.hold(need, cap)
        try:
            response = call_next(request)
        except BaseException as error:
            # after a time-out nobody knows what was used: it counts as all of it
            _METER.settle(need, need if isinstance(error, anthropic.APITimeoutError) else 0)
            raise

        def count(body: bytes, ending: str) -> None:
            used = _tokens_in(body) if response.status_code == 200 else 0
            _METER.settle(need, need if used is None else used)

        watch(response.http_response, count)
        return response

    return meter


def _at_most(body: Any) -> int:
    """What a request can use: more tokens than its text has, those of the tool prompt, and the longest reply."""
    known = facts(body.get("model"))
    tool_prompt = max(known.tool_prompt_tokens) if known and body.get("tools") else 0
    text = json.dumps(body, ensure_ascii=False, default=str)
    foreign = sum(not letter.isascii() for letter in text)  # English needs less than a token for three letters
    return len(text) // 3 + foreign + tool_prompt + int(body.get("max_tokens") or 0)


def _tokens_in(body: bytes) -> int | None:
    """All tokens that a reply reports, JSON or event stream; None when it reports none."""
    text = body.decode("utf-8", "replace")
    lines = [text] if text.lstrip().startswith("{") else [line[5:] for line in text.split("\n") if line[:5] == "data:"]
    usage: dict[str, int] = {}
    written, finished = 0, False
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        reported = (event.get("message") or event).get("usage") or {}
        usage.update({name: value for name, value in reported.items() if isinstance(value, int)})
        finished = finished or event.get("type") in ("message", "message_delta")
        written += sum(len(value) for value in (event.get("delta") or {}).values() if isinstance(value, str))
    if not usage:
        return None
    if not finished:  # left before the end: the final count never came
        usage["output_tokens"] = max(usage.get("output_tokens", 0), written // 3 + 1)
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(usage.get(name, 0) for name in names)

"""Keys that were handed in by mistake: what kind and where, never the key itself.

What a secret looks like is defined in `harness/masking.py`; here only keys of a known service count. The library for
this, detect-secrets, knows no Anthropic key, has had no release since 2024 and brings an HTTP client.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from course_kit.classroom.marking.submissions import Submission, one_line
from course_kit.harness.masking import KINDS, SECRET

__all__ = ["FoundKey", "find_keys", "without_keys"]

SERVICES = {
    "sk-ant-": "an Anthropic key",
    "sk-": "an OpenAI key",
    "sk_live_": "a Stripe key",
    "AKIA": "an AWS key",
    "ASIA": "a temporary AWS key",
    "github_pat_": "a GitHub token",
    **{f"gh{letter}_": "a GitHub token" for letter in "pousr"},
    "glpat-": "a GitLab token",
    "AIza": "a Google key",
    **{f"xox{letter}-": "a Slack token" for letter in "abeprs"},
    "-----BEGIN": "a private key",
}
[FORM] = [form for kind, form, _ in KINDS if kind == SECRET]
LARGEST = 5 << 20  # bytes of a file that is looked through


@dataclass(frozen=True)
class FoundKey:
    """One key in a submission: `masked` shows its kind's own beginning and its length."""

    learner: str
    file: str
    place: str
    kind: str
    masked: str


def find_keys(submission: Submission, known: str = "") -> list[FoundKey]:
    """Every key in the files of a submission, each once; what is in `known`, the course's own text, does not count."""
    found: dict[tuple[str, str], FoundKey] = {}
    for path in submission.files:
        if path.stat().st_size > LARGEST:
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        folder = submission.folder or path.parent
        name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
        for place, part in _places(path, text):
            for match in FORM.finditer(part):
                key = match[0]
                prefix = next((one for one in SERVICES if key.startswith(one)), None)
                if prefix and key not in known:
                    masked = f"{prefix}… ({len(key)} characters)"
                    one = FoundKey(submission.learner, one_line(name), place, SERVICES[prefix], masked)
                    found.setdefault((name, key), one)
    return list(found.values())


def without_keys(text: str) -> str:
    """A sentence with every secret in it replaced, before it is shown or kept."""
    return FORM.sub("[secret]", text)


def _places(path: Path, text: str) -> list[tuple[str, str]]:
    """Parts of a file with a name for each: cells of a notebook, lines of anything else."""
    if path.suffix.lower() == ".ipynb":
        try:
            cells = json.loads(text)["cells"]
            return [(f"cell {number}", _strings(cell)) for number, cell in enumerate(cells, 1)]
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
    if "-----BEGIN" in text:
        return [("the file", text)]
    return [(f"line {number}", line) for number, line in enumerate(text.splitlines(), 1)]


def _strings(value: object) -> str:
    """All texts of a cell, its lists of lines put together."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_strings, value))
    return "\n".join(map(_strings, value.values())) if isinstance(value, dict) else ""

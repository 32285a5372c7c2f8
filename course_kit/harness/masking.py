"""Personal data and secrets, masked in a result before the model or the log can see them.

A model decides as well with `[email 1]` as with the address, and cannot repeat to the wrong person what it never read.
The same value gets the same mark for as long as one `Masker` lives, so two mails of one person still look alike, and
`restore` puts personal data back where a call names a mark. Secrets are never put back.

Found by form: mail addresses, card and account numbers with the right check digits, telephone numbers written with
their separators, keys and tokens of well-known services; and by the name of a field. Names and addresses of people have
no form: leave such fields out where they do not matter.
"""

import functools
import math
import re
from collections.abc import Callable
from typing import Any

from .plain import plain

__all__ = ["KINDS", "Masker", "mask"]

SECRET = "secret"
SECRET_NAME = re.compile(
    r"(?:^|_|-|\b)(?:password|passwd|pwd|secret|api[_-]?key|apikey|(?:access|refresh|auth|bearer|session)[_-]?token|token"
    r"|authorization|cookie|set[_-]cookie|private[_-]?key|client[_-]secret|cvv|cvc|pin)$",
    re.IGNORECASE,
)


def _digits(text: str) -> list[int]:
    return [int(character) for character in text if character.isdigit()]


def is_card(text: str) -> bool:
    """Whether 13 to 19 digits end in the right check digit (Luhn's), as card numbers do."""
    digits = _digits(text)
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_iban(text: str) -> bool:
    """Whether an account number leaves the remainder 1 that ISO 13616 asks for."""
    plain_text = re.sub(r"\s", "", text).upper()
    moved = plain_text[4:] + plain_text[:4]
    return 15 <= len(plain_text) <= 34 and int("".join(str(int(one, 36)) for one in moved)) % 97 == 1


def is_phone(text: str) -> bool:
    """Whether it has as many digits as a telephone number, and is not a date."""
    return 8 <= len(_digits(text)) <= 15 and not re.fullmatch(r"\d{2,4}[-./ ]\d{2}[-./ ]\d{2,4}", text.strip())


def _always(text: str) -> bool:
    return True


# Secrets first: a token may hold what looks like something else. (kind, pattern, further check)
KINDS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    (
        SECRET,
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
            r"|\bsk-[A-Za-z0-9_-]{16,}|\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}"
            r"|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
            r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}"
            r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
            r"|(?<=\bBearer )[A-Za-z0-9._~+/=-]{12,}|(?<=\bBasic )[A-Za-z0-9+/=]{12,}"
            r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
            r"|(?<=\bpassword=)[^\s&\"';,]+|(?<=\btoken=)[^\s&\"';,]+|(?<=\bapi_key=)[^\s&\"';,]+"
        ),
        _always,
    ),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+(?![\w-])"), _always),
    ("iban", re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{2,4}){3,8}(?!\w)"), is_iban),
    ("card", re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])"), is_card),
    (
        "phone",
        re.compile(
            r"(?<![\w.,:/-])(?<!\d )(?:(?:\+|00)\d[\d ()/.-]{6,18}\d|\(?0\d{1,5}\)?[ /-]\d[\d -]{4,12}\d)(?![\w-])"
        ),
        is_phone,
    ),
)


class Masker:
    """Masks values and remembers which mark is which, for one conversation."""

    def __init__(self) -> None:
        self.marks: dict[str, str] = {}  # what was found → its mark
        self.counts: dict[str, int] = {}  # kind → how many different ones

    def mask(self, value: Any) -> Any:
        """`value` as plain data with marks: `"Write to ada@example.org"` → `"Write to [email 1]"`."""
        return self._walk(plain(value, math.inf), "")

    def restore(self, value: Any) -> Any:
        """Plain data with the personal data back in its place: for the input of a call, before it runs."""
        originals = {mark: found for found, mark in self.marks.items() if not mark.startswith(f"[{SECRET}")}
        if isinstance(value, str):
            return re.sub(r"\[\w+ \d+\]", lambda mark: originals.get(mark[0], mark[0]), value)
        if isinstance(value, dict):
            return {self.restore(key): self.restore(part) for key, part in value.items()}
        return [self.restore(part) for part in value] if isinstance(value, list) else value

    def _walk(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {self._text(key): self._walk(part, key) for key, part in value.items()}
        if SECRET_NAME.search(name) and isinstance(value, str | int | float) and not isinstance(value, bool):
            return self._mark(SECRET, str(value)) if value != "" else value
        if isinstance(value, list):
            return [self._walk(part, name) for part in value]
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int) and is_card(str(value)):
            return self._mark("card", str(value))
        return value

    def _text(self, text: str) -> str:
        for kind, looks, holds in KINDS:
            text = looks.sub(functools.partial(self._found, kind, holds), text)
        return text

    def _found(self, kind: str, holds: Callable[[str], bool], found: re.Match[str]) -> str:
        return self._mark(kind, found[0]) if holds(found[0]) else found[0]

    def _mark(self, kind: str, text: str) -> str:
        if text not in self.marks:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.marks[text] = f"[{kind} {self.counts[kind]}]"
        return self.marks[text]


def mask(value: Any) -> Any:
    """One value with its personal data and secrets masked: `{"token": "x"}` → `{"token": "[secret 1]"}`."""
    return Masker().mask(value)

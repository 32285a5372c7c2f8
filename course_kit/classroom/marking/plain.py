"""Plain data on its way out of a submission's process: as JSON, with what JSON alone would lose.

An answer such as `{"a": ("messages.1", "two results")}` crosses as data and is observed on our side, out of reach of
the submission's code. What is not plain data (a function, an object with methods) does not cross.
"""

import math
from typing import Any

__all__ = ["NotPlain", "decoded", "encoded"]


class NotPlain(ValueError):
    """The value holds something that is not plain data."""


def encoded(value: Any) -> Any:
    """`(1, {"a"})` → `{"tuple": [1, {"set": ["a"]}]}`."""
    try:
        return _encoded(value)
    except RecursionError:
        raise NotPlain("nested too deeply") from None


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if value is ...:
        return {"ellipsis": True}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        return [_encoded(one) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_encoded(one) for one in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((_encoded(one) for one in value), key=repr)}
    if isinstance(value, dict):
        return {"dict": [[_encoded(key), _encoded(one)] for key, one in value.items()]}
    if callable(getattr(value, "to_dict", None)) and not isinstance(value, type):
        return _encoded(value.to_dict())  # the kit's own records, such as a `Case`
    raise NotPlain(type(value).__name__)


def decoded(value: Any) -> Any:
    """The value that `encoded` was given; `NotPlain` when this is nothing that `encoded` writes."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [decoded(one) for one in value]
        case {"ellipsis": True, **rest} if not rest:
            return ...
        case {"float": "nan" | "inf" | "-inf" as text, **rest} if not rest:
            return float(text)
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decoded(one) for one in items)
        case {"set": list(items), **rest} if not rest:
            return {decoded(one) for one in _hashable(items)}
        case {"dict": list(pairs), **rest} if not rest and all(isinstance(p, list) and len(p) == 2 for p in pairs):
            keys = _hashable([key for key, _ in pairs])
            return {decoded(key): decoded(one) for key, (_, one) in zip(keys, pairs, strict=True)}
    raise NotPlain("not what was agreed")


def _hashable(items: list[Any]) -> list[Any]:
    for one in items:
        if isinstance(one, list) or (isinstance(one, dict) and not {"tuple", "float", "ellipsis"} & set(one)):
            raise NotPlain("not what was agreed")
    return items

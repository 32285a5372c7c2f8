"""The lesson's own catalogue: some 430 tools of thirteen services, and 200 requests with the tools that are right.

Both are data, in `course_kit/data/`, written for lessons 06 and 07. Each tool has two descriptions: the one that its
engineers wrote for each other, and one in the words of those who ask. The models that the API lists are another
catalogue, in `mock/catalogue.py`.
"""

import copy
import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

__all__ = ["GROUPS", "Request", "catalogue", "catalogue_requests", "services"]

GROUPS = ("monitoring", "deployment", "tickets", "finance")  # of the operations assistant, fifteen tools each


class Request(NamedTuple):
    """What a user says, and the tools of which any is right; none where it is no task for a tool.

    `group` is `"named"` (a word of the right tool's name is in it), `"indirect"` (none is), `"chinese"` or `"none"`.
    """

    id: str
    query: str
    gold: tuple[str, ...]
    group: str


def catalogue(
    descriptions: Literal["better", "terse"] = "better", *, service: str | None = None, group: str | None = None
) -> list[dict[str, Any]]:
    """The definitions, a fresh copy: all, those of one service (`services()`), or of one group (`GROUPS`).

    `group="operations"` gives the sixty tools of all four groups.
    """
    if descriptions not in ("better", "terse"):
        raise ValueError(f'descriptions is "better" or "terse", not {descriptions!r}.')
    if service is not None and service not in services():
        raise ValueError(f"There is no service {service!r}: take one of {', '.join(services())}.")
    if group is not None and group not in (*GROUPS, "operations"):
        raise ValueError(f"There is no group {group!r}: take operations or one of {', '.join(GROUPS)}.")
    groups = GROUPS if group == "operations" else (group,)
    key = "description" if descriptions == "better" else "terse_description"
    return [
        {"name": tool["name"], "description": tool[key], "input_schema": copy.deepcopy(tool["input_schema"])}
        for tool in _read("catalogue.json")["tools"]
        if service in (None, tool["service"]) and (group is None or tool.get("group") in groups)
    ]


def catalogue_requests(group: str | None = None) -> list[Request]:
    """The requests, all or of one group: `Request("R001", "Could you pull up …", ("search_orders",), "named")`."""
    known = ("named", "indirect", "chinese", "none")
    if group not in (None, *known):
        raise ValueError(f"There is no group {group!r} of requests: take one of {', '.join(known)}.")
    found = [
        Request(one["id"], one["query"], tuple(one["gold"]), one["group"]) for one in _read("catalogue_requests.json")
    ]
    return [one for one in found if group in (None, one.group)]


def services() -> dict[str, str]:
    """The services with their titles: `{"desk": "The shop's service desk", "code": "Code hosting", …}`."""
    return {one["service"]: one["title"] for one in _read("catalogue.json")["services"]}


@lru_cache(maxsize=2)
def _read(name: str) -> Any:
    return json.loads(files("course_kit").joinpath("data", name).read_text(encoding="utf-8"))

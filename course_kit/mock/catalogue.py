"""What `GET /v1/models` answers: the models of `contract/models.py`, one or a page of them."""

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from course_kit.contract import models

__all__ = ["catalogue"]


def catalogue(address: str) -> tuple[int, dict[str, Any] | str]:
    """The status and the body, or the words of an error: `/v1/models?limit=5`, `/v1/models/claude-opus-5`."""
    parts = urlsplit(address)
    name = unquote(parts.path).rstrip("/").removeprefix("/v1/models").strip("/")
    if name:
        facts = models.facts(name)
        return (200, _model_info(facts)) if facts else (404, f"model: {name}")
    query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    limit = query.get("limit", "20")
    if not (len(limit) <= 4 and limit.isdecimal() and 1 <= int(limit) <= 1000):
        return 400, "limit: Input should be a whole number from 1 to 1000"
    ids = list(models.MODELS)
    for key in ("after_id", "before_id"):
        if key in query and query[key] not in ids:
            return 400, f"{key}: no model has this id"
    if "before_id" in query:
        stop = ids.index(query["before_id"])
        start = max(0, stop - int(limit))
        more = start > 0
    else:
        start = ids.index(query["after_id"]) + 1 if "after_id" in query else 0
        stop = start + int(limit)
        more = stop < len(ids)
    page = ids[start:stop]
    return 200, {
        "data": [_model_info(models.MODELS[id]) for id in page],
        "has_more": more,
        "first_id": page[0] if page else None,
        "last_id": page[-1] if page else None,
    }


def _model_info(facts: models.ModelFacts) -> dict[str, Any]:
    return {
        "type": "model",
        "id": facts.id,
        "display_name": facts.name,
        "created_at": "1970-01-01T00:00:00Z",  # the API's own way to say that it is not known
        "lifecycle": "deprecated" if facts.deprecated else "active",
    }

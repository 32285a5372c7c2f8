"""The mock's transport for the `openai` SDK: the same as under `anthropic`, with that SDK's class of exceptions.

Separate from `openai.py`, because it needs the HTTP library as soon as it is loaded.
"""

from typing import Any

import httpx2

from course_kit.errors import CourseKitError

from .transport import Transport

__all__ = ["OpenAITransport"]


class OpenAITransport(Transport):
    """Carries requests of an `openai` client to the application, and its answers back."""

    def _respond(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        import openai

        try:
            return super()._respond(request, body)
        except CourseKitError as error:
            # The SDK lets only its own exceptions through; it takes others for a broken connection and retries.
            original = error.__cause__ or error
            kind = type(original)
            through: Any = type(kind.__name__, (kind, openai.OpenAIError), {"__module__": kind.__module__})
            copy = through.__new__(through)
            copy.args = original.args
            copy.__dict__.update(original.__dict__)
            raise copy from original

"""The kit's exceptions.

    CourseKitError
    ├── ToolError          raised by a tool: becomes an `is_error` result that the model reads
    ├── ScriptExhausted    a scripted model was asked for one reply more than it has
    ├── RecordingMismatch  a replayed run asked something the recording does not hold
    ├── LiveNotAllowed     the live API was asked for and is switched off, unpaid or over its cap
    ├── SetupError         this machine lacks something; the message says what to do
    ├── NotAttempted       an exercise still holds its stub
    └── Incorrect          an exercise's answer is not right yet; the message says why

Others stand beside what raises them. Every message ends with what to do next. Nothing here imports anything.
"""

__all__ = [
    "CourseKitError",
    "Incorrect",
    "LiveNotAllowed",
    "NotAttempted",
    "RecordingMismatch",
    "ScriptExhausted",
    "SetupError",
    "ToolError",
]


class CourseKitError(Exception):
    """The root of every exception the kit raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook: the one sentence, without a stack trace."""
        return [f"{type(self).__name__}: {self}"]


class ToolError(CourseKitError):
    """A failure that a tool reports to the model: `raise ToolError("NOT_FOUND", "No order 7.", hint="List them.")`.

    `code` is a short constant, `message` says what is wrong, `hint` what to try instead. `retryable` says whether the
    same call may succeed when it is made again.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False, hint: str | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.hint = hint


class ScriptExhausted(CourseKitError):
    """A scripted model was asked for one reply more than its script holds."""


class RecordingMismatch(CourseKitError):
    """A replayed run sent a request that its recording does not hold."""


class LiveNotAllowed(CourseKitError):
    """The live API was asked for while it is switched off, has no key, or its cap is spent."""


class SetupError(CourseKitError):
    """This machine lacks something the course needs; the message says what to do."""


class NotAttempted(CourseKitError):
    """An exercise still holds its stub."""


class Incorrect(CourseKitError):
    """An exercise's answer is not right yet; the message says what was expected and what came."""

"""The exceptions of the project, as one tree.

The branch determines the audience:

    StudioError                  the user reads ``str(error)``: what happened and what to do
    ├── SettingError             a setting has a wrong value; the message names its key
    ├── UsageError               a wrong argument of the Python API, or a call at the wrong time
    ├── DataFolderLocked         another instance holds the data folder
    ├── DataFolderUnusable       the data folder can't be created or written
    ├── AddressUnusable          the page can't be served at its address, such as a port in use
    ├── EngineError              no usable container engine, or it refused a request
    │   ├── ImageError           the sandbox image is missing or could not be built
    │   └── NoNodeLeft           a cluster has no node that could carry out a run
    ├── SandboxError             the sandbox failed and could not be recovered
    ├── CommandError             a sandbox cannot do this; also an ``OSError`` with an errno
    ├── WorkspaceError           a path or file of the workspace cannot be used as requested
    │   ├── EditConflict         the file changed since the request was made
    │   ├── StorageFull          the disk is full, or the run's quota is used up
    │   ├── NotStored            an upload or a removal that is no longer stored
    │   └── NoSuchFile           a run has no file with this name; also a ``KeyError``
    ├── JournalError             a journal cannot be read
    │   └── RecordNotAFile       a record is a folder, a FIFO or a device; also an ``OSError``
    ├── TaskError                a file of tasks or answers is wrong; names file, line and key
    ├── TraceError               a trace of another tool is wrong; names file, line and field
    ├── TrainError               a recipe is wrong, or training cannot continue
    ├── RunError                 a run cannot be started, continued or found
    │   ├── QuotaExceeded        a user has reached a quota
    │   │   └── QueueFull        too many runs are waiting
    │   ├── RunActive            the operation is not possible while the run is active
    │   ├── SteeringRefused      the run is not working, or does not wait for this
    │   └── RunPinned            a pinned run cannot be deleted
    └── ModelError               the model cannot answer; ``loop`` decides what follows
        ├── ModelRefused         permanent: a wrong key, address or model
        ├── ModelUnavailable     temporary: busy, unreachable, disconnected, silent
        ├── ContextTooLong       the conversation exceeds the model's context
        └── MaxTokensTooHigh     the answer's token budget exceeds what the endpoint grants

    ToolError                    the model reads ``str(error)`` as the result of its call

Any other exception is a bug and propagates as a traceback.
"""


class StudioError(Exception):
    """A failure whose text tells the user what happened and what to do about it."""


class SettingError(StudioError):
    """A setting has a wrong value. The text begins with the setting's key."""


class NotConfirmed(StudioError):
    """Something was not started, because who asked for it did not confirm it."""


class UsageError(StudioError):
    """The Python API was called with a wrong argument or at the wrong time."""


class DataFolderLocked(StudioError):
    """Another process holds the lock on the data folder."""


class DataFolderUnusable(StudioError):
    """The data folder cannot be created, or this user may not write to it."""


class AddressUnusable(StudioError):
    """The page cannot be served at its address, for example if the port is in use."""


class EngineError(StudioError):
    """No container engine can be reached or used, or it refused a request."""


class ImageError(EngineError):
    """The sandbox image is missing or its build failed."""


class NoNodeLeft(EngineError):
    """A cluster has had no node for some time; what follows would fail as well."""


class SandboxError(StudioError):
    """The sandbox failed and could not be recovered."""


class EngineUnanswered(SandboxError):
    """The container engine did not answer a request."""


class CommandError(StudioError, OSError):
    """A file, folder or user of a sandbox cannot be used as requested.

    It is raised as a subclass that is also Python's own for its number, such as
    ``FileNotFoundError``.

    Attributes:
        errno: The system's error number.
        strerror: What failed and why.
        filename: The path; None if the error is not about one.
    """

    def __str__(self) -> str:
        return str(self.strerror)


class WorkspaceError(StudioError):
    """A path leaves the workspace, or its file cannot be used as requested."""


class EditConflict(WorkspaceError):
    """A file changed between the user reading it and saving their edit."""


class StorageFull(WorkspaceError):
    """The disk is full, or the run's quota is used up."""


class NotStored(WorkspaceError):
    """An upload to resume, or a change to undo, is no longer stored."""


class NoSuchFile(WorkspaceError, KeyError):
    """A run has no file with this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class JournalError(StudioError):
    """A journal cannot be read, or not from the given cursor."""


class RecordNotAFile(JournalError, OSError):
    """A file of a run's record is not a regular file."""

    def __str__(self) -> str:
        return str(self.strerror)


class TaskError(StudioError):
    """Tasks or answers are invalid. The text names the file, the line and the key."""


class TraceError(StudioError):
    """A trace of another tool cannot be read. The text names the file, the line and the field."""


class TrainError(StudioError):
    """A recipe is invalid (names file, line and key), or training cannot continue."""


class RunError(StudioError):
    """A run cannot be started, continued or found."""


class QuotaExceeded(RunError):
    """A user has reached a quota."""


class QueueFull(QuotaExceeded):
    """Too many runs are waiting, the user's or everybody's."""


class RunActive(RunError):
    """The requested operation is not possible while the run is active."""


class SteeringRefused(RunError):
    """A run cannot be steered so now: it is not working, or does not wait for this."""


class RunPinned(RunError):
    """A pinned run cannot be deleted."""


class ModelError(StudioError):
    """The model did not answer."""


class ModelRefused(ModelError):
    """The endpoint refused permanently (401, 403, 404, …); retrying does not help."""


class ModelUnavailable(ModelError):
    """The endpoint is busy, unreachable, silent or disconnected; retrying may help.

    ``retry_after`` is how many seconds the endpoint asked to wait, if it did.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextTooLong(ModelError):
    """The conversation (with the answer's budget) exceeds the model's context."""

    def __init__(self, message: str, limit: int | None = None, used: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.used = used


class MaxTokensTooHigh(ModelError):
    """The answer's budget (``max_tokens``) exceeds what the endpoint grants."""

    def __init__(self, message: str, affordable: int | None = None) -> None:
        super().__init__(message)
        self.affordable = affordable


class PicturesRefused(ModelError):
    """The request has more pictures than the endpoint takes, or larger ones."""

    def __init__(self, message: str, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class ToolError(Exception):
    """A tool call failed; the text is the call's result and addresses the model."""

    def __init__(self, message: str, errno: int = 0) -> None:
        super().__init__(message)
        self.errno = errno

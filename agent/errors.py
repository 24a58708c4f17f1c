"""Everything that can go wrong here, as one tree.

The audience is in the branch:

    StudioError                  a person reads ``str(error)``: what happened and what to do
    ├── SettingError             a setting has a wrong value; the message names its key
    ├── DataFolderBusy           another instance holds the data folder
    ├── EngineError              no container engine that can be used, or it refused
    │   └── ImageError           the sandbox image is missing or could not be built
    ├── SandboxError             the sandbox failed and could not be brought back
    ├── WorkspaceError           a path or a file of the workspace cannot be used so
    │   ├── ChangedMeanwhile     it is not any more what the request was made for
    │   ├── NoRoom               the disk, or what a run may use of it, is full
    │   └── NotKept              an upload or a removal that is not kept any more
    ├── JournalError             a journal cannot be read
    ├── TaskError                a file of tasks or answers is wrong; file, line and key are named
    ├── TrainError               a recipe is wrong, or a training cannot go on
    ├── RunError                 a run cannot be started, continued or found
    │   ├── OverLimit            a person has as much as one may have
    │   ├── RunAtWork            it is at work, which it must not be for this
    │   └── RunPinned            a person keeps it, and it is to be removed
    └── ModelError               the model cannot answer; ``loop`` decides what follows
        ├── ModelRefused         it will not pass by waiting: a wrong key, address or model
        ├── ModelUnavailable     it may pass: busy, unreachable, broken off, silent
        ├── ContextTooLong       the conversation does not fit the model
        └── AnswerTooLong        the answer's token budget is more than the endpoint grants

    ToolError                    the model reads ``str(error)`` as the result of its call

Anything else is a defect of ours and travels as a traceback.
"""


class StudioError(Exception):
    """A failure whose text tells a person what happened and what to do about it."""


class SettingError(StudioError):
    """A setting has a wrong value. The text begins with the setting's key."""


class DataFolderBusy(StudioError):
    """Another process holds the lock on the data folder."""


class EngineError(StudioError):
    """No container engine can be reached or used, or it refused a request."""


class ImageError(EngineError):
    """The sandbox image is missing or its build failed."""


class SandboxError(StudioError):
    """The sandbox failed and could not be brought back."""


class WorkspaceError(StudioError):
    """A path leaves the workspace, or what it names is not what was asked for."""


class ChangedMeanwhile(WorkspaceError):
    """A file is not any more what a person saw when they changed it."""


class NoRoom(WorkspaceError):
    """The disk is full, or what a run may use of it."""


class NotKept(WorkspaceError):
    """An upload to go on with, or a change to be undone, is not kept any more."""


class JournalError(StudioError):
    """A journal cannot be read at this cursor, or not at all."""


class TaskError(StudioError):
    """Tasks or answers are wrong. The text names the file, the line and the key."""


class TrainError(StudioError):
    """A recipe is wrong (file, line and key are named), or a training cannot go on."""


class RunError(StudioError):
    """A run cannot be started, continued or found."""


class OverLimit(RunError):
    """A person has as much as one may have."""


class RunAtWork(RunError):
    """A run is at work, which it must not be for what was asked."""


class RunPinned(RunError):
    """A run that a person keeps is to be removed."""


class ModelError(StudioError):
    """The model did not answer."""


class ModelRefused(ModelError):
    """The endpoint refused in a way that waiting does not mend (401, 403, 404, …)."""


class ModelUnavailable(ModelError):
    """The endpoint is busy, unreachable, silent or broke off; trying again may help.

    Args:
        message: What happened.
        retry_after: Seconds the endpoint asked to wait, where it said so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextTooLong(ModelError):
    """The conversation (with the answer's budget) exceeds the model's context.

    Args:
        message: What the endpoint said.
        limit: The context length in tokens, where the endpoint named it.
        used: The prompt's tokens, where the endpoint named them.
    """

    def __init__(self, message: str, limit: int | None = None, used: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.used = used


class AnswerTooLong(ModelError):
    """The answer's budget (``max_tokens``) is more than the endpoint grants.

    Args:
        message: What the endpoint said.
        affordable: The most tokens it would grant, where it named them.
    """

    def __init__(self, message: str, affordable: int | None = None) -> None:
        super().__init__(message)
        self.affordable = affordable


class ToolError(Exception):
    """A tool call failed; the text is the call's result and speaks to the model."""

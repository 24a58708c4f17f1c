"""A sandbox for commands and files, without a model."""

import errno
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from agent.api import arguments
from agent.api.files import Files
from agent.errors import CommandError, ToolError
from agent.sandbox import base
from agent.sandbox.base import CommandEnd, EndReason, OutputChunk
from agent.util.closing import ClosingContext
from agent.util.stop import Stop

if TYPE_CHECKING:
    from agent.tools.toolbox import Toolbox

TIMEOUT = 120.0
READ_LIMIT = 64 * 1024**2
_LISTED = 10_000
_PYTHONS: dict[int, type[OSError]] = {
    errno.ENOENT: FileNotFoundError,
    errno.EEXIST: FileExistsError,
    errno.EISDIR: IsADirectoryError,
    errno.ENOTDIR: NotADirectoryError,
    errno.EACCES: PermissionError,
    errno.EPERM: PermissionError,
}


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command in a sandbox.

    Attributes:
        exit_code: The exit code, 128 and the signal's number if a signal ended it; None if the
            sandbox ended it.
        stdout_bytes: What it wrote to standard output: the first 8 MB and the last 64 KB.
        stderr_bytes: What it wrote to standard error, likewise.
        end_reason: ``exit``; or why the sandbox ended it: ``timeout``, ``stop``, ``full`` (its
            disk) or ``lost`` (the sandbox).
        seconds: Wall time.
        skipped: Bytes of output that were not kept.
        note: What else happened, such as a disk that is full or a shell that was restarted.
    """

    exit_code: int | None
    stdout_bytes: bytes
    stderr_bytes: bytes
    end_reason: EndReason
    seconds: float
    skipped: int = 0
    note: str = ""

    @property
    def stdout(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become ``�``."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """Standard error as text; bytes that are not UTF-8 become ``�``."""
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        """Whether the command exited with 0."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a folder: absolute path, kind, size in bytes."""

    path: str
    kind: Literal["file", "folder", "other", "missing"]
    size: int


class Sandbox(ClosingContext):
    """An isolated computer: run commands, read and write files.

    All methods may be called from several threads at once. Relative paths are below
    ``/workspace``. Methods raise ``CommandError`` for what a caller can correct, which is also
    an ``OSError`` with an errno, and ``SandboxError`` if the sandbox is gone.

    Attributes:
        files: The files of ``/workspace`` by path.

    Args:
        sandbox: The sandbox that it operates.
        files: See above.
        close: Called once by ``close``.
    """

    def __init__(
        self, sandbox: base.Sandbox, files: Files, close: Callable[[], None] = lambda: None
    ) -> None:
        self.files = files
        self._sandbox = sandbox
        self._end: Callable[[], None] | None = close

    @property
    def id(self) -> str:
        """The sandbox's id, unique on this machine."""
        return self._sandbox.id

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float = TIMEOUT,
        cwd: "str | os.PathLike[str]" = "",
        env: Mapping[str, str] | None = None,
        input: str | bytes = b"",
        user: str | int = "",
        stop: Stop | None = None,
    ) -> CommandResult:
        """Run a command in a process of its own; any number of them run at the same time.

        Args:
            command: A command for bash, or a program and its arguments.
            timeout: Seconds after which its processes are ended, TERM before KILL.
            cwd: Its working directory; ``/workspace`` by default.
            env: Variables in addition to the sandbox's.
            input: Its standard input, up to 32 MB; empty by default.
            user: The user that runs it, by name or number; root by default.
            stop: Ends it early, from another thread.

        Raises:
            CommandError: The folder or the user cannot be used.
        """
        arguments.variables("env", env or {})
        arguments.check_type("cwd", cwd, (str, os.PathLike), "the path of a folder")
        arguments.check_type("input", input, (str, bytes), "a text or bytes")
        with _errors():
            items = self._sandbox.spawn(
                _command(command),
                timeout=arguments.seconds("timeout", timeout),
                stop=stop or Stop(),
                cwd=os.fspath(cwd),
                env=env,
                user=str(user),
                input=input.encode() if isinstance(input, str) else input,
            )
            return _gathered(items)

    def shell(
        self, command: str, *, timeout: float = TIMEOUT, stop: Stop | None = None
    ) -> CommandResult:
        """Run a command in the sandbox's one shell, as the model's commands are.

        Its folder, variables and functions last from one call to the next. It runs one command
        at a time and its standard input is empty. A stop, from another thread, also ends every
        other process of the sandbox's commands.

        Raises:
            SandboxError: Another command is running in the shell.
        """
        seconds = arguments.seconds("timeout", timeout)
        with _errors():
            return _gathered(
                self._sandbox.execute(_command(command), timeout=seconds, stop=stop or Stop())
            )

    def read(self, path: "str | os.PathLike[str]", *, limit: int = READ_LIMIT) -> bytes:
        """Return the content of a file of at most ``limit`` bytes."""
        with _errors(path):
            return self._sandbox.read(_path(path), limit=limit)

    def write(
        self, path: "str | os.PathLike[str]", data: str | bytes, *, exclusive: bool = False
    ) -> None:
        """Write a file and its missing folders; with ``exclusive`` only if it does not exist."""
        arguments.check_type("data", data, (str, bytes, bytearray, memoryview), "a text or bytes")
        with _errors(path):
            content = data.encode() if isinstance(data, str) else bytes(data)
            self._sandbox.write(_path(path), content, exclusive=exclusive)

    def remove(self, path: "str | os.PathLike[str]") -> None:
        """Remove a file, or a folder with its contents; do nothing if it is missing."""
        with _errors(path):
            self._sandbox.remove(_path(path))

    def list(self, path: "str | os.PathLike[str]" = "", *, depth: int = 1) -> "list[Entry]":
        """Return the entries of a folder, sorted, without hidden names; at most 10,000."""
        with _errors(path):
            entries = self._sandbox.list_folder(_path(path) or ".", depth=depth, limit=_LISTED)
        return [Entry(each.path, each.kind, each.size) for each in entries]

    def kind(self, path: "str | os.PathLike[str]") -> Literal["file", "folder", "other", "missing"]:
        """Return what is at a path, following links."""
        with _errors(path):
            return self._sandbox.kind(_path(path))

    def toolbox(self, *, command_seconds: float = TIMEOUT) -> "Toolbox":
        """Return the three tools of a run in this sandbox, for an agent loop of another program.

        Its ``schemas`` go to the model, ``parse`` takes the model's call, and ``run`` executes
        it in the sandbox's shell and returns the text for the model.

        Args:
            command_seconds: Time limit of a command, unless the call asks for another.
        """
        from agent.tools.toolbox import TimeLimits, Toolbox  # a sandbox alone needs no tools

        seconds = arguments.seconds("command_seconds", command_seconds)
        return Toolbox(self._sandbox, TimeLimits(seconds))

    def close(self) -> None:
        """End the sandbox; one that was made alone goes with its files. May be called twice."""
        end, self._end = self._end, None
        if end is not None:
            end()


def _command(command: str | Sequence[str]) -> str:
    wanted = "a text, or a program and its arguments"
    if isinstance(command, str):
        return arguments.text("command", command)
    arguments.check_type("command", command, Iterable, wanted)
    parts = list(command)
    if not parts or not all(isinstance(each, str) for each in parts):
        raise arguments.invalid_argument("command", command, wanted)
    return shlex.join(parts)


def _path(path: "str | os.PathLike[str]") -> str:
    arguments.check_type("path", path, (str, os.PathLike), "the path of a file or folder")
    return os.fspath(path)


def _gathered(items: Iterator[OutputChunk | CommandEnd]) -> CommandResult:
    streams = {"stdout": bytearray(), "stderr": bytearray()}
    skipped = 0
    finished = CommandEnd(None, "lost", 0.0)
    for item in items:
        if isinstance(item, OutputChunk):
            streams[item.stream] += item.data
            skipped += item.skipped
        else:
            finished = item
    return CommandResult(
        finished.exit_code,
        bytes(streams["stdout"]),
        bytes(streams["stderr"]),
        finished.end_reason,
        finished.seconds,
        skipped,
        " ".join(filter(None, (finished.note, finished.storage_note))),
    )


@contextmanager
def _errors(path: "str | os.PathLike[str] | None" = None) -> Iterator[None]:
    """Convert a sandbox's refusal to ``CommandError``, as the subclass for its number."""
    try:
        yield
    except ToolError as error:
        number = error.errno or errno.EINVAL
        name = None if path is None else os.fspath(path)
        raise _error_class(number)(number, str(error), name) from error


@cache
def _error_class(number: int) -> type[CommandError]:
    pythons = _PYTHONS.get(number)
    if pythons is None:
        return CommandError
    return type(pythons.__name__, (CommandError, pythons), {"__module__": CommandError.__module__})

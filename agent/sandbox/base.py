"""The ``Sandbox`` protocol and its data types (``tests/contract/sandbox_suite.py``)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent.sandbox.network.policy import NetworkPolicy, NetworkRequest
from agent.util.stop import Stop

StreamName = Literal["stdout", "stderr"]
EndReason = Literal["exit", "timeout", "stop", "lost", "full"]
FileKind = Literal["file", "folder", "other", "missing"]


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """Bytes that a command wrote."""

    stream: StreamName
    data: bytes
    skipped: int = 0  # bytes of the stream dropped just before


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The result of a command; always the last item of ``Sandbox.execute``."""

    exit_code: int | None  # None if it was terminated
    end_reason: EndReason
    seconds: float  # with the wait for what it needs, such as the proxy
    note: str = ""  # side effects, for the model: restored shell, ended processes
    storage_note: str = ""  # which disk was full, and what to do
    cpu_seconds: float | None = None
    packages: tuple[str, ...] = ()  # installed meanwhile, as the sandbox reports it
    peak_memory: int | None = None


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder listing in the sandbox: absolute path, kind, size in bytes."""

    path: str
    kind: FileKind
    size: int


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Resource limits of a sandbox."""

    memory: int = 2 * 1024**3  # bytes, swap included
    cpus: float = 2.0
    pids: int = 512  # processes and threads
    open_files: int = 4096  # per process
    disk: int = 10 * 1024**3  # bytes in all of the sandbox, and of one file
    keep_bytes: int = 8 * 1024**2  # of one command's output, per stream


class Sandbox(Protocol):
    """An isolated computer with one persistent shell and file access by path.

    Paths are those that the model uses (``/workspace/…``, ``/tmp/…``), relative ones in
    ``/workspace``. File methods raise ``ToolError`` for errors that the model can correct (missing,
    a folder, not permitted, too large, disk full) and ``SandboxError`` if the sandbox is gone.
    """

    @property
    def id(self) -> str:
        """The sandbox's id, unique on this machine."""

    @property
    def workspace(self) -> Path:
        """The host folder that is mounted as ``/workspace``."""

    def execute(
        self, command: str, *, timeout: float, stop: Stop
    ) -> Iterator[OutputChunk | CommandEnd]:
        """Run ``command`` in the persistent shell and yield its output as it arrives.

        Args:
            command: The shell command; its standard input is empty.
            timeout: Seconds after which the command's process group is terminated.
            stop: Terminates the command and every process that the sandbox's commands started.

        Raises:
            SandboxError: the sandbox is gone and could not be restarted.
        """

    def spawn(
        self,
        command: str,
        *,
        timeout: float,
        stop: Stop,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
        input: bytes = b"",
    ) -> Iterator[OutputChunk | CommandEnd]:
        """Run ``command`` in a process of its own and yield its output as it arrives.

        Any number of these run at the same time, also during ``execute``, and leave the shell
        alone.

        Args:
            command: The shell command.
            timeout: Seconds after which its processes are terminated.
            stop: Terminates its processes.
            cwd: Its working directory; the workspace by default.
            env: Variables in addition to those of the sandbox.
            user: The user that runs it, by name or number; by default the shell's.
            input: Its standard input, at most about 32 MB.

        Raises:
            ToolError: the folder or the user cannot be used; ``errno`` says why.
            SandboxError: the sandbox is gone and could not be restarted.
        """

    def kind(self, path: str) -> FileKind:
        """Return the kind of ``path``, following links (inside the sandbox)."""

    def read(self, path: str, *, limit: int) -> bytes:
        """Return the bytes of a regular file; ``ToolError`` if there are more than ``limit``."""

    def write(self, path: str, data: bytes, *, exclusive: bool = False) -> None:
        """Write a file atomically; create parents, keep its mode, follow a link.

        With ``exclusive``, an existing name raises ``ToolError``.
        """

    def list_folder(self, path: str, *, depth: int, limit: int) -> list[FolderEntry]:
        """List a folder ``depth`` levels deep, sorted, without hidden names."""

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with its contents; do nothing if it is missing."""

    def end_processes(self) -> None:
        """Terminate every process that commands started, also in the background; keep files."""

    def set_network_policy(self, policy: NetworkPolicy) -> None:
        """Apply a network policy, effective from the sandbox's next request."""

    def take_network_requests(self) -> list[NetworkRequest]:
        """Return the network requests since the previous call; empty if they are not recorded."""

    @property
    def lost(self) -> bool:
        """Whether the sandbox must be restarted before its next use."""

    def ensure_responsive(self) -> None:
        """Check that the sandbox responds, and restart it if it does not."""

    def files_changed(self, paths: Iterable[str]) -> None:
        """Take note that files or folders were changed from outside, before the next command."""

    def set_stop(self, stop: Stop) -> None:
        """Make ``stop`` interrupt later waits for a lost or unresponsive sandbox."""

    def stop(self) -> None:
        """Stop the sandbox; installed software stays for a restart, if it can be kept."""

    def close(self) -> None:
        """Remove the sandbox permanently but keep the workspace folder. Idempotent."""

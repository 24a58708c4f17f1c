"""The ``Sandbox`` protocol and its data types.

Every implementation passes ``tests/contract/sandbox_suite.py``.
"""

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
    """Bytes that a command wrote.

    Attributes:
        stream: The stream written to.
        data: The bytes.
        skipped: Number of bytes of this stream dropped just before ``data`` (keep limit).
    """

    stream: StreamName
    data: bytes
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The result of a command; always the last item of ``Sandbox.execute``.

    Attributes:
        exit_code: The exit code; None if the command was terminated.
        end_reason: Why it ended: ``exit`` (normally), ``timeout``, ``stop``, ``lost`` (the sandbox
            was lost) or ``full`` (stopped because the disk was full).
        seconds: Wall time in the sandbox, and of the wait for what the command needs, such as the
            network's proxy before the first one.
        note: A sentence that informs the model of side effects (the shell was restored,
            background processes were terminated); empty if none.
        storage_note: Which disk was full, its usage, and what to do; empty if none was full.
        cpu_seconds: CPU time of the sandbox during the command; None if it is unknown.
        packages: The packages that were installed meanwhile, as the sandbox reports it.
        peak_memory: The sandbox's peak memory in bytes, as it reports it; None if it is unknown.
    """

    exit_code: int | None
    end_reason: EndReason
    seconds: float
    note: str = ""
    storage_note: str = ""
    cpu_seconds: float | None = None
    packages: tuple[str, ...] = ()
    peak_memory: int | None = None


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder listing in the sandbox: absolute path, kind, size in bytes."""

    path: str
    kind: FileKind
    size: int


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Resource limits of a sandbox.

    Attributes:
        memory: Bytes of memory (swap included).
        cpus: Number of CPUs.
        pids: Number of processes and threads.
        open_files: File descriptors per process.
        disk: Bytes in the workspace and elsewhere in the sandbox together; also the maximum
            size of one file.
        keep_bytes: Bytes of one command's output to keep, per stream.
    """

    memory: int = 2 * 1024**3
    cpus: float = 2.0
    pids: int = 512
    open_files: int = 4096
    disk: int = 10 * 1024**3
    keep_bytes: int = 8 * 1024**2


class Sandbox(Protocol):
    """An isolated computer with one persistent shell and file access by path.

    Paths are those that the model uses (``/workspace/…``, ``/tmp/…``); relative paths are
    resolved against ``/workspace``. File methods raise ``ToolError`` for errors that the model
    can correct (missing, a folder, not permitted, too large, disk full) and ``SandboxError``
    if the sandbox is gone.
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

        Any number of these run at the same time, also during ``execute``. The shell's folder,
        variables and functions are neither seen nor changed.

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
        """Write a file atomically.

        Creates missing parent folders. An existing file keeps its mode; a link is followed.
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
        """Check that the sandbox responds, and restart it if it does not.

        Raises:
            SandboxError: it is gone and could not be restarted.
        """

    def files_changed(self, paths: Iterable[str]) -> None:
        """Take note that files were changed from outside, before the next command.

        Args:
            paths: Their paths relative to the workspace; of a folder, all of it.
        """

    def set_stop(self, stop: Stop) -> None:
        """Make ``stop`` interrupt later waits for a lost or unresponsive sandbox."""

    def stop(self) -> None:
        """Stop the sandbox, keeping installed software for a later restart.

        Same as ``close`` if the sandbox cannot be kept. This object is unusable afterwards.

        Raises:
            SandboxError: it cannot be stopped.
        """

    def close(self) -> None:
        """Remove the sandbox permanently but keep the workspace folder. Idempotent."""

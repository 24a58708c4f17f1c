"""What a sandbox promises, whoever makes it.

Every implementation passes ``tests/contract/sandbox_suite.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent.sandbox.network import Policy, Request
from agent.stop import Stop

Stream = Literal["stdout", "stderr"]
Ending = Literal["exit", "timeout", "stop", "lost", "full"]
FileKind = Literal["file", "folder", "other", "missing"]


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes that a command wrote.

    Attributes:
        stream: Which of its two streams.
        data: What it wrote.
        skipped: Bytes of this stream left out just before ``data``, past the keep limit.
    """

    stream: Stream
    data: bytes
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended; always the last item of ``Sandbox.execute``.

    Attributes:
        exit_code: Its exit code; None where it was ended before it had one.
        ending: ``exit`` by itself, ``timeout``, ``stop``, ``lost`` with the sandbox, or
            ``full``, stopped since the disk was.
        seconds: Wall time in the sandbox.
        note: A plain sentence for the model where something else changed
            (the shell was restored, background processes were ended); else empty.
        full: What of the disk was full, how much, and what to do; else empty.
    """

    exit_code: int | None
    ending: Ending
    seconds: float
    note: str = ""
    full: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a folder listing inside the sandbox: absolute path, kind, size in bytes."""

    path: str
    kind: FileKind
    size: int


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a sandbox may use.

    Attributes:
        memory: Bytes of memory (swap included).
        cpus: Processors.
        pids: Processes and threads.
        open_files: Descriptors per process.
        disk: Bytes of the workspace and of what is written elsewhere, together; and of one file.
        keep_bytes: Bytes of one command's output, per stream, kept from the sandbox.
    """

    memory: int = 2 * 1024**3
    cpus: float = 2.0
    pids: int = 512
    open_files: int = 4096
    disk: int = 10 * 1024**3
    keep_bytes: int = 8 * 1024**2


class Sandbox(Protocol):
    """An isolated computer: one persistent shell, and files by absolute path.

    Paths are those that the model uses (``/workspace/…``, ``/tmp/…``); relative ones are
    taken from ``/workspace``. File methods raise ``ToolError`` for what the model can mend
    (missing, a folder, not permitted, too large, disk full) and ``SandboxError`` where the
    sandbox is gone.
    """

    @property
    def id(self) -> str:
        """The sandbox's id, unique on this machine."""

    @property
    def workspace(self) -> Path:
        """The host folder that is ``/workspace`` inside."""

    def execute(self, command: str, *, timeout: float, stop: Stop) -> Iterator[Output | Finished]:
        """Run ``command`` in the persistent shell, yielding output as it comes.

        Args:
            command: What the shell evaluates; its standard input is empty.
            timeout: Seconds after which the command's process group is ended.
            stop: Ends the command and every process that the sandbox's commands started.

        Raises:
            SandboxError: the sandbox is gone and could not be brought back.
        """

    def kind(self, path: str) -> FileKind:
        """What ``path`` names, links followed (inside the sandbox)."""

    def read(self, path: str, *, limit: int) -> bytes:
        """The bytes of a regular file; ``ToolError`` if there are more than ``limit``."""

    def write(self, path: str, data: bytes, *, exclusive: bool = False) -> None:
        """Put a file in place whole, or leave it as it was.

        Missing parent folders are made; an existing file keeps its mode, and a link its
        target. With ``exclusive`` an existing name is a ``ToolError``.
        """

    def entries(self, path: str, *, depth: int, limit: int) -> list[Entry]:
        """What a folder holds, ``depth`` levels deep, hidden names left out, sorted."""

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with all it holds; missing is no error."""

    def end_processes(self) -> None:
        """End every process that commands started, in the background too; the files stay."""

    def peak_memory(self) -> int | None:
        """Bytes of memory at the highest so far; None where it can't be known."""

    def allow(self, policy: Policy) -> None:
        """Let it ask of the network what a policy names, from its next request on."""

    def requests(self) -> list[Request]:
        """What it has asked of the network since the last time; empty where none is measured."""

    @property
    def lost(self) -> bool:
        """Whether it has to be brought back before it can do anything."""

    def check(self) -> None:
        """See whether it answers, and bring it back where it does not.

        Raises:
            SandboxError: it is gone and could not be brought back.
        """

    def attend(self, stop: Stop) -> None:
        """From now on wait for what is lost, or does not answer, no longer than until this."""

    def rest(self) -> None:
        """End what runs in it, and keep what was installed for who wakes it again.

        As ``close`` where a sandbox cannot be kept; like that its end here.

        Raises:
            SandboxError: it cannot be stopped.
        """

    def close(self) -> None:
        """End the sandbox for good. The workspace folder stays. May be called twice."""

"""How the sandbox tests use one: run a command to its end, wait for a state."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.base import CommandEnd, EndReason, FolderEntry, OutputChunk, Sandbox
from agent.util.cancellation import Stop

MEGABYTE = 1024 * 1024
SEQ_BYTES = sum((digits + 1) * 9 * 10 ** (digits - 1) for digits in range(1, 8)) + 9 * 2_500_001

_COUNT = itertools.count(1000)


def own_seconds() -> str:
    """A long time that nothing else on this machine sleeps for.

    A sandbox that is a plain process sees the machine's others, those of containers included.
    """
    return f"{next(_COUNT)}.{os.getpid()}"


@dataclass
class Result:
    """One command's output, put together, and how it ended."""

    stdout: bytes
    stderr: bytes
    skipped: int
    finished: CommandEnd

    @property
    def code(self) -> int | None:
        return self.finished.exit_code

    @property
    def ending(self) -> EndReason:
        return self.finished.end_reason

    @property
    def note(self) -> str:
        return self.finished.note


def gather(items: Iterator[OutputChunk | CommandEnd]) -> Result:
    """Consume a command's items; the last has to be its only ``CommandEnd``."""
    *outputs, finished = items
    assert isinstance(finished, CommandEnd)
    streams: dict[str, bytes] = {"stdout": b"", "stderr": b""}
    skipped = 0
    for output in outputs:
        assert isinstance(output, OutputChunk)
        streams[output.stream] += output.data
        skipped += output.skipped
    return Result(streams["stdout"], streams["stderr"], skipped, finished)


def run(sandbox: Sandbox, command: str, timeout: float = 30.0, stop: Stop | None = None) -> Result:
    """Run a command to its end."""
    return gather(sandbox.execute(command, timeout=timeout, stop=stop or Stop()))


def taken(computers: DockerSandboxProvider, folder: RunFolder) -> Sandbox:
    """The run's sandbox, as the application takes it."""
    taking = computers.acquire(folder, Stop())
    while True:
        try:
            next(taking)
        except StopIteration as end:
            sandbox: Sandbox = end.value
            return sandbox


def say(sandbox: Sandbox, command: str) -> str:
    """What a command that has to succeed says on stdout."""
    result = run(sandbox, command)
    assert result.code == 0, result
    return result.stdout.decode().strip()


def eventually(reached: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for a state."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def stopping_at_first_output(sandbox: Sandbox, command: str) -> tuple[Result, float]:
    """Run a command, stop it once it has said something; the seconds from stop to end."""
    stop = Stop()
    items: list[OutputChunk | CommandEnd] = []
    asked = 0.0
    for item in sandbox.execute(command, timeout=60, stop=stop):
        items.append(item)
        if not stop.is_set:
            asked = time.monotonic()
            stop.set()
    return gather(iter(items)), time.monotonic() - asked


def found(sandbox: Sandbox, path: str, depth: int = 1, limit: int = 100) -> list[FolderEntry]:
    """A listing."""
    return sandbox.list_folder(path, depth=depth, limit=limit)

"""Helpers for tests of sandboxes: run commands, collect their results, wait for a condition."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

from agent.runs.folder import RunFolder
from agent.runs.recorded_run import SandboxProvider
from agent.sandbox.base import CommandEnd, EndReason, FolderEntry, OutputChunk, Sandbox
from agent.util.stop import Stop

MEGABYTE = 1024 * 1024
SEQ_BYTES = sum((digits + 1) * 9 * 10 ** (digits - 1) for digits in range(1, 8)) + 9 * 2_500_001

_COUNT = itertools.count(1000)


def unique_duration() -> str:
    """Return a number of seconds that no other process on this machine sleeps for.

    A process sandbox sees all processes of the machine, including those of containers.
    """
    return f"{next(_COUNT)}.{os.getpid()}"


@dataclass
class Result:
    stdout: bytes
    stderr: bytes
    skipped: int
    finished: CommandEnd

    def __post_init__(self) -> None:
        self.code = self.finished.exit_code
        self.end_reason: EndReason = self.finished.end_reason
        self.note = self.finished.note


def collect_result(items: Iterator[OutputChunk | CommandEnd]) -> Result:
    """Consume a command's items; the last must be its only ``CommandEnd``."""
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
    return collect_result(sandbox.execute(command, timeout=timeout, stop=stop or Stop()))


def acquire_sandbox(provider: SandboxProvider, folder: RunFolder) -> Sandbox:
    events = provider.acquire(folder, Stop())
    while True:
        try:
            next(events)
        except StopIteration as end:
            sandbox: Sandbox = end.value
            return sandbox


def touch(sandbox: Sandbox, name: str) -> None:
    """Create a file in the workspace from outside."""
    (sandbox.workspace / name).touch()
    sandbox.files_changed([name])


def check_output(sandbox: Sandbox, command: str) -> str:
    """Run a command, which must succeed; returns its stripped standard output."""
    result = run(sandbox, command)
    assert result.code == 0, result
    return result.stdout.decode().strip()


def run_until_first_output(sandbox: Sandbox, command: str) -> Result:
    stop = Stop()
    items: list[OutputChunk | CommandEnd] = []
    for item in sandbox.execute(command, timeout=60, stop=stop):
        items.append(item)
        stop.set()
    return collect_result(iter(items))


def list_entries(
    sandbox: Sandbox, path: str, depth: int = 1, limit: int = 100
) -> list[FolderEntry]:
    return sandbox.list_folder(path, depth=depth, limit=limit)

"""A sandbox that isolates NOTHING, for tests only: the supervisor as a plain local process.

It shares the shell, the protocol and the file operations with the real sandbox, so tests of
those need no container engine. Never give it to a model.
"""

import socket
import subprocess
import sys
import uuid
from pathlib import Path

from agent.sandbox import supervisor
from agent.sandbox.base import SandboxLimits
from agent.sandbox.link import Connection
from agent.sandbox.streams import SUPERVISOR_CODE, SocketConnection
from agent.sandbox.supervised import SupervisedSandbox


class ProcessSandbox(SupervisedSandbox):
    """A supervisor and a shell on this machine, with the rights of whoever runs the test."""

    def __init__(self, folder: Path, limits: SandboxLimits | None = None) -> None:
        workspace = folder / "workspace"
        for name in ("input", "output"):
            (workspace / name).mkdir(parents=True, exist_ok=True)
        limits = limits or SandboxLimits()
        super().__init__(uuid.uuid4().hex, workspace, str(workspace), limits.keep_bytes)
        self._state = folder / "state" / "shell"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _connect(self) -> Connection:
        self._end_process()
        ours, theirs = socket.socketpair()
        code = Path(supervisor.__file__).parents[1]
        command = [sys.executable, "-I", "-S", "-c", SUPERVISOR_CODE, str(code)]
        arguments = ["descendants", str(self._state), self._home]
        with theirs:
            end = theirs.fileno()
            self.process = subprocess.Popen([*command, *arguments], stdin=end, stdout=end)
        return SocketConnection(ours)

    def _end_process(self) -> None:
        if self.process is not None:
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _dispose(self) -> None:
        self._end_process()

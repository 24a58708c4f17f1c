"""A sandbox that isolates NOTHING: the supervisor and its shell as plain processes of this machine.

Commands run with the rights of whoever started this program, on its network and its disk. It is
for tests, and for training on a machine that no engine runs on and that can be thrown away
(``sandbox: process`` in a recipe). The page never has it: ``agent.computers`` knows nothing of it.
"""

import re
import resource
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

ISOLATES_NOTHING = (
    "The sandboxes are plain processes, which isolate nothing: what a model runs has your rights "
    "on this machine."
)
_WORKSPACE = re.compile(r"(?<![\w./-])/workspace(?![\w.-])")
_SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PATIENCE = 10.0


class ProcessSandbox(SupervisedSandbox):
    """A shell on this machine. ``/workspace`` in a command is its workspace's own path.

    It is given none of this program's environment, where keys are, but nothing keeps it from
    looking for them.

    Args:
        folder: Holds the workspace, and the shell's state beside it.
        limits: Of which a file's size and what is kept of an output are held.
    """

    def __init__(self, folder: Path, limits: SandboxLimits | None = None) -> None:
        workspace = folder / "workspace"
        for name in ("input", "output"):
            (workspace / name).mkdir(parents=True, exist_ok=True)
        self._limits = limits or SandboxLimits()
        super().__init__(uuid.uuid4().hex, workspace, str(workspace), self._limits.keep_bytes)
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
            self.process = subprocess.Popen(
                [*command, *arguments], stdin=end, stdout=end, env=self._environment()
            )
        for kind, most in ((resource.RLIMIT_FSIZE, self._limits.disk), (resource.RLIMIT_CORE, 0)):
            resource.prlimit(self.process.pid, kind, (most, most))
        return SocketConnection(ours)

    def _environment(self) -> dict[str, str]:
        python = Path(
            sys.base_prefix, "bin"
        )  # what a model installs goes into no environment of ours
        return {
            "HOME": self._home,
            "LANG": "C.UTF-8",
            "PATH": f"{python}:{_SYSTEM}",
            "PYTHONUNBUFFERED": "1",
            "TERM": "dumb",
        }

    def _translate(self, text: str) -> str:
        return _WORKSPACE.sub(lambda _: self._home, text)

    def _end_process(self) -> None:
        if self.process is not None:
            try:
                self.process.wait(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _dispose(self) -> None:
        self._end_process()

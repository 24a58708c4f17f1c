"""A sandbox without ANY isolation: supervisor and shell are plain processes on this machine.

For tests, and for training on a disposable machine (``sandbox: process`` in a recipe); the page
never uses it.
"""

import re
import resource
import socket
import subprocess
import sys
import uuid
from contextlib import suppress
from pathlib import Path

from agent.sandbox import supervisor
from agent.sandbox.base import SandboxLimits
from agent.sandbox.client.transport import SUPERVISOR_CODE, Connection
from agent.sandbox.supervised import SupervisedSandbox

NO_ISOLATION_WARNING = (
    "The sandboxes are plain processes without isolation: the model's commands have your rights on "
    "this machine."
)
_WORKSPACE_PATH = re.compile(r"(?<![\w./-])/workspace(?![\w.-])")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TIMEOUT_SECONDS = 10.0


class ProcessSandbox(SupervisedSandbox):
    """A shell on this machine, without this program's environment, which may hold keys.

    It can still read them elsewhere, since commands run with the rights of this program's user.
    ``/workspace`` in a command is replaced by the workspace's real path. Of the limits, only
    ``disk`` (as maximum file size) and ``keep_bytes`` are enforced.
    """

    def __init__(self, folder: Path, limits: SandboxLimits | None = None) -> None:
        workspace = folder / "workspace"
        for name in ("input", "output"):
            with suppress(FileExistsError):  # may also be a file of that name
                (workspace / name).mkdir(parents=True)
        self._limits = limits or SandboxLimits()
        super().__init__(uuid.uuid4().hex, workspace, str(workspace), self._limits.keep_bytes)
        self._shell_state_path = folder / "state" / "shell"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _connect(self) -> Connection:
        self._end_process()
        ours, theirs = socket.socketpair()
        code = Path(supervisor.__file__).parents[1]
        command = [sys.executable, "-I", "-S", "-c", SUPERVISOR_CODE, str(code)]
        arguments = ["descendants", str(self._shell_state_path), self._home]
        with theirs:
            end = theirs.fileno()
            self.process = subprocess.Popen(
                [*command, *arguments], stdin=end, stdout=end, env=self._environment()
            )
        for kind, maximum in (
            (resource.RLIMIT_FSIZE, self._limits.disk),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.prlimit(self.process.pid, kind, (maximum, maximum))
        return Connection(ours)

    def _environment(self) -> dict[str, str]:
        # The base interpreter: packages that a model installs stay out of our environment.
        python = Path(sys.base_prefix, "bin")
        return {
            "HOME": self._home,
            "LANG": "C.UTF-8",
            "PATH": f"{python}:{_SYSTEM_PATH}",
            "PYTHONUNBUFFERED": "1",
            "TERM": "dumb",
        }

    def _translate(self, text: str) -> str:
        return _WORKSPACE_PATH.sub(lambda _: self._home, text)

    def _end_process(self) -> None:
        if self.process is not None:
            try:
                self.process.wait(timeout=_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _dispose(self) -> None:
        self._end_process()

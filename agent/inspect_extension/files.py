"""The files of a sandbox as its configured user may read and write them."""

import errno
import shlex

from agent.api.sandbox import CommandResult, Sandbox
from agent.errors import SandboxError

_CHUNK_BYTES = 16 * 1024**2
_SECONDS = 120.0
_DENIED = "Permission denied"


class UserFiles:
    """Reads and writes whole files, as root or another user.

    The supervisor runs as root, so file modes do not restrict it: for another user, the sandbox's
    kernel decides in a process of that user.
    """

    def __init__(self, sandbox: Sandbox, user: str) -> None:
        self._sandbox = sandbox
        self._user = user

    def read(self, path: str, limit: int) -> bytes:
        """Return a file's content; raise ``OSError`` (EFBIG above ``limit``)."""
        if self._user and self._sandbox.kind(path) == "file":
            self._require("-r", path)
        return self._sandbox.read(path, limit=limit)

    def write(self, path: str, data: bytes) -> None:
        """Write a file and its missing folders. Raises ``OSError``."""
        if not self._user:
            self._sandbox.write(path, data)
            return
        if self._sandbox.kind(path) == "folder":
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        quoted = shlex.quote(path)
        first = f'mkdir -p -- "$(dirname -- {quoted})" && cat > {quoted}'
        self._check(self._run(first, data[:_CHUNK_BYTES]), path)
        for start in range(_CHUNK_BYTES, len(data), _CHUNK_BYTES):
            self._check(self._run(f"cat >> {quoted}", data[start : start + _CHUNK_BYTES]), path)

    def _require(self, permission: str, path: str) -> None:
        if not self._run(f"test {permission} {shlex.quote(path)}").ok:
            raise PermissionError(errno.EACCES, _DENIED, path)

    def _check(self, result: CommandResult, path: str) -> None:
        if result.ok:
            return
        if result.end_reason == "full" or "No space left" in result.stderr:
            raise OSError(errno.ENOSPC, result.note or "The disk is full", path)
        if result.end_reason == "timeout":
            raise TimeoutError(f"{path} was not written within {_SECONDS:g} seconds.")
        if result.end_reason != "exit":
            raise SandboxError(f"The sandbox was lost while {path} was written.")
        if _DENIED in result.stderr:
            raise PermissionError(errno.EACCES, _DENIED, path)
        raise OSError(errno.EIO, result.stderr.strip() or "It cannot be written", path)

    def _run(self, command: str, data: bytes = b"") -> CommandResult:
        return self._sandbox.run(
            command, timeout=_SECONDS, user=self._user, input=data, env={"LC_ALL": "C"}
        )

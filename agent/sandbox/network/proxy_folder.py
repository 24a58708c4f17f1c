"""The host folder that the proxy's container reads and writes.

The proxy's root has no rights over other users' files, and Squid is another user. So files that
it reads are world-readable, files that it writes are created world-writable beforehand; the
data folder's mode keeps other users of the host out.
"""

import fcntl
import os
import shutil
from pathlib import Path

from agent.sandbox.network import squid
from agent.sandbox.network.policy import NetworkPolicy

MOUNT_POINT = "/run/studio"
"""Mount point of this folder in the container."""

_CODE_SOURCE = Path(squid.__file__).resolve().parent
_READABLE_MODE, _WRITABLE_MODE, _FOLDER_MODE = 0o644, 0o666, 0o755


class ProxyFolder:
    """Policies and logs of one proxy, and a lock that shows the proxy that its owner is alive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.code = path / "code"
        self.access_log = path / "log" / "access.log"
        self.squid_log = path / "log" / "squid.log"
        self._policies = path / "policies"
        self._lock = -1

    def prepare(self) -> None:
        """Empty the folder, while no proxy uses it, and lock it; on release the proxy exits."""
        self.release()
        self.path.mkdir(parents=True, exist_ok=True)
        for part in (self.code, self._policies, self.access_log.parent):
            shutil.rmtree(part, ignore_errors=True)
        self._copy_code()
        for folder in (self.path, self._policies, self.access_log.parent):
            folder.mkdir(exist_ok=True)
            folder.chmod(_FOLDER_MODE)
        for log in (self.access_log, self.squid_log):
            log.touch()
            log.chmod(_WRITABLE_MODE)
        self._acquire_lock()

    @property
    def prepared(self) -> bool:
        """Whether the folder is prepared and its lock is held."""
        return self._lock >= 0

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def set_policy(self, address: str, policy: NetworkPolicy) -> None:
        """Set the policy of the sandbox at an address."""
        path = self._policies / address
        new = path.with_suffix(".new")
        new.write_text("\n".join(policy.host_patterns()))
        new.chmod(_READABLE_MODE)
        new.replace(path)

    def remove_policy(self, address: str) -> None:
        """Remove the policy of the sandbox at an address, so that it may reach nothing."""
        (self._policies / address).unlink(missing_ok=True)

    def _copy_code(self) -> None:
        shutil.copytree(_CODE_SOURCE, self.code, ignore=shutil.ignore_patterns("__pycache__"))
        self.code.chmod(_FOLDER_MODE)
        for path in self.code.rglob("*"):
            path.chmod(_FOLDER_MODE if path.is_dir() else _READABLE_MODE)

    def _acquire_lock(self) -> None:
        """Lock a new file, so that a proxy of an earlier process cannot hold the lock."""
        file = self.path / "lock"
        file.unlink(missing_ok=True)
        self._lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _READABLE_MODE)
        os.fchmod(self._lock, _READABLE_MODE)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

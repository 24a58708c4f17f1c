"""How much a run's workspace may still take."""

import os

from agent.folder import RunFolder
from agent.removal import on_disk
from agent.sandbox import disk


def room(folder: RunFolder, limit: int) -> int:
    """Bytes that a run's files may still take; what its container wrote elsewhere is left out.

    Args:
        folder: The run's folder.
        limit: What a sandbox without a disk of its own may use.

    Raises:
        SandboxError: it has one, and that cannot be mounted.
    """
    if disk.image(folder.sandbox_folder).exists():
        free = os.statvfs(folder.workspace.parent)
        return free.f_bavail * free.f_frsize
    return max(0, limit - on_disk(folder.sandbox_folder))

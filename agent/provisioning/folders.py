"""Creates the folders of sandboxes."""

import uuid

from agent.data_folder import DataFolder
from agent.sandbox.disk import volume


def create_workspace(data: DataFolder, disk: int | None) -> str:
    """Create a sandbox's folder with an empty workspace and return the sandbox's id.

    Args:
        data: The data folder.
        disk: Size in bytes of its own disk, which it gets if possible; None for no disk.

    Raises:
        OSError: It cannot be written; nothing is left of it.
    """
    sandbox_id = uuid.uuid4().hex
    folder = data.path / "sandboxes" / sandbox_id
    try:
        volume.create(folder, disk)
    except OSError:
        volume.discard(folder)
        raise
    return sandbox_id

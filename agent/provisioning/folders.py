"""Creates the folders of sandboxes."""

import uuid

from agent.data_folder import DataFolder
from agent.sandbox.disk import volume


def create_folder(data: DataFolder, disk: int | None) -> str:
    """Create a sandbox's folder and return the sandbox's id.

    Args:
        data: The data folder.
        disk: Size in bytes of its own disk, which it gets if possible; None for no disk.
    """
    sandbox_id = uuid.uuid4().hex
    folder = data.workspace(sandbox_id).parent
    if disk is not None:
        volume.create(folder, disk)
    folder.mkdir(mode=0o700, exist_ok=True)
    return sandbox_id


def create_workspace(data: DataFolder, disk: int | None) -> str:
    """Create a sandbox's folder with an empty workspace; see ``create_folder``."""
    sandbox_id = create_folder(data, disk)
    try:
        for name in ("input", "output"):
            (data.workspace(sandbox_id) / name).mkdir(parents=True)
    except OSError:
        volume.discard(data.workspace(sandbox_id).parent)
        raise
    return sandbox_id

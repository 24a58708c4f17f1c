"""Creates the folders of sandboxes."""

import uuid

from agent.data_folder import DataFolder
from agent.sandbox.disk import volume


def create_workspace(data: DataFolder, disk: int | None) -> str:
    """Create a sandbox's folder with an empty workspace and return the sandbox's id.

    ``disk`` is the size of its own disk, which it gets if possible; None for none.
    """
    sandbox_id = uuid.uuid4().hex
    folder = data.path / "sandboxes" / sandbox_id
    try:
        volume.create(folder, disk)
    except OSError:
        volume.discard(folder)
        raise
    return sandbox_id

"""The studios of this process: one for each configuration of sandboxes, while tasks use it."""

import shutil
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from agent.api.studio import Studio
from agent.data_folder import DataFolder, candidate_folders
from agent.errors import DataFolderLocked
from agent.sandbox.disk import volume
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, list_containers, reap, remove
from agent.sandbox.engine.client import Client, connect
from agent.sandbox.network.subnets import reap as reap_networks
from agent.settings import Settings

_FOLDER = "inspect"
_lock = threading.Lock()
_open: dict[Settings, tuple[Studio, int]] = {}


def evaluation_settings(settings: Settings, output_limit: int) -> Settings:
    """Return the settings for the sandboxes of Inspect evaluations.

    They have a data folder of their own, so that a cleanup never touches the page's runs, no
    sandboxes in advance, and keep enough of a command's output to tell that it exceeds a limit.
    """
    keep = max(settings.max_output_bytes, output_limit + 1)
    return replace(settings, data=settings.data / _FOLDER, warm_sandboxes=0, max_output_bytes=keep)


def open_studio(settings: Settings) -> Studio:
    """Return the open studio with these settings; ``close_studio`` must follow."""
    with _lock:
        studio, users = _open.get(settings, (None, 0))
        if studio is None:
            studio = Studio(settings)
            studio.__enter__()
        _open[settings] = studio, users + 1
    return studio


def find_studio(settings: Settings) -> Studio:
    """Return the studio that ``open_studio`` opened with these settings."""
    return _open[settings][0]


def close_studio(settings: Settings, *, keep: bool = False) -> None:
    """Close the studio when its last task ends, and its sandboxes unless they are kept."""
    with _lock:
        if settings not in _open:
            return
        studio, users = _open[settings]
        _open[settings] = studio, users - 1
        if users > 1 or keep:
            return
        del _open[settings]
    studio.__exit__()


def remove_leftovers(settings: Settings, sandbox_id: str | None = None) -> int:
    """Remove what ended evaluations left, or one sandbox of them; return how many were removed."""
    removed = 0
    client = connect(settings.docker_host or None, settings.runtime_dir or None)
    try:
        for path in candidate_folders(settings.data):
            if (path / "instance").is_file():
                with suppress(DataFolderLocked), DataFolder(path) as folder:
                    removed += _remove_sandboxes(client, folder, sandbox_id or "")
    finally:
        client.close()
    return removed


def _remove_sandboxes(client: Client, folder: DataFolder, sandbox_id: str) -> int:
    found = list_containers(client, folder.instance_id, sandbox_id)
    sandboxes = {each.sandbox_id for each in found if each.sandbox_id}
    if sandbox_id:
        for each in found:
            remove(client, each.id)
        return len(sandboxes)
    reap(client, folder.instance_id)
    reap_networks(client, (INSTANCE_LABEL, folder.instance_id))
    volume.detach_all(folder.path)
    for name in ("runs", "sandboxes"):
        shutil.rmtree(Path(folder.path) / name, ignore_errors=True)
    return len(sandboxes)

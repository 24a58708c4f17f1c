"""Removal of containers and networks of instances whose data folder was deleted."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.data_folder import data_folder_of_workspace, read_instance_id
from agent.errors import SandboxError
from agent.sandbox.docker.container import WORKSPACE
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, reap
from agent.sandbox.engine.client import Client, engine_errors
from agent.sandbox.network.proxy import PROXY_LABEL
from agent.sandbox.network.proxy_folder import MOUNT_POINT
from agent.sandbox.network.subnets import reap as reap_networks

_log = logging.getLogger(__name__)


def remove_orphans(client: Client) -> None:
    """Remove the containers and networks of deleted data folders; log failures."""
    for instance in orphaned_instances(client):
        try:
            reap(client, instance)
            reap_networks(client, (INSTANCE_LABEL, instance))
        except SandboxError as error:
            _log.warning("Containers of a deleted data folder cannot be removed: %s", error)


def orphaned_instances(client: Client) -> set[str]:
    """Return the ids of instances that do not run and whose data folder is gone."""
    with engine_errors("The containers cannot be listed"):
        found = client.api.containers(all=True, filters={"label": INSTANCE_LABEL})
    folders = {
        each["Labels"][INSTANCE_LABEL]: path for each in found for path in _data_folders(each)
    }
    # With a running proxy, its application runs; its folder may be in another mount namespace.
    running = {each["Labels"][INSTANCE_LABEL] for each in found if _is_running_proxy(each)}
    stopped = folders.keys() - running
    return {each for each in stopped if _is_gone(folders[each], each)}


def _is_running_proxy(container: Mapping[str, Any]) -> bool:
    return PROXY_LABEL in container["Labels"] and container["State"] == "running"


def _data_folders(container: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a container's data folder, derived from its mounts."""
    for mount in container["Mounts"]:
        source = Path(str(mount.get("Source", "")))
        if mount.get("Destination") == MOUNT_POINT:
            yield source.parent
        elif mount.get("Destination") == WORKSPACE:
            yield data_folder_of_workspace(source)


def _is_gone(folder: Path, instance: str) -> bool:
    """Return whether a data folder is gone or another instance's; False if unreadable."""
    try:
        folder.stat()
        return read_instance_id(folder) not in ("", instance)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False

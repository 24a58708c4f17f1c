"""Finding, stopping, keeping and removing the containers of idle sandboxes.

A stopped one leaves its network but reserves its address: its environment names the proxy there.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

import docker.errors

from agent.sandbox.engine.client import Client, engine_errors
from agent.sandbox.network.subnets import SandboxNetwork

INSTANCE_LABEL = "llm-in-sandbox-studio.instance"
SANDBOX_LABEL = "llm-in-sandbox-studio.sandbox"
ADDRESS_LABEL = "llm-in-sandbox-studio.address"


@dataclass(frozen=True, slots=True)
class ContainerInfo:
    """A container of this instance as listed by the engine."""

    id: str
    sandbox_id: str  # empty if it is not a sandbox
    state: str  # the engine's word, such as ``exited``
    network: SandboxNetwork | None  # may not exist at the moment


def list_containers(client: Client, instance: str, sandbox: str = "") -> list[ContainerInfo]:
    """List the containers of an instance, or of one of its sandboxes, newest first."""
    labels = [f"{INSTANCE_LABEL}={instance}"]
    if sandbox:
        labels.append(f"{SANDBOX_LABEL}={sandbox}")
    with engine_errors("The sandboxes cannot be listed"):
        found = client.api.containers(all=True, filters={"label": labels})
    return [_container_info(each) for each in sorted(found, key=lambda each: -each["Created"])]


def _container_info(listing: Any) -> ContainerInfo:
    labels = listing["Labels"]
    address = labels.get(ADDRESS_LABEL, "")
    network = SandboxNetwork(listing["HostConfig"]["NetworkMode"], address) if address else None
    return ContainerInfo(
        str(listing["Id"]), labels.get(SANDBOX_LABEL, ""), str(listing["State"]), network
    )


def stop(client: Client, container: str, network: SandboxNetwork | None) -> None:
    """Stop a container and disconnect it from its network."""
    with engine_errors("The sandbox cannot be stopped"), _ignore_missing():
        if client.api.inspect_container(container)["State"]["Paused"]:
            client.api.unpause(container)
        client.api.stop(container, timeout=0)
        if network is not None:
            with contextlib.suppress(docker.errors.APIError):  # may not be connected
                client.api.disconnect_container_from_network(container, network.name, force=True)


def remove(client: Client, container: str) -> None:
    """Remove a container; do nothing if it is gone or already being removed."""
    with engine_errors("The sandbox cannot be removed"), _ignore_missing():
        try:
            client.api.remove_container(container, force=True, v=True)
        except docker.errors.APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:
                raise


def stopped_at(client: Client, container: str) -> float | None:
    """Return when a container stopped, in seconds since the epoch; None unless it has exited."""
    with engine_errors("The sandbox cannot be inspected"):
        state = client.api.inspect_container(container)["State"]
    if state["Status"] != "exited":
        return None
    return datetime.fromisoformat(state["FinishedAt"][:19] + "+00:00").timestamp()


@contextlib.contextmanager
def _ignore_missing() -> Iterator[None]:
    with contextlib.suppress(docker.errors.NotFound):
        yield


def reap(
    client: Client, instance: str, is_kept: Callable[[str], bool] = lambda _: False
) -> list[ContainerInfo]:
    """Remove an instance's containers; only stop, and return, those of certain sandboxes.

    The caller must hold the lock of the instance's data folder, so that no process uses them.
    """
    kept: dict[str, ContainerInfo] = {}
    for info in list_containers(client, instance):
        if info.sandbox_id in kept or info.state == "created" or not is_kept(info.sandbox_id):
            remove(client, info.id)
            continue
        kept[info.sandbox_id] = info
        if info.state != "exited":
            stop(client, info.id, info.network)
    return list(kept.values())

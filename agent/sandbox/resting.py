"""Containers that nobody works in: found, stopped, kept with what was installed, removed.

A sandbox that rests has its container stopped and its network given back; the address that it
had there stays its own, since what runs inside knows the proxy by it.
"""

import contextlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

import docker.errors

from agent.sandbox.engine import Client, engine_errors
from agent.sandbox.subnets import Place

INSTANCE_LABEL = "llm-in-sandbox-studio.instance"
SANDBOX_LABEL = "llm-in-sandbox-studio.sandbox"
ADDRESS_LABEL = "llm-in-sandbox-studio.address"


@dataclass(frozen=True, slots=True)
class Kept:
    """A container of this instance as the engine lists it.

    Attributes:
        container: Its id.
        sandbox: The id of its sandbox; empty for one that is none.
        state: ``running``, ``exited``, ``paused``, ``created`` … as the engine says.
        place: Its network, whether that is there or not; None where it has none.
    """

    container: str
    sandbox: str
    state: str
    place: Place | None


def listed(client: Client, instance: str, sandbox: str = "") -> list[Kept]:
    """The containers of an instance, or of one of its sandboxes, the newest first.

    Raises:
        SandboxError: the engine refused.
    """
    labels = [f"{INSTANCE_LABEL}={instance}"]
    if sandbox:
        labels.append(f"{SANDBOX_LABEL}={sandbox}")
    with engine_errors("The sandboxes that are there can't be listed"):
        found = client.api.containers(all=True, filters={"label": labels})
    return [_kept(each) for each in sorted(found, key=lambda each: -each["Created"])]


def _kept(found: Any) -> Kept:
    labels = found["Labels"]
    address = labels.get(ADDRESS_LABEL, "")
    place = Place(found["HostConfig"]["NetworkMode"], address) if address else None
    return Kept(str(found["Id"]), labels.get(SANDBOX_LABEL, ""), str(found["State"]), place)


def stop(client: Client, container: str, place: Place | None) -> None:
    """Stop a container, whatever runs in it, and take it out of its network.

    Raises:
        SandboxError: the engine refused.
    """
    with engine_errors("The sandbox can't be stopped"), _unless_gone():
        if client.api.inspect_container(container)["State"]["Paused"]:
            client.api.unpause(container)
        client.api.stop(container, timeout=0)
        if place is not None:
            with contextlib.suppress(docker.errors.APIError):  # it may not be in it
                client.api.disconnect_container_from_network(container, place.network, force=True)


def remove(client: Client, container: str) -> None:
    """Remove a container; one that is gone, or about to be, is no error.

    Raises:
        SandboxError: the engine refused.
    """
    with engine_errors("The sandbox can't be removed"), _unless_gone():
        try:
            client.api.remove_container(container, force=True, v=True)
        except docker.errors.APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:
                raise


def stopped_at(client: Client, container: str) -> float | None:
    """When a container stopped, in seconds since the epoch; None while it runs or never ran.

    Raises:
        SandboxError: the engine refused, or the container is gone.
    """
    with engine_errors("The sandbox can't be looked at"):
        state = client.api.inspect_container(container)["State"]
    if state["Status"] != "exited":
        return None
    return datetime.fromisoformat(state["FinishedAt"][:19] + "+00:00").timestamp()


@contextlib.contextmanager
def _unless_gone() -> Iterator[None]:
    with contextlib.suppress(docker.errors.NotFound):
        yield


def reap(client: Client, instance: str, spare: Container[str] = ()) -> list[Kept]:
    """Remove an instance's containers, and stop those of the sandboxes that are to be spared.

    Only for who holds the lock of that instance's data folder: then nobody uses them.

    Args:
        client: The engine.
        instance: Whose containers; no others are touched.
        spare: The ids of sandboxes that keep theirs, the newest of each.

    Returns:
        The containers that rest now.

    Raises:
        SandboxError: the engine refused.
    """
    resting: dict[str, Kept] = {}
    for kept in listed(client, instance):
        if kept.sandbox not in spare or kept.sandbox in resting or kept.state == "created":
            remove(client, kept.container)
            continue
        resting[kept.sandbox] = kept
        if kept.state != "exited":
            stop(client, kept.container, kept.place)
    return list(resting.values())

"""The network of a sandbox: its name, its subnet, and the addresses of sandbox and proxy."""

import contextlib
import ipaddress
import secrets
from collections.abc import Container
from dataclasses import dataclass

import docker
import docker.errors
import docker.types

from agent.sandbox.engine.client import engine_errors

PORT = 3128
"""The proxy's port."""

SUBNETS = ipaddress.ip_network("198.18.0.0/15")
"""Range of the sandbox networks: reserved for benchmarking (RFC 2544), not used by real hosts."""

_PREFIX = 29
_OURS, _THEIRS = 2, 3
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Place:
    """The network of one sandbox.

    Attributes:
        network: Its name in the engine.
        address: The sandbox's address in it.
    """

    network: str
    address: str

    @property
    def door(self) -> str:
        """The proxy's address in it."""
        return str(_subnet(self.address)[_OURS])

    @property
    def proxy(self) -> str:
        """The proxy's URL for the sandbox."""
        return f"http://{self.door}:{PORT}"


def new_place(
    client: docker.DockerClient, label: tuple[str, str], resting: Container[str]
) -> Place:
    """Create a network on an unused subnet.

    Args:
        client: The engine client.
        label: Label that marks the network's owner.
        resting: Addresses reserved for stopped sandboxes.

    Raises:
        docker.errors.APIError: the engine refused.
    """
    for left in reversed(range(_TRIES)):
        place = Place(f"studio-{secrets.token_hex(6)}", _drawn(resting))
        try:
            make(client, place, label)
            return place
        except docker.errors.APIError as error:
            if not left or "overlap" not in str(error).lower():
                raise
    raise AssertionError("the last try returns or raises")


def _drawn(resting: Container[str]) -> str:
    """Return a sandbox address in a random subnet, not one reserved for a stopped sandbox."""
    room, size = 2 ** (_PREFIX - SUBNETS.prefixlen), 2 ** (32 - _PREFIX)
    address = ""
    while not address or address in resting:
        base = int(SUBNETS.network_address) + secrets.randbelow(room) * size
        address = str(ipaddress.IPv4Address(base + _THEIRS))
    return address


def _subnet(address: str) -> ipaddress.IPv4Network:
    """Return the subnet that contains a sandbox's address."""
    return ipaddress.IPv4Network((address, _PREFIX), strict=False)


def make(client: docker.DockerClient, place: Place, label: tuple[str, str]) -> None:
    """Create a place's network, without a route to anywhere.

    Raises:
        docker.errors.APIError: the engine refused, for example because the subnet is in use.
    """
    pool = docker.types.IPAMPool(subnet=str(_subnet(place.address)))
    client.api.create_network(
        place.network,
        driver="bridge",
        internal=True,
        ipam=docker.types.IPAMConfig(pool_configs=[pool]),
        # Otherwise sandboxes could reach the host at the bridge's address, and through that at
        # all of its addresses.
        options={"com.docker.network.bridge.inhibit_ipv4": "true"},
        labels=dict([label]),
    )


def remove(client: docker.DockerClient, network: str) -> None:
    """Remove a network by its name or id, if it exists.

    Raises:
        docker.errors.APIError: the engine refused, for example because a container is in it.
    """
    with contextlib.suppress(docker.errors.NotFound):
        client.api.remove_network(network)


def reap(client: docker.DockerClient, label: tuple[str, str]) -> None:
    """Remove the networks that an instance's earlier process left behind.

    Its containers must have been removed first.

    Raises:
        SandboxError: the engine refused.
    """
    with engine_errors("Networks of an earlier start can't be removed"):
        for found in client.api.networks(filters={"label": "=".join(label)}):
            remove(client, found["Id"])

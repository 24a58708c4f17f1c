"""Where a sandbox's own network is: its name, its subnet, the two addresses in it."""

import contextlib
import ipaddress
import secrets
from collections.abc import Container
from dataclasses import dataclass

import docker
import docker.errors
import docker.types

from agent.sandbox.engine import engine_errors

PORT = 3128
"""Where the proxy listens."""

SUBNETS = ipaddress.ip_network("198.18.0.0/15")
"""Where the sandboxes' networks are made: a range kept for benchmarks, which no host is in."""

_PREFIX = 29
_OURS, _THEIRS = 2, 3
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Place:
    """A sandbox's own network.

    Attributes:
        network: Its name at the engine.
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
        """The proxy's URL as the sandbox reaches it."""
        return f"http://{self.door}:{PORT}"


def new_place(
    client: docker.DockerClient, label: tuple[str, str], resting: Container[str]
) -> Place:
    """Make a network on a subnet that nobody has yet.

    Args:
        client: The engine.
        label: Marks the network's owner.
        resting: Addresses that are kept for sandboxes that rest.

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
    """An address out of a subnet by chance, of none that is kept for a sandbox that rests."""
    room, size = 2 ** (_PREFIX - SUBNETS.prefixlen), 2 ** (32 - _PREFIX)
    address = ""
    while not address or address in resting:
        base = int(SUBNETS.network_address) + secrets.randbelow(room) * size
        address = str(ipaddress.IPv4Address(base + _THEIRS))
    return address


def _subnet(address: str) -> ipaddress.IPv4Network:
    """The network that a sandbox's address is in."""
    return ipaddress.IPv4Network((address, _PREFIX), strict=False)


def make(client: docker.DockerClient, place: Place, label: tuple[str, str]) -> None:
    """Make a place's network, from which nothing leads anywhere.

    Raises:
        docker.errors.APIError: the engine refused, such as where another has the addresses.
    """
    pool = docker.types.IPAMPool(subnet=str(_subnet(place.address)))
    client.api.create_network(
        place.network,
        driver="bridge",
        internal=True,
        ipam=docker.types.IPAMConfig(pool_configs=[pool]),
        # Else the host itself could be reached at the bridge's address, and from there
        # at all of its own.
        options={"com.docker.network.bridge.inhibit_ipv4": "true"},
        labels=dict([label]),
    )


def remove(client: docker.DockerClient, network: str) -> None:
    """Remove a network by its name or id, if it is there.

    Raises:
        docker.errors.APIError: the engine refused, such as where somebody is in it.
    """
    with contextlib.suppress(docker.errors.NotFound):
        client.api.remove_network(network)


def reap(client: docker.DockerClient, label: tuple[str, str]) -> None:
    """Remove an instance's networks that an earlier process left; its containers are gone already.

    Raises:
        SandboxError: the engine refused.
    """
    with engine_errors("Networks of an earlier start can't be removed"):
        for found in client.api.networks(filters={"label": "=".join(label)}):
            remove(client, found["Id"])

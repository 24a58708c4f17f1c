"""The network of a sandbox: its name, its subnet, and the addresses of sandbox and proxy."""

import contextlib
import ipaddress
import secrets
from collections.abc import Container
from dataclasses import dataclass

import docker
import docker.errors
import docker.types

from agent.sandbox.engine.client import Client, engine_errors

PROXY_PORT = 3128
"""The proxy's port."""

SUBNET_RANGE = ipaddress.ip_network("198.18.0.0/15")
"""Range of the sandbox networks: reserved for benchmarking (RFC 2544), not used by real hosts."""

_PREFIX_LENGTH = 29
_PROXY_INDEX, _SANDBOX_INDEX = 2, 3
_MAX_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class SandboxNetwork:
    """The network of one sandbox."""

    name: str
    address: str

    @property
    def proxy_address(self) -> str:
        """The proxy's address in it."""
        return str(_subnet(self.address)[_PROXY_INDEX])

    @property
    def proxy_url(self) -> str:
        """The proxy's URL for the sandbox."""
        return f"http://{self.proxy_address}:{PROXY_PORT}"


def create_on_free_subnet(
    client: Client, label: tuple[str, str], reserved: Container[str]
) -> SandboxNetwork:
    """Create a network on an unused subnet, at no address reserved for a stopped sandbox."""
    for left in reversed(range(_MAX_ATTEMPTS)):
        network = SandboxNetwork(f"studio-{secrets.token_hex(6)}", _random_address(reserved))
        try:
            create(client, network, label)
            return network
        except docker.errors.APIError as error:
            if not left or "overlap" not in str(error).lower():
                raise
    raise AssertionError("the last attempt returns or raises")


def _random_address(reserved: Container[str]) -> str:
    """Return a sandbox address in a random subnet, not one reserved for a stopped sandbox."""
    count, size = 2 ** (_PREFIX_LENGTH - SUBNET_RANGE.prefixlen), 2 ** (32 - _PREFIX_LENGTH)
    address = ""
    while not address or address in reserved:
        base = int(SUBNET_RANGE.network_address) + secrets.randbelow(count) * size
        address = str(ipaddress.IPv4Address(base + _SANDBOX_INDEX))
    return address


def _subnet(address: str) -> ipaddress.IPv4Network:
    """Return the subnet that contains a sandbox's address."""
    return ipaddress.IPv4Network((address, _PREFIX_LENGTH), strict=False)


def create(client: Client, network: SandboxNetwork, label: tuple[str, str]) -> None:
    """Create a sandbox's network, without a route to other networks."""
    pool = docker.types.IPAMPool(subnet=str(_subnet(network.address)))
    client.api.create_network(
        network.name,
        driver="bridge",
        internal=True,
        ipam=docker.types.IPAMConfig(pool_configs=[pool]),
        # Otherwise sandboxes could reach the host at the bridge's address, and through that at
        # all of its addresses.
        options={"com.docker.network.bridge.inhibit_ipv4": "true"},
        labels=dict([label]),
    )


def remove(client: Client, network: str) -> None:
    """Remove a network by its name or id, if it exists."""
    with contextlib.suppress(docker.errors.NotFound):
        client.api.remove_network(network)


def reap(client: Client, label: tuple[str, str]) -> None:
    """Remove the networks that an earlier process left; their containers must be gone."""
    with engine_errors("Networks of an earlier process cannot be removed"):
        for found in client.api.networks(filters={"label": "=".join(label)}):
            remove(client, found["Id"])

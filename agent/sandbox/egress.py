"""The sandboxes' way out: a network without a route for each, and one proxy that is in all of them.

What a sandbox may reach is decided outside of it, by the proxy's container (``proxy/``): there
is nothing else that its network leads to, and no name server.
"""

import contextlib
import ipaddress
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types

from agent.errors import SandboxError
from agent.sandbox import proxy
from agent.sandbox.access_log import AccessLog
from agent.sandbox.engine import engine_errors
from agent.sandbox.network import Policy, Request
from agent.sandbox.own_addresses import own_addresses

PORT = 3128
SUBNETS = ipaddress.ip_network("198.18.0.0/15")
"""Where the sandboxes' networks are made: a range kept for benchmarks, which no host is in."""

RESOLVER = Path(proxy.__file__).resolve().parent / "resolv.conf"
"""The sandboxes' resolv.conf: no name server, so that a look-up fails at once."""

_PREFIX = 29
_TRIES = 20
_READY_SECONDS = 30.0
_LISTENING = "Accepting HTTP Socket connections"
_PROXY_LABEL = "llm-in-sandbox-studio.proxy"


@dataclass(frozen=True, slots=True)
class Place:
    """A sandbox's own network.

    Attributes:
        network: Its name at the engine.
        address: The sandbox's address in it.
        proxy: The proxy's URL as the sandbox reaches it.
    """

    network: str
    address: str
    proxy: str


class Egress:
    """The proxy of one instance, and the networks that lead to it. Any thread may use it.

    Args:
        client: The engine; stays open.
        image: The proxy's image.
        folder: The host's folder for the proxy's policies and log; made where it is missing.
        label: Name and value that marks what belongs to this instance.
        parent: ``host:port`` of a proxy that ours is to go through; empty for none.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        image: str,
        folder: Path,
        label: tuple[str, str],
        parent: str = "",
    ) -> None:
        self._client, self._image, self._folder = client, image, folder
        self._label, self._parent = label, parent
        self._proxy = ""
        self._log = AccessLog(folder / "log" / "access.log")

    def open(self) -> None:
        """Start the proxy; returns when it listens.

        Raises:
            SandboxError: it could not be started; the text says what it said.
        """
        policies, logs = self._folder / "policies", self._folder / "log"
        policies.mkdir(parents=True, exist_ok=True)
        logs.mkdir(exist_ok=True)
        self._folder.chmod(0o755)  # Squid's own user reads and writes here
        logs.chmod(0o777)
        for left in (*policies.iterdir(), *logs.iterdir()):
            left.unlink()
        with engine_errors("The sandboxes' proxy can't be started"):
            self._proxy = self._start()
        self._wait(logs / "squid.log")

    def close(self) -> None:
        """Remove the proxy."""
        with engine_errors("The proxy can't be removed"), _unless_gone():
            if self._proxy:
                self._client.api.remove_container(self._proxy, force=True, v=True)
        self._proxy = ""

    def attach(self) -> Place:
        """A new network with the proxy in it; nothing is allowed there yet.

        Raises:
            SandboxError: the engine refused; nothing is left behind.
        """
        with engine_errors("The sandbox's network can't be made"):
            network, subnet = self._network()
            ours, theirs = str(subnet[2]), str(subnet[3])
            with contextlib.ExitStack() as on_failure:
                on_failure.callback(self._client.api.remove_network, network)
                self._client.api.connect_container_to_network(
                    self._proxy, network, ipv4_address=ours
                )
                on_failure.pop_all()
        return Place(network, theirs, f"http://{ours}:{PORT}")

    def allow(self, place: Place, policy: Policy) -> None:
        """Let a sandbox reach what a policy names, from its next request on."""
        path = self._folder / "policies" / place.address
        new = path.with_suffix(".new")
        new.write_text("\n".join(policy.lines()))
        new.replace(path)

    def requests(self, place: Place) -> list[Request]:
        """What a sandbox has asked for since the last time; tunnels count when they close."""
        return self._log.take(place.address)

    def detach(self, place: Place) -> None:
        """Remove a sandbox's network. Its container must be gone from it."""
        (self._folder / "policies" / place.address).unlink(missing_ok=True)
        self.requests(place)
        with engine_errors("The sandbox's network can't be removed"):
            with contextlib.suppress(docker.errors.APIError):  # the proxy may be gone itself
                self._client.api.disconnect_container_from_network(
                    self._proxy, place.network, force=True
                )
            with _unless_gone():
                self._client.api.remove_network(place.network)

    def _start(self) -> str:
        mount = docker.types.Mount
        code = str(Path(proxy.__file__).resolve().parent)
        host = self._client.api.create_host_config(
            init=True,
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN", "SETGID", "SETUID"],
            security_opt=["no-new-privileges"],
            mem_limit=256 * 1024**2,
            pids_limit=64,
            restart_policy={"Name": "unless-stopped"},
            log_config=docker.types.LogConfig(
                type=docker.types.LogConfig.types.JSON, config={"max-size": "1m"}
            ),
            mounts=[
                mount("/opt/studio/proxy", code, type="bind", read_only=True),
                mount("/run/studio", str(self._folder.resolve()), type="bind"),
            ],
        )
        created = self._client.api.create_container(
            self._image,
            command=["sh", "/opt/studio/proxy/start.sh"],
            hostname="proxy",
            environment={"REFUSED": " ".join(own_addresses()), "PARENT": self._parent},
            labels=dict([self._label, (_PROXY_LABEL, "1")]),
            host_config=host,
        )
        self._client.api.start(created["Id"])
        return str(created["Id"])

    def _wait(self, log: Path) -> None:
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            if log.exists() and _LISTENING in log.read_text(errors="replace"):
                return
            time.sleep(0.05)
        with engine_errors("The proxy did not start"):
            said = self._client.api.logs(self._proxy, tail=5).decode(errors="replace")
        self.close()
        raise SandboxError(f"The sandboxes' proxy did not start: {said.strip() or 'no word of it'}")

    def _network(self) -> tuple[str, ipaddress.IPv4Network]:
        """A network on a subnet that nobody has yet."""
        room = 2 ** (_PREFIX - SUBNETS.prefixlen)
        for left in reversed(range(_TRIES)):
            size = 2 ** (32 - _PREFIX)
            base = int(SUBNETS.network_address) + secrets.randbelow(room) * size
            subnet = ipaddress.IPv4Network((base, _PREFIX))
            try:
                return self._make(subnet), subnet
            except docker.errors.APIError as error:
                if not left or "overlap" not in str(error).lower():
                    raise
        raise AssertionError("the last try returns or raises")

    def _make(self, subnet: ipaddress.IPv4Network) -> str:
        name = f"studio-{secrets.token_hex(6)}"
        pool = docker.types.IPAMPool(subnet=str(subnet))
        self._client.api.create_network(
            name,
            driver="bridge",
            internal=True,
            ipam=docker.types.IPAMConfig(pool_configs=[pool]),
            # Else the host itself could be reached at the bridge's address, and from there
            # at all of its own.
            options={"com.docker.network.bridge.inhibit_ipv4": "true"},
            labels=dict([self._label]),
        )
        return name


def reap(client: docker.DockerClient, label: tuple[str, str]) -> None:
    """Remove an instance's networks that an earlier process left; its containers are gone already.

    Raises:
        SandboxError: the engine refused.
    """
    with engine_errors("Networks of an earlier start can't be removed"):
        for found in client.api.networks(filters={"label": "=".join(label)}):
            with _unless_gone():
                client.api.remove_network(found["Id"])


@contextlib.contextmanager
def _unless_gone() -> Iterator[Any]:
    with contextlib.suppress(docker.errors.NotFound):
        yield

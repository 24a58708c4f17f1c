"""Network access of sandboxes: a network for each, in which only the proxy is reachable."""

import contextlib
import logging
import threading
import time
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types

from agent.errors import SandboxError
from agent.sandbox.engine.client import ENGINE_ERRORS, Client, engine_errors, is_responding
from agent.sandbox.network import subnets
from agent.sandbox.network.access_log import AccessLog
from agent.sandbox.network.policy import NetworkPolicy, NetworkRequest
from agent.sandbox.network.proxy_folder import MOUNT_POINT, ProxyFolder
from agent.sandbox.network.subnets import SandboxNetwork
from agent.sandbox.pool import Pool
from agent.util.ip_addresses import own_addresses_and_networks

_SPARE_NETWORKS = 1
_READY_SECONDS = 30.0
_WAIT_SECONDS = 10
_RETRY_INTERVAL_SECONDS = 0.5
_FIRST_SANDBOX_SECONDS = 1.0
_POLL_SECONDS = 0.01
_CPU_SHARES = 8 * 1024  # a sandbox has 1024: all of them wait for it
_log = logging.getLogger(__name__)
_LISTENING_MESSAGE = "Accepting HTTP Socket connections"
PROXY_LABEL = "llm-in-sandbox-studio.proxy"


class Proxy:
    """The proxy of one instance, and the sandbox networks that it serves. Thread-safe.

    ``label`` marks its containers and networks; ``upstream`` is a further proxy's ``host:port``.
    """

    def __init__(
        self,
        client: Client,
        image: str,
        folder: Path,
        label: tuple[str, str],
        upstream: str = "",
    ) -> None:
        self._client, self.image, self._folder = client, image, ProxyFolder(folder)
        self._label, self._upstream = label, upstream
        self._container = ""
        self._reserved: set[str] = set()
        self._networks: dict[str, SandboxNetwork] = {}
        self._unused: list[SandboxNetwork] = []
        self._spares: Pool[SandboxNetwork] | None = None
        self._sandbox_started = threading.Event()
        self._lock = threading.RLock()
        self._closing, self._gone = threading.Event(), threading.Event()
        self._restart_thread = threading.Thread(
            target=self._keep_running, name="proxy keeper", daemon=True
        )
        self._access_log = AccessLog(self._folder.access_log)

    def open(self) -> None:
        """Create the network of the first sandbox; ``start`` connects the proxy to it."""
        with engine_errors("The sandbox's network cannot be created"):
            network = subnets.create_on_free_subnet(self._client, self._label, self._reserved)
        self._networks[network.name] = network
        self._unused.append(network)

    def start(self) -> None:
        """Create the proxy, start it after the first sandbox or a second, and keep it running.

        Two containers that start at the same time delay each other; only commands need the proxy.
        """
        try:
            with self._lock, engine_errors("The sandboxes' proxy cannot be created"):
                if not self._closing.is_set() and self._state() is None:
                    self._create_connected()
            self._sandbox_started.wait(_FIRST_SANDBOX_SECONDS)
            self.ensure_running()
        finally:
            with self._lock:
                if not self._closing.is_set() and self._restart_thread.ident is None:
                    self._restart_thread.start()

    def close(self) -> None:
        """Remove the proxy, and the networks that no sandbox took."""
        self._closing.set()
        self._sandbox_started.set()
        try:
            with self._lock, engine_errors("The proxy cannot be removed"):
                with contextlib.suppress(docker.errors.NotFound):
                    if self._container:
                        self._client.api.remove_container(self._container, force=True, v=True)
                self._container = ""
        finally:
            self._gone.set()
        while self._unused:
            self._disconnect_and_remove(self._unused.pop())
        if self._spares is not None:
            self._spares.close()
        self._folder.release()
        if self._restart_thread.is_alive():
            self._restart_thread.join(_WAIT_SECONDS)

    def create_network(self) -> SandboxNetwork:
        """Create a network with the proxy in it; no request is allowed yet."""
        with contextlib.suppress(IndexError):
            return self._unused.pop()  # without the lock, which ``start`` holds
        return self._take_spare() or self._create_network()

    def _take_spare(self) -> SandboxNetwork | None:
        """Return a network that was made ahead; from the second sandbox on some are."""
        with self._lock:
            if self._spares is None and not self._closing.is_set():
                self._spares = Pool(
                    self._create_network, _SPARE_NETWORKS, dispose=self._disconnect_and_remove
                )
        return self._spares.take() if self._spares is not None else None

    def _create_network(self) -> SandboxNetwork:
        with engine_errors("The sandbox's network cannot be created"):
            self.ensure_running()
            if self._closing.is_set():
                raise SandboxError("The sandboxes' proxy was closed.")
            network = subnets.create_on_free_subnet(self._client, self._label, self._reserved)
            with self._lock:  # not while it is created: first commands wait for the lock
                self._add_network(network)
        return network

    def report_sandbox_started(self) -> None:
        """Tell ``start`` that a sandbox has started."""
        self._sandbox_started.set()

    def recreate_network(self, network: SandboxNetwork) -> None:
        """Recreate the network of a stopped sandbox; no request is allowed yet."""
        with self._lock, engine_errors("The sandbox's network cannot be recreated"):
            self._ensure_running()
            subnets.remove(self._client, network.name)
            subnets.create(self._client, network, self._label)
            self._add_network(network)
        self._reserved.discard(network.address)

    def suspend_network(self, network: SandboxNetwork) -> None:
        """Remove the network that a stopped sandbox has left; reserve its addresses."""
        self._reserved.add(network.address)
        self._disconnect_and_remove(network)

    def reserve_addresses(self, network: SandboxNetwork) -> None:
        """Reserve the addresses of a sandbox that an earlier process stopped, before ``open``."""
        self._reserved.add(network.address)

    def _add_network(self, network: SandboxNetwork) -> None:
        """Connect the proxy to a sandbox's network; remove the network on failure."""
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._client.api.remove_network, network.name)
            self._connect(network)
            on_failure.pop_all()
        self._networks[network.name] = network

    def _connect(self, network: SandboxNetwork) -> None:
        self._client.api.connect_container_to_network(
            self._container, network.name, ipv4_address=network.proxy_address
        )

    def ensure_running(self) -> None:
        """Start the proxy if it does not run, and wait until it listens."""
        with self._lock, engine_errors("The sandboxes' proxy cannot be started"):
            self._ensure_running()

    def _keep_running(self) -> None:
        """Restart the proxy whenever it ends."""
        last_error = ""
        while not self._closing.is_set():
            try:
                self._client.api.wait(self._container, timeout=_WAIT_SECONDS)
            except ENGINE_ERRORS:  # the wait timed out, or the engine is down
                self._closing.wait(_RETRY_INTERVAL_SECONDS)
            if not is_responding(self._client):
                continue
            try:
                self.ensure_running()
                last_error = ""
            except (SandboxError, OSError) as error:  # also a data folder that is gone
                if not last_error:
                    _log.warning("%s", error)
                last_error = str(error)

    def _ensure_running(self) -> None:
        """Start the proxy if it does not run; wait until it listens."""
        if self._closing.is_set():
            return
        state = self._state()
        if state is None:
            self._create_connected()
        if state is not None and state["Paused"]:
            self._client.api.unpause(self._container)
        elif state is None or not state["Running"]:
            self._start()

    def _state(self) -> dict[str, Any] | None:
        """Return the state of the proxy's container; None if there is none."""
        if not self._container:
            return None
        try:
            return dict(self._client.api.inspect_container(self._container)["State"])
        except docker.errors.NotFound:
            return None

    def _create_connected(self) -> None:
        """Create the proxy's container; connecting it is faster before it runs."""
        self._prepare_folder()
        self._create()
        for network in list(self._networks.values()):
            with contextlib.suppress(docker.errors.NotFound):
                self._connect(network)

    def _prepare_folder(self) -> None:
        if self._folder.prepared:  # without the lock, which is held while the proxy starts
            return
        with self._lock:
            if not self._folder.prepared:
                self._folder.prepare()

    def set_policy(self, network: SandboxNetwork, policy: NetworkPolicy) -> None:
        """Apply a policy to a sandbox, effective from its next request."""
        self._prepare_folder()
        self._folder.set_policy(network.address, policy)

    def take_requests(self, network: SandboxNetwork) -> list[NetworkRequest]:
        """Return a sandbox's requests since the last call; tunnels are logged when they close."""
        return self._access_log.take(network.address)

    def remove_network(self, network: SandboxNetwork) -> None:
        """Remove a sandbox's network. Its container must have left the network."""
        self._reserved.discard(network.address)
        self._disconnect_and_remove(network)

    def _disconnect_and_remove(self, network: SandboxNetwork) -> None:
        self._networks.pop(network.name, None)
        self._folder.remove_policy(network.address)
        self.take_requests(network)
        with engine_errors("The sandbox's network cannot be removed"):
            if self._closing.is_set():
                self._gone.wait(_WAIT_SECONDS)
            # The proxy itself may be gone, or not created yet (NullResource).
            with contextlib.suppress(docker.errors.APIError, docker.errors.NullResource):
                self._client.api.disconnect_container_from_network(
                    self._container, network.name, force=True
                )
            subnets.remove(self._client, network.name)

    def _create(self) -> None:
        """Create the proxy's container."""
        mount = docker.types.Mount
        folder, code = (str(each.resolve()) for each in (self._folder.path, self._folder.code))
        host = self._client.api.create_host_config(
            init=True,
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN", "SETGID", "SETUID"],
            security_opt=["no-new-privileges"],
            mem_limit=512 * 1024**2,  # 64 sandboxes with as many connections as they may have
            cpu_shares=_CPU_SHARES,
            pids_limit=64,
            log_config=docker.types.LogConfig(
                type=docker.types.LogConfig.types.JSON, config={"max-size": "1m"}
            ),
            mounts=[
                mount("/opt/studio/proxy", code, type="bind", read_only=True),
                mount(MOUNT_POINT, folder, type="bind"),
            ],
        )
        created = self._client.api.create_container(
            self.image,
            command=["sh", "/opt/studio/proxy/start.sh"],
            hostname="proxy",
            environment={
                "REFUSED": " ".join(own_addresses_and_networks()),
                "PARENT": self._upstream,
            },
            labels=dict([self._label, (PROXY_LABEL, "1")]),
            host_config=host,
        )
        self._container = str(created["Id"])

    def _start(self) -> None:
        """Start the proxy's container and wait until it listens."""
        self._folder.squid_log.write_text("")
        self._client.api.start(self._container)
        self._wait_until_listening()

    def _wait_until_listening(self) -> None:
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            if self._closing.is_set():
                return
            if _LISTENING_MESSAGE in self._folder.squid_log.read_text(errors="replace"):
                return
            time.sleep(_POLL_SECONDS)
        with engine_errors("The proxy did not start"):
            output = self._client.api.logs(self._container, tail=5).decode(errors="replace")
        raise SandboxError(
            f"The sandboxes' proxy did not start: {output.strip() or 'it printed nothing'}"
        )

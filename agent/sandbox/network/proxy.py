"""Network access of sandboxes: an isolated network per sandbox, and one proxy in all of them.

The proxy's container (``squid/``) enforces what a sandbox may reach. Nothing else is reachable
in a sandbox's network, and it has no name server.
"""

import contextlib
import logging
import threading
import time
from pathlib import Path

import docker
import docker.errors
import docker.types

from agent.errors import SandboxError
from agent.sandbox.engine.client import ENGINE_ERRORS, answers, engine_errors
from agent.sandbox.network import subnets
from agent.sandbox.network.access_log import AccessLog
from agent.sandbox.network.policy import Policy, Request
from agent.sandbox.network.proxy_folder import MOUNT, ProxyFolder
from agent.sandbox.network.subnets import Place
from agent.util.ip_addresses import own_and_next

_READY_SECONDS = 30.0
_LOOK = 10
_PAUSE = 0.5
_log = logging.getLogger(__name__)
_LISTENING = "Accepting HTTP Socket connections"
PROXY_LABEL = "llm-in-sandbox-studio.proxy"


class Egress:
    """The proxy of one instance, and the sandbox networks that it serves. Thread-safe.

    Args:
        client: The engine client; stays open.
        image: The proxy's image.
        folder: Host folder for the proxy's policies and log; created if missing.
        label: Name and value of the label on this instance's containers and networks.
        parent: ``host:port`` of an upstream proxy; empty for none.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        image: str,
        folder: Path,
        label: tuple[str, str],
        parent: str = "",
    ) -> None:
        self._client, self._image, self._folder = client, image, ProxyFolder(folder)
        self._label, self._parent = label, parent
        self._proxy = ""
        self._resting: set[str] = set()
        self._places: dict[str, Place] = {}
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="proxy keeper", daemon=True)
        self._log = AccessLog(self._folder.access_log)

    @property
    def image(self) -> str:
        """The tag of the proxy's image."""
        return self._image

    def open(self) -> None:
        """Start the proxy and wait until it listens.

        Raises:
            SandboxError: it could not be started; the message includes its output.
        """
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self.close)
            with engine_errors("The sandboxes' proxy can't be started"):
                self._folder.prepare()
                self._start()
            self._wait()
            on_failure.pop_all()
        self._keeper.start()

    def close(self) -> None:
        """Remove the proxy."""
        self._closing.set()
        gone = contextlib.suppress(docker.errors.NotFound)
        with self._lock, engine_errors("The proxy can't be removed"), gone:
            if self._proxy:
                self._client.api.remove_container(self._proxy, force=True, v=True)
            self._proxy = ""
        self._folder.release()
        if self._keeper.is_alive():
            self._keeper.join(_LOOK)

    def attach(self) -> Place:
        """Create a network with the proxy in it; no request is allowed yet.

        Raises:
            SandboxError: the engine refused; nothing is left behind.
        """
        with self._lock, engine_errors("The sandbox's network can't be made"):
            self._bring_back()
            place = subnets.new_place(self._client, self._label, self._resting)
            self._join(place)
        return place

    def attach_again(self, place: Place) -> None:
        """Recreate the network of a stopped sandbox; no request is allowed yet.

        Raises:
            SandboxError: the engine refused, or its subnet is in use by now.
        """
        with self._lock, engine_errors("The sandbox's network can't be made again"):
            self._bring_back()
            subnets.remove(self._client, place.network)
            subnets.make(self._client, place, self._label)
            self._join(place)
        self._resting.discard(place.address)

    def rest(self, place: Place) -> None:
        """Remove a stopped sandbox's network but reserve its addresses for a restart.

        Its container must have left the network.
        """
        self._resting.add(place.address)
        self._leave(place)

    def reserve(self, place: Place) -> None:
        """Reserve the addresses of a sandbox that an earlier process stopped."""
        self._resting.add(place.address)

    def _join(self, place: Place) -> None:
        """Connect the proxy to a sandbox's network; remove the network on failure."""
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._client.api.remove_network, place.network)
            self._enter(place)
            on_failure.pop_all()
        self._places[place.network] = place

    def _enter(self, place: Place) -> None:
        self._client.api.connect_container_to_network(
            self._proxy, place.network, ipv4_address=place.door
        )

    def _keep(self) -> None:
        """Restart the proxy whenever it ends."""
        told = ""
        while not self._closing.is_set():
            try:
                self._client.api.wait(self._proxy, timeout=_LOOK)
            except ENGINE_ERRORS:  # the wait timed out, or the engine is down
                self._closing.wait(_PAUSE)
            if not answers(self._client):
                continue
            try:
                with self._lock, engine_errors("The proxy can't be started again"):
                    self._bring_back()
                told = ""
            except SandboxError as error:
                if not told:
                    _log.warning("%s", error)
                told = str(error)

    def _bring_back(self) -> None:
        """Restart the proxy if it was stopped or removed; policies are kept on disk."""
        if self._closing.is_set():
            return
        try:
            state = self._client.api.inspect_container(self._proxy)["State"]
        except docker.errors.NotFound:
            self._start()
            for place in list(self._places.values()):
                with contextlib.suppress(docker.errors.NotFound):
                    self._enter(place)
            return
        if state["Paused"]:
            self._client.api.unpause(self._proxy)
        elif not state["Running"]:
            self._client.api.start(self._proxy)

    def allow(self, place: Place, policy: Policy) -> None:
        """Apply a policy to a sandbox, effective from its next request."""
        self._folder.allow(place.address, policy)

    def requests(self, place: Place) -> list[Request]:
        """Return a sandbox's requests since the last call; tunnels are logged when they close."""
        return self._log.take(place.address)

    def detach(self, place: Place) -> None:
        """Remove a sandbox's network. Its container must have left the network."""
        self._resting.discard(place.address)
        self._leave(place)

    def _leave(self, place: Place) -> None:
        self._places.pop(place.network, None)
        self._folder.forget(place.address)
        self.requests(place)
        with engine_errors("The sandbox's network can't be removed"):
            with contextlib.suppress(docker.errors.APIError):  # the proxy itself may be gone
                self._client.api.disconnect_container_from_network(
                    self._proxy, place.network, force=True
                )
            subnets.remove(self._client, place.network)

    def _start(self) -> None:
        mount = docker.types.Mount
        folder, code = (str(each.resolve()) for each in (self._folder.path, self._folder.code))
        host = self._client.api.create_host_config(
            init=True,
            cap_drop=["ALL"],
            cap_add=["NET_ADMIN", "SETGID", "SETUID"],
            security_opt=["no-new-privileges"],
            mem_limit=256 * 1024**2,
            pids_limit=64,
            log_config=docker.types.LogConfig(
                type=docker.types.LogConfig.types.JSON, config={"max-size": "1m"}
            ),
            mounts=[
                mount("/opt/studio/proxy", code, type="bind", read_only=True),
                mount(MOUNT, folder, type="bind"),
            ],
        )
        created = self._client.api.create_container(
            self._image,
            command=["sh", "/opt/studio/proxy/start.sh"],
            hostname="proxy",
            environment={"REFUSED": " ".join(own_and_next()), "PARENT": self._parent},
            labels=dict([self._label, (PROXY_LABEL, "1")]),
            host_config=host,
        )
        self._proxy = str(created["Id"])
        self._client.api.start(self._proxy)

    def _wait(self) -> None:
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            if _LISTENING in self._folder.squid_log.read_text(errors="replace"):
                return
            time.sleep(0.05)
        with engine_errors("The proxy did not start"):
            said = self._client.api.logs(self._proxy, tail=5).decode(errors="replace")
        raise SandboxError(f"The sandboxes' proxy did not start: {said.strip() or 'no word of it'}")

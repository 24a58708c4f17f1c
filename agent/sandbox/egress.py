"""The sandboxes' way out: a network without a route for each, and one proxy that is in all of them.

What a sandbox may reach is decided outside of it, by the proxy's container (``proxy/``): there
is nothing else that its network leads to, and no name server.
"""

import contextlib
import logging
import threading
import time
from pathlib import Path

import docker
import docker.errors
import docker.types

from agent.addresses import own_and_next
from agent.errors import SandboxError
from agent.sandbox import proxy, subnets
from agent.sandbox.access_log import AccessLog
from agent.sandbox.engine import ENGINE_ERRORS, answers, engine_errors
from agent.sandbox.network import Policy, Request
from agent.sandbox.subnets import Place

RESOLVER = Path(proxy.__file__).resolve().parent / "resolv.conf"
"""The sandboxes' resolv.conf: no name server, so that a look-up fails at once."""

_READY_SECONDS = 30.0
_LOOK = 10
_PAUSE = 0.5
_log = logging.getLogger(__name__)
_LISTENING = "Accepting HTTP Socket connections"
_PROXY_LABEL = "llm-in-sandbox-studio.proxy"


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
        self._resting: set[str] = set()
        self._places: dict[str, Place] = {}
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="proxy keeper", daemon=True)
        self._log = AccessLog(folder / "log" / "access.log")

    @property
    def image(self) -> str:
        """The tag of the proxy's image."""
        return self._image

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
        self._keeper.start()

    def close(self) -> None:
        """Remove the proxy."""
        self._closing.set()
        gone = contextlib.suppress(docker.errors.NotFound)
        with self._lock, engine_errors("The proxy can't be removed"), gone:
            if self._proxy:
                self._client.api.remove_container(self._proxy, force=True, v=True)
            self._proxy = ""
        if self._keeper.is_alive():
            self._keeper.join(_LOOK)

    def attach(self) -> Place:
        """A new network with the proxy in it; nothing is allowed there yet.

        Raises:
            SandboxError: the engine refused; nothing is left behind.
        """
        with self._lock, engine_errors("The sandbox's network can't be made"):
            self._bring_back()
            place = subnets.new_place(self._client, self._label, self._resting)
            self._join(place)
        return place

    def attach_again(self, place: Place) -> None:
        """Make the network of a sandbox that rested again; nothing is allowed there yet.

        Raises:
            SandboxError: the engine refused, or another has the addresses by now.
        """
        with self._lock, engine_errors("The sandbox's network can't be made again"):
            self._bring_back()
            subnets.remove(self._client, place.network)
            subnets.make(self._client, place, self._label)
            self._join(place)
        self._resting.discard(place.address)

    def rest(self, place: Place) -> None:
        """Give a sandbox's network back; its addresses are kept for when it comes again.

        Its container must be out of it.
        """
        self._resting.add(place.address)
        self._leave(place)

    def reserve(self, place: Place) -> None:
        """Keep the addresses of a sandbox that has rested since an earlier start."""
        self._resting.add(place.address)

    def _join(self, place: Place) -> None:
        """Put the proxy into a sandbox's network, which goes where that fails."""
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
        """See to it that the proxy is there, whatever ends it."""
        told = ""
        while not self._closing.is_set():
            try:
                self._client.api.wait(self._proxy, timeout=_LOOK)
            except ENGINE_ERRORS:  # it has not ended, or the engine has
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
        """Start the proxy again where somebody ended it; what a run may reach is on the disk."""
        if self._closing.is_set():
            return
        try:
            state = self._client.api.inspect_container(self._proxy)["State"]
        except docker.errors.NotFound:
            self._proxy = self._start()
            for place in list(self._places.values()):
                with contextlib.suppress(docker.errors.NotFound):
                    self._enter(place)
            return
        if state["Paused"]:
            self._client.api.unpause(self._proxy)
        elif not state["Running"]:
            self._client.api.start(self._proxy)

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
        self._resting.discard(place.address)
        self._leave(place)

    def _leave(self, place: Place) -> None:
        self._places.pop(place.network, None)
        (self._folder / "policies" / place.address).unlink(missing_ok=True)
        self.requests(place)
        with engine_errors("The sandbox's network can't be removed"):
            with contextlib.suppress(docker.errors.APIError):  # the proxy may be gone itself
                self._client.api.disconnect_container_from_network(
                    self._proxy, place.network, force=True
                )
            subnets.remove(self._client, place.network)

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
            environment={"REFUSED": " ".join(own_and_next()), "PARENT": self._parent},
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

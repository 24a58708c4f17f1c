"""The sandbox as a container.

Commands run as root inside, with the few capabilities that ``apt-get`` needs, and none
that reaches out of the container. The workspace is a folder of the host, mounted.
"""

import contextlib
import os
import re
import socket
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from agent.errors import SandboxError
from agent.sandbox import gauge, resting, shell
from agent.sandbox.container import HOME, PLACE, ContainerSpec, create_container
from agent.sandbox.engine import BACK_SECONDS, await_engine, engine_errors
from agent.sandbox.link import Connection
from agent.sandbox.network import Policy, Request
from agent.sandbox.streams import SUPERVISOR_CODE, EngineConnection
from agent.sandbox.subnets import Place
from agent.sandbox.supervised import SupervisedSandbox

_REMOVED = (
    "The sandbox's container is not there any more: something else removed it. Send a message to "
    "go on in a new one, with the same files."
)
_NO_MEMORY = "The sandbox ran out of memory and ended."
_FRESH = "The shell of this sandbox was lost; this is a new one, in /workspace."
_STATE = "/run/studio/shell"

# Recorded commands say /testbed/documents where the input was. /testbed is a link to the
# workspace, which must hold no "documents" that the person never put there, so this name is
# replaced in commands and paths.
_DOCUMENTS = re.compile(r"(?<![\w./~-])/testbed/documents(?![\w-]|\.\w)")


class DockerSandbox(SupervisedSandbox):
    """A container with a supervisor in it. Made by ``create``.

    Args:
        client: The engine; stays open.
        container: The container's id.
        spec: What it was made from.
        place: Its network, where it has one.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        container: str,
        spec: ContainerSpec,
        place: Place | None = None,
    ) -> None:
        super().__init__(spec.sandbox_id, spec.workspace, HOME, spec.limits.keep_bytes)
        self._client, self._api = client, client.api
        self._container = container
        self._spec, self._egress, self._place = spec, spec.egress, place
        self._connected = False
        self._patience = BACK_SECONDS

    @classmethod
    def create(cls, client: docker.DockerClient, spec: ContainerSpec) -> "DockerSandbox":
        """Create and start a container; return with its shell ready for commands.

        Raises:
            SandboxError: the engine refused; nothing is left behind.
        """
        try:
            for name in ("input", "output"):
                with contextlib.suppress(FileExistsError):  # a link or file of the model's, too
                    (spec.workspace / name).mkdir(parents=True)
        except OSError as error:
            raise SandboxError(f"The workspace can't be made: {error}") from error
        with contextlib.ExitStack() as on_failure:
            place = None
            if spec.egress is not None:
                place = spec.egress.attach()
                on_failure.callback(spec.egress.detach, place)
            with engine_errors("The sandbox can't be created"):
                container = create_container(client, spec, place)
            on_failure.pop_all()
        sandbox = cls(client, container, spec, place)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(sandbox.close)
            sandbox._begin()
            on_failure.pop_all()
        return sandbox

    @classmethod
    def wake(cls, client: docker.DockerClient, spec: ContainerSpec) -> "DockerSandbox | None":
        """Start the container again that a sandbox rested in, or that a dead process left.

        Its shell comes back as it was after its last command; where it does not, the next
        command's note says so.

        Returns:
            The sandbox; None where it has no container any more.

        Raises:
            SandboxError: it cannot be started; it rests as before.
        """
        for kept in resting.listed(client, spec.instance, spec.sandbox_id):
            sandbox = cls(client, kept.container, spec, kept.place)
            with contextlib.ExitStack() as on_failure:
                on_failure.callback(sandbox.rest)
                sandbox._return(kept)
                on_failure.pop_all()
            return sandbox
        return None

    def _return(self, kept: resting.Kept) -> None:
        if kept.state != "exited":
            resting.stop(self._client, kept.container, kept.place)
        if kept.place is not None and self._egress is not None:
            self._egress.attach_again(kept.place)
            with engine_errors("The sandbox's network can't be joined"):
                self._api.connect_container_to_network(
                    kept.container, kept.place.network, ipv4_address=kept.place.address
                )
        self._begin()
        if not self._restored:
            self._note = _FRESH

    def _begin(self) -> None:
        with engine_errors("The sandbox can't be started"):
            self._api.start(self._container)
            self._gauge = self._watched()
        self.start()

    def _watched(self) -> gauge.Gauge | None:
        spec = self._spec
        if spec.usage is None:
            return None
        usage, hosts = spec.usage, [spec.workspace.parent.parent]
        graph = self._api.inspect_container(self._container).get("GraphDriver") or {}
        upper = Path((graph.get("Data") or {}).get("UpperDir") or "/nowhere")
        elsewhere = self._layer
        if os.access(upper, os.R_OK | os.X_OK):
            hosts.append(upper)
            elsewhere = lambda: usage(upper)  # noqa: E731 - counted here, where that may be
        places = gauge.Places(spec.workspace, elsewhere, usage, tuple(hosts))
        return gauge.Gauge(places, spec.limits.disk, self._halt, floor=spec.floor)

    def _layer(self) -> int:
        """Bytes that the container wrote outside of its mounts, as the engine counts them."""
        with engine_errors("The sandbox's size is not known"):
            found = self._api.containers(all=True, size=True, filters={"id": self._container})
        return int(found[0].get("SizeRw") or 0) if found else 0

    def _halt(self, force: bool) -> None:
        """End all that commands started; by force, the container with all that is in it."""
        link = self._link
        if force or link is None:
            with engine_errors("The sandbox can't be stopped"):
                self._api.kill(self._container)
        else:
            shell.ask_to_end(link)

    @property
    def container(self) -> str:
        """The container's id."""
        return self._container

    def allow(self, policy: Policy) -> None:
        """Let it ask of the network what a policy names; made without one it asks nothing."""
        if self._egress is not None and self._place is not None:
            self._egress.allow(self._place, policy)

    def requests(self) -> list[Request]:
        """What it has asked of the network since the last time."""
        if self._egress is None or self._place is None:
            return []
        return self._egress.requests(self._place)

    def _connect(self) -> Connection:
        if self._connected:
            patience, self._patience = self._patience, 0.0  # once is enough, until it is back
            await_engine(self._client, self._stop, patience)
            self._patience = BACK_SECONDS
        with engine_errors("The sandbox's shell can't be started"):
            if self._connected:
                self._revive()
            self._connected = True
            return EngineConnection(self._exec_supervisor())

    def _exec_supervisor(self) -> socket.socket:
        command = ["/usr/bin/python3", "-I", "-S", "-c", SUPERVISOR_CODE, PLACE]
        arguments = ["container", _STATE, HOME]
        try:
            created = self._api.exec_create(self._container, [*command, *arguments], stdin=True)
            stream: Any = self._api.exec_start(created["Id"], socket=True)
        except docker.errors.APIError as error:
            if error.status_code == HTTPStatus.CONFLICT:  # it is just about to end
                raise ConnectionError(str(error)) from error
            raise
        ours = socket.socket(fileno=os.dup(stream.fileno()))
        stream._response.close()  # docker-py would leave its own end open
        return ours

    def _revive(self) -> None:
        """Start the container again if it has ended, or is just about to; or was paused."""
        if self._state()["Paused"]:
            self._api.unpause(self._container)
        with contextlib.suppress(requests.exceptions.RequestException):
            self._api.wait(self._container, timeout=1)
        state = self._state()
        if not state["Running"]:
            self._note = _NO_MEMORY if state["OOMKilled"] else self._note
            self._api.start(self._container)

    def _state(self) -> Any:
        """How the container is, as the engine says."""
        try:
            state = self._api.inspect_container(self._container)["State"]
        except docker.errors.NotFound as error:
            raise SandboxError(_REMOVED) from error
        if state["Dead"] or state["Status"] == "removing":
            raise SandboxError(_REMOVED)
        return state

    def _translate(self, text: str) -> str:
        if os.path.lexists(self.workspace / "documents"):
            return text
        return _DOCUMENTS.sub(f"{HOME}/input", text)

    def _pause(self) -> None:
        resting.stop(self._client, self._container, self._place)
        if self._egress is not None and self._place is not None:
            self._egress.rest(self._place)

    def _dispose(self) -> None:
        resting.remove(self._client, self._container)
        if self._egress is not None and self._place is not None:
            self._egress.detach(self._place)

"""The sandbox implementation on a container.

Commands run as root in the container, with only the capabilities that ``apt-get`` needs and none
that reach outside the container. The workspace is a bind-mounted host folder.
"""

import contextlib
import os
import re
import socket
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from agent.errors import SandboxError
from agent.sandbox.client import shell
from agent.sandbox.client.link import Connection
from agent.sandbox.client.transport import SUPERVISOR_CODE, EngineConnection
from agent.sandbox.disk import quota
from agent.sandbox.disk.deleted_files import deleted_size
from agent.sandbox.docker import cgroup, lifecycle
from agent.sandbox.docker.container import HOME, PLACE, ContainerSpec, create_container
from agent.sandbox.engine.client import BACK_SECONDS, await_engine, engine_errors, unenforced_limits
from agent.sandbox.network.policy import Policy, Request
from agent.sandbox.network.subnets import Place
from agent.sandbox.remote import SupervisedSandbox

_REMOVED = (
    "The sandbox's container is not there any more: something else removed it. Send a message to "
    "go on in a new one, with the same files."
)
_NO_MEMORY = "The sandbox ran out of memory and ended."
_FRESH = "The shell of this sandbox was lost; this is a new one, in /workspace."
_STATE = "/run/studio/shell"

# Recorded commands use /testbed/documents for the input folder. /testbed is a link to the
# workspace, which must not contain a "documents" folder that the user did not create, so this
# path is replaced in commands and paths.
_DOCUMENTS = re.compile(r"(?<![\w./~-])/testbed/documents(?![\w-]|\.\w)")


class DockerSandbox(SupervisedSandbox):
    """A container with a supervisor in it. Use ``create`` or ``wake`` to construct it.

    Args:
        client: The engine client; stays open.
        container: The container's id.
        spec: The container's parameters.
        place: Its network; None if it has none.
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
        """Create and start a container and wait until its shell is ready for commands.

        Raises:
            SandboxError: the engine refused; nothing is left behind.
        """
        try:
            for name in ("input", "output"):
                with contextlib.suppress(FileExistsError):  # may be the model's link or file
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
        """Restart a sandbox's container that was stopped or left by a dead process.

        Its shell is restored to the state after its last command; if that fails, the next
        command's note reports it.

        Returns:
            The sandbox; None if its container no longer exists.

        Raises:
            SandboxError: it cannot be started; it stays stopped.
        """
        for kept in lifecycle.listed(client, spec.instance, spec.sandbox_id):
            sandbox = cls(client, kept.container, spec, kept.place)
            with contextlib.ExitStack() as on_failure:
                on_failure.callback(sandbox.rest)
                sandbox._return(kept)
                on_failure.pop_all()
            return sandbox
        return None

    def _return(self, kept: lifecycle.Kept) -> None:
        if kept.state != "exited":
            lifecycle.stop(self._client, kept.container, kept.place)
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

    def _watched(self) -> quota.Gauge | None:
        spec = self._spec
        if spec.usage is None:
            return None
        usage, hosts = spec.usage, [spec.workspace.parent.parent]
        found = self._api.inspect_container(self._container)
        graph = found.get("GraphDriver") or {}
        upper = Path((graph.get("Data") or {}).get("UpperDir") or "/nowhere")
        elsewhere = self._layer
        if os.access(upper, os.R_OK | os.X_OK):
            hosts.append(upper)
            elsewhere = lambda: usage(upper)  # noqa: E731 - count in this process if permitted
        deleted = _deleted_counter(self._container, found["State"]["Pid"], hosts)
        places = quota.Places(spec.workspace, elsewhere, deleted, usage, tuple(hosts))
        return quota.Gauge(places, spec.limits.disk, self._halt, floor=spec.floor)

    def _layer(self) -> int:
        """Return the bytes that the container wrote outside its mounts, from the engine."""
        with engine_errors("The sandbox's size is not known"):
            found = self._api.containers(all=True, size=True, filters={"id": self._container})
        return int(found[0].get("SizeRw") or 0) if found else 0

    def _halt(self, force: bool) -> None:
        """Terminate all processes of commands; with ``force``, kill the container."""
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

    def peak_memory(self) -> int | None:
        """See ``Sandbox.peak_memory``; unknown if the container has no control group."""
        if "memory" in unenforced_limits(self._client):
            return None
        return super().peak_memory()

    def allow(self, policy: Policy) -> None:
        """See ``Sandbox.allow``; no effect on a sandbox that was created without a network."""
        if self._egress is not None and self._place is not None:
            self._egress.allow(self._place, policy)

    def requests(self) -> list[Request]:
        """See ``Sandbox.requests``."""
        if self._egress is None or self._place is None:
            return []
        return self._egress.requests(self._place)

    def _connect(self) -> Connection:
        if self._connected:
            patience, self._patience = self._patience, 0.0  # wait only once per outage
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
            if error.status_code == HTTPStatus.CONFLICT:  # the container is exiting
                raise ConnectionError(str(error)) from error
            raise
        ours = socket.socket(fileno=os.dup(stream.fileno()))
        stream._response.close()  # docker-py would keep its own descriptor open
        return ours

    def _revive(self) -> None:
        """Restart the container if it has exited or is exiting; unpause it if it is paused."""
        if self._state()["Paused"]:
            self._api.unpause(self._container)
        with contextlib.suppress(requests.exceptions.RequestException):
            self._api.wait(self._container, timeout=1)
        state = self._state()
        if not state["Running"]:
            self._note = _NO_MEMORY if state["OOMKilled"] else self._note
            self._api.start(self._container)

    def _state(self) -> Any:
        """Return the container's state from the engine."""
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
        lifecycle.stop(self._client, self._container, self._place)
        if self._egress is not None and self._place is not None:
            self._egress.rest(self._place)

    def _dispose(self) -> None:
        lifecycle.remove(self._client, self._container)
        if self._egress is not None and self._place is not None:
            self._egress.detach(self._place)


def _deleted_counter(container: str, process: int, hosts: list[Path]) -> Callable[[], int]:
    """Return a function that counts the bytes of deleted files that a container holds open.

    It returns 0 if a rootless engine has no control group for the container, whose processes then
    share a group with other processes of the host.
    """
    try:
        group, _ = cgroup.cgroup(process, "pids")
    except (OSError, KeyError):  # the engine runs elsewhere, or the container has just exited
        return lambda: 0
    if container not in str(group):
        return lambda: 0
    return lambda: deleted_size(cgroup.processes(group), hosts)

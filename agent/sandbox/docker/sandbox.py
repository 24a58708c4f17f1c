"""The sandbox implementation on a container, whose workspace is a bind-mounted host folder."""

import contextlib
import os
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
from agent.sandbox.client.transport import Connection, EngineConnection
from agent.sandbox.disk import monitor, scratch, volume
from agent.sandbox.docker import cgroup, lifecycle
from agent.sandbox.docker.container import SUPERVISOR, WORKSPACE, ContainerSpec, create_container
from agent.sandbox.engine.client import (
    ENGINE_ERRORS,
    RECOVERY_SECONDS,
    Client,
    engine_errors,
    unenforced_limits,
    wait_for_engine,
)
from agent.sandbox.network.policy import NetworkPolicy, NetworkRequest
from agent.sandbox.network.subnets import SandboxNetwork
from agent.sandbox.supervised import SupervisedSandbox
from agent.util.wait import run_cancellable

_CONTAINER_REMOVED = (
    "The sandbox's container no longer exists: another program removed it. Send a message to "
    "continue in a new one, with the same files."
)
_CONTAINER_EXITED = ("is not running", "No such exec instance")
"""In the engine's errors when the shell's process is started in a container that is exiting."""
_OUT_OF_MEMORY = "The sandbox ran out of memory and was terminated."
_DISK_REPAIRED = (
    "The host's disk was full, and the sandbox's disk failed with it. It has been repaired and the "
    "sandbox restarted: all processes have ended, and the latest changes of files may be lost."
)
_SHELL_LOST = "The shell of this sandbox was lost; this is a new one, in /workspace."


class DockerSandbox(SupervisedSandbox):
    """A container with a supervisor in it. Use ``create`` or ``restart`` to construct it."""

    def __init__(
        self,
        client: Client,
        container: str,
        spec: ContainerSpec,
        network: SandboxNetwork | None = None,
    ) -> None:
        super().__init__(spec.sandbox_id, spec.workspace, WORKSPACE, spec.limits.keep_bytes)
        self._client, self._api = client, client.api
        self.container = container
        self._spec, self._proxy, self._network = spec, spec.proxy, network
        self._connected = False
        self._first: EngineConnection | None = None
        self._proxy_awaited = False
        self._recovery_seconds = RECOVERY_SECONDS

    @classmethod
    def create(cls, client: Client, spec: ContainerSpec) -> "DockerSandbox":
        """Create and start a container; wait for its shell. Nothing is left of a failure."""
        try:
            volume.repair(spec.workspace.parent)
            for name in ("input", "output"):
                with contextlib.suppress(FileExistsError):  # may be the model's link or file
                    (spec.workspace / name).mkdir(parents=True)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise SandboxError(f"The workspace cannot be created: {why}.") from error
        with contextlib.ExitStack() as on_failure:
            network = None
            if spec.proxy is not None:
                network = spec.proxy.create_network()
                on_failure.callback(spec.proxy.remove_network, network)
            with engine_errors("The sandbox cannot be created"):
                container = create_container(client, spec, network)
            on_failure.pop_all()
        sandbox = cls(client, container, spec, network)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(sandbox.close)
            sandbox._attach()
            sandbox._start_container()
            on_failure.pop_all()
        return sandbox

    @classmethod
    def restart(cls, client: Client, spec: ContainerSpec) -> "DockerSandbox | None":
        """Restart a sandbox's container and restore its shell; None if it is gone."""
        for info in lifecycle.list_containers(client, spec.instance, spec.sandbox_id):
            sandbox = cls(client, info.id, spec, info.network)
            with contextlib.ExitStack() as on_failure:
                on_failure.callback(sandbox.stop)
                sandbox._restart(info)
                on_failure.pop_all()
            return sandbox
        return None

    def _restart(self, info: lifecycle.ContainerInfo) -> None:
        if info.state != "exited":
            lifecycle.stop(self._client, info.id, info.network)
        volume.repair(self._spec.workspace.parent)
        if info.network is not None and self._proxy is not None:
            self._proxy.recreate_network(info.network)
            with engine_errors("The sandbox cannot be connected to its network"):
                self._api.connect_container_to_network(
                    info.id, info.network.name, ipv4_address=info.network.address
                )
        self._start_container()
        if not self._restored:
            self._note = _SHELL_LOST

    def _start_container(self) -> None:
        with engine_errors("The sandbox cannot be started"):
            self._api.start(self.container)
            self._disk_monitor = self._create_disk_monitor()
        self.start()
        if self._proxy is not None:
            self._proxy.report_sandbox_started()

    def _attach(self) -> None:
        """Connect to the supervisor that a new container starts with."""
        with engine_errors("The sandbox's shell cannot be started"):
            self._first = _connection(
                self._api.attach_socket(
                    self.container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                )
            )

    def _prepare_command(self) -> None:
        if self._proxy is not None and not self._proxy_awaited:
            run_cancellable(self._proxy.ensure_running, self._stop)
            self._proxy_awaited = True
        self._prepare_write()

    def _prepare_write(self) -> None:
        if volume.is_broken(self._spec.workspace.parent):
            run_cancellable(self._repair_disk, self._stop)

    def _repair_disk(self) -> None:
        """Mount the broken disk again; only a container that starts anew uses the new mount."""
        with self._lock:
            if not volume.is_broken(self._spec.workspace.parent):
                return
            with engine_errors("The sandbox cannot be stopped"):
                self._api.stop(self.container, timeout=0)
            volume.repair(self._spec.workspace.parent)
            self._note = _DISK_REPAIRED
            if self._link is not None:
                self._link.fail(_DISK_REPAIRED)

    def _create_disk_monitor(self) -> monitor.DiskMonitor | None:
        spec = self._spec
        if spec.count_usage is None:
            return None
        usage, hosts = spec.count_usage, [spec.workspace.parent.parent]
        found = self._api.inspect_container(self.container)
        graph = found.get("GraphDriver") or {}
        upper = Path((graph.get("Data") or {}).get("UpperDir") or "/nowhere")
        elsewhere = self._layer_size
        if os.access(upper, os.R_OK | os.X_OK):
            hosts.append(upper)
            elsewhere = lambda: usage(upper)  # noqa: E731 - count in this process if permitted
        deleted = _deleted_counter(self.container, found["State"]["Pid"], hosts)
        locations = monitor.DiskLocations(spec.workspace, elsewhere, deleted, usage, tuple(hosts))
        return monitor.DiskMonitor(locations, spec.limits.disk, self._halt, min_free=spec.min_free)

    def _layer_size(self) -> int:
        """Return the bytes that the container wrote outside its mounts, from the engine."""
        with engine_errors("The sandbox's size cannot be read"):
            found = self._api.containers(all=True, size=True, filters={"id": self.container})
        return int(found[0].get("SizeRw") or 0) if found else 0

    def _halt(self, force: bool) -> None:
        """Terminate all processes of commands; with ``force``, kill the container."""
        link = self._link
        if force or link is None:
            with engine_errors("The sandbox cannot be stopped"):
                self._api.kill(self.container)
        else:
            shell.request_end(link)

    def _has_control_group(self) -> bool:
        return "memory" not in unenforced_limits(self._client)

    def set_network_policy(self, policy: NetworkPolicy) -> None:
        """See ``Sandbox.set_network_policy``; no effect on a sandbox without a network."""
        if self._proxy is not None and self._network is not None:
            self._proxy.set_policy(self._network, policy)

    def take_network_requests(self) -> list[NetworkRequest]:
        """See ``Sandbox.take_network_requests``."""
        if self._proxy is None or self._network is None:
            return []
        return self._proxy.take_requests(self._network)

    def _connect(self) -> Connection:
        if self._connected:
            # Wait only once per outage.
            seconds, self._recovery_seconds = self._recovery_seconds, 0.0
            wait_for_engine(self._client, self._stop, seconds)
            self._recovery_seconds = RECOVERY_SECONDS
        with engine_errors("The sandbox's shell cannot be started"):
            if self._connected:
                if self._proxy is not None and self._network is not None:
                    self._proxy.ensure_running()  # it may have ended together with the container
                self._ensure_running()
            self._connected = True
            first, self._first = self._first, None
            return first or self._exec_supervisor()

    def _exec_supervisor(self) -> EngineConnection:
        try:
            created = self._api.exec_create(self.container, SUPERVISOR, stdin=True)
            return _connection(self._api.exec_start(created["Id"], socket=True))
        except docker.errors.APIError as error:
            if error.status_code == HTTPStatus.CONFLICT or any(
                each in str(error) for each in _CONTAINER_EXITED
            ):
                raise ConnectionError(str(error)) from error
            raise

    def _ensure_running(self) -> None:
        """Restart the container if it has exited or is exiting; unpause it if it is paused."""
        if self._inspect_state()["Paused"]:
            self._api.unpause(self.container)
        with contextlib.suppress(requests.exceptions.RequestException):
            self._api.wait(self.container, timeout=1)
        state = self._inspect_state()
        if not state["Running"]:
            self._note = _OUT_OF_MEMORY if state["OOMKilled"] else self._note
            self._api.start(self.container)

    def _inspect_state(self) -> Any:
        """Return the container's state from the engine."""
        try:
            state = self._api.inspect_container(self.container)["State"]
        except docker.errors.NotFound as error:
            raise SandboxError(_CONTAINER_REMOVED) from error
        if state["Dead"] or state["Status"] == "removing":
            raise SandboxError(_CONTAINER_REMOVED)
        return state

    def _suspend(self) -> None:
        lifecycle.stop(self._client, self.container, self._network)
        if self._proxy is not None and self._network is not None:
            self._proxy.suspend_network(self._network)

    def _dispose(self) -> None:
        if self._first is not None:
            self._first.close()
        if self._spec.removals is not None and self._pause():
            self._spec.removals.add(self.id, self._remove)
        else:
            self._remove()
        scratch.discard(self._spec.workspace.parent)

    def _pause(self) -> bool:
        """Pause the container, so that no process of it changes a file; return whether it is."""
        try:
            self._api.pause(self.container)
        except ENGINE_ERRORS:
            return False
        return True

    def _remove(self) -> None:
        lifecycle.remove(self._client, self.container)
        if self._proxy is not None and self._network is not None:
            self._proxy.remove_network(self._network)


def _connection(stream: Any) -> EngineConnection:
    """Return a connection over one of docker-py's sockets."""
    ours = socket.socket(fileno=os.dup(stream.fileno()))
    stream._response.close()  # docker-py would keep its own descriptor open
    return EngineConnection(ours)


def _deleted_counter(container: str, process: int, hosts: list[Path]) -> Callable[[], int]:
    """Return a function that counts the bytes of deleted files that are held open."""
    try:
        group, _ = cgroup.find_cgroup(process, "pids")
    except (OSError, KeyError):  # the engine runs elsewhere, or the container has just exited
        return lambda: 0
    if container not in str(group):  # of a rootless engine: other processes of the host are in it
        return lambda: 0
    return lambda: cgroup.deleted_size(cgroup.list_processes(group), hosts)

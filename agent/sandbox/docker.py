"""The sandbox as a container.

Commands run as root inside, with the few capabilities that ``apt-get`` needs, and none
that reaches out of the container. The workspace is a folder of the host, mounted.
"""

import contextlib
import os
import re
import socket
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from agent.errors import SandboxError
from agent.sandbox import supervisor
from agent.sandbox.base import SandboxLimits
from agent.sandbox.egress import RESOLVER, Egress, Place
from agent.sandbox.engine import engine_errors
from agent.sandbox.link import Connection
from agent.sandbox.network import Policy, Request
from agent.sandbox.streams import SUPERVISOR_CODE, EngineConnection
from agent.sandbox.supervised import SupervisedSandbox

INSTANCE_LABEL = "llm-in-sandbox-studio.instance"
SANDBOX_LABEL = "llm-in-sandbox-studio.sandbox"

HOME = "/workspace"
_PLACE = "/opt/studio"
_CERTIFICATES = f"{_PLACE}/ca-certificates.crt"
_STATE = "/run/studio/shell"

# What apt and dpkg do as root, and KILL: Stop must reach processes of other users, too.
_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"]
_CPU_SHARES = 256  # the engine's default, which the application runs with, is 1024

_ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
    "TERM": "dumb",
}
_CERTIFICATE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
)

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_NO_PROXY = dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")

# Recorded commands say /testbed/documents where the input was. /testbed is a link to the
# workspace, which must hold no "documents" that the person never put there, so this name is
# replaced in commands and paths.
_DOCUMENTS = re.compile(r"(?<![\w./~-])/testbed/documents(?![\w-]|\.\w)")


@dataclass(frozen=True)
class ContainerSpec:
    """What one sandbox's container is made from.

    Attributes:
        image: The image's tag.
        instance: Id of the data folder that owns it (a label).
        sandbox_id: The sandbox's id (a label).
        workspace: The host folder to mount; made where it is missing.
        limits: What it may use.
        certificates: A bundle of the host's certificate authorities to trust inside.
        egress: Its way to the network; None for none at all.
    """

    image: str
    instance: str
    sandbox_id: str
    workspace: Path
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    certificates: Path | None = None
    egress: Egress | None = None


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
        self._api = client.api
        self._container = container
        self._egress, self._place = spec.egress, place
        self._connected = False

    @classmethod
    def create(cls, client: docker.DockerClient, spec: ContainerSpec) -> "DockerSandbox":
        """Create and start a container; return with its shell ready for commands.

        Raises:
            SandboxError: the engine refused; nothing is left behind.
        """
        try:
            for name in ("input", "output"):
                (spec.workspace / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxError(f"The workspace can't be made: {error}") from error
        with contextlib.ExitStack() as on_failure:
            place = None
            if spec.egress is not None:
                place = spec.egress.attach()
                on_failure.callback(spec.egress.detach, place)
            with engine_errors("The sandbox can't be created"):
                container = _create_container(client, spec, place)
            on_failure.pop_all()
        sandbox = cls(client, container, spec, place)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(sandbox.close)
            with engine_errors("The sandbox can't be started"):
                client.api.start(container)
            sandbox.start()
            on_failure.pop_all()
        return sandbox

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
        with engine_errors("The sandbox's shell can't be started"):
            if self._connected:
                self._revive()
            self._connected = True
            return EngineConnection(self._exec_supervisor())

    def _exec_supervisor(self) -> socket.socket:
        command = ["/usr/bin/python3", "-I", "-S", "-c", SUPERVISOR_CODE, _PLACE]
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
        """Start the container again if it has ended, or is just about to."""
        with contextlib.suppress(requests.exceptions.RequestException):
            self._api.wait(self._container, timeout=1)
        if not self._api.inspect_container(self._container)["State"]["Running"]:
            self._api.start(self._container)

    def _translate(self, text: str) -> str:
        if os.path.lexists(self.workspace / "documents"):
            return text
        return _DOCUMENTS.sub(f"{HOME}/input", text)

    def _dispose(self) -> None:
        with (
            engine_errors("The sandbox can't be removed"),
            contextlib.suppress(docker.errors.NotFound),
        ):
            self._api.remove_container(self._container, force=True, v=True)
        if self._egress is not None and self._place is not None:
            self._egress.detach(self._place)


def _create_container(client: docker.DockerClient, spec: ContainerSpec, place: Place | None) -> str:
    limits = spec.limits
    host = client.api.create_host_config(
        init=True,
        cap_drop=["ALL"],
        cap_add=_CAPABILITIES,
        security_opt=["no-new-privileges"],
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=int(min(limits.cpus, os.cpu_count() or 1) * 1e9),
        cpu_shares=_CPU_SHARES,
        pids_limit=limits.pids,
        ulimits=[
            docker.types.Ulimit(name="nofile", soft=limits.open_files, hard=limits.open_files)
        ],
        log_config=docker.types.LogConfig(type="none"),
        mounts=_mounts(spec),
        network_mode=place.network if place else "none",
        dns=["127.0.0.1"] if place else None,  # the container's own: nobody answers there
    )
    created = client.api.create_container(
        spec.image,
        command=["sleep", "infinity"],
        hostname="sandbox",
        working_dir=HOME,
        environment=_environment(spec, place),
        labels={INSTANCE_LABEL: spec.instance, SANDBOX_LABEL: spec.sandbox_id},
        host_config=host,
        networking_config=_endpoint(client, place) if place else None,
    )
    return str(created["Id"])


def _endpoint(client: docker.DockerClient, place: Place) -> Any:
    endpoint: Any = client.api.create_endpoint_config(ipv4_address=place.address)
    networks: Any = {place.network: endpoint}
    return client.api.create_networking_config(networks)


def _mounts(spec: ContainerSpec) -> list[docker.types.Mount]:
    mount = docker.types.Mount
    code = str(Path(supervisor.__file__).resolve().parent)
    mounts = [
        mount(HOME, str(spec.workspace.resolve()), type="bind"),
        mount(f"{_PLACE}/supervisor", code, type="bind", read_only=True),
    ]
    if spec.certificates is not None:
        bundle = str(spec.certificates.resolve())
        mounts.append(mount(_CERTIFICATES, bundle, type="bind", read_only=True))
    if spec.egress is not None:
        mounts.append(mount("/etc/resolv.conf", str(RESOLVER), type="bind", read_only=True))
    return mounts


def _environment(spec: ContainerSpec, place: Place | None) -> dict[str, str]:
    trusted = _CERTIFICATE_VARIABLES if spec.certificates is not None else ()
    environment = _ENVIRONMENT | dict.fromkeys(trusted, _CERTIFICATES)
    if place is not None:
        environment |= dict.fromkeys(_PROXY_VARIABLES, place.proxy) | _NO_PROXY
    return environment


_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def host_certificates() -> Path | None:
    """The host's bundle of certificate authorities, where its system keeps one."""
    return next((path for path in map(Path, _BUNDLES) if path.is_file()), None)


def reap(client: docker.DockerClient, instance: str) -> list[str]:
    """Remove every container of an instance, and of no other; return their sandbox ids.

    Only for who holds the lock of that instance's data folder: then nobody uses them.

    Raises:
        SandboxError: the engine refused.
    """
    removed = []
    label = f"{INSTANCE_LABEL}={instance}"
    with engine_errors("Sandboxes of an earlier start can't be removed"):
        for found in client.api.containers(all=True, filters={"label": label}):
            with contextlib.suppress(docker.errors.NotFound):
                client.api.remove_container(found["Id"], force=True, v=True)
            removed.append(str(found["Labels"].get(SANDBOX_LABEL, "")))
    return removed

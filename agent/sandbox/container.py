"""What a sandbox's container is made from: image, limits, mounts, environment.

It may do what ``apt-get`` needs as root, and nothing that reaches out of the container.
"""

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.types

from agent.sandbox import gauge, supervisor
from agent.sandbox.base import SandboxLimits
from agent.sandbox.egress import RESOLVER, Egress
from agent.sandbox.resting import ADDRESS_LABEL, INSTANCE_LABEL, SANDBOX_LABEL
from agent.sandbox.subnets import Place

HOME = "/workspace"
PLACE = "/opt/studio"
_CERTIFICATES = f"{PLACE}/ca-certificates.crt"
_SECCOMP = Path(__file__).with_name("seccomp.json")

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
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


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
        runtime: The engine's runtime to use; empty for its default.
        usage: Counts the bytes that a folder takes; without it the disk is not watched.
        floor: Bytes of the host's disk below which commands are stopped.
    """

    image: str
    instance: str
    sandbox_id: str
    workspace: Path
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    certificates: Path | None = None
    egress: Egress | None = None
    runtime: str = ""
    usage: Callable[[Path], int] | None = None
    floor: int = gauge.FLOOR


def create_container(client: docker.DockerClient, spec: ContainerSpec, place: Place | None) -> str:
    """Make a sandbox's container, not started yet; its id.

    Raises:
        docker.errors.DockerException: the engine refused.
    """
    limits = spec.limits
    host = client.api.create_host_config(
        init=True,
        cap_drop=["ALL"],
        cap_add=_CAPABILITIES,
        security_opt=["no-new-privileges", *_seccomp()],
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=int(min(limits.cpus, os.cpu_count() or 1) * 1e9),
        cpu_shares=_CPU_SHARES,
        pids_limit=limits.pids,
        ulimits=_ulimits(limits),
        runtime=spec.runtime or None,
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
        labels=_labels(spec, place),
        host_config=host,
        networking_config=_endpoint(client, place) if place else None,
    )
    return str(created["Id"])


def _labels(spec: ContainerSpec, place: Place | None) -> dict[str, str]:
    labels = {INSTANCE_LABEL: spec.instance, SANDBOX_LABEL: spec.sandbox_id}
    return labels | {ADDRESS_LABEL: place.address} if place else labels


def _seccomp() -> list[str]:
    """The system calls that are let through: Docker's own choice, without what has no use here.

    Not io_uring, no sockets but those of the network and of this machine, and no fallocate,
    which fills a disk in one moment. On processors that the file does not name, Docker's own.
    """
    known = platform.machine() in ("x86_64", "aarch64")
    return [f"seccomp={_SECCOMP.read_text()}"] if known else []


def _ulimits(limits: SandboxLimits) -> list[docker.types.Ulimit]:
    most = {"nofile": limits.open_files, "fsize": limits.disk, "core": 0}
    return [docker.types.Ulimit(name=name, soft=n, hard=n) for name, n in most.items()]


def _endpoint(client: docker.DockerClient, place: Place) -> Any:
    endpoint: Any = client.api.create_endpoint_config(ipv4_address=place.address)
    networks: Any = {place.network: endpoint}
    return client.api.create_networking_config(networks)


def _mounts(spec: ContainerSpec) -> list[docker.types.Mount]:
    mount = docker.types.Mount
    code = str(Path(supervisor.__file__).resolve().parent)
    mounts = [
        mount(HOME, str(spec.workspace.resolve()), type="bind"),
        mount(f"{PLACE}/supervisor", code, type="bind", read_only=True),
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


def host_certificates() -> Path | None:
    """The host's bundle of certificate authorities, where its system keeps one."""
    return next((path for path in map(Path, _BUNDLES) if path.is_file()), None)

"""Configuration of a container; its capabilities allow what ``apt-get`` needs, inside only."""

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import docker.types

from agent.errors import SandboxError
from agent.sandbox import supervisor
from agent.sandbox.base import SandboxLimits
from agent.sandbox.client.transport import EXITED, SUPERVISOR_CODE
from agent.sandbox.disk import monitor, scratch
from agent.sandbox.docker.lifecycle import ADDRESS_LABEL, INSTANCE_LABEL, SANDBOX_LABEL
from agent.sandbox.docker.removals import Removals
from agent.sandbox.engine.client import Client, is_podman, unenforced_limits
from agent.sandbox.network.proxy import Proxy
from agent.sandbox.network.subnets import SandboxNetwork

WORKSPACE = "/workspace"
STUDIO_FOLDER = "/opt/studio"
SUPERVISOR = [
    *("/usr/bin/python3", "-I", "-S", "-c", SUPERVISOR_CODE, STUDIO_FOLDER),
    *("container", "/run/studio/shell", WORKSPACE),
]
"""The command that starts a supervisor, which creates /run/studio."""
# A new container starts with a supervisor: starting one in a running container takes longer.
_FIRST_PROCESS = f"""[ -e /run/studio ] || {{ "$@"; echo "{EXITED}" >&2; }}; exec sleep infinity"""
_CERTIFICATES_PATH = f"{STUDIO_FOLDER}/ca-certificates.crt"
_SECCOMP_PROFILE = Path(__file__).with_name("seccomp.json")
# Mounted on /etc/hosts, /etc/hostname and /etc/resolv.conf in place of the engine's own files,
# which are writable and which no quota covers.
_ETC_FOLDER = Path(__file__).resolve().with_name("etc")
_SUPERVISOR_FOLDER = str(Path(supervisor.__file__).resolve().parent)

# Needed by apt and dpkg as root; KILL because Stop must also reach processes of other users.
_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"]
_CPU_SHARES = 256  # below the application's: the engine's default is 1024

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
_HOST_CERTIFICATE_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


@dataclass(frozen=True)
class ContainerSpec:
    """Parameters of a sandbox's container."""

    image: str
    instance: str
    sandbox_id: str
    workspace: Path
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    certificates: Path | None = None  # the host's bundle, to be trusted
    proxy: Proxy | None = None
    runtime: str = ""  # empty for the engine's default
    count_usage: Callable[[Path], int] | None = None  # without it, no monitoring
    min_free: int = monitor.MIN_FREE_BYTES  # bytes of the host's disk
    image_id: str = ""  # empty: the engine is asked
    removals: Removals | None = None  # without it, ``close`` waits


def create_container(client: Client, spec: ContainerSpec, network: SandboxNetwork | None) -> str:
    """Create a sandbox's container without starting it; return its id."""
    limits = spec.limits
    directories = scratch.create(
        client, spec.image_id or spec.image, spec.instance, spec.workspace.parent
    )
    host = client.api.create_host_config(
        init=True,
        cap_drop=["ALL"],
        cap_add=_CAPABILITIES,
        security_opt=["no-new-privileges", *_security_options(client)],
        mem_limit=limits.memory,
        memswap_limit=limits.memory,
        nano_cpus=_nano_cpus(client, limits),
        cpu_shares=_CPU_SHARES,
        pids_limit=limits.pids,
        ulimits=_ulimits(limits),
        runtime=spec.runtime or None,
        log_config=docker.types.LogConfig(type="none"),
        mounts=_mounts(spec, directories),
        network_mode=network.name if network else "none",
        dns=["127.0.0.1"] if network else None,  # the container itself, where nothing answers
    )
    created = client.api.create_container(
        spec.image,
        command=["sh", "-c", _FIRST_PROCESS, "sh", *SUPERVISOR],
        stdin_open=True,
        hostname="sandbox",
        working_dir=WORKSPACE,
        environment=_environment(spec, network),
        labels=_labels(spec, network),
        host_config=host,
        networking_config=_networking_config(client, network) if network else None,
        # The runtime isolates it; without this the engine also prepares to connect it, which
        # takes half of a start.
        network_disabled=network is None,
    )
    return str(created["Id"])


def _labels(spec: ContainerSpec, network: SandboxNetwork | None) -> dict[str, str]:
    labels = {INSTANCE_LABEL: spec.instance, SANDBOX_LABEL: spec.sandbox_id}
    return labels | {ADDRESS_LABEL: network.address} if network else labels


def _security_options(client: Client) -> list[str]:
    """Return the security options: Docker's default seccomp profile, restricted.

    It blocks io_uring, sockets other than AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, and allocation
    by fallocate, which could fill a disk at once.
    """
    if platform.machine() not in ("x86_64", "aarch64"):
        return []
    # Docker's API takes the profile itself, Podman's the path of a file.
    profile = _SECCOMP_PROFILE.resolve() if is_podman(client) else _SECCOMP_PROFILE.read_text()
    return [f"seccomp={profile}"]


def _nano_cpus(client: Client, limits: SandboxLimits) -> int | None:
    """Return the CPU limit; None if the engine cannot enforce and therefore would refuse it."""
    if "processors" in unenforced_limits(client):
        return None
    return int(min(limits.cpus, os.cpu_count() or 1) * 1e9)


def _ulimits(limits: SandboxLimits) -> list[docker.types.Ulimit]:
    maximums = {"nofile": limits.open_files, "fsize": limits.disk, "core": 0}
    return [docker.types.Ulimit(name=name, soft=n, hard=n) for name, n in maximums.items()]


def _networking_config(client: Client, network: SandboxNetwork) -> Any:
    endpoint: Any = client.api.create_endpoint_config(ipv4_address=network.address)
    networks: Any = {network.name: endpoint}
    return client.api.create_networking_config(networks)


def _mounts(spec: ContainerSpec, directories: Mapping[str, Path]) -> list[docker.types.Mount]:
    mount = docker.types.Mount
    folder = spec.workspace.parent.resolve()  # each resolved path costs a call per part of it
    mounts = [
        mount(WORKSPACE, str(folder / spec.workspace.name), type="bind"),
        mount(f"{STUDIO_FOLDER}/supervisor", _SUPERVISOR_FOLDER, type="bind", read_only=True),
    ]
    if spec.certificates is not None:
        bundle = str(spec.certificates.resolve())
        mounts.append(mount(_CERTIFICATES_PATH, bundle, type="bind", read_only=True))
    for file in _etc_files(folder / "etc"):
        mounts.append(mount(f"/etc/{file.name}", str(file), type="bind", read_only=True))
    return mounts + [
        mount(at, str(folder / path.relative_to(spec.workspace.parent)), type="bind")
        for at, path in directories.items()
    ]


def _etc_files(folder: Path) -> list[Path]:
    """Copy the files for /etc to a folder, world-readable whatever the umask; return the copies."""
    try:
        folder.mkdir(exist_ok=True)
        copies = [folder / file.name for file in _ETC_FOLDER.iterdir()]
        for copy in copies:
            copy.write_bytes((_ETC_FOLDER / copy.name).read_bytes())
            copy.chmod(0o644)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise SandboxError(f"The sandbox's files for /etc cannot be created: {why}.") from error
    return copies


def _environment(spec: ContainerSpec, network: SandboxNetwork | None) -> dict[str, str]:
    trusted = _CERTIFICATE_VARIABLES if spec.certificates is not None else ()
    environment = _ENVIRONMENT | dict.fromkeys(trusted, _CERTIFICATES_PATH)
    if network is not None:
        environment |= dict.fromkeys(_PROXY_VARIABLES, network.proxy_url) | _NO_PROXY
    return environment


def host_certificates() -> Path | None:
    """Return the host's CA certificate bundle; None if there is none."""
    return next((path for path in map(Path, _HOST_CERTIFICATE_BUNDLES) if path.is_file()), None)

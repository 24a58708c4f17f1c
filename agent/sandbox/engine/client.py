"""Connection to this machine's container engine."""

import contextlib
import time
from collections.abc import Iterator
from functools import lru_cache

import docker
import docker.errors
import requests.exceptions
import urllib3.exceptions

from agent.errors import EngineError, EngineUnanswered, SandboxError
from agent.sandbox.engine.discovery import find_engine, probe
from agent.util.stop import Stop


class Client(docker.DockerClient):
    """A connected client."""

    def __init__(self, address: str, timeout: float) -> None:
        super().__init__(base_url=address, version="auto", timeout=int(timeout))
        self.address = address


ENGINE_ERRORS = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
)
"""Exceptions of a client call: an error response, no answer, or a truncated answer."""

_LIMIT_NAMES = {"MemoryLimit": "memory", "CpuCfsQuota": "processors", "PidsLimit": "processes"}
RECOVERY_SECONDS = 30.0
_POLL_SECONDS = 0.25
ENGINE_UNAVAILABLE = (
    "The container engine no longer answers. Restart it, then send a message to continue."
)


def connect(
    host: str | None = None, runtime_dir: str | None = None, *, timeout: float = 60.0
) -> Client:
    """Connect to the engine that ``discovery.find_engine`` finds; the caller closes the client."""
    finding = find_engine(host, runtime_dir)
    if finding.state != "ready":
        raise EngineError(finding.advice())
    try:
        client = Client(finding.url, timeout)
    except ENGINE_ERRORS as error:
        raise EngineError(
            f"The container engine at {finding.url} sent an unexpected answer: {error}"
        ) from error
    if finding.url.startswith("unix:"):
        # A socket needs neither a proxy nor ~/.netrc, which requests would look for each time.
        client.api.trust_env = False
    return client


@lru_cache(maxsize=4)
def is_podman(client: Client) -> bool:
    """Return whether the engine is Podman (cached), whose bridge networks reach this machine."""
    with engine_errors("The container engine's name cannot be read"):
        parts = client.version().get("Components") or []
    return any(part.get("Name") == "Podman Engine" for part in parts)


def check_runtime(client: Client, name: str) -> None:
    """Check that the engine has the runtime ``name``, unless that is empty."""
    if not name:
        return
    with engine_errors("The container engine's runtimes cannot be read"):
        available = sorted(client.info().get("Runtimes") or {})
    if name not in available:
        raise EngineError(
            f"STUDIO_RUNTIME is {name!r}, which this engine does not have. "
            f"Its runtimes: {', '.join(available) or 'none'}. "
            "Register it with the engine, or unset STUDIO_RUNTIME."
        )


@lru_cache(maxsize=4)
def unenforced_limits(client: Client) -> tuple[str, ...]:
    """Return the container limits that a rootless engine cannot enforce; cached."""
    with engine_errors("The container engine's capabilities cannot be read"):
        known = client.info()
    return tuple(name for key, name in _LIMIT_NAMES.items() if not known.get(key))


@contextlib.contextmanager
def engine_errors(prefix: str) -> Iterator[None]:
    """Convert engine errors in the block to a ``SandboxError`` that begins with ``prefix``."""
    try:
        yield
    except docker.errors.NotFound as error:
        raise SandboxError(f"{prefix}: its container or image no longer exists.") from error
    except docker.errors.APIError as error:
        raise SandboxError(f"{prefix}: {error.explanation or error}") from error
    except ENGINE_ERRORS as error:
        raise EngineUnanswered(
            f"{prefix}: the container engine does not answer ({error})."
        ) from error


def wait_for_engine(client: Client, stop: Stop, seconds: float = RECOVERY_SECONDS) -> None:
    """Wait until the engine answers, for example after a restart."""
    end = time.monotonic() + seconds
    while not is_responding(client):
        if stop.wait(_POLL_SECONDS) or time.monotonic() > end:
            raise SandboxError(ENGINE_UNAVAILABLE)


def is_responding(client: Client) -> bool:
    """Return whether the engine takes new connections, unlike one that is shutting down."""
    return probe(client.address).state == "ready"

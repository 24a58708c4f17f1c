"""The container engine of this machine, as a client."""

import contextlib
import time
from collections.abc import Iterator

import docker
import docker.errors
import requests.exceptions
import urllib3.exceptions

from agent.errors import EngineError, SandboxError
from agent.sandbox.address import find
from agent.stop import Stop

Client = docker.DockerClient
"""A connected engine, for the annotations of those who only hand it on."""

ENGINE_ERRORS = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
)
"""What a call of the client may raise: a refusal, no answer, an answer that breaks off."""

BACK_SECONDS = 30.0
_LOOK = 0.25
GONE = (
    "The container engine does not answer any more. Start it again, then send a message to go on."
)


def connect(
    host: str | None = None, runtime_dir: str | None = None, *, timeout: float = 60.0
) -> docker.DockerClient:
    """A client of the engine that ``agent.sandbox.address.find`` finds; the caller closes it.

    Args:
        host: An address to use and no other, as in ``DOCKER_HOST``.
        runtime_dir: The user's folder of sockets, as in ``XDG_RUNTIME_DIR``.
        timeout: Seconds that one request may wait for the engine.

    Raises:
        EngineError: there is none that can be used; the text says what to type.
    """
    finding = find(host, runtime_dir)
    if finding.state != "ready":
        raise EngineError(finding.advice())
    try:
        return docker.DockerClient(base_url=finding.url, version="auto", timeout=int(timeout))
    except ENGINE_ERRORS as error:
        raise EngineError(
            f"The container engine at {finding.url} does not answer as it should: {error}"
        ) from error


def check_runtime(client: docker.DockerClient, name: str) -> None:
    """Make sure that the engine has a runtime of this name, where one is named.

    Raises:
        EngineError: it has none; says which it has.
    """
    with engine_errors("The engine's runtimes are not known"):
        offered = sorted(client.info().get("Runtimes") or {})
    if name and name not in offered:
        raise EngineError(
            f"STUDIO_RUNTIME is {name!r}, which this engine does not have. "
            f"It has: {', '.join(offered) or 'none that it names'}. "
            "Register it with the engine, or unset STUDIO_RUNTIME."
        )


@contextlib.contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn what the engine says inside the block into a ``SandboxError`` that begins with ``what``.

    Raises:
        SandboxError: the engine refused, or does not answer.
    """
    try:
        yield
    except docker.errors.NotFound as error:
        raise SandboxError(f"{what}: its container or image is not there any more.") from error
    except docker.errors.APIError as error:
        raise SandboxError(f"{what}: {error.explanation or error}") from error
    except ENGINE_ERRORS as error:
        raise SandboxError(f"{what}: the container engine does not answer ({error}).") from error


def await_engine(client: Client, stop: Stop, seconds: float = BACK_SECONDS) -> None:
    """Wait while the engine does not answer, as when it is being restarted.

    Raises:
        SandboxError: it does not come back for so long, or the stop came first.
    """
    end = time.monotonic() + seconds
    while not answers(client):
        if stop.wait(_LOOK) or time.monotonic() > end:
            raise SandboxError(GONE)


def answers(client: Client) -> bool:
    """Whether the engine takes requests.

    One that is ending serves the connections that it has, to the harm of what is started then,
    and takes no new one; so those are let go of before it is asked.
    """
    client.close()
    try:
        return bool(client.ping())
    except ENGINE_ERRORS:
        return False

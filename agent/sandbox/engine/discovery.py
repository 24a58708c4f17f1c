"""Discovery of the container engine on this machine; standard library only, to start fast."""

import contextlib
import ipaddress
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from agent.errors import EngineError

EngineState = Literal["ready", "absent", "down", "denied", "strange"]

SYSTEM_SOCKET = "/var/run/docker.sock"
PROBE_SECONDS = 5.0

_REMOTE_MESSAGE = (
    "{host} is a remote container engine. The workspace is a folder of this machine, which a "
    "remote engine cannot mount; use an engine here (unset DOCKER_HOST, or set it to "
    "unix:///var/run/docker.sock)."
)
# Most informative for the user first.
_ADVICE: dict[EngineState, str] = {
    "denied": "The container engine is running, but this user may not access it "
    "({url}: permission denied). Join its group: sudo usermod -aG docker $USER, "
    "then log in again",
    "strange": "A program answers at {url}, but it is not a container engine ({detail}). "
    "Check which program listens there, or set DOCKER_HOST to the engine's address.",
    "down": "The container engine is installed, but it is not running ({url}: {detail}). "
    "Start it: sudo systemctl start docker (or, without systemd: sudo service docker start)",
    "absent": "No container engine was found on this machine. Install one, for example: "
    "sudo apt-get install docker.io",
}


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of probing one address; ``detail`` is the system's or the server's message."""

    url: str
    state: EngineState
    detail: str = ""

    def advice(self) -> str:
        """Return a message for the user: what happened and which command helps."""
        return _ADVICE[self.state].format(url=self.url, detail=self.detail)


def find_engine(host: str | None = None, runtime_dir: str | None = None) -> ProbeResult:
    """Return the first engine that answers, else the most informative finding.

    Podman is used only if ``host`` names it, because its sandboxes have no network.
    """
    results = []
    for url in [normalize_address(host)] if host else _default_addresses(runtime_dir):
        results.append(probe(url))
        if results[-1].state == "ready":
            return results[-1]
    best_result = min(results, key=lambda result: list(_ADVICE).index(result.state))
    if best_result.state == "absent" and (host or shutil.which("dockerd")):
        return ProbeResult(best_result.url, "down", best_result.detail)
    return best_result


def normalize_address(host: str) -> str:
    """Return ``host`` normalized to an address of an engine on this machine."""
    parts = urlsplit(host)
    if parts.scheme in ("unix", "http+unix") and parts.path:
        return f"unix://{parts.netloc}{parts.path}"
    with contextlib.suppress(ValueError):  # the port is not a number
        is_address = parts.scheme in ("tcp", "http") and parts.hostname and parts.port is not None
        if is_address and _is_loopback(str(parts.hostname)):
            return f"tcp://{parts.netloc}"
        if is_address or parts.scheme == "ssh":
            raise EngineError(_REMOTE_MESSAGE.format(host=host))
    raise EngineError(
        f"{host!r} is not the address of a container engine. Set DOCKER_HOST to "
        "unix:///path/to/socket or tcp://127.0.0.1:port."
    )


def probe(url: str) -> ProbeResult:
    """Probe the engine at ``url`` (``unix://…`` or ``tcp://host:port``)."""
    try:
        answer = _ping(urlsplit(url))
    except FileNotFoundError:
        return ProbeResult(url, "absent", "no such socket")
    except PermissionError:
        return ProbeResult(url, "denied")
    except TimeoutError:
        return ProbeResult(url, "strange", f"no answer in {PROBE_SECONDS:g} seconds")
    except OSError as error:
        return ProbeResult(url, "down", (error.strerror or str(error)).lower())
    if answer.startswith(b"HTTP/1.") and answer.split(b" ")[1:2] == [b"200"]:
        return ProbeResult(url, "ready")
    return ProbeResult(url, "strange", f"answer: {answer[:60].decode('latin-1')!r}")


def _default_addresses(runtime_dir: str | None) -> Iterator[str]:
    yield f"unix://{SYSTEM_SOCKET}"
    if runtime_dir:
        yield f"unix://{runtime_dir}/docker.sock"
    with contextlib.suppress(OSError, subprocess.SubprocessError, EngineError):
        command = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=True
        )
        yield normalize_address(found.stdout.strip())


def _is_loopback(hostname: str) -> bool:
    try:
        return hostname == "localhost" or ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False


def _ping(parts: SplitResult) -> bytes:
    """Return the first line of the answer to a ping."""
    family = socket.AF_UNIX
    address: str | tuple[str | None, int | None] = parts.path
    if parts.scheme == "tcp":
        family = socket.AF_INET6 if ":" in str(parts.hostname) else socket.AF_INET
        address = (parts.hostname, parts.port)
    with socket.socket(family) as connection:
        connection.settimeout(PROBE_SECONDS)
        connection.connect(address)
        connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: localhost\r\n\r\n")
        return connection.makefile("rb").readline(4096)

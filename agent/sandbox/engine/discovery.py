"""Discovery of the container engine on this machine, with a diagnosis if none is usable.

Standard library only: the setup runs this on every start, before it imports anything heavy.
"""

import ipaddress
import shutil
import socket
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
_ADVICE: dict[EngineState, str] = {
    "absent": "No container engine was found on this machine. Install one, for example: "
    "sudo apt-get install docker.io",
    "down": "The container engine is installed, but it is not running ({url}: {detail}). "
    "Start it: sudo systemctl start docker (or, without systemd: sudo service docker start)",
    "denied": "The container engine is running, but this user may not access it "
    "({url}: permission denied). Join its group: sudo usermod -aG docker $USER, "
    "then log in again",
    "strange": "A program answers at {url}, but it is not a container engine ({detail}). "
    "Check which program listens there, or set DOCKER_HOST to the engine's address.",
}
# Most informative for the user first.
_STATES_BY_PRIORITY: tuple[EngineState, ...] = ("denied", "strange", "down", "absent")


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

    Args:
        host: The only address to try, as in ``DOCKER_HOST``; empty to try the usual ones.
        runtime_dir: The user's folder of sockets, as in ``XDG_RUNTIME_DIR``.

    Raises:
        EngineError: ``host`` is another machine's or not a valid address.
    """
    results = []
    for url in [normalize_address(host)] if host else _default_addresses(runtime_dir):
        result = probe(url)
        if result.state == "ready":
            return result
        results.append(result)
    best_result = min(results, key=lambda finding: _STATES_BY_PRIORITY.index(finding.state))
    if best_result.state == "absent" and host:
        return ProbeResult(best_result.url, "down", best_result.detail)
    if best_result.state == "absent" and shutil.which("dockerd"):
        return ProbeResult(best_result.url, "down", "no such socket")
    return best_result


def normalize_address(host: str) -> str:
    """Return ``host`` normalized to an address of an engine on this machine.

    Raises:
        EngineError: it is another machine's or not a valid address.
    """
    parts = urlsplit(host)
    if parts.scheme in ("unix", "http+unix") and parts.path:
        return f"unix://{parts.netloc}{parts.path}"
    if parts.scheme == "ssh":
        raise EngineError(_REMOTE_MESSAGE.format(host=host))
    if parts.scheme not in ("tcp", "http") or not parts.hostname or _port(parts) is None:
        raise EngineError(
            f"{host!r} is not the address of a container engine. Set DOCKER_HOST to "
            "unix:///path/to/socket or tcp://127.0.0.1:port."
        )
    if not _is_loopback(parts.hostname):
        raise EngineError(_REMOTE_MESSAGE.format(host=host))
    return f"tcp://{parts.netloc}"


def probe(url: str) -> ProbeResult:
    """Probe the engine at ``url`` (``unix://…`` or ``tcp://host:port``)."""
    try:
        with _connect(urlsplit(url)) as connection:
            connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = _read_status_line(connection)
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


def _default_addresses(runtime_dir: str | None) -> list[str]:
    paths = [SYSTEM_SOCKET]
    if runtime_dir:
        paths.append(f"{runtime_dir}/docker.sock")
    return [f"unix://{path}" for path in paths]


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        return None


def _is_loopback(hostname: str) -> bool:
    if hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False


def _connect(parts: SplitResult) -> socket.socket:
    if parts.scheme == "tcp":
        return socket.create_connection((parts.hostname, parts.port), timeout=PROBE_SECONDS)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PROBE_SECONDS)
    try:
        connection.connect(parts.path)
    except OSError:
        connection.close()
        raise
    return connection


def _read_status_line(connection: socket.socket) -> bytes:
    response = b""
    while b"\r\n" not in response and len(response) < 4096:
        data = connection.recv(4096)
        if not data:
            break
        response += data
    return response

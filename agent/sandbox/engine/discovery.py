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

State = Literal["ready", "absent", "down", "denied", "strange"]

SYSTEM_SOCKET = "/var/run/docker.sock"
PROBE_SECONDS = 5.0

_REMOTE = (
    "{host} is a remote container engine. The workspace is a folder of this machine, which a "
    "remote engine cannot mount; use an engine here (unset DOCKER_HOST, or set it to "
    "unix:///var/run/docker.sock)."
)
_ADVICE: dict[State, str] = {
    "absent": "No container engine was found on this machine. Install one, for example: "
    "sudo apt-get install docker.io",
    "down": "The container engine is installed, but it is not running ({url}: {detail}). "
    "Start it: sudo systemctl start docker (or, without systemd: sudo service docker start)",
    "denied": "The container engine is running, but this user may not talk to it "
    "({url}: permission denied). Join its group: sudo usermod -aG docker $USER, "
    "then log in again",
    "strange": "Something answers at {url}, but not as a container engine does ({detail}). "
    "Look at what listens there, or set DOCKER_HOST to the engine's own address.",
}
# Most informative for the user first.
_TELLING: tuple[State, ...] = ("denied", "strange", "down", "absent")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of probing one address; ``detail`` is the system's or the server's message."""

    url: str
    state: State
    detail: str = ""

    def advice(self) -> str:
        """Return a message for the user: what happened and which command helps."""
        return _ADVICE[self.state].format(url=self.url, detail=self.detail)


def find(host: str | None = None, runtime_dir: str | None = None) -> Finding:
    """Return the first engine that answers, else the most informative finding.

    Args:
        host: The only address to try, as in ``DOCKER_HOST``; empty to try the usual ones.
        runtime_dir: The user's folder of sockets, as in ``XDG_RUNTIME_DIR``.

    Raises:
        EngineError: ``host`` is another machine's or not a valid address.
    """
    findings = []
    for url in [local_address(host)] if host else _usual_addresses(runtime_dir):
        finding = probe(url)
        if finding.state == "ready":
            return finding
        findings.append(finding)
    worst = min(findings, key=lambda finding: _TELLING.index(finding.state))
    if worst.state == "absent" and host:
        return Finding(worst.url, "down", worst.detail)
    if worst.state == "absent" and shutil.which("dockerd"):
        return Finding(worst.url, "down", "no socket there")
    return worst


def local_address(host: str) -> str:
    """Return ``host`` normalized to an address of an engine on this machine.

    Raises:
        EngineError: it is another machine's or not a valid address.
    """
    parts = urlsplit(host)
    if parts.scheme in ("unix", "http+unix") and parts.path:
        return f"unix://{parts.netloc}{parts.path}"
    if parts.scheme == "ssh":
        raise EngineError(_REMOTE.format(host=host))
    if parts.scheme not in ("tcp", "http") or not parts.hostname or _port(parts) is None:
        raise EngineError(
            f"{host!r} is no address of a container engine. DOCKER_HOST takes "
            "unix:///path/to/socket or tcp://127.0.0.1:port."
        )
    if not _is_loopback(parts.hostname):
        raise EngineError(_REMOTE.format(host=host))
    return f"tcp://{parts.netloc}"


def probe(url: str) -> Finding:
    """Probe the engine at ``url`` (``unix://…`` or ``tcp://host:port``)."""
    try:
        with _connect(urlsplit(url)) as connection:
            connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = _read_head(connection)
    except FileNotFoundError:
        return Finding(url, "absent", "no socket there")
    except PermissionError:
        return Finding(url, "denied")
    except TimeoutError:
        return Finding(url, "strange", f"no answer in {PROBE_SECONDS:g} seconds")
    except OSError as error:
        return Finding(url, "down", (error.strerror or str(error)).lower())
    if answer.startswith(b"HTTP/1.") and answer.split(b" ")[1:2] == [b"200"]:
        return Finding(url, "ready")
    return Finding(url, "strange", f"it said {answer[:60].decode('latin-1')!r}")


def _usual_addresses(runtime_dir: str | None) -> list[str]:
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


def _read_head(connection: socket.socket) -> bytes:
    head = b""
    while b"\r\n" not in head and len(head) < 4096:
        data = connection.recv(4096)
        if not data:
            break
        head += data
    return head

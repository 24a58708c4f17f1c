"""The proxy's log, read as it grows: which sandbox asked for what."""

import threading
from pathlib import Path
from urllib.parse import urlsplit

from agent.sandbox.network import Request

MOST = 1000
"""Requests of one sandbox that are kept until they are asked for."""

LARGEST = 16 * 1024**2
"""Bytes of the file past which it is begun anew."""

_REFUSED = "it is not among the hosts that this run may reach, or not on the public internet"
_PORTS = {"http": 80, "https": 443}


class AccessLog:
    """The log's file; any thread may ask.

    Args:
        path: The file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._at = 0
        self._asked: dict[str, list[Request]] = {}

    def take(self, address: str) -> list[Request]:
        """What the sandbox at an address has asked for since the last time."""
        with self._lock:
            self._read()
            return self._asked.pop(address, [])

    def _read(self) -> None:
        try:
            with self._path.open("rb+") as file:
                file.seek(self._at)
                new = file.read()
                whole = new[: new.rfind(b"\n") + 1]
                self._at += len(whole)
                if self._at > LARGEST and len(whole) == len(new):
                    file.truncate(0)  # the proxy appends, wherever the end is
                    self._at = 0
        except FileNotFoundError:
            return
        for line in whole.decode("utf-8", "replace").splitlines():
            address, request = parsed(line)
            kept = self._asked.setdefault(address, [])
            if request is not None and len(kept) < MOST:
                kept.append(request)


def parsed(line: str) -> tuple[str, Request | None]:
    """A line's sandbox and request; None for what is no request (a connection without one)."""
    fields = line.split(" ")
    if len(fields) != 8:
        return "", None
    when, address, status, how, method, target, received, sent = fields
    refused = _REFUSED if "DENIED" in how else ""
    try:
        host, port = _target(method, target)
        request = Request(float(when), host, port, int(received), int(sent), refused)
    except ValueError:
        return address, None
    return address, request if host and (refused or status != "000") else None


def _target(method: str, target: str) -> tuple[str, int]:
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        return host.strip("[]"), int(port)
    parts = urlsplit(target)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)

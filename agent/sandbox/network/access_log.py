"""Incremental reader of the proxy's access log, by sandbox."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agent.sandbox.network.policy import NetworkRequest

MAX_REQUESTS = 1000
"""Maximum requests of one sandbox to keep individually until they are taken."""

MAX_SUMMED_HOSTS = 10_000
"""Maximum hosts of one sandbox for which further requests are summed."""

OTHER_HOSTS = "(other hosts)"
"""Host name reported for the requests to hosts beyond ``MAX_SUMMED_HOSTS``."""

MAX_LOG_BYTES = 16 * 1024**2
"""Bytes of the file above which it is truncated."""

CHUNK_BYTES = 1024**2
"""Bytes to read at once; far more than any line."""

_REFUSED = "this run may not reach it, or it is not on the public internet"


class AccessLog:
    """The proxy's access log. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._offset = 0
        self._pending: dict[str, _RequestBuffer] = {}

    def take(self, address: str) -> list[NetworkRequest]:
        """Return a sandbox's new requests; those after ``MAX_REQUESTS`` are summed by host."""
        with self._lock:
            self._read()
            return self._pending.pop(address, _RequestBuffer()).all()

    def _read(self) -> None:
        try:
            with self._path.open("rb+") as file:
                file.seek(self._offset)
                for piece in _complete_lines(file):
                    self._offset += len(piece)
                    self._add_lines(piece)
                if self._offset > MAX_LOG_BYTES and not file.read(1):
                    file.truncate(0)  # safe: the proxy opens the file in append mode
                    self._offset = 0
        except FileNotFoundError:
            return

    def _add_lines(self, lines: bytes) -> None:
        for line in lines.decode("utf-8", "replace").splitlines():
            address, request = parse_line(line)
            if request is not None:
                self._pending.setdefault(address, _RequestBuffer()).add(request)


class _RequestBuffer:
    """The requests of one sandbox, in bounded memory."""

    def __init__(self) -> None:
        self._requests: list[NetworkRequest] = []
        self._sum_by_host: dict[tuple[str, str], NetworkRequest] = {}

    def add(self, request: NetworkRequest) -> None:
        if len(self._requests) < MAX_REQUESTS:
            self._requests.append(request)
            return
        if (request.host, request.refused) not in self._sum_by_host and len(
            self._sum_by_host
        ) >= MAX_SUMMED_HOSTS:
            request = replace(request, host=OTHER_HOSTS)
        key = request.host, request.refused
        known = self._sum_by_host.get(key)
        self._sum_by_host[key] = request if known is None else _sum(known, request)

    def all(self) -> list[NetworkRequest]:
        return [*self._requests, *self._sum_by_host.values()]


def _sum(one: NetworkRequest, later: NetworkRequest) -> NetworkRequest:
    received, sent = one.received + later.received, one.sent + later.sent
    return replace(later, received=received, sent=sent)


def _complete_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the complete lines after the file position, and move it behind the last one."""
    while piece := file.read(CHUNK_BYTES):
        complete = piece[: piece.rfind(b"\n") + 1]
        if not complete and len(piece) < CHUNK_BYTES:
            file.seek(-len(piece), 1)
            return
        complete = complete or piece  # skip data that is too long to be a line of the proxy
        file.seek(len(complete) - len(piece), 1)
        yield complete


def parse_line(line: str) -> tuple[str, NetworkRequest | None]:
    """Parse a line into sandbox address and request; None for a connection without a request."""
    fields = line.split(" ")
    if len(fields) != 6:
        return "", None
    ended_at, address, status, target, received, sent = fields
    refused = _REFUSED if "DENIED" in status else ""
    host, _, port = target.rpartition(":")
    # Squid percent-encodes the brackets around an IPv6 address.
    host = host.removeprefix("%5B").removesuffix("%5D").strip("[]")
    try:
        request = NetworkRequest(
            float(ended_at), host, int(port), int(received), int(sent), refused
        )
    except ValueError:
        return address, None
    return address, request if host not in ("", "-") else None

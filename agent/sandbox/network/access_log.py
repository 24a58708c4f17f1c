"""Incremental reader of the proxy's access log, by sandbox."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agent.sandbox.network.policy import Request

MOST = 1000
"""Maximum requests of one sandbox to keep individually until they are taken."""

MOST_SUMS = 10_000
"""Maximum hosts of one sandbox for which requests beyond ``MOST`` are summed."""

OTHERS = "(other hosts)"
"""Host name reported for the requests to hosts beyond ``MOST_SUMS``."""

LARGEST = 16 * 1024**2
"""Bytes of the file above which it is truncated."""

PIECE = 1024**2
"""Bytes to read at once; far more than any line."""

_REFUSED = "it is not among the hosts that this run may reach, or not on the public internet"


class AccessLog:
    """The proxy's access log. Thread-safe.

    Args:
        path: The file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._at = 0
        self._asked: dict[str, _Asked] = {}

    def take(self, address: str) -> list[Request]:
        """Return the requests of the sandbox at an address since the previous call.

        The first ``MOST`` requests are returned individually. Requests beyond them are summed:
        one entry per host, with the total bytes of its requests.
        """
        with self._lock:
            self._read()
            return self._asked.pop(address, _Asked()).all()

    def _read(self) -> None:
        try:
            with self._path.open("rb+") as file:
                file.seek(self._at)
                for piece in _pieces(file):
                    self._at += len(piece)
                    self._keep(piece)
                if self._at > LARGEST and not file.read(1):
                    file.truncate(0)  # safe: the proxy opens the file in append mode
                    self._at = 0
        except FileNotFoundError:
            return

    def _keep(self, lines: bytes) -> None:
        for line in lines.decode("utf-8", "replace").splitlines():
            address, request = parsed(line)
            if request is not None:
                self._asked.setdefault(address, _Asked()).add(request)


class _Asked:
    """The requests of one sandbox, in bounded memory."""

    def __init__(self) -> None:
        self._each: list[Request] = []
        self._sums: dict[tuple[str, str], Request] = {}

    def add(self, request: Request) -> None:
        if len(self._each) < MOST:
            self._each.append(request)
            return
        if (request.host, request.refused) not in self._sums and len(self._sums) >= MOST_SUMS:
            request = replace(request, host=OTHERS)
        key = request.host, request.refused
        known = self._sums.get(key)
        self._sums[key] = request if known is None else _together(known, request)

    def all(self) -> list[Request]:
        return [*self._each, *self._sums.values()]


def _together(one: Request, later: Request) -> Request:
    received, sent = one.received + later.received, one.sent + later.sent
    return replace(later, received=received, sent=sent)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the complete lines after the file position, and move it behind the last one."""
    while piece := file.read(PIECE):
        whole = piece[: piece.rfind(b"\n") + 1]
        if not whole and len(piece) < PIECE:
            file.seek(-len(piece), 1)
            return
        whole = whole or piece  # skip data that is too long to be a line of the proxy
        file.seek(len(whole) - len(piece), 1)
        yield whole


def parsed(line: str) -> tuple[str, Request | None]:
    """Parse a line into sandbox address and request; None for a connection without a request."""
    fields = line.split(" ")
    if len(fields) != 6:
        return "", None
    when, address, how, target, received, sent = fields
    refused = _REFUSED if "DENIED" in how else ""
    host, _, port = target.rpartition(":")
    # Squid percent-encodes the brackets around an IPv6 address.
    host = host.removeprefix("%5B").removesuffix("%5D").strip("[]")
    try:
        request = Request(float(when), host, int(port), int(received), int(sent), refused)
    except ValueError:
        return address, None
    return address, request if host not in ("", "-") else None

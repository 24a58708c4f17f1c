"""The proxy's log, read as it grows: which sandbox asked for what."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from agent.sandbox.network import Request

MOST = 1000
"""Requests of one sandbox that are kept one by one until they are asked for."""

MOST_SUMS = 10_000
"""Hosts of which those beyond are kept as sums."""

OTHERS = "(other hosts)"
"""Whom those are said to be for that came when there were ``MOST_SUMS`` sums."""

LARGEST = 16 * 1024**2
"""Bytes of the file past which it is begun anew."""

PIECE = 1024**2
"""Bytes that are read at once; no line is nearly as long."""

_REFUSED = "it is not among the hosts that this run may reach, or not on the public internet"


class AccessLog:
    """The log's file; any thread may ask.

    Args:
        path: The file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._at = 0
        self._asked: dict[str, _Asked] = {}

    def take(self, address: str) -> list[Request]:
        """What the sandbox at an address has asked for since the last time.

        The first ``MOST`` requests are told one by one. Of those beyond no host is left out:
        each is told once more, with the bytes of its requests together.
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
                    file.truncate(0)  # the proxy appends, wherever the end is
                    self._at = 0
        except FileNotFoundError:
            return

    def _keep(self, lines: bytes) -> None:
        for line in lines.decode("utf-8", "replace").splitlines():
            address, request = parsed(line)
            if request is not None:
                self._asked.setdefault(address, _Asked()).add(request)


class _Asked:
    """What one sandbox asked for, in memory that has an end."""

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
    """The whole lines from where the file stands, and leave it behind the last one."""
    while piece := file.read(PIECE):
        whole = piece[: piece.rfind(b"\n") + 1]
        if not whole and len(piece) < PIECE:
            file.seek(-len(piece), 1)
            return
        whole = whole or piece  # what is no line of the proxy's is passed over
        file.seek(len(whole) - len(piece), 1)
        yield whole


def parsed(line: str) -> tuple[str, Request | None]:
    """A line's sandbox and request; None for what is no request (a connection without one)."""
    fields = line.split(" ")
    if len(fields) != 6:
        return "", None
    when, address, how, target, received, sent = fields
    refused = _REFUSED if "DENIED" in how else ""
    host, _, port = target.rpartition(":")
    # Squid writes the brackets around an address of IPv6 as it does all that is unusual.
    host = host.removeprefix("%5B").removesuffix("%5D").strip("[]")
    try:
        request = Request(float(when), host, int(port), int(received), int(sent), refused)
    except ValueError:
        return address, None
    return address, request if host not in ("", "-") else None

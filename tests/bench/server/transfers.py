"""Transfers of a large file, compared with ``cp`` and an upload to ``gr.File``."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.context import BenchContext, print_progress, run_program
from tests.bench.tables import Table, format_megabytes
from tests.support import httpx, tus

_CHUNK_BYTES = 1024**2
_BOUNDARY = "----bench"


@dataclass
class _Rates:
    """Transfer rates in bytes per second, and the growth of the server's peak memory."""

    rates: list[float] = field(default_factory=list)
    memory_growth: int | None = None

    def cells(self) -> tuple[str, ...]:
        ranked = sorted(rate / 1e6 for rate in self.rates)
        growth = "" if self.memory_growth is None else format_megabytes(self.memory_growth)
        median = f"{ranked[len(ranked) // 2]:.0f} MB/s"
        return median, f"{ranked[0]:.0f} … {ranked[-1]:.0f}", growth, str(len(ranked))


def table(context: BenchContext, *, size: int = 1024**3, times: int = 3) -> Table:
    """Measure uploads, downloads, ZIP downloads, ``cp`` and uploads to ``gr.File``."""
    result = Table(
        f"A file of {format_megabytes(size)}",
        ("what", "median", "smallest … largest", "peak memory grew by", "n"),
        notes=[
            "Over the loopback interface, from a file and into nothing, by a client that costs "
            "next to nothing; the server's process alone. `cp` copies from the page cache to the "
            "same disk. Bar: 200 MB/s, and a growth under 32 MB."
        ],
    )
    folder = context.folder / "transfers"
    folder.mkdir()
    source = folder / "source"
    with source.open("wb") as file:
        for _ in range(max(1, size // _CHUNK_BYTES)):
            file.write(os.urandom(_CHUNK_BYTES))
    with _serve(context, "studio") as studio, _serve(context, "gradio") as gradio:
        rows = {
            "upload, in one part": _Uploads(studio, source),
            "download": _Downloads(studio, source, "files/input/big"),
            "download as a zip": _Downloads(studio, source, "zip?path=input/big"),
            "upload to `gr.File`": _GradioUploads(gradio, source),
        }
        for name, row in rows.items():
            print_progress(name)
            result.add(name, *_measure(row, times).cells())
    result.add("`cp`", *_measure_cp(source, times).cells())
    for each in folder.rglob("*"):
        if each.is_file():
            each.unlink()
    return result


@dataclass
class _Server:
    address: str
    run: str
    pid: int

    def connect(self) -> socket.socket:
        where = urlsplit(self.address)
        return socket.create_connection((where.hostname or "", where.port or 0))

    def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Send a small request; returns status and body."""
        with self.connect() as connection:
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            return _read_response(connection)

    def peak_memory(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@dataclass
class _Transfer:
    """One method of transferring the source file."""

    server: _Server
    source: Path

    def transfer(self, source: Path) -> None:
        raise NotImplementedError


class _Uploads(_Transfer):
    def transfer(self, source: Path) -> None:
        runs = f"/api/runs/{self.server.run}"
        self.server.request("DELETE", f"{runs}/files/input/big")
        with httpx.Client(base_url=self.server.address) as client:
            upload = tus.url_of(
                tus.begin(client, self.server.run, "input/big", source.stat().st_size)
            )
        lines = [f"PATCH {urlsplit(upload).path} HTTP/1.1"]
        lines += map(": ".join, tus.part_headers(0).items())
        _post(self.server, "\r\n".join([*lines, ""]), b"", source, b"", 204)


@dataclass
class _Downloads(_Transfer):
    path: str

    def transfer(self, source: Path) -> None:
        buffer = bytearray(_CHUNK_BYTES)
        with self.server.connect() as connection:
            path = f"/api/runs/{self.server.run}/{self.path}"
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            received = 0
            while count := connection.recv_into(buffer):
                received += count
        assert received > source.stat().st_size


class _GradioUploads(_Transfer):
    def transfer(self, source: Path) -> None:
        before = (
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="big"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        after = f"\r\n--{_BOUNDARY}--\r\n".encode()
        kind = f"Content-Type: multipart/form-data; boundary={_BOUNDARY}\r\n"
        _post(
            self.server, f"POST /gradio_api/upload HTTP/1.1\r\n{kind}", before, source, after, 200
        )


def _post(
    server: _Server, head: str, before: bytes, source: Path, after: bytes, expected_status: int
) -> None:
    with server.connect() as connection, source.open("rb") as file:
        size = len(before) + source.stat().st_size + len(after)
        headers = f"Host: localhost\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
        connection.sendall((head + headers).encode() + before)
        connection.sendfile(file)
        connection.sendall(after)
        status, body = _read_response(connection)
    assert status == expected_status, body


def _read_response(connection: socket.socket) -> tuple[int, bytes]:
    response = b"".join(iter(lambda: connection.recv(_CHUNK_BYTES), b""))
    head, _, body = response.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def _measure(transfer: _Transfer, times: int) -> _Rates:
    """Measure a transfer, after a small file as warm-up."""
    small = transfer.source.with_name("small")
    small.write_bytes(bytes(4 * _CHUNK_BYTES))
    if not isinstance(transfer, _Downloads):
        transfer.transfer(small)
    rates = _Rates()
    before = transfer.server.peak_memory()
    for _ in range(times):
        start_time = time.perf_counter()
        transfer.transfer(transfer.source)
        rates.rates.append(transfer.source.stat().st_size / (time.perf_counter() - start_time))
    rates.memory_growth = transfer.server.peak_memory() - before
    return rates


def _measure_cp(source: Path, times: int) -> _Rates:
    rates = _Rates()
    for number in range(times):
        target = source.with_name(f"copy-{number}")
        start_time = time.perf_counter()
        subprocess.run(["cp", "--reflink=never", str(source), str(target)], check=True)
        rates.rates.append(source.stat().st_size / (time.perf_counter() - start_time))
        target.unlink()
    return rates


@contextmanager
def _serve(context: BenchContext, kind: str) -> Iterator[_Server]:
    data = context.folder / "transfers" / kind
    data.mkdir()
    command = [sys.executable, "-m", "tests.bench.server.transfers_program", kind, str(data)]
    environment = context.environment(f"transfers-{kind}", GRADIO_TEMP_DIR=str(data / "gradio"))
    with run_program(command, environment, output=True) as process:
        assert process.stdout is not None
        address, _, run = process.stdout.readline().strip().partition(" ")
        yield _Server(address, run, process.pid)

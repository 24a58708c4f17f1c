"""Transfers of a large file, compared with ``cp`` and an upload to ``gr.File``."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.context import BenchContext, print_progress, run_program
from tests.bench.tables import Table, format_megabytes
from tests.support import httpx, tus

_CHUNK_BYTES = 1024**2
_BOUNDARY = "----bench"


def table(context: BenchContext, *, size: int = 1024**3, times: int = 3) -> Table:
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
    small = folder / "small"
    small.write_bytes(bytes(4 * _CHUNK_BYTES))
    with _serve(context, "studio") as studio, _serve(context, "gradio") as gradio:
        for name, server, transfer in (
            ("upload, in one part", studio, partial(_upload, studio)),
            ("download", studio, partial(_download, studio, "files/input/big")),
            ("download as a zip", studio, partial(_download, studio, "zip?path=input/big")),
            ("upload to `gr.File`", gradio, partial(_upload_to_gradio, gradio)),
        ):
            print_progress(name)
            transfer(small)  # warm-up
            before = server.peak_memory()
            rates = _measure(transfer, source, times)
            growth = format_megabytes(server.peak_memory() - before)
            result.add(name, *_cells(rates, growth))
    result.add("`cp`", *_cells(_measure(_copy, source, times), ""))
    shutil.rmtree(folder)
    return result


def _cells(rates: list[float], growth: str) -> tuple[str, ...]:
    ranked = sorted(rate / 1e6 for rate in rates)
    median = f"{ranked[len(ranked) // 2]:.0f} MB/s"
    return median, f"{ranked[0]:.0f} … {ranked[-1]:.0f}", growth, str(len(ranked))


def _measure(transfer: Callable[[Path], object], source: Path, times: int) -> list[float]:
    """Return the bytes per second of transfers."""
    rates = []
    for _ in range(times):
        start_time = time.perf_counter()
        transfer(source)
        rates.append(source.stat().st_size / (time.perf_counter() - start_time))
    return rates


@dataclass
class _Server:
    address: str
    run: str
    pid: int

    def connect(self) -> socket.socket:
        where = urlsplit(self.address)
        return socket.create_connection((where.hostname or "", where.port or 0))

    def peak_memory(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _upload(server: _Server, source: Path) -> None:
    with httpx.Client(base_url=server.address) as client:
        client.delete(f"/api/runs/{server.run}/files/input/big")
        created = tus.begin(client, server.run, "input/big", source.stat().st_size)
        upload = tus.url_of(created)
    lines = [f"PATCH {urlsplit(upload).path} HTTP/1.1"]
    lines += map(": ".join, tus.part_headers(0).items())
    _post(server, "\r\n".join([*lines, ""]), b"", source, b"", 204)


def _download(server: _Server, path: str, source: Path) -> None:
    buffer = bytearray(_CHUNK_BYTES)
    with server.connect() as connection:
        head = f"GET /api/runs/{server.run}/{path} HTTP/1.1\r\nHost: localhost\r\n"
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
        received = 0
        while count := connection.recv_into(buffer):
            received += count
    assert received > source.stat().st_size


def _upload_to_gradio(server: _Server, source: Path) -> None:
    before = (
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="big"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    after = f"\r\n--{_BOUNDARY}--\r\n".encode()
    kind = f"Content-Type: multipart/form-data; boundary={_BOUNDARY}\r\n"
    _post(server, f"POST /gradio_api/upload HTTP/1.1\r\n{kind}", before, source, after, 200)


def _copy(source: Path) -> None:
    target = source.with_name("copy")
    subprocess.run(["cp", "--reflink=never", str(source), str(target)], check=True)
    target.unlink()


def _post(
    server: _Server, head: str, before: bytes, source: Path, after: bytes, expected_status: int
) -> None:
    with server.connect() as connection, source.open("rb") as file:
        size = len(before) + source.stat().st_size + len(after)
        headers = f"Host: localhost\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
        connection.sendall((head + headers).encode() + before)
        connection.sendfile(file)
        connection.sendall(after)
        response = b"".join(iter(lambda: connection.recv(_CHUNK_BYTES), b""))
    assert int(response.split()[1]) == expected_status, response


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

"""Failed startups: one sentence and an exit code, without a traceback."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agent.cli.main import ADDRESS_UNUSABLE
from agent.errors import AddressUnusable, SettingError
from agent.settings import load
from sandbox_ui.listen import bind_sockets, page_url

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[1]


def start(environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Start the application, which is expected to end by itself."""
    variables = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=variables | dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def used_port() -> Iterator[socket.socket]:
    with socket.socket() as listening_socket:
        listening_socket.bind(("127.0.0.1", 0))
        listening_socket.listen()
        yield listening_socket


def test_a_used_port_is_reported(tmp_path: Path, used_port: socket.socket) -> None:
    port = str(used_port.getsockname()[1])
    result = start({"STUDIO_DATA": str(tmp_path / "data"), "GRADIO_SERVER_PORT": port})
    assert result.returncode == ADDRESS_UNUSABLE
    assert result.stdout == ""
    assert f"port {port}: address already in use" in result.stderr
    assert "GRADIO_SERVER_PORT" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("path", ["file", "file/below", "/proc/nowhere"])
@pytest.mark.nightly
def test_an_invalid_data_folder_is_named(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / path
    result = start({"STUDIO_DATA": str(folder)})
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"The data folder {folder} cannot be used: ")
    assert "STUDIO_DATA" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.nightly
def test_an_unwritable_home_folder_is_reported(tmp_path: Path) -> None:
    result = start({"HOME": "/proc"})
    assert result.returncode == 1
    assert "/proc/.local: no such file or directory" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.nightly
def test_a_read_only_data_folder_is_reported(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", tmp_path], check=True)
    try:
        result = start({"STUDIO_DATA": str(tmp_path)})
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert result.returncode == 1
    assert "read-only file system" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_port_above_65535_is_refused() -> None:
    with pytest.raises(SettingError, match="a port, from 1 to 65535"):
        load({"GRADIO_SERVER_PORT": "99999"})


def test_an_address_of_another_host_is_refused() -> None:
    with (
        pytest.raises(AddressUnusable, match=r"192\.0\.2\.1.*GRADIO_SERVER_NAME"),
        bind_sockets("192.0.2.1", 0),
    ):
        pass


def test_a_host_name_is_bound_at_each_of_its_addresses() -> None:
    with bind_sockets("localhost", 0) as sockets:
        assert page_url("localhost", sockets) == f"http://localhost:{sockets[0].getsockname()[1]}"


def test_what_is_sent_does_not_wait_until_the_client_acknowledges_what_was_sent_before() -> None:
    options: list[int] = []

    def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        options.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async def connect(bound: socket.socket) -> None:
        async with await asyncio.start_server(accept, sock=bound):
            reader, writer = await asyncio.open_connection(*bound.getsockname())
            await reader.read()
            writer.close()

    with bind_sockets("127.0.0.1", 0) as (bound,):
        asyncio.run(connect(bound))
    assert options == [1]


def test_an_ipv6_address_is_in_brackets() -> None:
    with bind_sockets("::1", 0) as sockets:
        assert page_url("::1", sockets).startswith("http://[::1]:")

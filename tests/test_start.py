"""What a start says where it cannot succeed: one sentence, an exit code, no traceback."""

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

ROOT = Path(__file__).parents[1]


def start(environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Start the application, which is to end by itself."""
    own = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=own | dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield held


def test_a_port_that_is_taken_is_said_instead_of_the_address(
    tmp_path: Path, taken: socket.socket
) -> None:
    port = str(taken.getsockname()[1])
    done = start({"STUDIO_DATA": str(tmp_path / "data"), "GRADIO_SERVER_PORT": port})
    assert done.returncode == ADDRESS_UNUSABLE
    assert done.stdout == ""
    assert f"port {port}: address already in use" in done.stderr
    assert "GRADIO_SERVER_PORT" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/nowhere"])
def test_a_data_folder_that_cannot_be_one_is_named(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / where
    done = start({"STUDIO_DATA": str(folder)})
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"The data folder {folder} cannot be used: ")
    assert "STUDIO_DATA" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    done = start({"HOME": "/proc"})
    assert done.returncode == 1
    assert "/proc/.local: no such file or directory" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_data_folder_that_is_read_only_is_said(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", tmp_path], check=True)
    try:
        done = start({"STUDIO_DATA": str(tmp_path)})
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert done.returncode == 1
    assert "read-only file system" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_beyond_the_last_is_no_port() -> None:
    with pytest.raises(SettingError, match="a port, from 1 to 65535"):
        load({"GRADIO_SERVER_PORT": "99999"})


def test_a_host_of_elsewhere_cannot_be_served_on() -> None:
    with (
        pytest.raises(AddressUnusable, match=r"192\.0\.2\.1.*GRADIO_SERVER_NAME"),
        bind_sockets("192.0.2.1", 0),
    ):
        pass


def test_a_name_with_several_addresses_is_bound_at_each() -> None:
    with bind_sockets("localhost", 0) as sockets:
        assert page_url("localhost", sockets) == f"http://localhost:{sockets[0].getsockname()[1]}"


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    with bind_sockets("::1", 0) as sockets:
        assert page_url("::1", sockets).startswith("http://[::1]:")

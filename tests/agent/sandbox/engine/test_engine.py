"""Discovery of the container engine, and errors that say what is wrong."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingUnixStreamServer
from typing import Any

import pytest

from agent.errors import EngineError
from agent.sandbox.engine import discovery, install
from agent.sandbox.engine.client import Client, connect, is_responding
from agent.sandbox.engine.discovery import find_engine, normalize_address, probe
from tests.support.hostile.ordinary_user import as_ordinary_user, let_others_enter

pytestmark = pytest.mark.contract

OK = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nOK"


@contextmanager
def run_socket_server(path: Path, answer: bytes | None) -> Iterator[str]:
    """Answer every connection to a Unix socket at ``path``; None: never answer."""
    ended = threading.Event()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            if answer is None:
                ended.wait()
            else:
                self.request.recv(4096)
                self.request.sendall(answer)

    with ThreadingUnixStreamServer(str(path), Handler) as server, ThreadPoolExecutor() as pool:
        pool.submit(server.serve_forever, 0.01)
        try:
            yield f"unix://{path}"
        finally:
            ended.set()
            server.shutdown()
            path.unlink()


@pytest.fixture
def empty_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Look for system sockets and daemons in an empty folder only."""
    monkeypatch.setattr(discovery, "SYSTEM_SOCKET", str(tmp_path / "docker.sock"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_responding_engine_is_ready(tmp_path: Path) -> None:
    with run_socket_server(tmp_path / "engine.sock", OK) as url:
        assert find_engine(url).state == "ready"


def test_the_system_socket_takes_precedence_over_the_users(empty_search_path: Path) -> None:
    user = empty_search_path / "user"
    user.mkdir()
    with run_socket_server(user / "docker.sock", OK) as users:
        assert find_engine(None, str(user)).url == users
        with run_socket_server(empty_search_path / "docker.sock", OK) as systems:
            assert find_engine(None, str(user)).url == systems


def test_the_docker_commands_context_is_tried(empty_search_path: Path) -> None:
    command = empty_search_path / "docker"
    command.write_text(f"#!/bin/sh\necho unix://{empty_search_path}/desktop.sock\n")
    command.chmod(0o755)
    with run_socket_server(empty_search_path / "desktop.sock", OK) as url:
        assert find_engine().url == url
    command.write_text("#!/bin/sh\necho ssh://me@engine.example\n")
    assert find_engine().state == "absent"


def test_a_configured_host_is_the_only_one_tried(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"not running .*nowhere\.sock"):
        connect(f"unix://{tmp_path}/nowhere.sock")


def test_a_missing_engine_explains_how_to_install_and_a_stopped_one_how_to_start_it(
    empty_search_path: Path,
) -> None:
    finding = find_engine(None, str(empty_search_path))
    assert finding.state == "absent"
    assert "apt-get install docker.io" in finding.advice()
    daemon = empty_search_path / "dockerd"
    daemon.write_text("#!/bin/sh\n")
    daemon.chmod(0o755)
    finding = find_engine()
    assert finding.state == "down"
    assert "systemctl start docker" in finding.advice()


def test_a_dead_socket_is_a_stopped_engine(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale_socket:
        stale_socket.bind(str(tmp_path / "stale.sock"))
    finding = probe(f"unix://{tmp_path}/stale.sock")
    assert (finding.state, finding.detail) == ("down", "connection refused")


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 404 Not Found\r\n\r\n", b""]
)
def test_another_service_at_the_address_is_recognized(tmp_path: Path, answer: bytes) -> None:
    with (
        run_socket_server(tmp_path / "other.sock", answer) as url,
        pytest.raises(EngineError, match="it is not a container engine"),
    ):
        connect(url)


def test_a_silent_server_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "PROBE_SECONDS", 0.2)
    with run_socket_server(tmp_path / "silent.sock", None) as url:
        assert probe(url).state == "strange"


def test_an_engine_that_only_answers_ping_is_reported(tmp_path: Path) -> None:
    with (
        run_socket_server(tmp_path / "hollow.sock", OK) as url,
        pytest.raises(EngineError, match="sent an unexpected answer"),
    ):
        connect(url)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_without_the_docker_group_is_told_to_join_it(tmp_path: Path) -> None:
    path = tmp_path / "engine.sock"
    let_others_enter(path)
    with run_socket_server(path, OK) as url:
        path.chmod(0o600)
        with as_ordinary_user(), pytest.raises(EngineError, match="permission denied") as raised:
            connect(url)
    assert "usermod -aG docker" in str(raised.value)


REMOTE = r"remote .*workspace is a folder of this machine"
NO_ADDRESS = "not the address of a container engine"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("tcp://10.0.0.7:2375", REMOTE),
        ("tcp://engine.example:2376", REMOTE),
        ("ssh://me@engine.example", REMOTE),
        ("engine", NO_ADDRESS),
        ("tcp://127.0.0.1", NO_ADDRESS),
        ("tcp://127.0.0.1:x", NO_ADDRESS),
        ("npipe:////./x", NO_ADDRESS),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(host: str, reason: str) -> None:
    with pytest.raises(EngineError, match=reason):
        connect(host)


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "[::1]"])
def test_local_addresses_are_accepted(address: str) -> None:
    for host in (f"tcp://{address}:2375", "unix:///run/user/1000/docker.sock"):
        assert normalize_address(host) == host


@pytest.mark.engine
def test_the_real_engine_reports_its_version(engine: Client) -> None:
    assert engine.version()["ApiVersion"]


@pytest.mark.engine
def test_a_probe_leaves_the_connections_of_other_threads_open(engine: Client) -> None:
    url = "http+docker://localhost/_ping"
    adapter: Any = engine.api.get_adapter(url)
    pool = adapter.get_connection(url)  # as of a thread that is about to send
    assert is_responding(engine)
    assert pool.urlopen("GET", "/_ping", timeout=10.0).status == 200


@pytest.mark.engine
def test_setup_does_nothing_if_an_engine_responds(engine: Client) -> None:
    messages: list[str] = []
    finding = install.ensure_engine(
        os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"), messages.append
    )
    assert finding.state == "ready"
    assert messages == []


def test_setup_starts_no_engine_at_a_configured_address(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agent.sandbox.engine.install", "--host"]
    result = subprocess.run(
        [*command, f"unix://{tmp_path}/nowhere.sock"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "not running" in result.stderr
    assert result.stdout == ""


def test_setup_imports_no_heavy_packages() -> None:
    program = (
        "import json, sys, agent.sandbox.engine.install;"
        "print(json.dumps([name for name in ('docker', 'requests') if name in sys.modules]))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert json.loads(result.stdout) == []


@pytest.mark.parametrize(("ci", "outcome", "code"), [("", "1 skipped", 0), ("true", "1 error", 1)])
@pytest.mark.nightly
def test_a_machine_without_an_engine_skips_but_fails_in_ci(
    tmp_path: Path, ci: str, outcome: str, code: int
) -> None:
    test_id = f"{__file__}::test_the_real_engine_reports_its_version"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test_id],
        env=os.environ | {"CI": ci, "DOCKER_HOST": f"unix://{tmp_path}/nowhere.sock"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in result.stdout
    assert "not running" in result.stdout
    assert result.returncode == code

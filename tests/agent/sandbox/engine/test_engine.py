"""The container engine is found where it is, and what is wrong is said where it is not."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from agent.errors import EngineError
from agent.sandbox.engine import discovery, install
from agent.sandbox.engine.client import connect
from agent.sandbox.engine.discovery import find_engine, normalize_address, probe

NOBODY = 65534
OK = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nOK"


@contextmanager
def listening(path: Path, answer: bytes | None) -> Iterator[str]:
    """A real socket at ``path`` that says ``answer`` to everyone; None: it never answers."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        silent: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                if answer is None:
                    silent.append(connection)
                    continue
                with connection:
                    connection.recv(4096)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"unix://{path}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in silent:
                connection.close()


@pytest.fixture
def nothing_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine's own sockets are looked for in an empty folder, and no daemon is installed."""
    monkeypatch.setattr(discovery, "SYSTEM_SOCKET", str(tmp_path / "docker.sock"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_responding_engine_is_ready(tmp_path: Path) -> None:
    with listening(tmp_path / "engine.sock", OK) as url:
        assert find_engine(url).state == "ready"


def test_the_system_socket_takes_precedence_over_the_users(nothing_usual: Path) -> None:
    user = nothing_usual / "user"
    user.mkdir()
    wanted = ["docker.sock", "user/docker.sock"]
    while wanted:
        with listening(nothing_usual / wanted[-1], OK):
            for name in wanted[:-1]:
                with listening(nothing_usual / name, OK):
                    assert find_engine(None, str(user)).url == f"unix://{nothing_usual / name}"
                (nothing_usual / name).unlink()
            assert find_engine(None, str(user)).url == f"unix://{nothing_usual / wanted[-1]}"
        (nothing_usual / wanted.pop()).unlink()


def test_a_configured_host_is_the_only_one_tried(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"not running .*nowhere\.sock"):
        connect(f"unix://{tmp_path}/nowhere.sock")


def test_a_missing_engine_explains_how_to_install_one(nothing_usual: Path) -> None:
    finding = find_engine(None, str(nothing_usual))
    assert finding.state == "absent"
    assert "apt-get install docker.io" in finding.advice()


def test_a_stopped_engine_explains_how_to_start_it(nothing_usual: Path) -> None:
    daemon = nothing_usual / "dockerd"
    daemon.write_text("#!/bin/sh\n")
    daemon.chmod(0o755)
    finding = find_engine()
    assert finding.state == "down"
    assert "systemctl start docker" in finding.advice()


def test_a_dead_socket_is_a_stopped_engine(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(tmp_path / "stale.sock"))
    finding = probe(f"unix://{tmp_path}/stale.sock")
    assert (finding.state, finding.detail) == ("down", "connection refused")


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 404 Not Found\r\n\r\n", b""]
)
def test_another_service_at_the_address_is_recognized(tmp_path: Path, answer: bytes) -> None:
    with (
        listening(tmp_path / "other.sock", answer) as url,
        pytest.raises(EngineError, match="it is not a container engine"),
    ):
        connect(url)


def test_a_silent_server_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "PROBE_SECONDS", 0.2)
    with listening(tmp_path / "silent.sock", None) as url:
        assert probe(url).state == "strange"


def test_an_engine_that_only_answers_ping_is_a_clear_error(tmp_path: Path) -> None:
    with (
        listening(tmp_path / "hollow.sock", OK) as url,
        pytest.raises(EngineError, match="sent an unexpected answer"),
    ):
        connect(url)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_without_the_docker_group_is_told_to_join_it(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    path = tmp_path / "engine.sock"
    with listening(path, OK) as url:
        path.chmod(0o660)
        with as_nobody(), pytest.raises(EngineError, match="permission denied") as raised:
            connect(url)
    assert "usermod -aG docker" in str(raised.value)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Inside, this process has the rights of a user without any."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@pytest.mark.parametrize(
    "host", ["tcp://10.0.0.7:2375", "tcp://engine.example:2376", "ssh://me@engine.example"]
)
def test_a_remote_engine_is_refused_with_the_reason(host: str) -> None:
    with pytest.raises(EngineError, match=r"remote .*workspace is a folder of this machine"):
        connect(host)


@pytest.mark.parametrize(
    "host", ["engine", "tcp://127.0.0.1", "tcp://127.0.0.1:x", "npipe:////./x"]
)
def test_an_invalid_address_is_reported(host: str) -> None:
    with pytest.raises(EngineError, match="not the address of a container engine"):
        connect(host)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("unix:///run/user/1000/docker.sock", "unix:///run/user/1000/docker.sock"),
        ("tcp://127.0.0.1:2375", "tcp://127.0.0.1:2375"),
        ("tcp://localhost:2375", "tcp://localhost:2375"),
        ("tcp://[::1]:2375", "tcp://[::1]:2375"),
    ],
)
def test_local_addresses_are_accepted(host: str, url: str) -> None:
    assert normalize_address(host) == url


@pytest.mark.engine
def test_the_real_engine_reports_its_version(engine: docker.DockerClient) -> None:
    assert engine.version()["ApiVersion"]


@pytest.mark.engine
def test_setup_does_nothing_if_an_engine_responds(engine: docker.DockerClient) -> None:
    said: list[str] = []
    finding = install.ensure_engine(
        os.environ.get("DOCKER_HOST"), os.environ.get("XDG_RUNTIME_DIR"), said.append
    )
    assert finding.state == "ready"
    assert said == []


def test_setup_starts_no_engine_at_a_configured_address(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agent.sandbox.engine.install", "--host"]
    done = subprocess.run(
        [*command, f"unix://{tmp_path}/nowhere.sock"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "not running" in done.stderr
    assert done.stdout == ""


def test_setup_imports_no_heavy_packages() -> None:
    program = (
        "import json, sys, agent.sandbox.engine.install;"
        "print(json.dumps([name for name in ('docker', 'requests') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(("ci", "outcome", "code"), [("", "1 skipped", 0), ("true", "1 error", 1)])
def test_a_machine_without_an_engine_skips_but_fails_in_ci(
    tmp_path: Path, ci: str, outcome: str, code: int
) -> None:
    wanted = f"{__file__}::test_the_real_engine_reports_its_version"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", wanted],
        env=os.environ | {"CI": ci, "DOCKER_HOST": f"unix://{tmp_path}/nowhere.sock"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in done.stdout
    assert "not running" in done.stdout
    assert done.returncode == code

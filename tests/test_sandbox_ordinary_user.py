"""The application as an ordinary user of the engine: what root inside hid is still at hand."""

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from agent.sandbox.resting import reap

pytestmark = pytest.mark.engine

ORDINARY = """
import sys, uuid
from pathlib import Path
from agent.sandbox.container import ContainerSpec
from agent.sandbox.docker import DockerSandbox
from agent.sandbox.engine import connect
from agent.sandbox.instance import DataFolder
from agent.stop import Stop

with DataFolder(Path(sys.argv[1]) / "data") as data:
    sandbox_id = uuid.uuid4().hex
    spec = ContainerSpec(sys.argv[2], sys.argv[3], sandbox_id, data.workspace(sandbox_id))
    client = connect()
    sandbox = DockerSandbox.create(client, spec)
    try:
        command = "umask 077; echo secret > s; mkdir -p d/e; echo x > d/e/f"
        list(sandbox.execute(command, timeout=20, stop=Stop()))
        try:
            (sandbox.workspace / "s").read_bytes()
        except PermissionError:
            print("hidden from the host")
        print(sandbox.read("s", limit=100).decode().strip())
        sandbox.remove("s")
        sandbox.remove("d")
        print(sorted(path.name for path in sandbox.workspace.iterdir()))
        (sandbox.workspace / "input" / "mine").write_text("from the host")
        print(sandbox.read("input/mine", limit=100).decode())
    finally:
        sandbox.close()
        client.close()
"""


@pytest.fixture
def ordinary_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach and owns, and a copy of the code."""
    folder = Path("/tmp") / f"studio-{uuid.uuid4().hex}"
    folder.mkdir(mode=0o755)
    shutil.copytree(Path(__file__).parents[1] / "agent", folder / "code" / "agent")
    (folder / "home").mkdir()
    os.chown(folder / "home", 54321, 54321)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an ordinary user")
def test_an_ordinary_user_of_the_engine_reads_and_removes_what_root_inside_hid(
    engine: docker.DockerClient, image: str, ordinary_folder: Path
) -> None:
    instance = f"test-{uuid.uuid4().hex}"
    python = python_for_everyone()
    group = engine_socket().stat().st_gid
    path = f"{ordinary_folder / 'code'}:{sysconfig.get_path('purelib')}"
    done = subprocess.run(
        [python, "-c", ORDINARY, str(ordinary_folder / "home"), image, instance],
        env={"PYTHONPATH": path, "HOME": str(ordinary_folder / "home"), "PATH": os.environ["PATH"]},
        user=54321,
        group=54321,
        extra_groups=[group],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "hidden from the host",
        "secret",
        "['input', 'output']",
        "from the host",
    ], done.stderr
    assert stat.S_IMODE((ordinary_folder / "home" / "data").stat().st_mode) == 0o700
    assert reap(engine, instance) == []


def engine_socket() -> Path:
    """The engine's socket, which has to be its group's for this test."""
    socket = Path("/var/run/docker.sock")
    if not socket.exists() or not socket.stat().st_mode & stat.S_IWGRP:
        pytest.skip("the engine's socket is not open to a group")
    return socket


def python_for_everyone() -> str:
    """A Python of this version that an ordinary user may run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}"):
        asked = [candidate, "-c", ""]
        try:
            if subprocess.run(asked, user=54321, group=54321, cwd="/", check=False).returncode == 0:
                return candidate
        except OSError:
            continue
    return pytest.skip(f"an ordinary user can run no {version} here")

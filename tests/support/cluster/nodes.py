"""Ray nodes on this machine for tests, and what they leave in the engine."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.data_folder import read_instance_id
from agent.sandbox.docker.lifecycle import list_containers
from agent.sandbox.engine.client import Client

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Nodes:
    """A running cluster: Ray's ids of its nodes, and what a program needs to connect to it."""

    address: str
    raylets: tuple[int, ...]
    ids: tuple[str, ...]
    folders: tuple[Path, ...]
    environment: Mapping[str, str]

    def kill(self, number: int) -> None:
        """End all processes of a node at once, as a crash does."""
        raylet = self.raylets[number]
        children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
        for process in (raylet, *map(int, children)):
            os.kill(process, signal.SIGKILL)


def containers_of(folder: Path, engine: Client) -> list[str]:
    found = [path.parent for path in folder.rglob("instance") if path.is_file()]
    instances = (read_instance_id(data) for data in found)
    return [each.id for name in instances if name for each in list_containers(engine, name)]


@contextmanager
def ray_nodes(folder: Path, count: int, sandboxes: int, *, token: bool = True) -> Iterator[Nodes]:
    """Start a cluster whose head runs nothing, with a token for all connections.

    A process takes over the token when it imports Ray, so one that has done so needs a cluster
    without.
    """
    # Ray's sockets need a short path; its logs are removed with the folder.
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as ray_folder:
        environment = {
            **os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT),
            "RAY_TMPDIR": ray_folder,
        }  # fmt: skip
        if token:
            environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        else:
            environment["RAY_AUTH_MODE"] = "disabled"
        with _nodes(folder, count, sandboxes, environment) as nodes:
            yield nodes


@contextmanager
def _nodes(
    folder: Path, count: int, sandboxes: int, environment: Mapping[str, str]
) -> Iterator[Nodes]:
    program = [sys.executable, "-m", "tests.support.cluster.program"]
    process = subprocess.Popen(
        [*program, str(folder), str(count), str(sandboxes)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            known = json.loads(process.stdout.readline())
            folders = tuple(folder / f"node{number}" for number in range(count))
            yield Nodes(
                known["address"], tuple(known["raylets"]), tuple(known["ids"]), folders, environment
            )
        finally:
            process.stdin.close()
            process.wait(120)

"""The application on a rootful Podman: runs without a network, and none with one."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import httpx
import pytest
from gradio_client import Client

from agent.events import SandboxReady
from agent.sandbox.docker.lifecycle import list_containers
from agent.sandbox.engine.client import connect, is_podman
from agent.sandbox.image.base import build_base
from agent.sandbox.image.build import build_image, image_exists
from agent.sandbox.image.progress import ProgressReporter
from tests.agent.sandbox.engine.test_ordinary_user import (
    FILL,
    HIDDEN,
    SUBMIT,
    bash,
    begin,
    instance,
    networks,
    observations,
    to_its_end,
)
from tests.faults.program import ROOT, Program, started
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.podman import podman, skip_unless_containers_start
from tests.support.rootless import copy_image
from tests.support.server import wait_until

# Without the marker "engine": a machine may have no Podman, also where CI=true.
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

REFUSED = (
    "Podman cannot isolate a sandbox from this machine's network. Start a new run with Network set "
    "to None, or use Docker."
)
# A socket of AF_VSOCK (40), which only the studio's own seccomp profile refuses with EPERM.
INSIDE = """
ls /sys/class/net; wc -l < /proc/net/route; env | grep -ci proxy
grep -E 'Seccomp:|NoNewPrivs|CapEff' /proc/self/status
python3 -c 'import socket; socket.socket(40, 1)' 2>&1 | tail -1
touch /etc/hosts
"""


@pytest.fixture(scope="module")
def engine_of_podman(
    engine: docker.DockerClient, image: str
) -> Iterator[tuple[str, docker.DockerClient]]:
    """The address and a client of a Podman that has the sandbox image, but not the proxy's."""
    with podman() as url:
        client = connect(url)
        copy_image(engine, client, image)
        skip_unless_containers_start(client, image)
        yield url, client
        client.close()


@pytest.fixture
def turns() -> list[Turn]:
    """What the endpoint answers, in order; a test puts it there."""
    return []


@pytest.fixture
def settings(
    engine_of_podman: tuple[str, docker.DockerClient], turns: list[Turn]
) -> Iterator[dict[str, str]]:
    """The variables of an application on this Podman, with a pool that it must not fill."""
    with Endpoint(lambda _: turns.pop(0)) as endpoint:
        yield {
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_MODEL": "m",
            "STUDIO_DISK": "100 MB",
            "STUDIO_WARM_SANDBOXES": "1",
            "DOCKER_HOST": engine_of_podman[0],
        }


@pytest.fixture
def program(tmp_path: Path, settings: dict[str, str]) -> Iterator[Program]:
    with started(tmp_path / "data", settings) as program:
        yield program


@pytest.fixture
def client(engine_of_podman: tuple[str, docker.DockerClient]) -> docker.DockerClient:
    return engine_of_podman[1]


def begin_without_network(client: Client) -> str:
    return str(client.predict("Do it.", network="none", api_name="/start"))


def test_a_complete_run_without_network(
    program: Program, turns: list[Turn], client: docker.DockerClient
) -> None:
    assert is_podman(client)
    turns += [bash(INSIDE), bash(HIDDEN), bash(FILL), SUBMIT]
    run = to_its_end(program, begin_without_network)
    assert [end.status for end in program.ends()] == ["submitted"]
    inside = observations(program)[0]
    assert "lo\n1\n0\n" in inside, inside
    for line in ("CapEff:\t00000000000000eb", "NoNewPrivs:\t1", "Seccomp:\t2"):
        assert line in inside
    assert "PermissionError" in inside
    assert "Read-only file system" in inside
    assert "disk" in observations(program)[2]
    assert httpx.get(f"{program.address}/api/runs/{run}/files/output/closed/file").text == "kept\n"

    own = instance(program)
    assert [each.state for each in list_containers(client, own)] == ["running"]
    assert not networks(client, own)

    program.end()
    program.start()
    turns += [bash("rm output/big*; tool; cat output/closed/file"), SUBMIT]
    to_its_end(program, lambda client: str(client.predict(run, "Go on.", api_name="/message")))
    assert "installed\nkept" in observations(program)[-1]
    assert [e.origin for e in program.events() if isinstance(e, SandboxReady)] == [
        "new",
        "restarted",
    ]

    httpx.delete(f"{program.address}/api/runs/{run}").raise_for_status()
    wait_until(lambda: not list_containers(client, own))
    assert not list((program.data / "sandboxes").iterdir())
    assert "Traceback" not in program.log()


def test_a_run_with_a_network_is_refused_and_the_start_message_says_so(
    program: Program, client: docker.DockerClient
) -> None:
    to_its_end(program, begin)
    (end,) = program.ends()
    assert (end.status, end.reason) == ("failed", REFUSED)
    assert not list_containers(client, instance(program))
    health = httpx.get(f"{program.address}/healthz").json()
    assert health["ok"]
    assert "This container engine is Podman" in health["engine"]["detail"]
    assert "ready: This container engine is Podman" in program.log()


def test_images_built_by_podman_are_found_by_name(client: docker.DockerClient) -> None:
    base, tag = "debian:trixie-slim", "llm-in-sandbox-studio:test"
    assert not image_exists(client, base)
    meter = ProgressReporter(lambda _: None)
    build_base(client, base, meter)
    assert image_exists(client, base)
    build_image(client, f"FROM {base} AS sandbox\nRUN touch /built\n", tag, meter)
    assert image_exists(client, tag)


def test_the_command_line_runs_without_network_and_refuses_one(
    tmp_path: Path, settings: dict[str, str], turns: list[Turn]
) -> None:
    turns += [bash("echo x > output/x"), SUBMIT]
    refused = command_line(tmp_path, settings, "packages")
    assert refused.returncode != 0
    assert REFUSED in refused.stdout + refused.stderr
    done = command_line(tmp_path, settings, "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "none" / "files" / "x").read_text() == "x\n"


def command_line(
    folder: Path, settings: dict[str, str], network: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agent", "run", "Do it.", "--network", network]
    return subprocess.run(
        [*command, "--output", folder / network],
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "STUDIO_DATA": str(folder / "cli")}
        | settings,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

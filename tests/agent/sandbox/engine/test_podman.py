"""The application on a rootful Podman: runs without a network work, others are refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from gradio_client import Client

from agent.sandbox.engine.client import connect, is_podman
from agent.sandbox.image.base import build_base
from agent.sandbox.image.build import build_image, image_exists
from agent.sandbox.image.progress import ProgressReporter
from tests.agent.sandbox.engine.test_ordinary_user import (
    CREATE_PRIVATE_FILES,
    FILL_DISK,
    SUBMIT,
    bash,
    continue_after_a_kill,
    get_instance_id,
    list_app_containers,
    list_networks,
    observations,
    run_to_end,
    start_run,
)
from tests.faults.app_process import AppProcess, start_app
from tests.support import httpx
from tests.support.engines.podman import podman, skip_unless_containers_start
from tests.support.engines.rootless import copy_image
from tests.support.models.endpoint import Turn

# Without the marker "engine": a machine may have no Podman, also where CI=true.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

NETWORK_REFUSED = (
    "Podman cannot isolate a sandbox from this machine's network. Start a new run with Network set "
    "to None, or use Docker."
)
# A socket of AF_VSOCK (40), which only the studio's own seccomp profile refuses with EPERM.
INSPECT_SANDBOX = """
ls /sys/class/net; wc -l < /proc/net/route; env | grep -ci proxy
grep -E 'Seccomp:|NoNewPrivs|CapEff' /proc/self/status
python3 -c 'import socket; socket.socket(40, 1)' 2>&1 | tail -1
touch /etc/hosts
"""


@pytest.fixture(scope="module")
def podman_engine(engine: Client, image: str) -> Iterator[tuple[str, Client]]:
    """The address and a client of a Podman that has the sandbox image, but not the proxy's."""
    with podman() as url:
        client = connect(url)
        copy_image(engine, client, image)
        skip_unless_containers_start(client, image)
        yield url, client
        client.close()


@pytest.fixture
def settings(podman_engine: tuple[str, Client], model: dict[str, str]) -> dict[str, str]:
    """The variables of an application on this Podman, with a pool that it must not fill."""
    return model | {"STUDIO_WARM_SANDBOXES": "1", "DOCKER_HOST": podman_engine[0]}


@pytest.fixture
def app(tmp_path: Path, settings: dict[str, str]) -> Iterator[AppProcess]:
    with start_app(tmp_path / "data", settings) as app:
        yield app


@pytest.fixture
def client(podman_engine: tuple[str, Client]) -> Client:
    return podman_engine[1]


def start_run_without_network(client: Client) -> str:
    return str(client.predict("Do it.", network="none", api_name="/start"))


def test_a_run_without_network_works(app: AppProcess, turns: list[Turn], client: Client) -> None:
    assert is_podman(client)
    turns += [bash(INSPECT_SANDBOX), bash(CREATE_PRIVATE_FILES), bash(FILL_DISK), SUBMIT]
    run = run_to_end(app, start_run_without_network)
    assert [end.status for end in app.round_ends()] == ["submitted"]
    inspection = observations(app)[0]
    assert "lo\n1\n0\n" in inspection, inspection
    for line in ("CapEff:\t00000000000000eb", "NoNewPrivs:\t1", "Seccomp:\t2"):
        assert line in inspection
    assert "PermissionError" in inspection
    assert "Read-only file system" in inspection
    assert "disk" in observations(app)[2]
    assert httpx.get(f"{app.studio_url}/api/runs/{run}/files/output/closed/file").text == "kept\n"

    assert [each.state for each in list_app_containers(app, client)] == ["running"]
    assert not list_networks(client, get_instance_id(app))
    continue_after_a_kill(app, turns, client, run)
    assert "Traceback" not in app.log()


def test_a_run_with_a_network_is_refused_and_the_log_explains_it(
    app: AppProcess, client: Client
) -> None:
    run_to_end(app, start_run)
    (end,) = app.round_ends()
    assert (end.status, end.reason) == ("failed", NETWORK_REFUSED)
    assert not list_app_containers(app, client)
    health = httpx.get(f"{app.studio_url}/healthz").json()
    assert health["ok"]
    assert "This container engine is Podman" in health["engine"]["detail"]
    assert "ready: This container engine is Podman" in app.log()


def test_images_built_by_podman_are_found_by_name(client: Client) -> None:
    base, tag = "debian:trixie-slim", "llm-in-sandbox-studio:test"
    assert not image_exists(client, base)
    progress = ProgressReporter(lambda _: None)
    build_base(client, base, progress)
    assert image_exists(client, base)
    build_image(client, f"FROM {base} AS sandbox\nRUN touch /built\n", tag, progress)
    assert image_exists(client, tag)

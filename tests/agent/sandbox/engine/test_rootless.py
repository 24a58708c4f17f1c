"""The application on a rootless Docker, both run by the same ordinary user."""

import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from agent.sandbox.engine.client import Client, connect, unenforced_limits
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.util.ip_addresses import own_addresses
from tests.agent.sandbox.engine.test_ordinary_user import (
    CREATE_PRIVATE_FILES,
    FILL_DISK,
    SUBMIT,
    bash,
    continue_after_a_kill,
    get_instance_id,
    list_networks,
    observations,
    run_to_end,
    start_run,
)
from tests.agent.sandbox.network.test_egress import assert_no_connection
from tests.faults.app_process import AppProcess, start_app
from tests.support import httpx
from tests.support.engines.rootless import copy_image, rootless_docker
from tests.support.hostile.ordinary_user import OrdinaryUser, ordinary_user
from tests.support.models.endpoint import Turn
from tests.support.server import wait_until

# Without the marker "engine": a machine may have no rootless Docker, also where CI=true.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

# slirp4netns leads to the host's loopback by 10.0.2.2 unless told not to.
REQUEST_HOSTS = """
for at in {hosts}; do
    curl -s -m 10 -o /dev/null -w '%{{http_code}} ' http://$at:{port}/
    curl -s -m 3 --noproxy '*' -o /dev/null -w '%{{http_code}}\n' http://$at:{port}/
done; true
"""
HOLD_DELETED_FILE = """
import sys, tempfile
with tempfile.TemporaryFile() as file:
    file.write(bytes(200 * 2**20))
    file.flush()
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as user:
        yield user


@pytest.fixture(scope="module")
def rootless(user: OrdinaryUser, engine: Client, image: str) -> Iterator[Client]:
    """A rootless engine with the images that this machine's engine has."""
    proxy = ensure_image(engine, dockerfile_path(), lambda _: None, "proxy")
    with rootless_docker(user) as url:
        client = connect(url)
        for each in (image, proxy):
            copy_image(engine, client, each)
        yield client
        client.close()


@pytest.fixture
def app(
    user: OrdinaryUser, rootless: Client, image: str, model: dict[str, str]
) -> Iterator[AppProcess]:
    host = {"STUDIO_IMAGE": image, "DOCKER_HOST": f"unix://{user.home}/run/docker.sock"}
    folder = user.home / uuid.uuid4().hex
    folder.mkdir()
    shutil.chown(folder, user.name)
    with start_app(folder / "data", model | host, user) as app:
        yield app


def test_a_run_works_with_quota_restart_and_removal(
    app: AppProcess, turns: list[Turn], rootless: Client
) -> None:
    turns += [
        bash(CREATE_PRIVATE_FILES),
        bash(FILL_DISK),
        bash("id -u; su nobody -s /bin/sh -c 'id -un'"),
        SUBMIT,
    ]
    run = run_to_end(app, start_run)
    (end,) = app.round_ends()
    assert end.status == "submitted"
    assert (end.totals.peak_memory is None) is ("memory" in unenforced_limits(rootless))
    assert "The sandbox's disk is full" in observations(app)[1]
    assert "\n0\nnobody" in observations(app)[2]

    assert httpx.get(f"{app.studio_url}/api/runs/{run}/files/output/closed/file").text == "kept\n"
    continue_after_a_kill(app, turns, rootless, run)
    # The network that the start prepared for the first new sandbox stays.
    wait_until(lambda: len(list_networks(rootless, get_instance_id(app))) <= 1)


def test_the_host_is_unreachable_from_a_sandbox(app: AppProcess, turns: list[Turn]) -> None:
    hosts = [each for each in own_addresses() if not each.startswith("127.") and ":" not in each]
    with assert_no_connection(socket.SOCK_STREAM, port=8080) as port:
        command = REQUEST_HOSTS.format(hosts=" ".join([*hosts, "10.0.2.2", "10.0.2.3"]), port=port)
        turns += [bash(command), SUBMIT]
        run_to_end(app, start_run)
    answers = [line for line in observations(app)[0].splitlines() if line.startswith("403 ")]
    assert answers == ["403 000"] * (len(hosts) + 2), observations(app)[0]


def test_deleted_files_of_other_programs_are_not_counted(
    app: AppProcess, turns: list[Turn], user: OrdinaryUser
) -> None:
    command = [user.python, "-c", HOLD_DELETED_FILE]
    environment = user.environment | {"TMPDIR": str(user.home)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, **user.identity
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        turns += [bash("head -c 60M /dev/zero > output/big; sleep 3; echo done"), SUBMIT]
        run_to_end(app, start_run)
        holder.communicate()
    assert "\ndone" in observations(app)[0], observations(app)[0]


def test_unenforced_limits_are_reported(app: AppProcess, rootless: Client) -> None:
    wait_until(lambda: httpx.get(f"{app.studio_url}/healthz").json()["ok"])
    engine_detail = httpx.get(f"{app.studio_url}/healthz").json()["engine"]["detail"]
    names = unenforced_limits(rootless)
    assert (", ".join(names) in engine_detail) if names else not engine_detail
    assert f"ready: {engine_detail}".rstrip(": ") in app.log()

"""The application on a rootless Docker, both run by the same ordinary user."""

import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator

import docker
import httpx
import pytest

from agent.events import SandboxReady
from agent.sandbox.docker.lifecycle import list_containers
from agent.sandbox.engine.client import connect, unenforced_limits
from agent.sandbox.image.build import dockerfile_path, ensure_image
from agent.util.ip_addresses import own_addresses
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
from tests.agent.sandbox.network.test_egress import listening
from tests.faults.program import Program, started
from tests.support.hostile.ordinary_user import OrdinaryUser, ordinary_user
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.rootless import copy_image, rootless_docker
from tests.support.server import wait_until

# Without the marker "engine": a machine may have no rootless Docker, also where CI=true.
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

# slirp4netns leads to the host's loopback by 10.0.2.2 unless told not to.
REACH = """
for at in {hosts}; do
    curl -s -m 10 -o /dev/null -w '%{{http_code}} ' http://$at:{port}/
    curl -s -m 3 --noproxy '*' -o /dev/null -w '%{{http_code}}\n' http://$at:{port}/
done; true
"""
HOLD = """
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
def rootless(
    user: OrdinaryUser, engine: docker.DockerClient, image: str
) -> Iterator[docker.DockerClient]:
    """A rootless engine with the images that this machine's engine has."""
    proxy = ensure_image(engine, dockerfile_path(), lambda _: None, "proxy")
    with rootless_docker(user) as url:
        client = connect(url)
        for each in (image, proxy):
            copy_image(engine, client, each)
        yield client
        client.close()


@pytest.fixture
def turns() -> list[Turn]:
    """What the endpoint answers, in order; a test puts it there."""
    return []


@pytest.fixture
def program(
    user: OrdinaryUser, rootless: docker.DockerClient, image: str, turns: list[Turn]
) -> Iterator[Program]:
    with Endpoint(lambda _: turns.pop(0)) as endpoint:
        settings = {
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_MODEL": "m",
            "STUDIO_IMAGE": image,
            "STUDIO_DISK": "100 MB",
            "DOCKER_HOST": f"unix://{user.home}/run/docker.sock",
        }
        folder = user.home / uuid.uuid4().hex
        folder.mkdir()
        shutil.chown(folder, user.name)
        with started(folder / "data", settings, user) as program:
            yield program


def test_a_complete_run_with_quota_restart_and_removal(
    program: Program, turns: list[Turn], rootless: docker.DockerClient
) -> None:
    turns += [bash(HIDDEN), bash(FILL), bash("id -u; su nobody -s /bin/sh -c 'id -un'"), SUBMIT]
    run = to_its_end(program, begin)
    (end,) = program.ends()
    assert end.status == "submitted"
    assert (end.totals.peak_memory is None) is ("memory" in unenforced_limits(rootless))
    assert "The sandbox's disk is full" in observations(program)[1]
    assert "\n0\nnobody" in observations(program)[2]

    at = f"{program.address}/api/runs/{run}"
    assert httpx.get(f"{at}/files/output/closed/file").text == "kept\n"

    program.end()
    own = instance(program)
    wait_until(
        lambda: all(
            each.sandbox_id or each.state == "exited" for each in list_containers(rootless, own)
        )
    )
    program.start()
    turns += [bash("rm output/big*; tool; cat output/closed/file"), SUBMIT]
    to_its_end(program, lambda client: str(client.predict(run, "Go on.", api_name="/message")))
    assert "installed\nkept" in observations(program)[-1]
    assert [e.origin for e in program.events() if isinstance(e, SandboxReady)] == [
        "new",
        "restarted",
    ]

    httpx.delete(at).raise_for_status()
    wait_until(lambda: not any(each.sandbox_id for each in list_containers(rootless, own)))
    wait_until(lambda: not networks(rootless, own))
    assert not list((program.data / "sandboxes").iterdir())


def test_the_host_is_unreachable_from_a_sandbox(program: Program, turns: list[Turn]) -> None:
    hosts = [each for each in own_addresses() if not each.startswith("127.") and ":" not in each]
    with listening(socket.SOCK_STREAM, port=8080) as port:
        asked = REACH.format(hosts=" ".join([*hosts, "10.0.2.2", "10.0.2.3"]), port=port)
        turns += [bash(asked), SUBMIT]
        to_its_end(program, begin)
    answers = [line for line in observations(program)[0].splitlines() if line.startswith("403 ")]
    assert answers == ["403 000"] * (len(hosts) + 2), observations(program)[0]


def test_deleted_files_of_other_programs_are_not_counted(
    program: Program, turns: list[Turn], user: OrdinaryUser
) -> None:
    command = [user.python, "-c", HOLD]
    environment = user.environment | {"TMPDIR": str(user.home)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, **user.identity
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        turns += [bash("head -c 60M /dev/zero > output/big; sleep 3; echo done"), SUBMIT]
        to_its_end(program, begin)
        holder.communicate()
    assert "\ndone" in observations(program)[0], observations(program)[0]


def test_unenforced_limits_are_reported(program: Program, rootless: docker.DockerClient) -> None:
    wait_until(lambda: httpx.get(f"{program.address}/healthz").json()["ok"])
    said = httpx.get(f"{program.address}/healthz").json()["engine"]["detail"]
    names = unenforced_limits(rootless)
    assert (", ".join(names) in said) if names else not said
    assert f"ready: {said}".rstrip(": ") in program.log()

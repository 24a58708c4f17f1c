"""The application as an ordinary user in the engine's group, with a umask of 077."""

import stat
import uuid
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import docker
import httpx
import pytest
from gradio_client import Client

from agent.events import SandboxReady, ToolEnded
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, list_containers, reap
from tests.faults.program import Program, started
from tests.faults.studio_app import remove_containers
from tests.support.hostile.ordinary_user import OrdinaryUser, engine_group, ordinary_user
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import wait_until

pytestmark = pytest.mark.engine

ORDINARY = """
import sys, uuid
from pathlib import Path
from agent.sandbox.base import OutputChunk
from agent.sandbox.docker.container import ContainerSpec
from agent.sandbox.docker.sandbox import DockerSandbox
from agent.sandbox.engine.client import connect
from agent.data_folder import DataFolder
from agent.util.cancellation import Stop

with DataFolder(Path(sys.argv[1]) / "data") as data:
    sandbox_id = uuid.uuid4().hex
    spec = ContainerSpec(sys.argv[2], sys.argv[3], sandbox_id, data.workspace(sandbox_id))
    client = connect()
    sandbox = DockerSandbox.create(client, spec)
    try:
        command = "umask 077; echo secret > s; mkdir -p d/e; echo x > d/e/f"
        list(sandbox.execute(command, timeout=20, stop=Stop()))
        command = "su nobody -s /bin/sh -c 'cat /etc/hostname'"
        for event in sandbox.execute(command, timeout=20, stop=Stop()):
            if isinstance(event, OutputChunk):
                print(event.data.decode().strip())
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
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user(engine_group()) as user:
        yield user


def test_an_ordinary_user_reads_and_removes_files_hidden_by_root(
    engine: docker.DockerClient, image: str, user: OrdinaryUser
) -> None:
    instance = f"test-{uuid.uuid4().hex}"
    done = user.run([user.python, "-c", ORDINARY, user.home, image, instance])
    assert done.stdout.splitlines() == [
        "sandbox",
        "hidden from the host",
        "secret",
        "['input', 'output']",
        "from the host",
    ], done.stderr
    assert stat.S_IMODE((user.home / "data").stat().st_mode) == 0o700
    assert reap(engine, instance) == []


# The whole program

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
HIDDEN = (
    "umask 077; mkdir -p output/closed; echo kept > output/closed/file; printf 'a,b\\n1,2\\n' > "
    "output/table.csv; echo 'echo installed' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool"
)
ASK = "curl -s -m 20 -o /dev/null -w '%{http_code}' http://10.0.0.1/"
FILL = "for i in 1 2 3; do head -c 60M /dev/zero > output/big$i; done; sleep 20"


def bash(command: str) -> Turn:
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


@pytest.fixture
def turns() -> list[Turn]:
    """What the endpoint answers, in order; a test puts it there."""
    return []


@pytest.fixture
def model(image: str, turns: list[Turn]) -> Iterator[dict[str, str]]:
    """The settings of a model and of the sandbox image."""
    with Endpoint(lambda _: turns.pop(0)) as endpoint:
        yield {
            "OPENAI_BASE_URL": endpoint.url,
            "OPENAI_MODEL": "m",
            "STUDIO_IMAGE": image,
            "STUDIO_DISK": "100 MB",
        }


@pytest.fixture
def program(
    user: OrdinaryUser, model: dict[str, str], engine: docker.DockerClient
) -> Iterator[Program]:
    with started(user.home / "data", model, user) as program:
        yield program
    remove_containers(user.home / "data", engine)


def observations(program: Program) -> list[str]:
    return [
        event.observation
        for event in program.events()
        if isinstance(event, ToolEnded) and event.name == "execute_bash"
    ]


def to_its_end(program: Program, ask: Callable[[Client], str]) -> str:
    client = Client(program.address, verbose=False)
    run = ask(client)
    list(client.submit(run, api_name="/follow"))
    return run


def begin(client: Client) -> str:
    return str(client.predict("Do it.", api_name="/start"))


def instance(program: Program) -> str:
    return (program.data / "instance").read_text().strip()


def networks(engine: docker.DockerClient, of: str) -> list[Any]:
    return list(engine.api.networks(filters={"label": f"{INSTANCE_LABEL}={of}"}))


@pytest.mark.timeout(300)
def test_a_complete_run_with_quota_restart_and_removal(
    program: Program, turns: list[Turn], engine: docker.DockerClient
) -> None:
    turns += [bash(HIDDEN), bash(ASK), bash(FILL), SUBMIT]
    run = to_its_end(program, begin)
    assert [end.status for end in program.ends()] == ["submitted"]
    assert "403\n[The network refused 10.0.0.1:80" in observations(program)[1]
    assert "disk" in observations(program)[2]

    at = f"{program.address}/api/runs/{run}"
    assert httpx.get(f"{at}/files/output/closed/file").text == "kept\n"
    view = httpx.get(f"{at}/view/output/table.csv").raise_for_status().json()
    assert view["kind"] == "table"
    assert view.get("view"), view
    assert view["view"]["rows"], view
    assert not program.log().count("Traceback"), program.log()

    program.end()
    wait_until(
        lambda: all(each.sandbox_id or each.state == "exited" for each in kept(program, engine))
    )
    program.start()
    turns += [bash("tool; cat output/closed/file"), SUBMIT]
    to_its_end(program, lambda client: str(client.predict(run, "Go on.", api_name="/message")))
    assert "installed\nkept" in observations(program)[-1]
    assert [e.origin for e in program.events() if isinstance(e, SandboxReady)] == [
        "new",
        "restarted",
    ]

    assert httpx.delete(at).status_code == HTTPStatus.OK
    wait_until(lambda: not any(each.sandbox_id for each in kept(program, engine)))
    assert not list((program.data / "sandboxes").iterdir())


def kept(program: Program, engine: docker.DockerClient) -> list[Any]:
    return list_containers(engine, instance(program))


@pytest.mark.parametrize(("network", "answer"), [("none", "000"), ("pypi.org", "403")])
def test_a_command_line_run_under_a_network_policy(
    user: OrdinaryUser,
    model: dict[str, str],
    turns: list[Turn],
    engine: docker.DockerClient,
    network: str,
    answer: str,
) -> None:
    turns += [bash(ASK.replace("10.0.0.1", "example.com") + "; echo x > output/x"), SUBMIT]
    data, results = user.home / "data", user.home / "results"
    command = [user.python, "-m", "agent", "run", "Do it.", "--network", network]
    done = user.run([*command, "--output", results], {"STUDIO_DATA": str(data), **model})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (results / "files" / "x").read_text() == "x\n"
    assert answer in (results / "journal.jsonl").read_text()
    remove_containers(data, engine)


# What is left at the engine


def test_the_proxy_ends_with_a_killed_application(
    program: Program, engine: docker.DockerClient
) -> None:
    wait_until(lambda: [each.state for each in kept(program, engine)] == ["running"])
    program.end()
    wait_until(lambda: [each.state for each in kept(program, engine)] == ["exited"])


def test_the_next_start_removes_leftovers_of_a_deleted_data_folder(
    program: Program,
    turns: list[Turn],
    engine: docker.DockerClient,
    user: OrdinaryUser,
    model: dict[str, str],
) -> None:
    turns += [bash("echo on"), SUBMIT]
    to_its_end(program, begin)
    left = instance(program)
    assert networks(engine, left)
    program.end()
    program.data.rename(user.home / "moved")
    with started(user.home / "other", model, user):
        wait_until(lambda: not list_containers(engine, left) and not networks(engine, left))
    remove_containers(user.home / "other", engine)
    (user.home / "moved").rename(program.data)

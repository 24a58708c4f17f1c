"""The application as an ordinary user in the engine's group, with a umask of 077."""

import stat
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gradio_client import Client

from agent.events import SandboxReady, ToolEnded
from agent.sandbox.docker.lifecycle import INSTANCE_LABEL, list_containers
from tests.faults.app_process import AppProcess, start_app
from tests.faults.studio_app import remove_containers
from tests.support import httpx
from tests.support.hostile.ordinary_user import OrdinaryUser, engine_group, ordinary_user
from tests.support.models.endpoint import Call, Turn
from tests.support.server import wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.engine]


@pytest.fixture
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user(engine_group()) as user:
        yield user


SUBMIT = Turn(text="Done.", calls=[Call("submit")])
CREATE_PRIVATE_FILES = (
    "umask 077; mkdir -p output/closed; echo kept > output/closed/file; printf 'a,b\\n1,2\\n' > "
    "output/table.csv; echo 'echo installed' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool"
)
READ_AS_ANOTHER = "rm output/big*; su nobody -s /bin/sh -c 'cat /etc/hostname'; cat input/mine"
REQUEST_HOST = "curl -s -m 20 -o /dev/null -w '%{http_code}' http://10.0.0.1/"
FILL_DISK = "for i in 1 2 3; do head -c 60M /dev/zero > output/big$i; done; sleep 20"


def bash(command: str) -> Turn:
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


@pytest.fixture
def model(model: dict[str, str], image: str) -> dict[str, str]:
    return model | {"STUDIO_IMAGE": image}


@pytest.fixture
def app(user: OrdinaryUser, model: dict[str, str], engine: Client) -> Iterator[AppProcess]:
    with start_app(user.home / "data", model, user) as app:
        yield app
    remove_containers(user.home / "data", engine)


def observations(app: AppProcess) -> list[str]:
    return [
        event.observation
        for event in app.events()
        if isinstance(event, ToolEnded) and event.name == "execute_bash"
    ]


def run_to_end(app: AppProcess, submit: Callable[[Client], str]) -> str:
    client = Client(app.studio_url, verbose=False)
    run = submit(client)
    list(client.submit(run, api_name="/follow"))
    return run


def start_run(client: Client) -> str:
    return str(client.predict("Do it.", api_name="/start"))


def get_instance_id(app: AppProcess) -> str:
    return (app.data / "instance").read_text().strip()


def list_networks(engine: Client, instance_id: str) -> list[Any]:
    return list(engine.api.networks(filters={"label": f"{INSTANCE_LABEL}={instance_id}"}))


@pytest.mark.timeout(300)
def test_a_run_works_with_quota_restart_and_removal(
    app: AppProcess, turns: list[Turn], engine: Client
) -> None:
    turns += [
        bash(CREATE_PRIVATE_FILES),
        bash(REQUEST_HOST),
        bash(FILL_DISK),
        bash(READ_AS_ANOTHER),
    ]
    turns += [SUBMIT]
    run = httpx.post(f"{app.studio_url}/api/runs").json()["run"]
    httpx.put(f"{app.studio_url}/api/runs/{run}/files/input/mine", content=b"from the host")
    run_to_end(app, lambda client: str(client.predict("Do it.", run, api_name="/start")))
    assert [end.status for end in app.round_ends()] == ["submitted"]
    assert stat.S_IMODE((app.data / "sandboxes").stat().st_mode) == 0o700
    assert "403\n[The network refused 10.0.0.1:80" in observations(app)[1]
    assert "disk" in observations(app)[2]
    assert "sandbox\nfrom the host" in observations(app)[3]

    run_url = f"{app.studio_url}/api/runs/{run}"
    assert httpx.get(f"{run_url}/files/output/closed/file").text == "kept\n"
    view = httpx.get(f"{run_url}/view/output/table.csv").raise_for_status().json()
    assert view["kind"] == "table"
    assert view.get("view"), view
    assert view["view"]["rows"], view
    assert not app.log().count("Traceback"), app.log()

    continue_after_a_kill(app, turns, engine, run)


def continue_after_a_kill(app: AppProcess, turns: list[Turn], engine: Client, run: str) -> None:
    """Kill the application; a message restarts the run's sandbox, and deletion removes it."""
    app.kill()
    wait_until(
        lambda: all(
            each.sandbox_id or each.state == "exited" for each in list_app_containers(app, engine)
        )
    )
    app.start()
    turns += [bash("rm -f output/big*; tool; cat output/closed/file"), SUBMIT]
    run_to_end(app, lambda client: str(client.predict(run, "Go on.", api_name="/message")))
    assert "installed\nkept" in observations(app)[-1]
    origins = [each.origin for each in app.events() if isinstance(each, SandboxReady)]
    assert origins == ["new", "restarted"]
    httpx.delete(f"{app.studio_url}/api/runs/{run}").raise_for_status()
    wait_until(lambda: not any(each.sandbox_id for each in list_app_containers(app, engine)))
    assert not list((app.data / "sandboxes").iterdir())


def list_app_containers(app: AppProcess, engine: Client) -> list[Any]:
    return list_containers(engine, get_instance_id(app))


@pytest.mark.parametrize(("network", "answer"), [("none", "000"), ("pypi.org", "403")])
def test_a_command_line_run_under_a_network_policy(
    user: OrdinaryUser,
    model: dict[str, str],
    turns: list[Turn],
    engine: Client,
    network: str,
    answer: str,
) -> None:
    turns += [bash(REQUEST_HOST.replace("10.0.0.1", "example.com") + "; echo x > output/x"), SUBMIT]
    data, results = user.home / "data", user.home / "results"
    command = [user.python, "-m", "agent", "run", "Do it.", "--network", network]
    result = user.run([*command, "--output", results], {"STUDIO_DATA": str(data), **model})
    assert result.returncode == 0, result.stdout + result.stderr
    assert (results / "files" / "x").read_text() == "x\n"
    assert answer in (results / "journal.jsonl").read_text()
    remove_containers(data, engine)


# Cleanup of containers and networks


def test_startup_removes_leftovers_of_a_deleted_data_folder(
    app: AppProcess,
    turns: list[Turn],
    engine: Client,
    user: OrdinaryUser,
    model: dict[str, str],
) -> None:
    turns += [bash("echo on"), SUBMIT]
    run_to_end(app, start_run)
    instance_id = get_instance_id(app)
    assert list_networks(engine, instance_id)
    app.kill()
    app.data.rename(user.home / "moved")
    with start_app(user.home / "other", model, user):
        wait_until(
            lambda: (
                not list_containers(engine, instance_id) and not list_networks(engine, instance_id)
            )
        )
    remove_containers(user.home / "other", engine)
    (user.home / "moved").rename(app.data)

"""A process killed with SIGKILL, one test for each kind: what it leaves is taken over.

What holds for every moment and every driver of runs is in ``tests/contract/continuing``. The
preview worker, the supervisor, the built-in model's engine, Squid and a cluster's node are killed
in the tests of their packages.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from agent.data_folder import DataFolder, read_instance_id
from agent.events import RunEnded, ToolEnded
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import ORIGIN_MESSAGES
from agent.sandbox.docker.lifecycle import list_containers
from agent.sandbox.engine.client import Client as DockerClient
from tests.agent.cli.test_cli import CommandLine, read_until
from tests.contract.continuing.drivers import Background
from tests.faults.app_process import AppProcess, start_app
from tests.faults.studio_app import open_studio_app, remove_containers, settings_for
from tests.support import httpx
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, statuses
from tests.support.comparisons import run_ids as compared_runs
from tests.support.evaluations.client import DATA, EvaluationClient, outcomes, run_ids
from tests.support.evaluations.command import evaluation_command
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.scripted import SUBMIT
from tests.support.models.scripted import bash as scripted_bash
from tests.support.models.turns import SUBMIT as SUBMITTED
from tests.support.models.turns import bash
from tests.support.server import create_app, run_server, wait_until
from tests.support.tab import StudioTab, launch_chromium

pytestmark = pytest.mark.engine

INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept"
USE_TOOL = "tool; echo $x; pgrep -c sleep"
RESULT = "works\nkept\n1"


class Script:
    """Installs a tool and sleeps; when it is told to go on, uses the tool and submits.

    Without tools it answers 2 at once. All runs do the same.
    """

    def __init__(self) -> None:
        self.going_on = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Turn:
        if "tools" not in body:
            return Turn(text="\\boxed{2}")
        sent = str(body["messages"])
        if "chmod +x" not in sent:
            return bash(INSTALL)
        if not self.going_on.is_set():
            return bash("echo up; sleep 1000")
        if "pgrep" not in sent:
            return bash(f"{USE_TOOL}; echo 2 > output/answer.txt")
        return SUBMITTED


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def endpoint(script: Script) -> Iterator[Endpoint]:
    with Endpoint(script) as endpoint:
        yield endpoint


@pytest.fixture
def app(
    endpoint: Endpoint, tmp_path: Path, engine: DockerClient, image: str
) -> Iterator[AppProcess]:
    variables = {
        "OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "STUDIO_IMAGE": image,
        "STUDIO_MAX_RUNS": "2",
    }  # fmt: skip
    with start_app(tmp_path / "data", variables) as app:
        yield app
    remove_containers(tmp_path / "data", engine)


def _stream_until(sent: threading.Event, killed: threading.Event) -> Iterator[bytes]:
    yield b"x" * 1_000_000
    sent.set()
    killed.wait(60)
    yield b"y"


@pytest.mark.nightly
def test_a_killed_server_continues_a_comparison_and_keeps_no_partial_upload(
    app: AppProcess, script: Script
) -> None:
    with httpx.Client(base_url=app.studio_url, timeout=60) as http:
        client = ComparisonClient(http)
        inputs, files = client.draft(first=b"whole"), client.draft(second=b"whole")
        comparison = client.create(
            PLAIN, SANDBOX, inputs=inputs, expected={"kind": "number", "answer": "2"}
        )
        wait_until(lambda: statuses(client.read(comparison))[0] == ["answered"])
        wait_until(lambda: bool(_journals_with(app.data, b'"text":"up')))
        url = f"/api/runs/{files}/files/input/"
        sent, killed = threading.Event(), threading.Event()

        def upload() -> None:
            with pytest.raises(httpx.TransportError):
                http.put(
                    f"/api/runs/{files}/files/input/third.txt", content=_stream_until(sent, killed)
                )

        uploading = Background(upload)
        assert sent.wait(60)
        app.kill()
        killed.set()
        uploading.join()
        app.start()
        before = client.read(comparison)
        assert (before["state"], before["canResume"]) == ("interrupted", True)
        assert " HTTP/" not in app.log()  # requests are not logged
        assert statuses(before) == [["answered"], ["failed"]]
        assert before["members"][1]["runs"][0]["reason"] == INTERRUPTED
        assert http.get(f"{url}second.txt").content == b"whole"
        assert not http.get(f"{url}third.txt").is_success
        http.put(f"{url}third.txt", content=b"again").raise_for_status()
        assert http.get(f"{url}third.txt").content == b"again"
        script.going_on.set()
        http.post(f"/api/comparisons/{comparison}/resume").raise_for_status()
        after = client.wait(comparison)
        assert [run["score"] for each in after["members"] for run in each["runs"]] == [1.0, 1.0]
        answered, repeated = compared_runs(after)
        _, interrupted = compared_runs(before)
        assert answered == compared_runs(before)[0]
        listed = {each["run"] for each in http.get("/api/runs").json()["runs"]}
        assert interrupted in listed
        assert not {answered, repeated} & listed


@pytest.mark.browser
@pytest.mark.nightly
def test_the_page_reconnects_to_a_killed_server_and_continues_its_run(
    app: AppProcess, script: Script
) -> None:
    with launch_chromium() as browser:
        tab = StudioTab(browser.new_page())
        tab.open(app.studio_url)
        tab.send("Do it.")
        app.wait_for_event("tool_output")
        expect(tab.state).to_contain_text("running a command", timeout=20_000)
        app.kill()
        expect(tab.state).to_contain_text("Connection lost", timeout=20_000)
        app.start()
        expect(tab.state).to_have_text("failed", timeout=30_000)
        expect(tab.timeline).to_contain_text(INTERRUPTED)
        for _ in range(2):
            expect(tab.timeline.locator(".card .state").last).to_have_text("interrupted")
            tab.page.reload()
        script.going_on.set()
        tab.send("Go on.")
        expect(tab.state).to_have_text("submitted", timeout=60_000)
        expect(tab.timeline).to_contain_text(ORIGIN_MESSAGES["restarted"])
        for _ in range(2):
            expect(tab.timeline.locator("a.step-number")).to_have_text(["1", "2", "3", "4"])
            tab.timeline.locator("a.step-number").nth(1).click()  # its cards are near the view
            second = tab.timeline.locator(".step").nth(1)
            expect(second.locator(".card")).to_contain_text("sleep 1000")
            tab.page.reload()
    assert [end.status for end in app.round_ends()] == ["failed", "submitted"]
    observations = [event.observation for event in app.events() if isinstance(event, ToolEnded)]
    assert observations[-2].endswith(RESULT)


def test_a_killed_run_of_the_command_line_continues_on_the_page(
    endpoint: Endpoint, tmp_path: Path, engine: DockerClient, image: str
) -> None:
    data = tmp_path / "data"
    command_line = CommandLine(data)
    with command_line.start("run", "Go.", "--json", endpoint=endpoint) as process:
        read_until(process, '"up')
        process.kill()
    with open_studio_app(data, settings_for(image), engine) as page:
        (run,) = RunFolder.ids(data)
        (end,) = page.events_of_type(run, RunEnded)
        assert (end.status, end.reason) == ("failed", INTERRUPTED)
        assert page.follow_up(run, scripted_bash(USE_TOOL), SUBMIT).status == "submitted"
        assert page.observations(run)[-1].endswith(RESULT)
    remove_containers(data, engine)


def test_a_killed_evaluation_of_the_command_line_continues_on_the_page(
    endpoint: Endpoint, script: Script, tmp_path: Path, engine: DockerClient, image: str
) -> None:
    """The page is open meanwhile; it removes the command's container."""
    data, tasks = tmp_path / "data", tmp_path / "test.jsonl"
    tasks.write_bytes(DATA)
    settings = replace(settings_for(image), data=data, base_url=endpoint.url, model="m")
    members = ("--member", "plain", "--member", "sandbox", "--limit", "2", "--concurrency", "1")
    with DataFolder(data) as folder:
        app = create_app(settings, DockerSandboxProvider(settings, folder))
        with run_server(app) as url, httpx.Client(base_url=url, timeout=60) as http:
            client = EvaluationClient(http)
            with evaluation_command(data, tasks, endpoint.url, *members) as command:
                own = data / "headless" / "0"
                wait_until(lambda: bool(_journals_with(own, b'"text":"up')))
                instance = read_instance_id(own)
                assert list_containers(engine, instance)
                command.kill()
                command.wait()
            (listed,) = http.get("/api/runs").json()["evaluations"]
            left = client.wait(listed["id"], "interrupted")
            assert (left["canEdit"], left["canResume"], left["elsewhere"]) == (True, True, "")
            assert outcomes(left) == [["right", "stopped"], ["waiting", "waiting"]]
            assert list_containers(engine, instance) == []
            (kept,) = (each["run"] for each in left["cells"][0][0]["runs"])
            script.going_on.set()
            client.post(listed["id"], "resume").raise_for_status()
            done = client.wait(listed["id"])
            assert outcomes(done) == [["right", "right"], ["wrong", "wrong"]]
            assert kept in run_ids(done)
            assert len(run_ids(done)) == 4
            assert http.get("/api/runs").json()["drafts"] == []
    remove_containers(data, engine)


def _journals_with(data: Path, text: bytes) -> list[Path]:
    return [each for each in data.glob("runs/*/journal.jsonl") if text in each.read_bytes()]

"""The application killed with SIGKILL in each phase of a run, and restarted."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client
from playwright.sync_api import expect

from agent.events import ToolEnded
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.recorded_run import ORIGIN_MESSAGES
from agent.sandbox.engine.client import Client as DockerClient
from tests.faults.app_process import AppProcess, start_app
from tests.faults.studio_app import remove_containers
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.tab import StudioTab, launch_chromium

pytestmark = pytest.mark.engine

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept"
CREATE_MANY_FILES = (
    "mkdir many; cd many; for i in $(seq 4000); do head -c 9000 /dev/urandom > $i; done"
)


def bash(command: str) -> Turn:
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


class TurnScript:
    """An endpoint script that answers with the turns set by a test."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.requests: list[Any] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        self.requests.append(body)
        return self.turns.pop(0)


@pytest.fixture
def script() -> TurnScript:
    return TurnScript()


@pytest.fixture
def app(
    script: TurnScript, tmp_path: Path, engine: DockerClient, image: str
) -> Iterator[AppProcess]:
    with Endpoint(script) as endpoint:
        model = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "STUDIO_IMAGE": image}
        with start_app(tmp_path / "data", model) as app:
            yield app
    remove_containers(tmp_path / "data", engine)


def start_run(app: AppProcess) -> None:
    Client(app.studio_url, verbose=False).predict("Do it.", api_name="/start")


def send_follow_up(app: AppProcess) -> None:
    client = Client(app.studio_url, verbose=False)
    run = client.predict(app.run_id, "Go on.", api_name="/message")
    list(client.submit(run, api_name="/follow"))


def kill_and_restart(app: AppProcess) -> None:
    """Kill the application and restart it; it ends the interrupted run exactly once."""
    app.kill()
    app.start()
    app.wait_for_event("run_ended")
    assert [(end.status, end.reason) for end in app.round_ends()] == [("failed", INTERRUPTED)]


PHASES: list[tuple[str, list[Turn], Callable[[AppProcess], None]]] = [
    ("preparing", [], lambda app: app.wait_for_event("preparing")),
    (
        "model text",
        [bash(INSTALL), Turn(text="I think of it. " * 20, fault="silent")],
        lambda app: app.wait_for_event("text_delta"),
    ),
    (
        "snapshot",
        [bash(INSTALL), bash(CREATE_MANY_FILES)],
        lambda app: app.wait_for_event("tool_ended", 2),
    ),
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("turns", "reached"), [each[1:] for each in PHASES], ids=[p[0] for p in PHASES]
)
def test_a_run_can_be_continued_after_a_kill(
    app: AppProcess,
    script: TurnScript,
    turns: list[Turn],
    reached: Callable[[AppProcess], None],
) -> None:
    script.turns = list(turns)
    start_run(app)
    reached(app)
    kill_and_restart(app)
    script.turns = [bash("tool; echo $x; ls many | wc -l"), SUBMIT]
    send_follow_up(app)
    assert [end.status for end in app.round_ends()] == ["failed", "submitted"]
    if turns:
        observations = [event.observation for event in app.events() if isinstance(event, ToolEnded)]
        assert "works\nkept" in observations[-2]
    app.kill()
    app.start()
    assert [end.status for end in app.round_ends()] == ["failed", "submitted"]


@pytest.mark.nightly
def test_a_kill_during_an_upload_leaves_no_partial_file(app: AppProcess) -> None:
    run = httpx.post(f"{app.studio_url}/api/runs").json()["run"]
    files_url = f"{app.studio_url}/api/runs/{run}/files/input"
    httpx.put(f"{files_url}/first", content=b"whole").raise_for_status()
    first_part_sent = threading.Event()

    def slow_content() -> Iterator[bytes]:
        yield b"x" * 1_000_000
        first_part_sent.set()
        threading.Event().wait(3)
        yield b"y"

    def upload() -> None:
        with pytest.raises(httpx.TransportError):
            httpx.put(f"{files_url}/second", content=slow_content(), timeout=20)

    thread = threading.Thread(target=upload)
    thread.start()
    assert first_part_sent.wait(20)
    app.kill()
    app.start()
    thread.join()
    assert httpx.get(f"{files_url}/first").content == b"whole"
    assert not httpx.get(f"{files_url}/second").is_success
    httpx.put(f"{files_url}/second", content=b"again").raise_for_status()
    assert httpx.get(f"{files_url}/second").content == b"again"


@pytest.mark.browser
@pytest.mark.nightly
def test_the_page_reconnects_after_a_kill_during_a_command(
    app: AppProcess, script: TurnScript
) -> None:
    script.turns = [
        bash(INSTALL),
        bash("echo up; sleep 1000"),
        bash("tool; echo $x; pgrep -c sleep"),
        SUBMIT,
    ]
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
        tab.send("Go on.")
        expect(tab.state).to_have_text("submitted", timeout=60_000)
        expect(tab.timeline).to_contain_text(ORIGIN_MESSAGES["restarted"])
        for _ in range(2):
            expect(tab.timeline.locator("a.step-number")).to_have_text(["1", "2", "3", "4"])
            expect(tab.timeline.locator(".card").nth(1)).to_contain_text("sleep 1000")
            tab.page.reload()
    assert [end.status for end in app.round_ends()] == ["failed", "submitted"]
    observations = [event.observation for event in app.events() if isinstance(event, ToolEnded)]
    assert observations[-2].endswith("works\nkept\n1")

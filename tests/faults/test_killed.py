"""The application killed with -9 in the middle of each phase, and started again."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client
from playwright.sync_api import expect

from agent.events import ToolEnded
from agent.runs.record import INTERRUPTED
from agent.runs.recorder import ORIGIN_MESSAGES
from agent.sandbox.engine.client import Client as Engine
from tests.faults.program import Program, started
from tests.faults.studio_app import remove_containers
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.tab import StudioTab, launch_chromium

pytestmark = pytest.mark.engine

SUBMIT = Turn(text="Done.", calls=[Call("submit")])
INSTALL = "echo 'echo works' > /usr/local/bin/tool; chmod +x /usr/local/bin/tool; x=kept"
MANY = "mkdir many; cd many; for i in $(seq 4000); do head -c 9000 /dev/urandom > $i; done"


def bash(command: str) -> Turn:
    return Turn(text="", calls=[Call("execute_bash", {"command": command})])


class Played:
    """Answers with the turns that a test gives it."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.asked: list[Any] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        self.asked.append(body)
        return self.turns.pop(0)


@pytest.fixture
def played() -> Played:
    return Played()


@pytest.fixture
def program(played: Played, tmp_path: Path, engine: Engine, image: str) -> Iterator[Program]:
    with Endpoint(played) as endpoint:
        model = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "STUDIO_IMAGE": image}
        with started(tmp_path / "data", model) as program:
            yield program
    remove_containers(tmp_path / "data", engine)


def begin(program: Program) -> None:
    Client(program.address, verbose=False).predict("Do it.", api_name="/start")


def go_on(program: Program) -> None:
    client = Client(program.address, verbose=False)
    run = client.predict(program.run, "Go on.", api_name="/message")
    list(client.submit(run, api_name="/follow"))


def again(program: Program) -> None:
    """Kill it, and start it again: its run is closed, once."""
    program.end()
    program.start()
    program.wait_for("run_ended")
    assert [(end.status, end.reason) for end in program.ends()] == [("failed", INTERRUPTED)]


PHASES: list[tuple[str, list[Turn], Callable[[Program], None]]] = [
    ("preparing", [], lambda program: program.wait_for("preparing")),
    (
        "the model speaks",
        [bash(INSTALL), Turn(text="I think of it. " * 20, fault="silent")],
        lambda program: program.wait_for("text_delta"),
    ),
    (
        "versions of files are kept",
        [bash(INSTALL), bash(MANY)],
        lambda program: program.wait_for("tool_ended", 2),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("turns", "reached"), [each[1:] for each in PHASES], ids=[p[0] for p in PHASES]
)
def test_killed_while(
    program: Program, played: Played, turns: list[Turn], reached: Callable[[Program], None]
) -> None:
    played.turns = list(turns)
    begin(program)
    reached(program)
    again(program)
    played.turns = [bash("tool; echo $x; ls many | wc -l"), SUBMIT]
    go_on(program)
    assert [end.status for end in program.ends()] == ["failed", "submitted"]
    if turns:
        told = [event.observation for event in program.events() if isinstance(event, ToolEnded)]
        assert "works\nkept" in told[-2]
    program.end()
    program.start()
    assert [end.status for end in program.ends()] == ["failed", "submitted"]


@pytest.mark.long
def test_killed_while_a_file_is_uploaded(program: Program) -> None:
    run = httpx.post(f"{program.address}/api/runs").json()["run"]
    files_url = f"{program.address}/api/runs/{run}/files/input"
    httpx.put(f"{files_url}/first", content=b"whole").raise_for_status()
    sent = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield b"x" * 1_000_000
        sent.set()
        threading.Event().wait(3)
        yield b"y"

    def upload() -> None:
        with pytest.raises(httpx.TransportError):
            httpx.put(f"{files_url}/second", content=slowly(), timeout=20)

    thread = threading.Thread(target=upload)
    thread.start()
    assert sent.wait(20)
    program.end()
    program.start()
    thread.join()
    assert httpx.get(f"{files_url}/first").content == b"whole"
    assert not httpx.get(f"{files_url}/second").is_success
    httpx.put(f"{files_url}/second", content=b"again").raise_for_status()
    assert httpx.get(f"{files_url}/second").content == b"again"


@pytest.mark.browser
@pytest.mark.long
def test_killed_while_a_command_runs_the_page_goes_on_by_itself(
    program: Program, played: Played
) -> None:
    played.turns = [
        bash(INSTALL),
        bash("echo up; sleep 1000"),
        bash("tool; echo $x; pgrep -c sleep"),
        SUBMIT,
    ]
    with launch_chromium() as browser:
        tab = StudioTab(browser.new_page())
        tab.open(program.address)
        tab.send("Do it.")
        program.wait_for("tool_output")
        expect(tab.state).to_contain_text("running a command", timeout=20_000)
        program.end()
        expect(tab.state).to_contain_text("Connection lost", timeout=20_000)
        program.start()
        expect(tab.state).to_have_text("failed", timeout=30_000)
        expect(tab.timeline).to_contain_text(INTERRUPTED)
        for _ in range(2):
            expect(tab.timeline.locator(".card .state").last).to_have_text("interrupted")
            tab.reload()
        tab.send("Go on.")
        expect(tab.state).to_have_text("submitted", timeout=60_000)
        expect(tab.timeline).to_contain_text(ORIGIN_MESSAGES["restarted"])
        for _ in range(2):
            expect(tab.timeline.locator("a.no")).to_have_text(["1", "2", "3", "4"])
            expect(tab.timeline.locator(".card").nth(1)).to_contain_text("sleep 1000")
            tab.reload()
    assert [end.status for end in program.ends()] == ["failed", "submitted"]
    told = [event.observation for event in program.events() if isinstance(event, ToolEnded)]
    assert told[-2].endswith("works\nkept\n1")

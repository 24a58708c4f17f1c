"""The model is told what a person does to the files, through the real loop and over HTTP."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client

from agent.events import Event, RunEnded, StepStarted
from agent.limits import Limits
from agent.loop.conversation import Conversation
from agent.models.base import ToolCall
from agent.models.scripted import ScriptedModel, ScriptedTurn
from agent.prompts import get_bundled
from agent.provisioning.migrate import move_to_sandbox
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.recorder import RecordedRun, Task
from agent.runs.user_changes import UserChange
from agent.sandbox.base import Sandbox
from agent.settings import Settings
from agent.util.cancellation import Stop
from agent.workspace.paths import RelPath
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Call, Endpoint, Turn
from tests.support.server import create_app, run_server

REPORT = UserChange("added", RelPath("input/report.pdf"), 3_250_586)
TOLD = "[The user added input/report.pdf (3.1 MB).]"


class WarmSandboxProvider(LocalSandboxProvider):
    """Moves a run's files into another sandbox, as a warm pool does."""

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        new = self.create_workspace()
        move_to_sandbox(folder, new, self.data / "sandboxes" / new / "workspace")
        return (yield from super().acquire(folder, stop))


def test_a_file_that_replaces_a_folder_is_transferred(tmp_path: Path) -> None:
    machine = WarmSandboxProvider(tmp_path)
    folder = RunFolder.create(tmp_path, machine.create_workspace())
    (folder.workspace / "output").rmdir()
    (folder.workspace / "output").write_text("given\n")
    with RecordedRun(folder, machine) as run:
        *_, ended = run.start(
            Task("t", get_bundled("general")), ScriptedModel([bash("cat output"), SUBMIT])
        )
    assert isinstance(ended, RunEnded)
    assert (ended.status, ended.reason) == ("submitted", "")
    assert (folder.workspace / "output").read_text() == "given\n"


# Through the loop


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordedRun]:
    machine = LocalSandboxProvider(tmp_path)
    run = RecordedRun(RunFolder.create(tmp_path, machine.create_workspace()), machine)
    yield run
    run.close()


def bash(command: str) -> ScriptedTurn:
    return ScriptedTurn(calls=(ToolCall("", "execute_bash", f'{{"command": "{command}"}}'),))


SUBMIT = ScriptedTurn(calls=(ToolCall("", "submit", "{}"),))


def test_the_next_observation_reports_a_change_once(recorded: RecordedRun) -> None:
    model = ScriptedModel([bash("true"), bash("true"), SUBMIT])
    for event in recorded.start(Task("t", get_bundled("general")), model, Limits(), Stop()):
        if isinstance(event, StepStarted) and event.step == 1:
            recorded.user_changes.add([REPORT])
    first, second, third = (request.messages[-1].text for request in model.requests)
    assert TOLD not in first
    assert f"\n\n{TOLD}\nSteps Remaining: " in second
    assert TOLD not in third


def test_changes_between_rounds_come_with_the_next_message(recorded: RecordedRun) -> None:
    for _ in recorded.start(Task("t", get_bundled("general")), ScriptedModel([SUBMIT])):
        continue
    recorded.user_changes.add([REPORT])
    model = ScriptedModel([SUBMIT])
    for _ in recorded.follow_up("And now?", model):
        continue
    assert f"And now?\n\n{TOLD}" in model.requests[0].messages[-1].text


def test_a_reopened_run_knows_which_changes_were_reported(recorded: RecordedRun) -> None:
    recorded.user_changes.add([REPORT])
    for _ in recorded.start(
        Task("t", get_bundled("general")), ScriptedModel([bash("true"), SUBMIT])
    ):
        continue
    again = Conversation(event for _, event in journal.read(recorded.folder.journal))
    assert again.messages == recorded.conversation.messages
    assert sum(TOLD in str(message) for message in again.messages) == 1


# Over HTTP


class Script:
    """The turns that a test sets, then submit; and what was asked."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.asked: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        self.asked.append(body)
        return self.turns.pop(0) if self.turns else Turn(text="Done.", calls=[Call("submit")])

    def last(self, request: int) -> str:
        return str(self.asked[request]["messages"][-1]["content"])


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


@pytest.fixture(scope="module")
def address(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    with Endpoint(script) as endpoint:
        settings = Settings(data=data, base_url=endpoint.url, model="test-model")
        with run_server(create_app(settings, WarmSandboxProvider(data))) as address:
            yield address


@pytest.fixture
def http(address: str, script: Script) -> Iterator[httpx.Client]:
    script.turns, script.asked = [], []
    with httpx.Client(base_url=address, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def programs(address: str) -> Client:
    return Client(address, verbose=False)


def until(command: str) -> Turn:
    return Turn(calls=[Call("execute_bash", {"command": f"until {command}; do sleep 0.05; done"})])


def followed(programs: Client, run: str) -> dict[str, Any]:
    states: list[dict[str, Any]] = list(programs.submit(run, api_name="/follow"))
    return states[-1]


def test_changes_during_a_step_are_reported(
    http: httpx.Client, programs: Client, script: Script
) -> None:
    script.turns = [until("[ -e input/go ]")]
    run = http.post("/api/runs").json()["run"]
    files = f"/api/runs/{run}/files"
    for name in ("before", "moved", "gone"):
        http.put(f"{files}/input/{name}", content=b"old")
    programs.predict("Work", run, api_name="/start")
    for state in programs.submit(run, api_name="/follow"):
        if state["state"] == "running_tool":
            break
    upload = http.post(f"/api/runs/{run}/uploads", json={"path": "input/new%20one", "size": 7})
    at = f"/api/runs/{run}/uploads/{upload.json()['upload']}"
    http.patch(at, headers={"Upload-Offset": "0"}, content=b"content")
    etag = http.head(f"{files}/input/before").headers["etag"]
    http.put(f"{files}/input/before", content=b"newer", headers={"If-Match": etag})
    for wish in (
        {"do": "move", "paths": ["input/moved"], "to": "output"},
        {"do": "remove", "paths": ["input/gone"]},
    ):
        assert http.post(f"/api/runs/{run}/changes", json=wish).status_code == 200
    http.put(f"{files}/input/go", content=b"")
    assert followed(programs, run)["state"] == "submitted"
    told = script.last(1)
    assert "[The user " not in script.last(0)
    for words in (
        "[The user added input/new one (7 bytes).]",
        "[The user changed input/before (5 bytes).]",
        "[The user moved input/moved to output/moved.]",
        "[The user removed input/gone.]",
        "[The user added input/go (0 bytes).]",
    ):
        assert words in told


def test_uploads_between_rounds_are_reported_with_the_next_message(
    http: httpx.Client, programs: Client, script: Script
) -> None:
    run = programs.predict("Work", api_name="/start")
    followed(programs, run)
    http.put(f"/api/runs/{run}/files/input/late.txt", content=b"content")
    programs.predict(run, "Look at it", api_name="/message")
    followed(programs, run)
    assert "Look at it\n\n[The user added input/late.txt (7 bytes).]" in script.last(-1)


def test_an_upload_into_a_draft_survives_the_move_to_a_warm_sandbox(
    http: httpx.Client, programs: Client, script: Script
) -> None:
    script.turns = [until("[ -e input/big ]")]
    run = http.post("/api/runs").json()["run"]
    http.put(f"/api/runs/{run}/files/input/first", content=b"first")
    upload = http.post(f"/api/runs/{run}/uploads", json={"path": "input/big", "size": 8}).json()
    at = f"/api/runs/{run}/uploads/{upload['upload']}"
    assert http.patch(at, headers={"Upload-Offset": "0"}, content=b"1234").json()["offset"] == 4
    removed = http.post(
        f"/api/runs/{run}/changes", json={"do": "remove", "paths": ["input/first"]}
    ).json()
    programs.predict("Work", run, api_name="/start")
    for state in programs.submit(run, api_name="/follow"):
        if state["state"] == "running_tool":
            break
    assert http.post(
        f"/api/runs/{run}/changes", json={"do": "undo", "undo": removed["undo"]}
    ).json()["paths"] == ["input/first"]
    assert http.patch(at, headers={"Upload-Offset": "4"}, content=b"5678").status_code == 201
    assert followed(programs, run)["state"] == "submitted"
    assert http.get(f"/api/runs/{run}/files/input/big").content == b"12345678"


def test_an_upload_in_progress_survives_the_move(
    http: httpx.Client, programs: Client, script: Script
) -> None:
    script.turns = [until("[ -e input/slow ]")]
    run = http.post("/api/runs").json()["run"]

    def slowly() -> Iterator[bytes]:
        yield b"x" * 2_000_000
        programs.predict("Work", run, api_name="/start")
        for state in programs.submit(run, api_name="/follow"):
            if state["state"] == "running_tool":
                break
        yield b"y"

    assert http.put(f"/api/runs/{run}/files/input/slow", content=slowly()).status_code == 201
    assert followed(programs, run)["state"] == "submitted"
    assert http.get(f"/api/runs/{run}/files/input/slow").content == b"x" * 2_000_000 + b"y"

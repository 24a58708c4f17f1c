"""The user's file changes are reported to the model, in the loop and over HTTP."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from gradio_client import Client

from agent.events import Event, RunEnded, StepStarted
from agent.loop.conversation import Conversation
from agent.provisioning.move_files import move_to_sandbox
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from agent.runs.user_changes import UserChange
from agent.sandbox.base import Sandbox
from agent.util.stop import Stop
from agent.workspace.paths import RelPath
from tests.support import httpx, tus
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models import turns
from tests.support.models.endpoint import Endpoint, ScriptedTurns, Turn
from tests.support.models.scripted import bash, script
from tests.support.server import serve_studio

pytestmark = pytest.mark.contract

REPORT = UserChange("added", RelPath("input/report.pdf"), 3_250_586)
REPORT_TEXT = "[The user added input/report.pdf (3.1 MB).]"


class WarmSandboxProvider(LocalSandboxProvider):
    """Moves a run's files into another sandbox, as a warm pool does."""

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        new = self.create_workspace()
        move_to_sandbox(folder, new, self.data / "sandboxes" / new / "workspace")
        return (yield from super().acquire(folder, stop))


def test_a_file_that_replaces_a_folder_is_transferred(tmp_path: Path) -> None:
    provider = WarmSandboxProvider(tmp_path)
    folder = RunFolder.create(tmp_path, provider.create_workspace())
    (folder.workspace / "output").rmdir()
    (folder.workspace / "output").write_text("given\n")
    with RecordedRun(folder, provider) as run:
        *_, ended = run.start(Task("t"), script(bash("cat output")))
    assert isinstance(ended, RunEnded)
    assert (ended.status, ended.reason) == ("submitted", "")
    assert (folder.workspace / "output").read_text() == "given\n"


# In the loop


def test_the_next_observation_reports_a_change_once(run: RecordedRun) -> None:
    model = script(bash("true"), bash("true"))
    for event in run.start(Task("t"), model):
        if isinstance(event, StepStarted) and event.step == 1:
            run.user_changes.add([REPORT])
    first, second, third = (request.messages[-1].text for request in model.requests)
    assert REPORT_TEXT not in first
    assert f"\n\n{REPORT_TEXT}\nSteps Remaining: " in second
    assert REPORT_TEXT not in third


def test_changes_between_rounds_are_reported_with_the_next_message(run: RecordedRun) -> None:
    list(run.start(Task("t"), script()))
    run.user_changes.add([REPORT])
    model = script()
    list(run.follow_up("And now?", model))
    assert f"And now?\n\n{REPORT_TEXT}" in model.requests[0].messages[-1].text


def test_a_reopened_run_knows_which_changes_were_reported(run: RecordedRun) -> None:
    run.user_changes.add([REPORT])
    list(run.start(Task("t"), script(bash("true"))))
    rebuilt = Conversation(event for _, event in journal.read(run.folder.journal))
    assert rebuilt.messages == run.conversation.messages
    assert sum(REPORT_TEXT in str(message) for message in rebuilt.messages) == 1


# Over HTTP


@pytest.fixture(scope="module")
def answers() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture(scope="module")
def endpoint(answers: ScriptedTurns) -> Iterator[Endpoint]:
    with Endpoint(answers) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def studio_url(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("data")
    provider = WarmSandboxProvider(data)
    with serve_studio(data, provider, base_url=endpoint.url, model="m") as studio_url:
        yield studio_url


@pytest.fixture
def http(studio_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=studio_url, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def gradio_client(studio_url: str) -> Client:
    return Client(studio_url, verbose=False)


def wait_for_file(path: str) -> list[Turn]:
    """Return the turns of a model that waits for a file and submits."""
    return [turns.bash(f"until [ -e {path} ]; do sleep 0.05; done"), turns.SUBMIT]


def start_and_wait_for_command(gradio_client: Client, run: str) -> None:
    gradio_client.predict("Work", run, api_name="/start")
    for state in gradio_client.submit(run, api_name="/follow"):
        if state["state"] == "running_tool":
            return


def final_state(gradio_client: Client, run: str) -> str:
    *_, last = gradio_client.submit(run, api_name="/follow")
    return str(last["state"])


def test_changes_during_a_step_are_reported(
    http: httpx.Client, gradio_client: Client, answers: ScriptedTurns, endpoint: Endpoint
) -> None:
    answers.turns = wait_for_file("input/go")
    run = http.post("/api/runs").json()["run"]
    files = f"/api/runs/{run}/files"
    for name in ("before", "moved", "gone"):
        http.put(f"{files}/input/{name}", content=b"old")
    start_and_wait_for_command(gradio_client, run)
    upload = tus.url_of(tus.begin(http, run, "input/new%20one", 7))
    tus.send(http, upload, 0, b"content")
    etag = http.head(f"{files}/input/before").headers["etag"]
    http.put(f"{files}/input/before", content=b"newer", headers={"If-Match": etag})
    for body in (
        {"operation": "move", "paths": ["input/moved"], "to": "output"},
        {"operation": "remove", "paths": ["input/gone"]},
    ):
        assert http.post(f"/api/runs/{run}/changes", json=body).status_code == 200
    http.put(f"{files}/input/go", content=b"")
    assert final_state(gradio_client, run) == "submitted"
    before, message = (each.body["messages"][-1]["content"] for each in endpoint.requests[-2:])
    assert "[The user " not in before
    for change in (
        "added input/new one (7 bytes)", "changed input/before (5 bytes)",
        "moved input/moved to output/moved", "removed input/gone", "added input/go (0 bytes)",
    ):  # fmt: skip
        assert f"[The user {change}.]" in message


def test_an_upload_into_a_draft_survives_the_move_to_a_warm_sandbox(
    http: httpx.Client, gradio_client: Client, answers: ScriptedTurns
) -> None:
    answers.turns = wait_for_file("input/big")
    run = http.post("/api/runs").json()["run"]
    http.put(f"/api/runs/{run}/files/input/first", content=b"first")
    upload = tus.url_of(tus.begin(http, run, "input/big", 8))
    assert tus.send(http, upload, 0, b"1234").headers["upload-offset"] == "4"
    changes = f"/api/runs/{run}/changes"
    body = {"operation": "remove", "paths": ["input/first"]}
    removed = http.post(changes, json=body).json()
    start_and_wait_for_command(gradio_client, run)
    undone = http.post(changes, json={"operation": "undo", "undo": removed["undo"]})
    assert undone.json()["paths"] == ["input/first"]
    assert tus.send(http, upload, 4, b"5678").status_code == 204
    assert final_state(gradio_client, run) == "submitted"
    assert http.get(f"/api/runs/{run}/files/input/big").content == b"12345678"


def test_an_upload_in_progress_survives_the_move(
    http: httpx.Client, gradio_client: Client, answers: ScriptedTurns
) -> None:
    answers.turns = wait_for_file("input/slow")
    run = http.post("/api/runs").json()["run"]

    def slow_content() -> Iterator[bytes]:
        yield b"x" * 2_000_000
        start_and_wait_for_command(gradio_client, run)
        yield b"y"

    assert http.put(f"/api/runs/{run}/files/input/slow", content=slow_content()).status_code == 201
    assert final_state(gradio_client, run) == "submitted"
    assert http.get(f"/api/runs/{run}/files/input/slow").content == b"x" * 2_000_000 + b"y"

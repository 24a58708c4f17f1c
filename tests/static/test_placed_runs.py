"""The page with its sandboxes on the nodes of a real cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from agent.events import SandboxReady
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.sandbox.engine.client import Client
from tests.support import httpx
from tests.support.cluster.nodes import ROOT, containers_of
from tests.support.cluster.placement import Placement, open_placement
from tests.support.models.endpoint import Endpoint, ScriptedTurns
from tests.support.page_states import SUBMIT, bash
from tests.support.server import serve_studio
from tests.support.tab import StudioTab, open_studio

pytest.importorskip("ray", reason="Ray is not installed (make .make/ray)")
pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.nightly]

TIMEOUT_MS = 120_000
WORK = "cat input/note.txt; echo '# Moon' > output/moon.md; touch /opt/installed"
WAIT = "echo begun; touch output/during.txt; sleep 1000"


@pytest.fixture
def placement(image: str, tmp_path: Path) -> Iterator[Placement]:
    with open_placement(tmp_path) as placement:
        yield placement


@pytest.fixture
def script() -> ScriptedTurns:
    return ScriptedTurns()


@pytest.fixture
def endpoint(script: ScriptedTurns) -> Iterator[Endpoint]:
    with Endpoint(script) as endpoint:
        yield endpoint


@pytest.fixture
def studio(browser: Browser, placement: Placement, endpoint: Endpoint) -> Iterator[StudioTab]:
    provider, ray = placement.provider, placement.nodes.address
    with (
        serve_studio(
            provider.data.path, provider, base_url=endpoint.url, model="m", ray=ray
        ) as url,
        open_studio(browser, url) as studio,
    ):
        yield studio


def the_run(placement: Placement) -> RunFolder:
    """The only run that has begun."""
    (run,) = [each for each in RunFolder.all(placement.provider.data.path) if each.journal.exists()]
    return run


def file_url(studio: StudioTab, placement: Placement, name: str) -> str:
    root = studio.page.url.partition("?")[0].rstrip("/")
    return f"{root}/api/runs/{the_run(placement).id}/files/{name}"


def observations(endpoint: Endpoint) -> list[str]:
    """The results of the calls in the last request to the model."""
    messages = endpoint.requests[-1].body["messages"]
    return [str(each["content"]) for each in messages if each["role"] == "tool"]


def test_a_run_on_a_node_is_used_like_any_other(
    studio: StudioTab, endpoint: Endpoint, script: ScriptedTurns, placement: Placement
) -> None:
    script.turns = [bash(WORK), SUBMIT]
    note = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"the word is tide"}
    studio.page.get_by_label("Files to attach").set_input_files(note)  # type: ignore[arg-type]
    studio.send("Read the note")
    expect(studio.state).to_contain_text("submitted", timeout=TIMEOUT_MS)
    assert "the word is tide" in observations(endpoint)[-1]
    expect(studio.page.get_by_text("sandbox on")).to_be_visible()

    # Preview of what the sandbox wrote, and an edit and a new file of the user.
    studio.file("moon.md").click()
    expect(studio.page.get_by_role("heading", name="Moon")).to_be_visible()
    at = file_url(studio, placement, "output/moon.md")
    before = httpx.get(at)
    saved = httpx.put(at, content=b"# Sun", headers={"If-Match": before.headers["etag"]})
    assert saved.status_code == 200
    added = httpx.put(file_url(studio, placement, "input/new/data.csv"), content=b"1,2")
    assert added.status_code == 201
    httpx.delete(file_url(studio, placement, "input/note.txt")).raise_for_status()
    expect(studio.page.get_by_role("heading", name="Sun")).to_be_visible()

    # Stop, with output and files as they appear, then the same sandbox again.
    script.turns = [bash(WAIT)]
    studio.send("Look again")
    expect(studio.timeline).to_contain_text("begun", timeout=TIMEOUT_MS)
    expect(studio.file("during.txt")).to_be_visible()
    studio.button("Stop").click()
    expect(studio.state).to_contain_text("stopped", timeout=TIMEOUT_MS)
    script.turns = [bash("cat output/moon.md input/new/data.csv; ls input /opt/installed"), SUBMIT]
    studio.send("And again")
    expect(studio.state).to_contain_text("submitted", timeout=TIMEOUT_MS)
    result = observations(endpoint)[-1]
    assert "# Sun1,2" in result
    assert "/opt/installed" in result
    assert "note.txt" not in result
    assert httpx.get(at).headers["etag"] == saved.headers["etag"]


def test_a_lost_node_ends_the_round_and_another_one_continues(
    studio: StudioTab, endpoint: Endpoint, script: ScriptedTurns, placement: Placement
) -> None:
    script.turns = [bash("echo kept > output/kept.txt; touch /opt/installed"), bash(WAIT)]
    studio.send("Work")
    expect(studio.timeline).to_contain_text("begun", timeout=TIMEOUT_MS)
    expect(studio.file("during.txt")).to_be_visible()
    (ready,) = ready_events(placement)
    placement.kill_node(ready.node)
    expect(studio.state).to_contain_text("failed", timeout=TIMEOUT_MS)
    expect(studio.timeline).to_contain_text("was lost, and with it the sandbox. Send a message")

    script.turns = [bash("cat output/kept.txt; ls output /opt/installed"), SUBMIT]
    studio.send("Go on")
    expect(studio.state).to_contain_text("submitted", timeout=TIMEOUT_MS)
    result = observations(endpoint)[-1]
    assert "kept\noutput:\nduring.txt\nkept.txt" in result
    assert "'/opt/installed': No such file" in result
    _, again = ready_events(placement)
    assert again.origin == "recreated"
    assert again.node != ready.node
    expect(studio.page.get_by_text("sandbox on")).to_contain_text(again.node)


def ready_events(placement: Placement) -> list[SandboxReady]:
    events = (event for _, event in journal.read(the_run(placement).journal))
    return [event for event in events if isinstance(event, SandboxReady)]


def test_the_page_as_a_program_ends_in_order(tmp_path: Path, engine: Client) -> None:
    environment = {
        **os.environ, "STUDIO_RAY": "local", "STUDIO_DATA": str(tmp_path),
        "GRADIO_SERVER_PORT": "0",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "app.py"], env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        lines = list[str]()
        while not lines or not lines[-1].startswith("ready"):
            lines.append(process.stdout.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert "SIGTERM received" not in rest  # Ray's handler would abort the program
    assert process.returncode == -signal.SIGTERM
    assert not containers_of(tmp_path, engine)

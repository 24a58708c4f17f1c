"""Recorded runs that ship with the studio: offered, opened once for each user, complete."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agent.history import recordings
from agent.runs.folder import RunFolder
from tests.support import httpx
from tests.support.server import follow_run

pytestmark = pytest.mark.contract


def open_run(client: httpx.Client, name: str) -> str:
    run: str = client.post(f"/api/recordings/{name}").raise_for_status().json()["run"]
    return run


def state_of(client: httpx.Client, run: str) -> Any:
    with follow_run(client, run) as stream:
        return next(stream).data["state"]


def test_three_small_recordings_are_offered(client: httpx.Client) -> None:
    offered = client.get("/api/recordings").json()
    assert [each["name"] for each in offered] == ["journey", "physics", "poster"]
    assert all(each["title"] and each["about"] and each["steps"] > 3 for each in offered)
    assert sum(each.path.stat().st_size for each in recordings.recordings()) < 3 * 1024**2
    assert client.post("/api/recordings/..%2f..%2fetc").status_code == 404
    unknown = client.post("/api/recordings/nothing")
    assert unknown.status_code == 404
    assert unknown.json()["error"] == "There is no such recorded run."


@pytest.mark.parametrize("name", ["journey", "physics", "poster"])
def test_a_recording_is_a_run_with_all_its_steps_and_files(
    client: httpx.Client, data: Path, name: str
) -> None:
    run = open_run(client, name)
    state, about = state_of(client, run), recordings.find(name)
    assert state["run"] == run
    assert (state["rounds"][0]["status"], len(state["steps"])) == ("submitted", about.steps)
    assert client.get(f"/api/runs/{run}/files?folder=output").json()["total"] > 0
    shown = client.get(f"/api/runs/{run}/files", params={"step": about.steps, "hidden": "1"}).json()
    now = client.get(f"/api/runs/{run}/files", params={"hidden": "1"}).json()
    present = [row["path"] for row in shown["entries"] if not row.get("later")]
    assert present == [row["path"] for row in now["entries"]]
    assert not any(row.get("not_kept") for row in shown["entries"])
    journal = RunFolder.open(data, run).journal.read_text()
    assert recorded_run(name) not in journal


def recorded_run(name: str) -> Any:
    """Return the id that a recording's run had."""
    with zipfile.ZipFile(recordings.find(name).path) as archive:
        return json.loads(archive.read(recordings.ABOUT_FILE))["run"]


def test_a_recording_is_copied_once_and_again_after_it_was_deleted(client: httpx.Client) -> None:
    run = open_run(client, "journey")
    assert open_run(client, "journey") == run
    assert client.delete(f"/api/runs/{run}").status_code < 300
    again = open_run(client, "journey")
    assert again != run
    assert state_of(client, again)["rounds"]

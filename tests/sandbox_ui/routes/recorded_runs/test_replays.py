"""Replays over HTTP: started from a run, listed with it, refused with a reason."""

from pathlib import Path
from typing import Any

import pytest

from agent.events import Mode
from agent.limits import Limits
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import RecordedRun, Task
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import SUBMIT, ScriptedModel, ScriptedTurn, bash
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


def record(data: Path, *turns: ScriptedTurn, mode: Mode = "sandbox") -> str:
    provider = LocalSandboxProvider(data)
    folder = RunFolder.create(data, provider.create_workspace())
    with RecordedRun(folder, provider) as run:
        list(run.start(Task("Do it.", mode=mode), ScriptedModel(turns), Limits()))
    return folder.id


def list_replays(client: httpx.Client, run: str) -> list[dict[str, Any]]:
    replays: list[dict[str, Any]] = client.get(f"/api/runs/{run}/replays").json()["replays"]
    return replays


def test_a_replay_is_started_and_listed(client: httpx.Client, data: Path) -> None:
    recorded = record(data, bash("echo hi > output/a.txt"), SUBMIT)
    assert list_replays(client, recorded) == []
    created = client.post(f"/api/runs/{recorded}/replays")
    assert created.status_code == 201
    replay = created.json()["run"]
    wait_until(lambda: [each["running"] for each in list_replays(client, recorded)] == [False])
    (listed,) = list_replays(client, recorded)
    assert listed["run"] == replay
    assert (listed["replay"]["run"], listed["replay"]["verdict"]) == (recorded, "same")
    assert listed["replay"]["counts"] == {"same": 2}
    rows = client.get("/api/runs").json()["runs"]
    parents = {row["run"]: row["parent"] for row in rows}
    assert parents[replay] == {"run": recorded, "step": 0, "manifest": "", "kind": "replay"}


def test_what_cannot_be_replayed_leaves_no_run(client: httpx.Client, data: Path) -> None:
    recorded = record(data, ScriptedTurn(text="Yes."), mode="plain")
    before = len(RunFolder.all(data))
    refused = client.post(f"/api/runs/{recorded}/replays")
    assert refused.status_code == 400
    assert "this run had no sandbox" in refused.json()["error"]
    draft = client.post("/api/runs").json()["run"]
    assert client.post(f"/api/runs/{draft}/replays").status_code == 400
    assert client.post("/api/runs/no-such-run/replays").status_code == 404
    assert len(RunFolder.all(data)) == before + 1


def test_a_run_is_saved_as_an_example_and_deleted(client: httpx.Client, data: Path) -> None:
    recorded = record(data, SUBMIT)
    saved = client.post(f"/api/runs/{recorded}/example")
    assert (saved.status_code, saved.json()["id"]) == (201, recorded)
    listed = client.get("/api/examples/saved").json()
    assert [(each["saved"], each["task"], each["seconds"]) for each in listed] == [
        (recorded, "Do it.", 1)
    ]
    assert client.delete(f"/api/examples/saved/{recorded}").status_code == 204
    assert client.delete(f"/api/examples/saved/{recorded}").status_code == 404
    assert client.get("/api/examples/saved").json() == []

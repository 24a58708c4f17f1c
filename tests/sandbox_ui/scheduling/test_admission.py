"""Admission: limits of drafts, storage and request sizes per user."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import QuotaExceeded
from agent.history.index import History
from agent.limits import Limits
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import Task
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.scheduling.admission import MAX_DRAFTS, MAX_TEXT
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.sandbox_ui.managed_runs import open_manager
from tests.support import httpx, tus
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.models.scripted import ScriptedModel
from tests.support.recorded_runs import write_ended_run
from tests.support.server import serve_studio, wait_until

pytestmark = pytest.mark.contract

USERS = accounts("ann", "bob")


# Drafts and task lengths


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[RunManager]:
    with open_manager(tmp_path) as runs:
        yield runs


def test_drafts_per_user_are_limited(runs: RunManager) -> None:
    drafts = [runs.create_draft("ann") for _ in range(MAX_DRAFTS)]
    with pytest.raises(QuotaExceeded, match="already have"):
        runs.create_draft("ann")
    assert runs.create_draft("bob")
    runs.start(drafts[0], Task("Do it."), ScriptedModel([]), Limits())
    wait_until(lambda: runs.has_started(drafts[0]))
    assert runs.create_draft("ann")


def test_an_oversized_task_is_refused_with_advice_to_upload_a_file(runs: RunManager) -> None:
    run = runs.create_draft()
    with pytest.raises(QuotaExceeded, match=r"1,000,000 characters.*1,000,001.*as a file"):
        runs.start(run, Task("x" * (MAX_TEXT + 1)), ScriptedModel([]), Limits())
    assert not runs.has_started(run)
    runs.start(run, Task("x" * MAX_TEXT), ScriptedModel([]), Limits())
    wait_until(lambda: not runs.feed(run).status()["running"])
    with pytest.raises(QuotaExceeded):
        runs.follow_up(run, "x" * (MAX_TEXT + 1), ScriptedModel([]), Limits())


# Storage


@pytest.fixture
def studio_url(tmp_path: Path) -> Iterator[str]:
    """A Studio with a quota of 4 MB per user, which ann has used up."""
    write_ended_run(tmp_path, "ann's", files={"output/a": b"x" * 5_000_000}, owner="u:ann")
    History(tmp_path).page()
    with serve_studio(tmp_path, users=USERS, quota_per_user=4_000_000) as studio_url:
        yield studio_url


def test_a_user_over_the_storage_quota_must_delete_runs_first(ann: httpx.Client) -> None:
    refused = ann.post("/api/runs")
    assert refused.status_code == 429
    assert "use your entire quota of 3.8 MB" in refused.json()["error"]
    (row,) = ann.get("/api/runs").json()["runs"]
    assert tus.begin(ann, row["run"], "input/b", 1_000).status_code == 507
    assert ann.put(f"/api/runs/{row['run']}/files/b", content=b"b").status_code == 507
    ann.delete(f"/api/runs/{row['run']}").raise_for_status()
    assert ann.post("/api/runs").status_code == 201


def test_files_in_drafts_count_towards_the_quota_of_their_user(
    bob: httpx.Client, tmp_path: Path
) -> None:
    run = bob.post("/api/runs").json()["run"]
    files = f"/api/runs/{run}/files/input"
    endless = bob.put(f"{files}/a", content=iter([b"x" * 1024**2] * 5))
    assert (endless.status_code, "does not fit" in endless.json()["error"]) == (507, True)
    folder = RunFolder.open(tmp_path, run).sandbox_folder
    assert [path.name for path in folder.rglob("*") if path.is_file()] == []
    refused = tus.begin(bob, run, "input/b", 5_000_000)
    assert (refused.status_code, "3.8 MB more" in refused.json()["error"]) == (507, True)
    begun = tus.begin(bob, run, "input/b", 3_000_000)
    assert bob.delete(tus.url_of(begun)).is_success
    assert bob.put(f"{files}/c", content=iter([b"x"] * 5)).status_code == 201
    assert bob.put(f"{files}/a", content=b"x" * 2_500_000).status_code == 201
    assert bob.put(f"{files}/b", content=b"x" * 2_500_000).status_code == 507
    assert bob.put(f"{files}/b", content=b"x" * 1_000_000).status_code == 201


def test_files_of_active_runs_count_towards_the_quota(tmp_path: Path) -> None:
    gate = threading.Event()
    with (
        Endpoint(lambda _: Turn(text="Done.", gate=gate)) as endpoint,
        serve_studio(
            tmp_path, users=USERS, quota_per_user=4_000_000, base_url=endpoint.url, model="m"
        ) as studio_url,
        signed_in(studio_url, "ann") as ann,
    ):
        arguments = {"data": ["Wait.", "", "general", "sandbox"]}
        (run,) = ann.post("/gradio_api/run/start", json=arguments).json()["data"]
        wait_until(lambda: bool(endpoint.requests))
        files = f"/api/runs/{run}/files/output"
        assert ann.put(f"{files}/a", content=b"x" * 3_900_000).status_code == 201
        assert ann.put(f"{files}/b", content=b"x" * 200_000).status_code == 507
        gate.set()


# Requests; how a body is counted is in limits/test_body_limit.py


def test_requests_other_than_uploads_are_small(ann: httpx.Client) -> None:
    calls = ("/gradio_api/run/start", "/gradio_api/queue/join")
    for path in ("/api/markdown", *calls, "/login", "/nowhere"):
        answer = ann.post(path, content=b"x" * (4 * 1024**2 + 1))
        assert answer.status_code == 413, path
        assert "at most" in answer.json()["error"]

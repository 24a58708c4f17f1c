"""A comparison whose application is killed with SIGKILL, restarted, and continued."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.runs.event_recorder import INTERRUPTED
from agent.sandbox.engine.client import Client as DockerClient
from tests.faults.app_process import AppProcess, start_app
from tests.faults.studio_app import remove_containers
from tests.support.comparisons import (
    PLAIN,
    SANDBOX,
    ComparisonClient,
    answer_by_mode,
    run_ids,
    statuses,
)
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import wait_until

pytestmark = [pytest.mark.engine, pytest.mark.nightly]


class SilentAfter:
    """Answers a number of requests, then falls silent until it is told to go on."""

    def __init__(self, answered: int) -> None:
        self.left = answered

    def __call__(self, body: dict[str, Any]) -> Turn:
        self.left -= 1
        if self.left < 0:
            return Turn(text="I think of it. " * 20, fault="silent")
        return answer_by_mode(body)


@pytest.fixture
def script() -> SilentAfter:
    return SilentAfter(3)


@pytest.fixture
def endpoint(script: SilentAfter) -> Iterator[Endpoint]:
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


def test_a_killed_comparison_is_continued(
    app: AppProcess, script: SilentAfter, endpoint: Endpoint
) -> None:
    with httpx.Client(base_url=app.studio_url) as http:
        client = ComparisonClient(http)
        comparison = client.create(
            PLAIN, SANDBOX, repetitions=2, inputs=client.draft(a=b"abc"),
            expected={"kind": "number", "answer": "3"},
        )  # fmt: skip
        assert endpoint.wait_for_requests(5)
        wait_until(lambda: statuses(client.read(comparison))[0][0] == "answered")
        app.kill()
        app.start()
        described = client.read(comparison)
        assert described["state"] == "interrupted"
        assert described["canResume"]
        runs = [run for member in described["members"] for run in member["runs"]]
        ended = [run["run"] for run in runs if run["status"] in ("answered", "submitted")]
        assert {run["reason"] for run in runs if run["status"] == "failed"} == {INTERRUPTED}
        assert not any(run["running"] or run["deleted"] for run in runs)
        script.left = 100
        http.post(f"/api/comparisons/{comparison}/resume").raise_for_status()
        described = client.wait(comparison)
        assert statuses(described) == [["answered"] * 2, ["submitted"] * 2]
        assert [run["score"] for run in described["members"][1]["runs"]] == [1.0, 1.0]
        assert set(ended) <= set(run_ids(described))
        listed = http.get("/api/runs").json()
        assert [each["state"] for each in listed["comparisons"]] == ["finished"]
        singly = {run["run"] for run in listed["runs"]}
        assert singly == {run["run"] for run in runs} - set(ended)
        assert listed["drafts"] == []


def test_a_comparison_survives_a_kill_at_any_byte_of_its_list(app: AppProcess) -> None:
    with httpx.Client(base_url=app.studio_url) as http:
        client = ComparisonClient(http)
        comparison = client.create(PLAIN, PLAIN)
        before = run_ids(client.wait(comparison))
        app.kill()
        with (app.data / "comparisons" / comparison / "runs.jsonl").open("ab") as file:
            file.write(b'{"member": 0, "repet')
        app.start()
        assert run_ids(client.read(comparison)) == before
        http.delete(f"/api/runs/{before[0]}").raise_for_status()
        first, second = (member["runs"][0] for member in client.read(comparison)["members"])
        assert (first["deleted"], second["status"]) == (True, "answered")

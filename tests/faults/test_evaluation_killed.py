"""An evaluation whose application is killed with SIGKILL, restarted, and resumed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.sandbox.engine.client import Client as DockerClient
from tests.faults.app_process import AppProcess, start_app
from tests.faults.studio_app import remove_containers
from tests.support.evaluations.client import EvaluationClient, outcomes, respond, run_ids
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
        return respond(body)


@pytest.fixture
def script() -> SilentAfter:
    return SilentAfter(5)


@pytest.fixture
def app(
    script: SilentAfter, tmp_path: Path, engine: DockerClient, image: str
) -> Iterator[AppProcess]:
    with Endpoint(script) as endpoint:
        variables = {
            "OPENAI_BASE_URL": endpoint.url, "OPENAI_MODEL": "m", "STUDIO_IMAGE": image,
            "STUDIO_MAX_RUNS": "2",
        }  # fmt: skip
        with start_app(tmp_path / "data", variables) as app:
            yield app
        remove_containers(tmp_path / "data", engine)


def test_a_killed_evaluation_resumes_and_repeats_no_finished_run(
    app: AppProcess, script: SilentAfter
) -> None:
    with httpx.Client(base_url=app.studio_url, timeout=60) as http:
        client = EvaluationClient(http)
        evaluation = client.create(limit=3, atOnce=2)
        wait_until(lambda: script.left < 0 and client.read(evaluation)["counts"]["done"] >= 2)
        app.kill()
        app.start()
        described = client.read(evaluation)
        assert described["state"] == "interrupted"
        assert described["canResume"]
        ended = {
            run["run"]
            for row in described["cells"]
            for cell in row
            for run in cell["runs"]
            if run["outcome"] in ("right", "wrong")
        }
        assert ended
        script.left = 100
        client.post(evaluation, "resume").raise_for_status()
        described = client.wait(evaluation)
        assert outcomes(described) == [["right", "right"], ["wrong", "right"], ["wrong", "right"]]
        assert ended <= run_ids(described)
        assert http.get("/api/runs").json()["drafts"] == []

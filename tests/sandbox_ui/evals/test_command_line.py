"""Evaluations of the command line on the page: seen while they run, taken over afterwards."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from agent.data_folder import DataFolder
from agent.runs.folder import RunFolder
from tests.sandbox_ui.conftest import Script
from tests.support import httpx
from tests.support.evaluations.client import DATA, EvaluationClient, outcomes, run_ids
from tests.support.evaluations.command import evaluation_command
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import follow_run, serve_studio, wait_until

pytestmark = pytest.mark.nightly

PLAIN = ("--member", "plain,label=guess", "--concurrency", "1")


class Gated:
    """Answers 2 at once to the first two requests, and to the others when ``go`` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self._asked = 0

    def __call__(self, body: dict[str, Any]) -> Turn:
        self._asked += 1
        return Turn(text="\\boxed{2}", gate=None if self._asked <= 2 else self.go)


@pytest.fixture
def gated(script: Script) -> Gated:
    script.answer = gated = Gated()
    return gated


@pytest.fixture
def client(endpoint: Endpoint, tmp_path: Path) -> Iterator[EvaluationClient]:
    """A studio that holds the data folder, in which the command is started."""
    data = tmp_path / "data"
    with (
        DataFolder(data),
        serve_studio(data, base_url=endpoint.url, model="m") as url,
        httpx.Client(base_url=url, timeout=60) as http,
    ):
        yield EvaluationClient(http)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    path.write_bytes(DATA)
    return path


@contextmanager
def command_of_four_runs(tasks: Path, endpoint: Endpoint) -> Iterator[Popen[str]]:
    """Run the command, one run at a time; it must succeed after the test."""
    data = tasks.parent / "data"
    with evaluation_command(data, tasks, endpoint.url, *PLAIN) as command:
        yield command
        _, errors = command.communicate(timeout=60)
        assert command.returncode == 0, errors


def listed(client: EvaluationClient) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.http.get("/api/runs").json()["evaluations"]
    return rows


def wait_for_runs(client: EvaluationClient, done: int) -> dict[str, Any]:
    """Wait until so many runs of the only evaluation are done, and another one runs."""
    wait_until(lambda: bool(listed(client)))
    evaluation = listed(client)[0]["id"]

    def counts() -> dict[str, int]:
        found: dict[str, int] = client.read(evaluation)["counts"]
        return found

    wait_until(lambda: (counts()["done"], counts()["running"]) == (done, 1))
    return client.read(evaluation)


def test_a_running_evaluation_and_its_runs_are_open_and_cannot_be_changed(
    client: EvaluationClient, tasks: Path, endpoint: Endpoint, gated: Gated
) -> None:
    with command_of_four_runs(tasks, endpoint) as command:
        seen = wait_for_runs(client, done=2)
        assert outcomes(seen) == [["right"], ["wrong"], ["running"], ["waiting"]]
        assert (seen["state"], seen["canEdit"]) == ("running", False)
        assert f"carried out by process {command.pid} on " in seen["elsewhere"]
        assert [each["score"] for each in seen["results"][0]["members"]] == [0.5]
        url = f"/api/evaluations/{seen['id']}"
        ended, running = (seen["cells"][task][0]["runs"][0]["run"] for task in (0, 2))
        for answer in (
            client.post(seen["id"], "stop"),
            client.post(seen["id"], "resume"),
            client.post(seen["id"], "retry-infrastructure"),
            client.http.patch(url, json={"title": "Mine"}),
            client.http.delete(url),
        ):
            assert answer.status_code == 403
            assert "Another process uses" in answer.json()["error"]
        answer = client.http.patch(f"/api/runs/{running}", json={"title": "Mine"})
        assert answer.status_code == 403
        text = client.http.get(f"/api/runs/{ended}/conversation.md").text
        assert "What is 1 + 1?" in text
        with follow_run(client.http, running) as stream:
            assert next(stream).name == "read_only"
            assert next(stream).data["state"]["rounds"][0]["text"].startswith("What is 3 + 3?")
            gated.go.set()
            assert any('"run_ended"' in str(each.data).replace("'", '"') for each in stream)
    finished = client.wait(seen["id"])
    assert (finished["counts"]["done"], finished["canEdit"]) == (4, True)
    assert finished["elsewhere"] == ""
    assert run_ids(seen) < run_ids(finished)
    assert client.http.patch(url, json={"title": "Mine"}).json() == {"title": "Mine"}
    assert client.http.patch(f"/api/runs/{running}", json={"title": "Mine"}).status_code == 200


def test_the_stream_follows_the_command_and_its_end(
    client: EvaluationClient, tasks: Path, endpoint: Endpoint, gated: Gated
) -> None:
    with command_of_four_runs(tasks, endpoint):
        seen = wait_for_runs(client, done=2)
        with client.follow(seen["id"], cursor=seen["cursor"]) as stream:
            gated.go.set()
            changed = dict[tuple[int, int], str]()
            for message in stream:
                if message.name == "cells":
                    changed |= {(task, member): cell["outcome"]
                                for task, member, cell in message.data["cells"]}  # fmt: skip
                if message.name == "reload":  # it was taken over
                    break
    # What ends between two looks is part of what is reloaded.
    assert set(changed.items()) <= {((2, 0), "wrong"), ((3, 0), "wrong"), ((3, 0), "running")}
    assert client.read(seen["id"])["state"] == "finished"


def test_the_page_can_be_opened_while_a_command_works(
    tasks: Path, endpoint: Endpoint, gated: Gated, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with command_of_four_runs(tasks, endpoint):
        assert endpoint.wait_for_requests(3)
        with (
            DataFolder(data),
            serve_studio(data) as url,
            httpx.Client(base_url=url, timeout=60) as http,
        ):
            seen = wait_for_runs(EvaluationClient(http), done=2)
        gated.go.set()
    assert (data / "evaluations" / seen["id"]).is_dir()  # the page was closed before the end
    assert len(RunFolder.all(data)) == 4

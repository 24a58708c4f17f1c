"""Evaluations that grow over HTTP, and several that become one."""

from typing import Any

import pytest

from agent.experiments.experiment import Experiment
from sandbox_ui.auth.user import OPERATOR
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.experiments.request import ExtendRequest
from tests.support.evaluations.client import DATA, MEMBERS, EvaluationClient, outcomes, run_ids
from tests.support.models.endpoint import Endpoint

pytestmark = pytest.mark.nightly

UPLOAD = {"name": "aime", "upload": "aime/test.jsonl"}


def extend(client: EvaluationClient, evaluation: str, **body: Any) -> Any:
    return client.post(evaluation, "extend", **body)


def test_members_and_tasks_are_added_and_only_their_runs_start(
    client: EvaluationClient, endpoint: Endpoint
) -> None:
    evaluation = client.create(members=[MEMBERS[0]], limit=1)
    before = client.wait(evaluation)
    asked = len(endpoint.requests)
    with client.follow(evaluation, cursor=before["cursor"]) as stream:
        draft = client.draft_with({"aime/test.jsonl": DATA})
        body = {"members": list(MEMBERS), "suites": [UPLOAD], "limit": 2, "inputs": draft}
        checked = client.post(evaluation, "extend/check", **body)
        assert checked.status_code == 200, checked.text
        assert checked.json()["estimate"]["runs"] == 3
        added = extend(client, evaluation, **body)
        assert (added.status_code, added.json()) == (200, {"members": 1, "tasks": 1}), added.text
        assert any(message.name == "reload" for message in stream)
    described = client.wait(evaluation)
    assert outcomes(described) == [["right", "right"], ["wrong", "right"]]
    assert run_ids(before) < run_ids(described)
    assert len(endpoint.requests) == asked + 1 + 2 * 2  # one plain, two in the sandbox
    assert [each["label"] for each in described["members"]] == ["Without sandbox", "With sandbox"]
    again = extend(client, evaluation, members=list(MEMBERS))
    assert (again.status_code, again.json()["error"]) == (
        400, "The evaluation has these members and tasks already."
    )  # fmt: skip


def test_who_is_overtaken_adds_nothing(
    client: EvaluationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = client.create(members=[MEMBERS[0]], limit=1)
    client.wait(evaluation)
    growing = ExperimentManager._growing

    def overtaken(manager: ExperimentManager, experiment: str, known: Experiment) -> Any:
        monkeypatch.undo()
        other = ExtendRequest(members=[{"mode": "plain", "model": "other"}], limit=None)
        manager.extend(experiment, other, OPERATOR)
        client.wait(evaluation)
        return growing(manager, experiment, known)

    monkeypatch.setattr(ExperimentManager, "_growing", overtaken)
    refused = extend(client, evaluation, members=[{"mode": "plain", "model": "mine"}])
    assert "Somebody else has just added" in refused.json()["error"]
    described = client.read(evaluation)
    assert (len(described["members"]), described["state"]) == (2, "finished")


def test_a_suite_that_needs_a_judge_brings_it(client: EvaluationClient) -> None:
    evaluation = client.create(members=[MEMBERS[0]], limit=1)
    client.wait(evaluation)
    physics = [{"name": "ugphysics", "limit": 1}]
    refused = extend(client, evaluation, suites=physics)
    assert "scored by a judge" in refused.json()["error"]
    judge = {"model": "j", "votes": 2}
    extend(client, evaluation, suites=physics, judge=judge).raise_for_status()
    described = client.wait(evaluation)
    assert (described["judge"]["model"], described["judge"]["askedVotes"]) == ("j", 2)
    other = extend(client, evaluation, suites=physics, judge=judge)
    assert "decided by j already" in other.json()["error"]


def test_evaluations_merge_into_one_that_names_their_runs(client: EvaluationClient) -> None:
    other = [{**each, "model": "other"} for each in MEMBERS]
    parts = [client.create(limit=2, members=each) for each in (list(MEMBERS), other)]
    ended = [client.wait(each) for each in parts]
    url = f"{client.routes}/merge"
    merged = client.http.post(url, json={"evaluations": parts, "title": "Both"})
    assert merged.status_code == 201, merged.text
    described = client.read(merged.json()["id"])
    assert (described["title"], described["state"]) == ("Both", "finished")
    assert run_ids(described) == run_ids(ended[0]) | run_ids(ended[1])
    assert [each["baseline"] for each in described["members"]] == [0, 0, 2, 2]
    assert described["members"][2]["label"] == "other, Without sandbox"
    assert [each["gain"] for each in described["results"][0]["members"]] == [None, 0.5, None, 0.5]
    listed = client.http.get(client.routes).json()["evaluations"]
    assert described["id"] in [each["id"] for each in listed]
    grown = extend(client, described["id"], members=[{"mode": "plain", "model": "third"}])
    assert "A merged evaluation does not grow" in grown.json()["error"]
    for body, words in (
        ({"evaluations": parts[:1]}, "two or more"),
        ({"evaluations": [parts[0], "unknown"]}, "There is no such"),
    ):
        assert words in client.http.post(url, json=body).json()["error"]

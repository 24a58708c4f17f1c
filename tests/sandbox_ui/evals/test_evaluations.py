"""Evaluations over HTTP: started, carried out, stopped, continued, exported and deleted."""

import csv
import io
import threading
from typing import Any

import pytest

from agent.experiments import suites
from agent.experiments.folder import NOT_FOUND
from sandbox_ui.experiments.scoring import BackgroundWork
from tests.sandbox_ui.conftest import Script
from tests.support.evaluations.client import MEMBERS, EvaluationClient, outcomes, run_ids
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import wait_until

pytestmark = pytest.mark.nightly


def test_an_evaluation_scores_each_task_of_each_member_and_is_one_row_of_the_history(
    client: EvaluationClient,
) -> None:
    evaluation = client.create(title="Sums")
    described = client.wait(evaluation)
    assert outcomes(described) == [["right", "right"], *[["wrong", "right"]] * 3]
    total = described["results"][0]["members"]
    assert [each["score"] for each in total] == [0.25, 1.0]
    assert total[1]["gain"] == 0.75
    assert described["counts"]["done"] == described["counts"]["total"] == 8
    assert not described["canResume"]
    run = described["cells"][0][1]["runs"][0]["run"]
    assert client.http.get(f"/api/runs/{run}/conversation.md").status_code == 200
    listed = client.http.get("/api/runs").json()
    (row,) = [each for each in listed["evaluations"] if each["id"] == evaluation]
    assert (row["title"], row["state"], row["counts"]["done"]) == ("Sums", "finished", 8)
    assert not run_ids(described) & {each["run"] for each in listed["runs"]}
    found = client.http.get("/api/runs", params={"q": "sums"}).json()
    assert evaluation in [each["id"] for each in found["evaluations"]]


def test_the_suites_are_described_with_their_samples(client: EvaluationClient) -> None:
    answer = client.http.get("/api/suites").json()
    assert [each["name"] for each in answer["suites"]] == list(suites.NAMES)
    assert all(each["sampleTasks"] for each in answer["suites"])
    assert answer["paths"]  # the single user of a studio on this machine is its operator


def test_an_evaluation_is_checked_before_it_costs_anything(
    client: EvaluationClient, endpoint: Endpoint
) -> None:
    body = {"suites": [{"name": "ugphysics", "repeat": 3}], "members": [MEMBERS[0]], "limit": 2,
            "preset": "paper", "judge": {"model": "j", "votes": 4}}  # fmt: skip
    before = client.http.get("/api/evaluations").json()
    found = client.http.post("/api/evaluations/check", json=body)
    assert found.status_code == 200, found.text
    levels = {each["what"]: each["level"] for each in found.json()["findings"]}
    assert levels["Judge"] == "problem"  # its answer is no verdict
    assert levels["Disk"] == "ok"
    estimate = found.json()["estimate"]
    assert (estimate["runs"], estimate["votes"], estimate["cost"]) == (6, 24, None)
    assert (found.json()["preset"], found.json()["departures"]) == ("paper", [
        "UGPhysics: 2 tasks instead of 650",
        "UGPhysics: 3 repetitions instead of 1",
        "Judge: j instead of Qwen3-235B-A22B-Instruct-2507",
    ])  # fmt: skip
    assert len(endpoint.requests) == 1
    assert endpoint.requests[0].body["temperature"] == 0.7
    assert client.http.get("/api/evaluations").json() == before


def test_settings_of_a_suite_reach_its_runs(client: EvaluationClient, endpoint: Endpoint) -> None:
    asked = {"name": "aime", "upload": "aime/test.jsonl", "limit": 1, "repeat": 2,
             "parameters": {"topP": 0.5, "seed": 7}}  # fmt: skip
    evaluation = client.create(suites=[asked], members=[MEMBERS[0]], preset="paper")
    described = client.wait(evaluation)
    assert described["counts"]["total"] == 2
    sent = [each.body for each in endpoint.requests]
    assert sorted(each["seed"] for each in sent) == [7, 8]
    assert {(each["top_p"], each["temperature"]) for each in sent} == {(0.5, 1.0)}
    departures = described["preset"]["departures"]
    assert "AIME 2025: 2 repetitions instead of 16" in departures
    assert "AIME 2025: top_p 0.5" in departures


def test_a_judge_that_cannot_be_read_stops_everything(
    client: EvaluationClient,
) -> None:
    body = {"suites": [{"name": "ugphysics"}], "members": [MEMBERS[0]], "repetitions": 4,
            "judge": {"model": "j"}, "atOnce": 1}  # fmt: skip
    evaluation = client.start(body)
    described = client.wait(evaluation, "interrupted")
    assert described["counts"]["unscored"] >= 2
    assert described["counts"]["waiting"] > 0
    assert "The judge cannot be read" in described["reason"]
    assert described["canResume"]


def test_answers_that_a_process_left_without_a_score_are_scored_on_resume(
    client: EvaluationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as ending:
        ending.setattr(BackgroundWork, "score", lambda *_: None)
        evaluation = client.create(members=[MEMBERS[0]], limit=2)
        assert outcomes(client.wait(evaluation)) == [["unscored"], ["unscored"]]
    client.post(evaluation, "resume").raise_for_status()
    assert outcomes(client.wait(evaluation)) == [["right"], ["wrong"]]


def test_models_are_tested_before_the_first_run(
    client: EvaluationClient, script: Script, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def answer(body: dict[str, Any]) -> Turn:
        is_test = "ready" in str(body.get("tools"))
        return Turn(text="I am ready.", gate=gate) if is_test else script.usual(body)

    script.answer = answer
    monkeypatch.setattr(endpoint, "passes_test", False)
    named = [{**each, "model": "other", "label": each["mode"]} for each in MEMBERS]
    evaluation = client.create(limit=1, members=named)
    wait_until(lambda: client.read(evaluation)["testing"] == ["plain", "sandbox"])
    assert client.read(evaluation)["counts"]["running"] == 0
    gate.set()
    described = client.wait(evaluation)
    assert outcomes(described) == [["right", "right"]]
    assert described["testing"] == []
    assert all(member["passport"] for member in described["members"])


def test_the_stream_sends_only_changed_cells(client: EvaluationClient, script: Script) -> None:
    gate = script.hold()
    evaluation = client.create(members=[MEMBERS[0]], limit=2)
    cursor = client.read(evaluation)["cursor"]
    with client.follow(evaluation, cursor=cursor) as stream:
        gate.set()
        seen, state = dict[tuple[int, int], str](), ""
        for message in stream:
            if message.name == "cells":
                seen |= {(task, member): cell["outcome"]
                         for task, member, cell in message.data["cells"]}  # fmt: skip
                assert message.data["counts"]["total"] == 2
            elif message.name == "evaluation":
                assert "cells" not in message.data
                state = message.data["state"]
            if state == "finished" and len(seen) == 2:
                break
    assert seen == {(0, 0): "right", (1, 0): "wrong"}
    with client.follow(evaluation, cursor="0-1") as stream:
        assert next(stream).name == "reload"


def test_two_raters_label_runs_and_every_page_is_told(client: EvaluationClient) -> None:
    evaluation = client.create(limit=1, members=[MEMBERS[0]])
    described = client.wait(evaluation)
    url, (run,) = f"/api/evaluations/{evaluation}", run_ids(described)
    with client.follow(evaluation, cursor=described["cursor"]) as stream:
        for rater, label in (("Ada", "guessed"), ("Bob", "computed")):
            body = {"rater": rater, "label": label, "note": "Short."}
            assert client.http.put(f"{url}/labels/{run}", json=body).status_code == 204
        cells = next(each.data for each in stream if each.name == "cells")
        assert cells["cells"][0][2]["runs"][0]["noted"] == "yes"
    said = client.http.get(f"{url}/labels", params={"runs": f"{run},other"}).json()
    assert said["rater"] == ""
    assert [(each["rater"], each["label"]) for each in said["labels"][run]] == [
        ("Ada", "guessed"), ("Bob", "computed"),
    ]  # fmt: skip
    assert client.read(evaluation)["agreement"]["kappa"] == 0.0
    third = client.http.put(f"{url}/labels/{run}", json={"rater": "Eve", "label": "x"})
    assert (third.status_code, "at most 2" in third.json()["error"]) == (400, True)
    assert client.http.put(f"{url}/labels/other-run", json={"rater": "Ada"}).status_code == 404


def test_exports_title_pin_and_deletion(client: EvaluationClient) -> None:
    evaluation = client.create(limit=1, members=[MEMBERS[0]])
    described = client.wait(evaluation)
    url = f"/api/evaluations/{evaluation}"
    for kind in ("json", "tex", "svg", "html"):
        assert client.http.get(f"{url}/export.{kind}").status_code == 200
    chosen = client.http.get(f"{url}/export.runs.csv", params={"filter": "outcome=right"})
    assert {row["outcome"] for row in csv.DictReader(io.StringIO(chosen.text))} == {"right"}
    assert client.http.get(f"{url}/export.csv?filter=outcome%3Dright").status_code == 400
    rows = list(csv.DictReader(io.StringIO(client.http.get(f"{url}/export.csv").text)))
    assert rows[0]["correct"] == "1"
    saved = client.http.patch(url, json={"title": "Sums", "pinned": True}).json()
    assert saved == {"title": "Sums", "pinned": True}
    assert client.http.delete(url).status_code == 409
    client.http.patch(url, json={"pinned": False}).raise_for_status()
    client.http.delete(url, params={"runs": 1}).raise_for_status()
    assert client.http.get(url).json() == {"error": NOT_FOUND}
    run = next(iter(run_ids(described)))
    assert client.http.get(f"/api/runs/{run}/links").status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"suites": [], "members": [{"mode": "plain"}]}, "needs one or more suites"),
        ({"suites": [{"name": "none"}], "members": [{"mode": "plain"}]}, "There is no suite"),
        ({"suites": [{"name": "aime"}], "members": []}, "members, not 0"),
        ({"suites": [{"name": "aa_lcr"}], "members": [{"mode": "plain"}]}, "scored by a judge"),
        (
            {"suites": [{"name": "aime", "upload": "../x"}], "members": [{}]},
            "contains an empty name",
        ),
        ({"suites": [{"name": "aime"}], "members": [{}], "more": 1}, "more"),
    ],
)
def test_a_request_that_cannot_be_carried_out_is_refused(
    client: EvaluationClient, body: dict[str, Any], words: str
) -> None:
    answer = client.http.post("/api/evaluations", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]

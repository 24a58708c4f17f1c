"""Comparisons over HTTP: started, carried out, stopped, continued and deleted."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from agent.experiments.folder import NOT_FOUND
from agent.runs.folder import RunFolder
from tests.sandbox_ui.conftest import Script
from tests.support.comparisons import (
    PLAIN,
    SANDBOX,
    SUBMIT,
    ComparisonClient,
    bash,
    run_ids,
    statuses,
)
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


def test_a_comparison_carries_out_its_members_as_ordinary_runs(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, SANDBOX, inputs=client.draft(words=b"abc"))
    assert [each["label"] for each in described["members"]] == ["Without sandbox", "With sandbox"]
    assert [each["model"] for each in described["members"]] == ["test-model"] * 2
    assert statuses(described) == [["answered"], ["submitted"]]
    assert [each["runs"][0]["answer"] for each in described["members"]] == ["It is 41.", "3"]
    assert described["varying"] == ["mode"]
    assert described["canEdit"]
    assert not described["canResume"]
    for run in run_ids(described):
        assert client.http.get(f"/api/runs/{run}/conversation.md").status_code == 200


def test_every_run_receives_the_same_inputs(
    client: ComparisonClient, data: Path, script: Script
) -> None:
    def overwrite(body: dict[str, Any]) -> Turn:
        done = any(message["role"] == "tool" for message in body["messages"])
        return SUBMIT if done else bash("cat input/a.txt > output/answer.txt; echo > input/a.txt")

    script.answer = overwrite
    draft = client.draft(a=b"first", b=b"second")
    described = client.run_to_end(SANDBOX, SANDBOX, inputs=draft, repetitions=2)
    assert [(each["path"], each["size"], each["sha256"]) for each in described["inputs"]] == [
        (f"{name}.txt", len(text), hashlib.sha256(text).hexdigest())
        for name, text in (("a", b"first"), ("b", b"second"))
    ]
    answers = [run["answer"] for member in described["members"] for run in member["runs"]]
    assert answers == ["first"] * 4
    wait_until(lambda: client.http.get(f"/api/runs/{draft}/links").status_code == 404)
    inputs = data / "comparisons" / described["id"] / "inputs"
    wait_until(lambda: not inputs.exists())


def test_members_take_turns_and_at_most_as_many_run_as_the_queue_allows(
    client: ComparisonClient, script: Script, endpoint: Endpoint
) -> None:
    gate = script.hold()
    comparison = client.create(PLAIN, PLAIN | {"temperature": 1}, repetitions=4)
    assert endpoint.wait_for_requests(4)
    described = client.read(comparison)
    assert [len(each["runs"]) for each in described["members"]] == [2, 2]
    assert described["note"] == "At most 4 of the 8 runs are in progress at the same time."
    assert len(endpoint.requests) == 4
    gate.set()
    assert statuses(client.wait(comparison)) == [["answered"] * 4] * 2


def test_one_member_or_all_are_stopped_and_continue_with_what_is_missing(
    client: ComparisonClient, script: Script, data: Path
) -> None:
    gate = script.hold()
    comparison = client.create(PLAIN, PLAIN, repetitions=3, inputs=client.draft(a=b"x"))
    url = f"/api/comparisons/{comparison}"
    wait_until(lambda: len(run_ids(client.read(comparison))) == 4)
    assert client.http.post(f"{url}/stop", json={"member": 0}).status_code == 204
    wait_until(lambda: statuses(client.read(comparison))[0] == ["stopped"] * 2)
    assert client.read(comparison)["state"] == "running"
    assert client.http.post(f"{url}/stop").status_code == 204
    stopped = client.wait(comparison, "stopped")
    assert {status for each in statuses(stopped) for status in each} == {"stopped"}
    assert stopped["canResume"]
    gate.set()
    keys = {"members": [{"index": 0, "apiKey": "k"}]}
    assert client.http.post(f"{url}/resume", json=keys).is_success
    described = client.wait(comparison)
    assert statuses(described) == [["answered"] * 3] * 2
    assert not set(run_ids(stopped)) & set(run_ids(described))
    again = client.http.post(f"{url}/resume")
    assert again.status_code == 404
    assert again.json()["error"] == "All runs of this comparison have been carried out."
    assert all((data / "runs" / run).is_dir() for run in run_ids(stopped))


def test_keys_are_not_stored(client: ComparisonClient, endpoint: Endpoint, data: Path) -> None:
    secret = "sk-very-secret"
    members = [member | {"apiKey": secret} for member in (PLAIN, SANDBOX)]
    comparison = client.run_to_end(*members, title="With a key")["id"]
    assert {each.headers["authorization"] for each in endpoint.requests} == {f"Bearer {secret}"}
    for path in data.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    assert client.read(comparison)["title"] == "With a key"


def test_the_studio_says_what_is_wrong_with_a_request(client: ComparisonClient) -> None:
    def refusal(**body: Any) -> tuple[int, str]:
        answer = client.http.post("/api/comparisons", json={"task": "t", "members": []} | body)
        return answer.status_code, answer.json()["error"]

    assert refusal() == (400, "A comparison has 2 to 12 members, not 0.")
    assert refusal(members=[PLAIN] * 13) == (400, "A comparison has 2 to 12 members, not 13.")
    same = [{**PLAIN, "label": "A"}] * 2
    assert refusal(members=same) == (400, "2 members have the label “A”. Give each its own.")
    assert refusal(members=[PLAIN, PLAIN], repetitions=65) == (
        400,
        "A comparison has 1 to 64 repetitions, not 65.",
    )
    status, error = refusal(members=[PLAIN, PLAIN | {"maxSteps": "three"}])
    assert status == 400
    assert error.startswith("members[1]: maxSteps must be a whole number")
    assert refusal(members=[PLAIN, PLAIN], inputs="nothing-like-it")[0] == 404
    assert refusal(members=[PLAIN, PLAIN | {"prompt": "../x"}])[0] in (400, 404)


def test_a_comparison_takes_no_further_members(client: ComparisonClient) -> None:
    comparison = client.run_to_end(PLAIN, SANDBOX)["id"]
    for path in ("extend", "extend/check"):
        url = f"/api/evaluations/{comparison}/{path}"
        answer = client.http.post(url, json={"members": [PLAIN]})
        assert (answer.status_code, answer.json()["error"]) == (
            400,
            "Only an evaluation takes further members and tasks.",
        )


def test_files_outside_input_are_refused(client: ComparisonClient) -> None:
    draft = client.draft(a=b"x")
    client.http.put(f"/api/runs/{draft}/files/notes.txt", content=b"y").raise_for_status()
    body = {"task": "t", "members": [PLAIN, SANDBOX], "inputs": draft}
    answer = client.http.post("/api/comparisons", json=body)
    assert answer.status_code == 400
    assert "Move “notes.txt” there" in answer.json()["error"]
    assert client.http.get(f"/api/runs/{draft}/links").is_success


def test_a_deleted_run_is_named_and_the_others_remain(client: ComparisonClient) -> None:
    described = client.run_to_end(PLAIN, SANDBOX, repetitions=2)
    gone, *others = run_ids(described)
    client.http.delete(f"/api/runs/{gone}").raise_for_status()
    described = client.read(described["id"])
    assert described["state"] == "finished"
    first = described["members"][0]["runs"][0]
    assert (first["state"], first["deleted"], first["answer"]) == ("deleted", True, "")
    assert [each for each in run_ids(described) if each != gone] == others


def test_deleting_an_ended_comparison_keeps_its_runs(
    client: ComparisonClient, script: Script, data: Path
) -> None:
    gate = script.hold()
    comparison = client.create(PLAIN, SANDBOX)
    url = f"/api/comparisons/{comparison}"
    assert client.http.delete(url).status_code == 409
    gate.set()
    described = client.wait(comparison)
    assert client.http.delete(url).json() == {"freed": 0}
    gone = client.http.get(url)
    assert (gone.status_code, gone.json()["error"]) == (404, NOT_FOUND)
    for run in run_ids(described):
        assert RunFolder.open(data, run).comparison == ""


def test_a_pinned_comparison_protects_its_runs_with_which_it_is_deleted(
    client: ComparisonClient, data: Path
) -> None:
    described = client.run_to_end(PLAIN, SANDBOX)
    url, runs = f"/api/comparisons/{described['id']}", run_ids(described)
    assert client.http.patch(url, json={"pinned": True}).json() == {"pinned": True}
    assert client.http.delete(url).status_code == 409
    assert client.http.delete(f"/api/runs/{runs[0]}").status_code == 409
    client.http.patch(url, json={"pinned": False, "title": "Done"}).raise_for_status()
    assert client.read(described["id"])["title"] == "Done"
    assert client.http.delete(f"{url}?runs=1").json()["freed"] > 0
    assert not any((data / "runs" / run).exists() for run in runs)


# From runs that exist


def test_runs_of_the_same_task_are_compared(client: ComparisonClient) -> None:
    runs = run_ids(client.run_to_end(PLAIN, SANDBOX, inputs=client.draft(a=b"x")))
    answer = client.http.post("/api/comparisons/from-runs", json={"runs": runs[::-1]})
    assert answer.status_code == 201
    described = client.read(answer.json()["id"])
    assert run_ids(described) == runs[::-1]
    assert described["state"] == "finished"
    assert [each["label"] for each in described["members"]] == [
        "test-model, with sandbox",
        "test-model, without sandbox",
    ]
    assert [each["path"] for each in described["inputs"]] == ["a.txt"]


def test_runs_that_differ_are_refused_with_what_differs(client: ComparisonClient) -> None:
    one = run_ids(client.run_to_end(PLAIN, PLAIN, inputs=client.draft(a=b"x")))[0]
    two = run_ids(client.run_to_end(PLAIN, PLAIN, task="Else?", inputs=client.draft(a=b"y")))[0]
    answer = client.http.post("/api/comparisons/from-runs", json={"runs": [one, two]})
    assert answer.status_code == 409
    assert answer.json()["differences"] == [
        "Run 2 has another task: “Else?” instead of “What is it?”.",
        "The input “a.txt” of run 2 has other content.",
    ]
    for runs in ([], ["x"], "x", [1, 2], ["a", "a"], None):
        answer = client.http.post("/api/comparisons/from-runs", json={"runs": runs})
        assert answer.status_code in (400, 404), runs


def test_input_files_of_runs_started_alone_are_compared_by_content(
    client: ComparisonClient, studio_url: str
) -> None:
    from gradio_client import Client

    gradio = Client(studio_url, verbose=False)
    runs = []
    for mode, content in (("sandbox", b"x"), ("plain", b"x"), ("sandbox", b"z")):
        run = gradio.predict("Count.", client.draft(a=content), "general", mode, api_name="/start")
        list(gradio.submit(run, api_name="/follow"))
        runs.append(run)
    compare = "/api/comparisons/from-runs"
    assert client.http.post(compare, json={"runs": runs[:2]}).status_code == 201
    answer = client.http.post(compare, json={"runs": runs[1:]})
    assert answer.json()["differences"] == ["The input “a.txt” of run 2 has other content."]

"""Steering over HTTP: pause, messages while a run works, approval of calls, and who may do it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import httpx
from tests.support.page_states import SUBMIT, ScriptedStudio, bash, serve_scripted
from tests.support.server import follow_run, wait_until

pytestmark = pytest.mark.contract


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ScriptedStudio]:
    with serve_scripted(tmp_path) as stage:
        yield stage


@pytest.fixture
def client(stage: ScriptedStudio) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stage.studio_url) as client:
        yield client


def start(client: httpx.Client, approve: str = "", draft: str = "") -> str:
    data = ["Do it.", draft, "general", "sandbox", "open", approve]
    answer = client.post("/gradio_api/run/start", json={"data": data})
    answer.raise_for_status()
    run: str = answer.json()["data"][0]
    return f"/api/runs/{run}"


def steering(client: httpx.Client, run: str) -> dict[str, Any]:
    state: dict[str, Any] = client.get(f"{run}/steering").raise_for_status().json()
    return state


def kinds(client: httpx.Client, run: str) -> list[str]:
    """The kinds of the events of a run's steps so far."""
    found: list[str] = []
    for step in range(1, 9):
        answer = client.get(f"{run}/steps/{step}")
        found += [event["kind"] for event in answer.json()] if answer.is_success else []
    return found


def waiting_call(client: httpx.Client, run: str) -> dict[str, Any]:
    wait_until(lambda: steering(client, run)["waiting"] is not None)
    call: dict[str, Any] = steering(client, run)["waiting"]
    return call


def review(client: httpx.Client, run: str, call: dict[str, Any], **decision: Any) -> httpx.Response:
    return client.post(f"{run}/approval", json={"call": call["call_id"], **decision})


def wait_until_submitted(client: httpx.Client) -> None:
    wait_until(lambda: "submitted" in client.get("/api/runs").json()["runs"][0]["state"])


def start_and_hold_a_command(client: httpx.Client, stage: ScriptedStudio, gate: Path) -> str:
    """Start a run whose first command waits for a file."""
    stage.set_turns(bash(f"until [ -e {gate} ]; do sleep 0.02; done"), bash("echo b"), SUBMIT)
    run = start(client)
    wait_until(lambda: "tool_started" in kinds(client, run))
    return run


def test_a_run_is_paused_gets_a_message_takes_a_step_and_goes_on(
    client: httpx.Client, stage: ScriptedStudio, tmp_path: Path
) -> None:
    run = start_and_hold_a_command(client, stage, tmp_path / "gate")
    assert client.post(f"{run}/pause").json()["paused"] is True
    assert client.post(f"{run}/steps/1/notes", json={"text": "It waits."}).is_success
    assert "step_noted" in kinds(client, run)
    (tmp_path / "gate").touch()
    wait_until(lambda: "paused" in kinds(client, run))
    message = client.post(f"{run}/messages", json={"text": "In French."})
    assert message.status_code == 201
    taken_back = client.post(f"{run}/messages", json={"text": "Oops"}).json()["id"]
    assert len(steering(client, run)["messages"]) == 2
    assert client.delete(f"{run}/messages/{taken_back}").is_success
    assert client.delete(f"{run}/messages/{taken_back}").status_code == 409
    client.post(f"{run}/step").raise_for_status()
    wait_until(lambda: kinds(client, run).count("paused") == 2)
    assert kinds(client, run).count("message_delivered") == 1
    assert steering(client, run)["messages"] == []
    client.post(f"{run}/resume").raise_for_status()
    wait_until_submitted(client)
    refused = client.post(f"{run}/pause")
    assert refused.status_code == 409
    assert "not working" in refused.json()["error"]


def test_calls_wait_for_a_decision(client: httpx.Client, stage: ScriptedStudio) -> None:
    stage.set_turns(bash("echo a"), bash("echo b > output/b"), bash("echo c"), SUBMIT)
    run = start(client, "every")
    first = waiting_call(client, run)
    assert (first["step"], first["arguments"], first["reasons"]) == (
        1, {"command": "echo a"}, ["every"],
    )  # fmt: skip
    assert review(client, run, {"call_id": "another"}, decision="allow").status_code == 409
    assert client.post(f"{run}/approval", json={"decision": "allow"}).status_code == 400
    for wrong in ({}, {"decision": "hm"}):
        assert review(client, run, first, **wrong).status_code == 400
    review(client, run, first, decision="deny", reason="No.").raise_for_status()
    second = waiting_call(client, run)

    def edit(**arguments: Any) -> httpx.Response:
        return review(client, run, second, decision="edit", arguments=arguments)

    assert edit(command="").status_code == 400
    unknown = edit(comand="echo edited > output/b", security_risk="low", timeout="9")
    assert unknown.status_code == 400
    assert "comand, security_risk, timeout" in unknown.json()["error"]
    edit(command="echo edited > output/b", timeout=9).raise_for_status()
    third = waiting_call(client, run)
    assert client.put(f"{run}/approval", json={"rules": []}).json()["approval"] == []
    assert waiting_call(client, run) == third
    review(client, run, third, decision="allow").raise_for_status()
    wait_until_submitted(client)
    assert client.get(f"{run}/files/output/b").text == "edited\n"
    assert kinds(client, run).count("call_reviewed") == 3


def test_rules_of_a_draft_hold_when_it_starts(client: httpx.Client, stage: ScriptedStudio) -> None:
    stage.set_turns(bash("echo a > output/a"), SUBMIT)
    draft = client.post("/api/runs").json()["run"]
    url = f"/api/runs/{draft}/approval"
    assert client.put(url, json={"rules": ["every"]}).json()["approval"] == ["every"]
    for rules in (["nonsense"], "every", [1], None):
        assert client.put(url, json={"rules": rules}).status_code == 400
    run = start(client, "long", draft)
    assert steering(client, run)["approval"] == ["every", "long"]
    assert waiting_call(client, run)["reasons"] == ["every"]


def test_what_the_model_sees_of_a_result_is_edited(
    client: httpx.Client, stage: ScriptedStudio
) -> None:
    stage.set_turns(bash("echo a"), bash("echo b"), SUBMIT)
    run = start(client, "every")
    call = waiting_call(client, run)
    first = call["call_id"]
    edit = {"call": first, "text": "edited"}
    at = f"{run}/observation"
    assert client.post(at, json=edit).status_code == 409  # it was not executed yet
    client.post(f"{run}/pause").raise_for_status()
    review(client, run, call, decision="allow").raise_for_status()
    wait_until(lambda: steering(client, run)["editable"] == [first])
    for body in ({}, {"call": first}, {"call": first, "text": 1}, {"call": first, "text": ""}):
        assert client.post(at, json=body).status_code == 400
    assert client.post(at, json={**edit, "text": "x" * 100_001}).status_code == 400
    assert client.post(at, json={**edit, "call": "another"}).status_code == 409
    assert client.post(at, json=edit).json()["editable"] == [first]
    wait_until(lambda: "observation_edited" in kinds(client, run))
    client.post(f"{run}/step").raise_for_status()
    second = waiting_call(client, run)
    refused = client.post(at, json=edit)
    assert refused.status_code == 409
    assert "until they are sent to the model" in refused.json()["error"]
    client.put(f"{run}/approval", json={"rules": []}).raise_for_status()
    review(client, run, second, decision="allow").raise_for_status()
    client.post(f"{run}/resume").raise_for_status()
    wait_until_submitted(client)
    assert client.post(at, json=edit).status_code == 409
    assert kinds(client, run).count("observation_edited") == 1
    request = client.get(f"{run}/steps/2/request").raise_for_status().json()
    assert request["fidelity"] == "exact"
    assert "edited\\nSteps Remaining" in str(request)


def test_the_stream_says_what_waits(client: httpx.Client, stage: ScriptedStudio) -> None:
    stage.set_turns(bash("echo a"), SUBMIT)
    run = start(client, "risky every")
    call = waiting_call(client, run)
    with follow_run(client, run.rpartition("/")[2]) as stream:
        shown = next(each.data for each in stream if each.name == "steering")
        assert shown["waiting"] == call
        assert shown["approval"] == ["every", "network", "delete", "install", "long"]
        client.post(f"{run}/messages", json={"text": "Hm?"}).raise_for_status()
        changed = next(each.data for each in stream if each.name == "steering")
        assert [message["text"] for message in changed["messages"]] == ["Hm?"]
        assert client.post("/gradio_api/run/stop", json={"data": [run.rpartition("/")[2]]})
        ended = next(each.data for each in stream if each.name == "steering")
        assert ended["waiting"] is None


def test_a_program_sends_a_message_to_a_run_that_works(
    client: httpx.Client, stage: ScriptedStudio, tmp_path: Path
) -> None:
    run = start_and_hold_a_command(client, stage, tmp_path / "gate")
    body = {"data": [run.rpartition("/")[2], "Shorter, please."]}
    client.post("/gradio_api/run/message", json=body).raise_for_status()
    assert [each["text"] for each in steering(client, run)["messages"]] == ["Shorter, please."]
    (tmp_path / "gate").touch()
    wait_until(lambda: "message_delivered" in kinds(client, run))
    wait_until_submitted(client)

"""The Gradio API, called with the Gradio client."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from agent.errors import UsageError
from agent.models import demonstration
from sandbox_ui.page.handlers import _changed
from tests.sandbox_ui.conftest import Script
from tests.support import httpx
from tests.support.models.turns import SUBMIT, bash

pytestmark = pytest.mark.contract


def follow(client: Client, run: str) -> list[dict[str, Any]]:
    return list(client.submit(run, api_name="/follow"))


def test_a_client_starts_and_follows_a_run_and_downloads_files_by_no_host_path(
    client: Client, script: Script, studio_url: str, data: Path
) -> None:
    script.play(bash("echo 42 > output/answer.txt; echo x > 'output/a b?.txt'"), SUBMIT)
    run = client.predict("What is it?", api_name="/start")
    states = follow(client, run)
    last = states[-1]
    assert (last["state"], last["answer"], last["steps"]) == ("submitted", "42", 2)
    assert last["totals"]["prompt_tokens"] == 200
    files = client.predict(run, api_name="/files")
    assert [file["name"] for file in files] == ["a b?.txt", "answer.txt"]
    assert httpx.get(studio_url + files[0]["address"]).text == "x\n"
    revealed = str(states) + str(files)
    assert "sandboxes" not in revealed
    assert str(data.parent) not in revealed


def test_a_client_asks_for_summaries_of_older_steps(
    client: Client, script: Script, studio_url: str
) -> None:
    script.play(SUBMIT, SUBMIT)
    run = client.predict("Go.", summarise=True, api_name="/start")
    follow(client, run)
    client.predict(run, "Again.", api_name="/message")
    follow(client, run)
    rounds = httpx.get(f"{studio_url}/api/runs/{run}/requests").json()["rounds"]
    assert ["summarise" in each["limits"] for each in rounds] == [True, False]


def test_the_task_of_an_example_includes_its_files(client: Client, script: Script) -> None:
    script.play(SUBMIT)
    run = client.predict(demonstration.load("survey").task, api_name="/start")
    assert follow(client, run)[-1]["state"] == "submitted"
    inputs = client.predict(run, "input", api_name="/files")
    assert [file["name"] for file in inputs] == ["lake-survey.csv"]


def test_files_uploaded_to_a_draft_are_inputs(
    client: Client, script: Script, studio_url: str
) -> None:
    run = httpx.post(f"{studio_url}/api/runs").json()["run"]
    url = f"{studio_url}/api/runs/{run}/files/input/n.txt"
    httpx.put(url, content=b"1\n2\n").raise_for_status()
    script.play(bash("wc -l < input/n.txt > output/answer.txt"), SUBMIT)
    assert client.predict("Count.", run, api_name="/start") == run
    assert follow(client, run)[-1]["answer"] == "2"


def test_a_run_is_started_and_stopped_over_http(
    client: Client, script: Script, studio_url: str
) -> None:
    gate = threading.Event()
    script.play(replace(bash("cat input/n.txt"), gate=gate), SUBMIT)
    with httpx.Client(base_url=f"{studio_url}/api/") as http:
        draft = http.post("runs").json()["run"]
        http.put(f"runs/{draft}/files/input/n.txt", content=b"1").raise_for_status()
        refused = http.post("runs", json={"task": "Go.", "maxSteps": 0})
        assert refused.status_code == 400
        assert refused.json()["error"].startswith("maxSteps must be a whole number")
        asked = {"task": "Go.", "inputs": draft, "maxSteps": 3, "network": "none"}
        started = http.post("runs", json=asked)
        assert (started.status_code, started.json()) == (201, {"run": draft})
        assert http.post(f"runs/{draft}/stop").json() == {"run": draft}
    gate.set()
    assert follow(client, draft)[-1]["state"] == "stopped"


def test_a_follower_sees_intermediate_states_of_a_run_that_is_stopped(
    client: Client, script: Script
) -> None:
    gate = threading.Event()
    script.play(replace(bash("sleep 600"), gate=gate))
    run = client.predict("Go.", api_name="/start")
    states = []
    for state in client.submit(run, api_name="/follow"):
        states.append(state["state"])
        if state["state"] == "waiting_model":
            gate.set()
        elif state["state"] == "running_tool":
            client.predict(run, api_name="/stop")
    assert states[-1] == "stopped"
    assert "running_tool" in states


def test_a_failure_is_reported_with_its_message(client: Client, studio_url: str) -> None:
    with pytest.raises(AppError, match="There is no such run"):
        client.predict("nothing-like-it", api_name="/files")
    with pytest.raises(AppError, match="mode must be sandbox or plain, not"):
        client.predict("Go.", mode="fast", api_name="/start")
    with pytest.raises(AppError, match="network must be open, none, packages or up to 200 host"):
        client.predict("Go.", network="no/host", api_name="/start")
    reply = httpx.post(f"{studio_url}/gradio_api/call/message", json={"data": []})
    assert reply.status_code == 400
    assert reply.json()["error"] == "A value is missing for: run, text."


def test_the_functions_are_documented(client: Client) -> None:
    endpoints = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    runs = {"/start", "/message", "/stop", "/follow", "/files"}
    assert runs | {"/compare", "/follow_comparison", "/stop_comparison"} <= set(endpoints)
    assert [name for name, about in endpoints.items() if not about["description"]] == []


@pytest.mark.parametrize("route", ["run", "call"])
def test_clients_with_fewer_parameters_still_work(
    client: Client, script: Script, studio_url: str, route: str
) -> None:
    script.play(SUBMIT)
    with httpx.Client(base_url=studio_url) as http:
        draft = http.post("/api/runs").json()["run"]
        call = {"data": ["What is it?", draft, "general", "sandbox"]}
        reply = http.post(f"/gradio_api/{route}/start", json=call).json()
        if route == "call":
            assert "complete" in http.get(f"/gradio_api/call/start/{reply['event_id']}").text
    assert follow(client, draft)[-1]["state"] == "submitted"


ENTERED = {"base_url": "http://one.example/v1", "api_key": "sk-one", "extra_body": '{"a": 1}'}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"model": "other"}, "sk-one"),
        ({"base_url": "http://one.example/v1/"}, "sk-one"),
        ({"base_url": "http://two.example/v1"}, ""),
        ({"base_url": "http://two.example/v1", "api_key": "sk-two"}, "sk-two"),
    ],
)
def test_the_key_of_the_settings_goes_to_no_other_endpoint_of_a_message(
    changes: dict[str, str], key: str
) -> None:
    changed = _changed(ENTERED, changes)
    assert (changed["api_key"], changed["extra_body"]) == (
        key,
        '{"a": 1}' if key == "sk-one" else "",
    )
    with pytest.raises(UsageError, match="A key without its endpoint"):
        _changed(ENTERED, {"api_key": "sk-two"})

"""Questions about runs over HTTP: estimated, asked in the background, stopped, resumed, read."""

import json
import threading
from typing import Any

import pytest

from tests.sandbox_ui.conftest import Script
from tests.support.evaluations.client import EvaluationClient, respond
from tests.support.models.endpoint import Endpoint, Turn
from tests.support.server import wait_until

pytestmark = pytest.mark.nightly

TEXT = "Does it state a result?"
SAID = {"answer": "yes", "step": 1, "quote": "boxed", "reason": "It does."}


def is_question(body: dict[str, Any]) -> bool:
    return TEXT in json.dumps(body["messages"])


def answer(body: dict[str, Any]) -> Turn:
    return Turn(text=json.dumps(SAID), usage=(400, 20)) if is_question(body) else respond(body)


def asked(client: EvaluationClient, evaluation: str) -> dict[str, Any]:
    """Return the question of an evaluation as it is now."""
    described = client.read(evaluation)
    found: dict[str, Any] = described["questions"][0]
    scanning: dict[str, Any] = described["scanning"].get(found["id"], {})
    return found | scanning


def test_a_question_is_estimated_stopped_resumed_and_its_answers_are_read(
    client: EvaluationClient, script: Script, endpoint: Endpoint
) -> None:
    evaluation = client.create()
    described = client.wait(evaluation)
    gate, held = threading.Event(), threading.Event()

    def hold(body: dict[str, Any]) -> Turn:
        if is_question(body) and not held.is_set():
            held.set()
            return Turn(text=json.dumps(SAID), gate=gate)
        return answer(body)

    script.answer = hold
    question = {"text": TEXT, "filter": "member=plain&member=Plain&outcome=wrong"}
    found = client.post(evaluation, "questions/estimate", text=TEXT, filter="outcome=wrong").json()
    assert (found["runs"], found["cost"]) == (3, None)
    assert found["promptTokens"] > 300
    assert client.post(evaluation, "questions", **question).status_code == 400  # no such member
    body = {"text": TEXT, "filter": "outcome=wrong"}
    id = client.post(evaluation, "questions", **body).raise_for_status().json()["id"]
    assert client.post(evaluation, "questions", **body).status_code == 404  # it is being asked
    wait_until(held.is_set)
    client.post(evaluation, f"questions/{id}/stop").raise_for_status()
    wait_until(lambda: not asked(client, evaluation)["running"])
    gate.set()
    before = asked(client, evaluation)["answered"]
    script.answer = answer
    count = sum(is_question(each.body) for each in endpoint.requests)
    client.post(evaluation, f"questions/{id}/resume").raise_for_status()
    wait_until(lambda: asked(client, evaluation)["answered"] == 3)
    again = sum(is_question(each.body) for each in endpoint.requests)
    assert again - count == 3 - before
    shown = client.read(evaluation)
    run = shown["cells"][1][0]["runs"][0]
    assert run[f"scan:{id}"] == "yes"
    read = client.http.get(f"/api/evaluations/{evaluation}/answers", params={"runs": run["run"]})
    (said,) = read.json()["answers"][run["run"]]
    assert (said["step"], said["quote"], said["citation"]) == (1, "boxed", "verified")
    rows = client.http.get(f"/api/evaluations/{evaluation}/export.answers.csv").text
    assert len(rows.splitlines()) == 1 + 3
    assert client.post(evaluation, "questions/unknown/stop").status_code == 404
    assert described["questions"] == []

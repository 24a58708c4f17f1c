"""What of evaluations users and guests see, and what only the operator starts.

Each of their routes with each role is in ``tests/sandbox_ui/auth/test_access.py``.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_ui.accounts import accounts
from tests.support import httpx
from tests.support.evaluations.client import EvaluationClient, run_ids

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def scripted_settings() -> dict[str, Any]:
    return {"users": accounts("ann", "bob"), "quota_per_user": 10**6}


def test_an_evaluation_is_its_owner_s_and_a_link_shows_it_with_its_runs(
    studio_url: str, ann: httpx.Client, bob: httpx.Client
) -> None:
    client = EvaluationClient(ann)
    evaluation = client.create(limit=1)
    url, described = f"/api/evaluations/{evaluation}", client.wait(evaluation)
    run = next(iter(run_ids(described)))
    ann.put(f"{url}/labels/{run}", json={"label": "good", "rater": "bob"}).raise_for_status()
    assert client.read(evaluation)["raters"] == ["ann"]
    assert bob.get("/api/evaluations").json() == {"evaluations": []}
    assert bob.get("/api/runs").json()["evaluations"] == []
    with httpx.Client(base_url=studio_url) as guest:
        guest.get(f"/{ann.post(f'{url}/links').json()['path']}")
        shown = guest.get(url).json()
        assert (shown["canEdit"], shown["canResume"]) == (False, False)
        for run in run_ids(described):
            assert guest.get(f"/api/runs/{run}/conversation.md").status_code == 200


def test_only_the_operator_names_data_on_the_server(ann: httpx.Client) -> None:
    assert not ann.get("/api/suites").json()["paths"]
    body = {"suites": [{"name": "aime", "path": "/etc"}], "members": [{"mode": "plain"}]}
    answer = ann.post("/api/evaluations", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("Only the operator may name data on the server.")


def test_with_a_used_up_quota_an_evaluation_continues_once_files_are_deleted(
    bob: httpx.Client, data: Path
) -> None:
    client = EvaluationClient(bob)
    evaluation = client.create()
    client.post(evaluation, "stop").raise_for_status()
    done = client.wait(evaluation, "stopped")["counts"]["done"]
    inputs = data / "evaluations" / evaluation / "inputs"
    inputs.mkdir(exist_ok=True)
    (inputs / "large").write_bytes(bytes(10**6))
    answer = client.post(evaluation, "resume")
    assert answer.status_code == 429
    assert "quota" in answer.json()["error"]
    assert client.read(evaluation)["counts"]["done"] == done
    (inputs / "large").unlink()
    client.post(evaluation, "resume").raise_for_status()
    assert client.wait(evaluation)["counts"]["done"] == 8

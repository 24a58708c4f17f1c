"""What of evaluations users and guests see, and what only the operator starts.

Each of their routes with each role is in ``tests/sandbox_ui/auth/test_access.py``.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.evaluations.client import EvaluationClient, respond, run_ids
from tests.support.models.endpoint import Endpoint
from tests.support.server import serve_studio

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    """A studio with accounts."""
    users = accounts("ann", "bob")
    with (
        Endpoint(respond) as endpoint,
        serve_studio(
            data, users=users, base_url=endpoint.url, model="m", quota_per_user=10**6
        ) as studio_url,
    ):
        yield studio_url


def test_an_evaluation_is_its_owner_s_and_a_link_shows_it_with_its_runs(studio_url: str) -> None:
    with signed_in(studio_url, "ann") as http, signed_in(studio_url, "bob") as bob:
        ann = EvaluationClient(http)
        evaluation = ann.create(limit=1)
        url, described = f"/api/evaluations/{evaluation}", ann.wait(evaluation)
        assert bob.get("/api/evaluations").json() == {"evaluations": []}
        assert bob.get("/api/runs").json()["evaluations"] == []
        with httpx.Client(base_url=studio_url) as guest:
            guest.get(f"/{http.post(f'{url}/links').json()['path']}")
            shown = guest.get(url).json()
            assert (shown["canEdit"], shown["canResume"]) == (False, False)
            for run in run_ids(described):
                assert guest.get(f"/api/runs/{run}/conversation.md").status_code == 200


def test_only_the_operator_names_data_on_the_server(studio_url: str) -> None:
    with signed_in(studio_url, "ann") as http:
        assert not http.get("/api/suites").json()["paths"]
        body = {"suites": [{"name": "aime", "path": "/etc"}], "members": [{"mode": "plain"}]}
        answer = http.post("/api/evaluations", json=body)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("Only the operator may name data on the server.")


def test_with_a_used_up_quota_an_evaluation_continues_once_files_are_deleted(
    studio_url: str, data: Path
) -> None:
    with signed_in(studio_url, "bob") as http:
        bob = EvaluationClient(http)
        evaluation = bob.create()
        bob.post(evaluation, "stop").raise_for_status()
        done = bob.wait(evaluation, "stopped")["counts"]["done"]
        inputs = data / "evaluations" / evaluation / "inputs"
        inputs.mkdir(exist_ok=True)
        (inputs / "large").write_bytes(bytes(10**6))
        answer = bob.post(evaluation, "resume")
        assert answer.status_code == 429
        assert "quota" in answer.json()["error"]
        assert bob.read(evaluation)["counts"]["done"] == done
        (inputs / "large").unlink()
        bob.post(evaluation, "resume").raise_for_status()
        assert bob.wait(evaluation)["counts"]["done"] == 8

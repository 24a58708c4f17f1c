"""Who may see, change and start evaluations."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent.settings import load
from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx
from tests.support.evaluations.client import EvaluationClient, respond, run_ids
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, run_server

pytestmark = pytest.mark.nightly

NAMES = {"ann": "correct horse", "bob": "battery staple"}
USERS = tuple((name, hash_password(word, log_n=10)) for name, word in NAMES.items())


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    """A studio with accounts."""
    with Endpoint(respond) as endpoint:
        settings = replace(
            load({}), data=data, base_url=endpoint.url, model="m", users=USERS, quota_per_user=10**6
        )
        with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
            yield studio_url


@contextmanager
def signed_in(studio_url: str, name: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=studio_url, timeout=60) as http:
        http.post("/login", data={"name": name, "password": NAMES[name]})
        yield http


def test_an_evaluation_is_its_owner_s_and_a_link_shows_it_read_only(studio_url: str) -> None:
    with signed_in(studio_url, "ann") as http, signed_in(studio_url, "bob") as bob:
        ann = EvaluationClient(http)
        evaluation = ann.create(limit=1)
        url, described = f"/api/evaluations/{evaluation}", ann.wait(evaluation)
        assert bob.get(url).status_code == 404
        assert bob.post(f"{url}/stop").status_code == 404
        assert bob.get("/api/evaluations").json() == {"evaluations": []}
        assert bob.get("/api/runs").json()["evaluations"] == []
        with httpx.Client(base_url=studio_url) as guest:
            assert guest.get(url).status_code in (401, 404)
            path = http.post(f"{url}/links").json()["path"]
            opened = guest.get(f"/{path}")
            assert opened.headers["location"] == f"../?evaluation={evaluation}"
            shown = guest.get(url).json()
            assert (shown["canEdit"], shown["canResume"]) == (False, False)
            for run in run_ids(described):
                assert guest.get(f"/api/runs/{run}/conversation.md").status_code == 200
            for action in ("stop", "resume", "retry-infrastructure"):
                assert guest.post(f"{url}/{action}").status_code == 403
            assert guest.delete(url).status_code == 403
            http.delete(f"{url}/links").raise_for_status()
            assert guest.get(url).status_code in (401, 404)


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

"""Who may see and change a comparison: its owner, and the holders of its links."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.settings import load
from sandbox_ui.auth.passwords import hash_password
from tests.support import httpx
from tests.support.comparisons import (
    PLAIN,
    SANDBOX,
    ComparisonClient,
    answer_by_mode,
    run_ids,
)
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.endpoint import Endpoint
from tests.support.server import create_app, run_server, wait_until

pytestmark = pytest.mark.contract

NAMES = {"ann": "correct horse", "bob": "battery staple"}
USERS = tuple((name, hash_password(word, log_n=10)) for name, word in NAMES.items())


@pytest.fixture(scope="module")
def studio_url(data: Path) -> Iterator[str]:
    """A studio with accounts."""
    with Endpoint(answer_by_mode) as endpoint:
        settings = replace(
            load({}), data=data, base_url=endpoint.url, model="m", users=USERS, quota_per_user=10**6
        )
        with run_server(create_app(settings, LocalSandboxProvider(data))) as studio_url:
            yield studio_url


def signed_in(studio_url: str, name: str) -> Iterator[ComparisonClient]:
    with httpx.Client(base_url=studio_url) as http:
        http.post("/login", data={"name": name, "password": NAMES[name]})
        yield ComparisonClient(http)


@pytest.fixture
def ann(studio_url: str) -> Iterator[ComparisonClient]:
    yield from signed_in(studio_url, "ann")


@pytest.fixture
def bob(studio_url: str) -> Iterator[ComparisonClient]:
    yield from signed_in(studio_url, "bob")


@pytest.fixture
def guest(studio_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=studio_url) as http:
        yield http


def routes(comparison: str) -> list[tuple[str, str]]:
    base = f"/api/comparisons/{comparison}"
    changes = [("POST", f"{base}/{name}") for name in ("stop", "resume", "links")]
    return [
        ("PATCH", base), ("DELETE", base), ("DELETE", f"{base}/links"), ("GET", f"{base}/links"),
        *changes,
    ]  # fmt: skip


def test_others_neither_see_nor_change_a_comparison(
    ann: ComparisonClient, bob: ComparisonClient, guest: httpx.Client
) -> None:
    described = ann.run_to_end(PLAIN, SANDBOX)
    comparison = described["id"]
    views = [("GET", f"/api/comparisons/{comparison}{end}") for end in ("", "/events")]
    for method, path in [*views, *routes(comparison)]:
        assert bob.http.request(method, path).status_code == 404, (method, path)
        assert guest.request(method, path).status_code == 401, (method, path)
    runs = {"runs": run_ids(described)}
    assert bob.http.post("/api/comparisons/from-runs", json=runs).status_code == 404
    draft = ann.draft(a=b"x")
    body = {"task": "t", "members": [PLAIN, PLAIN], "inputs": draft}
    assert bob.http.post("/api/comparisons", json=body).status_code == 404
    assert guest.post("/api/comparisons", json=body).status_code == 401


def test_a_link_shows_a_comparison_and_its_runs_read_only(
    ann: ComparisonClient, bob: ComparisonClient, guest: httpx.Client
) -> None:
    described = ann.run_to_end(
        PLAIN, SANDBOX, expected={"kind": "exact", "answer": "41"}, inputs=ann.draft(a=b"xy")
    )
    comparison, runs = described["id"], run_ids(described)
    other = run_ids(ann.run_to_end(PLAIN, PLAIN))[0]
    path = ann.http.post(f"/api/comparisons/{comparison}/links").json()["path"]
    opened = guest.get(f"/{path}")
    assert opened.headers["location"] == f"../?compare={comparison}"
    seen = guest.get(f"/api/comparisons/{comparison}").json()
    assert (seen["canEdit"], run_ids(seen)) == (False, runs)
    for run in runs:
        assert guest.get(f"/api/runs/{run}/conversation.md").status_code == 200
        assert guest.delete(f"/api/runs/{run}").status_code == 403
        assert guest.put(f"/api/runs/{run}/files/input/z", content=b"").status_code == 403
    assert guest.get(f"/api/runs/{other}/conversation.md").status_code == 404
    for method, route in routes(comparison):
        assert guest.request(method, route).status_code == 403, (method, route)
    assert bob.http.get(f"/api/comparisons/{comparison}").status_code == 404
    with ComparisonClient(guest).follow(comparison) as stream:
        assert next(stream).name == "read_only"
    ann.http.delete(f"/api/comparisons/{comparison}/links").raise_for_status()
    assert guest.get(f"/api/comparisons/{comparison}").status_code == 401
    assert guest.get(f"/api/runs/{runs[0]}/conversation.md").status_code == 401


def test_a_forged_link_opens_nothing(ann: ComparisonClient, guest: httpx.Client) -> None:
    described = ann.run_to_end(PLAIN, PLAIN)
    comparison = described["id"]
    path: str = ann.http.post(f"/api/comparisons/{comparison}/links").json()["path"]
    secret = path.partition(".")[2]
    for token in (
        f"{comparison}.x",
        f"{run_ids(described)[0]}.{secret}",
        f"x.{secret}",
        comparison,
    ):
        assert guest.get(f"/shared/{token}").status_code == 404


def test_addresses_of_endpoints_are_shown_to_the_owner_only(
    ann: ComparisonClient, bob: ComparisonClient
) -> None:
    other = {"mode": "plain", "baseUrl": "https://models.test/v1", "model": "x", "apiKey": "k"}
    comparison = ann.run_to_end(PLAIN, other)["id"]
    path = ann.http.post(f"/api/comparisons/{comparison}/links").json()["path"]
    bob.http.get(f"/{path}")
    assert ann.read(comparison)["members"][1]["settings"]["baseUrl"] == "https://models.test/v1"
    assert "models.test" not in str(bob.read(comparison)["members"][1]["settings"])


def test_the_storage_quota_holds_for_all_copies_of_the_inputs(ann: ComparisonClient) -> None:
    draft = ann.draft(a=b"x" * 40_000)
    body = {"task": "t", "members": [PLAIN, PLAIN], "inputs": draft, "repetitions": 20}
    answer = ann.http.post("/api/comparisons", json=body)
    assert answer.status_code == 429
    assert "with a copy for each run" in answer.json()["error"]
    ann.http.delete(f"/api/runs/{draft}").raise_for_status()


def test_inputs_kept_for_runs_to_be_started_count_for_the_quota(
    bob: ComparisonClient, data: Path
) -> None:
    comparison = bob.run_to_end(PLAIN, PLAIN, inputs=bob.draft(a=b"x"))["id"]
    inputs = data / "comparisons" / comparison / "inputs"
    wait_until(lambda: not inputs.exists())
    inputs.mkdir()
    (inputs / "kept").write_bytes(bytes(10**6))
    answer = bob.http.post("/api/comparisons", json={"task": "t", "members": [PLAIN, PLAIN]})
    assert answer.status_code == 429
    assert "quota" in answer.json()["error"]
    bob.http.delete(f"/api/comparisons/{comparison}").raise_for_status()
    bob.run_to_end(PLAIN, PLAIN)

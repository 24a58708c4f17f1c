"""What of a comparison its owner, another user and the holder of its link see and use.

Each of its routes with each role is in ``tests/sandbox_ui/auth/test_access.py``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_ui.accounts import accounts
from tests.support import httpx
from tests.support.comparisons import PLAIN, SANDBOX, ComparisonClient, run_ids
from tests.support.server import wait_until

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def scripted_settings() -> dict[str, Any]:
    return {"users": accounts("ann", "bob"), "quota_per_user": 10**6}


@pytest.fixture
def ann(ann: httpx.Client) -> ComparisonClient:
    return ComparisonClient(ann)


@pytest.fixture
def bob(bob: httpx.Client) -> ComparisonClient:
    return ComparisonClient(bob)


@pytest.fixture
def guest(studio_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=studio_url) as http:
        yield http


def test_nobody_compares_the_runs_or_files_of_others(
    ann: ComparisonClient, bob: ComparisonClient, guest: httpx.Client
) -> None:
    runs = {"runs": run_ids(ann.run_to_end(PLAIN, SANDBOX))}
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
    guest.get(f"/{path}")
    seen = guest.get(f"/api/comparisons/{comparison}").json()
    assert (seen["canEdit"], run_ids(seen)) == (False, runs)
    for run in runs:
        assert guest.get(f"/api/runs/{run}/conversation.md").status_code == 200
        assert guest.delete(f"/api/runs/{run}").status_code == 403
        assert guest.put(f"/api/runs/{run}/files/input/z", content=b"").status_code == 403
    assert guest.get(f"/api/runs/{other}/conversation.md").status_code == 404
    assert bob.http.get(f"/api/comparisons/{comparison}").status_code == 404
    with ComparisonClient(guest).follow(comparison) as stream:
        assert next(stream).name == "read_only"
    ann.http.delete(f"/api/comparisons/{comparison}/links").raise_for_status()
    assert guest.get(f"/api/runs/{runs[0]}/conversation.md").status_code == 401


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

"""Forks over HTTP: described, made, listed with their family, and compared with their parent."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.runs.folder import Parent, RunFolder
from sandbox_ui.auth.user import user_for_account
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.recorded_runs import write_ended_run
from tests.support.server import serve_studio

pytestmark = pytest.mark.contract


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with serve_studio(tmp_path) as at, httpx.Client(base_url=at) as client:
        yield client


@pytest.fixture
def parent(tmp_path: Path) -> RunFolder:
    return write_ended_run(tmp_path, files={"a.txt": b"a", "output/b.txt": b"b"})


def fork(client: httpx.Client, run: str, **body: object) -> str:
    answer = client.post(f"/api/runs/{run}/fork", json={"step": 1, **body})
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["run"]
    return made


def family(client: httpx.Client, run: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/runs/{run}/family").json()
    return found


def test_a_fork_is_described_then_waits_for_its_message_and_is_listed(
    client: httpx.Client, parent: RunFolder
) -> None:
    about = client.get(f"/api/runs/{parent.id}/fork?step=1").json()
    assert (about["step"], about["files"], about["missing"]) == (1, 2, [])
    assert (about["message"], about["model"], about["needs_message"]) == (
        "Do it.", "test-model", True,
    )  # fmt: skip
    made = fork(client, parent.id)
    assert client.get(f"/api/runs/{made}/files/a.txt").text == "a"
    rows = {row["run"]: row for row in client.get("/api/runs").json()["runs"]}
    assert rows[made]["parent"]["run"] == parent.id
    assert (rows[made]["steps"], rows[made]["copied_steps"]) == (1, 1)
    assert (rows[made]["state"], rows[made]["running"]) == ("draft", False)
    assert rows[parent.id]["parent"] is None


def test_a_family_is_a_tree_that_the_history_points_to_until_the_parent_is_deleted(
    client: httpx.Client, parent: RunFolder
) -> None:
    made = fork(client, parent.id)
    (child,) = family(client, parent.id)["children"]
    assert (child["run"], child["step"], child["kind"]) == (made, 1, "fork")
    assert family(client, made)["parent"] == {
        "run": parent.id, "step": 1, "kind": "fork", "title": "Do it.", "exists": True,
        "visible": True,
    }  # fmt: skip
    again = fork(client, made)
    tree = client.get(f"/api/runs/{made}/family/tree").json()
    assert tree["more"] is False
    assert [(each["run"], each["depth"], each["step"]) for each in tree["members"]] == [
        (parent.id, 0, 0), (made, 1, 1), (again, 2, 1),
    ]  # fmt: skip
    first, second, _ = tree["members"]
    assert (first["title"], first["kind"], first["state"]) == ("Do it.", "", "submitted")
    assert (second["kind"], second["model"]) == ("fork", "test-model")
    rows = {row["run"]: row for row in client.get("/api/runs").json()["runs"]}
    runs = (parent.id, made, again)
    assert [(rows[run]["forked"], rows[run]["parent_title"]) for run in runs] == [
        (True, ""), (True, "Do it."), (False, "Do it."),
    ]  # fmt: skip
    assert client.delete(f"/api/runs/{parent.id}").status_code == 200
    known = family(client, made)["parent"]
    assert (known["exists"], known["title"]) == (False, "")
    assert client.get(f"/api/runs/{made}/files/a.txt?step=1").text == "a"


def test_a_family_shows_each_user_only_their_runs(tmp_path: Path) -> None:
    owners = {name: user_for_account(name).id for name in ("ann", "bob")}
    first = write_ended_run(tmp_path, "Ann’s secret", owner=owners["ann"])
    middle = write_ended_run(tmp_path, "Bob’s", owner=owners["bob"], parent=Parent(first.id, 1))
    last = write_ended_run(tmp_path, "Ann’s own", owner=owners["ann"], parent=Parent(middle.id, 1))
    with (
        serve_studio(tmp_path, users=accounts("ann", "bob")) as at,
        signed_in(at, "ann") as ann,
        signed_in(at, "bob") as bob,
    ):
        assert bob.get(f"/api/runs/{first.id}/family/tree").status_code == 404
        answer = bob.get(f"/api/runs/{middle.id}/family/tree")
        assert [each["status"] for each in answer.json()["members"]] == ["hidden", "open"]
        assert "secret" not in answer.text
        assert first.id not in answer.text
        (row,) = bob.get("/api/runs").json()["runs"]
        assert (row["parent_title"], row["forked"]) == ("", False)
        members = ann.get(f"/api/runs/{last.id}/family/tree").json()["members"]
        assert [each.get("title") for each in members] == ["Ann’s secret", None, "Ann’s own"]
        path = ann.post(f"/api/runs/{first.id}/links").json()["path"]
        with httpx.Client(base_url=at, follow_redirects=True) as guest:
            guest.get(f"/{path}")
            shown = guest.get(f"/api/runs/{first.id}/family/tree").json()["members"]
            assert [each["run"] for each in shown] == [first.id]


def test_a_fork_beyond_the_quota_copies_nothing(tmp_path: Path) -> None:
    owner = user_for_account("ann").id
    run = write_ended_run(tmp_path, files={"a.bin": os.urandom(300_000)}, owner=owner)
    before = {*tmp_path.glob("runs/*"), *tmp_path.glob("sandboxes/*")}
    with (
        serve_studio(tmp_path, users=accounts("ann"), quota_per_user=700_000) as at,
        signed_in(at, "ann") as ann,
    ):
        ann.get("/api/runs")  # indexes the run
        answer = ann.post(f"/api/runs/{run.id}/fork", json={"step": 1})
    assert answer.status_code == 429
    assert answer.json()["error"].startswith("This needs 29")
    assert "of your quota of" in answer.json()["error"]
    assert {*tmp_path.glob("runs/*"), *tmp_path.glob("sandboxes/*")} == before


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"step": 9}, "does not exist"),
        ({"step": "1"}, "“step” must be"),
        ({"step": True}, "“step” must be"),
        ({"step": 1, "prompt": "none such"}, "prompt must be one of general, "),
        ({"step": 1, "mode": "x"}, "mode must be sandbox or plain, not"),
        ({"step": 1, "reinstall": "yes"}, "“reinstall” must be"),
    ],
)
def test_a_fork_that_cannot_be_made_is_refused_with_a_reason(
    client: httpx.Client, parent: RunFolder, body: dict[str, object], reason: str
) -> None:
    answer = client.post(f"/api/runs/{parent.id}/fork", json=body)
    assert answer.status_code == 400
    assert reason in answer.json()["error"]
    assert family(client, parent.id)["children"] == []


def test_a_run_and_its_fork_are_compared(client: httpx.Client, parent: RunFolder) -> None:
    made = fork(client, parent.id)
    answer = client.post("/api/comparisons/from-runs", json={"runs": [parent.id, made]})
    assert answer.status_code == 201, answer.text
    about = client.get(f"/api/comparisons/{answer.json()['id']}").json()
    labels = [member["label"] for member in about["members"]]
    assert labels == ["test-model, with sandbox", "test-model, with sandbox, fork at step 1"]

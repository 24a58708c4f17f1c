"""Storage and resource usage as users and the operator see it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.data_folder import DataFolder
from agent.errors import SandboxError
from agent.history.index import History
from agent.provisioning.provider import DockerSandboxProvider
from agent.runs.folder import RunFolder
from agent.sandbox.docker.inventory import Inventory, SandboxUsage
from agent.settings import Settings
from agent.util.stop import Stop
from tests.sandbox_ui.accounts import accounts, signed_in
from tests.support import httpx
from tests.support.local_provider import LocalSandboxProvider
from tests.support.recorded_runs import write_ended_run
from tests.support.server import serve_studio

pytestmark = pytest.mark.contract


class CountingSandboxProvider(LocalSandboxProvider):
    """A provider with a fake inventory of sandboxes."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self.fake_sandboxes: tuple[SandboxUsage, ...] = ()
        self.problem = ""

    def inventory(self) -> Inventory:
        if self.problem:
            raise SandboxError(self.problem)
        return Inventory(self.fake_sandboxes)


def usage(client: httpx.Client) -> dict[str, Any]:
    report: dict[str, Any] = client.get("/api/usage").raise_for_status().json()
    return report


@pytest.fixture
def machine(tmp_path: Path) -> CountingSandboxProvider:
    return CountingSandboxProvider(tmp_path)


@pytest.fixture
def studio_url(tmp_path: Path, machine: CountingSandboxProvider) -> Iterator[str]:
    """A Studio with three users, two runs of ann's and one of bob's."""
    runs = [
        write_ended_run(tmp_path, title, owner=owner, files={"output/a": os.urandom(size)})
        for title, owner, size in (
            ("ann's large", "u:ann", 300_000),
            ("ann's small", "u:ann", 1_000),
            ("bob's", "u:bob", 100_000),
        )
    ]
    History(tmp_path).page()
    machine.fake_sandboxes = (
        SandboxUsage(runs[0].sandbox, True, 10_000, 500),
        SandboxUsage(runs[2].sandbox, True, 20_000, 700),
        SandboxUsage(runs[1].sandbox, False, 0, 900),
        SandboxUsage("warm", True, 5_000, 0),
    )
    users = accounts("ann", "bob", "root")
    limits = {"max_runs": 6, "retention_bytes": 8_000_000}
    with serve_studio(tmp_path, machine, users=users, operators=("root",), **limits) as studio_url:
        yield studio_url


def test_users_see_their_own_usage_and_limits(ann: httpx.Client) -> None:
    report = usage(ann)
    assert report["runs"]["count"] == 2
    assert report["runs"]["limit"] == 4_000_000
    assert report["runs"]["remaining"] == 4_000_000 - report["runs"]["size"]
    assert [row["title"] for row in report["largest"]] == ["ann's large", "ann's small"]
    assert report["sandboxes"] == {
        "running": 1, "stopped": 1, "memory": 10_000, "installed": 1_400, "error": "",
    }  # fmt: skip
    assert (report["limits"]["max_runs"], report["limits"]["max_runs_total"]) == (3, 6)
    assert not report.keys() & {"machine", "users"}
    assert "bob" not in str(report)


def test_the_operator_sees_all_usage_and_the_machine(
    studio_url: str, machine: CountingSandboxProvider
) -> None:
    assert httpx.get(f"{studio_url}/api/usage").status_code == 401
    with signed_in(studio_url, "root") as root:
        report = usage(root)
        machine.problem = "The container engine does not answer."
        without_engine = usage(root)
    runs, seen = report["runs"], report["machine"]
    assert runs["count"] == without_engine["runs"]["count"] == 3
    assert runs["size"] == runs["workspaces"] + runs["records"] + runs["versions"]
    assert runs["versions"] == seen["versions"]["size"] == 401_000
    assert report["sandboxes"]["running"] == 3
    assert seen["warm"] == 1
    assert 0 < seen["disk"]["free"] < seen["disk"]["size"]
    assert [(each["name"], each["runs"]) for each in report["users"]] == [("ann", 2), ("bob", 1)]
    assert without_engine["sandboxes"]["error"] == machine.problem


def test_drafts_are_counted_and_listed_and_the_quota_is_limited_by_the_disk(tmp_path: Path) -> None:
    with (
        serve_studio(tmp_path, retention_bytes=10**18) as studio_url,
        httpx.Client(base_url=studio_url) as client,
    ):
        first, second = (client.post("/api/runs").json()["run"] for _ in range(2))
        for name in ("a.csv", "b.csv", "c.csv", "d.csv"):
            client.put(f"/api/runs/{second}/files/input/{name}", content=b"x" * 50_000)
        report = usage(client)
        assert report["drafts"]["count"] == 2
        assert report["drafts"]["size"] > 200_000
        assert report["runs"]["limit"] == 10**18
        assert 0 < report["runs"]["remaining"] < report["machine"]["disk"]["size"]
        listed = client.get("/api/runs").json()
        assert listed["runs"] == []
        assert [(each["run"], each["files"], each["names"]) for each in listed["drafts"]] == [
            (second, 4, ["a.csv", "b.csv", "c.csv"]),
            (first, 0, []),
        ]
        found = client.get("/api/runs", params={"q": "B.csv"}).json()["drafts"]
        assert [each["run"] for each in found] == [second]
        assert "drafts" not in client.get("/api/runs", params={"pinned": 1}).json()


@pytest.mark.engine
def test_containers_and_images_are_counted_by_the_engine(image: str, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", image=image, warm_sandboxes=1)
    with DataFolder(settings.data) as data:
        computers = DockerSandboxProvider(settings, data)
        assert computers.inventory() == Inventory()
        computers.open()
        assert computers.wait_for_pool(60)
        folder = RunFolder.create(data.path, computers.create_workspace())
        list(computers.acquire(folder, Stop()))
        found = {each.sandbox_id: each for each in computers.inventory().sandboxes}
        images = computers.inventory().images
        computers.close()
    assert found[folder.sandbox].running
    assert found[folder.sandbox].memory > 500_000
    assert [each.tag.split(":")[0] for each in images] == [
        image.split(":")[0],
        "llm-in-sandbox-studio-proxy",
    ]
    assert all(each.size > 50 * 1024**2 for each in images)

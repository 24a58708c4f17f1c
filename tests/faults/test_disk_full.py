"""The disk of the data folder, or that of a workspace, fills up during a run."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import RunError, StorageFull, WorkspaceError
from agent.events import RunEnded
from agent.fork.fork import fork_run
from agent.limits import Limits
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from tests.faults.studio_app import OpenApp, StudioApp, open_studio_app, remove_containers
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import SUBMIT, ScriptedModel, bash
from tests.support.recorded_runs import write_ended_run
from tests.support.server import wait_until

pytestmark = [
    pytest.mark.contract,
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only"),
]

WAIT_THEN_WRITE = "echo up; until [ -e /tmp/go ]; do sleep 0.05; done; seq 100000; sleep 100"


@pytest.fixture
def small_disk(tmp_path: Path, engine: Client) -> Iterator[Path]:
    """A folder on a small disk with many inodes."""
    image, folder = tmp_path / "disk", tmp_path / "small"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(96 * 1024**2)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-N", "60000", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    yield folder
    with suppress(FileNotFoundError):
        remove_containers(folder / "data", engine)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder: Path) -> None:
    for size in (1024**2, 4096, 1):
        with suppress(OSError), (folder / f"filler-{size}").open("ab", buffering=0) as filler:
            while True:
                filler.write(bytes(size))


def free_disk(folder: Path) -> None:
    for filler in folder.glob("filler-*"):
        filler.unlink()


@pytest.fixture
def studio_app(small_disk: Path, settings: Settings, engine: Client) -> Iterator[StudioApp]:
    with open_studio_app(small_disk / "data", settings, engine, disks=False) as studio_app:
        yield studio_app


def start_run_and_fill_disk(studio_app: StudioApp, small_disk: Path) -> str:
    run = studio_app.start(
        bash(WAIT_THEN_WRITE), replace(SUBMIT, text="More than there is room for. " * 10_000)
    )
    studio_app.wait_for_event(run, "tool_output")
    fill_disk(small_disk)
    studio_app.container(run).exec_run("touch /tmp/go")
    fill_disk(small_disk)  # what was given back meanwhile
    return run


def test_a_full_disk_fails_the_run_with_advice_and_a_follow_up_succeeds_after_cleanup(
    studio_app: StudioApp, small_disk: Path
) -> None:
    run = start_run_and_fill_disk(studio_app, small_disk)
    end = studio_app.wait_for_end(run)
    assert (end.status, "Free some space" in end.reason) == ("failed", True)
    fill_disk(small_disk)
    with pytest.raises(RunError, match="Free some space"):
        studio_app.runs.follow_up(run, "Go on.", ScriptedModel([SUBMIT]), Limits())
    with pytest.raises(StorageFull, match="Free some space"):
        studio_app.runs.create_draft()
    free_disk(small_disk)
    end = studio_app.follow_up(run, bash("pgrep -c sleep; echo on"), SUBMIT)
    assert (end.status, end.reason) == ("submitted", "")
    assert "0\non" in studio_app.observations(run)[-1]
    assert [type(e).__name__ for e in studio_app.events(run)].count("RunEnded") == 2


FILL_WORKSPACE = (
    "for i in $(seq 500); do head -c 9000 /dev/zero > /workspace/$i; done; sync -f /workspace"
)


def test_a_disk_that_failed_with_the_hosts_is_repaired_before_the_next_command(
    small_disk: Path, settings: Settings, engine: Client
) -> None:
    changed = replace(settings, disk=200 * 1024**2)
    with open_studio_app(small_disk / "data", changed, engine) as studio_app:
        run = studio_app.run_to_end(bash("echo kept > kept; sync"), SUBMIT)
        inside = studio_app.container(run).exec_run
        if "loop" not in str(inside("df /workspace").output):
            pytest.skip("no loop devices")
        fill_disk(small_disk)
        inside(["sh", "-c", FILL_WORKSPACE])
        wait_until(lambda: inside("touch /workspace/kept").exit_code != 0)
        free_disk(small_disk)
        with pytest.raises(WorkspaceError, match="next command repairs it") as refused:
            Workspace(studio_app.runs.folder(run).workspace).open_write(RelPath("input/a"))
        end = studio_app.follow_up(run, bash("cat kept; echo on > new; cat new"), SUBMIT)
        assert (end.status, end.reason) == ("submitted", "")
        assert "kept\non\nNote: The host's disk was full" in studio_app.observations(run)[-1]
        record = studio_app.runs.folder(run).journal.read_text()
        assert str(small_disk) not in record + str(refused.value)


@pytest.mark.nightly
def test_a_full_workspace_is_reported_and_the_run_continues(open_app: OpenApp) -> None:
    with open_app(disk=24 * 1024**2) as studio_app:
        run = studio_app.run_to_end(
            bash("head -c 99M /dev/zero > big"), bash("rm big; echo on > f; cat f"), SUBMIT
        )
        first, second = studio_app.observations(run)
        assert "No space left on device" in first
        assert second.endswith("on")
        assert studio_app.events_of_type(run, RunEnded)[0].status == "submitted"


@pytest.mark.parametrize("filled", ["before", "meanwhile"])
def test_a_fork_that_has_no_space_leaves_nothing_behind(small_disk: Path, filled: str) -> None:
    data = small_disk / "forks"
    provider = LocalSandboxProvider(data)
    run = write_ended_run(data, files={"a.bin": os.urandom(20 * 1024**2)})
    before = {path for name in ("runs", "sandboxes") for path in (data / name).iterdir()}

    def create_workspace() -> str:
        sandbox = provider.create_workspace()
        fill_disk(small_disk)
        return sandbox

    if filled == "before":
        fill_disk(small_disk)
    with pytest.raises(StorageFull, match=r"Free some space") as caught:
        fork_run(run, 1, provider.blobs, create_workspace)
    assert ("The fork needs 20 MB" in str(caught.value)) == (filled == "before")
    assert {path for name in ("runs", "sandboxes") for path in (data / name).iterdir()} == before
    free_disk(small_disk)
    fork = fork_run(run, 1, provider.blobs, provider.create_workspace)
    assert (fork.workspace / "a.bin").stat().st_size == 20 * 1024**2

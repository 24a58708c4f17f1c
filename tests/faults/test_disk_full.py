"""The disk of the data folder, and that of a workspace, full in the middle of a run."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import RunError, StorageFull
from agent.events import RunEnded
from agent.limits import Limits
from agent.models.scripted import ScriptedModel
from agent.sandbox.engine.client import Client
from agent.settings import Settings
from tests.faults.studio_app import SUBMIT, StudioApp, bash, open_studio_app, remove_containers

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only"),
]

WAIT = "echo up; until [ -e /tmp/go ]; do sleep 0.05; done; seq 100000; sleep 100"


@pytest.fixture
def small(tmp_path: Path, engine: Client) -> Iterator[Path]:
    """A folder on a small disk, which has names for many files."""
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


def fill(folder: Path) -> None:
    """Leave no byte on the disk."""
    for size in (1024**2, 4096, 1):
        with suppress(OSError), (folder / f"filler-{size}").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(size))


def empty(folder: Path) -> None:
    for filler in folder.glob("filler-*"):
        filler.unlink()


@pytest.fixture
def studio_app(small: Path, settings: Settings, engine: Client) -> Iterator[StudioApp]:
    with open_studio_app(small / "data", settings, engine, disks=False) as studio_app:
        yield studio_app


def filled(studio_app: StudioApp, small: Path) -> str:
    """A run whose record found no room in the middle of a command."""
    run = studio_app.start(
        bash(WAIT), replace(SUBMIT, text="More than there is room for. " * 10_000)
    )
    studio_app.wait_for(run, "tool_output")
    fill(small)
    studio_app.container(run).exec_run("touch /tmp/go")
    return run


def test_the_run_ends_with_what_to_do_and_goes_on_once_there_is_room(
    studio_app: StudioApp, small: Path
) -> None:
    run = filled(studio_app, small)
    end = studio_app.end(run)
    assert (end.status, "Free some space" in end.reason) == ("failed", True)
    fill(small)
    with pytest.raises(RunError, match="Free some space"):
        studio_app.runs.follow_up(run, "Go on.", ScriptedModel([SUBMIT]), Limits())
    with pytest.raises(StorageFull, match="Free some space"):
        studio_app.runs.create_draft()
    empty(small)
    end = studio_app.go_on(run, bash("pgrep -c sleep; echo on"), SUBMIT)
    assert (end.status, end.reason) == ("submitted", "")
    assert "1\non" in studio_app.observations(run)[-1]
    assert [type(e).__name__ for e in studio_app.events(run)].count("RunEnded") == 2


@pytest.mark.long
def test_a_full_workspace_is_told_to_the_command_and_the_run_goes_on(
    data_path: Path, settings: Settings, engine: Client
) -> None:
    with open_studio_app(data_path, replace(settings, disk=24 * 1024**2), engine) as studio_app:
        run = studio_app.do(
            bash("head -c 99M /dev/zero > big"), bash("rm big; echo on > f; cat f"), SUBMIT
        )
        first, second = studio_app.observations(run)
        assert "No space left on device" in first
        assert second.endswith("on")
        assert studio_app.found(run, RunEnded)[0].status == "submitted"

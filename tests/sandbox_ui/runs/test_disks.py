"""A run's own disk: mounted while something uses it, and not at all for a run without files."""

import io
import os
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.data_folder import DataFolder
from agent.events import Event
from agent.runs.folder import RunFolder
from agent.sandbox.base import Sandbox
from agent.sandbox.disk import volume
from agent.util.stop import Stop
from agent.workspace.paths import RelPath
from sandbox_ui.runs.manager import RunManager
from tests.sandbox_ui.managed_runs import follow_up, open_manager, start, wait_for_end
from tests.support.local_provider import LocalSandboxProvider
from tests.support.models.scripted import SUBMIT, ScriptedTurn, bash
from tests.support.server import wait_until

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/loop-control").exists(),
        reason="a separate disk needs root and loop devices",
    ),
]


class DiskProvider(LocalSandboxProvider):
    """Gives each workspace a disk of its own."""

    def __init__(self, data: DataFolder) -> None:
        super().__init__(data.path)
        self.folder = data

    def create_workspace(self) -> str:
        return self.folder.create_sandbox(64 * 1024**2)

    def acquire(self, folder: RunFolder, stop: Stop) -> Generator[Event, None, Sandbox | None]:
        volume.attach(folder.sandbox_folder)
        return (yield from super().acquire(folder, stop))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[RunManager]:
    with closing(DataFolder(tmp_path / "data")) as data:
        with open_manager(data.path, provider=DiskProvider(data)) as runs:
            yield runs
        volume.detach_all(data.path)


def mounted(runs: RunManager) -> list[str]:
    return [folder.name for folder in volume.attached(runs.contents.folder.parent)]


def test_plain_runs_without_files_never_get_a_disk(
    runs: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = list[str]()
    monkeypatch.setattr(volume, "_run_tool", lambda name, *_, **__: tools.append(name))
    for _ in range(3):
        run = start(runs, ScriptedTurn("Four."), mode="plain")
        wait_for_end(runs, run)
        follow_up(runs, run, ScriptedTurn("Five."))
        wait_for_end(runs, run, 2)
    assert tools == []


def test_a_disk_is_detached_when_its_sandbox_ends_and_its_files_are_there_on_the_next_use(
    runs: RunManager,
) -> None:
    run = start(runs, bash("echo kept > output/a.txt"), SUBMIT, sandbox_seconds=0)
    wait_for_end(runs, run)
    wait_until(lambda: not mounted(runs))
    with runs.open_file(run, RelPath("output/a.txt")) as file:
        assert file.read() == b"kept\n"
        assert mounted(runs) == [runs.folder(run).sandbox]
    follow_up(runs, run, bash("echo more >> output/a.txt"), SUBMIT)
    wait_for_end(runs, run, 2)
    assert runs.workspace(run).stat(RelPath("output/a.txt")).size == 10


def test_a_page_sees_changes_also_after_the_disk_was_detached_under_another_one(
    runs: RunManager,
) -> None:
    draft = runs.create_draft()
    feed, woken = runs.feed(draft), threading.Event()
    unfollow = feed.follow(lambda: None)
    volume.detach(runs.folder(draft).sandbox_folder)

    def sees_a_file() -> bool:
        unfollow = feed.follow(woken.set)
        woken.clear()
        runs.workspace(draft).write(RelPath("input/a.txt"), io.BytesIO(b"given"))
        seen = woken.wait(1)
        unfollow()
        return seen

    wait_until(sees_a_file)
    unfollow()


def test_a_disk_stays_while_a_page_follows_its_run(runs: RunManager) -> None:
    draft = runs.create_draft()
    unfollow = runs.feed(draft).follow(lambda: None)
    runs.workspace(draft).write(RelPath("input/a.txt"), io.BytesIO(b"given"))
    runs.run_maintenance()
    assert mounted(runs) == [runs.folder(draft).sandbox]
    unfollow()
    runs.feed(draft).detach_disk()
    assert mounted(runs) == []

"""Sandbox folders without a run: a start finds them by their marks, not by reading all runs."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import pytest

from agent.runs.disk_usage import all_sandbox_ids, run_sandbox_ids
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume


class Killed(Exception):
    pass


@pytest.mark.contract  # a folder is removed by another program
@pytest.mark.parametrize("others", [1, 20])
def test_only_sandboxes_without_a_run_are_removed_after_a_crash_at_any_time(
    tmp_path: Path, others: int
) -> None:
    read = list[str]()

    def sandboxes(run: str) -> Collection[str]:
        read.append(run)
        return run_sandbox_ids(tmp_path, run) if run else all_sandbox_ids(tmp_path)

    def create(name: str) -> Path:
        volume.create(tmp_path / "sandboxes" / name, None)
        return tmp_path / "sandboxes" / name

    def orphans() -> set[str]:
        found = list(volume.find_orphans(tmp_path, sandboxes))
        for folder in found:
            volume.discard(folder)
        return {folder.name for folder in found}

    for number in range(others):
        create(f"of-{number}")
        run = RunFolder.create(tmp_path, f"of-{number}")
    (tmp_path / "disks" / "of-an-earlier-version").touch()
    assert (orphans(), read) == ({"of-an-earlier-version"}, [""])
    read.clear()

    create("idle")
    volume.leave(run.sandbox_folder, run.id)  # killed before the run named another one
    with suppress(Killed), volume.assigned(create("not-yet-named"), run.id):
        raise Killed
    other = RunFolder.create(tmp_path, "before")
    with suppress(Killed), volume.assigned(create("named"), other.id):
        other.set_sandbox("named")
        volume.leave(other.sandbox_folder, other.id)
        raise Killed
    assert (orphans(), set(read)) == ({"idle", "not-yet-named"}, {run.id, other.id})
    volume.leave(run.sandbox_folder, run.id)
    old = run.sandbox
    run.set_sandbox(create("new").name)
    assert not volume.is_assigned(create("idle"))
    assert volume.is_assigned(run.sandbox_folder)
    assert (orphans(), orphans()) == ({old, "idle"}, set())

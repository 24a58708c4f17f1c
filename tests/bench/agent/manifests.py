"""Manifests after a step: from hints, from a sweep, and by hashing all files."""

from pathlib import Path

from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher
from tests.bench.context import BenchContext
from tests.bench.tables import Table, record_duration, sample_table
from tests.support.workspaces import full_scan

_FILE_BYTES = 2048
_FILES_PER_FOLDER = 100


def table(
    context: BenchContext, *, counts: tuple[int, ...] = (10, 10_000), times: int = 20
) -> Table:
    result = sample_table(
        "The manifest of the workspace",
        f"files of {_FILE_BYTES // 1024} KB, one of them changed since the last time",
        "Up to 500 names a step's end is a sweep, which there costs less than the hints. The "
        "naive way reads and hashes every file, and unlike the other two it keeps no content "
        "of what changed. All three in turns, on the same files.",
    )
    for count in counts:
        folder = context.folder / f"manifest-{count}"
        fill(folder / "workspace", count)
        with WorkspaceWatcher(folder) as watch:
            snapshots = SnapshotTracker(folder / "workspace", BlobStore(folder / "blobs"), watch)
            for name, seconds in _measure(snapshots, folder / "workspace", times).items():
                result.add_sample(f"{count:,} files: {name}", seconds)
    return result


def fill(workspace: Path, count: int) -> None:
    for number in range(count):
        path = _path(workspace, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number:>{_FILE_BYTES}}")


def _path(workspace: Path, number: int) -> Path:
    return workspace / f"folder {number // _FILES_PER_FOLDER}" / f"{number}.txt"


def _measure(snapshots: SnapshotTracker, workspace: Path, times: int) -> dict[str, list[float]]:
    hinted: list[float] = []
    swept: list[float] = []
    naive: list[float] = []
    snapshots.take()
    for number in range(times + 1):
        for final, durations in ((False, hinted), (True, swept)):
            _path(workspace, 0).write_text(f"{number} {final}")
            with record_duration(durations):
                snapshots.take(final=final)
        if number <= max(1, times // 4):
            with record_duration(naive):
                full_scan(workspace)
    return {
        "a step's end": hinted[1:],
        "a sweep, as at a run's end": swept[1:],
        "everything hashed": naive[1:],
    }

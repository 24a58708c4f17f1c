"""What the record of new files costs, beside a walk over them."""

import os
import subprocess
from collections.abc import Callable, Mapping

from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.snapshots import SnapshotTracker
from agent.workspace.versions.watch import WorkspaceWatcher
from tests.bench.agent.manifests import fill
from tests.bench.agent.memory import private_memory
from tests.bench.context import BenchContext, print_progress


def measure(context: BenchContext, files: int) -> Mapping[str, float]:
    folder = context.folder / f"growth-files-{files}"
    (folder / "workspace").mkdir(parents=True)
    with WorkspaceWatcher(folder) as watch:
        snapshots = SnapshotTracker(folder / "workspace", BlobStore(folder / "blobs"), watch)
        snapshots.take()
        fill(folder / "workspace", files)
        memory = private_memory()
        taken = _cpu(snapshots.take)
        unchanged = _cpu(lambda: snapshots.take(final=True))
        grown = (private_memory() - memory) / files
    command = ["find", str(folder / "workspace"), "-newermt", "2100-01-01"]
    print_progress(f"growth: {grown:.0f} bytes of memory for each of {files:,} files")
    return {
        "snapshot of new files": taken,
        "sweep of unchanged files": unchanged,
        "`find` over them, for comparison": _cpu(lambda: subprocess.run(command, check=True)),
    }


def _cpu(work: Callable[[], object]) -> float:
    before = os.times()
    work()
    return sum(os.times()[:4]) - sum(before[:4])

"""Removes what a node's process leaves behind, once its end closes our standard input."""

import os
import shutil
import sys
import time
from pathlib import Path

_TIMEOUT_SECONDS = 120.0
_POLL_SECONDS = 0.2


def main(arguments: list[str]) -> None:
    """Wait in the background for the end of standard input, then clean up."""
    if os.fork():
        return
    while os.read(sys.stdin.fileno(), 1024):
        continue
    data, host, runtime_dir = arguments
    remove_leftovers(Path(data), host, runtime_dir)


def remove_leftovers(data: Path, host: str, runtime_dir: str) -> None:
    """Remove a data folder's containers, networks and runs once its process has ended."""
    from agent.data_folder import DataFolder
    from agent.errors import DataFolderLocked
    from agent.sandbox.docker import lifecycle
    from agent.sandbox.engine.client import connect
    from agent.sandbox.network.subnets import reap

    end = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            folder = DataFolder(data)
            break
        except DataFolderLocked:  # the process is still ending
            if time.monotonic() > end:
                raise
            time.sleep(_POLL_SECONDS)
    with folder:
        delete_runs(data)
        client = connect(host or None, runtime_dir or None)
        lifecycle.reap(client, folder.instance_id)
        reap(client, (lifecycle.INSTANCE_LABEL, folder.instance_id))
        client.close()
        delete_runs(data)


def delete_runs(data: Path) -> None:
    """Delete the copies of runs in a node's data folder, and unmount their disks."""
    from agent.sandbox.disk import volume

    for sandbox in (data / "sandboxes").glob("*"):
        volume.discard(sandbox)
    for name in ("runs", "blobs-of-runs"):
        shutil.rmtree(data / name, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])

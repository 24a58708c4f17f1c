"""Disk usage of runs and their sandboxes."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent.data_folder import candidate_folders
from agent.errors import JournalError, RunError
from agent.events import SandboxReady, decode
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.workspace import paths
from agent.workspace.tree import walk

_READY = b'"kind":"sandbox_ready"'
_FORKED = b'"kind":"forked"}'
_BLOCK = 512


def bytes_on_disk(folder: Path) -> int:
    """Return the bytes on disk of a folder and its contents; links are not followed."""
    total, linked = 0, set()
    with suppress(OSError), paths.host_folder_fd(folder) as root:
        for _, info in walk(root, ""):
            if isinstance(info, OSError):
                continue
            if info.st_nlink > 1:
                if (info.st_dev, info.st_ino) in linked:
                    continue
                linked.add((info.st_dev, info.st_ino))
            total += info.st_blocks * _BLOCK
    return total


def sandbox_bytes_on_disk(folder: Path) -> int:
    """Return the bytes on disk of a sandbox's folder, or of its disk image."""
    try:
        return volume.disk_image(folder).lstat().st_blocks * _BLOCK
    except OSError:
        return bytes_on_disk(folder)


def run_sandbox_ids(data: Path, run_id: str) -> set[str]:
    """Return the ids of a run's sandboxes, from its record or else its journal."""
    try:
        return {RunFolder.open(data, run_id).sandbox}
    except RunError:
        sandbox_ids = set(_sandbox_ids_in_journal(data / "runs" / run_id / "journal.jsonl"))
        return sandbox_ids - {folder.sandbox for folder in RunFolder.all(data)}


def all_sandbox_ids(data: Path) -> set[str]:
    """Return the ids of all runs' sandboxes, in the data folder and its ``candidate_folders``."""
    return {
        sandbox
        for place in candidate_folders(data)
        for run in RunFolder.ids(place)
        for sandbox in run_sandbox_ids(place, run)
    }


def free_workspace_bytes(folder: RunFolder, limit: int) -> int:
    """Return the bytes left for a run's files; ``limit`` applies without an own disk."""
    if volume.disk_image(folder.sandbox_folder).exists():
        free = os.statvfs(folder.workspace.parent)
        return free.f_bavail * free.f_frsize
    return max(0, limit - bytes_on_disk(folder.sandbox_folder))


def _sandbox_ids_in_journal(path: Path) -> Iterator[str]:
    """Yield the sandbox ids in a journal, without those of a fork's parent."""
    found = list[str]()
    with suppress(OSError):
        for _, line in journal.read_lines(path):
            if line.endswith(_FORKED):
                found.clear()
            elif _READY in line:
                with suppress(JournalError):
                    event = decode(line)
                    if isinstance(event, SandboxReady) and re.fullmatch(r"[\w-]+", event.sandbox):
                        found.append(event.sandbox)
    yield from found

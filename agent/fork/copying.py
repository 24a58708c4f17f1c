"""What a fork takes from its parent: files, versions, long outputs, requests, events."""

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from agent.loop.steering import Steering
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import STEERING_FILE
from agent.runs.requests.records import log_path, response_path, tools_path
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import walk
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Manifest
from agent.workspace.versions.restore import NotRestored, restore

_CHUNK = 1024**2
_BLOCK = 4096


def copied_bytes(parent: RunFolder, manifest: Manifest, cursor: int) -> int:
    """Return the bytes that a fork copies: its files and its journal; the rest is shared."""
    if not parent.manifests.exists():
        return bytes_on_disk(parent.workspace) + cursor
    stored = (node.size for node in manifest.nodes.values() if node.kind == "file" and node.stored)
    return sum(-(-size // _BLOCK) * _BLOCK for size in stored) + cursor


def copy_files(
    parent: RunFolder, fork: RunFolder, manifest: Manifest, blobs: BlobStore
) -> list[NotRestored]:
    """Write the files of a manifest to the fork's workspace.

    A run without versions, as one in plain mode, has only the user's files: they are copied as
    they are now.

    Returns:
        What is missing.
    """
    target = Workspace(fork.workspace)
    if parent.manifests.exists():
        return restore(manifest.nodes, blobs, target)
    return _copy_current(Workspace(parent.workspace), target)


def _copy_current(source: Workspace, target: Workspace) -> list[NotRestored]:
    """Copy the regular files of a workspace."""
    with source.open_root(paths.ROOT) as root:
        files = [path for path, info in walk(root, "") if _is_file(info)]
    for path in files:
        with source.open_read(RelPath(path)) as file, target.open_write(RelPath(path)) as copy:
            while chunk := file.read(_CHUNK):
                copy.write(chunk)
            copy.commit()
    return []


def _is_file(info: os.stat_result | OSError) -> bool:
    return not isinstance(info, OSError) and stat.S_ISREG(info.st_mode)


def copy_manifests(parent: RunFolder, fork: RunFolder, step: int) -> None:
    """Copy the deltas up to a step; they keep the shared contents from being deleted."""
    log = ManifestLog(fork.manifests)
    for number, delta in ManifestLog(parent.manifests).read():
        if number <= step:
            log.append(number, delta)


def link_outputs(parent: RunFolder, fork: RunFolder, step: int) -> None:
    """Share the files of long outputs, which do not change once their step has ended."""
    for path in sorted(parent.outputs.glob("*")):
        number = path.name.partition("-")[0]
        if number.isdecimal() and int(number) <= step:
            _link(path, fork.outputs / path.name)


def copy_requests(parent: RunFolder, fork: RunFolder, step: int) -> None:
    """Copy the log of the requests up to a step; share the tools and the responses."""
    log = log_path(parent.requests)
    if not log.exists():
        return
    fork.requests.mkdir(mode=0o700)
    kept = set[int]()
    with log.open("rb") as source, log_path(fork.requests).open("wb") as copy:
        for line in source:
            entry = _parse(line)
            if entry.get("step", step + 1) <= step:
                kept.add(entry["n"])
                if tools := entry.get("tools"):
                    _link(tools_path(parent.requests, tools), tools_path(fork.requests, tools))
            elif entry.get("ended_n") not in kept:
                continue
            copy.write(line)
    for number in kept:
        _link(response_path(parent.requests, number), response_path(fork.requests, number))


def copy_approval(parent: RunFolder, fork: RunFolder) -> None:
    """Let the same calls wait for approval; messages that wait stay with the parent."""
    approval = Steering(parent.path / STEERING_FILE).approval
    Steering(fork.path / STEERING_FILE).set_approval(approval)


def copy_journal(parent: RunFolder, fork: RunFolder, cursor: int, event: bytes) -> None:
    """Copy the journal up to a cursor, byte for byte, and add a line."""
    new = fork.journal.with_suffix(".new")
    with parent.journal.open("rb") as source, new.open("wb") as copy:
        left = cursor
        while left and (chunk := source.read(min(left, _CHUNK))):
            copy.write(chunk)
            left -= len(chunk)
        copy.write(event)
        copy.flush()
        os.fsync(copy.fileno())
    new.replace(fork.journal)


def _link(source: Path, target: Path) -> None:
    """Share a file that does not change any more; copy it where the disk has no links."""
    if target.exists() or not source.exists():
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _parse(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}

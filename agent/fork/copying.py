"""What a fork takes from its parent: files, versions, long outputs, requests, events."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from agent.fork.unversioned import UnversionedFiles
from agent.loop.steering import Steering
from agent.runs.folder import RunFolder
from agent.runs.recorded_run import STEERING_FILE
from agent.runs.requests.records import log_path, response_path, tools_path
from agent.util.state_files import open_record
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Manifest
from agent.workspace.versions.restore import NotRestored, restore

_CHUNK = 1024**2
_BLOCK = 4096


def copied_bytes(manifest: Manifest, unversioned: UnversionedFiles | None, cursor: int) -> int:
    """Return the bytes that a fork copies: its files and its journal; the rest is shared."""
    nodes = manifest.nodes.values()
    stored = [node.size for node in nodes if node.kind == "file" and node.stored]
    sizes = stored if unversioned is None else unversioned.sizes.values()
    return sum(-(-size // _BLOCK) * _BLOCK for size in sizes) + cursor


def copy_files(
    parent: RunFolder,
    fork: RunFolder,
    manifest: Manifest,
    unversioned: UnversionedFiles | None,
    blobs: BlobStore,
) -> list[NotRestored]:
    """Write a manifest's files, or those of a run without versions, to the fork's workspace.

    Returns what is missing.
    """
    source, target = Workspace(parent.workspace), Workspace(fork.workspace)
    if unversioned is None:
        return restore(manifest.nodes, blobs, target)
    for path in unversioned.sizes:
        with source.open_read(RelPath(path)) as file, target.open_write(RelPath(path)) as copy:
            while chunk := file.read(_CHUNK):
                copy.write(chunk)
            copy.commit()
    return unversioned.missing


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
    with open_record(log) as source, log_path(fork.requests).open("wb") as copy:
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

"""What a fork takes from its parent: files, versions, long outputs, requests, events."""

import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import WorkspaceError
from agent.events import RunStarted, ToolStarted, WorkspaceChanged
from agent.loop.steering import Steering
from agent.runs import journal
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import pictures_in
from agent.runs.recorded_run import STEERING_FILE
from agent.runs.requests.records import log_path, response_path, tools_path
from agent.util.state_files import open_record
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import walk
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Manifest, ManifestLog
from agent.workspace.versions.restore import NotRestored, restore

_KINDS = ("run_started", "tool_started", "workspace_changed")
_CHANGED_LATER = "a later step has changed it, and the record has no versions of it"
_CHUNK = 1024**2
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class UnversionedFiles:
    """The files that are now as they were after a step, and those that have changed."""

    sizes: dict[str, int]
    missing: list[NotRestored]


def unversioned_files(folder: RunFolder, step: int) -> UnversionedFiles:
    """Return a run's files as of a step: inputs and outputs that no later step has changed."""
    inputs, written, later = set[str](), set[str](), set[str]()
    worked, complete = False, True
    for event in journal.read_kinds(folder.journal, _KINDS):
        match event:
            case RunStarted():
                inputs.update(f"input/{path}" for path in _decoded(event.inputs))
            case ToolStarted():
                worked |= event.step > step
            case WorkspaceChanged() if event.step > step:
                later.update(_decoded(each.path for each in event.changes))
                complete &= event.total <= len(event.changes)
            case WorkspaceChanged():
                written.update(_decoded(each.path for each in event.changes))
            case _:
                pass
    current = dict(_current_files(Workspace(folder.workspace)))
    if not worked:
        return UnversionedFiles(current, [])
    before = inputs | written
    known = (before if complete else inputs) - later
    kept = {path: size for path, size in current.items() if path in known}
    missing = [
        NotRestored(path, _CHANGED_LATER) for path in sorted(before & current.keys() - known)
    ]
    return UnversionedFiles(kept, missing)


def _decoded(urls: Iterable[str]) -> Iterator[str]:
    for url in urls:
        try:
            yield RelPath.from_url(url)
        except WorkspaceError:
            continue  # of a damaged record


def _current_files(workspace: Workspace) -> Iterator[tuple[str, int]]:
    with workspace.open_root(paths.ROOT) as root:
        for path, info in walk(root, ""):
            if not isinstance(info, OSError) and stat.S_ISREG(info.st_mode):
                yield path, info.st_size


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
    """Write a manifest's or an unversioned run's files to the fork; return what is missing."""
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


def link_outputs(parent: RunFolder, fork: RunFolder, cursor: int, step: int) -> None:
    """Share the files of long outputs up to ``step``, and of pictures up to ``cursor``."""
    pictures = pictures_in(parent.journal, cursor)
    for path in sorted(parent.outputs.glob("*")):
        number = path.name.partition("-")[0]
        if path.name in pictures or (number.isdecimal() and int(number) <= step):
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

"""Import an untrusted run of this program: a journal, or an exported folder or zip file.

The ids in it become those of the new run, and its file versions have only the contents that come
with it: a hash must not reach another run's.
"""

import io
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from agent.errors import JournalError, StudioError, TraceError
from agent.events import (
    Event,
    Notice,
    RunEnded,
    RunStarted,
    SandboxReady,
    ToolOutput,
    UnreadableEvent,
    encode,
)
from agent.runs.compatibility import decode_line, rename_earlier
from agent.runs.event_recorder import INTERRUPTED
from agent.runs.folder import RunFolder
from agent.runs.outputs.pictures import is_picture_name
from agent.runs.state import RunState
from agent.sandbox.network.policy import NetworkPolicy, parse_hosts
from agent.traces.import_budget import ImportBudget
from agent.traces.own.export import (
    CONTENTS,
    FILES,
    JOURNAL,
    MANIFESTS,
    OUTPUTS,
    Export,
    Opener,
    read_lines,
)
from agent.workspace import paths
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.tree import open_or_create_folders
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.manifest import Delta, ManifestLog, Node, decode_delta

FORMAT = "LLM-in-Sandbox Studio"
MAX_BYTES = 4 * 1024**3  # unpacked size of an export
# Maximum number of JSON values in one event, and in the changes of one step, 8 for a file
MAX_EVENT_VALUES, MAX_VERSION_VALUES = 100_000, 500_000
MAX_PATHS = 500_000  # changed paths in all versions together
_MAX_TIME = 4e9
_CHUNK = 64 * 1024
_OUTPUT_NAME = re.compile(r"[0-9]{1,9}-[A-Za-z0-9_-]{0,60}\.(stdout|stderr)")
_MISSING_OUTPUT = "0-missing.stdout"
_NOT_EXPORTED = "it is not in the export"


class RunImport:
    """Writes an export into the folder of a new run, with an empty workspace."""

    def __init__(
        self, export: Export, folder: RunFolder, blobs: BlobStore, budget: ImportBudget
    ) -> None:
        self._export = export
        self._folder = folder
        self._blobs = blobs
        self._budget = budget
        budget.limit(MAX_BYTES)
        self._stored: set[str] = set()
        members = export.members
        # The folder of ``run --output`` has only the results.
        self._has_workspace = "conversation.md" in members or any(
            each.startswith(("files/input/", "files/output/")) for each in members
        )

    def write(self) -> None:
        """Write everything; the journal last, which makes it a run."""
        with self._blobs.protected():
            self._write_outputs()
            self._write_files()
            self._write_versions()
            self._folder.set_sandbox(self._folder.sandbox)
            self._write_journal()

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        while chunk := file.read(_CHUNK):
            self._budget.take(len(chunk))
            yield chunk

    def _members(self, prefix: str) -> Iterator[tuple[str, Opener]]:
        for name, opened in self._export.members.items():
            if name.startswith(prefix):
                self._budget.check()
                yield name.removeprefix(prefix), opened

    def _write_outputs(self) -> None:
        for name, opened in self._members(OUTPUTS):
            if _OUTPUT_NAME.fullmatch(name) or is_picture_name(name):
                with opened() as source, (self._folder.outputs / name).open("xb") as copy:
                    copy.writelines(self._chunks(source))

    def _write_files(self) -> None:
        """Write the workspace; each content is also stored, since a version may have it."""
        versions = MANIFESTS in self._export.members
        with Workspace(self._folder.workspace).open_root(paths.ROOT) as root:
            for name, opened in self._members(FILES):
                with opened() as source, _create(root, self._path(name)) as copy:
                    chunks = self._chunks(source)
                    copy.write(first := next(chunks, b""))
                    copy.writelines(chunks)
                    if versions and len(first) < _CHUNK:  # the whole file
                        self._store(io.BytesIO(first))
                    elif versions:
                        copy.seek(0)
                        self._store(copy)
        if versions:
            for _, opened in self._members(CONTENTS):
                with opened() as source:
                    self._store(source)

    def _store(self, file: BinaryIO) -> None:
        digest, size = self._blobs.put(file, limit=self._budget.left or 0)
        self._budget.take(size)
        self._stored.add(digest)

    def _path(self, name: str) -> RelPath:
        try:
            return RelPath(name if self._has_workspace else f"output/{name}")
        except StudioError as error:
            raise TraceError(f"{self._export.name}, {name[:80]}: {error}") from error

    def _write_versions(self) -> None:
        if MANIFESTS not in self._export.members:
            return
        log, paths = ManifestLog(self._folder.manifests), 0
        with self._export.members[MANIFESTS]() as source:
            for place, line in read_lines(
                source, f"{self._export.name}, {MANIFESTS}", MAX_VERSION_VALUES
            ):
                self._budget.take(len(line))
                try:
                    step, delta = decode_delta(line)
                except JournalError:
                    return  # as by every other reader
                paths += len(delta.changed) + len(delta.removed)
                if paths > MAX_PATHS:
                    raise TraceError(f"{place}: more than {MAX_PATHS:,} changed paths.")
                log.append(step, self._known(delta))

    def _known(self, delta: Delta) -> Delta:
        """Return a delta with valid paths; a content that did not come along is not kept."""
        changed = {path: self._node(node) for path, node in delta.changed.items() if _valid(path)}
        return replace(
            delta,
            changed=changed,
            removed=tuple(path for path in delta.removed if _valid(path)),
            added=delta.added & changed.keys(),
        )

    def _node(self, node: Node) -> Node:
        if node.kind != "file" or not node.stored or node.hash in self._stored:
            return node
        return replace(node, hash=None, stored=False, reason=_NOT_EXPORTED)

    def _write_journal(self) -> None:
        partial, state, at = self._folder.journal.with_suffix(".new"), RunState(), 0.0
        with self._export.members[JOURNAL]() as source, partial.open("xb") as copy:
            for event in self._events(source):
                self._append(copy, event, state)
                at = max(at, event.at)
            if state.is_running:
                ended = RunEnded(
                    status="failed", reason=INTERRUPTED, answer="", totals=state.current_totals,
                    at=at,
                )  # fmt: skip
                self._append(copy, ended, state)
            copy.flush()
            os.fsync(copy.fileno())
        partial.rename(self._folder.journal)

    def _append(self, file: BinaryIO, event: Event, state: RunState) -> None:
        line = encode(event) + b"\n"
        self._budget.take(len(line))
        file.write(line)
        state.apply(event, file.tell())

    def _events(self, source: BinaryIO) -> Iterator[Event]:
        first = True
        for place, line in read_lines(source, f"{self._export.name}, {JOURNAL}", MAX_EVENT_VALUES):
            for event in decode_line(rename_earlier(line), first=first):
                if not 0 <= event.at <= _MAX_TIME:
                    raise TraceError(f"{place}, at: a time was expected.")
                yield self._own(event)
            first = False
        if first:
            raise TraceError(f"{self._export.name}: the journal is empty.")

    def _own(self, event: Event) -> Event:
        """Return an event as one of the new run."""
        match event:
            case RunStarted():
                self._folder.set_network(_policy(event))
                return replace(event, run=self._folder.id)
            case SandboxReady():
                return replace(event, sandbox=self._folder.sandbox)
            case ToolOutput() if event.output_file:
                known = _OUTPUT_NAME.fullmatch(event.output_file)
                return event if known else replace(event, output_file=_MISSING_OUTPUT)
            case UnreadableEvent():
                return Notice(step=event.step, text=event.text, at=event.at)
        return event


def _create(root: int, path: RelPath) -> BinaryIO:
    """Create a file in the new workspace, which has no links: no sandbox has used it yet."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            file = os.open(path, flags, 0o644, dir_fd=root)
        except FileNotFoundError:
            os.close(open_or_create_folders(root, path.parent))
            file = os.open(path, flags, 0o644, dir_fd=root)
        return io.BufferedRandom(io.FileIO(file, "w+"))
    except OSError as error:
        raise paths.to_workspace_error(error, path) from error


def _valid(path: str) -> bool:
    try:
        return bool(RelPath(path))
    except StudioError:
        return False


def _policy(event: RunStarted) -> NetworkPolicy:
    """Return the network policy that a run began with; no network if it cannot be read."""
    try:
        hosts = parse_hosts(" ".join(event.hosts)) if event.network == "listed" else ()
    except ValueError:
        return NetworkPolicy("none")
    return NetworkPolicy(event.network, hosts)

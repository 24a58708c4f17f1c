"""Import a run of this program: its journal alone, or an exported folder or zip file.

The export is not trusted: the ids in it become those of the new run, and its file versions have
only the contents that come with it.
"""

import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
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
    decode,
    encode,
)
from agent.runs import journal
from agent.runs.compatibility.earlier_events import rename_earlier
from agent.runs.compatibility.unreadable_events import decode_line
from agent.runs.event_recorder import EventRecorder
from agent.runs.folder import RunFolder
from agent.sandbox.network.policy import NetworkPolicy, parse_hosts
from agent.traces.zip_members import open_member
from agent.workspace.files import Workspace
from agent.workspace.paths import RelPath
from agent.workspace.versions.blobs import BlobStore
from agent.workspace.versions.log import ManifestLog
from agent.workspace.versions.manifest import Delta, Node

FORMAT = "LLM-in-Sandbox Studio"
JOURNAL, MANIFESTS, CONTENTS, OUTPUTS, FILES = (
    "journal.jsonl", "manifests.jsonl", "contents/", "outputs/", "files/",
)  # fmt: skip
MAX_LINE_BYTES = 16 * 1024**2
"""Maximum bytes of one event."""

_MAX_MEMBERS = 20_000
_MAX_BYTES = 4 * 1024**3
_MAX_TIME = 4e9
_CHUNK = 256 * 1024
_OUTPUT_NAME = re.compile(r"[0-9]{1,9}-[A-Za-z0-9_-]{0,60}\.(stdout|stderr)")
_MISSING_OUTPUT = "0-missing.stdout"
_NOT_EXPORTED = "it is not in the export"
_NO_SPACE = "the run takes more space than your runs may still use. Delete some first."


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an exported run.

    Attributes:
        name: Its name, for messages.
        members: What opens each file, by its path in the export.
    """

    name: str
    members: dict[str, Callable[[], BinaryIO]]


def find_export(path: Path, name: str) -> Export | None:
    """Return the exported run at a path; None if it is something else.

    Args:
        path: A folder, a zip file or a journal.
        name: Its name, for messages.

    Raises:
        TraceError: It is a folder without a journal, or has too many files.
    """
    if path.is_dir():
        members = _members_of_folder(path, name)
        if JOURNAL not in members:
            raise TraceError(f"{name}: the folder is not an exported run: it has no {JOURNAL}.")
        return Export(name, members)
    if zipfile.is_zipfile(path):
        members = _members_of_zip(path, name)
        return Export(name, members) if JOURNAL in members else None
    return Export(name, {JOURNAL: lambda: path.open("rb")}) if _is_journal(path) else None


def _is_journal(path: Path) -> bool:
    with path.open("rb") as file:
        line = file.readline(MAX_LINE_BYTES)
    try:
        return isinstance(decode(rename_earlier(line.rstrip(b"\n"))), RunStarted)
    except JournalError:
        return False


def _members_of_folder(folder: Path, name: str) -> dict[str, Callable[[], BinaryIO]]:
    members: dict[str, Callable[[], BinaryIO]] = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for each in sorted(names):
            path = Path(parent, each)
            if stat.S_ISREG(path.lstat().st_mode):
                members[path.relative_to(folder).as_posix()] = _opener(path)
        _check_count(members, name)
    return members


def _opener(path: Path) -> Callable[[], BinaryIO]:
    return lambda: path.open("rb")


def _members_of_zip(path: Path, name: str) -> dict[str, Callable[[], BinaryIO]]:
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise TraceError(f"{name}: the zip file is damaged.") from error
    members = {
        info.filename: _member_opener(path, info, name)
        for info in infos
        if not info.is_dir() and stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
    }
    _check_count(members, name)
    return members


def _member_opener(path: Path, info: zipfile.ZipInfo, name: str) -> Callable[[], BinaryIO]:
    return lambda: open_member(path, info, f"{name}, {info.filename[:80]}")


def _check_count(members: dict[str, Callable[[], BinaryIO]], name: str) -> None:
    if len(members) > _MAX_MEMBERS:
        raise TraceError(f"{name}: more than {_MAX_MEMBERS:,} files.")


class RunImport:
    """Writes an export into the folder of a new run.

    Args:
        export: The export.
        folder: The run's folder, with an empty workspace.
        blobs: The data folder's store of file contents.
        space: Bytes that the run may use; None for no limit.
    """

    def __init__(
        self, export: Export, folder: RunFolder, blobs: BlobStore, space: int | None
    ) -> None:
        self._export = export
        self._folder = folder
        self._blobs = blobs
        self._left = _MAX_BYTES if space is None else min(space, _MAX_BYTES)
        self._stored: set[str] = set()

    def write(self) -> None:
        """Write everything; the journal last, which makes it a run.

        Raises:
            TraceError: The export cannot be read, or takes more space.
            OSError: The run cannot be written.
        """
        with self._blobs.protected():
            self._write_outputs()
            self._write_files()
            self._write_versions()
            self._folder.set_sandbox(self._folder.sandbox)
            self._write_journal()
        if not journal.ends_with(self._folder.journal, RunEnded):
            EventRecorder(self._folder).close()  # ends the round that was in progress

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TraceError(f"{self._export.name}: {_NO_SPACE}")

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        while chunk := file.read(_CHUNK):
            self._take(len(chunk))
            yield chunk

    def _members(self, prefix: str) -> Iterator[tuple[str, Callable[[], BinaryIO]]]:
        for name, opened in self._export.members.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), opened

    def _write_outputs(self) -> None:
        for name, opened in self._members(OUTPUTS):
            if _OUTPUT_NAME.fullmatch(name):
                with opened() as source, (self._folder.outputs / name).open("xb") as copy:
                    copy.writelines(self._chunks(source))

    def _write_files(self) -> None:
        """Write the workspace; each content is also stored, since a version may have it."""
        workspace, versions = Workspace(self._folder.workspace), MANIFESTS in self._export.members
        for name, opened in self._members(FILES):
            path = self._path(name)
            with opened() as source:
                workspace.write(path, self._chunks(source))
            if versions:
                with workspace.open_read(path) as file:
                    self._store(file)
        if versions:
            for _, opened in self._members(CONTENTS):
                with opened() as source:
                    self._store(source)

    def _store(self, file: BinaryIO) -> None:
        digest, size = self._blobs.put(file, limit=self._left)
        self._take(size)
        self._stored.add(digest)

    def _path(self, name: str) -> RelPath:
        """Return where a file belongs: the folder of ``run --output`` has only the results."""
        members = self._export.members
        whole = "conversation.md" in members or any(
            each.startswith(("files/input/", "files/output/")) for each in members
        )
        try:
            return RelPath(name if whole else f"output/{name}")
        except StudioError as error:
            raise TraceError(f"{self._export.name}, {name[:80]}: {error}") from error

    def _write_versions(self) -> None:
        if MANIFESTS not in self._export.members:
            return
        received = self._folder.path / "manifests.new"
        with self._export.members[MANIFESTS]() as source, received.open("xb") as copy:
            copy.writelines(self._chunks(source))
        log = ManifestLog(self._folder.manifests)
        for step, delta in ManifestLog(received).read():
            log.append(step, self._known(delta))
        received.unlink()

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
        partial = self._folder.journal.with_suffix(".new")
        with self._export.members[JOURNAL]() as source, partial.open("xb") as copy:
            for event in self._events(source):
                line = encode(event) + b"\n"
                self._take(len(line))
                copy.write(line)
            copy.flush()
            os.fsync(copy.fileno())
        partial.rename(self._folder.journal)

    def _events(self, source: BinaryIO) -> Iterator[Event]:
        number = 0
        while line := source.readline(MAX_LINE_BYTES + 1):
            number += 1
            place = f"{self._export.name}, {JOURNAL}, line {number}"
            if len(line) > MAX_LINE_BYTES:
                raise TraceError(f"{place}: more than 16 MB.")
            if not line.endswith(b"\n"):
                break  # left by a process that was killed
            for event in decode_line(rename_earlier(line[:-1]), first=number == 1):
                if not 0 <= event.at <= _MAX_TIME:
                    raise TraceError(f"{place}, at: a time was expected.")
                yield self._own(event)
        if not number:
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
